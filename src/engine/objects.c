// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/objects.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/time.h"
#include "engine/file_rows.h"
#include "engine/objects_parts.h"
#include "proc/open_file.h"
#include "analyser.inc"

#define RETRY_NS 5000000ull /* how long a process that did not lead to its file is left alone */

struct objects {
	struct foreign_files *files;
	VEC(struct object *) by_index;
	struct cache *cache;
	struct file_rows_keeper *keeper;
	struct object_finder finder; /* of none, if its function is NULL */
};

struct objects *objects_create(struct foreign_files *files)
{
	struct objects *objects = calloc(1, sizeof(*objects));
	char *directory = cache_default_directory("strata");

	if (objects) {
		objects->files = files;
		objects->cache = cache_create(directory, ANALYSER_VERSION);
		objects->keeper = file_rows_keeper_create();
	}
	free(directory);
	if (objects && !objects->keeper) {
		objects_destroy(objects);
		return NULL;
	}
	return objects;
}

void objects_set_finder(struct objects *objects, const struct object_finder *finder)
{
	objects->finder = *finder;
	cache_set_way(objects->cache, CACHE_ELSEWHERE);
}

void object_forget_answer(struct object *object)
{
	free(object->analysis.name);
	free(object->analysis.bytes);
	object->analysis.name = NULL;
	object->analysis.bytes = NULL;
	object->analysis.size = 0;
}

static void object_destroy(struct object *object)
{
	if (!object)
		return;
	foreign_close(object->content);
	object_forget_answer(object);
	free(object->segments);
	free(object->roles);
	runtime_file_deinit(&object->runtime);
	free(object->problem);
	if (object->learnt)
		vec_free(&object->learnt->ranges);
	free(object->learnt);
	vec_free(&object->names);
	free(object);
}

void objects_destroy(struct objects *objects)
{
	size_t i;

	if (!objects)
		return;
	for (i = 0; i < objects->by_index.count; i++)
		object_destroy(objects->by_index.at[i]);
	vec_free(&objects->by_index);
	cache_destroy(objects->cache);
	file_rows_keeper_destroy(objects->keeper);
	free(objects);
}

void objects_drop(struct objects *objects, uint32_t index, struct tables *tables)
{
	struct object *object = objects_at(objects, index);

	if (!object)
		return;
	if (object->table == OBJECT_TABLE_READY)
		tables_remove(tables, &object->run);
	object_destroy(object);
	objects->by_index.at[index] = NULL;
}

struct object *objects_at(const struct objects *objects, uint32_t index)
{
	return index < objects->by_index.count ? objects->by_index.at[index] : NULL;
}

struct object *objects_of_page(const struct objects *objects, uint32_t page)
{
	size_t i;

	for (i = 0; i < objects->by_index.count; i++) {
		struct object *object = objects->by_index.at[i];

		if (object && (object->in_parts || object->is_reserved) && object->table == OBJECT_TABLE_READY &&
		    page >= object->run.page_first && page - object->run.page_first < object->run.page_count)
			return object;
	}
	return NULL;
}

bool object_changed(const struct object *object)
{
	struct stat status;

	return object->content && !foreign_stat(object->content, &status) &&
	       (status.st_mtim.tv_sec != object->modified.tv_sec ||
		status.st_mtim.tv_nsec != object->modified.tv_nsec || status.st_size != object->size);
}

/* This process's own vDSO, the same for all. */
static int open_vdso(struct elf_file **ret, struct diag *diag)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	unsigned long start, end;
	char line[256];
	size_t size = 0;
	FILE *maps;

	if (!image)
		return diag_fail(diag, ENOENT, "object.vdso", "[vdso]: there is none");
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == (uintptr_t)image)
			size = end - start;
	if (maps)
		fclose(maps);
	return elf_file_open_memory(image, size, "[vdso]", ret, diag);
}

int object_parse(const struct object *object, struct elf_file **ret, struct diag *diag)
{
	if (object->file->kind == FILE_VDSO)
		return open_vdso(ret, diag);
	return elf_file_open_foreign(object->content, object->file->path, ret, diag);
}

