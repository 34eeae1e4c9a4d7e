// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The layers: which words of a file say where the running thread's PyThreadState is.
 *
 *   3.12+      _Py_tss_tstate, thread-local: that of the thread that holds the GIL (or, free-threaded, is attached);
 *              NULL in a thread that has released it. The one answer when a thread has several thread states.
 *   3.7-3.14   a pthread key, gilstate.autoTSSkey or autoTSSkey of _PyRuntime, 3.6 the static autoTLSkey: the first
 *              thread state that the thread had, with or without the GIL. Other interpreters' threads may have none.
 *   3.15       a thread-local variable in its place, _Py_tss_gilstate: the last thread state that the thread was on,
 *              with or without the GIL
 *   all        the interpreters' lists of threads
 *
 * A variable's place is told by its symbol, or else by what the functions that read it do (key_decoder.c). Several
 * functions are asked, and they must agree.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/key_decoder.h"
#include "runtime/python/thread_state.h"

#define TSTATE_NAME   "_Py_tss_tstate"
#define TSTATE_SINCE  0x030c
#define GILSTATE_NAME "_Py_tss_gilstate"
#define TSS_SINCE     0x0307 /* Py_tss_t; before, keys were ints (PEP 539) */
/*
 * The last with a key. Change gh-131185 took it out of CPython's Python/pystate.c and pycore_runtime_structs.h, where
 * other keys are left: Debian's 3.14.8 has it, in 3.15.0 and 3.15.2 PyGILState_GetThisThreadState() is one load from
 * the thread pointer.
 */
#define KEY_LAST    0x030e
#define TSS_CREATED 4 /* Py_tss_t: _is_initialized lies that far before _key */

/*
 * Offset of autoTSSkey._key in _PyRuntime on x86-64, for default builds. 3.7.16 to 3.13.0: from debug information, by
 * gdb's `print (long)&((struct pyruntimestate *)0)->gilstate.autoTSSkey._key` (3.12 and later: ->autoTSSkey._key);
 * 3.14.8: from the code of Debian's build. tests/python/thread_state.t computes them again with the interpreters at
 * hand.
 */
static const struct {
	uint16_t version, offset;
} key_offsets[] = {
	{0x0307, 1508}, {0x0308, 1396}, {0x0309, 588},  {0x030a, 588},
	{0x030b, 596},  {0x030c, 1548}, {0x030d, 2164}, {0x030e, 2340},
};

static __attribute__((format(printf, 2, 3))) void say(struct python_thread_layer *layer, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(layer->result, sizeof(layer->result), fmt, args);
	va_end(args);
}

static void describe(char *text, size_t size, const struct python_thread_source *answer)
{
	switch (answer->kind) {
	case PYTHON_THREAD_TLS_STATIC:
		snprintf(text, size, "thread pointer %+" PRId64, answer->offset);
		break;
	case PYTHON_THREAD_TLS_GOT:
		snprintf(text, size, "initial-exec, offset in %#" PRIx64 " %+" PRId64, answer->address, answer->offset);
		break;
	case PYTHON_THREAD_TLS_DYNAMIC:
		snprintf(text, size, "general dynamic, index at %#" PRIx64 " %+" PRId64, answer->address,
			 answer->offset);
		break;
	case PYTHON_THREAD_TLS_DESC:
		snprintf(text, size, "TLS descriptor at %#" PRIx64 " %+" PRId64, answer->address, answer->offset);
		break;
	case PYTHON_THREAD_KEY:
		snprintf(text, size, "pthread key at %#" PRIx64, answer->address);
		break;
	default:
		snprintf(text, size, "nothing");
		break;
	}
}

static void found(struct python_thread_layer *layer, const struct python_thread_source *answer, const char *by)
{
	char text[80];

	describe(text, sizeof(text), answer);
	layer->found = true;
	layer->answer = *answer;
	say(layer, "%s, by %s", text, by);
}

/* Searches the TLS relocations of a library for one that leads to a variable at `offset` of the module's block. */
struct tls_search {
	const struct elf_file *elf;
	int64_t offset;
	struct python_thread_source best;
};

