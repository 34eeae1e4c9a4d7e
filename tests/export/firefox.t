#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Firefox's processed profile format: valid by its definition, and the same samples as folded. tests/lab/firefox.t has it read by
the Firefox Profiler's own code."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import firefox_profile  # noqa: E402
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
tap = Tap()


def folded(path):
    """The stacks below the comm and their counts."""
    stacks = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines.read().split("\n")[:-1]:
            stack, count = line.rsplit(" ", 1)
            stack = stack.partition(";")[2]
            stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def check(directory, kind, stacks, scale=1):
    prefix = os.path.join(directory, kind)
    subprocess.run([os.path.join(BUILD, "tests/export/make_profile"), kind, str(stacks), prefix], check=True)
    profile = firefox_profile.Profile(firefox_profile.load(prefix + ".firefox.json.gz"))
    found = list(firefox_profile.faults(profile.data))
    tap.ok(not found, f"{kind}: valid", "; ".join(found[:3]))
    expected, counted = folded(prefix + ".folded"), profile.folded()
    tap.ok(counted.keys() == expected.keys(), f"{kind}: the stacks of folded", sorted(counted.keys() ^ expected.keys())[:3])
    tap.ok(all(abs(counted.get(s, 0) * scale - n) < 1 for s, n in expected.items()), f"{kind}: their weights")
    return profile


def check_timed(directory):
    profile = check(directory, "timed", 1, scale=1000)
    threads = profile.data["threads"]
    tap.ok([(t["name"], t["processName"], t["isMainThread"], t["pid"], t["tid"]) for t in threads] ==
           [("python3", "renamed", True, "7", 7), ("renamed", "renamed", True, "7", "7.1")], "a thread that was renamed is two",
           [(t["name"], t["processName"], t["tid"]) for t in threads])
    samples = threads[0]["samples"]
    tap.ok(samples["time"] == [90, 100, 110, 610, 640, 650], "each sample begins where its time does, and what nothing is known "
           "of is a gap", samples["time"])
    tap.ok([s is None for s in samples["stack"]] == [False, False, False, True, False, True], "gaps have no stack", samples["stack"])
    tap.ok(samples["weight"] == [10, 10, 500, 0, 10, 0] and samples["weightType"] == "tracing-ms", "weights are milliseconds",
           samples["weight"])
    tap.ok(samples["threadCPUDelta"] == [0, 10000000, 10000000, 0, 0, 10000000], "a thread that waits uses no CPU",
           samples["threadCPUDelta"])
    tap.ok(profile.clock() == "exact", "the times are exact, and it says so", profile.clock())


def check_places(profile):
    shared = profile.shared
    addresses = sorted(a for a in shared["frameTable"]["address"] if a != -1)
    tap.ok(addresses == [0x4A00, 0x4A01, 0x4A02], "stripped: addresses where the frames have them", addresses)
    lib = profile.data["libs"][0]
    tap.ok(lib["path"] == "/usr/lib/libz.so.1.2.13" and lib["codeId"] == "c0ffee0123456789", "stripped: the library", lib)


def main():
    with tempfile.TemporaryDirectory(prefix="strata-firefox-") as directory:
        web = check(directory, "web", 1000)
        tap.ok(len(web.data["threads"]) == 8 and len({t["pid"] for t in web.data["threads"]}) == 2, "one track a thread")
        tap.ok("right to 100 ms" in web.clock(), "how exact the times are is told", web.clock())
        ends = [t["samples"]["time"][-1] for t in web.data["threads"]]
        tap.ok(25000 < max(ends) <= 30020 + 110, "they go over the recording", ends)
        tick = 1e9 / 99
        for thread in web.data["threads"][:2]:
            cpu, weight = sum(thread["samples"]["threadCPUDelta"]), sum(thread["samples"]["weight"])
            tap.ok(abs(cpu - weight * tick) < 0.01 * cpu, "threadCPUDelta is a tick for each sample", cpu, weight * tick)
        check(directory, "hostile", 1)
        check(directory, "deep", 500)
        waits = check(directory, "waits", 1)
        names = {c["name"]: i for i, c in enumerate(waits.data["meta"]["categories"])}
        frames = waits.shared["frameTable"]
        kinds = {waits.frame(i).partition(" (")[0]: frames["category"][i] for i in range(frames["length"])}
        tap.ok([kinds[n] for n in ("load", "schedule [k]", "PyObject_Call", "[waiting: futex]")] ==
               [names[n] for n in ("Python", "Kernel", "Native", "Waiting")], "categories by kind", kinds)
        tap.ok("not known" in waits.clock(), "no times, and it says so", waits.clock())
        check_timed(directory)
        check_places(check(directory, "stripped", 3))
        empty = check(directory, "empty", 0)
        tap.ok([t["name"] for t in empty.data["threads"]] == ["nothing was sampled"], "no samples")
        if len(sys.argv) > 1:  # a file to check by hand
            tap.ok(not list(firefox_profile.faults(firefox_profile.load(sys.argv[1]))), sys.argv[1])
    tap.done()


main()
