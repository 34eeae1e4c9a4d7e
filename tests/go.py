# SPDX-License-Identifier: GPL-2.0-or-later
"""The Go toolchains at hand: the first in PATH, and those of Debian's packages. Users have either."""
import glob
import os
import shutil
import subprocess


def toolchains():
    """[(version, path of go)], one of each version; empty where there is none."""
    found = {}
    for path in [shutil.which("go")] + sorted(glob.glob("/usr/lib/go-*/bin/go")):
        if path:
            done = subprocess.run([path, "version"], capture_output=True, text=True, check=True, env=dict(os.environ, GOTOOLCHAIN="local"))
            found.setdefault(done.stdout.split()[2], path)
    return list(found.items())
