/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_decoder_parts: the machine that the instructions of an architecture act on; for key_decoder*.c only.
 */
#ifndef STRATA_PYTHON_KEY_DECODER_PARTS_H
#define STRATA_PYTHON_KEY_DECODER_PARTS_H

#include "base/disassembler.h"
#include "python/key_decoder.h"

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

/* An instruction's effect. False: this way ends here. */
typedef bool (*key_execute)(struct key_machine *machine, struct key_state *state, const cs_insn *insn);

struct key_arch {
	uint16_t machine; /* EM_* */
	cs_arch arch;
	cs_mode mode;
	key_execute execute;
	unsigned int argument, result, descriptor, stack_pointer;
	uint64_t clobbered;       /* registers that a call changes */
	unsigned int return_size; /* bytes that a call pushes */
};

extern const struct key_arch key_arch_x86_64, key_arch_aarch64;

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

/* A conditional jump: goes on one way or both. */
bool key_branch(struct key_machine *machine, struct key_state *state, const struct key_flags *flags,
		enum key_condition condition, uint64_t target);
/* Jumps and calls to a value. `descriptor`: a call that could be a TLS descriptor's. */
bool key_jump(struct key_machine *machine, struct key_state *state, struct key_value target);
bool key_call(struct key_machine *machine, struct key_state *state, struct key_value target);
bool key_return(struct key_machine *machine, struct key_state *state);

#endif
