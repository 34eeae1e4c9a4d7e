// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * @entry(EXPRESSION) in a probe of a return: what the expression was worth at the call. A probe of the call, made here,
 * keeps it in a global array, by thread and, where calls may be nested, by depth. Text at an address is read at the
 * call as well, because only there the address is the probe's own.
 */
#include <string.h>

#include "lang/dialect/stap/entry.h"

#define ENTRIES_MAX 32

struct splitting {
	struct compiler *c;
	struct span span;
	bool nests; /* a function may call itself; a thread has one system call at a time */
	const char *depth;
	struct stap_node *assignments[ENTRIES_MAX];
	uint32_t count;
};

static struct stap_node *make(struct splitting *s, enum stap_kind kind, const char *text, struct stap_node *a,
			      struct stap_node *b)
{
	struct stap_node *node = stap_node(s->c, kind, s->span, (a != NULL) + (b != NULL));

	if (s->c->arena->failed)
		return node;
	node->text = text;
	if (a)
		node->kids[0] = a;
	if (b)
		node->kids[1] = b;
	return node;
}

static struct stap_node *thread(struct splitting *s)
{
	return make(s, STAP_E_CALL, "tid", NULL, NULL);
}

/* A global array that has the newest elements when it is full: threads may end within a call. */
static const char *add_array(struct splitting *s)
{
	struct stap_state *state = stap_state(s->c);
	struct stap_variable *variable = arena_new(s->c->arena, struct stap_variable);
	const char *name = arena_printf(s->c->arena, "__entry_%zu", state->globals.count);

	if (!variable || !name)
		return "";
	*variable = (struct stap_variable){.name = name,
					   .span = s->span,
					   .is_global = true,
					   .is_array = true,
					   .of_tapset = true,
					   .wraps = true};
	if (vec_push(&state->globals, variable))
		s->c->arena->failed = true;
	return name;
}

#define AT "__entry_at"

/* In the probe of the return, the depth is in a variable; in that of the call, it is the array's. */
static struct stap_node *element(struct splitting *s, const char *array, bool is_return)
{
	struct stap_node *depth = NULL;

	if (s->nests)
		depth = is_return ? make(s, STAP_E_VARIABLE, AT, NULL, NULL)
				  : make(s, STAP_E_ELEMENT, s->depth, thread(s), NULL);
	return make(s, STAP_E_ELEMENT, array, thread(s), depth);
}

static bool reads_memory(const struct stap_node *node)
{
	const struct stap_builtin *builtin = node->kind == STAP_E_CALL ? stap_builtin_find(node->text) : NULL;

	return builtin && builtin->parameters[0] == 'a' && node->kid_count && node->kids[0]->kind == STAP_E_ENTRY;
}

/* user_string(@entry(x), y) is @entry(user_string2(x, y)): what cannot be read there yet is y, and no error. */
static void swap(struct splitting *s, struct stap_node *node)
{
	struct stap_node *entry = node->kids[0], *text;
	bool is_kernel = !strncmp(node->text, "kernel", 6), has_default = node->kid_count > 1;

	if (has_default && node->kids[1]->kind == STAP_E_TEXT)
		text = node->kids[1];
	else
		text = make(s, STAP_E_TEXT, "", NULL, NULL);
	if (s->c->arena->failed)
		return;
	entry->kids[0] = make(s, STAP_E_CALL, is_kernel ? "kernel_string2" : "user_string2", entry->kids[0], text);
	*node = *entry;
}

static void split(struct splitting *s, struct stap_node *node)
{
	const char *array;
	uint32_t i;

	if (!node || node->kind == STAP_E_DEFINED || node->kind == STAP_E_CHOOSE || s->c->arena->failed)
		return;
	if (reads_memory(node))
		swap(s, node);
	if (node->kind == STAP_E_ENTRY && s->count < ENTRIES_MAX) {
		if (s->nests && !s->depth)
			s->depth = add_array(s);
		array = add_array(s);
		s->assignments[s->count++] = make(
			s, STAP_S_EXPRESSION, "",
			make(s, STAP_E_ASSIGN, "=", element(s, array, false), stap_copy(s->c, node->kids[0])), NULL);
		*node = *element(s, array, true);
		return;
	}
	for (i = 0; i < node->kid_count; i++)
		split(s, node->kids[i]);
	for (i = 0; node->slice && i < (uint32_t)node->value; i++)
		split(s, node->slice[i]);
}

