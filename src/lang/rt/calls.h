/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls: what rt_calls.bpf.c sends to `strata calls` about Python's functions: a short record for each function that
 * begins or ends, with the numbers of its code object and its frame; and the names of each code object, once for each
 * process.
 *
 * Frames and code objects are addresses in the program's memory, or made of them. Times are nanoseconds.
 */
#ifndef STRATA_LANG_RT_CALLS_H
#define STRATA_LANG_RT_CALLS_H

#include "lang/rt/abi.h"
#include "lang/rt/python.h"

#define RT_CALLS_THREADS 16384 /* known at one time; beyond, the one seen longest ago is forgotten */
#define RT_CALLS_CODES   65536 /* likewise; it is sent again */
#define RT_CALLS_OPAQUE  1024  /* likewise: calls of functions whose names could not be read */
#define RT_CALLS_FRAMES  (1u << 20) /* that are looked through for the caller that is sent */

/* In addition to enum rt_python_kind: the thread has ended, or runs another program from now on. */
#define RT_CALL_ENDED 16

struct rt_call {
	__u64 time; /* CLOCK_MONOTONIC */
	__u64 cpu;  /* grows while the thread is on a CPU; begins anywhere */
	__u64 frame;
	__u64 object; /* the address of its code object */
	__u64 parent; /* of what begins: the frame that runs it, without the interpreter's own; 0: none, or not known
			 yet (throw, from 3.11 on) */
	__u64 parent_object; /* the address of its code object */
	__u64 code;          /* struct rt_call_code.code */
	__u64 sequence;      /* numbers the thread's records, from 1 on; missing numbers were lost */
	__u32 tid, tgid;     /* as the initial namespace numbers them */
	__u32 kind;          /* enum rt_python_kind, or RT_CALL_ENDED */
	__s32 line;          /* of the call in its caller, of an end its own; 0: not wanted, or not known */
};
ABI_ASSERT_SIZE(struct rt_call, 80);

/* Sent before the first record that names it. Texts are terminated; cut at the size. */
struct rt_call_code {
	__u64 code;
	__s32 first_line;
	__u32 pad;
	char name[RT_PYTHON_TEXT]; /* qualified from 3.11 on */
	char file[RT_PYTHON_TEXT];
};
ABI_ASSERT_SIZE(struct rt_call_code, 16 + 2 * RT_PYTHON_TEXT);

/*
 * Patterns of glob(7) as automatons, several at once: each is a word, whose bit i says that i of the pattern's parts
 * have been found. A part is what matches one byte; asterisks are no parts, but keep a bit. calls/patterns.h makes
 * them.
 */
#define RT_CALLS_PATTERNS 3

struct rt_calls_patterns {
	__u64 into[256][RT_CALLS_PATTERNS]; /* the bits that this byte can lead into */
	__u64 keeps[RT_CALLS_PATTERNS];     /* the bits that every byte keeps */
	__u64 end[RT_CALLS_PATTERNS];       /* the bit that says that the text matches; 0: no pattern */
};

/* The next word, of one pattern. Nothing changes at the end of the text, a byte that is 0. Without branches. */
static inline __attribute__((always_inline)) __u64 rt_calls_step(const volatile struct rt_calls_patterns *patterns,
								   __u32 which, __u64 bits, __u8 byte)
{
	__u64 ended = ((__u64)byte - 1) >> 63;

	/* Else the compiler makes a branch of it, which the verifier follows both ways. */
	__asm__ volatile("" : "+r"(ended));
	ended = 0 - ended;
	return (((bits << 1 & patterns->into[byte][which]) | (bits & patterns->keeps[which])) & ~ended) |
	       (bits & ended);
}

/* Which functions are sent: those that --match wants, and --from's. */
struct rt_calls_wanted {
	struct rt_calls_patterns name, file; /* the first pattern is --match's, the others are --from's */
	__u64 from_has_file;                 /* its file has to match as well */
};

#define RT_CALLS_HEAD    256 /* a power of two */
#define RT_CALLS_SECTION ".rodata.calls"

/* In the frame of a program: the input of rt_python_call(), and room for what it sends. */
struct rt_calls {
	__u32 call_site, code_site;
	__u32 frame_back;        /* of a frame: the next older one */
	__u32 frame_owner, shim; /* there a byte; from this value on it is the interpreter's own; 256: there are none */
	__u32 code_name, code_filename;
	__s32 line; /* rt_python_call_line()'s, or 0 */
	struct rt_event call_event;
	struct rt_call call;
	struct rt_event code_event;
	struct rt_call_code code;
	__u32 head, head_size;    /* the part of a code object with the places of its names and its first line */
	__u64 id, is_wanted;      /* of rt_python_call_decide(): in memory, so that the verifier does not track it */
	__u64 frame, object;      /* the same: the caller that is sent, or 0 */
	__u8 bytes[RT_CALLS_HEAD]; /* the head of the code object */
};
ABI_ASSERT_SIZE(struct rt_calls, 32 + 8 + 80 + 8 + 16 + 2 * RT_PYTHON_TEXT + 40 + RT_CALLS_HEAD);

#endif
