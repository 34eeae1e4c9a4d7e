// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first byte chooses: bit 0 the machine, bit 1 an argument, bit 2 a TLS descriptor's function, bit 3 whether what
 * is read is known; the rest is code. With bit 7 the rest is an ELF file, whose layers are asked for.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/python/key_decoder.h"
#include "runtime/python/thread_state.h"
#include "fuzz.h"

#define BASE 0x1000

struct input {
	const uint8_t *data;
	size_t size;
};

static size_t input_code(void *context, uint64_t address, uint8_t *buffer, size_t size)
{
	const struct input *input = context;

	if (address < BASE || address - BASE >= input->size)
		return 0;
	if (size > input->size - (address - BASE))
		size = input->size - (address - BASE);
	memcpy(buffer, input->data + (address - BASE), size);
	return size;
}

static void input_load(void *context, uint64_t address, unsigned int width, struct key_value *ret)
{
	uint64_t value = 0;

	if (width <= sizeof(value) && input_code(context, address, (uint8_t *)&value, width) == width)
		*ret = (struct key_value){.known = true, .width = 8, .offset = {(int64_t)value}};
}

static void unknown_load(void *context, uint64_t address, unsigned int width, struct key_value *ret)
{
	(void)context;
	(void)address;
	(void)width;
	(void)ret;
}

static void check_answers(const struct key_answers *answers)
{
	size_t i;

	for (i = 0; i < answers->count && i < KEY_ANSWERS; i++)
		if (!answers->at[i].known || answers->at[i].loads > KEY_LOADS)
			abort();
}

static void layers(const uint8_t *data, size_t size)
{
	struct python_thread_layer found[PYTHON_THREAD_LAYERS];
	struct python_interpreter interpreter;
	struct elf_file *elf;
	size_t count, i;

	if (elf_file_open_memory(data, size, "fuzz", &elf, NULL))
		return;
	memset(&interpreter, 0, sizeof(interpreter));
	interpreter.version = 0x030c;
	if (!python_thread_layers(elf, &interpreter, found, PYTHON_THREAD_LAYERS, &count))
		for (i = 0; i < count; i++)
			if (!found[i].source || !*found[i].result || found[i].found != !!found[i].answer.kind)
				abort();
	elf_file_close(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct key_evaluation evaluation;
	struct input input;
	struct key_image image;

	if (!size)
		return 0;
	if (*data & 0x80) {
		layers(data + 1, size - 1);
		return 0;
	}
	input = (struct input){.data = data + 1, .size = size - 1};
	image = (struct key_image){
		.code = input_code, .load = *data & 8 ? input_load : unknown_load, .context = &input};
	if (!key_evaluate(*data & 1 ? EM_AARCH64 : EM_X86_64, &image, BASE, *data & 2 ? 5 : KEY_ARGUMENT_NONE,
			  *data & 4, &evaluation)) {
		check_answers(&evaluation.keys);
		check_answers(&evaluation.returns);
	}
	return 0;
}
