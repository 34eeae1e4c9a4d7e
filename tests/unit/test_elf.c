// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/elf_file.h"
#include "elf/symbols.h"
#include "elf_builder.h"
#include "tap.h"

#define FUNC(bind) ELF64_ST_INFO(bind, STT_FUNC)

static uint64_t text_vaddr(void)
{
	return ELF_BUILDER_BASE + ELF_BUILDER_HEADERS;
}

/* An image with .text (section 1), .strtab (2) and .symtab (3). */
static void build(struct elf_builder *b, const Elf64_Sym *symbols, size_t count, const char *strings,
		  size_t strings_size)
{
	static const uint8_t note[] = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef};
	Elf64_Shdr *symtab;

	*b = elf_builder_init();
	elf_builder_section(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0x100);
	elf_builder_section(b, ".strtab", SHT_STRTAB, 0, strings, strings_size);
	symtab = elf_builder_section(b, ".symtab", SHT_SYMTAB, 0, symbols, count * sizeof(*symbols));
	symtab->sh_link = 2;
	symtab->sh_entsize = sizeof(*symbols);
	elf_builder_segment(b, PT_NOTE, elf_builder_section(b, ".note", SHT_NOTE, SHF_ALLOC, note, sizeof(note)));
}

static struct elf_file *open_image(const struct elf_builder *b)
{
	struct elf_file *elf = NULL;
	struct diag diag = {};

	if (elf_file_open_memory(b->bytes, b->size, "image", &elf, &diag))
		printf("# %s\n", diag.text);
	return elf;
}

/* Bytes at a vaddr as a copy: the same, or none. `end`: of the segment. */
static void check_copy(const struct elf_file *elf, const uint8_t *text, uint64_t end)
{
	uint8_t copy[16];

	memset(copy, 0x5a, sizeof(copy));
	ok(!elf_file_copy_at(elf, end - 4, 5, copy) && !elf_file_copy_at(elf, UINT64_MAX, 16, copy) && copy[0] == 0x5a,
	   "no copy of bytes past the end");
	ok(elf_file_copy_at(elf, text_vaddr(), 16, copy) && !memcmp(copy, text, 16), "a copy of bytes at a vaddr");
}

static void test_headers(void)
{
	static const char strings[] = "\0one\0one_more\0ver@@V1";
	const Elf64_Sym symbols[] = {
		{},
		{5, FUNC(STB_GLOBAL), 0, 1, text_vaddr() + 0x20, 8},
		{1, FUNC(STB_LOCAL), 0, 1, text_vaddr() + 0x10, 4},
		{14, FUNC(STB_GLOBAL), 0, 1, text_vaddr() + 0x30, 2},
	};
	struct elf_section section, hdr;
	uint64_t vaddr = 0, size = 0;
	const uint8_t *id;
	struct elf_builder b;
	struct elf_file *elf;
	size_t count;

	build(&b, symbols, 4, strings, sizeof(strings));
	b.entry = 0x1234;
	elf_builder_finish(&b, 0);
	elf = open_image(&b);
	is_int(elf_file_machine(elf), EM_X86_64, "machine");
	is_int(elf_file_type(elf), ET_DYN, "type");
	is_int(elf_file_entry(elf), 0x1234, "entry");
	ok(!elf_file_is_program(elf), "a library is no program");
	is_str(elf_file_path(elf), "image", "path");
	ok(elf_file_build_id(elf, &id) == 4 && !memcmp(id, "\xde\xad\xbe\xef", 4), "build id, from the notes' segment");
	ok(elf_file_segments(elf, &count)->vaddr == ELF_BUILDER_BASE && count == 1, "segments");
	ok(elf_file_section(elf, ".text", &section) && section.bytes == b.bytes + ELF_BUILDER_HEADERS &&
		   section.size == 0x100 && section.vaddr == text_vaddr(),
	   "a section");
	ok(!elf_file_section(elf, ".none", &section), "no such section");
	ok(elf_file_vaddr_of_offset(elf, 0x10, &vaddr) && vaddr == ELF_BUILDER_BASE + 0x10, "vaddr of an offset");
	ok(!elf_file_vaddr_of_offset(elf, 1 << 20, &vaddr), "an offset that nothing maps");
	ok(elf_file_bytes_at(elf, text_vaddr(), 16) == b.bytes + ELF_BUILDER_HEADERS, "bytes at a vaddr");
	ok(!elf_file_bytes_at(elf, ELF_BUILDER_BASE + b.size - 4, 5), "bytes past the end");
	ok(!elf_file_bytes_at(elf, UINT64_MAX, 16), "bytes at the end of the address space");
	check_copy(elf, b.bytes + ELF_BUILDER_HEADERS, ELF_BUILDER_BASE + b.size);
	ok(!elf_file_eh_frame(elf, &section, &hdr), "no .eh_frame");
	ok(elf_file_find_symbol(elf, "one", &vaddr, &size) && vaddr == text_vaddr() + 0x10 && size == 4, "a symbol");
	ok(elf_file_find_symbol(elf, "ver", &vaddr, &size) && vaddr == text_vaddr() + 0x30, "one with a version");
	ok(!elf_file_find_symbol(elf, "one_", &vaddr, &size), "a prefix is no symbol");
	ok(!elf_file_find_symbol(elf, "more", &vaddr, &size), "nor is a suffix");
	ok(!elf_file_minidebug(elf), "no MiniDebugInfo");
	elf_file_close(elf);
	elf_builder_deinit(&b);
}

