// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/config.h"
#include "base/vec.h"
#include "kernel/core_types.h"
#include "kernel/features.h"
#include "kernel/kernel_btf.h"
#include "kernel/load_iterators.h"
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
	if (err == -EFBIG) { /* of core_types, never of the kernel */
		diag_fail(diag, EFBIG, "sampler.file", "the BPF programs need larger files in memory");
		diag_add_limits(diag, EFBIG);
		return err;
	}
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
	uint32_t number = kernel_btf_function(k, "bpf_task_work_schedule_resume");

	return number ? number : kernel_btf_function(k, "bpf_task_work_schedule_resume_impl");
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
		.cgroups = options->cgroups,
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
		/* A waker may come in the middle of any of them. */
		config.wakers_first = options->wakers ? scratches : 0;
		scratches += options->wakers ? config.cpus : 0;
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
	return err ? err : off_cpu_configure(object, config.cpus, options->off_cpu_rate, options->wakers);
}

/* Scratches for walks in task context: a thread has one until its walk is done, whoever runs meanwhile. 1.7 MB each. */
static uint32_t spares_for(const struct form *form)
{
	return form->resumes ? 4 + (uint32_t)libbpf_num_possible_cpus() / 8 : 0;
}

/* libbpf closes an object's maps when the kernel refuses its programs: these descriptors are ours. */
struct kept_map {
	char *name;
	int fd;
};

struct programs {
	struct programs_options options;
	struct kernel_facts facts;
	enum walk_strategy strategy;
	char *log; /* of the last refusal; NULL: no memory for it, or no need any more */
	char refused[160]; /* why a form was refused that another one stands in for; "": none was */
	size_t form;
	bool finds; /* this attempt's */
	struct bpf_object *object;
	bool borrowed; /* the object is somebody else's */
	VEC(struct kept_map) maps;
	pthread_t thread; /* that loads */
	bool is_apart;    /* there is that thread */
	bool is_loaded;   /* tried, with this result: */
	int err;
};

int programs_map(const struct programs *programs, const char *name)
{
	size_t i;

	for (i = 0; i < programs->maps.count; i++)
		if (!strcmp(programs->maps.at[i].name, name))
			return programs->maps.at[i].fd;
	return -ENOENT;
}

/* Keeps those maps that the object has, and is not known to have. 0 or -ENOMEM, -EMFILE. */
static int keep_maps(struct programs *programs)
{
	struct bpf_map *map;

	for (map = bpf_object__next_map(programs->object, NULL); map;
	     map = bpf_object__next_map(programs->object, map)) {
		struct kept_map kept = {};

		if (bpf_map__fd(map) < 0 || programs_map(programs, bpf_map__name(map)) >= 0)
			continue;
		kept.fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3);
		if (kept.fd < 0)
			return -errno;
		kept.name = strdup(bpf_map__name(map));
		if (!kept.name || vec_push(&programs->maps, kept)) {
			close(kept.fd);
			free(kept.name);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The maps of a refused object stay, with what is in them. */
static int take_maps(const struct programs *programs, struct bpf_object *object)
{
	struct bpf_map *map;
	int err = 0, fd;

	for (map = bpf_object__next_map(object, NULL); map && !err; map = bpf_object__next_map(object, map)) {
		fd = programs_map(programs, bpf_map__name(map));
		if (fd >= 0)
			err = bpf_map__reuse_fd(map, fd);
	}
	return err;
}

static int open_form(struct programs *programs)
{
	const struct form *form = &forms[programs->form];
	struct programs_options options = programs->options;
	struct bpf_object *object;
	char path[64];
	int err;

	options.finds = programs->finds;
	options.spares = spares_for(form);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", programs->facts.types);
	object = open_object(form, programs->facts.resume_function, programs->facts.types < 0 ? NULL : path,
			     programs->log);
	err = object ? programs_configure(object, &options) : -errno;
	if (!err)
		err = take_maps(programs, object);
	if (!err)
		err = object_maps_create(object);
	programs->object = object;
	if (!err)
		err = keep_maps(programs);
	if (err) {
		bpf_object__close(object);
		programs->object = NULL;
	}
	return err;
}

/* What needs more than the last form is a bonus: where it is refused, the next one may do. False: there is none. */
static bool next_form(struct programs *programs, bool is_first)
{
	bool finds = programs->options.finds && programs->facts.can_find;

	if (!is_first && programs->finds) {
		programs->finds = false;
		return true;
	}
	for (programs->form += !is_first; programs->form < sizeof(forms) / sizeof(forms[0]); programs->form++) {
		const struct form *form = &forms[programs->form];

		programs->finds = finds;
		if (form->strategy == programs->strategy && (!form->resumes || programs->facts.resume_function))
			return true;
	}
	return false;
}

static void forget_what_loading_needs(struct programs *programs)
{
	if (programs->facts.types >= 0)
		close(programs->facts.types);
	programs->facts.types = -1;
	free(programs->log);
	programs->log = NULL;
}

int programs_open(const struct programs_options *options, struct programs **ret, struct diag *diag)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	bool has_form;
	int err;

	if (!programs)
		return load_error(-ENOMEM, NULL, diag);
	programs->options = *options;
	programs->log = calloc(1, LOAD_LOG_BYTES); /* touched on failure only */
	load_log_silence();
	load_patiently();
	load_iterators();
	programs->strategy = options->strategy;
	if (programs->strategy == WALK_STRATEGY_AUTO)
		programs->strategy =
			feature_probe(FEATURE_BPF_LOOP) ? WALK_STRATEGY_LOOP : WALK_STRATEGY_BOUNDED;
	programs->facts = learn_facts(programs->strategy);
	err = programs->facts.types == -EFBIG ? -EFBIG : -ENOENT;
	has_form = err != -EFBIG && next_form(programs, true);
	for (; err && has_form; has_form = err && next_form(programs, false))
		err = open_form(programs);
	if (err) {
		err = load_error(err, programs->log, diag);
		programs_close(programs);
		return err;
	}
	*ret = programs;
	return 0;
}

int programs_adopt(struct bpf_object *object, struct programs **ret)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	int err;

	if (!programs)
		return -ENOMEM;
	programs->object = object;
	programs->borrowed = true;
	programs->facts.types = -1;
	err = keep_maps(programs);
	if (err)
		programs_close(programs);
	else
		*ret = programs;
	return err;
}

