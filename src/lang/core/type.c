// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/type.h"

#include <string.h>

#include "lang/rt/abi.h"

#define INTEGER(bytes, sign, ...)                                                                                      \
	{                                                                                                              \
		.kind = TYPE_INT, .size = bytes, .align = bytes, .is_signed = sign, ##__VA_ARGS__                      \
	}

const struct type type_none = {.kind = TYPE_NONE, .align = 1};
const struct type type_bool = {.kind = TYPE_BOOL, .size = 1, .align = 1};
const struct type type_int64 = INTEGER(8, true), type_uint64 = INTEGER(8, false);
const struct type type_int32 = INTEGER(4, true), type_uint32 = INTEGER(4, false);
const struct type type_int16 = INTEGER(2, true), type_uint16 = INTEGER(2, false);
const struct type type_int8 = INTEGER(1, true), type_uint8 = INTEGER(1, false);
const struct type type_char = INTEGER(1, true, .is_char = true);
static const struct type type_literal64 = INTEGER(8, true, .is_flexible = true);
static const struct type type_literal32 = INTEGER(4, true, .is_flexible = true);
static const struct type type_literal16 = INTEGER(2, true, .is_flexible = true);
const struct type type_literal = INTEGER(1, true, .is_flexible = true);
const struct type type_void_pointer = {.kind = TYPE_POINTER, .size = 8, .align = 8, .to = &type_none};
const struct type type_user = {.kind = TYPE_USER, .size = 8, .align = 8};
const struct type type_comm = {.kind = TYPE_COMM, .size = 8, .align = 8};
const struct type type_probe = {.kind = TYPE_PROBE, .size = 8, .align = 8};
const struct type type_error = {.kind = TYPE_ERROR, .size = 8, .align = 8};
const struct type type_signal = {.kind = TYPE_SIGNAL, .size = 8, .align = 8};
const struct type type_syscall = {.kind = TYPE_SYSCALL, .size = 8, .align = 8};
const struct type type_cgroup = {.kind = TYPE_CGROUP, .size = 8, .align = 8};
const struct type type_inet = {.kind = TYPE_INET, .size = 24, .align = 8};
const struct type type_mac = {.kind = TYPE_MAC, .size = 6, .align = 1};

/* Where memory is short the arena has noted it, and no result is used: any type will do. */
static const struct type *make(struct arena *arena, struct type value)
{
	struct type *type = arena_new(arena, struct type);

	if (!type)
		return &type_none;
	*type = value;
	return type;
}

const struct type *type_string(struct arena *arena, uint32_t size)
{
	/* Whole words: they are compared and filled by words. */
	return make(arena, (struct type){.kind = TYPE_STRING, .size = (size + 7) & ~7u, .align = 1, .count = size});
}

const struct type *type_string_cut(struct arena *arena, uint32_t limit)
{
	return make(
		arena,
		(struct type){
			.kind = TYPE_STRING, .size = (limit + 8) & ~7u, .align = 1, .count = limit, .limit = limit});
}

const struct type *type_buffer(struct arena *arena, uint32_t bytes)
{
	return make(arena, (struct type){.kind = TYPE_BUFFER, .size = 4 + ((bytes + 3) & ~3u), .align = 4});
}

const struct type *type_pointer(struct arena *arena, const struct type *to)
{
	return make(arena, (struct type){.kind = TYPE_POINTER, .size = 8, .align = 8, .to = to});
}

const struct type *type_array(struct arena *arena, const struct type *element, uint32_t count)
{
	return make(arena, (struct type){.kind = TYPE_ARRAY,
					 .size = element->size * count,
					 .align = element->align,
					 .to = element,
					 .count = count});
}

const struct type *type_tuple(struct arena *arena, const struct type *const *elements, const char *const *names,
			      uint32_t count)
{
	struct type_field *fields = arena_array(arena, struct type_field, count + 1);
	struct type type = {.kind = TYPE_TUPLE, .align = 1, .fields = fields, .field_count = count};
	uint32_t i;

	if (!fields)
		return &type_none;
	for (i = 0; i < count; i++) {
		uint32_t align = elements[i]->align ? elements[i]->align : 1;

		type.size = (type.size + align - 1) & ~(align - 1);
		fields[i] =
			(struct type_field){.name = names ? names[i] : NULL, .type = elements[i], .offset = type.size};
		type.size += elements[i]->size;
		if (align > type.align)
			type.align = align;
	}
	type.size = (type.size + type.align - 1) & ~(type.align - 1);
	return make(arena, type);
}

