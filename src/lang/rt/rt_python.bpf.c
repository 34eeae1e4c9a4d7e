// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Python functions that begin and end (lang/provider/python.c): is this hit of a breakpoint an event, of which kind,
 * and of which function? Only linked into programs that need it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"
#include "lang/rt/python.h"
#include "lang/rt/python_names.h"

/* Has a comparison with this name been true? */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_PYTHON_WANTED);
	__type(key, __u32);
	__type(value, __u64);
} rt_python_met SEC(".maps");

/* The names that came: by code object, with RT_PYTHON_FILE in the lowest bit. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_PYTHON_NAMES);
	__type(key, __u64);
	__type(value, char[RT_PYTHON_TEXT]);
} rt_python_names SEC(".maps");

/*
 * The keys of rt_python_names that were looked up last, each at its place of some: a look-up in an array takes a tenth
 * of one in a hash.
 */
#define RECENT 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT);
	__type(key, __u32);
	__type(value, __u64);
} rt_python_recent SEC(".maps");

extern __hidden __u64 rt_count(__u64 which);

/* The value that a place says, or what is at that address. */
static __always_inline __u64 site_value(const struct rt_python *p, const struct rt_python_site *site, __u8 which,
					__s32 add, __u32 flag)
{
	__u64 ret = site_word(p, which, add);

	return site->flags & flag ? word(ret) : ret;
}

static __always_inline __u64 tstate_of(const struct rt_python *p, const struct rt_python_site *site)
{
	return site_value(p, site, site->tstate, site->tstate_add, RT_PYTHON_TSTATE_MEMORY);
}

/* The flags of the CPU that RT_PYTHON_COMPARED means, or another value. */
static __always_inline __u64 flag_of(const struct rt_python *p, const struct rt_python_site *site)
{
	if (site->flags & RT_PYTHON_COMPARED)
		return site_word(p, site->flag, 0) & (__u32)site->flag_add;
	return site_value(p, site, site->flag, site->flag_add, RT_PYTHON_FLAG_MEMORY);
}

/*
 * Does RESUME find that something else is instrumented than the code knows, or that another thread's copy of it was
 * begun? Then it is executed again.
 */
static __always_inline int is_executed_again(struct rt_python *p, const struct rt_python_site *site)
{
	__u64 owner, tstate;

	if ((site->flags & RT_PYTHON_COMPARED) && flag_of(p, site))
		return 0;
	owner = tstate = tstate_of(p, site);
	if (site->tstate_copy != NO_OFFSET && half(p->frame + p->frame_copy) != half(tstate + site->tstate_copy))
		return 1;
	if (site->interp_offset != NO_OFFSET)
		owner = word(owner + site->interp_offset);
	read_head(p);
	if ((word(owner + site->version_offset) & ~(__u64)site->version_low) == code_word(p, site->code_version))
		return 0;
	return site->tracing_offset == NO_OFFSET || !half(tstate + site->tracing_offset);
}

/* 3.11 and later, an instruction of the frame: 0 if it is none that this place is for. */
static __always_inline int begin_instruction(struct rt_python *p, const struct rt_python_site *site)
{
	__u8 bytes[2] = {0, 0};
	__u32 right = 0, i;

	p->instruction =
		site_value(p, site, site->instruction, site->instruction_add, RT_PYTHON_INSTRUCTION_MEMORY);
	if (site->flags & RT_PYTHON_INSTRUCTION_OF_FRAME)
		p->instruction += word(p->frame + p->frame_lasti);
	p->position = p->instruction;
	if (bpf_probe_read_user(bytes, sizeof(bytes), (void *)p->instruction))
		return 0;
	for (i = 0; i < 8 && !right; i++)
		right = bytes[0] == (__u8)(site->opcodes >> 8 * i);
	if (!right)
		return 0;
	if (site->kind == SITE_JIT) {
		rt_count(RT_COUNTER_PYTHON_JIT);
		return 0;
	}
	/* Copies of the bytecode are not freed with the code object. */
	if (p->code_copies == NO_OFFSET)
		p->place = p->instruction;
	if (site->kind == SITE_RESUME) {
		if ((site->flags & RT_PYTHON_AGAIN) && is_executed_again(p, site))
			return 0;
		/* Of 3.15's generator expressions only the body counts, which has a RESUME of its own (4). */
		if (p->version >= 0x30f && (bytes[1] & 7) == 4)
			return 0;
		return bytes[1] & 3 ? RT_PYTHON_RESUME : RT_PYTHON_START;
	}
	return site->kind == SITE_RETURN ? RT_PYTHON_RETURN : RT_PYTHON_YIELD;
}

