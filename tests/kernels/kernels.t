#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`strata record` on Debian's kernels under emulation: frames of Python, of C, of the kernel; deep stacks; what is lost.
In the same boot `strata trace` (traces.py), `strata stack` and `strata doctor`.

KERNELS names them: "5.10 6.1" by default, `make check-kernels` runs "5.10 6.1 6.12 newest".
"""
import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
import e2e  # noqa: E402
import guest  # noqa: E402
import packages  # noqa: E402
import traces  # noqa: E402

DEPTH = 20000
MACHINES = 2  # at a time
S = 2 if e2e.LONG else 1  # the long form samples for twice as long
# Emulated, a walk takes ten times as long as a sample may. What a guest computes, its host does 20 times as slowly: so there is no run
# for filters alone. "python" and "off-cpu" have filters that leave the program, and are held to what other runs are without.
# The first one has the interpreter analysed, which takes a second and more there.
RUNS = [("python", "-F 49 -t --max-sample-time 10s --cgroup / --user 0 --comm ^python --exclude comm=sh --cpu 0-1 "
         "-- %s -I -S /program.py %d" % (guest.PYTHON, 2 + S)),
        ("deep", "-F 49 --max-sample-time 10s -- /bin/deep %d %d" % (DEPTH, S)),
        ("limit", "-F 49 -- /bin/deep %d %d" % (DEPTH, S)),
        ("verify", "-v -F 99 --verify --max-sample-time 10s -- /bin/deep 40 %.1f" % (1.5 * S)),
        ("off-cpu", "--off-cpu --max-sample-time 10s --function --user 0 --comm ^python --exclude user=1 --cgroup / "
         "-- %s -I -S /wait.py" % guest.PYTHON),
        ("wakers", "--off-cpu --wakers --max-sample-time 10s --function -- %s -I -S /wait.py" % guest.PYTHON),
        ("wall", "--wall -F 49 --max-sample-time 10s -- %s -I -S /program.py %d" % (guest.PYTHON, S)),
        ("nothing", "-F 199 --exclude cgroup=/ -- %s -I -S /program.py 0.3" % guest.PYTHON),
        ("deep-python", "-F 49 --max-sample-time 10s --function -- %s -I -S /deep.py %d %d" % (guest.PYTHON, DEPTH, S))]
GO_FRAMES = 300
if guest.has_go():
    RUNS.append(("go", "-v -F 99 --verify --max-sample-time 10s -- /bin/gone %d %.1f" % (GO_FRAMES, 1.5 * S)))


def known_reasons():
    with open(os.path.join(HERE, "../../src/abi/loss.def"), encoding="utf-8") as file:
        return set(re.findall(r'"([a-z0-9-]+)"', file.read()))


def positions(frames, names):
    """Are Python functions of these names among the frames, in this order?"""
    functions = [frame.partition(" (/program.py:")[0] for frame in frames if " (/program.py:" in frame]
    at = -1
    for name in names:
        if name not in functions[at + 1:]:
            return False
        at = functions.index(name, at + 1)
    return True


def judge_python(tap, kernel, stacks):
    inside = [(frames, count) for frames, count in stacks if positions(frames, ["outer"])]
    in_order = lambda leaf: lambda frames: positions(frames, ["<module>", "outer", "middle", leaf])  # noqa: E731
    computing = [(frames, count) for frames, count in inside if in_order("compute")(frames)]
    reading = [(frames, count) for frames, count in inside if in_order("read_zeros")(frames)]
    tap.ok(e2e.total(inside) >= 60, "%s: %d samples with the program's frames" % (kernel, e2e.total(inside)))
    tap.ok(e2e.share(inside, lambda frames: frames in [f for f, _ in computing + reading]) >= 0.98 and
           min(e2e.total(computing), e2e.total(reading)) > 15,
           "%s: Python functions in their order, %d computing and %d reading" % (
               kernel, e2e.total(computing), e2e.total(reading)))
    tap.ok(inside and e2e.share(inside, lambda f: e2e.native_name(f[2]) == "_start") >= 0.99, "%s: the root is _start" % kernel,
           inside and inside[0][0][:4])
    tap.ok(e2e.share(reading, lambda f: f[-1].endswith("[k]")) > 0.5, "%s: samples inside the kernel have user frames" % kernel)


def judge_deep(tap, kernel, name, stacks):
    # Until its tables are there a sample ends with the copy of its stack, and says so; of these there may be few (below).
    inside = [frames for frames, _ in stacks if any(frame.startswith("grind (") for frame in frames) and
              not any(frame.startswith("[") for frame in frames)]
    depths = {e2e.count(frames, "dive (") for frames in inside}
    tap.equal(depths, {DEPTH}, "%s, %s: each of %d frames, once" % (kernel, name, DEPTH))


def judge_verified(tap, kernel, name, stats, log, signal_return=()):
    """What libdw says to the same stacks."""
    verify = stats["verify"]
    told = [line for line in log.split("\n") if line.startswith("verify:")]
    tap.ok(verify["samples"] > 10 and verify["differ"] == e2e.wrong_of_libdw(told, signal_return),
           "%s, %s: %d samples verified, none differs" % (kernel, name, verify["samples"]), verify, "\n".join(told))


def judge_off_cpu(tap, kernel, stacks, stats, log):
    """The program has told how long it slept; the other thread slept all the while."""
    slept = re.search(r"slept ([0-9.]+)", log)
    found = sum(us for frames, us in stacks if frames[-1] == "[waiting: sleep]" and
                any(frame.startswith("nap (/wait.py:") for frame in frames)) / 1e6
    other = sum(us for frames, us in stacks if frames[-1] == "[waiting: sleep]" and
                any(frame.startswith("forever (/wait.py:") for frame in frames)) / 1e6
    tap.ok(slept and abs(found - float(slept.group(1))) < 0.02 * found and other > found,
           "%s, off-cpu: %.3f s of sleep, %.3f s in a thread that does not wake up" % (kernel, found, other),
           slept and slept.group(0), stats["lost"], log[-500:])
    # A thread may well wait in a walk that is done in its own time (bpf/resume.h): for a page, or for the CPU.
    kernel_frames = {frame[:-len(" [k]")] for frames, _ in stacks if "bpf_task_work_callback [k]" not in frames
                     for frame in frames if frame.endswith(" [k]")}
    wrong = {name for name in kernel_frames if name in ("schedule", "__schedule", "finish_task_switch") or name.startswith("bpf_")}
    tap.ok(kernel_frames and not wrong, "%s, off-cpu: neither the scheduler nor strata are in the stacks" % kernel, wrong)
    off = stats["off_cpu"]
    tap.ok(off["waits"] >= off["measured"] > 20 and off["runs"] > off["waits"], "%s, off-cpu: what it cost, and its share" % kernel, off)


def judge_wakers(tap, kernel, stacks):
    """Sleep is ended by a timer, the event by another thread: its stack begins behind who has ended the wait."""
    ended = {"nap (": {}, "be_woken (": {}}
    for frames, us in stacks:
        at = next((i for i, frame in enumerate(frames) if frame.startswith("[woken by: ")), 0)
        for function, by in ended.items():
            if at and any(frame.startswith(function) for frame in frames[:at]):
                who = (frames[at], any(frame.startswith("end_them (/wait.py:") for frame in frames[at:]))
                by[who] = by.get(who, 0) + us
    naps, waits = ended["nap ("], ended["be_woken ("]
    tap.ok(naps.get(("[woken by: interrupt (timer)]", False), 0) > 0.9 * sum(naps.values()) > 0, "%s, wakers: a timer ends sleep" % kernel, ended)
    tap.ok(sum(us for (_, inside), us in waits.items() if inside) > 0.8 * sum(waits.values()) > 0,
           "%s, wakers: another thread ends the wait for it, in end_them()" % kernel, ended)


def judge_wall(tap, kernel, stacks, stats, log):
    """The program has told its CPU time. Ticks that the machine misses while it stands still are lost."""
    running = sum(us for frames, us in stacks if not frames[-1].startswith("[waiting:")) / 1e6
    computed = re.search(r"computed ([0-9.]+)", log)
    tap.ok(computed and 0.7 < running / float(computed.group(1)) < 1.2 and stats["off_cpu"]["waits"],
           "%s, wall: %.2f s of CPU, and waits" % (kernel, running), stats, log)


def judge_filters(tap, kernel, name, stacks, stats):
    """What the filters of the run leave: threads of other names are the shell's that starts the program, and strata's own."""
    inside = [frames for frames, _ in stacks if any(".py:" in frame for frame in frames)]
    # Of waits: those that have a stack of their own by --function.
    seen = all(any(frame.startswith(function) for frames in inside for frame in frames if frames[-1] == "[waiting: sleep]")
               for function in ("nap (", "forever (")) if name == "off-cpu" else len(inside) > 5
    balanced = stats["samples"] == stats["complete"] + sum(stats["lost"].values()) and not stats["lost"].get("internal")
    tap.ok(seen and all(frames[0].startswith("python") for frames, _ in stacks) and balanced,
           "%s, %s: filtered by cgroup, user and name" % (kernel, name), [frames[:3] for frames, _ in stacks][:5], stats)


def judge_go(tap, kernel, stacks):
    inside = [frames for frames, _ in stacks if any(frame.startswith("main.grind (") for frame in frames) and
              any(frame.startswith("main.dive (") for frame in frames)]
    tap.equal({(e2e.count(frames, "main.dive ("), e2e.native_name(frames[1])) for frames in inside},
              {(GO_FRAMES, "runtime.goexit.abi0")}, "%s, go: each of %d frames, from the goroutine's start" % (kernel, GO_FRAMES))


def judge_limit(tap, kernel, stacks, stats, has_task_work):
    """The same stacks in the time that a sample may take: whole where the kernel has task work, else cut and counted. Beside other
    work the emulated machine's irq_work may not run at once: then a walk ends (bpf/resume.h)."""
    depths = collections.Counter()
    for frames, count in stacks:
        if any(frame.startswith("grind (") for frame in frames) and not any(frame.startswith("[inc") for frame in frames):
            depths[e2e.count(frames, "dive (")] += count
    cut = stats["lost"].get("time-limit", 0)
    tap.ok(cut == stats["truncated"] and (depths[DEPTH] and sum(depths.values()) - depths[DEPTH] <= cut <= stats["samples"] // 10
                                          if has_task_work else cut and 0 < max(depths) < DEPTH),
           "%s, limit: %d of %d samples cut" % (kernel, cut, stats["samples"]), sorted(depths.items())[:9], stats["lost"])
    tap.ok(stats["bpf"]["worst_ns"] > 0 and (stats["bpf"]["task_ns"] > 0) == has_task_work,
           "%s, limit: the longest sample %.1f ms" % (kernel, stats["bpf"]["worst_ns"] / 1e6), stats["bpf"])


