// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scripts: declarations, settings, macros, probes; and statements. A parser stops at the first thing that it cannot
 * make sense of, because what follows would be guesswork; complaints of the lexer do not stop it.
 */
#include "lang/dialect/bpftrace/parse/parser.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "lang/dialect/bpftrace/parse/parts.h"

struct token parser_take(struct parser *p)
{
	struct token token = p->token;

	p->last_end = token.span.end;
	p->token = preprocess_next(p);
	if (p->stop)
		p->token = (struct token){.kind = TOKEN_END, .span = token.span, .text = ""};
	return token;
}

void parser_rewind(struct parser *p, const struct parser *to)
{
	bool stop = p->stop;

	*p = *to;
	p->stop = stop;
}

bool parser_is(const struct parser *p, const char *punctuation)
{
	return p->token.kind == TOKEN_PUNCTUATION && !strcmp(p->token.text, punctuation);
}

bool parser_is_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_NAME && !strcmp(p->token.text, word);
}

bool parser_accept(struct parser *p, const char *punctuation)
{
	if (!parser_is(p, punctuation))
		return false;
	parser_take(p);
	return true;
}

bool parser_accept_word(struct parser *p, const char *word)
{
	if (!parser_is_word(p, word))
		return false;
	parser_take(p);
	return true;
}

void parser_unexpected(struct parser *p, const char *expected)
{
	if (p->stop)
		return;
	if (p->token.kind == TOKEN_END)
		report_error(p->report, "parse.end", p->token.span, "the script ends where %s should follow", expected);
	else
		report_error(p->report, "parse.unexpected", p->token.span, "unexpected %.*s, expected %s",
			     (int)(p->token.span.end - p->token.span.begin), p->report->source + p->token.span.begin,
			     expected);
	p->stop = true;
	p->token = (struct token){.kind = TOKEN_END, .span = p->token.span, .text = ""};
}

bool parser_expect(struct parser *p, const char *punctuation)
{
	char text[16];

	if (parser_accept(p, punctuation))
		return true;
	snprintf(text, sizeof(text), "\"%s\"", punctuation);
	parser_unexpected(p, text);
	return false;
}

const char *parser_expect_name(struct parser *p, const char *what)
{
	if (p->token.kind == TOKEN_NAME)
		return parser_take(p).text;
	parser_unexpected(p, what);
	return "";
}

static void too_deep(struct parser *p, struct span span, int most)
{
	if (!p->stop) {
		report_error(p->report, "parse.depth", span, "nested too deeply");
		report_hint(p->report, "at most %d levels; use a variable for a part of it", most);
	}
	p->stop = true;
}

bool parser_enter(struct parser *p)
{
	if (++p->depth <= NESTING_MAX && !p->stop)
		return true;
	too_deep(p, p->token.span, NESTING_MAX);
	p->depth--;
	return false;
}

bool parser_height(struct parser *p, const struct ast *node)
{
	if (!ast_is_higher(node, HEIGHT_MAX))
		return true;
	too_deep(p, node->span, HEIGHT_MAX);
	return false;
}

void parser_leave(struct parser *p)
{
	p->depth--;
}

void node_list_add(struct parser *p, struct node_list *list, struct ast *node)
{
	if (vec_push(&list->nodes, node))
		p->arena->failed = true;
}

struct ast *node_list_end(struct parser *p, struct node_list *list, enum ast_kind kind, struct span span)
{
	struct ast *node = ast_create(p->arena, kind, span, (uint32_t)list->nodes.count);

	if (list->nodes.count && !p->arena->failed)
		memcpy(node->kids, list->nodes.at, list->nodes.count * sizeof(*node->kids));
	vec_free(&list->nodes);
	return node;
}

static enum op compound_op(const struct parser *p)
{
	static const struct {
		const char *text;
		enum op op;
	} all[] = {{"+=", OP_ADD}, {"-=", OP_SUB}, {"*=", OP_MUL}, {"/=", OP_DIV},         {"%=", OP_MOD},
		   {"&=", OP_AND}, {"|=", OP_OR},  {"^=", OP_XOR}, {"<<=", OP_SHIFT_LEFT}, {">>=", OP_SHIFT_RIGHT}};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (parser_is(p, all[i].text))
			return all[i].op;
	return OP_NONE;
}

