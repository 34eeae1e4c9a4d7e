// SPDX-License-Identifier: GPL-2.0-or-later
/* A SystemTap script as one for bpftrace: probes and statements. */
#include <string.h>

#include "lang/dialect/stap/translate.h"

#define DEPTH_MAX       200
#define ALIAS_DEPTH_MAX 8

/* --- what is known of variables --- */

struct stap_use *stap_use_of(const struct stap_writer *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->uses.count; i++)
		if (!strcmp(w->uses.at[i].name, name))
			return &w->uses.at[i];
	return NULL;
}

static struct stap_use *use_made(struct stap_writer *w, const char *name)
{
	struct stap_use *use = stap_use_of(w, name);

	if (use)
		return use;
	if (vec_push(&w->uses, (struct stap_use){.name = name})) {
		w->c->arena->failed = true;
		return NULL;
	}
	return &w->uses.at[w->uses.count - 1];
}

static bool is_place(const struct stap_node *node)
{
	return node->kind == STAP_E_VARIABLE || node->kind == STAP_E_ELEMENT;
}

static void learn_stat(struct stap_writer *w, const struct stap_node *node)
{
	static const char *const names[] = {"@count", "@sum", "@min", "@max", "@avg", "@hist_log", "@hist_linear"};
	struct stap_use *use = node->kid_count && is_place(node->kids[0]) ? use_made(w, node->kids[0]->text) : NULL;
	uint32_t i;

	for (i = 0; use && i < STAT_KINDS; i++)
		if (!strcmp(names[i], node->text)) {
			use->stats |= 1u << i;
			if (i == STAT_LINEAR)
				memcpy(use->range, node->range, sizeof(use->range));
		}
}

/* A variable on one side of what must be a text on the other. */
static void learn_text(struct stap_writer *w, const struct stap_node *node, const struct stap_node *like)
{
	struct stap_use *use = is_place(node) && stap_node_is_text(w, like) ? use_made(w, node->text) : NULL;

	if (use)
		use->is_text = true;
}

static void learn_loop(struct stap_writer *w, const struct stap_node *node)
{
	uint32_t first = 2 + !!(node->flags & STAP_WITH_VALUE), i;
	struct stap_use *array = use_made(w, node->text), *key;
	bool is_text;

	if (!array)
		return;
	array->is_read = true;
	for (i = first; i < node->kid_count && i - first < STAP_KEYS_MAX; i++) {
		is_text = array->keys[i - first];
		key = use_made(w, node->kids[i]->text);
		if (key)
			key->is_text |= is_text;
		array = stap_use_of(w, node->text);
	}
}

static void walk(struct stap_writer *w, const struct stap_node *node, uint32_t depth)
{
	struct stap_use *use;
	uint32_t i;

	if (!node || depth > DEPTH_MAX)
		return;
	use = is_place(node) ? use_made(w, node->text) : NULL;
	for (i = 0; use && node->kind == STAP_E_ELEMENT && i < node->kid_count && i < STAP_KEYS_MAX; i++) {
		use->is_array = true;
		if (node->kids[i] && stap_node_is_text(w, node->kids[i]))
			use->keys[i] = true;
	}
	if ((node->kind == STAP_E_ASSIGN || node->kind == STAP_E_STEP) && is_place(node->kids[0])) {
		use = use_made(w, node->kids[0]->text);
		if (use)
			use->is_written = true;
		if (node->kind == STAP_E_ASSIGN && strcmp(node->text, "<<<") != 0)
			learn_text(w, node->kids[0], !strcmp(node->text, ".=") ? node : node->kids[1]);
		for (i = 0; i < node->kids[0]->kid_count; i++)
			walk(w, node->kids[0]->kids[i], depth + 1);
		i = 1;
		/* A statement of x++ does not read it. */
		if (node->kids[0]->kind == STAP_E_ELEMENT)
			walk(w, node->kids[0], depth + 1);
		for (; i < node->kid_count; i++)
			walk(w, node->kids[i], depth + 1);
		return;
	}
	if (use)
		use->is_read = true;
	if (node->kind == STAP_E_BINARY && (!strcmp(node->text, "==") || !strcmp(node->text, "!="))) {
		learn_text(w, node->kids[0], node->kids[1]);
		learn_text(w, node->kids[1], node->kids[0]);
	}
	if (node->kind == STAP_E_STAT || node->kind == STAP_E_HIST)
		learn_stat(w, node);
	if (node->kind == STAP_S_FOREACH)
		learn_loop(w, node);
	for (i = 0; i < node->kid_count; i++)
		walk(w, node->kids[i], depth + 1);
}

