// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "base/vec.h"
#include "dwarf/package.h"
#include "elf/debug_file.h"

#define ENTRIES_MAX      (16u << 20) /* that one search looks at */
#define UNITS_MAX        (1u << 20)
#define RANGES_MAX       (8u << 20)
#define FUNCTIONS_MAX    (1u << 20) /* ranges of functions, 48 bytes each, of a file */
#define PACKED_BYTES_MAX (256u << 20)
#define NAMESPACES       8 /* one in the other */

/* Addresses of a unit's code. */
struct range {
	uint64_t begin, end; /* all addresses, where the unit does not say */
	uint32_t unit;       /* in units.at */
};

/* Addresses of a function's code. */
struct function_range {
	uint64_t begin, end;
	Dwarf_Die die;
};

/* Those of a unit, sorted. */
struct unit_functions {
	VEC(struct function_range) ranges;
};

/* A unit out of a DWARF package. */
struct packed_unit {
	uint64_t id;
	uint8_t *bytes; /* NULL: the package has none of this id */
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die;
};

struct debug_info {
	Elf *elf;
	Dwarf *dwarf;
	int fd;
	struct elf_file *separate; /* NULL: the file itself has it */
	int common_fd;             /* -1: it has no parts in another file */
	Elf *common_elf;
	Dwarf *common_dwarf;
	bool is_strange;
	const struct elf_file *binary; /* NULL: an image in memory */
	Elf *package;                  /* NULL: there is none */
	int package_fd;
	bool package_tried;
	size_t packed_bytes; /* of all of them */
	VEC(struct packed_unit) packed;
	bool has_ranges;
	VEC(struct debug_unit) units;
	VEC(struct range) ranges;
	struct table functions; /* of units: number + 1 → struct unit_functions * */
	size_t function_ranges; /* of all of them */
};

static int begin(struct debug_info *info, const char *path, struct debug_info **ret, struct diag *diag)
{
	info->dwarf = info->elf ? dwarf_begin_elf(info->elf, DWARF_C_READ, NULL) : NULL;
	if (info->dwarf) {
		*ret = info;
		return 0;
	}
	diag_fail(diag, EINVAL, "dwarf.damaged", "%s: its debug information cannot be read: %s", path,
		  dwarf_errmsg(-1));
	debug_info_close(info);
	return -EINVAL;
}

/* Has it more bytes of debug information than that, uncompressed? The old way of compressing tells too late. */
static bool is_larger(Elf *elf, uint64_t most)
{
	Elf_Scn *section = NULL;
	uint64_t total = 0;
	size_t names;

	if (!most || !elf || elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		GElf_Chdr compressed;
		const char *name;
		uint64_t size;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || !strstr(name, "debug_"))
			continue;
		if (strstr(name, "zdebug_"))
			return true;
		size = header.sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &compressed) ? compressed.ch_size
											      : header.sh_size;
		if (size > most - total)
			return true;
		total += size;
	}
	return false;
}

static void close_common(struct debug_info *info)
{
	if (info->common_dwarf)
		dwarf_end(info->common_dwarf);
	if (info->common_elf)
		elf_end(info->common_elf);
	if (info->common_fd >= 0)
		close(info->common_fd);
	info->common_dwarf = NULL;
	info->common_elf = NULL;
	info->common_fd = -1;
}

static bool try_common(struct debug_info *info, int fd, const void *id, size_t id_size, uint64_t bytes_max)
{
	const void *found;

	info->common_fd = fd;
	info->common_elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (info->common_elf && dwelf_elf_gnu_build_id(info->common_elf, &found) == (ssize_t)id_size &&
	    !memcmp(found, id, id_size) && !is_larger(info->common_elf, bytes_max))
		info->common_dwarf = dwarf_begin_elf(info->common_elf, DWARF_C_READ, NULL);
	if (!info->common_dwarf)
		close_common(info);
	return info->common_dwarf;
}

