// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/processes.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/table.h"

#define TIME_END UINT64_MAX

struct processes {
	struct table by_pid;             /* pid → newest struct process */
	struct table by_file;            /* hash of identity → struct mapped_file */
	VEC(struct mapped_file *) files; /* by index; NULL: free */
	VEC(uint32_t) free_files;        /* their indices */
};

struct processes *processes_create(void)
{
	return calloc(1, sizeof(struct processes));
}

static int add_mapping(struct process *process, struct process_mapping mapping)
{
	if (vec_push(&process->mappings, mapping))
		return -ENOMEM;
	mapping.file->users++;
	return 0;
}

static void process_destroy(struct process *process, void (*release)(struct process *))
{
	size_t i;

	if (process->user && release)
		release(process);
	for (i = 0; i < process->mappings.count; i++)
		process->mappings.at[i].file->users--;
	if (process->anonymous)
		process->anonymous->users--;
	vec_free(&process->mappings);
	free(process);
}

static void file_destroy(struct mapped_file *file)
{
	if (!file)
		return;
	free(file->path);
	free(file);
}

void processes_destroy(struct processes *processes, void (*release)(struct process *))
{
	struct table_slot *slot;
	size_t at = 0;

	if (!processes)
		return;
	while ((slot = table_next(&processes->by_pid, &at))) {
		struct process *process = (struct process *)(uintptr_t)slot->value;

		while (process) {
			struct process *older = process->older;

			process_destroy(process, release);
			process = older;
		}
	}
	table_deinit(&processes->by_pid);
	for (at = 0; at < processes->files.count; at++)
		file_destroy(processes->files.at[at]);
	vec_free(&processes->files);
	vec_free(&processes->free_files);
	table_deinit(&processes->by_file);
	free(processes);
}

static enum file_kind kind_of(uint64_t inode, const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return FILE_VDSO;
	if (path[0] == '[' && strncmp(path, "[anon", 5) && strcmp(path, "[heap]") && strncmp(path, "[stack", 6))
		return FILE_SPECIAL;
	/* "//anon" is perf's word for anonymous memory; /dev/zero has an inode but nothing to read. */
	if (!inode || path[0] != '/' || !strncmp(path, "//anon", 6) || !strncmp(path, "/dev/zero", 9))
		return FILE_ANONYMOUS;
	return FILE_REGULAR;
}

/* A new file with an index; NULL when memory is short. */
static struct mapped_file *add_file(struct processes *processes, enum file_kind kind, int pid, const char *path,
				    size_t size)
{
	struct mapped_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->kind = kind;
	file->pid = pid;
	file->path = strndup(path, size);
	file->index = (uint32_t)processes->files.count;
	if (file->path && processes->free_files.count) {
		file->index = processes->free_files.at[--processes->free_files.count];
		processes->files.at[file->index] = file;
		return file;
	}
	if (!file->path || vec_push(&processes->files, file)) {
		file_destroy(file);
		return NULL;
	}
	return file;
}

struct mapped_file *processes_anonymous(struct processes *processes, struct process *process)
{
	if (!process->anonymous) {
		process->anonymous = add_file(processes, FILE_ANONYMOUS, process->pid, "", 0);
		if (process->anonymous)
			process->anonymous->users = 1;
	}
	return process->anonymous;
}

static uint64_t file_key(enum file_kind kind, uint64_t device, uint64_t inode)
{
	uint64_t key;

	if (kind != FILE_REGULAR)
		return 1ull << 62 | (uint64_t)kind;
	/* Device numbers have 12 + 20 bits; what they share of the inode's top bits is settled by the caller. */
	key = ((device << 40) ^ (device >> 12) ^ inode) & ((1ull << 61) - 1);
	return key ? key : 1;
}

