// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a handler's program collects: who runs, the time, target variables, and the texts at the addresses that the body
 * may ask for. An address is found by following variables and parameters back to the probe's own; one that comes from
 * elsewhere is refused, because by the time the body runs its memory may say something else.
 */
#include <string.h>

#include "lang/dialect/stap/capture.h"
#include "lang/dialect/stap/tasks.h"

#define MEMORY_MAX 24

struct collecting {
	struct compiler *c;
	struct stap_handler *handler;
};

/* The values that are assigned to a local: one of them; *count: how many there are. */
static const struct stap_node *assigned(const struct stap_node *node, const struct stap_variable *variable,
					uint32_t which, uint32_t *count)
{
	const struct stap_node *found = NULL, *inner;
	uint32_t i;

	if (!node)
		return NULL;
	if (node->kind == STAP_E_ASSIGN && node->kids[0]->variable == variable && !strcmp(node->text, "=") &&
	    (*count)++ == which)
		found = node->kids[1];
	if ((node->kind == STAP_E_ASSIGN && node->kids[0]->variable == variable && strcmp(node->text, "=") != 0) ||
	    (node->kind == STAP_E_STEP && node->kids[0]->variable == variable))
		*count += 1000; /* not followed */
	if (node->kind == STAP_S_FOREACH)
		for (i = 2; i < node->kid_count; i++)
			if (node->kids[i]->variable == variable)
				*count += 1000;
	for (i = 0; i < node->kid_count; i++) {
		inner = assigned(node->kids[i], variable, which, count);
		found = found ? found : inner;
	}
	return found;
}

/* The expression in terms of the probe's own variables; NULL: it has others. */
struct stap_node *stap_own_terms(struct compiler *c, const struct stap_node *node, const struct stap_scope *scope,
				 uint32_t which, uint32_t *variants)
{
	struct stap_node *copy;
	const struct stap_node *value;
	uint32_t count = 0, i;
	struct stap_scope inner = *scope;

	if (++inner.depth > 12)
		return NULL;
	switch (node->kind) {
	case STAP_E_NUMBER:
	case STAP_E_TEXT:
	case STAP_E_TARGET:
		return stap_copy(c, node);
	case STAP_E_CALL:
		if (node->builtin && node->builtin->parameters[0] == 't' && node->kid_count == 1) {
			copy = stap_own_terms(c, node->kids[0], &inner, which, variants);
			return copy && copy->kind == STAP_E_TARGET
				       ? stap_task_target(c, copy, stap_task_member(node->text))
				       : NULL;
		}
		return node->builtin && !node->kid_count && (node->builtin->needs || !strcmp(node->text, "target"))
			       ? stap_copy(c, node)
			       : NULL;
	case STAP_E_CAST:
		copy = stap_own_terms(c, node->kids[0], &inner, which, variants);
		return copy && copy->kind == STAP_E_TARGET ? stap_target_behind(c, copy, node->text) : NULL;
	case STAP_E_VARIABLE:
		if (!node->variable)
			return NULL;
		if (node->variable->is_global) {
			if (node->variable->is_written || !node->variable->initial)
				return NULL;
			return stap_copy(c, node->variable->initial);
		}
		if (node->variable->is_parameter) {
			assigned(scope->body, node->variable, 0, &count);
			if (count || !scope->outer || !scope->arguments)
				return NULL;
			inner = *scope->outer;
			inner.depth = scope->depth + 1;
			return stap_own_terms(c, scope->arguments[node->variable->slot], &inner, which, variants);
		}
		value = assigned(scope->body, node->variable, which, &count);
		if (count >= 1000)
			return NULL;
		if (variants && count > *variants)
			*variants = count;
		if (count > 1 && !variants)
			return NULL;
		return value ? stap_own_terms(c, value, &inner, 0, NULL) : NULL;
	case STAP_E_UNARY:
	case STAP_E_BINARY:
		copy = stap_copy(c, node);
		if (c->arena->failed ||
		    (node->kind == STAP_E_BINARY && (*node->text == '/' || *node->text == '%' || *node->text == '.')))
			return NULL;
		for (i = 0; i < node->kid_count; i++) {
			copy->kids[i] = stap_own_terms(c, node->kids[i], &inner, 0, NULL);
			if (!copy->kids[i])
				return NULL;
		}
		return copy;
	default:
		return NULL;
	}
}

static bool same(const struct stap_node *a, const struct stap_node *b)
{
	uint32_t i;

	if (a->kind != b->kind || a->value != b->value || strcmp(a->text, b->text) != 0 || a->kid_count != b->kid_count)
		return false;
	for (i = 0; i < a->kid_count; i++)
		if (!same(a->kids[i], b->kids[i]))
			return false;
	return true;
}

static void add_memory(struct collecting *w, struct stap_node *address, bool is_kernel)
{
	struct stap_handler *handler = w->handler;
	size_t i;

	for (i = 0; i < handler->memory.count; i++)
		if (handler->memory.at[i].is_kernel == is_kernel && same(handler->memory.at[i].address, address))
			return;
	if (handler->memory.count == MEMORY_MAX)
		stap_complain(w->c, "stap.memory", address->span, "too many texts in memory in one probe");
	else if (vec_push(&handler->memory, (struct stap_memory){.address = address, .is_kernel = is_kernel}))
		w->c->arena->failed = true;
}

