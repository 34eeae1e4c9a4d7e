#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""events: Python's garbage collections, imports, audits and exceptions, event by event and in order: what the interpreters at
hand tell their own programs (event_truth.py: gc.callbacks, the import system, an audit hook; probe_truth.py: sys.monitoring or
sys.settrace) strata has to tell too, by their static markers where they have any, and by their code. What a build does not
have is refused, by name."""
import json
import os
import re
import shutil
import subprocess

from probe_run import STRATA, difference, read, refusal, run, trace, without_lines  # first: it finds the others
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
        done = trace('begin { exit(); } python:"%s":%s { }' % (file, event), None, options)
        if done.returncode:
            refused[event] = done.stderr
        else:
            found.append(event)
    return found, refused


def between(path, expected):
    """What is told between the two imports that mark the program's part; without imports, what begins as is expected."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    lines = [line for line in lines if line and not (line.startswith("import-") and "strata_" not in line)]
    begin, end = "import-done strata_begin 1", "import-start strata_end"
    if begin in lines and end in lines:
        return lines[lines.index(begin) + 1:lines.index(end)]
    size = len(expected)
    return next((lines[i:i + size] for i in range(len(lines) - size + 1) if lines[i:i + size] == expected), lines)


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
        got = between(told, expected)
        # Opening strata_end begins before its import is told.
        while got and got[-1].startswith("audit") and len(got) > len(expected):
            got.pop()
        if interpreter.version >= (3, 15):  # it audits an import behind the marker, and not before the function
            got, expected = ([line for line in lines if line != "audit import"] for lines in (got, expected))
        wrong = difference(got, expected, "events")
        tap.ok(expected and not wrong and "ost" not in done.stderr, "%s: %d events of %s, the same" %
               (label, len(expected), ", ".join(found)), done.stderr, *wrong)
    shutil.rmtree(folder)


def check_names(tap, interpreter):
    """The markers' names, in a build that does not have them."""
    file = (interpreter.root or "") + interpreter.path
    script = 'usdt:"%s":python:%s { }'
    done = trace(script % (file, "function__entry"), None)
    tap.ok(done.returncode == 1 and "HINT: python:function-entry has it" in done.stderr and "--synthesize" in done.stderr,
           "%s: what has the marker that it was built without" % interpreter.label, done.stderr)
    script = "".join('usdt:"%%(file)s":python:%s { printf(%s); }\n' % pair for pair in (
        ("gc__start", '"gc-start %%d\\n", arg0'), ("import__find__load__start", '"import-start %%s\\n", str(arg0)'),
        ("import__find__load__done", '"import-done %%s %%d\\n", str(arg0), arg1'),
        ("function__entry", '"function %%s %%s %%d\\n", str(arg0), str(arg1), arg2')))
    folder, done, told, truth = run(interpreter, "event_truth.py", ["FOLDER"], script, ["--synthesize"])
    wrong = [done.stderr]
    if not done.returncode and truth:
        got = between(told, [])
        with open(truth, encoding="utf-8") as lines:
            expected = [line for line in lines.read().split("\n") if line.split(" ")[0] in ("gc-start", "import-start", "import-done")]
        wrong = difference([line for line in got if not line.startswith("function")], expected, "events")
        functions = [line for line in got if re.search(r"/event_truth.py program \d+$", line)]
        wrong += [] if len(functions) == 1 else ["function__entry of program(): %s" % functions]
    tap.ok(not wrong, "%s: --synthesize: the markers' names, with their arguments" % interpreter.label, *wrong)
    shutil.rmtree(folder)


def check_lines(tap, interpreter):
    """Without a marker: all of Python's instructions have them."""
    script = 'begin { exit(); } python:"%s":line { }' % interpreter.path
    done = trace(script, None)
    tap.ok(done.returncode == 0 and "no marker for lines" in done.stderr and "which slows it" in done.stderr and
           "in each process of the machine" in done.stderr,
           "%s: line is had, and it is said that this is slow, and for whom" % interpreter.label, done.stderr)
    with subprocess.Popen(["chroot", interpreter.root or "/", interpreter.path, "-c", "print(1, flush=True); input()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        done = trace("begin { exit(); } python:line { }", None, ("-p", str(target.pid)))
        target.stdin.close()
    tap.ok(done.returncode == 0 and "which slows it" in done.stderr and "in each process" not in done.stderr,
           "%s: one process alone" % interpreter.label, done.stderr)


def check_inspect(tap, interpreter):
    """strata inspect lists which source each event has; the same as strata trace finds."""
    shown = json.loads(subprocess.check_output([STRATA, "inspect", "--json", interpreter.real]))["probes"]
    sources = {probe["name"][len("python:"):]: probe["source"] for probe in shown}
    found = available(interpreter, [])[0]
    tap.ok(sorted(event for event in EVENTS if sources[event]) == sorted(found) and sources["exception"] == "loop",
           "%s: strata inspect: %s" % (interpreter.label, sources), found)


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


def check_late(tap, interpreter):
    """All Pythons: also one whose file nobody ran when tracing began."""
    env = dict(os.environ, PATH="%s:%s" % (os.path.dirname(interpreter.path), os.environ["PATH"]))
    script = 'python:function-entry /args.function == "strata_late"/ { printf("%d\\n", pid); exit(); }'
    with subprocess.Popen([STRATA, "trace", "-e", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True) as tracer:
        said = iter(tracer.stderr.readline, "")
        attached = any("Attached" in line for line in said)
        with subprocess.Popen([interpreter.path, "-c", "def strata_late(): pass\nstrata_late()"]) as program:
            program.wait()
        try:
            out = tracer.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            tracer.kill()
            out = "no event came"
        tap.ok(attached and out.strip() == str(program.pid), "%s: without a FILE, and started later" % interpreter.label, out)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for interpreter in discover():
        check_events(tap, interpreter, "by code", ["--no-feature", "python_markers"])
        check_events(tap, interpreter, "by any source", [])
        if refusal(interpreter.label):  # of its loop; the others are not of the loop
            continue
        check_exceptions(tap, interpreter)
        if interpreter.label.startswith("pyenv-3.12"):  # without any
            check_names(tap, interpreter)
            check_late(tap, interpreter)
            check_lines(tap, interpreter)
        if not interpreter.label.startswith(("pyenv", "cloudsdk")):  # no starts of a library
            check_inspect(tap, interpreter)
    tap.done()


main()
