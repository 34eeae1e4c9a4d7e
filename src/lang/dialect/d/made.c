// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The providers proc, sched and io: each probe is a place of the kernel's own, perhaps with a condition, and has
 * arguments in D's words. A thread is a psinfo_t or an lwpsinfo_t there, a request a bufinfo_t, a devinfo_t and a
 * fileinfo_t: library.c translates them.
 */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/d/d.h"

/*
 * An argument is a letter and the number of the place's own: p: a psinfo_t, and l: an lwpsinfo_t, of a task (P, L: of
 * the current one); b, d, f: a bufinfo_t, devinfo_t, fileinfo_t of the place's struct bio; n: a number; s: text of the
 * process; r: what a system call returns; e: how the process ends.
 */
const struct d_made d_made_probes[] = {
	{"proc", "create", {"rawtracepoint", "sched_process_fork"}, D_WHEN_NEW_PROCESS, {"p1"}},
	{"proc", "lwp-create", {"rawtracepoint", "sched_process_fork"}, D_WHEN_NEW_THREAD, {"l1", "p1"}},
	{"proc", "start", {"tracepoint", "syscalls", "sys_exit_clone"}, D_WHEN_BORN_PROCESS, {}},
	{"proc", "start", {"tracepoint", "syscalls", "sys_exit_clone3"}, D_WHEN_BORN_PROCESS, {}},
	{"proc", "start", {"tracepoint", "syscalls", "sys_exit_fork"}, D_WHEN_BORN_PROCESS, {}},
	{"proc", "start", {"tracepoint", "syscalls", "sys_exit_vfork"}, D_WHEN_BORN_PROCESS, {}},
	{"proc", "lwp-start", {"tracepoint", "syscalls", "sys_exit_clone"}, D_WHEN_BORN, {}},
	{"proc", "lwp-start", {"tracepoint", "syscalls", "sys_exit_clone3"}, D_WHEN_BORN, {}},
	{"proc", "lwp-start", {"tracepoint", "syscalls", "sys_exit_fork"}, D_WHEN_BORN, {}},
	{"proc", "lwp-start", {"tracepoint", "syscalls", "sys_exit_vfork"}, D_WHEN_BORN, {}},
	{"proc", "exec", {"tracepoint", "syscalls", "sys_enter_execve"}, D_WHEN_ALWAYS, {"s0"}},
	{"proc", "exec", {"tracepoint", "syscalls", "sys_enter_execveat"}, D_WHEN_ALWAYS, {"s1"}},
	{"proc", "exec-failure", {"tracepoint", "syscalls", "sys_exit_execve"}, D_WHEN_FAILED, {"r"}},
	{"proc", "exec-failure", {"tracepoint", "syscalls", "sys_exit_execveat"}, D_WHEN_FAILED, {"r"}},
	{"proc", "exec-success", {"rawtracepoint", "sched_process_exec"}, D_WHEN_ALWAYS, {}},
	{"proc", "exit", {"rawtracepoint", "sched_process_exit"}, D_WHEN_LEADER, {"e"}},
	{"proc", "lwp-exit", {"rawtracepoint", "sched_process_exit"}, D_WHEN_ALWAYS, {}},
	{"proc", "signal-send", {"rawtracepoint", "signal_generate"}, D_WHEN_SENT, {"l2", "p2", "n0"}},
	{"proc", "signal-discard", {"rawtracepoint", "signal_generate"}, D_WHEN_DISCARDED, {"l2", "p2", "n0"}},
	{"proc", "signal-handle", {"rawtracepoint", "signal_deliver"}, D_WHEN_ALWAYS, {"n0", "n1", "n2"}},
	{"proc", "signal-clear", {"tracepoint", "syscalls", "sys_exit_rt_sigtimedwait"}, D_WHEN_POSITIVE, {"r"}},
	{"sched", "off-cpu", {"rawtracepoint", "sched_switch"}, D_WHEN_ALWAYS, {"l2", "p2"}},
	/* Since Linux 6.17. */
	{"sched", "on-cpu", {"rawtracepoint", "sched_exit_tp"}, D_WHEN_TRUE, {}},
	{"sched", "surrender", {"tracepoint", "syscalls", "sys_enter_sched_yield"}, D_WHEN_ALWAYS, {"L", "P"}},
	{"sched", "wakeup", {"rawtracepoint", "sched_wakeup"}, D_WHEN_ALWAYS, {"l0", "p0"}},
	{"io", "start", {"rawtracepoint", "block_bio_queue"}, D_WHEN_ALWAYS, {"b", "d", "f"}},
	{"io", "done", {"rawtracepoint", "block_bio_complete"}, D_WHEN_ALWAYS, {"b", "d", "f"}},
	{},
};

