// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/parameters.h"

#include <dwarf.h>
#include <string.h>

#define MEMBERS_MAX 4096 /* looked at to classify one type */
#define DEPTH_MAX   16

/* --- classes (psABI AMD64 1.0, 3.2.3) --- */

struct classifier {
	struct argument_classes classes;
	uint64_t base; /* where the type at hand is in the whole */
	unsigned int depth;
	uint32_t left;
	bool is_cplusplus;
};

static enum argument_class merge(enum argument_class a, enum argument_class b)
{
	if (a == b || b == CLASS_NONE)
		return a;
	if (a == CLASS_NONE)
		return b;
	if (a == CLASS_MEMORY || b == CLASS_MEMORY)
		return CLASS_MEMORY;
	return a == CLASS_INTEGER || b == CLASS_INTEGER ? CLASS_INTEGER : CLASS_SSE;
}

static void put(struct classifier *to, uint64_t offset, uint64_t size, enum argument_class class)
{
	uint64_t i;

	if (!size)
		return;
	for (i = offset / 8; i <= (offset + size - 1) / 8 && i < 2; i++)
		to->classes.at[i] = merge(to->classes.at[i], class);
}

static void classify(struct classifier *to, Dwarf_Die *type, uint64_t offset);

/* A scalar; one that is not aligned takes the whole to memory. */
static void put_scalar(struct classifier *to, uint64_t offset, uint64_t size, uint32_t align, enum argument_class class)
{
	if (align > to->classes.align)
		to->classes.align = align;
	put(to, offset, size, align && offset % align ? CLASS_MEMORY : class);
}

static void classify_base(struct classifier *to, Dwarf_Die *type, uint64_t offset)
{
	const char *name = die_name(type);
	uint64_t encoding = 0, size = 0;

	die_number(type, DW_AT_encoding, &encoding);
	if (!die_size(type, &size) || size > 32) {
		to->classes.is_unknown = true;
		return;
	}
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_decimal_float:
		/* long double is x87's, which is passed in memory; __float128 is SSE's. */
		if (size > 8 && name && strstr(name, "long double"))
			put_scalar(to, offset, size, 16, CLASS_MEMORY);
		else
			put_scalar(to, offset, size, (uint32_t)size, CLASS_SSE);
		return;
	case DW_ATE_complex_float:
		put_scalar(to, offset, size, (uint32_t)size / 2, size > 16 ? CLASS_MEMORY : CLASS_SSE);
		return;
	default:
		put_scalar(to, offset, size, (uint32_t)size, size > 16 ? CLASS_MEMORY : CLASS_INTEGER);
	}
}

static bool classify_member(void *context, Dwarf_Die *child)
{
	struct classifier *to = context;
	int tag = dwarf_tag(child);
	uint64_t offset = 0, bits, bit;
	Dwarf_Die type;

	if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
		return true;
	if (die_flag(child, DW_AT_external) || die_flag(child, DW_AT_declaration))
		return true; /* static */
	if (!to->left || !die_type(child, &type)) {
		to->classes.is_unknown = true;
		return false;
	}
	to->left--;
	die_number(child, DW_AT_data_member_location, &offset);
	if (die_number(child, DW_AT_bit_size, &bits)) {
		if (die_number(child, DW_AT_data_bit_offset, &bit))
			offset = bit / 8;
		put(to, to->base + offset, (bits + 7) / 8, CLASS_INTEGER);
		return true;
	}
	classify(to, &type, to->base + offset);
	return !to->classes.is_unknown;
}

static void classify_record(struct classifier *to, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
	uint64_t convention = 0, align, base = to->base;

	/* A class whose copying is a function of its own is passed by the address of a copy. */
	if (to->is_cplusplus && !to->depth) {
		if (!die_number(type, DW_AT_calling_convention, &convention))
			to->classes.is_unknown = true;
		to->classes.is_reference = convention == DW_CC_pass_by_reference;
		if (to->classes.is_reference || to->classes.is_unknown)
			return;
	}
	if (die_number(type, DW_AT_alignment, &align) && align <= 4096 && align > to->classes.align)
		to->classes.align = (uint32_t)align;
	if (size > 16 && !to->depth)
		put(to, 0, 16, CLASS_MEMORY); /* go on for the alignment */
	to->base = offset;
	to->depth++;
	die_children(type, classify_member, to);
	to->depth--;
	to->base = base;
}

