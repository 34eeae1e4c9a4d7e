// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwind tables in real BPF maps, and the native walker's lookups in them, against the rows that went in. Without
 * the right to create maps (not root), everything is skipped.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bpf/native.h"
#include "kernel/tables.h"
#include "tap.h"

#define SECOND 1000000000ull
#define RULES  300

static int create(enum bpf_map_type type, uint32_t value, uint32_t entries, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	if (type == BPF_MAP_TYPE_ARRAY)
		options.map_flags = BPF_F_MMAPABLE;
	if (inner >= 0)
		options.inner_map_fd = (uint32_t)inner;
	return bpf_map_create(type, "test", sizeof(uint32_t), value, entries, &options);
}

/* The maps that the sampler's object has. False when they cannot be made. */
static bool create_maps(struct tables_maps *ret)
{
	int slab = bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t), UNWIND_BLOCK_ROWS * sizeof(uint32_t),
				  UNWIND_SLAB_ROWS / UNWIND_BLOCK_ROWS, NULL);

	*ret = (struct tables_maps){
		.mappings = create(BPF_MAP_TYPE_ARRAY, sizeof(struct mapping_entry), MAPPINGS_MAX, -1),
		.pages = create(BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), UNWIND_PAGES_MAX, -1),
		.rules = create(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_rule), UNWIND_RULES_MAX, -1),
		.slabs = slab < 0 ? -1 : create(BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t), UNWIND_SLABS_MAX, slab),
		.processes = create(BPF_MAP_TYPE_HASH, sizeof(struct process_entry), 16, -1),
		.changed = create(BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), 1, -1),
	};
	if (slab >= 0)
		close(slab);
	return ret->mappings >= 0 && ret->pages >= 0 && ret->rules >= 0 && ret->slabs >= 0 && ret->processes >= 0 &&
	       ret->changed >= 0;
}

static void close_maps(const struct tables_maps *maps)
{
	close(maps->mappings);
	close(maps->pages);
	close(maps->rules);
	close(maps->slabs);
	close(maps->processes);
	close(maps->changed);
}

static uint64_t rnd(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
	return (*random >> 11) % below;
}

/* A table as the compiler makes it: rows at random distances, neighbours differ. */
static struct unwind_table random_table(uint64_t *random, uint64_t base, uint32_t size, uint32_t distance)
{
	struct unwind_table table = {.base = base, .end = base + size, .rule_count = RULES};
	uint32_t at, rule = UINT32_MAX;

	table.rows = calloc(size + 1, sizeof(*table.rows));
	table.rules = calloc(RULES, sizeof(*table.rules));
	for (at = 0; at < RULES; at++)
		table.rules[at] = (struct unwind_rule){.kind = UNWIND_SP, .cfa_offset = (int)(at + base % 7) * 8};
	for (at = 0; at < size; at += 1 + (uint32_t)rnd(random, distance)) {
		uint32_t next = (uint32_t)rnd(random, RULES);

		if (next == rule)
			continue;
		rule = next;
		table.rows[table.row_count++] = (struct unwind_row){.offset = at, .rule = rule};
	}
	return table;
}

/* How many of a file's bytes have another rule in the walker's eyes than in the table. */
static uint32_t compare(struct scratch *s, const struct unwind_table *table, const struct tables_run *run)
{
	uint32_t wrong = 0, row = 0;
	uint64_t at;

	s->native.mapping = (struct mapping_entry){.start = table->base,
						   .end = table->end,
						   .bias = run->base,
						   .page_first = run->page_first,
						   .page_count = run->page_count,
						   .kind = MAPPING_TABLE};
	for (at = table->base; at < table->end; at++) {
		const struct unwind_rule *got = table_rule(s, native_find_rule(s, at));

		while (row + 1 < table->row_count && table->rows[row + 1].offset <= at - table->base)
			row++;
		wrong += memcmp(got, &table->rules[table->rows[row].rule], sizeof(*got)) != 0;
	}
	return wrong;
}

