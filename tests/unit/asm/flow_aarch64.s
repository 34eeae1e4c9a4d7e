# Functions without CFI, for test_code_flow.c. A label at_NAME marks a place whose rule is asked for.
	.macro function name
	.globl \name
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
# A frame record below other saved registers, and both ways out.
function frames
	at frames_entry
	stp x29, x30, [sp, #-32]!
	at frames_recorded
	mov x29, sp
	stp x19, x20, [sp, #16]
	at frames_body
	cbz w0, 1f
	bl extern_function
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #32
	at frames_left
	ret
1:	ldp x19, x20, [sp, #16]
	at frames_other
	ldp x29, x30, [sp], #32
	b shrink
done frames

# The return address alone; it is signed, and checked before the function goes on in another one.
function shrink
	paciasp
	at shrink_entry
	str x30, [sp, #-16]!
	at shrink_saved
	bl extern_function
	ldr x30, [sp], #16
	autiasp
	at shrink_left
	b frames
done shrink

# A frame pointer, and a stack pointer that nobody knows.
function alloca
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	sub sp, sp, x0
	at alloca_moved
	bl extern_function
	mov sp, x29
	ldp x29, x30, [sp], #16
	at alloca_left
	ret
done alloca

# Frames of constants that one instruction has no room for, and that are touched page by page.
function large
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	mov x12, #0x5010
	sub sp, sp, x12
	mov x29, x0
	at large_body
	sub sp, sp, #2, lsl #12
	at large_more
	add sp, sp, #2, lsl #12
	add sp, sp, x12
	ldp x29, x30, [sp], #16
	ret
done large
function probe
	sub x9, sp, #16, lsl #12
1:	sub sp, sp, #1, lsl #12
	str xzr, [sp]
	cmp sp, x9
	b.ne 1b
	at probe_down
	add sp, sp, #16, lsl #12
	at probe_up
	ret
done probe

# The return address in another register, and nowhere.
function moves
	mov x9, x30
	mov x30, #0
	at moves_held
	mov x30, x9
	at moves_back
	ret
done moves
function loses
	str x30, [sp, #-16]!
	str xzr, [sp]
	mov x30, #0
	at loses_lost
	nop
	add sp, sp, #16
	bl abort
done loses

# Nothing is saved: the call does not come back, as its return address would be the caller's own.
function stops
	at stops_entry
	bl abort
done stops

# Returns with the frame still there: refused.
function unbalanced
	sub sp, sp, #16
	at unbalanced
	ret
done unbalanced
# And to somewhere else.
function astray
	at astray
	bl extern_function
	ret
done astray

# Part of a saved register is written over: the register is lost with it.
function overwrites
	stp x29, x30, [sp, #-16]!
	at overwrites_saved
	str w0, [sp, #12]
	at overwrites_lost
	ldp x29, x30, [sp], #16
	bl abort
done overwrites

# What begins a thread.
function begins
	mov x29, #0
	at begins
	mov x30, #0
	mov x0, sp
	bl extern_function
	brk #1
done begins

# Instructions that change FP in an operand that is not the first, or by the way.
	.arch_extension lse
function reads
	str x29, [x0], #8
	str x29, [x0, #8]!
	cmp x29, x1
	stxr w3, x29, [x2]
	ldadd x29, x3, [x1]
	at reads
	nop
	bl abort
done reads
function adds
	at adds_before
	ldadd x1, x29, [x2]
	at adds
	nop
	bl abort
done adds
function swaps
	cas x29, x1, [x2]
	at swaps
	nop
	bl abort
done swaps
function stores
	stxr w29, x1, [x2]
	at stores
	nop
	bl abort
done stores
function advances
	ldr x1, [x29], #8
	at advances
	nop
	bl abort
done advances
function loads
	ldpsw x1, x29, [x2]
	at loads
	nop
	bl abort
done loads

# A trampoline for signals, which is no function.
function trampoline
	at trampoline
	mov x8, #139
	svc #0
done trampoline
