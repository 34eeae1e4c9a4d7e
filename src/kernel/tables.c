// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tables_parts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/large.h"

#define SLAB_BYTES    (UNWIND_SLAB_ROWS * sizeof(uint32_t))
#define SLABS_AT_ONCE 4 /* 8 MiB of the kernel's memory */
#define SLAB_BLOCKS   (UNWIND_SLAB_ROWS / UNWIND_BLOCK_ROWS)
#define BLOCK_BYTES   (UNWIND_BLOCK_ROWS * sizeof(uint32_t))

_Static_assert(SLAB_BLOCKS <= 32, "a bit each");

/* Makes one slab, not in the outer map yet. Its descriptor, or a negative errno. */
static int create_slab(void)
{
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t), BLOCK_BYTES, SLAB_BLOCKS, NULL);
}

/* Puts slabs [first, first + count) into the outer map; at once where the kernel can, as each call waits for RCU. */
static int insert_slabs(struct tables *tables, uint32_t first, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options, .elem_flags = BPF_ANY);
	uint32_t indices[SLABS_AT_ONCE], i, done = count;

	for (i = 0; i < count; i++)
		indices[i] = first + i;
	if (!bpf_map_update_batch(tables->maps.slabs, indices, &tables->slab_fds[first], &done, &options))
		return 0;
	for (i = 0; i < count; i++)
		if (bpf_map_update_elem(tables->maps.slabs, &indices[i], &tables->slab_fds[first + i], BPF_ANY))
			return -errno;
	return 0;
}

static void drop_slab(struct tables *tables, uint32_t slab)
{
	free(tables->slabs[slab]);
	close(tables->slab_fds[slab]);
	extents_deinit(&tables->free_rows[slab]);
	tables->slabs[slab] = NULL;
	tables->dirty[slab] = 0;
}

static uint32_t *create_copy(void)
{
	uint32_t *copy = large_alloc(SLAB_BYTES);

	if (copy)
		memset(copy, 0, SLAB_BYTES);
	return copy;
}

static int add_slabs(struct tables *tables)
{
	uint32_t first = tables->slab_count, count = 0;
	int fd = 0, err = 0;

	while (count < SLABS_AT_ONCE && first + count < UNWIND_SLABS_MAX) {
		fd = create_slab();
		if (fd < 0)
			break;
		tables->slab_fds[first + count] = fd;
		err = extents_init(&tables->free_rows[first + count], UNWIND_SLAB_ROWS);
		count++;
		if (err)
			break;
	}
	if (!count)
		return fd < 0 ? fd : -ENOSPC;
	if (!err)
		err = insert_slabs(tables, first, count);
	if (err) {
		while (count--)
			drop_slab(tables, first + count);
		return err;
	}
	tables->slab_count += count;
	return 0;
}

/* A run of rows in the first slab from `slab` on that has one. */
static int take_rows(struct tables *tables, uint32_t slab, uint32_t count, struct chunk *ret)
{
	for (; slab < tables->slab_count; slab++) {
		if (extents_take(&tables->free_rows[slab], count, &ret->rows.first))
			continue;
		if (!tables->slabs[slab])
			tables->slabs[slab] = create_copy();
		if (!tables->slabs[slab]) {
			extents_give(&tables->free_rows[slab], ret->rows.first, count);
			return -ENOMEM;
		}
		ret->slab = slab;
		ret->rows.count = count;
		return 0;
	}
	return -ENOSPC;
}

/* A run of `wanted` rows at best, and of `least` at least. */
static int find_rows(struct tables *tables, uint32_t wanted, uint32_t least, struct chunk *ret)
{
	uint32_t slabs = tables->slab_count;
	int err;

	if (!take_rows(tables, 0, wanted, ret))
		return 0;
	err = add_slabs(tables);
	if (!err)
		return take_rows(tables, slabs, wanted, ret);
	for (; wanted > least; wanted = wanted / 2 > least ? wanted / 2 : least)
		if (!take_rows(tables, 0, wanted, ret))
			return 0;
	return take_rows(tables, 0, least, ret) ? err : 0;
}

