#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""way_out.t: rules by the ways out of functions against .eh_frame: one instruction in so many is asked for as if its function had no
FDE (check_way_out.c). Padding that never runs, and code that calls what does not return, differ: what is found on the stack of a
sample must agree before such a rule is used."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
LIBRARIES = "/lib/x86_64-linux-gnu"
EVERY = 97
FILES = ("libc.so.6", "libz.so.1", "libcrypto.so.3", "libstdc++.so.6")

tap = Tap()
for name in FILES:
    path = os.path.join(LIBRARIES, name)
    if not os.path.exists(path):
        print("# %s is not installed" % path)
        continue
    done = subprocess.run([BUILD + "/tests/elf/check_way_out", "-n", str(EVERY), path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    words = lines[-1].split() if lines else []
    if not tap.ok(words[:1] == ["differences"], name + ": asked", done.stderr):
        continue
    found = dict(zip(words[::2], map(int, words[1::2])))
    tap.ok(found["found"] >= 0.75 * found["asked"], "%s: %d of %d have a rule" % (name, found["found"], found["asked"]))
    tap.ok(found["differences"] <= 0.015 * found["compared"] + 2, "%s: %d of %d differ" % (name, found["differences"], found["compared"]),
           *lines[:10])
tap.done()
