// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"

/* Each node is an allocation of its own, so that what was given out does not move. */
struct node {
	struct node *next; /* of the same hash */
	struct frame frame;
	uint32_t id;
};

struct frames {
	struct string_pool *strings;
	struct table by_hash;     /* → struct node * */
	VEC(struct node *) nodes; /* by number; NULL: free */
	VEC(uint32_t) free;
};

struct frames *frames_create(void)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (frames)
		frames->strings = string_pool_create();
	if (!frames || !frames->strings) {
		free(frames);
		return NULL;
	}
	return frames;
}

void frames_destroy(struct frames *frames)
{
	size_t i;

	if (!frames)
		return;
	for (i = 0; i < frames->nodes.count; i++)
		free(frames->nodes.at[i]);
	vec_free(&frames->nodes);
	vec_free(&frames->free);
	table_deinit(&frames->by_hash);
	string_pool_destroy(frames->strings);
	free(frames);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->layer == b->layer && a->name == b->name && a->file == b->file && a->line == b->line &&
	       a->address == b->address && a->path == b->path && a->runtime == b->runtime &&
	       a->build_id == b->build_id && a->source == b->source && a->inlined_into == b->inlined_into;
}

/* Whoever wrote a file or a perf map chose how long its names are. */
static const char *intern_bounded(struct string_pool *strings, const char *string)
{
	char cut[FRAME_STRING_MAX + sizeof(FRAME_CUT)];
	size_t size = strnlen(string, FRAME_STRING_MAX + 1);

	if (size <= FRAME_STRING_MAX)
		return string_intern_bytes(strings, string, size);
	for (size = FRAME_STRING_MAX; size && ((unsigned char)string[size] & 0xc0) == 0x80; size--)
		;
	memcpy(cut, string, size);
	memcpy(cut + size, FRAME_CUT, sizeof(FRAME_CUT));
	return string_intern(strings, cut);
}

/* Copies the strings of a frame. 0 or -ENOMEM. */
static int intern(struct string_pool *strings, const struct frame *frame, struct frame *ret)
{
	*ret = (struct frame){.layer = frame->layer,
			      .line = frame->line,
			      .address = frame->address,
			      .inlined_into = frame->inlined_into};
	ret->name = intern_bounded(strings, frame->name);
	ret->file = intern_bounded(strings, frame->file ? frame->file : "");
	ret->path = intern_bounded(strings, frame->path ? frame->path : "");
	ret->runtime = intern_bounded(strings, frame->runtime ? frame->runtime : "");
	ret->build_id = intern_bounded(strings, frame->build_id ? frame->build_id : "");
	ret->source = intern_bounded(strings, frame->source ? frame->source : "");
	return ret->name && ret->file && ret->path && ret->runtime && ret->build_id && ret->source ? 0 : -ENOMEM;
}

/* Of interned strings; never 0. */
static uint64_t hash_of(const struct frame *frame)
{
	const uint64_t parts[] = {(uintptr_t)frame->name,    (uintptr_t)frame->file,     (uintptr_t)frame->path,
				  (uintptr_t)frame->runtime, (uintptr_t)frame->build_id, frame->address,
				  (uintptr_t)frame->source,  frame->inlined_into};
	uint64_t hash =
		XXH3_64bits_withSeed(parts, sizeof(parts), (uint64_t)frame->layer << 32 | (uint32_t)frame->line);

	return hash ? hash : 1;
}

static struct node *chain_of(const struct table *by_hash, uint64_t hash)
{
	uint64_t found = 0;

	table_get(by_hash, hash, &found);
	return (struct node *)(uintptr_t)found;
}

static int chain_set(struct table *by_hash, uint64_t hash, const struct node *node)
{
	return table_set(by_hash, hash, (uint64_t)(uintptr_t)node);
}

int frames_add(struct frames *frames, const struct frame *frame, uint32_t *ret)
{
	struct node *chain, *node;
	struct frame wanted;
	uint64_t hash;

	if (intern(frames->strings, frame, &wanted))
		return -ENOMEM;
	hash = hash_of(&wanted);
	chain = chain_of(&frames->by_hash, hash);
	for (node = chain; node; node = node->next) {
		if (same_frame(&node->frame, &wanted)) {
			*ret = node->id;
			return 0;
		}
	}
	if (frames->nodes.count >= UINT32_MAX || vec_reserve(&frames->nodes, 1))
		return -ENOMEM;
	node = malloc(sizeof(*node));
	if (!node)
		return -ENOMEM;
	*node = (struct node){.next = chain, .frame = wanted, .id = (uint32_t)frames->nodes.count};
	if (chain_set(&frames->by_hash, hash, node)) {
		free(node);
		return -ENOMEM;
	}
	if (frames->free.count)
		node->id = frames->free.at[--frames->free.count];
	else
		frames->nodes.count++;
	frames->nodes.at[node->id] = node;
	*ret = node->id;
	return 0;
}

size_t frames_count(const struct frames *frames)
{
	return frames->nodes.count;
}

const struct frame *frames_at(const struct frames *frames, uint32_t id)
{
	return frames->nodes.at[id] ? &frames->nodes.at[id]->frame : NULL;
}

size_t frames_bytes(const struct frames *frames)
{
	return (frames->nodes.count - frames->free.count) * sizeof(struct node) +
	       frames->nodes.capacity * sizeof(struct node *) + frames->free.capacity * sizeof(uint32_t) +
	       frames->by_hash.capacity * sizeof(struct table_slot) + string_pool_bytes(frames->strings);
}

/* Copies the nodes that are used, with their strings and numbers. 0 or -ENOMEM. */
static int copy_used(const struct frames *frames, const uint8_t *used, struct frames *to)
{
	size_t i;

	if (vec_reserve(&to->nodes, frames->nodes.count))
		return -ENOMEM;
	for (i = 0; i < frames->nodes.count; i++) {
		const struct node *old = frames->nodes.at[i];
		struct node *node = NULL;
		uint64_t hash;

		if (old && used[i]) {
			node = malloc(sizeof(*node));
			if (!node || intern(to->strings, &old->frame, &node->frame)) {
				free(node);
				return -ENOMEM;
			}
			node->id = old->id;
			hash = hash_of(&node->frame);
			node->next = chain_of(&to->by_hash, hash);
			if (chain_set(&to->by_hash, hash, node)) {
				free(node);
				return -ENOMEM;
			}
		} else if (vec_push(&to->free, (uint32_t)i)) {
			return -ENOMEM;
		}
		to->nodes.at[to->nodes.count++] = node;
	}
	return 0;
}

int frames_forget(struct frames *frames, const uint8_t *used)
{
	struct frames *to = frames_create(), old;
	int err = to ? copy_used(frames, used, to) : -ENOMEM;

	if (!err) {
		old = *frames;
		*frames = *to;
		*to = old;
	}
	frames_destroy(to);
	return err;
}
