// SPDX-License-Identifier: GPL-2.0-or-later
/* D's expressions and variables in bpftrace's language. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/d/translate.h"

enum { LEVEL_TERNARY = 1, LEVEL_OR = 2, LEVEL_UNARY = 20, LEVEL_POSTFIX = 21 };

#define DEPTH_MAX 1000

static const char *print(struct d_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *print(struct d_writer *w, const char *format, ...)
{
	va_list arguments;
	char *made = NULL, *text = NULL;
	int size;

	va_start(arguments, format);
	size = vasprintf(&made, format, arguments);
	va_end(arguments);
	if (size >= 0)
		text = arena_strdup(w->c->arena, made, (size_t)size);
	free(made);
	if (!text)
		w->c->arena->failed = true;
	return text ? text : "";
}

static const char *wrapped(struct d_writer *w, const char *text, int own, int level)
{
	return own < level ? print(w, "(%s)", text) : text;
}

const char *d_unsaid(struct d_writer *w, bool is_text, const char *what, const char *why)
{
	translate_mark(w->t, what, "%s", why);
	return is_text ? "\"\"" : "0";
}

/* --- what is known of variables --- */

struct d_use *d_use_of(const struct d_writer *w, enum d_scope scope, const char *name, bool is_aggregation)
{
	size_t i;

	for (i = 0; i < w->uses.count; i++) {
		struct d_use *use = &w->uses.at[i];

		if (use->scope == scope && use->is_aggregation == is_aggregation && !strcmp(use->name, name))
			return use;
	}
	return NULL;
}

static struct d_use *use_made(struct d_writer *w, enum d_scope scope, const char *name, bool is_aggregation)
{
	struct d_use *use = d_use_of(w, scope, name, is_aggregation);

	if (use)
		return use;
	if (vec_push(&w->uses, (struct d_use){.scope = scope, .name = name, .is_aggregation = is_aggregation})) {
		w->c->arena->failed = true;
		return NULL;
	}
	return &w->uses.at[w->uses.count - 1];
}

static bool is_zero(const struct d_expr *expr)
{
	return (expr->kind == D_INT && !expr->value) || (expr->kind == D_VARIABLE && !strcmp(expr->text, "NULL"));
}

static bool is_member_text(const char *name)
{
	return !strcmp(name, "pr_fname") || !strcmp(name, "pr_psargs") || !strcmp(name, "comm");
}

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

bool d_is_text(const struct d_writer *w, const struct d_expr *expr)
{
	static const char *const variables[] = {"execname", "probeprov", "probemod", "probefunc", "probename", "cwd",
						"root",     "zonename",  NULL};
	static const char *const functions[] = {"copyinstr", "stringof", "strjoin",   "substr",      "basename",
						"dirname",   "strchr",   "strrchr",   "strstr",      "strtok",
						"lltostr",   "d_path",   "cleanpath", "inet_ntoa",   "inet_ntoa6",
						"inet_ntop", "string",   "link_ntop", "ddi_pathname", NULL};
	const struct d_use *use;

	switch (expr->kind) {
	case D_STRING:
		return true;
	case D_VARIABLE:
		use = d_use_of(w, expr->scope, expr->text, false);
		return use ? use->is_text : expr->scope == D_GLOBAL && is_one_of(variables, expr->text);
	case D_CALL:
		return is_one_of(functions, expr->text);
	case D_TERNARY:
	case D_ASSIGN:
	case D_COMMA:
		return d_is_text(w, expr->kids[1]);
	case D_MEMBER:
		return is_member_text(expr->text);
	case D_CAST:
		return expr->type_name.type && expr->type_name.type->kind == TYPE_STRING;
	default:
		return false;
	}
}

static void learn_assignment(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_expr *target = expr->kids[0], *value = expr->kids[1];
	bool is_aggregation = target->kind == D_AGGREGATION;
	struct d_use *use;

	if (target->kind != D_VARIABLE && !is_aggregation)
		return;
	use = use_made(w, is_aggregation ? D_GLOBAL : target->scope, target->text, is_aggregation);
	if (!use)
		return;
	if (is_aggregation) {
		if (value->kind == D_CALL && !use->function)
			use->function = value->text;
		use->key_count = target->kid_count;
		return;
	}
	if (!strcmp(expr->text, "=") && is_zero(value) && (target->scope == D_SELF || target->kid_count))
		return;
	use->is_text |= !strcmp(expr->text, "=") && d_is_text(w, value);
	use->is_assigned = true;
	use->is_scalar |= !target->kid_count;
	use->is_array = !use->is_scalar;
}

