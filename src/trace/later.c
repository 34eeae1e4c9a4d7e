// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/later.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/foreign.h"
#include "engine/analyser.h"
#include "kernel/sideband.h"
#include "lang/core/record.h"
#include "lang/dialect/dialect.h"
#include "lang/provider/binary.h"
#include "lang/provider/python.h"
#include "proc/open_file.h"
#include "profile/text.h"
#include "trace/load.h"
#include "trace/names.h"

#define SEEN_MAX    65536   /* files; then they are all looked at anew */
#define TOLD_MAX    16      /* Pythons without their probes that are told one by one */
#define SPENT_US    1000000 /* for looking at files */
#define BUILDS      16      /* for compiling */
#define HALVING_S   30
#define FOLLOW_NS   1000000000ull /* CPUs may have come */
#define DRAIN_NS    10000000ull   /* what the programs send is not left longer */
#define NANOSECONDS 1000000000ull

/* The script, compiled for one build of Python. */
struct build {
	struct run run; /* compilation, compiler, object */
	struct compile_options options;
	struct python_later of;
	struct compilation compilation;
	char path[FOREIGN_LINK_BYTES]; /* while the file is open */
};

/* A file that has its probes, or does not get them. */
struct known {
	struct python_identity identity;
	const struct python_identity *first; /* of the alike one that was compiled for; NULL: there is none */
	const struct run *run;               /* whose programs these are */
};

struct later {
	struct run *run;
	struct sideband *sideband;
	VEC(struct known) known;
	VEC(struct build *) builds;
	VEC(struct python_identity *) identities; /* of their files */
	struct python_cache *cache;               /* NULL: not needed yet */
	struct analyser *analyser;                /* likewise */
	struct table seen;                        /* binary_mapped_key() */
	struct budget spent;                      /* by users whose processes map files; us */
	struct budget built;                      /* likewise; compilations */
	uint32_t user;                            /* whose file is looked at */
	uint64_t building;                        /* time that compilations took */
	uint64_t followed;       /* when sideband_follow() was called; CLOCK_MONOTONIC ns, as all times here */
	uint64_t drained;        /* when the ring was */
	uint64_t attached;       /* files */
	uint64_t slowest, total; /* from when it was mapped to when its probes were there */
	uint64_t timed;          /* files whose time is known */
	uint64_t untraced;       /* Pythons that did not get their probes */
	uint64_t unseen;         /* files that were not looked at */
	bool is_behind;          /* records were lost: all processes are to be looked at */
};

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

static const struct python_probe *probe_of(const struct compiler *c, const struct unit *unit)
{
	return unit->provider == &provider_python && unit->attach_count ? c->attaches.at[unit->first_attach].own : NULL;
}

bool later_wanted(const struct compiler *c)
{
	return c->has_all_pythons;
}

static int add_known(struct later *later, const struct python_identity *identity, const struct python_identity *first,
		     const struct run *run)
{
	return vec_push(&later->known, (struct known){*identity, first, run});
}

/* Those for which the script was compiled. Each unit has a copy of the identity of its file. */
static int take_compiled(struct later *later)
{
	const struct compiler *c = later->run->compiler;
	size_t i, j;

	for (i = 0; i < c->units.count; i++) {
		const struct python_probe *probe = probe_of(c, &c->units.at[i]);

		if (!probe || !probe->file)
			continue;
		for (j = 0; j < later->known.count; j++)
			if (python_identity_same(&later->known.at[j].identity, probe->file))
				break;
		if (j == later->known.count && add_known(later, probe->file, probe->file, later->run))
			return -ENOMEM;
	}
	return 0;
}

/* Is the unit one of the file `first`? */
static bool is_of(const struct compiler *c, const struct unit *unit, const struct python_identity *first)
{
	const struct python_probe *probe = probe_of(c, unit);

	return probe && probe->file && python_identity_same(probe->file, first);
}

static int attach_unit(struct later *later, const struct run *of, size_t index, const char *path, unsigned int flags,
		       struct diag *diag)
{
	const struct compiler *c = of->compiler;
	const struct unit *unit = &c->units.at[index];
	const struct attach_target target = {.pid = unit->is_everywhere ? 0 : c->options->pid,
					     .is_command = !unit->is_everywhere && of->options->command != NULL,
					     .cpu = c->has_cpu ? (int)c->cpu : -1};
	struct attach *attaches = calloc(unit->attach_count, sizeof(*attaches));
	uint32_t i;
	int err;

