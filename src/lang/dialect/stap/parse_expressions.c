// SPDX-License-Identifier: GPL-2.0-or-later
/* Expressions, from the loosest operator to the tightest. */
#include <string.h>

#include "lang/dialect/stap/parser.h"

static struct stap_node *parse_level(struct stap_parser *p, unsigned int level);

static struct stap_node *nothing(struct stap_parser *p)
{
	return stap_node(p->c, STAP_E_NUMBER, stap_peek(p)->span, 0);
}

static struct stap_node *with_two(struct stap_parser *p, enum stap_kind kind, const struct stap_lexeme *op,
				  struct stap_node *left, struct stap_node *right)
{
	struct stap_node *node = stap_node(p->c, kind, op->span, 2);

	if (p->c->arena->failed)
		return node;
	node->text = op->text;
	node->kids[0] = left;
	node->kids[1] = right;
	return node;
}

void stap_keys(struct stap_parser *p, stap_nodes *ret, bool stars)
{
	do {
		if (ret->count == STAP_KEYS_MAX) {
			stap_expected(p, "too many keys");
			return;
		}
		if (stars && stap_is(p, "*")) {
			stap_take(p);
			vec_push(ret, NULL);
		} else {
			vec_push(ret, stap_expression(p));
		}
	} while (!p->failed && stap_accept(p, ","));
	stap_expect(p, "]");
}

/* ->MEMBER and [INDEX] behind $NAME, @cast() and @var(), as one text: ->a->b[0]. */
static void parse_members(struct stap_parser *p, struct stap_node *node)
{
	stap_nodes kids = {};
	const char *text = node->text;
	uint32_t i;

	for (i = 0; i < node->kid_count; i++)
		vec_push(&kids, node->kids[i]);
	while (!p->failed) {
		if (stap_is(p, "->") && stap_ahead(p, 1)->kind == STAP_NAME) {
			stap_take(p);
			text = arena_printf(p->c->arena, "%s->%s", text, stap_take(p)->text);
		} else if (stap_is(p, "[") && stap_ahead(p, 1)->kind == STAP_NUMBER) {
			stap_take(p);
			text = arena_printf(p->c->arena, "%s[%lld]", text, (long long)stap_take(p)->value);
			stap_expect(p, "]");
		} else {
			break;
		}
		if (!text)
			break;
	}
	node->text = text ? text : "";
	stap_with_kids(p, node, &kids);
}

static struct stap_node *parse_call(struct stap_parser *p, const struct stap_lexeme *name)
{
	struct stap_node *node = stap_node(p->c, STAP_E_CALL, name->span, 0);
	stap_nodes kids = {};

	node->text = name->text;
	stap_take(p);
	while (!p->failed && !stap_is(p, ")")) {
		vec_push(&kids, stap_expression(p));
		if (!stap_accept(p, ",") && !stap_is(p, ")"))
			stap_expected(p, "expected ',' or ')'");
	}
	stap_expect(p, ")");
	return stap_with_kids(p, node, &kids);
}

/* @count(x) and its like; @variance(x, bits). */
static struct stap_node *parse_stat(struct stap_parser *p, const struct stap_lexeme *name)
{
	struct stap_node *node = stap_node(p->c, STAP_E_STAT, name->span, 1);

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	node->text = name->text;
	node->kids[0] = stap_expression(p);
	if (stap_accept(p, ",") && stap_peek(p)->kind == STAP_NUMBER)
		stap_take(p);
	stap_expect(p, ")");
	return node;
}

static int64_t parse_range_number(struct stap_parser *p)
{
	bool negative = stap_accept(p, "-");

	if (stap_peek(p)->kind != STAP_NUMBER) {
		stap_expected(p, "expected number");
		return 0;
	}
	return negative ? (int64_t)(0 - (uint64_t)stap_take(p)->value) : stap_take(p)->value;
}

