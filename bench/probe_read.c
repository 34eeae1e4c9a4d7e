// SPDX-License-Identifier: GPL-2.0-or-later
/* probe_read OBJECT: prints what one read of 8 bytes takes, in ns. kernel.bpf_stats_enabled must be 1. Needs root. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe_read.h"

#define HZ      997
#define SECONDS 2

static int sampled_self(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .freq = 1,
				       .sample_freq = HZ};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	volatile uint64_t target = 17;
	struct probe_read_settings settings = {.address = (uintptr_t)&target, .process = (unsigned int)getpid()};
	struct bpf_map *constants = object ? bpf_object__find_map_by_name(object, ".rodata") : NULL;
	struct bpf_program *program = object ? bpf_object__find_program_by_name(object, "probe_read") : NULL;
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int event = sampled_self();

	if (!program || !constants || event < 0 || bpf_map__set_initial_value(constants, &settings, sizeof(settings)) ||
	    bpf_object__load(object) || !bpf_program__attach_perf_event(program, event)) {
		fprintf(stderr, "probe_read: the program cannot be loaded\n");
		return 1;
	}
	while (clock() < SECONDS * (clock_t)CLOCKS_PER_SEC)
		;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) || !info.run_cnt) {
		fprintf(stderr, "probe_read: it did not run, or was not measured\n");
		return 1;
	}
	printf("%.1f\n", (double)info.run_time_ns / (double)info.run_cnt / PROBE_READS);
	return 0;
}
