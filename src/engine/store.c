// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/store_parts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t id_value(const struct store *store, uint32_t number)
{
	return (uint64_t)(store->turn & 0x7fffffff) << 32 | number;
}

/* The number + 1 of an id, which is thereby named; 0 when it is not known. */
static uint32_t id_find(const struct store *store, struct table *ids, uint64_t id)
{
	uint64_t value;

	if (!id || !table_get(ids, id, &value))
		return 0;
	if (value >> 32 != (store->turn & 0x7fffffff))
		table_set(ids, id, id_value(store, ID_NUMBER(value))); /* replaces: cannot fail */
	return ID_NUMBER(value);
}

/* What a code object adds to the store's content. */
static uint64_t code_bytes(const struct code *code)
{
	return sizeof(*code) + code->table_size + (code->name ? strlen(code->name) : 0) +
	       (code->file ? strlen(code->file) : 0);
}

static void code_release(struct store *store, struct code *code)
{
	if (!code || --code->users)
		return;
	store->content_bytes -= code_bytes(code);
	free(code->name);
	free(code->file);
	free(code->table);
	free(code);
}

void store_deinit(struct store *store)
{
	size_t i;

	for (i = 0; i < store->stacks.count; i++)
		free(store->stacks.at[i]);
	for (i = 0; i < store->codes.count; i++)
		code_release(store, store->codes.at[i]);
	store_seal(store);
	vec_free(&store->locations);
	vec_free(&store->unnamed);
	vec_free(&store->second_locations);
	vec_free(&store->stacks);
	vec_free(&store->codes);
	tallies_deinit(&store->tallies);
}

void store_seal(struct store *store)
{
	table_deinit(&store->location_ids);
	table_deinit(&store->second_location_ids);
	table_deinit(&store->stack_contents);
	table_deinit(&store->code_contents);
	table_deinit(&store->stack_ids);
	table_deinit(&store->code_ids);
	table_deinit(&store->tallies.ids);
	vec_free(&store->missing);
}

int store_location(struct store *store, const struct location *location, uint32_t *ret)
{
	uint64_t key =
		location->address ^ ((uint64_t)location->object << 1 | location->is_return) * 0x9e3779b97f4a7c15ull;
	uint64_t found;

	for (;; key++) { /* two that meet at a key are told apart here */
		const struct location *old;

		if (!key)
			continue;
		if (!table_get(&store->location_ids, key, &found))
			break;
		old = &store->locations.at[found - 1];
		if (old->object == location->object && old->is_return == location->is_return &&
		    old->address == location->address) {
			*ret = (uint32_t)found - 1;
			return 0;
		}
	}
	if (vec_reserve(&store->unnamed, 1) || vec_push(&store->locations, *location) ||
	    table_set(&store->location_ids, key, store->locations.count))
		return -ENOMEM;
	*ret = (uint32_t)store->locations.count - 1;
	if (!location->named)
		store->unnamed.at[store->unnamed.count++] = *ret;
	return 0;
}

void store_forget_object(struct store *store, uint32_t object)
{
	size_t i;

	for (i = 0; i < store->locations.count; i++) {
		struct location *location = &store->locations.at[i];

		if (location->object == object && location->named)
			*location = (struct location){
				.object = LOCATION_NAMED, .address = location->named, .named = location->named};
	}
}

int store_add_second_location(struct store *store, const struct second_location *location, uint32_t *ret)
{
	uint64_t key = ((uint64_t)location->code << 32 | (uint32_t)location->position) * 0x9e3779b97f4a7c15ull, found;

	if (!key)
		key = 1;
	for (; table_get(&store->second_location_ids, key, &found); key++) {
		const struct second_location *old = &store->second_locations.at[found - 1];

		if (old->code == location->code && old->position == location->position) {
			*ret = (uint32_t)found - 1;
			return 0;
		}
	}
	if (vec_push(&store->second_locations, *location) ||
	    table_set(&store->second_location_ids, key, store->second_locations.count))
		return -ENOMEM;
	*ret = (uint32_t)store->second_locations.count - 1;
	return 0;
}

