// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/resolver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbol/demangle.h"

static int open_all(struct resolver *resolver)
{
	struct object *object = resolver->object;
	char root[OBJECT_ROOT_MAX];
	struct elf_file *elf;
	int err = object_open(object, &elf);

	if (err)
		return err == -ENOMEM ? err : 0;
	object_debug_root(object, root);
	err = elf_symbols_create(elf, root, &resolver->symbols, NULL);
	if (err)
		resolver->symbols = NULL;
	elf_file_close(elf);
	return err == -ENOMEM ? err : 0;
}

static int open_map(struct resolver *resolver, struct namer *namer, uint64_t *addresses, size_t count)
{
	int err = namer_map_names(namer, resolver->object, resolver->map, addresses, count, &resolver->names);

	resolver->is_asked = err != -ENOSYS;
	return err == -ENOMEM ? err : 0;
}

int resolver_open(struct resolver *ret, struct namer *namer, struct object *object, struct perf_map *map,
		  uint64_t *vaddrs, size_t count)
{
	*ret = (struct resolver){.object = object, .map = map, .unknown = vaddrs != NULL};
	if (object->file->kind == FILE_ANONYMOUS)
		return map && vaddrs ? open_map(ret, namer, vaddrs, count) : 0;
	return vaddrs ? namer_names(namer, object, vaddrs, count, &ret->names) : open_all(ret);
}

int resolver_open_lines(struct resolver *resolver, struct namer *namer, uint64_t *vaddrs, size_t count)
{
	if (resolver->object->file->kind == FILE_ANONYMOUS)
		return 0;
	return namer_lines(namer, resolver->object, vaddrs, count, &resolver->lines);
}

size_t resolver_lines(const struct resolver *resolver, uint64_t vaddr, bool is_return,
		      struct source_frame ret[SOURCE_FRAMES_MAX])
{
	return file_lines_find(&resolver->lines, vaddr - is_return, ret);
}

void resolver_close(struct resolver *resolver)
{
	file_names_deinit(&resolver->names);
	file_lines_deinit(&resolver->lines);
	function_starts_destroy(resolver->starts);
	elf_symbols_destroy(resolver->symbols);
	resolver->starts = NULL;
	resolver->symbols = NULL;
}

static int open_starts(struct resolver *resolver)
{
	struct elf_file *elf;
	int err = object_open(resolver->object, &elf);

	return err ? err : function_starts_create(elf, &resolver->starts);
}

/* Where the function of an address without a symbol begins; the address itself where that cannot be told. */
static int start_of(struct resolver *resolver, uint64_t vaddr, bool is_return, uint64_t *ret)
{
	int err = -ENOENT;

	if (!resolver->starts && !resolver->unknown) {
		err = open_starts(resolver);
		resolver->err = err == -ENOMEM ? err : 0;
		resolver->unknown = !resolver->starts;
	}
	if (resolver->starts)
		err = function_starts_find(resolver->starts, vaddr - is_return, ret);
	if (err)
		*ret = vaddr;
	return err == -ENOMEM ? err : resolver->err;
}

/* Code without a file: the process's perf map, if it wrote one, or what it publishes by GDB's JIT interface. */
static void name_generated(const struct resolver *resolver, uint64_t address, bool is_return, struct resolved *ret)
{
	const char *name = NULL;
	struct file_name found;

	if (resolver->is_asked)
		name = file_names_find(&resolver->names, address - is_return, &found) ? found.shown : NULL;
	else if (resolver->map)
		name = perf_map_lookup(resolver->map, address - is_return);

	ret->name = name;
	snprintf(ret->map, sizeof(ret->map), name && !perf_map_is_file(resolver->map) ? "jit-%d" : "perf-%d.map",
		 resolver->object->file->pid);
	ret->file = ret->map;
	if (name)
		return;
	snprintf(ret->text, sizeof(ret->text), "[unknown 0x%" PRIx64 "]", address);
	ret->layer = FRAME_MARK;
	ret->name = ret->text;
	ret->file = "";
}

/* NULL: by the start of its function. */
static void set_name(struct resolved *ret, const char *name)
{
	ret->name = name;
	if (name)
		return;
	snprintf(ret->text, sizeof(ret->text), "0x%" PRIx64, ret->start);
	ret->name = ret->text;
}

int resolver_name(struct resolver *resolver, uint64_t vaddr, bool is_return, struct resolved *ret)
{
	struct elf_symbol symbol;
	struct file_name name;
	bool has_symbol;
	int err = 0;

	*ret = (struct resolved){.layer = FRAME_NATIVE, .start = vaddr};
	if (resolver->object->file->kind == FILE_ANONYMOUS) {
		name_generated(resolver, vaddr, is_return, ret);
		return 0;
	}
	ret->file = path_basename(resolver->object->file->path);
	if (file_names_find(&resolver->names, vaddr - is_return, &name)) {
		ret->start = name.start;
		ret->has_symbol = name.shown;
		set_name(ret, name.shown);
		return 0;
	}
	has_symbol = resolver->symbols && elf_symbols_lookup(resolver->symbols, vaddr - is_return, &symbol);
	if (!has_symbol || symbol.guessed)
		err = start_of(resolver, vaddr, is_return, &ret->start);
	/* One that has no size ends where another function begins, or nothing shows that it goes on (file_names.c). */
	if (has_symbol && symbol.guessed && vaddr - is_return != symbol.vaddr && ret->start > symbol.vaddr)
		has_symbol = false;
	if (has_symbol && !err) {
		ret->owned = demangle(symbol.name);
		ret->name = ret->owned ? ret->owned : symbol.name;
		ret->start = symbol.vaddr;
		ret->size = symbol.size;
		ret->has_symbol = true;
		return 0;
	}
	set_name(ret, NULL);
	return err;
}

void resolved_release(struct resolved *resolved)
{
	free(resolved->owned);
	resolved->owned = NULL;
}

enum runtime_role resolver_role(const struct resolver *resolver, uint64_t vaddr, bool is_return)
{
	const struct object *object = resolver->object;
	uint64_t at = vaddr - is_return;
	struct elf_symbol symbol;
	struct file_name name;
	size_t i;

	for (i = 0; i < object->role_count; i++)
		if (at >= object->roles[i].start && at < object->roles[i].end)
			return object->roles[i].role;
	if (file_names_find(&resolver->names, at, &name))
		return name.symbol ? runtime_function_role(path_basename(object->file->path), name.symbol)
				   : ROLE_NATIVE;
	if (!resolver->symbols || !elf_symbols_lookup(resolver->symbols, at, &symbol))
		return ROLE_NATIVE;
	return runtime_function_role(path_basename(object->file->path), symbol.name);
}
