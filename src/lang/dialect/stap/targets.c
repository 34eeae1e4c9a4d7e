// SPDX-License-Identifier: GPL-2.0-or-later
/* Target variables: $name, $argN, $$vars, in the core's words, at the place of the unit. */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/capture.h"
#include "lang/provider/binary_arguments.h"
#include "lang/provider/provider.h"
#include "lang/provider/usdt_arguments.h"

/* --- nodes of the core --- */

struct node *stap_core_number(struct compiler *c, int64_t value)
{
	struct node *node = node_create(c->arena, NODE_INT, (struct span){}, 0);

	if (!c->arena->failed) {
		node->value = (uint64_t)value;
		node->type = &type_int64;
	}
	return node;
}

struct node *stap_core_call(struct compiler *c, enum core_builtin builtin, const struct type *type,
			    struct node *operand)
{
	struct node *node = node_create(c->arena, NODE_CALL, (struct span){}, operand ? 1 : 0);

	if (c->arena->failed)
		return node;
	node->builtin = builtin;
	node->type = type;
	if (operand)
		node->kids[0] = operand;
	return node;
}

struct node *stap_core_cast(struct compiler *c, struct node *of, const struct type *type)
{
	struct node *node;

	if (c->arena->failed || type_equal(of->type, type))
		return of;
	node = node_create(c->arena, NODE_CAST, of->span, 1);
	if (c->arena->failed)
		return of;
	node->kids[0] = of;
	node->type = type;
	return node;
}

struct node *stap_core_binary(struct compiler *c, enum op op, struct node *a, struct node *b)
{
	struct node *node = node_create(c->arena, NODE_BINARY, (struct span){}, 2);

	if (c->arena->failed)
		return node;
	node->op = op;
	node->kids[0] = a;
	node->kids[1] = b;
	node->flags = OPERATION_SIGNED;
	node->type = op >= OP_EQUAL && op <= OP_LOGICAL_OR ? &type_int32 : &type_int64;
	return node;
}

struct node *stap_core_field(struct compiler *c, struct node *of, const char *name)
{
	const struct type *record = of->type->kind == TYPE_POINTER ? of->type->to : of->type;
	struct type_field *found = arena_new(c->arena, struct type_field);
	struct node *node;

	if (c->arena->failed || record->kind != TYPE_RECORD || !types_field(&c->types, record, name, found))
		return NULL;
	node = node_create(c->arena, NODE_FIELD, of->span, 1);
	if (c->arena->failed)
		return NULL;
	node->kids[0] = of;
	node->field = found;
	node->type = found->type;
	if (found->type->kind == TYPE_ARRAY && found->type->to->size == 1 && found->type->count)
		node->type = type_string(c->arena, found->type->count);
	return node;
}

const struct type *stap_text_type(struct compiler *c)
{
	return type_string(c->arena, (uint32_t)stap_state(c)->limits[MAXSTRINGLEN]);
}

/* --- target variables --- */

static uint32_t digits_of(const char *name, const char *before)
{
	size_t length = strlen(before);

	if (strncmp(name, before, length) || !name[length] ||
	    strspn(name + length, "0123456789") != strlen(name + length))
		return 0;
	return (uint32_t)strtoul(name + length, NULL, 10);
}

struct node *stap_marker_argument(struct compiler *c, uint32_t index)
{
	struct node *node = stap_core_call(c, CORE_ARGUMENT, &type_int64, NULL);

	if (!c->arena->failed)
		node->value = index;
	return node;
}

/* Of a tracepoint's record: by name; $argN of a system call by its number. */
static struct node *of_record(struct compiler *c, const struct attach *attach, const char *name)
{
	struct node *args = stap_core_call(c, CORE_ARGS, type_pointer(c->arena, attach->arguments), NULL), *node;
	uint32_t number_of = digits_of(name, "arg");
	bool is_raw = stap_state(c)->handler && stap_state(c)->handler->is_raw_syscall;
	bool is_enter = strstr(attach->name, ":sys_enter") != NULL;

