// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/pattern.h"

#include <errno.h>
#include <string.h>

#define PATTERN_MAX 256 /* bytes */

int pattern_compile(const char *text, regex_t *ret, struct diag *diag)
{
	regex_t pattern;
	char why[128];
	int err;

	/* Counted repetitions are copies of what they repeat: nested ones have no bound. */
	if (strlen(text) > PATTERN_MAX || strchr(text, '{'))
		return diag_fail(diag, EINVAL, "pattern.bound",
				 "too long, or has {}: up to %d bytes of a regular expression", PATTERN_MAX);
	err = regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &pattern, why, sizeof(why));
		return diag_fail(diag, EINVAL, "pattern.syntax", "no regular expression: %s", why);
	}
	*ret = pattern;
	return 0;
}