/* The same dynamic symbols by each hash table, without section headers. */
static void test_hash(bool gnu)
{
	static const char strings[] = "\0alpha\0beta";
	const Elf64_Sym symbols[] = {
		{}, {1, FUNC(STB_GLOBAL), 0, 1, 0x1000, 3}, {7, FUNC(STB_GLOBAL), 0, 1, 0x2000, 5}};
	/* One bucket; a bloom filter that lets everything pass; the symbols' hashes follow. */
	const uint32_t gnu_hash[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1, 0, 0};
	const uint32_t sysv_hash[] = {1, 3, 2, 0, 0, 1};
	struct elf_builder b = elf_builder_init();
	uint64_t vaddr = 0, size = 0, at[3];
	uint32_t hashes[9], i, k;
	struct elf_file *elf;
	const char *name;

	memcpy(hashes, gnu_hash, sizeof(hashes));
	for (k = 1; k <= 2; k++) {
		uint32_t hash = 5381;

		for (name = strings + symbols[k].st_name; *name; name++)
			hash = hash * 33 + (uint8_t)*name;
		hashes[6 + k] = k == 2 ? hash | 1 : hash & ~1u;
	}
	at[0] = elf_builder_section(&b, ".dynsym", SHT_PROGBITS, 0, symbols, sizeof(symbols))->sh_addr;
	at[1] = elf_builder_section(&b, ".dynstr", SHT_PROGBITS, 0, strings, sizeof(strings))->sh_addr;
	if (gnu)
		at[2] = elf_builder_section(&b, ".gnu.hash", SHT_PROGBITS, 0, hashes, sizeof(hashes))->sh_addr;
	else
		at[2] = elf_builder_section(&b, ".hash", SHT_PROGBITS, 0, sysv_hash, sizeof(sysv_hash))->sh_addr;
	const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {at[0]}},          {DT_STRTAB, {at[1]}},
				     {DT_STRSZ, {sizeof(strings)}}, {gnu ? DT_GNU_HASH : DT_HASH, {at[2]}},
				     {DT_FLAGS_1, {DF_1_PIE}},      {DT_NULL, {0}}};
	elf_builder_segment(&b, PT_DYNAMIC,
			    elf_builder_section(&b, ".dynamic", SHT_PROGBITS, 0, dynamic, sizeof(dynamic)));
	elf_builder_finish(&b, 1);
	elf = open_image(&b);
	for (i = 0; i < 2; i++) {
		bool found = elf_file_find_symbol(elf, i ? "beta" : "alpha", &vaddr, &size);

		ok(found && vaddr == (i + 1) * 0x1000 && size == 3 + 2 * i, "%s: %s", gnu ? "DT_GNU_HASH" : "DT_HASH",
		   i ? "beta" : "alpha");
	}
	ok(!elf_file_find_symbol(elf, "gamma", &vaddr, &size), "a name that is not there");
	ok(elf_file_is_program(elf), "DF_1_PIE makes a program");
	elf_file_close(elf);
	elf_builder_deinit(&b);
}

