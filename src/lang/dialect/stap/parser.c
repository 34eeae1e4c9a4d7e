// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes, aliases, functions, globals. */
#include "lang/dialect/stap/parser.h"

#include <stdarg.h>
#include <string.h>

/* --- nodes and messages --- */

struct stap_node *stap_node(struct compiler *c, enum stap_kind kind, struct span span, uint32_t kids)
{
	struct stap_node *node = arena_new(c->arena, struct stap_node);
	struct stap_node **list = kids ? arena_array(c->arena, struct stap_node *, kids) : NULL;

	if (!node || (kids && !list))
		return &stap_state(c)->spare;
	*node = (struct stap_node){.kind = kind, .span = span, .text = "", .kids = list, .kid_count = kids};
	return node;
}

static struct stap_node **copy_list(struct compiler *c, struct stap_node *const *list, uint32_t count)
{
	struct stap_node **copy = arena_array(c->arena, struct stap_node *, count + 1);
	uint32_t i;

	for (i = 0; copy && i < count; i++)
		copy[i] = stap_copy(c, list[i]);
	return copy;
}

struct stap_node *stap_copy(struct compiler *c, const struct stap_node *node)
{
	struct stap_node *copy;

	if (!node)
		return NULL;
	copy = arena_new(c->arena, struct stap_node);
	if (!copy)
		return &stap_state(c)->spare;
	*copy = *node;
	copy->kids = copy_list(c, node->kids, node->kid_count);
	if (node->slice)
		copy->slice = copy_list(c, node->slice, (uint32_t)node->value);
	return copy->kids ? copy : &stap_state(c)->spare;
}

void stap_complain(struct compiler *c, const char *tag, struct span span, const char *format, ...)
{
	va_list list;
	char text[1024];

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	report_error(c->report, tag, span, "%s", text);
}

/* --- lexemes --- */

const struct stap_lexeme *stap_ahead(const struct stap_parser *p, size_t count)
{
	return &p->at[p->next + count < p->count ? p->next + count : p->count - 1];
}

const struct stap_lexeme *stap_take(struct stap_parser *p)
{
	return &p->at[p->next + 1 < p->count ? p->next++ : p->count - 1];
}

bool stap_is(const struct stap_parser *p, const char *op)
{
	return stap_peek(p)->kind == STAP_OPERATOR && !strcmp(stap_peek(p)->text, op);
}

bool stap_is_name(const struct stap_parser *p, const char *name)
{
	return stap_peek(p)->kind == STAP_NAME && !strcmp(stap_peek(p)->text, name);
}

bool stap_accept(struct stap_parser *p, const char *op)
{
	bool ret = stap_is(p, op);

	if (ret)
		stap_take(p);
	return ret;
}

bool stap_accept_name(struct stap_parser *p, const char *name)
{
	bool ret = stap_is_name(p, name);

	if (ret)
		stap_take(p);
	return ret;
}

void stap_expected(struct stap_parser *p, const char *what)
{
	if (p->failed)
		return;
	p->failed = true;
	stap_complain(p->c, "parse.expected", stap_peek(p)->span, "%s", what);
}

bool stap_expect(struct stap_parser *p, const char *op)
{
	char text[64];

	if (stap_accept(p, op))
		return true;
	snprintf(text, sizeof(text), "expected '%s'", op);
	stap_expected(p, text);
	return false;
}

bool stap_enter(struct stap_parser *p)
{
	if (p->failed)
		return false;
	if (++p->depth <= STAP_NESTING_MAX)
		return true;
	stap_expected(p, "nested too deeply");
	p->depth--;
	return false;
}

void stap_leave(struct stap_parser *p)
{
	p->depth--;
}

struct stap_node *stap_with_kids(struct stap_parser *p, struct stap_node *node, stap_nodes *kids)
{
	struct stap_node **list = arena_array(p->c->arena, struct stap_node *, kids->count + 1);

