# SPDX-License-Identifier: GPL-2.0-or-later
"""changing.py FRAMES SECONDS: so many functions that call each other, whose innermost one changes all their code objects,
over and over, for so many seconds of CPU time: to whoever looks at the stack, each code object is a new one each time."""
import ctypes
import sys
import threading
import time


def line_of(code):
    """The code object's co_firstlineno, in memory."""
    for at in range(16, code.__sizeof__(), 4):
        line = ctypes.c_int.from_address(id(code) + at)
        if line.value == code.co_firstlineno:
            line.value += 1
            found = code.co_firstlineno == line.value
            line.value -= 1
            if found:
                return line
    raise SystemExit("co_firstlineno was not found")


def functions(count):
    """call_0() calls call_1() and so on, and the last one change()."""
    text = "".join("def call_%d():\n call_%d()\n" % (i, i + 1) for i in range(count))
    names = {}
    exec(compile("\n" * 1000003 + text, "<changing>", "exec"), names)
    return names


def main():
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    names = functions(count)
    lines = [line_of(names["call_%d" % i].__code__) for i in range(count)]

    def change():
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            for line in lines:
                line.value += 1

    names["call_%d" % count] = change
    sys.setrecursionlimit(count + 1000)
    threading.stack_size(1 << 29)
    thread = threading.Thread(target=names["call_0"])
    thread.start()
    thread.join()


main()
