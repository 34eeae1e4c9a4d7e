// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code for Python's probes. It puts the data of the place into a struct rt_python in the frame, with the registers.
 * From that the runtime library finds out whether this is an event (rt_python.bpf.c). Strings are read only when the
 * script asks for them.
 */
#include "lang/builtin/python.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "lang/builtin/builtin.h"
#include "lang/builtin/probe.h"
#include "lang/provider/python.h"
#include "lang/rt/python.h"

#define AT(member) (g->begun + (uint32_t)offsetof(struct rt_python, member))

static const struct python_probe *probe_of(const struct gen *g)
{
	return compiler_attach(g->c)->own;
}

static uint64_t opcodes_of(const struct python_site *site)
{
	uint64_t ret = 0;
	uint32_t i;

	for (i = 0; i < PYTHON_SITE_OPCODES; i++)
		ret |= (uint64_t)site->opcodes[i < site->opcode_count ? i : 0] << 8 * i;
	return ret;
}

static uint32_t flags_of(const struct python_site *site)
{
	return (site->frame.kind == PYTHON_ON_STACK ? RT_PYTHON_FRAME_MEMORY : 0) |
	       (site->instruction.kind == PYTHON_ON_STACK ? RT_PYTHON_INSTRUCTION_MEMORY : 0) |
	       (site->tstate.kind == PYTHON_ON_STACK ? RT_PYTHON_TSTATE_MEMORY : 0) |
	       (site->flag.kind == PYTHON_ON_STACK ? RT_PYTHON_FLAG_MEMORY : 0) |
	       (site->instruction.kind == PYTHON_NOWHERE ? RT_PYTHON_INSTRUCTION_OF_FRAME : 0) |
	       (!site->again			  ? 0
		: site->kind >= PYTHON_SITE_LINE ? RT_PYTHON_CHECK
						 : RT_PYTHON_AGAIN) | (site->after ? RT_PYTHON_AFTER : 0) |
	       (site->is_compared ? RT_PYTHON_COMPARED : 0);
}

/* Where 3.6 to 3.10 have curexc_type: behind tracing, use_tracing (3.10: cframe) and four pointers. */
static int32_t exception_offset(const struct py_layout *layout)
{
	return ((layout->tstate_tracing + 8 + 7) & ~7) + 4 * 8;
}

/* Which word of a string's head, as rt/python.h says, has the length. */
static int32_t text_length(const struct py_layout *layout)
{
	int32_t size = layout->unicode_ascii_data - layout->unicode_length;

	if (layout->unicode_state != layout->unicode_length + 16 || (size != 24 && size != 32))
		return RT_PYTHON_UNKNOWN;
	return size == 24;
}