static bool is_symbol(const struct elf_symbols *symbols, uint64_t offset, const char *expected)
{
	struct elf_symbol symbol = {.name = "(none)"};

	elf_symbols_lookup(symbols, text_vaddr() + offset, &symbol);
	return is_str(symbol.name, expected, "at %#" PRIx64 ": %s", offset, expected);
}

static void test_symbols(void)
{
	static const char strings[] = "\0outer\0inner\0__alias\0alias\0label\0unsized\0next\0.Lx\0data\0local\0weak";
	/* offsets:                  1      7      13       21     27     33       41    46   50    55     61 */
	const uint64_t text = text_vaddr();
	const Elf64_Sym table[] = {
		{},
		{1, FUNC(STB_GLOBAL), 0, 1, text, 0x40},
		{7, FUNC(STB_LOCAL), 0, 1, text + 0x10, 0x10},
		{13, FUNC(STB_GLOBAL), 0, 1, text + 0x40, 8},
		{21, FUNC(STB_GLOBAL), 0, 1, text + 0x40, 8},
		{27, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 1, text + 0x28, 0},
		{33, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, 1, text + 0x50, 0},
		{41, FUNC(STB_GLOBAL), 0, 1, text + 0x60, 0},
		{46, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 1, text + 0x58, 0},
		{50, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, text + 0x59, 1},
		{55, FUNC(STB_LOCAL), 0, 1, text + 0x60, 16},
		{61, FUNC(STB_WEAK), 0, 1, text + 0x10, 0x10},
		{1, FUNC(STB_GLOBAL), 0, SHN_UNDEF, text + 0xa0, 4},
		{9999, FUNC(STB_GLOBAL), 0, 1, text + 0xb0, 4},
	};
	struct elf_symbols *symbols = NULL;
	struct elf_symbol symbol;
	struct elf_builder b;
	struct elf_file *elf;

	build(&b, table, sizeof(table) / sizeof(table[0]), strings, sizeof(strings));
	elf_builder_finish(&b, 0);
	elf = open_image(&b);
	is_int(elf_symbols_create(elf, "/nonexistent", &symbols, NULL), 0, "symbols");
	elf_file_close(elf);
	elf_builder_deinit(&b);
	is_symbol(symbols, 0, "outer");
	is_symbol(symbols, 0x10, "weak");
	is_symbol(symbols, 0x1f, "weak");
	is_symbol(symbols, 0x20, "outer");
	is_symbol(symbols, 0x2c, "outer");
	is_symbol(symbols, 0x40, "alias");
	is_symbol(symbols, 0x48, "(none)");
	is_symbol(symbols, 0x5f, "unsized");
	is_symbol(symbols, 0x6f, "next");
	is_symbol(symbols, 0x70, "(none)");
	is_symbol(symbols, 0xa1, "(none)");
	is_int(elf_symbols_count(symbols), 5, "one symbol an address");
	ok(elf_symbols_at(symbols, 1, &symbol) && symbol.vaddr == text + 0x10 && !symbol.local, "by index");
	ok(!elf_symbols_at(symbols, 5, &symbol), "past the last");
	is_str(elf_symbols_sources(symbols), "symtab", "sources");
	ok(elf_symbols_bytes(symbols) < 1024, "memory");
	elf_symbols_destroy(symbols);
}

