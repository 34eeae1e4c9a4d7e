// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions that the kernel part can tell: those of the place, and what the body begins with. */
#include <string.h>

#include "lang/dialect/stap/capture.h"

#define SEEN_MAX 64 /* assignments before a condition */

struct node *stap_kernel_number(struct compiler *c, const struct stap_node *node);

enum op stap_operator_of(const char *text)
{
	enum op op;

	for (op = OP_ADD; op <= OP_LOGICAL_OR; op++)
		if (!strcmp(op_text(op), text))
			return op;
	return OP_NONE;
}

static struct node *kernel_call(struct compiler *c, const struct stap_node *node)
{
	static const struct {
		const char *name;
		enum core_builtin builtin;
		const struct type *type;
	} table[] = {{"pid", CORE_PID, &type_int32},
		     {"tid", CORE_TID, &type_int32},
		     {"uid", CORE_UID, &type_uint32},
		     {"gid", CORE_GID, &type_uint32},
		     {"cpu", CORE_CPU, &type_uint32}};
	size_t i;

	if (!strcmp(node->text, "target") && !node->kid_count)
		return stap_core_number(c, c->options->pid);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (node->builtin && !strcmp(table[i].name, node->text))
			return stap_core_cast(c, stap_core_call(c, table[i].builtin, table[i].type, NULL), &type_int64);
	return NULL;
}

/* execname() == "text" */
static struct node *kernel_name(struct compiler *c, const struct stap_node *node)
{
	const struct stap_node *name = node->kids[0], *text = node->kids[1];
	struct node *literal, *ret;

	if (name->kind == STAP_E_TEXT) {
		name = node->kids[1];
		text = node->kids[0];
	}
	if (name->kind != STAP_E_CALL || !name->builtin || strcmp(name->text, "execname") ||
	    text->kind != STAP_E_TEXT || strlen(text->text) > 15)
		return NULL;
	literal = node_create(c->arena, NODE_STRING, text->span, 0);
	if (c->arena->failed)
		return NULL;
	literal->text = text->text;
	literal->type = type_string(c->arena, 16);
	ret = stap_core_binary(c, stap_operator_of(node->text),
			       stap_core_call(c, CORE_COMM, type_string(c->arena, 16), NULL), literal);
	return ret;
}

struct node *stap_kernel_number(struct compiler *c, const struct stap_node *node)
{
	struct node *a, *b;
	enum op op;

	switch (node->kind) {
	case STAP_E_NUMBER:
		return stap_core_number(c, node->value);
	case STAP_E_CALL:
		return kernel_call(c, node);
	case STAP_E_TARGET:
		if (strpbrk(node->text, STAP_STEPS))
			return NULL;
		a = stap_target_node(c, node);
		return a && type_is_scalar(a->type) && !stap_is_text(a->type) ? stap_core_cast(c, a, &type_int64)
									      : NULL;
	case STAP_E_UNARY:
		a = *node->text == '!' ? stap_kernel_number(c, node->kids[0]) : NULL;
		return a ? stap_core_binary(c, OP_EQUAL, stap_core_cast(c, a, &type_int64), stap_core_number(c, 0))
			 : NULL;
	case STAP_E_BINARY:
		op = stap_operator_of(node->text);
		if (op == OP_NONE || op == OP_DIV || op == OP_MOD)
			return NULL;
		if (node->kids[0]->type == STAP_STRING)
			return op == OP_EQUAL || op == OP_NOT_EQUAL ? kernel_name(c, node) : NULL;
		a = stap_kernel_number(c, node->kids[0]);
		b = a ? stap_kernel_number(c, node->kids[1]) : NULL;
		return b ? stap_core_binary(c, op, stap_core_cast(c, a, &type_int64), stap_core_cast(c, b, &type_int64))
			 : NULL;
	default:
		return NULL;
	}
}

static struct node *also(struct compiler *c, struct node *a, struct node *b)
{
	return a && b ? stap_core_binary(c, OP_LOGICAL_AND, a, b) : a ? a : b;
}

/* Does what it returns depend on how often it was called? */
static bool remembers(const char *function)
{
	static const char *const names[] = {"thread_indent", "thread_indent_depth", "indent",
					    "tokenize",	     "randint",		    "target_set_pid"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], function))
			return true;
	return false;
}