/* A frame that the limit of recursion refused has not begun. */
static __always_inline int begin_unwind(struct rt_python *p, const struct rt_python_site *site)
{
	__u64 at = word(p->frame + p->frame_lasti);
	int after = site->flags & RT_PYTHON_AFTER ? 1 : 0;

	p->code = code_of(p);
	p->position = at;
	if (p->version < 0x30d)
		return at < bytecode_of(p) ? 0 : RT_PYTHON_UNWIND;
	if (at == bytecode_of(p) && half(tstate_of(p, site) + site->recursion_offset) - after < 0)
		return 0;
	return RT_PYTHON_UNWIND;
}

/* Up to 3.10. */
static __always_inline int begin_leave(struct rt_python *p, const struct rt_python_site *site)
{
	p->position = (__u64)(__s64)half(p->frame + p->frame_lasti);
	if (word(tstate_of(p, site) + p->exception_offset))
		return RT_PYTHON_UNWIND;
	if (p->version < 0x30a)
		return word(p->frame + p->frame_stack) ? RT_PYTHON_YIELD : RT_PYTHON_RETURN;
	/* f_state, FRAME_SUSPENDED: behind f_lasti, f_lineno and f_iblock. */
	return (__s8)half(p->frame + p->frame_lasti + 12) == -1 ? RT_PYTHON_YIELD : RT_PYTHON_RETURN;
}

/* The kind of event, enum rt_python_kind; 0: it is none. `at`: the place, a struct rt_python_site. */
__hidden __u64 rt_python_begin(void *state, void *at)
{
	struct rt_python *p = state;
	const struct rt_python_site *site = at;
	__u64 flag;
	int kind;

	p->head_of = p->code = p->place = p->is_noted = 0;
	p->frees = site->frees ? p->pc + (__u64)(__s64)site->frees : 0;
	p->frame = site_value(p, site, site->frame, site->frame_add, RT_PYTHON_FRAME_MEMORY);
	switch (site->kind) {
	case SITE_FREES:
		kind = forget(p->frame);
		break;
	case SITE_THROW:
		if (!(__u32)flag_of(p, site))
			return 0;
		p->position = word(p->frame + p->frame_lasti);
		kind = RT_PYTHON_THROW;
		break;
	case SITE_UNWIND:
		kind = begin_unwind(p, site);
		break;
	case SITE_CALL:
		flag = flag_of(p, site);
		p->position = (__u64)(__s64)half(p->frame + p->frame_lasti);
		kind = (__u32)flag ? RT_PYTHON_THROW : (__s64)p->position < 0 ? RT_PYTHON_START : RT_PYTHON_RESUME;
		break;
	case SITE_LEAVE:
		kind = begin_leave(p, site);
		break;
	case SITE_RAISE:
		p->position = p->version >= 0x30b ? word(p->frame + p->frame_lasti)
						  : (__u64)(__s64)half(p->frame + p->frame_lasti);
		kind = RT_PYTHON_RAISE;
		break;
	default:
		kind = begin_instruction(p, site);
		break;
	}
	p->kind = (__u32)kind;
	return (__u64)kind;
}

