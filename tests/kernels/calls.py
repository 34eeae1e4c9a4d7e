# SPDX-License-Identifier: GPL-2.0-or-later
"""calls.py FRAMES ROUNDS: so many times so many calls of down(), the innermost of which reads 77 bytes of /dev/zero."""
import posix
import sys
import time


def down(left):
    if left > 1:
        return down(left - 1)
    zero = posix.open("/dev/zero", posix.O_RDONLY)
    posix.read(zero, 77)
    return posix.close(zero)


for _ in range(int(sys.argv[2])):
    down(int(sys.argv[1]))
    time.sleep(0.1)
