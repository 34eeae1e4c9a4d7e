/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take: pieces of memory that programs share without waiting for each other. A program that finds a piece taken tries
 * another one. Only atomic additions are used, because the kernel has no other atomic operations before 5.12. The first
 * program finds 1. Two that come at the same time may both find 2, and then both try another piece.
 */
#ifndef STRATA_LANG_RT_TAKE_H
#define STRATA_LANG_RT_TAKE_H

#include "bpf/shim.h"

static __always_inline void rt_give_back(__u32 *users)
{
	__sync_fetch_and_add(users, -1);
}

static __always_inline bool rt_take(__u32 *users)
{
	__sync_fetch_and_add(users, 1);
	if (*(volatile __u32 *)users == 1)
		return true;
	rt_give_back(users);
	return false;
}

#endif
