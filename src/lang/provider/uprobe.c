// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uprobe, uretprobe, usdt. All places of one file that share a program are one uprobe_multi link (Linux 6.6). It is
 * made by calling bpf() directly, because libbpf 1.1 does not know it. So thousands of functions attach and detach in
 * milliseconds. With single events, each one would wait for RCU when it is closed. Kernels without uprobe_multi get
 * single events.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attempt.h"
#include "elf/notes.h"
#include "elf/symbols.h"
#include "lang/provider/binary.h"
#include "lang/provider/binary_types.h"
#include "lang/core/number.h"
#include "lang/provider/provider.h"
#include "lang/provider/source_line.h"
#include "symbol/demangle.h"

/* uapi/linux/bpf.h of Linux 6.6: enum bpf_attach_type, the flags of link_create.uprobe_multi and its fields. */
#define ATTACH_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1u
struct uprobe_multi_create {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, ref_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

#define PATIENCE_S 5.0 /* for a file system, when the kernel opens a file of it */

struct uprobe_search {
	struct compiler *c;
	const struct provider *self;
	const char *name, *pattern; /* the binary as written; the function */
	uint64_t offset;            /* behind the function's start */
	bool demangled;
	bool has_binary;
	bool refused; /* and that was said */
	const struct attach_text *point;
};

void provider_add_uprobe(struct compiler *c, struct attach attach)
{
	if (!(c->options->without & COMPILE_WITHOUT_UPROBE_MULTI))
		attach.flags |= ATTACH_MULTI;
	provider_add(c, attach);
}

/* The file as the script names it, where that is a path; else as it was found. */
static const char *shown(struct compiler *c, const char *written, const char *path, const struct elf_file *elf)
{
	if (strchr(written, '/') && !provider_has_wildcard(written))
		return written;
	return elf && elf_file_base(elf)
		       ? arena_printf(c->arena, "%s" BINARY_ARCHIVE_MARK "%s", path, elf_file_path(elf))
		       : path;
}

/* A probe in the middle of something that is no code of the function would damage the program. */
static bool check_place(struct uprobe_search *search, const char *function, uint64_t size)
{
	struct report *report = search->c->report;

	if (search->c->options->unsafe || search->offset < size)
		return true;
	if (size)
		report_error(report, "probe.outside", search->point->span,
			     "Offset outside the function bounds ('%s' size is %llu)", function,
			     (unsigned long long)size);
	else
		report_error(report, "probe.size", search->point->span,
			     "Could not determine boundary for %s (symbol has size 0).", function);
	report_hint(report, "--unsafe attaches all the same, which may damage the program");
	return false;
}

static unsigned int flags_of(const struct provider *self, const struct elf_file *elf)
{
	return (elf_file_base(elf) ? ATTACH_PACKED : 0) | (self->is_return ? 0 : ATTACH_PARAMETERS);
}

static void add(struct uprobe_search *search, const char *path, const struct elf_file *elf, const char *function,
		uint64_t vaddr, uint64_t size)
{
	struct attach attach = {.path = path};

	if (!check_place(search, function, size)) {
		search->refused = true;
		return;
	}
	if (!binary_offset(elf, vaddr + search->offset, &attach.address))
		return;
	attach.flags = flags_of(search->self, elf) | (search->offset ? ATTACH_INSIDE : 0);
	attach.types = attach.flags & ATTACH_PACKED ? NULL : binary_types(search->c, path, attach.address);
	attach.function = arena_strdup(search->c->arena, function, strlen(function));
	attach.name = search->offset ? arena_printf(search->c->arena, "%s:%s:%s+%llu", search->self->name,
						    shown(search->c, "", path, elf), function,
						    (unsigned long long)search->offset)
				     : arena_printf(search->c->arena, "%s:%s:%s", search->self->name,
						    shown(search->c, search->name, path, elf), function);
	provider_add_uprobe(search->c, attach);
}

/* Names with wildcards match once for each address, which has one symbol here. */
static void add_matching(struct uprobe_search *search, const char *path, const struct elf_file *elf)
{
	struct elf_symbols *symbols;
	struct elf_symbol symbol;
	size_t i;

	if (elf_symbols_create(elf, "", &symbols, NULL))
		return;
	for (i = 0; i < elf_symbols_count(symbols); i++) {
		char *readable;

		if (!elf_symbols_at(symbols, i, &symbol) || strchr(symbol.name, '@') || !symbol.size)
			continue;
		if (search->demangled) {
			readable = demangle(symbol.name);
			if (readable) {
				char *open = strchr(readable, '(');

				if (provider_matches(search->pattern, readable)) {
					add(search, path, elf, symbol.name, symbol.vaddr, symbol.size);
				} else if (open) {
					*open = '\0';
					if (provider_matches(search->pattern, readable))
						add(search, path, elf, symbol.name, symbol.vaddr, symbol.size);
				}
			}
			free(readable);
		} else if (provider_matches(search->pattern, symbol.name)) {
			add(search, path, elf, symbol.name, symbol.vaddr, symbol.size);
		}
	}
	elf_symbols_destroy(symbols);
}

/* `elf` is NULL for a file that is none, where an address is an offset in the file. */
static void add_address(struct uprobe_search *search, const char *path, const struct elf_file *elf, uint64_t vaddr)
{
	struct attach attach = {.path = path, .address = vaddr};

	attach.name = arena_printf(search->c->arena, "%s:%s:%s", search->self->name,
				   shown(search->c, search->name, path, elf), search->pattern);
	if (!elf || (binary_is_code(elf, vaddr) && binary_offset(elf, vaddr, &attach.address))) {
		attach.flags = elf ? flags_of(search->self, elf) : 0;
		attach.types =
			elf && !(attach.flags & ATTACH_PACKED) ? binary_types(search->c, path, attach.address) : NULL;
		provider_add_uprobe(search->c, attach);
		return;
	}
	search->refused = true;
	report_error(search->c->report, "probe.address", (struct span){}, "Could not resolve address: %s:0x%llx",
		     search->name, (unsigned long long)vaddr);
	report_hint(search->c->report, "there is no code at this address; addresses are those of the ELF file");
}

static void search_binary(void *context, const char *path, const struct elf_file *elf)
{
	struct uprobe_search *search = context;
	size_t before = search->c->attaches.count;
	uint64_t vaddr, size;

	search->has_binary = true;
	if (!path)
		return;
	if (number_parse(search->pattern, strlen(search->pattern), &vaddr)) {
		add_address(search, path, elf, vaddr);
		return;
	}
	if (!search->demangled && !provider_has_wildcard(search->pattern) &&
	    elf_file_find_symbol(elf, search->pattern, &vaddr, &size)) {
		add(search, path, elf, search->pattern, vaddr, size);
		if (search->refused || search->c->attaches.count > before)
			return;
	}
	add_matching(search, path, elf);
}

static void missing(struct compiler *c, const struct provider *self, const struct attach_text *point, bool has_binary,
		    const char *binary)
{
	const char *mode = c->texts[SETTING_MISSING_PROBES], *script = binary_script(c, binary);
	void (*complain)(struct report *, const char *, struct span, const char *, ...) =
		strcmp(mode, "error") ? report_warning : report_error;

	if (has_binary) {
		provider_missing(c, self, point);
	} else if (strcmp(mode, "ignore") && script) {
		complain(c->report, "probe.script", point->span, "%s is %s, a script: not the program itself", binary,
			 script);
		report_hint(c->report, "name the program that it executes, by its path; or start it with -c '%s ...'",
			    binary);
	} else if (strcmp(mode, "ignore")) {
		complain(c->report, "probe.binary", point->span, "%s: no such program or library, or not an ELF file",
			 binary);
		report_hint(c->report, provider_has_wildcard(binary) || !*binary
					       ? "of all files only those of a process are looked through: name it "
						 "with -p"
					       : "give a path, or a name in PATH or of a library");
	}
}

/* uprobe:BINARY:FUNC[+OFFSET], uprobe:BINARY:OFFSET, uprobe:BINARY:cpp:NAME */
static bool split(struct compiler *c, const struct provider *self, const struct attach_text *point,
		  struct uprobe_search *ret)
{
	*ret = (struct uprobe_search){.c = c, .self = self, .point = point};
	if (point->part_count == 2 && c->options->command_path) {
		ret->name = c->options->command_path;
		ret->pattern = point->parts[1];
	} else {
		if (!provider_parts(c, self, point, 2, 8))
			return false;
		ret->name = point->parts[1];
		ret->pattern = point->parts[2];
		if (point->part_count > 3 && !strcmp(point->parts[2], "cpp")) {
			uint32_t i;

			ret->demangled = true;
			ret->pattern = point->parts[3];
			for (i = 4; i < point->part_count && ret->pattern; i++)
				ret->pattern = arena_printf(c->arena, "%s:%s", ret->pattern, point->parts[i]);
		} else if (point->part_count > 3) {
			return provider_parts(c, self, point, 2, 2);
		}
	}
	return ret->pattern && provider_offset(c, self, point, &ret->pattern, &ret->offset);
}

static void expand_uprobe(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct uprobe_search search;
	size_t first = c->attaches.count, before = first;
	struct foreign_file *file;
	struct source_line line;
	uint64_t address;

	if (source_line_parse(c, point, &line)) {
		if (!source_line_expand(c, self, point, &line))
			missing(c, self, point, false, line.binary);
		return;
	}
	if (!split(c, self, point, &search))
		return;
	binary_each(c, search.name, search_binary, &search);
	if (!search.has_binary && c->options->unsafe &&
	    number_parse(search.pattern, strlen(search.pattern), &address) && !binary_open(c, search.name, &file)) {
		add_address(&search, search.name, NULL, address);
		for (; before < c->attaches.count && foreign_waits(file); before++)
			c->attaches.at[before].flags |= ATTACH_WAITS;
		foreign_close(file);
	}
	if (c->attaches.count == first && !search.refused)
		missing(c, self, point, search.has_binary, search.name);
}

static void list_uprobe(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct uprobe_search search;
	struct source_line line;

	if (source_line_parse(c, point, &line)) {
		source_line_expand(c, self, point, &line);
		return;
	}
	/* Without a file those of the process are meant, never all of the machine. */
	if (point->part_count <= 2)
		search = (struct uprobe_search){
			.c = c, .self = self, .name = point->part_count == 2 ? point->parts[1] : "*", .pattern = "*"};
	else if (!split(c, self, point, &search))
		return;
	binary_each(c, search.name, search_binary, &search);
}

/* --- attaching --- */

int provider_configure_uprobe(struct bpf_program *program, const struct attach *attach, struct diag *diag)
{
	(void)diag;
	return attach->flags & ATTACH_MULTI
		       ? bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)ATTACH_UPROBE_MULTI)
		       : 0;
}

