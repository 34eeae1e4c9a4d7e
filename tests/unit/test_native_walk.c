// SPDX-License-Identifier: GPL-2.0-or-later
/* The native walker (src/bpf/native.h), compiled for the host, on stacks and tables made by hand. */
#include "fake_native.h"
#include "tap.h"

#define TEXT  0x400000ull /* functions of one page, one behind the other */
#define STACK 0x7ff000000000ull
#define RET   NATIVE_RETURN_ADDRESS

/* The functions of TEXT: each has one rule throughout. */
enum { F_SP16, F_SP8, F_FP, F_SP32_FP, F_END, F_COUNT };

static struct fake_native *usual(void)
{
	struct fake_native *fake = fake_native_create();
	const __u32 rules[F_COUNT] = {
		[F_SP16] = fake_rule(fake, UNWIND_SP, 16, UNWIND_FP_SAME, 0),
		[F_SP8] = fake_rule(fake, UNWIND_SP, 8, UNWIND_FP_SAME, 0),
		[F_FP] = fake_rule(fake, UNWIND_FP, 16, -16, 0),
		[F_SP32_FP] = fake_rule(fake, UNWIND_SP, 32, -24, 0),
		[F_END] = fake_rule(fake, UNWIND_END, 0, 0, 0),
	};
	int i;

	for (i = 0; i < F_COUNT; i++)
		fake_function(fake, TEXT + 0x1000ull * i, 0x1000, rules[i]);
	fake_map(&fake->memory, STACK, 0x4000);
	return fake;
}

static __u64 in(int function)
{
	return TEXT + 0x1000ull * function + 0x100;
}

/* A function more, behind those of TEXT; an address in it. */
static __u64 more(struct fake_native *fake, int kind, int cfa_offset, int fp_offset, int param)
{
	__u64 start = TEXT + 0x1000ull * fake->process.mapping_count;

	fake_function(fake, start, 0x1000, fake_rule(fake, kind, cfa_offset, fp_offset, param));
	return start + 0x100;
}

static void test_usual_rules(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1100;

	fake_put64(m, sp + 8, in(F_FP));
	fake_put64(m, STACK + 0x1200, STACK + 0x1300); /* saved FP */
	fake_put64(m, STACK + 0x1208, in(F_SP32_FP));
	fake_put64(m, STACK + 0x1210 + 8, STACK + 0x1400);
	fake_put64(m, STACK + 0x1210 + 24, in(F_FP));
	fake_put64(m, STACK + 0x1408, in(F_END));
	fake_native_walk(fake, in(F_SP16), sp, STACK + 0x1200);
	frames_are(fake, LOSS_NONE, "SP and FP rules, FP saved by either", in(F_SP16), RET | in(F_FP),
		   RET | in(F_SP32_FP), RET | in(F_FP), RET | in(F_END));
	is_int(m->reads, 1, "five frames, one read");

	fake_put64(m, STACK + 0x1408, 0);
	fake_native_walk(fake, in(F_SP16), sp, STACK + 0x1200);
	frames_are(fake, LOSS_NONE, "a return address of 0 ends the stack", in(F_SP16), RET | in(F_FP),
		   RET | in(F_SP32_FP), RET | in(F_FP));
	fake_native_walk(fake, in(F_END), sp, 0);
	frames_are(fake, LOSS_NONE, "the outermost frame alone", in(F_END));
	fake_native_destroy(fake);
}

/* The return address on one page, the saved FP on the page before; and unreadable pages around. */
static void test_windows(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;

	fake_put64(m, STACK + 0x2008 - 16, STACK + 0x2100);
	fake_put64(m, STACK + 0x2008 - 8, in(F_FP));
	fake_put64(m, STACK + 0x2108, in(F_END));
	fake_native_walk(fake, in(F_FP), STACK + 0x1f00, STACK + 0x2008 - 16);
	frames_are(fake, LOSS_NONE, "a frame that crosses a page", in(F_FP), RET | in(F_FP), RET | in(F_END));
	is_int(m->reads, 1, "is read at once, with what follows");
	fake_native_destroy(fake);

	fake = usual();
	m = &fake->memory;
	fake_put64(m, STACK + 8, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK, 0);
	frames_are(fake, LOSS_NONE, "nothing below the first page is needed", in(F_SP16), RET | in(F_END));
	fake_put64(m, STACK + 0x3ff8, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x3ff0, 0);
	frames_are(fake, LOSS_NONE, "nor above the last", in(F_SP16), RET | in(F_END));
	is_int(m->failed, 0, "nor tried");
	fake_native_walk(fake, in(F_SP16), STACK + 0x3ff8, 0);
	frames_are(fake, LOSS_STACK_READ, "a return address beyond the stack", in(F_SP16));
	fake_native_walk(fake, in(F_FP), STACK, STACK + 0x8000);
	frames_are(fake, LOSS_STACK_READ, "an FP that points nowhere", in(F_FP));
	/* Half a page is readable: the window cannot be filled, the slots can be read. */
	fake_map(m, STACK + 0x10000, 0x800);
	fake_put64(m, STACK + 0x10018, in(F_FP));
	fake_put64(m, STACK + 0x10100, 0);
	fake_put64(m, STACK + 0x10108, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x10010, STACK + 0x10100);
	frames_are(fake, LOSS_NONE, "a window that cannot be filled is not needed", in(F_SP16), RET | in(F_FP),
		   RET | in(F_END));
	fake_native_destroy(fake);
}