/* Does the kernel have the rows that a walk on the host sees? */
static bool kernel_has(const struct tables_maps *maps, const struct walk_host *host)
{
	static uint32_t rows[UNWIND_BLOCK_ROWS];
	uint32_t slab, block, id;
	bool same = true, any = false;

	for (slab = 0; slab < UNWIND_SLABS_MAX; slab++) {
		int fd;

		if (!host->slabs[slab] || bpf_map_lookup_elem(maps->slabs, &slab, &id))
			continue;
		fd = bpf_map_get_fd_by_id(id);
		for (block = 0; block < UNWIND_SLAB_ROWS / UNWIND_BLOCK_ROWS; block++, any = true)
			same &= fd >= 0 && !bpf_map_lookup_elem(fd, &block, rows) &&
				!memcmp(rows, host->slabs[slab] + block * UNWIND_BLOCK_ROWS, sizeof(rows));
		close(fd);
	}
	return same && any;
}

static void test_files(struct tables *tables, struct scratch *s)
{
	static const struct {
		uint64_t base;
		uint32_t size, distance;
	} cases[] = {
		{0x1000, 0x10000, 40}, {0x1234, 0x8000, 10}, {0x401000, 1, 1}, {0x11ff, 2, 1},
		{0x2000, 0x4000, 1},   {0x5678, 0x300, 900}, {0x1001, 511, 3}, {0, 0x80000, 700},
	};
	enum { COUNT = sizeof(cases) / sizeof(*cases) };
	uint64_t random = 0x9e3779b97f4a7c15ull, rows;
	struct unwind_table files[COUNT];
	struct tables_run runs[COUNT];
	struct diag diag = {};
	uint32_t i;

	for (i = 0; i < COUNT; i++) {
		files[i] = random_table(&random, cases[i].base, cases[i].size, cases[i].distance);
		is_int(tables_add(tables, &files[i], &runs[i], &diag), 0, "file %u of %u bytes is added", i,
		       cases[i].size);
	}
	for (i = 0; i < COUNT; i++)
		is_int(compare(s, &files[i], &runs[i]), 0, "file %u: the walker finds every byte's rule", i);
	rows = tables_rows(tables);
	ok(rows > 1000, "%" PRIu64 " rows", rows);
	for (i = 0; i < COUNT; i++) {
		free(files[i].rows);
		free(files[i].rules);
	}
}

/* The rows of a file's parts come one after the other, in any order, and lead to what the whole file has. */
static void test_parts(struct tables *tables, struct scratch *s)
{
	enum { PAGES = 64, PART = 8 };
	uint64_t random = 4710, rows = tables_rows(tables);
	struct unwind_table table = random_table(&random, 0x1234, PAGES * 512 - 0x34, 6);
	const uint32_t absent = UNWIND_ABSENT;
	struct unwind_table none = {.base = table.base, .end = table.end, .rows = table.rows, .rules = table.rules};
	struct tables_run run, other;
	uint32_t wrong = 0, i;
	struct diag diag = {};

	is_int(tables_reserve(tables, table.base, table.end, &run, &diag), 0, "a file without rows");
	is_int(run.page_count, PAGES, "has its pages");
	is_int(compare(s, &none, &run), table.end - table.base, "and none of the rules");
	is_int(table_rule(s, native_find_rule(s, table.base))->kind, absent, "but that they are absent");
	for (i = 0; i < PAGES / PART; i++) {
		uint32_t part = i * 5 % (PAGES / PART);

		wrong += !tables_absent(tables, &run, part * PART);
		wrong += tables_fill(tables, &run, part * PART, PART, &table) != 0;
		wrong += tables_absent(tables, &run, part * PART);
	}
	is_int(wrong, 0, "parts are given");
	is_int(compare(s, &table, &run), 0, "and the walker finds every byte's rule");
	ok(tables_fill(tables, &run, PAGES - 1, 2, &table) == -EINVAL, "no more than there is");
	tables_remove(tables, &run);
	is_int(tables_rows(tables), (int64_t)rows, "all go with the file");
	is_int(tables_fill(tables, &run, 0, 1, &table), -EINVAL, "which then takes none");
	is_int(tables_reserve(tables, table.base, table.end, &other, &diag), 0, "the same room");
	is_int(table_rule(s, native_find_rule(s, table.base))->kind, absent, "is empty again");
	is_int(tables_fill(tables, &other, 0, 1, NULL), 0, "rows that cannot be had");
	is_int(table_rule(s, native_find_rule(s, table.base))->kind, UNWIND_NO_TABLE, "are known not to be there");
	tables_remove(tables, &other);
	free(table.rows);
	free(table.rules);
}

