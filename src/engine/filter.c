// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/filter.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/near.h"
#include "base/pattern.h"
#include "kernel/cpus.h"
#include "proc/cgroups.h"
#include "proc/containers.h"

/* Of kinds that only user space can judge. */
#define JUDGED_HERE (FILTER_BITS(FILTER_BY_COMM) | FILTER_BITS(FILTER_BY_CONTAINER))

struct item {
	enum filter_kind kind;
	uint32_t bit; /* FILTER_WANTED or FILTER_EXCLUDED of the kind */
	char *value;
	regex_t pattern; /* FILTER_BY_COMM */
	char *path;      /* FILTER_BY_CGROUP, once it is found */
	bool found;      /* FILTER_BY_CONTAINER */
};

struct filter {
	VEC(struct item) items; /* in the order in which they were given */
	struct filter_rules rules;
	struct sampler *sampler; /* NULL: before filter_begin() */
};

static const char *const filter_kind_names[FILTER_KINDS] = {
	[FILTER_BY_CGROUP] = "cgroup", [FILTER_BY_CONTAINER] = "container",
	[FILTER_BY_USER] = "user",     [FILTER_BY_COMM] = "comm",
	[FILTER_BY_CPU] = "cpu",
};

struct filter *filter_create(void)
{
	return calloc(1, sizeof(struct filter));
}

static void item_deinit(struct item *item)
{
	if (item->kind == FILTER_BY_COMM)
		regfree(&item->pattern);
	free(item->value);
	free(item->path);
}

void filter_destroy(struct filter *filter)
{
	size_t i;

	if (!filter)
		return;
	for (i = 0; i < filter->items.count; i++)
		item_deinit(&filter->items.at[i]);
	for (i = 0; i < filter->rules.cgroups.count; i++)
		close(filter->rules.cgroups.at[i]);
	vec_free(&filter->items);
	vec_free(&filter->rules.users);
	vec_free(&filter->rules.cgroups);
	free(filter->rules.cpus);
	free(filter);
}

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "filter.memory", "out of memory");
}

/* Says which option was wrong. */
static void name_option(enum filter_kind kind, uint32_t bit, const char *value, struct diag *diag)
{
	bool excludes = bit & FILTER_ALL_EXCLUDED;

	diag_prefix(diag, "--%s%s%s%s", excludes ? "exclude " : "", filter_kind_names[kind], excludes ? "=" : " ",
		    *value || excludes ? value : "''");
}

static int check_value(enum filter_kind kind, const char *value, struct item *item, struct diag *diag)
{
	unsigned long cpu = 0;

	if (!*value)
		return diag_fail(diag, EINVAL, "filter.value", "no %s has an empty name", filter_kind_names[kind]);
	if (kind == FILTER_BY_CPU && cpus_parse(value, NULL, 0, &cpu) == -EINVAL)
		return diag_fail(diag, EINVAL, "filter.cpus", "no list of CPUs, such as 0-3,8");
	return kind == FILTER_BY_COMM ? pattern_compile(value, &item->pattern, diag) : 0;
}

static int add(struct filter *filter, enum filter_kind kind, uint32_t bit, const char *value, struct diag *diag)
{
	struct item item = {.kind = kind, .bit = bit};
	int err = check_value(kind, value, &item, diag);

	if (err) {
		name_option(kind, bit, value, diag);
		return err;
	}
	item.value = strdup(value);
	if (!item.value || vec_push(&filter->items, item)) {
		item_deinit(&item);
		return no_memory(diag);
	}
	filter->rules.kinds |= bit;
	return 0;
}

int filter_add(struct filter *filter, enum filter_kind kind, const char *value, struct diag *diag)
{
	return add(filter, kind, FILTER_WANTED(kind), value, diag);
}

int filter_exclude(struct filter *filter, const char *text, struct diag *diag)
{
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : 0;
	unsigned int kind;

	for (kind = 0; kind < FILTER_KINDS; kind++)
		if (strlen(filter_kind_names[kind]) == length && !strncmp(text, filter_kind_names[kind], length))
			return add(filter, (enum filter_kind)kind, FILTER_EXCLUDED(kind), value + 1, diag);
	return diag_fail(diag, EINVAL, "filter.kind",
			 "--exclude %s: not KIND=VALUE with a kind that there is: cgroup, container, user, comm, cpu",
			 *text ? text : "''");
}

/* The rest of a message: which one may have been meant. */
static const char *hint(const struct near *near, char ret[static 320])
{
	ret[0] = '\0';
	if (*near->best)
		snprintf(ret, 320, ": did you mean %s?", near->best);
	return ret;
}

