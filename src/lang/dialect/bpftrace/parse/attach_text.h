/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach_text: finds where an attach point ends. parse_attach_point() says what it means (parts.h). */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PARSE_ATTACH_TEXT_H
#define STRATA_LANG_DIALECT_BPFTRACE_PARSE_ATTACH_TEXT_H

#include <stdint.h>

/* Of the one that begins at `begin`, in a source that ends at `end`. */
uint32_t attach_text_end(const char *source, uint32_t begin, uint32_t end);

#endif
