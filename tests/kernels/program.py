# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of known frames: half of its time in Python code, half inside the kernel. Its argument: seconds of
CPU time."""
import sys
import time

BLOCK = 1 << 20


def compute(end):
    while time.process_time() < end:
        sorted(range(2000), key=lambda number: -number)


def read_zeros(end):
    with open("/dev/zero", "rb", buffering=0) as file:
        while time.process_time() < end:
            file.read(BLOCK)


def middle(work, seconds):
    work(time.process_time() + seconds)


def outer(seconds):
    middle(compute, seconds / 2)
    middle(read_zeros, seconds / 2)


outer(float(sys.argv[1]))