static void find_uses(struct stap_writer *w)
{
	const struct stap_state *state = stap_state(w->c);
	size_t i, round;

	for (i = 0; i < state->globals.count; i++)
		if (!state->globals.at[i]->of_tapset) {
			struct stap_use *use = use_made(w, state->globals.at[i]->name);

			if (!use)
				return;
			use->is_global = true;
			use->is_written = state->globals.at[i]->initial != NULL;
			use->is_text = state->globals.at[i]->initial && state->globals.at[i]->type == STAP_STRING;
		}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < state->probes.count; i++)
			walk(w, state->probes.at[i].body, 0);
		for (i = 0; i < state->aliases.count; i++)
			if (!state->aliases.at[i]->is_own)
				walk(w, state->aliases.at[i]->body, 0);
	}
}

/* --- statements --- */

static void write_statement(struct stap_writer *w, const struct stap_node *node, bool is_last);

static bool is_exit(const struct stap_node *node)
{
	return node->kind == STAP_S_EXPRESSION && node->kids[0]->kind == STAP_E_CALL &&
	       !strcmp(node->kids[0]->text, "exit");
}

/* x <<< value: each kind of the statistic that the script asks for. */
static void write_stat(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_node *target = node->kids[0];
	const struct stap_use *use = stap_use_of(w, target->text);
	const char *value = stap_write(w, node->kids[1], 1);
	uint32_t i;

	for (i = 0; use && i < STAT_KINDS; i++) {
		if (!(use->stats & 1u << i))
			continue;
		if (i == STAT_COUNT)
			translate_line(w->t, "%s = count();", stap_write_place(w, target, stap_stat_names[i]));
		else if (i == STAT_LINEAR)
			translate_line(w->t, "%s = lhist(%s, %lld, %lld, %lld);",
				       stap_write_place(w, target, stap_stat_names[i]), value, (long long)use->range[0],
				       (long long)use->range[1], (long long)use->range[2]);
		else
			translate_line(w->t, "%s = %s(%s);", stap_write_place(w, target, stap_stat_names[i]),
				       stap_stat_names[i], value);
	}
}

static void write_assignment(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_node *target = node->kids[0];
	const char *place, *value;

	if (!strcmp(node->text, "<<<") && is_place(target)) {
		write_stat(w, node);
		return;
	}
	if (!is_place(target)) {
		translate_mark(w->t, target->text, "bpftrace's programs do not write to what they watch");
		translate_line(w->t, "%s", "");
		return;
	}
	value = stap_write(w, node->kids[1], 1);
	place = stap_write_place(w, target, "");
	if (!strcmp(node->text, ".="))
		translate_line(w->t, "%s = str_concat(%s, %s);", place, place, value);
	else
		translate_line(w->t, "%s %s %s;", place, node->text, value);
}

static void write_expression(struct stap_writer *w, const struct stap_node *node)
{
	if (node->kind == STAP_E_ASSIGN)
		write_assignment(w, node);
	else if (node->kind == STAP_E_CALL)
		stap_write_action(w, node);
	else if (node->kind == STAP_E_STEP)
		translate_line(w->t, "%s;", stap_write(w, node, 0));
	else
		translate_line(w->t, "%s", "");
}

static void write_inner(struct stap_writer *w, const struct stap_node *node, bool is_last)
{
	w->t->depth++;
	if (node)
		write_statement(w, node, is_last);
	w->t->depth--;
}

static void write_if(struct stap_writer *w, const struct stap_node *node, bool is_last)
{
	translate_line(w->t, "if (%s) {", stap_write(w, node->kids[0], 0));
	write_inner(w, node->kids[1], is_last);
	while (node->kids[2] && node->kids[2]->kind == STAP_S_IF) {
		node = node->kids[2];
		translate_line(w->t, "} else if (%s) {", stap_write(w, node->kids[0], 0));
		write_inner(w, node->kids[1], is_last);
	}
	if (node->kids[2]) {
		translate_line(w->t, "} else {");
		write_inner(w, node->kids[2], is_last);
	}
	translate_line(w->t, "}");
}

