// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Another process (engine/analyser.h) finds what is in the machine code of a runtime: the interpreter's loop, the ways
 * to its threads' states. It is asked only if the cache does not know it: once for each file on this machine. The
 * answer is waited for, since the first sample needs it; the ring is emptied meanwhile.
 *
 * A process answers one question and ends, as the answer is kept for later runs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/watch_parts.h"

void watch_runtime_init(struct watch *watch)
{
	const struct object_finder finder = {watch_find_in_runtime, watch};

	watch->finding.spent = (struct budget){.whole = WATCH_RUNTIME_MS, .halving_s = WATCH_RUNTIME_HALVING_S};
	if (!watch->foreign)
		return;
	foreign_files_prepare(watch->foreign, analyser_prepare);
	watch->finding.analyser = analyser_create(watch->foreign, &analyser_once);
	if (watch->finding.analyser)
		objects_set_finder(watch->objects, &finder);
}

void watch_runtime_deinit(struct watch *watch)
{
	analyser_destroy(watch->finding.analyser);
	budget_deinit(&watch->finding.spent);
}

static void note_refusal(struct watch *watch)
{
	char text[WATCH_REMARK_BYTES];

	if (watch->finding.refusal_told)
		return;
	watch->finding.refusal_told = true;
	snprintf(text, sizeof(text),
		 "the machine code of interpreters is read with all rights of strata, as no process can be confined "
		 "(%s)",
		 strerror(-analyser_refusal(watch->finding.analyser)));
	watch_add_remark(watch, text);
}

int watch_find_in_runtime(void *context, struct object *object, const struct process *process,
			  enum runtime_question question, struct analysis *ret)
{
	static const enum analyser_ask asks[] = {[RUNTIME_RECOGNISE] = ANALYSER_RECOGNISE,
						 [RUNTIME_ROLES] = ANALYSER_ROLES,
						 [RUNTIME_AID] = ANALYSER_AID};
	struct watch *watch = context;
	struct finding *finding = &watch->finding;
	uint32_t user = process ? watch_user(process) : object->charged;
	double used = analyser_cpu_s(finding->analyser);
	struct analysis answer = {};
	int err = -EDQUOT;

	if (budget_take(&finding->spent, user, 1, watch_now() / 1000000000)) {
		const struct analyser_request request = {.ask = asks[question], .file = object->content};

		err = analyser_consult(finding->analyser, &request, watch_relieve, watch, &answer);
		used = analyser_cpu_s(finding->analyser) - used;
		budget_charge(&finding->spent, user, (uint64_t)(used * 1000), watch_now() / 1000000000);
		foreign_drop_copy(object->content);
	}
	*ret = answer;
	if (err == -ENOSYS)
		note_refusal(watch);
	else if (err)
		watch_note_over_budget(watch, object, "the machine code",
				       " was not searched for the interpreter's loop and its threads", err);
	return err;
}
