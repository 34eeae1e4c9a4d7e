// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Variables: of the program, of a thread (maps with TID as key), of a clause (variables of the program's run), and
 * associative arrays. And those that D has itself.
 */
#include <string.h>
#include <time.h>

#include "lang/builtin/probe.h"
#include "lang/dialect/d/d.h"
#include "lang/provider/provider.h"
#include "lang/rt/abi.h"

struct d_variable *d_variable_find(const struct compiler *c, enum d_scope scope, const char *name, bool aggregation)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->variables.count; i++)
		if (state->variables.at[i]->scope == scope && state->variables.at[i]->is_aggregation == aggregation &&
		    !strcmp(state->variables.at[i]->name, name))
			return state->variables.at[i];
	return NULL;
}

struct d_variable *d_variable_add(struct compiler *c, struct d_variable variable)
{
	struct d_variable *ret = arena_new(c->arena, struct d_variable);

	if (!ret || vec_push(&d_state(c)->variables, ret)) {
		c->arena->failed = true;
		return NULL;
	}
	*ret = variable;
	return ret;
}

struct symbol *d_map(struct compiler *c, const char *name, const struct type *key, const struct type *value)
{
	struct symbol *map = arena_new(c->arena, struct symbol);
	char word[16];
	size_t i;

	if (!map || vec_push(&c->maps, map)) {
		c->arena->failed = true;
		return NULL;
	}
	snprintf(word, sizeof(word), "%.8s", name);
	for (i = 0; word[i]; i++)
		if (word[i] == '`')
			word[i] = '_';
	*map = (struct symbol){.name = name,
			       .is_map = true,
			       .used_keyed = key != NULL,
			       .used_bare = !key,
			       .key = key,
			       .value = value,
			       .storage = type_is_aggregate(value) ? STORAGE_PERCPU_HASH : STORAGE_HASH,
			       .index = (uint32_t)c->maps.count - 1};
	map->bpf_name = arena_printf(c->arena, "map%u_%s", map->index, word);
	return map;
}

/* Integers are kept in 8 bytes. */
static const struct type *kept_type(const struct type *type)
{
	return type_is_number(type) ? type_integer(8, type->is_signed) : type;
}

void d_variable_make(struct compiler *c, struct d_variable *variable)
{
	const struct type *key = NULL, *elements[17];
	uint32_t count = 0, i;

	if (variable->scope == D_THIS) {
		variable->symbol = arena_new(c->arena, struct symbol);
		if (variable->symbol)
			*variable->symbol = (struct symbol){.name = variable->name, .type = variable->type};
		return;
	}
	if (variable->scope == D_SELF) {
		elements[count++] = &type_uint64;
		d_state(c)->has_self = true;
	}
	for (i = 0; i < variable->key_count && count < 17; i++)
		elements[count++] = variable->keys[i];
	if (count == 1 && variable->scope == D_SELF)
		key = &type_uint64;
	else if (count)
		key = type_tuple(c->arena, elements, NULL, count);
	variable->symbol = d_map(c, variable->name, key, kept_type(variable->type));
}

/* --- reading and writing --- */

static struct node *thread(struct compiler *c)
{
	return d_call(c, CORE_TID, &type_uint64, (struct span){}, 0);
}

/* The types of the keys are those of the first use. */
static void learn_keys(struct compiler *c, struct d_variable *variable, const struct d_expr *expr)
{
	uint32_t i;

	variable->is_array = true;
	variable->key_count = expr->kid_count;
	variable->keys = arena_array(c->arena, const struct type *, expr->kid_count + 1);
	for (i = 0; variable->keys && i < expr->kid_count; i++) {
		const struct type *type = d_value(c, expr->kids[i])->type;

		variable->keys[i] = type->kind == TYPE_STRING || type->kind == TYPE_PROBE ? d_string_type(c)
				    : type->kind == TYPE_BOOL                             ? &type_int32
											  : type;
		if (!type_is_scalar(variable->keys[i]) && variable->keys[i]->kind != TYPE_STRING &&
		    variable->keys[i]->kind != TYPE_RECORD && variable->keys[i]->kind != TYPE_STACK &&
		    variable->keys[i]->kind != TYPE_SYMBOL &&
		    !c->report->errors) {
			report_error(c->report, "D_KEY_TYPE", expr->kids[i]->span, "this cannot be a key");
			variable->keys[i] = &type_int32;
		}
	}
}

