/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_marks: is an instruction of CPython 3.12 one that a jump or an exception goes to, and what is before it part
 * of a call? As initialize_lines() in Python/instrumentation.c has it. BPF only, of rt_lines_312.bpf.c.
 *
 * 3.12's code objects (Include/cpython/code.h) and opcodes are the same in all its versions; the opcodes, and how many
 * entries of a cache follow each, are from the interpreter's module opcode (3.12.1 and 3.12.10).
 */
#ifndef STRATA_LANG_RT_PYTHON_MARKS_H
#define STRATA_LANG_RT_PYTHON_MARKS_H

#define MARKS_KEPT 65536
#define MARKS_MAX  0x200000 /* instructions, or bytes of an exception table, that are looked at */

/* In a code object: from co_firstlineno, and before the bytecode. */
#define CODE_SIZE_BEFORE	52
#define CODE_EXCEPTIONS_BEFORE	28
#define CODE_VERSION_BEHIND	24
#define CODE_MONITORING_BEFORE	24
#define MONITORING_LINES	40
#define MONITORING_INSTRUCTIONS 56

/* The opcodes that have one entry of a cache behind them, three, four, nine: a bit each. */
#define CACHE_1 0xde000000027d65c0, 0x0c0008003000000f, 0x000001c380002000, 0x0100200000000000
#define CACHE_3 0x0101ffc431800000, 0, 0x0000080000000000, 0x0002000000000000
#define CACHE_4 0, 0x0013800080000000, 0x0000000002100000, 0
#define CACHE_9 0, 0x000004000007f340, 0, 0

enum {
	OP_FOR_ITER_LIST = 62,
	OP_FOR_ITER_GEN = 65,
	OP_FOR_ITER = 93,
	OP_JUMP_FORWARD = 110,
	OP_POP_JUMP_IF_FALSE = 114,
	OP_POP_JUMP_IF_TRUE = 115,
	OP_SEND = 123,
	OP_POP_JUMP_IF_NOT_NONE = 128,
	OP_POP_JUMP_IF_NONE = 129,
	OP_JUMP_BACKWARD_NO_INTERRUPT = 134,
	OP_JUMP_BACKWARD = 140,
	OP_EXTENDED_ARG = 144,
	OP_SEND_GEN = 168,
	OP_INSTRUMENTED_POP_JUMP_IF_NONE = 238,
	OP_INSTRUMENTED_POP_JUMP_IF_NOT_NONE = 239,
	OP_INSTRUMENTED_JUMP_FORWARD = 245,
	OP_INSTRUMENTED_JUMP_BACKWARD = 246,
	OP_INSTRUMENTED_FOR_ITER = 248,
	OP_INSTRUMENTED_POP_JUMP_IF_FALSE = 249,
	OP_INSTRUMENTED_POP_JUMP_IF_TRUE = 250,
	OP_INSTRUMENTED_INSTRUCTION = 253,
	OP_INSTRUMENTED_LINE = 254
};

struct mark_key {
	__u64 instruction, before;
	__u32 process, version; /* the code object's: each has its own */
};

/* What was found out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MARKS_KEPT);
	__type(key, struct mark_key);
	__type(value, __u32);
} rt_lines_marks SEC(".maps");

/* All are offsets in what is read. */
struct mark_scan {
	__u64 data, size, at, chunk;
	__u64 target, before;
	__u64 monitoring; /* the code object's */
	__u64 value;	  /* of an operand, as far as it was read */
	__u32 field;	  /* of an entry of the exception table */
	__u32 is_marked, is_begin; /* the target is gone to; an instruction begins at `before` */
	__u32 pad;
	__u8 bytes[LINES_CHUNK];
};

struct mark_place {
	struct mark_scan *scan;
};

static __always_inline int mark_is_in(__u64 opcode, __u64 first, __u64 second, __u64 third, __u64 fourth)
{
	__u64 bits = opcode < 64 ? first : opcode < 128 ? second : opcode < 192 ? third : fourth;

	return bits >> (opcode & 63) & 1;
}

/* How many entries of a cache are behind an instruction. */
static __always_inline __u64 mark_cache(__u64 opcode)
{
	if (mark_is_in(opcode, CACHE_1))
		return 1;
	if (mark_is_in(opcode, CACHE_3))
		return 3;
	if (mark_is_in(opcode, CACHE_4))
		return 4;
	return mark_is_in(opcode, CACHE_9) ? 9 : 0;
}

/* False: it cannot be read. */
static __always_inline int mark_read(struct mark_scan *s, int first)
{
	__u64 chunk = s->at & ~(__u64)(LINES_CHUNK - 1);

	if (!first && chunk == s->chunk)
		return 1;
	s->chunk = chunk;
	return read_chunk(s->bytes, s->data, s->size, s->at);
}

