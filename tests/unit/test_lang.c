// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiler without a kernel: numbers, tokens, types, layouts, code, USDT arguments, formats. */
#include <stdlib.h>
#include <string.h>

#include "lang/builtin/builtin.h"
#include "lang/compile.h"
#include "lang/core/number.h"
#include "lang/dialect/bpftrace/print/format.h"
#include "lang/dialect/dialect.h"
#include "lang/gen/gen.h"
#include "lang/provider/provider.h"
#include "lang/provider/usdt_arguments.h"
#include "tap.h"

static void test_numbers(void)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},
		{"10", true, 10},
		{"0x1F", true, 31},
		{"017", true, 15},
		{"1e3", true, 1000},
		{"1_000", true, 1000},
		{"5ms", true, 5000000},
		{"2m", true, 120000000000ull},
		{"7UL", true, 7},
		{"0x", false, 0},
		{"1e", false, 0},
		{"09", false, 0},
		{"12zz", false, 0},
		{"99999999999999999999", false, 0},
		{"1e30", false, 0},
		{"", false, 0},
		{"18446744073709551615", true, UINT64_MAX},
		{"99999999999h", false, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 0;
		bool good = number_parse(cases[i].text, strlen(cases[i].text), &value);

		ok(good == cases[i].ok && value == cases[i].value, "the number \"%s\"", cases[i].text);
	}
}

struct compiled {
	struct arena arena;
	struct report report;
	struct compiler c;
};

/* Parses and checks; the number of errors. */
static unsigned int compile(struct compiled *ret, const char *source)
{
	static const struct compile_options options = {};

	*ret = (struct compiled){};
	report_init(&ret->report, &ret->arena, "test", source, strlen(source));
	compiler_init(&ret->c, &ret->arena, &ret->report, &options);
	ret->c.dialect->parse(&ret->c);
	if (!ret->report.errors)
		ret->c.dialect->check(&ret->c);
	return ret->report.errors;
}

static void release(struct compiled *compiled)
{
	compiler_deinit(&compiled->c);
	report_deinit(&compiled->report);
	arena_deinit(&compiled->arena);
}

static void test_diagnostic(void)
{
	struct compiled compiled;

	ok(compile(&compiled, "begin {\n  $a = 1;\n  $a = \"x\";\n}") == 1, "one error");
	ok(compiled.report.complaints.count == 1 && !strcmp(compiled.report.complaints.at[0].tag, "type.mismatch"),
	   "it has its tag");
	ok(compiled.report.complaints.count == 1 && compiled.report.complaints.at[0].span.begin == 25 &&
		   compiled.report.complaints.at[0].span.end == 28,
	   "and points at the value");
	release(&compiled);
}

static void test_layout(void)
{
	struct compiled compiled;
	const struct type *type;
	struct type_field field;

	/* As gcc lays it out on x86-64. */
	ok(!compile(&compiled,
		    "struct A { char a; int b; unsigned c:3, d:30; long e; union { short f; char g[3]; }; } begin { }"),
	   "a struct is parsed");
	type = types_find(&compiled.c.types, "struct A");
	ok(type && type->size == 32, "its size");
	ok(type && types_field(&compiled.c.types, type, "b", &field) && field.offset == 4, "padding");
	ok(type && types_field(&compiled.c.types, type, "c", &field) && field.offset == 8 && field.bit_size == 3,
	   "a bit field");
	ok(type && types_field(&compiled.c.types, type, "d", &field) && field.offset == 12 && field.bit_offset == 0,
	   "one that does not fit the unit");
	ok(type && types_field(&compiled.c.types, type, "e", &field) && field.offset == 16, "alignment of 8");
	ok(type && types_field(&compiled.c.types, type, "g", &field) && field.offset == 24,
	   "an anonymous member's member");
	release(&compiled);
}

