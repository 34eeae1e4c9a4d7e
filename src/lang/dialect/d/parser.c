// SPDX-License-Identifier: GPL-2.0-or-later
/* From D's tokens to clauses and declarations. */
#include <string.h>

#include "lang/dialect/d/parser.h"

/* --- statements --- */

static struct d_expr *block(struct parser *p);

static struct d_expr *body_of_if(struct parser *p)
{
	static const char *const unknown[] = {"while", "for", "do", "switch", "goto"};
	struct d_expr *expr;
	size_t i;

	if (d_at_word(p, "typedef") || d_at_word(p, "inline") || d_at_word(p, "translator")) {
		d_syntax_error(p, "an expression: declarations are outside of clauses");
		return d_nothing(p);
	}
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (d_at_word(p, unknown[i])) {
			d_refuse(p, unknown[i], "D has no loops: predicates and if() decide what is done");
			return d_nothing(p);
		}
	if (d_at_word(p, "if")) {
		expr = d_create(p, D_IF, p->token.span, 3);
		d_advance(p);
		d_need(p, "(");
		if (p->c->arena->failed)
			return expr;
		expr->kids[0] = d_expression(p, 0);
		d_need(p, ")");
		expr->kids[1] = d_at(p, "{") ? block(p) : body_of_if(p);
		expr->kids[2] = NULL;
		while (d_at(p, ";") && d_ahead(p).kind == D_NAME && !strcmp(d_ahead(p).text, "else"))
			d_advance(p);
		if (d_at_word(p, "else")) {
			d_advance(p);
			expr->kids[2] = d_at(p, "{") ? block(p) : body_of_if(p);
		}
		return expr;
	}
	return d_expression(p, 0);
}

/* { a; b; } */
static struct d_expr *block(struct parser *p)
{
	struct d_expr *expr = d_create(p, D_BLOCK, p->token.span, 0);
	VEC(struct d_expr *) all = {};
	size_t i;

	d_need(p, "{");
	if (++p->depth > D_NESTING_MAX)
		d_syntax_error(p, "fewer levels of nesting");
	while (!d_at(p, "}") && !d_failed(p)) {
		struct d_expr *statement;

		if (d_take(p, ";"))
			continue;
		if (d_at(p, "{"))
			statement = block(p);
		else
			statement = body_of_if(p);
		if (vec_push(&all, statement))
			p->c->arena->failed = true;
		if (!d_at(p, "}") && statement->kind != D_IF && statement->kind != D_BLOCK)
			d_need(p, ";");
	}
	p->depth--;
	/* The closing brace is the last token of a clause: what follows is a probe description, which is read
	 * otherwise. */
	expr->kids = arena_array(p->c->arena, struct d_expr *, all.count + 1);
	for (i = 0; expr->kids && i < all.count; i++)
		expr->kids[i] = all.at[i];
	expr->kid_count = expr->kids ? (uint32_t)all.count : 0;
	vec_free(&all);
	expr->span.end = p->token.span.end;
	if (p->depth)
		d_need(p, "}");
	else if (!d_at(p, "}"))
		d_syntax_error(p, "}");
	return expr;
}

/* --- declarations --- */

static bool typedef_known(const struct parser *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->c->types.named.count; i++)
		if (!p->c->types.named.at[i].is_found && !strcmp(p->c->types.named.at[i].name, name))
			return true;
	return false;
}

static bool begins_declaration(const struct parser *p)
{
	static const char *const words[] = {"self",       "this",     "inline",   "typedef", "translator",
					    "provider",   "extern",   "static",   "auto",    "register",
					    "__inline__", "__inline", "__extension__"};
	struct d_lexer lexer = p->lexer;
	struct d_lexeme first = d_next(&lexer), second;
	size_t i;

	if (first.kind != D_NAME || strchr(first.text, '`'))
		return false;
	if (lexer.at < lexer.end && strchr(":-*?[", lexer.source[lexer.at]) && lexer.source[lexer.at])
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], first.text))
			return true;
	if (d_is_type_word(first.text))
		return true;
	second = d_next(&lexer);
	return (second.kind == D_NAME || (second.kind == D_OPERATOR && *second.text == '*')) &&
	       (d_is_type_name(p, first.text) || typedef_known(p, first.text));
}

static void declare(struct parser *p, struct d_declaration declaration)
{
	if (vec_push(&d_state(p->c)->declarations, declaration))
		p->c->arena->failed = true;
}

static void declare_one(struct parser *p, const struct d_declarator *one, struct d_declaration ret, const char *word)
{
	if (one->is_function)
		return;
	ret.name = one->name;
	ret.span = one->span;
	ret.type = one->type;
	ret.is_array = one->is_array;
	ret.keys = one->keys;
	ret.key_names = one->key_names;
	ret.key_count = one->key_count;
	if (ret.value && !d_failed(p))
		d_inline_check(p->c, &ret);
	if (!strcmp(word, "typedef") && typedef_known(p, one->name))
		report_error(p->c->report, "D_DECL_IDRED", one->span, "typedef redeclared: %s", one->name);
	else if (!strcmp(word, "typedef"))
		types_define(&p->c->types, one->name, one->type);
	else if (strcmp(word, "extern") != 0 && !d_failed(p))
		declare(p, ret);
}

