// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/translate/translate.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static const char mark_begin[] = "// strata: ";

void translation_init(struct translation *t, struct compiler *c)
{
	*t = (struct translation){.c = c};
}

void translation_deinit(struct translation *t)
{
	vec_free(&t->out);
	vec_free(&t->marks);
	vec_free(&t->names);
	vec_free(&t->headers);
}

void translation_write(const struct translation *t, FILE *out)
{
	const char *at = t->out.at;
	size_t left = t->out.count, i;

	for (i = 0; i < t->headers.count; i++)
		fprintf(out, "#include <%s>\n", t->headers.at[i]);
	if (t->headers.count)
		fputc('\n', out);
	while (left && at[left - 1] == '\n')
		left--;
	fwrite(at, 1, left, out);
	if (left)
		fputc('\n', out);
}

static void add(struct translation *t, const char *text, size_t size)
{
	if (vec_reserve(&t->out, size)) {
		t->c->arena->failed = true;
		return;
	}
	if (size)
		memcpy(t->out.at + t->out.count, text, size);
	t->out.count += size;
}

static void indent(struct translation *t)
{
	uint32_t i;

	for (i = 0; i < t->depth; i++)
		add(t, "\t", 1);
}

/* Nothing of a script may move a terminal's cursor. */
static void add_safely(struct translation *t, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		add(t, (c < ' ' && c != '\t') || c == 0x7f ? "?" : text + i, 1);
	}
}

static void add_marks(struct translation *t)
{
	size_t i;

	for (i = 0; i < t->marks.count; i++) {
		indent(t);
		add(t, mark_begin, sizeof(mark_begin) - 1);
		add_safely(t, t->marks.at[i], strlen(t->marks.at[i]));
		add(t, "\n", 1);
		t->marked++;
	}
	t->marks.count = 0;
}

void translate_line(struct translation *t, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int size;

	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (size < 0) {
		t->c->arena->failed = true;
		return;
	}
	add_marks(t);
	if (size) {
		indent(t);
		add(t, text, (size_t)size);
		add(t, "\n", 1);
	}
	free(text);
}

void translate_gap(struct translation *t)
{
	size_t count = t->out.count;

	if (count && !(count > 1 && t->out.at[count - 1] == '\n' && t->out.at[count - 2] == '\n'))
		add(t, "\n", 1);
}

void translate_mark(struct translation *t, const char *what, const char *format, ...)
{
	va_list arguments;
	char *why = NULL;
	const char *text;
	size_t i;
	int size;

	va_start(arguments, format);
	size = vasprintf(&why, format, arguments);
	va_end(arguments);
	text = size < 0 ? NULL : arena_printf(t->c->arena, "%s: %s", what, why);
	free(why);
	for (i = 0; text && i < t->marks.count; i++)
		if (!strcmp(t->marks.at[i], text))
			return;
	if (!text || vec_push(&t->marks, text))
		t->c->arena->failed = true;
}

/* A comment's lines, without the blanks that they begin and end with. */
static void add_comment(struct translation *t, const char *text, size_t size)
{
	size_t length, end;
	bool is_first = true;

	for (; size; text += length, size -= length) {
		const char *newline = memchr(text, '\n', size);

		length = newline ? (size_t)(newline - text) + 1 : size;
		for (end = length; end && isspace((unsigned char)text[end - 1]);)
			end--;
		while (end && length && isspace((unsigned char)*text)) {
			text++;
			size--;
			length--;
			end--;
		}
		if (!is_first) {
			add(t, "\n", 1);
			indent(t);
			if (end && *text == '*')
				add(t, " ", 1);
		}
		add_safely(t, text, end);
		is_first = false;
	}
}

/* The end of what begins at `at`, a comment or a text; 0: neither. */
static uint32_t skip_one(const struct translation *t, uint32_t at, uint32_t end, bool *is_comment)
{
	const char *source = t->c->report->source, *found;

	*is_comment = true;
	if (t->has_hashes && source[at] == '#') {
		*is_comment = at || end < 2 || source[1] != '!';
		found = memchr(source + at, '\n', end - at);
		return found ? (uint32_t)(found - source) : end;
	}
	if (source[at] == '/' && at + 1 < end && source[at + 1] == '*') {
		found = memmem(source + at + 2, end - at - 2, "*/", 2);
		return found ? (uint32_t)(found - source) + 2 : end;
	}
	if (source[at] == '/' && at + 1 < end && source[at + 1] == '/') {
		found = memchr(source + at, '\n', end - at);
		return found ? (uint32_t)(found - source) : end;
	}
	*is_comment = false;
	if (source[at] == '\'' && at + 2 < end && source[at + 2] == '\'')
		return at + 3;
	if (source[at] == '"') {
		for (at++; at < end && source[at] != '"' && source[at] != '\n'; at++)
			at += source[at] == '\\' && at + 1 < end;
		return at < end ? at + 1 : end;
	}
	return 0;
}

