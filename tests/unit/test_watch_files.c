// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel part is told of files (src/engine/watch_files.c), which is compiled here with a sampler of the
 * test's: it notes what it is told. The process is this one, with a file mapped that the test writes to.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/watch_parts.h"
#include "tap.h"

#define S     1000000000ull
#define INODE 0xffff888012345600ull
#define ID    0x1d
#define TOLD  16

/* What the kernel part was told. */
static struct {
	struct file_key keys[TOLD];
	struct known_file files[TOLD];
	size_t known;             /* at the moment */
	unsigned int times;       /* that it was told of a file, ever */
	uint64_t unsent;          /* the last id that is to be sent again */
	unsigned int voids, gone; /* times that what was found was voided, of all, and of one process */
	bool cannot_find;
	struct process *process;
} kernel;

static int told_at(const struct file_key *key)
{
	size_t i;

	for (i = 0; i < kernel.known; i++)
		if (!memcmp(&kernel.keys[i], key, sizeof(*key)))
			return (int)i;
	return -1;
}

static int fake_know_file(struct sampler *sampler, const struct file_key *key, const struct runtime_layout *layout,
			  struct known_file *file)
{
	int at = told_at(key);

	(void)sampler, (void)layout;
	if (at < 0)
		at = (int)kernel.known++;
	kernel.keys[at] = *key;
	kernel.files[at] = *file;
	kernel.times++;
	return 0;
}

static void fake_forget_file(struct sampler *sampler, const struct file_key *key)
{
	int at = told_at(key);

	(void)sampler;
	if (at < 0)
		return;
	kernel.known--;
	kernel.keys[at] = kernel.keys[kernel.known];
	kernel.files[at] = kernel.files[kernel.known];
}

static void fake_unsend(struct sampler *sampler, uint64_t id)
{
	(void)sampler;
	kernel.unsent = id;
}

static void fake_void_found(struct sampler *sampler)
{
	(void)sampler;
	kernel.voids++;
}

static void fake_void_process(struct sampler *sampler, int tgid)
{
	(void)sampler;
	kernel.gone += tgid == getpid();
}

static bool fake_finds(const struct sampler *sampler)
{
	(void)sampler;
	return !kernel.cannot_find;
}

static int fake_drain(struct watch *watch)
{
	(void)watch;
	return 0;
}

static struct process *fake_process(struct watch *watch, int pid, uint64_t time)
{
	(void)watch, (void)pid, (void)time;
	return kernel.process;
}

#define sampler_know_file    fake_know_file
#define sampler_forget_file  fake_forget_file
#define sampler_unsend       fake_unsend
#define sampler_void_found   fake_void_found
#define sampler_void_process fake_void_process
#define sampler_finds        fake_finds
#define watch_drain_sideband fake_drain
#define watch_process        fake_process
#include "engine/watch_files.c"

/* This process with a copy of its own program mapped, and what is known of that file. */
struct mapped {
	struct watch watch;
	char path[64];
	int fd;
	size_t size;
	void *at;
	struct object *object;
};

static bool copy_self(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t got = -1;

	while (from >= 0 && (got = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)got) != got)
			break;
	if (from >= 0)
		close(from);
	return !got;
}

static bool create(struct mapped *mapped)
{
	const struct process_mapping *mapping;
	struct stat status;

	memset(&kernel, 0, sizeof(kernel));
	*mapped = (struct mapped){.path = "/tmp/strata-unit-XXXXXX"};
	mapped->fd = mkstemp(mapped->path);
	if (mapped->fd < 0 || !copy_self(mapped->fd) || fstat(mapped->fd, &status))
		return false;
	mapped->size = (size_t)status.st_size;
	mapped->at = mmap(NULL, mapped->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, mapped->fd, 0);
	mapped->watch.processes = processes_create();
	mapped->watch.objects = objects_create(NULL);
	if (mapped->at == MAP_FAILED || processes_scan(mapped->watch.processes, getpid(), 1, &kernel.process))
		return false;
	mapping = process_find_mapping(kernel.process, (uintptr_t)mapped->at, UINT64_MAX - 1);
	if (mapping)
		mapped->object = objects_get(mapped->watch.objects, mapping->file, kernel.process, mapping);
	if (!mapped->object || !mapped->object->readable)
		return false;
	mapped->object->table = OBJECT_TABLE_READY;
	mapped->object->run = (struct tables_run){.page_first = 11, .page_count = 12};
	return true;
}