static void test_types(void)
{
	struct arena arena = {};
	const struct type *pair[2], *joined;

	ok(type_join(&arena, &type_int32, &type_int8) == &type_int32, "the larger integer");
	ok(type_join(&arena, &type_uint32, &type_int32) == &type_int64, "mixed signs grow");
	ok(type_join(&arena, &type_uint64, &type_literal) == &type_uint64, "a literal adapts");
	ok(!type_join(&arena, &type_int64, type_string(&arena, 8)), "no number is a string");
	pair[0] = &type_int8;
	pair[1] = type_string(&arena, 3);
	joined = type_tuple(&arena, pair, NULL, 2);
	pair[1] = type_string(&arena, 20);
	joined = type_join(&arena, joined, type_tuple(&arena, pair, NULL, 2));
	ok(joined && joined->size == 25 && joined->fields[1].offset == 1, "tuples join element by element");
	arena_deinit(&arena);
}

static void test_usdt(void)
{
	struct usdt_argument argument;

	ok(usdt_argument_parse("-4@%eax 8@-8(%rbp) 4@$-5 8@16(%rax,%rcx,8)", 0, &argument) && argument.is_signed &&
		   argument.size == 4 && argument.operand.kind == ARCH_REGISTER && argument.operand.base == 80,
	   "a register");
	ok(usdt_argument_parse("-4@%eax 8@-8(%rbp)", 1, &argument) && argument.operand.kind == ARCH_MEMORY &&
		   argument.operand.value == -8 && argument.operand.base == 32,
	   "memory");
	ok(usdt_argument_parse("-4@$-5", 0, &argument) && argument.operand.kind == ARCH_CONSTANT &&
		   argument.operand.value == -5,
	   "a constant");
	ok(usdt_argument_parse("4@$-5", 0, &argument) && argument.operand.value == 0xfffffffb,
	   "a constant without a sign");
	ok(usdt_argument_parse("8@16(%rax,%rcx,8)", 0, &argument) && argument.operand.has_index &&
		   argument.operand.scale == 8 && argument.operand.index == 88,
	   "an index");
	ok(!usdt_argument_parse("4@%eax", 1, &argument), "one that is not there");
	ok(!usdt_argument_parse("4@%zzz", 0, &argument), "no register of this machine");
	ok(!usdt_argument_parse("3@%eax", 0, &argument), "no size");
	ok(!usdt_argument_parse("8@-8(%rbp", 0, &argument), "a bracket that is not closed");
}

static void test_formats(void)
{
	struct conversion conversion;

	ok(format_next("100%% %-5.3lld x", &conversion) && conversion.letter == 'd' && conversion.left &&
		   conversion.width == 5 && conversion.precision == 3 && conversion.bytes == 8,
	   "flags, width, precision, length");
	ok(format_next("%rx", &conversion) && conversion.letter == 'r' && conversion.variant == 'x', "bytes as digits");
	ok(format_next("%hhu", &conversion) && conversion.bytes == 1, "one byte");
	ok(format_next("%q", &conversion) && !conversion.letter, "a letter that is none");
	ok(format_next("%", &conversion) && !conversion.letter, "a lone sign");
	ok(!format_next("none", &conversion), "none");
}

/* Control never runs into what the verifier refuses: unreachable instructions. */
static void test_code(void)
{
	struct code code = {};
	label end = code_label(&code), unused = code_label(&code);

	code_imm(&code, R0, 1);
	code_jump(&code, end);
	code_imm(&code, R0, 2);
	code_bind(&code, unused);
	code_imm(&code, R0, 3);
	code_bind(&code, end);
	code_exit(&code);
	ok(code_finish(&code) && code.insns.count == 3, "dead code is left out");
	ok(code.insns.count == 3 && code.insns.at[1].off == 0, "jumps find their labels");
	code_deinit(&code);
}

static void test_programs(void)
{
	static const char *const sources[] = {
		"begin { $i = 0; while ($i < 5) { $i++; if ($i == 3) { break; } } exit(); }",
		"interval:s:1 { @[comm, pid] = count(); for ($kv : @) { print($kv.0.1); } }",
		"profile:hz:99 { @[ustack, kstack(3)] = hist(rand); print(len(pystack)); }",
		"begin { for ($i : 0..3) { for ($j : 0..3) { if ($i == $j) { return; } } } }",
	};
	size_t i;

	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct compiled compiled;
		struct gen gen = {};
		bool good = !compile(&compiled, sources[i]) && gen_all(&gen, &compiled.c, builtin_code);

		ok(good && gen.functions.count > 0, "instructions for: %s", sources[i]);
		gen_deinit(&gen);
		release(&compiled);
	}
}