/* Saved FPs in odd places: far below the CFA, at addresses that are no multiples of 8, above the CFA. */
static void test_odd_slots(void)
{
	static const int offsets[] = {-16, -600, -4096, -8000, -20, -8200, 8, 64, 2000, -8};
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	char name[64];
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		__u64 pc = more(fake, UNWIND_SP, 16, offsets[i], 0), cfa = STACK + 0x2ff0;

		fake_put64(m, cfa - 8, in(F_FP));
		if (offsets[i] != -8) /* where the return address is, FP cannot be */
			fake_put64(m, cfa + offsets[i], STACK + 0x3100);
		fake_put64(m, STACK + 0x3108, in(F_END));
		fake_native_walk(fake, pc, cfa - 16, 0x1234);
		snprintf(name, sizeof(name), "FP saved at CFA%+d", offsets[i]);
		if (offsets[i] == -8)
			ok(fake->s->native.count == 2, "%s", name);
		else
			frames_are(fake, LOSS_NONE, name, pc, RET | in(F_FP), RET | in(F_END));
	}
	fake_put64(m, STACK + 0x111c, in(F_FP));
	fake_put64(m, STACK + 0x1208, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x1114, STACK + 0x1200);
	frames_are(fake, LOSS_NONE, "a stack pointer that is no multiple of 8", in(F_SP16), RET | in(F_FP),
		   RET | in(F_END));
	fake_native_destroy(fake);
}

static void test_rare_rules(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, drap = more(fake, UNWIND_FP_DEREF, UNWIND_NUMBERED(-8, 0), UNWIND_FP_AT_FP, 0),
	      deref = more(fake, UNWIND_SP_DEREF, UNWIND_NUMBERED(24, 1), -16, 0),
	      plt = more(fake, UNWIND_PLT, 11, UNWIND_FP_SAME, 0),
	      at_fp = more(fake, UNWIND_SP, 64, UNWIND_FP_AT_FP, 0),
	      reg = more(fake, UNWIND_REGISTER, UNWIND_NUMBERED(16, 12), UNWIND_FP_SAME, 0);

	/* GCC's DRAP: lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10 */
	fake_put64(m, sp + 0x40 - 8, sp + 0x108); /* r10, the CFA */
	fake_put64(m, sp + 0x40, sp + 0x200);     /* rbp */
	fake_put64(m, sp + 0x100, in(F_FP));
	fake_put64(m, sp + 0x208, in(F_END));
	fake_native_walk(fake, drap, sp, sp + 0x40);
	frames_are(fake, LOSS_NONE, "a realigned stack (DRAP)", drap, RET | in(F_FP), RET | in(F_END));
	fake_native_walk(fake, at_fp, sp + 0x108 - 64, sp + 0x40);
	frames_are(fake, LOSS_NONE, "FP saved at FP, CFA from SP", at_fp, RET | in(F_FP), RET | in(F_END));
	fake_put64(m, sp + 24, sp + 0x100); /* CFA = *(sp + 24) + 8 */
	fake_put64(m, sp + 0xf8, sp + 0x200);
	fake_native_walk(fake, deref, sp, 0);
	frames_are(fake, LOSS_NONE, "CFA through the stack", deref, RET | in(F_FP), RET | in(F_END));
	fake_native_walk(fake, deref, STACK + 0x4000 - 24, 0);
	frames_are(fake, LOSS_STACK_READ, "which cannot be read", deref);
	fake_put64(m, sp + 24, sp - 8);
	fake_native_walk(fake, deref, sp, 0);
	frames_are(fake, LOSS_ODD_STACK, "which leads back", deref);
	fake_put64(m, sp + 0x308, in(F_FP));
	fake_native_walk(fake, at_fp, sp + 0x310 - 64, 0xdead0000);
	frames_are(fake, LOSS_STACK_READ, "FP saved where nothing is", at_fp);

	plt &= ~15ull;
	fake_put64(m, sp, in(F_END));
	fake_put64(m, sp + 8, in(F_FP));
	fake_native_walk(fake, plt + 10, sp, 0);
	frames_are(fake, LOSS_NONE, "a PLT stub before its push", plt + 10, RET | in(F_END));
	fake_native_walk(fake, plt + 11, sp, sp + 0x200);
	frames_are(fake, LOSS_NONE, "and after it", plt + 11, RET | in(F_FP), RET | in(F_END));
	fake->s->native.registers[12] = sp + 0xf8;
	fake_native_walk(fake, reg, sp, sp + 0x200);
	frames_are(fake, LOSS_NONE, "CFA from another register", reg, RET | in(F_FP), RET | in(F_END));
	fake_put64(m, sp + 8, reg);
	fake_native_walk(fake, in(F_SP16), sp, 0);
	frames_are(fake, LOSS_BAD_RULE, "which is not known in a caller", in(F_SP16), RET | reg);
	fake_put64(m, sp + 0x100, reg);
	fake_native_walk(fake, drap, sp, sp + 0x40);
	frames_are(fake, LOSS_BAD_RULE, "nor in a realigned one's", drap, RET | reg);
	fake_native_destroy(fake);
}

