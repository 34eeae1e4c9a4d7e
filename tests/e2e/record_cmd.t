#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`strata record -- CMD`: its status, its children, its files, and how it ends."""
import fcntl
import gzip
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import e2e  # noqa: E402
import firefox_profile  # noqa: E402
from e2e import BUSY, PYTHON, record  # noqa: E402
EXECS_MOST = 50  # recordings, until a sample falls into an exec


def statuses(tap, where):
    out = ["-o", where + "/x.folded"]
    tap.equal(record(*out, "--", "true").returncode, 0, "a command that succeeds")
    tap.equal(record(*out, "--", "sh", "-c", "exit 7").returncode, 7, "a command's own status")
    tap.equal(record(*out, "--", "sh", "-c", "kill -TERM $$").returncode, 143, "a command that dies of a signal")
    done = record(*out, "--", "/no/such/command")
    tap.ok(done.returncode in (1, 126, 127) and "/no/such/command" in done.stderr, "a command that does not exist",
           done.stderr)
    tap.equal(record("-F", "0", *out, "--", "true").returncode, 2, "-F 0 is wrong usage")
    tap.equal(record("-o", where + "/x.unknown", "--", "true").returncode, 2, "so is an unknown suffix")
    done = record("-p", "999999999", "-d", "1", *out)
    tap.ok(done.returncode in (1, 2) and len(done.stderr.strip().split("\n")) == 1, "no such process: one line", done.stderr)
    done = record("-o", "/no/such/folder/x.folded", "--", "touch", where + "/ran")
    tap.ok(done.returncode == 1 and not os.path.exists(where + "/ran"), "an unwritable output is found before sampling",
           done.stderr)


def outputs(tap, where):
    names = [where + "/r" + suffix for suffix in (".folded", ".pb.gz", ".html", ".speedscope.json", ".firefox.json.gz", ".trace.json")]
    arguments = [word for name in names for word in ("-o", name)]
    done = record("-F", "499", "-t", "--stats", where + "/s.json", *arguments, "--", PYTHON, "-c", BUSY % 1.5)
    if not tap.ok(done.returncode == 0, "six outputs and the figures", done.stderr):
        return
    stacks, stats = e2e.folded(names[0]), e2e.load(where + "/s.json")
    tap.ok(e2e.total(stacks) >= e2e.due(1.5, 499), "samples: %d" % e2e.total(stacks), done.stderr)
    tap.ok(all(f[1].startswith("thread ") for f, _ in stacks), "-t puts the thread under the comm")
    wanted = {"samples", "complete", "truncated", "lost", "notes", "python_samples", "late_samples", "unique_stacks", "max_depth",
              "bpf", "self", "startup_ms"}
    tap.equal(wanted - set(stats), set(), "--stats has every key")
    tap.ok(e2e.complete(stats) >= 0.99, "complete: %.2f %%" % (100 * e2e.complete(stats)), stats)
    with gzip.open(names[1]) as file:
        tap.ok(len(file.read()) > 100, "pprof is gzip")
    with open(names[2], encoding="utf-8") as file:
        page = file.read()
    tap.ok("<html" in page[:2000].lower() and "http://" not in page.replace("http://www.w3.org/", ""),
           "the page asks nothing of the network")
    tap.ok("$schema" in e2e.load(names[3]), "speedscope is JSON with its schema")
    firefox = firefox_profile.Profile(firefox_profile.load(names[4]))
    found, counted = list(firefox_profile.faults(firefox.data)), firefox.folded()
    tap.ok(not found and firefox.clock() == "exact", "Firefox's format is valid, with the time of each sample", found, firefox.clock())
    expected = {}
    for frames, count in stacks:
        expected[";".join(frames[2:])] = expected.get(";".join(frames[2:]), 0) + count
    tap.ok(counted == expected, "and has the stacks of folded", set(counted.items()) ^ set(expected.items()))
    events = e2e.load(names[5])["traceEvents"]
    counts = [event["args"]["samples"] for event in events if event["ph"] == "E" and "args" in event]
    tap.ok(sum(counts) == e2e.total(stacks), "trace events have all samples", sum(counts), e2e.total(stacks))
    tap.ok("complete" in done.stderr and not done.stdout, "the summary goes to stderr, nothing to stdout", done.stderr)
    done = record("-F", "499", "-o", "-", "--", PYTHON, "-c", BUSY % 0.5)
    tap.ok(done.returncode == 0 and all(line.rpartition(" ")[2].isdigit() for line in done.stdout.splitlines()) and
           len(done.stdout) > 100, "-o - is folded on stdout", done.stdout[-300:])


def first_samples(tap, where):
    """What runs before the command's exec is strata's. An exec may be over between two samples: it is tried until one is seen."""
    stacks, samples = [], 0
    for tried in range(EXECS_MOST):
        if tried >= 5 and any(frames[1] == "[exec]" for frames, _ in stacks):
            break
        record("-F", "4999", "-o", where + "/f.folded", "--stats", where + "/f.json", "--", PYTHON, "-c", BUSY % 0.1)
        stats = e2e.load(where + "/f.json")
        stacks += e2e.folded(where + "/f.folded")
        samples += stats["samples"]
        if stats["lost"].get("internal"):
            tap.equal(stats["lost"], {}, "every sample is accounted for")
    own = [frames for frames, _ in stacks if frames[0] == "strata" and frames[1] != "[exec]"]
    tap.ok(samples > e2e.due(0.5, 4999) / 2 and not own, "of %d samples none is of the child before its exec" % samples, own[:2])
    tap.ok(any(frames[1] == "[exec]" for frames, _ in stacks), "the exec itself is there")


