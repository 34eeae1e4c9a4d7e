/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_state: where a CPython keeps the PyThreadState of the running thread.
 *
 * python_thread_layers() reads the file only and tells what each way of finding it gives. What it gives is a recipe in
 * the file's own addresses; python_thread_resolve() turns it, for one live process, into a path of loads from the
 * thread pointer, and python_thread_verify() holds that path against the interpreters' thread lists. A path that was
 * not verified is not to be used.
 *
 * Nothing here keeps state; results are plain values. One elf_file is used by one thread at a time.
 */
#ifndef STRATA_PYTHON_THREAD_STATE_H
#define STRATA_PYTHON_THREAD_STATE_H

#include "base/foreign.h"
#include "runtime/python/interpreter.h"

enum python_thread_kind {
	PYTHON_THREAD_NONE,
	PYTHON_THREAD_TLS_STATIC,  /* thread-local, `offset` bytes from the thread pointer */
	PYTHON_THREAD_TLS_GOT,     /* thread-local; the word at `address` is its offset from the thread pointer */
	PYTHON_THREAD_TLS_DYNAMIC, /* thread-local; at `address` the words {module, offset} for __tls_get_addr() */
	PYTHON_THREAD_TLS_DESC,    /* thread-local; at `address` the words {function, argument} of a TLS descriptor */
	PYTHON_THREAD_KEY,         /* the 32-bit pthread_key_t is at `address` */
	PYTHON_THREAD_LIST         /* the interpreters' lists of threads: needs no recipe, and no path */
};

struct python_thread_source {
	enum python_thread_kind kind;
	int64_t offset;   /* TLS_STATIC; TLS_GOT, TLS_DYNAMIC and TLS_DESC: to add to what the words give */
	uint64_t address; /* vaddr */
	uint64_t created; /* KEY: vaddr of an int that is not 0 once the key was created; 0: there is none */
	bool stays;       /* of thread-local ones: it is told while the thread has released the GIL, too */
};

/* What one layer gave. */
struct python_thread_layer {
	const char *source; /* static: "_Py_tss_tstate symbol", "_Py_tss_tstate code", "key code" or
			       "_Py_tss_gilstate code", "key table", "thread list" */
	bool found;
	char result[160];                   /* what was found, or why nothing was */
	struct python_thread_source answer; /* kind NONE unless found */
};

#define PYTHON_THREAD_LAYERS 5

/*
 * Tries every layer, best first: all are listed, found or not, the thread list last. *count is at most `room` and
 * PYTHON_THREAD_LAYERS; layers that there is no room for are not tried. Takes some milliseconds (disassembles a handful
 * of functions). 0 or -ENOMEM.
 */
int python_thread_layers(const struct elf_file *elf, const struct python_interpreter *interpreter,
			 struct python_thread_layer *layers, size_t room, size_t *count);

/* A live process, or an image of one. */
struct python_thread_memory {
	/* Reads `size` bytes at an address of the process: 0, or a negative errno. */
	int (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/* The address in the process of the function that a library of it exports: 0 or -ENOENT. */
	int (*find_function)(void *context, const char *name, uint64_t *ret);
	void *context;
};

/* The memory of a process by pid, through /proc: open, use, close. -ESRCH, -EACCES or -ENOMEM, with a diag. */
int python_thread_memory_open(struct foreign_files *files, int pid, struct python_thread_memory *ret,
			      struct diag *diag);
void python_thread_memory_close(struct python_thread_memory *memory);

/* value = thread pointer; `count` times: value = the word at value + offset[i]. The last value is the thread state. */
#define PYTHON_THREAD_LOADS 4
struct python_thread_path {
	uint32_t count;
	int64_t offset[PYTHON_THREAD_LOADS];
};

/*
 * Turns a recipe into a path. `bias`: address in the process minus vaddr of the interpreter's file. How libc keeps its
 * keys and how a module's thread-local block is found is read from the code of pthread_getspecific(), __tls_get_addr()
 * and the descriptor's function in the process itself. -ENOENT and a diag when that code was not understood, -EFAULT
 * when memory could not be read, -EAGAIN when the interpreter has not created its key yet.
 */
int python_thread_resolve(uint16_t machine, const struct python_thread_source *source, uint64_t bias,
			  const struct python_thread_memory *memory, struct python_thread_path *ret, struct diag *diag);

/* Follows a path. 0 and *ret, which is 0 when the thread has none; -EFAULT. */
int python_thread_read(const struct python_thread_path *path, const struct python_thread_memory *memory,
		       uint64_t thread_pointer, uint64_t *ret);

struct python_thread_check {
	size_t threads;   /* thread states whose thread was asked */
	size_t agreed;    /* the answer is a thread state of that thread */
	size_t foreign;   /* the answer is a thread state of a sub-interpreter that another thread made: see below */
	size_t empty;     /* no answer: the GIL is released (thread-local), or another interpreter's thread (key) */
	size_t disagreed; /* any other answer */
};

/*
 * Asks every thread of the interpreters' lists (thread_id is pthread_self(), which is the thread pointer on x86-64 for
 * glibc and musl; `pointer_distance` is thread pointer - pthread_self(), 0 there). The process runs meanwhile: an
 * answer counts as wrong only when the list still has that thread, and the answer is still not among its thread states,
 * when both are read again. 0 when at least one thread agreed and none disagreed; -EAGAIN when none disagreed, but all
 * were empty; -EINVAL and a diag when one disagreed: the layer is refused; -EFAULT when the lists could not be read.
 *
 * Up to 3.12, a thread that runs code in a sub-interpreter of the standard library's module does so on the thread state
 * that came with the interpreter, whose thread_id is that of the thread that made it (_run_script() of
 * Modules/_xxsubinterpretersmodule.c). So any thread may rightly be on such a thread state, but it proves nothing.
 */
int python_thread_verify(const struct python_interpreter *interpreter, uint64_t bias,
			 const struct python_thread_memory *memory, const struct python_thread_path *path,
			 int64_t pointer_distance, struct python_thread_check *ret, struct diag *diag);

#endif
