#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Large files, whose rows come when a walk meets them: no sample is lost by that, every function has its name, and the memory goes
by what was sampled. The program is a compiler with more than 100 MB of libraries."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

HZ = 199
HEADERS = ("regex", "map", "iostream", "algorithm", "functional", "random", "unordered_map", "thread", "future")
SOURCE = "".join("#include <%s>\n" % name for name in HEADERS) + "int main(int n, char **) { std::regex a(\"x*y\"); " + \
    "std::map<std::string, int> b; return std::regex_match(\"xy\", a) + (int)b.size() + n; }\n"
PEAK_KB = 64 << 10


def main():
    tap = e2e.Tap()
    compiler = shutil.which("clang++")
    if not compiler:
        print("1..0 # SKIP clang is not installed")
        return
    with e2e.folder() as folder:
        source, out, stats = folder + "/a.cpp", folder + "/out.folded", folder + "/stats.json"
        with open(source, "w") as file:
            file.write(SOURCE)
        done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", compiler, "-std=c++17", "-O2", "-c", "-o", "/dev/null", source)
        tap.ok(done.returncode == 0, "clang is recorded", done.stderr)
        with open(stats) as file:
            figures = json.load(file)
        tap.ok(figures["complete"] >= 0.99 * figures["samples"] > 50,
               "%(complete)d of %(samples)d samples are complete, %(late_samples)d were late" % figures, figures["lost"])
        tap.ok(0 < figures["late_samples"] < figures["samples"], "some of them met code without rows, and brought them")
        tap.ok(figures["self"]["peak_rss_kb"] < PEAK_KB, "in %d kB" % figures["self"]["peak_rss_kb"])
        with open(out) as file:
            stacks = file.read().splitlines()
        frames = [frame for line in stacks for frame in line.rpartition(" ")[0].split(";") if "libLLVM" in frame or "libclang" in frame]
        named = [frame for frame in frames if not frame.startswith("0x")]
        tap.ok(len(named) > 100, "%d of %d frames of its libraries have names" % (len(named), len(frames)))
    tap.done()


main()