	if (list && node != &stap_state(p->c)->spare) {
		if (kids->count)
			memcpy(list, kids->at, kids->count * sizeof(*list));
		node->kids = list;
		node->kid_count = (uint32_t)kids->count;
	}
	vec_free(kids);
	return node;
}

/* --- probe points --- */

static bool parse_component(struct stap_parser *p, struct stap_component *ret)
{
	const struct stap_lexeme *first = stap_peek(p), *last = NULL;
	const char *name = "";

	/* NAME, with * in it or alone: sys*, *.return */
	while (!p->failed) {
		const struct stap_lexeme *lexeme = stap_peek(p);

		if (last && last->span.end != lexeme->span.begin)
			break;
		if (lexeme->kind != STAP_NAME && lexeme->kind != STAP_NUMBER && !stap_is(p, "*"))
			break;
		name = arena_printf(p->c->arena, "%s%s", name, lexeme->text);
		if (!name)
			return false;
		last = stap_take(p);
	}
	if (!last) {
		stap_expected(p, "expected identifier or '*'");
		return false;
	}
	*ret = (struct stap_component){.name = name, .span = {first->span.begin, last->span.end}, .kind = STAP_END};
	if (!stap_accept(p, "("))
		return true;
	if (stap_peek(p)->kind == STAP_NUMBER || stap_peek(p)->kind == STAP_TEXT) {
		ret->kind = stap_peek(p)->kind;
		ret->text = stap_peek(p)->text;
		ret->value = stap_peek(p)->value;
		stap_take(p);
	} else if (stap_accept(p, "-") && stap_peek(p)->kind == STAP_NUMBER) {
		ret->kind = STAP_NUMBER;
		ret->text = "-";
		ret->value = -stap_take(p)->value;
	} else {
		stap_expected(p, "expected literal string or number");
		return false;
	}
	return stap_expect(p, ")");
}

/* What the script names, in its own words: its points are made of what providers have only later. */
static void note_point(struct stap_parser *p, const struct stap_point *point)
{
	struct attach_text *text = arena_new(p->c->arena, struct attach_text);
	uint32_t i;

	if (!text || p->is_tapset)
		return;
	text->span = point->span;
	text->parts = arena_array(p->c->arena, const char *, point->part_count);
	text->part_count = text->parts ? point->part_count : 0;
	for (i = 0; i < text->part_count; i++)
		text->parts[i] = point->parts[i].name;
	if (vec_push(&p->c->points, text))
		p->c->arena->failed = true;
}

typedef VEC(struct stap_point) stap_points;

#define POINTS_MAX 1000 /* that one with lists in it may mean */

static bool join_points(struct stap_parser *p, const struct stap_point *first, const struct stap_point *second,
			stap_points *ret)
{
	struct stap_point joined = *second;
	uint32_t count = first->part_count + second->part_count;

	joined.span = (struct span){first->part_count ? first->span.begin : second->span.begin, second->span.end};
	joined.parts = arena_array(p->c->arena, struct stap_component, count + 1);
	joined.part_count = count;
	if (!joined.parts || vec_push(ret, joined)) {
		p->c->arena->failed = p->failed = true;
		return false;
	}
	if (first->part_count)
		memcpy(joined.parts, first->parts, first->part_count * sizeof(*joined.parts));
	memcpy(joined.parts + first->part_count, second->parts, second->part_count * sizeof(*joined.parts));
	ret->at[ret->count - 1].is_optional |= first->is_optional;
	ret->at[ret->count - 1].is_sufficient |= first->is_sufficient;
	return true;
}

static bool parse_parts(struct stap_parser *p, stap_points *ret);

/* NAME(ARGUMENT), or {ONE, ANOTHER}: what may stand between two dots. */
static bool parse_choices(struct stap_parser *p, stap_points *ret)
{
	struct stap_component *part;
	struct stap_point point = {.part_count = 1};
	bool ok = true;

	if (!stap_accept(p, "{")) {
		part = arena_new(p->c->arena, struct stap_component);
		if (!part || !parse_component(p, part))
			return false;
		point.parts = part;
		point.span = part->span;
		return !vec_push(ret, point);
	}
	if (!stap_enter(p))
		return false;
	do
		ok = parse_parts(p, ret);
	while (ok && stap_accept(p, ","));
	stap_leave(p);
	return ok && stap_expect(p, "}");
}

