#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata beside other profilers, in one run: what they say of a program that knows its own stacks, and what they cost.

Truth: the oracle's program (tests/oracle) writes down every stack that it can have; then each tool samples it, and each
of its Python stacks is judged by the same rules. Functions are compared by their plain names, and a thread's role is not
known from every tool's output, so a stack is held against all roles and given the best verdict.

Cost: each workload runs alone under each tool, the tools by turns, round after round; the tables give medians. Time in
the kernel is that of BPF programs (bpf_stats), divided by their runs. Nothing is asserted.

Tools that are not in PATH, or do not run, are named and left out. OTEL_PROFILER names the OpenTelemetry profiler's
binary: it has no local output, so only its cost is measured. Needs root."""
import argparse
import collections
import glob
import gzip
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tests/oracle"), os.path.join(HERE, "../tests"), os.path.join(HERE, "../tests/e2e")]
sys.dont_write_bytecode = True
import check  # noqa: E402
import interpreters  # noqa: E402

HZ = 99
PYTHON = "/usr/bin/python3"
ORACLE = os.path.normpath(os.path.join(HERE, "../tests/oracle"))
COUNTING = "/proc/sys/kernel/bpf_stats_enabled"


class Tool(object):
    """A profiler. `stacks` gives [(frames of Python as (name, file, line), outermost first; count)], or is None."""

    def __init__(self, name, program, command, output, stacks=None, everything=None, complete=None):
        self.name, self.program, self.command, self.output = name, program, command, output
        self.stacks = stacks
        self.everything = everything  # the command line to watch all processes
        self.complete = complete


def strata_stacks(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            _, frames, count = check.split_stack(line.rstrip("\n"))
            yield check.python_chain(frames), count


def spy_stacks(path):
    """py-spy's raw format: native frames have no line."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = [check.PYTHON_FRAME.match(frame) for frame in stack.split(";")]
            yield [(f.group(1), f.group(2), int(f.group(3))) for f in frames if f and f.group(2).endswith(".py")], int(count)


