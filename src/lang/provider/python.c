// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * python: what a CPython from 3.6 on does: its functions, exceptions, imports, garbage collections, audits.
 *
 *   python:function-entry         of the process of -p, of the command of -c, or of all Pythons that run, and those in
 *                                 PATH that start later, and those whose files appear later (trace/later.h)
 *   python:FILE:function-entry    of the Pythons that run this file or library, now and later
 *
 * A probe has one of two sources, and means the same with both. For functions these are breakpoints at several places
 * of the interpreter loop (runtime/python/probe_sites.h). Each has the frame elsewhere; but those of one event in a
 * file, some or hundreds, have one program, which finds by the attach cookie where it is: the verifier takes 30 ms for
 * one. Where the kernel has no cookies, each place has one. Only if the loop is not understood are the static markers
 * used, which do not tell the kind. The other events use their markers, which cost nothing until the
 * event happens. A build without markers has places in its code for them (runtime/python/event_sites.h). There, imports
 * begin and end with a function of Python's own, _find_and_load().
 *
 * Names of functions are read once, and kept by where the function's code is, until its code object is freed: a place
 * of each of the loop's probes is where the interpreter frees them (probe_frees.c).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/bpf.h>

#include "kernel/features.h"
#include "lang/provider/binary.h"
#include "lang/provider/python.h"
#include "lang/rt/python.h"
#include "runtime/python/cache.h"

#define BIT(event) (1u << (event))
#define FUNCTIONS  (BIT(PYTHON_FUNCTION_ENTRY) | BIT(PYTHON_FUNCTION_RETURN))
#define CODE       (FUNCTIONS | BIT(PYTHON_EXCEPTION))
#define LOOP       (CODE | BIT(PYTHON_LINE) | BIT(PYTHON_IMPORT_START) | BIT(PYTHON_IMPORT_DONE)) /* without a marker */

#define DIGEST_MAX (256u << 20) /* bytes, in 50 ms */