/* Where generated code has no frame pointer (yet, any more, or never), its instructions tell the CFA. */
static void test_generated_code(void)
{
	static const struct {
		const char *what, *code;
		int sp; /* where the return address is, in words from SP on */
		bool behind, saved;
	} cases[] = {
		{"push %rbp; mov %rsp, %rbp", "\x55\x48\x89\xe5\x48\x83\xec\x10", 0, false, false},
		{"the same, as other assemblers have it", "\x55\x48\x8b\xec\x48\x83\xec\x10", 0, false, false},
		{"endbr64; push %rbp; mov %rsp, %rbp", "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 0, false, false},
		{"mov %rsp, %rbp; call *%rcx; pop %rbp; ret", "\x48\x89\xe5\xff\xd1\x5d\xc3", 1, false, true},
		{"pop %rbp; ret", "\x5d\xc3", 1, false, true},
		{"pop %rbp; ret behind a call", "\x5d\xc3", 1, true, true},
		{"ret", "\xc3", 0, false, false},
		{"sub $8, %rsp; call *%rcx; add $8, %rsp; ret", "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", 0,
		 false, false},
		{"endbr64 and that", "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", 0, false, false},
		{"call *%rcx; add $8, %rsp; ret", "\xff\xd1\x48\x83\xc4\x08\xc3", 1, false, false},
		{"add $8, %rsp; ret behind a call", "\x48\x83\xc4\x08\xc3", 1, true, false},
		{"call *%rcx in a function that goes on", "\xff\xd1\x48\x83\xc4\x08\x90", -1, false, false},
		{"sub $72, %rsp; call *%rcx; add $8, %rsp; ret", "\x48\x83\xec\x48\xff\xd1\x48\x83\xc4\x08\xc3", -1,
		 false, false},
		{"push %rbp; mov %rsp, %rbp behind a call", "\x55\x48\x89\xe5", -1, true, false},
		{"push %rbp alone", "\x55\x90", -1, false, false},
	};
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, jit = 0x10000000, at, frames = sp + 0x200, caller = sp + 0x400;
	unsigned int i, k;

	fake_mapping(fake, jit, jit + 0x1000, MAPPING_FP_CHAIN, 0, 0, 0);
	fake_map(m, jit, 0x1000);
	/* The chain of frame pointers leads to jit + 0x810 from `frames`, and to jit + 0x820 from `caller`. */
	fake_put64(m, frames, caller);
	fake_put64(m, frames + 8, jit + 0x810);
	fake_put64(m, caller, caller + 0x10);
	fake_put64(m, caller + 8, jit + 0x820);
	fake_put64(m, caller + 0x18, in(F_END));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool behind = cases[i].behind, told = cases[i].sp >= 0;
		__u64 code[2] = {0}, next = RET | (jit + (told ? 0x800 : 0x810));

		at = jit + 0x100 + 0x20 * i;
		memcpy(code, cases[i].code, strlen(cases[i].code));
		fake_put64(m, at, code[0]);
		fake_put64(m, at + 8, code[1]);
		for (k = 0; k < 6; k++)
			fake_put64(m, sp + 8 * k, caller);
		if (behind)
			fake_put64(m, sp + 8, at);
		if (told)
			fake_put64(m, sp + (behind ? 16 : 0) + 8 * (__u32)cases[i].sp, jit + 0x800);
		fake_native_walk(fake, behind ? in(F_SP16) : at, sp, cases[i].saved ? 0x1234 : told ? caller : frames);
		if (behind)
			frames_are(fake, LOSS_NONE, cases[i].what, in(F_SP16), RET | at, next, RET | (jit + 0x820),
				   RET | in(F_END));
		else
			frames_are(fake, LOSS_NONE, cases[i].what, at, next, RET | (jit + 0x820), RET | in(F_END));
	}
	fake_native_destroy(fake);
}

/* Code of a file that keeps frame pointers: its instructions are read once, and the memo keeps what they tell. */
static void test_chain_of_file(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, text = 0x10000000, fp = sp + 0x200;
	__u32 chain = fake_rule(fake, UNWIND_FP_CHAIN, 0, 0, UNWIND_CHAIN_OF_FILE);

	fake_function(fake, text, 0x1000, chain);
	fake_map(m, text, 0x1000);
	fake_put64(m, text + 0x100, 0xe5894855); /* push %rbp; mov %rsp, %rbp */
	fake_put64(m, text + 0x110, 0x08c2);     /* ret $8 */
	fake_put64(m, sp, text + 0x800);
	fake_put64(m, fp, fp + 0x10);
	fake_put64(m, fp + 8, in(F_END));
	fake_native_walk(fake, text + 0x100, sp, fp);
	frames_are(fake, LOSS_NONE, "at a function's start", text + 0x100, RET | (text + 0x800), RET | in(F_END));
	fake_native_walk(fake, text + 0x110, sp, fp);
	frames_are(fake, LOSS_NONE, "at its return", text + 0x110, RET | (text + 0x800), RET | in(F_END));
	fake_native_walk(fake, text + 0x200, sp, fp);
	frames_are(fake, LOSS_NONE, "in its body", text + 0x200, RET | in(F_END));
	fake_put64(m, text + 0x100, 0x90909090); /* what was read once is remembered */
	fake_native_walk(fake, text + 0x100, sp, fp);
	frames_are(fake, LOSS_NONE, "and again", text + 0x100, RET | (text + 0x800), RET | in(F_END));
	fake_native_destroy(fake);
}

