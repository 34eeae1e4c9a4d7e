// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes, by their points and aliases, to handlers: a body for each point, with what its aliases put before and behind
 * it, and the places where it runs. Assignments to variables that nothing reads are left out: a tapset may name
 * arguments that are not there.
 */
#include <string.h>

#include "lang/dialect/stap/entry.h"
#include "lang/provider/provider.h"

#define ALIAS_DEPTH_MAX 16

struct deriving {
	struct compiler *c;
	const char *alias; /* the outermost one's name */
	struct stap_node *condition;
	struct span span;
	unsigned int depth;
	size_t found;
};

/* --- assignments that nobody needs --- */

static bool is_global(const struct compiler *c, const char *name)
{
	const struct stap_state *state = stap_state(c);
	size_t i;

	for (i = 0; i < state->globals.count; i++)
		if (!strcmp(state->globals.at[i]->name, name))
			return true;
	return false;
}

static bool reads(const struct stap_node *node, const char *name)
{
	uint32_t i = 0;

	if (!node)
		return false;
	if (node->kind == STAP_E_VARIABLE && !strcmp(node->text, name))
		return true;
	/* What is assigned to is not read, but for x += 1. */
	if (node->kind == STAP_E_ASSIGN && !strcmp(node->text, "=") && node->kids[0]->kind == STAP_E_VARIABLE)
		i = 1;
	for (; i < node->kid_count; i++)
		if (reads(node->kids[i], name))
			return true;
	for (i = 0; node->slice && i < (uint32_t)node->value; i++)
		if (reads(node->slice[i], name))
			return true;
	return false;
}

/* Does it do more than have a value? */
static bool has_effects(const struct compiler *c, const struct stap_node *node)
{
	const struct stap_builtin *builtin = node->kind == STAP_E_CALL ? stap_builtin_find(node->text) : NULL;
	uint32_t i;

	if (node->kind == STAP_E_ASSIGN || node->kind == STAP_E_STEP)
		return true;
	if (node->kind == STAP_E_CALL && (!builtin || builtin->type == STAP_UNKNOWN))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i] && has_effects(c, node->kids[i]))
			return true;
	return false;
}

static bool has_target(const struct stap_node *node)
{
	uint32_t i;

	if (node->kind == STAP_E_TARGET)
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i] && has_target(node->kids[i]))
			return true;
	return false;
}

static bool drop_unread(struct compiler *c, struct stap_node *node, const struct stap_node *whole)
{
	bool dropped = false;
	uint32_t i;

	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i])
			dropped |= drop_unread(c, node->kids[i], whole);
	if (node->kind != STAP_S_EXPRESSION || node->kids[0]->kind != STAP_E_ASSIGN ||
	    strcmp(node->kids[0]->text, "=") != 0 || node->kids[0]->kids[0]->kind != STAP_E_VARIABLE ||
	    is_global(c, node->kids[0]->kids[0]->text) || reads(whole, node->kids[0]->kids[0]->text) ||
	    has_effects(c, node->kids[0]->kids[1]) || !has_target(node->kids[0]->kids[1]))
		return dropped;
	*node = (struct stap_node){.kind = STAP_S_BLOCK, .span = node->span, .text = ""};
	return true;
}

/* --- handlers --- */

static struct stap_node *block_of(struct compiler *c, struct stap_node *first, struct stap_node *second)
{
	struct stap_node *block = stap_node(c, STAP_S_BLOCK, first->span, 2);

	if (c->arena->failed)
		return block;
	block->kids[0] = first;
	block->kids[1] = second;
	return block;
}

static void complain_no_match(struct compiler *c, const struct stap_point *point)
{
	stap_complain(c, "stap.match", point->parts[0].span, "while resolving probe point: %s: no match",
		      stap_point_text(c, point));
}

