// SPDX-License-Identifier: GPL-2.0-or-later
/* D's expressions and types as written. */
#include <ctype.h>
#include <string.h>

#include "lang/dialect/d/parser.h"

void d_advance(struct parser *p)
{
	p->token = d_next(&p->lexer);
}

struct d_lexeme d_ahead(const struct parser *p)
{
	struct d_lexer lexer = p->lexer;

	/* Control lines are not read twice: nothing but a token is wanted. */
	return d_next(&lexer);
}

bool d_at(const struct parser *p, const char *operator)
{
	return p->token.kind == D_OPERATOR && !strcmp(p->token.text, operator);
}

bool d_at_word(const struct parser *p, const char *word)
{
	return p->token.kind == D_NAME && !strcmp(p->token.text, word);
}

bool d_failed(const struct parser *p)
{
	return p->lexer.failed || p->c->report->errors || p->c->arena->failed;
}

bool d_ends_predicate(const struct parser *p, struct span *behind)
{
	struct d_lexeme next;

	if (!p->in_predicate || !d_at(p, "/"))
		return false;
	next = d_ahead(p);
	*behind = next.span;
	return next.kind == D_END || (next.kind == D_OPERATOR && (*next.text == '{' || *next.text == ';'));
}

/* The end of what there is: as in dtrace, behind the last line. */
static struct span last_place(const struct parser *p)
{
	uint32_t at = (uint32_t)p->c->report->size;

	return (struct span){at ? at - 1 : 0, at};
}

void d_syntax_error(struct parser *p, const char *expected)
{
	struct span span = p->token.span, behind;

	if (!d_failed(p)) {
		if (p->token.kind == D_END)
			report_error(p->c->report, "D_SYNTAX", last_place(p), "syntax error near end of input");
		else if (d_ends_predicate(p, &behind) && (p->lexer.parentheses || p->lexer.brackets))
			report_error(p->c->report, "D_SYNTAX", behind, "closing %c expected in predicate before /",
				     p->lexer.parentheses ? ')' : ']');
		else
			report_error(p->c->report, "D_SYNTAX", span, "syntax error near \"%.*s\"",
				     (int)(span.end - span.begin), p->lexer.source + span.begin);
		report_hint(p->c->report, "expected %s", expected);
	}
	p->lexer.failed = true;
	p->token = (struct d_lexeme){.span = span, .text = ""};
}

bool d_take(struct parser *p, const char *operator)
{
	if (!d_at(p, operator))
		return false;
	d_advance(p);
	return true;
}

void d_need(struct parser *p, const char *operator)
{
	if (!d_take(p, operator))
		d_syntax_error(p, operator);
}

void d_refuse(struct parser *p, const char *what, const char *hint)
{
	if (!d_failed(p)) {
		report_error(p->c->report, "D_UNKNOWN", p->token.span, "%s: not supported", what);
		report_hint(p->c->report, "%s", hint);
	}
	p->lexer.failed = true;
	p->token = (struct d_lexeme){.span = p->token.span, .text = ""};
}

struct d_expr *d_create(struct parser *p, enum d_kind kind, struct span span, uint32_t kids)
{
	struct d_expr *expr = arena_new(p->c->arena, struct d_expr);
	struct d_expr **at = kids ? arena_array(p->c->arena, struct d_expr *, kids) : NULL;

	if (!expr || (kids && !at))
		return &d_state(p->c)->spare;
	*expr = (struct d_expr){.kind = kind, .span = span, .kids = at, .kid_count = kids, .text = ""};
	return expr;
}

struct d_expr *d_nothing(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_INT, p->token.span, 0);

	if (!p->c->arena->failed)
		expr->type = &type_int32;
	return expr;
}

/* It is complete. */
static void span_to(struct parser *p, struct d_expr *expr, const struct d_expr *last)
{
	struct span behind = p->token.span;

	expr->span.end = last->span.end > expr->span.end ? last->span.end : expr->span.end;
	d_ends_predicate(p, &behind);
	expr->behind = behind.begin;
}

/* --- expressions --- */

