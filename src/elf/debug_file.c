// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cursor.h"
#include "elf/debuginfod.h"
#include "elf/internal.h"

#define DEBUG_DIR   "/usr/lib/debug"
#define BY_BUILD_ID 2 /* paths that a build id names: ELF_DEBUG_PATHS' first ones; then those of the debug link */

int elf_debug_open(struct foreign_files *files, const char *path, const char *root, struct foreign_file **ret)
{
	struct foreign_request request = {.paths = {path}};
	size_t root_size = strlen(root);
	int pid, err;

	request.place = foreign_namespace(sscanf(path, "/proc/%d/root/", &pid) == 1 ? pid : getpid());
	err = foreign_open(files, &request, ret);
	if (!err || err == -ETIMEDOUT || !root_size || strncmp(path, root, root_size) || path[root_size] != '/')
		return err;
	request.paths[0] = path + root_size;
	request.place = foreign_namespace(getpid());
	return foreign_open(files, &request, ret);
}

/* Where `elf` is, files have the same readers. */
static struct foreign_files *readers_of(const struct elf_file *elf)
{
	return elf->file ? foreign_files_of(elf->file) : NULL;
}

static struct elf_file *open_path(const struct elf_file *elf, const char *path, const char *root)
{
	struct elf_file *found = NULL;
	struct foreign_file *file;

	if (elf_debug_open(readers_of(elf), path, root, &file))
		return NULL;
	if (elf_file_open_foreign(file, path, &found, NULL))
		found = NULL;
	foreign_close(file);
	return found;
}

/* Where packages of debug symbols put it. "" if there is no room for it. */
static void put_build_id_path(const struct elf_debug_names *names, const char *root, char path[PATH_MAX])
{
	char hex[ELF_BUILD_ID_TEXT];

	*path = '\0';
	elf_build_id_text(names->build_id, names->build_id_size, hex);
	if (strlen(hex) < 4)
		return;
	if (snprintf(path, PATH_MAX, "%s" DEBUG_DIR "/.build-id/%.2s/%s.debug", root, hex, hex + 2) >= PATH_MAX)
		*path = '\0';
}

/* Where debuginfod's client puts it. "" as above, or where no servers are named. */
static void put_cache_path(const struct elf_debug_names *names, char path[PATH_MAX])
{
	char hex[ELF_BUILD_ID_TEXT];

	elf_build_id_text(names->build_id, names->build_id_size, hex);
	if (!*hex || !debuginfod_cache_path(hex, path))
		*path = '\0';
}

static bool has_build_id(const struct elf_file *elf, const struct elf_debug_names *names)
{
	const uint8_t *id;
	size_t size = elf_file_build_id(elf, &id);

	return size && size == names->build_id_size && !memcmp(id, names->build_id, size);
}

static struct elf_file *open_by_build_id(const struct elf_file *elf, const struct elf_debug_names *names,
					 const char *root)
{
	struct elf_file *found;
	char path[PATH_MAX];
	unsigned int which;

	for (which = 0; which < BY_BUILD_ID; which++) {
		found = elf_debug_path(names, elf_file_path(elf), root, which, path)
				? open_path(elf, path, root)
				: NULL;
		if (found && has_build_id(found, names))
			return found;
		elf_file_close(found);
	}
	return NULL;
}

/* The CRC of debug links is zlib's, over the whole file. */
static bool crc_agrees(const struct elf_file *elf, uint32_t expected)
{
	uint8_t buffer[64 << 10];
	uLong crc = crc32(0, NULL, 0);
	uint64_t at = 0;
	ssize_t got;

	while ((got = foreign_read(elf->file, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)got);
		at += (uint64_t)got;
	}
	return !got && crc == expected;
}

static struct elf_file *open_link(const struct elf_file *elf, const char *path, const char *root, uint32_t crc)
{
	struct elf_file *found = open_path(elf, path, root);

	if (!found || crc_agrees(found, crc))
		return found;
	elf_file_close(found);
	return NULL;
}

