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
	bool wakers;                                /* the same */
	bool cgroups;                               /* the same */
	uint64_t namespace_device, namespace_inode; /* the same */
	const struct filter_rules *filters;         /* NULL: none */
};

struct programs;

/*
 * Opens the object and makes its maps, which may be filled from now on; the programs are not loaded yet. What the
 * options point to stays there until they are.
 */
int programs_open(const struct programs_options *options, struct programs **ret, struct diag *diag);

/* Begins to load the programs, in a thread of its own: the verifier takes some 60 ms. Without threads: nothing. */
void programs_load_apart(struct programs *programs);

/*
 * Loads the programs, or waits until they are loaded. -EPERM: a capability is missing. Where the kernel refuses them,
 * it gets the next form, with the same maps: programs_object() is another object then. A second call has the same
 * result.
 */
int programs_load(struct programs *programs, struct diag *diag);

/*
 * Why the kernel refused the form that should have been the best here, one line; NULL: it did not. That is nothing but
 * a mistake in the program, or in what is believed of this kernel. Valid as long as `programs`.
 */
const char *programs_refused(const struct programs *programs);

/* As programs_open() for somebody else's object, which that one loads. Its maps exist. 0 or a negative errno. */
int programs_adopt(struct bpf_object *object, struct programs **ret);

/* The object; owned by `programs`, unless it was adopted. NULL once no form could be loaded. */
struct bpf_object *programs_object(const struct programs *programs);

/* The descriptor of one of the maps that there were before the programs were loaded; valid until programs_close(). */
int programs_map(const struct programs *programs, const char *name);

void programs_close(struct programs *programs);

/* Sizes and settings of the maps of an object that contains the sampler, before it is loaded. 0 or a negative errno. */
int programs_configure(struct bpf_object *object, const struct programs_options *options);

/* Do such an object's programs find mappings by themselves (bpf/find.h)? Known once it is configured. */
bool programs_find(const struct bpf_object *object);

#endif
