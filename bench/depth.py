#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What depth costs: native and Python stacks of 10 to 10,000 calls under strata, perf -g and perf's dwarf mode, in ns a
sample and a frame, bytes a sample, and the share that reaches the root; and all of it held against one bpf_probe_read_user()
of 8 bytes, and against the least that verifying a known stack in place would take, measured in the same run. Then the rows of large files. Nothing is asserted."""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HZ = {"strata": 499, "perf": 99}  # perf's dwarf mode writes 64 KB a sample
COLD_HZ = (HZ["strata"], 997)
DEPTHS = (10, 100, 300, 1000, 10000)
ROOT = re.compile(r"^(_start|__libc_start\w*|clone3?|__clone3?|start_thread|thread_start)\b")
COLD = "".join("#include <%s>\n" % name for name in ("regex", "map", "iostream", "algorithm", "functional", "random")) + \
    'int main() { std::regex a("x*y"); std::map<std::string, int> b; return std::regex_match("xy", a) + (int)b.size(); }\n'
COUNTING = "/proc/sys/kernel/bpf_stats_enabled"


def perf_samples(path):
    """(samples, frames of the median one, those that reach the root)"""
    script = subprocess.Popen(["perf", "script", "--no-inline", "--max-stack", "65535", "-F", "ip,sym", "-i", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, universal_newlines=True, errors="replace")
    depths, whole, last, depth = [], 0, None, 0
    for line in script.stdout:
        if line.strip():
            last, depth = line.strip().split(None, 1)[-1], depth + 1
        elif last is not None:
            depths.append(depth)
            whole += bool(ROOT.match(last))
            last, depth = None, 0
    script.wait()
    return len(depths), statistics.median(depths) if depths else 0, whole


def run_strata(strata, folder, target, seconds, hz=HZ["strata"], pids=None):
    """Of a command, or of processes."""
    out, stats = folder + "/s.folded", folder + "/s.json"
    subprocess.run([strata, "record", "-q", "-F", str(hz), "-o", out, "--stats", stats] +
                   (["-d", str(seconds), "-p", pids] if pids else ["--"] + target),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(stats) as file:
        figures = json.load(file)
    return figures, os.path.getsize(out)


def run_perf(how, folder, pid, seconds):
    data = folder + "/perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ["perf"]), "--call-graph", how, "-o", data, "-p",
                    str(pid), "--", "sleep", str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return perf_samples(data) + (os.path.getsize(data),)


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")
    sys.stdout.flush()


def by_depth(options, folder, name, command, read_ns, seconds):
    for depth in DEPTHS:
        target = subprocess.Popen(command + [str(depth)], stdout=subprocess.PIPE)
        try:
            target.stdout.readline()
            figures, size = run_strata(options.strata, folder, None, seconds, pids=str(target.pid))
            samples, bpf = max(figures["samples"], 1), figures["bpf"]
            frame = bpf["run_ns"] / max(bpf["frames"], 1)
            row(name, depth, "strata", figures["samples"], "%.1f" % (bpf["frames"] / samples), "%.0f" % (bpf["run_ns"] / samples),
                "%.1f" % frame, "%.2f" % (frame / read_ns), "%.0f" % (size / samples),
                "%.1f %%" % (100 * figures["complete"] / samples))
            for how in ("fp", "dwarf,65528") if shutil.which("perf") else ():
                count, frames, whole, size = run_perf(how, folder, target.pid, seconds)
                row(name, depth, "perf " + how, count, "%.0f (median)" % frames, "", "", "", "%.0f" % (size / max(count, 1)),
                    "%.1f %%" % (100 * whole / max(count, 1)))
        finally:
            target.kill()
            target.wait()


def cold(options, folder, read_ns):
    compiler = shutil.which("clang++")
    if not compiler:
        print("\nno clang++: the cold program is left out")
        return
    with open(folder + "/cold.cpp", "w") as file:
        file.write(COLD)
    print()
    for hz in COLD_HZ:
        figures, _ = run_strata(options.strata, folder, [compiler, "-O2", "-c", "-o", folder + "/cold.o", folder + "/cold.cpp"], 0, hz)
        samples, bpf = max(figures["samples"], 1), figures["bpf"]
        frame = bpf["run_ns"] / max(bpf["frames"], 1)
        print("clang++ compiling, %d Hz: %d samples of %.0f frames, %.0f ns a sample, %.0f ns a frame: %.2f of a read; complete %.1f %%" % (
            hz, figures["samples"], bpf["frames"] / samples, bpf["run_ns"] / samples, frame, frame / read_ns,
            100 * figures["complete"] / samples))


def rate(options, folder, python):
    """As many samples as 8 CPUs give at 999 Hz, of deep stacks that are new each time."""
    hz = max(999, 8 * 999 // os.cpu_count())
    programs = []
    try:
        for command in ([options.build + "/bench/wander"], [python, HERE + "/wander.py"]) * max(1, min(os.cpu_count(), 8) // 2):
            programs.append(subprocess.Popen(command + ["1000"], stdout=subprocess.PIPE))
            programs[-1].stdout.readline()
        figures, _ = run_strata(options.strata, folder, None, options.seconds, hz, ",".join(str(p.pid) for p in programs))
    finally:
        for program in programs:
            program.kill()
            program.wait()
    print("\never new stacks of 1,000 calls, native and Python, %d Hz on %d CPUs: %d samples, %d different stacks, lost %s, complete %.1f %%, "
          "strata itself %.2f s of CPU" % (hz, os.cpu_count(), figures["samples"], figures["unique_stacks"], figures["lost"] or "none",
                                           100 * figures["complete"] / max(figures["samples"], 1), figures["self"]["cpu_s"]))


def rows(options):
    """The median of five: how long the unwind table of a file takes."""
    libraries = glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/lib/libpython3.12.so.1.0")) + \
        sorted(glob.glob("/usr/lib/*/libLLVM-*.so.1"))
    print()
    for path in libraries:
        found = [json.loads(subprocess.check_output([options.strata, "inspect", "--json", path])) for _ in range(5)]
        print("rows of %s: %.1f ms, %d rows" % (os.path.basename(path), statistics.median(
            f["timings"]["unwind_ms"] for f in found), found[0]["unwind"]["rows"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", default="build/strata")
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("make bench-depth: needs root")
    targets = [("native", [options.build + "/bench/deep"])]
    for version in ("3.10", "3.12"):
        found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s*/bin/python3" % version)))
        program = found[-1] if found else shutil.which("python" + version)
        if program:
            targets.append(("Python " + version, [program, HERE + "/deep.py"]))
        else:
            print("no Python %s here: left out" % version, file=sys.stderr)
    with open(COUNTING) as file:
        before = file.read()
    try:
        with open(COUNTING, "w") as file:
            file.write("1")
        read_ns, verify_ns = map(float, subprocess.check_output(
            [options.build + "/bench/probe_read", options.build + "/bench/probe_read.bpf.o"]).split())
        print("one bpf_probe_read_user() of 8 bytes: %.1f ns" % read_ns)
        print("a frame of 10,000 that are known, verified in place: %.1f ns, without finding, keeping or naming it\n" % verify_ns)
        row("program", "depth", "tool", "samples", "frames", "ns a sample", "ns a frame", "of a read", "bytes a sample", "complete")
        row(*["---"] * 10)
        with tempfile.TemporaryDirectory(prefix="depth-") as folder:
            for name, command in targets:
                by_depth(options, folder, name, command, read_ns, options.seconds)
            cold(options, folder, read_ns)
            rate(options, folder, targets[-1][1][0] if len(targets) > 1 else sys.executable)
        rows(options)
    finally:
        with open(COUNTING, "w") as file:
            file.write(before)


main()
