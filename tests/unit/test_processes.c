// SPDX-License-Identifier: GPL-2.0-or-later
/* Who had what mapped where, and when: records made by hand, and /proc/self. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/processes.h"
#include "tap.h"

#define NOW (UINT64_MAX - 1)

/* A file "/lib/N" with inode N. */
static void map_file(struct processes *processes, int pid, uint64_t time, uint64_t start, uint64_t size,
		     uint64_t offset, int inode)
{
	char path[32];

	snprintf(path, sizeof(path), "/lib/%d", inode);
	ok(!processes_mmap(processes, pid, time, start, size, offset, 0x800000001, (uint64_t)inode, path, NULL),
	   "mmap of %s by %d at time %" PRIu64, path, pid, time);
}

/* What is at an address at a time: inode and the offset in the file, as "INODE+OFFSET"; "-" when nothing. */
static const char *at(const struct processes *processes, int pid, uint64_t address, uint64_t time)
{
	static char text[64];
	const struct process *process = processes_find(processes, pid, time);
	const struct process_mapping *mapping = process ? process_find_mapping(process, address, time) : NULL;

	if (!mapping)
		return "-";
	snprintf(text, sizeof(text), "%" PRIu64 "+%#" PRIx64, mapping->file->inode,
		 address - mapping->start + mapping->offset);
	return text;
}

static void test_history(void)
{
	struct processes *p = processes_create();

	map_file(p, 10, 100, 0x10000, 0x4000, 0x1000, 1);
	is_str(at(p, 10, 0x10000, 99), "-", "before it was mapped");
	is_str(at(p, 10, 0x10000, 100), "1+0x1000", "its first byte, then");
	is_str(at(p, 10, 0x13fff, NOW), "1+0x4fff", "its last byte, now");
	is_str(at(p, 10, 0x14000, NOW), "-", "the byte after");
	is_str(at(p, 10, 0xffff, NOW), "-", "the byte before");
	/* In the middle of it: the ends stay. */
	map_file(p, 10, 200, 0x11000, 0x1000, 0, 2);
	is_str(at(p, 10, 0x10fff, NOW), "1+0x1fff", "left of what was mapped over it");
	is_str(at(p, 10, 0x11000, NOW), "2+0", "what was mapped over it");
	is_str(at(p, 10, 0x12000, NOW), "1+0x3000", "right of it");
	is_str(at(p, 10, 0x11000, 199), "1+0x2000", "as it was before");
	is_str(at(p, 10, 0x12000, 150), "1+0x3000", "right of it, before");
	/* Over the seams. */
	map_file(p, 10, 300, 0x10800, 0x1000, 0x7000, 3);
	is_str(at(p, 10, 0x107ff, NOW), "1+0x17ff", "left of the seam");
	is_str(at(p, 10, 0x10800, NOW), "3+0x7000", "over the seam");
	is_str(at(p, 10, 0x11800, NOW), "2+0x800", "right of the seam");
	is_str(at(p, 10, 0x11000, 250), "2+0", "before that");
	/* Over everything. */
	map_file(p, 10, 400, 0, 0x100000, 0, 4);
	is_str(at(p, 10, 0x12345, NOW), "4+0x12345", "over everything");
	is_str(at(p, 10, 0x12345, 399), "1+0x3345", "and before");
	is_int(processes_file_count(p), 4, "four files");
	processes_destroy(p, NULL);
}

static void test_same(void)
{
	struct processes *p = processes_create();
	struct process *process = NULL;
	uint32_t changes;

	processes_mmap(p, 10, 100, 0x1000, 0x1000, 0, 1, 1, "/lib/a", &process);
	changes = process->changes;
	processes_mmap(p, 10, 200, 0x1000, 0x1000, 0, 1, 1, "/lib/a", &process);
	ok(process->changes == changes && process->mappings.count == 1, "the same mapping again changes nothing");
	is_int(process->mappings.at[0].from, 100, "it holds since the first");
	processes_mmap(p, 10, 300, 0x1000, 0x1000, 0x1000, 1, 1, "/lib/a", &process);
	ok(process->changes != changes && process->mappings.count == 2, "another part of the file is another mapping");
	ok(processes_mmap(p, 10, 400, 0x1000, 0, 0, 1, 1, "/lib/a", NULL) < 0, "an empty mapping is refused");
	ok(processes_mmap(p, 10, 400, UINT64_MAX - 5, 100, 0, 1, 1, "/lib/a", NULL) < 0, "one that wraps around, too");
	processes_destroy(p, NULL);
}

