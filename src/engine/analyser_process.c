// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The analyser's own side. It has strata's memory of the moment when the nursery was forked, which is before there was
 * anything in it, and no descriptor but its socket.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/confine.h"
#include "base/disassembler.h"
#include "base/foreign_parts.h"
#include "elf/elf_file.h"
#include "engine/analyser.h"
#include "engine/file_lines.h"
#include "engine/file_names.h"
#include "engine/file_rows.h"
#include "runtime/runtime.h"
#include "symbol/perf_map.h"
#include "unwind/unwind_table.h"

/* Should strata not be there to end it. glibc's setrlimit() is prlimit(), which is not allowed. */
static void limit_cpu(void)
{
	struct rlimit most = {.rlim_max = RLIM_INFINITY};
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used))
		return;
	most.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 2 * (rlim_t)ANALYSER_CPU_S + 1;
	syscall(SYS_setrlimit, RLIMIT_CPU, &most);
}

struct work {
	int memory;
	size_t input_size; /* in the memory, as the question says */
	struct file_rows_keeper *keeper;
	struct analyser_answer *answer;
};

static void take_found(void *context, const void *bytes, size_t size)
{
	const struct work *work = context;
	struct analyser_answer *answer = work->answer;
	size_t at = 0;

	if (size > ANALYSER_ANSWER_MAX) {
		answer->result = -E2BIG;
		return;
	}
	while (at < size) {
		ssize_t written = pwrite(work->memory, (const uint8_t *)bytes + at, size - at, (off_t)at);

		if (written <= 0) {
			answer->result = -E2BIG; /* strata's own limit of the size of files */
			return;
		}
		at += (size_t)written;
	}
	answer->size = (uint32_t)size;
}

static int follow(struct foreign_file *file, struct work *work)
{
	const struct unwind_options options = {.found = take_found, .context = work};
	struct elf_file *elf;
	int err = elf_file_open_foreign(file, "the file", &elf, NULL);

	if (err)
		return err;
	err = unwind_follow(elf, &options, NULL);
	elf_file_close(elf);
	return err;
}

static int find_runtime(struct foreign_file *file, enum analyser_ask ask, struct work *work)
{
	static const enum runtime_question questions[] = {[ANALYSER_RECOGNISE] = RUNTIME_RECOGNISE,
							  [ANALYSER_ROLES] = RUNTIME_ROLES,
							  [ANALYSER_AID] = RUNTIME_AID,
							  [ANALYSER_PROBES] = RUNTIME_PROBES};
	struct cache *cache = cache_create(NULL, 0);
	struct elf_file *elf;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err = cache ? elf_file_open_foreign(file, "the file", &elf, NULL) : -ENOMEM;

	if (!err) {
		cache_set_way(cache, CACHE_FOR_OTHERS);
		runtime_answer(elf, questions[ask], cache);
		elf_file_close(elf);
		err = cache_write(cache, &bytes, &size);
	}
	if (!err)
		take_found(work, bytes, size);
	free(bytes);
	cache_destroy(cache);
	return err;
}

/* The question's own bytes, malloc'd and with one more; NULL when they cannot be read. */
static void *read_input(const struct work *work)
{
	void *bytes = malloc(work->input_size + 1);

	if (bytes && pread(work->memory, bytes, work->input_size, 0) == (ssize_t)work->input_size)
		return bytes;
	free(bytes);
	return NULL;
}

static int find_rows(struct foreign_file *file, struct work *work)
{
	void *question = read_input(work);
	struct elf_file *elf;
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err = question ? elf_file_open_foreign(file, "the file", &elf, NULL) : -ENOMEM;

	if (!err) {
		err = file_rows_write(&(struct file_rows_source){.keeper = work->keeper,
								 .elf = elf,
								 .file = file,
								 .question = question,
								 .question_size = work->input_size},
				      ANALYSER_ANSWER_MAX, &bytes, &size);
		elf_file_close(elf);
	}
	if (!err)
		take_found(work, bytes, size);
	free(bytes);
	free(question);
	return err;
}

/* What is asked for names. */
struct naming {
	enum analyser_ask ask;
	struct foreign_file *file, *debug_file;
	uint64_t *vaddrs;
	size_t count;
};

static int name_by_map(const struct naming *naming, uint8_t **bytes, size_t *size)
{
	struct perf_map *map = perf_map_read(naming->file);
	int err = map ? file_names_write_map(map, naming->vaddrs, naming->count, ANALYSER_ANSWER_MAX, bytes, size)
		      : -ENOMEM;

	perf_map_destroy(map);
	return err;
}

