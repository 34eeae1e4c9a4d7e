# SPDX-License-Identifier: GPL-2.0-or-later
"""Children: a plain fork that does a scenario in the parent's role, and multiprocessing with a role of its own."""
import multiprocessing
import os

from roles import EXIT, SETUP, set_role


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def child_work(n):
    for _ in range(n):
        spin(200)


def forks(n):
    pid = os.fork()
    if pid == 0:
        child_work(n)
        os._exit(0)
    os.waitpid(pid, 0)


def mp_target(n):
    set_role("or-mp")
    for _ in range(n):
        child_work(3)
    set_role(EXIT)


CONTEXT = multiprocessing.get_context("fork")


def multiprocess(n):
    # What multiprocessing does around the child depends on time; no claim is made about it.
    set_role(SETUP)
    process = CONTEXT.Process(target=mp_target, args=(n,))
    process.start()
    process.join()
    set_role("or-main")


SCENARIOS = [("forks", forks), ("multiprocess", multiprocess)]
