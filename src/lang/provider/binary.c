// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/provider/binary.h"
#include "lang/provider/provider.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
	struct compiler *c;
	void (*each)(void *context, const char *path, const struct elf_file *elf);
	void *context;
	unsigned int count;
};

static bool try_file(struct search *search, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;

	if (fd < 0)
		return false;
	if (elf_file_open(fd, path, &elf, NULL)) {
		close(fd);
		return false;
	}
	search->each(search->context, arena_strdup(search->c->arena, path, strlen(path)), elf);
	search->count++;
	elf_file_close(elf);
	close(fd);
	return true;
}

static void try_pattern(struct search *search, const char *pattern)
{
	glob_t found;
	size_t i;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		try_file(search, found.gl_pathv[i]);
	globfree(&found);
}

/* The first file that a shell would execute under this name. */
static bool find_in_path(const char *name, char *ret, size_t size)
{
	const char *list = getenv("PATH"), *end;
	struct stat stat_;

	for (list = list ? list : "/usr/local/bin:/usr/bin:/bin"; *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ':');
		if (snprintf(ret, size, "%.*s/%s", (int)(end - list), list, name) < (int)size && !access(ret, X_OK) &&
		    !stat(ret, &stat_) && S_ISREG(stat_.st_mode))
			return true;
	}
	return false;
}

static bool is_script(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[2];
	bool is = fd >= 0 && read(fd, bytes, 2) == 2 && !memcmp(bytes, "#!", 2);

	if (fd >= 0)
		close(fd);
	return is;
}

const char *binary_script(struct compiler *c, const char *name)
{
	char path[PATH_MAX];

	if (strchr(name, '/') || !find_in_path(name, path, sizeof(path)) || !is_script(path))
		return NULL;
	return arena_strdup(c->arena, path, strlen(path));
}

/* The library that has the code of a program `name`. */
static void try_own_library(struct search *search, const char *name, const char *program)
{
	char real[PATH_MAX], prefix[NAME_MAX + 4], library[PATH_MAX], *slash;
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	bool found;

	if (fd < 0 || elf_file_open(fd, program, &elf, NULL)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	slash = realpath(program, real) ? strrchr(real, '/') : NULL;
	if (slash)
		*slash = '\0';
	snprintf(prefix, sizeof(prefix), "lib%s", name);
	found = elf_file_needed(elf, prefix, slash ? real : "", library, sizeof(library));
	elf_file_close(elf);
	close(fd);
	if (found)
		try_file(search, realpath(library, real) ? real : library);
}

/* A program by its name. False: there is none. */
static bool try_program(struct search *search, const char *name)
{
	const struct compile_options *options = search->c->options;
	char path[PATH_MAX];
	const char *program = path;

	if (!find_in_path(name, path, sizeof(path)))
		return false;
	if (is_script(path))
		program = options->program ? options->program(options->program_context, name) : NULL;
	if (program && try_file(search, program))
		try_own_library(search, name, program);
	return true;
}

static void try_libraries(struct search *search, const char *name)
{
	static const char *const folders[] = {"/lib/x86_64-linux-gnu",
					      "/usr/lib/x86_64-linux-gnu",
					      "/lib64",
					      "/usr/lib64",
					      "/usr/local/lib",
					      "/usr/lib",
					      "/lib"};
	char pattern[PATH_MAX];
	glob_t found;
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]) && !search->count; i++) {
		const char *dot = strstr(name, ".so") ? "" : ".so*";

		if (snprintf(pattern, sizeof(pattern), "%s/%s%s", folders[i], name, dot) >= (int)sizeof(pattern) ||
		    glob(pattern, 0, NULL, &found))
			continue;
		/* libc.so is a script for the linker where development files are installed; one library is meant. */
		for (size_t j = 0; j < found.gl_pathc && !search->count; j++)
			try_file(search, found.gl_pathv[j]);
		globfree(&found);
	}
}

/* The process's root where it sees other files than we do, else "". */
static const char *root_of(struct compiler *c)
{
	char path[64], theirs[64] = "", ours[64] = "";

	if (c->options->pid <= 0)
		return "";
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", c->options->pid);
	if (readlink(path, theirs, sizeof(theirs) - 1) < 0 ||
	    readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) < 0 || !strcmp(theirs, ours))
		return "";
	return arena_printf(c->arena, "/proc/%d/root", c->options->pid);
}

/* The files that the process of -p has mapped to execute. */
static void try_mapped(struct search *search, const char *pattern)
{
	const char *root = root_of(search->c);
	char path[64], last[PATH_MAX] = "", *line = NULL, *name;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", search->c->options->pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		char flags[8];

		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, '/');
		/* Pieces of a file stand one behind the other. */
		if (!name || sscanf(line, "%*s %7s", flags) != 1 || !strchr(flags, 'x') || !strcmp(name, last) ||
		    (*pattern && !provider_matches(pattern, name)))
			continue;
		snprintf(last, sizeof(last), "%s", name);
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

	if (!*name || !strcmp(name, "*")) {
		if (c->options->pid > 0 && !c->options->command_path)
			try_mapped(&search, name);
		return search.count;
	}
	if (*name == '/')
		name = arena_printf(c->arena, "%s%s", root_of(c), name);
	if (!name)
		return 0;
	if (strchr(name, '/')) {
		char real[PATH_MAX];

		if (strpbrk(name, "*?["))
			try_pattern(&search, name);
		else
			try_file(&search, realpath(name, real) ? real : name);
		return search.count;
	}
	if (!try_program(&search, name))
		try_libraries(&search, name);
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
	*ret = segment->offset + (vaddr - segment->vaddr);
	return true;
}
