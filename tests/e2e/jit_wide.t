#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated code whose program publishes one unwind rule for all of a large buffer, as QEMU does: the whole buffer costs one window
of rules, however much of it runs. The program knows its stacks."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 2, 997
PIECES = 700  # of 1 MiB: more than a user may have tables for, were each piece a window of its own
# The entry makes the frame, a loop in one of the pieces runs in it and ends in `leave`, which removes it.
ASSEMBLY = r"""
.data
.globl enter, leave, loop, enter_end, loop_end
enter:	push %rbp
	push %rbx
	sub $0x428, %rsp
	mov %rdi, %rbx
	jmp *%rsi
	.p2align 6
leave:	add $0x428, %rsp
	pop %rbx
	pop %rbp
	ret
enter_end:
loop:	xor %ebp, %ebp
1:	dec %rbx
	jg 1b
	jmp *%rdx
loop_end:
.section .note.GNU-stack,"",@progbits
"""
# What is published: a section that has no bytes, and an FDE for all of it.
PUBLISHED = r"""
.section .jit, "ax", @nobits
.cfi_startproc
.cfi_def_cfa_offset 0x440
.cfi_offset rbp, -16
.cfi_offset rbx, -24
.skip PIECES << 20
.cfi_endproc
"""
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* GDB's manual, "JIT Compilation Interface", Registering Code. */
struct jit_code_entry { struct jit_code_entry *next, *prev; const char *address; uint64_t size; };
struct { uint32_t version, action; struct jit_code_entry *relevant, *first; } __jit_debug_descriptor = {1, 0, 0, 0};
extern const char enter[], leave[], enter_end[], loop[], loop_end[];
typedef void code(long, void *, void *);
static volatile long sum;

__attribute__((noinline)) void caller(char *at, int piece, long times)
{
	((code *)at)(times, at + ((long)piece << 20) + 4096, at + (leave - enter));
	sum++;
}

int main(int argc, char **argv)
{
	char *at = (char *)ADDRESS, *object = malloc(1 << 20);
	FILE *file = fopen(argv[2], "rb");
	struct jit_code_entry entry = {0, 0, object, fread(object, 1, 1 << 20, file)};

	if (mmap(at, (size_t)PIECES << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != at)
		return 3;
	memcpy(at, enter, enter_end - enter);
	for (int i = 0; i < PIECES; i++)
		memcpy(at + ((long)i << 20) + 4096, loop, loop_end - loop);
	__jit_debug_descriptor.first = &entry;
	for (int i = 0; clock() < atoi(argv[1]) * CLOCKS_PER_SEC; i = (i + 1) % PIECES)
		caller(at, i, 2000000);
	return 0;
}
"""
ADDRESS = 0x200000000


def build(where):
    flags = ["-DPIECES=%d" % PIECES, "-DADDRESS=%#xul" % ADDRESS]
    for name, text in (("code.S", ASSEMBLY), ("published.S", PUBLISHED), ("main.c", PROGRAM)):
        with open(where + "/" + name, "w") as file:
            file.write(text)
    subprocess.run(["gcc", "-c", "-o", where + "/published.o", where + "/published.S"] + flags, check=True)
    subprocess.run(["ld", "--section-start=.jit=%#x" % ADDRESS,
                    "--section-start=.eh_frame=%#x" % (ADDRESS + (PIECES << 20)), "-e", "0", "-o", where + "/published", where + "/published.o"], check=True)
    subprocess.run(["gcc", "-O2", "-rdynamic", "-o", where + "/wide", where + "/main.c", where + "/code.S"] + flags, check=True)
    return [where + "/wide", str(SECONDS), where + "/published"]


tap = e2e.Tap()
with e2e.folder() as where:
    os.environ["XDG_CACHE_HOME"] = where
    out, stats = where + "/w.folded", where + "/w.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", *build(where))
    tap.equal(done.returncode, 0, "recorded")
    figures = e2e.load(stats)
    tap.ok(figures["complete"] >= 0.97 * figures["samples"], "%d of %d samples are complete" % (figures["complete"], figures["samples"]),
           figures["lost"], figures["remarks"])
    tap.ok(figures["late_samples"] <= 0.1 * figures["samples"], "a piece needs no sample of its own: %d late" % figures["late_samples"])
    seen, odd = 0, []
    for stack, count in e2e.folded(out):
        frames = [frame.split(" (")[0] for frame in stack if not frame.endswith("[k]")]
        if "caller" in frames and not any(frame.startswith("[incomplete") for frame in frames):
            seen += count
            if frames[-3:-1] != ["main", "caller"] and frames[-2:] != ["main", "caller"]:
                odd.append(stack)
    tap.equal(odd[:3], [], "no stack that the program did not have")
    tap.ok(seen > 0.5 * figures["samples"], "its stacks were met: %d" % seen)
tap.done()
