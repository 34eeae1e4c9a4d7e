// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of this program's own functions, by a process that is honest, and by others. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_parts.h"
#include "base/time.h"
#include "engine/namer.h"
#include "tap.h"

#define KILLS 100

/* What the client is told. */
struct told {
	unsigned int relieved, count;
	const struct object *object;
	int err;
};

static void relieve(void *context)
{
	((struct told *)context)->relieved++;
}

static void failed(void *context, const struct object *object, int err)
{
	struct told *told = context;

	told->count++;
	told->object = object;
	told->err = err;
}

/* This program, as a process has it mapped. */
struct own {
	struct objects *objects;
	struct object *object;
	struct mapped_file file;
};

static bool open_own(struct foreign_files *files, struct own *ret)
{
	const struct process lives = {.pid = getpid(), .ended = UINT64_MAX};
	static char path[4096];
	struct stat status;

	path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = '\0';
	if (stat(path, &status))
		return false;
	*ret = (struct own){.objects = objects_create(files)};
	ret->file = (struct mapped_file){.kind = FILE_REGULAR,
					 .device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev),
					 .inode = status.st_ino,
					 .pid = getpid(),
					 .path = path};
	ret->object = objects_get(ret->objects, &ret->file, &lives, NULL);
	return ret->object && ret->object->readable;
}

/* The vaddr of main(). */
static uint64_t vaddr_of_main(const struct own *own)
{
	uint64_t vaddr = 0, size;
	struct elf_file *elf;

	if (object_open(own->object, &elf))
		return 0;
	elf_file_find_symbol(elf, "main", &vaddr, &size);
	elf_file_close(elf);
	return vaddr;
}

static bool is_named(const struct own *own, struct namer *namer)
{
	uint64_t at = vaddr_of_main(own), vaddrs[] = {at + 1, 1, at + 1, at};
	struct file_names names;
	struct file_name name = {};
	bool ret = !namer_names(namer, own->object, vaddrs, 4, &names) && file_names_find(&names, at + 1, &name) &&
		   name.symbol && !strcmp(name.symbol, "main") && name.start == at;

	ret = ret && file_names_find(&names, 1, &name) && !name.symbol;
	file_names_deinit(&names);
	return ret;
}

static void test_honest(struct foreign_files *files)
{
	struct told told = {};
	struct namer *namer = namer_create(files, &(struct namer_client){relieve, failed, &told}, NULL);
	struct own own;

	ok(open_own(files, &own), "this program");
	ok(is_named(&own, namer), "names by the process");
	ok(is_named(&own, namer), "asked again");
	is_int(told.count, 0, "nothing is lost");
	ok(told.relieved > 0 && namer_cpu_s(namer) > 0, "the client had its turns");
	namer_destroy(namer);
	objects_destroy(own.objects);
}

/* The map of this process, loaded from its file, and an object for its code. */
static struct perf_map *load_map(const char *text, struct own *ret)
{
	const struct process lives = {.pid = getpid(), .ended = UINT64_MAX};
	struct perf_map *map;
	char path[64];
	FILE *file;

	sprintf(path, "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	map = perf_map_load(NULL, getpid(), NULL);
	unlink(path);
	*ret = (struct own){.objects = objects_create(NULL)};
	ret->file = (struct mapped_file){.kind = FILE_ANONYMOUS, .pid = getpid(), .path = (char *)""};
	ret->object = objects_get(ret->objects, &ret->file, &lives, NULL);
	return map;
}

static void test_map(struct foreign_files *files)
{
	struct told told = {};
	struct namer *namer = namer_create(files, &(struct namer_client){relieve, failed, &told}, NULL);
	struct own own;
	struct perf_map *map = load_map("1000 10 first\n2000 10 second\nnonsense\n", &own), *made;
	uint64_t addresses[] = {0x2008, 0x1000, 0x1010, 0x2008};
	struct file_names names;
	struct file_name name;

	ok(map && perf_map_user(map) == geteuid(), "a perf map");
	is_int(namer_map_names(namer, own.object, map, addresses, 4, &names), 0, "names by it");
	ok(file_names_find(&names, 0x2008, &name) && name.shown && !strcmp(name.shown, "second"), "a name");
	ok(file_names_find(&names, 0x1000, &name) && name.shown && !strcmp(name.shown, "first"), "another one");
	ok(file_names_find(&names, 0x1010, &name) && !name.shown && !name.symbol, "and none");
	file_names_deinit(&names);
	is_str(perf_map_lookup(map, 0x1001), "first", "it can be parsed here, too");
	perf_map_destroy(map);
	made = perf_map_create("1000 10 made\n", 13);
	is_int(namer_map_names(namer, own.object, made, addresses, 2, &names), -ENOSYS,
	       "one that strata made is not asked");
	perf_map_destroy(made);
	is_int(told.count, 0, "nothing is lost");
	namer_destroy(namer);
	objects_destroy(own.objects);
}

/* Says that it is confined, then waits for a question. */
static bool is_asked(int socket)
{
	struct analyser_question question;
	struct analyser_answer answer = {};
	int fds[ANALYSER_DESCRIPTORS];

	foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	return foreign_receive(socket, &(struct iovec){&question, sizeof(question)}, 1, fds, ANALYSER_DESCRIPTORS) > 0;
}

static void sleep_for_ever(int socket)
{
	while (is_asked(socket))
		pause();
}

static void die(int socket)
{
	is_asked(socket);
}

/* The addresses, as they came, as an answer. */
static void lie(int socket)
{
	struct analyser_answer answer = {.id = 1, .size = 4096};

	is_asked(socket);
	foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	pause();
}

/* Would have it done here. */
static void shirk(int socket)
{
	struct analyser_answer answer = {.id = 1, .result = -ENOSYS};

	is_asked(socket);
	foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	pause();
}

static void refuse(int socket)
{
	struct analyser_answer answer = {.result = -ENOSYS};
	char byte;

	foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	(void)!read(socket, &byte, 1);
}

static void test_loss(struct foreign_files *files, void (*life)(int socket), int err, const char *words)
{
	const struct analyser_options options = {life, 10, 0.3};
	struct told told = {};
	struct namer *namer = namer_create(files, &(struct namer_client){relieve, failed, &told}, &options);
	struct own own;

	ok(open_own(files, &own), "this program");
	ok(!is_named(&own, namer), "%s: no names", words);
	ok(told.count == 1 && told.object == own.object && told.err == err, "which is said: %d", told.err);
	ok(!is_named(&own, namer) && told.count == 1, "once");
	namer_destroy(namer);
	objects_destroy(own.objects);
}

/* The true process, which is killed some time after it began. */
static void live_shortly(int socket)
{
	struct timespec now;
	struct itimerval until = {};

	clock_gettime(CLOCK_MONOTONIC, &now);
	until.it_value.tv_usec = 1 + now.tv_nsec / 1000 % 8000;
	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &until, NULL);
	analyser_run(socket);
}

