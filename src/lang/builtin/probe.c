// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probe gives: its name, arguments, registers, return value. Registers are x86-64's (asm/ptrace.h). */
#include <string.h>

#include "lang/builtin/probe.h"

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
	const struct attach *attach = compiler_attach(g->c);
	struct usdt_argument argument;

	if (attach->spec) {
		if (usdt_argument_parse(attach->spec, (unsigned int)call->value, &argument))
			gen_usdt(g, call->span, &argument);
	} else if (g->unit->provider->context == CONTEXT_WORDS) {
		gen_context_load(g, 8, (uint32_t)call->value * 8);
	} else if (call->value < PROBE_ARGUMENTS) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument_registers[call->value]);
	}
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
	const struct binary_argument *argument = binary_argument_find(compiler_attach(g->c)->parameters, field->name);

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
	const struct binary_arguments *arguments = compiler_attach(g->c)->parameters;
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

static void gen_args(struct gen *g, const struct node *call)
{
	(void)call;
	code_mov(g->code, R0, REG_CTX);
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
	const struct type_field *result = compiler_attach(g->c)->result;

	(void)call;
	if (result) {
		gen_context_load(g, result->type->size, result->offset);
		code_extend(g->code, R0, result->type->size, result->type->is_signed);
		return;
	}
	if (compiler_attach(g->c)->flags & ATTACH_HAS_RESULT) {
		gen_bpf_result(g);
		return;
	}
	code_load(g->code, 8, R0, REG_CTX, REGISTER_AX);
}

static void gen_reg(struct gen *g, const struct node *call)
{
	code_load(g->code, 8, R0, REG_CTX, (int16_t)call->value);
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
		code_imm(g->code, R0, (int64_t)compiler_attach(g->c)->address);
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

static void place_symbol(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_scalar(g, call->kids[0]);
	gen_frame_store(g, 8, offset, R0);
	if (call->type->variant == SYMBOL_KERNEL)
		gen_frame_store_imm(g, 8, offset + 8, 0);
	else
		store_pid(g, offset + 8);
}

static void gen_pointer(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
}

static void gen_signal(struct gen *g, const struct node *call)
{
	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, R0);
	code_call(g->code, call->builtin == CORE_SIGNAL ? BPF_FUNC_send_signal : BPF_FUNC_send_signal_thread);
}

bool probe_register(const char *name, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strcmp(registers[i].name, name) && (!registers[i].alias || strcmp(registers[i].alias, name)))
			continue;
		*ret = registers[i].offset;
		return true;
	}
	return false;
}

const struct builtin_code codes_probe[] = {
	{CORE_CTX, .scalar = gen_args},
	{CORE_ARGS, .scalar = gen_args, .place = place_parameters, .field = gen_parameter},
	{CORE_ARGUMENT, .scalar = gen_argument},
	{CORE_RETVAL, .scalar = gen_retval},
	{CORE_REG, .scalar = gen_reg},
	{CORE_PROBE, .place = place_probe},
	{CORE_FUNC, .place = place_func},
	{CORE_USERMODE, .scalar = gen_usermode},
	{CORE_SYMBOL, .place = place_symbol},
	{CORE_POINTER, .scalar = gen_pointer},
	{CORE_SIGNAL, .scalar = gen_signal},
	{CORE_SIGNAL_THREAD, .scalar = gen_signal},
	{},
};
