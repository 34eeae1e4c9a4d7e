// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/dialect/bpftrace/builtin/builtin.h"

#include <string.h>

const struct builtin *builtin_find(const char *name)
{
	static const struct builtin *const groups[] = {
		builtins_process, builtins_time,         builtins_text,    builtins_output,
		builtins_maps,    builtins_aggregations, builtins_probe,   builtins_stacks,
		builtins_meta,    builtins_net,          builtins_address, builtins_kernel,
	};
	const struct builtin *at;
	size_t i;

	/* The names under which bpftrace's own library wraps them. */
	if (!strncmp(name, "__builtin_", 10))
		name += 10;
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (at = groups[i]; at->name; at++)
			if (!strcmp(at->name, name))
				return at;
	return NULL;
}
