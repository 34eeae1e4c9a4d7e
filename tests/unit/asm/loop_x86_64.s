# SPDX-License-Identifier: GPL-2.0-or-later
# A loop without its name: its messages are in the cold part. `hot`, `cold` and `dead` are parts of it, `stranger` is none.
	.section .rodata
oparg:	.asciz "bad RAISE_VARARGS oparg"
store:	.asciz "no locals found when storing %R"
	.text
	.globl hot, cold, dead, stranger
	.hidden hot, cold, dead, stranger
	.type hot, @function
hot:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	jmp *(%rdi)
	test %eax, %eax
	jne cold
	js dead
.Lback:
	pop %rbx
	.cfi_def_cfa_offset 8
	jmp stranger
	.cfi_endproc
	.size hot, . - hot
	.type cold, @function
cold:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	lea oparg(%rip), %rsi
	lea store(%rip), %rsi
	jmp .Lback
	.cfi_endproc
	.size cold, . - cold
# Never comes back, but has the loop's frame.
	.type dead, @function
dead:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	call stranger
	ud2
	.cfi_endproc
	.size dead, . - dead
# A function of its own with one of the messages, called at the loop's end.
	.type stranger, @function
stranger:
	.cfi_startproc
	lea oparg(%rip), %rsi
	jmp *(%rsi)
	.cfi_endproc
	.size stranger, . - stranger
