#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs, libraries and Python modules that come once and never again, and processes that are all alike: strata's memory and
descriptors stay as they are."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge, judge_lines  # noqa: E402

SECONDS = int(os.environ.get("LEAK_SECONDS", 60 * e2e.SCALE if e2e.LONG else 45))
FILES = 3  # of each round: a program and two libraries
LINGER = 17  # s: strata keeps a process for 3 s and a file for 10 s, looks each second, and may have to wait for the CPU
OTHERS = 60
SWAY = 4500  # KiB that memory may grow by for other reasons: a leak of 22 KiB a program shows in 600 of them
KEPT = 8  # KiB of each program, for its names and stacks: 5.4 were measured, of 3,497
PACE = 14  # programs a second at most: with fewer a leak must be larger to be seen, more only take the CPU from others
ALIKE_S, ALIKE_HZ = 0.0008, 2997  # what one of those that are alike computes: a thousand and more need little CPU time then
MODULE = "def f_%d():\n    for i in range(60000): pass\nf_%d()\n"


def held(pid):
    """(RSS in KiB, open files, descriptors): a file may have two descriptors, see src/base/foreign.h."""
    rss, files = 0, set()
    with open("/proc/%d/status" % pid) as file:
        rss = [int(line.split()[1]) for line in file if line.startswith("VmRSS:")][0]
    fds = os.listdir("/proc/%d/fd" % pid)
    for fd in fds:
        try:
            files.add(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except OSError:
            pass
    return rss, sum(path.startswith("/") for path in files), len(fds)


def look_on(strata):
    """[(RSS, files, descriptors, when)], each second until it ends; and what it said."""
    seen = []
    while strata.poll() is None:
        time.sleep(1)
        try:
            seen.append(held(strata.pid) + (time.monotonic(),))
        except (OSError, IndexError):
            break  # it has just ended
    _, stderr = strata.communicate(timeout=e2e.PATIENCE_S)
    print("# RSS and files: %s" % " ".join("%d/%d" % x[:2] for x in seen[::5]))
    return seen, subprocess.CompletedProcess([], strata.returncode, "", stderr)


def stays(tap, words, seen, kept=0):
    """
    The last third holds no more than the one before, but for a little: what grows steadily grows by a third of the time between.
    `kept`: KiB that the recording itself keeps of all. Of descriptors, those that are not of files: each file has two, and how many
    files are open goes by the pace of programs (allowed()).
    """
    third = len(seen) // 3
    if not tap.ok(third > 3, words + ": it was looked at often enough"):
        return
    (memory, others), (memory_last, others_last) = (
        [statistics.median(what) for what in zip(*((rss, fds - 2 * files) for rss, files, fds, _ in part))]
        for part in (seen[third:2 * third], seen[-third:]))
    tap.ok(memory_last <= memory + SWAY + kept / 3, "%s: memory stays as it is: %d KiB, then %d KiB" % (words, memory, memory_last))
    tap.ok(others_last <= others + 4, "%s: so do descriptors beside those of files: %d, then %d" % (words, others, others_last))


def once(where, storm, number):
    """A program, a library and a Python program that nobody has seen before, and that are gone afterwards."""
    names = [where + "/%s-%d" % (name, number) for name in ("storm", "alpha", "omega", "python")]
    shutil.copy2(storm, names[0])
    shutil.copy2(where + "/alpha.so", names[1])
    shutil.copy2(where + "/omega.so", names[2])
    subprocess.call([names[0], "libraries", "0.02", names[1], names[2]])
    with open(names[3], "w") as file:
        file.write(MODULE % (number, number))
    subprocess.call([e2e.PYTHON, "-S", "-E", names[3]])
    for name in names:
        os.unlink(name)


def allowed(times, now):
    """How many files may be open: those of the programs that came of late, at `times`, and some others."""
    return FILES * sum(now - LINGER < at <= now for at in times) + OTHERS


def many(times):
    """Whether it would show if nothing were closed: what may be open at any time is less than half of the files."""
    return FILES * len(times) > 2.2 * max(allowed(times, at) for at in times)


def work(where, storm):
    """What is recorded: nothing but programs that come once; for longer than SECONDS where they come at an uneven pace."""
    times = []
    with open(where + "/times", "w") as file:
        while not times or times[-1] < times[0] + SECONDS or not many(times):
            times.append(time.monotonic())
            file.write("%f\n" % times[-1])
            file.flush()
            once(where, storm, len(times))
            time.sleep(max(0, times[-1] + 1 / PACE - time.monotonic()))


def leak(tap, where, storm):
    strata = subprocess.Popen([e2e.STRATA, "record", "-q", "-F", "499", "-o", where + "/c.folded", "--stats", where + "/c.json",
                               "--", "nice", "-n", "5", sys.executable, os.path.abspath(__file__), "work", where, storm],
                              stderr=subprocess.PIPE, universal_newlines=True)
    seen, done = look_on(strata)
    with open(where + "/times") as file:
        times = [float(line) for line in file]
    stays(tap, "%d programs" % len(times), seen, KEPT * len(times))
    # Once the programs have ended, strata writes its output, and closes nothing before it ends itself.
    due = [(files, allowed(times, now)) for _, files, _, now in seen if now <= times[-1]]
    tap.equal([x for x in due if x[0] > x[1]], [], "what is gone for %d s is closed: at most %d are open, of %d files" %
              (LINGER, max(f for f, _ in due), FILES * len(times)))
    tap.ok(FILES * len(times) > 2 * max(limit for _, limit in due), "and there were many more")
    stacks = [stack for stack, _ in judge_lines(tap, "programs that come once", where, done, 1, 499, own="storm-")]
    tap.ok(any(re.match(r"storm-\d;", s) for s in stacks), "the first programs are in the picture")
    named = [s for s in stacks if s.startswith("storm-") and ("alpha" in s or "omega" in s)]
    tap.ok(len(named) > 5, "with the names of libraries that are gone: %d" % len(named))


def alike(tap, where, storm):
    """Thousands of processes that do the same: no more stacks than one has."""
    strata = subprocess.Popen([e2e.STRATA, "record", "-q", "-F", str(ALIKE_HZ), "-o", where + "/c.folded",
                               "--stats", where + "/c.json",
                               "--", "nice", "-n", "5", storm, "forks", str(SECONDS / 9), str(ALIKE_S)],
                              stderr=subprocess.PIPE, universal_newlines=True)
    seen, done = look_on(strata)
    stays(tap, "processes that are alike", seen)
    judge(tap, "processes that are alike", where, done, SECONDS / 9, ALIKE_HZ)


if len(sys.argv) > 1:
    work(*sys.argv[2:])
else:
    chaos.main(leak, alike)