static void wrong_key(struct compiler *c, const struct d_variable *variable, const struct d_expr *expr, uint32_t i,
		      const struct type *type)
{
	report_error(c->report, variable->is_aggregation ? "D_KEY_TYPE" : "D_PROTO_ARG", expr->span,
		     "%s[ ] key #%u is incompatible with prototype:\n\tprototype: %s\n\t      key: %s", expr->text,
		     i + 1,
		     d_type_name(c, variable->keys[i]), d_type_name(c, type));
}

static struct node *key_element(struct compiler *c, const struct d_variable *variable, const struct d_expr *expr,
				uint32_t i)
{
	const struct type *type = variable->keys[i];
	struct node *node = variable->is_aggregation ? d_recorded(c, expr->kids[i]) : NULL;

	if (!node)
		node = d_value(c, expr->kids[i]);
	if (type->kind == TYPE_STRING && !type_is_number(node->type))
		return d_cast(c, d_text(c, expr->kids[i]), type);
	if (type_is_scalar(type) && type_is_scalar(node->type))
		return d_cast(c, node, type);
	if ((node->type->kind != type->kind || (type->kind == TYPE_RECORD && !type_equal(node->type, type))) &&
	    !c->report->errors)
		wrong_key(c, variable, expr, i, node->type);
	return node;
}

struct node *d_key(struct compiler *c, struct d_variable *variable, const struct d_expr *expr)
{
	bool is_self = variable->scope == D_SELF && !variable->is_aggregation;
	struct node *node;
	uint32_t i;

	if (expr->kid_count != variable->key_count) {
		if (!c->report->errors)
			report_error(c->report, variable->is_aggregation ? "D_KEY_PROTO" : "D_PROTO_LEN", expr->span,
				     "%s[ ] prototype mismatch: %u key%s passed, %u expected", expr->text,
				     expr->kid_count, expr->kid_count == 1 ? "" : "s", variable->key_count);
		return NULL;
	}
	if (is_self && !variable->key_count)
		return thread(c);
	if (!variable->key_count)
		return NULL;
	node = node_create(c->arena, NODE_TUPLE, expr->span, variable->key_count + is_self);
	if (c->arena->failed)
		return NULL;
	if (is_self)
		node->kids[0] = thread(c);
	for (i = 0; i < variable->key_count; i++)
		node->kids[i + is_self] = key_element(c, variable, expr, i);
	node->type = variable->symbol ? variable->symbol->key : NULL;
	return node;
}

static struct node *map_node(struct compiler *c, struct d_variable *variable, const struct d_expr *expr)
{
	struct node *key = d_key(c, variable, expr), *node = node_create(c->arena, NODE_MAP, expr->span, key ? 1 : 0);

	if (c->arena->failed || !variable->symbol)
		return node;
	node->symbol = variable->symbol;
	node->type = variable->symbol->value;
	if (key)
		node->kids[0] = key;
	return node;
}

/* `this` variables are made at the beginning of each unit that uses them. */
static void use_local(struct compiler *c, struct symbol *symbol)
{
	struct d_unit *unit = d_state(c)->unit;
	size_t i;

	for (i = 0; i < unit->locals.count; i++)
		if (unit->locals.at[i] == symbol)
			return;
	if (vec_push(&unit->locals, symbol))
		c->arena->failed = true;
}

static struct node *place_of(struct compiler *c, struct d_variable *variable, const struct d_expr *expr)
{
	if (variable->scope == D_THIS) {
		use_local(c, variable->symbol);
		return d_variable_node(c, variable->symbol);
	}
	return map_node(c, variable, expr);
}

struct node *d_variable_read(struct compiler *c, const struct d_expr *expr)
{
	struct d_variable *variable = d_variable_find(c, expr->scope, expr->text, false);
	const struct named_constant *constant;
	struct node *node;
	int64_t value;

