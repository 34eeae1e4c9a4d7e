// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the symbols of some addresses only. A library of 350 MB has 740,000 symbols, whose names take 90 MB; a
 * recording asks for a few hundred. So the tables are read three times from one end to the other, 24 KiB at a time, and
 * only the names that are needed are kept. Each wanted address gets the same answer as with all symbols:
 *
 *   pass 1  for each wanted address: the nearest start at or below it, of any symbol. A symbol without a size reaches
 *           no farther than the next start
 *   pass 2  the starts of the sized symbols that cover a wanted address or one of those starts: a label inside a sized
 *           symbol is no start
 *   pass 3  the symbols at all these starts, with their names: the best one at an address decides how far it reaches
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "elf/debug_file.h"
#include "elf/internal.h"
#include "elf/plt.h"
#include "elf/symbols_parts.h"

#define SYMBOLS_AT_ONCE 1024
#define WINDOW          512 /* bytes of names that are read at once */
#define BUCKETS         4096

/* Sorted offsets, each once, and where those of a part of the text begin. */
struct places {
	VEC(uint32_t) at;
	uint32_t buckets[BUCKETS + 1];
	unsigned int shift;
};

struct source {
	const struct elf_file *elf; /* NULL: the PLT's stubs */
	struct elf_symtab_place place;
};

enum pass { PASS_NEAREST, PASS_COVERING, PASS_TAKE };

struct search {
	struct gathering g;
	struct source sources[4];
	size_t source_count;
	enum pass pass;
	struct places wanted;
	uint32_t
		*nearest; /* of each wanted one, the largest start up to it and behind the wanted one before; or none */
	struct places starts;
	VEC(uint32_t) covering;
	struct arena names;
	uint64_t budget; /* bytes of names */
	uint64_t window_at;
	size_t window_size;
	char window[WINDOW];
	char name[ELF_NAME_MAX + 1];
	size_t functions; /* that the source at hand has */
};

#define NO_START UINT32_MAX

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts what was pushed. `reach`: no offset is larger. */
static void places_sort(struct places *places, uint64_t reach)
{
	size_t i, kept = 0;
	uint32_t bucket;

	if (places->at.count)
		qsort(places->at.at, places->at.count, sizeof(*places->at.at), by_value);
	for (i = 0; i < places->at.count; i++)
		if (!kept || places->at.at[kept - 1] != places->at.at[i])
			places->at.at[kept++] = places->at.at[i];
	places->at.count = kept;
	for (places->shift = 0; reach >> places->shift >= BUCKETS; places->shift++)
		;
	for (i = bucket = 0; bucket <= BUCKETS; bucket++) {
		while (i < kept && places->at.at[i] >> places->shift < bucket)
			i++;
		places->buckets[bucket] = (uint32_t)i;
	}
}