/* The fields of `args`. */
static const struct {
	uint32_t events;
	const char *name, *declaration;
	uint32_t text; /* bytes of it; 0: a number */
} fields[] = {
	{CODE | BIT(PYTHON_LINE), "file", "string file", RT_PYTHON_TEXT},
	{CODE | BIT(PYTHON_LINE), "function", "string function", RT_PYTHON_TEXT},
	{FUNCTIONS, "kind", "string kind", 8},
	{BIT(PYTHON_FUNCTION_ENTRY), "self_class", "string self_class", RT_PYTHON_TEXT},
	{CODE, "first_line", "int32 first_line", 0},
	{CODE | BIT(PYTHON_LINE), "line", "int32 line", 0},
	{BIT(PYTHON_GC_START), "generation", "int32 generation", 0},
	{BIT(PYTHON_GC_DONE), "collected", "int64 collected", 0},
	{BIT(PYTHON_IMPORT_START) | BIT(PYTHON_IMPORT_DONE), "module", "string module", RT_PYTHON_TEXT},
	{BIT(PYTHON_IMPORT_DONE), "found", "int32 found", 0},
	{BIT(PYTHON_AUDIT), "event", "string event", RT_PYTHON_TEXT},
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

/* A file that was looked at: several names may lead to it, and its probes are to be attached once. */
struct seen {
	dev_t device;
	ino_t inode;
};

struct python_search {
	struct compiler *c;
	const struct provider *self;
	const struct attach_text *point;
	const char *event;    /* a pattern */
	const char *shown;    /* the file as written; NULL: as found */
	unsigned int pythons; /* files that are one */
	bool is_program;      /* one file, by its path */
	bool installed;       /* files of a machine: any of them may be no more than a start of its library */
	bool of_machine;      /* all that run and will run */
	bool listing;         /* nothing is said of what cannot be had */
	VEC(struct seen) seen;
};

/* One file that is a Python. */
struct python_file {
	struct python_search *search;
	const char *path;
	const struct elf_file *elf;
	const struct python_identity *identity; /* NULL: it does not matter */
	struct python_interpreter interpreter;
	struct python_sites sites; /* of its loop */
	int loop;                  /* 1: not looked for yet; 0: they are there; else why not */
	bool knows;                /* names may be known until a code object is freed */
	struct diag why;
};

static const struct type *make_type(struct compiler *c, enum python_event event)
{
	struct type_field *list = arena_alloc(c->arena, FIELDS * sizeof(*list));
	struct type *type = arena_alloc(c->arena, sizeof(*type));
	uint32_t size = 0, count = 0, i;

	if (!list || !type)
		return NULL;
	for (i = 0; i < FIELDS; i++) {
		const struct type *of = fields[i].text ? type_string(c->arena, fields[i].text)
					: !strncmp(fields[i].declaration, "int64", 5) ? &type_int64
										      : &type_int32;

		if (!(fields[i].events & BIT(event)))
			continue;
		if (!of)
			return NULL;
		list[count++] = (struct type_field){
			.name = fields[i].name, .type = of, .offset = size, .declaration = fields[i].declaration};
		size += of->size;
	}
	*type = (struct type){.kind = TYPE_RECORD,
			      .size = (size + 7) & ~7u,
			      .align = 8,
			      .name = arena_printf(c->arena, "python_%s", python_event_name(event)),
			      .fields = list,
			      .field_count = count};
	return type;
}

static void add(const struct python_file *file, struct python_probe probe, uint64_t vaddr, uint64_t semaphore)
{
	const struct python_search *search = file->search;
	struct attach attach = {.path = file->path, .arguments = make_type(search->c, probe.event)};

	if (!binary_offset(file->elf, vaddr, &attach.address) ||
	    (semaphore && !binary_offset(file->elf, semaphore, &probe.own.semaphore)))
		return;
	if (BIT(probe.event) & LOOP && !probe.arguments)
		attach.flags |= ATTACH_TOGETHER;
	probe.lines = search->c->python_lines;
	probe.layout = file->interpreter.layout;
	probe.objects = file->interpreter.objects;
	probe.file = file->identity;
	attach.own = provider_own(search->c, &probe, sizeof(probe));
	attach.name = arena_printf(search->c->arena, "%s:%s:%s", search->self->name,
				   search->shown ? search->shown : file->path, python_event_name(probe.event));
	if (!attach.own || !attach.name || !attach.arguments)
		search->c->arena->failed = true;
	else
		provider_add_uprobe(search->c, attach);
}

void provider_python_close(struct compiler *c)
{
	python_cache_destroy(c->python_cache);
}

/* Each place has to be told apart, and no hit missed. */
static bool may_know(const struct python_file *file)
{
	uint64_t offset;

	return file->sites.frees.vaddr && binary_offset(file->elf, file->sites.frees.vaddr, &offset) &&
	       feature_probe(FEATURE_BPF_LOOP) && feature_probe(FEATURE_UPROBE_SURE);
}

/* Those of the loop, in the cache of all commands. False: it is not understood, and file->why says why. */
static bool find_loop(struct python_file *file)
{
	struct compiler *c = file->search->c;
	struct python_cache *cache = c->options->later ? c->options->later->cache : NULL;
	char *directory;

	if (!cache && !c->python_cache) {
		directory = cache_default_directory("strata");
		c->python_cache = python_cache_create(directory);
		free(directory);
	}
	if (file->loop == 1) {
		file->loop = python_cache_sites(cache ? cache : c->python_cache, file->elf, &file->interpreter,
						&file->sites, NULL, &file->why);
		file->knows = !file->loop && may_know(file);
	}
	return !file->loop;
}

static void add_site(const struct python_file *file, enum python_event event, const struct python_site *site)
{
	uint64_t frees = event != PYTHON_LINE && file->knows ? file->sites.frees.vaddr : 0;

	add(file, (struct python_probe){.event = event, .site = *site, .frees = frees}, site->vaddr, 0);
}

/*
 * All instructions, and by what else a frame is begun, left, or gone on with. All are one program's. Of two at one
 * address the kernel runs the one first that is attached last.
 */
static void add_lines(const struct python_file *file)
{
	const struct compile_options *options = file->search->c->options;
	const struct python_sites *sites = &file->sites;
	bool is_old = file->interpreter.layout.version < 0x30b;
	size_t i;

	file->search->c->python_lines++;
	for (i = 0; i < sites->jits.count; i++)
		add_site(file, PYTHON_LINE, &sites->jits.at[i]);
	for (i = 0; i < sites->raises.count && (!is_old || file->interpreter.layout.version == 0x309); i++)
		add_site(file, PYTHON_LINE, &sites->raises.at[i]);
	for (i = 0; i < sites->at.count; i++)
		if (is_old || sites->at.at[i].kind == PYTHON_SITE_UNWIND || sites->at.at[i].kind == PYTHON_SITE_THROW)
			add_site(file, PYTHON_LINE, &sites->at.at[i]);
	for (i = sites->lines.count; i-- > 0;)
		add_site(file, PYTHON_LINE, &sites->lines.at[i]);
	if (!file->search->listing)
		report_warning(file->search->c->report, "python.slow", file->search->point->span,
			       "%s has no marker for lines: each of Python's instructions is stopped at, which "
			       "slows it 40 to 1,000 times%s",
			       file->path,
			       options->pid && !options->command_path
				       ? ""
				       : ", in each process of the machine that runs it; with -p PID in that one");
}

/* Where the kernel cannot read line tables; and nobody who asks for all events means to wait 200 times as long. */
static void refuse_lines(const struct python_file *file, struct diag *diag)
{
	if (!feature_probe(FEATURE_BPF_LOOP))
		diag_fail(diag, ENOTSUP, "python.loop", "%s has no marker for it, and without one it needs Linux 5.17",
			  file->path);
	else if (provider_has_wildcard(file->search->event))
		diag_fail(diag, ENOTSUP, "python.slow",
			  "%s has no marker for it, and without one it is slow: name it by itself", file->path);
}

/* The places of an event in a file are told apart by their cookies, which kernels with bpf_loop() have (5.15). */
static bool is_alike(const struct attach *a, const struct attach *b)
{
	const struct python_probe *one = a->own, *other = b->own;

	return one->event == other->event && BIT(one->event) & LOOP && one->file == other->file &&
	       one->lines == other->lines && !strcmp(a->path, b->path) && !one->arguments && !other->arguments &&
	       feature_probe(FEATURE_BPF_LOOP);
}

static void add_loop(const struct python_file *file, enum python_event event)
{
	bool entry = event == PYTHON_FUNCTION_ENTRY || event == PYTHON_IMPORT_START;
	const struct python_sites *sites = &file->sites;
	size_t i;

	if (event == PYTHON_LINE) {
		add_lines(file);
		return;
	}
	/* No event, and the first place: what is known of a code object must not outlive it. */
	if (file->knows)
		add_site(file, event, &sites->frees);
	for (i = 0; event != PYTHON_EXCEPTION && i < sites->at.count; i++)
		if (python_site_is_entry(&sites->at.at[i]) == entry)
			add_site(file, event, &sites->at.at[i]);
	/* No event: it counts what is missed. */
	for (i = 0; i < sites->jits.count; i++)
		add_site(file, event, &sites->jits.at[i]);
	for (i = 0; event == PYTHON_EXCEPTION && i < sites->raises.count; i++)
		add_site(file, event, &sites->raises.at[i]);
}

static void add_sites(const struct python_file *file, enum python_event event, const python_event_sites *sites)
{
	size_t i;

	for (i = 0; i < sites->count; i++) {
		struct python_probe probe = {.event = event, .value = sites->at[i].value, .more = sites->at[i].more};

		if (sites->at[i].arguments)
			probe.arguments = arena_strdup(file->search->c->arena, sites->at[i].arguments,
						       strlen(sites->at[i].arguments));
		add(file, probe, sites->at[i].vaddr, sites->at[i].semaphore);
	}
}

/*
 * Of a file that appeared while the script runs strata reads no machine code: it may be anybody's, put there for
 * that. Others find the places in its loop (trace/later.h); the other events need markers.
 */
static int find_event(struct python_file *file, const struct python_sites *loop, enum python_event event,
		      python_event_sites *sites, enum python_source *source, struct diag *diag)
{
	const struct compile_options *options = file->search->c->options;
	bool markers = !(options->without & COMPILE_WITHOUT_PYTHON_MARKERS);
	int err = 0;

	if (!options->later || loop)
		return python_event_find(file->elf, &file->interpreter, loop, markers, event, sites, source, diag);
	if (markers)
		err = python_event_markers(file->elf, &file->interpreter, event, sites, diag);
	if (sites->count)
		*source = PYTHON_SOURCE_MARKER;
	else if (!(CODE & BIT(event)) && event != PYTHON_IMPORT_START && event != PYTHON_IMPORT_DONE && !err)
		diag_fail(diag, ENOTSUP, "python.later", "%s appeared later, and has no marker for it",
			  options->later->shown);
	return err;
}

static void add_event(struct python_file *file, enum python_event event)
{
	struct compiler *c = file->search->c;
	bool of_imports = event == PYTHON_IMPORT_START || event == PYTHON_IMPORT_DONE;
	bool needs_loop = (CODE | BIT(PYTHON_LINE)) & BIT(event);
	const struct python_sites *loop = needs_loop && find_loop(file) ? &file->sites : NULL;
	enum python_source source = PYTHON_SOURCE_NONE;
	python_event_sites sites = {};
	struct diag diag = {};
	size_t before = c->attaches.count;
	int err = find_event(file, loop, event, &sites, &source, &diag);

	/* The loop is looked through only where it is needed. */
	if (!err && source == PYTHON_SOURCE_NONE && of_imports && find_loop(file))
		source = PYTHON_SOURCE_LOOP;
	if (source == PYTHON_SOURCE_LOOP && event == PYTHON_LINE && !file->search->listing)
		refuse_lines(file, &diag);
	if (source == PYTHON_SOURCE_LOOP && !*diag.text)
		add_loop(file, event);
	else
		add_sites(file, event, &sites);
	vec_free(&sites);
	if (err == -ENOMEM)
		c->arena->failed = true;
	if (c->attaches.count > before)
		c->has_python = true;
	else if (!file->search->listing)
		report_warning(c->report, "python.refused", file->search->point->span, "%s:%s is not to be had: %s",
			       file->search->self->name, python_event_name(event),
			       *diag.text       ? diag.text
			       : file->loop < 0 ? file->why.text
						: file->path);
}

static void search_file(void *context, const char *path, const struct elf_file *elf);

/* Many programs are no more than a start of their library. */
static void search_library(struct python_search *search, const char *path, const struct elf_file *elf)
{
	char folder[PATH_MAX], library[PATH_MAX], *slash;

	if (!search->is_program && !search->installed)
		return;
	search->is_program = false;
	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	if (elf_file_needed(elf, "libpython3", slash ? folder : "", library, sizeof(library)))
		binary_each(search->c, library, search_file, search);
}

static bool is_new(struct python_search *search, const char *path)
{
	struct stat status;
	size_t i;

	if (stat(path, &status))
		return true;
	for (i = 0; i < search->seen.count; i++)
		if (search->seen.at[i].device == status.st_dev && search->seen.at[i].inode == status.st_ino)
			return false;
	if (vec_push(&search->seen, (struct seen){status.st_dev, status.st_ino}))
		search->c->arena->failed = true;
	return true;
}

struct python_identity python_identity_of(const struct elf_file *elf, const struct stat *status)
{
	struct python_identity ret = {
		.inode = status->st_ino, .size = (uint64_t)status->st_size, .written = status->st_mtim};

	ret.is_known = elf_file_digest(elf, DIGEST_MAX, ret.digest);
	return ret;
}

bool python_identity_alike(const struct python_identity *a, const struct python_identity *b)
{
	return a->is_known && b->is_known && a->size == b->size && !memcmp(a->digest, b->digest, sizeof(a->digest));
}

bool python_identity_same(const struct python_identity *a, const struct python_identity *b)
{
	return python_identity_alike(a, b) && a->inode == b->inode && a->written.tv_sec == b->written.tv_sec &&
	       a->written.tv_nsec == b->written.tv_nsec;
}

static const struct python_identity *identify(struct compiler *c, const char *path, const struct elf_file *elf)
{
	struct python_identity identity;
	struct stat status;

	if (c->options->later)
		return c->options->later->identity;
	if (stat(path, &status))
		return NULL;
	identity = python_identity_of(elf, &status);
	return provider_own(c, &identity, sizeof(identity));
}

static void search_file(void *context, const char *path, const struct elf_file *elf)
{
	struct python_search *search = context;
	struct python_file file = {.search = search, .path = path, .elf = elf, .loop = 1};
	enum python_event event;
	int found;

	if (!path || (!search->c->options->later && !is_new(search, path)))
		return;
	found = python_interpreter_recognise(elf, &file.interpreter, &file.why);
	if (!found) {
		search_library(search, path, elf);
		return;
	}
	search->pythons++;
	if (found < 0) {
		if (!search->listing)
			report_warning(search->c->report, "python.refused", search->point->span,
				       "Python's probes are not to be had: %s", file.why.text);
		return;
	}
	if (search->of_machine && !search->listing)
		file.identity = identify(search->c, path, elf);
	for (event = 0; event < PYTHON_EVENTS; event++)
		if (provider_matches(search->event, python_event_name(event)))
			add_event(&file, event);
	python_sites_deinit(&file.sites);
}

/* The Pythons that may be started later: those in PATH, and libraries where they usually are. */
static void search_installed(struct compiler *c, struct python_search *search)
{
	static const char *const libraries[] = {"/usr/lib/*/libpython3*.so*", "/usr/lib64/libpython3*.so*",
						"/usr/local/lib/libpython3*.so*"};
	const char *folders = getenv("PATH"), *end, *pattern;
	size_t i;

	search->installed = true;
	for (folders = folders ? folders : ""; *folders; folders = *end ? end + 1 : end) {
		end = strchrnul(folders, ':');
		pattern = arena_printf(c->arena, "%.*s/python3*", (int)(end - folders), folders);
		if (*folders == '/' && pattern)
			binary_each(c, pattern, search_file, search);
	}
	for (i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		binary_each(c, libraries[i], search_file, search);
}

static void search_machine(struct compiler *c, struct python_search *search)
{
	search->of_machine = true;
	c->has_all_pythons = c->has_all_pythons || !search->listing;
	if (c->options->later) {
		search->shown = c->options->later->shown;
		search_file(search, c->options->later->path, c->options->later->elf);
		return;
	}
	binary_each_mapped(c, search_file, search);
	search_installed(c, search);
}

static void find(struct compiler *c, const struct attach_text *point, struct python_search *search)
{
	const char *file = point->part_count > 2 ? point->parts[1] : NULL;
	bool is_command = !file && c->options->command_path;

	if (is_command)
		file = binary_command_program(c);
	else if (file)
		search->shown = strchr(file, '/') && !provider_has_wildcard(file) ? file : NULL;
	search->is_program = file && strchr(file, '/') && !provider_has_wildcard(file);
	if (file && strcmp(file, "*") != 0)
		binary_each(c, file, search_file, search);
	else if (c->options->pid)
		binary_each(c, "*", search_file, search);
	else
		search_machine(c, search);
	/* A shell, env, timeout: what they start. */
	if (is_command && !search->pythons) {
		search->is_program = false;
		search_machine(c, search);
	}
	vec_free(&search->seen);
}

static bool is_known(const char *pattern)
{
	enum python_event event;

	for (event = 0; event < PYTHON_EVENTS; event++)
		if (provider_matches(pattern, python_event_name(event)))
			return true;
	return false;
}

struct marker_question {
	const char *marker;
	bool is_wrong;
};

static void ask_marker(void *context, const char *path, const struct elf_file *elf)
{
	struct marker_question *question = context;
	struct python_interpreter interpreter;
	python_event_sites sites = {};
	enum python_event event;

	if (!path || python_interpreter_recognise(elf, &interpreter, NULL) <= 0)
		return;
	for (event = 0; event < PYTHON_EVENTS; event++)
		if (!strcmp(python_event_marker(event), question->marker) &&
		    !python_event_markers(elf, &interpreter, event, &sites, NULL))
			question->is_wrong = !sites.count;
	vec_free(&sites);
}

bool provider_python_marker_is_right(struct compiler *c, const char *path, const char *marker)
{
	struct marker_question question = {.marker = marker};

	binary_each(c, path, ask_marker, &question);
	return !question.is_wrong;
}

/* As provider.h says. */
bool provider_python_instead(struct compiler *c, const struct attach_text *point, const char **has_probe)
{
	struct python_search search = {.c = c, .self = &provider_python, .point = point, .listing = true};
	const char *name = point->parts[point->part_count - 1];
	size_t first = c->attaches.count, i;
	struct attach_text own = *point;
	enum python_event event;

	*has_probe = NULL;
	for (event = 0; event < PYTHON_EVENTS && strcmp(python_event_marker(event), name) != 0;)
		event++;
	if (event == PYTHON_EVENTS || point->part_count < 3 ||
	    (point->part_count == 4 && *point->parts[2] && strcmp(point->parts[2], "python") != 0))
		return false;
	search.event = python_event_name(event);
	own.part_count = 3;
	find(c, &own, &search);
	if (c->attaches.count == first)
		return false;
	*has_probe = search.event;
	if (!c->options->synthesize)
		c->attaches.count = first;
	for (i = first; i < c->attaches.count; i++)
		c->attaches.at[i].flags |= ATTACH_SYNTHESIZED;
	return c->attaches.count > first;
}

static void tell_events(struct compiler *c)
{
	const char *names = "";
	enum python_event event;

	for (event = 0; names && event < PYTHON_EVENTS; event++)
		names = arena_printf(c->arena, "%s%s%s", names, event ? ", " : "", python_event_name(event));
	report_hint(c->report, "its probes are: %s", names ? names : "");
}

static void expand_python(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct python_search search = {.c = c, .self = self, .point = point};
	size_t before = c->attaches.count;

	if (!provider_parts(c, self, point, 1, 2))
		return;
	search.event = point->parts[point->part_count - 1];
	if (!is_known(search.event)) {
		report_error(c->report, "python.event", point->span, "Python has no probe '%s'", search.event);
		tell_events(c);
		return;
	}
	find(c, point, &search);
	if (c->attaches.count > before || (c->options->later && search.of_machine))
		return;
	if (!search.pythons)
		report_error(c->report, "python.none", point->span, "no Python %s",
			     point->part_count > 2 ? "is in this file"
			     : c->options->pid     ? "is in the process"
						   : "runs, or is installed in PATH");
	else
		report_error(c->report, "python.none", point->span, "there is no Python that has this probe");
	report_hint(c->report, "usage: %s", self->usage);
}

static void list_python(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct python_search search = {.c = c, .self = self, .point = point, .event = "*", .listing = true};

	if (point->part_count > 1 && (point->part_count > 2 || is_known(point->parts[1])))
		search.event = point->parts[point->part_count - 1];
	find(c, point, &search);
}

/* --- what is asked of a file that appeared while a script runs --- */

int python_later_recognise(const struct elf_file *elf, struct diag *diag)
{
	struct python_interpreter interpreter;

	return python_interpreter_recognise(elf, &interpreter, diag);
}

struct python_cache *python_later_cache(void)
{
	char *directory = cache_default_directory("strata");
	struct python_cache *ret = python_cache_create(directory);

	free(directory);
	cache_set_way(python_cache_entries(ret), CACHE_ELSEWHERE);
	return ret;
}

void python_later_cache_destroy(struct python_cache *cache)
{
	python_cache_destroy(cache);
}

bool python_later_asks(struct python_cache *cache, const struct elf_file *elf)
{
	struct cache *entries = python_cache_entries(cache);
	struct python_interpreter interpreter;
	struct python_sites sites = {};

	cache_want(entries, NULL, 0);
	if (python_interpreter_recognise(elf, &interpreter, NULL) > 0 &&
	    !python_cache_sites(cache, elf, &interpreter, &sites, NULL, NULL))
		python_sites_deinit(&sites);
	return cache_wants(entries);
}

int python_later_answer(struct python_cache *cache, const struct elf_file *elf, const void *bytes, size_t size)
{
	struct cache *entries = python_cache_entries(cache);
	int err = python_later_asks(cache, elf) ? cache_read(entries, bytes, size) : 0;

	cache_want(entries, NULL, 0);
	return err;
}

void python_later_search_here(struct python_cache *cache)
{
	cache_set_way(python_cache_entries(cache), CACHE_HERE);
}

const struct provider provider_python = {
	.name = "python",
	.context = CONTEXT_REGISTERS,
	.computes_args = true,
	.in_task = true,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.obeys_target = true,
	.runs_last_first = true,
	.is_alike = is_alike,
	.expand = expand_python,
	.list = list_python,
	.configure = provider_configure_uprobe,
	.attach = provider_attach_uprobe,
	.usage = "python:[FILE:]EVENT",
};
