# Each case is a function; the comment after its name is what the key decoder must say: "key WHERE" for what reaches
# pthread_getspecific(), "returns WHAT" for what is returned, "nothing" for what must be refused.
# [..] is a load, tp the thread pointer, slot a word that the dynamic linker fills, index and desc what
# __tls_get_addr() and a TLS descriptor give.
	.include "case.inc"

	.data
	.globl _PyRuntime
	.type _PyRuntime, @object
_PyRuntime:
	.zero 4096
	.size _PyRuntime, 4096
	.hidden hidden_runtime
	.globl hidden_runtime
	.type hidden_runtime, @object
hidden_runtime:
	.zero 4096
	.size hidden_runtime, 4096
	.section .tbss, "awT", @nobits
	.zero 8
	.globl tls_variable
	.type tls_variable, @object
	.size tls_variable, 8
tls_variable:
	.zero 8
	.hidden _Py_tss_tstate
	.globl _Py_tss_tstate
	.type _Py_tss_tstate, @object
	.size _Py_tss_tstate, 8
_Py_tss_tstate:
	.zero 8

	.text
# GCC, one function call: the address in the argument of a tail call.
case through_got # key _PyRuntime+0x24c
	mov _PyRuntime@GOTPCREL(%rip), %rax
	cmpq $0, 0x240(%rax)
	je 1f
	lea 0x248(%rax), %rdi
	jmp PyThread_tss_get@PLT
1:	xor %eax, %eax
	ret
end through_got

# GCC without LTO, 3.12 and later: in a register across the check.
case across_check # key _PyRuntime+0x60c
	mov _PyRuntime@GOTPCREL(%rip), %rax
	push %rbx
	lea 0x608(%rax), %rbx
	mov %rbx, %rdi
	call PyThread_tss_is_created@PLT
	test %eax, %eax
	je 1f
	mov %rbx, %rdi
	pop %rbx
	jmp PyThread_tss_get@PLT
1:	xor %eax, %eax
	pop %rbx
	ret
end across_check

# clang: an immediate, then the address added to it.
case move_and_add # key _PyRuntime+0x60c
	push %rbx
	mov $0x608, %ebx
	add _PyRuntime@GOTPCREL(%rip), %rbx
	mov %rbx, %rdi
	call PyThread_tss_is_created@PLT
	test %eax, %eax
	je 1f
	mov %rbx, %rdi
	pop %rbx
	jmp PyThread_tss_get@PLT
1:	xor %eax, %eax
	pop %rbx
	ret
end move_and_add

# LTO: PyThread_tss_get() inlined.
case inlined # key hidden_runtime+0x254
	endbr64
	cmpl $0, hidden_runtime+0x250(%rip)
	je 1f
	mov hidden_runtime+0x254(%rip), %edi
	jmp pthread_getspecific@PLT
1:	xor %eax, %eax
	ret
end inlined

case inlined_lea # key hidden_runtime+0x104
	lea hidden_runtime(%rip), %rax
	movslq 4(%rax), %rcx
	mov 0x104(%rax), %edi
	call *pthread_getspecific@GOTPCREL(%rip)
	ret
end inlined_lea

case index_register # key hidden_runtime+0x44
	lea hidden_runtime(%rip), %rdx
	mov $8, %eax
	lea (%rdx,%rax,8), %rdi
	call PyThread_tss_get@PLT
	ret
end index_register

# Unoptimised: through the stack.
case on_the_stack # key hidden_runtime+0x14
	push %rbp
	mov %rsp, %rbp
	sub $16, %rsp
	lea hidden_runtime(%rip), %rax
	mov %rax, -8(%rbp)
	addq $0, -16(%rbp)
	mov -8(%rbp), %rax
	add $0x10, %rax
	mov %rax, %rdi
	call PyThread_tss_get@PLT
	leave
	ret
end on_the_stack

# 3.6: the key is an int.
case int_key # key hidden_runtime+0x20
	cmpq $0, hidden_runtime(%rip)
	je 1f
	mov hidden_runtime+0x20(%rip), %edi
	jmp PyThread_get_key_value@PLT
1:	xor %eax, %eax
	ret
end int_key

	.type helper, @function
helper:
	.cfi_startproc
	mov 4(%rdi), %edi
	jmp pthread_getspecific@PLT
	.cfi_endproc
	.size helper, . - helper

case small_helper # key _PyRuntime+0x34
	sub $8, %rsp
	mov _PyRuntime@GOTPCREL(%rip), %rdi
	add $0x30, %rdi
	call helper
	add $8, %rsp
	ret
end small_helper

# A branch that is known is followed one way only: the other key is not used.
case known_branch # key hidden_runtime+0x4
	mov $3, %eax
	cmp $4, %eax
	jae 1f
	lea hidden_runtime(%rip), %rdi
	jmp PyThread_tss_get@PLT
1:	lea hidden_runtime+0x40(%rip), %rdi
	jmp PyThread_tss_get@PLT
end known_branch

# Near misses.
case two_keys # key 2 answers
	test %esi, %esi
	je 1f
	lea hidden_runtime(%rip), %rdi
	jmp PyThread_tss_get@PLT
1:	lea hidden_runtime+0x40(%rip), %rdi
	jmp PyThread_tss_get@PLT
end two_keys

# The call clobbers the register.
case lost_across_call # nothing
	lea hidden_runtime(%rip), %rcx
	call PyThread_tss_is_created@PLT
	mov %rcx, %rdi
	jmp PyThread_tss_get@PLT
end lost_across_call

