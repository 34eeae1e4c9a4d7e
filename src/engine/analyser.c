// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/analyser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/foreign_parts.h"
#include "base/limits.h"
#include "base/process_stat.h"
#include "base/time.h"
#include "base/vec.h"

#define STOPPED_S    0.02 /* what takes longer may have been stopped */
#define WAIT_STEP_MS 5    /* of analyser_consult() */

struct asked {
	uint64_t id;
	enum analyser_ask ask;
	struct foreign_file *file, *debug_file;
	void *input;
	size_t input_size;
	unsigned int tries;
};

struct analyser {
	struct foreign_files *files;
	struct analyser_options options;
	int epoll;  /* of `socket`, whichever it is */
	int socket; /* -1: there is no process */
	int pidfd;
	pid_t pid;
	bool is_confined; /* it has said so */
	int refusal;
	double cpu_s;      /* of processes that are gone */
	double seen_cpu_s; /* of this one, when it was last read */
	uint64_t ids;
	bool is_busy;         /* asked.at[0] is under way: */
	int memory;           /* for its answer */
	struct foreign_file *snapshot; /* what it reads; NULL: the file itself */
	double began, used_s; /* CLOCK_MONOTONIC, and the process's CPU time, then; or when the process began */
	VEC(struct asked) asked;
	VEC(struct analysis) done;
};

const struct analyser_options analyser_once = {analyser_run, ANALYSER_CPU_S, ANALYSER_WALL_S, true};

struct analyser *analyser_create(struct foreign_files *files, const struct analyser_options *options)
{
	static const struct analyser_options usual = {analyser_run, ANALYSER_CPU_S, ANALYSER_WALL_S, false};
	struct analyser *analyser = calloc(1, sizeof(*analyser));

	if (!analyser)
		return NULL;
	analyser->files = files;
	analyser->options = options ? *options : usual;
	analyser->socket = analyser->pidfd = analyser->memory = -1;
	analyser->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (analyser->epoll < 0)
		analyser->refusal = -errno;
	return analyser;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool has_input(int fd, int ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, ms) > 0;
}

/* CPU time of the process. When it has ended its pid tells nothing any more: what was read last is what is known. */
static double process_cpu_s(struct analyser *analyser)
{
	double now = analyser->pidfd < 0 ? 0 : foreign_cpu_s(analyser->pid);

	if (now > analyser->seen_cpu_s && !has_input(analyser->pidfd, 0)) /* it was its own pid */
		analyser->seen_cpu_s = now;
	return analyser->seen_cpu_s;
}

/* Whatever it does. */
static void end_process(struct analyser *analyser)
{
	if (analyser->socket < 0)
		return;
	analyser->cpu_s += process_cpu_s(analyser);
	analyser->seen_cpu_s = 0;
	if (analyser->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, analyser->pidfd, SIGKILL, NULL, 0);
	close_fd(&analyser->pidfd);
	close_fd(&analyser->socket); /* out of the epoll set, too */
	close_fd(&analyser->memory);
	foreign_close(analyser->snapshot);
	analyser->snapshot = NULL;
	analyser->pid = 0;
	analyser->is_confined = analyser->is_busy = false;
}

static void drop(struct asked *asked)
{
	foreign_close(asked->file);
	foreign_close(asked->debug_file);
	free(asked->input);
}

void analyser_destroy(struct analyser *analyser)
{
	size_t i;

	if (!analyser)
		return;
	end_process(analyser);
	for (i = 0; i < analyser->asked.count; i++)
		drop(&analyser->asked.at[i]);
	for (i = 0; i < analyser->done.count; i++) {
		free(analyser->done.at[i].bytes);
		foreign_close(analyser->done.at[i].snapshot);
	}
	vec_free(&analyser->asked);
	vec_free(&analyser->done);
	close_fd(&analyser->epoll);
	free(analyser);
}

int analyser_fd(const struct analyser *analyser)
{
	return analyser->epoll;
}

int analyser_refusal(const struct analyser *analyser)
{
	return analyser->refusal;
}

double analyser_cpu_s(struct analyser *analyser)
{
	return analyser->cpu_s + process_cpu_s(analyser);
}

static int start_process(struct analyser *analyser)
{
	struct epoll_event event = {.events = EPOLLIN};
	int err = foreign_files_fork(analyser->files, analyser->options.life, &analyser->socket, &analyser->pid);

	if (err)
		return err;
	analyser->began = time_s(CLOCK_MONOTONIC);
	analyser->used_s = 0;
	/* Of a process that has not ended, which its socket tells, the pid is its own. */
	analyser->pidfd = (int)syscall(SYS_pidfd_open, analyser->pid, 0);
	if (analyser->pidfd < 0 || epoll_ctl(analyser->epoll, EPOLL_CTL_ADD, analyser->socket, &event))
		err = -errno;
	if (!err && has_input(analyser->pidfd, 0))
		err = -ECHILD;
	if (err)
		end_process(analyser);
	return err;
}