	if (!variable && expr->scope == D_GLOBAL && !expr->kid_count) {
		node = c->unit ? d_builtin(c, expr) : NULL;
		if (node)
			return node;
		constant = types_constant(&c->types, expr->text);
		if (constant)
			return d_int(c, constant->value, &type_int32);
		if (d_constant_named(expr->text, &value))
			return d_int(c, value, &type_int32);
		node = c->unit ? d_of_cpu(c, expr) : NULL;
		if (node)
			return node;
	}
	if (!variable) {
		if (!c->report->errors) {
			if (expr->scope == D_GLOBAL)
				report_error(c->report, "D_IDENT_UNDEF", expr->span,
					     "failed to resolve %s: Unknown variable name", expr->text);
			else
				report_error(c->report, "D_VAR_UNDEF", expr->span,
					     "%s->%s has not yet been declared or assigned",
					     expr->scope == D_SELF ? "self" : "this", expr->text);
		}
		return d_int(c, 0, &type_int32);
	}
	if (variable->inlined && expr->kid_count == variable->key_count) {
		node = d_inlined(c, variable, expr);
		return d_cast(c, node, type_is_scalar(variable->type) ? variable->type : node->type);
	}
	if (c->arena->failed || (!variable->symbol && !variable->inlined))
		return d_int(c, 0, &type_int32);
	if (variable->is_array && !expr->kid_count && !c->report->errors)
		report_error(c->report, "D_IDENT_BADREF", expr->span,
			     "associative array '%s' may not be referenced as scalar", expr->text);
	if (expr->kid_count != variable->key_count) {
		d_key(c, variable, expr);
		return d_int(c, 0, &type_int32);
	}
	return d_cast(c, place_of(c, variable, expr), variable->type);
}

struct d_variable *d_variable_create(struct compiler *c, const struct d_expr *target, const struct type *type)
{
	struct d_variable new = {.scope = target->scope, .name = target->text}, *variable;

	if (target->scope == D_GLOBAL && !target->kid_count && d_builtin(c, target)) {
		report_error(c->report, "D_OP_WRITE", target->span,
			     "operator = can only be applied to a writable variable");
		return NULL;
	}
	if (type->kind == TYPE_STRING || type->kind == TYPE_PROBE) {
		new.type = d_string_type(c);
	} else if (type->kind == TYPE_BOOL) {
		new.type = &type_int32;
	} else if (type_is_scalar(type) || type->kind == TYPE_RECORD) {
		new.type = type;
	} else if (type->kind == TYPE_ARRAY) {
		new.type = type_pointer(c->arena, type->to);
	} else {
		if (!c->report->errors)
			report_error(c->report, type->kind == TYPE_NONE ? "D_OP_VOID" : "D_OP_INCOMPAT", target->span,
				     "a value of this type cannot be assigned to a variable");
		return NULL;
	}
	if (target->scope == D_THIS && target->kid_count) {
		report_error(c->report, "D_ARR_LOCAL", target->span,
			     "this->%s: associative arrays may not be clause-local", target->text);
		return NULL;
	}
	variable = d_variable_add(c, new);
	if (!variable)
		return NULL;
	if (target->kid_count)
		learn_keys(c, variable, target);
	d_variable_make(c, variable);
	return variable;
}

static bool is_zero(const struct node *value)
{
	return value->kind == NODE_INT && !value->value;
}

static void incompatible(struct compiler *c, const struct d_expr *target, const struct type *to,
			 const struct type *from)
{
	if (to->kind == TYPE_ARRAY)
		report_error(c->report, "D_OP_ARRFUN", target->span,
			     "operator = may not be applied to operand of type \"%s [%u]\"", d_type_name(c, to->to),
			     to->count);
	else
		report_error(c->report, "D_OP_INCOMPAT", target->span,
			     "operands have incompatible types: \"%s\" = \"%s\"", d_type_name(c, to),
			     d_type_name(c, from));
}

struct node *d_variable_assign(struct compiler *c, const struct d_expr *target, struct node *value, struct node **read)
{
	struct d_variable *variable = d_variable_find(c, target->scope, target->text, false);
	struct node *node, *place;

