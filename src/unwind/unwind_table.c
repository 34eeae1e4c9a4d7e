// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiling .eh_frame to rows.
 *
 *   .eh_frame ──scan──▶ FDEs (20 bytes each) ──sort by start──▶ run one after the other ──▶ rows, in order
 *                                                  gaps between them ◀── fillers: PLT, entry point, trampolines
 *
 * Rows are made in their final order, so nothing but the FDEs is sorted, and no row is stored twice. Of FDEs that
 * overlap, the one that starts first keeps what it covers, at one start the one that comes first in the section.
 *
 * Rows are exact to the byte. A walker looks a return address up with pc - 1 (the call may be its function's last
 * instruction), the innermost frame's pc as it is.
 *
 * What CFI does not cover is gaps.c's business, but for two things:
 * - The entry point has no caller, whatever its FDE says.
 * - The system call in clone(): child and parent return from it, on different stacks, so glibc ends the FDE before it
 *   and begins the child's, where the return address is undefined, behind it. The parent, in the kernel or back from
 *   it, goes by the rule before the gap; the child is told by the result of the system call: UNWIND_CLONE.
 */
#include "unwind/unwind_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "unwind/builder.h"

/* Longest gap around a system call. */
#define SYSCALL_GAP_MAX 32
/* Bytes of .eh_frame that an FDE mostly takes, or more. */
#define BYTES_OF_FDE 40
/* Rows that an FDE mostly has, or less. */
#define ROWS_OF_FDE 13
/* FDEs that are compiled in a millisecond or two. */
#define FDES_A_PAUSE 4096

static uint64_t rule_key(struct unwind_rule rule)
{
	uint64_t key;

	_Static_assert(sizeof(key) == sizeof(rule), "a rule is its own key");
	memcpy(&key, &rule, sizeof(key));
	return key;
}

/* The index of a rule, which is added when it is new. */
static uint32_t intern_rule(struct builder *b, struct unwind_rule rule)
{
	uint64_t key = rule_key(rule) + 1, index; /* no rule is all ones: kinds are few */
	struct recent_rule *recent = &b->recent[key * 0x9e3779b97f4a7c15ull >> 32 & (RECENT_RULES - 1)];

	if (recent->key == key)
		return recent->index;
	if (!table_get(&b->rule_index, key, &index)) {
		index = b->rules.count;
		if (vec_push(&b->rules, rule) || table_set(&b->rule_index, key, index)) {
			b->err = -ENOMEM;
			return 0;
		}
	}
	*recent = (struct recent_rule){.key = key, .index = (uint32_t)index};
	return (uint32_t)index;
}

void builder_add_row(struct builder *b, uint32_t offset, struct unwind_rule rule)
{
	struct unwind_row row = {.offset = offset, .rule = intern_rule(b, rule)};

	if (b->rows.count && b->rows.at[b->rows.count - 1].offset == offset)
		b->rows.count--;
	if (b->rows.count && b->rows.at[b->rows.count - 1].rule == row.rule)
		return;
	if (b->rows.count >= UNWIND_ROWS_MAX)
		b->err = -EFBIG;
	else if (vec_push(&b->rows, row))
		b->err = -ENOMEM;
}

/*
 * Row `index` says that no rule covers the gap from it to `end`. When the gap is the system call of clone() before the
 * child's code, the rule before goes on, for the parent.
 */
static void bridge_syscall_gap(struct builder *b, size_t index, uint32_t end)
{
	uint32_t start = b->rows.at[index].offset;
	struct unwind_rule rule;
	const uint8_t *bytes;

	if (!index || end - start > SYSCALL_GAP_MAX || b->rules.at[b->rows.at[index].rule].kind != UNWIND_NO_RULE)
		return;
	bytes = elf_file_bytes_at(b->elf, b->table->base + start, end - start);
	if (!bytes || !b->arch->is_syscall(bytes, end - start))
		return;
	rule = b->rules.at[b->rows.at[index - 1].rule];
	if (rule.kind == UNWIND_SP)
		rule.kind = UNWIND_CLONE;
	b->rows.at[index].rule = intern_rule(b, rule);
}

