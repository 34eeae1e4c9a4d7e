#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that follows machine code for strata is killed, stopped, and has its files cut: what that costs are these files' rows,
and it is said. KILLS: how often it is killed."""
import ctypes
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402
import hogs  # noqa: E402

KILLS = int(os.environ.get("KILLS", 20))
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
NAME = "strata-analyser"
NOBODY = 65534
LATE_S = 2
TOLD_S, BARE_S = 2, 3  # CPU time: of the second one the code is analysed first
PYTHON = "/usr/bin/python3.11"
SPIN = "def spin():\n    while True:\n        sum(range(1000))\nspin()"
FUNCTIONS = 200
BARE = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
NAMED = {"over-budget", "late"}  # what may be lost of the program whose code is followed


def program(path, seed, flags):
    """A program with much code, on one deep stack; with an argument it ends after 50 ms."""
    source = ["#include <time.h>", "const char mark[] = \"0123456789abcdef\"; static volatile int n = %d;" % seed]
    for i in range(FUNCTIONS):
        source.append("__attribute__((noinline)) int f%d(void) { volatile char a[%d]; a[n & 7] = 1; int r = %s; return r + a[n & 7]; }" % (
            i, 64 + 8 * (i % 9), "f%d()" % (i - 1) if i else "0; for (int k = 0; k < 100000; k++) r += n"))
    source.append("int main(int count, char **arguments) { do f%d(); while (count < 2 || clock() < CLOCKS_PER_SEC / 20); return !arguments; }" % (FUNCTIONS - 1))
    subprocess.run(["gcc", "-xc", "-", "-O1", "-o", path] + flags, input="\n".join(source).encode(), check=True)
    os.chown(path, NOBODY, NOBODY)  # else its rows are compiled by strata itself
    return path


def analysers():
    """Those of this test: they are in its process group."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid, errors="replace") as file:
                if file.read().strip() == NAME and os.getpgid(int(pid)) == os.getpgrp():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def send(signal_number):
    count = 0
    for pid in analysers():
        try:
            os.kill(pid, signal_number)
            count += 1
        except ProcessLookupError:
            pass
    return count


class Run:
    """A recording of all while `harm(stop, files)` is done, of two programs: one with tables, one without, and of a hog with files."""

    def __init__(self, where, number, harm, count):
        prefix = "%s/%d" % (where, number)
        self.cache = prefix + "-cache"
        os.environ["XDG_CACHE_HOME"] = self.cache
        os.mkdir(self.cache)
        files = [prefix + "-code%d.so" % i for i in range(count)]
        for i, path in enumerate(files):
            hogs.without_tables(path, LIBRARY, 16 * number + i)
            os.chown(path, NOBODY, NOBODY)
        hog = hogs.start(hogs.build(prefix + "-hog"), 1, 4096, *files)
        commands = [program(prefix + "-told", number, []),
                    program(prefix + "-bare", number, BARE)]
        running, stop = [], threading.Event()
        harming = threading.Thread(target=harm, args=(stop, files))

        def during(_):
            harming.start()
            e2e.let_use(hog.pid, 0.3)
            running.extend(subprocess.Popen([command]) for command in commands)
            for process, seconds in zip(running, (TOLD_S, BARE_S)):
                e2e.until(lambda: e2e.used(process.pid) >= seconds)
                process.send_signal(signal.SIGSTOP)  # it has been sampled for long enough
        try:
            self.done = e2e.record_while(during, "-a", "-o", prefix + ".folded", "--stats", prefix + ".json")
        finally:
            stop.set()
            harming.join()
            for process in running + [hog]:
                process.kill()
                process.wait()
        self.stats, stacks = e2e.load(prefix + ".json"), e2e.folded(prefix + ".folded")
        self.told, self.bare = ([(frames, count) for frames, count in stacks if frames[0].startswith(os.path.basename(command))]
                                for command in commands)


def why(stacks):
    """What the stacks that are not whole say: key → samples."""
    found = {}
    for frames, count in stacks:
        for frame in frames:
            if frame.startswith("[incomplete"):
                found[frame] = found.get(frame, 0) + count
    return found