static int find_uid(const char *value, uint32_t *ret, struct diag *diag)
{
	struct near near = {.wanted = value};
	const struct passwd *user;
	char text[320], *end = NULL;
	unsigned long number;

	number = strtoul(value, &end, 10);
	if (isdigit((unsigned char)*value) && !*end) {
		if (strlen(value) > 10 || number >= UINT32_MAX)
			return diag_fail(diag, ENOENT, "filter.user", "no user has such an id");
		*ret = (uint32_t)number;
		return 0;
	}
	user = getpwnam(value);
	if (user) {
		*ret = user->pw_uid;
		return 0;
	}
	setpwent();
	while ((user = getpwent()))
		near_offer(&near, user->pw_name);
	endpwent();
	return diag_fail(diag, ENOENT, "filter.user", "no such user%s", hint(&near, text));
}

static int find_user(struct filter *filter, struct item *item, struct diag *diag)
{
	struct filter_user user = {.bits = item->bit};
	size_t i;
	int err = find_uid(item->value, &user.uid, diag);

	if (err)
		return err;
	for (i = 0; i < filter->rules.users.count; i++) {
		if (filter->rules.users.at[i].uid == user.uid) {
			filter->rules.users.at[i].bits |= user.bits;
			return 0;
		}
	}
	if (i == FILTER_USERS_MAX)
		return diag_fail(diag, E2BIG, "filter.user", "more than %d users", FILTER_USERS_MAX);
	return vec_push(&filter->rules.users, user) ? no_memory(diag) : 0;
}

/* By its path or by the last part of it, whichever was typed. */
static bool offer_cgroup(void *context, uint64_t id, const char *path)
{
	struct near *near = context;
	const char *last = strrchr(path, '/') + 1;
	struct near same = {.wanted = strrchr(near->wanted, '/') ? strrchr(near->wanted, '/') + 1 : near->wanted};

	(void)id;
	near_offer(&same, last);
	if (*same.best && (!*near->best || same.distance < near->distance) && strlen(path) < sizeof(near->best)) {
		strcpy(near->best, path);
		near->distance = same.distance;
	}
	return !*near->best || near->distance;
}

static int find_cgroup(struct filter *filter, struct item *item, struct diag *diag)
{
	struct near near = {.wanted = item->value};
	char path[PATH_MAX], text[320];
	int fd = cgroup_open(item->value, path, sizeof(path));

	if (fd == -ENODEV)
		return diag_fail(diag, ENODEV, "filter.cgroup", "%s",
				 cgroups_each(offer_cgroup, &near)
					 ? "this is no cgroup of version 2"
					 : "no cgroups of version 2 are mounted, and others cannot be told apart");
	if (fd < 0) {
		cgroups_each(offer_cgroup, &near);
		return diag_fail(diag, -fd, "filter.cgroup", "no such cgroup%s%s",
				 fd == -ENOENT ? hint(&near, text) : ": ", fd == -ENOENT ? "" : strerror(-fd));
	}
	item->path = strdup(path);
	if (filter->rules.cgroups.count == FILTER_CGROUPS_MAX) {
		close(fd);
		return diag_fail(diag, E2BIG, "filter.cgroup", "more than %d cgroups", FILTER_CGROUPS_MAX);
	}
	if (!item->path || vec_push(&filter->rules.cgroups, fd)) {
		close(fd);
		return no_memory(diag);
	}
	filter->rules.cgroups_wanted += item->bit == FILTER_WANTED(FILTER_BY_CGROUP);
	return 0;
}

struct container_search {
	struct item *item;
	struct near near;
};

static bool look_for_container(void *context, uint64_t id, const char *path)
{
	struct container_search *search = context;
	struct container container;

	(void)id;
	if (!container_of(path, "", &container))
		return true;
	search->item->found = container_is(&container, search->item->value);
	near_offer(&search->near, container.name);
	near_offer(&search->near, container.pod);
	return !search->item->found;
}

static int find_container(struct filter *filter, struct item *item, struct diag *diag)
{
	struct container_search search = {.item = item, .near.wanted = item->value};
	char text[320];

	(void)filter;
	if (!cgroups_each(look_for_container, &search))
		return diag_fail(diag, ENODEV, "filter.container",
				 "no cgroups of version 2 are mounted, by which containers are told apart");
	if (item->found)
		return 0;
	return diag_fail(diag, ENOENT, "filter.container", "no such container runs%s", hint(&search.near, text));
}

