// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fentry, fexit: functions of the kernel and of BPF programs, through trampolines. These are cheaper than kprobes, and
 * the types of arguments are known from BTF. The context has a word for each argument, and for fexit one more for the
 * result. A trampoline is made for one function, so each function has a program of its own.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "kernel/features.h"
#include "lang/kernel/bpf_functions.h"
#include "lang/kernel/kernel_functions.h"
#include "lang/kernel/kernel_types.h"
#include "lang/provider/provider.h"

#define ARGUMENT_WORDS_MAX 6 /* what trampolines of all kernels pass on x86-64 (arch/x86/net/bpf_jit_comp.c) */

static const struct type *with_result(struct compiler *c, const struct type *arguments, const struct type_field *result)
{
	struct type *record = arena_new(c->arena, struct type);
	struct type_field *fields = arena_array(c->arena, struct type_field, arguments->field_count + 1);

	if (!record || !fields)
		return arguments;
	*record = *arguments;
	memcpy(fields, arguments->fields, arguments->field_count * sizeof(*fields));
	fields[record->field_count++] = *result;
	record->fields = fields;
	return record;
}

/* False when BTF does not know the function, or it takes more than trampolines pass. */
static bool add(struct compiler *c, const struct provider *self, const struct kernel_function *function,
		bool shows_module, bool knows_module)
{
	struct attach attach = {.address = function->address};
	struct type_field *result = arena_new(c->arena, struct type_field);
	bool is_kernel;

	attach.function = arena_strdup(c->arena, function->name, strlen(function->name));
	attach.name = shows_module ? arena_printf(c->arena, "%s:%s:%s", self->name, function->module, function->name)
				   : arena_printf(c->arena, "%s:%s", self->name, function->name);
	if (!result || !attach.function)
		return false;
	is_kernel = !strcmp(function->module, "vmlinux");
	if (is_kernel || (knows_module && kernel_types_module(&c->types, function->module)))
		attach.arguments = kernel_types_function(&c->types, function->module, attach.function, result);
	/* Modules may have been built without BTF. */
	if (is_kernel || attach.arguments) {
		if (!attach.arguments || attach.arguments->size > ARGUMENT_WORDS_MAX * 8)
			return false;
		if (self->is_return && result->type->kind != TYPE_NONE) {
			attach.result = result;
			attach.arguments = with_result(c, attach.arguments, result);
		}
	}
	provider_add(c, attach);
	return true;
}

/* Of functions with the same name BTF knows one, and does not tell which: the first is taken. */
static void each_function(struct compiler *c, const struct provider *self, const struct attach_text *point,
			  struct kernel_functions *functions)
{
	const char *name = point->part_count > 1 ? point->parts[point->part_count - 1] : "*";
	const char *module = point->part_count > 2 ? point->parts[1] : "*";
	bool is_wild = provider_has_wildcard(name);
	/* Not all modules are read for a pattern of functions. */
	bool knows_module = !is_wild || !provider_has_wildcard(module);
	const struct kernel_function *function;
	uint32_t i;

	for (i = 0; (function = kernel_functions_at(functions, i)); i++) {
		if (!provider_matches(name, function->name) || !provider_matches(module, function->module))
			continue;
		if (is_wild && (!kernel_functions_is_traceable(functions, function) ||
				provider_is_dangerous(function->name) ||
				!kernel_functions_is_first(functions, function)))
			continue;
		if (add(c, self, function, is_wild || point->part_count > 2, knows_module) && !is_wild)
			return;
	}
}

/* --- functions of BPF programs --- */

/* fentry:bpf:[ID:]FUNCTION */
static bool is_bpf(const struct attach_text *point)
{
	return point->part_count > 2 && !strcmp(point->parts[1], "bpf");
}

/* Words of the context that are there whatever the kernel believes of the function's types (btf_distill_func_proto()).
 */
static const struct type *bpf_arguments(struct compiler *c, const struct bpf_function *function)
{
	struct type *record = arena_new(c->arena, struct type);

	if (record)
		*record = (struct type){.kind = TYPE_RECORD, .align = 8, .size = function->parameter_count * 8};
	return record;
}

/* attach.own of a BPF program's function; NULL: it is the kernel's. */
struct bpf_place {
	uint32_t id;
	int program; /* its descriptor, which c->bpf_functions owns; none while functions are listed */
};

static void add_bpf(struct compiler *c, const struct provider *self, const struct bpf_function *function)
{
	const struct bpf_place place = {.id = function->program};
	struct attach attach = {.address = function->address,
				.flags = ATTACH_UNTYPED | (function->has_result ? ATTACH_HAS_RESULT : 0),
				.own = provider_own(c, &place, sizeof(place))};

	attach.function = arena_strdup(c->arena, function->name, strlen(function->name));
	attach.name = arena_printf(c->arena, "%s:bpf:%u:%s", self->name, function->program, function->name);
	attach.arguments = bpf_arguments(c, function);
	provider_add(c, attach);
}

