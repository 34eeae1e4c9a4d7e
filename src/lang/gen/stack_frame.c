// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/gen/stack_frame.h"

#include "lang/gen/gen.h"
#include "lang/gen/runtime.h"

/* The verifier may come to the end by as many ways as 2 to the power of this. */
#define JUMPS_MAX 8

/* Helpers that give a number, or a place in a map that is used at once, and take memory of a fixed size. */
static bool is_simple_helper(int helper)
{
	static const int simple[] = {
		BPF_FUNC_map_lookup_elem,   BPF_FUNC_map_update_elem,      BPF_FUNC_map_delete_elem,
		BPF_FUNC_probe_read_user,   BPF_FUNC_probe_read_kernel,    BPF_FUNC_ktime_get_ns,
		BPF_FUNC_ktime_get_boot_ns, BPF_FUNC_ktime_get_tai_ns,     BPF_FUNC_get_smp_processor_id,
		BPF_FUNC_get_prandom_u32,   BPF_FUNC_get_current_pid_tgid, BPF_FUNC_get_ns_current_pid_tgid,
		BPF_FUNC_get_current_comm,  BPF_FUNC_get_current_uid_gid,  BPF_FUNC_get_current_cgroup_id,
		BPF_FUNC_get_current_task,  BPF_FUNC_get_numa_node_id,     BPF_FUNC_jiffies64,
	};
	size_t i;

	for (i = 0; i < sizeof(simple) / sizeof(simple[0]); i++)
		if (simple[i] == helper)
			return true;
	return false;
}

static bool is_simple_call(const struct bpf_insn *insn, const struct reference *reference)
{
	if (reference)
		return runtime_allows_stack(reference->name);
	return insn->src_reg == 0 && is_simple_helper(insn->imm);
}

/* The stack is accessed by whole words, halves and so on, and the register itself stays. */
static bool is_simple_access(const struct bpf_insn *insn)
{
	static const uint8_t sizes[4] = {4, 2, 1, 8};
	uint8_t base = BPF_CLASS(insn->code) == BPF_LDX ? insn->src_reg : insn->dst_reg;

	return base != REG_FRAME || insn->off % sizes[insn->code >> 3 & 3] == 0;
}

static bool is_simple_operation(const struct bpf_insn *insn)
{
	if (insn->dst_reg == REG_FRAME)
		return false;
	if (!(insn->code & BPF_X))
		return true;
	/* The address of a fixed place is taken, to be passed on. */
	if (insn->src_reg == REG_FRAME || insn->src_reg == R10)
		return BPF_OP(insn->code) == BPF_MOV && insn->dst_reg != R0;
	return insn->src_reg != REG_CTX;
}

bool frame_fits_stack(const struct code *code, uint32_t size)
{
	uint32_t jumps = 0, i;
	size_t next = 0;

	if (size > STACK_FRAME_MAX)
		return false;
	for (i = 0; i < code->insns.count; i++) {
		const struct bpf_insn *insn = &code->insns.at[i];
		const struct reference *reference = NULL;

		if (next < code->references.count && code->references.at[next].at == i)
			reference = &code->references.at[next++];
		switch (BPF_CLASS(insn->code)) {
		case BPF_ALU:
		case BPF_ALU64:
			if (!is_simple_operation(insn))
				return false;
			break;
		case BPF_LDX:
		case BPF_ST:
		case BPF_STX:
			if (!is_simple_access(insn))
				return false;
			break;
		case BPF_JMP:
			if (BPF_OP(insn->code) == BPF_CALL && !is_simple_call(insn, reference))
				return false;
			jumps += BPF_OP(insn->code) != BPF_CALL && BPF_OP(insn->code) != BPF_JA;
			break;
		case BPF_LD:
			/* Of what only the linker knows, maps; of the kernel's own things, nothing. */
			if (insn->src_reg == BPF_PSEUDO_BTF_ID || insn->src_reg == BPF_PSEUDO_FUNC)
				return false;
			i++;
			break;
		default:
			return false;
		}
	}
	return jumps <= JUMPS_MAX;
}
