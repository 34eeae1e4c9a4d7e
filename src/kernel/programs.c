// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>

#include "abi/config.h"
#include "kernel/features.h"
#include "sampler.skel.h"
#include "sampler_bounded.skel.h"
#include "sampler_resume.skel.h"
#include "sampler_resume_impl.skel.h"

#define RING_BYTES_PER_CPU (2u << 20)
#define RING_BYTES_MAX     (32u << 20)
#define LOG_BYTES          (16u << 20) /* the verifier's log is written from its beginning, and its end is wanted */

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The verifier's last word: the line before "processed N insns". NULL when it has said nothing. */
static const char *verifier_reason(char *log)
{
	char *line, *rest = log, *reason = NULL;

	while ((line = strsep(&rest, "\n")))
		if (*line && strncmp(line, "processed ", 10) && strncmp(line, "verification time", 17))
			reason = line;
	return reason;
}

static int load_error(int err, char *log, struct diag *diag)
{
	const char *reason = log ? verifier_reason(log) : NULL;

	if (err == -EPERM) /* EACCES is the verifier's */
		return diag_fail(
			diag, EPERM, "sampler.permission",
			"loading the BPF programs is not permitted; run as root, or with CAP_BPF and CAP_PERFMON");
	return diag_fail(diag, -err, "sampler.load", "the kernel refused the BPF programs: %s%s%s", strerror(-err),
			 reason ? ": " : "", reason ? reason : "");
}

/* The forms of the sampler, best first. */
static const struct form {
	enum walk_strategy strategy;
	const void *(*bytes)(size_t *size);
	const char *needs; /* a kernel function, or NULL; such a form is never the last of its strategy */
} forms[] = {
	{WALK_STRATEGY_LOOP, sampler_resume_impl_bpf__elf_bytes, "bpf_task_work_schedule_resume_impl"},
	{WALK_STRATEGY_LOOP, sampler_resume_bpf__elf_bytes, "bpf_task_work_schedule_resume"},
	{WALK_STRATEGY_LOOP, sampler_bpf__elf_bytes, NULL},
	{WALK_STRATEGY_BOUNDED, sampler_bounded_bpf__elf_bytes, NULL},
};

static struct bpf_object *open_object(const struct form *form, char *log)
{
	/* At level 0 libbpf asks for the log only after a refusal. */
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log, .kernel_log_size = log ? LOG_BYTES : 0);
	const void *bytes;
	size_t size;

	bytes = form->bytes(&size);
	return bpf_object__open_mem(bytes, size, &options);
}

/* What is known only here: the machine's size, what is asked for, what the kernel can do. */
int programs_configure(struct bpf_object *object, const struct programs_options *options)
{
	const struct sampler_config config = {
		.watch_all = options->watch_all,
		.verify_every = options->verify_every,
		.walks = options->walks,
		.task_registers = feature_probe(FEATURE_TASK_REGISTERS),
		.cpus = (uint32_t)libbpf_num_possible_cpus(),
	};
	uint32_t ring = 1u << 20;
	bool growing = feature_probe(FEATURE_GROWING_MAPS);
	struct bpf_map *map;
	int err;

	while (ring < config.cpus * RING_BYTES_PER_CPU && ring < RING_BYTES_MAX)
		ring *= 2;
	bpf_object__for_each_map(
		map, object) if (!growing &&
				 bpf_map__set_map_flags(map, bpf_map__map_flags(map) &
								     ~(uint32_t)BPF_F_NO_PREALLOC)) return -EINVAL;
	err = bpf_map__set_initial_value(bpf_object__find_map_by_name(object, SAMPLER_CONFIG_SECTION), &config,
					 sizeof(config));
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "scratches"),
					       config.cpus + RESUME_SCRATCHES);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "ticks"), config.cpus);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "events"), ring);
	return err;
}

static int load_form(const struct form *form, const struct programs_options *options, char *log,
		     struct bpf_object **ret)
{
	struct bpf_object *object = open_object(form, log);
	int err = object ? programs_configure(object, options) : -errno;

	if (!err)
		err = bpf_object__load(object);
	if (err)
		bpf_object__close(object);
	else
		*ret = object;
	return err;
}

int programs_load(const struct programs_options *options, struct bpf_object **ret, struct diag *diag)
{
	enum walk_strategy strategy = options->strategy;
	char *log = calloc(1, LOG_BYTES); /* touched on failure only */
	int err = -ENOENT;
	size_t i;

	libbpf_set_print(quiet);
	if (strategy == WALK_STRATEGY_AUTO)
		strategy = feature_probe(FEATURE_BPF_LOOP) ? WALK_STRATEGY_LOOP : WALK_STRATEGY_BOUNDED;
	for (i = 0; err && i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].strategy != strategy || (forms[i].needs && !feature_kernel_function(forms[i].needs)))
			continue;
		/* A form that needs more than the last one is a bonus: where it does not load, the next one may. */
		err = load_form(&forms[i], options, log, ret);
	}
	if (err)
		err = load_error(err, log, diag);
	free(log);
	return err;
}

int programs_map(const struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}
