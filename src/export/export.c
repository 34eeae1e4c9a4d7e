// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/export.h"

#include <stddef.h>
#include <string.h>

static const struct exporter *const exporters[] = {
	&export_html, &export_pprof, &export_speedscope, &export_firefox, &export_trace, &export_folded,
};

const struct exporter *exporter_at(unsigned int index)
{
	return index < sizeof(exporters) / sizeof(exporters[0]) ? exporters[index] : NULL;
}

const struct exporter *exporter_for(const char *path)
{
	size_t length = strlen(path);
	unsigned int i;

	if (!strcmp(path, "-"))
		return &export_folded;
	for (i = 0; exporter_at(i); i++) {
		size_t suffix = strlen(exporters[i]->suffix);

		if (length >= suffix && !strcmp(path + length - suffix, exporters[i]->suffix))
			return exporters[i];
	}
	return NULL;
}
