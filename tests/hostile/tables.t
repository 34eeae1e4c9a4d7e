#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes and files of other users, and of the same one, that want all of what strata keeps of unwind tables for everybody."""
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402
import hogs  # noqa: E402

RULES = 60000
FDES = 5000000
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"  # much code, and many functions that have a name
RSS_KB = 256 << 10
LATE_S = 2  # how much longer a recording may take than it was to, on a machine that is idle
FUNCTIONS = 24
TEXT = 6 << 20
VICTIM_S, HZ = 1, 399  # its first sample or two may be late, when the machine is busy


def victim(path, seed):
    """
    A program with some code, whose rules no other has: frames of odd sizes, without frame pointers. Its stack is short until
    SIGUSR1, then hundreds of KB deep: a copy of that, which strata needs as long as it has no rows of the file, has no room for it.
    """
    source = ["#include <signal.h>", "static volatile int n, deep;", "static void go(int number) { deep = number; }", "__asm__(\".text; .skip %d; .previous\");" % TEXT]
    for i in range(FUNCTIONS):
        size = 8 * (1000 + 97 * (FUNCTIONS * seed + i))
        source.append("static __attribute__((noinline)) int f%d(void) { volatile char a[%d]; a[n] = 1; int r = %s; return r + a[n]; }" % (
            i, size, "f%d()" % (i - 1) if i else "0; for (int k = 0; k < 100000; k++) r += n"))
    source.append("int main(void) { signal(SIGUSR1, go); while (!deep) n = 0; for (;;) f%d(); }" % (FUNCTIONS - 1))
    subprocess.run(["gcc", "-xc", "-", "-O1", "-o", path], input="\n".join(source).encode(), check=True)
    return path


def slowness():
    """How much longer than on an idle machine a process with strata's nice value takes for what it computes."""
    begin, cpu = time.monotonic(), time.process_time()
    while time.process_time() < cpu + 0.2:
        pass
    return max(1.0, (time.monotonic() - begin) / 0.2)


class Recording:
    """All processes while hogs run, and a victim that begins when they have what they can get."""

    def __init__(self, where, number):
        self.where = where
        self.number = number

    def run(self, running):
        prefix = self.where + "/%d" % self.number
        program = victim(prefix + "-victim", self.number)
        victims = []

        def during(strata):
            for pid, end in [(hog.pid, e2e.used(hog.pid) + 0.7) for hog in running]:
                e2e.until(lambda: e2e.used(pid) >= end)
            victims.append(subprocess.Popen([program]))
            e2e.let_use(victims[0].pid, 0.3)
            # It has nothing more to do: the victim's rows are there.
            e2e.until(lambda: e2e.in_call(strata.pid, "poll", "ppoll"))
            victims[0].send_signal(signal.SIGUSR1)
            e2e.let_use(victims[0].pid, VICTIM_S)
        try:
            self.done = e2e.record_while(during, "-a", "-F", HZ, "-o", prefix + ".folded", "--stats", prefix + ".json")
        finally:
            for process in victims:
                process.kill()
                process.wait()
        self.stats = e2e.load(prefix + ".json")
        self.mine = e2e.folded(prefix + ".folded", comm=os.path.basename(program)[:15])
        return self


def check(tap, done, words):
    stats = done.stats
    tap.equal(done.done.returncode, 0, words + ": recorded")
    whole = e2e.share(done.mine, lambda frames: not any(frame.startswith("[incomplete") for frame in frames))
    tap.ok(e2e.total(done.mine) > 50 and whole >= 0.99, words + ": %.1f %% of the victim's %d samples are complete" % (
        100 * whole, e2e.total(done.mine)), {frame for frames, _ in done.mine for frame in frames if frame.startswith("[")})
    tap.ok(stats["self"]["peak_rss_kb"] <= RSS_KB, words + ": memory is bounded: %d MB" % (stats["self"]["peak_rss_kb"] >> 10))
    tap.equal(stats["complete"] + sum(stats["lost"].values()), stats["samples"], words + ": the sums close")


def tells(tap, done, what, words):
    tap.ok(any(re.search(r"^table-full: no room for more %s; process \d+ \(" % what, remark) for remark in done.stats["remarks"]),
           words + ": who has it all is told", done.stats["remarks"])


def make(where):
    """The hogs' files, by a process of its own: what it takes of memory would be counted as strata's, whose parent this one is."""
    maker = multiprocessing.Process(target=write_files, args=(where,))
    maker.start()
    maker.join()


def write_files(where):
    for i in range(2):
        hogs.distinct_rules(where + "/rules%d.so" % i, RULES, 2 + RULES * i)
    for i in range(4):
        hogs.sparse(where + "/text%d.so" % i, 170 << 20)
    hogs.sparse(where + "/small.so", 1 << 20)
    hogs.many_fdes(where + "/fdes.so", FDES)
    for i in range(8):
        hogs.without_tables(where + "/code%d.so" % i, LIBRARY, i)


def paths(where, name, count):
    return [where + "/%s%d.so" % (name, i) for i in range(count)]


def stop(running):
    for process in running:
        process.kill()
        process.wait()


def in_time(tap, where, baseline, words):
    begin = time.monotonic()
    e2e.record("-a", "-d", "1", "-o", where + "/time.folded", "--stats", where + "/time.json")
    took = time.monotonic() - begin
    startup = e2e.load(where + "/time.json")["startup_ms"] / 1e3
    allowed = baseline + LATE_S * slowness()
    tap.ok(took - 1 <= allowed, words + ": -d 1 ends in time: %.1f s, of these %.1f to start; %.1f allowed" % (took, startup, 1 + allowed))


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        program = hogs.build(where + "/hog")
        begin = time.monotonic()
        e2e.record("-a", "-d", "1", "-o", where + "/time.folded")
        baseline = time.monotonic() - begin - 1
        make(where)
        rules, text, code = paths(where, "rules", 2), paths(where, "text", 4), paths(where, "code", 8)
        cases = [
            ("rules of another user", "different unwind rules", lambda: [hogs.start(program, 1, 16 * RULES, *rules)]),
            ("rules of the same user", "different unwind rules", lambda: [hogs.start(program, 1, 16 * RULES, *rules, other=False)]),
            ("text of another user", "code", lambda: [hogs.start(program, 1, 170 << 20, *text)]),
            ("text of the same user", "code", lambda: [hogs.start(program, 1, 170 << 20, *text, other=False)]),
            ("160,000 mappings", "mappings", lambda: [hogs.start(program, 53400, 4096, where + "/small.so") for _ in range(3)]),
            ("5 million FDEs", None, lambda: [hogs.start(program, 1, 4 * FDES, where + "/fdes.so")]),
            ("code without tables", None, lambda: [hogs.start(program, 1, 4096, *code)]),
        ]
        chosen = os.environ.get("ONLY")
        for number, (words, what, begin) in enumerate(cases):
            if chosen and chosen not in words:
                continue
            running = begin()
            try:
                done = Recording(where, number).run(running)
                check(tap, done, words)
                if what:
                    tells(tap, done, what, words)
                in_time(tap, where, baseline, words)
            finally:
                stop(running)
    tap.done()


main()
