// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"
#include "lang/provider/binary.h"
#include "lang/provider/provider.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/table.h"
#include "elf/zip.h"

struct search {
	struct compiler *c;
	void (*each)(void *context, const char *path, const struct elf_file *elf);
	void *context;
	unsigned int count;
};

static void tell_unanswered(struct compiler *c, const char *path)
{
	report_warning(c->report, "probe.answer", (struct span){}, "%s: its file system does not answer", path);
}

int binary_open(struct compiler *c, const char *path, struct foreign_file **ret)
{
	const struct foreign_request request = {.paths = {path}, .place = foreign_folder(path)};
	int err = foreign_open(compiler_files(c), &request, ret);

	if (err == -ETIMEDOUT)
		tell_unanswered(c, path);
	return err;
}

/* Takes the file over. False when it is no ELF file. */
static bool take_file(struct search *search, const char *path, struct foreign_file *file)
{
	size_t i = search->c->attaches.count;
	struct elf_file *elf;
	bool taken = !elf_file_open_foreign(file, path, &elf, NULL);

	if (taken) {
		search->each(search->context, arena_strdup(search->c->arena, path, strlen(path)), elf);
		search->count++;
		elf_file_close(elf);
		for (; i < search->c->attaches.count && foreign_waits(file); i++)
			search->c->attaches.at[i].flags |= ATTACH_WAITS;
	}
	if (foreign_unanswered(file))
		tell_unanswered(search->c, path);
	foreign_close(file);
	return taken;
}

/* --- libraries inside archives --- */

struct archive_search {
	struct search *search;
	struct foreign_file *file;
	const char *path, *pattern; /* of the archive, and of what is in it */
};

static void try_entry(void *context, const struct zip_entry *entry)
{
	const struct archive_search *at = context;
	struct search *search = at->search;
	struct elf_file *elf;

	if (!provider_matches(at->pattern, entry->name) ||
	    elf_file_open_part(at->file, entry->offset, entry->size, entry->name, &elf, NULL))
		return;
	search->each(search->context, at->path, elf);
	search->count++;
	elf_file_close(elf);
}

/* The libraries of an archive that match "ARCHIVE!/PATTERN"; `mark` is where the pattern begins. */
static void try_archive(struct search *search, const char *name, const char *mark)
{
	struct archive_search at = {.search = search,
				    .path = arena_strdup(search->c->arena, name, (size_t)(mark - name)),
				    .pattern = mark + strlen(BINARY_ARCHIVE_MARK)};
	int err;

	if (!at.path || binary_open(search->c, at.path, &at.file))
		return;
	err = zip_each(at.file, try_entry, &at);
	if (err)
		report_warning(search->c->report, "probe.archive", (struct span){}, "%s: %s", at.path,
			       err == -ENOEXEC   ? "not a ZIP archive, or a damaged one"
			       : err == -ENOTSUP ? "a ZIP archive of more than 4 GiB or 65,534 files cannot be read"
						 : strerror(-err));
	foreign_close(at.file);
}

static bool try_file(struct search *search, const char *path)
{
	struct foreign_file *file;

	return !binary_open(search->c, path, &file) && take_file(search, path, file);
}

/* Behind /proc/PID/root a file may have a name of another root, which here is another file, or none. */
static bool is_name_of(struct search *search, const char *path, struct foreign_file *file)
{
	struct foreign_file *other;
	struct stat a, b;
	bool same;

	if (binary_open(search->c, path, &other))
		return false;
	same = !foreign_stat(file, &a) && !foreign_stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	foreign_close(other);
	return same;
}

/* The same, by the name that it has when links are followed. */
static void try_real_file(struct search *search, const char *path)
{
	struct foreign_file *file;
	char real[PATH_MAX];

	if (binary_open(search->c, path, &file))
		return;
	if (foreign_path(file, real, sizeof(real)) && is_name_of(search, real, file))
		path = real;
	take_file(search, path, file);
}

/* The files that match a pattern; `once`: the first one that is an ELF file. */
static void try_pattern(struct search *search, const char *pattern, bool once)
{
	char *names = malloc(FOREIGN_NAMES_MAX), *at;
	ssize_t size = names ? foreign_glob(compiler_files(search->c), pattern, names, FOREIGN_NAMES_MAX) : -ENOMEM;

	if (size == -ETIMEDOUT)
		tell_unanswered(search->c, pattern);
	else if (size == -E2BIG)
		report_warning(search->c->report, "probe.files", (struct span){}, "%s: too many files match", pattern);
	for (at = names; size > 0 && at < names + size && !(once && search->count); at += strlen(at) + 1)
		try_file(search, at);
	free(names);
}

