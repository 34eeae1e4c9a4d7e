// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program of a handler. Its record: the place, then a word or text for each need, then two for each target (value,
 * whether it could be read), then three for each text (the text, whether, and its address).
 */
#include <string.h>

#include "lang/builtin/probe.h"
#include "lang/dialect/stap/capture.h"
#include "lang/provider/provider.h"

struct making {
	struct compiler *c;
	VEC(struct node *) statements;
	VEC(struct node *) values;
};

static void say(struct making *m, struct node *statement)
{
	if (vec_push(&m->statements, statement))
		m->c->arena->failed = true;
}

static uint32_t send(struct making *m, struct node *value)
{
	if (vec_push(&m->values, value))
		m->c->arena->failed = true;
	return (uint32_t)m->values.count - 1;
}

static struct node *variable(struct compiler *c, struct symbol *symbol)
{
	struct node *node = node_create(c->arena, NODE_VARIABLE, (struct span){}, 0);

	if (!c->arena->failed && symbol) {
		node->symbol = symbol;
		node->type = symbol->type;
	}
	return node;
}

static struct symbol *let(struct making *m, const char *name, const struct type *type, struct node *value)
{
	struct symbol *symbol = arena_new(m->c->arena, struct symbol);
	struct node *node = node_create(m->c->arena, NODE_LET, (struct span){}, value ? 1 : 0);

	if (!symbol || m->c->arena->failed)
		return NULL;
	*symbol = (struct symbol){.name = name, .type = type};
	node->symbol = symbol;
	if (value)
		node->kids[0] = value;
	say(m, node);
	return symbol;
}

static struct node *assign(struct compiler *c, struct symbol *symbol, struct node *value)
{
	struct node *node = node_create(c->arena, NODE_ASSIGN, (struct span){}, 2);

	if (c->arena->failed)
		return node;
	node->kids[0] = variable(c, symbol);
	node->kids[1] = value;
	return node;
}

/* A value that may not be there: the value, and 1 if it is. */
static uint32_t send_guarded(struct making *m, const char *name, struct node *value)
{
	struct compiler *c = m->c;
	struct symbol *symbol = let(m, name, value->type, NULL),
		      *there = let(m, "there", &type_int64, stap_core_number(c, 0)), *fault;
	struct node *clause = node_create(c->arena, NODE_CLAUSE, (struct span){}, 2);
	struct node *block = node_create(c->arena, NODE_BLOCK, (struct span){}, 2);
	uint32_t slot;

	fault = arena_new(c->arena, struct symbol);
	if (!symbol || !there || !fault || c->arena->failed)
		return 0;
	*fault = (struct symbol){.name = "fault", .type = type_fault(c->arena)};
	block->kids[0] = assign(c, symbol, value);
	block->kids[1] = assign(c, there, stap_core_number(c, 1));
	clause->symbol = fault;
	clause->kids[0] = block;
	clause->kids[1] = NULL;
	say(m, clause);
	slot = send(m, variable(c, symbol));
	send(m, variable(c, there));
	return slot;
}

static struct node *task_field(struct compiler *c, const char *path)
{
	const struct type *record = types_find(&c->types, "struct task_struct");
	struct node *node = record ? stap_core_call(c, CORE_CURTASK, type_pointer(c->arena, record), NULL) : NULL;
	size_t length;

	for (; node && *path; path += length + (path[length] == '.')) {
		char *name;

		length = strcspn(path, ".");
		name = arena_strdup(c->arena, path, length);
		node = name ? stap_core_field(c, node, name) : NULL;
	}
	return node;
}

/* Where the processor is or was: 0 where the place does not tell. */
static struct node *instruction(struct compiler *c)
{
	struct node *node;
	uint64_t at;

	if ((c->unit->provider->context != CONTEXT_PERF && c->unit->provider->context != CONTEXT_REGISTERS) ||
	    (!probe_register("ip", &at) && !probe_register("pc", &at)))
		return stap_core_number(c, 0);
	node = stap_core_call(c, CORE_REG, &type_uint64, NULL);
	if (!c->arena->failed)
		node->value = at;
	return stap_core_cast(c, node, &type_int64);
}

