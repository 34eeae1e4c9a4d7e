#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""verified: what the kernel's verifier goes through in the programs of Python's probes, which is most of what strata calls takes
to start: each interpreter has about ten of them. The kernel counts the instructions itself (fdinfo of a program)."""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../python"), os.path.join(HERE, ".."), os.path.join(HERE, "../oracle")]
from interpreters import discover  # noqa: E402
from probe_run import STRATA, refusal  # noqa: E402
from tap import Tap  # noqa: E402

KPROBE = "2"  # BPF_PROG_TYPE_KPROBE, in fdinfo
MOST = 40000  # 64,000 when a text's loop was followed once for each size of its characters
TELLS = 'python:"%s":function-entry { print((args.function, args.file)); }'


def programs(pid):
    """The verified instructions of each program of a probe that the process holds; -1: this kernel does not tell."""
    found = []
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            with open(path, encoding="utf-8") as file:
                facts = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        if facts.get("prog_type", "").strip() == KPROBE:
            found.append(int(facts.get("verified_insns", "-1")))
    return found


def verified(words):
    """Of strata with these words, when the program that it started runs: that says a line, and waits for one."""
    with subprocess.Popen([STRATA, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
        tracer.stdout.readline()
        found = programs(tracer.pid)
        tracer.stdin.write(b"\n")
        tracer.stdin.close()
        tracer.stdout.read()
        said = tracer.stderr.read()
    return found, said.decode()


def main():
    tap = Tap()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return
    wait = "import sys; print(1, flush=True); sys.stdin.readline()"
    for interpreter in discover():
        if interpreter.root or refusal(interpreter.label):
            continue
        for what, words in (
                ("strata calls", ["calls", "--summary", "--", interpreter.path, "-c", wait]),
                ("names in a script", ["trace", "-e", TELLS % interpreter.path, "-c", "%s -c '%s'" % (interpreter.path, wait)])):
            found, said = verified(words)
            if found and min(found) < 0:
                tap.skip("%s: %s" % (interpreter.label, what), "this kernel does not tell how much it verified")
            else:
                tap.ok(found and max(found) <= MOST, "%s: %s: %s programs, %s instructions at most" %
                       (interpreter.label, what, len(found), max(found, default=0)), said)
    tap.done()


main()
