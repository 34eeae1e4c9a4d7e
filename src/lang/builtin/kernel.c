// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What works on the kernel's own objects, or on what it does. Its helpers take objects by pointers whose types the
 * verifier knows: arguments of the probe, and what is reached from them.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/provider.h"

static struct attach *first_attach(const struct compiler *c)
{
	return &c->attaches.at[c->unit->first_attach];
}

static const struct type *refuse(struct compiler *c, const struct node *call, const char *where)
{
	report_error(c->report, "call.probe", call->span, "%s() cannot be used with '%s' probes", call->text,
		     c->unit->provider->name);
	report_hint(c->report, "it is there in %s", where);
	return &type_none;
}

/* --- override(value) --- */

/* The kernel allows it at perf events alone, on functions that it lists. */
static const struct type *check_override(struct compiler *c, struct node *call)
{
	uint32_t i;

	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	if (c->unit->provider != &provider_kprobe)
		return refuse(c, call, "kprobe");
	for (i = 0; i < c->unit->attach_count; i++) {
		first_attach(c)[i].is_multi = false;
		first_attach(c)[i].overrides = true;
	}
	return &type_none;
}

static void gen_override(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, REG_CTX);
	code_mov(g->code, R2, R0);
	code_call(g->code, BPF_FUNC_override_return);
}

/* --- pointers whose types the verifier knows --- */

static bool is_argument(const struct node *node)
{
	return node->kind == NODE_NAME && !strncmp(node->text, "arg", 3) && isdigit(node->text[3]);
}

static bool is_context(const struct node *node)
{
	return node->kind == NODE_NAME && (!strcmp(node->text, "args") || !strcmp(node->text, "ctx"));
}

/* An argument, or what is reached from one by the names of fields. */
static bool is_typed(const struct node *node)
{
	if (node->kind == NODE_CAST)
		return is_typed(node->kids[0]);
	return is_argument(node) ||
	       (node->kind == NODE_FIELD && (is_context(node->kids[0]) || is_typed(node->kids[0])));
}

/* A pointer to a struct of this name, or the record itself, whose type the verifier is to know. */
static bool check_object(struct compiler *c, const struct node *call, struct node *node, const char *name)
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
	if (!first_attach(c)->arguments) {
		report_error(c->report, "builtin.args", node->span,
			     "the types of this probe's arguments are not known");
		return false;
	}
	first_attach(c)->keeps_types = true;
	return true;
}

/* The object's address in R0, with its type. Jumps to `null` when there is none. */
static void gen_object(struct gen *g, const struct node *node, label null)
{
	if (node->kind == NODE_CAST) {
		gen_object(g, node->kids[0], null);
		return;
	}
	if (is_argument(node)) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)(node->value * 8));
	} else if (is_context(node->kids[0])) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)node->field->offset);
	} else {
		gen_object(g, node->kids[0], null);
		if (node->type->kind == TYPE_POINTER)
			code_load(g->code, 8, R0, R0, (int16_t)node->field->offset);
		else
			code_alu_imm(g->code, BPF_ADD, R0, (int32_t)node->field->offset);
	}
	if (node->type->kind != TYPE_RECORD)
		code_jump_if(g->code, BPF_JEQ, R0, 0, null);
}

static bool is_trampoline(const struct compiler *c)
{
	return c->unit->provider == &provider_fentry || c->unit->provider == &provider_fexit;
}

/* --- socket_cookie(sock) --- */

static const struct type *check_socket_cookie(struct compiler *c, struct node *call)
{
	if (is_trampoline(c) || c->unit->provider == &provider_rawtracepoint)
		check_object(c, call, call->kids[0], "sock");
	else
		refuse(c, call, "fentry, fexit and rawtracepoint");
	return &type_uint64;
}

