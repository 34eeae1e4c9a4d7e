// SPDX-License-Identifier: GPL-2.0-or-later
/* Snapshots finished on the host. The tables lie in memfds in place of BPF maps, so no root is needed. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/loss.h"
#include "kernel/late_walk.h"
#include "tap.h"

#define PAGE  4096ull
#define STACK 0x7ff000000000ull
#define TEXT  0x400000ull
#define RET   NATIVE_RETURN_ADDRESS

static int memory(uint64_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	return fd >= 0 && ftruncate(fd, (off_t)size) ? -1 : fd;
}

struct late_test {
	struct tables *tables;
	struct late_walker *walker;
	struct mapping_entry mappings[2]; /* of two pages of text: frames of 16 bytes; the outermost frame */
	struct snapshot_event snapshot;
	uint64_t stack[SNAPSHOT_PAGES * PAGE / 8];
	const struct memory *process;
};

/* A file of one page of text with one rule throughout, mapped at `start`. */
static void add_file(struct late_test *t, int index, uint64_t start, struct unwind_rule rule)
{
	struct unwind_row row = {};
	struct unwind_table table = {
		.base = 0, .end = PAGE, .rows = &row, .row_count = 1, .rules = &rule, .rule_count = 1};
	struct tables_run run = {};
	struct diag diag = {};

	is_int(tables_add(t->tables, &table, &run, &diag), 0, "file %d", index);
	t->mappings[index] = (struct mapping_entry){.start = start,
						    .end = start + PAGE,
						    .bias = start,
						    .page_first = run.page_first,
						    .page_count = run.page_count,
						    .kind = MAPPING_TABLE};
}

static struct late_stack walk(struct late_test *t, uint64_t sp)
{
	t->snapshot.registers[7] = sp;
	t->snapshot.pc = TEXT + 1;
	return late_walk(t->walker, t->mappings, 2, 0, &t->snapshot, (const uint8_t *)t->stack, t->process);
}

/* The slot that a frame of 16 bytes at `sp` has for its return address. */
static uint64_t *slot(struct late_test *t, uint64_t sp)
{
	return &t->stack[(sp + 8 - STACK) / 8];
}

static void test_walks(struct late_test *t)
{
	uint64_t sp = STACK + 0x100, id;
	struct late_stack stack;

	t->snapshot.stack_start = STACK;
	t->snapshot.stack_size = 4 * PAGE;
	t->snapshot.pages = 0xf;
	t->snapshot.cookie = 77;
	*slot(t, sp) = TEXT + 0x20;
	*slot(t, sp + 16) = TEXT + PAGE + 5;
	stack = walk(t, sp);
	ok(stack.count == 3 && stack.loss == LOSS_NONE && stack.frames[0] == TEXT + 1 &&
		   stack.frames[1] == (RET | (TEXT + 0x20)) && stack.frames[2] == (RET | (TEXT + PAGE + 5)),
	   "three frames");
	id = stack.id;
	is_int(walk(t, sp).id, id, "the same again has the same id");
	t->snapshot.cookie = 78;
	ok(walk(t, sp).id != id, "in another process it has another");
	/* The same address with other mappings: nothing may be remembered. */
	t->mappings[0].page_first = t->mappings[1].page_first;
	is_int(walk(t, sp).count, 1, "other mappings, other rules");
	t->mappings[0].page_first = 0;

	*slot(t, STACK + PAGE - 16) = TEXT + 0x20; /* the last slot of the first page */
	*slot(t, STACK + PAGE) = TEXT + PAGE + 5;
	is_int(walk(t, STACK + PAGE - 16).loss, LOSS_NONE, "from page to page");
	t->snapshot.pages = 0xd;
	stack = walk(t, STACK + PAGE - 16);
	ok(stack.loss == LOSS_LATE && stack.count == 2, "into a page that was not readable");
	t->snapshot.pages = 0xf;
	*slot(t, STACK + 4 * PAGE - 16) = TEXT + 0x20;
	stack = walk(t, STACK + 4 * PAGE - 16);
	ok(stack.loss == LOSS_LATE && stack.count == 2, "off the end of the copy");
	is_int(walk(t, STACK - 32).loss, LOSS_LATE, "below its start");
	is_int(walk(t, UINT64_MAX - 8).count, 1, "at the end of all addresses");
	t->snapshot.stack_size = 0;
	t->snapshot.pages = 0;
	is_int(walk(t, sp).loss, LOSS_LATE, "no copy at all");
	t->snapshot.stack_size = SNAPSHOT_PAGES * PAGE;
	t->snapshot.pages = UINT64_MAX;
	*slot(t, STACK + SNAPSHOT_PAGES * PAGE - 16) = TEXT + PAGE + 5;
	is_int(walk(t, STACK + SNAPSHOT_PAGES * PAGE - 16).loss, LOSS_NONE, "the last word of the largest copy");
}

