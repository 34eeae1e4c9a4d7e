#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Programs that user space has not heard of: strata is stopped (SIGSTOP) while processes start, load libraries, fork, and
become other programs, of files that others have run before. All their samples are walked in the kernel, Python included.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

HZ = 999
TIMES = 5
CPU_S = 0.1
FEATURE = "finding mappings"
# Runs for CPU_S each: at once; in a library that is loaded then; in a child; and as another program in the same process.
PROGRAM = """import os, sys, time
def burn():
    end = time.process_time() + %s
    while time.process_time() < end: sum(range(1000))
def %%(name)s_start():
    burn()
def %%(name)s_library():
    import _decimal
    end, number = time.process_time() + %s, _decimal.Decimal(7) ** 99999
    while time.process_time() < end: _decimal.Decimal(2).sqrt(_decimal.Context(prec=9999))
def %%(name)s_child():
    burn()
def %%(name)s_exec():
    burn()
if len(sys.argv) > 1:
    %%(name)s_exec()
    os._exit(0)
%%(name)s_start()
%%(name)s_library()
pid = os.fork()
if not pid:
    %%(name)s_child()
    os._exit(0)
os.waitpid(pid, 0)
os.execv(sys.executable, [sys.executable, __file__, "again"])
""" % (CPU_S, CPU_S)
SHELL = """echo ready; read x
i=0; while [ $i -lt 20 ]; do %(python)s %(known)s; i=$((i + 1)); done; echo known; read x
i=0; while [ $i -lt %(times)d ]; do %(python)s %(unheard)s; i=$((i + 1)); done; echo unheard; read x
exit 0
"""

tap = e2e.Tap()
doctor = subprocess.run([e2e.STRATA, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True).stdout
if not re.search(r"\bok\b.*" + FEATURE, doctor):
    print("1..0 # SKIP this kernel's mappings cannot be found: " + " ".join(re.findall(".*" + FEATURE + ".*", doctor)))
    sys.exit(0)


def unheard(where, python, called):
    """Python runs programs that strata has not heard of, and programs that it has; `called` is for the tests' names."""
    names = {"python": python, "times": TIMES}
    for name in ("known", "unheard"):
        names[name] = "%s/%s.py" % (where, name)
        with open(names[name], "w") as file:
            file.write(PROGRAM % {"name": name})
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


with e2e.folder() as where:
    unheard(where, e2e.PYTHON, "a file")
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
