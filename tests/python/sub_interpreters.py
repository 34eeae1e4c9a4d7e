# SPDX-License-Identifier: GPL-2.0-or-later
# sub_interpreters.t's program: two threads, each of which computes in the main interpreter and in another by turns, one of
# its own; or (lent) one thread that does so in an interpreter that the main thread made.
# Exits with 77 when this Python cannot make interpreters.
import sys
import threading
import time

try:
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreters.destroy(interpreters.create())
except Exception:
    sys.exit(77)



def measure():
    turns, end = 0, time.thread_time() + 0.08
    while time.thread_time() < end:
        for _ in range(1000):
            pass
        turns += 1
    return turns


# Imports nothing: in a lent interpreter an import may wait for ever (3.11).
INNER = """
def inner_leaf():
    for _ in range(%d):
        for _ in range(1000):
            pass
def inner():
    inner_leaf()
inner()
""" % measure()


def outer_leaf():
    end = time.thread_time() + 0.08
    while time.thread_time() < end:
        for _ in range(1000):
            pass


def enters(one):
    interpreters.run_string(one, INNER)


LENT = interpreters.create() if "lent" in sys.argv else None


def work():
    one = interpreters.create() if LENT is None else LENT
    for _ in range(4 if LENT is None else 8):
        outer_leaf()
        enters(one)


thread = threading.Thread(target=work)
thread.start()
if LENT is None:
    work()
thread.join()
