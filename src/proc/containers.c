// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/containers.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID_DIGITS 64
#define FILE_MAX  (4u << 20) /* bytes; of what is longer only the beginning is read */
#define ID_LEAST  4          /* digits with which somebody may name a container */
#define SHORT_ID  12         /* digits, as engines show it */
#define PARTS_MAX 64         /* of a path */

static bool is_id(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return size == ID_DIGITS;
}

static void copy(char *ret, size_t size, const char *from, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(ret, from, length);
	ret[length] = '\0';
}

/* A whole file, terminated; NULL: it cannot be read. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	struct stat stat;
	size_t size;

	if (file && !fstat(fileno(file), &stat) && S_ISREG(stat.st_mode)) {
		size = (uint64_t)stat.st_size < FILE_MAX ? (size_t)stat.st_size : FILE_MAX;
		text = malloc(size + 1);
		if (text)
			text[fread(text, 1, size, file)] = '\0';
	}
	if (file)
		fclose(file);
	return text;
}

/* What is between `before` and the next quote, from a place on. */
static bool quoted(const char *text, const char *before, char *ret, size_t size)
{
	const char *at = text ? strstr(text, before) : NULL, *end;

	if (!at)
		return false;
	at += strlen(before);
	end = strchr(at, '"');
	if (!end || end == at)
		return false;
	copy(ret, size, at, (size_t)(end - at));
	return true;
}

static void name_docker(const char *root, struct container *ret)
{
	char path[PATH_MAX];
	char *text;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, ret->id);
	text = read_text(path);
	quoted(text, "\"Name\":\"/", ret->name, sizeof(ret->name));
	free(text);
}

static void name_podman(const char *root, struct container *ret)
{
	char path[PATH_MAX], key[ID_DIGITS + 16];
	const char *at;
	char *text;

	snprintf(path, sizeof(path), "%s/var/lib/containers/storage/overlay-containers/containers.json", root);
	text = read_text(path);
	snprintf(key, sizeof(key), "\"id\":\"%s\"", ret->id);
	at = text ? strstr(text, key) : NULL;
	quoted(at, "\"names\":[\"", ret->name, sizeof(ret->name));
	free(text);
}

/* POD_NAMESPACE_CONTAINER-ID.log: none of the names has a `_`. */
static void name_kubernetes(const char *root, struct container *ret)
{
	char path[PATH_MAX], pod[CONTAINER_TEXT_MAX], space[CONTAINER_TEXT_MAX], name[CONTAINER_TEXT_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/var/log/containers", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		const char *id;

		if (sscanf(entry->d_name, "%255[^_]_%255[^_]_%255s", pod, space, name) != 3)
			continue;
		id = strstr(name, ret->id);
		if (!id || id == name || id[-1] != '-')
			continue;
		copy(ret->name, sizeof(ret->name), name, (size_t)(id - 1 - name));
		copy(ret->pod, sizeof(ret->pod), space, strlen(space));
		if (strlen(space) + strlen(pod) + 2 <= sizeof(ret->pod)) {
			strcat(ret->pod, "/");
			strcat(ret->pod, pod);
		}
		break;
	}
	if (folder)
		closedir(folder);
}

struct part {
	const char *text;
	size_t size;
};

static bool begins(const struct part *part, const char *with)
{
	return part->size >= strlen(with) && !strncmp(part->text, with, strlen(with));
}

static bool ends(const struct part *part, const char *with)
{
	size_t size = strlen(with);

	return part->size > size && !strncmp(part->text + part->size - size, with, size);
}

/* The id in "ID", "NAME-ID.scope" and "NAME-ID"; NULL: there is none. */
static const char *id_in(const struct part *part)
{
	size_t size = part->size - (ends(part, ".scope") ? strlen(".scope") : 0);

	if (size < ID_DIGITS || !is_id(part->text + size - ID_DIGITS, ID_DIGITS))
		return NULL;
	return size == ID_DIGITS || part->text[size - ID_DIGITS - 1] == '-' ? part->text + size - ID_DIGITS : NULL;
}

