/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the Python walker finds what it needs inside a CPython process. One `struct py_layout` describes one
 * build of the interpreter (version, GIL or free-threaded, debug); one `struct python_process` points to the
 * interpreter of one process. All offsets are in bytes from the start of the named structure.
 *
 * The values come from _Py_DebugOffsets (3.13 and later) or from the table in layouts.def.
 */
#ifndef STRATA_RUNTIME_PYTHON_ABI_H
#define STRATA_RUNTIME_PYTHON_ABI_H

#include "abi/runtime.h"
#include "abi/types.h"

/* How a frame tells which instruction it executes. */
enum py_lasti {
	PY_LASTI_BYTES = 1,  /* 3.6-3.9: int f_lasti, byte offset into co_code */
	PY_LASTI_UNITS = 2,  /* 3.10: int f_lasti, in code units of 2 bytes */
	PY_LASTI_POINTER = 3 /* 3.11+: pointer into the code object's own bytecode */
};

/* How the outermost Python frame of one run of the interpreter loop ("entry frame") is marked. */
enum py_entry {
	PY_ENTRY_EVERY = 1, /* 3.6-3.10: every Python frame has an interpreter loop of its own */
	PY_ENTRY_FLAG = 2,  /* 3.11: the byte at frame_entry (is_entry) is not 0 */
	PY_ENTRY_SHIM = 3 /* 3.12+: the next older frame is a shim: its owner byte (at frame_entry) is >= shim_owner */
};

#define PY_NO_OFFSET       0xffff
#define PYTHON_THREADS_MAX 16384 /* thread states visited for one thread, at most */
#define PY_TSTATE_SPAN     2048u /* bytes from the first to the last field that is read of a thread state, at most */