/* In the order of evaluation. `known`: this-> variables that the clause has assigned; NULL: not wanted. */
static void walk(struct d_writer *w, const struct d_expr *expr, uint32_t depth)
{
	const struct d_expr *target;
	struct d_use *use;
	uint32_t i;

	if (!expr || depth > DEPTH_MAX)
		return;
	if (expr->kind == D_VARIABLE && expr->scope == D_THIS) {
		for (i = 0; i < w->declared.count && strcmp(w->declared.at[i], expr->text) != 0;)
			i++;
		use = i == w->declared.count ? use_made(w, D_THIS, expr->text, false) : NULL;
		if (use)
			use->is_carried = true;
	}
	if (expr->kind == D_CALL && !strcmp(expr->text, "printa"))
		for (i = 0; i < expr->kid_count; i++)
			if (expr->kids[i]->kind == D_AGGREGATION &&
			    (use = use_made(w, D_GLOBAL, expr->kids[i]->text, true)))
				use->is_printed = true;
	if (expr->kind == D_ASSIGN) {
		target = expr->kids[0];
		walk(w, expr->kids[1], depth + 1);
		for (i = 0; i < target->kid_count; i++)
			walk(w, target->kids[i], depth + 1);
		learn_assignment(w, expr);
		if (target->kind == D_VARIABLE && target->scope == D_THIS && !strcmp(expr->text, "="))
			w->c->arena->failed |= vec_push(&w->declared, target->text) != 0;
		else if (target->kind == D_VARIABLE)
			walk(w, target, depth + 1);
		return;
	}
	if (expr->kind == D_STEP && expr->kids[0]->kind == D_VARIABLE &&
	    (use = use_made(w, expr->kids[0]->scope, expr->kids[0]->text, false))) {
		use->is_assigned = true;
		use->is_array |= expr->kids[0]->kid_count > 0;
	}
	for (i = 0; i < expr->kid_count; i++)
		walk(w, expr->kids[i], depth + 1);
}

void d_find_uses(struct d_writer *w)
{
	const struct d_state *state = d_state(w->c);
	size_t i, round;

	for (i = 0; i < state->declarations.count; i++) {
		const struct d_declaration *one = &state->declarations.at[i];
		struct d_use *use = use_made(w, one->scope, one->name, false);

		if (!use)
			return;
		use->is_text = one->type && one->type->kind == TYPE_STRING;
		use->constant = one->value ? one : NULL;
		use->is_array = one->is_array;
	}
	/* A text may come from a variable that is assigned further down. */
	for (round = 0; round < 3; round++)
		for (i = 0; i < state->clauses.count; i++) {
			w->declared.count = 0;
			walk(w, state->clauses.at[i].predicate, 0);
			walk(w, state->clauses.at[i].body, 0);
		}
	w->declared.count = 0;
}

/* --- variables --- */

static const char *keys(struct d_writer *w, const struct d_expr *expr, const char *first)
{
	const char *text = first;
	uint32_t i;

	for (i = 0; i < expr->kid_count; i++)
		text = print(w, "%s%s%s", text, *text ? ", " : "", d_write(w, expr->kids[i], LEVEL_TERNARY));
	return *text ? print(w, "[%s]", text) : "";
}

const char *d_write_map(struct d_writer *w, const struct d_use *use)
{
	const char *name = !strcmp(use->name, "_") ? "" : use->name;

	if (!use->is_aggregation && use->scope == D_SELF)
		name = print(w, "self_%s", name);
	else if (!use->is_aggregation && use->scope == D_THIS)
		name = print(w, "this_%s", name);
	return print(w, "@%s", translate_name(w->t, print(w, "%s%d %s", use->is_aggregation ? "@" : "", use->scope,
							  use->name),
					      name));
}

