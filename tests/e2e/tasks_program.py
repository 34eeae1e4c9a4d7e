# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of asyncio tasks for tests/e2e/tasks.t: each task runs functions of its own, and knows its name.

    python -c SOURCE SECONDS [plain] [uvloop] [eager] [sleep]

Tasks come and go, in two threads with an event loop each, until SECONDS of CPU time are used; a third thread runs no
loop. `plain`: Python's own class Task instead of that in C. `eager`: tasks begin at once, inside of the task that makes
them. `sleep`: they block in sleep() instead of using the CPU, until so much time is over. At the end it prints
FUNCTION NAME for each task, in JSON. It begins with READY (tests/e2e/e2e.py), inside of a task."""
import asyncio
import json
import sys
import threading
import time

MODES = sys.argv[2:]
NAMED = sys.version_info >= (3, 8) and "plain" not in MODES
SLEEPS = "sleep" in MODES
clock = time.time if SLEEPS else time.process_time
TASK = """
async def task_%(number)d(told):
    begin_%(number)d()
    if %(eager)r:  # 3.13 gives it another name when it is suspended for the first time
        told.append(("begin_%(number)d", name()))
    await inner_%(number)d()
    burn_%(number)d()
    if not %(eager)r:
        told.append(("begin_%(number)d", name()))
    if %(renamed)r:
        told.append(("burn_%(number)d", name()))
        asyncio.current_task().set_name("new name of %(number)d")
        renamed_%(number)d()
        told.append(("renamed_%(number)d", name()))
    else:
        told.append(("burn_%(number)d", name()))

async def inner_%(number)d():
    begin_%(number)d()
    await asyncio.sleep(0)
    burn_%(number)d()

def begin_%(number)d():
    burn()

def burn_%(number)d():
    burn()

def renamed_%(number)d():
    burn()
"""
ENDS = [0]


def name():
    return asyncio.current_task().get_name() if NAMED else None


def burn():
    if SLEEPS:
        time.sleep(0.002)
        return
    for _ in range(20):
        sum(range(2000))


def make(number, told):
    names = {"asyncio": asyncio, "burn": burn, "name": name}
    exec(TASK % {"number": number, "renamed": NAMED and number % 10 == 3, "eager": "eager" in MODES}, names)
    return names["task_%d" % number](told)


def name_of(number):
    """None: it gets a number from asyncio."""
    kind = number % 5
    return [None, "plain %d" % number, u"n\u00e4me\u2603 %d" % number, "a;b%%c\n%d" % number, "long %d " % number + 400 * "x"][kind]


async def churn(first, told):
    loop, number = asyncio.get_event_loop(), first
    while clock() < ENDS[0]:
        tasks = []
        for number in range(number, number + 10, 2):
            tasks.append(loop.create_task(make(number, told)))
            if NAMED and name_of(number) and "eager" not in MODES:
                tasks[-1].set_name(name_of(number))
        number += 2
        for task in tasks:
            await task


async def main(told):
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    ENDS[0] = clock() + float(sys.argv[1])
    thread = threading.Thread(target=run, args=(churn, 1, told))
    other = threading.Thread(target=no_loop)
    thread.start()
    other.start()
    await churn(0, told)
    thread.join()
    other.join()


def no_loop():
    """For some 50 ms at least, also if the machine stood still meanwhile and all the time is over."""
    rounds = 0
    while clock() < ENDS[0] or rounds < 60 and not SLEEPS:
        burn()
        rounds += 1


def run(function, *arguments):
    if "uvloop" in MODES:
        import uvloop
        loop = uvloop.new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if "plain" in MODES:
        loop.set_task_factory(lambda loop, coroutine, **more: asyncio.tasks._PyTask(coroutine, loop=loop, **more))
    if "eager" in MODES:
        loop.set_task_factory(asyncio.eager_task_factory)
    loop.run_until_complete(function(*arguments))
    loop.close()


told = []
run(main, told)
json.dump(told, sys.stdout)
