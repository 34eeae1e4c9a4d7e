/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: the linked object of a script into the kernel, and what a refusal of its verifier means for the script.
 *
 * Loading is short because two threads share it. First one makes the maps with a value for each CPU, the other one
 * begins with the rest, and each takes the next that is left (kernel/object_maps.h). Then one has the verifier read
 * the programs, while the main thread reads /proc. libbpf never parses the kernel's BTF, which would take 14 ms and 11
 * MB each time: the few offsets that the walks need come from kernel/core_types.h, the number of the one kernel
 * function that the sampler calls from kernel/kernel_btf.h, the types that a script names from
 * lang/kernel/kernel_types.h. What it costs: docs/FACTS.md, "BPF and its verifier".
 */
#ifndef STRATA_TRACE_LOAD_H
#define STRATA_TRACE_LOAD_H

#include <pthread.h>
#include <bpf/libbpf.h>
#include <stdbool.h>

#include "base/diag.h"

struct compiler;
struct run;
struct unit;

/* The verifier takes most of a start with stacks: meanwhile the unwind tables are made, which only need the maps. */
struct loading {
	struct run *run;
	char *log;  /* touched on failure only */
	bool finds; /* the kernel keeps mappings as bpf/find.h reads them */
	int types;  /* of the kernel, for the runtime library; -1: not needed */
	int err;
	bool is_apart; /* in `thread` */
	pthread_t thread;
};

/*
 * Opens run->object and creates its maps; with stacks the verifier then works in a thread. `loading` is zero except for
 * `run` and a `types` of -1, and is passed to load_end() also after a failure. 0 or a negative errno.
 */
int load_begin(struct loading *loading, struct diag *diag);

/* Waits until the programs are loaded. `err`: an earlier failure; then nothing is loaded. */
int load_end(struct loading *loading, int err, struct diag *diag);

/*
 * The programs of a script that was compiled once more (compile_options.first), into run->object: those of the units
 * that wanted() names. Its maps are those of `first`, an object that is loaded. Everything else is as with
 * load_begin(); load_end() is not called.
 */
int load_more(struct loading *loading, const struct bpf_object *first,
	      bool (*wanted)(const struct compiler *c, const struct unit *unit), struct diag *diag);

#endif