const char *d_write_place(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_use *use = d_use_of(w, expr->kind == D_AGGREGATION ? D_GLOBAL : expr->scope, expr->text,
					   expr->kind == D_AGGREGATION);
	bool is_of_thread = expr->kind == D_VARIABLE && expr->scope != D_GLOBAL;

	if (!use)
		return "0";
	if (expr->kind == D_VARIABLE && expr->scope == D_THIS && !use->is_carried && !expr->kid_count)
		return print(w, "$%s", expr->text);
	if (expr->kind == D_VARIABLE && expr->scope == D_THIS)
		translate_mark(w->t, print(w, "this->%s", expr->text),
			       "one clause hands it on to the next: here it is kept until it is assigned again");
	return print(w, "%s%s", d_write_map(w, use), keys(w, expr, is_of_thread ? "tid" : ""));
}

static const char *probe_part(struct d_writer *w, uint32_t part, const char *name)
{
	const struct d_target *target = w->target;

	if (target && target->parts[part])
		return translate_quoted(w->t, target->parts[part]);
	if (target && part == 2 && target->function)
		return target->function;
	translate_mark(w->t, name, "it differs between the places of this probe: `probe` has bpftrace's own words");
	return "probe";
}

static const char *argument(struct d_writer *w, uint32_t number)
{
	const struct d_target *target = w->target;
	const char *what = print(w, "arg%u", number), *field;

	switch (target ? target->site : SITE_NOTHING) {
	case SITE_NOTHING:
		return "0";
	case SITE_ENTRY:
		field = d_syscall_field(w, number);
		if (field)
			return print(w, "args.%s", field);
		return d_unsaid(w, false, what, "the kernel's tracepoints have no such argument, or it differs between "
						"the system calls: give each its own probe");
	case SITE_RAW_ENTRY:
		return number < 6 ? print(w, "args.args[%u]", number) : "0";
	case SITE_RETURN:
	case SITE_RAW_RETURN:
		return number < 2 ? "args.ret" : "0";
	case SITE_FUNCTION:
		return print(w, "arg%u", number);
	case SITE_FUNCTION_RETURN:
		return number == 1 ? "retval" : d_unsaid(w, false, what, "where the function returns is not told");
	default:
		return d_unsaid(w, false, what, "it is made by DTrace's translators: bpftrace has the tracepoint's own "
						"`args`");
	}
}

static const char *builtin(struct d_writer *w, const struct d_expr *expr)
{
	static const struct {
		const char *name, *text;
	} table[] = {{"pid", "pid"},
		     {"tid", "tid"},
		     {"uid", "uid"},
		     {"gid", "gid"},
		     {"cpu", "cpu"},
		     {"ppid", "ppid"},
		     {"execname", "comm"},
		     {"timestamp", "nsecs"},
		     {"curthread", "curtask"},
		     {"NULL", "0"}};
	static const struct {
		const char *name, *why;
	} missing[] = {{"vtimestamp", "bpftrace does not count the CPU time of a thread"},
		       {"walltimestamp", "bpftrace has the time of the day only as a text, by strftime()"},
		       {"id", "bpftrace's probes have no numbers"},
		       {"epid", "bpftrace's probes have no numbers"},
		       {"ipl", "bpftrace does not know it"},
		       {"caller", "bpftrace has only whole stacks: kstack(2)"},
		       {"ucaller", "bpftrace has only whole stacks: ustack(2)"},
		       {"uregs", "bpftrace's reg(\"NAME\") has the registers, by their names"},
		       {"cwd", "bpftrace does not know it"},
		       {"root", "bpftrace does not know it"},
		       {"zonename", "bpftrace does not know it"}};
	static const char *const parts[] = {"probeprov", "probemod", "probefunc", "probename"};
	const char *name = expr->text;
	uint32_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return table[i].text;
	for (i = 0; i < 4; i++)
		if (!strcmp(parts[i], name))
			return probe_part(w, i, name);
	if (!strncmp(name, "arg", 3) && isdigit((unsigned char)name[3]) && !name[4])
		return argument(w, (uint32_t)(name[3] - '0'));
	if (!strcmp(name, "errno"))
		return w->target && (w->target->site == SITE_RETURN || w->target->site == SITE_RAW_RETURN)
			       ? "(args.ret < 0 && args.ret > -4096 ? -args.ret : 0)"
			       : "0";
	if (!strcmp(name, "stackdepth"))
		return "len(kstack)";
	if (!strcmp(name, "ustackdepth"))
		return "len(ustack)";
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i].name, name))
			return d_unsaid(w, d_is_text(w, expr), name, missing[i].why);
	if (strchr(name, '`'))
		return d_unsaid(w, false, name, "bpftrace has the kernel's variables by their addresses only: kaddr()");
	return d_unsaid(w, d_is_text(w, expr), name, "nothing is assigned to it");
}

