/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_sites: where the functions of a CPython are entered and left, in the machine code of its interpreter loop.
 * Works without static markers and without debug information.
 *
 * 3.11 and later. The loop jumps from one bytecode instruction to the next through a table, `opcode_targets`: 256
 * addresses in the loop, at an address that appears in the loop's own code. So it is known which code executes an
 * instruction (its handler). The instructions by which functions begin and end have handlers of their own:
 *
 *   start, resume   RESUME, RESUME_CHECK, INSTRUMENTED_RESUME, by their operand       (3.11: RESUME_QUICK)
 *   throw           the loop's C function, called with `throwflag`
 *   return          RETURN_VALUE, RETURN_CONST and their INSTRUMENTED forms
 *   yield           YIELD_VALUE, INSTRUMENTED_YIELD_VALUE
 *   unwind          the place where the loop gives a level of recursion back (adds 1 to
 *                   tstate->(py_)recursion_remaining) and that is not part of a handler: direct jumps from the
 *                   beginning of the loop reach it
 *
 * Each handler stores the instruction that it executes in frame->prev_instr or instr_ptr: `mov [FRAME + n], NEXT`. The
 * first such store of each handler says where frame and instruction are when it begins: in which register, or in which
 * local variable of the loop. All must agree. A handler may use another register if that is a copy, which every way to
 * every jump to what is computed has made (gcc -Os).
 *
 * 3.6 to 3.10. A function is entered where the loop's C function writes tstate->frame = f, and left where it writes
 * tstate->frame = f->f_back.
 *
 * Where the breakpoint is put. Not on the first instruction of the handler, but on the first one after it, on a
 * straight line, that the kernel emulates (arch/spot.h says what that saves), if the frame and the instruction are
 * still known there. Other code may jump into this line. So at each hit the program checks that the opcode in memory is
 * one of the handler's. The opcode also tells RESUME_CHECK, which continues in RESUME's handler, from RESUME. While
 * lines are traced, INSTRUMENTED_LINE replaces other instructions in memory, which are executed after it; 3.11 traces
 * RESUME_QUICK as RESUME.
 *
 * Sources: Python/ceval.c, ceval_macros.h, bytecodes.c and Python/generated_cases.c.h of v3.6.15 to v3.15.0;
 * Include/opcode.h, opcode_ids.h (probe_opcodes.def).
 *
 * Of 3.14 and later each handler may be a function, which calls the next one last (clang's tail calls). Then places of
 * `unwind` are what the loop's C function reaches by direct jumps and calls. No direct jump may leave the functions
 * that are known, and no others of them may give a level of recursion back than these and those of the instructions
 * that end frames.
 *
 * Free-threaded 3.14 and later: each thread may have its own copy of a function's bytecode. RESUME in another one's
 * goes on in the thread's own, where it is executed again.
 *
 * A loop of another shape (built without computed goto, for debugging) is refused, with the reason: either all sites
 * are found, or none is used.
 */
#ifndef STRATA_PYTHON_PROBE_SITES_H
#define STRATA_PYTHON_PROBE_SITES_H

#include "base/diag.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "runtime/python/interpreter.h"

enum python_place_kind {
	PYTHON_NOWHERE,
	PYTHON_IN_REGISTER, /* register + add */
	PYTHON_ON_STACK     /* the word at register + add */
};

struct python_place {
	uint8_t kind; /* enum python_place_kind */
	uint8_t reg;  /* DWARF's number */
	int32_t add;
};

enum python_site_kind {
	PYTHON_SITE_RESUME, /* 3.11+: start or resume, by the instruction's operand */
	PYTHON_SITE_THROW,  /* 3.11+: throw, if the register `flag` is not 0 */
	PYTHON_SITE_RETURN,
	PYTHON_SITE_YIELD,
	PYTHON_SITE_UNWIND,
	PYTHON_SITE_CALL,  /* up to 3.10: start or resume, by f_lasti; throw, if `flag` is not 0 */
	PYTHON_SITE_LEAVE, /* up to 3.10: return, yield or unwind, by the thread state and the frame */
	PYTHON_SITE_RAISE, /* an exception comes to a function */
	PYTHON_SITE_JIT,   /* 3.13+: ENTER_EXECUTOR, which goes on in what the JIT has compiled, without the loop;
			      JUMP_BACKWARD_JIT, which counts until it compiles */
	/* Those of `lines` (probe_lines.c), by what the instruction does. */
	PYTHON_SITE_LINE,
	PYTHON_SITE_LINE_BEGIN, /* RESUME and its kin */
	PYTHON_SITE_LINE_END,   /* a return or a yield */
	PYTHON_SITE_LINE_PART,  /* begins no line: END_FOR, END_SEND, END_ASYNC_FOR */
	PYTHON_SITE_LINE_HEAD,  /* before the first RESUME: MAKE_CELL, COPY_FREE_VARS */
	PYTHON_SITE_LINE_MADE,  /* RETURN_GENERATOR: likewise, and it ends the frame */
	PYTHON_SITE_LINE_POP,   /* POP_TOP: behind RETURN_GENERATOR likewise */
	/* Up to 3.10. */
	PYTHON_SITE_LINE_JUMP, /* JUMP_ABSOLUTE */
	PYTHON_SITE_LINE_MORE, /* EXTENDED_ARG */
	PYTHON_SITE_LINE_RAISE,     /* 3.9: RERAISE, RAISE_VARARGS: what follows in the frame handles an exception */
	PYTHON_SITE_LINE_MAY_RAISE, /* 3.9: END_ASYNC_FOR: likewise, if it is not right behind */
	PYTHON_SITE_LINE_JOINED, /* 3.11, 3.12: the second one of two instructions that are executed as one */
	PYTHON_SITE_LINE_TRACED, /* 3.11: DO_TRACING: while lines are traced, before each instruction */
	PYTHON_SITE_LINE_YIELD,  /* 3.12: a yield; of others PYTHON_SITE_LINE_END */
	PYTHON_SITE_FREES,       /* no event: a code object is freed, `frame` */
	PYTHON_SITE_LAST = PYTHON_SITE_FREES
};

#define PYTHON_SITE_ANY     255 /* of an opcode: may stand in memory in place of any other */
#define PYTHON_SITE_NONE    254 /* of an opcode: its code gives a level of recursion back, but no function ends */
#define PYTHON_SITE_OPCODES 8

struct python_site {
	uint64_t vaddr;   /* of the breakpoint */
	uint64_t handler; /* where the line begins that leads there */
	uint8_t kind;     /* enum python_site_kind */
	bool emulated;
	uint8_t opcode_count;
	uint8_t opcodes[PYTHON_SITE_OPCODES]; /* at a hit, memory must have one of these; none: not checked */
	struct python_place frame;
	/*
	 * Where the address of the bytecode instruction is. PYTHON_NOWHERE: it is what the frame says plus
	 * instruction.add.
	 */
	struct python_place instruction;
	struct python_place tstate;
	struct python_place flag;
	/*
	 * RESUME and INSTRUMENTED_RESUME execute the instruction again if two versions differ: what the interpreter (or
	 * thread state) instruments, and what the code object was instrumented for.
	 */
	bool again; /* of `lines`: other code leads to the breakpoint, so the opcode has to be checked */
	uint16_t interp_offset;  /* of tstate->interp; PY_NO_OFFSET: the version is in the thread state */
	uint16_t version_offset; /* there */
	uint16_t code_offset;    /* in the code object */
	uint16_t version_low;    /* a mask of bits that are not compared */
	uint16_t
		tracing_offset; /* in the thread state: while it is not 0, nothing is executed again; or PY_NO_OFFSET */
	/*
	 * Free-threaded 3.14 and later: in the thread state, which copy of bytecode it executes. RESUME in another
	 * one's is executed again, too. Else PY_NO_OFFSET.
	 */
	uint16_t copy_offset;
	/* `again`: on the branch right behind the comparison, so the CPU's flags say if the versions are equal. */
	bool is_compared;
	/* PYTHON_SITE_UNWIND: tstate's recursion count; after it was given back? */
	uint16_t recursion_offset;
	bool after;
};

typedef VEC(struct python_site) python_site_list;

/* Why lines cannot be told by the code of all instructions. */
enum python_no_lines { PYTHON_LINES_ARE_THERE, PYTHON_LINES_OF_VERSION, PYTHON_LINES_OF_BUILD };

struct python_sites {
	python_site_list at; /* by address */
	/*
	 * Where the loop calls PyTraceBack_Here(): an exception was raised in a function, or comes to it from one that
	 * it called. None: not found.
	 */
	python_site_list raises;
	/*
	 * Hits here say that the JIT is on. They are no events of functions; but while it is on some events are not
	 * seen.
	 */
	python_site_list jits;
	/*
	 * The code of each instruction of Python's, where lines can be told by it, by address; of two at one address
	 * the second one is PYTHON_SITE_LINE_JOINED. Empty: `no_lines` says why.
	 */
	python_site_list lines;
	uint8_t no_lines; /* enum python_no_lines */
	/*
	 * Where all code objects are freed: until then what is at the address of one stays as it is. Its vaddr is 0:
	 * that cannot be told.
	 */
	struct python_site frees;
	uint64_t table;    /* 3.11+: vaddr of opcode_targets */
	uint32_t handlers; /* how many handlers agree on where the frame is */
	uint64_t entry;    /* the loop's C function */
	bool jit;          /* there is a second table, for a JIT that records traces */
};

/*
 * Finds all sites of function-entry and function-return. 0, and the caller releases *ret; or a negative errno and a
 * diag that says why (-ENOTSUP: the loop of this build is not understood). Slow: 10 ms.
 */
int python_sites_find(const struct elf_file *elf, const struct python_interpreter *interpreter,
		      const struct python_range *ranges, size_t range_count, struct python_sites *ret,
		      struct diag *diag);
void python_sites_deinit(struct python_sites *sites);

bool python_site_is_entry(const struct python_site *site);
/* The opcodes of RESUME and its kin in this minor version, a byte each, up to four; repeated if there are less. */
uint32_t python_line_begins(uint8_t minor);
/* The kind of a site, as one word: "resume" ... */
const char *python_site_name(const struct python_site *site);
/*
 * A place as text, in that machine's syntax: "%rbp", "[%rsp+8]"; "frame-2": what the frame says; "" for PYTHON_NOWHERE.
 */
void python_place_describe(uint16_t machine, const struct python_place *place, char *ret, size_t size);

#endif
