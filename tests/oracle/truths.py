# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth about an interpreter's stacks, found once and kept for all tests that need it, and for later runs of them: tracing
every instruction takes some seconds of CPU time. It is kept outside of the tree, in $STRATA_TRUTH, else in
${XDG_CACHE_HOME:-~/.cache}/strata/truth, for all copies of the tree. What it depends on is in its name: the program, the
interpreter and its library."""
import fcntl
import glob
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = os.path.join(HERE, "program.py")  # to be run by this name: it is in its frames
KEPT = os.environ.get("STRATA_TRUTH") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "strata", "truth")
SOURCES = ("program.py", "roles.py", "spread.py", "truth.py", "scenarios/*.py")
# Beside an interpreter's folder: what else its stacks depend on. The folder of the library changes with what is in it.
LIBRARIES = ("lib/libpython3*", "lib/*/libpython3*", "lib/python3.*")
OLD_S = 30 * 86400  # one that nobody has used for so long is removed
# Of the run for the truth. Without the GIL, threads that trace each other's work wait for each other most of the time;
# each thread's stacks are the same with it.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_GIL": "1"}


class Failure(Exception):
    """The program did not end well; the text says how."""


def lay_out(interpreter, folder):
    """How the program is started: its command line up to its own options, and a folder for what it writes, as it sees it and
    as we do. That is `folder`; in another root a new one is made, for the caller to remove, with the program in it."""
    root = interpreter.root
    if root is None:
        return [interpreter.path, "-W", "ignore", PROGRAM], folder, folder
    if not os.path.exists(root + "/proc/self"):
        subprocess.run(["mount", "-t", "proc", "proc", root + "/proc"], check=True)
    outside = tempfile.mkdtemp(prefix="oracle-", dir=root + "/tmp")
    inside = outside[len(root):]
    shutil.copytree(HERE, outside + "/oracle")
    return ["chroot", root, interpreter.path, "-W", "ignore", inside + "/oracle/program.py"], inside, outside


def _name(interpreter):
    key = hashlib.sha256(repr(interpreter.path).encode())
    above = os.path.dirname(os.path.dirname(interpreter.real))
    for path in [interpreter.real] + sorted(p for pattern in LIBRARIES for p in glob.glob(os.path.join(above, pattern))):
        status = os.stat(path)
        key.update(repr((path, status.st_size, status.st_mtime_ns)).encode())
    for path in sorted(p for pattern in SOURCES for p in glob.glob(os.path.join(HERE, pattern))):
        with open(path, "rb") as file:
            key.update(file.read())
    return "%s-%s" % (interpreter.label, key.hexdigest()[:16])


def _in_json(path):
    return json.dumps(path)[1:-1].encode()


def _find(command, where, name, timeout):
    done = subprocess.run(command + ["--truth", os.path.join(where, name)],
                          env=dict(os.environ, TMPDIR=where, **ENVIRONMENT), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=timeout)
    if done.returncode:
        raise Failure("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))


def _remove_old():
    for path in glob.glob(os.path.join(KEPT, "*")):
        try:
            if time.time() - os.stat(path).st_mtime > OLD_S:
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            continue  # another test removes it


def files(interpreter, folder, timeout=900):
    """The truth's files, in `folder`, of the program when it runs with TMPDIR=folder: names of files there are in it.
    One test finds it while the others that need it wait. Raises Failure. Not for another root: see files_inside()."""
    kept = os.path.join(os.path.abspath(KEPT), _name(interpreter))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(kept):
            shutil.rmtree(kept + ".new", ignore_errors=True)
            os.mkdir(kept + ".new")
            _find(lay_out(interpreter, kept + ".new")[0], kept + ".new", "truth", timeout)
            with open(kept + ".new/here", "wb") as file:
                file.write(_in_json(HERE))
            os.rename(kept + ".new", kept)
            _remove_old()
        os.utime(kept)
    with open(os.path.join(kept, "here"), "rb") as file:
        found_in = file.read()
    made = []
    for path in sorted(glob.glob(os.path.join(kept, "truth*"))):
        with open(path, "rb") as file:
            text = file.read()
        made.append(os.path.join(folder, "%s.%s" % (interpreter.label, os.path.basename(path))))
        with open(made[-1], "wb") as file:
            file.write(text.replace(_in_json(kept + ".new"), _in_json(folder)).replace(found_in, _in_json(HERE)))
    return made


def files_inside(interpreter, command, inside, outside, timeout=900):
    """The same for what lay_out() returned, in any root. In another root it is not kept."""
    if interpreter.root is None:
        return files(interpreter, outside, timeout)
    _find(command, inside, interpreter.label + ".truth", timeout)
    return glob.glob("%s/%s.truth*" % (outside, interpreter.label))
