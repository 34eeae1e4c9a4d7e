// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython, as the rest of strata sees it: a runtime with a second stack. interpreter.h recognises it, thread_state.h
 * finds the ways to a thread's frames, key_layout.h those through a libc's pthread keys; bpf/walk.h walks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/python/cache.h"
#include "runtime/python/decode.h"
#include "runtime/python/key_layout.h"
#include "runtime/python/lines.h"
#include "runtime/python/live.h"
#include "runtime/python/locals.h"
#include "runtime/python/tasks.h"
#include "runtime/python/thread_state.h"
#include "runtime/runtime.h"

struct facts {
	struct python_interpreter interpreter;
	struct python_process ways; /* to the thread state: its fields key, bound_at and tls_*; vaddrs */
};

/* Taken for the version of an interpreter that is not understood: its loop is looked for in every way. */
#define PYTHON_TO_COME 0x03ff

/*
 * How a libc keeps a thread's vector of blocks: the thread control block has its address in the second word. glibc's
 * dtv_t is { void *val; void *to_free; } (sysdeps/generic/dl-dtv.h), musl's an address (src/internal/pthread_impl.h).
 */
#define TLS_VECTOR       8
#define TLS_STRIDE_GLIBC 16
#define TLS_STRIDE_MUSL  8

static bool needs_glibc(const struct elf_file *elf)
{
	static const char name[] = "libc.so.6";
	struct elf_section names;

	return elf_file_section(elf, ".dynstr", &names) && names.bytes &&
	       memmem(names.bytes, names.size, name, sizeof(name));
}

/* Where a thread has its thread state, if some reads from the thread pointer find it; the walker checks what it reads.
 */
static void find_thread_state(struct facts *facts, const struct elf_file *elf, struct cache *entries)
{
	static const uint8_t kinds[] = {[PYTHON_THREAD_TLS_STATIC] = PY_TLS_STATIC,
					[PYTHON_THREAD_TLS_GOT] = PY_TLS_WORD,
					[PYTHON_THREAD_TLS_DYNAMIC] = PY_TLS_INDEX,
					[PYTHON_THREAD_TLS_DESC] = PY_TLS_DESC};
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	struct python_cache *cache = python_cache_share(entries);
	struct python_process *ways = &facts->ways;
	size_t count = 0, i;

	if (elf_file_machine(elf) != arch_here()->machine || !cache ||
	    python_cache_thread_layers(cache, elf, &facts->interpreter, layers, PYTHON_THREAD_LAYERS, &count, NULL))
		count = 0;
	for (i = 0; i < count; i++) {
		const struct python_thread_source *answer = &layers[i].answer;

		if (answer->kind == PYTHON_THREAD_KEY && !ways->key)
			ways->key = answer->address;
		if (answer->kind >= sizeof(kinds) || !kinds[answer->kind] || answer->offset < INT32_MIN ||
		    answer->offset > INT32_MAX)
			continue;
		/* Both variables are in one block: where the one is found the other one is. */
		if (answer->stays && ways->tls_kind == kinds[answer->kind] && ways->tls_slot == answer->address)
			ways->bound_at = (int32_t)(answer->offset - ways->tls_offset);
		if (answer->stays || ways->tls_kind)
			continue;
		ways->tls_kind = kinds[answer->kind];
		ways->tls_offset = (int32_t)answer->offset;
		ways->tls_slot = answer->address;
		ways->tls_vector = TLS_VECTOR;
		ways->tls_stride = needs_glibc(elf) ? TLS_STRIDE_GLIBC : TLS_STRIDE_MUSL;
	}
	python_cache_destroy(cache);
}

static int recognise(const struct elf_file *elf, struct cache *cache, struct runtime_file *ret, struct diag *diag)
{
	struct python_interpreter interpreter;
	struct facts *facts;
	int found = python_interpreter_recognise(elf, &interpreter, diag);

	if (!found)
		return 0;
	facts = calloc(1, sizeof(*facts));
	if (!facts)
		return diag_fail(diag, ENOMEM, "python.memory", "out of memory");
	ret->facts = facts;
	if (found < 0) {
		facts->interpreter.version = PYTHON_TO_COME;
		return found;
	}
	facts->interpreter = interpreter;
	find_thread_state(facts, elf, cache);
	memcpy(&ret->layout, &interpreter.layout, sizeof(ret->layout));
	ret->state = interpreter.interp_head;
	ret->version = interpreter.version;
	ret->to_prove = interpreter.to_prove;
	ret->needs_aid = facts->ways.key;
	ret->has_lock = !interpreter.free_threaded;
	ret->tells_holder = ret->has_lock && (facts->ways.tls_kind || interpreter.current_tstate);
	return 1;
}

static int roles(const struct runtime_file *file, const struct elf_file *elf, struct cache *entries,
		 struct runtime_range **ret, size_t *count, struct diag *diag)
{
	const struct facts *facts = file->facts;
	struct python_cache *cache = python_cache_share(entries);
	struct python_range *ranges = NULL;
	size_t i;
	int err = -ENOMEM;

	if (cache)
		err = python_cache_eval_ranges(cache, elf, &facts->interpreter, &ranges, count, NULL, diag);
	if (!err) {
		*ret = calloc(*count + 1, sizeof(**ret));
		err = *ret ? 0 : -ENOMEM;
	}
	for (i = 0; !err && i < *count; i++)
		(*ret)[i] = (struct runtime_range){.start = ranges[i].start,
						   .end = ranges[i].end,
						   .role = ranges[i].handler ? ROLE_HANDLER : ROLE_LOOP};
	free(ranges);
	python_cache_destroy(cache);
	return err;
}

