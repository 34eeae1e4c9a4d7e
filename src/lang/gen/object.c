// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/gen/object.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/gen/runtime.h"
#include "lang/provider/provider.h"

_Static_assert(RT_FIRST_AGGREGATE == TYPE_COUNT, "the runtime numbers aggregations as the compiler does");

/* uapi/linux/bpf.h has no names for relocations: include/linux/bpf.h's users take them from LLVM's ELFRelocs/BPF.def.
 */
#define RELOCATION_64_64 1
#define RELOCATION_64_32 10

#define BTF_EXT_MAGIC  0xeb9f
#define BTF_EXT_HEADER 24

struct bytes {
	VEC(uint8_t) data;
	bool failed;
};

struct section {
	const char *name;
	uint32_t type, link, info, entry_size;
	uint64_t flags;
	struct bytes content;
};

enum {
	SECTION_NULL,
	SECTION_STRINGS,
	SECTION_SYMBOLS,
	SECTION_TEXT,
	SECTION_MAPS,
	SECTION_LICENSE,
	SECTION_BTF,
	SECTION_BTF_EXT,
	SECTION_FIRST_PROGRAM
};

struct global_name {
	const char *name;
	uint32_t symbol; /* index into globals */
};

struct function_info {
	uint32_t section, offset, type;
};

struct object {
	const struct gen *gen;
	VEC(struct section) sections;
	VEC(Elf64_Sym) locals, globals;
	VEC(struct global_name) names;
	struct btf *btf;
	int u64_type, pointer_type, int_type, index_type, main_proto, loop_proto;
	VEC(struct function_info) functions;
	uint32_t *text_offsets; /* of functions that are loops' bodies, in bytes */
	uint32_t data_symbol;   /* index into locals: the section of gen->data */
	bool failed;
};

static uint32_t append(struct bytes *bytes, const void *data, size_t size)
{
	uint32_t at = (uint32_t)bytes->data.count;

	if (vec_reserve(&bytes->data, size)) {
		bytes->failed = true;
		return 0;
	}
	if (size)
		memcpy(bytes->data.at + at, data, size);
	bytes->data.count += size;
	return at;
}

static uint32_t add_section(struct object *o, const char *name, uint32_t type, uint64_t flags)
{
	if (vec_push(&o->sections, (struct section){.name = name, .type = type, .flags = flags}))
		o->failed = true;
	return (uint32_t)o->sections.count - 1;
}

static uint32_t add_string(struct object *o, const char *text)
{
	return append(&o->sections.at[SECTION_STRINGS].content, text, strlen(text) + 1);
}

static uint32_t add_global(struct object *o, const char *name, int type, uint32_t section, uint64_t value,
			   uint64_t size)
{
	const Elf64_Sym symbol = {.st_name = add_string(o, name),
				  .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
				  .st_shndx = (Elf64_Section)section,
				  .st_value = value,
				  .st_size = size};

	if (vec_push(&o->globals, symbol) ||
	    vec_push(&o->names, (struct global_name){name, (uint32_t)o->globals.count - 1}))
		o->failed = true;
	return (uint32_t)o->globals.count - 1;
}

static bool find_global(const struct object *o, const char *name, uint32_t *ret)
{
	size_t i;

	for (i = 0; i < o->names.count; i++) {
		if (!strcmp(o->names.at[i].name, name)) {
			*ret = o->names.at[i].symbol;
			return true;
		}
	}
	return false;
}

/* --- BTF --- */

static int proto(struct object *o, int result, const int *parameters, unsigned int count)
{
	int id = btf__add_func_proto(o->btf, result);
	unsigned int i;

	for (i = 0; i < count; i++)
		btf__add_func_param(o->btf, "a", parameters[i]);
	return id;
}

static void begin_btf(struct object *o)
{
	int u32_type, context[1], loop[4];

	o->btf = btf__new_empty();
	if (!o->btf) {
		o->failed = true;
		return;
	}
	o->u64_type = btf__add_int(o->btf, "unsigned long long", 8, 0);
	o->int_type = btf__add_int(o->btf, "int", 4, BTF_INT_SIGNED);
	u32_type = btf__add_int(o->btf, "unsigned int", 4, 0);
	o->index_type = btf__add_int(o->btf, "__ARRAY_SIZE_TYPE__", 4, 0);
	o->pointer_type = btf__add_ptr(o->btf, 0);
	context[0] = o->pointer_type;
	o->main_proto = proto(o, o->int_type, context, 1);
	loop[0] = u32_type;
	loop[1] = loop[2] = loop[3] = o->pointer_type;
	o->loop_proto = proto(o, o->u64_type, loop, 4);
}

