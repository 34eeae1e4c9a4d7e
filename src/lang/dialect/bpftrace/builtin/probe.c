// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probe gives: its name, arguments, registers, return value. Registers are those of the machine (arch/arch.h).
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lang/builtin/probe.h"
#include "lang/dialect/bpftrace/builtin/builtin.h"
#include "lang/provider/binary_arguments.h"
#include "lang/provider/provider.h"
#include "lang/provider/usdt_arguments.h"

static bool has_registers(const struct compiler *c)
{
	return c->unit->provider->context == CONTEXT_REGISTERS || c->unit->provider->context == CONTEXT_PERF;
}

static const struct type *complain(struct compiler *c, struct ast *call, const char *where)
{
	report_error(c->report, "builtin.probe", call->span, "The %s builtin cannot be used with '%s' probes",
		     call->text, c->unit->provider->name);
	report_hint(c->report, "it is there in %s", where);
	return &type_uint64;
}

/* The verifier of a program with typed arguments knows how many words there are. */
static void check_word(struct compiler *c, const struct ast *call, long number)
{
	const struct type *arguments = compiler_attach(c)->arguments;
	uint32_t words = arguments ? arguments->size / 8 : 0;

	if (arguments && number >= words)
		report_error(c->report, "builtin.argument", call->span, "arg%ld is not there: %s has %u argument%s",
			     number, compiler_attach(c)->name, words, words == 1 ? "" : "s");
}

/* argN: the number is the value; also args of USDT. */
static const struct type *check_argument(struct compiler *c, struct ast *call)
{
	long number = strtol(call->text + 3, NULL, 10);

	call->value = (uint64_t)number;
	if (compiler_attach(c)->spec) {
		struct usdt_argument argument;

		if (!usdt_argument_parse(compiler_attach(c)->spec, (unsigned int)number, &argument)) {
			report_error(c->report, "usdt.argument", call->span,
				     "Invalid argument: arg%ld was not found in the probe's description \"%s\"", number,
				     compiler_attach(c)->spec);
			return &type_int64;
		}
		return type_integer(argument.size, argument.is_signed);
	}
	if (c->unit->provider->context == CONTEXT_WORDS) {
		check_word(c, call, number);
		return &type_uint64;
	}
	if (c->unit->provider->context != CONTEXT_REGISTERS || c->unit->provider->is_return)
		return complain(c, call, "uprobe, kprobe, usdt and rawtracepoint probes");
	if (number >= arch_here()->argument_count)
		report_error(c->report, "builtin.argument", call->span,
			     "arg%ld is not passed in a register; %s supports arg0 to arg%d", number, arch_here()->name,
			     arch_here()->argument_count - 1);
	return &type_uint64;
}

/* `args` of a uprobe is the record itself, which is not in the context. */
static const struct type *check_binary_arguments(struct compiler *c, const struct ast *call)
{
	const struct binary_arguments *arguments = binary_arguments(c, &c->attaches.at[c->unit->first_attach]);

	if (!arguments)
		return &type_none;
	if (arguments->why) {
		report_error(c->report, "builtin.args", call->span, "args of %s is not known: %s",
			     compiler_attach(c)->name, arguments->why);
		if (arguments->hint)
			report_hint(c->report, "%s", arguments->hint);
		return &type_none;
	}
	return arguments->record ? arguments->record : &type_none;
}

static bool explain_args(struct compiler *c, const struct ast *call, const char *name, struct span span)
{
	const struct binary_arguments *arguments = compiler_attach(c)->parameters;
	const struct binary_argument *argument = arguments ? binary_argument_find(arguments, name) : NULL;
	const char *names = "";
	uint32_t i;

	(void)call;
	if (!arguments)
		return false;
	if (argument && argument->missing) {
		report_error(c->report, "args.missing", span, "%s %s", argument->declaration, argument->missing);
		return true;
	}
	report_error(c->report, "type.field", span, "%s has no parameter named '%s'", compiler_attach(c)->name, name);
	for (i = 0; i < arguments->count; i++)
		names = arena_printf(c->arena, "%s%s%s", names, i ? ", " : "", arguments->at[i].declaration);
	report_hint(c->report, arguments->count ? "its parameters are: %s" : "it has none%s", names);
	return true;
}

