#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""targets: what -p and -c mean, for every kind of probe. -p: all threads of the process, those that come later too, and nothing
else. -c: the command with its threads and all that it starts. Needs root and gcc."""
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]
PATIENCE_S = 60

# Every thread does all that probes are about, and says who it is and which one: the process's first, one from before the tracing,
# one from within it, started by either; a child, its thread, its child, and what that executes.
PROGRAM = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define MARKER asm volatile("990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n.asciz \"family\"\n.asciz \"member\"\n.asciz \"\"\n" \
	"994: .balign 4\n.popsection")
static volatile long *cell; /* at an address that the scripts know */
static int go[2];
static long busy_ns = 150000000; /* of CPU time: 30 ticks */
static int rest_us; /* so that a program that runs for ever leaves some time to others */
__attribute__((noinline)) int work(int n) { asm volatile("" ::: "memory"); MARKER; return n; }
static void member(const char *role)
{
	struct timespec used = {0};
	char line[80];
	void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)page = 1;
	munmap(page, 4096);
	work(1);
	*cell = 1;
	syscall(SYS_getppid);
	while (used.tv_sec == 0 && used.tv_nsec < busy_ns)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	usleep(rest_us);
	snprintf(line, sizeof(line), "%s %d %d\n", role, getpid(), (int)syscall(SYS_gettid));
	if (write(1, line, strlen(line)) < 0)
		_exit(1);
}
static void *later(void *role) { member(role); return 0; }
static void *early(void *unused)
{
	pthread_t other;
	char byte;
	if (read(go[0], &byte, 1) == 1) { /* by then the tracing has begun */
		member("early");
		pthread_create(&other, 0, later, "of-early");
		pthread_join(other, 0);
	}
	return unused;
}
static void descend(const char *self)
{
	pthread_t thread;
	if (!fork()) {
		member("child");
		pthread_create(&thread, 0, later, "childs-thread");
		pthread_join(thread, 0);
		if (!fork()) {
			if (!vfork())
				execl(self, self, "executed", NULL);
			wait(0);
			_exit(0);
		}
		wait(0);
		_exit(0);
	}
	wait(0);
}
int main(int argc, char **argv)
{
	pthread_t before, after;
	char byte;
	cell = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (argc > 1 && !strcmp(argv[1], "executed")) {
		member("executed");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "forever")) {
		busy_ns = 30000000;
		rest_us = 30000;
	}
	if (pipe(go) || pthread_create(&before, 0, early, 0))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "wait") && (write(1, "READY\n", 6) != 6 || read(0, &byte, 1) < 0))
		return 1;
	do {
		if (write(go[1], "x", 1) != 1)
			return 1;
		member("first");
		pthread_create(&after, 0, later, "later");
		pthread_join(after, 0);
		descend(argv[0]);
	} while (argc > 1 && !strcmp(argv[1], "forever"));
	return pthread_join(before, 0);
}
"""
THREADS = {"first", "early", "of-early", "later"}
DESCENDANTS = {"child", "childs-thread", "executed"}

# By these names the maps are called.
PROBES = {
    "uprobe": "uprobe:PATH:work",
    "uretprobe": "uretprobe:PATH:work",
    "usdt": "usdt:PATH:family:member",
    "tracepoint": "tracepoint:syscalls:sys_enter_getppid",
    "rawtracepoint": "rawtracepoint:sys_enter /arg1 == 110/",
    "profile": "profile:hz:199",
    "software": "software:page-faults:1",
    "hardware": "hardware:cycles:100000",
    "watchpoint": "watchpoint:0x10000000:8:w",
    "kprobe": "kprobe:__x64_sys_getppid",
    "kretprobe": "kretprobe:__x64_sys_getppid",
    "fentry": "fentry:__x64_sys_getppid",
    "fexit": "fexit:__x64_sys_getppid",
}
NEVER_FILTERED = 'begin { print("begun"); } interval:ms:10 { @intervals = count(); } iter:task { @tasks[ctx.task.tgid] = count(); } end { print("ended"); }'

tap = Tap()


def members(text):
    """{role: (pid, tid)} of the lines that the program has written."""
    return {role: (int(pid), int(tid)) for role, pid, tid in re.findall(r"^([a-z-]+) (\d+) (\d+)$", text, re.M)}


