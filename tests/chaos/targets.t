#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets that lose their main thread or their file, are stopped, killed, or live in another pid namespace."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import CPU, e2e, judge, outputs, run, run_all  # noqa: E402

FOREVER = "1e9"


def odd_processes(tap, where, storm):
    mine = run(tap, "the main thread ends", where, 2, storm, "leaderless", CPU)
    tap.ok(mine and e2e.share(mine, lambda f: "lonely_thread" in ";".join(f)) > 0.9, "and the other one is seen")
    done = e2e.record_rest(e2e.start([storm, "leaderless", "1"]), *outputs(where))
    judge(tap, "-p of a process whose main thread has ended", where, done, 1)
    with open(where + "/zeros", "wb") as file:
        file.write(bytes(16 << 20))
    if subprocess.call([storm, "uring", "0.1", where + "/zeros"]):
        tap.skip("workers of io_uring", "not to be had here")
        return
    mine = run(tap, "workers of io_uring", where, 2, storm, "uring", CPU, where + "/zeros")
    workers = [(f, c) for f, c in mine if f[0].startswith("iou-wrk")]
    # While one ends, it has no address space any more.
    tap.ok(workers and all(x.endswith(" [k]") or x == "[exit]" for f, _ in workers for x in f[1:]), "have kernel frames only",
           workers[:1])


def files_of(pid):
    """What a process has open; other than /proc/PID/fd it may change meanwhile."""
    found = set()
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found.add(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except OSError:
            pass
    return found


def strangers(tap, where, storm):
    """With -p, programs that nobody asked for cost nothing: their files are not even opened."""
    target = subprocess.Popen(["nice", "-n", "5", storm, "threads", FOREVER])
    subprocess.check_call(["cp", storm, where + "/stranger"])
    files = set()

    def meet(strata):
        tap.ok(e2e.until(lambda: storm in files_of(strata.pid)), "-p: the target's file is open")
        stranger = subprocess.Popen([where + "/stranger", "threads", "0.3"])
        while stranger.poll() is None:
            files.update(files_of(strata.pid))
            time.sleep(0.01)
        files.update(files_of(strata.pid))

    e2e.record_while(meet, *(outputs(where) + ["-p", target.pid]))
    target.kill()
    target.wait()
    tap.ok(files and where + "/stranger" not in files, "a stranger's is not", files)


def ends(tap, where, storm):
    """The file is deleted and replaced, the process stopped, continued and killed, while it is watched."""
    program = where + "/moved"
    subprocess.check_call(["cp", storm, program])
    target = subprocess.Popen(["nice", "-n", "5", program, "threads", FOREVER])
    e2e.let_use(target.pid, 0.05)
    os.unlink(program)
    subprocess.check_call(["cp", "/bin/true", program])

    def act(strata):
        for deed in (signal.SIGSTOP, signal.SIGKILL):
            e2e.let_use(target.pid, 0.6)
            target.send_signal(deed)
            time.sleep(0.3)  # stopped for a while
            target.send_signal(signal.SIGCONT)
        target.wait()
        strata.wait(timeout=e2e.PATIENCE_S)

    done = e2e.record_while(act, *(outputs(where) + ["-p", target.pid]))
    mine = judge(tap, "deleted, stopped, continued, killed", where, done, 1.2)
    tap.ok(mine and all("(moved)" in ";".join(f) for f, _ in mine if any(x.startswith("short_thread") for x in f)),
           "deleted: the module's name is the file's", mine[:1])
    done = e2e.record(*(outputs(where) + ["--", "sh", "-c", "%s threads 1; kill -KILL $$" % storm]))
    judge(tap, "killed while recording", where, done, 1, status=128 + signal.SIGKILL)


def surroundings(tap, where, storm):
    done = subprocess.run(["sh", "-c", "ulimit -Sn 512; trap '' PIPE; exec %s record -q -o %s/c.folded -- sh -c "
                           "'ulimit -Sn; grep SigIgn /proc/self/status'" % (e2e.STRATA, where)], stdout=subprocess.PIPE)
    limit, ignored = done.stdout.decode().split("\n")[:2]
    tap.equal(limit, "512", "a command has the descriptor limit that strata was started with")
    tap.ok(int(ignored.split()[1], 16) >> (signal.SIGPIPE - 1) & 1, "and ignores the signals that strata was to ignore")
    done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", e2e.STRATA, "record", "-o", where + "/c.folded",
                           "--", "true"], stderr=subprocess.PIPE, universal_newlines=True)
    if "unshare" in done.stderr.split(":")[0]:
        tap.skip("a pid namespace", "not to be had here")
    else:
        tap.ok(done.returncode == 1 and "--pid=host" in done.stderr and done.stderr.count("\n") == 1,
               "in another pid namespace: one line, what to do", done.stderr)
    if not subprocess.call(["unshare", "--pid", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL):
        run_all(tap, "a target in another pid namespace", where, 1, "unshare", "--pid", "--fork", "--mount-proc", storm,
                "threads", CPU, own="storm$")


chaos.main(odd_processes, strangers, ends, surroundings)
