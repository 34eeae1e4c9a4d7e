#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that a program makes in its memory, without frame pointers: rules are learnt when it is met, or are published by GDB's
JIT interface; it may be replaced at its address, and what is published may lie. The program knows its stacks."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ, TURN = 1, 1994, 0.5  # TURN: of its CPU time code stays so long
# Linked to run at the address it is copied to. `hidden` gives back its stack by a register, where no way out can be seen:
# only its CFI tells. All change the frame pointer.
ASSEMBLY = r"""
.text
.macro begin name
.p2align 4
.globl \name
.type \name, @function
\name:
.cfi_startproc
.endm
.macro finish name
.cfi_endproc
.size \name, . - \name
.endm
begin jit_spins
	push %rbp; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0
	sub $ROOM, %rsp; .cfi_adjust_cfa_offset ROOM
	mov %rdi, %rbp
1:	dec %rbp
	jg 1b
	add $ROOM, %rsp; .cfi_adjust_cfa_offset -ROOM
	pop %rbp; .cfi_adjust_cfa_offset -8; .cfi_restore rbp
	ret
finish jit_spins
begin jit_calls
	push %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0
	push %rbp; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0
	sub $ROOM + 8, %rsp; .cfi_adjust_cfa_offset ROOM + 8
	xor %ebp, %ebp
	mov %rdi, %rbx
	call *%rsi
	mov %rbx, %rax
	add $ROOM + 8, %rsp; .cfi_adjust_cfa_offset -ROOM - 8
	pop %rbp; .cfi_adjust_cfa_offset -8; .cfi_restore rbp
	pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore rbx
	ret
finish jit_calls
#ifdef HIDDEN
begin jit_hidden
	push %rbp; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0
	sub $40, %rsp; .cfi_adjust_cfa_offset 40
	mov %rdi, %rbp
1:	dec %rbp
	jg 1b
	mov 40(%rsp), %rbp; .cfi_restore rbp
	lea 48(%rsp), %rsp; .cfi_adjust_cfa_offset -48
	pop %r11; .cfi_adjust_cfa_offset -8; .cfi_register rip, r11
	jmp *%r11
finish jit_hidden
#endif
.section .note.GNU-stack,"",@progbits
"""
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* GDB's manual, "JIT Compilation Interface", Registering Code. */
struct jit_code_entry { struct jit_code_entry *next, *prev; const char *address; uint64_t size; };
struct { uint32_t version, action; struct jit_code_entry *relevant, *first; } __jit_debug_descriptor = {1, 0, 0, 0};

volatile long sum;
__attribute__((noinline)) void spin_in_c(long n) { while (n-- > 0) sum += n; }
typedef long code(long, void (*)(long));
#define CALLER(n) __attribute__((noinline)) void caller_##n(code *f, long times) { sum += f(times, spin_in_c); sum++; }
CALLER(0) CALLER(1) CALLER(2) CALLER(3)
static void (*const callers[])(code *, long) = {caller_0, caller_1, caller_2, caller_3};

static char *load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = malloc(1 << 20);
	*size = file ? fread(bytes, 1, 1 << 20, file) : 0;
	if (!*size) exit(2);
	fclose(file);
	return bytes;
}

/* What is left of it below: frames in which nothing was written are full of zeros, as at the end of a coroutine's stack. */
__attribute__((noinline)) static void clear_stack(void)
{
	volatile char below[8192];
	for (size_t i = 0; i < sizeof(below); i++) below[i] = 0;
}

static void lie(void)
{
	static struct jit_code_entry lies[64];
	static char elf[4096] = "\177ELF\2\1\1";
	for (int i = 0; i < 64; i++)
		lies[i] = (struct jit_code_entry){&lies[(i + 1) % 64], 0, i & 1 ? elf : (char *)(uintptr_t)(i << 20),
						  i % 3 ? sizeof(elf) : 1ull << 63};
	elf[18] = 62; elf[40] = 64; elf[58] = 64; elf[60] = 255; elf[62] = 1;
	memset(elf + 64, 0xff, 1024);
	__jit_debug_descriptor.first = lies;
}

