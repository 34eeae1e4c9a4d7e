# SPDX-License-Identifier: GPL-2.0-or-later
"""Python programs that know who ends their waits: `wait_here` waits, `end_it` ends it. wakers.t records them."""
import queue
import sys
import threading
import time

TIMES = 100
WHAT = sys.argv[1]
ready, done = threading.Semaphore(0), threading.Semaphore(0)
event, lock, items = threading.Event(), threading.Lock(), queue.Queue()
waited = 0
thread_time = getattr(time, "thread_time", None) or (lambda: time.clock_gettime(3))


def wait_here():
    # The clocks are read in here: between them the GIL can be lost, too, after each call of a C function.
    global waited
    began, ran = time.perf_counter(), thread_time()
    if WHAT == "event":
        event.wait()
    elif WHAT == "lock":
        lock.acquire()
    elif WHAT == "queue":
        items.get()
    else:
        time.sleep(0.005)
    waited += time.perf_counter() - began - (thread_time() - ran)


def end_it():
    if WHAT == "event":
        event.set()
    elif WHAT == "lock":
        lock.release()
    elif WHAT == "queue":
        items.put(1)


def ender():
    for _ in range(TIMES):
        ready.acquire()
        time.sleep(0.005)
        end_it()
        done.acquire()


def waits():
    for _ in range(TIMES):
        if WHAT == "lock":
            lock.acquire()
        ready.release()
        wait_here()
        event.clear()
        if WHAT == "lock":
            lock.release()
        done.release()


def compete(ends):
    number = 0
    while time.time() < ends:
        for i in range(20000):
            number += i


if WHAT == "gil":
    threads = [threading.Thread(target=compete, args=(time.time() + 1,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
else:
    thread = threading.Thread(target=ender)
    thread.daemon = True
    thread.start()
    waits()
    print("wait_here %.6f" % waited)
