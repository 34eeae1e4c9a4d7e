// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * printf: most output of scripts, and it may come as often as the traced programs do something. So a format is parsed
 * once, and text is written directly to its destination. Only padded values that are no strings are formatted in a
 * buffer first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "lang/dialect/bpftrace/print/format.h"
#include "lang/dialect/bpftrace/print/gfp.h"
#include "lang/dialect/bpftrace/print/print.h"

#define NUMBER_FORMAT 48

struct piece {
	const char *text; /* before the conversion, in which "%%" stands for one sign */
	size_t size;
	bool has_conversion;
	struct conversion conversion;
	char number[NUMBER_FORMAT]; /* the conversion as fprintf() takes it; "": it is an ordinary decimal number */
};

struct print_format {
	VEC(struct piece) pieces;
};

static void number_format(const struct conversion *conversion, char *format)
{
	char flags[8] = "";
	int at = 0;

	if (conversion->left)
		flags[at++] = '-';
	if (conversion->zero)
		flags[at++] = '0';
	if (conversion->plus)
		flags[at++] = '+';
	if (conversion->space)
		flags[at++] = ' ';
	if (conversion->hash || conversion->letter == 'p')
		flags[at++] = '#';
	flags[at] = '\0';
	if (!at && conversion->width < 0 && conversion->precision < 0 && strchr("diu", conversion->letter)) {
		*format = '\0';
		return;
	}
	at = snprintf(format, NUMBER_FORMAT, "%%%s", flags);
	if (conversion->width >= 0)
		at += snprintf(format + at, NUMBER_FORMAT - (size_t)at, "%d", conversion->width);
	if (conversion->precision >= 0)
		at += snprintf(format + at, NUMBER_FORMAT - (size_t)at, ".%d", conversion->precision);
	snprintf(format + at, NUMBER_FORMAT - (size_t)at, conversion->letter == 'c' ? "c" : "ll%c",
		 conversion->letter == 'p' ? 'x' : conversion->letter);
}

static int read_format(struct print_format *format, const char *text)
{
	struct piece piece = {.has_conversion = true};
	const char *sign;

	while (piece.has_conversion) {
		piece = (struct piece){.text = text};
		piece.has_conversion = format_next(text, &piece.conversion);
		if (piece.has_conversion)
			number_format(&piece.conversion, piece.number);
		piece.size = piece.has_conversion ? (size_t)(piece.conversion.begin - text) : strlen(text);
		/* Each "%%" ends a piece of its own, behind the first sign. */
		sign = memmem(text, piece.size, "%%", 2);
		if (sign) {
			struct piece before = {.text = text, .size = (size_t)(sign + 1 - text)};

			if (vec_push(&format->pieces, before))
				return -1;
			text = sign + 2;
			piece.has_conversion = true;
			continue;
		}
		if (vec_push(&format->pieces, piece))
			return -1;
		text = piece.conversion.end;
	}
	return 0;
}

struct print_format *print_format_create(const char *text)
{
	struct print_format *format = calloc(1, sizeof(*format));

	if (format && read_format(format, text)) {
		print_format_destroy(format);
		return NULL;
	}
	return format;
}

void print_format_destroy(struct print_format *format)
{
	if (format)
		vec_free(&format->pieces);
	free(format);
}

static void pad(const struct printer *p, FILE *out, const struct conversion *conversion, const char *text, size_t size)
{
	int width = conversion->width;

	if (conversion->precision >= 0 && size > (size_t)conversion->precision)
		size = (size_t)conversion->precision;
	if (!conversion->left && width > 0)
		for (; (size_t)width > size; width--)
			fputc(' ', out);
	print_data(p, out, text, size);
	if (conversion->left && width > 0)
		for (; (size_t)width > size; width--)
			fputc(' ', out);
}

static void print_number(FILE *out, const struct piece *piece, uint64_t value)
{
	const struct conversion *conversion = &piece->conversion;
	bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';

	if (conversion->bytes < 8 && conversion->letter != 'c') {
		unsigned int shift = 64 - 8 * (unsigned int)conversion->bytes;

		value <<= shift;
		value = is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (!*piece->number)
		print_decimal(out, value, is_signed);
	else if (conversion->letter == 'c')
		fprintf(out, piece->number, (int)value);
	else
		fprintf(out, piece->number, (unsigned long long)value);
#pragma GCC diagnostic pop
}

/* What is no number, without what pads it. */
static void print_text_of(const struct printer *p, FILE *out, const struct conversion *conversion,
			  const struct type *type, const uint8_t *bytes)
{
	struct printer plain = *p;

	plain.json = false;
	if (conversion->letter == 'r' && type->kind == TYPE_BUFFER)
		print_buffer(out, bytes + 4, buffer_size(type, bytes), conversion->variant);
	else if (conversion->letter == 'g')
		gfp_print(out, scalar_load(bytes, type->size, false));
	else
		print_value(&plain, out, type, bytes);
}

static void print_argument(const struct printer *p, FILE *out, const struct piece *piece, const struct type *type,
			   const uint8_t *bytes)
{
	const struct conversion *conversion = &piece->conversion;
	char *text = NULL;
	size_t size = 0;
	FILE *memory;

	if (!strchr("srg", conversion->letter)) {
		print_number(out, piece, scalar_load(bytes, type->size > 8 ? 8 : type->size, type->is_signed));
		return;
	}
	if (conversion->width <= 0 && conversion->precision < 0) {
		print_text_of(p, out, conversion, type, bytes);
		return;
	}
	if (type->kind == TYPE_STRING && !type->limit) {
		pad(p, out, conversion, (const char *)bytes, strnlen((const char *)bytes, type->size));
		return;
	}
	memory = open_memstream(&text, &size);
	if (!memory)
		return;
	print_text_of(p, memory, conversion, type, bytes);
	fclose(memory);
	pad(p, out, conversion, text, size);
	free(text);
}

void print_formatted(const struct printer *p, FILE *out, const struct print_format *format,
		     const struct type *arguments, const uint8_t *bytes)
{
	uint32_t index = 0;
	size_t i;

	for (i = 0; i < format->pieces.count; i++) {
		const struct piece *piece = &format->pieces.at[i];

		fwrite(piece->text, 1, piece->size, out);
		if (piece->has_conversion && arguments && index < arguments->field_count) {
			const struct type_field *field = &arguments->fields[index++];

			print_argument(p, out, piece, field->type, bytes + field->offset);
		}
	}
}