static void *load(void *context)
{
	struct programs *programs = context;

	programs->err = bpf_object__load(programs->object);
	return NULL;
}

void programs_load_apart(struct programs *programs)
{
	programs->is_apart = !pthread_create(&programs->thread, NULL, load, programs);
}

/* Ends the attempt, in its thread or here. */
static void finish_load(struct programs *programs)
{
	if (programs->is_apart)
		pthread_join(programs->thread, NULL);
	else
		load(programs);
	programs->is_apart = false;
}

/* The first refusal is of the best form. */
static void note_refusal(struct programs *programs)
{
	const char *reason = programs->log ? load_log_reason(programs->log) : NULL;

	if (!*programs->refused)
		snprintf(programs->refused, sizeof(programs->refused), "%s",
			 reason ? reason : strerror(-programs->err));
}

const char *programs_refused(const struct programs *programs)
{
	return programs->is_loaded && !programs->err && *programs->refused ? programs->refused : NULL;
}

int programs_load(struct programs *programs, struct diag *diag)
{
	if (!programs->is_loaded)
		finish_load(programs);
	while (!programs->is_loaded && programs->err && next_form(programs, false)) {
		note_refusal(programs);
		bpf_object__close(programs->object);
		programs->err = open_form(programs);
		if (!programs->err)
			load(programs);
	}
	programs->is_loaded = true;
	if (programs->err)
		return load_error(programs->err, programs->log, diag);
	forget_what_loading_needs(programs);
	return 0;
}

struct bpf_object *programs_object(const struct programs *programs)
{
	return programs->object;
}

void programs_close(struct programs *programs)
{
	size_t i;

	if (!programs)
		return;
	if (programs->is_apart)
		pthread_join(programs->thread, NULL);
	forget_what_loading_needs(programs);
	for (i = 0; i < programs->maps.count; i++) {
		close(programs->maps.at[i].fd);
		free(programs->maps.at[i].name);
	}
	vec_free(&programs->maps);
	if (!programs->borrowed)
		bpf_object__close(programs->object);
	free(programs);
}

bool programs_find(const struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, SAMPLER_CONFIG_SECTION);
	size_t size = 0;
	const struct sampler_config *config = map ? bpf_map__initial_value((struct bpf_map *)map, &size) : NULL;

	return config && size == sizeof(*config) && config->finds;
}