static struct stap_node *counted(struct splitting *s, const char *step)
{
	return make(s, STAP_S_EXPRESSION, "",
		    make(s, STAP_E_STEP, step, make(s, STAP_E_ELEMENT, s->depth, thread(s), NULL), NULL), NULL);
}

/* { AT = depth[tid()]; if (AT > 1) depth[tid()]--; else delete depth[tid()]; BODY } */
static struct stap_node *counting_down(struct splitting *s, struct stap_node *body)
{
	struct stap_node *block = stap_node(s->c, STAP_S_BLOCK, s->span, 3);
	struct stap_node *branch = stap_node(s->c, STAP_S_IF, s->span, 3);
	struct stap_node *one = make(s, STAP_E_NUMBER, "1", NULL, NULL);

	if (s->c->arena->failed)
		return body;
	one->value = 1;
	block->kids[0] = make(s, STAP_S_EXPRESSION, "",
			      make(s, STAP_E_ASSIGN, "=", make(s, STAP_E_VARIABLE, AT, NULL, NULL),
				   make(s, STAP_E_ELEMENT, s->depth, thread(s), NULL)),
			      NULL);
	branch->kids[0] = make(s, STAP_E_BINARY, ">", make(s, STAP_E_VARIABLE, AT, NULL, NULL), one);
	branch->kids[1] = counted(s, "--");
	branch->kids[2] = make(s, STAP_S_DELETE, "", make(s, STAP_E_ELEMENT, s->depth, thread(s), NULL), NULL);
	block->kids[1] = branch;
	block->kids[2] = body;
	return block;
}

/* The point of the call; NULL: this is no return, or it has no call. */
static struct stap_point *call_of(struct compiler *c, const struct stap_point *point)
{
	struct stap_point *ret = arena_new(c->arena, struct stap_point);
	struct stap_component *parts = arena_array(c->arena, struct stap_component, point->part_count), *last;
	static const char before[] = "sys_exit", after[] = "sys_enter";
	const char *found;

	if (!ret || !parts)
		return NULL;
	memcpy(parts, point->parts, point->part_count * sizeof(*parts));
	*ret = *point;
	ret->parts = parts;
	last = &parts[point->part_count - 1];
	if (!strcmp(last->name, "return") && point->part_count > 1) {
		ret->part_count--;
		return ret;
	}
	found = last->kind == STAP_TEXT && !strcmp(last->name, "trace") ? strstr(last->text, before) : NULL;
	if (!found)
		return NULL;
	last->text = arena_printf(c->arena, "%.*s%s%s", (int)(found - last->text), last->text, after,
				  found + sizeof(before) - 1);
	return last->text ? ret : NULL;
}

struct stap_point *stap_split_entries(struct compiler *c, struct stap_handler *handler, const struct stap_point *point,
				      struct stap_node **body)
{
	struct splitting s = {.c = c, .span = handler->body->span};
	struct stap_point *call = call_of(c, point);
	struct stap_node *block;
	uint32_t i, counts;

	if (!call)
		return NULL;
	s.nests = call->part_count < point->part_count &&
		  strcmp(call->parts[call->part_count - 1].name, "syscall") != 0;
	split(&s, handler->body);
	if (!s.count || c->arena->failed)
		return NULL;
	counts = s.nests;
	block = stap_node(c, STAP_S_BLOCK, s.span, s.count + counts);
	if (c->arena->failed)
		return NULL;
	if (counts) {
		block->kids[0] = counted(&s, "++");
		handler->body = counting_down(&s, handler->body);
	}
	for (i = 0; i < s.count; i++)
		block->kids[i + counts] = s.assignments[i];
	*body = block;
	return call;
}
