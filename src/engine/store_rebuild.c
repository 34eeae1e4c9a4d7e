// SPDX-License-Identifier: GPL-2.0-or-later
/* The store's memory: forgetting ids, and making the store anew within a bound. */
#include <stdlib.h>
#include <string.h>

#include "abi/loss.h"
#include "engine/store_parts.h"

/* Forgets what is dying, and lets die what is old. */
static size_t age(struct store *store, struct table *ids, void (*unsend)(void *context, uint64_t id), void *context)
{
	VEC(uint64_t) gone = {};
	struct table_slot *slot;
	size_t at = 0, i, count = 0;

	while ((slot = table_next(ids, &at))) {
		if (slot->value & ID_DYING) {
			(void)!vec_push(&gone, slot->key); /* without memory it goes the next time */
		} else if (((store->turn - ID_TURN(slot->value)) & 0x7fffffff) >= STORE_TURNS) {
			slot->value |= ID_DYING;
			unsend(context, slot->key);
			count++;
		}
	}
	for (i = 0; i < gone.count; i++)
		table_remove(ids, gone.at[i]);
	vec_free(&gone);
	return count;
}

size_t store_age(struct store *store, void (*unsend)(void *context, uint64_t id), void *context)
{
	store->turn++;
	return age(store, &store->stack_ids, unsend, context) + age(store, &store->code_ids, unsend, context);
}

static uint64_t table_bytes(const struct table *table)
{
	return table->capacity * sizeof(struct table_slot);
}

uint64_t store_bytes(const struct store *store)
{
	return table_bytes(&store->location_ids) + table_bytes(&store->second_location_ids) +
	       table_bytes(&store->stack_contents) + table_bytes(&store->code_contents) +
	       table_bytes(&store->stack_ids) + table_bytes(&store->code_ids) + table_bytes(&store->tallies.ids) +
	       store->locations.capacity * sizeof(*store->locations.at) +
	       store->second_locations.capacity * sizeof(*store->second_locations.at) +
	       (store->stacks.capacity + store->codes.capacity) * sizeof(void *) +
	       store->tallies.list.capacity * sizeof(*store->tallies.list.at) +
	       store->tallies.moments.capacity * sizeof(*store->tallies.moments.at) +
	       slices_bytes(&store->tallies.slices) + store->unnamed.capacity * sizeof(uint32_t) + store->content_bytes;
}

/* The new numbers of the old store's things, + 1; 0: not moved yet. */
struct move {
	struct store *from, *to;
	uint32_t *locations, *second_locations, *stacks, *codes;
	bool merges_names; /* of what has a name only that is kept */
	VEC(uint32_t) frames;
};

static int move_code(struct move *move, uint32_t number, uint32_t *ret)
{
	uint32_t *moved = &move->codes[number - 1];

	if (!*moved) {
		struct code *code = move->from->codes.at[number - 1];

		if (vec_push(&move->to->codes, NULL))
			return -ENOMEM;
		*moved = (uint32_t)move->to->codes.count;
		move->to->codes.at[*moved - 1] = code ? store_adopt_code(move->to, code, *moved) : NULL;
	}
	*ret = *moved;
	return 0;
}

static int move_frame(struct move *move, bool is_second, uint32_t frame, uint32_t *ret)
{
	uint32_t old = is_second ? frame >> SECOND_FLAG_BITS : frame, new, *moved;
	struct second_location location;
	int err = 0;

	moved = is_second ? &move->second_locations[old] : &move->locations[old];
	if (!*moved && is_second) {
		location = move->from->second_locations.at[old];
		if (location.code)
			err = move_code(move, location.code, &location.code);
		if (!err)
			err = store_add_second_location(move->to, &location, &new);
		*moved = err ? 0 : new + 1;
	} else if (!*moved) {
		struct location native = move->from->locations.at[old];

		if (native.named && move->merges_names)
			native = (struct location){
				.object = LOCATION_NAMED, .address = native.named, .named = native.named};
		err = store_location(move->to, &native, &new);
		*moved = err ? 0 : new + 1;
	}
	*ret = is_second ? (*moved - 1) << SECOND_FLAG_BITS | (frame & SECOND_FLAGS) : *moved - 1;
	return err;
}

static int move_stack(struct move *move, uint32_t number, uint32_t *ret)
{
	const struct stack *stack = store_stack_at(move->from, number);
	uint32_t *moved, i;
	int err = 0;

	*ret = number;
	if (!stack) /* none, or missing */
		return 0;
	moved = &move->stacks[number - 1];
	if (!*moved) {
		move->frames.count = 0;
		if (vec_reserve(&move->frames, stack->count + 1ull))
			return -ENOMEM;
		for (i = 0; i < stack->count && !err; i++)
			err = move_frame(move, stack->runtime, stack->frames[i], &move->frames.at[i]);
		if (!err)
			err = store_add_stack(move->to, stack->runtime, move->frames.at, stack->count, moved);
		*moved += !err;
	}
	*ret = *moved;
	return err;
}

/* Takes from a tally what is to be dropped. Whether there was anything. */
static bool drop_from(struct tally *tally, const struct store_drop *drop)
{
	bool stacks = drop->what == STORE_DROP_STACKS;

	if (drop->what == STORE_DROP_NOTHING || tally_worth(tally) > drop->threshold ||
	    (stacks ? tally->native_loss == LOSS_EVICTED : !tally->tid))
		return false;
	tally->tgid = tally->tid = 0;
	if (stacks) {
		tally->kernel_stack = tally->native_stack = tally->second_stack = STACK_NONE;
		tally->flags = tally->second_loss = 0;
		tally->waker = (struct tally_waker){};
		tally->native_loss = LOSS_EVICTED;
	}
	return true;
}

