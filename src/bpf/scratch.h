/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scratch: the sampler's working memory on one CPU, with the state of both walkers. All of it lives in a map value (an
 * ordinary array indexed by CPU: a per-CPU map's value may not exceed 32 KiB), because mutable state on the BPF stack
 * makes the verifier follow every path separately.
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
#define NATIVE_MEMO  4096u /* rules that are remembered; a power of two */
#define MEMO_SLOTS   8192u /* of the index; a power of two */
#define MEMO_SHIFT   51    /* 64 - log2(MEMO_SLOTS) */
#ifndef NATIVE_UNROLL
#define NATIVE_UNROLL 8u /* frames per iteration of the walk's loop */
#endif

struct native_memo {
	__u64 key; /* the PC and the generation, mixed */
	struct unwind_rule rule;
};

/*
 * A cache of the rules of program counters, in the order in which they were first used, so that the rules of one stack
 * lie side by side. `index` finds a rule by the hash of its key. But usually a frame has the same caller as the last
 * time, and `next` has the position of that caller's rule. So a stack of 40 frames touches a dozen cache lines in a few
 * pages, instead of 40 in 16.
 */
struct memo {
	__u32 newest; /* the position that is written next: the oldest rule's */
	__u32 pad;
	struct native_memo rules[NATIVE_MEMO];
	__u16 next[NATIVE_MEMO];
	__u16 index[MEMO_SLOTS];
};

enum walks_part { WALKS_BEGIN, WALKS_NATIVE, WALKS_SECOND };

/* How long the walks have taken and may take, ns (time.h), and how far they have come. */
struct walk_time {
	__u64 looked; /* when the clock was last read */
	__u64 spent;  /* until then */
	__u64 stop;   /* the walk stops when this much is spent: for good, or to continue later; 0: never */
	__u64 limit;  /* for good; 0: never */
	__u64 whole;  /* of both walks */
	__u32 work;   /* estimated cost of what was done since the clock was last read */
	__u32 walks;  /* enum walks_part */
	__u32 codes;  /* sent */
	__u32 pad;
};

/*
 * What a walk keeps when its time is over: a multiple of WALK_CUT_FRAMES frames, so that equal stacks are cut equally.
 */
struct walk_cut {
	__u64 hash;
	__u32 count;
	__u32 pad;
};

/*
 * The first fields of every struct NAME_walk, a walk of a second stack: what the runtime is given, and what the sampler
 * reads afterwards. `type` is the type of the runtime's layouts, as long as a struct runtime_layout. The frames are in
 * s->second_stack.
 */
#define SECOND_STACK_WALK(type)                                                                                        \
	struct walk_cut kept;                                                                                          \
	__u64 hash;          /* of the frames, begun with the process's cookie */                                      \
	__u64 hash_seed;     /* the process's cookie: starts the ids of its functions */                               \
	__u64 sequence;      /* of the sample */                                                                       \
	__u64 thread_id;     /* the thread pointer */                                                                  \
	__u64 stack_pointer; /* the thread's; 0: not known */                                                          \
	__u64 thread;        /* address of the runtime's thread state; 0: none. Kept for the next sample */            \
	__u32 tgid;                                                                                                    \
	__u32 told;       /* 1: `thread` need not be kept, as it takes only one or two reads to find */                \
	__u32 noted;      /* a fact about the process was found out: runtime_process.noted */                          \
	__u32 searched;   /* threads that were visited in the runtime's lists */                                       \
	__u32 is_current; /* the runtime calls one of its threads the current one */                                   \
	__u32 doubt; /* the innermost frames could not be read, or do not exist: a walk that may fault can tell which  \
		      */                                                                                               \
	__u32 count; /* frames so far */                                                                               \
	__u32 turn;  /* of the loop, since the walk began */                                                           \
	__u32 loss;  /* enum loss */                                                                                   \
	__u32 done;                                                                                                    \
	type layout;

