// SPDX-License-Identifier: GPL-2.0-or-later
/* The records that are sent. What of them may be large is copied behind what is there already, as far as it goes. */
#include "lang/gen/gen.h"

#include "lang/core/record.h"

void gen_send(struct gen *g, uint32_t offset, uint32_t size)
{
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, size);
	code_call_runtime(g->code, "rt_send");
}

uint32_t gen_record(struct gen *g, uint32_t site, uint32_t size)
{
	uint32_t offset = gen_temporary(g, sizeof(struct rt_event) + size);

	gen_frame_store_imm(g, 4, offset, RT_EVENT_SITE);
	gen_frame_store_imm(g, 4, offset + 4, (int32_t)site);
	return offset;
}

void gen_arguments_begin(struct gen *g, uint32_t site, struct gen_arguments *ret)
{
	const struct type *types = g->c->sites.at[site].arguments;
	uint32_t size = types->size, i;

	*ret = (struct gen_arguments){.types = types, .is_packed = record_packs(types)};
	if (ret->is_packed) {
		size = record_place(types, types->field_count);
		ret->most = size + (uint32_t)sizeof(struct rt_event);
		for (i = 0; i < types->field_count; i++)
			if (record_packs(types->fields[i].type))
				size += record_most(types->fields[i].type);
		ret->end = gen_temporary(g, 8);
		gen_frame_store_imm(g, 8, ret->end, (int32_t)ret->most);
	}
	ret->record = gen_record(g, site, size);
}

uint32_t gen_arguments_place(const struct gen_arguments *arguments, uint32_t index)
{
	return arguments->record + (uint32_t)sizeof(struct rt_event) + record_place(arguments->types, index);
}

/* R1 the record, R2 how long it is, R3 how long it is at most. */
static void load_record(struct gen *g, const struct gen_arguments *arguments)
{
	gen_frame_load(g, 8, R2, arguments->end);
	gen_frame_address(g, R1, arguments->record);
	code_imm(g->code, R3, arguments->most);
}

static void pack(struct gen *g, struct gen_arguments *arguments, const struct type *type, uint32_t from)
{
	bool is_packed = record_packs(type);
	uint32_t i;

	if (is_packed && type->kind == TYPE_TUPLE) {
		for (i = 0; i < type->field_count; i++)
			pack(g, arguments, type->fields[i].type, from + type->fields[i].offset);
		return;
	}
	load_record(g, arguments);
	gen_frame_address(g, R4, from);
	code_imm(g->code, R5, record_most(type));
	code_call_runtime(g->code, !is_packed                  ? "rt_pack"
				   : type->kind == TYPE_STRING ? "rt_pack_text"
							       : "rt_pack_buffer");
	gen_frame_store(g, 8, arguments->end, R0);
	arguments->most += record_most(type);
}

void gen_arguments_add(struct gen *g, struct gen_arguments *arguments, uint32_t index, const struct node *node)
{
	const struct type *type = arguments->types->fields[index].type;
	uint32_t mark = g->used, from;

	if (!record_packs(type)) {
		gen_into(g, node, type, gen_arguments_place(arguments, index));
		return;
	}
	if (node->kind == NODE_VARIABLE && type_equal(node->type, type)) {
		from = gen_place(g, node);
	} else {
		from = gen_temporary(g, type->size);
		gen_into(g, node, type, from);
	}
	pack(g, arguments, type, from);
	g->used = mark;
}

void gen_arguments_send(struct gen *g, const struct gen_arguments *arguments)
{
	if (!arguments->is_packed) {
		gen_send(g, arguments->record, (uint32_t)sizeof(struct rt_event) + arguments->types->size);
		return;
	}
	load_record(g, arguments);
	code_call_runtime(g->code, "rt_send_packed");
}
