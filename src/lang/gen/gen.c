// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs: one for each unit. */
#include "lang/gen/gen.h"

#include <ctype.h>
#include <string.h>

#include "lang/gen/stack_frame.h"
#include "lang/provider/provider.h"

#define PROGRAM_NAME_MAX 112 /* a name in BTF has 127 bytes at most (KSYM_NAME_LEN) */

/* What -p and -c mean, for all kinds of probes whose events happen in processes. */
static void filter_target(struct gen *g, label out)
{
	const struct compile_options *options = g->c->options;

	if (!g->unit->provider->obeys_target || g->unit->is_everywhere || !options->pid)
		return;
	if (options->command_path) {
		code_call_runtime(g->code, "rt_follows");
		code_jump_if(g->code, BPF_JEQ, R0, 0, out);
		return;
	}
	gen_pid_tgid(g, false);
	code_alu_imm(g->code, BPF_RSH, R0, 32);
	code_jump_if(g->code, BPF_JNE, R0, options->pid, out);
}

/* The objects of an iterator are the pointers behind `meta`. Behind the last object they are null. */
static void begin_iteration(struct gen *g, label out)
{
	const struct type *context = g->c->attaches.at[g->unit->first_attach].arguments;
	uint32_t i;

	for (i = 1; i < context->field_count; i++) {
		if (context->fields[i].type->kind != TYPE_POINTER)
			continue;
		gen_context_load(g, 8, context->fields[i].offset);
		code_jump_if(g->code, BPF_JEQ, R0, 0, out);
	}
}

/* meta and its first field, seq, are the first words they lie in. */
void gen_iteration_output(struct gen *g)
{
	code_load(g->code, 8, R1, REG_CTX, 0);
	code_load(g->code, 8, R1, R1, 0);
}

/* A byte for the object: see provider/iter.c. */
static void end_iteration(struct gen *g)
{
	gen_iteration_output(g);
	gen_frame_address(g, R2, RT_FRAME_FIRST);
	code_imm(g->code, R3, 1);
	code_call(g->code, BPF_FUNC_seq_write);
}

/* The frame of one run, in R7: on the BPF stack, or one of the map `frames`. Control goes on to `body`, or out. */
static void take_frame(struct gen *g, bool on_stack, label body, label out)
{
	uint32_t at;

	if (on_stack) {
		code_mov(g->code, REG_FRAME, R10);
		code_alu_imm(g->code, BPF_ADD, REG_FRAME, SLOT_WORD - (int32_t)g->used_max);
		/* What a helper reads must have been written (before Linux 6.3). */
		for (at = 0; at < g->used_max; at += 8)
			gen_frame_store_imm(g, 8, at, 0);
		code_jump(g->code, body);
		return;
	}
	code_load_map(g->code, R1, "frames");
	code_call_runtime(g->code, "rt_enter");
	code_jump_if(g->code, BPF_JEQ, R0, 0, out);
	code_mov(g->code, REG_FRAME, R0);
	code_store(g->code, 8, R10, SLOT_FRAME, REG_FRAME);
	code_store(g->code, 8, R10, SLOT_CTX, REG_CTX);
	gen_frame_store_imm(g, 4, RT_FRAME_FLOW, RT_FLOW_NEXT);
	gen_frame_store_imm(g, 4, RT_FRAME_RESULT, 0);
	code_jump(g->code, body);
}

/* As rt_give_back() of rt/take.h. */
static void give_back_frame(struct gen *g)
{
	code_imm(g->code, R1, -1);
	code_emit(g->code, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_W,
					     .dst_reg = REG_FRAME,
					     .src_reg = R1,
					     .off = RT_FRAME_BUSY,
					     .imm = BPF_ADD});
}

/* What comes before the body, which is there already: where its frame lies follows from it. */
static void gen_entry(struct gen *g, bool on_stack)
{
	label out = code_label(g->code), body = code_label(g->code);

	code_mov(g->code, REG_CTX, R1);
	filter_target(g, out);
	/* At the end, programs may be attached for some time yet: only those of the end run then. */
	if (g->unit->provider->run != RUN_LAST && !unit_is_pinned(g->c, g->unit)) {
		code_call_runtime(g->code, "rt_ended");
		code_jump_if(g->code, BPF_JNE, R0, 0, out);
	}
	take_frame(g, on_stack, body, out);
	code_bind(g->code, out);
	code_imm(g->code, R0, 0);
	code_exit(g->code);
	code_bind(g->code, body);
}

