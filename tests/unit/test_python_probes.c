// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Places of Python's probes: what registers hold along a line of code, which instructions the kernel emulates, and what
 * becomes of a loop that is damaged. Whole interpreters: tests/python/probes.t.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "assemble.h"
#include "runtime/python/cache.h"
#include "runtime/python/probe_code.h"
#include "tap.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R13 = 13 };

#define MUTATIONS 60

static struct spot_decoder *decoder;

static struct spot_insn decode(const char *bytes, size_t size)
{
	struct spot_insn insn = {};

	if (!arch_of(EM_X86_64)->spot->decode(decoder, (const uint8_t *)bytes, size, 0x1000, &insn))
		insn.op = SPOT_END;
	return insn;
}

#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void test_instructions(void)
{
	struct spot_insn insn = DECODE("\x48\x89\x5d\x18"); /* mov [rbp+0x18], rbx */

	ok(insn.op == SPOT_STORE && insn.a == RBX && insn.b == RBP && insn.imm == 0x18 && insn.size == 8, "a store");
	insn = DECODE("\x83\x47\x1c\x01"); /* add dword [rdi+0x1c], 1 */
	ok(insn.op == SPOT_ADD && insn.b == RDI && insn.imm == 0x1c && insn.addend == 1 && insn.size == 4,
	   "an addition");
	insn = DECODE("\x83\x6f\x1c\x01"); /* sub */
	ok(insn.op == SPOT_ADD && insn.addend == -1, "a subtraction");
	insn = DECODE("\xff\x47\x1c"); /* inc */
	ok(insn.op == SPOT_ADD && insn.addend == 1, "an increment");
	insn = DECODE("\x48\x39\x87\xa0\x00\x00\x00"); /* cmp [rdi+0xa0], rax */
	ok(insn.op == SPOT_COMPARE && insn.a == RAX && insn.b == RDI && insn.imm == 0xa0 && !insn.clobbers,
	   "a comparison, which changes nothing");
	insn = DECODE("\x48\x39\xc2"); /* cmp rdx, rax */
	ok(insn.op == SPOT_DIFFER && insn.a == RDX && insn.b == RAX && insn.size == 8 && !insn.clobbers,
	   "of registers");
	insn = DECODE("\x48\x85\xff"); /* test rdi, rdi */
	ok(insn.op == SPOT_OTHER && !insn.clobbers, "nor does a test");
	insn = DECODE("\x48\x83\xe0\xfe"); /* and rax, -2 */
	ok(insn.op == SPOT_MOVE && insn.a == RAX && insn.b == RAX && !insn.imm, "a pointer without its tag");
	insn = DECODE("\xff\xe0"); /* jmp rax */
	ok(insn.op == SPOT_INDIRECT && !insn.emulated, "a jump to what is computed");
}

/* By what an address may be had: what jumps there does not count. */
static void test_addresses(void)
{
	static const struct {
		const char *bytes, *what;
		bool is_used, is_used_fixed;
	} codes[] = {
		{"\x48\x8d\x05\xf9\x0f\x00\x00\x90\x90", "lea rax, [rip+0xff9]", true, true},
		{"\x4c\x8d\x3d\xf9\x0f\x00\x00\x90\x90", "lea r15, [rip+0xff9]", true, true},
		{"\x48\x8d\x05\xf8\x0f\x00\x00\x90\x90", "lea rax, [rip+0xff8]", false, false},
		{"\x90\x90\xe8\xf9\x0f\x00\x00\x90\x90", "call", false, false},
		{"\x90\x0f\x84\xf9\x0f\x00\x00\x90\x90", "je", false, false},
		{"\x90\x90\xb8\x00\x20\x00\x00\x90\x90", "mov eax, 0x2000", false, true},
		{"\x48\x3d\x00\x20\x00\x00\x90\x90\x90", "cmp rax, 0x2000", false, true},
	};
	const struct reference_arch *arch = arch_of(EM_X86_64)->references;
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const struct reference_code code = {
			.bytes = (const uint8_t *)codes[i].bytes, .size = 9, .vaddr = 0x1000};

		is_int(arch->uses_address(&code, 0x2000, false), codes[i].is_used, "%s", codes[i].what);
		is_int(arch->uses_address(&code, 0x2000, true), codes[i].is_used_fixed, "%s, at fixed addresses",
		       codes[i].what);
	}
}