/* Opens the file that several have parts of their DWARF in (dwz); libdw would open it wherever this one says. */
static int open_common(struct debug_info *info, const struct elf_file *elf, const struct debug_info_options *options,
		       struct diag *diag)
{
	char by_id[64 + 2 * ELF_BUILD_ID_MAX];
	const char *name;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &id), i;
	int at;

	if (!size)
		return 0;
	if (size > 1 && size <= ELF_BUILD_ID_MAX &&
	    !try_common(info, elf_named_descriptor(elf, options->root, name), id, (size_t)size, options->bytes_max)) {
		at = snprintf(by_id, sizeof(by_id), "/usr/lib/debug/.build-id/%02x/", *(const uint8_t *)id);
		for (i = 1; i < size; i++)
			at += snprintf(by_id + at, sizeof(by_id) - (size_t)at, "%02x", ((const uint8_t *)id)[i]);
		snprintf(by_id + at, sizeof(by_id) - (size_t)at, ".debug");
		try_common(info, elf_named_descriptor(elf, options->root, by_id), id, (size_t)size, options->bytes_max);
	}
	if (!info->common_dwarf)
		return diag_fail(diag, ENOENT, "dwarf.common",
				 "%s: its debug information has parts in another file, %s, which was not found",
				 elf_file_path(elf), size > 0 ? name : "?");
	dwarf_setalt(info->dwarf, info->common_dwarf);
	return 0;
}

int debug_info_open(const struct elf_file *elf, const struct debug_info_options *options, struct debug_info **ret,
		    struct diag *diag)
{
	struct debug_info *info = calloc(1, sizeof(*info));
	const struct elf_file *from = elf;
	int err, fd;

	if (!info)
		return diag_fail(diag, ENOMEM, "dwarf.memory", "out of memory");
	info->fd = info->package_fd = info->common_fd = -1;
	info->is_strange = options->is_strange;
	info->binary = elf;
	if (!elf_file_has_debug_info(elf))
		from = info->separate = elf_debug_info_open(elf, options->root, options->folders);
	if (!from) {
		debug_info_close(info);
		return diag_fail(diag, ENOENT, "dwarf.none", "%s has no debug information (DWARF)", elf_file_path(elf));
	}
	elf_version(EV_CURRENT);
	/* Read, and never mapped: a file that is cut off meanwhile would end strata. */
	fd = options->is_confined ? elf_file_borrowed(from) : elf_file_descriptor(from);
	info->fd = options->is_confined ? -1 : fd;
	info->elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (is_larger(info->elf, options->bytes_max)) {
		diag_fail(diag, E2BIG, "dwarf.large", "%s has too much debug information", elf_file_path(from));
		debug_info_close(info);
		return -E2BIG;
	}
	err = begin(info, elf_file_path(from), ret, diag);
	if (err)
		return err;
	err = open_common(info, from, options, diag);
	if (err) {
		debug_info_close(info);
		*ret = NULL;
	}
	return err;
}

int debug_info_open_memory(void *bytes, size_t size, struct debug_info **ret, struct diag *diag)
{
	struct debug_info *info = calloc(1, sizeof(*info));

	if (!info)
		return diag_fail(diag, ENOMEM, "dwarf.memory", "out of memory");
	info->fd = info->package_fd = info->common_fd = -1;
	elf_version(EV_CURRENT);
	info->elf = elf_memory(bytes, size);
	return begin(info, "the image", ret, diag);
}

static void release_packed(struct packed_unit *packed)
{
	if (packed->dwarf)
		dwarf_end(packed->dwarf);
	if (packed->elf)
		elf_end(packed->elf);
	free(packed->bytes);
}

static void close_packed(struct debug_info *info)
{
	size_t i;

	for (i = 0; i < info->packed.count; i++)
		release_packed(&info->packed.at[i]);
	vec_free(&info->packed);
	if (info->package)
		elf_end(info->package);
	if (info->package_fd >= 0)
		close(info->package_fd);
}

static void free_functions(struct debug_info *info)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(&info->functions, &at))) {
		struct unit_functions *functions = (struct unit_functions *)(uintptr_t)slot->value;

		vec_free(&functions->ranges);
		free(functions);
	}
	table_deinit(&info->functions);
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	free_functions(info);
	close_packed(info);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->elf)
		elf_end(info->elf);
	if (info->fd >= 0)
		close(info->fd);
	close_common(info);
	if (info->separate)
		elf_file_close(info->separate);
	vec_free(&info->units);
	vec_free(&info->ranges);
	free(info);
}