/* A point that is no alias. */
static void make_handler(struct deriving *d, const struct stap_point *point, struct stap_node *body)
{
	struct compiler *c = d->c;
	struct stap_handler *handler = arena_new(c->arena, struct stap_handler);
	struct stap_making making = {.c = c, .point = point, .handler = handler};
	unsigned int errors = c->report->errors;
	struct stap_point *call;
	struct stap_node *call_body;

	if (!handler)
		return;
	*handler = (struct stap_handler){.span = d->span, .text = stap_point_text(c, point), .alias = d->alias};
	handler->body = stap_copy(c, body);
	handler->condition = stap_copy(c, d->condition);
	while (!stap_state(c)->lists_variables && !c->arena->failed && drop_unread(c, handler->body, handler->body))
		;
	call = stap_split_entries(c, handler, point, &call_body);
	if (call)
		make_handler(d, call, call_body);
	stap_find(&making);
	d->found += making.found;
	if (!making.found && c->report->errors == errors)
		complain_no_match(c, point);
	if (!making.found || c->report->errors > errors)
		return;
	if (vec_push(&stap_state(c)->handlers, handler))
		c->arena->failed = true;
}

static bool same_argument(const struct stap_component *a, const struct stap_component *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == STAP_END || (a->kind == STAP_NUMBER ? a->value == b->value : !strcmp(a->text, b->text));
}

/* Does it begin with the alias's name, or a pattern that this matches? */
static bool begins_as(const struct stap_point *point, const struct stap_alias *alias)
{
	uint32_t i;

	if (point->part_count < alias->name.part_count)
		return false;
	for (i = 0; i < alias->name.part_count; i++)
		if (!provider_matches(point->parts[i].name, alias->name.parts[i].name) ||
		    !same_argument(&point->parts[i], &alias->name.parts[i]))
			return false;
	return true;
}

/* Is this the alias's name, or a pattern that it matches? */
static bool matches(const struct stap_point *point, const struct stap_alias *alias)
{
	return point->part_count == alias->name.part_count && begins_as(point, alias);
}

/* Does the user have an alias of the same name? */
static bool is_hidden(const struct compiler *c, const struct stap_alias *alias)
{
	const struct stap_state *state = stap_state(c);
	size_t i;

	for (i = 0; alias->is_own && i < state->aliases.count; i++)
		if (!state->aliases.at[i]->is_own && matches(&state->aliases.at[i]->name, alias))
			return true;
	return false;
}

static void derive_all(struct deriving *d, const struct stap_point *points, uint32_t count, struct stap_node *body);

/* ALIAS.SUFFIX is the alias's points, each with the suffix. */
static const struct stap_point *with_suffix(struct compiler *c, const struct stap_alias *alias,
					    const struct stap_point *point)
{
	uint32_t from = alias->name.part_count, more = point->part_count - from, i;
	struct stap_point *points = arena_array(c->arena, struct stap_point, alias->point_count + 1);

	for (i = 0; points && i < alias->point_count; i++) {
		uint32_t count = alias->points[i].part_count;

		points[i] = alias->points[i];
		points[i].parts = arena_array(c->arena, struct stap_component, count + more);
		points[i].part_count = count + more;
		if (!points[i].parts)
			return alias->points;
		memcpy(points[i].parts, alias->points[i].parts, count * sizeof(*points[i].parts));
		memcpy(points[i].parts + count, point->parts + from, more * sizeof(*points[i].parts));
	}
	return points ? points : alias->points;
}

static void derive_alias(struct deriving *d, struct stap_alias *alias, const struct stap_point *point,
			 struct stap_node *body)
{
	const struct stap_point *points = alias->points;
	const char *outer = d->alias;
	struct stap_node *own = stap_copy(d->c, alias->body);

	if (alias->is_busy || d->depth >= ALIAS_DEPTH_MAX) {
		stap_complain(d->c, "stap.alias", point->span, "recursive loop in alias expansion of %s",
			      stap_point_text(d->c, &alias->name));
		return;
	}
	if (!outer)
		d->alias = stap_point_text(d->c, &alias->name);
	if (point->part_count > alias->name.part_count)
		points = with_suffix(d->c, alias, point);
	alias->is_busy = true;
	d->depth++;
	derive_all(d, points, alias->point_count,
		   alias->is_epilogue ? block_of(d->c, body, own) : block_of(d->c, own, body));
	d->depth--;
	alias->is_busy = false;
	d->alias = outer;
}

/* nd_syscall.NAME: all of these are by tracepoints, and need no debug information. */
static const struct stap_point *as_syscall(struct compiler *c, const struct stap_point *point)
{
	struct stap_point *copy = arena_new(c->arena, struct stap_point);
	struct stap_component *parts = arena_array(c->arena, struct stap_component, point->part_count);

	if (!copy || !parts)
		return point;
	memcpy(parts, point->parts, point->part_count * sizeof(*parts));
	parts[0].name = "syscall";
	*copy = *point;
	copy->parts = parts;
	return copy;
}

