// SPDX-License-Identifier: GPL-2.0-or-later
/* Statements. */
#include <string.h>

#include "lang/dialect/stap/parser.h"

struct stap_node *stap_block(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_BLOCK, stap_peek(p)->span, 0);
	stap_nodes kids = {};

	if (!stap_enter(p))
		return node;
	if (stap_expect(p, "{"))
		while (!p->failed && !stap_is(p, "}")) {
			if (stap_peek(p)->kind == STAP_END) {
				stap_expected(p, "expected '}'");
				break;
			}
			if (stap_accept(p, ";"))
				continue;
			if (vec_push(&kids, stap_statement(p)))
				p->c->arena->failed = p->failed = true;
		}
	stap_accept(p, "}");
	stap_leave(p);
	return stap_with_kids(p, node, &kids);
}

static struct stap_node *parse_if(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_IF, stap_take(p)->span, 3);

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	node->kids[0] = stap_expression(p);
	stap_expect(p, ")");
	node->kids[1] = stap_statement(p);
	stap_accept(p, ";");
	node->kids[2] = stap_accept_name(p, "else") ? stap_statement(p) : NULL;
	return node;
}

static struct stap_node *parse_while(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_WHILE, stap_take(p)->span, 2);

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	node->kids[0] = stap_expression(p);
	stap_expect(p, ")");
	p->loops++;
	node->kids[1] = stap_statement(p);
	p->loops--;
	return node;
}

static struct stap_node *parse_for(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_FOR, stap_take(p)->span, 4);

	if (p->c->arena->failed || !stap_expect(p, "("))
		return node;
	node->kids[0] = stap_is(p, ";") ? NULL : stap_expression(p);
	stap_expect(p, ";");
	node->kids[1] = stap_is(p, ";") ? NULL : stap_expression(p);
	stap_expect(p, ";");
	node->kids[2] = stap_is(p, ")") ? NULL : stap_expression(p);
	stap_expect(p, ")");
	p->loops++;
	node->kids[3] = stap_statement(p);
	p->loops--;
	return node;
}

static struct stap_node *parse_loop_variable(struct stap_parser *p)
{
	struct stap_node *node;

	if (stap_peek(p)->kind != STAP_NAME) {
		stap_expected(p, "expected identifier");
		return stap_node(p->c, STAP_E_NUMBER, stap_peek(p)->span, 0);
	}
	node = stap_node(p->c, STAP_E_VARIABLE, stap_peek(p)->span, 0);
	node->text = stap_take(p)->text;
	return node;
}

/* + or - behind what it is sorted by. */
static void parse_order(struct stap_parser *p, struct stap_node *node, uint32_t by)
{
	if (!stap_is(p, "+") && !stap_is(p, "-"))
		return;
	if (node->flags & STAP_SORTED) {
		stap_expected(p, "multiple sort directives");
		return;
	}
	node->flags |= STAP_SORTED | (stap_is(p, "-") ? STAP_DOWN : 0);
	node->sort_by = by;
	stap_take(p);
}

static void parse_slice(struct stap_parser *p, struct stap_node *node)
{
	stap_nodes slice = {};

	stap_take(p);
	stap_keys(p, &slice, true);
	node->slice = arena_array(p->c->arena, struct stap_node *, slice.count + 1);
	if (node->slice && slice.count)
		memcpy(node->slice, slice.at, slice.count * sizeof(*slice.at));
	node->value = (int64_t)slice.count;
	vec_free(&slice);
}

static struct stap_node *parse_foreach(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_FOREACH, stap_take(p)->span, 0);
	stap_nodes kids = {};
	uint32_t number = 0;

	if (p->c->arena->failed || !stap_expect(p, "(") || vec_push(&kids, NULL) || vec_push(&kids, NULL))
		return stap_with_kids(p, node, &kids);
	if (stap_peek(p)->kind == STAP_NAME && stap_ahead(p, 1)->kind == STAP_OPERATOR &&
	    !strcmp(stap_ahead(p, 1)->text, "=")) {
		vec_push(&kids, parse_loop_variable(p));
		node->flags |= STAP_WITH_VALUE;
		stap_take(p);
	}
	if (stap_accept(p, "[")) {
		do {
			if (number == STAP_KEYS_MAX) {
				stap_expected(p, "too many keys");
				break;
			}
			vec_push(&kids, parse_loop_variable(p));
			parse_order(p, node, ++number);
		} while (!p->failed && stap_accept(p, ","));
		stap_expect(p, "]");
	} else {
		vec_push(&kids, parse_loop_variable(p));
		parse_order(p, node, ++number);
	}
	if (!stap_accept_name(p, "in"))
		stap_expected(p, "expected 'in'");
	if (stap_peek(p)->kind != STAP_NAME)
		stap_expected(p, "expected identifier");
	node->span = stap_peek(p)->span;
	node->text = stap_take(p)->text;
	if (stap_is(p, "["))
		parse_slice(p, node);
	if (stap_peek(p)->kind == STAP_NAME && *stap_peek(p)->text == '@')
		node->sort_stat = stap_take(p)->text;
	parse_order(p, node, 0);
	if (stap_accept_name(p, "limit"))
		kids.at[1] = stap_expression(p);
	stap_expect(p, ")");
	p->loops++;
	kids.at[0] = stap_statement(p);
	p->loops--;
	return stap_with_kids(p, node, &kids);
}

