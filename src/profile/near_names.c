// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/near_names.h"

#include <string.h>

#include "profile/text.h"

void near_names_offer(struct near_names *near, const char *name)
{
	size_t wanted = strlen(near->wanted), size = strlen(name), j, k;
	const char *last = near->separator ? strrchr(name, near->separator) : NULL;
	unsigned int far;

	if (!wanted || !size || wanted >= NEAR_NAME_MAX || size >= NEAR_NAME_MAX || !strcmp(near->wanted, name))
		return;
	far = near_distance(near->wanted, wanted, name, size);
	if (last) {
		unsigned int of_last = near_distance(near->wanted, wanted, last + 1, strlen(last + 1));

		far = of_last < far ? of_last : far;
	}
	if (far > 1 + wanted / 3)
		return;
	for (j = 0; j < near->count; j++)
		if (!strcmp(near->at[j].name, name))
			return;
	for (j = 0; j < near->count; j++)
		if (near->at[j].distance > far || (near->at[j].distance == far && strcmp(near->at[j].name, name) > 0))
			break;
	for (k = near->count; k > j; k--)
		near->at[k] = near->at[k - 1];
	memcpy(near->at[j].name, name, size + 1);
	near->at[j].distance = far;
	near->count += near->count < NEAR_NAMES_MOST;
}

void near_names_write(const struct near_names *near, FILE *out)
{
	unsigned int i;

	for (i = 0; i < near->count; i++) {
		fputs(i ? ", " : "; near it: ", out);
		text_print(out, near->at[i].name, strlen(near->at[i].name));
	}
}
