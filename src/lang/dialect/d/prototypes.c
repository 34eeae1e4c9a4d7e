// SPDX-License-Identifier: GPL-2.0-or-later
/* What D's functions and actions take. A call is compared with it before anything else is made of it. */
#include <string.h>

#include "lang/dialect/d/d.h"

#define MOST 3
#define ANY_NUMBER UINT8_MAX

/* "@" is any value. Of the arguments that all have names here, the first `least` are needed. */
static const struct prototype {
	const char *name;
	uint8_t least, most;
	const char *arguments[MOST];
} prototypes[] = {
	{"alloca", 1, 1, {"size_t"}},
	{"basename", 1, 1, {"char *"}},
	{"bcopy", 3, 3, {"void *", "void *", "size_t"}},
	{"breakpoint", 0, 0, {}},
	{"chill", 1, 1, {"int"}},
	{"cleanpath", 1, 1, {"char *"}},
	{"clear", 1, 1, {"@"}},
	{"commit", 1, 1, {"int"}},
	{"copyin", 2, 2, {"uintptr_t", "size_t"}},
	{"copyinstr", 1, 2, {"uintptr_t", "size_t"}},
	{"copyinto", 3, 3, {"uintptr_t", "size_t", "void *"}},
	{"copyout", 3, 3, {"void *", "uintptr_t", "size_t"}},
	{"copyoutstr", 3, 3, {"char *", "uintptr_t", "size_t"}},
	{"d_path", 1, 1, {"struct path *"}},
	{"ddi_pathname", 2, 2, {"void *", "int64_t"}},
	{"denormalize", 1, 1, {"@"}},
	{"dirname", 1, 1, {"char *"}},
	{"discard", 1, 1, {"int"}},
	{"exit", 1, 1, {"int"}},
	{"freopen", 1, ANY_NUMBER, {"@"}},
	{"ftruncate", 0, 0, {}},
	{"func", 1, 1, {"uintptr_t"}},
	{"getmajor", 1, 1, {"dev_t"}},
	{"getminor", 1, 1, {"dev_t"}},
	{"htonl", 1, 1, {"uint32_t"}},
	{"htonll", 1, 1, {"uint64_t"}},
	{"htons", 1, 1, {"uint16_t"}},
	{"index", 2, 3, {"char *", "char *", "int"}},
	{"inet_ntoa", 1, 1, {"ipaddr_t *"}},
	{"inet_ntoa6", 1, 2, {"struct in6_addr *", "int"}},
	{"inet_ntop", 2, 2, {"int", "void *"}},
	{"jstack", 0, 2, {"uint32_t", "uint32_t"}},
	{"link_ntop", 2, 2, {"int", "void *"}},
	{"lltostr", 1, 2, {"int64_t", "int"}},
	{"mod", 1, 1, {"uintptr_t"}},
	{"mutex_owned", 1, 1, {"struct mutex *"}},
	{"mutex_owner", 1, 1, {"struct mutex *"}},
	{"mutex_type_adaptive", 1, 1, {"struct mutex *"}},
	{"mutex_type_spin", 1, 1, {"struct mutex *"}},
	{"normalize", 2, 2, {"@", "uint64_t"}},
	{"ntohl", 1, 1, {"uint32_t"}},
	{"ntohll", 1, 1, {"uint64_t"}},
	{"ntohs", 1, 1, {"uint16_t"}},
	{"panic", 0, 0, {}},
	{"pcap", 2, 2, {"void *", "int"}},
	{"print", 1, 1, {"void *"}},
	{"printa", 1, ANY_NUMBER, {"@"}},
	{"printf", 1, ANY_NUMBER, {"string"}},
	{"progenyof", 1, 1, {"pid_t"}},
	{"raise", 1, 1, {"int"}},
	{"rand", 0, 0, {}},
	{"rindex", 2, 3, {"char *", "char *", "int"}},
	{"rw_iswriter", 1, 1, {"rwlock_t *"}},
	{"rw_read_held", 1, 1, {"rwlock_t *"}},
	{"rw_write_held", 1, 1, {"rwlock_t *"}},
	{"setopt", 1, 2, {"char *", "char *"}},
	{"speculate", 1, 1, {"int"}},
	{"speculation", 0, 0, {}},
	{"stack", 0, 1, {"uint32_t"}},
	{"stop", 0, 0, {}},
	{"strchr", 2, 2, {"char *", "char"}},
	{"strjoin", 2, 2, {"char *", "char *"}},
	{"strlen", 1, 1, {"char *"}},
	{"strrchr", 2, 2, {"char *", "char"}},
	{"strstr", 2, 2, {"char *", "char *"}},
	{"strtok", 2, 2, {"char *", "char *"}},
	{"substr", 2, 3, {"char *", "int", "int"}},
	{"sym", 1, 1, {"uintptr_t"}},
	{"system", 1, ANY_NUMBER, {"@"}},
	{"trace", 1, 1, {"@"}},
	{"tracemem", 2, 3, {"@", "size_t", "size_t"}},
	{"trunc", 1, 2, {"@", "int64_t"}},
	{"uaddr", 1, 1, {"uintptr_t"}},
	{"ufunc", 1, 1, {"uintptr_t"}},
	{"umod", 1, 1, {"uintptr_t"}},
	{"ustack", 0, 2, {"uint32_t", "uint32_t"}},
	{"usym", 1, 1, {"uintptr_t"}},
};

