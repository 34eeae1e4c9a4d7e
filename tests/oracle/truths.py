# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth about an interpreter's stacks, found once and kept in BUILD/truth for all tests that need it: tracing every
instruction takes ten seconds of CPU time. What it depends on is in the name: the program and the interpreter."""
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = os.path.join(HERE, "program.py")  # to be run by this name: it is in its frames
BUILD = os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build"))
SOURCES = ("program.py", "roles.py", "spread.py", "truth.py", "scenarios/*.py")
# Of the run for the truth. Without the GIL, threads that trace each other's work wait for each other most of the time;
# each thread's stacks are the same with it.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHON_GIL": "1"}


class Failure(Exception):
    """The program did not end well; the text says how."""


def _name(interpreter):
    status = os.stat(interpreter.real)
    key = hashlib.sha256(repr((interpreter.path, interpreter.real, status.st_size, status.st_mtime_ns)).encode())
    for path in sorted(p for pattern in SOURCES for p in glob.glob(os.path.join(HERE, pattern))):
        with open(path, "rb") as file:
            key.update(file.read())
    return "%s-%s" % (interpreter.label, key.hexdigest()[:16])


def _find(interpreter, where, timeout):
    done = subprocess.run([interpreter.path, "-W", "ignore", PROGRAM, "--truth", os.path.join(where, "truth")],
                          env=dict(os.environ, TMPDIR=where, **ENVIRONMENT), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=timeout)
    if done.returncode:
        raise Failure("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))


def files(interpreter, folder, timeout=900):
    """The truth's files, in `folder`, of the program when it runs with TMPDIR=folder: names of files there are in it.
    One test finds it while the others that need it wait. Raises Failure."""
    kept = os.path.join(os.path.abspath(BUILD), "truth", _name(interpreter))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(kept):
            shutil.rmtree(kept + ".new", ignore_errors=True)
            os.mkdir(kept + ".new")
            _find(interpreter, kept + ".new", timeout)
            os.rename(kept + ".new", kept)
    made = []
    for path in sorted(glob.glob(os.path.join(kept, "truth*"))):
        with open(path, "rb") as file:
            text = file.read()
        made.append(os.path.join(folder, "%s.%s" % (interpreter.label, os.path.basename(path))))
        with open(made[-1], "wb") as file:
            file.write(text.replace((kept + ".new").encode(), folder.encode()))
    return made