static void declare_runtime(struct object *o, const char *name)
{
	const char *signature = runtime_signature(name);
	int parameters[5];
	unsigned int count;

	for (count = 0; signature[count + 1]; count++)
		parameters[count] = signature[count + 1] == 'u' ? o->u64_type : o->pointer_type;
	btf__add_func(o->btf, name, BTF_FUNC_EXTERN,
		      proto(o, signature[0] == 'p' ? o->pointer_type : o->u64_type, parameters, count));
	add_global(o, name, STT_NOTYPE, SHN_UNDEF, 0, 0);
}

/* A number in a map's definition is the length of an array that a member points to. */
static int map_number(struct object *o, uint32_t number)
{
	return btf__add_ptr(o->btf, btf__add_array(o->btf, o->index_type, o->int_type, number));
}

struct map_shape {
	const char *name;
	uint32_t type, key_size, value_size, entries, flags;
};

#define MAP_MEMBERS 5

static int add_map(struct object *o, const struct map_shape *shape)
{
	const char *const names[MAP_MEMBERS] = {"type", "key_size", "value_size", "max_entries", "map_flags"};
	const uint32_t values[MAP_MEMBERS] = {shape->type, shape->key_size, shape->value_size, shape->entries,
					      shape->flags};
	static const uint8_t zeros[MAP_MEMBERS * 8];
	int types[MAP_MEMBERS], definition, i;
	uint32_t at;

	for (i = 0; i < MAP_MEMBERS; i++)
		types[i] = map_number(o, values[i]);
	definition = btf__add_struct(o->btf, NULL, sizeof(zeros));
	for (i = 0; i < MAP_MEMBERS; i++)
		btf__add_field(o->btf, names[i], types[i], (uint32_t)i * 64, 0);
	at = append(&o->sections.at[SECTION_MAPS].content, zeros, sizeof(zeros));
	add_global(o, shape->name, STT_OBJECT, SECTION_MAPS, at, sizeof(zeros));
	return btf__add_var(o->btf, shape->name, BTF_VAR_GLOBAL_ALLOCATED, definition);
}

static uint32_t map_type(const struct symbol *map)
{
	if (symbol_is_array(map))
		return BPF_MAP_TYPE_PERCPU_ARRAY;
	switch (map->storage) {
	case STORAGE_LRU_HASH:
		return BPF_MAP_TYPE_LRU_HASH;
	case STORAGE_PERCPU_HASH:
		return BPF_MAP_TYPE_PERCPU_HASH;
	case STORAGE_LRU_PERCPU_HASH:
		return BPF_MAP_TYPE_LRU_PERCPU_HASH;
	default:
		return BPF_MAP_TYPE_HASH;
	}
}

/*
 * Entries that are made as they are needed come from a small store of each CPU, which one run of a program can empty:
 * large values soon. So only maps that would take much memory do that.
 */
#define PREALLOCATED_MAX (8u << 20)

static uint64_t map_bytes(const struct symbol *map, const struct map_shape *shape)
{
	uint64_t copies = symbol_is_percpu(map) ? (uint64_t)libbpf_num_possible_cpus() : 1;

	return (uint64_t)shape->entries * (shape->key_size + shape->value_size * copies);
}

/* The variable of a map of the script in BTF, with these keys and name. */
static int add_script_map(struct object *o, const struct symbol *map, const char *name, uint32_t key_size)
{
	const struct compiler *c = o->gen->c;
	struct map_shape shape = {.name = name,
				  .type = map_type(map),
				  .key_size = key_size,
				  .value_size = symbol_value_size(map)};

	shape.entries = (uint32_t)(!map->key      ? 1
				   : map->entries ? map->entries
						  : c->numbers[SETTING_MAX_MAP_KEYS]);
	if ((shape.type == BPF_MAP_TYPE_HASH || shape.type == BPF_MAP_TYPE_PERCPU_HASH) &&
	    map_bytes(map, &shape) > PREALLOCATED_MAX)
		shape.flags = BPF_F_NO_PREALLOC;
	return add_map(o, &shape);
}

static void add_variable(struct object *o, int variable, const char *name)
{
	static const uint32_t size = MAP_MEMBERS * 8;
	uint32_t symbol;

	if (variable && find_global(o, name, &symbol))
		btf__add_datasec_var_info(o->btf, variable, (uint32_t)o->globals.at[symbol].st_value, size);
}