static void gen_body(struct gen *g)
{
	const struct unit *unit = g->unit;
	label done = code_label(g->code);

	if (unit->provider->context == CONTEXT_ITER)
		begin_iteration(g, done);
	if (unit->provider->computes_args) {
		g->code_of(CORE_BEGIN)->scalar(g, NULL);
		code_jump_if(g->code, BPF_JEQ, R0, 0, g->leave);
	}
	if (unit->predicate) {
		gen_scalar(g, unit->predicate);
		code_jump_if(g->code, BPF_JEQ, R0, 0, g->leave);
	}
	gen_statement(g, unit->body);
	code_bind(g->code, g->leave);
	if (unit->provider->context == CONTEXT_ITER && !unit_is_pinned(g->c, unit))
		end_iteration(g);
	code_bind(g->code, done);
}

/*
 * Names of sections and programs are made last, when no unit comes or goes any more: libbpf takes sections of one name
 * for one. Programs of others can be traced by their names, and bpftool shows how they begin.
 */
static void name_unit(struct compiler *c, size_t index)
{
	struct unit *unit = &c->units.at[index];
	char name[PROGRAM_NAME_MAX];
	size_t i;

	snprintf(name, sizeof(name), "%s", c->attaches.at[unit->first_attach].name);
	for (i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]))
			name[i] = '_';
	unit->program = arena_printf(c->arena, "%s_%zu", name, index + 1);
	unit->section = arena_printf(c->arena, "probe.%zu", index);
}

static void gen_unit(struct gen *g, uint32_t index)
{
	const struct unit *unit = &g->c->units.at[index];
	struct function function = {.name = unit->program, .section = unit->section, .unit = index};
	struct code entry = {};
	bool on_stack;

	g->unit = unit;
	g->used = g->used_max = RT_FRAME_FIRST;
	g->in_callback = false;
	if (vec_push(&g->functions, function)) {
		g->c->arena->failed = g->failed = true;
		return;
	}
	g->current = (uint32_t)g->functions.count - 1;
	g->code = &g->functions.at[g->current].code;
	g->leave = code_label(g->code);
	gen_body(g);
	on_stack = !gen_context_is_typed(g) && frame_fits_stack(g->code, g->used_max);
	if (unit->provider->has_result)
		gen_frame_load(g, 4, R0, RT_FRAME_RESULT);
	if (!on_stack)
		give_back_frame(g);
	if (!unit->provider->has_result)
		code_imm(g->code, R0, 0);
	code_exit(g->code);
	if (!on_stack && g->used_max > g->frame_size)
		g->frame_size = g->used_max;

	g->code = &entry;
	gen_entry(g, on_stack);
	g->code = &g->functions.at[g->current].code;
	code_prepend(g->code, &entry);
	code_deinit(&entry);
}

uint32_t gen_data(struct gen *g, const void *bytes, size_t size)
{
	uint32_t at = (uint32_t)g->data.count;

	if (at + size > INT32_MAX || vec_reserve(&g->data, (size + 7) & ~(size_t)7)) {
		g->c->arena->failed = g->failed = true;
		return 0;
	}
	memcpy(g->data.at + at, bytes, size);
	memset(g->data.at + at + size, 0, -size & 7);
	g->data.count += (size + 7) & ~(size_t)7;
	return at;
}

bool gen_all(struct gen *g, struct compiler *c, builtin_codes *code_of)
{
	uint32_t i;
	size_t f;

	*g = (struct gen){.c = c, .code_of = code_of};
	gen_map_divide(c);
	for (i = 0; i < c->units.count && !g->failed; i++) {
		c->unit = &c->units.at[i];
		name_unit(c, i);
		gen_unit(g, i);
	}
	gen_sessions(g);
	for (f = 0; f < g->functions.count && !g->failed; f++) {
		if (code_finish(&g->functions.at[f].code))
			continue;
		report_error(c->report, "gen.long", c->units.at[g->functions.at[f].unit].span,
			     "the action is too long for one program");
		report_hint(c->report, "split it into several probes");
		g->failed = true;
	}
	return !g->failed && !c->report->errors && !c->arena->failed;
}

void gen_deinit(struct gen *g)
{
	size_t i;

	for (i = 0; i < g->functions.count; i++)
		code_deinit(&g->functions.at[i].code);
	vec_free(&g->functions);
	vec_free(&g->data);
}
