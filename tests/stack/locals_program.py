# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that knows its local variables: it writes them down, as strata is to show them, and sleeps.

    locals_program.py FILE      {function: [[name, value]...]} of each frame
    locals_program.py --change  threads that change their variables all the time, with relations that always hold
"""
import json
import os
import sys
import threading
import time

ITEMS, DEPTH, TEXT = 8, 2, 200


def container(items, opening, closing, depth, one):
    if items and depth >= DEPTH:
        return opening + "..." + closing
    shown = [one(item) for item in items[:ITEMS]] + ["..."] * (len(items) > ITEMS)
    return opening + ", ".join(shown) + ("," if len(items) == 1 and opening == "(" else "") + closing


def value_of(value, depth=0):
    """As src/runtime/python/repr.h has it, but for the cut."""
    kind = type(value)
    one = lambda item: value_of(item, depth + 1)  # noqa: E731
    if kind is tuple:
        return container(list(value), "(", ")", depth, one)
    if kind is list:
        return container(value, "[", "]", depth, one)
    if kind is dict:
        return container(list(value.items()), "{", "}", depth, lambda item: one(item[0]) + ": " + one(item[1]))
    if kind is set:
        return container(list(value), "{", "}", depth, one) if value else "set()"
    if kind is frozenset:
        return "frozenset(" + (container(list(value), "{", "}", depth, one) if value else "") + ")"
    if value is None or kind in (bool, int, float, str, bytes):
        return repr(value)
    return object.__repr__(value)


def cut(text):
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= TEXT:
        return text
    return encoded[:TEXT].decode("utf-8", "ignore")


class Plain(object):
    class Nested(object):
        pass


class Mapping(dict):
    pass


class Number(int):
    pass


def cells(free):
    shared = [free]

    def inner(parameter, *rest, **named):
        later = unset = 0
        del unset
        shared.append(parameter)
        record_and_sleep()
        return free, later, rest, named
    inner(1, 2, 3, key=Plain)


def scalars():
    nothing, yes, no = None, True, False
    zero, one, minus, digit, two, big, huge = 0, 1, -7, 2 ** 30 - 1, 2 ** 30, -12345678901234567890, 3 ** 500
    ten, nine = 10 ** 18, 10 ** 27 + 5
    tenth, whole, large, larger, tiny, tinier, least = 0.1, 100.0, 1e15, 1e16, 0.0001, 1.5e-05, 5e-324
    third, exact, inf, nan, negative = 1 / 3.0, 123456789012345.6, float("inf"), float("nan"), -0.0
    most, odd = sys.float_info.max, 9007199254740993.0
    cells("free")
    return locals()


def texts():
    empty, plain, mark, both = "", "text", "it's", "'\""
    escapes, latin, euro, face = "a\\\n\r\t\x00\x1b\x7f\xa0\xad", "\xe9\xff", "\u20ac\u200b\u2028\u3000", "\U0001f600\U000e0001"
    lone, long, wide, data, quoted = "\ud800", "x" * 199, "\u20ac" * 300, bytes(range(256))[:60], b"it's"
    mixed = "a\u20acb'c"
    scalars()
    return locals()


def containers():
    nothing, single, pair, deep = (), (1,), (1, "a"), (1, (2, (3, (4,))))
    numbers, nested = list(range(30)), [[], [[]], [[1]], {}, {1: {2: {3: 4}}}, set(), frozenset()]
    table, keys, some, frozen = {}, {"a": 1, 2: "b", None: (1,)}, {"only"}, frozenset([3])
    gone = {1, 2, 3}
    gone.discard(2)
    removed = {i: i for i in range(40)}
    for i in range(38):
        del removed[i]
    itself = []
    itself.append(itself)
    texts()
    return locals()


def objects():
    plain, inner, mapping, number, module, function = Plain(), Plain.Nested(), Mapping(a=1), Number(4), sys, objects
    lock, condition, kind, error, code = threading.Lock(), threading.Condition(), Plain, ValueError(1), objects.__code__
    plain.attribute = 5
    attributes = plain.__dict__

    class Body(object):
        attribute = 5
        containers()
    return Body


def generator():
    before = "generator"
    yield before
    objects()


def record_and_sleep():
    found, frame = {}, sys._getframe(1)
    while frame.f_back:
        if frame.f_code.co_name != "<module>":
            found[frame.f_code.co_name] = [[k, value_of(v)] for k, v in frame.f_locals.items() if k != "record_and_sleep"]
        frame = frame.f_back
    with open(sys.argv[1] + ".new", "w") as file:
        json.dump(found, file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(1e6)


def change(number):
    def down(depth, token):
        twice, text = (token, token * 2), "token %d" % token
        if depth:
            down(depth - 1, token + 1)
        else:
            time.sleep(0.002)
        return twice, text
    while True:
        number += 7
        down(number % 20, number << 33)


def main():
    if sys.argv[1] == "--change":
        for i in range(4):
            threading.Thread(target=change, args=(i * 10 ** 9,), daemon=True).start()
        print("ready")
        sys.stdout.flush()
        time.sleep(1e6)
    generated = generator()
    next(generated)
    next(generated)


main()
