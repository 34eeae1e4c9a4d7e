/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python_frame: what rt_python.bpf.c and those of lines read of a frame (python.h). BPF only. */
#ifndef STRATA_LANG_RT_PYTHON_FRAME_H
#define STRATA_LANG_RT_PYTHON_FRAME_H

#define NO_OFFSET     0xffff
#define opaque(value) asm volatile("" : "+r"(value)) /* to the compiler, and so to the verifier */

/* enum python_site_kind of runtime/python/probe_sites.h */
enum {
	SITE_RESUME,
	SITE_THROW,
	SITE_RETURN,
	SITE_YIELD,
	SITE_UNWIND,
	SITE_CALL,
	SITE_LEAVE,
	SITE_RAISE,
	SITE_JIT,
	SITE_LINE,
	SITE_LINE_BEGIN,
	SITE_LINE_END,
	SITE_LINE_PART,
	SITE_LINE_HEAD,
	SITE_LINE_MADE,
	SITE_LINE_POP,
	SITE_LINE_JUMP,
	SITE_LINE_MORE,
	SITE_LINE_RAISE,
	SITE_LINE_MAY_RAISE,
	SITE_LINE_JOINED,
	SITE_LINE_TRACED,
	SITE_LINE_YIELD,
	SITE_FREES
};

/* What cannot be read is 0. */
static __always_inline __u64 word(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

static __always_inline __s32 half(__u64 address)
{
	__s32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

static __always_inline __u64 code_of(const struct rt_python *p)
{
	return word(p->frame + p->frame_code) & ~(__u64)p->code_tag;
}

/* Of an event. */
static __always_inline __u64 code_here(struct rt_python *p)
{
	if (!p->code)
		p->code = code_of(p);
	return p->code;
}

static __always_inline __u64 site_word(const struct rt_python *p, __u8 which, __s32 add)
{
	return p->registers[which & (RT_PYTHON_REGISTERS - 1)] + (__u64)(__s64)add;
}

/* What the place says, of lines: all but the instruction and the flag. */
static __always_inline void begin_site(struct rt_python *p, const struct rt_python_site *site)
{
	p->head_of = p->code = p->place = p->is_noted = p->frees = 0;
	p->site = site->kind;
	p->flags = site->flags;
	p->opcodes = site->opcodes;
	p->frame = site_word(p, site->frame, site->frame_add);
	if (site->flags & RT_PYTHON_FRAME_MEMORY)
		p->frame = word(p->frame);
}

/* Where the bytecode begins that the frame executes. */
static __always_inline __u64 bytecode_of(const struct rt_python *p)
{
	__s32 copy = p->code_copies == NO_OFFSET ? 0 : half(p->frame + p->frame_copy);

	/* The number of copies, and they, of which the first one is the code object's own. */
	return copy > 0 ? word(word(p->code + p->code_copies) + 8 + 8 * (__u64)copy) : p->code + p->code_bytecode;
}

#endif
