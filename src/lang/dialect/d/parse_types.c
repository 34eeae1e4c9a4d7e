// SPDX-License-Identifier: GPL-2.0-or-later
/* D's types as written, and what declarations define: structs, unions, enums. */
#include <string.h>

#include "lang/dialect/d/parser.h"

static const char *const type_words[] = {"void",     "char",   "short", "int",  "long",  "float",    "double", "signed",
					 "unsigned", "struct", "union", "enum", "const", "volatile", "string", "_Bool"};

bool d_is_type_word(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++)
		if (!strcmp(type_words[i], text))
			return true;
	return false;
}

bool d_is_type_name(const struct parser *p, const char *text)
{
	size_t length = strlen(text);

	return d_is_type_word(text) || (length > 2 && !strcmp(text + length - 2, "_t")) ||
	       (types_builtin(text) && strcmp(text, "string") != 0) ||
	       (types_find(&p->c->types, text) && !d_variable_find(p->c, D_GLOBAL, text, false));
}

static void complain(struct parser *p, const char *tag, struct span span, const char *text, const char *name)
{
	if (!d_failed(p))
		report_error(p->c->report, tag, span, "%s%s", text, name ? name : "");
}

static bool take_qualifier(struct parser *p)
{
	if (!d_at_word(p, "const") && !d_at_word(p, "volatile") && !d_at_word(p, "register") &&
	    !d_at_word(p, "restrict"))
		return false;
	d_advance(p);
	return true;
}

static const struct type *take_specifiers(struct parser *p, const char **word);

/* --- structs and unions --- */

struct members {
	VEC(struct type_field) fields;
	uint32_t size, align;
	uint32_t bits; /* used of the unit at `size`: the next bit field may go on there */
	uint32_t unit; /* its bytes; 0: there is none */
	bool is_union;
};

/* Ends a unit of bit fields. */
static void end_unit(struct members *m)
{
	m->size += m->unit;
	m->unit = m->bits = 0;
}

static void place_bits(struct members *m, struct type_field *field, uint32_t width)
{
	uint32_t unit = field->type->size;

	if (!m->unit || m->bits + width > m->unit * 8 || m->unit != unit) {
		end_unit(m);
		m->size = (m->size + unit - 1) & ~(unit - 1);
		m->unit = unit;
	}
	field->offset = m->size;
	field->bit_offset = (uint8_t)m->bits;
	field->bit_size = (uint8_t)width;
	m->bits += width;
}

static void place(struct members *m, struct type_field field, uint32_t width)
{
	uint32_t align = field.type->align ? field.type->align : 1;

	if (m->is_union) {
		field.bit_size = (uint8_t)width;
		if (field.type->size > m->size)
			m->size = field.type->size;
	} else if (width) {
		place_bits(m, &field, width);
	} else {
		end_unit(m);
		m->size = (m->size + align - 1) & ~(align - 1);
		field.offset = m->size;
		m->size += field.type->size;
	}
	if (align > m->align)
		m->align = align;
	if (vec_push(&m->fields, field))
		m->size = 0;
}

static uint32_t bit_width(struct parser *p, const struct type *type, const char *name)
{
	struct span span = p->token.span;
	struct d_expr *expr = d_expression(p, 1);
	int64_t width = 0;

	if (d_failed(p))
		return 1;
	if (!d_constant(p->c, expr, &width) || width <= 0)
		complain(p, "D_DECL_BFCONST", span, "positive integral constant expression expected as bit-field size",
			 "");
	else if (type->kind != TYPE_INT)
		complain(p, "D_DECL_BFTYPE", span, "invalid type for bit-field: ", name ? name : "(anon)");
	else if (width > 64 || width > type->size * 8)
		complain(p, "D_DECL_BFSIZE", span, "bit-field too big for type: ", name ? name : "(anon)");
	return d_failed(p) ? 1 : (uint32_t)width;
}

static void incomplete(struct parser *p, const struct d_declarator *one)
{
	const char *text = arena_printf(p->c->arena, "incomplete struct/union/enum %s %s: ",
					one->type->is_union ? "union" : "struct", one->type->name);

	complain(p, "D_DECL_INCOMPLETE", one->span, text ? text : "", one->name);
}