/* The kind in letters, as a string of eight bytes. */
__hidden __u64 rt_python_kind(void *state)
{
	const struct rt_python *p = state;

	switch (p->kind) {
	case RT_PYTHON_START:
		return 0x7472617473; /* "start" */
	case RT_PYTHON_RESUME:
		return 0x656d75736572;
	case RT_PYTHON_THROW:
		return 0x776f726874;
	case RT_PYTHON_RETURN:
		return 0x6e7275746572;
	case RT_PYTHON_YIELD:
		return 0x646c656979;
	default:
		return 0x646e69776e75;
	}
}

__hidden __u64 rt_python_first_line(void *state)
{
	struct rt_python *p = state;

	return (__u64)(__s64)half(code_here(p) + p->code_firstlineno);
}

#define LINE_TABLE_MAX 0x100000 /* bytes that are looked at */

struct line_context {
	struct rt_python *p;
};

static long line_turn(__u32 i, void *context)
{
	struct rt_python *p = ((struct line_context *)context)->p;
	__u64 at = i & (RT_PYTHON_LINE_BYTES - 1);

	if (i >= p->table_size)
		return 1;
	if (!at && bpf_probe_read_user(p->bytes, sizeof(p->bytes), (void *)(p->table + i)) &&
	    bpf_probe_read_user(p->bytes, p->table_size - i & (RT_PYTHON_LINE_BYTES - 1), (void *)(p->table + i)))
		return 1;
	opaque(at);
	return py_line_step(&p->line, p->offset, p->bytes[at & (RT_PYTHON_LINE_BYTES - 1)]);
}

/* The line of the instruction, as PyFrame_GetLineNumber() finds it, but for runtime/python/lines.h's exception. */
__hidden __u64 rt_python_line(void *state)
{
	struct rt_python *p = state;
	struct line_context context = {.p = p};
	__u64 table;
	__s64 offset;

	/* lines_step.h or rt_lines_old.bpf.c has found it. */
	if (p->kind == RT_PYTHON_LINE)
		return (__u64)p->line.line;
	code_here(p);
	offset = p->version >= 0x30b  ? (__s64)(p->position - bytecode_of(p))
		 : p->version < 0x30a ? (__s64)p->position
				      : 2 * (__s64)p->position;
	table = code_word(p, p->code_linetable);
	py_line_begin(&p->line, (__u16)p->version, half(p->code + p->code_firstlineno));
	if (offset >= 0) {
		p->offset = (__u64)offset;
		p->table = table + p->bytes_data;
		p->table_size = word(table + p->bytes_size);
		bpf_loop(LINE_TABLE_MAX, line_turn, &context, 0);
	}
	return (__u64)p->line.line;
}

#define POINTS_MAX 128 /* of a text that is not ASCII: the verifier follows each */

/* 1 if a is more than b, without a branch, which the verifier would follow both ways at each turn. */
static __always_inline __u64 more(__u64 a, __u64 b)
{
	__u64 difference = b - a;

	opaque(difference);
	return difference >> 63;
}

/* As UTF-8, as far as there is room for. `kind`: bytes of a code point, 1, 2 or 4. */
static __always_inline void encode(struct rt_python *p, char *to, __u64 size, __u64 data, __u64 length, __u64 kind)
{
	volatile __u32 *next = &p->at;
	__u64 i;

	*next = 0;
	for (i = 0; i < POINTS_MAX && i < length; i++) {
		__u32 read = 0;
		__u64 at = *next, point, bytes, first;

		if (bpf_probe_read_user(&read, kind & 7, (void *)(data + i * kind)))
			return;
		opaque(at);
		/* Of the sum, Linux 6.1's verifier would not learn what `at` is. */
		if (at > size - 8)
			return;
		point = read;
		bytes = (1 + more(point, 0x7f) + more(point, 0x7ff) + more(point, 0xffff)) & 7;
		/* The first byte has the upper bits, and, if there are more, as many ones above as there are bytes. */
		first = (0xf00 >> bytes & 0xff) & (0 - more(bytes, 1));
		to[at] = (char)(first | point >> (6 * (bytes - 1) & 31));
		to[at + 1] = (char)(0x80 | (point >> (6 * (bytes - 2) & 31) & 0x3f));
		to[at + 2] = (char)(0x80 | (point >> (6 * (bytes - 3) & 31) & 0x3f));
		to[at + 3] = (char)(0x80 | (point & 0x3f));
		to[at + bytes] = 0;
		*next = (__u32)(at + bytes);
	}
}

