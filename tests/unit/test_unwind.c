// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf_builder.h"
#include "tap.h"
#include "unwind/unwind_table.h"

/* .eh_frame, written entry by entry. */
struct cfi_bytes {
	uint8_t at[4096];
	size_t size;
	size_t open; /* where the open entry begins */
	uint64_t vaddr;
};

static void put(struct cfi_bytes *b, const void *bytes, size_t size)
{
	memcpy(b->at + b->size, bytes, size);
	b->size += size;
}

static void put_u32(struct cfi_bytes *b, uint32_t value)
{
	put(b, &value, sizeof(value));
}

static void begin(struct cfi_bytes *b)
{
	b->open = b->size;
	put_u32(b, 0);
}

static void end(struct cfi_bytes *b)
{
	uint32_t length;

	while (b->size % 4)
		b->at[b->size++] = 0; /* DW_CFA_nop */
	length = (uint32_t)(b->size - b->open - 4);
	memcpy(b->at + b->open, &length, sizeof(length));
}

/* A CIE as compilers write it: code 1, data -8, RA 16, CFA = rsp + 8, RA at CFA - 8. Returns its offset. */
static size_t put_cie(struct cfi_bytes *b, const char *augmentation, uint8_t encoding)
{
	size_t at = b->size;

	begin(b);
	put_u32(b, 0);
	put(b, "\1", 1);
	put(b, augmentation, strlen(augmentation) + 1);
	put(b, "\1\x78\x10", 3);
	if (*augmentation == 'z') {
		put(b, "\1", 1);
		put(b, &encoding, 1);
	}
	put(b, "\x0c\x07\x08\x90\x01", 5);
	end(b);
	return at;
}

#define PCREL_SDATA4 0x1b

static void put_fde(struct cfi_bytes *b, size_t cie, uint64_t start, uint32_t size, const char *code, size_t code_size)
{
	begin(b);
	put_u32(b, (uint32_t)(b->size - cie));
	put_u32(b, (uint32_t)(start - (b->vaddr + b->size)));
	put_u32(b, size);
	put(b, "\0", 1);
	put(b, code, code_size);
	end(b);
}

#define FDE(b, cie, start, size, code) put_fde(b, cie, start, size, code, sizeof(code) - 1)

/* An image with 4 KiB of zeros as text and room for .eh_frame behind it. */
struct image {
	struct elf_builder elf;
	struct cfi_bytes cfi;
	uint64_t text;
	struct elf_file *file;
};

static void image_begin(struct image *image)
{
	image->elf = elf_builder_init();
	image->text = elf_builder_next(&image->elf);
	elf_builder_section(&image->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 4096);
	image->cfi.size = 0;
	image->cfi.vaddr = elf_builder_next(&image->elf);
}

static void image_text(struct image *image, uint64_t vaddr, const char *bytes, size_t size)
{
	memcpy(image->elf.bytes + (vaddr - ELF_BUILDER_BASE), bytes, size);
}

static int image_compile(struct image *image, struct unwind_table *table)
{
	if (image->cfi.size)
		elf_builder_section(&image->elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, image->cfi.at, image->cfi.size);
	elf_builder_finish(&image->elf, 0);
	if (elf_file_open_memory(image->elf.bytes, image->elf.size, "image", &image->file, NULL))
		abort();
	return unwind_table_compile(image->file, NULL, table, NULL);
}

static void image_end(struct image *image, struct unwind_table *table)
{
	unwind_table_deinit(table);
	elf_file_close(image->file);
	elf_builder_deinit(&image->elf);
}

static void is_rule(const struct unwind_table *table, uint64_t vaddr, const char *expected, const char *what)
{
	struct unwind_rule rule = unwind_table_lookup(table, vaddr);
	static char text[128];

	unwind_rule_format(arch_of(EM_X86_64)->unwind, &rule, text, sizeof(text));
	is_str(text, expected, "%s", what);
}

/* Compiles one FDE over text [0, 64) and gives the rule at its byte 32. */
static void is_rule_of(const char *code, size_t size, const char *augmentation, const char *expected, const char *what)
{
	struct unwind_table table = {};
	struct image image;

	image_begin(&image);
	put_fde(&image.cfi, put_cie(&image.cfi, augmentation, PCREL_SDATA4), image.text, 64, code, size);
	image_compile(&image, &table);
	is_rule(&table, image.text + 32, expected, what);
	image_end(&image, &table);
}