/* self x; the type that is not there is int. */
static bool is_untyped(const struct parser *p)
{
	struct d_lexeme next = d_ahead(p);

	return p->token.kind == D_NAME && !d_is_type_name(p, p->token.text) && next.kind == D_OPERATOR &&
	       strchr(";,[=", *next.text);
}

/* translator OUT < IN name > { member = expression; ... }; */
static void translator(struct parser *p)
{
	struct d_translator ret = {.span = p->token.span};
	VEC(struct d_translation) members = {};
	struct d_declarator in;
	size_t i;

	d_advance(p);
	ret.out = d_take_specifiers(p);
	while (d_take(p, "*"))
		ret.out = type_pointer(p->c->arena, ret.out);
	d_need(p, "<");
	if (d_failed(p) || !d_take_declarator(p, d_take_specifiers(p), &in))
		return;
	ret.in = in.type;
	ret.parameter = in.name ? in.name : "";
	d_need(p, ">");
	d_need(p, "{");
	while (!d_failed(p) && !d_at(p, "}")) {
		struct d_translation one = {.span = p->token.span, .name = p->token.text};

		if (p->token.kind != D_NAME)
			d_syntax_error(p, "the name of a member");
		d_advance(p);
		d_need(p, "=");
		one.value = d_failed(p) ? NULL : d_assignment(p);
		d_need(p, ";");
		one.behind = p->token.span.begin;
		if (vec_push(&members, one))
			p->c->arena->failed = true;
	}
	d_need(p, "}");
	ret.count = (uint32_t)members.count;
	ret.members = arena_array(p->c->arena, struct d_translation, members.count + 1);
	for (i = 0; ret.members && i < members.count; i++)
		ret.members[i] = members.at[i];
	vec_free(&members);
	/* As in dtrace, what is wrong with the whole is told of its end. */
	ret.span = p->token.span;
	if (!d_failed(p) && ret.members)
		d_translator_add(p->c, &ret);
	if (!d_at(p, ";"))
		d_syntax_error(p, ";");
}

/* Headers of C have functions for the compiler: D has no use for them. */
static void skip_inline_function(struct parser *p)
{
	uint32_t depth = 0;

	while (!d_failed(p) && p->token.kind != D_END) {
		if (d_at(p, "{"))
			depth++;
		else if (d_at(p, "}") && depth)
			depth--;
		if (!depth && (d_at(p, "}") || d_at(p, ";")))
			return;
		d_advance(p);
	}
	d_syntax_error(p, "the end of a function");
}

static void declaration(struct parser *p)
{
	static const char *const words[] = {"self",   "this", "inline",   "extern",
					    "static", "auto", "register", "typedef"};
	struct d_declaration ret = {};
	const struct type *base;
	const char *word = "";
	size_t i;

	d_advance(p);
	if (d_at_word(p, "__extension__"))
		d_advance(p);
	ret.span = p->token.span;
	if (d_at_word(p, "translator")) {
		translator(p);
		return;
	}
	if (d_at_word(p, "provider")) {
		d_refuse(p, "a provider's declaration", "-h and -G are for these: dtrace -h -s FILE.d");
		return;
	}
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (d_at_word(p, words[i])) {
			word = words[i];
			d_advance(p);
			break;
		}
	if (d_at_word(p, "__inline") || d_at_word(p, "__inline__")) {
		skip_inline_function(p);
		return;
	}
	ret.scope = !strcmp(word, "self") ? D_SELF : !strcmp(word, "this") ? D_THIS : D_GLOBAL;
	for (i = 0; *word && i < sizeof(words) / sizeof(words[0]); i++)
		if (d_at_word(p, words[i]) && strcmp(words[i], "register") != 0) {
			report_error(p->c->report, "D_DECL_CLASS", p->token.span,
				     "only one storage class allowed in declaration");
			return;
		}
	if (!strcmp(word, "auto") || !strcmp(word, "register")) {
		report_error(p->c->report, "D_DECL_BADCLASS", ret.span,
			     "specified storage class not appropriate in D");
		return;
	}
	base = *word && is_untyped(p) ? &type_int32 : d_take_specifiers(p);
	if (d_at(p, ";") && base->kind != TYPE_RECORD && !base->name && !d_failed(p))
		report_error(p->c->report, "D_DECL_USELESS", ret.span, "useless declaration");
	while (!d_failed(p) && !d_at(p, ";")) {
		struct d_declarator one;

		if (!d_take_declarator(p, base, &one))
			return;
		if (!one.name) {
			d_syntax_error(p, "the name of a variable");
			return;
		}
		if (!strcmp(word, "inline")) {
			d_need(p, "=");
			ret.value = d_assignment(p);
		}
		declare_one(p, &one, ret, word);
		if (!d_take(p, ","))
			break;
	}
	if (!d_at(p, ";"))
		d_syntax_error(p, ";");
}

