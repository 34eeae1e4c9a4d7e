# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain Python, some thirty calls deep, for SECONDS; prints units of work per second after the warm-up."""
import sys
import time

WARM_UP = 1.5


class Vector(object):
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def plus(self, other):
        return Vector(self.x + other.x, self.y - other.y)


def walk(depth, seed):
    if depth:
        return walk(depth - 1, seed) + 1
    point = Vector(seed, 1)
    for i in range(300):
        point = point.plus(Vector(i, seed))
    return sum(k * k % 7 for k in range(200)) + point.x


def unit(seed):
    return [walk(30, seed + k) for k in range(4)]


def measure(work, seconds):
    begin, since, units = time.monotonic(), None, 0
    while True:
        work(units)
        now = time.monotonic()
        if since is None:
            if now - begin >= WARM_UP:
                since = now
            continue
        units += 1
        if now - begin >= seconds:
            return units / (now - since)


if __name__ == "__main__":
    print("%.3f" % measure(unit, float(sys.argv[1])))
