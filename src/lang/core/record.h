/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: how the arguments of a call of the script lie in the records that it sends, behind struct rt_event.
 *
 * Where all of them are small, as the tuple has them. Else the record is packed, and takes no more than what they hold:
 *
 *   │ the small ones, each in whole words │ the parts of the others, one behind the other │
 *
 *   a string of more than TEXT_FIXED bytes    up to its terminator, which is there
 *   a buffer of more                          u32 length, and so many bytes
 *   a tuple with such in it                   its elements, in this way
 *   anything else                             as it is
 *
 * Elements that are missing at the end, as join() leaves them out, are zeros.
 */
#ifndef STRATA_LANG_CORE_RECORD_H
#define STRATA_LANG_CORE_RECORD_H

#include <stddef.h>

#include "lang/core/type.h"

#define TEXT_FIXED 64 /* such a string's frame may be on the BPF stack, where nothing is packed */

/* Is it sent by what it holds? */
bool record_packs(const struct type *type);

/* Where a small argument lies, behind the event; its number behind the last one: where the packed parts begin. */
uint32_t record_place(const struct type *arguments, uint32_t index);

/* The most bytes that a type's parts have. */
uint32_t record_most(const struct type *type);

/* What such a record takes as a rule, with its event. */
uint32_t record_usual(const struct type *arguments);

/*
 * The arguments of a record of `size` bytes as the tuple has them: there, or in `room`, which has the tuple's size.
 * NULL when the record is damaged.
 */
const uint8_t *record_read(const struct type *arguments, const uint8_t *record, size_t size, uint8_t *room);

#endif
