# SPDX-License-Identifier: GPL-2.0-or-later
"""`strata trace` on a kernel: each kind of probe of kernel code, with its arguments and the stacks that it has there.

The programs calls.c and calls.py read 77 bytes of /dev/zero five times, below a known number of frames.
"""
import os
import re
import struct

import guest
from tap import LONG

FRAMES = 40
ONCE = "/bin/calls %d 1" % FRAMES
ROUNDS = "/bin/calls %d 600" % FRAMES  # until the script ends, so that the program's unwind tables are there by then
PASSING = 100
PYTHON = "%s -I -S /calls.py %d 600" % (guest.PYTHON, FRAMES)

ARGUMENTS = {"kprobe": "arg2 == 77", "kretprobe": "retval == 77", "fentry": "args.count == 77",
             "fexit": "args.count == 77 && retval == 77"}

# The stacks that a probe has, three times for each kind, from the moment when there are tables.
STACKS = """
    $k = kstack(folded); $u = ustack(folded);
    if (len($u) && @n[probetype] < 3) {
        printf("%s %d %d %d %d\\n", probetype, len($k), len($u), len(pystack), len(stack)); print($k); print($u);"""
PYSTACKS = """
    $p = pystack(folded); $u = ustack;
    if (len($p) && len($u) && @n[probetype] < 3) {
        printf("%s %d %d\\n", probetype, len($p), len($u)); print($p);"""
END = """
        @n[probetype]++; @all++;
        if (@all == 3 * KINDS) { exit(); }
    }"""


def each(kinds, body):
    body += END.replace("KINDS", str(len(kinds)))
    return "\n".join("%s:vfs_read /pid == cpid && %s/ {%s\n}" % (kind, ARGUMENTS[kind], body) for kind in kinds)


# Lines by the code of all of Python's instructions: of the Python that is there, and programs for two more, which are only loaded; in
# the short form all are, because an emulated machine takes 10 s and more for the beginning of a Python that is stopped at each of its
# instructions. What reads the names of functions is in the programs of the other probes, too.
LINES = r"""begin {
    system("strata trace -q --no-feature python_markers -e 'python:%s:line /args.function == \"down\"/ { @[args.line] = count(); }' -c '%s -I -S /calls.py 4 1' %s && echo traced;
        for file in /pythons/*; do strata trace -q --no-warnings --dry-run -e \"python:$file:line { @ = count(); }\" && echo loaded; done;
        strata trace -q --no-warnings -e 'python:%s:function-entry /args.file == \"<string>\"/ { @[args.function, args.kind] = count(); }' -c '%s -I -S /passing.py %d'");
    exit();
}""" % (guest.PYTHON, guest.PYTHON, "" if LONG else "--dry-run", guest.PYTHON, guest.PYTHON, PASSING)

