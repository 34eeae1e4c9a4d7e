// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/source_files.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/foreign_parts.h"
#include "base/table.h"
#include "base/time.h"
#include "base/vec.h"
#include "profile/text.h"

#define ANSWER_MS 5000 /* a keeper that takes longer hangs */
#define ALL_S     10.0
#define MET_MAX   65536 /* pids; with more, all is given up */

/* What is known of a pid: the time of the sample for which the keeper looked at it, and a state. */
enum met { MET_NOW, MET_BEFORE /* it has another program since */, REFUSED_ALL };
#define MET(time, state) ((time) << 2 | (state))
#define MET_TIME(known)  ((known) >> 2)
#define MET_STATE(known) ((enum met)((known) & 3))

/* Why a file is not there. */
enum why { GONE, REFUSED, UNREADABLE, NO_TEXT, LARGE, BEYOND, WHY_COUNT };

/* A source file of a process, and what its samples are worth. */
struct wanted {
	const char *path;
	enum source_files_kind kind;
	int pid;
	uint64_t worth;
};

struct source_files {
	int socket; /* -1: there is no keeper, or it hangs */
	bool doubted;
	struct table met; /* met_key() → MET() */
	VEC(struct wanted) wanted;
	struct table paths, wants; /* the address of a path → its number + 1; number, met_key() → index + 1 */
	size_t kept; /* different ones */
	size_t missing[WHY_COUNT];
};

static uint64_t met_key(enum source_files_kind kind, int pid)
{
	return (uint64_t)kind << 32 | (uint32_t)pid;
}

struct source_files *source_files_create(struct foreign_files *files)
{
	struct source_files *sources = calloc(1, sizeof(*sources));
	const int room = 4 << 20;
	pid_t pid;

	if (!sources)
		return NULL;
	if (foreign_files_fork(files, source_keeper, &sources->socket, &pid))
		sources->socket = -1;
	else /* many processes are met at once; without the right to do so there is less room */
		setsockopt(sources->socket, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return sources;
}

static void give_up(struct source_files *sources)
{
	if (sources->socket >= 0)
		close(sources->socket);
	sources->socket = -1;
}

void source_files_destroy(struct source_files *sources)
{
	if (!sources)
		return;
	give_up(sources);
	table_deinit(&sources->met);
	table_deinit(&sources->paths);
	table_deinit(&sources->wants);
	vec_free(&sources->wanted);
	free(sources);
}

/* Never waits: who does not take what is told hangs. */
static void tell(struct source_files *sources, uint32_t ask, uint64_t key, uint64_t time, const char *path)
{
	struct source_files_question question = {
		.ask = ask, .pid = (int32_t)key, .kind = (uint32_t)(key >> 32), .time = time};
	const struct iovec parts[] = {{&question, sizeof(question)}, {(void *)path, path ? strlen(path) + 1 : 0}};
	const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = path ? 2 : 1};

