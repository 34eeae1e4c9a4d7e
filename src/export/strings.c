// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/strings.h"

#include <errno.h>
#include <stdlib.h>

#include "export/export.h"
#include "profile/text.h"

int export_strings_init(struct export_strings *strings)
{
	*strings = (struct export_strings){.pool = string_pool_create()};
	if (!strings->pool)
		strings->err = -ENOMEM;
	return strings->err;
}

void export_strings_deinit(struct export_strings *strings)
{
	string_pool_destroy(strings->pool);
	table_deinit(&strings->index_of);
	vec_free(&strings->list);
	*strings = (struct export_strings){};
}

uint32_t export_string_clean(struct export_strings *strings, const char *clean)
{
	uint64_t index = strings->list.count;
	const char *pooled = strings->err || !clean ? NULL : string_intern(strings->pool, clean);

	if (pooled && table_get(&strings->index_of, (uintptr_t)pooled, &index))
		return (uint32_t)index;
	if (!pooled || vec_push(&strings->list, pooled) || table_set(&strings->index_of, (uintptr_t)pooled, index))
		strings->err = -ENOMEM;
	return strings->err ? 0 : (uint32_t)index;
}

uint32_t export_string(struct export_strings *strings, const char *string)
{
	size_t size = text_clean(string ? string : "", NULL, 0) + 1;
	char *clean = malloc(size);
	uint32_t index;

	if (clean)
		text_clean(string ? string : "", clean, size);
	index = export_string_clean(strings, clean);
	free(clean);
	return index;
}

void export_strings_json(FILE *out, const struct export_strings *strings)
{
	size_t i;

	for (i = 0; i < strings->list.count; i++) {
		fputs(i ? ",\n" : "\n", out);
		export_json_string(out, strings->list.at[i]);
	}
}