struct py_layout {
	__u16 version;   /* (major << 8) | minor, e.g. 0x030b */
	__u8 lasti;      /* enum py_lasti */
	__u8 entry;      /* enum py_entry */
	__u8 shim_owner; /* PY_ENTRY_SHIM: smallest owner value that marks a shim (3.12, 3.13: FRAME_OWNED_BY_CSTACK =
			    3; 3.14, 3.15: FRAME_OWNED_BY_INTERPRETER = 3) */
	__u8 code_tag_mask; /* low bits to clear in the frame's code reference (3.14+: tagged _PyStackRef), else 0 */
	__u8 unicode_kind_shift;    /* bit position of the 3-bit `kind` in the state word of PyASCIIObject */
	__u8 unicode_compact_shift; /* bit position of `compact`; `ascii` is the next bit */
	/* PyInterpreterState */
	__u16 interp_next;
	__u16 interp_threads; /* pointer to the first thread state: tstate_head, or threads.head (3.11+) */
	/* PyThreadState */
	__u16 tstate_next;
	__u16 tstate_interp;
	__u16 tstate_thread_id; /* unsigned long: pthread_self() of the thread */
	__u16 tstate_frame;     /* `frame` (<= 3.10), `cframe` (3.11, 3.12), `current_frame` (3.13+) */
	__u16 cframe_current;   /* _PyCFrame.current_frame (3.11, 3.12); else PY_NO_OFFSET: no such indirection */
	/* PyFrameObject (<= 3.10) or _PyInterpreterFrame */
	__u16 frame_code;
	__u16 frame_back;
	__u16 frame_lasti;
	__u16 frame_entry; /* see enum py_entry; else PY_NO_OFFSET */
	/* PyCodeObject */
	__u16 code_size; /* bytes of the fixed part of a code object, everything before its bytecode; see code_stable */
	__u16 code_filename;
	__u16 code_name;
	__u16 code_qualname;  /* PY_NO_OFFSET before 3.11 */
	__u16 code_linetable; /* co_lnotab (<= 3.9), co_linetable */
	__u16 code_firstlineno;
	__u16 code_bytecode; /* co_code_adaptive (3.11+), where PY_LASTI_POINTER counts from; else PY_NO_OFFSET */
	__u16 code_version;  /* u32 that is unique for each code object of an interpreter's life (co_version, 3.12+; 0
				when  the counter has run out), or PY_NO_OFFSET */
	/* PyUnicodeObject */
	__u16 unicode_length;       /* PyASCIIObject.length, in code points */
	__u16 unicode_state;        /* the 32-bit word of flags */
	__u16 unicode_ascii_data;   /* where the characters of a compact ASCII string start: sizeof(PyASCIIObject) */
	__u16 unicode_compact_data; /* of any other compact string: sizeof(PyCompactUnicodeObject) */
	/* PyBytesObject */
	__u16 bytes_size; /* ob_size */
	__u16 bytes_data; /* ob_sval */
	__u16 type_name;  /* PyTypeObject.tp_name */
	__u16 ob_type;    /* PyObject.ob_type */
	/*
	 * Free-threaded 3.14+: each thread may run its own copy of the bytecode. The code object holds at code_tlbc a
	 * pointer to { ssize_t size; char *entries[size]; }, the frame at frame_tlbc_index an s32: PY_LASTI_POINTER
	 * then counts from entries[index], whose entry 0 is code_bytecode. Else both are PY_NO_OFFSET.
	 */
	__u16 frame_tlbc_index;
	__u16 code_tlbc;
	/*
	 * PyThreadState.datastack_top (3.11, 3.12), between datastack_chunk and datastack_limit: frames of the thread's
	 * own from the top to the limit are of the past. Else PY_NO_OFFSET: from 3.13 on the current frame is never one
	 * of an earlier call.
	 */
	__u16 tstate_stack_top;
	/*
	 * 3.6 to 3.10, else both PY_NO_OFFSET. A frame in a loop keeps its value stack's top in the loop, and here NULL
	 * (f_stacktop, up to 3.9) or -1 (f_stackdepth, an s32, 3.10), but for calls of trace functions; then
	 * PyThreadState.tracing is not 0. A frame that says where its top is, with nobody tracing, is in no loop.
	 */
	__u16 frame_stack;
	__u16 tstate_tracing;
	/*
	 * 3.10 to 3.12, else PY_NO_OFFSET: PyThreadState.cframe. In a loop it points into the C stack of the thread
	 * that runs it, which need not be the one that thread_id names: up to 3.12 any thread may run code on the
	 * thread state that came with an interpreter (_run_script() of Modules/_xxsubinterpretersmodule.c).
	 */
	__u16 tstate_cframe;
	/*
	 * 3.15, else PY_NO_OFFSET: PyThreadState.base_frame, which points to a frame inside the thread state that every
	 * chain ends with, and that runs nothing. It looks like a shim.
	 */
	__u16 tstate_base_frame;
	/*
	 * Which of the first 32 eight-byte words of a code object never change once it is in use, and so identify it:
	 * bit N is the word at offset 8 * N. They hold sizes, flags, first line, the pointers to constants, names, file
	 * name and line table, and co_version; not the reference count, zombie frame, opcode caches, weak references,
	 * extra data, warm-up and monitoring state. co_filename is among them: an import replaces it, but before the
	 * code runs.
	 */
	__u32 code_stable;
};
ABI_ASSERT_SIZE(struct py_layout, sizeof(struct runtime_layout));

/* How the thread-local pointer to the current thread state (_Py_tss_tstate, 3.12+) is found. */
enum py_tls {
	PY_TLS_NONE,
	PY_TLS_STATIC, /* at the thread pointer + tls_offset */
	PY_TLS_WORD,   /* the word at tls_slot says how far from the thread pointer; + tls_offset */
	PY_TLS_INDEX, /* the words {module, offset} at tls_slot; the thread's vector of blocks, to which the word at the
		       * thread pointer + tls_vector points, has the module's block at module * tls_stride; + offset +
		       * tls_offset */
	PY_TLS_DESC,  /* the second word at tls_slot, when it is negative, says how far from the thread pointer; +
			 tls_offset */
};

/*
 * Where a libc has a thread's values for its pthread keys. Those of the first `direct` keys lie at the thread pointer +
 * direct_at + key * stride. The others are in blocks of 1 << block_shift: the word at the thread pointer + blocks_at +
 * 8 * (key >> block_shift) points to the block, or is 0; there they begin at value_at.
 *
 *   glibc  direct 32, direct_at 0x318, stride 16; blocks_at 0x510, block_shift 5, value_at 8
 *   musl   direct 0, stride 8; blocks_at 0x80, block_shift PY_ONE_BLOCK, value_at 0
 */
