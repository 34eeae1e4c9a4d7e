# SPDX-License-Identifier: GPL-2.0-or-later
# Runs on the interpreter under test, 3.6 and later: compiles its standard library (without the tests), of which
# TEST_SCALE's fourth part is taken, another one by each version of Python, and all of it from 4 on; and
# writes to stdout, for each code object, its line table and the true line of every code unit. Native byte order:
#   u32 version, u32 whether PyCode_Addr2Line() was asked, then per code object  i32 firstlineno, u32 table bytes, u32 code units, table, i32 line per unit
# The truth is PyCode_Addr2Line() by ctypes, checked against co_lines() or dis.findlinestarts(); by these alone
# where there is no ctypes. A unit without a line has the line of the entry before it, as src/runtime/python/lines.h says.
import array
import dis
import os
import struct
import sys
import types
import warnings

SKIP = {'test', 'tests', 'idle_test', 'site-packages', 'dist-packages', '__pycache__', 'lib-dynload'}
# What a standard library has little of: lines far apart, going back, long units, closures, code without lines.
EXTRA = [
    'def f():\n    a = 1\n' + '\n' * 700 + '    return a\n',
    'x = [\n' + ''.join('    %d +\n' % i for i in range(400)) + '    1]\n',
    'f(1,\n' + '\n' * 300 + '  2)(3,\n  g(\n4))\n',
    'def f(a, b):\n    def g(c):\n        def h():\n            return a, b, c\n        return h\n    return g\n',
    'class C:\n    x: int = 1\n    def f(self): return super().f()\n',
    'def g():\n    try:\n        yield from x\n    finally:\n        with a as b, c as d:\n            pass\n    for i in x: \\\n  pass\n',
    'async def g():\n    async with a:\n        return [await b async for b in c]\n',
    'x = ' + ' + '.join('a%d' % i for i in range(2000)) + '\n',
    'def f():\n' + ''.join('    a%d = %d\n' % (i, i) for i in range(3000)),
    'while 1:\n    if a:\n        continue\n    try:\n        b\n    except (E,\n   F) as e:\n        break\n',
]


def addr2line():
    try:
        import ctypes
        function = ctypes.pythonapi.PyCode_Addr2Line
    except (ImportError, AttributeError):
        return None
    function.argtypes = [ctypes.py_object, ctypes.c_int]
    function.restype = ctypes.c_int
    return function


def truth_by_ranges(code, units):
    """The line of each unit or -1, and the same with -1 replaced by the line before."""
    exact = array.array('i')
    ranges = []
    if hasattr(code, 'co_lines'):
        ranges = [(end - start, line) for start, end, line in code.co_lines()]
    else:
        starts = list(dis.findlinestarts(code))
        if not starts or starts[0][0] != 0:
            starts.insert(0, (0, code.co_firstlineno))
        starts.append((2 * units, None))
        ranges = [(b[0] - a[0], a[1]) for a, b in zip(starts, starts[1:])]
    for size, line in ranges:
        exact.extend([-1 if line is None else line] * (size // 2))
    given = array.array('i')
    last = code.co_firstlineno
    for line in exact:
        last = last if line == -1 else line
        given.append(last)
    return exact, given


def dump(code, function, out):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    units = len(code.co_code) // 2
    exact, given = truth_by_ranges(code, units)
    if len(exact) != units:
        sys.exit('%s: %d units, %d lines' % (code, units, len(exact)))
    if function is not None:
        for unit in range(units):
            if function(code, 2 * unit) != exact[unit]:
                sys.exit('%s: unit %d: sources disagree' % (code, unit))
    out.write(struct.pack('=iII', code.co_firstlineno, len(table), units) + table + given.tobytes())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            dump(constant, function, out)


def sources():
    for text in EXTRA:
        yield text, '<extra>'
    every, number = max(1, int(4 / float(os.environ.get('TEST_SCALE', '1')))), sys.version_info[1]
    for directory, subdirectories, files in os.walk(os.path.dirname(os.__file__)):
        subdirectories[:] = [name for name in subdirectories if name not in SKIP]
        subdirectories.sort()
        for name in sorted(files):
            number += name.endswith('.py')
            if name.endswith('.py') and number % every == 0:
                path = os.path.join(directory, name)
                with open(path, 'rb') as file:
                    yield file.read(), path


def main():
    warnings.simplefilter('ignore')
    sys.setrecursionlimit(20000)
    function = addr2line()
    out = sys.stdout.buffer
    out.write(struct.pack('=II', sys.version_info[0] << 8 | sys.version_info[1], function is not None))
    for text, path in sources():
        try:
            code = compile(text, path, 'exec', dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        dump(code, function, out)


main()