/* To RT_PYTHON_TEXT bytes; what cannot be read is empty. */
static __always_inline __u64 copy_text(struct rt_python *p, __u64 string, void *to)
{
	__u32 flags, kind, compact, sizes = 1 << 1 | 1 << 2 | 1 << 4;
	__u64 length, room;

	zero_text(to, 0);
	length = word(string + p->unicode_length);
	flags = (__u32)half(string + p->unicode_state);
	kind = flags >> p->unicode_kind_shift & 7;
	compact = flags >> p->unicode_compact_shift & 3;
	if (!(compact & 1) || !length)
		return 0;
	if (compact & 2) {
		room = length < RT_PYTHON_TEXT - 1 ? length : RT_PYTHON_TEXT - 1;
		opaque(room);
		if (room > RT_PYTHON_TEXT - 1)
			room = RT_PYTHON_TEXT - 1;
		bpf_probe_read_user(to, room, (void *)(string + p->unicode_ascii_data));
		return 0;
	}
	/* Not three comparisons: the verifier would follow the loop once for each. */
	opaque(sizes);
	if (sizes >> kind & 1)
		encode(p, to, RT_PYTHON_TEXT, string + p->unicode_compact_data, length, kind);
	return 0;
}

/* A string of the code object, at this offset of it, to RT_PYTHON_TEXT bytes. */
__hidden __u64 rt_python_text(void *state, void *to, __u64 field)
{
	struct rt_python *p = state;

	if (!read_name(p, field, to))
		return copy_text(p, code_word(p, field), to);
	zero_text(to, RT_PYTHON_SHORT / 8);
	return 0;
}

/*
 * Compares a string of the code object with `text`, `length` characters in ASCII, less than RT_PYTHON_TEXT - 1; of a
 * longer one the first RT_PYTHON_SHORT, as zeros behind it. Gives enum rt_python_comparison.
 */
__hidden __u64 rt_python_compare(void *state, void *text, __u64 length, __u64 field)
{
	__u64 *wanted = text, its = 0, differ = length >= RT_PYTHON_SHORT, words[RT_PYTHON_SHORT / 8];
	struct rt_python *p = state;
	struct short_text read;
	struct name name;
	__u32 i;

	if (is_known(p, field, &name)) {
		for (i = 0; i < RT_PYTHON_SHORT / 8 && !differ; i++)
			differ = *(volatile const __u64 *)&name.known->text[i] != wanted[i];
		if (is_still_known(&name))
			return differ ? RT_PYTHON_DIFFERS : RT_PYTHON_EQUAL;
		differ = length >= RT_PYTHON_SHORT;
	}
	if (learn_name(p, &name, words)) {
#pragma clang loop unroll(full)
		for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
			differ |= words[i] ^ wanted[i];
		return differ ? RT_PYTHON_DIFFERS : RT_PYTHON_EQUAL;
	}
	differ = 0;
	if (!read_short(p, code_word(p, field), &read, &its))
		return RT_PYTHON_LONG;
	if (its != length)
		return RT_PYTHON_DIFFERS;
#pragma clang loop unroll(full)
	for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
		differ |= (read.characters[i] ^ wanted[i]) & bytes_in_word(length, i);
	return differ ? RT_PYTHON_DIFFERS : length > RT_PYTHON_SHORT ? RT_PYTHON_LONG : RT_PYTHON_EQUAL;
}

/* --- imports --- */

/* Is it these up to 32 ASCII characters? */
static __always_inline int is_text(const struct rt_python *p, __u64 string, __u32 size, __u64 a, __u64 b, __u64 c,
				   __u64 d)
{
	__u64 words[4] = {0, 0, 0, 0};

	if (word(string + p->unicode_length) != size ||
	    bpf_probe_read_user(words, size, (void *)(string + p->unicode_ascii_data)))
		return 0;
	return words[0] == a && words[1] == b && words[2] == c && words[3] == d;
}

