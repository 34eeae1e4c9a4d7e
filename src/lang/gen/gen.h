/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen: makes BPF instructions of the core. The generator knows nothing about stacks or strings: anything complicated is
 * a call into the runtime library (lang/rt).
 *
 * Everything is in the frame, a map value: variables, temporaries, map keys, records to be sent. The verifier knows the
 * bounds of the frame but not the values in it. So a loop's body looks the same in each iteration, and is verified
 * once. A program for which this does not matter, because it is simple, has its frame on the BPF stack (stack_frame.h).
 * Loops are bpf_loop() and bpf_for_each_map_elem(), their bodies functions of their own, which reach the frame through
 * their context.
 */
#ifndef STRATA_LANG_GEN_GEN_H
#define STRATA_LANG_GEN_GEN_H

#include "lang/core/compiler.h"
#include "lang/gen/code.h"
#include "lang/rt/abi.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

#define REG_CTX   R6
#define REG_FRAME R7

/* The context of a callback, on the BPF stack. */
#define SLOT_FRAME (-16)
#define SLOT_CTX   (-8)
/* And a word for a moment. */
#define SLOT_WORD (-24)

struct function {
	struct code code;
	const char *name;    /* of a program; NULL: a loop's body */
	const char *section; /* of a program */
	uint32_t unit;
};

struct gen;

/* The code of one of the core's builtins: to R0 if the type is a scalar, else into the frame. */
struct builtin_code {
	enum core_builtin id;
	void (*scalar)(struct gen *g, const struct node *call); /* of scalars, and those without a value */
	/* Of all others. Of an aggregation: its argument is at `offset`, the address of the map's value in R0. */
	void (*place)(struct gen *g, const struct node *call, uint32_t offset);
	/*
	 * One field of a record that it gives, or NULL: such a record is written as a whole. True: its address is in
	 * R0. False: it was written to the frame, at *place. If that is not 0 before, the field can be written there.
	 */
	bool (*field)(struct gen *g, const struct node *call, const struct type_field *field, uint32_t *place);
	/*
	 * Compares such a field with a text, before the field is written; NULL: it does not. Control goes to `equal` or
	 * `differ`, or on, if that is not known yet. False: nothing was done.
	 */
	bool (*compare)(struct gen *g, const struct node *call, const struct type_field *field, const char *text,
			label equal, label differ);
};

/* builtin/builtin.h has it. */
typedef const struct builtin_code *builtin_codes(enum core_builtin id);

struct gen {
	struct compiler *c;
	builtin_codes *code_of;
	const struct unit *unit;
	VEC(struct function) functions;
	struct code *code; /* the function that is written: of functions.at[current] */
	uint32_t current;
	VEC(uint8_t) data;       /* that programs read, for code_load_data() */
	uint32_t used, used_max; /* bytes of the unit's frame */
	uint32_t frame_size;     /* the largest of those in the map `frames`; 0: there is none */
	label leave;             /* of the current function: the end of the program, or of one turn of the loop */
	uint32_t begun;          /* where CORE_BEGIN left what it found */
	bool in_callback;
	const struct node *clause; /* that is written, whose faults end it at `fault`; NULL: none */
	label fault;
	bool failed;
	struct span at; /* of the operation that is written, for warnings */
};

/* Makes one program of each kprobe and the kretprobe of the same calls (unit.back), which is a unit no more. */
void gen_sessions(struct gen *g);

/* Writes all units. False when something is too large; the report says what. */
bool gen_all(struct gen *g, struct compiler *c, builtin_codes *code_of);
void gen_deinit(struct gen *g);

/* --- for builtins and providers --- */

/* The value of a scalar in R0. */
void gen_scalar(struct gen *g, const struct node *node);
/* A value of any type to the frame, as `type`, which may be larger. */
void gen_into(struct gen *g, const struct node *node, const struct type *type, uint32_t offset);
/* The place in the frame of a value in memory: a variable's own place, or a temporary. */
uint32_t gen_place(struct gen *g, const struct node *node);
/* Converts what lies at `from` to another type at `to`. */
void gen_convert(struct gen *g, const struct type *type, uint32_t from, const struct type *to_type, uint32_t to);

/* Data for the object's programs, aligned to 8: its offset, for code_load_data(). */
uint32_t gen_data(struct gen *g, const void *bytes, size_t size);

/* Room in the frame until the statement ends, aligned to 8. */
uint32_t gen_temporary(struct gen *g, uint32_t size);

void gen_frame_load(struct gen *g, uint32_t size, int to, uint32_t offset);
void gen_frame_store(struct gen *g, uint32_t size, uint32_t offset, int from);
void gen_frame_store_imm(struct gen *g, uint32_t size, uint32_t offset, int32_t value);
/* Where in its function the instruction is that stores it. */
void gen_frame_store_place(struct gen *g, uint32_t offset);
/* The address of a place in the frame. */
void gen_frame_address(struct gen *g, int to, uint32_t offset);
void gen_zero(struct gen *g, uint32_t offset, uint32_t size);
void gen_copy(struct gen *g, uint32_t to, uint32_t from, uint32_t size);
/* A literal's bytes, filled up with zeros. */
void gen_text(struct gen *g, const char *text, uint32_t offset, uint32_t size);
/* A string that ends with a zero, from elsewhere in the frame, as one of this type. */
void gen_string(struct gen *g, const struct type *type, uint32_t from, uint32_t offset);

