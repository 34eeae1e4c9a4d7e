// SPDX-License-Identifier: GPL-2.0-or-later
/* Values: scalars to R0, all others into the frame. */

#include "lang/gen/gen_expression.h"

/* Of a bit field, whose unit is in R0. */
static void take_bits(struct gen *g, const struct type_field *field)
{
	int above = 64 - field->bit_offset - field->bit_size;

	code_alu_imm(g->code, BPF_LSH, R0, above);
	code_alu_imm(g->code, field->type->is_signed ? BPF_ARSH : BPF_RSH, R0, 64 - field->bit_size);
}

static void load_field(struct gen *g, uint32_t at, const struct type_field *field)
{
	gen_frame_load(g, field->type->size, R0, at);
	if (field->bit_size)
		take_bits(g, field);
	else
		code_extend(g->code, R0, field->type->size, field->type->is_signed);
}

/* Is the value of `args`, or of an iterator's `ctx`, a record that lies in the context? */
static bool is_context(const struct node *node)
{
	return node->type->kind == TYPE_POINTER && (node_calls(node, CORE_ARGS) || node_calls(node, CORE_CTX));
}

/*
 * The address of what a field or an index names, in R0; false when it lies in the frame, at *place. Where a record in
 * memory is read only in part, only the part is read. If *place is not 0 before, a field can be written there.
 */
static bool address_of(struct gen *g, const struct node *node, uint32_t *place);

/* Of an array, or of a string, which is one of characters. */
static uint32_t element_size(const struct type *array)
{
	return array->kind == TYPE_STRING ? 1 : array->to->size;
}

void gen_index_fault(struct gen *g, uint32_t size)
{
	label plus = code_label(g->code);

	code_mov(g->code, R0, R1);
	code_jump_if(g->code, BPF_JSGE, R0, 0, plus);
	code_imm(g->code, R0, -1);
	code_alu_imm(g->code, BPF_MUL, R0, (int32_t)size);
	code_bind(g->code, plus);
	code_alu_imm(g->code, BPF_DIV, R0, (int32_t)size);
	gen_fault(g, CORE_FAULT_INDEX);
}

/* R0 is an array's address, R1 how far in the element is. What is outside is read from nowhere, as zeros. */
static void check_bounds(struct gen *g, const struct node *node)
{
	const struct type *array = node->kids[0]->type;
	label inside = code_label(g->code);
	int64_t index;

	if (!array->count || (array->kind == TYPE_ARRAY && node_constant(node->kids[1], &index)))
		return;
	code_jump_if(g->code, BPF_JLE, R1, (int32_t)((array->count - 1) * element_size(array)), inside);
	if (g->clause && !g->in_callback) {
		gen_index_fault(g, element_size(array));
		code_bind(g->code, inside);
		return;
	}
	g->at = node->span;
	gen_warning(g, "Array access out of bounds. This can lead to unexpected results.");
	code_imm(g->code, R0, 0);
	code_imm(g->code, R1, 0);
	code_bind(g->code, inside);
}

/*
 * The same of an element of an array in the context, if its index is a constant. The verifier then knows how far in it
 * is: it allows nothing else from the context.
 */
static bool address_of_constant(struct gen *g, const struct node *node)
{
	const struct node *array = node->kids[0];
	uint32_t offset;
	int64_t index;

	if (array->type->kind != TYPE_ARRAY || array->kind != NODE_FIELD || !is_context(array->kids[0]) ||
	    !node_constant(node->kids[1], &index) || index < 0 || index >= array->type->count ||
	    !address_of(g, array, &offset))
		return false;
	code_alu_imm(g->code, BPF_ADD, R0, (int32_t)index * (int32_t)element_size(array->type));
	return true;
}

/* To the address in R0. What a NULL pointer points to has failed at NULL: a clause tells its address. */
static void add_offset(struct gen *g, uint32_t offset)
{
	label nothing = g->clause ? code_label(g->code) : 0;

	if (g->clause && !offset)
		return;
	if (g->clause)
		code_jump_if(g->code, BPF_JEQ, R0, 0, nothing);
	code_alu_imm(g->code, BPF_ADD, R0, (int32_t)offset);
	if (g->clause)
		code_bind(g->code, nothing);
}