int store_second_location(struct store *store, uint64_t code, int32_t position, uint32_t *ret)
{
	struct second_location location = {.code = id_find(store, &store->code_ids, code), .position = position};

	if (code && !location.code) { /* it may still arrive */
		if (vec_push(&store->codes, NULL) ||
		    table_set(&store->code_ids, code, id_value(store, (uint32_t)store->codes.count)))
			return -ENOMEM;
		location.code = (uint32_t)store->codes.count;
	}
	return store_add_second_location(store, &location, ret);
}

bool store_has_stack(struct store *store, uint64_t id)
{
	return id_find(store, &store->stack_ids, id);
}

int store_add_stack(struct store *store, enum runtime_id runtime, const uint32_t *frames, uint32_t count, uint32_t *ret)
{
	size_t bytes = count * sizeof(*frames);
	uint64_t key = XXH3_64bits_withSeed(frames, bytes, runtime), found;
	struct stack *stack;

	for (;; key++) {
		if (!key)
			continue;
		if (!table_get(&store->stack_contents, key, &found))
			break;
		stack = store->stacks.at[found - 1];
		if (stack->count == count && stack->runtime == runtime && !memcmp(stack->frames, frames, bytes)) {
			*ret = (uint32_t)found - 1;
			return 0;
		}
	}
	stack = malloc(sizeof(*stack) + bytes);
	if (!stack || vec_push(&store->stacks, stack)) {
		free(stack);
		return -ENOMEM;
	}
	stack->count = count;
	stack->runtime = (uint8_t)runtime;
	if (bytes)
		memcpy(stack->frames, frames, bytes);
	store->content_bytes += sizeof(*stack) + bytes;
	*ret = (uint32_t)store->stacks.count - 1;
	return table_set(&store->stack_contents, key, store->stacks.count);
}

int store_stack(struct store *store, uint64_t id, enum runtime_id runtime, const uint32_t *frames, uint32_t count)
{
	uint32_t number;

	if (store_has_stack(store, id))
		return 0;
	if (store_add_stack(store, runtime, frames, count, &number))
		return -ENOMEM;
	return table_set(&store->stack_ids, id, id_value(store, number + 1));
}

const struct stack *store_stack_at(const struct store *store, uint32_t number)
{
	return number == STACK_NONE || number > store->stacks.count ? NULL : store->stacks.at[number - 1];
}

const struct code *store_code_at(const struct store *store, uint32_t number)
{
	return !number || number > store->codes.count ? NULL : store->codes.at[number - 1];
}

const struct code *store_code_of(struct store *store, uint64_t id)
{
	return store_code_at(store, id_find(store, &store->code_ids, id));
}

/* The number + 1 of a stack that a sample names. */
static uint32_t resolve(struct store *store, uint64_t id)
{
	uint32_t number = id_find(store, &store->stack_ids, id);

	if (!id || number)
		return number;
	(void)!vec_push(&store->missing, id); /* without memory it stays missing */
	return STACK_MISSING;
}

int store_add_tally(struct store *store, const struct tally *tally, uint32_t *ret)
{
	struct tallies *tallies = &store->tallies;
	struct tally wanted = *tally, same;
	uint64_t key, found;

	wanted.count = wanted.weight = 0;
	for (key = XXH3_64bits(&wanted, sizeof(wanted));; key++) {
		struct tally *old;

		if (!key)
			continue;
		if (!table_get(&tallies->ids, key, &found))
			break;
		old = &tallies->list.at[found - 1];
		same = *old;
		same.count = same.weight = 0;
		if (!memcmp(&same, &wanted, sizeof(same))) {
			old->count += tally->count;
			old->weight += tally->weight;
			tallies->samples += tally->count;
			*ret = (uint32_t)found - 1;
			return 0;
		}
	}
	if (vec_push(&tallies->list, *tally))
		return -ENOMEM;
	if (table_set(&tallies->ids, key, tallies->list.count)) {
		tallies->list.count--;
		return -ENOMEM;
	}
	tallies->samples += tally->count;
	*ret = (uint32_t)tallies->list.count - 1;
	return 0;
}