# name: (program, command or None)
RUNS = {
    "lines": (LINES, None),
    "kprobe": (each(["kprobe", "kretprobe"], STACKS), ROUNDS),
    "fentry": (each(["fentry", "fexit"], STACKS), ROUNDS),
    "python": (each(ARGUMENTS, PYSTACKS), PYTHON),
    "values": ("""
kprobe:vfs_read,kretprobe:vfs_read,fentry:vfs_read,fexit:vfs_read /pid == cpid/ { @func[probetype, func] = count(); }
kprobe:vfs_read /pid == cpid && arg2 == 77/ { printf("name %s\\n", str(((struct file *)arg0).f_path.dentry.d_name.name)); }
fentry:vfs_read /pid == cpid && args.count == 77/ { @name[str(args.file.f_path.dentry.d_name.name, 64), arg2] = count(); }
fexit:do_sys_openat2 /pid == cpid && retval == -2/ { @open[str(args.filename, 128), retval] = count(); }
kretprobe:do_sys_openat2 /pid == cpid/ { @returned[(int32)retval] = count(); }
kprobe:vfs_read /pid == cpid && arg2 == 77/ { printf("kprobe first\\n"); }
kprobe:vfs_read /pid == cpid && arg2 == 77/ { printf("kprobe second\\n"); }
fentry:vfs_read /pid == cpid && args.count == 77/ { printf("fentry first\\n"); }
fentry:vfs_read /pid == cpid && args.count == 77/ { printf("fentry second\\n"); }
fentry:security_file_open /pid == cpid/ { @path[path(args.file.f_path, 64), path(args.file.f_path, 6)] = count(); }
""", ONCE),
    "wildcard": ("""
config = { missing_probes=warn } kprobe:nonsense { } kretprobe:vmlinux:nonsense { }
kprobe:vfs_read /pid == cpid/ { @ksym[ksym(reg("ip")), ksym(reg("ip") + 2)] = count(); }
kprobe:vfs_rea* /pid == cpid/ { @entered[probe] = count(); @func[func] = count(); }
kretprobe:vfs_rea* /pid == cpid/ { @returned[probe] = count(); }
kprobe:vfs_re*,kprobe:vfs_o* /pid == cpid/ { @any = count(); }
fentry:vfs_rea* /pid == cpid/ { @fentry[probe] = count(); }
kprobe:vmlinux:vfs_read /pid == cpid/ { @module[probe] = count(); }
""", ONCE),
    "loop": ("kprobe:vfs_read /pid == cpid/ { $i = 0; while ($i < 5) { $i++; } @[$i] = count(); }", ONCE),
    "value": ("kprobe:vfs_read /pid == cpid/ { $a = @x++; @last = $a; }", ONCE),
    "key": ("fentry:vfs_read /pid == cpid/ { @[str(args.file.f_path.dentry.d_name.name)] = count(); }", ONCE),
    # The second instruction, behind the call of ftrace's and, on kernels with IBT, ENDBR.
    "offset-5": ("kprobe:vfs_read+5 /pid == cpid && arg2 == 77/ { @[func] = count(); }", ONCE),
    "offset-9": ("kprobe:vfs_read+9 /pid == cpid && arg2 == 77/ { @[func] = count(); }", ONCE),
    "missing": ("kprobe:nonsense { }", None),
    "missing-module": ("kprobe:nonsense:vfs_read { }", None),
    # For calls and returns of the same functions one program and one link, where the kernel has sessions.
    "session": ("""
kprobe:vfs_read /pid == cpid && arg2 == 77/ { @a = arg2; @entered[func] = count(); $i = 0; while ($i < 3) { $i++; } @sum = sum($i); }
kretprobe:vfs_read /pid == cpid && retval == 77/ { @returned[func, retval, @a] = count(); $i = 0; while ($i < 2) { $i++; } @sum = sum($i); }
kprobe:vfs_rea* /pid == cpid/ { @any[0, func] = count(); }
kretprobe:vfs_rea* /pid == cpid/ { @any[1, func] = count(); if (!@told) { @told = 1; system("cat /proc/$PPID/fdinfo/* | grep -cE 'link_type:.k(ret)?probe_multi'"); } }
kretprobe:vfs_write /pid == cpid/ { @write = count(); }
""", ONCE),
    "parameters": ('begin { system("strata trace -lv \'kprobe:vfs_read,kretprobe:vfs_read\'; strata trace --info | grep path"); exit(); }', None),
    # One whole round of the program, after one whose reads had whole stacks; then more, until a tick has met the program at work.
    "others": ("""
begin { @ready = 0; @round = 0; @ticked = 0; }
uprobe:/bin/calls:dive {
    if (arg0 == FRAMES) {
        if (@round == 0) { @round = @ready; } else { @round = 2; if (@ticked) { exit(); } }
    }
    if (@round == 1) { @uprobe[len(ustack)] = count(); @merged = max(len(stack)); }
}
uretprobe:/bin/calls:dive { if (@round == 1) { @uretprobe[len(ustack)] = count(); } }
tracepoint:syscalls:sys_enter_read /pid == cpid && args.count == 77/ {
    if (len(ustack) > FRAMES) { @ready = 1; }
    if (@round == 1) { @tracepoint[len(ustack), len(pystack)] = count(); }
}
tracepoint:sched:sched_switch /pid == cpid/ { @switch = max(len(kstack)); }
rawtracepoint:sys_enter /pid == cpid && arg1 == 0 && @round == 1/ { @raw[len(kstack) > 0, len(ustack)] = count(); }
profile:hz:49 /pid == cpid/ { if (len(ustack) > 2) { @ticked = 1; } @profile = max(len(ustack)); }
software:faults:1 /pid == cpid/ { @faults = max(len(stack)); }
""".replace("FRAMES", str(FRAMES)), ROUNDS),
    "per-cpu": ('begin { print((percpu_kaddr("runqueues", 0).cpu, percpu_kaddr("runqueues", 9999) == 0, '
                'percpu_kaddr("runqueues") == percpu_kaddr("runqueues", cpu))); }', None),
    "override": ("""
kprobe:__x64_sys_openat /pid == cpid && str(((struct pt_regs *)arg0).si, 64) == "/not-there"/ { override(-13); }
tracepoint:syscalls:sys_exit_openat /pid == cpid/ { @[args.ret] = count(); }
""", ONCE),
    "override-not": ("kprobe:vfs_read { override(0); }", ONCE),
    "cookie": ("""
fentry:tcp_v4_connect /pid == cpid/ { @[socket_cookie(args.sk), socket_cookie((struct sock *)arg0) > 0] = count(); }
fexit:tcp_v4_connect /pid == cpid/ { @[socket_cookie(args.sk), retval <= 0] = count(); }
""", "/bin/busybox nc 127.0.0.1 1"),
    "path-not": ("fentry:vfs_read { print(path(args.file.f_path)); }", ONCE),
    "packets": ("""
fentry:loopback_xmit /pid == cpid/ { printf("%d\n", skboutput("/results/packets.pcap", args.skb, args.skb.len, 14)); }
""", "/bin/busybox nc 127.0.0.1 1"),
    # The second one runs while the first does; alone it finds nothing to attach to.
    "programs": ("interval:ms:50 { @ = count(); } interval:ms:50 { @b = count(); } profile:hz:20 { @p = count(); }",
                 "/bin/strata trace -q /programs-inside.bt"),
    "programs-inside": ("""
fentry:bpf:interval_ms_50_* { @in[func, arg0 != 0] = count(); if (!@told) { @told = 1; print(kstack(1)); } }
fexit:bpf:interval_ms_50_1 { @out[retval] = count(); }
fexit:bpf:*:profile_*_3 { @p++; @first = max(@p); @probes[probe] = count(); if (@p > 10) { exit(); } }
""", None),
    "names": ("""
fentry:vfs_read /pid == cpid && args.count == 77 && comm(cpid) == "calls"/ { @fentry[comm(cpid)] = count(); }
tracepoint:syscalls:sys_enter_read /pid == cpid && args.count == 77/ { @tracepoint[comm(cpid)] = count(); }
""", ONCE),
    "path-iter": ("iter:task_file /ctx.task.tgid == pid && ctx.fd == 0/ { print(path(ctx.file.f_path)); }", None),
    "iter": ("iter:task { printf(\"%s %d\\n\", ctx.task.comm, ctx.task.pid); @own = max(len(kstack)); }", None),
    "iter-file": ("iter:task_file /ctx.task.tgid == pid/ { @files = count(); @most = max(ctx.fd); }", None),
    "iter-vma": ("iter:task_vma /ctx.task.tgid == pid/ { @maps = count(); @first = min(ctx.vma.vm_start); }", None),
}


