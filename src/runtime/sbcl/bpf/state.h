/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: SBCL's steps keep no state. Part of bpf/scratch.h, which includes it. */
#ifndef STRATA_RUNTIME_SBCL_BPF_STATE_H
#define STRATA_RUNTIME_SBCL_BPF_STATE_H

struct sbcl_steps {
};

#endif
