// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of /proc/kallsyms (kernel/kallsyms.c, s_show()): "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]"; of
 * available_filter_functions (kernel/trace/ftrace.c, t_show()): "NAME" or "NAME [MODULE]"; of
 * available_filter_functions_addrs: the same behind "ADDRESS ", that of the call of ftrace's, which is the function's
 * first instruction or comes behind an endbr64. A name that several functions have stands there once for each that can
 * be traced. Without its address it is taken for all of them, and attaching tells: a kprobe_multi link is refused as a
 * whole if ftrace does not know one of its functions.
 */
#include "lang/kernel/kernel_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/table.h"
#include "base/vec.h"

#define FILE_MAX (1u << 28)

struct kernel_functions {
	char *text; /* of kallsyms; names point into it */
	VEC(struct kernel_function) all;
	struct table by_name; /* hash of the name → index of the first; empty until somebody asks */
	char *traceable_path; /* NULL: there is none, or it was read */
	struct table traceable;
};

/* NUL-terminated, with its size; NULL when it cannot be read. These files tell no size. */
static char *read_text(const char *path, size_t *ret)
{
	size_t room = 1u << 22, used = 0;
	char *text = malloc(room), *more;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	while (fd >= 0 && text && (got = read(fd, text + used, room - used - 1)) > 0) {
		used += (size_t)got;
		if (room - used > 1)
			continue;
		room *= 2;
		more = room > FILE_MAX ? NULL : realloc(text, room);
		if (!more)
			break;
		text = more;
	}
	if (fd >= 0)
		close(fd);
	if (got) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	*ret = used;
	return text;
}

/* Not 0, which a table cannot have for a key. */
static uint64_t hash(const char *name, const char *module)
{
	uint64_t value = XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(module, strlen(module)));

	return value ? value : 1;
}

/* Where a line ends, which is cut there; behind it the next one begins. NULL: there are no more. */
static char *cut_line(char *line, const char *text_end)
{
	char *end;

	if (line >= text_end)
		return NULL;
	end = memchr(line, '\n', (size_t)(text_end - line));
	if (!end)
		end = line + strlen(line);
	*end = '\0';
	return end;
}

/* Cuts "NAME[MODULE]", with a blank before the bracket, in two. */
static const char *cut_module(char *name, char *end)
{
	char *bracket = memchr(name, '[', (size_t)(end - name)), *name_end = bracket ? bracket : end;

	while (name_end > name && (name_end[-1] == ' ' || name_end[-1] == '\t'))
		name_end--;
	*name_end = '\0';
	if (!bracket)
		return "vmlinux";
	if (end[-1] == ']')
		end[-1] = '\0';
	return bracket + 1;
}

/* An address that no function has: the table has addresses, not names. */
#define HAS_ADDRESSES 1
#define ENDBR_BYTES   4

static int read_traceable(const char *path, struct table *ret)
{
	size_t size;
	char *text = read_text(path, &size), *line, *end;
	int err = 0;

	for (line = text; !err && text && (end = cut_line(line, text + size)); line = end + 1) {
		char *name = line;
		uint64_t address = strtoull(line, &name, 16);
		bool has_address = name == line + 16 && *name == ' ';
		const char *module;

		name = has_address ? name + 1 : line;
		module = cut_module(name, end);
		if (*name)
			err = table_set(ret, has_address ? address : hash(name, module), 1);
		if (*name && has_address && !err)
			err = table_set(ret, HAS_ADDRESSES, 1);
	}
	free(text);
	return err;
}

/* "ADDRESS T NAME": where the name begins. */
#define TYPE_AT 17
#define NAME_AT 19