/* SBCL's code, interrupted where FP does not lead to its caller: src/runtime/sbcl/bpf/step.h. */
static void test_lisp(void)
{
	enum { OWN, MADE, AT_SP, ROUTINE };
	static const struct {
		const char *what, *before, *code; /* eight bytes before PC, and from there on */
		int where;
	} cases[] = {
		{"about to make a frame", "\x90\x90\x90\x90\x48\x89\x2c\x24", "\x48\x8b\xec\x90", OWN},
		{"a frame is made", "\x90\x48\x89\x2c\x24\x48\x8b\xec", "\xb8\x01\x02\x03\x04\xff\xd0", MADE},
		{"and its function named", "\x48\x8b\xec\xb8\x01\x02\x03\x04", "\xff\xd0\x90", MADE},
		{"by another register", "\x90\x90\x49\x89\x2e\x49\x8b\xee", "\xff\x50\xfd\x90", MADE},
		{"and another one, named", "\x49\x8b\xe8\xb8\x01\x02\x03\x04", "\xff\xd0\x90", MADE},
		{"a function is entered", "\x90\x90\x90\x90\x90\x90\x90\x90", "\x8f\x45\x08\x90", AT_SP},
		{"in a routine", "\x90\x90\x90\x90\x90\x90\x90\x90", "\x90\x90\x90\x90", ROUTINE},
	};
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, jit = 0x10000000, at, new = sp + 0x100, own = sp + 0x200, caller = sp + 0x400, word;
	unsigned int i;

	fake_mapping(fake, jit, jit + 0x2000, MAPPING_FP_CHAIN, 0, 0, 0);
	fake_map(m, jit, 0x2000);
	fake_put64(m, own, caller);
	fake_put64(m, own + 8, jit + 0x810);
	fake_put64(m, caller, 0);
	fake_put64(m, caller + 8, in(F_END));
	/* A word that the frame's owner has not written yet. */
	fake_put64(m, new, own);
	fake_put64(m, new + 8, jit + 0x820);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__u64 fp = cases[i].where == MADE ? new : own;

		at = jit + 0x100 + 0x20 * i;
		memcpy(&word, cases[i].before, 8);
		fake_put64(m, at - 8, word);
		word = 0;
		memcpy(&word, cases[i].code, strlen(cases[i].code));
		fake_put64(m, at, word);
		fake_put64(m, sp, 0);
		if (cases[i].where == AT_SP) {
			fake_put64(m, sp, jit + 0x810);
			fake_put64(m, own + 8, jit + 0x820);
		} else if (cases[i].where == ROUTINE) {
			fake_put64(m, sp, jit + 0xa08);
			/* call *jit + 0xb00, where the routine's address is */
			fake_put64(m, jit + 0xa00, (jit + 0xb00) << 32 | 0x2514ff90);
			fake_put64(m, jit + 0xb00, at - 0x10);
		}
		fake_native_walk(fake, at, sp, fp);
		if (cases[i].where == ROUTINE)
			frames_are(fake, LOSS_NONE, cases[i].what, at, RET | (jit + 0xa08), RET | (jit + 0x810),
				   RET | in(F_END));
		else
			frames_are(fake, LOSS_NONE, cases[i].what, at, RET | (jit + 0x810), RET | in(F_END));
		fake_put64(m, own + 8, jit + 0x810);
	}
	/* The routine has a frame of its own by now, and a copy of its return address. */
	fake_put64(m, new + 8, jit + 0xa08);
	fake_native_walk(fake, at, sp, new);
	frames_are(fake, LOSS_NONE, "a routine with a frame", at, RET | (jit + 0xa08), RET | (jit + 0x810),
		   RET | in(F_END));
	fake_put64(m, jit + 0xb00, at - 0x400);
	fake_native_walk(fake, at, sp, own);
	frames_are(fake, LOSS_NONE, "SP happens to point to a return address", at, RET | (jit + 0x810),
		   RET | in(F_END));
	/* The frame is given up, and the return address stands below BX. */
	memcpy(&word, "\x90\x90\x90\x90\x48\x8b\x6d", 8);
	fake_put64(m, at - 8, word);
	fake_put64(m, at, 0xc3f873ff);
	fake->s->native.registers[REG_CARRIED] = own + 16;
	fake_native_walk(fake, at, sp, caller);
	frames_are(fake, LOSS_NONE, "several values are returned", at, RET | (jit + 0x810), RET | in(F_END));
	fake_native_destroy(fake);
}

/* The CFA by a record at FP, which what was called has taken down: SBCL's way in from C. */
static void test_record(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, record = more(fake, SBCL_ENTRY, UNWIND_NUMBERED(0, 2), -16, 0);

	fake_put64(m, sp, sp + 0x40);
	fake_put64(m, sp + 0x40, sp + 0x80);
	fake_put64(m, sp + 0x48, in(F_END));
	fake_native_walk(fake, record, sp, sp);
	frames_are(fake, LOSS_NONE, "a record at FP", record, RET | in(F_END));
	fake_native_walk(fake, record, sp, sp + 0x40);
	frames_are(fake, LOSS_NONE, "one that was taken down", record, RET | in(F_END));
	fake_native_destroy(fake);
}

