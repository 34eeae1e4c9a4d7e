// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/perf_maps.h"
#include "tap.h"

static struct perf_map *create(const char *text)
{
	return perf_map_create(text, strlen(text));
}

static void test_lines(void)
{
	struct perf_map *map = create("1000 10 plain\n"
				      "0x2000 0x20 with prefix and blanks\r\n"
				      "3000 0 empty\n"
				      "3000 10\n"
				      "3000 10 \n"
				      "x 10 no_number\n"
				      "3000 -1 negative\n"
				      "ffffffffffffffff 10 wraps\n"
				      "11112222333344445 10 too_long\n"
				      "\n"
				      "fffffffffffffff0 f last\n"
				      "0 1 zero\n"
				      "4000 10 unfinish");

	is_str(perf_map_lookup(map, 0x1000), "plain", "first byte");
	is_str(perf_map_lookup(map, 0x100f), "plain", "last byte");
	ok(!perf_map_lookup(map, 0x1010) && !perf_map_lookup(map, 0xfff), "outside");
	is_str(perf_map_lookup(map, 0x2010), "with prefix and blanks", "0x, blanks in the name, carriage return");
	ok(!perf_map_lookup(map, 0x3000), "bad lines give nothing");
	is_int(perf_map_bad_lines(map), 8, "and are counted");
	is_str(perf_map_lookup(map, 0xfffffffffffffffeull), "last", "at the end of the address space");
	is_str(perf_map_lookup(map, 0), "zero", "at its start");
	ok(!perf_map_lookup(map, 0x4000), "an unfinished line is not taken");
	perf_map_destroy(map);
	map = create("");
	ok(map && !perf_map_lookup(map, 1), "an empty map");
	perf_map_destroy(map);
}

static void test_overlap(void)
{
	struct perf_map *map = create("1000 100 old\n"
				      "1040 20 inner\n"
				      "1050 100 across\n"
				      "0f00 110 before\n"
				      "1000 100 old\n"
				      "1080 10 on_top\n");

	is_str(perf_map_lookup(map, 0xf00), "before", "what a later line leaves");
	is_str(perf_map_lookup(map, 0x1000), "old", "the same range again, later");
	is_str(perf_map_lookup(map, 0x1045), "old", "an inner one painted over");
	is_str(perf_map_lookup(map, 0x1080), "on_top", "a later inner one");
	is_str(perf_map_lookup(map, 0x1090), "old", "behind it again the outer one");
	is_str(perf_map_lookup(map, 0x1100), "across", "the rest of one that reaches beyond");
	ok(!perf_map_lookup(map, 0x1150), "and its end");
	perf_map_destroy(map);
}

/* Against the definition: each byte belongs to the last line that covers it. */
static void test_model(void)
{
	const char *owner[512] = {};
	static char text[64 * 400];
	size_t used = 0, i, at;
	struct perf_map *map;
	unsigned int seed = 1;
	bool right = true;

	static char names[400][8];

	for (i = 0; i < 400; i++) {
		unsigned int start = (seed = seed * 1103515245 + 12345) / 65536 % 480;
		unsigned int size = 1 + (seed = seed * 1103515245 + 12345) / 65536 % 32;

		sprintf(names[i], "n%zu", i % 50);
		used += (size_t)sprintf(text + used, "%x %x %s\n", start, size, names[i]);
		for (at = start; at < start + size; at++)
			owner[at] = names[i];
	}
	map = perf_map_create(text, used);
	for (at = 0; at < 512; at++) {
		const char *got = perf_map_lookup(map, at);

		right &= owner[at] ? got && !strcmp(got, owner[at]) : !got;
	}
	ok(right, "400 random lines give what painting them byte by byte gives");
	perf_map_destroy(map);
}

static void test_load(void)
{
	struct perf_map *map;
	char path[64];
	FILE *file;

	sprintf(path, "/tmp/perf-%d.map", getpid());
	unlink(path);
	ok(!perf_map_load(NULL, getpid(), NULL), "no file: none");
	file = fopen(path, "w");
	fputs("1000 10 jitted\n", file);
	fclose(file);
	map = perf_map_load(NULL, getpid(), NULL);
	is_str(map ? perf_map_lookup(map, 0x1008) : NULL, "jitted", "the process's own map");
	perf_map_destroy(map);
	if (!geteuid()) {
		ok(!chown(path, 65534, 65534) && !perf_map_load(NULL, getpid(), NULL),
		   "another user's file is refused");
	}
	unlink(path);
	ok(!symlink("/etc/passwd", path) && !perf_map_load(NULL, getpid(), NULL), "a link is refused");
	unlink(path);
	ok(!mkfifo(path, 0600) && !perf_map_load(NULL, getpid(), NULL), "a FIFO is refused, without waiting");
	unlink(path);
	ok(!mkdir(path, 0700) && !perf_map_load(NULL, getpid(), NULL), "a directory is refused");
	rmdir(path);
	file = fopen(path, "w");
	ok(!ftruncate(fileno(file), 257l << 20) && !perf_map_load(NULL, getpid(), NULL), "a huge file is refused");
	fclose(file);
	unlink(path);
	ok(!perf_map_load(NULL, 0x3ffffff, NULL), "no such process");
}

