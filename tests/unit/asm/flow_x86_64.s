# Functions without CFI, for test_code_flow.c. A label at_NAME marks a place whose rule is asked for.
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro local name
	.type \name, @function
\name:
	.endm
	.macro done name
	.size \name, . - \name
	.endm
	.macro at name
	.globl at_\name
	.hidden at_\name
at_\name:
	.endm

	.text
# Saved registers, a frame, and both ways out.
function frames
	at frames_entry
	push %rbp
	push %rbx
	at frames_pushed
	sub $0x28, %rsp
	at frames_body
	test %edi, %edi
	je 1f
	call extern_function@PLT
	add $0x28, %rsp
	pop %rbx
	pop %rbp
	at frames_popped
	ret
1:	at frames_other
	lea 0x28(%rsp), %rsp
	pop %rbx
	pop %rbp
	ret
done frames

# Instructions of mask registers and of newer vectors, of which some disassemblers know none.
function vectors
	push %rbp
	push %rbx
	sub $0x18, %rsp
	kmovd %esi, %k1
	kaddb %k1, %k1, %k1
	ktestw %k2, %k2
	kshiftrd $0x10, %k4, %k5
	vpermt2d 0x40(%rsi), %zmm16, %zmm17
	vmovddup 0x40(%rdx), %zmm19 {%k1}
	vpconflictd %zmm16, %zmm20
	vpbroadcastmw2d %k1, %zmm17
	vmovdqa64 %zmm17, 0x40(%rsp)
	vgf2p8affineqb $3, 0x100(%rsp,%rcx,4), %zmm1, %zmm2
	at vectors_behind
	add $0x18, %rsp
	pop %rbx
	pop %rbp
	ret
done vectors

# A frame pointer, and a stack pointer that nobody knows.
function alloca
	push %rbp
	mov %rsp, %rbp
	at alloca_framed
	sub %rdi, %rsp
	and $-16, %rsp
	at alloca_moved
	call extern_function@PLT
	leave
	at alloca_left
	ret
done alloca

# Large frames are touched page by page.
function probe
	lea -0x10000(%rsp), %r11
1:	at probe_loop
	sub $0x1000, %rsp
	orq $0, (%rsp)
	cmp %r11, %rsp
	jne 1b
	at probe_body
	add $0x10000, %rsp
	ret
done probe

# What is behind a call that does not return is reached otherwise, or not at all.
function quits
	push %rax
	test %edi, %edi
	jne 1f
	pop %rax
	ret
1:	call never
	at quits_behind
	ret
done quits

local never
	push %rax
2:	call frames
	jmp 2b
done never

# A jump table.
function switch
	push %rbx
	cmp $2, %edi
	ja 9f
	mov %edi, %edi
	lea table(%rip), %rax
	movslq (%rax,%rdi,4), %rcx
	add %rax, %rcx
	jmp *%rcx
one:	at switch_one
	push %rdi
	call extern_function@PLT
	pop %rdi
9:	pop %rbx
	ret
two:	at switch_two
	pop %rbx
	jmp frames
done switch

# Two ways to one place with different stacks: no rule anywhere in it.
function torn
	at torn_entry
	test %edi, %edi
	je 1f
	push %rax
1:	at torn_join
	call extern_function@PLT
	pop %rax
	ret
done torn

# The paths disagree on the stack pointer, and the frame pointer does not care (musl's getcwd()).
function block
	push %rbp
	mov %rsp, %rbp
	push %rbx
	push %rax
	test %rdi, %rdi
	jne 1f
	sub $0x1000, %rsp
	mov %rsp, %rdi
1:	at block_join
	call extern_function@PLT
	lea -8(%rbp), %rsp
	pop %rbx
	pop %rbp
	at block_left
	ret
done block

# Nothing runs behind the last system call, but the kernel is in it with the address behind it.
function ends
	push %rbx
	mov $231, %eax
	syscall
	at ends_in_kernel
	nop
	at ends_behind
	nop
done ends

# Not balanced at its return.
function unbalanced
	at unbalanced_entry
	push %rax
	call extern_function@PLT
	ret
done unbalanced

# The return address is taken off the stack, as vfork() does, and its place overwritten.
function takes_return
	pop %rdx
	at takes_popped
	mov $58, %eax
	syscall
	push %rdx
	at takes_pushed
	ret
done takes_return

function loses_return
	pop %rdx
	push %rdi
	at loses_pushed
	call extern_function@PLT
	at loses_stopping
	ud2
done loses_return

# clone(): parent and child part behind the system call; the child clears its frame pointer.
function clones
	mov $56, %eax
	at clones_before
	syscall
	test %eax, %eax
	jnz 1f
	at clones_child
	xor %ebp, %ebp
	pop %rdi
	at clones_started
	call *%r9
	mov %eax, %edi
	xor %eax, %eax
	mov $60, %al
	syscall
	at clones_behind
	.byte 0x06
1:	at clones_parent
	ret
done clones

# A word of the frame that held rbx is overwritten.
function overwrites
	push %rbx
	mov %rdi, %rbx
	at overwrites_saved
	mov %rsi, (%rsp)
	at overwrites_lost
1:	jmp 1b
done overwrites

# Mentioned, and a function, that returns or that does not; and mentioned by what jumps to it: a label.
function mentions
	lea callback(%rip), %rdi
	lea thread(%rip), %rsi
	lea not_code(%rip), %rdx
	jmp extern_function@PLT
done mentions
callback:
	push %rbx
	at callback_pushed
	pop %rbx
	ret
thread:
	push %rbx
	at thread_pushed
1:	call extern_function@PLT
	jmp 1b
not_code:
	at not_code
	push %rbx
	ret
function dispatches
	push %rbx
	lea label(%rip), %rax
	mov (%rdi), %rcx
	add %rax, %rcx
	jmp *%rcx
done dispatches
label:
	at label
	call extern_function@PLT
	jmp label
# A signal trampoline is no function.
	nop
function trampoline
	at trampoline
	mov $15, %eax
	syscall
done trampoline
# More than what is followed at once.
function filler
	.fill 5000, 1, 0x90
	ret
done filler

	.section .rodata
	.balign 4
table:	.long one - table, two - table, one - table
