// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/file_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "base/time.h"
#include "engine/file_names.h"
#include "symbol/demangle.h"

struct writer {
	size_t most;
	VEC(struct file_lines_entry) entries;
	VEC(struct file_lines_frame) frames;
	VEC(char) text;
	struct table texts; /* address of a text of the debug information's → where it is in `text` */
};

/* Texts of the debug information stay where they are, so each is written once. */
static int add_text(struct writer *writer, const char *text, bool is_function, uint32_t *ret)
{
	uint64_t key = (uint64_t)(uintptr_t)text, found;
	char *readable;
	size_t size;
	int err;

	*ret = 0;
	if (!text)
		return 0;
	if (table_get(&writer->texts, key, &found)) {
		*ret = (uint32_t)found;
		return 0;
	}
	readable = is_function ? demangle(text) : NULL;
	text = readable ? readable : text;
	size = strnlen(text, FILE_NAMES_TEXT);
	err = vec_reserve(&writer->text, size + 1);
	if (!err) {
		*ret = (uint32_t)writer->text.count;
		memcpy(writer->text.at + writer->text.count, text, size);
		writer->text.count += size;
		writer->text.at[writer->text.count++] = '\0';
		err = table_set(&writer->texts, key, *ret);
	}
	free(readable);
	return err;
}

static int add_place(struct writer *writer, struct debug_info *info, uint64_t vaddr)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	size_t count = info ? debug_info_source(info, vaddr, frames) : 0, i;
	struct file_lines_entry entry = {
		.vaddr = vaddr, .first = (uint32_t)writer->frames.count, .count = (uint32_t)count};
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		struct file_lines_frame frame = {.line = frames[i].line};

		err = add_text(writer, frames[i].function, true, &frame.function);
		if (!err)
			err = add_text(writer, frames[i].file, false, &frame.file);
		if (!err)
			err = vec_push(&writer->frames, frame);
	}
	return err ? err : vec_push(&writer->entries, entry);
}

/* What the bytes take once one more address is there, at most. */
static bool has_room(const struct writer *writer)
{
	return sizeof(struct file_lines_head) + (writer->entries.count + 1) * sizeof(struct file_lines_entry) +
		       (writer->frames.count + SOURCE_FRAMES_MAX) * sizeof(struct file_lines_frame) +
		       writer->text.count + 2 * SOURCE_FRAMES_MAX * (FILE_NAMES_TEXT + 1) <=
	       writer->most;
}

static int finish(const struct writer *writer, struct file_lines_head *head, uint8_t **bytes, size_t *size)
{
	size_t entries = writer->entries.count * sizeof(struct file_lines_entry);
	size_t frames = writer->frames.count * sizeof(struct file_lines_frame);

	head->count = (uint32_t)writer->entries.count;
	head->frame_count = (uint32_t)writer->frames.count;
	head->text_size = (uint32_t)writer->text.count;
	*size = sizeof(*head) + entries + frames + writer->text.count;
	*bytes = malloc(*size);
	if (!*bytes)
		return -ENOMEM;
	memcpy(*bytes, head, sizeof(*head));
	if (entries)
		memcpy(*bytes + sizeof(*head), writer->entries.at, entries);
	if (frames)
		memcpy(*bytes + sizeof(*head) + entries, writer->frames.at, frames);
	memcpy(*bytes + sizeof(*head) + entries + frames, writer->text.at, writer->text.count);
	return 0;
}

/* The debug information; *separate is the file that has it, if that is another one. Both may be NULL. */
static struct debug_info *open_info(const struct file_lines_source *source, struct file_lines_head *head,
				    struct elf_file **separate)
{
	const struct debug_info_options options = {.root = source->debug_root ? source->debug_root : "",
						   .bytes_max = FILE_LINES_BYTES_MAX,
						   .is_strange = true,
						   .is_confined = source->is_confined};
	struct debug_info *info = NULL;
	struct diag diag = {};

	elf_debug_names(source->elf, &head->debug);
	head->wants_debug = !elf_file_has_debug_info(source->elf);
	if (head->wants_debug && source->debug_file)
		*separate = elf_debug_file_check(source->elf, source->debug_file);
	if (head->wants_debug && !*separate && !source->debug_root)
		return NULL;
	if (debug_info_open(*separate ? *separate : source->elf, &options, &info, &diag))
		return NULL;
	head->has_debug = true;
	return info;
}

