#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-p of a wrapper: it is told which of its children used CPU time, and --children records them, grandchildren and those of
later among them."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

# A wrapper, whose child and grandchild are busy; on SIGUSR1 it starts another child.
WRAPPER = """import os, signal, subprocess, sys
BUSY = "import sys\\ndef %s():\\n    while True: sum(i * i for i in range(1000))\\n"
children = []
def run(name, before=""):
    children.append(subprocess.Popen([sys.executable, "-c", before + BUSY % name + name + "()"]))
signal.signal(signal.SIGUSR1, lambda *_: run("later"))
run("child", "import subprocess\\nsubprocess.Popen([sys.executable, '-c', %r])\\n".replace("sys.", "__import__('sys').")
    % (BUSY % "grandchild" + "grandchild()"))
print(children[0].pid)
sys.stdout.flush()
while True:
    signal.pause()
"""
tap = e2e.Tap()


def descendants(pid):
    found, parents = [], {pid}
    stats = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry) as file:
                stats.append((int(entry), int(file.read().rpartition(")")[2].split()[1])))
        except OSError:
            pass
    while True:
        new = [p for p, parent in stats if parent in parents and p not in parents]
        if not new:
            return found
        parents.update(new)
        found += new


def names(path):
    return {m.group(1) for stack, _ in e2e.folded(path) for m in map(e2e.PYTHON_FRAME.match, stack) if m}


def busy(pids, seconds):
    """Waits until each of these has used so much more CPU time."""
    ends = [(pid, e2e.used(pid) + seconds) for pid in pids]
    return e2e.until(lambda: all(e2e.used(pid) >= end for pid, end in ends))


def check_told(where, wrapper):
    done = e2e.record_while(lambda _: busy(descendants(wrapper.pid), 0.5), "-o", where + "/t.folded", "-p", wrapper.pid)
    tap.ok(done.returncode == 0 and "nothing was sampled" in done.stderr and "its children did" in done.stderr, "a wrapper alone", done.stderr)
    told = {int(pid) for pid in re.findall(r"\(pid (\d+)\) \d+\.\d\d s", done.stderr)}
    tap.ok(told == set(descendants(wrapper.pid)) and "--children" in done.stderr, "its children are told", done.stderr)
    tap.equal(e2e.folded(where + "/t.folded"), [], "and not sampled")


def check_children(where, wrapper):
    def more(_):
        before = set(descendants(wrapper.pid))
        wrapper.send_signal(signal.SIGUSR1)
        e2e.until(lambda: set(descendants(wrapper.pid)) > before)
        busy(descendants(wrapper.pid), 0.7)
    done = e2e.record_while(more, "-F", 499, "--children", "-o", where + "/c.folded", "-p", wrapper.pid)
    tap.ok(done.returncode == 0 and "not sampled" not in done.stderr, "--children", done.stderr)
    tap.ok({"child", "grandchild", "later"} <= names(where + "/c.folded"), "children, grandchildren and later ones", names(where + "/c.folded"))


def check_alone(where):
    """A process that works itself, and has a child that does."""
    program = "import os\nif not os.fork():\n    def child():\n        while True: pass\n    child()\ndef parent():\n    while True: pass\nparent()\n"
    target = subprocess.Popen([e2e.PYTHON, "-c", program])
    try:
        e2e.until(lambda: descendants(target.pid))
        both = [target.pid] + descendants(target.pid)
        done = e2e.record_while(lambda _: busy(both, 0.5), "-o", where + "/a.folded", "-p", target.pid)
        tap.ok("parent" in names(where + "/a.folded") and "child" not in names(where + "/a.folded"), "-p is one process", done.stderr)
        tap.ok(re.search(r"not sampled: .*\(pid %d\)" % both[1], done.stderr), "and its child is told of", done.stderr)
    finally:
        for pid in descendants(target.pid):
            os.kill(pid, signal.SIGKILL)
        target.kill()
        target.wait()


with e2e.folder() as where:
    wrapper = subprocess.Popen([e2e.PYTHON, "-c", WRAPPER], stdout=subprocess.PIPE)
    try:
        wrapper.stdout.readline()
        e2e.until(lambda: len(descendants(wrapper.pid)) == 2)
        check_told(where, wrapper)
        check_children(where, wrapper)
    finally:
        for pid in descendants(wrapper.pid):
            os.kill(pid, signal.SIGKILL)
        wrapper.kill()
        wrapper.wait()
    check_alone(where)
tap.done()