	if (!attaches)
		return diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	for (i = 0; i < unit->attach_count; i++) {
		attaches[i] = c->attaches.at[unit->first_attach + i];
		attaches[i].path = path;
		attaches[i].flags |= flags;
	}
	err = unit->provider->attach(run_program(of, index), attaches, unit->attach_count, unit->first_attach, &target,
				     &later->run->attachment, diag);
	free(attaches);
	return err;
}

/* In the order in which trace.c attaches them: programs at one place run in the order of the script. */
static int attach_as(struct later *later, struct foreign_file *file, const struct known *known, struct diag *diag)
{
	const struct compiler *c = known->run->compiler;
	unsigned int flags = foreign_waits(file) ? ATTACH_WAITS : 0;
	int err = 0;
	size_t i;
	char path[FOREIGN_LINK_BYTES];

	foreign_link(file, path);
	for (i = c->units.count; i-- > 0 && !err;)
		if (is_of(c, &c->units.at[i], known->first))
			err = attach_unit(later, known->run, i, path, flags, diag);
	return err;
}

/* --- another build --- */

static void drain(void *context)
{
	run_drain(context);
}

/* Takes an answer into the cache, as one about what was read. */
static void take_answer(struct later *later, const struct analysis *answer)
{
	struct elf_file *elf;

	if (!answer->snapshot || elf_file_open_foreign(answer->snapshot, "the file", &elf, NULL))
		return;
	(void)!python_later_answer(later->cache, elf, answer->bytes, answer->size);
	elf_file_close(elf);
}

/* Has the places in the loop searched for, if they are not in the cache. What is not found is found out later. */
static void search_loop(struct later *later, struct foreign_file *file, const struct elf_file *elf)
{
	const struct analyser_request request = {.ask = ANALYSER_PROBES, .file = file};
	struct analysis answer = {};
	int err;

	if (!python_later_asks(later->cache, elf))
		return;
	if (!later->analyser)
		later->analyser = analyser_create(later->run->files, &analyser_once);
	err = later->analyser ? analyser_consult(later->analyser, &request, drain, later->run, &answer) : -ENOMEM;
	/* No process can be confined: as with all files when the script began. */
	if (err == -ENOSYS)
		python_later_search_here(later->cache);
	else if (!err)
		take_answer(later, &answer);
	free(answer.bytes);
	foreign_close(answer.snapshot);
}

static int prepare_cache(struct later *later)
{
	if (!later->cache)
		later->cache = python_later_cache();
	return later->cache ? 0 : -ENOMEM;
}

static void build_destroy(struct build *build)
{
	bpf_object__close(build->run.object);
	compilation_deinit(&build->compilation);
	free(build);
}

/* Is it of the file that the script was compiled for? */
static bool is_new(const struct compiler *c, const struct unit *unit)
{
	const struct python_probe *probe = probe_of(c, unit);

	return probe && probe->file && probe->file == c->options->later->identity;
}

static size_t largest_arguments(const struct compiler *c)
{
	size_t largest = 1, i;

	for (i = 0; i < c->sites.count; i++)
		if (c->sites.at[i].arguments && c->sites.at[i].arguments->size > largest)
			largest = c->sites.at[i].arguments->size;
	return largest;
}

/* What it sends can be read from now on. */
static int use_sites(struct run *run, const struct compiler *c)
{
	size_t old = run->latest->sites.count;
	struct print_format **formats = realloc(run->formats, (c->sites.count + 1) * sizeof(struct print_format *));
	uint8_t *room;

	if (!formats)
		return -ENOMEM;
	memset(formats + old, 0, (c->sites.count + 1 - old) * sizeof(struct print_format *));
	run->formats = formats;
	room = realloc(run->room, largest_arguments(c));
	if (!room)
		return -ENOMEM;
	run->room = room;
	run->latest = c;
	names_use(run->names, c);
	return 0;
}

/* Why the script does not compile for it. */
static const char *complaint_of(const struct report *report)
{
	return report->complaints.count ? report->complaints.at[0].text : "it has none of them";
}

