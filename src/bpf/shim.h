/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim: all that the walkers need from the outside, in the kernel and on the host.
 *
 * The walkers (native.h, second_stack.h) are plain C over a `struct scratch`. In BPF the reads are helper calls and the
 * tables are maps. On the host, `scratch->host` gives both: a callback that reads the watched process's memory (a
 * snapshot, a live process, or bytes that a test made), and pointers to the tables' arrays.
 */
#ifndef STRATA_BPF_SHIM_H
#define STRATA_BPF_SHIM_H

#include "abi/types.h"

/* What a read of memory takes at least, ns, and one that fails: see bpf/time.h. */
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

/* Hides a value's range from the compiler, so that the mask or comparison that follows stays for the verifier. */
#define walk_opaque(value) asm volatile("" : "+r"(value))

/* Where the second stack's frame number `index` is: for who reads more of it. Nobody does in the kernel. */
#define walk_note_frame(scratch, index, address) ((void)0)

/*
 * Has the verifier forget what it knows of a 32-bit number, by a way through the scratch: where paths meet that differ
 * in that alone, it goes on with one of them.
 */
#define walk_forget(scratch, value)                                                                                    \
	do {                                                                                                           \
		*(volatile __u32 *)&(scratch)->number = value;                                                         \
		value = *(volatile __u32 *)&(scratch)->number;                                                         \
	} while (0)

/* A word at any address: one load, which the host's C does not promise. */
#define walk_load_u64(from) (*(const __u64 *)(from))

#else

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct mapping_entry;
struct unwind_rule;

struct walk_host {
	void *context;
	/* Copies `size` bytes at `address` of the watched process; 0 or -EFAULT. */
	int (*read)(void *context, void *dst, __u32 size, __u64 address);
	__u64 (*clock)(void *context); /* ns; NULL: walks may take as long as they like */
	uint64_t *frames; /* SECOND_FRAMES_MAX: where the second stack's frames are, 0 of an empty one; NULL: not wanted
			   */
	const struct mapping_entry *mappings; /* MAPPINGS_MAX */
	const __u64 *pages;                   /* UNWIND_PAGES_MAX */
	/* Makes an absent page's rows, if that can be done; NULL: nobody does. */
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

/* Whether a < b: 1 or 0, by arithmetic. At a branch in a loop the verifier follows both ways in every turn. */
static __always_inline __u32 walk_less(__u64 a, __u64 b)
{
	__u64 less;

	/* The compiler knows this for a comparison. */
	walk_opaque(a);
	walk_opaque(b);
	less = ((~a & b) | (~(a ^ b) & (a - b))) >> 63;
	walk_opaque(less);
	return (__u32)less;
}

#endif
