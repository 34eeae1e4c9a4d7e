# SPDX-License-Identifier: GPL-2.0-or-later
"""C code that calls Python back, so that native frames stand between Python frames."""
import bisect
import collections
import ctypes
import functools
import gc
import json
import pickle
import re
import weakref

try:
    import sqlite3
except ImportError:
    sqlite3 = None


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def sort_key(value):
    spin(15)
    return -value


def compare_values(a, b):
    return spin(10) * 0 + a - b


def sort_keys(n):
    for _ in range(n):
        sorted([5, 3, 8, 1], key=sort_key)
        [5, 3, 8, 1].sort(
            key=lambda v: spin(15) + v
        )
        sorted([4, 2, 6], key=functools.cmp_to_key(compare_values))
        min([4, 2, 6], key=sort_key)
        bisect.bisect([1, 2, 3], 2)


def nested_inner(value):
    return sorted([value, 2, 1], key=sort_key)[0]


def nested_sorts(n):
    for _ in range(n):
        sorted([3, 1, 2], key=nested_inner)


def combine(a, b):
    return spin(20) + a + b


def is_kept(value):
    return spin(20) >= 0 and value % 2


def reduce_map_filter(n):
    for _ in range(n):
        functools.reduce(combine, range(6))
        list(map(is_kept, filter(is_kept, range(6))))
        any(map(is_kept, (2, 4, 6)))
        functools.partial(combine, 1)(2)


PATTERN = re.compile(r"(\w+)-(\d+)")
TEXT = "alpha-1 beta-22 gamma-333 delta-4444 "


def replace_match(match):
    return match.group(1) + str(spin(30))


def regex_callbacks(n):
    for _ in range(n):
        PATTERN.sub(replace_match, TEXT)
        re.sub("[aeiou]", lambda m: str(spin(10)), "education")
        re.match(r"(a|b|ab)*c", "ab" * 8)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
QSORT = ctypes.CDLL(None).qsort
QSORT.restype = None
VALUES = (ctypes.c_int * 8)()


def compare_ints(a, b):
    spin(10)
    return a[0] - b[0]


COMPARE_INTS = COMPARE(compare_ints)


def ctypes_callbacks(n):
    for _ in range(n):
        for i in range(8):
            VALUES[i] = 8 - i
        QSORT(VALUES, 8, ctypes.sizeof(ctypes.c_int), COMPARE_INTS)


def sql_double(value):
    return spin(30) + value


class SqlSum(object):
    def __init__(self):
        self.total = 0

    def step(self, value):
        self.total += spin(20)

    def finalize(self):
        return self.total


if sqlite3 is not None:
    DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
    DATABASE.create_function("sql_double", 1, sql_double)
    DATABASE.create_aggregate("sql_sum", 1, SqlSum)
    DATABASE.executescript("CREATE TABLE t(v); INSERT INTO t VALUES (1), (2), (3), (4);")


def sqlite_callbacks(n):
    if sqlite3 is not None:
        for _ in range(n):
            DATABASE.execute("SELECT sql_double(v) FROM t").fetchall()
            DATABASE.execute("SELECT sql_sum(v) FROM t").fetchone()


def object_hook(found):
    spin(30)
    return found


def encode_other(value):
    spin(30)
    return str(value)


DOCUMENT = json.dumps({"a": {"b": {"c": [1, 2, {"d": None}]}}})


def json_hooks(n):
    for _ in range(n):
        json.loads(DOCUMENT, object_hook=object_hook)
        json.dumps({"x": 1 + 2j, "y": [3j]}, default=encode_other)


class Pickled(object):
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        spin(40)
        return rebuild, (self.value,)


def rebuild(value):
    spin(40)
    return Pickled(value)


class WithState(object):
    def __getstate__(self):
        return {"total": spin(40)}

    def __setstate__(self, state):
        spin(40)


def pickling(n):
    for _ in range(n):
        things = [Pickled(1), Pickled(2)]  # not below: rebuild() calls the same, and could be left out unseen
        pickle.loads(pickle.dumps(things, 2))
        pickle.loads(pickle.dumps(WithState(), 2))


class Finalised(object):
    def __del__(self):
        spin(40)


def scope_end():
    thing = Finalised()
    spin(10)


# Up to 3.11 a trace function makes the interpreter keep a copy of the locals until the next event, so what dies here
# dies in containers: there tracing does not change the moment.
def finalisers(n):
    for _ in range(n):
        scope_end()
        box = [Finalised()]
        box[0] = None
        things = [[Finalised(), Finalised()]]
        # gap: 300
        del things[0]
        {1: Finalised()}.clear()


def when_gone(reference):
    spin(40)


def weak_references(n):
    for _ in range(n):
        box = [Finalised()]
        reference = weakref.ref(box[0], when_gone)
        finalizer = weakref.finalize(box[0], spin, 50)
        del box[0]
        spin(10)


def garbage(n):
    for _ in range(n // 8):
        loop = Finalised()
        loop.self = loop
        reference = weakref.ref(loop, when_gone)
        del loop
        gc.collect()


def make_default():
    return spin(40)


def factories(n):
    for _ in range(n):
        table = collections.defaultdict(make_default)
        table[1] += 1
        ",".join(str(spin(k)) for k in range(5))
        dict.fromkeys(spin(k) for k in range(5))
        "{0:{width}}".format(spin(10), width=8)
        list(zip(map(spin, (20, 30)), map(spin, (30, 20))))


SCENARIOS = [
    ("sort_keys", sort_keys),
    ("nested_sorts", nested_sorts),
    ("reduce_map_filter", reduce_map_filter),
    ("regex_callbacks", regex_callbacks),
    ("ctypes_callbacks", ctypes_callbacks),
    ("sqlite_callbacks", sqlite_callbacks),
    ("json_hooks", json_hooks),
    ("pickling", pickling),
    ("finalisers", finalisers),
    ("weak_references", weak_references),
    ("garbage", garbage),
    ("factories", factories),
]

# (callee, caller or None, native symbol that must stand between them, if the output has such symbols at all)
NATIVE_RULES = [
    ("sort_key", "nested_inner", r"^(list_sort|list\.sort)"),
    ("nested_inner", "nested_sorts", r"^(list_sort|list\.sort)"),
    ("compare_values", "sort_keys", r"^(list_sort|list\.sort)"),
    ("combine", "reduce_map_filter", r"^(_?functools_reduce|partial_)"),
    ("replace_match", "regex_callbacks", r"^(pattern_sub|_sre_)"),
    ("compare_ints", "ctypes_callbacks", r"^(ffi_call|_?_?qsort)"),
    ("sql_double", "sqlite_callbacks", r"^(_?pysqlite_|sqlite3_|func_callback)"),
    ("is_kept", "reduce_map_filter", r"^(map_next|filter_next)"),
    ("object_hook", "raw_decode", r"^(scanner_call|scan_once_unicode|_parse_object_unicode)"),
    ("make_default", "factories", r"^defdict_missing"),
]