const struct type *type_stack(struct arena *arena, uint32_t parts, uint32_t limit, enum stack_style style)
{
	return make(arena, (struct type){.kind = TYPE_STACK,
					 .size = sizeof(struct rt_stack_value),
					 .align = 8,
					 .variant = parts,
					 .limit = limit,
					 .style = style});
}

const struct type *type_symbol(struct arena *arena, enum symbol_side side)
{
	return make(arena, (struct type){.kind = TYPE_SYMBOL, .size = 16, .align = 8, .variant = side});
}

const struct type *type_time(struct arena *arena, const char *format)
{
	return make(arena, (struct type){.kind = TYPE_TIME, .size = 8, .align = 8, .name = format});
}

const struct type *type_aggregate(struct arena *arena, enum type_kind kind, bool is_signed)
{
	uint32_t size = kind == TYPE_COUNT || kind == TYPE_SUM ? 8 : kind == TYPE_STDDEV ? 32 : 16;

	return make(arena, (struct type){.kind = kind, .size = size, .align = 8, .is_signed = is_signed});
}

uint32_t hist_buckets(uint32_t bits)
{
	return 1 + (1u << bits) + ((64 - bits) << bits);
}

const struct type *type_hist(struct arena *arena, uint32_t bits)
{
	return make(arena, (struct type){.kind = TYPE_HIST, .size = 8 * hist_buckets(bits), .align = 8, .bits = bits});
}

const struct type *type_lhist(struct arena *arena, int64_t low, int64_t high, int64_t step)
{
	uint32_t buckets = (uint32_t)((high - low) / step) + 2;

	return make(
		arena,
		(struct type){
			.kind = TYPE_LHIST, .size = 8 * buckets, .align = 8, .low = low, .high = high, .step = step});
}

const struct type *type_quantize(struct arena *arena)
{
	return make(arena, (struct type){.kind = TYPE_QUANTIZE, .size = 8 * QUANTIZE_BUCKETS, .align = 8});
}

const struct type *type_llquantize(struct arena *arena, int64_t factor, int64_t low, int64_t high, int64_t steps)
{
	int64_t buckets = (high - low + 1) * (steps - steps / factor) * 2 + 3;

	return make(arena, (struct type){.kind = TYPE_LLQUANTIZE,
					 .size = (uint32_t)(8 * buckets),
					 .align = 8,
					 .bits = (uint32_t)factor,
					 .low = low,
					 .high = high,
					 .step = steps});
}

const struct type *type_tseries(struct arena *arena, int64_t interval, int64_t count, uint32_t how, bool is_signed)
{
	return make(arena, (struct type){.kind = TYPE_TSERIES,
					 .size = (uint32_t)(count * (int64_t)sizeof(struct rt_series_interval)),
					 .align = 8,
					 .is_signed = is_signed,
					 .variant = how,
					 .low = interval,
					 .high = count});
}

const struct type *type_integer(uint32_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? &type_int8 : &type_uint8;
	case 2:
		return is_signed ? &type_int16 : &type_uint16;
	case 4:
		return is_signed ? &type_int32 : &type_uint32;
	default:
		return is_signed ? &type_int64 : &type_uint64;
	}
}

/* The flexible type that holds numbers up to `value`. */
static const struct type *flexible(uint64_t value)
{
	return value <= INT8_MAX    ? &type_literal
	       : value <= INT16_MAX ? &type_literal16
	       : value <= INT32_MAX ? &type_literal32
				    : &type_literal64;
}

const struct type *type_of_number(uint64_t value, bool is_unsigned)
{
	int64_t number = (int64_t)value;

	if (number >= 0)
		return flexible(value);
	if (is_unsigned)
		return &type_uint64;
	return number >= INT8_MIN    ? &type_int8
	       : number >= INT16_MIN ? &type_int16
	       : number >= INT32_MIN ? &type_int32
				     : &type_int64;
}