# The address comes from a word that only the process has.
case from_data # nothing
	mov hidden_runtime(%rip), %rdi
	jmp PyThread_tss_get@PLT
end from_data

case wide_key # nothing
	mov hidden_runtime(%rip), %rdi
	jmp pthread_getspecific@PLT
end wide_key

case changed_key # nothing
	mov hidden_runtime(%rip), %edi
	inc %edi
	jmp pthread_getspecific@PLT
end changed_key

case partial_register # nothing
	lea hidden_runtime(%rip), %rdi
	mov %sil, %dil
	jmp PyThread_tss_get@PLT
end partial_register

case overwritten_on_the_stack # nothing
	sub $24, %rsp
	lea hidden_runtime(%rip), %rax
	mov %rax, 8(%rsp)
	movl $0, 12(%rsp)
	mov 8(%rsp), %rdi
	call PyThread_tss_get@PLT
	add $24, %rsp
	ret
end overwritten_on_the_stack

case other_function # nothing
	lea hidden_runtime(%rip), %rdi
	jmp PyThread_tss_set@PLT
end other_function

# What follows a call that does not return is not this function's.
case noreturn # nothing
	lea hidden_runtime(%rip), %rdi
	call abort@PLT
	call PyThread_tss_get@PLT
	ret
end noreturn

case runs_out # nothing
	lea hidden_runtime(%rip), %rdi
end runs_out
case after_it # key hidden_runtime+0x4
	lea hidden_runtime(%rip), %rdi
	jmp PyThread_tss_get@PLT
end after_it

case endless # nothing
1:	lea 8(%rdi), %rdi
	test %rsi, %rsi
	jne 1b
	jmp 1b
end endless

# Thread-local variables.
case local_exec # returns [tp-24]
	mov %fs:-24, %rax
	ret
end local_exec

case local_exec_check # returns [tp-24]
	endbr64
	mov %fs:-24, %rax
	test %rax, %rax
	je 1f
	ret
1:	push %rax
	call abort@PLT
end local_exec_check

case local_exec_base # returns [tp-32]
	mov %fs:0, %rax
	lea -32(%rax), %rcx
	mov (%rcx), %rax
	ret
end local_exec_base

case initial_exec # returns [[slot]+tp]
	mov tls_variable@GOTTPOFF(%rip), %rax
	mov %fs:(%rax), %rax
	ret
end initial_exec

case initial_exec_add # returns [[slot]+tp+8]
	mov %fs:0, %rax
	add tls_variable@GOTTPOFF(%rip), %rax
	mov 8(%rax), %rax
	ret
end initial_exec_add

case general_dynamic # returns [index]
	sub $8, %rsp
	.byte 0x66
	lea tls_variable@TLSGD(%rip), %rdi
	.value 0x6666
	rex64
	call __tls_get_addr@PLT
	mov (%rax), %rax
	add $8, %rsp
	ret
end general_dynamic

case local_dynamic # returns [index+16]
	push %rax
	lea _Py_tss_tstate@TLSLD(%rip), %rdi
	call __tls_get_addr@PLT
	mov _Py_tss_tstate@DTPOFF(%rax), %rax
	pop %rcx
	ret
end local_dynamic

case descriptor # returns [desc+tp]
	lea tls_variable@tlsdesc(%rip), %rax
	call *tls_variable@tlscall(%rax)
	mov %fs:(%rax), %rax
	ret
end descriptor

case descriptor_add # returns [desc+tp]
	push %rbx
	lea tls_variable@tlsdesc(%rip), %rax
	call *tls_variable@tlscall(%rax)
	add %fs:0, %rax
	mov (%rax), %rax
	pop %rbx
	ret
end descriptor_add

case value_of_gs # nothing
	mov %gs:-24, %rax
	ret
end value_of_gs

case half_a_pointer # returns u32[tp-24]
	mov %fs:-24, %eax
	ret
end half_a_pointer

case wrong_descriptor # nothing
	lea tls_variable@tlsdesc(%rip), %rcx
	lea hidden_runtime(%rip), %rax
	call *(%rcx)
	mov %fs:(%rax), %rax
	ret
end wrong_descriptor

case tls_of_unknown_index # nothing
	push %rax
	mov hidden_runtime(%rip), %rdi
	call __tls_get_addr@PLT
	mov (%rax), %rax
	pop %rcx
	ret
end tls_of_unknown_index

# Returned by a chain that is longer than is kept.
case long_chain # nothing
	mov %fs:16, %rax
	mov (%rax), %rax
	mov (%rax), %rax
	mov (%rax), %rax
	mov (%rax), %rax
	ret
end long_chain

# An interpreter whose functions disagree about the key, and agree about the variable.
case PyGILState_GetThisThreadState # key hidden_runtime+0x44
	lea hidden_runtime+0x40(%rip), %rdi
	jmp PyThread_tss_get@PLT
end PyGILState_GetThisThreadState

case PyGILState_Check # key hidden_runtime+0x84
	lea hidden_runtime+0x80(%rip), %rdi
	call PyThread_tss_get@PLT
	ret
end PyGILState_Check

case PyThreadState_Get # returns [[slot]+tp]
	mov tls_variable@GOTTPOFF(%rip), %rax
	mov %fs:(%rax), %rax
	test %rax, %rax
	je 1f
	ret
1:	push %rax
	call Py_FatalError@PLT
end PyThreadState_Get

case _PyThreadState_GetCurrent # returns [[slot]+tp]
	mov tls_variable@GOTTPOFF(%rip), %rax
	mov %fs:(%rax), %rax
	ret
end _PyThreadState_GetCurrent
