// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "profile/text.h"
#include "stack/stack.h"
#include "stack/waits.h"

#define BOLD  "\033[1m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

static const char *const colors[FRAME_LAYER_COUNT] = {[FRAME_KERNEL] = "\033[33m",
						      [FRAME_NATIVE] = "\033[36m",
						      [FRAME_RUNTIME] = "\033[32m",
						      [FRAME_MARK] = "\033[31m"};

static void print_frame(FILE *out, const struct frame *frame, bool color)
{
	char text[2 * FRAME_STRING_MAX + 64];

	frame_format(frame, text, sizeof(text));
	fprintf(out, "    %s%s%s\n", color ? colors[frame->layer] : "", text, color ? PLAIN : "");
}

static void print_text(FILE *out, const char *text)
{
	text_print(out, text, strlen(text));
}

static void print_locals(FILE *out, const struct runtime_locals *locals, bool color)
{
	size_t i;

	if (!locals->known && !locals->list.count)
		fprintf(out, "        %s[locals not read]%s\n", color ? FAINT : "", color ? PLAIN : "");
	for (i = 0; i < locals->list.count; i++) {
		const struct runtime_local *local = &locals->list.at[i];

		fprintf(out, "        %s", color ? FAINT : "");
		print_text(out, local->name);
		if (*local->value) {
			fputs(" = ", out);
			print_text(out, local->value);
		}
		fprintf(out, "%s\n", color ? PLAIN : "");
	}
}

static void print_thread(FILE *out, const struct stack_thread *thread, bool color)
{
	uint32_t i;

	fprintf(out, "\n%sthread %d ", color ? BOLD : "", thread->tid);
	print_text(out, thread->name);
	fprintf(out, "%s: %s", color ? PLAIN : "", stack_state_name(thread->state));
	if (thread->detail) {
		fputs(" in ", out);
		print_text(out, thread->detail);
	}
	if (thread->gil)
		fputs(", holds the GIL", out);
	if (!thread->consistent)
		fputs(thread->depth ? ", not consistent: it ran while its stack was read" : ", no stack could be read",
		      out);
	fputc('\n', out);
	for (i = 0; i < thread->depth; i++) {
		print_frame(out, thread->frames[i], color);
		if (thread->locals && thread->frames[i]->layer == FRAME_RUNTIME)
			print_locals(out, &thread->locals[i], color);
	}
}

static const char *const task_states[] = {
	[RUNTIME_TASK_READY] = "ready", [RUNTIME_TASK_RUNNING] = "running", [RUNTIME_TASK_WAITING] = "waiting"};

/* What it waits for in words: its detail, or what its descriptor is. Malloc'd; NULL: no more than the kind is known. */
static char *detail_of(const struct stack_process *process, const struct runtime_task *task)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (task->fd < 0)
		return task->detail ? strdup(task->detail) : NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	stack_tell_descriptor(out, process->pid, task->fd);
	fclose(out);
	return text;
}

static const struct runtime_task *task_of(const struct stack_process *process, uint64_t id)
{
	size_t i;

	for (i = 0; i < process->tasks.list.count; i++)
		if (process->tasks.list.at[i].id == id)
			return &process->tasks.list.at[i];
	return NULL;
}

/* "Task-3", or its id where it has no name. */
static void print_task_name(FILE *out, const struct stack_process *process, uint64_t id)
{
	const struct runtime_task *task = task_of(process, id);

	if (task && task->name)
		print_text(out, task->name);
	else
		fprintf(out, "%#llx", (unsigned long long)id);
}

static struct frame frame_of(const struct stack_process *process, const struct runtime_task_frame *frame)
{
	return (struct frame){.layer = frame->file ? FRAME_RUNTIME : FRAME_MARK,
			      .name = frame->function,
			      .file = frame->file ?: "",
			      .line = frame->line,
			      .path = "",
			      .runtime = frame->file ? process->runtime.name : "",
			      .build_id = ""};
}

