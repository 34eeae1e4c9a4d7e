// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/parse/lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/number.h"

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

static void number(struct lexer *lexer, struct token *token)
{
	uint32_t start = lexer->at;

	while (is_word(peek(lexer, 0)))
		lexer->at++;
	token->kind = TOKEN_NUMBER;
	if (!number_parse(lexer->source + start, lexer->at - start, &token->value)) {
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
		for (digits = 0; digits < 2 && *at < lexer->end && number_digit(lexer->source[*at]) < 16; digits++)
			value = value * 16 + number_digit(lexer->source[(*at)++]);
		return (char)value;
	default:
		if (c < '0' || c > '7')
			return c;
		value = c - '0';
		for (digits = 1; digits < 3 && *at < lexer->end && number_digit(lexer->source[*at]) < 8; digits++)
			value = value * 8 + number_digit(lexer->source[(*at)++]);
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