/* .gnu_debuglink: a file name, padded to 4 bytes, and a CRC. */
static const char *debug_link(const struct elf_file *elf, uint32_t *crc)
{
	struct elf_section section;
	const char *name;
	struct cursor c;

	if (!elf_file_section(elf, ".gnu_debuglink", &section) || !section.bytes)
		return NULL;
	c = cursor_init(section.bytes, section.size);
	name = cursor_string(&c);
	cursor_seek(&c, (cursor_position(&c) + 3) & ~(size_t)3);
	*crc = cursor_u32(&c);
	return cursor_ok(&c) && *name && !strchr(name, '/') ? name : NULL;
}

void elf_debug_names(const struct elf_file *elf, struct elf_debug_names *ret)
{
	const uint8_t *id;
	size_t size = elf_file_build_id(elf, &id);
	uint32_t crc = 0;
	const char *link = debug_link(elf, &crc);

	*ret = (struct elf_debug_names){};
	if (size && size <= ELF_BUILD_ID_MAX) {
		ret->build_id_size = (uint32_t)size;
		memcpy(ret->build_id, id, size);
	}
	if (!link || strlen(link) >= sizeof(ret->link))
		return;
	strcpy(ret->link, link);
	ret->crc = crc;
}

bool elf_debug_path(const struct elf_debug_names *names, const char *elf_path, const char *root, unsigned int which,
		    char path[PATH_MAX])
{
	const char *slash = strrchr(elf_path, '/'), *inside = elf_path;
	size_t root_size = strlen(root);
	int folder, size = PATH_MAX;

	*path = '\0';
	if (which < BY_BUILD_ID) {
		if (!which)
			put_build_id_path(names, root, path);
		else
			put_cache_path(names, path);
		return *path;
	}
	if (!slash || !*names->link || strchr(names->link, '/'))
		return false;
	if (!strncmp(elf_path, root, root_size) && elf_path[root_size] == '/')
		inside += root_size;
	folder = (int)(slash - elf_path);
	if (which == BY_BUILD_ID)
		size = snprintf(path, PATH_MAX, "%.*s/%s", folder, elf_path, names->link);
	else if (which == BY_BUILD_ID + 1)
		size = snprintf(path, PATH_MAX, "%.*s/.debug/%s", folder, elf_path, names->link);
	else if (which == BY_BUILD_ID + 2)
		size = snprintf(path, PATH_MAX, "%s" DEBUG_DIR "%.*s/%s", root, (int)(slash - inside), inside,
				names->link);
	return size < PATH_MAX;
}

static struct elf_file *open_by_link(const struct elf_file *elf, const struct elf_debug_names *names, const char *root)
{
	struct elf_file *found = NULL;
	char path[PATH_MAX];
	unsigned int which;

	for (which = BY_BUILD_ID; which < ELF_DEBUG_PATHS && !found; which++)
		if (elf_debug_path(names, elf_file_path(elf), root, which, path))
			found = open_link(elf, path, root, names->crc);
	return found;
}

struct elf_file *elf_debug_file_open(const struct elf_file *elf, const char *debug_root)
{
	struct elf_debug_names names;
	struct elf_file *found;

	elf_debug_names(elf, &names);
	found = open_by_build_id(elf, &names, debug_root);
	return found ? found : open_by_link(elf, &names, debug_root);
}

struct elf_file *elf_debug_file_check(const struct elf_file *elf, struct foreign_file *file)
{
	struct elf_debug_names names;
	struct elf_file *found;

	elf_debug_names(elf, &names);
	if (elf_file_open_foreign(file, "the debug file", &found, NULL))
		return NULL;
	if (has_build_id(found, &names) || (*names.link && crc_agrees(found, names.crc)))
		return found;
	elf_file_close(found);
	return NULL;
}

bool elf_file_has_debug_info(const struct elf_file *elf)
{
	struct elf_section section;

	return elf_file_section_header(elf, ".debug_info", &section) && section.type != SHT_NOBITS && section.size;
}

/* By its build id if it has one, else by the CRC of its debug link if it has one. */
static struct elf_file *open_checked(const struct elf_file *elf, const char *path, bool has_link, uint32_t crc)
{
	const uint8_t *id, *found_id;
	size_t size = elf_file_build_id(elf, &id);
	struct elf_file *found = open_path(elf, path, "");