	if (variable && variable->inlined) {
		report_error(c->report, "D_OP_LVAL", target->span,
			     "%s is an inline definition: it cannot be assigned to", target->text);
		return value;
	}
	if (!variable)
		variable = d_variable_create(c, target, value->type);
	if (!variable || c->arena->failed || !variable->symbol)
		return value;
	/* A string that is set to 0 is freed, as other values are. */
	if (variable->type->kind == TYPE_STRING && value->type->kind == TYPE_POINTER && value->type->to->size <= 1 &&
	    !is_zero(value)) {
		struct node *text = d_call(c, CORE_STR, d_string_type(c), target->span, 1);

		if (c->arena->failed)
			return value;
		text->kids[0] = value;
		value = text;
	}
	/* A constant is no longer than strsize. */
	if (variable->type->kind == TYPE_STRING && value->kind == NODE_STRING &&
	    value->type->size > variable->type->size)
		value = d_cast(c, value, variable->type);
	if (variable->type->kind == TYPE_POINTER && variable->type->to->size == 1 && value->type->kind == TYPE_STRING)
		value = d_cast(c, d_text_address(c, value), variable->type);
	if ((variable->type->kind == TYPE_STRING) !=
		    (value->type->kind == TYPE_STRING || value->type->kind == TYPE_PROBE) &&
	    !(is_zero(value) && variable->type->kind == TYPE_STRING)) {
		if (!c->report->errors)
			incompatible(c, target, variable->type, value->type);
		return value;
	}
	if (value->type->kind == TYPE_ARRAY && type_is_scalar(variable->type))
		value = d_decayed(c, value);
	if ((variable->type->kind == TYPE_POINTER) != (value->type->kind == TYPE_POINTER) &&
	    type_is_scalar(variable->type) && type_is_scalar(value->type) && value->kind != NODE_INT) {
		if (!c->report->errors)
			incompatible(c, target, variable->type, value->type);
		return value;
	}
	if (!(is_zero(value) && (variable->is_array || variable->scope == D_SELF)) &&
	    (variable->type->kind == TYPE_RECORD || variable->type->kind == TYPE_ARRAY ||
	     value->type->kind == TYPE_RECORD) &&
	    !type_equal(variable->type, value->type)) {
		if (!c->report->errors)
			incompatible(c, target, variable->type, value->type);
		return value;
	}
	place = place_of(c, variable, target);
	if (read)
		*read = d_cast(c, place_of(c, variable, target), variable->type);
	if (is_zero(value) && (variable->scope == D_SELF || variable->is_array)) {
		node = d_call(c, CORE_DELETE, &type_bool, target->span, 1);
		if (!c->arena->failed)
			node->kids[0] = place;
		return node;
	}
	if (variable->type->kind == TYPE_STRING && is_zero(value))
		value = d_literal(c, "");
	if (type_is_scalar(variable->type))
		value = d_cast(c, value, variable->type);
	node = node_create(c->arena, NODE_ASSIGN, target->span, 2);
	if (c->arena->failed)
		return node;
	node->kids[0] = place;
	node->kids[1] = value;
	return node;
}

/* x++ is atomic where x is in a map. What is not known yet is an int. */
struct node *d_variable_step(struct compiler *c, const struct d_expr *expr)
{
	const struct d_expr *target = expr->kids[0];
	struct d_variable *variable;
	struct node *node;

	if (target->kind != D_VARIABLE) {
		report_error(c->report, "D_OP_LVAL", expr->span, "operator %s requires modifiable lvalue as an operand",
			     expr->text);
		return d_int(c, 0, &type_int32);
	}
	variable = d_variable_find(c, target->scope, target->text, false);
	if (!variable)
		variable = d_variable_create(c, target, &type_int64);
	if (!variable || !variable->symbol || variable->inlined)
		return d_int(c, 0, &type_int32);
	if (!type_is_scalar(variable->type)) {
		report_error(c->report, "D_OP_SCALAR", expr->span, "operator %s requires operand of scalar type",
			     expr->text);
		return d_int(c, 0, &type_int32);
	}
	node = node_create(c->arena, NODE_STEP, expr->span, 1);
	if (c->arena->failed)
		return node;
	node->kids[0] = place_of(c, variable, target);
	node->op = *expr->text == '+' ? OP_ADD : OP_SUB;
	node->is_prefix = expr->is_prefix;
	node->type = node->kids[0]->type;
	return d_cast(c, node, variable->type);
}