	if (is_raw && !strcmp(name, "syscall"))
		return stap_core_field(c, args, "id");
	/* What a function of the kernel returned is its first word, too. */
	if (!strcmp(name, "return") || (number_of == 1 && strstr(attach->name, ":sys_exit")))
		return stap_core_field(c, args, "ret");
	if (is_raw && number_of && number_of <= 6 && is_enter) {
		struct type_field *found = arena_new(c->arena, struct type_field);
		struct node *index;

		if (!found || !types_field(&c->types, attach->arguments, "args", found) ||
		    found->type->kind != TYPE_ARRAY)
			return NULL;
		node = stap_core_field(c, args, "args");
		if (!node)
			return NULL;
		node->type = found->type;
		index = node_create(c->arena, NODE_INDEX, (struct span){}, 2);
		if (c->arena->failed)
			return NULL;
		index->kids[0] = node;
		index->kids[1] = stap_core_number(c, number_of - 1);
		index->type = found->type->to;
		return index;
	}
	if (number_of && is_enter && number_of < attach->arguments->field_count)
		return stap_core_field(c, args, attach->arguments->fields[number_of].name);
	return stap_core_field(c, args, name);
}

/* The line, as markers have it. A module's first instruction is on none, from 3.11 on. */
static struct node *python_line(struct compiler *c, struct node *args)
{
	struct node *line = stap_core_field(c, args, "line"), *first = stap_core_field(c, args, "first_line");
	struct node *is_none;

	if (!line)
		return NULL;
	line = stap_core_cast(c, line, &type_int64);
	/* Of python.line each is on one. */
	if (!first)
		return line;
	is_none = stap_core_binary(c, OP_EQUAL, line, stap_core_number(c, 0));
	first = stap_core_binary(c, OP_MUL, stap_core_cast(c, first, &type_int64),
				 stap_core_cast(c, is_none, &type_int64));
	return stap_core_binary(c, OP_ADD, line, first);
}

static struct node *of_python(struct compiler *c, const struct attach *attach, const char *name)
{
	uint32_t number_of = digits_of(name, "arg");
	const struct type *record = attach->arguments;
	struct node *args = stap_core_call(c, CORE_ARGS, record, NULL);
	bool is_function = record->field_count && !strcmp(record->fields[0].name, "file");

	if (!number_of && strcmp(name, "lineno") != 0)
		return stap_core_field(c, args, name);
	if (is_function && (!number_of || number_of == 3))
		return python_line(c, args);
	/* Which of the texts that the place has itself: see text_of() in program.c. */
	if (number_of && number_of <= record->field_count && record->fields[number_of - 1].type->kind == TYPE_STRING)
		return stap_core_number(c, number_of);
	return is_function || !number_of ? NULL : stap_marker_argument(c, number_of - 1);
}

static struct node *of_function(struct compiler *c, struct attach *attach, const char *name)
{
	const struct binary_arguments *arguments;
	uint32_t number_of = digits_of(name, "arg");

	if (c->unit->provider->is_return)
		return strcmp(name, "return") != 0 ? NULL : stap_core_call(c, CORE_RETVAL, &type_int64, NULL);
	if (number_of)
		return number_of <= arch_here()->argument_count ? stap_marker_argument(c, number_of - 1) : NULL;
	arguments = c->unit->provider->has_parameters ? binary_arguments(c, attach) : NULL;
	if (!arguments || !arguments->record)
		return NULL;
	return stap_core_field(c, stap_core_call(c, CORE_ARGS, arguments->record, NULL), name);
}

static struct node *base_of(struct compiler *c, const char *name)
{
	struct attach *attach = compiler_attach(c);
	struct usdt_argument found;
	struct node *node;
	uint32_t number_of = digits_of(name, "arg");

