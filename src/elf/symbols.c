// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names are gathered from all sources as references into the files, sorted, and reduced to the best one per address;
 * only the names that remain are copied. So a C++ library whose .symtab and .dynsym both have 100,000 symbols costs
 * one copy of its names, and 16 bytes a symbol:
 *
 *   entries   offset from the base, size, name in the blob, the entry that encloses this one
 *   blob      names, each with its terminator
 */
#include "elf/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/debug_file.h"
#include "elf/internal.h"
#include "elf/plt.h"
#include "elf/symbols_parts.h"

#define LOCAL_BIT   0x80000000u
#define GUESSED_BIT 0x40000000u
#define NO_ENTRY  UINT32_MAX
/* Steps outwards through nested symbols: assembly nests two deep. */
#define NESTED_MAX 64

struct entry {
	uint32_t offset;
	uint32_t size;
	uint32_t name;      /* into the blob; LOCAL_BIT, GUESSED_BIT */
	uint32_t enclosing; /* index of the innermost earlier entry that reaches past this one's start */
};

struct elf_symbols {
	uint64_t base;
	struct entry *entries;
	size_t count;
	char *blob;
	size_t blob_size;
	size_t too_long;
	char sources[64];
};

static int compare_extents(const void *left, const void *right)
{
	const struct extent *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

int symbols_find_text(struct gathering *g)
{
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(g->elf, &count);
	for (i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];

		if (!(s->flags & PF_X) || !s->memsz)
			continue;
		if (!g->end || s->vaddr < g->base)
			g->base = s->vaddr;
		if (s->vaddr + s->memsz > g->end)
			g->end = s->vaddr + s->memsz;
		if (!g->elf->sections.count && vec_push(&g->text, (struct extent){s->vaddr, s->vaddr + s->memsz}))
			return -ENOMEM;
	}
	if (g->end - g->base > UINT32_MAX)
		g->end = g->base + UINT32_MAX;
	for (i = 0; i < g->elf->sections.count; i++) {
		const struct elf_section *s = &g->elf->sections.at[i].section;

		if (s->flags & SHF_EXECINSTR && s->flags & SHF_ALLOC && s->size &&
		    vec_push(&g->text, (struct extent){s->vaddr, s->vaddr + s->size}))
			return -ENOMEM;
	}
	if (g->text.count)
		qsort(g->text.at, g->text.count, sizeof(g->text.at[0]), compare_extents);
	return 0;
}

void symbols_add_source(struct gathering *g, const char *name)
{
	size_t used = strlen(g->sources);

	snprintf(g->sources + used, sizeof(g->sources) - used, "%s%s", used ? "+" : "", name);
}

int symbols_add(struct gathering *g, uint64_t vaddr, uint64_t size, const char *name, size_t length,
		enum binding binding)
{
	struct candidate candidate = {.name = name, .binding = binding};
	size_t underscores;

	if (vaddr < g->base || vaddr >= g->end || !length || length > ELF_NAME_MAX)
		return 0;
	underscores = strspn(name, "_");
	candidate.offset = (uint32_t)(vaddr - g->base);
	candidate.size = (uint32_t)(size < g->end - vaddr ? size : g->end - vaddr);
	candidate.length = (uint32_t)length;
	candidate.underscores = underscores < UINT8_MAX ? (uint8_t)underscores : UINT8_MAX;
	return vec_push(&g->candidates, candidate);
}

bool symbols_is_function(const struct elf_file *elf, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name)
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && symbol->st_shndx < elf->sections.count &&
		elf->sections.at[symbol->st_shndx].section.flags & SHF_EXECINSTR);
}

bool symbols_is_label(const Elf64_Sym *symbol, const char *name)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE && (*name == '$' || !strncmp(name, ".L", 2));
}

enum binding symbols_binding(const Elf64_Sym *symbol)
{
	unsigned int bind = ELF64_ST_BIND(symbol->st_info);

	return bind == STB_LOCAL ? BIND_LOCAL : bind == STB_WEAK ? BIND_WEAK : BIND_GLOBAL;
}

/* All functions of one symbol table. The number of candidates added, or -ENOMEM. */
static ssize_t gather_table(struct gathering *g, const struct elf_file *elf, uint32_t type)
{
	size_t before = g->candidates.count, i;
	struct elf_symtab table;
	uint64_t budget;

	if (!elf_file_symtab(elf, type, &table))
		return 0;
	budget = elf_names_budget(table.strings_size);
	for (i = 1; i < table.count; i++) {
		Elf64_Sym symbol = elf_symtab_at(&table, i);
		size_t left, length;
		const char *name, *version;

		if (symbol.st_value < g->base || symbol.st_value >= g->end || !symbols_is_function(elf, &symbol) ||
		    symbol.st_name >= table.strings_size)
			continue;
		name = table.strings + symbol.st_name;
		left = table.strings_size - symbol.st_name;
		length = strnlen(name, left < ELF_NAME_MAX + 1 ? left : ELF_NAME_MAX + 1);
		if (length > budget) {
			g->too_long++;
			break;
		}
		budget -= length;
		g->too_long += length > ELF_NAME_MAX;
		if (length == left || length > ELF_NAME_MAX || symbols_is_label(&symbol, name))
			continue;
		version = memchr(name, '@', length);
		if (symbols_add(g, symbol.st_value, symbol.st_size, name, version ? (size_t)(version - name) : length,
				symbols_binding(&symbol)))
			return -ENOMEM;
	}
	return (ssize_t)(g->candidates.count - before);
}