static struct stap_node *parse_try(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_TRY, stap_take(p)->span, 3);

	if (p->c->arena->failed)
		return node;
	node->kids[0] = stap_block(p);
	if (!stap_accept_name(p, "catch"))
		stap_expected(p, "expected 'catch'");
	node->kids[2] = NULL;
	if (stap_accept(p, "(")) {
		node->kids[2] = parse_loop_variable(p);
		stap_expect(p, ")");
	}
	node->kids[1] = stap_block(p);
	return node;
}

static struct stap_node *parse_return(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_RETURN, stap_peek(p)->span, 1);

	if (!p->in_function)
		stap_expected(p, "found 'return' not in function context");
	stap_take(p);
	if (p->c->arena->failed)
		return node;
	if (stap_is(p, ";") || stap_is(p, "}"))
		node->kid_count = 0;
	else
		node->kids[0] = stap_expression(p);
	return node;
}

static struct stap_node *parse_word(struct stap_parser *p, enum stap_kind kind)
{
	struct stap_node *node = stap_node(p->c, kind, stap_peek(p)->span, 0);

	if (kind != STAP_S_NEXT && !p->loops)
		stap_expected(p, "found 'break' or 'continue' outside of a loop");
	stap_take(p);
	return node;
}

static struct stap_node *parse_delete(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_DELETE, stap_take(p)->span, 1);

	if (!p->c->arena->failed)
		node->kids[0] = stap_expression(p);
	return node;
}

static struct stap_node *parse_plain(struct stap_parser *p)
{
	struct stap_node *node = stap_node(p->c, STAP_S_EXPRESSION, stap_peek(p)->span, 1);

	if (!p->c->arena->failed)
		node->kids[0] = stap_expression(p);
	return node;
}

static struct stap_node *statement(struct stap_parser *p)
{
	static const struct {
		const char *word;
		struct stap_node *(*parse)(struct stap_parser *p);
	} table[] = {{"if", parse_if},   {"while", parse_while},   {"for", parse_for},      {"foreach", parse_foreach},
		     {"try", parse_try}, {"return", parse_return}, {"delete", parse_delete}};
	size_t i;

	if (stap_is(p, "{"))
		return stap_block(p);
	if (stap_is(p, ";")) {
		stap_take(p);
		return stap_node(p->c, STAP_S_BLOCK, stap_peek(p)->span, 0);
	}
	if (stap_is_name(p, "next"))
		return parse_word(p, STAP_S_NEXT);
	if (stap_is_name(p, "break"))
		return parse_word(p, STAP_S_BREAK);
	if (stap_is_name(p, "continue"))
		return parse_word(p, STAP_S_CONTINUE);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (stap_is_name(p, table[i].word))
			return table[i].parse(p);
	if (stap_peek(p)->kind == STAP_EMBEDDED) {
		p->failed = true;
		stap_complain(p->c, "parse.embedded", stap_peek(p)->span, "embedded C (%%{ %%}) is not supported");
		report_hint(p->c->report, "docs/SYSTEMTAP.md lists the functions that there are instead");
	}
	if (stap_peek(p)->kind == STAP_END || stap_is(p, "}"))
		stap_expected(p, "expected statement");
	return parse_plain(p);
}

struct stap_node *stap_statement(struct stap_parser *p)
{
	struct stap_node *node;

	if (!stap_enter(p))
		return stap_node(p->c, STAP_S_BLOCK, stap_peek(p)->span, 0);
	node = statement(p);
	stap_leave(p);
	/* A statement ends with ; or before the next one. */
	return node;
}
