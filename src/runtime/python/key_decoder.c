// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decoding by evaluation.
 *
 * Other profilers look for the four or five instruction sequences that they have seen: a compiler that keeps the key's
 * address in a register across PyThread_tss_is_created(), or that writes `mov ebx,0x608; add rbx,[rip+_PyRuntime@GOT]`,
 * makes them blind. Here the function is run instead, on values that are partly known:
 *
 *     mov  ebx, 0x608              rbx = 0x608
 *     add  rbx, [rip + slot]       rbx = _PyRuntime + 0x608      the relocation of the slot names _PyRuntime
 *     mov  rdi, rbx                rdi = _PyRuntime + 0x608
 *     call PyThread_tss_is_created the registers that a call may change are not known any more
 *     test eax, eax
 *     je   ...                     both ways
 *     mov  rdi, rbx
 *     jmp  PyThread_tss_get        an answer: the key is that of the Py_tss_t at _PyRuntime + 0x608
 *
 * The same evaluation over the memory of a live process, with the key as argument, tells where pthread_getspecific() of
 * whatever libc finds a thread's value: `add rax, fs:[0x10]`, `mov rdx, [rax+8]` is a chain of loads from the thread
 * pointer.
 *
 * Wrong code cannot make it run away: each conditional jump is followed both ways a few times at most, and the number
 * of instructions and of open ways is bounded. Stores are remembered on the stack only; no other memory is taken to
 * change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/python/key_decoder.h"

enum {
	BUDGET = 6000,    /* instructions */
	WAYS_MAX = 48,    /* open at a time */
	FORKS_MAX = 512,  /* conditional jumps */
	FORKS_OF_ONE = 4, /* times that one is followed both ways */
	INSN_BYTES = 16,
	INLINE_BYTES = 256 /* functions up to this size are followed into */
};

#define PY_TSS_KEY                                                                                                     \
	4 /* offset of _key in Py_tss_t: { int _is_initialized; pthread_key_t _key } (Include/cpython/pythread.h) */

struct key_machine {
	const struct key_arch *arch;
	const struct key_image *image;
	struct key_evaluation *result;
	struct key_state *ways;
	size_t way_count;
	struct {
		uint64_t pc;
		unsigned int count;
	} forks[FORKS_MAX];
	size_t fork_count;
};

enum key_callee key_callee_of(const char *name)
{
	static const struct {
		const char *name;
		enum key_callee callee;
	} callees[] = {
		{"PyThread_tss_get", KEY_CALLEE_GET_POINTER},
		{"pthread_getspecific", KEY_CALLEE_GET_VALUE},
		{"__pthread_getspecific", KEY_CALLEE_GET_VALUE},
		{"tss_get", KEY_CALLEE_GET_VALUE},
		{"PyThread_get_key_value", KEY_CALLEE_GET_VALUE},
		{"__tls_get_addr", KEY_CALLEE_TLS_ADDRESS},
		{"PyThread_tss_is_created", KEY_CALLEE_OPAQUE},
		{"Py_FatalError", KEY_CALLEE_STOP},
		{"_Py_FatalErrorFunc", KEY_CALLEE_STOP},
		{"_Py_FatalErrorFormat", KEY_CALLEE_STOP},
		{"_Py_FatalError_TstateNULL", KEY_CALLEE_STOP},
		{"_Py_EnsureFuncTstateNotNULL", KEY_CALLEE_STOP},
		{"__stack_chk_fail", KEY_CALLEE_STOP},
		{"__assert_fail", KEY_CALLEE_STOP},
		{"abort", KEY_CALLEE_STOP},
	};
	size_t i;

	for (i = 0; i < sizeof(callees) / sizeof(*callees); i++)
		if (!strcmp(callees[i].name, name))
			return callees[i].callee;
	return KEY_CALLEE_OTHER;
}

struct key_value key_constant(uint64_t value)
{
	return (struct key_value){.known = true, .width = 8, .offset = {(int64_t)value}};
}

struct key_value key_thread_pointer(int64_t offset)
{
	return (struct key_value){.known = true, .width = 8, .pointer = {1}, .offset = {offset}};
}

