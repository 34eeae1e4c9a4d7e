// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/ranking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"
#include "profile/text.h"

#define FRAME_KINDS  (RANKING_MODULE + 1)
#define NAME_MAX_ROW 512 /* bytes of a row's name */
#define NONE         UINT32_MAX
#define NS_PER_S     1000000000u

struct rows {
	VEC(struct ranking_row) list;
	struct string_pool *names;
	struct table by_name[FRAME_LAYER_COUNT + 1]; /* by layer: name's address → index */
};

/* Names of what the kernel has numbers for. */
struct names {
	struct table by_id; /* → address of the name in the pool */
	struct table fresh; /* ids that were looked up in this window */
	struct string_pool *pool;
};

struct ranking {
	struct rows rows[RANKING_KINDS];
	struct names containers, cgroups, processes;
	struct ranking_sums now, all;
	uint64_t stamp;
	uint32_t *of_frame[FRAME_KINDS]; /* while a window is added: the row of each of its frames, or NONE */
};

static int rows_init(struct rows *rows)
{
	rows->names = string_pool_create();
	return rows->names ? 0 : -ENOMEM;
}

static void rows_deinit(struct rows *rows)
{
	size_t i;

	vec_free(&rows->list);
	string_pool_destroy(rows->names);
	for (i = 0; i <= FRAME_LAYER_COUNT; i++)
		table_deinit(&rows->by_name[i]);
}

static int names_init(struct names *names)
{
	names->pool = string_pool_create();
	return names->pool ? 0 : -ENOMEM;
}

static void names_deinit(struct names *names)
{
	table_deinit(&names->by_id);
	table_deinit(&names->fresh);
	string_pool_destroy(names->pool);
}

struct ranking *ranking_create(void)
{
	struct ranking *ranking = calloc(1, sizeof(*ranking));
	size_t kind;
	int err;

	if (!ranking)
		return NULL;
	err = names_init(&ranking->containers) ?: names_init(&ranking->cgroups) ?: names_init(&ranking->processes);
	for (kind = 0; kind < RANKING_KINDS; kind++)
		err = err ?: rows_init(&ranking->rows[kind]);
	if (err) {
		ranking_destroy(ranking);
		return NULL;
	}
	return ranking;
}

void ranking_destroy(struct ranking *ranking)
{
	size_t kind;

	if (!ranking)
		return;
	for (kind = 0; kind < RANKING_KINDS; kind++)
		rows_deinit(&ranking->rows[kind]);
	names_deinit(&ranking->containers);
	names_deinit(&ranking->cgroups);
	names_deinit(&ranking->processes);
	free(ranking);
}

/* The index of the row with this name, which is added if it is new. 0 or -ENOMEM. */
static int find_row(struct rows *rows, const char *name, unsigned int layer, uint32_t *ret)
{
	const char *kept = string_intern(rows->names, name);
	uint64_t index;

	if (!kept)
		return -ENOMEM;
	if (table_get(&rows->by_name[layer], (uintptr_t)kept, &index)) {
		*ret = (uint32_t)index;
		return 0;
	}
	index = rows->list.count;
	if (vec_push(&rows->list, (struct ranking_row){.name = kept, .layer = layer}))
		return -ENOMEM;
	if (table_set(&rows->by_name[layer], (uintptr_t)kept, index)) {
		rows->list.count--;
		return -ENOMEM;
	}
	*ret = (uint32_t)index;
	return 0;
}

/* What stays when there are too many: most samples now, then most of all. */
static int compare_worth(const void *a, const void *b)
{
	const struct ranking_row *x = a, *y = b;

	if (x->now.total != y->now.total)
		return x->now.total < y->now.total ? 1 : -1;
	return x->all.total == y->all.total ? 0 : x->all.total < y->all.total ? 1 : -1;
}

