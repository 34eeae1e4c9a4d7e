/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_log: what the verifier says of programs that the kernel does not load. */
#ifndef STRATA_KERNEL_LOAD_LOG_H
#define STRATA_KERNEL_LOAD_LOG_H

/* Room for a log. It is written from its beginning, and its end is wanted; untouched memory costs nothing. */
#define LOAD_LOG_BYTES (16u << 20)

/* The verifier's last word: the line before "processed N insns", out of a log that is cut up. NULL: it said nothing. */
const char *load_log_reason(char *log);

/* libbpf writes nothing to stderr from now on. */
void load_log_silence(void);

#endif
