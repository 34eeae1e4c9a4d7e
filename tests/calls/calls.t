#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""calls: strata calls on every interpreter at hand. Its lines are what sys.monitoring or sys.setprofile tells of the program of
tests/python/probes.t, event by event and well nested; its counts are cProfile's; own times add up to the outermost call's total,
and CPU times are the program's own; timelines as a page and as trace events; a stack that was deep when tracing began is told as that; options, mistakes."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../python"), os.path.join(HERE, ".."), os.path.join(HERE, "../oracle")]
from interpreters import discover  # noqa: E402
from probe_run import STRATA, difference, is_traced, read, refusal  # noqa: E402
from tap import Tap  # noqa: E402

TRUTH = os.path.join(HERE, "../python/probe_truth.py")
PROGRAM = os.path.join(HERE, "program.py")
TURNS = "5"
NAME_WIDTH, TIME_WIDTH = 20, 10
ENDS = {", yields": "yield", ", ended by an exception": "unwind"}
BEGINNINGS = {", resumed by an exception": "throw", ", resumed": "resume"}
LIMIT = "limit"


def strata(*arguments, **more):
    return subprocess.run([STRATA, "calls", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=600, check=False, **more)


def without(text, marks):
    """The text without a mark at its end, and what the mark means."""
    for mark, kind in marks.items():
        if text.endswith(mark):
            return text[:-len(mark)], kind
    return text, None


class Lines:
    """The events of the lines, by thread, and what is wrong with the lines."""

    def __init__(self, text):
        self.events = collections.defaultdict(list)
        self.wrong = []
        self.stacks = collections.defaultdict(list)
        for line in text.splitlines():
            if line.split() == ["seconds", "thread", "time", "call"]:
                continue
            found = re.match(r" *([\d.]+) (.*?/(\d+))(?= )", line)
            if not found:
                self.wrong.append("no line of a call: " + line)
                continue
            at = found.start(2) + max(NAME_WIDTH, len(found[2])) + 1
            rest = line[at + TIME_WIDTH + 2:]
            indent, rest = len(rest) - len(rest.lstrip()), rest.strip()
            deep = re.match(r"\[(\d+)\] ", rest)
            if deep:
                indent, rest = 2 * int(deep[1]), rest[deep.end():]
            self.take(found[3], line[at:at + TIME_WIDTH].strip(), indent, rest)

    def take(self, thread, took, indent, text):
        stack, events = self.stacks[thread], self.events[thread]
        text, end = without(text, ENDS)
        if text.startswith("< "):
            if not stack or stack[-1] != (indent, text[2:]):
                self.wrong.append("the end of %s does not belong to %s" % (text, stack[-1:]))
            elif took:
                stack.pop()
                events.append((end or "return", text[2:]))
            return
        text, begin = without(text, BEGINNINGS)
        name = text.split(" (")[0]
        # What a tool of sys.monitoring is told of a start runs before that counts as one.
        if indent != (2 + stack[-1][0] if stack else 0) and is_traced(name):
            self.wrong.append("%s is not below %s" % (text, stack[-1:]))
        events.append((begin or "start", name))
        if took:
            events.append((end or "return", name))
        else:
            stack.append((indent, name))


def truth_of(path):
    return {thread: [event[:2] for event in events if event[1] != LIMIT] for thread, events in read(path).items()}


def coarse(events):
    return [("call" if kind in ("start", "resume", "throw") else "return", function) for kind, function in events]


def check_events(tap, interpreter, work):
    output, truth = os.path.join(work, "calls.txt"), os.path.join(work, "truth")
    done = strata("--match", "*/probe_truth.py", "-o", output, "--", interpreter.path, TRUTH, truth, TURNS)
    with open(output, encoding="utf-8") as file:
        lines = Lines(file.read())
    want, wrong = truth_of(truth), list(lines.wrong[:5])
    for thread, expected in want.items():
        told = [event for event in lines.events[thread] if is_traced(event[1]) and event[1] != LIMIT]
        if interpreter.version < (3, 12):
            told = coarse(told)
        wrong += difference(told, expected, "thread " + thread)
    tap.ok(not done.returncode and len(want) == 2 and not wrong and "lost" not in done.stderr,
           "%s: %d events, the same, in their places" % (interpreter.label, sum(map(len, want.values()))), done.stderr, *wrong)


def functions_of(done):
    try:
        parsed = json.loads(done.stdout.splitlines()[-1])
        return parsed["functions"], parsed["lost"]
    except (ValueError, IndexError, KeyError):
        return [], {"output": done.stdout[-500:] + done.stderr}


def check_counts(tap, interpreter, work):
    path = os.path.join(work, "profile")
    done = strata("--summary", "--json", "--match", "*/program.py", "--", interpreter.path, PROGRAM, "profile", path)
    functions, lost = functions_of(done)
    told = {(function["name"].split(".")[-1], function["line"]): function["calls"] for function in functions}
    try:
        with open(path) as file:
            want = {(name, line): calls for name, line, calls in json.load(file)}
    except OSError:
        want = {}
    wrong = {key: (calls, told.get(key)) for key, calls in want.items() if told.get(key) != calls}
    tap.ok(len(want) > 8 and not wrong and not lost.get("events") and not lost.get("repaired"),
           "%s: calls as cProfile counts them" % interpreter.label, str(wrong), str(lost), done.stderr)


def check_times(tap, interpreter):
    done = strata("--summary", "--json", "--from", "program.py:times", "--", interpreter.path, PROGRAM, "times")
    functions, lost = functions_of(done)
    named = {function["name"]: function for function in functions}
    try:
        spin, rest, times = (named[name] for name in ("spin", "rest", "times"))
        cpu = float(done.stdout.splitlines()[0])
    except (KeyError, ValueError, IndexError):
        tap.ok(False, "%s: times" % interpreter.label, done.stdout, done.stderr)
        return
    total = sum(function["own_s"] for function in functions)
    tap.ok(abs(total - times["total_s"]) < 1e-6, "%s: own times are the outermost call's time" % interpreter.label,
           "%f, %f" % (total, times["total_s"]), str(lost))
    tap.ok(0.97 * cpu < spin["own_cpu_s"] < 1.5 * cpu and rest["own_s"] >= 0.2 and rest["own_cpu_s"] < 0.1 and
           all(function["own_cpu_s"] <= function["own_s"] + 1e-6 for function in functions),
           "%s: CPU time is the program's, and sleep is none" % interpreter.label, str(spin), str(rest), str(cpu))


def check_attached(tap, interpreter, work):
    end = os.path.join(work, "end")
    program = subprocess.Popen([interpreter, PROGRAM, "deep", "10", end], stdout=subprocess.PIPE)
    program.stdout.readline()
    tracer = subprocess.Popen([STRATA, "calls", "--match", "*/program.py", "-p", str(program.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)
    seen = []
    while not seen or ("tick (" not in seen[-1] and seen[-1]):
        seen.append(tracer.stdout.readline())
    with open(end, "w"):
        pass
    out, err = tracer.communicate(timeout=60)
    program.wait()
    before = [line.split(" (")[0].split()[-1] for line in out.splitlines() if line.endswith(", began before")]
    tap.ok(not tracer.returncode and before == 11 * ["deep"] + ["<module>"] and out.count("plain (") == 10,
           "calls that began before are told as that", out, err)


def check_mistakes(tap, work):
    python = sys.executable
    for words, status, told in (
            ((), 2, "whose calls"),
            (("-p", "1", "--", "true"), 2, "exclude each other"),
            (("--json", "-p", "1"), 2, "--json is for --summary"),
            (("--depth", "0", "-p", "1"), 2, "whole number"),
            (("--lines", "--summary", "-p", "1"), 2, "printed as text"),
            (("--min-time", "5", "-p", "1"), 2, "--min-time 5"),
            (("-p", "999999999",), 2, "999999999"),
            (("--", "/nonexistent/python"), 1, "/nonexistent/python"),
            (("-p", str(os.getppid()) if "python" not in os.readlink("/proc/%d/exe" % os.getppid()) else "1"), 1, "no Python"),
            (("--", "/bin/true"), 0, "no function was called"),
            (("-o", work + "/none/x", "--", python, "-c", ""), 1, "none/x")):
        done = strata(*words)
        tap.ok(done.returncode == status and told in done.stderr and done.stderr.count("\n") == 1, "calls " + " ".join(words),
               str(done.returncode), done.stderr)
    done = strata("--summary", "--from", "fibb", "--", python, PROGRAM, "main")
    tap.ok(not done.returncode and "--from fibb: no function of this name was called; near it: fib" in done.stderr,
           "a function that is not called: names that are near", done.stderr)
    done = strata("--from", "program.py:spin", "--", python, "-c", "import sys; sys.exit(7)")
    tap.ok(done.returncode == 7, "the command's own status", str(done.returncode), done.stderr)


def check_filters(tap):
    def told(*words):
        lines = Lines(strata(*words, "--", sys.executable, PROGRAM, "main").stdout)
        return [name for events in lines.events.values() for kind, name in events if kind == "start"], lines.wrong

    tap.equal(told("--from", "program.py:main", "--depth", "1"), (["main"], []), "--depth 1: nothing below --from's function")
    names, wrong = told("--from", "program.py:main", "--depth", "2", "--match", "[fg]*")
    tap.equal((names, wrong), (["fib", "generator", "generator"], []), "--match and --depth 2")
    names, wrong = told("--from", "program.py:main", "--match", "raises")
    tap.equal((names, wrong), (6 * ["raises"], []), "a function within itself")
    names, wrong = told("--from", "program.py:raises", "--match", "no such function")
    tap.equal((names, wrong), ([], []), "--from's function is not shown if --match does not want it")
    with tempfile.NamedTemporaryFile("r") as output:
        strata("-o", output.name, "--from", "program.py:times", "--min-time", "150ms", "--", sys.executable, PROGRAM, "times")
        lines = Lines(output.read())
    names = [name for events in lines.events.values() for kind, name in events if kind == "start"]
    tap.equal((names, lines.wrong), (["times", "spin", "rest"], []), "--min-time")


def check_lines(tap, interpreter):
    """What begins comes from the line that has its call, and ends in one of its own; the numbers are the program's text."""
    done = strata("--lines", "--from", "program.py:main", "--match", "*/program.py", "--", interpreter.path, PROGRAM, "main")
    with open(PROGRAM) as file:
        source = [""] + file.read().split("\n")
    found, wrong = 0, []
    for line in done.stdout.splitlines():
        match = re.search(r" (\w+) \(\S*program.py:(\d+)\) from line (\d+)", line)
        if match and match[1] in ("fib", "raises", "plain"):
            found += 1
            if match[1] not in source[int(match[3])]:
                wrong.append(line + " | " + source[int(match[3])])
        end = re.search(r"(< raises| raises \(.*) to line (\d+)", line)
        if end and "raise" not in source[int(end[2])]:
            wrong.append(line)
    tap.ok(found > 180 and not wrong, "%s: --lines" % interpreter.label, str(found), done.stderr, *wrong)


def check_greenlets(tap):
    text = strata("--match", "*/program.py", "--", "/usr/bin/python3", PROGRAM, "switch")
    words = [" ".join(line.split()[2:]) for line in text.stdout.splitlines() if "one" in line or "two" in line or "fib" in line]
    if " one (" not in text.stdout:
        tap.skip("greenlets", "there is no greenlet module")
        return
    order = [re.sub(r"^[\d.]+ [um]?s |\(.*?\)", "", word).strip() for word in words]
    tap.ok(order == ["one", "two", "fib", "fib", "fib", "< fib", "< one", "< two, ended by an exception"] and not text.stderr,
           "greenlets go on where they were", str(order), text.stdout, text.stderr)


def check_wrapped(tap):
    for words in (("sh", "-c", "/usr/bin/python3 %s main; exit 5" % PROGRAM), ("timeout", "600", "/usr/bin/python3", PROGRAM, "main")):
        done = strata("--summary", "--json", "--match", "main", "--", *words)
        functions, _ = functions_of(done)
        tap.ok(done.returncode == (5 if words[0] == "sh" else 0) and [function["calls"] for function in functions if function["file"] == PROGRAM] == [1],
               "a Python that %s starts" % words[0], str(done.returncode), str(functions), done.stderr)


def check_family(tap):
    done = strata("--summary", "--json", "--match", "fib", "--", "/usr/bin/python3", PROGRAM, "family")
    functions, lost = functions_of(done)
    tap.ok(done.returncode == 3 and [function["calls"] for function in functions] == [4 * 465] and not lost["events"],
           "processes, threads, and a program that executes another one", str(done.returncode), str(functions), str(lost), done.stderr)


def check_execution(tap, work):
    """What a thread has called ends when it executes another program, whichever thread of its process it is."""
    trace = os.path.join(work, "exec.json")
    done = strata("-o", trace, "--match", "*/program.py", "--", "/usr/bin/python3", PROGRAM, "executes")
    with open(trace) as file:
        events = {event["name"]: event for event in json.load(file)["traceEvents"] if event["ph"] == "X"}
    jump, after = events.get("jump"), events.get("after")
    tap.ok(jump and after and jump["ts"] + jump["dur"] <= after["ts"], "a thread that is not the leader executes a program",
           str(jump), str(after), done.stderr)


def check_hidden(tap, interpreter):
    done = strata("--summary", "--json", "--from", "hidden", "--match", "*/program.py", "--", interpreter.path, PROGRAM, "hidden")
    functions, lost = functions_of(done)
    calls = {function["name"].split(".")[-1]: function["calls"] for function in functions}
    tap.ok(not done.returncode and calls == {"hidden": 1, "<module>": 1, "big": 1, "plain": 1} and not lost.get("repaired"),
           "%s: a caller whose code object cannot be read keeps its place, and its end" % interpreter.label, str(calls), str(lost), done.stderr)


def check_silent(tap, interpreter):
    """An end without a beginning is not told as the end of what was at that address before."""
    done = strata("--", interpreter.path, PROGRAM, "silent")
    ends = collections.Counter(re.findall(r" < (\w+) \(.*, began before$", done.stdout, re.MULTILINE))
    begun = collections.Counter(re.findall(r"  (told_\d+|silent_\d+) \(", done.stdout))
    tap.ok(not done.returncode and ends == {"silent_%d" % i: 2 for i in range(50)} and begun == {"told_%d" % i: 2 for i in range(50)},
           "%s: functions that end and were not seen to begin" % interpreter.label, str(ends)[:200], str(begun)[:200], done.stderr)


def check_full(tap, interpreter):
    """A function whose names did not arrive has them when there is room again."""
    for how in [], ["--match", "*la*"]:
        done = strata(*how, "--", interpreter.path, PROGRAM, "full")
        tap.ok(not done.returncode and len(re.findall(r"  late \(", done.stdout)) > 1 and "unknown function" not in done.stdout,
               "%s: names that did not arrive%s" % (interpreter.label, ", " + " ".join(how) if how else ""), done.stdout[-300:], done.stderr)


def check_early(tap, interpreter, work):
    """Calls that --match does not want are not sent: while nobody takes what is sent there is room for all that it wants."""
    end = os.path.join(work, "early")
    program = subprocess.Popen([interpreter, PROGRAM, "busy", end], stdout=subprocess.PIPE)
    tracer = subprocess.Popen([STRATA, "calls", "--match", "plai?", "-p", str(program.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True)
    first = [tracer.stdout.readline(), tracer.stdout.readline()]
    os.kill(tracer.pid, signal.SIGSTOP)
    with open(end, "w"):
        pass
    program.communicate(timeout=300)
    os.kill(tracer.pid, signal.SIGCONT)
    out, err = tracer.communicate(timeout=60)
    lines = Lines("".join(first) + out)
    names = [name for events in lines.events.values() for kind, name in events if kind == "start"]
    tap.ok(not lines.wrong and set(names) == {"plain"} and len(names) > 5 and not err, "calls that are not wanted are not sent",
           str(len(names)), err, *lines.wrong[:3])


def shown_of(*pages):
    """What page.js sees in each page, in one browser."""
    done = subprocess.run(["node", os.path.join(HERE, "page.js"), *pages], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(pages) else [done.stdout] * len(pages)


def check_timelines(tap, work):
    page, two, trace = (os.path.join(work, name) for name in ("calls.html", "two.html", "calls.json"))
    words = ["--from", "program.py:main", "--", "/usr/bin/python3", PROGRAM, "main"]
    done = strata("-o", page, *words)
    threads = strata("-o", two, "--match", "fib", "--", "/usr/bin/python3", PROGRAM, "threads")
    shown, lanes = shown_of(page, two)
    calls = strata("--summary", "--json", *words)
    want = sum(function["calls"] for function in functions_of(calls)[0])
    tap.ok(not done.returncode and not done.stdout and shown.split() == ["%d" % want, "main", "fib", "0", "1"],
           "a page has all calls, the outermost above the others, and no errors or requests", str(want), shown, done.stderr)
    tap.ok(not threads.returncode and lanes.split() == ["930", "fib", "fib", "0", "1"], "a page with lanes of two threads", lanes, threads.stderr)
    done = strata("--summary", "-o", trace, *words)
    with open(trace) as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    around, wrong = [], []
    for event in events:
        begin, end = round(1000 * event["ts"]), round(1000 * (event["ts"] + event["dur"]))
        while around and around[-1] <= begin:
            around.pop()
        if around and end > around[-1]:
            wrong.append(event)
        around.append(end)
    tap.ok(not done.returncode and "fib (" in done.stdout and len(events) == want and not wrong,
           "trace events for Perfetto nest; with --summary that is printed as well", done.stderr, str(wrong[:3]))


def check_library(tap, work):
    """Debian's libpython3.11 in another program: the code of its first instruction, CACHE, which is never executed, is nowhere."""
    host, source = os.path.join(work, "host"), "#include <Python.h>\nint main(int c, char **v) { return Py_BytesMain(c, v); }\n"
    config = shutil.which("python3.11-config")
    flags = subprocess.check_output([config, "--includes"], universal_newlines=True).split() if config else []
    built = subprocess.run(["cc", "-x", "c", "-o", host, "-", *flags, "-lpython3.11"], input=source, universal_newlines=True,
                           stderr=subprocess.PIPE, check=False)
    if built.returncode:
        tap.skip("libpython3.11 in another program", "there is no libpython3.11")
        return
    library = types.SimpleNamespace(path=host, label="libpython3.11 in another program", version=(3, 11))
    check_events(tap, library, work)
    check_counts(tap, library, work)


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    with tempfile.TemporaryDirectory() as work:
        for interpreter in discover():
            if interpreter.root:  # the command would be chroot
                continue
            reason = refusal(interpreter.label)
            if reason:
                done = strata("--", interpreter.path, PROGRAM, "times")
                tap.ok(done.returncode == 1 and reason in done.stderr and done.stderr.count("\n") == 1,
                       "%s: refused: %s" % (interpreter.label, reason), done.stderr)
                continue
            check_events(tap, interpreter, work)
            check_counts(tap, interpreter, work)
            check_times(tap, interpreter)
            check_lines(tap, interpreter)
            if interpreter.version >= (3, 12):
                check_hidden(tap, interpreter)
            if interpreter.version >= (3, 11):
                check_silent(tap, interpreter)
            if interpreter.version[:2] in ((3, 10), (3, 13)):
                check_full(tap, interpreter)
        check_attached(tap, sys.executable, work)
        check_early(tap, sys.executable, work)
        check_library(tap, work)
        check_mistakes(tap, work)
    check_filters(tap)
    check_greenlets(tap)
    check_family(tap)
    check_wrapped(tap)
    with tempfile.TemporaryDirectory() as work:
        check_timelines(tap, work)
        check_execution(tap, work)
    tap.done()


main()