/* The file of an identity, made when new; NULL when memory is short. */
static struct mapped_file *find_file(struct processes *processes, struct process *process, uint64_t device,
				     uint64_t inode, const char *path)
{
	const size_t deleted = strlen(" (deleted)");
	enum file_kind kind = kind_of(inode, path);
	uint64_t key = file_key(kind, device, inode), found;
	size_t size = strlen(path);
	struct mapped_file *file;

	if (kind == FILE_ANONYMOUS)
		return processes_anonymous(processes, process);
	for (; table_get(&processes->by_file, key, &found); key++) {
		file = (struct mapped_file *)(uintptr_t)found;
		if (kind != FILE_REGULAR || (file->device == device && file->inode == inode))
			return file;
	}
	/* What the kernel appends to the name of a file that was deleted or replaced (fs/d_path.c) is no part of it. */
	if (kind == FILE_REGULAR && size > deleted && !strcmp(path + size - deleted, " (deleted)"))
		size -= deleted;
	file = add_file(processes, kind, process->pid, path, size);
	if (!file)
		return NULL;
	file->device = device;
	file->inode = inode;
	if (table_set(&processes->by_file, key, (uint64_t)(uintptr_t)file)) {
		processes_forget_file(processes, file);
		return NULL;
	}
	return file;
}

struct mapped_file *processes_file(const struct processes *processes, uint32_t index)
{
	return index < processes->files.count ? processes->files.at[index] : NULL;
}

size_t processes_file_count(const struct processes *processes)
{
	return processes->files.count;
}

void processes_renew_file(struct processes *processes, struct mapped_file *file)
{
	uint64_t key = file_key(file->kind, file->device, file->inode), found;
	struct table_slot *slot;
	size_t at = 0;

	if (file->kind == FILE_ANONYMOUS)
		return;
	/*
	 * A file whose key was taken has the next one. When the first of the two goes, the second is found no more by
	 * its identity, and gets another index: no harm. Here it is looked for among all.
	 */
	while (table_get(&processes->by_file, key, &found) && found != (uint64_t)(uintptr_t)file)
		key++;
	if (!table_get(&processes->by_file, key, NULL)) {
		while ((slot = table_next(&processes->by_file, &at)) && slot->value != (uint64_t)(uintptr_t)file)
			;
		if (!slot)
			return;
		key = slot->key;
	}
	table_remove(&processes->by_file, key);
}

void processes_forget_file(struct processes *processes, struct mapped_file *file)
{
	processes_renew_file(processes, file);
	processes->files.at[file->index] = NULL;
	(void)!vec_push(&processes->free_files, file->index); /* without memory the index is lost, no more */
	file_destroy(file);
}

static struct process *newest(const struct processes *processes, int pid)
{
	uint64_t found = 0;

	table_get(&processes->by_pid, (uint64_t)(uint32_t)pid, &found);
	return (struct process *)(uintptr_t)found;
}

/* Starts a new process under a pid; the one that had it before becomes `older`. */
static struct process *add_process(struct processes *processes, int pid, uint64_t time)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->started = time;
	process->ended = TIME_END;
	process->older = newest(processes, pid);
	if (table_set(&processes->by_pid, (uint64_t)(uint32_t)pid, (uint64_t)(uintptr_t)process)) {
		free(process);
		return NULL;
	}
	if (process->older && process->older->ended == TIME_END)
		process->older->ended = time;
	return process;
}

/* The living process of a pid, added when there is none. */
static struct process *living(struct processes *processes, int pid, uint64_t time)
{
	struct process *process = newest(processes, pid);

	if (process && process->ended > time)
		return process;
	return add_process(processes, pid, time);
}

