// SPDX-License-Identifier: GPL-2.0-or-later
/* The units of time that options and the names of profile's probes have. */
#include <strings.h>

#include "lang/dialect/d/d.h"

bool d_unit_of_time(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {{"ns", 1},
		     {"nsec", 1},
		     {"us", 1000},
		     {"usec", 1000},
		     {"ms", 1000000},
		     {"msec", 1000000},
		     {"s", 1000000000},
		     {"sec", 1000000000},
		     {"m", 60000000000},
		     {"min", 60000000000},
		     {"h", 3600000000000},
		     {"hour", 3600000000000},
		     {"d", 86400000000000},
		     {"day", 86400000000000}};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcasecmp(text, units[i].name)) {
			*ret = units[i].nanoseconds;
			return true;
		}
	return false;
}
