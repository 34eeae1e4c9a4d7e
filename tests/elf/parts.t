#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""parts.t: the rows of large files, compiled a part at a time, against those of the whole file (check_parts.c): at no row of
either one do they differ. In between, code without FDEs: Chromium's, which keeps frame pointers."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
FILES = ["/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/chromium/chromium", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1"]
SMALL = "/lib/x86_64-linux-gnu/libc.so.6"


def check(path):
    return subprocess.run([f"{BUILD}/tests/elf/check_parts", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main():
    tap = Tap()
    for path in FILES:
        name = os.path.basename(path)
        if not Path(path).exists():
            tap.skip(name, "not installed")
            continue
        done = check(path)
        last = done.stdout.splitlines()[-1:] or [""]
        words = last[0].split()
        found = dict(zip(words[::2], map(int, words[1::2]))) if words[:1] == ["rows"] else {}
        tap.ok(done.returncode == 0 and found.get("differences") == 0 and found["rows"] > 10000,
               f"{name}: {found.get('rows')} rows in {found.get('parts')} parts, no difference",
               *done.stdout.splitlines()[:12], done.stderr)
    done = check(SMALL)
    tap.ok(done.returncode == 0 and done.stdout == "whole\n", "a small file is compiled as a whole", done.stdout, done.stderr)
    tap.done()


if __name__ == "__main__":
    main()
