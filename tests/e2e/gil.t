#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""record --gil: who holds the GIL and who waits for it, beside a convoy of 8 threads that say how long they were there and how long
they ran. ORACLE_ONLY is a regular expression of labels of interpreters; STACK_ALL=1 takes every one at hand. Both also take those of
the lab (tests/lab) in STRATA_LAB."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../oracle")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402

THREADS, SECONDS = 8, 2
ONLY = os.environ.get("ORACLE_ONLY", "")
# A thread that computes with the GIL all the time holds it or waits for it. Beside them one sleeps, which is neither.
PROGRAM = """import sys, threading, time
thread_time = getattr(time, "thread_time", None) or (lambda: time.clock_gettime(3))

def compete(ends):
    number = 0
    while time.time() < ends:
        for i in range(20000):
            number += i

def convoy(ends, sums):
    began, ran = time.perf_counter(), thread_time()
    compete(ends)
    sums.append((time.perf_counter() - began, thread_time() - ran))

def idle(ends):
    while time.time() < ends:
        time.sleep(0.05)

ends, began = time.time() + %d, time.perf_counter()
sums = []
threads = [threading.Thread(target=convoy, args=(ends, sums)) for _ in range(%d)] + [threading.Thread(target=idle, args=(ends,))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("elapsed %%.6f" %% (time.perf_counter() - began))
print("there %%.6f" %% sum(s[0] for s in sums))
print("ran %%.6f" %% sum(s[1] for s in sums))
""" % (SECONDS, THREADS)


def record(where, *arguments):
    out, stats = where + "/g.folded", where + "/g.json"
    done = e2e.record("-o", out, "--stats", stats, "--gil", "--function", "--off-cpu-rate", 20000, "-F", 999, *arguments)
    if done.returncode:
        return None, None, None, done.stderr
    told = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    return e2e.folded(out), e2e.load(stats), told, done.stderr


def seconds(stacks):
    return e2e.total(stacks) / 1e6


def convoy(tap, where, interpreter):
    label = interpreter.label
    prefix = ["chroot", interpreter.root] if interpreter.root else []
    stacks, stats, told, said = record(where, "--", *prefix, interpreter.path, "-c", PROGRAM)
    if "-nogil" in interpreter.label:
        tap.ok(not stacks and "no GIL" in said, label + ": free-threaded: told as not there", said)
        return
    if not tap.ok(stacks and told, label + ": recorded", said):
        return
    mine = [(frames, us) for frames, us in stacks if any(f.startswith("convoy (") for f in frames)]
    holding = [s for s in mine if s[0][-1] == "[holding: GIL]"]
    waiting = [s for s in mine if s[0][-1] != "[holding: GIL]"]
    away = [s for s in holding if s[0][-2].startswith("[waiting: ")]
    # Of a stripped interpreter the functions that wait for the lock show themselves: they call those of condition variables.
    callers = {frames[i - 1] for frames, _ in mine if frames[-1] == "[waiting: GIL]" for i, f in enumerate(frames)
               if f.startswith("pthread_cond_") and not frames[i - 1].startswith("pthread_cond_")}
    named = any(f.startswith(("take_gil", "drop_gil")) for f in callers)
    handing = [s for s in waiting if (any(f.startswith("drop_gil") for f in s[0]) if named else
                                      s[0][-1] != "[waiting: GIL]" and callers & set(s[0]))]
    there, off, elapsed = told["there"], told["there"] - told["ran"], told["elapsed"]
    least = 0.98
    tap.ok(least * there <= seconds(mine) <= 1.02 * there, "%s: %.3f s with the GIL or waiting for it, %.3f s by its own account (%+.2f %%)" % (
        label, seconds(mine), there, 100 * (seconds(mine) / there - 1)), sorted((us, f[-3:]) for f, us in mine)[-9:])
    found = seconds(waiting) + seconds(away)
    tap.ok(least * off <= found <= 1.02 * off, "%s: %.3f s of it off the CPU, %.3f s by its own account (%+.2f %%)" % (
        label, found, off, 100 * (found / off - 1)), sorted((us, f[-3:]) for f, us in mine)[-9:])
    tap.ok(0 < seconds(holding) <= 1.02 * elapsed, "%s: one holds it at a time: %.3f s of %.3f s, %.3f s of which off the CPU" % (
        label, seconds(holding), elapsed, seconds(away)))
    for_it = seconds([s for s in waiting if s[0][-1] == "[waiting: GIL]" and s not in handing])
    tap.ok(for_it >= 0.9 * (seconds(waiting) - seconds(handing)), "%s: %.3f s for the GIL, %.3f s handing it over" % (
        label, for_it, seconds(handing)), sorted((us, f[-1]) for f, us in waiting)[-9:])
    strange = [f for f, _ in stacks if not re.match(r"\[(holding: GIL|waiting: (GIL|preempted))\]$", f[-1]) and
               not f[1].startswith("[incomplete: ") and not any(g.startswith(("take_gil", "drop_gil")) or g in callers for g in f)]
    tap.ok(not strange, label + ": and nothing else", strange[:9])
    tap.ok(stats["complete"] + sum(stats["lost"].values()) == stats["samples"], label + ": samples are complete or have a reason", stats)


def main():
    tap = e2e.Tap()
    found = interpreters.discover()
    with e2e.folder() as where:
        for interpreter in found if ONLY or os.environ.get("STACK_ALL") else interpreters.representative(found):
            if re.search(ONLY, interpreter.label):
                convoy(tap, where, interpreter)
        stacks, stats, _, said = record(where, "--", "/bin/sh", "-c", "sleep 0.2; :")
        tap.ok(not stacks and stats["samples"] == 0 and "no GIL" in said, "no Python: nothing, and it says so", said, stats)
    done = e2e.record("--gil", "--wall", "--", "/bin/true")
    tap.ok(done.returncode == 2 and "--gil" in done.stderr and done.stderr.count("\n") == 1, "--gil --wall: one line", done.stderr)
    tap.done()


main()