static const char *variable(struct d_writer *w, const struct d_expr *expr, int level)
{
	struct d_use *use = d_use_of(w, expr->scope, expr->text, false);
	const char *text = translate_source(w->t, expr->span);

	/* $1 was a word. */
	if (*text == '$' && isdigit((unsigned char)text[1]))
		return text[1] == '0' ? translate_quoted(w->t, expr->text) : text;
	if (!use)
		return expr->scope == D_GLOBAL ? builtin(w, expr) : "0";
	if (use->inlined)
		return use->inlined;
	if (use->constant) {
		if (use->dividing++)
			return "0";
		text = d_write(w, use->constant->value, level);
		use->dividing--;
		return text;
	}
	if (expr->kid_count && !use->is_array)
		return d_unsaid(w, false, print(w, "%s[]", expr->text), "bpftrace does not take it apart here");
	if (!use->is_assigned)
		return use->is_text ? "\"\"" : "0";
	return d_write_place(w, expr);
}

/* --- expressions --- */

static const char *number(struct d_writer *w, const struct d_expr *expr)
{
	const char *source = translate_source(w->t, expr->span);

	/* The arguments of a script are the same in both. */
	if (*source == '$' && isdigit((unsigned char)source[1]))
		return source;
	if (!strcmp(source, "$target") || !strcmp(source, "$pid"))
		return !strcmp(source, "$target") && !w->c->options->pid ? "cpid" : print(w, "%d", (int)expr->value);
	if (*source == '0' && (source[1] | 32) == 'x')
		return print(w, "0x%llx", (unsigned long long)expr->value);
	return print(w, "%lld", (long long)expr->value);
}

static const char *type_text(struct d_writer *w, const struct type *type, uint32_t depth)
{
	if (!type || depth > 8)
		return "int64";
	if (type->kind == TYPE_POINTER && type->to)
		return print(w, type->to->kind == TYPE_POINTER ? "%s*" : "%s *", type_text(w, type->to, depth + 1));
	if (type->kind == TYPE_RECORD && type->name)
		return type->name;
	if (type->kind == TYPE_INT && type->size)
		return print(w, "%sint%u", type->is_signed ? "" : "u", 8 * type->size);
	return type->name && type->kind != TYPE_STRING ? type->name : "int64";
}

static const char *member(struct d_writer *w, const struct d_expr *expr)
{
	static const struct {
		const char *record, *name, *text;
	} table[] = {
		{"curpsinfo", "pr_pid", "pid"}, {"curpsinfo", "pr_ppid", "ppid"},  {"curpsinfo", "pr_uid", "uid"},
		{"curpsinfo", "pr_gid", "gid"}, {"curpsinfo", "pr_fname", "comm"}, {"curcpu", "cpu_id", "cpu"},
		{"curlwpsinfo", "pr_lwpid", "tid"},
	};
	const struct d_expr *of = expr->kids[0];
	const char *text;
	size_t i;

	if (of->kind == D_VARIABLE && of->scope == D_GLOBAL) {
		for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (!strcmp(table[i].record, of->text) && !strcmp(table[i].name, expr->text))
				return table[i].text;
		if (!strcmp(of->text, "curpsinfo") || !strcmp(of->text, "curlwpsinfo") || !strcmp(of->text, "curcpu"))
			return d_unsaid(w, is_member_text(expr->text), print(w, "%s->%s", of->text, expr->text),
					"bpftrace has no translators: `curtask` has the kernel's own members");
	}
	if (w->target && w->target->site == SITE_EVENT && of->kind == D_INDEX)
		return d_unsaid(w, is_member_text(expr->text), print(w, "args[]->%s", expr->text),
				"bpftrace has no translators: `args` has the tracepoint's own members");
	text = d_write(w, of, LEVEL_POSTFIX);
	if (!strcmp(text, "0") || *text == '"')
		return is_member_text(expr->text) ? "\"\"" : "0";
	return print(w, "%s%s%s", text, expr->is_arrow ? "->" : ".", expr->text);
}

