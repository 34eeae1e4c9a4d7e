# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that writes down which of its functions begin and end, by sys.monitoring or sys.setprofile, or with
`exceptions` which of them exceptions come to, by sys.monitoring or sys.settrace, with `lines` which lines they execute, by
sys.monitoring or sys.settrace: the truth for tests/python/probes.t, events.t and line_events.t. probe_truth.py OUTPUT TURNS
[exceptions | lines | alone | unwatched]; `alone` is `lines` in one thread, and `unwatched` does the same without writing it
down. In OUTPUT a line for each event: thread, kind, function, line (0: the interpreter gives none)."""
import contextlib
import dis
import functools
import gc
import itertools
import sys
import threading

TURNS = int(sys.argv[2])
EXCEPTIONS = sys.argv[3:] == ["exceptions"]
LINES = sys.argv[3:] in (["lines"], ["alone"], ["unwatched"])
logs = {}
local = threading.local()
KINDS = {}


def _thread_id():
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    import ctypes
    return ctypes.CDLL(None).syscall(186)


# --- what is traced: every function of this file whose name does not begin with an underscore ---

def plain(x):
    return x + 1


def recursive(n):
    return 0 if n == 0 else 1 + recursive(n - 1)


def raises(n):
    if n == 0:
        raise ValueError("deep")
    raises(n - 1)


def catches():
    try:
        raises(3)
    except ValueError:
        return plain(1)


def with_finally():
    try:
        return plain(2)
    finally:
        plain(3)


def generator(n):
    for i in range(n):
        try:
            got = yield i
            if got:
                plain(got)
        except KeyError:
            plain(0)
    return n


def delegating(n):
    result = yield from generator(n)
    yield result


def stubborn():
    try:
        yield 1
    finally:
        plain(9)


def generators():
    for _ in delegating(3):
        pass
    one = generator(3)
    next(one)
    one.send(5)
    one.throw(KeyError("k"))
    one.close()
    two = generator(2)
    two.close()
    three = generator(2)
    try:
        three.throw(ValueError("before the start"))
    except ValueError:
        pass
    four = stubborn()
    next(four)
    four.close()
    five = stubborn()
    next(five)
    try:
        five.throw(IndexError("inside"))
    except IndexError:
        pass
    if sys.version_info >= (3, 11):  # before, sys.setprofile is not told what a generator does when it is freed
        six = stubborn()
        next(six)
        del six
    gc.collect(0)
    return sum(x for x in range(4)) + len(list(map(plain, [1, 2, 3])))


@contextlib.contextmanager
def managed():
    plain(1)
    yield 1
    plain(2)


def contexts():
    with managed():
        plain(4)
    try:
        with managed():
            raises(1)
    except ValueError:
        pass


class Thing:
    def __init__(self, value):
        self.value = value

    def __del__(self):
        plain(self.value)

    def __lt__(self, other):
        return self.value < other.value

    @property
    def half(self):
        return self.value // 2

    def __getattr__(self, name):
        raise AttributeError(name)


def objects():
    things = [Thing(i) for i in (3, 1, 2)]
    things.sort()
    things[0].half
    hasattr(things[0], "nothing")
    ring = Thing(7)
    ring.ring = ring
    del ring
    return functools.reduce(lambda a, b: a + b.half, things, 0)


class Suspend:
    def __await__(self):
        return (yield 1)


async def inner(n):
    await Suspend()
    if n == 2:
        raise LookupError(n)
    return n


async def outer():
    total = 0
    for n in range(3):
        try:
            total += await inner(n)
        except LookupError:
            total += 100
    async for x in agen():
        total += x
    return total


async def agen():
    for x in range(2):
        await Suspend()
        yield x


def coroutines():
    task = outer()
    try:
        while True:
            task.send(None)
    except StopIteration:
        pass
    task = outer()
    task.send(None)
    task.close()


def limit(n):
    return limit(n + 1)


def limits():
    try:
        limit(0)
    except RecursionError:
        plain(0)


def keywords(a, *b, c=1, **d):
    return plain(c), list(itertools.starmap(lambda x, y: x, [(1, 2)])), sorted([2, 1], key=lambda x: -x)


# --- more lines ---

class Counting:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        self.n -= 1
        if self.n < 0: raise StopIteration
        return self.n


def loops(n):
    for i in range(n): pass
    while n: n -= 1
    for i in range(3):
        if i == 1: continue
        for j in Counting(2):
            if j == 0:
                break
            plain(j)
        else:
            plain(i)
    else:
        n = 5
    while True:
        n -= 1
        if n < 0:
            break
    return [i for i in Counting(3)], [
        plain(i)
        for i in range(3)
        if i
    ], list(map(plain,
                Counting(2)))


def expressions(a, b):
    total = plain(
        a
    ) + plain(
        b
    ); more = 1
    total = plain(1) if a else plain(2)
    total = (
        plain(1)
        if b
        else plain(2)
    )
    if (a and
            b or
            plain(0)):
        more = a < plain(b) < 5 and \
            not b
    x = {
        "a": plain(1),
        "b": [plain(2),
              plain(3)],
    }
    assert total, \
        plain(4)
    return (lambda: plain(x["a"]))(), (
        lambda y:
        y + 1)(more)


def handlers(n):
    try:
        try:
            if n == 0:
                raise ValueError
            elif n == 1: raise KeyError
            plain(n)
        except ValueError as e:
            plain(1)
            raise IndexError from e
        else:
            plain(2)
        finally:
            plain(
                3)
    except (IndexError,
            KeyError):
        plain(4)
    for i in range(2):
        try:
            if i: return plain(i)
        finally:
            plain(n)
    with managed(), \
            managed() as x:
        plain(x)
    return 0


class Items:
    def __getitem__(self, n): return plain(n)


def returns(n):
    # To what follows a call, a jump or an exception goes, too, on the same line.
    x = (plain(-1) or plain(n)) + 1
    x = (plain(*[-1]) or plain(*[n])) + 1
    x = (n and Thing(n).half or Items()[n]) + 1
    x = [plain(i) if i else plain(n) for i in range(3)]
    for i in generator(2): plain(i) if n else plain(i + 1)
    try:
        with managed(): raises(n)
    except ValueError: plain(x[0])
    try: raises(0)
    except ValueError: raises(1) if n > 9 else plain(1)
    with managed(): return plain(n) if n else plain(2)


def closures(n):
    def inner_one(x): return x + n

    def inner_two():
        nonlocal n
        n += 1
        yield n
        yield inner_one(n)

    class Local(Thing):
        here = n

        def get(self):
            return super().half
    return sum(inner_two()), Local(n).get()


async def many():
    async for i in agen():
        if i: continue
        plain(i)
    return [x async for x in agen()], [
        await inner(x)
        for x in range(2)
    ]


def line_by_line():
    loops(2)
    for n in range(3):
        expressions(n % 2, n)
        handlers(n)
        returns(n)
        closures(n)
    long_jumps(2)
    task = many()
    try:
        while True:
            task.send(None)
    except StopIteration:
        pass
    if sys.version_info >= (3, 10):
        for subject in 1, (1, 2), {"a": 1}, "none":
            matches(subject)


MATCHES = """
def matches(x):
    match x:
        case 1 if plain(0):
            return plain(1)
        case (a, b):
            while (b := b - 1) > 0: plain(b)
        case {"a": c}: plain(c)
        case _:
            if (c := plain(1)): pass
    return 1
