# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that call functions: closures, comprehensions, decorators, lambdas, recursion."""
import functools
import sys


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


# gap: 300
def make_adder(amount):
    def add(value):
        def inner():
            return spin(150) + amount

        return value + inner()

    return add


def closures(n):
    adders = [make_adder(k) for k in range(3)]
    for _ in range(n):
        for add in adders:
            add(
                5
            )


def comprehensions(n):
    for _ in range(n):
        listed = [spin(k) for k in range(20) if k % 3]
        mapped = {k: spin(k)
                  for k in range(20)}
        united = {
            spin(k + j)
            for k in range(4)
            for j in range(4)
        }
        summed = sum(
            spin(k)
            for k in listed
        )
        nested = [[spin(j) for j in range(i)] for i in range(8)]
    return mapped, united, summed, nested


def logged(prefix):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            spin(60)
            try:
                return function(*args, **kwargs)
            finally:
                spin(60)

        return wrapper

    return decorate


@logged("outer")
@logged(
    "inner"
)
def decorated(n):
    return spin(n)


def decorators(n):
    for _ in range(n):
        decorated(200)


def defaults(n):
    def with_defaults(a, b=3, *rest, c=5, **more):
        return spin(a + b + c + len(rest) + len(more))

    for _ in range(n):
        with_defaults(100)
        with_defaults(100, 2, 3, 4)
        with_defaults(100, c=1, d=2)
        with_defaults(*(100, 50), **{"c": 2})


def lambdas(n):
    double = lambda x: spin(x) * 2
    twice = lambda f, x: f(x) + \
        f(x)
    for _ in range(n):
        twice(double, 200)
        (lambda: spin(100))()


# gap: 70000
def countdown(n):
    if n == 0:
        return spin(300)
    return countdown(n - 1) + 1


def deep_recursion(n):
    countdown(200)
    for _ in range(n // 4):
        countdown(200)
    countdown(900)


def is_even(n):
    return spin(20) >= 0 and (
        True if n == 0 else
        is_odd(n - 1)
    )


def is_odd(n):
    spin(20)
    if n == 0:
        return False
    return is_even(n - 1)


def mutual_recursion(n):
    for _ in range(n):
        is_even(20)


# gap: 1000
def direct_leaf(n):
    total = 0
    while n:
        total ^= n * 31
        n -= 1
    return total


def direct_middle(n):
    first = direct_leaf(n)
    # gap: 260
    second = direct_leaf(n)
    return first + second


def direct_calls(n):
    for _ in range(n):
        direct_middle(120)
        direct_middle(60)


def branches(n):
    hits = 0
    for i in range(n * 8):
        if i % 2 == 0 and \
                i % 3 == 0 or \
                i % 5 == 0:
            hits += spin(10)
        elif i % 7 == 0:
            continue
        else:
            hits -= 1
        while hits > 100:
            hits -= 10
            if hits % 9 == 0:
                break
        else:
            hits += 2
    for _ in ():
        hits = spin(10)
    else:
        hits += spin(100)
    return hits


def loops_in_one_line(n):
    for i in range(n * 30): pass
    total = 0
    for i in range(n): total += spin(20)
    del total


def local_names(n):
    for _ in range(n):
        spin(
            len(
                str(
                    spin(80)
                )
            ) + 100
        )
        assert spin(40) >= 0, \
            "cannot be"


SCENARIOS = [
    ("closures", closures),
    ("comprehensions", comprehensions),
    ("decorators", decorators),
    ("defaults", defaults),
    ("lambdas", lambdas),
    ("deep_recursion", deep_recursion),
    ("mutual_recursion", mutual_recursion),
    ("direct_calls", direct_calls),
    ("branches", branches),
    ("loops_in_one_line", loops_in_one_line),
    ("local_names", local_names),
]
sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
