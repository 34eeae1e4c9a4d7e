// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs of Python's probes send for `strata calls` (rt/calls.h): the runtime library does it. */
#include <stddef.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/python.h"
#include "lang/rt/calls.h"

#define AT(member) (room + (uint32_t)offsetof(struct rt_calls, member))

static void gen_call(struct gen *g, const struct node *call)
{
	const struct py_layout *layout = &((const struct python_probe *)compiler_attach(g->c)->own)->layout;
	bool has_shims = layout->entry == PY_ENTRY_SHIM;
	uint32_t room = gen_temporary(g, sizeof(struct rt_calls));

	gen_frame_store_imm(g, 4, AT(call_site), (int32_t)call->site);
	gen_frame_store_imm(g, 4, AT(code_site), (int32_t)call->value);
	gen_frame_store_imm(g, 4, AT(frame_back), layout->frame_back);
	gen_frame_store_imm(g, 4, AT(frame_owner), has_shims ? layout->frame_entry : 0);
	gen_frame_store_imm(g, 4, AT(shim), has_shims ? layout->shim_owner : 256);
	gen_frame_store_imm(g, 4, AT(code_name),
			    layout->code_qualname != PY_NO_OFFSET ? layout->code_qualname : layout->code_name);
	gen_frame_store_imm(g, 4, AT(code_filename), layout->code_filename);
	gen_frame_store_imm(g, 4, AT(line), 0);
	if (call->flags) {
		gen_frame_address(g, R1, g->begun);
		gen_frame_address(g, R2, room);
		code_call_runtime(g->code, "rt_python_call_line");
	}
	gen_frame_address(g, R1, g->begun);
	gen_frame_address(g, R2, room);
	code_call_runtime(g->code, "rt_python_call");
}

const struct builtin_code codes_calls[] = {
	{CORE_PYTHON_CALL, .scalar = gen_call},
	{},
};
