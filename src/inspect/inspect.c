// SPDX-License-Identifier: GPL-2.0-or-later
#include "inspect/inspect.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/limits.h"
#include "arch/arch.h"
#include "base/time.h"
#include "elf/notes.h"
#include "elf/symbols.h"
#include "runtime/python/live.h"
#include "proc/open_file.h"
#include "unwind/unwind_table.h"

#define CHECKS    3 /* a process may start threads while they are listed */
#define PATH_SIZE 4096
#define NOW       (UINT64_MAX - 1)

static double now_ms(void)
{
	return time_s(CLOCK_MONOTONIC) * 1e3;
}

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "inspect.memory", "%s", strerror(ENOMEM));
}

static struct inspection *inspection_create(void)
{
	struct inspection *inspection = calloc(1, sizeof(*inspection));

	if (!inspection)
		return NULL;
	inspection->strings = string_pool_create();
	if (inspection->strings)
		return inspection;
	free(inspection);
	return NULL;
}

void inspection_destroy(struct inspection *inspection)
{
	size_t i;

	if (!inspection)
		return;
	free(inspection->eval.at);
	vec_free(&inspection->thread_state.tried);
	vec_free(&inspection->markers);
	python_sites_deinit(&inspection->probes.sites);
	for (i = 0; i < PYTHON_EVENTS; i++)
		vec_free(&inspection->events[i].sites);
	string_pool_destroy(inspection->strings);
	free(inspection);
}

static int describe_file(struct inspection *in, const struct elf_file *elf)
{
	char hex[ELF_BUILD_ID_TEXT];
	const uint8_t *id = NULL;
	size_t size = elf_file_build_id(elf, &id);

	in->machine_number = elf_file_machine(elf);
	in->machine = arch_of(in->machine_number)->name;
	elf_build_id_text(id, size, hex);
	in->build_id = size ? string_intern(in->strings, hex) : NULL;
	in->file = string_intern(in->strings, elf_file_path(elf));
	return !in->file || (size && !in->build_id) ? -ENOMEM : 0;
}

static int find_interpreter(struct inspection *in, const struct elf_file *elf)
{
	struct diag diag = {};
	int found = python_interpreter_recognise(elf, &in->interpreter, &diag);

	in->python = found == 1 ? INSPECT_PYTHON : found < 0 ? INSPECT_PYTHON_UNKNOWN : INSPECT_NO_PYTHON;
	if (found >= 0)
		return 0;
	in->problem = string_intern(in->strings, diag.text);
	return in->problem ? 0 : -ENOMEM;
}

static int find_eval_loop(struct inspection *in, const struct elf_file *elf, struct python_cache *cache)
{
	struct diag diag = {};
	size_t i;

	if (in->python != INSPECT_PYTHON)
		return 0;
	if (python_cache_eval_ranges(cache, elf, &in->interpreter, &in->eval.at, &in->eval.count, &in->eval.cached,
				     &diag)) {
		in->eval.problem = string_intern(in->strings, diag.text);
		return in->eval.problem ? 0 : -ENOMEM;
	}
	for (i = 0; i < in->eval.count; i++) {
		in->tail_call |= in->eval.at[i].handler;
		in->eval.at[i].evidence = string_intern(in->strings, in->eval.at[i].evidence);
		if (!in->eval.at[i].evidence)
			return -ENOMEM;
	}
	return 0;
}

static int find_thread_state(struct inspection *in, const struct elf_file *elf, struct python_cache *cache)
{
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	size_t count = 0, i;
	int err;

	if (in->python != INSPECT_PYTHON)
		return 0;
	err = python_cache_thread_layers(cache, elf, &in->interpreter, layers, PYTHON_THREAD_LAYERS, &count,
					 &in->thread_state.cached);
	for (i = 0; !err && i < count; i++) {
		struct inspect_tried tried = {.source = string_intern(in->strings, layers[i].source),
					      .result = string_intern(in->strings, layers[i].result),
					      .found = layers[i].found,
					      .answer = layers[i].answer};

		if (!tried.source || !tried.result || vec_push(&in->thread_state.tried, tried))
			return -ENOMEM;
		if (tried.found && !in->thread_state.source)
			in->thread_state.source = tried.source;
	}
	return err;
}

