#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench-threads: what a sample costs beside 5 and beside 5,000 other threads of the process, each of which wakes once a
second: microseconds in the kernel's interrupt (bpf_stats). Of the busy thread alone, of threads that live for one request, and of
all samples, the woken threads' among them: these have nothing in the processor's caches. The median of some rounds, by turns.
Needs root. Asserts nothing. PYTHONS: interpreters, else python3."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FEW, MANY = 5, 5000
HZ, SECONDS = 499, "8"
ROWS = {"the busy thread": (["--exclude", "comm=idle"], []),
        "threads of one request each": (["--exclude", "comm=idle"], ["requests"]),
        "all samples": ([], [])}


def run(strata, python, threads, filters, how, folder):
    stats = os.path.join(folder, "stats.json")
    subprocess.run([strata, "record", "-F", str(HZ), "-o", os.path.join(folder, "out.folded"), "--stats", stats, *filters, "--", python,
                    os.path.join(HERE, "threads_work.py"), str(threads), SECONDS, *how], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(stats, encoding="utf-8") as file:
        told = json.load(file)
    return told["bpf"]["run_ns"] / told["samples"] / 1000, 100 * told["complete"] / told["samples"], told["bpf"]["thread_states"]


def measure(strata, python, rounds, folder):
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.strip()
    print("%s, %d Hz" % (version, HZ))
    found = {}
    for _ in range(rounds):
        for name, (filters, how) in ROWS.items():
            for threads in FEW, MANY:
                found.setdefault((name, threads), []).append(run(strata, python, threads, filters, how, folder))
    for name in ROWS:
        few, many = (statistics.median(cost for cost, _, _ in found[name, threads]) for threads in (FEW, MANY))
        least = min(share for _, share, _ in found[name, MANY])
        print("  %-28s %6.2f us beside %d, %6.2f beside %d: %.2f times; complete %.2f %%, thread lists searched %d" %
              (name, few, FEW, many, MANY, many / few, least, max(lists for _, _, lists in found[name, MANY])))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for python in os.environ.get("PYTHONS", shutil.which("python3")).split():
            measure(options.strata, python, int(os.environ.get("BENCH_ROUNDS", "3")), folder)


main()
