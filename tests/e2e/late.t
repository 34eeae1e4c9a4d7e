#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes after strata has begun: libraries loaded late, programs that exec, forks, threads, files that are deleted."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

LIBRARY = """unsigned long late_grind(unsigned long n) { volatile unsigned long x = 1;
for (unsigned long i = 0; i < n; i++) x = x * 31 + i; return x; }"""
HZ = 199
LOADS = e2e.READY + """import ctypes, time
def after_loading(grind):
    end = time.process_time() + 1.5
    while time.process_time() < end:
        grind(200000)
after_loading(ctypes.CDLL(%r).late_grind)
"""
EXECS = """import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def before():
    burn(0.5)
def after():
    burn(1)
if len(sys.argv) > 1:
    after()
else:
    %s
    before()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
""" % e2e.READY
FORKS = e2e.READY + """import os, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def in_child():
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
def in_thread():
    burn(1)
pid = os.fork()
if pid == 0:
    in_child()
    os._exit(0)
os.waitpid(pid, 0)
"""
CHILDREN = 40
# Children that become other programs, Pythons again, and each live for a few samples.
CHILDREN_EXEC = e2e.READY + """import subprocess, sys
for _ in range(%d):
    subprocess.check_call([sys.executable, "-S", "-c", %r])
""" % (CHILDREN, "import time\ndef in_exec():\n while time.process_time() < 0.06: sum(i for i in range(1000))\nin_exec()")

# One frame is larger than the copy that a late sample has of the stack, and what lies beyond it is needed.
LARGE = """
#include <pthread.h>
#include <string.h>
#include <time.h>
#define KEEP __attribute__((noipa))
static volatile long sink;
KEEP void leaf(void) { for (int i = 0; i < 1000; i++) sink += i; }
KEEP void large(void) { char b[400000]; asm volatile("" :: "r"(b) : "memory"); leaf(); asm volatile("" :: "r"(b) : "memory"); }
KEEP void outer(void) { large(); sink++; }
static void *run(void *unused) {
	clock_t end = clock() + CLOCKS_PER_SEC / 100;
	while (clock() < end) outer();
	return unused;
}
int main(void) {
	pthread_t thread;
	run(0);
	pthread_create(&thread, 0, run, 0);
	return pthread_join(thread, 0);
}
"""
LARGES = 20


def attach(tap, words, where, *command):
    """Attaches before what the program does late."""
    out, stats = where + "/l.folded", where + "/l.json"
    done = e2e.record_rest(e2e.start(command), "--children", "-F", HZ, "-o", out, "--stats", stats)
    if not tap.ok(done.returncode == 0, "%s: recorded" % words, done.stderr):
        return []
    figures = e2e.load(stats)
    tap.ok(e2e.complete(figures) >= 0.98, "%s: complete %.2f %%" % (words, 100 * e2e.complete(figures)), figures["lost"])
    return e2e.folded(out)


def having(stacks, *starts):
    """Samples that have frames with these beginnings, outermost first."""
    found = 0
    for frames, count in stacks:
        rest = iter(frames)
        found += count * all(any(frame.startswith(start) for frame in rest) for start in starts)
    return found


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


tap = e2e.Tap()
with e2e.folder() as where:
    library = where + "/liblate.so"
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-xc", "-", "-o", library],
                   input=LIBRARY.encode(), check=True)
    stacks = attach(tap, "dlopen", where, e2e.PYTHON, write(where + "/loads.py", LOADS % library))
    found = having(stacks, "<module> (", "after_loading (", "late_grind (liblate.so)")
    tap.ok(found >= e2e.due(1.5, HZ), "dlopen: the library's frames above their Python caller: %d" % found)

    stacks = attach(tap, "exec", where, e2e.PYTHON, write(where + "/execs.py", EXECS))
    tap.ok(having(stacks, "<module> (", "before (", "burn (") >= e2e.due(0.5, HZ), "exec: frames before it")
    tap.ok(having(stacks, "<module> (", "after (", "burn (") >= e2e.due(1, HZ), "exec: and of the new program")
    tap.equal(having(stacks, "before (", "after ("), 0, "exec: never both")

    stacks = attach(tap, "fork", where, e2e.PYTHON, write(where + "/forks.py", FORKS))
    found = having(stacks, "Thread.run (", "in_thread (", "burn (")
    tap.ok(found >= e2e.due(1, HZ), "fork: a thread of a child that strata saw being born: %d" % found)

    stacks = attach(tap, "fork and exec", where, e2e.PYTHON, write(where + "/children.py", CHILDREN_EXEC))
    found = having(stacks, "<module> (", "in_exec (")
    tap.ok(found >= e2e.due(CHILDREN * 0.03, HZ), "fork and exec: the new programs' Python frames: %d" % found)
    # A child that was not followed is met by its first sample, which then is late: one for each child at least.
    late = e2e.load(where + "/l.json")["late_samples"]
    tap.ok(late < 0.75 * CHILDREN, "fork and exec: children are known before their first sample: %d late of %d" % (late, CHILDREN))

    program = where + "/vanishing"
    shutil.copy2(os.path.realpath(e2e.PYTHON), program)
    target = e2e.start([program, "-c", e2e.READY + "def still_here():\n " + (e2e.BUSY % 1).replace("\n", "\n ") +
                        "\nstill_here()"], env=dict(os.environ, PYTHONHOME="/usr"))
    os.unlink(program)
    done = e2e.record_rest(target, "-F", HZ, "-o", where + "/d.folded")
    tap.ok(done.returncode == 0, "a deleted program: recorded", done.stderr)
    if done.returncode == 0:
        tap.ok(having(e2e.folded(where + "/d.folded"), "<module> (", "still_here (") >= e2e.due(0.9, HZ),
               "a deleted program: its Python frames are there all the same")

    # Each is another file, whose tables are not there: strata, the shell's parent, stands still while it runs.
    subprocess.run(["gcc", "-O2", "-pthread", "-xc", "-", "-o", where + "/large"], input=LARGE.encode(), check=True)
    for i in range(LARGES):
        shutil.copy2(where + "/large", where + "/large%d" % i)
    done = e2e.record("-F", 499, "-o", where + "/s.folded", "--stats", where + "/s.json", "--", "sh", "-c",
                      "for i in %s/large?*; do kill -STOP $PPID; $i; kill -CONT $PPID; done" % where)
    figures, stacks = e2e.load(where + "/s.json"), e2e.folded(where + "/s.folded")
    tap.ok(figures["late_samples"] >= LARGES / 2, "a large frame: %d late samples" % figures["late_samples"])
    cut = [frames for frames, _ in stacks if "leaf (" in " ".join(frames) and not having([(frames, 1)], "outer (", "large (", "leaf (")]
    tap.equal(cut[:2], [], "a large frame: what called it is there")
    tap.ok(having(stacks, "_start (", "run (", "outer (") and having(stacks, "start_thread (", "run (", "outer ("),
           "a large frame: in a program's first thread, and in another", figures["lost"])
tap.done()