void tallies_deinit(struct tallies *tallies)
{
	table_deinit(&tallies->ids);
	vec_free(&tallies->list);
	vec_free(&tallies->moments);
	slices_deinit(&tallies->slices);
}

void store_take(struct store *store, bool more, struct tallies *ret)
{
	*ret = store->tallies;
	store->tallies = (struct tallies){};
	store->in_windows = more;
	table_deinit(&ret->ids); /* only counting needs it */
}

/* Whether the next sample's moment is kept; room for it is made. 0 or -ENOMEM. */
static int keep_moment(const struct store *store, struct tallies *tallies, bool *ret)
{
	*ret = store->keeps_moments && !tallies->moments_given_up;
	if (*ret && store->moments_max && tallies->moments.count >= store->moments_max) {
		vec_free(&tallies->moments);
		tallies->moments_given_up = true;
		*ret = false;
	}
	return *ret ? vec_reserve(&tallies->moments, 1) : 0;
}

/* Bytes after the terminator are whatever was there. */
static void take_comm(const char from[static 16], char ret[static 16])
{
	size_t length = strnlen(from, 15);

	memset(ret, 0, 16);
	memcpy(ret, from, length);
}

static struct tally_waker take_waker(struct store *store, const struct waker *waker)
{
	struct tally_waker ret = {};

	if (!(waker->flags & WAKER_KNOWN))
		return ret;
	ret.flags = waker->flags & (WAKER_KNOWN | WAKER_IDLE | WAKER_NO_STACK | WAKER_UNRECORDED | WAKER_THREAD |
				    SAMPLE_KERNEL_THREAD | SAMPLE_SECOND | SAMPLE_LATE | SAMPLE_EXITING |
				    SAMPLE_VFORK);
	if (!(waker->flags & (WAKER_IDLE | WAKER_NO_STACK)) || waker->flags & WAKER_THREAD)
		take_comm(waker->comm, ret.comm);
	if (waker->flags & WAKER_NO_STACK)
		return ret;
	ret.kernel_stack = resolve(store, waker->kernel_stack);
	ret.native_stack = resolve(store, waker->native_stack);
	ret.second_stack = resolve(store, waker->second_stack);
	ret.native_loss = waker->native_loss;
	ret.second_loss = waker->second_loss;
	return ret;
}

int store_sample(struct store *store, const struct sample_event *sample)
{
	struct tally tally = {};
	struct moment moment = {.time = sample->time, .cpu = sample->cpu};
	bool keeps;
	int err;

	tally.kernel_stack = resolve(store, sample->kernel_stack);
	tally.native_stack = resolve(store, sample->native_stack);
	tally.second_stack = resolve(store, sample->second_stack);
	if (!store->merges_threads) {
		tally.tgid = sample->tgid;
		tally.tid = sample->tid;
	}
	take_comm(sample->comm, tally.comm);
	tally.native_loss = sample->native_loss;
	tally.second_loss = sample->second_loss;
	tally.flags =
		sample->flags & (SAMPLE_KERNEL_THREAD | SAMPLE_SECOND | SAMPLE_LATE | SAMPLE_EXITING | SAMPLE_VFORK);
	/* The child of a vfork() has its parent's memory, and is not the thread that holds something there. */
	if (store->keeps_locks && sample->flags & SAMPLE_HAS_LOCK && !(sample->flags & SAMPLE_VFORK))
		tally.flags |= sample->flags & (SAMPLE_HAS_LOCK | SAMPLE_CURRENT);
	tally.waits = sample->waits;
	if (sample->waits)
		tally.waker = take_waker(store, &sample->waker);
	tally.cgroup = store->keeps_cgroups ? sample->cgroup : 0;
	tally.count = 1;
	tally.weight = moment.weight = sample->waits ? sample->weight : store->tick_ns;
	if (keep_moment(store, &store->tallies, &keeps))
		return -ENOMEM;
	err = store_add_tally(store, &tally, &moment.tally);
	if (!err && keeps)
		store->tallies.moments.at[store->tallies.moments.count++] = moment;
	if (!err && store->keeps_slices && tally.weight)
		slices_add_time(&store->tallies.slices, moment.tally, sample->time, tally.weight);
	else if (!err && store->keeps_slices && !sample->waits)
		slices_add(&store->tallies.slices, moment.tally, sample->time, tally.count);
	return err;
}

