// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks and symbols in SystemTap's spellings (runtime/sym.c, _stp_snprint_addr()):
 *
 *   print_ubacktrace()        0x7f3e746e2fc0 : malloc+0x10/0x70 [/usr/lib/x86_64-linux-gnu/libc.so.6]
 *   sprint_ubacktrace()       malloc+0x10 [libc.so.6]
 *   print_ubacktrace_brief()  malloc+0x10
 *   usymname(), usymdata()    malloc    malloc+0x10/0x70 [/usr/lib/x86_64-linux-gnu/libc.so.6]
 *
 * Sizes of the kernel's functions are not known, and left out. Frames of Python, and native ones among them, are as in
 * all of strata's stacks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lang/dialect/stap/functions.h"

/* NAME+OFFSET/SIZE, of which the numbers may be missing, is cut into its parts. */
struct symbol_parts {
	char *name;
	uint64_t offset, size; /* size 0: not known */
};

static struct symbol_parts split(char *text)
{
	struct symbol_parts ret = {.name = text};
	char *plus = strrchr(text, '+'), *end;

	if (!plus || !plus[1])
		return ret;
	ret.offset = strtoull(plus + 1, &end, 10);
	if (*end == '/')
		ret.size = strtoull(end + 1, &end, 10);
	if (*end)
		return (struct symbol_parts){.name = text}; /* an operator of C++ */
	*plus = '\0';
	return ret;
}

static void put_symbol(FILE *out, const struct symbol_parts *symbol, bool with_size)
{
	fprintf(out, "%s+0x%" PRIx64, symbol->name, symbol->offset);
	if (with_size && symbol->size)
		fprintf(out, "/0x%" PRIx64, symbol->size);
}

/* A tab, then: ADDRESS SYMBOL+OFFSET/SIZE (PATH); frames of the kernel have no path. Other lines have no address. */
static void put_frame(FILE *out, char *line, bool is_kernel, enum stap_stack_form form)
{
	char *name = NULL, *path, *file = is_kernel ? "kernel" : NULL;
	struct symbol_parts symbol;
	uint64_t address;
	size_t length;

	if (*line != '\t') {
		fprintf(out, "%s%s\n", form == STAP_STACK_FULL ? " " : "", line + strspn(line, " "));
		return;
	}
	address = strtoull(line + 1, &name, 16);
	name += *name == ' ';
	path = is_kernel ? NULL : strstr(name, " (");
	length = path ? strlen(path) : 0;
	if (path && path[length - 1] == ')') {
		path[length - 1] = *path = '\0';
		file = path + 2;
	}
	if (file && form == STAP_STACK_SIMPLE)
		file = (char *)path_basename(file);
	if (!strncmp(name, "0x", 2) || *name == '[') {
		fprintf(out, "%s0x%" PRIx64, form == STAP_STACK_FULL ? " " : "", address);
	} else {
		symbol = split(name);
		if (form == STAP_STACK_FULL)
			fprintf(out, " 0x%" PRIx64 " : ", address);
		put_symbol(out, &symbol, form == STAP_STACK_FULL);
	}
	if (file && *file && form != STAP_STACK_BRIEF)
		fprintf(out, " [%s]", file);
	fputc('\n', out);
}

const char *stap_stack_text(struct stap_run *run, enum stap_need need, enum stap_stack_form form)
{
	const struct type_field *field = stap_slot_field(run, run->layout->needs[need]);
	char *text = NULL, *ours = NULL, *line, *save = NULL, *copy;
	size_t text_size = 0, size = 0;
	FILE *memory;

	if (!field || field->type->kind != TYPE_STACK)
		return "";
	memory = open_memstream(&text, &text_size);
	if (!memory)
		return "";
	run->p->words->stack(run->p->names, memory, field->type, (const void *)(run->bytes + field->offset), false);
	fclose(memory);
	memory = open_memstream(&ours, &size);
	for (line = memory ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		put_frame(memory, line, need == NEED_KSTACK, form);
	if (memory)
		fclose(memory);
	/* Whole, whatever MAXSTRINGLEN says: a stack that is cut is not the stack. */
	copy = stap_room(run, size + 1);
	if (copy) {
		memcpy(copy, ours ? ours : "", size);
		copy[size] = '\0';
	}
	free(ours);
	free(text);
	return copy ? copy : "";
}

/* The file that an address lies in, if that is known: the process may have ended. */
static void put_file(const struct stap_run *run, FILE *out, uint64_t address, bool is_user, uint64_t pid)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = is_user ? open_memstream(&text, &size) : NULL;

	if (memory) {
		run->p->words->user_file(run->p->names, memory, address, pid);
		fclose(memory);
	}
	if (!is_user || size)
		fprintf(out, " [%s]", is_user ? text : "kernel");
	free(text);
}

TEXT_FUNCTION(stap_symbol_name)
{
	uint64_t address = (uint64_t)arguments[0].number, pid = 0;
	bool is_user = *call->text == 'u', is_data = strstr(call->text, "data");
	const struct print_names *words = run->p->words;
	char *text = NULL, *ours = NULL;
	size_t text_size = 0, size = 0;
	struct symbol_parts symbol;
	FILE *memory = open_memstream(&text, &text_size);

	if (!memory)
		return;
	if (is_user) {
		pid = (uint64_t)stap_need_number(run, NEED_PID);
		words->user_symbol(run->p->names, memory, address, pid,
				   is_data ? SYMBOL_WITH_SIZE : SYMBOL_WITH_OFFSET);
	} else {
		words->kernel_symbol(run->p->names, memory, address, SYMBOL_WITH_OFFSET);
	}
	fclose(memory);
	memory = open_memstream(&ours, &size);
	if (memory && (!strncmp(text, "0x", 2) || !*text)) {
		fprintf(memory, "0x%" PRIx64, address);
	} else if (memory) {
		symbol = split(text);
		if (is_data)
			put_symbol(memory, &symbol, true);
		else
			fputs(symbol.name, memory);
	}
	if (memory && is_data)
		put_file(run, memory, address, is_user, pid);
	if (memory)
		fclose(memory);
	ret->text = stap_text(run, ours ? ours : "", size);
	free(ours);
	free(text);
}
