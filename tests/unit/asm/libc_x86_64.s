# How C libraries find a thread's value: functions in the manner of glibc's and musl's, written for this test.
	.include "case.inc"

	.data
	.hidden keys
	.globl key_created, key_low, key_high, key_missing, tls_index, tls_descriptor, tls_offset, got_word
keys:	.zero 1024 * 16
generation: .quad 7
key_created: .long 1
key_low: .long 5
key_high: .long 77
key_missing: .long -1
	.balign 8
tls_index: .quad 3, 0x18
tls_descriptor: .quad static_descriptor, -40
dynamic_descriptor_slot: .globl dynamic_descriptor_slot
	.quad dynamic_descriptor, tls_argument
tls_argument: .quad 3, 0x18, 7
got_word: .quad -24

	.text
# Two levels: 32 entries of 16 bytes, {sequence, value}, in the thread; beyond them tables of 32.
case glibc_getspecific
	cmp $31, %edi
	ja 3f
	mov %edi, %eax
	add $0x31, %rax
	shl $4, %rax
	add %fs:16, %rax
0:	mov 8(%rax), %rdx
	test %rdx, %rdx
	je 2f
	mov %edi, %edi
	lea keys(%rip), %rcx
	mov (%rax), %rsi
	shl $4, %rdi
	cmp %rsi, (%rcx,%rdi,1)
	jne 1f
	mov %rdx, %rax
	ret
1:	movq $0, 8(%rax)
2:	xor %edx, %edx
	mov %rdx, %rax
	ret
3:	cmp $0x3ff, %edi
	ja 2b
	mov %edi, %eax
	shr $5, %eax
	mov %fs:0x510(,%rax,8), %rax
	test %rax, %rax
	je 2b
	mov %edi, %edx
	and $0x1f, %edx
	shl $4, %rdx
	add %rdx, %rax
	jmp 0b
end glibc_getspecific

# The empty table's pointer itself is returned.
case old_glibc_getspecific
	cmp $31, %edi
	ja 1f
	lea 0x31(%rdi), %eax
	shl $4, %rax
	mov %fs:16, %rdx
	add %rdx, %rax
	mov 8(%rax), %r8
0:	mov %r8, %rax
	ret
1:	mov %edi, %ecx
	mov %edi, %eax
	and $0x1f, %ecx
	shr $5, %eax
	mov %fs:0x510(,%rax,8), %rdx
	mov %rdx, %r8
	test %rdx, %rdx
	je 0b
	shl $4, %rcx
	lea (%rdx,%rcx), %rax
	mov 8(%rax), %r8
	jmp 0b
end old_glibc_getspecific

case musl_getspecific
	mov %fs:0, %rax
	mov %edi, %edi
	mov 0x80(%rax), %rax
	mov (%rax,%rdi,8), %rax
	ret
end musl_getspecific

# A hash of the key: no path.
case strange_getspecific
	mov %edi, %eax
	imul $40503, %eax, %eax
	mov %fs:(%rax), %rax
	ret
end strange_getspecific

case glibc_tls_get_addr
	mov %fs:8, %rdx
	mov generation(%rip), %rax
	cmp %rax, (%rdx)
	jne 1f
	mov (%rdi), %rax
	shl $4, %rax
	mov (%rdx,%rax,1), %rax
	cmp $-1, %rax
	je 1f
	add 8(%rdi), %rax
	ret
1:	push %rbp
	mov %rsp, %rbp
	and $-16, %rsp
	call slow@PLT
	mov %rbp, %rsp
	pop %rbp
	ret
end glibc_tls_get_addr

case musl_tls_get_addr
	mov %fs:0, %rax
	mov (%rdi), %rdx
	mov 8(%rax), %rax
	mov (%rax,%rdx,8), %rax
	add 8(%rdi), %rax
	ret
end musl_tls_get_addr

	.hidden static_descriptor, dynamic_descriptor
case static_descriptor
	mov 8(%rax), %rax
	ret
end static_descriptor

case dynamic_descriptor
	push %rdi
	push %rsi
	mov %fs:8, %rsi
	mov 8(%rax), %rdi
	mov 16(%rdi), %rax
	cmp (%rsi), %rax
	ja 1f
	mov (%rdi), %rax
	shl $4, %rax
	mov (%rax,%rsi), %rax
	cmp $-1, %rax
	je 1f
	add 8(%rdi), %rax
0:	sub %fs:0, %rax
	pop %rsi
	pop %rdi
	ret
1:	call slow@PLT
	jmp 0b
end dynamic_descriptor
