// SPDX-License-Identifier: GPL-2.0-or-later
/* D's tokens. Macro arguments ($1, $$1, $target) are replaced here, as in dtrace. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/core/number.h"
#include "lang/dialect/d/d.h"

void d_lexer_init(struct d_lexer *lexer, struct compiler *c)
{
	*lexer = (struct d_lexer){.c = c, .source = c->report->source, .end = (uint32_t)c->report->size};
}

static char peek(const struct d_lexer *lexer, uint32_t ahead)
{
	return lexer->at + ahead < lexer->end ? lexer->source[lexer->at + ahead] : '\0';
}

static void complain(struct d_lexer *lexer, const char *tag, uint32_t from, const char *text, const char *what)
{
	report_error(lexer->c->report, tag, (struct span){from, lexer->at}, "%s%s", text, what ? what : "");
	lexer->failed = true;
	lexer->at = lexer->end;
}

/* At the end of a line that should not be there: the next one is meant, as in dtrace. */
static void complain_behind_line(struct d_lexer *lexer, const char *tag, const char *what)
{
	uint32_t from = lexer->at + 1 < lexer->end ? lexer->at + 1 : lexer->at;

	lexer->at = from;
	complain(lexer, tag, from, "", what);
}

static bool at_line_begin(const struct d_lexer *lexer)
{
	uint32_t at = lexer->at;

	while (at && (lexer->source[at - 1] == ' ' || lexer->source[at - 1] == '\t'))
		at--;
	return !at || lexer->source[at - 1] == '\n';
}

/* #pragma D option ..., #!, # LINE "FILE"; others belong to the preprocessor, which -C asks for. */
static void take_control(struct d_lexer *lexer)
{
	uint32_t from = lexer->at, end = from;
	char *line, *word, *save = NULL;

	while (end < lexer->end && lexer->source[end] != '\n')
		end++;
	lexer->at = end;
	line = arena_strdup(lexer->c->arena, lexer->source + from + 1, end - from - 1);
	if (!line)
		return;
	word = strtok_r(line, " \t\r", &save);
	if (!word || *word == '!' || isdigit((unsigned char)*word) || !strcmp(word, "ident") || !strcmp(word, "line"))
		return;
	if (end + 1 >= lexer->end && strcmp(word, "error") != 0) {
		complain(lexer, "D_SYNTAX", from, "", "end-of-file encountered before end of control line");
	} else if (!strcmp(word, "error") || !strcmp(word, "pragma")) {
		lexer->failed |= !d_pragma(lexer->c, save, (struct span){from, end}, *word == 'e');
		lexer->at = lexer->failed ? lexer->end : end;
	} else {
		complain(lexer, "D_PRAGCTL_INVAL", from, "invalid control directive: #", word);
		report_hint(lexer->c->report, "-C runs the preprocessor first");
	}
}

static bool skip(struct d_lexer *lexer)
{
	uint32_t from = lexer->at;

	while (lexer->at < lexer->end) {
		char c = lexer->source[lexer->at];

		if (isspace((unsigned char)c)) {
			lexer->at++;
		} else if (c == '/' && peek(lexer, 1) == '*') {
			const char *end = memmem(lexer->source + lexer->at + 2,
						 lexer->end - lexer->at < 2 ? 0 : lexer->end - lexer->at - 2, "*/", 2);

			if (!end) {
				lexer->at = lexer->end;
				complain(lexer, "D_SYNTAX", lexer->end - 1, "",
					 "end-of-file encountered before matching */");
				break;
			}
			lexer->at = (uint32_t)(end - lexer->source) + 2;
		} else if (c == '/' && peek(lexer, 1) == '/') {
			while (lexer->at < lexer->end && lexer->source[lexer->at] != '\n')
				lexer->at++;
		} else if (c == '#' && at_line_begin(lexer)) {
			take_control(lexer);
		} else {
			break;
		}
	}
	return lexer->at > from;
}

/* Behind a backslash that is one of the text: D knows fewer escapes than C. */
static bool is_plain(const struct d_lexer *lexer)
{
	return !peek(lexer, 0) || !strchr("01234567abfnrtvx\"\\", peek(lexer, 0));
}

