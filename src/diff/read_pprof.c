// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof: reads the messages of export/profile.proto.
 *
 * A field is a tag (number << 3 | kind) and its value: a varint, or a length and that many bytes, which are a message,
 * a string or packed varints. Fields may be in any order. So there are two passes. The first one notes where strings
 * and samples are, and reads the small tables; the second one reads the samples. Ids may be any numbers, so they go
 * through tables. A reference to something that does not exist is an error, except for the function of a location: then
 * the address is the name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "diff/reader.h"

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

struct field {
	uint64_t number, value; /* of a varint */
	struct cursor bytes;    /* of bytes */
	unsigned int kind;
};

struct span {
	const char *at;
	size_t size;
};

struct mapping {
	uint64_t file; /* string */
};

struct function {
	uint64_t name, file; /* strings */
};

struct line {
	uint64_t function; /* id */
	int64_t line;
};

struct location {
	uint64_t mapping, address;
	size_t first, count; /* lines */
	size_t frames;       /* the first one's index in `frames`, + 1; 0: they are not made yet */
};

struct pprof {
	struct reader *reader;
	VEC(struct span) strings;
	VEC(struct cursor) samples;
	VEC(struct mapping) mappings;
	VEC(struct function) functions;
	VEC(struct location) locations;
	VEC(struct line) lines;
	VEC(uint32_t) frames;
	VEC(uint64_t) ids, values;                         /* of the sample being read */
	struct table mapping_of, function_of, location_of; /* id + 1 → index */
	VEC(uint64_t) type_names, type_units;
	uint64_t period, duration, time, period_unit;
	size_t counts; /* the type that counts */
	bool no_memory;
};

static bool next_field(struct cursor *from, struct field *ret)
{
	uint64_t tag;

	if (cursor_at_end(from))
		return false;
	tag = cursor_uleb128(from);
	*ret = (struct field){.number = tag >> 3, .kind = tag & 7};
	switch (ret->kind) {
	case WIRE_VARINT:
		ret->value = cursor_uleb128(from);
		break;
	case WIRE_BYTES: {
		uint64_t size = cursor_uleb128(from);
		const uint8_t *at = size <= cursor_left(from) ? cursor_take(from, size) : NULL;

		if (!at)
			cursor_fail(from);
		else
			ret->bytes = cursor_init(at, size);
		break;
	}
	case WIRE_64:
		cursor_skip(from, 8);
		break;
	case WIRE_32:
		cursor_skip(from, 4);
		break;
	default:
		cursor_fail(from);
	}
	return cursor_ok(from);
}

#define KEEP(pprof, vec, ...)                                                                                          \
	do {                                                                                                           \
		if (vec_push(&(pprof)->vec, __VA_ARGS__))                                                              \
			(pprof)->no_memory = true;                                                                     \
	} while (0)

static void keep_id(struct pprof *from, struct table *table, uint64_t id, size_t index)
{
	/* 0 is "none" in this format. The first one of an id counts. */
	if (id && id != UINT64_MAX && !table_get(table, id, &(uint64_t){0}) && table_set(table, id, index))
		from->no_memory = true;
}

static bool take_mapping(struct pprof *from, struct cursor bytes)
{
	struct mapping mapping = {};
	struct field field;
	uint64_t id = 0;

	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 5)
			mapping.file = field.value;
	}
	keep_id(from, &from->mapping_of, id, from->mappings.count);
	KEEP(from, mappings, mapping);
	return cursor_ok(&bytes);
}

static bool take_function(struct pprof *from, struct cursor bytes)
{
	struct function function = {};
	struct field field;
	uint64_t id = 0;

	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			function.name = field.value;
		else if (field.number == 4)
			function.file = field.value;
	}
	keep_id(from, &from->function_of, id, from->functions.count);
	KEEP(from, functions, function);
	return cursor_ok(&bytes);
}

