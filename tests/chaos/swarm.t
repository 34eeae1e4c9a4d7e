#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Five hundred processes (in the long form four thousand) of 20 to 50 ms of CPU time, of every interpreter at hand and of other
programs: nearly all stacks are whole, and what is not has its reason. SWARM=N asks for another number."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge  # noqa: E402

COUNT = int(os.environ.get("SWARM", 1000 * e2e.SCALE if e2e.LONG else 500))
PYTHON = """import json, re
def encode(n): return json.dumps({str(i): i for i in range(n)})
def scan(text): return re.sub(r"[0-9]+", lambda m: m.group(0)[::-1], text)
for _ in range(6): scan(encode(900))
"""
PERL = "my %h; for my $i (1 .. 25000) { $h{$i % 100} .= sprintf('%d', $i) } print length(join '', sort values %h) > 0 ? '' : 1;"
AWK = "BEGIN { for (i = 0; i < 120000; i++) s += length(i \"\") }"
BASH = "for ((i = 0; i < 6000; i++)); do x=$((i * 7 % 13)); done"


def swarm(where, storm):
    """[command]: ten kinds and more."""
    pythons = [e2e.PYTHON] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    kinds = [[python, "-c", PYTHON] for python in pythons]
    kinds += [["perl", "-e", PERL], ["awk", AWK], ["bash", "-c", BASH], [storm, "libraries", "0.03", where + "/alpha.so", where + "/omega.so"],
              [storm, "threads", "0.03"], ["sh", "-c", "gzip -c /bin/bash > /dev/null"]]
    return kinds


def work(where, storm, number):
    kinds = swarm(where, storm)
    running = []
    for i in range(int(number)):
        if len(running) == 2:
            running.pop(0).wait()
        running.append(subprocess.Popen(kinds[i % len(kinds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for process in running:
        process.wait()


def main(tap, where, storm):
    done = e2e.record("-q", "-F", 499, "-o", where + "/c.folded", "--stats", where + "/c.json", "--", "nice", "-n", "5",
                      sys.executable, os.path.abspath(__file__), "work", where, storm, COUNT)
    judge(tap, "%d processes of %d kinds" % (COUNT, len(swarm(where, storm))), where, done, COUNT * 0.02, 499)
    stats = e2e.load(where + "/c.json")
    lost = sorted(stats["lost"].items(), key=lambda x: -x[1])
    print("# %d samples, complete %.3f %%, late %d, lost: %s" % (stats["samples"], 100 * e2e.complete(stats), stats["late_samples"], lost))


if len(sys.argv) > 1:
    work(*sys.argv[2:])
else:
    chaos.main(main)
