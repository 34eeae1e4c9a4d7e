// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attempt.h"

#define PATIENCE_S    20 /* without a byte from any server */
#define SIZE_MAX_TEXT "2147483648"
#define URLS          "DEBUGINFOD_URLS"

struct asking {
	const char *build_id;
	double seconds;
	pid_t parent;
};

/* "": not set. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

bool debuginfod_wanted(void)
{
	return *variable(URLS);
}

void debuginfod_decline(void)
{
	unsetenv(URLS);
}

bool debuginfod_cache_path(const char *build_id, char path[PATH_MAX])
{
	const char *own = variable("DEBUGINFOD_CACHE_PATH"), *cache = variable("XDG_CACHE_HOME");
	int size;

	if (!debuginfod_wanted())
		return false;
	if (*own)
		size = snprintf(path, PATH_MAX, "%s/%s/debuginfo", own, build_id);
	else if (*cache)
		size = snprintf(path, PATH_MAX, "%s/debuginfod_client/%s/debuginfo", cache, build_id);
	else
		size = snprintf(path, PATH_MAX, "%s/.cache/debuginfod_client/%s/debuginfo", variable("HOME"), build_id);
	return size < PATH_MAX;
}

/* As debuginfod_find_debuginfo(3) has them; elfutils 0.178 and later. */
struct client;
typedef struct client *begin_client(void);
typedef int find_debuginfo(struct client *client, const unsigned char *build_id, int length, char **path);
typedef void end_client(struct client *client);

static int ask(void *context, struct diag *diag)
{
	const struct asking *asking = context;
	struct rlimit none = {};
	char seconds[32];
	void *library;
	begin_client *begin;
	find_debuginfo *find;
	end_client *end;
	struct client *client;
	int fd;

	(void)diag;
	if (getpid() == asking->parent)
		return -ECHILD; /* attempt() has none */
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -ENOTSUP;
	begin = (begin_client *)dlsym(library, "debuginfod_begin");
	find = (find_debuginfo *)dlsym(library, "debuginfod_find_debuginfo");
	end = (end_client *)dlsym(library, "debuginfod_end");
	snprintf(seconds, sizeof(seconds), "%.0f", asking->seconds < 1 ? 1 : asking->seconds);
	setenv("DEBUGINFOD_MAXTIME", seconds, 1);
	setenv("DEBUGINFOD_MAXSIZE", SIZE_MAX_TEXT, 0);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
	setrlimit(RLIMIT_CORE, &none);
	alarm((unsigned int)asking->seconds + 2); /* the library's own limits come first */
	client = begin ? begin() : NULL;
	if (!client || !find || !end)
		return client ? -ENOTSUP : -ENOMEM;
	fd = find(client, (const unsigned char *)asking->build_id, 0, NULL); /* 0: it is hexadecimal */
	end(client);
	return fd < 0 ? fd : 0;
}

int debuginfod_fetch(const char *build_id, double seconds)
{
	struct asking asking = {build_id, seconds, getpid()};

	return attempt(PATIENCE_S, "debuginfod", ask, &asking, NULL);
}
