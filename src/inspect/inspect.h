/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inspect: how strata recognises one file, or one running process. For each layer: what was found, by which rule,
 * where, and what it cost. It uses the same code as record, so its answer is what a recording does.
 *
 * A layer that finds nothing is no error: the others are filled in, and the layer says why. Addresses are ELF vaddrs;
 * in a process, add `bias`. The process is neither stopped nor changed.
 */
#ifndef STRATA_INSPECT_INSPECT_H
#define STRATA_INSPECT_INSPECT_H

#include <stdio.h>

#include "base/strings.h"
#include "base/vec.h"
#include "runtime/python/cache.h"
#include "runtime/python/event_sites.h"
#include "runtime/python/probe_sites.h"
#include "unwind/code_rules.h"

enum inspect_python {
	INSPECT_NO_PYTHON,
	INSPECT_PYTHON,
	INSPECT_PYTHON_UNKNOWN /* a CPython that strata cannot walk */
};

enum inspect_step {
	INSPECT_INTERPRETER,
	INSPECT_EVAL_LOOP,
	INSPECT_THREAD_STATE,
	INSPECT_VERIFICATION, /* of the thread state, in a live process */
	INSPECT_PROBES,       /* of Python's functions */
	INSPECT_MARKERS,
	INSPECT_UNWIND,
	INSPECT_SYMBOLS,
	INSPECT_STEPS
};

#define INSPECT_UNANSWERED "not all mapped files were looked at: the file system of some does not answer"

/* One way to the thread state. */
struct inspect_tried {
	const char *source;
	const char *result;  /* what was found, or why nothing was */
	const char *verdict; /* what comparing it with the process gave; NULL: not compared */
	bool found, verified;
	struct python_thread_source answer;
};

struct inspect_marker {
	const char *provider, *name;
	size_t sites;
	uint64_t first; /* site */
};

struct inspection {
	struct string_pool *strings; /* all texts of this struct */
	const char *file;
	int pid;                 /* 0: a file was inspected */
	unsigned int unanswered; /* mappings whose file system did not answer */
	const char *program;     /* of the process, /proc/PID/exe; may be the file itself */
	uint64_t bias;
	uint16_t machine_number;        /* EM_* */
	const char *machine, *build_id; /* build_id: hexadecimal, or NULL */
	enum inspect_python python;
	const char *problem; /* of INSPECT_PYTHON_UNKNOWN */
	struct python_interpreter interpreter;
	bool proved;        /* of an unknown version: the process has proved the layout */
	const char *doubts; /* why it has not; NULL: there was no process */
	bool tail_call;     /* the loop has a function for each instruction */
	struct {
		struct python_range *at;
		size_t count;
		bool cached;
		const char *problem;
	} eval;
	struct {
		VEC(struct inspect_tried) tried; /* best first */
		const char *source;              /* the one that would be used, NULL: none */
		bool verified;                   /* that one, in the live process */
		bool cached;
	} thread_state;
	struct {
		struct python_sites sites;
		const char *problem; /* why there are none */
	} probes;
	/* What else of Python can be traced, by enum python_event; those of functions are above. */
	struct {
		enum python_source source;
		python_event_sites sites; /* but for those of the loop */
		const char *problem;
	} events[PYTHON_EVENTS];
	VEC(struct inspect_marker) markers;
	struct {
		uint64_t rows, rules, bytes; /* bytes: of rows, page index and rules as the kernel gets them, at most */
		uint64_t text, covered;      /* bytes of executable segments */
		uint64_t fdes, skipped, unsupported;
		uint64_t derived;            /* of the covered bytes, those with rules derived from the code itself */
		double derived_ms;           /* what that took */
		bool cached;                 /* that */
		uint64_t functions, refused; /* of such code: with rules, and without */
		uint64_t refusals[CODE_REFUSALS]; /* by why */
		const char *problem;
	} unwind;
	const char *symbols;
	double ms[INSPECT_STEPS]; /* time of each step */
};

/* The caller destroys *ret. `cache` may be NULL, so may `files`. -ENOENT, -EACCES, -ENOEXEC (no ELF file), -ENOMEM ...
 * with a diag. */
int inspect_file(struct foreign_files *files, const char *path, struct python_cache *cache, struct inspection **ret,
		 struct diag *diag);

/* The interpreter's file of a process, or, where it has none, its program. */
int inspect_process(struct foreign_files *files, int pid, struct python_cache *cache, struct inspection **ret,
		    struct diag *diag);
void inspection_destroy(struct inspection *inspection);

/*
 * The time that it took to recognise the interpreter, its loop and the ways to the thread state, and to analyse machine
 * code without FDEs.
 */
double inspection_analysis_ms(const struct inspection *inspection);

/* A report to be read, or one JSON object (docs/OUTPUT.md). Errors of `out` stay in `out`. */
void inspection_write_text(FILE *out, const struct inspection *inspection, bool color);
void inspection_write_json(FILE *out, const struct inspection *inspection);

#endif
