// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probe gives: its name, arguments, registers, return value. Registers are those of the machine (arch/arch.h).
 */
#include <string.h>

#include "lang/builtin/probe.h"

#include "arch/arch.h"
#include "lang/builtin/builtin.h"
#include "lang/builtin/python.h"
#include "lang/provider/binary_arguments.h"
#include "lang/provider/provider.h"
#include "lang/provider/usdt_arguments.h"

/* A USDT argument: a constant, a register, or memory at register + offset. */
static void gen_usdt(struct gen *g, struct span span, const struct usdt_argument *argument)
{
	switch (argument->operand.kind) {
	case ARCH_CONSTANT:
		code_imm(g->code, R0, argument->operand.value);
		return;
	case ARCH_REGISTER:
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument->operand.base);
		break;
	case ARCH_MEMORY:
		code_load(g->code, 8, R0, REG_CTX, (int16_t)argument->operand.base);
		if (argument->operand.has_index) {
			code_load(g->code, 8, R1, REG_CTX, (int16_t)argument->operand.index);
			code_alu_imm(g->code, BPF_MUL, R1, (int32_t)argument->operand.scale);
			code_alu(g->code, BPF_ADD, R0, R1);
		}
		code_imm(g->code, R1, argument->operand.value);
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
	if (argument->operand.shift)
		code_alu_imm(g->code, BPF_RSH, R0, argument->operand.shift);
	code_extend(g->code, R0, argument->size, argument->is_signed);
}

void probe_marker_argument(struct gen *g, struct span span, const char *arguments, unsigned int index)
{
	struct usdt_argument argument;

	if (usdt_argument_parse(arguments, index, &argument))
		gen_usdt(g, span, &argument);
	else
		code_imm(g->code, R0, 0);
}

/* One that comes on the stack: at the function's first instruction, all of them are words. */
static void gen_stack_argument(struct gen *g, struct span span, uint32_t number)
{
	const struct arch *arch = arch_here();
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	code_load(g->code, 8, R0, REG_CTX, (int16_t)arch->context_sp);
	code_alu_imm(g->code, BPF_ADD, R0, arch->stack_arguments + 8 * (int32_t)(number - arch->argument_count));
	gen_read(g, span, at, 8);
	gen_frame_load(g, 8, R0, at);
	g->used = mark;
}

static void gen_argument(struct gen *g, const struct node *call)
{
	const struct attach *attach = compiler_attach(g->c);
	struct usdt_argument argument;

	if (g->unit->provider->computes_args) {
		python_argument(g, call->span, (unsigned int)call->value);
		return;
	}
	if (attach->spec) {
		if (usdt_argument_parse(attach->spec, (unsigned int)call->value, &argument))
			gen_usdt(g, call->span, &argument);
	} else if (g->unit->provider->context == CONTEXT_WORDS) {
		gen_context_load(g, 8, (uint32_t)call->value * 8);
	} else if (call->value < arch_here()->argument_count) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)arch_here()->arguments[call->value]);
	} else {
		gen_stack_argument(g, call->span, (uint32_t)call->value);
	}
}

/* Where a parameter on the stack is, in R0. */
static void gen_stack_address(struct gen *g, const struct binary_argument *argument)
{
	code_load(g->code, 8, R0, REG_CTX, arch_here()->context_sp);
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
	const struct binary_argument *argument;

	(void)call;
	if (g->unit->provider->computes_args)
		return python_field(g, field, place);
	argument = binary_argument_find(compiler_attach(g->c)->parameters, field->name);
	if (!argument->register_count) {
		gen_stack_address(g, argument);
		return true;
	}
	*place = gen_temporary(g, (argument->size + 7) & ~7u);
	gen_registers(g, argument, *place);
	return false;
}

static bool compare_parameter(struct gen *g, const struct node *call, const struct type_field *field, const char *text,
			      label equal, label differ)
{
	(void)call;
	return g->unit->provider->computes_args && python_compare(g, field, text, equal, differ);
}

static void place_parameters(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct binary_arguments *arguments = compiler_attach(g->c)->parameters;
	uint32_t i;

	if (g->unit->provider->computes_args) {
		python_place(g, call->type, offset);
		return;
	}
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
	code_load(g->code, 8, R0, REG_CTX, arch_here()->context_result);
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
	if (g->unit->provider->is_kernel) {
		code_imm(g->code, R0, 0); /* a function of the kernel's */
		return;
	}
	code_load(g->code, 8, R0, REG_CTX, (int16_t)arch_here()->context_mode);
	code_alu_imm(g->code, BPF_AND, R0, arch_here()->mode_mask);
	code_alu_imm(g->code, BPF_XOR, R0, arch_here()->mode_user);
	/* Nothing is left in a program: less one, its highest bit is set. */
	code_alu_imm(g->code, BPF_SUB, R0, 1);
	code_alu_imm(g->code, BPF_RSH, R0, 63);
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
		code_load(g->code, 8, R0, REG_CTX, arch_here()->context_pc);
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
	const struct arch_register *found = arch_register_named(arch_here(), name);

	if (found)
		*ret = found->context;
	return found;
}

const struct builtin_code codes_probe[] = {
	{CORE_CTX, .scalar = gen_args},
	{CORE_ARGS,
	 .scalar = gen_args,
	 .place = place_parameters,
	 .field = gen_parameter,
	 .compare = compare_parameter},
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
