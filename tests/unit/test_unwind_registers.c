// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walker beyond SP and FP: BX from frame to frame, CFAs and return addresses in registers. A stack is an array of
 * words at STACK, the code 16 functions of 512 bytes each, whose rules the test gives.
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/native.h"
#include "tap.h"

#define STACK       0x7ffd00001000ull /* of a page's start */
#define STACK_WORDS 1024
#define CODE        0x400000ull
#define FUNCTIONS   16
#define FUNCTION    (1ull << UNWIND_PAGE_SHIFT)

struct world {
	struct walk_host host;
	struct mapping_entry mapping;
	__u64 pages[FUNCTIONS];
	struct unwind_rule rules[RULE_FIRST_FREE + FUNCTIONS];
	__u64 stack[STACK_WORDS];
	__u64 unreadable; /* an address of the stack that cannot be read; 0: none */
	struct scratch *scratch;
};

static int read_stack(void *context, void *dst, __u32 size, __u64 address)
{
	const struct world *w = context;

	if (address < STACK || address - STACK > sizeof(w->stack) - size)
		return -EFAULT;
	if (w->unreadable >= address && w->unreadable < address + size)
		return -EFAULT;
	memcpy(dst, (const char *)w->stack + (address - STACK), size);
	return 0;
}

/* Function 0 is the outermost one. */
static struct world *world_create(void)
{
	struct world *w = calloc(1, sizeof(*w));
	__u32 i;

	if (!w || !(w->scratch = calloc(1, sizeof(*w->scratch))))
		abort();
	w->mapping = (struct mapping_entry){.start = CODE, .end = CODE + FUNCTIONS * FUNCTION, .bias = CODE};
	w->mapping.page_count = FUNCTIONS;
	w->mapping.kind = MAPPING_TABLE;
	for (i = 0; i < FUNCTIONS; i++)
		w->pages[i] = PAGE_SINGLE_RULE | (RULE_FIRST_FREE + i);
	w->rules[RULE_FIRST_FREE].kind = UNWIND_END;
	w->host = (struct walk_host){
		.context = w, .read = read_stack, .mappings = &w->mapping, .pages = w->pages, .rules = w->rules};
	w->scratch->host = &w->host;
	return w;
}

static void world_destroy(struct world *w)
{
	free(w->scratch);
	free(w);
}

static void rule(struct world *w, __u32 function, __u8 kind, __s32 cfa_offset, __s16 fp_offset, __u8 param)
{
	w->rules[RULE_FIRST_FREE + function] =
		(struct unwind_rule){.kind = kind, .cfa_offset = cfa_offset, .fp_offset = fp_offset, .param = param};
}

/* An address in a function, behind a call. */
static __u64 in(__u32 function)
{
	return CODE + function * FUNCTION + 0x20;
}

static __u64 *word(struct world *w, __u64 address)
{
	return &w->stack[(address - STACK) / 8];
}

/* Walks from function `start` with SP at STACK, and expects its frames to be `functions`, ended by the outermost. */
static void is_walk(struct world *w, __u32 start, const char *functions, __u32 loss, const char *what)
{
	static __u32 generation;
	const struct process_entry process = {.generation = ++generation, .mapping_count = 1};
	struct native_walk *walk = &w->scratch->native;
	char got[FUNCTIONS * 2] = "";
	__u32 i;

	walk->pc = in(start);
	walk->sp = STACK;
	walk->fp = walk->registers[REG_FP];
	native_walk(w->scratch, &process);
	for (i = 0; i < walk->count && i < sizeof(got) - 1; i++)
		got[i] = (char)('0' + ((w->scratch->native_stack.frames[i] << 1 >> 1) - CODE) / FUNCTION);
	is_str(got, functions, "%s", what);
	is_int(walk->loss, loss, "%s: how it ended", what);
}

/*
 * Lazy binding: 1 calls the trampoline 2, whose CFA is RBX + 32 and which saved RBX at CFA - 32; 3 is called by it,
 * saved and changed RBX; 4 is called by 3 and has a frame pointer.
 */
static void lay_lazy_binding(struct world *w)
{
	__u64 cfa4 = STACK + 0x40, cfa3 = STACK + 0x80, cfa2 = STACK + 0x100, cfa1 = STACK + 0x120;

	rule(w, 4, UNWIND_FP, 16, -16, 0);
	rule(w, 3, UNWIND_SP, 0x40, 0, 3);
	rule(w, 2, UNWIND_REGISTER, UNWIND_NUMBERED(0x20, REG_CARRIED), 0, 4);
	rule(w, 1, UNWIND_SP, 0x20, 0, 0);
	w->scratch->native.registers[REG_FP] = cfa4 - 16;
	w->scratch->native.registers[REG_CARRIED] = 0xbad;
	*word(w, cfa4 - 8) = in(3);
	*word(w, cfa3 - 8) = in(2);
	*word(w, cfa3 - 24) = cfa2 - 0x20; /* RBX of the trampoline */
	*word(w, cfa2 - 8) = in(1);
	*word(w, cfa2 - 0x20) = 0xb0b; /* RBX of 1 */
	*word(w, cfa1 - 8) = in(0);
}