static bool has_continue(const struct stap_node *node)
{
	uint32_t i;

	if (!node || node->kind == STAP_S_WHILE || node->kind == STAP_S_FOR || node->kind == STAP_S_FOREACH)
		return false;
	if (node->kind == STAP_S_CONTINUE)
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (has_continue(node->kids[i]))
			return true;
	return false;
}

static void write_loop(struct stap_writer *w, const struct stap_node *node)
{
	bool is_for = node->kind == STAP_S_FOR;
	const struct stap_node *condition = node->kids[is_for ? 1 : 0], *body = node->kids[is_for ? 3 : 1];

	if (is_for && node->kids[0])
		write_expression(w, node->kids[0]);
	if (is_for && has_continue(body))
		translate_mark(w->t, "continue", "the loop's step stands behind it here");
	translate_line(w->t, "while (%s) {", condition ? stap_write(w, condition, 0) : "1");
	write_inner(w, body, false);
	w->t->depth++;
	if (is_for && node->kids[2])
		write_expression(w, node->kids[2]);
	w->t->depth--;
	translate_line(w->t, "}");
}

static void mean(struct stap_writer *w, const struct stap_node *variable, const char *text, bool is_text)
{
	if (vec_push(&w->meanings, (struct stap_meaning){variable->text, text, is_text}))
		w->c->arena->failed = true;
}

static void write_foreach(struct stap_writer *w, const struct stap_node *node)
{
	bool has_value = node->flags & STAP_WITH_VALUE, is_limited = node->kids[1] != NULL;
	uint32_t first = 2 + has_value, count = node->kid_count - first, i, kind;
	const struct stap_use *use = stap_use_of(w, node->text);
	size_t meanings = w->meanings.count;
	const char *loop, *suffix = "", *limit;

	if (!use || !use->is_global || !use->is_written || node->slice) {
		translate_mark(w->t, "foreach", "%s",
			       node->slice ? "bpftrace's loops go over whole maps" : "nothing is in it");
		translate_line(w->t, "%s", "");
		return;
	}
	loop = w->loops ? stap_words(w, "$kv%u", w->loops + 1) : "$kv";
	limit = w->loops ? stap_words(w, "$left%u", w->loops + 1) : "$left";
	for (kind = STAT_KINDS; kind; kind--)
		if (use->stats & 1u << (kind - 1))
			suffix = stap_stat_names[kind - 1];
	if (node->flags & STAP_SORTED)
		translate_mark(w->t, "foreach", "bpftrace's loops over maps have no order: print(@, TOP) has");
	if (is_limited)
		translate_line(w->t, "%s = %s;", limit, stap_write(w, node->kids[1], 1));
	translate_line(w->t, "for (%s : @%s) {", loop,
		       translate_name(w->t, stap_words(w, "%s %s", node->text, suffix),
				      stap_words(w, "%s%s%s", node->text, *suffix ? "_" : "", suffix)));
	w->t->depth++;
	if (is_limited) {
		translate_line(w->t, "if (%s <= 0) {", limit);
		translate_line(w->t, "\tbreak;");
		translate_line(w->t, "}");
		translate_line(w->t, "%s--;", limit);
	}
	w->t->depth--;
	for (i = 0; i < count; i++)
		mean(w, node->kids[first + i],
		     count > 1 ? stap_words(w, "%s.0.%u", loop, i) : stap_words(w, "%s.0", loop), use->keys[i]);
	if (has_value)
		mean(w, node->kids[2], stap_words(w, "%s.1", loop), use->is_text);
	w->loops++;
	write_inner(w, node->kids[0], false);
	w->loops--;
	w->meanings.count = meanings;
	translate_line(w->t, "}");
}

static void write_delete(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_node *kid = node->kids[0];
	const struct stap_use *use = is_place(kid) ? stap_use_of(w, kid->text) : NULL;
	uint32_t i, kinds = use && use->stats ? STAT_KINDS : 1;

	if (!use || !use->is_written || !use->is_global)
		return;
	for (i = 0; i < kinds; i++) {
		if (use->stats && !(use->stats & 1u << i))
			continue;
		translate_line(w->t, "%s(%s);", kid->kind == STAP_E_ELEMENT || !use->is_array ? "delete" : "clear",
			       stap_write_place(w, kid, use->stats ? stap_stat_names[i] : ""));
	}
}