/* The memory of the process that has its command line; NULL: there are no types of the kernel. */
static struct node *command_line(struct compiler *c)
{
	struct node *begin = task_field(c, "mm.arg_start"), *end = task_field(c, "mm.arg_end"), *node;
	uint32_t most = (uint32_t)stap_state(c)->limits[MAXSTRINGLEN];

	if (!begin || !end)
		return NULL;
	node = node_create(c->arena, NODE_CALL, (struct span){}, 2);
	if (c->arena->failed)
		return NULL;
	node->builtin = CORE_BUF;
	node->type = type_buffer(c->arena, most);
	node->kids[0] = begin;
	node->kids[1] = stap_core_binary(c, OP_SUB, stap_core_cast(c, end, &type_int64),
					 stap_core_cast(c, task_field(c, "mm.arg_start"), &type_int64));
	return node;
}

static struct node *need_node(struct compiler *c, enum stap_need need)
{
	struct node *node = NULL;
	uint32_t parts;

	switch (need) {
	case NEED_PID:
		return stap_core_cast(c, stap_core_call(c, CORE_PID, &type_int32, NULL), &type_int64);
	case NEED_TID:
		return stap_core_cast(c, stap_core_call(c, CORE_TID, &type_int32, NULL), &type_int64);
	case NEED_UID:
		return stap_core_cast(c, stap_core_call(c, CORE_UID, &type_uint32, NULL), &type_int64);
	case NEED_GID:
		return stap_core_cast(c, stap_core_call(c, CORE_GID, &type_uint32, NULL), &type_int64);
	case NEED_EUID:
		node = task_field(c, "cred.euid.val");
		break;
	case NEED_EGID:
		node = task_field(c, "cred.egid.val");
		break;
	case NEED_CPU:
		return stap_core_cast(c, stap_core_call(c, CORE_CPU, &type_uint32, NULL), &type_int64);
	case NEED_TIME:
		node = stap_core_call(c, CORE_NSECS, &type_uint64, NULL);
		if (!c->arena->failed)
			node->flags = CORE_CLOCK_BOOT;
		return node;
	case NEED_NAME:
		return stap_core_call(c, CORE_COMM, type_string(c->arena, 16), NULL);
	case NEED_PPID:
		node = task_field(c, "real_parent.tgid");
		break;
	case NEED_PNAME:
		node = task_field(c, "real_parent.comm");
		if (node)
			return node;
		break;
	case NEED_USTACK:
	case NEED_KSTACK:
		parts = need == NEED_KSTACK ? STACK_KERNEL : STACK_NATIVE | STACK_SECOND;
		c->stack_parts |= parts;
		return stap_core_call(c, CORE_STACK, type_stack(c->arena, parts, 0, STACK_STYLE_SIZED), NULL);
	case NEED_USERMODE:
		if (c->unit->provider->context == CONTEXT_PERF || c->unit->provider->context == CONTEXT_REGISTERS)
			return stap_core_cast(c, stap_core_call(c, CORE_USERMODE, &type_uint8, NULL), &type_int64);
		return stap_core_number(c, 0);
	case NEED_ADDRESS:
		return instruction(c);
	case NEED_COMMAND:
		node = command_line(c);
		if (node)
			return node;
		break;
	default:
		return stap_core_number(c, 0);
	}
	if (node)
		return stap_core_cast(c, node, &type_int64);
	stap_complain(c, "stap.btf", c->unit->span,
		      "this probe asks for what only the kernel's types tell, and this "
		      "kernel has no BTF");
	return stap_core_number(c, 0);
}

/* The text at an address. Python's own probes have theirs at hand (stap_marker_argument()). */
static struct node *text_of(struct compiler *c, const struct stap_memory *memory, struct node *address)
{
	if (c->unit->provider->computes_args && memory->address->kind == STAP_E_TARGET &&
	    (!strcmp(memory->address->text, "$arg1") || !strcmp(memory->address->text, "$arg2")))
		address = stap_marker_argument(c, memory->address->text[4] - '1');
	return stap_core_call(c, CORE_STR, stap_text_type(c), stap_core_cast(c, address, &type_uint64));
}

/* Numbers of targets; no fault can happen here that the target's own slot has not seen. */
static struct node *address_node(struct compiler *c, const struct stap_node *node)
{
	struct node *a, *b;

