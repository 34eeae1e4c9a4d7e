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
	struct table by_name; /* hash of the name → index of the first + 1 */
};

/* NUL-terminated; NULL when it cannot be read. These files tell no size. */
static char *read_text(const char *path)
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
	return text;
}

/* Not 0, which a table cannot have for a key. */
static uint64_t hash(const char *name, const char *module)
{
	uint64_t value = XXH3_64bits_withSeed(name, strlen(name), XXH3_64bits(module, strlen(module)));

	return value ? value : 1;
}

/* Cuts "NAME[MODULE]", with a blank before the bracket, in two. */
static const char *cut_module(char *name)
{
	char *bracket = strchr(name, '['), *end;

	name[strcspn(name, " \t[")] = '\0';
	if (!bracket)
		return "vmlinux";
	bracket++;
	end = strchr(bracket, ']');
	if (end)
		*end = '\0';
	return bracket;
}

/* An address that no function has: the table has addresses, not names. */
#define HAS_ADDRESSES 1
#define ENDBR_BYTES   4

static bool is_traceable(const struct table *traceable, const struct kernel_function *function)
{
	if (!table_get(traceable, HAS_ADDRESSES, NULL))
		return table_get(traceable, hash(function->name, function->module), NULL);
	return function->address && (table_get(traceable, function->address, NULL) ||
				     table_get(traceable, function->address + ENDBR_BYTES, NULL));
}

static int read_traceable(const char *path, struct table *ret)
{
	char *text = path ? read_text(path) : NULL, *rest = text, *line;
	int err = 0;

	while (!err && (line = strsep(&rest, "\n"))) {
		char *name = line;
		uint64_t address = strtoull(line, &name, 16);
		bool has_address = name == line + 16 && *name == ' ';
		const char *module;

		name = has_address ? name + 1 : line;
		module = cut_module(name);
		if (*name)
			err = table_set(ret, has_address ? address : hash(name, module), 1);
		if (*name && has_address && !err)
			err = table_set(ret, HAS_ADDRESSES, 1);
	}
	free(text);
	return err;
}

static int add_line(struct kernel_functions *functions, const struct table *traceable, char *line)
{
	struct kernel_function function = {};
	char *end;

	function.address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !strchr("tTwW", end[1]) || !end[1] || end[2] != ' ' || !end[3])
		return 0;
	function.name = end + 3;
	function.module = cut_module(end + 3);
	function.is_traceable = is_traceable(traceable, &function);
	if (vec_push(&functions->all, function))
		return -ENOMEM;
	if (table_get(&functions->by_name, hash(function.name, ""), NULL))
		return 0;
	return table_set(&functions->by_name, hash(function.name, ""), functions->all.count);
}

int kernel_functions_create(const char *symbols, const char *traceable, struct kernel_functions **ret,
			    struct diag *diag)
{
	struct kernel_functions *functions = calloc(1, sizeof(*functions));
	struct table names = {};
	bool has_address = false;
	char *rest, *line;
	int err = 0;
	size_t i;

	if (!functions)
		return diag_fail(diag, ENOMEM, "functions.memory", "out of memory");
	functions->text = rest = read_text(symbols);
	if (!rest)
		err = diag_fail(diag, ENOENT, "functions.read", "%s cannot be read: %s", symbols, strerror(errno));
	else if (read_traceable(traceable, &names))
		err = diag_fail(diag, ENOMEM, "functions.memory", "out of memory");
	while (!err && (line = strsep(&rest, "\n")))
		if (add_line(functions, &names, line))
			err = diag_fail(diag, ENOMEM, "functions.memory", "out of memory");
	table_deinit(&names);
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
	free(functions->text);
	free(functions);
}

const struct kernel_function *kernel_functions_at(const struct kernel_functions *functions, uint32_t index)
{
	return index < functions->all.count ? &functions->all.at[index] : NULL;
}

const struct kernel_function *kernel_functions_find(const struct kernel_functions *functions, const char *name)
{
	uint64_t found;

	return table_get(&functions->by_name, hash(name, ""), &found)
		       ? kernel_functions_at(functions, (uint32_t)found - 1)
		       : NULL;
}