static void test_emulated(void)
{
	ok(DECODE("\xe8\x00\x00\x00\x00").emulated && DECODE("\xe9\x00\x00\x00\x00").emulated &&
		   DECODE("\xeb\x00").emulated && DECODE("\x74\x00").emulated &&
		   DECODE("\x0f\x84\x00\x00\x00\x00").emulated && DECODE("\x55").emulated &&
		   DECODE("\x41\x57").emulated && DECODE("\x90").emulated,
	   "call, jmp, jcc, push and nop are emulated");
	ok(!DECODE("\x48\x89\x5d\x18").emulated && !DECODE("\xf3\x0f\x1e\xfa").emulated && !DECODE("\x5d").emulated &&
		   !DECODE("\xff\xd0").emulated,
	   "mov, endbr64, pop and a call of a register are not");
}

static void test_line(void)
{
	const struct spot_arch *arch = arch_of(EM_X86_64)->spot;
	struct probe_line line;
	struct spot_insn insn;
	struct python_place place;
	uint8_t base, node;

	probe_line_begin(arch, &line);
	insn = DECODE("\x48\x89\xee"); /* mov rsi, rbp */
	probe_line_step(&line, &insn);
	insn = DECODE("\x4c\x89\xe5"); /* mov rbp, r12 */
	probe_line_step(&line, &insn);
	place = probe_line_place(&line, RBP, false);
	ok(place.kind == PYTHON_IN_REGISTER && place.reg == RSI && !place.add,
	   "a copy is found when the original is gone");
	insn = DECODE("\x48\x83\xc6\x02"); /* add rsi, 2 */
	probe_line_step(&line, &insn);
	place = probe_line_place(&line, RBP, false);
	ok(place.kind == PYTHON_IN_REGISTER && place.reg == RSI && place.add == -2, "with what was added to it");

	probe_line_begin(arch, &line);
	insn = DECODE("\x48\x8b\x44\x24\x08"); /* mov rax, [rsp+8] */
	probe_line_step(&line, &insn);
	node = line.registers[RAX].node;
	insn = DECODE("\x48\x8b\x40\x10"); /* mov rax, [rax+0x10] */
	probe_line_step(&line, &insn);
	ok(probe_line_is_load(&line, line.registers[RAX], 0x10, &base) && base == node, "a word of a word");
	place = probe_line_place(&line, node, false);
	ok(place.kind == PYTHON_ON_STACK && place.reg == RSP && place.add == 8, "which is still on the stack");
	insn = DECODE("\x57"); /* push rdi */
	probe_line_step(&line, &insn);
	place = probe_line_place(&line, node, false);
	ok(place.kind == PYTHON_ON_STACK && place.add == 16, "at another distance after a push");
	insn = DECODE("\x48\xc7\x44\x24\x10\x00\x00\x00\x00"); /* mov qword [rsp+16], 0 */
	probe_line_step(&line, &insn);
	ok(!probe_line_place(&line, node, false).kind, "and nowhere when it is overwritten");

	probe_line_begin(arch, &line);
	insn = DECODE("\x48\x8b\x43\x08"); /* mov rax, [rbx+8] */
	probe_line_step(&line, &insn);
	node = line.registers[RAX].node;
	insn = DECODE("\x48\xc7\x43\x08\x00\x00\x00\x00"); /* mov qword [rbx+8], 0 */
	probe_line_step(&line, &insn);
	insn = DECODE("\x48\x8b\x4b\x08"); /* mov rcx, [rbx+8] */
	probe_line_step(&line, &insn);
	ok(line.registers[RCX].node != node, "a word is another one after a write");

	probe_line_begin(arch, &line);
	insn = DECODE("\x89\x54\x24\x24"); /* mov [rsp+0x24], edx */
	probe_line_step(&line, &insn);
	insn = DECODE("\x31\xd2"); /* xor edx, edx */
	probe_line_step(&line, &insn);
	ok(!probe_line_place(&line, RDX, false).kind && probe_line_place(&line, RDX, true).add == 0x24,
	   "half of a register is enough for a flag only");
	insn = DECODE("\xe8\x00\x00\x00\x00");
	probe_line_step(&line, &insn);
	ok(probe_line_place(&line, RBX, false).kind && !probe_line_place(&line, RSI, false).kind,
	   "a call keeps what it has to keep");
}

