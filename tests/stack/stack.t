#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata stack: programs whose threads wait in known functions, for known reasons; and what cannot be shown."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
sys.dont_write_bytecode = True
import e2e  # noqa: E402

PROGRAM = """import os, select, socket, sys, threading, time

def in_sleep():
    time.sleep(1e6)

def in_read():
    os.read(os.pipe()[0], 1)

def in_lock():
    lock.acquire()

def in_accept():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    server.accept()

def deep(n):
    if n:
        deep(n - 1)
    else:
        time.sleep(1e6)

def in_deep():
    deep(900)

def in_sort():
    sorted([1], key=lambda unused: time.sleep(1e6))

def named(f):
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write(f.__name__)
    f()

sys.setrecursionlimit(5000)
lock = threading.Lock()
lock.acquire()
for f in (in_sleep, in_read, in_lock, in_accept, in_deep, in_sort):
    threading.Thread(target=named, args=(f,), daemon=True).start()
with open("/proc/self/comm", "w") as comm:
    comm.write("main")
print("ready"); sys.stdout.flush()
sys.stdin.readline()
"""
LEADERLESS = """import ctypes, sys, threading, time
def left_behind():
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write("left_behind")
    time.sleep(1e6)
threading.Thread(target=left_behind, daemon=True).start()
print("ready"); sys.stdout.flush()
ctypes.CDLL(None).syscall(60, 0)
"""
SPINNER = """import sys, threading
def spin():
    while True:
        pass
for i in range(3):
    threading.Thread(target=spin, daemon=True).start()
print("ready"); sys.stdout.flush()
sys.stdin.readline()
"""


