#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""events: Python's garbage collections, imports, audits and exceptions, event by event and in order: what the interpreters at
hand tell their own programs (event_truth.py: gc.callbacks, the import system, an audit hook; probe_truth.py: sys.monitoring or
sys.settrace) strata has to tell too, by their static markers where they have any, and by their code. What a build does not
have is refused, by name."""
import os
import re
import shutil
import subprocess

from probe_run import STRATA, difference, read, refusal, run, without_lines  # first: it finds the others
from interpreters import discover
from tap import Tap

LIMIT = "limit"  # at the limit of recursion the truth's own callbacks fail
EVENTS = {  # what is printed
    "gc-start": '"gc-start %%d\\n", args.generation',
    "gc-done": '"gc-done %%d\\n", args.collected',
    "import-start": '"import-start %%s\\n", args.module',
    "import-done": '"import-done %%s %%d\\n", args.module, args.found',
    "audit": '"audit %%s\\n", args.event',
}
EXCEPTIONS = """python:"%(file)s":exception /args.file == "%(program)s"/ {
    printf("%%d exception %%s %%d\\n", tid, args.function, args.line);
}"""


def available(interpreter, options):
    """The events that strata finds in the interpreter, and what it says of the others."""
    file = (interpreter.root or "") + interpreter.path
    found, refused = [], {}
    for event in EVENTS:
        done = subprocess.run([STRATA, "trace", *options, "-e", 'begin { exit(); } python:"%s":%s { }' % (file, event)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        if done.returncode:
            refused[event] = done.stderr
        else:
            found.append(event)
    return found, refused


def between(path):
    """What is told between the two imports that mark the program's part."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    lines = [line for line in lines if line and not (line.startswith("import-") and "strata_" not in line)]
    begin, end = "import-done strata_begin 1", "import-start strata_end"
    return lines[lines.index(begin) + 1:lines.index(end)] if begin in lines and end in lines else lines


def check_events(tap, interpreter, source, options):
    found, refused = available(interpreter, options)
    label = "%s, %s" % (interpreter.label, source)
    missing = [event for event, text in refused.items() if not re.search("python:%s is not to be had: /" % event, text)]
    tap.ok(not missing, "%s: without %s, by name" % (label, ", ".join(refused) or "none"),
           *[refused[event] for event in missing])
    script = "".join('python:"%%(file)s":%s { printf(%s); }\n' % (event, EVENTS[event]) for event in found)
    folder, done, told, truth = run(interpreter, "event_truth.py", ["FOLDER"], script, options)
    if done.returncode or not truth:
        tap.ok(False, "%s: traced" % label, done.stderr)
    else:
        with open(truth, encoding="utf-8") as file:
            expected = [line for line in file.read().split("\n") if line.split(" ")[0] in found]
        got = between(told)
        # Opening strata_end begins before its import is told.
        while got and got[-1].startswith("audit") and len(got) > len(expected):
            got.pop()
        if interpreter.version >= (3, 15):  # it audits an import behind the marker, and not before the function
            got, expected = ([line for line in lines if line != "audit import"] for lines in (got, expected))
        wrong = difference(got, expected, "events")
        tap.ok(expected and not wrong and "ost" not in done.stderr, "%s: %d events of %s, the same" %
               (label, len(expected), ", ".join(found)), done.stderr, *wrong)
    shutil.rmtree(folder)


def check_exceptions(tap, interpreter):
    folder, done, told, truth = run(interpreter, "probe_truth.py", ["5", "exceptions"], EXCEPTIONS)
    if done.returncode or not truth:
        tap.ok(False, "%s: exceptions are traced" % interpreter.label, done.stderr)
    else:
        got, wrong, total = read(told), [], 0
        for thread, expected in read(truth).items():
            expected = [event for event in expected if event[1] != LIMIT]
            events = without_lines([event for event in got[thread] if event[1] != LIMIT], expected)
            wrong += difference(events, expected, "thread " + thread)
            total += len(expected)
        tap.ok(total and not wrong and "ost" not in done.stderr, "%s: %d exceptions, the same" % (interpreter.label, total),
               done.stderr, *wrong)
    shutil.rmtree(folder)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for interpreter in discover():
        if refusal(interpreter.label):
            continue
        check_events(tap, interpreter, "by code", ["--no-feature", "python_markers"])
        check_events(tap, interpreter, "by any source", [])
        check_exceptions(tap, interpreter)
    tap.done()


main()
