// SPDX-License-Identifier: GPL-2.0-or-later
/* Runtimes of a version that is not known: used once a process has shown that what they say of themselves is true. */
#include "engine/watch_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVE_EVERY_NS 20000000ull /* a process is asked again */
#define REFUTALS_MAX   25          /* in a row: an interpreter that starts may look odd for a moment */

/* Sets what is to be said of a file; a remark that there is no memory for is not made. */
__attribute__((format(printf, 3, 4))) static void set_remark(struct watch *watch, struct object *object,
							     const char *format, ...)
{
	char text[WATCH_REMARK_BYTES], *copy;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	copy = strdup(text);
	if (!copy)
		return;
	if (object->remark) {
		free(watch->remarks.at[object->remark - 1]);
		watch->remarks.at[object->remark - 1] = copy;
	} else if (watch->remarks.count >= WATCH_REMARKS_MAX || vec_push(&watch->remarks, copy)) {
		free(copy);
	} else {
		object->remark = watch->remarks.count;
	}
}

void watch_add_remark(struct watch *watch, const char *text)
{
	char *copy = watch->remarks.count < WATCH_REMARKS_MAX ? strdup(text) : NULL;

	if (copy && vec_push(&watch->remarks, copy))
		free(copy);
}

void watch_note_unknown(struct watch *watch, struct object *object)
{
	if (!object->remark && object->problem)
		set_remark(watch, object, "%s", object->problem);
}

const char *watch_remark(const struct watch *watch, size_t index)
{
	return index < watch->remarks.count ? watch->remarks.at[index] : NULL;
}

bool watch_prove(struct watch *watch, struct process *process, struct object *object, uint64_t bias)
{
	struct watched *watched = process->user;
	struct runtime_file *file = &object->runtime;
	const struct runtime *runtime = file->runtime;
	struct runtime_proof proof = {};
	uint64_t now = watch_now();
	char what[128];

	watch->learning.to_prove = watched->to_prove = true;
	if (watched->asked_at + PROVE_EVERY_NS > now ||
	    !runtime->prove(file, object->machine, process->pid, bias, &proof))
		return false;
	watched->asked_at = now;
	object->refutals = proof.refuted ? object->refutals + 1 : 0;
	snprintf(what, sizeof(what), "%s %d.%d is not known to this version of strata", runtime->language,
		 file->version >> 8, file->version & 0xff);
	if (proof.verified) {
		file->to_prove = false;
		set_remark(watch, object, "%s: %s; used as its own %s say: %s (process %d)", object->file->path, what,
			   runtime->published, proof.result, process->pid);
	} else if (object->refutals >= REFUTALS_MAX) {
		file->unknown = true;
		set_remark(watch, object, "%s: %s; refused, for its own %s are not true of process %d: %s",
			   object->file->path, what, runtime->published, process->pid, proof.result);
	} else {
		set_remark(watch, object, "%s: %s; not used, for no process has shown that its own %s are true: %s",
			   object->file->path, what, runtime->published, proof.result);
	}
	watched->to_prove = !proof.verified && !file->unknown;
	return proof.verified;
}

void watch_prove_again(struct watch *watch)
{
	struct process *process;
	size_t at = 0;

	if (!watch->learning.to_prove)
		return;
	watch->learning.to_prove = false;
	while ((process = processes_next(watch->processes, &at))) {
		struct watched *watched = process->user;

		if (!watched || !watched->to_prove || process->ended != UINT64_MAX)
			continue;
		watch->learning.to_prove = true;
		watch_find_runtime(watch, process);
	}
}
