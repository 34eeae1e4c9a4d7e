# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight threads with roles of their own; several let go of the GIL while they work."""
import hashlib
import time
import zlib


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


BLOCK = bytes(range(256)) * 1024


def hash_block():
    return hashlib.sha256(
        BLOCK
    ).digest()


def hashes(n):
    for _ in range(n // 20 + 1):
        hash_block()


def compress_block():
    return zlib.compress(BLOCK, 6)


def compresses(n):
    for _ in range(n // 20 + 1):
        compress_block()


def nap():
    time.sleep(0.0005)


def naps(n):
    for _ in range(n):
        nap()
        spin(10)


def recurse(depth):
    return recurse(depth - 1) + 1 if depth else spin(200)


def deep(n):
    recurse(300)


def sort_rows(n):
    for _ in range(n // 4 + 1):
        sorted(range(20), key=lambda row: spin(row))


def produce(n):
    for i in range(n):
        yield spin(20)


def consume(n):
    return sum(produce(n))


def leaf_a(n):
    return spin(n * 20)


def leaf_b(n):
    return leaf_a(n) + spin(n)


def calls(n):
    return leaf_b(n)


def format_rows(n):
    return ["{:>8}|{!r}".format(i, str(spin(10))) for i in range(n)]


WORKERS = [
    ("or-w-hash", hashes),
    ("or-w-zlib", compresses),
    ("or-w-naps", naps),
    ("or-w-deep", deep),
    ("or-w-sort", sort_rows),
    ("or-w-gen", consume),
    ("or-w-calls", calls),
    ("or-w-rows", format_rows),
]
