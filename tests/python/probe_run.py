# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program of the truth under strata trace, and compares what both tell; for probes.t, events.t, line_events.t
and calls.t."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../oracle")]

STRATA = os.environ.get("STRATA", os.path.join(HERE, "../../build/strata"))
REFUSED = {"debug": "a debug build"}


PATIENCE_S = 60


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not condition():
        time.sleep(0.002)
    return condition()


def refusal(label):
    return next((reason for name, reason in REFUSED.items() if name in label), None)


def is_traced(function):
    """What the program itself writes down."""
    last = function.split(".")[-1]
    return not last.startswith("_") or last.startswith("__")


def read(path):
    """Thread -> events: kind, function, line."""
    events = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 4 and is_traced(words[2]):
                events[words[0]].append(tuple(words[1:3]) + (int(words[3]),))
    return events


def without_lines(told, expected):
    """An instruction without a line has that of the one before it."""
    return [event if i >= len(expected) or expected[i][2] else event[:2] + (0,) for i, event in enumerate(told)]


def difference(told, expected, what):
    """Lines that say where two lists differ first; none if they are equal."""
    if told == expected:
        return []
    at = next((i for i, (a, b) in enumerate(zip(told, expected)) if a != b), min(len(told), len(expected)))
    return ["%s: %d events, told %d; the first that differs is number %d" % (what, len(expected), len(told), at),
            "    expected %s" % expected[max(0, at - 2):at + 4], "    told     %s" % told[max(0, at - 2):at + 4]]


def trace(script, command, options=(), words=(STRATA, "trace")):
    """strata trace with a script and a command, of which None is none: what both print, and the status."""
    return subprocess.run([*words, *options, "-e", script, *(["-c", command] if command else [])], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=600, check=False)


def place(interpreter):
    """The interpreter's file, in quotes of scripts."""
    return '"%s%s"' % (interpreter.root or "", interpreter.path)


def trace_program(interpreter, text, script, options=()):
    """trace() of a program of this text in the interpreter; `script` has %(file)s and %(program)s for both files."""
    root = interpreter.root or ""
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=root + "/tmp" if root else None) as program:
        program.write(text)
        program.flush()
        os.chmod(program.name, 0o644)
        inside = program.name[len(root):]
        command = "%s%s -S %s" % ("chroot %s " % root if root else "", interpreter.path, inside)
        return trace(script % {"file": root + interpreter.path, "program": inside}, command, options)


def copy(interpreter, truth, arguments):
    """A new folder with the program `truth`, and the words of a command that runs it."""
    root = interpreter.root or ""
    folder = tempfile.mkdtemp(dir=root + "/tmp" if root else None)
    inside = folder[len(root):]
    shutil.copy(os.path.join(HERE, truth), folder)
    words = [interpreter.path, "-S", inside + "/" + truth, inside + "/truth"]
    return folder, (["chroot", root] if root else []) + words + [inside if word == "FOLDER" else word for word in arguments]


def run(interpreter, truth, arguments, script, options=()):
    """
    Runs the program `truth` with a file to write to and `arguments`, of which "FOLDER" stands for its folder, in the
    interpreter. `script` is strata's, with %(file)s for the interpreter's file and %(program)s for the program's.
    The exit status and messages of strata, and the paths of what strata and the program told; None: the program did not.
    """
    folder, words = copy(interpreter, truth, arguments)
    text = script % {"file": (interpreter.root or "") + interpreter.path, "program": words[-len(arguments) - 2]}
    done = trace(text, " ".join(words), [*options, "-o", folder + "/told"])
    return folder, done, folder + "/told", folder + "/truth" if os.path.exists(folder + "/truth") else None


def alone(interpreter, truth, arguments):
    """What the program tells that nothing else traces: as read()."""
    folder, words = copy(interpreter, truth, arguments)
    subprocess.run(words, stdout=subprocess.DEVNULL, timeout=600, check=True)
    told = read(folder + "/truth")
    shutil.rmtree(folder)
    return told
