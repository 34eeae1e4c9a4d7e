// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86-64. Register numbers: psABI AMD64, figure 3.36 "DWARF Register Number Mapping". Signal frames: the kernel pushes
 * struct rt_sigframe { pretcode; struct ucontext uc; ... } (arch/x86/include/asm/sigframe.h); a handler's `ret` pops
 * pretcode, so the trampoline runs with SP at the ucontext, whose uc_flags, uc_link and uc_stack are the 40 bytes
 * before uc_mcontext (include/uapi/asm-generic/ucontext.h), a struct sigcontext: r8 to r15, di, si, bp, bx, dx, ax, cx,
 * sp, ip (arch/x86/include/uapi/asm/sigcontext.h).
 */
#include "arch/x86_64/parts.h"

#include <string.h>

static const char *const register_names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
					     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/*
 * ld writes one FDE over .plt, with the CFA as
 *   breg7(rsp) 8; breg16(rip) 0; lit15; and; litN; ge; lit3; shl; plus
 * N is the offset in a 16-byte slot at which `push index` is done: 11, or with IBT's endbr64 9 or 10 (binutils
 * bfd/elfxx-x86 and elf64-x86-64.c, elf_x86_64_*_eh_frame_*plt).
 */
static bool plt_expression(const uint8_t *bytes, size_t size, struct unwind_rule *ret)
{
	static const uint8_t pattern[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	static const size_t literal = 6;

	if (size != sizeof(pattern) || memcmp(bytes, pattern, literal) ||
	    memcmp(bytes + literal + 1, pattern + literal + 1, size - literal - 1) || bytes[literal] < 0x30 ||
	    bytes[literal] > 0x3f)
		return false;
	*ret = (struct unwind_rule){.kind = UNWIND_PLT, .cfa_offset = bytes[literal] - 0x30};
	return true;
}

/*
 * Lazy .plt: slot 0 is `push GOT+8` (6 bytes) and a jump, entered with an index pushed by another slot; the others are
 * `jmp *GOT(n)` (6), `push n` (5), `jmp slot 0`, or with IBT `endbr64` (4), `push n` (5), jump. Other linkers' slots
 * push nothing, as do .plt.sec, .plt.got and .iplt.
 */
static size_t plt_spans(const char *section, const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	const struct unwind_rule at_entry = {.kind = UNWIND_SP, .cfa_offset = 8};
	struct unwind_rule slot = {.kind = UNWIND_PLT};

	if (!strcmp(section, ".plt.sec") || !strcmp(section, ".plt.got") || !strcmp(section, ".iplt")) {
		ret[0] = (struct unwind_arch_span){.rule = at_entry};
		return 1;
	}
	if (strcmp(section, ".plt"))
		return 0;
	if (size >= 32 && bytes[0] == 0xff && bytes[1] == 0x35 && bytes[16] == 0xff && bytes[17] == 0x25 &&
	    bytes[22] == 0x68)
		slot.cfa_offset = 11;
	else if (size >= 32 && bytes[0] == 0xff && bytes[1] == 0x35 && !memcmp(bytes + 16, "\xf3\x0f\x1e\xfa\x68", 5))
		slot.cfa_offset = 9;
	if (!slot.cfa_offset) {
		ret[0] = (struct unwind_arch_span){.rule = at_entry};
		return 1;
	}
	ret[0] = (struct unwind_arch_span){.start = 0, .rule = {.kind = UNWIND_SP, .cfa_offset = 16}};
	ret[1] = (struct unwind_arch_span){.start = 6, .rule = {.kind = UNWIND_SP, .cfa_offset = 24}};
	ret[2] = (struct unwind_arch_span){.start = 16, .rule = slot};
	return 3;
}

/*
 * _init and _fini are made of two halves, in crti.o and crtn.o, and of what other objects put between them. glibc's
 * (sysdeps/x86_64/crti.S, crtn.S) begin with `sub $8, %rsp`, with CET an endbr64 before it, and end with
 * `add $8, %rsp; ret`; musl's (crt/x86_64/crti.s, crtn.s) with `push %rax`, `pop %rax; ret`. What lies between leaves
 * the stack pointer as it found it, or else the second half could not return.
 */
static size_t init_spans(const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	static const struct {
		const char *head, *tail;
		uint8_t head_size, tail_size;
	} shapes[] = {{"\x48\x83\xec\x08", "\x48\x83\xc4\x08", 4, 4}, {"\x50", "\x58", 1, 1}};
	const struct unwind_rule outer = {.kind = UNWIND_SP, .cfa_offset = 8},
				 inner = {.kind = UNWIND_SP, .cfa_offset = 16};
	size_t begin = size >= 4 && !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0, i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t head = shapes[i].head_size, tail = shapes[i].tail_size;

		if (size < begin + head + tail + 1 || memcmp(bytes + begin, shapes[i].head, head) ||
		    memcmp(bytes + size - 1 - tail, shapes[i].tail, tail) || bytes[size - 1] != 0xc3)
			continue;
		ret[0] = (struct unwind_arch_span){.start = 0, .rule = outer};
		ret[1] = (struct unwind_arch_span){.start = (uint32_t)(begin + head), .rule = inner};
		ret[2] = (struct unwind_arch_span){.start = (uint32_t)(size - 1), .rule = outer};
		return 3;
	}
	return 0;
}