static struct stap_node *parse_histogram(struct stap_parser *p, const struct stap_lexeme *name)
{
	struct stap_node *node = stap_node(p->c, STAP_E_HIST, name->span, 1), *bucket;
	uint32_t i;

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	node->text = name->text;
	node->kids[0] = stap_expression(p);
	for (i = 0; i < 3 && stap_accept(p, ","); i++)
		node->range[i] = parse_range_number(p);
	if (!strcmp(name->text, "@hist_linear") ? i != 3 || node->range[2] < 1 || node->range[1] < node->range[0] : i)
		stap_expected(p, "@hist_linear() has a low and a high value and a step, @hist_log() has none");
	stap_expect(p, ")");
	if (!stap_is(p, "["))
		return node;
	bucket = stap_node(p->c, STAP_E_BUCKET, stap_take(p)->span, 2);
	if (p->c->arena->failed)
		return node;
	bucket->kids[0] = node;
	bucket->kids[1] = stap_expression(p);
	stap_expect(p, "]");
	return bucket;
}

static struct stap_node *parse_one(struct stap_parser *p, const struct stap_lexeme *name, enum stap_kind kind,
				   uint32_t count)
{
	struct stap_node *node = stap_node(p->c, kind, name->span, count);
	uint32_t i;

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	for (i = 0; i < count; i++) {
		if (i)
			stap_expect(p, ",");
		node->kids[i] = stap_expression(p);
	}
	stap_expect(p, ")");
	return node;
}

/*
 * @cast(address, "type", "module")->member has {type}->member as its text, @var("name@file", "module")->member
 * the name and what follows.
 */
static struct stap_node *parse_cast(struct stap_parser *p, const struct stap_lexeme *name)
{
	bool is_cast = !strcmp(name->text, "@cast");
	struct stap_node *node = stap_node(p->c, is_cast ? STAP_E_CAST : STAP_E_VAR, name->span, is_cast ? 1 : 0);

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	if (is_cast) {
		node->kids[0] = stap_expression(p);
		stap_expect(p, ",");
	}
	if (stap_peek(p)->kind != STAP_TEXT)
		stap_expected(p, "expected literal string");
	else
		node->text = stap_take(p)->text;
	if (is_cast) {
		const char *text = arena_printf(p->c->arena, "{%s}", node->text);

		node->text = text ? text : "";
	}
	if (stap_accept(p, ",")) {
		if (stap_peek(p)->kind != STAP_TEXT)
			stap_expected(p, "expected literal string");
		else
			stap_take(p);
	}
	stap_expect(p, ")");
	parse_members(p, node);
	return node;
}

static struct stap_node *parse_at(struct stap_parser *p, const struct stap_lexeme *name)
{
	static const char *const stats[] = {"@count", "@sum", "@min", "@max", "@avg", "@variance"};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
		if (!strcmp(stats[i], name->text))
			return parse_stat(p, name);
	if (!strcmp(name->text, "@hist_log") || !strcmp(name->text, "@hist_linear"))
		return parse_histogram(p, name);
	if (!strcmp(name->text, "@defined"))
		return parse_one(p, name, STAP_E_DEFINED, 1);
	if (!strcmp(name->text, "@choose_defined"))
		return parse_one(p, name, STAP_E_CHOOSE, 2);
	if (!strcmp(name->text, "@entry"))
		return parse_one(p, name, STAP_E_ENTRY, 1);
	if (!strcmp(name->text, "@cast") || !strcmp(name->text, "@var"))
		return parse_cast(p, name);
	snprintf(text, sizeof(text), "unknown macro or operator %.100s", name->text);
	if (!p->failed)
		p->next--;
	stap_expected(p, text);
	return nothing(p);
}

static struct stap_node *parse_name(struct stap_parser *p)
{
	static const char *const keywords[] = {"probe",  "global", "function", "if",    "else",   "for",      "foreach",
					       "in",     "return", "delete",   "while", "break",  "continue", "next",
					       "string", "long",   "try",      "catch", "private"};
	const struct stap_lexeme *name = stap_take(p);
	struct stap_node *node;
	stap_nodes kids = {};
	size_t i;

