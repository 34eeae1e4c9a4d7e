// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks from one of Go's stacks to another (src/runtime/go/bpf/step.h), over a runtime's structures made by hand. */
#include "fake_native.h"
#include "tap.h"

#define TEXT   0x400000ull
#define STACK  0x7ff000000000ull /* the thread's own: g0's */
#define HEAP   0xc000000000ull   /* the goroutine's stack is its second page */
#define THREAD 0x7fe000000100ull
#define RET    NATIVE_RETURN_ADDRESS

#define G    (HEAP + 0x100)
#define G0   (HEAP + 0x300)
#define M    (HEAP + 0x500)
#define LOW  (HEAP + 0x1000)
#define HIGH (HEAP + 0x3000)

/* In words, as Go 1.19 has them. */
enum { AT_M = 6, AT_CURG = 24, AT_G0 = 0, AT_SP = 7, AT_PC = 8, AT_VDSO = 100 };

enum { F_SP16, F_END, F_SYSTEM, F_MORE, F_CALLBACK, F_CCALL, F_VDSO, F_REGISTER, F_SCHEDULE, F_COUNT };

static __u64 in(int function)
{
	return TEXT + 0x1000ull * function + 0x100;
}

static __u32 go_rule(struct fake_native *fake, int kind, int m, int to, int frame)
{
	struct go_rule rule = {
		.thread = -1, .m = (__u8)m, .to = (__u8)to, .sp = AT_SP, .frame = (__u8)frame, .kind = (__u8)kind};

	memcpy(&fake->rules[fake->rule_count], &rule, sizeof(rule));
	return fake->rule_count++;
}

/* A thread on its own stack, whose goroutine called systemstack() and stands at LOW + 0x100. */
static struct fake_native *usual(void)
{
	struct fake_native *fake = fake_native_create();
	struct fake_memory *m = &fake->memory;
	const __u32 rules[F_COUNT] = {
		[F_SP16] = fake_rule(fake, UNWIND_SP, 16, UNWIND_FP_SAME, 0),
		[F_END] = fake_rule(fake, UNWIND_END, 0, 0, 0),
		[F_SYSTEM] = go_rule(fake, GO_SYSTEMSTACK, AT_M, AT_CURG, 1),
		[F_MORE] = go_rule(fake, GO_MORESTACK, AT_M, AT_CURG, 0),
		[F_CALLBACK] = go_rule(fake, GO_CALLBACK, AT_M, AT_G0, 2),
		[F_CCALL] = go_rule(fake, GO_CCALL, 3, 2, 1),
		[F_VDSO] = go_rule(fake, GO_VDSO, AT_M, AT_VDSO, 0),
		[F_REGISTER] = go_rule(fake, GO_REGISTER, 12, 0, 2),
		[F_SCHEDULE] = fake_rule(fake, GO_SCHEDULE, 16, UNWIND_FP_SAME, 0),
	};
	int i;

	for (i = 0; i < F_COUNT; i++)
		fake_function(fake, TEXT + 0x1000ull * i, 0x1000, rules[i]);
	fake_map(m, STACK, 0x4000);
	fake_map(m, HEAP, 0x3000);
	fake_map(m, THREAD & ~0xfffull, 0x1000);
	fake->s->task.thread_pointer = THREAD;
	fake_put64(m, THREAD - 8, G0);
	fake_put64(m, G0 + 8 * AT_M, M);
	fake_put64(m, G + 8 * AT_M, M);
	fake_put64(m, M + 8 * AT_CURG, G);
	fake_put64(m, M + 8 * AT_G0, G0);
	fake_put64(m, G, LOW);
	fake_put64(m, G + 8, HIGH);
	fake_put64(m, G + 8 * AT_SP, LOW + 0x100);
	fake_put64(m, G + 8 * AT_PC, in(F_SP16));
	/* The goroutine's stack: the caller of systemstack(), and the first function. */
	fake_put64(m, LOW + 0x100, in(F_SP16));
	fake_put64(m, LOW + 0x110, in(F_END));
	/* The thread's: a function that systemstack() called. */
	fake_put64(m, STACK + 0x108, in(F_SYSTEM));
	return fake;
}

