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
	EVENT_SAMPLE = 1,       /* struct sample_event; without a waker only its first SAMPLE_EVENT_BRIEF bytes */
	EVENT_KERNEL_STACK = 2, /* struct stack_event + u64 addresses, innermost first */
	EVENT_NATIVE_STACK = 3, /* struct stack_event + u64 addresses, innermost first */
	EVENT_SECOND_STACK = 4, /* struct stack_event + struct second_frame, innermost first */
	EVENT_CODE = 5,         /* struct code_event with as much of its text as there is + line table */
	EVENT_SNAPSHOT = 6,     /* struct snapshot_event + bytes of the stack */
	EVENT_RESUMED = 7,      /* the same, always without: the user part of an earlier sample, not readable then */
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
	SAMPLE_EXITING = 16, /* the thread has dropped its address space, or given back a borrowed one: no user part */
	/*
	 * A better user part will probably follow, as EVENT_RESUMED with the same `sequence`. In EVENT_RESUMED: it
	 * comes with an EVENT_SNAPSHOT of its own.
	 */
	SAMPLE_RESUMES = 32,
	SAMPLE_VFORK = 64,   /* the thread borrows its parent's address space: runtime data there describe the parent */
	SAMPLE_VERIFY = 128, /* a copy follows as EVENT_SNAPSHOT, for --verify */
	SAMPLE_CURRENT = 256,  /* the interpreter calls the thread its current one: it holds the GIL, if there is one */
	SAMPLE_UNJUDGED = 512, /* not known yet whether a filter excludes it: user space decides */
	SAMPLE_HAS_LOCK = 1024 /* set by user space: its runtime has such a lock; SAMPLE_CURRENT tells who holds it */
};

/* What a thread off the CPU waited for: the number of its system call, and these flags. */
enum wait_flag {
	WAIT_NUMBER = 0xffff,
	WAIT_OFF_CPU = 1 << 16,      /* always */
	WAIT_NO_CALL = 1 << 17,      /* it was in no system call */
	WAIT_PREEMPTED = 1 << 18,    /* it was still runnable: it waited for a CPU */
	WAIT_STOPPED = 1 << 19,      /* it was stopped, by a signal or a debugger */
	WAIT_RUNTIME_LOCK = 1 << 20, /* set by user space: it waited on a futex in its runtime's own data */
	WAIT_UNJUDGED = 1 << 21      /* during the wait: not known yet whether a filter excludes the thread */
};

/* Who has ended a wait, and where it stood. Other bits of its flags are those of enum sample_flag. */
enum waker_flag {
	WAKER_KNOWN = 1 << 16,      /* there is one */
	WAKER_IDLE = 1 << 17,       /* the CPU was idle: an interrupt */
	WAKER_NO_STACK = 1 << 18,   /* its stack was not taken */
	WAKER_UNRECORDED = 1 << 19, /* its process is not watched, or filters exclude it: no user part */
	WAKER_THREAD = 1 << 20,     /* of those without a stack: it was no interrupt */
};

struct waker {
	__u64 kernel_stack, native_stack, second_stack; /* ids; 0: none */
	__u16 native_loss, second_loss;
	__u32 flags; /* 0: the rest means nothing */
	char comm[16];
};
ABI_ASSERT_SIZE(struct waker, 48);

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
	__u64 weight;   /* off the CPU: the time that the sample stands for, ns */
	__u64 argument; /* off the CPU: first argument of its system call */
	struct waker waker;     /* last, as it is sent only if there is one */
};
ABI_ASSERT_SIZE(struct sample_event, 168);

/* Bytes that each sample takes in the ring, which is sized by them (RING_BYTES_PER_TICK). */
#define SAMPLE_EVENT_BRIEF 120
_Static_assert(__builtin_offsetof(struct sample_event, waker) == SAMPLE_EVENT_BRIEF, "the waker is last");

struct stack_event {
	struct event_header header;
	__u64 id;
	__u64 time;
	process_cookie cookie;
	__u32 tgid;
	__u32 count; /* frames that follow */
	__u32 loss;  /* enum loss: why the walk ended; of a kernel stack LOSS_NONE */
	__u32 pad;
};
ABI_ASSERT_SIZE(struct stack_event, 48);

/* Set in an address of a native stack that is a return address: it belongs to the instruction before it. */
#define NATIVE_RETURN_ADDRESS (1ull << 63)

/*
 * Flags of a frame of a second stack, which a runtime keeps of its own frames beside the native stack
 * (runtime/runtime.h).
 */
