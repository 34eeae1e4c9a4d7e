// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Macros are texts. A macro that is used is expanded as text, and so are the macros in it, but none within itself. The
 * words of the result replace the name, and all of them have its position. So the parser, which goes back at times,
 * finds the same words again, and an error message points at the text of the script.
 *
 * Macros of headers that have parameters are expanded only in headers and macros: the kernel's min(a, b) must not
 * replace the script's.
 */
#include "lang/dialect/bpftrace/parse/preprocess.h"

#include <ctype.h>
#include <string.h>
#include <xxhash.h>

#include "arch/arch.h"
#include "lang/dialect/bpftrace/parse/parts.h"

#define EXPANSION_MAX    65536 /* characters that one use of a macro may become */
#define EXPANSION_DEPTH  64
#define PARAMETERS_MAX   32
#define CONDITIONALS_MAX 1000

static struct define *find_define(const struct defines *defines, const char *name, size_t length)
{
	uint64_t index;

	if (!table_get(&defines->by_name, XXH3_64bits(name, length) | 1, &index))
		return NULL;
	return defines->all.at[index].name && strlen(defines->all.at[index].name) == length &&
			       !memcmp(defines->all.at[index].name, name, length)
		       ? &defines->all.at[index]
		       : NULL;
}

static void add_define(struct parser *p, struct define define)
{
	struct defines *defines = p->defines;
	uint64_t key = XXH3_64bits(define.name, strlen(define.name)) | 1;

	if (vec_push(&defines->all, define) || table_set(&defines->by_name, key, defines->all.count - 1))
		p->arena->failed = true;
}

void defines_deinit(struct defines *defines)
{
	vec_free(&defines->all);
	table_deinit(&defines->by_name);
}

/* What a compiler for this machine would define, and the words of C that mean nothing here. */
static void make_ready(struct parser *p)
{
	const char *const all[][2] = {
		{"BPFTRACE_HAVE_BTF", "1"},
		{"__linux__", "1"},
		{"__STDC__", "1"},
		{"__STDC_VERSION__", "201710"},
		{"__CHAR_BIT__", "8"},
		{"__LP64__", "1"},
		{"_LP64", "1"},
		{"__SIZEOF_LONG__", "8"},
		{"__SIZEOF_POINTER__", "8"},
		{"__ORDER_LITTLE_ENDIAN__", "1234"},
		{"__ORDER_BIG_ENDIAN__", "4321"},
		{"__BYTE_ORDER__", "1234"},
		{"_DEFAULT_SOURCE", "1"},
		{"_GNU_SOURCE", "1"},
		{"__extension__", ""},
		{"__inline", ""},
		{"__inline__", ""},
		{"__restrict", ""},
		{"__restrict__", ""},
		{"__const", "const"},
		{"__volatile__", "volatile"},
		{"__signed__", "signed"},
		{arch_here()->macro, "1"},
	};
	size_t i;

	p->defines->is_ready = true;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		add_define(p, (struct define){.name = all[i][0], .text = all[i][1], .of_header = true});
}

/* --- texts --- */

struct text {
	char *at;
	size_t size, room;
	bool failed;       /* it has become too long */
	const char *wrong; /* what the lexer said about it */
};

static void text_add(struct parser *p, struct text *text, const char *more, size_t size)
{
	if (text->size + size + 1 > text->room) {
		size_t room = (text->size + size + 1) * 2;
		char *grown = text->failed || room > 4ul * EXPANSION_MAX ? NULL : arena_alloc(p->arena, room);

		if (!grown) {
			text->failed = true;
			return;
		}
		if (text->size)
			memcpy(grown, text->at, text->size);
		text->at = grown;
		text->room = room;
	}
	memcpy(text->at + text->size, more, size);
	text->size += size;
	text->at[text->size] = '\0';
}

/* A lexer of a text that is no part of the script; what it complains about goes to `scratch`. */
static struct lexer text_lexer(struct parser *p, const char *text, struct report *scratch)
{
	struct lexer lexer;

	report_init(scratch, p->arena, "", text, strlen(text));
	lexer_init(&lexer, scratch, &scratch->script);
	return lexer;
}

/* A macro that is being expanded, within others. */
struct hidden {
	const struct hidden *outer;
	const char *name;
	unsigned int depth;
};

