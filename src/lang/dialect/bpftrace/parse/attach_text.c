// SPDX-License-Identifier: GPL-2.0-or-later
/* Attach points are read by characters, because paths are no words of the language. */
#include "lang/dialect/bpftrace/parse/attach_text.h"

#include <ctype.h>
#include <string.h>

#include "lang/dialect/bpftrace/parse/parts.h"

/* Is the '/' at `at` part of a path, and not the beginning of a predicate? `part` is where the current part began. */
static bool slash_in_path(const char *source, uint32_t end, uint32_t part, uint32_t at)
{
	uint32_t i;

	if (at == part)
		return at > 0 && source[at - 1] == ':';
	if (source[part] == '/' || source[part] == '.')
		return true;
	for (i = at; i < end && !isspace((unsigned char)source[i]) && source[i] != '{' && source[i] != ','; i++)
		if (source[i] == ':')
			return true;
	return false;
}

/* Behind NAME= of "NAME=probe": nothing asks for the name. */
static uint32_t behind_name(const char *source, uint32_t begin, uint32_t end)
{
	uint32_t at = begin;

	while (at < end && (isalnum((unsigned char)source[at]) || source[at] == '_'))
		at++;
	return at < end && source[at] == '=' ? at + 1 : begin;
}

/* Does an attach point end with this character, unless it stands in quotes? */
static bool ends_point(const char *source, uint32_t end, uint32_t part, uint32_t at)
{
	char c = source[at];

	return isspace((unsigned char)c) || c == '{' || c == ',' || (c == '/' && !slash_in_path(source, end, part, at));
}

uint32_t attach_text_end(const char *source, uint32_t begin, uint32_t end)
{
	uint32_t at = behind_name(source, begin, end), part = at;

	for (; at < end && !ends_point(source, end, part, at); at++) {
		if (source[at] == ':')
			part = at + 1;
		if (source[at] != '"')
			continue;
		for (at++; at < end && source[at] != '"'; at++)
			at += source[at] == '\\' && at + 1 < end;
	}
	return at < end ? at : end;
}

struct part {
	char text[4096];
	size_t size;
};

static void part_add(struct parser *p, struct part *part, const char *text, size_t size)
{
	if (part->size + size < sizeof(part->text)) {
		memcpy(part->text + part->size, text, size);
		part->size += size;
	} else if (!p->stop) {
		report_error(p->report, "parse.probe", p->token.span, "the attach point is too long");
		p->stop = true;
	}
}

/* $1 and $# in an attach point. */
static uint32_t part_parameter(struct parser *p, struct part *part, uint32_t at)
{
	const char *source = p->report->source;
	uint32_t number = 0, begin = at++;

	if (at < p->lexer.end && source[at] == '#') {
		char text[16];

		part_add(p, part, text, (size_t)snprintf(text, sizeof(text), "%u", p->options->parameter_count));
		return at + 1;
	}
	while (at < p->lexer.end && isdigit((unsigned char)source[at]) && number < 100000)
		number = number * 10 + (uint32_t)(source[at++] - '0');
	if (!number || number > p->options->parameter_count) {
		report_error(p->report, "parse.parameter", (struct span){begin, at}, "parameter $%u was not given",
			     number);
		report_hint(p->report, "give it behind the script's name on the command line");
		return at;
	}
	part_add(p, part, p->options->parameters[number - 1], strlen(p->options->parameters[number - 1]));
	return at;
}

static uint32_t part_quoted(struct parser *p, struct part *part, uint32_t at)
{
	const char *source = p->report->source;
	uint32_t begin = at++;

	while (at < p->lexer.end && source[at] != '"') {
		at += source[at] == '\\' && at + 1 < p->lexer.end;
		part_add(p, part, &source[at++], 1);
	}
	if (at >= p->lexer.end) {
		report_error(p->report, "parse.string", (struct span){begin, begin + 1}, "the string has no end");
		p->stop = true;
		return at;
	}
	return at + 1;
}

struct attach_text parse_attach_point(struct parser *p)
{
	struct attach_text point = {};
	const char *source = p->report->source;
	const char *parts[16];
	uint32_t at = p->lexer.at, begin = at, start = at, size = p->lexer.end, i;
	struct part part = {};
	char *colon;

	begin = start = at = behind_name(source, at, size);
	for (; at < size && !p->stop;) {
		char c = source[at];

		if (ends_point(source, size, start, at))
			break;
		if (c == ':') {
			if (point.part_count == 15)
				break;
			parts[point.part_count++] = arena_strdup(p->arena, part.text, part.size);
			part.size = 0;
			start = ++at;
		} else if (c == '"') {
			at = part_quoted(p, &part, at);
		} else if (c == '$' && at + 1 < size &&
			   (isdigit((unsigned char)source[at + 1]) || source[at + 1] == '#')) {
			at = part_parameter(p, &part, at);
		} else {
			part_add(p, &part, &c, 1);
			at++;
		}
	}
	/* A parameter may be several parts, or all of them. */
	for (colon = memchr(part.text, ':', part.size); colon && source[begin] == '$' && point.part_count < 15;
	     colon = memchr(part.text, ':', part.size)) {
		parts[point.part_count++] = arena_strdup(p->arena, part.text, (size_t)(colon - part.text));
		part.size -= (size_t)(colon + 1 - part.text);
		memmove(part.text, colon + 1, part.size);
	}
	parts[point.part_count++] = arena_strdup(p->arena, part.text, part.size);
	p->lexer.at = at;
	p->last_end = at;
	point.span = (struct span){begin, at};
	point.parts = arena_array(p->arena, const char *, point.part_count);
	for (i = 0; point.parts && i < point.part_count; i++)
		point.parts[i] = parts[i] ? parts[i] : "";
	if (begin == at || !point.parts) {
		report_error(p->report, "parse.probe", (struct span){at, at + 1}, "a probe should begin here");
		report_hint(p->report, "as in: interval:s:1 { printf(\"hello\\n\"); }");
		p->stop = true;
	}
	return point;
}
