// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another process (engine/analyser.h) follows machine code that has no unwind tables. Until it has answered:
 *
 *   the file's rows     are absent, like those of the parts of large files that are not needed yet
 *   a walk that comes   makes a late sample. If its walk here ends in that code, its copy waits: it is *parked*
 *   there
 *
 * Each file has a process of its own: what is told of it is kept on disk, under the digest of what was read.
 *
 * When the answer comes it is kept with the object. The parked samples are walked again. That asks for the rows, which
 * are compiled with what the answer says.
 *
 * If the process took too long or ended, there is no answer: the samples have the loss LOSS_OVER_BUDGET, and a remark
 * names the file.
 *
 * Names are asked of another such process (engine/namer.h), and waited for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "bpf/scratch.h"
#include "engine/watch_parts.h"
#include "profile/text.h"
#include "unwind/derived.h"

#define ASKED_TRIES  3             /* a file that is written to meanwhile is another one each time */
#define PARKED_MAX   (32u << 20)   /* bytes; what does not fit is tallied as it is */
#define WAIT_STEP_MS 5             /* between two looks at the ring */
#define FINISH_NS    1000000000ull /* how long the end of the recording waits for what is under way */

void watch_analysis_init(struct watch *watch, bool waits)
{
	watch->analysing.waits = waits;
	if (watch->foreign)
		watch->analysing.analyser = analyser_create(watch->foreign, &analyser_once);
}

void watch_analysis_deinit(struct watch *watch)
{
	analyser_destroy(watch->analysing.analyser);
	backlog_deinit(&watch->analysing.parked);
}

static const char *words_of(int err, char *buffer, size_t size)
{
	if (err == -ETIME)
		snprintf(buffer, size, "that takes more than %.0f s", ANALYSER_CPU_S);
	else if (err == -ECHILD)
		snprintf(buffer, size, "the process that did it ended, %d times", ANALYSER_TRIES);
	else if (err == -EBADMSG)
		snprintf(buffer, size, "what the process told about it makes no sense");
	else if (err == -ENAMETOOLONG)
		snprintf(buffer, size, "one is over 64 KiB, or all are too long together");
	else if (err == -EDQUOT)
		snprintf(buffer, size, "the files of its user take more than %.0f s", NAMER_MS / 2000.0);
	else if (err != -E2BIG || !limits_words(EFBIG, buffer, size)) /* the answer's memory is a file */
		snprintf(buffer, size, "%s", strerror(-err));
	return buffer;
}

void watch_note_over_budget(struct watch *watch, const struct object *object, const char *what, const char *undone,
			    int err)
{
	char text[WATCH_REMARK_BYTES], path[WATCH_REMARK_BYTES / 2], why[128];

	if (object->file->kind == FILE_ANONYMOUS)
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", object->file->pid);
	else
		text_clean(object->file->path, path, sizeof(path));
	snprintf(text, sizeof(text), "over-budget: %s of %s%s: %s", what, path, undone,
		 words_of(err, why, sizeof(why)));
	watch_add_remark(watch, text);
}

static void note_refusal(struct watch *watch, int refusal)
{
	char text[WATCH_REMARK_BYTES];

	if (watch->analysing.refusal_told)
		return;
	watch->analysing.refusal_told = true;
	snprintf(
		text, sizeof(text),
		"no process of its own reads the machine code of files without unwind tables, as it cannot be confined "
		"(%s): samples may be lost while that is done",
		strerror(-refusal));
	watch_add_remark(watch, text);
}

void watch_relieve(void *context)
{
	(void)!sampler_read_ahead(((struct watch *)context)->sampler); /* what was lost the balance of samples tells */
}

static void note_nameless(void *context, const struct object *object, int err)
{
	struct watch *watch = context;
	char text[WATCH_REMARK_BYTES];

	if (object) {
		watch_note_over_budget(watch, object, err == -ENAMETOOLONG ? "some functions" : "the functions",
				       " have no names", err);
		return;
	}
	snprintf(text, sizeof(text), "symbols are read with all rights of strata, as no process can be confined (%s)",
		 strerror(-err));
	watch_add_remark(watch, text);
}

static void note_lineless(void *context, const struct object *object, int err)
{
	watch_note_over_budget(context, object, "some addresses", " have no lines", err);
}

void watch_names_init(struct watch *watch)
{
	const struct namer_client client = {watch_relieve, note_nameless, watch, note_lineless};

	watch->naming.namer = namer_create(watch->foreign, &client, NULL);
}

static struct object *object_that_asked(struct watch *watch, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < processes_file_count(watch->processes); i++) {
		struct object *object = objects_at(watch->objects, i);

		if (object && object->analysis.asked == id)
			return object;
	}
	return NULL;
}

/* Keeps an answer on disk, too, if it makes sense: it is about the snapshot. */
static void keep_answer(struct object *object, const struct analysis *analysis)
{
	char name[CACHE_NAME_MAX + 1] = "";
	struct code_counts counts;
	rule_ranges ranges = {};
	struct elf_file *elf;

	if (analysis->snapshot && !elf_file_open_foreign(analysis->snapshot, object->file->path, &elf, NULL)) {
		derived_name(elf, name);
		elf_file_close(elf);
	}
	if (*name && object->cache && derived_decode(analysis->bytes, analysis->size, &ranges, &counts))
		cache_put(object->cache, name, analysis->bytes, analysis->size);
	vec_free(&ranges);
	object->analysis.name = strdup(name);
	object->analysis.bytes = analysis->bytes;
	object->analysis.size = analysis->size;
}