void object_set_problem(struct object *object, const char *text)
{
	free(object->problem);
	object->problem = strdup(text);
}

static int copy_segments(struct object *object, const struct elf_file *elf)
{
	size_t count, i, kept = 0;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	int executable;

	object->segments = calloc(count + 1, sizeof(*segments));
	if (!object->segments)
		return -ENOMEM;
	for (executable = 1; executable >= 0; executable--)
		for (i = 0; i < count; i++)
			if (!!(segments[i].flags & PF_X) == executable)
				object->segments[kept++] = segments[i];
	object->segment_count = kept;
	return 0;
}

/* Opens the file's content. False when it cannot be had. */
static bool open_content(struct objects *objects, struct object *object, const struct process *process,
			 const struct process_mapping *mapping)
{
	struct stat status;
	int err = mapped_file_open(objects->files, object->file, process, mapping, &object->content);

	if (err) {
		object->content = NULL;
		object->unanswered = err == -ETIMEDOUT;
		object->missed = object->unanswered ? NULL : process;
		object->missed_at = time_ns(CLOCK_MONOTONIC);
		object_set_problem(object, "the file cannot be opened");
		return false;
	}
	if (!foreign_stat(object->content, &status)) {
		object->modified = status.st_mtim;
		object->size = status.st_size;
	}
	return true;
}

void object_check_answers(struct object *object)
{
	if (object->content && foreign_unanswered(object->content))
		object->unanswered = true;
	if (object->unanswered) {
		object->readable = false;
		object->aids = NULL;
		runtime_file_deinit(&object->runtime);
		object_set_problem(object, "its file system does not answer");
	}
}

static void read_object(struct object *object, const struct process *process)
{
	struct diag diag = {};
	struct elf_file *elf;

	if (object_parse(object, &elf, &diag)) {
		object_set_problem(object, diag.text);
		return;
	}
	if (!copy_segments(object, elf)) {
		object->readable = true;
		object->machine = elf_file_machine(elf);
		if (object_recognise(object, process, elf, &diag) < 0)
			object_set_problem(object, diag.text);
	}
	elf_file_close(elf);
}

static void open_object(struct objects *objects, struct object *object, const struct process *process,
			const struct process_mapping *mapping)
{
	object->opened = true;
	if ((object->file->kind == FILE_REGULAR && open_content(objects, object, process, mapping)) ||
	    object->file->kind == FILE_VDSO)
		read_object(object, process);
	object_check_answers(object);
}

/* As if nobody had asked for it. */
static void forget_attempt(struct object *object)
{
	foreign_close(object->content);
	object->content = NULL;
	free(object->segments);
	object->segments = NULL;
	object->segment_count = 0;
	free(object->problem);
	object->problem = NULL;
	object->opened = object->unanswered = object->roles_tried = object->aid_tried = false;
	object->missed = NULL;
	if (object->table == OBJECT_TABLE_NONE)
		object->table = OBJECT_TABLE_UNKNOWN;
}

/* May this process lead to a file that another one, or itself a while ago, did not lead to? */
static bool may_lead(const struct object *object, const struct process *process)
{
	return object->missed && process && process->ended == UINT64_MAX &&
	       (process != object->missed || object->missed_at + RETRY_NS < time_ns(CLOCK_MONOTONIC));
}

void objects_retry(struct objects *objects)
{
	size_t i;

	for (i = 0; i < objects->by_index.count; i++) {
		struct object *object = objects->by_index.at[i];

		if (object && object->unanswered)
			forget_attempt(object);
	}
}

void objects_retry_full(struct objects *objects, struct tables *tables)
{
	size_t i;

	for (i = 0; i < objects->by_index.count; i++) {
		struct object *object = objects->by_index.at[i];

		if (object && object->table == OBJECT_TABLE_FULL && !object->too_large)
			object->table = OBJECT_TABLE_UNKNOWN;
		if (object && object->lacks_parts)
			tables_forgive(tables, &object->run);
		if (object)
			object->lacks_parts = false;
	}
}