/* Ends what the process has mapped in [start, end) at `time`; what sticks out of the range goes on. */
static int unmap(struct process *process, uint64_t start, uint64_t end, uint64_t time)
{
	size_t i, count = process->mappings.count;

	for (i = 0; i < count; i++) {
		struct process_mapping old = process->mappings.at[i];

		/* What a reading of /proc has shown already began after this. */
		if (old.to != TIME_END || old.from > time || old.end <= start || old.start >= end)
			continue;
		process->mappings.at[i].to = time;
		if (old.start < start) {
			struct process_mapping left = old;

			left.end = start;
			left.from = time;
			if (add_mapping(process, left))
				return -ENOMEM;
		}
		if (old.end > end) {
			struct process_mapping right = old;

			right.offset += end - old.start;
			right.start = end;
			right.from = time;
			if (add_mapping(process, right))
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Most mappings come beside the one before: /proc shows them in order, and the kernel places them from the top down. So
 * what lies there need not be looked for among all, which would take the square of their number.
 */
static bool falls_into_gap(struct process_gaps *gaps, const struct process_mapping *new)
{
	if (new->start >= gaps->below &&new->end <= gaps->start)
		*gaps = (struct process_gaps){gaps->below, new->start, new->end, gaps->start};
	else if (new->start >= gaps->end &&new->end <= gaps->above)
		*gaps = (struct process_gaps){gaps->end, new->start, new->end, gaps->above};
	else
		return false;
	return true;
}

/* Another mapping bounds the gaps around one. */
static void bound_gaps(struct process_gaps *gaps, const struct process_mapping *other)
{
	uint64_t below = other->start >= gaps->end ? 0 : other->end < gaps->start ? other->end : gaps->start;
	uint64_t above = other->end <= gaps->start ? UINT64_MAX : other->start > gaps->end ? other->start : gaps->end;

	gaps->below = below > gaps->below ? below : gaps->below;
	gaps->above = above < gaps->above ? above : gaps->above;
}

static bool is_same(const struct process_mapping *old, const struct process_mapping *new)
{
	return old->to == TIME_END && old->start == new->start && old->end == new->end && old->offset == new->offset &&
	       old->file == new->file;
}

/* It was known already. */
static void renew(struct process_mapping *old, const struct process_mapping *new)
{
	if (new->from < old->from)
		old->from = new->from;
	old->seen = new->seen > old->seen ? new->seen : old->seen;
}

/*
 * Adds a mapping. Records may come after a reading of /proc that has shown the same or a later mapping: then the
 * beginning of the same one is now known better, and a later one ends this one.
 */
static int map(struct process *process, struct process_mapping new)
{
	struct process_gaps gaps = {0, new.start, new.end, UINT64_MAX};
	bool replaces = false;
	size_t i;

	if (falls_into_gap(&process->gaps, &new)) {
		process->changes++;
		return add_mapping(process, new);
	}
	for (i = process->mappings.count; i-- > 0;) {
		struct process_mapping *old = &process->mappings.at[i];

		bound_gaps(&gaps, old);
		if (old->end <= new.start || old->start >= new.end || old->to <= new.from)
			continue;
		if (is_same(old, &new)) {
			renew(old, &new);
			return 0;
		}
		if (old->from > new.from && old->from < new.to)
			new.to = old->from;
		if (old->file != new.file || old->offset - old->start != new.offset - new.start)
			replaces = true;
	}
	process->epoch += replaces && new.file->kind != FILE_ANONYMOUS;
	if (unmap(process, new.start, new.end, new.from) || add_mapping(process, new))
		return -ENOMEM;
	process->gaps = gaps;
	process->changes++;
	return 0;
}

int processes_mmap(struct processes *processes, int pid, uint64_t time, uint64_t start, uint64_t size, uint64_t offset,
		   uint64_t device, uint64_t inode, const char *path, struct process **ret)
{
	struct process *process = living(processes, pid, time);
	struct process_mapping mapping = {
		.start = start, .end = start + size, .offset = offset, .from = time, .to = TIME_END};
	int err;

	if (mapping.end <= start)
		return -EINVAL;
	if (!process)
		return -ENOMEM;
	mapping.file = find_file(processes, process, device, inode, path);
	if (!mapping.file)
		return -ENOMEM;
	err = map(process, mapping);
	if (!err && ret)
		*ret = process;
	return err;
}

int processes_fork(struct processes *processes, int parent, int child, uint64_t time, struct process **ret)
{
	struct process *from = processes_find(processes, parent, time), *to = add_process(processes, child, time);
	size_t i;

	if (!to)
		return -ENOMEM;
	to->parent = parent;
	if (from)
		to->scanned = from->scanned;
	for (i = 0; from && i < from->mappings.count; i++) {
		struct process_mapping mapping = from->mappings.at[i];

		if (mapping.from > time || mapping.to <= time)
			continue;
		mapping.from = time;
		mapping.to = TIME_END;
		if (mapping.file->kind == FILE_ANONYMOUS)
			mapping.file = processes_anonymous(processes, to);
		if (!mapping.file || add_mapping(to, mapping))
			return -ENOMEM;
	}
	to->changes++;
	if (ret)
		*ret = to;
	return 0;
}

int processes_exec(struct processes *processes, int pid, uint64_t time, struct process **ret)
{
	struct process *process = living(processes, pid, time);

	if (!process)
		return -ENOMEM;
	process->executed = time;
	process->scanned = true; /* everything from here on comes as a record */
	process->changes++;
	if (ret)
		*ret = process;
	return unmap(process, 0, UINT64_MAX, time);
}

struct process *processes_exit(struct processes *processes, int pid, uint64_t time)
{
	struct process *process = newest(processes, pid);

	if (!process || process->ended != TIME_END || process->started > time)
		return NULL;
	process->ended = time;
	return process;
}

struct process *processes_find(const struct processes *processes, int pid, uint64_t time)
{
	struct process *process = newest(processes, pid);

	while (process && process->started > time && process->older)
		process = process->older;
	return process;
}

struct process *processes_next(const struct processes *processes, size_t *at)
{
	struct table_slot *slot;

	while ((slot = table_next(&processes->by_pid, at))) {
		struct process *process = (struct process *)(uintptr_t)slot->value;

		if (process->ended == TIME_END)
			return process;
	}
	return NULL;
}

/* Drops the mappings that ended before a time. */
static void forget_mappings(struct process *process, uint64_t time)
{
	size_t i, kept = 0;

	for (i = 0; i < process->mappings.count; i++) {
		if (process->mappings.at[i].to > time)
			process->mappings.at[kept++] = process->mappings.at[i];
		else
			process->mappings.at[i].file->users--;
	}
	process->mappings.count = kept;
}

void processes_reap(struct processes *processes, uint64_t time, void (*release)(struct process *))
{
	VEC(uint64_t) gone = {};
	struct table_slot *slot;
	size_t at = 0, i;

	while ((slot = table_next(&processes->by_pid, &at))) {
		struct process *process = (struct process *)(uintptr_t)slot->value;
		struct process **link = &process->older;

		while (*link) {
			struct process *older = *link;

			if (older->ended < time) {
				*link = older->older;
				process_destroy(older, release);
			} else {
				link = &older->older;
			}
		}
		forget_mappings(process, time);
		if (process->ended < time && !process->older && !vec_push(&gone, slot->key))
			process_destroy(process, release);
	}
	for (i = 0; i < gone.count; i++)
		table_remove(&processes->by_pid, gone.at[i]);
	vec_free(&gone);
}

const struct process_mapping *process_find_mapping(const struct process *process, uint64_t address, uint64_t time)
{
	size_t i;

	for (i = process->mappings.count; i-- > 0;) {
		const struct process_mapping *mapping = &process->mappings.at[i];

		if (address >= mapping->start && address < mapping->end && mapping->from <= time && time < mapping->to)
			return mapping;
	}
	return NULL;
}

/*
 * One line of /proc/PID/maps (fs/proc/task_mmu.c: show_map_vma). False when it is no executable mapping, as most are
 * not. By sscanf() it would take as long as the kernel needs to write it.
 */
static bool parse_maps_line(const char *line, struct process_mapping *ret, uint64_t *device, uint64_t *inode,
			    const char **path)
{
	const char *permissions = strchr(line, ' ');
	char *at;

	if (!permissions || strnlen(permissions, 6) < 6 || permissions[3] != 'x')
		return false;
	ret->start = strtoull(line, &at, 16);
	ret->end = *at == '-' ? strtoull(at + 1, NULL, 16) : 0;
	ret->offset = strtoull(permissions + 5, &at, 16);
	*device = (uint64_t)strtoul(at, &at, 16) << 32;
	if (*at != ':' || ret->start >= ret->end)
		return false;
	*device |= strtoul(at + 1, &at, 16);
	*inode = strtoull(at, &at, 10);
	*path = at + strspn(at, " ");
	return true;
}

bool process_has_threads(int pid)
{
	struct stat status;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	return !stat(name, &status) && status.st_nlink > 3; /* ".", "..", and each thread: fs/proc/base.c */
}

/* "/proc/PID/task/TID/maps" of another thread, for when the main thread has ended. False when there is none. */
static bool name_other_thread(int pid, char *name, size_t size)
{
	struct dirent *entry = NULL;
	DIR *tasks;

	snprintf(name, size, "/proc/%d/task", pid);
	tasks = process_has_threads(pid) ? opendir(name) : NULL;
	while (tasks && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
			break;
	if (entry)
		snprintf(name, size, "/proc/%d/task/%d/maps", pid, atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
	return entry;
}

#define MAPS_BYTES 4096 /* the kernel gives no more at once */

static FILE *open_maps(const char *name, char buffer[static MAPS_BYTES])
{
	FILE *file = fopen(name, "re");

	if (file)
		setvbuf(file, buffer, _IOFBF, MAPS_BYTES);
	return file;
}

/* The next line, of this file or, when this one is empty, of another thread's. 0 or less at the end. */
static ssize_t next_line(FILE **file, char *buffer, int pid, bool *any, char **line, size_t *capacity)
{
	ssize_t length = getline(line, capacity, *file);
	char name[64];

	if (length <= 0 && !*any && name_other_thread(pid, name, sizeof(name))) {
		fclose(*file);
		*file = open_maps(name, buffer);
		length = *file ? getline(line, capacity, *file) : 0;
	}
	*any = true;
	return length;
}

/* Ends what a reading of /proc at `time` has not shown. */
static void end_unseen(struct process *process, uint64_t time)
{
	size_t i;

	for (i = 0; i < process->mappings.count; i++) {
		struct process_mapping *mapping = &process->mappings.at[i];

		if (mapping->to != TIME_END || mapping->from >= time || mapping->seen == time)
			continue;
		mapping->to = time;
		process->epoch++; /* what comes to be here is other code */
		process->changes++;
	}
}

/*
 * A mapping that /proc shows. What is known already is most often beside what the line before showed, *at: in one order
 * or the other, as they were learnt.
 */
static int see(struct process *process, struct process_mapping new, size_t *at)
{
	const size_t places[] = {*at + 1, *at - 1};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i] < process->mappings.count && is_same(&process->mappings.at[places[i]], &new)) {
			*at = places[i];
			renew(&process->mappings.at[*at], &new);
			return 0;
		}
	return map(process, new);
}

int processes_scan(struct processes *processes, int pid, uint64_t now, struct process **ret)
{
	struct process *process = newest(processes, pid);
	char name[64], buffer[MAPS_BYTES], *line = NULL;
	size_t capacity = 0, at = SIZE_MAX;
	bool any = false;
	ssize_t length;
	FILE *file;
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = open_maps(name, buffer);
	if (!file)
		return -ESRCH;
	if (!process || process->ended != TIME_END)
		process = add_process(processes, pid, process ? now : 0);
	if (!process)
		err = -ENOMEM;
	while (!err && (length = next_line(&file, buffer, pid, &any, &line, &capacity)) > 0) {
		struct process_mapping mapping = {.from = process->started, .to = TIME_END, .seen = now};
		uint64_t device, inode;
		const char *path;

		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!parse_maps_line(line, &mapping, &device, &inode, &path))
			continue;
		/* What was known already keeps its beginning; what is new here held since now, for all we know. */
		if (process->scanned)
			mapping.from = now;
		mapping.file = find_file(processes, process, device, inode, path);
		err = mapping.file ? see(process, mapping, &at) : -ENOMEM;
	}
	free(line);
	if (file)
		fclose(file);
	if (!err) {
		end_unseen(process, now);
		process->scanned = true;
		if (ret)
			*ret = process;
	}
	return err;
}
