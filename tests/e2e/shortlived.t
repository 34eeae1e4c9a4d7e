#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that live 30 ms: 200 runs of `python3 -c 'import json'` lose no Python name."""
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

tap = e2e.Tap()
with e2e.folder() as where:
    done = e2e.record("-F", "999", "-o", where + "/x.folded", "--stats", where + "/x.json", "--", "sh", "-c",
                      "i=0; while [ $i -lt 200 ]; do %s -c 'import json'; i=$((i + 1)); done" % e2e.PYTHON)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    if tap.ok(done.returncode == 0, "200 interpreters, one after the other", done.stderr):
        stacks, stats = e2e.folded(where + "/x.folded"), e2e.load(where + "/x.json")
        python = [(frames, count) for frames, count in stacks if frames[0].startswith("python")]
        frames = {f for stack, _ in python for f in stack if e2e.PYTHON_FRAME.match(f)}
        names = [e2e.PYTHON_FRAME.match(f).groups() for f in frames]
        seconds = usage.ru_utime + usage.ru_stime - stats["self"]["cpu_s"]
        tap.ok(e2e.total(stacks) >= e2e.due(seconds, 999), "samples of %.1f s: %d" % (seconds, e2e.total(stacks)))
        tap.ok(e2e.total(python) > 0.5 * e2e.total(stacks), "in the interpreters: %d" % e2e.total(python))
        nameless = [n for n in names if not n[0] or not n[1] or n[0].startswith(("0x", "[", "?")) or n[1].startswith("0x")]
        tap.equal(nameless, [], "every Python frame has a name and a file")
        # CPython 3.11 gives a module's first instruction, RESUME, line 0.
        tap.equal([n for n in names if int(n[2]) < (n[0] != "<module>")], [], "and a line")
        tap.ok(any("_find_and_load" == n[0] for n in names), "importing is there")
        tap.ok(any(n[1].endswith("json/decoder.py") for n in names), "and so is json/decoder.py")
        running = e2e.share(python, lambda f: any(e2e.PYTHON_FRAME.match(x) for x in f))
        tap.ok(running > 0.2, "samples with Python frames: %.1f %%" % (100 * running))
        unknown = e2e.share(python, lambda f: any(x.startswith("[unknown") for x in f))
        tap.ok(unknown < 0.01, "samples with an unknown frame: %.2f %%" % (100 * unknown), stats["lost"])
        print("# complete %.3f %%, late %d, lost: %s" % (100 * e2e.complete(stats), stats["late_samples"], stats["lost"]))
        tap.ok(sum(stats["lost"].values()) >= stats["samples"] - stats["complete"], "what is not complete has a reason")
tap.done()
