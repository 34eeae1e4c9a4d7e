/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources: files, lines and inlined functions of native frames, out of the debug information of their objects, which is
 * read when a stack of theirs is first printed, and kept. Not thread-safe.
 */
#ifndef STRATA_TRACE_SOURCES_H
#define STRATA_TRACE_SOURCES_H

#include "dwarf/source.h"
#include "engine/objects.h"

struct sources;

/* Innermost first; the last is the function that has the symbol: see dwarf/source.h. */
struct source_place {
	size_t count;
	struct source_frame frames[];
};

/* `folders`: DIR:DIR where separate debug files are looked for first, borrowed, or NULL. NULL when memory is short. */
struct sources *sources_create(const char *folders);
void sources_destroy(struct sources *sources); /* may be NULL */

/*
 * What is executed at an address of an object's file. NULL: nothing is known. Lives as long as `sources`, and the
 * object must as well.
 */
const struct source_place *sources_place(struct sources *sources, struct object *object, uint64_t vaddr);

#endif