static void classify_array(struct classifier *to, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
	Dwarf_Die element;
	uint64_t step, at;

	if (die_flag(type, DW_AT_GNU_vector)) {
		put_scalar(to, offset, size, (uint32_t)size, CLASS_SSE);
		return;
	}
	if (!die_type(type, &element) || !die_size(&element, &step) || !step) {
		to->classes.is_unknown = true;
		return;
	}
	to->depth++;
	for (at = 0; at < size && at < 16 && !to->classes.is_unknown; at += step)
		classify(to, &element, offset + at);
	to->depth--;
}

static void classify(struct classifier *to, Dwarf_Die *type, uint64_t offset)
{
	uint64_t size = 0;
	Dwarf_Die is;

	if (to->depth > DEPTH_MAX || !die_peel(type, &is)) {
		to->classes.is_unknown = true;
		return;
	}
	if (!die_size(&is, &size) && dwarf_tag(&is) != DW_TAG_structure_type) {
		to->classes.is_unknown = true;
		return;
	}
	switch (dwarf_tag(&is)) {
	case DW_TAG_base_type:
		classify_base(to, &is, offset);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_enumeration_type:
		put_scalar(to, offset, size, (uint32_t)size, CLASS_INTEGER);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		classify_record(to, &is, offset, size);
		return;
	case DW_TAG_array_type:
		classify_array(to, &is, offset, size);
		return;
	default:
		to->classes.is_unknown = true;
	}
}

struct argument_classes argument_classify(Dwarf_Die *type, bool is_cplusplus)
{
	struct classifier to = {.left = MEMBERS_MAX, .is_cplusplus = is_cplusplus};
	uint64_t size;

	classify(&to, type, 0);
	/* A class without members has one byte, and is not passed; compilers leave members out of what has more. */
	if (to.classes.at[0] == CLASS_NONE && !to.classes.is_reference && die_size(type, &size) &&
	    size > (is_cplusplus ? 1 : 0))
		to.classes.is_unknown = true;
	if (to.classes.at[0] == CLASS_MEMORY || to.classes.at[1] == CLASS_MEMORY)
		to.classes.at[0] = to.classes.at[1] = CLASS_MEMORY;
	return to.classes;
}

/* --- the calling convention --- */

struct convention {
	unsigned int general, sse; /* registers taken */
	uint32_t stack;            /* bytes taken, from the stack pointer on */
	bool is_cplusplus;
	bool is_lost; /* of a parameter before it is not known what it took */
};

static void place_on_stack(struct convention *state, struct formal_parameter *ret, uint32_t align)
{
	align = align > 8 ? align : 8;
	/* The stack is aligned above the return address. */
	state->stack = ((state->stack - 8 + align - 1) & ~(align - 1)) + 8;
	ret->place = PLACE_STACK;
	ret->offset = state->stack;
	if (ret->size > 1u << 20)
		state->is_lost = true;
	else
		state->stack += ((uint32_t)ret->size + 7) & ~7u;
}

static void missing(struct formal_parameter *parameter, const char *why)
{
	parameter->place = PLACE_MISSING;
	parameter->missing = why;
}

#define WHY_FLOAT     "is passed in a floating-point register, which BPF programs cannot read"
#define WHY_OPTIMISED "was optimised out: it has no value where the function begins"
#define WHY_LOST      "has no place in the debug information: it was optimised out, or its compiler lost sight of it"
#define WHY_UNKNOWN   "is passed in a way that the debug information does not tell"
#define WHY_LANGUAGE  "is passed as its language likes, and the debug information does not tell how"
#define WHY_ALTERED   "has no place that is known where the function begins: the optimiser altered its parameters"

