// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The errnos are those of setrlimit(2). The unit of ulimit depends on the shell, so sizes are told with theirs. */
static const struct {
	int errnum, resource;
	const char *option;
	bool is_size;
} limits[] = {
	{EFBIG, RLIMIT_FSIZE, "-f", true}, {EMFILE, RLIMIT_NOFILE, "-n", false}, {ENOMEM, RLIMIT_AS, "-v", true},
	{ENOMEM, RLIMIT_DATA, "-d", true}, {EAGAIN, RLIMIT_NPROC, "-u", false},  {EAGAIN, RLIMIT_AS, "-v", true},
	{EAGAIN, RLIMIT_DATA, "-d", true}, /* a thread's stack */
};

static uint64_t limit_of(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t limits_file_size(void)
{
	return limit_of(RLIMIT_FSIZE);
}

size_t limits_words(int errnum, char *buffer, size_t size)
{
	size_t used = 0, i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]) && used < size; i++) {
		uint64_t most = limits[i].errnum == errnum ? limit_of(limits[i].resource) : UINT64_MAX;
		bool in_kib = limits[i].is_size && most % 1024 == 0;

		if (most != UINT64_MAX)
			used += (size_t)snprintf(buffer + used, size - used, "%sulimit %s is %llu%s", used ? ", " : "",
						 limits[i].option, (unsigned long long)(in_kib ? most / 1024 : most),
						 in_kib ? " KiB" : limits[i].is_size ? " bytes" : "");
	}
	return used < size ? used : size - 1;
}

int limits_memory_file(const char *name, const void *bytes, size_t size)
{
	int fd, err;
	ssize_t got;

	if (size > limits_file_size())
		return -EFBIG;
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = size ? write(fd, bytes, size) : 0;
	if (got == (ssize_t)size)
		return fd;
	err = got < 0 ? -errno : -ENOSPC;
	close(fd);
	return err;
}