static const struct d_made *made_here(const struct compiler *c)
{
	const struct d_state *state = d_state(c);
	uint32_t at = c->unit ? c->unit->first_attach : 0;

	return c->unit && at < state->places.count ? state->places.at[at].made : NULL;
}

static struct node *raw(struct compiler *c, uint64_t number)
{
	struct node *node = d_call(c, CORE_ARGUMENT, &type_int64, (struct span){}, 0);

	if (!c->arena->failed)
		node->value = number;
	return node;
}

/* What a system call returns. */
static struct node *result(struct compiler *c)
{
	return d_argument(c, 0, &(struct d_expr){.kind = D_VARIABLE, .text = "arg0"});
}

static struct node *task_type_of(struct compiler *c, struct node *address)
{
	const struct type *record = types_find(&c->types, "struct task_struct");

	return record ? d_cast(c, address, type_pointer(c->arena, record)) : NULL;
}

/* The task that an argument is about. */
static struct node *task_of(struct compiler *c, const char *argument)
{
	if (*argument == 'P' || *argument == 'L')
		return task_type_of(c, d_call(c, CORE_CURTASK, &type_uint64, (struct span){}, 0));
	return task_type_of(c, raw(c, strtoul(argument + 1, NULL, 10)));
}

static struct node *compared(struct compiler *c, enum op op, struct node *a, struct node *b)
{
	return d_binary(c, op, &type_int32, a, b);
}

static struct node *own(struct compiler *c, enum core_builtin builtin)
{
	return d_call(c, builtin, &type_int32, (struct span){}, 0);
}

struct node *d_made_condition(struct compiler *c)
{
	const struct d_made *made = made_here(c);
	struct node *zero = d_int(c, 0, &type_int64), *task;
	enum op op = OP_EQUAL;

	switch (made ? made->when : D_WHEN_ALWAYS) {
	case D_WHEN_LEADER:
		return compared(c, OP_EQUAL, own(c, CORE_PID), own(c, CORE_TID));
	case D_WHEN_NEW_THREAD:
		op = OP_NOT_EQUAL;
		/* fall through */
	case D_WHEN_NEW_PROCESS:
		task = task_of(c, "p1");
		return task ? compared(c, op, d_field(c, task, "tgid", (struct span){}),
				       d_field(c, task, "pid", (struct span){}))
			    : NULL;
	case D_WHEN_BORN:
		return compared(c, OP_EQUAL, result(c), zero);
	case D_WHEN_BORN_PROCESS:
		return compared(c, OP_LOGICAL_AND, compared(c, OP_EQUAL, result(c), zero),
				compared(c, OP_EQUAL, own(c, CORE_PID), own(c, CORE_TID)));
	case D_WHEN_FAILED:
		return compared(c, OP_LESS, result(c), zero);
	case D_WHEN_POSITIVE:
		return compared(c, OP_GREATER, result(c), zero);
	case D_WHEN_TRUE:
		return compared(c, OP_NOT_EQUAL, d_binary(c, OP_AND, &type_int64, raw(c, 0), d_int(c, 1, &type_int64)),
				zero);
	case D_WHEN_SENT:
		return compared(c, OP_NOT_EQUAL, d_cast(c, raw(c, 4), &type_int32), d_int(c, 1, &type_int32));
	case D_WHEN_DISCARDED:
		return compared(c, OP_EQUAL, d_cast(c, raw(c, 4), &type_int32), d_int(c, 1, &type_int32));
	default:
		return NULL;
	}
}

