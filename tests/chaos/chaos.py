# SPDX-License-Identifier: GPL-2.0-or-later
"""What the storms share: recording beside them, and what must hold for every recording."""
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


def build(where):
    subprocess.check_call(["cc", "-O2", "-o", where + "/storm", HERE + "/storm.c", "-ldl", "-lpthread"])
    for name in ("alpha", "omega"):
        subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-DNAME=" + name, "-o",
                               "%s/%s.so" % (where, name), HERE + "/plugin.c"])


def judge(tap, words, where, done, cpu, frequency=HZ, status=0, least=0.99, own=None):
    """What holds for every recording of a program that used `cpu` seconds of CPU time; `own` tells which stacks are the
    test's: of those the number and completeness are asked."""
    if not tap.equal(done.returncode, status, words + ": exit status"):
        print("# " + done.stderr[-600:].replace("\n", "\n# "))
        return []
    stacks, stats = e2e.folded(where + "/c.folded"), e2e.load(where + "/c.json")
    lost = {k: v for k, v in stats["lost"].items() if v}
    tap.equal(stats["complete"] + sum(lost.values()), stats["samples"],
              words + ": complete and lost make up all samples")
    tap.equal(e2e.total(stacks), stats["samples"] - sum(v for k, v in lost.items() if k in ABSENT),
              words + ": each sample that arrived is in a stack")
    mine = [(f, c) for f, c in stacks if own is None or re.match(own, f[0])]
    tap.ok(e2e.total(mine) >= e2e.due(cpu, frequency), "%s: %d samples" % (words, e2e.total(mine)))
    bad = [(f, c) for f, c in mine if any(x.startswith(("[incomplete", "[truncated", "[unknown")) for x in f)]
    whole = 1 - e2e.total(bad) / max(e2e.total(mine), 1)
    tap.ok(whole >= least, "%s: complete %.2f %%" % (words, 100 * whole), "%s\n%s" % (lost, "\n".join(
        "%d %s" % (c, ";".join(f)) for f, c in sorted(bad, key=lambda x: -x[1])[:8])))
    return mine


def outputs(where, frequency=HZ):
    return ["-q", "-F", frequency, "-o", where + "/c.folded", "--stats", where + "/c.json"]


def politely(cpu, command):
    return ["nice", "-n", "5"] + [str(cpu) if word == CPU else word for word in command]


def run(tap, words, where, cpu, *command, **options):
    """Records a command that uses `cpu` seconds of CPU time; the word CPU in it becomes that number."""
    done = e2e.record(*(outputs(where, options.get("frequency", HZ)) + ["--"] + politely(cpu, command)))
    return judge(tap, words, where, done, cpu, **options)


def run_all(tap, words, where, cpu, *command, **options):
    """The same beside everything else that runs here."""
    def storm(_):
        subprocess.check_call(politely(cpu, command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return judge(tap, words, where, e2e.record_while(storm, *(outputs(where) + ["-a"])), cpu, **options)


def main(*parts):
    tap = e2e.Tap()
    with e2e.folder() as where:
        build(where)
        for part in parts:
            part(tap, where, where + "/storm")
    tap.done()
