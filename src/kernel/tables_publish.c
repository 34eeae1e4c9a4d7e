// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "kernel/tables_parts.h"

/* How the tables are shared: in docs/SECURITY.md, with what happens beyond. */
static const struct shares limits[TABLES_KINDS] = {
	[TABLES_MAPPINGS] = {.whole = MAPPINGS_MAX, .floor = 256, .user_16ths = 12, .process_16ths = 12},
	[TABLES_PAGES] = {.whole = UNWIND_PAGES_MAX, .floor = 1 << 15, .user_16ths = 8, .process_16ths = 12},
	[TABLES_RULES] = {.whole = UNWIND_RULES_MAX, .floor = 1 << 10, .user_16ths = 8, .process_16ths = 12},
	[TABLES_ROWS] = {.whole = (uint64_t)UNWIND_SLABS_MAX * UNWIND_SLAB_ROWS,
			 .floor = 1 << 18,
			 .user_16ths = 8,
			 .process_16ths = 12},
};

void tables_init_shares(struct tables *tables)
{
	memcpy(tables->shares, limits, sizeof(limits));
}

void tables_note_full(struct tables *tables, enum tables_kind kind)
{
	struct tables_refusal *refusal = &tables->refusals[kind];

	refusal->whole = tables->shares[kind].whole;
	if (!refusal->count++)
		shares_most(&tables->shares[kind], &refusal->most, &refusal->held);
}

int tables_take(struct tables *tables, enum tables_kind kind, const struct share_owner *owner, uint64_t amount)
{
	int err = shares_take(&tables->shares[kind], owner, amount);

	if (err == -ENOSPC)
		tables_note_full(tables, kind);
	return err;
}

void tables_charge(struct tables *tables, const struct share_owner *owner)
{
	tables->owner = *owner;
}

uint64_t tables_left(const struct tables *tables, enum tables_kind kind)
{
	return shares_left(&tables->shares[kind], &tables->owner);
}

const struct tables_refusal *tables_refusals(const struct tables *tables, enum tables_kind kind)
{
	return &tables->refusals[kind];
}

void tables_changed(const struct tables *tables)
{
	uint64_t time = time_ns(CLOCK_MONOTONIC);
	uint32_t zero = 0;

	bpf_map_update_elem(tables->maps.changed, &zero, &time, BPF_ANY);
}

static struct share_owner mapping_owner(const struct tables *tables, uint32_t first)
{
	uint64_t found;

	if (!table_get(&tables->mapping_owners, first + 1ull, &found))
		return SHARE_NOBODY;
	return (struct share_owner){.user = (uint32_t)(found >> 32), .process = (uint32_t)found};
}

/* A run of mappings for the owner of what is added. */
static int take_mappings(struct tables *tables, uint32_t count, uint32_t *first)
{
	const struct share_owner *owner = &tables->owner;
	int err = tables_take(tables, TABLES_MAPPINGS, owner, count);

	if (err)
		return err;
	err = extents_take(&tables->free_mappings, count, first);
	if (err == -ENOSPC)
		tables_note_full(tables, TABLES_MAPPINGS);
	if (!err) {
		err = shared_array_reach(&tables->mapping_array, (*first + (size_t)count) * sizeof(*tables->mappings));
		if (!err)
			err = table_set(&tables->mapping_owners, *first + 1ull,
					(uint64_t)owner->user << 32 | owner->process);
		if (err)
			extents_give(&tables->free_mappings, *first, count);
	}
	if (err)
		shares_give(&tables->shares[TABLES_MAPPINGS], owner, count);
	return err;
}

static void give_mappings(struct tables *tables, uint32_t first, uint32_t count)
{
	const struct share_owner owner = mapping_owner(tables, first);

	extents_give(&tables->free_mappings, first, count);
	shares_give(&tables->shares[TABLES_MAPPINGS], &owner, count);
	table_remove(&tables->mapping_owners, first + 1ull);
}

static int retire(struct tables *tables, uint32_t first, uint32_t count, uint64_t now)
{
	return count ? vec_push(&tables->retired, (struct retired){.at = now, .run = {first, count}}) : 0;
}

/* Are the mappings those that the walks have already? Then they keep their run: it is only their time that changes. */
static bool are_the_same(const struct tables *tables, const struct publication *publication,
			 const struct process_entry *before)
{
	return before->generation && before->mapping_count == publication->count &&
	       !memcmp(&tables->mappings[before->mapping_first], publication->mappings,
		       publication->count * sizeof(*publication->mappings));
}

int tables_publish(struct tables *tables, uint32_t tgid, const struct publication *publication,
		   struct process_entry *ret)
{
	const uint32_t count = publication->count;
	struct process_entry entry = {.valid_from = publication->valid_from,
				      .changed = publication->changed,
				      .generation = ++tables->generation,
				      .mapping_count = count,
				      .epoch = publication->epoch,
				      .unnamed = publication->unnamed,
				      .tgid = tgid};
	const bool taken = count && !are_the_same(tables, publication, ret);
	int err = 0;

	if (!taken)
		entry.mapping_first = ret->mapping_first;
	else
		err = take_mappings(tables, count, &entry.mapping_first);
	if (err)
		return err;
	if (taken)
		memcpy(&tables->mappings[entry.mapping_first], publication->mappings,
		       count * sizeof(*publication->mappings));
	entry.check = process_entry_check(&entry);
	if (bpf_map_update_elem(tables->maps.processes, &tgid, &entry, BPF_ANY)) {
		err = -errno;
		if (taken)
			give_mappings(tables, entry.mapping_first, count);
		return err;
	}
	tables_changed(tables);
	if (ret->generation && (taken || !count))
		retire(tables, ret->mapping_first, ret->mapping_count, publication->now);
	*ret = entry;
	return 0;
}

void tables_withdraw(struct tables *tables, uint32_t tgid, const struct process_entry *entry, uint64_t now)
{
	struct process_entry now_there;

	/* The pid may be another process's by now. */
	if (!bpf_map_lookup_elem(tables->maps.processes, &tgid, &now_there) &&
	    now_there.generation == entry->generation) {
		bpf_map_delete_elem(tables->maps.processes, &tgid);
		tables_changed(tables);
	}
	retire(tables, entry->mapping_first, entry->mapping_count, now);
}

void tables_collect(struct tables *tables, uint64_t now)
{
	size_t i, kept = 0;

	for (i = 0; i < tables->retired.count; i++) {
		const struct retired *old = &tables->retired.at[i];

		if (old->at + TABLES_GRACE_NS > now)
			tables->retired.at[kept++] = *old;
		else
			give_mappings(tables, old->run.first, old->run.count);
	}
	tables->retired.count = kept;
	tables_drop_last_slab(tables);
}
