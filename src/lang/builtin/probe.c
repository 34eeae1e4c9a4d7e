// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probe gives: its name, arguments, registers, return value. Registers are x86-64's (asm/ptrace.h). */
#include <stdlib.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/binary_arguments.h"
#include "lang/provider/provider.h"
#include "lang/provider/usdt_arguments.h"

static const struct register_name {
	const char *name, *alias;
	uint16_t offset; /* in struct pt_regs */
} registers[] = {
	{"r15", NULL, 0},       {"r14", NULL, 8},   {"r13", NULL, 16}, {"r12", NULL, 24},        {"bp", "rbp", 32},
	{"bx", "rbx", 40},      {"r11", NULL, 48},  {"r10", NULL, 56}, {"r9", NULL, 64},         {"r8", NULL, 72},
	{"ax", "rax", 80},      {"cx", "rcx", 88},  {"dx", "rdx", 96}, {"si", "rsi", 104},       {"di", "rdi", 112},
	{"orig_ax", NULL, 120}, {"ip", "rip", 128}, {"cs", NULL, 136}, {"flags", "eflags", 144}, {"sp", "rsp", 152},
	{"ss", NULL, 160},      {"pc", NULL, 128},
};

/* The first six integer arguments: di, si, dx, cx, r8, r9 (psABI AMD64 3.2.3). */
static const uint16_t argument_registers[] = {112, 104, 96, 88, 72, 64};
#define REGISTER_AX 80
#define REGISTER_IP 128
#define REGISTER_SP 152

static bool has_registers(const struct compiler *c)
{
	return c->unit->provider->context == CONTEXT_REGISTERS || c->unit->provider->context == CONTEXT_PERF;
}

static const struct type *complain(struct compiler *c, struct node *call, const char *where)
{
	report_error(c->report, "builtin.probe", call->span, "The %s builtin cannot be used with '%s' probes",
		     call->text, c->unit->provider->name);
	report_hint(c->report, "it is there in %s", where);
	return &type_uint64;
}

static const struct attach *attach_of(const struct compiler *c)
{
	return &c->attaches.at[c->unit->first_attach];
}

/* The verifier of a program with typed arguments knows how many words there are. */
static void check_word(struct compiler *c, const struct node *call, long number)
{
	const struct type *arguments = attach_of(c)->arguments;
	uint32_t words = arguments ? arguments->size / 8 : 0;

	if (arguments && number >= words)
		report_error(c->report, "builtin.argument", call->span, "arg%ld is not there: %s has %u argument%s",
			     number, attach_of(c)->name, words, words == 1 ? "" : "s");
}

/* argN: the number is the value; also args of USDT. */
static const struct type *check_argument(struct compiler *c, struct node *call)
{
	long number = strtol(call->text + 3, NULL, 10);

	call->value = (uint64_t)number;
	if (attach_of(c)->spec) {
		struct usdt_argument argument;

		if (!usdt_argument_parse(attach_of(c)->spec, (unsigned int)number, &argument)) {
			report_error(c->report, "usdt.argument", call->span,
				     "Invalid argument: arg%ld was not found in the probe's description \"%s\"", number,
				     attach_of(c)->spec);
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
	if (number >= (long)(sizeof(argument_registers) / sizeof(argument_registers[0])))
		report_error(c->report, "builtin.argument", call->span,
			     "arg%ld is not passed in a register; x86-64 supports arg0 to arg5", number);
	return &type_uint64;
}

/* A USDT argument: a constant, a register, or memory at register + offset. */
static void gen_usdt(struct gen *g, struct span span, const struct usdt_argument *argument)
{
	switch (argument->kind) {
	case USDT_CONSTANT:
		code_imm(g->code, R0, argument->value);
		return;
	case USDT_REGISTER:
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument->register_offset);
		break;
	case USDT_MEMORY:
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument->register_offset);
		if (argument->has_index) {
			code_load(g->code, 8, R1, REG_CTX, (int16_t)argument->index_offset);
			code_alu_imm(g->code, BPF_MUL, R1, (int32_t)argument->scale);
			code_alu(g->code, BPF_ADD, R0, R1);
		}
		code_imm(g->code, R1, argument->value);
		code_alu(g->code, BPF_ADD, R0, R1);
		{
			uint32_t mark = g->used, at = gen_temporary(g, 8);

			gen_frame_store_imm(g, 8, at, 0);
			gen_read(g, span, at, argument->size);
			gen_frame_load(g, 8, R0, at);
			g->used = mark;
		}
		break;
	}
	if (argument->shift)
		code_alu_imm(g->code, BPF_RSH, R0, argument->shift);
	code_extend(g->code, R0, argument->size, argument->is_signed);
}

