#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof's format, as each go tool pprof at hand reads it: its totals are those of the folded output."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import go  # noqa: E402
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
tap = Tap()


def pprof(compiler, directory, *arguments):
    environment = go.environment(HOME=directory, PPROF_TMPDIR=directory, TZ="UTC")
    done = subprocess.run([compiler, "tool", "pprof", *arguments], env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"


def make(directory, kind, stacks):
    prefix = os.path.join(directory, kind)
    subprocess.run([os.path.join(BUILD, "tests/export/make_profile"), kind, str(stacks), prefix], check=True)
    return prefix


def folded(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines.read().split("\n")[:-1]:
            stack, count = line.rsplit(" ", 1)
            yield stack.split(";")[1:], int(count)


def function_name(text):
    """`name (file:line)`, `name (module)`, `name [k]` without what follows the name."""
    return re.sub(r" (\[k\]|\([^()]*\))$", "", text)


def totals(samples):
    """{name: (flat, cumulative)}"""
    flat, cumulative = {}, {}
    for frames, count in samples:
        names = [function_name(frame) for frame in frames]
        flat[names[-1]] = flat.get(names[-1], 0) + count
        for name in set(names):
            cumulative[name] = cumulative.get(name, 0) + count
    return {name: (flat.get(name, 0), cumulative[name]) for name in cumulative}


def table(text):
    """pprof -top's rows, in the form of totals()."""
    rows = {}
    for line in text.split("flat%")[-1].split("\n")[1:]:
        columns = line.split(None, 5)
        if len(columns) == 6:
            rows[columns[5]] = (int(columns[0]), int(columns[3]))
    return rows


def check_web(compiler, directory):
    prefix = make(directory, "web", 2000)
    file, samples = prefix + ".pb.gz", list(folded(prefix + ".folded"))
    total = sum(count for _, count in samples)
    top = pprof(compiler, directory, "-top", "-nodecount=100000", "-nodefraction=0", "-sample_index=samples", file)
    tap.ok(f"of {total} total" in top, "the total is folded's", top[:300])
    tap.ok(table(top) == totals(samples), "flat and cumulative counts of every function",
           list(set(table(top).items()) ^ set(totals(samples).items()))[:6])
    cpu = pprof(compiler, directory, "-top", "-unit=ms", file)
    found = re.search(r"of ([0-9.]+)ms total", cpu)
    tap.ok("Type: cpu" in cpu and found and abs(float(found.group(1)) - total * 1000 / 99) < 5, "CPU time: samples / 99 Hz", cpu[:300])
    tap.ok("Duration: 30.02s" in cpu and re.search(r"Time: (2025-10-09 08:53:20 UTC|Oct 9, 2025 at 8:53am \(UTC\))", cpu), "time and duration", cpu[:300])
    raw = pprof(compiler, directory, "-raw", file)
    tap.ok("Period: 10101010" in raw and "PeriodType: cpu nanoseconds" in raw, "the period")
    for text in ("comm:[worker]", "thread:[worker]", "pid:[1201]", "tid:[1203]"):
        tap.ok(text in raw, f"label {text}", raw[:600])
    workers = sum(int(count) for count, labels in re.findall(r"^\s+(\d+)\s+\d+: [\d ]+\n(.*)\n", raw, re.M) if "pod:[shop/cart-7d9f]" in labels)
    focused = pprof(compiler, directory, "-top", "-sample_index=samples", "-tagfocus=container=app", file)
    tap.ok(0 < workers < total and f"of {total} total" in focused and re.search(rf"\b{workers}, [0-9.]+% of {total} total", focused),
           "containers and pods are labels", workers, focused[:300])
    tap.ok("unit:[web.service]" in raw and "cgroup:[/system.slice/web.service]" in raw, "and so are units, and cgroups", raw[:600])
    tap.ok("Handlers.page_0 /srv/shop/handlers.py:10" in raw, "files and lines")
    tap.ok("[kernel.kallsyms]" in raw and "libsqlite3.so.0.8.6" in raw, "mappings")
    tap.ok("<module>" in table(top) and "rank.<locals>.<lambda>" in table(top), "Python's names are left as they are")
    comments = pprof(compiler, directory, "-comments", file)
    tap.ok("complete" in comments and "100.00 %" in comments and "ns a frame" in comments, "the data's quality as comments", comments)
    lines = pprof(compiler, directory, "-top", "-lines", "-sample_index=samples", "-show=dispatch", file)
    expected = sum(count for frames, count in samples if "dispatch (/srv/shop/app.py:80)" in frames)
    tap.ok(re.search(rf"\b{expected}\s+\S+\s+dispatch /srv/shop/app.py:80", lines), "by line", lines)


def check_stripped(compiler, directory):
    file = make(directory, "stripped", 3) + ".pb.gz"
    top = table(pprof(compiler, directory, "-top", "-sample_index=samples", file))
    tap.ok(top == {"0x49f0": (3, 3), "main": (0, 3)}, "addresses in one function are one function", str(top))
    raw = pprof(compiler, directory, "-raw", file)
    tap.ok(re.search(r"^\d+: 0x0/0x0/0x0 libz\.so\.1\.2\.13 c0ffee0123456789", raw, re.M), "the mapping has its build id", raw[-600:])
    found = sorted(re.findall(r"^\s*\d+: (0x4a0\d) M=\d+ 0x49f0 libz", raw, re.M))
    tap.ok(found == ["0x4a00", "0x4a01", "0x4a02"], "which are all there", str(found), raw[:1500])


def check(compiler, directory):
    check_web(compiler, directory)
    prefix = make(directory, "hostile", 1)
    top = pprof(compiler, directory, "-top", "-sample_index=samples", prefix + ".pb.gz")
    tap.ok("of 11 total" in top, "hostile names", top)
    prefix = make(directory, "deep", 15000)
    top = pprof(compiler, directory, "-top", "-sample_index=samples", prefix + ".pb.gz")
    tap.ok("10, 100% of 10 total" in top, "15,000 frames", top[:300])
    check_stripped(compiler, directory)
    prefix = make(directory, "empty", 0)
    tap.ok("Type: cpu" in pprof(compiler, directory, "-top", prefix + ".pb.gz"), "no samples")


def main():
    if not go.toolchains():
        tap.skip("pprof's own reader", "no go")
    for version, compiler in go.toolchains():
        print("# " + version)
        with tempfile.TemporaryDirectory(prefix="strata-pprof-") as directory:
            check(compiler, directory)
    tap.done()


main()
