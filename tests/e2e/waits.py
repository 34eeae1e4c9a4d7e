# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that knows how long it waits: prints `NAME SECONDS`, the time in which the function's threads were not on a CPU."""
import sys
import threading
import time

ENDS = time.time() + float(sys.argv[2])
# Before 3.7 threads cannot tell what they used of the CPU.
thread_time = getattr(time, "thread_time", None) or (lambda: time.clock_gettime(3))


def not_running():
    """Both clocks are read at one moment: a thread that loses its CPU between them would count that wait as the function's."""
    before, used, after = 0, 0, 1
    while after - before > 50e-6:
        before, used, after = time.perf_counter(), thread_time(), time.perf_counter()
    return before - used


def nap():
    while time.time() < ENDS:
        time.sleep(0.02)


def compete():
    number = 0
    while time.time() < ENDS:
        for i in range(20000):
            number += i


async def one_task(asyncio):
    while time.time() < ENDS:
        await asyncio.sleep(0.03)


async def gather(asyncio):
    await asyncio.gather(*[one_task(asyncio) for _ in range(200)])


def loop_of_tasks():
    import asyncio
    loop = asyncio.new_event_loop()
    before = not_running()
    wait_for_tasks(loop, gather(asyncio))
    return not_running() - before


def wait_for_tasks(loop, tasks):
    loop.run_until_complete(tasks)


def convoy(sums):
    before = not_running()
    compete()
    sums.append(not_running() - before)


if sys.argv[1] == "sleep":
    start = not_running()
    nap()
    print("nap %.6f" % (not_running() - start))
elif sys.argv[1] == "gil":
    sys.setswitchinterval(0.0025)  # twice as many waits for it as by default
    known = []
    threads = [threading.Thread(target=convoy, args=(known,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("compete %.6f" % sum(known))
else:
    print("wait_for_tasks %.6f" % loop_of_tasks())