def counts(text):
    """The maps of an output: {"@name[key]": number}."""
    return {key: int(number) for key, number in re.findall(r"^(@\w*(?:\[.*\])?): (-?\d+)$", text, re.M)}


def blocks(text, kind, lines):
    """What a kind of probe has printed, each time: its numbers, then so many lines of frames."""
    all_lines = text.split("\n")
    return [[[int(word) for word in line.split()[1:]]] + [below.split(";") for below in all_lines[i + 1:i + 1 + lines]]
            for i, line in enumerate(all_lines) if line.startswith(kind + " ")]


def is_whole(kernel, user):
    """From the system call to _start, with every call of dive()."""
    return kernel[0].startswith("entry_SYSCALL_64") and user[0].startswith("_start (") and \
        sum(frame.startswith("dive (") for frame in user) == FRAMES and not any(f.startswith("[") for f in kernel + user)


def judge_stacks(tap, kernel, kind, text):
    found = blocks(text, kind, 2)
    if kernel == "5.10" and kind == "kretprobe":  # its unwinder ends at the return trampoline
        tap.ok(len(found) == 3 and all(depths == [1, len(u), 0, 1 + len(u)] and k == ["kretprobe_trampoline [k]"] and
                                       is_whole(["entry_SYSCALL_64"], u) for depths, k, u in found),
               "%s, kretprobe: ustack is whole, kstack the trampoline" % kernel, text)
        return
    tap.ok(len(found) == 3 and all(is_whole(k, u) for _, k, u in found), "%s, %s: kstack and ustack are whole" % (kernel, kind),
           text)
    tap.ok(found and all(depths == [len(k), len(u), 0, len(k) + len(u)] for depths, k, u in found),
           "%s, %s: len() of kstack, ustack, pystack, stack" % (kernel, kind), text)
    innermost = {k[-1].split(" ")[0] for _, k, _ in found}
    if kind == "kretprobe":  # it has returned
        tap.equal(innermost, {"ksys_read"}, "%s, %s: kstack begins at the caller" % (kernel, kind))
    else:
        tap.equal(innermost, {"vfs_read"}, "%s, %s: kstack begins at the function" % (kernel, kind))


