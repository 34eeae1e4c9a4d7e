/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analyser: a process that works on the files of others, so that their bytes are not parsed, and cost no time, where
 * samples are taken in.
 *
 *                    question: what to do        ┌───────────┐
 *   ┌──────────┐     + memory for the answer     │ analyser  │   no capabilities, no files but these three,
 *   │  strata  │     + the file, its debug file  │ (process) │   confined: it can read, write, take memory,
 *   │          │ ──────────────────────────────► │           │   and nothing else
 *   └──────────┘ ◄────────────────────────────── └───────────┘
 *                    how long the answer is
 *
 * What crosses the boundary is in struct analyser_question and analyser_answer, one datagram each (SOCK_SEQPACKET), the
 * descriptors with the question (SCM_RIGHTS), and the bytes in the memory: a memfd of ANALYSER_ANSWER_MAX bytes
 * that strata made and sealed against another size. At first it holds the addresses that are asked for. strata copies
 * the answer's bytes out of it, and believes nothing: what they are is checked by who asked, as bytes of a file would
 * be (for code that is followed: derived_decode(); for names: file_names_add()).
 *
 * One question is under way at a time; the others wait here. Nothing here waits for the process but analyser_wait().
 * It is forked by the nursery of base/foreign when it is first needed. Who asks too much of it has a bound: beyond
 * ANALYSER_CPU_S of its time (or ANALYSER_WALL_S, if it sleeps or starves) it is killed, and that question has failed.
 * When it dies over a question by itself or by somebody's hand, or is stopped, that one is asked again, ANALYSER_TRIES
 * times in all.
 *
 * Not thread-safe.
 */
#ifndef STRATA_ENGINE_ANALYSER_H
#define STRATA_ENGINE_ANALYSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cache.h"
#include "base/foreign.h"

#define ANALYSER_CPU_S      2.0           /* a question's; the most code that is followed at once takes 1 s */
#define ANALYSER_WALL_S     20.0          /* the same, on a machine that is busy */
#define ANALYSER_MEMORY     (1024u << 20) /* address space; 4 MiB of code take some 200 MiB to follow */
#define ANALYSER_ANSWER_MAX (16u << 20)   /* bytes */
#define ANALYSER_TRIES      3
#define ANALYSER_ASKED_MAX  256 /* questions that wait */

enum analyser_ask {
	ANALYSER_CONFINE, /* the first answer, unasked: has it confined itself? */
	ANALYSER_FOLLOW,  /* machine code without unwind tables: unwind_follow() */
	ANALYSER_NAME,    /* names of addresses: file_names_write() */
	ANALYSER_MAP      /* the same by a perf map: file_names_write_map() */
};

struct analyser_question {
	uint64_t id;
	uint32_t ask;   /* enum analyser_ask */
	uint32_t count; /* of addresses, uint64_t each, in the memory */
};

/* The descriptors that come with it: the memory, the file, the debug file. */
#define ANALYSER_DESCRIPTORS 3

/* As it comes: nothing of it is checked yet. */
struct analyser_answer {
	uint64_t id;
	int32_t result; /* 0 or a negative errno */
	uint32_t size;  /* of the bytes */
	char name[CACHE_NAME_MAX + 1];
	char reserved[7];
};

struct analyser;

/* What became of a question. */
struct analysis {
	uint64_t id;
	int err;                       /* 0; -ETIME: it took too long; -ECHILD: the process ended; -ENOMEM and others */
	char name[CACHE_NAME_MAX + 1]; /* what the answer is called in the cache, as the process says */
	uint8_t *bytes;                /* malloc'd: who takes it frees it */
	size_t size;
};

/* What is asked. The analyser keeps the files open and a copy of the addresses. */
struct analyser_request {
	enum analyser_ask ask;
	struct foreign_file *file;
	struct foreign_file *debug_file; /* may be NULL */
	const uint64_t *addresses;
	size_t count; /* FILE_NAMES_AT_ONCE at most */
};

struct analyser_options {
	void (*life)(int socket); /* analyser_run() */
	double cpu_s, wall_s;     /* ANALYSER_CPU_S, ANALYSER_WALL_S */
};

/* `files` forks the process; borrowed. `options`: for tests; NULL: as said above. NULL when memory is short. */
struct analyser *analyser_create(struct foreign_files *files, const struct analyser_options *options);
void analyser_destroy(struct analyser *analyser); /* may be NULL; kills the process */

/* To be polled for input, always the same; then, and at least ten times a second, analyser_tend(). */
int analyser_fd(const struct analyser *analyser);

/*
 * Asks. The id, or 0 when it cannot be asked: too many wait, memory is short, or there is no process that is confined
 * (analyser_refusal()); then it is for the caller to do it, or not.
 */
uint64_t analyser_ask(struct analyser *analyser, const struct analyser_request *request);

/* Looks after the process; calls take() for each question that is answered or has failed, who frees its bytes. */
void analyser_tend(struct analyser *analyser, void (*take)(void *context, struct analysis *analysis), void *context);

/* Waits until a question may be done, for so long at most; then analyser_tend() tells. False: nothing is under way. */
bool analyser_wait(struct analyser *analyser, int ms);

/* Why there is no process: 0, or the negative errno of what could not be done. */
int analyser_refusal(const struct analyser *analyser);

/* CPU time that its processes have used, in seconds. */
double analyser_cpu_s(const struct analyser *analyser);

/* The process's life: confines itself (base/confine.h), and answers until the socket ends. */
void analyser_run(int socket);

#endif
