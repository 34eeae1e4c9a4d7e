/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code objects: how they are identified, and how each is copied to user space once. See the essay in walk.h.
 *
 * An address does not identify a code object: when it is freed, another one may take its place. Its id is a hash of the
 * process's cookie (pid, start time, address space), its address, and every word that never changes (code_stable,
 * runtime/python/abi.h). Where the version has no serial number (co_version, from 3.12 on), the first 256 bytes of the
 * line table are hashed, too.
 *
 * A code object with a new id is sent at once with its names, file and line table, by the sample that found it. It
 * cannot be freed meanwhile, because its frame runs on this thread. So a process that lives for 50 ms keeps its names.
 * User space only has to read line tables over 64 KiB.
 */
#ifndef STRATA_RUNTIME_PYTHON_BPF_CODE_H
#define STRATA_RUNTIME_PYTHON_BPF_CODE_H

#include "abi/runtime_id.h"
#include "bpf/functions.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"
#include "bpf/time.h"

#define CODE_SEND_NS 4000u /* by estimate, for time.h */

static __always_inline __u64 code_word(const struct python_walk *walk, __u32 offset)
{
	__u32 at = offset >> 3;

	walk_opaque(at);
	return walk->code[at & (PYTHON_CODE_BYTES / 8 - 1)];
}

/* Adds a string, a PyUnicodeObject, to the text of s->code: 0 name, 1 qualified name, 2 file name. */
static __always_inline int code_copy_text(struct scratch *s, __u32 which, __u64 string)
{
	const struct py_layout *layout = &s->python.layout;
	struct code_string info = {};
	/* 64 bits: before 6.2 the verifier loses the range of a 32-bit product */
	__u64 length = 0, data, size, at = s->code.header.text_bytes;
	__u32 state = 0;

	if (string && !walk_read_user(s, &length, sizeof(length), string + layout->unicode_length) &&
	    !walk_read_user(s, &state, sizeof(state), string + layout->unicode_state)) {
		info.length = length > 0xffffffff ? 0xffffffff : (__u32)length;
		info.kind = (state >> layout->unicode_kind_shift) & 7;
		data = string + (((state >> layout->unicode_compact_shift) & 2) ? layout->unicode_ascii_data
										: layout->unicode_compact_data);
		if ((info.kind != 1 && info.kind != 2 && info.kind != 4) ||
		    !((state >> layout->unicode_compact_shift) & 1))
			info.kind = 0;
		size = info.length > CODE_STRING_MAX ? CODE_STRING_MAX : info.length;
		size *= info.kind;
		walk_opaque(size);
		if (size > CODE_STRING_MAX)
			size = CODE_STRING_MAX;
		walk_opaque(at);
		if (at > 2 * CODE_STRING_MAX)
			return 0;
		if (size && walk_read_user(s, s->code.header.text + at, size, data)) {
			info.kind = 0;
			size = 0;
		}
		info.bytes = (__u16)size;
		info.at = (__u32)at;
		s->code.header.text_bytes = (__u32)(at + size + 7) & ~7u;
	}
	if (which == 0)
		s->code.header.name = info;
	else if (which == 1)
		s->code.header.qualname = info;
	else
		s->code.header.filename = info;
	return 0;
}

/* The same for one of a code object's strings. */
static __always_inline int code_copy_string_in(struct scratch *s, __u32 which)
{
	const struct py_layout *layout = &s->python.layout;
	__u32 field = which == 0 ? layout->code_name : which == 1 ? layout->code_qualname : layout->code_filename;

	return code_copy_text(s, which, field == PY_NO_OFFSET ? 0 : code_word(&s->python, field));
}
WALK_GLOBAL(int, code_copy_string, __u32)

