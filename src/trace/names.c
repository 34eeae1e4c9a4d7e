// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/names.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/table.h"
#include "dwarf/source.h"
#include "elf/symbols.h"
#include "kernel/kernel_names.h"
#include "proc/cgroups.h"
#include "profile/text.h"
#include "symbol/demangle.h"
#include "trace/sources.h"
#include "trace/stacks.h"

struct module {
	struct elf_symbols *symbols;        /* NULL: none */
	uint64_t *starts, *offsets, *sizes; /* of its segments: vaddr, file offset, bytes */
	size_t segment_count;
	bool sources_tried;
	struct foreign_file *file; /* these three are kept for its sources; NULL: not asked for, or there are none */
	struct elf_file *elf;
	struct debug_info *info;
};

struct names {
	const struct compiler *compiler;
	struct stacks *stacks;
	struct foreign_files *files; /* NULL: not needed yet */
	bool owns_files;
	struct kernel_names *kernel;
	bool kernel_tried;
	struct table modules; /* hash of the path → struct module * */
	int64_t boot;         /* CLOCK_REALTIME when CLOCK_BOOTTIME was 0, ns */
};

static int64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void put_name(FILE *out, const char *name)
{
	text_print(out, name, strlen(name));
}

struct names *names_create(const struct compiler *compiler, struct stacks *stacks, struct foreign_files *files)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->compiler = compiler;
	names->stacks = stacks;
	names->files = files;
	names->boot = now(CLOCK_REALTIME) - now(CLOCK_BOOTTIME);
	return names;
}

void names_use(struct names *names, const struct compiler *compiler)
{
	names->compiler = compiler;
}

static void module_destroy(struct module *module)
{
	debug_info_close(module->info);
	elf_file_close(module->elf);
	foreign_close(module->file);
	elf_symbols_destroy(module->symbols);
	free(module->starts);
	free(module);
}

void names_destroy(struct names *names)
{
	struct table_slot *slot;
	size_t at = 0;

	if (!names)
		return;
	while ((slot = table_next(&names->modules, &at)))
		module_destroy((struct module *)(uintptr_t)slot->value);
	table_deinit(&names->modules);
	kernel_names_destroy(names->kernel);
	if (names->owns_files)
		foreign_files_destroy(names->files);
	free(names);
}

static void kernel_symbol(struct names *names, FILE *out, uint64_t address, bool is_return, bool with_offset)
{
	const char *name = NULL;
	uint64_t offset;

	if (!names->kernel_tried) {
		names->kernel_tried = true;
		names->kernel = kernel_names_create(true);
		if (names->kernel)
			kernel_names_read(names->kernel, false);
	}
	if (names->kernel)
		name = kernel_names_lookup(names->kernel, address - is_return, &offset);
	if (!name)
		fprintf(out, "0x%" PRIx64, address);
	else
		put_name(out, name);
	if (name && with_offset && offset + is_return)
		fprintf(out, "+%" PRIu64, offset + is_return);
}

void names_kernel_symbol(struct names *names, FILE *out, uint64_t address, bool is_return)
{
	kernel_symbol(names, out, address, is_return, true);
}

static void names_kernel_address(struct names *names, FILE *out, uint64_t address, enum symbol_form form)
{
	kernel_symbol(names, out, address, false, form != SYMBOL_ALONE);
}

static int open_module(struct names *names, const char *path, struct foreign_file **ret)
{
	const struct foreign_request request = {.paths = {path}, .place = foreign_namespace(getpid())};

	if (!names->files)
		names->owns_files = !foreign_files_create(0, &names->files, NULL);
	return foreign_open(names->files, &request, ret);
}

static struct module *module_load(struct names *names, const char *path)
{
	struct module *module = calloc(1, sizeof(*module));
	const struct elf_segment *segments;
	struct elf_file *elf;
	struct foreign_file *file;
	size_t i;

