#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""strata stack against a program that changes its stacks all the time: the oracle's (tests/oracle), by its truth and its
checker. STACK_TIMES (25 times TEST_SCALE) stacks of it on each interpreter, 1,000 for the long form; every fifth is taken with --freeze.
ORACLE_ONLY is a regular expression of labels, STACK_ALL=1 takes every interpreter at hand: both also take those of the lab
(STRATA_LAB), which are in other roots."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "oracle")
sys.path[:0] = [os.path.join(HERE, "../e2e"), ORACLE]
sys.dont_write_bytecode = True
import check  # noqa: E402
import e2e  # noqa: E402
import interpreters  # noqa: E402
import truths  # noqa: E402

TIMES = int(os.environ.get("STACK_TIMES", 25 * e2e.SCALE))
ONLY = os.environ.get("ORACLE_ONLY", "")
FREEZE_EVERY = 5


def text_of(frame):
    """A frame as folded output has it (src/profile/frames.h)."""
    if frame["kind"] == "python":
        text = "%s (%s:%d)" % (frame["name"], frame["file"], frame["line"] or 0)
    elif frame["kind"] == "kernel":
        text = frame["name"] + " [k]"
    else:
        text = frame["name"] if frame["kind"] == "mark" else "%s (%s)" % (frame["name"], frame["module"])
    return check.escape(text)


def fold(thread):
    frames = ["thread %s (%d)" % (thread["name"], thread["tid"])] + [text_of(f) for f in reversed(thread["frames"])]
    return ";".join([thread["name"]] + frames) + " 1"


def take(pid, freeze):
    command = [e2e.STRATA, "stack", "--json", str(pid)] + (["--freeze"] if freeze else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=e2e.PATIENCE_S)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout.decode())


def judge(tap, interpreter, where):
    program, inside, outside = truths.lay_out(interpreter, where)
    try:
        judge_program(tap, interpreter, program, inside, outside)
    finally:
        if outside != where:
            shutil.rmtree(outside, ignore_errors=True)


def judge_program(tap, interpreter, program, inside, outside):
    label = interpreter.label
    ready = label + ".ready"
    environment = dict(os.environ, PYTHONHASHSEED="0", TMPDIR=inside)
    found, failure = [], ""
    try:
        found = truths.files_inside(interpreter, program, inside, outside)
    except truths.Failure as error:
        failure = error
    if not tap.ok(found, label + ": the run for the truth", failure):
        return
    truth = check.Truth()
    for path in found:
        truth.load(path)
    target = subprocess.Popen(program + ["--seconds", "1e9", "--ready", inside + "/" + ready], env=environment,
                              stdout=subprocess.DEVNULL)
    lines, threads, inconsistent, unread, holders, frozen = [], 0, 0, 0, 0, []
    try:
        e2e.until(lambda: os.path.exists(outside + "/" + ready) or target.poll() is not None)
        for turn in range(TIMES):
            process = take(target.pid, turn % FREEZE_EVERY == 0)
            frozen += [process["frozen_ms"]] if "frozen_ms" in process else []
            holding = [t for t in process["threads"] if t["gil"]]
            holders += len(holding) == 1
            if "frozen_ms" in process and len(holding) > 1:
                tap.ok(False, label + ": at one moment one thread holds the GIL", [t["name"] for t in holding])
            for thread in process["threads"]:
                threads += 1
                inconsistent += not thread["consistent"]
                unread += not thread["frames"]
                if thread["consistent"]:
                    lines.append(fold(thread))
    finally:
        target.kill()
        target.wait()
    report = check.Checker(truth).check(lines)
    counts = report.counts
    # Two kinds of root for each thread at most, as the checker has it; a stack that says what it lacks is no lie.
    tap.ok(counts["judged"] >= TIMES and not report.failed, "%s: %d stacks, none impossible, no wrong line" %
           (label, counts["judged"]), dict(report.faults), *[w for k in report.FAULTS for w in report.examples[k][:2]])
    tap.ok(inconsistent + unread <= threads * 0.02, "%s: %d of %d not consistent" % (label, inconsistent + unread, threads))
    tap.ok(counts["marked"] <= max(2, threads * 0.02), "%s: %d marked" % (label, counts["marked"]),
           *[line for line in lines if re.search(r";\[", line)][:3])
    print("# %s: counts %s; one holder of the GIL in %d of %d; frozen ms %s" %
          (label, dict(counts), holders, TIMES, " ".join("%.1f" % ms for ms in sorted(frozen))))


def main():
    tap = e2e.Tap()
    found = interpreters.discover()
    chosen = found if os.environ.get("STACK_ALL") or ONLY else interpreters.representative(found)
    with tempfile.TemporaryDirectory(prefix="strata-stack-") as where:
        for interpreter in chosen:
            if re.search(ONLY, interpreter.label):
                judge(tap, interpreter, where)
    tap.done()


main()