static bool take_line(struct pprof *from, struct cursor bytes)
{
	struct line line = {};
	struct field field;

	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			line.function = field.value;
		else if (field.number == 2)
			line.line = (int64_t)field.value;
	}
	KEEP(from, lines, line);
	return cursor_ok(&bytes);
}

static bool take_location(struct pprof *from, struct cursor bytes)
{
	struct location location = {.first = from->lines.count};
	struct field field;
	uint64_t id = 0;
	bool good = true;

	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			location.mapping = field.value;
		else if (field.number == 3)
			location.address = field.value;
		else if (field.number == 4 && field.kind == WIRE_BYTES)
			good &= take_line(from, field.bytes);
	}
	location.count = from->lines.count - location.first;
	keep_id(from, &from->location_of, id, from->locations.count);
	KEEP(from, locations, location);
	return good && cursor_ok(&bytes);
}

/* A ValueType: its type and unit. */
static bool take_type(struct cursor bytes, uint64_t *type, uint64_t *unit)
{
	struct field field;

	*type = *unit = 0;
	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			*type = field.value;
		else if (field.number == 2)
			*unit = field.value;
	}
	return cursor_ok(&bytes);
}

static bool take_bytes(struct pprof *from, const struct field *field)
{
	uint64_t type, unit;

	switch (field->number) {
	case 1:
		if (!take_type(field->bytes, &type, &unit))
			return false;
		KEEP(from, type_names, type);
		KEEP(from, type_units, unit);
		return true;
	case 2:
		KEEP(from, samples, field->bytes);
		return true;
	case 3:
		return take_mapping(from, field->bytes);
	case 4:
		return take_location(from, field->bytes);
	case 5:
		return take_function(from, field->bytes);
	case 6:
		KEEP(from, strings, (struct span){(const char *)field->bytes.base, field->bytes.size});
		return true;
	case 11:
		return take_type(field->bytes, &type, &from->period_unit);
	default:
		return true;
	}
}

static bool take_tables(struct pprof *from, struct cursor *bytes)
{
	struct field field;

	while (!from->no_memory && next_field(bytes, &field)) {
		if (field.kind == WIRE_BYTES && !take_bytes(from, &field))
			return false;
		if (field.kind != WIRE_VARINT)
			continue;
		if (field.number == 9)
			from->time = field.value;
		else if (field.number == 10)
			from->duration = field.value;
		else if (field.number == 12)
			from->period = field.value;
	}
	return cursor_ok(bytes);
}

/* A string's malloc'd copy, up to a NUL, cut where frames cut names; NULL: no memory. */
static char *string_copy(const struct pprof *from, uint64_t index)
{
	const struct span none = {"", 0}, *span = index < from->strings.count ? &from->strings.at[index] : &none;

	return strndup(span->at ? span->at : "", span->size < FRAME_STRING_MAX + 8 ? span->size : FRAME_STRING_MAX + 8);
}