static char escaped(struct d_lexer *lexer)
{
	static const char from[] = "abfnrtv0", to[] = "\a\b\f\n\r\t\v";
	char c = peek(lexer, 0);
	const char *found;
	unsigned int value = 0, digits = 0;

	if (c >= '0' && c <= '7') {
		for (; digits < 3 && peek(lexer, 0) >= '0' && peek(lexer, 0) <= '7'; digits++)
			value = value * 8 + (unsigned int)(lexer->source[lexer->at++] - '0');
		return (char)value;
	}
	lexer->at++;
	if (c == 'x') {
		for (; digits < 2 && number_digit(peek(lexer, 0)) < 16; digits++)
			value = value * 16 + (unsigned int)number_digit(lexer->source[lexer->at++]);
		return (char)value;
	}
	found = c ? strchr(from, c) : NULL;
	return found ? to[found - from] : c;
}

static void take_text(struct d_lexer *lexer, struct d_lexeme *ret)
{
	uint32_t from = lexer->at++;
	char *text = arena_alloc(lexer->c->arena, lexer->end - from + 1), *to = text;

	while (text && lexer->at < lexer->end && lexer->source[lexer->at] != '"' && lexer->source[lexer->at] != '\n') {
		if (lexer->source[lexer->at] != '\\') {
			*to++ = lexer->source[lexer->at++];
			continue;
		}
		lexer->at++;
		if (peek(lexer, 0) == '\n') {
			lexer->at++;
			continue;
		}
		if (is_plain(lexer))
			*to++ = '\\';
		*to++ = escaped(lexer);
	}
	if (peek(lexer, 0) != '"') {
		complain_behind_line(lexer, "D_STR_NL", "newline encountered in string literal");
		return;
	}
	lexer->at++;
	ret->kind = D_TEXT;
	ret->text = text ? text : "";
}

static void add_byte(struct d_lexeme *to, char c, unsigned int before)
{
	to->value = before ? to->value << 8 | (uint8_t)c : (uint64_t)(int64_t)c;
}

static void take_character(struct d_lexer *lexer, struct d_lexeme *ret)
{
	uint32_t from = lexer->at++;
	unsigned int bytes = 0;

	while (lexer->at < lexer->end && lexer->source[lexer->at] != '\'' && lexer->source[lexer->at] != '\n') {
		char c;

		if (lexer->source[lexer->at] == '\\') {
			lexer->at++;
			if (is_plain(lexer))
				add_byte(ret, '\\', bytes++);
			c = escaped(lexer);
		} else {
			c = lexer->source[lexer->at++];
		}
		add_byte(ret, c, bytes++);
	}
	if (peek(lexer, 0) != '\'' || !bytes || bytes > 8) {
		if (peek(lexer, 0) != '\'')
			complain_behind_line(lexer, "D_CHR_NL", "newline encountered in character constant");
		else if (bytes)
			complain(lexer, "D_CHR_OFLOW", from, "", "character constant is too long");
		else
			complain(lexer, "D_CHR_NULL", from, "", "empty character constant");
		return;
	}
	lexer->at++;
	ret->kind = D_NUMBER;
	ret->text = "'";
}

/* As C has them, with a suffix; what follows is a token of its own. */
static void take_number(struct d_lexer *lexer, struct d_lexeme *ret)
{
	uint32_t from = lexer->at, digits, next;
	bool is_hex = peek(lexer, 0) == '0' && (peek(lexer, 1) | 32) == 'x' && number_digit(peek(lexer, 2)) < 16;
	char text[72];

	lexer->at += is_hex ? 2 : 0;
	while (number_digit(peek(lexer, 0)) < (is_hex ? 16 : 10))
		lexer->at++;
	next = (peek(lexer, 1) == '+' || peek(lexer, 1) == '-') ? 2 : 1;
	if (!is_hex && (peek(lexer, 0) == '.' ||
			((peek(lexer, 0) | 32) == 'e' && isdigit((unsigned char)peek(lexer, next))))) {
		complain(lexer, "D_SYNTAX", from, "", "floating-point constants are not permitted");
		return;
	}
	digits = lexer->at - from;
	for (; peek(lexer, 0) && strchr("uUlL", peek(lexer, 0)); lexer->at++) {
		ret->is_unsigned |= (peek(lexer, 0) | 32) == 'u';
		ret->is_long |= (peek(lexer, 0) | 32) == 'l';
	}
	snprintf(text, sizeof(text), "%.*s", (int)digits, lexer->source + from);
	if (!is_hex && *text == '0' && strpbrk(text, "89")) {
		complain(lexer, "D_INT_DIGIT", from, "constant ",
			 arena_printf(lexer->c->arena, "%s contains invalid digit %c", text, *strpbrk(text, "89")));
		return;
	}
	if (digits >= sizeof(text) || !number_parse(text, digits, &ret->value)) {
		complain(lexer, "D_INT_OFLOW", from, "constant ",
			 arena_printf(lexer->c->arena, "%s results in integer overflow", text));
		return;
	}
	ret->kind = D_NUMBER;
	ret->text = text[0] == '0' && digits > 1 ? "0" : "1";
}

