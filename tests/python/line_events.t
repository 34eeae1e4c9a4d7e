#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""line_events: python:line on builds without the marker, line by line: probe_truth.py writes down what sys.monitoring, or
sys.settrace up to 3.11, tells it in two threads, and strata has to tell the same, in the same order. Because a program that is
watched by itself executes other instructions, one thread does the same again, unwatched. Versions that cannot be traced are
refused, by name; those with markers use these. A function at the limit of recursion is left out, as in probes.t. In the short
form one interpreter of each method runs for twice as long as the others. PROBE_TURNS: turns of the program, of all."""
import os
import re
import shutil
import tempfile

from probe_run import STRATA, alone, difference, place, read, refusal, run, trace, trace_program  # first: it finds the others
from interpreters import discover
from tap import LONG, Tap

TURNS, SHORT = 4, 2
LIMIT = "limit"
VERSIONS = (3, 6), (3, 7), (3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15)
SCRIPT = """python:"%(file)s":line /args.file == "%(program)s"/ { printf("%%d line %%s %%d\\n", tid, args.function, args.line); }"""


def without_limit(events):
    return [event for event in events if event[1] != LIMIT]


def main_thread(told):
    """Of the unwatched program: the one that runs its functions."""
    return max(told.values(), key=len) if told else []


def method(interpreter):
    """By what it is found out whether a line begins: lines_step.h, rt_lines_old.bpf.c."""
    return min(max(interpreter.version[:2], (3, 8)), (3, 13))


def check(tap, interpreter, turns):
    folder, done, told, truth = run(interpreter, "probe_truth.py", [turns, "lines"], SCRIPT)
    if done.returncode or not truth:
        tap.ok(False, "%s: traced" % interpreter.label, done.stderr)
    else:
        wrong, total, got, want = [], 0, read(told), read(truth)
        for thread, expected in want.items():
            total += len(without_limit(expected))
            wrong += difference(without_limit(got[thread]), without_limit(expected), "thread " + thread)
        tap.ok(len(want) == 2 and not wrong and "ost" not in done.stderr, "%s: %d lines, the same" % (interpreter.label, total),
               done.stderr, *wrong)
        tap.ok("which slows it" in done.stderr, "%s: it is said that this is slow" % interpreter.label, done.stderr)
    shutil.rmtree(folder)


def check_unwatched(tap, interpreter, turns):
    folder, done, told, _ = run(interpreter, "probe_truth.py", [turns, "unwatched"], SCRIPT)
    expected = without_limit(main_thread(alone(interpreter, "probe_truth.py", [turns, "alone"])))
    wrong = difference(without_limit(main_thread(read(told))), expected, "unwatched")
    tap.ok(expected and not wrong, "%s: %d lines of a program that is not watched otherwise" % (interpreter.label, len(expected)),
           done.stderr, *wrong)
    shutil.rmtree(folder)


# A code object whose line table is no such table; one that has none; one with very many lines.
DAMAGED = """
import os, sys, types
def damage(code, table):
    if hasattr(code, "co_linetable"):
        return code.replace(co_linetable=table)
    if hasattr(code, "replace"):
        return code.replace(co_lnotab=table)
    return types.CodeType(code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags,
                          code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_filename, code.co_name,
                          code.co_firstlineno, table)
def f():
    x = 1
    x = 2
    return x
for table in b"", b"\\xff" * 50, b"\\x80", bytes(range(256)), b"\\xf0" + b"\\x7f" * 40, os.urandom(3000), b"\\x00" * 70:
    f.__code__ = damage(f.__code__, table)
    f()
source = "def many():\\n" + "".join(" x = %d\\n" % i for i in range(3000))
exec(compile(source, "many", "exec"))
many()
"""


def check_damaged(tap, interpreter):
    done = trace_program(interpreter, DAMAGED, """python:"%(file)s":line /args.file == "many"/ { @many = count(); @last = args.line; }
        python:"%(file)s":line /args.file == "%(program)s" && args.function == "<module>"/ { @module = count(); }""")
    got = dict(re.findall(r"@(\w+): (\d+)", done.stdout))
    tap.ok(done.returncode == 0 and got.get("many") == "3001" and got.get("last") == "3001" and got.get("module") == "28",
           "%s: damaged line tables, and 3,000 lines" % interpreter.label, done.stdout, done.stderr)


# A jump to itself, which up to 3.9 is a line each time; as many as sys.settrace tells until the alarm rings. If it rings while
# that tells the last one, that one is not executed.
SPIN = """
import signal, sys
told = 0
def stop(*words): raise KeyError
def spin():
    while True: pass