struct ast *parse_assignment_or_expression(struct parser *p)
{
	struct ast *target = parse_expression(p), *node;
	enum op op = compound_op(p);

	if (op == OP_NONE && !parser_is(p, "="))
		return target;
	if (target->kind != AST_VARIABLE && target->kind != AST_MAP &&
	    !(target->kind == AST_NAME && !strcmp(target->text, "_"))) {
		report_error(p->report, "parse.assign", target->span, "only variables and maps can be assigned to");
		report_hint(p->report, "write $name or @name");
	}
	parser_take(p);
	node = ast_create(p->arena, AST_ASSIGN, target->span, 2);
	node->op = op;
	node->kids[0] = target;
	node->kids[1] = parse_expression(p);
	node->span = span_from(p, target->span.begin);
	return node;
}

static struct ast *let(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct type_name *name = NULL;
	struct ast *node, *value = NULL;
	struct token variable;

	parser_take(p);
	if (p->token.kind != TOKEN_VARIABLE) {
		parser_unexpected(p, "a variable, as in let $x = 1");
		return ast_create(p->arena, AST_BLOCK, p->token.span, 0);
	}
	variable = parser_take(p);
	if (parser_accept(p, ":"))
		name = parse_type_name(p);
	if (parser_accept(p, "="))
		value = parse_expression(p);
	node = ast_create(p->arena, AST_LET, span_from(p, begin), value ? 1 : 0);
	if (value)
		node->kids[0] = value;
	node->text = variable.text;
	node->type_name = name;
	return node;
}

static struct ast *conditional(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct ast *condition, *then, *otherwise = NULL, *node;

	parser_take(p);
	condition = parse_expression(p);
	then = parse_block(p, AST_BLOCK);
	if (parser_accept_word(p, "else")) {
		if (!parser_enter(p))
			return then;
		otherwise = parser_is_word(p, "if") ? conditional(p) : parse_block(p, AST_BLOCK);
		parser_leave(p);
	}
	node = ast_create(p->arena, AST_IF, span_from(p, begin), 3);
	node->kids[0] = condition;
	node->kids[1] = then;
	node->kids[2] = otherwise;
	return node;
}

static struct ast *for_loop(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct ast *first, *end = NULL, *node;
	bool bracket;
	struct token variable;

	parser_take(p);
	bracket = parser_accept(p, "(");
	if (p->token.kind != TOKEN_VARIABLE) {
		parser_unexpected(p, "a variable, as in for ($i : 0..10)");
		return ast_create(p->arena, AST_BLOCK, p->token.span, 0);
	}
	variable = parser_take(p);
	parser_expect(p, ":");
	first = parse_expression(p);
	if (parser_accept(p, ".."))
		end = parse_expression(p);
	if (bracket)
		parser_expect(p, ")");
	node = ast_create(p->arena, end ? AST_FOR_RANGE : AST_FOR_MAP, span_from(p, begin), end ? 3 : 2);
	node->text = variable.text;
	node->kids[0] = first;
	if (end)
		node->kids[1] = end;
	node->kids[end ? 2 : 1] = parse_block(p, AST_BLOCK);
	return node;
}

static struct ast *loop(struct parser *p, enum ast_kind kind)
{
	uint32_t begin = p->token.span.begin;
	struct ast *node, *condition;

	parser_take(p);
	condition = parse_expression(p);
	node = ast_create(p->arena, kind, span_from(p, begin), 2);
	node->kids[0] = condition;
	node->kids[1] = parse_block(p, AST_BLOCK);
	return node;
}

static struct ast *jump(struct parser *p, enum ast_kind kind)
{
	struct token word = parser_take(p);
	struct ast *node, *value = NULL;

	if (kind == AST_RETURN && !parser_is(p, ";") && !parser_is(p, "}"))
		value = parse_expression(p);
	node = ast_create(p->arena, kind, word.span, value ? 1 : 0);
	if (value)
		node->kids[0] = value;
	return node;
}