uint32_t type_element(const struct type *from, uint32_t index, const struct type *in)
{
	const char *name = from->fields[index].name;
	uint32_t i;

	for (i = 0; name && i < in->field_count; i++)
		if (in->fields[i].name && !strcmp(in->fields[i].name, name))
			return i;
	return name ? in->field_count : index;
}

static bool same_fields(const struct type *a, const struct type *b)
{
	uint32_t i;

	if (a->field_count != b->field_count)
		return false;
	for (i = 0; i < a->field_count; i++)
		if (type_element(a, i, b) != i || type_element(b, i, a) != i ||
		    !type_equal(a->fields[i].type, b->fields[i].type))
			return false;
	return true;
}

bool type_equal(const struct type *a, const struct type *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->size != b->size || a->is_signed != b->is_signed ||
	    a->is_flexible != b->is_flexible)
		return false;
	switch (a->kind) {
	case TYPE_POINTER:
		if (a->to->kind != TYPE_RECORD || b->to->kind != TYPE_RECORD)
			return type_equal(a->to, b->to);
		return a->to == b->to || (a->to->name && a->to->name == b->to->name);
	case TYPE_ARRAY:
		return a->count == b->count && type_equal(a->to, b->to);
	case TYPE_RECORD:
		return a->name == b->name && a->fields == b->fields;
	case TYPE_TUPLE:
		return same_fields(a, b);
	case TYPE_STACK:
		return a->variant == b->variant && a->limit == b->limit && a->style == b->style;
	case TYPE_SYMBOL:
		return a->variant == b->variant;
	case TYPE_TIME:
		return !strcmp(a->name, b->name);
	case TYPE_CGROUP:
		return a->name == b->name || (a->name && b->name && !strcmp(a->name, b->name));
	case TYPE_HIST:
		return a->bits == b->bits;
	case TYPE_TSERIES:
		return a->low == b->low && a->high == b->high && a->variant == b->variant;
	case TYPE_LLQUANTIZE:
		return a->bits == b->bits && a->low == b->low && a->high == b->high && a->step == b->step;
	case TYPE_LHIST:
		return a->low == b->low && a->high == b->high && a->step == b->step;
	default:
		return true;
	}
}

static const struct type *join_integers(const struct type *a, const struct type *b)
{
	const struct type *larger = a->size > b->size ? a : b;
	uint32_t size = larger->size;

	if (a->name && b->name && a->name == b->name)
		return larger;
	if (a->is_flexible && b->is_flexible)
		return larger;
	if (a->is_flexible || b->is_flexible)
		return type_integer(size, a->is_flexible ? b->is_signed : a->is_signed);
	if (a->is_signed == b->is_signed)
		return type_integer(size, a->is_signed);
	if ((a->is_signed ? a : b)->size > (a->is_signed ? b : a)->size)
		return type_integer(size, true);
	return size < 8 ? type_integer(size * 2, true) : &type_int64;
}

static const struct type *join_tuples(struct arena *arena, const struct type *a, const struct type *b)
{
	const struct type **elements = arena_array(arena, const struct type *, a->field_count + 1);
	const char **names = arena_array(arena, const char *, a->field_count + 1);
	uint32_t i;

	if (a->field_count != b->field_count || !elements || !names)
		return NULL;
	for (i = 0; i < a->field_count; i++) {
		uint32_t other = type_element(a, i, b);

		if (other == b->field_count || type_element(b, other, a) != i)
			return NULL;
		elements[i] = type_join(arena, a->fields[i].type, b->fields[other].type);
		names[i] = a->fields[i].name;
		if (!elements[i])
			return NULL;
	}
	return type_tuple(arena, elements, names, a->field_count);
}

