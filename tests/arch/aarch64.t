#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""aarch64.t: rows and PLT stubs of AArch64 files, Debian's libraries for that machine, against binutils' reading.

At every address where strata or readelf changes its mind, the CFA and the places of x29 and x30 must agree.
"""

import os
import re
import subprocess
import sys
from bisect import bisect_right

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
ROOT = "/usr/aarch64-linux-gnu/lib"
FILES = ["libc.so.6", "ld-linux-aarch64.so.1", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"]
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


def main():
    tap = Tap()
    if not os.path.exists(f"{ROOT}/libc.so.6"):
        tap.skip("AArch64's files", "libc6-arm64-cross is not installed")
        tap.done()
    for name in FILES:
        if os.path.exists(f"{ROOT}/{name}"):
            check_rows(tap, name)
    check_plt(tap, "libstdc++.so.6")
    tap.done()


main()