static int visit_tls(void *context, const struct key_tls_relocation *relocation)
{
	static const enum python_thread_kind kinds[] = {[KEY_TLS_OFFSET] = PYTHON_THREAD_TLS_GOT,
							[KEY_TLS_MODULE] = PYTHON_THREAD_TLS_DYNAMIC,
							[KEY_TLS_DESCRIPTOR] = PYTHON_THREAD_TLS_DESC};
	struct python_thread_source source = {.kind = kinds[relocation->kind], .address = relocation->slot};
	struct tls_search *search = context;
	int64_t addend = relocation->addend;
	const uint8_t *word;

	if (*relocation->symbol && strcmp(relocation->symbol, TSTATE_NAME) != 0)
		return 0;
	if (!*relocation->symbol) {
		if (relocation->kind == KEY_TLS_MODULE) {
			/* The second word of the index, which has no relocation when it is known to the linker. */
			word = elf_file_bytes_at(search->elf, relocation->slot + 8, sizeof(addend));
			if (!word)
				return 0;
			memcpy(&addend, word, sizeof(addend));
		}
		source.offset = (int64_t)((uint64_t)search->offset - (uint64_t)addend);
	}
	/* One load from the thread pointer is better than a walk. */
	if (!search->best.kind || source.kind == PYTHON_THREAD_TLS_GOT ||
	    (source.kind == PYTHON_THREAD_TLS_DESC && search->best.kind == PYTHON_THREAD_TLS_DYNAMIC))
		search->best = source;
	return source.kind == PYTHON_THREAD_TLS_GOT;
}

static void by_symbol(const struct elf_file *elf, const struct key_file *file, struct python_thread_layer *layer)
{
	uint64_t offset, size, vaddr, memsz, align, after = arch_of(elf_file_machine(elf))->tls_after;
	struct tls_search search = {.elf = elf};

	layer->source = TSTATE_NAME " symbol";
	if (!elf_file_find_symbol(elf, TSTATE_NAME, &offset, &size)) {
		say(layer, "no symbol of that name");
		return;
	}
	if (!elf_file_tls(elf, &vaddr, &memsz, &align) || offset > memsz || memsz - offset < 8) {
		say(layer, "offset %#" PRIx64 " is not in the thread-local storage", offset);
		return;
	}
	search.offset = (int64_t)offset;
	if (!elf_file_is_program(elf)) {
		key_file_tls(file, visit_tls, &search);
		if (search.best.kind)
			found(layer, &search.best, "symbol and relocation");
		else
			say(layer, "no relocation leads to the block of thread-local storage");
		return;
	}
	if (!align || align & (align - 1))
		align = 1;
	search.best.kind = PYTHON_THREAD_TLS_STATIC;
	if (after)
		search.best.offset = (int64_t)(((after + align - 1) & ~(align - 1)) + offset);
	else
		search.best.offset = (int64_t)(offset - ((memsz + align - 1) & ~(align - 1)));
	found(layer, &search.best, "symbol");
}

/* What a chain of loads is the content of. */
static bool tls_source(const struct key_value *value, struct python_thread_source *ret)
{
	struct python_thread_source source = {};
	size_t last;

	if (!value->known || !value->loads || value->width != 8 || value->loads > 2)
		return false;
	last = value->loads;
	if (value->offset[last] || value->pointer[last])
		return false;
	source.offset = value->offset[last - 1];
	if (value->base == KEY_BASE_NONE && last == 1 && value->pointer[0] == 1) {
		source.kind = PYTHON_THREAD_TLS_STATIC;
	} else if (value->base == KEY_BASE_NONE && last == 2 && !value->pointer[0] && value->pointer[1] == 1) {
		source.kind = PYTHON_THREAD_TLS_GOT;
		source.address = (uint64_t)value->offset[0];
	} else if (value->base == KEY_BASE_INDEX && last == 1 && !value->pointer[0]) {
		source.kind = PYTHON_THREAD_TLS_DYNAMIC;
		source.address = value->slot;
	} else if (value->base == KEY_BASE_DESC && last == 1 && value->pointer[0] == 1) {
		source.kind = PYTHON_THREAD_TLS_DESC;
		source.address = value->slot;
	} else {
		return false;
	}
	*ret = source;
	return true;
}