	if (!module || open_module(names, path, &file))
		return module;
	if (elf_file_open_foreign(file, path, &elf, NULL)) {
		foreign_close(file);
		return module;
	}
	if (elf_symbols_create(elf, "", &module->symbols, NULL))
		module->symbols = NULL;
	segments = elf_file_segments(elf, &module->segment_count);
	module->starts = calloc(3 * module->segment_count + 1, sizeof(*module->starts));
	if (!module->starts)
		module->segment_count = 0;
	module->offsets = module->starts + module->segment_count;
	module->sizes = module->offsets + module->segment_count;
	for (i = 0; i < module->segment_count; i++) {
		module->starts[i] = segments[i].vaddr;
		module->offsets[i] = segments[i].offset;
		module->sizes[i] = segments[i].filesz;
	}
	elf_file_close(elf);
	foreign_close(file);
	return module;
}

static struct module *module_of(struct names *names, const char *path)
{
	uint64_t hash = 0xcbf29ce484222325ull, found;
	const char *at;
	struct module *module;

	for (at = path; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	hash = hash ? hash : 1;
	if (table_get(&names->modules, hash, &found))
		return (struct module *)(uintptr_t)found;
	module = module_load(names, path);
	if (module && table_set(&names->modules, hash, (uint64_t)(uintptr_t)module)) {
		module_destroy(module);
		return NULL;
	}
	return module;
}

/* The vaddr of a file offset; 0: it is in no segment. */
static uint64_t vaddr_of(const struct module *module, uint64_t file_offset)
{
	uint64_t vaddr = 0;
	size_t i;

	for (i = 0; i < module->segment_count; i++)
		if (file_offset >= module->offsets[i] && file_offset - module->offsets[i] < module->sizes[i])
			vaddr = file_offset - module->offsets[i] + module->starts[i];
	return vaddr;
}

/* Writes the symbol of a file offset; false when the file has none there. */
static bool print_symbol(const struct module *module, FILE *out, uint64_t file_offset, enum symbol_form form)
{
	struct elf_symbol symbol;
	uint64_t vaddr;
	char *readable;

	if (!module || !module->symbols)
		return false;
	vaddr = vaddr_of(module, file_offset);
	if (!vaddr || !elf_symbols_lookup(module->symbols, vaddr, &symbol) ||
	    (symbol.guessed && vaddr != symbol.vaddr))
		return false;
	readable = demangle(symbol.name);
	put_name(out, readable ? readable : symbol.name);
	free(readable);
	if (form == SYMBOL_WITH_SIZE || (form == SYMBOL_WITH_OFFSET && vaddr > symbol.vaddr))
		fprintf(out, "+%" PRIu64, vaddr - symbol.vaddr);
	if (form == SYMBOL_WITH_SIZE && symbol.size)
		fprintf(out, "/%" PRIu64, symbol.size);
	return true;
}

/* The file that a process has mapped at an address, while it lives. */
static bool find_mapping(uint64_t pid, uint64_t address, char *path, size_t size, uint64_t *offset)
{
	char name[64], line[PATH_MAX + 128], file[PATH_MAX];
	bool found = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%" PRIu64 "/maps", pid);
	maps = fopen(name, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, at;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095[^\n]", &start, &end, &at,
			   file) != 4 ||
		    address < start || address >= end)
			continue;
		*offset = address - start + at;
		snprintf(path, size, "%s", file);
		found = true;
	}
	if (maps)
		fclose(maps);
	return found;
}

static void names_user_symbol(struct names *names, FILE *out, uint64_t address, uint64_t pid,
			      enum symbol_form form)
{
	char path[PATH_MAX];
	uint64_t offset;
	size_t i;

	if (find_mapping(pid, address, path, sizeof(path), &offset) &&
	    print_symbol(module_of(names, path), out, offset, form))
		return;
	if (names->stacks && stacks_symbol(names->stacks, out, address, (int)pid, form))
		return;
	/* A process that is gone: a traced program without relocation still has its addresses. */
	for (i = 0; i < names->compiler->attaches.count; i++) {
		const struct attach *attach = &names->compiler->attaches.at[i];

		if (attach->path && attach->function && (attach->address & 0xfff) == (address & 0xfff)) {
			put_name(out, attach->function);
			return;
		}
	}
	fprintf(out, "0x%" PRIx64, address);
}

static void names_user_file(struct names *names, FILE *out, uint64_t address, uint64_t pid)
{
	char path[PATH_MAX];
	uint64_t offset;

	if (find_mapping(pid, address, path, sizeof(path), &offset))
		put_name(out, path);
	else if (names->stacks)
		stacks_file(names->stacks, out, address, (int)pid);
}