/* What the walker remembers of an address is not that its rows were absent. */
static void test_absent_forgotten(struct tables *tables, struct scratch *s)
{
	uint64_t random = 4709;
	struct unwind_table table = random_table(&random, 0x1000, 0x200, 6);
	struct tables_run run;
	struct diag diag = {};
	__u32 at;

	tables_reserve(tables, table.base, table.end, &run, &diag);
	s->native.memo_key = 12345;
	s->native.mapping = (struct mapping_entry){.start = table.base,
						   .end = table.end,
						   .bias = run.base,
						   .page_first = run.page_first,
						   .page_count = run.page_count,
						   .kind = MAPPING_TABLE};
	at = native_remember_in(s, table.base);
	is_int(s->memo.rules[at].rule.kind, UNWIND_ABSENT, "an address whose rows are absent");
	tables_fill(tables, &run, 0, 1, &table);
	at = native_remember_in(s, table.base);
	is_int(s->memo.rules[at].rule.kind, UNWIND_SP, "is looked up again");
	tables_remove(tables, &run);
	free(table.rows);
	free(table.rules);
}

/* More rows than a slab holds. */
static void test_slabs(struct tables *tables, struct scratch *s)
{
	uint64_t random = 4711;
	struct unwind_table table = random_table(&random, 0x1000, UNWIND_SLAB_ROWS + 100000, 1);
	struct tables_run run;
	struct diag diag = {};

	is_int(tables_add(tables, &table, &run, &diag), 0, "a file with more rows than a slab");
	is_int(compare(s, &table, &run), 0, "is found across both");
	table.end = table.base;
	ok(tables_add(tables, &table, &run, &diag) == -EINVAL && diag.tag, "a file without text is refused");
	free(table.rows);
	free(table.rules);
}

/* No further slab is to be had: what is there goes on being filled, and later there are more. */
static void test_no_slab(struct tables *tables, struct scratch *s)
{
	uint64_t random = 4712;
	struct unwind_table table = random_table(&random, 0x1000, 3 * UNWIND_SLAB_ROWS, 1);
	struct unwind_table small = random_table(&random, 0x1000, 0x400, 1);
	struct rlimit limit, none;
	struct tables_run run;
	struct diag diag = {};

	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	is_int(tables_add(tables, &table, &run, &diag), -EMFILE, "a file that needs another slab");
	is_int(tables_add(tables, &table, &run, &diag), -EMFILE, "and once more");
	setrlimit(RLIMIT_NOFILE, &limit);
	is_int(tables_add(tables, &small, &run, &diag), 0, "a small one");
	is_int(compare(s, &small, &run), 0, "is found");
	is_int(tables_add(tables, &table, &run, &diag), 0, "when there are slabs again, the large one");
	is_int(compare(s, &table, &run), 0, "is found, too");
	free(table.rows);
	free(table.rules);
	free(small.rows);
	free(small.rules);
}

