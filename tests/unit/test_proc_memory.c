// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/memory.h"
#include "tap.h"

struct counted {
	unsigned int reads;
	const uint8_t *bytes; /* two pages, from 0x1000 on */
};

static int read_counted(void *context, void *dst, size_t size, uint64_t address)
{
	struct counted *counted = context;

	counted->reads++;
	if (address < 0x1000 || address > 0x3000 || size > 0x3000 - address)
		return -EFAULT;
	memcpy(dst, counted->bytes + (address - 0x1000), size);
	return 0;
}

static void test_pages(void)
{
	static uint8_t bytes[0x2000];
	struct counted counted = {.bytes = bytes};
	const struct memory from = {.read = read_counted, .context = &counted};
	struct memory_pages *pages = memory_pages_create(&from, 64);
	struct memory memory = memory_of_pages(pages);
	char text[8] = "";

	memcpy(bytes + 0xffc, "abcdefgh", 8);
	is_int(memory_read(&memory, text, 8, 0x1ffc), 0, "across two pages");
	ok(!memcmp(text, "abcdefgh", 8) && counted.reads == 2, "each is read");
	bytes[0xffc] = 'z';
	ok(!memory_read(&memory, text, 4, 0x1ffc) && *text == 'a' && counted.reads == 2, "once");
	is_int(memory_read(&memory, text, 2, 0x2fff), -EFAULT, "into a page that cannot be read");
	is_int(memory_read(&memory, text, 1, 0x3000), -EFAULT, "and again");
	is_int(counted.reads, 3, "which is not tried again");
	ok(!memory_read(&memory, text, 1, 0x1000 + 0x1ff0), "what is before it can");
	is_int(memory_read(&memory, text, 1, 0x1000 + 64 * 4096), -EFAULT, "a page in the first one's place");
	ok(!memory_read(&memory, text, 4, 0x1ffc) && *text == 'z', "which is then read anew");
	is_int(memory_read(&memory, text, 8, UINT64_MAX - 3), -EFAULT, "the end of the address space");
	memory_pages_destroy(pages);
}

int main(void)
{
	const struct memory_piece piece[] = {{0x1000, "abcdef", 6}, {UINT64_MAX - 3, "wxyz", 4}};
	const struct memory_pieces pieces = {piece, 2};
	struct memory memory = memory_of_pieces(&pieces);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages, text[8] = "";

	is_int(memory_read(&memory, text, 3, 0x1002), 0, "a piece");
	is_str(text, "cde", "its bytes");
	is_int(memory_read(&memory, text, 0, 0x1006), 0, "nothing, at its end");
	is_int(memory_read(&memory, text, 3, 0x1004), -EFAULT, "past its end");
	is_int(memory_read(&memory, text, 1, 0xfff), -EFAULT, "before it");
	is_int(memory_read(&memory, text, SIZE_MAX, 0x1002), -EFAULT, "a size that wraps around");
	is_int(memory_read(&memory, text, 4, UINT64_MAX - 3), 0, "the end of the address space");
	test_pages();

	memory = memory_of_process(getpid());
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(pages + page - 4, "live", 4);
	mprotect(pages + page, page, PROT_NONE);
	if (memory_read(&memory, text, 4, (uintptr_t)pages + page - 4) == -EPERM) {
		ok(true, "# skip this process may not read itself");
		return tap_done();
	}
	ok(!memcmp(text, "live", 4), "a live process");
	is_int(memory_read(&memory, text, 8, (uintptr_t)pages + page - 4), -EFAULT, "half of it is not readable");
	is_int(memory_read(&memory, text, 8, 0), -EFAULT, "address 0");
	is_int(memory_read(&memory, text, 8, UINT64_MAX - 7), -EFAULT, "an address of the kernel's");
	memory = memory_of_process(0x7ffffff0);
	is_int(memory_read(&memory, text, 4, (uintptr_t)pages), -ESRCH, "no such process");
	return tap_done();
}