/* What CFI says of code that a runtime knows better. */
static void adapt(const struct builder *b, struct unwind_rule *rule)
{
	const struct unwind_source *source;
	size_t i;

	for (i = 0; unwind_source_at(i, &source); i++)
		if (source && source->adapt)
			source->adapt(b->arch, rule);
}

static void add_range(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
	struct builder *b = context;
	uint64_t from = start - b->table->base, to = end - b->table->base;
	struct unwind_rule rule;

	if (from < b->done)
		from = b->done;
	if (from >= to)
		return;
	rule = cfi_rule(b->arch, state, b->signal);
	adapt(b, &rule);
	builder_add_row(b, (uint32_t)from, rule);
	b->done = (uint32_t)to;
}

void builder_compile_fde(struct builder *b, const struct fde_ref *ref)
{
	const struct cie_entry *cie = &b->cies.at[ref->cie];
	const struct cfi_sink sink = {.range = add_range, .context = b};
	const struct eh_fde fde = {.start = b->table->base + ref->start,
				   .size = ref->size,
				   .instructions = ref->instructions,
				   .instructions_size = ref->instructions_size};
	uint32_t end = ref->start + ref->size, from;
	size_t rows, gap = SIZE_MAX;

	if (end <= b->done)
		return;
	if (ref->start > b->done) {
		builder_fill_gap(b, ref->start);
		gap = b->rows.count - 1;
	}
	from = b->done;
	rows = b->rows.count;
	b->signal = cie->cie.signal;
	if (b->has_entry && ref->start == b->entry) {
		builder_add_row(b, from, (struct unwind_rule){.kind = UNWIND_END});
		b->done = end;
	} else if (!cfi_run_fde(b->arch, &b->frame, &cie->cie, &cie->initial, &fde, &sink)) {
		b->rows.count = rows;
		b->done = from;
		b->signal = false;
		b->table->fde_skipped++;
		return;
	}
	b->table->covered_bytes += end - from;
	if (gap != SIZE_MAX && rows < b->rows.count && b->rules.at[b->rows.at[rows].rule].kind == UNWIND_END)
		bridge_syscall_gap(b, gap, ref->start);
}

/* The CIE at an offset of the section, parsed and run at its first use; the index of its entry, which may be unusable.
 */
static int find_cie(struct builder *b, uint32_t at, uint32_t *ret)
{
	struct cie_entry entry = {};
	uint64_t index;

	if (!table_get(&b->cie_index, (uint64_t)at + 1, &index)) {
		entry.usable = eh_cie_parse(&b->frame, at, &entry.cie) &&
			       cfi_run_cie(b->arch, &b->frame, &entry.cie, &entry.initial);
		index = b->cies.count;
		if (vec_push(&b->cies, entry) || table_set(&b->cie_index, (uint64_t)at + 1, index))
			return -ENOMEM;
	}
	*ret = (uint32_t)index;
	return 0;
}

/* What a linker discarded does not lie in the text. */
int builder_collect_fde(struct builder *b, const struct eh_entry *entry)
{
	const struct unwind_table *table = b->table;
	struct fde_ref ref;
	struct eh_fde fde;
	int err = find_cie(b, entry->cie, &ref.cie);

	if (err)
		return err;
	if (!b->cies.at[ref.cie].usable || !eh_fde_parse(&b->frame, entry, &b->cies.at[ref.cie].cie, &fde)) {
		b->table->fde_skipped++;
		return 0;
	}
	if (!fde.size || fde.start < table->base || fde.start >= table->end)
		return 0;
	if (fde.size > table->end - fde.start)
		fde.size = table->end - fde.start;
	if (b->fdes.count >= UNWIND_FDES_MAX)
		return -EFBIG;
	ref.start = (uint32_t)(fde.start - table->base);
	ref.size = (uint32_t)fde.size;
	ref.instructions = fde.instructions;
	ref.instructions_size = fde.instructions_size;
	return vec_push(&b->fdes, ref);
}

