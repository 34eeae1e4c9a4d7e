// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Expressions, by precedence as in C, and type names.
 */
#include <string.h>

#include "lang/dialect/bpftrace/parse/parts.h"

static const struct {
	const char *text;
	enum op op;
	int level; /* binds tighter when larger */
} binaries[] = {
	{"||", OP_LOGICAL_OR, 1},
	{"&&", OP_LOGICAL_AND, 2},
	{"|", OP_OR, 3},
	{"^", OP_XOR, 4},
	{"&", OP_AND, 5},
	{"==", OP_EQUAL, 6},
	{"!=", OP_NOT_EQUAL, 6},
	{"<", OP_LESS, 7},
	{"<=", OP_LESS_EQUAL, 7},
	{">", OP_GREATER, 7},
	{">=", OP_GREATER_EQUAL, 7},
	{"<<", OP_SHIFT_LEFT, 8},
	{">>", OP_SHIFT_RIGHT, 8},
	{"+", OP_ADD, 9},
	{"-", OP_SUB, 9},
	{"*", OP_MUL, 10},
	{"/", OP_DIV, 10},
	{"%", OP_MOD, 10},
};

static struct ast *make(struct parser *p, enum ast_kind kind, uint32_t begin, uint32_t kids)
{
	return ast_create(p->arena, kind, span_from(p, begin), kids);
}

bool parse_is_type(const struct parser *p)
{
	static const char *const words[] = {"struct", "union", "enum",  "typeof",  "string",
					    "buffer", "inet",  "const", "volatile"};
	size_t i;

	if (p->token.kind != TOKEN_NAME)
		return false;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], p->token.text))
			return true;
	if (types_builtin(p->token.text))
		return true;
	for (i = 0; i < p->types->named.count; i++)
		if (!strcmp(p->types->named.at[i].name, p->token.text))
			return true;
	return false;
}

static void add_suffix(struct parser *p, struct type_name *name, char kind, uint32_t count)
{
	struct type_suffix *more = arena_array(p->arena, struct type_suffix, name->suffix_count + 1);

	if (!more)
		return;
	if (name->suffix_count)
		memcpy(more, name->suffixes, name->suffix_count * sizeof(*more));
	more[name->suffix_count] = (struct type_suffix){kind, count};
	name->suffixes = more;
	name->suffix_count++;
}

static void suffixes(struct parser *p, struct type_name *name)
{
	for (;;) {
		if (parser_accept(p, "*")) {
			add_suffix(p, name, '*', 0);
		} else if (parser_accept(p, "[")) {
			uint64_t count = 0;

			if (p->token.kind == TOKEN_NUMBER)
				count = parser_take(p).value;
			if (count > 65536) {
				report_error(p->report, "type.array", p->token.span,
					     "an array of %llu elements is too long", (unsigned long long)count);
				count = 1;
			}
			parser_expect(p, "]");
			add_suffix(p, name, '[', (uint32_t)count);
		} else if (!parser_accept_word(p, "const")) {
			return;
		}
	}
}

/* unsigned, signed, long, short, int and char in any order mean what they do in C. */
static const char *c_integer(struct parser *p)
{
	unsigned int longs = 0, shorts = 0, chars = 0, taken = 0;
	bool is_unsigned = false;

	for (;; taken++) {
		if (parser_accept_word(p, "unsigned"))
			is_unsigned = true;
		else if (parser_accept_word(p, "long"))
			longs++;
		else if (parser_accept_word(p, "short"))
			shorts++;
		else if (parser_accept_word(p, "char"))
			chars++;
		else if (!parser_accept_word(p, "signed") && !parser_accept_word(p, "int"))
			break;
	}
	if (!taken)
		return NULL;
	if (chars)
		return is_unsigned ? "uint8" : "char";
	if (shorts)
		return is_unsigned ? "uint16" : "int16";
	if (longs)
		return is_unsigned ? "uint64" : "int64";
	return is_unsigned ? "uint32" : "int32";
}