static void each_bpf_function(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	const char *id = point->part_count > 3 ? point->parts[2] : "*", *name = point->parts[point->part_count - 1];
	const struct bpf_function *function;
	struct diag diag = {};
	char number[16];
	uint32_t i;

	if (!c->bpf_functions && bpf_functions_create(&c->bpf_functions, &diag)) {
		report_error(c->report, "probe.programs", point->span, "%s", diag.text);
		return;
	}
	for (i = 0; (function = bpf_functions_at(c->bpf_functions, i)); i++) {
		snprintf(number, sizeof(number), "%u", function->program);
		if (provider_matches(name, function->name) && provider_matches(id, number) &&
		    !(function->is_tracing && provider_has_wildcard(name)))
			add_bpf(c, self, function);
	}
}

static void expand_bpf(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	size_t before = c->attaches.count, errors = c->report->errors, i;

	if (!provider_parts(c, self, point, 2, 3))
		return;
	each_bpf_function(c, self, point);
	for (i = before; i < c->attaches.count; i++) {
		const struct bpf_place *place = c->attaches.at[i].own;
		struct bpf_place held = {.id = place ? place->id : 0};

		held.program = bpf_functions_hold(c->bpf_functions, held.id);
		if (held.program < 0)
			report_error(c->report, "probe.program", point->span, "BPF program %u cannot be had: %s",
				     held.id, strerror(-held.program));
		c->attaches.at[i].own = provider_own(c, &held, sizeof(held));
	}
	if (c->attaches.count == before && c->report->errors == errors)
		provider_missing(c, self, point);
}

static void expand_fentry(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct kernel_functions *functions;
	size_t before = c->attaches.count;

	if (is_bpf(point)) {
		expand_bpf(c, self, point);
		return;
	}
	if (!provider_parts(c, self, point, 1, 2))
		return;
	if (!feature_probe(FEATURE_FENTRY)) {
		report_error(c->report, "probe.fentry", point->span,
			     "%s is not available: this kernel has no BPF trampolines "
			     "(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)",
			     self->name);
		report_hint(c->report,
			    "use kprobe, tracepoint or rawtracepoint; strata doctor tells what this kernel has");
		return;
	}
	functions = provider_kernel_functions(c, point->span);
	if (!functions)
		return;
	each_function(c, self, point, functions);
	if (c->attaches.count == before)
		provider_missing(c, self, point);
}

static void list_fentry(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct kernel_functions *functions;

	if (is_bpf(point)) {
		each_bpf_function(c, self, point);
		return;
	}
	functions = feature_probe(FEATURE_FENTRY) ? provider_kernel_functions(c, point->span) : NULL;
	if (functions && point->part_count < 4)
		each_function(c, self, point, functions);
}

static int configure_fentry(struct bpf_program *program, const struct attach *attach, struct diag *diag)
{
	const struct bpf_place *place = attach->own;
	int err = bpf_program__set_attach_target(program, place ? place->program : 0, attach->function);

	return err ? diag_fail(diag, -err, "attach.btf", "%s cannot be attached: %s BTF has no such function",
			       attach->name, place ? "the program's" : "the kernel's")
		   : 0;
}

static int attach_fentry(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			 const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	/* No name: what it is attached to was said when it was loaded. */
	int fd = bpf_raw_tracepoint_open(NULL, program);

	(void)count;
	(void)cookie;
	(void)target;
	if (fd < 0)
		return diag_fail(diag, -fd, "attach.fentry",
				 "Unable to attach probe: %s: %s; the kernel forbids tracing some of its functions",
				 attaches->name, strerror(-fd));
	return attachment_keep(&ret->links, fd, diag);
}

const struct provider provider_fentry = {
	.name = "fentry",
	.aliases = {"f", "kfunc"},
	.context = CONTEXT_WORDS,
	.program_type = BPF_PROG_TYPE_TRACING,
	.expected_attach_type = BPF_TRACE_FENTRY,
	.is_kernel = true,
	.obeys_target = true,
	.runs_last_first = true,
	.has_objects = true,
	.allows_paths = true,
	.expand = expand_fentry,
	.list = list_fentry,
	.configure = configure_fentry,
	.attach = attach_fentry,
	.usage = "fentry:[MODULE:]FUNCTION or fentry:bpf:[PROGRAM_ID:]FUNCTION",
};

const struct provider provider_fexit = {
	.name = "fexit",
	.aliases = {"fr", "kretfunc"},
	.context = CONTEXT_WORDS,
	.program_type = BPF_PROG_TYPE_TRACING,
	.expected_attach_type = BPF_TRACE_FEXIT,
	.is_return = true,
	.is_kernel = true,
	.obeys_target = true,
	.runs_last_first = true,
	.has_objects = true,
	.allows_paths = true,
	.expand = expand_fentry,
	.list = list_fentry,
	.configure = configure_fentry,
	.attach = attach_fentry,
	.usage = "fexit:[MODULE:]FUNCTION or fexit:bpf:[PROGRAM_ID:]FUNCTION",
};