/* --- D's own --- */

/* Of profile and tick: arg0 is where the kernel was, arg1 where the program was; one of them is 0, and all others. */
static struct node *interrupted(struct compiler *c, uint32_t number, struct span span)
{
	struct node *at, *node;
	uint64_t place;

	if (number > 1 || (!probe_register("ip", &place) && !probe_register("pc", &place)))
		return d_int(c, 0, &type_int64);
	at = d_call(c, CORE_REG, &type_int64, span, 0);
	node = node_create(c->arena, NODE_TERNARY, span, 3);
	if (c->arena->failed)
		return node;
	at->value = place;
	node->kids[0] = d_binary(c, OP_LESS, &type_int32, at, d_int(c, 0, &type_int64)); /* addresses of the kernel */
	node->kids[1] = number ? d_int(c, 0, &type_int64) : at;
	node->kids[2] = number ? at : d_int(c, 0, &type_int64);
	node->type = &type_int64;
	return node;
}

struct node *d_argument(struct compiler *c, uint32_t number, const struct d_expr *expr)
{
	const struct provider *provider = c->unit->provider;
	const struct attach *attach = compiler_attach(c);
	struct node *node;

	if (provider->context == CONTEXT_TRACEPOINT && attach->arguments && strstr(attach->name, ":syscalls:sys_")) {
		/* The record of a system call begins with its number. */
		uint32_t index = number + (strstr(attach->name, ":sys_enter_") ? 1 : 0);
		bool is_return = strstr(attach->name, ":sys_exit_") != NULL;
		struct node *args;

		if (is_return)
			index = 1;
		if (is_return ? number > 1 : index >= attach->arguments->field_count)
			return d_int(c, 0, &type_int64);
		args = d_call(c, CORE_ARGS, type_pointer(c->arena, attach->arguments), expr->span, 0);
		node = node_create(c->arena, NODE_FIELD, expr->span, 1);
		if (c->arena->failed)
			return node;
		node->kids[0] = args;
		node->field = &attach->arguments->fields[index];
		node->type = node->field->type;
		if (!type_is_scalar(node->type)) {
			report_error(c->report, "D_ARGS_TYPE", expr->span, "arg%u of this probe is no number", number);
			return d_int(c, 0, &type_int64);
		}
		return d_cast(c, node, &type_int64);
	}
	if (provider->is_return) {
		if (number == 1)
			return d_call(c, CORE_RETVAL, &type_int64, expr->span, 0);
		report_error(c->report, "D_ARGS_IDX", expr->span, "arg%u is not there when a function returns", number);
		report_hint(c->report, "arg1 is what it returns");
		return d_int(c, 0, &type_int64);
	}
	if (provider->context == CONTEXT_REGISTERS || provider->context == CONTEXT_WORDS) {
		node = d_call(c, CORE_ARGUMENT, &type_int64, expr->span, 0);
		if (!c->arena->failed)
			node->value = number;
		return node;
	}
	if (provider->context == CONTEXT_PERF)
		return interrupted(c, number, expr->span);
	if (provider->run == RUN_FIRST || provider->run == RUN_LAST)
		return d_int(c, 0, &type_int64);
	report_error(c->report, "D_ARGS_NONE", expr->span, "arg%u is not available in this probe", number);
	return d_int(c, 0, &type_int64);
}