/*
 * All events; those of functions are here if only their markers have them. The texts of markers live as long as the
 * file, and are not shown.
 */
static int find_events(struct inspection *in, const struct elf_file *elf)
{
	const struct python_sites *loop = in->probes.sites.at.count ? &in->probes.sites : NULL;
	enum python_event event;
	int err = 0;

	for (event = 0; event < PYTHON_EVENTS && !err; event++) {
		struct diag diag = {};

		err = python_event_find(elf, &in->interpreter, loop, true, event, &in->events[event].sites,
					&in->events[event].source, &diag);
		if (err || in->events[event].source != PYTHON_SOURCE_NONE)
			continue;
		in->events[event].problem = *diag.text       ? string_intern(in->strings, diag.text)
					    : in->eval.problem ? in->eval.problem
							       : in->probes.problem;
		if (!in->events[event].problem)
			err = -ENOMEM;
	}
	return err;
}

static int find_probes(struct inspection *in, const struct elf_file *elf)
{
	struct diag diag = {};
	int err;

	if (in->python != INSPECT_PYTHON)
		return 0;
	/* Markers need no loop. */
	if (in->eval.problem)
		return find_events(in, elf);
	err = python_sites_find(elf, &in->interpreter, in->eval.at, in->eval.count, &in->probes.sites, &diag);
	if (err == -ENOMEM)
		return err;
	if (err)
		in->probes.problem = string_intern(in->strings, diag.text);
	return err && !in->probes.problem ? -ENOMEM : find_events(in, elf);
}

static int find_markers(struct inspection *in, const struct elf_file *elf)
{
	struct elf_marker *sites;
	size_t count, i;
	int err = elf_file_markers(elf, &sites, &count);

	for (i = 0; !err && i < count; i++) {
		struct inspect_marker *last = in->markers.count ? &in->markers.at[in->markers.count - 1] : NULL;
		struct inspect_marker marker = {.provider = string_intern(in->strings, sites[i].provider),
						.name = string_intern(in->strings, sites[i].name),
						.sites = 1,
						.first = sites[i].site};

		if (!marker.provider || !marker.name)
			err = -ENOMEM;
		else if (last && last->provider == marker.provider && last->name == marker.name)
			last->sites++;
		else
			err = vec_push(&in->markers, marker);
	}
	if (count)
		free(sites);
	return err;
}

static int compile_unwind(struct inspection *in, const struct elf_file *elf, struct python_cache *cache)
{
	const struct unwind_options options = {.cache = python_cache_entries(cache)};
	struct unwind_table table = {};
	struct diag diag = {};
	int err = unwind_table_compile(elf, &options, &table, &diag);
	size_t i;

	if (err) {
		in->unwind.problem = string_intern(in->strings, diag.text);
		if (!in->unwind.problem)
			return -ENOMEM;
		/* Without an .eh_frame there is a table still. */
		if (err != -ENOENT)
			return 0;
	}
	in->unwind.rows = table.row_count;
	in->unwind.rules = table.rule_count;
	in->unwind.bytes = table.row_count * sizeof(uint32_t) + table.rule_count * sizeof(*table.rules) +
			   ((table.end - table.base) >> UNWIND_PAGE_SHIFT) * sizeof(uint64_t);
	in->unwind.text = table.text_bytes;
	in->unwind.covered = table.covered_bytes;
	in->unwind.fdes = table.fde_count;
	in->unwind.skipped = table.fde_skipped;
	in->unwind.unsupported = table.unsupported;
	in->unwind.derived = table.derived_bytes;
	in->unwind.derived_ms = (double)table.derived_ns / 1e6;
	in->unwind.cached = table.derived_cached;
	in->unwind.functions = table.derived.functions[CODE_ACCEPTED];
	for (i = CODE_ACCEPTED + 1; i < CODE_REFUSALS; i++) {
		in->unwind.refusals[i] = table.derived.functions[i];
		in->unwind.refused += table.derived.functions[i];
	}
	unwind_table_deinit(&table);
	return 0;
}

