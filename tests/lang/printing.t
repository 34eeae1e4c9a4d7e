#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""printing: what scripts print as often as programs do something is whole, and nothing of it is lost, also when the reader gets no CPU
for a while and others use the machine. Needs root and gcc."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ["STRATA"]
PATIENCE_S = 120

# Calls say() as often in a second as it is told, for so many seconds; then it waits for its input to end.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* It begins with an instruction at which a probe costs least. */
void say(const char *path, const char *name, const char **all, long number);
asm(".text\n.globl say\n.type say, @function\nsay: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\nret\n.size say, . - say\n");
__attribute__((noinline)) void done(void) { asm volatile("" ::: "memory"); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv)
{
	char path[] = "/usr/lib/python3.11/asyncio/base_events.py", name[] = "BaseEventLoop", one[] = "one", two[] = "two words";
	const char *all[] = {one, two, path, NULL};
	long rate = atol(argv[1]), i, count = rate * atol(argv[2]);
	char byte;
	double begin;
	if (write(1, "R", 1) != 1 || read(0, &byte, 1) != 1)
		return 1;
	begin = now();
	for (i = 0; i < count; i++) {
		while (i % 64 == 0 && i > (now() - begin) * rate)
			usleep(500);
		say(path, name, all, i);
	}
	done();
	printf("%.2f\n", now() - begin);
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
"""
PATH, NAME = "/usr/lib/python3.11/asyncio/base_events.py", "BaseEventLoop"

tap = Tap()


class Run:
    """The program beside the tracer, which writes to a file, as a terminal or a pipe would have to be read."""

    def __init__(self, folder, script, rate, seconds, *more):
        self.program = subprocess.Popen([os.path.join(folder, "sayer"), str(rate), str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.program.stdout.read(1)
        self.output = open(os.path.join(folder, "out"), "w+", encoding="utf-8", errors="replace")
        script = script.replace("PATH", os.path.join(folder, "sayer"))
        self.tracer = subprocess.Popen([STRATA, "trace", *more, "-e", script, "-p", str(self.program.pid)], stdout=self.output, stderr=subprocess.PIPE)
        self.said = self.tracer.stderr.readline()

    def go(self):
        """Has it call; gives the seconds that this took."""
        self.program.stdin.write(b"x")
        self.program.stdin.flush()
        line = self.program.stdout.readline()
        return float(line or 0)

    def end(self):
        self.program.stdin.close()
        self.program.wait(PATIENCE_S)
        _, err = self.tracer.communicate(timeout=PATIENCE_S)
        self.output.seek(0)
        out = self.output.read()
        self.output.close()
        self.program.stdout.close()
        return out, (self.said + err).decode()


def memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(r"MemTotal: +(\d+)", file.read()).group(1)) * 1024


# What an event sends: the script, how many of 1 MiB there must be room for, and the line that each one is.
KINDS = [
    ("printf of two strings", 'printf("%s %s\\n", str(arg0), str(arg1))', 8000, f"{PATH} {NAME}"),
    ("printf, mixed", 'printf("%d %-20s|%s|%x\\n", 7, str(arg1), str(arg0), 255)', 8000, f"7 {NAME:20}|{PATH}|ff"),
    ("printf of variables", '$a = str(arg0); $b = str(arg1); printf("%s %s\\n", $b, $a)', 8000, f"{NAME} {PATH}"),
    ("print of a tuple", "print((str(arg0), 5, str(arg1)))", 8000, f"({PATH}, 5, {NAME})"),
    ("print of a string", "print(str(arg0))", 8000, PATH),
    ("print of a map's value", "@[1] = str(arg1); print(@[1])", 8000, NAME),
    ("join", "join(arg2)", 8000, f"one two words {PATH}"),
    ("bytes", 'printf("%r\\n", buf(arg1, 9))', 8000, NAME[:9]),
    ("bytes of a large buffer", 'printf("%r\\n", buf(arg1, arg3 * 0 + 13))', 8000, NAME),
]


def stopped(folder):
    """With the tracer stopped, all that there is room for is kept. A tenth of what the smallest machine has room for is asked for."""
    for name, what, count, line in KINDS:
        run = Run(folder, f"uprobe:PATH:say {{ {what}; }}", count, 1)
        run.tracer.send_signal(signal.SIGSTOP)
        run.go()
        run.tracer.send_signal(signal.SIGCONT)
        out, err = run.end()
        lines = [l for l in out.split("\n") if l and not l.startswith("@")]
        tap.ok(lines == [line] * count and "lost" not in err, f"{name}: {count} records in the ring while nobody reads, each whole",
               f"{len(lines)} lines, {sum(l != line for l in lines)} others", lines[:2], err)


def ring(folder):
    """It is larger where the machine has memory for it and the script sends more."""
    sizes = {}
    for name, what in (("count", "@ = count()"), ("number", 'printf("%d\\n", pid)'), ("strings", 'printf("%s %s\\n", str(arg0), str(arg1))')):
        run = Run(folder, f'uprobe:PATH:say {{ {what}; }} uprobe:PATH:done {{ system("cat /proc/$PPID/fdinfo/*"); }}', 1, 1, "--unsafe")
        run.go()
        out, _ = run.end()
        sizes[name] = max([int(size) for size in re.findall(r"map_type:\s27\n(?:.*\n)*?max_entries:\s(\d+)", out)] or [0])
    most = min(16 << 20, 1 << (memory() // 1024).bit_length() - 1)
    tap.ok(sizes["count"] < sizes["number"] <= sizes["strings"] == max(most, 1 << 20), "the ring has the size that a script needs",
           sizes, most)


def flood(folder):
    """The other core is busy; each CPU has somebody who wants all of it."""
    script = 'uprobe:PATH:say { printf("%s %s\\n", str(arg0), str(arg1)); }'
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        for rate, seconds in ((200000, 1), (100000, 10)):
            run = Run(folder, script, rate, seconds)
            took = run.go()
            out, err = run.end()
            count = out.count(f"{PATH} {NAME}\n")
            tap.ok(count == rate * seconds and "lost" not in err, f"{rate} events a second for {seconds} s, the machine busy: each is printed",
                   count, err)
            print(f"# they came in {took:.2f} s")
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def contents(folder):
    """Strings and bytes of every length about those where something changes, and what they lie in."""
    texts = ["", "a", "b" * 62, "c" * 63, "d" * 64, "e" * 65, "f" * 199, "g" * 200, "h" * 201, "i" * 1023]
    for text in texts:
        script = (f'config = {{ max_strlen = 200 }} begin {{ $s = "{text}"; @k["{text}", 1] = hist(1); printf("%s|%s|%d\\n", $s, str($s, 80), 3); '
                  'print(($s, ("x", $s), 9)); printf("%r|\\n", buf($s, 70)); print(@k[$s, 1]); clear(@k); }')
        result = subprocess.run([STRATA, "trace", "-q", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        out = result.stdout.decode()
        # The bytes of a string are those of whole words.
        raw = text[:70] + "\\x00" * 70
        lines = [f"{text}|{text[:79]}|3", f"({text}, (x, {text}), 9)"]
        said = out.split("\n")
        tap.ok(said[:2] == lines and len(said) > 3 and raw.startswith(said[2][:-1]) and said[2][:min(len(text), 70)] == text[:70] and said[3] == f"@k[{text}, 1]:",
               f"{len(text)} characters, by themselves, cut, in tuples, as bytes, in a key", out[:600], lines, result.stderr.decode())
    result = subprocess.run([STRATA, "trace", "-q", "-f", "json", "-e", 'begin { printf("%s %s", str("a\\"b", 100), str("c", 100)); print((str("d", 100), 1)); }'],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    data = [json.loads(line)["data"] for line in result.stdout.decode().split("\n") if line and '"data"' in line]
    tap.equal(data[:2], ['a"b c', ["d", 1]], "the same in JSON")
    result = subprocess.run([STRATA, "trace", "-q", "-e", 'begin { printf("100%%|%%%d%%|%s%%\\n", 5, "x"); printf("%%\\n"); printf("[%5d|%-5d|%05d|%+d|%x|%c|%hhd|%p|%.2s|%5.1s]\\n", 42, 42, 42, 42, 255, 65, 257, 16, "abc", "xyz"); '
                             'printf("%d %u %lld\\n", -1, 7, -9223372036854775808); }'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    tap.ok(result.stdout.decode().startswith("100%|%5%|x%\n%\n[   42|42   |00042|+42|ff|A|1|0x10|ab|    x]\n-1 7 -9223372036854775808\n"), "conversions", result)


def soon(folder):
    """Who waits for a line has it at once, and those that follow as well: the reader's rests are short."""
    run = Run(folder, 'uprobe:PATH:say { printf("%d\\n", arg3); }', 5, 1)
    begin = time.monotonic()
    run.go()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and open(run.output.name, encoding="utf-8").read().count("\n") < 5:
        time.sleep(0.01)
    waited = time.monotonic() - begin
    running = run.tracer.poll() is None
    out, err = run.end()
    tap.ok(running and out.startswith("0\n1\n2\n3\n4\n"), "lines are there while the tracing goes on", waited, out, err)


# Writes its own lines to the pipe to which the tracer writes those of its calls.
TALKER = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(void)
{
	double begin = now();
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 100; k++)
			syscall(SYS_getppid);
		if (i % 10 == 0) {
			printf("line %d of the command, in one piece\n", i);
			fflush(stdout);
		}
		while (now() < begin + (i + 1) / 1000.0)
			usleep(100);
	}
	return 0;
}
"""


def pieces(folder):
    """Through a pipe, a line of the command's never comes in the middle of one of ours, nor one of ours in the middle of one of its."""
    talker = os.path.join(folder, "talker")
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", talker], input=TALKER.encode(), check=True)
    scripts = {"dtrace": ["-qn", 'syscall::getppid:entry /pid == $target/ { printf("event of %s in %d\\n", execname, pid); }'],
               "stap": ["-e", 'probe syscall.getppid { if (pid() == target()) printf("event of %s in %d\\n", execname(), pid()) }']}
    for name, script in scripts.items():
        link = os.path.join(folder, name)
        os.symlink(STRATA, link)
        result = subprocess.run([link, *script, "-c", talker], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        lines = [line for line in result.stdout.decode().split("\n") if line]
        events = [line for line in lines if re.fullmatch(r"event of talker in \d+", line)]
        own = [line for line in lines if re.fullmatch(r"line \d+ of the command, in one piece", line)]
        others = [line for line in lines if line not in own and not line.startswith("event of talker in ")]
        tap.ok(len(own) == 100 and len(events) > 20000 and not others and len(events) + len(own) == len(lines),
               "%s: %d lines and 100 of the command, each whole" % (name, len(events)), len(own), others[:5], result.stderr[-300:])


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", os.path.join(folder, "sayer")], input=PROGRAM.encode(), check=True)
        contents(folder)
        ring(folder)
        stopped(folder)
        soon(folder)
        pieces(folder)
        flood(folder)
    tap.done()


main()
