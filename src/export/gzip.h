/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip: a stream that compresses what is written to it, into another stream. For src/export only. */
#ifndef STRATA_EXPORT_GZIP_H
#define STRATA_EXPORT_GZIP_H

#include <stdio.h>

/* fclose() writes what is left and leaves `out` open: its errors are those of `out`. NULL when memory is short. */
FILE *export_gzip(FILE *out);

#endif