/* Files come and go for long: their room is used again, and what stays is not touched. */
static void test_remove(struct tables *tables, struct scratch *s)
{
	enum { KINDS = 12, KEPT = 6 };
	uint64_t random = 4713, rows = tables_rows(tables), added = 0;
	const struct unwind_table *kept[KEPT] = {};
	struct unwind_table files[KINDS];
	struct tables_run runs[KEPT];
	uint32_t i, at, failed = 0, wrong = 0;
	struct diag diag = {};

	for (i = 0; i < KINDS; i++)
		files[i] = random_table(&random, 0x1000 + 0x1357 * i, UNWIND_SLAB_ROWS / 4 * (1 + i), 3);
	for (i = 0; i < 300; i++) {
		at = (uint32_t)rnd(&random, KEPT);
		if (kept[at]) {
			wrong += i % 16 == 0 && compare(s, kept[at], &runs[at]);
			tables_remove(tables, &runs[at]);
		}
		kept[at] = &files[rnd(&random, KINDS)];
		failed += tables_add(tables, kept[at], &runs[at], &diag) != 0;
		added += kept[at]->row_count;
	}
	is_int(failed, 0, "300 files come and go, six are there at a time");
	ok(added > 1ull * UNWIND_SLABS_MAX * UNWIND_SLAB_ROWS, "and have more rows than there is room for");
	for (at = 0; at < KEPT; at++)
		tables_remove(tables, &runs[at]);
	is_int(wrong, 0, "each has its own rows until it goes");
	is_int(tables_rows(tables), (int64_t)rows, "then as many rows are in use as before");
	tables_remove(tables, &runs[0]);
	is_int(tables_rows(tables), (int64_t)rows, "what is gone already is not removed again");
	for (i = 0; i < KINDS; i++) {
		free(files[i].rows);
		free(files[i].rules);
	}
}

/* Rules that are given later: in place of none, and of no others. */
static void test_learn(struct tables *tables, struct scratch *s)
{
	struct unwind_row rows[] = {{0, 0}, {0x300, 1}, {0x310, 0}};
	struct unwind_rule rules[] = {{.kind = UNWIND_NO_RULE}, {.kind = UNWIND_SP, .cfa_offset = 8}};
	const struct unwind_rule learnt = {.kind = UNWIND_FP, .cfa_offset = 16}, other = {.kind = UNWIND_UNLEARNT};
	struct unwind_table table = {
		.base = 0x1100, .end = 0x9100, .rows = rows, .row_count = 3, .rules = rules, .rule_count = 2};
	uint64_t before = tables_rows(tables), at;
	struct tables_run run = {};
	struct diag diag = {};
	uint32_t wrong = 0;

	is_int(tables_add(tables, &table, &run, &diag), 0, "a file with a gap");
	is_int(tables_learn(tables, &run, 0x1203, 0x1900, &learnt), 0, "a rule over several pages");
	is_int(tables_learn(tables, &run, 0x1ff0, 0x1ff1, &other), 0, "a byte that nothing is learnt of");
	is_int(tables_learn(tables, &run, 0x1ff0, 0x2000, &learnt), 0, "until it is");
	is_int(tables_learn(tables, &run, 0x9000, 0x9fff, &learnt), -EINVAL, "nothing behind the file's end");
	is_int(tables_learn(tables, &run, 0, 0x1200, &learnt), -EINVAL, "nor before it");
	s->native.mapping = (struct mapping_entry){.start = table.base,
						   .end = table.end,
						   .bias = run.base,
						   .page_first = run.page_first,
						   .page_count = run.page_count,
						   .kind = MAPPING_TABLE};
	for (at = table.base; at < table.end; at++) {
		uint8_t kind = table_rule(s, native_find_rule(s, at))->kind, wanted = UNWIND_NO_RULE;

		if (at >= 0x1400 && at < 0x1410)
			wanted = UNWIND_SP;
		else if ((at >= 0x1203 && at < 0x1900) || (at >= 0x1ff0 && at < 0x2000))
			wanted = UNWIND_FP;
		wrong += kind != wanted || tables_rule(tables, &run, at).kind != wanted;
	}
	is_int(wrong, 0, "the walker finds it where there was none, and the file's own elsewhere");
	tables_remove(tables, &run);
	is_int(tables_rows(tables), (int64_t)before, "and it goes with the file");
}

