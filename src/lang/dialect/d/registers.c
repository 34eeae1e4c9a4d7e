// SPDX-License-Identifier: GPL-2.0-or-later
/* uregs[]: the registers of the current thread in its program, as the kernel saved them. */
#include <string.h>

#include "arch/arch.h"
#include "lang/dialect/d/d.h"

bool d_register_named(const char *name, int64_t *ret)
{
	const struct arch_saved *one;

	for (one = arch_here()->saved; one->name; one++)
		if (!strcmp(one->name, name)) {
			*ret = one->number;
			return true;
		}
	return false;
}

static const struct arch_saved *numbered(int64_t number)
{
	const struct arch_saved *one = arch_here()->saved;

	while (one->name && one->number != number)
		one++;
	return one->name ? one : NULL;
}

/* One that is in curthread->thread. */
static struct node *member(struct compiler *c, const char *name, struct span span)
{
	const struct type *record = types_find(&c->types, "struct task_struct");
	struct node *task;

	if (!record) {
		report_error(c->report, "D_TYPE_ERR", span, "uregs[]: this kernel does not tell its types");
		return d_int(c, 0, &type_uint64);
	}
	task = d_call(c, CORE_CURTASK, type_pointer(c->arena, record), span, 0);
	return d_cast(c, d_field(c, d_field(c, task, "thread", span), name, span), &type_uint64);
}

struct node *d_registers(struct compiler *c, const struct d_expr *expr)
{
	const struct arch_saved *one;
	struct node *node;
	int64_t number;

	if (!d_constant(c, expr->kids[1], &number)) {
		node = d_value(c, expr->kids[1]);
		if (!c->report->errors)
			report_error(c->report, "D_PROTO_ARG", expr->span,
				     "uregs[ ] argument #1 is incompatible with prototype:\n"
				     "\tprototype: integer constant\n\t argument: %s",
				     d_type_name(c, node->type));
		return d_int(c, 0, &type_uint64);
	}
	one = numbered(number);
	if (!one) {
		report_error(c->report, "D_UNKNOWN", expr->span, "uregs[]: index out of bounds (%lld)",
			     (long long)number);
		return d_int(c, 0, &type_uint64);
	}
	if (one->member)
		return member(c, one->member, expr->span);
	node = d_call(c, CORE_SAVED, &type_uint64, expr->span, 0);
	if (!c->arena->failed)
		node->value = 8 * (uint64_t)number;
	return node;
}
