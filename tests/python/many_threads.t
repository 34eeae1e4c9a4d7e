#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A thousand threads, of which ten work: every sample of the work has its thread's Python frames, and `strata inspect` finds
all thread states. On the newest and the oldest interpreter at hand. Needs root."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA = os.environ.get("STRATA", os.path.join(HERE, "..", "..", "build", "strata"))
THREADS = 1000
PROGRAM = """
import threading
threading.stack_size(65536 * 4)
begin, end = threading.Event(), threading.Event()
def idle():
    end.wait()
def work():
    begin.wait()  # until all are there: beside those that work, each thread needs its turn of the GIL to start
    while not end.is_set():
        for i in range(1000): pass
for i in range(%d): threading.Thread(target=work if i %% 100 == 99 else idle, daemon=True).start()
begin.set()
print("ready", flush=True)
end.wait()
""" % THREADS
PYTHON = re.compile(r"^(\S+) \(.*:\d+\)$")

number = failed = 0


def ok(passed, words, *notes):
    global number, failed
    number += 1
    failed += not passed
    print("%sok %d - %s" % ("" if passed else "not ", number, words), flush=True)
    for note in notes if not passed else ():
        print("# " + str(note)[:500])


def version_of(program):
    shown = subprocess.run(program + ["-I", "-c", "import sys; print(*sys.version_info[:3])"], stdout=subprocess.PIPE)
    return [int(n) for n in shown.stdout.split()]


def check(program, file, folder):
    output, stats = os.path.join(folder, "out.folded"), os.path.join(folder, "stats.json")
    child = subprocess.Popen(program + ["-I", "-c", PROGRAM], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        done = subprocess.run([STRATA, "record", "-F", "199", "-p", str(child.pid), "-d", "2", "-o", output, "--stats", stats],
                              stderr=subprocess.PIPE)
        found = subprocess.run([STRATA, "inspect", "--json", str(child.pid)], stdout=subprocess.PIPE)
    finally:
        child.kill()
        child.wait()
    with open(stats, encoding="utf-8") as text:
        said = json.load(text)
    ends = {}
    with open(output, encoding="utf-8") as text:
        for line in text:
            stack, _, count = line.rpartition(" ")
            frames = [m.group(1) for m in map(PYTHON.match, stack.split(";")) if m]
            ends[frames[-1] if frames else ""] = ends.get(frames[-1] if frames else "", 0) + int(count)
    samples = sum(ends.values())
    working = sum(count for name, count in ends.items() if name == "work" or name.endswith("is_set"))
    ok(done.returncode == 0 and samples > 50 and working > 0.9 * samples and said["complete"] >= 0.99 * said["samples"],
       "%s: %d of %d samples at work, %d complete" % (file, working, samples, said["complete"]), ends, said, done.stderr)
    looked = said["bpf"]["thread_states"]
    ok(looked <= 2 * THREADS, "  of the lists of threads %d are looked through" % looked, said)
    state = json.loads(found.stdout.decode())["thread_state"]
    ok(state["verified"] and any("%d thread states" % (THREADS + 1) in tried["result"] for tried in state["tried"]),
       "  inspect: %s, %d thread states" % (state["source"], THREADS + 1), state)


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return 0
    listed = [line.split("\t") for line in
              subprocess.run([os.path.join(HERE, "interpreters")], stdout=subprocess.PIPE).stdout.decode().splitlines()]
    here = sorted(([program] if root == "/" else ["chroot", root, program] for root, program, _ in listed), key=version_of)
    with tempfile.TemporaryDirectory() as folder:
        for program in here[:1] + here[-1:][:len(here) - 1]:
            check(program, " ".join(program), folder)
    print("1..%d" % number)
    return 1 if failed else 0


sys.exit(main())