/* An open in the kernel that may wait: perf_event_open(), or a link's creation. */
struct opening {
	const struct perf_event_attr *attr; /* NULL: a link */
	const struct uprobe_multi_create *create;
	int pid;
};

static int open_here(void *context)
{
	const struct opening *opening = context;
	long fd;

	if (opening->attr)
		fd = syscall(SYS_perf_event_open, opening->attr, opening->pid > 0 ? opening->pid : -1,
			     opening->pid > 0 ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	else
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, opening->create, sizeof(*opening->create));
	return fd < 0 ? -errno : (int)fd;
}

/* The kernel looks the file up by its path, and reads what is where the probe shall be. */
static int open_patiently(int program, const struct attach *attach, struct opening opening)
{
	return attach->flags & ATTACH_WAITS ? attempt_descriptor(PATIENCE_S, program, open_here, &opening)
					    : open_here(&opening);
}

/*
 * Is the number of a process what such a link takes? Up to Linux 6.9 it was a thread's, and the program ran in that one
 * only; what is no number is refused first of all since then.
 */
static bool multi_knows_processes(int program)
{
	const uint64_t offset = 0;
	const struct uprobe_multi_create create = {.program = (uint32_t)program,
						   .attach_type = ATTACH_UPROBE_MULTI,
						   .path = (uint64_t)(uintptr_t) "/",
						   .offsets = (uint64_t)(uintptr_t)&offset,
						   .count = 1,
						   .pid = (uint32_t)-1};
	struct opening opening = {.create = &create};

	return open_here(&opening) == -EINVAL;
}

