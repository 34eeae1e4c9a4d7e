// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/audit.h>

#include "arch/aarch64/parts.h"
#include "base/disassembler.h"

/* struct user_pt_regs of arch/arm64/include/uapi/asm/ptrace.h: regs[31], sp, pc, pstate. */
#define AT_X(n) ((n)*8)
#define AT_SP   248
#define AT_PC   256
#define AT_MODE 264

/* DWARF's numbers: AADWARF64, 4.1. */
#define X(n)                                                                                                           \
	{                                                                                                              \
		"x" #n, "r" #n, AT_X(n), n                                                                             \
	}

static const struct arch_register registers[] = {
	X(0),
	X(1),
	X(2),
	X(3),
	X(4),
	X(5),
	X(6),
	X(7),
	X(8),
	X(9),
	X(10),
	X(11),
	X(12),
	X(13),
	X(14),
	X(15),
	X(16),
	X(17),
	X(18),
	X(19),
	X(20),
	X(21),
	X(22),
	X(23),
	X(24),
	X(25),
	X(26),
	X(27),
	X(28),
	X(29),
	X(30),
	{"sp", NULL, AT_SP, 31},
	{"pc", "ip", AT_PC, 32},
	{"fp", NULL, AT_X(29), ARCH_NO_NUMBER},
	{"lr", NULL, AT_X(30), ARCH_NO_NUMBER},
	{"pstate", NULL, AT_MODE, ARCH_NO_NUMBER},
	{},
};

static const struct arch_saved saved[] = {
	{"R_X0", 0, NULL}, {"R_X1", 1, NULL}, {"R_X2", 2, NULL}, {"R_X3", 3, NULL}, {"R_X4", 4, NULL},
	{"R_X5", 5, NULL}, {"R_X6", 6, NULL}, {"R_X7", 7, NULL}, {"R_X8", 8, NULL}, {"R_X9", 9, NULL},
	{"R_X10", 10, NULL}, {"R_X11", 11, NULL}, {"R_X12", 12, NULL}, {"R_X13", 13, NULL}, {"R_X14", 14, NULL},
	{"R_X15", 15, NULL}, {"R_X16", 16, NULL}, {"R_X17", 17, NULL}, {"R_X18", 18, NULL}, {"R_X19", 19, NULL},
	{"R_X20", 20, NULL}, {"R_X21", 21, NULL}, {"R_X22", 22, NULL}, {"R_X23", 23, NULL}, {"R_X24", 24, NULL},
	{"R_X25", 25, NULL}, {"R_X26", 26, NULL}, {"R_X27", 27, NULL}, {"R_X28", 28, NULL}, {"R_X29", 29, NULL},
	{"R_X30", 30, NULL}, {"R_SP", 31, NULL}, {"R_PC", 32, NULL}, {"R_PSTATE", 33, NULL}, {"R_FP", 29, NULL},
	{},
};

/* AAPCS64, 6.8.2. */
static const uint16_t arguments[] = {AT_X(0), AT_X(1), AT_X(2), AT_X(3), AT_X(4), AT_X(5), AT_X(6), AT_X(7)};

static const struct arch_descriptor descriptors[] = {{}};

/* Relocations: AAELF64, 5.7.16. */
const struct arch aarch64 = {
	.machine = EM_AARCH64,
	.name = "AArch64",
	.triplet = "aarch64-linux-gnu",
	.macro = "__aarch64__",
	.capstone = CS_ARCH_ARM64,
	.capstone_mode = CS_MODE_ARM,
	.audit = AUDIT_ARCH_AARCH64,
	.relative = R_AARCH64_RELATIVE,
	.jump_slot = R_AARCH64_JUMP_SLOT,
	.glob_dat = R_AARCH64_GLOB_DAT,
	.absolute = R_AARCH64_ABS64,
	.tls_offset = R_AARCH64_TLS_TPREL,
	.tls_module = R_AARCH64_TLS_DTPMOD,
	.tls_descriptor = R_AARCH64_TLSDESC,
	.descriptors = descriptors,
	.tls_after = 16, /* the thread control block: AAELF64, "TLS variant 1" */
	.registers = registers,
	.saved = saved,
	.context_pc = AT_PC,
	.context_sp = AT_SP,
	.context_result = AT_X(0),
	.context_mode = AT_MODE,
	.mode_mask = 15, /* PSR_MODE_MASK, without that of 32 bits */
	.mode_user = 0,
	.arguments = arguments,
	.argument_count = sizeof(arguments) / sizeof(arguments[0]),
	.usdt_operand = aarch64_usdt_operand,
	.unwind = &aarch64_unwind,
	.code = &aarch64_code,
	.plt = &aarch64_plt,
	.key = &aarch64_key,
	.references = &aarch64_references,
};
