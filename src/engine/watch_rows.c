// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Other processes (engine/analyser.h) compile unwind rows, so that no byte of a file's unwind information is parsed in
 * the loop that drains the ring. Their answers are waited for, while the ring is still drained: a walk needs the rows.
 *
 * A process stays, since a new one takes longer than the rows of most files. One that a file has taken over could lie
 * about the files that come after it. So it gets those of one owner on one file system only: a user's own files, or
 * those of a container, cannot make it lie about the system's libraries.
 *
 * The system's own libraries are compiled here: files on the file system of strata's root directory that only root can
 * write to. strata itself is made of such files. First samples wait for their rows: of 1,000 at 1 kHz 6 to 11 were late
 * when a process was asked for them, and are 0 to 3 now.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/watch_parts.h"

#define COMPILERS_MAX 8           /* then the one that was used least recently ends */
#define COPY_MAX      (16u << 20) /* of a file whose file system may hang, the process gets a copy */

void watch_rows_init(struct watch *watch)
{
	struct stat root;

	watch->compiling.spent = (struct budget){.whole = WATCH_ROWS_US, .halving_s = WATCH_ROWS_HALVING_S};
	if (!stat("/", &root))
		watch->compiling.root = root.st_dev;
}

void watch_rows_deinit(struct watch *watch)
{
	size_t i;

	for (i = 0; i < watch->compiling.compilers.count; i++)
		analyser_destroy(watch->compiling.compilers.at[i].analyser);
	vec_free(&watch->compiling.compilers);
	budget_deinit(&watch->compiling.spent);
}

double watch_rows_cpu_s(const struct watch *watch)
{
	double sum = watch->compiling.cpu_s;
	size_t i;

	for (i = 0; i < watch->compiling.compilers.count; i++)
		sum += analyser_cpu_s(watch->compiling.compilers.at[i].analyser);
	return sum;
}

static void end_oldest(struct compiling *compiling)
{
	size_t i, oldest = 0;

	for (i = 1; i < compiling->compilers.count; i++)
		if (compiling->compilers.at[i].used < compiling->compilers.at[oldest].used)
			oldest = i;
	compiling->cpu_s += analyser_cpu_s(compiling->compilers.at[oldest].analyser);
	analyser_destroy(compiling->compilers.at[oldest].analyser);
	compiling->compilers.at[oldest] = compiling->compilers.at[--compiling->compilers.count];
}

static bool is_of_system(const struct watch *watch, const struct stat *status)
{
	return status->st_dev == watch->compiling.root && !status->st_uid && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* The process for a file; NULL: memory is short. */
static struct analyser *find_compiler(struct watch *watch, const struct stat *status)
{
	struct compiling *compiling = &watch->compiling;
	struct compiler compiler = {.device = status->st_dev, .owner = status->st_uid};
	size_t i;

	for (i = 0; i < compiling->compilers.count; i++)
		if (compiling->compilers.at[i].device == compiler.device &&
		    compiling->compilers.at[i].owner == compiler.owner)
			break;
	if (i == compiling->compilers.count) {
		if (i == COMPILERS_MAX)
			end_oldest(compiling);
		compiler.analyser = analyser_create(watch->foreign, NULL);
		if (!compiler.analyser || vec_push(&compiling->compilers, compiler)) {
			analyser_destroy(compiler.analyser);
			return NULL;
		}
		i = compiling->compilers.count - 1;
	}
	compiling->compilers.at[i].used = ++compiling->uses;
	return compiling->compilers.at[i].analyser;
}

static void note_refusal(struct watch *watch, int refusal)
{
	char text[WATCH_REMARK_BYTES];

	if (watch->compiling.refusal_told)
		return;
	watch->compiling.refusal_told = true;
	snprintf(text, sizeof(text),
		 "unwind information is read with all rights of strata, as no process can be confined (%s)",
		 strerror(-refusal));
	watch_add_remark(watch, text);
}

int watch_find_rows(void *context, struct object *object, const void *question, size_t question_size, uint8_t **bytes,
		    size_t *size)
{
	struct watch *watch = context;
	const struct analyser_request request = {
		.ask = ANALYSER_ROWS, .file = object->content, .input = question, .input_size = question_size};
	uint64_t now_s = watch_now() / 1000000000;
	struct analysis answer = {};
	struct analyser *analyser;
	struct stat status;
	double used;
	int err;

	if (!watch->foreign || (foreign_waits(object->content) && object->size > COPY_MAX))
		return -ENOSYS;
	if (foreign_stat(object->content, &status))
		return -EIO;
	if (is_of_system(watch, &status))
		return -ENOSYS;
	analyser = find_compiler(watch, &status);
	if (!analyser)
		return -ENOMEM;
	if (!budget_take(&watch->compiling.spent, object->charged, 1, now_s))
		return -EDQUOT;
	used = analyser_cpu_s(analyser);
	err = analyser_consult(analyser, &request, watch_relieve, watch, &answer);
	used = analyser_cpu_s(analyser) - used;
	budget_charge(&watch->compiling.spent, object->charged, (uint64_t)(used * 1e6), now_s);
	foreign_drop_copy(object->content);
	if (err == -ENOSYS)
		note_refusal(watch, analyser_refusal(analyser));
	*bytes = answer.bytes;
	*size = answer.size;
	return err;
}

void watch_note_rowless(void *context, struct object *object, int err)
{
	watch_note_over_budget(context, object, "the unwind information", " was not read", err);
}
