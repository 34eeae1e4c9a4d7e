// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/front/bpftrace/lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void lexer_init(struct lexer *lexer, struct report *report, const struct source *file)
{
	*lexer = (struct lexer){.report = report, .source = report->source, .at = file->begin, .end = file->end};
	if (lexer->end - lexer->at >= 2 && !memcmp(lexer->source + lexer->at, "#!", 2))
		while (lexer->at < lexer->end && lexer->source[lexer->at] != '\n')
			lexer->at++;
}

static char peek(const struct lexer *lexer, uint32_t ahead)
{
	return lexer->at + ahead < lexer->end ? lexer->source[lexer->at + ahead] : '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool lexer_skip_blanks(struct lexer *lexer)
{
	bool newline = false;

	for (;;) {
		uint32_t start = lexer->at;
		char c = peek(lexer, 0);

		if (lexer->at >= lexer->end)
			return newline;
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			newline |= c == '\n';
			lexer->at++;
		} else if (c == '/' && peek(lexer, 1) == '/') {
			while (lexer->at < lexer->end && peek(lexer, 0) != '\n')
				lexer->at++;
		} else if (c == '/' && peek(lexer, 1) == '*') {
			lexer->at += 2;
			while (lexer->at < lexer->end && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'))
				lexer->at++;
			if (lexer->at >= lexer->end) {
				report_error(lexer->report, "parse.comment", (struct span){start, start + 2},
					     "the comment has no end");
				report_hint(lexer->report, "end it with */");
				return newline;
			}
			lexer->at += 2;
		} else {
			return newline;
		}
	}
}

/* Factor of a suffix; 0: it is none. Durations are nanoseconds. */
static uint64_t suffix_factor(const char *text, size_t size)
{
	static const struct {
		const char *text;
		uint64_t factor;
	} suffixes[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", 1000000000},
		{"m", 60000000000ull},
		{"h", 3600000000000ull},
		{"d", 86400000000000ull},
		{"u", 1},
		{"l", 1},
		{"ul", 1},
		{"ll", 1},
		{"ull", 1},
		{"lu", 1},
		{"llu", 1},
	};
	size_t i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strlen(suffixes[i].text) == size && !strncasecmp(suffixes[i].text, text, size))
			return suffixes[i].factor;
	return 0;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

bool lexer_number(const char *text, size_t size, uint64_t *ret)
{
	uint64_t value = 0, factor = 1, exponent = 0;
	unsigned int base = 10, digits = 0;
	size_t i = 0;

	if (size > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		i = 2;
	} else if (size > 1 && text[0] == '0' && isdigit((unsigned char)text[1])) {
		base = 8;
		i = 1;
	}
	for (; i < size; i++) {
		int digit = digit_value(text[i]);

		if (text[i] == '_')
			continue;
		if (digit >= (int)base)
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
		digits++;
	}
	if (!digits)
		return false;
	if (base == 10 && i + 1 < size && (text[i] == 'e' || text[i] == 'E')) {
		for (i++, digits = 0; i < size && isdigit((unsigned char)text[i]); i++, digits++)
			exponent = exponent > 99 ? 99 : exponent * 10 + (uint64_t)(text[i] - '0');
		if (!digits)
			return false;
		for (; exponent && value; exponent--)
			if (__builtin_mul_overflow(value, (uint64_t)10, &value))
				return false;
	}
	if (i < size)
		factor = suffix_factor(text + i, size - i);
	if (!factor || __builtin_mul_overflow(value, factor, &value))
		return false;
	*ret = value;
	return true;
}

static void number(struct lexer *lexer, struct token *token)
{
	uint32_t start = lexer->at;

	while (is_word(peek(lexer, 0)))
		lexer->at++;
	token->kind = TOKEN_NUMBER;
	if (!lexer_number(lexer->source + start, lexer->at - start, &token->value)) {
		report_error(lexer->report, "parse.number", (struct span){start, lexer->at}, "%.*s is not a number",
			     (int)(lexer->at - start), lexer->source + start);
		report_hint(lexer->report, "numbers are like 10, 0x1f, 017, 1e6, 1_000 or 5ms, and fit 64 bits");
	}
	token->is_unsigned = token->value > INT64_MAX;
}

/* The character that an escape stands for; *at is behind the backslash. */
static char escape(const struct lexer *lexer, uint32_t *at)
{
	char c = lexer->source[(*at)++];
	int value = 0, digits;

	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	case 'a':
		return '\a';
	case 'x':
		for (digits = 0; digits < 2 && *at < lexer->end && digit_value(lexer->source[*at]) < 16; digits++)
			value = value * 16 + digit_value(lexer->source[(*at)++]);
		return (char)value;
	default:
		if (c < '0' || c > '7')
			return c;
		value = c - '0';
		for (digits = 1; digits < 3 && *at < lexer->end && digit_value(lexer->source[*at]) < 8; digits++)
			value = value * 8 + digit_value(lexer->source[(*at)++]);
		return (char)value;
	}
}