/* NAME(...) is a macro's or a function's value, also where NAME alone is a type. */
static bool is_call(struct parser *p)
{
	struct parser saved = *p;
	bool result;

	if (p->token.kind != TOKEN_NAME || parser_is_word(p, "typeof"))
		return false;
	parser_take(p);
	result = parser_is(p, "(");
	parser_rewind(p, &saved);
	return result;
}

struct type_name *parse_type_name(struct parser *p)
{
	struct type_name *name = arena_new(p->arena, struct type_name);
	uint32_t begin = p->token.span.begin;

	if (!name) {
		p->stop = true;
		return NULL;
	}
	while (parser_accept_word(p, "const") || parser_accept_word(p, "volatile"))
		;
	if (parser_is_word(p, "struct") || parser_is_word(p, "union") || parser_is_word(p, "enum")) {
		struct token word = parser_take(p);

		name->is_record = true;
		name->name = arena_printf(p->arena, "%s %s", word.text, parser_expect_name(p, "the type's name"));
	} else if (parser_accept_word(p, "typeof")) {
		parser_expect(p, "(");
		if (!is_call(p) && parse_is_type(p)) {
			struct type_name *inner = parse_type_name(p);

			if (inner)
				*name = *inner;
		} else {
			name->of = parse_expression(p);
		}
		parser_expect(p, ")");
	} else {
		name->name = c_integer(p);
		if (!name->name)
			name->name = parser_expect_name(p, "a type");
	}
	if (!name->name)
		name->name = "void";
	while (parser_accept_word(p, "const"))
		;
	suffixes(p, name);
	name->span = span_from(p, begin);
	return name;
}

/* NAME *) can only be a type, which BTF may know, or a macro's parameter. */
static bool is_pointer_type(struct parser *p)
{
	struct parser saved = *p;
	bool result;

	if (p->token.kind != TOKEN_NAME)
		return false;
	parser_take(p);
	result = parser_is(p, "*");
	while (parser_accept(p, "*"))
		;
	result = result && parser_is(p, ")");
	parser_rewind(p, &saved);
	return result;
}

/* Behind "(": is it a cast? `(NAME)` is, if an operand follows; NAME may be a typedef that only BTF knows. */
static bool is_cast(struct parser *p)
{
	struct parser saved = *p;
	bool known = parse_is_type(p), result = false;

	if (is_pointer_type(p))
		return true;
	if (p->token.kind == TOKEN_NAME && !known) {
		parser_take(p);
		known = parser_accept(p, ")") &&
			(p->token.kind == TOKEN_NUMBER || p->token.kind == TOKEN_VARIABLE ||
			 p->token.kind == TOKEN_MAP || p->token.kind == TOKEN_PARAMETER ||
			 p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_NAME) &&
			!p->token.after_newline && !parser_is_word(p, "if") && !parser_is_word(p, "else");
		result = known;
	} else {
		result = known;
	}
	parser_rewind(p, &saved);
	return result;
}

static struct ast *arguments(struct parser *p, enum ast_kind kind, uint32_t begin, const char *end)
{
	struct node_list list = {};

	while (!p->stop && !parser_is(p, end)) {
		struct ast *argument;

		if (parse_is_type(p) && !parser_is_word(p, "typeof")) {
			/* A type as an argument: of macros, container_of and the like. */
			uint32_t at = p->token.span.begin;
			struct parser saved = *p;
			struct type_name *name;

			parser_take(p);
			if (parser_is(p, "(") || parser_is(p, ".")) {
				parser_rewind(p, &saved);
				argument = parse_expression(p);
			} else {
				parser_rewind(p, &saved);
				name = parse_type_name(p);
				argument = make(p, AST_TYPE, at, 0);
				argument->type_name = name;
			}
		} else if (parser_is_word(p, "typeof")) {
			uint32_t at = p->token.span.begin;
			struct type_name *name = parse_type_name(p);

			argument = make(p, AST_TYPE, at, 0);
			argument->type_name = name;
		} else {
			argument = parse_expression(p);
		}
		node_list_add(p, &list, argument);
		if (!parser_accept(p, ","))
			break;
	}
	parser_expect(p, end);
	return node_list_end(p, &list, kind, span_from(p, begin));
}

