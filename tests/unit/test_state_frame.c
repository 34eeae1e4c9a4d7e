// SPDX-License-Identifier: GPL-2.0-or-later
/* state_frame on machine code: which register, and which two words, SP comes from. */
#include <elf.h>
#include <errno.h>

#include "arch/arch.h"
#include "tap.h"
#include "unwind/state_frame.h"

#define BASE 0x401000ull
#define RBX  3
#define R14  14

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
	int err;
	struct state_frame frame; /* behind: from BASE on */
} cases[] = {
#define CODE(text) text, sizeof(text) - 1
	{"as LuaJIT's traces are left",
	 CODE("\x49\x8b\xae\xf0\xf1\xff\xff" /* mov -0xe10(%r14), %rbp */
	      "\x50"                         /* push %rax */
	      "\xe8\x3b\x00\x00\x00"         /* call */
	      "\x48\x8b\x4d\x50"             /* mov 0x50(%rbp), %rcx */
	      "\x48\x83\xe1\xfc"             /* and $-4, %rcx */
	      "\x48\x89\xcc"),               /* mov %rcx, %rsp */
	 0,
	 {R14, -0xe10, 0x50, 24}},
	{"by an address that is computed, over a jump",
	 CODE("\x48\x8d\x43\x40"   /* lea 0x40(%rbx), %rax */
	      "\x48\x8b\x50\xf8"   /* mov -8(%rax), %rdx */
	      "\xeb\x02\x0f\x0b"   /* jmp over ud2 */
	      "\x48\x8b\x62\x18"), /* mov 0x18(%rdx), %rsp */
	 0,
	 {RBX, 0x38, 0x18, 16}},
	{"a register that a call changes",
	 CODE("\x48\x8b\x4b\x08"     /* mov 8(%rbx), %rcx */
	      "\xe8\x3b\x00\x00\x00" /* call */
	      "\x48\x8b\x61\x50"     /* mov 0x50(%rcx), %rsp */
	      "\xc3"),
	 -ENOENT,
	 {}},
	{"one word only", CODE("\x48\x8b\x63\x10\xc3" /* mov 0x10(%rbx), %rsp; ret */), -ENOENT, {}},
	{"a mask of other bits than the flags",
	 CODE("\x48\x8b\x53\x08"   /* mov 8(%rbx), %rdx */
	      "\x48\x8b\x72\x08"   /* mov 8(%rdx), %rsi */
	      "\x48\x83\xe6\xf0"   /* and $-16, %rsi */
	      "\x48\x89\xf4\xc3"), /* mov %rsi, %rsp; ret */
	 -ENOENT,
	 {}},
	{"three words",
	 CODE("\x48\x8b\x5b\x08\x48\x8b\x5b\x08" /* mov 8(%rbx), %rbx, twice */
	      "\x48\x8b\x63\x08\xc3"),           /* mov 8(%rbx), %rsp; ret */
	 -ENOENT,
	 {}},
	{"code that ends", CODE("\x48\x8b\x53\x08"), -ENOENT, {}},
	{"a loop", CODE("\xeb\xfe"), -ENOENT, {}},
};

static size_t read_code(void *context, uint64_t address, uint8_t *ret, size_t size)
{
	size_t i = *(const size_t *)context, at = address - BASE;

	if (address < BASE || at >= cases[i].size)
		return 0;
	if (size > cases[i].size - at)
		size = cases[i].size - at;
	memcpy(ret, cases[i].bytes + at, size);
	return size;
}

int main(void)
{
	size_t i;
	const struct way_out_source source = {.read = read_code, .context = &i};

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct state_frame *want = &cases[i].frame;
		struct state_frame got = {};
		int err = state_frame_find(arch_of(EM_X86_64)->code, &source, BASE, &got);

		ok(err == cases[i].err && got.reg == want->reg && got.word == want->word &&
			   got.within == want->within && (err || got.behind == BASE + want->behind),
		   "%s: %d, register %u, %d, %d, 0x%" PRIx64, cases[i].what, err, got.reg, got.word, got.within,
		   got.behind);
	}
	return tap_done();
}
