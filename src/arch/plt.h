/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plt: the machine code of the stubs that a linker makes for calls of functions in other files. */
#ifndef STRATA_ARCH_PLT_H
#define STRATA_ARCH_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plt_arch {
	size_t header; /* bytes of .plt before the first stub */

	/* The size of the stubs of a section with these bytes: .plt, .plt.sec or .plt.got. */
	size_t (*stub_size)(const char *section, const uint8_t *bytes, size_t size);

	/*
	 * What a stub of `size` bytes at `vaddr` refers to: true and either the GOT slot's vaddr in *got, or *got 0 and
	 * the index of a relocation of .rela.plt in *index.
	 */
	bool (*decode)(const uint8_t *bytes, size_t size, uint64_t vaddr, uint64_t *got, uint32_t *index);
};

#endif
