// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs of Python's probes send for `strata calls` (rt/calls.h): the runtime library does it. */
#include <stddef.h>

#include "lang/builtin/builtin.h"
#include "lang/provider/python.h"
#include "lang/rt/calls.h"

#define AT(member) (room + (uint32_t)offsetof(struct rt_calls, member))

/* Where in a code object the three lie that tell it from others: they are read at once. */
static void store_head(struct gen *g, const struct py_layout *layout, uint32_t room)
{
	uint32_t name = layout->code_qualname != PY_NO_OFFSET ? layout->code_qualname : layout->code_name;
	uint32_t file = layout->code_filename, line = layout->code_firstlineno;
	uint32_t first = name < file ? name : file, last = name < file ? file : name;

	first = first < line ? first : line;
	last = last > line ? last : line;
	gen_frame_store_imm(g, 4, AT(head), (int32_t)first);
	gen_frame_store_imm(g, 4, AT(head_size), (int32_t)(last + 8 - first));
}

static void call_runtime(struct gen *g, uint32_t room, const char *function)
{
	gen_frame_address(g, R1, g->begun);
	gen_frame_address(g, R2, room);
	code_call_runtime(g->code, function);
}

static void gen_call(struct gen *g, const struct node *call)
{
	const struct py_layout *layout = &((const struct python_probe *)compiler_attach(g->c)->own)->layout;
	bool has_shims = layout->entry == PY_ENTRY_SHIM;
	uint32_t room = gen_temporary(g, sizeof(struct rt_calls));
	label done = code_label(g->code);

	gen_frame_store_imm(g, 4, AT(call_site), (int32_t)call->site);
	gen_frame_store_imm(g, 4, AT(code_site), (int32_t)call->value);
	gen_frame_store_imm(g, 4, AT(frame_back), layout->frame_back);
	gen_frame_store_imm(g, 4, AT(frame_owner), has_shims ? layout->frame_entry : 0);
	gen_frame_store_imm(g, 4, AT(shim), has_shims ? layout->shim_owner : 256);
	gen_frame_store_imm(g, 4, AT(code_name),
			    layout->code_qualname != PY_NO_OFFSET ? layout->code_qualname : layout->code_name);
	gen_frame_store_imm(g, 4, AT(code_filename), layout->code_filename);
	gen_frame_store_imm(g, 4, AT(line), 0);
	if (call->flags & CALLS_WANTED) {
		store_head(g, layout, room);
		call_runtime(g, room, "rt_python_call_decide");
		code_jump_if(g->code, BPF_JEQ, R0, 0, done);
	}
	if (call->flags & CALLS_LINES)
		call_runtime(g, room, "rt_python_call_line");
	call_runtime(g, room, call->flags & CALLS_WANTED ? "rt_python_call_wanted" : "rt_python_call");
	code_bind(g->code, done);
}

const struct builtin_code codes_calls[] = {
	{CORE_PYTHON_CALL, .scalar = gen_call},
	{},
};
