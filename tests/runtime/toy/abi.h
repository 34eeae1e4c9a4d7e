/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the toy interpreter (tests/runtime/interpreter.c) has where, and what of it strata's kernel part is told. */
#ifndef STRATA_TEST_TOY_ABI_H
#define STRATA_TEST_TOY_ABI_H

#include "abi/runtime.h"
#include "abi/types.h"

#define TOY_VERSION 0x0102

struct toy_function {
	__u64 name, file; /* addresses of NUL-terminated ASCII */
	__u32 name_size, file_size;
	__s32 first_line;
	__u32 version;
};

struct toy_frame {
	__u64 caller; /* the frame that called this one, also across native code; 0: the oldest */
	__u64 function;
	__s32 position; /* the line, counted from the function's first */
	__u32 is_entry; /* the first of a run of the loop */
};

struct toy_thread {
	__u64 next;
	__u64 self; /* pthread_self() */
	__u64 frame;
};

#define TOY_THREADS_MAX 64

/* Of one build; the toy has one, and nothing in it can differ. */
struct toy_layout {
	__u64 unused[10];
};
ABI_ASSERT_SIZE(struct toy_layout, sizeof(struct runtime_layout));

/* A struct runtime_process, by other names. */
struct toy_process {
	__u64 threads; /* address of the pointer to the first struct toy_thread */
	__u64 rest[13];
} __attribute__((may_alias));
ABI_ASSERT_SIZE(struct toy_process, sizeof(struct runtime_process));

#endif
