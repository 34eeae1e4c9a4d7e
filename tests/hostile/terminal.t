#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that programs choose, and a terminal obeys: a comm, a function and a marker's file with control characters. Needs root and gcc."""
import json
import os
import pty
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import e2e  # noqa: E402

STRATA = os.environ["STRATA"]
PATIENCE_S = 60
SCRIPT = """begin { printf("attached\\n"); }
uprobe:PROGRAM:bad* { @p[probe] = count(); @u[usym(reg("ip"))] = count(); @s[ustack(1)] = count(); }
tracepoint:syscalls:sys_enter_access /pid == PID/ {
    printf("%s|%20s|\\n", comm, str(args->filename)); print(comm); print((comm, 1)); @[comm] = count(); @v = comm; exit(); }"""
# Comms of up to 15 bytes, and how a terminal is to have them.
COMMS = [
    (b"e\x1b]0;x\x07y", rb"e\x1b]0;x\x07y"),
    (b"n\n@[forged]: 9", rb"n\x0a@[forged]: 9"),
    (b"c\xc2\x9b1mz", rb"c\xc2\x9b1mz"),
    (b"r\xe2\x80\xaeabc", rb"r\xe2\x80\xaeabc"),
    (b"b\xff\x9b\xc3", rb"b\xff\x9b\xc3"),
    ("ü→".encode(), "ü→".encode()),
]
# Its comm is argv[1]; it calls a function whose name in the file is then changed, and gives its comm to a system call.
PROGRAM = r"""
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
__attribute__((noinline)) void bad_AAAAABBB_fn(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	char byte;
	prctl(PR_SET_NAME, argv[1]);
	if (argc != 2 || read(0, &byte, 1) != 1)
		return 1;
	bad_AAAAABBB_fn();
	access(argv[1], 0);
	return read(0, &byte, 1) < 0;
}
"""

def through_terminal(command, ready=None):
    """What a command writes to a terminal, which does not change it."""
    master, slave = pty.openpty()
    subprocess.run(["stty", "raw", "-echo"], stdin=slave, check=True)
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL) as process:
        os.close(slave)
        out = drain(lambda: os.read(master, 4096), ready)
        process.wait(PATIENCE_S)
    os.close(master)
    return out


def through_pipe(command, ready=None):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        out = drain(lambda: os.read(process.stdout.fileno(), 4096), ready)
        process.wait(PATIENCE_S)
    return out


def drain(read, ready):
    out = b""
    while True:
        try:
            some = read()
        except OSError:  # the terminal's other end is closed
            some = b""
        if not some:
            return out
        out += some
        if ready and b"ttach" in out:
            ready()
            ready = None


def trace(program, comm, through, *more):
    """What the script prints of a program with such a comm."""
    with subprocess.Popen([program, comm], stdin=subprocess.PIPE) as traced:
        e2e.until(lambda: open(f"/proc/{traced.pid}/comm", "rb").read() == comm + b"\n")

        def go():
            traced.stdin.write(b"x")
            traced.stdin.flush()

        script = SCRIPT.replace("PROGRAM", program).replace("PID", str(traced.pid))
        out = through([STRATA, "trace", *more, "-e", script], go)
        traced.stdin.close()
    return out


def controls(out):
    """The bytes that a terminal may obey, but for ends of lines."""
    text = out.decode(errors="surrogateescape")
    return [c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c in "\u202e\u2028" or "\udc80" <= c <= "\udcff"]


def main():
    tap = e2e.Tap()
    with e2e.folder() as where:
        program = where + "/hostile"
        subprocess.run(["gcc", "-xc", "-", "-O1", "-o", program], input=PROGRAM.encode(), check=True)
        with open(program, "rb") as file:
            content = file.read()
        with open(program, "wb") as file:
            file.write(content.replace(b"AAAAABBB", b"\x1b[31m\xe2\x80\xae"))
        for comm, shown in COMMS:
            out = trace(program, comm, through_terminal)
            tap.ok(not controls(out), f"{comm}: nothing that a terminal obeys", controls(out), out)
            lines = [shown + b"|", b"(" + shown + b", 1)", b"@[" + shown + b"]: 1", b"@v: " + shown]
            tap.ok(all(line in out for line in lines) and b"\n@[forged]" not in out, f"{comm}: all of it is shown", out)
            out = trace(program, comm, through_pipe)
            tap.ok(comm + b"|" in out and b"\n" + comm + b"\n" in out and b"@[" + comm + b"]: 1\n" in out and b"@v: " + comm + b"\n" in out,
                   f"{comm}: into a pipe as it is", out)
            names = [line for line in out.split(b"\n") if line.startswith((b"@p", b"@u")) or b"bad" in line]
            tap.ok(len(names) >= 3 and not controls(b"\n".join(names)), f"{comm}: names of probes and symbols are clean there too", names)
            out = trace(program, comm, through_pipe, "-f", "json")
            tap.ok(not controls(out), f"{comm}: JSON obeys nothing either", out)
            said = [json.loads(line) for line in out.decode().splitlines() if line]
            want = comm.decode(errors="replace") if comm.isascii() or shown == comm or b"\xff" not in comm else "b\ufffd\ufffd\ufffd"
            tap.ok({"type": "map", "data": {"@": {want: 1}}} in said and {"type": "value", "data": want} in said, f"{comm}: JSON", out)
        said = where + "/said"
        with open(said, "wb") as file:
            file.write(b"a\tb\n\x1b[31mred\xe2\x80\xae\n\xc3\xa9\n")
        for call in (f'cat("{said}")', f'system("cat {said}")'):
            script = ["trace", *(["--unsafe"] if "system" in call else []), "-e", "BEGIN { %s; exit(); }" % call]
            out = through_terminal([STRATA, *script]).replace(b"\r", b"")
            tap.ok(b"a\tb\n\\x1b[31mred\\xe2\\x80\\xae\n\xc3\xa9\n" in out, f"{call}: on a terminal nothing that it obeys", out)
            out = through_pipe([STRATA, *script])
            tap.ok(b"a\tb\n\x1b[31mred\xe2\x80\xae\n\xc3\xa9\n" in out, f"{call}: into a pipe as it is", out)
        for through in (through_terminal, through_pipe):
            out = through([STRATA, "list", f"uprobe:{program}:bad*"])
            tap.ok(b":bad" in out and not controls(out), "list, " + through.__name__, out)
    tap.done()


main()