void translate_comments(struct translation *t, uint32_t end)
{
	const char *source = t->c->report->source;
	bool same_line = t->out.count > t->floor && t->out.at[t->out.count - 1] == '\n' &&
			 t->out.count > 1 && t->out.at[t->out.count - 2] != '\n',
	     is_comment;
	uint32_t next;

	if (end > t->c->report->size)
		end = (uint32_t)t->c->report->size;
	while (t->at < end) {
		if (source[t->at] == '\n')
			same_line = false;
		next = skip_one(t, t->at, end, &is_comment);
		/* A comment that has its end beyond is not cut. */
		if (!next) {
			t->at++;
			continue;
		}
		if (is_comment) {
			if (same_line)
				t->out.at[t->out.count - 1] = ' ';
			else
				indent(t);
			if (source[t->at] == '#')
				add(t, "// ", 3);
			add_comment(t, source + t->at + (source[t->at] == '#'), next - t->at - (source[t->at] == '#'));
			add(t, "\n", 1);
		}
		t->at = next;
	}
}

void translate_include(struct translation *t, const char *header)
{
	size_t i;

	for (i = 0; i < t->headers.count; i++)
		if (!strcmp(t->headers.at[i], header))
			return;
	if (vec_push(&t->headers, header))
		t->c->arena->failed = true;
}

const char *translate_name(struct translation *t, const char *key, const char *wanted)
{
	const char *name = wanted;
	unsigned int number = 1;
	size_t i;

	for (i = 0; i < t->names.count; i++)
		if (!strcmp(t->names.at[i].key, key))
			return t->names.at[i].name;
	for (i = 0; i < t->names.count && name;)
		if (!strcmp(t->names.at[i].name, name)) {
			name = arena_printf(t->c->arena, "%s_%u", wanted, ++number);
			i = 0;
		} else {
			i++;
		}
	name = name ? arena_strdup(t->c->arena, name, strlen(name)) : NULL;
	key = arena_strdup(t->c->arena, key, strlen(key));
	if (!name || !key || vec_push(&t->names, (struct translate_name){key, name})) {
		t->c->arena->failed = true;
		return "";
	}
	return name;
}

const char *translate_quoted(struct translation *t, const char *text)
{
	static const char special[] = "\n\t\r\"\\", letters[] = "ntr\"\\";
	char *ret = arena_alloc(t->c->arena, 4 * strlen(text) + 3), *to = ret;

	if (!ret)
		return "\"\"";
	*to++ = '"';
	for (; *text; text++) {
		const char *found = strchr(special, *text);

		if (found) {
			*to++ = '\\';
			*to++ = letters[found - special];
		} else if ((unsigned char)*text < ' ' || *text == 0x7f) {
			to += sprintf(to, "\\%03o", (unsigned char)*text);
		} else {
			*to++ = *text;
		}
	}
	*to++ = '"';
	*to = '\0';
	return ret;
}

const char *translate_source(struct translation *t, struct span span)
{
	char *ret;

	if (span.end > t->c->report->size || span.begin > span.end)
		return "";
	ret = arena_strdup(t->c->arena, t->c->report->source + span.begin, span.end - span.begin);
	return ret ? ret : "";
}

struct translate_piece translate_aside_begin(struct translation *t)
{
	const struct translate_piece ret = {"", t->marked, t->out.count, t->floor};

	t->floor = t->out.count;
	return ret;
}

void translate_aside_end(struct translation *t, struct translate_piece *piece)
{
	add_marks(t);
	piece->text = arena_strdup(t->c->arena, t->out.count > piece->begin ? t->out.at + piece->begin : "",
				   t->out.count - piece->begin);
	if (!piece->text)
		piece->text = "";
	t->out.count = piece->begin;
	t->floor = piece->floor;
	piece->marked = t->marked - piece->marked;
	t->marked -= piece->marked;
}

void translate_again(struct translation *t, const struct translate_piece *piece)
{
	add(t, piece->text, strlen(piece->text));
	t->marked += piece->marked;
}