static uint64_t semaphore_of(const struct attach *attach)
{
	return attach->own ? ((const struct uprobe_own *)attach->own)->semaphore : 0;
}

static int attach_multi(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return,
			int pid)
{
	struct uprobe_multi_create create = {.program = (uint32_t)program,
					     .attach_type = ATTACH_UPROBE_MULTI,
					     .count = count,
					     .multi_flags = is_return ? UPROBE_MULTI_RETURN : 0,
					     .pid = pid && multi_knows_processes(program) ? (uint32_t)pid : 0,
					     .path = (uint64_t)(uintptr_t)attaches->path};
	uint64_t *numbers = calloc(3 * (size_t)count, sizeof(*numbers));
	bool has_semaphore = false;
	uint32_t i;
	int fd;

	if (!numbers)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		numbers[i] = attaches[i].address;
		numbers[count + i] = cookie + i;
		numbers[2 * (size_t)count + i] = semaphore_of(&attaches[i]);
		has_semaphore |= semaphore_of(&attaches[i]) != 0;
	}
	create.offsets = (uint64_t)(uintptr_t)numbers;
	create.cookies = (uint64_t)(uintptr_t)(numbers + count);
	create.ref_offsets = has_semaphore ? (uint64_t)(uintptr_t)(numbers + 2 * (size_t)count) : 0;
	fd = open_patiently(program, attaches, (struct opening){.create = &create});
	free(numbers);
	return fd;
}