static bool is_hidden(const struct hidden *hidden, const char *name)
{
	for (; hidden; hidden = hidden->outer)
		if (!strcmp(hidden->name, name))
			return true;
	return false;
}

static void expand_text(struct parser *p, const char *text, const struct hidden *hidden, struct text *ret);

/* The arguments behind a macro's name, as written; false, with the lexer where it was, when there are none. */
static bool take_arguments(struct parser *p, struct lexer *lexer, const struct define *define, const char **ret)
{
	struct lexer saved = *lexer;
	struct token token = lexer_next(lexer);
	uint32_t depth = 1, count = 0, begin = token.span.end;

	if (token.kind != TOKEN_PUNCTUATION || strcmp(token.text, "(")) {
		*lexer = saved;
		return false;
	}
	while (depth) {
		bool ends;

		token = lexer_next(lexer);
		if (token.kind == TOKEN_END)
			break;
		if (token.kind != TOKEN_PUNCTUATION)
			continue;
		depth += !strcmp(token.text, "(");
		depth -= !strcmp(token.text, ")");
		ends = !depth || (depth == 1 && !strcmp(token.text, ","));
		if (ends && count < define->parameter_count)
			ret[count] = arena_strdup(p->arena, lexer->source + begin, token.span.begin - begin);
		count += ends;
		begin = ends ? token.span.end : begin;
	}
	if (!depth && (count == define->parameter_count || (count == 1 && !define->parameter_count)))
		return true;
	*lexer = saved;
	return false;
}

/* "##": what stands before and behind it is one word. */
static bool take_paste(struct lexer *lexer, const struct token *token)
{
	if (token->kind != TOKEN_PUNCTUATION || strcmp(token->text, "#") != 0 || lexer->at >= lexer->end ||
	    lexer->source[lexer->at] != '#')
		return false;
	lexer->at++;
	return true;
}

/* The macro's text, with its arguments, which are expanded, in place of the parameters. */
static const char *substitute(struct parser *p, const struct define *define, const char *const *arguments,
			      const struct hidden *hidden)
{
	struct report scratch;
	struct lexer lexer = text_lexer(p, define->text, &scratch);
	struct text text = {};
	struct token token;

	while ((token = lexer_next(&lexer)).kind != TOKEN_END && !text.failed) {
		uint32_t i = define->parameter_count;

		if (take_paste(&lexer, &token)) {
			while (text.size && text.at[text.size - 1] == ' ')
				text.size--;
			continue;
		}
		if (token.kind == TOKEN_NAME)
			for (i = 0; i < define->parameter_count && strcmp(define->parameters[i], token.text) != 0;)
				i++;
		if (i < define->parameter_count)
			expand_text(p, arguments[i] ? arguments[i] : "", hidden, &text);
		else
			text_add(p, &text, lexer.source + token.span.begin, token.span.end - token.span.begin);
		text_add(p, &text, " ", 1);
	}
	report_deinit(&scratch);
	return text.failed || !text.at ? "" : text.at;
}

/* Behind a name: is it a macro that is expanded here? Then *ret gets its text. */
static bool expand_name(struct parser *p, struct lexer *lexer, const char *name, const struct hidden *hidden,
			struct text *ret)
{
	const struct define *define = find_define(p->defines, name, strlen(name));
	struct hidden inner = {.outer = hidden, .name = name, .depth = hidden ? hidden->depth + 1 : 0};
	const char *arguments[PARAMETERS_MAX] = {}, *text;

	if (!define || is_hidden(hidden, name) || inner.depth > EXPANSION_DEPTH)
		return false;
	if (define->is_function &&
	    ((!hidden && define->of_header && !p->is_header) || !take_arguments(p, lexer, define, arguments)))
		return false;
	text = define->is_function ? substitute(p, define, arguments, hidden) : define->text;
	expand_text(p, text, &inner, ret);
	return true;
}

static void expand_text(struct parser *p, const char *text, const struct hidden *hidden, struct text *ret)
{
	struct report scratch;
	struct lexer lexer = text_lexer(p, text, &scratch);
	struct token token;

	while ((token = lexer_next(&lexer)).kind != TOKEN_END && !ret->failed) {
		if (token.kind != TOKEN_NAME || !expand_name(p, &lexer, token.text, hidden, ret))
			text_add(p, ret, lexer.source + token.span.begin, token.span.end - token.span.begin);
		text_add(p, ret, " ", 1);
		if (ret->size > EXPANSION_MAX)
			ret->failed = true;
	}
	if (scratch.errors && scratch.complaints.count)
		ret->wrong = scratch.complaints.at[0].text;
	report_deinit(&scratch);
}