static void write_statement(struct stap_writer *w, const struct stap_node *node, bool is_last)
{
	uint32_t i;

	if (w->depth > DEPTH_MAX)
		return;
	if (node->kind != STAP_S_BLOCK && node->span.begin < w->c->report->script.end)
		translate_comments(w->t, node->span.begin);
	w->depth++;
	switch (node->kind) {
	case STAP_S_BLOCK:
		for (i = 0; i < node->kid_count; i++)
			if (node->kids[i])
				write_statement(w, node->kids[i], is_last && i + 1 == node->kid_count);
		break;
	case STAP_S_EXPRESSION:
		if (is_exit(node) && !is_last && w->t->depth == 1) {
			w->ending = node->kids[0];
			break;
		}
		if (is_exit(node) && !is_last)
			translate_mark(w->t, "exit()", "bpftrace ends the probe here, SystemTap runs the rest of it");
		write_expression(w, node->kids[0]);
		break;
	case STAP_S_IF:
		write_if(w, node, is_last);
		break;
	case STAP_S_WHILE:
	case STAP_S_FOR:
		write_loop(w, node);
		break;
	case STAP_S_FOREACH:
		write_foreach(w, node);
		break;
	case STAP_S_BREAK:
		translate_line(w->t, "break;");
		break;
	case STAP_S_CONTINUE:
		translate_line(w->t, "continue;");
		break;
	case STAP_S_NEXT:
	case STAP_S_RETURN:
		translate_line(w->t, "return;");
		break;
	case STAP_S_DELETE:
		write_delete(w, node);
		break;
	case STAP_S_TRY:
		translate_mark(w->t, "try", "bpftrace warns, and goes on: what catch would do is left out");
		write_statement(w, node->kids[0], is_last);
		break;
	default:
		break;
	}
	w->depth--;
}

/* --- locals that begin in an inner block --- */

static void declare(struct stap_writer *w, const struct stap_node *node, bool is_inner, stap_variables *known,
		    uint32_t depth)
{
	const struct stap_use *use;
	struct stap_variable *variable;
	uint32_t i;

	if (!node || depth > DEPTH_MAX)
		return;
	if ((node->kind == STAP_E_ASSIGN || node->kind == STAP_E_STEP) && node->kids[0]->kind == STAP_E_VARIABLE) {
		use = stap_use_of(w, node->kids[0]->text);
		for (i = 0; i < known->count && strcmp(known->at[i]->name, node->kids[0]->text) != 0;)
			i++;
		if (use && !use->is_global && i == known->count) {
			variable = arena_new(w->c->arena, struct stap_variable);
			if (!variable)
				return;
			*variable = (struct stap_variable){.name = node->kids[0]->text};
			w->c->arena->failed |= vec_push(known, variable) != 0;
			if (is_inner || node->kind == STAP_E_STEP || strcmp(node->text, "=") != 0)
				translate_line(w->t, use->is_text ? "$%s = \"\";" : "$%s = (int64)0;", use->name);
		}
	}
	for (i = 0; i < node->kid_count; i++)
		declare(w, node->kids[i],
			is_inner || node->kind == STAP_S_IF || node->kind == STAP_S_WHILE ||
				(node->kind == STAP_S_FOR && i) || node->kind == STAP_S_FOREACH,
			known, depth + 1);
}

/* --- probes --- */

struct piece {
	struct translate_piece marks, body;
	const char *point, *condition;
};

struct writing {
	struct stap_writer *w;
	VEC(struct piece) pieces;
	const struct stap_node *body;
	uint32_t begin, end; /* of the probe in the source */
};

static bool mentions(const struct stap_node *node, const char *name, uint32_t depth)
{
	uint32_t i;

	if (!node || depth > DEPTH_MAX)
		return false;
	if (node->kind == STAP_E_VARIABLE && !strcmp(node->text, name))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (mentions(node->kids[i], name, depth + 1))
			return true;
	return false;
}

/* Variables of a tapset's alias stand for what it assigns to them, as far as the script has them. */
static void give(struct stap_writer *w, const struct stap_node *node, const struct stap_node *script)
{
	const struct stap_node *assign = node->kind == STAP_S_EXPRESSION ? node->kids[0] : NULL;
	uint32_t i;

	for (i = 0; node->kind == STAP_S_BLOCK && i < node->kid_count; i++)
		if (node->kids[i])
			give(w, node->kids[i], script);
	if (assign && assign->kind == STAP_E_ASSIGN && assign->kids[0]->kind == STAP_E_VARIABLE &&
	    mentions(script, assign->kids[0]->text, 0))
		mean(w, assign->kids[0], stap_write(w, assign->kids[1], 21), stap_node_is_text(w, assign->kids[1]));
}

