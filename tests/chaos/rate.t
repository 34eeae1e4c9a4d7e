#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""As many samples as 8 CPUs give at 999 Hz, of native and Python stacks that are 1,000 calls deep and new each time: none
is lost, whatever number of CPUs this machine has."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/")
DEPTH, SECONDS = 1000, 5
CPUS = len(os.sched_getaffinity(0))
HZ = max(999, 8 * 999 // CPUS)


def wanderers(where):
    subprocess.check_call(["cc", "-O2", "-fomit-frame-pointer", "-o", where + "/wander", BENCH + "wander.c"])
    for i in range(max(2, min(CPUS, 8))):
        command = [sys.executable, BENCH + "wander.py"] if i % 2 else [where + "/wander"]
        yield subprocess.Popen(["nice", "-n", "5"] + command + [str(DEPTH)], stdout=subprocess.PIPE)


def main():
    tap = e2e.Tap()
    programs = []
    with e2e.folder() as where:
        try:
            for program in wanderers(where):
                programs.append(program)
                program.stdout.readline()
            began, before = time.monotonic(), sum(e2e.used(p.pid) for p in programs)
            done = e2e.record("-q", "-F", HZ, "-d", SECONDS, "-o", where + "/r.pb.gz", "--stats", where + "/r.json", "-p",
                              ",".join(str(p.pid) for p in programs))
            # The programs run on while strata starts and writes.
            cpu = (sum(e2e.used(p.pid) for p in programs) - before) * SECONDS / (time.monotonic() - began)
        finally:
            for program in programs:
                program.kill()
                program.wait()
        if tap.equal(done.returncode, 0, "exit status"):
            stats = e2e.load(where + "/r.json")
            absent = {k: v for k, v in stats["lost"].items() if v and k in ("ring-full", "stack-missing", "internal")}
            tap.equal(absent, {}, "no sample and no stack of %d was lost on its way" % stats["samples"])
            tap.ok(stats["samples"] >= e2e.due(cpu, HZ), "%d samples of %.1f s at %d Hz" % (stats["samples"], cpu, HZ))
            tap.ok(stats["complete"] >= 0.99 * stats["samples"], "complete: %d, and %s" % (stats["complete"], stats["lost"]))
            tap.ok(stats["unique_stacks"] > stats["samples"] / 2, "%d different stacks" % stats["unique_stacks"])
            tap.ok(stats["max_depth"] >= DEPTH, "the deepest of %d frames" % stats["max_depth"])
    tap.done()


main()
