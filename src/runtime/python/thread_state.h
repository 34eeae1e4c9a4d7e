/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_state: where a CPython keeps the PyThreadState of the running thread.
 *
 *   python_thread_layers()    reads only the file, and says what each way of finding the state gives: a recipe, in
 *                             addresses of the file
 *   python_thread_resolve()   turns a recipe into a path for one live process: loads that begin with the thread pointer
 *   python_thread_verify()    compares what that path gives with the thread lists of the interpreters
 *
 * A path that was not verified must not be used. Nothing here keeps state; results are plain values. An elf_file is
 * used by one thread at a time.
 */
#ifndef STRATA_PYTHON_THREAD_STATE_H
#define STRATA_PYTHON_THREAD_STATE_H

#include "base/foreign.h"
#include "runtime/python/interpreter.h"

enum python_thread_kind {
	PYTHON_THREAD_NONE,
	PYTHON_THREAD_TLS_STATIC,  /* thread-local, `offset` bytes from the thread pointer */
	PYTHON_THREAD_TLS_GOT,     /* thread-local; the word at `address` is the offset from the thread pointer */
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
	bool stays;       /* thread-local ones: it is also valid while the thread has released the GIL */
};

/* The result of one layer, that is, of one way of finding the thread state. */
struct python_thread_layer {
	const char *source; /* static: "_Py_tss_tstate symbol", "_Py_tss_tstate code", "key code" or
			       "_Py_tss_gilstate code", "key table", "thread list" */
	bool found;
	char result[160];                   /* what was found, or why nothing was */
	struct python_thread_source answer; /* kind NONE unless found */
};

#define PYTHON_THREAD_LAYERS 5

/*
 * Tries every layer, best first. All are listed, whether they found something or not; the thread list is the last.
 * *count is at most `room` and PYTHON_THREAD_LAYERS; layers for which there is no room are not tried. Takes some
 * milliseconds, because it disassembles a few functions. 0 or -ENOMEM.
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
 * Follows the path for every thread in the interpreters' lists, and compares the result with the list. thread_id is
 * pthread_self(). On x86-64 with glibc and musl this is the thread pointer. `pointer_distance` is thread pointer -
 * pthread_self(), so 0 there. The process goes on running: a result counts as wrong only if, when both are read again,
 * the list still has that thread, and the result is still none of its thread states. 0: at least one thread agreed, and
 * none disagreed. -EAGAIN: none disagreed, but all were empty. -EINVAL and a diag: one disagreed, so the layer is
 * refused. -EFAULT: the lists could not be read.
 *
 * Up to 3.12, the standard library's module runs code in a sub-interpreter on the thread state that came with the
 * interpreter. Its thread_id is that of the thread that made the interpreter (_run_script() of
 * Modules/_xxsubinterpretersmodule.c). So any thread may be on such a thread state: that is not wrong, but proves
 * nothing.
 */
int python_thread_verify(const struct python_interpreter *interpreter, uint64_t bias,
			 const struct python_thread_memory *memory, const struct python_thread_path *path,
			 int64_t pointer_distance, struct python_thread_check *ret, struct diag *diag);

#endif
