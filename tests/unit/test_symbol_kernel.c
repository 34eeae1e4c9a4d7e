// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbol/kernel_symbols.h"
#include "tap.h"

/* Writes a file that the test removes again; path is filled from a template. */
static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	fputs(text, file);
	fclose(file);
}

static int create(const char *text, struct kernel_symbols **ret, struct diag *diag)
{
	char path[] = "/tmp/strata-kallsyms-XXXXXX";
	int err;

	write_file(path, text);
	err = kernel_symbols_create(path, ret, diag);
	unlink(path);
	return err;
}

static void test_scheduler(void)
{
	struct kernel_symbols *symbols = NULL;
	struct diag diag = {};

	is_int(create("ffffffff81000000 T _stext\nffffffff81000100 T __sched_text_start\n"
		      "ffffffff81000100 T schedule\nffffffff81000200 T __sched_text_end\nffffffff81000300 T _etext\n",
		      &symbols, &diag),
	       0, "a kernel with a scheduler");
	if (!symbols)
		return;
	ok(kernel_symbols_is_scheduler(symbols, 0xffffffff81000100ull) &&
		   kernel_symbols_is_scheduler(symbols, 0xffffffff810001ffull),
	   "from the first byte to the last");
	ok(!kernel_symbols_is_scheduler(symbols, 0xffffffff810000ffull) &&
		   !kernel_symbols_is_scheduler(symbols, 0xffffffff81000200ull),
	   "and not beside it");
	kernel_symbols_destroy(symbols);
}

static void test_lookup(void)
{
	struct kernel_symbols *symbols = NULL;
	struct diag diag = {};
	uint64_t offset = 0;

	is_int(create("0000000000000000 A fixed_percpu_data\n"
		      "ffffffff81000000 T _stext\n"
		      "ffffffff81000000 T startup_64\n"
		      "ffffffff81000000 t local\n"
		      "ffffffff81000100 t __pfx_do_it\n"
		      "ffffffff81000110 t do_it\n"
		      "ffffffff81000200 W weak_one\n"
		      "ffffffff81000200 D data_is_no_text\n"
		      "ffffffff81000300 T _etext\n"
		      "ffffffff81000400 R __start_rodata\n"
		      "garbage\n\n"
		      "fffffffff81000500ff T too_long_an_address\n"
		      "zz T x\n"
		      "ffffffff81000500 T\n"
		      "ffffffff81000500 T \n"
		      "ffffffffc0002000 t second_of_module\t[mod]\n"
		      "ffffffffc0001000 t first_of_module\t[mod]\n"
		      "ffffffffc0000000 t bpf_prog_0123_x\t[bpf]",
		      &symbols, &diag),
	       0, "loads");
	if (!symbols)
		return;
	ok(!kernel_symbols_lookup(symbols, 0xffffffff80ffffffull, NULL), "below the first: none");
	ok(!kernel_symbols_is_scheduler(symbols, 0xffffffff81000000ull), "nothing says where the scheduler is");
	is_str(kernel_symbols_lookup(symbols, 0xffffffff81000000ull, NULL), "startup_64", "global, least underscores");
	is_str(kernel_symbols_lookup(symbols, 0xffffffff81000123ull, &offset), "do_it", "in the middle");
	is_int(offset, 0x13, "offset");
	is_str(kernel_symbols_lookup(symbols, 0xffffffff810002ffull, NULL), "weak_one", "weak");
	ok(!kernel_symbols_lookup(symbols, 0xffffffff81000350ull, NULL), "behind _etext: none");
	ok(!kernel_symbols_lookup(symbols, 0xffffffff81000500ull, NULL), "lines that do not parse are skipped");
	is_str(kernel_symbols_lookup(symbols, 0xffffffffc0001fffull, NULL), "first_of_module", "modules are sorted");
	is_str(kernel_symbols_lookup(symbols, UINT64_MAX, NULL), "second_of_module", "the last, without [module]");
	is_str(kernel_symbols_lookup(symbols, 0xffffffffc0000001ull, NULL), "bpf_prog_0123_x", "no newline at the end");
	kernel_symbols_destroy(symbols);
}

static void test_failures(void)
{
	struct kernel_symbols *symbols = NULL;
	struct diag diag = {};

	is_int(create("0000000000000000 T _stext\n0000000000000000 t x\n", &symbols, &diag), -EACCES,
	       "hidden addresses");
	ok(strstr(diag.text, "kptr_restrict") != NULL, "and what to do: %s", diag.text);
	is_int(create("", &symbols, &diag), -EINVAL, "an empty file");
	is_int(create("ffffffff81000000 d data\n", &symbols, &diag), -EINVAL, "no text symbol");
	is_int(kernel_symbols_create("/nonexistent", &symbols, &diag), -ENOENT, "no file");
	ok(!symbols, "the result is untouched");
}

/* 150,000 symbols, the last 30,000 of modules in wild order. */
static void test_many(void)
{
	char path[] = "/tmp/strata-kallsyms-XXXXXX";
	struct kernel_symbols *symbols = NULL;
	struct timespec start, end;
	uint64_t i;
	FILE *file;
	double ms;

	file = fdopen(mkstemp(path), "w");
	for (i = 0; i < 120000; i++)
		fprintf(file, "%016lx t some_function_of_the_kernel_%lu\n",
			(unsigned long)(0xffffffff81000000ull + i * 64), (unsigned long)i);
	for (i = 0; i < 30000; i++)
		fprintf(file, "%016lx t some_function_%lu\t[module]\n",
			(unsigned long)(0xffffffffc0000000ull + i * 7919 % 30000 * 64), (unsigned long)i);
	fclose(file);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	is_int(kernel_symbols_create(path, &symbols, NULL), 0, "150,000 symbols load");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	unlink(path);
	ms = (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
	printf("# %.1f ms\n", ms);
	is_str(kernel_symbols_lookup(symbols, 0xffffffffc0000000ull + 7919 * 64 + 5, NULL), "some_function_1", "found");
	kernel_symbols_destroy(symbols);
}

/* This machine's own, when it may be read. */
static void test_live(void)
{
	struct kernel_symbols *symbols = NULL;
	struct diag diag = {};
	int err = kernel_symbols_create("/proc/kallsyms", &symbols, &diag);

	ok(!err || err == -EACCES || err == -ENOENT, "/proc/kallsyms: %s", err ? diag.text : "loads");
	kernel_symbols_destroy(symbols);
}

int main(void)
{
	test_lookup();
	test_scheduler();
	test_failures();
	test_many();
	test_live();
	return tap_done();
}
