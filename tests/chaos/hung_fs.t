#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of a FUSE server that stops answering, for good or for a while: nobody waits for it."""
import concurrent.futures
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import e2e  # noqa: E402

HZ = 597
PROGRAM = """#include <stdio.h>
#include <unistd.h>
volatile unsigned sum;
__attribute__((noinline)) void spin_in_file(unsigned n) { while (n--) sum += n; }
int main(int count, char **arguments)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		spin_in_file(100000);
		if (count > 1)
			usleep(10000);
	}
}
"""
# A file of Python that says when it has worked for a while, and goes on.
WORK = """import time
def work(ends):
    while time.process_time() < ends: sum(range(1000))
"""
WORKS = """import sys
names = {}
exec(compile(%r, %r, "exec"), names)
names["work"](0.5); print("ready"); sys.stdout.flush(); sys.stdin.readline()
names["work"](1); print("done"); sys.stdout.flush(); sys.stdin.readline()
"""


class Server:
    """A mounted hung_fs.py; ends it, and with it all waiting."""

    def __init__(self, where):
        self.mount, source = where + "/mount", where + "/source"
        os.makedirs(self.mount)
        os.makedirs(source)
        self.program = self.mount + "/spin"
        subprocess.run(["cc", "-O1", "-x", "c", "-o", source + "/spin", "-"], input=PROGRAM.encode(), check=True)
        with open(source + "/work.py", "w", encoding="utf-8") as file:
            file.write(WORK)
        self.process = subprocess.Popen([sys.executable, chaos.HERE + "/hung_fs.py", source, self.mount],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True, bufsize=1)
        self.ready = self.process.stdout.readline() == "ready\n"

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def figures(where):
    stats = e2e.load(where + "/h.json")
    return stats, {k: v for k, v in stats["lost"].items() if v}


def outputs(where):
    return "-F", HZ, "-o", where + "/h.folded", "--stats", where + "/h.json"


@contextlib.contextmanager
def awake(pid):
    """What is stopped runs meanwhile."""
    os.kill(pid, signal.SIGCONT)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGSTOP)


def use(pid, seconds):
    """What is stopped runs until it has used so much CPU time."""
    with awake(pid):
        e2e.let_use(pid, seconds)


def record_used(target, seconds, *arguments):
    return e2e.record_while(lambda _: use(target, seconds), *(arguments + ("-p", target)))


def sums_up(tap, where, done, words):
    tap.equal(done.returncode, 0, words + ": exit status")
    stats, lost = figures(where)
    tap.equal(stats["complete"] + sum(lost.values()), stats["samples"], words + ": complete and lost make up all")
    tap.equal(e2e.total(e2e.folded(where + "/h.folded")), stats["samples"], words + ": every sample is in a stack")
    return stats, lost


def hung_before(tap, where, server, target):
    server.tell("hang")
    # The program runs on while strata still waits for its file, a second.
    done = record_used(target, 1.7, *outputs(where))
    stats, lost = sums_up(tap, where, done, "hung before")
    tap.ok(stats["samples"] >= e2e.due(0.67, HZ), "hung before: %d samples" % stats["samples"])
    tap.equal(lost, {"no-answer": stats["samples"]}, "hung before: all of them for that reason")
    tap.ok("no-answer" in done.stderr, "hung before: which the summary names")
    with awake(target):
        done = e2e.record_while(lambda _: None, *(outputs(where) + ("-p", target)))
    sums_up(tap, where, done, "a Ctrl-C while it waits for the file system")


def ends_in_time(tap, where, server, target):
    """What a file system that hangs adds to a recording: of a few times the least, as others wait for a CPU."""
    def took(command):
        def go(strata):
            with awake(target):
                end = e2e.used(target) + 0.5
                e2e.until(lambda: e2e.used(target) >= end or strata.poll() is not None)
            strata.wait(timeout=e2e.PATIENCE_S)

        server.tell(command)
        begin = time.monotonic()
        e2e.record_while(go, *(outputs(where) + ("-p", target, "-d", 2)))
        return time.monotonic() - begin

    added = []
    while len(added) < 10 and (not added or min(added) > 2):
        usual = took("answer")
        added.append(took("hang") - usual)
    tap.ok(min(added) <= 2, "-d 2 ends in time: %s s later than usual" % ", ".join("%.1f" % more for more in added))


