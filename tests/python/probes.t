#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""probes: python:function-entry and python:function-return, event by event: probe_truth.py writes down what sys.monitoring or
sys.setprofile tells it in two threads, and strata has to tell the same, in the same order, on every interpreter at hand. Kinds of
entries and returns are compared from 3.12 on; before, the interpreter itself does not tell them. Builds that cannot be traced
are refused, by name. A function at the limit of recursion is left out of the comparison (the truth's own callbacks fail
there); it has to end as often as it began. PROBE_TURNS: turns of the program."""
import collections
import os
import shutil

from probe_run import difference, read, refusal, run, without_lines  # first: it finds the others
from interpreters import discover
from tap import Tap

TURNS = os.environ.get("PROBE_TURNS", "20")
LIMIT = "limit"
PROBES = """python:"%(file)s":function-entry, python:"%(file)s":function-return /args.file == "%(program)s"/ {
    printf("%%d %%s %%s %%d\\n", tid, args.kind, args.function, args.line);
}"""


def coarse(events):
    return [("call" if event[0] in ("start", "resume", "throw") else "return",) + event[1:] for event in events]


def compare(tap, interpreter, got, want):
    total, wrong = 0, []
    for thread, expected in want.items():
        limits = collections.Counter(event[0] for event in got[thread] if event[1] == LIMIT)
        if limits["start"] != limits["unwind"]:
            wrong.append("thread %s: %s at the limit of recursion" % (thread, dict(limits)))
        expected = [event for event in expected if event[1] != LIMIT]
        told = [event for event in got[thread] if event[1] != LIMIT]
        if interpreter.version < (3, 12):
            told = coarse(told)
        total += len(expected)
        wrong += difference(without_lines(told, expected), expected, "thread " + thread)
    tap.ok(total and len(want) == 2 and not wrong, "%s: %d events, the same" % (interpreter.label, total), *wrong)


def check(tap, interpreter):
    folder, done, told, truth = run(interpreter, "probe_truth.py", [TURNS], PROBES)
    reason = refusal(interpreter.label)
    if reason:
        tap.ok(done.returncode == 1 and reason in done.stderr, "%s: refused: %s" % (interpreter.label, reason), done.stderr)
    elif done.returncode or not truth:
        tap.ok(False, "%s: traced" % interpreter.label, done.stderr)
    else:
        tap.ok("ost" not in done.stderr, "%s: nothing is lost" % interpreter.label, done.stderr)
        compare(tap, interpreter, read(told), read(truth))
    shutil.rmtree(folder)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for interpreter in discover():
        check(tap, interpreter)
    tap.done()


main()
