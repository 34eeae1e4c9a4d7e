// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/config.h"
#include "kernel/core_types.h"
#include "kernel/features.h"
#include "kernel/kernel_btf.h"
#include "kernel/load_log.h"
#include "kernel/load_patience.h"
#include "kernel/object_maps.h"
#include "kernel/off_cpu.h"
#include "sampler.skel.h"
#include "sampler_bounded.skel.h"
#include "sampler_resume.skel.h"

#define RING_BYTES_PER_CPU  (2u << 20)
#define RING_BYTES_PER_TICK 2048u /* of a second: 1/4 s of stacks that are new each time, 1,000 frames deep */
#define RING_BYTES_MAX      (64u << 20)
#define KERNEL_TYPES        "/sys/kernel/btf/vmlinux"

static int load_error(int err, char *log, struct diag *diag)
{
	const char *reason = log ? load_log_reason(log) : NULL;

	if (err == -EPERM) /* EACCES is the verifier's */
		return diag_fail(
			diag, EPERM, "sampler.permission",
			"loading the BPF programs is not permitted; run as root, or with CAP_BPF and CAP_PERFMON");
	/* libbpf's word for kernel types that it could not read, be it for want of memory. */
	if (err == -ENOMEM || (err == -ESRCH && !access(KERNEL_TYPES, R_OK)))
		return diag_fail(diag, ENOMEM, "sampler.memory",
				 "no memory to load the BPF programs: give strata more (ulimit -v)");
	return diag_fail(diag, -err, "sampler.load", "the kernel refused the BPF programs: %s%s%s", strerror(-err),
			 reason ? ": " : "", reason ? reason : "");
}

/* The forms of the sampler, best first. */
static const struct form {
	enum walk_strategy strategy;
	const void *(*bytes)(size_t *size);
	bool resumes; /* needs the kernel's function; such a form is never the last of its strategy */
} forms[] = {
	{WALK_STRATEGY_LOOP, sampler_resume_bpf__elf_bytes, true},
	{WALK_STRATEGY_LOOP, sampler_bpf__elf_bytes, false},
	{WALK_STRATEGY_BOUNDED, sampler_bounded_bpf__elf_bytes, false},
};

/* What the forms need to know of the kernel's types. */
struct kernel_facts {
	int types;                /* core_types; negative: libbpf is to look for itself */
	bool can_find;            /* core_types_can_find() */
	uint32_t resume_function; /* the number of the function of bpf/resume.h; 0: this kernel has none */
};

static uint32_t find_resume_function(const struct kernel_btf *k)
{
	uint32_t number = kernel_btf_function(k, "bpf_task_work_schedule_resume_impl");

	return number ? number : kernel_btf_function(k, "bpf_task_work_schedule_resume");
}

/* The kernel's types are some megabytes: they are read once, and each is looked for only if something needs it. */
static struct kernel_facts learn_facts(enum walk_strategy strategy)
{
	struct kernel_facts facts = {.types = -1};
	struct kernel_btf k;
	size_t i;

	if (kernel_btf_open(&k))
		return facts;
	facts.types = core_types_write(&k);
	facts.can_find = facts.types >= 0 && strategy == WALK_STRATEGY_LOOP && core_types_can_find(&k);
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].strategy == strategy && forms[i].resumes)
			facts.resume_function = find_resume_function(&k);
	kernel_btf_close(&k);
	return facts;
}

/* Has the calls of RESUME_FUNCTION in an object's bytes call the function with this number. How many there were. */
static size_t name_resume_function(void *bytes, size_t size, uint32_t number)
{
	const struct bpf_insn wanted = {
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = RESUME_FUNCTION};
	struct bpf_insn *at;
	size_t count = 0;

	for (; (at = memmem(bytes, size, &wanted, sizeof(wanted))); count++)
		memcpy(&at->imm, &number, sizeof(number));
	return count;
}

static struct bpf_object *open_object(const struct form *form, uint32_t resume_function, const char *types, char *log)
{
	/* At level 0 libbpf asks for the log only after a refusal. */
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log, .kernel_log_size = log ? LOAD_LOG_BYTES : 0,
		    .btf_custom_path = types);
	struct bpf_object *object = NULL;
	const void *bytes;
	void *copy;
	size_t size;

	bytes = form->bytes(&size);
	if (!form->resumes)
		return bpf_object__open_mem(bytes, size, &options);
	copy = malloc(size);
	if (copy)
		memcpy(copy, bytes, size);
	errno = copy ? EINVAL : ENOMEM;
	if (copy && name_resume_function(copy, size, resume_function))
		object = bpf_object__open_mem(copy, size, &options);
	free(copy);
	return object;
}

/* A power of two, as the kernel wants it. */
static uint32_t ring_bytes(uint32_t cpus, unsigned int frequency)
{
	uint64_t ticks = (uint64_t)cpus * frequency * RING_BYTES_PER_TICK, least = (uint64_t)cpus * RING_BYTES_PER_CPU;
	uint32_t bytes = 1u << 20;

	while (bytes < (ticks > least ? ticks : least) && bytes < RING_BYTES_MAX)
		bytes *= 2;
	return bytes;
}

static uint32_t waits_in_slot(uint32_t rate)
{
	uint64_t waits = rate * OFF_CPU_SLOT_NS / 1000000000;

	return waits ? (uint32_t)waits : 1;
}