static void place_by_convention(struct convention *state, struct formal_parameter *ret)
{
	static const uint8_t general[] = {DWARF_RDI, DWARF_RSI, DWARF_RDX, DWARF_RCX, DWARF_R8, DWARF_R9};
	struct argument_classes classes = argument_classify(&ret->type, state->is_cplusplus);
	unsigned int integers = 0, floats = 0, i;

	if (classes.is_unknown && ret->passed == PASSED_VALUE)
		classes = argument_classify(&ret->type, false);
	else if (classes.is_unknown && ret->passed == PASSED_REFERENCE)
		classes = (struct argument_classes){.is_reference = true};
	if (classes.is_unknown)
		state->is_lost = true;
	if (state->is_lost) {
		missing(ret, WHY_UNKNOWN);
		return;
	}
	if (classes.is_reference) {
		classes = (struct argument_classes){.at = {CLASS_INTEGER}};
		ret->is_reference = true;
	}
	for (i = 0; i < 2; i++) {
		integers += classes.at[i] == CLASS_INTEGER;
		floats += classes.at[i] == CLASS_SSE;
	}
	/* A vector, or __float128, takes one register for both halves. */
	if (floats == 2 && classes.align >= 16)
		floats = 1;
	if (!integers && !floats && classes.at[0] != CLASS_MEMORY) {
		missing(ret, "has no bytes");
		return;
	}
	if (classes.at[0] == CLASS_MEMORY || state->general + integers > 6 || state->sse + floats > 8) {
		place_on_stack(state, ret, classes.align);
		return;
	}
	ret->place = PLACE_REGISTERS;
	for (i = 0; i < integers; i++)
		ret->registers[ret->register_count++] = general[state->general++];
	state->sse += floats;
	if (floats)
		missing(ret, WHY_FLOAT);
}

/* --- DWARF's locations --- */

/*
 * ANSWER_PARTS: it says of which registers some bits of it can be taken. An optimiser that has taken a struct to pieces
 * no longer speaks of those that nobody uses; where the registers that it names are those of the calling convention,
 * all of it is there.
 */
#define ARGUMENT_REGISTERS                                                                                             \
	(1u << DWARF_RDI | 1u << DWARF_RSI | 1u << DWARF_RDX | 1u << DWARF_RCX | 1u << DWARF_R8 | 1u << DWARF_R9)

enum answer { ANSWER_NONE, ANSWER_FRAME, ANSWER_GONE, ANSWER_PARTS, ANSWER_PLACE };

static bool is_list(Dwarf_Attribute *attribute)
{
	switch (dwarf_whatform(attribute)) {
	case DW_FORM_sec_offset:
	case DW_FORM_loclistx:
	case DW_FORM_data4:
	case DW_FORM_data8:
		return true;
	default:
		return false;
	}
}

/* Is the frame base the address above the return address? */
static bool is_cfa_based(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) &&
	       !dwarf_getlocation(&attribute, &ops, &count) && count == 1 && ops[0].atom == DW_OP_call_frame_cfa;
}

static bool register_of(const Dwarf_Op *op, unsigned int *ret)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx && op->number < 256)
		*ret = (unsigned int)op->number;
	else
		return false;
	return true;
}

static enum answer take_registers(const Dwarf_Op *ops, size_t count, struct formal_parameter *ret)
{
	uint64_t at = 0;
	size_t i;

	ret->register_count = 0;
	for (i = 0; i < count; i++) {
		bool has_piece = i + 1 < count && ops[i + 1].atom == DW_OP_piece;
		uint64_t size = has_piece ? ops[i + 1].number : ret->size - at;
		unsigned int number;

		if (!register_of(&ops[i], &number))
			return ANSWER_GONE; /* a part of it has no place, or is a constant */
		if (number >= DWARF_XMM0 && number <= DWARF_XMM15) {
			missing(ret, WHY_FLOAT);
			return ANSWER_PLACE;
		}
		if (number >= DWARF_GENERAL || ret->register_count == 2 || at % 8 || (has_piece && size > 8))
			return ANSWER_GONE;
		ret->registers[ret->register_count++] = (uint8_t)number;
		at += size;
		i += has_piece;
	}
	ret->place = PLACE_REGISTERS;
	return at >= ret->size && ret->size <= 8ull * ret->register_count ? ANSWER_PLACE : ANSWER_GONE;
}

/* Does the operation only take bits out of what is there? */
static bool only_extracts(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return true;
	switch (op->atom) {
	case DW_OP_piece:
	case DW_OP_stack_value:
	case DW_OP_convert:
	case DW_OP_GNU_convert:
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_and:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_shl:
		return true;
	default:
		return false;
	}
}

