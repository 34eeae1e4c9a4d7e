// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/owners.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"
#include "proc/cgroups.h"
#include "proc/containers.h"

#define OWNERS_MAX 16384

struct owners {
	struct string_pool *texts;
	struct table index_of; /* cgroup → index */
	VEC(struct profile_owner) list;
};

struct owners *owners_create(void)
{
	struct owners *owners = calloc(1, sizeof(*owners));

	if (owners)
		owners->texts = string_pool_create();
	if (owners && owners->texts)
		return owners;
	free(owners);
	return NULL;
}

void owners_destroy(struct owners *owners)
{
	if (!owners)
		return;
	string_pool_destroy(owners->texts);
	table_deinit(&owners->index_of);
	vec_free(&owners->list);
	free(owners);
}

/* Without memory for a new pool the old one stays. */
static void forget_all(struct owners *owners)
{
	struct string_pool *fresh = string_pool_create();

	if (!fresh)
		return;
	string_pool_destroy(owners->texts);
	owners->texts = fresh;
	table_deinit(&owners->index_of);
	owners->list.count = 0;
}

static int find(struct owners *owners, uint64_t cgroup, uint64_t *ret)
{
	char path[PATH_MAX], text[2 * CONTAINER_TEXT_MAX], name[CONTAINER_TEXT_MAX];
	struct container container = {};
	struct profile_owner owner;

	if (!cgroup_path(cgroup, path, sizeof(path)))
		snprintf(path, sizeof(path), "(cgroup %llu)", (unsigned long long)cgroup);
	else
		container_of(path, "", &container);
	container_name(&container, name, sizeof(name));
	container_text(&container, text, sizeof(text));
	owner = (struct profile_owner){string_intern(owners->texts, path), string_intern(owners->texts, name),
				       string_intern(owners->texts, container.pod),
				       string_intern(owners->texts, container.unit),
				       string_intern(owners->texts, *text ? text : path)};
	if (!owner.cgroup || !owner.container || !owner.pod || !owner.unit || !owner.text ||
	    vec_push(&owners->list, owner))
		return -ENOMEM;
	*ret = owners->list.count - 1;
	return table_set(&owners->index_of, cgroup, *ret);
}

static int look_up(struct owners *owners, uint64_t cgroup, uint64_t *ret)
{
	if (table_get(&owners->index_of, cgroup, ret))
		return 0;
	if (owners->list.count >= OWNERS_MAX)
		forget_all(owners);
	return find(owners, cgroup, ret);
}

int owners_meet(struct owners *owners, uint64_t cgroup)
{
	uint64_t index;

	return cgroup ? look_up(owners, cgroup, &index) : 0;
}

int owners_tell(struct owners *owners, uint64_t cgroup, struct profile *profile)
{
	uint64_t index;

	if (!cgroup || profile_owner(profile, cgroup))
		return 0;
	return look_up(owners, cgroup, &index) ?: profile_set_owner(profile, cgroup, &owners->list.at[index]);
}
