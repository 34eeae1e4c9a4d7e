// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The providers proc, sched and io: each probe is a place of the kernel's own, perhaps with a condition, and has
 * arguments in D's words. A thread is a psinfo_t or an lwpsinfo_t there: their members are found in its task_struct.
 */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/d/d.h"

/*
 * An argument is a letter and the number of the place's own: p: a psinfo_t, and l: an lwpsinfo_t, of a task (P, L: of
 * the current one); n: a number; s: text of the process; r: what a system call returns; e: how
 * the process ends.
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
	{"io", "start", {"tracepoint", "block", "block_bio_queue"}, D_WHEN_ALWAYS, {}},
	{"io", "done", {"tracepoint", "block", "block_bio_complete"}, D_WHEN_ALWAYS, {}},
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

struct node *d_made_argument(struct compiler *c, uint32_t number, const struct d_expr *expr, bool is_typed)
{
	const struct d_made *made = made_here(c);
	const char *argument = made ? argument_of(made, number) : NULL;
	struct d_expr own_number = *expr;
	struct node *node = NULL;

	if (!made || !strcmp(made->provider, "io"))
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

static const struct member {
	char kind; /* p: psinfo_t, l: lwpsinfo_t */
	const char *name, *path;
} members[] = {
	{'p', "pr_pid", "tgid"},
	{'p', "pr_ppid", "real_parent.tgid"},
	{'p', "pr_pgid", "signal.pids.2.numbers.0.nr"},
	{'p', "pr_sid", "signal.pids.3.numbers.0.nr"},
	{'p', "pr_uid", "cred.uid.val"},
	{'p', "pr_euid", "cred.euid.val"},
	{'p', "pr_gid", "cred.gid.val"},
	{'p', "pr_egid", "cred.egid.val"},
	{'p', "pr_fname", "comm"},
	{'p', "pr_addr", ""},
	{'l', "pr_lwpid", "pid"},
	{'l', "pr_pri", "prio"},
	{'l', "pr_name", "comm"},
	{'l', "pr_onpro", "thread_info.cpu"},
	{'l', "pr_addr", ""},
};

static const struct {
	char kind;
	const char *name;
	int64_t value;
} fixed[] = {
	{'p', "pr_nlwp", 1},   {'p', "pr_wstat", 0}, {'p', "pr_dmodel", 2}, {'p', "pr_taskid", 0},
	{'p', "pr_projid", 0}, {'p', "pr_nzomb", 0}, {'p', "pr_poolid", 0}, {'p', "pr_zoneid", 0},
	{'p', "pr_contract", 0}, {'l', "pr_wchan", 0}, {'l', "pr_stype", 0},
};

static struct node *element(struct compiler *c, struct node *of, int64_t index)
{
	struct node *node = node_create(c->arena, NODE_INDEX, of->span, 2);

	if (c->arena->failed || (of->type->kind != TYPE_ARRAY && of->type->kind != TYPE_POINTER))
		return node;
	node->kids[0] = of;
	node->kids[1] = d_int(c, index, &type_int64);
	node->type = of->type->to;
	return node;
}

static struct node *along(struct compiler *c, struct node *node, const char *path, struct span span)
{
	for (; *path && !c->report->errors && !c->arena->failed;) {
		size_t length = strcspn(path, ".");
		char *name = arena_strdup(c->arena, path, length);

		if (name && *name >= '0' && *name <= '9')
			node = element(c, node, *name - '0');
		else if (name)
			node = d_field(c, node, name, span);
		path += length + (path[length] == '.');
	}
	return node;
}

/* The letter of a thread's state, or its number, by the first bit that is set. */
static struct node *state_of_task(struct compiler *c, struct node *task, bool is_letter, struct span span)
{
	static const struct {
		int bits;
		char letter;
		int number;
	} states[] = {{0x300, 'W', 7}, {0xb0, 'Z', 3}, {0x0c, 'T', 4}, {0x03, 'S', 1}};
	struct node *ret = d_int(c, is_letter ? 'R' : 2, is_letter ? &type_int8 : &type_int32);
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct node *choice = node_create(c->arena, NODE_TERNARY, span, 3);

