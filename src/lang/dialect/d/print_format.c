// SPDX-License-Identifier: GPL-2.0-or-later
/* D's formats: %[@-+ #0'][WIDTH|*][.PRECISION|*][hlLw]CONVERSION. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lang/core/value.h"
#include "lang/dialect/d/format.h"

#define WIDTH_MAX 4096

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
		ret->width = (ret->width < 0 ? 0 : ret->width) * 10 + (*at - '0') > WIDTH_MAX
				     ? WIDTH_MAX
				     : (ret->width < 0 ? 0 : ret->width) * 10 + (*at - '0');
	if (*at == '.') {
		at++;
		ret->precision = 0;
		if (*at == '*') {
			ret->precision_given = true;
			at++;
		}
		for (; isdigit((unsigned char)*at); at++)
			ret->precision = ret->precision * 10 + (*at - '0') > WIDTH_MAX
						 ? WIDTH_MAX
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

/* --- checking --- */

static bool fits(const struct d_spec *spec, const struct type *type)
{
	switch (spec->conversion) {
	case 's':
	case 'S':
		return type->kind == TYPE_STRING;
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
	case 'p':
	case 'c':
	case 'C':
	case 'a':
	case 'Y':
	case 'T':
		return type_is_scalar(type);
	default:
		return false;
	}
}

static uint32_t take(struct compiler *c, const char *function, struct span span, const struct d_argument *arguments,
		     uint32_t count, uint32_t next, bool is_printa)
{
	if (next >= count)
		report_error(c->report, is_printa ? "D_PRINTA_AGGKEY" : "D_PRINTF_ARG_PROTO", span,
			     "%s( ) prototype mismatch: the format has more conversions than arguments", function);
	else if (!type_is_number(arguments[next].type))
		report_error(c->report, "D_PRINTF_DYN_TYPE", arguments[next].span,
			     "%s( ) argument #%u is incompatible with conversion \"*\": an int is expected", function,
			     next + 2);
	return next + 1;
}

void d_format_check(struct compiler *c, const char *function, const char *format, struct span span,
		    const struct d_argument *arguments, uint32_t count, uint32_t aggregations)
{
	struct d_spec spec;
	uint32_t next = 0;

	while (format && (format = d_spec_next(format, &spec)) && !c->report->errors) {
		if (!spec.conversion && spec.text[spec.text_size] != '%')
			continue;
		if (spec.conversion == '%')
			continue;
		if (!spec.conversion || !strchr("aAcCdiouxXpsSTYkeEfgG", spec.conversion)) {
			report_error(c->report, "D_PRINTF_FMT_INVAL", span, "%s( ) format conversion %%%c is not known",
				     function, spec.conversion ? spec.conversion : ' ');
			return;
		}
		if (strchr("AkeEfgG", spec.conversion)) {
			report_error(c->report, "D_PRINTF_ARG_TYPE", span, "%s( ): conversion %%%c is not supported",
				     function, spec.conversion);
			report_hint(c->report, "docs/D.md lists the conversions that there are");
			return;
		}
		if (spec.width_given)
			next = take(c, function, span, arguments, count, next, aggregations);
		if (spec.precision_given && !c->report->errors)
			next = take(c, function, span, arguments, count, next, aggregations);
		if (spec.is_aggregation) {
			if (!aggregations)
				report_error(c->report, "D_PRINTF_AGG_CONV", span,
					     "%%@ conversion requires an aggregation and is not for use with %s( )",
					     function);
			continue;
		}
		if (c->report->errors)
			return;
		if (next >= count) {
			report_error(c->report, aggregations ? "D_PRINTA_PROTO" : "D_PRINTF_ARG_PROTO", span,
				     "%s( ) prototype mismatch: conversion #%u (%%%c) is missing a corresponding %s",
				     function, next + 1, spec.conversion,
				     aggregations ? "aggregation key" : "value argument");
			return;
		}
		if (!fits(&spec, arguments[next].type)) {
			report_error(c->report, "D_PRINTF_ARG_TYPE", arguments[next].span,
				     "%s( ) argument #%u is incompatible with conversion #%u prototype: %%%c of %s",
				     function, next + 2, next + 1, spec.conversion,
				     arguments[next].type->kind == TYPE_STRING
					     ? "a string"
					     : type_describe(c->arena, arguments[next].type));
			return;
		}
		next++;
	}
	if (next < count && !aggregations && !c->report->errors)
		report_error(c->report, "D_PRINTF_ARG_EXTRA", span,
			     "%s( ) prototype mismatch: only %u conversions for %u arguments", function, next, count);
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
		strftime(text, sizeof(text), "%a, %d %b %Y %T %Z", &broken);
	pad(out, spec, text, strlen(text));
}

/* The number with the format's own flags. */
void d_print_number(FILE *out, const struct d_spec *spec, uint64_t value, uint32_t size, bool is_signed)
{
	char format[24], conversion = spec->conversion == 'i' ? 'd' : spec->conversion == 'p' ? 'x' : spec->conversion;
	int width = spec->width < 0 ? 0 : spec->width;

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
	case 'a':
		p->words->kernel_symbol(p->names, out, value, false);
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
		if (next >= end)
			break;
		d_print_spec(p, out, &spec, tuple->fields[next].type, bytes + tuple->fields[next].offset);
		next++;
	}
}