int tables_create(const struct tables_maps *maps, struct tables **ret, struct diag *diag)
{
	struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return diag_fail(diag, ENOMEM, "tables.memory", "out of memory");
	tables->maps = *maps;
	tables->owner = SHARE_NOBODY;
	tables_init_shares(tables);
	if (shared_array_open(&tables->mapping_array, maps->mappings, MAPPINGS_MAX * sizeof(*tables->mappings)) ||
	    shared_array_open(&tables->page_array, maps->pages, UNWIND_PAGES_MAX * sizeof(*tables->pages)) ||
	    tables_rules_init(&tables->rules, maps->rules) || extents_init(&tables->free_mappings, MAPPINGS_MAX) ||
	    extents_init(&tables->free_pages, UNWIND_PAGES_MAX)) {
		tables_destroy(tables);
		return diag_fail(diag, ENOMEM, "tables.map", "the unwind tables cannot be mapped: %s", strerror(errno));
	}
	tables->mappings = (void *)tables->mapping_array.at;
	tables->pages = (void *)tables->page_array.at;
	*ret = tables;
	return 0;
}

void tables_prepare(struct tables *tables)
{
	if (!tables->slab_count)
		add_slabs(tables);
}

static void file_destroy(struct file *file)
{
	vec_free(&file->chunks);
	vec_free(&file->rules);
	free(file);
}

void tables_destroy(struct tables *tables)
{
	struct table_slot *slot;
	uint32_t i;
	size_t at;

	if (!tables)
		return;
	shared_array_close(&tables->mapping_array);
	shared_array_close(&tables->page_array);
	tables_rules_deinit(&tables->rules);
	for (i = 0; i < tables->slab_count; i++)
		drop_slab(tables, i);
	for (at = 0; (slot = table_next(&tables->files, &at));)
		file_destroy((struct file *)(uintptr_t)slot->value);
	table_deinit(&tables->files);
	extents_deinit(&tables->free_mappings);
	extents_deinit(&tables->free_pages);
	for (i = 0; i < TABLES_KINDS; i++)
		shares_deinit(&tables->shares[i]);
	table_deinit(&tables->mapping_owners);
	vec_free(&tables->retired);
	free(tables);
}

/* The rules of a table for a file; those of an earlier part stay in front. 0, or a negative errno with none taken. */
static int take_rules(struct tables *tables, struct file *file, const struct unwind_table *table)
{
	size_t before = file->rules.count;
	uint32_t i, number;
	int err = vec_reserve(&file->rules, table->rule_count);

	for (i = 0; i < table->rule_count && !err; i++) {
		err = tables_rules_take(&tables->rules, &table->rules[i], &tables->shares[TABLES_RULES], &file->owner,
					&number);
		if (!err)
			file->rules.at[file->rules.count++] = number;
	}
	if (err == -ENOSPC)
		tables_note_full(tables, TABLES_RULES);
	while (err && file->rules.count > before)
		tables_rules_give(&tables->rules, &tables->shares[TABLES_RULES], file->rules.at[--file->rules.count]);
	return err;
}

/* Gives back all that a file takes but its page index, and the file. */
static void file_remove(struct tables *tables, struct file *file)
{
	uint32_t i;

	for (i = 0; i < file->chunks.count; i++) {
		const struct chunk *chunk = &file->chunks.at[i];

		extents_give(&tables->free_rows[chunk->slab], chunk->rows.first, chunk->rows.count);
	}
	for (i = 0; i < file->rules.count; i++)
		tables_rules_give(&tables->rules, &tables->shares[TABLES_RULES], file->rules.at[i]);
	shares_give(&tables->shares[TABLES_ROWS], &file->owner, file->row_count);
	shares_give(&tables->shares[TABLES_PAGES], &file->owner, file->page_count);
	tables->rows -= file->row_count;
	file_destroy(file);
}