def judge_python(tap, kernel, text):
    for kind in ARGUMENTS:
        found = blocks(text, kind, 1)
        good = [frames for (python, native), frames in found
                if python == len(frames) == FRAMES + 1 and native > 10 and frames[0].startswith("<module> (/calls.py:") and
                all(frame.startswith("down (/calls.py:") for frame in frames[1:])]
        tap.ok(len(good) == 3, "%s, %s: pystack has each Python frame" % (kernel, kind), text)


def judge_values(tap, kernel, text):
    maps = counts(text)
    names = {kind: maps.get("@func[%s, vfs_read]" % kind, 0) for kind in ARGUMENTS}
    tap.ok(all(count >= 5 for count in names.values()), "%s: func" % kernel, text)
    tap.ok(text.count("name zero\n") == 5, "%s, kprobe: a structure behind an argument" % kernel, text)
    tap.equal(maps.get("@name[zero, 77]"), 5, "%s, fentry: typed arguments" % kernel)
    tap.equal(maps.get("@open[/not-there, -2]"), 1, "%s, fexit: retval, and arguments" % kernel)
    opened = sum(count for key, count in maps.items() if key.startswith("@open["))
    tap.equal(maps.get("@returned[-2]"), opened, "%s, kretprobe: retval" % kernel)


def judge_wildcard(tap, kernel, text):
    maps = counts(text)
    for name, probe in (("entered", "kprobe"), ("returned", "kretprobe"), ("fentry", "fentry"), ("module", "kprobe")):
        tap.ok(maps.get("@%s[%s:vmlinux:vfs_read]" % (name, probe), 0) >= 5, "%s, %s: wildcard, %s" % (kernel, probe, name),
               text)
    tap.ok(maps.get("@func[vfs_read]", 0) >= 5 and maps.get("@any", 0) >= 6, "%s, kprobe: func at several places" % kernel, text)


def judge_offsets(tap, kernel, texts):
    hits = [counts(text) for text, _ in texts]
    tap.ok(any(maps and list(maps.values()) == [5] and "@[vfs_read]" in maps for maps in hits),
           "%s, kprobe: at an offset" % kernel, texts)
    refused = [text for (text, status), maps in zip(texts, hits) if not maps]
    tap.ok(all("in the middle of an instruction" in text for text in refused), "%s, kprobe: a wrong offset" % kernel, refused)


def judge_session(tap, kernel, text):
    if kernel == "5.10":  # the script has loops
        return
    maps = counts(text)
    links = 0 if kernel == "6.1" else 3  # Debian's 6.1 was built without CONFIG_FPROBE
    tap.ok(maps.get("@entered[vfs_read]") == maps.get("@returned[vfs_read, 77, 77]") == 5 and maps.get("@sum") == 25 and
           maps.get("@any[0, vfs_read]", 0) == maps.get("@any[1, vfs_read]", 1) >= 5, "%s, kprobe and kretprobe of the same calls" % kernel, text)
    tap.ok(re.search(r"(?m)^%d$" % links, text), "%s, kprobe and kretprobe: %d links" % (kernel, links), text)