const struct type *type_join(struct arena *arena, const struct type *a, const struct type *b)
{
	if (type_equal(a, b) && (a->kind != TYPE_INT || a->name == b->name))
		return a;
	if (a->kind == TYPE_INT && b->kind == TYPE_INT)
		return join_integers(a, b);
	if (type_is_number(a) && type_is_number(b))
		return a->kind == TYPE_INT ? a : b;
	if (a->kind == TYPE_POINTER && b->kind == TYPE_POINTER)
		return a->to->kind == TYPE_NONE ? b : b->to->kind == TYPE_NONE ? a : NULL;
	/* An address that was kept as a number, and 0 for none. */
	if (a->kind == TYPE_POINTER && b->kind == TYPE_INT)
		return b->is_flexible ? a : NULL;
	if (a->kind == TYPE_INT && b->kind == TYPE_POINTER)
		return a->is_flexible ? b : NULL;
	if (a->kind != b->kind)
		return NULL;
	switch (a->kind) {
	case TYPE_STRING:
		return a->count > b->count ? a : b;
	case TYPE_BUFFER:
		return a->size > b->size ? a : b;
	case TYPE_TUPLE:
		return join_tuples(arena, a, b);
	default:
		return type_equal(a, b) ? a : NULL;
	}
}

static const char *const kind_names[] = {
	[TYPE_NONE] = "none",
	[TYPE_BOOL] = "bool",
	[TYPE_BUFFER] = "buffer",
	[TYPE_SYMBOL] = "symbol",
	[TYPE_TIME] = "timestamp",
	[TYPE_INET] = "inet",
	[TYPE_MAC] = "mac address",
	[TYPE_USER] = "username",
	[TYPE_COMM] = "process name",
	[TYPE_PROBE] = "probe",
	[TYPE_ERROR] = "strerror",
	[TYPE_SIGNAL] = "signal name",
	[TYPE_SYSCALL] = "syscall name",
	[TYPE_CGROUP] = "cgroup path",
	[TYPE_COUNT] = "count",
	[TYPE_SUM] = "sum",
	[TYPE_MINIMUM] = "min",
	[TYPE_MAXIMUM] = "max",
	[TYPE_AVG] = "avg",
	[TYPE_STATS] = "stats",
	[TYPE_HIST] = "hist",
	[TYPE_LHIST] = "lhist",
	[TYPE_TSERIES] = "tseries",
	[TYPE_STDDEV] = "stddev",
	[TYPE_QUANTIZE] = "quantize",
	[TYPE_LLQUANTIZE] = "llquantize",
};

static const char *describe_stack(struct arena *arena, const struct type *type)
{
	static const char *const styles[] = {"bpftrace", "perf", "raw", "build_id", "folded", "sized"};
	const char *name = type->variant == STACK_KERNEL   ? "kstack"
			   : type->variant == STACK_NATIVE ? "ustack"
			   : type->variant == STACK_SECOND ? "pystack"
							   : "stack";

	if (type->limit)
		return arena_printf(arena, "%s(%s, %u)", name, styles[type->style], type->limit);
	return type->style ? arena_printf(arena, "%s(%s)", name, styles[type->style]) : name;
}

const char *type_describe(struct arena *arena, const struct type *type)
{
	const char *text = "(";
	uint32_t i;

	switch (type->kind) {
	case TYPE_INT:
		if (type->name)
			return arena_printf(arena, "enum %s", type->name);
		return arena_printf(arena, "%sint%u", type->is_signed ? "" : "u", type->size * 8);
	case TYPE_POINTER:
		return arena_printf(arena, "%s *", type->to->kind ? type_describe(arena, type->to) : "void");
	case TYPE_ARRAY:
		return arena_printf(arena, "%s[%u]", type_describe(arena, type->to), type->count);
	case TYPE_RECORD:
		return arena_printf(arena, "%s %s", type->is_union ? "union" : "struct",
				    type->name ? type->name : "(anonymous)");
	case TYPE_STRING:
		return arena_printf(arena, "string[%u]", type->count);
	case TYPE_STACK:
		return describe_stack(arena, type);
	case TYPE_TUPLE:
		for (i = 0; i < type->field_count; i++)
			text = arena_printf(arena, "%s%s%s%s%s", text, i ? "," : "",
					    type->fields[i].name ? type->fields[i].name : "",
					    type->fields[i].name ? "=" : "",
					    type_describe(arena, type->fields[i].type));
		return arena_printf(arena, "%s)", text);
	default:
		return kind_names[type->kind];
	}
}