bool debug_info_unit(struct debug_info *info, uint64_t *at, struct debug_unit *ret)
{
	Dwarf_CU *cu = (Dwarf_CU *)(uintptr_t)*at, *next;
	uint8_t kind = 0;
	Dwarf_Die split;

	*ret = (struct debug_unit){};
	memset(&split, 0, sizeof(split));
	if (dwarf_get_units(info->dwarf, cu, &next, NULL, &kind, &ret->skeleton, info->is_strange ? NULL : &split))
		return false;
	ret->die = ret->skeleton;
	if (kind == DW_UT_skeleton && split.addr) {
		ret->die = split;
	} else if (kind == DW_UT_skeleton) {
		Dwarf_Attribute attribute;

		ret->is_split_away = true;
		ret->split_name = dwarf_formstring(dwarf_attr(&ret->skeleton, DW_AT_dwo_name, &attribute));
		if (!ret->split_name)
			ret->split_name = dwarf_formstring(dwarf_attr(&ret->skeleton, DW_AT_GNU_dwo_name, &attribute));
	}
	*at = (uint64_t)(uintptr_t)next;
	return true;
}

static Elf *open_package(struct debug_info *info)
{
	if (!info->package_tried && info->binary && !info->is_strange) {
		info->package_fd = elf_debug_package_descriptor(info->binary);
		info->package = info->package_fd < 0 ? NULL : elf_begin(info->package_fd, ELF_C_READ, NULL);
	}
	info->package_tried = true;
	return info->package;
}

static void read_packed(struct debug_info *info, struct packed_unit *packed)
{
	Dwarf_CU *next;
	size_t size;

	if (info->packed_bytes > PACKED_BYTES_MAX || !package_unit(info->package, packed->id, &packed->bytes, &size))
		return;
	info->packed_bytes += size;
	packed->elf = elf_memory((char *)packed->bytes, size);
	packed->dwarf = packed->elf ? dwarf_begin_elf(packed->elf, DWARF_C_READ, NULL) : NULL;
	if (packed->dwarf && !dwarf_get_units(packed->dwarf, NULL, &next, NULL, NULL, &packed->die, NULL))
		return;
	release_packed(packed);
	*packed = (struct packed_unit){.id = packed->id};
}

/* The entries of a unit that has none here, if there is a package that has them. */
static void take_packed(struct debug_info *info, struct debug_unit *unit)
{
	struct packed_unit packed = {};
	size_t i;

	if (!unit->is_split_away || !open_package(info) ||
	    dwarf_cu_info(unit->skeleton.cu, NULL, NULL, NULL, NULL, &packed.id, NULL, NULL))
		return;
	for (i = 0; i < info->packed.count && info->packed.at[i].id != packed.id; i++)
		;
	if (i == info->packed.count) {
		read_packed(info, &packed);
		if (vec_push(&info->packed, packed)) {
			release_packed(&packed);
			return;
		}
	}
	if (!info->packed.at[i].bytes)
		return;
	unit->die = info->packed.at[i].die;
	unit->is_split_away = false;
	unit->is_packed = true;
}

/* A search among the entries of a unit and of its namespaces. */
struct search {
	bool (*is)(struct search *search, Dwarf_Die *die);
	uint32_t left;
	unsigned int depth;
	/* what is looked for */
	uint64_t vaddr;
	const char *name;
	const int *tags; /* 0 behind the last */
	Dwarf_Die found;
	int64_t value;
};