static bool is_own_alias(const struct stap_writer *w, const struct stap_node *body)
{
	const struct stap_state *state = stap_state(w->c);
	size_t i;

	for (i = 0; i < state->aliases.count; i++)
		if (state->aliases.at[i]->body == body)
			return state->aliases.at[i]->is_own && !state->aliases.at[i]->is_epilogue;
	return false;
}

static void write_point(struct writing *p, const struct stap_point *point, const struct stap_node *condition,
			const struct stap_node *const *bodies, uint32_t count)
{
	struct stap_writer *w = p->w;
	const struct stap_target target = stap_target_of(w, point);
	struct piece piece = {.point = target.point, .condition = target.condition};
	stap_variables known = {};
	const struct stap_node *own[ALIAS_DEPTH_MAX + 1];
	uint32_t i, kept = 0;

	w->target = &target;
	for (i = 0; i < count; i++)
		if (!is_own_alias(w, bodies[i]))
			own[kept++] = bodies[i];
	for (i = 0; i < count && target.point; i++)
		if (is_own_alias(w, bodies[i]))
			give(w, bodies[i], p->body);
	bodies = own;
	count = kept;
	if (point->is_optional && target.point)
		translate_mark(w->t, "?", "bpftrace has config = { missing_probes = \"warn\" } for all probes");
	if (condition && target.point) {
		const char *text = stap_write(w, condition, piece.condition ? 4 : 0);

		piece.condition = piece.condition ? stap_words(w, "%s && %s", piece.condition, text) : text;
	}
	piece.marks = translate_aside_begin(w->t);
	translate_line(w->t, "%s", "");
	translate_aside_end(w->t, &piece.marks);
	piece.body = translate_aside_begin(w->t);
	w->t->at = p->begin;
	w->t->depth = 1;
	w->ending = NULL;
	for (i = 0; i < count && target.point; i++)
		declare(w, bodies[i], false, &known, 0);
	for (i = 0; i < count && target.point; i++)
		write_statement(w, bodies[i], i + 1 == count);
	if (target.point)
		translate_comments(w->t, p->end);
	if (w->ending)
		stap_write_action(w, w->ending);
	w->t->depth = 0;
	translate_aside_end(w->t, &piece.body);
	w->target = NULL;
	w->meanings.count = 0;
	vec_free(&known);
	if (vec_push(&p->pieces, piece))
		w->c->arena->failed = true;
}

static bool same_name(const struct stap_point *point, const struct stap_alias *alias)
{
	uint32_t i;

	if (point->part_count != alias->name.part_count)
		return false;
	for (i = 0; i < point->part_count; i++)
		if (strcmp(point->parts[i].name, alias->name.parts[i].name) != 0 || point->parts[i].kind != STAP_END)
			return false;
	return true;
}

static void expand(struct writing *p, const struct stap_point *point, const struct stap_node *condition,
		   const struct stap_node *const *bodies, uint32_t count)
{
	const struct stap_state *state = stap_state(p->w->c);
	const struct stap_node *all[ALIAS_DEPTH_MAX + 1];
	const struct stap_alias *alias = NULL;
	size_t i;
	uint32_t k;

	for (i = 0; i < state->aliases.count; i++)
		if (same_name(point, state->aliases.at[i]) && (!alias || alias->is_own))
			alias = state->aliases.at[i];
	if (!alias || (alias->is_own && stap_is_given(point)) || count >= ALIAS_DEPTH_MAX) {
		write_point(p, point, condition ? condition : point->condition, bodies, count);
		return;
	}
	for (k = 0; k < count; k++)
		all[k + !alias->is_epilogue] = bodies[k];
	all[alias->is_epilogue ? count : 0] = alias->body;
	if (count == 1)
		p->w->alias = stap_point_text(p->w->c, &alias->name);
	for (k = 0; k < alias->point_count; k++)
		expand(p, &alias->points[k], condition ? condition : point->condition, all, count + 1);
	if (count == 1)
		p->w->alias = NULL;
}

