#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A Python in another root, as in a container: its files are opened through that root, by paths that only it has."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 2, 397
SCRIPT = """import sys
def inner(n):
    return sum(i * i for i in range(n))

def plain(n):
    for i in range(n): pass

def outer():
    import time
    print("ready")
    sys.stdout.flush()
    sys.stdin.readline()
    end = time.process_time() + %s
    while time.process_time() < end:
        inner(20000)
        plain(60000)

outer()
"""


def libraries(program):
    text = subprocess.check_output(["ldd", program]).decode()
    return re.findall(r"(/[^ ]+\.so[^ ]*)", text)


def make_root(root):
    """A root whose interpreter lies where this system has none."""
    program = os.path.realpath(e2e.PYTHON)
    os.makedirs(root + "/opt/elsewhere")
    shutil.copy2(program, root + "/opt/elsewhere/snake")
    for library in libraries(program):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy2(library, root + library)
    standard = os.path.dirname(os.__file__)
    shutil.copytree(standard, root + standard, symlinks=True, ignore=shutil.ignore_patterns(
        "test", "dist-packages", "site-packages", "__pycache__", "idlelib", "ensurepip", "tkinter", "config-*"))
    with open(root + "/work.py", "w") as file:
        file.write(SCRIPT % SECONDS)
    os.makedirs(root + "/dev")


def is_loop(frame):
    return frame.startswith("_PyEval_EvalFrameDefault")


def has_loop_below_python(frames):
    """While it is entered or left, the innermost loop has no Python frame; what interrupts it may be above it."""
    loop = next(i for i, frame in enumerate(frames) if is_loop(frame))
    return any(is_loop(frame) or e2e.PYTHON_FRAME.match(frame) for frame in frames[loop + 1:])


def judge(tap, words, out, stats, comm):
    stacks = [(f, c) for f, c in e2e.folded(out) if f[0] == comm]
    inside = [(f, c) for f, c in stacks if any(x.startswith("outer (/work.py:") for x in f)]
    tap.ok(e2e.total(inside) >= e2e.due(SECONDS, HZ), "%s: %d samples with the program's frames" % (words, e2e.total(inside)),
           "; ".join(stacks[0][0]) if stacks else "none of %s" % comm)
    tap.ok(inside and e2e.share(inside, lambda f: any(re.match(r"inner \(/work.py:3\)|plain \(/work.py:6\)", x) for x in f)) > 0.9,
           "%s: names, file and lines" % words)
    # A generator is entered for every number: 4.3 % of the samples meet the loop before its frame is linked (docs/FACTS.md).
    parts = {name: [(f, c) for f, c in inside if any(x.startswith(name) for x in f)] for name in ("inner (", "plain (")}
    left = [(f, c) for f, c in parts["inner ("] if any(map(is_loop, f))]
    likely = 0.05 * e2e.total(parts["inner ("])
    bare = e2e.share(parts["plain ("], lambda f: any(map(is_loop, f)))
    tap.ok(parts["plain ("] and bare <= 0.005, "%s: where no loop is entered, none is without its Python frame: %.2f %%" %
           (words, 100 * bare))
    tap.ok(not any(map(has_loop_below_python, (f for f, _ in left))) and e2e.total(left) < likely + 4 * likely ** 0.5,
           "%s: no interpreter loop without its Python frames, but %d samples at its entry" % (words, e2e.total(left)), "\n".join("; ".join(f[8:]) for f, _ in left))
    tap.equal([f for f, _ in inside if any(x.startswith("[unknown") for x in f)], [], "%s: nothing unknown" % words)
    tap.ok(any("(snake)" in x for f, _ in inside for x in f), "%s: native frames name its file" % words)
    figures = e2e.load(stats)
    tap.ok(e2e.complete(figures) >= 0.99, "%s: complete %.2f %%" % (words, 100 * e2e.complete(figures)), figures["lost"])


tap = e2e.Tap()
with e2e.folder() as where:
    root = where + "/root"
    make_root(root)
    command = ["chroot", root, "/opt/elsewhere/snake", "-S", "-B", "/work.py"]
    environment = dict(os.environ, PYTHONHOME="/usr")
    out, stats = where + "/c.folded", where + "/c.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", *command, env=environment)
    if tap.ok(done.returncode == 0, "started by strata", done.stderr):
        judge(tap, "started", out, stats, "snake")
    done = e2e.record_rest(e2e.start(command, env=environment), "-F", HZ, "-o", out, "--stats", stats)
    if tap.ok(done.returncode == 0, "attached; the recording ends with its target", done.stderr):
        judge(tap, "attached", out, stats, "snake")
tap.done()