/* Parts with dots between them, and ? or ! behind: all points that it means. */
static bool parse_parts(struct stap_parser *p, stap_points *ret)
{
	stap_points before = {}, after = {}, choices = {};
	const struct stap_point nothing = {};
	bool ok = !vec_push(&before, nothing), is_sufficient;
	size_t i, k;

	do {
		choices.count = after.count = 0;
		ok = ok && parse_choices(p, &choices);
		if (ok && before.count * choices.count > POINTS_MAX) {
			stap_expected(p, "expected fewer probe points in one list");
			ok = false;
		}
		for (i = 0; ok && i < before.count; i++)
			for (k = 0; ok && k < choices.count; k++)
				ok = join_points(p, &before.at[i], &choices.at[k], &after);
		before.count = 0;
		for (i = 0; ok && i < after.count; i++)
			ok = !vec_push(&before, after.at[i]);
	} while (ok && stap_accept(p, "."));
	is_sufficient = ok && stap_is(p, "!");
	if (ok && (stap_accept(p, "?") || stap_accept(p, "!")))
		for (i = 0; i < before.count; i++) {
			before.at[i].is_optional = true;
			before.at[i].is_sufficient |= is_sufficient;
		}
	for (i = 0; ok && i < before.count; i++)
		ok = !vec_push(ret, before.at[i]);
	vec_free(&before);
	vec_free(&after);
	vec_free(&choices);
	return ok;
}

/* Adds what stands up to the next comma: one point, or several of a list in it. */
static bool parse_points(struct stap_parser *p, stap_points *ret)
{
	size_t first = ret->count, i;
	struct stap_node *condition = NULL;

	if (!parse_parts(p, ret))
		return false;
	for (i = first; i < ret->count; i++)
		note_point(p, &ret->at[i]);
	if (stap_accept_name(p, "if")) {
		stap_expect(p, "(");
		condition = stap_expression(p);
		stap_expect(p, ")");
	}
	for (i = first; i < ret->count; i++)
		ret->at[i].condition = condition;
	return !p->failed && !p->c->arena->failed;
}

static bool keep_points(struct stap_parser *p, stap_points *points, struct stap_point **ret, uint32_t *count)
{
	*ret = arena_array(p->c->arena, struct stap_point, points->count + 1);
	*count = (uint32_t)points->count;
	if (*ret && points->count)
		memcpy(*ret, points->at, points->count * sizeof(*points->at));
	return *ret != NULL;
}

static void parse_alias(struct stap_parser *p, const struct stap_point *name, bool is_epilogue)
{
	struct stap_alias *alias = arena_new(p->c->arena, struct stap_alias);
	stap_points points = {};

	if (!alias)
		return;
	if (name->is_optional) {
		p->failed = true;
		stap_complain(p->c, "parse.alias", name->span,
			      "probe point alias name cannot be optional nor sufficient");
	}
	do {
		if (!parse_points(p, &points))
			break;
	} while (stap_accept(p, ","));
	if (!p->failed) {
		*alias = (struct stap_alias){
			.name = *name, .is_epilogue = is_epilogue, .is_own = stap_state(p->c)->is_own};
		p->in_probe = true;
		alias->body = stap_block(p);
		p->in_probe = false;
		if (keep_points(p, &points, &alias->points, &alias->point_count) &&
		    vec_push(&stap_state(p->c)->aliases, alias))
			p->c->arena->failed = true;
	}
	vec_free(&points);
}

