/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key: the effect of instructions on the abstract machine of the thread-key decoder (runtime/python/key_decoder.h),
 * which follows the code of functions that find a thread's own data. A machine's file decodes instructions and executes
 * them through the functions below, which the decoder provides.
 */
#ifndef STRATA_ARCH_KEY_H
#define STRATA_ARCH_KEY_H

#include "base/disassembler.h"

#define KEY_LOADS 4

enum key_base {
	KEY_BASE_NONE,
	KEY_BASE_INDEX,     /* what __tls_get_addr(slot) returns */
	KEY_BASE_DESC,      /* what the TLS descriptor at `slot` gives: an offset from the thread pointer */
	KEY_BASE_DESC_CODE, /* the function of the TLS descriptor at `slot` */
	KEY_BASE_STACK,     /* the stack pointer on entry */
	KEY_BASE_IMPORT     /* the function `name` of another module */
};

struct key_value {
	bool known;
	uint8_t base;                  /* enum key_base */
	uint8_t loads;                 /* <= KEY_LOADS */
	uint8_t width;                 /* bytes of the last load: 4 (the upper half is 0) or 8 */
	int8_t pointer[KEY_LOADS + 1]; /* how often the thread pointer is added: -1, 0, 1 */
	int64_t offset[KEY_LOADS + 1];
	uint64_t slot;
	const char *name;
};

#define KEY_REGISTERS 33
#define KEY_STACK     24 /* remembered slots */
#define KEY_CALLS     3

enum key_flags_kind { KEY_FLAGS_UNKNOWN, KEY_FLAGS_COMPARE, KEY_FLAGS_TEST };

/* What the flags were set from: a - b, or a & b. */
struct key_flags {
	enum key_flags_kind kind;
	unsigned int width;
	struct key_value a, b;
};

struct key_state {
	uint64_t pc, next;   /* of the instruction, and behind it: set `next` to jump */
	uint64_t start, end; /* the function; end 0: not known */
	struct key_value registers[KEY_REGISTERS];
	struct key_flags flags;
	struct {
		int64_t at;
		unsigned int width;
		struct key_value value;
	} stack[KEY_STACK];
	size_t stack_count;
	struct {
		uint64_t pc, start, end;
	} calls[KEY_CALLS];
	size_t depth;
};

struct key_machine;

/* Executes an instruction. False: this path ends here. */
typedef bool (*key_execute)(struct key_machine *machine, struct key_state *state, const cs_insn *insn);

struct key_arch {
	key_execute execute;
	unsigned int argument, result, descriptor, stack_pointer;
	uint64_t clobbered;       /* registers that a call changes */
	unsigned int return_size; /* bytes that a call pushes */
};

struct key_value key_constant(uint64_t value);
struct key_value key_thread_pointer(int64_t offset);
bool key_is_constant(const struct key_value *value, uint64_t *ret);
bool key_same(const struct key_value *a, const struct key_value *b);
struct key_value key_add(struct key_value a, struct key_value b);
struct key_value key_subtract(struct key_value a, struct key_value b);
/* The low `width` bytes, zero-extended. */
struct key_value key_truncate(struct key_value value, unsigned int width);

struct key_value key_load(struct key_machine *machine, struct key_state *state, struct key_value address,
			  unsigned int width);
void key_store(struct key_state *state, struct key_value address, unsigned int width, struct key_value value);

/* Conditions over the flags. */
enum key_condition {
	KEY_EQUAL,
	KEY_NOT_EQUAL,
	KEY_ABOVE,
	KEY_ABOVE_EQUAL,
	KEY_BELOW,
	KEY_BELOW_EQUAL,
	KEY_NEGATIVE,
	KEY_NOT_NEGATIVE,
	KEY_GREATER,
	KEY_GREATER_EQUAL,
	KEY_LESS,
	KEY_LESS_EQUAL,
	KEY_OTHER_CONDITION
};

/* 1, 0, or -1 when it is not known. */
int key_test(const struct key_flags *flags, enum key_condition condition);

/* A conditional jump: follows one path or both. */
bool key_branch(struct key_machine *machine, struct key_state *state, const struct key_flags *flags,
		enum key_condition condition, uint64_t target);
/* Jumps and calls to a value. `descriptor`: a call that could be a TLS descriptor's. */
bool key_jump(struct key_machine *machine, struct key_state *state, struct key_value target);
bool key_call(struct key_machine *machine, struct key_state *state, struct key_value target);
bool key_return(struct key_machine *machine, struct key_state *state);

#endif
