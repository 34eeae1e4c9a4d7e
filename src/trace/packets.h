/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packets: writes what skboutput() sends to PCAP files of raw IP. It arrives through perf buffers, one for each CPU.
 * Not thread-safe.
 */
#ifndef STRATA_TRACE_PACKETS_H
#define STRATA_TRACE_PACKETS_H

#include <bpf/libbpf.h>
#include <stdint.h>

#include "base/diag.h"
#include "lang/core/compiler.h"

struct packets;

/* Before the object is loaded: a buffer for each CPU. */
int packets_configure(struct bpf_object *object, struct diag *diag);

/* When it is loaded. Makes the files. `boot_time`: of the machine, in nanoseconds since 1970. */
int packets_create(const struct bpf_object *object, const struct compiler *compiler, int64_t boot_time,
		   struct packets **ret, struct diag *diag);
/* Closes the files. NULL is allowed. */
void packets_destroy(struct packets *packets);

/* To be polled. */
int packets_fd(const struct packets *packets);
/* Writes what has arrived. */
void packets_drain(struct packets *packets);
/* How many packets were lost because a buffer was full, or a file could not be written. */
uint64_t packets_lost(const struct packets *packets);

#endif