	if (sources->socket >= 0 && sendmsg(sources->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		give_up(sources);
}

int source_files_meet(struct source_files *sources, enum source_files_kind kind, int pid, uint64_t time,
		      const struct process *process)
{
	uint64_t known = 0, key = met_key(kind, pid);
	bool has = table_get(&sources->met, key, &known), ended = process && process->ended != UINT64_MAX;

	if (has && MET_STATE(known) == REFUSED_ALL)
		return 0;
	if (!has && sources->met.count >= MET_MAX) {
		sources->doubted = true;
		return 0;
	}
	/* Of a program that is there no more, or of who had the pid before: its ids can not be known. */
	if (!process || time < process->executed || (ended && (!has || process->ended <= MET_TIME(known))))
		return table_set(&sources->met, key, MET(time, REFUSED_ALL));
	if (ended || (has && MET_STATE(known) == MET_NOW))
		return 0;
	tell(sources, SOURCE_FILES_MEET, key, time, NULL);
	return table_set(&sources->met, key, MET(time, MET_NOW));
}

int source_files_renew(struct source_files *sources, int pid, uint64_t time)
{
	static const enum source_files_kind kinds[] = {SOURCE_FILES_RUNTIME, SOURCE_FILES_NATIVE};
	uint64_t known, key;
	bool told = false;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		key = met_key(kinds[i], pid);
		if (!table_get(&sources->met, key, &known))
			continue;
		if (!told)
			tell(sources, SOURCE_FILES_RENEW, key, time, NULL);
		told = true;
		if (MET_STATE(known) != REFUSED_ALL && time > MET_TIME(known) &&
		    table_set(&sources->met, key, MET(MET_TIME(known), MET_BEFORE)))
			return -ENOMEM;
	}
	return 0;
}

void source_files_doubt(struct source_files *sources)
{
	sources->doubted = true;
}

static int want(struct source_files *sources, const char *path, enum source_files_kind kind, int pid, uint64_t worth)
{
	uint64_t number, key, index;

	if (!table_get(&sources->paths, (uintptr_t)path, &number)) {
		number = sources->paths.count + 1;
		if (table_set(&sources->paths, (uintptr_t)path, number))
			return -ENOMEM;
	}
	key = number << 33 | met_key(kind, pid);
	if (table_get(&sources->wants, key, &index)) {
		sources->wanted.at[index - 1].worth += worth;
		return 0;
	}
	if (vec_push(&sources->wanted, ((struct wanted){path, kind, pid, worth})))
		return -ENOMEM;
	return table_set(&sources->wants, key, sources->wanted.count);
}

/* Only what can be a file: not "<string>" or "<frozen importlib>". */
static const char *source_of(const struct frame *frame)
{
	const char *path = frame->layer == FRAME_RUNTIME  ? frame->file
			   : frame->layer == FRAME_NATIVE ? frame->source
							  : "";

	return frame->line > 0 && *path && *path != '<' && *path != '?' ? path : NULL;
}

static int want_all(struct source_files *sources, const struct profile *profile)
{
	size_t i;
	uint32_t j;

	for (i = 0; i < profile_sample_count(profile); i++) {
		const struct profile_sample *sample = profile_sample_at(profile, i);

		for (j = 0; j < sample->depth; j++) {
			const struct frame *frame = profile_frame_at(profile, sample->frames[j]);
			enum source_files_kind kind =
				frame->layer == FRAME_NATIVE ? SOURCE_FILES_NATIVE : SOURCE_FILES_RUNTIME;
			const char *path = source_of(frame);

			if (path &&
			    want(sources, path, kind, sample->pid, sample->weight ? sample->weight : sample->count))
				return -ENOMEM;
		}
	}
	return 0;
}

static int hottest(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* One datagram of the keeper's, of this size; false: it hangs, or has ended. */
static bool receive(struct source_files *sources, void *bytes, size_t size)
{
	struct pollfd ready = {.fd = sources->socket, .events = POLLIN};

	if (poll(&ready, 1, ANSWER_MS) == 1 && recv(sources->socket, bytes, size, MSG_DONTWAIT) == (ssize_t)size)
		return true;
	give_up(sources);
	return false;
}

static enum why why_of(int result)
{
	switch (result) {
	case -ESRCH:
		return GONE;
	case -EPERM:
		return REFUSED;
	case -EINVAL:
		return NO_TEXT;
	case -EFBIG:
		return LARGE;
	default:
		return UNREADABLE;
	}
}

/* The file's bytes, with a zero byte behind them; NULL: *why. */
static char *fetch(struct source_files *sources, const struct wanted *wanted, struct source_files_answer *answer,
		   enum why *why)
{
	char *bytes;
	size_t at, part;

	tell(sources, SOURCE_FILES_READ, met_key(wanted->kind, wanted->pid), 0, wanted->path);
	if (sources->socket < 0 || !receive(sources, answer, sizeof(*answer))) {
		*why = GONE;
		return NULL;
	}
	*why = why_of(answer->result);
	if (answer->result)
		return NULL;
	bytes = answer->size <= SOURCE_FILES_FILE_MAX ? malloc(answer->size + 1) : NULL;
	if (!bytes) {
		give_up(sources); /* its bytes are on their way */
		return NULL;
	}
	for (at = 0; at < answer->size; at += part) {
		part = answer->size - at < SOURCE_FILES_PIECE ? answer->size - at : SOURCE_FILES_PIECE;
		if (!receive(sources, bytes + at, part)) {
			free(bytes);
			return NULL;
		}
	}
	bytes[answer->size] = '\0';
	return bytes;
}

static bool is_text(const char *bytes, size_t size)
{
	size_t at;
	unsigned int length;

	for (at = 0; at < size; at += length) {
		length = bytes[at] ? text_character(bytes + at, NULL) : 0;
		if (!length)
			return false;
	}
	return true;
}

static int add(struct source_files *sources, const struct wanted *wanted, struct profile *profile, size_t *bytes)
{
	struct source_files_answer answer = {};
	enum why why = REFUSED;
	uint64_t known = 0;
	char *text = NULL;
	int err = 0;

	if (!table_get(&sources->met, met_key(wanted->kind, wanted->pid), &known))
		why = GONE;
	else if (!sources->doubted && MET_STATE(known) == MET_NOW)
		text = fetch(sources, wanted, &answer, &why);
	if (text && !is_text(text, answer.size)) {
		why = NO_TEXT;
	} else if (text && *bytes + answer.size > SOURCE_FILES_BYTES_MAX) {
		why = BEYOND;
	} else if (text) {
		err = profile_add_source(profile,
					 &(struct profile_source){.path = wanted->path,
								  .text = text,
								  .size = answer.size,
								  .is_changed = (double)answer.changed / 1e9 >=
										profile_info(profile)->start_time},
					 wanted->pid);
		if (profile_source_at(profile, sources->kept)) { /* it is none that was there */
			*bytes += answer.size;
			sources->kept++;
		}
		free(text);
		return err;
	}
	free(text);
	sources->missing[why]++;
	return 0;
}

static int remark(const struct source_files *sources, struct profile *profile)
{
	static const char *const whys[WHY_COUNT] = {
		[GONE] = "the process was gone, or one of too many, when it was to be asked",
		[REFUSED] = "it is not certain with whose rights to read",
		[UNREADABLE] = "not there, or not readable by the process's user and group",
		[NO_TEXT] = "no text in UTF-8",
		[LARGE] = "over 1 MiB",
		[BEYOND] = "beyond 8 MiB or 512 files in all"};
	char text[512] = "source files that are not shown: ";
	size_t used = strlen(text), i;
	bool any = false;

	for (i = 0; i < WHY_COUNT; i++) {
		if (!sources->missing[i])
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%zu (%s)", any ? ", " : "",
					 sources->missing[i], whys[i]);
		any = true;
	}
	return any ? profile_add_remark(profile, text) : 0;
}

int source_files_collect(struct source_files *sources, struct profile *profile)
{
	int err = want_all(sources, profile);
	double until = time_s(CLOCK_MONOTONIC) + ALL_S;
	size_t bytes = 0, i;

	if (!err && sources->wanted.count)
		qsort(sources->wanted.at, sources->wanted.count, sizeof(*sources->wanted.at), hottest);
	for (i = 0; i < sources->wanted.count && !err; i++) {
		if (i < SOURCE_FILES_ASKED_MAX && time_s(CLOCK_MONOTONIC) < until)
			err = add(sources, &sources->wanted.at[i], profile, &bytes);
		else
			sources->missing[BEYOND]++;
	}
	return err ? err : remark(sources, profile);
}