static void test_fork_and_exec(void)
{
	struct processes *p = processes_create();
	struct process *child = NULL;

	map_file(p, 10, 100, 0x1000, 0x1000, 0, 1);
	map_file(p, 10, 150, 0x3000, 0x1000, 0, 2);
	processes_mmap(p, 10, 160, 0x5000, 0x1000, 0, 0, 0, "//anon", NULL);
	ok(!processes_fork(p, 10, 11, 200, &child) && child->parent == 10 && child->pid == 11, "fork");
	map_file(p, 10, 250, 0x1000, 0x1000, 0, 3);
	is_str(at(p, 11, 0x1000, 200), "1+0", "the child has what its parent had");
	is_str(at(p, 11, 0x1000, NOW), "1+0", "and keeps it");
	is_str(at(p, 10, 0x1000, NOW), "3+0", "whatever the parent does");
	is_str(at(p, 11, 0x3000, NOW), "2+0", "all of it");
	ok(process_find_mapping(child, 0x5000, NOW)->file->pid == 11, "generated code is its own");
	ok(process_find_mapping(child, 0x1000, NOW)->file ==
		   process_find_mapping(processes_find(p, 10, 120), 0x1000, 120)->file,
	   "files are shared");
	processes_fork(p, 10, 12, 140, &child);
	ok(!process_find_mapping(child, 0x3000, NOW), "a fork before the mapping does not have it");
	ok(process_find_mapping(child, 0x1000, NOW)->file->inode == 1, "but what was there then");
	ok(!processes_exec(p, 11, 300, &child) && child->scanned, "exec");
	is_str(at(p, 11, 0x1000, NOW), "-", "nothing is left");
	is_str(at(p, 11, 0x1000, 299), "1+0", "but in the past");
	map_file(p, 11, 301, 0x1000, 0x1000, 0, 9);
	is_str(at(p, 11, 0x1000, NOW), "9+0", "the new program");
	ok(!processes_exec(p, 77, 300, &child) && child->pid == 77, "exec of a process that is not known");
	ok(!processes_fork(p, 500, 501, 300, &child) && child->pid == 501, "fork of one that is not known");
	processes_destroy(p, NULL);
}

static int released;

static void release(struct process *process)
{
	process->user = NULL;
	released++;
}

static void test_reuse_and_reap(void)
{
	struct processes *p = processes_create();
	struct process *first = NULL, *second = NULL, *third = NULL, *each;
	size_t cursor = 0;
	int count = 0;

	processes_mmap(p, 10, 100, 0x1000, 0x1000, 0, 1, 1, "/lib/1", &first);
	first->user = p;
	ok(processes_exit(p, 10, 200) == first && first->ended == 200, "exit");
	ok(!processes_exit(p, 10, 210), "only once");
	ok(!processes_exit(p, 99, 210), "not of one that is not known");
	processes_mmap(p, 10, 300, 0x1000, 0x1000, 0, 1, 2, "/lib/2", &second);
	second->user = p;
	ok(second != first && second->older == first, "a reused pid is another process");
	is_str(at(p, 10, 0x1000, 150), "1+0", "the old one is found by its time");
	is_str(at(p, 10, 0x1000, 350), "2+0", "the new one by its own");
	processes_fork(p, 1, 10, 400, &third);
	ok(third->older == second && second->ended == 400, "a fork ends who had the pid and did not say goodbye");
	while ((each = processes_next(p, &cursor)))
		count += each == third ? 1 : 100;
	is_int(count, 1, "only the last one lives");
	processes_reap(p, 150, release);
	is_int(released, 0, "nothing had ended by then");
	processes_reap(p, 250, release);
	is_int(released, 1, "the first is forgotten");
	ok(processes_find(p, 10, 350) == second, "the second not yet");
	processes_reap(p, 450, release);
	is_int(released, 2, "the second is");
	ok(processes_find(p, 10, NOW) == third, "the third lives");
	map_file(p, 10, 500, 0x1000, 0x1000, 0, 5);
	map_file(p, 10, 600, 0x1000, 0x1000, 0, 6);
	processes_reap(p, 700, release);
	is_int(third->mappings.count, 1, "mappings that ended are forgotten");
	is_str(at(p, 10, 0x1000, NOW), "6+0", "others not");
	processes_exit(p, 10, 800);
	processes_reap(p, 900, release);
	ok(!processes_find(p, 10, NOW), "the last one is forgotten");
	processes_mmap(p, 10, 1000, 0x1000, 0x1000, 0, 1, 7, "/lib/7", &first);
	first->user = p;
	processes_destroy(p, release);
	is_int(released, 3, "the end releases the rest");
}

