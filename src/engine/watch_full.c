// SPDX-License-Identifier: GPL-2.0-or-later
/* What happens when a user's or process's share of the kernel's tables is full (kernel/tables.h). */
#include "engine/watch_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/person.h"

#define FULL_AGAIN_NS 10000000000ull /* then what found no room is tried again */
#define USER_UNKNOWN  (UINT32_MAX - 1)

/* The real user of a process: whoever started it, whatever it runs as, and whichever of his ids (base/person.h). */
static uint32_t user_of(int pid)
{
	char name[32], line[256];
	unsigned int user = USER_UNKNOWN;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %u", &user) == 1)
			break;
	if (file)
		fclose(file);
	return user == USER_UNKNOWN ? user : person_of(user);
}

/* The name of a process's program, as it says; *ret is "" when it is gone. */
static void name_of(uint32_t pid, char *ret, int size)
{
	char name[32];
	FILE *file;

	*ret = '\0';
	snprintf(name, sizeof(name), "/proc/%u/comm", pid);
	file = fopen(name, "re");
	if (file && fgets(ret, size, file))
		ret[strcspn(ret, "\n")] = '\0';
	if (file)
		fclose(file);
}

uint32_t watch_user(const struct process *process)
{
	const struct watched *watched = process->user;

	return watched && watched->has_owner ? watched->owner.user : user_of(process->pid);
}

void watch_charge(struct watch *watch, const struct process *process)
{
	struct share_owner owner = {.process = (uint32_t)process->pid, .user = watch_user(process)};
	struct watched *watched = process->user;

	if (watched) {
		watched->owner = owner;
		watched->has_owner = true;
	}
	watch->sharing.charged = owner.user;
	tables_charge(sampler_tables(watch->sampler), &owner);
}

bool watch_may_follow(struct watch *watch, uint64_t bytes)
{
	return budget_take(&watch->sharing.code, watch->sharing.charged, bytes, watch_now() / 1000000000);
}

void watch_shorten(struct watch *watch)
{
	uint64_t left = tables_left(sampler_tables(watch->sampler), TABLES_MAPPINGS);
	struct mapping_entry *last;
	uint64_t end;

	if (!left || watch->publishing.entries.count <= left)
		return;
	end = watch->publishing.entries.at[watch->publishing.entries.count - 1].end;
	last = &watch->publishing.entries.at[left - 1];
	*last = (struct mapping_entry){.start = last->start, .end = end, .kind = MAPPING_TABLE_FULL};
	watch->publishing.entries.count = left;
}

void watch_note_full(struct watch *watch, struct watched *watched)
{
	if (!watch->sharing.full_since)
		watch->sharing.full_since = watch_now();
	if (watched)
		watched->is_full = true;
}

/* Says once of each kind who has it all. */
static void tell(struct watch *watch, enum tables_kind kind)
{
	static const char *const names[] = {[TABLES_MAPPINGS] = "mappings",
					    [TABLES_PAGES] = "code",
					    [TABLES_RULES] = "different unwind rules",
					    [TABLES_ROWS] = "rows of unwind tables"};
	const struct tables_refusal *refusal = tables_refusals(sampler_tables(watch->sampler), kind);
	char text[WATCH_REMARK_BYTES], program[64];

	if (!refusal->count || watch->sharing.full_told & 1u << kind)
		return;
	watch->sharing.full_told |= 1u << kind;
	name_of(refusal->most.process, program, sizeof(program));
	snprintf(text, sizeof(text),
		 "table-full: no room for more %s; process %u (%s) of user %d has the most, %.0f %% of all",
		 names[kind], refusal->most.process, *program ? program : "which has ended", (int)refusal->most.user,
		 100.0 * (double)refusal->held / (double)refusal->whole);
	watch_add_remark(watch, text);
}

/* What found no room is tried again: it may be there now. */
static void try_again(struct watch *watch)
{
	struct process *process;
	size_t at = 0;

	objects_retry_full(watch->objects, sampler_tables(watch->sampler));
	while ((process = processes_next(watch->processes, &at))) {
		struct watched *watched = process->user;

		if (!watched || !watched->is_full || process->ended != UINT64_MAX)
			continue;
		watched->is_full = false;
		watch_publish_again(watch, process);
	}
}

void watch_retry_full(struct watch *watch, uint64_t now)
{
	enum tables_kind kind;

	for (kind = 0; kind < TABLES_KINDS; kind++)
		tell(watch, kind);
	if (watch->sharing.code.refused && !watch->sharing.code_told)
		watch_add_remark(watch, "table-full: files without unwind tables have more machine code than is "
					"followed for one user at a time");
	watch->sharing.code_told = watch->sharing.code.refused;
	if (!watch->sharing.full_since || watch->sharing.full_since + FULL_AGAIN_NS > now)
		return;
	watch->sharing.full_since = 0;
	try_again(watch);
}
