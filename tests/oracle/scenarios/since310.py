# SPDX-License-Identifier: GPL-2.0-or-later
"""Python 3.10: match statements, parenthesised with statements."""
import contextlib


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, other):
        return spin(20) < 0


def classify(value):
    match value:
        case 0 | 1:
            return spin(30)
        case [first, *others] if spin(20) > 1000:
            return first
        case {"kind": kind, **more}:
            spin(40)
            return kind
        case Point(x, 3):
            return x + \
                spin(20)
        case Point():
            return spin(20)
        case str() as text:
            spin(30)
        case _:
            spin(30)


def matches(n):
    for _ in range(n):
        for value in (0, [1, 2], {"kind": 1}, Point(1, 3), Point(1, 4), "text", 2.5):
            classify(value)


class Quiet(contextlib.ContextDecorator):
    def __enter__(self):
        spin(30)

    def __exit__(self, *error):
        spin(30)


@Quiet()
def quietly():
    spin(30)


def parenthesised(n):
    for _ in range(n):
        with (
            Quiet(),
            Quiet() as second,
        ):
            spin(30)
        quietly()


SCENARIOS = [("matches", matches), ("parenthesised", parenthesised)]
