/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_functions: the functions of the BPF programs in the kernel. Only those with BTF: without it nothing can be
 * attached to them. Needs CAP_SYS_ADMIN.
 */
#ifndef STRATA_LANG_KERNEL_BPF_FUNCTIONS_H
#define STRATA_LANG_KERNEL_BPF_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct bpf_functions;

struct bpf_function {
	uint32_t program; /* its id */
	const char *name; /* of the function: a program has one, and may have more */
	uint64_t address; /* of its machine code; 0: the kernel hides it */
	uint32_t parameter_count;
	bool has_result;
	bool is_tracing; /* of a tracing program, or of one that replaces functions: most of these cannot be traced */
};

/* Reads all of them, as they are now. A negative errno with a diag when the kernel does not show its programs. */
int bpf_functions_create(struct bpf_functions **ret, struct diag *diag);
void bpf_functions_destroy(struct bpf_functions *functions);

/* In the order of the programs' ids; NULL behind the last. */
const struct bpf_function *bpf_functions_at(const struct bpf_functions *functions, uint32_t index);

/*
 * A descriptor of a program, which keeps it in the kernel as long as `functions` lives. A negative errno: it is gone.
 */
int bpf_functions_hold(struct bpf_functions *functions, uint32_t program);

#endif