static bool same_source(const struct python_thread_source *a, const struct python_thread_source *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->address == b->address;
}

/* Whether an answer is possible in this file at all. */
static bool plausible(const struct elf_file *elf, const struct python_thread_source *answer)
{
	uint64_t vaddr, memsz, align, size = answer->kind == PYTHON_THREAD_KEY ? 4 : 16;
	const struct elf_segment *segments;
	size_t count, i;

	if (answer->kind == PYTHON_THREAD_TLS_STATIC)
		return !(answer->offset & 7) && elf_file_tls(elf, &vaddr, &memsz, &align) && memsz < INT64_MAX / 2 &&
		       align < INT64_MAX / 2 && answer->offset >= -(int64_t)(memsz + align) &&
		       answer->offset < (int64_t)(memsz + align + arch_of(elf_file_machine(elf))->tls_after);
	if (answer->address & (answer->kind == PYTHON_THREAD_KEY ? 3 : 7))
		return false;
	if (answer->kind == PYTHON_THREAD_TLS_GOT)
		size = 8;
	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++)
		if ((segments[i].flags & PF_W) && answer->address >= segments[i].vaddr && segments[i].memsz >= size &&
		    answer->address - segments[i].vaddr <= segments[i].memsz - size)
			return true;
	return false;
}

/* Collects what functions say. */
struct votes {
	struct python_thread_source answer;
	char names[96];
	bool disagree;
	size_t present, silent; /* functions that the file has; that gave nothing */
};

/* The one thing that a function gives; false when it gives none, or several. */
static bool single_answer(const struct elf_file *elf, const struct key_evaluation *evaluation, bool key,
			  uint16_t version, struct python_thread_source *ret)
{
	const struct key_answers *answers = key ? &evaluation->keys : &evaluation->returns;
	struct python_thread_source source = {};
	size_t i, count = 0;

	for (i = 0; i < answers->count && i < KEY_ANSWERS; i++) {
		if (key) {
			source.kind = PYTHON_THREAD_KEY;
			source.address = (uint64_t)answers->at[i].offset[0];
			if (version >= TSS_SINCE)
				source.created = source.address - TSS_CREATED;
		} else if (!tls_source(&answers->at[i], &source)) {
			continue;
		}
		*ret = source;
		count++;
	}
	return count == 1 && answers->count <= KEY_ANSWERS && plausible(elf, ret);
}

static int ask(const struct elf_file *elf, const struct key_image *image, const char *name, bool key, uint16_t version,
	       struct votes *votes)
{
	struct key_evaluation evaluation;
	struct python_thread_source source;
	uint64_t vaddr, size;
	size_t used = strlen(votes->names);
	int err;

	if (!python_find_exported(elf, name, &vaddr, &size))
		return 0;
	votes->present++;
	err = key_evaluate(elf_file_machine(elf), image, vaddr, KEY_ARGUMENT_NONE, false, &evaluation);
	if (err)
		return err;
	if (!single_answer(elf, &evaluation, key, version, &source)) {
		votes->silent++;
		return 0;
	}
	if (!votes->answer.kind)
		votes->answer = source;
	else if (!same_source(&votes->answer, &source))
		votes->disagree = true;
	snprintf(votes->names + used, sizeof(votes->names) - used, "%s%s", used ? ", " : "", name);
	return 0;
}

static int by_code(const struct elf_file *elf, const struct key_image *image, const char *const *names, size_t count,
		   bool key, uint16_t version, struct python_thread_layer *layer)
{
	struct votes votes = {};
	size_t i;
	int err;

	for (i = 0; i < count; i++) {
		err = ask(elf, image, names[i], key, version, &votes);
		if (err)
			return err;
	}
	if (votes.disagree)
		say(layer, "functions disagree: %s", votes.names);
	else if (votes.answer.kind)
		found(layer, &votes.answer, votes.names);
	else if (votes.present)
		say(layer, "%zu functions were evaluated, none gives one answer", votes.present);
	else
		say(layer, "the file has none of the functions that would tell");
	return 0;
}

