#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What watching time off the CPU costs a program that switches threads 100,000 times a second: strata record --off-cpu, beside a
bpftrace script that does the same as bcc's offcputime, in one run. The script needs no kprobe: not all kernels have them.

The tools take turns, round after round; the table gives medians of the ratios to "nothing" of the same round. Asserts nothing."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

WANTED = 100000  # switches a second of all CPUs
BPFTRACE = """
tracepoint:sched:sched_switch /pid == %d/ { @left[tid] = nsecs; @kernel[tid] = kstack; @user[tid] = ustack; }
tracepoint:sched:sched_switch /@left[args->next_pid]/ {
    @us[@kernel[args->next_pid], @user[args->next_pid], args->next_comm] = sum((nsecs - @left[args->next_pid]) / 1000);
    delete(@left[args->next_pid]); }
"""


def measure(options, work, tool):
    """Switches a second while `tool`, given the pid, gives a command that watches (None: nothing)."""
    target = subprocess.Popen([options.switches, str(work), str(options.seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              universal_newlines=True)
    target.stdout.readline()
    watcher = None
    try:
        command = tool(target.pid) if tool else None
        if command:
            watcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(3)  # until it watches: nothing says so of bpftrace
        target.stdin.write("\n")
        target.stdin.flush()
        return float(target.stdout.readline())
    finally:
        if watcher:
            watcher.send_signal(signal.SIGINT)
            watcher.wait()
        target.kill()
        target.wait()


def calibrate(options):
    """How much work makes so many switches."""
    low, high = 0, 1 << 20
    for _ in range(12):
        work = (low + high) // 2
        quick = argparse.Namespace(switches=options.switches, seconds=0.5)
        if measure(quick, work, None) > WANTED:
            low = work
        else:
            high = work
    return low


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", required=True)
    parser.add_argument("--switches", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("BENCH_ROUNDS", "5")))
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("BENCH_SECONDS", "4")))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as where:
        stats = where + "/stats.json"
        record = [options.strata, "record", "-q", "-o", where + "/out.folded", "--stats", stats]
        tools = {"nothing": None,
                 "strata record --off-cpu": lambda pid: record + ["--off-cpu", "-p", str(pid)],
                 "strata record --off-cpu --wakers": lambda pid: record + ["--off-cpu", "--wakers", "-p", str(pid)],
                 "strata record --wall": lambda pid: record + ["--wall", "-p", str(pid)],
                 "strata record --off-cpu, each wait": lambda pid: record + ["--off-cpu", "--off-cpu-rate", "1000000", "-p", str(pid)]}
        if shutil.which("bpftrace"):
            tools["bpftrace, as offcputime"] = lambda pid: ["bpftrace", "-e", BPFTRACE % pid]
        work = calibrate(options)
        found, off = {name: [] for name in tools}, {}
        for _ in range(options.rounds):
            for name, tool in tools.items():
                found[name].append(measure(options, work, tool))
                if name.startswith("strata"):
                    with open(stats, encoding="utf-8") as file:
                        off[name] = json.load(file)["off_cpu"]
                    os.unlink(stats)  # what the next one does not write is not taken from this one
    print("| %d rounds of %.0f s | switches a second | slower by | ns a wait | of the time measured |\n|---|---|---|---|---|" % (
        options.rounds, options.seconds))
    for name, rates in found.items():
        slower = statistics.median(1 - rate / alone for rate, alone in zip(rates, found["nothing"]))
        cost = off.get(name)
        print("| %s | %.0f | %.1f %% | %s | %s |" % (
            name, statistics.median(rates), 100 * slower, "%.0f" % (cost["run_ns"] / max(cost["waits"], 1)) if cost else "",
            "%.1f %%" % (100 * cost["share"]) if cost else ""))


main()