static size_t section_spans(const char *section, const uint8_t *bytes, size_t size, struct unwind_arch_span *ret)
{
	if (!strcmp(section, ".init") || !strcmp(section, ".fini"))
		return init_spans(bytes, size, ret);
	return plt_spans(section, bytes, size, ret);
}

/* musl's _start (arch/x86_64/crt_arch.h) ends with a call, behind which is the next function. */
static size_t musl_entry_size(const uint8_t *bytes, size_t size)
{
	static const uint8_t head[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35};
	static const uint8_t tail[] = {0x48, 0x83, 0xe4, 0xf0, 0xe8};
	const size_t tail_at = sizeof(head) + 4, length = tail_at + sizeof(tail) + 4;

	return size >= length && !memcmp(bytes, head, sizeof(head)) && !memcmp(bytes + tail_at, tail, sizeof(tail))
		       ? length
		       : 0;
}

/*
 * _start clears the frame pointer first (psABI 3.4.1 asks for it) and ends in `hlt`; the dynamic linker's hands
 * the stack pointer to its C part and ends in `jmp *%r12` (glibc sysdeps/x86_64/dl-machine.h, RTLD_START).
 */
static size_t entry_size(const uint8_t *bytes, size_t size)
{
	static const uint8_t jump[] = {0x41, 0xff, 0xe4};
	const uint8_t *code = bytes, *end = bytes + size, *found;

	if (size >= 8 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		code += 4;
	if (end - code >= 4 && !memcmp(code, "\x48\x89\xe7\xe8", 4)) {
		found = memmem(code, (size_t)(end - code), jump, sizeof(jump));
		return found ? (size_t)(found - bytes) + sizeof(jump) : size;
	}
	if (musl_entry_size(bytes, size))
		return musl_entry_size(bytes, size);
	if (end - code < 3 || (memcmp(code, "\x31\xed", 2) && memcmp(code, "\x48\x31\xed", 3)))
		return 0;
	for (found = code; (found = memchr(found, 0xf4, (size_t)(end - found))); found++)
		if (found - code >= 16)
			return (size_t)(found - bytes) + 1;
	return size < 48 ? size : 48;
}

/*
 * `mov $__NR_rt_sigreturn, %rax` (glibc, musl) or `%eax`, then `syscall`. The last byte is searched for. It is not
 * among the five before it, which both ways share, so the next one is six bytes on at least. 6 MB take 0.5 ms, and 5 ms
 * if they are full of that byte; memmem() took 25 ms if they were zeros.
 */
static bool find_trampoline(const uint8_t *bytes, size_t size, size_t *at, size_t *length)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	size_t from = sizeof(narrow) - 1, end, found;
	const uint8_t *last;

	while (from < size && (last = memchr(bytes + from, 0x05, size - from))) {
		end = (size_t)(last - bytes) + 1;
		found = !memcmp(bytes + end - sizeof(narrow), narrow, sizeof(narrow)) ? sizeof(narrow)
			: end >= sizeof(wide) && !memcmp(bytes + end - sizeof(wide), wide, sizeof(wide)) ? sizeof(wide)
													 : 0;
		if (found) {
			*at = end - found;
			*length = found;
			return true;
		}
		from = end + 5;
	}
	return false;
}

/* `push %rbp; mov %rsp, %rbp`, and `pop %rbp` or `leave` before `ret` or `ret $n`. */
static size_t count_frame_edges(const uint8_t *bytes, size_t size)
{
	size_t at, begins = 0, ends = 0;

	for (at = 0; at + 4 <= size; at++) {
		begins += !memcmp(bytes + at, "\x55\x48\x89\xe5", 4);
		ends += (bytes[at] == 0x5d || bytes[at] == 0xc9) && (bytes[at + 1] == 0xc3 || bytes[at + 1] == 0xc2);
	}
	return begins + ends;
}

static bool is_syscall(const uint8_t *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* A call has pushed the return address; a function with a frame saves FP right below it. */
static struct unwind_rule go_rule(uint32_t size)
{
	return (struct unwind_rule){
		.kind = UNWIND_SP, .cfa_offset = (int32_t)size + 8, .fp_offset = size >= 8 ? -16 : UNWIND_FP_SAME};
}

const struct unwind_arch x86_64_unwind = {
	.sp = 7,
	.fp = 6,
	.carried = 3,
	.ra = 16,
	.register_count = 16,
	.ra_offset = -8,
	.sigcontext_sp = 15 * 8,
	.sigcontext_pc = 16 * 8,
	.sigcontext_at_return = 40,
	.register_names = register_names,
	.plt_expression = plt_expression,
	.section_spans = section_spans,
	.entry_size = entry_size,
	.find_trampoline = find_trampoline,
	.count_frame_edges = count_frame_edges,
	.v8_alignment = 64,
	.v8_filling = 0xcc,
	.go_rule = go_rule,
	.go_entry = "_rt0_amd64",
	.code = &x86_64_code,
	.is_syscall = is_syscall,
};
