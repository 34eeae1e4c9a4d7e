# SPDX-License-Identifier: GPL-2.0-or-later
"""Python that calls C that calls Python: sorting, regular expressions, JSON, SQLite, ctypes. As py_work.py."""
import ctypes
import json
import re
import sqlite3
import sys

from py_work import measure

PATTERN = re.compile(r"(\w+)-(\d+)")
TEXT = " ".join("word-%d" % n for n in range(40))
DATABASE = sqlite3.connect(":memory:")
DATABASE.create_function("twice", 1, lambda value: value * 2)
DATABASE.executescript("CREATE TABLE t (v); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50) "
                       "INSERT INTO t SELECT i FROM n;")
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
QSORT = ctypes.CDLL(None).qsort
QSORT.restype = None


@COMPARE
def compare(a, b):
    return a[0] - b[0]


def key(row):
    return -row["value"], row["name"]


def unit(seed):
    rows = [{"name": "n%d" % (n * 7 % 13), "value": n * 31 % 17} for n in range(60)]
    rows.sort(key=key)
    text = PATTERN.sub(lambda match: match.group(1) + str(len(match.group(2))), TEXT)
    again = json.loads(json.dumps(rows), object_hook=lambda found: found)
    total = DATABASE.execute("SELECT sum(twice(v)) FROM t").fetchone()[0]
    numbers = (ctypes.c_int * 20)(*[n * 7 % 20 for n in range(20)])
    QSORT(numbers, 20, 4, compare)
    return len(text) + len(again) + total


if __name__ == "__main__":
    print("%.3f" % measure(unit, float(sys.argv[1])))
