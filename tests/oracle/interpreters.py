# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPythons at hand: Debian's, pyenv's, the Google Cloud SDK's, and those of the lab (tests/lab) in the folder STRATA_LAB:
trees to chroot into, and builds."""
import collections
import glob
import json
import os
import re
import subprocess

# root is None or the directory to chroot into; path is inside it
Interpreter = collections.namedtuple("Interpreter", "label path root version real")
# Without `site`, and without `platform`: of each interpreter of a machine, in each test that asks.
PROBE = ("import os,sys;print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3], "
         "('-debug' if hasattr(sys, 'gettotalrefcount') else '') + "
         "('' if getattr(sys, '_is_gil_enabled', lambda: True)() else '-nogil') or '-', os.path.realpath(sys.executable))")
NEWEST = (3, 15)  # what strata knows; a later one it refuses to walk


def probe(path, root=None, origin=""):
    command = (["chroot", root] if root else []) + [path, "-S", "-E", "-c", PROBE]
    try:
        words = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120).decode().split(None, 3)
    except (OSError, subprocess.SubprocessError):
        return None
    version = tuple(int(v) for v in words[1].split("."))
    if words[0] != "cpython" or version < (3, 6) or version[:2] > NEWEST:
        return None
    kind = "" if words[2] == "-" else words[2]
    label = origin if origin.startswith("%d.%d-" % version[:2]) else "%s-%s%s" % (origin, words[1], kind)
    return Interpreter(label, path, root, version, (root or "") + words[3].strip())


def candidates():
    for path in glob.glob("/usr/bin/python3*") + glob.glob("/usr/local/bin/python3*"):
        yield path, None, "system"
    for root in ("/root/.pyenv", os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")):
        for path in sorted(glob.glob(root + "/versions/*/bin/python3")):
            yield path, None, "pyenv"
    yield "/usr/lib/google-cloud-sdk/platform/bundledpythonunix/bin/python3", None, "cloudsdk"
    if not os.environ.get("STRATA_LAB"):
        return
    for root in sorted(glob.glob(os.environ["STRATA_LAB"] + "/*")):
        for path in glob.glob(root + "/usr/bin/python3*") + glob.glob(root + "/usr/local/bin/python3*"):
            yield path[len(root):], root, os.path.basename(root.rstrip("/"))
    for path in sorted(glob.glob(os.environ["STRATA_LAB"] + "/builds/*/build.json")):
        with open(path, encoding="utf-8") as file:
            build = json.load(file)
        yield build["program"], None, build["name"]
        yield build["stripped"], None, build["name"] + "-stripped"


def discover():
    found = {}
    for path, root, origin in candidates():
        if not re.match(r"^python(3(\.\d+)?[dt]?|-stripped)?$", os.path.basename(path)):
            continue
        interpreter = probe(path, root, origin) if os.path.exists((root or "") + path) else None
        if interpreter is not None:
            found.setdefault(interpreter.real, interpreter)
    return sorted(found.values(), key=lambda i: (i.version, i.label))


def representative(interpreters):
    here = [i for i in interpreters if i.root is None]
    chosen = [i for i in here if i.version < (3, 7)][:1] + [i for i in here if (3, 7) <= i.version < (3, 11)][-1:] + \
        [i for i in here if i.label.startswith("system")][:1] + here[-1:]
    return sorted(set(chosen), key=lambda i: i.version)


def representative_and_312(interpreters):
    """The same, and one of 3.12."""
    return sorted(set(representative(interpreters) + [i for i in interpreters if i.root is None and i.version[:2] == (3, 12)][:1]),
                  key=lambda i: i.version)


if __name__ == "__main__":
    for interpreter in discover():
        print("%-20s %s %s" % (interpreter.label, interpreter.path, interpreter.root or ""))
