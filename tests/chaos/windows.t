#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the engine that collects ten windows a second under a storm of processes: their sum is one recording, each accounts
for its samples, and neither memory nor the cost of a window grows."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e  # noqa: E402

SECONDS = float(os.environ.get("WINDOWS_SECONDS", "15"))
HZ, MS = 499, 100
CPU = 0.6  # a second: what the storm uses while others use the machine, too
ROOM = 6000  # KiB


def median(values):
    return sorted(values)[len(values) // 2]


def collect(where, pid):
    """The client, once it samples."""
    tool = os.path.join(os.environ.get("BUILD", chaos.HERE + "/../../build"), "tests/chaos/collect_windows")
    with open(where + "/sum.folded", "w") as sum_file:
        client = subprocess.Popen(list(map(str, [tool, pid, MS, HZ])), stdout=subprocess.PIPE, stderr=sum_file,
                                  universal_newlines=True)
    if client.stdout.readline() != "ready\n":
        raise RuntimeError("the client does not start")
    return client


def stopped(command):
    """A command that stands still before its first instruction, for those who are to see all of it."""
    program = subprocess.Popen(["sh", "-c", "kill -STOP $$; exec \"$@\"", "sh"] + command)
    os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
    return program


def windows(tap, where, storm):
    program = stopped(["nice", "-n", "5", storm, "forks", str(SECONDS * CPU)])
    client = collect(where, program.pid)
    strata = subprocess.Popen([e2e.STRATA, "record", "-q", "-F", str(HZ), "-o", where + "/c.folded", "--stats", where + "/c.json",
                               "-p", str(program.pid), "--children"])
    e2e.until(lambda: e2e.is_sampling(strata.pid) or strata.poll() is not None)
    program.send_signal(signal.SIGCONT)
    lines = [line.split() for line in client.communicate()[0].splitlines()]
    program.wait()
    tap.equal((strata.wait(timeout=e2e.PATIENCE_S), client.returncode), (0, 0), "a recording and a client beside it")

    seen = [list(map(int, line)) for line in lines if line[0] != "sum"]
    samples, present, complete, lost, accounted = (list(x) for x in list(zip(*seen))[:5])
    total = list(map(int, [line for line in lines if line[0] == "sum"][0][1:]))
    tap.ok(len(seen) > SECONDS * 1000 / MS / 4, "%d windows" % len(seen))
    tap.equal([x for x in seen if x[4] != x[0]], [], "in each all samples are complete, or lost for a reason")
    tap.equal([x for x in seen if x[1] + x[3] != x[0]], [], "and those that arrived are in its profile")
    tap.equal([sum(samples), sum(present), sum(complete), sum(lost), sum(accounted)], total, "the sums are those of all")
    tap.ok(total[2] >= 0.99 * total[0], "complete: %d of %d" % (total[2], total[0]))

    # Both have a clock of their own: each counts the same CPU time, to the square root of what it counts.
    one, stats = e2e.folded(where + "/c.folded"), e2e.load(where + "/c.json")
    parts = e2e.folded(where + "/sum.folded")
    tap.equal(e2e.total(parts), total[1], "the windows' profiles have these samples")
    for words, wanted in (("all", lambda f: True), ("storm_compute()", lambda f: any(x.startswith("storm_compute (") for x in f)),
                          ("in the kernel", lambda f: f[-1].endswith(" [k]"))):
        a, b = (sum(count for frames, count in stacks if wanted(frames)) for stacks in (one, parts))
        tap.ok(abs(a - b) <= 5 * (a + b) ** 0.5 + 0.02 * stats["samples"], "%s: %d in one recording, %d in windows" % (words, a, b))

    third = len(seen) // 3
    cost, rss = [x[5] for x in seen], [x[6] for x in seen]
    print("# RSS KiB: %s" % " ".join(map(str, rss[::max(1, len(rss) // 20)])))
    print("# us a window: %s" % " ".join(map(str, cost[::max(1, len(cost) // 20)])))
    tap.ok(min(rss[-third:]) <= max(rss[third:2 * third]) + ROOM, "memory stays as it is: %d KiB, then %d KiB" %
           (max(rss[third:2 * third]), min(rss[-third:])))
    before, after = median(cost[third:2 * third]), median(cost[-third:])
    tap.ok(after <= 2 * before + 1000, "a window costs what is new in it: %d us, then %d us" % (before, after))


chaos.main(windows)
