// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions whose work the runtime does: tokens, addresses as text, ancestors. */
#include <string.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include "lang/dialect/d/d.h"
#include "lang/rt/abi.h"

/* --- NULL --- */

/* A string of a thread, or of an array, that nobody has set is NULL: its address is invalid. */
static struct node *if_set(struct compiler *c, const struct d_expr *expr, struct node *node)
{
	struct node *block, *test, *fault, *known;
	uint32_t i;

	if (expr->kind != D_VARIABLE || node->kind != NODE_MAP || node->type->kind != TYPE_STRING || !node->kid_count)
		return node;
	/* Keys are computed twice. */
	for (i = 0; i < expr->kid_count; i++)
		if (expr->kids[i]->kind != D_INT && expr->kids[i]->kind != D_STRING &&
		    expr->kids[i]->kind != D_VARIABLE)
			return node;
	block = node_create(c->arena, NODE_BLOCK_VALUE, expr->span, 2);
	test = node_create(c->arena, NODE_IF, expr->span, 3);
	fault = d_call(c, CORE_FAULT, &type_none, expr->span, 1);
	known = d_call(c, CORE_HAS_KEY, &type_bool, expr->span, 1);
	if (c->arena->failed)
		return node;
	known->kids[0] = d_variable_read(c, expr);
	fault->value = CORE_FAULT_ADDRESS;
	fault->kids[0] = d_int(c, 0, &type_uint64);
	test->kids[0] = d_binary(c, OP_EQUAL, &type_int32, d_cast(c, known, &type_int32), d_int(c, 0, &type_int32));
	test->kids[1] = fault;
	test->kids[2] = NULL;
	block->kids[0] = test;
	block->kids[1] = node;
	block->type = node->type;
	return block;
}

struct node *d_argument_text(struct compiler *c, const struct d_expr *expr)
{
	struct node *node;

	d_state(c)->is_used = expr->kind == D_CALL;
	node = d_text(c, expr);
	d_state(c)->is_used = false;
	return if_set(c, expr, node);
}

struct node *d_argument_value(struct compiler *c, const struct d_expr *expr)
{
	struct node *node;

	d_state(c)->is_used = expr->kind == D_CALL;
	node = if_set(c, expr, d_value(c, expr));
	d_state(c)->is_used = false;
	/* What is recorded is no longer than strsize. */
	return node->kind == NODE_STRING && node->type->size > d_string_type(c)->size
		       ? d_cast(c, node, d_string_type(c))
		       : node;
}

bool d_take_use(struct compiler *c)
{
	bool ret = d_state(c)->is_used;

	d_state(c)->is_used = false;
	return ret;
}

struct node *d_null_text(struct compiler *c, bool is_used, struct span span)
{
	struct node *empty = d_cast(c, d_literal(c, ""), d_string_type(c)), *block, *fault;

	if (!is_used)
		return empty;
	block = node_create(c->arena, NODE_BLOCK_VALUE, span, 2);
	fault = d_call(c, CORE_FAULT, &type_none, span, 1);
	if (c->arena->failed)
		return empty;
	fault->value = CORE_FAULT_ADDRESS;
	fault->kids[0] = d_int(c, 0, &type_uint64);
	block->kids[0] = fault;
	block->kids[1] = empty;
	block->type = empty->type;
	return block;
}

/* --- strtok() --- */

/* Zeros when the probe fires: no text is begun. All clauses of the place go on with it. */
static struct symbol *token_state(struct compiler *c)
{
	struct d_unit *unit = d_state(c)->unit;

	if (unit->strtok)
		return unit->strtok;
	unit->strtok = d_local(c, type_scratch(c->arena, d_string_type(c)->size));
	if (!unit->strtok || vec_push(&unit->locals, unit->strtok)) {
		c->arena->failed = true;
		return NULL;
	}
	unit->strtok->name = "strtok";
	return unit->strtok;
}

