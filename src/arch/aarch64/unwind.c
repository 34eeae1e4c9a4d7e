// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AArch64. Register numbers: AADWARF64, 4.1. Signal frames: the kernel puts a struct rt_sigframe { siginfo; ucontext }
 * at SP (arch/arm64/kernel/signal.c); a handler returns with SP there, to the vDSO's trampoline. siginfo has 128 bytes,
 * and of struct ucontext 176 are before uc_mcontext, a struct sigcontext { fault_address; regs[31]; sp; pc; ... }.
 */
#include <string.h>

#include "arch/aarch64/parts.h"

#define BTI_C     0xd503245fu
#define NOP       0xd503201fu
#define RET       0xd65f03c0u
#define PACIASP   0xd503233fu
#define AUTIASP   0xd50323bfu
#define SVC       0xd4000001u
#define SIGRETURN 0xd2801168u /* mov x8, #139 */

static const char *const register_names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
	"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};

static uint32_t word_at(const uint8_t *bytes, size_t at)
{
	uint32_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

/* Linkers write no CFI for the PLT. */
static bool plt_expression(const uint8_t *bytes, size_t size, struct unwind_rule *ret)
{
	(void)bytes;
	(void)size;
	(void)ret;
	return false;
}

static const struct unwind_rule at_entry = {.kind = UNWIND_SP};
static const struct unwind_rule with_record = {
	.kind = UNWIND_SP, .cfa_offset = 16, .fp_offset = -16, .param = UNWIND_SLOT_BESIDE_FP};

/* PLT0 begins with `stp x16, x30, [sp, #-16]!`, after `bti c` or not; stubs leave SP and LR alone. */
static size_t plt_spans(const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	size_t at = size >= 8 && word_at(bytes, 0) == BTI_C ? 4 : 0;

	ret[0] = (struct unwind_arch_span){.rule = at_entry};
	if (size < 32 || word_at(bytes, at) != 0xa9bf7bf0)
		return 1;
	ret[1] = (struct unwind_arch_span){.start = (uint32_t)at + 4,
					   .rule = {.kind = UNWIND_SP, .cfa_offset = 16, .param = 1}};
	ret[2] = (struct unwind_arch_span){.start = 32, .rule = at_entry};
	return 3;
}

/*
 * _init and _fini, in two halves (sysdeps/aarch64/crti.S, crtn.S; musl's crt/aarch64): `paciasp` or `bti c` or a NOP,
 * or none; `stp x29, x30, [sp, #-16]!; mov x29, sp`, what others put between them; `ldp x29, x30, [sp], #16`, `autiasp`
 * or none, `ret`.
 */
static size_t init_spans(const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	size_t head = 0, tail = size - 4;

	if (size < 16 || size % 4)
		return 0;
	if (word_at(bytes, 0) == PACIASP || word_at(bytes, 0) == BTI_C || word_at(bytes, 0) == NOP)
		head = 4;
	if (word_at(bytes, tail) != RET)
		return 0;
	if (word_at(bytes, tail - 4) == AUTIASP)
		tail -= 4;
	if (head + 4 > tail - 4 || word_at(bytes, head) != 0xa9bf7bfd || word_at(bytes, tail - 4) != 0xa8c17bfd)
		return 0;
	ret[0] = (struct unwind_arch_span){.rule = at_entry};
	ret[1] = (struct unwind_arch_span){.start = (uint32_t)head + 4, .rule = with_record};
	ret[2] = (struct unwind_arch_span){.start = (uint32_t)tail, .rule = at_entry};
	return 3;
}

static size_t section_spans(const char *section, const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	if (!strcmp(section, ".init") || !strcmp(section, ".fini"))
		return init_spans(bytes, size, ret);
	if (!strncmp(section, ".plt", 4) || !strcmp(section, ".iplt"))
		return plt_spans(bytes, size, ret);
	return 0;
}

/*
 * _start clears FP and LR first (sysdeps/aarch64/start.S, musl's arch/aarch64/crt_arch.h), and does not return; the
 * dynamic linker's hands SP to its C part, and ends in a jump by a register (sysdeps/aarch64/dl-start.S, dl-machine.h).
 */
static size_t entry_size(const uint8_t *bytes, size_t size)
{
	size_t at = size >= 4 && word_at(bytes, 0) == BTI_C ? 4 : 0, i;

	if (size >= at + 8 && word_at(bytes, at) == 0xd280001d && word_at(bytes, at + 4) == 0xd280001e)
		return size < 48 ? size : 48;
	if (size < at + 8 || word_at(bytes, at) != 0x910003e0) /* mov x0, sp */
		return 0;
	for (i = at + 4; i + 4 <= size; i += 4)
		if ((word_at(bytes, i) & 0xfffffc1f) == 0xd61f0000) /* br */
			return i + 4;
	return size;
}

/* `mov x8, #__NR_rt_sigreturn; svc #0` (the vDSO, glibc, musl). */
static bool find_trampoline(const uint8_t *bytes, size_t size, size_t *at, size_t *length)
{
	size_t i;

	*length = 8;
	for (i = 0; i + 8 <= size; i += 4)
		if (word_at(bytes, i) == SIGRETURN && word_at(bytes, i + 4) == SVC) {
			*at = i;
			return true;
		}
	return false;
}

/* `stp x29, x30, [sp, #-N]!`, `mov x29, sp`, and `ldp x29, x30, [sp], #N`. */
static size_t count_frame_edges(const uint8_t *bytes, size_t size)
{
	size_t at, edges = 0;

	for (at = 0; at + 4 <= size; at += 4) {
		uint32_t insn = word_at(bytes, at);

		edges += (insn & 0xffc07fff) == 0xa9807bfd || (insn & 0xffc07fff) == 0xa8c07bfd;
	}
	return edges;
}

static bool is_syscall(const uint8_t *bytes, size_t size)
{
	return size >= 4 && word_at(bytes, 0) == SVC;
}

const struct unwind_arch aarch64_unwind = {
	.sp = 31,
	.fp = 29,
	.carried = 30,
	.ra = 30,
	.register_count = 31,
	.ra_offset = 0,
	.sigcontext_sp = 31 * 8,
	.sigcontext_pc = 32 * 8,
	.sigcontext_at_return = 312,
	.register_names = register_names,
	.plt_expression = plt_expression,
	.section_spans = section_spans,
	.entry_size = entry_size,
	.find_trampoline = find_trampoline,
	.count_frame_edges = count_frame_edges,
	.code = &aarch64_code,
	.is_syscall = is_syscall,
};
