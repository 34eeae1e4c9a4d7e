#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters: --cgroup, --container, --user, --comm, --cpu, --exclude. Each program's functions say which one it is: nothing but
what was asked for is recorded, and all of that."""
import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import e2e  # noqa: E402

TAP = e2e.Tap()
HZ = 998
SECONDS = 0.05  # of CPU time, of each program that is recorded
LEAST = 0.35 * SECONDS * HZ  # samples: beside other BPF programs many ticks are lost
USER = "games"
MOUNT = next((path for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(path + "/cgroup.procs") and
              os.access(path, os.W_OK) and os.path.exists(path + "/cgroup.controllers")), None)
# Runs in spin_NAME, sleeps in nap_NAME, and waits for good in wait_NAME.
WORKER = """
import os, sys, threading, time
name, cpu, comm = sys.argv[1:4]
open("/proc/self/comm", "w").write(comm)
os.sched_setaffinity(0, [int(cpu)])
exec('''
def spin_{0}():
    while True: sum(range(3000))
def nap_{0}():
    while True: time.sleep(0.02)
def wait_{0}():
    threading.Event().wait()
'''.format(name))
for what in ("nap_", "wait_"):
    threading.Thread(target=globals()[what + name], daemon=True).start()
print("ready", flush=True)
globals()["spin_" + name]()
"""
# Changes its name all the time, to ones that nobody has seen yet.
RENAMED = """
import time, sys
def spin_in(until):
    while time.process_time() < until: pass
def spin_out(until):
    while time.process_time() < until: pass
def rename(name):
    open("/proc/self/comm", "w").write(name)
rename(sys.argv[2] + "out")
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[1])):
    rename(sys.argv[2] + "in%d" % i)
    spin_in(time.process_time() + 0.01)
    rename(sys.argv[2] + "out%d" % i)
    spin_out(time.process_time() + 0.01)
"""
OURS = "t%d-" % os.getpid()  # the test may run twice at a time
WORKERS = {"red": ("0", OURS + "red1", USER), "blue": ("1", OURS + "blue2", "root"), "green": ("1", OURS + "red3", "root")}
IDS = ["fade%060d" % i for i in (1, 2)]


def start(name):
    cpu, comm, user = WORKERS[name]
    command = ["setpriv", "--reuid=" + user, "--regid=0", "--clear-groups"] if user != "root" else []
    command += [e2e.PYTHON, "-I", "-S", "-c", WORKER, name, str(int(cpu) % os.cpu_count()), comm]
    return e2e.start(command)


def names_of(frames):
    """The programs that a stack can be of: by its functions, or where it has none, by its thread's name."""
    return {found.group(1) for found in (re.match(r"(?:spin|nap|wait)_(\w+) \(", frame) for frame in frames) if found}


def by_name(stacks):
    found = {}
    for frames, count in stacks:
        for name in names_of(frames) or {"?" + ";".join(frames[:1] + frames[-2:])}:
            found[name] = found.get(name, 0) + count
    return found


def balanced(stats, stacks, weighed=False):
    return stats["samples"] == stats["complete"] + sum(stats["lost"].values()) and not stats["lost"].get("internal") and \
        (weighed or stats["samples"] == e2e.total(stacks))


class Workers:
    def __init__(self):
        self.running = {name: start(name) for name in WORKERS}
        self.go(False)
        self.folder = tempfile.TemporaryDirectory(prefix="strata-e2e-")

    def go(self, on):
        """They run only while they are recorded."""
        for process in self.running.values():
            process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)

    def pids(self):
        return ",".join(str(process.pid) for process in self.running.values())

    def record(self, wanted, *options):
        """Until each of those wanted has used enough, or where none is, any: (stacks, stats, stderr)."""
        out, stats = self.folder.name + "/out.folded", self.folder.name + "/stats.json"
        pids = [self.running[name].pid for name in wanted] or [process.pid for process in self.running.values()]

        def during(_):
            ends = {pid: e2e.used(pid) + SECONDS for pid in pids}
            self.go(True)
            e2e.until(lambda: all(e2e.used(pid) >= end for pid, end in ends.items()))
            self.go(False)
        done = e2e.record_while(during, "-F", HZ, "--function", "-o", out, "--stats", stats, *options)
        if done.returncode:
            return [], {}, done.stderr
        return e2e.folded(out), e2e.load(stats), done.stderr

    def check(self, wanted, words, *options):
        stacks, stats, said = self.record(wanted, *options)
        found = by_name(stacks)
        if not TAP.ok(stats and set(found) == set(wanted), "%s: %s" % (words, ", ".join(sorted(wanted)) or "nothing"), found, said):
            return
        TAP.ok(all(found[name] >= LEAST for name in wanted), "  all of it: %d samples" % stats["samples"], found)
        TAP.ok(balanced(stats, stacks), "  nothing else counts as a sample", stats, e2e.total(stacks))

    def stop(self):
        for process in self.running.values():
            process.kill()
            process.wait()


