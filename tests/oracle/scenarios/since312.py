# SPDX-License-Identifier: GPL-2.0-or-later
"""Python 3.12: comprehensions without frames of their own, type parameters with hidden ones."""


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def bound():
    spin(40)
    return int


def inlined(n):
    for _ in range(n):
        rows = [
            [spin(i + j) for j in range(4)]
            for i in range(4)
        ]
        keyed = {i: (lambda k=i: spin(k))() for i in range(5)}


def generics(n):
    for _ in range(n):
        def identity[T: bound()](value: T = spin(30)) -> T:
            return spin(20)

        class Box[T]:
            size = spin(20)

            def get[U](self, default: U) -> U:
                return spin(20)

        type Pair[A] = tuple[A, bound()]
        identity(1)
        Box().get(2)
        identity.__type_params__[0].__bound__
        Pair.__value__


SCENARIOS = [("inlined", inlined), ("generics", generics)]
