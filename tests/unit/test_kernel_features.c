// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "kernel/features.h"
#include "tap.h"

/* What the answers are is the kernel's matter; tests/kernels tries them on several. Here, also without capabilities: */
static void test_probes(void)
{
	int i;

	for (i = 0; i < FEATURE_COUNT; i++) {
		const struct feature_info *info = feature_info(i);

		ok(*info->name && strlen(info->description) > 10 && *info->how, "feature %d is described", i);
		ok(feature_probe(i) == feature_probe(i), "feature %d: the same answer twice", i);
	}
}

int main(void)
{
	test_probes();
	return tap_done();
}
