/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python_frame: what rt_python.bpf.c and rt_lines.bpf.c read of a frame (python.h). BPF only. */
#ifndef STRATA_LANG_RT_PYTHON_FRAME_H
#define STRATA_LANG_RT_PYTHON_FRAME_H

#define NO_OFFSET 0xffff

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
	SITE_LINE_YIELD
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

/* Where the bytecode begins that the frame executes. */
static __always_inline __u64 bytecode_of(const struct rt_python *p)
{
	__s32 copy = p->code_copies == NO_OFFSET ? 0 : half(p->frame + p->frame_copy);

	/* The number of copies, and they, of which the first one is the code object's own. */
	return copy > 0 ? word(word(p->code + p->code_copies) + 8 + 8 * (__u64)copy) : p->code + p->code_bytecode;
}

#endif
