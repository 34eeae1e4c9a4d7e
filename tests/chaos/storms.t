#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Storms of processes, programs, threads and signals: strata survives, and every sample is accounted for."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import CPU, e2e, run, run_all  # noqa: E402

PROGRAMS = ["true", "ls /", "date", "%s -S -c pass" % e2e.PYTHON, "perl -e 1", "bash -c :", "cat /etc/passwd", "id", "uname -a",
            "awk 'BEGIN{}'"]
PYTHON_THREADS = """
import sys, threading, time
def work():
    end = time.thread_time() + 0.004
    while time.thread_time() < end: sum(range(100))
while time.process_time() < float(sys.argv[1]):
    threads = [threading.Thread(target=work) for _ in range(10)]
    for t in threads: t.start()
    for t in threads: t.join()
"""
# A thousand calls deep, and at ever other places inside.
DEEP = """
import sys, time
sys.setrecursionlimit(5000)
def down(n, end):
    if n: return down(n - 1, end)
    while time.process_time() < end: sum(i * i for i in range(100))
down(1000, float(sys.argv[1]))
"""
PROCESSORS, HERTZ = 8, 999


def as_of_many_processors(tap, where):
    """The samples of eight processors, from those that are here."""
    count, cpu = os.cpu_count(), 3
    frequency = min(max(PROCESSORS // count, 1) * HERTZ, 9999)
    each = " & ".join(["%s -c \"$0\" %d" % (e2e.PYTHON, cpu)] * count)
    run(tap, "%d processors, %d Hz" % (count, frequency), where, cpu * count, "bash", "-c", each + " & wait", DEEP, frequency=frequency)
    lost = e2e.load(where + "/c.json")["lost"]
    tap.ok(not lost.get("ring-full") and not lost.get("stack-missing") and not lost.get("internal"),
           "%d processors, %d Hz: nothing is lost on its way" % (count, frequency), lost)


def storms(tap, where, storm):
    as_of_many_processors(tap, where)
    run(tap, "300 processes a second", where, 2, storm, "forks", CPU)
    run_all(tap, "300 processes a second among all", where, 2, storm, "forks", CPU, own="storm$")
    run(tap, "ten programs", where, 2, storm, "execs", CPU, *PROGRAMS, least=0.98)
    run(tap, "threads", where, 1, storm, "threads", CPU)
    run(tap, "Python threads", where, 2, e2e.PYTHON, "-c", PYTHON_THREADS, CPU, least=0.98)
    run(tap, "threads without a pause", where, 2, storm, "brief", CPU, frequency=499)
    run(tap, "nested signals on other stacks", where, 2, storm, "signals", CPU, frequency=499)
    run(tap, "signals from two senders", where, 2, storm, "bombard", CPU, frequency=499)


chaos.main(storms)