/* *needs_end: must a semicolon or the block's end follow? */
static struct ast *statement(struct parser *p, bool *needs_end)
{
	struct ast *node, *inner;

	*needs_end = true;
	if (parser_is_word(p, "let"))
		return let(p);
	if (parser_is_word(p, "break"))
		return jump(p, AST_BREAK);
	if (parser_is_word(p, "continue"))
		return jump(p, AST_CONTINUE);
	if (parser_is_word(p, "return"))
		return jump(p, AST_RETURN);
	*needs_end = false;
	if (parser_is_word(p, "if"))
		return conditional(p);
	if (parser_is_word(p, "for"))
		return for_loop(p);
	if (parser_is_word(p, "while"))
		return loop(p, AST_WHILE);
	if (parser_is_word(p, "unroll"))
		return loop(p, AST_UNROLL);
	if (parser_is(p, "{"))
		return parse_block(p, AST_BLOCK);
	*needs_end = true;
	inner = parse_assignment_or_expression(p);
	if (inner->kind == AST_ASSIGN)
		return inner;
	node = ast_create(p->arena, AST_EXPRESSION, inner->span, 1);
	node->kids[0] = inner;
	return node;
}

/* A block, or an if with both branches, that ends with an expression: then it has a value. */
static bool has_value(const struct ast *node)
{
	if (node && node->kind == AST_IF)
		return node->kids[2] && has_value(node->kids[1]) && has_value(node->kids[2]);
	return node && node->kind == AST_BLOCK && node->kid_count &&
	       (node->kids[node->kid_count - 1]->kind == AST_EXPRESSION || has_value(node->kids[node->kid_count - 1]));
}

static void make_value(struct ast *node)
{
	if (node->kind == AST_IF) {
		node->kind = AST_TERNARY;
		make_value(node->kids[1]);
		make_value(node->kids[2]);
	} else if (node->kids[node->kid_count - 1]->kind == AST_EXPRESSION) {
		node->kind = AST_BLOCK_VALUE;
		node->kids[node->kid_count - 1] = node->kids[node->kid_count - 1]->kids[0];
	} else {
		node->kind = AST_BLOCK_VALUE;
		make_value(node->kids[node->kid_count - 1]);
	}
}

struct ast *parse_statements(struct parser *p, struct span open, enum ast_kind kind)
{
	struct node_list list = {};
	bool needs_end = false, is_value = false;
	struct ast *node;

	while (!p->stop && !parser_is(p, "}")) {
		if (parser_accept(p, ";")) {
			is_value = false;
			continue;
		}
		if (p->token.kind == TOKEN_END) {
			parser_unexpected(p, "\"}\"");
			break;
		}
		node = statement(p, &needs_end);
		node_list_add(p, &list, node);
		is_value = node->kind == AST_EXPRESSION ||
			   ((node->kind == AST_BLOCK || node->kind == AST_IF) && !parser_is(p, ";"));
		if (needs_end && !parser_is(p, ";") && !parser_is(p, "}") && !p->token.after_newline)
			parser_unexpected(p, "\";\" or \"}\"");
	}
	parser_expect(p, "}");
	if (kind == AST_BLOCK_VALUE && is_value && list.nodes.count &&
	    list.nodes.at[list.nodes.count - 1]->kind == AST_EXPRESSION)
		list.nodes.at[list.nodes.count - 1] = list.nodes.at[list.nodes.count - 1]->kids[0];
	else if (kind == AST_BLOCK_VALUE && is_value && list.nodes.count &&
		 has_value(list.nodes.at[list.nodes.count - 1]))
		make_value(list.nodes.at[list.nodes.count - 1]);
	else if (kind == AST_BLOCK_VALUE)
		kind = AST_BLOCK;
	return node_list_end(p, &list, kind, span_from(p, open.begin));
}

struct ast *parse_block(struct parser *p, enum ast_kind kind)
{
	struct span open = p->token.span;
	struct ast *node;

	if (!parser_enter(p))
		return ast_create(p->arena, AST_BLOCK, open, 0);
	if (parser_expect(p, "{"))
		node = parse_statements(p, open, kind);
	else
		node = ast_create(p->arena, AST_BLOCK, open, 0);
	parser_leave(p);
	return node;
}