class Cgroups:
    """Of one test, below the mount; removed at its end, when their processes are gone."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="strata-test-", dir=MOUNT)
        self.made = [self.top]

    def make(self, path):
        self.made.append(os.path.join(self.top, path))
        os.mkdir(self.made[-1])
        return self.made[-1]

    def remove(self):
        for path in reversed(self.made):
            e2e.until(lambda path=path: self.is_gone(path))

    @staticmethod
    def is_gone(path):
        try:
            os.rmdir(path)
        except OSError:
            return not os.path.exists(path)
        return True


def move(process, path):
    with open(path + "/cgroup.procs", "w") as file:
        file.write(str(process.pid))


def check_users_and_names(workers):
    targets = ("-p", workers.pids())
    workers.check({"red"}, "--user", "-a", "--user", USER, "--comm", "^" + OURS)
    workers.check({"blue", "green"}, "--exclude user=", *targets, "--exclude", "user=" + USER)
    workers.check({"red"}, "a user by number, with -p", *targets, "--user", "5" if USER == "games" else USER)
    workers.check({"red", "green"}, "--comm", "--comm", "^%sred[0-9]$" % OURS)
    workers.check({"green"}, "--comm and --user, both", "--comm", "^%sred" % OURS, "--user", "root")
    workers.check({"red", "blue"}, "one kind twice is either", "--comm", OURS + "red1", "--comm", OURS + "blue")
    workers.check({"blue"}, "--comm without --exclude comm=", "--comm", "^" + OURS, "--exclude", "comm=red")
    workers.check(set(), "none that is both", "--comm", "^%sblue" % OURS, "--user", USER)


def check_cpus(workers):
    if os.cpu_count() < 2:
        TAP.skip("--cpu", "one CPU")
        return
    targets = ("-p", workers.pids())
    workers.check({"red"}, "--cpu", *targets, "--cpu", "0")
    workers.check({"blue", "green"}, "--exclude cpu=", *targets, "--exclude", "cpu=0")


def check_cgroups(workers):
    if not MOUNT:
        TAP.skip("--cgroup", "no cgroup2 that could be written to")
        return
    cgroups = Cgroups()
    inner, beside = cgroups.make("inner"), cgroups.make("inner2")
    below = os.path.relpath(cgroups.top, MOUNT)
    boxes = [cgroups.make("docker-%s.scope" % IDS[0])]
    try:
        move(workers.running["red"], inner)
        move(workers.running["green"], beside)
        workers.check({"red", "green"}, "--cgroup, and those below it", "--cgroup", cgroups.top)
        workers.check({"red"}, "not one whose name begins the same", "--cgroup", "/%s/inner" % below)
        workers.check({"green"}, "--exclude cgroup=", "--cgroup", below, "--exclude", "cgroup=%s/inner" % below)
        workers.check({"red"}, "--cgroup and --user", "--cgroup", below, "--user", USER)
        # A program that starts there later.
        move(workers.running["blue"], boxes[0])
        workers.check({"blue"}, "--container", "--container", IDS[0][:12])
        workers.check({"red", "green"}, "--exclude container=", "--cgroup", below, "--exclude", "container=" + IDS[0][:12])
        check_labels(workers, cgroups)
        check_later_container(workers, cgroups)
    finally:
        workers.stop()
        cgroups.remove()


def fields(data):
    """[(number, value)] of a protobuf message: numbers, and bytes of what has a length."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                return value
    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            at, value = at + value, data[at:at + value]
        found.append((key >> 3, value))
    return found


def labels_of(path):
    """The labels of each sample of a pprof file (src/export/profile.proto)."""
    with gzip.open(path) as file:
        profile = fields(file.read())
    strings = [value.decode() for number, value in profile if number == 6]
    for sample in (fields(value) for number, value in profile if number == 2):
        labels = [dict(fields(value)) for number, value in sample if number == 3]
        yield {strings[label[1]]: strings[label[2]] if 2 in label else label.get(3, 0) for label in labels}


def switches(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))


def check_labels(workers, cgroups):
    """What the cgroups are, in pprof's labels; also of one that is gone by the end."""
    profile, green = workers.folder.name + "/labels.pb.gz", workers.running["green"]
    unit, short = cgroups.make("tf-web.service"), cgroups.make("tf-gone.service")
    move(green, short)

    def during(strata):
        workers.go(True)
        e2e.let_use(green.pid, SECONDS)
        seen = switches(strata.pid)
        e2e.until(lambda: switches(strata.pid) > seen + 3)  # it has looked what there is
        move(green, unit)
        os.rmdir(short)
        e2e.let_use(green.pid, SECONDS)
        e2e.let_use(workers.running["blue"].pid, SECONDS)
        workers.go(False)
    done = e2e.record_while(during, "-F", HZ, "--comm", "^%s(red3|blue)" % OURS, "-o", profile, "-o", workers.folder.name + "/labels.folded")
    found = {tuple(labels.get(key, "") for key in ("comm", "container", "unit")) for labels in labels_of(profile)}
    TAP.equal(found, {(OURS + "blue2", IDS[0][:12], "docker-%s.scope" % IDS[0]), (OURS + "red3", "", "tf-web.service"),
                      (OURS + "red3", "", "tf-gone.service")}, "pprof has containers and units as labels")
    with open(workers.folder.name + "/labels.folded", encoding="utf-8") as file:
        lines = [line.rpartition(" ")[0] for line in file]
    return TAP.ok(lines and len(lines) == len(set(lines)), "  and folded stacks have each line once", done.stderr)


