/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to step from a frame to its caller: the rule that .eh_frame (or its absence) gives for an address.
 *
 * The CFA (canonical frame address) is the value of the stack pointer in the caller, before the call. Each rule says
 * how to compute it, where the caller's frame pointer is, and where the machine's *carried* register (arch/walk.h) is:
 * the one that is restored from frame to frame beside FP. The place of the return address follows from these:
 *
 *   - x86-64: a call pushes it: always at CFA - 8 (psABI AMD64, 3.2.2), or still in a register; the table compiler
 *     refuses code that says otherwise. Carried is BX: the dynamic linker's lazy binding (glibc
 *     sysdeps/x86_64/dl-trampoline.h) keeps its CFA in RBX while it calls C functions, which may save and change it.
 *   - AArch64: a call puts it into the link register x30, which is the carried one: where x30 is saved, there is the
 *     return address. If it is not saved, the function has not called anything yet.
 *
 * In rules for frames, `param` is the slot of the carried register: the caller's value is at CFA - 8 * slot, or see
 * UNWIND_SLOT_*. Kinds that need a number beside the CFA's offset keep both in `cfa_offset`: UNWIND_NUMBERED(offset,
 * number).
 */
#ifndef STRATA_ABI_UNWIND_H
#define STRATA_ABI_UNWIND_H

#include "abi/types.h"

enum unwind_kind {
	UNWIND_NO_RULE = 0,  /* no information covers the address */
	UNWIND_SP = 1,       /* CFA = SP + cfa_offset */
	UNWIND_FP = 2,       /* CFA = FP + cfa_offset */
	UNWIND_REGISTER = 3, /* CFA = register `number` (DWARF) + offset; bpf/native.h says which are known where */
	UNWIND_FP_DEREF = 4, /* CFA = *(FP + offset) + 8 * number: functions that realign their stack (GCC's
			      * DRAP); the slot is at FP - 8 * slot, not relative to the CFA */
	UNWIND_SP_DEREF = 5, /* CFA = *(SP + offset) + 8 * number: hand-written assembly, e.g. libcrypto */
	UNWIND_PLT = 6,      /* CFA = SP + 8 + ((PC & 15) >= cfa_offset ? 8 : 0): lazy-binding stubs */
	UNWIND_SIGNAL = 7,   /* signal trampoline: all registers are saved at SP + cfa_offset (struct sigcontext) */
	UNWIND_END = 8,      /* outermost frame: the return address is undefined here */
	UNWIND_FP_CHAIN = 9, /* no information: trust a frame-pointer chain (JIT code): CFA = FP + 16, FP at CFA - 16 */
	UNWIND_UNSUPPORTED = 10, /* there is information, but strata cannot evaluate it */
	UNWIND_RA_REGISTER = 11, /* CFA = SP + offset, the return address in register `number`: glibc's vfork();
				  * known in innermost and signal frames only */
	UNWIND_SP_INDEXED = 12,  /* CFA = *(SP + 8 * register `number` + offset) + 8: libcrypto's bn_mul_mont() */
	/* Not in any file's table; the walker's answers for addresses without one. */
	UNWIND_NO_TABLE = 13,   /* the file could not be read or compiled */
	UNWIND_NO_MAPPING = 14, /* no executable mapping is known there */
	UNWIND_NO_ANSWER = 15,  /* the file's file system does not answer */
	/* Again in tables. */
	UNWIND_CLONE = 16,       /* as UNWIND_SP, but if RAX is 0 this is where a new thread begins: in clone() */
	UNWIND_OTHER_STACK = 17, /* the function changes stacks: no rule tells on which one its caller is */
	UNWIND_ENTERED = 18,     /* code that runs in the frame of the function that entered it, which a state names:
				  * CFA = (*(*W + 8 * number) & ~3) + offset; W: MAPPING_RULE's word */
	UNWIND_UNLEARNT = 26, /* no information covers the address, and none could be learnt (engine/watch_learn.c) */
	/* Again the walker's answer only. */
	UNWIND_ABSENT = 27,      /* there are no rows for that part of the file yet */
	UNWIND_TABLE_FULL = 28,  /* there is no room for them */
	UNWIND_OVER_BUDGET = 29, /* the code took too long to follow, or could not be followed (engine/analyser.h) */
	/*
	 * Steps of runtimes whose frames are on the native stack: eight kinds for each runtime, defined in its folder's
	 * abi.h, which includes abi/runtime_id.h.
	 */
	UNWIND_STEPS = 32
};