static void test_lazy_binding(void)
{
	struct world *w = world_create();

	lay_lazy_binding(w);
	is_walk(w, 4, "43210", LOSS_NONE, "RBX saved by a callee");
	is_int(w->scratch->native.registers[REG_CARRIED], 0xb0b,
	       "RBX of the outermost frame is what the trampoline saved");
	ok(w->scratch->native.known & REGS_CARRIED, "and is known");

	rule(w, 4, UNWIND_FP, 16, -16, UNWIND_SLOT_UNDEFINED);
	is_walk(w, 4, "43210", LOSS_NONE, "RBX unknown in a frame below the one that restores it");
	rule(w, 3, UNWIND_SP, 0x40, 0, 0);
	is_walk(w, 4, "432", LOSS_BAD_RULE, "RBX unknown where it is needed");
	rule(w, 4, UNWIND_FP, 16, -16, 0);
	w->scratch->native.registers[REG_CARRIED] = STACK + 0xe0;
	is_walk(w, 4, "43210", LOSS_NONE, "RBX never saved");
	world_destroy(w);
}

/* The same frames when nothing can be read by windows: the page's end is missing. */
static void test_slowly(void)
{
	struct world *w = world_create();

	lay_lazy_binding(w);
	w->unreadable = STACK + 0xff8;
	is_walk(w, 4, "43210", LOSS_NONE, "word by word");
	is_int(w->scratch->native.registers[REG_CARRIED], 0xb0b, "RBX of the outermost frame");
	w->unreadable = STACK + 0x80 - 24;
	is_walk(w, 4, "432", LOSS_BAD_RULE, "RBX's slot is not readable: only what needs RBX is lost");
	rule(w, 2, UNWIND_SP, 0x80, 0, 0);
	is_walk(w, 4, "43210", LOSS_NONE, "and nothing where nothing needs it");
	world_destroy(w);
}

static void test_far_slot(void)
{
	struct world *w = world_create();

	rule(w, 2, UNWIND_SP, 0x1000, 0, 254);
	rule(w, 1, UNWIND_REGISTER, UNWIND_NUMBERED(0, REG_CARRIED), 0, 0);
	*word(w, STACK + 0xff8) = in(1);
	*word(w, STACK + 0x1000 - 254 * 8) = STACK + 0x1100;
	*word(w, STACK + 0x10f8) = in(0);
	is_walk(w, 2, "210", LOSS_NONE, "the farthest slot");
	world_destroy(w);
}

static void test_dereferenced(void)
{
	struct world *w = world_create();

	rule(w, 2, UNWIND_FP_DEREF, UNWIND_NUMBERED(-8, 0), UNWIND_FP_AT_FP, 5);
	rule(w, 1, UNWIND_REGISTER, UNWIND_NUMBERED(0, REG_CARRIED), 0, 0);
	w->scratch->native.registers[REG_FP] = STACK + 0x100;
	*word(w, STACK + 0x100) = 0xf9;
	*word(w, STACK + 0x100 - 8) = STACK + 0x140;
	*word(w, STACK + 0x100 - 40) = STACK + 0x180;
	*word(w, STACK + 0x138) = in(1);
	*word(w, STACK + 0x178) = in(0);
	is_walk(w, 2, "210", LOSS_NONE, "a realigned frame saved RBX below its frame pointer");
	is_int(w->scratch->native.fp, 0xf9, "and the frame pointer where it points");

	rule(w, 2, UNWIND_SP_DEREF, UNWIND_NUMBERED(0x100 - 8, 1), 0, 2);
	*word(w, STACK + 0x140) = in(1);
	*word(w, STACK + 0x148 - 16) = STACK + 0x180;
	is_walk(w, 2, "210", LOSS_NONE, "a CFA from the stack, RBX below it");
	rule(w, 2, UNWIND_SP_DEREF, UNWIND_NUMBERED(0x100 - 8, 1), 0, UNWIND_SLOT_UNDEFINED);
	is_walk(w, 2, "21", LOSS_BAD_RULE, "RBX undefined in it");
	world_destroy(w);
}