def judge(tap, kernel, results, signal_return):
    marks = {row["name"]: row["mark"] for row in e2e.load(results + "/doctor.json")["findings"]}
    samples, complete, late, lost, refused = 0, 0, 0, {}, []
    for name, _ in RUNS:
        path = os.path.join(results, name)
        log = guest.read(path + ".log")
        if not tap.ok(guest.read(path + ".status").strip() == "0", "%s, %s: recorded" % (kernel, name), log):
            continue
        stats = e2e.load(path + ".json")
        refused += [remark for remark in stats["remarks"] if "this kernel refused" in remark]
        if name == "limit":
            judge_limit(tap, kernel, e2e.folded(path + ".folded"), stats, marks["task work"] == "ok")
            continue
        if name == "nothing":
            tap.ok(not e2e.folded(path + ".folded") and not stats["samples"], "%s, nothing: what is excluded is no sample" % kernel, stats)
            continue
        if name in ("python", "off-cpu"):
            judge_filters(tap, kernel, name, e2e.folded(path + ".folded"), stats)
        if name in ("go", "off-cpu", "wakers", "wall"):  # each wait of a program's start is a sample, too
            tap.ok(stats["complete"] >= 0.97 * (stats["samples"] - e2e.early(stats)), "%s, %s: %d of %d samples complete" % (
                kernel, name, stats["complete"], stats["samples"]), stats["lost"])
        else:
            samples += stats["samples"]
            complete += stats["complete"]
            late += e2e.early(stats)
        lost.update({key: lost.get(key, 0) + count for key, count in stats["lost"].items() if count})
        print("# %s, %s: %d samples, started in %d ms" % (kernel, name, stats["samples"], stats["startup_ms"]))
        if name == "off-cpu":
            judge_off_cpu(tap, kernel, e2e.folded(path + ".folded"), stats, log)
        elif name == "wakers":
            judge_wakers(tap, kernel, e2e.folded(path + ".folded"))
        elif name == "wall":
            judge_wall(tap, kernel, e2e.folded(path + ".folded"), stats, log)
        elif name == "python":
            judge_python(tap, kernel, e2e.folded(path + ".folded"))
        elif name in ("verify", "go"):
            judge_verified(tap, kernel, name, stats, log, signal_return if name == "go" else ())
            if name == "go":
                judge_go(tap, kernel, e2e.folded(path + ".folded"))
        else:
            judge_deep(tap, kernel, name, e2e.folded(path + ".folded"))
    tap.equal(refused[:1], [], "%s: the kernel refuses no form of the sampler" % kernel)
    # Of all runs together, because each begins with a few samples of a process that is not known yet.
    # How long a process stays unknown is a matter of the emulation's speed, so these are held to less.
    tap.ok(samples and complete + late >= 0.99 * samples and late <= 0.2 * samples,
           "%s: %d of %d samples complete, %d late" % (kernel, complete, samples, late), lost)
    tap.ok(set(lost) <= known_reasons(), "%s: each loss has a known reason" % kernel, lost)


