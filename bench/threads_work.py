# SPDX-License-Identifier: GPL-2.0-or-later
"""threads_work.py THREADS SECONDS: the work of py_work.py beside so many threads, each of which wakes once a second."""
import sys
import threading
import time

import py_work


def idle(end):
    while time.monotonic() < end:
        time.sleep(1)


if __name__ == "__main__":
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    threading.stack_size(64 * 1024)
    for _ in range(count):
        threading.Thread(target=idle, args=(time.monotonic() + seconds,), daemon=True).start()
    print("%.3f" % py_work.measure(py_work.unit, seconds))