	if (*name->text == '@')
		return parse_at(p, name);
	if (*name->text == '$') {
		node = stap_node(p->c, STAP_E_TARGET, name->span, 0);
		node->text = name->text;
		parse_members(p, node);
		return node;
	}
	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (!strcmp(keywords[i], name->text)) {
			p->next--;
			stap_expected(p, "expected expression");
			return nothing(p);
		}
	if (stap_is(p, "("))
		return parse_call(p, name);
	node = stap_node(p->c, stap_is(p, "[") ? STAP_E_ELEMENT : STAP_E_VARIABLE, name->span, 0);
	node->text = name->text;
	if (!stap_accept(p, "["))
		return node;
	stap_keys(p, &kids, true);
	return stap_with_kids(p, node, &kids);
}

/* [a, b] in x */
static struct stap_node *parse_tuple(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_E_IN, stap_take(p)->span, 0);
	stap_nodes kids = {};

	stap_keys(p, &kids, true);
	if (!stap_accept_name(p, "in"))
		stap_expected(p, "expected 'in'");
	if (stap_peek(p)->kind != STAP_NAME)
		stap_expected(p, "expected identifier");
	node->span = stap_peek(p)->span;
	node->text = stap_take(p)->text;
	return stap_with_kids(p, node, &kids);
}

static struct stap_node *parse_primary(struct stap_parser *p)
{
	const struct stap_lexeme *lexeme = stap_peek(p);
	struct stap_node *node;
	const char *text;

	switch (lexeme->kind) {
	case STAP_NUMBER:
		node = stap_node(p->c, STAP_E_NUMBER, lexeme->span, 0);
		node->value = stap_take(p)->value;
		return node;
	case STAP_TEXT:
		node = stap_node(p->c, STAP_E_TEXT, lexeme->span, 0);
		for (text = ""; text && stap_peek(p)->kind == STAP_TEXT;)
			text = arena_printf(p->c->arena, "%s%s", text, stap_take(p)->text);
		node->text = text ? text : "";
		return node;
	case STAP_NAME:
		return parse_name(p);
	default:
		if (stap_is(p, "["))
			return parse_tuple(p);
		if (stap_accept(p, "(")) {
			node = stap_expression(p);
			stap_expect(p, ")");
			return node;
		}
		if (stap_accept(p, "&")) {
			if (!stap_enter(p))
				return nothing(p);
			node = parse_primary(p);
			if (node->kind == STAP_E_TARGET || node->kind == STAP_E_CAST) {
				const char *address = arena_printf(p->c->arena, "%s&", node->text);

				node->text = address ? address : "";
			}
			node->flags |= STAP_ADDRESS;
			stap_leave(p);
			return node;
		}
		stap_expected(p, lexeme->kind == STAP_EMBEDDED ? "embedded C (%{ %}) is not supported"
							       : "expected statement or expression");
		return nothing(p);
	}
}

static struct stap_node *parse_step(struct stap_parser *p)
{
	struct stap_node *node, *target;
	const struct stap_lexeme *op;

	if (stap_is(p, "++") || stap_is(p, "--")) {
		op = stap_take(p);
		node = stap_node(p->c, STAP_E_STEP, op->span, 1);
		target = parse_primary(p);
		if (p->c->arena->failed)
			return node;
		node->text = op->text;
		node->flags = STAP_PREFIX;
		node->kids[0] = target;
		return node;
	}
	target = parse_primary(p);
	if (!stap_is(p, "++") && !stap_is(p, "--"))
		return target;
	op = stap_take(p);
	node = stap_node(p->c, STAP_E_STEP, op->span, 1);
	if (p->c->arena->failed)
		return node;
	node->text = op->text;
	node->kids[0] = target;
	return node;
}

static struct stap_node *parse_unary(struct stap_parser *p)
{
	struct stap_node *node;

	if (!stap_is(p, "-") && !stap_is(p, "+") && !stap_is(p, "!") && !stap_is(p, "~"))
		return parse_step(p);
	if (!stap_enter(p))
		return nothing(p);
	node = stap_node(p->c, STAP_E_UNARY, stap_peek(p)->span, 1);
	node->text = stap_take(p)->text;
	if (!p->c->arena->failed)
		node->kids[0] = parse_unary(p);
	stap_leave(p);
	return node;
}

static struct stap_node *parse_regex(struct stap_parser *p, struct stap_node *left)
{
	const struct stap_lexeme *op = stap_take(p);
	struct stap_node *node = stap_node(p->c, STAP_E_REGEX, op->span, 1);

