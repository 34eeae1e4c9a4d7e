// SPDX-License-Identifier: GPL-2.0-or-later
/* The frame, and what goes into it and out of it. */
#include <errno.h>
#include <string.h>

#include "lang/gen/gen.h"
#include "lang/provider/provider.h"

static void too_large(struct gen *g)
{
	const char *lower = g->c->setting_words[SETTING_MAX_STRLEN].change;

	if (!g->failed)
		report_error(g->c->report, "gen.size", g->unit->span,
			     "the values of one action take more than %d bytes", RT_FRAME_MAX);
	if (!g->failed && lower)
		report_hint(g->c->report, "%s, or give str() a length", lower);
	g->failed = true;
}

uint32_t gen_temporary(struct gen *g, uint32_t size)
{
	uint32_t offset = (g->used + 7) & ~7u;

	/* One word more: strings are compared and copied by words. */
	g->used = offset + ((size + 7) & ~7u);
	if (g->used > RT_FRAME_MAX - 64) {
		too_large(g);
		g->used = offset = RT_FRAME_FIRST;
	}
	if (g->used > g->used_max)
		g->used_max = g->used;
	return offset;
}

/* An instruction's offset has 16 bits: what is further away is reached by moving the register for a moment. */
static int16_t frame_reach(struct gen *g, uint32_t offset)
{
	if (offset <= INT16_MAX)
		return (int16_t)offset;
	code_alu_imm(g->code, BPF_ADD, REG_FRAME, (int32_t)(offset & ~7u));
	return (int16_t)(offset & 7);
}

static void frame_return(struct gen *g, uint32_t offset)
{
	if (offset > INT16_MAX)
		code_alu_imm(g->code, BPF_SUB, REG_FRAME, (int32_t)(offset & ~7u));
}

void gen_frame_load(struct gen *g, uint32_t size, int to, uint32_t offset)
{
	code_load(g->code, size, to, REG_FRAME, frame_reach(g, offset));
	frame_return(g, offset);
}

void gen_frame_store(struct gen *g, uint32_t size, uint32_t offset, int from)
{
	code_store(g->code, size, REG_FRAME, frame_reach(g, offset), from);
	frame_return(g, offset);
}

void gen_frame_store_imm(struct gen *g, uint32_t size, uint32_t offset, int32_t value)
{
	code_store_imm(g->code, size, REG_FRAME, frame_reach(g, offset), value);
	frame_return(g, offset);
}

void gen_frame_store_place(struct gen *g, uint32_t offset)
{
	code_store_place(g->code, REG_FRAME, frame_reach(g, offset));
	frame_return(g, offset);
}

void gen_frame_address(struct gen *g, int to, uint32_t offset)
{
	code_mov(g->code, to, REG_FRAME);
	code_alu_imm(g->code, BPF_ADD, to, (int32_t)offset);
}

/* More is done by one call of a helper. */
#define ZEROED_BY_WORDS 128

void gen_zero(struct gen *g, uint32_t offset, uint32_t size)
{
	uint32_t at = 0;

	if (size > ZEROED_BY_WORDS) {
		/* A read that fails fills its destination with zeros: one helper call for any size. */
		gen_frame_address(g, R1, offset);
		code_imm(g->code, R2, size);
		code_imm(g->code, R3, 0);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (; at + 8 <= size && !((offset + at) & 7); at += 8)
		gen_frame_store_imm(g, 8, offset + at, 0);
	for (; at < size; at++)
		gen_frame_store_imm(g, 1, offset + at, 0);
}

void gen_copy(struct gen *g, uint32_t to, uint32_t from, uint32_t size)
{
	uint32_t at = 0;

	if (to == from || !size)
		return;
	if (size > 128) {
		gen_frame_address(g, R1, to);
		code_imm(g->code, R2, size);
		gen_frame_address(g, R3, from);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
		return;
	}
	for (; at + 8 <= size && !((to + at) & 7) && !((from + at) & 7); at += 8) {
		gen_frame_load(g, 8, R0, from + at);
		gen_frame_store(g, 8, to + at, R0);
	}
	for (; at + 4 <= size && !((to + at) & 3) && !((from + at) & 3); at += 4) {
		gen_frame_load(g, 4, R0, from + at);
		gen_frame_store(g, 4, to + at, R0);
	}
	for (; at < size; at++) {
		gen_frame_load(g, 1, R0, from + at);
		gen_frame_store(g, 1, to + at, R0);
	}
}

void gen_text(struct gen *g, const char *text, uint32_t offset, uint32_t size)
{
	size_t length = strlen(text);
	uint32_t at;

	if (length > size - 1)
		length = size - 1;
	if (size > length + 64)
		gen_zero(g, offset, size);
	for (at = 0; at < size && (at <= length || size <= length + 64); at += 4) {
		char word[4] = {};
		int32_t value;

		if (at < length)
			memcpy(word, text + at, length - at < 4 ? length - at : 4);
		memcpy(&value, word, sizeof(value));
		if (size - at >= 4 && !((offset + at) & 3)) {
			gen_frame_store_imm(g, 4, offset + at, value);
		} else {
			uint32_t i;

			for (i = 0; i < 4 && at + i < size; i++)
				gen_frame_store_imm(g, 1, offset + at + i, word[i]);
		}
	}
}

void gen_string(struct gen *g, const struct type *type, uint32_t from, uint32_t offset)
{
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, type->size);
	gen_frame_address(g, R3, from);
	code_imm(g->code, R4, type->count);
	code_call_runtime(g->code, "rt_str");
}

