#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A function behind INT3s, which compilers put between functions: interrupted at its first instruction, in the kernel, it is
not behind a breakpoint."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

PROGRAM = r"""
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
void touch(char *at);
/* Its first instruction is a page fault. */
asm(".text; .fill 64, 1, 0xcc; .p2align 6, 0xcc; .fill 64, 1, 0xcc; .globl touch; .type touch, @function; touch: .cfi_startproc;"
    "movb $1, (%rdi); ret; .cfi_endproc; .size touch, . - touch");
int main(int argc, char **argv) {
	size_t size = 8 << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);
	madvise(at, size, MADV_NOHUGEPAGE);
	for (; clock() < end; madvise(at, size, MADV_DONTNEED))
		for (size_t i = 0; i < size; i += 4096)
			touch(at + i);
	return argc < 0;
}
"""
SECONDS = 0.7

tap = e2e.Tap()
with e2e.folder() as where:
    program, out, stats = where + "/padded", where + "/out.folded", where + "/stats.json"
    subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", program], input=PROGRAM.encode(), check=True)
    e2e.record("-F", 1999, "-o", out, "--stats", stats, "--", program, SECONDS)
    faults, lost = 0, e2e.load(stats)["lost"]
    for frames, count in e2e.folded(out):
        words = [e2e.native_name(frame) for frame in frames[1:] if not frame.endswith("[k]")]
        faults += count if words[-2:] == ["main", "touch"] and frames[-1].endswith("[k]") else 0
    tap.ok(faults > e2e.due(SECONDS, 1999) / 10, "%d samples in page faults of the first instruction" % faults)
    tap.ok(not lost.get("no-rule"), "none of them begins a byte before", lost)
tap.done()