static bool address_of(struct gen *g, const struct node *node, uint32_t *place)
{
	const struct type *of = node->kids[0]->type;
	uint32_t offset = 0;

	if (node->kind == NODE_FIELD && of->kind == TYPE_POINTER) {
		gen_scalar(g, node->kids[0]);
		add_offset(g, node->field->offset);
		return true;
	}
	if (node->kind == NODE_FIELD && of->kind == TYPE_RECORD) {
		if ((node->kids[0]->kind == NODE_FIELD || node->kids[0]->kind == NODE_INDEX) &&
		    address_of(g, node->kids[0], &offset)) {
			add_offset(g, node->field->offset);
			return true;
		}
		if (node->kids[0]->kind == NODE_FIELD || node->kids[0]->kind == NODE_INDEX) {
			*place = offset + node->field->offset;
			return false;
		}
		if (node->kids[0]->kind == NODE_UNARY && node->kids[0]->op == OP_DEREFERENCE) {
			gen_scalar(g, node->kids[0]->kids[0]);
			add_offset(g, node->field->offset);
			return true;
		}
	}
	if (node->kind == NODE_INDEX && of->kind == TYPE_POINTER) {
		gen_operands(g, node->kids[0], node->kids[1]);
		gen_scale(g, R1, of);
		code_alu(g->code, BPF_ADD, R0, R1);
		return true;
	}
	if (node->kind == NODE_INDEX && address_of_constant(g, node))
		return true;
	if (node->kind == NODE_INDEX && (of->kind == TYPE_ARRAY || of->kind == TYPE_STRING)) {
		uint32_t mark = g->used, index = gen_temporary(g, 8), size = element_size(of);
		bool outside = false;

		gen_scalar(g, node->kids[1]);
		code_alu_imm(g->code, BPF_MUL, R0, (int32_t)size);
		gen_frame_store(g, 8, index, R0);
		if (node->kids[0]->kind == NODE_FIELD || node->kids[0]->kind == NODE_INDEX)
			outside = address_of(g, node->kids[0], &offset);
		else
			offset = gen_place(g, node->kids[0]);
		if (outside) {
			gen_frame_load(g, 8, R1, index);
			check_bounds(g, node);
			code_alu(g->code, BPF_ADD, R0, R1);
			g->used = mark;
			return true;
		}
		/* In the frame, at a place that only the program knows: fetched to a fixed one. */
		*place = gen_temporary(g, size);
		gen_zero(g, *place, size);
		gen_frame_load(g, 8, R3, index);
		{
			label out = code_label(g->code);

			if (g->clause && !g->in_callback) {
				label inside = code_label(g->code);

				code_jump_if(g->code, BPF_JLE, R3, (int32_t)(of->size - size), inside);
				code_mov(g->code, R1, R3);
				gen_index_fault(g, size);
				code_bind(g->code, inside);
			} else {
				code_jump_if(g->code, BPF_JGT, R3, (int32_t)(of->size - size), out);
			}
			code_alu(g->code, BPF_ADD, R3, REG_FRAME);
			code_alu_imm(g->code, BPF_ADD, R3, (int32_t)offset);
			gen_frame_address(g, R1, *place);
			code_imm(g->code, R2, size);
			code_call(g->code, BPF_FUNC_probe_read_kernel);
			code_bind(g->code, out);
		}
		return false;
	}
	if (node->kind == NODE_FIELD && of->kind == TYPE_RECORD && node->kids[0]->kind == NODE_CALL &&
	    g->code_of(node->kids[0]->builtin)->field)
		return g->code_of(node->kids[0]->builtin)->field(g, node->kids[0], node->field, place);
	offset = gen_place(g, node->kids[0]);
	*place = offset + (node->field ? node->field->offset : 0);
	return false;
}

/* A field of the probe's arguments that lies in the context itself. */
static bool gen_context_field(struct gen *g, const struct node *node)
{
	const struct type_field *field = node->field;

	if (node->kind != NODE_FIELD || !is_context(node->kids[0]) || field->type->size > 8 ||
	    !type_is_scalar(node->type) || (field->type->size & (field->type->size - 1)))
		return false;
	gen_context_load(g, field->type->size, field->offset);
	code_extend(g->code, R0, field->type->size, field->type->is_signed);
	if (field->type->is_data_loc) {
		/* The offset, below the length (include/trace/stages/stage2_data_offsets.h). */
		code_alu_imm(g->code, BPF_AND, R0, 0xffff);
		code_mov(g->code, R1, REG_CTX);
		code_alu(g->code, BPF_ADD, R1, R0);
		code_mov(g->code, R0, R1);
	}
	return true;
}

