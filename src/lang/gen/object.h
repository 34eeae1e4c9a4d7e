/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object: puts generated functions into a BPF ELF object, and links it with the runtime library.
 *
 *   .text       bodies of loops                 probe.N    programs
 *   .maps       frames, the script's maps       .BTF       their types, functions, the runtime's functions as externs
 *   .BTF.ext    func_info, which bpf_loop needs
 *
 * What the static linker of libbpf 1.1 requires: each symbol that is not local has a FUNC or VAR of its name in BTF; an
 * extern function is an undefined symbol and a FUNC of linkage extern; sections are aligned to 8. The runtime's objects
 * come first, because maps that are added later shift those that an earlier object has referred to.
 */
#ifndef STRATA_LANG_GEN_OBJECT_H
#define STRATA_LANG_GEN_OBJECT_H

#include "base/diag.h"
#include "lang/gen/gen.h"

/* The linked object in malloc'd memory. */
int object_build(const struct gen *gen, void **ret, size_t *size, struct diag *diag);

#endif
