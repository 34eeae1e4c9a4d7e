// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/key_layout.h"

#include <errno.h>
#include <limits.h>

#include "arch/arch.h"

/* How the thread's value for one key is reached from the thread pointer: one load, or two. */
struct place {
	size_t loads;
	int64_t offset[2];
};

/* The thread pointer itself, read from where a libc keeps it in the thread's descriptor. */
static bool is_self(uint16_t machine, const struct key_value *value)
{
	const struct arch_descriptor *descriptor;

	if (value->loads < 2 || value->pointer[0] != 1 || value->pointer[1])
		return false;
	for (descriptor = arch_of(machine)->descriptors; descriptor->tid; descriptor++)
		if (value->offset[0] == descriptor->self)
			return true;
	return false;
}

static int find_place(uint16_t machine, const struct key_image *image, uint64_t function, uint32_t key,
		      struct place *ret)
{
	struct key_evaluation evaluation;
	const struct key_value *value = &evaluation.returns.at[0];
	size_t i, first;
	int err = key_evaluate(machine, image, function, key, false, &evaluation);

	if (err)
		return err;
	if (evaluation.returns.count != 1 || value->base != KEY_BASE_NONE || !value->loads || value->width != 8 ||
	    value->offset[value->loads])
		return -ENOENT;
	for (i = 0; i <= value->loads; i++)
		if (value->pointer[i] != (i == 0))
			return -ENOENT;
	first = is_self(machine, value);
	ret->loads = value->loads - first;
	if (ret->loads > 2)
		return -ENOENT;
	for (i = 0; i < ret->loads; i++)
		ret->offset[i] = value->offset[first + i];
	return 0;
}

static bool is_offset(int64_t offset)
{
	return offset > INT16_MIN && offset < INT16_MAX;
}

/* Whether the function agrees with what was made of it. */
static int check(uint16_t machine, const struct key_image *image, uint64_t function, const struct py_keys *keys,
		 uint32_t key)
{
	uint32_t in_block = key & ((1u << keys->block_shift) - 1);
	struct place place;
	int err = find_place(machine, image, function, key, &place);

	if (err)
		return err;
	if (key < keys->direct)
		return place.loads == 1 && place.offset[0] == keys->direct_at + (int64_t)key * keys->stride ? 0
													    : -ENOENT;
	return place.loads == 2 && place.offset[0] == keys->blocks_at + 8 * (int64_t)(key >> keys->block_shift) &&
			       place.offset[1] == keys->value_at + (int64_t)in_block * keys->stride
		       ? 0
		       : -ENOENT;
}

/* Those behind the direct ones; `keys->direct` is a power of two. */
static int find_blocks(uint16_t machine, const struct key_image *image, uint64_t function, struct py_keys *keys)
{
	struct place place;
	int err;

	for (keys->direct = 2, keys->block_shift = 1; keys->direct < PY_KEYS_MAX; keys->direct *= 2) {
		err = find_place(machine, image, function, keys->direct, &place);
		if (err)
			return err;
		if (place.loads == 2)
			break;
		keys->block_shift++;
	}
	if (place.loads != 2 || !is_offset(place.offset[0]) || place.offset[1] < 0 || place.offset[1] > UINT8_MAX)
		return -ENOENT;
	keys->blocks_at = (int32_t)place.offset[0] - 8;
	keys->value_at = (uint8_t)place.offset[1];
	return 0;
}

int key_layout_evaluate(uint16_t machine, const struct key_image *image, uint64_t function, struct py_keys *ret)
{
	static const uint32_t some[] = {0, 1, 31, 32, 33, 63, 64, 101, 127};
	struct place zero, one;
	struct py_keys keys = {};
	int err = find_place(machine, image, function, 0, &zero);
	int64_t stride;
	size_t i;

	if (!err)
		err = find_place(machine, image, function, 1, &one);
	if (err)
		return err;
	stride = one.offset[one.loads - 1] - zero.offset[zero.loads - 1];
	if (zero.loads != one.loads || stride < 8 || stride > UINT8_MAX || !is_offset(zero.offset[0]))
		return -ENOENT;
	keys.stride = (uint8_t)stride;
	if (zero.loads == 1) {
		keys.direct_at = (int32_t)zero.offset[0];
		err = find_blocks(machine, image, function, &keys);
	} else {
		if (zero.offset[1] < 0 || zero.offset[1] > UINT8_MAX)
			return -ENOENT;
		keys.blocks_at = (int32_t)zero.offset[0];
		keys.block_shift = PY_ONE_BLOCK;
		keys.value_at = (uint8_t)zero.offset[1];
	}
	for (i = 0; !err && i < sizeof(some) / sizeof(*some); i++)
		err = check(machine, image, function, &keys, some[i]);
	if (!err)
		*ret = keys;
	return err;
}

bool key_layout_function(const struct elf_file *elf, bool whole, uint64_t *vaddr, uint64_t *size)
{
	return elf_file_find_dynamic_symbol(elf, KEY_GETTER, vaddr, size) ||
	       (whole && elf_file_is_program(elf) && elf_file_find_symbol(elf, KEY_GETTER, vaddr, size));
}

int key_layout_read(const struct elf_file *elf, struct py_keys *ret)
{
	struct key_file *file;
	struct key_image image;
	uint64_t function, size;
	int err;

	if (!key_layout_function(elf, true, &function, &size))
		return -ENOENT;
	err = key_file_create(elf, &file);
	if (err)
		return err;
	image = key_file_image(file);
	err = key_layout_evaluate(elf_file_machine(elf), &image, function, ret);
	key_file_destroy(file);
	return err;
}
