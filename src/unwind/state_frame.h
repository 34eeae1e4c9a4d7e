/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state_frame: where code gets its stack pointer from, if not from the stack: a register leads to a word, which points
 * to a state, which has it.
 *
 *   mov  -0xe10(%r14), %rbp     the state: *(R14 - 0xe10)
 *   ...  call lj_trace_exit
 *   mov  0x50(%rbp), %rcx       the frame: *(state + 0x50)
 *   and  $-4, %rcx
 *   mov  %rcx, %rsp             behind: a rule by SP holds
 *
 * This is how LuaJIT's traces are left (lj_vm_exit_handler() in vm_x64.dasc).
 */
#ifndef STRATA_UNWIND_STATE_FRAME_H
#define STRATA_UNWIND_STATE_FRAME_H

#include "unwind/way_out.h"

struct state_frame {
	unsigned int reg;     /* DWARF number: what it held at the first instruction */
	int32_t word, within; /* SP = *(*(reg + word) + within), less UNWIND_FRAME_FLAGS */
	uint64_t behind;      /* the instruction before which SP is that */
};

/* Follows the code from an address on, without branches. 0; -ENOENT: SP comes from elsewhere; -ENOTSUP, -ENOMEM. */
int state_frame_find(const struct code_arch *arch, const struct way_out_source *source, uint64_t address,
		     struct state_frame *ret);

#endif
