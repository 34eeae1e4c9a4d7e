// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/shared_array.h"

#include <errno.h>
#include <sys/mman.h>

#define STEP_BYTES (256u << 10)

int shared_array_open(struct shared_array *array, int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	*array = (struct shared_array){.at = at, .size = size, .fd = fd};
	err = shared_array_reach(array, 1);
	if (err)
		shared_array_close(array);
	return err;
}

void shared_array_close(struct shared_array *array)
{
	if (array->at)
		munmap(array->at, array->size);
	*array = (struct shared_array){};
}

int shared_array_reach(struct shared_array *array, size_t bytes)
{
	size_t end = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;

	if (end > array->size)
		end = array->size;
	if (end <= array->mapped)
		return 0;
	if (mmap(array->at + array->mapped, end - array->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 array->fd, (off_t)array->mapped) == MAP_FAILED)
		return -errno;
	array->mapped = end;
	return 0;
}
