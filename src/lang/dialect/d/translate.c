// SPDX-License-Identifier: GPL-2.0-or-later
/* A D script as one for bpftrace: clauses and statements. */
#include <string.h>

#include "lang/dialect/d/translate.h"

static void write_statement(struct d_writer *w, const struct d_expr *expr, bool is_last);

/* --- this-> variables that begin in an inner block --- */

static void declare_inner(struct d_writer *w, const struct d_expr *expr, bool is_inner, uint32_t depth)
{
	const struct d_expr *target;
	const struct d_use *use;
	uint32_t i;

	if (!expr || depth > D_NESTING_MAX)
		return;
	if (expr->kind == D_ASSIGN && expr->kids[0]->kind == D_VARIABLE && expr->kids[0]->scope == D_THIS) {
		target = expr->kids[0];
		use = d_use_of(w, D_THIS, target->text, false);
		for (i = 0; i < w->declared.count && strcmp(w->declared.at[i], target->text) != 0;)
			i++;
		if (i == w->declared.count && !target->kid_count && use && !use->is_carried) {
			if (is_inner)
				translate_line(w->t, "let $%s;", target->text);
			w->c->arena->failed |= vec_push(&w->declared, target->text) != 0;
		}
		declare_inner(w, expr->kids[1], is_inner, depth + 1);
		return;
	}
	for (i = 0; i < expr->kid_count; i++)
		declare_inner(w, expr->kids[i], is_inner || expr->kind == D_IF, depth + 1);
}

/* --- statements --- */

static bool is_exit(const struct d_expr *expr)
{
	return expr->kind == D_CALL && !strcmp(expr->text, "exit");
}

/* is_last: nothing follows in the clause. */
static void write_block(struct d_writer *w, const struct d_expr *block, bool is_last)
{
	uint32_t i;

	if (block->kind != D_BLOCK) {
		write_statement(w, block, is_last);
		return;
	}
	for (i = 0; i < block->kid_count; i++)
		write_statement(w, block->kids[i], is_last && i + 1 == block->kid_count);
}

static void write_if(struct d_writer *w, const struct d_expr *expr, bool is_last)
{
	bool has_else = expr->kid_count > 2 && expr->kids[2];

	translate_line(w->t, "if (%s) {", d_write_condition(w, expr->kids[0], 0));
	for (;;) {
		w->t->depth++;
		write_block(w, expr->kids[1], is_last);
		w->t->depth--;
		if (!has_else || expr->kids[2]->kind != D_IF)
			break;
		/* What the condition has to say would stand between } and else. */
		expr = expr->kids[2];
		has_else = expr->kid_count > 2 && expr->kids[2];
		translate_line(w->t, "} else if (%s) {", d_write_condition(w, expr->kids[0], 0));
	}
	if (has_else) {
		translate_line(w->t, "} else {");
		w->t->depth++;
		write_block(w, expr->kids[2], is_last);
		w->t->depth--;
	}
	translate_line(w->t, "}");
}

static void write_statement(struct d_writer *w, const struct d_expr *expr, bool is_last)
{
	translate_comments(w->t, expr->span.begin);
	if (w->depth > D_NESTING_MAX)
		return;
	w->depth++;
	if (is_exit(expr) && !is_last) {
		/* The rest of the clause runs in D. */
		if (w->t->depth == 1)
			w->ending = expr;
		else
			translate_mark(w->t, "exit()", "bpftrace ends the clause here, D runs the rest of it");
	}
	if (expr->kind != D_COMMA)
		d_hoist(w, expr->kind == D_IF ? expr->kids[0] : expr);
	switch (expr->kind) {
	case D_IF:
		write_if(w, expr, is_last);
		break;
	case D_BLOCK:
		write_block(w, expr, is_last);
		break;
	case D_ASSIGN:
		d_write_assignment(w, expr);
		break;
	case D_COMMA:
		write_statement(w, expr->kids[0], false);
		write_statement(w, expr->kids[1], is_last);
		break;
	case D_STEP:
		translate_line(w->t, "%s;", d_write(w, expr, 0));
		break;
	case D_CALL:
		if (w->ending != expr)
			d_write_action(w, expr);
		break;
	default:
		/* Without an effect, but for what is asked of its value. */
		break;
	}
	w->depth--;
	if (w->t->at < expr->span.end)
		w->t->at = expr->span.end;
}

/* --- what would be printed at the end, but is not in D --- */

static bool is_silent(const struct d_use *use)
{
	if (use->is_aggregation)
		return use->is_printed && use->function && strcmp(use->function, "stddev") &&
		       strcmp(use->function, "llquantize");
	return use->is_assigned && !use->constant && (use->scope != D_THIS || use->is_carried);
}

static bool has_silent(const struct d_writer *w)
{
	size_t i;

	for (i = 0; i < w->uses.count; i++)
		if (is_silent(&w->uses.at[i]))
			return true;
	return false;
}

static void write_clears(struct d_writer *w)
{
	size_t i;

	for (i = 0; i < w->uses.count; i++)
		if (is_silent(&w->uses.at[i]))
			translate_line(w->t, "clear(%s);", d_write_map(w, &w->uses.at[i]));
}

/* The clause that is the only one of END, and always runs; NULL: there is none. */
static const struct d_clause *only_end(const struct d_state *state)
{
	const struct d_clause *found = NULL;
	uint32_t k, count = 0;
	size_t i;

	for (i = 0; i < state->clauses.count; i++) {
		const struct d_clause *clause = &state->clauses.at[i];

		for (k = 0; k < clause->probe_count; k++)
			if (!strcmp(clause->probes[k].parts[3], "END")) {
				count++;
				found = clause->probe_count == 1 && !clause->predicate && clause->body ? clause : NULL;
			}
	}
	return count == 1 ? found : NULL;
}