static void test_systemstack(void)
{
	const struct {
		__u64 at, value;
		__u32 loss;
		const char *name;
	} odd[] = {
		{THREAD - 8, 0, LOSS_OTHER_STACK, "no g"},
		{THREAD - 8, 0x1000, LOSS_STACK_READ, "a g that cannot be read"},
		{M + 8 * AT_CURG, 0, LOSS_OTHER_STACK, "no goroutine"},
		{G + 8 * AT_SP, LOW - 8, LOSS_OTHER_STACK, "SP below the goroutine's stack"},
		{G + 8 * AT_SP, HIGH, LOSS_OTHER_STACK, "SP above it"},
		{G + 8 * AT_SP, LOW + 0x104, LOSS_OTHER_STACK, "SP that is no multiple of eight"},
		{G + 8 * AT_SP, 0, LOSS_OTHER_STACK, "no SP"},
		{G + 8, LOW, LOSS_OTHER_STACK, "a stack of no size"},
		{LOW + 0x100, 0, LOSS_OTHER_STACK, "no return address"},
		{LOW + 0x100, in(F_SYSTEM), LOSS_OTHER_STACK, "systemstack() on the goroutine's stack"},
	};
	struct fake_native *fake = usual();
	size_t i;

	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "from the thread's stack to the goroutine's", in(F_SP16), RET | in(F_SYSTEM),
		   RET | in(F_SP16), RET | in(F_END));
	fake_put64(&fake->memory, THREAD - 8, G);
	fake_native_walk(fake, in(F_SYSTEM), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "in systemstack() itself, while the thread's g is the goroutine's", in(F_SYSTEM),
		   RET | in(F_SP16), RET | in(F_END));
	fake_native_destroy(fake);
	for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		fake = usual();
		fake_put64(&fake->memory, odd[i].at, odd[i].value);
		fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
		ok(fake->s->native.loss == odd[i].loss && fake->s->native_stack.frames[1] == (RET | in(F_SYSTEM)) &&
			   fake->s->native.count <= 3,
		   "ends with a reason: %s", odd[i].name);
		fake_native_destroy(fake);
	}
}

/* In a shared library the loader has written where the g is, and the mapping tells where that is. */
static void test_shared(void)
{
	struct fake_native *fake = usual();
	struct go_rule rule;

	memcpy(&rule, &fake->rules[fake->rule_count - 1 - (F_SCHEDULE - F_SYSTEM)], sizeof(rule));
	rule.thread = (__s16)(0x18010 / 8);
	rule.got = 1;
	memcpy(&fake->rules[fake->rule_count - 1 - (F_SCHEDULE - F_SYSTEM)], &rule, sizeof(rule));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_STACK_READ, "the loader's word cannot be read", in(F_SP16), RET | in(F_SYSTEM));
	fake_map(&fake->memory, TEXT + 0x1a000, 0x1000);
	fake_put64(&fake->memory, TEXT + 0x1a010, (__u64)-8);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "by the loader's word", in(F_SP16), RET | in(F_SYSTEM), RET | in(F_SP16),
		   RET | in(F_END));
	fake_native_destroy(fake);
}

/* The goroutine's stack moves while it is walked: each read of its `page` changes sched.sp. */
struct mover {
	struct fake_native *fake;
	int (*read)(void *context, void *dst, __u32 size, __u64 address);
};

static int read_and_move(void *context, void *dst, __u32 size, __u64 address)
{
	struct mover *mover = context;

	if (address >= LOW && address < HIGH)
		fake_put64(&mover->fake->memory, G + 8 * AT_SP, LOW + 0x800);
	return mover->read(&mover->fake->memory, dst, size, address);
}

static void test_moved(void)
{
	struct fake_native *fake = usual();
	struct mover mover = {.fake = fake, .read = fake->host.read};
	__u64 id;

	fake->host.context = &mover;
	fake->host.read = read_and_move;
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "another thread moves the goroutine's stack: none of it", in(F_SP16),
		   RET | in(F_SYSTEM));
	id = native_stack_id(fake->s);
	fake->host.context = &fake->memory;
	fake->host.read = mover.read;
	fake_put64(&fake->memory, G + 8 * AT_SP, 0);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	ok(native_stack_id(fake->s) == id, "and the same id as of a stack that ended there");
	fake_native_destroy(fake);
}

static void test_morestack(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;

	fake_put64(m, STACK + 0x108, in(F_MORE));
	fake_put64(m, G + 8 * AT_PC, in(F_SP16));
	fake_put64(m, LOW + 0x108, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "morestack: where its caller stands is saved", in(F_SP16), RET | in(F_MORE),
		   RET | in(F_SP16), RET | in(F_END));
	fake_put64(m, G + 8 * AT_PC, 0);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "or not", in(F_SP16), RET | in(F_MORE));
	fake_put64(m, M + 8 * AT_CURG, 0);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "the goroutine was left: the scheduler's stack begins there", in(F_SP16),
		   RET | in(F_MORE));
	fake_native_destroy(fake);

	fake = usual();
	fake_put64(&fake->memory, STACK + 0x108, in(F_MORE));
	fake_native_walk(fake, in(F_SCHEDULE), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "the scheduler, with the next goroutine", in(F_SCHEDULE), RET | in(F_MORE));
	fake_put64(&fake->memory, STACK + 0x108, in(F_SYSTEM));
	fake_native_walk(fake, in(F_SCHEDULE), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "which systemstack() never calls", in(F_SCHEDULE), RET | in(F_SYSTEM));
	fake_native_destroy(fake);
}

