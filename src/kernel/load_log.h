/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_log: what the verifier says about programs that the kernel refuses to load. */
#ifndef STRATA_KERNEL_LOAD_LOG_H
#define STRATA_KERNEL_LOAD_LOG_H

/*
 * Size of the log. The kernel writes it from the beginning, and the last lines matter; untouched memory costs nothing.
 */
#define LOAD_LOG_BYTES (16u << 20)

/* The verifier's reason: the line before "processed N insns". Modifies the log. NULL: there is none. */
const char *load_log_reason(char *log);

/* Stops libbpf from writing to stderr. */
void load_log_silence(void);

#endif
