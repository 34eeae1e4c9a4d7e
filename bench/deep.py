# SPDX-License-Identifier: GPL-2.0-or-later
"""deep.py DEPTH: works so many Python calls deep, for ever. Says "ready"."""
import sys
import threading

DEPTH = int(sys.argv[1])


def down(left):
    if left:
        return down(left - 1)
    print("ready")
    sys.stdout.flush()
    number = 0
    while True:
        number = (number + 1) & 0xffff


sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=down, args=(DEPTH,))
thread.start()
thread.join()
