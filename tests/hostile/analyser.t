#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that follows machine code for strata is killed, stopped, and has its files cut: what that costs are these files' rows,
and it is said. KILLS: how often it is killed."""
import os
import random
import shutil
import signal
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
LATE_S = 2
FUNCTIONS = 200
NAMED = {"over-budget", "late"}  # what may be lost of the program whose code is followed


def program(path, seed, flags):
    """A program with much code, on one deep stack."""
    source = ["static volatile int n = %d;" % seed]
    for i in range(FUNCTIONS):
        source.append("__attribute__((noinline)) int f%d(void) { volatile char a[%d]; a[n & 7] = 1; int r = %s; return r + a[n & 7]; }" % (
            i, 64 + 8 * (i % 9), "f%d()" % (i - 1) if i else "0; for (int k = 0; k < 100000; k++) r += n"))
    source.append("int main(void) { for (;;) f%d(); }" % (FUNCTIONS - 1))
    subprocess.run(["gcc", "-xc", "-", "-O1", "-o", path] + flags, input="\n".join(source).encode(), check=True)
    return path


def analysers():
    """Those of this test: they are in its process group."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as file:
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
    """
    A recording of all while `harm(stop, files)` is done, of two programs: one with tables, one without, and of a hog. `enough()`: no more
    programs without tables, each another file, need to be started.
    """

    def __init__(self, where, number, harm, enough=lambda: True):
        prefix = "%s/%d" % (where, number)
        self.cache = prefix + "-cache"
        os.environ["XDG_CACHE_HOME"] = self.cache
        os.mkdir(self.cache)
        files = [prefix + "-code%d.so" % i for i in range(4)]
        for i, path in enumerate(files):
            hogs.without_tables(path, LIBRARY, 16 * number + i)
        hog = hogs.start(hogs.build(prefix + "-hog"), 1, 4096, *files)
        commands = [program(prefix + "-told", number, []),
                    program(prefix + "-bare", number, ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"])]
        running, stop = [], threading.Event()
        harming = threading.Thread(target=harm, args=(stop, files))

        def start_another():
            path = "%s-bare%d" % (prefix, len(running))
            shutil.copy(commands[1], path)
            with open(path, "ab") as file:
                file.write(os.urandom(16))
            running.append(subprocess.Popen([path]))
            e2e.let_use(running[-1].pid, 0.05)
            running[-1].kill()

        def during(_):
            harming.start()
            e2e.let_use(hog.pid, 0.3)
            running.extend(subprocess.Popen([command]) for command in commands)
            for process in running:
                e2e.let_use(process.pid, 2)
            while not enough():
                start_another()
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
    tap.equal(stats["complete"] + stats["truncated"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")
    whole = e2e.share(run.told, lambda frames: not any(frame.startswith("[incomplete") for frame in frames))
    tap.ok(e2e.total(run.told) > 50 and whole >= 0.99, words + ": %.1f %% of %d samples of the program with tables are complete" % (
        100 * whole, e2e.total(run.told)), why(run.told))
    lost = why(run.bare)
    tap.ok(all(any(name in frame for name in NAMED) for frame in lost), words + ": what the one without them lost is named", lost)
    told = [remark for remark in stats["remarks"] if remark.startswith("over-budget: ")]
    tap.ok(not stats["lost"].get("over-budget") or any("-bare" in remark for remark in told), words + ": and so is the file", told)
    tap.ok(e2e.until(lambda: not analysers()), words + ": no process is left")


class Killer:
    def __init__(self):
        self.killed = 0

    def harm(self, stop, _):
        chance = random.Random(1)
        while not self.enough() and not stop.is_set():
            time.sleep(chance.random() / 20)
            self.killed += send(signal.SIGKILL)

    def enough(self):
        return self.killed >= KILLS


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


def in_time(tap, where, words):
    """A recording that ends while the process is stopped with a file that is asked for."""
    bare = program(where + "/late-bare", 99, ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"])
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
    tap.equal(stats["complete"] + stats["truncated"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")
    tap.ok(e2e.until(lambda: not analysers()), words + ": no process is left")


def main():
    os.setpgid(0, 0)
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        quiet = Run(where, 0, lambda stop, files: None)
        check(tap, quiet, "unharmed")
        whole = e2e.share(quiet.bare, lambda frames: not any(frame.startswith("[incomplete") for frame in frames))
        tap.ok(e2e.total(quiet.bare) > 50 and whole >= 0.98, "unharmed: %.1f %% of %d samples of the one without are complete" % (
            100 * whole, e2e.total(quiet.bare)), why(quiet.bare))
        killer = Killer()
        run = Run(where, 1, killer.harm, killer.enough)
        check(tap, run, "killed %d times" % killer.killed)
        check(tap, Run(where, 2, cut), "with files that are cut")
        in_time(tap, where, "stopped")
    tap.done()


main()