/* Sends names, first line and line table of the code object whose fixed part is in s->python.code. */
static __noinline int code_copy(struct scratch *s, __u64 address, __u64 id)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	struct code_event *event = &s->code.header;
	__u64 table = code_word(walk, layout->code_linetable), size = 0;
	__u64 word = code_word(walk, layout->code_firstlineno);
	__u64 bytes, at;

	event->header.type = EVENT_CODE;
	event->id = id;
	event->address = address;
	event->table_address = table + layout->bytes_data;
	event->tgid = walk->tgid;
	event->runtime = RUNTIME_ID_python;
	event->version = layout->version;
	event->is_task = 0;
	event->text_bytes = 0;
	event->firstlineno = (__s32)((layout->code_firstlineno & 4) ? word >> 32 : word);
	WALK_CALL(code_copy_string, s, 0);
	WALK_CALL(code_copy_string, s, 1);
	WALK_CALL(code_copy_string, s, 2);
	/* The qualified name, where the version has one. */
	event->is_named = event->filename.kind &&
			  (layout->code_qualname == PY_NO_OFFSET ? event->name.kind : event->qualname.kind);
	if (walk_read_user(s, &size, sizeof(size), table + layout->bytes_size))
		size = CODE_TABLE_UNREAD;
	event->table_size = size > CODE_TABLE_UNREAD ? CODE_TABLE_UNREAD : (__u32)size;
	bytes = event->table_size > CODE_TABLE_MAX ? 0 : event->table_size;
	walk_opaque(bytes);
	if (bytes > CODE_TABLE_MAX)
		bytes = 0;
	at = event->text_bytes;
	walk_opaque(at);
	if (at > sizeof(event->text) || (bytes && walk_read_user(s, event->text + at, bytes, event->table_address)))
		bytes = 0;
	event->table_copied = (__u32)bytes;
	s->time.work += CODE_SEND_NS;
	if (s->time.limit && s->time.codes++ >= WALK_CODES_MAX) {
		s->time.work = WALK_LOOK_NS;
		s->time.spent = s->time.limit;
	}
	code_send(s, event->table_copied);
	return 0;
}

/*
 * Reads the beginning of a line table, starting with its length, into walk->table: in one read, or, if that fails, no
 * more than the table has.
 */
static __noinline int python_read_table(struct scratch *s, __u64 table)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 size;

	if (!walk_read_user(s, walk->table, sizeof(walk->table), table + layout->bytes_size))
		return 0;
	if (walk_read_user(s, walk->table, 16, table + layout->bytes_size))
		return -1;
	size = walk->table[0];
	walk_opaque(size);
	if (size > PYTHON_TABLE_PROBE)
		size = PYTHON_TABLE_PROBE;
	return size ? walk_read_user(s, &walk->table[2], (__u32)size, table + layout->bytes_data) : 0;
}

/* The id of the code object at an address, which is sent if it is new; 0 if it cannot be read. */
static __always_inline __u64 python_code_id_in(struct scratch *s, __u64 code)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 hash = walk->hash_seed, size = layout->code_size, stable;
	__u32 i, words, last;

	walk_opaque(size);
	if (size > PYTHON_CODE_BYTES)
		size = PYTHON_CODE_BYTES;
	if ((code & 7) || walk_read_user(s, walk->code, size, code))
		return 0;
	hash = hash_mix(hash, code);
	for (i = 0; i < PYTHON_CODE_BYTES / 8; i++) {
		stable = layout->code_stable >> i & 1;
		walk_opaque(stable); /* without a branch, as in walk_less() */
		hash = hash_mix(hash, walk->code[i] & -stable);
	}
	if (layout->code_version == PY_NO_OFFSET ||
	    !(__u32)(code_word(walk, layout->code_version) >> (layout->code_version & 4 ? 32 : 0))) {
		if (python_read_table(s, code_word(walk, layout->code_linetable)))
			return 0;
		size = (__u32)walk->table[0];
		hash = hash_mix(hash, size);
		if (size > PYTHON_TABLE_PROBE)
			size = PYTHON_TABLE_PROBE;
		/*
		 * Bytes behind the table are cut off first: in the loop the verifier would follow both paths in each
		 * iteration.
		 */
		last = size >> 3;
		walk_opaque(last);
		walk->table[2 + (last & (PYTHON_TABLE_PROBE / 8 - 1))] &=
			size < PYTHON_TABLE_PROBE ? (1ull << ((size & 7) * 8)) - 1 : ~0ull;
		words = (size + 7) >> 3;
		walk_forget(s, words);
		for (i = 0; i < PYTHON_TABLE_PROBE / 8; i++) {
			if (i >= words)
				break;
			hash = hash_mix(hash, walk->table[2 + i]);
		}
	}
	if (!hash)
		hash = 1;
	if (!code_known(s, hash))
		code_copy(s, code, hash);
	return hash;
}
WALK_GLOBAL(__u64, python_code_id, __u64)

#endif
