# SPDX-License-Identifier: GPL-2.0-or-later
"""wander.py DEPTH: ever new stacks of some DEPTH Python calls, for ever, as wander.c has them of C. Says "ready"."""
import random
import sys
import threading

DEPTH = int(sys.argv[1])
WANDERS = 64


def work():
    done = 0
    for i in range(50):
        done += i


def left(depth):
    while True:
        work()
        dice = random.random()
        if depth == DEPTH or (depth > DEPTH - WANDERS and dice < 0.25):
            return
        (left if dice < 0.625 else right)(depth + 1)


def right(depth):
    while True:
        work()
        dice = random.random()
        if depth == DEPTH or (depth > DEPTH - WANDERS and dice < 0.25):
            return
        (left if dice < 0.625 else right)(depth + 1)


def main():
    print("ready")
    sys.stdout.flush()
    while True:
        left(1)


sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(256 << 20)
threading.Thread(target=main).start()