bool d_may_index_args(struct compiler *c, const struct d_expr *index)
{
	const struct type *type = d_type_of(c, index), *record = compiler_attach(c)->arguments;
	bool is_entry = strstr(compiler_attach(c)->name, ":syscalls:sys_enter_") != NULL,
	     is_own = c->unit->provider->run == RUN_FIRST || c->unit->provider->run == RUN_LAST;
	int64_t number;

	if (!type || !type_is_number(type)) {
		if (!c->report->errors)
			report_error(c->report, "D_PROTO_ARG", index->span, "index of args[ ] must be an integer");
		return false;
	}
	if (!d_constant(c, index, &number) || number < 0)
		return true;
	/* The record of a system call begins with its number. */
	if (!is_own && !(is_entry && record && number + 1 >= record->field_count))
		return true;
	report_error(c->report, "D_ARGS_IDX", index->span, "index %lld is out of range for args[ ] of this probe",
		     (long long)number);
	return false;
}

/* errno of what a system call returned. */
static struct node *error_number(struct compiler *c, const struct d_expr *expr)
{
	struct node *result, *negative, *node;

	if (!strstr(compiler_attach(c)->name, ":sys_exit_"))
		return d_int(c, 0, &type_int32);
	result = d_argument(c, 0, expr);
	node = node_create(c->arena, NODE_TERNARY, expr->span, 3);
	negative = node_create(c->arena, NODE_UNARY, expr->span, 1);
	if (c->arena->failed)
		return node;
	negative->op = OP_NEGATE;
	negative->kids[0] = result;
	negative->type = &type_int64;
	node->kids[0] = d_binary(c, OP_LOGICAL_AND, &type_int32,
				 d_binary(c, OP_LESS, &type_int32, result, d_int(c, 0, &type_int64)),
				 d_binary(c, OP_GREATER, &type_int32, result, d_int(c, -4096, &type_int64)));
	node->kids[1] = d_cast(c, negative, &type_int32);
	node->kids[2] = d_int(c, 0, &type_int32);
	node->type = &type_int32;
	return node;
}

static struct node *task(struct compiler *c, const struct d_expr *expr)
{
	const struct type *record = types_find(&c->types, "struct task_struct");

	if (!record) {
		report_error(c->report, "D_TYPE_ERR", expr->span, "%s: this kernel does not tell its types",
			     expr->text);
		return d_int(c, 0, &type_int64);
	}
	return d_call(c, CORE_CURTASK, type_pointer(c->arena, record), expr->span, 0);
}

/* vtimestamp: what the thread has had of the CPUs. */
static struct node *time_on_cpu(struct compiler *c, const struct d_expr *expr)
{
	const struct type *record = types_find(&c->types, "struct task_struct");
	struct node *node = d_call(c, CORE_TIME_ON_CPU, &type_uint64, expr->span, 0);
	struct type_field entity = {}, count = {};

	if (!record || !types_field(&c->types, record, "se", &entity) ||
	    (entity.type->is_incomplete && !types_complete(&c->types, entity.type)) ||
	    !types_field(&c->types, entity.type, "sum_exec_runtime", &count))
		report_error(c->report, "D_TYPE_ERR", expr->span, "%s: this kernel does not tell its types",
			     expr->text);
	if (!c->arena->failed)
		node->value = entity.offset + count.offset;
	return node;
}

/* All clauses of a place have the same one. */
static struct node *reached(struct compiler *c)
{
	struct d_unit *unit = d_state(c)->unit;

	if (!unit->timestamp) {
		unit->timestamp = d_local(c, &type_uint64);
		if (unit->timestamp)
			unit->timestamp->name = "timestamp";
	}
	return unit->timestamp ? d_variable_node(c, unit->timestamp) : d_int(c, 0, &type_uint64);
}

/* Nanoseconds since 1970: since the machine started, and when that was. */
static struct node *wall_clock(struct compiler *c, const struct d_expr *expr)
{
	struct timespec wall, boot;
	struct node *node = d_call(c, CORE_NSECS, &type_int64, expr->span, 0);

	if (c->arena->failed)
		return node;
	node->flags = CORE_CLOCK_BOOT;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return d_binary(
		c, OP_ADD, &type_int64, node,
		d_int(c, (wall.tv_sec - boot.tv_sec) * 1000000000ll + wall.tv_nsec - boot.tv_nsec, &type_int64));
}

