/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: what has arrived from the kernel, kept compactly: stacks as arrays of location numbers, functions, and one
 * tally for each distinct (thread, stacks, outcome). Tallies are those of a window: store_take() hands them over, and
 * keeps what they refer to by number. Not thread-safe.
 *
 *   the kernel's ids ── stack_ids, code_ids ──► numbers          forgotten when not named for a while
 *   tallies ─► stacks ─► locations, second_locations ─► codes    by content: each once, whichever process it came from
 *
 * An id is the kernel's name of a stack or function of one process. It starts from the process's cookie, so a
 * reused pid, or a process after exec, has other ids. Contents are kept apart from ids: a thousand interpreters that
 * import the same modules cost what one costs. store_age() forgets old ids and says which, so that the kernel sends
 * them again if they come back. A stack that a sample names and that is not here was lost on the way: the sample
 * counts as stack-missing, and the kernel is asked to send the stack again.
 *
 * store_rebuild() makes the store anew when it has doubled, from 16 MB on. Before, everything whose file is still
 * mapped is named, so that the addresses within one function become one location; then equal stacks are merged. All
 * but ids get new numbers.
 *
 * Threads are told apart only if a result needs it (all but the folded format without -t): otherwise a storm of
 * threads that all do the same would make a tally for each.
 *
 * --max-memory bounds the store and the names given to what is in it, some 150 bytes for each function. They may take
 * half of it, because there are two stores during a rebuild. Near the bound (7/8) what was seen least is dropped, what
 * was seen once, then twice, four times and so on (of what is weighed, for milliseconds), until a quarter is free:
 * first which thread it was (the note
 * `threads`), then the stacks (the loss `evicted`) and the names that no stack uses any more. The samples stay.
 */
#ifndef STRATA_ENGINE_STORE_H
#define STRATA_ENGINE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/events.h"
#include "base/table.h"
#include "base/vec.h"
#include "engine/slices.h"
#include "runtime/runtime.h"

/*
 * A native or kernel address, independent of where the file was mapped. NAMED: only its name is kept, because its file
 * is gone or to merge equal names; `address` is then the same as `named`.
 */
struct location {
	uint32_t object;  /* file index + LOCATION_FILES, or one of the below */
	bool is_return;   /* a return address: belongs to the instruction before it */
	uint64_t address; /* vaddr in the file; the address itself for KERNEL and UNKNOWN */
	uint64_t named;   /* its frame; 0: it has no name yet */
};
enum { LOCATION_KERNEL = 0, LOCATION_UNKNOWN = 1, LOCATION_NAMED = 2, LOCATION_FILES = 3 };

/* What a location is named: a frame's number in the low 32 bits, and these. */
#define LOCATION_FRAME(named) ((uint32_t)(named))
#define LOCATION_ROLE(named)  ((uint8_t)((named) >> 32 & 7)) /* enum runtime_role */
#define LOCATION_IS_EXEC      (1ull << 35)                   /* the kernel has begun to replace the program */
#define LOCATION_HAS_NAME     (1ull << 36)                   /* always */
#define LOCATION_IS_SCHEDULER (1ull << 37)                   /* a function of the kernel's scheduler */

struct second_location {
	uint32_t code; /* number + 1; 0: SECOND_FRAME_EMPTY */
	int32_t position;
};

/* A stack, innermost first: numbers of locations; of second stacks, number << SECOND_FLAG_BITS | flags. */
#define SECOND_FLAG_BITS 4
#define SECOND_FLAGS     (SECOND_FRAME_ENTRY | SECOND_FRAME_UNSURE | SECOND_FRAME_TASK)
struct stack {
	uint32_t count;
	uint8_t runtime; /* enum runtime_id of a second stack; else RUNTIME_NONE */
	uint32_t frames[];
};

/* A function of a runtime's, or a task: then only its name is known. */
struct code {
	uint32_t users; /* how many numbers stand for it */
	const struct runtime *runtime;
	uint16_t version;
	int firstlineno;
	char *name, *file; /* UTF-8; NULL: not known */
	uint8_t *table;
	uint32_t table_size;
	bool complete; /* names and table are all there */
	bool hidden;   /* not in any source: it is not shown */
};

#define STACK_NONE    0          /* the sample has no such stack */
#define STACK_MISSING UINT32_MAX /* it has one that did not arrive */

/* Who has ended a wait: as struct waker, with numbers. */
struct tally_waker {
	uint32_t kernel_stack, native_stack, second_stack; /* number + 1, or STACK_* */
	uint32_t flags;                                    /* 0: it is not known, or was not asked for */
	uint16_t native_loss, second_loss;
	char comm[16];
};

struct tally {
	uint32_t kernel_stack, native_stack, second_stack; /* number + 1, or STACK_* */
	uint32_t tgid, tid;                                /* 0: any thread of this name */
	char comm[16];
	uint16_t native_loss, second_loss;
	uint32_t flags;
	uint32_t waits;  /* enum wait_flag; 0: it ran */
	struct tally_waker waker;
	uint64_t cgroup; /* id of the cgroup v2; 0: not asked for */
	uint64_t count;
	uint64_t weight; /* ns that these stand for; 0: samples are only counted. Not compared, as `count` */
};