struct page_writer {
	struct tables *tables;
	const struct unwind_table *table;
	struct file *file;
	const uint32_t *rules; /* the table's rule numbers → global ones */
	uint64_t shift;        /* vaddr of row offset 0, from the first page's start */
	size_t row;            /* first row after the page's start */
	uint32_t rule;         /* in force at the page's start */
	uint32_t pages;        /* still to be written */
	uint32_t used;         /* rows of the file's last chunk */
};

/* What the last chunk has left is free again. */
static void trim_chunk(struct page_writer *w)
{
	struct chunk *last;

	if (!w->file->chunks.count)
		return;
	last = &w->file->chunks.at[w->file->chunks.count - 1];
	extents_give(&w->tables->free_rows[last->slab], last->rows.first + w->used, last->rows.count - w->used);
	last->rows.count = w->used;
}

/* Makes room for `count` rows in one slab, where the file's last chunk ends or in another one. */
static int reserve_rows(struct page_writer *w, uint32_t count)
{
	/* All that is left, and a row for each page. */
	uint64_t wanted = w->table->row_count - w->row + w->pages + count;
	struct chunk chunk;
	int err;

	if (w->file->chunks.count && w->file->chunks.at[w->file->chunks.count - 1].rows.count - w->used >= count)
		return 0;
	trim_chunk(w);
	if (vec_reserve(&w->file->chunks, 1))
		return -ENOMEM;
	err = find_rows(w->tables, wanted < UNWIND_SLAB_ROWS ? (uint32_t)wanted : UNWIND_SLAB_ROWS, count, &chunk);
	if (err) {
		w->used = w->file->chunks.count ? w->file->chunks.at[w->file->chunks.count - 1].rows.count : 0;
		return err;
	}
	w->used = 0;
	return vec_push(&w->file->chunks, chunk);
}

/* The same, where they lie in one block. */
static int reserve_in_block(struct page_writer *w, uint32_t count)
{
	for (;;) {
		const struct chunk *chunk;
		uint32_t place;
		int err = reserve_rows(w, count);

		if (err)
			return err;
		chunk = &w->file->chunks.at[w->file->chunks.count - 1];
		place = (chunk->rows.first + w->used) % UNWIND_BLOCK_ROWS;
		if (place + count <= UNWIND_BLOCK_ROWS)
			return 0;
		w->used += UNWIND_BLOCK_ROWS - place;
	}
}

/* Gives the kernel the blocks that were written. 0 or a negative errno. */
static int write_blocks(struct tables *tables)
{
	uint32_t slab;

	for (slab = 0; slab < tables->slab_count; slab++) {
		while (tables->dirty[slab]) {
			uint32_t block = (uint32_t)__builtin_ctz(tables->dirty[slab]);

			if (bpf_map_update_elem(tables->slab_fds[slab], &block,
						tables->slabs[slab] + (size_t)block * UNWIND_BLOCK_ROWS, BPF_ANY))
				return -errno;
			tables->dirty[slab] &= tables->dirty[slab] - 1;
		}
	}
	return 0;
}

