#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Greenlets: stacks that start in the middle of a thread's, over whatever another greenlet has there now."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 3, 199
SCRIPT = """import greenlet, time

def spin(n):
    return sum(i * i %% 7 for i in range(n))

def worker_leaf(hub):
    while True:
        spin(2000)
        hub.switch()

def worker(hub):
    worker_leaf(hub)

def start_deep(depth, new):
    # The worker's stack starts far down on the thread's, and what is below it there is gone when this returns.
    if depth:
        return sorted([depth], key=lambda d: start_deep(d - 1, new))
    new.switch()

def hub_shallow(workers):
    for new in workers:
        sorted([1, 2], key=lambda v: spin(500))
        new.switch()

def main():
    hub = greenlet.getcurrent()
    workers = [greenlet.greenlet(lambda: worker(hub)) for _ in range(4)]
    for depth, new in enumerate(workers):
        start_deep(4 * depth, new)
    while time.process_time() < %s:
        hub_shallow(workers)

main()
""" % SECONDS
HUB = {"hub_shallow", "start_deep", "main"}


def names(frames):
    return [m.group(1).rpartition(".")[2] for m in map(e2e.PYTHON_FRAME.match, frames) if m and m.group(2) == "<string>"]


tap = e2e.Tap()
if subprocess.call([e2e.PYTHON, "-c", "import greenlet"], stderr=subprocess.DEVNULL):
    print("1..0 # SKIP no greenlet package")
    sys.exit(0)
with e2e.folder() as where:
    out, stats = where + "/g.folded", where + "/g.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", e2e.PYTHON, "-c", SCRIPT)
    tap.ok(done.returncode == 0, "recorded", done.stderr)
    figures = e2e.load(stats)
    tap.ok((figures["complete"] + figures["lost"].get("greenlet-switch", 0)) / figures["samples"] >= 0.99,
           "complete, or between two greenlets: %.2f %%" % (100 * e2e.complete(figures)), figures["lost"])
    # What is marked says itself that it is not whole.
    stacks = [(f, c) for f, c in e2e.folded(out) if not f[1].startswith("[")]
    workers = [(f, c) for f, c in stacks if "worker_leaf" in names(f)]
    hub = [(f, c) for f, c in stacks if HUB & set(names(f))]
    tap.ok(figures["lost"].get("greenlet-switch", 0) < 0.1 * figures["samples"], "little of it between two", figures["lost"])
    tap.ok(e2e.total(workers) > SECONDS * HZ / 4, "%d samples in greenlets" % e2e.total(workers))
    tap.ok(e2e.total(hub) > SECONDS * HZ / 10, "%d samples outside" % e2e.total(hub))
    tap.equal([f for f, _ in workers if "bootstrap" not in f[1] and "initialstub" not in f[1]][:1], [],
              "a greenlet's stack begins where it starts")
    tap.equal([names(f) for f, _ in workers if names(f)[:3] != ["<lambda>", "worker", "worker_leaf"]][:1], [],
              "with its own Python frames")
    tap.equal([f for f, _ in workers if HUB & set(names(f))][:1], [], "and none of another's")
    tap.equal([f for f, _ in hub if "worker" in names(f) or names(f)[0] != "<module>" or not e2e.THREAD_START.match(f[1])][:1],
              [], "the main one's from the thread's start")
tap.done()