static bool search_below(struct search *search, Dwarf_Die *parent)
{
	Dwarf_Die child;
	int tag;

	if (search->depth > NAMESPACES || dwarf_child(parent, &child))
		return false;
	do {
		if (!search->left)
			return false;
		search->left--;
		if (search->is(search, &child)) {
			search->found = child;
			return true;
		}
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
			bool found;

			search->depth++;
			found = search_below(search, &child);
			search->depth--;
			if (found)
				return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/* By the address of its first instruction, which in a function of several parts is that of the first one. */
static bool is_function_at(struct search *search, Dwarf_Die *die)
{
	Dwarf_Addr entry, base, end;

	if (dwarf_tag(die) != DW_TAG_subprogram)
		return false;
	if (!dwarf_entrypc(die, &entry))
		return entry == search->vaddr;
	return dwarf_ranges(die, 0, &base, &entry, &end) > 0 && entry == search->vaddr;
}

/* Read once: a list of functions asks for thousands of addresses. */
static void read_ranges(struct debug_info *info)
{
	struct debug_unit unit;
	uint64_t at = 0;

	info->has_ranges = true;
	while (info->units.count < UNITS_MAX && debug_info_unit(info, &at, &unit)) {
		struct range range = {.unit = (uint32_t)info->units.count};
		Dwarf_Addr base, begin, end;
		ptrdiff_t next = 0;
		bool has_any = false;

		if (vec_push(&info->units, unit))
			return;
		while (info->ranges.count < RANGES_MAX &&
		       (next = dwarf_ranges(&unit.skeleton, next, &base, &begin, &end)) > 0) {
			range.begin = begin;
			range.end = end;
			has_any = true;
			if (vec_push(&info->ranges, range))
				return;
		}
		range.begin = 0;
		range.end = UINT64_MAX;
		if (!has_any && vec_push(&info->ranges, range))
			return;
	}
}

bool debug_info_unit_of(struct debug_info *info, uint64_t vaddr, size_t *next, struct debug_unit *ret)
{
	if (!info->has_ranges)
		read_ranges(info);
	while (*next < info->ranges.count) {
		const struct range *range = &info->ranges.at[(*next)++];

		if (vaddr < range->begin || vaddr >= range->end)
			continue;
		take_packed(info, &info->units.at[range->unit]);
		*ret = info->units.at[range->unit];
		ret->number = range->unit;
		ret->is_everywhere = range->end == UINT64_MAX;
		return true;
	}
	return false;
}

bool debug_info_function(struct debug_info *info, uint64_t vaddr, struct debug_unit *unit, Dwarf_Die *ret)
{
	struct search search = {.is = is_function_at, .vaddr = vaddr, .left = ENTRIES_MAX};
	struct debug_unit candidate;
	size_t next = 0;

	*unit = (struct debug_unit){};
	while (debug_info_unit_of(info, vaddr, &next, &candidate)) {
		if (!candidate.is_everywhere)
			*unit = candidate;
		if (!candidate.is_packed && search_below(&search, &candidate.die)) {
			*unit = candidate;
			*ret = search.found;
			return true;
		}
	}
	return false;
}

struct collection {
	struct debug_info *info;
	struct unit_functions *functions;
	uint32_t left;
	unsigned int depth;
};

static void collect_ranges(struct collection *collection, Dwarf_Die *die)
{
	struct function_range range = {.die = *die};
	Dwarf_Addr base, begin, end;
	ptrdiff_t next = 0;

	while (collection->left && collection->info->function_ranges < FUNCTIONS_MAX &&
	       (next = dwarf_ranges(die, next, &base, &begin, &end)) > 0) {
		range.begin = begin;
		range.end = end;
		collection->left--;
		if (vec_push(&collection->functions->ranges, range))
			return;
		collection->info->function_ranges++;
	}
}

/* Functions are below a unit, a namespace, or a class that defines them in its body. */
static void collect_functions(struct collection *collection, Dwarf_Die *parent)
{
	Dwarf_Die child;

	if (collection->depth > NAMESPACES || dwarf_child(parent, &child))
		return;
	do {
		if (!collection->left)
			return;
		collection->left--;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			collect_ranges(collection, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			collection->depth++;
			collect_functions(collection, &child);
			collection->depth--;
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

static int by_begin(const void *a, const void *b)
{
	const struct function_range *left = a, *right = b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

/* Read once for each unit: stacks have many addresses in few of them. */
static struct unit_functions *functions_of(struct debug_info *info, const struct debug_unit *unit)
{
	struct collection collection = {.info = info, .left = ENTRIES_MAX};
	Dwarf_Die die = unit->die;
	uint64_t found;

	if (table_get(&info->functions, unit->number + 1ull, &found))
		return (struct unit_functions *)(uintptr_t)found;
	collection.functions = calloc(1, sizeof(*collection.functions));
	if (!collection.functions)
		return NULL;
	collect_functions(&collection, &die);
	if (collection.functions->ranges.count)
		qsort(collection.functions->ranges.at, collection.functions->ranges.count,
		      sizeof(*collection.functions->ranges.at), by_begin);
	if (table_set(&info->functions, unit->number + 1ull, (uint64_t)(uintptr_t)collection.functions)) {
		vec_free(&collection.functions->ranges);
		free(collection.functions);
		return NULL;
	}
	return collection.functions;
}

bool debug_info_function_around(struct debug_info *info, const struct debug_unit *unit, uint64_t vaddr, Dwarf_Die *ret)
{
	const struct unit_functions *functions = unit->is_packed ? NULL : functions_of(info, unit);
	size_t first = 0, count = functions ? functions->ranges.count : 0;

	while (count > 1) {
		size_t half = count / 2;

		if (vaddr < functions->ranges.at[first + half].begin) {
			count = half;
		} else {
			first += half;
			count -= half;
		}
	}
	if (!count || vaddr < functions->ranges.at[first].begin || vaddr >= functions->ranges.at[first].end)
		return false;
	*ret = functions->ranges.at[first].die;
	return true;
}

static bool is_function_named(struct search *search, Dwarf_Die *die)
{
	const char *name;

	if (dwarf_tag(die) != DW_TAG_subprogram || !die_flag(die, DW_AT_external))
		return false;
	name = die_name(die);
	return name && !strcmp(name, search->name);
}

bool debug_info_function_named(struct debug_unit *unit, const char *name, Dwarf_Die *ret)
{
	struct search search = {.is = is_function_named, .name = name, .left = ENTRIES_MAX};

	if (!search_below(&search, &unit->die))
		return false;
	*ret = search.found;
	return true;
}

static bool is_type(struct search *search, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	const char *name;
	const int *at;

	for (at = search->tags; *at && *at != tag; at++)
		;
	if (!*at)
		return false;
	name = die_name(die);
	return name && !strcmp(name, search->name) && !die_flag(die, DW_AT_declaration);
}

static bool search_units(struct debug_info *info, struct debug_unit *first, struct search *search, Dwarf_Die *ret)
{
	uint32_t left = UNITS_MAX;
	struct debug_unit unit;
	uint64_t at = 0;
	bool found = first && search_below(search, &first->die);

	while (!found && left-- && debug_info_unit(info, &at, &unit)) {
		take_packed(info, &unit);
		if (!first || unit.die.addr != first->die.addr)
			found = search_below(search, &unit.die);
	}
	if (found)
		*ret = search->found;
	return found;
}

bool debug_info_type(struct debug_info *info, struct debug_unit *unit, const char *name, Dwarf_Die *ret)
{
	static const struct {
		const char *prefix;
		int tags[4];
	} kinds[] = {
		{"struct ", {DW_TAG_structure_type, DW_TAG_class_type}},
		{"union ", {DW_TAG_union_type}},
		{"enum ", {DW_TAG_enumeration_type}},
		{"", {DW_TAG_typedef, DW_TAG_class_type}},
	};
	struct search search = {.is = is_type, .left = ENTRIES_MAX};
	size_t i;

	for (i = 0; strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)); i++)
		;
	search.name = name + strlen(kinds[i].prefix);
	search.tags = kinds[i].tags;
	return search_units(info, unit, &search, ret);
}

struct constant {
	const char *name;
	int64_t value;
	bool found;
};

static bool is_constant(void *context, Dwarf_Die *child)
{
	struct constant *constant = context;
	const char *name = die_name(child);
	uint64_t value;

	if (dwarf_tag(child) != DW_TAG_enumerator || !name || strcmp(name, constant->name) ||
	    !die_number(child, DW_AT_const_value, &value))
		return true;
	constant->value = (int64_t)value;
	constant->found = true;
	return false;
}

static bool has_constant(struct search *search, Dwarf_Die *die)
{
	struct constant constant = {.name = search->name};

	if (dwarf_tag(die) != DW_TAG_enumeration_type)
		return false;
	die_children(die, is_constant, &constant);
	search->value = constant.value;
	return constant.found;
}

bool debug_info_constant(struct debug_unit *unit, const char *name, Dwarf_Die *ret, int64_t *value)
{
	struct search search = {.is = has_constant, .left = ENTRIES_MAX, .name = name};

	if (!search_below(&search, &unit->die))
		return false;
	*ret = search.found;
	*value = search.value;
	return true;
}
