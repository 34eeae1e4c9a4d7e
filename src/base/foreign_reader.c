// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes that do the waiting for strata: they access files whose file system may hang. They hold nothing of
 * strata's except their sockets. So one that hangs keeps nothing alive, and all of them end when strata has closed its
 * ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/foreign_parts.h"

int foreign_send(int socket, const struct iovec *parts, size_t count, const int *fds, size_t fd_count)
{
	union foreign_control control = {};
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
	ssize_t sent;

	if (fd_count) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(*fds));
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(fd_count * sizeof(*fds))};
		memcpy(CMSG_DATA(&control.align), fds, fd_count * sizeof(*fds));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

ssize_t foreign_receive(int socket, const struct iovec *parts, size_t count, int *fds, size_t fd_count)
{
	union foreign_control control = {};
	struct msghdr message = {.msg_iov = (struct iovec *)parts,
				 .msg_iovlen = count,
				 .msg_control = control.bytes,
				 .msg_controllen = CMSG_LEN(fd_count * sizeof(*fds))};
	const struct cmsghdr *head;
	ssize_t got;
	size_t i;

	for (i = 0; i < fd_count; i++)
		fds[i] = -1;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len <= CMSG_LEN(fd_count * sizeof(*fds)))
		memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return got;
}

static int open_below(const char *root, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_NOFOLLOW),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, err;

	if (directory < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	err = errno;
	close(directory);
	errno = err;
	return fd;
}

int foreign_open_path(const char *root, const char *path, uint64_t inode, struct stat *ret)
{
	/* It may be a FIFO, which must not block, or a terminal, which must not become ours. */
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = root ? open_below(root, path, flags) : open(path, flags);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, ret)) {
		if (S_ISREG(ret->st_mode) && (!inode || ret->st_ino == inode))
			return fd;
		errno = S_ISREG(ret->st_mode) ? ESTALE : EINVAL;
	}
	close(fd);
	return -errno;
}

ssize_t foreign_glob_here(const char *pattern, char *ret, size_t size)
{
	size_t i, used = 0, length;
	ssize_t result = 0;
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc && result >= 0; i++, used += length) {
		length = strlen(found.gl_pathv[i]) + 1;
		result = length > size - used ? -E2BIG : (ssize_t)(used + length);
		if (result >= 0)
			memcpy(ret + used, found.gl_pathv[i], length);
	}
	globfree(&found);
	return result;
}

/* The file that was asked for last, which is asked for again most often. */
struct reader {
	int socket;
	int fd;
	uint64_t serial;
	uint8_t bytes[FOREIGN_PIECE];
};