void gen_read_string(struct gen *g, uint32_t offset, uint32_t size)
{
	bool by_words = size <= ZEROED_BY_WORDS;

	if (by_words)
		gen_zero(g, offset, size);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, by_words ? "rt_text" : "rt_str");
}

void gen_read(struct gen *g, struct span span, uint32_t offset, uint32_t size)
{
	label kernel = code_label(g->code), fine = code_label(g->code);
	uint32_t mark = g->used, address = 0, fault;

	if (g->c->options->warn_of_helpers) {
		address = gen_temporary(g, 8);
		gen_frame_store(g, 8, address, R0);
	}
	gen_scratch_check(g, size);
	code_mov(g->code, R3, R0);
	fault = gen_fault_address(g);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, "rt_read");
	gen_fault_if_failed(g, fault);
	if (g->c->options->warn_of_helpers) {
		code_jump_if(g->code, BPF_JEQ, R0, 0, fine);
		gen_frame_load(g, 8, R1, address);
		code_jump_if(g->code, BPF_JSLT, R1, 0, kernel);
		gen_helper_warning(g, span, "probe_read_user", -EFAULT, strerror(EFAULT));
		code_jump(g->code, fine);
		code_bind(g->code, kernel);
		gen_helper_warning(g, span, "probe_read_kernel", -EFAULT, strerror(EFAULT));
		code_bind(g->code, fine);
	}
	g->used = mark;
}

bool gen_context_is_typed(const struct gen *g)
{
	return g->unit->provider->program_type == BPF_PROG_TYPE_TRACING ||
	       (g->c->attaches.at[g->unit->first_attach].flags & ATTACH_KEEPS_TYPES);
}

void gen_context_load(struct gen *g, uint32_t size, uint32_t offset)
{
	uint32_t mark = g->used, at;

	if (!gen_context_is_typed(g)) {
		code_load(g->code, size, R0, REG_CTX, (int16_t)offset);
		return;
	}
	at = gen_temporary(g, 8);
	code_load(g->code, 8, R0, REG_CTX, (int16_t)offset);
	gen_frame_store(g, 8, at, R0);
	gen_frame_load(g, size, R0, at);
	g->used = mark;
}

/* struct bpf_pidns_info is {pid, tgid}; zeros where the namespace has no number for the process. */
void gen_pid_tgid(struct gen *g, bool of_initial)
{
	const struct compile_options *options = g->c->options;

	if (of_initial || !options->namespace_inode) {
		code_call(g->code, BPF_FUNC_get_current_pid_tgid);
		return;
	}
	code_store_imm(g->code, 8, R10, SLOT_WORD, 0);
	code_imm(g->code, R1, (int64_t)options->namespace_device);
	code_imm(g->code, R2, (int64_t)options->namespace_inode);
	code_mov(g->code, R3, R10);
	code_alu_imm(g->code, BPF_ADD, R3, SLOT_WORD);
	code_imm(g->code, R4, 8);
	code_call(g->code, BPF_FUNC_get_ns_current_pid_tgid);
	code_load(g->code, 8, R0, R10, SLOT_WORD);
}

void gen_count(struct gen *g, enum rt_counter counter)
{
	code_imm(g->code, R1, counter);
	code_call_runtime(g->code, "rt_count");
}

static void warn(struct gen *g, struct site site)
{
	struct compiler *c = g->c;
	uint32_t number = (uint32_t)c->sites.count;

	if (c->options->hide_warnings)
		return;
	if (vec_push(&c->sites, site)) {
		c->arena->failed = true;
		return;
	}
	code_imm(g->code, R1, number);
	code_call_runtime(g->code, "rt_warn");
}

void gen_warning(struct gen *g, const char *text)
{
	warn(g, (struct site){.kind = SITE_WARNING, .span = g->at, .format = text});
}

void gen_helper_warning(struct gen *g, struct span span, const char *helper, int code, const char *text)
{
	if (g->c->options->warn_of_helpers)
		warn(g,
		     (struct site){.kind = SITE_WARNING, .span = span, .format = text, .helper = helper, .code = code});
}
