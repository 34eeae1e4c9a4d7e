// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kprobe, kretprobe: any instruction of the kernel. All functions that share a program are one kprobe_multi link (Linux
 * 5.18), or one for calls and returns (6.10; lang/gen/gen_session.c). It reaches the entries of functions to which
 * ftrace can attach. Other places, and older kernels, need one perf event each. Places are given by address. So
 * functions of the same name are told apart, and a name means all of them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lang/kernel/kernel_functions.h"
#include "lang/kernel/kernel_types.h"
#include "lang/core/number.h"
#include "lang/provider/provider.h"

/* uapi/linux/bpf.h of Linux 5.18: link_create.kprobe_multi. libbpf refuses sessions that it does not know. */
struct kprobe_multi_create {
	uint32_t program, target, attach_type, flags;
	uint32_t multi_flags, count;
	uint64_t symbols, addresses, cookies;
};

/* [MODULE:]FUNCTION[+OFFSET] */
struct kprobe_search {
	struct compiler *c;
	const struct provider *self;
	const char *module, *function; /* patterns */
	uint64_t offset;
	bool has_module, is_wild, is_list;
};

static bool kernel_has_kprobes(void)
{
	uint32_t type;

	return !provider_pmu("kprobe", &type);
}

/* The second is compiled with CONFIG_FPROBE only; without it the kernel refuses such links. */
static bool kernel_has_multi(const struct compiler *c, const struct kernel_functions *functions)
{
	return !(c->options->without & COMPILE_WITHOUT_KPROBE_MULTI) &&
	       kernel_functions_find(functions, "bpf_kprobe_multi_link_attach") &&
	       kernel_functions_find(functions, "register_fprobe_ips");
}

static void add(struct kprobe_search *search, const struct kernel_function *function, bool is_multi)
{
	struct arena *arena = search->c->arena;
	const char *name =
		search->has_module || provider_has_wildcard(search->function)
			? arena_printf(arena, "%s:%s:%s", search->self->name, function->module, function->name)
			: arena_printf(arena, "%s:%s", search->self->name, function->name);
	unsigned int flags = 0;

	/* For the types of what its arguments point to; not of all modules, for a pattern. */
	if (strcmp(function->module, "vmlinux") != 0 &&
	    (!search->is_wild || (search->has_module && !provider_has_wildcard(search->module))))
		kernel_types_module(&search->c->types, function->module);
	if (search->offset)
		name = arena_printf(arena, "%s+%llu", name, (unsigned long long)search->offset);
	if (is_multi)
		flags |= ATTACH_MULTI;
	if (search->is_list && !strcmp(function->module, "vmlinux"))
		flags |= ATTACH_OF_KERNEL;
	provider_add(search->c, (struct attach){.name = name,
						.function = arena_strdup(arena, function->name, strlen(function->name)),
						.address = function->address + search->offset,
						.flags = flags});
}

/* Is there one? If there is a list of those that may be traced, one of the list? */
static bool each_function(struct kprobe_search *search, struct kernel_functions *functions)
{
	bool has_multi = kernel_has_multi(search->c, functions) && !search->offset;
	bool has_list = search->c->options->traceable_functions, is_asked = search->is_wild || has_multi || has_list;
	const struct kernel_function *function;
	size_t first = search->c->attaches.count, j;
	bool is_traceable, is_there = false;
	uint32_t i;

	for (i = 0; (function = kernel_functions_at(functions, i)); i++) {
		if (!provider_matches(search->function, function->name) ||
		    !provider_matches(search->module, function->module))
			continue;
		is_traceable = is_asked && kernel_functions_is_traceable(functions, function);
		if (search->is_wild && (!is_traceable || provider_is_dangerous(function->name)))
			continue;
		if (has_list && !is_traceable && !search->c->options->unsafe)
			continue;
		add(search, function, has_multi && is_traceable);
		is_there |= is_traceable || !has_list;
	}
	/* One program, one kind of link. */
	for (j = first; j < search->c->attaches.count && has_multi; j++)
		has_multi = search->c->attaches.at[j].flags & ATTACH_MULTI;
	for (j = first; j < search->c->attaches.count && !has_multi; j++)
		search->c->attaches.at[j].flags &= ~ATTACH_MULTI;
	return is_there;
}

static bool split(struct compiler *c, const struct provider *self, const struct attach_text *point,
		  struct kprobe_search *ret)
{
	const char *text = point->part_count > 1 ? point->parts[point->part_count - 1] : "*";

