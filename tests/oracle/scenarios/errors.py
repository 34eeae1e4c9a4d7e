# SPDX-License-Identifier: GPL-2.0-or-later
"""Exceptions and what runs because of them."""


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


class Trouble(Exception):
    def __init__(self, code):
        super().__init__(code)
        spin(30)


def fail(depth):
    if depth:
        fail(depth - 1)
    raise Trouble(
        depth
    )


def caught(n):
    for _ in range(n):
        try:
            spin(30)
            fail(5)
        except ZeroDivisionError:
            spin(1000)
        except (KeyError, Trouble) as trouble:
            spin(100)
            str(trouble)
        else:
            spin(1000)


def finally_clauses(n):
    for i in range(n):
        try:
            try:
                spin(20)
                if i % 2:
                    fail(2)
            finally:
                spin(60)
                # gap: 290
                spin(30)
        except Trouble:
            pass
        finally:
            spin(20)


def translate():
    try:
        fail(1)
    except Trouble as cause:
        spin(20)
        raise ValueError("translated") from cause


def again():
    try:
        translate()
    except ValueError:
        spin(20)
        raise


def chained_errors(n):
    for _ in range(n):
        try:
            again()
        except Exception as error:
            while error is not None:
                spin(30)
                error = error.__cause__


def returns_in_finally(depth):
    try:
        if depth == 0:
            return spin(100)
        return returns_in_finally(depth - 1)
    finally:
        spin(30)


def leaves_loops(n):
    for i in range(n):
        try:
            if i % 3 == 0:
                continue
            if i == n - 1:
                break
            spin(20)
        finally:
            spin(40)


def finally_flow(n):
    for _ in range(n // 2):
        returns_in_finally(4)
        leaves_loops(6)


class Guard(object):
    def __init__(self, swallow):
        self.swallow = swallow

    def __enter__(self):
        spin(40)
        return self

    def __exit__(self, kind, value, traceback):
        spin(40)
        return self.swallow


def with_statements(n):
    for _ in range(n):
        with Guard(False) as outer, Guard(True):
            spin(50)
        with Guard(True):
            with Guard(False):
                fail(1)
            spin(1000)
        try:
            with Guard(
                False
            ):
                spin(20)
                fail(0)
        except Trouble:
            spin(30)


def held_locals(n):
    class Noisy(object):
        def __del__(self):
            spin(60)

    def thrower():
        noisy = Noisy()
        spin(20)
        raise KeyError(1)

    for _ in range(n):
        try:
            thrower()
        except KeyError:  # no name for it: see finalisers in callbacks.py
            spin(10)
        spin(10)


def from_c(n):
    def bad_key(value):
        spin(50)
        raise Trouble(value)

    for _ in range(n):
        try:
            sorted([3, 2, 1], key=bad_key)
        except Trouble:
            spin(20)
        try:
            int("x")
        except ValueError:
            spin(20)
        try:
            [].pop()
        except IndexError: spin(20)
        {}.get(1)


SCENARIOS = [
    ("caught", caught),
    ("finally_clauses", finally_clauses),
    ("chained_errors", chained_errors),
    ("finally_flow", finally_flow),
    ("with_statements", with_statements),
    ("held_locals", held_locals),
    ("from_c", from_c),
]