struct object *objects_get(struct objects *objects, const struct mapped_file *file, const struct process *process,
			   const struct process_mapping *mapping)
{
	struct object *object;

	while (objects->by_index.count <= file->index)
		if (vec_push(&objects->by_index, NULL))
			return NULL;
	object = objects->by_index.at[file->index];
	if (!object) {
		object = calloc(1, sizeof(*object));
		if (!object)
			return NULL;
		object->file = file;
		object->cache = objects->cache;
		object->finder = &objects->finder;
		object->keeper = objects->keeper;
		objects->by_index.at[file->index] = object;
	}
	if (may_lead(object, process))
		forget_attempt(object);
	if (!object->opened)
		open_object(objects, object, process, mapping);
	return object;
}

bool object_vaddr(const struct object *object, const struct process_mapping *mapping, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - mapping->start + mapping->offset;
	size_t i;

	if (object->file->kind == FILE_ANONYMOUS) {
		*ret = address;
		return true;
	}
	for (i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];
		uint64_t start = segment->offset & ~4095ull; /* mapped by whole pages */

		if (offset >= start && offset < segment->offset + segment->filesz) {
			*ret = segment->vaddr + (offset - segment->offset);
			return true;
		}
	}
	return false;
}

bool object_jit_descriptor(struct object *object)
{
	struct elf_file *elf;
	uint64_t size;

	if (!object->jit_tried && object->readable && !object_parse(object, &elf, NULL)) {
		if (!elf_file_find_dynamic_symbol(elf, "__jit_debug_descriptor", &object->jit_descriptor, &size))
			object->jit_descriptor = 0;
		elf_file_close(elf);
	}
	object->jit_tried = true;
	return object->jit_descriptor;
}

void object_build_id(struct object *object, char *ret, size_t size)
{
	struct elf_file *elf;
	char text[ELF_BUILD_ID_TEXT];
	const uint8_t *bytes = NULL;
	size_t count;

	*ret = '\0';
	if (!object->readable || object_changed(object) || object_parse(object, &elf, NULL))
		return;
	count = elf_file_build_id(elf, &bytes);
	elf_build_id_text(bytes, count, text);
	snprintf(ret, size, "%s", text);
	elf_file_close(elf);
}

bool object_file_offset(const struct object *object, uint64_t vaddr, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->memsz)
			continue;
		*ret = segment->offset + (vaddr - segment->vaddr);
		return true;
	}
	return false;
}

void object_debug_root(const struct object *object, char ret[OBJECT_ROOT_MAX])
{
	char target[2];

	*ret = '\0';
	if (object->file->kind == FILE_REGULAR)
		snprintf(ret, OBJECT_ROOT_MAX, "/proc/%d/root", object->file->pid);
	/* Is it there? access() would ask its file system. */
	if (readlink(ret, target, sizeof(target)) < 0)
		*ret = '\0';
}

int object_debug_info(struct object *object, const char *folders, uint64_t bytes_max, struct elf_file **elf,
		      struct debug_info **ret)
{
	struct diag diag = {};
	char root[OBJECT_ROOT_MAX];
	const struct debug_info_options options = {
		.root = root, .folders = folders, .bytes_max = bytes_max, .is_strange = true};
	int err;

	*ret = NULL;
	*elf = NULL;
	if (!object->readable || object_changed(object) || object->file->kind == FILE_VDSO)
		return -ENOENT;
	err = object_parse(object, elf, NULL);
	if (err) {
		*elf = NULL;
		return err;
	}
	object_debug_root(object, root);
	return debug_info_open(*elf, &options, ret, &diag);
}

int object_open(const struct object *object, struct elf_file **ret)
{
	int err = object->readable && !object_changed(object) ? object_parse(object, ret, NULL) : -ENOENT;

	return err && err != -ENOMEM ? -ENOENT : err;
}