/* A file too large for what is left leaves what is left as it was. */
static void test_full(struct tables *tables)
{
	struct unwind_row row = {};
	struct unwind_rule rule = {.kind = UNWIND_END};
	struct unwind_table table = {.base = 0, .rows = &row, .row_count = 1, .rules = &rule, .rule_count = 1};
	struct tables_run run;
	struct diag diag = {};

	table.end = (uint64_t)UNWIND_PAGES_MAX << UNWIND_PAGE_SHIFT;
	is_int(tables_add(tables, &table, &run, &diag), -ENOSPC, "a file of 1 GiB does not fit any more");
	table.end = 0x1000000;
	is_int(tables_add(tables, &table, &run, &diag), 0, "16 MiB do");
}

/* A file with so many rules that no other has. */
static int add_rules(struct tables *tables, uint32_t count, int32_t first, struct tables_run *ret)
{
	struct unwind_row *rows = calloc(count, sizeof(*rows));
	struct unwind_rule *rules = calloc(count, sizeof(*rules));
	struct unwind_table table = {
		.end = 16ull * count, .rows = rows, .row_count = count, .rules = rules, .rule_count = count};
	struct diag diag = {};
	uint32_t i;
	int err;

	for (i = 0; i < count; i++) {
		rows[i] = (struct unwind_row){.offset = 16 * i, .rule = i};
		rules[i] = (struct unwind_rule){.kind = UNWIND_SP, .cfa_offset = first + 8 * (int32_t)i};
	}
	err = tables_add(tables, &table, ret, &diag);
	free(rows);
	free(rules);
	return err;
}

/* What one process may take of rules, and what is left for others. */
static void test_shared(struct tables *tables)
{
	const struct share_owner hog = {1000, 1}, victim = {1000, 2}, nobody = SHARE_NOBODY;
	const uint32_t most = UNWIND_RULES_MAX / 2 / 16 * 12;
	const struct tables_refusal *refusal = tables_refusals(tables, TABLES_RULES);
	uint64_t before = refusal->count;
	struct tables_run first, second;

	tables_charge(tables, &hog);
	is_int(add_rules(tables, most + 1, 1 << 24, &first), -ENOSPC, "more rules than a process may have");
	is_int((int64_t)tables_left(tables, TABLES_RULES), most, "none of them stays");
	is_int(add_rules(tables, most, 1 << 24, &first), 0, "as many as it may");
	is_int(add_rules(tables, 2, 1 << 28, &second), -ENOSPC, "no other");
	ok(refusal->count == before + 2 && refusal->most.process == 1 && refusal->most.user == 1000 &&
		   refusal->whole == UNWIND_RULES_MAX,
	   "who has them is known");
	is_int(add_rules(tables, most, 1 << 24, &second), 0, "those that are there cost nothing");
	tables_remove(tables, &first);
	is_int((int64_t)tables_left(tables, TABLES_RULES), 0, "and are held as long as one file has them");
	tables_charge(tables, &victim);
	is_int(add_rules(tables, 5000, 1 << 28, &first), 0, "another process has room");
	tables_remove(tables, &first);
	tables_remove(tables, &second);
	tables_charge(tables, &hog);
	is_int((int64_t)tables_left(tables, TABLES_RULES), most, "all is given back");
	tables_charge(tables, &nobody);
}