static void gen_argument(struct gen *g, const struct node *call)
{
	const struct attach *attach = attach_of(g->c);
	struct usdt_argument argument;

	if (attach->spec) {
		if (usdt_argument_parse(attach->spec, (unsigned int)call->value, &argument))
			gen_usdt(g, call->span, &argument);
	} else if (g->unit->provider->context == CONTEXT_WORDS) {
		gen_context_load(g, 8, (uint32_t)call->value * 8);
	} else if (call->value < 6) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument_registers[call->value]);
	}
}

/* `args` of a uprobe is the record itself, which is not in the context. */
static const struct type *check_parameters(struct compiler *c, const struct node *call)
{
	const struct binary_arguments *arguments = binary_arguments(c, &c->attaches.at[c->unit->first_attach]);

	if (!arguments)
		return &type_none;
	if (arguments->why) {
		report_error(c->report, "builtin.args", call->span, "args of %s is not known: %s", attach_of(c)->name,
			     arguments->why);
		if (arguments->hint)
			report_hint(c->report, "%s", arguments->hint);
		return &type_none;
	}
	return arguments->record ? arguments->record : &type_none;
}

static bool explain_args(struct compiler *c, const struct node *call, const char *name, struct span span)
{
	const struct binary_arguments *arguments = attach_of(c)->parameters;
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
	report_error(c->report, "type.field", span, "%s has no parameter named '%s'", attach_of(c)->name, name);
	for (i = 0; i < arguments->count; i++)
		names = arena_printf(c->arena, "%s%s%s", names, i ? ", " : "", arguments->at[i].declaration);
	report_hint(c->report, arguments->count ? "its parameters are: %s" : "it has none%s", names);
	return true;
}

/* Where a parameter on the stack is, in R0. */
static void gen_stack_address(struct gen *g, const struct binary_argument *argument)
{
	code_load(g->code, 8, R0, REG_CTX, REGISTER_SP);
	code_alu_imm(g->code, BPF_ADD, R0, (int32_t)argument->stack);
}

/* From the registers, 8 bytes of each, to the frame: as many bytes as the value has. */
static void gen_registers(struct gen *g, const struct binary_argument *argument, uint32_t offset)
{
	uint32_t at = 0, i;

	for (i = 0; i < argument->register_count; i++) {
		uint32_t end = argument->size < 8 * (i + 1) ? argument->size : 8 * (i + 1);

		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument->registers[i]);
		while (at < end) {
			uint32_t size = end - at >= 8 ? 8 : end - at >= 4 ? 4 : end - at >= 2 ? 2 : 1;

			gen_frame_store(g, size, offset + at, R0);
			at += size;
			if (at < end)
				code_alu_imm(g->code, BPF_RSH, R0, (int32_t)size * 8);
		}
	}
}

static bool gen_parameter(struct gen *g, const struct node *call, const struct type_field *field, uint32_t *place)
{
	const struct binary_argument *argument = binary_argument_find(attach_of(g->c)->parameters, field->name);

	(void)call;
	if (!argument->register_count) {
		gen_stack_address(g, argument);
		return true;
	}
	*place = gen_temporary(g, (argument->size + 7) & ~7u);
	gen_registers(g, argument, *place);
	return false;
}

static void place_parameters(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct binary_arguments *arguments = attach_of(g->c)->parameters;
	uint32_t i;

	/* What lies between the fields must be the same in equal keys. */
	gen_zero(g, offset, call->type->size);
	for (i = 0; i < arguments->count; i++) {
		const struct binary_argument *argument = &arguments->at[i];

		if (argument->missing)
			continue;
		if (argument->register_count) {
			gen_registers(g, argument, offset + argument->offset);
		} else {
			gen_stack_address(g, argument);
			gen_read(g, call->span, offset + argument->offset, argument->size);
		}
	}
}

static const struct type *check_args(struct compiler *c, struct node *call)
{
	const struct type *type = attach_of(c)->arguments;

	if (attach_of(c)->bpf_id) {
		report_error(c->report, "builtin.args", call->span, "args is not known for functions of BPF programs");
		report_hint(c->report, "use arg0, arg1, ...");
		return &type_none;
	}
	if (type && c->unit->provider->context != CONTEXT_ITER)
		return type_pointer(c->arena, type);
	if (c->unit->provider == &provider_uprobe)
		return check_parameters(c, call);
	if (c->unit->provider->context == CONTEXT_WORDS && c->unit->provider->is_kernel) {
		report_error(c->report, "builtin.args", call->span,
			     "args is not known for this probe: "
			     "strata does not read the types of modules");
		report_hint(c->report, "use arg0, arg1, ...");
		return &type_none;
	}
	complain(c, call, "tracepoint, rawtracepoint, fentry, fexit and uprobe probes");
	return &type_none;
}

