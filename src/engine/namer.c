// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/namer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/time.h"

#define NAMER_LINES_S 1.0 /* CPU time for the lines of a file that is parsed here */

struct namer {
	struct foreign_files *files;
	struct analyser *analyser; /* NULL: there are no files that others chose */
	struct namer_client client;
	struct budget spent; /* milliseconds */
	bool refusal_told;
};

struct namer *namer_create(struct foreign_files *files, const struct namer_client *client,
			   const struct analyser_options *options)
{
	struct namer *namer = calloc(1, sizeof(*namer));

	if (!namer)
		return NULL;
	namer->files = files;
	namer->client = *client;
	namer->spent = (struct budget){.whole = NAMER_MS, .halving_s = NAMER_HALVING_S};
	namer->analyser = files ? analyser_create(files, options) : NULL;
	return namer;
}

void namer_destroy(struct namer *namer)
{
	if (!namer)
		return;
	analyser_destroy(namer->analyser);
	budget_deinit(&namer->spent);
	free(namer);
}

double namer_cpu_s(struct namer *namer)
{
	return namer->analyser ? analyser_cpu_s(namer->analyser) : 0;
}

/* What is asked of one file. */
struct naming_job {
	struct namer *namer;
	struct object *object;
	enum analyser_ask ask;
	struct foreign_file *file;
	uint32_t user;          /* who is charged */
	const uint64_t *vaddrs; /* sorted */
	size_t count;
	struct foreign_file *debug_file; /* NULL: none */
	struct file_names *names;        /* what was answered: names, */
	struct file_lines *lines;        /* or else lines */
};

static const struct elf_debug_names *said_debug(const struct naming_job *job)
{
	return job->lines ? &file_lines_said(job->lines)->debug : &file_names_said(job->names)->debug;
}

static bool said_wants(const struct naming_job *job)
{
	return job->lines ? file_lines_said(job->lines)->wants_debug : file_names_said(job->names)->wants_debug;
}

static bool said_has(const struct naming_job *job)
{
	return job->lines ? file_lines_said(job->lines)->has_debug : file_names_said(job->names)->has_debug;
}

static void drop_last(const struct naming_job *job)
{
	if (job->lines)
		file_lines_drop(job->lines);
	else
		file_names_drop(job->names);
}

static uint64_t now_s(void)
{
	return (uint64_t)time_s(CLOCK_MONOTONIC);
}

/* Asks for the names of addresses that begin at `from`. How many were answered, or a negative errno. */
static ssize_t ask_names(const struct naming_job *job, size_t from)
{
	struct namer *namer = job->namer;
	size_t left = job->count - from, count = left < FILE_NAMES_AT_ONCE ? left : FILE_NAMES_AT_ONCE;
	struct analysis answer;
	const struct analyser_request request = {.ask = job->ask,
						 .file = job->file,
						 .debug_file = job->debug_file,
						 .input = job->vaddrs + from,
						 .input_size = count * sizeof(*job->vaddrs)};
	double used = analyser_cpu_s(namer->analyser);
	int err;

	if (!budget_take(&namer->spent, job->user, 1, now_s()))
		return -EDQUOT;
	err = analyser_consult(namer->analyser, &request, namer->client.relieve, namer->client.context, &answer);
	used = analyser_cpu_s(namer->analyser) - used;
	budget_charge(&namer->spent, job->user, (uint64_t)(used * 1000), now_s());
	if (err)
		return err;
	if (job->lines)
		return file_lines_add(job->lines, answer.bytes, answer.size, request.input, count);
	return file_names_add(job->names, answer.bytes, answer.size, request.input, count);
}

/* Asks again with each file that may be the debug file. As ask_names(). */
static ssize_t ask_debug_files(struct naming_job *job, ssize_t got)
{
	const struct elf_debug_names names = *said_debug(job);
	const char *path_of_file = job->object->file->path;
	char root[OBJECT_ROOT_MAX], path[PATH_MAX];
	unsigned int which;

	object_debug_root(job->object, root);
	for (which = 0; which < ELF_DEBUG_PATHS && got > 0; which++) {
		if (!elf_debug_path(&names, path_of_file, root, which, path) ||
		    elf_debug_open(job->namer->files, path, root, &job->debug_file))
			continue;
		drop_last(job);
		got = ask_names(job, 0);
		if (got > 0 && said_has(job))
			break;
		foreign_close(job->debug_file);
		job->debug_file = NULL;
	}
	return got;
}

