#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""posix_spawn() and vfork(): children that borrow their parent's memory, the one on a stack of its own, the other not; and
clone(), whose child is met before it has done anything."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SCRIPT = """import os, subprocess, time
def spawn():
    os.waitpid(os.posix_spawn("/bin/true", ["true"] + ["x" * 20000] * 20, os.environ), 0)
def forked():
    subprocess.call(["/bin/true"] + ["x" * 20000] * 20)
def main():
    for _ in range(300):
        spawn()
        forked()
main()
"""

CLONES = r"""#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char stack[65536];
static int child(void *unused) { _exit(0); }
int main(void) {
	for (int i = 0; i < 20000; i++)
		waitpid(clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), NULL, 0);
}
"""


def clones(where):
    """A child begins behind the system call, where the function it is to call is what a return address would be."""
    program, out, stats = where + "/clones", where + "/c.folded", where + "/c.json"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-xc", "-", "-o", program], input=CLONES.encode(), check=True)
    done = e2e.record("-F", 4999, "-o", out, "--stats", stats, "--", program)
    tap.ok(done.returncode == 0, "clone: recorded", done.stderr)
    figures = e2e.load(stats)
    tap.equal(figures["lost"].get("no-rule", 0), 0, "clone: no child without an end")
    tap.ok(e2e.complete(figures) >= 0.999, "clone: complete %.3f %%" % (100 * e2e.complete(figures)), figures["lost"])
    # The outermost frame is the comm's only one: there is nothing below a thread's first function.
    begun = [f for f, _ in e2e.folded(out) if f[1].startswith(("clone", "__clone")) and (len(f) == 2 or f[2].endswith("[k]"))]
    tap.ok(begun, "clone: %d stacks of a child at its beginning" % len(begun))


tap = e2e.Tap()
with e2e.folder() as where:
    out, stats = where + "/s.folded", where + "/s.json"
    done = e2e.record("-F", 1999, "-o", out, "--stats", stats, "--", e2e.PYTHON, "-c", SCRIPT)
    tap.ok(done.returncode == 0, "recorded", done.stderr)
    figures = e2e.load(stats)
    tap.equal(figures["lost"].get("python-mismatch", 0), 0, "loops and Python frames pair up")
    stacks = [f for f, _ in e2e.folded(out)]
    spawned = [f for f in stacks if any(x.startswith("do_execveat_common") for x in f) and f[1].startswith(("clone", "__clone"))]
    vforked = [f for f in stacks if any(x.startswith("do_execveat_common") for x in f) and "forked" in
               [x.split(" ")[0] for x in f]]
    tap.ok(spawned, "%d stacks in posix_spawn()'s child" % len(spawned))
    tap.equal([f for f in spawned if any(e2e.PYTHON_FRAME.match(x) for x in f)][:1], [], "have none of the parent's frames")
    tap.equal(figures["python_samples"], sum(count for f, count in e2e.folded(out) if any(e2e.PYTHON_FRAME.match(x) for x in f)),
              "nor are they counted as samples with Python frames")
    tap.ok(vforked, "%d in vfork()'s have" % len(vforked))
    clones(where)
tap.done()
