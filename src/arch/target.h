/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target: which machine the walkers and BPF programs are compiled for: ARCH_X86_64 or ARCH_AARCH64. The compiler says
 * which, for BPF by __TARGET_ARCH_*. Or the file that includes the walkers does, to walk another machine's stacks on
 * this one (tests).
 */
#ifndef STRATA_ARCH_TARGET_H
#define STRATA_ARCH_TARGET_H

#if !defined(ARCH_X86_64) && !defined(ARCH_AARCH64)
#if defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#define ARCH_AARCH64
#elif defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))
#define ARCH_X86_64
#else
#error "strata does not know this machine"
#endif
#endif

#endif
