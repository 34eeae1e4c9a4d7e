// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of functions that change stacks: tests/unit/asm/go_x86_64.s. */
#include <elf.h>
#include <errno.h>

#include "assemble.h"
#include "tap.h"
#include "runtime/go/abi.h"
#include "runtime/go/switch.h"
#include "unwind/unwind_table.h"

#define SYSTEM "(*(*(*(thread-8)+48)+192)+56)"

struct found {
	const struct elf_file *elf;
	struct go_switch *go;
	/* What is asked for, and what was found there. */
	uint64_t at;
	struct unwind_rule rule;
	uint64_t next; /* where the next range must begin */
	bool whole;
};

static struct go_function function(const struct elf_file *elf, const char *symbol, const char *name)
{
	struct go_function ret = {.name = name};
	char end[64];
	uint64_t size;

	snprintf(end, sizeof(end), "end_%s", symbol);
	if (!elf_file_find_symbol(elf, symbol, &ret.start, &size) || !elf_file_find_symbol(elf, end, &ret.end, &size))
		ret.name = NULL;
	return ret;
}

static int take(void *context, uint64_t start, uint64_t end, struct unwind_rule rule)
{
	struct found *found = context;

	if (start != found->next || end <= start)
		found->whole = false;
	found->next = end;
	if (start <= found->at && found->at < end)
		found->rule = rule;
	return 0;
}

/* The rule at a label of a function; `back`: bytes before it, 1 for what holds in the call that ends there. */
static void is_at(struct found *found, const char *symbol, const char *name, const char *label, unsigned int back,
		  const char *expected)
{
	struct go_function it = function(found->elf, symbol, name);
	char text[128] = "no such place", place[64];
	uint64_t size;

	snprintf(place, sizeof(place), "at_%s", label);
	if (it.name && elf_file_find_symbol(found->elf, place, &found->at, &size)) {
		found->at -= back;
		found->next = it.start;
		found->whole = true;
		found->rule = (struct unwind_rule){};
		if (!go_switch_ranges(found->go, &it, take, found) && found->whole && found->next == it.end)
			unwind_rule_format(arch_of(EM_X86_64)->unwind, &found->rule, text, sizeof(text));
	}
	is_str(text, expected, "%s%s", label, back ? ", while it is called" : "");
}