static const struct type *check_args(struct compiler *c, struct ast *call)
{
	const struct type *type = compiler_attach(c)->arguments;

	if (compiler_attach(c)->flags & ATTACH_UNTYPED) {
		report_error(c->report, "builtin.args", call->span, "args is not known for functions of BPF programs");
		report_hint(c->report, "use arg0, arg1, ...");
		return &type_none;
	}
	if (c->unit->provider->computes_args)
		return type;
	if (type && c->unit->provider->context != CONTEXT_ITER)
		return type_pointer(c->arena, type);
	if (c->unit->provider->has_parameters)
		return check_binary_arguments(c, call);
	if (c->unit->provider->context == CONTEXT_WORDS && c->unit->provider->is_kernel) {
		report_error(c->report, "builtin.args", call->span,
			     "args is not known for this probe: the function's module has no types, or none of this "
			     "function (CONFIG_DEBUG_INFO_BTF_MODULES)");
		report_hint(c->report, "use arg0, arg1, ...");
		return &type_none;
	}
	complain(c, call, "tracepoint, rawtracepoint, fentry, fexit and uprobe probes");
	return &type_none;
}

static const struct type *is_context(struct compiler *c, struct ast *call)
{
	(void)call;
	return c->unit->provider->context == CONTEXT_ITER ? type_pointer(c->arena, compiler_attach(c)->arguments)
							  : &type_uint64;
}

static const struct type *check_retval(struct compiler *c, struct ast *call)
{
	if (!c->unit->provider->is_return)
		return complain(c, call, "uretprobe, kretprobe and fexit probes");
	if (compiler_attach(c)->result)
		return compiler_attach(c)->result->type;
	if (compiler_attach(c)->flags & ATTACH_HAS_RESULT)
		return &type_int64;
	if (c->unit->provider->context == CONTEXT_WORDS) {
		report_error(c->report, "builtin.retval", call->span, "%s returns nothing that BTF knows of",
			     compiler_attach(c)->function);
		report_hint(c->report, "use kretprobe if you know better");
	}
	return &type_uint64;
}

static const struct type *check_reg(struct compiler *c, struct ast *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the register");

	if (!name)
		return &type_uint64;
	if (probe_register(name, &call->value))
		return has_registers(c) ? &type_uint64 : complain(c, call, "uprobe, kprobe, usdt and profile probes");
	report_error(c->report, "builtin.register", call->kids[0]->span,
		     "'%s' is not a valid register on this architecture (%.*s)", name,
		     (int)strcspn(arch_here()->triplet, "-"), arch_here()->triplet);
	return &type_uint64;
}

static const struct type *is_probe(struct compiler *c, struct ast *call)
{
	(void)c;
	(void)call;
	return &type_probe;
}

static const char *probe_type(const struct provider *provider)
{
	return provider->run == RUN_FIRST || provider->run == RUN_LAST ? "special" : provider->name;
}

static const struct type *check_probetype(struct compiler *c, struct ast *call)
{
	call->kind = AST_STRING;
	call->text = probe_type(c->unit->provider);
	return type_string(c->arena, (uint32_t)strlen(call->text) + 1);
}

static const struct type *check_usermode(struct compiler *c, struct ast *call)
{
	return c->unit->provider->context == CONTEXT_NONE || c->unit->provider->is_kernel || has_registers(c)
		       ? &type_uint8
		       : complain(c, call, "profile, uprobe and kprobe probes");
}

static const struct type *check_func(struct compiler *c, struct ast *call)
{
	bool is_kernel = c->unit->provider->is_kernel;

	if (c->unit->provider->context != CONTEXT_REGISTERS && !is_kernel) {
		complain(c, call, "uprobe, kprobe and fentry probes");
		return type_symbol(c->arena, SYMBOL_USER);
	}
	return type_symbol(c->arena, is_kernel ? SYMBOL_KERNEL : SYMBOL_USER);
}

