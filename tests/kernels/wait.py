# SPDX-License-Identifier: GPL-2.0-or-later
"""
A program that knows how long it sleeps, and a thread that does nothing else: prints the time in which it was not on the CPU. Then
it waits for a thread that ends its waits. First it computes, so that strata gets to know the interpreter, which is work of much the
same length: of waits before that some have no Python frames.
"""
import threading
import time

FIRST = 100


def compute():
    number = 1
    for _ in range(FIRST * 10000):
        number = number * 31 & 0xffff


def forever():
    time.sleep(1000)


def nap():
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(20):
        time.sleep(0.05)
    return (time.perf_counter() - wall) - (time.thread_time() - cpu)


def end_them(event, ready):
    for _ in range(10):
        ready.acquire()
        time.sleep(0.05)
        event.set()


def be_woken(event, ready):
    for _ in range(10):
        event.clear()
        ready.release()
        event.wait()


threading.Thread(target=forever, daemon=True).start()
compute()
slept, event, ready = nap(), threading.Event(), threading.Semaphore(0)
threading.Thread(target=end_them, args=(event, ready), daemon=True).start()
be_woken(event, ready)
print("slept %.6f" % slept, flush=True)