/* The copy of a larger stack has its two ends. */
static void test_skipped(struct late_test *t)
{
	uint64_t end = STACK + SNAPSHOT_HEAD * PAGE, skipped = 100 * PAGE;

	t->snapshot.stack_size = SNAPSHOT_PAGES * PAGE;
	t->snapshot.pages = UINT64_MAX;
	t->snapshot.skipped = skipped;
	*slot(t, end - 16) = TEXT + PAGE + 5;
	*slot(t, end) = TEXT + PAGE + 5;
	is_int(walk(t, end - 16).loss, LOSS_NONE, "the last word of the first part");
	is_int(walk(t, end).loss, LOSS_LATE, "behind it");
	is_int(walk(t, end - 8).loss, LOSS_LATE, "across");
	is_int(walk(t, end + skipped - 16).loss, LOSS_LATE, "before the second part");
	is_int(walk(t, end + skipped).loss, LOSS_NONE, "the first word of the second part");
	is_int(walk(t, STACK + SNAPSHOT_PAGES * PAGE + skipped - 16).loss, LOSS_NONE, "and the last one");
	is_int(walk(t, STACK + SNAPSHOT_PAGES * PAGE + skipped).loss, LOSS_LATE, "behind it");
	is_int(walk(t, STACK - 32).loss, LOSS_LATE, "before the first one");
	t->snapshot.skipped = 0;
}

/* A stub without a frame pointer is between two frames: its code is in the process, not in the copy. */
static void test_generated_code(struct late_test *t)
{
	static const uint8_t stub[] = {0x48, 0x83, 0xc4, 0x08, 0xc3, 0x90, 0x90, 0x90}; /* add $8, %rsp; ret */
	const struct memory_piece piece = {TEXT + PAGE + 5, stub, sizeof(stub)};
	const struct memory_pieces pieces = {&piece, 1};
	const struct memory process = memory_of_pieces(&pieces);
	const struct mapping_entry end = t->mappings[1];
	uint64_t sp = STACK + 0x100;
	struct late_stack stack;

	t->mappings[1].kind = MAPPING_FP_CHAIN;
	*slot(t, sp) = TEXT + PAGE + 5;
	*slot(t, sp + 16) = TEXT + 0x20;
	*slot(t, sp + 32) = 0;
	is_int(walk(t, sp).loss, LOSS_NO_MAPPING, "a stub of a process that is gone");
	t->process = &process;
	stack = walk(t, sp);
	ok(stack.loss == LOSS_NONE && stack.count == 3 && stack.frames[2] == (RET | (TEXT + 0x20)),
	   "one that is there");
	t->process = NULL;
	t->mappings[1] = end;
}

/* Code of a file that keeps frame pointers, interrupted where a function begins. */
static void test_chain_of_file(struct late_test *t)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90}; /* push %rbp; mov %rsp, %rbp */
	const struct memory_piece piece = {TEXT + 1, begin, sizeof(begin)};
	const struct memory_pieces pieces = {&piece, 1};
	const struct memory code = memory_of_pieces(&pieces);
	const struct mapping_entry begun = t->mappings[0];
	uint64_t sp = STACK + 0x100;
	struct late_stack stack;

	add_file(t, 0, TEXT, (struct unwind_rule){.kind = UNWIND_FP_CHAIN, .param = UNWIND_CHAIN_OF_FILE});
	t->snapshot.registers[6] = sp + 64;
	*slot(t, sp - 8) = TEXT + 0x20;
	t->stack[(sp + 64 - STACK) / 8] = sp + 128;
	*slot(t, sp + 64) = TEXT + PAGE + 5;
	t->process = &code;
	stack = walk(t, sp);
	ok(stack.loss == LOSS_NONE && stack.count == 3 && stack.frames[1] == (RET | (TEXT + 0x20)),
	   "code with frame pointers: its caller is not left out at its start");
	t->process = NULL;
	t->mappings[0] = begun;
}

