# SPDX-License-Identifier: GPL-2.0-or-later
"""Python 3.8: assignment expressions, positional-only parameters, f-strings over several lines."""


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def positional(a, b=2, /, *, c=3):
    return spin(a + b + c)


def assignments(n):
    for _ in range(n):
        if (value := spin(50)) and (
                other := positional(40, c=2)):
            spin(10)
        [last := spin(k) for k in range(6)]
        while (value := value - 1) > 140:
            spin(5)


SCENARIOS = [("assignments", assignments)]