#define RULE_OF(code, expected, what) is_rule_of(code, sizeof(code) - 1, "zR", expected, what)

static void test_function(void)
{
	/* push rbp (1 byte), mov rsp to rbp (3), body with an early return that restores, ret. */
	static const char code[] = "\x41\x0e\x10\x86\x02\x43\x0d\x06\x48\x0a\x0c\x07\x08\xc6\x41\x0b";
	struct unwind_table table = {};
	uint64_t start = 0, stop = 0;
	struct image image;
	size_t cie;

	image_begin(&image);
	cie = put_cie(&image.cfi, "zR", PCREL_SDATA4);
	FDE(&image.cfi, cie, image.text + 0x100, 0x20, "\x44\x0e\x20");
	put_fde(&image.cfi, cie, image.text + 0x40, 0x30, code, sizeof(code) - 1);
	is_int(image_compile(&image, &table), 0, "two functions, out of order");
	is_int(table.fde_count, 2, "two FDEs");
	is_int(table.covered_bytes, 0x50, "bytes covered");
	is_rule(&table, image.text + 0x3f, "none", "before the function");
	is_rule(&table, image.text + 0x40, "cfa=rsp+8 rbp=same", "at its entry");
	is_rule(&table, image.text + 0x41, "cfa=rsp+16 rbp=cfa-16", "after push %%rbp");
	is_rule(&table, image.text + 0x43, "cfa=rsp+16 rbp=cfa-16", "within mov");
	is_rule(&table, image.text + 0x44, "cfa=rbp+16 rbp=cfa-16", "in the body");
	is_rule(&table, image.text + 0x4c, "cfa=rsp+8 rbp=same", "at the early return");
	is_rule(&table, image.text + 0x4d, "cfa=rbp+16 rbp=cfa-16", "after it: restored state");
	is_rule(&table, image.text + 0x6f, "cfa=rbp+16 rbp=cfa-16", "the last byte");
	is_rule(&table, image.text + 0x70, "none", "behind it");
	is_rule(&table, image.text + 0x104, "cfa=rsp+32 rbp=same", "the other function");
	is_rule(&table, table.end, "none", "outside the table");
	is_rule(&table, 0, "none", "below the table");
	ok(unwind_find_fde(image.file, image.text + 0x6f, &start, &stop) && start == image.text + 0x40 &&
		   stop == image.text + 0x70,
	   "the FDE of an address");
	ok(!unwind_find_fde(image.file, image.text + 0x70, &start, &stop), "no FDE behind it");
	image_end(&image, &table);
}

static void test_rules(void)
{
	RULE_OF("\x0e\x80\x01", "cfa=rsp+128 rbp=same", "def_cfa_offset");
	RULE_OF("\x13\x7e", "cfa=rsp+16 rbp=same", "def_cfa_offset_sf");
	RULE_OF("\x0c\x0a\x00", "cfa=r10+0 rbp=same", "def_cfa: another register");
	RULE_OF("\x12\x06\x7e", "cfa=rbp+16 rbp=same", "def_cfa_sf");
	RULE_OF("\x02\x10\x0e\x18", "cfa=rsp+24 rbp=same", "advance_loc1");
	RULE_OF("\x03\x10\x00\x0e\x18", "cfa=rsp+24 rbp=same", "advance_loc2");
	RULE_OF("\x04\x21\x00\x00\x00\x0e\x18", "cfa=rsp+8 rbp=same", "advance_loc4, later");
	RULE_OF("\x05\x06\x02", "cfa=rsp+8 rbp=cfa-16", "offset_extended");
	RULE_OF("\x11\x06\x7f", "cfa=rsp+8 rbp=cfa+8", "offset_extended_sf");
	RULE_OF("\x86\x02\x08\x06", "cfa=rsp+8 rbp=same", "same_value");
	RULE_OF("\x86\x02\x06\x06", "cfa=rsp+8 rbp=same", "restore_extended");
	RULE_OF("\x07\x06", "cfa=rsp+8 rbp=undefined", "undefined");
	RULE_OF("\x09\x06\x09", "cfa=rsp+8 rbp=undefined", "the frame pointer in a register");
	RULE_OF("\x14\x06\x00", "cfa=rsp+8 rbp=undefined", "val_offset");
	RULE_OF("\x2e\x10", "cfa=rsp+8 rbp=same", "GNU_args_size");
	RULE_OF("\x07\x10", "end", "the return address undefined");
	RULE_OF("\x09\x10\x01", "cfa=rsp+8 ra=rdx rbp=same", "the return address in a register");
	RULE_OF("\x90\x02", "unsupported", "the return address elsewhere");
	RULE_OF("\x87\x02", "unsupported", "a saved stack pointer");
	RULE_OF("\x16\x06\x02\x76\x00", "cfa=rsp+8 rbp=undefined", "val_expression");
	RULE_OF("\x0e\xff\xff\xff\xff\x7f", "unsupported", "a CFA farther than 2 GiB");
}