/* --- clauses --- */

/* What is missing is missing on the left: name, function:name, module:function:name. */
static void description(struct parser *p, struct d_lexeme text, struct d_probe *ret)
{
	char *copy = arena_strdup(p->c->arena, text.text, strlen(text.text)), *part;
	const char *parts[5];
	uint32_t count = 0, i;

	*ret = (struct d_probe){.span = text.span, .parts = {"", "", "", ""}};
	while (copy && count < 5 && (part = strsep(&copy, ":")))
		parts[count++] = part;
	if (count > 4) {
		report_error(p->c->report, "D_PDESC_INVAL", text.span,
			     "invalid probe description \"%s\": Overspecified probe description", text.text);
		return;
	}
	for (i = 0; i < count; i++)
		ret->parts[4 - count + i] = parts[i];
}

/* For those who want to know what the script names. */
static void tell_point(struct parser *p, const struct d_probe *probe)
{
	struct attach_text *point = arena_new(p->c->arena, struct attach_text);
	const char **parts = arena_array(p->c->arena, const char *, 4);

	if (!point || !parts)
		return;
	memcpy(parts, probe->parts, sizeof(probe->parts));
	*point = (struct attach_text){.span = probe->span, .parts = parts, .part_count = 4};
	if (vec_push(&p->c->points, point))
		p->c->arena->failed = true;
}

static void clause(struct parser *p)
{
	struct d_clause ret = {};
	VEC(struct d_probe) probes = {};
	struct d_lexeme text;
	size_t i;

	p->lexer.parentheses = p->lexer.brackets = 0;
	for (;;) {
		struct d_probe probe;

		text = d_next_probe(&p->lexer);
		if (text.kind == D_END) {
			p->token = d_next(&p->lexer);
			d_syntax_error(p, "a probe description");
			break;
		}
		description(p, text, &probe);
		tell_point(p, &probe);
		if (!probes.count)
			ret.span = text.span;
		if (vec_push(&probes, probe))
			p->c->arena->failed = true;
		d_advance(p);
		if (!d_at(p, ","))
			break;
	}
	if (!d_failed(p) && d_at(p, "/")) {
		d_advance(p);
		p->in_predicate = true;
		ret.predicate = d_expression(p, 0);
		p->in_predicate = false;
		if (!d_at(p, "/"))
			d_syntax_error(p, "/");
		d_advance(p);
	}
	ret.probes = arena_array(p->c->arena, struct d_probe, probes.count + 1);
	for (i = 0; ret.probes && i < probes.count; i++)
		ret.probes[i] = probes.at[i];
	ret.probe_count = (uint32_t)probes.count;
	vec_free(&probes);
	/* What comes from a file and ends with a description is not meant so. */
	if (d_at(p, "{"))
		ret.body = block(p);
	else if ((p->token.kind != D_END || (p->c->options->path && !ret.predicate)) && !d_at(p, ";") && !d_failed(p))
		report_error(p->c->report, "D_SYNTAX", ret.span,
			     "expected predicate and/or actions following probe description");
	ret.end = ret.body ? p->token.span.begin : 0;
	if (!d_failed(p) && vec_push(&d_state(p->c)->clauses, ret))
		p->c->arena->failed = true;
}

void d_parse(struct compiler *c)
{
	struct parser parser = {.c = c};
	struct d_lexer lexer;

	d_lexer_init(&parser.lexer, c);
	while (!d_failed(&parser)) {
		struct d_lexeme next;

		lexer = parser.lexer;
		/* To the next word: control lines on the way take effect. */
		next = d_next_probe(&lexer);
		parser.lexer.at = next.span.begin;
		parser.lexer.failed = lexer.failed;
		if (next.kind == D_END) {
			if (lexer.at >= lexer.end || d_failed(&parser))
				break;
			d_advance(&parser);
			if (!d_at(&parser, ";"))
				d_syntax_error(&parser, "a probe description");
			continue;
		}
		if (*next.text == '}') {
			d_advance(&parser);
			d_syntax_error(&parser, "a probe description");
		} else if (begins_declaration(&parser))
			declaration(&parser);
		else
			clause(&parser);
	}
	/* Behind the program is a line's end that was added. */
	if (!d_failed(&parser))
		d_pragmas_end(c);
	if (!d_failed(&parser) && !d_state(c)->clauses.count && !c->options->may_be_empty &&
	    !d_state(c)->options[D_MAY_BE_EMPTY])
		report_error(c->report, "D_EMPTY",
			     (struct span){(uint32_t)(c->report->size ? c->report->size - 1 : 0),
					   (uint32_t)c->report->size},
			     "empty D program translation unit");
}
