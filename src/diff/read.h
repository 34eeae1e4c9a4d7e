/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read: reads a recording from a file: pprof's format (gzip or plain) or folded stacks, by any program.
 *
 * The content says which format it is. Files are hostile: each byte goes through a cursor. Limits in bytes and in
 * frames keep memory and time bounded. A file beyond them is refused, not cut: a part of a recording would look like a
 * difference. Errors, with a diag: -EINVAL (no recording, or damaged), -EFBIG, -ENOMEM, or the errno of reading.
 *
 * The layer of a frame: the kernel's if it has the mapping `[kernel.kallsyms]` or the text ` [k]`; a runtime's if it
 * has a line; a mark if it is in brackets; else native. So the same recording in both formats gives the same frames.
 * Threads are not told apart.
 *
 * Of waits that have one stack the files tell the number and the time of all: they are taken to last equally long. Of
 * folded stacks they tell the time only: then it is one wait, which is cautious. Such stacks are known by frames
 * `[waiting: `.
 */
#ifndef STRATA_DIFF_READ_H
#define STRATA_DIFF_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "profile/profile.h"

#define READ_BYTES_MAX  (256u << 20) /* of a file, and unpacked */
#define READ_FRAMES_MAX (64u << 20)  /* of all samples together */
#define READ_DEPTH_MAX  65536        /* of one stack */

/* Which side of a comparison the samples are counted for. */
enum read_side { READ_BEFORE, READ_AFTER };

/* What the samples of a recording are. Times are of `strata record --off-cpu`, --wall and --gil, in microseconds. */
enum read_kind { READ_SAMPLES, READ_OFF_CPU, READ_WALL, READ_TIMES /* either, which folded stacks do not tell */ };

struct recording {
	enum read_kind kind;
	uint64_t samples;      /* or microseconds */
	double squares;        /* of times: the sum of squares of what each wait lasted, as profile_sample.squares */
	double duration_s; /* 0: not known */
	double period_ns;  /* what one sample stands for; 0: not known */
	double start_time; /* seconds since the epoch; 0: not known */
	char command[256]; /* "": not known */
};

/* Adds a file's samples to `profile`: to profile_sample.before or .count. *ret is filled on success. */
int read_file(const char *path, enum read_side side, struct profile *profile, struct recording *ret, struct diag *diag);
/* The same with bytes. */
int read_bytes(const uint8_t *bytes, size_t size, enum read_side side, struct profile *profile, struct recording *ret,
	       struct diag *diag);

#endif
