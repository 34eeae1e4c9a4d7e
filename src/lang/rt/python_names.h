/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_names: names of Python's functions and files, as rt_python.bpf.c and rt_calls.bpf.c read them. BPF only.
 *
 * Most events are of a function that had one before. So short names are kept, by where the function's code is: by the
 * address of its instruction, or of its code object. What is there stays the function's until the code object is freed,
 * which a place of each of these probes tells (runtime/python/probe_frees.c). Frees are counted, by address; a name is
 * right if its code object's count is still the one with which it was read.
 */
#ifndef STRATA_LANG_RT_PYTHON_NAMES_H
#define STRATA_LANG_RT_PYTHON_NAMES_H

#include <bpf/bpf_core_read.h>

#include "arch/kernel.h"
#include "lang/rt/counters.h"
#include "lang/rt/python_frame.h"
#include "lang/rt/take.h"

/* Short names that were read, and what rt_calls.bpf.c keeps. The maps are weak, as it has them, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_PYTHON_KNOWN);
	__type(key, __u32);
	__type(value, struct rt_python_known);
} rt_python_known SEC(".maps") __weak;

/* How many code objects were freed, by their addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_PYTHON_FREES);
	__type(key, __u32);
	__type(value, __u32);
} rt_python_frees SEC(".maps") __weak;

#define HASH(number) ((number) * 0x9e3779b97f4a7c15ull >> 32)

/* Reads the beginning of the code object at once, for code_word(): no dearer than a word that has to be read anyway. */
static __always_inline void read_head(struct rt_python *p)
{
	if (!bpf_probe_read_user(p->head, sizeof(p->head), (void *)code_here(p)))
		p->head_of = p->code;
}

/* A field of the code object. */
static __always_inline __u64 code_word(struct rt_python *p, __u64 offset)
{
	__u64 at = offset / 8, code = code_here(p);

	opaque(at);
	return p->head_of != code || offset % 8 || at >= RT_PYTHON_CODE_WORDS ? word(code + offset) : p->head[at];
}

/* What is known of this code object is so no longer. */
static __always_inline int forget(__u64 code)
{
	__u32 index = HASH(code) % RT_PYTHON_FREES, *frees = bpf_map_lookup_elem(&rt_python_frees, &index);

	if (frees)
		__sync_fetch_and_add(frees, 1);
	return 0;
}

/* How often that happened, or may have: a program without a frame (rt_enter()) does not know what it was for. */
static __always_inline __u32 frees_of(__u64 code)
{
	__u32 index = HASH(code) % RT_PYTHON_FREES, missed = RT_COUNTER_NO_FRAME;
	const volatile __u32 *frees = bpf_map_lookup_elem(&rt_python_frees, &index);
	const volatile __u64 *misses = bpf_map_lookup_elem(&rt_counters, &missed);

	return (frees ? *frees : 0) + (misses ? (__u32)*misses : 0);
}

/* The beginning of a string, read at once. */
struct short_text {
	__u64 head[RT_PYTHON_HEAD], characters[RT_PYTHON_SHORT / 8];
};

/* False: it could not be read, or not all of it is ASCII, or its head is not known. */
static __always_inline bool read_short(const struct rt_python *p, __u64 string, struct short_text *text, __u64 *length)
{
	__u64 state;

	if (p->text_length == RT_PYTHON_UNKNOWN ||
	    bpf_probe_read_user(text, sizeof(*text), (void *)(string + p->text_base)))
		return false;
	*length = p->text_length ? text->head[1] : text->head[0];
	state = p->text_length ? text->head[3] : text->head[2];
	return ((__u32)state >> p->unicode_compact_shift & 3) == 3;
}

/* Bytes of a text of this length that are in its word `i`, as a mask. Without a branch, as more(). */
static __always_inline __u64 bytes_in_word(__u64 length, __u64 i)
{
	__u64 bits = length * 8 - i * 64, below = bits - 64;

	opaque(bits);
	opaque(below);
	/* All of them, or the lower ones, or, if the text has ended before, none. */
	return ~((__s64)below >> 63) | (((1ull << (bits & 63)) - 1) & ~((__s64)bits >> 63));
}

static __always_inline void zero_text(__u64 *to, __u32 first)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = first; i < RT_PYTHON_TEXT / 8; i++)
		to[i] = 0;
}