/* $1, $$1, $target. A number becomes a number, anything else a name. */
static void take_macro(struct d_lexer *lexer, struct d_lexeme *ret)
{
	const struct compile_options *options = lexer->c->options;
	uint32_t from = lexer->at++;
	bool quoted = peek(lexer, 0) == '$';
	const char *value = NULL;
	char name[64];
	uint32_t length = 0;

	lexer->at += quoted;
	while (length < sizeof(name) - 1 && (isalnum((unsigned char)peek(lexer, 0)) || peek(lexer, 0) == '_'))
		name[length++] = lexer->source[lexer->at++];
	name[length] = '\0';
	if (isdigit((unsigned char)*name)) {
		unsigned long number = strtoul(name, NULL, 10);

		if (!number)
			value = lexer->c->report->script.name;
		else if (number <= options->parameter_count) {
			value = options->parameters[number - 1];
			if (number <= 64)
				d_state(lexer->c)->used_parameters |= 1ull << (number - 1);
		}
		else if (d_state(lexer->c)->options[D_DEFAULTARGS])
			value = quoted ? "" : "0";
	} else if (!strcmp(name, "target")) {
		value = arena_printf(lexer->c->arena, "%d", options->pid);
	} else {
		static const char *const names[] = {"pid", "ppid", "uid", "euid", "gid", "egid", "pgid", "sid"};
		const long values[] = {getpid(), getppid(), getuid(),   geteuid(),
				       getgid(), getegid(), getpgid(0), getsid(0)};
		size_t i;

		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(names[i], name))
				value = arena_printf(lexer->c->arena, "%ld", values[i]);
	}
	if (!value) {
		lexer->failed = true;
		if (isdigit((unsigned char)*name))
			report_error(lexer->c->report, "D_MACRO_UNDEF", (struct span){from, lexer->at},
				     "macro argument $%s is not defined", name);
		else if (*name)
			report_error(lexer->c->report, "D_MACRO_UNDEF", (struct span){from, lexer->at},
				     "macro variable $%s is not defined", name);
		else
			report_error(lexer->c->report, "D_SYNTAX", (struct span){from, lexer->at},
				     "syntax error near \"$\"");
		return;
	}
	ret->text = value;
	if (quoted || (name[0] == '0' && !name[1])) {
		ret->kind = D_TEXT;
	} else if (number_parse(value, strlen(value), &ret->value)) {
		ret->kind = D_NUMBER;
		ret->text = "1";
	} else if (*value == '-' && number_parse(value + 1, strlen(value + 1), &ret->value)) {
		ret->kind = D_NUMBER;
		ret->value = -ret->value;
		ret->text = "1";
	} else if (isdigit((unsigned char)*value) && strspn(value, "0123456789xXabcdefABCDEF") == strlen(value)) {
		report_error(lexer->c->report, "D_MACRO_OFLOW", (struct span){from, lexer->at},
			     "macro argument $%s constant %s results in integer overflow", name, value);
		lexer->failed = true;
	} else {
		ret->kind = D_NAME;
	}
}

