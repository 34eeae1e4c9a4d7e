// SPDX-License-Identifier: GPL-2.0-or-later
/* DWARF of small programs that are compiled here, and of one that no compiler would write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/debug_file.h"
#include "explore_dwarf.h"
#include "tap.h"

static const char source[] =
	"struct node { struct node *next; int value; short part : 5; union { int n; char text[4]; }; };\n"
	"struct pair { long a; char b; };\n"
	"struct large { long at[3]; };\n"
	"struct mixed { double d; long n; };\n"
	"struct __attribute__((packed)) packed { char c; long n; };\n"
	"enum colour { RED, GREEN = 5 };\n"
	"typedef struct { int first; } named;\n"
	"volatile int sink;\n"
	"int plain(char a, struct node *b, enum colour c) {\n"
	"\tsink++;\n"
	"\treturn a + b->value + c;\n"
	"}\n"
	"long by_value(struct pair a, struct large b, struct packed c, long d) { sink++; return a.a + b.at[1] + c.n "
	"+ d; }\n"
	"long floats(double a, int b, struct mixed c, int d) { sink++; return (long)a + b + c.n + d; }\n"
	"struct large hidden(named *a) { struct large x = {{a->first}}; sink++; return x; }\n"
	"int many(int a, int b, int c, int d, int e, int f, int g, struct pair h, char i) {\n"
	"\tsink++; return a + b + c + d + e + f + g + h.b + i;\n"
	"}\n"
	"extern int use(__int128, int);\n"
	"int wide(__int128 a, int b) { sink++; return use(a, b); }\n";

struct image {
	void *bytes;
	size_t size;
	struct elf_file *elf;
};

static bool read_all(int fd, struct image *ret)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	ret->size = (size_t)status.st_size;
	ret->bytes = malloc(ret->size);
	return ret->bytes && pread(fd, ret->bytes, ret->size, 0) == (ssize_t)ret->size;
}

/* Compiles, or assembles, `what`, of the shell, into a shared library. */
static bool build(struct image *ret, const char *command, const char *what)
{
	char path[] = "/tmp/strata-dwarf-XXXXXX", line[8192];
	int fd = mkstemp(path);
	bool built;

	*ret = (struct image){};
	if (fd < 0)
		return false;
	close(fd);
	snprintf(line, sizeof(line), "%s -shared -fPIC -nostdlib -o %s - 2>/dev/null <<'END'\n%s\nEND\n", command, path,
		 what);
	built = !system(line) && (fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0;
	built = built && read_all(fd, ret) && !elf_file_open_memory(ret->bytes, ret->size, "image", &ret->elf, NULL);
	if (fd >= 0)
		close(fd);
	unlink(path);
	return built;
}

static void release(struct image *image)
{
	if (image->elf)
		elf_file_close(image->elf);
	free(image->bytes);
}

/* Where each parameter is: registers by DWARF's numbers, "+N" from the stack pointer, "-" missing. */
static void describe(const struct formal_parameter *parameters, size_t count, char *ret, size_t size)
{
	size_t at = 0, i;

	*ret = '\0';
	for (i = 0; i < count && at < size - 64; i++) {
		const struct formal_parameter *p = &parameters[i];

		at += (size_t)snprintf(ret + at, size - at, "%s%s ", i ? ", " : "", p->name ? p->name : "?");
		if (p->place == PLACE_REGISTERS && p->register_count == 2)
			at += (size_t)snprintf(ret + at, size - at, "%u %u", p->registers[0], p->registers[1]);
		else if (p->place == PLACE_REGISTERS)
			at += (size_t)snprintf(ret + at, size - at, "%u", p->registers[0]);
		else if (p->place == PLACE_STACK)
			at += (size_t)snprintf(ret + at, size - at, "+%u", p->offset);
		else
			at += (size_t)snprintf(ret + at, size - at, "-");
	}
}

static void test_parameters(const char *compiler, const char *flags)
{
	/* psABI AMD64: rdi 5, rsi 4, rdx 1, rcx 2, r8 8, r9 9. */
	static const struct {
		const char *function, *places, *optimised; /* NULL: the same */
	} cases[] = {
		{"plain", "a 5, b 4, c 1"},
		{"by_value", "a 5 4, b +8, c +32, d 1"},
		{"floats", "a -, b 5, c -, d 1"},
		{"hidden", "a 4"},
		{"many", "a 5, b 4, c 1, d 2, e 8, f 9, g +8, h +16, i +32"},
		{"wide", "a 5 4, b 1", "a -, b 1"}, /* both compilers say nothing of it */
	};
	struct formal_parameter parameters[PARAMETERS_MAX];
	struct debug_info *info = NULL;
	struct debug_unit unit;
	char command[256], places[1024];
	const char *expected;
	struct image image;
	uint64_t vaddr, size;
	Dwarf_Die function;
	size_t i;

	snprintf(command, sizeof(command), "%s -g %s -Wno-psabi -x c", compiler, flags);
	if (!build(&image, command, source) || debug_info_open_memory(image.bytes, image.size, &info, NULL)) {
		ok(false, "%s %s compiles", compiler, flags);
		release(&image);
		return;
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = elf_file_find_symbol(image.elf, cases[i].function, &vaddr, &size) &&
			     debug_info_function(info, vaddr, &unit, &function);
		size_t count =
			found ? debug_info_parameters(&unit, &function, vaddr, PARAMETERS_OF_CODE, parameters) : 0;

		expected = cases[i].optimised && strstr(flags, "-O2") ? cases[i].optimised : cases[i].places;
		describe(parameters, count, places, sizeof(places));
		if (!ok(found && !strcmp(places, expected), "%s %s: the parameters of %s", compiler, flags,
			cases[i].function))
			printf("# %s, expected %s\n", places, expected);
		/* By its name alone the convention tells the same. */
		count = found ? debug_info_parameters(&unit, &function, vaddr, PARAMETERS_OF_NAME, parameters) : 0;
		describe(parameters, count, places, sizeof(places));
		ok(found && !strcmp(places, cases[i].places), "  and by its name");
	}
	ok(!debug_info_function(info, vaddr + 1, &unit, &function), "no function begins in the middle of one");
	debug_info_close(info);
	release(&image);
}

static void test_lines(void)
{
	static const struct {
		const char *path, *file;
		bool matches;
	} cases[] = {
		{"/a/b/c.c", "c.c", true},      {"/a/b/c.c", "b/c.c", true}, {"/a/b/c.c", "/a/b/c.c", true},
		{"/a/b/c.c", "/b/c.c", false},  {"/a/b/xc.c", "c.c", false}, {"/a/./b/../c.c", "a/c.c", true},
		{"c.c", "b/c.c", false},        {"/a/b/c.c", "./c.c", true}, {"/a/b/c.c", "", false},
		{"a/b/c.c", "/a/b/c.c", false}, {"/a/b/c.c", "/", false},    {"../a/c.c", "a/c.c", true},
	};
	char with_name[sizeof(source) + 64];
	struct debug_info *info = NULL;
	struct line_place place;
	uint64_t vaddr = 0, size;
	struct image image;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(line_path_matches(cases[i].path, cases[i].file) == cases[i].matches, "\"%s\" %s \"%s\"",
		   cases[i].path, cases[i].matches ? "ends with" : "does not end with", cases[i].file);
	snprintf(with_name, sizeof(with_name), "#line 1 \"/src/lib/some.c\"\n%s", source);
	if (!build(&image, "gcc -g -O0 -x c", with_name) ||
	    debug_info_open_memory(image.bytes, image.size, &info, NULL)) {
		ok(false, "gcc compiles");
		release(&image);
		return;
	}
	elf_file_find_symbol(image.elf, "plain", &vaddr, &size);
	ok(debug_info_line(info, "some.c", 9, 0, &place) == LINE_FOUND && place.vaddr == vaddr,
	   "a function's line is where it begins");
	ok(debug_info_line(info, "lib/some.c", 11, 0, &place) == LINE_FOUND && place.vaddr > vaddr &&
		   place.vaddr < vaddr + size,
	   "a line of its body");
	ok(debug_info_line(info, "some.c", 8, 0, &place) == LINE_NO_STATEMENT && !place.before && place.after == 9,
	   "a line without code, before all");
	ok(debug_info_line(info, "some.c", 1000, 0, &place) == LINE_NO_STATEMENT && place.before && !place.after,
	   "a line without code, behind all");
	ok(debug_info_line(info, "some.c", 9, 999, &place) == LINE_NO_STATEMENT && place.column, "no such column");
	ok(debug_info_line(info, "/lib/some.c", 9, 0, &place) == LINE_NO_FILE, "no such file");
	debug_info_close(info);
	release(&image);
}

static const char inlined[] = "#line 1 \"/src/lib/some.c\"\n"
			      "volatile int sink;\n"
			      "static inline __attribute__((always_inline)) void inner(void) {\n"
			      "	sink++;\n"
			      "}\n"
			      "static inline __attribute__((always_inline)) void middle(void) {\n"
			      "	inner();\n"
			      "}\n"
			      "int outer(void) {\n"
			      "	middle();\n"
			      "	return sink;\n"
			      "}\n"
			      "int other(void) { return 1; }\n";

static bool frame_is(const struct source_frame *frame, const char *function, uint32_t line)
{
	return frame->file && !strcmp(frame->file, "/src/lib/some.c") && frame->line == line &&
	       (function ? frame->function && !strcmp(frame->function, function) : !frame->function);
}

static void test_source(const char *command)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct debug_info *info = NULL;
	struct line_place place;
	uint64_t vaddr = 0, size;
	struct image image;

	if (!build(&image, command, inlined) || debug_info_open_memory(image.bytes, image.size, &info, NULL)) {
		ok(false, "%s compiles", command);
		release(&image);
		return;
	}
	ok(debug_info_line(info, "some.c", 3, 0, &place) == LINE_FOUND &&
		   debug_info_source(info, place.vaddr, frames) == 3 && frame_is(&frames[0], "inner", 3) &&
		   frame_is(&frames[1], "middle", 6) && frame_is(&frames[2], NULL, 9),
	   "%s: inlined functions, each with its line", command);
	elf_file_find_symbol(image.elf, "other", &vaddr, &size);
	ok(debug_info_source(info, vaddr, frames) == 1 && frame_is(&frames[0], NULL, 12), "  a function without");
	is_int(debug_info_source(info, vaddr + 0x100000, frames), 0, "  no function");
	debug_info_close(info);
	release(&image);
}