static void destroy(struct mapped *mapped)
{
	objects_destroy(mapped->watch.objects);
	processes_destroy(mapped->watch.processes, NULL);
	munmap(mapped->at, mapped->size);
	close(mapped->fd);
	unlink(mapped->path);
}

/* The name that the kernel part has for the file as it is now. */
static struct file_key key_of(const struct mapped *mapped)
{
	struct stat status;

	fstat(mapped->fd, &status);
	return (struct file_key){.inode = INODE,
				 .changed = (uint64_t)status.st_ctim.tv_sec * S + (uint64_t)status.st_ctim.tv_nsec,
				 .size = (uint64_t)status.st_size};
}

static void take_file(struct mapped *mapped, struct file_key key, uint64_t id)
{
	const struct file_event event = {.header = {.type = EVENT_FILE},
					 .id = id,
					 .time = 2,
					 .start = (uintptr_t)mapped->at,
					 .end = (uintptr_t)mapped->at + mapped->size,
					 .key = key,
					 .tgid = (uint32_t)getpid()};

	is_int(watch_take_file(&mapped->watch, &event), 0, "the kernel part has met a file");
}

/* Changes the status, and so the time of change, and nothing that is read. */
static void change_status(struct mapped *mapped)
{
	struct file_key before = key_of(mapped), now = before;
	unsigned int mode = 0600;

	while (now.changed == before.changed) {
		fchmod(mapped->fd, mode ^= 0100);
		now = key_of(mapped);
	}
}

static bool has_text(const struct known_file *file)
{
	const struct file_segment *segment = &file->segments[0];

	return segment->end > segment->offset && !(segment->offset & 4095);
}

static void test_told(void)
{
	struct mapped mapped;
	struct file_key key;

	if (!ok(create(&mapped), "a file is mapped"))
		return;
	key = key_of(&mapped);
	mapped.object->table = OBJECT_TABLE_UNKNOWN;
	take_file(&mapped, key, ID);
	is_int(kernel.known, 0, "nothing is known of it yet");
	mapped.object->table = OBJECT_TABLE_READY;
	watch_tell_file(&mapped.watch, mapped.object);
	ok(kernel.known == 1 && !told_at(&key) && kernel.files[0].kind == MAPPING_TABLE &&
		   kernel.files[0].page_first == 11 && kernel.files[0].page_count == 12 && has_text(&kernel.files[0]),
	   "once it has its table, that is told");
	take_file(&mapped, key, ID);
	watch_tell_file(&mapped.watch, mapped.object);
	is_int(kernel.times, 1, "once");
	mapped.object->learnt = calloc(1, sizeof(*mapped.object->learnt));
	mapped.object->learnt->complete = true;
	watch_tell_file(&mapped.watch, mapped.object);
	ok(kernel.times == 2 && kernel.known == 1 && kernel.files[0].kind == MAPPING_COMPLETE,
	   "and again when nothing more is learnt of it");
	watch_forget_keys(&mapped.watch, mapped.object);
	ok(!kernel.known && kernel.unsent == ID && kernel.voids == 1 && !mapped.object->known,
	   "when it is forgotten, so is the name, and what was found by it");
	destroy(&mapped);
}