static void take_operator(struct d_lexer *lexer, struct d_lexeme *ret)
{
	static const char *const operators[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
						"<=",  ">=",  "==",  "!=", "&&", "||", "^^", "+=",
						"-=",  "*=",  "/=",  "%=", "&=", "|=", "^="};
	size_t i;

	ret->kind = D_OPERATOR;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (lexer->at + strlen(operators[i]) <= lexer->end &&
		    !memcmp(lexer->source + lexer->at, operators[i], strlen(operators[i]))) {
			ret->text = operators[i];
			lexer->at += (uint32_t)strlen(operators[i]);
			return;
		}
	if (!strchr("+-*/%&|^~!<>=?:;,.()[]{}@", peek(lexer, 0)) || !peek(lexer, 0)) {
		lexer->at++;
		complain(lexer, "D_SYNTAX", lexer->at - 1, "", "syntax error: unexpected character");
		return;
	}
	lexer->parentheses += peek(lexer, 0) == '(';
	lexer->brackets += peek(lexer, 0) == '[';
	if (peek(lexer, 0) == ')' && !lexer->parentheses--)
		complain(lexer, "D_SYNTAX", lexer->at, "", "extra ) in input stream");
	else if (peek(lexer, 0) == ']' && !lexer->brackets--)
		complain(lexer, "D_SYNTAX", lexer->at, "", "extra ] in input stream");
	if (lexer->failed)
		return;
	ret->text = arena_strdup(lexer->c->arena, lexer->source + lexer->at++, 1);
	if (!ret->text)
		ret->text = ";";
}

struct d_lexeme d_next(struct d_lexer *lexer)
{
	struct d_lexeme ret = {.text = ""};
	uint32_t from;
	char c;

	ret.after_space = skip(lexer);
	from = lexer->at;
	ret.span = (struct span){from, from};
	if (lexer->at >= lexer->end)
		return ret;
	c = lexer->source[lexer->at];
	if (isalpha((unsigned char)c) || c == '_' || c == '`') {
		while (isalnum((unsigned char)peek(lexer, 0)) || peek(lexer, 0) == '_' ||
		       peek(lexer, 0) == '`')
			lexer->at++;
		ret.kind = D_NAME;
		ret.text = arena_strdup(lexer->c->arena, lexer->source + from, lexer->at - from);
		if (!ret.text)
			ret.text = "";
	} else if (isdigit((unsigned char)c)) {
		take_number(lexer, &ret);
	} else if (c == '"') {
		take_text(lexer, &ret);
	} else if (c == '\'') {
		take_character(lexer, &ret);
	} else if (c == '$') {
		take_macro(lexer, &ret);
	} else {
		take_operator(lexer, &ret);
	}
	if (lexer->failed)
		ret.kind = D_END;
	ret.span.end = lexer->at;
	return ret;
}

/* Between blanks, with macros replaced: python$target:::function-entry. */
struct d_lexeme d_next_probe(struct d_lexer *lexer)
{
	struct d_lexeme ret = {.text = ""};
	const char *text = "";
	uint32_t from, run;

	skip(lexer);
	from = lexer->at;
	while (lexer->at < lexer->end && !lexer->failed && text) {
		char c = lexer->source[lexer->at];

		if (isspace((unsigned char)c) || strchr("{/;,", c))
			break;
		if (c == '$') {
			struct d_lexeme macro = {.text = ""};

			take_macro(lexer, &macro);
			if (macro.kind == D_NUMBER)
				text = arena_printf(lexer->c->arena, "%s%llu", text, (unsigned long long)macro.value);
			else
				text = arena_printf(lexer->c->arena, "%s%s", text, macro.text);
			continue;
		}
		/* A class in brackets may have anything in it. */
		if (c == '[' && memchr(lexer->source + lexer->at, ']', lexer->end - lexer->at)) {
			const char *close = memchr(lexer->source + lexer->at, ']', lexer->end - lexer->at);
			uint32_t length = (uint32_t)(close - lexer->source) + 1 - lexer->at;

			text = arena_printf(lexer->c->arena, "%s%.*s", text, (int)length, lexer->source + lexer->at);
			lexer->at += length;
			continue;
		}
		for (run = 1; lexer->at + run < lexer->end && !isspace((unsigned char)peek(lexer, run)) &&
			      !strchr("{/;,$[", peek(lexer, run));)
			run++;
		text = arena_printf(lexer->c->arena, "%s%.*s", text, (int)run, lexer->source + lexer->at);
		lexer->at += run;
	}
	ret.span = (struct span){from, lexer->at};
	ret.kind = lexer->at > from && !lexer->failed && text ? D_NAME : D_END;
	ret.text = text ? text : "";
	return ret;
}