struct py_keys {
	__s32 direct_at, blocks_at;
	__u16 direct;
	__u8 block_shift;
	__u8 stride; /* 0: not known */
	__u8 value_at;
	__u8 pad[3];
};
ABI_ASSERT_SIZE(struct py_keys, 16);

/*
 * Where a thread finds the tasks that are current: those of which the interpreter runs a step now.
 *
 *   3.6-3.13   the dict { event loop: task } of _asyncio at `current`
 *   3.14+      the word at `current` in the thread state (dict_keys is 0)
 *
 * `coro` and `name` are fields of TaskObj, gen_frame of a coroutine, the others of PyDictObject and PyDictKeysObject.
 */
struct py_task_facts {
	__u64 current;  /* 0: not known */
	__u64 str_type; /* address of the type str */
	__u16 coro, name; /* PY_NO_OFFSET: tasks have no name (3.6, 3.7) */
	__u16 gen_frame;
	__u8 frame_is_apart; /* up to 3.10: the coroutine has a pointer to its frame, else the frame itself */
	__u8 dict_keys, keys_entries, keys_indices;
	__u8 keys_log; /* 3.11+: the second byte of the word at 8 is the logarithm of the size of dk_indices; before,
			  the word is the number of indices */
	__u8 long_digits; /* PyLongObject: the first digit. A name that nobody asked for is a number (3.13+) */
	__u8 pad[4];
};
ABI_ASSERT_SIZE(struct py_task_facts, 32);

#define PY_ONE_BLOCK 16   /* of more keys than there may be */
#define PY_KEYS_MAX  1024 /* PTHREAD_KEYS_MAX: glibc's; musl has 128 */

/*
 * From this version on the pthread key names the thread state that the thread was last on, and none that it is not on
 * (Python/pystate.c, tstate_activate()); before, the first that it had. From 3.15 on a thread-local variable,
 * _Py_tss_gilstate, is in its place.
 */
#define PY_KEY_FOLLOWS 0x030c

/*
 * CPython's view of a struct runtime_process (abi/runtime.h): the same bytes with other field names, so either type may
 * be used to read it.
 */
struct python_process {
	__u64 interp_head;    /* address of the pointer to the first PyInterpreterState */
	__u64 current_tstate; /* address of the pointer to the thread state that holds the GIL (3.6 to 3.11); else 0 */
	__u64 tls_slot;       /* address of words that the dynamic linker fills in */
	__u64 key; /* address of the u32 pthread key under which a thread has its thread state; 0: not known */
	struct py_keys keys;
	__s32 tls_offset;
	__u8 tls_kind; /* enum py_tls */
	__u8 tls_vector, tls_stride, pad;
	struct py_task_facts tasks;
	__s32 bound_at; /* 3.15, which has no key: offset from that pointer to the one that stays; 0: not known */
	__u16 layout;
	__u8 runtime;
	/*
	 * enum runtime_note. The noted fact: the key has given a thread its own thread state, so a thread without a
	 * value under it has no thread state.
	 */
	__u8 key_holds;
	__u64 since;
	__u32 tgid, check;
} __attribute__((may_alias));
ABI_ASSERT_SIZE(struct python_process, sizeof(struct runtime_process));
_Static_assert(__builtin_offsetof(struct python_process, keys) == __builtin_offsetof(struct runtime_process, facts) &&
		       __builtin_offsetof(struct python_process, bound_at) ==
			       __builtin_offsetof(struct runtime_process, fact) &&
		       __builtin_offsetof(struct python_process, tasks) ==
			       __builtin_offsetof(struct runtime_process, tasks) &&
		       __builtin_offsetof(struct python_process, key_holds) ==
			       __builtin_offsetof(struct runtime_process, noted) &&
		       __builtin_offsetof(struct python_process, since) ==
			       __builtin_offsetof(struct runtime_process, since),
	       "the same bytes");

#endif
