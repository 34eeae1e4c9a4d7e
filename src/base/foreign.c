// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/foreign_parts.h"
#include "base/process_stat.h"
#include "base/vec.h"

/*
 * How long a reader may sleep over one answer. Each that hangs halves it for what comes after, down to the least, so
 * that many file systems that hang cost little more than a few.
 */
#define DEADLINE_MS       1000
#define DEADLINE_LEAST_MS 60
#define COPY_MAX          (1ull << 30)
#define STUCK_MAX         64 /* readers that are left hanging; beyond, nothing more is asked that needs one */

/* A reader that was left, and what it hangs on. */
struct stuck {
	uint64_t place;
	int socket;
};

struct foreign_files {
	int nursery; /* socket */
	pid_t nursery_pid;
	int reader; /* socket; -1: none yet */
	pid_t reader_pid;
	uint64_t held, held_place; /* the file that the reader has open; 0: none */
	uint64_t serials;
	double cpu_s; /* of readers that were left */
	bool recovered;
	VEC(struct stuck) stuck;
};

struct foreign_file {
	struct foreign_files *files; /* NULL: `now` reads it all */
	unsigned int owners;
	int path; /* O_PATH, or -1 */
	int now;  /* reads what is in the page cache, or -1 */
	int copy; /* in memory, of all that it has; -1: not made */
	uint64_t serial, place;
	bool unanswered;
};

struct birth {
	int socket, nice, err;
};

/*
 * Forks the nursery so that it is nobody's child: the only child of strata's is the command, if there is one. Not even
 * for a moment is it the main thread's: hence a thread of its own.
 */
static void *fork_nursery(void *context)
{
	struct birth *birth = context;
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		pid = fork();
		if (!pid)
			foreign_nursery(birth->socket, birth->nice);
		_exit(pid < 0 ? errno : 0);
	}
	birth->err = pid < 0 ? -errno : 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		birth->err = WIFEXITED(status) ? -WEXITSTATUS(status) : -EAGAIN;
	return NULL;
}

