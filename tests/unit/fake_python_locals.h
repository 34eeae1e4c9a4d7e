/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_python_locals: a frame with variables, its code and their values, in the shapes of three versions, as bytes. */
#ifndef STRATA_TESTS_FAKE_PYTHON_LOCALS_H
#define STRATA_TESTS_FAKE_PYTHON_LOCALS_H

#include <stdlib.h>
#include <string.h>

#include "runtime/python/locals.h"

#define LOCALS_BYTES    0x1000
#define LOCALS_CLASS    0xf00 /* an object of a class */
#define LOCALS_VERSIONS 3

/* Where the image lies in the process; a test may move those that are made after. */
static uint64_t locals_base = 0x10000;

struct locals_image {
	struct py_layout layout;
	struct py_objects objects;
	uint64_t frame;
	size_t used;
	uint8_t bytes[LOCALS_BYTES];
};

static inline void locals_put(struct locals_image *image, uint64_t address, uint64_t value)
{
	memcpy(image->bytes + (address - locals_base), &value, sizeof(value));
}

static inline uint64_t locals_take(struct locals_image *image, size_t size)
{
	uint64_t at = locals_base + image->used;

	image->used += (size + 15) & ~(size_t)15;
	if (image->used > LOCALS_CLASS)
		abort();
	return at;
}

/* A type: only the fields that are read lie in the image, so they may overlap others' bytes of no meaning. */
static inline uint64_t locals_type(struct locals_image *image, const char *name, uint64_t flags)
{
	enum { NAME = 62 }; /* across a multiple of 16, so that a border of a page may fall into it */
	uint64_t at = locals_take(image, NAME + strlen(name) + 1);

	locals_put(image, at + image->layout.type_name, at + NAME);
	memcpy(image->bytes + (at + NAME - locals_base), name, strlen(name) + 1);
	locals_put(image, at + image->objects.type_flags, flags);
	return at;
}

static inline uint64_t locals_object(struct locals_image *image, uint64_t type, size_t size)
{
	uint64_t at = locals_take(image, size);

	locals_put(image, at + image->layout.ob_type, type);
	return at;
}

static inline uint64_t locals_text(struct locals_image *image, uint64_t type, const char *text)
{
	uint64_t at = locals_object(image, type, image->layout.unicode_ascii_data + strlen(text) + 1);

	locals_put(image, at + image->layout.unicode_length, strlen(text));
	locals_put(image, at + image->layout.unicode_state,
		   1u << image->layout.unicode_kind_shift | 3u << image->layout.unicode_compact_shift);
	memcpy(image->bytes + (at + image->layout.unicode_ascii_data - locals_base), text, strlen(text) + 1);
	return at;
}

static inline uint64_t locals_tuple(struct locals_image *image, uint64_t type, const uint64_t *items, size_t count)
{
	uint64_t at = locals_object(image, type, image->objects.tuple_items + 8 * count);
	size_t i;

	locals_put(image, at + image->layout.bytes_size, count);
	for (i = 0; i < count; i++)
		locals_put(image, at + image->objects.tuple_items + 8 * i, items[i]);
	return at;
}

static inline uint64_t locals_bytes(struct locals_image *image, uint64_t type, const void *bytes, size_t count)
{
	uint64_t at = locals_object(image, type, image->layout.bytes_data + count + 1);

	locals_put(image, at + image->layout.bytes_size, count);
	if (count)
		memcpy(image->bytes + (at + image->layout.bytes_data - locals_base), bytes, count);
	return at;
}

static inline uint64_t locals_table(struct locals_image *image, uint64_t type, uint64_t key, uint64_t value)
{
	bool is_new = image->layout.version >= 0x030b;
	uint64_t at = locals_object(image, type, 48);
	uint64_t keys = locals_take(image, image->objects.keys_indices + 8 + 24);
	uint64_t entry = keys + image->objects.keys_indices + 8 + (is_new ? 0 : 8);

	locals_put(image, at + image->layout.bytes_size, 1);
	locals_put(image, at + image->objects.dict_keys, keys);
	/* 8 indices of a byte; all keys are strings */
	locals_put(image, keys + 8, is_new ? 3 | 3 << 8 | 1 << 16 : 8);
	locals_put(image, keys + image->objects.keys_entries, 1);
	locals_put(image, entry, key);
	locals_put(image, entry + 8, value);
	return at;
}

static inline struct py_layout locals_layout(uint16_t version)
{
	bool is_new = version >= 0x030c;
	uint16_t data = is_new ? 40 : 48;

	return (struct py_layout){.version = version,
				  .frame_code = is_new ? 0 : 32,
				  .code_tag_mask = version >= 0x030e ? 3 : 0,
				  .unicode_kind_shift = 2,
				  .unicode_compact_shift = 5,
				  .unicode_length = 16,
				  .unicode_state = 32,
				  .unicode_ascii_data = data,
				  .unicode_compact_data = is_new ? 56 : 72,
				  .bytes_size = 16,
				  .bytes_data = 32,
				  .type_name = 24,
				  .ob_type = 8};
}

