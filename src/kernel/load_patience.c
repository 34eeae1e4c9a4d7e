// SPDX-License-Identifier: GPL-2.0-or-later
/* libbpf lets the handler of a program's section change what it is loaded with. */
#include "kernel/load_patience.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	(void)program;
	(void)cookie;
	options->attempts = LOAD_ATTEMPTS;
	return 0;
}

/* As libbpf's own handler does for "raw_tp/NAME". */
static int attach_raw(const struct bpf_program *program, long cookie, struct bpf_link **link)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');

	(void)cookie;
	*link = slash ? bpf_program__attach_raw_tracepoint(program, slash + 1) : NULL;
	return !slash ? -EINVAL : *link ? 0 : -errno;
}

void load_patiently(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = prepare);
	LIBBPF_OPTS(libbpf_prog_handler_opts, raw, .prog_prepare_load_fn = prepare, .prog_attach_fn = attach_raw);
	enum bpf_attach_type attach;
	enum bpf_prog_type type;

	/* Any section has a type once there is a handler for all others, which is the last one here. */
	if (!libbpf_prog_type_by_name("strata.any", &type, &attach))
		return;
	libbpf_register_prog_handler("perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, &options);
	libbpf_register_prog_handler("kprobe+", BPF_PROG_TYPE_KPROBE, 0, &options);
	libbpf_register_prog_handler("raw_tp+", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &raw);
	/* Scripts' programs, whose types are set one by one. */
	libbpf_register_prog_handler(NULL, BPF_PROG_TYPE_UNSPEC, 0, &options);
}
