#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Programs that user space has not heard of: strata is stopped (SIGSTOP) while processes start, load libraries, fork, and
become other programs, of files that others have run before. All their samples are walked in the kernel, Python included.
With the records of their mappings lost, too, and the programs gone: where their frames are, only the kernel part knows.
"""
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

HZ = 1998
TIMES = 5
TRIES = 5
CPU_S = 0.05
KNOWN_S = 0.03  # of what strata is only to meet: twenty times
FEATURE = "finding mappings"
# Runs for so many seconds each: at once; in a library that is loaded then; in a child; and as another program in the same process.
PROGRAM = """import os, sys, time
def burn():
    end = time.process_time() + %(seconds)s
    while time.process_time() < end: sum(range(1000))
def %(name)s_start():
    burn()
def %(name)s_library():
    import _decimal
    end, number = time.process_time() + %(seconds)s, _decimal.Decimal(7) ** 99999
    while time.process_time() < end: _decimal.Decimal(2).sqrt(_decimal.Context(prec=9999))
def %(name)s_child():
    burn()
def %(name)s_exec():
    burn()
if len(sys.argv) > 1:
    %(name)s_exec()
    os._exit(0)
%(name)s_start()
%(name)s_library()
pid = os.fork()
if not pid:
    %(name)s_child()
    os._exit(0)
os.waitpid(pid, 0)
os.execv(sys.executable, [sys.executable, __file__, "again"])
"""
# Samples are late while a program is met: that is a short one's time, if the next begins when all is known of it.
SHELL = """echo ready; read x; %(python)s %(met)s; sleep 0.5
i=0; while [ $i -lt 20 ]; do %(python)s %(known)s; i=$((i + 1)); done; echo known; read x
i=0; while [ $i -lt %(times)d ]; do %(python)s %(unheard)s; i=$((i + 1)); done; echo unheard; read x
exit 0
"""

tap = e2e.Tap()
os.setpriority(os.PRIO_PROCESS, 0, -20)  # so that little else happens while strata is stopped
doctor = subprocess.run([e2e.STRATA, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True).stdout
if not re.search(r"\bok\b.*" + FEATURE, doctor):
    print("1..0 # SKIP this kernel's mappings cannot be found: " + " ".join(re.findall(".*" + FEATURE + ".*", doctor)))
    sys.exit(0)


def record_stopped(where, names):
    """A recording of the shell, stopped while it runs what strata has not heard of; how it ended."""
    shell = e2e.start(["bash", "-c", SHELL % names])

    def go(strata):
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        shell.stdout.readline()
        strata.send_signal(signal.SIGSTOP)
        try:
            shell.stdin.write(b"\n")
            shell.stdin.flush()
            shell.stdout.readline()
        finally:
            strata.send_signal(signal.SIGCONT)
        shell.stdin.close()
        strata.wait(timeout=e2e.PATIENCE_S)

    done = e2e.record_while(go, "-F", HZ, "-o", where + "/x.folded", "--stats", where + "/x.json",
                            "--children", "-p", shell.pid)
    shell.wait()
    return done


def unheard(where, python, called):
    """Python runs programs that strata has not heard of, and programs that it has; `called` is for the tests' names."""
    names = {"python": python, "times": TIMES}
    for name, seconds in (("met", 0), ("known", KNOWN_S), ("unheard", CPU_S)):
        names[name] = "%s/%s.py" % (where, name)
        with open(names[name], "w") as file:
            file.write(PROGRAM % {"name": name, "seconds": seconds})
    # Other programs of this machine may have filled perf's buffers meanwhile, which are for what strata has not heard of.
    for _ in range(TRIES):
        done = record_stopped(where, names)
        if done.returncode or not e2e.load(where + "/x.json")["notes"].get("sideband"):
            break
    if not tap.ok(done.returncode == 0, "%s: recorded, stopped for a while" % called, done.stderr):
        return
    stacks, stats = e2e.folded(where + "/x.folded"), e2e.load(where + "/x.json")
    for part in ("start", "library", "child", "exec"):
        found = e2e.total([s for s in stacks if any(f.startswith("unheard_%s (" % part) for f in s[0])])
        tap.ok(found >= e2e.due(TIMES * CPU_S, HZ), "%s: Python frames of unheard_%s: %d" % (called, part, found), stats)
    inside = [s for s in stacks if any(f.startswith("unheard_library") for f in s[0])]
    library = e2e.share(inside, lambda f: any("_decimal" in x or "mpdec" in x for x in f))
    tap.ok(library > 0.5, "%s: the library has its frames: %.1f %%" % (called, 100 * library))
    print("# complete %.3f %%, late %d of %d, lost: %s" % (100 * e2e.complete(stats), stats["late_samples"], stats["samples"],
                                                          stats["lost"]))
    tap.ok(stats["late_samples"] < 0.01 * stats["samples"],
           "%s: late: %d of %d" % (called, stats["late_samples"], stats["samples"]))
    tap.ok(e2e.complete(stats) > 0.99, "%s: complete: %.2f %%" % (called, 100 * e2e.complete(stats)), stats["lost"])


