# SPDX-License-Identifier: GPL-2.0-or-later
"""Roles: what a thread is doing, written where a profiler sees it: in the thread's name.

A folded stack bears its thread's name, so the checker knows which tree a stack must be a path of. Threads that are
not (any more) in a known state are called SETUP or EXIT; no claim is made about their stacks.
"""
import os
import threading

SETUP = "or-setup"
EXIT = "or-exit"
UNCLAIMED = (SETUP, EXIT)

CURRENT = {}  # thread ident -> role, for the program's own sampler


def set_role(name):
    """Names the calling thread. No Python code runs below this function."""
    fd = os.open("/proc/thread-self/comm", os.O_WRONLY)
    CURRENT[threading.get_ident()] = name
    os.write(fd, name.encode("ascii"))
    os.close(fd)