/* What holds of any bytes, for a thousand files that were damaged in the sections of the debug information. */
static void test_damaged(const char *flags)
{
	static const char *const sections[] = {".debug_info",   ".debug_abbrev",   ".debug_line", ".debug_loclists",
					       ".debug_ranges", ".debug_rnglists", ".debug_loc",  ".debug_line_str"};
	struct exploration x;
	char command[128];
	struct image image;
	uint64_t random = 88172645463325252ull;
	unsigned int round, wrong = 0, opened = 0;
	uint8_t *copy;

	snprintf(command, sizeof(command), "gcc -g -O2 %s -x c", flags);
	if (!build(&image, command, source)) {
		ok(false, "gcc compiles");
		return;
	}
	copy = malloc(image.size);
	memcpy(copy, image.bytes, image.size);
	ok(explore_dwarf(&x, copy, image.size) && !x.is_wrong && x.functions >= 6 && x.parameters > 15 && x.fields > 10,
	   "%s: all of it, undamaged: %u functions, %u parameters, %u fields", flags, x.functions, x.parameters,
	   x.fields);
	for (round = 0; round < 1000; round++) {
		unsigned int bytes = 1 + round % 8;

		memcpy(copy, image.bytes, image.size);
		while (bytes--) {
			struct elf_section section;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			if (elf_file_section_header(image.elf, sections[random % 8], &section) && section.size)
				copy[section.offset + (random >> 8) % section.size] = (uint8_t)(random >> 56);
		}
		opened += explore_dwarf(&x, copy, image.size);
		wrong += x.is_wrong;
	}
	ok(opened > 500 && !wrong, "%s: damaged, %u of 1,000 files can be opened, %u answers contradict themselves",
	   flags, opened, wrong);
	free(copy);
	release(&image);
}

