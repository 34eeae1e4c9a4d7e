# SPDX-License-Identifier: GPL-2.0-or-later
"""What the storms share: recording beside them, and what must hold for every recording."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import e2e  # noqa: E402

HZ = 199
CPU = object()
# Of these there is no stack, because they did not arrive.
ABSENT = {"ring-full", "internal"}
# Ever new stacks: which of two functions calls itself at each depth is the number's next bit.
MANY = """import sys, time
sys.setrecursionlimit(100000)
def zero(number, depth): return leaf() if not depth else (one if number & 1 else zero)(number >> 1, depth - 1)
def one(number, depth): return leaf() if not depth else (one if number & 1 else zero)(number >> 1, depth - 1)
def leaf():
    for _ in range(3000): pass
def frequent(end):
    while time.process_time() < end: pass
number, spent = 12345, 0
while time.process_time() < float(sys.argv[1]):
    number = number * 6364136223846793005 + 1442695040888963407 & (1 << 2100) - 1
    zero(number, 2000)
    begin = time.process_time()
    frequent(begin + 0.001)
    spent += time.process_time() - begin
print(spent / time.process_time())
"""


def build(where):
    subprocess.check_call(["cc", "-O2", "-o", where + "/storm", HERE + "/storm.c", "-ldl", "-lpthread"])
    for name in ("alpha", "omega"):
        subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-DNAME=" + name, "-o",
                               "%s/%s.so" % (where, name), HERE + "/plugin.c"])


def judge_lines(tap, words, where, done, cpu, frequency=HZ, status=0, least=0.99, own=None):
    """What holds for every recording of a program that used `cpu` seconds of CPU time; `own` tells which stacks are the
    test's, by their comm: of those the number and completeness are asked. Gives these as [(stack, count)]."""
    if not tap.equal(done.returncode, status, words + ": exit status"):
        print("# " + done.stderr[-600:].replace("\n", "\n# "))
        return []
    stacks, stats = list(e2e.folded_lines(where + "/c.folded")), e2e.load(where + "/c.json")
    lost = {k: v for k, v in stats["lost"].items() if v}
    tap.equal(stats["complete"] + sum(lost.values()), stats["samples"],
              words + ": complete and lost make up all samples")
    tap.equal(e2e.total(stacks), stats["samples"] - sum(v for k, v in lost.items() if k in ABSENT),
              words + ": each sample that arrived is in a stack")
    mine = [(s, c) for s, c in stacks if own is None or re.match(own, s.partition(";")[0])]
    tap.ok(e2e.total(mine) >= e2e.due(cpu, frequency), "%s: %d samples" % (words, e2e.total(mine)))
    bad = [(s, c) for s, c in mine if any(mark in s for mark in (";[incomplete", ";[truncated", ";[unknown"))]
    whole = 1 - e2e.total(bad) / max(e2e.total(mine), 1)
    tap.ok(whole >= least, "%s: complete %.2f %%" % (words, 100 * whole), "%s\n%s" % (lost, "\n".join(
        "%d %s" % (c, s) for s, c in sorted(bad, key=lambda x: -x[1])[:8])))
    return mine


def judge(*arguments, **options):
    """The same; gives the stacks as [(frames, count)]. Of thousands of deep stacks these are millions: judge_lines() does without."""
    return [(stack.split(";"), count) for stack, count in judge_lines(*arguments, **options)]


def outputs(where, frequency=HZ):
    return ["-q", "-F", frequency, "-o", where + "/c.folded", "--stats", where + "/c.json"]


def politely(cpu, command):
    return ["nice", "-n", "5"] + [str(cpu) if word == CPU else word for word in command]


def run(tap, words, where, cpu, *command, **options):
    """Records a command that uses `cpu` seconds of CPU time, times SCALE; the word CPU in it becomes that number."""
    cpu *= e2e.SCALE if CPU in command else 1
    done = e2e.record(*(outputs(where, options.get("frequency", HZ)) + ["--"] + politely(cpu, command)))
    return judge(tap, words, where, done, cpu, **options)


def run_all(tap, words, where, cpu, *command, **options):
    """The same beside everything else that runs here."""
    cpu *= e2e.SCALE if CPU in command else 1
    def storm(_):
        subprocess.check_call(politely(cpu, command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return judge(tap, words, where, e2e.record_while(storm, *(outputs(where) + ["-a"])), cpu, **options)


def has(feature):
    """Whether the kernel has what strata doctor calls so."""
    done = subprocess.run([e2e.STRATA, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return any(x["name"] == feature and x["mark"] == "ok" for x in json.loads(done.stdout.decode())["findings"])


# What a test starts inherits it, and is told by it from what another one has started.
MARK = "STRATA_TEST=%d" % os.getpid()
os.environ.update([MARK.split("=")])


def readers():
    """The pids of the readers of this test's strata that run, or wait."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                name, _, rest = file.read().partition(" (")[2].rpartition(") ")
            if not name.startswith("strata-") or rest[0] in "ZX":
                continue
            with open("/proc/%s/environ" % pid, "rb") as file:
                if MARK.encode() in file.read().split(b"\0"):
                    found.add(int(pid))
        except OSError:
            continue
    return found


def main(*parts):
    tap = e2e.Tap()
    with e2e.folder() as where:
        build(where)
        for part in parts:
            part(tap, where, where + "/storm")
    tap.done()
