// SPDX-License-Identifier: GPL-2.0-or-later
/* D's subroutines: a table of names, and what each makes of its arguments. */
#include <string.h>

#include "lang/dialect/d/d.h"

struct subroutine {
	const char *name;
	struct node *(*lower)(struct compiler *c, const struct subroutine *self, const struct d_expr *call);
	enum core_builtin builtin;
	uint32_t flags;
};

/* A string at an address of the process, or of the kernel; what cannot be read ends the clause. */
static struct node *copy_string(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	const struct type *type = d_string_type(c);
	struct node *node;
	int64_t size;

	/* In what copyinstr() gives, the terminator is one of strsize characters. */
	if (self->flags)
		type = type_string(c->arena, (uint32_t)d_state(c)->options[D_STRSIZE]);
	node = d_call(c, CORE_STR, type, call->span, 1);
	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_uint64);
	if (call->kid_count > 1 && d_constant(c, call->kids[1], &size)) {
		if (size < 1 || size > (int64_t)d_state(c)->options[D_STRSIZE])
			size = (int64_t)d_state(c)->options[D_STRSIZE];
		node->type = type_string(c->arena, (uint32_t)size);
	} else if (call->kid_count > 1) {
		report_error(c->report, "D_PROTO_ARG", call->kids[1]->span, "the size of %s( ) must be a constant here",
			     call->text);
	}
	return node;
}

static struct node *string_of(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node;

	if (call->kids[0]->kind == D_CALL && d_is_action(call->kids[0]->text)) {
		report_error(c->report, "D_STRINGOF_TYPE", call->span, "cannot apply stringof to a value of type void");
		return d_literal(c, "");
	}
	node = d_value(c, call->kids[0]);
	if (node->type->kind == TYPE_STRING)
		return node;
	return copy_string(c, self, call);
}

static struct node *of_path(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, d_string_type(c), call->span, 1);

	if (!c->arena->failed)
		node->kids[0] = d_argument_text(c, call->kids[0]);
	return node;
}

static struct node *length(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, &type_uint64, call->span, 1);

	if (!c->arena->failed)
		node->kids[0] = d_cast(c, d_argument_text(c, call->kids[0]), d_string_type(c));
	return node;
}

static struct node *join(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, d_string_type(c), call->span, 2);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_argument_text(c, call->kids[0]);
	node->kids[1] = d_argument_text(c, call->kids[1]);
	return node;
}

static struct node *part(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, d_string_type(c), call->span, 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_argument_text(c, call->kids[0]);
	node->kids[1] = d_cast(c, d_number(c, call->kids[1]), &type_int64);
	node->kids[2] = call->kid_count > 2 ? d_cast(c, d_number(c, call->kids[2]), &type_int64)
					    : d_int(c, INT32_MAX, &type_int64);
	return node;
}

static struct node *find(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, CORE_INDEX, &type_int64, call->span, 3);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_argument_text(c, call->kids[0]);
	node->kids[1] = d_argument_text(c, call->kids[1]);
	node->kids[2] = call->kid_count > 2 ? d_cast(c, d_number(c, call->kids[2]), &type_int64)
					    : d_int(c, self->flags ? INT32_MAX : 0, &type_int64);
	node->flags = self->flags;
	return d_cast(c, node, &type_int32);
}

/* The text from where something is found; an empty one, which D calls NULL: it is not there. */
static struct node *rest_from(struct compiler *c, struct node *text, struct node *place, bool is_used,
			      struct span span)
{
	struct node *node = d_call(c, CORE_SUBSTR, d_string_type(c), span, 3), *ternary, *block, *let;
	struct symbol *symbol = arena_new(c->arena, struct symbol);

	ternary = node_create(c->arena, NODE_TERNARY, span, 3);
	block = node_create(c->arena, NODE_BLOCK_VALUE, span, 2);
	let = node_create(c->arena, NODE_LET, span, 1);
	if (c->arena->failed)
		return node;
	*symbol = (struct symbol){.name = "place", .type = &type_int64};
	let->symbol = symbol;
	let->kids[0] = place;
	node->kids[0] = text;
	node->kids[1] = d_variable_node(c, symbol);
	node->kids[2] = d_int(c, INT32_MAX, &type_int64);
	ternary->kids[0] =
		d_binary(c, OP_GREATER_EQUAL, &type_int32, d_variable_node(c, symbol), d_int(c, 0, &type_int64));
	ternary->kids[1] = node;
	ternary->kids[2] = d_null_text(c, is_used, span);
	ternary->type = d_string_type(c);
	block->kids[0] = let;
	block->kids[1] = ternary;
	block->type = ternary->type;
	return block;
}

static struct node *find_rest(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, &type_int64, call->span, self->builtin == CORE_INDEX ? 3 : 2);
	bool is_used = d_take_use(c);

	if (c->arena->failed)
		return node;
	node->kids[0] = d_argument_text(c, call->kids[0]);
	if (self->builtin == CORE_INDEX) {
		node->kids[1] = d_argument_text(c, call->kids[1]);
		node->kids[2] = d_int(c, 0, &type_int64);
	} else {
		node->kids[1] = d_cast(c, d_number(c, call->kids[1]), &type_int64);
	}
	node->flags = self->flags;
	return rest_from(c, d_argument_text(c, call->kids[0]), node, is_used, call->span);
}

static struct node *number_text(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *node = d_call(c, self->builtin, d_string_type(c), call->span, 1);
	int64_t base = 10;

	if (call->kid_count > 1 && (!d_constant(c, call->kids[1], &base) || (base != 8 && base != 10 && base != 16))) {
		report_error(c->report, "D_PROTO_ARG", call->kids[1]->span,
			     "lltostr( ): bases 8, 10 and 16 are supported");
		base = 10;
	}
	if (c->arena->failed)
		return node;
	node->kids[0] = d_cast(c, d_number(c, call->kids[0]), &type_int64);
	node->value = (uint64_t)base;
	return node;
}