static void gen_socket_cookie(struct gen *g, const struct node *call)
{
	label null = code_label(g->code), end = code_label(g->code);

	gen_object(g, call->kids[0], null);
	code_mov(g->code, R1, R0);
	code_call(g->code, BPF_FUNC_get_socket_cookie);
	code_jump(g->code, end);
	code_bind(g->code, null);
	code_imm(g->code, R0, 0);
	code_bind(g->code, end);
}

/* --- path(path [, size]) --- */

static const struct type *check_path(struct compiler *c, struct node *call)
{
	int64_t size = (int64_t)c->numbers[SETTING_MAX_STRLEN];

	if (call->kid_count > 1 && check_literal_number(c, call->kids[1], &size) && (size < 1 || size > STRING_MAX)) {
		report_error(c->report, "call.length", call->kids[1]->span, "%s() takes a length of 1 to %u",
			     call->text, STRING_MAX);
		size = 1;
	}
	if (is_trampoline(c) || c->unit->provider->context == CONTEXT_ITER)
		check_object(c, call, call->kids[0], "path");
	else
		refuse(c, call, "fentry, fexit and iter");
	return type_string(c->arena, (uint32_t)size);
}

/* The helper leaves bytes of its own behind the path. Of one that is too long it leaves the end, and an error. */
static void place_path(struct gen *g, const struct node *call, uint32_t offset)
{
	uint32_t size = call->type->size, mark = g->used, text = gen_temporary(g, size);
	label null = code_label(g->code);

	gen_zero(g, text, size);
	gen_object(g, call->kids[0], null);
	code_mov(g->code, R1, R0);
	gen_frame_address(g, R2, text);
	code_imm(g->code, R3, call->type->count);
	code_call(g->code, BPF_FUNC_d_path);
	code_bind(g->code, null);
	gen_string(g, call->type, text, offset);
	g->used = mark;
}

/* --- skboutput(path, packet, length, offset) --- */

static const struct type *check_packet(struct compiler *c, struct node *call)
{
	const char *path = check_literal_text(c, call->kids[0], "the file");
	const struct type *packet = types_find(&c->types, "struct sk_buff");
	struct type_field length;
	uint32_t i;

	for (i = 2; i < 4; i++) {
		check_value(c, call->kids[i]);
		check_number(c, call->kids[i]);
	}
	if (!is_trampoline(c) && c->unit->provider != &provider_rawtracepoint) {
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

static void gen_packet(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, length = gen_temporary(g, 8), offset = gen_temporary(g, 8), record;
	label null = code_label(g->code), end = code_label(g->code);

	gen_into(g, call->kids[2], &type_uint64, length);
	gen_into(g, call->kids[3], &type_uint64, offset);
	record = gen_record(g, call->site, sizeof(struct rt_packet) - sizeof(struct rt_event));
	gen_zero(g, record + (uint32_t)sizeof(struct rt_event), sizeof(struct rt_packet) - sizeof(struct rt_event));
	gen_object(g, call->kids[1], null);
	code_mov(g->code, R1, R0);
	code_load(g->code, 4, R3, R1, (int16_t)call->value);
	gen_frame_address(g, R2, record);
	gen_frame_load(g, 8, R4, offset);
	gen_frame_load(g, 8, R5, length);
	code_call_runtime(g->code, "rt_packet");
	code_jump(g->code, end);
	code_bind(g->code, null);
	code_imm(g->code, R0, -EFAULT);
	code_bind(g->code, end);
	g->used = mark;
}

const struct builtin builtins_kernel[] = {
	{"override", 1, 1, BUILTIN_UNSAFE, check_override, gen_override, NULL, "override(VALUE)"},
	{"socket_cookie", 1, 1, 0, check_socket_cookie, gen_socket_cookie, NULL, "socket_cookie(struct sock *)"},
	{"path", 1, 2, 0, check_path, NULL, place_path, "path(struct path * [, SIZE])"},
	{"skboutput", 4, 4, 0, check_packet, gen_packet, NULL, "skboutput(FILE, struct sk_buff *, LENGTH, OFFSET)"},
	{},
};
