#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""probes: each kind fires as often as its target does what it is about, with the right arguments; stacks have their true depth.
Needs root and gcc."""
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]
PATIENCE_S = 60
EVENTS = next((path for path in ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events") if os.path.isdir(path)), "")
PYTHON = os.path.realpath("/usr/bin/python3")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
struct pair { int a; long b; char name[8]; };
__attribute__((noinline)) int leaf(int n, const char *text, struct pair *pair) { asm volatile("" ::: "memory"); return n * 2 + pair->a; }
__attribute__((noinline)) int down(int n, int depth) {
	struct pair pair = {7, -9, "seven"};
	char text[] = "a text"; /* on the stack, since a page of a file may not have been touched yet */
	int r = n ? down(n - 1, depth) : leaf(depth, text, &pair);
	asm volatile("" ::: "memory");
	return r + 1;
}
int main(int argc, char **argv) {
	char null[] = "/dev/null";
	int i, sum = 0;
	if (getenv("WAIT") && write(1, "x", 1) == 1)
		(void)!read(0, null, 1);
	usleep(100000); /* the process is met when it begins */
	for (i = 1; i < argc; i++)
		sum += down(atoi(argv[i]), atoi(argv[i]));
	close(open(null, O_RDONLY));
	return sum < 0;
}
"""

tap = Tap()


def trace(program, command=None, *more):
    arguments = [STRATA, "trace", "-q", "-e", program, *more]
    if command:
        arguments += ["-c", command]
    result = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


def expect(name, program, command, pattern):
    out, err = trace(program, command)
    tap.ok(re.search(pattern, out), name, repr(out), err)


def uprobes(path):
    expect("uprobe: arguments", f'uprobe:{path}:leaf {{ printf("%d %s\\n", arg0, str(arg1)); }}', f"{path} 3 5", r"^3 a text\n5 a text\n")
    expect("uprobe: a struct behind a pointer",
           'struct pair { int a; long b; char name[8]; } ' + f'uprobe:{path}:leaf {{ $p = (struct pair *)arg2; '
           'printf("%d %d %s\\n", $p.a, $p->b, $p.name); print(*$p); }', f"{path} 1",
           r"^7 -9 seven\n\{ \.a = 7, \.b = -9, \.name = seven \}\n")
    expect("uretprobe: retval", f"uretprobe:{path}:leaf {{ print(retval); }}", f"{path} 4", r"^15\n")
    expect("uprobe: as often as it is called", f"uprobe:{path}:down {{ @ = count(); }}", f"{path} 9 4", r"@: 15\n")
    expect("uprobe: wildcards and probe", f"uprobe:{path}:lea?,uprobe:{path}:dow* {{ @[probe] = count(); }}", f"{path} 2",
           rf"@\[uprobe:{path}:leaf\]: 1\n@\[uprobe:{path}:down\]: 3\n")
    expect("uprobe: func", f"uprobe:{path}:leaf {{ print(func); }}", f"{path} 2", r"^leaf\n")
    expect("usym: a function's name, wherever in it", f'uprobe:{path}:leaf {{ print((usym(reg("ip")), usym(reg("ip") + 2))); @ = len(ustack); }}',
           f"{path} 2", r"^\(leaf, leaf\)\n")
    expect("uprobe: the script's order at one place", f'uprobe:{path}:leaf {{ printf("a"); }} uprobe:{path}:leaf {{ printf("b"); }}', f"{path} 2",
           r"^ab")
    expect("ustack(perf)", f"uprobe:{path}:leaf {{ print(ustack(perf, 1)); }}", f"{path} 2", rf"(?m)^\t[0-9a-f]+ leaf\+0 \({path}\)$")
    notes = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    symbols = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    offset = int(re.search(r"([0-9a-f]+) +\d+ FUNC .* leaf\n", symbols).group(1), 16)  # where a program's text has its file offset as address
    expect("ustack(build_id)", f"uprobe:{path}:leaf {{ print(ustack(build_id, 1)); }}", f"{path} 2",
           rf"(?m)^{re.search('Build ID: ([0-9a-f]+)', notes).group(1)} 0x{offset:x}$")
    expect("predicate", f"uprobe:{path}:leaf /arg0 == 5/ {{ print(arg0); }}", f"{path} 3 5 7", r"^5\n")