/* Places a member; not where sizes and offsets no longer fit an int. */
static void add_member(struct parser *p, struct members *m, struct type_field field, uint32_t width)
{
	if (d_failed(p))
		return;
	if ((uint64_t)m->size + m->unit + field.type->size > INT32_MAX - 64)
		complain(p, "D_UNKNOWN", p->token.span, "type is too large at member ", field.name ? field.name : "");
	if (!d_failed(p))
		place(m, field, width);
}

/* A name that a member has already. */
static bool is_taken(const struct members *m, const char *name)
{
	size_t i;

	for (i = 0; name && i < m->fields.count; i++)
		if (m->fields.at[i].name && !strcmp(m->fields.at[i].name, name))
			return true;
	return false;
}

/* What `base` and its declarator are together: "unsigned char *[4]". NULL: it has no name of its own. */
static const char *spelled(struct parser *p, const struct type *type, const struct type *base, const char *word)
{
	const char *text;

	if (!word || type == base)
		return word;
	if (!type || (type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY))
		return NULL;
	if (type->kind == TYPE_POINTER) {
		text = spelled(p, type->to, base, word);
		return text ? arena_printf(p->c->arena, text[strlen(text) - 1] == '*' ? "%s*" : "%s *", text) : NULL;
	}
	/* The dimension that comes first is the outermost one. */
	for (; type->kind == TYPE_ARRAY && type != base; type = type->to)
		;
	return spelled(p, type, base, word);
}

static const char *spelled_member(struct parser *p, const struct d_declarator *one, const struct type *base,
				  const char *word)
{
	const char *text = spelled(p, one->type, base, word);
	const struct type *type = one->type;

	for (; text && type->kind == TYPE_ARRAY && type != base; type = type->to)
		text = arena_printf(p->c->arena, text[strlen(text) - 1] == ']' ? "%s[%u]" : "%s [%u]", text,
				    type->count);
	return text;
}

static void member(struct parser *p, struct members *m)
{
	const char *word = NULL;
	const struct type *base = take_specifiers(p, &word);
	struct d_declarator one;

	if (d_take(p, ";")) {
		/* The members of an unnamed struct are this one's. */
		if (base->kind == TYPE_RECORD)
			add_member(p, m, (struct type_field){.type = base}, 0);
		return;
	}
	do {
		uint32_t width = 0;

		one = (struct d_declarator){.type = base, .span = p->token.span};
		if (!d_at(p, ":") && !d_take_declarator(p, base, &one))
			return;
		if (one.is_array)
			complain(p, "D_DECL_DYNOBJ", one.span, "cannot have dynamic member: ", one.name);
		if (d_take(p, ":"))
			width = bit_width(p, one.type, one.name);
		else if (!one.name)
			complain(p, "D_DECL_MNAME", one.span, "member declaration requires a name", "");
		else if (one.type->kind == TYPE_NONE || one.is_function)
			complain(p, "D_DECL_VOIDOBJ", one.span, "cannot have void member: ", one.name);
		else if (one.type->is_incomplete && !types_complete(&p->c->types, one.type))
			incomplete(p, &one);
		if (is_taken(m, one.name))
			complain(p, "D_UNKNOWN", one.span, "failed to define member ",
				 arena_printf(p->c->arena, "'%s': Duplicate member or variable name", one.name));
		add_member(p, m,
			   (struct type_field){.name = one.name,
					       .type = one.type,
					       .spelled = spelled_member(p, &one, base, word)},
			   width);
	} while (d_take(p, ","));
	d_need(p, ";");
}

static struct type *new_record(struct parser *p, const char *name, bool is_union, struct span span)
{
	struct types *types = &p->c->types;
	struct type *type;
	size_t i;