static void add_maps(struct object *o)
{
	const struct gen *g = o->gen;
	const struct compiler *c = g->c;
	struct map_shape shape = {.name = "frames",
				  .type = BPF_MAP_TYPE_ARRAY,
				  .key_size = 4,
				  .value_size = (g->frame_size + 63) & ~7u,
				  .entries = RT_FRAMES * (uint32_t)libbpf_num_possible_cpus()};
	int *vars = calloc(2 * c->maps.count + 1, sizeof(*vars));
	size_t i;

	if (!vars) {
		o->failed = true;
		return;
	}
	if (g->frame_size)
		vars[0] = add_map(o, &shape);
	for (i = 0; i < c->maps.count; i++) {
		const struct symbol *map = c->maps.at[i];

		if (!map->value)
			continue;
		vars[2 * i + 1] = add_script_map(o, map, map->bpf_name, symbol_key_size(map));
		if (map->short_name)
			vars[2 * i + 2] = add_script_map(o, map, map->short_name, symbol_short_size(map));
	}
	btf__add_datasec(o->btf, ".maps", (uint32_t)o->sections.at[SECTION_MAPS].content.data.count);
	add_variable(o, vars[0], "frames");
	for (i = 0; i < c->maps.count; i++) {
		add_variable(o, vars[2 * i + 1], c->maps.at[i]->bpf_name);
		add_variable(o, vars[2 * i + 2], c->maps.at[i]->short_name);
	}
	free(vars);
}

/* --- code --- */

static void add_function_info(struct object *o, uint32_t section, uint32_t offset, int type)
{
	if (vec_push(&o->functions, (struct function_info){section, offset, (uint32_t)type}))
		o->failed = true;
}

static void place_functions(struct object *o)
{
	const struct gen *g = o->gen;
	char name[32];
	size_t i;

	for (i = 0; i < g->functions.count; i++) {
		const struct function *function = &g->functions.at[i];
		size_t size = function->code.insns.count * sizeof(struct bpf_insn);
		uint32_t section = SECTION_TEXT, at;

		if (function->name)
			section = add_section(o, function->section, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
		if (o->failed)
			return;
		at = append(&o->sections.at[section].content, function->code.insns.at, size);
		if (function->name) {
			add_global(o, function->name, STT_FUNC, section, at, size);
			add_function_info(o, section, at,
					  btf__add_func(o->btf, function->name, BTF_FUNC_GLOBAL, o->main_proto));
			continue;
		}
		snprintf(name, sizeof(name), "loop%zu", i);
		o->text_offsets[i] = at;
		add_function_info(o, section, at, btf__add_func(o->btf, name, BTF_FUNC_STATIC, o->loop_proto));
		if (vec_push(&o->locals, (Elf64_Sym){.st_name = add_string(o, name),
						     .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
						     .st_shndx = SECTION_TEXT,
						     .st_value = at,
						     .st_size = size}))
			o->failed = true;
	}
}

/* What programs only read. libbpf makes a map of the section, by its name. */
static void place_data(struct object *o)
{
	const struct gen *g = o->gen;
	uint32_t section;

	if (!g->data.count)
		return;
	section = add_section(o, ".rodata.script", SHT_PROGBITS, SHF_ALLOC);
	if (o->failed)
		return;
	append(&o->sections.at[section].content, g->data.at, g->data.count);
	o->data_symbol = (uint32_t)o->locals.count;
	if (vec_push(&o->locals, (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION),
					     .st_shndx = (Elf64_Section)section}))
		o->failed = true;
}

/* locals[0] is the null symbol, locals[1] the section symbol of .text. */
#define LOCAL_TEXT 1u

static void relocate(struct object *o, const struct function *function, uint32_t section, uint32_t base,
		     struct bytes *relocations)
{
	size_t i;