static struct d_expr *number(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_INT, p->token.span, 0);
	bool is_decimal = *p->token.text != '0', is_unsigned = p->token.is_unsigned, is_long = p->token.is_long;
	uint64_t value = p->token.value;

	if (p->c->arena->failed)
		return expr;
	expr->value = value;
	if (*p->token.text == '\'')
		expr->type = (int64_t)value == (int32_t)value ? &type_int32 : &type_int64;
	else if (!is_long && !is_unsigned && (int64_t)value >= 0 && value <= INT32_MAX)
		expr->type = &type_int32;
	else if (!is_long && !is_unsigned && (int64_t)value < 0 && (int64_t)value >= INT32_MIN && is_decimal)
		expr->type = &type_int32; /* a macro argument */
	else if (!is_long && value <= UINT32_MAX && (is_unsigned || !is_decimal))
		expr->type = &type_uint32;
	else if (!is_unsigned && value <= INT64_MAX)
		expr->type = &type_int64;
	else
		expr->type = &type_uint64;
	d_advance(p);
	return expr;
}

/* a, b, c up to `close`. */
static void arguments(struct parser *p, struct d_expr *to, const char *close)
{
	VEC(struct d_expr *) all = {};
	size_t i;

	if (!d_at(p, close))
		do {
			if (vec_push(&all, d_assignment(p)))
				p->c->arena->failed = true;
		} while (d_take(p, ",") && !d_failed(p));
	to->span.end = p->token.span.end;
	d_need(p, close);
	to->kids = arena_array(p->c->arena, struct d_expr *, all.count + 1);
	for (i = 0; to->kids && i < all.count; i++)
		to->kids[i] = all.at[i];
	to->kid_count = to->kids ? (uint32_t)all.count : 0;
	vec_free(&all);
}

static struct d_expr *named(struct parser *p, enum d_kind kind, enum d_scope scope)
{
	struct d_expr *expr = d_create(p, kind, p->token.span, 0);

	if (p->token.kind != D_NAME && kind != D_AGGREGATION) {
		d_syntax_error(p, "a name");
		return expr;
	}
	if (!p->c->arena->failed) {
		expr->text = p->token.kind == D_NAME ? p->token.text : "_";
		expr->scope = scope;
	}
	if (p->token.kind == D_NAME)
		d_advance(p);
	return expr;
}

static struct d_expr *size_of(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_SIZEOF, p->token.span, 1);
	struct d_lexeme next = d_ahead(p);

	d_advance(p);
	if (p->c->arena->failed)
		return expr;
	expr->kids[0] = NULL;
	if (d_at(p, "(") && next.kind == D_OPERATOR) {
		next = d_ahead(p);
		if (next.kind == D_NAME && d_is_type_name(p, next.text)) {
			d_advance(p);
			d_take_type(p, &expr->type_name);
			d_need(p, ")");
			return expr;
		}
	}
	expr->kids[0] = d_expression(p, 11);
	return expr;
}

/* offsetof(TYPE, MEMBER) */
static struct d_expr *offset_of(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_OFFSETOF, p->token.span, 0);

	d_advance(p);
	d_need(p, "(");
	if (!d_take_type(p, &expr->type_name))
		return expr;
	d_need(p, ",");
	if (p->token.kind != D_NAME) {
		d_syntax_error(p, "the name of a member");
		return expr;
	}
	if (!p->c->arena->failed) {
		expr->text = p->token.text;
		expr->span.end = p->token.span.end;
	}
	d_advance(p);
	d_need(p, ")");
	return expr;
}

/* xlate < TYPE > (value) */
static struct d_expr *translation(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_XLATE, p->token.span, 1);

	d_advance(p);
	d_need(p, "<");
	if (p->c->arena->failed || !d_take_type(p, &expr->type_name))
		return d_nothing(p);
	d_need(p, ">");
	d_need(p, "(");
	expr->kids[0] = d_expression(p, 0);
	d_need(p, ")");
	return expr;
}

static struct d_expr *name(struct parser *p)
{
	const char *text = p->token.text;
	struct d_expr *expr;
	enum d_scope scope = !strcmp(text, "self") ? D_SELF : !strcmp(text, "this") ? D_THIS : D_GLOBAL;