/* The question under way, or the next one, is done. */
static void finish(struct analyser *analyser, struct analysis *analysis)
{
	struct asked *asked = analyser->asked.at;

	analysis->id = asked->id;
	analysis->snapshot = analyser->snapshot;
	analyser->snapshot = NULL;
	(void)!vec_push(&analyser->done, *analysis); /* there is room: analyser_ask() */
	drop(asked);
	memmove(asked, asked + 1, --analyser->asked.count * sizeof(*asked));
	analyser->is_busy = false;
	close_fd(&analyser->memory);
}

static void fail(struct analyser *analyser, int err)
{
	finish(analyser, &(struct analysis){.err = err});
}

/* The process has ended, over a question or before it was ready for one: whose fault that was is not known. */
static void note_end(struct analyser *analyser)
{
	bool over_it = analyser->is_busy || !analyser->is_confined;

	end_process(analyser);
	if (over_it && analyser->asked.count && ++analyser->asked.at[0].tries >= ANALYSER_TRIES)
		fail(analyser, -ECHILD);
}

/* There is no process, and there will be none: all that waits has failed. */
static void give_up(struct analyser *analyser)
{
	end_process(analyser);
	while (analyser->asked.count)
		fail(analyser, analyser->refusal);
}

/* What may be otherwise in a moment: there are too many processes or descriptors, or memory is short. */
static bool is_passing(int err)
{
	return err == -EAGAIN || err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

static void start(struct analyser *analyser)
{
	int err = start_process(analyser);

	if (err == -ESRCH || err == -ECHILD)
		note_end(analyser);
	else if (is_passing(err))
		while (analyser->asked.count)
			fail(analyser, -EAGAIN);
	else
		analyser->refusal = err;
}

/* A copy of what the process wrote, which it may go on to change. */
static void take_bytes(struct analyser *analyser, const struct analyser_answer *answer, struct analysis *ret)
{
	ret->err = answer->result > 0 ? -EBADMSG : answer->result;
	if (ret->err)
		return;
	ret->err = answer->size > ANALYSER_ANSWER_MAX ? -EBADMSG : 0;
	ret->bytes = ret->err ? NULL : malloc(answer->size + 1ull);
	if (!ret->err && !ret->bytes)
		ret->err = -ENOMEM;
	if (!ret->err && pread(analyser->memory, ret->bytes, answer->size, 0) != (ssize_t)answer->size)
		ret->err = -EBADMSG;
	if (ret->err) {
		free(ret->bytes);
		ret->bytes = NULL;
		return;
	}
	ret->size = answer->size;
}

/* Reads what the process sent, if it did. */
static void receive(struct analyser *analyser)
{
	struct analyser_answer answer;
	struct analysis analysis = {};
	ssize_t got;

	if (analyser->socket < 0 || !has_input(analyser->socket, 0))
		return;
	got = recv(analyser->socket, &answer, sizeof(answer),
		   MSG_DONTWAIT); /* descriptors that it may send are dropped */
	if (got != sizeof(answer) || (analyser->is_confined && !analyser->is_busy)) {
		note_end(analyser);
	} else if (!analyser->is_confined) {
		analyser->refusal = answer.result < 0 ? answer.result : 0;
		analyser->is_confined = !analyser->refusal;
	} else if (answer.id != analyser->asked.at[0].id) {
		note_end(analyser);
	} else {
		take_bytes(analyser, &answer, &analysis);
		finish(analyser, &analysis);
		if (analyser->options.once)
			end_process(analyser);
	}
}

/* Of its one size: the process can write nowhere else, nor take memory by it. */
static int make_memory(void)
{
	uint64_t limit = limits_file_size();
	off_t size = limit < ANALYSER_ANSWER_MAX ? (off_t)limit : (off_t)ANALYSER_ANSWER_MAX;
	int fd = memfd_create("strata-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 &&
	    (ftruncate(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The question's own bytes are in the memory until the answer is. */
static int put_input(int memory, const struct asked *asked)
{
	ssize_t size = (ssize_t)asked->input_size;

	return memory < 0 || (size && pwrite(memory, asked->input, (size_t)size, 0) != size) ? -EMFILE : 0;
}

static void send_next(struct analyser *analyser)
{
	const struct asked *asked = analyser->asked.at;
	struct analyser_question question = {.id = asked->id, .ask = asked->ask, .size = (uint32_t)asked->input_size};
	int fds[ANALYSER_DESCRIPTORS] = {make_memory(), -1, -1};
	size_t count = 2;
	int err;

	if (analyser->options.once)
		analyser->snapshot = foreign_snapshot(asked->file);
	fds[1] = foreign_descriptor(analyser->snapshot ? analyser->snapshot : asked->file);
	err = fds[1] < 0 ? -EMFILE : put_input(fds[0], asked);
	if (!err && asked->debug_file)
		fds[2] = foreign_descriptor(asked->debug_file);
	count += fds[2] >= 0;
	if (!err) {
		analyser->began = time_s(CLOCK_MONOTONIC);
		analyser->used_s = process_cpu_s(analyser);
		err = foreign_send(analyser->socket, &(struct iovec){&question, sizeof(question)}, 1, fds, count);
	}
	close_fd(&fds[1]);
	close_fd(&fds[2]);
	analyser->memory = fds[0];
	analyser->is_busy = !err;
	if (err == -EMFILE)
		fail(analyser, err);
	else if (err)
		note_end(analyser);
}

/* Somebody stopped it: that is as if they had killed it. */
static bool is_stopped(const struct analyser *analyser)
{
	char state;

	process_stat_ticks(analyser->pid, &state);
	return state == 'T' || state == 't';
}

/* Kills the process when its question, or its beginning, has cost too much. */
static void check_budget(struct analyser *analyser)
{
	double wall = time_s(CLOCK_MONOTONIC) - analyser->began;
	bool is_over;

	if (analyser->socket < 0 || (analyser->is_confined && !analyser->is_busy) || has_input(analyser->socket, 0))
		return;
	is_over = wall >= analyser->options.wall_s ||
		  process_cpu_s(analyser) - analyser->used_s >= analyser->options.cpu_s;
	if (is_over && analyser->is_busy) {
		end_process(analyser);
		fail(analyser, -ETIME);
	} else if (is_over || (wall >= STOPPED_S && is_stopped(analyser))) {
		note_end(analyser);
	}
}

static int copy_input(struct asked *asked, const struct analyser_request *request)
{
	if (request->input_size > ANALYSER_ANSWER_MAX)
		return -E2BIG;
	if (!request->input_size)
		return 0;
	asked->input = malloc(request->input_size);
	if (!asked->input)
		return -ENOMEM;
	memcpy(asked->input, request->input, request->input_size);
	asked->input_size = request->input_size;
	return 0;
}

uint64_t analyser_ask(struct analyser *analyser, const struct analyser_request *request)
{
	struct asked asked = {.id = analyser->ids + 1, .ask = request->ask};

	if (analyser->refusal || analyser->asked.count >= ANALYSER_ASKED_MAX || copy_input(&asked, request))
		return 0;
	asked.file = foreign_share(request->file);
	asked.debug_file = request->debug_file ? foreign_share(request->debug_file) : NULL;
	if (vec_reserve(&analyser->done, analyser->done.count + analyser->asked.count + 1) ||
	    vec_push(&analyser->asked, asked)) {
		drop(&asked);
		return 0;
	}
	if (analyser->socket < 0)
		start(analyser);
	return ++analyser->ids;
}

void analyser_tend(struct analyser *analyser, void (*take)(void *context, struct analysis *analysis), void *context)
{
	size_t i;

	check_budget(analyser);
	receive(analyser);
	if (analyser->asked.count && analyser->socket < 0 && !analyser->refusal)
		start(analyser);
	if (analyser->refusal)
		give_up(analyser);
	if (analyser->asked.count && analyser->is_confined && !analyser->is_busy)
		send_next(analyser);
	for (i = 0; i < analyser->done.count; i++)
		take(context, &analyser->done.at[i]);
	analyser->done.count = 0;
}

bool analyser_wait(struct analyser *analyser, int ms)
{
	if (!analyser->asked.count && !analyser->done.count)
		return false;
	if (!analyser->done.count && analyser->socket >= 0)
		has_input(analyser->socket, ms);
	return true;
}

/* The answer of analyser_consult(). */
struct consulted {
	bool is_there;
	struct analysis *ret;
};

static void take_consulted(void *context, struct analysis *analysis)
{
	struct consulted *consulted = context;

	*consulted->ret = *analysis;
	consulted->is_there = true;
}

int analyser_consult(struct analyser *analyser, const struct analyser_request *request,
		     void (*meanwhile)(void *context), void *context, struct analysis *ret)
{
	struct consulted consulted = {.ret = ret};

	*ret = (struct analysis){};
	if (!analyser_ask(analyser, request))
		return analyser->refusal ? -ENOSYS : -ENOMEM;
	while (!consulted.is_there && analyser_wait(analyser, WAIT_STEP_MS)) {
		if (meanwhile)
			meanwhile(context);
		analyser_tend(analyser, take_consulted, &consulted);
	}
	if (analyser->refusal)
		return -ENOSYS;
	if (!consulted.is_there)
		return -ECHILD;
	return ret->err == -ENOSYS ? -EBADMSG : ret->err; /* the process does not say what is done here */
}
