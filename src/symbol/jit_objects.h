/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_objects: what a process publishes about the code that it generates, through GDB's JIT interface (GDB's manual,
 * "JIT Compilation Interface", Registering Code):
 *
 *   __jit_debug_descriptor   version u32 = 1 · action u32 · relevant entry · first entry
 *   entry                    next · previous · address of an object · its size, u64 each
 *   object                   an ELF file in memory: symbols, .eh_frame or .debug_frame
 *
 * In a relocatable object (LLVM) section addresses say where sections were loaded: symbols count from there, and
 * .eh_frame is read there, as the object's own is not relocated. Others (QEMU) have addresses as they are.
 *
 * All of it is memory of a process that runs on while it is read, so it is hostile. The numbers of entries, objects and
 * stored bytes are bounded, and a cyclic list ends where it repeats. Invalid entries are ignored. Not thread-safe.
 */
#ifndef STRATA_SYMBOL_JIT_OBJECTS_H
#define STRATA_SYMBOL_JIT_OBJECTS_H

#include "proc/memory.h"
#include "symbol/perf_map.h"
#include "unwind/rule_ranges.h"

#define JIT_ENTRIES_MAX 16384
#define JIT_OBJECT_MAX  (16u << 20) /* bytes of one */
#define JIT_BYTES_MAX   (32u << 20) /* bytes of all objects of a process together, read at once or kept */

struct jit_objects;

/* NULL when memory is short. */
struct jit_objects *jit_objects_create(void);
void jit_objects_destroy(struct jit_objects *objects); /* may be NULL */

/*
 * Reads the list, starting at its descriptor. Objects that are no longer in it are dropped; new ones, and those whose
 * bytes have changed, are read. Returns bits that say what has changed.
 */
enum { JIT_OBJECTS_CAME = 1, JIT_OBJECTS_WENT = 2 };
unsigned int jit_objects_read(struct jit_objects *objects, const struct memory *memory, uint64_t descriptor);

size_t jit_objects_count(const struct jit_objects *objects);
/* What is kept of them. */
size_t jit_objects_bytes(const struct jit_objects *objects);

/* May an object have rules for an address? */
bool jit_objects_cover(const struct jit_objects *objects, uint64_t address);

/*
 * The rules that an object gives around an address, added to *ret; `start` and `end`: the code that its FDE covers. If
 * several objects cover it, the one that was read last is used. 0, -ENOENT or -ENOMEM.
 */
int jit_objects_rules(const struct jit_objects *objects, uint64_t address, rule_ranges *ret, uint64_t *start,
		      uint64_t *end);

/* The names of their functions; NULL when there are none or memory is short. The caller destroys it. */
struct perf_map *jit_objects_names(const struct jit_objects *objects);

#endif
