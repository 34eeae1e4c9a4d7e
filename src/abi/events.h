/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the ring buffer, from the sampler to user space. Each starts with a `struct event_header`.
 *
 * A stack's id is a 64-bit hash of its frames (and of its process, for native stacks); its frames are sent once, in
 * an EVENT_*_STACK record, before the first sample that names it.
 */
#ifndef STRATA_ABI_EVENTS_H
#define STRATA_ABI_EVENTS_H

#include "abi/files.h"
#include "abi/limits.h"
#include "abi/types.h"

enum event_type {
	EVENT_SAMPLE = 1,       /* struct sample_event */
	EVENT_KERNEL_STACK = 2, /* struct stack_event + u64 addresses, innermost first */
	EVENT_NATIVE_STACK = 3, /* struct stack_event + u64 addresses, innermost first */
	EVENT_SECOND_STACK = 4, /* struct stack_event + struct second_frame, innermost first */
	EVENT_CODE = 5,         /* struct code_event + strings and line table */
	EVENT_SNAPSHOT = 6,     /* struct snapshot_event + bytes of the stack */
	EVENT_RESUMED = 7,      /* struct sample_event: the user part of an earlier sample, not readable then */
	EVENT_FILE = 8          /* struct file_event */
};

/* Ticks of one CPU's clock that the program has seen; a cache line, as each CPU writes its own. */
struct clock_ticks {
	__u64 first, last; /* CLOCK_MONOTONIC, ns */
	__u64 count;
	__u64 pad[5];
};
ABI_ASSERT_SIZE(struct clock_ticks, 64);

struct event_header {
	__u32 type;
	__u32 runtime; /* EVENT_SECOND_STACK: enum runtime_id; else 0 */
};

/*
 * Which incarnation of a process: a hash of tgid, start time and address space. A reused pid and a process after exec
 * get another one.
 */
typedef __u64 process_cookie;

enum sample_flag {
	SAMPLE_KERNEL_THREAD = 1, /* no user part */
	SAMPLE_IN_KERNEL = 2,     /* taken in the kernel; user registers as saved at its entry */
	SAMPLE_LATE = 4,          /* native part follows as EVENT_SNAPSHOT with the same `sequence` */
	SAMPLE_SECOND = 8,        /* the process is known to run a runtime with a second stack */
	SAMPLE_EXITING = 16,      /* the thread has given up its address space, or a borrowed one back: no user part */
	/* Its user part will probably follow, better, as EVENT_RESUMED with its `sequence`. In that one: it comes with
	 * an EVENT_SNAPSHOT of its own. */
	SAMPLE_RESUMES = 32,
	SAMPLE_VFORK =
		64, /* the thread borrows its parent's address space: what the runtime says there is the parent's */
	SAMPLE_VERIFY = 128,  /* a copy follows as EVENT_SNAPSHOT, for a second opinion */
	SAMPLE_CURRENT = 256, /* the interpreter calls the thread its current one: it holds the GIL, if there is one */
	SAMPLE_UNJUDGED = 512 /* whether a filter lets it pass is not known yet: user space decides */
};

/* What a thread that had left its CPU waited for: the number of its system call, and these. */
enum wait_flag {
	WAIT_NUMBER = 0xffff,
	WAIT_OFF_CPU = 1 << 16,      /* always */
	WAIT_NO_CALL = 1 << 17,      /* it was in no system call */
	WAIT_PREEMPTED = 1 << 18,    /* it could have run on: for a CPU */
	WAIT_STOPPED = 1 << 19,      /* it was stopped, by a signal or a debugger */
	WAIT_RUNTIME_LOCK = 1 << 20, /* user space's: on a futex in its runtime's own data */
	WAIT_UNJUDGED = 1 << 21      /* while it waits: whether a filter lets the thread pass was not known yet */
};

struct sample_event {
	struct event_header header;
	__u64 time;     /* CLOCK_MONOTONIC, ns */
	__u64 sequence; /* identifies the sample */
	process_cookie cookie;
	__u64 kernel_stack, native_stack, second_stack; /* ids; 0: none */
	__u32 tgid, tid;
	char comm[16];
	__u16 native_loss; /* enum loss: why the native walk ended before the outermost frame */
	__u16 second_loss;
	__u32 flags;
	__u32 cpu;
	__u32 waits;    /* off the CPU: enum wait_flag; else 0 */
	__u64 cgroup;   /* id of the cgroup (v2) of the thread */
	__u64 weight;   /* off the CPU: the time that it stands for, ns */
	__u64 argument; /* the same: its system call's first one */
};
ABI_ASSERT_SIZE(struct sample_event, 120);

