// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BUILD-ID.sites: digest u64, table u64, entry u64, handlers u32, jit u8; four lists of sites, of the functions,
 * the exceptions, those that tell of the JIT, and the lines: the number of them u32, and each as code_site() has it;
 * the site of what frees code objects; no_lines u8.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/python/cache_parts.h"

#define LISTS     4
#define SITES_MAX 65536 /* of a list */

/* A site's fields, one behind the other. Either they are appended to `to`, or read from `from`. */
struct coder {
	bytes_t *to;
	struct cursor *from;
	bool failed;
};

static void code(struct coder *coder, void *field, size_t size)
{
	const uint8_t *bytes;

	if (coder->to) {
		coder->failed |= python_cache_append(coder->to, field, size) != 0;
		return;
	}
	bytes = cursor_take(coder->from, size);
	if (bytes)
		memcpy(field, bytes, size);
	else
		coder->failed = true;
}

static void code_bool(struct coder *coder, bool *field)
{
	uint8_t value = *field;

	code(coder, &value, sizeof(value));
	coder->failed |= value > 1;
	*field = value == 1;
}

static void code_place(struct coder *coder, struct python_place *place)
{
	code(coder, &place->kind, sizeof(place->kind));
	code(coder, &place->reg, sizeof(place->reg));
	code(coder, &place->add, sizeof(place->add));
	coder->failed |= place->kind > PYTHON_ON_STACK;
}

static void code_site(struct coder *coder, struct python_site *site)
{
	code(coder, &site->vaddr, sizeof(site->vaddr));
	code(coder, &site->handler, sizeof(site->handler));
	code(coder, &site->kind, sizeof(site->kind));
	code_bool(coder, &site->emulated);
	code(coder, &site->opcode_count, sizeof(site->opcode_count));
	code(coder, site->opcodes, sizeof(site->opcodes));
	code_place(coder, &site->frame);
	code_place(coder, &site->instruction);
	code_place(coder, &site->tstate);
	code_place(coder, &site->flag);
	code_bool(coder, &site->again);
	code(coder, &site->interp_offset, sizeof(site->interp_offset));
	code(coder, &site->version_offset, sizeof(site->version_offset));
	code(coder, &site->code_offset, sizeof(site->code_offset));
	code(coder, &site->version_low, sizeof(site->version_low));
	code(coder, &site->tracing_offset, sizeof(site->tracing_offset));
	code(coder, &site->copy_offset, sizeof(site->copy_offset));
	code(coder, &site->recursion_offset, sizeof(site->recursion_offset));
	code_bool(coder, &site->after);
	code_bool(coder, &site->is_compared);
	coder->failed |= site->kind > PYTHON_SITE_LAST || site->opcode_count > PYTHON_SITE_OPCODES;
}

/* What is in both directions the same. The lists are appended to when they are read. */
static void code_sites(struct coder *coder, struct python_sites *sites)
{
	python_site_list *lists[LISTS] = {&sites->at, &sites->raises, &sites->jits, &sites->lines};
	size_t i, j;

	code(coder, &sites->table, sizeof(sites->table));
	code(coder, &sites->entry, sizeof(sites->entry));
	code(coder, &sites->handlers, sizeof(sites->handlers));
	code_bool(coder, &sites->jit);
	for (i = 0; i < LISTS && !coder->failed; i++) {
		uint32_t count = (uint32_t)lists[i]->count;

		code(coder, &count, sizeof(count));
		coder->failed |= count > SITES_MAX;
		for (j = 0; j < count && !coder->failed; j++) {
			struct python_site site = {};

			if (coder->to)
				site = lists[i]->at[j];
			code_site(coder, &site);
			if (!coder->to && !coder->failed)
				coder->failed = vec_push(lists[i], site);
		}
	}
	code_site(coder, &sites->frees);
	code(coder, &sites->no_lines, sizeof(sites->no_lines));
	coder->failed |= sites->no_lines > PYTHON_LINES_OF_BUILD;
}

bool python_cache_decode_sites(const void *bytes, size_t size, uint64_t *digest, struct python_sites *ret)
{
	struct cursor c = cursor_init(bytes, size);
	struct coder coder = {.from = &c};

	*ret = (struct python_sites){};
	*digest = cursor_u64(&c);
	code_sites(&coder, ret);
	if (!coder.failed && cursor_ok(&c) && cursor_at_end(&c) && ret->at.count)
		return true;
	python_sites_deinit(ret);
	*ret = (struct python_sites){};
	return false;
}

static bool look_up(struct python_cache *cache, const struct entry *entry, struct python_sites *ret)
{
	const uint8_t *bytes;
	uint64_t digest;
	size_t size;

	if (!cache_get(cache->cache, entry->name, &bytes, &size) ||
	    !python_cache_decode_sites(bytes, size, &digest, ret))
		return false;
	if (digest == entry->digest)
		return true;
	python_sites_deinit(ret);
	return false;
}

/* What cannot be kept is found again the next time. */
static void keep(struct python_cache *cache, struct entry *entry, struct python_sites *sites)
{
	bytes_t bytes = {};
	struct coder coder = {.to = &bytes};

	code(&coder, &entry->digest, sizeof(entry->digest));
	code_sites(&coder, sites);
	if (!coder.failed)
		cache_put(cache->cache, entry->name, bytes.at, bytes.count);
	vec_free(&bytes);
}

static int find(struct python_cache *cache, const struct elf_file *elf, const struct python_interpreter *interpreter,
		struct python_sites *ret, struct diag *diag)
{
	struct python_range *ranges = NULL;
	size_t count = 0;
	int err = python_cache_eval_ranges(cache, elf, interpreter, &ranges, &count, NULL, diag);

	if (!err)
		err = python_sites_find(elf, interpreter, ranges, count, ret, diag);
	free(ranges);
	return err;
}

int python_cache_sites(struct python_cache *cache, const struct elf_file *elf,
		       const struct python_interpreter *interpreter, struct python_sites *ret, bool *cached,
		       struct diag *diag)
{
	bool found = false;
	struct entry entry;
	int err = 0;

	if (!python_cache_entry(cache, elf, interpreter, ".sites", &entry))
		cache = NULL;
	if (cache)
		found = look_up(cache, &entry, ret);
	if (!found && python_cache_asks(cache, &entry))
		return diag_fail(diag, EINPROGRESS, "python.asked", "%s: its probes are not known", elf_file_path(elf));
	if (!found)
		err = find(cache, elf, interpreter, ret, diag);
	if (!found && !err && cache)
		keep(cache, &entry, ret);
	if (!err && cached)
		*cached = found;
	return err;
}