static void gen_access(struct gen *g, const struct node *node)
{
	uint32_t mark = g->used, at = 0, size = node->type->size;

	if (gen_context_field(g, node))
		return;
	if (address_of(g, node, &at)) {
		at = gen_temporary(g, 8);
		gen_frame_store_imm(g, 8, at, 0);
		gen_read(g, node->span, at, size);
	}
	if (node->kind == NODE_FIELD && node->field && node->field->bit_size) {
		load_field(g, at, node->field);
	} else {
		gen_frame_load(g, size, R0, at);
		code_extend(g->code, R0, size, node->type->is_signed);
	}
	g->used = mark;
}

static void gen_block_value(struct gen *g, const struct node *node, const struct type *type, uint32_t offset)
{
	uint32_t mark = g->used, i;

	for (i = 0; i + 1 < node->kid_count; i++)
		gen_statement(g, node->kids[i]);
	if (node->kid_count && type)
		gen_into(g, node->kids[node->kid_count - 1], type, offset);
	else if (node->kid_count)
		gen_scalar(g, node->kids[node->kid_count - 1]);
	g->used = mark;
}

/* A string is true when it is not empty. */
static void gen_cast(struct gen *g, const struct node *node)
{
	const struct node *operand = node->kids[0];
	uint32_t mark = g->used, at;

	if (type_is_scalar(operand->type)) {
		gen_scalar(g, operand);
	} else {
		at = gen_place(g, operand);
		gen_frame_load(g, node->type->size < operand->type->size ? node->type->size : operand->type->size, R0,
			       at);
	}
	if (node->type->kind == TYPE_BOOL) {
		label yes = code_label(g->code);

		code_jump_if(g->code, BPF_JNE, R0, 0, yes);
		gen_bool_result(g, yes);
	} else {
		code_extend(g->code, R0, node->type->size, node->type->is_signed);
	}
	g->used = mark;
}

void gen_scalar(struct gen *g, const struct node *node)
{
	if (g->failed)
		return;
	switch (node->kind) {
	case NODE_INT:
	case NODE_BOOL:
		code_imm(g->code, R0, (int64_t)node->value);
		break;
	case NODE_VARIABLE:
		gen_simple(g, R0, node);
		break;
	case NODE_MAP:
		gen_map_value(g, node);
		break;
	case NODE_UNARY:
		gen_unary(g, node);
		break;
	case NODE_BINARY:
		gen_binary(g, node);
		break;
	case NODE_TERNARY:
		gen_ternary(g, node, 0);
		break;
	case NODE_STEP:
		gen_step(g, node);
		break;
	case NODE_FIELD:
	case NODE_INDEX:
		gen_access(g, node);
		break;
	case NODE_CAST:
		gen_cast(g, node);
		break;
	case NODE_BLOCK_VALUE:
		gen_block_value(g, node, NULL, 0);
		break;
	case NODE_CALL:
		if (g->code_of(node->builtin)->scalar)
			g->code_of(node->builtin)->scalar(g, node);
		break;
	default:
		gen_statement(g, node);
	}
}

/* --- values in memory --- */

void gen_convert(struct gen *g, const struct type *type, uint32_t from, const struct type *to_type, uint32_t to)
{
	uint32_t i;

	if (type_is_scalar(to_type)) {
		gen_frame_load(g, type->size, R0, from);
		code_extend(g->code, R0, type->size, type->is_signed);
		gen_frame_store(g, to_type->size, to, R0);
	} else if (to_type->kind == TYPE_TUPLE && type->kind == TYPE_TUPLE && !type_equal(type, to_type)) {
		gen_zero(g, to, to_type->size);
		for (i = 0; i < type->field_count; i++) {
			const struct type_field *field = &to_type->fields[type_element(type, i, to_type)];

			gen_convert(g, type->fields[i].type, from + type->fields[i].offset, field->type,
				    to + field->offset);
		}
	} else {
		uint32_t size = type->size < to_type->size ? type->size : to_type->size;

		gen_copy(g, to, from, size);
		if (size < to_type->size)
			gen_zero(g, to + size, to_type->size - size);
		else if (to_type->kind == TYPE_STRING && type->size > to_type->size)
			gen_frame_store_imm(g, 1, to + to_type->size - 1, 0);
	}
}