static void test_carried_register(void)
{
	RULE_OF("\x83\x03", "cfa=rsp+8 rbp=same rbx=cfa-24", "rbx saved");
	RULE_OF("\x83\xfe\x01", "cfa=rsp+8 rbp=same rbx=cfa-2032", "as far as a slot can say");
	RULE_OF("\x83\xff\x01", "cfa=rsp+8 rbp=same rbx=undefined", "farther");
	RULE_OF("\x11\x03\x7f", "cfa=rsp+8 rbp=same rbx=undefined", "above the CFA");
	RULE_OF("\x83\x03\xc3", "cfa=rsp+8 rbp=same", "restored");
	RULE_OF("\x83\x03\x0d\x06", "cfa=rbp+8 rbp=same rbx=cfa-24", "with a frame pointer");
	RULE_OF("\x83\x07\x0c\x03\x38", "cfa=rbx+56 rbp=same rbx=cfa-56", "the CFA in rbx");
	RULE_OF("\x83\x0f\x0d\x03", "cfa=rbx+8 rbp=same rbx=cfa-120", "farther out");
	RULE_OF("\x0f\x03\x76\x78\x06\x10\x03\x02\x76\x58", "cfa=*(rbp-8)+0 rbp=same rbx=rbp-40", "a realigned frame");
	RULE_OF("\x0f\x03\x76\x78\x06\x83\x02", "cfa=*(rbp-8)+0 rbp=same rbx=undefined", "another kind of it");
	RULE_OF("\x0f\x06\x77\x98\x01\x06\x23\x08\x83\x02", "cfa=*(rsp+152)+8 rbp=same rbx=cfa-16", "libcrypto's");
	RULE_OF("\x0f\x06\x77\x98\x01\x06\x23\x09", "unsupported", "an odd distance");
	RULE_OF("\x0e\x00\x09\x10\x05", "cfa=rsp+0 ra=rdi rbp=same", "vfork's return address");
	RULE_OF("\x0d\x06\x09\x10\x05", "unsupported", "in a register, and a frame pointer");
	RULE_OF("\x09\x10\x11", "unsupported", "in a vector register");
}