/* Reads a string of `size` bytes at most, terminator and the zeros behind it included, at the address in R3, cut to R4
 * bytes. */
void gen_read_string(struct gen *g, uint32_t offset, uint32_t size);

/* Reads `size` bytes at the address in R0 to the frame; what cannot be read is zeros. `span` is for warnings. */
void gen_read(struct gen *g, struct span span, uint32_t offset, uint32_t size);

/* Does the verifier know what the context's words point to? */
bool gen_context_is_typed(const struct gen *g);

/*
 * A word of the context, or a part of it from its beginning, in R0. Where the context has types the verifier knows what
 * the word points to, and allows little with it: by way of the frame it becomes a number.
 */
void gen_context_load(struct gen *g, uint32_t size, uint32_t offset);

/* What an iterator writes to, a struct seq_file *, in R1. */
void gen_iteration_output(struct gen *g);

/* tgid << 32 | pid in R0: as our own namespace, or the initial one, numbers the process. Changes R1 to R5. */
void gen_pid_tgid(struct gen *g, bool of_initial);

/*
 * In a clause: ends it if R0 is negative, because what was read at the address in the frame, at `address`, cannot be.
 * Elsewhere nothing.
 */
void gen_fault_if_failed(struct gen *g, uint32_t address);
/* Where the address in R3 is kept for that; changes nothing but the frame. */
uint32_t gen_fault_address(struct gen *g);
/* Ends the clause. R0: the second word of why. */
void gen_fault(struct gen *g, enum core_fault kind);

/* Adds 1 to one of the runtime's counters. */
void gen_count(struct gen *g, enum rt_counter counter);

/* Warns once about the place that is written. Changes R0 to R5. */
void gen_warning(struct gen *g, const char *text);

/* The same of a helper that failed, if such warnings are asked for. */
void gen_helper_warning(struct gen *g, struct span span, const char *helper, int code, const char *text);

/* Sends a record that begins at `offset` with a struct rt_event. */
void gen_send(struct gen *g, uint32_t offset, uint32_t size);
/* Begins the record of a site: room for it, and its header. What it says follows at the offset + 8. */
uint32_t gen_record(struct gen *g, uint32_t site, uint32_t size);

/* A record of a site's arguments while it is made, in their order (lang/core/record.h). */
struct gen_arguments {
	const struct type *types;
	uint32_t record;
	uint32_t end, most; /* packed: where the frame has how long the record is, and what that is at most */
	bool is_packed;
};

void gen_arguments_begin(struct gen *g, uint32_t site, struct gen_arguments *ret);
void gen_arguments_add(struct gen *g, struct gen_arguments *arguments, uint32_t index, const struct node *node);
/* In the frame, of one that is not packed, to be written there. */
uint32_t gen_arguments_place(const struct gen_arguments *arguments, uint32_t index);
void gen_arguments_send(struct gen *g, const struct gen_arguments *arguments);

/* maps (gen_map.c) */
/* Which maps have one more for their short keys. Before code is written. */
void gen_map_divide(struct compiler *c);
/*
 * Calls the helper, or the runtime's function, with the map that has the key, in R1, and the key's address in R2. What
 * follows is in R3 to R5.
 */
void gen_map_call(struct gen *g, const struct symbol *map, uint32_t key, int helper, const char *function);
uint32_t gen_key(struct gen *g, const struct symbol *map, const struct node *key);
void gen_map_value(struct gen *g, const struct node *map); /* scalar in R0 */
void gen_map_into(struct gen *g, const struct node *map, uint32_t offset);
void gen_map_assign(struct gen *g, const struct node *map, const struct node *value);
void gen_map_aggregate(struct gen *g, const struct node *map, const struct node *call);
void gen_map_step(struct gen *g, const struct node *node, bool is_used);
void gen_map_update(struct gen *g, const struct symbol *map, uint32_t key, uint32_t value);
/* The value's address in R0, or 0. */
void gen_map_lookup(struct gen *g, const struct symbol *map, uint32_t key);
/* The same; when the key is not there, it is added with zeros first. Jumps to `full` when that cannot be. */
void gen_map_lookup_or_add(struct gen *g, const struct symbol *map, uint32_t key, label full);

/* An operation on R0 (left) and R1 (right), result in R0. */
void gen_operation(struct gen *g, enum op op, bool is_signed);

void gen_statement(struct gen *g, const struct node *node);

/* targets (gen_target.c) */
/* NODE_ASSIGN to what a field, an index or a pointer names. */
void gen_target_assign(struct gen *g, const struct node *node);
/* R0 is the address of `size` bytes to be read: ends the clause if they are in scratch memory, but not in use. */
void gen_scratch_check(struct gen *g, uint32_t size);
/* CORE_COPY */
void gen_scratch_copy(struct gen *g, const struct node *call);
/* CORE_COPY_OUT */
void gen_copy_out(struct gen *g, const struct node *call);
/* A pointer in R0 becomes a number. */
void gen_number_of_pointer(struct gen *g);

/* Begins and ends a loop's body: a function of its own. Gives its index; the state to go back to is kept by the caller.
 */
struct gen_saved {
	uint32_t current;
	label leave;
	bool in_callback;
};
uint32_t gen_begin_callback(struct gen *g, int context_register, struct gen_saved *saved);
void gen_end_callback(struct gen *g, const struct gen_saved *saved);
/* After the loop's helper: continues, or leaves if the body has returned. */
void gen_after_loop(struct gen *g);

#endif