/* let t = token; t has characters ? t : NULL */
static struct node *token_or_null(struct compiler *c, struct node *token)
{
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, token->span, 2),
		    *let = node_create(c->arena, NODE_LET, token->span, 1),
		    *ternary = node_create(c->arena, NODE_TERNARY, token->span, 3),
		    *length = d_call(c, CORE_STRLEN, &type_uint64, token->span, 1);
	struct symbol *symbol = arena_new(c->arena, struct symbol);

	if (c->arena->failed)
		return token;
	*symbol = (struct symbol){.name = "token", .type = token->type};
	let->symbol = symbol;
	let->kids[0] = token;
	length->kids[0] = d_variable_node(c, symbol);
	ternary->kids[0] = d_binary(c, OP_NOT_EQUAL, &type_uint64, length, d_int(c, 0, &type_uint64));
	ternary->kids[1] = d_variable_node(c, symbol);
	ternary->kids[2] = d_null_text(c, true, token->span);
	ternary->type = token->type;
	block->kids[0] = let;
	block->kids[1] = ternary;
	block->type = token->type;
	return block;
}

struct node *d_strtok(struct compiler *c, const struct d_expr *call)
{
	struct symbol *state = token_state(c);
	bool is_used = d_take_use(c);
	bool goes_on = d_is_null(c, call->kids[0]);
	struct node *node = d_call(c, CORE_STRTOK, d_string_type(c), call->span, goes_on ? 2 : 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_variable_node(c, state);
	node->kids[1] = d_argument_text(c, call->kids[1]);
	if (!goes_on)
		node->kids[2] = d_argument_text(c, call->kids[0]);
	return is_used ? token_or_null(c, node) : node;
}

/* --- addresses --- */

static struct node *address_text(struct compiler *c, struct node *where, enum core_address kind, struct span span)
{
	struct node *node = d_call(c, CORE_ADDRESS_TEXT, d_string_type(c), span, 1);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, where, &type_uint64);
	node->value = kind;
	return node;
}

struct node *d_inet_ntoa(struct compiler *c, const struct d_expr *call)
{
	return address_text(c, d_number(c, call->kids[0]), CORE_ADDRESS_IP4, call->span);
}

struct node *d_inet_ntoa6(struct compiler *c, const struct d_expr *call)
{
	int64_t strict = 0;

	if (call->kid_count > 1 && !d_constant(c, call->kids[1], &strict))
		report_error(c->report, "D_PROTO_ARG", call->span,
			     "inet_ntoa6( ) argument #2 is incompatible with prototype:\n\tprototype: int constant\n"
			     "\t argument: %s",
			     d_type_name(c, d_value(c, call->kids[1])->type));
	return address_text(c, d_number(c, call->kids[0]), strict ? CORE_ADDRESS_IP6_STRICT : CORE_ADDRESS_IP6,
			    call->span);
}

static struct symbol *kept(struct compiler *c, struct node *block, uint32_t index, struct node *value,
			   const struct type *type)
{
	struct symbol *symbol = arena_new(c->arena, struct symbol);
	struct node *let = node_create(c->arena, NODE_LET, (struct span){}, 1);

	if (c->arena->failed)
		return symbol;
	*symbol = (struct symbol){.name = "address", .type = type};
	let->symbol = symbol;
	let->kids[0] = d_cast(c, value, type);
	block->kids[index] = let;
	return symbol;
}

static struct node *choose(struct compiler *c, struct symbol *number, int64_t value, struct node *yes, struct node *no)
{
	struct node *node = node_create(c->arena, NODE_TERNARY, yes->span, 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_binary(c, OP_EQUAL, &type_int64, d_variable_node(c, number), d_int(c, value, &type_int64));
	node->kids[1] = yes;
	node->kids[2] = no;
	node->type = yes->type;
	return node;
}

/* The kind of the address is a number that is known when it runs; another number is a failure. */
static struct node *by_number(struct compiler *c, const struct d_expr *call, const int64_t numbers[2],
			      const enum core_address kinds[2])
{
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, call->span, 3),
		    *other = node_create(c->arena, NODE_BLOCK_VALUE, call->span, 2),
		    *fault = d_call(c, CORE_FAULT, &type_none, call->span, 1), *second;
	struct symbol *number, *where;

	if (c->arena->failed)
		return block;
	fault->value = CORE_FAULT_OPERATION;
	fault->kids[0] = d_int(c, 0, &type_uint64);
	other->kids[0] = fault;
	other->kids[1] = d_cast(c, d_literal(c, ""), d_string_type(c));
	other->type = d_string_type(c);
	number = kept(c, block, 0, d_number(c, call->kids[0]), &type_int64);
	where = kept(c, block, 1, d_number(c, call->kids[1]), &type_uint64);
	if (c->arena->failed)
		return block;
	second = choose(c, number, numbers[1], address_text(c, d_variable_node(c, where), kinds[1], call->span), other);
	block->kids[2] =
		choose(c, number, numbers[0], address_text(c, d_variable_node(c, where), kinds[0], call->span), second);
	block->type = d_string_type(c);
	return block;
}