static void test_expressions(void)
{
	RULE_OF("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", "cfa=plt(11) rbp=same", "the PLT's expression");
	RULE_OF("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22", "cfa=plt(9) rbp=same", "the same with IBT");
	RULE_OF("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00", "cfa=*(rbp-8)+0 rbp=*rbp", "a realigned frame");
	RULE_OF("\x10\x06\x02\x76\x08", "cfa=rsp+8 rbp=undefined", "rbp saved off rbp");
	RULE_OF("\x0f\x06\x77\x98\x01\x06\x23\x08", "cfa=*(rsp+152)+8 rbp=same", "libcrypto's");
	RULE_OF("\x0f\x02\x77\x20", "cfa=rsp+32 rbp=same", "a register and an offset");
	RULE_OF("\x0f\x03\x73\x00\x06", "unsupported", "memory at another register");
	RULE_OF("\x0f\x0a\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08", "cfa=*(rsp+8+8*r9)+8 rbp=same", "an indexed CFA");
	RULE_OF("\x0f\x0a\x77\x08\x79\x00\x34\x1e\x22\x06\x23\x08", "unsupported", "what no rule can say");
	RULE_OF("\x0f\x0a\x76\x08\x79\x00\x38\x1e\x22\x06\x23\x08", "unsupported", "an index from the frame pointer");
	RULE_OF("\x0f\x0b\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08\x06", "unsupported", "an indexed CFA, and more");
	RULE_OF("\x0f\x05\x76\x00\x06\x40\x22\x86\x02", "cfa=*(rbp+0)+16 rbp=cfa-16", "a word and a literal");
	RULE_OF("\x0f\x04\x76\x00\x06\x40", "unsupported", "a literal that is not added");
	RULE_OF("\x0f\x04\x76\x00\x06\x22", "unsupported", "nothing to add");
	RULE_OF("\x0f\x00", "unsupported", "an empty expression");
	is_rule_of("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xa8\x01", 12, "zRS", "signal rsp+40", "a signal frame");
	is_rule_of("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xb0\x01", 12, "zRS", "unsupported",
		   "a signal frame not the kernel's");
}

static void test_damaged(void)
{
	RULE_OF("\x0e\x10\x3f", "none", "an unknown instruction: the FDE is skipped");
	RULE_OF("\x0b", "none", "restore_state without remember_state");
	RULE_OF("\x0e\x80\x80", "none", "an instruction cut off");
	RULE_OF("\x0f\x7f\x77", "none", "an expression longer than its FDE");
	is_rule_of("", 0, "zX", "none", "an unknown augmentation");
	is_rule_of("", 0, "eh", "none", "an augmentation of old");

	struct unwind_table table = {.row_count = 77};
	struct image image;
	size_t cie;

	image_begin(&image);
	cie = put_cie(&image.cfi, "zR", PCREL_SDATA4);
	FDE(&image.cfi, cie, image.text, 16, "\x3f");
	FDE(&image.cfi, cie + 4, image.text + 16, 16, "");
	FDE(&image.cfi, cie, image.text + 32, 16, "\x0e\x10");
	put_u32(&image.cfi, 0x7fffffff);
	is_int(image_compile(&image, &table), 0, "some damaged FDEs do not spoil the others");
	is_int(table.fde_skipped, 3, "and are counted");
	is_rule(&table, image.text + 8, "none", "the first has no rule");
	is_rule(&table, image.text + 40, "cfa=rsp+16 rbp=same", "the sound one has");
	image_end(&image, &table);

	table = (struct unwind_table){.row_count = 77};
	image_begin(&image);
	put_u32(&image.cfi, 0xfffffff0);
	put_u32(&image.cfi, 0);
	is_int(image_compile(&image, &table), -EBADMSG, "nothing left");
	is_int(table.row_count, 77, "the result is untouched");
	table = (struct unwind_table){};
	image_end(&image, &table);
}

static void test_order(void)
{
	struct unwind_table table = {};
	struct image image;
	size_t cie, i;
	bool rising = true;

	image_begin(&image);
	cie = put_cie(&image.cfi, "zR", PCREL_SDATA4);
	FDE(&image.cfi, cie, image.text + 0x20, 0x20, "\x0e\x20");
	FDE(&image.cfi, cie, image.text + 0x10, 0x20, "\x0e\x10");
	FDE(&image.cfi, cie, image.text + 0x20, 0x10, "\x0e\x30");
	FDE(&image.cfi, cie, image.text + 0xff0, 0x20, "\x0e\x40");
	FDE(&image.cfi, cie, 0x1000, 0x20, "\x0e\x50");
	FDE(&image.cfi, cie, image.text + 0x80, 0, "\x0e\x60");
	is_int(image_compile(&image, &table), 0, "overlapping FDEs");
	is_rule(&table, image.text + 0x2f, "cfa=rsp+16 rbp=same", "the first by start wins");
	is_rule(&table, image.text + 0x30, "cfa=rsp+32 rbp=same", "then the first in the file");
	is_rule(&table, image.text + 0x80, "none", "an empty FDE covers nothing");
	is_int(table.fde_count, 4, "FDEs outside the text or empty are left out");
	for (i = 1; i < table.row_count; i++)
		rising &=
			table.rows[i - 1].offset < table.rows[i].offset && table.rows[i - 1].rule != table.rows[i].rule;
	ok(rising, "rows are sorted, without duplicates");
	image_end(&image, &table);
}