def comes_back(tap, where, server, target):
    server.tell("hang")

    def go(_):
        use(target, 1.5)
        server.tell("answer")
        # It is asked again 5 s after it did not answer (src/engine/objects.c). Until then one would only count losses.
        time.sleep(6)
        use(target, 0.6)

    done = e2e.record_while(go, *(outputs(where) + ("-p", target)))
    stats, lost = sums_up(tap, where, done, "comes back")
    tap.ok(lost.get("no-answer", 0) > 0, "comes back: %s before" % lost)
    tap.ok(stats["complete"] > 0, "comes back: %d complete then" % stats["complete"])
    tap.ok(any("spin_in_file (spin)" in f for f, _ in e2e.folded(where + "/h.folded")), "comes back: with their names")


def hangs_later(tap, where, server, target):
    def go(_):
        use(target, 0.7)
        server.tell("hang")

    server.tell("answer")
    done = e2e.record_while(go, *(outputs(where) + ("-p", target)))
    stats, _ = sums_up(tap, where, done, "hangs later")
    tap.ok(stats["complete"] >= 0.99 * stats["samples"], "hangs later: what was read before is used")


def verified(tap, where, server, target):
    def go(_):
        server.tell("answer")
        use(target, 0.7)
        server.tell("hang")
        use(target, 0.4)

    server.tell("answer")
    stats, _ = sums_up(tap, where, e2e.record_while(go, *(outputs(where) + ("--verify", "-p", target))), "--verify, hangs later")
    tap.ok(stats["verify"]["agree"] > 0 and not stats["verify"]["differ"], "--verify, hangs later: %s" % stats["verify"])
    server.tell("hang")
    sums_up(tap, where, record_used(target, 1.4, *(outputs(where) + ("--verify",))), "--verify, hung before")