static struct mapped_file *file_of(struct processes *p, int pid, uint64_t device, uint64_t inode, const char *path)
{
	static uint64_t time = 1, address = 0x1000;
	struct process *process = NULL;

	processes_mmap(p, pid, time++, address, 0x1000, 0, device, inode, path, &process);
	address += 0x1000;
	return process_find_mapping(process, address - 0x1000, NOW)->file;
}

static void test_files(void)
{
	const uint64_t device = 0x800000001;
	struct processes *p = processes_create();
	struct mapped_file *a = file_of(p, 10, device, 42, "/lib/a"), *other;
	uint32_t i, wrong = 0;

	ok(a->kind == FILE_REGULAR && a->inode == 42 && a->device == device && !strcmp(a->path, "/lib/a"), "a file");
	ok(file_of(p, 11, device, 42, "/mnt/a") == a, "its identity is not its path");
	ok(file_of(p, 10, device, 43, "/lib/a") != a, "another inode");
	ok(file_of(p, 10, device + 1, 42, "/lib/a") != a, "another device");
	/* (device << 40) ^ (device >> 12) ^ inode meets at these. */
	other = file_of(p, 10, 1, 5, "/x");
	ok(file_of(p, 10, 0, 5 | 1ull << 40, "/y") != other && file_of(p, 10, 1, 5, "/x") == other,
	   "two whose hashes meet are told apart");
	ok(file_of(p, 10, 0, 0, "[vdso]")->kind == FILE_VDSO, "the vDSO");
	ok(file_of(p, 10, 0, 0, "[vdso]") == file_of(p, 11, 0, 0, "[vdso]"), "is everybody's");
	ok(file_of(p, 10, 0, 0, "[vsyscall]")->kind == FILE_SPECIAL, "[vsyscall]");
	ok(file_of(p, 10, 0, 0, "[uprobes]")->kind == FILE_SPECIAL, "[uprobes]");
	a = file_of(p, 10, 0, 0, "");
	ok(a->kind == FILE_ANONYMOUS && a->pid == 10 && !*a->path, "memory without a file");
	ok(file_of(p, 10, 0, 0, "//anon") == a && file_of(p, 10, 0, 0, "[heap]") == a &&
		   file_of(p, 10, 0, 0, "[stack]") == a && file_of(p, 10, 0, 0, "[anon:v8]") == a &&
		   file_of(p, 10, 5, 9, "/dev/zero (deleted)") == a && file_of(p, 10, 5, 9, "anon_inode:[x]") == a,
	   "by all its names");
	ok(processes_anonymous(p, processes_find(p, 10, NOW)) == a &&
		   processes_anonymous(p, processes_find(p, 11, NOW)) != a,
	   "is each process's own");
	ok(file_of(p, 10, 5, 77, "/memfd:x (deleted)")->kind == FILE_REGULAR, "a memfd can be read");
	ok(!strcmp(file_of(p, 10, 5, 78, "/bin/x (deleted)")->path, "/bin/x"), "a deleted file keeps its name");
	for (i = 0; i < 5000; i++) {
		a = file_of(p, 20, i % 3, 1000 + i / 3, "/many");
		wrong += a->inode != 1000 + i / 3 || a->device != i % 3 || a->index != processes_file_count(p) - 1;
	}
	is_int(wrong, 0, "five thousand files");
	processes_destroy(p, NULL);
}

/* Who uses a file, and what becomes of one that nobody does. */
static void test_file_lives(void)
{
	struct processes *p = processes_create();
	struct mapped_file *a, *b, *anonymous, *again;
	struct process *process;
	uint32_t index;

	processes_mmap(p, 10, 100, 0x1000, 0x3000, 0, 1, 7, "/lib/7", &process);
	a = process->mappings.at[0].file;
	is_int(a->users, 1, "one mapping uses the file");
	processes_mmap(p, 10, 200, 0x2000, 0x1000, 0, 1, 8, "/lib/8", &process);
	is_int(a->users, 3, "one that was and two that are left of it, when another file lies in its middle");
	anonymous = processes_anonymous(p, process);
	processes_fork(p, 10, 11, 300, &process);
	is_int(a->users, 5, "a child uses it, too");
	processes_renew_file(p, a);
	processes_mmap(p, 11, 400, 0x9000, 0x1000, 0, 1, 7, "/lib/7", &process);
	b = process_find_mapping(process, 0x9000, NOW)->file;
	ok(b != a && b->index != a->index && a->users == 5,
	   "when its content is another one, the next mapping is of another file");
	processes_exit(p, 10, 500);
	processes_exit(p, 11, 500);
	processes_reap(p, 600, NULL);
	ok(!a->users && !b->users && !anonymous->users, "when all are gone nobody uses it");
	index = b->index;
	processes_forget_file(p, b);
	ok(!processes_file(p, index) && processes_file(p, a->index) == a, "one is forgotten");
	processes_mmap(p, 12, 700, 0x1000, 0x1000, 0, 1, 7, "/lib/7", &process);
	again = process->mappings.at[0].file;
	ok(again != a && again->index == index, "when it comes back it is a new file, with an index that was free");
	ok(processes_anonymous(p, process) != anonymous,
	   "memory without a file is another process's under another pid");
	processes_exit(p, 12, 800);
	processes_mmap(p, 12, 900, 0x1000, 0x1000, 0, 0, 0, "", &process);
	ok(process->anonymous && process->older && process->anonymous != process->older->anonymous,
	   "or under the same");
	processes_forget_file(p, a);
	processes_forget_file(p, anonymous);
	processes_destroy(p, NULL);
}

