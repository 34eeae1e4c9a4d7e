# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that knows how long it sleeps, and a thread that does nothing else: prints the time in which it was not on the CPU."""
import threading
import time


def forever():
    time.sleep(1000)


def nap():
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(20):
        time.sleep(0.05)
    return (time.perf_counter() - wall) - (time.thread_time() - cpu)


threading.Thread(target=forever, daemon=True).start()
print("slept %.6f" % nap(), flush=True)