	if (d_is_type_word(text) && strcmp(text, "string") != 0) {
		d_syntax_error(p, "an expression: declarations are outside of clauses");
		return d_nothing(p);
	}
	if (!strcmp(text, "sizeof"))
		return size_of(p);
	if (!strcmp(text, "offsetof"))
		return offset_of(p);
	if (!strcmp(text, "xlate"))
		return translation(p);
	if (scope != D_GLOBAL) {
		d_advance(p);
		d_need(p, "->");
		expr = named(p, D_VARIABLE, scope);
	} else {
		expr = named(p, D_VARIABLE, scope);
		if (d_at(p, "(")) {
			expr->kind = D_CALL;
			d_advance(p);
			arguments(p, expr, ")");
			return expr;
		}
	}
	if (d_at(p, "[") && strcmp(expr->text, "args") && strcmp(expr->text, "uregs")) {
		const struct d_variable *variable = d_variable_find(p->c, scope, expr->text, false);

		(void)variable;
		d_advance(p);
		arguments(p, expr, "]");
	}
	return expr;
}

static struct d_expr *aggregation(struct parser *p)
{
	struct d_expr *expr;
	struct span span = p->token.span;

	d_advance(p);
	if (p->token.kind == D_NAME && p->token.after_space)
		d_syntax_error(p, "the name of an aggregation right behind @");
	expr = named(p, D_AGGREGATION, D_GLOBAL);
	expr->span.begin = span.begin;
	if (d_take(p, "["))
		arguments(p, expr, "]");
	return expr;
}

static struct d_expr *primary(struct parser *p)
{
	struct d_expr *expr;

	if (p->token.kind == D_NUMBER)
		return number(p);
	if (p->token.kind == D_TEXT) {
		expr = d_create(p, D_STRING, p->token.span, 0);
		expr->text = p->token.text;
		d_advance(p);
		/* Adjacent ones are not joined in D. */
		return expr;
	}
	if (p->token.kind == D_NAME)
		return name(p);
	if (d_at(p, "@"))
		return aggregation(p);
	if (d_take(p, "(")) {
		expr = d_expression(p, 0);
		d_need(p, ")");
		return expr;
	}
	d_syntax_error(p, "an expression");
	return d_nothing(p);
}

static struct d_expr *postfix(struct parser *p)
{
	struct d_expr *expr = primary(p), *outer;

	while (!d_failed(p)) {
		bool is_arrow = d_at(p, "->");

		if (is_arrow || d_at(p, ".")) {
			d_advance(p);
			outer = d_create(p, D_MEMBER, expr->span, 1);
			outer->span.end = p->token.span.end;
			outer->text = p->token.text;
			outer->is_arrow = is_arrow;
			if (p->token.kind != D_NAME)
				d_syntax_error(p, "the name of a member");
			else
				d_advance(p);
		} else if (d_at(p, "[")) {
			d_advance(p);
			outer = d_create(p, D_INDEX, expr->span, 2);
			if (!p->c->arena->failed)
				outer->kids[1] = d_expression(p, 0);
			d_need(p, "]");
		} else if (d_at(p, "(")) {
			if (!d_failed(p))
				report_error(p->c->report, "D_FUNC_IDENT", expr->span,
					     "function designator is not of function type");
			break;
		} else if (d_at(p, "++") || d_at(p, "--")) {
			outer = d_create(p, D_STEP, expr->span, 1);
			outer->text = p->token.text;
			outer->span.end = p->token.span.end;
			d_advance(p);
		} else {
			break;
		}
		if (p->c->arena->failed)
			return expr;
		outer->kids[0] = expr;
		expr = outer;
	}
	return expr;
}

static struct d_expr *unary(struct parser *p)
{
	static const char *const operators[] = {"!", "~", "-", "+", "*", "&"};
	struct d_expr *expr;
	struct d_lexeme next;
	size_t i;

