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


def storms(tap, where, storm):
    run(tap, "300 processes a second", where, 2, storm, "forks", CPU)
    run_all(tap, "300 processes a second among all", where, 2, storm, "forks", CPU, own="storm$")
    run(tap, "ten programs", where, 2, storm, "execs", CPU, *PROGRAMS, least=0.98)
    run(tap, "threads", where, 1, storm, "threads", CPU)
    run(tap, "Python threads", where, 2, e2e.PYTHON, "-c", PYTHON_THREADS, CPU, least=0.98)
    run(tap, "threads without a pause", where, 2, storm, "brief", CPU, frequency=499)
    run(tap, "nested signals on other stacks", where, 2, storm, "signals", CPU, frequency=499)
    run(tap, "signals from two senders", where, 2, storm, "bombard", CPU, frequency=499)


chaos.main(storms)
