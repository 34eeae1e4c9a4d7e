// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/code_rules.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/table.h"
#include "base/vec.h"
#include "elf/plt.h"
#include "elf/symbols.h"

/* Bytes of a segment of data that are looked through for the addresses of functions. */
#define DATA_MAX (16u << 20)
/* Bytes of .init_array, and of .fini_array. */
#define ARRAY_MAX 64

struct mentioned {
	uint64_t vaddr;
	bool plain; /* code_flow_mentioned() */
};

struct search {
	const struct elf_file *elf;
	const struct code_arch *arch;
	struct code_flow *flow;
	enum code_scope scope;
	struct table no_return; /* PLT stubs and functions, vaddr + 1 */
	VEC(struct mentioned) mentioned;
	VEC(struct mentioned) unproven; /* mentioned, and not a function by what it does */
	size_t taken;                   /* of `mentioned` */
};

/* Functions of libraries that do not return: C11 and POSIX, glibc's and GCC's helpers, the C++ ABI's, CPython's. */
static bool is_no_return(const char *name)
{
	static const char *const names[] = {
		"abort",
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"pthread_exit",
		"thrd_exit",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__longjmp_chk",
		"__stack_chk_fail",
		"__assert_fail",
		"__assert",
		"__assert_perror_fail",
		"__chk_fail",
		"__fortify_fail",
		"__libc_fatal",
		"__libc_start_main",
		"err",
		"errx",
		"verr",
		"verrx",
		"_Unwind_Resume",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"__cxa_pure_virtual",
		"__cxa_deleted_virtual",
		"__cxa_call_unexpected",
		"__cxa_call_terminate",
		"_ZSt9terminatev",
		"_ZSt10unexpectedv",
		"Py_FatalError",
		"Py_Exit",
		"_Py_FatalErrorFunc",
		"_Py_FatalErrorFormat",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	/* libstdc++'s std::__throw_*(). */
	return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}

static int take_stub(void *context, uint64_t vaddr, uint64_t size, const char *name)
{
	struct search *search = context;

	(void)size;
	return is_no_return(name) ? table_set(&search->no_return, vaddr + 1, 1) : 0;
}

static bool returns(void *context, uint64_t vaddr)
{
	const struct search *search = context;

	return search->scope == CODE_ALL && !table_get(&search->no_return, vaddr + 1, NULL);
}

static const uint8_t *data_at(void *context, uint64_t vaddr, size_t size)
{
	const struct search *search = context;

	return search->scope == CODE_ALL ? elf_file_bytes_at(search->elf, vaddr, size) : NULL;
}

/*
 * A part of a function that the compiler moved elsewhere (GCC's and LLVM's .cold) is entered with that function's
 * frame. A local symbol may be a label of hand-written code; most other local functions are called.
 */
static int take_symbols(struct search *search)
{
	struct elf_symbols *symbols;
	struct elf_symbol symbol;
	size_t i;
	int err = elf_symbols_create(search->elf, "", &symbols, NULL);

	if (err)
		return err == -ENOMEM ? err : 0;
	for (i = 0; i < elf_symbols_count(symbols) && !err; i++) {
		if (!elf_symbols_at(symbols, i, &symbol) || strstr(symbol.name, ".cold"))
			continue;
		if (is_no_return(symbol.name))
			err = table_set(&search->no_return, symbol.vaddr + 1, 1);
		if (err)
			break;
		if (symbol.local)
			err = vec_push(&search->mentioned, (struct mentioned){.vaddr = symbol.vaddr});
		else
			err = code_flow_start(search->flow, symbol.vaddr);
	}
	elf_symbols_destroy(symbols);
	return err;
}

/* Words of data that may be addresses of code, in programs at fixed addresses. */
static int take_words(struct search *search, const struct elf_segment *segment)
{
	size_t size = segment->filesz < DATA_MAX ? segment->filesz : DATA_MAX, at;
	const uint8_t *bytes = elf_file_bytes_at(search->elf, segment->vaddr, size);
	uint64_t word;
	int err = 0;

	for (at = -segment->vaddr & 7; bytes && at + sizeof(word) <= size && !err; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		if (code_flow_is_boundary(search->flow, word))
			err = vec_push(&search->mentioned, (struct mentioned){.vaddr = word});
	}
	return err;
}

static int take_data(struct search *search)
{
	const struct elf_segment *segments;
	struct elf_section section;
	struct cursor c;
	size_t count, i;
	uint64_t info, word;
	int err = 0;

	segments = elf_file_segments(search->elf, &count);
	/* Of data that can be written only: short strings look like addresses. */
	for (i = 0; i < count && !err && elf_file_type(search->elf) == ET_EXEC; i++)
		if (segments[i].flags & PF_W)
			err = take_words(search, &segments[i]);
	if (!elf_file_section(search->elf, ".rela.dyn", &section) || !section.bytes)
		return err;
	c = cursor_init(section.bytes, section.size);
	while (!err && cursor_left(&c) >= sizeof(Elf64_Rela)) {
		cursor_skip(&c, 8);
		info = cursor_u64(&c);
		word = cursor_u64(&c);
		if (ELF64_R_TYPE(info) == arch_of(elf_file_machine(search->elf))->relative &&
		    code_flow_covers(search->flow, word))
			err = vec_push(&search->mentioned, (struct mentioned){.vaddr = word});
	}
	return err;
}

/* Functions that run when the file is loaded, or unloaded. */
static int take_arrays(struct search *search)
{
	static const char *const names[] = {".init_array", ".fini_array"};
	struct elf_section section;
	uint64_t at, word;
	int err = 0;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!elf_file_section_header(search->elf, names[i], &section))
			continue;
		for (at = 0; at + 8 <= section.size && at < ARRAY_MAX && !err; at += 8) {
			word = elf_file_loaded_word(search->elf, section.vaddr + at,
						    arch_of(elf_file_machine(search->elf))->relative);
			if (word && code_flow_covers(search->flow, word))
				err = vec_push(&search->mentioned, (struct mentioned){.vaddr = word});
		}
	}
	return err;
}

