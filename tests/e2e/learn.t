#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Assembly without CFI that is reached by pointer, with and without symbols: rules are learnt when it is met, and the same
program with its CFI has the same stacks."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

SECONDS, HZ = 1.5, 997
# Each function spins, or has its argument spin; the CFI is there with -DCFI only.
ASSEMBLY = r"""
#ifdef CFI
#define C(...) __VA_ARGS__
#else
#define C(...)
#endif
.text
.macro begin name
.p2align 4
\name:
C(.cfi_startproc)
.endm
.macro finish
C(.cfi_endproc)
.endm
begin saves
	push %rbx; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0)
	push %rbp; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0)
	sub $24, %rsp; C(.cfi_adjust_cfa_offset 24)
	mov %rdi, %rbp
	mov %rdi, %rbx
1:	dec %rbp
	test $1, %bpl
	jz 2f
	xor %rbx, %rbp
	xor %rbx, %rbp
2:	jnz 3f
3:	test %rbp, %rbp
	jg 1b
	add $24, %rsp; C(.cfi_adjust_cfa_offset -24)
	pop %rbp; C(.cfi_adjust_cfa_offset -8; .cfi_restore rbp)
	pop %rbx; C(.cfi_adjust_cfa_offset -8; .cfi_restore rbx)
	ret
finish
begin aligns
	mov %rsp, %r10; C(.cfi_def_cfa_register r10)
	sub $96, %rsp
	and $-64, %rsp
	mov %r10, 80(%rsp); C(.cfi_escape 0x0f, 6, 0x77, 0xd0, 0, 0x06, 0x23, 8)
	xor %r10d, %r10d
1:	dec %rdi
	mov %rdi, (%rsp)
	jg 1b
	mov 80(%rsp), %rsp; C(.cfi_def_cfa rsp, 8)
	ret
finish
begin calls
	push %rbp; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0)
	push %r12; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset r12, 0)
	sub $40, %rsp; C(.cfi_adjust_cfa_offset 40)
	xor %ebp, %ebp
	mov %rdi, %r12
	call *%rsi
	mov %r12, %rax
	add $40, %rsp; C(.cfi_adjust_cfa_offset -40)
	pop %r12; C(.cfi_adjust_cfa_offset -8; .cfi_restore r12)
	pop %rbp; C(.cfi_adjust_cfa_offset -8; .cfi_restore rbp)
	ret
finish
begin has_fp
	push %rbp; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0)
	mov %rsp, %rbp; C(.cfi_def_cfa_register rbp)
	and $-32, %rsp
	sub $4096, %rsp
1:	dec %rdi
	jg 1b
	leave; C(.cfi_def_cfa rsp, 8; .cfi_restore rbp)
	ret
finish
begin vector
	push %r13; C(.cfi_adjust_cfa_offset 8; .cfi_rel_offset r13, 0)
	xor %r13d, %r13d
	cmp $0, %rdi
	je 2f
1:	dec %rdi
	jg 1b
	jmp 3f
2:	.byte 0x62, 0xf5, 0x7c, 0x48, 0x58, 0x44, 0x24, 0x01 /* vaddph 64(%rsp), %zmm0, %zmm0: is not run */
	.byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0                   /* tilezero */
	.byte 0xc5, 0xfb, 0x92, 0xce                         /* kmovd %esi, %k1 */
3:	pop %r13; C(.cfi_adjust_cfa_offset -8; .cfi_restore r13)
	ret
finish
begin helper
1:	dec %rdi
	jg 1b
	ret
finish
begin keeps /* the old SP, in a register that helper leaves alone; the second call returns to where a function could begin */
	mov %rsp, %rcx; C(.cfi_def_cfa_register rcx)
	and $-64, %rsp
	sub $128, %rsp
	mov %rdi, %rax
	call helper
	mov %rax, %rdi
	.p2align 4
	.skip 11, 0x90
	call helper
	mov %rcx, %rsp; C(.cfi_def_cfa rsp, 8)
	ret
finish
.section .rodata
.globl where
where: .long saves - where, aligns - where, calls - where, has_fp - where, vector - where, keeps - where
.section .note.GNU-stack,"",@progbits
"""
PROGRAM = r"""
#include <time.h>
extern const int where[];
volatile long sum;
__attribute__((noinline)) void spin_in_c(long n) { while (n-- > 0) sum += n; }
#define CALLER(n) __attribute__((noinline)) void caller_##n(long (*f)(long, void (*)(long)), long times) { sum += f(times, spin_in_c); sum++; }
CALLER(0) CALLER(1) CALLER(2) CALLER(3) CALLER(4) CALLER(5)
int main(void) {
	void (*const callers[])(long (*)(long, void (*)(long)), long) = {caller_0, caller_1, caller_2, caller_3, caller_4, caller_5};
	while (clock() < SECONDS * CLOCKS_PER_SEC)
		for (int i = 0; i < 6; i++)
			callers[i]((void *)((const char *)where + where[i]), 200000);
	return 0; }
"""
NAMES = ("saves", "aligns", "calls", "has_fp", "vector", "keeps")
CALLED = {2: "spin_in_c", 5: "helper"}  # by which function


def build(where, name, *flags):
    path = where + "/" + name
    with open(where + "/code.S", "w") as file:
        file.write(ASSEMBLY)
    with open(where + "/main.c", "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-fno-ipa-icf", "-DSECONDS=%s" % SECONDS, "-o", path, where + "/main.c", where + "/code.S"]
                   + list(flags), check=True)
    return path


def check(tap, where, path, words, named):
    out, stats = where + "/l.folded", where + "/l.json"
    done = e2e.record("-F", HZ, "-o", out, "--stats", stats, "--", path)
    tap.ok(done.returncode == 0, words + ": recorded", done.stderr)
    figures = e2e.load(stats)
    tap.ok(figures["complete"] >= 0.99 * figures["samples"], words + ": %d of %d complete" % (figures["complete"], figures["samples"]),
           str(figures["lost"]))
    tap.ok(figures["late_samples"] <= 0.2 * figures["samples"], words + ": %d late samples" % figures["late_samples"])
    odd, seen = [], {}
    for stack, count in e2e.folded(out):
        frames = [frame.split(" ")[0] for frame in stack if not frame.endswith("[k]")]
        for i in range(len(NAMES)):
            if "caller_%d" % i not in frames:
                continue
            at = frames.index("caller_%d" % i)
            seen[i] = seen.get(i, 0) + count
            below = frames[at + 1:]
            most = 2 if i in CALLED else 1
            if (frames[at - 1] != "main" or len(below) > most or (named and below and below[0] != NAMES[i])
                    or (len(below) == 2 and (named or i == 2) and below[1] != CALLED[i]) or frames[at - 2][:2] != "__"):
                odd.append((stack, count))
    tap.equal(odd[:3], [], words + ": no stack that the program did not have")
    tap.ok(all(seen.get(i, 0) > 10 for i in range(len(NAMES))), words + ": each was met", str(seen))


tap = e2e.Tap()
with e2e.folder() as where:
    os.environ["XDG_CACHE_HOME"] = where
    check(tap, where, build(where, "with_cfi", "-DCFI"), "with CFI", True)
    check(tap, where, build(where, "plain"), "without CFI", True)
    check(tap, where, build(where, "again"), "and in a second run", True)
    path = build(where, "stripped")
    subprocess.run(["objcopy", "--wildcard"] + ["--strip-symbol=" + name for name in NAMES] + ["--strip-symbol=helper", path], check=True)
    check(tap, where, path, "without their symbols", False)
tap.done()
