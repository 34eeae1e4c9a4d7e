// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "stack/stack.h"

const char *stack_state_name(enum stack_state state)
{
	static const char *const names[] = {"running", "runnable", "sleeping", "blocked", "stopped", "dead"};

	return names[state];
}

static void destroy_thread(struct stack_thread *thread)
{
	uint32_t i;

	for (i = 0; thread->locals && i < thread->depth; i++)
		runtime_locals_deinit(&thread->locals[i]);
	free(thread->locals);
	free(thread->detail);
	free(thread->frames);
}

void stack_destroy(struct stacks *stacks)
{
	size_t i, k;

	if (!stacks)
		return;
	for (i = 0; i < stacks->count; i++) {
		for (k = 0; k < stacks->processes[i].count; k++)
			destroy_thread(&stacks->processes[i].threads[k]);
		free(stacks->processes[i].threads);
		runtime_tasks_deinit(&stacks->processes[i].tasks);
	}
	free(stacks->processes);
	profile_destroy(stacks->profile);
	free(stacks);
}

int stack_thread_of(const struct stack_process *process, uint32_t inner)
{
	size_t i;

	for (i = 0; i < process->count; i++) {
		char path[64], line[256];
		uint32_t id = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process->pid, process->threads[i].tid);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			const char *last = strrchr(line, '\t');

			/* The last number is the id in the innermost namespace (proc(5)). */
			if (!strncmp(line, "NSpid:", 6) && last)
				sscanf(last, "%u", &id);
		}
		if (file)
			fclose(file);
		if (id == inner)
			return process->threads[i].tid;
	}
	return (int)inner;
}
