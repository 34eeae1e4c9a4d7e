#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What strata trace costs, beside bpftrace where it is installed, in one run: start to exit and memory, attaching and detaching
uprobes, the kernel's own figures of what an event costs (bpf_stats), and of scripts that print two strings at each hit what is lost
and what the tool's own CPU is. Medians. Asserts nothing; needs root and bpftool."""
import argparse
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CALLS = 200000
LOOP = f"import os\nfor i in range({CALLS}):\n    os.getppid()\n    os.access('/dev/null', 0)\n"
PATIENCE_S = 60
REST_S = 0.5  # by then the kernel has done what the start before has left to it
STATS = "/proc/sys/kernel/bpf_stats_enabled"
PROBE = "tracepoint:syscalls:sys_enter_getppid"

STARTS = [
    ("BEGIN { exit(); }", "BEGIN { exit(); }"),
    ("the same, with kstack", f"BEGIN {{ exit(); }} {PROBE} {{ @[kstack] = count(); }}"),
    ("the same, with ustack", f"BEGIN {{ exit(); }} {PROBE} {{ @[ustack] = count(); }}"),
    ("the same, with ustack and pystack", f"BEGIN {{ exit(); }} {PROBE} {{ @[ustack] = count(); @p[pystack] = count(); }}"),
    ("the same, in three probes", "BEGIN { exit(); } " + " ".join(
        f"tracepoint:syscalls:sys_enter_{name} {{ @[ustack] = count(); }}" for name in ("getppid", "swapoff", "acct"))),
]
EVENTS = [
    ("@ = count()", f"{PROBE} {{ @ = count(); }}"),
    ("@ = hist(nsecs)", f"{PROBE} {{ @ = hist(nsecs); }}"),
    ("@[comm] = count()", f"{PROBE} {{ @[comm] = count(); }}"),
    ("@[str(..., 64)] = count()", "tracepoint:syscalls:sys_enter_access { @[str(args->filename, 64)] = count(); }"),
    ("@[ustack] = count()", f"{PROBE} {{ @[ustack] = count(); }}"),
    ("@[kstack] = count()", f"{PROBE} {{ @[kstack] = count(); }}"),
]
PRINT = 'printf("%s %s\\n", str(arg0), str(arg1)); @ = count();'
IMPORT = "import sys; sys.stdin.readline(); import asyncio, decimal, email; print('done', flush=True); sys.stdin.readline()"
RATES = (10000, 50000)
SECONDS = 4
IDLE_S = 0.3  # a tool that used no CPU for so long has nothing more to print


