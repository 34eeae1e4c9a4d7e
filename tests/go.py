# SPDX-License-Identifier: GPL-2.0-or-later
"""The Go toolchains at hand: the first in PATH, and those of Debian's packages. Users have either."""
import glob
import os
import shutil
import subprocess


# Where go itself has it; a test may change HOME.
CACHE = os.environ.get("GOCACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "go-build")


def environment(**more):
    """What go runs with. One cache for all tests and runs: Go's library, and go tool pprof, take 40 s of CPU time to compile."""
    return dict(os.environ, GOCACHE=CACHE, GO111MODULE="off", GOTOOLCHAIN="local", **more)


def toolchains():
    """[(version, path of go)], one of each version; empty where there is none."""
    found = {}
    for path in [shutil.which("go")] + sorted(glob.glob("/usr/lib/go-*/bin/go")):
        if path:
            done = subprocess.run([path, "version"], capture_output=True, text=True, check=True, env=environment())
            found.setdefault(done.stdout.split()[2], path)
    return list(found.items())
