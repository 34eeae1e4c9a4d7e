/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_decoder: what does this function return, or pass to pthread_getspecific()? For src/runtime/python/ only.
 *
 * It is a small abstract interpreter for machine code. What a register holds is unknown, or it is a chain
 *
 *     p = base + offset[0] (+ thread pointer)
 *     p = *p + offset[1] (+ thread pointer)        once for each load
 *     ...
 *
 * This covers constants (no base, no loads), words of memory, thread-local variables of every access model, and the
 * entries of libc's key tables. Any other value is unknown; nothing is guessed. Where the condition of a branch is
 * unknown, both ways are followed, within a budget.
 *
 * Bytes of code and data come from an image: a file (key_file_image(): relocations say what the GOT will hold, and
 * writable data is unknown) or a live process (everything at a constant address is known).
 */
#ifndef STRATA_PYTHON_KEY_DECODER_H
#define STRATA_PYTHON_KEY_DECODER_H

#include "arch/key.h"
#include "elf/elf_file.h"

enum key_callee {
	KEY_CALLEE_OTHER,
	KEY_CALLEE_GET_POINTER, /* PyThread_tss_get(Py_tss_t *) */
	KEY_CALLEE_GET_VALUE,   /* pthread_getspecific(key), PyThread_get_key_value(key) */
	KEY_CALLEE_TLS_ADDRESS, /* __tls_get_addr(index) */
	KEY_CALLEE_OPAQUE,      /* returns something, and is not worth looking at */
	KEY_CALLEE_STOP         /* does not return */
};

/* The kind of a function, by its name. */
enum key_callee key_callee_of(const char *name);

/* Where code and data come from. */
struct key_image {
	/* Copies up to `size` bytes of code at an address; returns how many. */
	size_t (*code)(void *context, uint64_t address, uint8_t *buffer, size_t size);
	/*
	 * The `width` bytes at an address, as a value. If they are not known the value is not changed, and stays a
	 * load.
	 */
	void (*load)(void *context, uint64_t address, unsigned int width, struct key_value *ret);
	/* The bounds of the function around an address; false when not known. May be NULL. */
	bool (*function)(void *context, uint64_t address, uint64_t *start, uint64_t *end);
	/* What is known of a function by its address. May be NULL. */
	enum key_callee (*callee)(void *context, uint64_t address);
	void *context;
};

#define KEY_ANSWERS 8

/* The distinct answers of one evaluation. `count` may be more than KEY_ANSWERS; the rest is not kept. */
struct key_answers {
	struct key_value at[KEY_ANSWERS];
	size_t count;
	size_t unknown; /* how often the value was not known */
};

struct key_evaluation {
	struct key_answers keys;    /* addresses of 32-bit pthread keys */
	struct key_answers returns; /* values returned, 0 not counted */
	bool exhausted;             /* the budget was used up: there may be more answers */
};

#define KEY_ARGUMENT_NONE UINT64_MAX

/*
 * Evaluates the function at an address, called with this first argument (KEY_ARGUMENT_NONE: unknown). `descriptor`: it
 * is the function of a TLS descriptor, which on x86-64 takes its argument elsewhere (psABI; "TLS descriptors for x86",
 * A. Oliva). 0; -ENOTSUP for another machine; -ENOMEM.
 */
int key_evaluate(uint16_t machine, const struct key_image *image, uint64_t address, uint64_t argument, bool descriptor,
		 struct key_evaluation *ret);

/* A file as an image. Borrows the elf_file. */
struct key_file;
int key_file_create(const struct elf_file *elf, struct key_file **ret);
void key_file_destroy(struct key_file *file);
struct key_image key_file_image(struct key_file *file);

/* Visits the relocations for thread-local storage. Not 0: stop, and return that. */
struct key_tls_relocation {
	enum { KEY_TLS_OFFSET, KEY_TLS_MODULE, KEY_TLS_DESCRIPTOR } kind;
	uint64_t slot;
	int64_t addend;
	const char *symbol; /* "" for the module's own block */
};
int key_file_tls(const struct key_file *file, int (*visit)(void *context, const struct key_tls_relocation *relocation),
		 void *context);

#endif
