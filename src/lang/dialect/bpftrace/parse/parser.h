/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parser: a script in bpftrace's language to the AST. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_PARSER_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_PARSER_H

#include "lang/dialect/bpftrace/ast.h"
#include "lang/core/types.h"

struct parser_options {
	const char *const *parameters; /* $1 and following, also in attach points */
	uint32_t parameter_count;
	const char *path; /* of the script, whose folder imports are relative to; NULL: the working directory */
	const char *const *include_folders; /* where headers are looked for, before those of the system */
	uint32_t include_folder_count;
	const char *const *includes; /* headers that are read before the script */
	uint32_t include_count;
	bool may_be_empty; /* a script without probes cannot be run, but other scripts may import it */
};

/*
 * Parses the report's source. Complaints go to the report; the script is to be used only when it has no errors. C
 * declarations go to `types`.
 */
void bpftrace_parse(struct report *report, const struct parser_options *options, struct types *types,
		    struct script *ret);

#endif
