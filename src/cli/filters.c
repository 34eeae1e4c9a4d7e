// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/filters.h"

#include <errno.h>
#include <string.h>

int filters_take(struct filter **filter, int id, const char *value, struct diag *diag)
{
	if (!*filter)
		*filter = filter_create();
	if (!*filter)
		return diag_fail(diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM));
	return id == FILTER_OPTION_EXCLUDE
		       ? filter_exclude(*filter, value, diag)
		       : filter_add(*filter, (enum filter_kind)(id - FILTER_OPTION_CGROUP), value, diag);
}
