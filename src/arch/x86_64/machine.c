// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/audit.h>
#include <stddef.h>

#include "arch/x86_64/parts.h"
#include "base/disassembler.h"

/* struct pt_regs of arch/x86/include/uapi/asm/ptrace.h. */
struct context {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#define AT(name) offsetof(struct context, name)
#define PLAIN(name, number)                                                                                            \
	{                                                                                                              \
#name, NULL, AT(name), number                                                                          \
	}
#define NAMED(name, alias, number)                                                                                     \
	{                                                                                                              \
#name, #alias, AT(name), number                                                                        \
	}

/* DWARF's numbers: psABI AMD64 1.0, figure 3.36. */
static const struct arch_register registers[] = {
	NAMED(ax, rax, 0),
	NAMED(dx, rdx, 1),
	NAMED(cx, rcx, 2),
	NAMED(bx, rbx, 3),
	NAMED(si, rsi, 4),
	NAMED(di, rdi, 5),
	NAMED(bp, rbp, 6),
	NAMED(sp, rsp, 7),
	PLAIN(r8, 8),
	PLAIN(r9, 9),
	PLAIN(r10, 10),
	PLAIN(r11, 11),
	PLAIN(r12, 12),
	PLAIN(r13, 13),
	PLAIN(r14, 14),
	PLAIN(r15, 15),
	NAMED(ip, rip, 16),
	{"pc", NULL, AT(ip), ARCH_NO_NUMBER},
	PLAIN(orig_ax, ARCH_NO_NUMBER),
	PLAIN(cs, ARCH_NO_NUMBER),
	NAMED(flags, eflags, ARCH_NO_NUMBER),
	PLAIN(ss, ARCH_NO_NUMBER),
	{},
};

static const struct arch_saved saved[] = {
	{"R_R15", 0, NULL}, {"R_R14", 1, NULL}, {"R_R13", 2, NULL}, {"R_R12", 3, NULL}, {"R_RBP", 4, NULL},
	{"R_RBX", 5, NULL}, {"R_R11", 6, NULL}, {"R_R10", 7, NULL}, {"R_R9", 8, NULL}, {"R_R8", 9, NULL},
	{"R_RAX", 10, NULL}, {"R_RCX", 11, NULL}, {"R_RDX", 12, NULL}, {"R_RSI", 13, NULL}, {"R_RDI", 14, NULL},
	{"R_ERR", 15, NULL}, {"R_RIP", 16, NULL}, {"R_CS", 17, NULL}, {"R_RFL", 18, NULL}, {"R_RSP", 19, NULL},
	{"R_SS", 20, NULL}, {"R_EBP", 4, NULL}, {"R_EBX", 5, NULL}, {"R_EAX", 10, NULL}, {"R_ECX", 11, NULL},
	{"R_EDX", 12, NULL}, {"R_ESI", 13, NULL}, {"R_EDI", 14, NULL}, {"R_EIP", 16, NULL}, {"R_EFL", 18, NULL},
	{"R_ESP", 19, NULL}, {"R_FP", 4, NULL}, {"R_R1", 5, NULL}, {"R_R0", 10, NULL}, {"R_PC", 16, NULL},
	{"R_PS", 18, NULL}, {"R_SP", 19, NULL},
	{"R_DS", 21, "ds"}, {"R_ES", 22, "es"}, {"R_FS", 23, "fsbase"}, {"R_GS", 24, "gsbase"},
	{"R_TRAPNO", 25, "trap_nr"},
	{},
};

/* psABI AMD64 3.2.3. */
static const uint16_t arguments[] = {AT(di), AT(si), AT(dx), AT(cx), AT(r8), AT(r9)};

/*
 * glibc  nptl/descr.h, sysdeps/x86_64/nptl/tls.h, 2.17 to 2.41: tcbhead_t.self; pthread.tid behind a header of 0x2c0
 *	  bytes and a list_t
 * musl   src/internal/pthread_impl.h, 1.1 and 1.2: pthread.self; .tid behind five pointers and the canary
 */
static const struct arch_descriptor descriptors[] = {{0x10, 0x2d0}, {0x00, 0x30}, {}};

const struct arch x86_64 = {
	.machine = EM_X86_64,
	.name = "x86-64",
	.triplet = "x86_64-linux-gnu",
	.macro = "__x86_64__",
	.capstone = CS_ARCH_X86,
	.capstone_mode = CS_MODE_64,
	.audit = AUDIT_ARCH_X86_64,
	.relative = R_X86_64_RELATIVE,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.absolute = R_X86_64_64,
	.tls_offset = R_X86_64_TPOFF64,
	.tls_module = R_X86_64_DTPMOD64,
	.tls_descriptor = R_X86_64_TLSDESC,
	.descriptors = descriptors,
	.kernel_thread_pointer = "fsbase",
	.registers = registers,
	.saved = saved,
	.context_pc = AT(ip),
	.context_sp = AT(sp),
	.context_result = AT(ax),
	.context_mode = AT(cs),
	.mode_mask = 3, /* the privilege level */
	.mode_user = 3,
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.stack_arguments = 8, /* above the return address */
	.usdt_operand = x86_64_usdt_operand,
	.unwind = &x86_64_unwind,
	.code = &x86_64_code,
	.plt = &x86_64_plt,
	.key = &x86_64_key,
	.references = &x86_64_references,
	.spot = &x86_64_spot,
};
