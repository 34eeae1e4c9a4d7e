#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""starts.t: where functions without a symbol begin, in real files.

FDEs: for each one that readelf lists, its first, a middle and its last address have its start, with the table of
.eh_frame_hdr and without. What has no FDE is held against the symbols or FDEs that were taken away before: code that is
followed, Go's functions, V8's builtins. An answer may be missing there, but none may be another function's."""
import bisect
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import go  # noqa: E402
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
LIBRARIES = "/lib/x86_64-linux-gnu"
STRIPPED = [LIBRARIES + "/libz.so.1", LIBRARIES + "/libc.so.6", "/usr/bin/python3.11", "/usr/bin/perl",
            LIBRARIES + "/libcrypto.so.3"]
# File: share of what has an FDE, per cent, that must have an answer when the FDEs are away; and how much of that may be what
# runs into it from before. libc has hand-written functions that do: __memcpy_chk into memcpy, clone's three FDEs.
FOLLOWED = {LIBRARIES + "/libz.so.1": (80, 0), LIBRARIES + "/libc.so.6": (70, 1.5)}
GO = """package main
import ("fmt"; "os"; "sort")
func main() { sort.Strings(os.Args); fmt.Println(os.Args) }
"""

tap = Tap()


def run(*args, **options):
    return subprocess.run([*map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def starts(path, addresses):
    """{address: start or None}, and what it took in us."""
    done = run(f"{BUILD}/tests/elf/dump_starts", path, input="".join("%x\n" % a for a in addresses))
    answers = [None if line == "-" else int(line, 16) for line in done.stdout.split()]
    if done.returncode or len(answers) != len(addresses):
        tap.ok(False, f"{path}: answers", done.stderr[-500:])
        return {}, ""
    return dict(zip(addresses, answers)), done.stderr.strip()


def sections(path):
    """{name: (address, offset, size, flags)}"""
    found = {}
    for line in run("readelf", "-SW", path).stdout.splitlines():
        match = re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) \S+\s+([A-Z]*)", line)
        if match:
            found[match[1]] = tuple(int(match[i], 16) for i in (2, 3, 4)) + (match[5],)
    return found


def fdes(path):
    """[(start, end, of a signal trampoline)] in .text, by start. Stubs have one FDE for all of them."""
    text = sections(path)[".text"]
    found, signals = [], set()
    for line in run("readelf", "--debug-dump=frames", "-W", path).stdout.splitlines():
        match = re.match(r'([0-9a-f]+) \S+ \S+ (CIE|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))', line)
        if match:
            cie = match[1]
            if match[3] and text[0] <= int(match[4], 16) < text[0] + text[2] and match[4] != match[5]:
                found.append((int(match[4], 16), int(match[5], 16), match[3] in signals))
        elif 'Augmentation:' in line and 'S' in line.split('"')[1]:
            signals.add(cie)
    return sorted(found)


def probes(start, end):
    return {start, (start + end) // 2, end - 1}


def check_fdes(name, path, ranges):
    expected = {a: s + signal for s, e, signal in ranges for a in probes(s, e)}
    answers, cost = starts(path, sorted(expected))
    wrong = ["%x: %s, not %x" % (a, answers[a] and "%x" % answers[a], expected[a]) for a in answers if answers[a] != expected[a]]
    tap.ok(len(ranges) > 50 and not wrong, f"{name}: {len(ranges)} FDEs ({cost})", *wrong[:10])


def without_table(path, copy):
    """A copy whose .eh_frame_hdr says that it is of a version that nobody knows."""
    shutil.copyfile(path, copy)
    with open(copy, "r+b") as file:
        file.seek(sections(path)[".eh_frame_hdr"][1])
        file.write(b"\x07")


def without_fdes(path, copy):
    """A copy in which nothing tells of .eh_frame."""
    run("objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", path, copy)
    with open(copy, "r+b") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        for i in range(count):
            file.seek(at + i * size)
            if struct.unpack("<I", file.read(4))[0] == 0x6474e550:  # PT_GNU_EH_FRAME
                file.seek(at + i * size)
                file.write(struct.pack("<I", 0))


def check_missing_allowed(name, path, ranges, share, split=0, joined=0):
    """No answer is that of another function. `split` per cent may begin within their own, `joined` per cent before it."""
    expected = {a: (s, e) for s, e in ranges for a in probes(s, e)}
    answers, cost = starts(path, sorted(expected))
    given = [a for a in answers if answers[a] is not None]
    within = [a for a in given if expected[a][0] < answers[a] < expected[a][1]]
    wrong = ["%x: %x, not %x" % (a, answers[a], expected[a][0]) for a in given
             if not expected[a][0] <= answers[a] < expected[a][1]]
    tap.ok(100 * len(wrong) <= joined * len(given),
           f"{name}: {len(wrong)} of {len(given)} have the start of another function ({cost})", *wrong[:20])
    tap.ok(100 * len(within) <= split * len(given), "%s: %d begin within their function" % (name, len(within)))
    tap.ok(100 * len(given) >= share * len(expected), "%s: %.1f %% of the addresses have a start" % (
        name, 100 * len(given) / max(1, len(expected))))


def functions(path, pattern):
    """[(start, end)] of symbols, each to the next one; aliases once."""
    at = {}
    for line in run("nm", path).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            at.setdefault(int(words[0], 16), []).append(words[2])
    order = sorted(at)
    return [(a, order[bisect.bisect(order, a)]) for a in order[:-1] if any(re.match(pattern, n) for n in at[a])]


def check_files(where):
    for path in STRIPPED:
        name = os.path.basename(path)
        if not os.path.exists(path):
            tap.skip(f"no {path}")
            continue
        ranges = fdes(path)
        check_fdes(name, path, ranges)
        without_table(path, where / "copy")
        check_fdes(f"{name} without its table", where / "copy", ranges)
    for path, (share, joined) in FOLLOWED.items():
        without_fdes(path, where / "copy")
        check_missing_allowed(os.path.basename(path) + " without FDEs", where / "copy", [r[:2] for r in fdes(path)], share,
                              joined=joined)


def check_go(where):
    (where / "main.go").write_text(GO)
    done = run("go", "build", "-o", where / "go", where / "main.go", env=go.environment(CGO_ENABLED="0"))
    if not tap.ok(done.returncode == 0, "Go: built", done.stderr[-500:]):
        return
    run("strip", where / "go", "-o", where / "stripped")
    check_missing_allowed("Go", where / "stripped", functions(where / "go", r"(main|fmt|sort|runtime)\."), 99)


def check_node(where):
    node = shutil.which("node")
    builtins = functions(os.path.realpath(node), "Builtins_") if node else []
    if not builtins:
        tap.skip("no node with symbols of its builtins")
        return
    # Some begin with a breakpoint, as what fills up: they are never to run.
    text = sections(os.path.realpath(node))[".text"]
    with open(node, "rb") as file:
        file.seek(text[1])
        code = file.read(text[2])
    builtins = [b for b in builtins if code[b[0] - text[0]] != 0xcc]
    run("strip", os.path.realpath(node), "-o", where / "node")
    check_missing_allowed("V8's builtins", where / "node", builtins, 99, split=10)


with tempfile.TemporaryDirectory(prefix="strata-starts-") as folder:
    check_files(Path(folder))
    check_go(Path(folder))
    check_node(Path(folder))
tap.done()
