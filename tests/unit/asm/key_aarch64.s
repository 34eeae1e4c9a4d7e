# The same for AArch64; see key_x86_64.s.
	.include "case.inc"

	.data
	.globl _PyRuntime
	.type _PyRuntime, %object
_PyRuntime:
	.zero 4096
	.size _PyRuntime, 4096
	.hidden hidden_runtime
	.globl hidden_runtime
	.type hidden_runtime, %object
hidden_runtime:
	.zero 4096
	.size hidden_runtime, 4096
	.section .tbss, "awT", %nobits
	.zero 8
	.globl tls_variable
	.type tls_variable, %object
	.size tls_variable, 8
tls_variable:
	.zero 8

	.text
case through_got // key _PyRuntime+0x24c
	adrp x0, :got:_PyRuntime
	ldr x0, [x0, :got_lo12:_PyRuntime]
	ldr x1, [x0, 0x240]
	cbz x1, 1f
	add x0, x0, 0x248
	b PyThread_tss_get
1:	mov x0, 0
	ret
end through_got

case across_check // key _PyRuntime+0x60c
	paciasp
	stp x29, x30, [sp, -32]!
	mov x29, sp
	str x19, [sp, 16]
	adrp x19, :got:_PyRuntime
	ldr x19, [x19, :got_lo12:_PyRuntime]
	add x19, x19, 0x608
	mov x0, x19
	bl PyThread_tss_is_created
	cbz w0, 1f
	mov x0, x19
	ldr x19, [sp, 16]
	ldp x29, x30, [sp], 32
	autiasp
	b PyThread_tss_get
1:	ldr x19, [sp, 16]
	ldp x29, x30, [sp], 32
	autiasp
	ret
end across_check

case move_and_add // key _PyRuntime+0x10604
	movz x1, 0x600
	movk x1, 0x1, lsl 16
	adrp x0, :got:_PyRuntime
	ldr x0, [x0, :got_lo12:_PyRuntime]
	add x0, x0, x1
	b PyThread_tss_get
end move_and_add

case inlined // key hidden_runtime+0x254
	bti c
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	ldr w1, [x0, 0x250]
	cbz w1, 1f
	ldr w0, [x0, 0x254]
	b pthread_getspecific
1:	mov x0, 0
	ret
end inlined

case near_address // key hidden_runtime+0x40
	adrp x8, hidden_runtime+0x40
	ldr w0, [x8, :lo12:hidden_runtime+0x40]
	bl pthread_getspecific
	ret
end near_address

case shifted // key hidden_runtime+0x44
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	mov w1, 4
	add x0, x0, w1, uxtw 4
	b PyThread_tss_get
end shifted

case on_the_stack // key hidden_runtime+0x14
	stp x29, x30, [sp, -32]!
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	str x0, [sp, 24]
	mov x0, 0
	ldr x1, [sp, 24]
	add x0, x1, 16
	bl PyThread_tss_get
	ldp x29, x30, [sp], 32
	ret
end on_the_stack

	.type helper, %function
helper:
	.cfi_startproc
	ldr w0, [x0, 4]
	b pthread_getspecific
	.cfi_endproc
	.size helper, . - helper

case small_helper // key hidden_runtime+0x34
	str x30, [sp, -16]!
	adrp x0, hidden_runtime+0x30
	add x0, x0, :lo12:hidden_runtime+0x30
	bl helper
	ldr x30, [sp], 16
	ret
end small_helper

case known_branch // key hidden_runtime+0x4
	mov w1, 3
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	cmp w1, 4
	b.hs 1f
	b PyThread_tss_get
1:	add x0, x0, 0x40
	b PyThread_tss_get
end known_branch

case known_bit // key hidden_runtime+0x4
	mov w1, 5
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	tbz w1, 2, 1f
	b PyThread_tss_get
1:	add x0, x0, 0x40
	b PyThread_tss_get
end known_bit

case two_keys // key 2 answers
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	cbz x1, 1f
	b PyThread_tss_get
1:	add x0, x0, 0x40
	b PyThread_tss_get
end two_keys

case lost_across_call // nothing
	adrp x9, hidden_runtime
	add x9, x9, :lo12:hidden_runtime
	bl PyThread_tss_is_created
	mov x0, x9
	b PyThread_tss_get
end lost_across_call

case from_data // nothing
	adrp x0, hidden_runtime
	ldr x0, [x0, :lo12:hidden_runtime]
	b PyThread_tss_get
