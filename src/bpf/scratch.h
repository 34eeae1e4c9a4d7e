/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch: one CPU's working memory of the sampler, and the state of both walkers. All of it lives in a map value
 * (an ordinary array indexed by CPU: a per-CPU map's value may not exceed 32 KiB), because mutable state on the BPF
 * stack makes the verifier follow every path apart.
 *
 * Copies of the process's entry and interpreter stay here from sample to sample (struct process_cache). Most samples of
 * a CPU are of the same process as the one before. They need no lookup as long as the map `changed` keeps its value.
 */
#ifndef STRATA_BPF_SCRATCH_H
#define STRATA_BPF_SCRATCH_H

#include "bpf/shim.h"

#include "abi/events.h"
#include "abi/files.h"
#include "abi/limits.h"
#include "abi/runtime.h"
#include "abi/tables.h"
#include "abi/types.h"
#include "abi/unwind.h"
#include "arch/walk.h"

#define PAGE_BYTES   4096u
#define WINDOW_SLACK 512u  /* how far below its page a window may start */
#define WINDOW_WORDS 1024u /* > (PAGE_BYTES + WINDOW_SLACK) / 8, a power of two */
#define NATIVE_MEMO  4096u /* rules that are kept; a power of two */
#define MEMO_SLOTS   8192u /* of the index; a power of two */
#define MEMO_SHIFT   51    /* 64 - log2(MEMO_SLOTS) */
#ifndef NATIVE_UNROLL
#define NATIVE_UNROLL 8u /* frames a turn of the walk's loop */
#endif

struct native_memo {
	__u64 key; /* the PC and the generation, mixed */
	struct unwind_rule rule;
};

/*
 * The rules of program counters that were met, in the order in which they were: those of one stack lie side by side.
 * `index` leads to them by the key's hash; but mostly a frame's caller is the one that it had the last time, and that
 * one's place stands in `next`. A stack of 40 frames is a dozen cache lines so, and a few pages, in place of 40 and 16.
 */
struct memo {
	__u32 newest; /* the place that is taken next: the oldest's */
	__u32 pad;
	struct native_memo rules[NATIVE_MEMO];
	__u16 next[NATIVE_MEMO];
	__u16 index[MEMO_SLOTS];
};

enum walks_part { WALKS_BEGIN, WALKS_NATIVE, WALKS_SECOND };

/* How long the walks have taken and may take, ns: see time.h. And how far they are. */
struct walk_time {
	__u64 looked; /* when the clock was looked at */
	__u64 spent;  /* until then */
	__u64 stop;   /* when so much is spent, the walk stops: for good, or to go on later; 0: never */
	__u64 limit;  /* for good; 0: never */
	__u64 whole;  /* of both walks */
	__u32 work;   /* what was done since the clock was looked at, by estimate */
	__u32 walks;  /* enum walks_part */
	__u32 codes;  /* sent */
	__u32 pad;
};

/* What a walk that is out of time keeps: a round number of frames, so that equal stacks are cut equally. */
struct walk_cut {
	__u64 hash;
	__u32 count;
	__u32 pad;
};

/*
 * A walk of a second stack begins with what its runtime is told, and ends with what the sampler needs of it: the first
 * fields of every struct NAME_walk, whose layouts are of type `type` (each as long as a struct runtime_layout). The
 * frames are in s->second_stack.
 */
#define SECOND_STACK_WALK(type)                                                                                        \
	struct walk_cut kept;                                                                                          \
	__u64 hash;          /* of the frames, begun with the process's cookie */                                      \
	__u64 hash_seed;     /* the process's cookie: starts the ids of its functions */                               \
	__u64 sequence;      /* of the sample */                                                                       \
	__u64 thread_id;     /* the thread pointer */                                                                  \
	__u64 stack_pointer; /* the thread's; 0: not known */                                                          \
	__u64 thread; /* where the runtime keeps the thread; 0: it does not know it. Kept for the next sample */       \
	__u32 tgid;                                                                                                    \
	__u32 told;       /* that need not be kept: one or two reads tell it each time */                              \
	__u32 noted;      /* something that holds for the process was found out: runtime_process.noted */              \
	__u32 searched;   /* threads that were looked through in the runtime's lists */                                \
	__u32 is_current; /* the runtime calls one of its threads the current one */                                   \
	__u32 doubt;      /* the innermost frames could not be read, or are not there: what may fault can tell */      \
	__u32 count;      /* frames so far */                                                                          \
	__u32 turn;       /* of the loop, since the walk began */                                                      \
	__u32 loss;       /* enum loss */                                                                              \
	__u32 done;                                                                                                    \
	type layout;

/* struct NAME_walk, of a second stack, and struct NAME_steps: what steps on the native stack keep. */
#include "runtime_states.inc"

#define SECOND_WALK_OF(name) struct name##_walk name;
#define IN_STACK_OF(name)    struct name##_steps name;

struct native_walk {
	__u64 pc, sp, fp;
	__u64 hash;
	struct walk_cut kept;
	__u64 window_start, window_end; /* the addresses that `window` holds */
	__u32 behind; /* what to subtract from the PC for the lookup: 1 for return addresses, 0 for interrupted code */
	__u32 count;  /* frames so far */
	__u32 first;  /* the loop's turn at which it goes on */
	__u32 loss;   /* enum loss, once the walk has ended */
	__u32 done;   /* the walk has ended */
	__u32 known;  /* which of `registers` are those of the current frame, a bit each */
	__u32 unmapped;                     /* ended where user space may know more: no mapping, or no rule yet */
	__u32 mapping_first, mapping_count; /* from the process entry */
	__u64 memo_key;                     /* from its generation */
	__u32 memo_at, memo_last;           /* where the next frame's rule may be, and where the last one's was */
	__u64 uretprobe;                    /* the kernel's next one that may have changed a return address */
	struct mapping_entry mapping;       /* the last one used, of that generation */
	struct {
		IN_STACKS(IN_STACK_OF)
	} steps;
	__u64 registers[ARCH_REGISTERS]; /* by DWARF number, of the innermost frame or the last one that a signal
					  * interrupted; BX's is carried from frame to frame */
	__u64 signal_registers[ARCH_SIGNAL_WORDS];
	__u64 window[WINDOW_WORDS];
};

/* SP and FP as `registers` has them. */
static __always_inline void native_take_registers(struct native_walk *walk)
{
	walk->sp = walk->registers[REG_SP];
	walk->fp = walk->registers[REG_FP];
}

struct second_walk {
	SECOND_STACK_WALK(struct runtime_layout)
};

/* What the kernel part has found of a process by itself: the value of `founds` (find.h). */
struct found_process {
	struct process_entry entry; /* generation 0: nothing was found */
	__u64 position;             /* of its run: when it is overwritten, see found_is_there() */
	process_cookie cookie;
	__u64 looked_at;     /* CLOCK_MONOTONIC, ns */
	__u32 vmas;          /* so many were looked through */
	__u32 unknown;       /* executable mappings of files that were not known */
	__u32 lock_sequence; /* the address space's then: while it stays the same, so do its mappings; 0: not known */
	__u32 pad;
	struct runtime_process runtime; /* RUNTIME_NONE: it has none with a second stack */
	__u64 check;
};
ABI_ASSERT_SIZE(struct found_process, 176);

#define FIND_LEVELS    8u /* inner nodes above each other, of a tree of mappings; a power of two */
#define FIND_STEPS_MAX 512u

/* A node of the tree of mappings. */
struct find_level {
	__u64 words[32];
	__u64 max; /* the last address that it covers */
	__u32 kind, at, is_done, pad;
};

/* A look through a process's mappings. */
struct find {
	__u64 not_before;   /* this CPU has looked through enough until then */
	__u64 hash;         /* of what is mapped: the epoch */
	__u64 runtime_size; /* of the mapping that the runtime is taken from */
	__u32 count, vmas, unknown;
	__u32 busy;            /* the mappings could not be read at that moment */
	__u32 failed, special; /* special: the mapping at hand is the kernel's own */
	__u32 depth;
	__u32 is_empty;           /* no code is mapped: exec is about to */
	__u32 sure;               /* the walk that failed went by what is mapped now */
	__u64 start, end, offset; /* of the mapping at hand */
	struct file_key key;      /* of its file */
	struct file_event event;
	struct find_level levels[FIND_LEVELS];
	__u8 vma[FIND_VMA_BYTES];
	struct mapping_entry mappings[FIND_MAPPINGS_MAX];
};

enum cached_process {
	CACHED_NO_PROCESS,
	CACHED_PROCESS, /* user space has told */
	CACHED_FOUND
};

enum cached_second {
	CACHED_NO_SECOND,
	CACHED_SECOND,
	CACHED_SECOND_TORN /* copied while it was being written anew */
};

/*
 * Whose tables and runtime `process`, `runtime` and `second.layout` are: most samples of a CPU are of the
 * process of the one before, and each lookup in a hash costs several cache lines.
 */
struct process_cache {
	__u64 changed; /* the map's value when they were looked up */
	__u64 thread;  /* as second.thread, of the thread `tid` */
	__u32 tgid;    /* 0: nobody's for the next walk */
	__u32 tid;     /* 0: none */
	__u32 process; /* enum cached_process: it has tables */
	__u32 second;  /* enum cached_second */
	__u32 unnamed; /* the process has files that are still to be named */
};

/* The thread that runs, and its process. */
struct task_facts {
	__u64 mm; /* address of its address space; 0: none */
	__u64 pc; /* where it was interrupted, or entered the kernel */
	__u64 thread_pointer;
	__u64 uprobes;     /* address of what the kernel keeps of those that the thread has met; 0: none */
	__u64 uretprobe;   /* the kernel's first one that may have changed a return address */
	__u64 uprobe_page; /* the kernel's page in its address space, see uretprobe.h; 0: none */
	__u32 flags;       /* PF_* */
	__u32 no_call;     /* it is in the kernel, and not by a system call, or by one that hides it */
	__u64 call;        /* else the number of the call, */
	__u64 arguments[6];
};

struct scratch {
#ifndef __bpf__
	const struct walk_host *host;
#else
	__u64 host_unused;
#endif
	__u32 index;             /* of this element */
	__u32 busy;              /* of those for walks in task context */
	__u64 fault, fault_last; /* the last read that failed: its first byte and its last one */
	__u64 native_fault;      /* of the native walk, during the second stack's */
	__u64 absent;            /* of walks in task context: the thread itself could not read there, either; else 0 */
	__u32 unread;            /* a function's strings or table, or what leads to the thread, could not be read */
	__u32 number;            /* see walk_forget() */
	__u32 snapshot_pages;    /* of the stack, to copy at most */
	__u32 snapshot_hole;     /* so many in a row that cannot be read are its end */
	__u32 pad;
	struct walk_time time;
	__u64 woken; /* up to where user space had read when it was woken last, and 1; 0: never */
	__u64 sequence;
	struct task_facts task;
	struct process_cache cache;
	struct process_entry process;   /* a copy that was checked */
	struct runtime_process runtime; /* the same */
	struct found_process found;     /* CACHED_FOUND: where `process` comes from */
	struct find find;
	struct native_walk native;
	union {
		struct second_walk second;
		SECOND_STACKS(SECOND_WALK_OF)
	};
	struct memo memo;
	struct sample_event sample;
	struct {
		struct stack_event header;
		__u64 frames[KERNEL_FRAMES_MAX + 1];
	} kernel_stack;
	struct {
		struct stack_event header;
		__u64 frames[NATIVE_FRAMES_MAX];
	} native_stack;
	struct {
		struct stack_event header;
		struct second_frame frames[SECOND_FRAMES_MAX];
	} second_stack;
	struct {
		struct code_event header;
		__u8 table[CODE_TABLE_MAX];
	} code;
	struct {
		struct snapshot_event header;
		__u8 bytes[SNAPSHOT_PAGES * PAGE_BYTES];
	} snapshot;
};

/* One step of the hash that names stacks: multiply-xorshift; not cryptographic, 64 bits against accidents. */
static __always_inline __u64 hash_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/* What it was before. */
static __always_inline __u64 hash_unmix(__u64 hash, __u64 value)
{
	hash ^= hash >> 32;
	return hash * 0xf1de83e19937733dull ^ value; /* the factor's inverse */
}

#endif