static void test_rules(struct found *found)
{
	static const struct {
		const char *symbol, *name, *label;
		unsigned int back;
		const char *rule;
	} expected[] = {
		{"systemstack", "runtime.systemstack", "system_entry", 0, "cfa=rsp+8 rbp=same"},
		{"systemstack", "runtime.systemstack", "system_in_save", 1, "cfa=rsp+8 rbp=same"},
		{"systemstack", "runtime.systemstack", "system_in_save", 0, "cfa=rsp+8 rbp=same"},
		{"systemstack", "runtime.systemstack", "system_switched", 0, "go systemstack cfa=*" SYSTEM "+8"},
		{"systemstack", "runtime.systemstack", "system_in_call", 1, "go systemstack cfa=*" SYSTEM "+8"},
		{"systemstack", "runtime.systemstack", "system_in_call", 0, "go systemstack cfa=*" SYSTEM "+8"},
		{"systemstack", "runtime.systemstack", "system_back", 0, "go systemstack cfa=*" SYSTEM "+8"},
		{"systemstack", "runtime.systemstack", "system_home", 0, "cfa=rsp+8 rbp=same"},
		{"systemstack", "runtime.systemstack", "system_no_switch", 0, "cfa=rsp+8 rbp=same"},
		{"framed", "runtime.systemstack", "framed_in_call", 1, "go systemstack cfa=*" SYSTEM "+16"},
		{"framed", "runtime.systemstack", "framed_home", 0, "cfa=rsp+16 rbp=cfa-16"},
		{"morestack", "runtime.morestack", "more_entry", 0, "cfa=rsp+8 rbp=same"},
		{"morestack", "runtime.morestack", "more_last", 0, "cfa=rsp+8 rbp=same"},
		{"morestack", "runtime.morestack", "more_in_call", 1, "go morestack sp=*" SYSTEM},
		{"mcall", "runtime.mcall", "mcall_last", 0, "cfa=rsp+8 rbp=same"},
		{"mcall", "runtime.mcall", "mcall_switched", 0, "end"},
		{"asmcgocall", "runtime.asmcgocall", "c_switched", 0, "go cfa=rdx+8"},
		{"asmcgocall", "runtime.asmcgocall", "c_ready", 0, "go cfa=rdx+8"},
		{"asmcgocall", "runtime.asmcgocall", "c_in_call", 1, "go ccall cfa=*(*(sp+48)+8)-*(sp+40)+8"},
		{"asmcgocall", "runtime.asmcgocall", "c_in_call", 0, "go ccall cfa=*(*(sp+48)+8)-*(sp+40)+8"},
		{"asmcgocall", "runtime.asmcgocall", "c_back", 0, "go ccall cfa=*(*(sp+48)+8)-*(sp+40)+8"},
		{"asmcgocall", "runtime.asmcgocall", "c_home", 0, "cfa=rsp+8 rbp=same"},
		{"asmcgocall", "runtime.asmcgocall", "c_in_other", 1, "cfa=*(rsp+40)+8 rbp=same"},
		{"cgocallback", "runtime.cgocallback", "callback_own", 0, "cfa=rsp+40 rbp=cfa-16"},
		{"cgocallback", "runtime.cgocallback", "callback_switched", 0,
		 "go callback cfa=*(*(*(*(thread-8)+48)+0)+56)+40"},
		{"cgocallback", "runtime.cgocallback", "callback_in_call", 1,
		 "go callback cfa=*(*(*(*(thread-8)+48)+0)+56)+40"},
		{"cgocallback", "runtime.cgocallback", "callback_home", 0, "cfa=rsp+40 rbp=cfa-16"},
		{"nanotime", "runtime.nanotime1", "time_switched", 0, "go cfa=r12+32"},
		{"nanotime", "runtime.nanotime1", "time_aligned", 0, "go cfa=r12+32"},
		{"nanotime", "runtime.nanotime1", "time_in_call", 1, "go vdso cfa=*(*(*(thread-8)+48)+800)+0"},
		{"nanotime", "runtime.nanotime1", "time_in_call", 0, "go cfa=r12+32"},
		{"nanotime", "runtime.nanotime1", "time_home", 0, "cfa=rsp+32 rbp=cfa-16"},
		{"forward", "runtime.callCgoMmap", "forward_in_call", 1, "go cfa=rbx+8"},
		{"lost", "main.lost", "lost_switched", 0, "other stack"},
		{"lost", "main.lost", "lost_in_call", 1, "other stack"},
		{"gogo", "gogo", "gogo_last", 0, "cfa=rsp+8 rbp=same"},
		{"gogo", "gogo", "gogo_switched", 0, "end"},
		{"gogo", "gogo", "gogo_jump", 0, "end"},
		{"gogo", "runtime.gogo", "gogo_switched", 0, "end"},
		{"torn", "main.torn", "torn_join", 0, "other stack"},
		{"clone", "runtime.clone", "clone_before", 0, "cfa=rsp+8 rbp=same"},
		{"clone", "runtime.clone", "clone_after", 0, "clone cfa=rsp+8 rbp=same"},
		{"clone", "runtime.clone", "clone_parent", 0, "cfa=rsp+8 rbp=same"},
		{"clone", "runtime.clone", "clone_child", 0, "end"},
		{"clone", "runtime.clone", "clone_in_call", 1, "end"},
		{"clone", "runtime.clone", "clone_in_call", 0, "end"},
		{"blind", "runtime.clone", "blind_after", 0, "other stack"},
		{"vfork", "syscall.rawVforkSyscall", "vfork_before", 0, "cfa=rsp+8 rbp=same"},
		{"vfork", "syscall.rawVforkSyscall", "vfork_popped", 0, "cfa=rsp+0 ra=r12 rbp=same"},
		{"vfork", "syscall.rawVforkSyscall", "vfork_back", 0, "cfa=rsp+8 rbp=same"},
		{"unpopped", "main.unpopped", "unpopped_pushed", 0, "other stack"},
	};
	size_t i;

	for (i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		is_at(found, expected[i].symbol, expected[i].name, expected[i].label, expected[i].back,
		      expected[i].rule);
}

/* Rules that name a word of the loader's, and what becomes of them in a table that begins elsewhere. */
static void test_shared(struct found *found, const struct go_function *save)
{
	struct go_function shared = function(found->elf, "shared", "runtime.systemstack");
	struct go_rule go;
	struct unwind_rule rule;
	char expected[128];
	uint64_t word, size;

	if (!ok(elf_file_find_symbol(found->elf, "got_word", &word, &size), "a word that the loader writes") ||
	    go_switch_create(found->elf, arch_of(EM_X86_64)->unwind, &shared, save, true, &found->go))
		return;
	snprintf(expected, sizeof(expected), "go systemstack cfa=*(*(*(*(thread+*(%#llx))+48)+192)+56)+8",
		 (unsigned long long)word);
	is_at(found, "shared", "runtime.systemstack", "shared_in_call", 1, expected);
	memcpy(&go, &found->rule, sizeof(go));
	go.thread = 3;
	go.got = 2; /* 0x80018 */
	memcpy(&rule, &go, sizeof(rule));
	go_switch_rebase(&rule, 0x1000);
	unwind_rule_format(arch_of(EM_X86_64)->unwind, &rule, expected, sizeof(expected));
	is_str(expected, "go systemstack cfa=*(*(*(*(thread+*(0x7f018))+48)+192)+56)+8", "from the table's base on");
	go_switch_rebase(&rule, 0x7f020);
	is_int(rule.kind, UNWIND_OTHER_STACK, "a word before the table");
	go_switch_destroy(found->go);
}

/* Where the runtime keeps things is not known: what needs that says so. */
static void test_unknown(struct found *found)
{
	struct go_function none = {};

	if (go_switch_create(found->elf, arch_of(EM_X86_64)->unwind, &none, &none, true, &found->go))
		return;
	is_at(found, "systemstack", "runtime.systemstack", "system_in_call", 1, "other stack");
	is_at(found, "morestack", "runtime.morestack", "more_in_call", 1, "other stack");
	is_at(found, "nanotime", "runtime.nanotime1", "time_in_call", 1, "other stack");
	is_at(found, "asmcgocall", "runtime.asmcgocall", "c_in_call", 1, "go ccall cfa=*(*(sp+48)+8)-*(sp+40)+8");
	go_switch_destroy(found->go);
}

static void test_without_schedule(struct found *found, const struct go_function *systemstack)
{
	struct go_function none = {};

	if (go_switch_create(found->elf, arch_of(EM_X86_64)->unwind, systemstack, &none, false, &found->go))
		return;
	is_at(found, "morestack", "runtime.morestack", "more_in_call", 1, "other stack");
	go_switch_destroy(found->go);
}

int main(void)
{
	struct go_function systemstack, save;
	struct elf_file *elf;
	struct found found = {};

	if (!can_assemble()) {
		printf("1..0 # SKIP needs clang and lld\n");
		return 0;
	}
	found.elf = elf = assemble("go_x86_64", "x86_64");
	if (!ok(elf, "assembled"))
		return tap_done();
	systemstack = function(found.elf, "systemstack", "runtime.systemstack");
	save = function(found.elf, "save", "gosave_systemstack_switch");
	if (!go_switch_create(found.elf, arch_of(EM_X86_64)->unwind, &systemstack, &save, true, &found.go)) {
		test_rules(&found);
		go_switch_destroy(found.go);
	}
	test_shared(&found, &save);
	test_unknown(&found);
	test_without_schedule(&found, &systemstack);
	elf_file_close(elf);
	return tap_done();
}
