/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: where the kernel has a program's registers, and its thread pointer; for BPF. bpf/registers.h reads them.
 *
 *   struct arch_registers          as the kernel keeps them, and as the context of a perf event begins
 *   ARCH_COPY_REGISTERS(to, regs)  into to->registers, by DWARF's numbers, and to->pc. A macro, because the verifier
 *                                  rewrites each field access to the context of a perf event: it cannot be passed on as
 *                                  a pointer
 *   arch_in_user_mode(regs)        are they of a program?
 *   arch_in_other_mode(regs)       does it run code of another mode (32 bits)?
 *   arch_no_program(regs)          do they belong to nothing that ever runs in user mode?
 *   arch_call(regs)                the number of the system call that the thread is in; ARCH_NO_CALL: it is in none
 *   ARCH_COPY_ARGUMENTS(to, regs)  that call's six arguments
 *   ARCH_REGISTERS_AT              how far they are from where a kernel stack starts, for kernels without
 *                                  bpf_task_pt_regs(); 0: not known
 *   ARCH_STACK_BYTES               the size of a kernel stack. Interrupts of the kernel run on stacks of their own
 *   ARCH_BREAKPOINT_BYTES          how far the PC is behind a breakpoint that it has met: 0, or ARCH_BREAKPOINT is its
 *                                  byte, and a register of ARCH_PUSHED may have been pushed by the kernel
 *   arch_thread_pointer(task), arch_read_thread_pointer(task)
 *                                  pthread_self() of glibc and musl, or what they find it by. Of a task that
 *                                  bpf_get_current_task_btf() gave, or any
 */
#ifndef STRATA_ARCH_KERNEL_H
#define STRATA_ARCH_KERNEL_H

#include "abi/types.h"
#include "arch/target.h"

#define ARCH_NO_CALL (~0ull)

#if defined(ARCH_X86_64)
#include "arch/x86_64/kernel.h"
#elif defined(ARCH_AARCH64)
#include "arch/aarch64/kernel.h"
#endif

#endif