/* Code in the frame of what has entered it: the current state names it. */
static void test_entered(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, frame = sp + 0x40, word = STACK + 0x100, state = STACK + 0x200, jit = 0x10000000;
	__u32 rule = fake_rule(fake, UNWIND_ENTERED, UNWIND_NUMBERED(80, 10), -16, 3);

	fake_mapping(fake, jit, jit + 0x1000, MAPPING_RULE, rule, 0, jit - word);
	fake_put64(m, word, state);
	fake_put64(m, state + 80, frame | 1);
	fake_put64(m, frame + 64, 0xf0);
	fake_put64(m, frame + 72, in(F_END));
	fake_native_walk(fake, jit, sp, 0);
	frames_are(fake, LOSS_NONE, "code that was entered", jit, RET | in(F_END));
	ok(fake->s->native.fp == 0xf0 && fake->s->native.sp == frame + 80, "its frame is the entry's");
	fake_put64(m, sp - 8, jit + 0x20);
	fake_native_walk(fake, in(F_SP16), sp - 16, 0);
	frames_are(fake, LOSS_NONE, "the same below what it calls", in(F_SP16), RET | (jit + 0x20), RET | in(F_END));
	is_int(fake->s->native.unmapped, 0, "nothing is missing");
	fake_put64(m, state + 80, sp - 16);
	fake_native_walk(fake, jit, sp, 0);
	frames_are(fake, LOSS_NO_RULE, "a frame below SP is another one's", jit);
	is_int(fake->s->native.unmapped, 1, "user space looks again");
	fake_put64(m, state + 80, sp + UNWIND_SPILL_MAX + 8);
	fake_native_walk(fake, jit, sp, 0);
	frames_are(fake, LOSS_NO_RULE, "so is one that is far above", jit);
	fake_put64(m, word, 0x1000);
	fake_native_walk(fake, jit, sp, 0);
	frames_are(fake, LOSS_STACK_READ, "a state that cannot be read", jit);
	is_int(fake->s->native.unmapped, 1, "user space looks again");
	fake_native_destroy(fake);
}

static void test_ends(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, jit = 0x10000000, kept = 0x18000000, none = 0x20000000, full = 0x30000000,
	      back = more(fake, UNWIND_SP, 0, UNWIND_FP_SAME, 0), odd = more(fake, UNWIND_UNSUPPORTED, 0, 0, 0),
	      unknown = more(fake, 200, 0, 0, 0), no_rule = more(fake, UNWIND_NO_RULE, 0, 0, 0),
	      over_budget = more(fake, UNWIND_OVER_BUDGET, 0, 0, 0);

	fake_mapping(fake, jit, jit + 0x1000, MAPPING_FP_CHAIN, 0, 0, 0);
	fake_mapping(fake, kept, kept + 0x1000, MAPPING_FP_KEPT, 0, 0, 0);
	fake_mapping(fake, none, none + 0x1000, MAPPING_NO_TABLE, 0, 0, 0);
	fake_mapping(fake, full, full + 0x1000, MAPPING_TABLE_FULL, 0, 0, 0);
	fake_put64(m, sp + 0x40, sp + 0x80);
	fake_put64(m, sp + 0x48, jit + 0x20);
	fake_put64(m, sp + 0x88, in(F_END));
	fake_native_walk(fake, jit, sp, sp + 0x40);
	frames_are(fake, LOSS_NONE, "generated code with frame pointers", jit, RET | (jit + 0x20), RET | in(F_END));
	fake_native_walk(fake, jit, sp, sp - 8);
	frames_are(fake, LOSS_NO_MAPPING, "generated code without", jit);
	ok(native_fails_trial(&fake->s->native), "it fails its trial");
	fake_put64(m, sp + 0x48, 0x1234);
	fake_native_walk(fake, jit, sp, sp + 0x40);
	frames_are(fake, LOSS_NO_MAPPING, "a frame pointer that leads out of it", jit, RET | 0x1234);
	ok(native_fails_trial(&fake->s->native), "that does, too");
	fake_put64(m, sp + 0x108, 0x1234);
	fake_native_walk(fake, in(F_SP16), sp + 0x100, 0);
	frames_are(fake, LOSS_NO_MAPPING, "the same in code of a file", in(F_SP16), RET | 0x1234);
	ok(!native_fails_trial(&fake->s->native), "which is not on trial");
	fake_native_walk(fake, kept, sp, sp - 8);
	frames_are(fake, LOSS_NO_MAPPING, "generated code after its trial", kept);
	ok(!native_fails_trial(&fake->s->native), "it is over");
	fake_map(m, jit, 0x1000);
	fake_put64(m, jit + 0x40, 0x9090c308c48348ff); /* ...; add $8, %rsp; ret */
	fake_put64(m, jit + 0x50, 0x90c3);
	fake_put64(m, sp + 8, jit + 0x41);
	fake_put64(m, sp + 0x18, jit + 0x51);
	fake_put64(m, sp + 0x20, in(F_END));
	fake_native_walk(fake, in(F_SP16), sp, 0x1234);
	frames_are(fake, LOSS_NO_MAPPING, "a stub that only gives back its stack", in(F_SP16), RET | (jit + 0x41),
		   RET | (jit + 0x51));
	fake_put64(m, jit + 0x51, 0xc3);
	fake_native_walk(fake, in(F_SP16), sp, 0x1234);
	frames_are(fake, LOSS_NONE, "and one that only returns", in(F_SP16), RET | (jit + 0x41), RET | (jit + 0x51),
		   RET | in(F_END));
	fake_put64(m, jit + 0x41, 0x9090c3f8c48348); /* add $-8, %rsp: no epilogue */
	fake_native_walk(fake, in(F_SP16), sp, 0x1234);
	frames_are(fake, LOSS_NO_MAPPING, "code that takes stack is none", in(F_SP16), RET | (jit + 0x41));
	fake_put64(m, sp + 8, 0);
	is_int(fake->s->native.unmapped, 0, "is no missing mapping");
	fake_native_walk(fake, none, sp, 0);
	frames_are(fake, LOSS_NO_TABLES, "a file without tables", none);
	fake_native_walk(fake, full, sp, 0);
	frames_are(fake, LOSS_TABLE_FULL, "a file that there was no room for", full);
	fake_native_walk(fake, over_budget, sp, 0);
	frames_are(fake, LOSS_OVER_BUDGET, "code that could not be followed", over_budget);
	fake_native_walk(fake, 0x3000, sp, 0);
	frames_are(fake, LOSS_NO_MAPPING, "an address below every mapping", 0x3000);
	is_int(fake->s->native.unmapped, 1, "is a missing mapping");
	fake_put64(m, sp + 8, none + 0x5000);
	fake_native_walk(fake, in(F_SP16), sp, 0);
	frames_are(fake, LOSS_NO_MAPPING, "a return address above them", in(F_SP16), RET | (none + 0x5000));
	fake_native_walk(fake, no_rule, sp, 0);
	frames_are(fake, LOSS_NO_RULE, "no rule", no_rule);
	fake_native_walk(fake, odd, sp, 0);
	frames_are(fake, LOSS_BAD_RULE, "a rule that cannot be evaluated", odd);
	fake_native_walk(fake, unknown, sp, 0);
	frames_are(fake, LOSS_NO_RULE, "a kind that does not exist", unknown);
	fake_native_walk(fake, back, sp, 0);
	frames_are(fake, LOSS_ODD_STACK, "a frame of no size", back);
	fake_native_walk(fake, in(F_FP), sp, sp - 16);
	frames_are(fake, LOSS_ODD_STACK, "an FP below SP", in(F_FP));
	fake_put64(m, sp + 0x40, sp + 0x20);
	fake_put64(m, sp + 0x48, in(F_FP));
	fake_native_walk(fake, in(F_FP), sp, sp + 0x40);
	frames_are(fake, LOSS_ODD_STACK, "a chain that turns back", in(F_FP), RET | in(F_FP));
	fake_native_destroy(fake);
}