def judge_doctor(tap, kernel, report):
    """What doctor says of a kernel on which record works."""
    marks = {row["name"]: row["mark"] for row in report["findings"]}
    wrong = [row for row in report["findings"] if row["mark"] in ("missing", "untried")]
    tap.ok(report["complete"] and not wrong, "%s: doctor finds nothing missing" % kernel, wrong)
    for name, since in (("cgroup accounting", "6.1"), ("bpf_loop", "6.1"), ("uprobe_multi", "6.12"), ("fentry", "5.10")):
        order = list(packages.SUITES)
        expected = "ok" if order.index(kernel) >= order.index(since) else "limited"
        tap.ok(marks[name] == expected, "%s: doctor: %s is %s" % (kernel, name, expected), marks)
    print("# %s, doctor: limited: %s" % (kernel, ", ".join(name for name in marks if marks[name] == "limited")))


def judge_stack(tap, kernel, results):
    """`strata stack` of a program with a thread that sleeps and one that never does."""
    with open(results + "/stack.log", encoding="utf-8", errors="replace") as log:
        words = log.read()
    for name in ("stack", "frozen"):
        with open("%s/%s.json" % (results, name), encoding="utf-8") as file:
            text = file.read()
        threads = json.loads(text)["threads"] if text else []
        functions = [[f["name"] for f in t["frames"] if f["kind"] == "python"] for t in threads]
        tap.ok(any(f[:3] == ["sleep_inner", "sleep_outer", "<module>"] for f in functions) and
               any(f[:1] == ["spin"] for f in functions) and all(t["consistent"] for t in threads),
               "%s: %s: who sleeps and who does not" % (kernel, name), words, functions)
        # The guest's libc has no symbol for where a thread begins.
        outermost = [(t["frames"][-1]["name"], t["frames"][-1].get("module")) for t in threads if t["frames"]]
        tap.ok(len(outermost) == 2 and outermost[0][0] == "_start" and outermost[1][1].startswith("libc.so"),
               "%s: %s: whole" % (kernel, name), outermost)


