// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as three of Go's functions: systemstack, what saves SP, and a third one whose name the first byte chooses.
 * The second and third byte are the lengths of the first two, in units of eight bytes.
 */
#include "../tests/unit/elf_builder.h"
#include "fuzz.h"
#include "runtime/go/abi.h"
#include "runtime/go/switch.h"

struct check {
	uint64_t next;
};

static int take(void *context, uint64_t start, uint64_t end, struct unwind_rule rule)
{
	struct check *check = context;

	CHECK(start == check->next && start < end);
	check->next = end;
	CHECK(rule.kind <= UNWIND_OTHER_STACK || (rule.kind >= GO_SYSTEMSTACK && rule.kind <= GO_REGISTER));
	if (rule.kind == UNWIND_SP)
		CHECK(rule.cfa_offset >= 8);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"runtime.systemstack", "runtime.morestack", "runtime.mcall",
					    "runtime.asmcgocall",  "runtime.clone",     "runtime.nanotime1"};
	struct elf_builder builder = elf_builder_init();
	struct go_function functions[3];
	struct go_switch *go = NULL;
	struct elf_file *elf = NULL;
	uint64_t at = elf_builder_next(&builder), end;
	size_t i;

	if (size < 4 || size > 4096) {
		elf_builder_deinit(&builder);
		return 0;
	}
	end = at + size - 3;
	elf_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, data + 3, size - 3);
	elf_builder_finish(&builder, 0);
	for (i = 0; i < 3; i++) {
		functions[i] = (struct go_function){.start = at, .end = i < 2 ? at + data[1 + i] * 8ull : end};
		functions[i].name = functions[i].end > at && functions[i].end <= end ? names[data[0] % 6] : NULL;
		if (functions[i].name)
			at = functions[i].end;
	}
	if (!elf_file_open_memory(builder.bytes, builder.size, "fuzz", &elf, NULL) &&
	    !go_switch_create(elf, arch_of(EM_X86_64)->unwind, &functions[0], &functions[1], data[0] & 1, &go)) {
		for (i = 0; i < 3; i++) {
			struct check check = {.next = functions[i].start};

			if (!functions[i].name)
				continue;
			CHECK(!go_switch_ranges(go, &functions[i], take, &check));
			CHECK(check.next == functions[i].end);
		}
	}
	go_switch_destroy(go);
	elf_file_close(elf);
	elf_builder_deinit(&builder);
	return 0;
}