#define UNWIND_STEPS_EACH    8
#define UNWIND_STEP(name, n) (UNWIND_STEPS + UNWIND_STEPS_EACH * RUNTIME_ID_##name + (n))

/* fp_offset: where the caller's FP is saved, relative to the CFA, in bytes; or one of these. */
#define UNWIND_FP_SAME      0        /* FP was not changed */
#define UNWIND_FP_UNDEFINED (-32768) /* FP cannot be recovered: the caller must not need it */
#define UNWIND_FP_AT_FP     (-32767) /* FP was saved where FP points, whatever the CFA: *FP (realigned frames, DRAP) */

/*
 * param of UNWIND_FP_CHAIN. 0: generated code whose frame pointers are on trial. A walk that ends there sends a copy of
 * the stack, from which user space decides, and finishes the walk if they are not to be trusted
 * (engine/watch_generated.c).
 */
#define UNWIND_CHAIN_OF_FILE 1 /* it does not change, so what is derived from its instructions may be cached */
#define UNWIND_CHAIN_KEPT    2 /* generated code after the trial */

/* The carried register's slot, or one of these. */
#define UNWIND_SLOT_SAME      0   /* it was not changed. AArch64: it still holds the return address */
#define UNWIND_SLOT_BESIDE_FP 254 /* in the word above the saved FP: AArch64's frame record */
#define UNWIND_SLOT_UNDEFINED 255 /* it cannot be recovered */
#define UNWIND_SLOT_MAX       254 /* on machines with a link register, one less */

/* The CFA's offset and a number (of a register, or of words) in one field. */
#define UNWIND_NUMBER_MAX               255
#define UNWIND_OFFSET_MAX               ((1 << 23) - 1) /* and as far below */
#define UNWIND_NUMBERED(offset, number) ((offset)*256 + (__s32)(number))
#define UNWIND_NUMBER(rule)             ((__u32)(rule)->cfa_offset & 255)
#define UNWIND_OFFSET(rule)             ((rule)->cfa_offset >> 8)
#define UNWIND_HAS_NUMBER(kind)                                                                                        \
	((kind) == UNWIND_REGISTER || (kind) == UNWIND_FP_DEREF || (kind) == UNWIND_SP_DEREF ||                        \
	 (kind) == UNWIND_RA_REGISTER || (kind) == UNWIND_SP_INDEXED || (kind) == UNWIND_ENTERED)

/*
 * UNWIND_ENTERED: such code moves SP below the frame by what it spills. LuaJIT spills at most 1 KiB (IRIns.s, lj_ir.h,
 * is a byte, in units of 4), and what leaves a trace pushes two words. A pointer to a frame has two flags
 * (CFRAME_RAWMASK, lj_frame.h).
 */
#define UNWIND_SPILL_MAX   1280u
#define UNWIND_FRAME_FLAGS 3ull

struct unwind_rule {
	__s32 cfa_offset; /* bytes; or with a number, see UNWIND_NUMBERED() */
	__s16 fp_offset;  /* bytes from the CFA, or UNWIND_FP_* */
	__u8 kind;        /* enum unwind_kind */
	__u8 param;       /* the carried register's slot, or UNWIND_CHAIN_OF_FILE */
};
ABI_ASSERT_SIZE(struct unwind_rule, 8);

#endif