/* What is known only here: the machine's size, what is asked for, what the kernel can do. */
int programs_configure(struct bpf_object *object, const struct programs_options *options)
{
	struct sampler_config config = {
		.watch_all = options->watch_all,
		.verify_every = options->verify_every,
		.walks = options->walks,
		.namespace_device = options->namespace_device,
		.namespace_inode = options->namespace_inode,
		.task_registers = feature_probe(FEATURE_TASK_REGISTERS),
		.finds = options->finds,
		.cpus = (uint32_t)libbpf_num_possible_cpus(),
		.spares = options->spares,
		.sample_ns = options->sample_ns,
	};
	bool growing = feature_probe(FEATURE_GROWING_MAPS);
	uint32_t scratches = config.cpus + config.spares;
	struct bpf_map *ticks = bpf_object__find_map_by_name(object, "ticks"); /* the sampler's */
	struct bpf_map *map;
	int err;

	if (options->off_cpu_rate) {
		config.off_cpu_taken = waits_in_slot(options->off_cpu_rate);
		/* A tick may come in the middle of such a walk. */
		config.off_cpu_first = options->frequency ? scratches : 0;
		scratches += options->frequency ? config.cpus : 0;
	}

	bpf_object__for_each_map(
		map, object) if (!growing &&
				 bpf_map__set_map_flags(map, bpf_map__map_flags(map) &
								     ~(uint32_t)BPF_F_NO_PREALLOC)) return -EINVAL;
	err = filters_configure(object, options->filters, &config);
	if (!err)
		err = bpf_map__set_initial_value(bpf_object__find_map_by_name(object, SAMPLER_CONFIG_SECTION), &config,
						 sizeof(config));
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "scratches"), scratches);
	if (!err && ticks)
		err = bpf_map__set_max_entries(ticks, config.cpus);
	if (!err)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "events"),
					       ring_bytes(config.cpus, options->frequency + options->off_cpu_rate));
	return err ? err : off_cpu_configure(object, config.cpus, options->off_cpu_rate);
}

/* Scratches for walks in task context: a thread has one until its walk is done, whoever runs meanwhile. 1.7 MB each. */
static uint32_t spares_for(const struct form *form)
{
	return form->resumes ? 4 + (uint32_t)libbpf_num_possible_cpus() / 8 : 0;
}

/* One form that is loaded, in a thread of its own if there is something to do meanwhile. */
struct load {
	struct bpf_object *object;
	int err;
};

static void *load_object(void *context)
{
	struct load *load = context;

	load->err = bpf_object__load(load->object);
	return NULL;
}

/* *refused: it was the kernel that refused it, so that another form may do. */
static int load_beside(const struct programs_options *options, struct bpf_object *object, bool *refused)
{
	struct load load = {.object = object};
	bool is_apart;
	pthread_t thread;
	int err;

	err = object_maps_create(object);
	*refused = err;
	if (err)
		return err;
	is_apart = options->meanwhile && !pthread_create(&thread, NULL, load_object, &load);
	err = options->meanwhile ? options->meanwhile(options->context, object) : 0;
	if (is_apart)
		pthread_join(thread, NULL);
	else
		load_object(&load);
	*refused = load.err;
	if ((load.err || err) && options->meanwhile)
		options->undo(options->context);
	return load.err ? load.err : err;
}

static int load_form(const struct form *form, const struct programs_options *options, const struct kernel_facts *facts,
		     char *log, struct bpf_object **ret, bool *refused)
{
	struct programs_options own = *options;
	struct bpf_object *object;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", facts->types);
	object = open_object(form, facts->resume_function, facts->types < 0 ? NULL : path, log);
	own.spares = spares_for(form);
	err = object ? programs_configure(object, &own) : -errno;
	*refused = err;
	if (!err)
		err = load_beside(options, object, refused);
	if (err)
		bpf_object__close(object);
	else
		*ret = object;
	return err;
}

int programs_load(const struct programs_options *options, struct bpf_object **ret, struct diag *diag)
{
	enum walk_strategy strategy = options->strategy;
	char *log = calloc(1, LOAD_LOG_BYTES); /* touched on failure only */
	struct kernel_facts facts;
	struct programs_options tried = *options;
	bool refused = true;
	int err = -ENOENT;
	size_t i;

	load_log_silence();
	load_patiently();
	if (strategy == WALK_STRATEGY_AUTO)
		strategy = feature_probe(FEATURE_BPF_LOOP) ? WALK_STRATEGY_LOOP : WALK_STRATEGY_BOUNDED;
	facts = learn_facts(strategy);
	for (i = 0; err && refused && i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].strategy != strategy || (forms[i].resumes && !facts.resume_function))
			continue;
		/* What needs more than the last one is a bonus: where it does not load, the next one may. */
		tried.finds = options->finds && facts.can_find;
		err = load_form(&forms[i], &tried, &facts, log, ret, &refused);
		if (err && refused && tried.finds) {
			tried.finds = false;
			err = load_form(&forms[i], &tried, &facts, log, ret, &refused);
		}
	}
	if (err && refused)
		err = load_error(err, log, diag);
	if (facts.types >= 0)
		close(facts.types);
	free(log);
	return err;
}

bool programs_find(const struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, SAMPLER_CONFIG_SECTION);
	size_t size = 0;
	const struct sampler_config *config = map ? bpf_map__initial_value((struct bpf_map *)map, &size) : NULL;

	return config && size == sizeof(*config) && config->finds;
}

int programs_map(const struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}