/* CLD_EXITED, CLD_KILLED or CLD_DUMPED, by the status as wait() gives it. */
static struct node *reason(struct compiler *c)
{
	struct node *task = task_of(c, "P"), *status, *killed, *ret;

	if (!task)
		return NULL;
	status = d_field(c, task, "exit_code", (struct span){});
	killed = node_create(c->arena, NODE_TERNARY, (struct span){}, 3);
	ret = node_create(c->arena, NODE_TERNARY, (struct span){}, 3);
	if (c->arena->failed)
		return ret;
	killed->kids[0] = d_binary(c, OP_AND, &type_int32, status, d_int(c, 0x80, &type_int32));
	killed->kids[1] = d_int(c, 3, &type_int32);
	killed->kids[2] = d_int(c, 2, &type_int32);
	ret->kids[0] = d_binary(c, OP_AND, &type_int32, status, d_int(c, 0xff, &type_int32));
	ret->kids[1] = killed;
	ret->kids[2] = d_int(c, 1, &type_int32);
	killed->type = ret->type = &type_int32;
	return ret;
}

static const char *argument_of(const struct d_made *made, uint32_t number)
{
	return number < D_MADE_ARGUMENTS ? made->arguments[number] : NULL;
}

/* The place's argument that is a struct bio: before Linux 5.12, block_bio_queue has a queue in front of it. */
static struct node *bio(struct compiler *c, const struct d_expr *expr)
{
	const struct type *arguments = compiler_attach(c)->arguments;
	uint32_t i;

	for (i = 0; arguments && i < arguments->field_count; i++) {
		const struct type *type = arguments->fields[i].type;

		if (type->kind == TYPE_POINTER && type->to->name && !strcmp(type->to->name, "bio"))
			return raw(c, i);
	}
	report_error(c->report, "D_TYPE_ERR", expr->span, "%s: this kernel does not tell its types", expr->text);
	return d_int(c, 0, &type_int64);
}

struct node *d_made_argument(struct compiler *c, uint32_t number, const struct d_expr *expr, bool is_typed)
{
	const struct d_made *made = made_here(c);
	const char *argument = made ? argument_of(made, number) : NULL;
	struct d_expr own_number = *expr;
	struct node *node = NULL;

	if (!made)
		return NULL;
	if (!argument && is_typed) {
		report_error(c->report, "D_ARGS_IDX", expr->span, "index %u is out of range for %s:vmlinux::%s args[ ]",
			     number, made->provider, made->name);
		return d_int(c, 0, &type_int64);
	}
	if (!argument)
		return d_int(c, 0, &type_int64);
	switch (*argument) {
	case 'n':
		node = raw(c, strtoul(argument + 1, NULL, 10));
		return number == 1 || number == 2 ? (argument[1] == '0' ? d_cast(c, node, &type_int32) : node)
						  : d_cast(c, node, &type_int32);
	case 'b':
	case 'd':
	case 'f':
		return number ? d_int(c, 0, &type_int64) : bio(c, expr);
	case 'r':
		return d_cast(c, result(c), &type_int32);
	case 'e':
		node = reason(c);
		break;
	case 's':
		own_number.text = "arg";
		node = d_argument(c, (uint32_t)strtoul(argument + 1, NULL, 10), &own_number);
		if (is_typed) {
			struct node *text = d_call(c, CORE_STR, d_string_type(c), expr->span, 1);

			if (!c->arena->failed)
				text->kids[0] = d_cast(c, node, &type_uint64);
			return text;
		}
		break;
	default:
		node = task_of(c, argument);
		return node ? d_cast(c, node, &type_uint64) : d_int(c, 0, &type_uint64);
	}
	return node ? node : d_int(c, 0, &type_int64);
}

/* --- members --- */

static struct node *of_curcpu(struct compiler *c, const struct d_expr *expr)
{
	struct d_expr name = *expr;

