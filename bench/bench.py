#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What watching costs: the same workloads under nothing, strata, perf and bpftrace, in one run.

Each workload runs as two processes. The tools take turns, round after round, so that what else the machine does meets
all of them; the table gives medians. Nothing is asserted. Writes BUILD/bench.json and a markdown table on stdout."""
import argparse
import collections
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
HZ = 99
STEADY = (5, 45)  # seconds
PYTHON = "/usr/bin/python3"
ROOT_SYMBOL = re.compile(r"^(_start|__libc_start\w*|clone3?|__clone3?|start_thread|thread_start)\b")

Tool = collections.namedtuple("Tool", "name command output complete")


def perf_complete(output, stats):
    """The share of samples whose outermost frame is where a thread begins, by perf script."""
    script = subprocess.Popen(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", output],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    total = complete = 0
    last = None
    for line in script.stdout:
        line = line.strip()
        if line:
            last = line.split(None, 1)[-1]
        elif last is not None:
            total += 1
            complete += bool(ROOT_SYMBOL.match(last))
            last = None
    script.wait()
    return complete / total if total else None


def bpftrace_complete(output, stats):
    total = complete = 0
    last = None
    with open(output, errors="replace") as file:
        for line in file:
            end = re.match(r"^\]: (\d+)", line)
            if end:
                total += int(end.group(1))
                complete += int(end.group(1)) * bool(last and ROOT_SYMBOL.match(last))
                last = None
            elif line.startswith("    "):
                last = line.strip()
    return complete / total if total else None


def strata_complete(output, stats):
    return stats["complete"] / stats["samples"] if stats and stats["samples"] else None


def tools(options, folder):
    def comma(pids):
        return ",".join(map(str, pids))

    data, maps, folded = folder + "/perf.data", folder + "/bpftrace.txt", folder + "/strata.folded"
    found = [Tool("nothing", None, None, None)]
    if os.access(options.strata, os.X_OK):
        found.append(Tool("strata", lambda pids: [options.strata, "record", "-F", str(HZ), "-o", folded, "--stats",
                                                  folder + "/stats.json", "-p", comma(pids)], folded, strata_complete))
    if shutil.which("perf"):
        for name, how in (("perf -g", "fp"), ("perf dwarf", "dwarf")):
            found.append(Tool(name, lambda pids, how=how: ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ),
                                                           "--call-graph", how, "-o", data, "-p", comma(pids)],
                              data, perf_complete))
    if shutil.which("bpftrace"):
        found.append(Tool("bpftrace", lambda pids: [
            "bpftrace", "-o", maps, "-e", "profile:hz:%d /%s/ { @[ustack] = count(); }" % (
                HZ, " || ".join("pid == %d" % pid for pid in pids))], maps, bpftrace_complete))
    return found


def finish(process):
    """Ends a tool as Ctrl-C does; gives the resource usage of it and of its children."""
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


def tool_run(tool, command, seconds, folder):
    targets = [subprocess.Popen(command + [str(seconds)], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    process = usage = None
    if tool.command is not None:
        if os.path.exists(tool.output):
            os.unlink(tool.output)
        process = subprocess.Popen(tool.command([t.pid for t in targets]), stdout=subprocess.DEVNULL,
                                   stderr=open(folder + "/stderr", "w"))
        # Before the targets end: a tool that ends with them must not be asked after its end.
        time.sleep(max(0.0, seconds - 0.3))
        usage = finish(process)
    rates = [float(t.communicate()[0].split()[0]) for t in targets]
    run = {"rate": sum(rates)}
    if process is None:
        return run
    if process.returncode not in (0, -signal.SIGINT, 130) or not os.path.exists(tool.output):
        with open(folder + "/stderr", errors="replace") as file:
            print("# %s: status %s: %s" % (tool.name, process.returncode, file.read()[-200:]), file=sys.stderr)
        return run
    run.update(cpu_s=usage.ru_utime + usage.ru_stime, rss_mb=usage.ru_maxrss / 1024.0,
               bytes=os.path.getsize(tool.output), wall_s=seconds - 0.3)
    stats = None
    if tool.name == "strata":
        with open(folder + "/stats.json") as file:
            stats = run["stats"] = json.load(file)
    run["complete"] = tool.complete(tool.output, stats)
    return run


def median(runs, key):
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.median(values) if values else None


def show(value, form, scale=1.0):
    return form % (value * scale) if value is not None else "–"


def table(results):
    for workload, by_tool in results.items():
        base = median(by_tool["nothing"], "rate")
        print("\n### %s, two processes, %d Hz\n" % (workload, HZ))
        print("| tool | target's rate | slowdown | tool CPU, % of a core | peak RSS, MB | output, KB | complete |")
        print("|---|---|---|---|---|---|---|")
        for name, runs in by_tool.items():
            rate, cpu, wall = median(runs, "rate"), median(runs, "cpu_s"), median(runs, "wall_s")
            print("| %s | %.1f/s | %s | %s | %s | %s | %s |" % (
                name, rate, show(1 - rate / base if base else None, "%.1f %%", 100),
                show(cpu / wall if cpu is not None else None, "%.2f %%", 100), show(median(runs, "rss_mb"), "%.0f"),
                show(median(runs, "bytes"), "%.0f", 1 / 1024), show(median(runs, "complete"), "%.2f %%", 100)))
        costs = [run["stats"] for run in by_tool.get("strata", ()) if run.get("stats")]
        costs = [s for s in costs if s["samples"] and s["bpf"]["frames"]]
        if costs:
            print("\nstrata in the kernel: %.0f ns a sample, %.0f ns a frame; sampling after %.0f ms" % (
                statistics.median(s["bpf"]["run_ns"] / s["samples"] for s in costs),
                statistics.median(s["bpf"]["run_ns"] / s["bpf"]["frames"] for s in costs),
                statistics.median(s["startup_ms"] for s in costs)))


def startup(strata, folder):
    """startup_ms with a process and with the whole machine as target."""
    times = {}
    target = subprocess.Popen([PYTHON, HERE + "/py_work.py", "30"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        for how in (["-p", str(target.pid)], ["-a"]):
            values = []
            for _ in range(3):
                done = subprocess.run([strata, "record", "-F", str(HZ), "-d", "1", "-o", folder + "/s.folded", "--stats",
                                       folder + "/s.json"] + how, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if done.returncode == 0:
                    with open(folder + "/s.json") as file:
                        values.append(json.load(file)["startup_ms"])
            times[how[0]] = statistics.median(values) if values else None
    finally:
        target.kill()
        target.wait()
    return times


def steady(strata, folder):
    """strata's own CPU while it records, in shares of a core: two recordings of different length, so that what the start
    and the naming at the end take cancels out."""
    targets = [subprocess.Popen([PYTHON, HERE + "/py_work.py", "120"], stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        time.sleep(2)
        used = {}
        for seconds in STEADY:
            subprocess.run([strata, "record", "-a", "-q", "-F", str(HZ), "-d", str(seconds), "-o", folder + "/s.folded",
                            "--stats", folder + "/s.json"], check=True)
            with open(folder + "/s.json") as file:
                used[seconds] = json.load(file)["self"]
    finally:
        for target in targets:
            target.kill()
            target.wait()
    short, long = (used[seconds] for seconds in STEADY)
    return {"cpu": (long["cpu_s"] - short["cpu_s"]) / (STEADY[1] - STEADY[0]), "rss_mb": long["peak_rss_kb"] / 1024}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", default="build/strata")
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    seconds, rounds = float(os.environ.get("BENCH_SECONDS", "8")), int(os.environ.get("BENCH_ROUNDS", "3"))
    if os.geteuid() != 0:
        print("make bench: needs root", file=sys.stderr)
        return 1
    os.makedirs(options.build + "/bench", exist_ok=True)
    native = os.path.abspath(options.build + "/bench/native")
    subprocess.check_call(["g++", "-O2", "-fomit-frame-pointer", "-o", native, HERE + "/native.cpp"])
    workloads = {
        "native C++": [native],
        "Python": [PYTHON, HERE + "/py_work.py"],
        "mixed": [PYTHON, HERE + "/mixed_work.py"],
    }
    # strata counts its programs' time only while the kernel does; ask the kernel for the length of the run.
    counting = "/proc/sys/kernel/bpf_stats_enabled"
    with open(counting) as file:
        before = file.read()
    results = {name: collections.defaultdict(list) for name in workloads}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        try:
            with open(counting, "w") as file:
                file.write("1")
            for number in range(rounds):
                for name, command in workloads.items():
                    for tool in tools(options, folder):
                        print("# round %d: %s under %s" % (number + 1, name, tool.name), file=sys.stderr)
                        results[name][tool.name].append(tool_run(tool, command, seconds, folder))
            there = os.access(options.strata, os.X_OK)
            started = startup(options.strata, folder) if there else {}
            own = steady(options.strata, folder) if there else None
        finally:
            with open(counting, "w") as file:
                file.write(before)
    table(results)
    for how, value in started.items():
        print("\nstrata record %s: start to sampling %s ms" % (how, show(value, "%.0f")))
    if own:
        print("\nstrata record -a, two busy cores: its own CPU %.2f %% of a core while it records, peak RSS %.0f MB" % (
            100 * own["cpu"], own["rss_mb"]))
    with open(options.build + "/bench.json", "w") as file:
        json.dump({"hz": HZ, "seconds": seconds, "rounds": rounds, "startup_ms": started, "steady": own, "workloads": results}, file,
                  indent=1)
    return 0


sys.exit(main())
