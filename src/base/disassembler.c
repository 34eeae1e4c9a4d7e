// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/disassembler.h"

#include <dlfcn.h>
#include <errno.h>

#define TEXT(number)   #number
#define LIBRARY(major) "libcapstone.so." TEXT(major)

/* A function of the library, of the type that its header says. */
#define FUNCTION(d, name) ((__typeof__(&name))dlsym((d)->library, #name))

int disassembler_open(struct disassembler *d, cs_arch arch, cs_mode mode, bool details)
{
	*d = (struct disassembler){.library = dlopen(LIBRARY(CS_API_MAJOR), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
	if (!d->library)
		return -ENOTSUP;
	d->next = FUNCTION(d, cs_disasm_iter);
	if (FUNCTION(d, cs_open)(arch, mode, &d->handle) != CS_ERR_OK) {
		dlclose(d->library);
		return -ENOTSUP;
	}
	if (details)
		FUNCTION(d, cs_option)(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = FUNCTION(d, cs_malloc)(d->handle);
	if (d->insn)
		return 0;
	disassembler_close(d);
	return -ENOMEM;
}

void disassembler_close(struct disassembler *d)
{
	if (d->insn)
		FUNCTION(d, cs_free)(d->insn, 1);
	FUNCTION(d, cs_close)(&d->handle);
	dlclose(d->library);
}
