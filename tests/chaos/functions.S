/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FUNCTIONS functions named PREFIX0, PREFIX1, ... with 15 unwind rows each: every push has one. Each takes the address of a
 * list of functions, and calls the first with what is behind it. How large a frame is depends on SEED, so that rows of
 * another file lead astray. Every STEPth can be found by dlsym().
 */
	.altmacro

	.macro function prefix, n
	.if n % STEP == 0
	.globl prefix&n
	.endif
	.type prefix&n, @function
	.balign 16
prefix&n:
	.cfi_startproc
	.irp register, rbx, rbp, r12, r13, r14, r15
	push %\register
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \register, 0
	.endr
	sub $(8 + 16 * ((n * 7 + SEED) % 29)), %rsp
	.cfi_adjust_cfa_offset 8 + 16 * ((n * 7 + SEED) % 29)
	mov (%rdi), %rax
	add $8, %rdi
	call *%rax
	add $(8 + 16 * ((n * 7 + SEED) % 29)), %rsp
	.cfi_adjust_cfa_offset -(8 + 16 * ((n * 7 + SEED) % 29))
	.irp register, r15, r14, r13, r12, rbp, rbx
	pop %\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore \register
	.endr
	ret
	.cfi_endproc
	.size prefix&n, . - prefix&n
	.endm

	.text
	.set number, 0
	.rept FUNCTIONS
	function PREFIX, %number
	.set number, number + 1
	.endr
	.section .note.GNU-stack, "", @progbits