/* Each macro is looked at once, however many ways lead to it; expanding them all is refused. */
static void test_macros_that_double(void)
{
	struct compiled compiled;
	char *source = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&source, &size);
	unsigned int i;

	fputs("macro m0() { 1 }\n", out);
	for (i = 1; i <= 60; i++)
		fprintf(out, "macro m%u() { m%u() + m%u() }\n", i, i - 1, i - 1);
	fputs("begin { print(m60()); }\n", out);
	fclose(out);
	ok(compile(&compiled, source) > 0 && !strcmp(compiled.report.complaints.at[0].tag, "macro.endless"),
	   "macros that use each other twice");
	release(&compiled);
	free(source);
}

/* What is simple needs no frame of the map; what the verifier had better not follow value by value has one. */
static void test_stack_frames(void)
{
	static const struct {
		const char *source;
		bool on_stack;
	} cases[] = {
		{"interval:s:1 { @ = count(); }", true},
		{"interval:s:1 / pid == 3 / { @[comm] = count(); }", true},
		{"interval:s:1 { $a = 1; @ += $a; exit(); }", false}, /* sends a record */
		{"interval:s:1 { @[comm, \"a text of more than a hundred and twenty bytes, so that it and a name and "
		 "the "
		 "rest are too much for the stack, as is said in stack_frame.h\"] = count(); }",
		 false},
		{"interval:s:1 { for ($i : 0..3) { @ = count(); } }", false},
		{"interval:s:1 { @[ustack] = count(); }", false},
		{"interval:s:1 { if (pid > 1) { if (pid > 2) { if (pid > 3) { if (pid > 4) { if (pid > 5) { @ = "
		 "sum(pid); "
		 "}}}}} }",
		 false}, /* many ways */
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct compiled compiled;
		struct gen gen = {};
		bool good = !compile(&compiled, cases[i].source) && gen_all(&gen, &compiled.c, builtin_code);

		ok(good && (gen.frame_size == 0) == cases[i].on_stack, "%s: %s",
		   cases[i].on_stack ? "a frame on the stack" : "a frame in the map", cases[i].source);
		gen_deinit(&gen);
		release(&compiled);
	}
}

/* The code put before falls through to the other; both keep their own labels. */
static void test_prepend(void)
{
	struct code body = {}, entry = {};
	label out, on, skip;

	skip = code_label(&body);
	code_jump_if(&body, BPF_JEQ, R0, 0, skip);
	code_imm(&body, R0, 2);
	code_bind(&body, skip);
	code_call_runtime(&body, "rt_ended");
	code_exit(&body);

	out = code_label(&entry);
	on = code_label(&entry);
	code_jump_if(&entry, BPF_JNE, R1, 0, out);
	code_jump(&entry, on);
	code_bind(&entry, out);
	code_exit(&entry);
	code_bind(&entry, on);
	code_prepend(&body, &entry);
	ok(code_finish(&body) && body.insns.count == 7, "all instructions are there");
	ok(body.insns.count == 7 && body.insns.at[0].off == 1 && body.insns.at[1].off == 1 && body.insns.at[3].off == 1,
	   "jumps lead where they did");
	ok(body.references.count == 1 && body.references.at[0].at == 5, "references move along");
	code_deinit(&entry);
	code_deinit(&body);
}

static void test_patterns(void)
{
	ok(provider_matches("sys_enter_*", "sys_enter_open") && !provider_matches("sys_enter_?", "sys_enter_open"),
	   "wildcards");
	ok(provider_find("t") == &provider_tracepoint && provider_find("BEGIN") == &provider_begin &&
		   !provider_find("zz"),
	   "aliases");
}

int main(void)
{
	test_numbers();
	test_diagnostic();
	test_layout();
	test_types();
	test_usdt();
	test_formats();
	test_code();
	test_programs();
	test_macros_that_double();
	test_stack_frames();
	test_prepend();
	test_patterns();
	return tap_done();
}
