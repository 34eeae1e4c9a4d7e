/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uretprobe: what uprobes change in the stack of the probed program, and how the walk undoes it.
 *
 *   uretprobe   the return address of a function that was entered is replaced by that of a trampoline, in a page that
 *               the kernel has mapped ([uprobes]). The true return address is in a list of the thread, innermost first
 *   uprobe      the instruction that the breakpoint replaces runs as a copy in the same page; a NOP of five bytes is
 *               replaced by a call of a trampoline with a system call, in a page of its own
 *
 * kernel/events/uprobes.c: prepare_uretprobe(), xol_get_insn_slot(), handle_trampoline(); all kernels from 5.10 on.
 * The calls: arch/x86/kernel/uprobes.c, uprobe_trampoline_entry, SYSCALL_DEFINE0(uprobe); since 6.18.
 *
 * Other programs' uprobes have these effects, too. In detail:
 * - The thread's list of true return addresses is walked along with the stack. A copy of the stack that is sent to
 *   user space has the true addresses.
 * - A program counter in that page is replaced by that of the original instruction.
 * - A thread that is in the kernel because of the breakpoint has a program counter behind it, but has not executed the
 *   original instruction. If that is a `push`, all frames would be shifted (undo_breakpoint() in registers.h). This is
 *   checked only where there are uprobes or a debugger, because Go pads its functions with the same byte.
 * - While the trampoline's system call returns to the trampoline, SP is corrected by the size of what was pushed. For
 *   the few instructions between the change of the return address and the entry in the list, the stack ends with the
 *   loss `uretprobe`. So it does while the kernel writes that return address, or later the true one for the trampoline:
 *   `rep movsb` may be interrupted behind each byte. The first bytes are then the trampoline's, and what follows is
 *   still the program's. Such an address may lie in any function; but hardly ever behind a call.
 *
 * tests/e2e/uretprobe.t samples such a program at any instruction; tests/kernels has uretprobes in a recursion.
 */
#ifndef STRATA_BPF_URETPROBE_H
#define STRATA_BPF_URETPROBE_H

#include "abi/loss.h"
#include "arch/walk.h"
#include "bpf/mapping.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"

#define URETPROBES_MAX 64  /* MAX_URETPROBE_DEPTH */
#define SLOT_BYTES     128 /* UPROBE_XOL_SLOT_BYTES */

static __always_inline bool in_uprobe_page(const struct scratch *s, __u64 pc)
{
	return s->task.uprobe_page && pc - s->task.uprobe_page < PAGE_BYTES;
}

/* After a walk: if it went by a return address that is half the trampoline's, only the frame before that is kept. */
static __always_inline void uretprobe_cut(struct scratch *s)
{
	struct native_walk *walk = &s->native;

	if (!s->task.torn || walk->count < 2 || s->native_stack.frames[1] != (s->task.torn | 1ull << 63))
		return;
	walk->count = 1;
	walk->hash = hash_mix(walk->hash_seed, s->native_stack.frames[0] & ~(1ull << 63));
	native_end(walk, LOSS_URETPROBE);
}

#ifdef __bpf__

struct return_instance___strata {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance___strata *next;
} __attribute__((preserve_access_index));

struct uprobe_task___strata {
	struct return_instance___strata *return_instances;
	unsigned long vaddr, xol_vaddr;
} __attribute__((preserve_access_index));

struct task_struct___strata {
	struct uprobe_task___strata *utask;
	unsigned int ptrace;
} __attribute__((preserve_access_index));