def judge_missing(tap, kernel, outputs, status):
    """With --unsafe the kernel itself is asked for functions that are in no list."""
    words = "Unable to attach probe: %s: the kernel has no such function"
    tap.ok(words % "kprobe:nonsense" in outputs["missing"] and status["missing"] == "1", "%s, kprobe: no such function" % kernel,
           outputs["missing"])
    tap.ok("specified module nonsense in probe kprobe:nonsense:vfs_read is not loaded." in outputs["missing-module"] and
           status["missing-module"] == "1", "%s, kprobe: no such module" % kernel, outputs["missing-module"])
    text = outputs["wildcard"]
    tap.ok(all("WARNING: %s. Skipping.\n" % (words % name) in text for name in ("kprobe:nonsense", "kretprobe:vmlinux:nonsense")) and
           counts(text).get("@ksym[vfs_read, vfs_read]", 0) >= 5, "%s, kprobe: what is missing is skipped; ksym is a function's name" % kernel, text)
    tap.equal(outputs["parameters"].strip(), "kprobe:vfs_read\n    struct file * arg0\n    char * arg1\n    size_t arg2\n    loff_t * arg3\n"
              "kretprobe:vfs_read\n    ssize_t retval\n  dpath: yes", "%s, kprobe: parameters, listed" % kernel)


def judge_others(tap, kernel, text):
    maps = counts(text)
    depths = [int(number) for number in re.findall(r"^@uprobe\[(\d+)\]: 1$", text, re.M)]
    tap.ok(len(depths) == FRAMES and max(depths) - min(depths) == FRAMES - 1, "%s, uprobe: len(ustack) at each call" % kernel, text)
    tap.equal(maps.get("@merged"), max(depths + [0]), "%s, uprobe: len(stack)" % kernel)
    tap.equal({key for key, count in maps.items() if key.startswith("@uretprobe") and count == 1},
              {"@uretprobe[%d]" % (depth - 1) for depth in depths}, "%s, uretprobe: len(ustack) at each return" % kernel)
    below = max(depths + [0]) + 2  # call(), read()
    tap.equal(maps.get("@tracepoint[%d, 0]" % below), 5, "%s, tracepoint: len(ustack)" % kernel)
    tap.ok(maps.get("@switch", 0) > 4, "%s, tracepoint: len(kstack)" % kernel, maps)
    tap.equal(maps.get("@raw[true, %d]" % below), 5, "%s, rawtracepoint: len(ustack)" % kernel)
    tap.ok(maps.get("@profile", 0) > 2 and maps.get("@faults", 0) > 2, "%s, profile and software: stacks" % kernel, text)


def judge_iterators(tap, kernel, outputs):
    text = outputs["iter"]
    tap.ok("strata " in text and "kthreadd 2\n" in text and counts(text).get("@own", 0) > 3, "%s, iter:task" % kernel, text)
    maps = counts(outputs["iter-file"])
    tap.ok(maps.get("@files", 0) > 5 and maps.get("@most", 0) > 5, "%s, iter:task_file" % kernel, outputs["iter-file"])
    maps = counts(outputs["iter-vma"])
    if kernel == "5.10":  # it came with 5.12
        tap.ok("iter task_vma not available" in outputs["iter-vma"], "%s, iter:task_vma: not there" % kernel, outputs["iter-vma"])
        return
    tap.ok(maps.get("@maps", 0) > 10 and maps.get("@first", 0) > 4096, "%s, iter:task_vma" % kernel, outputs["iter-vma"])


def judge_age(tap, kernel, outputs):
    """What needs a newer kernel than 5.10, and what is said there."""
    if kernel == "5.10":
        for name, words in (("loop", "loops need Linux 5.17"), ("value", "needs Linux 5.12"), ("key", "at most; give str() in keys")):
            tap.ok(outputs[name].count("\n") == 1 and words in outputs[name], "%s, %s: refused, with the reason" % (kernel, name),
                   outputs[name])
        return
    tap.ok(counts(outputs["loop"]).get("@[5]", 0) > 5 and counts(outputs["value"]).get("@last", 0) > 5 and
           counts(outputs["key"]).get("@[zero]") == 5, "%s: loops, the value of ++, long keys" % kernel,
           [outputs[name] for name in ("loop", "value", "key")])


