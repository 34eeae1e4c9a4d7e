// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe_read OBJECT: prints, in ns, what one read of 8 bytes takes, and what it takes to verify one frame of a deep
 * stack in place. kernel.bpf_stats_enabled must be 1. Needs root.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe_read.h"

#define HZ      499
#define SECONDS 2

static _Alignas(4096) volatile uint64_t stack[STACK_WORDS];

static int sampled_self(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .freq = 1,
				       .sample_freq = HZ};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* What the walk of the time before would have kept: see struct frame in probe_read.bpf.c. */
static int remember_frames(const struct bpf_object *object)
{
	size_t size = bpf_map__value_size(bpf_object__find_map_by_name(object, "memories"));
	uint64_t *value = calloc(1, size), *frame;
	uint32_t zero = 0;
	int err, i;

	if (!value)
		return -1;
	frame = value + (size / sizeof(*value) - STACK_KEPT * 3);
	for (i = 0; i < STACK_FRAMES; i++, frame += 3) {
		frame[0] = (uint64_t)(i + 1) * STACK_FRAME_WORDS - 1;
		frame[1] = stack[frame[0]];
		frame[2] = stack[frame[0] - 1];
	}
	err = bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "memories"), &zero, value, BPF_ANY);
	free(value);
	return err;
}

/* ns a run of the program; negative when it did not run, or was not measured. */
static double measure(const struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	struct bpf_link *link = program ? bpf_program__attach_perf_event(program, sampled_self()) : NULL;
	clock_t end = clock() + SECONDS * (clock_t)CLOCKS_PER_SEC;
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	while (link && clock() < end)
		;
	if (!link || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) || !info.run_cnt)
		return -1;
	bpf_link__destroy(link);
	return (double)info.run_time_ns / (double)info.run_cnt;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	volatile uint64_t target = 17;
	struct probe_read_settings settings = {
		.address = (uintptr_t)&target, .stack = (uintptr_t)stack, .process = (unsigned int)getpid()};
	struct bpf_map *constants = object ? bpf_object__find_map_by_name(object, ".rodata") : NULL;
	double read, verify;
	uint64_t i;

	for (i = 0; i < STACK_WORDS; i++)
		stack[i] = i;
	if (!constants || bpf_map__set_initial_value(constants, &settings, sizeof(settings)) ||
	    bpf_object__load(object) || remember_frames(object)) {
		fprintf(stderr, "probe_read: the programs cannot be loaded\n");
		return 1;
	}
	read = measure(object, "probe_read");
	verify = measure(object, "verify");
	if (read < 0 || verify < 0) {
		fprintf(stderr, "probe_read: a program did not run, or was not measured\n");
		return 1;
	}
	printf("%.1f %.1f\n", read / PROBE_READS, verify / STACK_FRAMES);
	return 0;
}
