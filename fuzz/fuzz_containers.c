// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cgroup's path and what container engines keep on disk: the input's first line is the path, its second one the name
 * of a log, the rest is the content of Docker's and Podman's files.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/containers.h"
#include "fuzz.h"

#define ID     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOCKER "/var/lib/docker/containers/" ID
#define PODMAN "/var/lib/containers/storage/overlay-containers"
#define LOGS   "/var/log/containers"

static char root[64];

static void make_folder(const char *path)
{
	char whole[256];
	char *at;

	snprintf(whole, sizeof(whole), "%s%s/", root, path);
	for (at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status, (void)type, (void)ftw;
	return remove(path);
}

static void remove_folders(void)
{
	nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_folders(void)
{
	strcpy(root, access("/dev/shm", W_OK) ? "/tmp/strata-fuzz-XXXXXX" : "/dev/shm/strata-fuzz-XXXXXX");
	if (!mkdtemp(root))
		abort();
	atexit(remove_folders);
	make_folder(DOCKER);
	make_folder(PODMAN);
	make_folder(LOGS);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	file = fopen(whole, "wb");
	if (!file)
		abort();
	fwrite(data, 1, size, file);
	fclose(file);
}

/* Cuts a line off; *ret is terminated, `room` bytes at most. */
static void take_line(const uint8_t **data, size_t *size, char *ret, size_t room)
{
	const uint8_t *end = memchr(*data, '\n', *size);
	size_t length = end ? (size_t)(end - *data) : *size, kept = length < room ? length : room - 1;

	memcpy(ret, *data, kept);
	ret[kept] = '\0';
	length += end != NULL;
	*data += length;
	*size -= length;
}

static bool is_whole(const char *text, size_t room)
{
	return memchr(text, '\0', room);
}

static void check(const char *path)
{
	char text[2 * CONTAINER_TEXT_MAX], *copy = strdup(path); /* of its size: who reads beyond it is caught */
	struct container container;
	bool known = copy && container_of(copy, root, &container);

	if (known) {
		CHECK(is_whole(container.id, sizeof(container.id)) && is_whole(container.name, sizeof(container.name)));
		CHECK(is_whole(container.pod, sizeof(container.pod)));
		CHECK(is_whole(container.unit, sizeof(container.unit)));
		CHECK(container.engine || *container.unit);
		CHECK(!*container.id || strlen(container.id) == sizeof(container.id) - 1);
		container_text(&container, text, sizeof(text));
		CHECK(is_whole(text, sizeof(text)));
		container_name(&container, text, sizeof(text));
		if (*text)
			(void)container_is(&container, text);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[4096], name[200], log[256];

	if (!*root)
		make_folders();
	take_line(&data, &size, path, sizeof(path));
	take_line(&data, &size, name, sizeof(name));
	write_file(DOCKER "/config.v2.json", data, size);
	write_file(PODMAN "/containers.json", data, size);
	if (*name && !strchr(name, '/') && *name != '.')
		snprintf(log, sizeof(log), "%s/%s", LOGS, name);
	else
		*log = '\0';
	if (*log)
		write_file(log, data, 0);
	check(path);
	check("/docker/" ID);
	check("/machine.slice/libpod-" ID ".scope/container");
	check("/kubepods/burstable/pod0a/" ID);
	if (*log) {
		memmove(path, log, strlen(log) + 1);
		snprintf(log, sizeof(log), "%s%s", root, path);
		unlink(log);
	}
	return 0;
}