static struct ast *sizeof_or_offsetof(struct parser *p, bool is_offset)
{
	uint32_t begin = p->token.span.begin;
	struct ast *node, *operand = NULL;
	struct type_name *name = NULL;
	const char *path = NULL;

	parser_take(p);
	parser_expect(p, "(");
	if (!is_call(p) && (parse_is_type(p) || is_pointer_type(p)))
		name = parse_type_name(p);
	else
		operand = parse_expression(p);
	if (is_offset) {
		parser_expect(p, ",");
		path = parser_expect_name(p, "a field");
		while (parser_accept(p, "."))
			path = arena_printf(p->arena, "%s.%s", path, parser_expect_name(p, "a field"));
	}
	parser_expect(p, ")");
	node = make(p, is_offset ? AST_OFFSETOF : AST_SIZEOF, begin, operand ? 1 : 0);
	if (operand)
		node->kids[0] = operand;
	node->type_name = name;
	node->text = path;
	return node;
}

static struct ast *name_or_call(struct parser *p)
{
	struct token token;
	struct ast *node;

	if (parser_is_word(p, "sizeof"))
		return sizeof_or_offsetof(p, false);
	if (parser_is_word(p, "offsetof"))
		return sizeof_or_offsetof(p, true);
	token = parser_take(p);
	if (!strcmp(token.text, "true") || !strcmp(token.text, "false")) {
		node = make(p, AST_BOOL, token.span.begin, 0);
		node->value = token.text[0] == 't';
		return node;
	}
	/* NAME!(...) is how macros may be called. */
	if (parser_is(p, "!")) {
		struct parser saved = *p;

		parser_take(p);
		if (!parser_is(p, "("))
			parser_rewind(p, &saved);
	}
	if (parser_accept(p, "("))
		node = arguments(p, AST_CALL, token.span.begin, ")");
	else
		node = make(p, AST_NAME, token.span.begin, 0);
	node->text = token.text;
	return node;
}

static struct ast *map(struct parser *p)
{
	struct token token = parser_take(p);
	struct ast *key, *node;

	if (!parser_is(p, "[") || p->token.span.begin != token.span.end) {
		node = make(p, AST_MAP, token.span.begin, 0);
		node->text = token.text;
		return node;
	}
	parser_take(p);
	key = arguments(p, AST_TUPLE, token.span.end, "]");
	if (key->kid_count == 1)
		key = key->kids[0];
	else if (!key->kid_count)
		report_error(p->report, "parse.key", key->span, "the key is missing between [ and ]");
	node = make(p, AST_MAP, token.span.begin, 1);
	node->kids[0] = key;
	node->text = token.text;
	return node;
}

/* Behind "(": an expression, or the elements of a tuple or a record. */
static struct ast *parenthesised(struct parser *p, uint32_t begin)
{
	struct node_list list = {};
	VEC(const char *) names = {};
	struct ast *node;
	bool comma = false;

