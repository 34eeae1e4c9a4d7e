#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --wakers: programs that know who ends their waits; in Python on some interpreters, in the long form on all."""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

TIMER = "[woken by: interrupt (timer)]"
WAKERS_PY = HERE + "/wakers.py"
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


def longest(waits, most):
    """Of waits, each with its time first, those that took most."""
    return sorted(waits, key=lambda wait: wait[0])[-most:]


def within(stacks, function):
    return [(split(frames), us) for frames, us in stacks if any(frame.startswith(function + " (") for frame in split(frames)[0])]


def pythons():
    """All at hand; in the short form the oldest and the newest, the last before 3.11, 3.12, and the system's."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    by_minor = sorted((int(path.split("/versions/3.")[1].split(".")[0]), path) for path in found)
    if not e2e.LONG and by_minor:
        last = max([minor for minor, _ in by_minor if minor < 11], default=None)
        by_minor = [one for one in by_minor if one in (by_minor[0], by_minor[-1]) or one[0] in (last, 12)]
    return [path for _, path in by_minor] + [e2e.PYTHON]


def is_whole(stack):
    """From the thread's start, or a kernel thread's; or it says what is missing."""
    return bool(stack) and (bool(e2e.THREAD_START.match(stack[0])) or all(f.endswith(" [k]") for f in stack) or
                            bool(re.match(r"\[(incomplete: |truncated|exec|exit)", stack[0])))


def is_late(stack):
    """Of a process whose tables were not ready."""
    return stack[:1] == ["[incomplete: late]"]


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
    cut = [s for s, _ in parts if s[1] and not s[1].endswith("(not recorded)]") and s[1] != "[woken by: not known]" and not is_whole(s[2])]
    tap.ok(not cut, words + ": stacks of wakers are whole, or say what is missing", cut[:5])
    tap.ok(stats["complete"] + sum(stats["lost"].values()) == stats["samples"], words + ": samples are complete or have a reason", stats)


def check(tap, words, result, function, by, where=None, least=0.95):
    """The time in a function, and most of it ended by one of these, in the function `where`."""
    stacks, stats, told, said = result
    if not tap.ok(stacks and function in told, "%s: recorded" % words, said):
        return
    everything, known = within(stacks, function), told[function]
    away = sum(us for _, us in everything) / 1e6
    # Python may lose the GIL in the function, but not between its clocks, as well.
    most = float("inf") if words.startswith("3.") else 1.05
    # On a busy machine some waits come before the process's tables: which function they are in is not known.
    unnamed = min(sum(us for frames, us in stacks if is_late(split(frames)[0][1:])) / 1e6, 0.5 * known)
    tap.ok(0.95 * known - unnamed <= away <= most * known,
           "%s: %.4f s off the CPU, %.4f s by its own account, %.4f s nobody's" % (words, away, known, unnamed),
           longest([(us, s[0][-1], s[1]) for s, us in everything], 9))
    inside = [s for s in everything if s[0][0][-1] != "[waiting: preempted]"]
    time = sum(us for _, us in inside) / 1e6
    ended = [s for s in inside if s[0][1] in by and (not where or is_late(s[0][2]) or any(f.startswith(where + " (") for f in s[0][2]))]
    share = sum(us for _, us in ended) / 1e6 / max(time, 1e-9)
    tap.ok(share >= least, "%s: %.1f %% of it %s%s" % (words, 100 * share, " or ".join(by), " in " + where if where else ""),
           longest([(us, s[0][-1], s[1], s[2][-3:]) for s, us in inside], 9))
    late = sum(us for s, us in ended if is_late(s[2]))
    tap.ok(late <= 0.5 * time * 1e6, "%s: stacks of wakers that came too early: %.1f %%" % (words, late / max(time, 1e-9) / 1e4))
    mixed = [s for s, _ in ended if where and any(f.startswith(function + " (") for f in s[2])]
    tap.ok(not mixed, words + ": the waker does not wait at the same time", mixed[:3])
    sound(tap, words, stacks, stats)


def natives(tap, where):
    program = where + "/wakers"
    subprocess.check_call(["gcc", "-O2", "-pthread", "-o", program, HERE + "/wakers.c"])
    for what in ("pipe", "process", "mutex", "condition"):
        check(tap, what, record(where, "--off-cpu", "--", *UNDISTURBED, program, what), "wait_here", ["[woken by: waker]"], "end_it")
    check(tap, "sleep", record(where, "--off-cpu", "--", *UNDISTURBED, program, "sleep"), "wait_here", [TIMER])
    check(tap, "wall", record(where, "--wall", "--", *UNDISTURBED, program, "pipe"), "wait_here", ["[woken by: waker]"], "end_it")
    # Of many waits a part is taken.
    stacks, stats, _, said = record(where, "--off-cpu", "--off-cpu-rate", 1000, "--", *UNDISTURBED, program, "turns")
    if tap.ok(stacks, "many waits: recorded", said):
        off = stats["off_cpu"]
        inside = [s for s in within(stacks, "wait_here") if s[0][0][-1] != "[waiting: preempted]"]
        total, known = sum(us for _, us in inside), sum(us for s, us in inside if s[1] == "[woken by: waker]")
        tap.ok(off["waits"] > 2 * off["measured"], "many waits: %d of %d taken" % (off["measured"], off["waits"]))
        tap.ok(known >= 0.9 * total, "many waits: %.1f %% of the time is ended by whom it was" % (100 * known / max(total, 1)),
               longest([(us, s[0][-1], s[1]) for s, us in inside], 9))
        # A system call ends them, which is known without a stack, however long a thread then waited for a CPU.
        nobody = sum(us for s, us in inside if s[1] == "[woken by: not known]")
        tap.ok(not nobody, "many waits: it is always known who has ended one", "%d of %d us" % (nobody, total))
        sound(tap, "many waits", stacks, stats)


def python(tap, where, path):
    version = e2e.version_of(path)
    name = os.path.basename(os.path.realpath(path))
    by = ["[woken by: %s]" % comm for comm in {name, "python3", "python" + version}]
    # Of an interpreter that strata has never met the first waits, some 6 % of these, come before its code is analysed.
    e2e.record("-o", where + "/first.folded", "--", path, "-c", "import time; time.sleep(0.2)")
    for what in ("event", "lock", "queue"):
        check(tap, "%s, %s" % (version, what), record(where, "--off-cpu", "--function", "--", *UNDISTURBED, path, WAKERS_PY, what),
              "wait_here", by, "end_it", 0.9)
    check(tap, version + ", sleep", record(where, "--off-cpu", "--function", "--", *UNDISTURBED, path, WAKERS_PY, "sleep"), "wait_here", [TIMER])
    stacks, stats, _, said = record(where, "--off-cpu", "--function", "--", path, WAKERS_PY, "gil")
    if not tap.ok(stacks, version + ", GIL: recorded", said):
        return
    waits = [s for s in within(stacks, "compete") if s[0][0][-1] == "[waiting: GIL]"]
    # Who waits asks for it after 5 ms, by a timer.
    right = [s for s in waits if s[0][1] == TIMER or is_late(s[0][2]) or any(f.startswith("compete (") for f in s[0][2])]
    time, known = sum(us for _, us in waits), sum(us for _, us in right)
    tap.ok(waits and known >= 0.9 * time, "%s, GIL: %.1f %% of %.3f s ended by who had it, or by a timer" % (
        version, 100 * known / max(time, 1), time / 1e6), longest([(us, s[1], s[2][-9:]) for s, us in waits], 5))
    sound(tap, version + ", GIL", stacks, stats)


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
        for path in pythons():
            python(tap, where, path)
        unrecorded(tap, where)
    for arguments in (["--wakers"], ["--wakers", "--gil"]):
        done = e2e.record(*(arguments + ["--", "/bin/true"]))
        tap.ok(done.returncode == 2 and "goes with --off-cpu or --wall" in done.stderr and done.stderr.count("\n") == 1,
               "%s: one line" % " ".join(arguments), done.stderr)
    tap.done()


main()