static void store_layout(struct gen *g, const struct python_probe *probe)
{
	const struct py_layout *layout = &probe->layout;

	gen_frame_store_imm(g, 4, AT(version), layout->version);
	gen_frame_store_imm(g, 4, AT(frame_code), layout->frame_code);
	gen_frame_store_imm(g, 4, AT(frame_lasti), layout->frame_lasti);
	gen_frame_store_imm(g, 4, AT(frame_stack), layout->frame_stack);
	gen_frame_store_imm(g, 4, AT(code_tag), layout->code_tag_mask);
	gen_frame_store_imm(g, 4, AT(code_bytecode), layout->code_bytecode);
	gen_frame_store_imm(g, 4, AT(code_firstlineno), layout->code_firstlineno);
	gen_frame_store_imm(g, 4, AT(code_linetable), layout->code_linetable);
	gen_frame_store_imm(g, 4, AT(bytes_size), layout->bytes_size);
	gen_frame_store_imm(g, 4, AT(bytes_data), layout->bytes_data);
	gen_frame_store_imm(g, 4, AT(code_name), layout->code_name);
	gen_frame_store_imm(g, 4, AT(code_filename), layout->code_filename);
	gen_frame_store_imm(g, 4, AT(frame_back), layout->frame_back);
	gen_frame_store_imm(g, 4, AT(frame_locals), probe->objects.frame_locals);
	gen_frame_store_imm(g, 4, AT(value_tag), probe->objects.value_tag_mask);
	gen_frame_store_imm(g, 4, AT(code_names), probe->objects.code_names);
	gen_frame_store_imm(g, 4, AT(tuple_items), probe->objects.tuple_items);
	gen_frame_store_imm(g, 4, AT(code_kinds), probe->objects.code_kinds);
	gen_frame_store_imm(g, 4, AT(cell_value), probe->objects.cell_value);
	gen_frame_store_imm(g, 4, AT(frame_copy), layout->frame_tlbc_index);
	gen_frame_store_imm(g, 4, AT(code_copies), layout->code_tlbc);
	gen_frame_store_imm(g, 4, AT(frame_owner), layout->entry == PY_ENTRY_SHIM ? layout->frame_entry : PY_NO_OFFSET);
	gen_frame_store_imm(g, 4, AT(shim_owner), layout->shim_owner);
	gen_frame_store_imm(g, 4, AT(lines), (int32_t)probe->lines);
	gen_frame_store_imm(g, 4, AT(begins), (int32_t)python_line_begins((uint8_t)layout->version));
	gen_frame_store_imm(g, 4, AT(exception_offset), exception_offset(layout));
	gen_frame_store_imm(g, 4, AT(unicode_length), layout->unicode_length);
	gen_frame_store_imm(g, 4, AT(unicode_state), layout->unicode_state);
	gen_frame_store_imm(g, 4, AT(unicode_kind_shift), layout->unicode_kind_shift);
	gen_frame_store_imm(g, 4, AT(unicode_compact_shift), layout->unicode_compact_shift);
	gen_frame_store_imm(g, 4, AT(unicode_ascii_data), layout->unicode_ascii_data);
	gen_frame_store_imm(g, 4, AT(unicode_compact_data), layout->unicode_compact_data);
	gen_frame_store_imm(g, 4, AT(text_base), layout->unicode_ascii_data - 8 * RT_PYTHON_HEAD);
	gen_frame_store_imm(g, 4, AT(text_length), text_length(layout));
}

static bool is_in_loop(const struct python_probe *probe)
{
	return !probe->arguments && probe->event != PYTHON_GC_START && probe->event != PYTHON_GC_DONE &&
	       probe->event != PYTHON_AUDIT;
}

static bool is_import(const struct python_probe *probe)
{
	return probe->event == PYTHON_IMPORT_START || probe->event == PYTHON_IMPORT_DONE;
}

/* Which function says if it is an event. */
static const char *begin_of(const struct python_probe *probe)
{
	if (probe->event != PYTHON_LINE)
		return is_import(probe) ? "rt_python_import" : "rt_python_begin";
	return probe->layout.version < 0x30b	? "rt_python_next_old"
	       : probe->layout.version == 0x30c ? "rt_python_next_312"
						: "rt_python_next";
}

/*
 * The registers that the places of a file need, by their offset in the context. All are copied at each hit, as only
 * then the place is known.
 */
struct registers {
	uint16_t at[RT_PYTHON_REGISTERS];
	uint32_t count;
};

static uint8_t word_at(struct gen *g, struct registers *registers, uint16_t context)
{
	uint32_t i;

	for (i = RT_PYTHON_NO_WORD + 1; i < registers->count; i++)
		if (registers->at[i] == context)
			return (uint8_t)i;
	if (i == RT_PYTHON_REGISTERS) {
		g->c->arena->failed = g->failed = true;
		return RT_PYTHON_NO_WORD;
	}
	registers->at[registers->count++] = context;
	return (uint8_t)i;
}

/* Which of them a place is in. */
static uint8_t word_of(struct gen *g, struct registers *registers, const struct python_place *place)
{
	const struct arch_register *reg =
		place->kind == PYTHON_NOWHERE ? NULL : arch_register_numbered(arch_here(), place->reg);

	return reg ? word_at(g, registers, reg->context) : RT_PYTHON_NO_WORD;
}

/* Where an event's flag is: in flags of the CPU, if what it compares is on the branch right behind. */
static void say_flag(struct gen *g, struct registers *registers, const struct python_site *site,
		     struct rt_python_site *ret)
{
	const struct spot_arch *arch = arch_here()->spot;

	ret->flag_add = site->flag.add;
	ret->flag = word_of(g, registers, &site->flag);
	if (!site->is_compared || !arch)
		return;
	ret->flag_add = (int32_t)arch->flag_equal;
	ret->flag = word_at(g, registers, (uint16_t)arch->context_flags);
}

