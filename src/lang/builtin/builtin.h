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

/*
 * How many bytes a string of this type has, terminator included, before it is put at `offset` of the frame; what the
 * type has behind them becomes zeros. Changes no register.
 */
uint32_t gen_text_room(struct gen *g, const struct type *type, uint32_t offset);

/* The groups, each in its own file; ended by CORE_NONE. */
extern const struct builtin_code codes_process[], codes_time[], codes_text[], codes_output[], codes_maps[],
	codes_aggregations[], codes_probe[], codes_stacks[], codes_meta[], codes_net[], codes_address[], codes_kernel[],
	codes_python[], codes_calls[], codes_text_parts[];

#endif