static int move_stacks(struct move *move, struct tally *tally)
{
	uint32_t *const stacks[] = {&tally->kernel_stack,       &tally->native_stack,       &tally->second_stack,
				    &tally->waker.kernel_stack, &tally->waker.native_stack, &tally->waker.second_stack};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(stacks) / sizeof(*stacks) && !err; i++)
		err = move_stack(move, *stacks[i], stacks[i]);
	return err;
}

/* `numbers`: room for the new number of each. */
static int move_tallies(struct move *move, const struct store_drop *drop, uint32_t *numbers, uint64_t *dropped)
{
	const struct tallies *from = &move->from->tallies;
	struct tallies *to = &move->to->tallies;
	size_t i;
	int err = vec_reserve(&to->moments, from->moments.count);

	for (i = 0; i < from->list.count && !err; i++) {
		struct tally tally = from->list.at[i];

		if (drop_from(&tally, drop))
			*dropped += tally.count;
		err = move_stacks(move, &tally);
		if (!err)
			err = store_add_tally(move->to, &tally, &numbers[i]);
	}
	to->moments_given_up = from->moments_given_up;
	for (i = 0; i < from->moments.count && !err; i++) {
		to->moments.at[i] = from->moments.at[i];
		to->moments.at[i].tally = numbers[from->moments.at[i].tally];
		to->moments.count++;
	}
	if (!err)
		slices_move(&from->slices, numbers, &to->slices);
	return err;
}

/*
 * Ids that were named lately are kept with what they stand for, `turns` back: samples that name them may be on their
 * way. Of the others those whose content stays.
 */
static int move_ids(struct move *move, uint32_t turns)
{
	struct store *from = move->from;
	struct table_slot *slot;
	uint32_t number;
	size_t at;
	int err = 0;

	for (at = 0; !err && (slot = table_next(&from->stack_ids, &at));) {
		bool recent = ((from->turn - ID_TURN(slot->value)) & 0x7fffffff) < turns;

		if (!recent && !move->stacks[ID_NUMBER(slot->value) - 1])
			continue;
		err = move_stack(move, ID_NUMBER(slot->value), &number);
		if (!err)
			err = table_set(&move->to->stack_ids, slot->key,
					(slot->value & ~(uint64_t)UINT32_MAX) | number);
	}
	for (at = 0; !err && (slot = table_next(&from->code_ids, &at));) {
		bool recent = ((from->turn - ID_TURN(slot->value)) & 0x7fffffff) < turns;

		if (!recent && !move->codes[ID_NUMBER(slot->value) - 1])
			continue;
		err = move_code(move, ID_NUMBER(slot->value), &number);
		if (!err)
			err = table_set(&move->to->code_ids, slot->key, (slot->value & ~(uint64_t)UINT32_MAX) | number);
	}
	return err;
}

static void unsend_left(const struct table *from, const struct table *to, void (*unsend)(void *context, uint64_t id),
			void *context)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(from, &at)))
		if (!table_get(to, slot->key, NULL) && !(slot->value & ID_DYING))
			unsend(context, slot->key);
}

int store_rebuild(struct store *store, const struct store_drop *drop, void (*unsend)(void *context, uint64_t id),
		  void *context, uint64_t *dropped)
{
	struct store to = {.turn = store->turn,
			   .in_windows = store->in_windows,
			   .merges_threads = store->merges_threads,
			   .keeps_cgroups = store->keeps_cgroups,
			   .keeps_locks = store->keeps_locks,
			   .keeps_moments = store->keeps_moments,
			   .moments_max = store->moments_max,
			   .tick_ns = store->tick_ns,
			   .keeps_slices = store->keeps_slices};
	/* In a window that is to be followed by others what has a name is met again by its address. */
	struct move move = {
		.from = store, .to = &to, .merges_names = !store->in_windows || drop->what != STORE_DROP_NOTHING};
	uint32_t *numbers = calloc(store->tallies.list.count + 1, sizeof(*numbers));
	uint64_t more = 0;
	int err = -ENOMEM;

	move.locations = calloc(store->locations.count + 1, sizeof(uint32_t));
	move.second_locations = calloc(store->second_locations.count + 1, sizeof(uint32_t));
	move.stacks = calloc(store->stacks.count + 1, sizeof(uint32_t));
	move.codes = calloc(store->codes.count + 1, sizeof(uint32_t));
	if (numbers && move.locations && move.second_locations && move.stacks && move.codes)
		err = move_tallies(&move, drop, numbers, &more);
	if (!err)
		err = move_ids(&move, drop->what == STORE_DROP_STACKS ? 0 : 2);
	if (err) {
		store_deinit(&to);
	} else {
		unsend_left(&store->stack_ids, &to.stack_ids, unsend, context);
		unsend_left(&store->code_ids, &to.code_ids, unsend, context);
		store_deinit(store);
		*store = to;
		*dropped += more;
	}
	free(numbers);
	free(move.locations);
	free(move.second_locations);
	free(move.stacks);
	free(move.codes);
	vec_free(&move.frames);
	return err;
}
