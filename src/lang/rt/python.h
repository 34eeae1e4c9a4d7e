/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python: what the programs of Python's probes share with rt_python.bpf.c; as abi.h. */
#ifndef STRATA_LANG_RT_PYTHON_H
#define STRATA_LANG_RT_PYTHON_H

#include "abi/types.h"
#include "runtime/python/bpf/line.h"

/*
 * One hit of a breakpoint in CPython's loop, in the frame (lang/builtin/python.c): what the place says (all but the
 * last ones), and what rt_python_begin() finds. Places are struct python_site's of runtime/python/probe_sites.h.
 */
enum rt_python_flag {
	RT_PYTHON_FRAME_MEMORY = 1, /* `frame` is where it lies on the stack; the same of the others */
	RT_PYTHON_INSTRUCTION_MEMORY = 2,
	RT_PYTHON_TSTATE_MEMORY = 4,
	RT_PYTHON_FLAG_MEMORY = 8,
	RT_PYTHON_INSTRUCTION_OF_FRAME = 16, /* `instruction` is added to what the frame says */
	RT_PYTHON_AGAIN = 32,
	RT_PYTHON_AFTER = 64,
	RT_PYTHON_COMPARED = 256, /* `flag` is not 0 if the versions are equal */
	RT_PYTHON_CHECK = 128	  /* of lines: `opcodes` has to be looked at */
};

/*
 * All places of a file for the same event have one program, which finds what its place says by the attach cookie, in a
 * list of these; where the kernel has no cookies, each has a program. Where something is: in which word of
 * rt_python.registers, and what is added.
 */
struct rt_python_site {
	__u64 opcodes; /* a byte for each that is right, the others as one of these */
	__s32 frame_add, instruction_add, tstate_add;
	__s32 flag_add; /* RT_PYTHON_COMPARED: the bits that count */
	__s32 frees;    /* how far from this place the one is where code objects are freed; 0: it is not known */
	__u8 frame, instruction, tstate, flag;
	__u32 flags; /* enum rt_python_flag */
	__u16 version_low, interp_offset, version_offset, code_version, tracing_offset, recursion_offset, tstate_copy;
	__u8 kind; /* enum python_site_kind */
	__u8 pad[5];
};
ABI_ASSERT_SIZE(struct rt_python_site, 56);

#define RT_PYTHON_REGISTERS 32 /* a power of two; of the registers, those that the places of the file need */
#define RT_PYTHON_NO_WORD   0  /* which of them is 0 */

enum rt_python_kind {
	RT_PYTHON_START = 1,
	RT_PYTHON_RESUME,
	RT_PYTHON_THROW,
	RT_PYTHON_RETURN,
	RT_PYTHON_YIELD,
	RT_PYTHON_UNWIND,
	RT_PYTHON_RAISE,
	RT_PYTHON_LINE
};

#define RT_PYTHON_LINE_BYTES 64 /* of a line table, read at once */
#define RT_PYTHON_CODE_WORDS 24 /* of a code object, read at once */

/*
 * A short name in ASCII is read at once: the last four words of the string's head, with its length and, two words
 * later, its state, and the characters. CPython (Include/cpython/unicodeobject.h, PyASCIIObject) has 32 bytes from the
 * length to the characters until 3.11, and 24 later.
 */
#define RT_PYTHON_HEAD    4  /* words */
#define RT_PYTHON_SHORT   64 /* bytes of characters that are read with them */
#define RT_PYTHON_UNKNOWN 2  /* the head is another one */

/*
 * A short name that was read, by where its function's code is. It is right until a code object is freed whose address
 * shares a count of frees with that of this one.
 */
struct rt_python_known {
	__u32 version; /* odd while it is written */
	__u32 busy;    /* rt_take() */
	__u32 field;   /* of which string: its offset in the code object; RT_PYTHON_CALL: rt_calls.bpf.c's */
	__u32 frees;   /* how many there had been */
	__u64 space;   /* the address space's number, which no other one has or will have */
	__u64 place, code;
	__u64 is_noted;
	__u64 text[RT_PYTHON_SHORT / 8];
};
ABI_ASSERT_SIZE(struct rt_python_known, 112);

#define RT_PYTHON_KNOWN 8192 /* of them */
#define RT_PYTHON_CALL	0xffff
#define RT_PYTHON_FREES 4096 /* counts */

/* rt_python_compare()'s result. */
enum rt_python_comparison { RT_PYTHON_DIFFERS, RT_PYTHON_EQUAL, RT_PYTHON_LONG /* not known */ };

struct rt_python {
	__u64 frame, instruction, flag;
	__u64 opcodes; /* of lines, as struct rt_python_site's; and so are the next two */
	__u32 site, flags;
	__u32 version, frame_code, frame_lasti, frame_stack;
	__u32 code_tag, code_bytecode, code_name, code_filename;
	__u32 code_firstlineno, exception_offset, unicode_length, unicode_state;
	__u32 unicode_kind_shift, unicode_compact_shift, unicode_ascii_data, unicode_compact_data;
	__u32 code_linetable, bytes_size, bytes_data;
	__u32 frame_back, frame_locals, value_tag; /* of what reads the first variable */
	__u32 text_base;                           /* of a string: where what is read of it at once begins */
	__u32 text_length;                         /* which of the words read is the length; RT_PYTHON_UNKNOWN */
	__u32 code_names, tuple_items, code_kinds, cell_value; /* of rt_python_self_class() */
	/*
	 * Free-threaded 3.14 and later: which copy of the bytecode a frame has, and where the copies are, in a code
	 * object; else 0xffff.
	 */
	__u32 frame_copy, code_copies;
	/* The interpreter's own frames, which are no function's: they have this number there; 0xffff: it has none. */
	__u32 frame_owner, shim_owner;
	__u32 begins; /* of lines: the opcodes of RESUME and its kin, a byte each */
	__u32 lines;  /* which probe's */
	__u32 pad;
	__u64 pc;     /* the address of the breakpoint */
	__u64 frees;  /* that of the one where code objects are freed; 0: it is not told when */
	__u64 place;  /* what is at this address is of one function until its code object is freed: it, or in it */
	__u64 code;   /* 0: not read yet */
	__u64 position; /* 3.11 and later: the address of the instruction; before: f_lasti */
	__u32 kind;     /* enum rt_python_kind */
	__u32 at;       /* of rt_python_text(): in memory, so that the verifier does not track it */
	__u64 is_noted; /* the name that was compared last is one of those that are kept */
	/* Of rt_python_line(), for the same reason. */
	struct py_line line;
	__u64 table, table_size, offset;
	__u8 bytes[RT_PYTHON_LINE_BYTES];
	__u64 registers[RT_PYTHON_REGISTERS];
	__u64 head_of; /* the code object whose first words are in `head`; 0: none */
	__u64 head[RT_PYTHON_CODE_WORDS];
};
ABI_ASSERT_SIZE(struct rt_python, 808);

#define RT_PYTHON_WANTED 64   /* names that a script compares with; of more nothing is remembered */
#define RT_PYTHON_NAMES  4096 /* that are remembered; beyond, the one seen longest ago is forgotten */
#define RT_PYTHON_FILE   1    /* in the key of a name: it is a file's */

#define RT_PYTHON_TEXT 256 /* bytes of a name or a path, with its terminator */

#endif
