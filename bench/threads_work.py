# SPDX-License-Identifier: GPL-2.0-or-later
"""threads_work.py THREADS SECONDS [WAKE-UPS [requests]]: the work of py_work.py beside so many threads, named idle, which wake so
many times a second in all, else once each. With `requests` it is done by threads that live for one unit of it each."""
import ctypes
import sys
import threading
import time

import py_work

PR_SET_NAME = 15
prctl = ctypes.CDLL(None).prctl


def idle(end, pause):
    prctl(PR_SET_NAME, b"idle", 0, 0, 0)
    while time.monotonic() < end:
        time.sleep(pause)


def request(seed):
    thread = threading.Thread(target=py_work.unit, args=(seed,))
    thread.start()
    thread.join()


if __name__ == "__main__":
    count, seconds, work = int(sys.argv[1]), float(sys.argv[2]), request if "requests" in sys.argv else py_work.unit
    wake_ups = int(sys.argv[3]) if len(sys.argv) > 3 else count
    threading.stack_size(64 * 1024)
    for _ in range(count):
        threading.Thread(target=idle, args=(time.monotonic() + seconds, count / wake_ups), daemon=True).start()
    print("%.3f" % py_work.measure(work, seconds))
