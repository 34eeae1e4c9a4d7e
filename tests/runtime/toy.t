#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""toy: a runtime with a second stack is added by one folder (docs/RECIPES.md).

strata is built once more with tests/runtime/toy among its runtimes, into a folder of its own, and records a program of
the toy interpreter. Every stack must be one that the program has: its functions and lines in place of the loop, native
frames between them where native code called back.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import SCALE, Tap  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FRAME = re.compile(r"(.*) \(program\.toy:(\d+)\)$")
# What the program does, outermost first: lines of its functions, and C between them.
CHAIN = [("main", {1, 2, 3}), ("outer", {10, 11}), "apply", ("inner", {20, 23}), ("leaf", {30, 31, 32}), "burn"]
# Seen for some instructions: between two frames of the chain, the loop without a frame of its own yet, or any more.
BETWEEN = {"toy_run", "is_over", "clock_gettime", "__vdso_clock_gettime"}


def is_possible(frames):
    """Is it a beginning of the chain, whose functions are on a line that they have?"""
    at = 0
    for frame in frames:
        found = FRAME.match(frame)
        name = frame.rsplit(" (", 1)[0]
        if not found and name != (CHAIN[at] if at < len(CHAIN) else None):
            if name in BETWEEN or at == len(CHAIN) or not at:
                continue
            return False
        if at >= len(CHAIN):
            return False
        if found and (CHAIN[at][0] != found[1] or int(found[2]) not in CHAIN[at][1]):
            return False
        at += 1
    return True


def take_over(build):
    """What no list of runtimes goes into is the same in both builds: all objects that read nothing generated but the
    kernel's types. They keep their times, so make sees that they are up to date."""
    whole = os.path.dirname(build)
    inside = os.path.relpath(whole, ROOT) + "/"
    types = os.path.join(whole, "gen/vmlinux.h")
    taken = [types]
    for path in glob.glob(whole + "/src/**/*.d", recursive=True):
        with open(path, encoding="utf-8") as file:
            rule = file.read().replace(os.path.join(inside, "gen/vmlinux.h"), "")
        if inside + "gen/" in rule or not os.path.exists(path[:-1] + "o"):
            continue
        taken.append(path[:-1] + "o")
        copy = os.path.join(build, os.path.relpath(path, whole))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(copy, "w", encoding="utf-8") as file:
            file.write(rule.replace(inside, build + "/"))
    for path in taken:
        copy = os.path.join(build, os.path.relpath(path, whole))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy2(path, copy)


def main():
    tap = Tap()
    if os.geteuid():
        tap.skip("the toy", "needs root")
        tap.done()
    build = os.path.join(os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build"))), "toy")
    take_over(build)
    made = subprocess.run(["make", "-s", "-j2", "-C", ROOT, f"BUILD={build}", "RUNTIMES=python go sbcl toy", "CFLAGS=-O0"],
                          capture_output=True, text=True)
    if not tap.ok(not made.returncode, "strata is built with one more folder", *made.stderr.splitlines()[-20:]):
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        program, stats = os.path.join(folder, "interpreter"), os.path.join(folder, "stats.json")
        subprocess.run(["cc", "-O1", "-rdynamic", "-pthread", f"-I{ROOT}/src", f"-I{ROOT}/tests", f"-I{build}/gen",
                        f"{ROOT}/tests/runtime/interpreter.c", "-o", program], check=True)
        ran = subprocess.run([os.path.join(build, "strata"), "record", "-F", "997", "-o", "-", "--stats", stats, "--",
                              program, str(int(2 * SCALE))], capture_output=True, text=True)
        tap.ok(not ran.returncode, "it records", ran.stderr)
        with open(stats, encoding="utf-8") as file:
            figures = json.load(file)
    stacks = []
    for line in ran.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks.append(([frame for frame in stack.split(";")[1:] if not frame.endswith(" [k]")], int(count)))
    toy = [(frames, count) for frames, count in stacks if any(FRAME.match(frame) for frame in frames)]
    total, shown = sum(count for _, count in stacks), sum(count for _, count in toy)
    tap.ok(shown > 100 and shown > 0.9 * total, "nearly all samples have the toy's frames", f"{shown} of {total}")
    wrong = [";".join(frames) for frames, _ in toy if not is_possible(frames)]
    tap.ok(not wrong, "no stack is impossible, no line wrong", *wrong[:10])
    whole = sum(count for frames, count in toy if [frame.split(" (")[0] for frame in frames[-6:]] ==
                [part if isinstance(part, str) else part[0] for part in CHAIN])
    tap.ok(whole > 0.8 * shown, "most go from main to the native leaf, the loop's frames replaced",
           f"{whole} of {shown}", *[";".join(frames) for frames, _ in toy[:5]])
    tap.ok(not any("toy_run (" in frame for frames, _ in toy if len(frames) > 5 and frames[-1].startswith("burn")
                   for frame in frames), "no loop is left beside its frames")
    tap.ok(figures["toy_samples"] == shown, "--stats counts them by the runtime's name",
           f"{figures['toy_samples']}, {shown}")
    late = figures["lost"].get("late", 0)  # a new program's first samples, more of them on a busy machine
    tap.ok(figures["complete"] + late >= 0.99 * figures["samples"], "nearly all are complete", str(figures["lost"]))
    starts = {frames[0].split(" (")[0] for frames, _ in toy}
    tap.ok({"_start"} < starts, "both threads are walked", str(starts))
    tap.done()


main()