struct stack_event {
	struct event_header header;
	__u64 id;
	__u64 time;
	process_cookie cookie;
	__u32 tgid;
	__u32 count; /* frames that follow */
};
ABI_ASSERT_SIZE(struct stack_event, 40);

/* Set in a native stack's address that is a return address: it belongs to the instruction before it. */
#define NATIVE_RETURN_ADDRESS (1ull << 63)

/* Of a second stack: what a runtime keeps of its own frames beside the native stack (runtime/runtime.h). */
enum second_frame_flag {
	SECOND_FRAME_ENTRY = 1,  /* the outermost frame of one run of the interpreter loop */
	SECOND_FRAME_UNSURE = 2, /* another thread's, unless this one has a loop for it: the innermost frames */
	SECOND_FRAME_EMPTY = 4   /* no frame: this run of the loop has none yet, or none any more; code is 0 */
};

struct second_frame {
	__u64 code;     /* id of the function: EVENT_CODE */
	__s32 position; /* in it, as its runtime counts: the line is made of it */
	__u32 flags;    /* enum second_frame_flag */
};
ABI_ASSERT_SIZE(struct second_frame, 16);

/* A string of a function's, CODE_STRING_MAX bytes at most, as its runtime keeps it: that also decodes it. */
struct code_string {
	__u32 length; /* of the whole string, in the runtime's units */
	__u16 kind;   /* how it is encoded, the runtime's number; 0: could not be read */
	__u16 bytes;  /* bytes copied, from the start of its slot */
};

struct code_event {
	struct event_header header;
	__u64 id;
	__u64 address;       /* of what describes the function in the process */
	__u64 table_address; /* of the line table's bytes */
	__u32 tgid;
	__u16 runtime;      /* enum runtime_id */
	__u16 version;      /* of the runtime, as it writes it */
	__s32 firstlineno;  /* the function's */
	__u32 table_size;   /* bytes of the whole line table, or CODE_TABLE_UNREAD */
	__u32 table_copied; /* bytes that follow the strings; less than table_size when too long or unreadable */
	__u32 is_named;     /* what it is called was read whole */
	struct code_string name, qualname, filename;
	__u8 text[3][CODE_STRING_MAX]; /* in this order; slots of fixed place */
};

/* A process has a file mapped that the kernel part does not know; or it has the vDSO, of which nothing else tells. */
struct file_event {
	struct event_header header;
	__u64 id; /* is sent once for each: the file, or the process */
	__u64 time;
	__u64 start, end;
	struct file_key key;
	__u32 tgid;
	__u32 pad;
};
ABI_ASSERT_SIZE(struct file_event, 72);

#define CODE_TABLE_UNREAD 0xffffffffu /* how long the line table is could not be read */

struct snapshot_event {
	struct event_header header;
	__u64 sequence; /* of the sample */
	__u64 time;
	process_cookie cookie;
	__u32 tgid, tid;
	__u64 native_stack; /* SAMPLE_VERIFY: the stack that was found; else 0: there is none yet */
	__u64 pc;
	__u64 registers[REGISTERS_MAX]; /* by DWARF number: as many as the machine has */
	__u64 stack_start;              /* address of the first byte copied: the start of the stack pointer's page */
	__u64 skipped;                  /* bytes of the stack between what SNAPSHOT_HEAD and what the next page have */
	__u64 pages;                    /* bit N: the N-th page was readable, and is there */
	__u32 stack_size; /* bytes that follow; unreadable pages in between are there, too, with any contents */
	__u32 epoch;      /* SAMPLE_VERIFY: struct process_entry.epoch that the stack was found by */
};

/* Where the bytes at an address of the stack are among those that were copied; or else beyond stack_size. */
static inline __attribute__((always_inline)) __u64 snapshot_at(const struct snapshot_event *snapshot, __u64 address,
							       __u64 size)
{
	__u64 at = address - snapshot->stack_start;

	if (!snapshot->skipped || at + size <= SNAPSHOT_HEAD * 4096ull)
		return at;
	return at < SNAPSHOT_HEAD * 4096ull + snapshot->skipped ? ~0ull : at - snapshot->skipped;
}

#endif
