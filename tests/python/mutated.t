#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged _PyRuntime. In the file (mutate_offsets.c): each byte of _Py_DebugOffsets damaged in ten ways is refused with words,
or changes nothing that a frame is read by. In a live process whose busy thread is in a long call without the GIL: random
bytes of it damaged, strata neither fails nor shows a Python frame that the program does not have. And an interpreter of a
version to come, whose offsets are true: its process proves them, and it is used. Needs root."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from tap import SCALE  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
BUILD = os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build"))
# Hashes for a minute in one call: nothing reads _PyRuntime meanwhile. Its functions have a number, which is the process's.
PROGRAM = """
import hashlib, threading
def innermost_N():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 100000000)
def middle_N():
    innermost_N()
threading.Thread(target=middle_N, daemon=True).start()
print("ready" if type(hashlib.pbkdf2_hmac) is type(len) else "Python does the hashing itself", flush=True)
threading.Event().wait()
"""
TRUE = re.compile(r"^((Thread\.)?_bootstrap (Thread\.)?_bootstrap_inner (Thread\.)?run middle_(?P<number>\d+) innermost_(?P=number)"
                  r"|<module> (Event\.)?wait (Condition\.)?wait)?$")
PYTHON = re.compile(r"^(\S+) \(.*:\d+\)$")
ROUNDS = int(os.environ.get("MUTATED_ROUNDS", 4 * SCALE))
SECONDS = 0.025  # of sampling for each process, which they share; what is sampled is always the same
TRIES = 20  # of the first recording: on a busy machine it is through before an interpreter is known
HEAD_BYTES = 1200  # of _PyRuntime: its _Py_DebugOffsets, where there is one, and the interpreters' list

number = failed = 0


def ok(passed, words, *notes):
    global number, failed
    number += 1
    failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", number, words), flush=True)
    for note in notes if not passed else ():
        print("# " + str(note)[:500])


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)


def stacks(targets, folder):
    """(the distinct chains of Python functions, what strata said); no chain at all when it failed. The targets run meanwhile only."""
    output = os.path.join(folder, "out.folded")
    for target in targets:
        target.child.send_signal(signal.SIGCONT)
    done = run(STRATA, "record", "-F", "1997", "-p", ",".join(str(target.child.pid) for target in targets),
               "-d", str(SECONDS * len(targets)), "-o", output)
    for target in targets:
        target.child.send_signal(signal.SIGSTOP)
    if done.returncode:
        return None, done.stderr
    chains = set()
    with open(output, encoding="utf-8") as file:
        for line in file:
            frames = line.rpartition(" ")[0].split(";")
            chains.add(" ".join(m.group(1) for m in map(PYTHON.match, frames) if m))
    return chains, done.stderr


def runtime_address(pid, file):
    """Where _PyRuntime is in the process: by its section and the mapping of the file's first segment."""
    section = re.search(r"\.PyRuntime\s+\S+\s+([0-9a-f]+)", run("readelf", "-SW", file).stdout)
    symbol = re.search(r"^([0-9a-f]+) .* _PyRuntime$", run("nm", "-D", file).stdout, re.M)
    found = section or symbol
    if not found:
        return None
    fixed = "EXEC" in run("readelf", "-h", file).stdout
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if len(fields) > 5 and os.path.realpath(fields[5]) == os.path.realpath(file) and int(fields[2], 16) == 0:
                return int(found.group(1), 16) + (0 if fixed else int(fields[0].split("-")[0], 16))
    return None


class Target:
    """An interpreter that runs PROGRAM. `lacks`: why it is no target, in words."""

    def __init__(self, number, program, file):
        self.file, self.dice, self.wrong, self.kinds = file, random.Random(file), [], set()
        self.innermost = "middle_%d innermost_%d" % (number, number)
        self.child = subprocess.Popen([program, "-I", "-c", PROGRAM.replace("_N", "_%d" % number)], stdout=subprocess.PIPE)
        said, self.address = self.child.stdout.readline().decode().strip(), runtime_address(self.child.pid, file)
        self.child.send_signal(signal.SIGSTOP)
        self.lacks = said if said != "ready" else None if self.address else "it has no _PyRuntime"

    def is_in(self, chains):
        return any(self.innermost in chain for chain in chains or ())

    def write(self, image):
        with open("/proc/%d/mem" % self.child.pid, "r+b", buffering=0) as memory:
            memory.seek(self.address)
            memory.write(image)

    def damage(self):
        with open("/proc/%d/mem" % self.child.pid, "rb", buffering=0) as memory:
            memory.seek(self.address)
            self.image = memory.read(HEAD_BYTES)
        damaged = bytearray(self.image)
        for _ in range(1 << self.dice.randrange(11)):
            damaged[self.dice.randrange(HEAD_BYTES)] = self.dice.randrange(256)
        self.write(damaged)

    def end(self):
        self.child.kill()
        self.child.wait()