static void derive(struct deriving *d, const struct stap_point *point, struct stap_node *body)
{
	struct stap_state *state = stap_state(d->c);
	size_t i, count;
	bool is_alias = false;

	if (!strcmp(point->parts[0].name, "nd_syscall") || !strcmp(point->parts[0].name, "tp_syscall"))
		point = as_syscall(d->c, point);
	if (!strcmp(point->parts[0].name, "syscall"))
		stap_make_syscalls(d->c, point->part_count > 1 ? point->parts[1].name : "*", point->part_count > 2,
				   point->span);
	count = state->aliases.count;
	for (i = 0; i < count && !d->c->arena->failed; i++)
		if (matches(point, state->aliases.at[i]) && !is_hidden(d->c, state->aliases.at[i])) {
			is_alias = true;
			derive_alias(d, state->aliases.at[i], point, body);
		}
	/* Only aliases of scripts and of -I: ours have no suffixes. */
	for (i = 0; i < count && !is_alias && !d->c->arena->failed; i++)
		if (!state->aliases.at[i]->is_own && begins_as(point, state->aliases.at[i])) {
			is_alias = true;
			derive_alias(d, state->aliases.at[i], point, body);
		}
	if (!is_alias)
		make_handler(d, point, body);
}

static struct stap_node *both(struct compiler *c, struct stap_node *a, struct stap_node *b)
{
	struct stap_node *node;

	if (!a || !b)
		return a ? a : b;
	node = stap_node(c, STAP_E_BINARY, b->span, 2);
	if (c->arena->failed)
		return node;
	node->text = "&&";
	node->kids[0] = a;
	node->kids[1] = b;
	return node;
}

static void derive_all(struct deriving *d, const struct stap_point *points, uint32_t count, struct stap_node *body)
{
	struct report *report = d->c->report;
	uint32_t i;

	for (i = 0; i < count && !d->c->arena->failed; i++) {
		size_t complaints = report->complaints.count, found = d->found;
		unsigned int errors = report->errors;
		struct stap_node *outer = d->condition;

		d->condition = both(d->c, outer, points[i].condition);
		derive(d, &points[i], body);
		d->condition = outer;
		if (points[i].is_optional && report->errors > errors && d->found == found) {
			report->complaints.count = complaints;
			report->errors = errors;
		}
		/* Of several that match a pattern some may not be there. */
		if (points[i].is_sufficient && d->found > found)
			break;
	}
}

/* begin(-1) comes before begin. */
static void sort_places(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	size_t i, k;

	for (i = 1; i < state->places.count; i++)
		for (k = i; k && state->places.at[k].handler->sequence < state->places.at[k - 1].handler->sequence;
		     k--) {
			struct stap_place place = state->places.at[k];
			struct attach attach = c->attaches.at[k];
			struct unit unit = c->units.at[k];

			state->places.at[k] = state->places.at[k - 1];
			c->attaches.at[k] = c->attaches.at[k - 1];
			c->units.at[k] = c->units.at[k - 1];
			state->places.at[k - 1] = place;
			c->attaches.at[k - 1] = attach;
			c->units.at[k - 1] = unit;
		}
	for (i = 0; i < c->units.count; i++)
		c->units.at[i].first_attach = (uint32_t)i;
}

/* --- units --- */

static bool can_share(const struct compiler *c, size_t a, size_t b)
{
	const struct stap_handler *one = stap_state(c)->places.at[a].handler,
				  *other = stap_state(c)->places.at[b].handler;
	const struct unit *unit = &c->units.at[a], *with = &c->units.at[b];

	if (one == other && unit->provider == with->provider && unit->provider->is_alike &&
	    unit->provider->is_alike(&c->attaches.at[a], &c->attaches.at[b]))
		return true;
	return unit->provider == with->provider && unit->provider->shares_programs && !c->attaches.at[a].spec &&
	       !c->attaches.at[b].spec && c->attaches.at[a].flags == c->attaches.at[b].flags &&
	       one->is_everywhere == other->is_everywhere && one->needs == other->needs && one->pid == other->pid &&
	       !one->targets.count && !other->targets.count && !one->memory.count && !other->memory.count &&
	       !one->condition && !other->condition && one->is_leader == other->is_leader &&
	       one->is_no_leader == other->is_no_leader && !one->process && !other->process &&
	       (one == other || (one->kernel_condition == NULL && other->kernel_condition == NULL));
}