static ssize_t gather(struct gathering *g, const struct elf_file *elf, uint32_t type, const char *source)
{
	ssize_t got = elf ? gather_table(g, elf, type) : 0;

	if (got > 0)
		symbols_add_source(g, source);
	return got;
}

static int add_stub(void *context, uint64_t vaddr, uint64_t size, const char *name)
{
	struct gathering *g = context;

	return symbols_add(g, vaddr, size, name, strcspn(name, "@"), BIND_STUB);
}

static int gather_all(struct gathering *g, const char *debug_root, struct elf_file **debug_file)
{
	ssize_t got = gather(g, g->elf, SHT_SYMTAB, "symtab");
	size_t before;
	int err;

	if (!got)
		got = gather(g, elf_file_minidebug(g->elf), SHT_SYMTAB, "minidebug");
	if (!g->sources[0] || !strcmp(g->sources, "minidebug")) {
		*debug_file = elf_debug_file_open(g->elf, debug_root);
		if (got >= 0)
			got = gather(g, *debug_file, SHT_SYMTAB, "debugfile");
	}
	if (got >= 0)
		got = gather(g, g->elf, SHT_DYNSYM, "dynsym");
	if (got < 0)
		return (int)got;
	before = g->candidates.count;
	err = elf_plt_each(g->elf, add_stub, g);
	if (g->candidates.count > before)
		symbols_add_source(g, "plt");
	return err;
}

/* By address; at one address the best first. */
static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->binding != b->binding)
		return a->binding - b->binding;
	if (!a->size != !b->size)
		return !a->size - !b->size;
	if (a->underscores != b->underscores)
		return a->underscores - b->underscores;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	order = memcmp(a->name, b->name, a->length);
	return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Keeps the best candidate of each address; an unsized one takes the size of another there. */
static void keep_best(struct gathering *g)
{
	struct candidate *at = g->candidates.at;
	size_t kept = 0, i;

	for (i = 0; i < g->candidates.count; i++) {
		if (kept && at[kept - 1].offset == at[i].offset) {
			if (!at[kept - 1].size)
				at[kept - 1].size = at[i].size;
		} else {
			at[kept++] = at[i];
		}
	}
	g->candidates.count = kept;
}

/* The end of the section that holds a vaddr; the vaddr itself when none does. */
static uint64_t text_end(const struct gathering *g, uint64_t vaddr)
{
	size_t low = 0, high = g->text.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->text.at[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && g->text.at[low - 1].end > vaddr ? g->text.at[low - 1].end : vaddr;
}

/* Gives unsized symbols their reach, and drops labels inside sized symbols. */
static void size_unsized(struct gathering *g)
{
	struct candidate *at = g->candidates.at;
	bool has_all = strstr(g->sources, "symtab") || strstr(g->sources, "minidebug") ||
		       strstr(g->sources, "debugfile");
	uint64_t sized_end = 0; /* how far the sized symbols so far reach */
	size_t kept = 0, i;

	for (i = 0; i < g->candidates.count; i++) {
		struct candidate candidate = at[i];
		uint64_t end;

		if (!candidate.size) {
			if (candidate.offset < sized_end)
				continue;
			end = text_end(g, g->base + candidate.offset) - g->base;
			if (i + 1 < g->candidates.count && at[i + 1].offset < end)
				end = at[i + 1].offset;
			if (end <= candidate.offset)
				continue;
			candidate.size = (uint32_t)(end - candidate.offset);
			candidate.guessed = !has_all;
		} else if ((uint64_t)candidate.offset + candidate.size > sized_end) {
			sized_end = (uint64_t)candidate.offset + candidate.size;
		}
		at[kept++] = candidate;
	}
	g->candidates.count = kept;
}

/* Copies the entries and their names. */
static int copy_out(const struct gathering *g, struct elf_symbols *symbols)
{
	static const char suffix[] = "@plt";
	size_t count = g->candidates.count, at = 0, i;
	uint64_t blob_size = 0;

	for (i = 0; i < count; i++)
		blob_size += g->candidates.at[i].length +
			     (g->candidates.at[i].binding == BIND_STUB ? strlen(suffix) : 0) + 1;
	if (blob_size >= GUESSED_BIT)
		return -E2BIG;
	symbols->entries = malloc((count ? count : 1) * sizeof(*symbols->entries));
	symbols->blob = malloc(blob_size ? blob_size : 1);
	if (!symbols->entries || !symbols->blob)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct candidate *c = &g->candidates.at[i];

		symbols->entries[i] = (struct entry){.offset = c->offset, .size = c->size, .name = (uint32_t)at};
		if (c->binding >= BIND_LOCAL)
			symbols->entries[i].name |= LOCAL_BIT;
		if (c->guessed)
			symbols->entries[i].name |= GUESSED_BIT;
		at += (size_t)sprintf(symbols->blob + at, "%.*s%s", (int)c->length, c->name,
				      c->binding == BIND_STUB ? suffix : "");
		at++;
	}
	symbols->base = g->base;
	symbols->count = count;
	symbols->blob_size = blob_size;
	symbols->too_long = g->too_long;
	memcpy(symbols->sources, g->sources[0] ? g->sources : "none", g->sources[0] ? sizeof(g->sources) : 5);
	return 0;
}

