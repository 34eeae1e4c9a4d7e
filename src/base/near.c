// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/near.h"

#include <ctype.h>
#include <string.h>

unsigned int near_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned int row[NEAR_NAME_MAX], before, above;
	size_t i, j;

	for (j = 0; j <= b_size; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= a_size; i++) {
		before = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= b_size; j++) {
			above = row[j];
			before += tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
			if (above + 1 < before)
				before = above + 1;
			row[j] = row[j - 1] + 1 < before ? row[j - 1] + 1 : before;
			before = above;
		}
	}
	return row[b_size];
}

void near_offer(struct near *near, const char *name)
{
	size_t wanted = strlen(near->wanted), size = strlen(name), most;
	unsigned int far;

	if (!wanted || !size || wanted >= NEAR_NAME_MAX || size >= NEAR_NAME_MAX)
		return;
	far = near_distance(near->wanted, wanted, name, size);
	most = wanted > 2 ? wanted / 3 : 0;
	if (far > most && (wanted < 3 || !strcasestr(name, near->wanted)))
		return;
	if (*near->best && far >= near->distance)
		return;
	near->distance = far;
	memcpy(near->best, name, size + 1);
}