static bool has_new(const struct compiler *c)
{
	size_t i;

	for (i = 0; i < c->units.count; i++)
		if (is_new(c, &c->units.at[i]))
			return true;
	return false;
}

static bool same_names(const struct compiler *a, const struct compiler *b)
{
	size_t i;

	for (i = 0; i < a->wanted.count; i++)
		if (i >= b->wanted.count || strcmp(a->wanted.at[i].text, b->wanted.at[i].text) != 0)
			return false;
	return true;
}

static int compile(struct later *later, struct build *build, struct diag *diag)
{
	const struct run *run = later->run;
	const struct report *report = &run->compilation->report;
	const struct compile_dump dump = {};
	int err;

	build->options = *run->compiler->options;
	build->options.first = run->latest;
	build->options.later = &build->of;
	build->options.hide_warnings = false; /* they are told in other words */
	build->options.program = NULL;        /* the command runs */
	err = lang_compile(report->script.name, report->source, report->script.end, &build->options, &dump,
			   &build->compilation, diag);
	if (err && !*diag->text)
		diag_fail(diag, -err, "later.compile", "%s", complaint_of(&build->compilation.report));
	if (err)
		return err;
	if (!has_new(&build->compilation.compiler))
		return diag_fail(diag, ENOTSUP, "later.none", "%s", complaint_of(&build->compilation.report));
	if (!same_names(&build->compilation.compiler, run->compiler))
		return diag_fail(diag, EINVAL, "later.names", "the script has other names for it");
	return 0;
}

static int load(struct later *later, struct build *build, struct diag *diag)
{
	struct loading loading = {.run = &build->run, .types = -1};

	build->run = *later->run;
	build->run.compilation = &build->compilation;
	build->run.compiler = &build->compilation.compiler;
	build->run.object = NULL;
	return load_more(&loading, later->run->object, is_new, diag);
}

/* Events that the build does not have. */
static void tell_refusals(struct later *later, const struct report *report)
{
	size_t i;

	for (i = 0; i < report->complaints.count && !later->run->options->quiet; i++) {
		const struct complaint *complaint = &report->complaints.at[i];

		if (complaint->tag && !strcmp(complaint->tag, "python.refused"))
			fprintf(stderr, "strata: %s\n", complaint->text);
	}
}

/* The script for this file. *ret is owned by `later`. */
static int make_build(struct later *later, const struct sideband_event *event, struct foreign_file *file,
		      const struct python_later *of, struct build **ret, struct diag *diag)
{
	struct build *build;
	int err;

	if (later->run->compiler->dialect != &dialect_bpftrace)
		return diag_fail(diag, ENOTSUP, "later.dialect",
				 "it is another build than those that were there when tracing began");
	if (later->builds.count >= LATER_BUILDS_MAX ||
	    !budget_take(&later->built, later->user, 1, monotonic() / NANOSECONDS))
		return diag_fail(diag, EMFILE, "later.many", "too many builds appeared later");
	build = calloc(1, sizeof(*build));
	if (!build || vec_push(&later->builds, build)) {
		free(build);
		return diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	}
	build->of = *of;
	foreign_link(file, build->path);
	build->of.path = build->path;
	build->of.shown = event->path;
	err = compile(later, build, diag);
	if (!err)
		err = load(later, build, diag);
	if (!err && use_sites(later->run, build->run.compiler))
		err = diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	if (!err) {
		tell_refusals(later, &build->compilation.report);
		*ret = build;
	}
	return err;
}

/* --- what appears --- */

static void tell_untraced(struct later *later, const struct sideband_event *event, const char *why)
{
	if (later->untraced++ >= TOLD_MAX || later->run->options->quiet)
		return;
	fprintf(stderr, "strata: python: ");
	text_print(stderr, event->path, strlen(event->path));
	fprintf(stderr, " of process %d does not have the probes: %s\n", event->pid, why);
}

static void note_attached(struct later *later, const struct sideband_event *event)
{
	uint64_t took = monotonic() - event->time;

	later->attached++;
	if (!event->time)
		return;
	later->timed++;
	later->total += took;
	if (took > later->slowest)
		later->slowest = took;
}