def skip(tap, kernel, why):
    tap.skip(kernel, why)
    print("kernels.t: %s was NOT tried: %s" % (kernel, why), file=sys.stderr)  # prove keeps a test's output to itself


def boot(kernel, where, initramfs):
    """(results, console) as guest.boot() has them; Unavailable when there is no such kernel."""
    folder = os.path.join(where, kernel)
    os.makedirs(folder)
    cpu = guest.CPU_OF_TASK_WORK if kernel == "newest" else guest.CPU
    return guest.boot(folder, packages.kernel(packages.SUITES[kernel]), initramfs, cpu)


def check(tap, kernel, booted, signal_return):
    try:
        results, console = booted.result()
    except packages.Unavailable as error:
        skip(tap, kernel, error)
        return
    if not tap.ok(results, "%s: booted, ran, ended" % kernel, guest.what_happened(console)):
        return
    with open(results + "/release", encoding="utf-8") as file:
        print("# %s: Linux %s" % (kernel, file.read().strip()))
    judge_doctor(tap, kernel, e2e.load(results + "/doctor.json"))
    judge(tap, kernel, results, signal_return)
    traces.judge(tap, kernel, results)
    judge_stack(tap, kernel, results)
    tap.ok(not guest.complaints(console), "%s: the kernel complains of nothing" % kernel, guest.what_happened(console))


def main():
    tap = e2e.Tap()
    lacks = guest.missing()
    if lacks:
        skip(tap, "each kernel", "missing: %s (make check-kernels installs them)" % lacks)
        tap.done()
    with tempfile.TemporaryDirectory(prefix="strata-kernels-") as where:
        initramfs = guest.make_initramfs(where, e2e.STRATA, RUNS, traces.RUNS)
        signal_return = e2e.go_signal_return(where + "/gone") if guest.has_go() else ()
        kernels = os.environ.get("KERNELS", "5.10 6.1").split()
        known = [kernel for kernel in kernels if kernel in packages.SUITES]
        tap.ok(known == kernels, "known are %s" % ", ".join(packages.SUITES), kernels)
        # The guests do one thing after the other and keep one core busy each.
        with concurrent.futures.ThreadPoolExecutor(MACHINES) as pool:
            booted = [pool.submit(boot, kernel, where, initramfs) for kernel in known]
            for kernel, future in zip(known, booted):
                check(tap, kernel, future, signal_return)
    tap.done()


main()
