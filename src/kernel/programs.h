/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs: the sampler's BPF object in the form that this kernel supports (kernel/features.h): one source,
 * src/bpf/sampler.bpf.c, compiled once for each way of walking long stacks. Both give the same frames, to the same
 * depth.
 */
#ifndef STRATA_KERNEL_PROGRAMS_H
#define STRATA_KERNEL_PROGRAMS_H

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "base/diag.h"
#include "kernel/filters.h"

enum walk_strategy {
	WALK_STRATEGY_AUTO,    /* bpf_loop if the kernel has it */
	WALK_STRATEGY_LOOP,    /* bpf_loop */
	WALK_STRATEGY_BOUNDED, /* bounded loops of global functions */
};

struct programs_options {
	enum walk_strategy strategy;
	bool watch_all;
	unsigned int frequency;                     /* ticks a second of each CPU; 0: no clock */
	unsigned int verify_every;                  /* as in struct sampler_config */
	uint8_t walks;                              /* the same */
	uint32_t spares;                            /* the same */
	uint64_t sample_ns;                         /* the same */
	bool finds;                                 /* the same, where the kernel can */
	uint32_t off_cpu_rate;                      /* as in struct sampler_options */
	uint64_t namespace_device, namespace_inode; /* the same */
	const struct filter_rules *filters;         /* NULL: none */
	/*
	 * What is done with the object's maps while the verifier reads the programs, for some 60 ms; NULL: nothing. It
	 * returns 0 or a negative errno, which programs_load() returns. If the kernel refuses the programs, undo() is
	 * called, and meanwhile() again with the next form's object.
	 */
	int (*meanwhile)(void *context, struct bpf_object *object);
	void (*undo)(void *context);
	void *context;
};

/*
 * Loads the object; the caller closes it with bpf_object__close(). -EPERM: a capability is missing. The diagnosis of
 * what meanwhile() returned is meanwhile()'s.
 */
int programs_load(const struct programs_options *options, struct bpf_object **ret, struct diag *diag);

/* Sizes and settings of the maps of an object that contains the sampler, before it is loaded. 0 or a negative errno. */
int programs_configure(struct bpf_object *object, const struct programs_options *options);

/* Do such an object's programs find mappings by themselves (bpf/find.h)? Known once it is configured. */
bool programs_find(const struct bpf_object *object);

/* The descriptor of one of the object's maps. */
int programs_map(const struct bpf_object *object, const char *name);

#endif
