// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and order are those of Linux 6.18's own output (the print format of tracepoint kmem:kmalloc). The bits have
 * been where they are since 5.10, those from ZEROTAGS on apart, which were others' or of no use before; a later one's
 * place depends on how the kernel was configured.
 */
#include "lang/dialect/bpftrace/print/gfp.h"

#include <inttypes.h>
#include <stddef.h>

static const struct {
	uint64_t flags;
	const char *name;
} gfp_names[] = {
	{0x1c24ca, "GFP_TRANSHUGE"},
	{0x1c20ca, "GFP_TRANSHUGE_LIGHT"},
	{0x100cca, "GFP_HIGHUSER_MOVABLE"},
	{0x100cc2, "GFP_HIGHUSER"},
	{0x100cc0, "GFP_USER"},
	{0x400cc0, "GFP_KERNEL_ACCOUNT"},
	{0xcc0, "GFP_KERNEL"},
	{0xc40, "GFP_NOFS"},
	{0x820, "GFP_ATOMIC"},
	{0xc00, "GFP_NOIO"},
	{0x2800, "GFP_NOWAIT"},
	{0x1, "GFP_DMA"},
	{0x2, "__GFP_HIGHMEM"},
	{0x4, "GFP_DMA32"},
	{0x8, "__GFP_MOVABLE"},
	{0x10, "__GFP_RECLAIMABLE"},
	{0x20, "__GFP_HIGH"},
	{0x40, "__GFP_IO"},
	{0x80, "__GFP_FS"},
	{0x100, "__GFP_ZERO"},
	{0x400, "__GFP_DIRECT_RECLAIM"},
	{0x800, "__GFP_KSWAPD_RECLAIM"},
	{0x1000, "__GFP_WRITE"},
	{0x2000, "__GFP_NOWARN"},
	{0x4000, "__GFP_RETRY_MAYFAIL"},
	{0x8000, "__GFP_NOFAIL"},
	{0x10000, "__GFP_NORETRY"},
	{0x20000, "__GFP_MEMALLOC"},
	{0x40000, "__GFP_COMP"},
	{0x80000, "__GFP_NOMEMALLOC"},
	{0x100000, "__GFP_HARDWALL"},
	{0x200000, "__GFP_THISNODE"},
	{0x400000, "__GFP_ACCOUNT"},
	{0x800000, "__GFP_ZEROTAGS"},
};

void gfp_print(FILE *out, uint64_t flags)
{
	const char *between = "";
	size_t i;

	if (!flags)
		fputc('0', out);
	for (i = 0; i < sizeof(gfp_names) / sizeof(gfp_names[0]); i++) {
		if ((flags & gfp_names[i].flags) != gfp_names[i].flags)
			continue;
		fprintf(out, "%s%s", between, gfp_names[i].name);
		flags &= ~gfp_names[i].flags;
		between = "|";
	}
	if (flags)
		fprintf(out, "%s0x%" PRIx64, between, flags);
}