static int attach_singly(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return,
			 int pid, struct attachment *ret)
{
	uint32_t type, i;
	int err = provider_pmu("uprobe", &type);

	for (i = 0; i < count && !err; i++) {
		/* config bit 0: a return probe; bits 32 and up: the semaphore's offset (kernel/events/core.c). */
		const struct perf_event_attr attr = {.type = type,
						     .size = sizeof(attr),
						     .config = (uint64_t)is_return | semaphore_of(&attaches[i]) << 32,
						     .uprobe_path = (uint64_t)(uintptr_t)attaches[i].path,
						     .probe_offset = attaches[i].address,
						     .disabled = 1};
		int fd = open_patiently(program, &attaches[i], (struct opening){.attr = &attr, .pid = pid});

		err = fd < 0 ? fd : provider_attach_event(program, fd, &attr, cookie + i, ret);
	}
	return err;
}

static int fail(const struct attach *attach, int err, struct diag *diag)
{
	if (err == -ETIMEDOUT)
		return diag_fail(diag, ETIMEDOUT, "attach.answer",
				 "%s cannot be attached: the file system of %s does not answer; look after that file "
				 "system, or leave the probe out",
				 attach->name, attach->path);
	if (err == -EINTR && (attach->flags & ATTACH_WAITS))
		return diag_fail(diag, EINTR, "attach.signal",
				 "%s is not attached: a signal came while the kernel waited for %s", attach->name,
				 attach->path);
	return diag_fail(diag, -err, "attach.uprobe", "%s cannot be attached: %s", attach->name, strerror(-err));
}

static int attach_uprobes(int program, const struct attach *attaches, uint32_t count, uint64_t cookie, bool is_return,
			  const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	/* What a command starts may be in any process. */
	int pid = target->is_command ? 0 : target->pid, fd;
	uint32_t first, end;

	for (first = 0; first < count; first = end) {
		for (end = first + 1; end < count && !strcmp(attaches[end].path, attaches[first].path); end++)
			;
		fd = attaches->flags & ATTACH_MULTI
			     ? attach_multi(program, attaches + first, end - first, cookie + first, is_return, pid)
			     : -EOPNOTSUPP;
		if (fd == -EINVAL || fd == -EOPNOTSUPP) {
			int err = attach_singly(program, attaches + first, end - first, cookie + first, is_return, pid,
						ret);

			if (err)
				return fail(&attaches[first], err, diag);
			continue;
		}
		if (fd < 0)
			return fail(&attaches[first], fd, diag);
		if (attachment_keep(&ret->links, fd, diag))
			return -ENOMEM;
	}
	return 0;
}

int provider_attach_uprobe(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			   const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	return attach_uprobes(program, attaches, count, cookie, false, target, ret, diag);
}

static int attach_return(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			 const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	return attach_uprobes(program, attaches, count, cookie, true, target, ret, diag);
}

const struct provider provider_uprobe = {
	.name = "uprobe",
	.aliases = {"u"},
	.context = CONTEXT_REGISTERS,
	.has_parameters = true,
	.in_task = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.obeys_target = true,
	.shares_programs = true,
	.runs_last_first = true,
	.expand = expand_uprobe,
	.list = list_uprobe,
	.configure = provider_configure_uprobe,
	.attach = provider_attach_uprobe,
	.usage = "uprobe:BINARY:FUNCTION[+OFFSET] or uprobe:BINARY@FILE:LINE[:COLUMN]",
};

const struct provider provider_uretprobe = {
	.name = "uretprobe",
	.aliases = {"ur"},
	.context = CONTEXT_REGISTERS,
	.in_task = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.obeys_target = true,
	.is_return = true,
	.shares_programs = true,
	.runs_last_first = true,
	.expand = expand_uprobe,
	.list = list_uprobe,
	.configure = provider_configure_uprobe,
	.attach = attach_return,
	.usage = "uretprobe:BINARY:FUNCTION",
};

/* --- usdt --- */

