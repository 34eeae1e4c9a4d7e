// The same for AArch64; see libc_x86_64.s. The struct pthread of glibc ends at the thread pointer, its TCB {dtv, private}
// is there.
	.include "case.inc"

	.data
	.globl key_created, key_low, key_high, key_missing, tls_index, tls_descriptor, dynamic_descriptor_slot, got_word
	.balign 8
keys:	.zero 1024 * 16
key_created: .word 1
key_low: .word 5
key_high: .word 77
key_missing: .word -1
	.balign 8
tls_index: .quad 3, 0x18
tls_descriptor: .quad static_descriptor, 40
dynamic_descriptor_slot: .quad dynamic_descriptor, tls_argument
tls_argument: .quad 3, 0x18, 7
got_word: .quad 24

	.text
case glibc_getspecific
	mrs x2, tpidr_el0
	sub x2, x2, 0x740
	cmp w0, 31
	b.hi 3f
	uxtw x3, w0
	add x1, x3, 0x31
	add x1, x2, x1, lsl 4
0:	ldr x4, [x1, 8]
	cbz x4, 2f
	adrp x5, keys
	add x5, x5, :lo12:keys
	ubfiz x0, x0, 4, 32
	ldr x0, [x5, x0]
	ldr x3, [x1]
	cmp x3, x0
	b.ne 1f
	mov x0, x4
	ret
1:	str xzr, [x1, 8]
2:	mov x0, 0
	ret
3:	cmp w0, 1023
	b.hi 2b
	lsr w3, w0, 5
	add x2, x2, w3, uxtw 3
	ldr x1, [x2, 0x510]
	cbz x1, 2b
	and w3, w0, 31
	add x1, x1, w3, uxtw 4
	b 0b
end glibc_getspecific

case musl_getspecific
	mrs x1, tpidr_el0
	ldur x1, [x1, -96]
	ldr x0, [x1, w0, uxtw 3]
	ret
end musl_getspecific

case strange_getspecific
	mrs x1, tpidr_el0
	mul x0, x0, x0
	ldr x0, [x1, x0]
	ret
end strange_getspecific

case musl_tls_get_addr
	mrs x1, tpidr_el0
	ldp x2, x0, [x0]
	ldur x1, [x1, -8]
	ldr x1, [x1, x2, lsl 3]
	add x0, x1, x0
	ret
end musl_tls_get_addr

	.hidden static_descriptor, dynamic_descriptor
case static_descriptor
	ldr x0, [x0, 8]
	ret
end static_descriptor

case dynamic_descriptor
	stp x1, x2, [sp, -32]!
	stp x3, x4, [sp, 16]
	mrs x4, tpidr_el0
	ldr x1, [x0, 8]
	ldr x0, [x4]
	ldr x3, [x1, 16]
	ldr x2, [x0]
	cmp x3, x2
	b.hi 2f
	ldp x2, x3, [x1]
	add x0, x0, x2, lsl 4
	ldr x0, [x0]
	cmn x0, 1
	b.eq 2f
	add x0, x0, x3
	sub x0, x0, x4
1:	ldp x3, x4, [sp, 16]
	ldp x1, x2, [sp], 32
	ret
2:	bl slow
	b 1b
end dynamic_descriptor