/* The words that stand for a macro's name, from then on the next ones. False when the name is none. */
static bool expand(struct parser *p, const struct token *name)
{
	VEC(struct token) words = {};
	struct report scratch;
	struct text text = {};
	struct lexer lexer;
	struct token word;
	struct span span = name->span;
	bool after_newline = name->after_newline;

	if (!expand_name(p, &p->lexer, name->text, NULL, &text))
		return false;
	span.end = p->lexer.at;
	if (text.failed)
		report_error(p->report, "parse.define", span, "the macro %s becomes longer than %d characters",
			     name->text, EXPANSION_MAX);
	lexer = text_lexer(p, text.failed || !text.at ? "" : text.at, &scratch);
	while ((word = lexer_next(&lexer)).kind != TOKEN_END) {
		word.span = span;
		word.after_newline = after_newline;
		after_newline = false;
		if (vec_push(&words, word))
			p->arena->failed = true;
	}
	if (text.wrong)
		report_error(p->report, "parse.define", span, "the macro %s has no meaning here: %s", name->text,
			     text.wrong);
	p->words = arena_array(p->arena, struct token, words.count + 1);
	p->word_count = p->words ? words.count : 0;
	if (p->word_count)
		memcpy(p->words, words.at, words.count * sizeof(*words.at));
	p->word_at = 0;
	vec_free(&words);
	report_deinit(&scratch);
	return true;
}

/* --- lines --- */

/* 'c', which scripts do not have: its length, and the number that it is; 0: it is none. */
static uint32_t character(const char *at, uint32_t left, char *ret)
{
	static const char escapes[] = "0\0n\nt\tr\r\\\\''";
	const char *escape;

	if (left > 2 && at[0] == '\'' && at[1] != '\\' && at[1] != '\n' && at[2] == '\'') {
		*ret = at[1];
		return 3;
	}
	if (left < 4 || memcmp(at, "'\\", 2) != 0 || at[3] != '\'')
		return 0;
	escape = memchr(escapes, at[2], sizeof(escapes) - 1);
	*ret = escape ? escape[1] : at[2];
	return 4;
}

/*
 * Passes over the rest of the line, also where it goes on behind a backslash; its text, without comments and with
 * numbers for characters, to *ret.
 */
static void take_line(struct parser *p, struct text *ret)
{
	struct lexer *lexer = &p->lexer;
	const char *source = lexer->source;
	bool quoted = false;

	while (lexer->at < lexer->end && source[lexer->at] != '\n') {
		uint32_t left = lexer->end - lexer->at;
		const char *at = source + lexer->at;

		if (left > 1 && at[0] == '\\' && at[1] == '\n') {
			lexer->at += 2;
		} else if (left > 1 && !quoted && at[0] == '/' && at[1] == '*') {
			const char *end = memmem(at + 2, left - 2, "*/", 2);

			lexer->at = end ? (uint32_t)(end + 2 - source) : lexer->end;
			if (ret)
				text_add(p, ret, " ", 1);
		} else if (left > 1 && !quoted && at[0] == '/' && at[1] == '/') {
			while (lexer->at < lexer->end && source[lexer->at] != '\n')
				lexer->at++;
		} else {
			char number[8], value;
			uint32_t size = quoted ? 0 : character(at, left, &value);

			if (ret && size)
				text_add(p, ret, number, (size_t)snprintf(number, sizeof(number), "%d", value));
			if (!size) {
				size = left > 1 && at[0] == '\\' ? 2 : 1;
				quoted ^= at[0] == '"';
				if (ret)
					text_add(p, ret, at, size);
			}
			lexer->at += size;
		}
	}
}

/* "NAME REST": the name's length, and *rest behind it and blanks. */
static size_t first_word(const char *line, const char **rest)
{
	size_t length = 0;

	while (isalnum((unsigned char)line[length]) || line[length] == '_')
		length++;
	*rest = line + length;
	while (isblank((unsigned char)**rest))
		++*rest;
	return length;
}