static void print_task(FILE *out, const struct stack_process *process, const struct runtime_task *task, bool color)
{
	char *detail = detail_of(process, task);
	size_t i;

	fprintf(out, "\n%stask ", color ? BOLD : "");
	if (task->name)
		print_text(out, task->name);
	else
		fprintf(out, "%#llx", (unsigned long long)task->id);
	fprintf(out, "%s: %s", color ? PLAIN : "", task_states[task->state]);
	if (task->thread)
		fprintf(out, " in thread %d", stack_thread_of(process, task->thread));
	if (task->waits_for)
		fprintf(out, " for %s", task->waits_for);
	if (task->awaits) {
		fputs(strcmp(task->waits_for, "task") ? " of " : " ", out);
		print_task_name(out, process, task->awaits);
	}
	if (detail) {
		fputs(", ", out);
		print_text(out, detail);
	}
	for (i = 0; i < task->awaited_by.count; i++) {
		fputs(i ? ", " : "; awaited by ", out);
		print_task_name(out, process, task->awaited_by.at[i]);
	}
	fputs(task->consistent ? "\n" : "; not consistent: it changed while it was read\n", out);
	for (i = 0; i < task->frames.count; i++) {
		const struct frame frame = frame_of(process, &task->frames.at[i]);

		print_frame(out, &frame, color);
	}
	free(detail);
}

static void print_tasks(FILE *out, const struct stack_process *process, bool color)
{
	const struct runtime_tasks *tasks = &process->tasks;
	size_t i;

	if (!process->has_tasks)
		return;
	if (!tasks->known && !tasks->list.count)
		fputs("\ntasks: not read\n", out);
	else
		fprintf(out, "\ntasks: %zu%s\n", tasks->list.count, tasks->known ? "" : ", not all could be found");
	for (i = 0; i < tasks->limits.count; i++)
		fprintf(out, "    %s[%s]%s\n", color ? colors[FRAME_MARK] : "", tasks->limits.at[i],
			color ? PLAIN : "");
	for (i = 0; i < tasks->list.count; i++)
		print_task(out, process, &tasks->list.at[i], color);
}

void stack_write_text(FILE *out, const struct stack_process *process, bool color)
{
	size_t i;

	fprintf(out, "process %d ", process->pid);
	print_text(out, process->comm);
	fprintf(out, ": %zu thread%s", process->count, process->count == 1 ? "" : "s");
	if (process->runtime.name)
		fprintf(out, ", %s %d.%d%s", process->runtime.language, process->runtime.version >> 8,
			process->runtime.version & 0xff,
			process->runtime.has_lock ? "" : ", free-threaded: there is no GIL");
	if (process->frozen)
		fprintf(out, ", all at one moment, frozen for %.1f ms", process->frozen_ms);
	fputc('\n', out);
	for (i = 0; i < process->count; i++)
		print_thread(out, &process->threads[i], color);
	print_tasks(out, process, color);
}

static void json_string(FILE *out, const char *key, const char *text)
{
	fprintf(out, "\"%s\": \"", key);
	text_print_json(out, text, strlen(text));
	fputc('"', out);
}

static void json_locals(FILE *out, const struct runtime_locals *locals)
{
	size_t i;

	fputs(", \"locals\": ", out);
	if (!locals->known && !locals->list.count) {
		fputs("null", out);
		return;
	}
	for (i = 0; i < locals->list.count; i++) {
		fputs(i ? ", {" : "[{", out);
		json_string(out, "name", locals->list.at[i].name);
		fputs(", ", out);
		json_string(out, "value", locals->list.at[i].value);
		fputc('}', out);
	}
	fputs(locals->list.count ? "]" : "[]", out);
}

/* `locals`: NULL, they were not asked for. */
static void json_frame(FILE *out, const struct frame *frame, const struct runtime_locals *locals)
{
	const char *const kinds[FRAME_LAYER_COUNT] = {[FRAME_KERNEL] = "kernel",
						      [FRAME_NATIVE] = "native",
						      [FRAME_RUNTIME] = frame->runtime,
						      [FRAME_MARK] = "mark"};
	bool is_runtime = frame->layer == FRAME_RUNTIME;

	fputc('{', out);
	json_string(out, "kind", kinds[frame->layer]);
	fputs(", ", out);
	json_string(out, "name", frame->name);
	fputs(", ", out);
	json_string(out, is_runtime ? "file" : "module", frame->layer == FRAME_KERNEL ? "kernel" : frame->file);
	if (is_runtime && frame->line > 0)
		fprintf(out, ", \"line\": %d", frame->line);
	else
		fputs(", \"line\": null", out);
	if (is_runtime && locals)
		json_locals(out, locals);
	fputc('}', out);
}