	*ret = (struct kprobe_search){.c = c,
				      .self = self,
				      .module = "*",
				      .function = text,
				      .is_wild = provider_has_wildcard(text),
				      .has_module = point->part_count > 2};
	if (ret->has_module)
		ret->module = point->parts[1];
	return provider_offset(c, self, point, &ret->function, &ret->offset);
}

static void add_address(struct compiler *c, const struct provider *self, const struct attach_text *point,
			uint64_t address)
{
	if (!c->options->unsafe) {
		report_error(c->report, "probe.address", point->span, "%s at an address needs --unsafe", self->name);
		report_hint(c->report, "an address in the middle of an instruction can crash the kernel");
		return;
	}
	provider_add(c, (struct attach){.name = arena_printf(c->arena, "%s:%llu", self->name,
							     (unsigned long long)address),
					.address = address});
}

/* A module by its name, no pattern, that the kernel does not have. */
static bool module_is_missing(const struct kprobe_search *search, const struct kernel_functions *functions)
{
	const struct kernel_function *function;
	uint32_t i;

	if (!search->has_module || search->is_wild || provider_has_wildcard(search->module))
		return false;
	for (i = 0; (function = kernel_functions_at(functions, i)); i++)
		if (!strcmp(function->module, search->module))
			return false;
	return true;
}

/* A function that is in no list: the kernel looks for it when the probe is attached. */
static void add_unknown(struct kprobe_search *search)
{
	struct arena *arena = search->c->arena;
	bool in_module = search->has_module && strcmp(search->module, "vmlinux") != 0;
	const char *name = arena_printf(arena, "%s%s%s", search->has_module ? search->module : "",
					search->has_module ? ":" : "", search->function);

	provider_add(search->c, (struct attach){.name = arena_printf(arena, search->offset ? "%s:%s+%llu" : "%s:%s",
								     search->self->name, name,
								     (unsigned long long)search->offset),
						.function = in_module ? name : search->function,
						.own = provider_own(search->c, &search->offset,
								    sizeof(search->offset))});
}

static void expand_kprobe(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct kernel_functions *functions;
	size_t before = c->attaches.count;
	struct kprobe_search search;
	uint64_t address;

	if (!provider_parts(c, self, point, 1, 2))
		return;
	if (!kernel_has_kprobes()) {
		report_error(c->report, "probe.kprobes", point->span,
			     "%s is not available: this kernel was built without kprobes (CONFIG_KPROBE_EVENTS)",
			     self->name);
		report_hint(c->report, "use tracepoint or rawtracepoint; strata doctor tells what this kernel has");
		return;
	}
	if (point->part_count == 2 && number_parse(point->parts[1], strlen(point->parts[1]), &address)) {
		add_address(c, self, point, address);
		return;
	}
	if (!split(c, self, point, &search))
		return;
	functions = provider_kernel_functions(c, point->span);
	if (!functions)
		return;
	if (module_is_missing(&search, functions)) {
		report_error(c->report, "probe.module", point->span,
			     "specified module %s in probe %s:%s:%s is not loaded.", search.module, self->name,
			     search.module, search.function);
		return;
	}
	if (!each_function(&search, functions) && !search.is_wild &&
	    strcmp(c->texts[SETTING_MISSING_PROBES], "ignore") != 0)
		report_warning(c->report, "probe.traceable", point->span,
			       "%s is not traceable (either non-existing, inlined, or marked as \"notrace\"); "
			       "attaching to it will likely fail",
			       search.function);
	if (c->attaches.count == before && c->options->unsafe && !search.is_wild &&
	    !(search.has_module && provider_has_wildcard(search.module)))
		add_unknown(&search);
	if (c->attaches.count == before)
		provider_missing(c, self, point);
}

static void list_kprobe(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct kernel_functions *functions =
		kernel_has_kprobes() ? provider_kernel_functions(c, point->span) : NULL;
	struct kprobe_search search;

	if (!functions || point->part_count > 3 || !split(c, self, point, &search))
		return;
	search.is_wild = search.is_list = true;
	each_function(&search, functions);
}

/* --- attaching --- */

static int configure_kprobe(struct bpf_program *program, const struct attach *attach, struct diag *diag)
{
	(void)diag;
	if (attach->flags & ATTACH_SESSION)
		return bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)ATTACH_KPROBE_SESSION);
	return attach->flags & ATTACH_MULTI ? bpf_program__set_expected_attach_type(program, BPF_TRACE_KPROBE_MULTI)
					    : 0;
}

