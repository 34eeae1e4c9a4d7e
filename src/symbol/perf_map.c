// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf map is a log: a JIT that moves code or reuses memory appends further lines. So the lines are intervals, a
 * later one painted over the earlier ones. They are turned into disjoint segments, sorted by address, by one sweep
 * over the intervals' starts with a heap of those that are open, the latest line on top: each step opens or closes at
 * least one interval, so hostile nesting costs n log n as well.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/person.h"
#include "base/vec.h"

#define FILE_MAX_SIZE (256u * 1024 * 1024)
#define ENTRIES_MAX   (4u * 1024 * 1024)
#define COPY_PIECE    (64u << 10)

struct entry {
	uint64_t start, end;
	uint32_t name; /* offset into bytes */
	uint32_t line; /* the order in the file */
};

struct segment {
	uint64_t start, end;
	uint32_t name;
};

struct perf_map {
	int copy; /* of the file, in memory; -1: there is none, or it was parsed */
	uint32_t user;
	char *bytes; /* the file; names are terminated in place */
	VEC(struct segment) segments;
	size_t bad_lines;
	bool is_file;
};

struct entries {
	struct entry *at;
	size_t count, capacity;
};

static int hex_digit(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A hexadecimal number, "0x" allowed, and the blank behind it; fails the cursor on anything else. */
static uint64_t read_hex(struct cursor *line)
{
	uint64_t value = 0;
	int digits = 0, digit;
	uint8_t byte = cursor_u8(line);

	if (byte == '0') {
		digits = 1;
		byte = cursor_u8(line);
		if (byte == 'x' || byte == 'X') {
			digits = 0;
			byte = cursor_u8(line);
		}
	}
	for (; (digit = hex_digit(byte)) >= 0; byte = cursor_u8(line), digits++) {
		if (value >> 60)
			cursor_fail(line);
		value = value << 4 | (uint64_t)digit;
	}
	if (!digits || byte != ' ')
		cursor_fail(line);
	return value;
}

static bool parse_line(const char *bytes, size_t size, size_t *name, struct entry *entry)
{
	struct cursor line = cursor_init(bytes, size);
	uint64_t length;

	entry->start = read_hex(&line);
	length = read_hex(&line);
	*name = cursor_position(&line);
	if (!cursor_left(&line) || !bytes[*name] || !length || length > UINT64_MAX - entry->start)
		return false;
	entry->end = entry->start + length;
	return true;
}

/* Collects the lines and ends each with a NUL in place of its newline. */
static int parse(struct perf_map *map, size_t size, struct entries *entries)
{
	char *line = map->bytes, *end = map->bytes + size, *newline;
	struct entry entry = {};
	size_t name, length;

	for (; (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
		length = (size_t)(newline - line);
		if (length && newline[-1] == '\r')
			length--;
		if (entries->count == ENTRIES_MAX || !parse_line(line, length, &name, &entry)) {
			map->bad_lines++;
			continue;
		}
		line[length] = '\0';
		entry.name = (uint32_t)((size_t)(line - map->bytes) + name);
		entry.line = (uint32_t)entries->count;
		if (vec_push(entries, entry))
			return -ENOMEM;
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* A binary max-heap of indices into the entries, by line. */
struct heap {
	const struct entry *entries;
	uint32_t *at;
	size_t count;
};

static bool heap_above(const struct heap *heap, size_t a, size_t b)
{
	return heap->entries[heap->at[a]].line > heap->entries[heap->at[b]].line;
}

static void heap_swap(struct heap *heap, size_t a, size_t b)
{
	uint32_t kept = heap->at[a];

	heap->at[a] = heap->at[b];
	heap->at[b] = kept;
}

static void heap_push(struct heap *heap, uint32_t index)
{
	size_t at = heap->count++;

	heap->at[at] = index;
	for (; at && heap_above(heap, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(heap, at, (at - 1) / 2);
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0, child;

	heap->at[0] = heap->at[--heap->count];
	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && heap_above(heap, child + 1, child))
			child++;
		if (!heap_above(heap, child, at))
			break;
		heap_swap(heap, at, child);
		at = child;
	}
}

static int add_segment(struct perf_map *map, uint64_t start, uint64_t end, uint32_t name)
{
	struct segment *last = map->segments.count ? &map->segments.at[map->segments.count - 1] : NULL;

	if (last && last->end == start && last->name == name) {
		last->end = end;
		return 0;
	}
	return vec_push(&map->segments, (struct segment){start, end, name});
}

/* `heap` has room for every entry. */
static int paint(struct perf_map *map, const struct entries *entries, struct heap *heap)
{
	uint64_t at = 0, until;
	const struct entry *top;
	size_t next = 0;

	while (next < entries->count || heap->count) {
		if (!heap->count)
			at = entries->at[next].start;
		while (next < entries->count && entries->at[next].start <= at)
			heap_push(heap, (uint32_t)next++);
		while (heap->count && entries->at[heap->at[0]].end <= at)
			heap_pop(heap);
		if (!heap->count)
			continue;
		top = &entries->at[heap->at[0]];
		until = top->end;
		if (next < entries->count && entries->at[next].start < until)
			until = entries->at[next].start;
		if (add_segment(map, at, until, top->name))
			return -ENOMEM;
		at = until;
	}
	return 0;
}

static int build(struct perf_map *map, size_t size)
{
	struct entries entries = {};
	struct heap heap = {};
	int err = parse(map, size, &entries);

	if (!err && entries.count) {
		qsort(entries.at, entries.count, sizeof(*entries.at), by_start);
		heap.entries = entries.at;
		heap.at = malloc(entries.count * sizeof(*heap.at));
		err = heap.at ? paint(map, &entries, &heap) : -ENOMEM;
	}
	free(heap.at);
	free(entries.at);
	return err;
}

/* Takes over `bytes`, which is malloc'd, also on failure. */
static struct perf_map *create_from(char *bytes, size_t size)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (!map) {
		free(bytes);
		return NULL;
	}
	map->copy = -1;
	map->bytes = bytes;
	if (build(map, size)) {
		perf_map_destroy(map);
		return NULL;
	}
	return map;
}

struct perf_map *perf_map_create(const char *bytes, size_t size)
{
	char *copy;

	if (size > FILE_MAX_SIZE)
		size = FILE_MAX_SIZE;
	copy = malloc(size + 1);
	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, bytes, size);
	return create_from(copy, size);
}

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	if (map->copy >= 0)
		close(map->copy);
	vec_free(&map->segments);
	free(map->bytes);
	free(map);
}

static char *read_all(struct foreign_file *file, size_t *size)
{
	struct stat status;
	ssize_t got;
	char *bytes;

	if (foreign_stat(file, &status) || status.st_size < 0 || status.st_size > FILE_MAX_SIZE)
		return NULL;
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes)
		return NULL;
	got = foreign_read(file, bytes, (size_t)status.st_size, 0);
	*size = got < 0 ? 0 : (size_t)got;
	return bytes;
}