static const char *index_of(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_expr *of = expr->kids[0], *at = expr->kids[1];
	const char *text;

	if (of->kind == D_VARIABLE && !strcmp(of->text, "args") && at->kind == D_INT && at->value < 10)
		return argument(w, (uint32_t)at->value);
	text = d_write(w, of, LEVEL_POSTFIX);
	/* What is marked has no elements. */
	return strcmp(text, "0") && *text != '"' ? print(w, "%s[%s]", text, d_write(w, at, 0)) : "0";
}

static int level_of(const char *operator)
{
	static const struct {
		const char *text;
		int level;
	} table[] = {
		{"||", 2}, {"&&", 4}, {"|", 5}, {"^", 6},  {"&", 7}, {"==", 8}, {"!=", 8}, {"<", 9}, {"<=", 9},
		{">", 9},  {">=", 9}, {"<<", 10}, {">>", 10}, {"+", 11}, {"-", 11}, {"*", 12}, {"/", 12}, {"%", 12},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].text, operator))
			return table[i].level;
	return LEVEL_OR;
}

/* Of a system call's name, in a probe of all of them: by its number. */
static const char *compare_syscall(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_expr *name = expr->kids[1];

	if (!w->target || !w->target->function || (strcmp(expr->text, "==") && strcmp(expr->text, "!=")) ||
	    expr->kids[0]->kind != D_VARIABLE || strcmp(expr->kids[0]->text, "probefunc") || name->kind != D_STRING ||
	    strncmp(w->target->function, "syscall_name", 12) || !*name->text || name->text[strspn(name->text,
	    "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return NULL;
	translate_include(w->t, "asm/unistd.h");
	return print(w, "args.id %s __NR_%s", expr->text, name->text);
}

static const char *binary(struct d_writer *w, const struct d_expr *expr, int level)
{
	const struct d_expr *a = expr->kids[0], *b = expr->kids[1];
	bool is_text = d_is_text(w, a) || d_is_text(w, b), equals = level_of(expr->text) == 8;
	int own = level_of(expr->text);
	const char *left, *right;

	left = compare_syscall(w, expr);
	if (left)
		return wrapped(w, left, own, level);
	if (!strcmp(expr->text, "^^"))
		return print(w, "(!%s != !%s)", d_write_condition(w, a, LEVEL_UNARY),
			     d_write_condition(w, b, LEVEL_UNARY));
	if (!strcmp(expr->text, "&&") || !strcmp(expr->text, "||")) {
		left = d_write_condition(w, a, own);
		return wrapped(w, print(w, "%s %s %s", left, expr->text, d_write_condition(w, b, own + 1)), own, level);
	}
	if (is_text && !equals)
		return d_unsaid(w, false, expr->text, "bpftrace's texts have no order: they are equal, or not");
	if (is_text && w->target && w->target->function && !strncmp(w->target->function, "syscall_name", 12) &&
	    ((a->kind == D_VARIABLE && !strcmp(a->text, "probefunc")) ||
	     (b->kind == D_VARIABLE && !strcmp(b->text, "probefunc"))))
		return d_unsaid(w, false, "probefunc", "a system call's name is no text that could be compared here");
	left = is_text && is_zero(a) ? "\"\"" : d_write(w, a, own);
	right = is_text && is_zero(b) ? "\"\"" : d_write(w, b, own + 1);
	return wrapped(w, print(w, "%s %s %s", left, expr->text, right), own, level);
}

const char *d_write_condition(struct d_writer *w, const struct d_expr *expr, int level)
{
	if (d_is_text(w, expr))
		return wrapped(w, print(w, "%s != \"\"", d_write(w, expr, 9)), 8, level);
	return d_write(w, expr, level);
}

static const char *arguments(struct d_writer *w, const struct d_expr *call)
{
	const char *text = "";
	uint32_t i;

	for (i = 0; i < call->kid_count; i++)
		text = print(w, "%s%s%s", text, i ? ", " : "", d_write(w, call->kids[i], LEVEL_TERNARY));
	return text;
}

static const char *text_at(struct d_writer *w, const struct d_expr *call)
{
	if (d_is_text(w, call->kids[0]))
		return d_write(w, call->kids[0], 0);
	return print(w, "str(%s)", arguments(w, call));
}

static const char *call(struct d_writer *w, const struct d_expr *expr)
{
	static const struct {
		const char *name, *to;
		uint32_t least, most;
	} same[] = {{"strlen", "strlen", 1, 1}, {"copyin", "buf", 2, 2},   {"strjoin", "str_concat", 2, 2},
		    {"index", "strstr", 2, 2}, {"rand", "rand", 0, 0},    {"sym", "ksym", 1, 1},
		    {"func", "ksym", 1, 1}, {"usym", "usym", 1, 1},    {"ufunc", "usym", 1, 1},
		    {"uaddr", "usym", 1, 1}, {"stack", "kstack", 0, 1}, {"ustack", "ustack", 0, 1},
		    {"inet_ntoa", "ntop", 1, 1}};
	static const struct {
		const char *name, *cast;
	} swaps[] = {{"htons", "uint16"}, {"ntohs", "uint16"}, {"htonl", "uint32"},
		     {"ntohl", "uint32"}, {"htonll", "uint64"}, {"ntohll", "uint64"}};
	const char *name = expr->text;
	size_t i;

	if ((!strcmp(name, "copyinstr") || !strcmp(name, "stringof")) && expr->kid_count)
		return text_at(w, expr);
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (!strcmp(same[i].name, name) && expr->kid_count >= same[i].least &&
		    expr->kid_count <= same[i].most) {
			if (strstr(name, "stack") && !expr->kid_count)
				return same[i].to;
			return print(w, "%s(%s)", same[i].to, arguments(w, expr));
		}
	for (i = 0; i < sizeof(swaps) / sizeof(swaps[0]); i++)
		if (!strcmp(swaps[i].name, name) && expr->kid_count == 1)
			return print(w, "bswap((%s)%s)", swaps[i].cast, d_write(w, expr->kids[0], LEVEL_UNARY));
	if (!strcmp(name, "jstack")) {
		translate_mark(w->t, name, "bpftrace's have native frames only: strata's `stack` has Python's, too");
		return "ustack";
	}
	return d_unsaid(w, d_is_text(w, expr), print(w, "%s()", name), "bpftrace has no such function");
}

static const char *unary(struct d_writer *w, const struct d_expr *expr)
{
	if (!strcmp(expr->text, "!"))
		return print(w, "!%s", d_write_condition(w, expr->kids[0], LEVEL_UNARY));
	if (!strcmp(expr->text, "+"))
		return d_write(w, expr->kids[0], LEVEL_UNARY);
	if (!strcmp(expr->text, "&"))
		return d_unsaid(w, false, "&", "bpftrace's language does not take the address of this");
	/* --x would be something else. */
	if (*expr->text == '-' && (expr->kids[0]->kind == D_UNARY || expr->kids[0]->kind == D_STEP))
		return print(w, "-(%s)", d_write(w, expr->kids[0], 0));
	return print(w, "%s%s", expr->text, d_write(w, expr->kids[0], LEVEL_UNARY));
}

static const char *step(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_expr *of = expr->kids[0];
	struct d_use *use = of->kind == D_VARIABLE ? d_use_of(w, of->scope, of->text, false) : NULL;
	const char *place = use ? d_write_place(w, of) : d_write(w, of, LEVEL_POSTFIX);

	if (use)
		use->is_written = true;
	return expr->is_prefix ? print(w, "%s%s", expr->text, place) : print(w, "%s%s", place, expr->text);
}

static const char *cast(struct d_writer *w, const struct d_expr *expr)
{
	if (d_is_text(w, expr))
		return d_is_text(w, expr->kids[0]) ? d_write(w, expr->kids[0], LEVEL_UNARY)
						   : print(w, "str(%s)", d_write(w, expr->kids[0], 0));
	return print(w, "(%s)%s", type_text(w, expr->type_name.type, 0), d_write(w, expr->kids[0], LEVEL_UNARY));
}

static const char *write_one(struct d_writer *w, const struct d_expr *expr, int level)
{
	const char *text, *source;
	size_t i;

	switch (expr->kind) {
	case D_INT:
		text = number(w, expr);
		return *text == '-' ? wrapped(w, text, LEVEL_UNARY, level) : text;
	case D_STRING:
		source = translate_source(w->t, expr->span);
		if (!strncmp(source, "$$", 2) && isdigit((unsigned char)source[2]))
			return print(w, "str(%s)", source + 1);
		return translate_quoted(w->t, expr->text);
	case D_VARIABLE:
		return variable(w, expr, level);
	case D_AGGREGATION:
		return d_write_place(w, expr);
	case D_CALL:
		return call(w, expr);
	case D_UNARY:
		return wrapped(w, unary(w, expr), LEVEL_UNARY, level);
	case D_BINARY:
		return binary(w, expr, level);
	case D_TERNARY:
		text = d_write_condition(w, expr->kids[0], LEVEL_OR);
		source = d_write(w, expr->kids[1], LEVEL_TERNARY);
		return wrapped(w, print(w, "%s ? %s : %s", text, source, d_write(w, expr->kids[2], LEVEL_TERNARY)),
			       LEVEL_TERNARY, level);
	case D_STEP:
		return wrapped(w, step(w, expr), LEVEL_UNARY, level);
	case D_MEMBER:
		return member(w, expr);
	case D_INDEX:
		return index_of(w, expr);
	case D_CAST:
		return wrapped(w, cast(w, expr), LEVEL_UNARY, level);
	case D_SIZEOF:
		return expr->kids[0] ? print(w, "sizeof(%s)", d_write(w, expr->kids[0], 0))
				     : print(w, "sizeof(%s)", type_text(w, expr->type_name.type, 0));
	case D_ASSIGN:
	case D_COMMA:
		for (i = 0; i < w->hoisted.count; i++)
			if (w->hoisted.at[i] == expr)
				return d_write(w, expr->kids[expr->kind == D_ASSIGN ? 0 : 1], level);
		return d_unsaid(w, d_is_text(w, expr), expr->kind == D_ASSIGN ? expr->text : "the comma",
				"bpftrace's assignments are statements, not expressions");
	case D_OFFSETOF:
		return print(w, "offsetof(%s, %s)", type_text(w, expr->type_name.type, 0), expr->text);
	default:
		return "0";
	}
}

const char *d_write(struct d_writer *w, const struct d_expr *expr, int level)
{
	const char *text = "0";

	if (w->depth < DEPTH_MAX) {
		w->depth++;
		text = write_one(w, expr, level);
		w->depth--;
	}
	return text;
}

static void hoist(struct d_writer *w, const struct d_expr *expr, bool is_outermost, uint32_t depth)
{
	uint32_t i;

	if (!expr || depth > D_NESTING_MAX || expr->kind == D_IF || expr->kind == D_BLOCK)
		return;
	for (i = 0; i < expr->kid_count; i++) {
		bool decides = expr->kind == D_TERNARY || (expr->kind == D_BINARY && (!strcmp(expr->text, "&&") ||
										      !strcmp(expr->text, "||")));

		if (!i || !decides)
			hoist(w, expr->kids[i], false, depth + 1);
	}
	if (is_outermost || (expr->kind != D_COMMA && (expr->kind != D_ASSIGN || expr->kids[0]->kind != D_VARIABLE)))
		return;
	if (expr->kind == D_ASSIGN)
		d_write_assignment(w, expr);
	w->c->arena->failed |= vec_push(&w->hoisted, expr) != 0;
}

void d_hoist(struct d_writer *w, const struct d_expr *statement)
{
	w->hoisted.count = 0;
	hoist(w, statement, true, 0);
}

void d_write_assignment(struct d_writer *w, const struct d_expr *expr)
{
	const struct d_expr *target = expr->kids[0], *value = expr->kids[1];
	struct d_use *use;
	const char *text;

	if (target->kind == D_AGGREGATION) {
		d_write_aggregation(w, target, value);
		return;
	}
	if (target->kind != D_VARIABLE) {
		translate_mark(w->t, expr->text, "bpftrace's programs do not write to memory");
		translate_line(w->t, "%s", "");
		return;
	}
	use = d_use_of(w, target->scope, target->text, false);
	if (!use || use->constant || (target->kid_count && !use->is_array)) {
		translate_mark(w->t, target->text, "it cannot be assigned to");
		translate_line(w->t, "%s", "");
		return;
	}
	if (!strcmp(expr->text, "=") && is_zero(value) && (target->scope == D_SELF || target->kid_count)) {
		if (use->is_assigned)
			translate_line(w->t, "delete(%s);", d_write_place(w, target));
		return;
	}
	text = use->is_text && is_zero(value) ? "\"\"" : d_write(w, value, LEVEL_TERNARY);
	use->is_written = true;
	translate_line(w->t, "%s %s %s;", d_write_place(w, target), expr->text, text);
}
