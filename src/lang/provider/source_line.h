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
 * Is this such an attach point? It is one where the last '@' of the second part stands before a file and a line, unless
 * there is a binary of that name.
 */
bool source_line_parse(struct compiler *c, const struct attach_text *point, struct source_line *ret);

/*
 * Adds the statement's place in each file that the name of the binary means, or complains. False: the name means none,
 * which is left to the caller to say.
 */
bool source_line_expand(struct compiler *c, const struct provider *self, const struct attach_text *point,
			const struct source_line *at);

#endif