static size_t at_most(size_t count, size_t most)
{
	return count < most ? count : most;
}

static int scan(struct builder *b)
{
	struct eh_entry entry = {};
	int err = 0;

	large_reserve(&b->fdes, at_most(b->frame.section.size / BYTES_OF_FDE, UNWIND_FDES_MAX));
	while (!err && (entry = eh_entry_at(&b->frame, entry.next)).kind != EH_END) {
		if (entry.kind == EH_FDE)
			err = builder_collect_fde(b, &entry);
		else if (entry.kind == EH_TERMINATOR && b->frame.section.type == SHT_NULL)
			break; /* without section headers, what follows is something else */
	}
	if (!err && entry.kind == EH_END && entry.at + (uint64_t)4 <= b->frame.section.size)
		b->table->fde_skipped++;
	return err;
}

/* A stable radix sort by start, 11 bits at a time: 130,000 FDEs of a large library take 2 ms. */
int builder_sort_fdes(struct builder *b)
{
	enum { BITS = 11, BUCKETS = 1 << BITS };
	struct fde_ref *from = b->fdes.at, *to, *swap;
	size_t count = b->fdes.count, i;
	unsigned int shift;

	for (i = 1; i < count && from[i - 1].start <= from[i].start; i++)
		;
	if (i >= count)
		return 0;
	to = large_alloc(count * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (shift = 0; shift < 32; shift += BITS) {
		size_t place[BUCKETS + 1] = {};

		for (i = 0; i < count; i++)
			place[(from[i].start >> shift) % BUCKETS + 1]++;
		for (i = 1; i <= BUCKETS; i++)
			place[i] += place[i - 1];
		for (i = 0; i < count; i++)
			to[place[(from[i].start >> shift) % BUCKETS]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	b->fdes.at = from;
	b->fdes.capacity = count;
	free(to);
	return 0;
}

static int find_text(struct builder *b, struct diag *diag)
{
	struct unwind_table *table = b->table;
	const char *path = elf_file_path(b->elf);
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(b->elf, &count);
	for (i = 0; i < count; i++) {
		const struct elf_segment *s = &segments[i];

		if (!(s->flags & PF_X) || !s->memsz)
			continue;
		if (!table->end || s->vaddr < table->base)
			table->base = s->vaddr;
		if (s->vaddr + s->memsz > table->end)
			table->end = s->vaddr + s->memsz;
		table->text_bytes += s->memsz;
	}
	if (!table->end)
		return diag_fail(diag, EBADMSG, "unwind.text", "%s: has no executable segment", path);
	if (table->end - table->base > UINT32_MAX)
		return diag_fail(diag, E2BIG, "unwind.size", "%s: its code spans more than 4 GiB", path);
	return 0;
}

int builder_collect_fdes(struct builder *b)
{
	struct elf_section hdr;
	int err = 0;

	if (elf_file_eh_frame(b->elf, &b->frame.section, &hdr)) {
		b->frame.hdr_vaddr = hdr.vaddr;
		err = scan(b);
	} else {
		b->frame.section = (struct elf_section){};
	}
	return err ? err : builder_sort_fdes(b);
}

static int build(struct builder *b)
{
	size_t i;
	int err = builder_collect_fdes(b);

	if (!err)
		err = builder_find_fillers(b);
	if (!err)
		large_reserve(&b->rows, at_most(b->fdes.count * ROWS_OF_FDE, UNWIND_ROWS_MAX));
	for (i = 0; i < b->fdes.count && !err; i++) {
		builder_compile_fde(b, &b->fdes.at[i]);
		err = b->err;
		if (b->options->pause && i % FDES_A_PAUSE == FDES_A_PAUSE - 1)
			b->options->pause(b->options->context);
	}
	if (err)
		return err;
	builder_fill_gap(b, (uint32_t)(b->table->end - b->table->base));
	return b->err;
}

/* Without the room they grew into. */
void builder_finish(struct builder *b)
{
	struct unwind_table *table = b->table;
	struct unwind_row *rows = realloc(b->rows.at, (b->rows.count ? b->rows.count : 1) * sizeof(*rows));
	size_t i;

	table->rows = rows ? rows : b->rows.at;
	table->row_count = b->rows.count;
	table->rules = b->rules.at;
	table->rule_count = b->rules.count;
	table->fde_count = b->fdes.count;
	for (i = 0; i < table->row_count; i++)
		table->unsupported += table->rules[table->rows[i].rule].kind == UNWIND_UNSUPPORTED;
	b->rows.at = NULL;
	b->rules.at = NULL;
}

void builder_deinit(struct builder *b)
{
	vec_free(&b->rows);
	vec_free(&b->rules);
	vec_free(&b->fdes);
	vec_free(&b->cies);
	vec_free(&b->fixed);
	vec_free(&b->told);
	vec_free(&b->derived);
	table_deinit(&b->rule_index);
	table_deinit(&b->cie_index);
}

int builder_init(struct builder *b, const struct elf_file *elf, const struct unwind_options *options,
		 struct unwind_table *table, struct diag *diag)
{
	static const struct unwind_options none;

	*b = (struct builder){.elf = elf,
			      .options = options ? options : &none,
			      .arch = arch_of(elf_file_machine(elf))->unwind,
			      .table = table,
			      .window_end = UINT32_MAX};
	if (!b->arch)
		return diag_fail(diag, ENOTSUP, "unwind.machine", "%s: strata cannot unwind this architecture",
				 elf_file_path(elf));
	return find_text(b, diag);
}

int unwind_code_functions(const struct elf_file *elf,
			  int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context)
{
	struct unwind_table table = {};
	struct builder b;
	int err = builder_init(&b, elf, NULL, &table, NULL);

	if (!err)
		err = builder_collect_fdes(&b);
	if (!err)
		err = builder_find_functions(&b, visit, context);
	builder_deinit(&b);
	return err == -ENOMEM ? err : 0;
}

int unwind_follow(const struct elf_file *elf, const struct unwind_options *options, struct diag *diag)
{
	struct unwind_table table = {};
	struct builder b;
	int err = builder_init(&b, elf, options, &table, diag);

	if (err)
		return err;
	err = builder_collect_fdes(&b);
	if (!err)
		err = builder_find_fillers(&b);
	if (!err)
		err = elf_file_unread(elf);
	builder_deinit(&b);
	return err;
}

int unwind_table_compile(const struct elf_file *elf, const struct unwind_options *options, struct unwind_table *ret,
			 struct diag *diag)
{
	const char *path = elf_file_path(elf);
	struct unwind_table table = {};
	struct builder b;
	int err = builder_init(&b, elf, options, &table, diag);

	if (err)
		return err;
	err = build(&b);
	if (!err)
		err = elf_file_unread(elf);
	if (err && err != -ENOMEM) {
		diag_fail(diag, -err, "unwind.read", "%s: %s", path, strerror(-err));
	} else if (err) {
		diag_fail(diag, -err, "unwind.memory", "%s: out of memory for its unwind table", path);
	} else if (b.frame.section.bytes && !table.covered_bytes && table.fde_skipped) {
		err = diag_fail(diag, EBADMSG, "unwind.damaged", "%s: nothing in its .eh_frame makes sense", path);
	} else {
		builder_finish(&b);
		*ret = table;
		if (!b.frame.section.bytes && !ret->covered_bytes)
			err = diag_fail(diag, ENOENT, "unwind.none",
					"%s: has no .eh_frame, and nothing could be derived from its code", path);
	}
	builder_deinit(&b);
	return err;
}

void unwind_table_deinit(struct unwind_table *table)
{
	free(table->rows);
	free(table->rules);
	*table = (struct unwind_table){};
}

struct unwind_rule unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr)
{
	size_t low = 0, high = table->row_count;

	if (vaddr < table->base || vaddr >= table->end)
		return (struct unwind_rule){.kind = UNWIND_NO_RULE};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].offset <= vaddr - table->base)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? table->rules[table->rows[low - 1].rule] : (struct unwind_rule){.kind = UNWIND_NO_RULE};
}