"""
LONG_JUMPS = """
def long_jumps(n):
    for i in range(n):
        if i:
            %s
        else:
            plain(0)
""" % "; ".join("x%d = i" % (i % 300) for i in range(400))


def main():
    for turn in range(TURNS):
        if LINES:
            line_by_line()
        plain(turn)
        recursive(10)
        catches()
        with_finally()
        generators()
        contexts()
        objects()
        coroutines()
        keywords(1, 2, c=3, e=4)
        exec("def made(x):\n    return plain(x)\nmade(1)", globals())
        if turn % 50 == 0:
            gc.collect()
            if hasattr(sys, "monitoring"):  # a profile function at the limit of recursion is switched off
                limits()


# --- what writes it down ---

def _name(code):
    return getattr(code, "co_qualname", code.co_name)


def _profile(frame, event, arg):
    code = frame.f_code
    if code.co_filename == __file__ and not code.co_name.startswith("_run") and (event == "call" or event == "return"):
        local.log.append((event, _name(code), frame.f_lineno or 0))


def _monitor(kind):
    def _told(code, *rest):
        log = getattr(local, "log", None)
        if code.co_filename == __file__ and log is not None and (code.co_name[:1] != "_" or code.co_name[:2] == "__"):
            log.append((kind, _name(code), sys._getframe(1).f_lineno or 0))
    return _told


def _is_end(code, offset, exception):
    """The end of an iteration, that an instruction takes note of by itself: no exception comes to the function."""
    return exception is StopIteration and dis.opname[code.co_code[offset]] in ("FOR_ITER", "SEND", "YIELD_FROM")


def _raised(frame, code, offset, exception):
    log = getattr(local, "log", None)
    if code.co_filename == __file__ and log is not None and (code.co_name[:1] != "_" or code.co_name[:2] == "__") and \
            not _is_end(code, offset, exception):
        log.append(("exception", _name(code), frame.f_lineno or 0))


def _trace(frame, event, arg):
    if event == "exception":
        _raised(frame, frame.f_code, frame.f_lasti, arg[0])
    return _trace


def _line_trace(frame, event, arg):
    code = frame.f_code
    if code.co_filename != __file__:
        return None
    if event == "line" and (code.co_name[:1] != "_" or code.co_name[:2] == "__"):
        local.log.append(("line", _name(code), frame.f_lineno))
    return _line_trace


def _nothing(*words):
    pass


def _begin():
    monitoring = getattr(sys, "monitoring", None)
    if not monitoring:
        return
    monitoring.use_tool_id(3, "truth")
    events = monitoring.events
    if EXCEPTIONS:
        def _told(code, offset, exception):
            _raised(sys._getframe(1), code, offset, type(exception))
        monitoring.register_callback(3, events.RAISE, _told)
        monitoring.set_events(3, events.RAISE)
        return
    if LINES:
        def _line(code, line):
            log = getattr(local, "log", None)
            if code.co_filename == __file__ and log is not None and (code.co_name[:1] != "_" or code.co_name[:2] == "__"):
                log.append(("line", _name(code), line))
        if sys.argv[3] == "unwatched":
            return
        monitoring.register_callback(3, events.LINE, _line)
        # Else a RESUME hides the line that is its own, from the second time on.
        for event in events.PY_START, events.PY_RESUME:
            monitoring.register_callback(3, event, _nothing)
        monitoring.set_events(3, events.LINE | events.PY_START | events.PY_RESUME)
        return
    chosen = 0
    for kind, event in (("start", "PY_START"), ("resume", "PY_RESUME"), ("throw", "PY_THROW"),
                        ("return", "PY_RETURN"), ("yield", "PY_YIELD"), ("unwind", "PY_UNWIND")):
        monitoring.register_callback(3, getattr(events, event), _monitor(kind))
        chosen |= getattr(events, event)
    monitoring.set_events(3, chosen)


def _run():
    local.log = logs.setdefault(_thread_id(), [])
    if not hasattr(sys, "monitoring") and sys.argv[3:] != ["unwatched"]:
        sys.settrace(_line_trace if LINES else _trace) if EXCEPTIONS or LINES else sys.setprofile(_profile)
    main()
    sys.settrace(None)
    sys.setprofile(None)
    local.log = None


if __name__ == "__main__":
    __file__ = main.__code__.co_filename
    if LINES:
        for _text in ([MATCHES] if sys.version_info >= (3, 10) else []) + [LONG_JUMPS]:
            exec(compile(_text, __file__, "exec"), globals())
    sys.setrecursionlimit(200)
    gc.disable()  # in a callback it would run what no callback is told of
    _begin()
    threads = [threading.Thread(target=_run) for _ in range(1 if sys.argv[3:] in (["alone"], ["unwatched"]) else 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if hasattr(sys, "monitoring"):
        sys.monitoring.set_events(3, 0)
    with open(sys.argv[1], "w", encoding="utf-8") as _file:
        for thread, log in logs.items():
            for event in log:
                _file.write("%d %s %s %d\n" % ((thread,) + event))