static void gen_args(struct gen *g, const struct node *call)
{
	(void)call;
	code_mov(g->code, R0, REG_CTX);
}

static const struct type *is_context(struct compiler *c, struct node *call)
{
	(void)call;
	return c->unit->provider->context == CONTEXT_ITER ? type_pointer(c->arena, attach_of(c)->arguments)
							  : &type_uint64;
}

static const struct type *check_retval(struct compiler *c, struct node *call)
{
	if (!c->unit->provider->is_return)
		return complain(c, call, "uretprobe, kretprobe and fexit probes");
	if (attach_of(c)->result)
		return attach_of(c)->result->type;
	if (attach_of(c)->has_result)
		return &type_int64;
	if (c->unit->provider->context == CONTEXT_WORDS) {
		report_error(c->report, "builtin.retval", call->span, "%s returns nothing that BTF knows of",
			     attach_of(c)->function);
		report_hint(c->report, "use kretprobe if you know better");
	}
	return &type_uint64;
}

/* Where it lies in the context depends on what the kernel believes of the function, which it tells nobody else. */
static void gen_bpf_result(struct gen *g)
{
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	gen_frame_store_imm(g, 8, at, 0);
	code_mov(g->code, R1, REG_CTX);
	gen_frame_address(g, R2, at);
	code_call(g->code, BPF_FUNC_get_func_ret);
	gen_frame_load(g, 8, R0, at);
	g->used = mark;
}

static void gen_retval(struct gen *g, const struct node *call)
{
	const struct type_field *result = attach_of(g->c)->result;

	(void)call;
	if (result) {
		gen_context_load(g, result->type->size, result->offset);
		code_extend(g->code, R0, result->type->size, result->type->is_signed);
		return;
	}
	if (attach_of(g->c)->has_result) {
		gen_bpf_result(g);
		return;
	}
	code_load(g->code, 8, R0, REG_CTX, REGISTER_AX);
}

static const struct type *check_reg(struct compiler *c, struct node *call)
{
	const char *name = check_literal_text(c, call->kids[0], "the register");
	size_t i;

	if (!name)
		return &type_uint64;
	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strcmp(registers[i].name, name) && (!registers[i].alias || strcmp(registers[i].alias, name)))
			continue;
		call->value = registers[i].offset;
		return has_registers(c) ? &type_uint64 : complain(c, call, "uprobe, kprobe, usdt and profile probes");
	}
	report_error(c->report, "builtin.register", call->kids[0]->span,
		     "'%s' is not a valid register on this architecture (x86_64)", name);
	return &type_uint64;
}

static void gen_reg(struct gen *g, const struct node *call)
{
	code_load(g->code, 8, R0, REG_CTX, (int16_t)call->value);
}

static const struct type *is_probe(struct compiler *c, struct node *call)
{
	(void)c;
	(void)call;
	return &type_probe;
}

/* Where several places share the program, the attach cookie tells which one it is. */
static void place_probe(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	if (g->unit->attach_count == 1) {
		code_imm(g->code, R0, g->unit->first_attach);
	} else {
		code_mov(g->code, R1, REG_CTX);
		code_call(g->code, BPF_FUNC_get_attach_cookie);
	}
	gen_frame_store(g, 8, offset, R0);
}

static const char *probe_type(const struct provider *provider)
{
	return provider == &provider_begin || provider == &provider_end ? "special" : provider->name;
}

static const struct type *check_probetype(struct compiler *c, struct node *call)
{
	call->kind = NODE_STRING;
	call->text = probe_type(c->unit->provider);
	return type_string(c->arena, (uint32_t)strlen(call->text) + 1);
}

static const struct type *check_usermode(struct compiler *c, struct node *call)
{
	return c->unit->provider->context == CONTEXT_NONE || has_registers(c)
		       ? &type_uint8
		       : complain(c, call, "profile, uprobe and kprobe probes");
}

static void gen_usermode(struct gen *g, const struct node *call)
{
	(void)call;
	if (g->unit->provider->context == CONTEXT_NONE) {
		code_imm(g->code, R0, 1); /* run by strata itself */
		return;
	}
	code_load(g->code, 8, R0, REG_CTX, 136);
	code_alu_imm(g->code, BPF_AND, R0, 3);
	code_alu_imm(g->code, BPF_RSH, R0, 1);
}

