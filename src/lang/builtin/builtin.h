/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * builtin: the code of the core's builtins (core/builtins.def), each an entry of a table. Dialects name them, check
 * their operands, and give them their types.
 */
#ifndef STRATA_LANG_BUILTIN_BUILTIN_H
#define STRATA_LANG_BUILTIN_BUILTIN_H

#include "lang/gen/gen.h"

/* Never NULL; of an id without code nothing but the id is set. */
const struct builtin_code *builtin_code(enum core_builtin id);

/* The groups, each in its own file; ended by CORE_NONE. */
extern const struct builtin_code codes_process[], codes_time[], codes_text[], codes_output[], codes_maps[],
	codes_aggregations[], codes_probe[], codes_stacks[], codes_meta[], codes_net[], codes_address[], codes_kernel[],
	codes_python[], codes_calls[];

#endif
