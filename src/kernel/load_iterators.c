// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libbpf asks what a program needs of the kernel's types by its kind, and before it loads any. So iterators are of
 * another kind until then: the handler of their section is called last, and gives them their own.
 */
#include "kernel/load_iterators.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kernel_btf.h"
#include "kernel/load_patience.h"

#define UNTIL_THEN BPF_PROG_TYPE_SYSCALL

/* The number of the function of SEC("iter/NAME"); 0: the kernel has none. */
static uint32_t find_function(const char *section)
{
	const char *slash = strchr(section, '/');
	struct kernel_btf k;
	char name[64];
	uint32_t found;

	if (!slash || kernel_btf_open(&k))
		return 0;
	snprintf(name, sizeof(name), "bpf_iter_%s", slash + 1);
	found = kernel_btf_function(&k, name);
	kernel_btf_close(&k);
	return found;
}

static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	(void)cookie;
	options->attach_btf_id = find_function(bpf_program__section_name(program));
	if (!options->attach_btf_id)
		return -ESRCH; /* as libbpf has it */
	options->expected_attach_type = BPF_TRACE_ITER;
	options->attempts = LOAD_ATTEMPTS;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

void load_iterators(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = prepare);
	enum bpf_attach_type attach;
	enum bpf_prog_type type;

	if (libbpf_prog_type_by_name("iter/task", &type, &attach) || type != UNTIL_THEN)
		libbpf_register_prog_handler("iter/", UNTIL_THEN, 0, &options);
}
