/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: which threads are sampled, of those that are watched: by cgroup, container, user, name and CPU.
 *
 *   filter_create ─► filter_add, filter_exclude … ─► filter_find ─► engine_options.filter ─► filter_destroy
 *
 * A thread is sampled if it is one of those wanted, of each kind that is asked for, and none of those excluded. The
 * kernel part decides before it does anything else for a sample (bpf/filter.h); users, cgroups and CPUs for good. It
 * cannot match names, and does not know containers: the first sample of each name, or of each cgroup, comes here, is
 * judged, and dropped if it is not wanted, as if it had never been taken (watch_options.wants). From then on the kernel
 * part knows. So a container that is started later is met, too.
 *
 * The real user id counts, and the cgroup of version 2. Off the CPU a thread is judged when it leaves, and by the CPU
 * that it gets; one that does not come back, by where it ran last. Not thread-safe.
 */
#ifndef STRATA_ENGINE_FILTER_H
#define STRATA_ENGINE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/events.h"
#include "abi/filter.h"
#include "base/diag.h"
#include "kernel/off_cpu.h"
#include "kernel/sampler.h"

struct filter;

struct filter *filter_create(void); /* NULL when memory is short */
void filter_destroy(struct filter *filter);

/*
 * One more value of a kind. It is kept; looked for by filter_find(). -EINVAL and a diag: it is none, whatever there is
 * on this machine; -ENOMEM.
 */
int filter_add(struct filter *filter, enum filter_kind kind, const char *value, struct diag *diag);
/* "KIND=VALUE": what is not sampled. */
int filter_exclude(struct filter *filter, const char *text, struct diag *diag);

/* Finds all of them on this machine. -ENOENT and others with a diag: there is no such user, cgroup, container, CPU. */
int filter_find(struct filter *filter, struct diag *diag);

/* For people: ", user www, not comm ^kworker"; "" if there is none. */
void filter_text(const struct filter *filter, char *ret, size_t size);

/* For the engine. The rules are the filter's; NULL: there are none. */
const struct filter_rules *filter_rules(const struct filter *filter);
/* Where its verdicts go from now on; what is known already goes there at once. */
void filter_begin(struct filter *filter, struct sampler *sampler);
/* Is a sample wanted? `filter` is a void pointer for watch_options.wants. */
bool filter_wants(void *filter, const struct sample_event *sample);
/* Is a wait wanted whose thread has not come back? */
bool filter_wants_waiting(void *filter, const struct off_cpu_waiting *waiting);

#endif
