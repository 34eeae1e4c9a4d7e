// SPDX-License-Identifier: GPL-2.0-or-later
/* From text to lexemes. */
#include <ctype.h>
#include <string.h>

#include "lang/dialect/stap/stap.h"

struct lexer {
	struct compiler *c;
	const char *source; /* the report's */
	uint32_t at, end;
};

static char peek(const struct lexer *lexer, uint32_t ahead)
{
	return lexer->at + ahead < lexer->end ? lexer->source[lexer->at + ahead] : '\0';
}

static bool skip_comment(struct lexer *lexer)
{
	uint32_t begin = lexer->at;

	if (peek(lexer, 0) == '#' || (peek(lexer, 0) == '/' && peek(lexer, 1) == '/')) {
		while (lexer->at < lexer->end && peek(lexer, 0) != '\n')
			lexer->at++;
		return true;
	}
	for (lexer->at += 2; lexer->at < lexer->end; lexer->at++)
		if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
			lexer->at += 2;
			return true;
		}
	stap_complain(lexer->c, "parse.comment", (struct span){begin, begin + 2}, "the comment has no end");
	return false;
}

static bool skip_blanks(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		if (isspace((unsigned char)peek(lexer, 0)))
			lexer->at++;
		else if (peek(lexer, 0) == '#' ||
			 (peek(lexer, 0) == '/' && (peek(lexer, 1) == '/' || peek(lexer, 1) == '*'))) {
			if (!skip_comment(lexer))
				return false;
		} else {
			break;
		}
	}
	return true;
}

static char escaped(struct lexer *lexer)
{
	static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
	const char *letter = peek(lexer, 0) ? strchr(letters, peek(lexer, 0)) : NULL;
	unsigned int value = 0, digits;

	if (letter) {
		lexer->at++;
		return values[letter - letters];
	}
	if (peek(lexer, 0) == 'x' && isxdigit((unsigned char)peek(lexer, 1))) {
		lexer->at++;
		for (digits = 0; digits < 2 && isxdigit((unsigned char)peek(lexer, 0)); digits++, lexer->at++)
			value = value * 16 + (unsigned int)(isdigit((unsigned char)peek(lexer, 0))
								    ? peek(lexer, 0) - '0'
								    : (peek(lexer, 0) | 32) - 'a' + 10);
		return (char)value;
	}
	if (peek(lexer, 0) >= '0' && peek(lexer, 0) <= '7') {
		for (digits = 0; digits < 3 && peek(lexer, 0) >= '0' && peek(lexer, 0) <= '7'; digits++, lexer->at++)
			value = value * 8 + (unsigned int)(peek(lexer, 0) - '0');
		return (char)value;
	}
	return lexer->at < lexer->end ? lexer->source[lexer->at++] : '\\';
}

static bool take_text(struct lexer *lexer, struct stap_lexeme *ret)
{
	uint32_t begin = lexer->at++, length = 0;
	char *text = arena_alloc(lexer->c->arena, lexer->end - begin + 1);

	if (!text)
		return false;
	while (lexer->at < lexer->end && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n') {
		char c = lexer->source[lexer->at++];

		/* A backslash at a line's end joins it with the next one. */
		if (c == '\\' && peek(lexer, 0) == '\n') {
			lexer->at++;
			continue;
		}
		text[length++] = c == '\\' ? escaped(lexer) : c;
	}
	ret->kind = STAP_TEXT;
	ret->text = text;
	if (peek(lexer, 0) != '"') {
		stap_complain(lexer->c, "parse.string", (struct span){begin, lexer->at},
			      "Could not find matching closing quote");
		return false;
	}
	lexer->at++;
	return true;
}

static bool take_number(struct lexer *lexer, struct stap_lexeme *ret)
{
	uint32_t begin = lexer->at;
	const char *digits = lexer->source + begin;
	unsigned int base = 10;
	uint64_t value = 0;

	if (*digits == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X')) {
		base = 16;
		lexer->at += 2;
	} else if (*digits == '0') {
		base = 8;
	}
	for (; isalnum((unsigned char)peek(lexer, 0)); lexer->at++) {
		char c = peek(lexer, 0);
		unsigned int digit =
			isdigit((unsigned char)c) ? (unsigned int)(c - '0') : (unsigned int)((c | 32) - 'a' + 10);

		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value)) {
			stap_complain(lexer->c, "parse.number", (struct span){begin, lexer->at + 1},
				      "number invalid or out of range");
			return false;
		}
	}
	ret->kind = STAP_NUMBER;
	ret->value = (int64_t)value;
	ret->text = arena_strdup(lexer->c->arena, digits, lexer->at - begin);
	return ret->text != NULL;
}

