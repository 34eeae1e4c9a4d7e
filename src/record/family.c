// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "profile/text.h"

#define RELATIVES_MAX 4096 /* that are noted */
#define TOLD_MAX      5
#define LOOK_S        1.0
#define LOOK_SHARE    100

void family_deinit(struct family *family)
{
	vec_free(&family->relatives);
}

static struct relative *relative_of(struct family *family, const struct descendant *one)
{
	size_t i;

	for (i = 0; i < family->relatives.count; i++)
		if (family->relatives.at[i].last.pid == one->pid &&
		    family->relatives.at[i].last.started == one->started)
			return &family->relatives.at[i];
	return NULL;
}

static void note(struct family *family, const struct descendant *one, bool first)
{
	struct relative *known = relative_of(family, one);

	if (known)
		known->last = *one;
	else if (family->relatives.count < RELATIVES_MAX)
		(void)vec_push(&family->relatives, (struct relative){.last = *one, .before = first ? one->ticks : 0});
}

/* The roots, and those of before: a child whose parent has ended is still one. */
static int *known_pids(const struct family *family, size_t *ret)
{
	int *pids = calloc(family->count + family->relatives.count + 1, sizeof(*pids));
	struct descendant found;
	size_t i;

	*ret = 0;
	for (i = 0; pids && i < family->count; i++)
		pids[(*ret)++] = family->pids[i];
	for (i = 0; pids && i < family->relatives.count; i++) {
		const struct descendant *last = &family->relatives.at[i].last;

		if (descendant_read(last->pid, &found) && found.started == last->started)
			pids[(*ret)++] = last->pid;
	}
	return pids;
}

void family_look(struct family *family)
{
	bool first = !family->looked;
	struct descendant *list = NULL, found;
	size_t count = 0, known, i;
	int *pids;

	family->looked = time_s(CLOCK_MONOTONIC);
	pids = known_pids(family, &known);
	for (i = family->count; pids && i < known; i++)
		if (descendant_read(pids[i], &found))
			note(family, &found, false);
	if (pids && !descendants_find(pids, known, &list, &count))
		for (i = 0; i < count; i++)
			note(family, &list[i], first);
	free(list);
	free(pids);
	family->cost = time_s(CLOCK_MONOTONIC) - family->looked;
}

void family_look_again(struct family *family)
{
	double since = time_s(CLOCK_MONOTONIC) - family->looked;

	if (since >= LOOK_S && since >= LOOK_SHARE * family->cost)
		family_look(family);
}

static uint64_t used(const struct relative *relative)
{
	return relative->last.ticks - relative->before;
}

static int by_use(const void *a, const void *b)
{
	uint64_t x = used(a), y = used(b);

	return (x < y) - (x > y);
}

void family_tell(const struct family *family, char *ret, size_t size)
{
	VEC(struct relative) busy = {};
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	size_t written = 0, i;

	*ret = '\0';
	for (i = 0; i < family->relatives.count; i++)
		if (used(&family->relatives.at[i]) && vec_push(&busy, family->relatives.at[i]))
			break;
	if (busy.count)
		qsort(busy.at, busy.count, sizeof(busy.at[0]), by_use);
	for (i = 0; i < busy.count && i < TOLD_MAX && written < size; i++) {
		char name[4 * sizeof(busy.at[i].last.name)];

		text_clean(busy.at[i].last.name, name, sizeof(name));
		written += (size_t)snprintf(ret + written, size - written, "%s%s (pid %d) %.2f s", i ? ", " : "", name,
					    busy.at[i].last.pid, (double)used(&busy.at[i]) * tick);
	}
	if (busy.count > TOLD_MAX && written < size)
		snprintf(ret + written, size - written, " and %zu others", busy.count - TOLD_MAX);
	vec_free(&busy);
}