/* Writes the rows of one page; the page's entry, or 0 with *err when there is no room. */
static uint64_t write_page(struct page_writer *w, uint64_t start, int *err)
{
	const uint64_t size = 1u << UNWIND_PAGE_SHIFT;
	uint32_t rows[1u << UNWIND_PAGE_SHIFT], count = 0;
	const struct chunk *chunk;
	uint32_t first;

	rows[count++] = ROW(0, w->rule);
	for (; w->row < w->table->row_count; w->row++) {
		uint64_t at = w->table->rows[w->row].offset + w->shift;
		uint32_t rule;

		if (at >= start + size)
			break;
		rule = w->rules[w->table->rows[w->row].rule];
		w->rule = rule;
		if (at == start)
			count = 0;
		else if (ROW_RULE(rows[count - 1]) == rule)
			continue;
		if (count < size)
			rows[count++] = ROW(at - start, rule);
	}
	w->pages--;
	if (count == 1)
		return PAGE_SINGLE_RULE | ROW_RULE(rows[0]);
	*err = reserve_in_block(w, count);
	if (*err == -ENOSPC)
		tables_note_full(w->tables, TABLES_ROWS);
	if (!*err)
		*err = tables_take(w->tables, TABLES_ROWS, &w->file->owner, count);
	if (*err)
		return 0;
	chunk = &w->file->chunks.at[w->file->chunks.count - 1];
	first = chunk->rows.first + w->used;
	memcpy(&w->tables->slabs[chunk->slab][first], rows, count * sizeof(*rows));
	w->tables->dirty[chunk->slab] |= 1u << first / UNWIND_BLOCK_ROWS;
	w->used += count;
	w->file->row_count += count;
	w->tables->rows += count;
	return PAGE_ROWS(chunk->slab, first, count);
}

/* The rule in force where the page begins that is written first, and the row behind. */
static void skip_rows(struct page_writer *w, uint64_t start)
{
	while (w->row < w->table->row_count && w->table->rows[w->row].offset + w->shift < start)
		w->rule = w->rules[w->table->rows[w->row++].rule];
}

/* Takes back what was written for a part that did not get all of its rows. */
static void undo(struct tables *tables, struct file *file, size_t chunks, uint32_t rows, uint32_t rules)
{
	while (file->chunks.count > chunks) {
		const struct chunk *chunk = &file->chunks.at[--file->chunks.count];

		if (chunk->rows.count)
			extents_give(&tables->free_rows[chunk->slab], chunk->rows.first, chunk->rows.count);
	}
	shares_give(&tables->shares[TABLES_ROWS], &file->owner, file->row_count - rows);
	tables->rows -= file->row_count - rows;
	file->row_count = rows;
	while (rules--)
		tables_rules_give(&tables->rules, &tables->shares[TABLES_RULES], file->rules.at[--file->rules.count]);
}

/*
 * The entries of `count` pages from page `first` of the run on, and their rows. 0, or a negative errno: then nothing
 * was added.
 */
static int write_pages(struct tables *tables, const struct unwind_table *table, struct file *file,
		       const struct tables_run *run, uint32_t first, uint32_t count, uint64_t *entries)
{
	struct page_writer writer = {
		.tables = tables, .table = table, .file = file, .shift = table->base - run->base, .pages = count};
	const size_t chunks = file->chunks.count;
	const uint32_t rows = file->row_count;
	uint32_t i;
	int err = take_rules(tables, file, table);

	if (err)
		return err;
	writer.rules = file->rules.at + file->rules.count - table->rule_count;
	/* What the last chunk had left was given back. */
	writer.used = file->chunks.count ? file->chunks.at[file->chunks.count - 1].rows.count : 0;
	skip_rows(&writer, (uint64_t)first << UNWIND_PAGE_SHIFT);
	for (i = 0; !err && i < count; i++)
		entries[i] = write_page(&writer, (uint64_t)(first + i) << UNWIND_PAGE_SHIFT, &err);
	trim_chunk(&writer);
	if (!err)
		err = write_blocks(tables);
	if (err)
		undo(tables, file, chunks, rows, table->rule_count);
	return err;
}

static int take_file(struct tables *tables, uint64_t base, uint64_t end, struct file **file, struct tables_run *ret,
		     struct diag *diag)
{
	const uint64_t page = 1u << UNWIND_PAGE_SHIFT;
	struct tables_run run = {.base = base & ~(page - 1)};
	int err;