static int name_by_symbols(const struct naming *naming, uint8_t **bytes, size_t *size)
{
	struct file_names_source source = {.debug_file = naming->debug_file};
	int err = elf_file_open_foreign(naming->file, "the file", &source.elf, NULL);

	return err ? err : file_names_write(&source, naming->vaddrs, naming->count, ANALYSER_ANSWER_MAX, bytes, size);
}

/* What is not done by then has no lines; ANALYSER_CPU_S would end the process. */
#define LINES_S (ANALYSER_CPU_S / 2)

static int find_lines(const struct naming *naming, uint8_t **bytes, size_t *size)
{
	struct file_lines_source source = {.debug_file = naming->debug_file, .seconds = LINES_S, .is_confined = true};
	int err = elf_file_open_foreign(naming->file, "the file", &source.elf, NULL);

	return err ? err : file_lines_write(&source, naming->vaddrs, naming->count, ANALYSER_ANSWER_MAX, bytes, size);
}

static int name(struct naming *naming, struct work *work)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err = -EINVAL;

	naming->count = work->input_size / sizeof(*naming->vaddrs);
	if (naming->count && naming->count <= FILE_NAMES_AT_ONCE) {
		naming->vaddrs = read_input(work);
		err = naming->vaddrs ? 0 : -ENOMEM;
	}
	if (!err)
		err = naming->ask == ANALYSER_MAP     ? name_by_map(naming, &bytes, &size)
		      : naming->ask == ANALYSER_LINES ? find_lines(naming, &bytes, &size)
						      : name_by_symbols(naming, &bytes, &size);
	if (!err)
		take_found(work, bytes, size);
	free(bytes);
	free(naming->vaddrs);
	return err;
}

/* Closes the descriptors. */
static void answer(const struct analyser_question *question, const int fds[ANALYSER_DESCRIPTORS],
		   struct file_rows_keeper *keeper, struct analyser_answer *ret)
{
	struct foreign_file *file = foreign_wrap(fds[1]), *debug_file = fds[2] < 0 ? NULL : foreign_wrap(fds[2]);
	struct work work = {.memory = fds[0], .input_size = question->size, .keeper = keeper, .answer = ret};
	int err = file ? -EINVAL : -ENOMEM;

	ret->id = question->id;
	if (file && question->ask == ANALYSER_ROWS)
		err = find_rows(file, &work);
	if (file && question->ask == ANALYSER_FOLLOW)
		err = follow(file, &work);
	if (file &&
	    (question->ask == ANALYSER_NAME || question->ask == ANALYSER_MAP || question->ask == ANALYSER_LINES))
		err = name(&(struct naming){.ask = question->ask, .file = file, .debug_file = debug_file}, &work);
	if (file && question->ask >= ANALYSER_RECOGNISE && question->ask <= ANALYSER_PROBES)
		err = find_runtime(file, question->ask, &work);
	if (err)
		ret->result = err;
	foreign_close(file);
	foreign_close(debug_file);
	close(fds[0]);
}

static bool tell(int socket, const struct analyser_answer *answer)
{
	return !foreign_send(socket, &(struct iovec){(void *)answer, sizeof(*answer)}, 1, NULL, 0);
}

/* Capstone is loaded when it is first needed (base/disassembler.h), and then nothing can be opened any more. */
void analyser_prepare(void)
{
	const struct arch *here = arch_here();
	struct disassembler disassembler;

	if (!disassembler_open(&disassembler, here->capstone, here->capstone_mode, true))
		disassembler_close(&disassembler);
}

void analyser_run(int socket)
{
	struct analyser_question question;
	const struct iovec part = {&question, sizeof(question)};
	struct analyser_answer told = {};
	struct file_rows_keeper *keeper = file_rows_keeper_create();
	int fds[ANALYSER_DESCRIPTORS];

	prctl(PR_SET_NAME, "strata-analyser");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGXCPU, SIG_DFL);
	analyser_prepare();
	told.result = !keeper ? -ENOMEM : confine(arch_here()->audit, ANALYSER_MEMORY, ANALYSER_ANSWER_MAX);
	if (!tell(socket, &told))
		return;
	/* One that was refused is asked nothing. */
	while (foreign_receive(socket, &part, 1, fds, ANALYSER_DESCRIPTORS) == sizeof(question)) {
		told = (struct analyser_answer){};
		limit_cpu();
		answer(&question, fds, keeper, &told);
		if (!tell(socket, &told))
			return;
	}
}