def check_later_container(workers, cgroups):
    """The beginning of both ids is given; the second one starts while it records."""
    out, stats = workers.folder.name + "/later.folded", workers.folder.name + "/later.json"
    green, blue = workers.running["green"].pid, workers.running["blue"].pid

    def during(_):
        workers.go(True)
        e2e.let_use(green, SECONDS)
        move(workers.running["green"], cgroups.make("docker-%s.scope" % IDS[1]))
        e2e.let_use(green, SECONDS)
        e2e.let_use(blue, SECONDS)
    done = e2e.record_while(during, "-F", HZ, "--container", "fade", "-o", out, "--stats", stats, "--function")
    found = by_name(e2e.folded(out)) if done.returncode == 0 else {}
    TAP.ok(set(found) == {"blue", "green"} and min(found.values()) >= LEAST,
           "a container that starts later is met", found, done.stderr)
    TAP.ok(balanced(e2e.load(stats), e2e.folded(out)), "  what was not known yet does not count", e2e.load(stats))


def check_waits(workers):
    """Time off the CPU: threads that sleep, and one that waits from before to after."""
    began = time.monotonic()
    stacks, stats, said = workers.record({"red"}, "--off-cpu", "--off-cpu-rate", "1000000", "--comm", "^%sred1" % OURS)
    took = time.monotonic() - began
    waits = sum(us for frames, us in stacks if e2e.count(frames, "wait_red ("))
    TAP.ok(set(by_name(stacks)) <= {"red"} and e2e.count([f for frames, _ in stacks for f in frames], "nap_red") > 0,
           "--off-cpu: the waits of one program", by_name(stacks), said)
    TAP.ok(SECONDS * 1e6 * 0.9 < waits < took * 1e6, "  one that does not end is among them", waits, took)
    TAP.ok(stats and balanced(stats, stacks, True) and
           abs(stats["off_cpu"]["ns"] / 1e3 - e2e.total(stacks)) <= 0.02 * e2e.total(stacks) and
           stats["off_cpu"]["waits"] >= stats["off_cpu"]["measured"] == stats["samples"],
           "  what it says of all waits is of these", stats.get("off_cpu"), stats.get("samples"), e2e.total(stacks))
    stacks, stats, said = workers.record({"red"}, "--wall", "--user", USER, "--comm", "^" + OURS, "--cpu", "0")
    TAP.ok(set(by_name(stacks)) == {"red"} and
           e2e.total([s for s in stacks if not s[0][-1].startswith("[waiting")]) >= 1e6 * LEAST / HZ and
           balanced(stats, stacks, True), "--wall: both, of one user and CPU", by_name(stacks), stats, said)
    if os.cpu_count() > 1:
        stacks, stats, said = workers.record({"blue"}, "--off-cpu", "-p", workers.pids(), "--cpu", "1")
        TAP.ok(set(by_name(stacks)) == {"blue", "green"}, "--off-cpu --cpu", by_name(stacks), said)


def check_renamed(folder):
    target = e2e.start([e2e.PYTHON, "-I", "-S", "-c", RENAMED, "25", OURS])
    done = e2e.record_rest(target, "-F", HZ, "--function", "--comm", "^%sin" % OURS, "-o", folder + "/r.folded", "--stats",
                           folder + "/r.json")
    stacks, stats = e2e.folded(folder + "/r.folded"), e2e.load(folder + "/r.json")
    out = [frames for frames, _ in stacks if e2e.count(frames, "spin_out (")]
    inside = e2e.total([s for s in stacks if e2e.count(s[0], "spin_in (")])
    TAP.ok(not out and inside >= 0.35 * 0.25 * HZ, "a thread that gets new names: %d samples under those wanted" % inside,
           out[:3], done.stderr)
    TAP.ok(all(frames[0].startswith(OURS + "in") for frames, _ in stacks) and balanced(stats, stacks),
           "  and none under others", stats, e2e.total(stacks))


def check_top(workers):
    workers.go(True)
    done = subprocess.run([e2e.STRATA, "top", "--batch", "2", "--by", "thread", "--comm", "^" + OURS, "--exclude", "comm=blue"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    workers.go(False)
    seen = set(re.findall(r"  \d+ (\S+) \(pid \d+\)", done.stdout))
    TAP.ok(seen == {OURS + "red1", OURS + "red3"}, "strata top has the same filters", done.stdout, done.stderr)


WORKING = Workers()
try:
    check_users_and_names(WORKING)
    check_cpus(WORKING)
    check_waits(WORKING)
    check_top(WORKING)
    check_renamed(WORKING.folder.name)
    check_cgroups(WORKING)
finally:
    WORKING.stop()
TAP.done()
