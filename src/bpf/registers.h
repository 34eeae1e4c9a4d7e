/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers: the user registers that the native walk starts from, of a thread that was interrupted in user mode or is
 * in the kernel.
 */
#ifndef STRATA_BPF_REGISTERS_H
#define STRATA_BPF_REGISTERS_H

#include "bpf/shim.h"

#include "arch/kernel.h"
#include "bpf/scratch.h"
#include "bpf/tables.h"
#include "bpf/uretprobe.h"

/* The context of a perf event begins with the interrupted registers; it allows 8-byte loads only. */
static __always_inline bool in_user_mode(struct bpf_perf_event_data *ctx)
{
	return arch_in_user_mode((volatile struct arch_registers *)ctx);
}

/* What these functions return when there are no registers to walk from. */
enum {
	REGISTERS_UNREADABLE = -1,
	REGISTERS_NO_PROGRAM =
		1, /* workers of io_uring and vhost: they have the address space of a process and never run its code */
	REGISTERS_OTHER_MODE = 2, /* the thread runs 32-bit code */
};

/* The registers of a sample that was taken in user mode. Traced programs have no such samples. */
static __noinline __attribute__((unused)) int interrupted_registers(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	ARCH_COPY_REGISTERS(&s->native, (struct arch_registers *)ctx);
	native_take_registers(&s->native);
	return arch_in_other_mode((volatile struct arch_registers *)ctx) ? REGISTERS_OTHER_MODE : 0;
}

/* MMF_HAS_UPROBES, 1 << 19 (include/linux/mm_types.h): uprobes were put into the address space. */
#define MM_HAS_UPROBES (1ul << 19)

/*
 * May the program contain breakpoints, from a debugger or from uprobes? If not, such a byte is padding, or part of a
 * number.
 */
static __always_inline bool may_have_breakpoints(const struct scratch *s)
{
	struct task_struct___strata *task = (void *)bpf_get_current_task();
	struct mm_struct___strata *mm = (void *)s->task.mm;

	return BPF_CORE_READ(mm, flags) & MM_HAS_UPROBES || BPF_CORE_READ(task, ptrace);
}

/*
 * A thread that entered the kernel because of a breakpoint may have a PC behind the breakpoint (on x86-64 it has). But
 * it has not executed the instruction that the breakpoint replaces. This moves the PC back, unless the kernel has
 * already emulated that instruction: if it is one byte long, it is a push, and the pushed register is on top of the
 * stack.
 */
__noinline int undo_breakpoint(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u64 top = 0, pushed = 0;
	__u8 byte = 0;
	int i;

	if (!ARCH_BREAKPOINT_BYTES || !s ||
	    bpf_probe_read_user(&byte, sizeof(byte), (void *)(s->native.pc - ARCH_BREAKPOINT_BYTES)) ||
	    byte != ARCH_BREAKPOINT || !may_have_breakpoints(s) ||
	    bpf_probe_read_user(&top, sizeof(top), (void *)s->native.sp))
		return 0;
	for (i = 0; i < ARCH_PUSHED; i++)
		pushed |= s->native.registers[i] == top;
	s->native.pc -= pushed ? 0 : ARCH_BREAKPOINT_BYTES;
	return 0;
}

/* Where they are; 0: not known. */
static __always_inline __u64 saved_registers_at(bool has_helper)
{
	if (!has_helper && !ARCH_REGISTERS_AT)
		return 0;
	if (has_helper)
		return bpf_task_pt_regs(bpf_get_current_task_btf());
	return (__u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack) + ARCH_REGISTERS_AT;
}

/*
 * The user registers of a thread that is in the kernel: entry code saves all of them at the top of the thread's kernel
 * stack. Kernels before 5.15 do not tell the address; there it is computed from the stack's size.
 */
static __noinline int saved_registers(struct scratch *s, bool has_helper)
{
	struct arch_registers regs;
	__u64 at = saved_registers_at(has_helper);

	if (!at || bpf_probe_read_kernel(&regs, sizeof(regs), (void *)at))
		return REGISTERS_UNREADABLE;
	if (!arch_in_user_mode(&regs))
		return REGISTERS_UNREADABLE;
	if (arch_no_program(&regs))
		return REGISTERS_NO_PROGRAM;
	ARCH_COPY_REGISTERS(&s->native, &regs);
	native_take_registers(&s->native);
	s->task.no_call = arch_call(&regs) == ARCH_NO_CALL;
	s->task.call = arch_call(&regs);
	ARCH_COPY_ARGUMENTS(s->task.arguments, &regs);
	if (arch_call(&regs) == ARCH_NO_CALL) /* an exception, or an interrupt */
		undo_breakpoint(SCRATCH_REF(s));
	return arch_in_other_mode(&regs) ? REGISTERS_OTHER_MODE : 0;
}

#endif