	for (i = types->named.count; name && i-- > 0;)
		if (!types->named.at[i].is_found && !strcmp(types->named.at[i].name, name)) {
			if (types->named.at[i].type->is_incomplete)
				return types->named.at[i].type;
			complain(p, "D_DECL_TYPERED", span, "type redeclared: ", name);
			return NULL;
		}
	type = arena_new(p->c->arena, struct type);
	if (!type)
		return NULL;
	*type = (struct type){.kind = TYPE_RECORD,
			      .align = 1,
			      .name = name && strchr(name, ' ') ? strchr(name, ' ') + 1 : "",
			      .is_union = is_union,
			      .is_incomplete = true};
	if (name)
		types_define(types, name, type);
	return type;
}

/* { int a; char b[8]; }, whose { is the token. */
static const struct type *record(struct parser *p, const char *name, bool is_union)
{
	struct type *type = new_record(p, name, is_union, p->token.span);
	struct members m = {.align = 1, .is_union = is_union};
	struct type_field *fields;
	size_t i;

	d_need(p, "{");
	if (++p->depth > D_NESTING_MAX)
		d_syntax_error(p, "fewer levels of nesting");
	do
		member(p, &m);
	while (!d_at(p, "}") && !d_failed(p));
	p->depth--;
	d_need(p, "}");
	end_unit(&m);
	fields = arena_array(p->c->arena, struct type_field, m.fields.count + 1);
	for (i = 0; fields && i < m.fields.count; i++)
		fields[i] = m.fields.at[i];
	if (type && fields) {
		type->fields = fields;
		type->field_count = (uint32_t)m.fields.count;
		type->align = m.align;
		type->size = (m.size + m.align - 1) & ~(m.align - 1);
		type->is_incomplete = false;
	}
	vec_free(&m.fields);
	return type ? type : &type_int32;
}

/* --- enums --- */

static void enumerator(struct parser *p, const struct type *type, int64_t *value)
{
	struct span span = p->token.span;
	const char *name = p->token.text;
	size_t i;

	if (p->token.kind != D_NAME) {
		d_syntax_error(p, "the name of a constant");
		return;
	}
	d_advance(p);
	if (d_take(p, "=")) {
		struct d_expr *expr = d_assignment(p);

		if (!d_failed(p) && !d_constant(p->c, expr, value))
			report_error(p->c->report, "D_DECL_ENCONST", p->token.span,
				     "enumerator '%s' must be assigned to an integral constant expression", name);
		if (!d_failed(p) && (*value < INT32_MIN || *value > INT32_MAX))
			report_error(p->c->report, "D_DECL_ENOFLOW", p->token.span,
				     "enumerator '%s' value overflows INT_MAX (%d)", name, INT32_MAX);
	}
	for (i = 0; i < p->c->types.constants.count; i++)
		if (!strcmp(p->c->types.constants.at[i].name, name)) {
			if (p->c->types.constants.at[i].type == type)
				report_error(p->c->report, "D_UNKNOWN", p->token.span,
					     "failed to define enumerator '%s': Duplicate member or variable name",
					     name);
			else
				complain(p, "D_DECL_IDRED", span, "identifier redeclared: ", name);
			return;
		}
	types_define_constant(&p->c->types, name, *value, type);
	++*value;
}

/* The type's own list of its constants. */
static void list_enumerators(struct parser *p, struct type *type)
{
	const struct types *types = &p->c->types;
	struct type_value *values = arena_array(p->c->arena, struct type_value, types->constants.count + 1);
	size_t i;

	for (i = 0; values && i < types->constants.count; i++)
		if (types->constants.at[i].type == type)
			values[type->value_count++] =
				(struct type_value){types->constants.at[i].name, types->constants.at[i].value};
	type->values = values;
}

static const struct type *enumeration(struct parser *p, const char *name)
{
	struct type *type = arena_new(p->c->arena, struct type);
	int64_t value = 0;

	if (!type)
		return &type_int32;
	*type = type_int32;
	type->name = name && strchr(name, ' ') ? strchr(name, ' ') + 1 : "";
	if (name)
		types_define(&p->c->types, name, type);
	d_need(p, "{");
	do
		enumerator(p, type, &value);
	while (d_take(p, ",") && !d_failed(p) && !d_at(p, "}"));
	d_need(p, "}");
	list_enumerators(p, type);
	return type;
}

