/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wanted: the names that predicates of Python's probes compare with (lang/provider/python_names.c), and that never
 * came: a line for each, with names that did come and are near.
 */
#ifndef STRATA_TRACE_WANTED_H
#define STRATA_TRACE_WANTED_H

#include <bpf/libbpf.h>
#include <stdio.h>

#include "base/diag.h"
#include "lang/core/compiler.h"

/* Before loading: the maps are made only if there are such names. 0, or a negative errno with a diag. */
int wanted_configure(struct bpf_object *object, const struct compiler *c, struct diag *diag);
/* At the end. */
void wanted_tell(const struct bpf_object *object, const struct compiler *c, FILE *out);

#endif