def judge_packets(tap, kernel, output, path):
    """The first one asks for a connection to port 1 of this machine."""
    data = b""
    if os.path.exists(path):
        with open(path, "rb") as file:
            data = file.read()
    size, whole = struct.unpack_from("=II", data, 32) if len(data) > 40 else (0, 0)
    packet = data[40:40 + size]
    local = bytes((127, 0, 0, 1))
    tap.ok("0\n" in output and data[:4] == b"\x4d\x3c\xb2\xa1" and size == whole == len(packet) >= 40 and packet[0] == 0x45 and
           packet[12:20] == local + local and packet[22:24] == b"\0\1" and packet[33] == 2, "%s, skboutput: a packet in a file" % kernel,
           [output, data])


def judge_lines(tap, kernel, output):
    told = re.findall(r"@\[made_(\d+), start\]: 1\n", output)
    tap.ok(sorted(map(int, told)) == list(range(PASSING)), "%s: names of Python's functions that come and go" % kernel, output)
    if kernel == "5.10":
        tap.ok("without one it needs Linux 5.17" in output, "%s: python:line is refused without bpf_loop()" % kernel, output)
        return
    told = {key: count for key, count in counts(output).items() if key.startswith("@[")}
    tap.ok("traced" in output, "%s: python:line, by the code of all instructions" % kernel, output)
    if not LONG:
        return
    tap.equal(told, {"@[9]": 4, "@[10]": 3, "@[11]": 1, "@[12]": 1, "@[13]": 1}, "%s: python:line tells each line" % kernel)
    count = len(guest.other_pythons())
    tap.ok(output.count("loaded") == count, "%s: python:line of %d other versions is verified" % (kernel, count), output)


def judge_objects(tap, kernel, outputs):
    """What takes pointers into the kernel, or changes what it does."""
    if "CONFIG_BPF_KPROBE_OVERRIDE" in outputs["override"]:
        tap.equal(outputs["override"].count("\n"), 1, "%s, override: the kernel was built without it" % kernel)
    else:
        tap.equal(counts(outputs["override"]).get("@[-13]"), 1, "%s, override: the system call fails as it is told" % kernel)
        tap.ok(outputs["override-not"].count("\n") == 1 and "ALLOW_ERROR_INJECTION" in outputs["override-not"],
               "%s, override: not of this function" % kernel, outputs["override-not"])
    if kernel == "5.10":  # it came with 5.12
        tap.ok(outputs["cookie"].count("\n") == 1 and "needs Linux 5.12" in outputs["cookie"], "%s, socket_cookie: not there" % kernel,
               outputs["cookie"])
    else:
        tap.ok(re.fullmatch(r"\n*(nc: .*\n)?\n*@\[[1-9]\d*, true\]: 2\n*", outputs["cookie"]), "%s, socket_cookie: the same in fentry and fexit" % kernel,
               outputs["cookie"])
    tap.equal(counts(outputs["values"]).get("@path[/dev/zero, /zero]"), 1, "%s, path: whole, and cut at its beginning" % kernel)
    refused = re.compile(r":1:[0-9]+-[0-9]+: ERROR: helper bpf_d_path not allowed in probe\n.*\n +~+\n.*security_file_open")
    tap.ok(refused.search(outputs["path-not"]), "%s, path: not in this function" % kernel, outputs["path-not"])
    if kernel == "5.10":  # it came with 5.12
        tap.ok(refused.search(outputs["path-iter"]), "%s, path: not in an iterator" % kernel, outputs["path-iter"])
    else:
        tap.ok(outputs["path-iter"].startswith("/dev/null\n"), "%s, path: in an iterator" % kernel, outputs["path-iter"])