static void refused(const struct elf_builder *b, size_t at, uint8_t byte, const char *tag)
{
	struct elf_file *elf = NULL;
	struct diag diag = {};
	uint8_t old = b->bytes[at];

	b->bytes[at] = byte;
	is_int(elf_file_open_memory(b->bytes, b->size, "image", &elf, &diag), -ENOEXEC, "refused: %s", tag);
	is_str(diag.tag, tag, "and says so: %s", tag);
	b->bytes[at] = old;
}

static void test_damaged(void)
{
	struct elf_builder b;
	struct elf_file *elf;
	struct elf_section section;
	struct elf_symbols *symbols;
	size_t size, i;
	bool sound = true;

	build(&b, NULL, 4, "", 1);
	elf_builder_finish(&b, 0);
	refused(&b, 0, 'X', "elf.magic");
	refused(&b, EI_CLASS, ELFCLASS32, "elf.class");
	refused(&b, EI_DATA, ELFDATA2MSB, "elf.class");
	refused(&b, offsetof(Elf64_Ehdr, e_machine), EM_386, "elf.machine");
	refused(&b, offsetof(Elf64_Ehdr, e_type), ET_REL, "elf.type");
	/* Cut off anywhere, and each byte of the headers in turn made extreme: facts may be missing, nothing more. */
	for (size = 0; size < b.size; size += 7) {
		uint8_t *copy = malloc(size + 1);

		memcpy(copy, b.bytes, size);
		if (!elf_file_open_memory(copy, size, "cut", &elf, NULL)) {
			elf_file_section(elf, ".text", &section);
			sound &= !elf_symbols_create(elf, "/nonexistent", &symbols, NULL);
			elf_symbols_destroy(symbols);
			elf_file_close(elf);
		}
		free(copy);
	}
	for (i = sizeof(Elf64_Ehdr) - 24; i < b.size; i++) {
		uint8_t old = b.bytes[i];

		b.bytes[i] = 0xff;
		if (!elf_file_open_memory(b.bytes, b.size, "damaged", &elf, NULL)) {
			elf_file_section(elf, ".text", &section);
			elf_file_close(elf);
		}
		b.bytes[i] = old;
	}
	ok(sound, "damaged files give fewer facts");
	elf_builder_deinit(&b);
}

/* A file that is truncated while it is open must not raise SIGBUS. */
static void test_truncated(void)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct elf_section section;
	struct elf_builder b;
	struct elf_file *elf;
	const uint8_t *bytes;
	uint8_t copy[4];

	b = elf_builder_init();
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 1 << 20);
	elf_builder_section(&b, ".rodata", SHT_PROGBITS, SHF_ALLOC, "kept", 4);
	elf_builder_finish(&b, 0);
	if (write(fd, b.bytes, b.size) != (ssize_t)b.size)
		abort();
	is_int(elf_file_open(fd, "image", &elf, NULL), 0, "a file");
	ok(elf_file_section(elf, ".rodata", &section) && !memcmp(section.bytes, "kept", 4), "a section of it");
	bytes = section.bytes;
	check_copy(elf, b.bytes + ELF_BUILDER_HEADERS, ELF_BUILDER_BASE + b.size);
	ok(elf_file_bytes_at(elf, text_vaddr(), 64 << 10), "a large piece");
	is_int(ftruncate(fd, 100 << 10), 0, "truncated");
	close(fd);
	ok(!memcmp(bytes, "kept", 4), "what was read stays");
	ok(!elf_file_section(elf, ".text", &section), "what was cut off is not there");
	ok(!elf_file_bytes_at(elf, ELF_BUILDER_BASE + (512 << 10), 16), "nor a small piece of it");
	ok(!elf_file_copy_at(elf, ELF_BUILDER_BASE + (512 << 10), 4, copy), "nor a copy");
	ok(elf_file_bytes_at(elf, ELF_BUILDER_BASE + (60 << 10), 16), "the rest is");
	elf_file_close(elf);
	elf_builder_deinit(&b);
	fd = open("/dev", O_RDONLY | O_CLOEXEC);
	is_int(elf_file_open(fd, "/dev", &elf, NULL), -ENOEXEC, "a directory is refused");
	close(fd);
}

