// SPDX-License-Identifier: GPL-2.0-or-later
/* The toy, as strata sees it: a runtime with a second stack, recognised by its symbols. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/toy/abi.h"

static int recognise(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag)
{
	uint64_t threads, size;

	(void)cache, (void)diag;
	if (!elf_file_find_dynamic_symbol(elf, "toy_threads", &threads, &size))
		return 0;
	ret->state = threads;
	ret->version = TOY_VERSION;
	ret->has_lock = true;
	return 1;
}

static int roles(const struct runtime_file *file, const struct elf_file *elf, struct cache *cache,
		 struct runtime_range **ret, size_t *count, struct diag *diag)
{
	uint64_t loop, size;

	(void)file, (void)cache;
	if (!elf_file_find_dynamic_symbol(elf, "toy_run", &loop, &size))
		return diag_fail(diag, ENOENT, "toy.loop", "there is no toy_run");
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	**ret = (struct runtime_range){.start = loop, .end = loop + size, .role = ROLE_LOOP};
	*count = 1;
	return 0;
}

static void attach(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		   struct runtime_process *ret)
{
	(void)aid;
	((struct toy_process *)ret)->threads = file->state + bias;
}

static char *copy(const struct code_event *event, const struct code_string *string)
{
	return string->kind ? strndup((const char *)event->text + string->at, string->bytes) : NULL;
}

static void decode(const struct code_event *event, char **name, char **file, bool *hidden)
{
	*name = copy(event, &event->name);
	*file = copy(event, &event->filename);
	*hidden = false;
}

static int line(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int position)
{
	(void)version, (void)table, (void)size;
	return firstlineno + position;
}

const struct runtime runtime_toy = {.name = "toy",
				    .language = "Toy",
				    .recognise = recognise,
				    .forget = free,
				    .roles = roles,
				    .attach = attach,
				    .decode = decode,
				    .line = line};
