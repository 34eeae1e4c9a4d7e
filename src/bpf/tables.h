/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables: how the walkers access the unwind tables of abi/tables.h (BPF maps in the kernel, arrays on the host) and
 * their scratch.
 *
 * The verifier follows a static function again at each call. It checks a global function once, by itself. So a function
 * that is called from many places, but not for each frame, is written as NAME_in(scratch, argument) with one scalar
 * argument, followed by WALK_GLOBAL(type, NAME, argument_type). In BPF this defines a global wrapper; on the host it
 * defines nothing. WALK_CALL(NAME, scratch, argument) calls it. Global functions take the scratch's address. Before
 * 5.12 only numbers can be passed to them: there they take its index, and look it up again.
 *
 * Long loops: after a function NAME_step_in(scratch, index), WALK_LOOP(NAME, count) defines NAME(scratch), which calls
 * it with 0, 1, ... count - 1 until it returns non-zero. In BPF there are two variants, chosen at compile time. The
 * loader takes the one that the kernel supports:
 *
 *   bpf_loop          the kernel's own loop (5.17)
 *   bounded loops     with STRATA_BOUNDED_LOOPS (sampler_bounded.bpf.c), for older kernels
 *
 * The verifier follows each iteration of a bounded loop, and a long loop would exceed its limit. So the step is a
 * global function, which is verified once. A block of WALK_BLOCK iterations is another global function, and the loop
 * over the blocks contains only calls. 256 x 256 iterations cost the verifier a few thousand instructions. Tail calls
 * would cut deep stacks, because there may be only 33.
 */
#ifndef STRATA_BPF_TABLES_H
#define STRATA_BPF_TABLES_H

#include "bpf/scratch.h"
#include "bpf/shim.h"

/* How a global function gets the scratch: by its address (which may be NULL to the verifier), or by its index. */
#ifdef STRATA_BOUNDED_LOOPS
typedef __u32 scratch_ref;
#define SCRATCH_REF(s)  ((s)->index)
#define SCRATCH_OF(ref) scratch_at(ref)
#else
typedef struct scratch *scratch_ref;
#define SCRATCH_REF(s)  (s)
#define SCRATCH_OF(ref) (ref)
#endif

#ifdef __bpf__

/* One element per CPU, and some for walks in task context; the loader sets the count. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_at(__u32 index)
{
	return bpf_map_lookup_elem(&scratches, &index);
}

#define WALK_GLOBAL(type, name, argument_type)                                                                         \
	__noinline type name(scratch_ref scratch, argument_type argument)                                              \
	{                                                                                                              \
		struct scratch *s = SCRATCH_OF(scratch);                                                               \
                                                                                                                       \
		/* clang drops an argument that is unused; the verifier requires it nevertheless */                    \
		walk_opaque(argument);                                                                                 \
                                                                                                                       \
		return s ? name##_in(s, argument) : 0;                                                                 \
	}
#define WALK_CALL(name, s, argument) name(SCRATCH_REF(s), argument)

#ifdef STRATA_BOUNDED_LOOPS

#define WALK_BLOCK 256u

#define WALK_LOOP(name, count)                                                                                         \
	WALK_GLOBAL(int, name##_step, __u32)                                                                           \
	__noinline int name##_block(scratch_ref scratch, __u32 first)                                                  \
	{                                                                                                              \
		__u32 i;                                                                                               \
                                                                                                                       \
		for (i = 0; i < ((count) < WALK_BLOCK ? (count) : WALK_BLOCK); i++)                                    \
			if (name##_step(scratch, first + i))                                                           \
				return 1;                                                                              \
		return 0;                                                                                              \
	}                                                                                                              \
	static __always_inline void name(struct scratch *s)                                                            \
	{                                                                                                              \
		__u32 first;                                                                                           \
                                                                                                                       \
		for (first = 0; first < (count); first += WALK_BLOCK)                                                  \
			if (name##_block(SCRATCH_REF(s), first))                                                       \
				break;                                                                                 \
	}

#else

struct walk_context {
	struct scratch *scratch;
};

#define WALK_LOOP(name, count)                                                                                         \
	static long name##_callback(__u32 i, void *context)                                                            \
	{                                                                                                              \
		int ended = name##_step_in(((struct walk_context *)context)->scratch, i);                              \
                                                                                                                       \
		/* the verifier knows nothing of what a global function returned */                                    \
		walk_opaque(ended);                                                                                    \
		return ended != 0;                                                                                     \
	}                                                                                                              \
	static __always_inline void name(struct scratch *s)                                                            \
	{                                                                                                              \
		struct walk_context context = {.scratch = s};                                                          \
                                                                                                                       \
		bpf_loop(count, name##_callback, &context, 0);                                                         \
	}

#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAPPINGS_MAX + FOUND_MAPPINGS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct mapping_entry);
} mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_PAGES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

/*
 * A slab is an array of blocks. Declared by sizes, not types: if the template has BTF, Linux 6.1 refuses inner maps
 * created without BTF.
 */
struct slab_template {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SLAB_ROWS / UNWIND_BLOCK_ROWS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_BLOCK_ROWS * sizeof(__u32));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_SLABS_MAX);
	__type(key, __u32);
	__array(values, struct slab_template);
} slabs SEC(".maps");

static __always_inline const struct mapping_entry *table_mapping(struct scratch *s, __u32 index)
{
	return bpf_map_lookup_elem(&mappings, &index);
}

static __always_inline const __u64 *table_page(struct scratch *s, __u32 index)
{
	return bpf_map_lookup_elem(&pages, &index);
}

static __always_inline const struct unwind_rule *table_rule(struct scratch *s, __u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

/* The block of a slab that contains a row. */
static __always_inline const __u32 *table_block(struct scratch *s, __u32 index, __u32 row)
{
	void *slab = bpf_map_lookup_elem(&slabs, &index);
	__u32 block = row / UNWIND_BLOCK_ROWS;

	return slab ? bpf_map_lookup_elem(slab, &block) : NULL;
}

#else

#define WALK_TASKS 1 /* bpf/process_maps.h */
#define WALK_GLOBAL(type, name, argument_type)
#define WALK_CALL(name, s, argument) name##_in(s, argument)

#define WALK_LOOP(name, count)                                                                                         \
	static inline void name(struct scratch *s)                                                                     \
	{                                                                                                              \
		__u32 i;                                                                                               \
                                                                                                                       \
		for (i = 0; i < (count); i++)                                                                          \
			if (name##_step_in(s, i))                                                                      \
				break;                                                                                 \
	}

static inline const struct mapping_entry *table_mapping(struct scratch *s, __u32 index)
{
	return index < MAPPINGS_MAX ? &s->host->mappings[index] : NULL;
}

static inline const __u64 *table_page(struct scratch *s, __u32 index)
{
	if (index >= UNWIND_PAGES_MAX)
		return NULL;
	if (s->host->pages[index] == PAGE_ABSENT && s->host->fill)
		s->host->fill(s->host->fill_context, index);
	return &s->host->pages[index];
}

static inline const struct unwind_rule *table_rule(struct scratch *s, __u32 index)
{
	return index < UNWIND_RULES_MAX ? &s->host->rules[index] : NULL;
}

static inline const __u32 *table_block(struct scratch *s, __u32 index, __u32 row)
{
	const __u32 *slab = index < UNWIND_SLABS_MAX ? s->host->slabs[index] : NULL;

	return slab ? slab + (row & (UNWIND_SLAB_ROWS - UNWIND_BLOCK_ROWS)) : NULL;
}

#endif

#endif