def check(tap, run, words):
    stats = run.stats
    tap.equal(run.done.returncode, 0, words + ": recorded")
    tap.equal(stats["complete"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")
    whole = e2e.share(run.told, lambda frames: not any(frame.startswith("[incomplete") for frame in frames))
    tap.ok(e2e.total(run.told) > 50 and whole >= 0.99, words + ": %.1f %% of %d samples of the program with tables are complete" % (
        100 * whole, e2e.total(run.told)), why(run.told))
    lost = why(run.bare)
    tap.ok(all(any(name in frame for name in NAMED) for frame in lost), words + ": what the one without them lost is named", lost)
    told = [remark for remark in stats["remarks"] if remark.startswith("over-budget: ")]
    tap.ok(not stats["lost"].get("over-budget") or any("-bare" in remark for remark in told), words + ": and so is the file", told)
    tap.ok(e2e.until(lambda: not analysers()), words + ": no process is left")


# Runs a program, and copies of another one, each another file, until the first argument is there and the program has used
# 1.5 s of CPU.
STARTER = r"""
import os, subprocess, sys, time
stop, told, bare = sys.argv[1:]
other, number = subprocess.Popen([told]), 0
while not os.path.exists(stop) or time.clock_gettime((~other.pid << 3) | 2) < 1.5:
    number += 1
    path = bare + str(number)
    with open(bare, "rb") as source, open(path, "wb") as copy:
        copy.write(source.read().replace(b"0123456789abcdef", os.urandom(16)))
    os.chmod(path, 0o755)
    os.chown(path, os.stat(bare).st_uid, -1)
    subprocess.run([path, "short"])
other.kill()
other.wait()
"""


class Killed:
    """A recording of programs without tables, started one after the other, while the process is killed at random; and of one with them."""

    def __init__(self, where):
        prefix = where + "/killed"
        os.environ["XDG_CACHE_HOME"] = prefix + "-cache"
        self.prefix, self.killed = prefix, 0
        told, bare = program(prefix + "-told", 7, []), program(prefix + "-bare", 8, BARE)
        killing = threading.Thread(target=self.kill)
        killing.start()
        self.done = e2e.record("-o", prefix + ".folded", "--stats", prefix + ".json", "--", "python3", "-c", STARTER, prefix + "-stop", told, bare)
        killing.join()
        self.stats, stacks = e2e.load(prefix + ".json"), e2e.folded(prefix + ".folded")
        self.told, self.bare = ([(frames, count) for frames, count in stacks if frames[0].startswith(os.path.basename(command)[:15])]
                                for command in (told, bare))

    def kill(self):
        chance = random.Random(1)
        end = time.monotonic() + e2e.PATIENCE_S
        while self.killed < KILLS and time.monotonic() < end:
            time.sleep(chance.random() / 5)
            self.killed += send(signal.SIGKILL)
        open(self.prefix + "-stop", "w").close()


def hold(stop, _):
    while not stop.is_set():
        send(signal.SIGSTOP)
        time.sleep(0.01)


def cut(stop, files):
    """Each file is cut while one of them is read."""
    e2e.until(lambda: analysers() or stop.is_set())
    for path in files:
        with open(path, "r+b") as file:
            file.truncate(100000)
        time.sleep(0.05)


def record_bare(where, bare, during, *arguments, **options):
    """A recording of a program, nothing of which is known from before; its statistics."""
    os.environ["XDG_CACHE_HOME"] = bare + "-cache"
    stop = threading.Event()
    harming = threading.Thread(target=during, args=(stop,))
    running = subprocess.Popen([bare, *arguments])
    e2e.let_use(running.pid, 0.05)
    harming.start()
    outputs = ["-o", where + "/out.folded", "--stats", where + "/out.json"]
    try:
        if options:
            e2e.record("-p", running.pid, "-d", "2", *outputs, **options)
        else:
            e2e.record_used(running.pid, 1.8, *outputs)  # on a busy machine longer: so often the process must be started
    finally:
        stop.set()
        harming.join()
        running.kill()
        running.wait()
    return e2e.load(where + "/out.json")


def given_up(tap, where):
    """It is killed at once, each time."""
    def kill(stop):
        while not stop.is_set():
            send(signal.SIGKILL)
    words = "killed at once"
    library = where + "/libcrypto.so.3"
    hogs.without_tables(library, LIBRARY, 77)
    source = "unsigned char *SHA256(const void *, unsigned long, void *); static char b[1 << 20]; int main(void) { for (;;) SHA256(b, sizeof b, b); }"
    subprocess.run(["gcc", "-xc", "-", "-xnone", library, "-Wl,-rpath," + where, "-o", where + "/given-up"], input=source.encode(), check=True)
    stats = record_bare(where, where + "/given-up", kill)
    tap.ok(stats["lost"].get("over-budget", 0) > 0 and set(stats["lost"]) <= NAMED, words + ": its file is given up", stats["lost"])
    tap.ok(any(remark.startswith("over-budget: ") and library in remark for remark in stats["remarks"]), words + ": which is said",
           stats["remarks"])


def forbid_seccomp():
    """For this process and its children seccomp() fails, as in a kernel without."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 317), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)]  # nr; seccomp: ENOSYS; allowed
    text = b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(text)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(buffer)), 0, 0):  # PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "seccomp")


def interpreters(tap, where):
    """What is in an interpreter's machine code, when the process that finds it is killed at once, and when there is none."""
    def kill(stop):
        while not stop.is_set():
            send(signal.SIGKILL)
    if not os.path.exists(PYTHON):
        tap.skip("an interpreter", "there is no " + PYTHON)
        return
    for words, during, options in (("undisturbed", lambda stop: None, {}), ("killed at once", kill, {}),
                                   ("without seccomp", lambda stop: None, {"preexec_fn": forbid_seccomp})):
        words = "an interpreter, " + words
        path = "%s/python-%s" % (where, words.split()[-1])
        shutil.copy(PYTHON, path)
        with open(path, "ab") as file:
            file.write(os.urandom(16))
        stats = record_bare(where, path, during, "-S", "-c", SPIN, **options)
        stacks = e2e.folded(where + "/out.folded")
        told = [remark for remark in stats["remarks"] if remark.startswith("over-budget: ") and path in remark]
        share = e2e.share(stacks, lambda frames: any(frame.startswith("spin (") for frame in frames))
        tap.equal(stats["complete"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")
        tap.ok(stats["samples"] > 0 and (share >= 0.95 or (during is kill and told)),
               words + ": its functions are there, or that is said: %.1f %%" % (100 * share), stats["remarks"])
        tap.ok(bool(options) == any("interpreters is read with all rights" in remark for remark in stats["remarks"]),
               words + ": that there is no such process is said if it is so", stats["remarks"])
        tap.ok(during is kill or not told, words + ": nothing is said to be lost", told)
        tap.ok(e2e.until(lambda: not analysers()), words + ": no process is left")


def unconfined(tap, where):
    words = "without seccomp"
    stats = record_bare(where, program(where + "/unconfined", 5, BARE), lambda stop: None, preexec_fn=forbid_seccomp)
    tap.ok(stats["samples"] > 0 and stats["complete"] >= 0.95 * stats["samples"], words + ": %d of %d samples are complete" % (
        stats["complete"], stats["samples"]), stats["lost"])
    tap.ok(any("cannot be confined" in remark for remark in stats["remarks"]), words + ": that there is no such process is said",
           stats["remarks"])


def in_time(tap, where, words):
    """A recording that ends while the process is stopped with a file that is asked for."""
    bare = program(where + "/late-bare", 99, BARE)
    os.environ["XDG_CACHE_HOME"] = where + "/late-cache"
    stop = threading.Event()
    holding = threading.Thread(target=hold, args=(stop, None))
    running = subprocess.Popen([bare])
    holding.start()
    try:
        begin = time.monotonic()
        e2e.record("-p", running.pid, "-d", "2", "-o", where + "/late.folded", "--stats", where + "/late.json")
        took = time.monotonic() - begin
    finally:
        stop.set()
        holding.join()
        running.kill()
        running.wait()
    stats = e2e.load(where + "/late.json")
    slow = max(1.0, stats["self"]["cpu_s"])
    tap.ok(took <= 2 + LATE_S * slow, words + ": -d 2 ends in time: %.1f s" % took)
    tap.ok(stats["samples"] > 0 and set(stats["lost"]) <= NAMED, words + ": what is lost is named", stats["lost"])
    tap.equal(stats["complete"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")
    tap.ok(e2e.until(lambda: not analysers()), words + ": no process is left")


def main():
    if os.getpgrp() != os.getpid():  # as it is in a session of its own
        os.setpgid(0, 0)
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        quiet = Run(where, 0, lambda stop, files: None, 1)
        check(tap, quiet, "unharmed")
        whole = e2e.share(quiet.bare, lambda frames: not any(frame.startswith("[incomplete") for frame in frames))
        tap.ok(e2e.total(quiet.bare) > 50 and whole >= 0.98, "unharmed: %.1f %% of %d samples of the one without are complete" % (
            100 * whole, e2e.total(quiet.bare)), why(quiet.bare))
        killed = Killed(where)
        tap.equal(killed.killed, KILLS, "killed often enough")
        check(tap, killed, "killed %d times" % killed.killed)
        check(tap, Run(where, 2, cut, 3), "with files that are cut")
        in_time(tap, where, "stopped")
        given_up(tap, where)
        unconfined(tap, where)
        interpreters(tap, where)
    tap.done()


main()