/* How far the place is where code objects are freed. */
static int32_t frees_of(const struct attach *attach)
{
	const struct python_probe *probe = attach->own;
	int64_t distance = (int64_t)(probe->frees - probe->site.vaddr);

	return probe->frees && distance == (int32_t)distance ? (int32_t)distance : 0;
}

/* What all places of the file say, one behind the other. */
static uint32_t gen_sites(struct gen *g, struct registers *registers)
{
	const struct attach *attaches = &g->c->attaches.at[g->unit->first_attach];
	uint32_t ret = 0, at, i;

	registers->count = RT_PYTHON_NO_WORD + 1;
	for (i = 0; i < g->unit->attach_count; i++) {
		const struct python_site *site = &((const struct python_probe *)attaches[i].own)->site;
		struct rt_python_site record = {.opcodes = opcodes_of(site),
						.frame_add = site->frame.add,
						.instruction_add = site->instruction.add,
						.tstate_add = site->tstate.add,
						.frame = word_of(g, registers, &site->frame),
						.instruction = word_of(g, registers, &site->instruction),
						.tstate = word_of(g, registers, &site->tstate),
						.frees = frees_of(&attaches[i]),
						.flags = flags_of(site),
						.version_low = site->version_low,
						.interp_offset = site->interp_offset,
						.version_offset = site->version_offset,
						.code_version = site->code_offset,
						.tracing_offset = site->tracing_offset,
						.recursion_offset = site->recursion_offset,
						.tstate_copy = site->copy_offset,
						.kind = site->kind};

		say_flag(g, registers, site, &record);
		at = gen_data(g, &record, sizeof(record));
		ret = i ? ret : at;
	}
	return ret;
}

/* Which place it is: R1 the state, R2 what the place says. */
static void gen_find_site(struct gen *g, const struct python_probe *probe)
{
	struct registers registers;
	uint32_t sites = gen_sites(g, &registers), i;

	g->begun = gen_temporary(g, sizeof(struct rt_python));
	gen_frame_store_imm(g, 8, AT(registers), 0);
	for (i = RT_PYTHON_NO_WORD + 1; i < registers.count; i++) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)registers.at[i]);
		gen_frame_store(g, 8, AT(registers) + 8 * i, R0);
	}
	code_load(g->code, 8, R0, REG_CTX, (int16_t)arch_here()->context_pc);
	gen_frame_store(g, 8, AT(pc), R0);
	store_layout(g, probe);
	if (g->unit->attach_count > 1) {
		code_mov(g->code, R1, REG_CTX);
		code_call(g->code, BPF_FUNC_get_attach_cookie);
		code_alu_imm(g->code, BPF_SUB, R0, (int32_t)g->unit->first_attach);
		code_jump_if(g->code, BPF_JGE, R0, (int32_t)g->unit->attach_count, g->leave);
		code_alu_imm(g->code, BPF_MUL, R0, sizeof(struct rt_python_site));
		code_load_data(g->code, R2, sites);
		code_alu(g->code, BPF_ADD, R2, R0);
	} else {
		code_load_data(g->code, R2, sites);
	}
	gen_frame_address(g, R1, g->begun);
}

static void gen_begin(struct gen *g, const struct node *call)
{
	const struct python_probe *probe = probe_of(g);

	(void)call;
	if (!is_in_loop(probe)) {
		code_imm(g->code, R0, 1);
		return;
	}
	gen_find_site(g, probe);
	code_call_runtime(g->code, begin_of(probe));
}