static struct node *part_of_place(struct compiler *c, uint32_t part)
{
	const struct d_state *state = d_state(c);
	uint32_t at = c->unit->first_attach;
	const struct d_place *place = at < state->places.count ? &state->places.at[at] : NULL;
	const char *const parts[] = {place ? place->provider : "", place ? place->module : "",
				     place ? place->function : "", place ? place->name : ""};
	static const char *const error[] = {"dtrace", "", "", "ERROR"};

	if (state->fault)
		return d_cast(c, d_literal(c, error[part]), d_string_type(c));
	return d_cast(c, d_literal(c, parts[part]), d_string_type(c));
}

static struct node *depth(struct compiler *c, const struct d_expr *expr, uint32_t parts)
{
	struct node *node = d_call(c, CORE_LEN, &type_uint32, expr->span, 1), *stack;

	if (c->arena->failed)
		return node;
	/* Strata itself runs them: the kernel's stack would be its own. */
	if (parts == STACK_KERNEL && c->unit->provider->run != RUN_BY_KERNEL)
		return d_int(c, 0, &type_uint32);
	stack = d_call(c, CORE_STACK,
		       type_stack(c->arena, parts, (uint32_t)d_state(c)->options[D_MAXFRAMES], STACK_STYLE_DEFAULT),
		       expr->span, 0);
	c->stack_parts |= parts;
	node->kids[0] = stack;
	return node;
}

static struct node *caller(struct compiler *c, const struct d_expr *expr, enum stack_part part)
{
	struct node *node = d_call(c, CORE_CALLER, &type_uint64, expr->span, 0);

	if (!c->arena->failed)
		node->value = part;
	c->stack_parts |= part;
	return node;
}

/* What dtrace calls DTRACEFLT_BADADDR and its like. */
static struct node *fault_kind(struct compiler *c, struct node *fault)
{
	static const struct {
		enum core_fault fault;
		int64_t number;
	} kinds[] = {{CORE_FAULT_DIVISION, 4},
		     {CORE_FAULT_OPERATION, 3},
		     {CORE_FAULT_SIZE, 10},
		     {CORE_FAULT_INDEX, 11},
		     {CORE_FAULT_SCRATCH, 5}};
	struct node *ret = d_int(c, 1, &type_int64);
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct node *choice = node_create(c->arena, NODE_TERNARY, (struct span){}, 3);

		if (c->arena->failed)
			return choice;
		choice->kids[0] = d_binary(c, OP_EQUAL, &type_int32, fault, d_int(c, kinds[i].fault, &type_uint64));
		choice->kids[1] = d_int(c, kinds[i].number, &type_int64);
		choice->kids[2] = ret;
		choice->type = &type_int64;
		ret = choice;
	}
	return ret;
}

static int64_t id_of_place(const struct compiler *c)
{
	const struct d_state *state = d_state(c);
	uint32_t first = c->unit->first_attach;

	return first < state->places.count ? (int64_t)state->places.at[first].id : 0;
}

/*
 * In an ERROR clause: arg1 is the id of the place and arg2 the number of the clause that has failed, arg3 is the BPF
 * instruction, arg4 is what went wrong, arg5 the address.
 */
static struct node *fault_argument(struct compiler *c, uint32_t number)
{
	struct symbol *symbol = d_state(c)->fault;
	struct node *node;

	if (number == 1)
		return d_int(c, id_of_place(c), &type_int64);
	if (number == 2)
		return d_int(c, d_state(c)->fault_clause, &type_int64);
	if (number < 3 || number > 5)
		return d_int(c, 0, &type_int64);
	node = node_create(c->arena, NODE_FIELD, (struct span){}, 1);
	if (c->arena->failed)
		return node;
	node->kids[0] = d_variable_node(c, symbol);
	node->field = &symbol->type->fields[number == 3 ? 2 : number - 4];
	node->type = &type_uint64;
	if (number == 4)
		return fault_kind(c, node);
	return d_cast(c, node, &type_int64);
}

static struct node *own_argument(struct compiler *c, uint32_t number, const struct d_expr *expr)
{
	struct node *node = d_made_argument(c, number, expr, false);

