// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump_stacks PID SAMPLES HZ: the native stacks of a process in so many samples, each once, as addresses in files. A
 * line for each frame, innermost first: "PATH VADDR", with a "<" between when the address is a return address; an empty
 * line after each stack. Stacks that were not walked to their root are left out, and counted on stderr.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/loss.h"
#include "engine/watch.h"

static void print_stack(struct watch *watch, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; i < stack->count; i++) {
		const struct location *location = &watch_store(watch)->locations.at[stack->frames[i]];
		const struct object *object = NULL;

		if (location->object >= LOCATION_FILES)
			object = objects_at(watch_objects(watch), location->object - LOCATION_FILES);
		printf("%s %s%#llx\n", object && *object->file->path ? object->file->path : "-",
		       location->is_return ? "<" : "", (unsigned long long)location->address);
	}
	putchar('\n');
}

static void print_stacks(struct watch *watch)
{
	const struct store *store = watch_store(watch);
	unsigned long long cut = 0;
	size_t i;

	for (i = 0; i < store->tallies.list.count; i++) {
		const struct tally *tally = &store->tallies.list.at[i];
		const struct stack *stack = store_stack_at(store, tally->native_stack);

		if (stack && tally->native_loss == LOSS_NONE)
			print_stack(watch, stack);
		else
			cut += tally->count;
	}
	fprintf(stderr, "%llu samples, %llu without a whole stack\n", (unsigned long long)store->tallies.samples, cut);
}

int main(int argc, char **argv)
{
	struct sampler_options options = {};
	const struct watch_options watch_options = {};
	struct sideband *sideband;
	struct sampler *sampler;
	struct watch *watch;
	struct diag diag = {};
	uint64_t samples;
	int pid;

	if (argc != 4)
		return 2;
	pid = atoi(argv[1]);
	samples = strtoull(argv[2], NULL, 10);
	options.frequency = (unsigned int)atoi(argv[3]);
	if (sampler_create(&options, &sampler, &diag) || sideband_open(&sideband, &diag) ||
	    watch_create(&watch_options, sampler, sideband, &watch, &diag) ||
	    sampler_watch(sampler, pid, TARGET_CHILDREN) || watch_scan(watch, pid) || sampler_start(sampler, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	while (watch_store(watch)->tallies.samples < samples) {
		struct pollfd ready = {.fd = sampler_fd(sampler), .events = POLLIN};

		poll(&ready, 1, 50);
		if (watch_drain(watch))
			return 1;
	}
	sampler_stop(sampler);
	if (watch_finish(watch))
		return 1;
	print_stacks(watch);
	watch_destroy(watch);
	sideband_close(sideband);
	sampler_destroy(sampler);
	return 0;
}
