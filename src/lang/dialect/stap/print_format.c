// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats of printf() and sprintf(). */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/run.h"

#define WIDTH_MAX 4096

struct item {
	const char *text; /* what comes before it */
	size_t length;
	char conversion; /* '\0': nothing */
	char flags[6];
	int width, precision;             /* -1: none */
	int width_index, precision_index; /* arguments; -1: none */
	int index;
};

struct stap_format {
	struct item *items;
	size_t count;
};

struct reading {
	struct compiler *c;
	const struct stap_node *call;
	bool check;
	int next; /* argument, behind the format */
};

static void complain(const struct reading *r, const char *text)
{
	if (r->check)
		stap_complain(r->c, "stap.format", r->call->kids[0]->span, "%s", text);
}

static int take_star(struct reading *r, enum stap_type type)
{
	int index = r->next++ + 1;

	if (r->check && index < (int)r->call->kid_count && r->call->kids[index]->type != type)
		stap_complain(r->c, "stap.format", r->call->kids[index]->span,
			      "type mismatch: expected %s but found %s", stap_type_name(type),
			      stap_type_name(r->call->kids[index]->type));
	return index;
}

static const char *read_number(const char *at, int *ret)
{
	int64_t number = 0;

	for (; isdigit((unsigned char)*at); at++)
		number = number < WIDTH_MAX ? number * 10 + (*at - '0') : number;
	*ret = number < WIDTH_MAX ? (int)number : WIDTH_MAX;
	return at;
}

/* Behind the %. */
static const char *read_conversion(struct reading *r, const char *at, struct item *item)
{
	size_t flags = 0;

	item->width = item->precision = item->width_index = item->precision_index = -1;
	for (; *at && strchr("-+ #0", *at); at++)
		if (flags + 1 < sizeof(item->flags) && !strchr(item->flags, *at))
			item->flags[flags++] = *at;
	if (*at == '*') {
		item->width_index = take_star(r, STAP_LONG);
		at++;
	} else if (isdigit((unsigned char)*at)) {
		at = read_number(at, &item->width);
	}
	if (*at == '.' && at[1] == '*') {
		item->precision_index = take_star(r, STAP_LONG);
		at += 2;
	} else if (*at == '.') {
		at = read_number(at + 1, &item->precision);
	}
	while (*at == 'l')
		at++;
	item->conversion = *at;
	if (!*at || !strchr("diuxXopcs", *at)) {
		complain(r, *at == 'm' || *at == 'M' || *at == 'b' || *at == 'n'
				    ? "%b, %m, %M and %n of print operators are not supported"
				    : "Unspecified conversion in print operator format string");
		item->conversion = '\0';
		return *at ? at + 1 : at;
	}
	item->index = take_star(r, *at == 's' ? STAP_STRING : STAP_LONG);
	return at + 1;
}

struct stap_format *stap_format_read(struct compiler *c, const struct stap_node *call, bool check)
{
	struct reading r = {.c = c, .call = call, .check = check};
	struct stap_format *format = arena_new(c->arena, struct stap_format);
	const char *text, *at;
	VEC(struct item) items = {};

	if (!strstr(call->text, "printf"))
		return NULL;
	if (!call->kid_count || call->kids[0]->kind != STAP_E_TEXT) {
		if (check)
			stap_complain(c, "stap.format", call->span, "expected literal string: the format of %s()",
				      call->text);
		return NULL;
	}
	for (text = at = call->kids[0]->text; *at;) {
		struct item item = {.text = text};

		while (*at && *at != '%')
			at++;
		item.length = (size_t)(at - text);
		if (*at == '%' && at[1] == '%') {
			item.length++;
			at += 2;
		} else if (*at == '%') {
			at = read_conversion(&r, at + 1, &item);
		}
		text = at;
		if (vec_push(&items, item))
			c->arena->failed = true;
	}
	if (check && r.next + 1 != (int)call->kid_count)
		stap_complain(c, "stap.format", call->span,
			      "too %s arguments for format string (%d expected, %u given)",
			      r.next + 1 > (int)call->kid_count ? "few" : "many", r.next, call->kid_count - 1);
	if (format) {
		format->items = arena_array(c->arena, struct item, items.count + 1);
		format->count = format->items ? items.count : 0;
		if (format->count)
			memcpy(format->items, items.at, items.count * sizeof(*items.at));
	}
	vec_free(&items);
	return format;
}

static int limited(int64_t number)
{
	return number < 0 ? -1 : number > WIDTH_MAX ? WIDTH_MAX : (int)number;
}

static void print_text(struct stap_run *run, FILE *out, const struct item *item, int width, int precision,
		       const char *text, bool is_output)
{
	size_t size = precision >= 0 ? strnlen(text, (size_t)precision) : strlen(text);
	int pad = width > 0 && (size_t)width > size ? width - (int)size : 0;

	if (pad && !strchr(item->flags, '-'))
		fprintf(out, "%*s", pad, "");
	if (is_output)
		print_data(run->p, out, text, size);
	else
		fwrite(text, 1, size, out);
	if (pad && strchr(item->flags, '-'))
		fprintf(out, "%*s", pad, "");
}

static void print_number(struct stap_run *run, FILE *out, const struct item *item, int width, int precision,
			 int64_t number, bool is_output)
{
	char format[32];
	char conversion = item->conversion == 'i' ? 'd' : item->conversion == 'p' ? 'x' : item->conversion;

	if (item->conversion == 'c') {
		char byte = (char)number;

		if (is_output)
			print_data(run->p, out, &byte, 1);
		else
			fputc((int)(unsigned char)byte, out);
		return;
	}
	/* Unlike in C, the prefix is there before a 0, too. */
	if (!number && (conversion == 'x' || conversion == 'X') &&
	    (item->conversion == 'p' || strchr(item->flags, '#'))) {
		fprintf(out, strchr(item->flags, '-') ? "%-*s" : "%*s", width > 0 ? width : 0,
			conversion == 'X' ? "0X0" : "0x0");
		return;
	}
	snprintf(format, sizeof(format), "%%%s%s%s%sll%c", item->flags,
		 item->conversion == 'p' && !strchr(item->flags, '#') ? "#" : "", width >= 0 ? "*" : "",
		 precision >= 0 ? ".*" : "", conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (width >= 0 && precision >= 0)
		fprintf(out, format, width, precision, (long long)number);
	else if (width >= 0 || precision >= 0)
		fprintf(out, format, width >= 0 ? width : precision, (long long)number);
	else
		fprintf(out, format, (long long)number);
#pragma GCC diagnostic pop
}

void stap_format_print(struct stap_run *run, const struct stap_format *format, const struct stap_value *arguments,
		       FILE *out, bool is_output)
{
	size_t i;

	for (i = 0; i < format->count; i++) {
		struct item item = format->items[i];
		int width = item.width, precision = item.precision;

		fwrite(item.text, 1, item.length, out);
		if (!item.conversion)
			continue;
		if (item.width_index >= 0) {
			int64_t wanted = arguments[item.width_index].number;

			if (wanted < 0 && !strchr(item.flags, '-') && strlen(item.flags) + 1 < sizeof(item.flags))
				item.flags[strlen(item.flags)] = '-';
			width = limited(wanted < -WIDTH_MAX ? WIDTH_MAX : wanted < 0 ? -wanted : wanted);
		}
		if (item.precision_index >= 0)
			precision = limited(arguments[item.precision_index].number);
		if (item.conversion == 's')
			print_text(run, out, &item, width, precision, arguments[item.index].text, is_output);
		else
			print_number(run, out, &item, width, precision, arguments[item.index].number, is_output);
	}
}