def austin_stacks(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("P"):
                continue
            stack, _, _ = line.rstrip("\n").rpartition(" ")
            frames = [frame.rsplit(":", 2) for frame in stack.split(";")[2:]]
            yield [(f[1], f[0], int(f[2])) for f in frames if len(f) == 3 and f[2].isdigit()], 1


def perf_complete(output):
    script = subprocess.Popen(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", output],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    total = whole = 0
    last = None
    for line in script.stdout:
        line = line.strip()
        if line:
            last = line.split(None, 1)[-1]
        elif last is not None:
            total += 1
            whole += bool(re.match(r"(_start|__libc_start\w*|__?clone3?|start_thread)\b", last))
            last = None
    script.wait()
    return whole / total if total else None


def samply_complete(output):
    with gzip.open(output) as file:
        profile = json.load(file)
    total = whole = 0
    for thread in profile["threads"]:
        stacks, frames = thread["stackTable"], thread["frameTable"]
        for stack in thread["samples"]["stack"]:
            if stack is None:
                continue
            while stacks["prefix"][stack] is not None:
                stack = stacks["prefix"][stack]
            name = thread["stringArray"][thread["funcTable"]["name"][frames["func"][stacks["frame"][stack]]]]
            total += 1
            whole += bool(re.match(r"(_start|__libc_start\w*|__?clone3?|start_thread|0x)", name))
    return whole / total if total else None


def all_tools(options, folder):
    strata = [options.strata, "record", "-q", "-F", str(HZ), "-t", "-o", folder + "/strata.folded", "--stats", folder + "/strata.json"]
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", folder + "/perf.data", "--call-graph"]
    spy = ["py-spy", "record", "-r", str(HZ), "-d", "100000", "-t", "--full-filenames", "-f", "raw", "-o", folder + "/spy.raw"]
    otel = os.environ.get("OTEL_PROFILER", "")
    agent = [otel, "-collection-agent", "127.0.0.1:1", "-disable-tls", "-samples-per-second", str(HZ), "-reporter-interval", "5s"]

    def strata_complete(_):
        with open(folder + "/strata.json") as file:
            stats = json.load(file)
        return stats["complete"] / stats["samples"] if stats["samples"] else None

    return [
        Tool("strata", options.strata, lambda pid: strata + ["-p", str(pid)], folder + "/strata.folded", strata_stacks, strata + ["-a"],
             strata_complete),
        Tool("perf -g", "perf", lambda pid: perf + ["fp", "-p", str(pid)], folder + "/perf.data", None, perf + ["fp", "-a"], perf_complete),
        Tool("perf dwarf", "perf", lambda pid: perf + ["dwarf,65528", "-p", str(pid)], folder + "/perf.data", None,
             perf + ["dwarf,65528", "-a"], perf_complete),
        Tool("py-spy", "py-spy", lambda pid: spy + ["-p", str(pid)], folder + "/spy.raw", spy_stacks),
        Tool("py-spy --native", "py-spy", lambda pid: spy + ["--native", "-p", str(pid)], folder + "/spy.raw", spy_stacks),
        Tool("austin", "austin", lambda pid: ["austin", "-i", "%dus" % (1000000 // HZ), "-p", str(pid), "-o", folder + "/austin.txt"],
             folder + "/austin.txt", austin_stacks),
        Tool("samply", "samply", lambda pid: ["samply", "record", "--save-only", "-r", str(HZ), "-o", folder + "/samply.json.gz", "-p",
                                              str(pid)], folder + "/samply.json.gz", None, None, samply_complete),
        Tool("OpenTelemetry", otel, lambda pid: agent, None, None, agent),
    ]


def runs_at_all(tool):
    """None, or why it is left out."""
    path = shutil.which(tool.program) if tool.program else None
    if not path:
        return "not here" + (" (OTEL_PROFILER)" if tool.name == "OpenTelemetry" else "")
    done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return "does not run: " + done.stdout.strip()[-100:] if done.returncode in (1, 126, 127) and "not found" in done.stdout else None


def bpf_programs():
    """{id: (ns, runs)} of the programs that perf events run."""
    done = subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    shown = json.loads(done.stdout or "[]")
    return {p["id"]: (p.get("run_time_ns", 0), p.get("run_cnt", 0)) for p in shown if p["type"] == "perf_event"}


def cpu_of(pid):
    """CPU time of a process and its children that ended, and the peak of its memory in MB."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    with open("/proc/%d/status" % pid) as file:
        peak = re.search(r"VmHWM:\s+(\d+)", file.read())
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), int(peak.group(1)) / 1024 if peak else None


def finish(process):
    """Ends a tool as Ctrl-C does. Its usage."""
    end = time.time() + 60
    process.send_signal(signal.SIGINT)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.time() > end:
            process.kill()
            end += 60
        time.sleep(0.02)


class Run(object):
    """A tool that watches a process, from begin() to end()."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.measured = {}

    def begin(self, pid):
        if self.tool.output and os.path.exists(self.tool.output):
            os.unlink(self.tool.output)
        self.before = set(bpf_programs())
        self.began = time.time()
        command = self.tool.command(pid) if pid else self.tool.everything
        self.log = open(self.folder + "/log", "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)

    def end(self):
        own = {number: cost for number, cost in bpf_programs().items() if number not in self.before}
        ns, runs = sum(cost[0] for cost in own.values()), sum(cost[1] for cost in own.values())
        usage = finish(self.process)
        wall = time.time() - self.began
        self.log.seek(0)
        words = self.log.read()
        self.log.close()
        if self.process.returncode not in (0, -signal.SIGINT, 130) or (self.tool.output and not os.path.exists(self.tool.output)):
            print("# %s: status %s: %s" % (self.tool.name, self.process.returncode, words[-200:]), file=sys.stderr)
            return {}
        return {"cpu": (usage.ru_utime + usage.ru_stime) / wall, "rss_mb": usage.ru_maxrss / 1024.0,
                "tick_us": ns / runs / 1000 if runs else None,
                "complete": self.tool.complete(self.tool.output) if self.tool.complete else None}


# --- truth ---

class PlainTruth(check.Truth):
    """With functions' plain names, as not every tool tells the qualified ones."""

    def load(self, path):
        super().load(path)
        for children in self.children:
            for name, file in list(children):
                plain = (check.simple_name(name), file)
                if plain != (name, file):
                    children.setdefault(plain, []).extend(children.pop((name, file)))

    def verdict(self, frames):
        """'exact', 'wrong_line' or 'impossible', by the role that fits best."""
        faults = set()
        for role in self.roots:
            fault = self.judge(role, frames)
            if not fault:
                return "exact"
            faults.add(fault[0])
        return "wrong_line" if "wrong_line" in faults else "impossible"


# Scenarios that do things which are not of a role, in functions that a thread's name alone tells from the rest.
NOT_JUDGED = {"multiprocess", "imports", "big_function"}


def is_claimed(frames):
    """Whether the truth says something of a stack: inside a scenario, which play() or worker() of the program called."""
    for index, (name, file, _) in enumerate(frames[:-1]):
        if file.endswith("oracle/program.py") and name in ("play", "worker"):
            called = check.simple_name(frames[index + 1][0])
            return called not in NOT_JUDGED and called != "set_role" and not check.is_untold(frames)
    return False


def judge(truth, stacks):
    counts = collections.Counter()
    for frames, count in stacks:
        counts["samples"] += count
        if not frames:
            counts["no Python"] += count
        elif not is_claimed(frames):
            counts["elsewhere"] += count
        else:
            verdict = truth.verdict([(check.simple_name(name), file, line) for name, file, line in frames])
            counts[verdict] += count
            if verdict != "exact" and os.environ.get("PEERS_VERBOSE"):
                print("# %s, %d: %s" % (verdict, count, ";".join("%s (%s:%d)" % f for f in frames)), file=sys.stderr)
    return counts


def truth_of(interpreter, tools, seconds, folder):
    """{tool: counts} for one interpreter."""
    program = [interpreter.path, "-W", "ignore", ORACLE + "/program.py"]
    environment = dict(os.environ, PYTHONHASHSEED="0", TMPDIR=folder, PYTHON_GIL="1")
    path = folder + "/" + interpreter.label + ".truth"
    subprocess.run(program + ["--truth", path], env=environment, stdout=subprocess.DEVNULL, check=True)
    truth = PlainTruth()
    for name in glob.glob(path + "*"):
        truth.load(name)
    results = {}
    for tool in tools:
        if not tool.stacks:
            continue
        ready = folder + "/ready"
        target = subprocess.Popen(program + ["--seconds", "1e9", "--ready", ready], env=environment, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(ready) and target.poll() is None:
                time.sleep(0.01)
            run = Run(tool, folder)
            run.begin(target.pid)
            before = cpu_of(target.pid)[0]
            while cpu_of(target.pid)[0] < before + seconds and run.process.poll() is None:
                time.sleep(0.05)
            measured = run.end()
        finally:
            target.kill()
            target.wait()
            os.unlink(ready)
        if measured:
            results[tool.name] = judge(truth, tool.stacks(tool.output))
        print("# %s, %s: %s" % (interpreter.label, tool.name, dict(results.get(tool.name, {}))), file=sys.stderr)
    return results


def print_truth(label, results):
    print("\n### Truth: %s\n" % label)
    print("| tool | judged stacks | exact | wrong line | impossible | without Python |")
    print("|---|---|---|---|---|---|")
    for tool, counts in results.items():
        judged = counts["exact"] + counts["wrong_line"] + counts["impossible"]
        share = lambda key, of: "%.2f %%" % (100.0 * counts[key] / of) if of else "–"  # noqa: E731
        print("| %s | %d | %s | %s | %s | %s |" % (tool, judged, share("exact", judged), share("wrong_line", judged),
                                                 share("impossible", judged), share("no Python", counts["samples"])))


# --- cost ---

def cost_run(tool, command, seconds, folder):
    target = subprocess.Popen(command + [str(seconds)], stdout=subprocess.PIPE, text=True)
    run = None
    if tool:
        run = Run(tool, folder)
        run.begin(target.pid)
        # Before the target ends: a tool that ends with it must not be asked after its end.
        time.sleep(max(0.0, seconds - 0.3))
        measured = run.end()
    else:
        measured = {}
    words = target.communicate()[0].split()
    measured["rate"] = float(words[0]) if words else None
    return measured


def storm_run(tool, seconds, folder):
    """Short Pythons, one behind the other, watched with all other processes."""
    run = Run(tool, folder)
    run.begin(None)
    time.sleep(1)
    end, count = time.time() + seconds, 0
    while time.time() < end:
        subprocess.run([PYTHON, "-c", "import json"], check=True)
        count += 1
    measured = run.end()
    measured["rate"] = count / seconds
    return measured


def median(runs, key):
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None


def show(value, form, scale=1.0):
    return form % (value * scale) if value is not None else "–"


def print_cost(workload, by_tool):
    base = median(by_tool.get("nothing", []), "rate")
    print("\n### Cost: %s, %d Hz\n" % (workload, HZ))
    print("| tool | target slowed down | in the kernel, µs a tick | own CPU, of a core | peak RSS, MB | complete stacks |")
    print("|---|---|---|---|---|---|")
    for name, runs in by_tool.items():
        rate = median(runs, "rate")
        print("| %s | %s | %s | %s | %s | %s |" % (
            name, show(1 - rate / base if base and rate and name != "nothing" else None, "%.1f %%", 100), show(median(runs, "tick_us"), "%.1f"),
            show(median(runs, "cpu"), "%.2f %%", 100), show(median(runs, "rss_mb"), "%.0f"), show(median(runs, "complete"), "%.2f %%", 100)))


def workloads(options):
    native = os.path.abspath(options.build + "/bench/native")
    os.makedirs(os.path.dirname(native), exist_ok=True)
    subprocess.check_call(["g++", "-O2", "-fomit-frame-pointer", "-o", native, HERE + "/native.cpp"])
    return {
        "native C++, 300 deep": [native],
        "Python 3.11": [PYTHON, HERE + "/py_work.py"],
        "Python, sqlite3, C": [PYTHON, HERE + "/mixed_work.py"],
        "2,000 threads of Python": [PYTHON, HERE + "/threads_work.py", "2000"],
    }


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    return "%s, Linux %s, %d CPUs (%s), commit %s" % (time.strftime("%d %B %Y"), os.uname().release, os.cpu_count(),
                                                     model.group(1) if model else os.uname().machine, commit or "unknown")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--strata", default="build/strata")
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="", help="a regular expression of the workloads' and interpreters' names")
    options = parser.parse_args()
    seconds, rounds = float(os.environ.get("BENCH_SECONDS", "8")), int(os.environ.get("BENCH_ROUNDS", "3"))
    if os.geteuid() != 0:
        print("make bench-peers: needs root", file=sys.stderr)
        return 1
    with open(COUNTING) as file:
        before = file.read()
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        tools = all_tools(options, folder)
        missing = [(tool, runs_at_all(tool)) for tool in tools]
        tools = [tool for tool, why in missing if not why]
        print("# Beside other tools\n\n%s." % machine())
        for tool, why in missing:
            if why:
                print("\n%s was not measured: %s." % (tool.name, why))
        try:
            with open(COUNTING, "w") as file:
                file.write("1")
            for interpreter in interpreters.discover():
                if interpreter.root is None and re.search(options.only, interpreter.label):
                    print_truth(interpreter.label, truth_of(interpreter, tools, seconds, folder))
            for name, command in workloads(options).items():
                if not re.search(options.only, name):
                    continue
                results = collections.defaultdict(list)
                for number in range(rounds):
                    for tool in [None] + tools:
                        print("# round %d: %s under %s" % (number + 1, name, tool.name if tool else "nothing"), file=sys.stderr)
                        results[tool.name if tool else "nothing"].append(cost_run(tool, command, seconds, folder))
                print_cost(name, results)
            if re.search(options.only, "storm"):
                results = {tool.name: [storm_run(tool, seconds, folder)] for tool in tools if tool.everything}
                print_cost("a storm of short Pythons, all processes watched", results)
        finally:
            with open(COUNTING, "w") as file:
                file.write(before)
    return 0


sys.exit(main())
