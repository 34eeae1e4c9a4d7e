/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: the layout of a call's arguments in the records that it sends, after struct rt_event.
 *
 * If all of them are small, they are laid out as in the tuple. Otherwise the record is packed, and is only as long as
 * its contents:
 *
 *   │ the small ones, each in whole words │ the parts of the others, one after the other │
 *
 *   a string of more than TEXT_FIXED bytes    up to and including its terminator
 *   a buffer of more                          u32 length, and that many bytes
 *   a tuple with such in it                   its elements, in this way
 *   anything else                             unchanged
 *
 * Missing elements at the end, which join() leaves out, are zeros.
 */
#ifndef STRATA_LANG_CORE_RECORD_H
#define STRATA_LANG_CORE_RECORD_H

#include <stddef.h>

#include "lang/core/type.h"

#define TEXT_FIXED 64 /* such a string's frame may be on the BPF stack, where nothing is packed */

/* Is it sent packed? */
bool record_packs(const struct type *type);

/* The offset of a small argument after the event; for the number after the last one, that of the packed parts. */
uint32_t record_place(const struct type *arguments, uint32_t index);

/* The largest size of a type's parts, in bytes. */
uint32_t record_most(const struct type *type);

/* The usual size of such a record, with its event. */
uint32_t record_usual(const struct type *arguments);

/*
 * The arguments of a record of `size` bytes, laid out as in the tuple: in the record itself, or in `room`, which has
 * the tuple's size. NULL if the record is damaged.
 */
const uint8_t *record_read(const struct type *arguments, const uint8_t *record, size_t size, uint8_t *room);

#endif