static bool take_name(struct lexer *lexer, struct stap_lexeme *ret)
{
	uint32_t begin = lexer->at;

	while (peek(lexer, 0) == '$' || peek(lexer, 0) == '@')
		lexer->at++;
	/* How many arguments the script has. */
	if (peek(lexer, 0) == '#')
		lexer->at++;
	while (isalnum((unsigned char)peek(lexer, 0)) || peek(lexer, 0) == '_' ||
	       (peek(lexer, 0) == '$' && lexer->source[begin] == '$'))
		lexer->at++;
	ret->kind = STAP_NAME;
	ret->text = arena_strdup(lexer->c->arena, lexer->source + begin, lexer->at - begin);
	return ret->text != NULL;
}

static bool take_embedded(struct lexer *lexer, struct stap_lexeme *ret)
{
	uint32_t begin = lexer->at;

	for (lexer->at += 2; lexer->at < lexer->end; lexer->at++)
		if (peek(lexer, 0) == '%' && peek(lexer, 1) == '}') {
			lexer->at += 2;
			ret->kind = STAP_EMBEDDED;
			ret->text = "%{";
			return true;
		}
	stap_complain(lexer->c, "parse.embedded", (struct span){begin, begin + 2},
		      "Could not find matching '%%}' to close embedded function block");
	return false;
}

static bool take_operator(struct lexer *lexer, struct stap_lexeme *ret)
{
	static const char *const operators[] = {"<<<", "<<=", ">>=", "->", "++", "--", "+=", "-=", "*=", "/=", "%=",
						"&=",  "|=",  "^=",  ".=", "<=", ">=", "==", "!=", "=~", "!~", "&&",
						"||",  "<<",  ">>",  "%(", "%)", "%?", "%:", "(",  ")",  "[",  "]",
						"{",   "}",   ",",   ";",  ".",  "?",  ":",  "=",  "<",  ">",  "+",
						"-",   "*",   "/",   "%",  "&",  "|",  "^",  "!",  "~"};
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t length = strlen(operators[i]);

		if (lexer->at + length > lexer->end || strncmp(lexer->source + lexer->at, operators[i], length) != 0)
			continue;
		ret->kind = STAP_OPERATOR;
		ret->text = operators[i];
		lexer->at += (uint32_t)length;
		return true;
	}
	stap_complain(lexer->c, "parse.junk", (struct span){lexer->at, lexer->at + 1}, "unexpected junk '%c'",
		      isprint((unsigned char)peek(lexer, 0)) ? peek(lexer, 0) : '?');
	return false;
}

bool stap_lex(struct compiler *c, uint32_t begin, uint32_t end, stap_lexemes *ret)
{
	struct lexer lexer = {.c = c, .source = c->report->source, .at = begin, .end = end};

	for (;;) {
		struct stap_lexeme lexeme = {.text = ""};
		char first;
		bool ok;

		if (!skip_blanks(&lexer))
			return false;
		lexeme.span.begin = lexeme.span.end = lexer.at;
		first = peek(&lexer, 0);
		if (lexer.at >= end) {
			/* The end of the input is behind its last character. */
			lexeme.kind = STAP_END;
			return !vec_push(ret, lexeme);
		}
		if (first == '"')
			ok = take_text(&lexer, &lexeme);
		else if (isdigit((unsigned char)first))
			ok = take_number(&lexer, &lexeme);
		else if (isalpha((unsigned char)first) || first == '_' || first == '$' || first == '@')
			ok = take_name(&lexer, &lexeme);
		else if (first == '%' && peek(&lexer, 1) == '{')
			ok = take_embedded(&lexer, &lexeme);
		else
			ok = take_operator(&lexer, &lexeme);
		lexeme.span.end = lexer.at;
		if (!ok || vec_push(ret, lexeme))
			return false;
	}
}
