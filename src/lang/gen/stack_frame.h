/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames on the BPF stack: nothing is to be taken or given back, which is a third of what `count()` costs. But there
 * the verifier follows each value, and where ways meet that left other values behind it goes on with both. And what is
 * a pointer stays one, where a map would have made a number of it. So they are for programs that are short and
 * straight.
 */
#ifndef STRATA_LANG_GEN_STACK_FRAME_H
#define STRATA_LANG_GEN_STACK_FRAME_H

#include "lang/gen/code.h"

/* Bytes of such a frame at most: of the 512 that the programs of one call have together (MAX_BPF_STACK). */
#define STACK_FRAME_MAX 128

/*
 * Can a function that was written for a frame of `size` bytes in a map have it on the stack? It can when it is straight
 * (8 conditional jumps at most), nothing but numbers comes into the frame, and its memory goes to simple helpers only.
 */
bool frame_fits_stack(const struct code *code, uint32_t size);

#endif
