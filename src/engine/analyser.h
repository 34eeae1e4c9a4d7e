/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analyser: a process that parses other people's files, so that the process that takes in samples neither parses their
 * bytes nor spends time on them.
 *
 *                    question: what to do        ┌───────────┐
 *   ┌──────────┐     + memory for the answer     │ analyser  │   no capabilities, no files but these three,
 *   │  strata  │     + the file, its debug file  │ (process) │   confined: it can read, write, take memory,
 *   │          │ ──────────────────────────────► │           │   and nothing else
 *   └──────────┘ ◄────────────────────────────── └───────────┘
 *                    how long the answer is
 *
 * Three things cross the boundary: struct analyser_question and struct analyser_answer, one datagram each
 * (SOCK_SEQPACKET); the descriptors, which come with the question (SCM_RIGHTS); and the bytes in the memory, a memfd of
 * ANALYSER_ANSWER_MAX bytes, or as many as `ulimit -f` allows, that strata has created and sealed against resizing. At
 * first it holds the question's own bytes, such as the addresses that are asked for. strata copies the answer's bytes
 * out of it and trusts nothing: the asker checks them as it would check the bytes of a file (for rows:
 * file_rows_read(); for code that is followed: derived_decode(); for names: file_names_add(); for runtimes:
 * cache_read(), and what decodes the entry).
 *
 * The process works on one question at a time; the others wait here. Only analyser_wait() and analyser_consult() wait
 * for the process. It is forked by the nursery of base/foreign when it is first needed.
 *
 * If what is asked is kept on disk for other runs, each question has a process of its own (analyser_options.once): one
 * that a file has taken over cannot lie about the next file. It gets a snapshot of the file, which the asker gets, too:
 * so the digest under which the answer is kept is that of the bytes that were read.
 *
 * A question that takes more than ANALYSER_CPU_S of its time (or ANALYSER_WALL_S, if it sleeps or gets no CPU) fails,
 * and the process is killed. If the process crashes, or is killed or stopped by somebody, the question is asked again,
 * ANALYSER_TRIES times in all.
 *
 * Not thread-safe.
 */
#ifndef STRATA_ENGINE_ANALYSER_H
#define STRATA_ENGINE_ANALYSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/foreign.h"

#define ANALYSER_CPU_S      2.0           /* per question; following the largest amount of code takes 1 s */
#define ANALYSER_WALL_S     20.0          /* the same, on a machine that is busy */
#define ANALYSER_MEMORY     (1024u << 20) /* address space; 4 MiB of code take some 200 MiB to follow */
#define ANALYSER_ANSWER_MAX (40u << 20)   /* bytes; UNWIND_ROWS_MAX rows take 32 MiB */
#define ANALYSER_TRIES      3
#define ANALYSER_ASKED_MAX  256 /* questions that wait */

enum analyser_ask {
	ANALYSER_CONFINE, /* the first answer, without a question: has it confined itself? */
	ANALYSER_ROWS,    /* unwind rows: file_rows_write() */
	ANALYSER_FOLLOW,  /* machine code without unwind tables: unwind_follow() */
	ANALYSER_NAME,    /* names of addresses: file_names_write() */
	ANALYSER_MAP,     /* the same by a perf map: file_names_write_map() */
	ANALYSER_LINES,   /* source lines, and inlined functions: file_lines_write() */
	/* What is in a runtime's machine code: runtime_answer(), as cache_write() writes it. */
	ANALYSER_RECOGNISE,
	ANALYSER_ROLES,
	ANALYSER_AID,
	ANALYSER_PROBES
};

struct analyser_question {
	uint64_t id;
	uint32_t ask;  /* enum analyser_ask */
	uint32_t size; /* of the question's own bytes, in the memory */
};

/* The descriptors that come with a question: the memory, the file, the debug file. */
#define ANALYSER_DESCRIPTORS 3

/* As received: nothing in it has been checked yet. */
struct analyser_answer {
	uint64_t id;
	int32_t result; /* 0 or a negative errno */
	uint32_t size;  /* of the bytes */
};

struct analyser;

/* The result of a question. */
struct analysis {
	uint64_t id;
	int err;        /* 0; -ETIME: it took too long; -ECHILD: the process ended; -EAGAIN: none could be
			 * started now; -ENOMEM and others */
	uint8_t *bytes; /* malloc'd; who takes the analysis must free it */
	size_t size;
	/*
	 * What the process has read, if answers are kept (analyser_options.once); whoever takes the analysis closes it.
	 * NULL: it read the file itself, which is too large for a snapshot.
	 */
	struct foreign_file *snapshot;
};

/* What is asked. The analyser keeps the files open and a copy of the bytes. */
struct analyser_request {
	enum analyser_ask ask;
	struct foreign_file *file;
	struct foreign_file *debug_file; /* may be NULL */
	const void *input; /* the question's own bytes; for names: addresses, FILE_NAMES_AT_ONCE at most */
	size_t input_size; /* ANALYSER_ANSWER_MAX at most */
};

struct analyser_options {
	void (*life)(int socket); /* analyser_run() */
	double cpu_s, wall_s;     /* ANALYSER_CPU_S, ANALYSER_WALL_S */
	bool once;                /* a process gets a snapshot of the file, and ends with its answer */
};

/* With `once`, and else as said above. */
extern const struct analyser_options analyser_once;

/* `files` forks the process; borrowed. `options`: for tests; NULL: as said above. NULL when memory is short. */
struct analyser *analyser_create(struct foreign_files *files, const struct analyser_options *options);
void analyser_destroy(struct analyser *analyser); /* may be NULL; kills the process */

/*
 * The descriptor to be polled for input; it never changes. Call analyser_tend() when it is readable, and at least ten
 * times a second.
 */
int analyser_fd(const struct analyser *analyser);

/*
 * Asks a question. Returns its id, or 0 if it cannot be asked: too many are waiting, memory is short, or there is no
 * confined process (analyser_refusal()). Then the caller may do the work itself.
 */
uint64_t analyser_ask(struct analyser *analyser, const struct analyser_request *request);

/* Serves the process, and calls take() for each question that was answered or has failed. take() owns its bytes. */
void analyser_tend(struct analyser *analyser, void (*take)(void *context, struct analysis *analysis), void *context);

/* Waits at most `ms` until a question may be done; then call analyser_tend(). False: no question is under way. */
bool analyser_wait(struct analyser *analyser, int ms);

/*
 * Asks, and waits for the answer; meanwhile() is called every few milliseconds and may be NULL. 0 and *ret, -ENOSYS if
 * there is no process, or why there is no answer. Only for an analyser that is asked in no other way.
 */
int analyser_consult(struct analyser *analyser, const struct analyser_request *request,
		     void (*meanwhile)(void *context), void *context, struct analysis *ret);

/* Why there is no process: 0, or a negative errno. */
int analyser_refusal(const struct analyser *analyser);

/*
 * CPU time that its processes have used, in seconds. It never goes back: of a process that has ended by itself, it is
 * what was read last, here or in analyser_tend().
 */
double analyser_cpu_s(struct analyser *analyser);

/* For foreign_files_prepare(): loads what each process needs. Optional; it takes some ms, and saves them in each. */
void analyser_prepare(void);

/* The main function of the process: confines itself (base/confine.h), and answers until the socket is closed. */
void analyser_run(int socket);

#endif