	if (!found)
		return NULL;
	if (elf_file_has_debug_info(found) &&
	    (size       ? elf_file_build_id(found, &found_id) == size && !memcmp(id, found_id, size)
	     : has_link ? crc_agrees(found, crc)
			: true))
		return found;
	elf_file_close(found);
	return NULL;
}

/* DIR, of `size` bytes: below the binary's own folder where it is relative. */
static struct elf_file *open_in_folder(const struct elf_file *elf, const char *folder, size_t size)
{
	const char *elf_path = elf_file_path(elf), *slash = strrchr(elf_path, '/'), *link, *base;
	int own = slash ? (int)(slash - elf_path) : 0, length = (int)size;
	struct elf_file *found = NULL;
	char path[3][PATH_MAX] = {};
	uint32_t crc = 0;
	size_t i;

	base = slash ? slash + 1 : elf_path;
	link = debug_link(elf, &crc);
	if (*folder == '/') {
		snprintf(path[0], PATH_MAX, "%.*s/%s", length, folder, link ? link : base);
		snprintf(path[1], PATH_MAX, "%.*s/%s.debug", length, folder, base);
		snprintf(path[2], PATH_MAX, "%.*s%.*s/%s%s", length, folder, own, elf_path, link ? link : base,
			 link ? "" : ".debug");
	} else {
		snprintf(path[0], PATH_MAX, "%.*s/%.*s/%s", slash ? own : 1, slash ? elf_path : ".", length, folder,
			 link ? link : base);
		snprintf(path[1], PATH_MAX, "%.*s/%.*s/%s.debug", slash ? own : 1, slash ? elf_path : ".", length,
			 folder, base);
	}
	for (i = 0; i < 3 && !found; i++)
		if (path[i][0])
			found = open_checked(elf, path[i], link != NULL, crc);
	return found;
}

struct elf_file *elf_debug_info_open(const struct elf_file *elf, const char *debug_root, const char *folders)
{
	struct elf_debug_names names;
	struct elf_file *found = NULL;
	const char *end;

	elf_debug_names(elf, &names);
	for (; folders && *folders && !found; folders = *end ? end + 1 : end) {
		end = strchrnul(folders, ':');
		folders += *folders == '+'; /* the CRC is always looked at where there is no build id */
		if (end > folders)
			found = open_in_folder(elf, folders, (size_t)(end - folders));
	}
	found = found ? found : open_by_build_id(elf, &names, debug_root);
	if (found && !elf_file_has_debug_info(found)) {
		elf_file_close(found);
		found = NULL;
	}
	found = found ? found : open_by_link(elf, &names, debug_root);
	if (found && !elf_file_has_debug_info(found)) {
		elf_file_close(found);
		found = NULL;
	}
	return found;
}

static int descriptor_of(const struct elf_file *elf, const char *path)
{
	struct foreign_file *file;
	int fd;

	if (elf_debug_open(readers_of(elf), path, "", &file))
		return -1;
	fd = foreign_descriptor(file);
	foreign_close(file);
	return fd;
}

int elf_named_descriptor(const struct elf_file *elf, const char *root, const char *path)
{
	const char *elf_path = elf_file_path(elf), *slash = strrchr(elf_path, '/');
	int folder = *path == '/' || !slash ? 0 : (int)(slash - elf_path) + 1;
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%s%.*s%s", *path == '/' ? root : "", folder, elf_path, path) >=
	    (int)sizeof(whole))
		return -1;
	return descriptor_of(elf, whole);
}

int elf_debug_package_descriptor(const struct elf_file *elf)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s.dwp", elf_file_path(elf)) >= (int)sizeof(path))
		return -1;
	return descriptor_of(elf, path);
}

int elf_file_descriptor(const struct elf_file *elf)
{
	return elf->file && !elf->base ? foreign_descriptor(elf->file) : -1;
}

int elf_file_borrowed(const struct elf_file *elf)
{
	return elf->file && !elf->base ? foreign_borrow(elf->file) : -1;
}