static void parse_probe(struct stap_parser *p)
{
	struct stap_probe probe = {.span = stap_take(p)->span};
	stap_points points = {};

	do {
		if (!parse_points(p, &points))
			break;
		if (points.count == 1 && (stap_is(p, "=") || stap_is(p, "+="))) {
			bool is_epilogue = stap_is(p, "+=");

			stap_take(p);
			parse_alias(p, &points.at[0], is_epilogue);
			vec_free(&points);
			return;
		}
	} while (stap_accept(p, ","));
	if (!p->failed && !stap_is(p, "{"))
		stap_expected(p, "expected one of '. , ( ? ! { = +='");
	if (!p->failed) {
		p->in_probe = true;
		probe.body = stap_block(p);
		p->in_probe = false;
		if (p->is_tapset && !stap_state(p->c)->is_own) {
			p->failed = true;
			stap_complain(p->c, "parse.tapset", probe.span,
				      "a tapset has aliases and functions, no probes");
		}
		if (keep_points(p, &points, &probe.points, &probe.point_count) &&
		    vec_push(&stap_state(p->c)->probes, probe))
			p->c->arena->failed = true;
	}
	vec_free(&points);
}

/* --- functions and globals --- */

static enum stap_type parse_type(struct stap_parser *p)
{
	if (!stap_accept(p, ":"))
		return STAP_UNKNOWN;
	if (stap_accept_name(p, "long"))
		return STAP_LONG;
	if (stap_accept_name(p, "string"))
		return STAP_STRING;
	stap_expected(p, "expected 'string' or 'long'");
	return STAP_UNKNOWN;
}

static struct stap_variable *new_variable(struct stap_parser *p, const struct stap_lexeme *name)
{
	struct stap_variable *variable = arena_new(p->c->arena, struct stap_variable);

	if (variable)
		*variable = (struct stap_variable){.name = name->text, .span = name->span};
	return variable;
}

static void refuse_embedded(struct stap_parser *p)
{
	p->failed = true;
	stap_complain(p->c, "parse.embedded", stap_peek(p)->span, "embedded C (%%{ %%}) is not supported");
	report_hint(p->c->report, "strata loads no kernel module: tracepoints, @cast and the functions that "
				  "docs/SYSTEMTAP.md lists give what most embedded C is for");
}

static void parse_parameters(struct stap_parser *p, struct stap_function *function)
{
	stap_variables *locals = &function->locals;
	struct stap_variable *variable;

	while (!p->failed && !stap_is(p, ")")) {
		if (stap_peek(p)->kind != STAP_NAME) {
			stap_expected(p, "expected identifier");
			return;
		}
		variable = new_variable(p, stap_take(p));
		if (!variable || vec_push(locals, variable)) {
			p->c->arena->failed = p->failed = true;
			return;
		}
		variable->is_parameter = true;
		variable->slot = (uint32_t)locals->count - 1;
		variable->type = parse_type(p);
		if (!stap_accept(p, ",") && !stap_is(p, ")"))
			stap_expected(p, "expected ',' or ')'");
	}
	function->parameter_count = (uint32_t)locals->count;
	stap_expect(p, ")");
}

static void parse_function(struct stap_parser *p)
{
	struct stap_state *state = stap_state(p->c);
	struct stap_function *function = arena_new(p->c->arena, struct stap_function);
	size_t i;

	stap_take(p);
	if (!function)
		return;
	if (stap_peek(p)->kind != STAP_NAME) {
		stap_expected(p, "expected identifier");
		return;
	}
	*function = (struct stap_function){
		.name = stap_peek(p)->text, .span = stap_peek(p)->span, .of_tapset = p->is_tapset};
	if (vec_push(&state->functions, function)) {
		p->c->arena->failed = p->failed = true;
		return;
	}
	for (i = 0; i + 1 < state->functions.count; i++)
		if (!strcmp(state->functions.at[i]->name, function->name) && !p->is_tapset &&
		    !state->functions.at[i]->of_tapset) {
			stap_expected(p, "duplicate function name");
			return;
		}
	stap_take(p);
	function->type = parse_type(p);
	function->returns_value = function->type != STAP_UNKNOWN;
	if (stap_expect(p, "("))
		parse_parameters(p, function);
	if (!function->returns_value) {
		function->type = parse_type(p);
		function->returns_value = function->type != STAP_UNKNOWN;
	}
	if (stap_peek(p)->kind == STAP_EMBEDDED && !p->failed) {
		refuse_embedded(p);
		return;
	}
	p->in_function = true;
	function->body = stap_block(p);
	p->in_function = false;
}

