#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""command: what -c starts is held until its tables are there, so its first stack is whole; it is let go at its first signal; a
script in PATH stands for the program that it executes. Needs root and gcc."""
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

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int n) { asm volatile("" ::: "memory"); return n; }
__attribute__((noinline)) int down(int n) { int r = n ? down(n - 1) : leaf(1); asm volatile("" ::: "memory"); return r + 1; }
static void tracer(const char *when) {
	char line[256], *colon;
	FILE *file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "TracerPid:", 10) && (colon = strchr(line, ':')))
			fprintf(stderr, "%s %s\n", when, atoi(colon + 1) ? "held" : "free");
	fclose(file);
}
static void nothing(int number) { (void)number; }
int main(int argc, char **argv) {
	int i, sum = 0;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "signal")) {
			tracer("before");
			signal(SIGUSR1, nothing);
			raise(SIGUSR1);
			tracer("after");
		} else if (!strcmp(argv[i], "die")) {
			raise(SIGUSR2);
		} else if (!strcmp(argv[i], "wait")) {
			fputs("READY\n", stderr);
			pause();
		} else {
			sum += down(atoi(argv[i]));
		}
	}
	return sum ? 7 : 0;
}
"""

tap = Tap()


def trace(program, command, environment=None):
    arguments = [STRATA, "trace", "-q", "-e", program] + (["-c", command] if command else [])
    result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
                            env=dict(os.environ, **(environment or {})))
    return result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"), result.returncode


def depths(out):
    return [int(word) for word in out.split()]


def first_stack(path):
    """Each run is a new process, whose very first instructions call the function: no stack of many may be missing."""
    wrong = []
    for kind, command in (("a program", path), ("one behind env", f"env A=1 {path}"), ("one behind two shells", f"sh -c 'exec sh -c \"exec {path} 10 100\"' --")):
        for _ in range(10):
            out, err, status = trace(f'uprobe:{path}:leaf {{ printf("%d ", len(ustack)); }}', f"{command} 10 100")
            got = depths(out)
            if len(got) != 2 or got[1] - got[0] != 90 or got[0] < 13 or status != 7:
                wrong.append((kind, out, err, status))
    tap.ok(not wrong, "the first stack of 30 commands is whole", wrong)
    out, err, _ = trace(f"uprobe:{path}:main {{ print(ustack(folded)); }}", f"{path} 1")
    tap.ok(re.search(r"^_start \(\w+\);.*main \(\w+\)$", out, re.M) and "incomplete" not in out, "the first function's stack by names", out, err)
    out, err, _ = trace(f'uprobe:{path}:_start,uprobe:{path}:main {{ printf("%s %d\\n", func, len(ustack)); }}', f"{path} 1")
    entry, first = (re.findall(r"^%s (\d+)$" % name, out, re.M) for name in ("_start", "main"))
    tap.ok(entry == ["1"] and len(first) == 1 and int(first[0]) > 1, "also where a probe is at the entry point", out, err)


def signals(path):
    probe = f"uprobe:{path}:leaf {{ @ = max(len(ustack)); }}"
    out, err, _ = trace(probe, f"{path} 1 signal 30")
    tap.ok("before held" in err and "after free" in err, "it is let go at its first signal", err)
    tap.ok(re.search(r"@: (\d+)", out) and int(re.search(r"@: (\d+)", out).group(1)) > 30, "  and traced further", out)
    _, err, status = trace(probe, f"{path} 1 die")
    tap.ok(status == 128 + signal.SIGUSR2, "a signal that ends it does so", status, err)
    for state, more in (("held", "1 wait"), ("let go", "1 signal wait")):
        with subprocess.Popen([STRATA, "trace", "-q", "-e", probe, "-c", f"{path} {more}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while b"READY" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
            tap.ok(b"@: " in out and process.returncode == 128 + signal.SIGTERM, f"a command that is {state} ends with the tracing", out, err, process.returncode)


def shims(folder, path):
    """As pyenv does it: what PATH finds is a script that executes, by way of others, a program of nearly this name."""
    real = os.path.join(folder, "real")
    bin_folder = os.path.join(folder, "shims")
    os.mkdir(real)
    os.mkdir(bin_folder)
    subprocess.run(["cp", path, os.path.join(real, "target3.1")], check=True)
    for name, text in (("target3", f'#!/bin/sh\n[ -n "$(echo 1)" ] && exec {bin_folder}/inner "$@"\n'),
                       ("inner", f'#!/usr/bin/env bash\nfor i in 1 2; do ls / >/dev/null; done\nexec {real}/target3.1 "$@"\n'),
                       ("other", "#!/bin/sh\nexit 0\n"), ("waits", "#!/bin/sh\nwhile :; do sleep 1; done\n")):
        with open(os.path.join(bin_folder, name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(os.path.join(bin_folder, name), 0o755)
    environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    out, err, status = trace('begin { printf("%d ", -1); } uprobe:target3:leaf { printf("%d ", len(ustack)); }', "target3 10 100", environment)
    got = depths(out)
    tap.ok(len(got) == 3 and got[0] == -1 and got[2] - got[1] == 90 and status == 7, "a script stands for the program that it executes", out, err, status)
    out, err, status = trace("uprobe:target3:leaf { @ = count(); }", "target3 10 100", environment)
    tap.ok("@: 2" in out and status == 7, "  without stacks as well", out, err, status)
    for command in (None, "sh -c 'exec target3 1'"):
        out, err, status = trace("uprobe:target3:leaf { @ = count(); }", command, environment)
        tap.ok(status == 1 and f"target3 is {bin_folder}/target3, a script" in err and "HINT" in err, f"without it as the command: {command}", out, err)
    out, err, status = trace("uprobe:other:main { @ = count(); }", "other", environment)
    tap.ok(status == 1 and "a script" in err, "a script that executes no such program", out, err)
    out, err, status = trace("uprobe:waits:main { @ = count(); }", "waits", environment)
    tap.ok(status == 1 and "waits, a script, has not executed a program of this name in 10 s: give" in err and err.count("\n") == 1,
          "a script that never does is not waited for without end", out, err)


def own_library(folder):
    """A program that is no more than a start of its library: the name means both."""
    library = os.path.join(folder, "libstarter1.so.1")
    program = os.path.join(folder, "starter1")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libstarter1.so.1", "-x", "c", "-", "-o", library],
                   input=b"int starter_main(int n) { return n; }", check=True)
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", library, "-Wl,-rpath,$ORIGIN", "-o", program],
                   input=b"int starter_main(int); int main(void) { return starter_main(0); }", check=True)
    out, err, status = trace("uprobe:starter1:starter_main,uprobe:starter1:main { @[func] = len(ustack); }", "starter1",
                             {"PATH": f"{folder}:{os.environ['PATH']}"})
    depth = dict(re.findall(r"@\[(\w+)\]: (\d+)", out))
    tap.ok(status == 0 and int(depth.get("starter_main", 0)) == int(depth.get("main", -9)) + 1, "a program's name means its own library, too", out, err)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "target")
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-x", "c", "-", "-o", path],
                       input=PROGRAM.encode(), check=True)
        first_stack(path)
        signals(path)
        shims(folder, path)
        own_library(folder)
    tap.done()


main()