	if (++p->depth > D_NESTING_MAX) {
		d_syntax_error(p, "fewer levels of nesting");
		p->depth--;
		return d_nothing(p);
	}
	expr = NULL;
	if (d_at(p, "(")) {
		next = d_ahead(p);
		if (next.kind == D_NAME && d_is_type_name(p, next.text)) {
			expr = d_create(p, D_CAST, p->token.span, 1);
			d_advance(p);
			d_take_type(p, &expr->type_name);
			d_need(p, ")");
		}
	} else if (d_at(p, "++") || d_at(p, "--")) {
		expr = d_create(p, D_STEP, p->token.span, 1);
		expr->text = p->token.text;
		expr->is_prefix = true;
		d_advance(p);
	}
	for (i = 0; !expr && i < sizeof(operators) / sizeof(operators[0]); i++)
		if (d_at(p, operators[i])) {
			expr = d_create(p, D_UNARY, p->token.span, 1);
			expr->text = operators[i];
			d_advance(p);
		}
	if (expr && !p->c->arena->failed) {
		expr->kids[0] = unary(p);
		span_to(p, expr, expr->kids[0]);
	} else {
		expr = postfix(p);
	}
	p->depth--;
	return expr;
}

static int precedence(const struct parser *p)
{
	static const struct {
		const char *text;
		int level;
	} table[] = {{"||", 1}, {"^^", 2}, {"&&", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7},
		     {"!=", 7}, {"<", 8},  {"<=", 8}, {">", 8},  {">=", 8}, {"<<", 9}, {">>", 9},
		     {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11}};
	struct span behind;
	size_t i;

	if (p->token.kind != D_OPERATOR || d_ends_predicate(p, &behind))
		return 0;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].text, p->token.text))
			return table[i].level;
	return 0;
}

static struct d_expr *binary(struct parser *p, int least)
{
	struct d_expr *left = unary(p), *expr;
	uint32_t chain = 0;
	int level;

	while (!d_failed(p) && (level = precedence(p)) && level >= least) {
		if (++chain > D_NESTING_MAX) {
			d_syntax_error(p, "fewer operators in one expression");
			break;
		}
		expr = d_create(p, D_BINARY, left->span, 2);
		expr->text = p->token.text;
		d_advance(p);
		if (p->c->arena->failed)
			return left;
		expr->kids[0] = left;
		expr->kids[1] = binary(p, level + 1);
		span_to(p, expr, expr->kids[1]);
		left = expr;
	}
	return left;
}

static struct d_expr *conditional(struct parser *p)
{
	struct d_expr *first = binary(p, 1), *expr;

	if (!d_at(p, "?"))
		return first;
	if (++p->depth > D_NESTING_MAX) {
		d_syntax_error(p, "fewer levels of nesting");
		return first;
	}
	d_advance(p);
	expr = d_create(p, D_TERNARY, first->span, 3);
	if (p->c->arena->failed)
		return first;
	expr->kids[0] = first;
	expr->kids[1] = d_expression(p, 0);
	d_need(p, ":");
	expr->kids[2] = conditional(p);
	span_to(p, expr, expr->kids[2]);
	p->depth--;
	return expr;
}

struct d_expr *d_assignment(struct parser *p)
{
	static const char *const operators[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
	struct d_expr *left = conditional(p), *expr;
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (!d_at(p, operators[i]))
			continue;
		if (++p->depth > D_NESTING_MAX) {
			d_syntax_error(p, "fewer levels of nesting");
			return left;
		}
		d_advance(p);
		expr = d_create(p, D_ASSIGN, left->span, 2);
		expr->text = operators[i];
		if (p->c->arena->failed)
			return left;
		expr->kids[0] = left;
		expr->kids[1] = d_assignment(p);
		span_to(p, expr, expr->kids[1]);
		p->depth--;
		return expr;
	}
	return left;
}

/* least 0: with commas. */
struct d_expr *d_expression(struct parser *p, int least)
{
	struct d_expr *left, *expr;

	if (least)
		return least > 10 ? unary(p) : binary(p, least);
	left = d_assignment(p);
	while (d_at(p, ",") && !d_failed(p)) {
		d_advance(p);
		expr = d_create(p, D_COMMA, left->span, 2);
		if (p->c->arena->failed)
			return left;
		expr->kids[0] = left;
		expr->kids[1] = d_assignment(p);
		left = expr;
	}
	return left;
}