static void parse_initial(struct stap_parser *p, struct stap_variable *variable)
{
	bool negative;

	if (variable->is_array) {
		stap_expected(p, "only scalar globals can be initialized");
		return;
	}
	negative = stap_accept(p, "-");
	if (stap_peek(p)->kind != STAP_NUMBER && (negative || stap_peek(p)->kind != STAP_TEXT)) {
		stap_expected(p, "expected literal string or number");
		return;
	}
	variable->initial =
		stap_node(p->c, stap_peek(p)->kind == STAP_TEXT ? STAP_E_TEXT : STAP_E_NUMBER, stap_peek(p)->span, 0);
	variable->initial->text = stap_peek(p)->text;
	variable->initial->value = negative ? -stap_peek(p)->value : stap_peek(p)->value;
	variable->type = stap_peek(p)->kind == STAP_TEXT ? STAP_STRING : STAP_LONG;
	stap_take(p);
}

static void parse_global(struct stap_parser *p)
{
	struct stap_state *state = stap_state(p->c);
	struct stap_variable *variable;
	size_t i;

	stap_take(p);
	do {
		if (stap_peek(p)->kind != STAP_NAME) {
			stap_expected(p, "expected identifier");
			return;
		}
		for (i = 0; i < state->globals.count; i++)
			if (!strcmp(state->globals.at[i]->name, stap_peek(p)->text)) {
				stap_expected(p, "duplicate global name");
				return;
			}
		variable = new_variable(p, stap_take(p));
		if (!variable || vec_push(&state->globals, variable)) {
			p->c->arena->failed = p->failed = true;
			return;
		}
		variable->is_global = true;
		variable->of_tapset = p->is_tapset;
		if (stap_accept(p, "%"))
			variable->wraps = true;
		if (stap_accept(p, "[")) {
			variable->is_array = true;
			if (stap_peek(p)->kind != STAP_NUMBER) {
				stap_expected(p, "expected number");
				return;
			}
			variable->entries = (uint64_t)stap_take(p)->value;
			if (!variable->entries || variable->entries > 1000000) {
				stap_expected(p, "array size out of range");
				return;
			}
			stap_expect(p, "]");
		}
		if (stap_accept(p, "="))
			parse_initial(p, variable);
	} while (!p->failed && stap_accept(p, ","));
	stap_accept(p, ";");
}

static void parse_top(struct stap_parser *p)
{
	while (!p->failed && !p->c->arena->failed && stap_peek(p)->kind != STAP_END) {
		if (stap_accept(p, ";"))
			continue;
		if (stap_is_name(p, "private"))
			stap_take(p);
		if (stap_is_name(p, "probe"))
			parse_probe(p);
		else if (stap_is_name(p, "global"))
			parse_global(p);
		else if (stap_is_name(p, "function"))
			parse_function(p);
		else if (stap_peek(p)->kind == STAP_EMBEDDED)
			refuse_embedded(p);
		else
			stap_expected(p, "expected 'probe', 'global', 'private', 'function', or '%{'");
	}
}

bool stap_parse_source(struct compiler *c, uint32_t begin, uint32_t end, bool is_tapset)
{
	stap_lexemes raw = {}, lexemes = {};
	struct stap_parser parser = {.c = c, .is_tapset = is_tapset};
	bool ok = stap_lex(c, begin, end, &raw) && stap_preprocess(c, &raw, &lexemes);

	if (ok) {
		parser.at = lexemes.at;
		parser.count = lexemes.count;
		parse_top(&parser);
		ok = !parser.failed;
	}
	vec_free(&raw);
	vec_free(&lexemes);
	return ok && !c->arena->failed;
}
