#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Perf maps that other users laid out: as large as they like, under the names of many processes, with names of any length; and a
file that they may not read, bound to the place of a map."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402

OTHER = 65534
HOGS = 6
MAP_BYTES = 60 << 20
LONG = 1 << 20
# Runs generated code for ever: a frame of its own, and a loop. The address is told. With an argument it rests most of the time.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **arguments)
{
	/* push %rbp; mov %rsp,%rbp; mov $0x1000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0, 0, 0, 1, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	void *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(room, code, sizeof(code));
	printf("%p\n", room);
	fflush(stdout);
	for (;;) {
		((void (*)(void))room)();
		if (arguments[1])
			usleep(50000);
	}
	return count;
}
"""


def start(program, other):
    """A running program, by the other user if so, and where its code is."""
    command = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", "--"] if other else []
    process = subprocess.Popen(command + ["nice", "-n", "5" if other else "0", program] + ["rests"] * other, stdout=subprocess.PIPE)
    return process, int(process.stdout.readline(), 16)


def write_map(path, address, name, size, other):
    with open(path, "wb") as file:
        file.write(b"%x 10 %s\n" % (address, name))
        filler = b"".join(b"%x 10 filler_%d\n" % (i << 8, i) for i in range(100000))
        while file.tell() < size:
            file.write(filler)
    if other:
        os.chown(path, OTHER, OTHER)


def check_bound(tap, where, mode, is_read):
    """In a mount namespace of his own a user binds a file of root's over the map of his process, which is number 1 there."""
    script = "mount -t tmpfs none /tmp && touch /tmp/perf-1.map && mount --bind %s/lines /tmp/perf-1.map && exec %s/generated" % (where, where)
    with open(where + "/lines", "w", encoding="utf-8") as file:
        file.write("0 7fffffffffff a_line_of_roots\n")
    os.chmod(where + "/lines", mode)
    command = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", "--",
               "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not process.stdout.readline():
        tap.skip("mode %o" % mode, "no namespaces of a user's own: %s" % process.stderr.read().decode())
        return
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as file:
        pid = int(file.read())
    done = e2e.record_while(lambda _: e2e.let_use(pid, 1), "-o", where + "/x.folded", "-p", pid)
    stacks = e2e.folded(where + "/x.folded")
    named = [frames for frames, _ in stacks if any(frame.startswith("a_line_of_roots") for frame in frames)]
    tap.ok(done.returncode == 0 and e2e.total(stacks) > 20 and bool(named) == is_read,
           "a file of mode %o, bound to the place of a map, is %s" % (mode, "read" if is_read else "not read"), stacks[:3], done.stderr)
    os.kill(pid, signal.SIGKILL)
    process.wait()


def check_foreign(tap, program):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as where:
        os.chmod(where, 0o755)
        shutil.copy(program, where)
        check_bound(tap, where, 0o644, True)
        check_bound(tap, where, 0o600, False)


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        os.chmod(where, 0o755)
        program = where + "/generated"
        subprocess.run(["gcc", "-xc", "-", "-O1", "-fno-omit-frame-pointer", "-o", program], input=PROGRAM.encode(), check=True)
        running, paths = [], []
        try:
            for number in range(HOGS + 1):
                process, address = start(program, number > 0)
                running.append(process)
                paths.append("/tmp/perf-%d.map" % process.pid)
                write_map(paths[-1], address, b"n" * LONG if number == 1 else b"generated_%d" % number,
                          MAP_BYTES if number > 1 else 0, number > 0)
            victim = running[0].pid
            # Until the victim has been sampled for a while, whatever share of the CPUs it gets.
            done = e2e.record_while(lambda _: e2e.let_use(victim, 2), "-o", where + "/x.folded", "--stats", where + "/x.json")
            tap.equal(done.returncode, 0, "recorded")
            stats, stacks = e2e.load(where + "/x.json"), e2e.folded(where + "/x.folded")
            mine = [(frames, count) for frames, count in stacks if any("perf-%d.map" % victim in frame for frame in frames)]
            tap.ok(e2e.total(mine) > 20 and all(frames[-1].startswith("generated_0 (") or "[k]" in frames[-1] for frames, _ in mine),
                   "the victim's functions have their names: %d samples" % e2e.total(mine), done.stderr)
            whole = e2e.share(mine, lambda frames: not any(frame.startswith("[") for frame in frames))
            tap.ok(whole >= 0.99, "the victim's stacks are complete: %.2f %%" % (100 * whole))
            tap.ok(stats["notes"].get("perf-maps", 0) >= HOGS - 2, "maps that were not read are told", stats["notes"])
            tap.ok(stats["self"]["peak_rss_kb"] <= 256 << 10, "memory is bounded: %d MB" % (stats["self"]["peak_rss_kb"] >> 10))
            long = [frame for frames, _ in stacks for frame in frames if frame.startswith("nnnn")]
            tap.ok(long and all(len(frame) < 5000 for frame in long), "a name of a megabyte is cut",
                   [len(frame) for frame in long])
        finally:
            for process in running:
                process.send_signal(signal.SIGKILL)
                process.wait()
            for path in paths:
                os.unlink(path)
        check_foreign(tap, program)
    tap.done()


main()