static int start_nursery(struct foreign_files *files, int nice)
{
	struct iovec told = {&files->nursery_pid, sizeof(files->nursery_pid)};
	struct birth birth = {.nice = nice};
	pthread_t thread;
	int ends[2], none[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	birth.socket = ends[1];
	birth.err = -pthread_create(&thread, NULL, fork_nursery, &birth);
	if (!birth.err)
		pthread_join(thread, NULL);
	close(ends[1]);
	if (!birth.err && foreign_receive(ends[0], &told, 1, none, 2) != sizeof(pid_t))
		birth.err = -EAGAIN;
	if (birth.err)
		close(ends[0]);
	else
		files->nursery = ends[0];
	return birth.err;
}

int foreign_files_create(int nice, struct foreign_files **ret, struct diag *diag)
{
	struct foreign_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return diag_fail(diag, ENOMEM, "foreign.memory", "out of memory");
	files->reader = -1;
	err = start_nursery(files, nice);
	if (!err) {
		*ret = files;
		return 0;
	}
	free(files);
	diag_fail(diag, -err, "foreign.fork", "no process to read files by: %s", strerror(-err));
	diag_add_limits(diag, -err);
	return err;
}

double foreign_cpu_s(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

double foreign_files_cpu_s(const struct foreign_files *files)
{
	return files ? files->cpu_s + foreign_cpu_s(files->nursery_pid) + foreign_cpu_s(files->reader_pid) : 0;
}

static void leave_reader(struct foreign_files *files)
{
	files->cpu_s += foreign_cpu_s(files->reader_pid);
	files->reader = -1;
	files->reader_pid = 0;
	files->held = 0;
}

static bool comes_back(const struct stuck *stuck)
{
	struct pollfd poll_fd = {.fd = stuck->socket, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0; /* with its answer, or because it ended */
}

/* Lets go the readers that have come back. */
static void look_after_stuck(struct foreign_files *files)
{
	size_t i, kept = 0;

	for (i = 0; i < files->stuck.count; i++) {
		if (comes_back(&files->stuck.at[i])) {
			close(files->stuck.at[i].socket);
			files->recovered = true;
		} else {
			files->stuck.at[kept++] = files->stuck.at[i];
		}
	}
	files->stuck.count = kept;
}

/* All that hang on these sockets end by themselves, those that wait for a file when they come back. */
void foreign_files_destroy(struct foreign_files *files)
{
	size_t i;

	if (!files)
		return;
	for (i = 0; i < files->stuck.count; i++)
		close(files->stuck.at[i].socket);
	vec_free(&files->stuck);
	if (files->reader >= 0)
		close(files->reader);
	close(files->nursery);
	free(files);
}

bool foreign_files_recovered(struct foreign_files *files)
{
	bool recovered;

	if (!files)
		return false;
	look_after_stuck(files);
	recovered = files->recovered;
	files->recovered = false;
	return recovered;
}

static bool is_stuck(struct foreign_files *files, uint64_t place)
{
	size_t i;

	if (!files->stuck.count)
		return false;
	look_after_stuck(files);
	for (i = 0; i < files->stuck.count; i++)
		if (files->stuck.at[i].place == place)
			return true;
	return files->stuck.count >= STUCK_MAX;
}

int foreign_files_fork(struct foreign_files *files, void (*life)(int socket), int *socket, pid_t *pid)
{
	struct foreign_birth birth = {.life = life};
	struct iovec part = {&birth, sizeof(birth)}, told = {pid, sizeof(*pid)};
	int ends[2], none[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = foreign_send(files->nursery, &part, 1, &ends[1], 1);
	close(ends[1]);
	if (!err && (foreign_receive(files->nursery, &told, 1, none, 2) != sizeof(*pid) || *pid <= 0))
		err = -EAGAIN;
	if (err)
		close(ends[0]);
	else
		*socket = ends[0];
	return err;
}

void foreign_files_prepare(struct foreign_files *files, void (*prepare)(void))
{
	struct foreign_birth birth = {.prepare = prepare};

	/* If it cannot be sent, the nursery has ended, and a fork will say so. */
	(void)!foreign_send(files->nursery, &(struct iovec){&birth, sizeof(birth)}, 1, NULL, 0);
}

/* A reader that could run but got no CPU is not one that hangs. */
static bool sleeps(pid_t pid)
{
	char state;

	process_stat_ticks(pid, &state);
	return state != 'R';
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static bool wait_for_answer(const struct foreign_files *files)
{
	struct pollfd poll_fd = {.fd = files->reader, .events = POLLIN};
	int64_t patience = DEADLINE_MS >> (files->stuck.count < 16 ? files->stuck.count : 16), end, left;

	if (patience < DEADLINE_LEAST_MS)
		patience = DEADLINE_LEAST_MS;
	do {
		end = now_ms() + patience;
		while ((left = end - now_ms()) > 0)
			if (poll(&poll_fd, 1, (int)left) > 0)
				return true;
	} while (!sleeps(files->reader_pid));
	return poll(&poll_fd, 1, 0) > 0;
}

/*
 * Asks the reader, and takes its answer, with `size` bytes and two descriptors. The answer's result, -ETIMEDOUT, or
 * another negative errno when there is no reader.
 */
static int64_t ask(struct foreign_files *files, uint64_t place, const struct iovec *question, size_t parts,
		   const int *path, struct foreign_answer *answer, void *bytes, size_t size, int fds[2])
{
	struct iovec told[] = {{answer, sizeof(*answer)}, {bytes, size}};
	ssize_t got =
		files->reader < 0 ? foreign_files_fork(files, foreign_reader, &files->reader, &files->reader_pid) : 0;

	fds[0] = fds[1] = -1;
	if (got)
		return got;
	if (foreign_send(files->reader, question, parts, path, path ? 1 : 0)) {
		close(files->reader);
		leave_reader(files);
		return -EIO;
	}
	if (!wait_for_answer(files)) {
		const struct stuck stuck = {.place = place, .socket = files->reader};

		if (vec_push(&files->stuck, stuck))
			close(files->reader);
		leave_reader(files);
		return -ETIMEDOUT;
	}
	got = foreign_receive(files->reader, told, 2, fds, 2);
	if (got < (ssize_t)sizeof(*answer)) {
		close(files->reader);
		leave_reader(files);
		return -EIO;
	}
	if (answer->result > (int64_t)size)
		return -EIO;
	return answer->result;
}

/* The reader has to close what it has open before it turns to another place, whose fault it would not be. */
static void forget_held(struct foreign_files *files, uint64_t place)
{
	struct foreign_question question = {.ask = FOREIGN_FORGET};
	struct foreign_answer answer;
	int fds[2];

	if (!files->held || files->held_place == place)
		return;
	ask(files, files->held_place, &(struct iovec){&question, sizeof(question)}, 1, NULL, &answer, NULL, 0, fds);
	files->held = 0;
}

/* One question about a file, or about files of a place. */
static int64_t ask_in_turn(struct foreign_files *files, uint64_t place, const struct iovec *question, size_t parts,
			   const int *path, struct foreign_answer *answer, void *bytes, size_t size, int fds[2])
{
	if (is_stuck(files, place))
		return -ETIMEDOUT;
	forget_held(files, place);
	return ask(files, place, question, parts, path, answer, bytes, size, fds);
}

static struct foreign_file *new_file(struct foreign_files *files, int path, int now)
{
	struct foreign_file *file = calloc(1, sizeof(*file));

	if (!file) {
		if (path >= 0)
			close(path);
		if (now >= 0)
			close(now);
		return NULL;
	}
	*file = (struct foreign_file){.files = files, .owners = 1, .path = path, .now = now, .copy = -1};
	return file;
}

struct foreign_file *foreign_wrap(int fd)
{
	return new_file(NULL, -1, fd);
}

static int open_trusted(const struct foreign_request *request, struct foreign_file **ret)
{
	int fd = -ENOENT;
	struct stat status;
	size_t i;

	for (i = 0; i < FOREIGN_PATHS_MAX && fd < 0; i++)
		if (request->paths[i])
			fd = foreign_open_path(request->root, request->paths[i], request->inode, &status);
	if (fd < 0)
		return fd;
	*ret = foreign_wrap(fd);
	return *ret ? 0 : -ENOMEM;
}

/* The texts of a question, each with its zero byte. */
static size_t add_text(struct iovec *parts, size_t count, const char *text)
{
	parts[count] = (struct iovec){(void *)text, strlen(text) + 1};
	return count + 1;
}

int foreign_open(struct foreign_files *files, const struct foreign_request *request, struct foreign_file **ret)
{
	struct foreign_question question = {.ask = FOREIGN_OPEN, .inode = request->inode};
	struct iovec parts[2 + FOREIGN_PATHS_MAX] = {{&question, sizeof(question)}};
	struct foreign_answer answer;
	size_t count, i;
	int64_t err;
	int fds[2];

	if (!files)
		return open_trusted(request, ret);
	count = add_text(parts, 1, request->root ? request->root : "");
	for (i = 0; i < FOREIGN_PATHS_MAX; i++)
		if (request->paths[i])
			count = add_text(parts, count, request->paths[i]);
	question.size = (uint32_t)(count - 2);
	question.serial = ++files->serials;
	err = ask_in_turn(files, request->place, parts, count, NULL, &answer, NULL, 0, fds);
	if (err || fds[0] < 0)
		return err < 0 ? (int)err : -EIO;
	if (fds[1] < 0) {
		files->held = question.serial;
		files->held_place = request->place;
	}
	*ret = new_file(files, fds[0], fds[1]);
	if (!*ret)
		return -ENOMEM;
	(*ret)->serial = question.serial;
	(*ret)->place = request->place;
	return 0;
}

ssize_t foreign_glob(struct foreign_files *files, const char *pattern, char *ret, size_t size)
{
	struct foreign_question question = {.ask = FOREIGN_GLOB,
					    .size = size < FOREIGN_PIECE ? (uint32_t)size : FOREIGN_PIECE};
	struct iovec parts[2] = {{&question, sizeof(question)}};
	struct foreign_answer answer;
	int fds[2];

	if (!files)
		return foreign_glob_here(pattern, ret, size);
	add_text(parts, 1, pattern);
	return (ssize_t)ask_in_turn(files, foreign_folder(pattern), parts, 2, NULL, &answer, ret, question.size, fds);
}

struct foreign_file *foreign_share(struct foreign_file *file)
{
	file->owners++;
	return file;
}

void foreign_close(struct foreign_file *file)
{
	if (!file || --file->owners)
		return;
	if (file->path >= 0)
		close(file->path);
	if (file->now >= 0)
		close(file->now);
	if (file->copy >= 0)
		close(file->copy);
	free(file);
}

/* Up to a piece, from the reader. */
static ssize_t ask_for(struct foreign_file *file, void *buffer, size_t size, uint64_t offset)
{
	struct foreign_question question = {.ask = FOREIGN_READ, .serial = file->serial, .offset = offset};
	struct foreign_answer answer;
	int64_t got;
	int fds[2];

	question.size = size < FOREIGN_PIECE ? (uint32_t)size : FOREIGN_PIECE;
	got = ask_in_turn(file->files, file->place, &(struct iovec){&question, sizeof(question)}, 1, &file->path,
			  &answer, buffer, question.size, fds);
	if (got == -ETIMEDOUT) {
		file->unanswered = true;
	} else if (file->files->reader >= 0) {
		file->files->held = file->serial;
		file->files->held_place = file->place;
	}
	return (ssize_t)got;
}

static ssize_t read_some(struct foreign_file *file, void *buffer, size_t size, uint64_t offset)
{
	struct iovec part = {buffer, size};
	ssize_t got = -1;

	if (file->now >= 0)
		got = preadv2(file->now, &part, 1, (off_t)offset, file->files ? RWF_NOWAIT : 0);
	if (got >= 0 || (!file->files && file->now >= 0))
		return got < 0 ? -errno : got;
	return ask_for(file, buffer, size, offset);
}

ssize_t foreign_read(struct foreign_file *file, void *buffer, size_t size, uint64_t offset)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read_some(file, (char *)buffer + used, size - used, offset + used);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		if (!got)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

int foreign_stat(struct foreign_file *file, struct stat *ret)
{
	struct foreign_question question = {.ask = FOREIGN_STAT};
	struct foreign_answer answer;
	int fds[2], err;

	if (file->now >= 0)
		return fstat(file->now, ret) ? -errno : 0;
	err = (int)ask_in_turn(file->files, file->place, &(struct iovec){&question, sizeof(question)}, 1, &file->path,
			       &answer, NULL, 0, fds);
	if (err == -ETIMEDOUT)
		file->unanswered = true;
	else if (!err)
		*ret = answer.status;
	return err;
}

bool foreign_unanswered(const struct foreign_file *file)
{
	return file->unanswered;
}

bool foreign_waits(const struct foreign_file *file)
{
	return file->now < 0;
}

struct foreign_files *foreign_files_of(const struct foreign_file *file)
{
	return file->files;
}

/* A copy in memory; -1 when it cannot be made, or it is larger than `most`. */
static int copy(struct foreign_file *file, uint64_t most)
{
	int fd = memfd_create("strata", MFD_CLOEXEC);
	uint8_t *piece = malloc(FOREIGN_PIECE);
	uint64_t offset = 0;
	ssize_t got = -1;

	while (fd >= 0 && piece && (got = foreign_read(file, piece, FOREIGN_PIECE, offset)) > 0) {
		if (offset + (uint64_t)got > most || write(fd, piece, (size_t)got) != got) {
			got = -1;
			break;
		}
		offset += (uint64_t)got;
	}
	free(piece);
	if (fd >= 0 && got < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int foreign_descriptor(struct foreign_file *file)
{
	char own[64];

	if (file->now < 0 && file->copy < 0 && !file->unanswered)
		file->copy = copy(file, COPY_MAX);
	if (file->now < 0 && file->copy < 0)
		return -1;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", file->now < 0 ? file->copy : file->now);
	return open(own, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

struct foreign_file *foreign_snapshot(struct foreign_file *file)
{
	int fd = copy(file, FOREIGN_SNAPSHOT_MAX);

	return fd < 0 ? NULL : foreign_wrap(fd);
}

int foreign_borrow(const struct foreign_file *file)
{
	return file->now < 0 ? file->copy : file->now;
}

/* Not "self": another process may use it. */
void foreign_link(const struct foreign_file *file, char ret[static FOREIGN_LINK_BYTES])
{
	snprintf(ret, FOREIGN_LINK_BYTES, "/proc/%d/fd/%d", (int)getpid(), file->path < 0 ? file->now : file->path);
}

void foreign_drop_copy(struct foreign_file *file)
{
	if (file->copy >= 0)
		close(file->copy);
	file->copy = -1;
}

bool foreign_path(const struct foreign_file *file, char *ret, size_t size)
{
	char own[64];
	ssize_t length;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", file->path < 0 ? file->now : file->path);
	length = readlink(own, ret, size);
	if (length <= 0 || (size_t)length >= size || *ret != '/')
		return false;
	ret[length] = '\0';
	return true;
}

uint64_t foreign_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return XXH3_64bits(path, slash ? (size_t)(slash - path) : 0) | 1ull << 63;
}

uint64_t foreign_namespace(int pid)
{
	char path[64], text[64];
	uint64_t inode = 0;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	size = readlink(path, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	(void)!sscanf(text, "mnt:[%lu]", &inode); /* namespaces(7) */
	return inode | 1ull << 63;
}