static void collect_targets(struct collecting *w, const struct stap_node *node);

static void collect_text(struct collecting *w, const struct stap_node *node, const struct stap_scope *scope)
{
	uint32_t variants = 1, which;

	for (which = 0; which < variants && which < 8; which++) {
		struct stap_node *address = stap_own_terms(w->c, node->kids[0], scope, which, &variants);

		if (!address) {
			if (w->c->report->errors || w->c->arena->failed)
				return;
			stap_complain(
				w->c, "stap.memory", node->span,
				"%s(): this address is not the probe's own, and its memory may have changed since",
				node->text);
			report_hint(w->c->report, "read the text where the address is known, and keep the text");
			return;
		}
		add_memory(w, address, strstr(node->text, "kernel") != NULL);
		collect_targets(w, address);
	}
}

static void add_target(struct collecting *w, const struct stap_node *node)
{
	struct stap_handler *handler = w->handler;
	size_t i;

	for (i = 0; i < handler->targets.count; i++)
		if (!strcmp(handler->targets.at[i]->text, node->text))
			return;
	if (vec_push(&handler->targets, stap_copy(w->c, node)))
		w->c->arena->failed = true;
}

static void collect_targets(struct collecting *w, const struct stap_node *node)
{
	uint32_t i;

	if (!node)
		return;
	if (node->kind == STAP_E_TARGET)
		add_target(w, node);
	for (i = 0; i < node->kid_count; i++)
		collect_targets(w, node->kids[i]);
}

static void refuse_address(struct collecting *w, const struct stap_node *node)
{
	if (node->kind == STAP_E_CAST) {
		stap_complain(w->c, "stap.cast", node->span,
			      "@cast(): this address is not the probe's own, and its memory may have changed since");
		report_hint(w->c->report, "read the member where the address is known, and keep its value");
		return;
	}
	stap_complain(w->c, "stap.task", node->span,
		      "%s(): this task is not the probe's own, and it may have ended since", node->text);
	report_hint(w->c->report, "ask where the task is known, and keep what it says");
}

/* task_pid(task) and @cast(address, ...): the address, and what is asked for, of each that it may be. */
static void collect_behind(struct collecting *w, const struct stap_node *node, const struct stap_scope *scope)
{
	uint32_t variants = 1, which;

	for (which = 0; which < variants && which < 8; which++) {
		struct stap_node *task = stap_own_terms(w->c, node->kids[0], scope, which, &variants);

		if (!task || task->kind != STAP_E_TARGET) {
			if (w->c->report->errors || w->c->arena->failed)
				return;
			refuse_address(w, node);
			return;
		}
		add_target(w, task);
		add_target(w, node->kind == STAP_E_CAST
				      ? stap_target_behind(w->c, task, node->text)
				      : stap_task_target(w->c, task, stap_task_member(node->text)));
	}
}

static bool reads_memory(const struct stap_node *node)
{
	return node->builtin && node->builtin->parameters[0] == 'a';
}

static void collect(struct collecting *w, const struct stap_node *node, const struct stap_scope *scope)
{
	uint32_t i;

	if (!node || w->c->report->errors)
		return;
	if (node->kind == STAP_E_TARGET)
		add_target(w, node);
	if (node->builtin)
		w->handler->needs |= node->builtin->needs;
	if (node->kind == STAP_E_CAST ||
	    (node->builtin && node->builtin->parameters[0] == 't' && node->kid_count == 1))
		collect_behind(w, node, scope);
	if (node->builtin && reads_memory(node) && node->kid_count)
		collect_text(w, node, scope);
	if (node->function && node->function->body && scope->depth < 12) {
		const struct stap_scope inner = {.body = node->function->body,
						 .function = node->function,
						 .arguments = node->kids,
						 .outer = scope,
						 .depth = scope->depth + 1};
		const struct stap_scope *at;
		bool recursive = false;

		for (at = scope; at; at = at->outer)
			recursive |= at->function == node->function;
		if (!recursive)
			collect(w, node->function->body, &inner);
	}
	for (i = 0; i < node->kid_count; i++)
		collect(w, node->kids[i], scope);
	for (i = 0; node->slice && i < (uint32_t)node->value; i++)
		collect(w, node->slice[i], scope);
}

void stap_capture(struct compiler *c, struct stap_handler *handler)
{
	struct collecting w = {.c = c, .handler = handler};
	const struct stap_scope scope = {.body = handler->body};
	size_t first;
	struct unit unit;

	for (first = 0; first < stap_state(c)->places.count && stap_state(c)->places.at[first].handler != handler;)
		first++;
	collect(&w, handler->body, &scope);
	if (handler->condition)
		collect(&w, handler->condition, &scope);
	if (first >= c->units.count)
		return;
	unit = c->units.at[first];
	c->unit = &unit;
	stap_state(c)->handler = handler;
	handler->kernel_condition = stap_predicate(c, handler);
	stap_state(c)->handler = NULL;
	c->unit = NULL;
}