static void json_thread(FILE *out, const struct stack_thread *thread)
{
	uint32_t i;

	fprintf(out, "{\"tid\": %d, ", thread->tid);
	json_string(out, "name", thread->name);
	fputs(", ", out);
	json_string(out, "state", stack_state_name(thread->state));
	fputs(", \"waiting\": ", out);
	if (thread->waits_for) {
		fputc('{', out);
		json_string(out, "kind", thread->waits_for);
		fputs(", ", out);
		json_string(out, "detail", thread->detail ? thread->detail : "");
		fputc('}', out);
	} else {
		fputs("null", out);
	}
	fprintf(out, ", \"gil\": %s, \"consistent\": %s, \"frames\": [", thread->gil ? "true" : "false",
		thread->consistent ? "true" : "false");
	for (i = 0; i < thread->depth; i++) {
		fputs(i ? ", " : "", out);
		json_frame(out, thread->frames[i], thread->locals ? &thread->locals[i] : NULL);
	}
	fputs("]}", out);
}

static void json_id(FILE *out, uint64_t id)
{
	fprintf(out, "\"%#llx\"", (unsigned long long)id);
}

static void json_task(FILE *out, const struct stack_process *process, const struct runtime_task *task)
{
	char *detail = detail_of(process, task);
	size_t i;

	fputs("{\"id\": ", out);
	json_id(out, task->id);
	fputs(", ", out);
	if (task->name)
		json_string(out, "name", task->name);
	else
		fputs("\"name\": null", out);
	fputs(", ", out);
	json_string(out, "state", task_states[task->state]);
	if (task->thread)
		fprintf(out, ", \"tid\": %d", stack_thread_of(process, task->thread));
	else
		fputs(", \"tid\": null", out);
	fputs(", \"waiting\": ", out);
	if (task->waits_for) {
		fputc('{', out);
		json_string(out, "kind", task->waits_for);
		fputs(", ", out);
		json_string(out, "detail", detail ?: "");
		fputs(", \"task\": ", out);
		if (task->awaits)
			json_id(out, task->awaits);
		else
			fputs("null", out);
		fputc('}', out);
	} else {
		fputs("null", out);
	}
	fputs(", \"awaited_by\": [", out);
	for (i = 0; i < task->awaited_by.count; i++) {
		fputs(i ? ", " : "", out);
		json_id(out, task->awaited_by.at[i]);
	}
	fprintf(out, "], \"consistent\": %s, \"frames\": [", task->consistent ? "true" : "false");
	for (i = 0; i < task->frames.count; i++) {
		const struct frame frame = frame_of(process, &task->frames.at[i]);

		fputs(i ? ", " : "", out);
		json_frame(out, &frame, NULL);
	}
	fputs("]}", out);
	free(detail);
}

static void json_tasks(FILE *out, const struct stack_process *process)
{
	const struct runtime_tasks *tasks = &process->tasks;
	size_t i;

	fputs(", \"tasks\": [", out);
	for (i = 0; i < tasks->list.count; i++) {
		fputs(i ? ", " : "", out);
		json_task(out, process, &tasks->list.at[i]);
	}
	fputc(']', out);
	if (!process->has_tasks)
		return;
	fprintf(out, ", \"tasks_known\": %s, \"tasks_limits\": [", tasks->known ? "true" : "false");
	for (i = 0; i < tasks->limits.count; i++) {
		fputs(i ? ", \"" : "\"", out);
		text_print_json(out, tasks->limits.at[i], strlen(tasks->limits.at[i]));
		fputc('"', out);
	}
	fputc(']', out);
}

void stack_write_json(FILE *out, const struct stack_process *process)
{
	size_t i;

	fprintf(out, "{\"pid\": %d, ", process->pid);
	json_string(out, "comm", process->comm);
	if (process->runtime.name)
		fprintf(out, ", \"%s\": \"%d.%d\", \"free_threaded\": %s", process->runtime.name,
			process->runtime.version >> 8, process->runtime.version & 0xff,
			process->runtime.has_lock ? "false" : "true");
	if (process->frozen)
		fprintf(out, ", \"frozen_ms\": %.3f", process->frozen_ms);
	fputs(", \"threads\": [", out);
	for (i = 0; i < process->count; i++) {
		fputs(i ? ", " : "", out);
		json_thread(out, &process->threads[i]);
	}
	fputc(']', out);
	json_tasks(out, process);
	fputs("}\n", out);
}
