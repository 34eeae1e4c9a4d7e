// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kernel_names.h"
#include "kernel/load_log.h"
#include "kernel_names.skel.h"
#include "symbol/kernel_symbols.h"

struct kernel_names {
	struct kernel_names_bpf *programs;
	struct kernel_symbols *all; /* if the programs cannot be used, and these were read */
};

/* Runs a program. Whether it says that it has an answer. */
static bool ask(const struct bpf_program *program, uint64_t address)
{
	struct kernel_name_request request = {.address = address};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &request, .ctx_size_in = sizeof(request));

	return !bpf_prog_test_run_opts(bpf_program__fd(program), &run) && !run.retval;
}

static bool has_programs(struct kernel_names *names)
{
	load_log_silence();
	names->programs = kernel_names_bpf__open();
	/* Where libbpf was short of memory, `bss` may be missing. */
	return names->programs && !kernel_names_bpf__load(names->programs) && names->programs->bss &&
	       ask(names->programs->progs.tell_scheduler, 0);
}

struct kernel_names *kernel_names_create(bool asks)
{
	struct kernel_names *names = calloc(1, sizeof(*names));

	if (names && !(asks && has_programs(names))) {
		kernel_names_bpf__destroy(names->programs);
		names->programs = NULL;
	}
	return names;
}

int kernel_names_read(struct kernel_names *names, bool again)
{
	if (names->programs || (names->all && !again))
		return 0;
	kernel_symbols_destroy(names->all);
	names->all = NULL;
	return kernel_symbols_create("/proc/kallsyms", &names->all, NULL);
}

void kernel_names_destroy(struct kernel_names *names)
{
	if (!names)
		return;
	kernel_names_bpf__destroy(names->programs);
	kernel_symbols_destroy(names->all);
	free(names);
}

/* Of "NAME+0xOFFSET/0xSIZE [MODULE]"; a name has no plus. Behind the ends of text there is no function. */
static const char *take_apart(char *text, uint64_t *offset)
{
	char *plus = strchr(text, '+');

	if (!plus)
		return NULL;
	*plus = '\0';
	if (!strcmp(text, "_etext") || !strcmp(text, "_einittext"))
		return NULL;
	if (offset)
		*offset = strtoull(plus + 1, NULL, 16);
	return text;
}

const char *kernel_names_lookup(struct kernel_names *names, uint64_t address, uint64_t *offset)
{
	if (!names->programs)
		return names->all ? kernel_symbols_lookup(names->all, address, offset) : NULL;
	if (!ask(names->programs->progs.tell_name, address))
		return NULL;
	return take_apart(names->programs->bss->text, offset);
}

bool kernel_names_stay(const struct kernel_names *names, uint64_t address)
{
	return names->programs || !names->all || kernel_symbols_stay(names->all, address);
}

bool kernel_names_is_scheduler(const struct kernel_names *names, uint64_t address)
{
	if (!names->programs)
		return names->all && kernel_symbols_is_scheduler(names->all, address);
	return address >= names->programs->bss->scheduler_start && address < names->programs->bss->scheduler_end;
}