/* Saves registers as the kernel does: struct sigcontext, which starts with r8-r15. */
static void put_sigcontext(struct fake_memory *m, __u64 at, __u64 r10, __u64 fp, __u64 sp, __u64 pc)
{
	int i;

	for (i = 0; i < 17; i++)
		fake_put64(m, at + 8ull * i, 0xdead0000ull + i);
	fake_put64(m, at + 16, r10);
	fake_put64(m, at + 80, fp);
	fake_put64(m, at + 120, sp);
	fake_put64(m, at + 128, pc);
}

static void test_signals(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 handler = STACK + 0x200, sp = STACK + 0x1000,
	      trampoline = more(fake, UNWIND_SIGNAL, 40, 0, 0) & ~0xfffull,
	      reg = more(fake, UNWIND_REGISTER, UNWIND_NUMBERED(8, 10), UNWIND_FP_SAME, 0);

	/* The handler returns to the first byte of the trampoline, which no call precedes: its FDE starts a byte early.
	 */
	fake->mappings[F_COUNT - 1].end--;
	fake->mappings[F_COUNT].start--;
	fake->mappings[F_COUNT].bias = TEXT + F_COUNT * 0x1000 - FAKE_PAGE;
	fake->mappings[F_COUNT].page_first = fake->page_count;
	fake->mappings[F_COUNT].page_count = 3;
	for (int i = 0; i < 3; i++)
		fake->pages[fake->page_count++] = PAGE_SINGLE_RULE | (RULE_FIRST_FREE + F_COUNT);

	fake_put64(m, handler, trampoline);
	put_sigcontext(m, handler + 8 + 40, sp + 0x100, sp + 0x200, sp, in(F_FP));
	fake_put64(m, sp + 0x208, in(F_END));
	fake_native_walk(fake, in(F_SP8), handler, 0);
	frames_are(fake, LOSS_NONE, "through a signal frame", in(F_SP8), RET | trampoline, in(F_FP), RET | in(F_END));

	/* Interrupted at the very first byte of a function: looked up exactly, not one before. */
	fake_put64(m, handler + 8 + 40 + 128, TEXT + 0x1000ull * F_SP8);
	fake_put64(m, sp, in(F_END));
	fake_native_walk(fake, in(F_SP8), handler, 0);
	frames_are(fake, LOSS_NONE, "interrupted at a function's first byte", in(F_SP8), RET | trampoline,
		   TEXT + 0x1000ull * F_SP8, RET | in(F_END));

	fake_put64(m, handler + 8 + 40 + 128, reg);
	fake_put64(m, sp + 0x100, in(F_END));
	fake_native_walk(fake, in(F_SP8), handler, 0);
	frames_are(fake, LOSS_NONE, "interrupted code knows its registers", in(F_SP8), RET | trampoline, reg,
		   RET | in(F_END));
	is_int(fake->s->native.registers[8], 0xdead0000, "r8 is the first of them");
	is_int(fake->s->native.registers[2], 0xdead000e, "rcx the last but two");
	/* Back to lower addresses: a signal stack may lie anywhere. */
	put_sigcontext(m, STACK + 0x3028, 0, sp + 0x200, STACK + 0x2900, in(F_SP16));
	fake_put64(m, STACK + 0x3000 - 8, trampoline);
	fake_put64(m, STACK + 0x2908, in(F_END));
	fake_native_walk(fake, in(F_SP8), STACK + 0x3000 - 8, 0);
	frames_are(fake, LOSS_NONE, "SP may go back at a signal frame", in(F_SP8), RET | trampoline, in(F_SP16),
		   RET | in(F_END));
	put_sigcontext(m, STACK + 0x3100 + 40, 0, sp + 0x200, STACK + 0x3008, in(F_SP16));
	fake_put64(m, STACK + 0x3010, in(F_END));
	fake_put64(m, STACK + 0x30f8, trampoline);
	fake_native_walk(fake, in(F_SP8), STACK + 0x30f8, 0);
	frames_are(fake, LOSS_NONE, "on the same page, too", in(F_SP8), RET | trampoline, in(F_SP16), RET | in(F_END));
	/* A window that could not be filled is not the old one any more. */
	fake_map(m, STACK + 0x10000, 0x800);
	fake_put64(m, STACK + 0x10100, STACK + 0x10300);
	fake_put64(m, STACK + 0x10108, trampoline);
	put_sigcontext(m, STACK + 0x10110 + 40, 0, 0, STACK + 0x1100, in(F_SP16));
	fake_put64(m, STACK + 0x1008, in(F_FP));
	fake_put64(m, STACK + 0x1108, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x1000, STACK + 0x10100);
	frames_are(fake, LOSS_NONE, "a window that could not be filled", in(F_SP16), RET | in(F_FP), RET | trampoline,
		   in(F_SP16), RET | in(F_END));
	fake_native_walk(fake, trampoline, STACK + 0x4000 - 100, 0);
	frames_are(fake, LOSS_STACK_READ, "registers beyond the stack", trampoline);
	fake_native_destroy(fake);
}

