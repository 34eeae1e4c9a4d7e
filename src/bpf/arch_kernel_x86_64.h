/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler needs to know of x86-64: where the interrupted program's registers are, and its thread pointer.
 * Register numbers are DWARF's (psABI AMD64, figure 3.36).
 */
#ifndef STRATA_BPF_ARCH_KERNEL_X86_64_H
#define STRATA_BPF_ARCH_KERNEL_X86_64_H

#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"

#define KERNEL_STACK_BYTES 16384

/*
 * struct pt_regs of arch/x86/include/uapi/asm/ptrace.h, which is also how the kernel keeps them. Not the type of
 * vmlinux.h: since 6.9 its cs is a u16 in a union, and an access to it does not fit older kernels.
 */
struct arch_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

/* The context of a perf event begins with the interrupted registers; it allows 8-byte loads only. */
static __always_inline bool arch_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return ((volatile struct arch_registers *)ctx)->cs & 3;
}

/*
 * A macro, because the verifier rewrites each field access to the context of a perf event: it cannot be passed on
 * as a pointer to pt_regs.
 */
#define ARCH_COPY_REGISTERS(walk, regs)                                                                                \
	do {                                                                                                           \
		__u64 *to_ = (walk)->registers;                                                                        \
                                                                                                                       \
		to_[0] = (regs)->ax;                                                                                   \
		to_[1] = (regs)->dx;                                                                                   \
		to_[2] = (regs)->cx;                                                                                   \
		to_[3] = (regs)->bx;                                                                                   \
		to_[4] = (regs)->si;                                                                                   \
		to_[5] = (regs)->di;                                                                                   \
		to_[6] = (walk)->fp = (regs)->bp;                                                                      \
		to_[7] = (walk)->sp = (regs)->sp;                                                                      \
		to_[8] = (regs)->r8;                                                                                   \
		to_[9] = (regs)->r9;                                                                                   \
		to_[10] = (regs)->r10;                                                                                 \
		to_[11] = (regs)->r11;                                                                                 \
		to_[12] = (regs)->r12;                                                                                 \
		to_[13] = (regs)->r13;                                                                                 \
		to_[14] = (regs)->r14;                                                                                 \
		to_[15] = (regs)->r15;                                                                                 \
		(walk)->pc = (regs)->ip;                                                                               \
	} while (0)

/* What the functions below give when there are no registers to walk from. */
enum {
	ARCH_UNREADABLE = -1,
	ARCH_NO_PROGRAM =
		1, /* workers of io_uring and vhost have the address space of their process and never run its code */
	ARCH_OTHER_MODE = 2, /* the thread runs 32-bit code */
};

#define USER32_CS 0x23 /* __USER32_CS: arch/x86/include/asm/segment.h */

/* The registers of a sample that was taken in user mode. */
static __noinline int arch_interrupted_registers(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	ARCH_COPY_REGISTERS(&s->native, (struct arch_registers *)ctx);
	return ((volatile struct arch_registers *)ctx)->cs == USER32_CS ? ARCH_OTHER_MODE : 0;
}

#define INT3 0xcc
/* MMF_HAS_UPROBES, 1 << 19 (include/linux/mm_types.h): uprobes were put into the address space. */
#define MM_HAS_UPROBES (1ul << 19)

/* Whether the program may have breakpoints in it, a debugger's or uprobes: else an INT3 is padding, or part of a
 * number. */
static __always_inline bool may_have_breakpoints(const struct scratch *s)
{
	struct task_struct___strata *task = (void *)bpf_get_current_task();
	struct mm_struct___strata *mm = (void *)s->task.mm;

	return BPF_CORE_READ(mm, flags) & MM_HAS_UPROBES || BPF_CORE_READ(task, ptrace);
}

/*
 * In the kernel because of a breakpoint, a thread is behind the INT3 whose place the instruction that it has yet to
 * execute has. Until the kernel makes that good, or has done in its stead what the instruction does: where that is one
 * byte long, a push, the register is on the stack then.
 */
__noinline int arch_undo_breakpoint(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);
	__u64 top = 0, pushed = 0;
	__u8 byte = 0;
	int i;

	if (!s || bpf_probe_read_user(&byte, sizeof(byte), (void *)(s->native.pc - 1)) || byte != INT3 ||
	    !may_have_breakpoints(s) || bpf_probe_read_user(&top, sizeof(top), (void *)s->native.sp))
		return 0;
	for (i = 0; i < 8; i++)
		pushed |= s->native.registers[i] == top;
	s->native.pc -= !pushed;
	return 0;
}

/*
 * The user registers of a thread that is in the kernel: entry code saves all of them at the top of the thread's
 * kernel stack. Where the kernel does not tell the address (before 5.15), the stack is THREAD_SIZE long (16 KiB,
 * arch/x86/include/asm/page_64_types.h) and nothing lies above them (TOP_OF_KERNEL_STACK_PADDING is 0 there).
 * Workers have an IP and an SP of 0: copy_thread() (arch/x86/kernel/process.c).
 */
static __noinline int arch_saved_registers(struct scratch *s, bool has_helper)
{
	struct arch_registers regs;
	__u64 at;

	if (has_helper)
		at = bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		at = (__u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack) + KERNEL_STACK_BYTES -
		     sizeof(regs);
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)at))
		return ARCH_UNREADABLE;
	if (!(regs.cs & 3))
		return ARCH_UNREADABLE;
	if (!regs.ip && !regs.sp)
		return ARCH_NO_PROGRAM;
	ARCH_COPY_REGISTERS(&s->native, &regs);
	s->task.no_call = regs.orig_ax == ~0ull;
	if (regs.orig_ax == ~0ull) /* an exception, or an interrupt */
		arch_undo_breakpoint(s->index);
	return (regs.cs & 0xffff) == USER32_CS ? ARCH_OTHER_MODE : 0;
}

/* pthread_self() of glibc and musl is the FS base. Of a task that bpf_get_current_task_btf() gave, or any. */
static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return task->thread.fsbase;
}

static __always_inline __u64 arch_read_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

#endif