static uint8_t *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t length = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;

	if (bytes && pread(fd, bytes, (size_t)length, 0) != length) {
		free(bytes);
		bytes = NULL;
	}
	if (fd >= 0)
		close(fd);
	*size = (size_t)length;
	return bytes;
}

/* One byte in 512 of the loop is another one: places are found or refused, and have what they need. */
static void test_damaged(const char *path)
{
	size_t size, count, at, i, round, wrong = 0, refused = 0;
	uint8_t *bytes = read_file(path, &size);
	struct python_interpreter interpreter;
	struct python_range *ranges = NULL;
	struct python_sites sites;
	struct elf_file *elf = NULL, *again;
	struct diag diag = {};

	if (!bytes || elf_file_open_memory(bytes, size, path, &elf, NULL) ||
	    python_interpreter_recognise(elf, &interpreter, NULL) != 1 ||
	    python_eval_ranges(elf, &interpreter, &ranges, &count, NULL)) {
		printf("ok %d - a damaged loop # SKIP %s is no CPython\n", ++tap_run, path);
		goto out;
	}
	srandom(1);
	for (round = 0; round < MUTATIONS; round++) {
		uint8_t *copy = malloc(size);

		if (!copy)
			break;
		memcpy(copy, bytes, size);
		for (i = 0; round && i < count; i++) {
			/* Fixed addresses, or a library's: its segments begin where their offsets do. */
			const uint8_t *code = elf_file_bytes_at(elf, ranges[i].start, 16);
			uint8_t *found = code ? memmem(copy, size, code, 16) : NULL;

			for (at = 0; found && at < ranges[i].end - ranges[i].start; at += 1 + (size_t)random() % 1024)
				if (found + at < copy + size)
					found[at] = (uint8_t)random();
		}
		if (!elf_file_open_memory(copy, size, path, &again, NULL)) {
			if (python_sites_find(again, &interpreter, ranges, count, &sites, &diag)) {
				refused++;
				wrong += !*diag.text;
			} else {
				for (i = 0; i < sites.at.count; i++)
					wrong += !sites.at.at[i].frame.kind;
				python_sites_deinit(&sites);
			}
			elf_file_close(again);
		}
		if (!round)
			is_int(refused, 0, "%s: has places", path);
		free(copy);
	}
	printf("# %zu of %d damaged loops are refused\n", refused, MUTATIONS - 1);
	is_int(wrong, 0, "a damaged loop has places with a frame each, or is refused with a reason");
out:
	free(ranges);
	elf_file_close(elf);
	free(bytes);
}

static bool is_same_place(const struct python_place *a, const struct python_place *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->add == b->add;
}

static bool is_same_site(const struct python_site *a, const struct python_site *b)
{
	return a->vaddr == b->vaddr && a->handler == b->handler && a->kind == b->kind && a->emulated == b->emulated &&
	       a->opcode_count == b->opcode_count && !memcmp(a->opcodes, b->opcodes, sizeof(a->opcodes)) &&
	       is_same_place(&a->frame, &b->frame) && is_same_place(&a->instruction, &b->instruction) &&
	       is_same_place(&a->tstate, &b->tstate) && is_same_place(&a->flag, &b->flag) && a->again == b->again &&
	       a->interp_offset == b->interp_offset && a->version_offset == b->version_offset &&
	       a->code_offset == b->code_offset && a->version_low == b->version_low &&
	       a->tracing_offset == b->tracing_offset && a->copy_offset == b->copy_offset &&
	       a->recursion_offset == b->recursion_offset &&
	       a->after == b->after;
}

static bool is_same_list(const python_site_list *a, const python_site_list *b)
{
	size_t i;

	for (i = 0; i < a->count && i < b->count && is_same_site(&a->at[i], &b->at[i]);)
		i++;
	return i == a->count && i == b->count;
}

