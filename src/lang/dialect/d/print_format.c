// SPDX-License-Identifier: GPL-2.0-or-later
/* D's formats: %[@-+ #0'][WIDTH|*][.PRECISION|*][hlLw]CONVERSION. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lang/core/value.h"
#include "lang/dialect/d/format.h"

#define WIDTH_MAX       4096       /* of what is computed while it runs */
#define WIDTH_MAX_GIVEN (1 << 24) /* of what the script's text says */

const char *d_spec_next(const char *at, struct d_spec *ret)
{
	const char *begin = at;
	size_t flags = 0;

	*ret = (struct d_spec){.text = at, .width = -1, .precision = -1};
	while (*at && *at != '%')
		at++;
	ret->text_size = (size_t)(at - begin);
	if (!*at)
		return ret->text_size ? at : NULL;
	at++;
	for (; *at && strchr("@-+ #0'?", *at); at++) {
		if (*at == '@')
			ret->is_aggregation = true;
		else if (*at != '?' && *at != '\'' && flags < sizeof(ret->flags) - 1)
			ret->flags[flags++] = *at;
		if (*at == '?')
			ret->width = 16;
	}
	if (*at == '*') {
		ret->width_given = true;
		at++;
	}
	for (; isdigit((unsigned char)*at); at++)
		ret->width = (ret->width < 0 ? 0 : ret->width) * 10 + (*at - '0') > WIDTH_MAX_GIVEN
				     ? WIDTH_MAX_GIVEN
				     : (ret->width < 0 ? 0 : ret->width) * 10 + (*at - '0');
	if (*at == '.') {
		at++;
		ret->precision = 0;
		if (*at == '*') {
			ret->precision_given = true;
			at++;
		}
		for (; isdigit((unsigned char)*at); at++)
			ret->precision = ret->precision * 10 + (*at - '0') > WIDTH_MAX_GIVEN
						 ? WIDTH_MAX_GIVEN
						 : ret->precision * 10 + (*at - '0');
	}
	if (*at == '@') {
		ret->is_aggregation = true;
		at++;
	}
	/* dtrace takes 0 for none. */
	if (!ret->precision && !ret->precision_given)
		ret->precision = -1;
	while (*at && strchr("hlLwjzt", *at)) {
		ret->is_short |= *at == 'h';
		ret->is_long |= *at == 'l';
		at++;
	}
	ret->conversion = *at;
	return *at ? at + 1 : at;
}

/* --- printing --- */

static void pad(FILE *out, const struct d_spec *spec, const char *text, size_t size)
{
	size_t width = spec->width > 0 ? (size_t)spec->width : 0, i;
	bool left = strchr(spec->flags, '-') != NULL;

	if (spec->precision >= 0 && (size_t)spec->precision < size)
		size = (size_t)spec->precision;
	for (i = size; !left && i < width; i++)
		fputc(' ', out);
	fwrite(text, 1, size, out);
	for (i = size; left && i < width; i++)
		fputc(' ', out);
}

void d_print_text(const struct printer *p, FILE *out, const struct d_spec *spec, const char *text, size_t size)
{
	char *shown = NULL;
	size_t length = 0;
	FILE *memory = p->escape && out == p->out ? open_memstream(&shown, &length) : NULL;

	if (memory) {
		print_data(p, memory, text, size);
		fclose(memory);
		pad(out, spec, shown, length);
		free(shown);
	} else {
		pad(out, spec, text, size);
	}
}

/* As C would write it: \n, \t, \ooo. */
static void print_escaped(const struct printer *p, FILE *out, const struct d_spec *spec, const char *text, size_t size)
{
	static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
	char *shown = malloc(4 * size + 1), *at = shown;
	size_t i;

	(void)p;
	for (i = 0; shown && i < size; i++) {
		const char *found = text[i] ? strchr(from, text[i]) : NULL;

		if (found)
			at += sprintf(at, "\\%c", to[found - from]);
		else if (isprint((unsigned char)text[i]))
			*at++ = text[i];
		else
			at += sprintf(at, "\\%03o", (unsigned int)(uint8_t)text[i]);
	}
	if (shown)
		pad(out, spec, shown, (size_t)(at - shown));
	free(shown);
}

static void print_date(FILE *out, const struct d_spec *spec, int64_t nanoseconds)
{
	time_t seconds = (time_t)(nanoseconds / 1000000000);
	struct tm broken;
	char text[64];

	localtime_r(&seconds, &broken);
	if (spec->conversion == 'Y')
		strftime(text, sizeof(text), "%Y %b %e %T", &broken);
	else
		strftime(text, sizeof(text), "%a, %d %b %G %T %Z", &broken);
	pad(out, spec, text, strlen(text));
}