/* main ─ C ─ callback ─ C ─ callback ─ systemstack: three parts of either stack. */
static void test_callbacks(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;

	/* The thread's stack, innermost part lowest; each callback's frame has what g0's sched.sp was before. */
	fake_put64(m, STACK + 0x108, in(F_SYSTEM));
	fake_put64(m, G0 + 8 * AT_SP, STACK + 0x200);
	fake_put64(m, STACK + 0x200, STACK + 0x400);
	fake_put64(m, STACK + 0x208, in(F_CCALL));
	fake_put64(m, STACK + 0x210 + 24, G);
	fake_put64(m, STACK + 0x210 + 16, HIGH - (LOW + 0x500));
	fake_put64(m, STACK + 0x400, STACK + 0x600);
	fake_put64(m, STACK + 0x408, in(F_CCALL));
	fake_put64(m, STACK + 0x410 + 24, G);
	fake_put64(m, STACK + 0x410 + 16, HIGH - (LOW + 0x900));
	/* The goroutine's. */
	fake_put64(m, LOW + 0x100, in(F_CALLBACK)); /* called systemstack() */
	fake_put64(m, LOW + 0x500, in(F_CALLBACK)); /* called C, and so on */
	fake_put64(m, LOW + 0x900, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "two callbacks, one in the other", in(F_SP16), RET | in(F_SYSTEM),
		   RET | in(F_CALLBACK), RET | in(F_CCALL), RET | in(F_CALLBACK), RET | in(F_CCALL), RET | in(F_END));
	/* A third callback, interrupted before it has left the thread's stack, or after it came back. */
	fake_put64(m, G0 + 8 * AT_SP, STACK + 0x100);
	fake_put64(m, STACK + 0x100, STACK + 0x400);
	fake_put64(m, STACK + 0x108, in(F_CCALL));
	fake_put64(m, STACK + 0x110 + 24, G);
	fake_put64(m, STACK + 0x110 + 16, HIGH - (LOW + 0x500));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "a callback that is on the thread's stack", in(F_SP16), RET | in(F_CCALL),
		   RET | in(F_CALLBACK), RET | in(F_CCALL), RET | in(F_END));
	fake_put64(m, STACK + 0x100, STACK + 0x108);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "and does not tell of the one before", in(F_SP16), RET | in(F_CCALL),
		   RET | in(F_CALLBACK));
	fake_put64(m, G0 + 8 * AT_SP, STACK + 0x200);
	fake_put64(m, STACK + 0x108, in(F_SYSTEM));
	/* systemstack() called C that called back: sched.sp is the inner one's, and the callback follows the outer
	 * one's. */
	fake_put64(m, STACK + 0x208, in(F_SYSTEM));
	fake_put64(m, LOW + 0x118, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "a callback in systemstack()", in(F_SP16), RET | in(F_SYSTEM), RET | in(F_CALLBACK),
		   RET | in(F_SYSTEM), RET | in(F_END));
	fake_put64(m, G0 + 8 * AT_SP, 0);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "a thread's stack that is not known", in(F_SP16), RET | in(F_SYSTEM),
		   RET | in(F_CALLBACK));
	fake_native_destroy(fake);
}

static void test_c(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;

	fake_put64(m, STACK + 0x108, in(F_CCALL));
	fake_put64(m, STACK + 0x110 + 24, G);
	fake_put64(m, STACK + 0x110 + 16, HIGH - (LOW + 0x500));
	fake_put64(m, LOW + 0x500, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "C, called by a goroutine", in(F_SP16), RET | in(F_CCALL), RET | in(F_END));
	fake_put64(m, STACK + 0x110 + 16, HIGH - LOW + 8);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "deeper than its stack", in(F_SP16), RET | in(F_CCALL));
	fake_put64(m, STACK + 0x110 + 24, 0x1000);
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_STACK_READ, "a goroutine that cannot be read", in(F_SP16), RET | in(F_CCALL));
	fake_native_destroy(fake);
}

static void test_vdso(void)
{
	struct fake_native *fake = usual();
	struct fake_memory *m = &fake->memory;

	fake_put64(m, STACK + 0x108, in(F_VDSO));
	fake_put64(m, M + 8 * AT_VDSO, LOW + 0x100);
	fake_put64(m, M + 8 * AT_VDSO + 8, in(F_END));
	fake_put64(m, LOW + 0xf8, in(F_END));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "the vDSO, called on another stack", in(F_SP16), RET | in(F_VDSO), RET | in(F_END));
	fake_put64(m, M + 8 * AT_VDSO + 8, in(F_SP16));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "when its caller's PC is another one", in(F_SP16), RET | in(F_VDSO));
	fake->s->native.registers[12] = LOW + 0x200;
	fake_put64(m, LOW + 0x208, in(F_END));
	fake_put64(m, LOW + 0x200, 0x1234);
	fake_native_walk(fake, in(F_REGISTER), STACK + 0x100, 0);
	frames_are(fake, LOSS_NONE, "SP in a register", in(F_REGISTER), RET | in(F_END));
	fake_put64(m, STACK + 0x108, in(F_REGISTER));
	fake_native_walk(fake, in(F_SP16), STACK + 0x100, 0);
	frames_are(fake, LOSS_OTHER_STACK, "which is not known farther out", in(F_SP16), RET | in(F_REGISTER));
	fake_native_destroy(fake);
}

int main(void)
{
	test_systemstack();
	test_shared();
	test_moved();
	test_morestack();
	test_callbacks();
	test_c();
	test_vdso();
	return tap_done();
}
