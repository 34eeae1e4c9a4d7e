#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints docs/LAB.md's table: what `strata inspect` finds in every interpreter at hand, the lab's builds (STRATA_LAB) and those
that tests/python/interpreters lists, and how long the analysis takes the first time and from the cache: the best of some runs."""
import glob
import json
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA = os.environ.get("STRATA", os.path.join(HERE, "../../build/strata"))
LAB = os.environ.get("STRATA_LAB") or "/var/tmp/strata-lab"
RUNS = 9


def interpreters():
    """[(name, file)]"""
    for path in sorted(glob.glob(LAB + "/builds/*/build.json")):
        folder, name = os.path.dirname(path), os.path.basename(os.path.dirname(path))
        shared = glob.glob(folder + "/obj/libpython3.*.so.1.0")
        for twin in ("", "-stripped"):
            file = (shared[0] if shared else folder + "/obj/python") + twin
            if os.path.exists(file):
                yield name + twin.replace("-", ", "), file
    listed = subprocess.run([os.path.join(HERE, "../python/interpreters")], stdout=subprocess.PIPE, universal_newlines=True,
                            env=dict(os.environ, STRATA_LAB=LAB))
    for root, program, file in (line.split("\t") for line in listed.stdout.splitlines()):
        where = "pyenv" if "/.pyenv/" in program else "Cloud SDK" if "google" in program else "system"
        version = re.search(r"3\.\d+", os.path.basename(file)).group()
        yield "%s %s%s" % (where if root == "/" else os.path.basename(root), version, " dbg" if program.endswith("d") else ""), file
    # Debian's programs have the interpreter in them; its libraries serve others.
    for root in ["/"] + sorted(glob.glob(LAB + "/*/")):
        for file in sorted(glob.glob(root + "usr/lib/*/libpython3.[0-9]*.so.1.0")):
            where = "system" if root == "/" else os.path.basename(root.rstrip("/"))
            yield "%s, %s" % (where, os.path.basename(file).split(".so")[0]), file


def inspect(file, *options):
    done = subprocess.run([STRATA, "inspect", "--json", *options, file], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.decode())


def evidence(parts):
    counts = {}
    for part in parts:
        counts[part["evidence"]] = counts.get(part["evidence"], 0) + 1
    return "; ".join(words + (", %d times" % count if count > 1 else "") for words, count in counts.items())


def main():
    print("| build | loop | evidence | thread state | offsets | first | cached |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name, file in interpreters():
            first = [inspect(file, "--no-cache") for _ in range(RUNS)]
            kept = [inspect(file) for _ in range(RUNS + 1)][1:]
            found, size = first[0], {"hot": 0, "cold": 0}
            for part in found["eval_loop"]:
                size[part["part"]] += part["end"] - part["start"]
            times = [min(one["timings"]["analysis_ms"] for one in runs) for runs in (first, kept)]
            print("| %s | %d + %d | %s | %s | %s | %.1f | %.2f |" % (
                name, size["hot"], size["cold"], evidence(found["eval_loop"]), found["thread_state"]["source"],
                found["offsets"]["source"], times[0], times[1]), flush=True)


main()