/* --- what a script consists of --- */

/* p->token is the first word of the probe: goes back to read it by characters. */
static void probe(struct parser *p)
{
	struct probe probe = {.span = p->token.span};
	VEC(struct attach_text) points = {};

	p->lexer.at = p->token.span.begin;
	p->word_count = p->word_at = 0;
	do {
		lexer_skip_blanks(&p->lexer);
		/* A trailing comma is allowed. */
		if (points.count && p->lexer.at < p->lexer.end &&
		    (p->report->source[p->lexer.at] == '{' || p->report->source[p->lexer.at] == '/'))
			break;
		if (vec_push(&points, parse_attach_point(p)))
			p->arena->failed = true;
		lexer_skip_blanks(&p->lexer);
	} while (!p->stop && p->lexer.at < p->lexer.end && p->report->source[p->lexer.at] == ',' && p->lexer.at++ + 1);
	probe.span.end = p->last_end;
	p->token = preprocess_next(p);
	if (!p->stop && parser_accept(p, "/")) {
		/* The closing slash would be taken for a division: what stands before it is what counts. */
		probe.predicate = parse_expression(p);
		parser_expect(p, "/");
	}
	probe.body = p->stop ? NULL : parse_block(p, AST_BLOCK);
	if (!parser_height(p, probe.predicate) || !parser_height(p, probe.body))
		return;
	probe.points = arena_array(p->arena, struct attach_text, points.count + 1);
	probe.point_count = (uint32_t)points.count;
	if (probe.points && points.count)
		memcpy(probe.points, points.at, points.count * sizeof(*points.at));
	vec_free(&points);
	if (!p->stop && vec_push(&p->script->probes, probe))
		p->arena->failed = true;
}

static void config(struct parser *p)
{
	if (p->importer) {
		report_error(p->report, "import.config", p->token.span, "a script that is imported has no settings");
		report_hint(p->report, "write them into the script that imports it");
	}
	parser_take(p);
	parser_expect(p, "=");
	parser_expect(p, "{");
	while (!p->stop && !parser_is(p, "}")) {
		struct setting setting = {.span = p->token.span};
		const char *value;
		struct token token;

		setting.name = parser_expect_name(p, "a setting's name");
		parser_expect(p, "=");
		token = parser_take(p);
		value = token.kind == TOKEN_NUMBER ? arena_printf(p->arena, "%llu", (unsigned long long)token.value)
						   : token.text;
		setting.value = value;
		setting.span.end = p->last_end;
		if (vec_push(&p->script->settings, setting))
			p->arena->failed = true;
		if (!parser_accept(p, ";") && !parser_accept(p, ",") && !parser_is(p, "}") && !p->token.after_newline)
			parser_unexpected(p, "\";\" or \"}\"");
	}
	parser_expect(p, "}");
	parser_accept(p, ";");
}

static void map_declaration(struct parser *p)
{
	struct map_declaration declaration = {.span = p->token.span};

	parser_take(p);
	if (p->token.kind != TOKEN_MAP) {
		parser_unexpected(p, "a map, as in let @a = hash(100);");
		return;
	}
	declaration.name = parser_take(p).text;
	parser_expect(p, "=");
	declaration.kind = parser_expect_name(p, "a kind of map");
	parser_expect(p, "(");
	if (p->token.kind == TOKEN_NUMBER)
		declaration.entries = parser_take(p).value;
	else
		parser_unexpected(p, "the number of entries");
	parser_expect(p, ")");
	parser_accept(p, ";");
	declaration.span.end = p->last_end;
	if (vec_push(&p->script->declarations, declaration))
		p->arena->failed = true;
}