int file_lines_write(const struct file_lines_source *source, const uint64_t *vaddrs, size_t count, size_t most,
		     uint8_t **bytes, size_t *size)
{
	struct writer writer = {.most = most};
	struct file_lines_head head = {};
	struct elf_file *separate = NULL;
	double began = time_s(CLOCK_PROCESS_CPUTIME_ID);
	struct debug_info *info = open_info(source, &head, &separate);
	int err = vec_push(&writer.text, '\0'); /* at 0 there is no text */
	size_t i;

	for (i = 0; i < count && !err && has_room(&writer) && !head.is_cut; i++) {
		err = add_place(&writer, info, vaddrs[i]);
		head.is_cut = source->seconds > 0 && time_s(CLOCK_PROCESS_CPUTIME_ID) - began > source->seconds;
	}
	if (!err)
		err = finish(&writer, &head, bytes, size);
	debug_info_close(info);
	elf_file_close(separate);
	elf_file_close(source->elf);
	vec_free(&writer.entries);
	vec_free(&writer.frames);
	vec_free(&writer.text);
	table_deinit(&writer.texts);
	return err;
}

static const struct file_lines_entry *entries_of(const uint8_t *bytes)
{
	return (const struct file_lines_entry *)(bytes + sizeof(struct file_lines_head));
}

static const struct file_lines_frame *frames_of(const uint8_t *bytes)
{
	return (const struct file_lines_frame *)(entries_of(bytes) + ((const struct file_lines_head *)bytes)->count);
}

/* Is all that is used of the bytes as it should be? */
static bool is_sound(const uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count)
{
	const struct file_lines_head *head = (const struct file_lines_head *)bytes;
	size_t i;

	if (size < sizeof(*head) || !head->count || head->count > count || !head->text_size ||
	    size != sizeof(*head) + head->count * sizeof(struct file_lines_entry) +
			    head->frame_count * sizeof(struct file_lines_frame) + (uint64_t)head->text_size ||
	    bytes[size - 1])
		return false;
	for (i = 0; i < head->count; i++) {
		const struct file_lines_entry *entry = &entries_of(bytes)[i];

		if (entry->vaddr != vaddrs[i] || entry->count > SOURCE_FRAMES_MAX ||
		    entry->first > head->frame_count || entry->count > head->frame_count - entry->first)
			return false;
	}
	for (i = 0; i < head->frame_count; i++)
		if (frames_of(bytes)[i].function >= head->text_size || frames_of(bytes)[i].file >= head->text_size ||
		    frames_of(bytes)[i].line > INT32_MAX)
			return false;
	return head->debug.build_id_size <= sizeof(head->debug.build_id) &&
	       memchr(head->debug.link, '\0', sizeof(head->debug.link));
}

ssize_t file_lines_add(struct file_lines *lines, uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count)
{
	ssize_t ret = -EBADMSG;

	if (is_sound(bytes, size, vaddrs, count)) {
		ret = ((const struct file_lines_head *)bytes)->count;
		if (vec_push(&lines->parts, (struct file_lines_part){bytes}))
			ret = -ENOMEM;
	}
	if (ret < 0)
		free(bytes);
	return ret;
}

void file_lines_drop(struct file_lines *lines)
{
	if (lines->parts.count)
		free(lines->parts.at[--lines->parts.count].bytes);
}

void file_lines_deinit(struct file_lines *lines)
{
	while (lines->parts.count)
		file_lines_drop(lines);
	vec_free(&lines->parts);
}

const struct file_lines_head *file_lines_said(const struct file_lines *lines)
{
	return lines->parts.count ? (const struct file_lines_head *)lines->parts.at[lines->parts.count - 1].bytes
				  : NULL;
}

static int compare(const void *key, const void *entry)
{
	uint64_t vaddr = *(const uint64_t *)key, other = ((const struct file_lines_entry *)entry)->vaddr;

	return vaddr < other ? -1 : vaddr > other;
}

size_t file_lines_find(const struct file_lines *lines, uint64_t vaddr, struct source_frame ret[SOURCE_FRAMES_MAX])
{
	size_t part, i;

	for (part = 0; part < lines->parts.count; part++) {
		const uint8_t *bytes = lines->parts.at[part].bytes;
		const struct file_lines_head *head = (const struct file_lines_head *)bytes;
		const struct file_lines_frame *frames = frames_of(bytes);
		const char *text = (const char *)(frames + head->frame_count);
		const struct file_lines_entry *found =
			bsearch(&vaddr, entries_of(bytes), head->count, sizeof(*found), compare);

		if (!found)
			continue;
		for (i = 0; i < found->count; i++) {
			const struct file_lines_frame *frame = &frames[found->first + i];

			ret[i] = (struct source_frame){.function = frame->function ? text + frame->function : NULL,
						       .file = frame->file ? text + frame->file : NULL,
						       .line = frame->line};
		}
		return found->count;
	}
	return 0;
}
