/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks: what a script with stacks needs besides its programs: the processes' unwind tables in the kernel, kept up to
 * date as `record` does it (engine/watch.h), and the frames of the stacks that were sent, with their names. The stacks
 * themselves come from rt_stack, which is the sampler's own source: the same walks, tables and records.
 *
 * A script starts quickly because little is done before its probes are attached. Of the running processes only Python
 * is looked for. Their unwind tables are compiled between events, 2 ms at a time (watch_scan_all_lazily()), or when a
 * process has its first event. Only processes that run a probed file (watch_options.expected) have theirs compiled at
 * once, while the verifier works, for at most 50 ms of CPU time. The programs report processes from the moment they are
 * loaded; what happened before is in the side-band by then.
 *
 * Not thread-safe.
 */
#ifndef STRATA_TRACE_STACKS_H
#define STRATA_TRACE_STACKS_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>

#include "abi/events.h"
#include "base/diag.h"
#include "base/foreign.h"
#include "lang/core/type.h"
#include "lang/dialect/printer.h"
#include "lang/rt/abi.h"

struct stacks;
struct names;
struct fetch;
struct compile_options;

/*
 * Before the object is loaded: sizes and settings of the sampler's maps. `parts`: enum stack_part of all stacks;
 * `finds` as in struct programs_options; `compile` has the pid namespace.
 */
int stacks_configure(struct bpf_object *object, uint32_t parts, bool finds, const struct compile_options *compile,
		     struct diag *diag);

/*
 * To be called when its maps exist, also while it is being loaded. The kernel is told about the process `pid` (0: none)
 * and its children at once; without one, it is told about all others at their first event. `is_command`: it is about to
 * call exec. `files`, borrowed, reads mapped files.
 */
struct stacks_options {
	uint32_t parts; /* enum stack_part */
	int pid;
	bool is_command;
	struct foreign_files *files;
	const pid_t *early; /* other processes about which the kernel is told at once */
	uint32_t early_count;
	const char *const *probed; /* files whose processes get their tables as soon as possible; may repeat */
	uint32_t probed_count;
	bool with_sources;         /* files, lines and inlined functions are printed */
	const char *debug_folders; /* borrowed: where debug information is looked for first, or NULL */
};
int stacks_create(struct bpf_object *object, const struct stacks_options *options, struct stacks **ret,
		  struct diag *diag);
/* When it is loaded, before probes are attached: from now on what the kernel was told is kept up to date. */
int stacks_begin(struct stacks *stacks, struct diag *diag);
void stacks_destroy(struct stacks *stacks);

/* Descriptors to be polled. */
unsigned int stacks_fd_count(const struct stacks *stacks);
int stacks_fd(const struct stacks *stacks, unsigned int index);

/* Handles news about processes. */
int stacks_drain(struct stacks *stacks);
/* Did that leave work undone? Then call it again soon. */
bool stacks_is_behind(const struct stacks *stacks);
/* No probe is attached any more. */
void stacks_end(struct stacks *stacks);

/* When nothing is sent any more: debug files for stacks that are still to be printed (engine/fetch.h). 0 or -ENOMEM. */
int stacks_fetch(struct stacks *stacks, struct fetch *fetch);

/* A record of the ring that is the sampler's. */
int stacks_record(struct stacks *stacks, const struct event_header *event, size_t size);

/* The frames of a stack, one a line, or by `;` from the outermost (folded, JSON). */
void stacks_print(struct stacks *stacks, struct names *names, FILE *out, const struct type *type,
		  const struct rt_stack_value *value, bool json);

/* A symbol of a process that may be gone; false when it is not known. */
bool stacks_symbol(struct stacks *stacks, FILE *out, uint64_t address, int pid, enum symbol_form form);
/* Likewise the path of the file that was mapped there; nothing is written when it is not known. */
void stacks_file(struct stacks *stacks, FILE *out, uint64_t address, int pid);

#endif
