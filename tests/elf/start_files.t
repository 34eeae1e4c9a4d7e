#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""start_files.t: what the compiler's start files leave in a program without an FDE (frame_dummy, __do_global_dtors_aux and what
these call) has rules, and they are true: gdb steps through it, and at each instruction the rule gives the CFA and the frame
pointer that the function began with."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
FUNCTIONS = ["frame_dummy", "register_tm_clones", "__do_global_dtors_aux", "deregister_tm_clones"]
PROGRAM = "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n"
# In gdb: steps through the functions, whatever they call but themselves; writes [vaddr, CFA, FP at entry, SP, FP, the words
# from SP to the CFA] of each instruction.
STEPPER = r"""
import gdb, json, re
gdb.execute("set confirm off"); gdb.execute("set pagination off"); gdb.execute("set disable-randomization on")
gdb.execute("starti")
ranges = json.loads(%r)
name = gdb.current_progspace().filename
start = [int(l.split()[0], 16) for l in gdb.execute("info proc mappings", to_string=True).splitlines() if l.endswith(name)][0]
bias = start if %r else 0
value = lambda register: int(gdb.parse_and_eval("(unsigned long)$" + register))
inside = lambda pc: any(a <= pc - bias < b for a, b in ranges)
for a, b in ranges:
    gdb.Breakpoint("*%%d" %% (a + bias))
seen, stack = [], []
gdb.execute("continue", to_string=True)
while gdb.selected_inferior().pid:
    pc, sp, fp = value("rip"), value("rsp"), value("rbp")
    if any(pc == a + bias for a, b in ranges) and not (stack and stack[-1][0] == sp + 8):
        stack.append((sp + 8, fp))
    if inside(pc) and stack:
        cfa, entry_fp = stack[-1]
        words = [int.from_bytes(gdb.selected_inferior().read_memory(at, 8).tobytes(), "little") for at in range(sp, cfa, 8)]
        seen.append([pc - bias, cfa, entry_fp, sp, fp, words])
    code = gdb.execute("x/i $pc", to_string=True)
    returns = re.search(r"\tret", code)
    if inside(pc):
        gdb.execute("stepi", to_string=True)
        if returns and stack:
            stack.pop()
            if not stack:
                gdb.execute("continue", to_string=True)
    else:
        gdb.execute("finish" if stack else "continue", to_string=True)
json.dump(seen, open(%r, "w"))
"""


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows_of(path):
    return [(int(at, 16), rule) for at, rule in (line.split(" ", 1) for line in
            run(f"{BUILD}/tests/elf/dump_rows", path).stdout.splitlines())]


def rule_at(rows, vaddr):
    return max((row for row in rows if row[0] <= vaddr), default=(0, "none"))[1]


def is_true(rule, seen):
    """Whether a rule gives the CFA, and the caller's FP."""
    _, cfa, entry_fp, sp, fp, words = seen
    said = re.match(r"cfa=(rsp|rbp)\+(\d+) rbp=(same|cfa-(\d+))", rule)
    if not said or (sp if said.group(1) == "rsp" else fp) + int(said.group(2)) != cfa:
        return False
    return (fp if said.group(3) == "same" else words[(cfa - int(said.group(4)) - sp) // 8]) == entry_fp


def instructions(path, start, end):
    listing = run("objdump", "-d", "--start-address=%d" % start, "--stop-address=%d" % end, path).stdout
    found = re.findall(r"^ +([0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\t(\S.*)$", listing, re.M)
    return [(int(at, 16), text) for at, text in found if not re.match(r"nop|int3|cs nop|xchg +%ax,%ax|data16", text)]


def check(tap, folder, kind, options):
    source, path, steps = os.path.join(folder, "a.c"), os.path.join(folder, kind), os.path.join(folder, "steps")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    built = run("gcc", "-O2", *options, "-o", path, source)
    if not tap.ok(built.returncode == 0, f"{kind}: built", built.stderr):
        return
    starts = sorted(int(line.split()[0], 16) for line in run("nm", path).stdout.splitlines() if line.split()[-2] in ("t", "T"))
    symbols = {line.split()[-1]: int(line.split()[0], 16) for line in run("nm", path).stdout.splitlines() if len(line.split()) == 3}
    ranges = [(symbols[name], min(at for at in starts if at > symbols[name])) for name in FUNCTIONS if name in symbols]
    stripped = path + "-stripped"
    run("strip", "-o", stripped, path)
    rows = rows_of(stripped)
    missing = [(hex(at), text) for start, end in ranges for at, text in instructions(path, start, end)
               if rule_at(rows, at) == "none"]
    tap.ok(len(ranges) == len(FUNCTIONS) and not missing, f"  each instruction of {len(ranges)} functions has a rule", missing)
    stepper = os.path.join(folder, "step.py")
    with open(stepper, "w", encoding="utf-8") as file:
        file.write(STEPPER % (json.dumps(ranges), "pie" in kind, steps))
    done = run("gdb", "-q", "-batch", "-nx", "-x", stepper, path)
    try:
        with open(steps, encoding="utf-8") as file:
            seen = json.load(file)
    except (OSError, ValueError):
        seen = []
    wrong = [(hex(one[0]), rule_at(rows, one[0]), one) for one in seen if not is_true(rule_at(rows, one[0]), one)]
    tap.ok(len(seen) > 20 and not wrong, "  and it is true at each of %d steps" % len(seen), done.stderr, *wrong[:5])
    if os.path.exists(steps):
        os.unlink(steps)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        check(tap, folder, "pie", ["-pie"])
        check(tap, folder, "fixed", ["-no-pie"])
        check(tap, folder, "pie-lld", ["-pie", "-fuse-ld=lld"])
    tap.done()


if __name__ == "__main__":
    main()
