/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the generated programs, the runtime library (lang/rt, BPF C) and the printing side share: the records of the
 * ring buffer, the counters, the frame, and values with an inner structure.
 */
#ifndef STRATA_LANG_RT_ABI_H
#define STRATA_LANG_RT_ABI_H

#include "abi/types.h"

/* Types of records; those below are the sampler's (abi/events.h). */
enum rt_event_type {
	RT_EVENT_SITE = 64, /* struct rt_event, then what the site's description says */
	RT_EVENT_EXIT = 65  /* struct rt_event, then u64 status */
};

struct rt_event {
	__u32 type;
	__u32 site; /* number of the call in the script that sends it */
};
ABI_ASSERT_SIZE(struct rt_event, 8);

/* In perf's buffers: a packet; its bytes up to `end` follow. */
struct rt_packet {
	struct rt_event event;
	__u64 time;   /* CLOCK_BOOTTIME */
	__u32 offset; /* where the wanted part begins */
	__u32 end;
	__u32 whole; /* bytes of the packet, from its beginning */
	__u32 pad;
};
ABI_ASSERT_SIZE(struct rt_packet, 32);

#define RT_PACKET_MAX 65000 /* bytes: a record of perf's has 65,535 with all its headers */

/*
 * A flag among the parts of a stack that a program asks for (enum stack_part of lang/core/type.h): the probe runs in
 * the traced program's own context, where a walk may take TASK_TIME_NS instead of the shorter limit of an interrupt.
 */
#define RT_STACK_IN_TASK 8
/* And another one: instead of the id there is the address of the second frame; 0: there is none, or it is not known. */
#define RT_STACK_CALLER 16

/* Where the kernel's types have what a path is made of: bytes from their begin. */
enum rt_path_place {
	RT_PATH_MOUNT,      /* struct path */
	RT_PATH_DENTRY,
	RT_PATH_PARENT,     /* struct dentry */
	RT_PATH_LENGTH,
	RT_PATH_NAME,
	RT_PATH_ROOT,       /* struct vfsmount */
	RT_PATH_WITHIN,     /* struct mount: the vfsmount in it */
	RT_PATH_ABOVE,      /* what it is mounted in */
	RT_PATH_MOUNTPOINT, /* and where */
	RT_PATH_FS,         /* struct task_struct */
	RT_PATH_OWN_ROOT,   /* struct fs_struct: the process's root */
	RT_PATH_PLACES = 12
};

/* A path's way to its root. The text, of twice its room, follows; it grows to the front. */
struct rt_path {
	__u64 path; /* address of a struct path */
	__u16 places[RT_PATH_PLACES];
	__u64 at; /* where the text begins */
	__u64 dentry, mount;
	__u64 root_dentry, root_mount; /* where it ends */
	__u64 is_alone;                /* it is in no folder */
};
ABI_ASSERT_SIZE(struct rt_path, 80);

enum rt_counter {
	RT_COUNTER_LOST,        /* records that the ring had no room for */
	RT_COUNTER_NO_FRAME,    /* runs that found no free frame */
	RT_COUNTER_MAP_FULL,    /* updates that a full map refused */
	RT_COUNTER_LOOP_LIMIT,  /* while loops that were cut short */
	RT_COUNTER_DESCENDANTS, /* processes of the command for which the map had no room */
	RT_COUNTER_PYTHON_JIT,  /* signs that the JIT of a Python is on: functions in compiled code are not seen */
	RT_COUNTER_COUNT = 16
};

/* Entries of rt_state. */
enum rt_state {
	RT_STATE_STARTED, /* CLOCK_BOOTTIME when tracing began, for elapsed */
	RT_STATE_EXITED, /* 1: tracing has ended, by exit() or from outside: all programs except `end` return at once */
	RT_STATE_COUNT
};

/* The processes that -c has started, in a section of its own. */
struct rt_command {
	__u64 namespace_device, namespace_inode; /* of strata's own pid namespace; 0: the initial one */
	__u32 tgid;                              /* as that one numbers it */
	__u32 pad;
};
ABI_ASSERT_SIZE(struct rt_command, 24);

#define RT_COMMAND_SECTION ".rodata.command"
#define RT_DESCENDANTS     16384 /* of the command, at one time */

/*
 * A frame holds the variables and temporaries of one run of a program. It is in a map, because the verifier tracks each
 * value on the BPF stack. Each CPU has RT_FRAMES frames, since a program may be interrupted by another one, or by
 * itself. A frame begins with a word that is 1 while it is in use.
 */
#define RT_FRAMES       4
#define RT_FRAME_BUSY   0
#define RT_FRAME_FLOW   4  /* how a loop's body ended: enum rt_flow */
#define RT_FRAME_RESULT 8  /* the program's return value, if its provider uses it */
#define RT_FRAME_FIRST  16 /* variables begin here */
#define RT_FRAME_MAX    262144

/* What join() puts together. */
#define RT_JOIN_STRINGS 16
#define RT_JOIN_BYTES   1024

#define RT_WARNINGS 256 /* sites modulo this warn once */

enum rt_flow { RT_FLOW_NEXT, RT_FLOW_BREAK, RT_FLOW_RETURN };

#define RT_FIRST_AGGREGATE 21         /* TYPE_COUNT of lang/core/type.h */
#define RT_LOOP_MAX        (1u << 23) /* iterations of a loop: the limit of bpf_loop() */

/* What tseries() makes of the values of one interval. */
enum rt_series { RT_SERIES_LAST, RT_SERIES_AVERAGE, RT_SERIES_MINIMUM, RT_SERIES_MAXIMUM, RT_SERIES_SUM };

/* An interval stands at its number modulo the count of them. */
struct rt_series_interval {
	__u64 value;
	__u64 more;   /* of an average: the number of values; of a last value: its time */
	__u64 number; /* nanoseconds / interval + 1; 0: nothing was recorded */
};
ABI_ASSERT_SIZE(struct rt_series_interval, 24);

/*
 * The value of ustack, kstack, pystack and stack: ids of stacks that were sent before. Equal values mean equal stacks.
 */
struct rt_stack_value {
	__u64 kernel, native, second; /* 0: none */
	__u32 tgid;
	__u32 depth;                    /* frames */
	__u16 native_loss, second_loss; /* enum loss of abi/loss.h: why the walk ended early */
	__u32 limit;                    /* frames that were asked for; 0: all */
};
ABI_ASSERT_SIZE(struct rt_stack_value, 40);

#endif