static uint64_t entry_end(const struct entry *entry)
{
	return (uint64_t)entry->offset + entry->size;
}

/* Entries enclose later ones as brackets do; those that have ended are left by following the links outwards. */
static void link_enclosing(struct elf_symbols *symbols)
{
	uint32_t open = NO_ENTRY, i;

	for (i = 0; i < symbols->count; i++) {
		struct entry *entry = &symbols->entries[i];

		while (open != NO_ENTRY && entry_end(&symbols->entries[open]) <= entry->offset)
			open = symbols->entries[open].enclosing;
		entry->enclosing = open;
		open = i;
	}
}

int symbols_finish(struct gathering *g, struct diag *diag, int err, struct elf_symbols **ret)
{
	struct elf_symbols *symbols = err ? NULL : calloc(1, sizeof(*symbols));

	if (!err && !symbols)
		err = -ENOMEM;
	if (!err && g->candidates.count) {
		qsort(g->candidates.at, g->candidates.count, sizeof(g->candidates.at[0]), compare_candidates);
		keep_best(g);
		size_unsized(g);
	}
	if (!err)
		err = copy_out(g, symbols);
	vec_free(&g->text);
	vec_free(&g->candidates);
	if (err) {
		elf_symbols_destroy(symbols);
		return diag_fail(diag, -err, "elf.symbols", "%s: symbols: %s", elf_file_path(g->elf), strerror(-err));
	}
	link_enclosing(symbols);
	*ret = symbols;
	return 0;
}

int elf_symbols_create(const struct elf_file *elf, const char *debug_root, struct elf_symbols **ret, struct diag *diag)
{
	struct gathering g = {.elf = elf};
	struct elf_file *debug_file = NULL;
	int err = symbols_find_text(&g);

	if (!err)
		err = gather_all(&g, debug_root, &debug_file);
	if (!err)
		err = elf_file_starved(elf);
	if (!err && debug_file)
		err = elf_file_starved(debug_file);
	err = symbols_finish(&g, diag, err, ret);
	elf_file_close(debug_file);
	return err;
}

void elf_symbols_destroy(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->entries);
	free(symbols->blob);
	free(symbols);
}

bool elf_symbols_at(const struct elf_symbols *symbols, size_t index, struct elf_symbol *ret)
{
	const struct entry *entry;

	if (index >= symbols->count)
		return false;
	entry = &symbols->entries[index];
	*ret = (struct elf_symbol){.vaddr = symbols->base + entry->offset,
				   .size = entry->size,
				   .name = symbols->blob + (entry->name & ~(LOCAL_BIT | GUESSED_BIT)),
				   .local = entry->name & LOCAL_BIT,
				   .guessed = entry->name & GUESSED_BIT};
	return true;
}

bool elf_symbols_lookup(const struct elf_symbols *symbols, uint64_t vaddr, struct elf_symbol *ret)
{
	uint64_t offset = vaddr - symbols->base;
	size_t low = 0, high = symbols->count, i;
	uint32_t index;

	if (vaddr < symbols->base)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->entries[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	index = low ? (uint32_t)(low - 1) : NO_ENTRY;
	for (i = 0; i < NESTED_MAX && index != NO_ENTRY; i++) {
		if (offset < entry_end(&symbols->entries[index]))
			return elf_symbols_at(symbols, index, ret);
		index = symbols->entries[index].enclosing;
	}
	return false;
}

size_t elf_symbols_count(const struct elf_symbols *symbols)
{
	return symbols->count;
}

size_t elf_symbols_too_long(const struct elf_symbols *symbols)
{
	return symbols->too_long;
}

const char *elf_symbols_sources(const struct elf_symbols *symbols)
{
	return symbols->sources;
}

size_t elf_symbols_bytes(const struct elf_symbols *symbols)
{
	return sizeof(*symbols) + symbols->count * sizeof(*symbols->entries) + symbols->blob_size;
}
