#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An interpreter whose file is mapped twice, as libffi does for its trampolines: the largest mapping says where Python is."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

# One page of the interpreter's own code, once below and once above everything else.
TWICE = """
import ctypes, re, sys
sys.stdout.flush()
rows = [l.split() for l in open("/proc/self/maps") if "r-xp" in l and re.search(r"python\\d[^/]*$", l)]
offset, path = int(rows[0][2], 16), rows[0][5]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
file = open(path, "rb")
for address in (0x200000, 0x7fffffff0000):
    print("%#x" % (libc.mmap(address, 4096, 5, 2 | 0x100000, file.fileno(), offset) or 0), address)
sys.stdout.flush()
def twice_mapped():
    while True: sum(range(300))
twice_mapped()
"""

PYTHONS = [e2e.PYTHON] + [p for p in (os.path.expanduser("~/.pyenv/versions/3.12.1/bin/python3"),) if os.path.exists(p)]

tap = e2e.Tap()
with e2e.folder() as where:
    for python in PYTHONS:
        target = subprocess.Popen([python, "-c", TWICE], stdout=subprocess.PIPE, universal_newlines=True)
        lines = [target.stdout.readline().split() for _ in range(2)]
        tap.ok(all(len(x) == 2 and int(x[0], 16) == int(x[1]) for x in lines), "%s is mapped twice more" % python, lines)
        done = e2e.record_used(target.pid, 0.8, "-q", "-F", 199, "-o", where + "/x.folded")
        target.kill()
        target.wait()
        if tap.ok(done.returncode == 0, "recorded", done.stderr):
            stacks = e2e.folded(where + "/x.folded")
            share = e2e.share(stacks, lambda f: any(x.startswith("twice_mapped (") for x in f))
            tap.ok(share > 0.95 and e2e.total(stacks) >= e2e.due(0.8, 199), "Python frames in %.1f %% of %d samples" %
                   (100 * share, e2e.total(stacks)))
    if len(PYTHONS) == 1:
        tap.skip("a shared libpython", "pyenv's 3.12.1 is not here")
tap.done()