struct perf_map *perf_map_read(struct foreign_file *file)
{
	size_t size;
	char *bytes = read_all(file, &size);

	return bytes ? create_from(bytes, size) : NULL;
}

struct foreign_file *perf_map_copy(const struct perf_map *map)
{
	int fd = map->copy < 0 ? -1 : fcntl(map->copy, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? NULL : foreign_wrap(fd);
}

uint32_t perf_map_user(const struct perf_map *map)
{
	return map->user;
}

/* One that was loaded is parsed, in place. It has no names if that fails. */
static void parse_copy(struct perf_map *map)
{
	struct foreign_file *file = foreign_wrap(map->copy); /* takes it over */
	size_t size;

	map->copy = -1;
	map->bytes = file ? read_all(file, &size) : NULL;
	foreign_close(file);
	if (map->bytes && build(map, size))
		map->segments.count = 0;
}

const char *perf_map_lookup(struct perf_map *map, uint64_t address)
{
	size_t low = 0, high;

	if (map->copy >= 0)
		parse_copy(map);
	high = map->segments.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->segments.at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= map->segments.at[low - 1].end)
		return NULL;
	return map->bytes + map->segments.at[low - 1].name;
}

bool perf_map_is_file(const struct perf_map *map)
{
	return map->is_file;
}

