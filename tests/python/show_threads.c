// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_threads FILE [PID BIAS]: the layers of src/runtime/python/thread_state.h for an ELF file, one a line:
 *
 *     layer SOURCE: RESULT                      found
 *     none SOURCE: REASON
 *
 * and, for a process that has the file mapped at BIAS (hexadecimal), what each layer that has a path gives:
 *
 *     path SOURCE: OFFSET...
 *     verified SOURCE: THREADS AGREED FOREIGN EMPTY
 *     unverified SOURCE: REASON
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/python/thread_state.h"

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void show_live(const struct elf_file *elf, const struct python_interpreter *interpreter, uint64_t bias,
		      const struct python_thread_memory *memory, const struct python_thread_layer *layer)
{
	struct python_thread_check check = {};
	struct python_thread_path path;
	struct diag diag = {};
	double start = microseconds();
	uint32_t i;
	int err;

	if (!layer->found || layer->answer.kind == PYTHON_THREAD_LIST)
		return;
	err = python_thread_resolve(elf_file_machine(elf), &layer->answer, bias, memory, &path, &diag);
	if (err) {
		printf("unverified %s: %s\n", layer->source, diag.text);
		return;
	}
	printf("path %s:", layer->source);
	for (i = 0; i < path.count; i++)
		printf(" %+" PRId64, path.offset[i]);
	printf("\n");
	err = python_thread_verify(interpreter, bias, memory, &path, 0, &check, &diag);
	if (err)
		printf("unverified %s: %s\n", layer->source, diag.text);
	else
		printf("verified %s: %zu %zu %zu %zu\n", layer->source, check.threads, check.agreed, check.foreign,
		       check.empty);
	printf("live_us %.0f\n", microseconds() - start);
}

static int show(const struct elf_file *elf, int pid, uint64_t bias, struct diag *diag)
{
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	struct python_thread_memory memory;
	struct python_interpreter interpreter;
	size_t count = 0, i;
	double start;
	int err;

	err = python_interpreter_recognise(elf, &interpreter, diag);
	if (err != 1)
		return err ? err : diag_fail(diag, ENOENT, "python.none", "no interpreter");
	start = microseconds();
	err = python_thread_layers(elf, &interpreter, layers, PYTHON_THREAD_LAYERS, &count);
	printf("layers_us %.0f\n", microseconds() - start);
	for (i = 0; i < count; i++)
		printf("%s %s: %s\n", layers[i].found ? "layer" : "none", layers[i].source, layers[i].result);
	if (err || pid < 0)
		return err;
	err = python_thread_memory_open(NULL, pid, &memory, diag);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		show_live(elf, &interpreter, bias, &memory, &layers[i]);
	python_thread_memory_close(&memory);
	return 0;
}

int main(int argc, char **argv)
{
	struct diag diag = {};
	struct elf_file *elf;
	int fd, err;

	fd = argc == 2 || argc == 4 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: show_threads FILE [PID BIAS]\n");
		return 2;
	}
	err = elf_file_open(fd, argv[1], &elf, &diag);
	if (!err) {
		err = show(elf, argc == 4 ? atoi(argv[2]) : -1, argc == 4 ? strtoull(argv[3], NULL, 16) : 0, &diag);
		elf_file_close(elf);
	}
	close(fd);
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	return err ? 1 : 0;
}
