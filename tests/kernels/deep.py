# SPDX-License-Identifier: GPL-2.0-or-later
"""deep.py FRAMES SECONDS: a Python recursion of so many frames of dive(), on a thread with a large stack. The innermost
one computes for so many seconds of CPU time, and not less than an emulated machine computes in that time that has a CPU
for itself."""
import sys
import threading
import time

ROUNDS_PER_SECOND = 70


def grind(seconds):
    number, rounds = 1, 0
    end = time.thread_time() + seconds
    while rounds < seconds * ROUNDS_PER_SECOND or time.thread_time() < end:
        rounds += 1
        for _ in range(10000):
            number = number * 31 & 0xffff


def dive(left, seconds):
    if left > 1:
        dive(left - 1, seconds)
    else:
        grind(seconds)


def main():
    depth = int(sys.argv[1])
    sys.setrecursionlimit(depth + 1000)
    threading.stack_size(1 << 29)
    thread = threading.Thread(target=dive, args=(depth, float(sys.argv[2])))
    thread.start()
    thread.join()


main()