def median(values):
    return sorted(values)[len(values) // 2]


def run(arguments):
    """Wall and CPU milliseconds, peak RSS in MB, by time(1): a child of this program would have this one's memory for its peak."""
    time.sleep(REST_S)
    begin = time.monotonic()
    result = subprocess.run(["/usr/bin/time", "-f", "%U %S %M %x", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall = time.monotonic() - begin
    user, system, kilobytes, status = result.stderr.decode().split("\n")[-2].split()
    return None if int(status) else (wall * 1e3, (float(user) + float(system)) * 1e3, int(kilobytes) / 1024)


def start_up(tool, program, more=(), rounds=7):
    runs = [run([*tool, "-e", program, *more]) for _ in range(rounds)]
    if None in runs:
        return "not to be had"
    return f"{median([r[0] for r in runs]):8.0f} ms, {median([r[1] for r in runs]):6.0f} ms of CPU, {max(r[2] for r in runs):7.1f} MB"


def programs():
    listed = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE, check=True).stdout)
    return {p["id"]: p for p in listed}


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    return None


def attached(before, kind="tracepoint"):
    """The programs of a tracepoint, or of another kind, that are there and were not before."""
    return [p for i, p in programs().items() if i not in before and p["type"] == kind]


def per_event(tool, script, python):
    before = programs()
    with subprocess.Popen([*tool, "-e", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        mine = until(lambda: process.poll() is not None or attached(before))
        if mine is True or not mine:
            process.kill()
            return "not to be had"
        time.sleep(0.5)
        subprocess.run([python, "-c", LOOP], check=True)
        stats = attached(before)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
    runs, spent = sum(p.get("run_cnt", 0) for p in stats), sum(p.get("run_time_ns", 0) for p in stats)
    return f"{spent / runs:8.0f} ns" if runs >= CALLS else "not to be had"


def attach(tool, probes):
    """Milliseconds until all is attached, by the tool's word, and from Ctrl-C to its end."""
    begin = time.monotonic()
    with subprocess.Popen([*tool, "-e", f"{probes} {{ @ = count(); }}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        line = "?"
        while line and "ttach" not in line:
            line = process.stdout.readline().decode()
        ready = time.monotonic()
        time.sleep(1)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=None)
        return f"{(ready - begin) * 1e3:8.0f} ms, gone in {(time.monotonic() - asked) * 1e3:8.0f} ms  ({line.strip()})"


def cpu_ns(pid):
    """What the threads of a process had of the CPUs."""
    spent = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            spent += int(file.read().split()[0])
    return spent


def at_rest(pid):
    """Its CPU time when it has stopped to rise by more than waking up takes."""
    before = cpu_ns(pid)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        time.sleep(IDLE_S)
        now = cpu_ns(pid)
        if now - before < IDLE_S * 1e9 / 50:
            return now
        before = now
    return before


def printing(tool, probes, program, of_process=("-p", "{}")):
    """A script that prints two strings at each hit, into a file: how many hits, of how many no line came, and the tool's CPU for a line."""
    before = programs()
    with tempfile.TemporaryFile("w+") as out, subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as traced:
        with subprocess.Popen([*tool, *(word.format(traced.pid) for word in of_process), "-e", f"{probes} {{ {PRINT} }}"], stdout=out, stderr=subprocess.STDOUT) as process:
            until(lambda: process.poll() is not None or attached(before, "kprobe"))
            begin = at_rest(process.pid)
            begun = time.monotonic()
            traced.stdin.write(b"go\n")
            traced.stdin.flush()
            traced.stdout.readline()
            took = time.monotonic() - begun
            spent = at_rest(process.pid) - begin
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        traced.stdin.close()
        out.seek(0)
        lines = out.read().split("\n")
    hits = [int(line[3:]) for line in lines if line.startswith("@: ")]
    printed = sum(line.startswith("/") or line.startswith("<") for line in lines)
    if not hits or not printed:
        return "not to be had"
    return f"{hits[0]:7d} hits in {took:4.1f} s, lost {hits[0] - printed:7d}, {spent / printed:8.0f} ns of CPU a line"


def libraries():
    """The largest of the machine's CPython libraries, which has the most symbols, and Debian's interpreter."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[0-9]*/lib/libpython3.*.so.1.0")) + glob.glob("/usr/lib/*/libpython3.*.so.1.0")
    return sorted(found, key=os.path.getsize)[-1:] + [os.path.realpath("/usr/bin/python3")]


def closure(binary):
    """Bytes of a program and of what it is linked with, libc apart; of strata also what it loads when it needs it."""
    listed = subprocess.run(["ldd", binary], stdout=subprocess.PIPE, check=True).stdout.decode()
    paths = {os.path.realpath(word) for word in listed.split() if word.startswith("/")}
    if os.path.basename(binary) == "strata":
        paths |= {os.path.realpath(path) for path in glob.glob("/usr/lib/*/libcapstone.so.[0-9]")}
    own = {path for path in paths if not os.path.basename(path).startswith(("libc.so", "libc-", "ld-linux"))}
    return sum(os.path.getsize(path) for path in own | {os.path.realpath(binary)})


def measure(name, tool, python, say):
    print(f"{name}:  {closure(tool[0]) / 1e6:.1f} MB with its libraries, libc apart")
    for label, script in STARTS:
        print(f"  {label:<40}", start_up(tool, script), flush=True)
    for library in libraries():
        # Where each uprobe is closed by itself, thousands take minutes.
        functions = "*" if name == "strata" else "PyList_*"
        print(f"  {os.path.basename(library) + ':' + functions:<40}", attach(tool, f"uprobe:{library}:{functions}"), flush=True)
    for label, script in EVENTS:
        print(f"  an event with {label:<26}", per_event(tool, script, python), flush=True)
    for rate in RATES:
        print(f"  two strings printed, {rate:6d} a second  ", printing(tool, f"uprobe:{say}:say", [say, str(rate), str(SECONDS)]), flush=True)
    probes = ", ".join(f"usdt:{python}:python:function__{end}" for end in ("entry", "return"))
    # bpftrace 0.17 finds no arguments of a marker with -p.
    of_process = ["-p", "{}"] if name == "strata" else ["--usdt-file-activation"]
    print("  the same, of Python's function__*     ", printing(tool, probes, [python, "-c", IMPORT], of_process), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strata", required=True)
    parser.add_argument("--say", required=True)
    options = parser.parse_args()
    strata, say = options.strata, os.path.abspath(options.say)
    tools = [("strata", [strata, "trace"])]
    if shutil.which("bpftrace"):
        tools.append(("bpftrace", [shutil.which("bpftrace")]))
    else:
        print("bpftrace is not in PATH: it is left out")
    python = os.path.realpath("/usr/bin/python3")
    with open(STATS, encoding="ascii") as file:
        old = file.read()
    try:
        with open(STATS, "w", encoding="ascii") as file:
            file.write("1")
        for name, tool in tools:
            measure(name, tool, python, say)
    finally:
        with open(STATS, "w", encoding="ascii") as file:
            file.write(old)
    return 0


sys.exit(main())
