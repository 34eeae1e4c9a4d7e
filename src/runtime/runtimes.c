// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>

#define DECLARE(name) extern const struct runtime runtime_##name;
#define POINT(name)   &runtime_##name,

RUNTIMES(DECLARE)

static const struct runtime *const all[] = {RUNTIMES(POINT)};

#define COUNT (sizeof(all) / sizeof(all[0]))

const struct runtime *const *runtimes(size_t *count)
{
	*count = COUNT;
	return all;
}

const struct runtime *runtime_of(unsigned int id)
{
	return id && id <= COUNT ? all[id - 1] : NULL;
}

enum runtime_id runtime_id(const struct runtime *runtime)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		if (all[i] == runtime)
			return (enum runtime_id)(i + 1);
	return RUNTIME_NONE;
}

int runtime_recognise(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag)
{
	size_t i;
	int found = 0;

	*ret = (struct runtime_file){};
	for (i = 0; i < COUNT && !found; i++) {
		if (!all[i]->recognise)
			continue;
		found = all[i]->recognise(elf, cache, ret, diag);
		if (found && found != -ENOMEM)
			ret->runtime = all[i];
		ret->unknown = found < 0;
	}
	return found;
}

void runtime_file_deinit(struct runtime_file *file)
{
	if (file->runtime)
		file->runtime->forget(file->facts);
	*file = (struct runtime_file){};
}

static void answer_roles(const struct elf_file *elf, struct cache *cache)
{
	struct runtime_range *ranges = NULL;
	struct runtime_file file;
	struct diag diag;
	size_t count;

	(void)!runtime_recognise(elf, NULL, &file, &diag);
	if (file.runtime && !file.runtime->roles(&file, elf, cache, &ranges, &count, &diag))
		free(ranges);
	runtime_file_deinit(&file);
}

void runtime_answer(const struct elf_file *elf, enum runtime_question question, struct cache *cache)
{
	struct runtime_file file;
	struct runtime_aid aid;
	struct diag diag;
	size_t i;

	for (i = 0; question == RUNTIME_PROBES && i < COUNT; i++)
		if (all[i]->find_probes)
			all[i]->find_probes(elf, cache);
	if (question == RUNTIME_ROLES)
		answer_roles(elf, cache);
	for (i = 0; question == RUNTIME_AID && i < COUNT; i++)
		if (all[i]->aid)
			all[i]->aid(elf, cache, &aid);
	if (question == RUNTIME_RECOGNISE) {
		(void)!runtime_recognise(elf, cache, &file, &diag);
		runtime_file_deinit(&file);
	}
}

void runtime_locals_deinit(struct runtime_locals *locals)
{
	size_t i;

	for (i = 0; i < locals->list.count; i++) {
		free(locals->list.at[i].name);
		free(locals->list.at[i].value);
	}
	vec_free(&locals->list);
	locals->known = false;
}

void runtime_task_deinit(struct runtime_task *task)
{
	size_t i;

	free(task->name);
	free(task->detail);
	vec_free(&task->awaited_by);
	for (i = 0; i < task->frames.count; i++) {
		free(task->frames.at[i].function);
		free(task->frames.at[i].file);
	}
	vec_free(&task->frames);
}

void runtime_tasks_deinit(struct runtime_tasks *tasks)
{
	size_t i;

	for (i = 0; i < tasks->list.count; i++)
		runtime_task_deinit(&tasks->list.at[i]);
	vec_free(&tasks->list);
	vec_free(&tasks->limits);
	tasks->known = false;
}

void runtime_attach(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		    struct runtime_process *ret)
{
	*ret = (struct runtime_process){};
	file->runtime->attach(file, bias, aid, ret);
	ret->runtime = (uint8_t)runtime_id(file->runtime);
}

enum runtime_role runtime_function_role(const char *file, const char *symbol)
{
	enum runtime_role role = ROLE_NATIVE;
	size_t i;

	for (i = 0; i < COUNT && role == ROLE_NATIVE; i++)
		if (all[i]->function_role)
			role = all[i]->function_role(file, symbol);
	return role;
}

/* --- what src/unwind asks --- */

bool unwind_source_at(size_t i, const struct unwind_source **ret)
{
	if (i < COUNT)
		*ret = all[i]->source;
	return i < COUNT;
}

const struct unwind_source *unwind_source_of(uint8_t kind)
{
	const struct runtime *runtime =
		kind < UNWIND_STEPS ? NULL : runtime_of((kind - UNWIND_STEPS) / UNWIND_STEPS_EACH);

	return runtime && runtime->source && runtime->source->format ? runtime->source : NULL;
}