/* An entry that is cut, or has a byte that no field may have, is none. */
static void test_entries(struct cache *entries, const char *name)
{
	struct python_sites sites;
	size_t size, cut, wrong = 0;
	const uint8_t *bytes;
	uint64_t digest;
	uint8_t *copy;

	if (!cache_get(entries, name, &bytes, &size) || !(copy = malloc(size + 1))) {
		ok(false, "the entry is there");
		return;
	}
	for (cut = 0; cut < size; cut++) {
		/* Of its own size, so that ASan sees what is read behind it. */
		uint8_t *part = memcpy(malloc(cut + 1), bytes, cut);

		wrong += python_cache_decode_sites(part, cut, &digest, &sites);
		free(part);
	}
	is_int(wrong, 0, "an entry that is cut is none");
	memcpy(copy, bytes, size);
	copy[size] = 0;
	ok(!python_cache_decode_sites(copy, size + 1, &digest, &sites), "nor one with more behind it");
	copy[28] = 2; /* jit, behind four numbers */
	ok(!python_cache_decode_sites(copy, size, &digest, &sites), "nor one with a flag of 2");
	copy[28] = 0;
	memset(copy + 29, 0xff, 4); /* how many sites there are */
	ok(!python_cache_decode_sites(copy, size, &digest, &sites), "nor one with more sites than there are bytes");
	memcpy(copy, bytes, size);
	copy[33 + 16] = PYTHON_SITE_LAST + 1; /* the first one's kind, behind two addresses */
	ok(!python_cache_decode_sites(copy, size, &digest, &sites), "nor one with another kind of site");
	copy[33 + 16] = PYTHON_SITE_RETURN;
	copy[33 + 18] = PYTHON_SITE_OPCODES + 1;
	ok(!python_cache_decode_sites(copy, size, &digest, &sites), "nor one with more opcodes than there is room for");
	free(copy);
}

/* What is in the cache is what was found. */
static void test_cached(const char *path)
{
	struct python_sites first = {}, second = {};
	struct python_interpreter interpreter;
	struct cache *entries = cache_create(NULL, 1);
	struct python_cache *cache = python_cache_share(entries);
	bool cached = true, cached_again = false;
	struct elf_file *elf = NULL;
	char name[CACHE_NAME_MAX + 1];
	const uint8_t *id;
	size_t size, i, id_size;
	uint8_t *bytes = read_file(path, &size);

	if (!bytes || elf_file_open_memory(bytes, size, path, &elf, NULL) ||
	    python_interpreter_recognise(elf, &interpreter, NULL) != 1 ||
	    python_cache_sites(cache, elf, &interpreter, &first, &cached, NULL)) {
		printf("ok %d - cached sites # SKIP %s is no CPython\n", ++tap_run, path);
	} else {
		ok(!python_cache_sites(cache, elf, &interpreter, &second, &cached_again, NULL) && !cached &&
			   cached_again,
		   "sites: found, then cached");
		ok(first.at.count && is_same_list(&first.at, &second.at) &&
			   is_same_list(&first.raises, &second.raises) && is_same_list(&first.jits, &second.jits) &&
			   is_same_list(&first.lines, &second.lines) && first.no_lines == second.no_lines &&
			   first.table == second.table && first.entry == second.entry &&
			   first.handlers == second.handlers && first.jit == second.jit,
		   "the same");
		id_size = elf_file_build_id(elf, &id);
		for (i = 0; i < id_size && i < 32; i++)
			sprintf(name + 2 * i, "%02x", id[i]);
		strcpy(name + 2 * i, ".sites");
		if (id_size)
			test_entries(entries, name);
	}
	python_sites_deinit(&first);
	python_sites_deinit(&second);
	elf_file_close(elf);
	free(bytes);
	python_cache_destroy(cache);
	cache_destroy(entries);
}

/* A loop of tests/unit/asm/python_loop_x86_64.s: what is found of it, or why it is refused. */
static int find_kind(unsigned int kind, struct python_sites *ret, struct diag *diag)
{
	const struct python_interpreter interpreter = {
		.version = 0x030d,
		.layout = {.version = 0x030d,
			   .frame_back = 8,
			   .frame_lasti = 0x38,
			   .tstate_interp = 16,
			   .code_bytecode = 200,
			   .frame_tlbc_index = kind == 11 || kind == 12 ? 72 : PY_NO_OFFSET,
			   .code_tlbc = kind == 11 || kind == 12 ? 232 : PY_NO_OFFSET}};
	struct python_range ranges[2] = {{}, {.handler = true}};
	char option[64];
	struct elf_file *elf;
	uint64_t size, behind;
	int err;

	snprintf(option, sizeof(option), "-Wa,-defsym,KIND=%u", kind);
	elf = assemble_with("python_loop_x86_64", "x86_64", option);
	if (!ok(elf && elf_file_find_symbol(elf, "_PyEval_EvalFrameDefault", &ranges[0].start, &size) &&
			elf_file_find_symbol(elf, "functions", &ranges[1].start, &behind),
		"a loop is assembled"))
		exit(tap_done());
	ranges[0].end = ranges[0].start + size;
	ranges[1].end = ranges[1].start + behind;
	err = python_sites_find(elf, &interpreter, ranges, ranges[1].start < ranges[0].end ? 1 : 2, ret, diag);
	elf_file_close(elf);
	return err;
}