/* --- conditions --- */

/* defined NAME and defined(NAME), which are asked before macros are expanded, as 1 or 0. */
static const char *answer_defined(struct parser *p, const char *condition)
{
	struct report scratch;
	struct lexer lexer = text_lexer(p, condition, &scratch);
	struct text text = {};
	struct token token;

	while ((token = lexer_next(&lexer)).kind != TOKEN_END) {
		bool bracket;

		if (token.kind != TOKEN_NAME || strcmp(token.text, "defined") != 0) {
			text_add(p, &text, lexer.source + token.span.begin, token.span.end - token.span.begin);
			text_add(p, &text, " ", 1);
			continue;
		}
		token = lexer_next(&lexer);
		bracket = token.kind == TOKEN_PUNCTUATION && !strcmp(token.text, "(");
		if (bracket)
			token = lexer_next(&lexer);
		text_add(p, &text, find_define(p->defines, token.text, strlen(token.text)) ? " 1 " : " 0 ", 3);
		if (bracket)
			lexer_next(&lexer);
	}
	report_deinit(&scratch);
	return text.failed || !text.at ? "" : text.at;
}

static bool condition_holds(struct parser *p, const char *condition, struct span span)
{
	struct report scratch;
	struct parser inner = *p;
	struct ast *node;
	int64_t value = 0;
	bool good;

	inner.lexer = text_lexer(p, answer_defined(p, condition), &scratch);
	inner.report = &scratch;
	inner.word_count = inner.word_at = inner.conditionals = 0;
	inner.is_header = true;
	inner.stop = false;
	inner.token = preprocess_next(&inner);
	node = parse_expression(&inner);
	good = inner.token.kind == TOKEN_END && !scratch.errors && parse_evaluate(&inner, node, false, &value);
	report_deinit(&scratch);
	if (!good && !p->is_header) {
		report_error(p->report, "parse.condition", span, "the condition is no constant expression");
		report_hint(p->report, "as in #if defined(NAME) && NAME > 4");
	}
	return good && value;
}

/* "if", "ifdef" and "ifndef" begin a group. */
static bool begins_group(const char *word, size_t length)
{
	return length >= 2 && !memcmp(word, "if", 2) &&
	       (length == 2 || (length == 5 && !memcmp(word, "ifdef", 5)) ||
		(length == 6 && !memcmp(word, "ifndef", 6)));
}

static bool group_holds(struct parser *p, const char *line, struct span span)
{
	const char *rest, *end;
	size_t length = first_word(line, &rest), name = first_word(rest, &end);

	if (length == 2 || line[0] == 'e') /* if, elif */
		return condition_holds(p, rest, span);
	return !find_define(p->defines, rest, name) == (length == 6);
}

/* Passes over what is not taken, up to behind #endif, or to an #else or #elif that is, if `may_take`. */
static void skip_group(struct parser *p, bool may_take)
{
	unsigned int depth = 0;

	while (p->lexer.at < p->lexer.end) {
		uint32_t begin;
		struct text line = {};
		const char *rest;
		size_t length;

		while (p->lexer.at < p->lexer.end && isspace((unsigned char)p->lexer.source[p->lexer.at]))
			p->lexer.at++;
		begin = p->lexer.at;
		if (begin >= p->lexer.end || p->lexer.source[begin] != '#') {
			take_line(p, NULL);
			continue;
		}
		p->lexer.at++;
		while (p->lexer.at < p->lexer.end && isblank((unsigned char)p->lexer.source[p->lexer.at]))
			p->lexer.at++;
		take_line(p, &line);
		if (!line.at)
			continue;
		length = first_word(line.at, &rest);
		if (begins_group(line.at, length)) {
			depth++;
		} else if (length == 5 && !memcmp(line.at, "endif", 5)) {
			if (!depth--)
				return;
		} else if (!depth && may_take &&
			   ((length == 4 && !memcmp(line.at, "else", 4)) ||
			    (length == 4 && !memcmp(line.at, "elif", 4) &&
			     group_holds(p, line.at, (struct span){begin, p->lexer.at})))) {
			p->conditionals++;
			return;
		}
	}
	report_error(p->report, "parse.conditional", (struct span){p->lexer.end, p->lexer.end}, "an #if has no #endif");
}