/* Keeps the better half. Without memory for that all stay. */
static void halve(struct rows *rows)
{
	struct rows kept = {};
	uint32_t index;
	size_t i;

	if (rows_init(&kept))
		return;
	qsort(rows->list.at, rows->list.count, sizeof(*rows->list.at), compare_worth);
	for (i = 0; i < RANKING_ROWS_MAX / 2; i++) {
		const struct ranking_row *row = &rows->list.at[i];

		if (find_row(&kept, row->name, row->layer, &index))
			break;
		kept.list.at[index].now = row->now;
		kept.list.at[index].all = row->all;
	}
	rows_deinit(rows);
	*rows = kept;
}

/* A frame's text in a ranking. */
static void name_frame(enum ranking_kind kind, const struct frame *frame, char ret[static NAME_MAX_ROW])
{
	struct frame text = *frame;
	size_t used;

	if (kind == RANKING_MODULE && frame->layer == FRAME_KERNEL) {
		snprintf(ret, NAME_MAX_ROW, "[kernel]");
	} else if (kind == RANKING_MODULE && frame->layer != FRAME_MARK) {
		text_clean(frame->file && *frame->file ? frame->file : "?", ret, NAME_MAX_ROW);
	} else if (kind == RANKING_FUNCTION && frame->layer == FRAME_RUNTIME) {
		/* Without the line; in the same words as the lines have. */
		text.line = 0;
		frame_format(&text, ret, NAME_MAX_ROW);
		used = strlen(ret);
		if (used > 3 && !strcmp(ret + used - 3, ":0)"))
			strcpy(ret + used - 3, ")");
	} else {
		frame_format(&text, ret, NAME_MAX_ROW);
	}
}

bool ranking_is(enum ranking_kind kind, const struct frame *frame, const char *name, unsigned int layer)
{
	char text[NAME_MAX_ROW];

	if (kind >= FRAME_KINDS || frame->layer != layer)
		return false;
	name_frame(kind, frame, text);
	return !strcmp(text, name);
}

static int row_of_frame(struct ranking *ranking, enum ranking_kind kind, const struct profile *window, uint32_t id,
			struct ranking_row **ret)
{
	uint32_t *index = &ranking->of_frame[kind][id];
	char name[NAME_MAX_ROW];

	if (*index == NONE) {
		const struct frame *frame = profile_frame_at(window, id);

		name_frame(kind, frame, name);
		if (find_row(&ranking->rows[kind], name, frame->layer, index))
			return -ENOMEM;
	}
	*ret = &ranking->rows[kind].list.at[*index];
	return 0;
}

uint64_t ranking_sample_ns(const struct profile *window, const struct profile_sample *sample)
{
	const struct profile_info *info = profile_get_info(window);

	if (info->weighed)
		return sample->weight;
	return info->frequency ? sample->count * (NS_PER_S / info->frequency) : 0;
}

/* What a sample stands for, in ns. */
struct times {
	uint64_t all, lockable, held, awaited;
};

static uint64_t share(uint64_t all, uint64_t part, uint64_t whole)
{
	return part >= whole ? all : (uint64_t)((double)all * (double)part / (double)whole);
}

static struct times times_of(const struct profile *window, const struct profile_sample *sample)
{
	const struct frame *innermost = sample->depth ? profile_frame_at(window, sample->frames[sample->depth - 1])
						       : NULL;
	bool awaits = innermost && innermost->layer == FRAME_MARK && !strcmp(innermost->name, "[waiting: GIL]");
	struct times times = {.all = ranking_sample_ns(window, sample)};

	times.lockable = share(times.all, sample->lockable, sample->count);
	times.held = share(times.all, sample->held, sample->count);
	times.awaited = awaits ? times.all : 0;
	return times;
}

static void count_total(struct ranking_row *row, uint64_t stamp, const struct times *times)
{
	struct ranking_counts *counts[] = {&row->now, &row->all};
	size_t i;

	if (row->stamp == stamp)
		return;
	row->stamp = stamp;
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		counts[i]->total += times->all;
		counts[i]->lockable += times->lockable;
		counts[i]->held += times->held;
		counts[i]->awaited += times->awaited;
	}
}