/* --- clauses --- */

struct written {
	struct translate_piece marks, body;
	const char *point, *condition;
};

static void write_body(struct d_writer *w)
{
	const struct d_expr *body = w->clause->body;

	if (!body) {
		translate_line(w->t, "print(probe);");
		return;
	}
	w->declared.count = 0;
	w->shown.count = 0;
	w->ending = NULL;
	declare_inner(w, body, false, 0);
	write_block(w, body, true);
	translate_comments(w->t, body->span.end);
	d_write_shown(w);
	if (w->clause == only_end(d_state(w->c)))
		write_clears(w);
	if (w->ending)
		d_write_action(w, w->ending);
}

static struct written write_for(struct d_writer *w, const struct d_probe *probe)
{
	const struct d_target target = d_target_of(w, probe);
	struct written ret = {.point = target.point, .condition = target.condition};

	w->target = &target;
	if (target.point && w->clause->predicate) {
		const char *text = d_write_condition(w, w->clause->predicate, ret.condition ? 4 : 0);

		ret.condition = ret.condition ? arena_printf(w->c->arena, "%s && %s", ret.condition, text) : text;
	}
	ret.marks = translate_aside_begin(w->t);
	translate_line(w->t, "%s", "");
	translate_aside_end(w->t, &ret.marks);
	ret.body = translate_aside_begin(w->t);
	if (target.point) {
		w->t->depth = 1;
		write_body(w);
		w->t->depth = 0;
	}
	translate_aside_end(w->t, &ret.body);
	w->target = NULL;
	return ret;
}

static bool same(const struct written *a, const struct written *b)
{
	return a->point && b->point && !strcmp(a->body.text, b->body.text) &&
	       (a->condition == b->condition || (a->condition && b->condition && !strcmp(a->condition, b->condition)));
}

static void write_clause(struct d_writer *w, const struct d_clause *clause)
{
	struct written *all = arena_array(w->c->arena, struct written, clause->probe_count + 1);
	uint32_t i, k, begin, end;

	translate_comments(w->t, clause->span.begin);
	w->clause = clause;
	begin = end = w->t->at > clause->span.begin ? w->t->at : clause->span.begin;
	for (i = 0; all && i < clause->probe_count; i++) {
		w->t->at = begin;
		all[i] = write_for(w, &clause->probes[i]);
		end = w->t->at > end ? w->t->at : end;
	}
	w->t->at = clause->body && clause->body->span.end > end ? clause->body->span.end : end;
	for (i = 0; all && i < clause->probe_count; i = k) {
		for (k = i; k < clause->probe_count && (k == i || same(&all[i], &all[k])); k++)
			translate_again(w->t, &all[k].marks);
		if (!all[i].point)
			continue;
		if (i)
			translate_gap(w->t);
		for (begin = i; begin < k; begin++)
			translate_line(w->t, "%s%s", all[begin].point, begin + 1 < k ? "," : "");
		if (all[i].condition)
			translate_line(w->t, "/%s/", all[i].condition);
		translate_line(w->t, "{");
		translate_again(w->t, &all[i].body);
		translate_line(w->t, "}");
	}
}

/* inline int X = 5; */
static void write_constants(struct d_writer *w)
{
	size_t i;

	for (i = 0; i < w->uses.count; i++) {
		struct d_use *use = &w->uses.at[i];

		if (!use->constant || use->constant->value->kind != D_INT || use->scope != D_GLOBAL)
			continue;
		translate_line(w->t, "#define %s %s", use->name, d_write(w, use->constant->value, 20));
		use->inlined = use->name;
	}
}

static void write_all(struct d_writer *w)
{
	const struct d_state *state = d_state(w->c);
	struct translation *t = w->t;
	size_t i;

	if (state->clauses.count)
		translate_comments(t, state->clauses.at[0].span.begin);
	write_constants(w);
	if (w->c->has_cpu)
		translate_mark(t, "cpu", "what happens on other CPUs counts in bpftrace's language, too");
	for (i = 0; i < state->clauses.count; i++) {
		if (i || t->out.count)
			translate_gap(t);
		write_clause(w, &state->clauses.at[i]);
	}
	translate_comments(t, w->c->report->script.end);
	if (has_silent(w) && !only_end(state)) {
		translate_gap(t);
		translate_line(t, "END");
		translate_line(t, "{");
		t->depth = 1;
		write_clears(w);
		t->depth = 0;
		translate_line(t, "}");
	}
}

/* What nothing is assigned to in the translation is 0. False: all are assigned to that are read. */
static bool forget_unwritten(struct d_writer *w)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < w->uses.count; i++) {
		struct d_use *use = &w->uses.at[i];

		if (!use->is_written && (use->is_aggregation ? use->function != NULL : use->is_assigned)) {
			use->is_assigned = false;
			use->function = NULL;
			changed = true;
		}
		use->is_written = false;
		use->inlined = NULL;
	}
	return changed;
}

void d_translate(struct compiler *c, struct translation *t)
{
	struct d_writer w = {.c = c, .t = t};
	int round;

	d_find_uses(&w);
	for (round = 0; round < 4; round++) {
		translation_deinit(t);
		translation_init(t, c);
		write_all(&w);
		if (!forget_unwritten(&w))
			break;
	}
	vec_free(&w.uses);
	vec_free(&w.shown);
	vec_free(&w.declared);
	vec_free(&w.hoisted);
}