/* The number with the format's own flags. */
void d_print_number(FILE *out, const struct d_spec *spec, uint64_t value, uint32_t size, bool is_signed)
{
	char format[24], conversion = spec->conversion == 'i' ? 'd' : spec->conversion == 'p' ? 'x' : spec->conversion;
	int width = spec->width < 0 ? 0 : spec->width;

	if (conversion == 'Y' || conversion == 'T') {
		print_date(out, spec, (int64_t)value);
		return;
	}
	if (conversion == 'd' && !is_signed)
		conversion = 'u';
	if (spec->is_short)
		size = 2;
	if (conversion == 'd')
		value = size == 4   ? (uint64_t)(int64_t)(int32_t)value
			: size == 2 ? (uint64_t)(int64_t)(int16_t)value
			: size == 1 ? (uint64_t)(int64_t)(int8_t)value
				    : value;
	else
		value = size >= 8 ? value : value & ((1ull << size * 8) - 1);
	snprintf(format, sizeof(format), "%%%s*%s%c", spec->flags, spec->precision >= 0 ? ".*ll" : "ll", conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (spec->precision >= 0)
		fprintf(out, format, width, spec->precision, (long long)value);
	else
		fprintf(out, format, width, (long long)value);
#pragma GCC diagnostic pop
}

static void print_floating(FILE *out, const struct d_spec *spec, const uint8_t *bytes, size_t size)
{
	char format[24];
	long double value = 0;
	double number = 0;
	float small = 0;

	memcpy(&small, bytes, sizeof(small));
	if (size >= sizeof(number))
		memcpy(&number, bytes, sizeof(number));
	if (size >= sizeof(value))
		memcpy(&value, bytes, sizeof(value));
	else
		value = size == sizeof(small) ? (long double)small : (long double)number;
	snprintf(format, sizeof(format), "%%%s*.*L%c", spec->flags, spec->conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(out, format, spec->width < 0 ? 0 : spec->width, spec->precision, value);
#pragma GCC diagnostic pop
}

void d_print_spec(const struct printer *p, FILE *out, const struct d_spec *spec, const struct type *type,
		  const uint8_t *bytes)
{
	uint64_t value = type_is_scalar(type) ? scalar_load(bytes, type->size, type->is_signed) : 0;
	char letter = (char)value;

	switch (spec->conversion) {
	case 's':
		d_print_text(p, out, spec, (const char *)bytes, strnlen((const char *)bytes, type->size));
		break;
	case 'S':
		print_escaped(p, out, spec, (const char *)bytes, strnlen((const char *)bytes, type->size));
		break;
	case 'c':
		d_print_text(p, out, spec, &letter, 1);
		break;
	case 'C':
		print_escaped(p, out, spec, &letter, 1);
		break;
	case 'A':
		d_print_symbol(p, out, type, bytes);
		break;
	case 'a':
		if (type->kind == TYPE_SYMBOL) {
			d_print_symbol(p, out, type, bytes);
			break;
		}
		d_print_kernel_symbol(p, out, value, PART_ADDRESS);
		break;
	case 'k':
		d_print_stack(p, out, type, bytes);
		break;
	case 'e':
	case 'E':
	case 'f':
	case 'g':
	case 'G':
		if (d_is_floating(type))
			print_floating(out, spec, bytes, type->size);
		break;
	case 'Y':
	case 'T':
		print_date(out, spec, (int64_t)value);
		break;
	default:
		d_print_number(out, spec, value, type->size, type->kind == TYPE_INT && type->is_signed);
	}
}

/* A width or precision that is an argument. */
static int given(const struct type *tuple, uint32_t index, const uint8_t *bytes)
{
	const struct type_field *field = &tuple->fields[index];
	int64_t value = (int64_t)scalar_load(bytes + field->offset, field->type->size, field->type->is_signed);

	return value > WIDTH_MAX ? WIDTH_MAX : value < -WIDTH_MAX ? -WIDTH_MAX : (int)value;
}

void d_spec_give_width(struct d_spec *spec, int width)
{
	size_t length = strlen(spec->flags);

	spec->width = width < 0 ? -width : width;
	if (width < 0 && !strchr(spec->flags, '-') && length < sizeof(spec->flags) - 1)
		strcpy(spec->flags + length, "-");
}

void d_print_formatted(const struct printer *p, const char *format, const struct type *tuple, uint32_t first,
		       uint32_t count, const uint8_t *bytes, FILE *out)
{
	uint32_t next = first, end = first + count;
	struct d_spec spec;

	while ((format = d_spec_next(format, &spec))) {
		fwrite(spec.text, 1, spec.text_size, out);
		if (spec.conversion == '%')
			fputc('%', out);
		if (!spec.conversion || spec.conversion == '%')
			continue;
		if (spec.width_given && next < end)
			d_spec_give_width(&spec, given(tuple, next++, bytes));
		if (spec.precision_given && next < end)
			spec.precision = given(tuple, next++, bytes);
		/* As in dtrace, a precision of 0 is none. */
		if (!spec.precision)
			spec.precision = -1;
		if (next >= end)
			break;
		d_print_spec(p, out, &spec, tuple->fields[next].type, bytes + tuple->fields[next].offset);
		next++;
	}
}