def everything(tap, where):
    """As with perf: -a and a command samples all that runs until the command ends."""
    other = subprocess.Popen([PYTHON, "-c", "while True: pass"])
    try:
        done = record("-a", "-F", "199", "-o", where + "/a.folded", "--", "sh", "-c", "sleep 0.5; exit 3")
    finally:
        other.kill()
        other.wait()
    tap.equal(done.returncode, 3, "-a with a command: its status")
    tap.ok("all processes while sh -c sleep 0.5; exit 3" in done.stderr, "the summary says what was recorded", done.stderr)
    found = {frames[0] for frames, _ in e2e.folded(where + "/a.folded")}
    tap.ok(os.path.basename(os.path.realpath(PYTHON)) in found or "python3" in found, "others that run are sampled", found)
    done = record("-p", str(os.getpid()), "-o", where + "/a.folded", "--", "true")
    tap.ok(done.returncode == 2 and "one target" in done.stderr, "-p with a command is wrong usage", done.stderr)


def children(tap, where):
    script = "(%s -c '%s') & bash -c 'exec -a grandchild %s -c \"%s\"'; wait" % (
        PYTHON, "def first():\n  " + (BUSY % 1).replace("\n", "\n  ") + "\nfirst()",
        PYTHON, "def second():\n  " + (BUSY % 1).replace("\n", "\n  ") + "\nsecond()")
    record("-F", "299", "-o", where + "/c.folded", "--", "bash", "-c", script)
    text = str(e2e.folded(where + "/c.folded"))
    tap.ok("first (" in text, "a child's frames")
    tap.ok("second (" in text, "a grandchild's frames, after exec")


def start(out, **streams):
    """A recording of a command that goes on for ever, once the command has used a second of CPU time; and its pid."""
    process = subprocess.Popen([e2e.STRATA, "record", "-F", "199", "-o", out, "--", PYTHON, "-c", BUSY % "float('inf')"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **streams)
    e2e.until(lambda: commands_of(process.pid))
    target = commands_of(process.pid)[0]
    e2e.until(lambda: e2e.used(target) >= 1)
    return process, target


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def commands_of(pid):
    """The children that are no strata any more; others check outputs, and end."""
    found = []
    for child in children_of(pid):
        try:
            with open("/proc/%d/cmdline" % child, "rb") as file:
                found += [child] if os.fsdecode(file.read().split(b"\0")[0]) == PYTHON else []
        except OSError:
            pass
    return found


def leave(process, target):
    """Waits for the process only: its command may outlive it."""
    left = e2e.until(lambda: process.poll() is not None)
    process.kill()
    process.wait()
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return left


def pending(pid):
    """Has a process signals that have not reached it yet? Not one that has ended."""
    with open("/proc/%d/status" % pid) as file:
        return any(int(line.split()[1], 16) for line in file if line.startswith(("SigPnd:", "ShdPnd:")))


def signals(tap, where):
    out = where + "/signal.folded"
    process, target = start(out)
    process.send_signal(signal.SIGINT)
    left = leave(process, target)
    tap.ok(left and os.path.exists(out) and e2e.total(e2e.folded(out)) >= e2e.due(1, 199),
           "Ctrl-C ends the recording and writes the result")

    process, target = start(out)
    programs, events = e2e.programs_of(process.pid), e2e.perf_events_of(process.pid)
    tap.ok(programs and programs <= e2e.programs_loaded() and events, "while it records, the kernel has its programs")
    process.kill()
    process.wait()
    e2e.until(lambda: not programs & e2e.programs_loaded())  # the kernel frees programs after a grace period
    tap.equal(programs & e2e.programs_loaded(), set(), "SIGKILL leaves no BPF program behind")
    tap.equal(e2e.perf_events_of(target), 0, "and the command has no perf event")
    os.kill(target, signal.SIGKILL)

    # The first Ctrl-C ends the recording; the result goes into a pipe that nobody reads.
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process, target = start("-", stdout=writer)
    process.send_signal(signal.SIGINT)
    writes = e2e.until(lambda: e2e.in_call(process.pid, "write"))
    process.send_signal(signal.SIGINT)
    left = leave(process, target)
    tap.ok(writes and left and process.returncode == -signal.SIGINT, "a second Ctrl-C leaves at once", process.returncode)
    os.close(reader)
    os.close(writer)

    # The recording ends by itself, and Ctrl-C comes a moment later: it may have been meant for the recording.
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process, target = start("-", stdout=writer)
    os.kill(target, signal.SIGKILL)
    writes = e2e.until(lambda: e2e.in_call(process.pid, "write"))
    process.send_signal(signal.SIGINT)
    e2e.until(lambda: process.poll() is not None or not pending(process.pid))
    tap.ok(writes and process.poll() is None, "the first Ctrl-C after the end loses nothing", process.poll())
    process.send_signal(signal.SIGINT)
    left = leave(process, target)
    tap.ok(left and process.returncode == -signal.SIGINT, "the second one leaves at once", process.returncode)
    os.close(reader)
    os.close(writer)


tap = e2e.Tap()
with e2e.folder() as where:
    statuses(tap, where)
    outputs(tap, where)
    first_samples(tap, where)
    everything(tap, where)
    children(tap, where)
    signals(tap, where)
tap.done()
