/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver: names of addresses in one object: from its symbols, from its process's perf map for generated code, else
 * the start of the function. Also what a function means to the merge with a second stack. Not thread-safe.
 */
#ifndef STRATA_ENGINE_RESOLVER_H
#define STRATA_ENGINE_RESOLVER_H

#include "profile/frames.h"
#include "engine/merge.h"
#include "engine/namer.h"
#include "symbol/perf_map.h"

struct resolver {
	struct object *object;
	struct perf_map *map;    /* borrowed; NULL: there is none */
	bool is_asked;           /* the map was, for `names` */
	struct file_lines lines; /* of these addresses, if they are wanted */
	struct file_names names; /* of the addresses that it was opened for; or, if it was for all: */
	struct elf_symbols *symbols;
	struct function_starts *starts; /* opened for the first address without a symbol */
	bool unknown;                   /* the starts of functions cannot be found (any more) */
	int err;                        /* -ENOMEM: the reason for that */
};

/* The name of an address. Its strings live as long as it and its resolver. */
struct resolved {
	enum frame_layer layer; /* FRAME_NATIVE, or FRAME_MARK when nothing is known */
	const char *name;       /* demangled; "0x…", the function's start, without a symbol */
	const char *file;       /* the module's basename, or "perf-PID.map" */
	bool has_symbol;
	uint64_t start; /* vaddr of the function; the address itself if that is not known */
	uint64_t size;  /* of the symbol; 0: not known */
	char *owned;
	char text[48], map[32];
};

/*
 * Opens a resolver for some vaddrs of an object, which are sorted; or for all if `vaddrs` is NULL: then its file is
 * parsed here, and `namer` may be NULL. 0, or -ENOMEM with *ret as after resolver_close().
 */
int resolver_open(struct resolver *ret, struct namer *namer, struct object *object, struct perf_map *map,
		  uint64_t *vaddrs, size_t count);
/* Reads the lines of these addresses, too. 0 or -ENOMEM. */
int resolver_open_lines(struct resolver *resolver, struct namer *namer, uint64_t *vaddrs, size_t count);
void resolver_close(struct resolver *resolver);

/*
 * Names a vaddr; a return address belongs to the instruction before it. -ENOMEM, with *ret released, if there was no
 * memory for its name; the next one may succeed.
 */
int resolver_name(struct resolver *resolver, uint64_t vaddr, bool is_return, struct resolved *ret);
void resolved_release(struct resolved *resolved);

/*
 * The source line of a vaddr, and the functions that were inlined there: as debug_info_source(), with names for people.
 * 0: not known.
 */
size_t resolver_lines(const struct resolver *resolver, uint64_t vaddr, bool is_return,
		      struct source_frame ret[SOURCE_FRAMES_MAX]);

/* What runs at a vaddr, as the merge sees it. object_find_roles() was called. */
enum runtime_role resolver_role(const struct resolver *resolver, uint64_t vaddr, bool is_return);

#endif