/* The same of a string of the code object. */
static __always_inline int is_name(struct rt_python *p, __u64 field, __u64 a, __u64 b, __u64 c, __u64 d)
{
	__u64 name[RT_PYTHON_SHORT / 8];

	return read_name(p, field, name) && name[0] == a && name[1] == b && name[2] == c && name[3] == d && !name[4];
}

#define IS_FIND_AND_LOAD(p)                                                                                            \
	is_name(p, p->code_name, 0x6e615f646e69665full, 0x64616f6c5f64ull, 0x0ull, 0x0ull)
#define IS_BOOTSTRAP(p)                                                                                                \
	is_name(p, p->code_filename, 0x206e657a6f72663cull, 0x696c74726f706d69ull, 0x73746f6f625f2e62ull,              \
		0x3e70617274ull)
#define IS_GCD_IMPORT(p, s) is_text(p, s, 11, 0x706d695f6463675full, 0x74726full, 0x0ull, 0x0ull)

/*
 * The same of an import: _find_and_load() of importlib._bootstrap, called by the interpreter itself. By
 * importlib.import_module() it is called from _gcd_import(), which the markers do not tell.
 */
__hidden __u64 rt_python_import(void *state, void *at)
{
	struct rt_python *p = state;
	__u64 kind = rt_python_begin(p, at), caller;

	if (kind != RT_PYTHON_START && kind != RT_PYTHON_RETURN && kind != RT_PYTHON_UNWIND)
		return 0;
	if (!IS_FIND_AND_LOAD(p) || !IS_BOOTSTRAP(p))
		return 0;
	caller = word(word(p->frame + p->frame_back) + p->frame_code) & ~(__u64)p->code_tag;
	return IS_GCD_IMPORT(p, word(caller + p->code_name)) ? 0 : kind;
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* Bytes of a string that lie at `data`, RT_PYTHON_SHORT at most; zeros behind them, or if they cannot be read. */
static __always_inline void read_bytes(struct short_text *text, __u64 data, __u64 size)
{
	__builtin_memset(text->characters, 0, sizeof(text->characters));
	opaque(size);
	if (size && size <= sizeof(text->characters))
		bpf_probe_read_user(text->characters, size, (void *)data);
}

static __always_inline __u64 mix_bytes(__u64 hash, const struct short_text *text, __u64 size)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < RT_PYTHON_SHORT / 8; i++)
		hash = mix(hash, text->characters[i] & bytes_in_word(size, i));
	return hash;
}

/*
 * A number made of what a string of the code object says: of its length, its first bytes and its last ones. Another
 * string that is at the same address later has another one.
 */
__hidden __u64 rt_python_text_hash(void *state, __u64 field)
{
	struct rt_python *p = state;
	__u64 string = code_word(p, field), data = string + p->unicode_ascii_data, length = 0, size;
	struct short_text text;
	__u32 flags;

	if (read_short(p, string, &text, &length)) {
		size = length;
	} else {
		flags = (__u32)half(string + p->unicode_state);
		size = length = word(string + p->unicode_length);
		if ((flags >> p->unicode_compact_shift & 3) != 3) {
			data = string + p->unicode_compact_data;
			size *= flags >> p->unicode_kind_shift & 7;
		}
		read_bytes(&text, data, size < RT_PYTHON_SHORT ? size : RT_PYTHON_SHORT);
	}
	length = mix_bytes(mix(1, length), &text, size);
	if (size > RT_PYTHON_SHORT) {
		read_bytes(&text, data + size - RT_PYTHON_SHORT, RT_PYTHON_SHORT);
		length = mix_bytes(length, &text, RT_PYTHON_SHORT);
	}
	return length;
}

