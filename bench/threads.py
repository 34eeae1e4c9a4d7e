#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench-threads: what a sample costs beside other threads of the process: microseconds in the kernel's interrupt (bpf_stats).
Beside 5 and 5,000 that wake once a second each; and, since it is the wake-ups that empty the processor's caches, beside 5 that wake
5,000 times a second in all. Of the busy thread alone, of threads that live for one request, and of all samples, the woken threads'
among them. The median of some rounds, by turns. Needs root. Asserts nothing. PYTHONS: interpreters, else python3."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BESIDE = {"5": (5, 5), "5, as many wake-ups": (5, 5000), "5,000": (5000, 5000)}
HZ, SECONDS = 499, "8"
ROWS = {"the busy thread": (["--exclude", "comm=idle"], []),
        "threads of one request each": (["--exclude", "comm=idle"], ["requests"]),
        "all samples": ([], [])}


def run(strata, python, beside, filters, how, folder):
    stats = os.path.join(folder, "stats.json")
    threads, wake_ups = beside
    subprocess.run([strata, "record", "-F", str(HZ), "-o", os.path.join(folder, "out.folded"), "--stats", stats, *filters, "--", python,
                    os.path.join(HERE, "threads_work.py"), str(threads), SECONDS, str(wake_ups), *how], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(stats, encoding="utf-8") as file:
        told = json.load(file)
    return told["bpf"]["run_ns"] / told["samples"] / 1000, 100 * told["complete"] / told["samples"]


def measure(strata, python, rounds, folder):
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.strip()
    print("%s, %d Hz: microseconds a sample beside so many threads" % (version, HZ))
    print("  %-30s %s  complete" % ("", " ".join("%20s" % name for name in BESIDE)))
    found = {}
    for _ in range(rounds):
        for name, (filters, how) in ROWS.items():
            for beside, numbers in BESIDE.items():
                found.setdefault((name, beside), []).append(run(strata, python, numbers, filters, how, folder))
    for name in ROWS:
        costs = ["%20.2f" % statistics.median(cost for cost, _ in found[name, beside]) for beside in BESIDE]
        print("  %-30s %s  %.2f %%" % (name, " ".join(costs), min(share for beside in BESIDE for _, share in found[name, beside])))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strata", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for python in os.environ.get("PYTHONS", shutil.which("python3")).split():
            measure(options.strata, python, int(os.environ.get("BENCH_ROUNDS", "3")), folder)


main()