static const struct type *check_symbol(struct compiler *c, struct ast *call)
{
	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	return type_symbol(c->arena, call->text[0] == 'k' ? SYMBOL_KERNEL : SYMBOL_USER);
}

static const struct type *check_pointer(struct compiler *c, struct ast *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	check_number(c, call->kids[0]);
	return type;
}

static const struct type *check_signal(struct compiler *c, struct ast *call)
{
	static const char *const names[] = {"HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",  "FPE",
					    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM", "STKFLT",
					    "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",  "XCPU",
					    "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS"};
	const struct type *type = check_value(c, call->kids[0]);
	const char *name = call->kids[0]->text;
	int64_t number;
	size_t i;

	if (c->unit->provider->context == CONTEXT_NONE)
		complain(c, call, "probes that run in a process");
	if (type->kind == TYPE_STRING && call->kids[0]->kind == AST_STRING) {
		if (!strncmp(name, "SIG", 3))
			name += 3;
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strcmp(names[i], name))
				continue;
			call->kids[0]->kind = AST_INT;
			call->kids[0]->type = &type_literal;
			call->kids[0]->value = i + 1;
			return &type_none;
		}
		report_error(c->report, "signal.name", call->kids[0]->span, "%s is not a valid signal",
			     call->kids[0]->text);
	} else if (check_number(c, call->kids[0]) && check_constant(call->kids[0], &number) &&
		   (number < 1 || number > 64)) {
		report_error(c->report, "signal.number", call->kids[0]->span,
			     "%lld is not a valid signal, allowed range: [1,64]", (long long)number);
	}
	return &type_none;
}

#define ARG(n)                                                                                                         \
	{                                                                                                              \
		"arg" #n, 0, 0, BUILTIN_BARE_ONLY, check_argument, CORE_ARGUMENT, 0, "arg" #n                          \
	}

const struct builtin builtins_probe[] = {
	{"ctx", 0, 0, BUILTIN_BARE_ONLY, is_context, CORE_CTX, 0, "ctx"},
	{"args", 0, 0, BUILTIN_BARE_ONLY, check_args, CORE_ARGS, 0, "args.NAME", explain_args},
	ARG(0),
	ARG(1),
	ARG(2),
	ARG(3),
	ARG(4),
	ARG(5),
	ARG(6),
	ARG(7),
	ARG(8),
	ARG(9),
	ARG(10),
	ARG(11),
	{"retval", 0, 0, BUILTIN_BARE, check_retval, CORE_RETVAL, 0, "retval"},
	{"reg", 1, 1, 0, check_reg, CORE_REG, OPERANDS_NONE, "reg(NAME)"},
	{"probe", 0, 0, BUILTIN_BARE, is_probe, CORE_PROBE, 0, "probe"},
	{"probetype", 0, 0, BUILTIN_BARE, check_probetype, CORE_NONE, 0, "probetype"},
	{"func", 0, 0, BUILTIN_BARE, check_func, CORE_FUNC, 0, "func"},
	{"usermode", 0, 0, BUILTIN_BARE, check_usermode, CORE_USERMODE, 0, "usermode"},
	{"ksym", 1, 1, 0, check_symbol, CORE_SYMBOL, 0, "ksym(ADDRESS)"},
	{"usym", 1, 1, 0, check_symbol, CORE_SYMBOL, 0, "usym(ADDRESS)"},
	{"kptr", 1, 1, 0, check_pointer, CORE_POINTER, 0, "kptr(POINTER)"},
	{"uptr", 1, 1, 0, check_pointer, CORE_POINTER, 0, "uptr(POINTER)"},
	{"signal", 1, 1, BUILTIN_UNSAFE, check_signal, CORE_SIGNAL, 0, "signal(NAME or NUMBER)"},
	{"signal_thread", 1, 1, BUILTIN_UNSAFE, check_signal, CORE_SIGNAL_THREAD, 0, "signal_thread(NAME or NUMBER)"},
	{},
};
