// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/builtin/builtin.h"

const struct builtin_code *builtin_code(enum core_builtin id)
{
	static const struct builtin_code *const groups[] = {
		codes_process, codes_time, codes_text, codes_output,  codes_maps,   codes_aggregations, codes_probe,
		codes_stacks,  codes_meta, codes_net,  codes_address, codes_kernel, codes_python,       codes_calls,
		codes_text_parts,
	};
	static const struct builtin_code none = {};
	const struct builtin_code *at;
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (at = groups[i]; at->id; at++)
			if (at->id == id)
				return at;
	return &none;
}
