// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions about tasks and processes. */
#include "lang/dialect/stap/tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/functions.h"

static const struct {
	const char *name, *member;
} members[] = {
	{"task_pid", "tgid"},
	{"task_tid", "pid"},
	{"task_execname", "comm"},
	{"__task_prio", "prio"},
	{"__task_static_prio", "static_prio"},
	{"task_state", "__state"},
	{"task_parent", "real_parent"},
	{"task_cpu", "thread_info->cpu"},
	{"task_uid", "cred->uid->val"},
	{"task_gid", "cred->gid->val"},
	{"task_euid", "cred->euid->val"},
	{"task_egid", "cred->egid->val"},
	{"__task_utime", "utime"},
	{"__task_stime", "stime"},
};

const char *stap_task_member(const char *function)
{
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (!strcmp(members[i].name, function))
			return members[i].member;
	return NULL;
}

struct stap_node *stap_task_target(struct compiler *c, const struct stap_node *base, const char *member)
{
	const char *steps = arena_printf(c->arena, "->%s", member);

	return stap_target_behind(c, base, steps ? steps : "");
}

/* --- at run time --- */

/* The target of this text, if the address is what was found there. */
static bool is_at(const struct stap_run *run, const char *text, size_t length, int64_t address)
{
	size_t i;

	for (i = 0; i < run->handler->targets.count; i++) {
		const struct stap_node *one = run->handler->targets.at[i];

		if (strlen(one->text) == length && !strncmp(one->text, text, length))
			return stap_slot_number(run, one->slot + 1) && stap_slot_number(run, one->slot) == address;
	}
	return false;
}

/* What the steps from this address lead to, if the record has it. */
static bool find_behind(struct stap_run *run, int64_t address, const char *steps, enum stap_type type,
			struct stap_value *ret)
{
	size_t length = strlen(steps), i;

	for (i = 0; i < run->handler->targets.count; i++) {
		const struct stap_node *one = run->handler->targets.at[i];
		size_t whole = strlen(one->text);

		if (whole <= length || strcmp(one->text + whole - length, steps) != 0 ||
		    !is_at(run, one->text, whole - length, address) || !stap_slot_number(run, one->slot + 1))
			continue;
		if (type == STAP_STRING)
			ret->text = stap_slot_text(run, one->slot);
		else
			ret->number = stap_slot_number(run, one->slot);
		return true;
	}
	return false;
}

TEXT_FUNCTION(stap_task_value)
{
	char steps[64];

	snprintf(steps, sizeof(steps), "->%s", stap_task_member(call->text));
	if (!find_behind(run, arguments[0].number, steps, call->type, ret))
		stap_fail(run, "read fault of a task at 0x%016" PRIx64 " [man error::fault]",
			  (uint64_t)arguments[0].number);
}

TEXT_FUNCTION(stap_cast_value)
{
	if (!find_behind(run, arguments[0].number, call->text, call->type, ret))
		stap_fail(run, "read fault at 0x%016" PRIx64 " [man error::fault]", (uint64_t)arguments[0].number);
}

/* --- processes --- */

#define ANCESTORS_MAX 64

static const struct stap_variable by_process = {.name = "family", .key_count = 1, .keys = {STAP_LONG}};

static int64_t parent_of(int64_t pid)
{
	char path[64], line[256];
	long long parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "PPid: %lld", &parent) == 1)
			break;
	if (file)
		fclose(file);
	return parent;
}

static bool is_known(const struct stap_run *run, int64_t pid)
{
	const struct stap_value key = {.number = pid};

	return pid == run->c->options->pid || (run->family && stap_map_find(run->family, &key));
}

/*
 * A process belongs to the target if its parent did when it was asked for first: the parent may have ended since. What
 * the record tells of the parent is older, and so better, than what /proc does.
 */
TEXT_FUNCTION(stap_is_in_target)
{
	const struct stap_value key = {.number = arguments[0].number};
	int64_t at = key.number;
	unsigned int i;

	(void)call;
	if (!run->c->options->pid || at <= 0)
		return;
	for (i = 0; at > 0 && i < ANCESTORS_MAX && !is_known(run, at); i++)
		at = at == stap_need_number(run, NEED_PID) ? stap_need_number(run, NEED_PPID) : parent_of(at);
	if (at <= 0 || !is_known(run, at))
		return;
	ret->number = 1;
	if (!run->family)
		run->family = stap_map_create(&by_process);
	if (!run->family || is_known(run, key.number))
		return;
	if (run->family->count >= (uint64_t)run->state->limits[MAXMAPENTRIES])
		stap_map_remove(run, run->family, run->family->first);
	stap_map_add(run->family, &key);
}

TEXT_FUNCTION(stap_command_line)
{
	const uint8_t *bytes;
	uint32_t size = stap_slot_bytes(run, run->layout->needs[NEED_COMMAND], &bytes), i;
	char *text = stap_room(run, size + 1);

	(void)call;
	(void)arguments;
	if (!text)
		return;
	/* What may follow the last word is its end, and what was left of the room. */
	while (size && !bytes[size - 1])
		size--;
	for (i = 0; i < size; i++)
		text[i] = bytes[i] ? (char)bytes[i] : ' ';
	ret->text = stap_text(run, text, size);
}

TEXT_FUNCTION(stap_pages_of)
{
	static const char *const columns[] = {"size", "rss", "shr", "txt", NULL, "data"};
	int64_t pid = call->kid_count ? arguments[0].number : stap_need_number(run, NEED_PID);
	unsigned long long pages;
	char path[64];
	FILE *file;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/statm", pid);
	file = fopen(path, "re");
	for (i = 0; file && i < sizeof(columns) / sizeof(columns[0]) && fscanf(file, "%llu", &pages) == 1; i++)
		if (columns[i] && !strcmp(call->text + strlen("proc_mem_"), columns[i]))
			ret->number = (int64_t)pages;
	if (file)
		fclose(file);
}

/* --- modules --- */
