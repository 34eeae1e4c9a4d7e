// SPDX-License-Identifier: GPL-2.0-or-later
/* A format and its arguments, before anything runs: what is wrong is told in dtrace's words. */
#include <ctype.h>
#include <string.h>

#include "lang/dialect/d/format.h"

/* The format by itself. `number` counts the conversions. */
static bool check_conversion(struct compiler *c, struct span span, const char **format, uint32_t number)
{
	const char *at = *format, *begin = at, *name;
	unsigned int dots = 0, stars[2] = {};

	for (; *at && strchr("0123456789#*+-.?@' hlLw", *at); at++) {
		if (*at == '.' && dots++) {
			report_error(c->report, "D_SYNTAX", span,
				     "format conversion #%u has more than one '.' specified", number);
			return false;
		}
		if (*at == '*' && stars[dots]++) {
			report_error(c->report, "D_SYNTAX", span,
				     "format conversion #%u has more than one '*' specified for the output %s", number,
				     dots ? "precision" : "width");
			return false;
		}
	}
	*format = *at ? at + 1 : at;
	for (name = at; name > begin && strchr("hlLw", name[-1]);)
		name--;
	if (*at == '$')
		report_error(c->report, "D_SYNTAX", span,
			     "format conversion #%u uses unsupported positional format (%%n$)", number);
	else if (!*at)
		report_error(c->report, "D_SYNTAX", span,
			     "format conversion #%u name expected before end of format string", number);
	else if (*at == '%' && at > begin)
		report_error(c->report, "D_SYNTAX", span,
			     "format conversion #%u cannot be combined with other format flags: %%%%", number);
	else if (!strchr("%aAcCdeEfgGhikopsSTuxXY", *at))
		report_error(c->report, "D_SYNTAX", span, "format conversion #%u is undefined: %%%.*s", number,
			     (int)(at + 1 - name), name);
	else
		return true;
	return false;
}

static bool check_text(struct compiler *c, const char *function, const char *format, struct span span)
{
	uint32_t number = 0;

	if (!*format && strcmp(function, "freopen") != 0) {
		report_error(c->report, "D_PRINTF_FMT_EMPTY", span, "%s( ) format string is empty", function);
		return false;
	}
	while ((format = strchr(format, '%'))) {
		format++;
		if (!check_conversion(c, span, &format, ++number))
			return false;
	}
	return true;
}

struct checking {
	struct compiler *c;
	const char *function;
	struct span span;
	const struct d_argument *arguments;
	uint32_t count, next, number; /* number: of the conversion */
	bool is_printa;
};

static const char *name_of(struct checking *ch, const struct type *type)
{
	return d_type_name(ch->c, type);
}

static void take_star(struct checking *ch, const char *star, const struct d_spec *spec)
{
	if (ch->c->report->errors)
		return;
	if (ch->next >= ch->count)
		report_error(ch->c->report, "D_PRINTF_DYN_PROTO", ch->span,
			     "%s( ) prototype mismatch: conversion #%u (%%%c) is missing a corresponding \"%s\" "
			     "argument",
			     ch->function, ch->number, spec->conversion, star);
	else if (!type_is_number(ch->arguments[ch->next].type))
		report_error(ch->c->report, "D_PRINTF_DYN_TYPE", ch->span,
			     "%s( ) argument #%u is incompatible with conversion #%u prototype:\n"
			     "\tconversion: %% %s %c\n\t prototype: int\n\t  argument: %s",
			     ch->function, ch->next + 2, ch->number, star, spec->conversion,
			     name_of(ch, ch->arguments[ch->next].type));
	ch->next++;
}

/* NULL: it takes the value. Else what it would take. */
static const char *wants(const struct d_spec *spec, const struct type *type)
{
	switch (spec->conversion) {
	case 's':
	case 'S':
		return type->kind == TYPE_STRING ? NULL : "char [] or string (or use stringof)";
	case 'a':
		return type_is_scalar(type) || (type->kind == TYPE_SYMBOL && type->variant == SYMBOL_KERNEL)
			       ? NULL
			       : "pointer or integer";
	case 'p':
		return type_is_scalar(type) ? NULL : "pointer or integer";
	case 'c':
	case 'C':
		return type_is_scalar(type) ? NULL : "char, short, or int";
	case 'Y':
	case 'T':
		return type_is_scalar(type) ? NULL : "int64_t";
	case 'e':
	case 'E':
	case 'f':
	case 'g':
	case 'G':
		return d_is_floating(type) ? NULL : "float, double, or long double";
	case 'k':
		return type->kind == TYPE_STACK ? NULL : "stack";
	case 'A':
		return type->kind == TYPE_SYMBOL && type->variant == SYMBOL_USER
			       ? NULL
			       : "pointer or integer (with -p/-c) or _usymaddr (without -p/-c)";
	default:
		return type_is_scalar(type) ? NULL : "char, short, int, long, or long long";
	}
}

static void take_value(struct checking *ch, const struct d_spec *spec)
{
	struct report *report = ch->c->report;
	const struct d_argument *argument;
	const char *wanted;

	if (ch->next >= ch->count) {
		report_error(report, "D_PRINTF_ARG_PROTO", ch->span,
			     "%s( ) prototype mismatch: conversion #%u (%%%c) is missing a corresponding value "
			     "argument",
			     ch->function, ch->number, spec->conversion);
		return;
	}
	argument = &ch->arguments[ch->next++];
	wanted = wants(spec, argument->type);
	if (wanted)
		report_error(report, "D_PRINTF_ARG_TYPE", ch->span,
			     "%s( ) argument #%u is incompatible with conversion #%u prototype:\n"
			     "\tconversion: %%%c\n\t prototype: %s\n\t  argument: %s",
			     ch->function, ch->next + 1, ch->number, spec->conversion, wanted,
			     argument->is_aggregation ? "aggregation" : name_of(ch, argument->type));
}

void d_format_check(struct compiler *c, const char *function, const char *format, struct span span,
		    const struct d_argument *arguments, uint32_t count, uint32_t aggregations)
{
	struct checking ch = {.c = c,
			      .function = function,
			      .span = span,
			      .arguments = arguments,
			      .count = count,
			      .is_printa = aggregations > 0};
	struct d_spec spec;

	if (!format || !check_text(c, function, format, span))
		return;
	while ((format = d_spec_next(format, &spec)) && !c->report->errors) {
		if (!spec.conversion)
			continue;
		ch.number++;
		if (spec.conversion == '%')
			continue;
		if (spec.width_given)
			take_star(&ch, "*", &spec);
		if (spec.precision_given)
			take_star(&ch, ".*", &spec);
		if (c->report->errors)
			return;
		if (!spec.is_aggregation)
			take_value(&ch, &spec);
		else if (!aggregations)
			report_error(c->report, "D_PRINTF_AGG_CONV", span,
				     "%%@ conversion requires an aggregation and is not for use with %s( )", function);
	}
	if (ch.next < count && !aggregations && !c->report->errors)
		report_error(c->report, "D_PRINTF_ARG_EXTRA", span,
			     "%s( ) prototype mismatch: only %u arguments required by this format string", function,
			     ch.next);
}