		if (c->arena->failed)
			return choice;
		choice->kids[0] =
			d_binary(c, OP_AND, &type_int32, d_cast(c, d_field(c, task, "__state", span), &type_int32),
				 d_int(c, states[i].bits, &type_int32));
		choice->kids[1] = d_int(c, is_letter ? states[i].letter : states[i].number, ret->type);
		choice->kids[2] = ret;
		choice->type = ret->type;
		ret = choice;
	}
	return ret;
}

static struct node *stopped(struct compiler *c, struct node *task, struct span span)
{
	return d_binary(c, OP_SHIFT_RIGHT, &type_int32,
			d_binary(c, OP_AND, &type_int32, d_cast(c, d_field(c, task, "__state", span), &type_int32),
				 d_int(c, 4, &type_int32)),
			d_int(c, 2, &type_int64));
}

static struct node *member_of(struct compiler *c, char kind, struct node *task, const struct d_expr *expr)
{
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].kind == kind && !strcmp(fixed[i].name, expr->text))
			return d_int(c, fixed[i].value, &type_int32);
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		struct node *node;

		if (members[i].kind != kind || strcmp(members[i].name, expr->text) != 0)
			continue;
		node = along(c, task, members[i].path, expr->span);
		if (!*members[i].path)
			node = d_cast(c, node, &type_uint64);
		return node->type->kind == TYPE_STRING ? d_cast(c, node, d_string_type(c)) : node;
	}
	if (kind == 'l' && (!strcmp(expr->text, "pr_state") || !strcmp(expr->text, "pr_sname")))
		return state_of_task(c, task, !strcmp(expr->text, "pr_sname"), expr->span);
	if (kind == 'l' && !strcmp(expr->text, "pr_flag"))
		return stopped(c, task, expr->span);
	report_error(c->report, "D_XLATE_NOCONV", expr->span, "translator does not define conversion for member: %s",
		     expr->text);
	return d_int(c, 0, &type_int32);
}

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

/* pr_psargs of the process in which the clause runs, whose memory can be read. As in psinfo_t, 79 characters. */
static struct node *arguments_of(struct compiler *c, struct node *task, struct span span)
{
	struct node *begin = along(c, task, "mm.arg_start", span), *end = along(c, task, "mm.arg_end", span);
	struct node *node = node_create(c->arena, NODE_CALL, span, 2);

	if (c->arena->failed || c->report->errors)
		return node;
	node->builtin = CORE_WORDS;
	node->type = type_string(c->arena, 80);
	node->kids[0] = begin;
	node->kids[1] = d_binary(c, OP_SUB, &type_uint64, end, begin);
	return d_cast(c, node, d_string_type(c));
}

struct node *d_translated(struct compiler *c, const struct d_expr *expr)
{
	const struct d_expr *of = expr->kids[0];
	const struct d_made *made = made_here(c);
	const char *argument = NULL;
	struct node *task;
	int64_t number;

	if (of->kind == D_VARIABLE && of->scope == D_GLOBAL && !strcmp(of->text, "curpsinfo")) {
		argument = "P";
	} else if (of->kind == D_VARIABLE && of->scope == D_GLOBAL && !strcmp(of->text, "curlwpsinfo")) {
		argument = "L";
	} else if (of->kind == D_VARIABLE && of->scope == D_GLOBAL && !strcmp(of->text, "curcpu")) {
		return of_curcpu(c, expr);
	} else if (made && of->kind == D_INDEX && of->kids[0]->kind == D_VARIABLE &&
		   !strcmp(of->kids[0]->text, "args") && d_constant(c, of->kids[1], &number) && number >= 0 &&
		   number < D_MADE_ARGUMENTS) {
		argument = argument_of(made, (uint32_t)number);
	}
	if (!argument || !strchr("pPlL", *argument))
		return NULL;
	task = task_of(c, argument);
	if (task && *argument == 'P' && !strcmp(expr->text, "pr_psargs"))
		return arguments_of(c, task, expr->span);
	if (task)
		return member_of(c, *argument | 32, task, expr);
	report_error(c->report, "D_TYPE_ERR", expr->span, "%s: this kernel does not tell its types", expr->text);
	return d_int(c, 0, &type_int32);
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

static const char *type_told(const char *argument)
{
	switch (*argument) {
	case 'p':
	case 'P':
		return "psinfo_t *";
	case 'l':
	case 'L':
		return "lwpsinfo_t *";
	case 's':
		return "string";
	default:
		return "int";
	}
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