/* Nothing more would be answered: there is no debug information, or no time left. */
static bool is_done(const struct naming_job *job)
{
	return job->lines && (!said_has(job) || file_lines_said(job->lines)->is_cut);
}

static int ask_all(struct naming_job *job)
{
	ssize_t got = ask_names(job, 0);
	size_t done;

	if (got > 0 && said_wants(job))
		got = ask_debug_files(job, got);
	for (done = 0; got > 0 && (done += (size_t)got) < job->count && !is_done(job);)
		got = ask_names(job, done);
	if (job->debug_file)
		foreign_drop_copy(job->debug_file);
	foreign_drop_copy(job->file);
	return got < 0 ? (int)got : 0;
}

/* The same by parsing the file here. */
static int name_here(struct naming_job *job)
{
	char root[OBJECT_ROOT_MAX];
	struct file_names_source source = {.debug_root = root};
	size_t done = 0, size;
	uint8_t *bytes;
	ssize_t got;
	int err = 0;

	object_debug_root(job->object, root);
	while (!err && done < job->count) {
		err = object_open(job->object, &source.elf);
		if (!err)
			err = file_names_write(&source, job->vaddrs + done, job->count - done, ANALYSER_ANSWER_MAX,
					       &bytes, &size);
		if (err)
			break;
		got = file_names_add(job->names, bytes, size, job->vaddrs + done, job->count - done);
		err = got < 0 ? (int)got : 0;
		done += got < 0 ? 0 : (size_t)got;
	}
	return err;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts them, each once; how many there are. */
static size_t sort(uint64_t *vaddrs, size_t count)
{
	size_t i, kept = 0;

	qsort(vaddrs, count, sizeof(*vaddrs), by_value);
	for (i = 0; i < count; i++)
		if (!kept || vaddrs[kept - 1] != vaddrs[i])
			vaddrs[kept++] = vaddrs[i];
	return kept;
}

/* What a file's names were lost by; other errors say that it has none. */
static bool is_loss(int err)
{
	return err == -ETIME || err == -ENOMEM || err == -ECHILD || err == -EBADMSG || err == -EDQUOT ||
	       err == -EAGAIN;
}

/* May another try be better? */
static bool is_passing(int err)
{
	return err == -EDQUOT || err == -EAGAIN;
}

static void tell_failed(const struct naming_job *job, int err)
{
	if (!job->object->nameless_told)
		job->namer->client.failed(job->namer->client.context, job->object, err);
	job->object->nameless_told = true;
}

static void tell_too_long(const struct naming_job *job)
{
	if (job->namer && file_names_too_long(job->names))
		tell_failed(job, -ENAMETOOLONG);
}

/* Parsed by the process, which its limits may end: then the file has no names from here on. */
static int name_there(struct naming_job *job)
{
	int err = ask_all(job);

	foreign_close(job->debug_file);
	job->debug_file = NULL;
	if (!err || err == -ENOSYS)
		return err;
	file_names_deinit(job->names);
	if (!is_loss(err))
		return 0;
	job->object->is_nameless = !is_passing(err);
	tell_failed(job, err);
	return 0;
}

/* Is there a process? If not, that is told, once. */
static bool is_served(struct namer *namer)
{
	if (!namer || !namer->analyser)
		return false;
	if (!analyser_refusal(namer->analyser))
		return true;
	if (!namer->refusal_told)
		namer->client.failed(namer->client.context, NULL, analyser_refusal(namer->analyser));
	namer->refusal_told = true;
	return false;
}

int namer_names(struct namer *namer, struct object *object, uint64_t *vaddrs, size_t count, struct file_names *ret)
{
	struct naming_job job = {.namer = namer,
				 .object = object,
				 .ask = ANALYSER_NAME,
				 .file = object->content,
				 .user = object->charged,
				 .vaddrs = vaddrs,
				 .names = ret};
	int err;

	*ret = (struct file_names){};
	if (!count || !object->readable || object->is_nameless || object_changed(object))
		return 0;
	job.count = sort(vaddrs, count);
	if (object->content && is_served(namer)) {
		err = name_there(&job);
		if (err != -ENOSYS) {
			tell_too_long(&job);
			return err;
		}
		file_names_deinit(ret);
		is_served(namer); /* not any more */
	}
	err = name_here(&job);
	if (err)
		file_names_deinit(ret);
	tell_too_long(&job);
	return err == -ENOMEM ? err : 0;
}

/* Here, as name_here(). */
static int find_lines_here(struct naming_job *job)
{
	char root[OBJECT_ROOT_MAX];
	struct file_lines_source source = {.debug_root = root, .seconds = NAMER_LINES_S};
	size_t size;
	uint8_t *bytes;
	ssize_t got;
	int err;

	object_debug_root(job->object, root);
	err = object_open(job->object, &source.elf);
	if (!err)
		err = file_lines_write(&source, job->vaddrs, job->count, ANALYSER_ANSWER_MAX, &bytes, &size);
	if (err)
		return err;
	got = file_lines_add(job->lines, bytes, size, job->vaddrs, job->count);
	return got < 0 ? (int)got : 0;
}

int namer_lines(struct namer *namer, struct object *object, uint64_t *vaddrs, size_t count, struct file_lines *ret)
{
	struct naming_job job = {.namer = namer,
				 .object = object,
				 .ask = ANALYSER_LINES,
				 .file = object->content,
				 .user = object->charged,
				 .vaddrs = vaddrs,
				 .lines = ret};
	const struct file_lines_head *said;
	int err = -ENOSYS;

	*ret = (struct file_lines){};
	if (!count || !object->readable || object->is_nameless || object->is_lineless ||
	    object->file->kind == FILE_VDSO || object_changed(object))
		return 0;
	job.count = sort(vaddrs, count);
	if (object->content && is_served(namer))
		err = ask_all(&job);
	foreign_close(job.debug_file);
	if (err == -ENOSYS) {
		file_lines_deinit(ret);
		err = find_lines_here(&job);
	}
	said = err ? NULL : file_lines_said(ret);
	if (said && said->is_cut)
		err = -ETIME;
	if (is_loss(err)) {
		object->is_lineless = !is_passing(err);
		if (namer && namer->client.lineless && !object->lineless_told)
			namer->client.lineless(namer->client.context, object, err);
		object->lineless_told = true;
	}
	if (err && err != -ETIME)
		file_lines_deinit(ret);
	return 0;
}

int namer_map_names(struct namer *namer, struct object *object, const struct perf_map *map, uint64_t *addresses,
		    size_t count, struct file_names *ret)
{
	struct naming_job job = {.namer = namer,
				 .object = object,
				 .ask = ANALYSER_MAP,
				 .user = perf_map_user(map),
				 .vaddrs = addresses,
				 .names = ret};
	int err = -ENOSYS;

	*ret = (struct file_names){};
	if (!count || object->is_nameless)
		return 0;
	job.count = sort(addresses, count);
	job.file = is_served(namer) ? perf_map_copy(map) : NULL;
	if (!job.file && is_served(namer) && perf_map_is_file(map))
		return -ENOMEM; /* or descriptors */
	if (job.file) {
		err = name_there(&job);
		foreign_close(job.file);
	}
	if (err == -ENOSYS) {
		file_names_deinit(ret);
		is_served(namer);
	}
	return err;
}

int namer_lacks_symbols(struct namer *namer, struct object *object, uint64_t vaddr, struct elf_debug_names *ret)
{
	const struct file_names_head *said;
	struct file_names names;
	int err = object->file->kind == FILE_VDSO ? 0 : namer_names(namer, object, &vaddr, 1, &names);

	if (err || object->file->kind == FILE_VDSO)
		return err;
	said = file_names_said(&names);
	if (said && said->wants_debug && !said->has_debug && said->debug.build_id_size) {
		*ret = said->debug;
		err = 1;
	}
	file_names_deinit(&names);
	return err;
}
