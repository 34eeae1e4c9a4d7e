#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""probes: python:function-entry and python:function-return, event by event: probe_truth.py writes down what sys.monitoring or
sys.setprofile tells it in two threads, and strata has to tell the same, in the same order, on every interpreter at hand. Kinds of
entries and returns are compared from 3.12 on; before, the interpreter itself does not tell them. Builds that cannot be traced
are refused, by name. A function at the limit of recursion is left out of the comparison (the truth's own callbacks fail
there); it has to end as often as it began. PROBE_TURNS: turns of the program."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from probe_run import STRATA, difference, read, refusal, run, trace, trace_program, until, without_lines  # first: it finds the others
from interpreters import discover
from tap import Tap

TURNS = os.environ.get("PROBE_TURNS", "20")
LIMIT = "limit"
PROBES = """python:"%(file)s":function-entry, python:"%(file)s":function-return /args.file == "%(program)s"/ {
    printf("%%d %%s %%s %%d\\n", tid, args.kind, args.function, args.line);
}"""

BY_MARKERS = "".join("""python:"%%(file)s":function-%s /args.file == "%%(program)s"/ {
    printf("%%%%d %s %%%%s %%%%d\\n", tid, args.function, args.line);
}""" % pair for pair in (("entry", "call"), ("return", "return")))


def coarse(events):
    return [("call" if event[0] in ("start", "resume", "throw", "call") else "return",) + event[1:] for event in events]


def has_markers(interpreter):
    """Of functions: a build whose loop is not understood is traced by them, which do not tell kinds."""
    with open(interpreter.real, "rb") as file:
        return not (3, 11) <= interpreter.version < (3, 15) and b"function__entry" in file.read()


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
    reason = refusal(interpreter.label)
    by_markers = reason and has_markers(interpreter)
    folder, done, told, truth = run(interpreter, "probe_truth.py", [TURNS], BY_MARKERS if by_markers else PROBES)
    if reason and not by_markers:
        tap.ok(done.returncode == 1 and reason in done.stderr, "%s: refused: %s" % (interpreter.label, reason), done.stderr)
    elif done.returncode or not truth:
        tap.ok(False, "%s: traced" % interpreter.label, done.stderr)
    else:
        tap.ok("ost" not in done.stderr, "%s: nothing is lost" % interpreter.label, done.stderr)
        if by_markers and interpreter.version >= (3, 15):
            tap.skip("%s: events, the same" % interpreter.label,
                     "its markers have names that are not qualified, and tell that a generator is made as a call")
        else:
            compare(tap, interpreter, read(told), read(truth))
    shutil.rmtree(folder)


def check_jit(tap, interpreter):
    """Functions in what the JIT has compiled are not seen: that is said, and only then."""
    root, entered = interpreter.root or "", 20000
    program = "import sys\ndef f(x): return x\nfor i in range(%d): f(i)\nprint(sys._jit.is_enabled())" % entered
    script = 'python:"%s":function-entry /args.function == "f"/ { @ = count(); }' % (root + interpreter.path)
    for switch in "0", "1":
        command = "%s/usr/bin/env PYTHON_JIT=%s %s -c '%s'" % ("chroot %s " % root if root else "", switch, interpreter.path, program)
        done = trace(script, command)
        count = int(re.search(r"@: (\d+)", done.stdout).group(1))
        told = "Python's JIT is on" in done.stderr
        tap.ok((count == entered) != told and told == ("True" in done.stdout), "%s: PYTHON_JIT=%s: %d of %d calls are seen%s" %
               (interpreter.label, switch, count, entered, ", which is said" if told else ""), done.stdout, done.stderr)