/* The pod's UID in "podUID", "kubepods-podUID.slice" and "kubepods-burstable-podUID.slice". */
static bool read_pod(const struct part *part, struct container *ret)
{
	const char *at = memmem(part->text, part->size, "pod", 3);
	size_t size = part->size - (ends(part, ".slice") ? strlen(".slice") : 0), i;

	if (begins(part, "kubepods"))
		at = memmem(part->text + 8, part->size - 8, "-pod", 4);
	else if (at != part->text)
		return false;
	if (!at)
		return false;
	at += *at == '-' ? 4 : 3;
	copy(ret->pod, sizeof(ret->pod), at, (size_t)(part->text + size - at));
	for (i = 0; ret->pod[i]; i++)
		if (ret->pod[i] == '_')
			ret->pod[i] = '-';
	return *ret->pod;
}

static void read_part(const struct part *part, struct container *ret)
{
	const char *id = id_in(part);

	if (ends(part, ".service") || ends(part, ".scope") || ends(part, ".slice"))
		copy(ret->unit, sizeof(ret->unit), part->text, part->size);
	if (begins(part, "kubepods") || (ret->engine && !strcmp(ret->engine, "kubernetes") && !id)) {
		ret->engine = "kubernetes";
		read_pod(part, ret);
	} else if (id) {
		copy(ret->id, sizeof(ret->id), id, ID_DIGITS);
		if (!ret->engine)
			ret->engine = begins(part, "libpod-") ? "podman" : "docker";
	} else if (begins(part, "lxc.payload.")) {
		ret->engine = "lxc";
		copy(ret->name, sizeof(ret->name), part->text + 12, part->size - 12);
	} else if (begins(part, "machine-") && ends(part, ".scope")) {
		ret->engine = "nspawn";
		copy(ret->name, sizeof(ret->name), part->text + 8, part->size - 8 - 6);
	} else if (begins(part, "systemd-nspawn@") && ends(part, ".service")) {
		ret->engine = "nspawn";
		copy(ret->name, sizeof(ret->name), part->text + 15, part->size - 15 - 8);
	}
}

bool container_of(const char *path, const char *root, struct container *ret)
{
	struct part part, last = {};
	unsigned int count = 0;

	*ret = (struct container){};
	for (; *path && count < PARTS_MAX; path += part.size, count++) {
		path += strspn(path, "/");
		part = (struct part){path, strcspn(path, "/")};
		if (!part.size)
			break;
		if (last.size == 3 && !strncmp(last.text, "lxc", 3) && !ret->engine) {
			ret->engine = "lxc";
			copy(ret->name, sizeof(ret->name), part.text, part.size);
		}
		read_part(&part, ret);
		last = part;
	}
	/* The slices of pods are no containers of their own. */
	if (!*ret->id)
		return ret->engine || *ret->unit;
	if (!strcmp(ret->engine, "docker"))
		name_docker(root, ret);
	else if (!strcmp(ret->engine, "podman"))
		name_podman(root, ret);
	else if (!strcmp(ret->engine, "kubernetes"))
		name_kubernetes(root, ret);
	return true;
}

void container_name(const struct container *container, char *ret, size_t size)
{
	if (*container->name)
		snprintf(ret, size, "%s", container->name);
	else
		snprintf(ret, size, "%.*s", SHORT_ID, container->id);
}

void container_text(const struct container *container, char *ret, size_t size)
{
	char name[CONTAINER_TEXT_MAX];

	container_name(container, name, sizeof(name));
	if (*container->pod)
		snprintf(ret, size, "%s%s%s", container->pod, *name ? ":" : "", name);
	else
		snprintf(ret, size, "%s", *name ? name : container->unit);
}

bool container_is(const struct container *container, const char *wanted)
{
	const char *pod = strchr(container->pod, '/');
	size_t length = strlen(wanted);

	if (!container->engine || !length)
		return false;
	return !strcmp(container->name, wanted) || !strcmp(container->pod, wanted) ||
	       (pod && !strcmp(pod + 1, wanted)) ||
	       (length >= ID_LEAST && length <= ID_DIGITS && !strncmp(container->id, wanted, length));
}
