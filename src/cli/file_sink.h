/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_sink: writes a profile to a file (cli/output.h), in a format of export/ or as the figures of --stats. The flush
 * writes the whole file, from the last profile that was taken. If it cannot be written where it was wanted, it is
 * written elsewhere, and the diag says where.
 */
#ifndef STRATA_CLI_FILE_SINK_H
#define STRATA_CLI_FILE_SINK_H

#include "export/export.h"
#include "export/sink.h"

/* `path` and `exporter` are borrowed; no exporter: the figures. NULL when memory is short. */
struct sink *file_sink_open(const char *path, const struct exporter *exporter, const struct export_options *options);

#endif
