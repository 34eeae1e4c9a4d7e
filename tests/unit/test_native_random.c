// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random programs and stacks for the native walker: text whose rules change at random bytes, in several mappings, and
 * call chains that obey those rules, built from the outermost frame inwards as a processor would. The walk must return
 * exactly the chain.
 */
#include "fake_native.h"
#include "tap.h"

#define STACK      0x7f0000000000ull
#define STACK_SIZE 0x400000ull
#define FILES      5
#define TEXT_SIZE  20000u
#define RULES      60
#define DEPTH_MAX  3000

struct random_program {
	struct fake_native *fake;
	uint64_t random;
	__u64 start[FILES];
	__u16 by_byte[FILES][TEXT_SIZE];
	__u32 first_rule, end_rule;
	/* The stack as it grows. */
	__u64 sp, fp, bx;
	__u64 chain[DEPTH_MAX]; /* outermost first, as the walk shall tell it */
	__u32 depth;
};

static uint64_t rnd(struct random_program *p, uint64_t below)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (p->random >> 11) % below;
}

static void make_rules(struct random_program *p)
{
	int i;

	p->first_rule = p->fake->rule_count;
	for (i = 0; i < RULES; i++) {
		int size = 8 * (int)(1 + rnd(p, rnd(p, 8) ? 20 : 900));

		switch (rnd(p, 8)) {
		case 0:
		case 1: /* BX saved below the frame pointer, or not */
			fake_rule(p->fake, UNWIND_FP, 16, -16, rnd(p, 2) ? 3 + (int)rnd(p, rnd(p, 8) ? 6 : 252) : 0);
			break;
		case 2: /* FP saved, and used for something else */
			size += 8;
			fake_rule(p->fake, UNWIND_SP, size, -16 - 8 * (int)rnd(p, (uint64_t)size / 8 - 1), 0);
			break;
		case 3: /* FP and BX */
			size += 16;
			fake_rule(p->fake, UNWIND_SP, size, -16,
				  3 + (int)rnd(p, (uint64_t)(size < 2032 ? size : 2032) / 8 - 2));
			break;
		case 4:
			fake_rule(p->fake, UNWIND_FP_DEREF, UNWIND_NUMBERED(-8, 0), UNWIND_FP_AT_FP,
				  rnd(p, 2) ? 2 + (int)rnd(p, 13) : 0);
			break;
		case 5: /* the CFA is in BX */
			fake_rule(p->fake, UNWIND_REGISTER, UNWIND_NUMBERED(size, REG_CARRIED), UNWIND_FP_SAME,
				  2 + (int)rnd(p, 13));
			break;
		default:
			fake_rule(p->fake, UNWIND_SP, size, UNWIND_FP_SAME, 0);
		}
	}
	p->end_rule = fake_rule(p->fake, UNWIND_END, 0, 0, 0);
}

static void make_text(struct random_program *p)
{
	__u32 file, i, rule = 0, left;

	for (file = 0; file < FILES; file++) {
		__u32 skip = (__u32)rnd(p, 600), first;

		for (i = left = 0; i < TEXT_SIZE; i++, left--) {
			if (!left) {
				left = 1 + (__u32)rnd(p, rnd(p, 3) ? 30 : 1500);
				rule = p->first_rule + (__u32)rnd(p, RULES + 1);
			}
			p->by_byte[file][i] = (__u16)rule;
		}
		first = fake_pages(p->fake, p->by_byte[file], TEXT_SIZE);
		p->start[file] = 0x400000 + 0x100000ull * file + 16 * rnd(p, 1000);
		fake_mapping(p->fake, p->start[file] + skip, p->start[file] + TEXT_SIZE, MAPPING_TABLE, first,
			     p->fake->page_count - first, skip);
		/* The part that is not mapped holds no call. */
		for (i = 0; i < skip; i++)
			p->by_byte[file][i] = 0;
	}
}

/* An instruction whose rule is END, or is not; its address. */
static __u64 pick(struct random_program *p, bool end, __u32 *rule)
{
	for (;;) {
		__u32 file = (__u32)rnd(p, FILES), at = (__u32)rnd(p, TEXT_SIZE);

		*rule = p->by_byte[file][at];
		if (*rule >= p->first_rule && (*rule == p->end_rule) == end)
			return p->start[file] + at;
	}
}

/* A function that saves BX uses it. */
static void save_bx(struct random_program *p, __u64 slot, bool saved)
{
	if (!saved)
		return;
	fake_put64(&p->fake->memory, slot, p->bx);
	p->bx = rnd(p, UINT32_MAX);
}