/* The general registers of whose bits it is made, a bit each; bit 31: another one. 0: it is made of something else. */
static uint32_t named_registers(const Dwarf_Op *ops, size_t count)
{
	uint32_t named = 0;
	unsigned int number;
	size_t i;

	for (i = 0; i < count; i++) {
		if (only_extracts(&ops[i]))
			continue;
		if (ops[i].atom >= DW_OP_breg0 && ops[i].atom <= DW_OP_breg31 && !ops[i].number)
			number = ops[i].atom - DW_OP_breg0;
		else if (!register_of(&ops[i], &number))
			return 0;
		named |= 1u << (number < DWARF_GENERAL ? number : 31);
	}
	return named;
}

static enum answer by_location(Dwarf_Die *function, Dwarf_Die *die, uint64_t vaddr, struct formal_parameter *ret,
			       uint32_t *named)
{
	enum answer answer;
	Dwarf_Attribute attribute;
	unsigned int number;
	Dwarf_Op *ops;
	size_t count;
	bool list;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute))
		return ANSWER_NONE;
	list = is_list(&attribute);
	ret->passed = PASSED_VALUE;
	if (dwarf_getlocation_addr(&attribute, vaddr, &ops, &count, 1) != 1 || !count)
		return ANSWER_GONE;
	if (register_of(&ops[0], &number)) {
		answer = take_registers(ops, count, ret);
		if (answer == ANSWER_PLACE)
			return answer;
	}
	if (ops[count - 1].atom == DW_OP_stack_value || ops[count - 1].atom == DW_OP_piece)
		*named = named_registers(ops, count);
	if (*named)
		return ANSWER_PARTS;
	switch (ops[0].atom) {
	case DW_OP_fbreg:
		if (count == 2 && ops[1].atom == DW_OP_deref)
			ret->passed = PASSED_REFERENCE;
		if (count == 1 && (int64_t)ops[0].number >= 0 && ops[0].number < 1u << 20 && is_cfa_based(function)) {
			ret->place = PLACE_STACK;
			ret->offset = (uint32_t)ops[0].number + 8;
			return ANSWER_PLACE;
		}
		return ANSWER_FRAME;
	case DW_OP_breg7:
		if (list && count == 1 && (int64_t)ops[0].number >= 8 && ops[0].number < 1u << 20) {
			ret->place = PLACE_STACK;
			ret->offset = (uint32_t)ops[0].number;
			return ANSWER_PLACE;
		}
		return ANSWER_FRAME;
	default:
		if (ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31 ||
		    (count > 1 && ops[count - 1].atom == DW_OP_stack_value))
			return ANSWER_GONE;
		number = ops[0].atom - DW_OP_breg0;
		if (count == 1 && !ops[0].number && (ARGUMENT_REGISTERS >> number & 1)) {
			/* Where this register points to. */
			ret->passed = PASSED_REFERENCE;
			ret->is_reference = true;
			ret->place = PLACE_REGISTERS;
			ret->registers[ret->register_count++] = (uint8_t)number;
			return ANSWER_PLACE;
		}
		return ANSWER_FRAME;
	}
}

/* --- all parameters --- */

struct gathering {
	Dwarf_Die *function;
	uint64_t vaddr;
	struct formal_parameter *at;
	enum answer answers[PARAMETERS_MAX];
	uint32_t named[PARAMETERS_MAX]; /* ANSWER_PARTS: the registers */
	size_t count;
	bool is_named; /* there are no locations to be asked for */
	bool is_short; /* one has no location at all */
};

static bool gather(void *context, Dwarf_Die *child)
{
	struct gathering *g = context;
	struct formal_parameter *parameter = &g->at[g->count];

	/* Go has its results there, too. */
	if (dwarf_tag(child) != DW_TAG_formal_parameter || die_flag(child, DW_AT_variable_parameter))
		return true;
	*parameter = (struct formal_parameter){.name = die_name(child)};
	parameter->has_type = die_type(child, &parameter->type) && die_size(&parameter->type, &parameter->size);
	g->answers[g->count] = parameter->has_type
				       ? by_location(g->function, child, g->vaddr, parameter, &g->named[g->count])
				       : ANSWER_NONE;
	if (g->is_named && parameter->has_type)
		g->answers[g->count] = ANSWER_FRAME;
	g->is_short |= g->answers[g->count] == ANSWER_NONE;
	return ++g->count < PARAMETERS_MAX;
}