	while (!p->stop && !parser_is(p, ")")) {
		struct parser saved = *p;
		const char *name = NULL;

		if (p->token.kind == TOKEN_NAME) {
			name = parser_take(p).text;
			if (!parser_accept(p, "=")) {
				parser_rewind(p, &saved);
				name = NULL;
			}
		}
		if (vec_push(&names, name))
			p->arena->failed = true;
		node_list_add(p, &list, parse_assignment_or_expression(p));
		if (!parser_accept(p, ","))
			break;
		comma = true;
	}
	parser_expect(p, ")");
	if (list.nodes.count == 1 && !comma && names.count && !names.at[0]) {
		node = list.nodes.at[0];
		vec_free(&list.nodes);
	} else {
		node = node_list_end(p, &list, AST_TUPLE, span_from(p, begin));
		if (names.count && names.at[0]) {
			node->names = arena_array(p->arena, const char *, names.count);
			if (node->names)
				memcpy(node->names, names.at, names.count * sizeof(*names.at));
		}
	}
	vec_free(&names);
	return node;
}

/* if CONDITION { ... value } else { ... value } */
static struct ast *conditional_value(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct ast *node = make(p, AST_TERNARY, begin, 3);

	parser_take(p);
	if (!parser_enter(p))
		return make(p, AST_INT, begin, 0);
	node->kids[0] = parse_expression(p);
	node->kids[1] = parse_block(p, AST_BLOCK_VALUE);
	if (!parser_accept_word(p, "else"))
		parser_unexpected(p, "else, as an if with a value has both");
	node->kids[2] = parser_is_word(p, "if") ? conditional_value(p) : parse_block(p, AST_BLOCK_VALUE);
	parser_leave(p);
	node->span = span_from(p, begin);
	return node;
}

static struct ast *primary(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct token token = p->token;
	struct ast *node;

	switch (token.kind) {
	case TOKEN_NUMBER:
		parser_take(p);
		node = make(p, AST_INT, begin, 0);
		node->value = token.value;
		node->is_unsigned = token.is_unsigned;
		return node;
	case TOKEN_STRING:
		parser_take(p);
		node = make(p, AST_STRING, begin, 0);
		node->text = token.text;
		return node;
	case TOKEN_PARAMETER:
		parser_take(p);
		node = make(p, AST_PARAMETER, begin, 0);
		node->value = token.value;
		return node;
	case TOKEN_VARIABLE:
		parser_take(p);
		node = make(p, AST_VARIABLE, begin, 0);
		node->text = token.text;
		return node;
	case TOKEN_MAP:
		return map(p);
	case TOKEN_NAME:
		return parser_is_word(p, "if") ? conditional_value(p) : name_or_call(p);
	default:
		if (parser_accept(p, "("))
			return parenthesised(p, begin);
		if (parser_is(p, "{"))
			return parse_block(p, AST_BLOCK_VALUE);
		parser_unexpected(p, "an expression");
		return make(p, AST_INT, begin, 0);
	}
}

static struct ast *field(struct parser *p, struct ast *of)
{
	struct ast *node;
	const char *text;

	if (p->token.kind == TOKEN_NUMBER) {
		struct token token = parser_take(p);

		/* `.0.1` is read as one word by the lexer only in other languages; here numbers have no point. */
		text = arena_printf(p->arena, "%llu", (unsigned long long)token.value);
	} else {
		text = parser_expect_name(p, "a field");
	}
	node = make(p, AST_FIELD, of->span.begin, 1);
	node->kids[0] = of;
	node->text = text;
	return node;
}

static struct ast *postfix(struct parser *p)
{
	struct ast *node = primary(p);

	while (!p->stop) {
		struct ast *inner = node;

		if (parser_accept(p, "->") || parser_accept(p, ".")) {
			node = field(p, inner);
		} else if (parser_is(p, "[") && !p->token.after_newline) {
			parser_take(p);
			node = make(p, AST_INDEX, inner->span.begin, 2);
			node->kids[0] = inner;
			node->kids[1] = parse_expression(p);
			parser_expect(p, "]");
			node->span = span_from(p, inner->span.begin);
		} else if ((parser_is(p, "++") || parser_is(p, "--")) && !p->token.after_newline &&
			   (inner->kind == AST_VARIABLE || inner->kind == AST_MAP)) {
			bool add = parser_is(p, "++");

			parser_take(p);
			node = make(p, AST_STEP, inner->span.begin, 1);
			node->kids[0] = inner;
			node->op = add ? OP_ADD : OP_SUB;
		} else {
			break;
		}
	}
	return node;
}