MARKING = """__attribute__((noinline)) void unheard_mark(void) { __asm__ volatile(""); }
__attribute__((noinline)) void unheard_inner(void) { unheard_mark(); __asm__ volatile(""); }
__attribute__((noinline)) void unheard_outer(void) { unheard_inner(); __asm__ volatile(""); }
int main(void) { unheard_outer(); return 0; }
"""
FILL = 8000  # mappings: more records than perf's buffer of a CPU has room for


def fill_buffers():
    """Until perf's buffers are full, of each CPU: what is mapped then is not told."""
    cpus = os.sched_getaffinity(0)
    with open("/proc/self/exe", "rb") as file:
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            for _ in range(FILL):
                mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    os.sched_setaffinity(0, cpus)


def lost_records(where):
    """A script's stacks of a program that runs, and ends, while strata is stopped and perf's buffers are full."""
    program = where + "/marking"
    subprocess.run(["gcc", "-xc", "-", "-O1", "-o", program], input=MARKING.encode(), check=True)
    strata = subprocess.Popen([e2e.STRATA, "trace", "-e", 'BEGIN { printf("ready\\n") } uprobe:%s:unheard_mark { printf("stack%%s\\n", ustack) }' % program],
                              stdout=subprocess.PIPE, universal_newlines=True)
    strata.stdout.readline()
    for _ in range(20):
        subprocess.run([program], check=True)
        while "main" not in strata.stdout.readline():
            pass
    strata.send_signal(signal.SIGSTOP)
    try:
        fill_buffers()
        for _ in range(TIMES):
            subprocess.run([program], check=True)
    finally:
        strata.send_signal(signal.SIGCONT)
    strata.send_signal(signal.SIGINT)
    printed = strata.communicate(timeout=e2e.PATIENCE_S)[0]
    stacks = printed.split("stack")[-TIMES:]
    whole = [stack for stack in stacks if re.search("unheard_mark.*unheard_inner.*unheard_outer.*main", stack, re.DOTALL) and "[" not in stack]
    tap.ok(len(whole) == TIMES, "a script: whole stacks of programs whose records were lost: %d of %d" % (len(whole), TIMES), printed)


with e2e.folder() as where:
    unheard(where, e2e.PYTHON, "a file")
with e2e.folder() as where:
    lost_records(where)
# As in a container: stat() and the mappings may give a file of an overlay different devices.
with e2e.folder() as where:
    for name in ("lower", "lowest", "merged"):
        os.mkdir("%s/%s" % (where, name))
    prefix, copy = sys.prefix, where + "/lower/python-in-overlay"
    shutil.copy(os.path.realpath(e2e.PYTHON), copy)
    options = "lowerdir=%s/lower:%s/lowest" % (where, where)
    mounted = subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", where + "/merged"], stderr=subprocess.PIPE)
    if mounted.returncode:
        tap.skip("a file of an overlay", "no overlay file system: %s" % mounted.stderr.decode(errors="replace").strip())
    else:
        try:
            unheard(where, "env PYTHONHOME=%s %s/merged/python-in-overlay" % (prefix, where), "a file of an overlay")
        finally:
            # strata, which has just ended, may have had files of it open in a process that ends a moment later.
            subprocess.run(["umount", "--lazy", where + "/merged"], check=True)
tap.done()