def other_root(path):
    """A program that exists for its own process only is named through that one's root."""
    there = path + "-there"
    os.mkdir(there)
    script = 'mount -t tmpfs none "$1" && cp "$0" "$1/only" && exec "$1/only" 5'
    with subprocess.Popen(["unshare", "-m", "bash", "-c", script, path, there], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "WAIT": "1"}) as process:
        process.stdout.read(1)
        name = f"/proc/{process.pid}/root{there}/only"
        with subprocess.Popen([STRATA, "trace", "-e", f"uprobe:{name}:leaf {{ print(arg0); exit(); }}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
            said = tracer.stderr.readline()
            process.stdin.close()
            out = tracer.stdout.read()
            tap.ok(out == b"5\n\n\n", "uprobe: a file of another mount namespace, by its process's root", said, out, tracer.stderr.read())


def options(path):
    links = "--unsafe", "-e", (f'uprobe:{path}:leaf,uprobe:{path}:down {{ }} interval:ms:200 {{ system("grep -h link_type /proc/$PPID/fdinfo/*"); exit(); }}')
    many = []
    for more in [], ["--no-feature", "kprobe_multi,uprobe_multi"]:
        result = subprocess.run([STRATA, "trace", "-q", *more, *links], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        many.append((result.stdout.count(b"uprobe_multi"), result.stdout.count(b"perf")))
    tap.ok(many[0] in ((2, 1), (0, 3)) and many[1] == (0, 3), "--no-feature: a link for each place", many, result.stderr)
    # A process that has a probed file mapped is known from the beginning; another one if it is named, or when it was met.
    for name, probe, known in (("that runs the probed file", "uprobe:PATH:leaf", True), ("of any other", "tracepoint:syscalls:sys_enter_close /pid == PID/", False),
                               ("that is named by --dwarf-pid", "tracepoint:syscalls:sys_enter_close /pid == PID/", True)):
        with subprocess.Popen([path, "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "WAIT": "1"}) as process:
            process.stdout.read(1)
            chosen = ["--dwarf-pid", f"{os.getpid()},{process.pid}"] if "named" in name else []
            program = probe.replace("PATH", path).replace("PID", str(process.pid)) + " { print(len(ustack)); exit(); }"
            with subprocess.Popen([STRATA, "trace", *chosen, "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
                tracer.stderr.readline()
                process.stdin.close()
                depth, said = int(tracer.stdout.read().split()[0]), tracer.stderr.read()
                tap.ok(depth >= 3 and not said if known else depth == 0 and b"WARNING: The process was not met before" in said and b"~~~~~~~~~~~" in said,
                       f"len() of the first stack of a process {name}", depth, said)


def kernel(path):
    expect("tracepoint: typed arguments", 'tracepoint:syscalls:sys_enter_openat /pid == cpid/ { printf("%s\\n", str(args.filename)); }',
           f"{path} 1", r"(?m)^/dev/null$")
    number = {"x86_64": 257, "aarch64": 56}[os.uname().machine]  # of openat()
    expect("tracepoint: an array's elements are of its type",
           "tracepoint:raw_syscalls:sys_enter /pid == cpid && args.id == %d/ { printf(\"%%s %%d\\n\", str(args.args[1]), sizeof(args.args[1])); }" % number,
           f"{path} 1", r"(?m)^/dev/null 8$")
    expect("tracepoint: and of an index that is not constant",
           "tracepoint:raw_syscalls:sys_enter /pid == cpid && args.id == %d/ { $i = 1; while ($i < 2) { printf(\"%%s\\n\", str(args.args[$i])); $i++; } }" % number,
           f"{path} 1", r"(?m)^/dev/null$")
    expect("tracepoint: wildcard", "tracepoint:syscalls:sys_enter_open* /pid == cpid/ { @[probe] = count(); }", f"{path} 1",
           r"@\[tracepoint:syscalls:sys_enter_openat\]: \d+")
    places = "'import os, sys; os.mkdir(sys.argv[1]); os.mkdir(sys.argv[1] + chr(47) + chr(98), dir_fd=3)'"
    expect("tracepoint: a program for each record, which a macro reads",
           'macro what() { str(args.pathname) } tracepoint:syscalls:sys_enter_mkdir* /pid == cpid && strcontains(what(), "apart")/ '
           '{ $size = sizeof(*args); printf("%d %s\\n", $size, what()); }',
           f"{PYTHON} -c {places} {path}-apart", rf"(?m)^(\d+) {path}-apart\n(?!\1 )\d+ {path}-apart/b$")
    expect("tracepoint: variables, types and choices of each attach point apart",
           "tracepoint:syscalls:sys_enter_openat,tracepoint:syscalls:sys_exit_openat /pid == cpid/ { $of = probe; "
           'if comptime (probe == "tracepoint:syscalls:sys_exit_openat") { $x = args.ret; @exits = max($x >= 0); } else { $x = str(args.filename); @names[$x] = 1; } '
           "@sizes[offsetof(*args, __syscall_nr), sizeof(*args)] = count(); }",
           f"{path} 1", r"@exits: 1\n(.*\n)*@names\[/dev/null\]: 1\n(.*\n)*@sizes\[8, 24\]: (\d+)\n@sizes\[8, 48\]: \3\n")
    for turn in range(3):
        # What the last one has left is still being taken down.
        expect(f"tracepoint: again, {turn}", "tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @in = count(); } "
               "tracepoint:syscalls:sys_exit_openat /pid == cpid/ { @out = count(); }", f"{path} 1", r"@in: (\d+)\n(.*\n)*@out: \1\n")
    out, err = trace("tracepoint:syscalls:sys_enter_f* /pid == cpid/ { @many = count(); } "
                     "tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @one = count(); }", f"{path} 1")
    tap.ok(re.search(r"@one: \d+", out) and not err, "tracepoint: more than are left to the kernel's worker", out, err)
    expect("rawtracepoint: arguments by their names", "rawtracepoint:sched_process_exec { if (args.p.pid == cpid) { print(args.old_pid == cpid); exit(); } }",
           f"{path} 1", r"^true\n")
    names = subprocess.run([STRATA, "trace", "-lv", "tracepoint:sched:sched_switch", "tracepoint:skb:kfree_skb"], stdout=subprocess.PIPE, check=False).stdout
    if b"enum skb_drop_reason reason" in names:
        expect("tracepoint: an enum's names", 'tracepoint:skb:kfree_skb { printf("%s\\n", args.reason); }',
               f"{PYTHON} -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 1))'", r"(?m)^SKB_DROP_REASON_NO_SOCKET$")
    expect("profile", "profile:hz:199 /pid == cpid/ { @ = count(); }", f"{PYTHON} -c 'sum(range(6000000))'", r"@: \d+")
    for mode in "warn", "ignore":  # a virtual machine may have no counters
        program = "config = { missing_probes=%s } hardware:cpu-cycles:100000000 { } " % mode
        arguments = [STRATA, "trace", "-e", program + "interval:ms:50 { exit(); }"]
        err = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False).stderr.decode()
        words = "WARNING: Unable to attach probe: hardware:cpu-cycles:100000000: the event cannot be opened: "
        said = "\n".join(line for line in err.split("\n") if not (mode == "warn" and line.startswith(words) and line.endswith(". Skipping.")))
        tap.ok(said in ("Attached 2 probes\n", "Attached 1 probe\n") and (mode == "ignore" or (said != err) == ("1 probe" in said)),
               f"missing_probes={mode}: what cannot be attached is skipped, and not counted", err)
        if "1 probe" in said:
            result = subprocess.run([STRATA, "trace", "-q", "-e", program], stderr=subprocess.PIPE, timeout=60, check=False)
            tap.ok(result.returncode == 1 and b"Attachment failed for all probes." in result.stderr,
                   f"missing_probes={mode}: nothing can be attached", result.stderr)
    expect("software", "software:faults:1 /pid == cpid/ { @ = count(); }", f"{path} 1", r"@: \d+")


WATCHED = r"""
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile long *cell;
static void *poke(void *unused) { *cell = 1; return unused; }
int main(int argc, char **argv) {
	pthread_t thread;
	cell = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (; argc > 1; usleep(10000)) { /* till it is killed */
		poke(0);
		cell[8] = 1;
	}
	poke(0);
	poke(0);
	return pthread_create(&thread, 0, poke, 0) || pthread_join(thread, 0) || *cell != 1;
}
"""


DEBUG_REGISTERS = r"""
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long cell;
int main(void) {
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = HW_BREAKPOINT_W,
				       .bp_addr = (unsigned long)&cell, .bp_len = 8, .exclude_kernel = 1};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	unsigned long count = 0;
	cell = 1;
	cell = 2;
	return read(fd, &count, sizeof(count)) != sizeof(count) || count != 2;
}
"""


def watched(folder):
    path = os.path.join(folder, "watched")
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], input=DEBUG_REGISTERS.encode(), check=True)
    if subprocess.run([path], check=False).returncode:
        result = subprocess.run([STRATA, "trace", "-e", "watchpoint:0x10000000:8:w { }", "-c", "true"], stderr=subprocess.PIPE, check=False)
        tap.ok(result.returncode == 1 and b"watchpoints do nothing on this machine" in result.stderr,
               "watchpoint: debug registers that report nothing, as on this machine, are told", result)
        return
    subprocess.run(["gcc", "-O1", "-pthread", "-x", "c", "-", "-o", path], input=WATCHED.encode(), check=True)
    expect("watchpoint: writes, also of another thread", "watchpoint:0x10000000:8:w { @ = count(); }", path, r"@: 3\n")
    # The second one comes ten times in a row, without the first one between.
    expect("unwatch", "watchpoint:0x10000000:8:w { @since = 0; unwatch(0x10000000); } "
           "watchpoint:0x10000040:8:w { @since++; if (@since == 10) { exit(); } }", f"{path} on", r"@since: 10\n")
    expect("watchpoint: reads too", "watchpoint:0x10000000:8:rw { @ = count(); }", path, r"@: 4\n")


def iterators():
    task = "iter:task /ctx.task.tgid == cpid || ctx.task.tgid == pid/ { @[ctx.task.tgid == pid] = count(); @k = max(len(kstack)); }"
    expect("iter:task", task, "sleep 0.1", r"@\[true\]: [1-9](.|\n)*@k: [1-9]")
    expect("iter:task_file", 'iter:task_file /ctx.task.tgid == pid && ctx.fd == 1/ { printf("%s\\n", ctx.task.comm); }', None, r"^strata\n")
    expect("iter:task_vma", "iter:task_vma /ctx.task.tgid == pid/ { @ = count(); @low = min(ctx.vma.vm_start); }", None, r"@: \d\d+\n(.|\n)*@low: \d{5}")
    out, err = trace('iter:task_vma { @n = count(); printf("%lx %lx %r\\n", ctx.vma.vm_start, ctx.vma.vm_end, buf(ctx.task.comm, 16)); }')
    count = re.search(r"@n: (\d+)", out)
    tap.ok(count and len(re.findall(r"(?m)^[0-9a-f]+ [0-9a-f]+ ", out)) == int(count.group(1)), "iter: no line is lost", out[-300:], err)
    listing = subprocess.run([STRATA, "trace", "-lv", "rawtracepoint:sys_enter,rawtracepoint:sched_process_exec"], stdout=subprocess.PIPE, check=False)
    tap.equal(listing.stdout.decode(), "rawtracepoint:vmlinux:sys_enter\n    struct pt_regs * regs\n    long int id\nrawtracepoint:vmlinux:sched_process_exec\n"
              "    struct task_struct * p\n    pid_t old_pid\n    struct linux_binprm * bprm\n", "rawtracepoint: parameters in C, listed")
    listing = subprocess.run([STRATA, "trace", "-lv", "iter:task"], stdout=subprocess.PIPE, check=False).stdout.decode()
    tap.ok("struct task_struct * task" in listing, "iter: -lv", listing)


def pinned():
    """Its file outlives strata, and gives what printf() writes to who reads it."""
    pins = "/sys/fs/bpf"
    with open("/proc/mounts", encoding="utf-8") as mounts:
        mounted = any(line.split()[1] == pins for line in mounts)
    if not mounted:
        subprocess.run(["mount", "-t", "bpf", "none", pins], check=True)
    pin = f"strata-test-{os.getpid()}"
    program = (f'iter:task:{pin} /ctx.task.tgid == ctx.task.pid && ctx.task.comm == "strata-pinned"/ '
               '{ @n++; printf("%s|%-4d|%d%%|%llx\\n", ctx.task.comm, 7, ctx.task.tgid == ctx.task.pid, (uint64)255); }')
    result = subprocess.run([STRATA, "trace", "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    out, err = result.stdout.decode(), result.stderr.decode()
    again, refused = trace(program)
    try:
        with subprocess.Popen(["python3", "-c", "open('/proc/self/comm', 'w').write('strata-pinned'); print(1, flush=True); import sys; sys.stdin.read()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.read(1)
            text = []
            for _ in range(2):
                with open(f"{pins}/{pin}", encoding="utf-8") as file:
                    text.append(file.read())
            process.stdin.close()
        tap.ok(out.startswith(f"Program pinned to {pins}/{pin}\n") and text == ["strata-pinned|7   |1%|ff\n"] * 2, "iter: a pin is read without strata", out, err, text)
        tap.ok("File exists; remove it first" in refused, "iter: a pin that is there already", again, refused)
    finally:
        os.unlink(f"{pins}/{pin}")
    out, err = trace(f"iter:task:/tmp/{pin} {{ }}")
    tap.ok("mounted bpf file system" in err, "iter: a pin elsewhere", out, err)
    if not mounted:
        subprocess.run(["umount", pins], check=True)


def packets(path):
    """Datagrams on the loopback device, without its header of 14 bytes; the second time only the header of IP."""
    program = ('rawtracepoint:net_dev_start_xmit /pid == cpid/ { printf("%d %d %d\\n", skboutput("PATH", args.skb, args.skb.len, 14), '
               'skboutput("PATH", (struct sk_buff *)arg0, 20, 14), skboutput("PATH", args.skb, 1, args.skb.len)); }')
    out, err = trace(program.replace("PATH", path),
                     f"{PYTHON} -c 'import socket; socket.socket(2, 2).sendto(b\"a datagram\", (\"127.0.0.1\", 9))'")
    with open(path, "rb") as file:
        data = file.read()
    header, at, found = struct.unpack_from("=IHHIIII", data), 24, []
    while at < len(data):
        seconds, nanoseconds, size, whole = struct.unpack_from("=IIII", data, at)
        found.append((abs(seconds - time.time()) < 3600 and nanoseconds < 10 ** 9, data[at + 16:at + 16 + size], whole))
        at += 16 + size
    tap.ok(header[:3] == (0xa1b23c4d, 2, 4) and header[6] == 101, "skboutput: a PCAP file of raw IP", header)
    good = len(found) >= 2 and all(fresh for fresh, _, _ in found) and found[0][1][0] == 0x45 and found[0][1].endswith(b"a datagram") and \
        found[0][2] == len(found[0][1]) == 38 and found[1] == (True, found[0][1][:20], 38)
    tap.ok(good and re.match(r"0 0 -14\n", out), "skboutput: a packet, and a part of it", out, err, found)


def kernel_objects():
    """What takes pointers into the kernel. tests/kernels has the same in fentry."""
    connect = f"{PYTHON} -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 1))'"
    for sock in ("args.sk", "(struct sock *)arg0"):
        expect(f"socket_cookie of {sock}", f"rawtracepoint:inet_sock_set_state /pid == cpid/ {{ @[socket_cookie({sock}) > 0, args.newstate] = count(); "
               f"@one[socket_cookie({sock})] = count(); }}", connect, r"(?s)^(?!.*@one.*@one).*@\[true, 2\]: 1\n.*@one\[\d+\]: [2-9]\n")
    out, err = trace("rawtracepoint:consume_skb { print(socket_cookie((struct sock *)args.skb)); }")
    tap.ok(err.count("\n") == 1 and "has another type" in err, "socket_cookie of something else", out, err)
    with tempfile.TemporaryDirectory() as folder:
        packets(os.path.join(folder, "packets.pcap"))
    out, err = trace('rawtracepoint:consume_skb { skboutput("/nowhere/x.pcap", args.skb, 1, 0); }')
    tap.ok(err.count("\n") == 1 and "/nowhere/x.pcap cannot be written" in err, "skboutput to no folder", out, err)
    expect("path of a file", "iter:task_file /ctx.task.tgid == pid && ctx.fd == 0/ { print((path(ctx.file.f_path), path(ctx.file.f_path, 5), "
           "sizeof(path(ctx.file.f_path, 5)))); }", None, r"^\(/dev/null, null, 5\)\n")
    expect("path of nothing", 'iter:task_vma /ctx.task.tgid == pid/ { if (path(ctx.vma.vm_file.f_path) == "") { @ = count(); } }', None, r"@: \d")


def one_process():
    loop = [PYTHON, "-c", "import time\nwhile True: time.sleep(0.01)"]
    processes = [subprocess.Popen(loop) for _ in range(2)]
    try:
        for event in ("tracepoint:syscalls:sys_enter_clock_nanosleep", "rawtracepoint:sched_switch"):
            out, err = trace(event + " { @[pid] = count(); @n++; if (@n == 20) { exit(); } }", None, "-p", str(processes[0].pid))
            tap.ok(re.findall(r"@\[(\d+)\]", out) == [str(processes[0].pid)], event + ": with -p in that process only", out, err)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def kernel_functions(path):
    """Only a kernel without them is at hand here; tests/kernels has the others."""
    for kind, file in (("kprobe", "/sys/bus/event_source/devices/kprobe/type"), ("fentry", None)):
        out, err = trace(f"{kind}:vfs_read /pid == cpid/ {{ @ = count(); }}", f"{path} 1")
        lacks = re.search(rf"ERROR: {kind} is not available: this kernel .*\(CONFIG_.*\n(.*\n)*HINT: use .*tracepoint", err)
        there = re.search(r"@: \d+", out)
        tap.ok(there or lacks and not (file and os.path.exists(file)), f"{kind}: works, or says what is missing", out, err)


ARCHIVED = "__attribute__((noinline)) int packed(int n) { asm volatile(\"\" ::: \"memory\"); return n * 3; }"
MAPPER = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	long offset = atol(argv[2]), page = offset & -4096;
	char *at = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[1], O_RDONLY), page);
	int (*packed)(int) = (int (*)(int))(at + (offset - page));
	return at == MAP_FAILED || packed(7) + packed(8) != 45;
}
"""


def archives(folder):
    """A library that is mapped out of a ZIP archive, as Android does: at a page of it, uncompressed."""
    library, mapper, path = (os.path.join(folder, name) for name in ("libpacked.so", "mapper", "app.zip"))
    for target, source, more in ((library, ARCHIVED, ["-shared", "-fPIC"]), (mapper, MAPPER, [])):
        subprocess.run(["gcc", "-O1", *more, "-x", "c", "-", "-o", target], input=source.encode(), check=True)
    with open(library, "rb") as file:
        data = file.read()
    names = ("lib/x86_64/libpacked.so", "other/libpacked.so")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("squeezed/libpacked.so", data, zipfile.ZIP_DEFLATED)
        for name in names:
            info = zipfile.ZipInfo(name)
            info.extra = bytes(-(archive.fp.tell() + 30 + len(name)) % 4096)
            archive.writestr(info, data)
        archive.comment = b"PK\5\6 of no meaning"
        headers = [archive.getinfo(name).header_offset for name in names]
    with open(path, "rb") as file:
        starts = [header + 30 + sum(struct.unpack("<HH", os.pread(file.fileno(), 4, header + 26))) for header in headers]
    symbols = subprocess.run(["nm", "-D", library], stdout=subprocess.PIPE, check=True).stdout.decode()
    function = int(re.search(r"(\w+) T packed", symbols).group(1), 16)
    command = f"{mapper} {path} {starts[0] + function}"
    for attach in (f'"{path}!/{names[0]}":packed', f'"{path}!/lib/*":pack*'):
        out, err = trace(f"uprobe:{attach} {{ @[probe, arg0] = count(); }} uretprobe:{attach} {{ @r = sum(retval); }}", command)
        tap.ok(out.count(f"@[uprobe:{path}!/{names[0]}:packed, ") == 2 and "packed, 8]: 1\n" in out and "@r: 45\n" in out,
               f"uprobe: in an archive, {attach.split('!/')[1]}", out, err)
    tap.ok(listed(f"uprobe:{path}!/*:packed") == [f"uprobe:{path}!/{name}:packed" for name in names], "uprobe: of an archive, listed")
    for attach, words in ((f'"{path}!/squeezed/libpacked.so":packed', "no such program or library"), (f'"{path}!/{names[0]}":other', "No matches"),
                          (f'"{library}!/x":packed', "WARNING: .*libpacked.so: not a ZIP archive, or a damaged one")):
        out, err = trace(f"uprobe:{attach} {{ }}")
        tap.ok(re.search(words, err), f"uprobe: in an archive: {words}", out, err)
    out, err = trace(f'uprobe:"{path}!/{names[0]}":packed {{ print(args); }}')
    tap.ok("debug information is not read out of archives" in err, "uprobe: in an archive: no args", out, err)


def listed(pattern):
    return subprocess.run([STRATA, "trace", "-l", pattern], stdout=subprocess.PIPE, check=False).stdout.decode().split("\n")[:-1]


def names():
    """comm(PID) as a value, where programs may find tasks."""
    out, err = trace('interval:ms:50 { if (comm(cpid) == "sleep") { @[comm(cpid), comm(cpid) == comm(4999999)] = comm(4999999); exit(); } }', "sleep 60")
    tap.ok("@[sleep, false]: N/A\n" in out or "comparing 'process name'" in err, "comm(PID) is compared, a key and a value", out, err)
    out, err = trace('tracepoint:sched:sched_process_exit /comm(pid) == "true"/ { @ = count(); }', "/bin/true")
    tap.ok("@: 1\n" in out or "comparing 'process name'" in err, "comm(PID) in a condition", out, err)


def programs():
    """BPF programs as what is traced; only tests/kernels has kernels at hand that let them be."""
    inner = "interval:ms:50 { @a = count(); } interval:ms:50 { @b = count(); }"
    outer = subprocess.Popen([STRATA, "trace", "-e", inner], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    outer.stderr.readline()  # attached
    lines = listed("fentry:bpf:interval_ms_50_*")
    ids = [line.split(":")[2] for line in lines]
    tap.ok([line.split(":")[3] for line in lines] == ["interval_ms_50_1", "interval_ms_50_2"] and ids[0] < ids[1], "fentry:bpf: listed", lines)
    tap.ok(listed(f"fexit:bpf:{ids[1]}:interval*") == [f"fexit:bpf:{ids[1]}:interval_ms_50_2"], "fexit:bpf: listed, of one program")
    tap.ok(not listed("fentry:bpf:ms_50"), "fentry:bpf: a name is the whole name")
    for body, words in (("print(args);", "args is not known for functions of BPF programs"), ("print(arg1);", "arg1 is not there: .* has 1 argument$")):
        out, err = trace("fentry:bpf:interval_ms_50_1 { %s }" % body)
        tap.ok(re.search(f"ERROR: {words}", err, re.M), f"fentry:bpf: {body}", out, err)
    out, err = trace("fexit:bpf:interval_ms_50_* { @[probe, retval, arg0 != 0] = count(); } interval:ms:300 { exit(); }")
    there = [f"@[fexit:bpf:{i}:interval_ms_50_{n + 1}, 0, true]" in out for n, i in enumerate(ids)]
    tap.ok(all(there) or "not permitted" in err, "fexit:bpf: fires, or is not permitted", out, err)
    outer.send_signal(signal.SIGINT)
    outer.communicate(timeout=PATIENCE_S)


def depth(path):
    out, err = trace(f"uprobe:{path}:leaf {{ printf(\"%d \", len(ustack)); }}", f"{path} 10 100 10000")
    depths = [int(word) for word in out.split()]
    tap.ok(len(depths) == 3 and depths[1] - depths[0] == 90 and depths[2] - depths[0] == 9990, "len(ustack) is the true depth", out, err)
    out, err = trace(f"uprobe:{path}:leaf {{ print(ustack(3)); }}", f"{path} 5")
    tap.ok(re.match(r"\n {8}leaf\+0\n {8}down\+\d+\n {8}down\+\d+\n", out) and out.count("down+") == 2, "ustack(3)", out, err)
    out, err = trace(f"uprobe:{path}:leaf {{ print(ustack(folded)); }}", f"{path} 2")
    tap.ok(re.match(r"_start \(\S+\);.*;main \(\w+\);down \(\w+\);down \(\w+\);down \(\w+\);leaf \(\w+\)\n", out), "folded", out, err)
    out, err = trace(f"uprobe:{path}:leaf {{ @[ustack] = count(); }}", f"{path} 2 2 3")
    counts = sorted(int(n) for n in re.findall(r"\]: (\d+)", out))
    tap.ok(counts == [1, 2], "ustack as a key", out, err)
    out, err = trace("rawtracepoint:sched_process_exit /pid == cpid/ { @raw = len(kstack); print(kstack(folded)); } "
                     "tracepoint:sched:sched_process_exit /pid == cpid/ { @event = len(kstack); print(kstack(folded)); }", f"{path} 1")
    stacks = [line for line in out.split("\n") if line.startswith("entry_SYSCALL")]
    numbers = set(re.findall(r"@\w+: (\d+)", out))
    tap.ok(len(stacks) == 2 and stacks[0] == stacks[1] and numbers == {str(stacks[0].count(";") + 1)},
          "kstack in rawtracepoint begins where the tracepoint is", out, err)
    out, err = trace("tracepoint:syscalls:sys_enter_acct { @[kstack] = count(); }",
                     f'{PYTHON} -c "import ctypes, os; child = os.fork(); ctypes.CDLL(None).acct(1); child and os.wait()"')
    tap.ok(out.count("@[") == 1 and "]: 2\n" in out, "kstack is the same in all processes", out, err)
    out, err = trace("tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @[kstack] = count(); @u = max(len(ustack)); }", f"{path} 5")
    tap.ok(re.search(r"@u: \d+", out) and "@[" in out, "kstack and ustack in a tracepoint", out, err)


def late(path):
    """A process that begins when strata runs: its first stacks are finished from copies, all of one event's."""
    script = f'begin {{ print("ready"); }} uprobe:{path}:leaf {{ printf("%s|%s|%s\n", ustack(folded), ustack(folded, 2), ustack(folded, 1)); exit(); }}'
    with subprocess.Popen([STRATA, "trace", "-q", "-e", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tracer:
        first = tracer.stdout.readline()
        subprocess.run([path, "5"], check=True)
        out, err = (text.decode() for text in tracer.communicate(timeout=60))
    found = re.search(r"^(\S.*)\|(.*)\|(.*)$", out, re.M)
    last = found and [frame for frame in found.group(1).split(";") if not frame.startswith("[")][-2:]
    tap.ok(first == b"ready\n" and last and len(found.group(1).split(";")) > 5 and [found.group(2).split(";"), found.group(3).split(";")] == [last, last[1:]],
           "the first event of a new process has all its stacks", out, err)
    # A file that strata does not know, so that the kernel part cannot walk.
    fresh = path + "-fresh"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", fresh], check=True, input=b"""
        #include <unistd.h>
        __attribute__((noipa)) void inner(void) { (void)!acct("/nowhere"); __asm__ volatile(""); }
        __attribute__((noipa)) void outer(void) { inner(); __asm__ volatile(""); }
        int main(void) { outer(); return 0; }""")
    out, err = trace('tracepoint:syscalls:sys_enter_acct { printf("%s|%s|%s\n", ustack(folded), ustack(folded, 2), ustack(2)); }', fresh)
    found = re.search(r"^(\S.*)\|(.*)\|\n *(\S+)\n *(\S+)\n", out, re.M)
    whole = found and [frame.partition(" ")[0] for frame in found.group(1).split(";")]
    tap.ok(found and whole[-4:] == ["main", "outer", "inner", "acct"] and found.group(2).endswith(";".join(found.group(1).split(";")[-2:])) and
           found.group(2).count(";") == 1 and [found.group(3).split("+")[0], found.group(4).split("+")[0]] == ["acct", "inner"],
           "its limited stacks have the innermost frames", out, err)


def own_namespace(path):
    """strata, and what it traces, in a pid namespace of their own, where processes have other numbers."""
    script = f"uprobe:{path}:leaf {{ printf(\"%d %d\\n\", len(ustack), pid); print(ustack(folded)); exit(); }}"
    words = ["unshare", "--fork", "--pid", "--mount-proc", STRATA, "trace", "-q", "-e", script, "-c", f"{path} 30"]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    out = result.stdout.decode()
    found = re.match(r"(\d+) (\d+)\n(_start .*;leaf \(\w+\))\n", out)
    tap.ok(found and found.group(3).count(";down (") == 31 and int(found.group(1)) == found.group(3).count(";") + 1 and int(found.group(2)) < 10,
          "ustack in a pid namespace of its own", out, result.stderr.decode())
    script = 'begin { print(1); } profile:hz:99 /pid == cpid/ { $p = pystack(folded); if (len($p) > 100) { print($p); exit(); } }'
    code = "def f(n):\n while not n: pass\n f(n - 1)\nf(100)"
    words[8:] = [script, "-c", f'{PYTHON} -c "{code}"']
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    tap.ok(result.stdout.decode().count("f (<string>:") == 101, "pystack in a pid namespace of its own", result.stdout.decode(), result.stderr.decode())


def python():
    code = "def f(n):\n return f(n - 1) if n else __import__('os').getppid()\nf({})"
    for frames in (10, 700):
        script = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
        script.write(code.format(frames))
        script.close()
        out, err = trace("tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { print(len(pystack)); print(pystack(folded)); print(stack); }",
                         f"{PYTHON} {script.name}")
        lines = out.split("\n")
        name = os.path.basename(script.name)
        tap.ok(lines[0] == str(frames + 2), f"len(pystack) with {frames} calls", out[:500], err)
        tap.ok(len(lines) > 1 and lines[1].count(";") == frames + 1 and lines[1].startswith("<module> (") and name in lines[1],
               "  and its frames by name and line", out[:500], err)
        tap.ok(out.count(f"f ({script.name}:2)") == 2 * (frames + 1) and "_start" in out, "  and in the merged stack", out[:500], err)
        os.unlink(script.name)


def alike():
    """Three instructions of one line: keys of their own in the kernel."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write("from os import getppid\ngetppid(); getppid(); getppid()\nfor i in 1, 2: getppid()\n")
        script.flush()
        tick = "tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { %s }"
        command = f"{PYTHON} {script.name}"
        line = f"<module> ({script.name}:%d)"
        out, err = trace(tick % "@sum[1, pystack(folded)] = stats(2); @least[pystack(folded)] = min(5); @each[pystack(folded)] = 1;", command, "-f", "json")
        maps = {name: value for text in out.splitlines() for name, value in json.loads(text, object_pairs_hook=list)[1][1]}
        keys = [line % 2, line % 3]
        tap.ok(sorted((key, dict(value)["total"]) for key, value in maps.get("@sum", [])) == [("1," + keys[0], 6), ("1," + keys[1], 4)] and
               sorted(maps.get("@least", [])) == [(key, 5) for key in keys], "stacks that read alike are one row of an aggregation", out, err)
        tap.ok(sorted(maps.get("@each", [])) == [(keys[0], 1)] * 3 + [(keys[1], 1)], "  and rows of their own where there is nothing to add", out, err)
        out, err = trace(tick % "@[pystack] = count();" + " end { print(@, 1); clear(@); }", command)
        tap.ok(out.strip() == f"@[\n        {line % 2}\n]: 3", "  before the greatest are taken", out, err)


def markers():
    listing = subprocess.run([STRATA, "trace", "-l", f"usdt:{PYTHON}:*"], stdout=subprocess.PIPE, check=False).stdout.decode()
    if "gc__start" not in listing:
        tap.skip("usdt: arguments, and its semaphore", f"{PYTHON} has no markers")
        return
    expect("usdt: arguments, and its semaphore", f'usdt:{PYTHON}:python:gc__start {{ printf("%d\\n", arg0); }}',
           f"{PYTHON} -c 'import gc; gc.collect(1)'", r"(?m)^1$")


def output(path):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out")
        trace("begin { print(1); @ = 2; }", None, "-o", file, "-f", "json")
        with open(file, encoding="utf-8") as text:
            lines = [json.loads(line) for line in text]
    tap.ok({"type": "value", "data": 1} in lines and {"type": "map", "data": {"@": 2}} in lines, "-o and -f json", lines)
    result = subprocess.run([STRATA, "trace", "-q", "-e", f"uprobe:{path}:leaf {{ @ = count(); }}", "-c", f"{path} 1"],
                            stdout=subprocess.PIPE, check=False)
    tap.ok(result.returncode == 0, "the status of the command")
    result = subprocess.run([STRATA, "trace", "-q", "-e", "begin { exit(3); }"], stdout=subprocess.DEVNULL, check=False)
    tap.ok(result.returncode == 3, "the status of exit()")
    listing = subprocess.run([STRATA, "trace", "-lv", "tracepoint:sched:sched_switch"], stdout=subprocess.PIPE, check=False).stdout.decode()
    tap.ok("    char prev_comm[16]\n    pid_t prev_pid\n" in listing, "-lv shows arguments as the kernel declares them", listing)


def listing(*arguments):
    result = subprocess.run([STRATA, "trace", "-l", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return result.stdout.decode().split("\n")[:-1], result.stderr.decode()


def lists(path):
    for name, arguments, lines in (
            ("patterns, divided by commas", ("software:cpu,interval:m*",), ["software:cpu:", "interval:ms:"]),
            ("a file's functions", (f"uprobe:{path}:lea*",), [f"uprobe:{path}:leaf"]),
            ("what a script means", ("-e", f"software:cpu:5 {{ }} uretprobe:{path}:l?af {{ }}"), ["software:cpu:", f"uretprobe:{path}:leaf"]),
            ("a type of the kernel", ("-v", "struct list_head"),
             ["vmlinux: struct list_head {", "    struct list_head * next;", "    struct list_head * prev;", "};"])):
        out, err = listing(*arguments)
        tap.ok(out == lines, f"-l: {name}", out, err)
        again = subprocess.run([STRATA, "list", *arguments], stdout=subprocess.PIPE, timeout=60, check=False).stdout.decode().split("\n")[:-1]
        tap.ok(again == lines, f"strata list: {name}", again)
    behind, before = (subprocess.run([STRATA, "list", *arguments], stdout=subprocess.PIPE, timeout=60, check=False).stdout for arguments in
                      (["software:faults", "-v", "tracepoint:sched:sched_switch"], ["-v", "software:faults", "tracepoint:sched:sched_switch"]))
    tap.ok(behind == before and b"prev_comm" in before, "strata list: options behind patterns", behind)
    nothing = subprocess.run([STRATA, "list", "software:nonsense"], stdout=subprocess.PIPE, timeout=60, check=False)
    tap.ok(nothing.returncode == 1 and not nothing.stdout, "strata list: nothing is found", nothing)
    with subprocess.Popen([path, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"WAIT": "1"}) as process:
        process.stdout.read(1)
        out, err = listing("-p", str(process.pid), "uprobe:*:leaf")
        tap.ok(out == [f"uprobe:{path}:leaf"], "-l -p: of the files of a process", out, err)
        trace_it = subprocess.run([STRATA, "trace", "-q", "--dry-run", "-p", str(process.pid), "-e", "uprobe:*:leaf { print(1); }"],
                                  stderr=subprocess.PIPE, check=False)
        tap.ok(not trace_it.returncode, "-p: a probe without a file's name", trace_it.stderr)
        process.stdin.close()
    out, err = listing("nowhere.bt")
    tap.ok(not out and "file does not exist" in err, "-l: a script that is not there", out, err)


def ends():
    """Warnings of the running script come once for each place; a signal ends it as exit() does."""
    out, err = trace("begin { $z = 0; $i = 0; while ($i < 9) { @ += 5 / $z; $i++; } }")
    tap.ok("@: 9" in out and err.count("WARNING: Divide or modulo by 0") == 1 and "5 / $z" in err, "a division by zero warns once", out, err)
    out, err = trace("begin { $z = 0; print(5 / $z); }", None, "--no-warnings")
    tap.ok(out == "1\n\n\n" and not err, "--no-warnings", out, err)
    out, err = trace("begin { print(1); } bench:one { @++; } bench:two { @two = count(); } end { print(@); clear(@); clear(@two); }", None, "--mode", "bench")
    rows = [line.split() for line in out.split("\n") if line.startswith(("one", "two"))]
    tap.ok([(row[0], row[2], int(row[1]) > 0) for row in rows] == [("one", "10000", True), ("two", "10000", True)] and "@: 10000" in out, "--mode bench", out, err)
    script = ('begin { print("begun"); } test:good { print("unseen"); } test:bad { print("seen"); return 1; } test:left { exit(3); } '
              'test:done { exit(); } test:wrong { errorf("no"); } test:loop { for ($i : 0..5) { if ($i == 3) { return 2; } } }')
    result = subprocess.run([STRATA, "trace", "-q", "--test", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    out = re.sub(r" \(\d+ ns\)", "", result.stdout.decode())
    tap.ok(result.returncode == 1 and out == "begun\n" + "".join(f"[ RUN      ] {name}\n{said}[{how}] {name}\n" for name, said, how in (
        ("good", "", "       OK "), ("bad", "seen\n", "  FAILED  "), ("left", "", "  FAILED  "), ("done", "", "       OK "),
        ("wrong", "", "  FAILED  "), ("loop", "", "  FAILED  "))) + "[==========] 6 tests ran: 2 passed, 4 failed.\n", "--test", out, result.stderr)
    out, err = trace("test:good { print(1); }", None, "--mode", "test", "-f", "json")
    tap.ok(re.fullmatch(r'\{"type": "test_result", "data": \{"good": \{"duration": \d+, "passed": true, "output": "\{.*\}\\n"\}\}\}\n', out), "--test as JSON", out, err)
    out, err = trace("test:good { print(1); } bench:b { print(2); } begin { print(3); }")
    tap.ok(out == "3\n\n\n", "tests and benches do not run otherwise", out, err)
    out, err = trace("tracepoint:sched:sched_switch { print(args); @[args] = 1; exit(); } end { print(len(@)); clear(@); }")
    # Another CPU may come in between.
    events = re.findall(r"^\{ \.prev_comm = .*, \.prev_pid = \d+, .* \}$", out, re.M)
    tap.ok(events and f"\n{len(set(events))}\n" in out, "args as a record", out, err)
    trace('begin { debugf("strata %s %d %x", "debugs", 7, 255); }')
    printed = next(path for path in ("/sys/kernel/tracing/trace", "/sys/kernel/debug/tracing/trace") if os.path.exists(path))
    with open(printed, encoding="utf-8", errors="replace") as buffer:
        tap.ok("bpf_trace_printk: strata debugs 7 ff\n" in buffer.read(), "debugf()")
    out, err = trace("begin { @[1] = 1; print(@[2]); print(@[2] + 1); delete(@, 3); print(*(uint64 *)16); } interval:ms:5 { print(@[4]); if (@n++ > 3) { exit(); } }",
                     None, "-k")
    tap.ok([text for text in ("Can't lookup map element because it does not exist.\nAdditional Info - helper: map_lookup_elem, retcode: 0\n",
                              "Can't delete map element because it does not exist.\nAdditional Info - helper: map_delete_elem, retcode: -2\n",
                              "Bad address\nAdditional Info - helper: probe_read_user, retcode: -14\n") if text not in err] == []
          and err.count("WARNING") == 5, "-k warns once of each place where a helper fails", err)
    out, err = trace("begin { @[1] = 1; print(@[2]); }", None, "-k", "-f", "json")
    tap.ok({"type": "helper_error", "msg": "Can't lookup map element because it does not exist.", "helper": "map_lookup_elem", "retcode": 0,
           "filename": "stdin", "line": 1, "col": 25} in [json.loads(line) for line in out.split("\n") if line], "-k in JSON", out, err)
    inside = subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", STRATA, "trace", "-q", "-e",
                             "begin { print((pid, tid, pid(curr_ns), pid(init) > 1)); } "
                             "tracepoint:syscalls:sys_enter_getcwd /pid == cpid/ { @c = count(); }", "-c", "/bin/pwd"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    tap.ok(b"(1, 1, 1, true)\n" in inside.stdout and b"@c: " in inside.stdout, "pid in a namespace", inside.stdout, inside.stderr)
    with subprocess.Popen([STRATA, "trace", "-e", "interval:s:100 { } end { print(7); print(8); @ = 9; print(@); clear(@); print(10); }"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stderr.readline()
        process.send_signal(2)
        out = process.stdout.read()
    tap.ok(process.returncode == 0 and out == b"7\n8\n@: 9\n10\n\n\n", "SIGINT: all of end, and status 0", process.returncode, out)
    program = 'self:signal:SIGUSR1 { @++; printf("a"); } self:signal:SIGUSR1 { print(@); } interval:ms:10 /@ == 1/ { exit(); }'
    with subprocess.Popen([STRATA, "trace", "-e", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stderr.readline()
        process.send_signal(signal.SIGUSR1)
        out = process.stdout.read()
    tap.ok(process.returncode == 0 and out == b"a@: 1\n\n\n@: 1\n", "self:signal: in the script's order", process.returncode, out)
    out, err = trace('macro inner(x) { errorf("no %d", x); 1 } macro outer() { inner(7) } begin { outer(); }')
    tap.ok(re.search(r"(?s)ERROR: no 7\n[^\n]*ERROR: expanded from\n[^\n]*\n *~{8}\n.*ERROR: expanded from\n[^\n]*\n *~{7}\n$", err),
          "errorf() in macros says where they are used", err)
    out, err = trace('begin { assert(1 > 2, str("why not")); print(1); }')
    tap.ok(out == "\n\n" and "ERROR: assert failed: why not" in err, "assert() that fails", out, err)


def code_of(pid, path):
    """A program's machine code, as it is in memory now."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        start, end = next(line.split()[0].split("-") for line in maps if line.rstrip().endswith(path) and " r-xp " in line)
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(int(start, 16))
        return memory.read(int(end, 16) - int(start, 16))


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    return condition()


def detaching(path):
    """strata does not wait until the kernel has taken its breakpoints out, which is a moment later, however it ends."""
    with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"WAIT": "1"}) as target:
        target.stdout.read(1)
        before = code_of(target.pid, path)
        for name in ("SIGINT", "SIGKILL"):
            with subprocess.Popen([STRATA, "trace", "-q", "-e", f"uprobe:{path}:leaf {{ @ = count(); }} tracepoint:syscalls:sys_enter_acct {{ @a[ustack] = count(); }}"],
                                  stdout=subprocess.DEVNULL) as process:
                there = until(lambda: code_of(target.pid, path) != before)
                process.send_signal(getattr(signal, name))
                process.wait()
            tap.ok(there and until(lambda: code_of(target.pid, path) == before), f"nothing stays attached after {name}")
        target.communicate(b"")


def leaving_events():
    """The kernel takes events of tracepoints back one after the other, for seconds. strata's end does not wait for that."""
    def left():
        return [pid for pid in os.listdir("/proc") if pid.isdigit() and comm_of(pid) == "strata-events"]

    # Those of a group that nobody else traces: only the last event of a tracepoint is waited for.
    group = next((group for group in ("ext4", "btrfs", "kvm", "xfs", "writeback") if os.path.isdir(f"{EVENTS}/{group}")), None)
    if not group:
        tap.skip("many events", "no group of tracepoints that nobody else uses")
        return
    before = set(left())
    # The pipe is read to its end: nobody but strata may hold it open.
    done = subprocess.run([STRATA, "trace", "-q", "-e", f"tracepoint:{group}:* {{ @ = count(); }} interval:ms:50 {{ exit(); }}"],
                          stdout=subprocess.PIPE, check=False)
    mine = until(lambda: set(left()) - before)  # it may not have said its name yet
    tap.ok(done.returncode == 0 and mine, "strata ends before its many events do", done)
    tap.ok(until(lambda: not mine & set(left())), "and these end by themselves")


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "target")
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-x", "c", "-", "-o", path],
                       input=PROGRAM.encode(), check=True)
        uprobes(path)
        options(path)
        other_root(path)
        kernel(path)
        watched(folder)
        iterators()
        pinned()
        kernel_objects()
        one_process()
        kernel_functions(path)
        names()
        programs()
        archives(folder)
        depth(path)
        late(path)
        own_namespace(path)
        python()
        alike()
        markers()
        output(path)
        lists(path)
        detaching(path)
        leaving_events()
    ends()
    tap.done()


main()
