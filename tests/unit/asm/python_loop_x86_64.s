# SPDX-License-Identifier: GPL-2.0-or-later
# A loop as CPython 3.13's, with a table of 256 instructions' code, for test_python_probes.c. Where it has the instruction
# and the frame is said by KIND:
#   0  in registers
#   1  the instruction in a local variable (gcc -O3, with which 3.13 was built for musl)
#   2  both in local variables
#   3  in registers; one instruction's code uses a copy that is made before each jump, and the version of what is instrumented
#      is read by a call (gcc -Os)
#   4  the same, but one way to the jump makes no copy
#   5  as 3, but the function reads another word than the one at its argument
#   6  as 0, but one instruction's code has the frame elsewhere
#   7  as 0, but one instruction's code writes a local variable to another struct, as 3.12's INTERPRETER_EXIT
#   8  as 0, but the code of the instructions is functions (from `functions` on) that the loop's calls, as of 3.14
#   9  as 8, but one of them gives a level of recursion back
#   10 as 8, but one of them goes on in a function that is not known
#   11 as 0, free-threaded: words are compared in registers, and RESUME asks for the thread's copy of the bytecode
#   12 as 11, but it does not ask
#   13 as 8, but RESUME's code has lost the thread state where the kernel could emulate an instruction
#   14 as 1, but local variables are found by a frame pointer
#   15 as 14, but one is found by the stack pointer, too
	.set IS_FRAMED, KIND == 14 || KIND == 15
	.set IS_COPIED, KIND == 3 || KIND == 4 || KIND == 5
	.set IS_FUNCTIONS, KIND >= 8 && KIND <= 10 || KIND == 13
	.text

	.macro store
	.if IS_FRAMED
	mov -64(%rbp), %rax
	mov %rax, 0x38(%r13)
	.elseif KIND == 1
	mov (%rsp), %rax
	mov %rax, 0x38(%r13)
	.elseif KIND == 2
	mov 16(%rsp), %rcx
	mov (%rsp), %rax
	mov %rax, 0x38(%rcx)
	.else
	mov %rbp, 0x38(%r13)
	.endif
	.endm

	.macro take_frame
	.if KIND == 2
	mov 16(%rsp), %rcx
	.else
	mov %r13, %rcx
	.endif
	.endm

	.macro take_tstate to
	.if IS_FUNCTIONS
	mov %r14, %\to
	.elseif IS_FRAMED
	mov -72(%rbp), %\to
	.else
	mov 8(%rsp), %\to
	.endif
	.endm

	.macro next
	.if IS_FRAMED
	addq $2, -64(%rbp)
	mov -64(%rbp), %rdx
	movzbl (%rdx), %eax
	.elseif KIND == 1 || KIND == 2
	addq $2, (%rsp)
	mov (%rsp), %rdx
	movzbl (%rdx), %eax
	.else
	add $2, %rbp
	movzbl (%rbp), %eax
	.endif
	lea opcode_targets(%rip), %rdx
	mov (%rdx, %rax, 8), %rax
	.if IS_COPIED
	jmp dispatch
	.else
	jmp *%rax
	.endif
	.endm

	.macro return_from
	store
	take_frame
	take_tstate rdi
	mov 8(%rcx), %r12
	addl $1, 44(%rdi)
	mov %r12, 72(%rdi)
	call free_frame
	.if KIND == 2
	mov %r12, 16(%rsp)
	.else
	mov %r12, %r13
	.endif
	next
	.endm

	.macro compare_versions otherwise
	take_tstate rax
	.if KIND == 13
	mov 24(%r14), %r14
	mov %r14, %rax
	.elseif IS_COPIED
	lea 24(%rax), %rdi
	call read_word
	.else
	mov 24(%rax), %rax
	.endif
	take_frame
	mov (%rcx), %rdx
	.if KIND == 11 || KIND == 12
	mov 168(%rdx), %rdx
	cmp %rax, %rdx
	.else
	cmp %rax, 168(%rdx)
	.endif
	jne \otherwise
	.endm

	.globl _PyEval_EvalFrameDefault
	.type _PyEval_EvalFrameDefault, %function
