# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth about an interpreter's stacks, found once and kept in BUILD/truth for all tests that need it: tracing every
instruction takes ten seconds of CPU time. What it depends on is in the name: the program and the interpreter."""
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = os.path.join(HERE, "program.py")  # to be run by this name: it is in its frames
BUILD = os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build"))
SOURCES = ("program.py", "roles.py", "spread.py", "truth.py", "scenarios/*.py")
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
    status = os.stat(interpreter.real)
    key = hashlib.sha256(repr((interpreter.path, interpreter.real, status.st_size, status.st_mtime_ns)).encode())
    for path in sorted(p for pattern in SOURCES for p in glob.glob(os.path.join(HERE, pattern))):
        with open(path, "rb") as file:
            key.update(file.read())
    return "%s-%s" % (interpreter.label, key.hexdigest()[:16])


def _find(command, where, name, timeout):
    done = subprocess.run(command + ["--truth", os.path.join(where, name)],
                          env=dict(os.environ, TMPDIR=where, **ENVIRONMENT), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=timeout)
    if done.returncode:
        raise Failure("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))


def files(interpreter, folder, timeout=900):
    """The truth's files, in `folder`, of the program when it runs with TMPDIR=folder: names of files there are in it.
    One test finds it while the others that need it wait. Raises Failure. Not for another root: see files_inside()."""
    kept = os.path.join(os.path.abspath(BUILD), "truth", _name(interpreter))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(kept):
            shutil.rmtree(kept + ".new", ignore_errors=True)
            os.mkdir(kept + ".new")
            _find(lay_out(interpreter, kept + ".new")[0], kept + ".new", "truth", timeout)
            os.rename(kept + ".new", kept)
    made = []
    for path in sorted(glob.glob(os.path.join(kept, "truth*"))):
        with open(path, "rb") as file:
            text = file.read()
        made.append(os.path.join(folder, "%s.%s" % (interpreter.label, os.path.basename(path))))
        with open(made[-1], "wb") as file:
            file.write(text.replace((kept + ".new").encode(), folder.encode()))
    return made


def files_inside(interpreter, command, inside, outside, timeout=900):
    """The same for what lay_out() returned, in any root. In another root it is not kept."""
    if interpreter.root is None:
        return files(interpreter, outside, timeout)
    _find(command, inside, interpreter.label + ".truth", timeout)
    return glob.glob("%s/%s.truth*" % (outside, interpreter.label))