static bool same(const struct piece *a, const struct piece *b)
{
	return a->point && b->point && !strcmp(a->body.text, b->body.text) &&
	       (a->condition == b->condition || (a->condition && b->condition && !strcmp(a->condition, b->condition)));
}

static void write_probe(struct stap_writer *w, const struct stap_probe *probe, uint32_t end)
{
	const struct stap_node *body = probe->body;
	struct writing p = {.w = w, .body = body, .begin = body->span.begin, .end = end};
	size_t i, k, at;

	translate_comments(w->t, probe->span.begin);
	for (i = 0; i < probe->point_count; i++)
		expand(&p, &probe->points[i], NULL, &body, 1);
	for (i = 0; i < p.pieces.count; i = k) {
		for (k = i; k < p.pieces.count && (k == i || same(&p.pieces.at[i], &p.pieces.at[k])); k++)
			translate_again(w->t, &p.pieces.at[k].marks);
		if (!p.pieces.at[i].point)
			continue;
		if (i)
			translate_gap(w->t);
		for (at = i; at < k; at++)
			translate_line(w->t, "%s%s", p.pieces.at[at].point, at + 1 < k ? "," : "");
		if (p.pieces.at[i].condition)
			translate_line(w->t, "/%s/", p.pieces.at[i].condition);
		translate_line(w->t, "{");
		translate_again(w->t, &p.pieces.at[i].body);
		translate_line(w->t, "}");
	}
	vec_free(&p.pieces);
}

static void write_globals(struct stap_writer *w)
{
	const struct stap_state *state = stap_state(w->c);
	bool any = false;
	size_t i;

	for (i = 0; i < state->globals.count; i++) {
		const struct stap_variable *one = state->globals.at[i];

		if (one->of_tapset || !one->initial)
			continue;
		if (!any)
			translate_line(w->t, "BEGIN\n{");
		any = true;
		w->t->depth = 1;
		translate_line(w->t, "@%s = %s;", translate_name(w->t, stap_words(w, "%s ", one->name), one->name),
			       stap_write(w, one->initial, 0));
		w->t->depth = 0;
	}
	if (any)
		translate_line(w->t, "}");
}

static bool write_clears(struct stap_writer *w, bool count_only)
{
	bool any = false;
	size_t i;
	uint32_t kind;

	for (i = 0; i < w->uses.count; i++) {
		const struct stap_use *use = &w->uses.at[i];

		if (!use->is_global || !use->is_written || (!use->is_read && !use->stats))
			continue;
		any = true;
		for (kind = 0; !count_only && kind < (use->stats ? STAT_KINDS : 1u); kind++)
			if (!use->stats || use->stats & 1u << kind) {
				const char *suffix = use->stats ? stap_stat_names[kind] : "";

				translate_line(w->t, "clear(@%s);",
					       translate_name(w->t, stap_words(w, "%s %s", use->name, suffix),
							      stap_words(w, "%s%s%s", use->name, *suffix ? "_" : "",
									 suffix)));
			}
	}
	return any;
}

void stap_translate(struct compiler *c, struct translation *t)
{
	const struct stap_state *state = stap_state(c);
	struct stap_writer w = {.c = c, .t = t};
	size_t i;

	t->has_hashes = true;
	find_uses(&w);
	if (state->probes.count)
		translate_comments(t, state->globals.count && !state->globals.at[0]->of_tapset &&
						      state->globals.at[0]->span.begin < state->probes.at[0].span.begin
					      ? state->globals.at[0]->span.begin
					      : state->probes.at[0].span.begin);
	write_globals(&w);
	for (i = 0; i < state->probes.count; i++) {
		uint32_t end = i + 1 < state->probes.count ? state->probes.at[i + 1].span.begin : c->report->script.end;
		const char *close = memrchr(c->report->source, '}', end);

		if (i || t->out.count)
			translate_gap(t);
		end = close && (uint32_t)(close - c->report->source) > state->probes.at[i].span.begin
			      ? (uint32_t)(close - c->report->source)
			      : end;
		write_probe(&w, &state->probes.at[i], end);
	}
	translate_comments(t, c->report->script.end);
	if (write_clears(&w, true)) {
		translate_gap(t);
		translate_line(t, "END\n{");
		t->depth = 1;
		write_clears(&w, false);
		t->depth = 0;
		translate_line(t, "}");
	}
	vec_free(&w.uses);
	vec_free(&w.meanings);
}