/* Types that have no end: a struct that holds itself, one of another that holds it, a typedef of itself, and more. */
static const char endless[] =
	".section .debug_abbrev,\"\",@progbits\n"
	".byte 1, 0x11, 1, 0x13, 0xb, 0, 0\n"                      /* unit: language */
	".byte 2, 0x13, 1, 0x3, 0x8, 0xb, 0xb, 0, 0\n"             /* struct: name, size */
	".byte 3, 0xd, 0, 0x3, 0x8, 0x49, 0x13, 0x38, 0xb, 0, 0\n" /* member: name, type, offset */
	".byte 4, 0x16, 0, 0x3, 0x8, 0x49, 0x13, 0, 0\n"           /* typedef: name, type */
	".byte 5, 0x1, 1, 0x49, 0x13, 0, 0\n"                      /* array: type */
	".byte 6, 0x21, 0, 0x37, 0x6, 0, 0\n"                      /* its range: count */
	".byte 0\n"
	".section .debug_info,\"\",@progbits\n"
	"begin: .long end - start\n"
	"start: .short 4\n .long 0\n .byte 8\n"
	".byte 1, 0xc\n"
	"self: .byte 2\n .asciz \"node\"\n .byte 8\n"
	".byte 3\n .asciz \"own\"\n .long self - begin\n .byte 0\n"
	".byte 0\n"
	"one: .byte 2\n .asciz \"x\"\n .byte 8\n"
	".byte 3\n .asciz \"other\"\n .long two - begin\n .byte 0\n"
	".byte 0\n"
	"two: .byte 2\n .asciz \"y\"\n .byte 8\n"
	".byte 3\n .asciz \"back\"\n .long one - begin\n .byte 0\n"
	".byte 3\n .asciz \"outside\"\n .long array - begin\n .byte 4\n"
	".byte 0\n"
	"named: .byte 4\n .asciz \"named\"\n .long named - begin\n"
	"array: .byte 5\n .long array - begin\n .byte 6\n .long 0x7fffffff\n .byte 6\n .long 0x7fffffff\n .byte 0\n"
	".byte 0\n"
	"end:\n";