/* The first file that a shell would execute under this name; NULL: there is none. */
static struct foreign_file *find_in_path(struct compiler *c, const char *name, char *ret, size_t size)
{
	const char *list = getenv("PATH"), *end;
	struct foreign_file *file;
	struct stat status;

	for (list = list ? list : "/usr/local/bin:/usr/bin:/bin"; *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ':');
		if (snprintf(ret, size, "%.*s/%s", (int)(end - list), list, name) >= (int)size ||
		    binary_open(c, ret, &file))
			continue;
		if (!foreign_stat(file, &status) && (status.st_mode & 0111))
			return file;
		foreign_close(file);
	}
	return NULL;
}

static bool is_script(struct foreign_file *file)
{
	char bytes[2];

	return foreign_read(file, bytes, 2, 0) == 2 && !memcmp(bytes, "#!", 2);
}

const char *binary_script(struct compiler *c, const char *name)
{
	struct foreign_file *file;
	char path[PATH_MAX];
	bool is = false;

	file = strchr(name, '/') ? NULL : find_in_path(c, name, path, sizeof(path));
	if (file)
		is = is_script(file);
	foreign_close(file);
	return is ? arena_strdup(c->arena, path, strlen(path)) : NULL;
}

/* The file of -c; NULL: there is none. */
static struct foreign_file *open_command(struct compiler *c)
{
	const char *path = c->options->command_path;
	struct foreign_file *file;
	char in_path[PATH_MAX];

	if (!strchr(path, '/'))
		return find_in_path(c, path, in_path, sizeof(in_path));
	return binary_open(c, path, &file) ? NULL : file;
}

const char *binary_command_interpreter(struct compiler *c)
{
	struct foreign_file *file = open_command(c);
	char line[256], *at = line + 2;
	int64_t got = file ? foreign_read(file, line, sizeof(line) - 1, 0) : 0;
	size_t length;

	foreign_close(file);
	line[got > 0 ? got : 0] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return NULL;
	at += strspn(at, " \t");
	length = strcspn(at, " \t\n");
	if (*at != '/' || !at[length])
		return NULL;
	at[length] = '\0';
	return strcmp(path_basename(at), "env") ? arena_strdup(c->arena, at, length) : NULL;
}

const char *binary_command_program(struct compiler *c)
{
	const struct compile_options *options = c->options;
	const char *path = options->command_path, *found = NULL;
	struct foreign_file *file = open_command(c);

	if (file && options->program && is_script(file))
		found = options->program(options->program_context, path_basename(path));
	foreign_close(file);
	return found ? found : path;
}

/* The library that has the code of a program `name`. */
static void try_own_library(struct search *search, const char *name, const char *program)
{
	char real[PATH_MAX], prefix[NAME_MAX + 4], library[PATH_MAX], *slash = NULL;
	struct foreign_file *file;
	struct elf_file *elf;
	bool found = false;

	if (binary_open(search->c, program, &file))
		return;
	if (foreign_path(file, real, sizeof(real)) && (slash = strrchr(real, '/')))
		*slash = '\0';
	snprintf(prefix, sizeof(prefix), "lib%s", name);
	if (!elf_file_open_foreign(file, program, &elf, NULL)) {
		found = elf_file_needed(elf, prefix, slash ? real : "", library, sizeof(library));
		elf_file_close(elf);
	}
	foreign_close(file);
	if (found)
		try_real_file(search, library);
}

/* A program by its name. False: there is none. */
static bool try_program(struct search *search, const char *name)
{
	const struct compile_options *options = search->c->options;
	char path[PATH_MAX];
	const char *program = path;
	struct foreign_file *file = find_in_path(search->c, name, path, sizeof(path));

	if (!file)
		return false;
	if (is_script(file))
		program = options->program ? options->program(options->program_context, name) : NULL;
	foreign_close(file);
	if (program && try_file(search, program))
		try_own_library(search, name, program);
	return true;
}

