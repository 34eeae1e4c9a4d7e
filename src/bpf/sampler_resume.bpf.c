// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler for kernels with task work for BPF: see bpf/resume.h. */
#define SAMPLER_RESUMES
#include "bpf/sampler.bpf.c"
