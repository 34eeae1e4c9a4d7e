# SPDX-License-Identifier: GPL-2.0-or-later
"""A program for tests/calls/calls.t. program.py MODE [FILE]:

profile FILE  runs main() under cProfile, and writes [name, first line, calls] of the functions of this file to FILE as JSON
times         spends CPU time in spin() and sleeps in rest(); prints the CPU seconds of spin()
deep N FILE   calls itself, prints READY, calls tick() until there is FILE, and returns
threads       fib(12) in two threads
family        fib(12) in two processes and two threads, then executes another Python, which ends with 3
executes      a thread that is not the leader executes this program anew, as after
hidden        big() calls plain() and returns while the head of its code object is not in memory
silent        functions without RESUME, each at the address of one with it
full          calls late() for the first time while nobody takes what is told, and later
switch        two greenlets, if there is the module; else prints NONE
"""
import json
import os
import signal
import sys
import time


def plain():
    return 1


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def generator(n):
    for i in range(n):
        yield plain() + i


class Awaited:
    def __await__(self):
        yield 1


async def coroutine():
    await Awaited()
    return plain()


def raises(n):
    if not n:
        raise ValueError
    raises(n - 1)


class Thing:
    def __init__(self):
        self.value = plain()


def main():
    fib(10)
    for _ in generator(3):
        Thing()
    started = coroutine()
    try:
        while True:
            started.send(None)
    except StopIteration:
        pass
    stopped = generator(3)
    next(stopped)
    try:
        stopped.throw(ValueError())
    except ValueError:
        pass
    try:
        raises(5)
    except ValueError:
        pass
    list(map(lambda x: x + plain(), range(5)))


def spin():
    began = time.process_time()
    while time.process_time() < began + 0.3:
        pass
    return time.process_time() - began


def rest():
    time.sleep(0.2)


def times():
    print(spin())
    rest()


def tick():
    time.sleep(0.01)


def deep(n, path):
    if n:
        deep(n - 1, path)
        return plain()
    print("READY", flush=True)
    while not os.path.exists(path):
        tick()
    return 0


def busy(path):
    """Calls, then many others, and five more."""
    while not os.path.exists(path):
        plain()
        time.sleep(0.01)
    fib(25)
    for _ in range(5):
        plain()


def one(other):
    plain()
    other.switch()
    plain()


def two(other):
    fib(2)
    other.switch()


def switch():
    try:
        from greenlet import greenlet
    except ImportError:
        print("NONE")
        return
    first = greenlet(lambda: one(second))
    second = greenlet(lambda: two(first))
    first.switch()


def threads():
    import threading
    started = [threading.Thread(target=fib, args=(12,)) for _ in range(2)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def family():
    for _ in range(2):
        child = os.fork()
        if not child:
            fib(12)
            os._exit(0)
        os.waitpid(child, 0)
    threads()
    os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit(3)"])


def after():
    plain()


def jump():
    os.execv(sys.executable, [sys.executable, __file__, "after"])


def executes():
    import threading
    threading.Thread(target=jump).start()
    time.sleep(600)


def hidden():
    import ctypes
    libc, page = ctypes.CDLL(None), 4096
    if hasattr(libc, "mallopt"):  # M_MMAP_THRESHOLD: what is larger has pages of its own, as in musl
        libc.mallopt(-3, 65536)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    text = "def big(drop, head, size, how, plain):\n%s drop(head, size, how)\n plain()\n drop(head, size, how)\n return how\n"
    names = {}
    exec(compile(text % (40000 * " size = size\n"), __file__, "exec"), names)
    big = names["big"]
    head = id(big.__code__) & -page
    # PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS; MREMAP_MAYMOVE | MREMAP_FIXED; MADV_DONTNEED
    shared = libc.mmap(None, page, 3, 0x21, -1, 0)
    ctypes.memmove(shared, head, page)
    if libc.mremap(shared, page, page, 3, head) != head:
        sys.exit("mremap failed")
    big(libc.madvise, head, page, 4, plain)


def silent():
    """Functions that end and are not seen to begin, as they have no RESUME, each at the address of one that was seen to."""
    import opcode
    import types
    code = plain.__code__
    text = bytearray(code.co_code)
    at = next(i for i in range(0, len(text), 2) if opcode.opname[text[i]] == "RESUME")
    text[at:at + 2] = opcode.opmap["NOP"], 0
    for i in range(50):
        for name, content in ("told_%d" % i, code.co_code), ("silent_%d" % i, bytes(text)):
            function = types.FunctionType(code.replace(co_name=name, co_qualname=name, co_code=content), {})
            function()
            function()
            del function


def late(): pass


def full():
    """A function that is called first while there is no room for what is told."""
    os.kill(os.getppid(), signal.SIGSTOP)
    for _ in range(400000):
        plain()
    late()
    os.kill(os.getppid(), signal.SIGCONT)
    for _ in range(30):
        time.sleep(0.1)
        late()


def profile(path):
    import cProfile
    import pstats
    profiler = cProfile.Profile()
    profiler.runcall(main)
    stats = pstats.Stats(profiler).stats
    with open(path, "w") as file:
        json.dump([[name, line, counts[1]] for (where, line, name), counts in stats.items() if where == __file__], file)


if __name__ == "__main__":
    globals()[sys.argv[1]](*(int(word) if word.isdigit() else word for word in sys.argv[2:]))