/* Where hashes meet, and the one that was first goes. */
static void test_file_hashes(void)
{
	struct processes *p = processes_create();
	struct mapped_file *first = file_of(p, 10, 1, 5, "/x"), *second = file_of(p, 10, 0, 5 | 1ull << 40, "/y");

	processes_renew_file(p, first);
	processes_renew_file(p, second);
	ok(file_of(p, 10, 0, 5 | 1ull << 40, "/y") != second && file_of(p, 10, 1, 5, "/x") != first,
	   "neither is found any more");
	processes_destroy(p, NULL);
}

/* Addresses that other code takes over. */
static void test_epoch(void)
{
	struct processes *p = processes_create();
	const struct process *process;

	map_file(p, 10, 100, 0x1000, 0x2000, 0, 1);
	map_file(p, 10, 110, 0x5000, 0x1000, 0, 2);
	process = processes_find(p, 10, NOW);
	is_int(process->epoch, 0, "new addresses begin no epoch");
	map_file(p, 10, 120, 0x1000, 0x2000, 0, 1);
	map_file(p, 10, 121, 0x2000, 0x1000, 0x1000, 1);
	is_int(process->epoch, 0, "nor does the same code at the same place");
	map_file(p, 10, 130, 0x1000, 0x1000, 0, 3);
	is_int(process->epoch, 1, "another file does");
	map_file(p, 10, 140, 0x5000, 0x1000, 0x4000, 2);
	is_int(process->epoch, 2, "and another part of the same one");
	processes_mmap(p, 10, 150, 0x8000, 0x1000, 0, 0, 0, "//anon", NULL);
	processes_mmap(p, 10, 160, 0x8000, 0x2000, 0, 0, 0, "//anon", NULL);
	is_int(process->epoch, 2, "generated code is its addresses");
	processes_destroy(p, NULL);
}

static int gate[2]; /* not on the stack of a thread that ends */

static void *wait_for_end(void *unused)
{
	char byte;

	(void)unused;
	_exit(read(gate[0], &byte, 1) != 0);
}

/* A process whose main thread has ended is read through another one. */
static void test_leaderless(void)
{
	struct processes *p = processes_create();
	struct process *process = NULL;
	char state = 0, name[32];
	int tries;
	pthread_t thread;
	FILE *file;
	pid_t pid;

	if (pipe(gate) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		close(gate[1]);
		pthread_create(&thread, NULL, wait_for_end, NULL);
		pthread_exit(NULL);
	}
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	for (tries = 0; tries < 6000 && state != 'Z'; tries++, usleep(10000)) {
		file = fopen(name, "re");
		if (file && fscanf(file, "%*d %*s %c", &state) != 1)
			state = 0;
		if (file)
			fclose(file);
	}
	ok(state == 'Z' && process_has_threads(pid), "a process whose main thread has ended has threads");
	ok(!processes_scan(p, pid, 1000, &process) &&
		   process_find_mapping(process, (uint64_t)(uintptr_t)test_leaderless, NOW),
	   "and mappings");
	ok(!process_has_threads(getpid()), "this one has none beside the main one");
	close(gate[1]);
	waitpid(pid, NULL, 0);
	ok(!process_has_threads(pid), "nor one that is gone");
	close(gate[0]);
	processes_destroy(p, NULL);
}