/* Does its file system give what it has at once, and say so when it has not? */
static bool reads_at_once(int fd)
{
	char byte;
	struct iovec part = {&byte, 1};

	return preadv2(fd, &part, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

static void answer(const struct reader *reader, const struct foreign_answer *answer, size_t size, const int *fds,
		   size_t fd_count)
{
	const struct iovec parts[] = {{(void *)answer, sizeof(*answer)}, {(void *)reader->bytes, size}};

	if (foreign_send(reader->socket, parts, 2, fds, fd_count))
		_exit(0);
}

static void let_go(struct reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd); /* FUSE: may wait for the server */
	reader->fd = -1;
}

static void open_file(struct reader *reader, const struct foreign_question *question, struct cursor *text)
{
	struct foreign_answer opened = {.result = -ENOENT};
	const char *root = cursor_string(text), *path;
	int fds[2] = {-1, -1}, fd = -1;
	char own[64];
	uint32_t i;

	for (i = 0; i < question->size && fd < 0 && root; i++) {
		path = cursor_string(text);
		if (!path)
			break;
		fd = foreign_open_path(*root ? root : NULL, path, question->inode, &opened.status);
		opened.result = fd < 0 ? fd : 0;
	}
	if (fd >= 0) {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
		fds[0] = open(own, O_PATH | O_CLOEXEC);
		fds[1] = reads_at_once(fd) ? fd : -1;
		if (fds[0] < 0)
			opened.result = -errno;
	}
	let_go(reader);
	reader->fd = fd;
	reader->serial = question->serial;
	if (fds[0] < 0)
		let_go(reader);
	answer(reader, &opened, 0, fds, fds[0] < 0 ? 0 : fds[1] < 0 ? 1 : 2);
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		let_go(reader); /* does not wait in such a file system */
}

/* Opens the file of a question for reading, unless it is that of the last one. */
static int hold(struct reader *reader, uint64_t serial, int path)
{
	char own[64];

	if (serial == reader->serial && reader->fd >= 0)
		return 0;
	let_go(reader);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", path);
	reader->serial = serial;
	reader->fd = open(own, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return reader->fd < 0 ? -errno : 0;
}

static void serve(struct reader *reader, const struct foreign_question *question, struct cursor *text, int path)
{
	struct foreign_answer told = {};
	const char *pattern;
	ssize_t got = 0;

	switch (question->ask) {
	case FOREIGN_OPEN:
		open_file(reader, question, text);
		return;
	case FOREIGN_READ:
		told.result = hold(reader, question->serial, path);
		if (!told.result) {
			got = pread(reader->fd, reader->bytes,
				    question->size < FOREIGN_PIECE ? question->size : FOREIGN_PIECE,
				    (off_t)question->offset);
			told.result = got < 0 ? -errno : got;
		}
		break;
	case FOREIGN_GLOB:
		pattern = cursor_string(text);
		got = foreign_glob_here(pattern ? pattern : "", (char *)reader->bytes,
					question->size < FOREIGN_PIECE ? question->size : FOREIGN_PIECE);
		told.result = got;
		break;
	case FOREIGN_STAT:
		told.result = fstat(path, &told.status) ? -errno : 0;
		break;
	default:
		let_go(reader);
		break;
	}
	answer(reader, &told, got > 0 ? (size_t)got : 0, NULL, 0);
}

void foreign_reader(int socket)
{
	struct reader reader = {.socket = socket, .fd = -1};
	struct foreign_question question;
	char text[FOREIGN_TEXT];
	const struct iovec parts[] = {{&question, sizeof(question)}, {text, sizeof(text)}};
	int fds[2];

	prctl(PR_SET_NAME, "strata-reader");
	for (;;) {
		ssize_t size = foreign_receive(socket, parts, 2, fds, 2);
		struct cursor c;

		if (size < (ssize_t)sizeof(question))
			_exit(0);
		c = cursor_init((const uint8_t *)text, (size_t)size - sizeof(question));
		serve(&reader, &question, &c, fds[0]);
		if (fds[0] >= 0)
			close(fds[0]); /* of O_PATH */
	}
}

_Noreturn void foreign_nursery(int socket, int nice)
{
	struct foreign_birth birth;
	const struct iovec part = {&birth, sizeof(birth)};
	int fds[1], signal_number;
	sigset_t none;
	pid_t pid;

	/* A Ctrl-C is strata's to take. With SIGCHLD ignored, readers that end are no zombies. */
	for (signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Nothing of strata's stays open, its output least of all: somebody may wait for that to end. */
	if (dup2(socket, 0) < 0 || syscall(SYS_close_range, 1, ~0u, 0))
		_exit(1);
	setpriority(PRIO_PROCESS, 0, nice);
	prctl(PR_SET_NAME, "strata-nursery");
	pid = getpid();
	if (foreign_send(0, &(struct iovec){&pid, sizeof(pid)}, 1, NULL, 0))
		_exit(0);
	while (foreign_receive(0, &part, 1, fds, 1) == sizeof(birth)) {
		if (fds[0] < 0) {
			birth.prepare();
			continue;
		}
		pid = fork();
		if (!pid) {
			close(0);
			birth.life(fds[0]);
			_exit(0);
		}
		close(fds[0]);
		if (foreign_send(0, &(struct iovec){&pid, sizeof(pid)}, 1, NULL, 0))
			_exit(0);
	}
	_exit(0);
}
