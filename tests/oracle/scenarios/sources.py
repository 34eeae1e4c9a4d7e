# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that comes and goes, and code of unusual size: exec under one file name, imports, thousands of lines."""
import atexit
import importlib
import os
import shutil
import sys
import tempfile
import zlib


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


# Six sources under one file name whose functions have the same names and other lines. Each is freed before the
# next is compiled, so their code objects come to lie at the same addresses: a stale name or line is a wrong one.
def layout(k):
    lines = ["#"] * (17 * k)
    lines += ["def step(n):", "    total = 0", "#", "    for i in range(n):", "#", "        total += i % 3", "#"]
    lines += ["#"] * k
    lines += ["    return total", "#", "def run(n):", "#", "    step(n)"] + ["#"] * (3 * k)
    lines += ["    step(n)", "#", "run(300)", "#"]
    return "\n".join(lines)


LAYOUTS = [layout(k) for k in range(6)]


def exec_same_file(n):
    for _ in range(n // 8):
        exec(compile(LAYOUTS[0], "<generated>", "exec"), {})
        exec(compile(LAYOUTS[1], "<generated>", "exec"), {})
        exec(compile(LAYOUTS[2], "<generated>", "exec"), {})
        exec(compile(LAYOUTS[3], "<generated>", "exec"), {})
        exec(compile(LAYOUTS[4], "<generated>", "exec"), {})
        exec(compile(LAYOUTS[5], "<generated>", "exec"), {})
    eval("spin(100)")
    eval(compile("\n" * 500 + "spin(100)", "<expression>", "eval"))


# The same folder in each run of one interpreter: it is in the code objects' file names.
FOLDER = os.path.join(tempfile.gettempdir(), "oracle-%08x" % zlib.crc32(sys.executable.encode()))
os.makedirs(FOLDER, exist_ok=True)
atexit.register(shutil.rmtree, FOLDER, True)
with open(os.path.join(FOLDER, "oracle_first.py"), "w") as file:
    file.write("def work(n):\n\n    total = 0\n\n    for i in range(n):\n\n        total += i\n\n    return total\n\n\n"
               "work(400)\n\n\nimport oracle_second\n")
with open(os.path.join(FOLDER, "oracle_second.py"), "w") as file:
    file.write("\n\n\nfrom oracle_first import work\n\n\nwork(\n\n    500\n\n)\n")


# From 3.10 on the first call imports a good part of the standard library, which takes minutes to trace.
importlib.invalidate_caches()


def imports(n):
    sys.path.insert(0, FOLDER)
    importlib.invalidate_caches()
    for _ in range(n // 10 + 1):
        import oracle_first
        import oracle_second
        oracle_first.work(100)
        del sys.modules["oracle_first"], sys.modules["oracle_second"]
        importlib.import_module("oracle_second")
        del sys.modules["oracle_first"], sys.modules["oracle_second"]
    del sys.path[0]


def far_apart(n):
    total = spin(20)
    # gap: 256
    total += spin(20)
    # gap: 127
    total += spin(20)
    # gap: 128
    total += spin(20)
    # gap: 70000
    total += spin(
        # gap: 1000
        20
        # gap: 254
    )
    for i in range(3):
        # gap: 255
        total += spin(10)
        # gap: 33000
    return total


def long_gaps(n):
    for _ in range(n):
        far_apart(n)


# 6,000 lines and a line table of more than 8 KiB, with calls from all over it.
def big_source():
    lines = ["def big(leaf):", "    x = 1"]
    for i in range(6000):
        lines.append("    x = leaf(x)" if i % 60 == 59 else "    x = (x * 5 + %d) & 0xffff" % i)
        if i % 500 == 499:
            lines += [""] * 300
        lines.append("")
    lines.append("    return x")
    return "\n".join(lines)


def big_leaf(x):
    for i in range(40):
        x ^= i
    return x


BIG = {}
exec(compile(big_source(), "/generated/big.py", "exec"), BIG)


def big_function(n):
    big = BIG["big"]
    for _ in range(n // 10 + 1):
        big(big_leaf)


SCENARIOS = [
    ("exec_same_file", exec_same_file),
    ("imports", imports),
    ("long_gaps", long_gaps),
    ("big_function", big_function),
]