/* Does it nothing but give locals values? */
static bool is_plain(const struct stap_node *node)
{
	uint32_t i;

	if (node->kind == STAP_E_CALL)
		return node->builtin && node->builtin->type != STAP_UNKNOWN && !remembers(node->text);
	if (node->kind == STAP_E_ASSIGN &&
	    (node->kids[0]->kind != STAP_E_VARIABLE || !node->kids[0]->variable || node->kids[0]->variable->is_global))
		return false;
	if (node->kind == STAP_E_STEP || node->kind > STAP_S_EXPRESSION)
		return false;
	for (i = 0; i < node->kid_count; i++)
		if (node->kids[i] && !is_plain(node->kids[i]))
			return false;
	return true;
}

static struct node *kernel_condition(struct compiler *c, const struct stap_node *condition,
				     const struct stap_scope *scope)
{
	struct stap_node *own;
	struct node *a, *b;

	/* Of several that must hold, each one that can be told is of use, unless something is done before it. */
	if (condition->kind == STAP_E_BINARY && !strcmp(condition->text, "&&")) {
		a = kernel_condition(c, condition->kids[0], scope);
		b = is_plain(condition->kids[0]) ? kernel_condition(c, condition->kids[1], scope) : NULL;
		return also(c, a, b);
	}
	own = stap_own_terms(c, condition, scope, 0, NULL);
	return own ? stap_kernel_number(c, own) : NULL;
}

static bool is_next(const struct stap_node *node)
{
	return node->kind == STAP_S_NEXT ||
	       (node->kind == STAP_S_BLOCK && node->kid_count == 1 && is_next(node->kids[0]));
}

/* What the body begins with: if (A) next; ... or nothing but if (A) ...; *done: something is done already. */
/* `seen` is a block of the assignments so far: what locals are by now. */
static struct node *leading(struct compiler *c, struct stap_node *node, bool is_last, struct stap_node *seen,
			    bool *done)
{
	const struct stap_scope scope = {.body = seen};
	struct node *ret = NULL, *not ;
	uint32_t i;

	if (node->kind == STAP_S_BLOCK) {
		for (i = 0; i < node->kid_count && !*done; i++)
			ret = also(c, ret, leading(c, node->kids[i], is_last && i + 1 == node->kid_count, seen, done));
		return ret;
	}
	if (node->kind == STAP_S_EXPRESSION && is_plain(node->kids[0]) && seen->kid_count < SEEN_MAX) {
		seen->kids[seen->kid_count++] = node;
		return NULL;
	}
	if (node->kind == STAP_S_IF && !node->kids[2] && is_next(node->kids[1])) {
		struct stap_node *own = stap_own_terms(c, node->kids[0], &scope, 0, NULL);

		not = own ? stap_kernel_number(c, own) : NULL;
		*done = !is_plain(node->kids[0]);
		return not ? stap_core_binary(c, OP_EQUAL, stap_core_cast(c, not, &type_int64), stap_core_number(c, 0))
			   : NULL;
	}
	*done = true;
	return node->kind == STAP_S_IF && !node->kids[2] && is_last ? kernel_condition(c, node->kids[0], &scope) : NULL;
}

struct node *stap_predicate(struct compiler *c, const struct stap_handler *handler)
{
	struct stap_node *seen = stap_node(c, STAP_S_BLOCK, handler->span, SEEN_MAX);
	const struct stap_scope scope = {.body = seen};
	struct node *ret = NULL, *name;
	bool done = false;

	if (c->arena->failed)
		return NULL;
	seen->kid_count = 0;
	if (handler->pid)
		ret = also(
			c, ret,
			stap_core_binary(c, OP_EQUAL,
					 stap_core_cast(c, stap_core_call(c, CORE_PID, &type_int32, NULL), &type_int64),
					 stap_core_number(c, handler->pid)));
	if (handler->is_leader || handler->is_no_leader)
		ret = also(c, ret,
			   stap_core_binary(
				   c, handler->is_leader ? OP_EQUAL : OP_NOT_EQUAL,
				   stap_core_cast(c, stap_core_call(c, CORE_PID, &type_int32, NULL), &type_int64),
				   stap_core_cast(c, stap_core_call(c, CORE_TID, &type_int32, NULL), &type_int64)));
	if (handler->process) {
		name = node_create(c->arena, NODE_STRING, handler->span, 0);
		if (c->arena->failed)
			return NULL;
		name->text = handler->process;
		name->type = type_string(c->arena, 16);
		ret = also(c, ret,
			   stap_core_binary(c, OP_EQUAL, stap_core_call(c, CORE_COMM, type_string(c->arena, 16), NULL),
					    name));
	}
	if (handler->condition)
		ret = also(c, ret, kernel_condition(c, handler->condition, &scope));
	if (handler->when == WHEN_EVENT || handler->when == WHEN_TIMER)
		ret = also(c, ret, leading(c, handler->body, true, seen, &done));
	return ret;
}