/* jit MODE SECONDS ADDRESS (TEXT OBJECT OFFSET...)... */
int main(int argc, char **argv)
{
	char *at = (char *)strtoul(argv[3], 0, 0), *texts[2], *objects[2];
	size_t sizes[2], object_sizes[2], count = 0;
	long offsets[2][2];
	struct jit_code_entry entry = {};

	for (int i = 4; i + 3 < argc && count < 2; i += 4, count++) {
		texts[count] = load(argv[i], &sizes[count]);
		objects[count] = load(argv[i + 1], &object_sizes[count]);
		offsets[count][0] = strtol(argv[i + 2], 0, 0);
		offsets[count][1] = strtol(argv[i + 3], 0, 0);
	}
	if (mmap(at, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return 3;
	for (long turn = 0, last = -1; clock() < atof(argv[2]) * CLOCKS_PER_SEC; turn++) {
		long now = count > 1 ? clock() / (CLOCKS_PER_SEC / 2) % 2 : 0;
		if (now != last) {
			memcpy(at, texts[now], sizes[now]);
			last = now;
			if (strstr(argv[1], "published")) {
				entry = (struct jit_code_entry){0, 0, objects[now], object_sizes[now]};
				__jit_debug_descriptor.first = &entry;
			} else if (strstr(argv[1], "lies")) {
				lie();
			}
		}
		for (int i = 0; i < 2; i++) {
			if (strstr(argv[1], "zeros"))
				clear_stack();
			callers[2 * now + i]((code *)(at + offsets[now][i]), 200000);
		}
	}
	return 0;
}
"""
ADDRESS = 0x200000000


def assemble(where, name, *flags):
    """Code as it is copied, and the object that is published; the offsets of its functions."""
    source, base = where + "/code.S", where + "/" + name
    with open(source, "w") as file:
        file.write(ASSEMBLY)
    subprocess.run(["gcc", "-c", "-o", base + ".o", source] + list(flags), check=True)
    subprocess.run(["ld", "-Ttext=%#x" % ADDRESS, "-e", "0", "-o", base + ".elf", base + ".o"], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", base + ".elf", base + ".text"], check=True)
    table = subprocess.check_output(["nm", base + ".elf"]).decode().split("\n")
    return base, {line.split()[2]: int(line.split()[0], 16) - ADDRESS for line in table if " T jit_" in line}


def command(where, mode, seconds, codes):
    words = [where + "/jit", mode, str(seconds), hex(ADDRESS)]
    for (base, offsets), functions in codes:
        words += [base + ".text", base + ".elf"] + [str(offsets[name]) for name in functions]
    return words


def check(tap, where, words, mode, codes, names, least=0.97):
    """codes: for each (base, offsets) and the two functions that its callers run; names: is published what they are called?"""
    out, stats = where + "/j.folded", where + "/j.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", *command(where, mode, SECONDS, codes))
    tap.ok(done.returncode == 0, words + ": recorded", done.stderr)
    figures = e2e.load(stats)
    tap.ok(figures["complete"] >= least * figures["samples"], words + ": %d of %d complete" % (figures["complete"], figures["samples"]),
           str(figures["lost"]))
    odd, seen = judge(out, codes, names)
    tap.equal(odd[:3], [], words + ": no stack that the program did not have")
    tap.ok(all(seen.get(i, 0) > 10 for i in range(2 * len(codes))), words + ": each was met", str(seen))


def judge(out, codes, names):
    """Stacks that the program did not have; how often each caller was met."""
    odd, seen = [], {}
    for stack, count in e2e.folded(out):
        frames = [frame.split(" (")[0] for frame in stack if not frame.endswith("[k]")]
        if any(frame.startswith("[incomplete") for frame in frames):
            continue
        callers = [frame for frame in frames if frame.startswith("caller_")]
        if not callers:
            if any(frame.startswith(("[unknown", "jit_", "spin_in_c")) for frame in frames):
                odd.append((stack, count))
            continue
        index = int(callers[0][7:])
        seen[index] = seen.get(index, 0) + count
        at, function = frames.index(callers[0]), codes[index // 2][1][index % 2]
        below = frames[at + 1:]
        if (len(callers) > 1 or frames[at - 1] != "main" or not frames[at - 2].startswith("__")
                or len(below) > (2 if function == "jit_calls" else 1)
                or (below and names and below[0] != function)
                or (below and not names and not below[0].startswith("[unknown"))
                or (len(below) == 2 and below[1] != "spin_in_c")):
            odd.append((stack, count))
    return odd, seen


def check_stopped(tap, where, words, codes):
    """strata is stopped while code is replaced. By the rules of the small code, the stack ends in the large one's frames: by a zero."""
    out = where + "/j.folded"
    with subprocess.Popen(command(where, "zeros", 10 * e2e.PATIENCE_S, codes)) as target:
        def stop(strata):
            for _ in range(4):
                e2e.let_use(target.pid, 0.7 * TURN)
                strata.send_signal(signal.SIGSTOP)
                e2e.let_use(target.pid, 1.1 * TURN)
                strata.send_signal(signal.SIGCONT)
        done = e2e.record_while(stop, "-F", HZ, "-o", out, "-p", target.pid)
        target.kill()
    tap.ok(done.returncode == 0, words + ": recorded", done.stderr)
    odd, seen = judge(out, codes, False)
    tap.equal(odd[:3], [], words + ": no stack that the program did not have")
    tap.ok(sum(seen.values()) > 100, words + ": its stacks were met", str(seen))


tap = e2e.Tap()
with e2e.folder() as where:
    os.environ["XDG_CACHE_HOME"] = where
    with open(where + "/main.c", "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-fno-ipa-icf", "-rdynamic", "-o", where + "/jit", where + "/main.c"], check=True)
    small = assemble(where, "small", "-DROOM=24", "-DHIDDEN"), ("jit_spins", "jit_calls")
    large = assemble(where, "large", "-DROOM=0x418"), ("jit_spins", "jit_calls")
    hidden = small[0], ("jit_hidden", "jit_calls")
    check(tap, where, "nothing published", "plain", [small], False)
    check(tap, where, "published", "published", [hidden], True)
    check(tap, where, "lies published", "lies", [small], False)
    check(tap, where, "replaced", "plain", [small, large], False, 0.9)
    check_stopped(tap, where, "replaced unseen", [small, large])
    check(tap, where, "replaced and published", "published", [small, large], True, 0.9)
tap.done()
