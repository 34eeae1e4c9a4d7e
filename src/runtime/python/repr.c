// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/repr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/time.h"
#include "profile/text.h"
#include "runtime/python/decode.h"

#define ITEMS_MAX    8    /* of a container */
#define DEPTH_MAX    2    /* containers in containers */
#define DIGITS_MAX   128  /* of an int; each has DIGIT_BITS: 1,155 decimal ones */
#define DIGIT_BITS   30   /* PYLONG_BITS_IN_DIGIT of 64-bit builds */
#define ENTRIES_MAX  4096 /* of a dict or a set that are looked at */
#define KEYS_LOG_MAX 40
#define HEAPTYPE     (1ull << 9) /* Py_TPFLAGS_HEAPTYPE */

bool py_read(struct py_reader *reader, void *ret, size_t size, uint64_t address)
{
	struct runtime_effort *effort = reader->effort;

	if (!effort->reads || time_ns(CLOCK_MONOTONIC) >= effort->until) {
		effort->reads = 0;
		return false;
	}
	effort->reads--;
	if (memory_read(reader->memory, ret, size, address))
		return false;
	reader->digest = XXH3_64bits_withSeed(ret, size, reader->digest);
	return true;
}

bool py_read_u64(struct py_reader *reader, uint64_t address, uint64_t *ret)
{
	return py_read(reader, ret, sizeof(*ret), address);
}

static void add_bytes(struct py_text *text, const char *bytes, size_t size)
{
	if (text->cut)
		return;
	if (size > PY_TEXT_MAX - text->length) {
		text->cut = true;
		bytes = PY_TEXT_CUT;
		size = strlen(PY_TEXT_CUT);
	}
	memcpy(text->bytes + text->length, bytes, size);
	text->length += size;
	text->bytes[text->length] = '\0';
}

static void add_cut(struct py_text *text)
{
	add_bytes(text, PY_TEXT_CUT, strlen(PY_TEXT_CUT));
	text->cut = true;
}

void py_text_add(struct py_text *text, const char *bytes)
{
	add_bytes(text, bytes, strlen(bytes));
}

static void add_utf8(struct py_text *text, uint32_t c)
{
	char bytes[4];

	add_bytes(text, bytes, (size_t)(python_put_utf8(bytes, c) - bytes));
}

/* --- strings --- */

/* The first characters of a str. */
struct characters {
	uint64_t length;
	uint32_t kind, count;
	uint8_t bytes[4 * PY_TEXT_MAX];
};

static uint32_t character_at(const struct characters *from, uint32_t i)
{
	uint32_t c = 0;

	memcpy(&c, from->bytes + (size_t)i * from->kind, from->kind);
	return c;
}

static bool read_characters(struct py_reader *reader, uint64_t object, struct characters *ret)
{
	const struct py_layout *layout = reader->layout;
	uint64_t data = object;
	uint32_t state;

	if (!py_read_u64(reader, object + layout->unicode_length, &ret->length) ||
	    !py_read(reader, &state, sizeof(state), object + layout->unicode_state))
		return false;
	ret->kind = state >> layout->unicode_kind_shift & 7;
	if (ret->kind != 1 && ret->kind != 2 && ret->kind != 4)
		return false;
	ret->count = ret->length < PY_TEXT_MAX ? (uint32_t)ret->length : PY_TEXT_MAX;
	if (!(state >> layout->unicode_compact_shift & 1)) {
		if (!py_read_u64(reader, object + reader->objects->unicode_data, &data))
			return false;
	} else if (state >> layout->unicode_compact_shift & 2) {
		data += layout->unicode_ascii_data;
	} else {
		data += layout->unicode_compact_data;
	}
	return py_read(reader, ret->bytes, (size_t)ret->count * ret->kind, data);
}

static bool is_surrogate(uint32_t c)
{
	return c >= 0xd800 && c < 0xe000;
}

static bool read_plain(struct py_reader *reader, uint64_t object, struct py_text *ret)
{
	struct characters from;
	uint32_t i, c;

	*ret = (struct py_text){};
	if (!read_characters(reader, object, &from))
		return false;
	for (i = 0; i < from.count; i++) {
		c = character_at(&from, i);
		add_utf8(ret, !c || c > 0x10ffff || is_surrogate(c) ? '?' : c);
	}
	if (from.count < from.length)
		add_cut(ret);
	return true;
}

bool py_read_str(struct py_reader *reader, uint64_t object, struct py_text *ret)
{
	const struct py_type *type = py_type_of(reader, object);

	return type && type->kind == PY_STR && read_plain(reader, object, ret);
}

