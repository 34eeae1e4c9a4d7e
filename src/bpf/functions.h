/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: sends the functions of a second stack's frames to user space, each once. Defined by the sampler
 * (bpf/send.h), or on the host by the file that includes a walk.
 */
#ifndef STRATA_BPF_FUNCTIONS_H
#define STRATA_BPF_FUNCTIONS_H

#include "bpf/scratch.h"
#include "bpf/shim.h"

/* Does user space already have the function with this id? */
static int code_known(struct scratch *s, __u64 id);

/* Sends s->code: its text, and behind it this many bytes of its line table. */
static void code_send(struct scratch *s, __u32 table_bytes);

#endif
