#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that is short: strata's, which keeps what it has, or is killed by the kernel, and its target's, whose pages are swapped out."""
import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge, judge_lines, outputs  # noqa: E402

MB = 1 << 20
FOREVER = "1e9"
DEPTH = 300
# Calls itself DEPTH times, and computes at the inner end only: what lies further out is needed by nobody but strata.
DEEP = e2e.READY + """import time
def down(n):
    if n: return down(n - 1)
    while True: sum(range(1000))
down(%d)
""" % (DEPTH - 1)
SYS_PIDFD_OPEN, SYS_PROCESS_MADVISE, MADV_PAGEOUT = 434, 440, 21  # of all architectures; include/uapi/asm-generic/mman-common.h


class Group:
    """A memory cgroup of either version; `problem` says why there is none."""

    def __init__(self):
        self.problem, self.path = None, None
        first = os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")
        self.names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control") if first else \
            ("memory.max", "memory.current", "memory.events")
        path = "/sys/fs/cgroup%s/strata-test-%d" % ("/memory" if first else "", os.getpid())
        try:
            if not first:
                with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
                    file.write("+memory")
            os.mkdir(path)
            self.path = path
        except OSError as error:
            self.problem = "no memory cgroup can be made: %s" % error

    def read(self, which):
        with open("%s/%s" % (self.path, self.names[which])) as file:
            return file.read()

    def usage(self):
        return int(self.read(1))

    def kills(self):
        return sum(int(line.split()[1]) for line in self.read(2).splitlines() if line.startswith("oom_kill "))

    def limit(self, size):
        with open("%s/%s" % (self.path, self.names[0]), "w") as file:
            file.write(str(size))

    def enter(self):
        with open(self.path + "/cgroup.procs", "w") as file:
            file.write("0")
        with open("/proc/self/oom_score_adj", "w") as file:  # nobody else, whatever happens
            file.write("1000")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.path:
            e2e.until(lambda: not open(self.path + "/cgroup.procs").read())
            os.rmdir(self.path)


def start_many(where):
    with open(where + "/many.py", "w") as file:
        file.write(chaos.MANY)
    return subprocess.Popen(["nice", "-n", "5", e2e.PYTHON, where + "/many.py", FOREVER])


def start_strata(target, *arguments, **options):
    """strata, once it samples."""
    strata = subprocess.Popen([e2e.STRATA, "record"] + list(map(str, arguments)) + ["-p", str(target)], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, universal_newlines=True, **options)
    e2e.until(lambda: e2e.is_sampling(strata.pid) or strata.poll() is not None)
    return strata


def nothing_stays(tap, words, where, target, programs):
    """What must be so after strata was killed, or gave up."""
    tap.ok(programs and e2e.until(lambda: not programs & e2e.programs_loaded()), words + ": no BPF program stays")
    tap.ok(e2e.let_use(target, 0.2), words + ": the target goes on")
    judge(tap, words + ": then", where, e2e.record_used(target, 1, *outputs(where)), 1)


def killed(tap, where, group):
    """The group's limit is what strata holds, and it needs more and more."""
    target = start_many(where)
    others = chaos.readers()
    strata = start_strata(target.pid, *(outputs(where, 4999) + ["--max-memory", "8G"]), preexec_fn=group.enter)
    programs = e2e.programs_of(strata.pid)
    readers = chaos.readers() - others
    try:
        group.limit(group.usage() + 2 * MB)
        strata.wait(timeout=e2e.PATIENCE_S)
    finally:
        strata.kill()
    tap.equal(strata.returncode, -signal.SIGKILL, "out of memory: the kernel kills it")
    tap.ok(group.kills() > 0, "out of memory: that was for its memory")
    tap.ok(e2e.until(lambda: not readers & chaos.readers()), "out of memory: nobody is left")
    nothing_stays(tap, "out of memory", where, target.pid, programs)
    target.kill()
    target.wait()


def squeezed(tap, where, group):
    """The group's limit leaves room for --max-memory: what it has read of files has to go, and it goes on."""
    target = start_many(where)
    strata = start_strata(target.pid, *(outputs(where, 3999) + ["--max-memory", "16M"]), preexec_fn=group.enter)
    try:
        group.limit(group.usage() + 32 * MB)
        e2e.let_use(target.pid, 5)
        strata.send_signal(signal.SIGINT)
        _, stderr = strata.communicate(timeout=e2e.PATIENCE_S)
    finally:
        strata.kill()
        target.kill()
        target.wait()
    judge_lines(tap, "a small cgroup", where, subprocess.CompletedProcess([], strata.returncode, "", stderr), 5, 3999, least=0)
    stats = e2e.load(where + "/c.json")
    tap.ok(stats["lost"].get("evicted", 0) > 0, "a small cgroup: --max-memory keeps strata in it: %s" % stats["lost"])


