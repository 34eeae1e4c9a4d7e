// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler for kernels with bpf_task_work_schedule_resume(): see bpf/resume.h. */
#define RESUME_KFUNC bpf_task_work_schedule_resume
#include "bpf/sampler.bpf.c"
