/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: which threads are sampled, of those that are watched: what src/bpf/filter.h and user space share. A set of
 * bits says for each kind of filter whether there is one, or what a thread is by it.
 */
#ifndef STRATA_ABI_FILTER_H
#define STRATA_ABI_FILTER_H

enum filter_kind {
	FILTER_BY_CGROUP,    /* the thread is in one of these cgroups, or below */
	FILTER_BY_CONTAINER, /* the thread's cgroup is one of these containers' */
	FILTER_BY_USER,      /* the real user id */
	FILTER_BY_COMM,      /* the thread's name */
	FILTER_BY_CPU,       /* where it runs; the kernel part need not ask */
	FILTER_KINDS
};

#define FILTER_WANTED(kind)   (1u << (kind))
#define FILTER_EXCLUDED(kind) (0x100u << (kind))
#define FILTER_BITS(kind)     (FILTER_WANTED(kind) | FILTER_EXCLUDED(kind))
#define FILTER_ALL_WANTED     0xffu
#define FILTER_ALL_EXCLUDED   0xff00u

#define FILTER_USERS_MAX   256   /* and */
#define FILTER_CGROUPS_MAX 32    /* that are named, of either sort */
#define FILTER_JUDGED_MAX  16384 /* names, and cgroups by container, that are known at a time */

#endif