/* struct NAME, struct NAME { ... }, struct { ... } */
static const struct type *tagged(struct parser *p, const char *word)
{
	const char *name = NULL;
	struct span span = p->token.span;

	d_advance(p);
	if (p->token.kind == D_NAME) {
		name = arena_printf(p->c->arena, "%s %s", word, p->token.text);
		d_advance(p);
	}
	if (d_at(p, "{"))
		return *word == 'e' ? enumeration(p, name) : record(p, name, *word == 'u');
	if (!name) {
		d_syntax_error(p, "the name of a type");
		return &type_int32;
	}
	return d_type(p->c, name, span);
}

/* --- specifiers --- */

struct words {
	uint32_t longs;
	bool is_unsigned, is_signed, is_short;
};

static bool take_word(struct parser *p, struct words *w)
{
	if (d_at_word(p, "unsigned"))
		w->is_unsigned = true;
	else if (d_at_word(p, "signed"))
		w->is_signed = true;
	else if (d_at_word(p, "short"))
		w->is_short = true;
	else if (d_at_word(p, "long"))
		w->longs++;
	else
		return false;
	d_advance(p);
	return true;
}

static const struct type *sized(struct parser *p, const struct words *w, const char *base, struct span span)
{
	if (w->is_short && w->longs && !strcmp(base, "int"))
		complain(p, "D_UNKNOWN", span, "failed to resolve type short long : ", "Unknown type name");
	if (!strcmp(base, "int"))
		return type_integer(w->is_short ? 2 : w->longs ? 8 : 4, !w->is_unsigned);
	if (!strcmp(base, "char") && (w->is_short || w->longs))
		complain(p, "D_DECL_CHARATTR", span,
			 "invalid type declaration: ", "short and long may not be used with char type");
	if (!strcmp(base, "char"))
		return w->is_unsigned ? &type_uint8 : &type_int8;
	if (!strcmp(base, "void"))
		complain(p, "D_DECL_VOIDATTR", span,
			 "invalid type declaration: ", "attributes may not be used with void type");
	else if (w->longs && strcmp(base, "double") != 0)
		complain(p, "D_DECL_LONGINT", span,
			 "invalid type declaration: ",
			 "long and long long may only be used with integer or floating-point type");
	else if (w->is_short)
		complain(p, "D_DECL_SHORTINT", span,
			 "invalid type declaration: ", "short may only be used with integer type");
	else if (w->is_unsigned || w->is_signed)
		complain(p, "D_DECL_SIGNINT", span,
			 "invalid type declaration: ", "signed and unsigned may only be used with integer type");
	if (d_failed(p))
		return &type_int32;
	return d_type(p->c, w->longs && !strcmp(base, "double") ? "long double" : base, span);
}

/* unsigned struct x { */
static void attributed_tag(struct parser *p, const struct words *w)
{
	struct parser ahead = *p;

	d_advance(&ahead);
	if (ahead.token.kind == D_NAME)
		d_advance(&ahead);
	sized(p, w, "struct", ahead.token.span);
}

/* unsigned long int: unsigned long */
static const char *canonical(struct parser *p, const struct words *w, const char *base)
{
	const char *size = w->is_short ? "short" : w->longs > 1 ? "long long" : w->longs ? "long" : base;

	if (w->longs && !strcmp(base, "double"))
		return "long double";
	return w->is_unsigned ? arena_printf(p->c->arena, "unsigned %s", size) : size;
}