/*
 * Defines struct NAME_walk for each second stack, and struct NAME_steps: the state of a runtime's steps on the native
 * stack.
 */
#include "runtime_states.inc"

#define SECOND_WALK_OF(name) struct name##_walk name;
#define IN_STACK_OF(name)    struct name##_steps name;

struct native_walk {
	__u64 pc, sp, fp;
	__u64 hash, hash_seed; /* with all frames so far, and with none */
	struct walk_cut kept;
	__u64 window_start, window_end; /* the addresses that `window` holds */
	__u32 behind; /* what to subtract from the PC for the lookup: 1 for return addresses, 0 for interrupted code */
	__u32 count;  /* frames so far */
	__u32 first;  /* the iteration of the loop at which it continues */
	__u32 loss;   /* enum loss, once the walk has ended */
	__u32 done;   /* the walk has ended */
	__u32 known;  /* which of `registers` are known in the current frame, one bit each */
	__u32 unmapped;                     /* it ended where user space may know more: no mapping, or no rule yet */
	__u32 trial; /* number, from 1, of the last frame in code whose frame pointers are on trial; 0: none */
	__u32 trial_pad;
	__u32 mapping_first, mapping_count; /* from the process entry */
	__u64 memo_key;                     /* from its generation */
	__u32 memo_at, memo_last;           /* where the next frame's rule may be, and where the last one's was */
	__u64 uretprobe;              /* address of the next return_instance in the kernel's list; see uretprobe.h */
	struct mapping_entry mapping; /* the last one used, of that generation */
	struct {
		IN_STACKS(IN_STACK_OF)
	} steps;
	__u64 registers[ARCH_REGISTERS]; /* by DWARF number, of the innermost frame or the last one that a signal
					    interrupted; BX is carried from frame to frame */
	__u64 signal_registers[ARCH_SIGNAL_WORDS];
	__u64 window[WINDOW_WORDS];
};

/* Sets sp and fp from `registers`. */
static __always_inline void native_take_registers(struct native_walk *walk)
{
	walk->sp = walk->registers[REG_SP];
	walk->fp = walk->registers[REG_FP];
}

struct second_walk {
	SECOND_STACK_WALK(struct runtime_layout)
};

/*
 * What the kernel part has found about a process by itself: a value of the map `founds` (find.h). User space reads it
 * with sampler_found().
 */
struct found_process {
	struct process_entry entry; /* generation 0: nothing was found */
	__u64 position;             /* of its run in the ring; found_is_there() tells whether it was overwritten */
	process_cookie cookie;
	__u64 looked_at;     /* CLOCK_MONOTONIC, ns */
	__u32 vmas;          /* how many were read */
	__u32 unknown;       /* how many executable mappings are of unknown files */
	__u32 lock_sequence; /* of the address space at that time: while it stays the same, so do the mappings; 0: not
				known */
	__u32 pad;
	struct runtime_process runtime; /* RUNTIME_NONE: it has none with a second stack */
	__u64 check;
};
ABI_ASSERT_SIZE(struct found_process, 208);

#define FIND_LEVELS    8u /* maximum depth of inner nodes in a tree of mappings; a power of two */
#define FIND_STEPS_MAX 3072u

/* A node of the tree of mappings. */
struct find_level {
	__u64 words[32];
	__u64 max; /* the last address that it covers */
	__u32 kind, at, is_done, pad;
};

/* The state of reading a process's mappings. */
struct find {
	__u64 not_before;   /* this CPU has spent enough time on this until then */
	__u64 hash;         /* hash of what is mapped: the epoch */
	__u64 runtime_size; /* size of the mapping from which the runtime was taken */
	__u32 count, vmas, unknown;
	__u32 busy;            /* the mappings could not be read at that moment */
	__u32 failed, special; /* special: the current mapping is the kernel's own */
	__u32 depth;
	__u32 is_empty;           /* no code is mapped: exec is about to */
	__u32 sure;               /* the failed walk used the mappings that are valid now */
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
	CACHED_SECOND_TORN /* copied while it was being overwritten */
};