size_t perf_map_bad_lines(const struct perf_map *map)
{
	return map->bad_lines;
}

/* Who may own the map of a process, and its pid where the process itself sees it. */
struct owner {
	bool known;
	uid_t real, effective;
	int inner_pid;
};

static void read_owner(int pid, struct owner *owner)
{
	char path[64], line[256];
	unsigned int real, effective;
	FILE *status;

	*owner = (struct owner){.inner_pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	if (!status)
		return;
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "Uid:\t%u\t%u", &real, &effective) == 2) {
			owner->known = true;
			owner->real = real;
			owner->effective = effective;
		} else if (!strncmp(line, "NSpid:", 6)) {
			/* One pid for each nested namespace, the innermost last. */
			char *last = strrchr(line, '\t');

			if (last && atoi(last) > 0)
				owner->inner_pid = atoi(last);
		}
	}
	fclose(status);
}

/*
 * Whose file may be a process's map. Its own user's; and root's, as agents that run as root write maps for others: but
 * only if everybody may read it, as a process may have had a secret of root's mounted there in its own namespace. Of a
 * process that is gone only the file tells, in a directory of ours, where a hard link may have brought it.
 */
static bool acceptable(const struct stat *file, const struct owner *owner)
{
	if (!S_ISREG(file->st_mode) || file->st_size < 0 || file->st_size > FILE_MAX_SIZE)
		return false;
	if (owner->known && (file->st_uid == owner->real || file->st_uid == owner->effective))
		return true;
	if (file->st_uid == 0 && file->st_mode & S_IROTH)
		return true;
	return !owner->known && file->st_uid == geteuid() && file->st_nlink == 1;
}

static bool affordable(const struct stat *file, const struct owner *owner, struct budget *budget)
{
	uint32_t user = person_of(owner->known ? owner->real : file->st_uid);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return !budget || budget_take(budget, user, (uint64_t)file->st_size, (uint64_t)now.tv_sec);
}

static bool copy_bytes(struct foreign_file *from, uint64_t size, int to)
{
	char piece[COPY_PIECE];
	uint64_t at = 0;
	ssize_t got = 0;

	while (at < size) {
		got = foreign_read(from, piece, size - at < sizeof(piece) ? (size_t)(size - at) : sizeof(piece), at);
		if (got <= 0)
			break;
		if (write(to, piece, (size_t)got) != got)
			return false;
		at += (uint64_t)got;
	}
	return true;
}

/* Copies the size that the file had when it was opened, or less when it shrank. */
static struct perf_map *load_from(struct foreign_file *from, const struct owner *owner, struct budget *budget)
{
	struct perf_map *map;
	struct stat file;

	if (foreign_stat(from, &file) || !acceptable(&file, owner) || !affordable(&file, owner, budget))
		return NULL;
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	map->user = person_of(owner->known ? owner->real : file.st_uid);
	map->copy = memfd_create("strata-perf-map", MFD_CLOEXEC);
	if (map->copy >= 0 && copy_bytes(from, (uint64_t)file.st_size, map->copy))
		return map;
	perf_map_destroy(map);
	return NULL;
}

/* Opens tmp/perf-PID.map below a root, whose links cannot lead out of it. */
static struct perf_map *load_below(struct foreign_files *files, const char *root, uint64_t place, int pid,
				   const struct owner *owner, struct budget *budget)
{
	struct foreign_request request = {.root = root, .place = place};
	struct foreign_file *file;
	struct perf_map *map;
	char name[64];

	snprintf(name, sizeof(name), "tmp/perf-%d.map", pid);
	request.paths[0] = name;
	if (foreign_open(files, &request, &file))
		return NULL;
	map = load_from(file, owner, budget);
	foreign_close(file);
	return map;
}

struct perf_map *perf_map_load(struct foreign_files *files, int pid, struct budget *budget)
{
	struct perf_map *map;
	struct owner owner;
	char root[64];

	read_owner(pid, &owner);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	map = load_below(files, root, foreign_namespace(pid), owner.inner_pid, &owner, budget);
	if (!map)
		map = load_below(files, "/", foreign_namespace(getpid()), pid, &owner, budget);
	if (map)
		map->is_file = true;
	return map;
}
