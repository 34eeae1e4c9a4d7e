#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 -X perf (3.12+): every call goes through a stub of generated code that has no frame pointer."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 2, 199
SCRIPT = """import time
def leaf(n): return sum(i * i for i in range(n))
def mid(n): return sorted([3, 1, 2], key=lambda v: leaf(n))
def main():
    while time.process_time() < %s: mid(2000)
main()
""" % SECONDS


def interpreter():
    """One whose -X perf writes a perf map."""
    for path in sorted(glob.glob("/usr/bin/python3.1[2-9]") + glob.glob("/root/.pyenv/versions/3.1[2-9]*/bin/python3")):
        pid = subprocess.Popen([path, "-X", "perf", "-c", "pass"], stderr=subprocess.DEVNULL)
        if pid.wait() == 0 and os.path.exists("/tmp/perf-%d.map" % pid.pid):
            os.unlink("/tmp/perf-%d.map" % pid.pid)
            return path
    return None


tap = e2e.Tap()
path = interpreter()
if path is None:
    print("1..0 # SKIP no Python with -X perf at hand")
    sys.exit(0)
with e2e.folder() as where:
    out, stats = where + "/p.folded", where + "/p.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", path, "-X", "perf", "-c", SCRIPT)
    tap.ok(done.returncode == 0, "recorded", done.stderr)
    figures = e2e.load(stats)
    tap.ok(e2e.complete(figures) >= 0.98, "complete %.2f %%" % (100 * e2e.complete(figures)), figures["lost"])
    leaf = [f for f, _ in e2e.folded(out) if any(x.startswith("leaf ") for x in f) and e2e.THREAD_START.match(f[1])]
    tap.ok(leaf and all(any(x.startswith("py::leaf:") for x in f) for f in leaf), "the stubs bear their functions' names")
    chain = [[x.split(" ")[0] for x in f if e2e.PYTHON_FRAME.match(x)][:5] for f in leaf]
    tap.equal([c for c in chain if c != ["<module>", "main", "mid", "mid.<locals>.<lambda>", "leaf"]][:1], [],
              "and the Python frames are all there")
tap.done()
