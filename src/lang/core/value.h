/* SPDX-License-Identifier: GPL-2.0-or-later */
/* value: the bytes of values as the kernel keeps and sends them. */
#ifndef STRATA_LANG_CORE_VALUE_H
#define STRATA_LANG_CORE_VALUE_H

#include <string.h>

#include "lang/core/type.h"

/* The value of a scalar's bytes, extended to 64 bits; 0 for sizes over 8. */
uint64_t scalar_load(const uint8_t *bytes, uint32_t size, bool is_signed);

/* A word of a value, wherever it lies. */
static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Adds the value of another CPU, or of another key, to an aggregation or to a number of 8 bytes. */
void value_merge(const struct type *type, uint8_t *to, const uint8_t *from);

#endif