static void test_endless(void)
{
	struct exploration x;
	struct image image;

	if (!build(&image, "gcc -x assembler", endless)) {
		ok(false, "gcc assembles");
		return;
	}
	ok(explore_dwarf(&x, image.bytes, image.size) && !x.is_wrong && x.fields >= 3,
	   "types that contain themselves: %u fields", x.fields);
	release(&image);
}

static void test_nothing(void)
{
	struct debug_info *info = NULL;
	struct diag diag = {};
	struct image image;

	ok(build(&image, "gcc -x c", "int x;") && !elf_file_has_debug_info(image.elf) &&
		   debug_info_open(image.elf, &(struct debug_info_options){.root = ""}, &info, &diag) == -ENOENT &&
		   !info,
	   "no debug information: %s", diag.text);
	release(&image);
}

int main(void)
{
	test_parameters("gcc", "-O0 -gdwarf-5");
	test_parameters("gcc", "-O2 -gdwarf-4");
	test_parameters("clang", "-O0 -gdwarf-4");
	test_parameters("clang", "-O2 -gdwarf-5");
	test_lines();
	test_source("gcc -g -O0 -gdwarf-5 -x c");
	test_source("gcc -g -O2 -gdwarf-4 -x c");
	test_source("clang -g -O0 -gdwarf-4 -x c");
	test_source("clang -g -O2 -gdwarf-5 -x c");
	test_damaged("-gdwarf-5");
	test_damaged("-gdwarf-4");
	test_endless();
	test_nothing();
	return tap_done();
}