/*
 * The number of the address space: each has one of its own, which none after it has (mm_context_t.ctx_id of x86). 0: it
 * cannot be told. Where __state is (Linux 5.14) the helper is there, too (5.11).
 */
static __always_inline __u64 address_space(void)
{
	if (!bpf_core_field_exists(((struct task_struct *)0)->__state) ||
	    !bpf_core_field_exists(((struct mm_struct *)0)->context.ctx_id))
		return 0;
	return bpf_get_current_task_btf()->mm->context.ctx_id;
}

/* A name of the event's, which is known, or may become so. */
struct name {
	__u64 field, space;
	struct rt_python_known *known; /* its place; NULL: it cannot be known */
	__u32 version;
};

/* True: it is known, as long as is_still_known(). */
static __always_inline bool is_known(struct rt_python *p, __u64 field, struct name *name)
{
	const struct rt_python_known *known;
	__u32 index;

	if (!p->place)
		p->place = code_here(p);
	name->field = field;
	name->space = p->frees ? address_space() : 0;
	index = HASH(p->place ^ name->space << 16 ^ field << 8) % RT_PYTHON_KNOWN;
	name->known = name->space && p->place ? bpf_map_lookup_elem(&rt_python_known, &index) : NULL;
	known = name->known;
	if (!known)
		return false;
	name->version = *(volatile const __u32 *)&known->version;
	if (name->version & 1 || known->place != p->place || known->space != name->space || known->field != field)
		return false;
	p->is_noted = *(volatile const __u64 *)&known->is_noted;
	return known->frees == frees_of(known->code);
}

static __always_inline bool is_still_known(const struct name *name)
{
	return *(volatile const __u32 *)&name->known->version == name->version;
}

/*
 * Are frees told in this process? The kernel puts no breakpoint where the program's code is no longer the file's: if
 * something has written it anew, as what puts it on large pages does.
 */
static __always_inline bool are_frees_told(const struct rt_python *p)
{
#ifdef ARCH_BREAKPOINT
	__u8 first = 0;

	bpf_probe_read_user(&first, sizeof(first), (void *)p->frees);
	return first == ARCH_BREAKPOINT;
#else
	return false;
#endif
}

/*
 * Keeps a name. The code object is not freed meanwhile: its frame is on the stack of the thread. x86's stores are seen
 * in their order by all CPUs.
 */
static __always_inline void know(const struct rt_python *p, const struct name *name, const __u64 *text)
{
	struct rt_python_known *known = name->known;
	__u32 i;

	if (!known || !are_frees_told(p) || !rt_take(&known->busy))
		return;
	*(volatile __u32 *)&known->version |= 1;
	asm volatile("" : : : "memory");
	known->frees = frees_of(p->code);
	known->field = (__u32)name->field;
	known->space = name->space;
	known->place = p->place;
	known->code = p->code;
	known->is_noted = 0;
#pragma clang loop unroll(full)
	for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
		known->text[i] = text[i];
	asm volatile("" : : : "memory");
	*(volatile __u32 *)&known->version += 1;
	rt_give_back(&known->busy);
}

/* As read_name(), of a name that is not known yet. */
static __always_inline bool learn_name(struct rt_python *p, const struct name *name, __u64 *to)
{
	struct short_text text;
	__u64 length = 0;
	__u32 i;

	p->is_noted = 0;
	if (!read_short(p, code_word(p, name->field), &text, &length) || length >= RT_PYTHON_SHORT)
		return false;
#pragma clang loop unroll(full)
	for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
		to[i] = text.characters[i] & bytes_in_word(length, i);
	know(p, name, to);
	return true;
}

/*
 * A string of the code object, at this offset of it, if it is short and in ASCII: RT_PYTHON_SHORT bytes, of which the
 * last ones are zeros. False: it is another one, or cannot be read.
 */
static __always_inline bool read_name(struct rt_python *p, __u64 field, __u64 *to)
{
	struct name name;
	__u32 i;

	if (is_known(p, field, &name)) {
#pragma clang loop unroll(full)
		for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
			to[i] = *(volatile const __u64 *)&name.known->text[i];
		if (is_still_known(&name))
			return true;
	}
	return learn_name(p, &name, to);
}

#endif
