/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpftrace --info, for who calls strata by that name: what the kernel and this build can do. Takes some 0.1 s. */
#ifndef STRATA_CLI_BPFTRACE_INFO_H
#define STRATA_CLI_BPFTRACE_INFO_H

#include <stdio.h>

void bpftrace_info(FILE *out);

#endif
