// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"

/*
 * Stacks and samples are interned as frames are: a table from a hash to a chain of nodes that have this hash, and
 * a comparison of what they hold. Each node is an allocation of its own, so what was given out never moves.
 */
struct stack_node {
	struct stack_node *next;
	uint32_t depth;
	uint32_t frames[];
};

struct sample_node {
	struct sample_node *next;
	struct profile_sample sample;
	uint32_t index;
};

struct source {
	struct profile_source source;
	VEC(int) pids;
};

struct profile {
	struct string_pool *strings;
	struct frames *frames;
	struct table stacks_by_hash, samples_by_hash;
	VEC(struct stack_node *) stacks;
	VEC(struct sample_node *) samples;
	VEC(struct profile_moment) moments;
	VEC(struct profile_slice) slices;
	struct table owner_of; /* cgroup → index in owners */
	VEC(struct profile_owner) owners;
	struct profile_info info;
	struct profile_quality quality;
	VEC(const char *) remarks;
	VEC(struct source) sources;
};

struct profile *profile_create(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->strings = string_pool_create();
	profile->frames = frames_create();
	if (!profile->strings || !profile->frames) {
		profile_destroy(profile);
		return NULL;
	}
	profile->info.command = profile->info.hostname = profile->info.kernel = profile->info.strata_version = "";
	return profile;
}

void profile_destroy(struct profile *profile)
{
	size_t i;

	if (!profile)
		return;
	for (i = 0; i < profile->stacks.count; i++)
		free(profile->stacks.at[i]);
	for (i = 0; i < profile->samples.count; i++)
		free(profile->samples.at[i]);
	vec_free(&profile->stacks);
	vec_free(&profile->samples);
	vec_free(&profile->moments);
	vec_free(&profile->owners);
	table_deinit(&profile->owner_of);
	vec_free(&profile->slices);
	vec_free(&profile->remarks);
	for (i = 0; i < profile->sources.count; i++) {
		free((char *)profile->sources.at[i].source.text);
		vec_free(&profile->sources.at[i].pids);
	}
	vec_free(&profile->sources);
	table_deinit(&profile->stacks_by_hash);
	table_deinit(&profile->samples_by_hash);
	frames_destroy(profile->frames);
	string_pool_destroy(profile->strings);
	free(profile);
}

struct profile_info *profile_info(struct profile *profile)
{
	return &profile->info;
}

struct profile_quality *profile_quality(struct profile *profile)
{
	return &profile->quality;
}

const struct profile_info *profile_get_info(const struct profile *profile)
{
	return &profile->info;
}

const struct profile_quality *profile_get_quality(const struct profile *profile)
{
	return &profile->quality;
}

const char *profile_string(struct profile *profile, const char *string)
{
	return string_intern(profile->strings, string);
}

static struct source *find_source(struct profile *profile, const struct profile_source *source)
{
	size_t i;

	for (i = 0; i < profile->sources.count; i++) {
		const struct profile_source *other = &profile->sources.at[i].source;

		if (other->size == source->size && other->is_changed == source->is_changed &&
		    !strcmp(other->path, source->path) && !memcmp(other->text, source->text, source->size))
			return &profile->sources.at[i];
	}
	return NULL;
}

int profile_add_source(struct profile *profile, const struct profile_source *source, int pid)
{
	struct source *known = find_source(profile, source), fresh = {.source = *source};
	char *text;

	if (!known) {
		text = malloc(source->size + 1);
		fresh.source.path = profile_string(profile, source->path);
		fresh.source.text = text;
		if (!text || !fresh.source.path || vec_push(&profile->sources, fresh)) {
			free(text);
			return -ENOMEM;
		}
		memcpy(text, source->text, source->size);
		text[source->size] = '\0';
		known = &profile->sources.at[profile->sources.count - 1];
	}
	if (vec_push(&known->pids, pid))
		return -ENOMEM;
	known->source.pids = known->pids.at;
	known->source.pid_count = known->pids.count;
	return 0;
}

const struct profile_source *profile_source_at(const struct profile *profile, size_t index)
{
	return index < profile->sources.count ? &profile->sources.at[index].source : NULL;
}

int profile_add_remark(struct profile *profile, const char *text)
{
	const char *copy = profile_string(profile, text);

	return copy ? vec_push(&profile->remarks, copy) : -ENOMEM;
}

const char *profile_remark(const struct profile *profile, size_t index)
{
	return index < profile->remarks.count ? profile->remarks.at[index] : NULL;
}

/* A key of a table: never 0. */
static uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	uint64_t hash = XXH3_64bits_withSeed(bytes, size, seed);

	return hash ? hash : 1;
}

static void *chain_of(const struct table *table, uint64_t hash)
{
	uint64_t found = 0;

	table_get(table, hash, &found);
	return (void *)(uintptr_t)found;
}

static int chain_set(struct table *table, uint64_t hash, const void *node)
{
	return table_set(table, hash, (uint64_t)(uintptr_t)node);
}

int profile_frame(struct profile *profile, const struct frame *frame, uint32_t *ret)
{
	return frames_add(profile->frames, frame, ret);
}

size_t profile_frame_count(const struct profile *profile)
{
	return frames_count(profile->frames);
}

const struct frame *profile_frame_at(const struct profile *profile, uint32_t id)
{
	return frames_at(profile->frames, id);
}

