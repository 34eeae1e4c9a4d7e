#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench-probes: what Python's probes cost three programs, beside cProfile, sys.monitoring and, if bpftrace and markers of
functions are there, bpftrace with these. CPU seconds of the program alone, how many times as many with each, and nanoseconds
per call or return. The least of some rounds, by turns. Needs root. Asserts nothing. PYTHONS: interpreters, else python3."""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(HERE, "probes_work.py")
PROBES = "python:function-entry,python:function-return"
MARKERS = "usdt:%s:python:function__entry,usdt:%s:python:function__return { @[str(arg1)] = count(); }"


def ways(strata, python):
    trace = [strata, "trace", "-e"]
    yield "cProfile", "cProfile", None
    if subprocess.run([python, "-c", "import sys; sys.monitoring"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        yield "sys.monitoring, empty", "monitoring", None
    yield "empty probe", "alone", trace + [PROBES + " { }"]
    yield "count()", "alone", trace + [PROBES + " { @ = count(); }"]
    yield "count() by function", "alone", trace + [PROBES + " { @[args.function] = count(); }"]
    yield "printed", "alone", trace + [PROBES + ' { printf("%s %s\\n", args.kind, args.function); }']
    yield "one function that is not called", "alone", trace + [PROBES + ' /args.function == "nothing"/ { @ = count(); }']
    yield "calls --summary", "alone", [strata, "calls", "--summary"]
    yield "calls --match of none", "alone", [strata, "calls", "--summary", "--match", "nothing*"]
    yield "record -F 99, for comparison", "alone", [strata, "record", "-F", "99", "-o", "-"]
    with open(os.path.realpath(python), "rb") as file:
        marked = b"function__entry" in file.read()
    if marked and shutil.which("bpftrace"):
        yield "bpftrace, markers by function", "alone", ["bpftrace", "-e", MARKERS % (python, python)]


def run(python, program, how, tool):
    command = [python, WORK, program, how]
    if tool:
        command = [*tool, "-c", " ".join("'%s'" % word for word in command)] if "-e" in tool else [*tool, "--", *command]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, check=False)
    # The program's line is one among the tool's.
    found = re.search(r"^[\d.]+$", done.stderr, re.MULTILINE)
    lost = re.search(r"^.*lost.*$", done.stderr, re.MULTILINE)
    return float(found[0]) if found else None, lost[0] if lost else ""


def measure(strata, python, rounds):
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.strip()
    for program in ("fib", "json + re", "web"):
        events = run(python, program, "count", None)[0]
        rows = [("alone", "alone", None), *ways(strata, python)]
        best, losses = {}, {}
        for _ in range(rounds):
            for name, how, tool in rows:
                took, lost = run(python, program, how, tool)
                losses[name] = lost or losses.get(name, "")
                if took is not None:
                    best[name] = min(took, best.get(name, took))
        alone = best["alone"]
        print("%s, %s: %d calls and returns, %.3f s of CPU alone" % (version, program, events, alone))
        for name, _, _ in rows[1:]:
            if name not in best:
                print("  %-34s failed" % name)
                continue
            print("  %-34s %6.2f times %8.0f ns each  %s" % (name, best[name] / alone, 1e9 * (best[name] - alone) / events, losses[name]))
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", required=True)
    options = parser.parse_args()
    for python in os.environ.get("PYTHONS", shutil.which("python3")).split():
        measure(options.strata, python, int(os.environ.get("BENCH_ROUNDS", "3")))


main()
