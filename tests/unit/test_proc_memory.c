// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/memory.h"
#include "tap.h"

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