/* The CPUs of a list, which all must be online. */
static int find_listed(const struct item *item, bool *listed, size_t count, struct diag *diag)
{
	bool *online = calloc(count, sizeof(*online));
	unsigned long beyond = 0;
	size_t cpu = 0;
	int err = online ? cpus_parse(item->value, listed, count, &beyond) : -ENOMEM;

	if (!err && item->bit == FILTER_WANTED(FILTER_BY_CPU)) {
		cpus_online(CPUS_ONLINE, online, count);
		while (cpu < count && (!listed[cpu] || online[cpu]))
			cpu++;
		if (cpu < count)
			err = diag_fail(diag, ENODEV, "filter.cpu", "CPU %zu is offline", cpu);
	}
	free(online);
	if (err == -ENOMEM)
		return no_memory(diag);
	if (err == -ERANGE)
		return diag_fail(diag, ENODEV, "filter.cpu", "there is no CPU %lu: the last one is %zu", beyond,
				 count - 1);
	return err;
}

/* All that are wanted, if some are, without those excluded. */
static int choose_cpus(struct filter *filter, struct item *item, struct diag *diag)
{
	bool wanted = item->bit == FILTER_WANTED(FILTER_BY_CPU), *cpus = filter->rules.cpus, *listed;
	size_t count = (size_t)libbpf_num_possible_cpus(), cpu, left = 0;
	int err = 0;

	listed = calloc(count, sizeof(*listed));
	if (!cpus) {
		cpus = filter->rules.cpus = calloc(count, sizeof(*cpus));
		for (cpu = 0; cpus && cpu < count; cpu++)
			cpus[cpu] = !wanted;
	}
	err = listed && cpus ? find_listed(item, listed, count, diag) : no_memory(diag);
	for (cpu = 0; !err && cpu < count; cpu++) {
		if (listed[cpu])
			cpus[cpu] = wanted;
		left += cpus[cpu];
	}
	free(listed);
	return err || left ? err : diag_fail(diag, EINVAL, "filter.cpu", "no CPU is left to be sampled");
}

static int find_nothing(struct filter *filter, struct item *item, struct diag *diag)
{
	(void)filter;
	(void)item;
	(void)diag;
	return 0;
}

static int (*const finders[FILTER_KINDS])(struct filter *filter, struct item *item, struct diag *diag) = {
	[FILTER_BY_CGROUP] = find_cgroup, [FILTER_BY_CONTAINER] = find_container, [FILTER_BY_USER] = find_user,
	[FILTER_BY_COMM] = find_nothing,  [FILTER_BY_CPU] = choose_cpus,
};

/* What is wanted first, then what is excluded: so the kernel part has cgroups. */
int filter_find(struct filter *filter, struct diag *diag)
{
	const uint32_t bits[] = {FILTER_ALL_WANTED, FILTER_ALL_EXCLUDED};
	size_t i, j;
	int err;

	for (i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		for (j = 0; j < filter->items.count; j++) {
			struct item *item = &filter->items.at[j];

			if (!(item->bit & bits[i]))
				continue;
			err = finders[item->kind](filter, item, diag);
			if (err) {
				name_option(item->kind, item->bit, item->value, diag);
				return err;
			}
		}
	}
	return 0;
}

void filter_text(const struct filter *filter, char *ret, size_t size)
{
	size_t used = 0, i;

	ret[0] = '\0';
	for (i = 0; i < filter->items.count && used < size; i++) {
		const struct item *item = &filter->items.at[i];

		used += (size_t)snprintf(ret + used, size - used, ", %s%s %s",
					 item->bit & FILTER_ALL_EXCLUDED ? "not " : "", filter_kind_names[item->kind],
					 item->value);
	}
}

const struct filter_rules *filter_rules(const struct filter *filter)
{
	return filter && filter->rules.kinds ? &filter->rules : NULL;
}

static uint32_t judge_comm(const struct filter *filter, const char *comm)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < filter->items.count; i++) {
		const struct item *item = &filter->items.at[i];

		if (item->kind == FILTER_BY_COMM && !regexec(&item->pattern, comm, 0, NULL, 0))
			bits |= item->bit;
	}
	return bits;
}

static uint32_t judge_container(const struct filter *filter, const char *path)
{
	struct container container;
	uint32_t bits = 0;
	size_t i;

	if (!container_of(path, "", &container))
		return 0;
	for (i = 0; i < filter->items.count; i++) {
		const struct item *item = &filter->items.at[i];

		if (item->kind == FILTER_BY_CONTAINER && container_is(&container, item->value))
			bits |= item->bit;
	}
	return bits;
}