/* glibc's vfork() pops its return address into RDI. */
static void test_ra_register(void)
{
	struct world *w = world_create();

	rule(w, 2, UNWIND_RA_REGISTER, UNWIND_NUMBERED(0, 5), 0, 0);
	rule(w, 1, UNWIND_SP, 0x20, 0, 0);
	rule(w, 3, UNWIND_SP, 0x20, 0, 0);
	w->scratch->native.registers[5] = in(1);
	*word(w, STACK + 0x18) = in(0);
	is_walk(w, 2, "210", LOSS_NONE, "a return address in a register, the CFA being SP");
	*word(w, STACK + 0x18) = in(2);
	is_walk(w, 3, "32", LOSS_BAD_RULE, "not in a frame that has called");
	rule(w, 2, UNWIND_RA_REGISTER, UNWIND_NUMBERED(-8, 5), 0, 0);
	is_walk(w, 2, "2", LOSS_ODD_STACK, "a CFA below SP");
	world_destroy(w);
}

/* Behind the system call of clone(): the parent's frame, or the child's first. */
static void test_clone(void)
{
	struct world *w = world_create();

	rule(w, 2, UNWIND_CLONE, 0x20, 0, 0);
	rule(w, 1, UNWIND_SP, 0x20, 0, 0);
	*word(w, STACK + 0x18) = in(1);
	*word(w, STACK + 0x38) = in(0);
	w->scratch->native.registers[0] = 17;
	is_walk(w, 2, "210", LOSS_NONE, "clone: the parent, whose result is the child's number");
	w->scratch->native.registers[0] = 0;
	is_walk(w, 2, "2", LOSS_NONE, "clone: the child begins there");
	*word(w, STACK + 0x18) = in(2);
	*word(w, STACK + 0x38) = in(0);
	is_walk(w, 1, "120", LOSS_NONE, "clone: not innermost, whatever the register");
	world_destroy(w);
}

/* libcrypto's AES-GCM has its CFA in RAX while it calls helpers that leave RAX alone. */
static void test_caller_saved(void)
{
	struct world *w = world_create();

	rule(w, 2, UNWIND_SP, 8, 0, 0);
	rule(w, 1, UNWIND_REGISTER, UNWIND_NUMBERED(8, 0), -24, 2);
	w->scratch->native.registers[0] = STACK + 0x78;
	*word(w, STACK) = in(1);
	*word(w, STACK + 0x78) = in(0);
	is_walk(w, 2, "210", LOSS_NONE, "a CFA in a register that calls may change");
	rule(w, 1, UNWIND_REGISTER, UNWIND_NUMBERED(8, 12), 0, 0);
	w->scratch->native.registers[12] = STACK + 0x78;
	is_walk(w, 2, "21", LOSS_BAD_RULE, "in one that a callee may have saved and changed");
	is_walk(w, 1, "10", LOSS_NONE, "in the innermost frame any is known");
	world_destroy(w);
}

/* libcrypto's bn_mul_mont() keeps its CFA behind an array of R9 words on the stack. */
static void test_indexed(void)
{
	struct world *w = world_create();

	rule(w, 1, UNWIND_SP_INDEXED, UNWIND_NUMBERED(8, 9), -16, 2);
	w->scratch->native.registers[9] = 32;
	*word(w, STACK + 32 * 8 + 8) = STACK + 0x200;
	*word(w, STACK + 0x200) = in(0);
	*word(w, STACK + 0x1f8) = 0xf9;
	is_walk(w, 1, "10", LOSS_NONE, "a CFA from an array on the stack");
	is_int(w->scratch->native.fp, 0xf9, "the frame pointer below it");
	w->scratch->native.registers[9] = 1ull << 60;
	is_walk(w, 1, "1", LOSS_STACK_READ, "an index that leads nowhere");
	world_destroy(w);
}

static void test_signal(void)
{
	struct world *w = world_create();
	__u64 *saved = word(w, STACK + 0x100);

	rule(w, 3, UNWIND_SP, 8, 0, UNWIND_SLOT_UNDEFINED);
	rule(w, 2, UNWIND_SIGNAL, 0xf8, 0, 0);
	rule(w, 1, UNWIND_REGISTER, UNWIND_NUMBERED(0, REG_CARRIED), 0, 0);
	*word(w, STACK) = in(2);
	saved[11] = STACK + 0x280;
	saved[15] = STACK + 0x200;
	saved[16] = in(1);
	*word(w, STACK + 0x278) = in(0);
	is_walk(w, 3, "3210", LOSS_NONE, "a signal frame restores RBX");
	world_destroy(w);
}

int main(void)
{
	test_lazy_binding();
	test_slowly();
	test_far_slot();
	test_dereferenced();
	test_ra_register();
	test_clone();
	test_caller_saved();
	test_indexed();
	test_signal();
	return tap_done();
}
