#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""code.t: rules derived from machine code against .eh_frame, in files that have one: it is ignored, all of the text is analysed,
and at each instruction that then has a rule, what the FDE says must follow from what was derived (check_code.c).

The share of the text that must have a rule is what keeps the comparison from being empty. Stripped libraries have less: what
nothing that is known calls or mentions is not found."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
LIBRARIES = "/lib/x86_64-linux-gnu"
# File: share of its text, per cent, that has a rule at least; instructions where the FDE's own rule is not to be followed.
FILES = {
    LIBRARIES + "/libc.so.6": 70,
    LIBRARIES + "/libstdc++.so.6": 75,
    LIBRARIES + "/libcrypto.so.3": 65,
    LIBRARIES + "/libpython3.11.so.1.0": 70,
    "/usr/bin/python3.11": 70,
    LIBRARIES + "/libz.so.1": 60,
}
PROGRAM = r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <alloca.h>
static jmp_buf there;
__attribute__((noinline)) static void leave(int n) { if (n) longjmp(there, n); abort(); }
__attribute__((noinline)) static int pick(int n) {
	switch (n) { case 0: return puts("a"); case 1: return puts("b") + 1; case 2: return rand(); case 3: return n * 3;
	case 4: return puts("c"); case 5: exit(3); case 6: return puts("e") * 2; default: return 0; } }
__attribute__((noinline)) static int grow(int n) { char *p = alloca(n); memset(p, n, n); return p[n / 2] + pick(n); }
__attribute__((noinline)) static int large(int n) { char p[90000]; memset(p, n, sizeof(p)); return p[n] + grow(n); }
__attribute__((noinline)) static int aligned(int n) { _Alignas(64) char p[200]; memset(p, n, sizeof(p)); return p[n] + large(n); }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
	int v[4] = {argc, 2, 1, 0};
	qsort(v, 4, sizeof(*v), compare);
	if (setjmp(there)) return 1;
	if (argc > 2) leave(argc);
	return aligned(argc) + v[0]; }
"""


def check(tap, name, path, share):
    done = subprocess.run([f"{BUILD}/tests/elf/check_code", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    words = lines[-1].split() if lines else []
    if not tap.ok(words[:1] == ["differences"], f"{name}: analysed", done.stderr):
        return
    found = dict(zip(words[::2], map(float, words[1::2])))
    tap.ok(found["differences"] == 0 and done.returncode == 0,
           "%s: no difference in %d instructions" % (name, found["instructions"]), *lines[:10])
    tap.ok(found["covered"] >= share, "%s: %.1f %% of its text have rules, %d functions" % (name, found["covered"], found["functions"]))
    # What cannot be compared must be the exception: an FDE's CFA that the analysis has no value for, or FDEs at odds with their code.
    odd = found["unchecked"] + found["excused"] + found["silent"]
    tap.ok(odd <= 0.005 * found["instructions"] + 40, "%s: all but %d compared; %d FDEs contradict their own code"
           % (name, odd, found["unsound"]))


def main():
    tap = Tap()
    for path, share in FILES.items():
        if os.path.exists(path):
            check(tap, os.path.basename(path), path, share)
        else:
            print(f"# {path} is not installed")
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "program.c")
        source.write_text(PROGRAM)
        for compiler, flags in (("gcc", ["-O0"]), ("gcc", ["-O2"]), ("gcc", ["-O2", "-s"]), ("gcc", ["-Os", "-no-pie", "-fno-pie"]),
                                ("gcc", ["-O3", "-fcf-protection", "-fstack-clash-protection"]), ("clang", ["-O2"]), ("clang", ["-O0"])):
            name = " ".join([compiler] + flags)
            program = str(source.with_name(name.replace(" ", "")))
            subprocess.run([compiler, *flags, "-fasynchronous-unwind-tables", "-w", "-o", program, source], check=True)
            check(tap, name, program, 50)
    tap.done()


main()