	if (stap_peek(p)->kind != STAP_TEXT) {
		stap_expected(p, "expected literal string");
		return node;
	}
	if (p->c->arena->failed)
		return node;
	node->kids[0] = left;
	node->flags = *op->text == '!' ? STAP_NOT : 0;
	node->text = stap_take(p)->text;
	return node;
}

static struct stap_node *parse_in(struct stap_parser *p, struct stap_node *left)
{
	struct stap_node *node = stap_node(p->c, STAP_E_IN, stap_take(p)->span, 1);

	if (stap_peek(p)->kind != STAP_NAME) {
		stap_expected(p, "expected identifier");
		return node;
	}
	if (p->c->arena->failed)
		return node;
	node->kids[0] = left;
	node->span = stap_peek(p)->span;
	node->text = stap_take(p)->text;
	return node;
}

static const char *const levels[][9] = {
	{"||"},       {"&&"}, {"|"},      {"^"},          {"&"}, {"in"}, {"<", ">", "==", "!=", "<=", ">=", "=~", "!~"},
	{"<<", ">>"}, {"."},  {"+", "-"}, {"*", "/", "%"}};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

static bool is_of_level(const struct stap_parser *p, unsigned int level)
{
	unsigned int i;

	if (!strcmp(levels[level][0], "in"))
		return stap_is_name(p, "in");
	for (i = 0; levels[level][i]; i++)
		if (stap_is(p, levels[level][i]))
			return true;
	return false;
}

/* How deep the tree is; recursion ends at nodes that know. */
static uint32_t depth_of(struct stap_node *node)
{
	uint32_t deepest = 0, depth, i;

	if (!node || node->depth)
		return node ? node->depth : 0;
	for (i = 0; i < node->kid_count; i++) {
		depth = depth_of(node->kids[i]);
		deepest = depth > deepest ? depth : deepest;
	}
	node->depth = deepest + 1;
	return node->depth;
}

/* A chain is as deep a tree as it is long, and who walks the tree is as deep on the stack. */
static struct stap_node *bounded(struct stap_parser *p, struct stap_node *node)
{
	if (!p->failed && depth_of(node) > STAP_DEPTH_MAX)
		stap_expected(p, "nested too deeply");
	return node;
}

static struct stap_node *parse_level(struct stap_parser *p, unsigned int level)
{
	const struct stap_lexeme *op;
	struct stap_node *left;

	if (level == LEVELS)
		return parse_unary(p);
	left = parse_level(p, level + 1);
	while (!p->failed && is_of_level(p, level)) {
		if (stap_is_name(p, "in")) {
			left = parse_in(p, left);
		} else if (stap_is(p, "=~") || stap_is(p, "!~")) {
			left = parse_regex(p, left);
		} else {
			op = stap_take(p);
			left = with_two(p, STAP_E_BINARY, op, left, parse_level(p, level + 1));
		}
		bounded(p, left);
	}
	return left;
}

static bool is_assignment(const struct stap_parser *p)
{
	static const char *const operators[] = {
		"=", "<<<", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", ".="};
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (stap_is(p, operators[i]))
			return true;
	return false;
}

static struct stap_node *parse_assignment(struct stap_parser *p)
{
	struct stap_node *left = parse_level(p, 0), *node;
	const struct stap_lexeme *op;

	if (stap_is(p, "?")) {
		node = stap_node(p->c, STAP_E_TERNARY, stap_take(p)->span, 3);
		if (p->c->arena->failed)
			return node;
		node->kids[0] = left;
		node->kids[1] = stap_expression(p);
		stap_expect(p, ":");
		node->kids[2] = stap_expression(p);
		return node;
	}
	if (!is_assignment(p))
		return left;
	op = stap_take(p);
	return with_two(p, STAP_E_ASSIGN, op, left, stap_expression(p));
}

struct stap_node *stap_expression(struct stap_parser *p)
{
	struct stap_node *node;

	if (!stap_enter(p))
		return nothing(p);
	node = bounded(p, parse_assignment(p));
	stap_leave(p);
	return node;
}