/* *word: how they say the type; NULL: a struct, a union or an enum, whose own name it is. */
static const struct type *take_specifiers(struct parser *p, const char **word)
{
	struct words w = {};
	const struct type *type = NULL;
	const char *base = NULL;
	struct span span = p->token.span;
	bool is_tagged = false;

	while (p->token.kind == D_NAME && !d_failed(p)) {
		if (take_qualifier(p) || take_word(p, &w))
			continue;
		if (type || base) {
			if (d_is_type_word(p->token.text))
				complain(p, "D_DECL_COMBO", p->token.span, "invalid type combination", "");
			break;
		}
		if (d_at_word(p, "struct") || d_at_word(p, "union") || d_at_word(p, "enum")) {
			if (w.is_unsigned || w.is_signed || w.is_short || w.longs)
				attributed_tag(p, &w);
			type = tagged(p, d_at_word(p, "struct") ? "struct" : d_at_word(p, "union") ? "union" : "enum");
			base = "a struct";
			is_tagged = true;
			continue;
		}
		/* `unsigned x`: the name is not the type's. */
		if ((w.is_unsigned || w.is_signed || w.is_short || w.longs) && !d_is_type_word(p->token.text))
			break;
		base = p->token.text;
		d_advance(p);
	}
	if (w.is_unsigned || w.is_signed || w.is_short || w.longs) {
		if (!type)
			type = sized(p, &w, base ? base : "int", span);
	} else if (!type && base) {
		type = d_type(p->c, base, span);
	}
	if (!type)
		d_syntax_error(p, "a type");
	*word = is_tagged ? NULL : canonical(p, &w, base ? base : "int");
	return type && !d_failed(p) ? type : &type_int32;
}

const struct type *d_take_specifiers(struct parser *p)
{
	const char *word;

	return take_specifiers(p, &word);
}

/* --- declarators --- */

static void wrong_parameter(struct parser *p, const struct d_declarator *one, bool is_function, uint32_t number)
{
	const char *text = arena_printf(
		p->c->arena, "%s prototype may not use parameter of type %s: %s, parameter #%u",
		is_function ? "function" : "array", one->is_array ? "dynamic variable" : d_type_name(p->c, one->type),
		one->name ? one->name : "(anonymous)", number);

	complain(p, "D_DECL_PROTO_TYPE", one->span, text ? text : "", "");
}

/* The parameters of a function, or an array's keys, up to `close`. */
static void parameters(struct parser *p, struct d_declarator *ret, const char *close)
{
	const struct type *keys[16];
	const char **names = arena_array(p->c->arena, const char *, 16);
	struct span span = p->token.span;
	bool is_function = *close == ')', has_void = false;

	if (++p->depth > D_NESTING_MAX)
		d_syntax_error(p, "fewer levels of nesting");
	do {
		struct d_declarator one = {};

		if (d_at(p, close) || d_failed(p))
			break;
		if (d_take(p, "...")) {
			if (!is_function)
				complain(p, "D_DECL_PROTO_VARARGS", span,
					 "array prototype may not use a variable-length argument list", "");
			break;
		}
		if (d_at_word(p, "static") || d_at_word(p, "extern") || d_at_word(p, "self") || d_at_word(p, "this"))
			complain(p, "D_DECL_PARMCLASS", span,
				 "inappropriate storage class for function or associative array parameter", "");
		if (ret->key_count == 16) {
			d_syntax_error(p, "at most 16 keys");
			return;
		}
		if (!d_take_declarator(p, d_take_specifiers(p), &one))
			return;
		if (one.type->kind == TYPE_NONE && is_function && one.name)
			complain(p, "D_DECL_PROTO_NAME", span, "void parameter may not have a name: ", one.name);
		if (one.is_array || (one.type->kind == TYPE_NONE && !is_function) || d_is_floating(one.type))
			wrong_parameter(p, &one, is_function, ret->key_count + 1);
		if (names)
			names[ret->key_count] = one.name;
		has_void |= one.type->kind == TYPE_NONE;
		keys[ret->key_count++] = one.type->kind == TYPE_ARRAY ? type_pointer(p->c->arena, one.type->to)
								      : one.type;
	} while (d_take(p, ","));
	p->depth--;
	d_need(p, close);
	if (has_void && ret->key_count > 1)
		complain(p, "D_DECL_PROTO_VOID", span, "void must be sole parameter", "");
	ret->key_names = names;
	ret->keys = arena_array(p->c->arena, const struct type *, ret->key_count + 1);
	if (ret->keys && ret->key_count)
		memcpy(ret->keys, keys, ret->key_count * sizeof(keys[0]));
}