/* Which argument of its marker a field is; -1: none. */
static int marker_index(const char *field)
{
	static const struct {
		const char *field;
		int index;
	} arguments[] = {{"file", 0},      {"function", 1}, {"line", 2},  {"generation", 0},
			 {"collected", 0}, {"module", 0},   {"found", 1}, {"event", 0}};
	size_t i;

	for (i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (!strcmp(arguments[i].field, field))
			return arguments[i].index;
	return -1;
}

/* What is at the place, in R0. */
static void load_place(struct gen *g, const struct python_place *place)
{
	const struct arch_register *reg =
		place->kind == PYTHON_NOWHERE ? NULL : arch_register_numbered(arch_here(), place->reg);
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	if (reg) {
		code_load(g->code, 8, R0, REG_CTX, (int16_t)reg->context);
		code_alu_imm(g->code, BPF_ADD, R0, place->add);
	} else {
		code_imm(g->code, R0, place->add);
	}
	if (place->kind == PYTHON_ON_STACK) {
		gen_frame_store(g, 8, at, R0);
		gen_read(g, (struct span){}, at, 8);
		gen_frame_load(g, 8, R0, at);
	}
	g->used = mark;
}

/* The value of an event's place, in R0. */
static void load_value(struct gen *g, const struct python_probe *probe)
{
	uint32_t mark = g->used, at;

	if (probe->more.kind == PYTHON_NOWHERE) {
		load_place(g, &probe->value);
		return;
	}
	at = gen_temporary(g, 8);
	load_place(g, &probe->value);
	gen_frame_store(g, 8, at, R0);
	load_place(g, &probe->more);
	gen_frame_load(g, 8, R1, at);
	code_alu(g->code, BPF_ADD, R0, R1);
	g->used = mark;
}

/* A field that is an argument of a marker, or of a function: a number, or the address of a text. */
static void write_argument(struct gen *g, const struct type_field *field, uint32_t offset)
{
	const struct python_probe *probe = probe_of(g);
	int index = marker_index(field->name);

	if (index < 0) {
		gen_zero(g, offset, field->type->size);
		return;
	}
	if (probe->arguments)
		probe_marker_argument(g, (struct span){}, probe->arguments, (unsigned int)index);
	else
		load_value(g, probe);
	if (field->type->kind == TYPE_STRING) {
		code_mov(g->code, R3, R0);
		code_imm(g->code, R4, field->type->size);
		gen_read_string(g, offset, field->type->size);
	} else {
		gen_frame_store(g, field->type->size, offset, R0);
	}
}

static void load_found(struct gen *g)
{
	gen_frame_load(g, 4, R0, AT(kind));
	code_alu_imm(g->code, BPF_XOR, R0, RT_PYTHON_RETURN);
	/* Nothing is left in a return: less one, its highest bit is set. */
	code_alu_imm(g->code, BPF_SUB, R0, 1);
	code_alu_imm(g->code, BPF_RSH, R0, 63);
}

/* Where a code object has the text of this field. */
static uint32_t text_place(const struct py_layout *layout, const char *field)
{
	if (!strcmp(field, "file"))
		return layout->code_filename;
	return layout->code_qualname != PY_NO_OFFSET ? layout->code_qualname : layout->code_name;
}

static void write_field(struct gen *g, const struct type_field *field, uint32_t offset)
{
	const struct py_layout *layout = &probe_of(g)->layout;

	if (!is_in_loop(probe_of(g))) {
		write_argument(g, field, offset);
		return;
	}
	gen_frame_address(g, R1, g->begun);
	if (!strcmp(field->name, "kind")) {
		code_call_runtime(g->code, "rt_python_kind");
		gen_frame_store(g, 8, offset, R0);
		return;
	}
	if (!strcmp(field->name, "found")) {
		load_found(g);
		gen_frame_store(g, field->type->size, offset, R0);
		return;
	}
	if (!strcmp(field->name, "module") || !strcmp(field->name, "self_class")) {
		gen_frame_address(g, R2, offset);
		code_call_runtime(g->code, *field->name == 'm' ? "rt_python_variable" : "rt_python_self_class");
		return;
	}
	if (!strcmp(field->name, "first_line") || !strcmp(field->name, "line")) {
		code_call_runtime(g->code, *field->name == 'l' ? "rt_python_line" : "rt_python_first_line");
		gen_frame_store(g, field->type->size, offset, R0);
		return;
	}
	gen_frame_address(g, R2, offset);
	code_imm(g->code, R3, text_place(layout, field->name));
	code_call_runtime(g->code, "rt_python_text");
}

void python_argument(struct gen *g, struct span span, unsigned int index)
{
	const struct python_probe *probe = probe_of(g);

	if (probe->arguments) {
		probe_marker_argument(g, span, probe->arguments, index);
	} else if (!is_in_loop(probe) && index) {
		code_imm(g->code, R0, 0);
	} else if (!is_in_loop(probe)) {
		load_value(g, probe);
		/* A generation is an int: what the upper half of its register holds is anything. */
		if (probe->event == PYTHON_GC_START) {
			code_alu_imm(g->code, BPF_LSH, R0, 32);
			code_alu_imm(g->code, BPF_ARSH, R0, 32);
		}
	} else if (is_import(probe) && index == 1) {
		load_found(g);
	} else {
		gen_frame_address(g, R1, g->begun);
		code_imm(g->code, R2,
			 is_import(probe) ? PY_NO_OFFSET
			 : index          ? probe->layout.code_name
					  : probe->layout.code_filename);
		code_call_runtime(g->code, index > 1 ? "rt_python_line" : "rt_python_address");
	}
}

bool python_has_text(const struct gen *g, unsigned int index)
{
	const struct python_probe *probe;

	if (!g->unit->provider->computes_args)
		return false;
	probe = probe_of(g);
	return is_in_loop(probe) && index < (is_import(probe) ? 1 : 2);
}

void python_text(struct gen *g, unsigned int index, uint32_t offset)
{
	const struct python_probe *probe = probe_of(g);

	gen_frame_address(g, R1, g->begun);
	gen_frame_address(g, R2, offset);
	if (is_import(probe)) {
		code_call_runtime(g->code, "rt_python_variable");
		return;
	}
	code_imm(g->code, R3, index ? probe->layout.code_name : probe->layout.code_filename);
	code_call_runtime(g->code, "rt_python_text");
}

bool python_field(struct gen *g, const struct type_field *field, uint32_t *place)
{
	if (!*place || *place & 7)
		*place = gen_temporary(g, (field->type->size + 7) & ~7u);
	write_field(g, field, *place);
	return false;
}

bool python_compare(struct gen *g, const struct type_field *field, const char *text, label equal, label differ)
{
	size_t length = strlen(text), i;
	char wanted[RT_PYTHON_SHORT] = "";

	if (!is_in_loop(probe_of(g)) || (strcmp(field->name, "file") != 0 && strcmp(field->name, "function") != 0) ||
	    length >= RT_PYTHON_TEXT - 1)
		return false;
	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	memcpy(wanted, text, length < sizeof(wanted) ? length : sizeof(wanted));
	gen_frame_address(g, R1, g->begun);
	code_load_data(g->code, R2, gen_data(g, wanted, sizeof(wanted)));
	code_imm(g->code, R3, (int64_t)length);
	code_imm(g->code, R4, text_place(&probe_of(g)->layout, field->name));
	code_call_runtime(g->code, "rt_python_compare");
	code_jump_if(g->code, BPF_JEQ, R0, RT_PYTHON_EQUAL, equal);
	code_jump_if(g->code, BPF_JEQ, R0, RT_PYTHON_DIFFERS, differ);
	return true;
}

void python_place(struct gen *g, const struct type *type, uint32_t offset)
{
	uint32_t i;

	gen_zero(g, offset, type->size);
	for (i = 0; i < type->field_count; i++)
		write_field(g, &type->fields[i], offset + type->fields[i].offset);
}

static void gen_wanted(struct gen *g, const struct node *call)
{
	const struct py_layout *layout = &probe_of(g)->layout;
	uint32_t mark = g->used, room = gen_temporary(g, RT_PYTHON_TEXT);
	label is_new = code_label(g->code), end = code_label(g->code);

	gen_scalar(g, call->kids[0]);
	/* Most are other functions, which came before. */
	code_jump_if(g->code, BPF_JNE, R0, 0, is_new);
	gen_frame_load(g, 8, R1, AT(is_noted));
	code_jump_if(g->code, BPF_JNE, R1, 0, end);
	code_bind(g->code, is_new);
	code_mov(g->code, R5, R0);
	gen_frame_address(g, R1, g->begun);
	gen_frame_address(g, R2, room);
	code_imm(g->code, R3, (int64_t)call->value);
	code_imm(g->code, R4, text_place(layout, g->c->wanted.at[call->value].field));
	code_call_runtime(g->code, "rt_python_wanted");
	code_bind(g->code, end);
	g->used = mark;
}

const struct builtin_code codes_python[] = {
	{CORE_BEGIN, .scalar = gen_begin},
	{CORE_PYTHON_WANTED, .scalar = gen_wanted},
	{},
};
