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
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../oracle")]
from interpreters import discover  # noqa: E402
from tap import Tap  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "../../build/strata"))
TURNS = os.environ.get("PROBE_TURNS", "20")
TRUTH = os.path.join(HERE, "probe_truth.py")
LIMIT = "limit"
REFUSED = {"debug": "a debug build", "nogil": "free-threaded", "tailcall": "tail calls"}
PROBES = """python:"%s":function-entry, python:"%s":function-return /args.file == "%s"/ {
    printf("%%d %%s %%s %%d\\n", tid, args.kind, args.function, args.line);
}"""


def is_traced(function):
    """What the program itself writes down."""
    last = function.split(".")[-1]
    return not last.startswith("_") or last.startswith("__")


def read(path):
    events = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 4 and is_traced(words[2]):
                events[words[0]].append(tuple(words[1:3]) + (int(words[3]),))
    return events


def coarse(events):
    return [("call" if event[0] in ("start", "resume", "throw") else "return",) + event[1:] for event in events]


def without_lines(told, expected):
    """An instruction without a line has that of the one before it."""
    return [event if i >= len(expected) or expected[i][2] else event[:2] + (0,) for i, event in enumerate(told)]


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
        told = without_lines(told, expected)
        total += len(expected)
        if told == expected:
            continue
        at = next((i for i, (a, b) in enumerate(zip(told, expected)) if a != b), min(len(told), len(expected)))
        wrong.append("thread %s: %d events, told %d; the first that differs is number %d" % (thread, len(expected), len(told), at))
        wrong.append("    expected %s" % expected[max(0, at - 2):at + 4])
        wrong.append("    told     %s" % told[max(0, at - 2):at + 4])
    tap.ok(total and len(want) == 2 and not wrong, "%s: %d events, the same" % (interpreter.label, total), *wrong)


def refusal(label):
    return next((reason for name, reason in REFUSED.items() if name in label), None)


def run(tap, interpreter, work):
    root = interpreter.root or ""
    folder = tempfile.mkdtemp(dir=(root + "/tmp") if root else work)
    inside = folder[len(root):]
    script, output, told = inside + "/probe_truth.py", inside + "/truth", os.path.join(work, "told")
    shutil.copy(TRUTH, folder)
    command = "%s %s %s %s" % (interpreter.path, script, output, TURNS)
    if root:
        command = "chroot %s %s" % (root, command)
    file = root + interpreter.path
    done = subprocess.run([STRATA, "trace", "-o", told, "-e", PROBES % (file, file, script), "-c", command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, timeout=600, check=False)
    reason = refusal(interpreter.label)
    if reason:
        tap.ok(done.returncode == 1 and reason in done.stderr, "%s: refused: %s" % (interpreter.label, reason), done.stderr)
    elif done.returncode or not os.path.exists(folder + "/truth"):
        tap.ok(False, "%s: traced" % interpreter.label, done.stderr)
    else:
        tap.ok("ost" not in done.stderr, "%s: nothing is lost" % interpreter.label, done.stderr)
        compare(tap, interpreter, read(told), read(folder + "/truth"))
    shutil.rmtree(folder)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    with tempfile.TemporaryDirectory() as work:
        for interpreter in discover():
            run(tap, interpreter, work)
    tap.done()


main()