struct filling {
	struct tables *tables;
	struct tables_run run;
	unsigned int asked;
};

static void fill(void *context, uint32_t page)
{
	struct unwind_rule rule = {.kind = UNWIND_SP, .cfa_offset = 16};
	struct unwind_row row = {};
	const struct unwind_table table = {
		.base = 0, .end = PAGE, .rows = &row, .row_count = 1, .rules = &rule, .rule_count = 1};
	struct filling *filling = context;

	filling->asked++;
	tables_fill(filling->tables, &filling->run, page - filling->run.page_first, 1, &table);
}

/* A file whose rows are given when a walk needs them. */
static void test_absent(struct late_test *t)
{
	const struct mapping_entry before = t->mappings[0];
	struct filling filling = {.tables = t->tables};
	uint64_t sp = STACK + 0x100;
	struct late_stack stack;
	struct diag diag = {};

	is_int(tables_reserve(t->tables, 0, PAGE, &filling.run, &diag), 0, "a file without rows");
	t->mappings[0].page_first = filling.run.page_first;
	*slot(t, sp) = TEXT + 0x20;
	*slot(t, sp + 16) = TEXT + PAGE + 5;
	stack = walk(t, sp);
	ok(stack.loss == LOSS_LATE && stack.count == 1, "nobody gives its rows");
	late_walker_fills(t->walker, fill, &filling);
	stack = walk(t, sp);
	ok(stack.loss == LOSS_NONE && stack.count == 3, "they are given, and the walk goes on");
	is_int(filling.asked, 1, "once for a page");
	walk(t, sp);
	is_int(filling.asked, 1, "and never again");
	late_walker_fills(t->walker, NULL, NULL);
	t->mappings[0] = before;
}

/* The process's memory in place of a copy: of any depth, and what is not there is no part of it. */
static void test_live(struct late_test *t)
{
	static uint64_t words[1024];
	const struct memory_piece piece = {STACK + 0x1000000, words, sizeof(words)};
	const struct memory_pieces pieces = {&piece, 1};
	const struct memory process = memory_of_pieces(&pieces);
	struct snapshot_event registers = {.pc = TEXT + 1, .cookie = 77};
	struct late_stack stack;
	uint64_t word;
	size_t i;

	registers.registers[7] = piece.address;
	for (i = 0; i < 511; i++)
		words[2 * i + 1] = TEXT + 0x20;
	words[1023] = TEXT + PAGE + 5;
	stack = live_walk(t->walker, t->mappings, 2, 0, &registers, 0, &process);
	ok(stack.count == 513 && stack.loss == LOSS_NONE, "a live stack");
	ok(late_read(t->walker, piece.address + 8, &word) && word == TEXT + 0x20, "its words can be read");
	words[1023] = TEXT + 0x20;
	stack = live_walk(t->walker, t->mappings, 2, 0, &registers, 0, &process);
	ok(stack.count == 513 && stack.loss == LOSS_STACK_READ, "one that leads out of memory");
}

int main(void)
{
	struct tables_maps maps = {.mappings = memory(MAPPINGS_MAX * sizeof(struct mapping_entry)),
				   .pages = memory(UNWIND_PAGES_MAX * sizeof(uint64_t)),
				   .rules = memory(UNWIND_RULES_MAX * sizeof(struct unwind_rule)),
				   .slabs = -1,
				   .processes = -1,
				   .changed = -1};
	struct late_test *t = calloc(1, sizeof(*t));
	struct diag diag = {};

	if (!ok(t && !tables_create(&maps, &t->tables, &diag), "tables in memfds: %s", diag.text))
		return tap_done();
	t->walker = late_walker_create(t->tables);
	add_file(t, 0, TEXT, (struct unwind_rule){.kind = UNWIND_SP, .cfa_offset = 16});
	add_file(t, 1, TEXT + PAGE, (struct unwind_rule){.kind = UNWIND_END});
	test_walks(t);
	test_skipped(t);
	test_generated_code(t);
	test_chain_of_file(t);
	test_absent(t);
	test_live(t);
	late_walker_destroy(t->walker);
	tables_destroy(t->tables);
	close(maps.mappings);
	close(maps.pages);
	close(maps.rules);
	free(t);
	return tap_done();
}
