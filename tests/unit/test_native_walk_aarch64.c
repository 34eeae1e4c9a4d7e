// SPDX-License-Identifier: GPL-2.0-or-later
/* The native walker on AArch64's stacks, with this machine's compiler: the return address is in LR, or beside FP. */
#define ARCH_AARCH64
#include "fake_native.h"
#include "tap.h"

#define TEXT   0x400000ull /* functions of one page, one behind the other */
#define STACK  0x7ff000000000ull
#define RET    NATIVE_RETURN_ADDRESS
#define SIGNED 0x0035000000000000ull /* a signature in the bits above an address */

enum { F_LEAF, F_RECORD, F_LARGE, F_SLOT, F_FP, F_IN_X19, F_LOST, F_SIGNAL, F_END, F_COUNT };

static struct fake_native *usual(void)
{
	struct fake_native *fake = fake_native_create();
	const __u32 rules[F_COUNT] = {
		[F_LEAF] = fake_rule(fake, UNWIND_SP, 0, UNWIND_FP_SAME, UNWIND_SLOT_SAME),
		[F_RECORD] = fake_rule(fake, UNWIND_SP, 32, -32, UNWIND_SLOT_BESIDE_FP),
		[F_LARGE] = fake_rule(fake, UNWIND_SP, 0x3000, -0x3000, UNWIND_SLOT_BESIDE_FP),
		[F_SLOT] = fake_rule(fake, UNWIND_SP, 48, UNWIND_FP_SAME, 6),
		[F_FP] = fake_rule(fake, UNWIND_FP, 64, -64, UNWIND_SLOT_BESIDE_FP),
		[F_IN_X19] =
			fake_rule(fake, UNWIND_RA_REGISTER, UNWIND_NUMBERED(0, 19), UNWIND_FP_SAME, UNWIND_SLOT_SAME),
		[F_LOST] = fake_rule(fake, UNWIND_SP, 16, UNWIND_FP_SAME, UNWIND_SLOT_UNDEFINED),
		[F_SIGNAL] = fake_rule(fake, UNWIND_SIGNAL, 312, 0, 0),
		[F_END] = fake_rule(fake, UNWIND_END, 0, 0, 0),
	};
	int i;

	for (i = 0; i < F_COUNT; i++)
		fake_function(fake, TEXT + 0x1000ull * i, 0x1000, rules[i]);
	fake_map(&fake->memory, STACK, 0x8000);
	return fake;
}

static __u64 in(int function)
{
	return TEXT + 0x1000ull * function + 0x100;
}

static void walk(struct fake_native *fake, __u64 pc, __u64 sp, __u64 fp, __u64 lr)
{
	fake->s->native.registers[REG_CARRIED] = lr;
	fake_native_walk(fake, pc, sp, fp);
}

/* A frame record. */
static void record(struct fake_native *fake, __u64 at, __u64 fp, __u64 lr)
{
	fake_put64(&fake->memory, at, fp);
	fake_put64(&fake->memory, at + 8, lr);
}

static void test_frames(void)
{
	struct fake_native *fake = usual();
	__u64 sp = STACK + 0x1000;

	record(fake, sp, sp + 0x100, in(F_SLOT));
	fake_put64(&fake->memory, sp + 32, in(F_FP)); /* F_SLOT: CFA - 48 */
	record(fake, sp + 0x100, sp + 0x200, in(F_LARGE));
	record(fake, sp + 0x140, sp + 0x200, in(F_END)); /* below 0x3000 bytes of locals */
	walk(fake, in(F_LEAF), sp, 0, in(F_RECORD));
	frames_are(fake, LOSS_NONE, "a leaf, and records", in(F_LEAF), RET | in(F_RECORD), RET | in(F_SLOT),
		   RET | in(F_FP), RET | in(F_LARGE), RET | in(F_END));
	is_int(fake->memory.reads, 1, "one read");
	is_int(fake->s->native.sp, sp + 0x140 + 0x3000, "SP is the CFA");
	is_int(fake->s->native.fp, sp + 0x200, "FP is what the record says");

	record(fake, sp, sp + 0x100, in(F_SLOT) | SIGNED);
	fake_put64(&fake->memory, sp + 32, in(F_END) | SIGNED);
	walk(fake, in(F_LEAF), sp, 0, in(F_RECORD) | SIGNED);
	frames_are(fake, LOSS_NONE, "signed return addresses", in(F_LEAF), RET | in(F_RECORD), RET | in(F_SLOT),
		   RET | in(F_END));

	fake->s->native.registers[19] = in(F_END);
	walk(fake, in(F_IN_X19), sp, 0, in(F_RECORD));
	frames_are(fake, LOSS_NONE, "in another register", in(F_IN_X19), RET | in(F_END));
	fake_native_destroy(fake);
}