static struct ast *unary(struct parser *p)
{
	static const struct {
		const char *text;
		enum op op;
	} all[] = {{"!", OP_NOT},         {"~", OP_COMPLEMENT}, {"-", OP_NEGATE},
		   {"*", OP_DEREFERENCE}, {"&", OP_ADDRESS},    {"comptime", OP_KNOWN}};
	uint32_t begin = p->token.span.begin;
	struct ast *node, *operand;
	size_t i;

	if (!parser_enter(p))
		return make(p, AST_INT, begin, 0);
	if (parser_is(p, "++") || parser_is(p, "--")) {
		bool add = parser_is(p, "++");

		parser_take(p);
		operand = unary(p);
		node = make(p, AST_STEP, begin, 1);
		node->kids[0] = operand;
		node->op = add ? OP_ADD : OP_SUB;
		node->is_prefix = true;
		parser_leave(p);
		return node;
	}
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!parser_accept(p, all[i].text) && !parser_accept_word(p, all[i].text))
			continue;
		operand = unary(p);
		node = make(p, AST_UNARY, begin, 1);
		node->kids[0] = operand;
		node->op = all[i].op;
		parser_leave(p);
		return node;
	}
	if (parser_is(p, "(")) {
		struct parser saved = *p;

		parser_take(p);
		if (is_cast(p)) {
			struct type_name *name = parse_type_name(p);

			if (parser_is(p, ")")) {
				parser_take(p);
				operand = unary(p);
				node = make(p, AST_CAST, begin, 1);
				node->kids[0] = operand;
				node->type_name = name;
				parser_leave(p);
				return node;
			}
		}
		parser_rewind(p, &saved);
	}
	node = postfix(p);
	parser_leave(p);
	return node;
}

/* The slash that ends a predicate stands before a brace; a division's does not. */
static bool ends_predicate(const struct parser *p)
{
	struct lexer ahead = p->lexer;

	if (!parser_is(p, "/"))
		return false;
	lexer_skip_blanks(&ahead);
	return ahead.at < ahead.end && ahead.source[ahead.at] == '{';
}

static struct ast *binary(struct parser *p, int level)
{
	struct ast *left = unary(p);

	while (!p->stop && p->token.kind == TOKEN_PUNCTUATION && !ends_predicate(p)) {
		struct ast *node;
		size_t i;

		for (i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
			if (binaries[i].level >= level && !strcmp(binaries[i].text, p->token.text))
				break;
		if (i == sizeof(binaries) / sizeof(binaries[0]))
			break;
		parser_take(p);
		node = make(p, AST_BINARY, left->span.begin, 2);
		node->op = binaries[i].op;
		node->kids[0] = left;
		node->kids[1] = binary(p, binaries[i].level + 1);
		node->span = span_from(p, left->span.begin);
		left = node;
	}
	return left;
}

struct ast *parse_expression(struct parser *p)
{
	uint32_t begin = p->token.span.begin;
	struct ast *condition, *node;

	if (!parser_enter(p))
		return make(p, AST_INT, begin, 0);
	condition = binary(p, 1);
	node = condition;
	if (parser_is(p, "?") || parser_is(p, "?:")) {
		bool same = parser_is(p, "?:");

		parser_take(p);
		if (!parser_height(p, condition)) {
			parser_leave(p);
			return condition;
		}
		node = make(p, AST_TERNARY, begin, 3);
		node->kids[0] = condition;
		node->kids[1] = same ? ast_copy(p->arena, condition) : parse_expression(p);
		if (!same)
			parser_expect(p, ":");
		node->kids[2] = parse_expression(p);
		node->span = span_from(p, begin);
	}
	parser_leave(p);
	return node;
}
