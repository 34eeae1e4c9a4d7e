# SPDX-License-Identifier: GPL-2.0-or-later
"""Coroutines: driven by hand, asynchronous generators and context managers, and a small asyncio loop."""
import asyncio
import types


def spin(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


@types.coroutine
def pause(value):
    got = yield value
    spin(20)
    return got


async def leaf(n):
    spin(n)
    await pause(n)
    spin(n)


async def branch(n):
    await leaf(n)
    # gap: 300
    await leaf(
        n
    )


async def trunk(n):
    for _ in range(3):
        await branch(n)


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
            spin(10)
    except StopIteration:
        spin(10)


def await_chain(n):
    for _ in range(n // 2):
        coroutine = trunk(20)  # not below: a stack without drive() would be true, too
        drive(coroutine)


class Awaitable(object):
    def __await__(self):
        spin(40)
        yield 1
        spin(40)


async def awaits_objects():
    await Awaitable()
    spin(20)


def await_objects(n):
    for _ in range(n):
        coroutine = awaits_objects()  # not below: a stack without drive() would be true, too
        drive(coroutine)


async def ticker(n):
    for i in range(n):
        spin(20)
        await pause(i)
        yield i


class Gate(object):
    async def __aenter__(self):
        spin(30)
        await pause(1)

    async def __aexit__(self, *error):
        await pause(2)
        spin(30)
        return True


async def consumer():
    async for value in ticker(4):
        spin(20)
    async with Gate():
        spin(30)
    async with Gate():
        raise KeyError(1)
    values = ticker(3)
    listed = [spin(value) async for value in values]
    return len(listed)


def async_generators(n):
    for _ in range(n // 2):
        coroutine = consumer()  # not below: a stack without drive() would be true, too
        drive(coroutine)


def closed_coroutine(n):
    for _ in range(n):
        coroutine = trunk(20)
        coroutine.send(None)
        coroutine.close()


async def task(n):
    for _ in range(3):
        spin(n)
        await asyncio.sleep(0)


async def gathers(n):
    await asyncio.gather(*[task(n) for _ in range(4)])
    spin(50)


LOOP = asyncio.new_event_loop()
LOOP.run_until_complete(gathers(1))


def asyncio_loop(n):
    for _ in range(n // 8 + 1):
        LOOP.run_until_complete(gathers(200))


SCENARIOS = [
    ("await_chain", await_chain),
    ("await_objects", await_objects),
    ("async_generators", async_generators),
    ("closed_coroutine", closed_coroutine),
    ("asyncio_loop", asyncio_loop),
]