/* Neither loaded nor based on anything: a number, perhaps from the thread pointer. */
static bool is_plain(const struct key_value *value)
{
	return value->known && value->base == KEY_BASE_NONE && !value->loads;
}

bool key_is_constant(const struct key_value *value, uint64_t *ret)
{
	if (!is_plain(value) || value->pointer[0])
		return false;
	*ret = (uint64_t)value->offset[0];
	return true;
}

bool key_same(const struct key_value *a, const struct key_value *b)
{
	return a->known && b->known && a->base == b->base && a->loads == b->loads && a->slot == b->slot &&
	       (!a->loads || a->width == b->width) && a->name == b->name &&
	       !memcmp(a->pointer, b->pointer, sizeof(a->pointer)) && !memcmp(a->offset, b->offset, sizeof(a->offset));
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct key_value key_add(struct key_value a, struct key_value b)
{
	struct key_value sum = is_plain(&b) ? a : b, plain = is_plain(&b) ? b : a;
	int pointer;

	if (!a.known || !b.known || !is_plain(&plain) || sum.base == KEY_BASE_IMPORT || sum.base == KEY_BASE_DESC_CODE)
		return (struct key_value){};
	pointer = sum.pointer[sum.loads] + plain.pointer[0];
	if (pointer < -1 || pointer > 1)
		return (struct key_value){};
	sum.pointer[sum.loads] = (int8_t)pointer;
	sum.offset[sum.loads] = wrap_add(sum.offset[sum.loads], plain.offset[0]);
	return sum;
}

struct key_value key_subtract(struct key_value a, struct key_value b)
{
	if (!is_plain(&b))
		return (struct key_value){};
	b.offset[0] = (int64_t)(0 - (uint64_t)b.offset[0]);
	b.pointer[0] = (int8_t)-b.pointer[0];
	return key_add(a, b);
}

struct key_value key_truncate(struct key_value value, unsigned int width)
{
	uint64_t constant;

	if (width >= 8)
		return value;
	if (key_is_constant(&value, &constant))
		return key_constant(constant & ((1ull << width * 8) - 1));
	if (value.known && width == 4 && value.loads && !value.offset[value.loads] && !value.pointer[value.loads]) {
		value.width = 4; /* little-endian: the low word lies at the same address */
		return value;
	}
	return (struct key_value){};
}

struct key_value key_load(struct key_machine *machine, struct key_state *state, struct key_value address,
			  unsigned int width)
{
	struct key_value value = address;
	uint64_t constant;
	size_t i;

	if (!address.known || address.base == KEY_BASE_IMPORT || address.base == KEY_BASE_DESC_CODE)
		return (struct key_value){};
	if (address.base == KEY_BASE_STACK) {
		for (i = 0; !address.loads && i < state->stack_count; i++)
			if (state->stack[i].at == address.offset[0] && state->stack[i].width == width)
				return state->stack[i].value;
		return (struct key_value){};
	}
	/* A load becomes part of a chain, unless the image knows what is there. */
	value.loads++;
	value.width = (uint8_t)width;
	if (address.loads >= KEY_LOADS || (width != 4 && width != 8))
		value = (struct key_value){};
	if (key_is_constant(&address, &constant))
		machine->image->load(machine->image->context, constant, width, &value);
	return value;
}

void key_store(struct key_state *state, struct key_value address, unsigned int width, struct key_value value)
{
	int64_t at = address.offset[0];
	size_t i = 0;

	if (!address.known || address.base != KEY_BASE_STACK || address.loads)
		return;
	while (i < state->stack_count) {
		int64_t distance = (int64_t)((uint64_t)state->stack[i].at - (uint64_t)at);

		if (distance > -(int64_t)state->stack[i].width && distance < (int64_t)width)
			state->stack[i] = state->stack[--state->stack_count];
		else
			i++;
	}
	if (state->stack_count == KEY_STACK || !value.known)
		return;
	state->stack[state->stack_count].at = at;
	state->stack[state->stack_count].width = width;
	state->stack[state->stack_count++].value = value;
}

static void add_answer(struct key_answers *answers, const struct key_value *value)
{
	size_t i;

	if (!value->known) {
		answers->unknown++;
		return;
	}
	for (i = 0; i < answers->count && i < KEY_ANSWERS; i++)
		if (key_same(&answers->at[i], value))
			return;
	if (answers->count < KEY_ANSWERS)
		answers->at[answers->count] = *value;
	answers->count++;
}

/* The address of the key that a function is called with. */
static struct key_value key_address(enum key_callee callee, struct key_value argument)
{
	uint64_t constant;

	if (callee == KEY_CALLEE_GET_POINTER) {
		if (!key_is_constant(&argument, &constant))
			return (struct key_value){};
		return key_constant(constant + PY_TSS_KEY);
	}
	if (!argument.known || argument.base != KEY_BASE_NONE || argument.loads != 1 || argument.width != 4 ||
	    argument.pointer[0] || argument.pointer[1] || argument.offset[1])
		return (struct key_value){};
	return key_constant((uint64_t)argument.offset[0]);
}

static unsigned int masked(unsigned int width)
{
	return width >= 8 ? 0 : 64 - width * 8;
}

int key_test(const struct key_flags *flags, enum key_condition condition)
{
	uint64_t a, b, difference;
	int64_t signed_a, signed_b;
	unsigned int shift = masked(flags->width);

	if (flags->kind == KEY_FLAGS_UNKNOWN || !flags->width || !key_is_constant(&flags->a, &a) ||
	    !key_is_constant(&flags->b, &b))
		return -1;
	if (flags->kind == KEY_FLAGS_TEST) {
		a &= b;
		b = 0;
	}
	a <<= shift;
	b <<= shift;
	signed_a = (int64_t)a;
	signed_b = (int64_t)b;
	difference = a - b;
	switch (condition) {
	case KEY_EQUAL:
		return a == b;
	case KEY_NOT_EQUAL:
		return a != b;
	case KEY_ABOVE:
		return a > b;
	case KEY_ABOVE_EQUAL:
		return a >= b;
	case KEY_BELOW:
		return a < b;
	case KEY_BELOW_EQUAL:
		return a <= b;
	case KEY_NEGATIVE:
		return (int64_t)difference < 0;
	case KEY_NOT_NEGATIVE:
		return (int64_t)difference >= 0;
	case KEY_GREATER:
		return signed_a > signed_b;
	case KEY_GREATER_EQUAL:
		return signed_a >= signed_b;
	case KEY_LESS:
		return signed_a < signed_b;
	case KEY_LESS_EQUAL:
		return signed_a <= signed_b;
	default:
		return -1;
	}
}

/* On the way where a value compared equal to 0, it is 0 wherever else it is held. */
static void assume_zero(struct key_state *state, const struct key_flags *flags)
{
	struct key_value value = flags->a;
	uint64_t zero;
	size_t i;

	if (flags->kind == KEY_FLAGS_COMPARE ? !key_is_constant(&flags->b, &zero) || zero
					     : flags->kind != KEY_FLAGS_TEST || !key_same(&flags->a, &flags->b))
		return;
	if (!value.loads || value.width > flags->width)
		return;
	for (i = 0; i < KEY_REGISTERS; i++)
		if (key_same(&state->registers[i], &value))
			state->registers[i] = key_constant(0);
	for (i = 0; i < state->stack_count; i++)
		if (key_same(&state->stack[i].value, &value))
			state->stack[i].value = key_constant(0);
}

/* Whether the jump at this address may be followed both ways once more. */
static bool may_fork(struct key_machine *machine, uint64_t pc)
{
	size_t i;

	for (i = 0; i < machine->fork_count; i++)
		if (machine->forks[i].pc == pc)
			return machine->forks[i].count++ < FORKS_OF_ONE;
	if (machine->fork_count == FORKS_MAX)
		return false;
	machine->forks[machine->fork_count].pc = pc;
	machine->forks[machine->fork_count++].count = 1;
	return true;
}

static bool function_at(const struct key_machine *machine, uint64_t address, uint64_t *start, uint64_t *end)
{
	return machine->image->function && machine->image->function(machine->image->context, address, start, end);
}

/* Goes to an address, which may lie in another function. */
static bool go_to(struct key_machine *machine, struct key_state *state, uint64_t target)
{
	state->next = target;
	if (state->end && target >= state->start && target < state->end)
		return true;
	if (!function_at(machine, target, &state->start, &state->end))
		state->start = state->end = 0;
	return true;
}

bool key_branch(struct key_machine *machine, struct key_state *state, const struct key_flags *flags,
		enum key_condition condition, uint64_t target)
{
	int known = key_test(flags, condition);
	struct key_flags copy = *flags;
	struct key_state *other;

	if (known == 0)
		return true;
	if (known > 0)
		return go_to(machine, state, target);
	if (!may_fork(machine, state->pc))
		return false;
	if (machine->way_count == WAYS_MAX) {
		machine->result->exhausted = true;
		return true;
	}
	other = &machine->ways[machine->way_count];
	*other = *state;
	if (condition == KEY_EQUAL)
		assume_zero(other, &copy);
	else if (condition == KEY_NOT_EQUAL)
		assume_zero(state, &copy);
	if (key_jump(machine, other, key_constant(target))) {
		other->pc = other->next;
		machine->way_count++;
	}
	return true;
}

static void clobber(struct key_machine *machine, struct key_state *state)
{
	size_t i;

	for (i = 0; i < KEY_REGISTERS; i++)
		if (machine->arch->clobbered >> i & 1)
			state->registers[i] = (struct key_value){};
	state->flags.kind = KEY_FLAGS_UNKNOWN;
}

static enum key_callee callee_of(struct key_machine *machine, const struct key_value *target, uint64_t *address)
{
	*address = 0;
	if (target->known && target->base == KEY_BASE_IMPORT) {
		enum key_callee callee = key_callee_of(target->name);

		return callee == KEY_CALLEE_OTHER ? KEY_CALLEE_OPAQUE : callee;
	}
	if (!key_is_constant(target, address))
		return KEY_CALLEE_OPAQUE;
	return machine->image->callee ? machine->image->callee(machine->image->context, *address) : KEY_CALLEE_OTHER;
}

/* What a known callee does. False when it does not return. */
static bool call_known(struct key_machine *machine, struct key_state *state, enum key_callee callee)
{
	struct key_value argument = state->registers[machine->arch->argument], result = {};
	uint64_t index;

	if (callee == KEY_CALLEE_STOP)
		return false;
	if (callee == KEY_CALLEE_GET_POINTER || callee == KEY_CALLEE_GET_VALUE) {
		struct key_value key = key_address(callee, argument);

		add_answer(&machine->result->keys, &key);
	}
	if (callee == KEY_CALLEE_TLS_ADDRESS && key_is_constant(&argument, &index))
		result = (struct key_value){.known = true, .base = KEY_BASE_INDEX, .width = 8, .slot = index};
	clobber(machine, state);
	state->registers[machine->arch->result] = result;
	return true;
}

/* Calls the function of a TLS descriptor, which changes no register but one. */
static bool call_descriptor(struct key_machine *machine, struct key_state *state, uint64_t slot)
{
	struct key_value *argument = &state->registers[machine->arch->descriptor];
	uint64_t given;

	if (!key_is_constant(argument, &given) || given != slot) {
		clobber(machine, state);
		return true;
	}
	*argument = (struct key_value){.known = true, .base = KEY_BASE_DESC, .width = 8, .slot = slot};
	state->flags.kind = KEY_FLAGS_UNKNOWN;
	return true;
}

bool key_call(struct key_machine *machine, struct key_state *state, struct key_value target)
{
	struct key_value *stack_pointer = &state->registers[machine->arch->stack_pointer];
	uint64_t address, start, end;
	enum key_callee callee;

	if (target.known && target.base == KEY_BASE_DESC_CODE && !target.loads)
		return call_descriptor(machine, state, target.slot);
	callee = callee_of(machine, &target, &address);
	if (callee != KEY_CALLEE_OTHER)
		return call_known(machine, state, callee);
	if (state->depth < KEY_CALLS && function_at(machine, address, &start, &end) && end - start <= INLINE_BYTES) {
		state->calls[state->depth].pc = state->next;
		state->calls[state->depth].start = state->start;
		state->calls[state->depth++].end = state->end;
		*stack_pointer = key_subtract(*stack_pointer, key_constant(machine->arch->return_size));
		return go_to(machine, state, address);
	}
	return call_known(machine, state, KEY_CALLEE_OPAQUE);
}

bool key_return(struct key_machine *machine, struct key_state *state)
{
	struct key_value *stack_pointer = &state->registers[machine->arch->stack_pointer];
	struct key_value *result = &state->registers[machine->arch->result];
	uint64_t constant;

	if (state->depth) {
		state->depth--;
		*stack_pointer = key_add(*stack_pointer, key_constant(machine->arch->return_size));
		state->next = state->calls[state->depth].pc;
		state->start = state->calls[state->depth].start;
		state->end = state->calls[state->depth].end;
		return true;
	}
	if (!key_is_constant(result, &constant) || constant)
		add_answer(&machine->result->returns, result);
	return false;
}

bool key_jump(struct key_machine *machine, struct key_state *state, struct key_value target)
{
	uint64_t address;
	enum key_callee callee = callee_of(machine, &target, &address);

	if (callee != KEY_CALLEE_OTHER) /* a tail call */
		return call_known(machine, state, callee) && key_return(machine, state);
	return go_to(machine, state, address);
}

static void run_way(struct key_machine *machine, struct disassembler *disassembler, struct key_state *state,
		    size_t *budget)
{
	uint8_t bytes[INSN_BYTES];

	for (;;) {
		const uint8_t *code = bytes;
		uint64_t at = state->pc;
		size_t size;

		if (!*budget) {
			machine->result->exhausted = true;
			return;
		}
		--*budget;
		/* Past the end lies another function: the last instruction was a call that does not return. */
		if (state->end && (state->pc < state->start || state->pc >= state->end))
			return;
		size = machine->image->code(machine->image->context, state->pc, bytes, sizeof(bytes));
		if (!size || !disassembler_next(disassembler, &code, &size, &at))
			return;
		state->next = at;
		if (!machine->arch->execute(machine, state, disassembler->insn))
			return;
		state->pc = state->next;
	}
}

static void init_state(struct key_machine *machine, struct key_state *state, uint64_t address, uint64_t argument,
		       bool descriptor)
{
	unsigned int where = descriptor ? machine->arch->descriptor : machine->arch->argument;

	*state = (struct key_state){.pc = address};
	state->registers[machine->arch->stack_pointer] =
		(struct key_value){.known = true, .base = KEY_BASE_STACK, .width = 8};
	if (argument != KEY_ARGUMENT_NONE)
		state->registers[where] = key_constant(argument);
	if (!function_at(machine, address, &state->start, &state->end))
		state->start = state->end = 0;
}

int key_evaluate(uint16_t machine_type, const struct key_image *image, uint64_t address, uint64_t argument,
		 bool descriptor, struct key_evaluation *ret)
{
	const struct arch *arch = arch_of(machine_type);
	struct key_machine machine = {.arch = arch ? arch->key : NULL, .image = image, .result = ret};
	struct key_state *state;
	size_t budget = BUDGET;
	struct disassembler disassembler;
	int err;

	err = arch ? disassembler_open(&disassembler, arch->capstone, arch->capstone_mode, true) : -ENOTSUP;
	if (err)
		return err;
	machine.ways = malloc((WAYS_MAX + 1) * sizeof(*machine.ways));
	if (machine.ways) {
		*ret = (struct key_evaluation){};
		state = &machine.ways[WAYS_MAX]; /* the way that is being followed has a place of its own */
		init_state(&machine, &machine.ways[0], address, argument, descriptor);
		machine.way_count = 1;
		while (machine.way_count) {
			*state = machine.ways[--machine.way_count];
			run_way(&machine, &disassembler, state, &budget);
		}
	}
	err = machine.ways ? 0 : -ENOMEM;
	free(machine.ways);
	disassembler_close(&disassembler);
	return err;
}
