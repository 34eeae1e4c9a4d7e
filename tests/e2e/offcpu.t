#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --off-cpu and --wall: programs that know how long they wait, and for what."""
import glob
import gzip
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

SECONDS = 2
WAITS_PY = HERE + "/waits.py"
# Whom a thread that was just woken pushes off the CPU is not charged for the time from that on, though it runs for some 15 us more
# (rq_clock_skip_update() in kernel/sched/core.c): beside busy programs that is 3 % of two seconds. Nobody pushes these off.
UNDISTURBED = ["chrt", "-f", "1"]


def pythons():
    """All at hand."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    return sorted(found, key=lambda path: int(path.split("/versions/3.")[1].split(".")[0])) + [e2e.PYTHON]


def told(output):
    return {name: float(value) for name, value in (line.split() for line in output.splitlines() if line.count(" ") == 1)}


def balanced(stats):
    return stats["complete"] + sum(stats["lost"].values()) == stats["samples"]


def early(frames):
    return frames[1].startswith("[incomplete: ")


def record(where, *arguments):
    """(stacks, stats, what the program told, stderr)"""
    out, stats = where + "/w.folded", where + "/w.json"
    done = e2e.record("-o", out, "--stats", stats, *arguments)
    if done.returncode:
        return None, None, None, done.stderr
    return e2e.folded(out), e2e.load(stats), told(done.stdout), done.stderr


def within(stacks, function):
    return [(frames, us) for frames, us in stacks if any(frame.startswith(function + " (") for frame in frames)]


def check(tap, words, result, function, reason, share=0.95, more=0):
    """The time in a function is what the program told, and most of it has this reason."""
    stacks, stats, known, said = result
    if not tap.ok(stacks and known and function in known, "%s: recorded" % words, said, known):
        return
    inside = within(stacks, function)
    time, for_it = e2e.total(inside) / 1e6, e2e.total([s for s in inside if s[0][-1] == "[waiting: %s]" % reason]) / 1e6
    tap.ok(-0.02 * known[function] <= time - known[function] <= 0.02 * known[function] + more, "%s: %.4f s off the CPU, %.4f s by its own account (%+.2f %%)" % (
        words, time, known[function], 100 * (time / known[function] - 1)), [(f[-3:], us) for f, us in inside][:9])
    tap.ok(for_it >= share * time, "%s: %.1f %% of it [waiting: %s]" % (words, 100 * for_it / max(time, 1e-9), reason),
           sorted([(us, f[-1]) for f, us in inside])[-9:])
    tap.ok(balanced(stats), "%s: samples are complete or have a reason" % words, stats)
    whole = stats["samples"] - e2e.early(stats)
    tap.ok(stats["complete"] >= 0.99 * whole, "%s: %d of %d complete" % (words, stats["complete"], whole), stats["lost"])


def natives(tap, where):
    program = where + "/waits"
    subprocess.check_call(["gcc", "-O2", "-pthread", "-o", program, HERE + "/waits.c"])
    check(tap, "lock convoy", record(where, "--off-cpu", "--", *UNDISTURBED, program, "lock"), "take_lock", "lock (mutex)", 0.9)
    check(tap, "pipe", record(where, "--off-cpu", "--", *UNDISTURBED, program, "pipe"), "read_pipe", "read")
    check(tap, "late pages", record(where, "--off-cpu", "--", *UNDISTURBED, program, "faults"), "touch", "page fault")
    # Reads of a file are short. The kernel's account of a thread's CPU time begins when it is woken, if that ends a CPU's idleness, and
    # not when it gets the CPU (rq_clock_skip_update() in kernel/sched/core.c): that is the difference, some microseconds a read.
    file = record(where, "--off-cpu", "--off-cpu-rate", 100000, "--", program, "file", where + "/cold")
    early_us = 10 * file[2]["faults"] if file[2] else 0
    check(tap, "cold file", file, "touch", "page fault", 0.8, early_us / 1e6)
    sampled(tap, where, program)


def sampled(tap, where, program):
    """Far more waits than are taken: the sums are right all the same, for each stack."""
    stacks, stats, known, said = record(where, "--off-cpu", "--off-cpu-rate", 3000, "--", *UNDISTURBED, program, "turns", 2)
    if not tap.ok(stacks and known, "many waits: recorded", said):
        return
    off = stats["off_cpu"]
    tap.ok(off["waits"] > 4 * off["measured"] and 0 < off["share"] < 0.9 and "were measured" in said,
           "many waits: %d, of which %d are taken: %.1f %% of the time" % (off["waits"], off["measured"], 100 * off["share"]), said)
    total = e2e.total(stacks) * 1000
    # The error of so many samples, of which each stands for the same time at most: four times the standard deviation.
    bound = max(0.02, 4 / off["measured"] ** 0.5)
    tap.ok(abs(total - off["ns"]) <= bound * off["ns"], "many waits: all weigh %.3f s, and are %.3f s" % (total / 1e9, off["ns"] / 1e9))
    for function in ("ping_pong", "answer"):
        time = e2e.total(within(stacks, function)) / 1e6
        # Where a switch is between two threads' own clocks is a matter of some 100 ns, too.
        tap.ok(abs(time - known[function]) <= 2 * bound * known[function] + 0.3e-6 * known["turns"],
               "many waits: %s is %.3f s, and %.3f s by its own account" % (
            function, time, known[function]))
    tap.ok(balanced(stats), "many waits: samples are complete or have a reason", stats)


def python(tap, where, path, everything):
    """How the GIL is waited for is each version's own; sleep and epoll are the system's, by all or by three of them."""
    version = e2e.version_of(path)
    check(tap, "%s, GIL" % version, record(where, "--off-cpu", "--function", "--off-cpu-rate", 20000, "--", path, WAITS_PY, "gil", SECONDS / 2),
          "compete", "GIL", 0.5)
    if not everything:
        return
    check(tap, "%s, sleep" % version, record(where, "--off-cpu", "--function", "--", *UNDISTURBED, path, WAITS_PY, "sleep", SECONDS),
          "nap", "sleep" if int(version.split(".")[1]) > 10 else "pselect6")
    check(tap, "%s, asyncio" % version, record(where, "--off-cpu", "--function", "--off-cpu-rate", 20000, "--", *UNDISTURBED, path, WAITS_PY,
                                               "tasks", SECONDS), "wait_for_tasks", "epoll_wait", 0.8)


def whole_window(tap, where):
    """A thread that does not wake up while it is recorded waits all the time, with its stack."""
    target = e2e.start([e2e.PYTHON, "-c", "import threading, time\ndef forever():\n    time.sleep(1000)\n"
                        "threading.Thread(target=forever, daemon=True).start()\ntime.sleep(0.2)\n" + e2e.READY])
    try:
        stacks, stats, _, said = record(where, "--off-cpu", "--function", "-d", SECONDS, "-p", target.pid)
    finally:
        target.kill()
        target.wait()
    if not tap.ok(stacks, "asleep all the time: recorded", said):
        return
    tap.ok(len(stacks) == 2 and all(abs(us / 1e6 - SECONDS) < 0.02 * SECONDS + 0.05 for _, us in stacks), "asleep all the time: each thread",
           [(f[-1], us) for f, us in stacks])
    tap.equal(sorted(f[-1] for f, _ in stacks), ["[waiting: read]", "[waiting: sleep]"], "asleep all the time: for what")
    woken, _, _, _ = record(where, "--off-cpu", "--function", "--", e2e.PYTHON, "-c", "import time\nfor i in range(9): time.sleep(0.01)")
    inner = {";".join(f for f in frames if f.endswith(" [k]")) for frames, _ in stacks + woken if frames[-1] == "[waiting: sleep]"}
    tap.ok(len(inner) == 1, "one that sleeps on has the same kernel stack as one that was woken", inner)
    tap.ok(within(stacks, "forever") and all(e2e.THREAD_START.match(f[1]) for f, _ in stacks) and stats["complete"] == 2,
           "asleep all the time: with whole stacks", stacks)


def wall(tap, where):
    """Both in one profile: a thread that computes and one that sleeps have the same time."""
    code = ("import threading, time\ndef forever():\n    time.sleep(1000)\nthreading.Thread(target=forever, daemon=True).start()\n"
            "def compute():\n    end = time.time() + %d\n    while time.time() < end: sum(range(1000))\ncompute()" % SECONDS)
    outputs = [where + "/w" + suffix for suffix in (".speedscope.json", ".pb.gz", ".html")]
    stacks, stats, _, said = record(where, "--wall", "--function", "-F", 499, *(
        sum((["-o", path] for path in outputs), []) + ["--", e2e.PYTHON, "-c", code]))
    if not tap.ok(stacks, "wall: recorded", said):
        return
    computing, sleeping = e2e.total(within(stacks, "compute")) / 1e6, e2e.total(within(stacks, "forever")) / 1e6
    tap.ok(abs(computing - SECONDS) < 0.05 * SECONDS, "wall: %.3f s in a function that takes %d s" % (computing, SECONDS))
    tap.ok(abs(sleeping - computing) < 0.1 * SECONDS, "wall: %.3f s in a thread that sleeps all the while" % sleeping)
    running = [us for frames, us in stacks if not frames[-1].startswith("[waiting: ")]
    tap.ok(running and balanced(stats) and stats["bpf"]["runs"] and stats["off_cpu"]["runs"], "wall: running, too", stats)
    total = e2e.total(stacks) / 1e6
    scope = e2e.load(outputs[0])
    weights = sum(sum(profile["weights"]) for profile in scope["profiles"])
    tap.ok({profile["unit"] for profile in scope["profiles"]} == {"seconds"} and abs(weights - total) < 0.01,
           "wall: speedscope has seconds", weights, total)
    # Field 1 of the message is the sample types; the names are in the string table.
    with gzip.open(outputs[1]) as file:
        raw = file.read()
    tap.ok(b"wall" in raw and b"nanoseconds" in raw, "wall: pprof has nanoseconds of wall")
    with open(outputs[2], encoding="utf-8") as file:
        page = file.read()
    tap.ok('"weighed":true' in page, "wall: the page has time")


def options(tap):
    for arguments, words in ((["--off-cpu", "--wall"], "--wall has both"), (["--off-cpu-rate", "5"], "goes with --off-cpu"),
                             (["--off-cpu", "--off-cpu-rate", "0"], "a whole number")):
        done = e2e.record(*(arguments + ["--", "/bin/true"]))
        tap.ok(done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, "%s: one line" % " ".join(arguments),
               done.stderr)


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        natives(tap, where)
        for number, path in enumerate(pythons()):
            python(tap, where, path, e2e.LONG or number % 4 == 0)
        whole_window(tap, where)
        wall(tap, where)
    options(tap)
    tap.done()


main()