static void string(struct lexer *lexer, struct token *token)
{
	uint32_t start = lexer->at, at = start + 1;
	size_t length = 0;
	char *text;

	while (at < lexer->end && lexer->source[at] != '"')
		at += lexer->source[at] == '\\' ? 2 : 1;
	if (at >= lexer->end) {
		report_error(lexer->report, "parse.string", (struct span){start, start + 1}, "the string has no end");
		report_hint(lexer->report, "end it with a quotation mark");
		at = lexer->end;
	}
	text = arena_alloc(lexer->report->arena, at - start + 1);
	lexer->at = at < lexer->end ? at + 1 : at;
	for (at = start + 1; text && at < lexer->end && lexer->source[at] != '"';) {
		char c = lexer->source[at++];

		if (c == '\\' && at < lexer->end)
			c = escape(lexer, &at);
		text[length++] = c;
	}
	token->kind = TOKEN_STRING;
	token->text = text ? text : "";
}

static const char *word(struct lexer *lexer)
{
	uint32_t start = lexer->at;
	const char *text;

	while (is_word(peek(lexer, 0)))
		lexer->at++;
	text = arena_strdup(lexer->report->arena, lexer->source + start, lexer->at - start);
	return text ? text : "";
}

static bool punctuation(struct lexer *lexer, struct token *token)
{
	static const char *const all[] = {
		"<<=", ">>=", "...", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=",
		"%=",  "&=",  "|=",  "^=", "->", "..", "?:", "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~",  "!",
		"<",   ">",   "=",   "?",  ":",  ";",  ",",  ".",  "(",  ")",  "[",  "]",  "{",  "}",  "#"};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t length = strlen(all[i]);

		if (lexer->end - lexer->at >= length && !memcmp(lexer->source + lexer->at, all[i], length)) {
			token->kind = TOKEN_PUNCTUATION;
			token->text = all[i];
			lexer->at += (uint32_t)length;
			return true;
		}
	}
	return false;
}

static void dollar(struct lexer *lexer, struct token *token)
{
	uint32_t start = lexer->at++;

	if (peek(lexer, 0) == '#') {
		lexer->at++;
		token->kind = TOKEN_PARAMETER;
	} else if (isdigit((unsigned char)peek(lexer, 0))) {
		token->kind = TOKEN_PARAMETER;
		while (isdigit((unsigned char)peek(lexer, 0)) && token->value < 1000000)
			token->value = token->value * 10 + (uint64_t)(lexer->source[lexer->at++] - '0');
		if (!token->value)
			report_error(lexer->report, "parse.parameter", (struct span){start, lexer->at},
				     "parameters count from $1");
	} else {
		token->kind = TOKEN_VARIABLE;
		token->text = word(lexer);
		if (!*token->text)
			report_error(lexer->report, "parse.variable", (struct span){start, lexer->at},
				     "a variable's name is missing behind $");
	}
}

struct token lexer_next(struct lexer *lexer)
{
	struct token token = {.kind = TOKEN_END};
	char c;

	for (;;) {
		token.after_newline |= lexer_skip_blanks(lexer);
		token.span.begin = lexer->at;
		token.text = "";
		if (lexer->at >= lexer->end)
			break;
		c = peek(lexer, 0);
		if (isdigit((unsigned char)c)) {
			number(lexer, &token);
		} else if (is_word(c)) {
			token.kind = TOKEN_NAME;
			token.text = word(lexer);
		} else if (c == '"') {
			string(lexer, &token);
		} else if (c == '$') {
			dollar(lexer, &token);
		} else if (c == '@') {
			lexer->at++;
			token.kind = TOKEN_MAP;
			token.text = word(lexer);
		} else if (!punctuation(lexer, &token)) {
			lexer->at++;
			report_error(lexer->report, "parse.character", (struct span){token.span.begin, lexer->at},
				     "a script has no place for this character");
			continue;
		}
		break;
	}
	token.span.end = lexer->at;
	return token;
}
