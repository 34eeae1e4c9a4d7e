/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: which of the watched threads are sampled: what src/bpf/filter.h and user space share. A set of bits says for
 * each kind of filter whether there is one, or which filters a thread matches.
 */
#ifndef STRATA_ABI_FILTER_H
#define STRATA_ABI_FILTER_H

enum filter_kind {
	FILTER_BY_CGROUP,    /* the thread is in one of these cgroups, or below */
	FILTER_BY_CONTAINER, /* the thread's cgroup belongs to one of these containers */
	FILTER_BY_USER,      /* the real user id */
	FILTER_BY_COMM,      /* the thread's name */
	FILTER_BY_CPU,       /* where it runs; the kernel part need not check this */
	FILTER_KINDS
};

#define FILTER_WANTED(kind)   (1u << (kind))
#define FILTER_EXCLUDED(kind) (0x100u << (kind))
#define FILTER_BITS(kind)     (FILTER_WANTED(kind) | FILTER_EXCLUDED(kind))
#define FILTER_ALL_WANTED     0xffu
#define FILTER_ALL_EXCLUDED   0xff00u

#define FILTER_USERS_MAX   256   /* and */
#define FILTER_CGROUPS_MAX 32    /* of those wanted and of those excluded, together */
#define FILTER_JUDGED_MAX  16384 /* names, and cgroups of containers, whose verdicts are kept at a time */

#endif