static int add_line(struct kernel_functions *functions, char *line, char *end)
{
	struct kernel_function function = {.name = line + NAME_AT};
	char *address_end;

	if (end - line <= NAME_AT || line[TYPE_AT - 1] != ' ' || !strchr("tTwW", line[TYPE_AT]) ||
	    line[NAME_AT - 1] != ' ')
		return 0;
	function.address = strtoull(line, &address_end, 16);
	if (address_end != line + TYPE_AT - 1)
		return 0;
	function.module = cut_module(line + NAME_AT, end);
	return vec_push(&functions->all, function) ? -ENOMEM : 0;
}

int kernel_functions_create(const char *symbols, const char *traceable, struct kernel_functions **ret,
			    struct diag *diag)
{
	struct kernel_functions *functions = calloc(1, sizeof(*functions));
	bool has_address = false;
	char *line, *end;
	size_t size, i;
	int err = 0;

	if (functions && traceable)
		functions->traceable_path = strdup(traceable);
	if (!functions || (traceable && !functions->traceable_path)) {
		kernel_functions_destroy(functions);
		return diag_fail(diag, ENOMEM, "functions.memory", "out of memory");
	}
	functions->text = read_text(symbols, &size);
	if (!functions->text)
		err = diag_fail(diag, ENOENT, "functions.read", "%s cannot be read: %s", symbols, strerror(errno));
	for (line = functions->text; !err && (end = cut_line(line, functions->text + size)); line = end + 1)
		if (add_line(functions, line, end))
			err = diag_fail(diag, ENOMEM, "functions.memory", "out of memory");
	for (i = 0; i < functions->all.count && !has_address; i++)
		has_address = functions->all.at[i].address;
	if (!err && !has_address)
		err = diag_fail(
			diag, EACCES, "functions.hidden",
			"%s hides the kernel's addresses; run as root, with sysctl kernel.kptr_restrict at 0 or 1",
			symbols);
	if (err)
		kernel_functions_destroy(functions);
	else
		*ret = functions;
	return err;
}

void kernel_functions_destroy(struct kernel_functions *functions)
{
	if (!functions)
		return;
	vec_free(&functions->all);
	table_deinit(&functions->by_name);
	table_deinit(&functions->traceable);
	free(functions->traceable_path);
	free(functions->text);
	free(functions);
}

const struct kernel_function *kernel_functions_at(const struct kernel_functions *functions, uint32_t index)
{
	return index < functions->all.count ? &functions->all.at[index] : NULL;
}

const struct kernel_function *kernel_functions_find(const struct kernel_functions *functions, const char *name)
{
	size_t i;

	for (i = 0; i < functions->all.count; i++)
		if (!strcmp(functions->all.at[i].name, name))
			return &functions->all.at[i];
	return NULL;
}

static int index_names(struct kernel_functions *functions)
{
	int err = 0;
	size_t i;

	for (i = functions->all.count; i-- > 0 && !err;) /* the first of a name comes last */
		err = table_set(&functions->by_name, hash(functions->all.at[i].name, ""), i);
	if (err)
		table_deinit(&functions->by_name);
	return err;
}

bool kernel_functions_is_first(struct kernel_functions *functions, const struct kernel_function *function)
{
	uint64_t first;

	if (!functions->by_name.count && index_names(functions))
		return kernel_functions_find(functions, function->name) == function;
	return table_get(&functions->by_name, hash(function->name, ""), &first) &&
	       kernel_functions_at(functions, (uint32_t)first) == function;
}

bool kernel_functions_is_traceable(struct kernel_functions *functions, const struct kernel_function *function)
{
	const struct table *traceable = &functions->traceable;

	if (functions->traceable_path) {
		/* Part of a list would be worse than none. */
		if (read_traceable(functions->traceable_path, &functions->traceable))
			table_deinit(&functions->traceable);
		free(functions->traceable_path);
		functions->traceable_path = NULL;
	}
	if (!table_get(traceable, HAS_ADDRESSES, NULL))
		return table_get(traceable, hash(function->name, function->module), NULL);
	return function->address && (table_get(traceable, function->address, NULL) ||
				     table_get(traceable, function->address + ENDBR_BYTES, NULL));
}