/* A signal frame that names itself, and a stack of NATIVE_FRAMES_MAX frames and more: every walk ends. */
static void test_limits(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 trampoline = more(fake, UNWIND_SIGNAL, 0, 0, 0), deep = 0x100000000, i, right = 0;
	const __u64 *frames = fake->s->native_stack.frames;

	put_sigcontext(m, STACK, 0, 0, STACK, trampoline);
	fake_native_walk(fake, trampoline, STACK, 0);
	ok(fake->s->native.loss == LOSS_NATIVE_DEPTH && fake->s->native.count == NATIVE_FRAMES_MAX,
	   "a signal frame that interrupts itself ends at the limit");

	fake_map(m, deep, (NATIVE_FRAMES_MAX + 10) * 16ull);
	for (i = 0; i < NATIVE_FRAMES_MAX + 10; i++)
		fake_put64(m, deep + 16 * i + 8, TEXT + 1 + (i & 0xfff));
	fake_native_walk(fake, TEXT, deep, 0);
	for (i = 1; i < NATIVE_FRAMES_MAX; i++)
		right += frames[i] == (RET | (TEXT + 1 + ((i - 1) & 0xfff)));
	ok(fake->s->native.loss == LOSS_NATIVE_DEPTH && fake->s->native.count == NATIVE_FRAMES_MAX, "the depth limit");
	is_int(right, NATIVE_FRAMES_MAX - 1, "leaves the innermost part");
	fake_put64(m, deep + 16 * (NATIVE_FRAMES_MAX - 2) + 8, in(F_END));
	fake_native_walk(fake, TEXT, deep, 0);
	ok(fake->s->native.loss == LOSS_NONE && fake->s->native.count == NATIVE_FRAMES_MAX,
	   "a stack of exactly as many frames is complete");
	fake_native_destroy(fake);
}

static void test_memo(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000;

	fake_put64(m, sp, in(F_END));
	fake_put64(m, sp + 8, in(F_END) + 16);
	fake_native_walk(fake, in(F_SP16), sp, 0);
	frames_are(fake, LOSS_NONE, "before", in(F_SP16), RET | (in(F_END) + 16));
	fake->process.generation = 2;
	fake->mappings[F_SP16].page_first = fake->mappings[F_SP8].page_first;
	fake_native_walk(fake, in(F_SP16), sp, 0);
	frames_are(fake, LOSS_NONE, "the same PC has another rule in another generation", in(F_SP16), RET | in(F_END));
	fake->process.generation = 1;
	fake_native_walk(fake, in(F_SP16), sp, 0);
	ok(fake->s->native.count == 2, "and may go back");
	/* The walk ended in F_END's mapping, which the next one may find there, but not in another generation. */
	fake->process.generation = 3;
	fake->mappings[F_END].page_first = fake->mappings[F_SP8].page_first;
	fake_native_walk(fake, in(F_END) + 16, sp, 0);
	frames_are(fake, LOSS_NONE, "nor is a mapping taken from another generation", in(F_END) + 16, RET | in(F_END),
		   RET | (in(F_END) + 16));
	fake_native_destroy(fake);
}

/* The rule found by the walker for one address. */
static __u32 lookup(struct fake_native *fake, __u64 pc)
{
	fake->s->native.mapping_first = fake->process.mapping_first;
	fake->s->native.mapping_count = fake->process.mapping_count;
	return native_find_rule(fake->s, pc);
}