def others(tap, server, target):
    server.tell("hang")
    script = "profile:hz:99 /pid == %d/ { @[ustack] = count(); @n++; if (@n > 50) { exit(); } }" % target
    with awake(target):
        done = subprocess.run([e2e.STRATA, "trace", "-e", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=e2e.PATIENCE_S)
    tap.ok(done.returncode == 0 and "@n: 51" in done.stdout, "trace", done.stderr)
    path = dict(os.environ, PATH=server.mount + ":" + os.environ["PATH"])
    for what, status in (("-e 'uprobe:%s:spin_in_file { exit(); }'" % server.program, 1),
                         ("-e 'uprobe:spin:spin_in_file { exit(); }'", 1), ("-l 'uprobe:%s/sp*:*'" % server.mount, 1),
                         ("-l -p %d 'uprobe:*:spin*'" % target, 1)):
        done = subprocess.run([e2e.STRATA, "trace"] + shlex.split(what), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=path,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=e2e.PATIENCE_S)
        tap.ok(done.returncode == status and "does not answer" in done.stdout, "trace " + what, done.stdout)
    for what, status in ((str(target), 0), (server.program, 1)):
        done = subprocess.run([e2e.STRATA, "inspect", what], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=e2e.PATIENCE_S)
        tap.ok(done.returncode == status and "does not answer" in done.stdout, "inspect " + what, done.stdout)
    server.tell("answer")


def source_text(tap, where, server):
    """record --source: a source file that nobody answers for is not in the page, and nothing else is lost."""
    for hangs in (False, True):
        words, page = "--source, " + ("hung" if hangs else "answered"), where + "/s.html"
        server.tell("answer")
        target = subprocess.Popen([e2e.PYTHON, "-c", WORKS % (WORK, server.mount + "/work.py")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)

        def go(_):
            target.stdout.readline()
            if hangs:
                server.tell("hang")
            target.stdin.write(b"\n")
            target.stdin.flush()
            target.stdout.readline()
        try:
            done = e2e.record_while(go, *(outputs(where) + ("--source", "-o", page, "-p", target.pid)))
        finally:
            server.tell("answer")
            target.kill()
            target.wait()
        stats, _ = sums_up(tap, where, done, words)
        tap.ok(stats["complete"] >= 0.9 * stats["samples"] > 0 and any("(%s/work.py:" % server.mount in f for frames, _ in
               e2e.folded(where + "/h.folded") for f in frames), words + ": the stacks are there", stats["lost"])
        with open(page, encoding="utf-8") as file:
            tap.equal("time.process_time()" in file.read(), not hangs, words + ": the text is%s" % (" not" if hangs else ""))
        tap.ok(("source files that are not shown: 1 (" in done.stderr) == hangs, words + ": which is said", done.stderr)


def results(tap, where, server, target):
    """What strata writes, and the command that it starts."""
    def refused(words, *arguments, **options):
        done = e2e.record("-o", where + "/h.folded", *arguments, **options)
        tap.ok(done.returncode == 1 and "does not answer" in done.stderr and done.stderr.count("\n") == 1, words, done.stderr)

    server.tell("hang")
    refused("-o in a folder that hangs", "-o", server.mount + "/r.folded", "-p", target)
    refused("--stats in a folder that hangs", "--stats", server.mount + "/r.json", "-p", target)
    refused("a command that hangs", "--", server.program)
    refused("a folder of PATH that hangs", "--", "true", env=dict(os.environ, PATH=server.mount + ":" + os.environ["PATH"]))
    server.tell("answer")
    written = ("-F", HZ, "-o", server.mount + "/r.folded", "-o", where + "/h.folded", "--stats", where + "/h.json")
    done = record_used(target, 0.4, *written)
    tap.ok(done.returncode == 0 and e2e.folded(server.mount + "/r.folded") == e2e.folded(where + "/h.folded"),
           "a result is written there as long as it answers", done.stderr)

    def go(_):
        use(target, 0.4)
        server.tell("hang")

    os.unlink(where + "/h.folded")
    os.environ["TMPDIR"] = where
    done = e2e.record_while(go, *(written + ("-p", target)))
    tap.ok(done.returncode == 1 and "r.folded: its file system does not answer; it was written to %s/" % where in done.stderr and
           "samples in" in done.stderr, "-o hangs later: its result is kept elsewhere", done.stderr)
    tap.ok(e2e.folded(where + "/h.folded") and e2e.load(where + "/h.json")["samples"], "-o hangs later: the others are there")
    server.tell("answer")


def run(arguments, during=None):
    """Runs strata, with during(process) beside it: its exit status, and all that it said. Into a file, as a command that
    hangs keeps what it would write to."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([e2e.STRATA] + [str(word) for word in arguments], stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=subprocess.STDOUT)
        try:
            if during:
                during(process)
            process.wait(timeout=e2e.PATIENCE_S)
        finally:
            process.kill()
        said.seek(0)
        return process.returncode, said.read()


def kernel_opens(tap, server):
    """The file system hangs when the kernel itself looks for the file of a uprobe."""
    script = "uprobe:%s:spin_in_file { exit(); }" % server.program

    def hung(arguments, during=None):
        """Of a run the last look-up hangs, which is the kernel's: its status, and what it said. How many there are depends on
        what the kernel has in its caches: as many as in two runs that made alike. If it was another one, once more."""
        for _ in range(9):
            counts = []
            while len(counts) < 2 or (counts[-1] != counts[-2] and len(counts) < 9):
                server.tell("answer")
                run(arguments)
                counts.append(server.tell("answer"))
            server.tell("hang-lookup " + counts[-1])
            status, said = run(arguments, during)
            server.tell("answer")
            if "spin: its file system does not answer" not in said:
                break
        return status, said

    for words in ([], ["--no-feature", "uprobe_multi"]):
        what = "a uprobe%s: " % (", one by one" if words else "")
        arguments = ["trace"] + words + ["-e", script]
        server.tell("answer")
        status, said = run(arguments)
        tap.ok(status == 0, what + "as long as it answers", said)
        status, said = hung(arguments)
        tap.ok(status == 1 and said.count("\n") == 1 and "cannot be attached: the file system of" in said, what + "hung then", said)
        held = []

        def interrupt(process):
            # The one that waits is strata's child, and no descriptor of it keeps anything attached.
            child = waiting_child(process)
            held.append(os.listdir("/proc/%d/fd" % child) if child else None)
            process.send_signal(signal.SIGINT)

        status, said = hung(arguments, interrupt)
        tap.ok(held[-1] and len(held[-1]) == 2, what + "who waits holds nothing else", held)
        tap.ok(status == 1 and "is not attached: a signal came" in said, what + "a Ctrl-C then", said)
    status, said = run(["trace", "-e", script])
    tap.ok(status == 0, "a uprobe: and when it answers again", said)


def waiting_child(process):
    """Waits for a child of a process to wait for the file system, and to be still there when it would have been answered
    long ago: its pid; None when the process ends instead."""
    pid = None

    def look():
        nonlocal pid
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            pid = next((int(word) for word in file.read().split() if waits(word)), None)
        if pid:
            time.sleep(0.3)
        return process.poll() is not None or (pid and waits(pid))

    e2e.until(look)
    return pid


def waits(pid):
    """Is it in a request to a FUSE server?"""
    try:
        with open("/proc/%s/wchan" % pid) as file:
            return file.read() in ("request_wait_answer", "fuse_simple_request", "__fuse_simple_request")
    except OSError:
        return False


def held_events(pid):
    """What keeps programs and events of BPF alive: descriptors of a process."""
    held = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
    return [link for link in held if "bpf" in link or "perf_event" in link]


def executes(tap, where, server):
    """The file system hangs in the exec of a command."""
    recorded = ["record", "-o", where + "/h.folded", "--", server.program]
    traced = ["trace", "-c", server.program, "-e", "profile:hz:99 { @[ustack] = count(); }"]
    for arguments in (recorded, traced, ["trace", "-c", server.program, "-e", "interval:s:60 { }"]):
        what = "exec in %s %s: " % (arguments[0], "with stacks" if "ustack" in arguments[-1] else "of " + arguments[1])
        server.tell("answer")
        server.tell("hang-exec")
        status, said = run(arguments)
        found = re.search("does not answer; process ([0-9]+) waits there", said)
        tap.ok(status == 1 and found and "cannot be executed" in said, what + "is given up", said)
        if found:
            tap.equal(held_events(int(found.group(1))), [], what + "what cannot be ended keeps nothing attached")
        server.tell("answer")
        tap.ok(found and e2e.until(lambda: not os.path.exists("/proc/" + found.group(1))), what + "it ends when it can")
        server.tell("hang-exec")

        def interrupt(process):
            waiting_child(process)
            process.send_signal(signal.SIGINT)

        status, said = run(arguments, interrupt)
        tap.ok(status == 1 and "was not executed: a signal came" in said, what + "a Ctrl-C then", said)
        server.tell("answer")


def command_hangs(tap, where, server):
    """A command that cannot be ended, as it reads such a file, does not keep strata."""
    server.tell("hang")
    for arguments in (["record", "-q", "-o", where + "/h.folded", "--", "cat", server.program],
                      ["trace", "-c", "cat " + server.program, "-e", "interval:s:60 { }"]):
        def interrupt(process):
            waiting_child(process)
            process.send_signal(signal.SIGINT)

        status, said = run(arguments, interrupt)
        tap.ok(status == 128 + signal.SIGKILL and "waits in the kernel and cannot be ended" in said,
               "%s: a command that cannot be ended" % arguments[0], said)
    server.tell("answer")


def end(target):
    """Nobody looks at it any more, and it uses all of a core."""
    target.kill()
    target.wait()


def recordings(tap, where, server, target):
    hung_before(tap, where, server, target.pid)
    ends_in_time(tap, where, server, target.pid)
    comes_back(tap, where, server, target.pid)
    hangs_later(tap, where, server, target.pid)
    verified(tap, where, server, target.pid)
    end(target)
    source_text(tap, where, server)


def commands(tap, where, server, target):
    others(tap, server, target.pid)
    results(tap, where, server, target.pid)
    end(target)
    # One that the probes meet, and that rests between.
    resting = subprocess.Popen([server.program, "rest"], stdout=subprocess.DEVNULL)
    try:
        kernel_opens(tap, server)
    finally:
        server.tell("answer")
        end(resting)
    executes(tap, where, server)
    command_hangs(tap, where, server)


def beside(tap, part):
    """part() with a file system of its own, and a program that runs from there."""
    with e2e.folder() as where, Server(where) as server:
        if not server.ready:
            tap.skip("a file system that hangs", "FUSE cannot be mounted here")
            return
        target = subprocess.Popen([server.program], stdout=subprocess.PIPE)
        target.stdout.readline()
        target.send_signal(signal.SIGSTOP)  # it runs where it is sampled
        try:
            part(tap, where, server, target)
        finally:
            target.kill()
            server.tell("answer")
            target.wait()


def main():
    tap = e2e.Tap()
    if not os.path.exists("/dev/fuse"):
        tap.skip("a file system that hangs", "there is no /dev/fuse")
        tap.done()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # most of the time strata waits, and these with it
        for part in [pool.submit(beside, tap, part) for part in (recordings, commands)]:
            part.result()
    tap.ok(e2e.until(lambda: not chaos.readers()), "nobody is left waiting")
    tap.done()


main()
