// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The variables of a frame that is any bytes. Byte 0 chooses the version; the rest is the process's memory: an
 * address's low 12 bits are an offset into it, so that every pointer may hit.
 */
#include <errno.h>

#include "../tests/unit/fake_python_locals.h"
#include "base/cursor.h"
#include "fuzz.h"
#include "profile/text.h"

#define READS_MAX 20000

struct bytes {
	const uint8_t *at;
	size_t size;
};

static int read_bytes(void *context, void *dst, size_t size, uint64_t address)
{
	const struct bytes *bytes = context;
	uint64_t offset = address & (LOCALS_BYTES - 1);

	if (offset > bytes->size || size > bytes->size - offset)
		return -EFAULT;
	memcpy(dst, bytes->at + offset, size);
	return 0;
}

/* UTF-8 but for lone surrogates, which are written as `?` or escaped. */
static void check_text(const char *text)
{
	unsigned int length;

	CHECK(strlen(text) < sizeof(((struct py_text *)NULL)->bytes));
	for (; *text; text += length) {
		length = text_character(text, NULL);
		CHECK(length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_init(data, size);
	struct locals_image image = locals_image(cursor_u8(&c) % LOCALS_VERSIONS);
	struct bytes bytes = {.size = cursor_left(&c)};
	const struct memory memory = {.read = read_bytes, .context = &bytes};
	struct runtime_effort effort = {.until = UINT64_MAX, .reads = READS_MAX};
	struct py_reader reader = {
		.memory = &memory, .layout = &image.layout, .objects = &image.objects, .effort = &effort};
	struct runtime_locals locals = {};
	size_t i;

	bytes.at = cursor_take(&c, bytes.size);
	if (!bytes.at)
		return 0;
	CHECK(!python_locals(&reader, image.frame, &locals));
	CHECK(effort.reads <= READS_MAX);
	for (i = 0; i < locals.list.count; i++) {
		check_text(locals.list.at[i].name);
		check_text(locals.list.at[i].value);
	}
	runtime_locals_deinit(&locals);
	return 0;
}