	if (node->kind == STAP_E_TARGET) {
		a = stap_target_node(c, node);
		return a && type_is_scalar(a->type) ? stap_core_cast(c, a, &type_int64) : NULL;
	}
	if (node->kind == STAP_E_UNARY) {
		a = address_node(c, node->kids[0]);
		return a && *node->text == '-' ? stap_core_binary(c, OP_SUB, stap_core_number(c, 0), a) : NULL;
	}
	if (node->kind == STAP_E_BINARY) {
		enum op op = stap_operator_of(node->text);

		a = address_node(c, node->kids[0]);
		b = address_node(c, node->kids[1]);
		return a && b && op != OP_NONE ? stap_core_binary(c, op, a, b) : NULL;
	}
	return stap_kernel_number(c, node);
}

static void add_memory_values(struct making *m, struct stap_memory *memory)
{
	struct compiler *c = m->c;
	struct node *address = address_node(c, memory->address), *text;
	uint32_t slot;

	if (!address) {
		if (!c->report->errors)
			stap_complain(c, "stap.memory", memory->address->span, "this is no address of the probe's");
		return;
	}
	text = text_of(c, memory, address);
	if (!text || c->arena->failed)
		return;
	slot = send_guarded(m, "text", text);
	send(m, address);
	/* All places of a handler have the same slots. */
	memory->slot = slot;
}

static void add_target_values(struct making *m, struct stap_node *target)
{
	struct node *node = stap_target_node(m->c, target);

	if (!node) {
		if (!m->c->report->errors)
			stap_complain(m->c, "stap.target", target->span,
				      "unable to find target variable '%s' at each place of this probe", target->text);
		return;
	}
	if (node->type->kind == TYPE_POINTER && node->type->is_data_loc)
		node = stap_core_call(m->c, CORE_STR, stap_text_type(m->c), node);
	else if (node->type->kind != TYPE_STRING)
		node = stap_core_cast(m->c, node, &type_int64);
	target->slot = send_guarded(m, "target", node);
}

static struct node *record_node(struct making *m, const struct stap_layout *layout, struct span span)
{
	struct compiler *c = m->c;
	uint32_t count = (uint32_t)m->values.count, i;
	const struct type **types = arena_array(c->arena, const struct type *, count);
	struct node *node = node_create(c->arena, NODE_CALL, span, count);
	struct site site = {.kind = SITE_OF_DIALECT, .call = layout, .span = span};

	if (!types || c->arena->failed)
		return node;
	node->builtin = CORE_SEND;
	node->type = &type_none;
	for (i = 0; i < count; i++) {
		node->kids[i] = m->values.at[i];
		types[i] = node->kids[i]->type;
	}
	site.arguments = type_tuple(c->arena, types, NULL, count);
	site.is_frequent = c->unit->provider->run == RUN_BY_KERNEL && c->unit->provider->context != CONTEXT_PERF;
	node->site = (uint32_t)c->sites.count;
	if (vec_push(&c->sites, site))
		c->arena->failed = true;
	return node;
}

void stap_program(struct compiler *c, const struct stap_handler *handler)
{
	struct making m = {.c = c};
	struct stap_layout *layout = arena_new(c->arena, struct stap_layout);
	struct unit *unit = &c->units.at[c->unit - c->units.at];
	enum stap_need need;
	struct node *block;
	size_t i;

	if (!layout)
		return;
	stap_state(c)->handler = (struct stap_handler *)(uintptr_t)handler;
	send(&m, stap_core_call(c, CORE_PROBE, &type_probe, NULL));
	for (need = 0; need < NEED_COUNT; need++)
		if (handler->needs & 1u << need)
			layout->needs[need] = send(&m, need_node(c, need));
	for (i = 0; i < handler->targets.count; i++)
		add_target_values(&m, handler->targets.at[i]);
	for (i = 0; i < handler->memory.count; i++)
		add_memory_values(&m, &handler->memory.at[i]);
	if (!c->report->errors && !c->arena->failed)
		say(&m, record_node(&m, layout, handler->span));
	block = node_create(c->arena, NODE_BLOCK, handler->span, (uint32_t)m.statements.count);
	for (i = 0; !c->arena->failed && i < m.statements.count; i++)
		block->kids[i] = m.statements.at[i];
	unit->body = block;
	unit->predicate = c->arena->failed ? NULL : stap_predicate(c, handler);
	stap_state(c)->handler = NULL;
	vec_free(&m.statements);
	vec_free(&m.values);
}
