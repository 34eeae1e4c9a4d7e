// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: one program, and one link, for calls of kernel functions and their returns (Linux 6.10). The kernel runs it
 * at both, and tells which it is:
 *
 *   r6 = r1; is_return(); r1 = r6; if not, to `enter`
 *   the action of the return, as a program of its own would have it
 *   enter:
 *   the action of the call
 *
 * Each ends with an exit of its own, and returns 0: anything else would keep the kernel from the return.
 */
#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

#include "lang/gen/gen.h"
#include "lang/kernel/kernel_types.h"
#include "lang/provider/provider.h"

/* By loading a program that does nothing else. */
static bool is_allowed(uint32_t is_return)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = (enum bpf_attach_type)ATTACH_KPROBE_SESSION);
	const struct bpf_insn program[] = {
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (int32_t)is_return},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = R0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = is_return ? bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", program,
					   sizeof(program) / sizeof(program[0]), &options)
			   : -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The same places, reached by links of many: what the script's check has found may have changed that. */
static bool is_session(const struct compiler *c, const struct unit *call, const struct unit *back)
{
	uint32_t i;

	for (i = 0; i < call->attach_count; i++) {
		const struct attach *enters = &c->attaches.at[call->first_attach + i];
		const struct attach *leaves = &c->attaches.at[back->first_attach + i];

		if (enters->address != leaves->address || !(enters->flags & leaves->flags & ATTACH_MULTI))
			return false;
	}
	return call->attach_count == back->attach_count && call->is_everywhere == back->is_everywhere;
}

static struct function *program_of(struct gen *g, const struct unit *unit)
{
	size_t i;

	for (i = 0; i < g->functions.count; i++)
		if (g->functions.at[i].name == unit->program)
			return &g->functions.at[i];
	return NULL;
}

/* What is left of the return's function is nobody's: others are known by their numbers. */
static void join(struct gen *g, struct function *call, struct function *back, uint32_t is_return)
{
	struct code head = {};
	label enter = code_label(&head);

	code_mov(&head, REG_CTX, R1);
	code_call_kernel(&head, is_return);
	code_mov(&head, R1, REG_CTX);
	code_alu_imm(&head, BPF_AND, R0, 1);
	code_jump_if(&head, BPF_JEQ, R0, 0, enter);
	code_prepend(&back->code, &head);
	code_bind(&back->code, enter); /* its labels come first */
	code_prepend(&call->code, &back->code);
	code_deinit(&head);
	code_deinit(&back->code);
	*back = (struct function){.unit = call->unit};
	code_imm(&back->code, R0, 0);
	code_exit(&back->code);
	g->failed |= call->code.failed;
}

static void remove_unit(struct gen *g, uint32_t from, uint32_t to)
{
	struct compiler *c = g->c;
	size_t i;

	memmove(&c->units.at[from], &c->units.at[from + 1], (c->units.count - from - 1) * sizeof(c->units.at[0]));
	c->units.count--;
	for (i = 0; i < c->units.count; i++)
		c->units.at[i].back -= c->units.at[i].back > from + 1;
	for (i = 0; i < g->functions.count; i++) {
		uint32_t *unit = &g->functions.at[i].unit;

		*unit = *unit == from ? to : *unit;
		*unit -= *unit > from;
	}
}

void gen_sessions(struct gen *g)
{
	struct compiler *c = g->c;
	uint32_t is_return = 0, i, j;
	bool is_known = false;

	for (i = 0; i < c->units.count && !g->failed; i++) {
		uint32_t back = c->units.at[i].back;
		struct function *call = program_of(g, &c->units.at[i]), *leaves;

		if (!back || !call || !is_session(c, &c->units.at[i], &c->units.at[back - 1]))
			continue;
		if (!is_known) {
			is_return = kernel_types_function_number(&c->types, "bpf_session_is_return");
			is_return = is_allowed(is_return) ? is_return : 0;
			is_known = true;
		}
		leaves = program_of(g, &c->units.at[back - 1]);
		if (!is_return || !leaves)
			return;
		join(g, call, leaves, is_return);
		for (j = 0; j < c->units.at[i].attach_count; j++)
			c->attaches.at[c->units.at[i].first_attach + j].flags |= ATTACH_SESSION;
		remove_unit(g, back - 1, i);
		i -= back - 1 < i;
	}
}