static bool count_parameter(void *context, Dwarf_Die *child)
{
	size_t *count = context;

	*count += dwarf_tag(child) == DW_TAG_formal_parameter && !die_flag(child, DW_AT_variable_parameter);
	return *count < PARAMETERS_MAX;
}

/* Of the function as written, where this is an instance of it. */
static size_t count_original(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die original;
	size_t count = 0;

	if (dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attribute), &original))
		die_children(&original, count_parameter, &count);
	return count;
}

enum family { FAMILY_OTHER, FAMILY_C, FAMILY_CPLUSPLUS };

static enum family family_of(struct debug_unit *unit)
{
	uint64_t language = 0;

	die_number(&unit->die, DW_AT_language, &language);
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_ObjC:
	case 0x2c: /* DW_LANG_C17, DW_LANG_C23: in dwarfstd.org's list since DWARF 5 */
	case 0x3e:
		return FAMILY_C;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_ObjC_plus_plus:
	case 0x2a: /* DW_LANG_C_plus_plus_17, _20, _23 */
	case 0x2b:
	case 0x3a:
		return FAMILY_CPLUSPLUS;
	default:
		return FAMILY_OTHER;
	}
}

/* Where the result goes to memory, its address is the first parameter. */
static void place_result(struct convention *state, Dwarf_Die *function)
{
	struct argument_classes classes;
	uint64_t size;
	Dwarf_Die type;

	if (!die_type(function, &type))
		return;
	classes = argument_classify(&type, state->is_cplusplus);
	if (classes.is_unknown && die_size(&type, &size) && size > 16)
		classes.is_reference = true;
	else if (classes.is_unknown)
		state->is_lost = true;
	/* x87's long double comes back in a register of its own. */
	if (classes.is_reference ||
	    (classes.at[0] == CLASS_MEMORY && die_peel(&type, &type) && dwarf_tag(&type) != DW_TAG_base_type))
		state->general++;
}

/* Is all that DWARF says of the parts what the convention says of the whole? */
static bool agrees(uint32_t named, const struct formal_parameter *by_rule)
{
	uint32_t expected = 0;
	uint8_t i;

	for (i = 0; by_rule->place == PLACE_REGISTERS && i < by_rule->register_count; i++)
		expected |= 1u << by_rule->registers[i];
	return !(named & ~expected);
}

size_t debug_info_parameters(struct debug_unit *unit, Dwarf_Die *function, uint64_t vaddr, enum parameters_of of,
			     struct formal_parameter ret[PARAMETERS_MAX])
{
	struct gathering g = {.function = function, .vaddr = vaddr, .at = ret, .is_named = of == PARAMETERS_OF_NAME};
	enum family family = family_of(unit);
	struct convention state = {.stack = 8, .is_cplusplus = family == FAMILY_CPLUSPLUS};
	bool is_clone = of == PARAMETERS_OF_CLONE;
	uint64_t convention = 0;
	size_t i;

	die_children(function, gather, &g);
	place_result(&state, function);
	g.is_short |= count_original(function) > g.count;
	die_number(function, DW_AT_calling_convention, &convention);
	is_clone |= convention == DW_CC_nocall || g.is_short;
	for (i = 0; i < g.count; i++) {
		struct formal_parameter by_rule = ret[i];

		if (!ret[i].has_type) {
			state.is_lost = true;
			missing(&ret[i], WHY_UNKNOWN);
			continue;
		}
		by_rule.place = PLACE_MISSING;
		by_rule.register_count = 0;
		place_by_convention(&state, &by_rule);
		if (g.answers[i] == ANSWER_PLACE)
			continue;
		if (by_rule.place == PLACE_MISSING && by_rule.missing && g.answers[i] == ANSWER_PARTS)
			missing(&ret[i], by_rule.missing);
		else if (g.answers[i] == ANSWER_NONE)
			missing(&ret[i], WHY_LOST);
		else if (g.answers[i] == ANSWER_GONE || (g.answers[i] == ANSWER_PARTS && !agrees(g.named[i], &by_rule)))
			missing(&ret[i], WHY_OPTIMISED);
		else if (family == FAMILY_OTHER)
			missing(&ret[i], WHY_LANGUAGE);
		else if (is_clone)
			missing(&ret[i], WHY_ALTERED);
		else
			ret[i] = by_rule;
	}
	return g.count;
}