/* A part whose rows find no room leaves nothing behind, however often it is tried. */
static void test_part_without_room(struct tables *tables)
{
	const struct share_owner hog = {1001, 3}, nobody = SHARE_NOBODY;
	const uint32_t bytes = 1u << 20, pages = bytes >> UNWIND_PAGE_SHIFT;
	struct unwind_row *rows = calloc(bytes, sizeof(*rows));
	struct unwind_rule rules[] = {{.kind = UNWIND_SP, .cfa_offset = 1 << 20},
				      {.kind = UNWIND_FP, .cfa_offset = 1 << 20}};
	struct unwind_table table = {.end = bytes, .rows = rows, .row_count = 700000, .rules = rules, .rule_count = 2};
	uint64_t all, held, left[2];
	struct tables_run run;
	struct diag diag = {};
	uint32_t i, part = 0;
	int err = 0;

	for (i = 0; i < bytes; i++)
		rows[i] = (struct unwind_row){.offset = i, .rule = i & 1};
	tables_charge(tables, &hog);
	all = tables_left(tables, TABLES_ROWS);
	is_int(tables_reserve(tables, 0, 256ull * bytes, &run, &diag), 0, "a file by parts");
	for (; !err && part < 256; part++) {
		held = tables_rows(tables);
		left[0] = tables_left(tables, TABLES_ROWS);
		left[1] = tables_left(tables, TABLES_RULES);
		table.base = (uint64_t)part * bytes;
		table.end = table.base + bytes;
		err = tables_fill(tables, &run, part * pages, pages, &table);
	}
	ok(err == -ENOSPC && part > 1 && left[0], "%u parts of it have room", part - 1);
	for (i = 0; i < 3; i++)
		err = err == -ENOSPC ? tables_fill(tables, &run, (part - 1) * pages, pages, &table) : 0;
	ok(err == -ENOSPC && tables_rows(tables) == held && tables_left(tables, TABLES_ROWS) == left[0] &&
		   tables_left(tables, TABLES_RULES) == left[1],
	   "what was tried leaves nothing");
	tables_remove(tables, &run);
	is_int((int64_t)tables_left(tables, TABLES_ROWS), (int64_t)all, "all is given back");
	tables_charge(tables, &nobody);
	free(rows);
}

/* A part that there is no room for. */
static void test_refused(struct tables *tables, struct scratch *s)
{
	struct tables_run run;
	struct diag diag = {};

	tables_reserve(tables, 0, 4096, &run, &diag);
	s->native.mapping = (struct mapping_entry){
		.end = 4096, .kind = MAPPING_TABLE, .page_first = run.page_first, .page_count = run.page_count};
	is_int(tables_refuse(tables, &run, 0, 4), 0, "pages that are refused");
	is_int(native_find_rule(s, 100), RULE_TABLE_FULL, "say so");
	is_int(native_find_rule(s, 4 * 512), RULE_ABSENT, "others do not");
	tables_forgive(tables, &run);
	is_int(native_find_rule(s, 100), RULE_ABSENT, "and are looked for again when there may be room");
	tables_remove(tables, &run);
}

static int publish(struct tables *tables, uint32_t tgid, uint64_t now, const struct mapping_entry *mappings,
		   uint32_t count, struct process_entry *ret)
{
	const struct publication publication = {
		.now = now, .valid_from = now, .epoch = 7, .count = count, .mappings = mappings};

	return tables_publish(tables, tgid, &publication, ret);
}