/* Places that collect the same share a program. */
static void group(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	size_t count = c->units.count, i, k, made = 0;
	struct unit *units = calloc(count + 1, sizeof(*units));
	struct attach *attaches = calloc(count + 1, sizeof(*attaches));
	struct stap_place *places = calloc(count + 1, sizeof(*places));
	bool *done = calloc(count + 1, sizeof(*done));
	size_t unit_count = 0;

	for (i = 0; units && attaches && places && done && i < count; i++) {
		if (done[i])
			continue;
		units[unit_count] = c->units.at[i];
		units[unit_count].first_attach = (uint32_t)made;
		units[unit_count].attach_count = 0;
		units[unit_count].is_everywhere = state->places.at[i].handler->is_everywhere;
		for (k = i; k < count; k++)
			if (!done[k] && (k == i || can_share(c, i, k))) {
				done[k] = true;
				attaches[made] = c->attaches.at[k];
				places[made++] = state->places.at[k];
				units[unit_count].attach_count++;
			}
		unit_count++;
	}
	if (units && attaches && places && done) {
		memcpy(c->units.at, units, unit_count * sizeof(*units));
		memcpy(c->attaches.at, attaches, made * sizeof(*attaches));
		memcpy(state->places.at, places, made * sizeof(*places));
		c->units.count = unit_count;
	} else {
		c->arena->failed = true;
	}
	free(units);
	free(attaches);
	free(places);
	free(done);
}

static void make_programs(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	size_t i;

	for (i = 0; i < state->handlers.count && !c->report->errors; i++)
		stap_capture(c, state->handlers.at[i]);
	if (c->report->errors || c->arena->failed || !c->units.count)
		return;
	group(c);
	for (i = 0; i < c->units.count && !c->report->errors && !c->arena->failed; i++) {
		c->unit = &c->units.at[i];
		c->types.local = compiler_attach(c)->types;
		stap_program(c, state->places.at[c->unit->first_attach].handler);
		c->types.local = NULL;
	}
	c->unit = NULL;
	if (!c->report->errors)
		provider_expanded(c);
}

void stap_probes(struct compiler *c)
{
	struct stap_state *state = stap_state(c);
	size_t i;

	for (i = 0; i < state->probes.count && !c->arena->failed; i++) {
		const struct stap_probe *probe = &state->probes.at[i];
		struct deriving d = {.c = c, .span = probe->span};

		derive_all(&d, probe->points, probe->point_count, probe->body);
	}
	if (c->report->errors || c->arena->failed)
		return;
	if (!state->handlers.count && !c->options->may_be_empty) {
		stap_complain(c, "stap.empty", (struct span){}, "no probes found");
		return;
	}
	sort_places(c);
	stap_resolve(c);
	if (!c->report->errors && !state->lists)
		make_programs(c);
}

/* --- lists --- */

static void list_variables(const struct stap_handler *handler, const struct type *record, FILE *out)
{
	size_t i;

	for (i = 0; i < handler->locals.count; i++)
		fprintf(out, " %s:%s", handler->locals.at[i]->name, stap_type_name(handler->locals.at[i]->type));
	for (i = 0; record && !handler->alias && i < record->field_count; i++) {
		const struct type *type = record->fields[i].type;
		bool is_text = type->kind == TYPE_STRING || (type->kind == TYPE_ARRAY && type->to->size == 1) ||
			       type->is_data_loc;

		if (record->fields[i].name)
			fprintf(out, " $%s:%s", record->fields[i].name, is_text ? "string" : "long");
	}
}

void stap_list(const struct compiler *c, FILE *out)
{
	const struct stap_state *state = stap_state(c);
	size_t i, k;

	for (i = 0; i < state->places.count; i++) {
		const struct stap_handler *handler = state->places.at[i].handler;
		const char *text = handler->alias ? handler->alias : state->places.at[i].name;
		bool repeats = false;

		for (k = 0; k < i && !repeats; k++)
			repeats = handler->alias && state->places.at[k].handler->alias &&
				  !strcmp(state->places.at[k].handler->alias, text);
		if (repeats)
			continue;
		fputs(text, out);
		if (state->lists_variables)
			list_variables(handler, c->attaches.at[i].arguments, out);
		fputc('\n', out);
	}
}
