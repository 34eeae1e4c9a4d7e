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
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from tap import SCALE  # noqa: E402

STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
BUILD = os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build"))
# Hashes for a minute in one call: nothing reads _PyRuntime meanwhile.
PROGRAM = """
import hashlib, threading
def innermost():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 100000000)
def middle():
    innermost()
threading.Thread(target=middle, daemon=True).start()
print("ready" if type(hashlib.pbkdf2_hmac) is type(len) else "Python does the hashing itself", flush=True)
threading.Event().wait()
"""
TRUE = re.compile(r"^((Thread\.)?_bootstrap (Thread\.)?_bootstrap_inner (Thread\.)?run middle innermost"
                  r"|<module> (Event\.)?wait (Condition\.)?wait)?$")
PYTHON = re.compile(r"^(\S+) \(.*:\d+\)$")
ROUNDS = int(os.environ.get("MUTATED_ROUNDS", 4 * SCALE))
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


def stacks(pid, folder):
    """(the distinct chains of Python functions, what strata said); no chain at all when it failed."""
    output = os.path.join(folder, "out.folded")
    done = run(STRATA, "record", "-F", "997", "-p", str(pid), "-d", "0.1", "-o", output)
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


def check_live(program, file, folder):
    child = subprocess.Popen([program, "-I", "-c", PROGRAM], stdout=subprocess.PIPE)
    try:
        said, address = child.stdout.readline().decode().strip(), runtime_address(child.pid, file)
        if said != "ready" or address is None:
            ok(True, "%s # SKIP %s" % (file, said if said != "ready" else "it has no _PyRuntime"))
            return
        whole, said = stacks(child.pid, folder)
        ok(whole is not None and any("middle innermost" in chain for chain in whole) and all(map(TRUE.match, whole)),
           "%s: its stacks while all is well" % file, whole, said)
        dice, wrong, kinds = random.Random(file), [], set()
        with open("/proc/%d/mem" % child.pid, "r+b", buffering=0) as memory:
            memory.seek(address)
            image = memory.read(HEAD_BYTES)
            for round_ in range(ROUNDS):
                damaged = bytearray(image)
                for _ in range(1 << dice.randrange(11)):
                    damaged[dice.randrange(HEAD_BYTES)] = dice.randrange(256)
                memory.seek(address)
                memory.write(damaged)
                chains, said = stacks(child.pid, folder)
                inspected = run(STRATA, "inspect", "--no-cache", str(child.pid))
                memory.seek(address)
                memory.write(image)
                kinds.add("with" if chains and any("innermost" in chain for chain in chains) else "without")
                if chains is None or not all(map(TRUE.match, chains)) or inspected.returncode not in (0, 1):
                    wrong.append((round_, chains, said, inspected.stderr))
        ok(not wrong, "  and damaged, %d times: none that it has not (%s Python frames)" % (ROUNDS, ", ".join(sorted(kinds))),
           *wrong[:3])
    finally:
        child.kill()
        child.wait()


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
    with tempfile.TemporaryDirectory() as folder:
        for line in run(os.path.join(HERE, "interpreters")).stdout.splitlines():
            root, program, file = line.split("\t")
            done = run(os.path.join(BUILD, "tests/python/mutate_offsets"), file)
            if done.returncode != 77:
                ok(done.returncode == 0, "%s: %s" % (file, done.stdout.strip().split("\n")[-1]), done.stdout)
            if root == "/":
                check_live(program, file, folder)
                check_unknown(program, file, folder)
    print("1..%d" % number)
    return 1 if failed else 0


sys.exit(main())
