/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sources: files, lines and inlined functions of native frames, from the debug information of their objects. It is read
 * when a stack with such frames is first printed, and kept. Not thread-safe.
 */
#ifndef STRATA_TRACE_SOURCES_H
#define STRATA_TRACE_SOURCES_H

#include "dwarf/source.h"
#include "engine/objects.h"

/* libdw reads all of a file's debug information: of larger ones, in bytes, there are no lines. */
#define SOURCES_DEBUG_MAX (256u << 20)

struct sources;

/* Innermost first; the last is the function that has the symbol: see dwarf/source.h. */
struct source_place {
	size_t count;
	struct source_frame frames[];
};

/* `folders`: DIR:DIR where separate debug files are looked for first, borrowed, or NULL. NULL when memory is short. */
struct sources *sources_create(const char *folders);
void sources_destroy(struct sources *sources); /* may be NULL */
/* Forgets what was read, as there may be debug files now that there were not. May be NULL. */
void sources_forget(struct sources *sources);

/*
 * The source at an address of an object's file. NULL: nothing is known. It lives as long as `sources`; the object must
 * live as long, too.
 */
const struct source_place *sources_place(struct sources *sources, struct object *object, uint64_t vaddr);

#endif
