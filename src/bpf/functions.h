/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: what the frames of a second stack are of, sent once each. Given by the sampler (bpf/send.h), or on the
 * host by who includes a walk.
 */
#ifndef STRATA_BPF_FUNCTIONS_H
#define STRATA_BPF_FUNCTIONS_H

#include "bpf/scratch.h"
#include "bpf/shim.h"

/* Does user space have the function of an id? */
static int code_known(struct scratch *s, __u64 id);

/* Sends s->code, with so many bytes of its table. */
static void code_send(struct scratch *s, __u32 table_bytes);

#endif
