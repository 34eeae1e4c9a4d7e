#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Both ways of walking long stacks, on this machine: the same frames, all of them, and what they cost."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import e2e  # noqa: E402

STRATEGIES = ("loop", "bounded")
DEPTH = 20000
SECONDS, HZ = 1, 99


def record(tap, strategy, where, words, command):
    out, stats = "%s/%s.folded" % (where, strategy), "%s/%s.json" % (where, strategy)
    done = e2e.record("--strategy", strategy, "--max-sample-time", "10s", "-F", HZ, "-o", out, "--stats", stats, "--", *command)
    words = "%s, %s" % (words, strategy)
    if not tap.ok(done.returncode == 0, words + ": recorded", done.stderr):
        return [], None
    stats = e2e.load(stats)
    # At first a process is not known yet; then the copy of the stack's top ends before a deep one does. How long that lasts is a
    # matter of the machine's load.
    late = e2e.early(stats)
    tap.ok(stats["complete"] + late >= 0.99 * stats["samples"] and late <= 0.1 * stats["samples"] and not stats["truncated"],
           "%s: %d of %d samples complete, %d late" % (words, stats["complete"], stats["samples"], late), stats["lost"])
    return e2e.folded(out), stats


def shape(frames):
    """A stack without its innermost frames, which change from sample to sample: (frame, how many in a row)."""
    last = max([i for i, frame in enumerate(frames) if frame.startswith("dive (")])
    runs = []
    for frame in frames[:last + 1]:
        if runs and runs[-1][0] == frame:
            runs[-1][1] += 1
        else:
            runs.append([frame, 1])
    return tuple((frame, times) for frame, times in runs)


def compare(tap, where, words, depth, *program):
    shapes = []
    for strategy in STRATEGIES:
        stacks, stats = record(tap, strategy, where, words, list(program) + [depth, SECONDS])
        deep = [(frames, n) for frames, n in stacks if e2e.count(frames, "grind (")]  # before it, dive is on its way down
        tap.equal({e2e.count(frames, "dive (") for frames, _ in deep}, {depth}, "%s, %s: each of %d frames, once" % (
            words, strategy, depth))
        walking = stats["bpf"]["run_ns"] / 1e9 if stats else 0  # is taken for the program's CPU time: half of it where caches are cold
        tap.ok(e2e.total(deep) >= e2e.due(SECONDS - walking, HZ), "%s, %s: %d deep samples" % (words, strategy, e2e.total(deep)))
        shapes.append({shape(frames) for frames, _ in deep if not e2e.count(frames, "[")})  # those that are complete
        if stats and stats["bpf"]["frames"]:
            print("# %s, %s: %.1f ns a frame, started in %.0f ms" % (
                words, strategy, stats["bpf"]["run_ns"] / stats["bpf"]["frames"], stats["startup_ms"]))
    tap.ok(shapes[0] and shapes[0] == shapes[1], "%s: both find the same frames" % words,
           [[item[:6] for item in found] for found in shapes])


def limit(tap, where, deep):
    """Beyond the limit: the innermost frames, marked, counted, and the same number of them."""
    with open(HERE + "/../../src/abi/limits.h", encoding="utf-8") as file:
        most = int(re.search(r"NATIVE_FRAMES_MAX +(\d+)", file.read()).group(1))
    for strategy in STRATEGIES:
        out, stats = where + "/limit.folded", where + "/limit.json"
        e2e.record("--strategy", strategy, "--max-sample-time", "10s", "-F", HZ, "-o", out, "--stats", stats, "--", deep,
                   most + 1000, SECONDS)
        found = [frames for frames, _ in e2e.folded(out) if e2e.count(frames, "grind (")]
        # The innermost of them are grind and, now and then, what it calls.
        tap.ok(found and all(most - 8 <= e2e.count(frames, "dive (") < most for frames in found) and
               all(any(frame.startswith("[truncated") for frame in frames[:3]) for frames in found),
               "%s: %d frames and no more, marked" % (strategy, most),
               [(len(frames), e2e.count(frames, "dive ("), frames[:4]) for frames in found])
        stats = e2e.load(stats)
        tap.ok(stats["truncated"] >= len(found) and stats["truncated"] == stats["lost"].get("native-depth"),
               "%s: %d samples counted as truncated" % (strategy, stats["truncated"]), stats["lost"])


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        deep = where + "/deep"
        subprocess.check_call(["gcc", "-O2", "-fomit-frame-pointer", "-o", deep, HERE + "/deep.c"])
        compare(tap, where, "C", DEPTH, deep)
        limit(tap, where, deep)
        for python in e2e.pythons():
            compare(tap, where, "Python " + e2e.version_of(python), DEPTH, python, HERE + "/deep.py")
    tap.done()


main()
