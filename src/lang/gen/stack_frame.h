/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames on the BPF stack. They need not be taken and released, which is a third of the cost of `count()`. But the
 * verifier tracks each value there, and where paths with different values meet it follows both. And a stored pointer
 * stays a pointer, while a map would turn it into a number. So such frames are for short programs with few branches.
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