static void test_mappings(void)
{
	static const __u32 counts[] = {0, 1, 2, 3, 7, 8, 100, MAPPINGS_MAX};
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct fake_native *fake = fake_native_create();
		__u32 k, wrong = 0, step = counts[i] > 100 ? 97 : 1;

		fake->page_count = 0;
		for (k = 0; k < counts[i]; k++) {
			fake->pages[k] = PAGE_SINGLE_RULE | (100 + k % 1000);
			fake_mapping(fake, TEXT + 0x1000ull * k, TEXT + 0x1000ull * k + 0x100, MAPPING_TABLE, k, 1, 0);
		}
		for (k = 0; k < counts[i]; k += step) {
			__u64 start = TEXT + 0x1000ull * k;

			wrong += lookup(fake, start) != 100 + k % 1000;
			wrong += lookup(fake, start + 0xff) != 100 + k % 1000;
			wrong += lookup(fake, start + 0x100) != RULE_NO_MAPPING;
			wrong += lookup(fake, start - 1) != RULE_NO_MAPPING;
		}
		wrong += lookup(fake, 0) != RULE_NO_MAPPING;
		wrong += lookup(fake, UINT64_MAX) != RULE_NO_MAPPING;
		is_int(wrong, 0, "%u mappings: first and last byte of each, and beside them", counts[i]);
		fake_native_destroy(fake);
	}
}

static void test_rows(void)
{
	enum { SIZE = 5 * FAKE_PAGE };
	struct fake_native *fake = fake_native_create();
	__u16 by_byte[SIZE];
	__u32 i, wrong = 0, first;

	for (i = 0; i < SIZE; i++) {
		if (i < FAKE_PAGE)
			by_byte[i] = 10; /* one rule */
		else if (i < 2 * FAKE_PAGE)
			by_byte[i] = (__u16)(20 + i); /* 512 rows */
		else if (i < 3 * FAKE_PAGE)
			by_byte[i] = i == 3 * FAKE_PAGE - 1 ? 31 : 30; /* a row at offset 511 */
		else if (i < 4 * FAKE_PAGE)
			by_byte[i] = i == 3 * FAKE_PAGE ? 41 : 40; /* at 0 and 1 */
		else
			by_byte[i] = (__u16)(50 + (i & 64) + (i & 7));
	}
	first = fake_pages(fake, by_byte, SIZE);
	/* The mapping starts in the middle of the first page and ends in the middle of the last. */
	fake_mapping(fake, TEXT + 100, TEXT + SIZE - 50, MAPPING_TABLE, first, SIZE / FAKE_PAGE, 100);
	for (i = 100; i < SIZE - 50; i++)
		wrong += lookup(fake, TEXT + i) != by_byte[i];
	is_int(wrong, 0, "every byte of five pages has its rule");
	is_int(lookup(fake, TEXT + 99), RULE_NO_MAPPING, "the byte before");
	is_int(lookup(fake, TEXT + SIZE - 50), RULE_NO_MAPPING, "the byte after");
	fake->mappings[0].end += 0x1000;
	is_int(lookup(fake, TEXT + SIZE), RULE_NONE, "a mapping may be longer than its page index");
	fake->pages[1] = PAGE_ROWS(5ull, 0, 2);
	is_int(lookup(fake, TEXT + FAKE_PAGE), RULE_NONE, "a slab that is not there");
	fake->mappings[0].page_first = UNWIND_PAGES_MAX;
	fake->s->native.mapping.end = 0;
	is_int(lookup(fake, TEXT + FAKE_PAGE), RULE_NONE, "a page index that is not there");
	fake_native_destroy(fake);
}

/* A call that is the last instruction of its function: the return address is the next function's first byte. */
static void test_return_addresses(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;
	__u64 sp = STACK + 0x1000, end = TEXT + 0x1000ull * F_SP16 + 0x1000;

	fake_put64(m, sp, end);
	fake_put64(m, sp + 16, in(F_END));
	fake_native_walk(fake, in(F_SP8), sp, 0);
	frames_are(fake, LOSS_NONE, "a call at the end of a function", in(F_SP8), RET | end, RET | in(F_END));
	fake_put64(m, sp, TEXT + 0x1000ull * F_COUNT);
	fake_native_walk(fake, in(F_SP8), sp, 0);
	frames_are(fake, LOSS_NONE, "and of a mapping", in(F_SP8), RET | (TEXT + 0x1000ull * F_COUNT));
	fake_native_destroy(fake);
}

/* Stack ids: equal stacks share one; another process, another frame or another end has another. */
static void test_ids(void)
{
	struct fake_native *fake = usual();
	__u64 sp = STACK + 0x1000, id;

	fake_put64(&fake->memory, sp, in(F_END));
	fake_native_walk(fake, in(F_SP8), sp, 0);
	id = native_stack_id(fake->s);
	fake->memory.regions[0].bytes[0x1ff0] = 1;
	fake_native_walk(fake, in(F_SP8), sp, 0);
	ok(native_stack_id(fake->s) == id, "the same stack has the same id");
	fake_native_walk(fake, in(F_SP8) + 1, sp, 0);
	ok(native_stack_id(fake->s) != id, "another frame");
	fake_put64(&fake->memory, sp, 0x3000);
	fake_native_walk(fake, in(F_SP8), sp, 0);
	ok(native_stack_id(fake->s) != id, "another end");
	fake_native_destroy(fake);
}

int main(void)
{
	test_usual_rules();
	test_windows();
	test_odd_slots();
	test_rare_rules();
	test_generated_code();
	test_chain_of_file();
	test_lisp();
	test_record();
	test_entered();
	test_ends();
	test_signals();
	test_limits();
	test_memo();
	test_mappings();
	test_rows();
	test_return_addresses();
	test_ids();
	return tap_done();
}