/*
 * What a function of the greenlet package does to stacks (src/greenlet, 2.0): the first two run on a new greenlet's
 * first, the third changes the native stack before Python's state.
 */
static enum runtime_role function_role(const char *file, const char *symbol)
{
	if (strncmp(file, "_greenlet", 9))
		return ROLE_NATIVE;
	if (strstr(symbol, "inner_bootstrap") || strstr(symbol, "g_initialstub"))
		return ROLE_START;
	return strstr(symbol, "g_switchstack") ? ROLE_SWITCH : ROLE_NATIVE;
}

_Static_assert(sizeof(struct py_keys) == sizeof(struct runtime_aid), "a libc's keys are the aid");

static bool has_aid(const struct elf_file *elf, bool own)
{
	uint64_t vaddr, size;

	return key_layout_function(elf, own, &vaddr, &size);
}

static bool aid(const struct elf_file *elf, struct cache *entries, struct runtime_aid *ret)
{
	struct python_cache *cache = elf_file_machine(elf) == arch_here()->machine ? python_cache_share(entries) : NULL;
	struct py_keys keys = {};

	if (cache)
		(void)!python_cache_keys(cache, elf, &keys); /* else there are none */
	python_cache_destroy(cache);
	memcpy(ret, &keys, sizeof(*ret));
	return keys.stride;
}

static bool prove(const struct runtime_file *file, uint16_t machine, int pid, uint64_t bias, struct runtime_proof *ret)
{
	const struct facts *facts = file->facts;
	const struct memory memory = memory_of_process(pid);
	struct live_threads threads;
	struct live_check check = {};

	if (live_threads_read(pid, &threads))
		return false;
	live_check(&memory, &threads, machine, &facts->interpreter, bias, &check);
	live_threads_deinit(&threads);
	ret->verified = check.verified;
	ret->refuted = check.refuted;
	memcpy(ret->result, check.result, sizeof(ret->result));
	return true;
}

static void attach(const struct runtime_file *file, uint64_t bias, const struct runtime_aid *aid,
		   struct runtime_process *ret)
{
	const struct facts *facts = file->facts;
	struct python_process *process = (struct python_process *)ret;

	*process = facts->ways;
	process->key = 0; /* it takes a libc to follow */
	if (aid) {
		process->key = facts->ways.key + bias;
		memcpy(&process->keys, aid, sizeof(process->keys));
	}
	if (facts->interpreter.interp_head)
		process->interp_head = facts->interpreter.interp_head + bias;
	if (facts->interpreter.current_tstate)
		process->current_tstate = facts->interpreter.current_tstate + bias;
	if (process->tls_slot)
		process->tls_slot += bias;
	process->key_holds = process->key || process->bound_at ? RUNTIME_TO_NOTE : RUNTIME_NO_NOTE;
}

static int locals(const struct runtime_file *file, const struct memory *memory, uint64_t frame,
		  struct runtime_effort *effort, struct runtime_locals *ret)
{
	const struct facts *facts = file->facts;
	struct py_reader reader = {.memory = memory,
				   .layout = &facts->interpreter.layout,
				   .objects = &facts->interpreter.objects,
				   .effort = effort};

	*ret = (struct runtime_locals){};
	/* Nobody has shown where a version that is not known has its variables. */
	return file->to_prove ? 0 : python_locals(&reader, frame, ret);
}

static int tasks(const struct runtime_file *file, const struct memory *memory, uint64_t bias,
		 struct runtime_effort *effort, struct runtime_tasks *ret)
{
	const struct facts *facts = file->facts;

	*ret = (struct runtime_tasks){};
	return file->to_prove ? 0 : python_tasks(memory, &facts->interpreter, bias, effort, ret);
}

static bool find_tasks(const struct runtime_file *file, const struct memory *memory, uint64_t bias,
		       struct runtime_effort *effort, struct runtime_process *ret)
{
	const struct facts *facts = file->facts;

	return !file->to_prove && python_find_current_tasks(memory, &facts->interpreter, bias, effort,
							    &((struct python_process *)ret)->tasks);
}

static void find_probes(const struct elf_file *elf, struct cache *cache)
{
	struct python_cache *probes = python_cache_share(cache);
	struct python_interpreter interpreter;
	struct python_sites sites = {};
	struct diag diag;

	if (probes && python_interpreter_recognise(elf, &interpreter, &diag) > 0 &&
	    !python_cache_sites(probes, elf, &interpreter, &sites, NULL, &diag))
		python_sites_deinit(&sites);
	python_cache_destroy(probes);
}

const struct runtime runtime_python = {.name = "python",
				       .language = "Python",
				       .recognise = recognise,
				       .forget = free,
				       .roles = roles,
				       .function_role = function_role,
				       .has_aid = has_aid,
				       .aid = aid,
				       .find_probes = find_probes,
				       .published = "_Py_DebugOffsets",
				       .prove = prove,
				       .attach = attach,
				       .decode = python_decode,
				       .line = python_line,
				       .locals = locals,
				       .tasks = tasks,
				       .find_tasks = find_tasks};
