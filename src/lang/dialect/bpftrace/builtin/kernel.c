// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builtins that work on objects of the kernel, or on what it does. The kernel's helpers take pointers whose types the
 * verifier knows: arguments of the probe, and what is reached from them.
 */
#include <ctype.h>
#include <string.h>

#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/provider/provider.h"

static const struct type *refuse(struct compiler *c, const struct ast *call, const char *where)
{
	report_error(c->report, "call.probe", call->span, "%s() cannot be used with '%s' probes", call->text,
		     c->unit->provider->name);
	report_hint(c->report, "it is there in %s", where);
	return &type_none;
}

/* --- override(value) --- */

/* The kernel allows it at perf events alone, on functions that it lists. */
static const struct type *check_override(struct compiler *c, struct ast *call)
{
	uint32_t i;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	if (!c->unit->provider->allows_override)
		return refuse(c, call, "kprobe");
	for (i = 0; i < c->unit->attach_count; i++) {
		compiler_attach(c)[i].flags &= ~ATTACH_MULTI;
		compiler_attach(c)[i].flags |= ATTACH_OVERRIDES;
	}
	return &type_none;
}

/* --- pointers whose types the verifier knows --- */

static bool is_argument(const struct ast *node)
{
	return node->kind == AST_NAME && !strncmp(node->text, "arg", 3) && isdigit(node->text[3]);
}

static bool is_context(const struct ast *node)
{
	return node->kind == AST_NAME && (!strcmp(node->text, "args") || !strcmp(node->text, "ctx"));
}

/* An argument, or what is reached from one by the names of fields. */
static bool is_typed(const struct ast *node)
{
	if (node->kind == AST_CAST)
		return is_typed(node->kids[0]);
	return is_argument(node) || (node->kind == AST_FIELD && (is_context(node->kids[0]) || is_typed(node->kids[0])));
}

/* A pointer to a struct of this name, or the record itself, whose type the verifier is to know. */
static bool check_object(struct compiler *c, const struct ast *call, struct ast *node, const char *name)
{
	const struct type *type = check_value(c, node), *record = type->kind == TYPE_POINTER ? type->to : type;

	if (type->kind == TYPE_NONE)
		return false;
	if (record->kind != TYPE_RECORD || !record->name || strcmp(record->name, name)) {
		report_error(c->report, "type.object", node->span,
			     "%s() expects a struct %s *, and this is of type '%s'", call->text, name,
			     type_describe(c->arena, type));
		report_hint(c->report, "usage: %s", call->builtin->usage);
		return false;
	}
	if (!is_typed(node)) {
		report_error(c->report, "type.copy", node->span,
			     "%s() expects an argument of the probe, or what its fields lead to", call->text);
		report_hint(c->report, "the kernel takes no copy: write it as in %s(args.NAME), not through a variable",
			    call->text);
		return false;
	}
	if (!compiler_attach(c)->arguments) {
		report_error(c->report, "builtin.args", node->span,
			     "the types of this probe's arguments are not known");
		return false;
	}
	compiler_attach(c)->flags |= ATTACH_KEEPS_TYPES;
	return true;
}

/* --- socket_cookie(sock) --- */

static const struct type *check_socket_cookie(struct compiler *c, struct ast *call)
{
	if (c->unit->provider->has_objects)
		check_object(c, call, call->kids[0], "sock");
	else
		refuse(c, call, "fentry, fexit and rawtracepoint");
	return &type_uint64;
}

/* --- path(path [, size]) --- */

static const struct type *check_path(struct compiler *c, struct ast *call)
{
	int64_t size = (int64_t)c->numbers[SETTING_MAX_STRLEN];

	if (call->kid_count > 1 && check_literal_number(c, call->kids[1], &size) && (size < 1 || size > STRING_MAX)) {
		report_error(c->report, "call.length", call->kids[1]->span, "%s() takes a length of 1 to %u",
			     call->text, STRING_MAX);
		size = 1;
	}
	if (c->unit->provider->allows_paths)
		check_object(c, call, call->kids[0], "path");
	else
		refuse(c, call, "fentry, fexit and iter");
	return type_string(c->arena, (uint32_t)size);
}

/* --- skboutput(path, packet, length, offset) --- */

static const struct type *check_packet(struct compiler *c, struct ast *call)
{
	const char *path = check_literal_text(c, call->kids[0], "the file");
	const struct type *packet = types_find(&c->types, "struct sk_buff");
	struct type_field length;
	uint32_t i;

	for (i = 2; i < 4; i++) {
		check_value(c, call->kids[i]);
		check_number(c, call->kids[i]);
	}
	if (!c->unit->provider->has_objects) {
		refuse(c, call, "fentry, fexit and rawtracepoint");
		return &type_int64;
	}
	if (!path || !check_object(c, call, call->kids[1], "sk_buff"))
		return &type_int64;
	if (packet && types_complete(&c->types, packet) && types_field(&c->types, packet, "len", &length))
		call->value = length.offset;
	call->site = check_site(c, call, (struct site){.kind = SITE_PACKET, .format = path});
	c->has_packets = true;
	return &type_int64;
}

const struct builtin builtins_kernel[] = {
	{"override", 1, 1, BUILTIN_UNSAFE, check_override, CORE_OVERRIDE, 0, "override(VALUE)"},
	{"socket_cookie", 1, 1, 0, check_socket_cookie, CORE_SOCKET_COOKIE, 0, "socket_cookie(struct sock *)"},
	{"path", 1, 2, 0, check_path, CORE_PATH, 2, "path(struct path * [, SIZE])"},
	{"skboutput", 4, 4, BUILTIN_DISCARDABLE, check_packet, CORE_PACKET, 1,
	 "skboutput(FILE, struct sk_buff *, LENGTH, OFFSET)"},
	{},
};