def check_live(targets, folder):
    """All of them in one recording, each time."""
    for target in [target for target in targets if target.lacks]:
        ok(True, "%s # SKIP %s" % (target.file, target.lacks))
        target.end()
    targets = [target for target in targets if not target.lacks]
    seen, wrong = set(), []
    for _ in range(TRIES):
        whole, said = stacks(targets, folder)
        seen |= {target for target in targets if target.is_in(whole)}
        if whole is None or not all(map(TRUE.match, whole)):
            wrong.append((whole, said))
        if wrong or len(seen) == len(targets):
            break
    for target in targets:
        ok(not wrong and target in seen, "%s: its stacks while all is well" % target.file, whole, said)
    for round_ in range(ROUNDS):
        for target in targets:
            target.damage()
        chains, said = stacks(targets, folder)
        for target in targets:
            inspected = run(STRATA, "inspect", "--no-cache", str(target.child.pid))
            target.write(target.image)
            target.kinds.add("with" if target.is_in(chains) else "without")
            if chains is None or not all(map(TRUE.match, chains)) or inspected.returncode not in (0, 1):
                target.wrong.append((round_, chains, said, inspected.stderr))
    for target in targets:
        ok(not target.wrong, "%s: damaged, %d times: none that it has not (%s Python frames)" % (
            target.file, ROUNDS, ", ".join(sorted(target.kinds))), *target.wrong[:3])


def check_unknown(program, file, folder):
    """The interpreter says that it is of a version to come: a remark says so, and its frames are there."""
    with open(file, "rb") as original:
        image = bytearray(original.read())
    at = image.rfind(b"xdebugpy")
    if at < 0 or image[at + 11] != 3:
        return
    image[at + 10] = 99  # 3.99
    copy = os.path.join(folder, os.path.basename(file))
    with open(copy, "wb") as patched:
        patched.write(image)
    os.chmod(copy, 0o755)
    command = [copy if os.path.realpath(program) == os.path.realpath(file) else program, "-I", "-S", "-c",
               "for i in range(30000000): pass"]
    stats = os.path.join(folder, "stats.json")
    done = subprocess.run([STRATA, "record", "-F", "199", "-o", os.path.join(folder, "out.folded"), "--stats", stats, "--"] + command,
                          env=dict(os.environ, LD_LIBRARY_PATH=folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(stats, encoding="utf-8") as text:
        said = json.load(text)
    # Before that, on a busy machine, are those whose process was not known yet.
    unproved = said["lost"].get("python-facts", 0) + said["lost"].get("late", 0)
    ok(done.returncode == 0 and said["samples"] > 20 and said["python_samples"] > 0.5 * said["samples"] and
       said["python_samples"] + unproved >= 0.95 * said["samples"] and "not known" in " ".join(said["remarks"]) and
       b"prove them" in done.stderr, "  of version 3.99, proved by its process: Python in %d of %d samples, before that python-facts or late" %
       (said["python_samples"], said["samples"]), said, done.stderr)


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    here = []
    with tempfile.TemporaryDirectory() as folder:
        for line in run(os.path.join(HERE, "interpreters")).stdout.splitlines():
            root, program, file = line.split("\t")
            done = run(os.path.join(BUILD, "tests/python/mutate_offsets"), file)
            if done.returncode != 77:
                ok(done.returncode == 0, "%s: %s" % (file, done.stdout.strip().split("\n")[-1]), done.stdout)
            if root == "/":
                check_unknown(program, file, folder)
                here.append((program, file))
        targets = [Target(i, program, file) for i, (program, file) in enumerate(here)]
        try:
            check_live(targets, folder)
        finally:
            for target in targets:
                target.end()
    print("1..%d" % number)
    return 1 if failed else 0


sys.exit(main())
