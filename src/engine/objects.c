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

#include "arch/arch.h"
#include "base/cache.h"
#include "base/time.h"
#include "engine/objects_parts.h"
#include "proc/open_file.h"
#include "analyser.inc"

#define RETRY_NS 5000000ull /* how long a process that did not lead to its file is left alone */

struct objects {
	struct foreign_files *files;
	VEC(struct object *) by_index;
	struct cache *cache;
	struct object_finder finder; /* of none, if its function is NULL */
};

struct objects *objects_create(struct foreign_files *files)
{
	struct objects *objects = calloc(1, sizeof(*objects));
	char *directory = cache_default_directory("strata");

	if (objects) {
		objects->files = files;
		objects->cache = cache_create(directory, ANALYSER_VERSION);
	}
	free(directory);
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
	unwind_parts_destroy(object->parts);
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

		if (object && (object->parts || object->is_reserved) && object->table == OBJECT_TABLE_READY &&
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

static int open_elf(const struct object *object, struct elf_file **ret, struct diag *diag)
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

/* What was not read because its file system did not answer may still be a program. */
static void check_answers(struct object *object)
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

	if (open_elf(object, &elf, &diag)) {
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
	check_answers(object);
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

/* One compilation, for struct unwind_options. */
struct compilation {
	struct object *object;
	const struct object_compiling *how;
};

static void pause_here(void *context)
{
	const struct compilation *compilation = context;

	if (compilation->how->pause)
		compilation->how->pause(compilation->how->context);
}

static int follow(void *context, const char *name, uint64_t code, const uint8_t **bytes, size_t *size)
{
	const struct compilation *compilation = context;
	const struct object_compiling *how = compilation->how;

	return how->follow ? how->follow(how->context, compilation->object, name, code, bytes, size) : 0;
}

static struct unwind_options options_of(struct compilation *compilation)
{
	return (struct unwind_options){
		.cache = compilation->object->cache, .pause = pause_here, .follow = follow, .context = compilation};
}

/* The place of a table whose rows are still to come. */
static int reserve(struct object *object, struct tables *tables, struct diag *diag)
{
	uint64_t base = UINT64_MAX, end = 0;
	size_t i;
	int err;

	for (i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];

		if (!(segment->flags & PF_X) || !segment->memsz)
			continue;
		if (segment->vaddr < base)
			base = segment->vaddr;
		if (segment->vaddr + segment->memsz > end)
			end = segment->vaddr + segment->memsz;
	}
	err = tables_reserve(tables, base, end, &object->run, diag);
	object->is_reserved = !err;
	return err;
}

/* A table of all of the text, or of a large file what leads to parts of it. */
static int compile(struct object *object, const struct elf_file *elf, struct tables *tables,
		   const struct object_compiling *how, struct diag *diag)
{
	struct compilation compilation = {object, how};
	const struct unwind_options options = options_of(&compilation);
	struct unwind_table table;
	uint64_t base, end;
	int err = how->whole ? -ENOTSUP : unwind_parts_create(elf, &object->parts, diag);

	if (!err) {
		unwind_parts_text(object->parts, &base, &end);
		err = tables_reserve(tables, base, end, &object->run, diag);
		if (err) {
			unwind_parts_destroy(object->parts);
			object->parts = NULL;
		}
		return err;
	}
	if (err != -ENOTSUP)
		return err;
	err = unwind_table_compile(elf, &options, &table, diag);
	pause_here(&compilation);
	if (err == -EINPROGRESS)
		return reserve(object, tables, diag);
	if (err && err != -ENOENT)
		return err;
	err = tables_add(tables, &table, &object->run, diag);
	unwind_table_deinit(&table);
	return err;
}

/* Was it refused for its size, here or in the tables? */
static bool is_beyond(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG;
}

void object_compile(struct object *object, struct tables *tables, const struct object_compiling *how)
{
	struct diag diag = {};
	struct elf_file *elf;
	int err;

	if (object->table != OBJECT_TABLE_UNKNOWN || !object->opened)
		return;
	object->table = OBJECT_TABLE_NONE;
	if (!object->readable)
		return;
	if (open_elf(object, &elf, &diag)) {
		object_set_problem(object, diag.text);
		return;
	}
	err = compile(object, elf, tables, how, &diag);
	if (err)
		object_set_problem(object, diag.text);
	object->too_large = err == -EFBIG;
	object->table = is_beyond(err) ? OBJECT_TABLE_FULL : err ? OBJECT_TABLE_NONE : OBJECT_TABLE_READY;
	elf_file_close(elf);
	if (object->table == OBJECT_TABLE_NONE)
		check_answers(object);
}

/* Rows that were learnt before there were others: by an earlier run. */
static void add_learnt(const struct object *object, struct tables *tables, uint64_t from, uint64_t to)
{
	size_t i;

	for (i = 0; object->learnt && i < object->learnt->ranges.count; i++) {
		const struct rule_range *range = &object->learnt->ranges.at[i];

		if (range->start < to && range->end > from &&
		    tables_learn(tables, &object->run, range->start, range->end, &range->rule))
			break;
	}
}

/* The pages that are given at once: 1 MiB of code, in 1 to 3 ms. */
#define PART_PAGES ((1u << 20) >> UNWIND_PAGE_SHIFT)

/* The rows from one vaddr to another, or all. */
static int compile_rows(struct object *object, const struct object_compiling *how, uint64_t from, uint64_t to,
			struct unwind_table *ret)
{
	struct compilation compilation = {object, how};
	const struct unwind_options options = options_of(&compilation);
	struct diag diag = {};
	struct elf_file *elf;
	uint64_t base, end;
	int err = object_changed(object) ? -ESTALE : open_elf(object, &elf, &diag);

	if (err)
		return err;
	if (object->is_reserved) {
		err = unwind_table_compile(elf, &options, ret, &diag);
		if (err == -ENOENT)
			err = 0;
	} else {
		unwind_parts_text(object->parts, &base, &end);
		err = unwind_parts_compile(object->parts, elf, &options, from > base ? (uint32_t)(from - base) : 0,
					   (uint32_t)((to < end ? to : end) - base), ret, &diag);
	}
	elf_file_close(elf);
	return err;
}

void object_fill(struct object *object, struct tables *tables, uint32_t page, const struct object_compiling *how)
{
	uint32_t first = (page - object->run.page_first) / PART_PAGES * PART_PAGES, count = PART_PAGES;
	uint64_t from, to;
	struct unwind_table table;
	int err;

	if (object->analysis.asked)
		return;
	if (object->is_reserved) {
		first = 0;
		count = object->run.page_count;
	}
	if (count > object->run.page_count - first)
		count = object->run.page_count - first;
	from = object->run.base + ((uint64_t)first << UNWIND_PAGE_SHIFT);
	to = from + ((uint64_t)count << UNWIND_PAGE_SHIFT);
	err = compile_rows(object, how, from, to, &table);
	if (err == -EINPROGRESS)
		return;
	if (!err) {
		err = tables_fill(tables, &object->run, first, count, &table);
		if (!err) {
			add_learnt(object, tables, from, to);
			object_forget_answer(object);
		}
		unwind_table_deinit(&table);
	}
	if (is_beyond(err)) {
		object->lacks_parts = true;
		tables_refuse(tables, &object->run, first, count);
	}
	/* Memory may be there the next time, and its file system answer; else it will be as now. */
	if (err && err != -ENOMEM && !(object->content && foreign_unanswered(object->content)))
		tables_fill(tables, &object->run, first, count, NULL);
	if (how->pause)
		how->pause(how->context);
}

bool object_jit_descriptor(struct object *object)
{
	struct elf_file *elf;
	uint64_t size;

	if (!object->jit_tried && object->readable && !open_elf(object, &elf, NULL)) {
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
	if (!object->readable || object_changed(object) || open_elf(object, &elf, NULL))
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
	err = open_elf(object, elf, NULL);
	if (err) {
		*elf = NULL;
		return err;
	}
	object_debug_root(object, root);
	return debug_info_open(*elf, &options, ret, &diag);
}

int object_open(const struct object *object, struct elf_file **ret)
{
	int err = object->readable && !object_changed(object) ? open_elf(object, ret, NULL) : -ENOENT;

	return err && err != -ENOMEM ? -ENOENT : err;
}
