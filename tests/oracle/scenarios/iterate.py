# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that stop and go on: generators, yield from, send, throw, close, context managers made of them."""
import contextlib
import sys


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def numbers(n):
    for i in range(n):
        spin(40)
        yield i
    spin(40)


def generators(n):
    for _ in range(n):
        for value in numbers(6):
            spin(20)
        list(numbers(4))
        sum(numbers(4), 0)


def middle(n):
    before = yield from numbers(n)
    spin(30)
    yield from (
        spin(k) for k in range(n)
    )
    return before


def outer(n):
    yield from middle(n)
    # gap: 400
    yield from middle(n)


def yield_from(n):
    for _ in range(n // 2):
        for value in outer(4):
            spin(10)


def resumed_from_two_places(n):
    for _ in range(n):
        shared = numbers(8)
        next(shared)
        spin(20)
        next(shared)
        for value in shared:
            spin(10)


def echo():
    received = None
    while True:
        try:
            received = yield spin(40)
            if received is None:
                spin(20)
        except KeyError:
            spin(60)
        finally:
            spin(10)


def send_throw_close(n):
    for _ in range(n):
        talk = echo()
        next(talk)
        talk.send(3)
        talk.throw(KeyError("asked for"))
        talk.send(None)
        talk.close()


def patient():
    while True:
        try:
            yield spin(20)
        except KeyError:
            spin(60)
            yield spin(20)


def waits_for_patient():
    yield from patient()


def waits_for_waiting():
    yield from waits_for_patient()


def throw_through(n):
    """What is thrown into a generator that waits for another goes to that one, without a loop for those that wait."""
    for _ in range(n):
        talk = waits_for_waiting()
        next(talk)
        talk.throw(KeyError("handed on"))
        spin(20)
        talk.close()


class Tree(object):
    def __init__(self, depth):
        self.children = [Tree(depth - 1) for _ in range(2)] if depth else []

    def __iter__(self):
        spin(20)
        yield self
        for child in self.children:
            yield from child


class Counter(object):
    def __init__(self, limit):
        self.limit = limit

    def __iter__(self):
        return self

    def __next__(self):
        if self.limit == 0:
            raise StopIteration
        self.limit -= 1
        return spin(30)


TREE = Tree(4)


def iterators(n):
    for _ in range(n // 3):
        for node in TREE:
            spin(5)
        for value in Counter(10):
            spin(10)
        first, *others = Counter(5)
        max(Counter(5))


@contextlib.contextmanager
def managed(n):
    spin(n)
    try:
        yield n
    except ValueError:
        spin(n)
    finally:
        spin(n)


def context_generators(n):
    for i in range(n):
        with managed(50) as a, \
                managed(60):
            spin(a)
        with managed(30):
            raise ValueError(i)


def chained(n):
    for _ in range(n):
        squares = (k * k for k in numbers(6))
        odd = (s for s in squares if s % 2)
        total = 0
        for value in odd:
            total += spin(10)


SCENARIOS = [
    ("generators", generators),
    ("yield_from", yield_from),
    ("resumed_from_two_places", resumed_from_two_places),
    ("send_throw_close", send_throw_close),
    ("iterators", iterators),
    ("context_generators", context_generators),
    ("chained", chained),
]
if sys.version_info[:2] != (3, 9):
    SCENARIOS.append(("throw_through", throw_through))  # 3.9 forgets who threw: `python-unlinked`