CLASSES = """
class Base:
    def who(self): return self
    def inner(self): return [f() for f in (lambda: self,)]
    def made(self):
        yield self
    @staticmethod
    def none(other): return other
    @classmethod
    def of_class(cls): return cls
class Derived(Base): pass
class Counted(dict):
    def who(self): return self
def self_is_no_argument():
    self = 1
for i in range(3):
    for one in Base(), Derived():
        one.who(); one.inner(); list(one.made()); one.none(one); one.of_class()
    Counted().who(); self_is_no_argument()
"""


def check_classes(tap, interpreter):
    """Which class the `self` of what begins is of; up to 3.10 one that inner functions use is not there."""
    done = trace_program(interpreter, CLASSES, """python:"%(file)s":function-entry /args.file == "%(program)s" && args.kind == "start"/ {
        @[args.self_class, args.function] = count(); }""", ["-q"])
    got = {(kind, name.split(".")[-1]): int(count) for kind, name, count in re.findall(r"@\[(.*), (.*)\]: (\d+)", done.stdout)}
    inner = ("Base", "Derived") if interpreter.version >= (3, 11) else ("",)
    expected = {("Counted", "who"): 3, ("", "none"): 6, ("", "of_class"): 6, ("", "self_is_no_argument"): 3}
    expected.update(((kind, name), 3) for kind in ("Base", "Derived") for name in ("who", "made"))
    expected.update(((kind, "inner"), 6 // len(inner)) for kind in inner)
    told = {key: count for key, count in got.items() if not key[1].startswith("<") and key[1] not in ("Base", "Derived", "Counted")}
    tap.ok(told == expected, "%s: classes of self" % interpreter.label, told, expected, done.stderr)


SWITCHED = """
import sys
begun = [0]
def tell(code, offset): begun[0] += code.co_name in ("warm", "warm_generator")
def warm(): pass
def warm_generator(): yield
def both():
    for _ in range(4): warm(); list(warm_generator())
sys.monitoring.use_tool_id(3, "truth")
sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, tell)
both()
for i in range(5):
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
    both()
    sys.monitoring.set_events(3, 0)
    both()
assert begun[0] == 40, begun
"""


SHARED = """
import sys, threading
def plain(): pass
def shared():
    while True: yield 1
generators = [(shared(), threading.Lock()) for _ in range(8)]
def work():
    for _ in range(100):
        for generator, lock in generators:
            with lock: next(generator)
            plain()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


PASSING = """
import os, threading, warnings
warnings.simplefilter("ignore")
def turn(first, end):
    for i in range(first, end):
        names = {}
        exec(compile("def made_%04d(): pass" % i, "file_%04d" % i, "exec"), names)
        names["made_%04d" % i]()
threads = [threading.Thread(target=turn, args=(i, i + 800)) for i in (0, 800)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
turn(*((1600, 2000) if child else (2000, 2400)))
if child: os.waitpid(child, 0)
"""


def check_passing(tap, interpreter):
    """Functions that come and go, each at the address of another one: a name that is known must not outlive its code object."""
    done = trace_program(interpreter, PASSING, """
        python:"%(file)s":function-entry, python:"%(file)s":function-return { @[args.function] = count(); @files[args.file] = count(); }
        python:"%(file)s":function-entry /args.function == "made_0007" || args.function == "made_2007"/ { @one = count(); }""", ["-q"])
    told = {key: int(count) for key, count in re.findall(r"\[((?:made|file)_\d+)\]: (\d+)", done.stdout)}
    wrong = ["%s: %s of %d" % (name % i, told.get(name % i), count) for name, count in (("made_%04d", 2), ("file_%04d", 4))
             for i in range(2400) if told.get(name % i) != count]
    tap.ok(not wrong and "@one: 2\n" in done.stdout and not done.stderr, "%s: functions come and go" % interpreter.label, len(wrong),
           *wrong[:5], done.stderr)


COPIED = """
import ctypes, os, sys, types
frees = %d
base, path = next((int(line.split("-")[0], 16), line.split()[-1]) for line in open("/proc/self/maps") if line.rstrip().endswith("%s"))
page = (base + frees) & -4096
libc = ctypes.CDLL(None)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
# PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS; PROT_READ | PROT_EXEC; MREMAP_MAYMOVE | MREMAP_FIXED
copy = libc.mmap(None, 4096, 3, 0x22, -1, 0)
ctypes.memmove(copy, page, 4096)
libc.mprotect(copy, 4096, 5)
assert libc.mremap(copy, 4096, 4096, 3, page) == page
def plain(): pass
print("copied", flush=True)
sys.stdin.readline()
for i in range(100):
    for name in "first_%%d" %% i, "second_%%d" %% i:
        function = types.FunctionType(plain.__code__.replace(co_name=name, co_qualname=name), {})
        function()
        del function
"""


def check_copied(tap, python):
    """Where the process has its own copy of the code that frees code objects, as it has after it was put on large pages, the kernel puts
    no breakpoint there."""
    mapped = subprocess.run([python, "-c", "print([line.split()[-1] for line in open('/proc/self/maps') if ' r-xp ' in line and "
                             "('libpython' in line or 'bin/python' in line)][-1])"], stdout=subprocess.PIPE, universal_newlines=True,
                            check=True).stdout.strip()
    found = json.loads(subprocess.run([STRATA, "inspect", "--json", mapped], stdout=subprocess.PIPE, check=True).stdout)
    frees = max(probe.get("frees", 0) for probe in found["probes"])
    # A program with fixed addresses begins at one.
    base = 0 if "libpython" in mapped else next(int(line.split("-")[0], 16) for line in subprocess.run(
        [python, "-c", "print(open('/proc/self/maps').read())"], stdout=subprocess.PIPE, universal_newlines=True,
        check=True).stdout.split("\n") if line.endswith(mapped))
    with subprocess.Popen([python, "-c", COPIED % (frees - base, mapped)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        with subprocess.Popen([STRATA, "trace", "-q", "-p", str(program.pid), "-e", """python:function-entry { @[args.function] = count(); }
            begin { printf("traced\\n"); }"""], stdout=subprocess.PIPE, universal_newlines=True) as tracer:
            tracer.stdout.readline()
            program.communicate(b"\n")
            told = dict(re.findall(r"@\[((?:first|second)_\d+)\]: (\d+)", tracer.communicate()[0]))
    tap.ok(frees and len(told) == 200 and set(told.values()) == {"1"}, "%s: frees that are not told" % python, len(told), frees,
           list(told.items())[:4])


def count_of(interpreter, text, counted):
    """What is counted of a program's functions by `counted`, and strata's messages."""
    done = trace_program(interpreter, text, """python:"%%(file)s":function-entry, python:"%%(file)s":function-return
        /args.file == "%%(program)s"/ { @[%s] = count(); }""" % counted, ["-q"])
    failed = ["status %d" % done.returncode] if done.returncode else []
    return {key: int(count) for key, count in re.findall(r"@\[(.*)\]: (\d+)", done.stdout)}, failed + [done.stderr]


def check_switched(tap, interpreter):
    """A function that has been called before monitoring is switched on executes its first instruction twice, and begins once."""
    told, said = count_of(interpreter, SWITCHED, "args.function, args.kind")
    told = [told.get(name + ", start") for name in ("warm", "warm_generator")]
    tap.ok(told == [44, 44] and len(said) == 1,
           "%s: monitoring is switched on and off while functions are warm" % interpreter.label, told, *said)


def check_shared(tap, interpreter):
    """Generators that several threads resume: in free-threaded builds each thread may have a copy of the bytecode."""
    told, said = count_of(interpreter, SHARED, "args.function, args.kind, args.line")
    expected = {"plain, start, 3": 3200, "plain, return, 3": 3200, "shared, start, 4": 8, "shared, resume, 5": 3192,
                "shared, yield, 5": 3200}
    got = {key: count for key, count in told.items() if key in expected or
           (key.startswith(("plain", "shared")) and not re.match("shared, (unwind|throw|return)", key))}
    tap.ok(got == expected and len(said) == 1, "%s: threads share generators" % interpreter.label, told, *said)


def check_programs(tap, interpreter):
    """The places of an event have one program, which is verified once, and one name."""
    entry = 'python:"%s":function-entry' % interpreter.real
    for dialect, script, count in (("bpftrace", entry + ' { if comptime (probe == "x") { @x = 1; } @ = count(); } python:"%s":function-return { @ = count(); }' %
                                    interpreter.real, 2),
                                   ("stap", "probe python.function.entry { println(funcname) }", 1),
                                   ("d", "python$target:::function-entry { @ = count(); }", 1)):
        done = subprocess.run([STRATA, "trace", "--dialect", dialect, "--synthesize", "--dry-run", "-d", "core", "-e", script, "-c",
                               "%s -c 0" % interpreter.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=600, check=False)
        programs = [line for line in done.stdout.split("\n") if line.startswith("program ")]
        tap.ok(len(programs) == count, "%s: one program of %s for an event" % (interpreter.label, dialect), *programs, done.stderr)


def code_of(pid, path):
    """A program's machine code, as it is in memory now."""
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps:
        start, end = next(line.split()[0].split("-") for line in maps if line.rstrip().endswith(path) and " r-xp " in line)
    with open("/proc/%d/mem" % pid, "rb", 0) as memory:
        memory.seek(int(start, 16))
        return memory.read(int(end, 16) - int(start, 16))


def check_life(tap, folder):
    """Nothing is left behind, however strata ends; functions that had begun before tell how they end. Of a file of its own, as
    what other tests trace in Debian's has breakpoints in all processes."""
    python = os.path.join(folder, "python3")
    shutil.copy(os.path.realpath("/usr/bin/python3"), python)
    program = ("import sys\ndef deep(n):\n    if n: deep(n - 1)\n    else: print(1, flush=True); sys.stdin.readline()\n"
               "deep(30); deep(3)")
    probes = 'python:function-entry, python:function-return /args.function == "deep"/ { @[args.kind] = count(); }'
    with subprocess.Popen([python, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        before = code_of(target.pid, python)
        for name in "SIGINT", "SIGKILL", "":
            begun = time.monotonic()
            with subprocess.Popen([STRATA, "trace", "-p", str(target.pid), "-e", probes], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True) as tracer:
                there = until(lambda: code_of(target.pid, python) != before)
                attached = time.monotonic()
                if name:
                    tracer.send_signal(getattr(signal, name))
                    gone = until(lambda: code_of(target.pid, python) == before)
                    print("# there after %.0f ms, gone %.0f ms after %s" %
                          ((attached - begun) * 1e3, (time.monotonic() - attached) * 1e3, name))
                    tap.ok(there and gone, "nothing stays attached after " + name)
                    continue
                tracer.stderr.readline()  # all are attached
                target.stdin.write(b"\n\n")
                target.stdin.flush()
                out = tracer.communicate()[0]
                tap.ok(re.search(r"@\[start\]: 4\n", out) and re.search(r"@\[return\]: 35\n", out),
                       "functions that had begun before tell how they end", out)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    for interpreter in discover():
        check(tap, interpreter)
        if not refusal(interpreter.label):
            check_classes(tap, interpreter)
            check_passing(tap, interpreter)
            if not interpreter.root:
                check_programs(tap, interpreter)
            if interpreter.version >= (3, 12):
                check_switched(tap, interpreter)
                check_shared(tap, interpreter)
        if interpreter.version >= (3, 14) and not refusal(interpreter.label):
            check_jit(tap, interpreter)
    for python in glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/bin/python3")):
        check_copied(tap, python)
    with tempfile.TemporaryDirectory() as folder:
        check_life(tap, folder)
    tap.done()


main()