static bool string_is(const struct pprof *from, uint64_t index, const char *text)
{
	return index < from->strings.count && from->strings.at[index].size == strlen(text) &&
	       !memcmp(from->strings.at[index].at, text, strlen(text));
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What a frame is, as export/pprof.c writes it. */
static struct frame frame_of(const char *name, const char *file, const char *mapping, int64_t line)
{
	size_t length = strlen(name);
	struct frame frame = {.layer = FRAME_NATIVE, .name = name, .file = base_of(*mapping ? mapping : file)};

	if (!strcmp(mapping, "[kernel.kallsyms]")) {
		frame.layer = FRAME_KERNEL;
		frame.file = "";
	} else if (!*mapping && !*file && length > 1 && name[0] == '[' && name[length - 1] == ']') {
		frame.layer = FRAME_MARK;
		frame.file = "";
	} else if (line > 0 && line < INT32_MAX && *file) {
		frame.layer = FRAME_RUNTIME;
		frame.file = file;
		frame.line = (int)line;
		frame.runtime = "source";
	}
	return frame;
}

static int make_frame(struct pprof *from, const struct location *location, const struct line *line)
{
	uint64_t function = 0, mapping = 0;
	bool has_function = line && table_get(&from->function_of, line->function, &function);
	bool has_mapping = table_get(&from->mapping_of, location->mapping, &mapping);
	char *name = string_copy(from, has_function ? from->functions.at[function].name : 0);
	char *file = string_copy(from, has_function ? from->functions.at[function].file : 0);
	char *module = string_copy(from, has_mapping ? from->mappings.at[mapping].file : 0);
	char address[32];
	struct frame frame;
	uint32_t id = 0;
	int err = -ENOMEM;

	snprintf(address, sizeof(address), "0x%" PRIx64, location->address);
	if (name && file && module) {
		frame = frame_of(*name ? name : address, file, module, line ? line->line : 0);
		err = profile_frame(from->reader->profile, &frame, &id) ?: vec_push(&from->frames, id);
	}
	free(name);
	free(file);
	free(module);
	return err;
}

/* The frames of a location, innermost first: its function, then those that it is inlined in. */
static int make_frames(struct pprof *from, struct location *location)
{
	size_t i;
	int err = 0;

	location->frames = from->frames.count + 1;
	for (i = 0; i < location->count && !err; i++)
		err = make_frame(from, location, &from->lines.at[location->first + i]);
	if (!location->count)
		err = make_frame(from, location, NULL);
	return err ? reader_no_memory(from->reader) : 0;
}

/* A repeated field of numbers, packed or one of them. */
static void take_numbers(struct pprof *from, struct field *field, bool ids)
{
	if (field->kind == WIRE_VARINT && ids)
		KEEP(from, ids, field->value);
	else if (field->kind == WIRE_VARINT)
		KEEP(from, values, field->value);
	while (field->kind == WIRE_BYTES && !cursor_at_end(&field->bytes) && !from->no_memory) {
		uint64_t value = cursor_uleb128(&field->bytes);

		if (ids)
			KEEP(from, ids, value);
		else
			KEEP(from, values, value);
	}
}

/* A label: *ret is its text when it is the thread's name. */
static void take_label(struct pprof *from, struct cursor bytes, uint64_t *ret)
{
	struct field field;
	uint64_t key = 0, text = 0;

	while (next_field(&bytes, &field)) {
		if (field.number == 1)
			key = field.value;
		else if (field.number == 2)
			text = field.value;
	}
	if (string_is(from, key, "comm") || (!*ret && string_is(from, key, "thread")))
		*ret = text;
}

static int push_location(struct pprof *from, uint64_t id)
{
	struct location *location;
	uint64_t index;
	size_t i;
	int err;

	if (!id || !table_get(&from->location_of, id, &index))
		return diag_fail(from->reader->diag, EINVAL, "read.pprof",
				 "a sample names location %" PRIu64 ", which is not there", id);
	location = &from->locations.at[index];
	err = location->frames ? 0 : make_frames(from, location);
	for (i = location->count ? location->count : 1; i-- && !err;)
		err = reader_frame(from->reader, from->frames.at[location->frames - 1 + i]);
	return err;
}

/* Of times, whole microseconds. */
static int take_value(struct pprof *from, const char *name, size_t which)
{
	bool times = from->reader->recording->kind != READ_SAMPLES;
	uint64_t value = from->values.at[which], waits = times ? from->values.at[from->counts] : 1;

	if (times)
		value = value / 1000 + (value % 1000 >= 500);
	return value ? reader_sample(from->reader, name, value, (int64_t)waits > 0 ? waits : 1) : 0;
}

static int take_sample(struct pprof *from, struct cursor bytes, size_t which)
{
	struct field field;
	uint64_t comm = 0;
	char *name;
	size_t i;
	int err = 0;

	from->ids.count = from->values.count = 0;
	while (next_field(&bytes, &field)) {
		if (field.number == 1 || field.number == 2)
			take_numbers(from, &field, field.number == 1);
		else if (field.number == 3 && field.kind == WIRE_BYTES)
			take_label(from, field.bytes, &comm);
		if ((field.kind == WIRE_BYTES && !cursor_ok(&field.bytes)) || from->no_memory)
			break;
	}
	if (from->no_memory)
		return reader_no_memory(from->reader);
	if (!cursor_at_end(&bytes) || !cursor_ok(&bytes) || which >= from->values.count ||
	    from->counts >= from->values.count)
		return diag_fail(from->reader->diag, EINVAL, "read.pprof", "a sample is damaged");
	if ((int64_t)from->values.at[which] < 0)
		return diag_fail(from->reader->diag, EINVAL, "read.pprof",
				 "a sample has a negative value: this is a difference already");
	for (i = from->ids.count; i-- && !err;)
		err = push_location(from, from->ids.at[i]);
	name = err ? NULL : string_copy(from, comm);
	if (!err && !name)
		err = reader_no_memory(from->reader);
	if (!err)
		err = take_value(from, name, which);
	from->reader->stack.count = 0;
	free(name);
	return err;
}

/* Of waits, the type that is their time, and what the recording is; false: there is none. */
static bool waiting_type(const struct pprof *from, size_t *type, enum read_kind *kind)
{
	size_t i;

	for (i = 0; i < from->type_names.count; i++) {
		bool off_cpu = string_is(from, from->type_names.at[i], "off_cpu");

		if ((!off_cpu && !string_is(from, from->type_names.at[i], "wall")) ||
		    !string_is(from, from->type_units.at[i], "nanoseconds"))
			continue;
		*type = i;
		*kind = off_cpu ? READ_OFF_CPU : READ_WALL;
		return true;
	}
	return false;
}

/* The type that counts samples; else the first. */
static size_t counting_type(const struct pprof *from)
{
	size_t i;

	for (i = 0; i < from->type_names.count; i++)
		if (string_is(from, from->type_names.at[i], "samples"))
			return i;
	return 0;
}

static void describe(const struct pprof *from)
{
	struct recording *recording = from->reader->recording;
	char *command = from->mappings.count ? string_copy(from, from->mappings.at[0].file) : NULL;

	recording->duration_s = (double)from->duration / 1e9;
	recording->start_time = (double)from->time / 1e9;
	if (string_is(from, from->period_unit, "nanoseconds"))
		recording->period_ns = (double)from->period;
	if (command)
		snprintf(recording->command, sizeof(recording->command), "%.255s", command);
	free(command);
}

int read_pprof(struct reader *reader, struct cursor *bytes)
{
	struct pprof from = {.reader = reader};
	size_t i, which;
	int err = 0;

	if (!take_tables(&from, bytes) && !from.no_memory)
		err = diag_fail(reader->diag, EINVAL, "read.pprof",
				"neither folded stacks nor pprof's format, or damaged");
	else if (from.no_memory)
		err = reader_no_memory(reader);
	else if (!from.type_names.count)
		err = diag_fail(reader->diag, EINVAL, "read.pprof", "a profile without types of samples");
	from.counts = counting_type(&from);
	if (!waiting_type(&from, &which, &reader->recording->kind))
		which = from.counts;
	for (i = 0; i < from.samples.count && !err; i++)
		err = take_sample(&from, from.samples.at[i], which);
	if (!err)
		describe(&from);
	vec_free(&from.strings);
	vec_free(&from.samples);
	vec_free(&from.mappings);
	vec_free(&from.functions);
	vec_free(&from.locations);
	vec_free(&from.lines);
	vec_free(&from.frames);
	vec_free(&from.ids);
	vec_free(&from.values);
	vec_free(&from.type_names);
	vec_free(&from.type_units);
	table_deinit(&from.mapping_of);
	table_deinit(&from.function_of);
	table_deinit(&from.location_of);
	return err;
}