/* --- directives --- */

static void define(struct parser *p, const char *line)
{
	const char *rest;
	size_t length = first_word(line, &rest);
	struct define define = {.name = arena_strdup(p->arena, line, length), .of_header = p->is_header};

	if (!length || isdigit((unsigned char)*line) || !define.name)
		return;
	if (line[length] == '(') {
		define.is_function = true;
		define.parameters = arena_array(p->arena, const char *, PARAMETERS_MAX);
		for (rest = line + length + 1; define.parameters && *rest && *rest != ')';) {
			rest += strspn(rest, " \t,");
			length = first_word(rest, &line);
			/* With "..." it is no macro here. */
			if (!length || define.parameter_count == PARAMETERS_MAX)
				break;
			define.parameters[define.parameter_count++] = arena_strdup(p->arena, rest, length);
			rest = line;
		}
		if (*rest++ != ')')
			return;
	}
	/* So that there is always one: an empty text has no words. */
	define.text = arena_printf(p->arena, "%s ", rest);
	if (define.text)
		add_define(p, define);
}

static void undefine(struct parser *p, const char *line)
{
	const char *rest;
	struct define *found = find_define(p->defines, line, first_word(line, &rest));

	if (found)
		found->name = NULL;
}

static void include(struct parser *p, const char *line, struct span span)
{
	struct text text = {};
	const char *end;

	if (*line != '"' && *line != '<') {
		expand_text(p, line, NULL, &text);
		line = text.failed || !text.at ? "" : text.at;
	}
	end = *line == '"' ? strchr(line + 1, '"') : *line == '<' ? strchr(line + 1, '>') : NULL;
	if (end)
		preprocess_include(p, arena_strdup(p->arena, line + 1, (size_t)(end - line - 1)), *line == '"', span);
	else if (!p->is_header)
		report_error(p->report, "parse.include", span, "the name of a file is missing");
}

/* Behind "#" at a line's beginning. */
static void directive(struct parser *p, uint32_t begin)
{
	struct text line = {};
	const char *rest, *word;
	struct span span;
	size_t length;

	while (p->lexer.at < p->lexer.end && isblank((unsigned char)p->lexer.source[p->lexer.at]))
		p->lexer.at++;
	take_line(p, &line);
	span = (struct span){begin, p->lexer.at};
	if (!line.at)
		return;
	length = first_word(line.at, &rest);
	word = arena_strdup(p->arena, line.at, length);
	if (!word) {
		return;
	} else if (!strcmp(word, "define")) {
		define(p, rest);
	} else if (!strcmp(word, "undef")) {
		undefine(p, rest);
	} else if (!strcmp(word, "include")) {
		include(p, rest, span);
	} else if (begins_group(word, length)) {
		if (p->conditionals < CONDITIONALS_MAX && group_holds(p, line.at, span))
			p->conditionals++;
		else
			skip_group(p, true);
	} else if (!strcmp(word, "else") || !strcmp(word, "elif") || !strcmp(word, "endif")) {
		if (!p->conditionals)
			report_error(p->report, "parse.conditional", span, "#%s without #if", word);
		else if (p->conditionals-- && strcmp(word, "endif") != 0)
			skip_group(p, false);
	} else if (!strcmp(word, "error")) {
		report_error(p->report, "parse.error", span, "#error %s", rest);
	}
}

static bool begins_line(const struct lexer *lexer, uint32_t at)
{
	while (at > 0 && isblank((unsigned char)lexer->source[at - 1]))
		at--;
	return !at || lexer->source[at - 1] == '\n';
}

struct token preprocess_next(struct parser *p)
{
	struct token token;

	if (!p->defines->is_ready)
		make_ready(p);
	for (;;) {
		if (p->word_at < p->word_count)
			return p->words[p->word_at++];
		token = lexer_next(&p->lexer);
		if (token.kind == TOKEN_PUNCTUATION && !strcmp(token.text, "#") &&
		    begins_line(&p->lexer, token.span.begin))
			directive(p, token.span.begin);
		else if (token.kind != TOKEN_NAME || !expand(p, &token))
			break;
	}
	if (token.kind == TOKEN_END && p->conditionals) {
		p->conditionals = 0;
		report_error(p->report, "parse.conditional", token.span, "an #if has no #endif");
	}
	return token;
}
