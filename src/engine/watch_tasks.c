// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tells the kernel where processes have their tasks, such as those of asyncio, if the client wants them
 * (watch_options.tasks): walks then tell which task their thread runs. Until a process has imported what runs tasks,
 * it is asked again: soon after a function of an event loop was met, otherwise more and more seldom.
 */
#include "engine/watch_parts.h"

#include <string.h>

#include "proc/memory.h"

#define WAIT_NS     20000000ull /* until the process is asked again: at first, and at most */
#define WAIT_MAX_NS 1000000000ull
#define EFFORT_NS   20000000ull
#define READS       200000
#define PAGES       256

static bool find_tasks(struct watched *watched)
{
	const struct runtime_file *file = &watched->interpreter->runtime;
	struct runtime_effort effort = {.until = watch_now() + EFFORT_NS, .reads = READS};
	const struct memory live = memory_of_process(watched->process->pid);
	struct memory_pages *pages = memory_pages_create(&live, PAGES);
	struct memory memory;
	bool found;

	if (!pages)
		return false;
	memory = memory_of_pages(pages);
	found = file->runtime->find_tasks(file, &memory, watched->bias, &effort, &watched->facts);
	memory_pages_destroy(pages);
	return found;
}

/* Asks a process, if that is due. True: its facts have changed. */
static bool ask(struct watched *watched, uint64_t now)
{
	struct watched_tasks *tasks = &watched->tasks;

	if (tasks->are_known || now < tasks->next || !watched->interpreter->runtime.runtime->find_tasks)
		return false;
	tasks->wait = tasks->wait ? tasks->wait * 2 : WAIT_NS;
	tasks->wait = tasks->wait < WAIT_MAX_NS ? tasks->wait : WAIT_MAX_NS;
	tasks->next = now + tasks->wait;
	tasks->are_known = find_tasks(watched);
	memcpy(tasks->words, watched->facts.tasks, sizeof(tasks->words));
	return tasks->are_known;
}

void watch_tell_tasks(struct watch *watch, struct watched *watched)
{
	if (!watch->tells_tasks)
		return;
	if (watched->tasks.are_known)
		memcpy(watched->facts.tasks, watched->tasks.words, sizeof(watched->tasks.words));
	else
		ask(watched, watch_now());
}

void watch_note_loop(struct watch *watch, const struct code_event *event)
{
	static const char folder[] = "/asyncio/";
	const struct code_string *file = &event->filename;
	struct process *process;
	struct watched *watched;

	if (!watch->tells_tasks || file->kind != 1 || file->bytes > CODE_STRING_MAX ||
	    !memmem(event->text + file->at, file->bytes, folder, strlen(folder)))
		return;
	process = processes_find(watch->processes, (int)event->tgid, UINT64_MAX);
	watched = process ? process->user : NULL;
	if (watched)
		watched->tasks.next = watched->tasks.wait = 0;
}

void watch_find_tasks(struct watch *watch)
{
	struct process *process;
	uint64_t now = watch_now();
	size_t at = 0;

	if (!watch->tells_tasks)
		return;
	while ((process = processes_next(watch->processes, &at))) {
		struct watched *watched = process->user;

		if (watched && watched->runtime && process->ended == UINT64_MAX && ask(watched, now))
			(void)!sampler_runtime(watch->sampler, process->pid, &watched->interpreter->runtime.layout,
					       &watched->facts);
	}
}
