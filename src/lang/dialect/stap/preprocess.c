// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Before parsing: %( CONDITION %? THIS %: THAT %) keeps one of two parts, @define NAME(PARAMETERS) %( BODY %) makes a
 * macro, $1 and @1 are the script's arguments as a number or word and as a text.
 */
#include <fnmatch.h>
#include <string.h>
#include <sys/utsname.h>

#include "lang/core/number.h"
#include "lang/dialect/stap/stap.h"

#define EXPANSION_MAX 200000 /* lexemes */
#define DEPTH_MAX     50

#define COMPATIBLE "5.2" /* stap_v: the version of the language */

struct macro {
	const char *name; /* without @ */
	const char **parameters;
	uint32_t parameter_count;
	const struct stap_lexeme *body;
	size_t size;
};

struct preprocessor {
	struct compiler *c;
	VEC(struct macro) macros;
	stap_lexemes *out;
	unsigned int depth, parts;
};

struct reader {
	const struct stap_lexeme *at;
	size_t count, next;
};

static bool is(const struct stap_lexeme *lexeme, const char *text)
{
	return lexeme->kind == STAP_OPERATOR && !strcmp(lexeme->text, text);
}

static bool expand(struct preprocessor *p, struct reader *in, const char *end, const char *other_end,
		   const struct macro *macro, const struct reader *arguments);

static const struct stap_lexeme *take(struct reader *in)
{
	/* The last one is the end, which is never passed. */
	return &in->at[in->next + 1 < in->count ? in->next++ : in->count - 1];
}

static bool emit(struct preprocessor *p, struct stap_lexeme lexeme)
{
	if (p->out->count > EXPANSION_MAX) {
		stap_complain(p->c, "parse.expansion", lexeme.span, "macros make too much of this script");
		return false;
	}
	return !vec_push(p->out, lexeme);
}

/* --- conditions --- */

static int compare_versions(const char *a, const char *b)
{
	return strverscmp(a, b);
}

static bool by_order(const char *op, int order)
{
	if (!strcmp(op, "=="))
		return !order;
	if (!strcmp(op, "!="))
		return order;
	if (!strcmp(op, "<"))
		return order < 0;
	if (!strcmp(op, "<="))
		return order <= 0;
	return !strcmp(op, ">") ? order > 0 : order >= 0;
}

static bool is_comparison(const struct stap_lexeme *lexeme)
{
	return is(lexeme, "==") || is(lexeme, "!=") || is(lexeme, "<") || is(lexeme, "<=") || is(lexeme, ">") ||
	       is(lexeme, ">=");
}

static bool argument(struct preprocessor *p, const struct stap_lexeme *lexeme, struct stap_lexeme *ret);

static bool compare(struct preprocessor *p, const struct stap_lexeme *left, const struct stap_lexeme *op,
		    const struct stap_lexeme *right, bool *ret)
{
	struct utsname machine = {};
	bool is_text = left->kind == STAP_TEXT || left->kind == STAP_NAME;
	const char *value = left->text;
	size_t digits;

	uname(&machine);
	if (left->kind == STAP_NUMBER && right->kind == STAP_NUMBER) {
		*ret = by_order(op->text, left->value < right->value ? -1 : left->value > right->value);
		return true;
	}
	if (left->kind == STAP_NAME && !strcmp(value, "arch"))
		value = machine.machine;
	else if (left->kind == STAP_NAME && (!strcmp(value, "kernel_v") || !strcmp(value, "kernel_vr")))
		value = machine.release;
	else if (left->kind == STAP_NAME && !strcmp(value, "systemtap_v"))
		value = COMPATIBLE;
	else if (left->kind == STAP_NAME && !strcmp(value, "systemtap_privilege"))
		value = "stapdev";
	else if (left->kind == STAP_NAME && !strcmp(value, "runtime"))
		value = "bpf";
	else if (left->kind == STAP_NAME && !strncmp(value, "CONFIG_", 7))
		value = "y"; /* which kernel there is matters less here than that its events are there */
	else if (left->kind == STAP_NAME)
		is_text = false;
	if (!is_text || right->kind == STAP_OPERATOR || right->kind == STAP_END) {
		stap_complain(p->c, "parse.condition", left->span,
			      "expected 'arch' or 'kernel_v' or 'kernel_vr' or 'CONFIG_...'\n"
			      "             or comparison between strings or integers");
		return false;
	}
	if (left->kind == STAP_NAME && !strcmp(left->text, "kernel_v")) {
		digits = strspn(value, "0123456789.");
		value = arena_strdup(p->c->arena, value, digits);
	}
	if (!value)
		return false;
	if ((is(op, "==") || is(op, "!=")) && strpbrk(right->text, "*?["))
		*ret = !fnmatch(right->text, value, 0) == is(op, "==");
	else
		*ret = by_order(op->text, left->kind == STAP_NAME && !strncmp(left->text, "kernel_v", 8)
						  ? compare_versions(value, right->text)
						  : strcmp(value, right->text));
	return true;
}