static __always_inline __u64 mark_byte(__u64 address)
{
	__u8 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* While lines are traced, others stand in memory in place of some: the opcode that is at this offset. */
static __always_inline __u64 mark_original(__u64 monitoring, __u64 offset, __u64 opcode)
{
	if (opcode == OP_INSTRUMENTED_LINE)
		opcode = mark_byte(word(monitoring + MONITORING_LINES) + offset);
	if (opcode == OP_INSTRUMENTED_INSTRUCTION)
		opcode = mark_byte(word(monitoring + MONITORING_INSTRUCTIONS) + offset / 2);
	return opcode;
}

/* The next instruction. Returns 1 at the end. */
static long mark_instruction(__u32 i, void *context)
{
	struct mark_scan *s = ((struct mark_place *)context)->scan;
	__u64 opcode, operand, next, target = ~0ull, at = s->at;

	if (at >= s->size || !mark_read(s, !i))
		return 1;
	opaque(at);
	opcode = s->bytes[at & (LINES_CHUNK - 2)];
	operand = s->bytes[(at & (LINES_CHUNK - 2)) + 1] | s->value;
	opcode = mark_original(s->monitoring, s->at, opcode);
	s->is_begin |= s->at == s->before;
	next = s->at + PY_LINE_UNIT + mark_cache(opcode) * PY_LINE_UNIT;
	s->at = next;
	s->value = opcode == OP_EXTENDED_ARG ? operand << 8 : 0;
	switch (opcode) {
	case OP_JUMP_FORWARD:
	case OP_POP_JUMP_IF_FALSE:
	case OP_POP_JUMP_IF_TRUE:
	case OP_POP_JUMP_IF_NOT_NONE:
	case OP_POP_JUMP_IF_NONE:
	case OP_INSTRUMENTED_JUMP_FORWARD:
	case OP_INSTRUMENTED_POP_JUMP_IF_FALSE:
	case OP_INSTRUMENTED_POP_JUMP_IF_TRUE:
	case OP_INSTRUMENTED_POP_JUMP_IF_NOT_NONE:
	case OP_INSTRUMENTED_POP_JUMP_IF_NONE:
		target = next + operand * PY_LINE_UNIT;
		break;
	case OP_FOR_ITER:
	case OP_FOR_ITER_LIST ... OP_FOR_ITER_GEN:
	case OP_INSTRUMENTED_FOR_ITER:
	case OP_SEND:
	case OP_SEND_GEN:
		target = next + (operand + 1) * PY_LINE_UNIT;
		break;
	case OP_JUMP_BACKWARD:
	case OP_JUMP_BACKWARD_NO_INTERRUPT:
	case OP_INSTRUMENTED_JUMP_BACKWARD:
		target = next - operand * PY_LINE_UNIT;
		break;
	default:
		break;
	}
	s->is_marked |= target == s->target;
	return 0;
}

/* The next byte of the exception table: entries of four numbers, of which the third one is the handler. */
static long mark_handler(__u32 i, void *context)
{
	struct mark_scan *s = ((struct mark_place *)context)->scan;
	__u64 at = s->at;
	__u8 byte;

	if (at >= s->size || !mark_read(s, !i))
		return 1;
	opaque(at);
	byte = s->bytes[at & (LINES_CHUNK - 1)];
	s->at++;
	s->value = s->value << 6 | (byte & 0x3f);
	if (byte & 0x40)
		return 0;
	s->is_marked |= s->field == 2 && s->value * PY_LINE_UNIT == s->target;
	s->field = (s->field + 1) & 3;
	s->value = 0;
	return 0;
}

/* 1: `before` is in the cache of a call, and a jump or an exception goes to the instruction, too. */
static __always_inline int is_marked_behind_call(const struct rt_python *p, struct mark_scan *s, __u64 before)
{
	struct mark_key key = {.instruction = p->instruction,
			       .before = before,
			       .process = bpf_get_current_pid_tgid() >> 32,
			       .version = (__u32)half(p->code + p->code_firstlineno + CODE_VERSION_BEHIND)};
	__u64 base = bytecode_of(p), table;
	__u32 *known = bpf_map_lookup_elem(&rt_lines_marks, &key), found;
	struct mark_place place = {.scan = s};

	if (known)
		return (int)*known;
	s->data = base;
	s->size = word(p->code + p->code_firstlineno - CODE_SIZE_BEFORE) * PY_LINE_UNIT;
	s->target = p->instruction - base;
	s->before = before - base;
	s->monitoring = word(base - CODE_MONITORING_BEFORE);
	s->at = s->value = 0;
	s->is_marked = s->is_begin = s->field = 0;
	bpf_loop(MARKS_MAX, mark_instruction, &place, 0);
	table = word(p->code + p->code_firstlineno - CODE_EXCEPTIONS_BEFORE);
	s->data = table + p->bytes_data;
	s->size = word(table + p->bytes_size);
	s->at = s->value = 0;
	bpf_loop(MARKS_MAX, mark_handler, &place, 0);
	found = s->is_marked && !s->is_begin;
	bpf_map_update_elem(&rt_lines_marks, &key, &found, BPF_ANY);
	return (int)found;
}

#endif