def stack(*arguments, **options):
    return subprocess.run([e2e.STRATA, "stack"] + list(map(str, arguments)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S, **options)


def read(pid):
    """The process as --json shows it."""
    done = stack("--json", pid)
    return json.loads(done.stdout.decode()) if done.returncode == 0 else {"threads": [], "error": done.stderr}


class Program(object):
    """A program that says when it is ready, and ends when this does."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


def python_frames(thread):
    return [(f["name"].rpartition(".")[2], f["line"]) for f in thread["frames"] if f["kind"] == "python"]


def settled(pid, names):
    """The process once its threads are where they stay: each must have come to sleep in its function."""
    found = {}

    def there():
        found["process"] = read(pid)
        by_name = {t["name"]: t for t in found["process"]["threads"]}
        return all(n in by_name and by_name[n]["waiting"] and any(f["name"].endswith(n) for f in by_name[n]["frames"])
                   for n in names)

    e2e.until(there)
    return found["process"]


def check_leaderless(tap, python):
    """The main thread has ended, and with it what /proc/PID says of memory."""
    with Program(python, "-c", LEADERLESS) as program:
        process = settled(program.pid, ("left_behind",))
        thread = next(t for t in process["threads"] if t["name"] == "left_behind")
        tap.ok(("left_behind", line_of("    time.sleep", LEADERLESS)) in python_frames(thread) and
               e2e.THREAD_START.match(thread["frames"][-1]["name"]), "a thread without its main thread", thread)


def line_of(text, script=PROGRAM):
    return next(i for i, line in enumerate(script.split("\n"), 1) if text in line)


def check_spelling(tap, process, words):
    tap.ok({"pid", "comm", "threads", "tasks"} <= set(process), words + "the object's keys", process.keys())
    keys, kinds = {"tid", "name", "state", "waiting", "gil", "consistent", "frames"}, set()
    wrong = [t for t in process["threads"] if set(t) != keys or not isinstance(t["gil"], bool) or
             (t["waiting"] is not None and set(t["waiting"]) != {"kind", "detail"})]
    tap.ok(process["threads"] and not wrong, words + "the threads' keys", wrong[:1])
    wrong = []
    for frame in (f for t in process["threads"] for f in t["frames"]):
        kinds.add(frame["kind"])
        if set(frame) != {"kind", "name", "file" if frame["kind"] == "python" else "module", "line"}:
            wrong.append(frame)
    tap.ok(not wrong and kinds <= {"kernel", "native", "python"}, words + "the frames' keys", wrong[:1], kinds)


def check_python(tap, python):
    version, words = e2e.version_of(python), python + ": "
    names = ("in_sleep", "in_read", "in_lock", "in_accept", "in_deep", "in_sort")
    with Program(python, "-c", PROGRAM) as program:
        process = settled(program.pid, names)
        by_name = {t["name"]: t for t in process["threads"]}
        tap.ok(len(process["threads"]) == 7 and set(names) < set(by_name), words + "all threads", by_name.keys())
        if not set(names) < set(by_name):
            return
        tap.equal((process.get("python"), process["comm"]), (version, "main"), words + "the interpreter, the comm")
        check_spelling(tap, process, words)
        tap.ok(all(t["consistent"] and t["state"] == "sleeping" and not t["gil"] for t in process["threads"]),
               words + "all sleep, nobody holds the GIL", [(t["name"], t["state"]) for t in process["threads"]])
        for name, line, kind, detail in (
                ("in_sleep", "    time.sleep(1e6)", "sleep", r"^(clock_nanosleep|p?select6?)\("),
                ("in_read", "    os.read", "syscall", r"^read\(fd \d+ pipe:\[\d+\]\)$"),
                ("in_lock", "    lock.acquire", "lock", r"^futex\(0x[0-9a-f]+\): a lock of Python's$"),
                ("in_accept", "    server.accept", "syscall", r"^accept4?\(fd \d+ socket:\[\d+\] 127\.0\.0\.1:\d+\)$")):
            thread = by_name[name]
            if name == "in_sleep" and thread["waiting"]["detail"].find("select") >= 0:
                kind = "poll"  # before 3.11
            tap.ok(thread["waiting"]["kind"] == kind and re.match(detail, thread["waiting"]["detail"]),
                   words + "%s waits for what it does" % name, thread["waiting"])
            tap.ok((name, line_of(line)) in python_frames(thread), words + "%s: its line" % name, python_frames(thread)[:3])
        frames = python_frames(by_name["in_deep"])
        tap.equal([f for f in frames if f[0] == "deep"],
                  [("deep", line_of("        time.sleep"))] + [("deep", line_of("        deep(n"))] * 900,
                  words + "901 calls deep, each with its line")
        frames = [f["name"] for f in by_name["in_sort"]["frames"]]
        where = [i for i, f in enumerate(by_name["in_sort"]["frames"]) if f["kind"] == "python"]
        between = frames[where[0] + 1:where[1]]
        # The system's interpreter has no names for them.
        tap.ok(len(between) > 2 and any(re.search("sort|^0x", n) for n in between), words + "native frames between Python's",
               frames[:20])
        for thread in process["threads"]:
            if not e2e.THREAD_START.match(thread["frames"][-1]["name"]):
                tap.ok(False, words + "%s reaches its outermost frame" % thread["name"], thread["frames"][-1])
        text = stack(program.pid).stdout.decode()
        tap.ok(re.search(r"^process %d main: 7 threads, Python %s$" % (program.pid, version), text, re.M) and
               re.search(r"^thread \d+ in_read: sleeping in read\(fd \d+ pipe:\[\d+\]\)$", text, re.M) and
               "    in_read (<string>:%d)\n" % line_of("    os.read") in text, words + "as text", text[:300])


def check_path(tap, where):
    """A call that waits for the file it names: by its path, wherever that ends in memory; and text of somebody else's."""
    fifo = where + "/one\nthat" + "x" * 200
    os.mkfifo(fifo)
    script = "import ctypes, mmap, sys\n" \
             "print('ready'); sys.stdout.flush()\n" \
             "name = sys.argv[1].encode() + b'\\0'\n" \
             "room = mmap.mmap(-1, 3 * mmap.PAGESIZE)\n" \
             "at = ctypes.addressof(ctypes.c_char.from_buffer(room))\n" \
             "ctypes.CDLL(None).mprotect(ctypes.c_void_p(at + 2 * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0)\n" \
             "at += 2 * mmap.PAGESIZE - len(name)\n" \
             "ctypes.memmove(at, name, len(name))\n" \
             "ctypes.CDLL(None).open(ctypes.c_void_p(at), 0)\n"
    with Program(e2e.PYTHON, "-c", script, fifo) as target:
        found = []

        def opens():
            found[:] = [t["waiting"]["detail"] for t in read(target.pid)["threads"] if t["waiting"]]
            return found and found[0].startswith("open")

        e2e.until(opens)
        tap.equal(found, ["openat(%s)" % fifo], "a file that is being opened")
        lines = [line for line in stack(target.pid).stdout.decode().split("\n") if line.startswith("thread ")]
        tap.ok(len(lines) == 1 and re.search(r" in openat\(\S+/one\S+thatx{200}\)$", lines[0]), "  in one line of text", lines)


def check_frozen(tap):
    """A cgroup that is frozen: that is what each of its threads waits for, wherever it was; no page, and no GIL."""
    mounts = [line.split() for line in open("/proc/mounts", encoding="utf-8")]
    mount = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    if not mount:
        tap.skip("a frozen cgroup", "no cgroups of version 2")
        return
    folder = "%s/strata-frozen-%d" % (mount, os.getpid())
    os.mkdir(folder)

    def write(name, text):
        with open("%s/%s" % (folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    try:
        with Program(e2e.PYTHON, "-c", SPINNER) as target:
            write("cgroup.procs", str(target.pid))
            write("cgroup.freeze", "1")
            e2e.until(lambda: "frozen 1" in open(folder + "/cgroup.events", encoding="utf-8").read())
            threads = read(target.pid)["threads"]
            tap.ok(len(threads) == 4 and all(t["waiting"] == {"kind": "frozen", "detail": "a frozen cgroup"} and t["consistent"]
                                             for t in threads), "a frozen cgroup", [(t["state"], t["waiting"]) for t in threads])
            tap.equal(sum(n == "spin" for t in threads for n, _ in python_frames(t)), 3, "  with its threads' stacks")
            write("cgroup.freeze", "0")
    finally:
        e2e.until(lambda: not open(folder + "/cgroup.procs", encoding="utf-8").read())
        os.rmdir(folder)


def check_running(tap):
    """Threads that hold the GIL by turns: whoever has it, and whoever waits for it, is on the line that it is on."""
    with Program(e2e.PYTHON, "-c", SPINNER) as program:
        wrong, holders, waiting, named, spun = [], set(), 0, 0, 0
        for unused in range(10):
            process = read(program.pid)
            for thread in process["threads"]:
                names = python_frames(thread)
                if thread["tid"] == program.pid:
                    continue
                spun += 1
                if not thread["consistent"] or not any(n == "spin" and line in (3, 4) for n, line in names):
                    wrong.append((thread["name"], thread["consistent"], names))
                if thread["gil"]:
                    holders.add(thread["tid"])
                    if thread["waiting"]:
                        wrong.append(("holds and waits", thread["waiting"]))
                if thread["waiting"] and thread["waiting"]["kind"] == "gil":
                    waiting += 1
                    held = re.search("held by thread (\\d+)$", thread["waiting"]["detail"])
                    named += bool(held) and int(held.group(1)) in {t["tid"] for t in process["threads"] if t["gil"]}
        tap.ok(spun == 30 and not wrong, "busy threads are where they are", wrong[:3])
        tap.ok(holders and waiting and named, "who holds the GIL, and who waits for it", holders, waiting, named)


def check_greenlet(tap):
    """A greenlet's stack ends where it began: what lies further out is another one's."""
    if subprocess.call([e2e.PYTHON, "-c", "import greenlet"], stderr=subprocess.DEVNULL):
        tap.skip("a greenlet that sleeps", "no greenlet package")
        return
    script = "import greenlet, sys, time\ndef leaf():\n    time.sleep(1e6)\ndef worker():\n    leaf()\n" \
             "def hub():\n    greenlet.greenlet(worker).switch()\nprint('ready'); sys.stdout.flush()\nhub()\n"
    with Program(e2e.PYTHON, "-c", script) as target:
        found = []

        def sleeps():
            found[:] = read(target.pid)["threads"]
            return any(f["name"] == "leaf" for t in found for f in t["frames"])

        e2e.until(sleeps)
        tap.equal(python_frames(found[0]), [("leaf", 3), ("worker", 5)], "a greenlet that sleeps")


def check_native(tap, where):
    program = where + "/sleepers"
    subprocess.check_call(["gcc", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", program, HERE + "/sleepers.c"])
    with Program(program, 97, 300) as target:
        process = read(target.pid)
        tap.equal(len(process["threads"]), 100, "100 threads")
        wanted = ["sleep_here"] + ["descend"] * 301 + ["sleeper"]
        names = [[f["name"] for f in t["frames"] if f["module"] == "sleepers"] for t in process["threads"]]
        tap.equal(sum(n[:len(wanted)] == wanted for n in names), 97, "each of the 97 that sleep has its 303 functions")
        tap.equal(sum(n[-2:] == ["spin_here", "spinner"] for n in names), 2, "and two that never sleep")
        tap.ok(all(t["consistent"] for t in process["threads"]), "all of them consistent")
        frozen = json.loads(stack("--freeze", "--json", target.pid).stdout.decode())
        names = [[f["name"] for f in t["frames"] if f["module"] == "sleepers"] for t in frozen["threads"]]
        tap.ok("frozen_ms" in frozen and all(t["consistent"] for t in frozen["threads"]) and
               sum(n[:len(wanted)] == wanted for n in names) == 97 and
               sum(n[-2:] == ["spin_here", "spinner"] for n in names) == 2, "frozen: the same, of one moment", frozen)
        taken = [json.loads(stack("--freeze", "--json", target.pid).stdout.decode()).get("frozen_ms", 99) for _ in range(5)]
        tap.ok(sorted(taken)[2] <= 10, "frozen for 10 ms at most", taken)
        print("# frozen for %s ms" % taken)
        before = [e2e.used(target.pid)]
        e2e.until(lambda: e2e.used(target.pid) > before[0])
        with open("/proc/%d/status" % target.pid) as status:
            tap.ok("TracerPid:\t0\n" in status.read(), "and it runs on")


def check_flicker(tap, where, *how):
    """Threads that change their stacks all the time, and sleep for a moment in between."""
    program, turns = where + "/flicker", 10
    subprocess.check_call(["gcc", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", program, HERE + "/flicker.c"])
    with Program(program, 60) as target:
        threads, mixed, cut, moved, frozen = 0, [], [], 0, 0
        for unused in range(turns):
            process = json.loads(stack("--json", target.pid, *how).stdout.decode())
            frozen += "frozen_ms" in process
            for thread in process["threads"]:
                names = [f["name"] for f in thread["frames"]]
                threads += 1
                moved += not thread["consistent"]
                if not thread["consistent"]:
                    continue
                if len({n for n in names if n.startswith("family_")}) > 1:
                    mixed.append(names)
                if not names or not e2e.THREAD_START.match(names[-1]):
                    cut.append(names)
        words = " ".join(("flickering",) + how)
        tap.ok(threads == 61 * turns and not mixed, "%s: %d stacks, none of two times" % (words, threads), *mixed[:2])
        tap.ok(not cut, words + ": all of them whole", *cut[:2])
        tap.ok(moved <= threads * 0.02, "%s: %d not consistent" % (words, moved))
        if how:
            tap.ok(frozen == turns, "%s: %d of %d of one moment" % (words, frozen, turns))
            tap.ok(not moved, words + ": and so all of them consistent")


def check_untouched(tap):
    """A call that fails when its thread is stopped, or gets a signal: it does not notice."""
    script = "import ctypes, sys\nlibc = ctypes.CDLL(None)\nepoll, events = libc.epoll_create1(0), ctypes.create_string_buffer(16)\n" \
             "print('ready'); sys.stdout.flush()\nsys.exit(libc.epoll_wait(epoll, events, 1, -1))\n"
    with Program(e2e.PYTHON, "-c", script) as target:
        waits = []

        def there():
            waits[:] = [t["waiting"] for t in read(target.pid)["threads"]]
            return waits and waits[0] and waits[0]["detail"].startswith("epoll_wait(fd ")

        e2e.until(there)
        done = [stack(target.pid, *how).returncode for how in ((), ("--freeze",), ())]
        tap.ok(done == [0, 0, 0] and there() and target.process.poll() is None, "who sleeps does not notice", waits,
               target.process.poll())


def check_names(tap):
    with Program(e2e.PYTHON, "-c", "import sys\nopen('/proc/self/comm', 'wb').write(b'a\\x1b[31m\\n;\"\\xff\\\\')\n" + e2e.READY) as target:
        process = read(target.pid)
        tap.ok(process["threads"] and process["threads"][0]["name"].startswith("a\x1b[31m"), "JSON of a hostile name", process)
        text = stack(target.pid).stdout
        tap.ok(b"\x1b" not in text and b"\xff" not in text and b"process %d a" % target.pid in text, "and as text", text[:80])
        both = stack(target.pid, os.getpid(), "--json").stdout.decode().strip().split("\n")
        tap.equal([json.loads(line)["pid"] for line in both], [target.pid, os.getpid()], "two processes, a line each")


def one_line(tap, done, pattern, words, status=1):
    text = done.stderr.decode()
    tap.ok(done.returncode == status and not done.stdout and re.match(r"strata: %s\n\Z" % pattern, text), words, text)


def check_refusals(tap, where):
    gone = subprocess.Popen(["true"])
    gone.wait()
    one_line(tap, stack(gone.pid), r"%d: no such process" % gone.pid, "a process that is gone")
    zombie = subprocess.Popen(["true"])
    e2e.until(lambda: b") Z " in open("/proc/%d/stat" % zombie.pid, "rb").read())
    one_line(tap, stack(zombie.pid), r"%d: the process has ended.*" % zombie.pid, "one that has ended")
    zombie.wait()
    one_line(tap, stack(), "whose stacks.*", "no process", 2)
    one_line(tap, stack("12x"), "12x: not a process id", "no number", 2)
    mine = where + "/strata"
    subprocess.check_call(["cp", e2e.STRATA, mine])
    os.chmod(where, 0o755)
    one_line(tap, subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", mine, "stack", str(os.getpid())],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE),
             "sampling needs cap_bpf and cap_perfmon.*", "without the right to")
    with Program("setpriv", "--reuid=65534", "--clear-groups", e2e.PYTHON, "-c", e2e.READY) as target:
        process = read(target.pid)
        tap.ok(process["threads"] and python_frames(process["threads"][0]), "a process of another user", process)
    process = read(2)
    tap.ok([f["name"] for f in process["threads"][0]["frames"]][:1] == ["kthreadd"], "a kernel thread", process)


def main():
    tap = e2e.Tap()
    for python in e2e.pythons():
        check_python(tap, python)
    check_leaderless(tap, e2e.PYTHON)
    check_running(tap)
    check_frozen(tap)
    check_greenlet(tap)
    with tempfile.TemporaryDirectory(prefix="strata-stack-") as where:
        check_native(tap, where)
        check_path(tap, where)
        check_flicker(tap, where)
        check_flicker(tap, where, "--freeze")
        check_refusals(tap, where)
    check_names(tap)
    check_untouched(tap)
    tap.done()


main()