	if (!strcmp(name, "__task")) {
		const struct type *record = types_find(&c->types, "struct task_struct");

		return record ? stap_core_call(c, CORE_CURTASK, type_pointer(c->arena, record), NULL) : NULL;
	}
	if (attach->spec) {
		if (!number_of || !usdt_argument_parse(attach->spec, number_of - 1, &found))
			return NULL;
		node = stap_marker_argument(c, number_of - 1);
		if (!c->arena->failed)
			node->type = type_integer(found.size, found.is_signed);
		return stap_core_cast(c, node, &type_int64);
	}
	if (c->unit->provider->computes_args)
		return attach->arguments ? of_python(c, attach, name) : NULL;
	if (c->unit->provider->context == CONTEXT_TRACEPOINT || c->unit->provider->context == CONTEXT_WORDS)
		return attach->arguments ? of_record(c, attach, name) : NULL;
	if (c->unit->provider->context == CONTEXT_REGISTERS)
		return of_function(c, attach, name);
	return NULL;
}

/* --- members, casts and addresses: the steps behind a variable's name (stap.h) --- */

static const struct type *cast_type(struct compiler *c, const char *name)
{
	static const char *const kinds[] = {"", "struct ", "union "};
	const struct type *type = NULL;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !type; i++) {
		const char *full = arena_printf(c->arena, "%s%s", kinds[i], name);

		type = full ? types_find(&c->types, full) : NULL;
	}
	return type;
}

static struct node *cast_step(struct compiler *c, struct node *of, const char *name)
{
	const struct type *type = cast_type(c, name);

	if (!type || !(type_is_scalar(of->type) || of->type->kind == TYPE_POINTER))
		return NULL;
	return stap_core_cast(c, of, type_pointer(c->arena, type));
}

static struct node *index_step(struct compiler *c, struct node *of, int64_t at)
{
	const struct type *type = of->type;
	struct node *index;

	if (type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY)
		return NULL;
	index = node_create(c->arena, NODE_INDEX, of->span, 2);
	if (c->arena->failed)
		return NULL;
	index->kids[0] = of;
	index->kids[1] = stap_core_number(c, at);
	index->type = type->to;
	return index;
}

/* Where the member or element lies. NULL: it is no memory that a pointer leads to, or a bit field. */
static struct node *address_step(struct compiler *c, const struct node *of)
{
	struct node *base = of->kid_count ? of->kids[0] : NULL;
	int64_t offset;

	if (of->kind == NODE_FIELD && base && !of->field->bit_size)
		offset = of->field->offset;
	else if (of->kind == NODE_INDEX && base)
		offset = (int64_t)of->kids[1]->value * of->type->size;
	else
		return NULL;
	if (base->type->kind != TYPE_POINTER)
		base = address_step(c, base);
	else if (base->kind == NODE_CALL && base->builtin == CORE_ARGS)
		return NULL;
	return base ? stap_core_binary(c, OP_ADD, stap_core_cast(c, base, &type_int64), stap_core_number(c, offset))
		    : NULL;
}

static struct node *steps(struct compiler *c, struct node *node, const char *at)
{
	size_t length;
	const char *name;

	for (; node && *at; at += length) {
		if (*at == '&') {
			length = 1;
			node = address_step(c, node);
		} else if (*at == '[') {
			length = strcspn(at, "]") + 1;
			node = index_step(c, node, strtoll(at + 1, NULL, 10));
		} else if (*at == '{') {
			length = strcspn(at, "}") + 1;
			name = arena_strdup(c->arena, at + 1, length - 2);
			node = name ? cast_step(c, node, name) : NULL;
		} else {
			at += 2;
			length = strcspn(at, STAP_STEPS);
			name = arena_strdup(c->arena, at, length);
			node = name ? stap_core_field(c, node, name) : NULL;
		}
	}
	return node;
}

struct node *stap_target_node(struct compiler *c, const struct stap_node *target)
{
	const char *at = target->text + 1;
	size_t length = strcspn(at, STAP_STEPS);
	char *name = arena_strdup(c->arena, at, length);
	struct node *node = name && *name && *name != '$' ? base_of(c, name) : NULL;

