// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/file_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/symbols.h"
#include "symbol/demangle.h"
#include "symbol/perf_map.h"
#include "unwind/function_starts.h"

struct writer {
	struct elf_symbols *symbols;
	struct function_starts *starts; /* NULL: not known */
	size_t most;
	VEC(struct file_names_entry) entries;
	VEC(char) text;
	struct elf_symbol last; /* its text is there already; its name is NULL: there is none */
	uint32_t last_symbol, last_shown;
};

static int add_text(struct writer *writer, const char *text, uint32_t *ret)
{
	size_t size = strnlen(text, FILE_NAMES_TEXT);
	int err = vec_reserve(&writer->text, size + 1);

	if (err)
		return err;
	*ret = (uint32_t)writer->text.count;
	memcpy(writer->text.at + writer->text.count, text, size);
	writer->text.count += size;
	writer->text.at[writer->text.count++] = '\0';
	return 0;
}

static int add_symbol(struct writer *writer, const struct elf_symbol *symbol)
{
	char *readable;
	int err;

	if (writer->last.name == symbol->name)
		return 0;
	writer->last = *symbol;
	err = add_text(writer, symbol->name, &writer->last_symbol);
	readable = err ? NULL : demangle(symbol->name);
	writer->last_shown = writer->last_symbol;
	if (readable)
		err = add_text(writer, readable, &writer->last_shown);
	free(readable);
	return err;
}

static int add_name(struct writer *writer, uint64_t vaddr)
{
	struct file_names_entry entry = {.vaddr = vaddr, .start = vaddr};
	struct elf_symbol symbol;
	bool has_symbol = writer->symbols && elf_symbols_lookup(writer->symbols, vaddr, &symbol);
	int err = -ENOENT;

	if ((!has_symbol || symbol.guessed) && writer->starts)
		err = function_starts_find(writer->starts, vaddr, &entry.start);
	if (err == -ENOMEM)
		return err;
	/* One that has no size ends where another function begins, or nothing shows that it goes on. */
	if (has_symbol && symbol.guessed && vaddr != symbol.vaddr && (err || entry.start > symbol.vaddr))
		has_symbol = false;
	err = 0;
	if (has_symbol) {
		err = add_symbol(writer, &symbol);
		entry.start = symbol.vaddr;
		entry.symbol = writer->last_symbol;
		entry.shown = writer->last_shown;
	}
	return err ? err : vec_push(&writer->entries, entry);
}

/* What the bytes take once one more address is there, at most. */
static bool has_room(const struct writer *writer)
{
	return sizeof(struct file_names_head) + (writer->entries.count + 1) * sizeof(struct file_names_entry) +
		       writer->text.count + 2 * (FILE_NAMES_TEXT + 1) <=
	       writer->most;
}

static int finish(const struct writer *writer, struct file_names_head *head, uint8_t **bytes, size_t *size)
{
	size_t entries = writer->entries.count * sizeof(struct file_names_entry);

	head->count = (uint32_t)writer->entries.count;
	head->text_size = (uint32_t)writer->text.count;
	*size = sizeof(*head) + entries + writer->text.count;
	*bytes = malloc(*size);
	if (!*bytes)
		return -ENOMEM;
	memcpy(*bytes, head, sizeof(*head));
	if (entries)
		memcpy(*bytes + sizeof(*head), writer->entries.at, entries);
	memcpy(*bytes + sizeof(*head) + entries, writer->text.at, writer->text.count);
	return 0;
}

static int find_symbols(struct writer *writer, const struct file_names_source *source, const uint64_t *vaddrs,
			size_t count, struct file_names_head *head)
{
	const struct elf_file *elf = source->elf;
	const char *sources;
	int err = source->debug_root
			  ? elf_symbols_create_for(elf, source->debug_root, vaddrs, count, &writer->symbols, NULL)
			  : elf_symbols_create_with(elf, source->debug_file, vaddrs, count, &writer->symbols, NULL);

	elf_debug_names(elf, &head->debug);
	if (err) {
		writer->symbols = NULL;
		return err == -ENOMEM ? err : 0;
	}
	sources = elf_symbols_sources(writer->symbols);
	head->wants_debug = strncmp(sources, "symtab", strlen("symtab")) != 0;
	head->too_long = elf_symbols_too_long(writer->symbols) > 0;
	head->has_debug = strstr(sources, "debugfile") != NULL;
	return 0;
}

