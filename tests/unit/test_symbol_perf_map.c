// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/perf_map.h"
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
	ok(!perf_map_load(NULL, getpid()), "no file: none");
	file = fopen(path, "w");
	fputs("1000 10 jitted\n", file);
	fclose(file);
	map = perf_map_load(NULL, getpid());
	is_str(map ? perf_map_lookup(map, 0x1008) : NULL, "jitted", "the process's own map");
	perf_map_destroy(map);
	if (!geteuid()) {
		ok(!chown(path, 65534, 65534) && !perf_map_load(NULL, getpid()), "another user's file is refused");
	}
	unlink(path);
	ok(!symlink("/etc/passwd", path) && !perf_map_load(NULL, getpid()), "a link is refused");
	unlink(path);
	ok(!mkfifo(path, 0600) && !perf_map_load(NULL, getpid()), "a FIFO is refused, without waiting");
	unlink(path);
	ok(!mkdir(path, 0700) && !perf_map_load(NULL, getpid()), "a directory is refused");
	rmdir(path);
	file = fopen(path, "w");
	ok(!ftruncate(fileno(file), 257l << 20) && !perf_map_load(NULL, getpid()), "a huge file is refused");
	fclose(file);
	unlink(path);
	ok(!perf_map_load(NULL, 0x3ffffff), "no such process");
}

int main(void)
{
	test_lines();
	test_overlap();
	test_model();
	test_load();
	return tap_done();
}
