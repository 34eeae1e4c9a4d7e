#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata stack --locals: the variables of a program that writes them down itself, on every interpreter at hand; and of one
that changes them all the time, STACK_TIMES (12, in the long form 100) times, on some interpreters, in the long form on every
one: what is shown must be of one moment."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e"), os.path.join(HERE, "../oracle")]
sys.dont_write_bytecode = True
import e2e  # noqa: E402
import interpreters  # noqa: E402

PROGRAM = os.path.join(HERE, "locals_program.py")
TIMES = int(os.environ.get("STACK_TIMES", 25 * e2e.SCALE if e2e.LONG else 12))
ONLY = os.environ.get("ORACLE_ONLY", "")
TEXT = 200


def take(pid, *how):
    done = subprocess.run([e2e.STRATA, "stack", "--locals", str(pid)] + list(how), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
    return done.stdout.decode() if done.returncode == 0 else done.stderr.decode()


def command_of(interpreter):
    return (["chroot", interpreter.root] if interpreter.root else []) + [interpreter.path]


def python_frames(thread):
    return [f for f in thread["frames"] if f["kind"] == "python"]


def same(shown, value):
    """One that is longer than what is shown is cut."""
    encoded = value.encode("utf-8", "surrogatepass")
    if len(encoded) <= TEXT and not shown.endswith("…"):
        return shown == value
    return shown.endswith("…") and value.startswith(shown[:-1]) and len(shown[:-1].encode()) > TEXT - 16


def check_values(tap, interpreter):
    label, folder = interpreter.label, (interpreter.root or "") + "/tmp"
    truth = "strata-locals-%d-%s" % (os.getpid(), label)
    with open(PROGRAM, "rb") as file:
        source = file.read()
    target = subprocess.Popen(command_of(interpreter) + ["-c", source.decode(), "/tmp/" + truth],
                              env=dict(os.environ, PYTHONHASHSEED="0"))
    try:
        e2e.until(lambda: os.path.exists("%s/%s" % (folder, truth)) or target.poll() is not None)
        with open("%s/%s" % (folder, truth)) as file:
            wanted = json.load(file)
        e2e.until(lambda: "sleep" in take(target.pid).split("\n")[2])
        process = json.loads(take(target.pid, "--json"))
        text = take(target.pid)
    finally:
        target.kill()
        target.wait()
        os.unlink("%s/%s" % (folder, truth))
    shown = {f["name"].rpartition(".")[2]: f["locals"] for f in python_frames(process["threads"][0])}
    values = 0
    for function, variables in sorted(wanted.items()):
        got, expected = [(v["name"], v["value"]) for v in shown.get(function) or []], sorted(map(tuple, variables))
        # A lone surrogate has no UTF-8; its place is taken by its escape.
        wrong = [(g, e) for g, e in zip(sorted(got), expected) if g[0] != e[0] or not same(g[1], e[1])]
        tap.ok(len(got) == len(expected) and not wrong, "%s: %d variables of %s" % (label, len(expected), function),
               wrong[:4], sorted(set(n for n, _ in got) ^ set(n for n, _ in expected)))
        values += len(expected)
    tap.ok(len(wanted) >= 9 and values >= 70, "%s: %d variables of %d functions" % (label, values, len(wanted)))
    tap.ok(re.search(r"^    scalars .*\n(        \w+ = .*\n)*        minus = -7\n", text, re.M) and
           not re.search("[\x00-\x09\x0b-\x1f\x7f]", text), label + ": as text", text[:300])


def relation(frames):
    """What does not hold of frames of down(), innermost first. A variable that is not set yet is not there."""
    inner = None
    for frame in frames:
        if frame["locals"] is None or not frame["name"].endswith("down"):
            continue
        has = {v["name"]: v["value"] for v in frame["locals"]}
        depth, token = int(has["depth"]), int(has["token"])
        if "twice" in has and has["twice"] != "(%d, %d)" % (token, token * 2):
            return has
        if "text" in has and has["text"] != "'token %d'" % token:
            return has
        if inner and (depth, token) != (inner[0] + 1, inner[1] - 1):
            return has, inner
        inner = depth, token
    return None


def check_changes(tap, interpreter):
    label = interpreter.label
    with open(PROGRAM, "rb") as file:
        source = file.read()
    target = subprocess.Popen(command_of(interpreter) + ["-c", source.decode(), "--change"], stdout=subprocess.PIPE)
    frames, known, wrong, threads, inconsistent = 0, [0, 0], [], 0, 0
    try:
        target.stdout.readline()
        for turn in range(TIMES):
            frozen = turn % 3 == 0
            text = take(target.pid, "--json", *(["--freeze"] if frozen else []))
            for thread in json.loads(text)["threads"]:
                threads += 1
                inconsistent += not thread["consistent"]
                if not thread["consistent"]:
                    continue
                python = python_frames(thread)
                frames += len(python)
                known[frozen] += sum(f["locals"] is not None for f in python)
                try:
                    found = relation(python)
                except (KeyError, ValueError) as error:
                    found = error, python
                wrong += [found] if found else []
    finally:
        target.kill()
        target.wait()
        target.stdout.close()
    tap.ok(frames and not wrong, "%s: variables of %d frames, of one moment" % (label, frames), len(wrong), *wrong[:2])
    tap.ok(min(known) > TIMES, "%s: read of threads that are held, and of others" % label, known, frames)
    print("# %s: %d times, %d threads, %d not consistent; %d of %d frames read" %
          (label, TIMES, threads, inconsistent, sum(known), frames))


def main():
    tap = e2e.Tap()
    found = interpreters.discover()
    changing = found if e2e.LONG or ONLY else interpreters.representative_and_312(found)
    for interpreter in found:
        if re.search(ONLY, interpreter.label):
            check_values(tap, interpreter)
            if interpreter in changing:
                check_changes(tap, interpreter)
    tap.done()


main()