struct node *d_inet_ntop(struct compiler *c, const struct d_expr *call)
{
	return by_number(c, call, (const int64_t[]){AF_INET, AF_INET6},
			 (const enum core_address[]){CORE_ADDRESS_IP4, CORE_ADDRESS_IP6_STRICT});
}

struct node *d_link_ntop(struct compiler *c, const struct d_expr *call)
{
	return by_number(c, call, (const int64_t[]){ARPHRD_ETHER, ARPHRD_INFINIBAND},
			 (const enum core_address[]){CORE_ADDRESS_ETHERNET, CORE_ADDRESS_INFINIBAND});
}

/* --- progenyof() --- */

struct node *d_progenyof(struct compiler *c, const struct d_expr *call)
{
	const struct d_expr variable = {.kind = D_VARIABLE, .text = "curthread", .span = call->span};
	struct node *node = d_call(c, CORE_PROGENY, &type_int32, call->span, 2), *task = d_builtin(c, &variable);
	struct type_field parent = {}, number = {};

	if (c->arena->failed || !task || task->type->kind != TYPE_POINTER)
		return node;
	if (!types_field(&c->types, task->type->to, "real_parent", &parent) ||
	    !types_field(&c->types, task->type->to, "tgid", &number)) {
		report_error(c->report, "D_FUNC_UNDEF", call->span, "progenyof( ) needs the kernel's BTF");
		return d_int(c, 0, &type_int32);
	}
	node->kids[0] = d_cast(c, task, &type_uint64);
	node->kids[1] = d_cast(c, d_number(c, call->kids[0]), &type_uint64);
	node->value = (uint64_t)parent.offset << 32 | number.offset;
	return node;
}

/* --- d_path() --- */

struct node *d_d_path(struct compiler *c, const struct d_expr *call)
{
	static const struct {
		const char *record, *name;
	} rows[] = {[RT_PATH_MOUNT] = {"struct path", "mnt"},
		    [RT_PATH_DENTRY] = {"struct path", "dentry"},
		    [RT_PATH_PARENT] = {"struct dentry", "d_parent"},
		    [RT_PATH_LENGTH] = {"struct qstr", "len"},
		    [RT_PATH_NAME] = {"struct qstr", "name"},
		    [RT_PATH_ROOT] = {"struct vfsmount", "mnt_root"},
		    [RT_PATH_WITHIN] = {"struct mount", "mnt"},
		    [RT_PATH_ABOVE] = {"struct mount", "mnt_parent"},
		    [RT_PATH_MOUNTPOINT] = {"struct mount", "mnt_mountpoint"},
		    [RT_PATH_FS] = {"struct task_struct", "fs"},
		    [RT_PATH_OWN_ROOT] = {"struct fs_struct", "root"}};
	struct node *node = d_call(c, CORE_PATH_TEXT, d_string_type(c), call->span, 1 + RT_PATH_PLACES / 4);
	uint64_t words[RT_PATH_PLACES / 4] = {};
	struct type_field field = {}, name = {};
	bool is_known = true;
	size_t i;

	if (c->arena->failed)
		return node;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]) && is_known; i++) {
		const struct type *record = types_find(&c->types, rows[i].record);

		is_known = record && (!record->is_incomplete || types_complete(&c->types, record)) &&
			   types_field(&c->types, record, rows[i].name, &field);
		if (is_known && (i == RT_PATH_LENGTH || i == RT_PATH_NAME)) {
			is_known = types_field(&c->types, types_find(&c->types, "struct dentry"), "d_name", &name);
			field.offset += name.offset;
		}
		words[i / 4] |= (uint64_t)field.offset << i % 4 * 16;
	}
	if (!is_known) {
		report_error(c->report, "D_FUNC_UNDEF", call->span, "d_path( ) needs the kernel's BTF");
		return d_literal(c, "");
	}
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_uint64);
	for (i = 0; i < RT_PATH_PLACES / 4; i++)
		node->kids[1 + i] = d_int(c, (int64_t)words[i], &type_uint64);
	return node;
}