struct xol_area___strata {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state___strata {
	struct xol_area___strata *xol_area;
} __attribute__((preserve_access_index));

struct mm_struct___strata {
	struct uprobes_state___strata uprobes_state;
	unsigned long flags; /* since 6.18 a struct of bits */
} __attribute__((preserve_access_index));

/* Was the kernel built with uprobes? If not, the verifier does not see the code that depends on this. */
#define HAS_UPROBES bpf_core_field_exists(struct task_struct___strata, utask)

/* The thread's innermost uretprobe that has not fired yet; 0: none. */
static __always_inline __u64 uretprobe_first(const struct scratch *s)
{
	struct uprobe_task___strata *uprobes = (void *)s->task.uprobes;

	return (__u64)BPF_CORE_READ(uprobes, return_instances);
}

/*
 * Checks whether the next uretprobe in the list belongs to the current frame; functions left by longjmp() may still be
 * in the list. 1: it does, or the list has ended. Only few calls lie between the script and this: 5.10 allows eight
 * nested ones.
 */
static __always_inline int uretprobe_search_step_in(struct scratch *s, __u32 unused)
{
	struct native_walk *walk = &s->native;
	struct return_instance___strata *instance = (void *)walk->uretprobe;
	__u64 stack, pushed = walk->behind ? 0 : URETPROBE_PUSHED;

	if (!HAS_UPROBES || !instance)
		return 1;
	walk->uretprobe = (__u64)BPF_CORE_READ(instance, next);
	stack = BPF_CORE_READ(instance, stack);
	if (stack + ARCH_RETURN_BYTES - walk->sp > pushed)
		return 0;
	walk->pc = BPF_CORE_READ(instance, orig_ret_vaddr);
	walk->sp = stack + ARCH_RETURN_BYTES;
	return 1;
}
WALK_LOOP(uretprobe_search, URETPROBES_MAX)

/*
 * From a frame in the trampoline, goes to the true return address. False: it is not known. The list has the order of
 * the stack, so each search begins where the one before ended.
 */
static __always_inline bool uretprobe_return(struct scratch *s)
{
	uretprobe_search(s);
	return !in_uprobe_page(s, s->native.pc);
}

static __always_inline bool is_uprobe_trampoline(struct scratch *s, __u64 page)
{
	__u64 code;

	return !(page & (PAGE_BYTES - 1)) && !walk_read_user(s, &code, sizeof(code), page) &&
	       (code & UPROBE_TRAMPOLINE_MASK) == UPROBE_TRAMPOLINE;
}

/* The target of the call instruction that ends at `behind`; 0: it is not a call. */
static __always_inline __u64 uprobe_call(struct scratch *s, __u64 behind)
{
	__u64 code;

	if (walk_read_user(s, &code, sizeof(code), behind - UPROBE_CALL_BYTES) || (code & 0xff) != UPROBE_CALL)
		return 0;
	return behind + (__s32)(code >> 8);
}

/*
 * If the thread is in a uprobe's trampoline, restores the registers as they were at the probed instruction. The
 * trampoline's system call sets PC and SP to those of the probed instruction, and later back to the trampoline's. It
 * does so one after the other, so one of them may still have the other's value.
 */
static __always_inline bool uprobe_leave_trampoline(struct scratch *s)
{
	struct native_walk *walk = &s->native;
	__u64 page = walk->pc & ~(PAGE_BYTES - 1ull), sp = walk->sp, to;
	__u32 offset = walk->pc & (PAGE_BYTES - 1);

	if (!UPROBE_TRAMPOLINE_SIZE)
		return false;
	if (offset < UPROBE_TRAMPOLINE_SIZE && is_uprobe_trampoline(s, page)) {
		sp += arch_uprobe_pushed(offset);
		if (walk_read_user(s, &to, sizeof(to), sp) || uprobe_call(s, to) != page) {
			sp = walk->sp - 8;
			if (walk_read_user(s, &to, sizeof(to), sp) || uprobe_call(s, to) != page)
				return false;
		}
	} else {
		sp += URETPROBE_PUSHED;
		if (walk_read_user(s, &to, sizeof(to), sp) || to != walk->pc + UPROBE_CALL_BYTES ||
		    !is_uprobe_trampoline(s, uprobe_call(s, to)))
			return false;
	}
	walk->pc = to;
	walk->sp = sp + 8;
	walk->registers[REG_SP] = walk->sp;
	return true;
}

/*
 * The trampoline's system call returns to it in steps. For a moment SP is already the trampoline's, while the PC is
 * still that of the function that is returned to. Then SP points to the pushed registers, which have the same values as
 * the registers now. The number of the system call cannot tell, as sys_uretprobe overwrites it (orig_ax).
 */
static __always_inline void uretprobe_undo_return(struct scratch *s)
{
	static const __u8 numbers[] = URETPROBE_PUSHED_REGISTERS;
	struct native_walk *walk = &s->native;
	__u64 pushed[3] = {};

	if (!URETPROBE_PUSHED || !s->task.no_call || walk_read_user(s, pushed, sizeof(pushed), walk->sp) ||
	    pushed[0] != walk->registers[numbers[0]] || pushed[1] != walk->registers[numbers[1]] ||
	    pushed[2] != walk->registers[numbers[2]])
		return;
	/* Three zeros prove nothing, as memory is full of them. But a return address is behind a call instruction. */
	if (!(pushed[0] | pushed[1] | pushed[2]) &&
	    (walk_read_user(s, pushed, sizeof(pushed[0]), walk->pc - UPROBE_CALL_BYTES) || !ARCH_IS_CALL(pushed[0])))
		return;
	walk->sp += URETPROBE_PUSHED;
	walk->registers[REG_SP] = walk->sp;
}

static __always_inline bool is_behind_call(struct scratch *s, __u64 address)
{
	__u64 code;

	return !walk_read_user(s, &code, sizeof(code), address - sizeof(code)) && arch_ends_in_call(code);
}

/*
 * A function is entered in the kernel: its return address is on top of the stack. If that may be half the trampoline's,
 * it is noted: where the walk goes there, it is cut (uretprobe_cut()).
 */
static __always_inline void uretprobe_note_torn(struct scratch *s)
{
	__u64 top, page = s->task.uprobe_page;

	if (ARCH_LINKS || !page || !s->task.no_call || walk_read_user(s, &top, sizeof(top), s->native.sp) ||
	    (__u8)top != (__u8)page || top == page || is_behind_call(s, top))
		return;
	s->task.torn = top;
}

/* Makes the registers those of the program. */
static __always_inline void uprobe_undo(struct scratch *s)
{
	struct uprobe_task___strata *uprobes = (void *)s->task.uprobes;
	struct native_walk *walk = &s->native;
	__u64 offset, code, to;
	__s32 released;

	if (uprobe_leave_trampoline(s))
		return;
	if (!in_uprobe_page(s, walk->pc)) {
		uretprobe_undo_return(s);
		return;
	}
	offset = walk->pc - BPF_CORE_READ(uprobes, xol_vaddr);
	if (offset < SLOT_BYTES) {
		walk->pc = BPF_CORE_READ(uprobes, vaddr) + offset;
		return;
	}
	walk->behind = 0;
	if (!uretprobe_return(s)) { /* no longer in the list: it has fired */
		released = walk_read_user(s, &code, sizeof(code), walk->pc) ? -1 : arch_uretprobe_epilogue(code);
		if (released < 0 || walk_read_user(s, &to, sizeof(to), walk->sp + released) || !is_behind_call(s, to))
			return;
		walk->pc = to;
		walk->sp += released + 8;
		walk->uretprobe = uretprobe_first(s);
	}
	walk->registers[REG_SP] = walk->sp;
}

/*
 * Called before the walk of a thread that has met uprobes. Global, so that the verifier does not follow its paths
 * through the walk.
 */
__noinline int uprobe_begin(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
	struct mm_struct___strata *mm;

	if (!HAS_UPROBES || !s)
		return 0;
	mm = (void *)s->task.mm;
	s->task.uprobe_page = BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
	s->native.uretprobe = uretprobe_first(s);
	uprobe_undo(s);
	uretprobe_note_torn(s);
	return 0;
}

static __always_inline int uretprobe_mend_step_in(struct scratch *s, __u32 unused)
{
	struct return_instance___strata *instance = (void *)s->native.uretprobe;
	__u64 at, *word;

	if (!HAS_UPROBES || !instance)
		return 1;
	s->native.uretprobe = (__u64)BPF_CORE_READ(instance, next);
	at = snapshot_at(&s->snapshot.header, BPF_CORE_READ(instance, stack), sizeof(*word));
	if ((at & 7) || at >= s->snapshot.header.stack_size)
		return 0;
	walk_opaque(at);
	word = (__u64 *)&s->snapshot.bytes[at & (SNAPSHOT_PAGES * PAGE_BYTES - 8)];
	if (in_uprobe_page(s, *word))
		*word = BPF_CORE_READ(instance, orig_ret_vaddr);
	return 0;
}
WALK_LOOP(uretprobe_mend, URETPROBES_MAX)

/* Puts the true return addresses into the copy of the stack. */
__noinline int uretprobe_mend_snapshot(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);

	if (!HAS_UPROBES || !s || ARCH_LINKS) /* it is not known where LR was saved */
		return 0;
	s->native.uretprobe = uretprobe_first(s);
	uretprobe_mend(s);
	return 0;
}

#else

static inline bool uretprobe_return(struct scratch *s)
{
	(void)s;
	return false;
}

#endif

#endif