static struct node *random_number(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	return d_cast(c, d_call(c, self->builtin, &type_uint64, call->span, 0), &type_int32);
}

static struct node *swap(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	const struct type *type = type_integer(self->flags, false);
	struct node *node = d_call(c, CORE_BSWAP, type, call->span, 1);

	if (!c->arena->failed)
		node->kids[0] = d_cast(c, d_number(c, call->kids[0]), type);
	return node;
}

/* Of scratch memory. */
static struct node *of_memory(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	static struct node *(*const lowers[])(struct compiler *c, const struct d_expr *call) = {
		d_alloca, d_bcopy, d_copyinto, d_copyin, d_copyout, d_copyoutstr};

	return lowers[self->flags](c, call);
}

/* text_parts.c */
static struct node *of_text_part(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	static struct node *(*const lowers[])(struct compiler *c, const struct d_expr *call) = {
		d_strtok, d_inet_ntoa, d_inet_ntoa6, d_inet_ntop, d_link_ntop, d_progenyof, d_d_path};

	return lowers[self->flags](c, call);
}

/* A device's number has 12 bits of the major one, and 20 of the minor one. */
static struct node *device_part(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	struct node *device = d_cast(c, d_number(c, call->kids[0]), &type_uint32);

	if (self->flags)
		return d_binary(c, OP_SHIFT_RIGHT, &type_uint32, device, d_int(c, 20, &type_int64));
	return d_binary(c, OP_AND, &type_uint32, device, d_int(c, 0xfffff, &type_uint32));
}

static struct node *begin_speculation(struct compiler *c, const struct subroutine *self, const struct d_expr *call)
{
	(void)self;
	return d_speculation(c, call);
}

static const struct subroutine subroutines[] = {
	{"strtok", of_text_part, CORE_NONE, 0},   {"cleanpath", of_path, CORE_CLEANPATH, 0},
	{"inet_ntoa", of_text_part, CORE_NONE, 1}, {"inet_ntoa6", of_text_part, CORE_NONE, 2},
	{"inet_ntop", of_text_part, CORE_NONE, 3}, {"link_ntop", of_text_part, CORE_NONE, 4},
	{"progenyof", of_text_part, CORE_NONE, 5}, {"d_path", of_text_part, CORE_NONE, 6},
	{"getmajor", device_part, CORE_NONE, 1},
	{"getminor", device_part, CORE_NONE, 0},
	{"speculation", begin_speculation, CORE_NONE, 0},
	{"copyinstr", copy_string, CORE_NONE, 1}, {"copyin", of_memory, CORE_NONE, 3},
	{"stringof", string_of, CORE_NONE, 0},    {"basename", of_path, CORE_BASENAME, 0},
	{"dirname", of_path, CORE_DIRNAME, 0},    {"strlen", length, CORE_STRLEN, 0},
	{"strjoin", join, CORE_STR_CONCAT, 0},    {"substr", part, CORE_SUBSTR, 0},
	{"index", find, CORE_INDEX, 0},           {"rindex", find, CORE_INDEX, 1},
	{"strstr", find_rest, CORE_INDEX, 0},     {"strchr", find_rest, CORE_STRCHR, 0},
	{"strrchr", find_rest, CORE_STRCHR, 1},   {"lltostr", number_text, CORE_LLTOSTR, 0},
	{"rand", random_number, CORE_RAND, 0},    {"htons", swap, CORE_BSWAP, 2},
	{"ntohs", swap, CORE_BSWAP, 2},           {"htonl", swap, CORE_BSWAP, 4},
	{"ntohl", swap, CORE_BSWAP, 4},           {"htonll", swap, CORE_BSWAP, 8},
	{"ntohll", swap, CORE_BSWAP, 8},          {"alloca", of_memory, CORE_NONE, 0},
	{"bcopy", of_memory, CORE_NONE, 1},       {"copyinto", of_memory, CORE_NONE, 2},
	{"copyout", of_memory, CORE_NONE, 4},     {"copyoutstr", of_memory, CORE_NONE, 5},
};

/* Known to D, and not there. */
static const char *const missing[] = {
	"ddi_pathname",
	"msgdsize",
	"msgsize",
	"mutex_owned",
	"mutex_owner",
	"mutex_type_adaptive",
	"mutex_type_spin",
	"rw_iswriter",
	"rw_read_held",
	"rw_write_held",
};

bool d_is_function(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(subroutines) / sizeof(subroutines[0]); i++)
		if (!strcmp(subroutines[i].name, name))
			return true;
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i], name))
			return true;
	return false;
}

struct node *d_function(struct compiler *c, const struct d_expr *call)
{
	bool is_used = d_take_use(c);
	size_t i;

	for (i = 0; i < sizeof(subroutines) / sizeof(subroutines[0]); i++) {
		const struct subroutine *one = &subroutines[i];

		if (strcmp(one->name, call->text) != 0)
			continue;
		if (!d_check_call(c, call))
			return d_int(c, 0, &type_int32);
		d_state(c)->is_used = is_used && (one->lower == find_rest || one->lower == of_text_part);
		return one->lower(c, one, call);
	}
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i], call->text)) {
			if (!d_check_call(c, call) ||
			    (d_is_destructive(call->text) && !d_may_act(c, call, true)))
				return d_int(c, 0, &type_int32);
			report_error(c->report, "D_FUNC_UNDEF", call->span, "%s( ) is not supported", call->text);
			report_hint(c->report, "docs/D.md lists the functions that there are");
			return d_int(c, 0, &type_int32);
		}
	return NULL;
}