end from_data

case wide_key // nothing
	adrp x0, hidden_runtime
	ldr x0, [x0, :lo12:hidden_runtime]
	b pthread_getspecific
end wide_key

case selected // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	add x1, x0, 16
	cmp x2, 0
	csel x0, x0, x1, eq
	b PyThread_tss_get
end selected

case overwritten_on_the_stack // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	str x0, [sp, 8]
	str wzr, [sp, 12]
	ldr x0, [sp, 8]
	b PyThread_tss_get
end overwritten_on_the_stack

case vector_on_the_stack // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	str x0, [sp, 8]
	str q0, [sp]
	ldr x0, [sp, 8]
	b PyThread_tss_get
end vector_on_the_stack

case noreturn // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	bl abort
	bl PyThread_tss_get
	ret
end noreturn

case local_exec // returns [tp+16]
	mrs x0, tpidr_el0
	add x0, x0, 0, lsl 12
	add x0, x0, 16
	ldr x0, [x0]
	ret
end local_exec

case local_exec_offset // returns [tp+24]
	mrs x8, tpidr_el0
	ldr x0, [x8, 24]
	cbz x0, 1f
	ret
1:	bl abort
end local_exec_offset

case initial_exec // returns [[slot]+tp]
	mrs x1, tpidr_el0
	adrp x0, :gottprel:tls_variable
	ldr x0, [x0, :gottprel_lo12:tls_variable]
	ldr x0, [x1, x0]
	ret
end initial_exec

case initial_exec_add // returns [[slot]+tp+8]
	adrp x0, :gottprel:tls_variable
	ldr x0, [x0, :gottprel_lo12:tls_variable]
	mrs x1, tpidr_el0
	add x0, x1, x0
	ldr x0, [x0, 8]
	ret
end initial_exec_add

case descriptor // returns [desc+tp]
	stp x29, x30, [sp, -16]!
	adrp x0, :tlsdesc:tls_variable
	ldr x1, [x0, :tlsdesc_lo12:tls_variable]
	add x0, x0, :tlsdesc_lo12:tls_variable
	.tlsdesccall tls_variable
	blr x1
	mrs x1, tpidr_el0
	ldr x0, [x1, x0]
	ldp x29, x30, [sp], 16
	ret
end descriptor

# (__tls_get_addr() with an index of the linker is left out: clang and lld make descriptors only.)
case tls_of_unknown_index // nothing
	str x30, [sp, -16]!
	bl __tls_get_addr
	ldr x0, [x0]
	ldr x30, [sp], 16
	ret
end tls_of_unknown_index

case wrong_descriptor // nothing
	str x30, [sp, -16]!
	adrp x0, :tlsdesc:tls_variable
	ldr x1, [x0, :tlsdesc_lo12:tls_variable]
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	blr x1
	mrs x1, tpidr_el0
	ldr x0, [x1, x0]
	ldr x30, [sp], 16
	ret
end wrong_descriptor

case int_key // key hidden_runtime+0x20
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	ldr w1, [x0, 0x24]
	cbz w1, 1f
	ldr w0, [x0, 0x20]
	b PyThread_get_key_value
1:	mov x0, 0
	ret
end int_key

case changed_key // nothing
	adrp x0, hidden_runtime
	ldr w0, [x0, :lo12:hidden_runtime]
	add w0, w0, 1
	b pthread_getspecific
end changed_key

case unknown_offset // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	add x0, x0, x1
	b PyThread_tss_get
end unknown_offset

case other_function // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
	b PyThread_tss_set
end other_function

case endless // nothing
	adrp x0, hidden_runtime
	add x0, x0, :lo12:hidden_runtime
1:	b 1b
end endless

case long_chain // nothing
	mrs x0, tpidr_el0
	ldr x0, [x0, 16]
	ldr x0, [x0]
	ldr x0, [x0]
	ldr x0, [x0]
	ldr x0, [x0]
	ret
end long_chain

case other_system_register // nothing
	mrs x0, tpidrro_el0
	ldr x0, [x0, 16]
	ret
end other_system_register

case half_a_pointer // returns u32[tp+16]
	mrs x0, tpidr_el0
	ldr w0, [x0, 16]
	ret
end half_a_pointer

case signed_load // nothing
	mrs x0, tpidr_el0
	ldrsw x0, [x0, 16]
	ret
end signed_load