static void test_killed(struct foreign_files *files)
{
	const struct analyser_options options = {live_shortly, 10, 60};
	unsigned int i, named = 0, lost = 0;

	for (i = 0; i < KILLS; i++) {
		struct told told = {};
		struct namer *namer = namer_create(files, &(struct namer_client){relieve, failed, &told}, &options);
		struct own own;

		if (!open_own(files, &own))
			break;
		if (is_named(&own, namer))
			named += !told.count;
		else
			lost += told.count == 1 && told.object == own.object && told.err == -ECHILD;
		namer_destroy(namer);
		objects_destroy(own.objects);
	}
	is_int(named + lost, KILLS, "killed at any time: the names are there, or their loss is told (%u)", lost);
}

#define ANSWERED 2 /* questions of each process: after the last one it ends by itself */

/* What a process that ends tells of itself. */
struct mortal {
	volatile pid_t pid;
	volatile bool is_last; /* its last question is there */
};

/* The nursery and its children have it, too. */
static struct mortal *mortal;

static void use_cpu(double seconds)
{
	double end = time_s(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (time_s(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

static void answer_and_end(int socket)
{
	struct analyser_question question;
	struct analyser_answer answer = {};
	int fds[ANALYSER_DESCRIPTORS];
	unsigned int i;

	mortal->pid = getpid();
	foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	for (i = 0; i < ANSWERED; i++) {
		if (foreign_receive(socket, &(struct iovec){&question, sizeof(question)}, 1, fds,
				    ANALYSER_DESCRIPTORS) <= 0)
			return;
		mortal->is_last = i == ANSWERED - 1;
		use_cpu(0.02);
		answer = (struct analyser_answer){.id = question.id, .result = -ENOEXEC};
		foreign_send(socket, &(struct iovec){&answer, sizeof(answer)}, 1, NULL, 0);
	}
}

/* The last answer is taken when the process has ended. */
static void relieve_late(void *context)
{
	relieve(context);
	if (!mortal->is_last)
		return;
	while (!kill(mortal->pid, 0))
		usleep(1000);
	mortal->is_last = false;
}

static void test_ended(struct foreign_files *files)
{
	const struct analyser_options options = {answer_and_end, 10, 60};
	struct told told = {};
	struct namer *namer = namer_create(files, &(struct namer_client){relieve_late, failed, &told}, &options);
	double used = 0, before;
	unsigned int i;
	struct own own;

	ok(open_own(files, &own), "this program");
	for (i = 1; i <= 2 * ANSWERED + 1; i++) {
		before = used;
		is_named(&own, namer);
		used = namer_cpu_s(namer);
		ok(used >= before, "question %u: the time used does not go back: %.3f s, then %.3f s", i, before, used);
		ok(!told.count, "and the next may be asked: %d", told.err);
	}
	namer_destroy(namer);
	objects_destroy(own.objects);
}

static void test_refusal(struct foreign_files *files)
{
	const struct analyser_options options = {refuse, 10, 10};
	struct told told = {};
	struct namer *namer = namer_create(files, &(struct namer_client){relieve, failed, &told}, &options);
	struct own own;

	ok(open_own(files, &own), "this program");
	ok(is_named(&own, namer), "without such a process, names are read here");
	ok(told.count == 1 && !told.object && told.err == -ENOSYS, "which is said");
	ok(is_named(&own, namer) && told.count == 1, "once");
	namer_destroy(namer);
	objects_destroy(own.objects);
}

int main(void)
{
	struct foreign_files *files;

	mortal = mmap(NULL, sizeof(*mortal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ok(mortal != MAP_FAILED, "memory"))
		return tap_done();
	if (!ok(!foreign_files_create(0, &files, NULL), "the nursery"))
		return tap_done();
	test_honest(files);
	test_map(files);
	test_loss(files, sleep_for_ever, -ETIME, "one that sleeps");
	test_loss(files, die, -ECHILD, "one that dies");
	test_loss(files, lie, -EBADMSG, "one that lies");
	test_loss(files, shirk, -EBADMSG, "one that would have it done elsewhere");
	test_killed(files);
	test_ended(files);
	test_refusal(files);
	foreign_files_destroy(files);
	return tap_done();
}