/* The interned copy of a stack; NULL: no memory. */
static const struct stack_node *intern_stack(struct profile *profile, const uint32_t *frames, uint32_t depth)
{
	size_t size = depth * sizeof(*frames);
	uint64_t hash = hash_bytes(frames, size, depth);
	struct stack_node *chain = chain_of(&profile->stacks_by_hash, hash);
	struct stack_node *node;

	for (node = chain; node; node = node->next)
		if (node->depth == depth && (!size || !memcmp(node->frames, frames, size)))
			return node;
	if (vec_reserve(&profile->stacks, 1))
		return NULL;
	node = malloc(sizeof(*node) + size);
	if (!node)
		return NULL;
	node->next = chain;
	node->depth = depth;
	if (size)
		memcpy(node->frames, frames, size);
	if (chain_set(&profile->stacks_by_hash, hash, node)) {
		free(node);
		return NULL;
	}
	profile->stacks.at[profile->stacks.count++] = node;
	return node;
}

static bool same_sample(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->comm == b->comm && a->pid == b->pid && a->tid == b->tid && a->cgroup == b->cgroup &&
	       a->frames == b->frames;
}

int profile_add_sample(struct profile *profile, const struct profile_sample *sample, uint32_t *ret)
{
	struct profile_sample wanted = *sample;
	const struct stack_node *stack;
	struct sample_node *chain, *node;
	uint64_t hash;

	wanted.comm = wanted.thread = string_intern(profile->strings, sample->comm);
	stack = wanted.comm ? intern_stack(profile, sample->frames, sample->depth) : NULL;
	if (!stack)
		return -ENOMEM;
	wanted.frames = stack->frames;
	hash = hash_bytes((uint64_t[]){(uintptr_t)wanted.comm, (uintptr_t)stack, wanted.cgroup}, 24,
			  (uint64_t)wanted.pid << 32 | (uint32_t)wanted.tid);
	chain = chain_of(&profile->samples_by_hash, hash);
	for (node = chain; node && !same_sample(&node->sample, &wanted); node = node->next)
		;
	if (node) {
		node->sample.count += wanted.count;
		node->sample.lockable += wanted.lockable;
		node->sample.held += wanted.held;
		node->sample.before += wanted.before;
		node->sample.squares_before += wanted.squares_before;
		node->sample.squares += wanted.squares;
		node->sample.weight += wanted.weight;
	} else {
		if (vec_reserve(&profile->samples, 1))
			return -ENOMEM;
		node = malloc(sizeof(*node));
		if (!node)
			return -ENOMEM;
		*node = (struct sample_node){chain, wanted, (uint32_t)profile->samples.count};
		if (chain_set(&profile->samples_by_hash, hash, node)) {
			free(node);
			return -ENOMEM;
		}
		profile->samples.at[profile->samples.count++] = node;
	}
	if (ret)
		*ret = node->index;
	return 0;
}

int profile_add(struct profile *profile, const char *comm, int pid, int tid, const uint32_t *frames, uint32_t depth,
		uint64_t count)
{
	const struct profile_sample sample = {
		.comm = comm, .pid = pid, .tid = tid, .count = count, .depth = depth, .frames = frames};

	return profile_add_sample(profile, &sample, NULL);
}

int profile_set_owner(struct profile *profile, uint64_t cgroup, const struct profile_owner *owner)
{
	struct profile_owner kept = {profile_string(profile, owner->cgroup), profile_string(profile, owner->container),
				     profile_string(profile, owner->pod), profile_string(profile, owner->unit),
				     profile_string(profile, owner->text)};

	if (!kept.cgroup || !kept.container || !kept.pod || !kept.unit || !kept.text ||
	    vec_push(&profile->owners, kept))
		return -ENOMEM;
	return table_set(&profile->owner_of, cgroup, profile->owners.count - 1);
}

const struct profile_owner *profile_owner(const struct profile *profile, uint64_t cgroup)
{
	uint64_t index;

	return table_get(&profile->owner_of, cgroup, &index) ? &profile->owners.at[index] : NULL;
}

int profile_add_moment(struct profile *profile, const struct profile_moment *moment)
{
	return vec_push(&profile->moments, *moment);
}

size_t profile_moment_count(const struct profile *profile)
{
	return profile->moments.count;
}

const struct profile_moment *profile_moment_at(const struct profile *profile, size_t index)
{
	return &profile->moments.at[index];
}

int profile_add_slice(struct profile *profile, const struct profile_slice *slice)
{
	return vec_push(&profile->slices, *slice);
}

size_t profile_slice_count(const struct profile *profile)
{
	return profile->slices.count;
}

const struct profile_slice *profile_slice_at(const struct profile *profile, size_t index)
{
	return &profile->slices.at[index];
}

size_t profile_sample_count(const struct profile *profile)
{
	return profile->samples.count;
}

size_t profile_stack_count(const struct profile *profile)
{
	return profile->stacks.count;
}

const struct profile_sample *profile_sample_at(const struct profile *profile, size_t index)
{
	return &profile->samples.at[index]->sample;
}

static const struct loss_text {
	const char *key, *meaning, *advice;
	enum loss_kind kind;
} loss_texts[LOSS_COUNT] = {
#define LOSS(id, name, what, key, meaning, advice) [id] = {key, meaning, advice, LOSS_KIND_##what},
#include "abi/loss.def"
#undef LOSS
};

static const struct loss_text *loss_text(unsigned int loss)
{
	static const struct loss_text none = {.kind = LOSS_KIND_NOTE};

	return loss < LOSS_COUNT ? &loss_texts[loss] : &none;
}

const char *loss_key(unsigned int loss)
{
	return loss_text(loss)->key;
}

const char *loss_meaning(unsigned int loss)
{
	return loss_text(loss)->meaning;
}

const char *loss_advice(unsigned int loss)
{
	return loss_text(loss)->advice;
}

enum loss_kind loss_kind(unsigned int loss)
{
	return loss_text(loss)->key ? loss_text(loss)->kind : LOSS_KIND_NOTE;
}
