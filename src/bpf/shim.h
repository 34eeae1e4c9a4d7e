/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim: everything the walkers need from their environment, in the kernel and on the host.
 *
 * The walkers (native.h, second_stack.h) are plain C over a `struct scratch`. In BPF the reads are helper calls and the
 * tables are maps. On the host, `scratch->host` gives both: a callback that reads the watched process's memory (a
 * snapshot, a live process, or bytes that a test made), and pointers to the tables' arrays.
 */
#ifndef STRATA_BPF_SHIM_H
#define STRATA_BPF_SHIM_H

#include "abi/types.h"

/* The least time a read of memory takes, ns, and one that fails: see bpf/time.h. */
#define WALK_READ_NS  80u
#define WALK_FAULT_NS 1200u

#ifdef __bpf__

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Remembers where a read failed: see bpf/resume.h. */
#define walk_read_user(scratch, dst, size, address)                                                                    \
	({                                                                                                             \
		__u64 address_ = (address);                                                                            \
		long err_ = bpf_probe_read_user(dst, size, (const void *)address_);                                    \
                                                                                                                       \
		(scratch)->time.work += WALK_READ_NS;                                                                  \
		if (err_) {                                                                                            \
			(scratch)->time.work += WALK_FAULT_NS;                                                         \
			(scratch)->fault = address_;                                                                   \
			(scratch)->fault_last = address_ + (size)-1;                                                   \
		}                                                                                                      \
		err_;                                                                                                  \
	})

/*
 * Hides a value's range from the compiler, so that it keeps the mask or comparison that follows, which the verifier
 * needs.
 */
#define walk_opaque(value) asm volatile("" : "+r"(value))

/*
 * Notes the address of frame `index` of the second stack (0 for an empty one), for a reader that wants more of that
 * frame. Does nothing in the kernel.
 */
#define walk_note_frame(scratch, index, address) ((void)0)

/*
 * Makes the verifier forget what it knows about a 32-bit number, by storing it in the scratch and loading it again.
 * Where paths that differ only in this number meet, the verifier then follows just one of them.
 */
#define walk_forget(scratch, value)                                                                                    \
	do {                                                                                                           \
		*(volatile __u32 *)&(scratch)->number = value;                                                         \
		value = *(volatile __u32 *)&(scratch)->number;                                                         \
	} while (0)

/* A word at any alignment, in one load; C on the host does not allow this directly. */
#define walk_load_u64(from) (*(const __u64 *)(from))

#else

#include <errno.h>
#include <stdint.h>
#include <string.h>

/*
 * In BPF what is inlined decides whether the verifier follows it. On the host the compiler decides: it makes walks as
 * fast as forced inlining does (measured with test_native_random), in a fifth of the code and of the time to compile.
 */
#undef __always_inline
#define __always_inline inline

struct mapping_entry;
struct unwind_rule;

struct walk_host {
	void *context;
	/* Copies `size` bytes at `address` of the watched process; 0 or -EFAULT. */
	int (*read)(void *context, void *dst, __u32 size, __u64 address);
	__u64 (*clock)(void *context); /* the clock, ns; NULL: walks have no time limit */
	uint64_t *frames;              /* SECOND_FRAMES_MAX: SECOND_FRAMES_MAX; see walk_note_frame(); NULL: not wanted
					*/
	const struct mapping_entry *mappings; /* MAPPINGS_MAX */
	const __u64 *pages;                   /* UNWIND_PAGES_MAX */
	/* Makes the rows of an absent page, if it can; NULL: they stay absent. */
	void (*fill)(void *context, __u32 page);
	void *fill_context;
	const __u32 *const *slabs;       /* UNWIND_SLABS_MAX pointers, NULL where there is none */
	const struct unwind_rule *rules; /* UNWIND_RULES_MAX */
};

#define walk_read_user(scratch, dst, size, address)                                                                    \
	((scratch)->time.work += WALK_READ_NS,                                                                         \
	 (scratch)->host->read((scratch)->host->context, dst, (__u32)(size), address))
#define walk_note_frame(scratch, index, address)                                                                       \
	((scratch)->host->frames ? (void)((scratch)->host->frames[index] = (address)) : (void)0)
#define walk_opaque(value)          ((void)(value))
#define walk_forget(scratch, value) ((void)(scratch), (void)(value))

static inline __u64 walk_load_u64(const void *from)
{
	__u64 word;

	memcpy(&word, from, sizeof(word));
	return word;
}

#endif

/* 1 if a < b, else 0, without a branch. At a branch in a loop the verifier follows both paths in each iteration. */
static __always_inline __u32 walk_less(__u64 a, __u64 b)
{
	__u64 less;

	/* The compiler would recognise this as a comparison. */
	walk_opaque(a);
	walk_opaque(b);
	less = ((~a & b) | (~(a ^ b) & (a - b))) >> 63;
	walk_opaque(less);
	return (__u32)less;
}

#endif