static void access_into(struct gen *g, const struct node *node, uint32_t offset)
{
	const struct node *of = node->kids[0];
	uint32_t mark = g->used, at = 0, size = node->type->size;

	if (node->kind == NODE_FIELD && node->field && node->field->type->size <= size)
		at = offset;
	/* A char array that is a string here may be shorter than whole words. */
	if (node->field && node->field->type->kind == TYPE_ARRAY && node->type->kind == TYPE_STRING)
		size = node->field->type->size;
	if (node->type->kind == TYPE_STRING && size < node->type->size)
		gen_zero(g, offset, node->type->size);
	if (node->kind == NODE_FIELD && is_context(of)) {
		gen_frame_address(g, R1, offset);
		code_imm(g->code, R2, size);
		code_mov(g->code, R3, REG_CTX);
		code_alu_imm(g->code, BPF_ADD, R3, (int32_t)node->field->offset);
		code_call(g->code, BPF_FUNC_probe_read_kernel);
	} else if (address_of(g, node, &at)) {
		gen_read(g, node->span, offset, size);
	} else {
		gen_copy(g, offset, at, size);
	}
	if (node->type->kind == TYPE_STRING && !(node->field && node->field->type->kind == TYPE_STRING)) {
		/* What stands behind a terminator in a char array is no part of the string. */
		gen_frame_address(g, R1, offset);
		code_imm(g->code, R2, node->type->size);
		code_call_runtime(g->code, "rt_trim");
	}
	g->used = mark;
}

static void cast_into(struct gen *g, const struct node *node, uint32_t offset)
{
	const struct node *operand = node->kids[0];
	uint32_t size = node->type->size, mark = g->used;

	if (type_is_scalar(operand->type)) {
		uint32_t at = gen_temporary(g, 8);

		gen_scalar(g, operand);
		gen_frame_store(g, 8, at, R0);
		gen_zero(g, offset, size);
		gen_copy(g, offset, at, size < 8 ? size : 8);
	} else {
		gen_convert(g, operand->type, gen_place(g, operand), node->type, offset);
	}
	g->used = mark;
}

static void tuple_into(struct gen *g, const struct node *node, const struct type *type, uint32_t offset)
{
	uint32_t i;

	/* What lies between the elements must be the same in equal keys. */
	gen_zero(g, offset, type->size);
	for (i = 0; i < node->kid_count; i++) {
		const struct type_field *field = &type->fields[type_element(node->type, i, type)];

		gen_into(g, node->kids[i], field->type, offset + field->offset);
	}
}

static bool writes_own_size(const struct node *node)
{
	return node->kind == NODE_STRING || node->kind == NODE_TUPLE || node->kind == NODE_TERNARY ||
	       node->kind == NODE_BLOCK_VALUE;
}

void gen_into(struct gen *g, const struct node *node, const struct type *type, uint32_t offset)
{
	uint32_t mark = g->used, at;

	if (g->failed)
		return;
	if (type_is_scalar(type)) {
		gen_scalar(g, node);
		gen_frame_store(g, type->size, offset, R0);
		return;
	}
	if (!writes_own_size(node) && (node->kind == NODE_VARIABLE || !type_equal(node->type, type))) {
		at = gen_place(g, node);
		gen_convert(g, node->type, at, type, offset);
		g->used = mark;
		return;
	}
	switch (node->kind) {
	case NODE_STRING:
		gen_text(g, node->text, offset, type->size);
		break;
	case NODE_TUPLE:
		tuple_into(g, node, type, offset);
		break;
	case NODE_TERNARY: {
		struct node copy = *node;

		copy.type = type;
		gen_ternary(g, &copy, offset);
		break;
	}
	case NODE_BLOCK_VALUE:
		gen_block_value(g, node, type, offset);
		break;
	case NODE_MAP:
		gen_map_into(g, node, offset);
		break;
	case NODE_FIELD:
	case NODE_INDEX:
		access_into(g, node, offset);
		break;
	case NODE_CAST:
		cast_into(g, node, offset);
		break;
	case NODE_UNARY: /* *pointer to a record */
		gen_scalar(g, node->kids[0]);
		gen_read(g, node->span, offset, type->size);
		break;
	case NODE_CALL:
		if (g->code_of(node->builtin)->place)
			g->code_of(node->builtin)->place(g, node, offset);
		break;
	default:
		break;
	}
	g->used = mark;
}

uint32_t gen_place(struct gen *g, const struct node *node)
{
	uint32_t offset;

	if (node->kind == NODE_VARIABLE)
		return node->symbol->offset;
	if (node->kind == NODE_FIELD && node->kids[0]->type->kind == TYPE_TUPLE && !g->failed)
		return gen_place(g, node->kids[0]) + node->field->offset;
	offset = gen_temporary(g, (node->type->size + 7) & ~7u);
	if (node->kind == NODE_INT || node->kind == NODE_BOOL || type_is_scalar(node->type))
		gen_into(g, node, node->type, offset);
	else
		gen_into(g, node, node->type, offset);
	return offset;
}
