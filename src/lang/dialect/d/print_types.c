// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * print(): what a pointer points to, a member a line, by its type:
 *
 *     0xffff888100c30000 = *
 *                                             (struct list_head) {
 *                                              .next = (struct list_head *)0xffff888100c30008,
 *                                             }
 *
 * As in dtrace, members that are 0 are left out, and `...` stands where the bytes end. A `}` is not printed before the
 * next member is.
 */
#include <string.h>

#include "lang/core/value.h"
#include "lang/dialect/d/d.h"

#define INDENT    44 /* columns of the outermost line */
#define DEPTH_MAX 10

struct typed {
	FILE *out;
	const uint8_t *bytes;
	size_t size;
	size_t limit;  /* what begins behind it is not printed */
	uint32_t open; /* the depth of the line that was printed last */
	bool is_record[DEPTH_MAX];
};

/* A type without a field's own spelling. */
static void put_name(FILE *out, const struct type *type)
{
	static const char *const integers[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long"};

	switch (type->kind) {
	case TYPE_RECORD:
		if (!d_is_floating(type))
			fprintf(out, "%s%s", type->is_union ? "union" : "struct", type->name && *type->name ? " " : "");
		fputs(type->name ? type->name : "", out);
		break;
	case TYPE_POINTER:
		put_name(out, type->to);
		fputs(type->to->kind == TYPE_POINTER ? "*" : " *", out);
		break;
	case TYPE_ARRAY:
		put_name(out, type->to);
		fprintf(out, " [%u]", type->count);
		break;
	case TYPE_BOOL:
		fputs("bool", out);
		break;
	case TYPE_INT:
		if (type->value_count)
			fprintf(out, "enum%s%s", type->name && *type->name ? " " : "", type->name ? type->name : "");
		else
			fprintf(out, "%s%s", type->is_signed ? "" : "unsigned ",
				type->size <= 8 && integers[type->size] ? integers[type->size] : "?");
		break;
	default:
		fputs("void", out);
	}
}

static void put_type(FILE *out, const struct type *type, const char *spelled)
{
	fputc('(', out);
	if (spelled)
		fputs(spelled, out);
	else
		put_name(out, type);
	fputc(')', out);
}

static void line_begin(const struct typed *t, uint32_t depth, const char *name)
{
	fprintf(t->out, "%*s", (int)(INDENT + depth), "");
	if (name && *name)
		fprintf(t->out, ".%s = ", name);
}

/* The braces that are open below this depth. */
static void close_braces(struct typed *t, uint32_t depth)
{
	for (; t->open > depth; t->open--)
		if (t->is_record[t->open - 1]) {
			line_begin(t, t->open - 1, NULL);
			fputs(t->open > 1 ? "},\n" : "}\n", t->out);
		}
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	while (size && !*bytes) {
		bytes++;
		size--;
	}
	return !size;
}

static void put_scalar(const struct typed *t, const struct type *type, const char *spelled, uint64_t value)
{
	uint32_t i;

	for (i = 0; i < type->value_count; i++)
		if (type->values[i].value == (int64_t)value) {
			fprintf(t->out, "%s,\n", type->values[i].name);
			return;
		}
	if (type->kind == TYPE_POINTER)
		fprintf(t->out, "0x%llx,\n", (unsigned long long)value);
	else if (type->size == 1 && ((spelled && !strcmp(spelled, "char")) || (!spelled && type->is_char)))
		/* What is no letter could be an order to the terminal. */
		fprintf(t->out, (char)value < ' ' || (char)value > '~' ? "'\\%03o',\n" : "'%c',\n", (uint8_t)value);
	else if (type->is_signed)
		fprintf(t->out, "%lld,\n", (long long)value);
	else
		fprintf(t->out, "%llu,\n", (unsigned long long)value);
}

static bool put_value(struct typed *t, const struct type_field *field, size_t at, uint32_t depth);

static bool put_members(struct typed *t, const struct type *type, size_t at, uint32_t depth)
{
	uint32_t i;

	for (i = 0; i < type->field_count; i++)
		if (!put_value(t, &type->fields[i], at + type->fields[i].offset, depth))
			return false;
	return true;
}

/* The element of `int [4][3]` is an `int [3]`. */
static const char *spelled_element(const struct type *array, const char *spelled, char *ret, size_t size)
{
	const char *from = spelled ? strchr(spelled, '[') : NULL, *to = from ? strchr(from, ']') : NULL;
	size_t before = from ? (size_t)(from - spelled) : 0;

	if (!to)
		return NULL;
	if (array->to->kind != TYPE_ARRAY && before && spelled[before - 1] == ' ')
		before--;
	snprintf(ret, size, "%.*s%s", (int)before, spelled, to + 1);
	return ret;
}

static bool put_elements(struct typed *t, const struct type *type, const char *spelled, size_t at, uint32_t depth)
{
	bool is_text = type->to->kind == TYPE_INT && type->to->size == 1, goes_on = true;
	char text[256];
	struct type_field element = {.type = type->to, .spelled = spelled_element(type, spelled, text, sizeof(text))};
	uint32_t i;

	for (i = 0; i < type->count && type->to->size && goes_on; i++, at += type->to->size) {
		if (is_text && at < t->size && !t->bytes[at])
			break;
		goes_on = put_value(t, &element, at, depth + 1);
	}
	if (type->count && goes_on) {
		close_braces(t, depth + 1);
		t->open = depth;
		line_begin(t, depth, NULL);
		fputs("],\n", t->out);
	}
	return goes_on;
}

/* False: the bytes have ended. */
static bool put_value(struct typed *t, const struct type_field *field, size_t at, uint32_t depth)
{
	const struct type *type = field->type;
	uint64_t value = 0;

	/* Of what is made of parts and is not whole, those that are there. */
	if (at >= t->limit || depth >= DEPTH_MAX ||
	    (type->size > t->size - at && type->kind != TYPE_RECORD && type->kind != TYPE_ARRAY)) {
		line_begin(t, depth, NULL);
		fputs("...\n", t->out);
		return false;
	}
	close_braces(t, depth);
	if (type_is_scalar(type)) {
		value = scalar_load(t->bytes + at, type->size, type->is_signed);
		if (field->bit_size)
			value = value >> field->bit_offset &
				(field->bit_size < 64 ? (1ull << field->bit_size) - 1 : ~0ull);
		if (depth && !value)
			return true;
	} else if (depth && is_zero(t->bytes + at, type->size < t->size - at ? type->size : t->size - at)) {
		return true;
	}
	if (!type_is_scalar(type) && type->kind != TYPE_RECORD && type->kind != TYPE_ARRAY)
		return true;
	t->open = depth;
	t->is_record[depth] = type->kind == TYPE_RECORD;
	line_begin(t, depth, field->name);
	put_type(t->out, type, field->spelled);
	if (type->kind == TYPE_RECORD) {
		fputs(" {\n", t->out);
		return put_members(t, type, at, depth + 1);
	}
	if (type->kind == TYPE_ARRAY) {
		fputs(type->count ? " [\n" : " [],\n", t->out);
		return put_elements(t, type, field->spelled, at, depth);
	}
	put_scalar(t, type, field->spelled, value);
	return true;
}

void d_print_typed(FILE *out, uint64_t address, const struct type *type, const uint8_t *bytes, size_t size,
		   size_t limit)
{
	struct typed t = {.out = out, .bytes = bytes, .size = size, .limit = limit < size ? limit : size};
	struct type_field whole = {.type = type};

	fprintf(out, "0x%llx = *\n", (unsigned long long)address);
	put_value(&t, &whole, 0, 0);
	/* An outermost record has its brace even where no member is printed. */
	if (t.is_record[0] && !t.open)
		t.open = 1;
	close_braces(&t, 0);
}
