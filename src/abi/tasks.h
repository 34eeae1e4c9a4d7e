/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tasks: what the iterator over threads (src/bpf/tasks.bpf.c) reports about each thread. */
#ifndef STRATA_ABI_TASKS_H
#define STRATA_ABI_TASKS_H

#include "abi/limits.h"
#include "abi/types.h"

enum task_flag {
	TASK_ON_CPU = 1,        /* it runs: its registers and its stack are changing */
	TASK_KERNEL_THREAD = 2, /* never runs code of a program */
	TASK_NO_REGISTERS = 4,  /* they could not be read, or are not those of a user program */
	TASK_32_BIT = 8,
	TASK_VFORK = 16 /* borrows its parent's address space */
};

/* A thread as it was at one moment; its kernel stack follows, `kernel_frames` addresses, innermost first. */
struct task_event {
	__u32 size; /* of all of it */
	__u32 kernel_frames;
	__u32 tgid, tid;
	__u32 flags; /* enum task_flag */
	__u32 state; /* the kernel's TASK_* bits; 0: it runs, or would if it had a CPU */
	char comm[16];
	__u64 switches; /* how often it has left a CPU: while this is unchanged, it has not run */
	__u64 start_time;
	__u64 mm; /* address of its address space; 0: none */
	__u64 thread_pointer;
	__u64 pc;
	__u64 registers[REGISTERS_MAX]; /* by DWARF number: as many as the machine has */
	__u64 call;                     /* number of its current system call; ~0: none */
	__u64 arguments[6];
};
ABI_ASSERT_SIZE(struct task_event, 392);

#endif
