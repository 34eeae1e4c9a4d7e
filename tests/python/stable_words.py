# SPDX-License-Identifier: GPL-2.0-or-later
# stable_words.py MASK: on the interpreter under test, uses code objects in all the ways that write to them and prints which
# words (their numbers) changed and are in MASK, and how many others changed.
import ctypes
import gc
import sys
import threading
import types
import weakref

mask = int(sys.argv[1])
source = '''
def plain(a, b=1, *c, d=2, **e):
    x = [i * a for i in range(3)]
    return sum(x) + b
def closure(n):
    def inner(k):
        return n + k
    return inner(1) + inner(2)
def generator(n):
    for i in range(n):
        yield i
async def coroutine():
    return 1
class C(object):
    """doc"""
    def method(self):
        return self.__class__.__name__
'''


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for inner in codes(constant):
                yield inner


def words(code):
    return list((ctypes.c_uint64 * 32).from_buffer_copy(ctypes.string_at(id(code), 256)))


def use(names):
    for _ in range(3000):
        names['plain'](1)
        names['closure'](2)
        list(names['generator'](3))
        names['C']().method()
    coroutine = names['coroutine']()
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def main():
    module = compile(source, 'stable', 'exec')
    every = list(codes(module))
    before = [words(code) for code in every]
    names = {}
    exec(module, names)
    use(names)
    kept = [weakref.ref(code) for code in every]
    kept += [(code.co_code, code.co_varnames, code.co_freevars, code.co_cellvars, hash(code)) for code in every]
    for hook in (sys.settrace, sys.setprofile):
        hook(lambda frame, event, argument: None)
        use(names)
        hook(None)
    if hasattr(sys, 'monitoring'):
        sys.monitoring.use_tool_id(3, 'test')
        sys.monitoring.set_events(3, sys.monitoring.events.LINE | sys.monitoring.events.INSTRUCTION)
        sys.monitoring.register_callback(3, sys.monitoring.events.LINE, lambda *_: None)
        use(names)
        sys.monitoring.set_events(3, 0)
    threads = [threading.Thread(target=use, args=(names,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    changed = set()
    others = set()
    for code, old in zip(every, before):
        limit = min(32, sys.getsizeof(code) // 8)
        for number, (a, b) in enumerate(zip(old, words(code))):
            if a != b and number < limit:
                (changed if mask >> number & 1 else others).add(number)
    print('changed', sorted(changed), 'others', len(others))


main()