static void test_encodings(void)
{
	struct unwind_table table = {};
	uint16_t size16 = 0x20;
	uint64_t size64 = 0x20;
	struct image image;
	size_t cie;
	int16_t near;

	image_begin(&image);
	cie = put_cie(&image.cfi, "", 0); /* absolute, no augmentation data */
	begin(&image.cfi);
	put_u32(&image.cfi, (uint32_t)(image.cfi.size - cie));
	put(&image.cfi, &image.text, sizeof(image.text));
	put(&image.cfi, &size64, sizeof(size64));
	put(&image.cfi, "\x0e\x10", 2);
	end(&image.cfi);
	put_u32(&image.cfi, 0); /* a terminator in the middle, as of a linked crtend.o */
	cie = put_cie(&image.cfi, "zR", 0x1a);
	begin(&image.cfi);
	put_u32(&image.cfi, (uint32_t)(image.cfi.size - cie));
	near = (int16_t)(image.text + 0x40 - (image.cfi.vaddr + image.cfi.size));
	put(&image.cfi, &near, sizeof(near));
	put(&image.cfi, &size16, sizeof(size16));
	put(&image.cfi, "\0\x0e\x18", 3);
	end(&image.cfi);
	is_int(image_compile(&image, &table), 0, "other pointer encodings");
	is_rule(&table, image.text, "cfa=rsp+16 rbp=same", "absolute");
	is_rule(&table, image.text + 0x40, "cfa=rsp+24 rbp=same", "pcrel, two bytes, after a terminator");
	image_end(&image, &table);
}

