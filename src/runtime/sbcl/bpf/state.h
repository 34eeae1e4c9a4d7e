/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: steps out of SBCL's code keep nothing. Part of bpf/scratch.h, which includes it. */
#ifndef STRATA_RUNTIME_SBCL_BPF_STATE_H
#define STRATA_RUNTIME_SBCL_BPF_STATE_H

struct sbcl_steps {
};

#endif
