/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share. */
#ifndef STRATA_FUZZ_H
#define STRATA_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

/* Each target defines it: libFuzzer calls it with any bytes; what it returns is 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the bytes are: else the input is kept as one that crashes. */
#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#endif
