# SPDX-License-Identifier: GPL-2.0-or-later
"""Python 3.11: exception groups and except*."""


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def raises():
    spin(20)
    raise ExceptionGroup("several", [ValueError(1), KeyError(2), ExceptionGroup("inner", [TypeError(3)])])


def groups(n):
    for _ in range(n):
        try:
            try:
                raises()
            except* ValueError as found:
                spin(40)
            except* (KeyError, OSError):
                spin(40)
            finally:
                spin(20)
        except ExceptionGroup as rest:
            spin(30)


SCENARIOS = [("groups", groups)]
