# Functions that change stacks in Go's ways, for test_go_switch.c. A label at_NAME marks a place whose rule is asked for. The g is at %fs:-8, its m at 0x30, curg at 0xc0, g0 at 0, sched.sp at 0x38.
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro done name
	.size \name, . - \name
	.globl end_\name
end_\name:
	.endm
	.macro at name
	.globl at_\name
	.hidden at_\name
at_\name:
	.endm

	.text
function save
	.hidden save
	lea 8(%rsp), %r9
	mov %r9, 0x38(%r14)
	ret
done save

# Without a frame of its own.
function systemstack
	at system_entry
	mov 8(%rsp), %rdi
	mov %fs:-8, %rax
	mov 0x30(%rax), %rbx
	mov (%rbx), %rdx
	cmp %rdx, %rax
	je 1f
	call save
	at system_in_save
	mov %rdx, %fs:-8
	mov 0x38(%rdx), %rbx
	mov %rbx, %rsp
	at system_switched
	call *%rdi
	at system_in_call
	mov %fs:-8, %rax
	at system_back
	mov 0x30(%rax), %rbx
	mov 0xc0(%rbx), %rax
	mov %rax, %fs:-8
	mov 0x38(%rax), %rsp
	at system_home
	movq $0, 0x38(%rax)
	ret
1:	at system_no_switch
	jmp *%rdi
done systemstack

# With a frame, and where the thread's words lie told by a register, as in position-independent programs.
function framed
	push %rbp
	mov %rsp, %rbp
	mov $-8, %rcx
	mov %fs:(%rcx), %rax
	mov 0x30(%rax), %rbx
	mov (%rbx), %rdx
	call save
	mov 0x38(%rdx), %rsp
	call *%rdi
	at framed_in_call
	mov $-8, %rcx
	mov %fs:(%rcx), %rax
	mov 0x30(%rax), %rbx
	mov 0xc0(%rbx), %rax
	mov 0x38(%rax), %rsp
	at framed_home
	pop %rbp
	ret
done framed

function morestack
	at more_entry
	mov %fs:-8, %rbx
	mov 0x30(%rbx), %rbx
	lea 8(%rsp), %rax
	mov %rax, 0x38(%r14)
	mov (%rbx), %rbx
	at more_last
	mov 0x38(%rbx), %rsp
	call save
	at more_in_call
	call save
	ret
done morestack

function mcall
	mov 0x30(%r14), %rbx
	mov (%rbx), %rsi
	at mcall_last
	mov 0x38(%rsi), %rsp
	at mcall_switched
	push %rax
	call *%rdi
	pop %rax
	jmp save
done mcall

# It ends in a jump into the goroutine.
function gogo
	mov $-8, %rcx
	mov %rdx, %fs:(%rcx)
	mov %rdx, %r14
	at gogo_last
	mov (%rbx), %rsp
	at gogo_switched
	mov 0x20(%rbx), %rdx
	mov 0x30(%rbx), %rbp
	movq $0, (%rbx)
	mov 8(%rbx), %rbx
	at gogo_jump
	jmp *%rbx
done gogo

# Two ways: from a goroutine, and from the thread's own stack.
function asmcgocall
	mov %rsp, %rdx
	mov %fs:-8, %rdi
	cmp %rsi, %rdi
	je 1f
	call save
	mov 0x38(%rsi), %rsp
	at c_switched
	sub $0x40, %rsp
	and $~15, %rsp
	mov %rdi, 0x30(%rsp)
	mov 8(%rdi), %rdi
	sub %rdx, %rdi
	mov %rdi, 0x28(%rsp)
	at c_ready
	call *%rax
	at c_in_call
	mov 0x30(%rsp), %rdi
	at c_back
	mov 8(%rdi), %rsi
	sub 0x28(%rsp), %rsi
	mov %rsi, %rsp
	at c_home
	ret
1:	sub $0x40, %rsp
	and $~15, %rsp
	mov %rdx, 0x28(%rsp)
	call *%rax
	at c_in_other
	mov 0x28(%rsp), %rsi
	mov %rsi, %rsp
	ret