_PyEval_EvalFrameDefault:
	push %rbp
	.if IS_FRAMED
	mov %rsp, %rbp
	.endif
	push %r12
	push %r13
	push %r14
	push %rbx
	sub $32, %rsp
	.if IS_FRAMED
	mov %rdi, -72(%rbp)
	.else
	mov %rdi, 8(%rsp)
	.endif
	.if KIND == 2
	mov %rsi, 16(%rsp)
	.else
	mov %rsi, %r13
	.endif
	.if IS_FUNCTIONS
	mov %rdi, %r14
	call start_frame
	add $32, %rsp
	pop %rbx
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	ret
	.size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault
	.endif

	.globl functions
	.type functions, %function
functions:
start_frame:
	test %edx, %edx
	jne exit_unwind
	.if IS_FRAMED
	mov 0x38(%rsi), %rax
	mov %rax, -64(%rbp)
	.else
	mov 0x38(%rsi), %rbp
	.endif
	.if KIND == 1 || KIND == 2
	mov %rbp, (%rsp)
	.endif
	next
dispatch:
	.ifeq IS_FRAMED
	mov %rbp, %r14
	.endif
jump:
	jmp *%rax

	.set i, 0
	.rept 80
	.altmacro
	.macro plain n
op_\n:
	store
	take_frame
	lea 0x48(%rcx), %rdi
	call free_frame
	next
	.endm
	plain %i
	.set i, i + 1
	.purgem plain
	.endr

op_copy:
	.if KIND == 15
	mov %rbx, 8(%rsp)
	.endif
	.ifeq IS_FRAMED
	add $2, %rbp
	.endif
	.if IS_COPIED
	mov %r14, 0x38(%r13)
	.elseif KIND == 6
	mov %rbp, 0x38(%r12)
	.elseif KIND == 7
	mov 8(%rsp), %rax
	mov 24(%rsp), %rcx
	mov %rcx, 0x38(%rax)
	.elseif KIND == 9
	addl $1, 44(%r14)
	mov 8(%r13), %r12
	.elseif KIND == 10
	je unknown
	.endif
	call free_frame
	.if KIND == 4
	movzbl (%rbp), %eax
	lea opcode_targets(%rip), %rdx
	mov (%rdx, %rax, 8), %rax
	jmp jump
	.else
	next
	.endif

op_resume:
	store
	.if KIND == 11
	mov 8(%rsp), %rax
	mov 0x3ca0(%rax), %eax
	cmp %eax, 72(%r13)
	jne slow
	.endif
	compare_versions slow
	next
op_resume_check:
	store
	compare_versions slow
	next
op_instrumented_resume:
	store
	compare_versions slow
	next
slow:
	call free_frame
	next
op_return_value:
	return_from
op_return_const:
	return_from
op_yield_value:
	return_from
op_instrumented_return_value:
	return_from
op_instrumented_return_const:
	return_from
op_instrumented_yield_value:
	return_from
op_unknown:
	ud2

exit_unwind:
	take_tstate rdi
	addl $1, 44(%rdi)
	take_frame
	mov 8(%rcx), %r12
	mov %r12, 72(%rdi)
	call free_frame
	.ifeq IS_FUNCTIONS
	add $32, %rsp
	pop %rbx
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	.endif
	ret
	.ifeq IS_FUNCTIONS
	.size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault
	.endif
	.size functions, . - functions

read_word:
	.if KIND == 5
	mov 8(%rdi), %rax
	.else
	mov (%rdi), %rax
	.endif
	ret
free_frame:
	ret
unknown:
	ret

	.data
	.balign 8
opcode_targets:
	.macro target n
	.if \n == 36
	.quad op_return_value
	.elseif \n == 103
	.quad op_return_const
	.elseif \n == 118
	.quad op_yield_value
	.elseif \n == 149
	.quad op_resume
	.elseif \n == 207
	.quad op_resume_check
	.elseif \n == 236
	.quad op_instrumented_resume
	.elseif \n == 239
	.quad op_instrumented_return_value
	.elseif \n == 240
	.quad op_instrumented_return_const
	.elseif \n == 241
	.quad op_instrumented_yield_value
	.elseif \n == 79
	.quad op_copy
	.elseif \n < 79
	.quad op_\n
	.else
	.quad op_unknown
	.endif
	.endm
	.set i, 0
	.rept 256
	target %i
	.set i, i + 1
	.endr