def refused(tap, where):
    """Address space is what is short: an allocation fails. What was recorded until then is kept."""
    target = start_many(where)
    for room in (0, 4, 24):
        words = "memory is refused after %d MB" % room
        strata = start_strata(target.pid, *(outputs(where, 9999) + ["-o", where + "/c.html", "--max-memory", "8G"]))
        programs = e2e.programs_of(strata.pid)
        e2e.let_use(target.pid, 0.3)  # until it has memory for the target's tables, and the first stacks
        try:
            with open("/proc/%d/statm" % strata.pid) as file:
                size = int(file.read().split()[0]) * resource.getpagesize() + room * MB
            resource.prlimit(strata.pid, resource.RLIMIT_AS, (size, size))
            _, stderr = strata.communicate(timeout=e2e.PATIENCE_S)
        finally:
            strata.kill()
            target.send_signal(signal.SIGSTOP)  # it rests while what was recorded is read
        tap.ok("no memory" in stderr and stderr.count("\n") == 1, words + ": one line says so", stderr)
        judge_lines(tap, words, where, subprocess.CompletedProcess([], strata.returncode, "", stderr), 0, 9999, status=1, least=0.95)
        internal = e2e.load(where + "/c.json")["lost"].get("internal", 0)
        tap.ok(internal <= 0.2 * e2e.load(where + "/c.json")["samples"], words + ": %d samples are lost" % internal)
        tap.ok(os.path.getsize(where + "/c.html") > 10000, words + ": the page is there")
        for name in ("folded", "html", "json"):
            os.unlink(where + "/c." + name)
        target.send_signal(signal.SIGCONT)
    nothing_stays(tap, "memory is refused", where, target.pid, programs)
    target.kill()
    target.wait()


@contextlib.contextmanager
def swap(where):
    """64 MB of swap space in a file; gives why there is none."""
    path, problem = where + "/swap", None
    with open(path, "wb") as file:
        file.write(bytes(64 * MB))
    os.chmod(path, 0o600)
    for command in (["mkswap", path], ["swapon", path]):
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
            problem = problem or (done.stderr.strip() if done.returncode else None)
        except OSError as error:
            problem = problem or str(error)
    try:
        yield problem
    finally:
        subprocess.call(["swapoff", path], stderr=subprocess.DEVNULL)
        os.unlink(path)


def page_out(libc, pidfd, pid):
    """Takes all pages of a process away; how many pieces of memory that were."""
    class Piece(ctypes.Structure):
        _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    pieces = 0
    with open("/proc/%d/maps" % pid) as file:
        for line in file:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            piece = Piece(start, end - start)
            pieces += libc.syscall(SYS_PROCESS_MADVISE, pidfd, ctypes.byref(piece), ctypes.c_size_t(1), MADV_PAGEOUT, 0) > 0
    return pieces


def swapped(pid):
    with open("/proc/%d/status" % pid) as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("VmSwap:"))


def paged_out(tap, where):
    libc = ctypes.CDLL(None, use_errno=True)
    target = e2e.start(["nice", "-n", "5", e2e.PYTHON, "-c", DEEP])
    target.stdin.close()
    pidfd = libc.syscall(SYS_PIDFD_OPEN, target.pid, 0)
    most, stop = [0], threading.Event()

    def take_away():
        while not stop.wait(0.02):
            page_out(libc, pidfd, target.pid)
            most[0] = max(most[0], swapped(target.pid))

    e2e.let_use(target.pid, 0.5)
    thief = threading.Thread(target=take_away)
    thief.start()
    try:
        done = e2e.record_used(target.pid, 4, *outputs(where, 499))
    finally:
        stop.set()
        thief.join()
        target.kill()
        target.wait()
    tap.ok(most[0] > 1000, "paged out: %d KiB of the target were swapped" % most[0])
    # Without task work in BPF there is no second try.
    mine = judge(tap, "paged out", where, done, 4, 499, least=0.8 if chaos.has("task work") else 0)
    lost = e2e.load(where + "/c.json")["lost"]
    others = {k: v for k, v in lost.items() if v and k not in ("stack-read", "python-read", "python-code", "python-no-thread")}
    tap.equal(others, {}, "paged out: else pages were away: %s" % lost)
    whole = [f for f, _ in mine if not any(x.startswith("[") for x in f)]
    wrong = [f for f in whole if sum(x.startswith("down (") for x in f) != DEPTH]
    tap.ok(whole and not wrong, "paged out: whole stacks have all %d calls" % DEPTH, wrong[:1])


def memory(tap, where, storm):
    refused(tap, where)
    for part in (killed, squeezed):
        with Group() as group:
            if group.problem:
                tap.skip(part.__name__, group.problem)
            else:
                part(tap, where, group)
    with swap(where) as problem:
        if problem:
            tap.skip("pages that are swapped out", problem)
        else:
            paged_out(tap, where)


chaos.main(memory)