static void count_own(struct ranking_row *row, enum ranking_own own, const struct times *times)
{
	row->now.own[own] += times->all;
	row->all.own[own] += times->all;
}

static int add_frames(struct ranking *ranking, enum ranking_kind kind, const struct profile *window,
		      const struct profile_sample *sample, const struct times *times)
{
	struct ranking_row *row;
	bool has_runtime = false;
	uint32_t i;

	for (i = sample->depth; i-- > 0;) {
		uint32_t id = sample->frames[i];

		if (row_of_frame(ranking, kind, window, id, &row))
			return -ENOMEM;
		count_total(row, ranking->stamp, times);
		if (i == sample->depth - 1)
			count_own(row, RANKING_INNERMOST, times);
		if (!has_runtime && row->layer == FRAME_RUNTIME) {
			count_own(row, RANKING_RUNTIME, times);
			has_runtime = true;
		}
	}
	return 0;
}

static const char *keep_name(struct names *names, uint64_t id, const char *text)
{
	char clean[NAME_MAX_ROW];
	const char *name;

	text_clean(text, clean, sizeof(clean));
	name = string_intern(names->pool, clean);
	return name && !table_set(&names->by_id, id, (uintptr_t)name) ? name : NULL;
}

/* The name from before; NULL: there is none. */
static const char *kept_name(const struct names *names, uint64_t id)
{
	uint64_t address = 0;

	table_get(&names->by_id, id, &address);
	return (const char *)(uintptr_t)address;
}

/* By the cgroup's path, or by what it is of: a container, else a unit. */
static const char *name_cgroup(struct names *names, bool is_container, const struct profile *window,
			       const struct profile_sample *sample)
{
	const char *name = kept_name(names, sample->cgroup);
	const struct profile_owner *owner;

	if (name)
		return name;
	owner = profile_owner(window, sample->cgroup);
	if (!owner)
		return "?";
	return keep_name(names, sample->cgroup, is_container ? owner->text : owner->cgroup);
}

/* By the process's own name, which may change, not by the thread's; once it is gone, by what it was called last. */
static const char *name_process(struct names *names, const struct profile_sample *sample)
{
	uint64_t id = (uint64_t)sample->pid + 1;
	const char *name = kept_name(names, id);
	char path[64], text[128], comm[64] = "";
	FILE *file;

	if (name && table_get(&names->fresh, id, NULL))
		return name;
	snprintf(path, sizeof(path), "/proc/%d/comm", sample->pid);
	file = fopen(path, "re");
	if (file) {
		comm[fread(comm, 1, sizeof(comm) - 1, file)] = '\0';
		comm[strcspn(comm, "\n")] = '\0';
		fclose(file);
	}
	if (*comm || !name) {
		snprintf(text, sizeof(text), "%d %s", sample->pid, *comm ? comm : sample->comm);
		name = keep_name(names, id, text);
	}
	return table_set(&names->fresh, id, 1) ? NULL : name;
}

static int add_owner(struct ranking *ranking, enum ranking_kind kind, const struct profile *window,
		     const struct profile_sample *sample, const struct times *times)
{
	char comm[64], thread[128];
	const char *name = thread;
	struct ranking_row *row;
	uint32_t index;

	if (kind == RANKING_PROCESS) {
		name = name_process(&ranking->processes, sample);
	} else if (kind == RANKING_CGROUP) {
		name = name_cgroup(&ranking->cgroups, false, window, sample);
	} else if (kind == RANKING_CONTAINER) {
		name = name_cgroup(&ranking->containers, true, window, sample);
	} else {
		text_clean(sample->comm, comm, sizeof(comm));
		snprintf(thread, sizeof(thread), "%d %s (pid %d)", sample->tid, comm, sample->pid);
	}
	if (!name || find_row(&ranking->rows[kind], name, FRAME_LAYER_COUNT, &index))
		return -ENOMEM;
	row = &ranking->rows[kind].list.at[index];
	count_total(row, ranking->stamp, times);
	count_own(row, RANKING_INNERMOST, times);
	count_own(row, RANKING_RUNTIME, times);
	return 0;
}

