# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of tasks for tests/stack/tasks.t, which knows what each line `# NAME` is for.

    python -c SOURCE [block] [plain] [churn] [uvloop]

It prints "ready" when all tasks wait; with `block` one of them blocks the loop then. `plain`: Python's own classes
instead of those in C. `churn`: tasks that come and go for ever. `uvloop`: an event loop of that package."""
import asyncio
import os
import socket
import sys
import time
import types

NAMED = sys.version_info >= (3, 8)
GROUPS = sys.version_info >= (3, 11)
COUNT = int(os.environ.get("TASKS", "200"))


async def child(number):
    await deeper(number)  # child


async def deeper(number):
    await forever()  # deeper


@types.coroutine
def forever():
    yield from asyncio.get_event_loop().create_future()  # forever


class Awaitable:
    def __await__(self):
        return deeper(0).__await__()


async def own_await():
    await Awaitable()  # own_await


async def numbers():
    await asyncio.sleep(3600)  # numbers
    yield 1


async def generator_user():
    async for _ in numbers():  # generator_user
        pass


async def gatherer():
    await asyncio.gather(*[spawn(child(i), "child-%d" % i) for i in range(COUNT)])  # gatherer


async def nested():
    await asyncio.gather(asyncio.gather(spawn(inner_a(), "inner_a"), spawn(inner_b(), "inner_b")), inner_c())  # nested


async def inner_a():
    await forever()  # inner_a


async def inner_b():
    await forever()  # inner_b


async def inner_c():
    await forever()  # inner_c


async def sleeper():
    await asyncio.sleep(3600)  # sleeper


async def awaits_task(task):
    await task  # awaits_task


async def shielder(task):
    await asyncio.shield(task)  # shielder


async def waiter(tasks):
    await asyncio.wait(tasks)  # waiter


async def wait_for(task):
    await asyncio.wait_for(task, 3600)  # wait_for


async def locked(lock):
    async with lock:  # locked
        pass


async def evented(event):
    await event.wait()  # evented


async def queued(queue):
    await queue.get()  # queued


async def received(sock):
    await asyncio.get_event_loop().sock_recv(sock, 1)  # received


async def streamed(reader):
    await reader.read(1)  # streamed


async def grouper():
    async with asyncio.TaskGroup() as group:  # grouper
        group.create_task(member(), name="member")


async def member():
    await forever()  # member


def block():
    print("ready", flush=True)
    while True:
        time.sleep(3600)  # block


async def blocker():
    block()  # blocker


async def leaf():
    await leaf_inner()  # leaf


async def leaf_inner():
    await asyncio.sleep(0.001)  # leaf_inner


async def worker(number):
    while True:
        await asyncio.gather(*[spawn(leaf(), "leaf-%d" % number) for _ in range(5)])  # worker


def spawn(coroutine, name):
    if NAMED:
        return asyncio.get_event_loop().create_task(coroutine, name=name)
    return asyncio.get_event_loop().create_task(coroutine)


async def main():
    loop = asyncio.get_event_loop()
    if "churn" in sys.argv:
        print("ready", flush=True)
        await asyncio.gather(*[spawn(worker(i), "worker-%d" % i) for i in range(8)])  # main
    lock = asyncio.Lock()
    await lock.acquire()
    pairs = [socket.socketpair(), socket.socketpair()]
    for pair in pairs:
        pair[0].setblocking(False)
    reader, writer = await asyncio.open_connection(sock=pairs[0][0])
    coroutines = {"sleeper": sleeper(), "locked": locked(lock), "evented": evented(asyncio.Event()),
                  "queued": queued(asyncio.Queue()), "received": received(pairs[1][0]), "streamed": streamed(reader),
                  "own_await": own_await(), "generator_user": generator_user(), "gatherer": gatherer(),
                  "nested": nested()}
    if GROUPS:
        coroutines["grouper"] = grouper()
    keep = [writer] + [spawn(coroutine, name) for name, coroutine in coroutines.items()]
    for function in awaits_task, shielder, wait_for:
        target = spawn(sleeper(), "of-" + function.__name__)
        keep += [target, spawn(function(target), function.__name__)]
    targets = [spawn(sleeper(), "of-waiter") for _ in range(3)]
    keep += targets + [spawn(waiter(set(targets)), "waiter")]
    for _ in range(50):
        await asyncio.sleep(0)
    if "block" in sys.argv:
        await spawn(blocker(), "blocker")
    loop.call_soon(lambda: print("ready", flush=True))
    await loop.create_future()  # main


if "plain" in sys.argv:
    asyncio.Task = asyncio.tasks.Task = asyncio.tasks._PyTask
    asyncio.Future = asyncio.futures.Future = asyncio.futures._PyFuture
    for function in ("_register_task", "_unregister_task", "_enter_task", "_leave_task", "_swap_current_task",
                     "current_task"):
        if hasattr(asyncio.tasks, "_py_" + function.lstrip("_")):
            setattr(asyncio.tasks, function, getattr(asyncio.tasks, "_py_" + function.lstrip("_")))
if "uvloop" in sys.argv:
    import uvloop
    event_loop = uvloop.new_event_loop()
else:
    event_loop = asyncio.new_event_loop()
asyncio.set_event_loop(event_loop)
event_loop.run_until_complete(main())