static void macro(struct parser *p)
{
	struct macro macro = {.span = p->token.span};
	VEC(struct macro_parameter) parameters = {};

	parser_take(p);
	macro.name = parser_expect_name(p, "the macro's name");
	if (parser_accept(p, "(")) {
		while (!p->stop && !parser_is(p, ")")) {
			char kind = p->token.kind == TOKEN_VARIABLE ? '$' : p->token.kind == TOKEN_MAP ? '@' : 'e';
			const char *name = kind == 'e' ? parser_expect_name(p, "a parameter") : parser_take(p).text;

			if (vec_push(&parameters, (struct macro_parameter){kind, name}))
				p->arena->failed = true;
			if (!parser_accept(p, ","))
				break;
		}
		parser_expect(p, ")");
	}
	macro.body = parse_block(p, AST_BLOCK_VALUE);
	parser_height(p, macro.body);
	macro.parameters = arena_array(p->arena, struct macro_parameter, parameters.count + 1);
	macro.parameter_count = (uint32_t)parameters.count;
	if (macro.parameters && parameters.count)
		memcpy(macro.parameters, parameters.at, parameters.count * sizeof(*parameters.at));
	vec_free(&parameters);
	if (!p->stop && vec_push(&p->script->macros, macro))
		p->arena->failed = true;
}

/* A function or a variable, which mean nothing here: up to its semicolon, or to the end of its body. */
static void pass_over(struct parser *p)
{
	unsigned int depth = 0;

	while (p->token.kind != TOKEN_END) {
		bool closes = parser_is(p, "}") || parser_is(p, ")"), ends = parser_is(p, ";") || parser_is(p, "}");

		depth += parser_is(p, "{") || parser_is(p, "(");
		depth -= closes && depth;
		parser_take(p);
		if (!depth && ends)
			return;
	}
}

void parse_header(struct parser *p)
{
	p->token = preprocess_next(p);
	while (!p->stop && p->token.kind != TOKEN_END) {
		if (parser_accept(p, ";") || parse_declaration(p))
			continue;
		if (p->token.kind == TOKEN_NAME)
			pass_over(p);
		else
			parser_unexpected(p, "a declaration, as this is a header");
	}
}

void parse_included(struct parser *p)
{
	p->token = preprocess_next(p);
	while (p->token.kind != TOKEN_END && !p->arena->failed) {
		struct parser saved = *p;
		unsigned int errors = p->report->errors;

		if (parser_accept(p, ";") || (parse_declaration(p) && p->report->errors == errors))
			continue;
		p->stop = false;
		parser_rewind(p, &saved);
		p->report->errors = errors;
		pass_over(p);
	}
}

void parse_file(struct parser *p)
{
	p->token = preprocess_next(p);
	while (!p->stop && p->token.kind != TOKEN_END) {
		if (parser_accept(p, ";") || parse_declaration(p))
			continue;
		if (parser_is_word(p, "import")) {
			parse_import(p);
			continue;
		}
		if (parser_is_word(p, "config")) {
			config(p);
			continue;
		}
		p->in_body = true;
		if (parser_is_word(p, "let"))
			map_declaration(p);
		else if (parser_is_word(p, "macro"))
			macro(p);
		else
			probe(p);
	}
}

void bpftrace_parse(struct report *report, const struct parser_options *options, struct types *types,
		    struct script *ret)
{
	struct imported_files imported = {};
	struct defines defines = {};
	struct parser p = {.arena = report->arena,
			   .report = report,
			   .types = types,
			   .options = options,
			   .script = ret,
			   .path = options->path,
			   .imported = &imported,
			   .defines = &defines};
	struct stat file;
	uint32_t i;

	if (report->size > SOURCE_MAX) {
		report_error(report, "parse.size", (struct span){}, "the script is longer than 1 MiB");
		return;
	}
	if (p.path && !stat(p.path, &file))
		p.id = (struct file_id){file.st_dev, file.st_ino};
	lexer_init(&p.lexer, report, &report->script);
	for (i = 0; i < options->include_count; i++)
		preprocess_include(&p, options->includes[i], true, (struct span){});
	parse_file(&p);
	vec_free(&imported.ids);
	defines_deinit(&defines);
	if (!report->errors && !ret->probes.count && !options->may_be_empty) {
		report_error(report, "parse.empty", (struct span){}, "the script has no probe");
		report_hint(report, "as in: interval:s:1 { printf(\"hello\\n\"); }");
	}
}