	for (i = 0; i < function->code.references.count; i++) {
		const struct reference *reference = &function->code.references.at[i];
		uint32_t offset = base + reference->at * (uint32_t)sizeof(struct bpf_insn), symbol;
		Elf64_Rel relocation = {.r_offset = offset};

		if (reference->kind == REFERENCE_FUNCTION || reference->kind == REFERENCE_DATA) {
			struct bpf_insn *insn = (void *)(o->sections.at[section].content.data.at + offset);
			bool is_data = reference->kind == REFERENCE_DATA;

			insn->imm = (int32_t)(is_data ? reference->number : o->text_offsets[reference->number]);
			relocation.r_info =
				ELF64_R_INFO((uint64_t)(is_data ? o->data_symbol : LOCAL_TEXT), RELOCATION_64_64);
		} else {
			if (!find_global(o, reference->name, &symbol)) {
				o->failed = true;
				return;
			}
			relocation.r_info =
				ELF64_R_INFO((uint64_t)(o->locals.count + symbol),
					     reference->kind == REFERENCE_MAP ? RELOCATION_64_64 : RELOCATION_64_32);
		}
		append(relocations, &relocation, sizeof(relocation));
	}
}

static void add_relocations(struct object *o, const char *name, uint32_t target, struct bytes *content)
{
	uint32_t section;

	if (!content->data.count) {
		vec_free(&content->data);
		return;
	}
	section = add_section(o, name, SHT_REL, SHF_INFO_LINK);
	if (o->failed)
		return;
	o->sections.at[section].link = SECTION_SYMBOLS;
	o->sections.at[section].info = target;
	o->sections.at[section].entry_size = sizeof(Elf64_Rel);
	o->sections.at[section].content = *content;
}

static void add_all_relocations(struct object *o)
{
	const struct gen *g = o->gen;
	struct bytes text = {};
	uint32_t section = SECTION_FIRST_PROGRAM;
	size_t i, j;

	for (i = 0; i < g->functions.count; i++)
		for (j = 0; j < g->functions.at[i].code.references.count; j++) {
			const struct reference *reference = &g->functions.at[i].code.references.at[j];
			uint32_t symbol;

			if (reference->kind == REFERENCE_RUNTIME && !find_global(o, reference->name, &symbol))
				declare_runtime(o, reference->name);
		}
	for (i = 0; i < g->functions.count && !o->failed; i++) {
		const struct function *function = &g->functions.at[i];
		struct bytes content = {};

		if (!function->name) {
			relocate(o, function, SECTION_TEXT, o->text_offsets[i], &text);
			continue;
		}
		relocate(o, function, section, 0, &content);
		add_relocations(o, arena_printf(g->c->arena, ".rel%s", function->section), section, &content);
		section++;
	}
	add_relocations(o, ".rel.text", SECTION_TEXT, &text);
}

/* func_info: for each section its name, a count, and the functions' offsets and types. */
static void add_btf_ext(struct object *o)
{
	struct bytes *out = &o->sections.at[SECTION_BTF_EXT].content;
	uint32_t header[6] = {BTF_EXT_MAGIC | 1u << 16, BTF_EXT_HEADER}, size;
	static const uint32_t record_size = 8;
	size_t i, j;

	append(out, header, sizeof(header));
	append(out, &record_size, sizeof(record_size));
	for (i = 0; i < o->sections.count; i++) {
		uint32_t head[2] = {};

		for (j = 0; j < o->functions.count; j++)
			head[1] += o->functions.at[j].section == i;
		if (!head[1])
			continue;
		head[0] = (uint32_t)btf__add_str(o->btf, o->sections.at[i].name);
		append(out, head, sizeof(head));
		for (j = 0; j < o->functions.count; j++)
			if (o->functions.at[j].section == i)
				append(out, &o->functions.at[j].offset, record_size);
	}
	size = (uint32_t)out->data.count - BTF_EXT_HEADER;
	header[3] = size;
	header[4] = size;
	if (!out->failed)
		memcpy(out->data.at, header, sizeof(header));
}

/* --- the file --- */

static void add_symbols(struct object *o)
{
	struct section *symbols = &o->sections.at[SECTION_SYMBOLS];

	append(&symbols->content, o->locals.at, o->locals.count * sizeof(Elf64_Sym));
	append(&symbols->content, o->globals.at, o->globals.count * sizeof(Elf64_Sym));
	symbols->link = SECTION_STRINGS;
	symbols->info = (uint32_t)o->locals.count;
	symbols->entry_size = sizeof(Elf64_Sym);
}