static void take(void *context, struct analysis *analysis)
{
	struct watch *watch = context;
	struct object *object = object_that_asked(watch, analysis->id);

	watch->analysing.is_answered = true;
	if (object) {
		object->analysis.asked = 0;
		object_forget_answer(object);
	}
	if (object && !analysis->err) {
		keep_answer(object, analysis);
	} else {
		free(analysis->bytes);
		if (object && !analyser_refusal(watch->analysing.analyser)) {
			object->analysis.failed = analysis->err != -EAGAIN;
			watch_note_over_budget(watch, object, "the machine code",
					       ", which has no unwind tables, was not followed", analysis->err);
		}
	}
	foreign_close(analysis->snapshot);
}

/* An answer about other content is none; one about a file that has no name is. */
static bool is_answered(const struct object_analysis *analysis, const char *name)
{
	return analysis->bytes && analysis->name && !strcmp(analysis->name, name);
}

static int ask(struct watch *watch, struct object *object)
{
	struct object_analysis *analysis = &object->analysis;
	struct analyser *analyser = watch->analysing.analyser;

	analysis->asked =
		analyser_ask(analyser, &(struct analyser_request){.ask = ANALYSER_FOLLOW, .file = object->content});
	analysis->tries++;
	if (!analysis->asked)
		return analyser_refusal(analyser) ? 0 : -EDQUOT;
	while (watch->analysing.waits && analysis->asked && analyser_wait(analyser, WAIT_STEP_MS)) {
		watch_relieve(watch);
		analyser_tend(analyser, take, watch);
	}
	return -EINPROGRESS;
}

int watch_follow(void *context, struct object *object, const char *name, uint64_t code, const uint8_t **bytes,
		 size_t *size)
{
	struct watch *watch = context;
	struct object_analysis *analysis = &object->analysis;
	struct analyser *analyser = watch->analysing.analyser;
	int err = 0;

	if (analysis->asked)
		return -EINPROGRESS;
	if (!analysis->failed && !is_answered(analysis, name)) {
		if (analysis->tries >= ASKED_TRIES)
			return -ECANCELED;
		if (!watch_may_follow(watch, code))
			return -EDQUOT;
		if (!analyser || !object->content)
			return 0;
		err = ask(watch, object);
	}
	if (analyser_refusal(analyser)) {
		note_refusal(watch, analyser_refusal(analyser));
		return 0;
	}
	if (analysis->asked || (err && err != -EINPROGRESS))
		return err;
	if (analysis->failed || !is_answered(analysis, name))
		return -ECANCELED;
	*bytes = analysis->bytes;
	*size = analysis->size;
	return 0;
}

bool watch_awaits(const struct watch *watch, const struct process *process, uint64_t time,
		  const struct late_stack *stack)
{
	const struct process_mapping *mapping;
	const struct object *object;

	if (stack->loss != LOSS_LATE || !stack->frames || !process)
		return false;
	mapping = process_find_mapping(process, stack->end->pc - stack->end->behind, time);
	object = mapping ? objects_at(watch->objects, mapping->file->index) : NULL;
	return object && object->analysis.asked;
}

bool watch_park(struct watch *watch, const struct snapshot_event *snapshot)
{
	struct analysing *analysing = &watch->analysing;
	size_t size = sizeof(*snapshot) + snapshot->stack_size;

	if (analysing->finishing || analysing->parked.bytes + size > PARKED_MAX)
		return false;
	if (!analysing->parked.bytes)
		analysing->parked_since = snapshot->time;
	return !backlog_put(&analysing->parked, snapshot, size);
}

/* What is still to wait is parked again. */
static int unpark(struct watch *watch)
{
	struct backlog parked = watch->analysing.parked;
	const void *record;
	size_t size;
	int err = 0;

	watch->analysing.parked = (struct backlog){};
	watch->analysing.parked_since = 0;
	while (!err && (record = backlog_take(&parked, &size)))
		err = watch_take_record(watch, record, size);
	backlog_deinit(&parked);
	return err;
}

int watch_poll_analysis(struct watch *watch)
{
	struct analysing *analysing = &watch->analysing;

	if (!analysing->analyser)
		return 0;
	analyser_tend(analysing->analyser, take, watch);
	if (!analysing->is_answered)
		return 0;
	analysing->is_answered = false;
	return unpark(watch);
}

int watch_finish_analysis(struct watch *watch)
{
	struct analysing *analysing = &watch->analysing;
	uint64_t until = watch_now() + FINISH_NS;
	int err = 0;

	while (!err && analysing->parked.first && watch_now() < until &&
	       analyser_wait(analysing->analyser, WAIT_STEP_MS))
		err = watch_poll_analysis(watch);
	analysing->finishing = true;
	return err ? err : unpark(watch);
}
