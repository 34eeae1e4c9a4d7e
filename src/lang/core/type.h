/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * type: the types of values. A type is immutable and lives in the arena; two types may be equal without being the same
 * pointer. Sizes and offsets are those in memory: in the generator's frame, in map keys and values, and in the records
 * that user space prints.
 *
 * Values of TYPE_INT, TYPE_BOOL and TYPE_POINTER are scalars: they fit into a register, where they are sign- or
 * zero-extended to 64 bits. All others live in memory. Strings are padded with zeros to their size, so that equal
 * strings have equal bytes.
 */
#ifndef STRATA_LANG_CORE_TYPE_H
#define STRATA_LANG_CORE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct types_source;

enum type_kind {
	TYPE_NONE,
	TYPE_INT,
	TYPE_BOOL,
	TYPE_POINTER,
	TYPE_STRING,
	TYPE_BUFFER, /* u32 length, then `size - 4` bytes */
	TYPE_RECORD, /* struct or union */
	TYPE_ARRAY,
	TYPE_TUPLE,
	TYPE_STACK,   /* struct rt_stack_value of lang/rt/abi.h */
	TYPE_SYMBOL,  /* u64 address, u64 pid; an address to be printed by name */
	TYPE_TIME,    /* u64 nanoseconds, to be printed by a strftime format */
	TYPE_INET,    /* u64 family, 16 bytes */
	TYPE_MAC,     /* 6 bytes */
	TYPE_USER,    /* u64: a user id, to be printed by name */
	TYPE_COMM,    /* u64: a process id, to be printed by name */
	TYPE_PROBE,   /* u64: number of an attach point, to be printed by name */
	TYPE_ERROR,   /* u64: an errno, to be printed in words */
	TYPE_SIGNAL,  /* u64: a signal, to be printed in words */
	TYPE_SYSCALL, /* u64: a system call, to be printed by name */
	TYPE_CGROUP,  /* u64: a cgroup id, to be printed as path */
	/* Map values, by the aggregation that is assigned; `bits`, `low`, `high`, `step` are for hist and lhist. */
	TYPE_COUNT,
	TYPE_SUM,
	TYPE_MINIMUM,
	TYPE_MAXIMUM,
	TYPE_AVG,
	TYPE_STATS,
	TYPE_HIST,
	TYPE_LHIST,
	TYPE_TSERIES,   /* struct rt_series_interval, `high` of them, of `low` nanoseconds */
	TYPE_STDDEV,    /* sum, count, sum of the squares: low and high word */
	TYPE_QUANTIZE,  /* QUANTIZE_BUCKETS counters, by the power of two, from the lowest negative one up */
	TYPE_LLQUANTIZE /* counters of `step` steps in each power of `bits`, from the power `low` to `high` */
};

enum stack_part { STACK_KERNEL = 1, STACK_NATIVE = 2, STACK_SECOND = 4 };
/* STACK_STYLE_SIZED: perf's, with the symbol's size behind the offset. */
enum stack_style {
	STACK_STYLE_DEFAULT,
	STACK_STYLE_PERF,
	STACK_STYLE_RAW,
	STACK_STYLE_BUILD_ID,
	STACK_STYLE_FOLDED,
	STACK_STYLE_SIZED
};
enum symbol_side { SYMBOL_KERNEL, SYMBOL_USER };

struct type_field {
	const char *name; /* NULL in a tuple, and for anonymous members */
	const struct type *type;
	uint32_t offset;
	uint8_t bit_offset, bit_size; /* bit_size 0: no bit field */
	const char *declaration;      /* as spelled in its definition, with the name; NULL: only the type is known */
	const char *spelled;          /* its type alone, as C writes it; NULL: not known, or the type's own name */
};

struct type_value {
	const char *name;
	int64_t value;
};

struct type {
	enum type_kind kind;
	uint32_t size;
	uint32_t align;
	bool is_signed;
	bool is_flexible; /* TYPE_INT: of literals over -1 alone, so that its sign is that of what it meets */
	bool is_union;
	bool is_data_loc;                /* TYPE_POINTER of 4 bytes in a tracepoint's record: where the text is in it */
	bool is_char;                    /* TYPE_INT of one byte that C calls char: arrays of it are strings */
	uint32_t count;                  /* TYPE_ARRAY; TYPE_STRING: bytes asked for, `size` is whole words of them */
	const struct type *to;           /* TYPE_POINTER, TYPE_ARRAY */
	const char *name;                /* TYPE_RECORD, an enum (TYPE_INT with values); TYPE_TIME: the format;
					    TYPE_CGROUP: a pattern of hierarchies, or NULL */
	const struct type_field *fields; /* TYPE_RECORD, TYPE_TUPLE */
	uint32_t field_count;
	bool is_incomplete;                /* TYPE_RECORD whose fields are not known yet: see types_complete() */
	const struct types_source *source; /* who knows them; NULL: that of all names */
	const struct type_value *values;   /* an enum's */
	uint32_t value_count;
	uint32_t variant;        /* TYPE_STACK: enum stack_part bits; TYPE_SYMBOL: enum symbol_side; TYPE_TSERIES: enum
				    rt_series */
	uint32_t style;          /* TYPE_STACK; of TYPE_SYMBOL what its dialect wants */
	uint32_t limit;          /* TYPE_STACK: frames at most; TYPE_STRING: characters at which it was cut, or 0 */
	uint32_t bits;           /* TYPE_HIST */
	int64_t low, high, step; /* TYPE_LHIST, TYPE_TSERIES */
};

