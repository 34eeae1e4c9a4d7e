// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's variables, `name or module`name. Addresses are those of /proc/kallsyms. The kernel's BTF does not tell
 * the types of its variables: those that scripts use most stand here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/d/d.h"

static const struct known {
	const char *name, *type;
	uint32_t stars, count; /* count: of an array; its end is where a string ends */
} known[] = {
	{"bpf_verifier_lock", "struct mutex", 0, 0},
	{"cad_pid", "struct pid", 1, 0},
	{"cgrp_dfl_root", "struct cgroup_root", 0, 0},
	{"crashing_cpu", "int32_t", 0, 0},
	{"init_task", "struct task_struct", 0, 0},
	{"jiffies", "uint64_t", 0, 0},
	{"linux_banner", "char", 0, 256},
	{"linux_proc_banner", "char", 0, 256},
	{"max_pfn", "uint64_t", 0, 0},
	{"min_low_pfn", "uint64_t", 0, 0},
	{"modules", "struct list_head", 0, 0},
	{"nr_cpu_ids", "uint32_t", 0, 0},
	{"saved_command_line", "char", 1, 0},
	{"tasklist_lock", "rwlock_t", 0, 0},
};

/* 0: there is none of this name, or addresses are not told. */
static uint64_t address_of(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char *line = NULL, *at;
	uint64_t ret = 0, address;
	size_t room = 0;

	while (file && !ret && getline(&line, &room, file) > 0) {
		address = strtoull(line, &at, 16);
		if (*at != ' ' || !at[1] || at[2] != ' ' || !strchr("bBdDrR", at[1]))
			continue;
		at += 3;
		at[strcspn(at, "\t\n")] = '\0';
		if (!strcmp(at, name))
			ret = address;
	}
	free(line);
	if (file)
		fclose(file);
	return ret;
}

#define DATA_MAX (1u << 20) /* bytes of a variable, at most */

/* Scripts seldom name data: so the file is read each time. */
char *d_kernel_data(uint64_t address, uint64_t *ret)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char *line = NULL, *at, *name = NULL;
	uint64_t best = 0, one;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		one = strtoull(line, &at, 16);
		if (*at != ' ' || !at[1] || at[2] != ' ' || one > address || one < best || (one == best && name))
			continue;
		free(name);
		name = strchr("bBdDrR", at[1]) ? strndup(at + 3, strcspn(at + 3, "\t\n")) : NULL;
		best = one;
	}
	free(line);
	if (file)
		fclose(file);
	*ret = address - best;
	if (*ret < DATA_MAX)
		return name;
	free(name);
	return NULL;
}

struct node *d_kernel_variable(struct compiler *c, const struct d_expr *expr)
{
	const char *name = strrchr(expr->text, '`') + 1;
	const struct known *row = known;
	const struct type *type;
	struct node *node;
	uint64_t address;
	uint32_t i;

	while (row < known + sizeof(known) / sizeof(known[0]) && strcmp(row->name, name) != 0)
		row++;
	address = row < known + sizeof(known) / sizeof(known[0]) ? address_of(name) : 0;
	if (!address) {
		if (!c->report->errors) {
			report_error(c->report, "D_IDENT_UNDEF", expr->span,
				     "failed to resolve %s: Unknown symbol name", expr->text);
			report_hint(c->report, "the kernel tells the types of its functions and structs, not of this "
					       "variable; docs/D.md has those that are known");
		}
		return d_int(c, 0, &type_int32);
	}
	type = d_type(c, row->type, expr->span);
	for (i = 0; i < row->stars; i++)
		type = type_pointer(c->arena, type);
	if (row->count)
		type = type_array(c->arena, type, row->count);
	node = node_create(c->arena, NODE_UNARY, expr->span, 1);
	if (c->arena->failed)
		return node;
	node->op = OP_DEREFERENCE;
	node->type = type;
	node->kids[0] = d_int(c, (int64_t)address, type_pointer(c->arena, type));
	return node;
}
