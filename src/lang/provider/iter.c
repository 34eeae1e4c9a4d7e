// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * iter: the kernel's BPF iterators. Reading one runs the program once for each object, and once after the last one,
 * with null pointers. The context is struct bpf_iter__NAME of the kernel's BTF: a word for each pointer.
 *
 * What a program prints goes through the ring buffer, as for all others. For each object it also writes a byte to the
 * iterator's own output (gen/gen.c). So a read() returns after as many objects as its buffer has bytes, and the ring is
 * emptied between two reads.
 *
 * A pinned iterator outlives strata: whoever reads the file gets what printf() writes, by bpf_seq_printf().
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "lang/kernel/kernel_types.h"
#include "lang/provider/provider.h"

#define PREFIX "bpf_iter__"
#define PINS   "/sys/fs/bpf/"

/* attach.own is the iterator's name. `pin`: the file that is to be read later, by whom it may be; NULL: strata reads
 * it. */
static bool add(struct compiler *c, const struct provider *self, const char *name, const char *pin)
{
	const char *full = arena_printf(c->arena, "struct " PREFIX "%s", name);
	const struct type *type = full ? types_find(&c->types, full) : NULL;
	struct type_field result, *fields;
	struct type *record;
	uint32_t i;

	if (!type || !types_complete(&c->types, type) ||
	    !kernel_types_function(&c->types, "vmlinux", arena_printf(c->arena, "bpf_iter_%s", name), &result))
		return false;
	/* Each pointer is in a union without a name, which makes a word of it. */
	record = arena_new(c->arena, struct type);
	fields = arena_array(c->arena, struct type_field, type->field_count + 1);
	if (!record || !fields)
		return false;
	*record = *type;
	record->fields = fields;
	for (i = 0; i < type->field_count; i++) {
		fields[i] = type->fields[i];
		if (fields[i].type->kind == TYPE_RECORD && types_complete(&c->types, fields[i].type) &&
		    fields[i].type->field_count)
			fields[i] = fields[i].type->fields[0];
		fields[i].offset = type->fields[i].offset;
	}
	provider_add(c,
		     (struct attach){.own = arena_strdup(c->arena, name, strlen(name)),
				     .name = arena_printf(c->arena, pin ? "%s:%s:%s" : "%s:%s", self->name, name, pin),
				     .path = !pin          ? NULL
					     : *pin == '/' ? pin
							   : arena_printf(c->arena, PINS "%s", pin),
				     .arguments = record});
	return true;
}

static void expand_iter(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	if (!provider_parts(c, self, point, 1, 2))
		return;
	if (point->part_count > 2 && !*point->parts[2]) {
		report_error(c->report, "iter.pin", point->span, "the file to pin the iterator to is missing");
		report_hint(c->report, "usage: %s", self->usage);
	} else if (provider_has_wildcard(point->parts[1])) {
		report_error(c->report, "iter.wildcard", point->span, "iter probe type does not support wildcards");
		report_hint(c->report, "usage: %s", self->usage);
	} else if (!add(c, self, point->parts[1], point->part_count > 2 ? point->parts[2] : NULL)) {
		report_error(c->report, "iter.unknown", point->span, "iter %s not available for your kernel version.",
			     point->parts[1]);
		report_hint(c->report, "strata trace -l 'iter:*' lists those that there are");
	}
}

struct iter_search {
	struct compiler *c;
	const struct provider *self;
	const char *pattern;
};

static void add_matching(void *context, const char *name)
{
	const struct iter_search *search = context;

	if (provider_matches(search->pattern, name))
		add(search->c, search->self, name, NULL);
}

static void list_iter(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct iter_search search = {c, self, point->part_count > 1 ? point->parts[1] : "*"};

	kernel_types_each_record(&c->types, PREFIX, add_matching, &search);
}

static int configure_iter(struct bpf_program *program, const struct attach *attach, struct diag *diag)
{
	/* libbpf puts "bpf_iter_" before it. */
	int err = bpf_program__set_attach_target(program, 0, attach->own);

	return err ? diag_fail(diag, -err, "attach.btf", "%s cannot be attached: the kernel has no such iterator",
			       attach->name)
		   : 0;
}

static int attach_iter(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
		       const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	int link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL), iterator, err;

	(void)count;
	(void)cookie;
	(void)target;
	if (link < 0)
		return diag_fail(diag, -link, "attach.iter", "%s cannot be attached: %s", attaches->name,
				 strerror(-link));
	err = attachment_keep(&ret->fds, link, diag);
	if (err)
		return err;
	if (attaches->path) {
		err = bpf_obj_pin(link, attaches->path);
		return err ? diag_fail(diag, -err, "attach.pin", "%s cannot be pinned to %s: %s%s", attaches->name,
				       attaches->path, strerror(-err),
				       err == -EEXIST ? "; remove it first"
						      : "; it must be on a mounted bpf file system")
			   : 0;
	}
	iterator = bpf_iter_create(link);
	if (iterator < 0)
		return diag_fail(diag, -iterator, "attach.iter", "%s cannot be read: %s", attaches->name,
				 strerror(-iterator));
	return attachment_keep(&ret->iterators, iterator, diag);
}

const struct provider provider_iter = {
	.name = "iter",
	.aliases = {"it"},
	.context = CONTEXT_ITER,
	.program_type = BPF_PROG_TYPE_TRACING,
	.expected_attach_type = BPF_TRACE_ITER,
	.allows_paths = true,
	.expand = expand_iter,
	.list = list_iter,
	.configure = configure_iter,
	.attach = attach_iter,
	.usage = "iter:NAME[:PIN], as in iter:task",
};
