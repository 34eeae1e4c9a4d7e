/* SPDX-License-Identifier: GPL-2.0-or-later */
/* path: parts of a path's text. */
#ifndef STRATA_BASE_PATH_H
#define STRATA_BASE_PATH_H

#include <string.h>

/* The part after the last slash; the whole path if it has none. */
static inline const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