static void write_file(struct object *o, struct bytes *file)
{
	static const uint8_t zeros[8];
	Elf64_Shdr *headers = calloc(o->sections.count, sizeof(*headers));
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_REL,
			     .e_machine = EM_BPF,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (Elf64_Half)o->sections.count,
			     .e_shstrndx = SECTION_STRINGS};
	size_t i;

	if (!headers) {
		o->failed = true;
		return;
	}
	for (i = 1; i < o->sections.count; i++)
		headers[i].sh_name = add_string(o, o->sections.at[i].name);
	append(file, &header, sizeof(header));
	for (i = 1; i < o->sections.count; i++) {
		struct section *section = &o->sections.at[i];

		append(file, zeros, (8 - file->data.count) & 7);
		headers[i].sh_type = section->type;
		headers[i].sh_flags = section->flags;
		headers[i].sh_link = section->link;
		headers[i].sh_info = section->info;
		headers[i].sh_entsize = section->entry_size;
		headers[i].sh_addralign = i == SECTION_STRINGS ? 1 : 8;
		headers[i].sh_offset = append(file, section->content.data.at, section->content.data.count);
		headers[i].sh_size = section->content.data.count;
		o->failed |= section->content.failed;
	}
	append(file, zeros, (8 - file->data.count) & 7);
	header.e_shoff = append(file, headers, o->sections.count * sizeof(*headers));
	if (!file->failed)
		memcpy(file->data.at, &header, sizeof(header));
	o->failed |= file->failed;
	free(headers);
}

static void build(struct object *o, struct bytes *file)
{
	const char *license = o->gen->c->texts[SETTING_LICENSE];
	const void *btf;
	uint32_t size;

	add_section(o, "", SHT_NULL, 0);
	add_section(o, ".strtab", SHT_STRTAB, 0);
	add_section(o, ".symtab", SHT_SYMTAB, 0);
	add_section(o, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
	add_section(o, ".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE);
	add_section(o, "license", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE);
	add_section(o, ".BTF", SHT_PROGBITS, 0);
	add_section(o, ".BTF.ext", SHT_PROGBITS, 0);
	begin_btf(o);
	if (vec_push(&o->locals, (Elf64_Sym){}) ||
	    vec_push(&o->locals,
		     (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = SECTION_TEXT}))
		o->failed = true;
	if (o->failed)
		return;
	add_string(o, "");
	append(&o->sections.at[SECTION_LICENSE].content, license, strlen(license) + 1);
	add_maps(o);
	place_functions(o);
	if (!o->failed)
		place_data(o);
	if (!o->failed)
		add_all_relocations(o);
	if (o->failed)
		return;
	add_btf_ext(o);
	btf = btf__raw_data(o->btf, &size);
	if (btf)
		append(&o->sections.at[SECTION_BTF].content, btf, size);
	add_symbols(o);
	write_file(o, file);
}

static void object_deinit(struct object *o)
{
	size_t i;

	for (i = 0; i < o->sections.count; i++)
		vec_free(&o->sections.at[i].content.data);
	vec_free(&o->sections);
	vec_free(&o->locals);
	vec_free(&o->globals);
	vec_free(&o->names);
	vec_free(&o->functions);
	btf__free(o->btf);
	free(o->text_offsets);
}

int object_build(const struct gen *gen, void **ret, size_t *size, struct diag *diag)
{
	struct object o = {.gen = gen};
	struct runtime_parts parts = {.stacks = gen->c->stack_parts,
				      .packets = gen->c->has_packets,
				      .python = gen->c->has_python,
				      .calls = gen->c->has_calls,
				      .command = provider_follows_command(gen->c),
				      .source_lines = gen->c->options->source_lines};
	struct bytes file = {};
	int err = 0;
	size_t i;

	o.text_offsets = calloc(gen->functions.count + 1, sizeof(*o.text_offsets));
	if (o.text_offsets)
		build(&o, &file);
	if (!o.text_offsets || o.failed || gen->c->arena->failed)
		err = diag_fail(diag, ENOMEM, "object.memory", "out of memory while making the programs");
	for (i = 0; i < o.names.count; i++) {
		parts.strings |= runtime_is_of_strings(o.names.at[i].name);
		parts.time |= runtime_is_of_time(o.names.at[i].name);
		parts.lines |= !strcmp(o.names.at[i].name, "rt_python_next");
		parts.lines_312 |= !strcmp(o.names.at[i].name, "rt_python_next_312");
		parts.lines_old |= !strcmp(o.names.at[i].name, "rt_python_next_old");
	}
	object_deinit(&o);
	if (!err) {
		err = runtime_link(file.data.at, file.data.count, &parts, ret, size);
		if (err) {
			diag_fail(diag, -err, "object.link",
				  "the programs cannot be linked with the runtime library: %s", strerror(-err));
			diag_add_limits(diag, -err);
		}
	}
	vec_free(&file.data);
	return err;
}
