#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A library that is overwritten in place: what ran before keeps no wrong names, and what runs afterwards has its own. And
a bound on memory: rare stacks are dropped and counted, frequent ones stay."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge, judge_lines  # noqa: E402

TWICE = """import _ctypes, ctypes, shutil, sys, time
path, other, name, after = sys.argv[1:5]
def use(name):
    library = ctypes.CDLL(path)
    function, end = getattr(library, name), time.process_time() + 0.7
    while time.process_time() < end: function(2000)
    return library._handle
_ctypes.dlclose(use(name))
shutil.copyfile(other, path)
use(after)
"""


def overwritten(tap, where, storm):
    with open(where + "/twice.py", "w") as file:
        file.write(TWICE)
    done = e2e.record("-q", "-F", 499, "-o", where + "/c.folded", "--stats", where + "/c.json", "--", e2e.PYTHON, where + "/twice.py",
                      where + "/alpha.so", where + "/omega.so", "alpha", "omega")
    mine = judge(tap, "overwritten", where, done, 1.2, 499)
    text = ["%s" % f for f, _ in mine]
    first = sum(c for (f, c), x in zip(mine, text) if "0x" in f[-1] and "(alpha.so)" in f[-1])
    second = sum(c for (f, c), x in zip(mine, text) if f[-1].startswith("omega") and "(alpha.so)" in f[-1])
    wrong = [x for x in text if "alpha (" in x]
    tap.ok(second > 50, "what runs afterwards has its own names: %d samples" % second)
    tap.ok(first > 50, "what ran before is where it was, without a name: %d samples" % first, text[:3])
    tap.equal(wrong, [], "and nothing has a name of what is gone")


def bounded(tap, where, storm):
    with open(where + "/many.py", "w") as file:
        file.write(chaos.MANY)
    for size, evicts in (("8M", True), ("1G", False)):
        done = e2e.record("-q", "-F", 4999, "--max-memory", size, "-o", where + "/c.folded", "--stats", where + "/c.json", "--",
                          e2e.PYTHON, where + "/many.py", "3")
        mine = judge_lines(tap, "--max-memory " + size, where, done, 3, 4999, least=0.0)
        stats = e2e.load(where + "/c.json")
        evicted = stats["lost"].get("evicted", 0)
        tap.ok((evicted > 100) == evicts, "--max-memory %s: %d samples evicted of %d" % (size, evicted, stats["samples"]), stats)
        tap.equal(sum(c for s, c in mine if ";[incomplete: evicted]" in s), evicted, "and they are in the picture")
        share = e2e.share(mine, lambda stack: ";frequent (" in stack)
        truth = float(done.stdout)
        tap.ok(share > 0.8 * truth, "what is frequent stays: %.1f %% of the samples, %.1f %% of the time" % (100 * share, 100 * truth))


def threads(tap, where, storm):
    done = e2e.record("-q", "-t", "-F", 4999, "--max-memory", "8M", "-o", where + "/c.folded", "--stats", where + "/c.json", "--",
                      "nice", "-n", "5", storm, "brief", "5")
    mine = judge(tap, "threads that come once", where, done, 5, 4999)
    dropped = e2e.load(where + "/c.json")["notes"].get("threads", 0)
    tap.ok(dropped > 1000, "threads that come once: before stacks are dropped, threads are told apart no more: %d samples" % dropped)
    tap.equal(sum(c for f, c in mine if f[1].endswith(" (0)")), dropped, "threads that come once: and are in the picture")


chaos.main(overwritten, bounded, threads)