def judge_programs(tap, kernel, output, alone):
    """Functions of BPF programs, which are those of another strata."""
    tap.ok("No matches for fentry bpf:interval_ms_50_*" in alone, "%s, fentry: no such BPF program" % kernel, alone)
    if kernel == "5.10":
        tap.ok("needs Linux 5.17" in output, "%s, fexit: no retval of BPF programs" % kernel, output)
        return
    inside, outside = (re.findall(pattern, output, re.M) for pattern in (
        r"^@in\[bpf_prog_[0-9a-f]+_interval_ms_50_([12]), true\]: [1-9]\d*$", r"^@(?:out\[0\]|first): ([1-9]\d*)$"))
    tap.ok(sorted(inside) == ["1", "2"] and len(outside) == 2, "%s, fentry and fexit of BPF programs: arguments, retval" % kernel, output)
    # Linux 7 jumps to the trampoline of a function with fexit: no return address lies in it, and the frame is its beginning.
    tap.ok(re.search(r"^ +bpf_prog_[0-9a-f]+_interval_ms_50_[12]%s$" % (r"(?:\+\d+)?" if kernel == "newest" else r"\+\d+"), output, re.M),
           "%s, fentry of a BPF program: kstack begins there" % kernel, output)
    tap.ok(re.search(r"^@probes\[fexit:bpf:\d+:profile_hz_20_3\]: [1-9]", output, re.M), "%s, fexit of a BPF program: probe" % kernel, output)


NOT_ALWAYS = ("session", "names", "programs", "programs-inside", "missing", "missing-module", "per-cpu", "offset-5", "offset-9", "iter-vma", "loop", "value", "key", "override", "override-not", "cookie",
              "path-not", "path-iter", "packets")


def judge(tap, kernel, results):
    outputs, status = {}, {}
    for name in RUNS:
        outputs[name] = guest.read(os.path.join(results, "trace-%s.log" % name))
        status[name] = guest.read(os.path.join(results, "trace-%s.status" % name)).strip()
        if name not in NOT_ALWAYS:
            tap.ok(status[name] == "0", "%s, trace: %s runs" % (kernel, name), outputs[name])
    for kind, name in (("kprobe", "kprobe"), ("kretprobe", "kprobe"), ("fentry", "fentry"), ("fexit", "fentry")):
        judge_stacks(tap, kernel, kind, outputs[name])
    judge_python(tap, kernel, outputs["python"])
    judge_values(tap, kernel, outputs["values"])
    judge_wildcard(tap, kernel, outputs["wildcard"])
    judge_offsets(tap, kernel, [(outputs[name], status[name]) for name in ("offset-5", "offset-9")])
    judge_missing(tap, kernel, outputs, status)
    judge_session(tap, kernel, outputs["session"])
    judge_others(tap, kernel, outputs["others"])
    for kind in ("kprobe", "fentry"):
        lines = [line.split()[1] for line in outputs["values"].split("\n") if line.startswith(kind)]
        tap.equal(lines, ["first", "second"] * 5, "%s, %s: probes of one place in the script's order" % (kernel, kind))
    words = "no per-CPU variable runqueues" if kernel == "5.10" else "(0, true, true)\n"  # 5.10's BTF has no variables
    tap.ok(words in outputs["per-cpu"], "%s: percpu_kaddr" % kernel, outputs["per-cpu"])
    judge_age(tap, kernel, outputs)
    judge_iterators(tap, kernel, outputs)
    judge_objects(tap, kernel, outputs)
    judge_lines(tap, kernel, outputs["lines"])
    if kernel in ("5.10", "6.1"):  # bpf_task_from_pid() came with 6.2
        tap.ok("comparing 'process name'" in outputs["names"], "%s, comm(PID): nothing to compare with" % kernel, outputs["names"])
    else:
        tap.equal(counts(outputs["names"]).get("@fentry[calls]", counts(outputs["names"])), 5, "%s, comm(PID): in fentry" % kernel)
        tap.equal(counts(outputs["names"]).get("@tracepoint[calls]"), 5, "%s, comm(PID): in a tracepoint" % kernel)
    judge_programs(tap, kernel, outputs["programs"], outputs["programs-inside"])
    judge_packets(tap, kernel, outputs["packets"], os.path.join(results, "packets.pcap"))
