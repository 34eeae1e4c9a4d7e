# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of known frames: half of its time in Python code, half inside the kernel. Its argument: seconds of CPU time; it does
not less than an emulated machine does in that time that has a CPU for itself. Prints its CPU time."""
import sys
import time

BLOCK = 1 << 20
SORTED_PER_SECOND, READ_PER_SECOND = 500, 280


def compute(end, seconds):
    rounds = 0
    while rounds < seconds * SORTED_PER_SECOND or time.process_time() < end:
        rounds += 1
        sorted(range(2000), key=lambda number: -number)


def read_zeros(end, seconds):
    rounds = 0
    with open("/dev/zero", "rb", buffering=0) as file:
        while rounds < seconds * READ_PER_SECOND or time.process_time() < end:
            rounds += 1
            file.read(BLOCK)


def middle(work, seconds):
    work(time.process_time() + seconds, seconds)


def outer(seconds):
    middle(compute, seconds / 2)
    middle(read_zeros, seconds / 2)


outer(float(sys.argv[1]))
print("computed %.6f" % time.process_time(), flush=True)