	run.page_count = (uint32_t)((end - run.base + page - 1) >> UNWIND_PAGE_SHIFT);
	if (!run.page_count || end <= base)
		return diag_fail(diag, EINVAL, "tables.empty", "the file has no text");
	*file = calloc(1, sizeof(**file));
	if (!*file)
		return diag_fail(diag, ENOMEM, "tables.memory", "out of memory");
	(*file)->owner = tables->owner;
	err = tables_take(tables, TABLES_PAGES, &tables->owner, run.page_count);
	if (!err) {
		(*file)->page_count = run.page_count;
		err = extents_take(&tables->free_pages, run.page_count, &run.page_first);
		if (err == -ENOSPC)
			tables_note_full(tables, TABLES_PAGES);
	}
	if (!err) {
		err = shared_array_reach(&tables->page_array,
					 (run.page_first + (size_t)run.page_count) * sizeof(*tables->pages));
		if (!err)
			err = table_set(&tables->files, run.page_first + 1ull, (uint64_t)(uintptr_t)*file);
		if (err)
			extents_give(&tables->free_pages, run.page_first, run.page_count);
	}
	if (err) {
		file_remove(tables, *file);
		return diag_fail(diag, -err, "tables.full", "the kernel's unwind tables are full: %s", strerror(-err));
	}
	*ret = run;
	return 0;
}

int tables_reserve(struct tables *tables, uint64_t base, uint64_t end, struct tables_run *ret, struct diag *diag)
{
	struct file *file;
	int err = take_file(tables, base, end, &file, ret, diag);

	if (!err)
		memset(&tables->pages[ret->page_first], 0, ret->page_count * sizeof(*tables->pages));
	return err;
}

int tables_add_unlearnt(struct tables *tables, uint64_t base, uint64_t end, struct tables_run *ret)
{
	struct file *file;
	uint32_t i;
	int err = take_file(tables, base, end, &file, ret, NULL);

	for (i = 0; !err && i < ret->page_count; i++)
		tables->pages[ret->page_first + i] = PAGE_SINGLE_RULE | RULE_ABSENT;
	return err;
}

int tables_add(struct tables *tables, const struct unwind_table *table, struct tables_run *ret, struct diag *diag)
{
	struct tables_run run;
	struct file *file;
	int err = take_file(tables, table->base, table->end, &file, &run, diag);

	if (err)
		return err;
	err = write_pages(tables, table, file, &run, 0, run.page_count, &tables->pages[run.page_first]);
	if (err) {
		tables_remove(tables, &run);
		return diag_fail(diag, -err, "tables.full", "the kernel's unwind tables are full: %s", strerror(-err));
	}
	*ret = run;
	return 0;
}

static struct file *file_of(const struct tables *tables, const struct tables_run *run)
{
	uint64_t found;

	return table_get(&tables->files, run->page_first + 1ull, &found) ? (struct file *)(uintptr_t)found : NULL;
}

bool tables_absent(const struct tables *tables, const struct tables_run *run, uint32_t page)
{
	return page < run->page_count && tables->pages[run->page_first + page] == PAGE_ABSENT;
}