/* Where debug files are looked for: one place more where servers of debuginfod are named. */
static void test_debug_paths(void)
{
	struct elf_debug_names names = {.build_id = {0xde, 0xad, 0xbe, 0xef}, .build_id_size = 4, .link = "a.debug"};
	char path[PATH_MAX];

	debuginfod_decline();
	ok(elf_debug_path(&names, "/r/bin/a", "/r", 0, path) &&
		   !strcmp(path, "/r/usr/lib/debug/.build-id/de/adbeef.debug"),
	   "the place of a build id");
	ok(!elf_debug_path(&names, "/r/bin/a", "/r", 1, path), "no cache where no servers are named");
	setenv("DEBUGINFOD_URLS", "http://localhost", 1);
	setenv("HOME", "/h", 1);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	ok(elf_debug_path(&names, "/r/bin/a", "/r", 1, path) &&
		   !strcmp(path, "/h/.cache/debuginfod_client/deadbeef/debuginfo"),
	   "else the client's, of strata's user");
	setenv("XDG_CACHE_HOME", "/x", 1);
	ok(elf_debug_path(&names, "/r/bin/a", "/r", 1, path) &&
		   !strcmp(path, "/x/debuginfod_client/deadbeef/debuginfo"),
	   "in their cache");
	setenv("DEBUGINFOD_CACHE_PATH", "/c", 1);
	ok(elf_debug_path(&names, "/r/bin/a", "/r", 1, path) && !strcmp(path, "/c/deadbeef/debuginfo"),
	   "or where they want it");
	names.build_id_size = 0;
	ok(!elf_debug_path(&names, "/r/bin/a", "/r", 1, path), "not without a build id");
	ok(elf_debug_path(&names, "/r/bin/a", "/r", 2, path) && !strcmp(path, "/r/bin/a.debug") &&
		   elf_debug_path(&names, "/r/bin/a", "/r", ELF_DEBUG_PATHS - 1, path) &&
		   !strcmp(path, "/r/usr/lib/debug/bin/a.debug") &&
		   !elf_debug_path(&names, "/r/bin/a", "/r", ELF_DEBUG_PATHS, path),
	   "the places of a debug link");
	debuginfod_decline();
	ok(!debuginfod_wanted() && !debuginfod_cache_path("deadbeef", path), "declined");
}

static bool opens(const char *path, const char *root)
{
	struct foreign_file *file;

	if (elf_debug_open(NULL, path, root, &file))
		return false;
	foreign_close(file);
	return true;
}

/* Below the root of a process, and when that has ended. */
static void test_debug_root(void)
{
	char own[] = "/tmp/strata-debug-XXXXXX", root[64], path[128];
	int fd = mkstemp(own), ends[2];
	pid_t pid;

	close(fd);
	if (!ok(!pipe(ends), "a pipe"))
		return;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit((int)read(ends[0], root, 1)); /* until that is closed */
	}
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	snprintf(path, sizeof(path), "%s%s", root, own);
	ok(opens(path, root), "a file below the root of a process");
	ok(opens(own, root) && opens(own, ""), "and one that is not");
	close(ends[1]);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	ok(!opens(path, "") && opens(path, root), "when the process has ended, the machine's own");
	unlink(own);
	ok(!opens(path, root) && !opens(own, root), "if there is one");
}

int main(void)
{
	test_debug_root();
	test_headers();
	test_hash(true);
	test_hash(false);
	test_symbols();
	test_damaged();
	test_truncated();
	test_debug_paths();
	return tap_done();
}