static void by_table(const struct elf_file *elf, const struct python_interpreter *interpreter,
		     struct python_thread_layer *layer)
{
	struct python_thread_source answer = {.kind = PYTHON_THREAD_KEY};
	uint64_t runtime;
	char by[32];
	size_t i;

	layer->source = "key table";
	if (interpreter->version > KEY_LAST) {
		say(layer, "Python 3.15 and later have no key");
		return;
	}
	if (interpreter->debug_build || interpreter->free_threaded || elf_file_machine(elf) != PYTHON_TABLES_OF ||
	    !python_find_runtime(elf, &runtime)) {
		say(layer, "the table is for default builds of 3.7 and later on %s", arch_of(PYTHON_TABLES_OF)->name);
		return;
	}
	for (i = 0; i < sizeof(key_offsets) / sizeof(*key_offsets); i++) {
		if (key_offsets[i].version != interpreter->version)
			continue;
		answer.address = runtime + key_offsets[i].offset;
		answer.created = answer.address - TSS_CREATED;
		snprintf(by, sizeof(by), "_PyRuntime + %#x", key_offsets[i].offset);
		if (plausible(elf, &answer))
			found(layer, &answer, by);
		else
			say(layer, "_PyRuntime + %#x is not in writable memory", key_offsets[i].offset);
		return;
	}
	say(layer, "no row for Python %d.%d", interpreter->version >> 8, interpreter->version & 0xff);
}

static void by_list(const struct python_interpreter *interpreter, struct python_thread_layer *layer)
{
	layer->source = "thread list";
	layer->found = interpreter->interp_head || interpreter->current_tstate;
	if (!layer->found) {
		say(layer, "neither the interpreters' list nor the current thread state was found");
		return;
	}
	layer->answer.kind = PYTHON_THREAD_LIST;
	layer->answer.address = interpreter->interp_head ? interpreter->interp_head : interpreter->current_tstate;
	say(layer, "%s at %#" PRIx64, interpreter->interp_head ? "interpreters' list" : "_PyThreadState_Current",
	    layer->answer.address);
}

int python_thread_layers(const struct elf_file *elf, const struct python_interpreter *interpreter,
			 struct python_thread_layer *layers, size_t room, size_t *count)
{
	static const char *const readers[] = {"_PyThreadState_GetCurrent", "PyThreadState_GetUnchecked",
					      "_PyThreadState_UncheckedGet", "PyThreadState_Get"};
	/* Only the first one returns what it read. */
	static const char *const key_users[] = {"PyGILState_GetThisThreadState", "PyGILState_Release",
						"PyGILState_Check", "PyGILState_Ensure"};
	struct python_thread_layer all[PYTHON_THREAD_LAYERS] = {};
	struct key_file *file = NULL;
	struct key_image image = {};
	bool has_key = interpreter->version <= KEY_LAST;
	int err = 0;

	/* All its relocations are read for that: milliseconds. */
	if (interpreter->version >= TSTATE_SINCE || room > 2)
		err = key_file_create(elf, &file);
	if (err)
		return err;
	if (file)
		image = key_file_image(file);
	all[1].source = TSTATE_NAME " code";
	all[2].source = has_key ? "key code" : GILSTATE_NAME " code";
	if (interpreter->version >= TSTATE_SINCE) {
		by_symbol(elf, file, &all[0]);
		err = by_code(elf, &image, readers, sizeof(readers) / sizeof(*readers), false, interpreter->version,
			      &all[1]);
	} else {
		all[0].source = TSTATE_NAME " symbol";
		say(&all[0], "only Python 3.12 and later have the variable");
		say(&all[1], "only Python 3.12 and later have the variable");
	}
	if (!err && room > 2)
		err = by_code(elf, &image, key_users, has_key ? sizeof(key_users) / sizeof(*key_users) : 1, has_key,
			      interpreter->version, &all[2]);
	all[2].answer.stays = !has_key;
	if (file)
		key_file_destroy(file);
	if (err)
		return err;
	if (room > 3)
		by_table(elf, interpreter, &all[3]);
	by_list(interpreter, &all[4]);
	*count = room < PYTHON_THREAD_LAYERS ? room : PYTHON_THREAD_LAYERS;
	memcpy(layers, all, *count * sizeof(*all));
	return 0;
}