static int attach_multi(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return)
{
	uint64_t *numbers = calloc(2 * (size_t)count, sizeof(*numbers));
	bool is_session = attaches->flags & ATTACH_SESSION;
	struct kprobe_multi_create create = {.program = (uint32_t)program,
					     .attach_type =
						     is_session ? ATTACH_KPROBE_SESSION : BPF_TRACE_KPROBE_MULTI,
					     .multi_flags = is_return ? BPF_F_KPROBE_MULTI_RETURN : 0,
					     .count = count};
	uint32_t i;
	long fd;

	if (!numbers)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		numbers[i] = attaches[i].address;
		numbers[count + i] = cookie + i;
	}
	create.addresses = (uint64_t)(uintptr_t)numbers;
	create.cookies = (uint64_t)(uintptr_t)(numbers + count);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	fd = fd < 0 ? -errno : fd;
	free(numbers);
	return (int)fd;
}

static int attach_singly(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return,
			 struct attachment *ret, struct diag *diag)
{
	uint32_t type, i;
	int err = provider_pmu("kprobe", &type);

	for (i = 0; i < count && !err; i++) {
		/* config bit 0: a return probe; without a name the address counts (kernel/events/core.c). */
		struct perf_event_attr attr = {
			.type = type, .config = is_return, .kprobe_addr = attaches[i].address, .disabled = 1};

		if (!attaches[i].address) {
			attr.kprobe_func = (uint64_t)(uintptr_t)attaches[i].function;
			attr.probe_offset = *(const uint64_t *)attaches[i].own;
		}

		/* One event serves all CPUs. */
		err = provider_attach_perf(program, &attr, 0, cookie + i, ret, NULL);
	}
	if (err == -EILSEQ)
		return diag_fail(diag, EILSEQ, "attach.instruction",
				 "Possible attachment attempt in the middle of an instruction, try a different offset. "
				 "The probe is %s",
				 attaches[i - 1].name);
	if (err == -EINVAL && (attaches->flags & ATTACH_OVERRIDES))
		return diag_fail(diag, EINVAL, "attach.override",
				 "Unable to attach probe: %s: override() works at the entry of functions that the "
				 "kernel marks for it (ALLOW_ERROR_INJECTION), such as system calls",
				 attaches[i - 1].name);
	if (err == -ENOENT && !attaches->address)
		return diag_fail(diag, ENOENT, "attach.kprobe",
				 "Unable to attach probe: %s: the kernel has no such function", attaches->name);
	return err ? diag_fail(diag, -err, "attach.kprobe",
			       "Unable to attach probe: %s: %s; the kernel forbids probes in some of its functions",
			       attaches[i ? i - 1 : 0].name, strerror(-err))
		   : 0;
}

static int attach_kprobes(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return,
			  struct attachment *ret, struct diag *diag)
{
	int fd;

	if (!(attaches->flags & ATTACH_MULTI))
		return attach_singly(program, attaches, count, cookie, is_return, ret, diag);
	fd = attach_multi(program, attaches, count, cookie, is_return);
	if (fd < 0)
		return diag_fail(diag, -fd, "attach.kprobe", "Unable to attach probe: %s%s: %s", attaches->name,
				 count > 1 ? " and others" : "", strerror(-fd));
	return attachment_keep(&ret->links, fd, diag);
}

static int attach_entry(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	(void)target;
	return attach_kprobes(program, attaches, count, cookie, false, ret, diag);
}

static int attach_return(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			 const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	(void)target;
	return attach_kprobes(program, attaches, count, cookie, true, ret, diag);
}

const struct provider provider_kprobe = {
	.name = "kprobe",
	.aliases = {"k"},
	.context = CONTEXT_REGISTERS,
	.allows_override = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.is_kernel = true,
	.obeys_target = true,
	.shares_programs = true,
	.runs_last_first = true,
	.expand = expand_kprobe,
	.list = list_kprobe,
	.configure = configure_kprobe,
	.attach = attach_entry,
	.usage = "kprobe:[MODULE:]FUNCTION[+OFFSET], kprobe:ADDRESS",
};

const struct provider provider_kretprobe = {
	.name = "kretprobe",
	.aliases = {"kr"},
	.context = CONTEXT_REGISTERS,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.is_return = true,
	.is_kernel = true,
	.obeys_target = true,
	.shares_programs = true,
	.runs_last_first = true,
	.expand = expand_kprobe,
	.list = list_kprobe,
	.configure = configure_kprobe,
	.attach = attach_return,
	.usage = "kretprobe:[MODULE:]FUNCTION, kretprobe:ADDRESS",
};