/*
 * Which process `process`, `runtime` and `second.layout` belong to. Most samples of a CPU are of the same process as
 * the one before, and each lookup in a hash touches several cache lines.
 */
struct process_cache {
	__u64 changed; /* the value of the map `changed` when they were looked up */
	__u64 thread;  /* as second.thread, of the thread `tid` */
	__u32 tgid;    /* 0: not to be used by the next walk */
	__u32 tid;     /* 0: none */
	__u32 process; /* enum cached_process: it has tables */
	__u32 second;  /* enum cached_second */
	__u32 unnamed; /* the keys of some files of the process have not been sent yet */
};

/* The thread that runs, and its process. */
struct task_facts {
	__u64 mm; /* address of its address space; 0: none */
	__u64 pc; /* where it was interrupted, or entered the kernel */
	__u64 thread_pointer;
	__u64 uprobes;     /* address of the thread's struct uprobe_task; 0: none */
	__u64 uretprobe;   /* the kernel's first one that may have changed a return address */
	__u64 uprobe_page; /* the kernel's page in its address space, see uretprobe.h; 0: none */
	__u64 torn;        /* a return address on top of the stack, of which some bytes may be that page's; 0: none */
	__u32 flags;       /* PF_* */
	__u32 borrows;     /* its address space, from the parent that waits in vfork() */
	__u32 no_call;     /* it is in the kernel, but not through a system call that shows in its registers */
	__u64 call;        /* otherwise the number of the system call, */
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
	__u64 native_fault;      /* of the native walk, while the second stack is walked */
	__u64 absent; /* in task context: address of a read that the thread itself could not do, either; else 0 */
	__u32 unread; /* a function's strings or table, or what leads to the thread, could not be read */
	__u32 number; /* see walk_forget() */
	__u64 place;  /* see in_system_call() */
	__u32 snapshot_pages; /* of the stack, to copy at most */
	__u32 snapshot_hole;  /* this many unreadable pages in a row are taken as its end */
	__u32 kernel_frames;  /* of the kernel stack at hand */
	__u64 kernel_sum;     /* its hash */
	struct walk_time time;
	__u64 woken; /* 1 + the position up to which user space had read the ring when it was last woken; 0: never */
	__u64 sequence;
	struct task_facts task;
	struct process_cache cache;
	struct process_entry process;   /* a copy that was checked */
	struct runtime_process runtime; /* the same */
	struct found_process found;     /* CACHED_FOUND: where `process` comes from */
	struct sample_event sample;
	struct native_walk native;
	union {
		struct second_walk second;
		SECOND_STACKS(SECOND_WALK_OF)
	};
	struct memo memo;
	struct find find;
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
		struct code_event header; /* the line table follows its text */
		__u8 table[CODE_TABLE_MAX];
	} code;
	struct {
		struct snapshot_event header;
		__u8 bytes[SNAPSHOT_PAGES * PAGE_BYTES];
	} snapshot;
};

/*
 * One step of the hash that names stacks: multiply-xorshift; not cryptographic: 64 bits make accidental collisions
 * unlikely.
 */
static __always_inline __u64 hash_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/* Of what was found: it does not agree while another CPU writes it. */
static __always_inline __u64 found_check(const struct found_process *found)
{
	__u64 hash = hash_mix(found->entry.tgid, found->entry.check);

	hash = hash_mix(hash_mix(hash, found->position), found->cookie);
	hash = hash_mix(hash_mix(hash, found->looked_at), (__u64)found->vmas << 32 | found->unknown);
	hash = hash_mix(hash, (__u64)found->lock_sequence << 32 | found->runtime.runtime);
	return hash_mix(hash, found->runtime.check);
}

/* What it was before. */
static __always_inline __u64 hash_unmix(__u64 hash, __u64 value)
{
	hash ^= hash >> 32;
	return hash * 0xf1de83e19937733dull ^ value; /* the factor's inverse */
}

#endif