/* Nothing is guessed. */
static void test_lost(void)
{
	struct fake_native *fake = usual();
	__u64 sp = STACK + 0x1000;

	record(fake, sp, sp + 0x100, in(F_LEAF));
	walk(fake, in(F_RECORD), sp, 0, in(F_END));
	frames_are(fake, LOSS_BAD_RULE, "a caller that has not saved LR", in(F_RECORD), RET | in(F_LEAF));
	walk(fake, in(F_LOST), sp, 0, in(F_END));
	frames_are(fake, LOSS_BAD_RULE, "LR cannot be recovered", in(F_LOST));
	walk(fake, in(F_LEAF), sp, 0, 0);
	frames_are(fake, LOSS_NONE, "LR is 0: the outermost frame", in(F_LEAF));
	record(fake, sp, sp + 0x100, in(F_FP));
	record(fake, sp + 0x100, sp + 0x100, in(F_FP));
	walk(fake, in(F_RECORD), sp, 0, 0);
	frames_are(fake, LOSS_ODD_STACK, "a record that leads to itself", in(F_RECORD), RET | in(F_FP), RET | in(F_FP));
	fake_native_destroy(fake);
}

static void test_signal(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, frame = STACK + 0x200, regs = frame + 312;
	int i;

	for (i = 0; i < 31; i++)
		fake_put64(m, regs + 8ull * (unsigned int)i, 0xdead0000ull + (unsigned int)i);
	fake_put64(m, regs + 30 * 8, in(F_RECORD)); /* LR of the interrupted function, a leaf */
	fake_put64(m, regs + 31 * 8, sp);
	fake_put64(m, regs + 32 * 8, in(F_LEAF));
	record(fake, frame - 32, 0, in(F_SIGNAL));
	record(fake, sp, sp + 0x100, in(F_END));
	walk(fake, in(F_RECORD), frame - 32, 0, 0);
	frames_are(fake, LOSS_NONE, "through a signal to a leaf", in(F_RECORD), RET | in(F_SIGNAL), in(F_LEAF),
		   RET | in(F_RECORD), RET | in(F_END));
	is_int(fake->s->native.registers[7], 0xdead0007, "x7 is its own");
	fake_native_destroy(fake);
}

/* Code without tables: the record is known, and where the CFA is, is not. */
static void test_generated(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, code = TEXT + 0x100000, at = code + 0x40;

	fake_mapping(fake, code, code + 0x1000, MAPPING_FP_CHAIN, 0, 0, 0);
	fake_map(m, code, 0x1000);
	record(fake, sp + 0x20, sp + 0x80, at + 0x200);
	record(fake, sp + 0x80, sp + 0xc0, in(F_FP));
	record(fake, sp + 0xc0, sp + 0x180, in(F_RECORD));
	record(fake, sp + 0x100, sp + 0x180, in(F_END));
	fake_put64(m, at, 0x8b010000d503201full);
	walk(fake, at, sp, sp + 0x20, in(F_END));
	frames_are(fake, LOSS_NONE, "records, and SP again by FP", at, RET | (at + 0x200), RET | in(F_FP),
		   RET | in(F_RECORD), RET | in(F_END));
	fake_put64(m, at, 0xa9bf7bfd);
	walk(fake, at, sp, sp + 0x80, at + 0x200);
	frames_are(fake, LOSS_NONE, "before a record is made", at, RET | (at + 0x200), RET | in(F_FP),
		   RET | in(F_RECORD), RET | in(F_END));
	fake_put64(m, at, 0x910003fd);
	walk(fake, at, sp + 0x20, sp + 0x80, 0);
	frames_are(fake, LOSS_NONE, "before FP points to it", at, RET | (at + 0x200), RET | in(F_FP),
		   RET | in(F_RECORD), RET | in(F_END));
	record(fake, sp + 0x80, sp + 0xc0, in(F_RECORD));
	walk(fake, at, sp + 0x20, sp + 0x80, 0);
	frames_are(fake, LOSS_BAD_RULE, "SP is not known behind a record", at, RET | (at + 0x200), RET | in(F_RECORD));
	fake_native_destroy(fake);
}

int main(void)
{
	test_frames();
	test_lost();
	test_signal();
	test_generated();
	return tap_done();
}