	return node ? steps(c, node, at + length) : NULL;
}

static enum stap_type type_of(const struct node *node)
{
	if (!node)
		return STAP_UNKNOWN;
	if (stap_is_text(node->type))
		return STAP_STRING;
	return type_is_scalar(node->type) ? STAP_LONG : STAP_UNKNOWN;
}

struct stap_node *stap_target_behind(struct compiler *c, const struct stap_node *base, const char *more)
{
	struct stap_node *node = stap_node(c, STAP_E_TARGET, base->span, 0);
	const char *text = arena_printf(c->arena, "%s%s", base->text, more);

	if (!c->arena->failed)
		node->text = text;
	return node;
}

enum stap_type stap_cast_type(struct compiler *c, const struct stap_node *cast)
{
	return type_of(steps(c, stap_core_number(c, 0), cast->text));
}

bool stap_is_text(const struct type *type)
{
	return type->kind == TYPE_STRING || (type->kind == TYPE_POINTER && type->is_data_loc);
}

enum stap_type stap_target_type(struct compiler *c, const struct stap_node *target)
{
	struct node *node = stap_target_node(c, target);

	if (!strcmp(target->text, "$$vars") || !strcmp(target->text, "$$parms") || !strcmp(target->text, "$$locals") ||
	    !strcmp(target->text, "$$return") || !strcmp(target->text, "$$name"))
		return STAP_STRING;
	return type_of(node);
}

/* The names of what $$vars shows, at the place of c->unit. */
static const char *name_at(struct compiler *c, uint32_t index)
{
	struct attach *attach = compiler_attach(c);
	const struct type *record = attach->arguments;
	struct usdt_argument found;
	const struct binary_arguments *arguments;

	if (attach->spec)
		return usdt_argument_parse(attach->spec, index, &found) ? arena_printf(c->arena, "arg%u", index + 1)
									: NULL;
	if (!record && c->unit->provider->has_parameters && !c->unit->provider->is_return) {
		arguments = binary_arguments(c, attach);
		record = arguments ? arguments->record : NULL;
	}
	return record && index < record->field_count ? record->fields[index].name : NULL;
}

bool stap_expand_target(struct compiler *c, struct stap_node *node)
{
	const char *format = "", *name;
	struct stap_node *kids[33];
	uint32_t count = 1, index;
	bool is_return = !strcmp(node->text, "$$return");

	if (strncmp(node->text, "$$", 2) != 0)
		return false;
	if (!strcmp(node->text, "$$name")) {
		*node = (struct stap_node){.kind = STAP_E_CALL, .span = node->span, .text = "__mark_name"};
		return true;
	}
	for (index = 0; format && count < 33 && strcmp(node->text, "$$locals") != 0; index++) {
		struct stap_node *one = stap_node(c, STAP_E_TARGET, node->span, 0);
		enum stap_type type;

		name = is_return ? (index ? NULL : "return") : name_at(c, index);
		if (!name || c->arena->failed)
			break;
		one->text = arena_printf(c->arena, "$%s", name);
		type = one->text ? stap_target_type(c, one) : STAP_UNKNOWN;
		if (type == STAP_UNKNOWN)
			continue;
		kids[count++] = one;
		format = arena_printf(c->arena, "%s%s%s=%s", format, *format ? " " : "", name,
				      type == STAP_STRING ? "\\\"%s\\\"" : "%#x");
	}
	kids[0] = stap_node(c, STAP_E_TEXT, node->span, 0);
	if (c->arena->failed || !format)
		return true;
	kids[0]->text = format;
	if (count == 1) {
		*node = *kids[0];
		return true;
	}
	node->kind = STAP_E_CALL;
	node->text = "sprintf";
	node->kids = arena_array(c->arena, struct stap_node *, count);
	node->kid_count = node->kids ? count : 0;
	if (node->kids)
		memcpy(node->kids, kids, count * sizeof(*kids));
	return true;
}
