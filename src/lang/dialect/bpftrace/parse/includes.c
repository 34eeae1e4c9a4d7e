// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * #include: the macros and types of a header. Headers are written for a compiler. So everything that is no type is
 * skipped, and so are types that cannot be understood here.
 *
 * The kernel's own headers need not exist, because its types come from its BTF; those of them that programs may include
 * supply constants. If both define a type, the kernel's is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "lang/dialect/bpftrace/parse/parts.h"

#define INCLUDE_DEPTH_MAX 64
#define HEADERS_MAX       (8ul << 20) /* bytes of all headers together */

/* The folders of the kernel's headers; those of its own that have no such folder are not for programs. */
static bool is_of_kernel(const char *name)
{
	static const char *const folders[] = {"linux", "asm",   "asm-generic", "uapi",   "net",   "crypto",
					      "drm",   "kvm",   "media",       "scsi",   "sound", "soc",
					      "trace", "video", "xen",         "rdma",   "acpi",  "block",
					      "keys",  "misc",  "ras",         "target", "vdso",  "generated"};
	size_t length = strcspn(name, "/"), i;

	for (i = 0; name[length] && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strlen(folders[i]) == length && !strncmp(folders[i], name, length))
			return true;
	return false;
}

/* Those that come with a compiler, whose types and constants are there without. */
static bool is_of_compiler(const char *name)
{
	static const char *const all[] = {"stddef.h",   "stdarg.h",      "stdbool.h",   "float.h",    "iso646.h",
					  "stdalign.h", "stdnoreturn.h", "syslimits.h", "stdatomic.h"};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i], name))
			return true;
	return false;
}

/* An open regular file FOLDER/NAME, its path in *path; -1 when there is none. */
static int open_in(struct parser *p, const char *folder, size_t length, const char *name, const char **path)
{
	struct stat stat;
	int fd;

	*path = length ? arena_printf(p->arena, "%.*s/%s", (int)length, folder, name) : name;
	fd = *path ? open(*path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd >= 0 && (fstat(fd, &stat) || !S_ISREG(stat.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The folders of a variable, as in CPATH. */
static int open_in_path(struct parser *p, const char *folders, const char *name, const char **path)
{
	int fd = -1;

	while (fd < 0 && folders && *folders) {
		size_t length = strcspn(folders, ":");

		fd = length ? open_in(p, folders, length, name, path) : -1;
		folders += length + (folders[length] == ':');
	}
	return fd;
}

/* As a C compiler looks for it: beside the file that asks, in the folders of -I, in those of the system. */
static int open_header(struct parser *p, const char *name, bool is_quoted, const char **path)
{
	const char *const folders[] = {"/usr/local/include", "/usr/include",
				       arena_printf(p->arena, "/usr/include/%s", arch_here()->triplet)};
	const char *slash = p->path ? strrchr(p->path, '/') : NULL;
	uint32_t i;
	int fd = -1;

	if (*name == '/')
		return open_in(p, "", 0, name, path);
	if (is_quoted)
		fd = open_in(p, slash ? p->path : ".", slash ? (size_t)(slash - p->path) : 1, name, path);
	for (i = 0; fd < 0 && i < p->options->include_folder_count; i++)
		fd = open_in(p, p->options->include_folders[i], strlen(p->options->include_folders[i]), name, path);
	if (fd < 0)
		fd = open_in_path(p, getenv("CPATH"), name, path);
	if (fd < 0)
		fd = open_in_path(p, getenv("C_INCLUDE_PATH"), name, path);
	for (i = 0; fd < 0 && i < sizeof(folders) / sizeof(folders[0]) && folders[i]; i++)
		fd = open_in(p, folders[i], strlen(folders[i]), name, path);
	return fd;
}

/* Its text, malloc'd; NULL when it cannot be read, or all headers together are too long. */
static char *read_header(struct parser *p, int fd, size_t *ret)
{
	struct stat stat;
	size_t size = 0;
	ssize_t got = 1;
	char *text;

	if (fstat(fd, &stat) || (size_t)stat.st_size > HEADERS_MAX - p->defines->header_bytes)
		return NULL;
	text = malloc((size_t)stat.st_size + 1);
	while (text && size < (size_t)stat.st_size && (got = read(fd, text + size, (size_t)stat.st_size - size)) > 0)
		size += (size_t)got;
	if (got < 0) {
		free(text);
		return NULL;
	}
	p->defines->header_bytes += size;
	*ret = size;
	return text;
}

static unsigned int include_depth(const struct parser *p)
{
	unsigned int depth = 0;

	for (; p; p = p->importer)
		depth++;
	return depth;
}

void preprocess_include(struct parser *p, const char *name, bool is_quoted, struct span span)
{
	const char *path = NULL;
	struct report report;
	char *text = NULL;
	size_t size = 0;
	int fd;

	if (!name || (!is_quoted && is_of_compiler(name)) || include_depth(p) > INCLUDE_DEPTH_MAX)
		return;
	fd = open_header(p, name, is_quoted, &path);
	if (fd >= 0)
		text = read_header(p, fd, &size);
	if (fd >= 0)
		close(fd);
	if (text) {
		struct parser inner = {.arena = p->arena,
				       .report = &report,
				       .types = p->types,
				       .options = p->options,
				       .script = p->script,
				       .path = path,
				       .importer = p,
				       .imported = p->imported,
				       .defines = p->defines,
				       .is_header = p->is_header || !is_quoted,
				       .yields = p->yields || is_of_kernel(name)};

		report_init(&report, p->arena, path, text, size);
		lexer_init(&inner.lexer, &report, &report.script);
		parse_included(&inner);
		report_deinit(&report);
	} else if (fd >= 0) {
		report_error(p->report, "parse.include", span,
			     "the headers are longer than %lu MiB, or '%s' is not readable", HEADERS_MAX >> 20, name);
	} else if (!p->is_header && !is_of_kernel(name)) {
		report_error(p->report, "parse.include", span, "'%s' file not found", name);
		report_hint(p->report, "-I adds a folder to those where headers are looked for");
	}
	free(text);
}