enum second_frame_flag {
	SECOND_FRAME_ENTRY = 1, /* the outermost frame of one run of the interpreter loop */
	SECOND_FRAME_UNSURE =
		2, /* an innermost frame that is another thread's, unless this thread has an interpreter loop for it */
	SECOND_FRAME_EMPTY = 4, /* not a frame: this run of the loop has none yet, or no longer has one; code is 0 */
	SECOND_FRAME_TASK = 8   /* not a frame: the task, `code`, whose outermost frame follows */
};

struct second_frame {
	__u64 code;     /* id of the function: EVENT_CODE */
	__s32 position; /* position in the function, in the runtime's units: the line is derived from it */
	__u32 flags;    /* enum second_frame_flag */
};
ABI_ASSERT_SIZE(struct second_frame, 16);

/* A string of a function, at most CODE_STRING_MAX bytes, in the runtime's encoding: the runtime's folder decodes it. */
struct code_string {
	__u32 length; /* of the whole string, in the runtime's units */
	__u16 kind;   /* its encoding, as the runtime's folder numbers them; 0: could not be read */
	__u16 bytes;  /* bytes copied, */
	__u32 at;     /* from here in the event's text */
};

/* Tasks are sent as functions are; only their names are known (SECOND_FRAME_TASK). */
enum code_task {
	CODE_TASK = 1,        /* its name is `name` */
	CODE_TASK_NUMBER = 2, /* its name is a number until somebody asks for it: the text is the runtime's own bytes */
	CODE_TASK_NAMELESS = 3
};

struct code_event {
	struct event_header header;
	__u64 id;
	__u64 address;       /* address of the function's description (its code object) in the process */
	__u64 table_address; /* of the line table's bytes */
	__u32 tgid;
	__u16 runtime;      /* enum runtime_id */
	__u16 version;      /* of the runtime, in its own numbering */
	__s32 firstlineno;  /* the function's */
	__u32 table_size;   /* bytes of the whole line table, or CODE_TABLE_UNREAD */
	__u32 table_copied; /* bytes that follow the strings; less than table_size when too long or unreadable */
	__u32 is_named;     /* its name was read completely */
	__u32 is_task;      /* enum code_task; 0: it is a function */
	__u32 text_bytes; /* of `text` that are sent; the line table follows them */
	struct code_string name, qualname, filename;
	__u32 pad;
	__u8 text[3 * CODE_STRING_MAX]; /* each string begins at a multiple of 8: they are also written by words */
};
#define CODE_EVENT_BRIEF 104 /* bytes without any text */
_Static_assert(__builtin_offsetof(struct code_event, text) == CODE_EVENT_BRIEF, "the text is last");

/* A process has mapped a file that the kernel part does not know, or it has a vDSO, which no other event reports. */
struct file_event {
	struct event_header header;
	__u64 id; /* of the file, or of the process: the event is sent once for each id */
	__u64 time;
	__u64 start, end;
	struct file_key key;
	__u32 tgid;
	__u32 pad;
};
ABI_ASSERT_SIZE(struct file_event, 72);

#define CODE_TABLE_UNREAD 0xffffffffu /* the length of the line table could not be read */

struct snapshot_event {
	struct event_header header;
	__u64 sequence; /* of the sample */
	__u64 time;
	process_cookie cookie;
	__u32 tgid, tid;
	__u64 native_stack; /* SAMPLE_VERIFY: the stack that the kernel found; else 0: there is none yet */
	__u64 pc;
	__u64 registers[REGISTERS_MAX]; /* by DWARF number: as many as the machine has */
	__u64 stack_start;              /* of the first byte copied: the red zone's page (arch/walk.h) */
	__u64 skipped;    /* bytes left out of the stack between the first SNAPSHOT_HEAD pages and the next page */
	__u64 uprobe_page, torn; /* as in struct task_facts */
	__u64 pages;      /* bit N: the N-th page was readable and was copied */
	__u32 stack_size; /* bytes that follow; they include unreadable pages in between, with undefined contents */
	__u32 epoch;      /* SAMPLE_VERIFY: the process_entry.epoch with which the stack was found */
};

/* The offset in the copy of the bytes at an address of the stack. If they were not copied, it is beyond stack_size. */
static inline __attribute__((always_inline)) __u64 snapshot_at(const struct snapshot_event *snapshot, __u64 address,
							       __u64 size)
{
	__u64 at = address - snapshot->stack_start;

	if (!snapshot->skipped || at + size <= SNAPSHOT_HEAD * 4096ull)
		return at;
	return at < SNAPSHOT_HEAD * 4096ull + snapshot->skipped ? ~0ull : at - snapshot->skipped;
}

#endif