/* Gives pages that are absent the rows of a table, or if there is none, a rule to all. */
static int fill(struct tables *tables, const struct tables_run *run, uint32_t first, uint32_t count,
		const struct unwind_table *table, enum rule_index other)
{
	struct file *file = file_of(tables, run);
	uint64_t *entries;
	uint32_t i;
	int err = 0;

	if (!file || first > run->page_count || count > run->page_count - first)
		return -EINVAL;
	entries = calloc(count + 1ull, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (table)
		err = write_pages(tables, table, file, run, first, count, entries);
	/* The rows are where the walkers look before the entries lead to them. */
	for (i = 0; i < count && !err; i++) {
		uint64_t entry = table ? entries[i] : PAGE_SINGLE_RULE | other;

		if (tables_absent(tables, run, first + i))
			__atomic_store_n(&tables->pages[run->page_first + first + i], entry, __ATOMIC_RELEASE);
	}
	free(entries);
	return err;
}

int tables_fill(struct tables *tables, const struct tables_run *run, uint32_t first, uint32_t count,
		const struct unwind_table *table)
{
	return fill(tables, run, first, count, table, RULE_NO_TABLE);
}

int tables_refuse(struct tables *tables, const struct tables_run *run, uint32_t first, uint32_t count)
{
	return fill(tables, run, first, count, NULL, RULE_TABLE_FULL);
}

void tables_forgive(struct tables *tables, const struct tables_run *run)
{
	uint32_t i;

	for (i = 0; i < run->page_count; i++)
		if (tables->pages[run->page_first + i] == (PAGE_SINGLE_RULE | RULE_TABLE_FULL))
			__atomic_store_n(&tables->pages[run->page_first + i], PAGE_ABSENT, __ATOMIC_RELEASE);
	tables_changed(tables);
}

/* Room for a page's rows, all in one block, added to what the file takes. */
static int add_chunk(struct tables *tables, struct file *file, uint32_t count, struct chunk *ret)
{
	uint32_t skip;
	int err = vec_reserve(&file->chunks, 1);

	if (!err)
		err = find_rows(tables, 2 * count, 2 * count, ret);
	if (err)
		return err;
	skip = UNWIND_BLOCK_ROWS - ret->rows.first % UNWIND_BLOCK_ROWS;
	skip = skip < count ? skip : 0;
	extents_give(&tables->free_rows[ret->slab], ret->rows.first, skip);
	extents_give(&tables->free_rows[ret->slab], ret->rows.first + skip + count, count - skip);
	ret->rows = (struct extent){ret->rows.first + skip, count};
	return vec_push(&file->chunks, *ret);
}

/* The rule's number in force at each byte of a page. */
static void expand_page(const struct tables *tables, uint64_t page, uint16_t by_byte[static 1u << UNWIND_PAGE_SHIFT])
{
	const uint32_t *rows = page & PAGE_SINGLE_RULE ? NULL : &tables->slabs[PAGE_SLAB(page)][PAGE_FIRST(page)];
	uint32_t i, row = 0;

	for (i = 0; i < 1u << UNWIND_PAGE_SHIFT; i++) {
		while (rows && row + 1 < PAGE_COUNT(page) && rows[row + 1] >> 16 <= i)
			row++;
		by_byte[i] = (uint16_t)(rows ? ROW_RULE(rows[row]) : page);
	}
}

static int write_learnt(struct tables *tables, struct file *file,
			const uint16_t by_byte[static 1u << UNWIND_PAGE_SHIFT], uint64_t *ret)
{
	uint32_t rows[1u << UNWIND_PAGE_SHIFT], count = 0, i;
	struct chunk chunk;
	int err;

	for (i = 0; i < 1u << UNWIND_PAGE_SHIFT; i++)
		if (!i || by_byte[i] != by_byte[i - 1])
			rows[count++] = ROW(i, by_byte[i]);
	*ret = PAGE_SINGLE_RULE | by_byte[0];
	if (count == 1)
		return 0;
	err = tables_take(tables, TABLES_ROWS, &file->owner, count);
	if (err)
		return err;
	err = add_chunk(tables, file, count, &chunk);
	if (err) {
		shares_give(&tables->shares[TABLES_ROWS], &file->owner, count);
		return err;
	}
	memcpy(&tables->slabs[chunk.slab][chunk.rows.first], rows, count * sizeof(*rows));
	tables->dirty[chunk.slab] |= 1u << chunk.rows.first / UNWIND_BLOCK_ROWS;
	file->row_count += count;
	tables->rows += count;
	*ret = PAGE_ROWS(chunk.slab, chunk.rows.first, count);
	return write_blocks(tables);
}

int tables_learn(struct tables *tables, const struct tables_run *run, uint64_t start, uint64_t end,
		 const struct unwind_rule *rule)
{
	const uint64_t page = 1u << UNWIND_PAGE_SHIFT;
	struct file *file = file_of(tables, run);
	uint16_t by_byte[1u << UNWIND_PAGE_SHIFT];
	uint64_t at, stop, entry;
	uint32_t number;
	int err = 0;

	if (!file || start < run->base || start >= end || end - run->base > run->page_count * page)
		return -EINVAL;
	if (vec_reserve(&file->rules, 1))
		return -ENOMEM;
	err = tables_rules_take(&tables->rules, rule, &tables->shares[TABLES_RULES], &file->owner, &number);
	if (err)
		return err;
	file->rules.at[file->rules.count++] = number;
	for (at = start - run->base; at < end - run->base && !err; at = stop) {
		uint64_t *to = &tables->pages[run->page_first + at / page];
		bool changed = false;
		uint64_t i;

		stop = (at / page + 1) * page < end - run->base ? (at / page + 1) * page : end - run->base;
		if (*to == PAGE_ABSENT)
			continue;
		expand_page(tables, *to, by_byte);
		for (i = at % page; i < at % page + (stop - at); i++)
			if (by_byte[i] == RULE_NONE || by_byte[i] == RULE_UNLEARNT || by_byte[i] == RULE_ABSENT) {
				changed |= by_byte[i] != number;
				by_byte[i] = (uint16_t)number;
			}
		if (!changed)
			continue;
		err = write_learnt(tables, file, by_byte, &entry);
		/* The rows are where the walkers look before the entry leads to them. */
		if (!err)
			__atomic_store_n(to, entry, __ATOMIC_RELEASE);
	}
	return err;
}

uint32_t tables_rule_number(const struct tables *tables, const struct tables_run *run, uint64_t vaddr)
{
	uint16_t by_byte[1u << UNWIND_PAGE_SHIFT];
	uint64_t offset = vaddr - run->base;

	if (vaddr < run->base || offset >> UNWIND_PAGE_SHIFT >= run->page_count)
		return RULE_NONE;
	if (tables_absent(tables, run, (uint32_t)(offset >> UNWIND_PAGE_SHIFT)))
		return RULE_ABSENT;
	expand_page(tables, tables->pages[run->page_first + (offset >> UNWIND_PAGE_SHIFT)], by_byte);
	return by_byte[offset % (1u << UNWIND_PAGE_SHIFT)];
}

struct unwind_rule tables_rule(const struct tables *tables, const struct tables_run *run, uint64_t vaddr)
{
	return tables->rules.at[tables_rule_number(tables, run, vaddr)];
}

void tables_remove(struct tables *tables, const struct tables_run *run)
{
	struct file *file = file_of(tables, run);

	if (!file)
		return;
	table_remove(&tables->files, run->page_first + 1ull);
	file_remove(tables, file);
	extents_give(&tables->free_pages, run->page_first, run->page_count);
}

/* Gives back the last slab when nothing lies in it: what needed it is gone. One at a time, as that waits for RCU. */
void tables_drop_last_slab(struct tables *tables)
{
	uint32_t last = tables->slab_count - 1;
	const struct extents *rows = &tables->free_rows[last];

	if (tables->slab_count <= SLABS_AT_ONCE || rows->free.count != 1 ||
	    rows->free.at[0].count != UNWIND_SLAB_ROWS || bpf_map_delete_elem(tables->maps.slabs, &last))
		return;
	drop_slab(tables, last);
	tables->slab_count--;
}

void tables_host(const struct tables *tables, struct walk_host *ret)
{
	ret->mappings = tables->mappings;
	ret->pages = (const __u64 *)tables->pages;
	ret->slabs = (const __u32 *const *)tables->slabs;
	ret->rules = tables->rules.at;
}

uint64_t tables_rows(const struct tables *tables)
{
	return tables->rows;
}
