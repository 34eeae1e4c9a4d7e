#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --wakers: programs that know who ends their waits."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

TIMER = "[woken by: interrupt (timer)]"
UNDISTURBED = ["chrt", "-f", "1"]


def record(where, *arguments):
    """(stacks, stats, what the program told, stderr)"""
    out, stats = where + "/w.folded", where + "/w.json"
    done = e2e.record("-o", out, "--stats", stats, "--wakers", *arguments)
    if done.returncode:
        return None, None, None, done.stderr
    told = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines() if line.count(" ") == 1)}
    return e2e.folded(out), e2e.load(stats), told, done.stderr


def split(frames):
    """(the waiting stack, the frame that says who has ended the wait, or None, its stack)"""
    for i, frame in enumerate(frames):
        if frame.startswith("[woken by: "):
            return frames[:i], frame, frames[i + 1:]
    return frames, None, []


def within(stacks, function):
    return [(split(frames), us) for frames, us in stacks if any(frame.startswith(function + " (") for frame in split(frames)[0])]


def sound(tap, words, stacks, stats):
    """Each wait has one that has ended it, except those that were preempted, or have not ended."""
    parts = [(split(frames), us) for frames, us in stacks]
    strange = [s for s, _ in parts if s[1] and not s[0][-1].startswith("[waiting: ")]
    tap.ok(not strange, words + ": who has ended a wait follows the wait", strange[:5])
    preempted = [s for s, _ in parts if s[0][-1] == "[waiting: preempted]" and s[1]]
    tap.ok(not preempted, words + ": nobody has ended a preemption", preempted[:5])
    # Frames outside of an interrupt are those of a thread that has nothing to do with it.
    foreign = [s for s, _ in parts if s[1] and s[1].startswith("[woken by: interrupt") and any(not f.endswith(" [k]") for f in s[2])]
    tap.ok(not foreign, words + ": interrupts have the interrupt's frames only", foreign[:5])
    tap.ok(stats["complete"] + sum(stats["lost"].values()) == stats["samples"], words + ": samples are complete or have a reason", stats)


def check(tap, words, result, function, by, least=0.95):
    """The time in a function, and most of it ended by one of these."""
    stacks, stats, told, said = result
    if not tap.ok(stacks and function in told, "%s: recorded" % words, said):
        return []
    inside = [s for s in within(stacks, function) if s[0][0][-1] != "[waiting: preempted]"]
    time = sum(us for _, us in inside) / 1e6
    known = told[function]
    tap.ok(0.9 * known <= time <= 1.02 * known + 0.001, "%s: %.4f s off the CPU, %.4f s by its own account" % (words, time, known))
    ended = [s for s in inside if s[0][1] in by]
    share = sum(us for _, us in ended) / 1e6 / max(time, 1e-9)
    tap.ok(share >= least, "%s: %.1f %% of it %s" % (words, 100 * share, " or ".join(by)),
           sorted([(us, s[0][-1], s[1], s[2][-3:]) for s, us in inside])[-9:])
    sound(tap, words, stacks, stats)
    return ended


def natives(tap, where):
    program = where + "/wakers"
    subprocess.check_call(["gcc", "-O2", "-pthread", "-o", program, HERE + "/wakers.c"])
    for what in ("pipe", "process", "mutex", "condition"):
        check(tap, what, record(where, "--off-cpu", "--", *UNDISTURBED, program, what), "wait_here", ["[woken by: waker]"])
    check(tap, "sleep", record(where, "--off-cpu", "--", *UNDISTURBED, program, "sleep"), "wait_here", [TIMER])
    check(tap, "wall", record(where, "--wall", "--", *UNDISTURBED, program, "pipe"), "wait_here", ["[woken by: waker]"])
    # Of many waits a part is taken.
    stacks, stats, _, said = record(where, "--off-cpu", "--off-cpu-rate", 1000, "--", *UNDISTURBED, program, "turns")
    if tap.ok(stacks, "many waits: recorded", said):
        off = stats["off_cpu"]
        inside = [s for s in within(stacks, "wait_here") if s[0][0][-1] != "[waiting: preempted]"]
        total, known = sum(us for _, us in inside), sum(us for s, us in inside if s[1] == "[woken by: waker]")
        tap.ok(off["waits"] > 2 * off["measured"], "many waits: %d of %d taken" % (off["measured"], off["waits"]))
        tap.ok(known >= 0.9 * total, "many waits: %.1f %% of the time is ended by whom it was" % (100 * known / max(total, 1)),
               sorted([(us, s[0][-1], s[1]) for s, us in inside])[-9:])
        sound(tap, "many waits", stacks, stats)


def unrecorded(tap, where):
    """One whose process is not recorded is named."""
    there, back = os.pipe(), os.pipe()
    code = ("import os, sys\nprint('ready'); sys.stdout.flush(); sys.stdin.readline()\n"
            "while os.read(%d, 1): os.write(%d, b'x')" % (there[0], back[1]))
    target = e2e.start([e2e.PYTHON, "-c", code], pass_fds=[there[0], back[1]])
    os.close(there[0])
    os.close(back[1])
    out = where + "/u.folded"

    def talk(_):
        target.stdin.close()
        for _ in range(200):
            os.write(there[1], b"x")
            os.read(back[0], 1)
    done = e2e.record_while(talk, "-o", out, "--off-cpu", "--wakers", "-p", target.pid)
    target.kill()
    target.wait()
    parts = [(split(frames), us) for frames, us in e2e.folded(out)] if os.path.exists(out) else []
    with open("/proc/self/comm") as file:
        me = "[woken by: %s (not recorded)]" % file.read().strip()
    mine = [s for s, _ in parts if s[1] == me]
    tap.ok(mine, "a waker of another process: " + me, done.stderr, [s[1] for s, _ in parts])
    tap.ok(all(f.endswith(" [k]") for s in mine for f in s[2]), "a waker of another process: without its user part", mine[:3])


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        natives(tap, where)
        unrecorded(tap, where)
    for arguments in (["--wakers"], ["--wakers", "--gil"]):
        done = e2e.record(*(arguments + ["--", "/bin/true"]))
        tap.ok(done.returncode == 2 and "goes with --off-cpu or --wall" in done.stderr and done.stderr.count("\n") == 1,
               "%s: one line" % " ".join(arguments), done.stderr)
    tap.done()


main()