static int add_sample(struct ranking *ranking, const struct profile *window, const struct profile_sample *sample)
{
	const struct times times = times_of(window, sample);
	enum ranking_kind kind;
	int err = 0;

	ranking->stamp++;
	for (kind = 0; kind < RANKING_KINDS && !err; kind++)
		err = kind < FRAME_KINDS ? add_frames(ranking, kind, window, sample, &times)
					 : add_owner(ranking, kind, window, sample, &times);
	return err;
}

/* Without memory for a new pool the old one stays. */
static void bound_names(struct names *names)
{
	struct names empty = {};

	table_deinit(&names->fresh);
	if (names->by_id.count <= RANKING_ROWS_MAX || names_init(&empty))
		return;
	names_deinit(names);
	*names = empty;
}

static void forget_now(struct ranking *ranking)
{
	size_t kind, i;

	bound_names(&ranking->containers);
	bound_names(&ranking->cgroups);
	bound_names(&ranking->processes);

	for (kind = 0; kind < RANKING_KINDS; kind++) {
		struct rows *rows = &ranking->rows[kind];

		if (rows->list.count > RANKING_ROWS_MAX)
			halve(rows);
		for (i = 0; i < rows->list.count; i++)
			rows->list.at[i].now = (struct ranking_counts){};
	}
}

/* Of all samples; those that were lost have no weight. */
static uint64_t sum_of(const struct profile *window)
{
	const struct profile_info *info = profile_get_info(window);
	size_t count = profile_sample_count(window), i;
	uint64_t sum = 0;

	if (!info->weighed)
		return info->frequency ? profile_get_quality(window)->samples * (NS_PER_S / info->frequency) : 0;
	for (i = 0; i < count; i++)
		sum += profile_sample_at(window, i)->weight;
	return sum;
}

int ranking_add(struct ranking *ranking, const struct profile *window)
{
	size_t frames = profile_frame_count(window), count = profile_sample_count(window), kind, i;
	int err = 0;

	forget_now(ranking);
	ranking->now = (struct ranking_sums){sum_of(window), profile_get_info(window)->duration_s};
	ranking->all.ns += ranking->now.ns;
	ranking->all.seconds += ranking->now.seconds;
	for (kind = 0; kind < FRAME_KINDS; kind++) {
		ranking->of_frame[kind] = malloc(frames * sizeof(uint32_t) + 1);
		if (!ranking->of_frame[kind])
			err = -ENOMEM;
		else
			memset(ranking->of_frame[kind], 0xff, frames * sizeof(uint32_t)); /* NONE */
	}
	for (i = 0; i < count && !err; i++)
		err = add_sample(ranking, window, profile_sample_at(window, i));
	for (kind = 0; kind < FRAME_KINDS; kind++)
		free(ranking->of_frame[kind]);
	return err;
}

void ranking_restart(struct ranking *ranking)
{
	size_t kind, i;

	for (kind = 0; kind < RANKING_KINDS; kind++)
		for (i = 0; i < ranking->rows[kind].list.count; i++)
			ranking->rows[kind].list.at[i].all = ranking->rows[kind].list.at[i].now;
	ranking->all = ranking->now;
}

const struct ranking_row *ranking_rows(const struct ranking *ranking, enum ranking_kind kind, size_t *count)
{
	*count = ranking->rows[kind].list.count;
	return ranking->rows[kind].list.at;
}

struct ranking_sums ranking_now(const struct ranking *ranking)
{
	return ranking->now;
}

struct ranking_sums ranking_all(const struct ranking *ranking)
{
	return ranking->all;
}