/* Compiles the script for it, and adds it to the known; *ret is the entry. */
static int add_build(struct later *later, const struct sideband_event *event, struct foreign_file *file,
		     const struct elf_file *elf, const struct python_identity *identity, struct known *ret,
		     struct diag *diag)
{
	struct python_identity *own = malloc(sizeof(*own));
	struct build *build = NULL;
	uint64_t began;
	int err = own && !prepare_cache(later) ? 0 : diag_fail(diag, ENOMEM, "later.memory", "out of memory");

	if (!err && vec_push(&later->identities, own))
		err = diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	if (err) {
		free(own);
		return err;
	}
	began = monotonic();
	*own = *identity;
	search_loop(later, file, elf);
	err = make_build(later, event, file,
			 &(const struct python_later){.elf = elf, .identity = own, .cache = later->cache}, &build,
			 diag);
	if (!err)
		*ret = (struct known){*identity, own, &build->run};
	later->building += monotonic() - began;
	return err;
}

static void take_python(struct later *later, const struct sideband_event *event, struct foreign_file *file,
			const struct elf_file *elf)
{
	struct known alike = {};
	struct python_identity identity;
	struct diag diag = {};
	struct stat status;
	int err = 0;
	size_t i;

	if (foreign_stat(file, &status))
		return;
	identity = python_identity_of(elf, &status);
	for (i = 0; i < later->known.count; i++) {
		if (python_identity_same(&later->known.at[i].identity, &identity))
			return;
		if (!alike.run && python_identity_alike(&later->known.at[i].identity, &identity))
			alike = later->known.at[i];
	}
	if (later->attached >= LATER_FILES_MAX)
		err = diag_fail(&diag, EMFILE, "later.many", "too many files appeared later");
	else if (!identity.is_known)
		err = diag_fail(&diag, EFBIG, "later.size", "its file cannot be read, or is too large");
	else if (!alike.run)
		err = add_build(later, event, file, elf, &identity, &alike, &diag);
	else if (!alike.first)
		err = diag_fail(&diag, ENOTSUP, "later.alike", "as the other files with its content");
	if (!err)
		err = attach_as(later, file, &alike, &diag);
	if (err)
		tell_untraced(later, event, diag.text);
	else
		note_attached(later, event);
	/* What failed may have part of its probes, and is not tried again. */
	if (add_known(later, &identity, alike.first, alike.run ? alike.run : later->run))
		later->untraced++;
}

static void look_into(struct later *later, const struct sideband_event *event, struct foreign_file *file)
{
	struct diag diag = {};
	struct elf_file *elf;
	int found;

	if (elf_file_open_foreign(file, event->path, &elf, NULL))
		return;
	found = python_later_recognise(elf, &diag);
	if (found > 0)
		take_python(later, event, file, elf);
	else if (found < 0)
		tell_untraced(later, event, diag.text);
	elf_file_close(elf);
}

static uint32_t user_of(int pid)
{
	struct stat status;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &status) ? (uint32_t)-1 : status.st_uid;
}

static void look_at(struct later *later, const struct sideband_event *event)
{
	struct mapped_file mapped = {.kind = FILE_REGULAR,
				     .device = event->device,
				     .inode = event->inode,
				     .pid = event->pid,
				     .path = (char *)event->path};
	struct process_mapping mapping = {.start = event->start, .end = event->start + event->size, .file = &mapped};
	struct process process = {.pid = event->pid};
	uint64_t began = monotonic(), building = later->building;
	struct foreign_file *file;

	later->user = user_of(event->pid);
	if (!budget_take(&later->spent, later->user, 1, began / NANOSECONDS)) {
		later->unseen++;
		return;
	}
	if (!mapped_file_open(later->run->files, &mapped, &process, &mapping, &file)) {
		look_into(later, event, file);
		foreign_close(file);
	}
	building = later->building - building;
	budget_charge(&later->spent, later->user, (monotonic() - began - building) / 1000, began / NANOSECONDS);
	if (monotonic() - later->drained < DRAIN_NS)
		return;
	run_drain(later->run);
	later->drained = monotonic();
}

