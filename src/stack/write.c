// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "profile/text.h"
#include "stack/stack.h"

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
	fputs("], \"tasks\": []}\n", out);
}