/*
 * The order in which tallies are dropped (smallest first) or named (largest first): by samples, or by milliseconds if
 * samples are weighed.
 */
static inline uint64_t tally_worth(const struct tally *tally)
{
	return tally->weight ? tally->weight / 1000000 + 1 : tally->count;
}

/* When and where one sample was taken. */
struct moment {
	uint64_t time;  /* CLOCK_MONOTONIC, ns: the end of a wait */
	uint32_t tally; /* number */
	uint32_t cpu;
	uint64_t weight; /* ns; 0: samples are only counted */
};

/* What was counted since the last store_take(). */
struct tallies {
	struct table ids; /* hash → number + 1 */
	VEC(struct tally) list;
	VEC(struct moment) moments; /* of all samples, in order of arrival, if wanted */
	bool moments_given_up;      /* there would have been more than moments_max: none is there */
	struct slices slices;       /* the same by time, if wanted */
	uint64_t samples;           /* sum of the tallies */
};

struct store {
	struct table location_ids; /* hash → number + 1 */
	VEC(struct location) locations;
	VEC(uint32_t) unnamed;            /* locations */
	struct table second_location_ids; /* hash → number + 1 */
	VEC(struct second_location) second_locations;
	struct table stack_contents; /* hash → number + 1 */
	VEC(struct stack *) stacks;
	struct table code_contents;       /* hash → number + 1, of complete ones */
	VEC(struct code *) codes;         /* NULL: a frame names it, and it has not arrived */
	struct table stack_ids, code_ids; /* the kernel's id → number + 1, and when it was last named: see store.c */
	struct tallies tallies;
	/* Ids of stacks that samples name and that are not here: the caller has the kernel send them again. */
	VEC(uint64_t) missing;
	uint64_t content_bytes; /* of stacks and codes */
	uint32_t turn;          /* goes up with store_age() */
	bool in_windows;        /* store_take() will be called again */
	/* Set before the first sample: merge threads with the same name; keep cgroups, moments, slices, and who
	 * holds a runtime's lock. */
	bool merges_threads, keeps_cgroups, keeps_moments, keeps_slices, keeps_locks;
	size_t moments_max; /* of a window; 0: no limit */
	uint64_t tick_ns;   /* what a sample of the clock weighs; 0: samples are only counted */
};

void store_deinit(struct store *store);

/* 0 or -ENOMEM each. */
int store_location(struct store *store, const struct location *location, uint32_t *ret);
int store_second_location(struct store *store, uint64_t code, int32_t position, uint32_t *ret);
int store_sample(struct store *store, const struct sample_event *sample);
int store_code(struct store *store, const struct code_event *event, const uint8_t *table, uint32_t table_size);
/* Does an event of so many bytes have the text and the table that it says? Only then is the rest of it to be read. */
bool code_event_fits(const struct code_event *event, size_t size);

/*
 * Moves what was counted to *ret, and begins to count again from zero; stacks, locations and ids stay. `more`: it will
 * be called again.
 */
void store_take(struct store *store, bool more, struct tallies *ret);
void tallies_deinit(struct tallies *tallies);

/* Keeps only the names of an object's locations. All of them must have one. */
void store_forget_object(struct store *store, uint32_t object);

/* Is the stack of an id here? */
bool store_has_stack(struct store *store, uint64_t id);
int store_stack(struct store *store, uint64_t id, enum runtime_id runtime, const uint32_t *frames, uint32_t count);

/* Nothing is added any more: frees what only adding needs. */
void store_seal(struct store *store);

/* Frees a stack, by its number in tallies, after store_seal(). */
void store_drop_stack(struct store *store, uint32_t number);

/* By the numbers of tallies and second locations; NULL for none and for what is missing. */
const struct stack *store_stack_at(const struct store *store, uint32_t number);
const struct code *store_code_at(const struct store *store, uint32_t number);
/* By the kernel's id; NULL when it has not arrived. */
const struct code *store_code_of(struct store *store, uint64_t id);

/*
 * To be called at regular intervals (turns): forgets the ids that were not named for STORE_TURNS turns. One turn
 * before, `unsend` is called with each of them: from then on the kernel must treat it as not sent. Returns how many
 * there were.
 */
#define STORE_TURNS 6
size_t store_age(struct store *store, void (*unsend)(void *context, uint64_t id), void *context);

/* Bytes of memory that the store holds. */
uint64_t store_bytes(const struct store *store);

/* What store_rebuild() drops from tallies with a count of at most `threshold`. */
struct store_drop {
	enum {
		STORE_DROP_NOTHING,
		STORE_DROP_THREADS, /* which thread it was */
		STORE_DROP_STACKS, /* that, and the stacks: one tally for each program's name remains, with LOSS_EVICTED
				    */
		STORE_DROP_COUNT
	} what;
	uint64_t threshold;
};

/*
 * Makes the store anew from what its tallies and its recent ids need, merging what is equal. If stacks are dropped,
 * recent ids are not spared: a sample that is on its way just then counts as LOSS_STACK_MISSING. `unsend`: as above.
 * How many samples lost what was to be dropped is added to *dropped. 0, or -ENOMEM with the store as it was.
 */
int store_rebuild(struct store *store, const struct store_drop *drop, void (*unsend)(void *context, uint64_t id),
		  void *context, uint64_t *dropped);

#endif