/* Tries what is mentioned until nothing is added. */
static int try_mentioned(struct search *search)
{
	struct mentioned mentioned = {};
	bool accepted;
	size_t at = 0, i;
	int err = 0;

	for (;;) {
		while (!err && code_flow_mentioned(search->flow, &at, &mentioned.vaddr, &mentioned.plain))
			err = vec_push(&search->mentioned, mentioned);
		if (err || search->taken == search->mentioned.count)
			break;
		for (; search->taken < search->mentioned.count && !err; search->taken++) {
			mentioned = search->mentioned.at[search->taken];
			err = code_flow_try(search->flow, mentioned.vaddr, !mentioned.plain, &accepted);
			if (!err && !accepted)
				err = vec_push(&search->unproven, mentioned);
		}
	}
	/* Functions that never return, and are found in data. */
	for (i = 0; i < search->unproven.count && !err && !code_flow_has_dispatch(search->flow); i++)
		err = code_flow_try(search->flow, search->unproven.at[i].vaddr, false, &accepted);
	return err;
}

static void search_deinit(struct search *search)
{
	code_flow_destroy(search->flow);
	table_deinit(&search->no_return);
	vec_free(&search->mentioned);
	vec_free(&search->unproven);
}

/* Follows all code of the spans that can be reached; the answers are in search->flow. 0 or a negative errno. */
static int follow(struct search *search, const struct code_span *spans, size_t count)
{
	const struct elf_file *elf = search->elf;
	const struct code_image image = {.spans = spans,
					 .span_count = count,
					 .fixed = elf_file_type(elf) == ET_EXEC,
					 .data = data_at,
					 .returns = returns,
					 .context = search};
	int err = code_flow_create(search->arch, &image, &search->flow);

	if (!err && search->scope == CODE_ALL)
		err = elf_plt_each(elf, take_stub, search) ?: take_symbols(search);
	if (!err)
		err = code_flow_start(search->flow, elf_file_entry(elf));
	if (!err)
		err = code_flow_run(search->flow);
	if (!err)
		err = take_arrays(search);
	if (!err && search->scope == CODE_ALL)
		err = take_data(search);
	return err ? err : try_mentioned(search);
}

int code_rules_each(const struct elf_file *elf, const struct code_arch *arch, const struct code_span *spans,
		    size_t count, enum code_scope scope,
		    int (*visit)(void *context, uint64_t vaddr, const struct code_insn *insn,
				 const struct code_state *state),
		    void *context, struct code_counts *ret)
{
	struct search search = {.elf = elf, .arch = arch, .scope = scope};
	int err = follow(&search, spans, count);

	if (!err) {
		code_flow_count(search.flow, ret->functions);
		err = code_flow_each(search.flow, visit, context);
	}
	search_deinit(&search);
	return err;
}

int code_rules_functions(const struct elf_file *elf, const struct code_arch *arch, const struct code_span *spans,
			 size_t count, enum code_scope scope,
			 int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context)
{
	struct search search = {.elf = elf, .arch = arch, .scope = scope};
	int err = follow(&search, spans, count);

	if (!err)
		err = code_flow_functions(search.flow, visit, context);
	search_deinit(&search);
	return err;
}
