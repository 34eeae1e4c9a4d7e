/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared_array: a BPF array map (BPF_F_MMAPABLE) written through memory. Mapped memory counts as this process's memory
 * at once, touched or not. So only the used beginning of a large array is mapped. Addresses do not change.
 *
 * Not thread-safe.
 */
#ifndef STRATA_KERNEL_SHARED_ARRAY_H
#define STRATA_KERNEL_SHARED_ARRAY_H

#include <stddef.h>
#include <stdint.h>

struct shared_array {
	uint8_t *at;
	size_t size, mapped; /* bytes */
	int fd;              /* the map's; borrowed */
};

/* 0 or a negative errno. */
int shared_array_open(struct shared_array *array, int fd, size_t size);
/* Also for one that was never opened and is all zero. */
void shared_array_close(struct shared_array *array);

/* Makes the first `bytes` usable, `size` at most. 0 or a negative errno. */
int shared_array_reach(struct shared_array *array, size_t bytes);

#endif
