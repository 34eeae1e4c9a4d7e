/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: what the native walk needs to know about the machine. Plain C, for BPF and the host. Functions take values
 * only; the walk reads the memory that they need.
 *
 *   ARCH_REGISTERS          how many general registers there are; a power of two. By DWARF's numbers:
 *   REG_SP, REG_FP, REG_RESULT, REG_CARRIED
 *                           REG_RESULT: of a system call. REG_CARRIED: the one whose slot a rule has (abi/unwind.h)
 *   REGS_ALL, REGS_SP, REGS_CARRIED, REGS_CALLER_SAVED
 *                           sets of them, a bit each
 *   ARCH_RED_ZONE           bytes below SP that code may use, and unwind rules may refer to
 *   ARCH_LINKS              a call leaves the return address in REG_CARRIED, the link register; else it pushes it,
 *                           ARCH_RETURN_BYTES long, and it lies right below the CFA
 *   ARCH_CODE_ADDRESS()     a return address without its signature (pointer authentication)
 *   arch_record_by_code()   ARCH_LINKS: where the innermost frame's record is, by the code at a PC without a table
 *   ARCH_SIGNAL_WORDS       words of a struct sigcontext, from its first register on
 *   arch_restore_signal()   takes the registers out of these
 *   arch_code_cfa()         where the CFA is, by the code at a PC for which there is no table
 *   ARCH_HAS_LISP           lisp_made_frame() and the other patterns of SBCL's code are there (runtime/sbcl/bpf/step.h)
 *   UPROBE_*, URETPROBE_*, arch_uprobe_pushed(), arch_uretprobe_epilogue(), ARCH_IS_CALL(), arch_ends_in_call()
 *                           what uprobes leave on the stack (bpf/uretprobe.h)
 */
#ifndef STRATA_ARCH_WALK_H
#define STRATA_ARCH_WALK_H

#include "abi/types.h"
#include "arch/target.h"

#if defined(ARCH_X86_64)
#include "arch/x86_64/walk.h"
#elif defined(ARCH_AARCH64)
#include "arch/aarch64/walk.h"
#endif

#endif
