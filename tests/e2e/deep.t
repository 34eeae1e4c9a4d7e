#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a sample interrupts what runs: however deep its stack is and whatever the program does to that, no longer than
--max-sample-time. What is deeper is walked in the thread's own time where the kernel has task work, and whole; else it is
cut, and that is told. The mean is judged, and not the longest, which a virtual machine's host may have made so long."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

KERNELS = HERE + "/../kernels"
SECONDS, HZ = 0.5, 199
LIMIT_NS = 250000  # of --max-sample-time, unless told otherwise
# Of the mean: what a sample does beside its walks, as sending what they found, and what interrupts it.
WIDE_NS = 3 * LIMIT_NS
CALL = re.compile(r"call_(\d+) \(")  # of changing.py; the kernel has a call_rcu()


def has_task_work():
    found = subprocess.run([e2e.STRATA, "doctor", "--json"], stdout=subprocess.PIPE, check=False).stdout
    return any(finding["name"] == "task work" and finding["mark"] == "ok" for finding in json.loads(found)["findings"])


def record(tap, where, words, command, *options, hz=HZ):
    out, stats = where + "/deep.folded", where + "/deep.json"
    done = e2e.record("-F", hz, "-o", out, "--stats", stats, *(options + ("--",) + tuple(map(str, command))))
    tap.ok(done.returncode == 0, words + ": recorded", done.stderr)
    stats = e2e.load(stats)
    bpf = stats["bpf"]
    print("# %s: %d samples, %.0f us each, the longest %.0f; in the threads' own time %.0f" % (
        words, stats["samples"], bpf["run_ns"] / stats["samples"] / 1e3, bpf["worst_ns"] / 1e3,
        bpf["task_ns"] / stats["samples"] / 1e3))
    tap.equal(stats["complete"] + sum(stats["lost"].values()), stats["samples"], words + ": each sample is accounted for")
    return e2e.folded(out), stats, done.stderr


def is_short(tap, words, stats, limit=WIDE_NS):
    bpf = stats["bpf"]
    tap.ok(bpf["run_ns"] / stats["samples"] < limit, "%s: a sample takes less than %d us" % (words, limit / 1000), bpf)
    tap.ok(bpf["worst_ns"] >= bpf["run_ns"] / bpf["runs"], words + ": the longest one is told", bpf)


def whole(tap, where, words, depth, command, *options, hz=HZ):
    """Deep stacks, each whole: the innermost part in grind(), below it so many of dive()."""
    stacks, stats, _ = record(tap, where, words, command, *options, hz=hz)
    is_short(tap, words, stats)
    late = e2e.early(stats)
    tap.ok(stats["complete"] + late >= 0.99 * stats["samples"] and late <= 0.1 * stats["samples"],
           "%s: %d of %d samples complete, %d late" % (words, stats["complete"], stats["samples"], late), stats["lost"])
    deep = [(frames, n) for frames, n in stacks if e2e.count(frames, "grind (") and not e2e.count(frames, "[incomplete")]
    tap.equal({e2e.count(frames, "dive (") for frames, _ in deep}, {depth}, "%s: all %d frames" % (words, depth))
    tap.ok(e2e.total(deep) >= 0.5 * stats["samples"], "%s: %d of them deep" % (words, e2e.total(deep)))
    return stats


def cut(tap, where, words, depth, command, *options):
    """Deep stacks where that is all: the innermost frames, in their order."""
    stacks, stats, text = record(tap, where, words, command, *options)
    is_short(tap, words, stats)
    tap.ok(stats["truncated"] == stats["lost"].get("time-limit", 0) >= 0.5 * stats["samples"],
           "%s: %d samples cut, by their time" % (words, stats["truncated"]), stats["lost"])
    tap.ok("time-limit" in text and "--max-sample-time" in text, words + ": the summary names the option", text)
    deep = [frames for frames, _ in stacks if e2e.count(frames, "grind (") and e2e.count(frames, "[truncated")]
    tap.ok(deep and all(0 < e2e.count(frames, "dive (") < depth for frames in deep), words + ": the innermost frames are kept",
           [len(frames) for frames in deep])
    tap.ok(all(frames[1].startswith("[truncated") for frames in deep), words + ": marked at the root",
           [frames[:3] for frames in deep])
    # Frames of dive() between dive() and grind(), and nothing else but the interpreter's own.
    tap.ok(all(not e2e.count(frames[:frames.index(next(f for f in frames if f.startswith("dive (")))], "grind (")
               for frames in deep), words + ": in their order", [frames[:5] for frames in deep])
    return stats


def hostile(tap, where, words, *options):
    """Each code object is a new one at each sample."""
    command = [e2e.PYTHON, HERE + "/changing.py", 30000, SECONDS]
    stacks, stats, _ = record(tap, where, words, command, *options)
    is_short(tap, words, stats)
    found = [frames for frames, _ in stacks if any(map(CALL.match, frames))]
    # In an interrupt there is time for so few new ones that the frames may be left out (python_out_of_time()).
    tap.ok(found or options, words + ": there are deep stacks")
    tap.ok(stats["truncated"] == stats["lost"].get("time-limit", 0) > 0, words + ": what is cut is told", stats["lost"])
    full = stats["lost"].get("ring-full", 0) + stats["lost"].get("stack-missing", 0)
    tap.ok(full <= 0.01 * stats["samples"], "%s: it does not fill the ring" % words, stats["lost"])
    wrong = [frames for frames in found if not in_order(frames)]
    tap.ok(not wrong, words + ": whose frames are in their order", [frames[:6] for frames in wrong[:3]])


def in_order(frames):
    """call_1 calls call_2, and so on. Those in between whose names found no room in the ring are there without."""
    return len({int(found.group(1)) - i for i, found in enumerate(map(CALL.match, frames)) if found}) == 1


def main():
    tap = e2e.Tap()
    task_work = has_task_work()
    with e2e.folder() as where:
        deep = where + "/deep"
        subprocess.check_call(["gcc", "-O2", "-fomit-frame-pointer", "-o", deep, KERNELS + "/deep.c"])
        native = [deep, 60000, SECONDS]
        for python in e2e.pythons() if task_work else []:
            version, command = e2e.version_of(python), [python, KERNELS + "/deep.py", 15000, SECONDS]
            stats = whole(tap, where, "Python " + version, 15000, command)
            tap.ok(stats["bpf"]["task_ns"] > 0, "Python %s: walked in the thread's own time" % version, stats["bpf"])
        if task_work:
            whole(tap, where, "C", 60000, native)
            whole(tap, where, "C, often", 60000, native, hz=999)  # ticks during the walks
            whole(tap, where, "C, 20 us", 60000, native, "--max-sample-time", "20us")
            hostile(tap, where, "changing code objects")
        else:
            tap.skip("deep stacks are whole", "this kernel has no task work for BPF")
        # The form of the program for older kernels has no task work.
        cut(tap, where, "C, without task work", 60000, native, "--strategy", "bounded")
        cut(tap, where, "Python, without task work", 15000, [e2e.PYTHON, KERNELS + "/deep.py", 15000, SECONDS],
            "--strategy", "bounded")
        stacks, stats, _ = record(tap, where, "C, all the time", native, "--strategy", "bounded", "--max-sample-time", "10s")
        tap.ok(not stats["truncated"] and 60000 in {e2e.count(frames, "dive (") for frames, _ in stacks},
               "C, all the time: whole", stats["lost"])
        hostile(tap, where, "changing code objects, without task work", "--strategy", "bounded")
    tap.done()


main()