static inline struct locals_image locals_image(size_t number)
{
	static const uint16_t versions[LOCALS_VERSIONS] = {0x030a, 0x030c, 0x030e};
	static const uint8_t kinds[] = {0x20, 0x20, 0x20, 0x60, 0x20, 0x20, 0x20, 0x80};
	static const uint32_t digits[] = {1, 0, 1};
	static const char *const names[] = {"number", "text", "pair", "table", "data", "bad", "unset", "free"};
	struct locals_image image = {.layout = locals_layout(versions[number])};
	const struct py_objects *objects = &image.objects;
	uint64_t type_str, type_tuple, type_code, type_cell, type_bytes, name[8], value[8], code, shape, real, cells[2];
	bool is_new = image.layout.version >= 0x030b;
	const double number_real = 1.5;
	uint64_t counts, i;

	image.objects = python_objects(&image.layout, 0);
	/* All types are next to each other, with those fields that are far from the start in the same place. */
	image.objects.type_flags = 32;
	image.objects.type_dict = 40;
	image.objects.type_qualname = 16;
	type_str = locals_type(&image, "str", 0);
	type_tuple = locals_type(&image, "tuple", 0);
	type_code = locals_type(&image, "code", 0);
	type_cell = locals_type(&image, "cell", 0);
	type_bytes = locals_type(&image, "bytes", 0);
	for (i = 0; i < 8; i++)
		name[i] = locals_text(&image, type_str, names[i]);

	value[0] = locals_bytes(&image, locals_type(&image, "int", 0), NULL, 0);
	counts = image.layout.version < 0x030c ? (uint64_t)-3 : 3 << 3 | 2;
	locals_take(&image, 16);
	locals_put(&image, value[0] + image.layout.bytes_size, counts);
	memcpy(image.bytes + (value[0] + objects->long_digits - locals_base), digits, sizeof(digits));
	value[1] = locals_text(&image, type_str, "it's \"\n");
	real = locals_object(&image, locals_type(&image, "float", 0), 24);
	memcpy(image.bytes + (real + objects->float_value - locals_base), &number_real, 8);
	/* A class in a module. */
	shape = locals_type(&image, "Class", 1 << 9);
	locals_put(&image, shape + objects->type_qualname, locals_text(&image, type_str, "Class"));
	locals_put(&image, shape + objects->type_dict,
		   locals_table(&image, 0, locals_text(&image, type_str, "__module__"),
				locals_text(&image, type_str, "toy")));
	locals_put(&image, locals_base + LOCALS_CLASS + image.layout.ob_type, shape);
	value[2] = locals_tuple(&image, type_tuple, (uint64_t[]){value[0], locals_base + LOCALS_CLASS}, 2);
	cells[0] = locals_object(&image, type_cell, 24);
	locals_put(&image, cells[0] + objects->cell_value,
		   locals_table(&image, locals_type(&image, "dict", 0), value[1], real));
	value[3] = cells[0];
	value[4] = locals_bytes(&image, type_bytes, "\x00\xff", 2);
	value[5] = 0x7fff0000;
	value[6] = 0;
	cells[1] = locals_object(&image, type_cell, 24);
	locals_put(&image, cells[1] + objects->cell_value, real);
	value[7] = cells[1];

	code = locals_object(&image, type_code, 128);
	locals_put(&image, code + objects->code_flags, 3);
	if (is_new) {
		locals_put(&image, code + objects->code_names, locals_tuple(&image, type_tuple, name, 8));
		locals_put(&image, code + objects->code_kinds, locals_bytes(&image, type_bytes, kinds, 8));
	} else {
		/* The cell's slot is behind those of the variables. */
		uint64_t plain[] = {name[0], name[1], name[2], name[3], name[4], name[5], name[6]};

		locals_put(&image, code + objects->code_names, locals_tuple(&image, type_tuple, plain, 7));
		locals_put(&image, code + objects->code_cells, locals_tuple(&image, type_tuple, NULL, 0));
		locals_put(&image, code + objects->code_free, locals_tuple(&image, type_tuple, &name[7], 1));
		locals_put(&image, code + objects->code_flags, 3);
		memcpy(image.bytes + (code + objects->code_nlocals - locals_base), &(uint32_t){7}, 4);
		value[3] = locals_table(&image, locals_type(&image, "dict", 0), value[1], real);
	}
	image.frame = locals_take(&image, objects->frame_locals + 8 * 8);
	locals_put(&image, image.frame + image.layout.frame_code, code | (image.layout.code_tag_mask ? 1 : 0));
	for (i = 0; i < 8; i++)
		locals_put(&image, image.frame + objects->frame_locals + 8 * i,
			   image.layout.version >= 0x030e ? value[i] | 1 : value[i]);
	return image;
}

#endif
