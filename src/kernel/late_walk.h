/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late_walk: finishes a late sample on the host. It is the kernel's own walk, bpf/native.h, compiled for the host, on
 * the same tables and on the mappings that the process had at that moment.
 *
 * A sample is late when the walk in the kernel could not know enough: the process is unknown, its tables are older
 * than its last exec, it met an address without a mapping or without its rows, or it ended in generated code whose
 * frame pointers are on trial (engine/watch_generated.c). Such a sample carries its registers
 * and a copy of up to 256 KiB of its stack, to the stack's end where that is known. A larger stack is copied at both
 * ends, 192 and 64 KiB: rustc does all its work behind one frame of 250 KiB.
 *
 * Late samples wake user space. They are the most frequent while the tables of large libraries are compiled, 30 KB
 * each: meanwhile the ring is emptied every few milliseconds (kernel/backlog.h). `late_samples` in --stats counts
 * them. Only the native walk can be made up for. The Python walk runs in the kernel, at that moment or never: a late
 * sample in an interpreter that the kernel was not told about has no Python frames, and is lost to `late`. A copy that
 * finds no room in the ring does not arrive; its sample then is lost to `stack-missing`. With -a, while Python
 * programs start, that is the most frequent loss on kernels where bpf/find.h does not work.
 */
#ifndef STRATA_KERNEL_LATE_WALK_H
#define STRATA_KERNEL_LATE_WALK_H

#include "abi/events.h"
#include "kernel/tables.h"
#include "proc/memory.h"

struct late_walker;
struct native_walk; /* bpf/scratch.h */

/* NULL when memory is short. The tables must outlive the walker. */
struct late_walker *late_walker_create(const struct tables *tables);
void late_walker_destroy(struct late_walker *walker);

/* Who gives the rows of pages that are absent (tables_fill()), by the number of one; else walks end there, as in the
 * kernel. */
void late_walker_fills(struct late_walker *walker, void (*fill)(void *context, uint32_t page), void *context);

/* A stack that was walked. */
struct late_stack {
	const uint64_t *frames; /* innermost first, as an EVENT_NATIVE_STACK has them; valid until the next walk */
	uint32_t count;
	uint16_t loss; /* enum loss: LOSS_NONE if the outermost frame was reached, LOSS_LATE if it is beyond the copy */
	uint64_t id;   /* the kernel would have given this stack the same id */
	const struct native_walk *end; /* the frame at which it ended: pc, behind, known, registers, sp, fp */
};

/* A word of the memory that the last walk read. False if it is not in the copy. */
bool late_read(struct late_walker *walker, uint64_t address, uint64_t *ret);

/*
 * Walks a snapshot with the mappings that its process had at that moment, sorted by address, and its epoch. `bytes` are
 * the stack_size bytes that follow the event. `code`, which may be NULL, reads instructions in these mappings, which
 * are not in the copy: in code with frame pointers and without a table they tell whether a frame exists yet.
 */
struct late_stack late_walk(struct late_walker *walker, const struct mapping_entry *mappings, uint32_t count,
			    uint32_t epoch, const struct snapshot_event *snapshot, const uint8_t *bytes,
			    const struct memory *code);

/*
 * The same for a thread that does not run, on the memory of its process as it is now, which must stay valid as long as
 * late_read() is used. Only the registers, pc and cookie of `registers` are used. Unreadable memory ends the walk with
 * LOSS_STACK_READ.
 */
struct late_stack live_walk(struct late_walker *walker, const struct mapping_entry *mappings, uint32_t count,
			    uint32_t epoch, const struct snapshot_event *registers, uint64_t thread_pointer,
			    const struct memory *memory);

#endif