/* $# is how many arguments there are; those that are not there compare as nothing. */
static bool operand(struct preprocessor *p, struct reader *in, struct stap_lexeme *ret)
{
	*ret = *take(in);
	if (ret->kind == STAP_NAME && (*ret->text == '$' || *ret->text == '@'))
		return argument(p, ret, ret);
	return true;
}

static bool comparison(struct preprocessor *p, struct reader *in, bool *ret)
{
	struct stap_lexeme left, op, right;
	bool is_defined;

	if (in->at[in->next].kind == STAP_NAME && !strcmp(in->at[in->next].text, "defined")) {
		take(in);
		take(in);
		is_defined = in->at[in->next].kind == STAP_NAME;
		take(in);
		take(in);
		*ret = is_defined;
		return true;
	}
	if (!operand(p, in, &left))
		return false;
	op = *take(in);
	if (!is_comparison(&op)) {
		stap_complain(p->c, "parse.condition", op.span, "expected comparison operator");
		return false;
	}
	return operand(p, in, &right) && compare(p, &left, &op, &right, ret);
}

static bool condition(struct preprocessor *p, struct reader *in, bool *ret)
{
	bool all, one;

	*ret = false;
	do {
		all = true;
		do {
			if (!comparison(p, in, &one))
				return false;
			all &= one;
		} while (is(&in->at[in->next], "&&") && take(in));
		*ret |= all;
	} while (is(&in->at[in->next], "||") && take(in));
	return true;
}

/* What is not kept: up to the end of this part. */
static bool skip(struct preprocessor *p, struct reader *in, const char *end, const char *other_end)
{
	unsigned int depth = 0;

	for (;;) {
		const struct stap_lexeme *lexeme = &in->at[in->next];

		if (lexeme->kind == STAP_END) {
			stap_complain(p->c, "parse.conditional", lexeme->span, "incomplete conditional at end of file");
			return false;
		}
		if (!depth && (is(lexeme, end) || (other_end && is(lexeme, other_end))))
			return true;
		if (is(lexeme, "%("))
			depth++;
		if (is(lexeme, "%)") && depth)
			depth--;
		take(in);
	}
}

static bool conditional(struct preprocessor *p, struct reader *in, const struct macro *macro,
			const struct reader *arguments)
{
	bool holds, ok;

	if (!condition(p, in, &holds))
		return false;
	if (!is(&in->at[in->next], "%?")) {
		stap_complain(p->c, "parse.conditional", in->at[in->next].span,
			      "expected '%%?' marker for conditional");
		return false;
	}
	take(in);
	ok = holds ? expand(p, in, "%:", "%)", macro, arguments) : skip(p, in, "%:", "%)");
	if (ok && is(&in->at[in->next], "%:")) {
		take(in);
		ok = holds ? skip(p, in, "%)", NULL) : expand(p, in, "%)", NULL, macro, arguments);
	}
	if (ok && !is(&in->at[in->next], "%)")) {
		stap_complain(p->c, "parse.conditional", in->at[in->next].span,
			      "incomplete conditional at end of file");
		return false;
	}
	take(in);
	return ok;
}

/* --- arguments of the script --- */

static bool argument(struct preprocessor *p, const struct stap_lexeme *lexeme, struct stap_lexeme *ret)
{
	const struct compile_options *options = p->c->options;
	const char *digits = lexeme->text + 1;
	uint64_t number;

	*ret = *lexeme;
	if (!strcmp(lexeme->text, "$#") || !strcmp(lexeme->text, "@#")) {
		ret->kind = *lexeme->text == '$' ? STAP_NUMBER : STAP_TEXT;
		ret->value = options->parameter_count;
		ret->text = arena_printf(p->c->arena, "%u", options->parameter_count);
		return ret->text != NULL;
	}
	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return true;
	if (!number_parse(digits, strlen(digits), &number) || !number || number > options->parameter_count) {
		stap_complain(p->c, "parse.argument", lexeme->span, "command line argument out of range [1-%u]",
			      options->parameter_count);
		return false;
	}
	ret->text = options->parameters[number - 1];
	ret->kind = STAP_TEXT;
	if (*lexeme->text == '$') {
		bool negative = *ret->text == '-';

		ret->kind = STAP_NAME;
		if (number_parse(ret->text + negative, strlen(ret->text) - negative, &number)) {
			ret->kind = STAP_NUMBER;
			ret->value = negative ? -(int64_t)number : (int64_t)number;
		}
	}
	return true;
}