done asmcgocall

function cgocallback
	sub $0x20, %rsp
	mov %rbp, 0x18(%rsp)
	lea 0x18(%rsp), %rbp
	at callback_own
	mov %fs:-8, %rbx
	mov 0x30(%rbx), %rbx
	mov 0xc0(%rbx), %rsi
	mov 0x38(%rsi), %rdi
	lea 0x28(%rsp), %rax
	sub %rsp, %rax
	sub %rax, %rdi
	mov %rdi, %rsp
	at callback_switched
	call *%rax
	at callback_in_call
	mov %fs:-8, %rbx
	mov 0x30(%rbx), %rbx
	mov (%rbx), %rsi
	mov 0x38(%rsi), %rsp
	at callback_home
	mov 0x10(%rsp), %rbx
	cmp $0, %rbx
	jne 1f
	call *%rax
1:	mov 0x18(%rsp), %rbp
	add $0x20, %rsp
	ret
done cgocallback

function nanotime
	sub $0x18, %rsp
	mov %rbp, 0x10(%rsp)
	lea 0x10(%rsp), %rbp
	mov %rsp, %r12
	mov 0x30(%r14), %rbx
	lea 0x20(%rsp), %rdx
	mov %rdx, 0x320(%rbx)
	cmp 0xc0(%rbx), %r14
	jne 1f
	mov (%rbx), %rdx
	mov 0x38(%rdx), %rsp
	at time_switched
1:	sub $0x10, %rsp
	and $~15, %rsp
	at time_aligned
	cmp $0, %rax
	je 3f
	call *%rax
	at time_in_call
2:	mov (%rsp), %rax
	mov %r12, %rsp
	at time_home
	mov 0x10(%rsp), %rbp
	add $0x18, %rsp
	ret
3:	syscall
	jmp 2b
done nanotime

# BX is known in outer frames.
function forward
	mov %rsp, %rbx
	and $~15, %rsp
	call *%rax
	at forward_in_call
	mov %rbx, %rsp
	ret
done forward

# Where it goes on cannot be told, or it does not return.
function lost
	mov (%rdi), %rsp
	at lost_switched
	call *%rax
	at lost_in_call
	jmp *%rax
done lost

# One way leaves the stack as it was, the other one does not.
function torn
	test %eax, %eax
	je 1f
	mov (%rdi), %rsp
1:	at torn_join
	call save
	ret
done torn

# A child begins on another stack.
function clone
	mov $0x38, %eax
	at clone_before
	syscall
	at clone_after
	cmp $0, %rax
	je 1f
	at clone_parent
	mov %eax, 0x30(%rsp)
	ret
1:	at clone_child
	mov %rsi, %rsp
	call *%r12
	at clone_in_call
	syscall
	jmp 1b
done clone

# The same, with nothing to tell which of the two it is.
function blind
	mov $0x38, %eax
	syscall
	mov %rsi, %rax
	at blind_after
	ret
done blind

# The stack is shared with a child, which may write over the return address.
function vfork
	mov 8(%rsp), %rax
	at vfork_before
	pop %r12
	at vfork_popped
	syscall
	push %r12
	at vfork_back
	mov %rax, 0x18(%rsp)
	ret
done vfork

# What is put where the return address was is another word.
function unpopped
	pop %r12
	push %rax
	at unpopped_pushed
	pop %rax
	push %r12
	ret
done unpopped

# In a shared library, the loader knows where the thread's word is.
function shared
	mov got_word(%rip), %rcx
	mov %fs:(%rcx), %rax
	mov 0x30(%rax), %rbx
	mov (%rbx), %rdx
	call save
	mov 0x38(%rdx), %rsp
	call *%rdi
	at shared_in_call
	mov got_word(%rip), %rcx
	mov %fs:(%rcx), %rax
	mov 0x30(%rax), %rbx
	mov 0xc0(%rbx), %rax
	mov 0x38(%rax), %rsp
	ret
done shared

	.data
	.balign 8
	.globl got_word
	.hidden got_word
got_word:
	.quad 0