static int find_symbols(struct inspection *in, const struct elf_file *elf, const char *root)
{
	struct elf_symbols *symbols;

	in->symbols = "none";
	if (elf_symbols_create(elf, root, &symbols, NULL))
		return 0;
	in->symbols = string_intern(in->strings, elf_symbols_sources(symbols));
	elf_symbols_destroy(symbols);
	return in->symbols ? 0 : -ENOMEM;
}

/* Every layer of a file. */
static int look_at(struct inspection *in, const struct elf_file *elf, const char *root, struct python_cache *cache)
{
	double at[INSPECT_STEPS + 1];
	int err = 0, i;

	at[0] = now_ms();
	for (i = 0; !err && i < INSPECT_STEPS; i++) {
		switch (i) {
		case INSPECT_INTERPRETER:
			err = find_interpreter(in, elf);
			break;
		case INSPECT_EVAL_LOOP:
			err = find_eval_loop(in, elf, cache);
			break;
		case INSPECT_THREAD_STATE:
			err = find_thread_state(in, elf, cache);
			break;
		case INSPECT_PROBES:
			err = find_probes(in, elf);
			break;
		case INSPECT_MARKERS:
			err = find_markers(in, elf);
			break;
		case INSPECT_UNWIND:
			err = compile_unwind(in, elf, cache);
			break;
		case INSPECT_SYMBOLS:
			err = find_symbols(in, elf, root);
			break;
		default: /* needs the process */
			break;
		}
		at[i + 1] = now_ms();
		in->ms[i] = at[i + 1] - at[i];
	}
	return err ? err : describe_file(in, elf);
}

static int open_regular(struct foreign_files *files, const char *path, struct foreign_file **ret, struct diag *diag)
{
	const struct foreign_request request = {.paths = {path}, .place = foreign_namespace(getpid())};
	int err = foreign_open(files, &request, ret);

	if (err)
		diag_fail(diag, -err, "inspect.file", "%s: %s", path,
			  err == -EINVAL      ? "not a regular file"
			  : err == -ETIMEDOUT ? "its file system does not answer"
					      : strerror(-err));
	return err;
}

int inspect_file(struct foreign_files *files, const char *path, struct python_cache *cache, struct inspection **ret,
		 struct diag *diag)
{
	struct foreign_file *file;
	struct inspection *in;
	struct elf_file *elf;
	int err = open_regular(files, path, &file, diag);

	if (err)
		return err;
	err = elf_file_open_foreign(file, path, &elf, diag);
	if (!err) {
		in = inspection_create();
		err = in ? look_at(in, elf, "", cache) : -ENOMEM;
		if (err) {
			inspection_destroy(in);
			err = no_memory(diag);
		} else {
			*ret = in;
		}
		elf_file_close(elf);
	}
	if (foreign_unanswered(file)) {
		if (!err)
			inspection_destroy(in);
		err = diag_fail(diag, ETIMEDOUT, "inspect.file", "%s: its file system does not answer", path);
	}
	foreign_close(file);
	return err;
}

/* The file of a process that is worth looking at. */
struct candidate {
	struct elf_file *elf;
	uint64_t bias, size; /* of the mapping */
	int rank;  /* higher is better; of equals the larger mapping: libffi maps a page of its library again */
	double ms; /* that its recognition took: the second one finds all bytes read */
};

enum { RANK_NONE, RANK_ANY, RANK_PROGRAM, RANK_UNKNOWN_PYTHON, RANK_PYTHON };

static void candidate_deinit(struct candidate *candidate)
{
	elf_file_close(candidate->elf);
}

static int open_mapped(struct foreign_files *files, const struct process *process,
		       const struct process_mapping *mapping, struct elf_file **ret)
{
	struct foreign_file *file;
	int err = mapped_file_open(files, mapping->file, process, mapping, &file);

	if (err)
		return err;
	err = elf_file_open_foreign(file, mapping->file->path, ret, NULL);
	if (err && foreign_unanswered(file))
		err = -ETIMEDOUT;
	foreign_close(file);
	return err;
}