	name.kind = D_VARIABLE;
	name.scope = D_GLOBAL;
	name.kid_count = 0;
	if (!strncmp(expr->text, "cpu_", 4)) {
		name.text = expr->text + 4;
		if (!strcmp(name.text, "id"))
			return d_call(c, CORE_CPU, &type_int32, expr->span, 0);
		if (!strcmp(name.text, "chip") || !strcmp(name.text, "pset") || !strcmp(name.text, "lgrp"))
			return d_of_cpu(c, &name);
	}
	report_error(c->report, "D_TYPE_MEMBER", expr->span, "%s is not a member of struct cpuinfo", expr->text);
	return d_int(c, 0, &type_int32);
}

/* A pointer to a cpuinfo_t, which is in the clause's scratch memory. */
struct node *d_curcpu(struct compiler *c, const struct d_expr *expr)
{
	static const char *const members[] = {"cpu_id", "cpu_chip", "cpu_pset", "cpu_lgrp"};
	const struct type *record = d_type(c, "cpuinfo_t", expr->span);
	struct symbol *symbol = d_local(c, type_pointer(c->arena, record));
	struct node *block = node_create(c->arena, NODE_BLOCK_VALUE, expr->span, 6);
	struct d_expr name = *expr;
	uint32_t i;

	if (c->arena->failed || !symbol)
		return d_int(c, 0, &type_int32);
	block->kids[0] = node_create(c->arena, NODE_LET, expr->span, 1);
	for (i = 0; i < 4; i++)
		block->kids[i + 1] = node_create(c->arena, NODE_ASSIGN, expr->span, 2);
	if (c->arena->failed)
		return block;
	block->kids[0]->symbol = symbol;
	block->kids[0]->kids[0] =
		d_cast(c, d_scratch(c, d_int(c, record->size, &type_uint64), expr->span), symbol->type);
	for (i = 0; i < 4; i++) {
		name.text = members[i];
		block->kids[i + 1]->kids[0] = d_field(c, d_variable_node(c, symbol), members[i], expr->span);
		block->kids[i + 1]->kids[1] = of_curcpu(c, &name);
	}
	block->kids[5] = d_variable_node(c, symbol);
	block->type = symbol->type;
	return block;
}

/* pr_psargs of the process in which the clause runs, whose memory can be read. As in psinfo_t, 79 characters. */
static struct node *arguments_of(struct compiler *c, struct node *task, struct span span)
{
	struct node *memory = d_field(c, task, "mm", span), *begin = d_field(c, memory, "arg_start", span),
		    *end = d_field(c, memory, "arg_end", span);
	struct node *node = node_create(c->arena, NODE_CALL, span, 2);

	if (c->arena->failed || c->report->errors)
		return node;
	node->builtin = CORE_WORDS;
	node->type = type_string(c->arena, 80);
	node->kids[0] = begin;
	node->kids[1] = d_binary(c, OP_SUB, &type_uint64, end, begin);
	return d_cast(c, node, d_string_type(c));
}

/* fds[N]: the open file of this number, which takes the place of the 0s. */
static struct d_expr *open_file(struct compiler *c, const struct d_expr *number, struct span span)
{
	static const char ask[] = "0 >= 0 && 0 < (int)curthread->files->fdt->max_fds ? 0 : (struct file *)0";
	struct d_expr *file = d_library_expression(c, "curthread->files->fdt->fd[0]", span),
		      *ret = d_library_expression(c, ask, span);
	struct d_expr *own = (struct d_expr *)(uintptr_t)number;

	if (c->report->errors || c->arena->failed)
		return ret;
	file->kids[1] = own;
	ret->kids[0]->kids[0]->kids[0] = ret->kids[0]->kids[1]->kids[0] = own;
	ret->kids[1] = file;
	return ret;
}

/* The argument of the place that this is; NULL: none that is translated. */
static const char *translated_argument(struct compiler *c, const struct d_expr *of, int64_t *number)
{
	const struct d_made *made = made_here(c);
	const char *ret = NULL;

	if (made && of->kind == D_INDEX && of->kids[0]->kind == D_VARIABLE && !strcmp(of->kids[0]->text, "args") &&
	    d_constant(c, of->kids[1], number) && *number >= 0 && *number < D_MADE_ARGUMENTS)
		ret = argument_of(made, (uint32_t)*number);
	return ret && strchr("pPlLbdf", *ret) ? ret : NULL;
}

