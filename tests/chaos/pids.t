#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that have the pid of one that has just ended: no frame of the one is in a stack of the other."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e, judge, outputs  # noqa: E402

HZ = 1499
SCRIPT = """#!%s/reuse-%s -SE
import time
def %s_python():
    end = time.process_time() + 0.03
    while time.process_time() < end: sum(range(500))
%s_python()
"""


def programs(where):
    """Two Python programs that differ in names only; their interpreter is a link, so that the process has its name."""
    for name in ("alpha", "omega"):
        path = "%s/%s.py" % (where, name)
        os.symlink(e2e.PYTHON, "%s/reuse-%s" % (where, name))
        with open(path, "w") as file:
            file.write(SCRIPT % (where, name, name, name))
        os.chmod(path, 0o755)
        yield path


def reuse(tap, where, storm):
    command = [storm, "pids", "4", where + "/alpha.so", where + "/omega.so"] + list(programs(where))
    if subprocess.call([storm, "pids", "0.01"] + command[3:]):
        tap.skip("pids that are used again", "clone3() does not let choose a pid here")
        return
    command = ["nice", "-n", "5"] + command
    for words in ("one pid for all", "one pid for all, among all"):
        arguments = ["-t"] + outputs(where, HZ)
        if "among" in words:
            done = e2e.record_while(lambda _: subprocess.check_call(command), *(arguments + ["-a"]))
        else:
            done = e2e.record(*(arguments + ["--"] + command))
        mine = judge(tap, words, where, done, 2.67, HZ, least=0.98, own="(reuse-)?(alpha|omega)")
        seen = {name: [(f, c) for f, c in mine if name in f[0]] for name in ("alpha", "omega")}
        threads = [{re.search(r"\((\d+)\)$", f[1]).group(1) for f, _ in seen[name]} for name in seen]
        tap.ok(threads[0] & threads[1], "%s: %d and %d pids, %d the same" %
               (words, len(threads[0]), len(threads[1]), len(threads[0] & threads[1])))
        for name, other in (("alpha", "omega"), ("omega", "alpha")):
            wrong = [";".join(f) for f, _ in seen[name] if other in ";".join(f)]
            tap.equal(wrong, [], "%s: no %s has a frame of %s" % (words, name, other))
            for frame in ("%s (%s.so)" % (name, name), name + "_python ("):
                share = e2e.share(seen[name], lambda f: any(x.startswith(frame) for x in f))
                tap.ok(share > 0.1, "%s: of %s, %.0f %% have %s" % (words, name, 100 * share, frame))


chaos.main(reuse)