/*
 * Not printable, by str.isprintable(): Unicode's categories Cc, Cf, Cs, Co, Zl, Zp, and Zs but for the blank
 * (UnicodeData.txt, 15.0). Those of Cn, not assigned, differ from version to version, and count as printable.
 */
static bool is_printable(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
		      {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
		      {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
		      {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
		      {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
		      {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		      {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0xffffd}, {0x100000, 0x10fffd}};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return false;
	return true;
}

static void add_escaped(struct py_text *text, uint32_t c, char quote, bool is_bytes)
{
	char escape[16];

	if (c == (uint32_t)quote || c == '\\')
		snprintf(escape, sizeof(escape), "\\%c", (char)c);
	else if (c == '\n' || c == '\r' || c == '\t')
		snprintf(escape, sizeof(escape), "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
	else if (is_bytes ? c < 0x20 || c >= 0x7f : c < 0x100 && !is_printable(c))
		snprintf(escape, sizeof(escape), "\\x%02x", c);
	else if (!is_printable(c))
		snprintf(escape, sizeof(escape), c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
	else
		return add_utf8(text, c);
	py_text_add(text, escape);
}

/* Python's choice: an apostrophe, unless there is one in it and no quotation mark. */
static void add_quoted(struct py_text *text, const struct characters *from, bool is_bytes)
{
	bool has_apostrophe = false, has_mark = false;
	char quote[2] = "'";
	uint32_t i, c;

	for (i = 0; i < from->count; i++) {
		has_apostrophe |= character_at(from, i) == '\'';
		has_mark |= character_at(from, i) == '"';
	}
	if (has_apostrophe && !has_mark)
		*quote = '"';
	py_text_add(text, quote);
	for (i = 0; i < from->count; i++) {
		c = character_at(from, i);
		if (c > 0x10ffff)
			py_text_add(text, RUNTIME_UNREAD);
		else
			add_escaped(text, c, *quote, is_bytes);
	}
	if (from->count < from->length)
		add_cut(text);
	py_text_add(text, quote);
}

static bool add_str(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	struct characters from;

	if (!read_characters(reader, object, &from))
		return false;
	add_quoted(text, &from, false);
	return true;
}

static bool add_bytes_object(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	struct characters from = {.kind = 1};

	if (!py_read_u64(reader, object + reader->layout->bytes_size, &from.length) || from.length >> 63)
		return false;
	from.count = from.length < PY_TEXT_MAX ? (uint32_t)from.length : PY_TEXT_MAX;
	if (!py_read(reader, from.bytes, from.count, object + reader->layout->bytes_data))
		return false;
	py_text_add(text, "b");
	add_quoted(text, &from, true);
	return true;
}

/* --- numbers --- */

/* Up to 3.11 ob_size is the count of digits, negative for a negative number; then lv_tag is count << 3 | sign. */
static bool read_long(struct py_reader *reader, uint64_t object, uint64_t *count, bool *negative)
{
	int64_t word;

	if (!py_read(reader, &word, sizeof(word), object + reader->layout->bytes_size))
		return false;
	if (reader->layout->version < 0x030c) {
		*negative = word < 0;
		*count = word < 0 ? 0 - (uint64_t)word : (uint64_t)word;
	} else {
		*negative = (word & 3) == 2;
		*count = (uint64_t)word >> 3;
	}
	return true;
}

static bool add_bool(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	uint64_t count;
	bool negative;

	if (!read_long(reader, object, &count, &negative))
		return false;
	py_text_add(text, count ? "True" : "False");
	return true;
}

static bool add_int(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	uint32_t digits[DIGITS_MAX], groups[DIGITS_MAX * DIGIT_BITS / 29 + 1]; /* of nine decimal digits */
	uint64_t count, rest;
	size_t used = 0, i;
	bool negative;
	char number[64];

	if (!read_long(reader, object, &count, &negative))
		return false;
	if (count > DIGITS_MAX) {
		snprintf(number, sizeof(number), "<int of %llu digits of %d bits>", (unsigned long long)count,
			 DIGIT_BITS);
		py_text_add(text, number);
		return true;
	}
	if (!py_read(reader, digits, count * sizeof(*digits), object + reader->objects->long_digits))
		return false;
	for (i = 0; i < count; i++)
		if (digits[i] >> DIGIT_BITS)
			return false;
	do {
		for (rest = 0, i = count; i-- > 0;) {
			rest = rest << DIGIT_BITS | digits[i];
			digits[i] = (uint32_t)(rest / 1000000000);
			rest %= 1000000000;
		}
		while (count && !digits[count - 1])
			count--;
		groups[used++] = (uint32_t)rest;
	} while (count);
	snprintf(number, sizeof(number), "%s%u", negative ? "-" : "", groups[--used]);
	py_text_add(text, number);
	while (used-- > 0 && !text->cut) {
		snprintf(number, sizeof(number), "%09u", groups[used]);
		py_text_add(text, number);
	}
	return true;
}

/* The fewest digits that give the same number, and an exponent where Python writes one. */
static bool add_float(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	int precision, exponent;
	char number[64];
	double value;

	if (!py_read(reader, &value, sizeof(value), object + reader->objects->float_value))
		return false;
	if (isnan(value) || isinf(value)) {
		py_text_add(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return true;
	}
	for (precision = 0; precision < 17; precision++) {
		snprintf(number, sizeof(number), "%.*e", precision, value);
		if (strtod(number, NULL) == value)
			break;
	}
	exponent = atoi(strchr(number, 'e') + 1);
	if (exponent >= -4 && exponent < 16)
		snprintf(number, sizeof(number), "%.*f%s", precision > exponent ? precision - exponent : 0, value,
			 precision > exponent ? "" : ".0");
	py_text_add(text, number);
	return true;
}

/* --- types --- */

static enum py_kind kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum py_kind kind;
	} kinds[] = {{"NoneType", PY_NONE}, {"bool", PY_BOOL},   {"int", PY_INT},     {"float", PY_FLOAT},
		     {"str", PY_STR},       {"bytes", PY_BYTES}, {"tuple", PY_TUPLE}, {"list", PY_LIST},
		     {"dict", PY_DICT},     {"set", PY_SET},     {"cell", PY_CELL},   {"frozenset", PY_FROZENSET},
		     {"code", PY_CODE}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].kind;
	return PY_OTHER;
}

/*
 * A terminated string in the process, as UTF-8. It may be the last of what is mapped, so each page is read by itself.
 * It may go on in the next one: from 3.10 on a pool of small objects has 16 KiB (Objects/obmalloc.c, v3.10.13,
 * POOL_BITS).
 */
static bool read_c_string(struct py_reader *reader, uint64_t address, struct py_text *ret)
{
	char bytes[PY_TEXT_MAX + 1];
	const char *at;
	unsigned int length;
	size_t size = 4096 - (address & 4095);

	if (size > sizeof(bytes))
		size = sizeof(bytes);
	if (!py_read(reader, bytes, size, address))
		return false;
	if (!memchr(bytes, '\0', size) &&
	    (size == sizeof(bytes) || !py_read(reader, bytes + size, sizeof(bytes) - size, address + size) ||
	     !memchr(bytes + size, '\0', sizeof(bytes) - size)))
		return false;
	*ret = (struct py_text){};
	for (at = bytes; *at; at += length) {
		length = text_character(at, NULL);
		if (length)
			add_bytes(ret, at, length);
		else
			py_text_add(ret, RUNTIME_UNREAD);
		length += !length;
	}
	return true;
}

/* Of a class: module and qualified name are objects. */
static bool read_class_name(struct py_reader *reader, uint64_t type, struct py_text *ret)
{
	uint64_t dict, module, name;
	struct py_text qualname;

	if (!py_read_u64(reader, type + reader->objects->type_qualname, &name) || !read_plain(reader, name, &qualname))
		return false;
	*ret = (struct py_text){};
	if (py_read_u64(reader, type + reader->objects->type_dict, &dict)) {
		module = py_dict_find(reader, dict, "__module__");
		if (module && read_plain(reader, module, ret) && strcmp(ret->bytes, "builtins"))
			py_text_add(ret, ".");
		else
			*ret = (struct py_text){};
	}
	py_text_add(ret, qualname.bytes);
	return true;
}

static bool read_type(struct py_reader *reader, struct py_type *type)
{
	uint64_t name, flags;

	if (type->at & 7 || !py_read_u64(reader, type->at + reader->layout->type_name, &name) ||
	    !py_read_u64(reader, type->at + reader->objects->type_flags, &flags) ||
	    !read_c_string(reader, name, &type->name))
		return false;
	if (!(flags & HEAPTYPE))
		type->kind = kind_of(type->name.bytes);
	/* Asks for the types of a dict and of its keys, but for none that is a class. */
	else if (!read_class_name(reader, type->at, &type->name))
		return false;
	return true;
}

bool py_type_name(struct py_reader *reader, uint64_t type, struct py_text *ret)
{
	struct py_type found = {.at = type};
	bool read = read_type(reader, &found);

	*ret = found.name;
	return read;
}

const struct py_type *py_type_of(struct py_reader *reader, uint64_t object)
{
	struct py_type *kept;
	struct py_type type = {};
	uint64_t before;

	if (!object || object & 7 || !py_read_u64(reader, object + reader->layout->ob_type, &type.at) || !type.at)
		return NULL;
	kept = &reader->types[type.at / 64 % PY_TYPES];
	if (kept->at == type.at)
		return kept;
	before = reader->digest;
	if (!read_type(reader, &type))
		return NULL;
	reader->digest = before;
	*kept = type;
	return kept;
}

/* --- containers --- */

/*
 * PyDictKeysObject: { refcnt, size, lookup, usable, nentries, indices[] } up to 3.10, then { refcnt, u8 log2_size, u8
 * log2_index_bytes, u8 kind, ..., usable, nentries, indices[] }. The entries follow the indices: { hash, key, value },
 * from 3.11 on, where all keys are strings (kind is not 0), { key, value }. If there are values apart, these are
 * theirs.
 */
bool py_keys_begin(struct py_reader *reader, uint64_t keys, uint64_t values, struct py_dict_items *items)
{
	const struct py_objects *objects = reader->objects;
	uint64_t size, count;
	uint8_t logs[3];

	*items = (struct py_dict_items){.has_hash = true, .values = values};
	if (!keys || !py_read_u64(reader, keys + objects->keys_entries, &count))
		return false;
	if (reader->layout->version >= 0x030b) {
		if (!py_read(reader, logs, sizeof(logs), keys + 8) || logs[1] > KEYS_LOG_MAX)
			return false;
		items->has_hash = !logs[2];
		size = 1ull << logs[1];
	} else {
		if (!py_read_u64(reader, keys + 8, &size) || size >> KEYS_LOG_MAX)
			return false;
		size *= size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	}
	if (items->values)
		items->values += objects->values_start;
	items->entries = keys + objects->keys_indices + size;
	items->count = count < ENTRIES_MAX ? (uint32_t)count : ENTRIES_MAX;
	return true;
}

bool py_dict_begin(struct py_reader *reader, uint64_t dict, struct py_dict_items *items)
{
	uint64_t keys, values, size;

	if (!py_read_u64(reader, dict + reader->layout->bytes_size, &size) ||
	    !py_read_u64(reader, dict + reader->objects->dict_keys, &keys) ||
	    !py_read_u64(reader, dict + reader->objects->dict_values, &values) ||
	    !py_keys_begin(reader, keys, values, items))
		return false;
	items->size = size;
	return true;
}

bool py_dict_next(struct py_reader *reader, struct py_dict_items *items, uint64_t *key, uint64_t *value)
{
	uint64_t entry[3];
	size_t size = items->has_hash ? 24 : 16;

	while (items->at < items->count) {
		uint32_t at = items->at++;

		if (!py_read(reader, entry, size, items->entries + at * size))
			return false;
		*key = entry[items->has_hash];
		*value = entry[items->has_hash + 1];
		if (items->values && !py_read_u64(reader, items->values + 8ull * at, value))
			return false;
		if (*key && *value)
			return true;
	}
	return false;
}

uint64_t py_dict_find(struct py_reader *reader, uint64_t dict, const char *key)
{
	struct py_dict_items items;
	struct py_text text;
	uint64_t at, value;

	if (!py_dict_begin(reader, dict, &items))
		return 0;
	while (py_dict_next(reader, &items, &at, &value))
		if (read_plain(reader, at, &text) && !strcmp(text.bytes, key))
			return value;
	return 0;
}

static void add_object(struct py_reader *reader, uint64_t object, int depth, struct py_text *text);

/* False: there is no place for another item. */
static bool add_separator(struct py_text *text, uint64_t *shown)
{
	if (*shown)
		py_text_add(text, ", ");
	if (*shown == ITEMS_MAX)
		py_text_add(text, "...");
	return (*shown)++ < ITEMS_MAX && !text->cut;
}

static bool add_array(struct py_reader *reader, uint64_t object, bool is_list, int depth, struct py_text *text)
{
	uint64_t size, items = object + reader->objects->tuple_items, item, i, shown = 0;

	if (!py_read_u64(reader, object + reader->layout->bytes_size, &size) || size >> 48)
		return false;
	if (is_list && !py_read_u64(reader, object + reader->objects->list_items, &items))
		return false;
	py_text_add(text, is_list ? "[" : "(");
	if (size && depth >= DEPTH_MAX) {
		py_text_add(text, "...");
	} else {
		for (i = 0; i < size && add_separator(text, &shown); i++) {
			if (!py_read_u64(reader, items + 8 * i, &item))
				item = 0;
			add_object(reader, item, depth + 1, text);
		}
		if (size == 1 && !is_list)
			py_text_add(text, ",");
	}
	py_text_add(text, is_list ? "]" : ")");
	return true;
}

static bool add_dict(struct py_reader *reader, uint64_t object, int depth, struct py_text *text)
{
	struct py_dict_items items;
	uint64_t key, value, shown = 0;

	if (!py_dict_begin(reader, object, &items))
		return false;
	py_text_add(text, "{");
	if (items.size && depth >= DEPTH_MAX)
		py_text_add(text, "...");
	else
		while (py_dict_next(reader, &items, &key, &value) && add_separator(text, &shown)) {
			add_object(reader, key, depth + 1, text);
			py_text_add(text, ": ");
			add_object(reader, value, depth + 1, text);
		}
	py_text_add(text, "}");
	return true;
}

/* Its table has mask + 1 entries { key, hash }. No hash is -1: such an entry was deleted. */
bool py_set_begin(struct py_reader *reader, uint64_t set, uint64_t places, struct py_set_items *items)
{
	*items = (struct py_set_items){.places = places};
	return py_read_u64(reader, set + reader->objects->set_used, &items->used) &&
	       py_read_u64(reader, set + reader->objects->set_mask, &items->mask) &&
	       py_read_u64(reader, set + reader->objects->set_table, &items->table);
}

bool py_set_next(struct py_reader *reader, struct py_set_items *items, uint64_t *key)
{
	uint64_t entry[2];

	while (items->used && items->at <= items->mask && items->at < items->places) {
		if (!py_read(reader, entry, sizeof(entry), items->table + 16 * items->at)) {
			items->damaged = true;
			return false;
		}
		items->at++;
		if (entry[0] && entry[1] != UINT64_MAX) {
			*key = entry[0];
			return true;
		}
	}
	return false;
}

static bool add_set(struct py_reader *reader, uint64_t object, bool frozen, int depth, struct py_text *text)
{
	struct py_set_items items;
	uint64_t key, shown = 0;

	if (!py_set_begin(reader, object, ENTRIES_MAX, &items))
		return false;
	py_text_add(text, frozen ? "frozenset(" : items.used ? "" : "set(");
	py_text_add(text, items.used ? "{" : "");
	if (items.used && depth >= DEPTH_MAX)
		py_text_add(text, "...");
	else
		while (py_set_next(reader, &items, &key) && add_separator(text, &shown))
			add_object(reader, key, depth + 1, text);
	if (items.damaged)
		return false;
	py_text_add(text, items.used ? "}" : "");
	py_text_add(text, frozen || !items.used ? ")" : "");
	return true;
}

static bool add_other(const struct py_type *type, uint64_t object, struct py_text *text)
{
	char address[32];

	py_text_add(text, "<");
	py_text_add(text, type->name.bytes);
	snprintf(address, sizeof(address), " object at %#llx>", (unsigned long long)object);
	py_text_add(text, address);
	return true;
}

static void add_object(struct py_reader *reader, uint64_t object, int depth, struct py_text *text)
{
	const struct py_type *type = py_type_of(reader, object);
	size_t length = text->length;
	bool read = false, cut = text->cut;

	if (type) {
		switch (type->kind) {
		case PY_NONE:
			py_text_add(text, "None");
			read = true;
			break;
		case PY_BOOL:
			read = add_bool(reader, object, text);
			break;
		case PY_INT:
			read = add_int(reader, object, text);
			break;
		case PY_FLOAT:
			read = add_float(reader, object, text);
			break;
		case PY_STR:
			read = add_str(reader, object, text);
			break;
		case PY_BYTES:
			read = add_bytes_object(reader, object, text);
			break;
		case PY_TUPLE:
		case PY_LIST:
			read = add_array(reader, object, type->kind == PY_LIST, depth, text);
			break;
		case PY_DICT:
			read = add_dict(reader, object, depth, text);
			break;
		case PY_SET:
		case PY_FROZENSET:
			read = add_set(reader, object, type->kind == PY_FROZENSET, depth, text);
			break;
		default:
			read = add_other(type, object, text);
		}
	}
	if (read)
		return;
	text->length = length;
	text->cut = cut;
	py_text_add(text, RUNTIME_UNREAD);
}

void py_repr(struct py_reader *reader, uint64_t object, struct py_text *text)
{
	*text = (struct py_text){};
	add_object(reader, object, 0, text);
}