static void take_event(void *context, const struct sideband_event *event)
{
	struct later *later = context;
	uint64_t key = binary_mapped_key(event->device, event->inode);

	if (event->type == SIDEBAND_LOST)
		later->is_behind = true;
	if (event->type != SIDEBAND_MMAP || !event->inode || *event->path != '/' || table_get(&later->seen, key, NULL))
		return;
	if (later->seen.count >= SEEN_MAX)
		table_deinit(&later->seen);
	if (!table_set(&later->seen, key, 1))
		look_at(later, event);
	else
		later->unseen++;
}

/* What a process has mapped by now. */
static void scan(struct later *later, struct processes *processes, int pid)
{
	struct process *process;
	size_t i;

	if (processes_scan(processes, pid, monotonic(), &process))
		return;
	for (i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];

		if (mapping->file->kind == FILE_REGULAR)
			take_event(later, &(struct sideband_event){.type = SIDEBAND_MMAP,
								   .pid = pid,
								   .start = mapping->start,
								   .size = mapping->end - mapping->start,
								   .device = mapping->file->device,
								   .inode = mapping->file->inode,
								   .path = mapping->file->path});
	}
}

static void scan_all(struct later *later)
{
	struct processes *processes = processes_create();
	DIR *folder = processes ? opendir("/proc") : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int pid = atoi(entry->d_name);

		if (pid > 0)
			scan(later, processes, pid);
	}
	if (folder)
		closedir(folder);
	if (processes)
		processes_destroy(processes, NULL);
}

int later_create(struct run *run, struct later **ret, struct diag *diag)
{
	struct later *later = calloc(1, sizeof(*later));
	struct table_slot *slot;
	size_t at = 0;
	int err;

	if (!later)
		return diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	later->run = run;
	later->spent = (struct budget){.whole = SPENT_US, .halving_s = HALVING_S};
	later->built = (struct budget){.whole = BUILDS, .halving_s = HALVING_S};
	err = sideband_open(&later->sideband, diag);
	if (!err && take_compiled(later))
		err = diag_fail(diag, ENOMEM, "later.memory", "out of memory");
	/* A copy, as the compiler is not ours. */
	while (!err && (slot = table_next(&run->compiler->mapped, &at)))
		table_set(&later->seen, slot->key, 1);
	if (err) {
		later_destroy(later);
		return err;
	}
	later->drained = later->followed = monotonic();
	scan_all(later);
	*ret = later;
	return 0;
}

void later_destroy(struct later *later)
{
	size_t i;

	if (!later)
		return;
	if (later->sideband)
		sideband_close(later->sideband);
	for (i = 0; i < later->builds.count; i++)
		build_destroy(later->builds.at[i]);
	for (i = 0; i < later->identities.count; i++)
		free(later->identities.at[i]);
	vec_free(&later->builds);
	vec_free(&later->identities);
	analyser_destroy(later->analyser);
	if (later->cache)
		python_later_cache_destroy(later->cache);
	vec_free(&later->known);
	table_deinit(&later->seen);
	budget_deinit(&later->spent);
	budget_deinit(&later->built);
	free(later);
}

int later_fd(const struct later *later)
{
	return sideband_fd(later->sideband);
}

void later_tend(struct later *later)
{
	uint64_t now = monotonic();

	if (now - later->followed >= FOLLOW_NS) {
		later->followed = now;
		later->is_behind |= sideband_follow(later->sideband) > 0;
	}
	if (sideband_drain(later->sideband, take_event, later))
		later->is_behind = true;
	if (!later->is_behind)
		return;
	later->is_behind = false;
	scan_all(later);
}

void later_tell(const struct later *later, FILE *out)
{
	if (later->attached) {
		fprintf(out, "strata: python: %llu files appeared later and got the probes",
			(unsigned long long)later->attached);
		if (later->timed)
			fprintf(out, ", %.1f ms after they were mapped (at most %.1f)",
				(double)later->total / 1e6 / (double)later->timed, (double)later->slowest / 1e6);
		fputs("; what ran before is not seen\n", out);
	}
	if (later->untraced > TOLD_MAX)
		fprintf(out, "strata: python: %llu Pythons that appeared later do not have the probes\n",
			(unsigned long long)later->untraced);
	if (later->unseen)
		fprintf(out,
			"strata: python: %llu files that appeared later were not looked at: there were too many of one "
			"user\n",
			(unsigned long long)later->unseen);
}
