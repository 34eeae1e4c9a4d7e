// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * interpreter SECONDS: a toy interpreter, for tests/runtime/toy.t. It runs a program of four functions on two threads.
 * Calls within the language make no C frame; native code is called, and calls back, as in CPython:
 *
 *   main ─► outer ─► apply() in C ─► inner ─► leaf ─► burn() in C
 *
 * Its frames are a linked list of its own, from a list of threads in `toy_threads` (tests/runtime/toy/abi.h).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/toy/abi.h"

/* Code of a real interpreter's size: strata does not look into mappings that are too small for one. */
__asm__(".text\n.skip 512 << 10\n");

enum op { OP_LINE, OP_CALL, OP_NATIVE, OP_RETURN };

struct insn {
	uint8_t op, argument; /* a line, a function, a native function */
};

struct vm;

struct program {
	struct toy_function function;
	const struct insn *code;
};

struct vm {
	struct toy_thread thread;
	struct timespec until;
};

struct toy_thread *toy_threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int toy_run(struct vm *vm, unsigned int number);

#define DEPTH_MAX 64

/* What a run of the loop keeps of a function: its frame, and where it goes on. */
struct activation {
	struct toy_frame frame;
	const struct insn *next;
};

static int is_over(const struct vm *vm)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > vm->until.tv_sec || (now.tv_sec == vm->until.tv_sec && now.tv_nsec >= vm->until.tv_nsec);
}

__attribute__((noinline)) uint64_t burn(struct vm *vm)
{
	volatile uint64_t x = 1;
	int i;

	for (i = 0; i < 200000; i++)
		x = x * 31 + (uint64_t)(uintptr_t)vm;
	return x;
}

/* Calls back into the language. Not a tail call: its frame is to be seen. */
__attribute__((noinline)) int apply(struct vm *vm, unsigned int number)
{
	volatile int ret = toy_run(vm, number);

	return ret;
}

enum { MAIN, OUTER, INNER, LEAF, FUNCTIONS };
enum { NATIVE_APPLY_INNER, NATIVE_BURN };

static const struct insn codes[FUNCTIONS][8] = {
	[MAIN] = {{OP_LINE, 1}, {OP_LINE, 2}, {OP_CALL, OUTER}, {OP_RETURN, 0}},
	[OUTER] = {{OP_LINE, 1}, {OP_NATIVE, NATIVE_APPLY_INNER}, {OP_RETURN, 0}},
	[INNER] = {{OP_LINE, 3}, {OP_CALL, LEAF}, {OP_RETURN, 0}},
	[LEAF] = {{OP_LINE, 1}, {OP_NATIVE, NATIVE_BURN}, {OP_LINE, 2}, {OP_NATIVE, NATIVE_BURN}, {OP_RETURN, 0}},
};
static struct program programs[FUNCTIONS];

static void define(unsigned int number, const char *name, uint32_t size, int first_line)
{
	static const char file[] = "program.toy";

	programs[number] = (struct program){.function = {.name = (uintptr_t)name,
							 .file = (uintptr_t)file,
							 .name_size = size,
							 .file_size = sizeof(file) - 1,
							 .first_line = first_line},
					    .code = codes[number]};
}

static void enter(struct vm *vm, struct activation *at, unsigned int number, int is_entry)
{
	at->frame = (struct toy_frame){.caller = vm->thread.frame,
				       .function = (uintptr_t)&programs[number].function,
				       .is_entry = (uint32_t)is_entry};
	at->next = programs[number].code;
	/* Whole before it can be seen. */
	__atomic_store_n(&vm->thread.frame, (uintptr_t)&at->frame, __ATOMIC_RELEASE);
}

/* The loop: one run of it is a group of frames, whose first is the entry. */
__attribute__((noinline)) int toy_run(struct vm *vm, unsigned int number)
{
	struct activation stack[DEPTH_MAX];
	int depth = 0;

	enter(vm, &stack[0], number, 1);
	for (;;) {
		struct activation *at = &stack[depth];
		struct insn insn = *at->next++;

		switch (insn.op) {
		case OP_LINE:
			at->frame.position = insn.argument;
			break;
		case OP_CALL:
			if (depth + 1 == DEPTH_MAX)
				abort();
			enter(vm, &stack[++depth], insn.argument, 0);
			break;
		case OP_NATIVE:
			if (insn.argument == NATIVE_APPLY_INNER)
				apply(vm, INNER);
			else
				burn(vm);
			break;
		case OP_RETURN:
			__atomic_store_n(&vm->thread.frame, at->frame.caller, __ATOMIC_RELEASE);
			if (!depth--)
				return 0;
			break;
		}
	}
}

static void *run_thread(void *argument)
{
	struct vm *vm = argument;

	vm->thread.self = (uintptr_t)pthread_self();
	pthread_mutex_lock(&lock);
	vm->thread.next = (uintptr_t)toy_threads;
	__atomic_store_n(&toy_threads, &vm->thread, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	while (!is_over(vm))
		toy_run(vm, MAIN);
	return NULL;
}

int main(int argc, char **argv)
{
	struct vm vms[2] = {};
	pthread_t other;

	define(MAIN, "main", 4, 1);
	define(OUTER, "outer", 5, 10);
	define(INNER, "inner", 5, 20);
	define(LEAF, "leaf", 4, 30);
	clock_gettime(CLOCK_MONOTONIC, &vms[0].until);
	vms[0].until.tv_sec += argc > 1 ? atoi(argv[1]) : 2;
	vms[1].until = vms[0].until;
	if (pthread_create(&other, NULL, run_thread, &vms[1]))
		return 1;
	run_thread(&vms[0]);
	pthread_join(other, NULL);
	return 0;
}
