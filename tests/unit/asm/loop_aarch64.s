# SPDX-License-Identifier: GPL-2.0-or-later
# As loop_x86_64.s.
	.section .rodata
oparg:	.asciz "bad RAISE_VARARGS oparg"
store:	.asciz "no locals found when storing %R"
	.text
	.globl hot, cold, dead, stranger
	.hidden hot, cold, dead, stranger
	.type hot, @function
hot:
	.cfi_startproc
	str x19, [sp, #-16]!
	.cfi_def_cfa_offset 16
	br x1
	cbnz w0, .Linside
	cbz w1, dead
.Lback:
	ldr x19, [sp], #16
	.cfi_def_cfa_offset 0
	b stranger
	.cfi_endproc
	.size hot, . - hot
	.type cold, @function
cold:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	adrp x1, oparg
.Linside:
	add x1, x1, :lo12:oparg
	adrp x2, store
	nop
	add x2, x2, :lo12:store
	b .Lback
	.cfi_endproc
	.size cold, . - cold
	.type dead, @function
dead:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	bl stranger
	brk #1
	.cfi_endproc
	.size dead, . - dead
	.type stranger, @function
stranger:
	.cfi_startproc
	adrp x1, oparg
	add x1, x1, :lo12:oparg
	br x1
	.cfi_endproc
	.size stranger, . - stranger