/* Enters a function whose caller's stack pointer, before the call, is p->sp: what `rule` says is put on the stack. */
static void enter(struct random_program *p, const struct unwind_rule *rule, __u64 return_address)
{
	struct fake_memory *m = &p->fake->memory;
	__u64 cfa = p->sp, locals = 8 * rnd(p, rnd(p, 30) ? 20 : 1000);

	fake_put64(m, cfa - 8, return_address);
	switch (rule->kind) {
	case UNWIND_FP:
		fake_put64(m, cfa - 16, p->fp);
		p->fp = cfa - 16;
		p->sp = cfa - (rule->param > 2 ? 8ull * rule->param : 16) - locals;
		save_bx(p, cfa - 8ull * rule->param, rule->param);
		break;
	case UNWIND_FP_DEREF:
		fake_put64(m, ((cfa - 256) & ~31ull), p->fp);
		p->fp = (cfa - 256) & ~31ull;
		fake_put64(m, p->fp - 8, cfa);
		p->sp = p->fp - 8 * 16 - locals;
		save_bx(p, p->fp - 8ull * rule->param, rule->param);
		break;
	case UNWIND_REGISTER:
		save_bx(p, cfa - 8ull * rule->param, 1);
		p->bx = cfa - (__u64)UNWIND_OFFSET(rule);
		p->sp = cfa - 8 * 16 - locals;
		break;
	default:
		p->sp = cfa - (__u64)rule->cfa_offset;
		if (rule->fp_offset != UNWIND_FP_SAME) {
			fake_put64(m, cfa + rule->fp_offset, p->fp);
			p->fp = rnd(p, UINT32_MAX);
		}
		save_bx(p, cfa - 8ull * rule->param, rule->param);
	}
}

/* Builds a call chain and walks it. The number of differences. */
static int run(struct random_program *p, __u32 depth)
{
	__u64 pc, wrong = 0;
	__u32 rule, i;

	p->sp = STACK + STACK_SIZE - 8 * rnd(p, 1000);
	p->fp = p->bx = 0;
	p->depth = 0;
	pc = pick(p, true, &rule);
	for (;;) {
		/* The innermost one is interrupted, the others call: they return to the byte after. */
		bool innermost = p->depth + 1 == depth || p->sp < STACK + 0x20000;

		p->chain[p->depth++] = innermost ? pc : (pc + 1) | NATIVE_RETURN_ADDRESS;
		if (innermost)
			break;
		pick(p, false, &rule);
		enter(p, &p->fake->rules[rule], pc + 1);
		for (pc = 0; !pc;) { /* any place with the rule that was entered by */
			__u32 file = (__u32)rnd(p, FILES), at = (__u32)rnd(p, TEXT_SIZE);

			while (at < TEXT_SIZE && p->by_byte[file][at] != rule)
				at++;
			if (at < TEXT_SIZE)
				pc = p->start[file] + at;
		}
	}
	p->fake->s->native.registers[REG_CARRIED] = p->bx;
	fake_native_walk(p->fake, pc, p->sp, p->fp);
	wrong += p->fake->s->native.loss != LOSS_NONE || p->fake->s->native.count != p->depth;
	for (i = 0; !wrong && i < p->depth; i++)
		wrong += p->fake->s->native_stack.frames[i] != p->chain[p->depth - 1 - i];
	return wrong != 0;
}

int main(void)
{
	struct random_program *p = calloc(1, sizeof(*p));
	int program, i, wrong, walks = 0;
	uint64_t frames = 0, reads = 0;

	for (program = 1; program <= 20; program++) {
		p->random = (uint64_t)program * 0x9e3779b97f4a7c15ull;
		p->fake = fake_native_create();
		fake_map(&p->fake->memory, STACK, STACK_SIZE);
		make_rules(p);
		make_text(p);
		for (i = wrong = 0; i < tap_rounds(50); i++, walks++) {
			wrong += run(p, 1 + (__u32)rnd(p, i % 10 ? 60 : DEPTH_MAX));
			frames += p->depth;
			reads += p->fake->memory.reads;
		}
		is_int(wrong, 0, "program %d: its stacks are walked", program);
		fake_native_destroy(p->fake);
	}
	printf("# %d walks, %" PRIu64 " frames, %" PRIu64 " reads\n", walks, frames, reads);
	free(p);
	return tap_done();
}