/* The frame's first variable, a string, to RT_PYTHON_TEXT bytes. */
__hidden __u64 rt_python_variable(void *state, void *to)
{
	struct rt_python *p = state;

	return copy_text(p, word(p->frame + p->frame_locals) & ~(__u64)p->value_tag, to);
}

#define FAST_CELL 0x40 /* CO_FAST_CELL, in co_localspluskinds: Include/internal/pycore_code.h, v3.11 to v3.15 */

/*
 * The class of the frame's first variable, if that is named "self", to RT_PYTHON_TEXT bytes: its type's tp_name, as the
 * C string has it. Of a frame that begins, where the first variable is what the function was called with. From 3.11 on
 * one that inner functions use is in a cell; before, it is not there.
 */
__hidden __u64 rt_python_self_class(void *state, void *to)
{
	struct rt_python *p = state;
	__u64 names = code_word(p, p->code_names), value = word(p->frame + p->frame_locals) & ~(__u64)p->value_tag;
	__u8 kind = 0;

	zero_text(to, 0);
	if (!value || !is_text(p, word(names + p->tuple_items), 4, 0x666c6573, 0, 0, 0))
		return 0;
	if (p->code_kinds != NO_OFFSET) {
		bpf_probe_read_user(&kind, sizeof(kind), (void *)(code_word(p, p->code_kinds) + p->bytes_data));
		if (kind & FAST_CELL)
			value = word(value + p->cell_value);
	}
	/* An object's head ends with its type; behind that of a type are ob_size and tp_name. */
	value = value ? word(value + p->unicode_length - 8) : 0;
	value = value ? word(value + p->unicode_length + 8) : 0;
	if (value)
		bpf_probe_read_user_str(to, RT_PYTHON_TEXT, (void *)value);
	return 0;
}

/* Where a string of the code object is in UTF-8, or the frame's first variable (NO_OFFSET); 0: nowhere. */
__hidden __u64 rt_python_address(void *state, __u64 field)
{
	struct rt_python *p = state;
	__u64 string =
		field == NO_OFFSET ? word(p->frame + p->frame_locals) & ~(__u64)p->value_tag : code_word(p, field);
	__u32 compact = (__u32)half(string + p->unicode_state) >> p->unicode_compact_shift & 3;

	if (compact == 3)
		return string + p->unicode_ascii_data;
	/* PyCompactUnicodeObject.utf8, behind utf8_length. */
	return compact & 1 ? word(string + p->unicode_ascii_data + 8) : 0;
}

/* The name that was compared last is kept. */
static __always_inline void note(struct rt_python *p, __u64 field)
{
	struct name name;

	if (is_known(p, field, &name))
		name.known->is_noted = 1;
}

/*
 * A comparison of the code object's string at offset `field` with the wanted name `which`: its result. Until one was
 * true, the names that came are kept, for user space to tell those that are near. `room`: RT_PYTHON_TEXT bytes.
 */
__hidden __u64 rt_python_wanted(void *state, void *room, __u64 which, __u64 field, __u64 result)
{
	struct rt_python *p = state;
	__u32 index = (__u32)which;
	__u64 *met = bpf_map_lookup_elem(&rt_python_met, &index), *recent, key;

	if (!met || *met)
		return result;
	if (result) {
		*met = 1;
		return result;
	}
	key = (code_here(p) ^ bpf_get_current_pid_tgid() >> 32 << 48) & ~(__u64)RT_PYTHON_FILE;
	if (field == p->code_filename)
		key |= RT_PYTHON_FILE;
	index = (__u32)(key * 0x9e3779b97f4a7c15ull >> 32) % RECENT;
	recent = bpf_map_lookup_elem(&rt_python_recent, &index);
	if (!recent)
		return result;
	if (*recent == key) {
		note(p, field);
		return result;
	}
	*recent = key;
	if (!bpf_map_lookup_elem(&rt_python_names, &key)) {
		rt_python_text(p, room, field);
		bpf_map_update_elem(&rt_python_names, &key, room, BPF_ANY);
	}
	note(p, field);
	return result;
}