	return node ? node : d_argument(c, number, expr);
}

struct node *d_builtin(struct compiler *c, const struct d_expr *expr)
{
	static const struct {
		const char *name;
		enum core_builtin builtin;
		const struct type *type;
		uint32_t flags;
	} table[] = {
		{"pid", CORE_PID, &type_int32, 0},  {"tid", CORE_TID, &type_int32, 0},
		{"uid", CORE_UID, &type_uint32, 0}, {"gid", CORE_GID, &type_uint32, 0},
		{"cpu", CORE_CPU, &type_int32, 0},
	};
	static const char *const parts[] = {"probeprov", "probemod", "probefunc", "probename"};
	static const char *const unknown[] = {"ipl", "root", "cwd", "curpsinfo",
					      "curlwpsinfo", "zonename"};
	static const char *const faults[] = {"UNKNOWN", "BADADDR", "BADALIGN", "ILLOP",    "DIVZERO", "NOSCRATCH",
					     "KPRIV",   "UPRIV",   "TUPOFLOW", "BADSTACK", "BADSIZE", "BADINDEX"};
	const char *name = expr->text;
	struct node *node;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name)) {
			node = d_call(c, table[i].builtin, table[i].type, expr->span, 0);
			if (!c->arena->failed)
				node->flags = table[i].flags;
			return node;
		}
	for (i = 0; i < 4; i++)
		if (!strcmp(parts[i], name))
			return part_of_place(c, (uint32_t)i);
	if (!strncmp(name, "arg", 3) && name[3] >= '0' && name[3] <= '9' && !name[4])
		return d_state(c)->fault ? fault_argument(c, (uint32_t)(name[3] - '0'))
					 : own_argument(c, (uint32_t)(name[3] - '0'), expr);
	if (!strcmp(name, "execname"))
		return d_cast(c, d_call(c, CORE_COMM, type_string(c->arena, 16), expr->span, 0), d_string_type(c));
	if (!strcmp(name, "timestamp"))
		return reached(c);
	if (!strcmp(name, "vtimestamp"))
		return time_on_cpu(c, expr);
	if (!strcmp(name, "walltimestamp"))
		return wall_clock(c, expr);
	if (!strcmp(name, "curthread"))
		return task(c, expr);
	if (!strcmp(name, "curcpu"))
		return d_curcpu(c, expr);
	if (!strcmp(name, "ppid"))
		return d_field(c, d_field(c, task(c, expr), "real_parent", expr->span), "tgid", expr->span);
	if (!strcmp(name, "errno"))
		return error_number(c, expr);
	if (!strcmp(name, "id"))
		return d_int(c, d_state(c)->fault ? D_ERROR_ID : id_of_place(c), &type_uint32);
	if (!strcmp(name, "epid"))
		return d_int(c, (int64_t)c->unit->probe + 1, &type_uint32);
	if (!strcmp(name, "stackdepth"))
		return depth(c, expr, STACK_KERNEL);
	if (!strcmp(name, "ustackdepth"))
		return depth(c, expr, STACK_NATIVE);
	if (!strcmp(name, "caller"))
		return caller(c, expr, STACK_KERNEL);
	if (!strcmp(name, "ucaller"))
		return caller(c, expr, STACK_NATIVE);
	if (!strcmp(name, "NULL"))
		return d_int(c, 0, &type_void_pointer);
	for (i = 0; !strncmp(name, "DTRACEFLT_", 10) && i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!strcmp(faults[i], name + 10))
			return d_int(c, (int64_t)i, &type_int32);
	if (!strcmp(name, "args") || !strcmp(name, "uregs")) {
		report_error(c->report, "D_IDENT_BADREF", expr->span, "array '%s' may not be referenced as scalar",
			     name);
		return d_int(c, 0, &type_int64);
	}
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (!strcmp(unknown[i], name)) {
			report_error(c->report, "D_IDENT_UNDEF", expr->span, "%s is not supported", name);
			report_hint(c->report, "docs/D.md lists the variables that there are");
			return d_int(c, 0, &type_int64);
		}
	return NULL;
}
