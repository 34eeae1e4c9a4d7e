/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings: the settings of scripts and the environment, by bpftrace's names, in addition to those of all dialects. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_SETTINGS_H
#define STRATA_LANG_DIALECT_BPFTRACE_SETTINGS_H

#include "lang/core/compiler.h"
#include "lang/dialect/bpftrace/ast.h"

enum bpftrace_setting {
	SETTING_STACK_MODE = SETTING_OF_DIALECT,
	SETTING_STR_TRUNC_TRAILER,
	SETTING_CPP_DEMANGLE,
	SETTING_DUMMY_TS_MAP,
	SETTING_CACHE_USER_SYMBOLS,
	SETTING_UNSTABLE_TSERIES,
	SETTING_UNSTABLE_DW_USTACK,
	SETTING_IGNORED
};
_Static_assert((int)SETTING_IGNORED < (int)SETTING_COUNT, "there is room for the dialect's settings");

/* Values before the script. */
void settings_init(struct compiler *c);
/* Those of the script and the environment; and the maps that the script declares. */
void settings_read(struct compiler *c);
/* Complains if a script uses an unstable feature that its own setting `setting` has forbidden. */
void settings_unstable(struct compiler *c, enum bpftrace_setting setting, const struct ast *call);

#endif