static void try_libraries(struct search *search, const char *name)
{
	const char *triplet = arch_here()->triplet;
	const char *const folders[] = {arena_printf(search->c->arena, "/lib/%s", triplet),
				       arena_printf(search->c->arena, "/usr/lib/%s", triplet),
				       "/lib64",
				       "/usr/lib64",
				       "/usr/local/lib",
				       "/usr/lib",
				       "/lib"};
	char pattern[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]) && !search->count; i++) {
		const char *dot = strstr(name, ".so") ? "" : ".so*";

		/* libc.so is a script for the linker where development files are installed; one library is meant. */
		if (folders[i] &&
		    snprintf(pattern, sizeof(pattern), "%s/%s%s", folders[i], name, dot) < (int)sizeof(pattern))
			try_pattern(search, pattern, true);
	}
}

/* The process's root where it sees other files than we do, else "". */
static const char *root_of(struct compiler *c, int pid)
{
	char path[64], theirs[64] = "", ours[64] = "";

	if (pid <= 0)
		return "";
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (readlink(path, theirs, sizeof(theirs) - 1) < 0 ||
	    readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) < 0 || !strcmp(theirs, ours))
		return "";
	return arena_printf(c->arena, "/proc/%d/root", pid);
}

/* The files that a process has mapped to execute; those that are in `seen` were there before. */
static void try_mapped(struct search *search, int pid, const char *pattern, struct table *seen)
{
	const char *root = root_of(search->c, pid);
	char path[64], *line = NULL, *name;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		unsigned long long inode, major, minor;
		uint64_t file;
		char flags[8];

		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, '/');
		if (!name || sscanf(line, "%*s %7s %*s %llx:%llx %llu", flags, &major, &minor, &inode) != 4 ||
		    !strchr(flags, 'x') || (*pattern && !provider_matches(pattern, name)))
			continue;
		/* Pieces of a file stand one behind the other, and processes share files. */
		file = binary_mapped_key(major << 32 | minor, inode);
		if (table_get(seen, file, NULL) || table_set(seen, file, 1))
			continue;
		name = *root ? (char *)arena_printf(search->c->arena, "%s%s", root, name) : name;
		if (name)
			try_file(search, name);
	}
	free(line);
	if (maps)
		fclose(maps);
}

unsigned int binary_each(struct compiler *c, const char *name,
			 void (*each)(void *context, const char *path, const struct elf_file *elf), void *context)
{
	struct search search = {c, each, context, 0};
	const char *root = *name == '/' ? root_of(c, c->options->pid) : "", *mark;

	if (!*name || !strcmp(name, "*")) {
		struct table seen = {};

		if (c->options->pid > 0 && !c->options->command_path)
			try_mapped(&search, c->options->pid, name, &seen);
		table_deinit(&seen);
		return search.count;
	}
	name = root ? arena_printf(c->arena, "%s%s", root, name) : NULL;
	if (!name)
		return 0;
	mark = strstr(name, BINARY_ARCHIVE_MARK);
	if (mark) {
		try_archive(&search, name, mark);
		return search.count;
	}
	if (strchr(name, '/')) {
		if (strpbrk(name, "*?["))
			try_pattern(&search, name, false);
		else if (*root) /* links are those of another root */
			try_file(&search, name);
		else
			try_real_file(&search, name);
		return search.count;
	}
	if (!try_program(&search, name))
		try_libraries(&search, name);
	return search.count;
}

unsigned int binary_each_mapped(struct compiler *c,
				void (*each)(void *context, const char *path, const struct elf_file *elf),
				void *context)
{
	struct search search = {c, each, context, 0};
	struct table seen = {};
	DIR *processes = opendir("/proc");
	const struct dirent *entry;

	while (processes && (entry = readdir(processes))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (!*end && pid > 0)
			try_mapped(&search, (int)pid, "*", &seen);
	}
	if (processes)
		closedir(processes);
	table_deinit(&c->mapped);
	c->mapped = seen;
	return search.count;
}

static const struct elf_segment *find_segment(const struct elf_file *elf, uint64_t vaddr)
{
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++)
		if (vaddr >= segments[i].vaddr && vaddr - segments[i].vaddr < segments[i].filesz)
			return &segments[i];
	return NULL;
}

bool binary_is_code(const struct elf_file *elf, uint64_t vaddr)
{
	const struct elf_segment *segment = find_segment(elf, vaddr);

	return segment && (segment->flags & PF_X);
}

bool binary_offset(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_segment *segment = find_segment(elf, vaddr);

	if (!segment)
		return false;
	*ret = elf_file_base(elf) + segment->offset + (vaddr - segment->vaddr);
	return true;
}