static const char *const destructive[] = {"breakpoint", "chill", "copyout", "copyoutstr", "freopen",
					  "panic",      "raise", "stop",    "system"};

const char *d_type_name(struct compiler *c, const struct type *type)
{
	static const char *const names[2][9] = {
		{[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"},
		{[1] = "char", [2] = "short", [4] = "int", [8] = "int64_t"}};

	const char *text;

	if (d_is_floating(type))
		return type->name;
	switch (type->kind) {
	case TYPE_STRING:
	case TYPE_PROBE:
		return "string";
	case TYPE_NONE:
		return "void";
	case TYPE_STACK:
		return "stack";
	case TYPE_BUFFER:
		return "void *";
	case TYPE_POINTER:
		if (type->to->kind == TYPE_POINTER)
			text = arena_printf(c->arena, "%s*", d_type_name(c, type->to));
		else
			text = arena_printf(c->arena, "%s *", d_type_name(c, type->to));
		return text ? text : "";
	case TYPE_INT:
		if (type->size <= 8 && names[type->is_signed][type->size])
			return names[type->is_signed][type->size];
		break;
	default:
		break;
	}
	return type_describe(c->arena, type);
}

const struct type *d_type_of(struct compiler *c, const struct d_expr *expr)
{
	struct d_state *state = d_state(c);
	size_t statements = state->statements.count, actions = state->actions.count, recorded = state->recorded.count;
	const struct type *type;

	if (expr->kind == D_AGGREGATION || (expr->kind == D_CALL && d_is_action(expr->text)))
		return NULL;
	type = d_value(c, expr)->type;
	state->statements.count = statements;
	state->actions.count = actions;
	state->recorded.count = recorded;
	return type;
}

static bool accepts(const char *argument, const struct type *type)
{
	bool is_pointer = strchr(argument, '*') != NULL;

	if (!type)
		return false;
	if (!strcmp(argument, "string") || !strcmp(argument, "char *"))
		return type->kind == TYPE_STRING || type->kind == TYPE_PROBE || type->kind == TYPE_POINTER ||
		       type->kind == TYPE_BUFFER || type->kind == TYPE_ARRAY;
	if (!strncmp(argument, "struct ", 7) && type->kind == TYPE_POINTER && type->to->kind == TYPE_RECORD)
		return type->to->name && !strncmp(argument + 7, type->to->name, strlen(type->to->name)) &&
		       argument[7 + strlen(type->to->name)] == ' ';
	if (!strncmp(argument, "struct ", 7))
		return type->kind == TYPE_POINTER && type->to->kind == TYPE_NONE;
	if (is_pointer)
		return type->kind != TYPE_NONE;
	return type_is_scalar(type);
}

static void wrong_number(struct compiler *c, const struct d_expr *call, const struct prototype *prototype)
{
	bool too_few = call->kid_count < prototype->least;
	const char *how = prototype->least == prototype->most ? "" : too_few ? "at least " : "at most ";

	report_error(c->report, "D_PROTO_LEN", call->span, "%s( ) prototype mismatch: %u arg%s passed, %s%u expected",
		     call->text, call->kid_count, call->kid_count == 1 ? "" : "s", how,
		     too_few ? prototype->least : prototype->most);
}

bool d_is_destructive(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(destructive) / sizeof(destructive[0]); i++)
		if (!strcmp(destructive[i], name))
			return true;
	return false;
}

bool d_check_call(struct compiler *c, const struct d_expr *call)
{
	const struct prototype *prototype = prototypes;
	const size_t count = sizeof(prototypes) / sizeof(prototypes[0]);
	uint32_t i;

	while (prototype < prototypes + count && strcmp(prototype->name, call->text) != 0)
		prototype++;
	if (prototype == prototypes + count)
		return true;
	if (call->kid_count < prototype->least || call->kid_count > prototype->most) {
		wrong_number(c, call, prototype);
		return false;
	}
	for (i = 0; i < call->kid_count && i < MOST && prototype->arguments[i]; i++) {
		const struct d_expr *expr = call->kids[i];
		const struct type *type;

		if (!strcmp(prototype->arguments[i], "@"))
			continue;
		type = d_type_of(c, expr);
		if (c->report->errors)
			return false;
		if (accepts(prototype->arguments[i], type) ||
		    (d_is_null(c, expr) && strchr(prototype->arguments[i], '*') != NULL))
			continue;
		report_error(c->report, "D_PROTO_ARG", call->span,
			     "%s( ) argument #%u is incompatible with prototype:\n\tprototype: %s\n\t argument: %s",
			     call->text, i + 1, prototype->arguments[i],
			     expr->kind == D_AGGREGATION ? "aggregation"
			     : type                      ? d_type_name(c, type)
							 : "void");
		return false;
	}
	if (d_is_destructive(call->text))
		d_state(c)->is_destructive = true;
	return true;
}
