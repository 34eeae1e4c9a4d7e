/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: which threads are sampled, of those that are watched: by cgroup, container, user, name and CPU.
 *
 *   filter_create ─► filter_add, filter_exclude … ─► filter_find ─► engine_options.filter ─► filter_destroy
 *
 * A thread is sampled if it matches a wanted value of each kind of filter that is given, and no excluded value. The
 * kernel part decides before it does anything else for a sample (bpf/filter.h). It decides about users, cgroups and
 * CPUs by itself. It cannot match names, and does not know containers. So the first sample of each name, or of each
 * cgroup, is judged here, and dropped if it is not wanted, as if it had never been taken (watch_options.wants). From
 * then on the kernel part knows the verdict. So a container that is started later is recognised, too.
 *
 * Users are matched by real user id, cgroups are those of version 2. A thread off the CPU is judged when it leaves its
 * CPU; for filters by CPU, the CPU on which it comes back counts, or the one on which it last ran if it does not come
 * back. Not thread-safe.
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
 * Adds a wanted value of a kind. It is stored, and looked up by filter_find(). -EINVAL with a diag: it cannot be such a
 * value on any machine; -ENOMEM.
 */
int filter_add(struct filter *filter, enum filter_kind kind, const char *value, struct diag *diag);
/* Adds an excluded value: "KIND=VALUE". */
int filter_exclude(struct filter *filter, const char *text, struct diag *diag);

/*
 * Looks up all values on this machine. -ENOENT and others with a diag: there is no such user, cgroup, container or CPU.
 */
int filter_find(struct filter *filter, struct diag *diag);

/* For people: ", user www, not comm ^kworker"; "" if there is none. */
void filter_text(const struct filter *filter, char *ret, size_t size);

/* For the engine. The rules are the filter's; NULL: there are none. */
const struct filter_rules *filter_rules(const struct filter *filter);
/* From now on verdicts are passed to `sampler`. Those that are already known are passed at once. */
void filter_begin(struct filter *filter, struct sampler *sampler);
/* Is a sample wanted? `filter` is a void pointer for watch_options.wants. */
bool filter_wants(void *filter, const struct sample_event *sample);
/* Is a wait wanted that has not ended? */
bool filter_wants_waiting(void *filter, const struct off_cpu_waiting *waiting);

#endif