def available(path):
    """The kinds of probes that this machine has."""
    found = []
    for name, probe in PROBES.items():
        result = subprocess.run([STRATA, "trace", "-q", "-e", f"{probe.replace('PATH', path)} {{ }} begin {{ exit(); }}", "-c", "sleep 60"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        if result.returncode == 0:
            found.append(name)
        elif re.search(rb"is not available|do nothing on this machine|cannot be opened: No such file", result.stderr):
            tap.skip(f"{name}: -p and -c", result.stderr.decode().split("\n")[0])
        else:
            tap.ok(False, f"{name}: can be attached", result.stderr.decode())
    return found


def script(path, kinds):
    return NEVER_FILTERED + "".join(f" {PROBES[kind].replace('PATH', path)} {{ @{kind}[pid, tid] = count(); }}" for kind in kinds)


def judge(kinds, out, err, family, wanted, words, others):
    who = {ids: role for role, ids in family.items()}
    tap.equal(set(family), THREADS | DESCENDANTS, f"{words}: all members have come to their end")
    for kind in kinds:
        seen = {(int(pid), int(tid)) for pid, tid in re.findall(rf"@{kind}\[(\d+), (\d+)\]", out)}
        roles = {who[ids] for ids in seen if ids in who}
        # A command has more processes than those that tell: the shell, and who only waits.
        strange = {ids for ids in seen if (ids[0] in others() if wanted > THREADS else ids not in who)}
        tap.ok(roles == wanted and not strange, f"{words}: {kind} has {len(wanted)} members, and nobody else",
               sorted(wanted - roles), sorted(roles - wanted), strange, err)
    tap.ok("begun" in out and "ended" in out and int((re.findall(r"@intervals: (\d+)", out) or [0])[0]) > 1 and out.count("@tasks[") > 2,
           f"{words}: begin, end, interval and iter are what they are without", out, err)


def by_pid(path, kinds, others, *more):
    with subprocess.Popen([path, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with subprocess.Popen([STRATA, "trace", *more, "-p", str(process.pid), "-e", script(path, kinds)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as tracer:
            tracer.stderr.readline()
            said, _ = process.communicate(b"x", timeout=PATIENCE_S)
            out, err = tracer.communicate(timeout=PATIENCE_S)
    judge(kinds, out.decode(), err.decode(), members(said.decode()), THREADS, " ".join(["-p", *more]), others)


def by_command(path, kinds, others, *more, around=()):
    command = f"sh -c '{path}; true'"
    result = subprocess.run([*around, STRATA, "trace", "-q", *more, "-e", script(path, kinds), "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=PATIENCE_S, check=False)
    out = result.stdout.decode()
    judge(kinds, out, result.stderr.decode(), members(out), THREADS | DESCENDANTS, " ".join([*around[:1], "-c", *more]), others)


def own_shell():
    """A command's own children, and theirs, are in one result; others are not, though they do the same at the same time."""
    loop = [sys.executable, "-c", "import os\nwhile True: os.access('/strata-of-another', 0)"]
    with subprocess.Popen(loop) as other:
        result = subprocess.run([STRATA, "trace", "-q", "-e", "tracepoint:syscalls:sys_enter_access,tracepoint:syscalls:sys_enter_faccessat* { @[str(args.filename)] = count(); }",
                                 "-c", "sh -c 'sh -c \"test -r /strata-of-mine; true\" & wait'"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        other.send_signal(signal.SIGKILL)
    tap.ok(b"/strata-of-mine" in result.stdout and b"/strata-of-another" not in result.stdout, "-c: a child of a child that runs apart, and nobody else", result)


def ends(path):
    """What the kernel tells about a process that ends comes in that process, when it is nearly gone."""
    result = subprocess.run([STRATA, "trace", "-q", "-e", "tracepoint:sched:sched_process_exit { @[pid == tid] = count(); } tracepoint:sched:sched_process_exec { @exec = count(); }",
                             "-c", f"sh -c '{path} >/dev/null; true'"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    # sh, the program, its child, that one's, and what that executes; of threads those that each one starts.
    tap.ok(b"@[true]: 5\n" in result.stdout and b"@[false]: 4\n" in result.stdout and b"@exec: 3\n" in result.stdout, "-c: each exec and exit of a descendant", result)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, other = os.path.join(folder, "family"), os.path.join(folder, "link")
        subprocess.run(["gcc", "-O1", "-pthread", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", path], input=PROGRAM.encode(), check=True)
        os.link(path, other)
        kinds = available(path)
        with open(os.path.join(folder, "said"), "w+", encoding="ascii") as said, subprocess.Popen([other, "forever"], stdout=said) as stranger:
            def others():
                with open(said.name, encoding="ascii") as text:
                    return {int(pid) for pid in re.findall(r" (\d+) \d+\n", text.read())}

            by_pid(path, kinds, others)
            by_command(path, kinds, others)
            # There strata's processes have other numbers; the stranger has none.
            by_command(path, kinds, set, around=("unshare", "--fork", "--pid", "--mount-proc"))
            places = [kind for kind in kinds if kind in ("uprobe", "uretprobe", "usdt", "kprobe", "kretprobe")]
            by_pid(path, places, others, "--no-feature", "uprobe_multi,kprobe_multi")
            by_command(path, places, others, "--no-feature", "uprobe_multi,kprobe_multi")
            stranger.send_signal(signal.SIGKILL)
        own_shell()
        ends(path)
    tap.done()


main()