void store_drop_stack(struct store *store, uint32_t number)
{
	if (!store_stack_at(store, number))
		return;
	free(store->stacks.at[number - 1]);
	store->stacks.at[number - 1] = NULL;
}

static struct code *make_code(const struct code_event *event, const uint8_t *table, uint32_t table_size)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->runtime = runtime_of(event->runtime);
	code->version = event->version;
	code->firstlineno = event->firstlineno;
	if (code->runtime && code->runtime->decode)
		code->runtime->decode(event, &code->name, &code->file, &code->hidden);
	else
		code->runtime = NULL;
	code->complete = event->is_named && code->name && code->file && table_size == event->table_size;
	code->table = malloc(table_size + 1ull);
	if (!code->table) {
		free(code->name);
		free(code->file);
		free(code);
		return NULL;
	}
	memcpy(code->table, table, table_size);
	code->table_size = table_size;
	return code;
}

static uint64_t code_key(const struct code *code)
{
	uint64_t key = XXH3_64bits_withSeed(code->table, code->table_size, (XXH64_hash_t)code->firstlineno);

	key ^= XXH3_64bits(code->name, strlen(code->name));
	return key ? key : 1;
}

static bool same_code(const struct code *a, const struct code *b)
{
	return a->runtime == b->runtime && a->version == b->version && a->firstlineno == b->firstlineno &&
	       a->table_size == b->table_size && !memcmp(a->table, b->table, a->table_size) &&
	       !strcmp(a->name, b->name) && !strcmp(a->file, b->file);
}

struct code *store_adopt_code(struct store *store, struct code *code, uint32_t number)
{
	uint64_t key, found;

	for (key = code->complete ? code_key(code) : 0; key; key++) {
		struct code *old;

		if (!table_get(&store->code_contents, key, &found)) {
			(void)!table_set(&store->code_contents, key, number); /* without memory it is there twice */
			break;
		}
		old = store->codes.at[found - 1];
		if (!old || !same_code(old, code))
			continue;
		old->users++;
		return old;
	}
	store->content_bytes += code_bytes(code);
	code->users++;
	return code;
}

static bool string_fits(const struct code_event *event, const struct code_string *string)
{
	return string->at <= event->text_bytes && string->bytes <= event->text_bytes - string->at;
}

bool code_event_fits(const struct code_event *event, size_t size)
{
	return size >= CODE_EVENT_BRIEF && event->text_bytes <= sizeof(event->text) &&
	       event->text_bytes <= size - CODE_EVENT_BRIEF &&
	       event->table_copied <= size - CODE_EVENT_BRIEF - event->text_bytes &&
	       string_fits(event, &event->name) && string_fits(event, &event->qualname) &&
	       string_fits(event, &event->filename) &&
	       (event->is_task != CODE_TASK_NUMBER || event->text_bytes >= 8);
}

int store_code(struct store *store, const struct code_event *event, const uint8_t *table, uint32_t table_size)
{
	uint32_t number = id_find(store, &store->code_ids, event->id);
	struct code *code, *old = number ? store->codes.at[number - 1] : NULL;

	if (old && old->complete)
		return 0;
	if (!number && vec_push(&store->codes, NULL))
		return -ENOMEM;
	if (!number)
		number = (uint32_t)store->codes.count;
	code = make_code(event, table, table_size);
	if (!code)
		return -ENOMEM;
	code->users = 1; /* this function */
	store->codes.at[number - 1] = store_adopt_code(store, code, number);
	if (code->users == 1) /* it was there already: code_release() takes off what was never added */
		store->content_bytes += code_bytes(code);
	code_release(store, code);
	code_release(store, old);
	return table_set(&store->code_ids, event->id, id_value(store, number));
}