/* A process of another user, which waits until it is killed. */
static int start_other(void)
{
	int pid = fork();

	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

static bool loads(int pid, mode_t mode, uid_t owner)
{
	struct perf_map *map;
	char path[64];
	FILE *file;

	sprintf(path, "/tmp/perf-%d.map", pid);
	file = fopen(path, "w");
	fputs("1000 10 jitted\n", file);
	fclose(file);
	if (chmod(path, mode) || chown(path, owner, 0))
		return false;
	map = perf_map_load(NULL, pid, NULL);
	unlink(path);
	perf_map_destroy(map);
	return map;
}

static bool is_other(int pid)
{
	char path[64];
	struct stat found;

	sprintf(path, "/proc/%d", pid);
	return !stat(path, &found) && found.st_uid == 65534;
}

static void test_owners(void)
{
	int pid;

	if (geteuid())
		return;
	pid = start_other();
	while (!is_other(pid))
		usleep(1000);
	ok(loads(pid, 0600, 65534), "another user's process: its own file");
	ok(loads(pid, 0644, 0), "root's file that everybody may read");
	ok(!loads(pid, 0600, 0), "not one that the process could not read");
	ok(!loads(pid, 0640, 0), "nor one that only a group may read");
	ok(!loads(pid, 0644, 65533), "nor a third user's");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_budget(void)
{
	struct budget budget = {.whole = 256, .halving_s = 10};

	ok(budget_take(&budget, 1, 100, 1000), "a user's first");
	ok(budget_take(&budget, 1, 28, 1000) && !budget_take(&budget, 1, 1, 1000), "up to half of the whole");
	ok(!budget_take(&budget, 2, 65, 1000) && budget_take(&budget, 2, 64, 1000), "another one: half of the rest");
	ok(!budget_take(&budget, 0, 257, 1000), "more than the whole");
	is_int(budget.refused, 3, "what was refused is counted");
	ok(!budget_take(&budget, 1, 1, 1009) && budget_take(&budget, 1, 48, 1010), "after a while half is forgotten");
	ok(budget_take(&budget, 3, 128, UINT64_MAX), "after long, all");
	budget_deinit(&budget);
	budget = (struct budget){.whole = 256, .halving_s = 10};
	ok(budget_charge(&budget, 1, 100, 1000), "what is counted afterwards, within the share");
	ok(!budget_charge(&budget, 1, 100, 1000) && !budget_take(&budget, 1, 1, 1000), "and beyond: nothing is left");
	ok(!budget_charge(&budget, 2, 1000, 1000) && !budget_take(&budget, 3, 1, 1000), "nor where it is beyond all");
	ok(budget_take(&budget, 3, 1, 1040), "but later");
	budget_deinit(&budget);
}

static void test_maps(void)
{
	struct perf_maps *maps = perf_maps_create(NULL);
	struct perf_map *map;
	char path[64];
	FILE *file;

	sprintf(path, "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fputs("1000 10 jitted\n", file);
	fclose(file);
	map = perf_maps_of(maps, 7, getpid());
	unlink(path);
	ok(map && perf_maps_of(maps, 7, getpid()) == map && !perf_maps_of(maps, 8, getpid()), "a map is read once");
	map = perf_maps_renew(maps, 7, getpid());
	ok(map && perf_map_lookup(map, 0x1001), "and stays when its file is gone");
	file = fopen(path, "w");
	fputs("1000 10 jitted\n2000 10 later\n", file);
	fclose(file);
	map = perf_maps_renew(maps, 7, getpid());
	is_str(map ? perf_map_lookup(map, 0x2001) : NULL, "later", "what came later is there when it is read again");
	unlink(path);
	perf_maps_forget(maps, 7);
	perf_maps_forget(maps, 9);
	ok(!perf_maps_of(maps, 7, getpid()) && !perf_maps_refused(maps), "and forgotten");
	file = fopen(path, "w");
	ok(!ftruncate(fileno(file), PERF_MAPS_BYTES / 2 + 1) && !perf_maps_of(maps, 10, getpid()),
	   "one beyond the budget is not read");
	fclose(file);
	unlink(path);
	is_int(perf_maps_refused(maps), 1, "and counted");
	perf_maps_destroy(maps);
}

int main(void)
{
	test_lines();
	test_overlap();
	test_model();
	test_load();
	test_owners();
	test_budget();
	test_maps();
	return tap_done();
}
