# SPDX-License-Identifier: GPL-2.0-or-later
"""The Go toolchains at hand: the first in PATH, and those of Debian's packages. Users have either."""
import glob
import os
import shutil
import subprocess


BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build"))


def environment(**more):
    """What go runs with. One cache for all tests: Go's library, and go tool pprof, take 40 s of CPU time to compile."""
    return dict(os.environ, GOCACHE=os.path.join(os.path.abspath(BUILD), "go"), GO111MODULE="off", GOTOOLCHAIN="local", **more)


def toolchains():
    """[(version, path of go)], one of each version; empty where there is none."""
    found = {}
    for path in [shutil.which("go")] + sorted(glob.glob("/usr/lib/go-*/bin/go")):
        if path:
            done = subprocess.run([path, "version"], capture_output=True, text=True, check=True, env=environment())
            found.setdefault(done.stdout.split()[2], path)
    return list(found.items())
