#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unwind rows that are freed and used again: libraries come and go, and fill more slabs than are kept."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge, outputs  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS, STEP, OBJECTS = 20000, 1000, 4
SLAB_ROWS, BLOCK_ROWS, KEPT = 1 << 19, 1 << 14, 4  # src/abi/limits.h, src/kernel/tables.c
# Which of the objects is in a library, in what order. Each object has 16 rows for a function.
FIRST = {"a0.so": (0, 1, 2), "a1.so": (1, 2, 3), "a2.so": (2, 3, 0), "a3.so": (3, 0, 1)}
SECOND = {"b0.so": (3, 2, 1), "b1.so": (2, 0)}
STAYING = {"a0.so", "a2.so"}
LIBRARIES = dict(FIRST, **SECOND)
# Each waits twice until strata forgets what is gone, 20 s. Of two, twenty slabs' rows come, and at most twelve may be there.
CYCLES = int(2 * e2e.SCALE)
SECONDS = 0.2
HZ = 998


def build(where):
    assemblers = [subprocess.Popen(["gcc", "-c", "-DPREFIX=f%d_" % i, "-DSEED=%d" % (5 * i), "-DSTEP=%d" % STEP,
                                    "-DFUNCTIONS=%d" % FUNCTIONS, "-o", "%s/%d.o" % (where, i), HERE + "/functions.S"])
                  for i in range(OBJECTS)]
    if any(assembler.wait() for assembler in assemblers):
        raise SystemExit("functions.S cannot be assembled")
    for name, objects in LIBRARIES.items():
        subprocess.check_call(["gcc", "-shared", "-o", where + "/" + name] + ["%s/%d.o" % (where, i) for i in objects])
    subprocess.check_call(["gcc", "-O2", "-DSTEP=%d" % STEP, "-o", where + "/loader", HERE + "/loader.c", "-ldl"])


def slabs(pid):
    """How many slabs strata has."""
    count = 0
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as file:
                words = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        shape = [words.get(key, "").strip() for key in ("map_type", "value_size", "max_entries")]
        count += shape == ["2", str(4 * BLOCK_ROWS), str(SLAB_ROWS // BLOCK_ROWS)]
    return count


def has_open(pid, names):
    """Whether strata holds one of these files."""
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.path.basename(os.readlink("/proc/%d/fd/%s" % (pid, fd))) in names:
                return True
        except OSError:
            pass
    return False


def resident(pid):
    with open("/proc/%d/status" % pid) as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("RssAnon:")) * 1024


class Loader:
    def __init__(self, where):
        self.where = where
        self.process = subprocess.Popen([where + "/loader"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)

    def tell(self, verb, name, *words):
        self.process.stdin.write(" ".join([verb, "%s/%s" % (self.where, name)] + list(words)) + "\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "ok\n":
            raise SystemExit("the loader has ended")

    def open(self, name):
        self.tell("open", name)

    def close(self, name):
        self.tell("close", name)

    def run(self, name):
        self.tell("run", name, str(SECONDS), *["f%d_" % i for i in LIBRARIES[name]])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def cycle(staying, passing, strata):
    """Fills slabs, frees rows between others that stay, uses the holes, and frees all. The number of slabs at each."""
    counts = []
    staying.tell("child", "-")
    passing.tell("child", "-")
    for name in FIRST:
        loader = staying if name in STAYING else passing
        loader.open(name)
        loader.run(name)
    counts.append(slabs(strata.pid))
    passing.tell("end", "-")
    e2e.until(lambda: not has_open(strata.pid, set(FIRST) - STAYING))
    passing.tell("child", "-")
    for name in SECOND:
        passing.open(name)
        passing.run(name)
        passing.close(name)
    for name in STAYING:
        staying.run(name)
    counts.append(slabs(strata.pid))
    passing.tell("end", "-")
    staying.tell("end", "-")
    e2e.until(lambda: not has_open(strata.pid, LIBRARIES) and slabs(strata.pid) <= KEPT)
    counts.append(slabs(strata.pid))
    return counts


def rows(cycles):
    return cycles * sum(map(len, LIBRARIES.values())) * FUNCTIONS * 16


def chain(name):
    return ["f%d_%d (%s)" % (i, n, name) for i in LIBRARIES[name] for n in range(0, FUNCTIONS, STEP)]


def come_and_go(tap, where, _):
    build(where)
    loaders = [Loader(where), Loader(where)]
    counts, memory = [], []

    def work(strata):
        for _ in range(CYCLES):
            counts.append(cycle(*(loaders + [strata])))
            memory.append(resident(strata.pid))
        # What is free is given back every ten seconds.
        e2e.until(lambda: resident(strata.pid) <= memory[0] + (4 << 20))
        memory.append(resident(strata.pid))

    done = e2e.record_while(work, *(outputs(where, HZ) + ["--children", "-p", ",".join(str(x.process.pid) for x in loaders)]))
    for loader in loaders:
        loader.end()
    runs = CYCLES * (len(LIBRARIES) + len(STAYING))
    mine = judge(tap, "rows are used again", where, done, runs * SECONDS, HZ, own="loader")
    tap.ok(all(full > KEPT and end == KEPT for full, _, end in counts), "slabs come and go: %s" % counts)
    tap.ok(max(map(max, counts)) <= 3 * KEPT, "and are used again: all that was loaded has %.0f" % (rows(CYCLES) / SLAB_ROWS))
    tap.ok(memory[-1] <= memory[0] + (4 << 20), "memory is flat: %s MB" % [round(m / 1e6, 1) for m in memory])
    spinning = [(f, c) for f, c in mine if any(re.match(r"spin \(loader\)", x) for x in f)]
    expected = {name: chain(name) for name in LIBRARIES}
    through = lambda f: [x for x in f if re.match(r"f\d_\d+ ", x)]  # noqa: E731
    whole = [(f, c) for f, c in spinning if not any(x.startswith("[") for x in f)]
    wrong = [f for f, _ in whole if through(f) not in expected.values()]
    tap.equal(wrong, [], "every stack has all %s calls of its library, in order" % sorted({len(c) for c in expected.values()}))
    for name in LIBRARIES:
        share = e2e.total([(f, c) for f, c in whole if through(f) == expected[name]]) / max(e2e.total(whole), 1)
        due = (2 if name in STAYING else 1) * CYCLES / runs
        tap.ok(share > due / 2, "%s: has its share: %.2f of %.2f" % (name, share, due))


chaos.main(come_and_go)