static void test_reused(void)
{
	struct mapped mapped;
	struct file_key key, other;

	if (!ok(create(&mapped), "a file is mapped"))
		return;
	other = key = key_of(&mapped);
	other.changed--;
	take_file(&mapped, other, ID);
	is_int(kernel.known, 0, "what is open changed at another time: it is not that file");
	other = key;
	other.size++;
	take_file(&mapped, other, ID);
	is_int(kernel.known, 0, "it has another size");
	take_file(&mapped, key, ID);
	ok(kernel.known == 1 && !told_at(&key), "it is the same");
	change_status(&mapped);
	other = key_of(&mapped);
	take_file(&mapped, other, ID + 1);
	ok(kernel.known == 2 && told_at(&other) >= 0 && told_at(&key) >= 0, "a link or chmod: two names of one file");
	if (pwrite(mapped.fd, "x", 1, (off_t)mapped.size) == 1)
		mapped.size++;
	other = key_of(&mapped);
	take_file(&mapped, other, ID + 2);
	ok(kernel.known == 2 && told_at(&other) < 0, "written to: by its new name it is not what was read of it");
	destroy(&mapped);
}

static void test_many_names(void)
{
	struct file_key keys[KEYS_MAX + 1];
	struct mapped mapped;
	unsigned int i;

	if (!ok(create(&mapped), "a file is mapped"))
		return;
	for (i = 0; i <= KEYS_MAX; i++) {
		keys[i] = key_of(&mapped);
		take_file(&mapped, keys[i], ID + i);
		change_status(&mapped);
	}
	ok(kernel.known == KEYS_MAX && told_at(&keys[0]) < 0 && kernel.unsent == ID,
	   "the first of too many is forgotten");
	ok(told_at(&keys[KEYS_MAX]) >= 0 && mapped.object->known == KEYS_MAX, "the last is told");
	destroy(&mapped);
}

static void test_unknown(void)
{
	struct mapped mapped;
	struct file_event event = {.id = ID, .time = 2, .start = 4096, .end = 8192, .tgid = (uint32_t)getpid()};
	struct process *process;

	if (!ok(create(&mapped), "a file is mapped"))
		return;
	event.key = key_of(&mapped);
	ok(!watch_take_file(&mapped.watch, &event) && !kernel.known && kernel.unsent == ID,
	   "where no mapping is known, another process may tell");
	process = kernel.process;
	kernel.process = NULL;
	event.id++;
	ok(!watch_take_file(&mapped.watch, &event) && kernel.unsent == ID + 1, "and of a process that is not known");
	kernel.process = process;
	destroy(&mapped);
}

/* Nothing but the kernel part's finding is needed where it knows each file. */
static void test_finds(void)
{
	struct mapped mapped;
	struct watched watched = {.seen_epoch = 0};
	size_t i;

	if (!ok(create(&mapped), "a file is mapped"))
		return;
	take_file(&mapped, key_of(&mapped), ID);
	ok(!watch_finds(&mapped.watch, kernel.process), "one of a process's files is known to the kernel part");
	for (i = 0; i < kernel.process->mappings.count; i++) {
		const struct process_mapping *mapping = &kernel.process->mappings.at[i];
		struct object *object = objects_get(mapped.watch.objects, mapping->file, kernel.process, mapping);

		if (object)
			object->known = 1;
	}
	ok(watch_finds(&mapped.watch, kernel.process), "all are");
	kernel.cannot_find = true;
	ok(!watch_finds(&mapped.watch, kernel.process), "but it cannot find mappings");
	kernel.process->user = &watched;
	kernel.process->epoch = 1;
	watch_note_replaced(&mapped.watch, kernel.process);
	watch_note_replaced(&mapped.watch, kernel.process);
	is_int(kernel.gone, 1, "other code in the place of some: what was found of the process is void, once");
	kernel.process->user = NULL;
	destroy(&mapped);
}

int main(void)
{
	test_told();
	test_reused();
	test_many_names();
	test_unknown();
	test_finds();
	return tap_done();
}