static uint32_t judge_cgroup(const struct filter *filter, const char *path)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < filter->items.count; i++) {
		const struct item *item = &filter->items.at[i];

		if (item->kind == FILTER_BY_CGROUP && cgroup_is_below(path, item->path))
			bits |= item->bit;
	}
	return bits;
}

static uint32_t judge_user(const struct filter *filter, uint32_t uid)
{
	size_t i;

	for (i = 0; i < filter->rules.users.count; i++)
		if (filter->rules.users.at[i].uid == uid)
			return filter->rules.users.at[i].bits;
	return 0;
}

static bool passes(const struct filter *filter, uint32_t kinds, uint32_t bits)
{
	return !(bits & FILTER_ALL_EXCLUDED) && !(filter->rules.kinds & kinds & FILTER_ALL_WANTED & ~bits);
}

static bool judge_folder(void *context, uint64_t id, const char *path)
{
	const struct filter *filter = context;

	sampler_judge_container(filter->sampler, id, judge_container(filter, path));
	return true;
}

void filter_begin(struct filter *filter, struct sampler *sampler)
{
	filter->sampler = sampler;
	if (filter->rules.kinds & FILTER_BITS(FILTER_BY_CONTAINER))
		cgroups_each(judge_folder, filter);
}

bool filter_wants(void *context, const struct sample_event *sample)
{
	struct filter *filter = context;
	uint32_t bits = 0, comm, container;
	char path[PATH_MAX];

	if (!(sample->flags & SAMPLE_UNJUDGED))
		return true;
	if (filter->rules.kinds & FILTER_BITS(FILTER_BY_COMM)) {
		comm = judge_comm(filter, sample->comm);
		sampler_judge_comm(filter->sampler, sample->comm, comm);
		bits |= comm;
	}
	/* What a cgroup that is gone was nobody knows any more. */
	if (filter->rules.kinds & FILTER_BITS(FILTER_BY_CONTAINER) && cgroup_path(sample->cgroup, path, sizeof(path))) {
		container = judge_container(filter, path);
		sampler_judge_container(filter->sampler, sample->cgroup, container);
		bits |= container;
	}
	return passes(filter, JUDGED_HERE, bits);
}

/* A line of a thread's file in /proc that begins with a word: what follows. False: it is gone. */
static bool read_line(const struct off_cpu_waiting *waiting, const char *name, const char *word, char *ret, size_t size)
{
	char path[96], line[PATH_MAX];
	FILE *file;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", waiting->thread.tgid, waiting->tid, name);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, word, strlen(word));
		line[strcspn(line, "\n")] = '\0';
		if (found)
			snprintf(ret, size, "%s", line + strlen(word));
	}
	if (file)
		fclose(file);
	return found;
}

/* Where a thread ran last: the 37th field after its name (proc(5)). */
static bool is_on_wanted_cpu(const struct filter *filter, const struct off_cpu_waiting *waiting)
{
	char line[PATH_MAX], *at;
	unsigned int field;
	unsigned long cpu;

	if (!filter->rules.cpus)
		return true;
	if (!read_line(waiting, "stat", "", line, sizeof(line)) || !(at = strrchr(line, ')')))
		return false;
	for (field = 0; field < 37 && at; field++)
		at = strchr(at + 1, ' ');
	cpu = at ? strtoul(at + 1, NULL, 10) : ULONG_MAX;
	return cpu < (unsigned long)libbpf_num_possible_cpus() && filter->rules.cpus[cpu];
}

bool filter_wants_waiting(void *context, const struct off_cpu_waiting *waiting)
{
	struct filter *filter = context;
	char line[PATH_MAX];
	uint32_t bits = 0;

	if (!is_on_wanted_cpu(filter, waiting))
		return false;
	if (!(waiting->thread.flags & WAIT_UNJUDGED))
		return true;
	if (read_line(waiting, "status", "Uid:", line, sizeof(line)))
		bits |= judge_user(filter, (uint32_t)strtoul(line, NULL, 10));
	if (read_line(waiting, "comm", "", line, sizeof(line)))
		bits |= judge_comm(filter, line);
	if (cgroup_path_of_thread((int)waiting->thread.tgid, (int)waiting->tid, line, sizeof(line)))
		bits |= judge_cgroup(filter, line) | judge_container(filter, line);
	return passes(filter, ~FILTER_BITS(FILTER_BY_CPU), bits);
}
