// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lang/kernel/kernel_functions.h"
#include "tap.h"

/* Writes a file that the test removes again; path is filled from a template. */
static void write_file(char *path, const char *text)
{
	FILE *file = fdopen(mkstemp(path), "w");

	fputs(text, file);
	fclose(file);
}

static int create(const char *symbols, const char *traceable, struct kernel_functions **ret, struct diag *diag)
{
	char first[] = "/tmp/strata-kallsyms-XXXXXX", second[] = "/tmp/strata-traceable-XXXXXX";
	int err;

	write_file(first, symbols);
	write_file(second, traceable);
	err = kernel_functions_create(first, second, ret, diag);
	unlink(first);
	if (!err && *ret && kernel_functions_at(*ret, 0)) /* reads the second */
		kernel_functions_is_traceable(*ret, kernel_functions_at(*ret, 0));
	unlink(second);
	return err;
}

static void test_functions(void)
{
	struct kernel_functions *functions = NULL;
	const struct kernel_function *function;
	struct diag diag = {};

	is_int(create("ffffffff81000000 T startup\n"
		      "ffffffff81000010 D data\n"
		      "garbage\n"
		      "\n"
		      "ffffffff81000020 t twice\n"
		      "ffffffff81000030 W weak\n"
		      "ffffffff81000040 t twice\n"
		      "ffffffff81000050 T\n"
		      "ffffffff81000050 T \n"
		      "ffffffffc0000000 t twice\t[mod]\n"
		      "ffffffffc0000010 t unclosed\t[mod",
		      "startup\ntwice [mod]\nweak [other]\n\n[\n", &functions, &diag),
	       0, "functions: read");
	if (!functions)
		return;
	function = kernel_functions_find(functions, "startup");
	ok(function && function->address == 0xffffffff81000000 && kernel_functions_is_traceable(functions, function),
	   "functions: one that is traceable");
	is_str(function ? function->module : "", "vmlinux", "functions: of the kernel itself");
	function = kernel_functions_find(functions, "weak");
	ok(function && !kernel_functions_is_traceable(functions, function),
	   "functions: a name of another module does not make it traceable");
	function = kernel_functions_find(functions, "twice");
	ok(function && function->address == 0xffffffff81000020 && !kernel_functions_is_traceable(functions, function),
	   "functions: the first of a name");
	ok(function && kernel_functions_is_first(functions, function) &&
		   !kernel_functions_is_first(functions, kernel_functions_at(functions, 3)) &&
		   !kernel_functions_is_first(functions, kernel_functions_at(functions, 4)) &&
		   kernel_functions_is_first(functions, kernel_functions_at(functions, 5)),
	   "functions: which is the first of its name");
	ok(!kernel_functions_find(functions, "data") && !kernel_functions_find(functions, ""), "functions: no data");
	function = kernel_functions_at(functions, 4);
	ok(function && function->address == 0xffffffffc0000000 && kernel_functions_is_traceable(functions, function),
	   "functions: of a module");
	is_str(function ? function->module : "", "mod", "functions: the module's name");
	ok(!kernel_functions_at(functions, 6), "functions: the end");
	kernel_functions_destroy(functions);
}

/* With addresses, one of two functions of a name is traceable. */
static void test_addresses(void)
{
	struct kernel_functions *functions = NULL;
	const struct kernel_function *function;
	struct diag diag = {};
	unsigned int traceable = 0, i;

	is_int(create("ffffffff81000000 t twice\n"
		      "ffffffff81000040 t twice\n"
		      "ffffffff81000080 T marked\n"
		      "ffffffff810000c0 T behind\n"
		      "ffffffffc0000000 t twice\t[mod]\n",
		      "ffffffff81000040 twice\nffffffff81000084 marked\nffffffff810000c8 behind\n"
		      "ffffffffc0000000 twice [mod]\n",
		      &functions, &diag),
	       0, "functions: read with addresses");
	if (!functions)
		return;
	for (i = 0; (function = kernel_functions_at(functions, i)); i++)
		traceable |= (unsigned int)kernel_functions_is_traceable(functions, function) << i;
	is_int(traceable, 0x16, "functions: traceable by address, also behind an endbr64");
	kernel_functions_destroy(functions);
}

static void test_refusals(void)
{
	struct kernel_functions *functions = NULL;
	struct diag diag = {};

	is_int(create("0000000000000000 T startup\n0000000000000000 t other\n", "", &functions, &diag), -EACCES,
	       "functions: hidden addresses");
	ok(strstr(diag.text, "kptr_restrict") != NULL, "functions: and what to do");
	is_int(kernel_functions_create("/nowhere", NULL, &functions, &diag), -ENOENT, "functions: no such file");
	ok(!functions, "functions: nothing is given then");
	kernel_functions_destroy(NULL);
}

int main(void)
{
	test_functions();
	test_addresses();
	test_refusals();
	return tap_done();
}