def line(frame, event, arg):
    global told
    told += event == "line" and frame.f_code.co_name == "spin"
    return line
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 0.2)
sys.settrace(line)
try:
    spin()
except KeyError:
    pass
sys.settrace(None)
print("truth", told)
"""


def check_spin(tap, interpreter):
    done = trace_program(interpreter, SPIN, 'python:"%(file)s":line /args.function == "spin"/ { @spin = count(); }')
    got, want = re.search(r"@spin: (\d+)", done.stdout), re.search(r"truth (\d+)", done.stdout)
    tap.ok(got and want and 0 <= int(want[1]) - int(got[1]) <= 1, "%s: a jump to itself" % interpreter.label, done.stdout, done.stderr)


LOOP = """
def work():
    x = 1
    return x
for i in range(3): work()
"""
AS_OTHERS = {
    "bpftrace": (["--synthesize"], 'usdt:"%s":python:line { printf("%%s %%s %%d\\n", str(arg0), str(arg1), arg2); }'),
    "stap": ([], 'probe python.line { if (funcname == "work") printf("%%s %%s %%d\\n", filename, funcname, lineno) }'),
}


def check_others(tap, interpreter):
    """The same by the marker's name, and in SystemTap's language."""
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/program.py"
        with open(program, "w", encoding="utf-8") as file:
            file.write(LOOP)
        os.symlink(os.path.abspath(STRATA), folder + "/stap")
        for name, (options, script) in AS_OTHERS.items():
            text = script % interpreter.real if name == "bpftrace" else script.replace("%%", "%")
            words = [folder + "/stap"] if name == "stap" else [STRATA, "trace", "-q", *options]
            done = trace(text, "%s -S %s" % (interpreter.path, program), (), words)
            got = [line for line in done.stdout.split("\n") if line.startswith(program + " work ")]
            tap.ok(got == ["%s work %d" % (program, number) for _ in range(3) for number in (3, 4)],
                   "%s: %s tells lines, too" % (interpreter.label, name), done.stdout[-500:], done.stderr)


def check_programs(tap, interpreter):
    """All places have one program, which is verified once: several would take the kernel longer than all the rest."""
    for dialect, script in ("bpftrace", 'python:"%s":line { @ = count(); }' % interpreter.real), \
            ("stap", "probe python.line { println(lineno) }"), ("d", 'python$target:::line { @ = count(); }'):
        done = trace(script, "%s -c 0" % interpreter.path, ["--dialect", dialect, "--synthesize", "--dry-run", "-d", "core"])
        programs = [line for line in done.stdout.split("\n") if line.startswith("program ")]
        tap.ok(len(programs) == 1, "%s: one program of %s" % (interpreter.label, dialect), *programs, done.stderr)


def check_wildcard(tap, interpreter):
    """All probes of a Python are not this one."""
    done = trace("python:%s:* { exit(); }" % place(interpreter), "true")
    tap.ok("python:line is not to be had" in done.stderr and "name it by itself" in done.stderr,
           "%s: a pattern does not mean it" % interpreter.label, done.stderr)


def check_refused(tap, interpreter):
    done = trace("python:%s:line { }" % place(interpreter), "true")
    tap.ok(done.returncode == 1 and "without a marker for lines" in done.stderr, "%s: refused" % interpreter.label,
           done.stderr)


def has_marker(interpreter):
    with open(interpreter.real, "rb") as file:
        return interpreter.version < (3, 12) and b"function__entry" in file.read()


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    methods = set()
    for interpreter in discover():
        if refusal(interpreter.label) or has_marker(interpreter):
            continue
        if interpreter.version[:2] in VERSIONS:
            turns = os.environ.get("PROBE_TURNS", str(TURNS if LONG or method(interpreter) not in methods else SHORT))
            methods.add(method(interpreter))
            check(tap, interpreter, turns)
            check_unwatched(tap, interpreter, turns)
            check_damaged(tap, interpreter)
            check_wildcard(tap, interpreter)
            if not interpreter.root:
                check_others(tap, interpreter)
                check_programs(tap, interpreter)
                if interpreter.version < (3, 11):
                    check_spin(tap, interpreter)
        else:
            check_refused(tap, interpreter)
    tap.done()


main()