/* -ETIMEDOUT when the file system does not answer. */
static int consider(struct foreign_files *files, const struct process *process, const struct process_mapping *mapping,
		    const char *program, struct candidate *best)
{
	struct python_interpreter interpreter;
	struct candidate candidate = {};
	uint64_t vaddr;
	double start;
	int found, err = open_mapped(files, process, mapping, &candidate.elf);

	if (err)
		return err;
	start = now_ms();
	found = python_interpreter_recognise(candidate.elf, &interpreter, NULL);
	candidate.ms = now_ms() - start;
	candidate.rank = !strcmp(mapping->file->path, program) ? RANK_PROGRAM : RANK_ANY;
	if (found)
		candidate.rank = found < 0 ? RANK_UNKNOWN_PYTHON : RANK_PYTHON;
	candidate.size = mapping->end - mapping->start;
	if (candidate.rank < best->rank || (candidate.rank == best->rank && candidate.size <= best->size) ||
	    !elf_file_vaddr_of_offset(candidate.elf, mapping->offset, &vaddr)) {
		candidate_deinit(&candidate);
		return 0;
	}
	candidate.bias = mapping->start - vaddr;
	candidate_deinit(best);
	*best = candidate;
	return 0;
}

static int find_file(struct foreign_files *files, const struct process *process, const char *program,
		     struct candidate *ret, unsigned int *unanswered, struct diag *diag)
{
	size_t i;

	for (i = 0; i < process->mappings.count; i++)
		if (process->mappings.at[i].file->kind == FILE_REGULAR &&
		    consider(files, process, &process->mappings.at[i], program, ret) == -ETIMEDOUT)
			++*unanswered;
	if (ret->rank)
		return 0;
	if (*unanswered)
		return diag_fail(diag, ETIMEDOUT, "inspect.files", "%d: the file system of its program does not answer",
				 process->pid);
	if (!process->mappings.count)
		return diag_fail(diag, ENOENT, "inspect.mappings",
				 "%d: the process has no program: it is a part of the kernel, or is about to end",
				 process->pid);
	return diag_fail(diag, ENOENT, "inspect.files", "%d: none of the process's files can be read: try with sudo",
			 process->pid);
}

/* Walks the thread lists of the process. */
static int verify_list(const struct inspection *in, uint16_t machine, struct live_check *ret)
{
	struct memory memory = memory_of_process(in->pid);
	struct live_threads threads;
	int i, err = 0;

	for (i = 0; !err && i < CHECKS && !ret->verified; i++) {
		err = live_threads_read(in->pid, &threads);
		if (err)
			break;
		live_check(&memory, &threads, machine, &in->interpreter, in->bias, ret);
		live_threads_deinit(&threads);
	}
	if (err)
		snprintf(ret->result, sizeof(ret->result), "%s", strerror(-err));
	return err == -ENOMEM ? err : 0;
}

/* Asks every thread by way of one recipe. */
static void verify_path(const struct inspection *in, uint16_t machine, const struct python_thread_source *source,
			const struct python_thread_memory *memory, struct live_check *ret)
{
	struct python_thread_check check = {};
	struct python_thread_path path;
	struct diag diag = {};
	int err = python_thread_resolve(machine, source, in->bias, memory, &path, &diag);

	if (!err)
		err = python_thread_verify(&in->interpreter, in->bias, memory, &path, 0, &check, &diag);
	ret->verified = !err;
	if (err == -EAGAIN && check.threads)
		snprintf(ret->result, sizeof(ret->result), "none of %zu threads has one there now", check.threads);
	else if (err)
		snprintf(ret->result, sizeof(ret->result), "%.*s", (int)sizeof(ret->result) - 1,
			 *diag.text ? diag.text : strerror(-err));
	else
		snprintf(ret->result, sizeof(ret->result), "%zu of %zu threads agree, %zu have none there now",
			 check.agreed, check.threads, check.empty);
}

/* What the process says of one way. */
static int ask_process(struct inspection *in, uint16_t machine, const struct python_thread_memory *memory,
		       struct inspect_tried *tried)
{
	struct live_check check = {};