/* $1 may be any text: what is no number is read as if it stood there. */
static bool emit_argument(struct preprocessor *p, const struct stap_lexeme *lexeme)
{
	struct stap_lexeme made;
	stap_lexemes inner = {};
	const struct source *source;
	size_t i;
	bool ok;

	if (!argument(p, lexeme, &made))
		return false;
	if (made.kind != STAP_NAME || made.text == lexeme->text)
		return emit(p, made);
	source = report_add(p->c->report, lexeme->text, made.text, strlen(made.text));
	ok = source && stap_lex(p->c, source->begin, source->end, &inner);
	for (i = 0; ok && i + 1 < inner.count; i++) {
		inner.at[i].span = lexeme->span;
		ok = emit(p, inner.at[i]);
	}
	vec_free(&inner);
	return ok;
}

/* --- macros --- */

static const struct macro *find_macro(const struct preprocessor *p, const char *name)
{
	size_t i;

	for (i = p->macros.count; i > 0; i--)
		if (!strcmp(p->macros.at[i - 1].name, name))
			return &p->macros.at[i - 1];
	return NULL;
}

static bool define(struct preprocessor *p, struct reader *in)
{
	struct macro macro = {};
	const struct stap_lexeme *name = take(in);
	const char *parameters[16];
	size_t begin;

	if (name->kind != STAP_NAME) {
		stap_complain(p->c, "parse.macro", name->span, "expected identifier");
		return false;
	}
	macro.name = *name->text == '@' ? name->text + 1 : name->text;
	if (is(&in->at[in->next], "(")) {
		do {
			take(in);
			if (is(&in->at[in->next], ")"))
				break;
			if (in->at[in->next].kind != STAP_NAME || macro.parameter_count == 16) {
				stap_complain(p->c, "parse.macro", in->at[in->next].span, "expected identifier");
				return false;
			}
			parameters[macro.parameter_count++] = take(in)->text;
		} while (is(&in->at[in->next], ","));
		if (!is(take(in), ")")) {
			stap_complain(p->c, "parse.macro", in->at[in->next].span, "expected ',' or ')'");
			return false;
		}
	}
	if (!is(&in->at[in->next], "%(")) {
		stap_complain(p->c, "parse.macro", in->at[in->next].span, "expected '%%('");
		return false;
	}
	take(in);
	begin = in->next;
	if (!skip(p, in, "%)", NULL))
		return false;
	macro.body = &in->at[begin];
	macro.size = in->next - begin;
	take(in);
	macro.parameters = arena_array(p->c->arena, const char *, macro.parameter_count + 1);
	if (!macro.parameters)
		return false;
	memcpy(macro.parameters, parameters, macro.parameter_count * sizeof(*parameters));
	return !vec_push(&p->macros, macro);
}

static bool read_arguments(struct preprocessor *p, struct reader *in, const struct macro *macro,
			   struct reader *arguments, uint32_t *count, struct span span)
{
	unsigned int depth = 1;
	size_t begin;

	*count = 0;
	if (!is(&in->at[in->next], "("))
		return true;
	take(in);
	begin = in->next;
	while (depth) {
		const struct stap_lexeme *lexeme = &in->at[in->next];

		if (lexeme->kind == STAP_END) {
			stap_complain(p->c, "parse.macro", span, "could not find end of macro invocation");
			return false;
		}
		depth += is(lexeme, "(") || is(lexeme, "[");
		depth -= is(lexeme, ")") || is(lexeme, "]");
		if (!depth || (depth == 1 && is(lexeme, ","))) {
			if (*count == macro->parameter_count && (depth || in->next > begin || *count)) {
				stap_complain(p->c, "parse.macro", span,
					      "too many parameters for macro '@%s' (expected %u)", macro->name,
					      macro->parameter_count);
				return false;
			}
			if (depth || in->next > begin)
				arguments[(*count)++] =
					(struct reader){.at = &in->at[begin], .count = in->next - begin};
			begin = in->next + 1;
		}
		take(in);
	}
	return true;
}

/* Expands what has no end of its own. */
static bool expand_part(struct preprocessor *p, const struct stap_lexeme *at, size_t count, const struct macro *macro,
			const struct reader *arguments)
{
	stap_lexemes part = {};
	struct reader in = {};
	size_t i;
	bool ok = true;

	for (i = 0; ok && i < count; i++)
		ok = !vec_push(&part, at[i]);
	ok = ok && !vec_push(&part, (struct stap_lexeme){.kind = STAP_END, .text = ""});
	in.at = part.at;
	in.count = part.count;
	p->parts++;
	ok = ok && expand(p, &in, NULL, NULL, macro, arguments);
	p->parts--;
	vec_free(&part);
	return ok;
}

