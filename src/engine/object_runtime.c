// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an object says of a runtime. What is slow to find is in the cache, or another process finds it:
 *
 *   look() ──► in the cache? ──yes──────────────────────────────► answer
 *                  └─no─► cache_want() ─► finder ─► cache_read() ─► look() once more
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/objects_parts.h"

/* What is looked for in a file. */
struct look {
	struct object *object;
	const struct process *process;
	const struct elf_file *elf;
	enum runtime_question question;
	int (*look)(const struct look *look, struct diag *diag);
};

/*
 * Takes an answer into the cache. What is wanted then is what the snapshot lacks: so an entry is kept under the digest
 * of the bytes from which it was derived, whatever the file holds by now.
 */
static int take_answer(const struct look *look, const struct analysis *answer)
{
	struct object *object = look->object;
	struct look at_snapshot = *look;
	struct elf_file *elf;
	int err = answer->snapshot ? elf_file_open_foreign(answer->snapshot, object->file->path, &elf, NULL) : -EFBIG;

	if (err)
		return err;
	at_snapshot.elf = elf;
	cache_want(object->cache, NULL, 0);
	look->look(&at_snapshot, NULL);
	err = cache_wants(object->cache) ? cache_read(object->cache, answer->bytes, answer->size) : -ENOENT;
	elf_file_close(elf);
	return err;
}

/* Looks, has found what the cache lacks, and looks again. What look() says in the end. */
static int look(const struct look *look, struct diag *diag)
{
	struct object *object = look->object;
	const struct object_finder *finder = object->finder;
	struct analysis answer = {};
	int ret, err;

	cache_want(object->cache, NULL, 0);
	ret = look->look(look, diag);
	if (!cache_wants(object->cache))
		return ret;

	err = object->content ? finder->find(finder->context, object, look->process, look->question, &answer) : -ENOENT;
	if (err == -ENOSYS)
		cache_set_way(object->cache, CACHE_HERE);
	else if (!err)
		err = take_answer(look, &answer);
	free(answer.bytes);
	foreign_close(answer.snapshot);
	if (!err || err == -ENOSYS)
		ret = look->look(look, diag);
	cache_want(object->cache, NULL, 0);
	return ret;
}

static int look_for_runtime(const struct look *look, struct diag *diag)
{
	struct object *object = look->object;

	runtime_file_deinit(&object->runtime);
	return runtime_recognise(look->elf, object->cache, &object->runtime, diag);
}

/* Which runtime may need what the file tells beside. */
static void find_aids(struct object *object, const struct elf_file *elf)
{
	size_t count, i;
	const struct runtime *const *all = runtimes(&count);

	for (i = 0; i < count && !object->aids; i++)
		if (all[i]->has_aid &&
		    all[i]->has_aid(elf, object_is_walked(object) && object->runtime.runtime == all[i]))
			object->aids = all[i];
}

int object_recognise(struct object *object, const struct process *process, const struct elf_file *elf,
		     struct diag *diag)
{
	const struct look it = {object, process, elf, RUNTIME_RECOGNISE, look_for_runtime};
	int ret = look(&it, diag);

	find_aids(object, elf);
	return ret;
}

static int look_for_roles(const struct look *look, struct diag *diag)
{
	struct object *object = look->object;
	const struct runtime_file *file = &object->runtime;
	int err;

	free(object->roles);
	object->roles = NULL;
	err = file->runtime->roles(file, look->elf, object->cache, &object->roles, &object->role_count, diag);

	if (err)
		object->role_count = 0;
	return err;
}

int object_find_roles(struct object *object)
{
	struct look it = {.object = object, .question = RUNTIME_ROLES, .look = look_for_roles};
	struct diag diag = {};
	struct elf_file *elf;
	int err;

	if (object->roles_tried || !object->runtime.runtime || object_changed(object))
		return 0;
	err = object_open(object, &elf);
	if (!err) {
		it.elf = elf;
		err = look(&it, &diag);
		if (err)
			object_set_problem(object, diag.text);
		elf_file_close(elf);
	}
	object->roles_tried = err != -ENOMEM;
	return err == -ENOMEM ? err : 0;
}

static int look_for_aid(const struct look *look, struct diag *diag)
{
	struct object *object = look->object;

	(void)diag;
	object->has_aid = object->aids->aid(look->elf, object->cache, &object->aid);
	return 0;
}

const struct runtime_aid *object_aid(struct object *object)
{
	struct look it = {.object = object, .question = RUNTIME_AID, .look = look_for_aid};
	struct elf_file *elf;

	if (!object->aid_tried && object->aids && !object_open(object, &elf)) {
		it.elf = elf;
		look(&it, NULL);
		elf_file_close(elf);
	}
	object->aid_tried = true;
	return object->has_aid ? &object->aid : NULL;
}