static const char *type_told(const char *argument)
{
	switch (*argument) {
	case 'p':
	case 'P':
		return "psinfo_t *";
	case 'l':
	case 'L':
		return "lwpsinfo_t *";
	case 'b':
		return "bufinfo_t *";
	case 'd':
		return "devinfo_t *";
	case 'f':
		return "fileinfo_t *";
	case 's':
		return "string";
	default:
		return "int";
	}
}

struct node *d_translated(struct compiler *c, const struct d_expr *expr)
{
	const struct d_expr *of = expr->kids[0];
	struct d_expr xlate = {.kind = D_XLATE, .span = expr->span, .kid_count = 1}, member = *expr, *value = NULL,
		      *kids[2] = {&xlate, NULL};
	const char *argument, *type;
	char text[64];
	int64_t number;

	argument = translated_argument(c, of, &number);
	if (of->kind == D_VARIABLE && of->scope == D_GLOBAL && !d_variable_find(c, D_GLOBAL, of->text, false)) {
		if (!strcmp(of->text, "curcpu"))
			return of_curcpu(c, expr);
		argument = !strcmp(of->text, "curpsinfo") ? "P" : !strcmp(of->text, "curlwpsinfo") ? "L" : NULL;
		if (!strcmp(of->text, "fds") && of->kid_count == 1) {
			value = open_file(c, of->kids[0], expr->span);
			argument = "f";
		}
	}
	if (!argument)
		return NULL;
	type = type_told(argument);
	if (*argument == 'P' && !strcmp(expr->text, "pr_psargs")) {
		struct node *task = task_of(c, argument);

		return task ? arguments_of(c, task, expr->span) : d_int(c, 0, &type_int32);
	}
	snprintf(text, sizeof(text), strchr("bdf", *argument) ? "(struct bio *)arg0" : "(struct task_struct *)arg%d",
		 (int)number);
	if (of->kind == D_VARIABLE)
		snprintf(text, sizeof(text), "curthread");
	kids[1] = value ? value : d_library_expression(c, text, expr->span);
	xlate.kids = kids + 1;
	xlate.type_name.type = d_type(c, arena_strdup(c->arena, type, strlen(type) - 2), expr->span);
	member.kids = kids;
	return c->report->errors || c->arena->failed ? d_int(c, 0, &type_int32) : d_translated_member(c, &member);
}

/* --- what else D's libraries make of this --- */

/* The package that all CPUs are in; -1: they are in several, or that is not known. */
static int64_t package(void)
{
	char path[96];
	int64_t ret = -1;
	int cpu, number;

	for (cpu = 0;; cpu++) {
		FILE *file;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
		file = fopen(path, "re");
		if (!file)
			return ret;
		if (fscanf(file, "%d", &number) != 1)
			number = -1;
		fclose(file);
		if (cpu && number != ret)
			return -1;
		ret = number;
	}
}

struct node *d_of_cpu(struct compiler *c, const struct d_expr *expr)
{
	int64_t number = 0;

	if (!strcmp(expr->text, "chip")) {
		number = package();
		if (number < 0) {
			report_error(c->report, "D_IDENT_UNDEF", expr->span,
				     "chip: which CPU is in which is not known");
			number = 0;
		}
	} else if (strcmp(expr->text, "pset") != 0 && strcmp(expr->text, "lgrp") != 0) {
		return NULL;
	}
	return d_int(c, number, &type_int32);
}

void d_made_tell(const struct d_made *made, FILE *out)
{
	uint32_t i;

	fputs("\n\tProbe Description Attributes\n\t\tIdentifier Names: Private\n\t\tData Semantics:   Private\n"
	      "\t\tDependency Class: Unknown\n\n\tArgument Attributes\n\t\tIdentifier Names: Evolving\n"
	      "\t\tData Semantics:   Evolving\n\t\tDependency Class: ISA\n\n\tArgument Types\n",
	      out);
	for (i = 0; i < D_MADE_ARGUMENTS && made->arguments[i]; i++)
		fprintf(out, "\t\targs[%u]: %s\n", i, type_told(made->arguments[i]));
	fputs(i ? "\n" : "\t\tNone\n\n", out);
}