static bool invoke(struct preprocessor *p, struct reader *in, const struct macro *macro, struct span span,
		   const struct macro *outer, const struct reader *outer_arguments)
{
	struct reader arguments[17] = {};
	stap_lexemes expanded[17] = {}, *out = p->out;
	uint32_t count = 0, i;
	size_t first, k;
	bool ok = true;

	if (macro->parameter_count && !read_arguments(p, in, macro, arguments, &count, span))
		return false;
	if (count < macro->parameter_count) {
		stap_complain(p->c, "parse.macro", span, "too few parameters for macro '@%s' (expected %u)",
			      macro->name, macro->parameter_count);
		return false;
	}
	if (++p->depth > DEPTH_MAX) {
		stap_complain(p->c, "parse.macro", span, "recursive invocation of macro '@%s'", macro->name);
		return false;
	}
	/* Arguments first: what they name is that of the place where they stand. */
	for (i = 0; ok && i < count; i++) {
		p->out = &expanded[i];
		ok = expand_part(p, arguments[i].at, arguments[i].count, outer, outer_arguments);
		arguments[i] = (struct reader){.at = expanded[i].at, .count = expanded[i].count};
	}
	p->out = out;
	first = out->count;
	ok = ok && expand_part(p, macro->body, macro->size, macro, arguments);
	for (k = first; ok && k < out->count; k++)
		out->at[k].span = span;
	for (i = 0; i < count; i++)
		vec_free(&expanded[i]);
	p->depth--;
	return ok;
}

/* An argument of the macro that is expanded, if it is one. */
static bool emit_parameter(struct preprocessor *p, const struct macro *macro, const struct reader *arguments,
			   const char *name, bool *is_one)
{
	uint32_t i;
	size_t k;

	*is_one = false;
	for (i = 0; macro && i < macro->parameter_count; i++)
		if (!strcmp(macro->parameters[i], name)) {
			*is_one = true;
			for (k = 0; k < arguments[i].count; k++)
				if (!emit(p, arguments[i].at[k]))
					return false;
		}
	return true;
}

static bool expand_name(struct preprocessor *p, struct reader *in, const struct stap_lexeme *lexeme,
			const struct macro *macro, const struct reader *arguments)
{
	const struct macro *called;
	bool is_parameter;

	if (!strcmp(lexeme->text, "@define") && p->parts) {
		stap_complain(p->c, "parse.macro", lexeme->span, "'@define' forbidden inside macro body");
		return false;
	}
	if (!strcmp(lexeme->text, "@define"))
		return define(p, in);
	if (*lexeme->text != '@' && *lexeme->text != '$')
		return emit(p, *lexeme);
	if (*lexeme->text == '@') {
		if (!emit_parameter(p, macro, arguments, lexeme->text + 1, &is_parameter))
			return false;
		if (is_parameter)
			return true;
		called = find_macro(p, lexeme->text + 1);
		if (called) {
			struct macro copy = *called;

			return invoke(p, in, &copy, lexeme->span, macro, arguments);
		}
	}
	return emit_argument(p, lexeme);
}

/* Up to `end`, `other_end` or the last lexeme. */
static bool expand(struct preprocessor *p, struct reader *in, const char *end, const char *other_end,
		   const struct macro *macro, const struct reader *arguments)
{
	bool ok = true;

	if (++p->depth > DEPTH_MAX) {
		stap_complain(p->c, "parse.conditional", in->at[in->next].span, "conditionals are nested too deeply");
		return false;
	}
	while (ok) {
		const struct stap_lexeme *lexeme = &in->at[in->next];

		if (lexeme->kind == STAP_END || (end && is(lexeme, end)) || (other_end && is(lexeme, other_end)))
			break;
		take(in);
		if (is(lexeme, "%("))
			ok = conditional(p, in, macro, arguments);
		else if (lexeme->kind == STAP_NAME)
			ok = expand_name(p, in, lexeme, macro, arguments);
		else
			ok = emit(p, *lexeme);
	}
	p->depth--;
	return ok;
}

bool stap_preprocess(struct compiler *c, const stap_lexemes *from, stap_lexemes *ret)
{
	struct preprocessor p = {.c = c, .out = ret};
	struct reader in = {.at = from->at, .count = from->count};
	bool ok = from->count && expand(&p, &in, NULL, NULL, NULL, NULL) && !vec_push(ret, from->at[from->count - 1]);

	vec_free(&p.macros);
	return ok;
}