static const struct type *check_func(struct compiler *c, struct node *call)
{
	bool is_kernel = c->unit->provider->is_kernel;

	if (c->unit->provider->context != CONTEXT_REGISTERS && !is_kernel) {
		complain(c, call, "uprobe, kprobe and fentry probes");
		return type_symbol(c->arena, SYMBOL_USER);
	}
	return type_symbol(c->arena, is_kernel ? SYMBOL_KERNEL : SYMBOL_USER);
}

static void store_pid(struct gen *g, uint32_t offset)
{
	gen_pid_tgid(g, false);
	code_alu_imm(g->code, BPF_RSH, R0, 32);
	gen_frame_store(g, 8, offset, R0);
}

static void place_func(struct gen *g, const struct node *call, uint32_t offset)
{
	(void)call;
	if (g->unit->provider->is_kernel && g->unit->attach_count == 1) {
		code_imm(g->code, R0, (int64_t)attach_of(g->c)->address);
	} else if (g->unit->provider->is_return || g->unit->provider->is_kernel) {
		/* The instruction pointer is behind the call, or the breakpoint; the kernel knows what was called. */
		code_mov(g->code, R1, REG_CTX);
		code_call(g->code, BPF_FUNC_get_func_ip);
	} else {
		code_load(g->code, 8, R0, REG_CTX, REGISTER_IP);
	}
	gen_frame_store(g, 8, offset, R0);
	/* A function of the kernel is the same in all processes. */
	if (g->unit->provider->is_kernel)
		gen_frame_store_imm(g, 8, offset + 8, 0);
	else
		store_pid(g, offset + 8);
}

static const struct type *check_symbol(struct compiler *c, struct node *call)
{
	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	return type_symbol(c->arena, call->text[0] == 'k' ? SYMBOL_KERNEL : SYMBOL_USER);
}

static void place_symbol(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_scalar(g, call->kids[0]);
	gen_frame_store(g, 8, offset, R0);
	if (call->text[0] == 'k')
		gen_frame_store_imm(g, 8, offset + 8, 0);
	else
		store_pid(g, offset + 8);
}

static const struct type *check_pointer(struct compiler *c, struct node *call)
{
	const struct type *type = check_value(c, call->kids[0]);

	check_number(c, call->kids[0]);
	return type;
}

static void gen_pointer(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
}

static const struct type *check_signal(struct compiler *c, struct node *call)
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
	if (type->kind == TYPE_STRING && call->kids[0]->kind == NODE_STRING) {
		if (!strncmp(name, "SIG", 3))
			name += 3;
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strcmp(names[i], name))
				continue;
			call->kids[0]->kind = NODE_INT;
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

static void gen_signal(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, R0);
	code_call(g->code, strcmp(call->text, "signal") ? BPF_FUNC_send_signal_thread : BPF_FUNC_send_signal);
}

#define ARG(n)                                                                                                         \
	{                                                                                                              \
		"arg" #n, 0, 0, BUILTIN_BARE_ONLY, check_argument, gen_argument, NULL, "arg" #n                        \
	}

const struct builtin builtins_probe[] = {
	{"ctx", 0, 0, BUILTIN_BARE_ONLY, is_context, gen_args, NULL, "ctx"},
	{"args", 0, 0, BUILTIN_BARE_ONLY, check_args, gen_args, place_parameters, "args.NAME", gen_parameter,
	 explain_args},
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
	{"retval", 0, 0, BUILTIN_BARE, check_retval, gen_retval, NULL, "retval"},
	{"reg", 1, 1, 0, check_reg, gen_reg, NULL, "reg(NAME)"},
	{"probe", 0, 0, BUILTIN_BARE, is_probe, NULL, place_probe, "probe"},
	{"probetype", 0, 0, BUILTIN_BARE, check_probetype, NULL, NULL, "probetype"},
	{"func", 0, 0, BUILTIN_BARE, check_func, NULL, place_func, "func"},
	{"usermode", 0, 0, BUILTIN_BARE, check_usermode, gen_usermode, NULL, "usermode"},
	{"ksym", 1, 1, 0, check_symbol, NULL, place_symbol, "ksym(ADDRESS)"},
	{"usym", 1, 1, 0, check_symbol, NULL, place_symbol, "usym(ADDRESS)"},
	{"kptr", 1, 1, 0, check_pointer, gen_pointer, NULL, "kptr(POINTER)"},
	{"uptr", 1, 1, 0, check_pointer, gen_pointer, NULL, "uptr(POINTER)"},
	{"signal", 1, 1, BUILTIN_UNSAFE, check_signal, gen_signal, NULL, "signal(NAME or NUMBER)"},
	{"signal_thread", 1, 1, BUILTIN_UNSAFE, check_signal, gen_signal, NULL, "signal_thread(NAME or NUMBER)"},
	{},
};