extern const struct type type_none, type_bool, type_int64, type_uint64, type_int32, type_uint32, type_int16,
	type_uint16, type_int8, type_uint8, type_char, type_void_pointer, type_user, type_comm, type_probe, type_error,
	type_signal, type_syscall, type_cgroup, type_inet, type_mac;
/* The type of 0, and of numbers that are not known yet: the narrowest flexible type. */
extern const struct type type_literal;

const struct type *type_string(struct arena *arena, uint32_t size);
/* A string type that is cut to this many characters, which is shown when it is printed. */
const struct type *type_string_cut(struct arena *arena, uint32_t limit);
const struct type *type_buffer(struct arena *arena, uint32_t bytes);
const struct type *type_pointer(struct arena *arena, const struct type *to);
const struct type *type_array(struct arena *arena, const struct type *element, uint32_t count);
const struct type *type_tuple(struct arena *arena, const struct type *const *elements, const char *const *names,
			      uint32_t count);
const struct type *type_stack(struct arena *arena, uint32_t parts, uint32_t limit, enum stack_style style);
const struct type *type_symbol(struct arena *arena, enum symbol_side side);
const struct type *type_time(struct arena *arena, const char *format);
/* TYPE_COUNT to TYPE_STATS; for histograms, whose values are arrays of counters, type_hist() and type_lhist(). */
const struct type *type_aggregate(struct arena *arena, enum type_kind kind, bool is_signed);
const struct type *type_hist(struct arena *arena, uint32_t bits);
const struct type *type_lhist(struct arena *arena, int64_t low, int64_t high, int64_t step);
const struct type *type_quantize(struct arena *arena);
const struct type *type_llquantize(struct arena *arena, int64_t factor, int64_t low, int64_t high, int64_t steps);
const struct type *type_tseries(struct arena *arena, int64_t interval, int64_t count, uint32_t how, bool is_signed);

/* The integer type of this size and sign. */
const struct type *type_integer(uint32_t size, bool is_signed);
/* Of a number in the script: the narrowest signed type that holds it, uint64 where there is none. */
const struct type *type_of_number(uint64_t value, bool is_unsigned);

static inline bool type_is_scalar(const struct type *type)
{
	return type->kind == TYPE_INT || type->kind == TYPE_BOOL || type->kind == TYPE_POINTER;
}

/* Bytes of an array's or a string's content. */
static inline uint32_t type_bytes(const struct type *type)
{
	return type->kind == TYPE_STRING ? type->count : type->size;
}

static inline bool type_is_number(const struct type *type)
{
	return type->kind == TYPE_INT || type->kind == TYPE_BOOL;
}

static inline bool type_is_aggregate(const struct type *type)
{
	return type->kind >= TYPE_COUNT;
}

/* An aggregation that is one number, which expressions may read. */
static inline bool type_is_readable_aggregate(const struct type *type)
{
	return type->kind >= TYPE_COUNT && type->kind <= TYPE_STATS;
}

bool type_equal(const struct type *a, const struct type *b);

/* Where the element number `index` of the tuple `from` is in another one: by name in records, else the same. */
uint32_t type_element(const struct type *from, uint32_t index, const struct type *in);

/*
 * The type that holds values of both: the wider integer, the longer string, a tuple of such elements. NULL if there is
 * none.
 */
const struct type *type_join(struct arena *arena, const struct type *a, const struct type *b);

/* How a message names it. */
const char *type_describe(struct arena *arena, const struct type *type);

#define INET_BYTES        16    /* of the address in TYPE_INET, behind the family's 8 */
#define STRING_MAX        32768 /* bytes */
#define HIST_BITS_MAX     5u
#define LHIST_BUCKETS_MAX 1000u
#define QUANTIZE_BUCKETS  127u
#define QUANTIZE_ZERO     63u /* the bucket of 0 */
#define TSERIES_MAX       600 /* intervals: what fits a frame beside others */
/* Counters of a hist() with so many bits: negative, then 2^bits exact ones, then 2^bits for each power of two. */
uint32_t hist_buckets(uint32_t bits);

#endif