/* [5][6], whose first [ has been taken; the innermost dimension is the last one. */
static const struct type *dimensions(struct parser *p, const struct type *element)
{
	struct span span = p->token.span;
	int64_t count = 0;

	if (!d_at(p, "]")) {
		struct d_expr *expr = d_expression(p, 1);

		if (d_failed(p))
			return element;
		if (!d_constant(p->c, expr, &count) || count < 0)
			complain(p, "D_DECL_ARRSUB", span,
				 "positive integral constant expression or tuple signature expected as array "
				 "declaration subscript",
				 "");
		else if (count > INT32_MAX)
			complain(p, "D_DECL_ARRBIG", span, "array dimension too big", "");
	}
	d_need(p, "]");
	if (d_at(p, "[") && ++p->depth > D_NESTING_MAX)
		d_syntax_error(p, "fewer dimensions");
	if (d_take(p, "[")) {
		element = dimensions(p, element);
		p->depth--;
	}
	if (d_failed(p))
		return element;
	if (element->kind == TYPE_NONE)
		complain(p, "D_DECL_VOIDOBJ", span, "cannot declare array of void", "");
	if (element->size && (uint64_t)count > UINT32_MAX / element->size)
		complain(p, "D_DECL_ARRBIG", span, "array dimension too big", "");
	return d_failed(p) ? element : type_array(p->c->arena, element, (uint32_t)count);
}

static bool at_tuple(const struct parser *p)
{
	return (p->token.kind == D_NAME && d_is_type_name(p, p->token.text)) || d_at(p, "...");
}

/* (*name)(parameters): a pointer to a function, of which no more is known. */
static void function_pointer(struct parser *p, struct d_declarator *ret)
{
	struct d_declarator ignored = {};

	ret->type = &type_void_pointer;
	while (d_take(p, "*"))
		continue;
	if (p->token.kind == D_NAME) {
		ret->name = p->token.text;
		ret->span = p->token.span;
		d_advance(p);
	}
	if (d_take(p, "["))
		ret->type = dimensions(p, ret->type);
	d_need(p, ")");
	if (d_take(p, "("))
		parameters(p, &ignored, ")");
}

bool d_take_declarator(struct parser *p, const struct type *base, struct d_declarator *ret)
{
	struct d_lexeme next;

	*ret = (struct d_declarator){.type = base, .span = p->token.span};
	while (d_at(p, "*") || take_qualifier(p))
		if (d_take(p, "*"))
			ret->type = type_pointer(p->c->arena, ret->type);
	next = d_ahead(p);
	if (d_at(p, "(") && next.kind == D_OPERATOR && *next.text == '*') {
		d_advance(p);
		function_pointer(p, ret);
		return !d_failed(p);
	}
	if (p->token.kind == D_NAME) {
		ret->name = p->token.text;
		ret->span = p->token.span;
		d_advance(p);
	}
	if (ret->name && strchr(ret->name, '`'))
		complain(p, "D_DECL_SCOPE", ret->span,
			 "D scoping operator may not be used in a declaration name ",
			 arena_printf(p->c->arena, "(%s)", ret->name));
	if (d_take(p, "(")) {
		ret->is_function = true;
		parameters(p, ret, ")");
	} else if (d_take(p, "[")) {
		ret->is_array = at_tuple(p);
		if (ret->is_array)
			parameters(p, ret, "]");
		else
			ret->type = dimensions(p, ret->type);
		/* An associative array of arrays. */
		if (ret->is_array && d_take(p, "["))
			ret->type = dimensions(p, ret->type);
	}
	return !d_failed(p);
}

bool d_take_type(struct parser *p, struct d_type_name *ret)
{
	struct d_declarator one;

	*ret = (struct d_type_name){.span = p->token.span, .type = &type_int32};
	one.type = d_take_specifiers(p);
	if (!d_take_declarator(p, one.type, &one))
		return false;
	if (one.name)
		d_syntax_error(p, "a type");
	ret->type = one.type;
	ret->span.end = p->token.span.begin;
	return !d_failed(p);
}
