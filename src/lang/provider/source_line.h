/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_line: the attach point BINARY@FILE:LINE[:COLUMN], a statement of the source, found by the binary's line
 * tables.
 */
#ifndef STRATA_LANG_PROVIDER_SOURCE_LINE_H
#define STRATA_LANG_PROVIDER_SOURCE_LINE_H

#include "lang/core/compiler.h"
#include "lang/provider/provider.h"

struct source_line {
	const char *binary, *file;
	uint32_t line, column; /* column 0: any */
};

/*
 * Is this such an attach point? It is if a file and a line follow the last '@' of the second part, unless a binary has
 * that whole name.
 */
bool source_line_parse(struct compiler *c, const struct attach_text *point, struct source_line *ret);

/*
 * Adds the place of the statement in each file that the name of the binary means, or reports an error. False: the name
 * means no file; the caller reports that.
 */
bool source_line_expand(struct compiler *c, const struct provider *self, const struct attach_text *point,
			const struct source_line *at);

#endif
