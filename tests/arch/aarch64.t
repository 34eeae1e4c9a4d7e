#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""aarch64.t: what strata makes of AArch64 files, Debian's for that machine, against what binutils reads in them.

Rows: at every address where strata or readelf changes its mind, the CFA and the places of x29 and x30 must agree. Rules by
the code itself: .eh_frame is ignored, and must then agree (tests/elf/check_code.c). Names of PLT stubs. The interpreter of
Debian's Python, which is fetched once: where its loop is, and how it finds a thread's state.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from bisect import bisect_right

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kernels"))
sys.dont_write_bytecode = True
import packages  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
ROOT = "/usr/aarch64-linux-gnu/lib"
FILES = ["libc.so.6", "ld-linux-aarch64.so.1", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"]
# Share of their text, per cent, that must have rules by the code.
BY_CODE = {"libc.so.6": 70, "libm.so.6": 85, "libstdc++.so.6": 75}
STRATA = os.environ.get("STRATA", f"{BUILD}/strata")
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
CIE = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE .* ra=(\d+)")


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def interpreted(path):
    """[(start, end, [(address, {column: rule})])] from readelf's frames-interp."""
    fdes, cies, columns, rows = [], {}, None, None
    for line in run("readelf", "--debug-dump=frames-interp", path).splitlines():
        if match := FDE.match(line):
            rows = []
            if match[1] in cies:
                fdes.append((int(match[2], 16), int(match[3], 16), rows, cies[match[1]]))
        elif match := CIE.match(line):
            rows = []
            if match[2] == "30":  # vfork()'s is another: strata leaves that FDE out
                cies[match[1]] = rows
        elif line.startswith("   LOC"):
            columns = line.split()[1:]
        elif columns and rows is not None and re.match(r"^[0-9a-f]{16} ", line):
            address, *values = re.sub(r"r\d+ \((\w+)\)", r"\1", line).split()
            rows.append((int(address, 16), dict(zip(columns, values))))
    return [(s, e, rows or [(s, cie[-1][1] if cie else {})]) for s, e, rows, cie in fdes if e > s]


def agrees(rule, state):
    """None: not to be compared."""
    cfa, fp, ra = state["CFA"], state.get("x29", "u"), state.get("ra", state.get("x30", "u"))
    if not re.fullmatch(r"(sp|x\d+)[+-]\d+", cfa) or not re.fullmatch(r"u|s|c[+-]\d+", fp) or \
            not re.fullmatch(r"u|s|c[+-]\d+|x\d+", ra):
        return None
    # What the dynamic linker keeps above the CFA, and frames whose FP no rule can reach: told, not guessed.
    if ra.startswith("c") and (int(ra[1:]) >= 0 or int(ra[1:]) < -32000):
        words = f"cfa={cfa} x29=" + ("same" if fp in "us" else f"cfa{fp[1:]}") + f" x30=cfa{ra[1:]}"
        return rule in ("unsupported", words)
    if ra == "u" and rule == "end":  # an x30 that is undefined, or of which nothing was said
        return True
    if ra.startswith("x"):
        return rule.startswith(f"cfa={cfa} ra={ra} ")
    words = f"cfa={cfa} x29=" + ("same" if fp in "us" else f"cfa{fp[1:]}")
    return rule == words + ("" if ra in "us" else f" x30=cfa{ra[1:]}")


def check_rows(tap, name):
    path = f"{ROOT}/{name}"
    dump = [line.split(" ", 1) for line in run(f"{BUILD}/tests/elf/dump_rows", path).splitlines()]
    at, rules = [int(address, 16) for address, _ in dump], [rule for _, rule in dump]
    compared, left, wrong = 0, 0, []
    entry = int(re.search(r"Entry point address:\s+0x([0-9a-f]+)", run("readelf", "-h", path))[1], 16)
    for start, end, states in interpreted(path):
        if start == entry:  # outermost, whatever it saves
            continue
        starts = [address for address, _ in states]
        places = {start} | set(starts) | set(at[bisect_right(at, start):bisect_right(at, end - 1)])
        for place in places:
            rule = rules[bisect_right(at, place) - 1]
            verdict = agrees(rule, states[bisect_right(starts, place) - 1][1])
            compared += verdict is not None
            left += verdict is None
            if verdict is False and len(wrong) < 10:
                wrong.append(f"{place:x}: {rule}, readelf {states[bisect_right(starts, place) - 1][1]}")
    tap.ok(compared > 100 and not wrong and left < compared / 100, f"{name}: {compared} rows, {left} not comparable", *wrong)


def check_plt(tap, name):
    """Names of stubs, against objdump's, which knows stubs of any machine by their relocations."""
    path = f"{ROOT}/{name}"
    ours = {match[1] for match in re.finditer(r"(\S+)@plt", run(f"{BUILD}/tests/elf/dump_symbols", path))}
    slots = run("readelf", "-rW", path).split(".rela.plt", 1)
    theirs = {match[1].split("@")[0] for match in re.finditer(r"R_AARCH64_JUMP_SLOT\s+[0-9a-f]+ (\S+)", slots[-1])}
    tap.ok(theirs and ours == theirs, f"{name}: {len(ours)} PLT stubs", *sorted(ours ^ theirs))


def check_code(tap, path, share):
    name = os.path.basename(path)
    lines = run(f"{BUILD}/tests/elf/check_code", path).splitlines()
    words = lines[-1].split() if lines else []
    if not tap.ok(words[:1] == ["differences"], f"{name}: code is followed"):
        return
    found = dict(zip(words[::2], map(float, words[1::2])))
    tap.ok(found["differences"] == 0, f"{name}: by its code the same rules at %d instructions" % found["instructions"], *lines[:10])
    tap.ok(found["covered"] >= share, f"{name}: %.1f %% of its text have some" % found["covered"])
    odd = found["unchecked"] + found["excused"] + found["silent"]
    tap.ok(odd <= 0.005 * found["instructions"], f"{name}: %d could not be compared" % odd)


def fetch_python():
    """The path of Debian's interpreter for AArch64."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    release = packages.own_release()
    folder = os.path.join(base, "strata/arm64", release)
    if not os.path.isdir(folder):
        fresh = f"{folder}.{os.getpid()}"
        try:
            apt = packages.Apt(fresh, release, "arm64")
            apt.run("apt-get", "-q", "update")
            apt.run("apt-get", "-q", "download", packages.depends(apt, "python3-minimal", r"python3\.\d+-minimal"))
            archive, = [name for name in os.listdir(fresh) if name.endswith(".deb")]
            subprocess.run(["dpkg-deb", "-x", f"{fresh}/{archive}", f"{fresh}/root"], check=True)
            os.rename(f"{fresh}/root", folder)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise packages.Unavailable(str(error)) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    for name in sorted(os.listdir(f"{folder}/usr/bin")):
        if re.fullmatch(r"python3\.\d+", name):
            return f"{folder}/usr/bin/{name}"
    raise packages.Unavailable("the package has no interpreter")


def symbol(path, name):
    """(start, end) of a dynamic symbol."""
    found = re.search(rf"^ *\d+: ([0-9a-f]+) +(\w+) .* {name}$", run("readelf", "--dyn-syms", "-W", path), re.M)
    start = int(found[1], 16)
    return start, start + int(found[2], 0)


def check_python(tap):
    try:
        path = fetch_python()
    except packages.Unavailable as error:
        tap.skip("Debian's Python for AArch64", str(error))
        return
    found = json.loads(run(STRATA, "inspect", "--json", "--no-cache", path))
    parts = [(part["start"], part["end"]) for part in found["eval_loop"]]
    tap.ok(parts == [symbol(path, "_PyEval_EvalFrameDefault")], "Python: its loop", str(parts))
    start, end = symbol(path, "_PyRuntime")
    told = {tried["source"]: tried["result"] for tried in found["thread_state"]["tried"]}
    key = re.match(r"pthread key at (0x[0-9a-f]+), by (.*)", told["key code"])
    tap.ok(key and start <= int(key[1], 16) < end and "PyGILState_GetThisThreadState" in key[2],
           "Python: its key, in _PyRuntime, by its code", told["key code"])
    check_code(tap, path, 65)


def main():
    tap = Tap()
    if not os.path.exists(f"{ROOT}/libc.so.6"):
        tap.skip("AArch64's files", "libc6-arm64-cross is not installed")
        tap.done()
    for name in FILES:
        if os.path.exists(f"{ROOT}/{name}"):
            check_rows(tap, name)
    for name, share in BY_CODE.items():
        check_code(tap, f"{ROOT}/{name}", share)
    check_plt(tap, "libstdc++.so.6")
    check_python(tap)
    tap.done()


main()