	if (tried->answer.kind != PYTHON_THREAD_LIST)
		verify_path(in, machine, &tried->answer, memory, &check);
	else if (verify_list(in, machine, &check))
		return -ENOMEM;
	if (tried->answer.kind == PYTHON_THREAD_LIST && in->interpreter.to_prove) {
		in->proved = check.verified;
		in->doubts = string_intern(in->strings, check.result);
		if (!in->doubts)
			return -ENOMEM;
	}
	tried->verified = check.verified;
	tried->verdict =
		string_intern_format(in->strings, "%s: %s", check.verified ? "verified" : "not verified", check.result);
	return tried->verdict ? 0 : -ENOMEM;
}

/* Holds every way to the thread state against the process. The first that is verified is the one that is used. */
static int verify(struct foreign_files *files, struct inspection *in, uint16_t machine)
{
	struct python_thread_memory memory;
	size_t i, count = in->thread_state.tried.count;
	struct diag diag = {};
	int err;

	if (!count)
		return 0;
	err = python_thread_memory_open(files, in->pid, &memory, &diag);
	if (err == -ENOMEM)
		return err;
	for (i = 0; i < count && err; i++) {
		in->thread_state.tried.at[i].verdict = string_intern_format(in->strings, "not verified: %s", diag.text);
		if (!in->thread_state.tried.at[i].verdict)
			return -ENOMEM;
	}
	if (err)
		return 0;
	for (i = 0; !err && i < count; i++) {
		struct inspect_tried *tried = &in->thread_state.tried.at[i];

		if (tried->found)
			err = ask_process(in, machine, &memory, tried);
		if (tried->verified && !in->thread_state.verified) {
			in->thread_state.verified = true;
			in->thread_state.source = tried->source;
		}
	}
	python_thread_memory_close(&memory);
	return err;
}

static int look_at_process(struct foreign_files *files, struct inspection *in, const struct candidate *candidate,
			   const char *program, struct python_cache *cache)
{
	char root[64], target[2];
	double start;
	int err;

	snprintf(root, sizeof(root), "/proc/%d/root", in->pid);
	/* May we? access() would ask its file system. */
	if (readlink(root, target, sizeof(target)) < 0)
		root[0] = '\0';
	in->bias = candidate->bias;
	in->program = string_intern(in->strings, program);
	if (!in->program)
		return -ENOMEM;
	err = look_at(in, candidate->elf, root, cache);
	start = now_ms();
	if (!err)
		err = verify(files, in, elf_file_machine(candidate->elf));
	in->ms[INSPECT_VERIFICATION] = now_ms() - start;
	in->ms[INSPECT_INTERPRETER] = candidate->ms;
	return err;
}

/* processes_scan() tells no more than that it failed. */
static int why_not(int pid, struct diag *diag)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else if (errno == EACCES || errno == EPERM)
		return diag_fail(diag, EACCES, "inspect.permission",
				 "%d: the process may not be looked at: try with sudo", pid);
	return diag_fail(diag, ESRCH, "inspect.process", "%d: no such process", pid);
}

int inspect_process(struct foreign_files *files, int pid, struct python_cache *cache, struct inspection **ret,
		    struct diag *diag)
{
	struct processes *processes = processes_create();
	struct inspection *in = inspection_create();
	char link[64], program[PATH_SIZE] = "";
	struct candidate candidate = {};
	struct process *process;
	ssize_t length;
	int err;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, program, sizeof(program) - 1);
	program[length > 0 ? length : 0] = '\0';
	if (!processes || !in) {
		err = no_memory(diag);
	} else {
		err = processes_scan(processes, pid, 0, &process);
		if (err)
			err = err == -ENOMEM ? no_memory(diag) : why_not(pid, diag);
	}
	if (!err)
		err = find_file(files, process, program, &candidate, &in->unanswered, diag);
	if (!err) {
		in->pid = pid;
		err = look_at_process(files, in, &candidate, program, cache);
		if (err)
			no_memory(diag);
	}
	candidate_deinit(&candidate);
	if (processes)
		processes_destroy(processes, NULL);
	if (err)
		inspection_destroy(in);
	else
		*ret = in;
	return err;
}

double inspection_analysis_ms(const struct inspection *in)
{
	return in->ms[INSPECT_INTERPRETER] + in->ms[INSPECT_EVAL_LOOP] + in->ms[INSPECT_THREAD_STATE] +
	       in->unwind.derived_ms;
}