static void test_fillers(void)
{
	static const char plt[48] = "\xff\x35\0\0\0\0\xff\x25\0\0\0\0\x0f\x1f\x40\0\xff\x25\0\0\0\0\x68";
	struct unwind_table table = {};
	struct image image;
	/* endbr64; cmpb; jne out; push %rbp; mov %rsp, %rbp; call; pop %rbp; ret; nop; out: ret */
	static const char dtors_code[] =
		"\xf3\x0f\x1e\xfa\x80\x3d\1\2\3\4\0\x75\x0c\x55\x48\x89\xe5\xe8\1\2\3\4\x5d\xc3\x90\xc3";
	uint64_t stubs, entry, dtors;
	size_t cie;

	image_begin(&image);
	entry = image.text + 0x200;
	dtors = image.text + 0x600;
	image.elf.type = ET_EXEC;
	image.elf.entry = entry;
	image_text(&image, entry, "\x31\xed\x49\x89\xd1\x5e\x48\x89\xe2\x48\x83\xe4\xf0\x50\x54\xe8\0\0\0\0\xf4", 21);
	image_text(&image, dtors, dtors_code, sizeof(dtors_code) - 1);
	elf_builder_section(&image.elf, ".fini_array", SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, &dtors, sizeof(dtors));
	image_text(&image, image.text + 0x400, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	image_text(&image, image.text + 0x810, "\x0f\x05\x48\x85\xc0", 5);
	stubs = elf_builder_next(&image.elf);
	elf_builder_section(&image.elf, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plt, sizeof(plt));
	elf_builder_section(&image.elf, ".plt.got", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plt + 16, 8);
	image.cfi.vaddr = elf_builder_next(&image.elf);
	cie = put_cie(&image.cfi, "zR", PCREL_SDATA4);
	FDE(&image.cfi, cie, image.text + 0x800, 0x10, "\x41\x0e\x10");
	FDE(&image.cfi, cie, image.text + 0x820, 0x10, "\x07\x10");
	is_int(image_compile(&image, &table), 0, "what CFI leaves out");
	is_rule(&table, entry, "end", "the entry point");
	is_rule(&table, entry + 20, "end", "to its last byte");
	is_rule(&table, entry + 21, "none", "and no farther");
	is_rule(&table, dtors + 13, "cfa=rsp+8 rbp=same", "the first of .fini_array, before its push");
	is_rule(&table, dtors + 14, "cfa=rsp+16 rbp=cfa-16", "behind it");
	is_rule(&table, dtors + 22, "cfa=rbp+16 rbp=cfa-16", "until its pop");
	is_rule(&table, dtors + 23, "cfa=rsp+8 rbp=same", "behind that");
	is_rule(&table, dtors + 25, "cfa=rsp+8 rbp=same", "where nothing is to be done");
	is_rule(&table, dtors + 26, "none", "and no farther");
	is_rule(&table, image.text + 0x3ff, "signal rsp+40", "a trampoline, from the byte before it");
	is_rule(&table, image.text + 0x408, "signal rsp+40", "to its end");
	is_rule(&table, image.text + 0x409, "signal rsp+40", "and where the PC is in its system call");
	is_rule(&table, image.text + 0x40a, "none", "and no farther");
	is_rule(&table, image.text + 0x812, "clone cfa=rsp+16 rbp=same", "clone's system call, by the rule before it");
	is_rule(&table, image.text + 0x820, "end", "clone's child");
	is_rule(&table, image.text + 0x830, "none", "behind it");
	is_rule(&table, stubs, "cfa=rsp+16 rbp=same", ".plt's first slot");
	is_rule(&table, stubs + 6, "cfa=rsp+24 rbp=same", "after its push");
	is_rule(&table, stubs + 16, "cfa=plt(11) rbp=same", "the other slots");
	is_rule(&table, stubs + 48, "cfa=rsp+8 rbp=same", ".plt.got");
	image_end(&image, &table);
}

/* A section of code without FDEs, and the rules at its first byte, at `inner`, and at its last. */
static void is_section(const char *name, const char *bytes, size_t size, size_t inner, const char *expected,
		       const char *what)
{
	const char *outer = strcmp(expected, "none") ? "cfa=rsp+8 rbp=same" : "none";
	struct unwind_table table = {};
	struct image image;
	uint64_t at;

	image_begin(&image);
	at = elf_builder_next(&image.elf);
	elf_builder_section(&image.elf, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, bytes, size);
	image_compile(&image, &table);
	is_rule(&table, at, outer, what);
	is_rule(&table, at + inner - 1, outer, what);
	is_rule(&table, at + inner, expected, what);
	is_rule(&table, at + size - 2, expected, what);
	is_rule(&table, at + size - 1, outer, what);
	image_end(&image, &table);
}

static void test_init(void)
{
	static const char init[] = "\x48\x83\xec\x08\xff\xd0\x48\x83\xc4\x08\xc3";
	static const char ibt[] = "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x48\x83\xc4\x08\xc3";

	is_section(".init", init, 11, 4, "cfa=rsp+16 rbp=same", "_init");
	is_section(".fini", ibt, 13, 8, "cfa=rsp+16 rbp=same", "_fini with endbr64");
	is_section(".init", "\x50\xe8\0\0\0\0\x58\xc3", 8, 1, "cfa=rsp+16 rbp=same", "musl's");
	is_section(".init", "\x50\xe8\0\0\0\0\x59\xc3", 8, 1, "none", "another function");
	is_section(".fini", init, 10, 4, "none", "one cut off");
	is_section(".other", init, 11, 4, "none", "another section");
}

static void test_fp_code(void)
{
	static const char code[] = "\x55\x48\x89\xe5\xe8\0\0\0\0\x5d\xc3\x55\x48\x89\xe5\xc9\xc2\x08\0\xcc";
	struct unwind_table table = {};
	static char text[20480];
	struct image image;
	size_t at, step;
	uint64_t start;

	for (step = 512; step <= 8192; step *= 16) {
		memset(text, 0xcc, sizeof(text));
		for (at = 0; at + sizeof(code) < sizeof(text); at += step)
			memcpy(text + at, code, sizeof(code) - 1);
		image_begin(&image);
		start = elf_builder_next(&image.elf);
		elf_builder_section(&image.elf, ".made", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
		image.cfi.vaddr = elf_builder_next(&image.elf);
		FDE(&image.cfi, put_cie(&image.cfi, "zR", PCREL_SDATA4), image.text, 0x1000, "");
		image_compile(&image, &table);
		if (step == 512) {
			is_rule(&table, start, "chain", "code with frame pointers, at a function's start");
			is_rule(&table, start + 4, "chain", "in its body");
			is_rule(&table, start + sizeof(text) - 1, "chain", "at the end");
			ok(table.row_count < 16, "needs no row for each function: %zu", table.row_count);
		} else {
			is_rule(&table, start + 4, "none", "other code that sets up a frame pointer once in a while");
		}
		image_end(&image, &table);
	}
}

/* A file whose file system has an answer no more: that nothing was read does not mean that there is nothing. */
static void test_unread(void)
{
	static char text[20480];
	struct unwind_table table = {};
	struct image image;
	int fd = memfd_create("image", 0), own;
	size_t at;

	for (at = 0; at + 512 <= sizeof(text); at += 512)
		memcpy(text + at, "\x55\x48\x89\xe5\x5d\xc3", 6);
	image_begin(&image);
	elf_builder_section(&image.elf, ".made", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, sizeof(text));
	elf_builder_finish(&image.elf, 0);
	if (fd < 0 || write(fd, image.elf.bytes, image.elf.size) != (ssize_t)image.elf.size)
		abort();
	own = dup(fd); /* the number that the file's own descriptor will have */
	close(own);
	if (elf_file_open(fd, "image", &image.file, NULL))
		abort();
	dup2(open("/", O_RDONLY | O_DIRECTORY), own);
	is_int(unwind_table_compile(image.file, NULL, &table, NULL), -EISDIR, "part of the file cannot be read");
	close(fd);
	image_end(&image, &table);
}

static void test_entry(void)
{
	struct unwind_table table = {};
	struct image image;

	image_begin(&image);
	image.elf.entry = image.text;
	FDE(&image.cfi, put_cie(&image.cfi, "zR", PCREL_SDATA4), image.text, 0x20, "");
	image_compile(&image, &table);
	is_rule(&table, image.text, "cfa=rsp+8 rbp=same", "a library's entry that is any function is not outermost");
	image_end(&image, &table);

	image_begin(&image);
	image.elf.type = ET_EXEC;
	image.elf.entry = image.text;
	FDE(&image.cfi, put_cie(&image.cfi, "zR", PCREL_SDATA4), image.text, 0x20, "\x44\x0e\x10");
	image_compile(&image, &table);
	is_rule(&table, image.text + 0x1f, "end", "a program's entry is, whatever its FDE says");
	image_end(&image, &table);

	image_begin(&image);
	image.elf.type = ET_EXEC;
	image.elf.entry = image.text;
	is_int(image_compile(&image, &table), -ENOENT, "no .eh_frame");
	is_rule(&table, image.text, "end", "the table is usable all the same");
	image_end(&image, &table);
}

/* In the order in which they are, whatever they are like; a hostile file is full of what each ends in. */
static void test_trampolines(void)
{
	static const uint8_t code[] = {0x0f, 0x05, 0x90, 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x05, 0x48, 0xc7, 0xc0, 0x0f,
				       0,    0,    0,    0x0f, 0x05, 0xb8, 0x0f, 0, 0, 0, 0x0f};
	bool (*find)(const uint8_t *, size_t, size_t *, size_t *) = arch_of(EM_X86_64)->unwind->find_trampoline;
	size_t at = 0, length = 0;

	ok(find(code, sizeof(code), &at, &length) && at == 3 && length == 7, "a signal trampoline: the first one");
	ok(find(code + 10, sizeof(code) - 10, &at, &length) && at == 1 && length == 9, "the next one");
	ok(!find(code + 20, sizeof(code) - 20, &at, &length), "and half of one");
	ok(!find(code + 4, 6, &at, &length) && !find(code, 0, &at, &length), "or its end alone");
}

int main(void)
{
	test_trampolines();
	test_function();
	test_rules();
	test_carried_register();
	test_expressions();
	test_damaged();
	test_order();
	test_encodings();
	test_fillers();
	test_init();
	test_fp_code();
	test_unread();
	test_entry();
	return tap_done();
}