static void test_publish(struct tables *tables, const struct tables_maps *maps, struct scratch *s)
{
	struct mapping_entry *many = calloc(MAPPINGS_MAX, sizeof(*many));
	struct process_entry entry = {}, other = {}, old, found;
	uint32_t tgid = 42, i;

	for (i = 0; i < MAPPINGS_MAX; i++)
		many[i] = (struct mapping_entry){
			.start = 0x1000ull * i, .end = 0x1000ull * i + 0x800, .kind = MAPPING_FP_CHAIN};
	is_int(publish(tables, tgid, 5 * SECOND, many, 100, &entry), 0, "a process is published");
	ok(!bpf_map_lookup_elem(maps->processes, &tgid, &found) && !memcmp(&found, &entry, sizeof(found)),
	   "and found in the map");
	ok(entry.valid_from == 5 * SECOND && entry.mapping_count == 100 && entry.epoch == 7 && entry.generation,
	   "with what was said");
	s->native.mapping_first = entry.mapping_first;
	s->native.mapping_count = entry.mapping_count;
	s->native.mapping.start = s->native.mapping.end = 0;
	is_int(native_find_rule(s, 0x1000 * 99 + 0x7ff), RULE_FP_CHAIN, "the walker finds its last mapping");
	old = entry;
	is_int(publish(tables, tgid, 6 * SECOND, many, 50, &entry), 0, "again");
	ok(entry.generation != old.generation && entry.mapping_first >= old.mapping_first + old.mapping_count,
	   "elsewhere, with another generation");
	old = entry;
	is_int(publish(tables, tgid, 6 * SECOND + 1, many, 50, &entry), 0, "once more, the same mappings");
	ok(entry.generation != old.generation && entry.mapping_first == old.mapping_first &&
		   entry.valid_from == 6 * SECOND + 1 && !bpf_map_lookup_elem(maps->processes, &tgid, &found) &&
		   !memcmp(&found, &entry, sizeof(found)),
	   "where they are, with another generation");
	many[49].kind = MAPPING_NO_TABLE;
	is_int(publish(tables, tgid, 6 * SECOND + 2, many, 50, &entry), 0, "one is another");
	ok(entry.mapping_first != old.mapping_first, "elsewhere again");
	many[49].kind = MAPPING_FP_CHAIN;
	tables_collect(tables, 6 * SECOND + SECOND / 2);
	is_int(publish(tables, 43, 6 * SECOND, many, MAPPINGS_MAX - 200 + 1, &other), -ENOSPC,
	       "too many for what is left");
	is_int(publish(tables, 43, 6 * SECOND, many, MAPPINGS_MAX - 200, &other), 0, "just as many");
	tables_withdraw(tables, 43, &other, 7 * SECOND);
	tables_withdraw(tables, tgid, &entry, 7 * SECOND);
	ok(bpf_map_lookup_elem(maps->processes, &tgid, &found) < 0, "a process that was withdrawn is gone");
	other = (struct process_entry){};
	tables_collect(tables, 9 * SECOND);
	is_int(publish(tables, 44, 9 * SECOND, many, MAPPINGS_MAX, &other), 0, "after the grace all is free again");
	entry = (struct process_entry){};
	is_int(publish(tables, 45, 9 * SECOND, many, 0, &entry), 0, "a process without mappings");
	tables_withdraw(tables, 44, &other, 9 * SECOND);
	tables_withdraw(tables, 45, &entry, 9 * SECOND);
	tables_collect(tables, 19 * SECOND);
	for (i = 0, other = (struct process_entry){}; i < 16; i++, other = (struct process_entry){})
		publish(tables, 100 + i, 20 * SECOND, many, 1, &other);
	ok(publish(tables, 99, 20 * SECOND, many, 1, &other) < 0 && !other.generation, "a full map is told");
	free(many);
}

int main(void)
{
	struct walk_host host = {};
	struct scratch *s = calloc(1, sizeof(*s));
	struct tables_maps maps;
	struct tables *tables;
	struct diag diag = {};

	if (!create_maps(&maps)) {
		printf("1..0 # SKIP BPF maps cannot be created: %s\n", strerror(errno));
		return 0;
	}
	if (!ok(!tables_create(&maps, &tables, &diag), "tables are created"))
		return tap_done();
	tables_host(tables, &host);
	s->host = &host;
	test_files(tables, s);
	test_parts(tables, s);
	test_absent_forgotten(tables, s);
	test_slabs(tables, s);
	ok(kernel_has(&maps, &host), "and the kernel has the same rows");
	test_no_slab(tables, s);
	test_learn(tables, s);
	test_remove(tables, s);
	test_shared(tables);
	test_part_without_room(tables);
	test_refused(tables, s);
	test_full(tables);
	test_publish(tables, &maps, s);
	tables_destroy(tables);
	close_maps(&maps);
	free(s);
	ok(tables_create(&(struct tables_maps){-1, -1, -1, -1, -1}, &tables, &diag) < 0 && diag.tag,
	   "no maps, no tables");
	return tap_done();
}