/* The first place that is not below an offset; their count when all are. */
static size_t places_find(const struct places *places, uint32_t offset)
{
	uint32_t bucket = offset >> places->shift;
	size_t low = places->buckets[bucket < BUCKETS ? bucket : BUCKETS];
	size_t high = bucket < BUCKETS ? places->buckets[bucket + 1] : places->at.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->at.at[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What passes 1 and 2 note of a symbol in the text. 0 or -ENOMEM. */
static int note(struct search *search, uint32_t start, uint32_t size)
{
	size_t at = places_find(&search->wanted, start);
	uint32_t *nearest;

	if (at == search->wanted.at.count)
		return 0;
	if (search->pass == PASS_NEAREST) {
		nearest = &search->nearest[at];
		if (*nearest == NO_START || *nearest < start)
			*nearest = start;
		return 0;
	}
	return search->wanted.at.at[at] - start < size ? vec_push(&search->covering, start) : 0;
}

static bool is_start(const struct search *search, uint32_t start)
{
	size_t at = places_find(&search->starts, start);

	return at < search->starts.at.count && search->starts.at.at[at] == start;
}

/* The name's bytes from `at` on that are at hand, some at least; NULL when there are none. */
static const char *look(struct search *search, const struct source *source, uint64_t at, size_t *size)
{
	uint64_t left;

	if (at >= source->place.strings_size)
		return NULL;
	if (at < search->window_at || at + 2 > search->window_at + search->window_size) {
		left = source->place.strings_size - at;
		search->window_at = at;
		search->window_size = left < WINDOW ? left : WINDOW;
		if (!elf_file_copy(source->elf, source->place.strings + at, search->window_size, search->window)) {
			search->window_size = 0;
			return NULL;
		}
	}
	*size = search->window_size - (at - search->window_at);
	return search->window + (at - search->window_at);
}

static bool is_label(struct search *search, const struct source *source, const Elf64_Sym *symbol)
{
	size_t size;
	const char *name = look(search, source, symbol->st_name, &size);
	char letters[3] = {};

	if (!name)
		return true; /* there is no name */
	memcpy(letters, name, size < 2 ? size : 2);
	return !*letters || symbols_is_label(symbol, letters);
}

/* Copies a name into the arena, less its version. 0 with NULL when it is not one, or -ENOMEM. */
static int read_name(struct search *search, const struct source *source, const Elf64_Sym *symbol, const char **ret)
{
	size_t length = 0, size;
	const char *bytes, *end = NULL;
	char *name = search->name;

	*ret = NULL;
	while (!end) {
		bytes = look(search, source, symbol->st_name + length, &size);
		if (!bytes)
			return 0;
		if (length + size > sizeof(search->name) || size > search->budget) {
			search->g.too_long++;
			return 0;
		}
		search->budget -= size;
		end = memchr(bytes, 0, size);
		memcpy(name + length, bytes, end ? (size_t)(end - bytes) : size);
		length += end ? (size_t)(end - bytes) : size;
	}
	end = memchr(name, '@', length);
	*ret = arena_strdup(&search->names, name, end ? (size_t)(end - name) : length);
	return *ret ? 0 : -ENOMEM;
}

static int take(struct search *search, const struct source *source, const Elf64_Sym *symbol)
{
	const char *name;
	int err = read_name(search, source, symbol, &name);

	if (err || !name)
		return err;
	return symbols_add(&search->g, symbol->st_value, symbol->st_size, name, strlen(name), symbols_binding(symbol));
}

static int visit(struct search *search, const struct source *source, const Elf64_Sym *symbol)
{
	const struct gathering *g = &search->g;
	uint64_t left = g->end - symbol->st_value;
	uint32_t start;

	if (symbol->st_value < g->base || symbol->st_value >= g->end || !symbols_is_function(source->elf, symbol) ||
	    (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE && is_label(search, source, symbol)))
		return 0;
	search->functions++;
	start = (uint32_t)(symbol->st_value - g->base);
	if (search->pass == PASS_TAKE)
		return is_start(search, start) ? take(search, source, symbol) : 0;
	return note(search, start, (uint32_t)(symbol->st_size < left ? symbol->st_size : left));
}

static int visit_stub(void *context, uint64_t vaddr, uint64_t size, const char *name)
{
	struct search *search = context;
	const struct gathering *g = &search->g;
	uint32_t start = (uint32_t)(vaddr - g->base);

	if (vaddr < g->base || vaddr >= g->end || !*name || *name == '@')
		return 0;
	search->functions++;
	if (search->pass == PASS_TAKE)
		return is_start(search, start)
			       ? symbols_add(&search->g, vaddr, size, name, strcspn(name, "@"), BIND_STUB)
			       : 0;
	return note(search, start, (uint32_t)(size < g->end - vaddr ? size : g->end - vaddr));
}

/* One pass over one source. */
static int read_source(struct search *search, const struct source *source)
{
	uint64_t first, count, i;
	Elf64_Sym *symbols;
	int err = 0;

	search->functions = 0;
	if (!source->elf)
		return elf_plt_each(search->g.elf, visit_stub, search);
	symbols = malloc(SYMBOLS_AT_ONCE * sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	search->window_size = 0;
	search->budget = elf_names_budget(source->place.strings_size);
	for (first = 0; first < source->place.count && !err; first += count) {
		count = source->place.count - first < SYMBOLS_AT_ONCE ? source->place.count - first : SYMBOLS_AT_ONCE;
		if (!elf_file_copy(source->elf, source->place.symbols + first * sizeof(*symbols),
				   count * sizeof(*symbols), symbols))
			break;
		for (i = !first; i < count && !err; i++) /* the first one is none */
			err = visit(search, source, &symbols[i]);
	}
	free(symbols);
	return err;
}

/* The first pass over a table, which is a source if it has any functions. How many, or -ENOMEM. */
static ssize_t add_table(struct search *search, const struct elf_file *elf, uint32_t type, const char *name)
{
	struct source *source = &search->sources[search->source_count];
	int err;

	*source = (struct source){.elf = elf};
	if (!elf || !elf_file_symtab_place(elf, type, &source->place))
		return 0;
	err = read_source(search, source);
	if (err)
		return err;
	if (search->functions) {
		search->source_count++;
		symbols_add_source(&search->g, name);
	}
	return (ssize_t)search->functions;
}

/* Where the debug file is, if it is asked. */
struct debug_place {
	const char *root;          /* NULL: it is */
	struct foreign_file *file; /* or NULL: there is none */
};

/* The same sources as for all symbols (symbols.c). */
static int add_sources(struct search *search, const struct debug_place *place, struct elf_file **debug_file)
{
	const struct elf_file *elf = search->g.elf;
	bool whole;
	ssize_t got = add_table(search, elf, SHT_SYMTAB, "symtab");
	int err;

	whole = got > 0;
	if (!got)
		got = add_table(search, elf_file_minidebug(elf), SHT_SYMTAB, "minidebug");
	if (got >= 0 && !whole) {
		*debug_file = place->root   ? elf_debug_file_open(elf, place->root)
			      : place->file ? elf_debug_file_check(elf, place->file)
					    : NULL;
		got = add_table(search, *debug_file, SHT_SYMTAB, "debugfile");
	}
	if (got >= 0)
		got = add_table(search, elf, SHT_DYNSYM, "dynsym");
	if (got < 0)
		return (int)got;
	search->sources[search->source_count] = (struct source){};
	err = read_source(search, &search->sources[search->source_count]);
	if (!err && search->functions) {
		search->source_count++;
		symbols_add_source(&search->g, "plt");
	}
	return err;
}

static int read_sources(struct search *search, enum pass pass)
{
	size_t i;
	int err = 0;

	search->pass = pass;
	for (i = 0; i < search->source_count && !err; i++)
		err = read_source(search, &search->sources[i]);
	return err;
}

static int want(struct search *search, const uint64_t *vaddrs, size_t count)
{
	const struct gathering *g = &search->g;
	size_t i;
	int err = vec_reserve(&search->wanted.at, count);

	for (i = 0; i < count && !err; i++)
		if (vaddrs[i] >= g->base && vaddrs[i] < g->end)
			search->wanted.at.at[search->wanted.at.count++] = (uint32_t)(vaddrs[i] - g->base);
	places_sort(&search->wanted, g->end - g->base);
	search->nearest = malloc((search->wanted.at.count + 1) * sizeof(*search->nearest));
	if (search->nearest)
		memset(search->nearest, 0xff, search->wanted.at.count * sizeof(*search->nearest));
	return err || !search->nearest ? -ENOMEM : 0;
}

/* After the first pass: the nearest starts are wanted as well. */
static int want_nearest(struct search *search)
{
	size_t count = search->wanted.at.count, i;
	uint32_t before = NO_START;
	int err = vec_reserve(&search->wanted.at, count);

	for (i = 0; i < count && !err; i++) {
		before = search->nearest[i] == NO_START ? before : search->nearest[i];
		if (before == NO_START)
			continue;
		search->wanted.at.at[search->wanted.at.count++] = before;
		err = vec_push(&search->starts.at, before);
	}
	places_sort(&search->wanted, search->g.end - search->g.base);
	return err;
}

/* After the second one: where the symbols begin that are taken. */
static int add_covering(struct search *search)
{
	size_t i;
	int err = vec_reserve(&search->starts.at, search->covering.count);

	for (i = 0; i < search->covering.count && !err; i++)
		search->starts.at.at[search->starts.at.count++] = search->covering.at[i];
	places_sort(&search->starts, search->g.end - search->g.base);
	return err;
}

static int find(struct search *search, const struct debug_place *place, struct elf_file **debug_file,
		const uint64_t *vaddrs, size_t count)
{
	int err = symbols_find_text(&search->g);

	if (!err)
		err = want(search, vaddrs, count);
	if (!err)
		err = add_sources(search, place, debug_file);
	if (!err)
		err = want_nearest(search);
	if (!err)
		err = read_sources(search, PASS_COVERING);
	if (!err)
		err = add_covering(search);
	if (!err)
		err = read_sources(search, PASS_TAKE);
	if (!err)
		err = elf_file_starved(search->g.elf);
	if (!err && *debug_file)
		err = elf_file_starved(*debug_file);
	return err;
}

static int create(const struct elf_file *elf, const struct debug_place *place, const uint64_t *vaddrs, size_t count,
		  struct elf_symbols **ret, struct diag *diag)
{
	struct search *search = calloc(1, sizeof(*search));
	struct elf_file *debug_file = NULL;
	int err;

	if (!search)
		return diag_fail(diag, ENOMEM, "elf.symbols", "%s: symbols: %s", elf_file_path(elf), strerror(ENOMEM));
	search->g.elf = elf;
	err = find(search, place, &debug_file, vaddrs, count);
	err = symbols_finish(&search->g, diag, err, ret);
	elf_file_close(debug_file);
	vec_free(&search->wanted.at);
	vec_free(&search->starts.at);
	vec_free(&search->covering);
	free(search->nearest);
	arena_deinit(&search->names);
	free(search);
	return err;
}

int elf_symbols_create_for(const struct elf_file *elf, const char *debug_root, const uint64_t *vaddrs, size_t count,
			   struct elf_symbols **ret, struct diag *diag)
{
	return create(elf, &(struct debug_place){.root = debug_root}, vaddrs, count, ret, diag);
}

int elf_symbols_create_with(const struct elf_file *elf, struct foreign_file *debug_file, const uint64_t *vaddrs,
			    size_t count, struct elf_symbols **ret, struct diag *diag)
{
	return create(elf, &(struct debug_place){.file = debug_file}, vaddrs, count, ret, diag);
}