static void open_sources(struct names *names, struct module *module, const char *path)
{
	const struct debug_info_options options = {.root = "",
						   .folders = names->compiler->options->debug_folders,
						   .bytes_max = SOURCES_DEBUG_MAX,
						   .is_strange = true};

	module->sources_tried = true;
	if (open_module(names, path, &module->file)) {
		module->file = NULL;
		return;
	}
	if (elf_file_open_foreign(module->file, path, &module->elf, NULL))
		module->elf = NULL;
	else if (debug_info_open(module->elf, &options, &module->info, NULL))
		module->info = NULL;
}

static void names_user_source(struct names *names, uint64_t address, uint64_t pid, const char **file, uint32_t *line)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct module *module;
	char path[PATH_MAX];
	uint64_t offset;

	if (!find_mapping(pid, address, path, sizeof(path), &offset))
		return;
	module = module_of(names, path);
	if (module && !module->sources_tried)
		open_sources(names, module, path);
	if (!module || !module->info || !debug_info_source(module->info, vaddr_of(module, offset), frames))
		return;
	*file = frames[0].file;
	*line = frames[0].line;
}

static void names_user(struct names *names, FILE *out, uint64_t uid)
{
	const struct passwd *user = getpwuid((uid_t)uid);

	(void)names;
	if (user)
		put_name(out, user->pw_name);
	else
		fprintf(out, "%" PRIu64, uid);
}

static void names_process(struct names *names, FILE *out, uint64_t pid)
{
	char path[64], name[64] = "";
	FILE *file;

	(void)names;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", pid);
	file = fopen(path, "re");
	if (file) {
		name[fread(name, 1, sizeof(name) - 1, file)] = '\0';
		fclose(file);
	}
	/* The kernel ends it with a newline; it may have others. */
	if (*name && name[strlen(name) - 1] == '\n')
		name[strlen(name) - 1] = '\0';
	put_name(out, *name ? name : "N/A");
}

static void names_cgroup(struct names *names, FILE *out, uint64_t id, const char *filter)
{
	char path[PATH_MAX];

	(void)names;
	if (filter && fnmatch(filter, "unified", 0))
		return;
	if (!cgroup_path(id, path, sizeof(path))) {
		fprintf(out, "unified:(%" PRIu64 ")", id);
		return;
	}
	fputs("unified:", out);
	put_name(out, path);
}

static void names_probe(struct names *names, FILE *out, uint64_t attach)
{
	if (attach < names->compiler->attaches.count)
		put_name(out, names->compiler->attaches.at[attach].name);
}

int64_t names_boot_time(const struct names *names)
{
	return names->boot;
}

/* %f, which strftime() lacks, is microseconds. */
static void names_time(struct names *names, FILE *out, const char *format, uint64_t nanoseconds)
{
	bool is_date = *format == '\001';
	int64_t since = (int64_t)nanoseconds + (is_date ? 0 : names->boot);
	time_t seconds = since / 1000000000;
	char whole[512], text[1024], micro[8];
	struct tm broken;
	size_t at = 0;
	const char *from = format + is_date;

	snprintf(micro, sizeof(micro), "%06d", (int)(since % 1000000000 / 1000) % 1000000);
	while (*from && at + sizeof(micro) < sizeof(whole)) {
		if (from[0] == '%' && from[1] == 'f') {
			at += (size_t)snprintf(whole + at, sizeof(whole) - at, "%s", micro);
			from += 2;
		} else {
			whole[at++] = *from++;
		}
	}
	whole[at] = '\0';
	localtime_r(&seconds, &broken);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (strftime(text, sizeof(text), whole, &broken))
		fputs(text, out);
#pragma GCC diagnostic pop
}

static void names_stack(struct names *names, FILE *out, const struct type *type, const struct rt_stack_value *value,
			bool json)
{
	if (names->stacks)
		stacks_print(names->stacks, names, out, type, value, json);
}

const struct print_names names_words = {
	.kernel_symbol = names_kernel_address,
	.user_symbol = names_user_symbol,
	.user_file = names_user_file,
	.user_source = names_user_source,
	.user = names_user,
	.process = names_process,
	.cgroup = names_cgroup,
	.probe = names_probe,
	.time = names_time,
	.boot_time = names_boot_time,
	.stack = names_stack,
};