static void test_scan(void)
{
	struct processes *p = processes_create();
	const struct process_mapping *mapping;
	struct process *process = NULL;
	int pid = getpid();
	uint32_t changes;
	struct stat self;
	void *code;

	is_int(processes_scan(p, pid, 1000, &process), 0, "this process is read");
	ok(process->pid == pid && process->scanned && process->mappings.count, "it has mappings");
	mapping = process_find_mapping(process, (uint64_t)(uintptr_t)test_scan, NOW);
	ok(mapping && !stat("/proc/self/exe", &self) && mapping->file->inode == self.st_ino, "this function's file");
	ok(mapping && mapping->file->kind == FILE_REGULAR && strstr(mapping->file->path, "test_processes"), "and path");
	ok(mapping && mapping->from == 0, "which held for ever, for all we know");
	ok(!process_find_mapping(process, (uint64_t)(uintptr_t)&self, NOW), "only code is kept");
	changes = process->changes;
	is_int(processes_scan(p, pid, 2000, &process), 0, "again");
	is_int(process->changes, changes, "changes nothing");
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	processes_scan(p, pid, 3000, &process);
	mapping = process_find_mapping(process, (uint64_t)(uintptr_t)code, NOW);
	ok(mapping && mapping->file->kind == FILE_ANONYMOUS && mapping->from == 3000, "new code holds from then on");
	munmap(code, 4096);
	changes = process->epoch;
	processes_mmap(p, pid, 3700, 0x10000, 0x1000, 0, 1, 1, "/later", NULL);
	processes_scan(p, pid, 3500, &process);
	ok(!process_find_mapping(process, (uint64_t)(uintptr_t)code, NOW) &&
		   process_find_mapping(process, (uint64_t)(uintptr_t)code, 3499) && process->epoch > changes,
	   "code that is gone ends when /proc is read again");
	ok(process_find_mapping(process, 0x10000, NOW), "but not what was told of since");
	ok(process_find_mapping(process, (uint64_t)(uintptr_t)test_scan, NOW), "nor what is still there");
	processes_exit(p, pid, 4000);
	is_int(processes_scan(p, pid, 5000, &process), 0, "who lives again");
	is_int(process->started, 5000, "is another process");
	is_int(processes_scan(p, 0x7ffffffe, 1, NULL), -ESRCH, "one that does not exist");
	processes_destroy(p, NULL);
	processes_destroy(NULL, NULL);
}

/* Whatever the order, the last one that was told holds: compared with a list of pages. */
static void test_any_order(void)
{
	enum { PAGES = 48, TIMES = 4000 };
	struct processes *p = processes_create();
	uint64_t offsets[PAGES] = {}, random = 4711, wrong = 0, time;
	struct process *process = NULL;

	for (time = 1; time <= TIMES; time++) {
		uint64_t first, count, at;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		count = 1 + (random >> 40) % 4;
		/* Beside the one before, above and below, and anywhere. */
		first = random >> 63       ? (time * count) % (PAGES - 4)
			: random >> 62 & 1 ? PAGES - 4 - (time * count) % (PAGES - 4)
					   : (random >> 33) % (PAGES - 4);
		processes_mmap(p, 7, time, first << 12, count << 12, time << 12, 1, 1, "/file", &process);
		for (at = first; at < first + count; at++)
			offsets[at] = (time + at - first) << 12;
		for (at = 0; at < PAGES; at++) {
			const struct process_mapping *mapping = process_find_mapping(process, at << 12, NOW);

			wrong += mapping ? mapping->offset + ((at << 12) - mapping->start) != offsets[at]
					 : !!offsets[at];
		}
		if (time % 64 == 0)
			processes_reap(p, time - 3, NULL);
	}
	is_int((int64_t)wrong, 0, "mappings in any order are those that were told last");
	processes_destroy(p, NULL);
}

/* CPU time, ns, of so many mappings told from the top down, and once more. */
static uint64_t cost_of(uint64_t count)
{
	struct processes *p = processes_create();
	struct timespec begin, end;
	uint64_t i;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (i = 0; i < count; i++)
		processes_mmap(p, 7, i, (count - i) << 13, 4096, 0, 1, 1, "/file", NULL);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	processes_destroy(p, NULL);
	return (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000ull + (uint64_t)end.tv_nsec - (uint64_t)begin.tv_nsec;
}

static void test_many(void)
{
	uint64_t few = cost_of(4000), many = cost_of(64000);

	/* By their square it would be 256 times as much. */
	ok(many < 64 * few, "many mappings take time by their number: %.1f times as much for 16 times as many",
	   (double)many / (double)few);
}

int main(void)
{
	test_any_order();
	test_many();
	test_history();
	test_same();
	test_fork_and_exec();
	test_reuse_and_reap();
	test_files();
	test_file_lives();
	test_file_hashes();
	test_epoch();
	test_leaderless();
	test_scan();
	return tap_done();
}
