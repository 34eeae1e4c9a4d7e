// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/confine.h"
#include "base/foreign_parts.h"
#include "base/time.h"
#include "engine/analyser.h"
#include "tap.h"

static struct analysis last;
static unsigned int taken;

static void take(void *context, struct analysis *analysis)
{
	(void)context;
	free(last.bytes);
	foreign_close(analysis->snapshot);
	last = *analysis;
	taken++;
}

static uint64_t ask(struct analyser *analyser, struct foreign_file *file)
{
	return analyser_ask(analyser, &(struct analyser_request){.ask = ANALYSER_FOLLOW, .file = file});
}

/* Until so many are done. */
static void tend(struct analyser *analyser, unsigned int count)
{
	double end = time_s(CLOCK_MONOTONIC) + 120;

	for (taken = 0; taken < count && time_s(CLOCK_MONOTONIC) < end; analyser_tend(analyser, take, NULL))
		if (!analyser_wait(analyser, 10) && taken < count)
			break;
}

/* Any file: what is made of it is up to the process. */
static struct foreign_file *some_file(void)
{
	return foreign_wrap(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

static void tell(int socket, const struct analyser_answer *answer, size_t size, int fd)
{
	const int fds[3] = {fd, fd, fd};

	foreign_send(socket, &(struct iovec){(void *)answer, size}, 1, fds, fd < 0 ? 0 : 3);
}

/*
 * A process that does what it likes: the number of the question says what. It has said that it is confined, and it
 * wrote "abcd".
 */
enum mischief {
	HONEST = 1,
	LONG_BYTES,
	SUCCESS,
	OTHER_ID,
	HALF,
	DESCRIPTORS,
	TWICE,
	DIES,
	FAILS,
	MISCHIEFS
};
static const int expected[MISCHIEFS] = {
	[LONG_BYTES] = -EBADMSG, [SUCCESS] = -EBADMSG, [OTHER_ID] = -ECHILD,
	[HALF] = -ECHILD,        [DIES] = -ECHILD,       [FAILS] = -E2BIG};
static const char *const words[MISCHIEFS] = {[HONEST] = "an answer",
					     [LONG_BYTES] = "more bytes than there can be",
					     [SUCCESS] = "a result that there is not",
					     [OTHER_ID] = "an answer to another question",
					     [HALF] = "half an answer",
					     [DESCRIPTORS] = "an answer with descriptors",
					     [TWICE] = "an answer that comes twice",
					     [DIES] = "none",
					     [FAILS] = "an error"};

static void lie(int socket)
{
	struct analyser_answer answer = {};
	struct analyser_question question;
	int fds[ANALYSER_DESCRIPTORS];

	tell(socket, &answer, sizeof(answer), -1);
	while (foreign_receive(socket, &(struct iovec){&question, sizeof(question)}, 1, fds, ANALYSER_DESCRIPTORS) ==
	       sizeof(question)) {
		answer = (struct analyser_answer){.id = question.id, .size = 4};
		if (pwrite(fds[0], "abcd", 4, 0) != 4 || ftruncate(fds[0], 0) != -1 ||
		    ftruncate(fds[0], 1ll << 40) != -1)
			_exit(1);
		if (question.id == LONG_BYTES)
			answer.size = ANALYSER_ANSWER_MAX + 1;
		if (question.id == SUCCESS)
			answer.result = 1;
		if (question.id == OTHER_ID)
			answer.id++;
		if (question.id == FAILS)
			answer.result = -E2BIG;
		if (question.id == DIES)
			_exit(1);
		tell(socket, &answer, question.id == HALF ? sizeof(answer) / 2 : sizeof(answer),
		     question.id == DESCRIPTORS ? fds[0] : -1);
		if (question.id == TWICE)
			tell(socket, &answer, sizeof(answer), -1);
		close(fds[0]);
		close(fds[1]);
	}
}

static unsigned int descriptors(void)
{
	unsigned int count = 0, fd;

	for (fd = 0; fd < 1000; fd++)
		count += fcntl((int)fd, F_GETFD) >= 0;
	return count;
}

static void test_lies(struct foreign_files *files)
{
	const struct analyser_options options = {lie, 10, 60, false};
	struct analyser *analyser = analyser_create(files, &options);
	struct foreign_file *file = some_file();
	unsigned int i, before;

	ok(!analyser_wait(analyser, 0), "nothing is under way");
	before = descriptors();
	for (i = HONEST; i < MISCHIEFS; i++) {
		is_int((int64_t)ask(analyser, file), i, "question %u", i);
		tend(analyser, 1);
		ok(taken == 1 && last.id == i && last.err == expected[i], "%s: %d", words[i], last.err);
		if (!expected[i])
			ok(last.size == 4 && !memcmp(last.bytes, "abcd", 4), "as it was");
		else
			ok(!last.bytes, "without bytes");
	}
	ok(descriptors() <= before + 2, "no descriptor has come, but those of the process"); /* its socket, its pidfd */
	is_int(analyser_refusal(analyser), 0, "and it can be asked again");
	foreign_close(file);
	analyser_destroy(analyser);
}

/* Says that it is confined, and takes a question. */
static void take_question(int socket)
{
	const struct analyser_answer answer = {};
	struct analyser_question question;
	int fds[ANALYSER_DESCRIPTORS];

	tell(socket, &answer, sizeof(answer), -1);
	foreign_receive(socket, &(struct iovec){&question, sizeof(question)}, 1, fds, ANALYSER_DESCRIPTORS);
}

static void sleep_for_ever(int socket)
{
	take_question(socket);
	for (;;)
		pause();
}

static void test_sleeping(struct foreign_files *files)
{
	const struct analyser_options options = {sleep_for_ever, 60, 0.2, false};
	struct analyser *analyser = analyser_create(files, &options);
	struct foreign_file *file = some_file();
	double begin = time_s(CLOCK_MONOTONIC);

	ask(analyser, file);
	tend(analyser, 1);
	ok(taken == 1 && last.id == 1 && last.err == -ETIME, "one that sleeps is given up");
	ok(time_s(CLOCK_MONOTONIC) - begin >= 0.2, "when its time is over");
	foreign_close(file);
	analyser_destroy(analyser);
}

static void spin(int socket)
{
	take_question(socket);
	for (;;)
		;
}

static void test_spinning(struct foreign_files *files)
{
	const struct analyser_options options = {spin, 0.2, 600, false};
	struct analyser *analyser = analyser_create(files, &options);
	struct foreign_file *file = some_file();

	ask(analyser, file);
	ask(analyser, file);
	tend(analyser, 2);
	ok(taken == 2 && last.err == -ETIME, "those that compute too long are given up, one by one");
	ok(analyser_cpu_s(analyser) >= 0.4, "and what it took is known: %.2f s", analyser_cpu_s(analyser));
	foreign_close(file);
	analyser_destroy(analyser);
}

static void refuse(int socket)
{
	char byte;

	tell(socket, &(struct analyser_answer){.result = -ENOSYS}, sizeof(struct analyser_answer), -1);
	(void)!read(socket, &byte, 1); /* until its end */
}

static void test_refusal(struct foreign_files *files)
{
	const struct analyser_options options = {refuse, 1, 1, false};
	struct analyser *analyser = analyser_create(files, &options);
	struct foreign_file *file = some_file();

	ok(ask(analyser, file), "asked");
	tend(analyser, 1);
	ok(taken == 1 && last.err == -ENOSYS, "one that cannot be confined is not asked");
	is_int(analyser_refusal(analyser), -ENOSYS, "which is known");
	ok(!ask(analyser, file), "from then on");
	foreign_close(file);
	analyser_destroy(analyser);
}

/* Answers with its own pid. */
static void tell_pid(int socket)
{
	struct analyser_answer answer = {};
	struct analyser_question question;
	int fds[ANALYSER_DESCRIPTORS];
	pid_t pid = getpid();

	tell(socket, &answer, sizeof(answer), -1);
	while (foreign_receive(socket, &(struct iovec){&question, sizeof(question)}, 1, fds, ANALYSER_DESCRIPTORS) ==
	       sizeof(question)) {
		answer = (struct analyser_answer){.id = question.id, .size = sizeof(pid)};
		if (pwrite(fds[0], &pid, sizeof(pid), 0) != sizeof(pid))
			_exit(1);
		tell(socket, &answer, sizeof(answer), -1);
		close(fds[0]);
		close(fds[1]);
	}
}

static pid_t pid_told(void)
{
	pid_t ret = 0;

	if (!last.err && last.size == sizeof(ret))
		memcpy(&ret, last.bytes, sizeof(ret));
	return ret;
}

static void test_once(struct foreign_files *files, bool once)
{
	const struct analyser_options options = {tell_pid, 10, 60, once};
	struct analyser *analyser = analyser_create(files, &options);
	struct foreign_file *file = some_file();
	pid_t first, second;

	ask(analyser, file);
	ask(analyser, file);
	tend(analyser, 1);
	first = pid_told();
	tend(analyser, 1);
	second = pid_told();
	ok(first && second && (first != second) == once, "%s: %d, %d",
	   once ? "each question has a process of its own" : "one process answers all", first, second);
	ok(!once || !analyser_wait(analyser, 0), "and nothing is under way");
	foreign_close(file);
	analyser_destroy(analyser);
}

/* The true one: files that are no ELF files, that shrink, and this program. */
static void test_files(struct foreign_files *files)
{
	struct analyser *analyser = analyser_create(files, NULL);
	struct foreign_file *own = some_file(), *file;
	char path[] = "/tmp/strata-analyser-XXXXXX";
	int fd = mkstemp(path);
	unsigned int i;

	unlink(path);
	file = foreign_wrap(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	for (i = 0; i < 20; i++) {
		ok(!ftruncate(fd, 0) && pwrite(fd, "\177ELF\2\1\1", 7, 0) == 7 && !ftruncate(fd, 1 << 20), "a file");
		ok(ask(analyser, file) > 0, "asked");
		if (i % 2)
			ok(!ftruncate(fd, 64), "cut while it is read");
		tend(analyser, 1);
		ok(taken == 1 && last.err < 0 && last.err != -ECHILD, "it is none: %d", last.err);
	}
	ask(analyser, own);
	tend(analyser, 1);
	ok(taken == 1 && !last.err, "this program");
	ok(last.bytes, "is followed: %zu bytes", last.size);
	foreign_close(own);
	foreign_close(file);
	close(fd);
	analyser_destroy(analyser);
}

/*
 * A child's exit status: 0 when `work` found all as it should be. Not by _exit(): AddressSanitizer's makes a system
 * call that fails then.
 */
static int in_child(int (*work)(pid_t parent))
{
	pid_t parent = getpid(), child = fork();
	int status = 0;

	if (!child)
		syscall(SYS_exit_group, confine(arch_here()->audit, UINT64_MAX, 4096) ? 99 : work(parent));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int refuses(pid_t parent)
{
	char byte;

	if (open("/dev/null", O_RDONLY) >= 0 || errno != EPERM)
		return 1;
	if (kill(parent, 0) != -1 || fork() >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return 2;
	if (setuid(0) != -1 || fcntl(0, F_SETOWN, parent) != -1)
		return 3;
	if (prlimit(parent, RLIMIT_NOFILE, NULL, &(struct rlimit){}) != -1)
		return 4;
	return pread(0, &byte, 1, 0) < 0 && errno == EPERM ? 5 : 0;
}

static int allows(pid_t parent)
{
	void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat status;

	(void)parent;
	return memory == MAP_FAILED || munmap(memory, 1 << 20) || (fstat(0, &status) && errno == EPERM);
}

int main(void)
{
	struct foreign_files *files;
	struct diag diag;

	if (!ok(!foreign_files_create(0, &files, &diag), "the nursery"))
		return tap_done();
	is_int(in_child(refuses), 0, "what is confined can neither open nor reach others");
	is_int(in_child(allows), 0, "but compute");
	test_lies(files);
	test_sleeping(files);
	test_spinning(files);
	test_refusal(files);
	test_once(files, false);
	test_once(files, true);
	test_files(files);
	free(last.bytes);
	foreign_files_destroy(files);
	return tap_done();
}