struct usdt_search {
	struct compiler *c;
	const struct provider *self;
	const char *binary; /* as written */
	const char *provider, *name;
	bool has_binary;
};

/* NULL: none is known. */
static struct elf_symbols *functions_of(const struct elf_file *elf, const struct elf_marker *markers, size_t count)
{
	uint64_t *sites = calloc(count + 1, sizeof(*sites));
	struct elf_symbols *symbols = NULL;
	size_t i;

	for (i = 0; sites && i < count; i++)
		sites[i] = markers[i].site;
	if (sites && elf_symbols_create_for(elf, "", sites, count, &symbols, NULL))
		symbols = NULL;
	free(sites);
	return symbols;
}

static void search_markers(void *context, const char *path, const struct elf_file *elf)
{
	struct usdt_search *search = context;
	struct elf_symbol symbol;
	struct elf_marker *markers;
	struct elf_symbols *symbols;
	size_t count, i;

	search->has_binary = true;
	if (!path || elf_file_markers(elf, &markers, &count))
		return;
	symbols = search->c->names_markers ? functions_of(elf, markers, count) : NULL;
	for (i = 0; i < count; i++) {
		struct attach attach = {.path = path};
		struct uprobe_own own;

		if (!provider_matches(search->provider, markers[i].provider) ||
		    !provider_matches(search->name, markers[i].name) ||
		    !binary_offset(elf, markers[i].site, &attach.address) ||
		    (markers[i].semaphore && !binary_offset(elf, markers[i].semaphore, &own.semaphore)))
			continue;
		if (markers[i].semaphore)
			attach.own = provider_own(search->c, &own, sizeof(own));
		attach.name =
			arena_printf(search->c->arena, "%s:%s:%s:%s", search->self->name,
				     shown(search->c, search->binary, path, elf), markers[i].provider, markers[i].name);
		if (symbols && elf_symbols_lookup(symbols, markers[i].site, &symbol))
			attach.function = arena_strdup(search->c->arena, symbol.name, strlen(symbol.name));
		attach.spec = arena_strdup(search->c->arena, markers[i].arguments, strlen(markers[i].arguments));
		provider_add_uprobe(search->c, attach);
	}
	elf_symbols_destroy(symbols);
	free(markers);
}

static void find_usdt(struct compiler *c, const struct provider *self, const struct attach_text *point,
		      struct usdt_search *search)
{
	*search = (struct usdt_search){.c = c,
				       .self = self,
				       .binary = point->part_count > 1 ? point->parts[1] : "*",
				       .provider = "*",
				       .name = point->part_count > 2 ? point->parts[point->part_count - 1] : "*"};
	if (point->part_count == 4 && *point->parts[2])
		search->provider = point->parts[2];
	/* usdt:*:NAME without a process means all of them. */
	if (!c->options->pid && point->part_count > 2 && !strcmp(search->binary, "*"))
		binary_each_mapped(c, search_markers, search);
	else
		binary_each(c, search->binary, search_markers, search);
}

static void missing_marker(struct compiler *c, const struct attach_text *point, const char *probe)
{
	const char *mode = c->texts[SETTING_MISSING_PROBES];
	void (*complain)(struct report *, const char *, struct span, const char *, ...) =
		strcmp(mode, "error") ? report_warning : report_error;

	if (!strcmp(mode, "ignore"))
		return;
	complain(c->report, "probe.none", point->span, "this Python was built without the marker %s",
		 point->parts[point->part_count - 1]);
	report_hint(c->report, "python:%s has it all the same, and --synthesize makes this name mean it", probe);
}

static void expand_usdt(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct usdt_search search;
	size_t before = c->attaches.count;
	const char *probe;

	if (!provider_parts(c, self, point, 2, 3))
		return;
	find_usdt(c, self, point, &search);
	if (c->attaches.count > before || provider_python_instead(c, point, &probe))
		return;
	if (probe)
		missing_marker(c, point, probe);
	else
		missing(c, self, point, search.has_binary, point->parts[1]);
}

static void list_usdt(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct usdt_search search;

	find_usdt(c, self, point, &search);
}

const struct provider provider_usdt = {
	.name = "usdt",
	.aliases = {"U"},
	.context = CONTEXT_REGISTERS,
	.in_task = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.obeys_target = true,
	.shares_programs = true,
	.runs_last_first = true,
	.expand = expand_usdt,
	.list = list_usdt,
	.configure = provider_configure_uprobe,
	.attach = provider_attach_uprobe,
	.usage = "usdt:BINARY:[PROVIDER:]NAME",
};
