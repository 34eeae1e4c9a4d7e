/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: the declarations for functions in the table of functions.c; those for texts and memory are in texts.c,
 * those about an address's symbol in stacks.c, and the others about addresses in addresses.c.
 */
#ifndef STRATA_LANG_DIALECT_STAP_FUNCTIONS_H
#define STRATA_LANG_DIALECT_STAP_FUNCTIONS_H

#include "lang/dialect/stap/run.h"

typedef void stap_function_call(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,
				struct stap_value *ret);

#define FUNCTION(name)                                                                                                 \
	static void name(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,       \
			 struct stap_value *ret)
#define TEXT_FUNCTION(name)                                                                                            \
	void name(struct stap_run *run, const struct stap_node *call, const struct stap_value *arguments,              \
		  struct stap_value *ret)
#define UNUSED ((void)run, (void)call, (void)arguments, (void)ret)

stap_function_call stap_length, stap_substring, stap_is_in_text, stap_character, stap_to_number, stap_tokenize,
	stap_replace, stap_escape, stap_memory_text, stap_symbol_name, stap_source_name, stap_node_of, stap_module_of;

#endif
