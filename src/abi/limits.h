/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits of the sampling engine, each in one place. Powers of two where an index is masked. */
#ifndef STRATA_ABI_LIMITS_H
#define STRATA_ABI_LIMITS_H

#define NATIVE_FRAMES_MAX 65536 /* native frames of one sample; beyond: LOSS_NATIVE_DEPTH */
#define SECOND_FRAMES_MAX 32768 /* frames of its second stack; beyond: LOSS_SECOND_DEPTH */
#define KERNEL_FRAMES_MAX 127   /* the kernel's own limit (kernel.perf_event_max_stack) */

/*
 * How long the walk of a sample may take, ns; beyond: LOSS_TIME_LIMIT. First in the interrupt (--max-sample-time
 * changes it), then in the thread's own context, where it delays nothing else.
 */
#define SAMPLE_TIME_NS  250000ull
#define TASK_TIME_NS    100000000ull
#define WALK_CODES_MAX  1024u /* new code objects that one sample sends; beyond, its time counts as over */
#define WALK_CUT_FRAMES 256u  /* a stack whose time is over is cut at a multiple of this; a power of two */

#define REGISTERS_MAX   32    /* general registers of a machine, by DWARF number */
#define SNAPSHOT_PAGES  64    /* pages of a stack copied for a late sample: 256 KiB */
#define SNAPSHOT_HEAD   48    /* of a larger stack: this many innermost pages; the others are outermost ones */
#define SNAPSHOT_WHOLE  16384 /* pages, 64 MiB: no stack is taken to be larger */
#define SNAPSHOT_HOLE   16    /* if the stack's end is not known: this many unreadable pages in a row are the end */
#define CODE_STRING_MAX 2048  /* bytes of each string of a code object */
#define CODE_TABLE_MAX  65536 /* bytes of a line table copied in the kernel; longer ones are read by user space */

#define SENT_SLOTS (1u << 18) /* stacks and code objects known to have been sent: 2 MiB */

#define UNWIND_PAGE_SHIFT   9          /* one entry of the page index covers 512 bytes of text */
#define UNWIND_PAGES_MAX    (1u << 21) /* entries of the page index: 1 GiB of text */
#define UNWIND_SLAB_ROWS    (1u << 19) /* rows of a slab: 2 MiB */
#define UNWIND_BLOCK_ROWS   (1u << 14) /* rows that are written at once: 64 KiB; those of a page lie in one block */
#define UNWIND_SLABS_MAX    32         /* a power of two */
#define UNWIND_RULES_MAX    65536      /* distinct rules over all files; the first is UNWIND_NO_RULE */
#define MAPPINGS_MAX        (1u << 17) /* executable mappings of all processes together */
#define FOUND_MAPPINGS      (1u << 15) /* a ring of those that the kernel part has found itself; a power of two */
#define FIND_MAPPINGS_MAX   256u       /* of one process, found by the kernel part itself */
#define FIND_VMAS_MAX       1024u      /* VMAs of all kinds that are read for that, in an interrupt */
#define FIND_VMA_BYTES      64u        /* of a VMA, read at once; they say whether it is executable */
#define FILES_MAX           16384      /* that the kernel part knows by key */
#define PROCESSES_MAX       65536
#define RUNTIME_LAYOUTS_MAX 64 /* builds of runtimes at a time */

#endif
