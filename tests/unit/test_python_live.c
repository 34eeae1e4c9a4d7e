// SPDX-License-Identifier: GPL-2.0-or-later
/* A process of one interpreter and two threads, made of bytes: what must be believed, and what must not. */
#include <elf.h>

#include "runtime/python/live.h"
#include "tap.h"

#define BASE     0x10000ull
#define HEAD     0x0000 /* pointer to the first interpreter, at vaddr 0x40 + this */
#define INTERP   0x0100
#define STATE(n) (0x0200 + 0x100 * (n))
#define FRAME(n) (0x0400 + 0x100 * (n))
#define CODE     0x0600
#define NAME     0x0700
#define SHIM     0x0800
#define SELF(n)  (0x1000 + 0x400 * (n))

static const struct python_interpreter interpreter = {
	.interp_head = 0x40,
	.layout = {.entry = PY_ENTRY_SHIM,
		   .shim_owner = 3,
		   .code_tag_mask = 3,
		   .unicode_compact_shift = 5,
		   .interp_next = 0x08,
		   .interp_threads = 0x10,
		   .tstate_next = 0x08,
		   .tstate_thread_id = 0x18,
		   .tstate_frame = 0x20,
		   .cframe_current = PY_NO_OFFSET,
		   .tstate_base_frame = PY_NO_OFFSET,
		   .frame_code = 0x00,
		   .frame_back = 0x08,
		   .frame_entry = 0x10,
		   .code_name = 0x28,
		   .unicode_length = 0x10,
		   .unicode_state = 0x20,
		   .unicode_ascii_data = 0x28},
};

struct image {
	uint8_t bytes[0x2000];
};

static void set(struct image *image, size_t at, uint64_t value)
{
	memcpy(image->bytes + at, &value, sizeof(value));
}

static struct image image(void)
{
	struct image image = {};
	uint32_t tid;
	uint64_t n;

	set(&image, HEAD, BASE + INTERP);
	set(&image, INTERP + 0x10, BASE + STATE(0));
	for (n = 0; n < 2; n++) {
		set(&image, STATE(n) + 0x08, n ? 0 : BASE + STATE(1));
		set(&image, STATE(n) + 0x18, BASE + SELF(n));
		set(&image, STATE(n) + 0x20, BASE + (n ? SHIM : FRAME(0)));
		set(&image, FRAME(n), (BASE + CODE) | 1);
		set(&image, SELF(n), BASE + SELF(n));
		/* A thread of glibc's and one of musl's. */
		tid = 501 + (uint32_t)n;
		if (!n)
			set(&image, SELF(n) + 0x10, BASE + SELF(n));
		memcpy(image.bytes + SELF(n) + (n ? 0x30 : 0x2d0), &tid, sizeof(tid));
	}
	set(&image, SHIM + 0x08, BASE + FRAME(1));
	image.bytes[SHIM + 0x10] = 3;
	set(&image, CODE + 0x28, BASE + NAME);
	set(&image, NAME + 0x10, 4);
	set(&image, NAME + 0x20, 3 << 5);
	memcpy(image.bytes + NAME + 0x28, "spin", 4);
	return image;
}

static struct live_check check_machine(const struct image *image, uint16_t machine)
{
	const struct memory_piece piece = {BASE, image->bytes, sizeof(image->bytes)};
	const struct memory_pieces pieces = {&piece, 1};
	struct memory memory = memory_of_pieces(&pieces);
	uint32_t ids[] = {500, 501, 502};
	struct live_threads threads = {.ids = {ids, 3, 3}};
	struct live_check result;

	live_check(&memory, &threads, machine, &interpreter, BASE - 0x40, &result);
	printf("# %s\n", result.result);
	return result;
}

static struct live_check check(const struct image *image)
{
	return check_machine(image, EM_X86_64);
}

int main(void)
{
	struct image good = image(), bad;
	struct live_check result = check(&good);

	ok(result.verified, "a process as it should be");
	is_int(result.interpreters, 1, "one interpreter");
	is_int(result.states, 2, "two thread states");
	is_int(result.belong, 2, "of glibc's and musl's threads");
	is_int(result.running, 2, "both run Python, one below a shim");
	is_int(result.named, 2, "and what they run has a name");
	ok(!check_machine(&good, EM_AARCH64).verified, "another machine's descriptors are not guessed");

	bad = good;
	set(&bad, HEAD, 0);
	ok(!check(&bad).verified, "no interpreter yet");
	bad = good;
	set(&bad, HEAD, 0xdead0000);
	ok(!check(&bad).verified, "an interpreter that cannot be read");
	bad = good;
	set(&bad, INTERP + 0x10, 0);
	ok(!check(&bad).verified, "no threads");
	bad = good;
	set(&bad, INTERP + 0x08, BASE + INTERP);
	ok(!check(&bad).verified, "a list of interpreters that goes in circles");
	bad = good;
	set(&bad, STATE(1) + 0x08, BASE + STATE(0));
	ok(!check(&bad).verified, "a list of threads that goes in circles");
	bad = good;
	set(&bad, STATE(1) + 0x18, BASE + SELF(1) + 8);
	result = check(&bad);
	ok(result.verified && result.belong == 1, "a thread that has ended may still be in the list");
	set(&bad, STATE(0) + 0x18, 0);
	ok(!check(&bad).verified, "but not only such");
	bad = good;
	bad.bytes[SELF(0) + 0x2d0]++, bad.bytes[SELF(0) + 0x2d1]++;
	is_int(check(&bad).belong, 1, "a descriptor of another process's thread");
	bad = good;
	set(&bad, CODE + 0x28, 0);
	ok(!check(&bad).verified, "a code object without a name");
	bad = good;
	bad.bytes[NAME + 0x28] = 7;
	ok(!check(&bad).verified, "a name with a control character");
	bad = good;
	set(&bad, NAME + 0x10, 1ull << 40);
	ok(!check(&bad).verified, "a name of a terabyte");
	bad = good;
	set(&bad, STATE(0) + 0x20, 0);
	result = check(&bad);
	ok(result.verified && result.running == 1, "a thread without a Python frame");
	bad = good;
	set(&bad, SHIM + 0x08, BASE + SHIM);
	ok(!check(&bad).verified, "shims without end");
	return tap_done();
}
