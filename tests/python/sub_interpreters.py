# SPDX-License-Identifier: GPL-2.0-or-later
# sub_interpreters.t's program: threads that compute by turns in the main interpreter and in another one, there with the GIL
# and without. Two threads, each with an interpreter of its own; or (lent) one thread in an interpreter that the main thread
# made, beside one that never leaves the main interpreter; or (crossed) two threads in two that the main thread made.
# Exits with 77 when this Python cannot do that.
import sys
import threading
import time
import zlib

try:
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreters.destroy(interpreters.create())
except Exception:
    sys.exit(77)

MODE = (sys.argv + ["own"])[1]
MADE = []  # an interpreter ends with its last reference; by another thread than its maker's, that may take for ever (3.11)
DATA = bytes(1 << 20)


# By who made the interpreter: in a lent one an import may wait for ever (3.11).
SETUP = "import time, zlib; DATA = bytes(1 << 20)"
INNER = """
def leaf_@():
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        for _ in range(1000):
            pass
def free_@():
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        zlib.crc32(DATA)
def inner_@():
    leaf_@()
    free_@()
inner_@()
"""


def make():
    one = interpreters.create()
    interpreters.run_string(one, SETUP)
    return one


def lend():
    MADE.append(make())
    return MADE[-1]


def outer_leaf():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        for _ in range(1000):
            pass


def enters_a(one):
    interpreters.run_string(one, INNER.replace("@", "a"))


def enters_b(one):
    interpreters.run_string(one, INNER.replace("@", "b"))


def work(enters, one=None):
    one = make() if one is None else one
    for _ in range(8 if MODE == "lent" else 4):
        outer_leaf()
        enters(one)


def beside(thread):
    while thread.is_alive():
        zlib.crc32(DATA)


if MODE == "own":
    thread = threading.Thread(target=work, args=(enters_a,))
    thread.start()
    work(enters_b)
elif MODE == "lent":
    thread = threading.Thread(target=work, args=(enters_a, lend()))
    thread.start()
    beside(thread)
else:
    threads = [threading.Thread(target=work, args=(enters, lend())) for enters in (enters_a, enters_b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