int file_names_write(const struct file_names_source *source, const uint64_t *vaddrs, size_t count, size_t most,
		     uint8_t **bytes, size_t *size)
{
	struct writer writer = {.most = most};
	struct file_names_head head = {};
	size_t i;
	int err = find_symbols(&writer, source, vaddrs, count, &head), starts;

	starts = function_starts_create(source->elf, &writer.starts);
	if (starts)
		writer.starts = NULL;
	if (!err)
		err = starts ? starts : vec_push(&writer.text, '\0'); /* at 0 there is no name */
	for (i = 0; i < count && !err && has_room(&writer); i++)
		err = add_name(&writer, vaddrs[i]);
	if (!err)
		err = finish(&writer, &head, bytes, size);
	vec_free(&writer.entries);
	vec_free(&writer.text);
	elf_symbols_destroy(writer.symbols);
	function_starts_destroy(writer.starts);
	return err;
}

int file_names_write_map(struct perf_map *map, const uint64_t *addresses, size_t count, size_t most, uint8_t **bytes,
			 size_t *size)
{
	struct writer writer = {.most = most};
	struct file_names_head head = {};
	size_t i;
	int err = vec_push(&writer.text, '\0'); /* at 0 there is no name */

	for (i = 0; i < count && !err && has_room(&writer); i++) {
		struct file_names_entry entry = {.vaddr = addresses[i], .start = addresses[i]};
		const char *name = perf_map_lookup(map, addresses[i]);

		if (name && name != writer.last.name)
			err = add_text(&writer, name, &writer.last_symbol);
		if (name && !err) {
			writer.last.name = name;
			entry.symbol = entry.shown = writer.last_symbol;
		}
		err = err ? err : vec_push(&writer.entries, entry);
	}
	if (!err)
		err = finish(&writer, &head, bytes, size);
	vec_free(&writer.entries);
	vec_free(&writer.text);
	return err;
}

static const struct file_names_entry *entries_of(const uint8_t *bytes)
{
	return (const struct file_names_entry *)(bytes + sizeof(struct file_names_head));
}

/* Is all that is used of the bytes as it should be? */
static bool is_sound(const uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count)
{
	const struct file_names_head *head = (const struct file_names_head *)bytes;
	const struct file_names_entry *entries = entries_of(bytes);
	size_t i;

	if (size < sizeof(*head) || !head->count || head->count > count || !head->text_size ||
	    size != sizeof(*head) + head->count * sizeof(*entries) + (uint64_t)head->text_size || bytes[size - 1])
		return false;
	for (i = 0; i < head->count; i++)
		if (entries[i].vaddr != vaddrs[i] || entries[i].symbol >= head->text_size ||
		    entries[i].shown >= head->text_size)
			return false;
	return head->debug.build_id_size <= sizeof(head->debug.build_id) &&
	       memchr(head->debug.link, '\0', sizeof(head->debug.link));
}

ssize_t file_names_add(struct file_names *names, uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count)
{
	ssize_t ret = -EBADMSG;

	if (is_sound(bytes, size, vaddrs, count)) {
		ret = ((const struct file_names_head *)bytes)->count;
		if (vec_push(&names->parts, (struct file_names_part){bytes, (size_t)ret}))
			ret = -ENOMEM;
	}
	if (ret < 0)
		free(bytes);
	return ret;
}

void file_names_drop(struct file_names *names)
{
	if (names->parts.count)
		free(names->parts.at[--names->parts.count].bytes);
}

void file_names_deinit(struct file_names *names)
{
	while (names->parts.count)
		file_names_drop(names);
	vec_free(&names->parts);
}

const struct file_names_head *file_names_said(const struct file_names *names)
{
	return names->parts.count ? (const struct file_names_head *)names->parts.at[names->parts.count - 1].bytes
				  : NULL;
}

bool file_names_too_long(const struct file_names *names)
{
	size_t i;

	for (i = 0; i < names->parts.count; i++)
		if (((const struct file_names_head *)names->parts.at[i].bytes)->too_long)
			return true;
	return false;
}

static int compare(const void *key, const void *entry)
{
	uint64_t vaddr = *(const uint64_t *)key, other = ((const struct file_names_entry *)entry)->vaddr;

	return vaddr < other ? -1 : vaddr > other;
}

bool file_names_find(const struct file_names *names, uint64_t vaddr, struct file_name *ret)
{
	size_t i;

	for (i = 0; i < names->parts.count; i++) {
		const struct file_names_part *part = &names->parts.at[i];
		const struct file_names_entry *entries = entries_of(part->bytes), *found;
		const char *text = (const char *)(entries + part->count);

		found = bsearch(&vaddr, entries, part->count, sizeof(*entries), compare);
		if (!found)
			continue;
		*ret = (struct file_name){.symbol = found->symbol ? text + found->symbol : NULL, .start = found->start};
		ret->shown = found->shown ? text + found->shown : ret->symbol;
		return true;
	}
	return false;
}