static const struct python_site *site_of(const struct python_sites *sites, enum python_site_kind kind, uint8_t opcode)
{
	size_t i;

	for (i = 0; i < sites->at.count; i++)
		if (sites->at.at[i].kind == kind && (!opcode || sites->at.at[i].opcodes[0] == opcode))
			return &sites->at.at[i];
	return NULL;
}

static void test_loop(unsigned int kind, uint8_t instruction, const char *words)
{
	const struct python_site *resume, *resume_check, *end, *unwind;
	struct python_sites sites = {};
	struct diag diag = {};

	is_int(find_kind(kind, &sites, &diag), 0, "%s: found", words);
	resume = site_of(&sites, PYTHON_SITE_RESUME, 149);
	resume_check = site_of(&sites, PYTHON_SITE_RESUME, 207);
	end = site_of(&sites, PYTHON_SITE_RETURN, 36);
	unwind = site_of(&sites, PYTHON_SITE_UNWIND, 0);
	is_int((int64_t)sites.at.count, 11, "%s: all of it", words);
	ok(resume && (resume->frame.reg == RCX || resume->frame.reg == R13) && !resume->frame.add &&
		   resume->again && resume->tstate.kind &&
		   resume->copy_offset == (kind == 11 ? 0x3ca0 : PY_NO_OFFSET) && resume->version_offset == 24 &&
		   resume->code_offset == 168 && resume->interp_offset == PY_NO_OFFSET,
	   "%s: the frame and the versions at RESUME", words);
	/* The branch behind the comparison is where the breakpoint is, but for calls, and comparisons of copies. */
	is_int(resume_check && resume_check->is_compared, kind != 3 && kind != 11 && kind != 13,
	       "%s: equal by the flags", words);
	ok(end && end->instruction.reg == instruction && !end->instruction.add && end->tstate.kind,
	   "%s: the instruction at RETURN_VALUE", words);
	ok(unwind && unwind->frame.kind && unwind->tstate.kind && unwind->recursion_offset == 44,
	   "%s: the frame at its end by an exception", words);
	python_sites_deinit(&sites);
}

static void test_refused(unsigned int kind, const char *reason)
{
	struct python_sites sites = {};
	struct diag diag = {};

	is_int(find_kind(kind, &sites, &diag), -ENOTSUP, "kind %u is refused", kind);
	ok(strstr(diag.text, reason), "by name: %s", diag.text);
}

static void test_loops(void)
{
	if (!can_assemble()) {
		printf("ok %d - loops # SKIP no clang or no lld\n", ++tap_run);
		return;
	}
	test_loop(0, RBP, "registers");
	test_loop(1, RAX, "the instruction on the stack");
	test_loop(2, RAX, "both on the stack");
	test_loop(3, RBP, "a copy, and a call that reads");
	test_loop(7, RBP, "another local variable, elsewhere");
	test_loop(8, RBP, "functions");
	test_loop(11, RBP, "free-threaded");
	test_loop(13, RBP, "the thread state is lost");
	test_loop(14, RAX, "a frame pointer");
	test_refused(4, "does not agree on a place for the instruction");
	test_refused(5, "where RESUME compares what is instrumented was not found");
	test_refused(6, "does not agree on a place for the frame");
	test_refused(9, "other instructions end functions than those that should");
	test_refused(10, "its functions go on in one that is not known");
	test_refused(15, "does not agree on a place for the frame");
	test_refused(12, "where RESUME asks for the thread's copy of the code was not found");
}

int main(void)
{
	if (arch_of(EM_X86_64)->spot->create(&decoder))
		return 1;
	test_instructions();
	test_addresses();
	test_emulated();
	test_line();
	test_loops();
	arch_of(EM_X86_64)->spot->destroy(decoder);
	test_damaged("/usr/bin/python3");
	test_cached("/usr/bin/python3");
	return tap_done();
}
