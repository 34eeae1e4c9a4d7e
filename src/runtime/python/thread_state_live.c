// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a recipe to a path of loads in one process, and whether that path tells the truth.
 *
 * What libc does with a key (key_layout.h), and the dynamic linker with a module's block, is private to them and
 * differs between glibc's versions and musl. So it is not written down here: the code of pthread_getspecific(),
 * __tls_get_addr() or the descriptor's function, as it stands in the process, is evaluated, the latter with the very
 * argument that the interpreter calls them with (key_decoder.c), and what comes out is the path. For glibc's x86-64
 * that is
 *
 *     key < 32     fs:[0x310 + 16 * key + 8]
 *     key >= 32    fs:[0x510 + 8 * (key / 32)] → + 16 * (key % 32) + 8
 *     block        fs:[8] → + 16 * module → + offset
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/python/key_decoder.h"
#include "runtime/python/key_layout.h"
#include "runtime/python/thread_state.h"

enum {
	INTERPRETERS_MAX = 4096,
	THREADS_MAX = 65536,
	ROUNDS = 5, /* readings of the lists before an answer is called wrong */
};

static bool read_word(const struct python_thread_memory *memory, uint64_t address, uint64_t *ret)
{
	return !memory->read(memory->context, address, ret, sizeof(*ret));
}

static size_t live_code(void *context, uint64_t address, uint8_t *buffer, size_t size)
{
	const struct python_thread_memory *memory = context;
	uint64_t left = 4096 - (address & 4095);

	if (!memory->read(memory->context, address, buffer, size))
		return size;
	if (left >= size || memory->read(memory->context, address, buffer, left))
		return 0;
	return left;
}

static void live_load(void *context, uint64_t address, unsigned int width, struct key_value *ret)
{
	const struct python_thread_memory *memory = context;
	uint64_t value = 0;

	if (width > sizeof(value) || memory->read(memory->context, address, &value, width))
		*ret = (struct key_value){};
	else
		*ret = (struct key_value){.known = true, .width = 8, .offset = {(int64_t)value}};
}

/* The one value that a function of the process returns, other than 0. */
static int call(uint16_t machine, const struct python_thread_memory *memory, uint64_t function, uint64_t argument,
		bool descriptor, const char *name, struct key_value *ret, struct diag *diag)
{
	struct python_thread_memory copy = *memory;
	struct key_image image = {.code = live_code, .load = live_load, .context = &copy};
	struct key_evaluation evaluation;
	int err = key_evaluate(machine, &image, function, argument, descriptor, &evaluation);

	if (err)
		return diag_fail(diag, -err, "python.thread_state", "%s cannot be evaluated", name);
	if (evaluation.returns.count != 1)
		return diag_fail(diag, ENOENT, "python.thread_state",
				 "the code of %s at %#" PRIx64 " gives %zu answers", name, function,
				 evaluation.returns.count);
	*ret = evaluation.returns.at[0];
	return 0;
}

static int find(const struct python_thread_memory *memory, const char *name, uint64_t *ret, struct diag *diag)
{
	if (!memory->find_function || memory->find_function(memory->context, name, ret))
		return diag_fail(diag, ENOENT, "python.thread_state", "the process has no %s", name);
	return 0;
}

/* Makes a path of a chain of loads that begins at the thread pointer: to the word at what the chain gives + offset. */
static int path_of(const struct key_value *value, int64_t offset, const char *name, struct python_thread_path *ret,
		   struct diag *diag)
{
	struct python_thread_path path = {.count = value->loads};
	size_t i;

	for (i = 0; i <= value->loads; i++)
		if (value->pointer[i] != (i == 0))
			goto unknown;
	if (value->base != KEY_BASE_NONE || (value->loads && value->width != 8) || path.count == PYTHON_THREAD_LOADS)
		goto unknown;
	for (i = 0; i < value->loads; i++)
		path.offset[i] = value->offset[i];
	path.offset[path.count++] = (int64_t)((uint64_t)value->offset[value->loads] + (uint64_t)offset);
	*ret = path;
	return 0;
unknown:
	return diag_fail(diag, ENOENT, "python.thread_state", "what %s returns is not reached from the thread pointer",
			 name);
}

static void path_of_key(const struct py_keys *keys, uint32_t key, struct python_thread_path *ret)
{
	uint32_t in_block = key & ((1u << keys->block_shift) - 1);

	if (key < keys->direct)
		*ret = (struct python_thread_path){.count = 1,
						   .offset = {keys->direct_at + (int64_t)key * keys->stride}};
	else
		*ret = (struct python_thread_path){.count = 2,
						   .offset = {keys->blocks_at + 8 * (int64_t)(key >> keys->block_shift),
							      keys->value_at + (int64_t)in_block * keys->stride}};
}

static int resolve_key(uint16_t machine, const struct python_thread_source *source, uint64_t bias,
		       const struct python_thread_memory *memory, struct python_thread_path *ret, struct diag *diag)
{
	struct python_thread_memory copy = *memory;
	struct key_image image = {.code = live_code, .load = live_load, .context = &copy};
	uint32_t key, created = 1;
	struct py_keys keys;
	uint64_t function;
	int err;

	if (memory->read(memory->context, bias + source->address, &key, sizeof(key)) ||
	    (source->created && memory->read(memory->context, bias + source->created, &created, sizeof(created))))
		return diag_fail(diag, EFAULT, "python.thread_state", "the key at %#" PRIx64 " cannot be read",
				 bias + source->address);
	if (!created || key >= PY_KEYS_MAX)
		return diag_fail(diag, EAGAIN, "python.thread_state", "the key was not created yet");
	err = find(memory, KEY_GETTER, &function, diag);
	if (err)
		return err;
	err = key_layout_evaluate(machine, &image, function, &keys);
	if (err)
		return diag_fail(diag, -err, "python.thread_state", "the code of %s at %#" PRIx64 " was not understood",
				 KEY_GETTER, function);
	path_of_key(&keys, key, ret);
	return 0;
}

static int resolve_dynamic(uint16_t machine, const struct python_thread_source *source, uint64_t bias,
			   const struct python_thread_memory *memory, struct python_thread_path *ret, struct diag *diag)
{
	static const char name[] = "__tls_get_addr";
	struct key_value value;
	uint64_t function;
	int err;

	err = find(memory, name, &function, diag);
	if (!err)
		err = call(machine, memory, function, bias + source->address, false, name, &value, diag);
	return err ? err : path_of(&value, source->offset, name, ret, diag);
}

static int resolve_descriptor(uint16_t machine, const struct python_thread_source *source, uint64_t bias,
			      const struct python_thread_memory *memory, struct python_thread_path *ret,
			      struct diag *diag)
{
	static const char name[] = "the TLS descriptor's function";
	struct key_value value;
	uint64_t function;
	int err;

	if (!read_word(memory, bias + source->address, &function))
		return diag_fail(diag, EFAULT, "python.thread_state",
				 "the TLS descriptor at %#" PRIx64 " cannot be read", bias + source->address);
	err = call(machine, memory, function, bias + source->address, true, name, &value, diag);
	if (err)
		return err;
	value.pointer[value.loads]++; /* it returns an offset from the thread pointer */
	return path_of(&value, source->offset, name, ret, diag);
}

int python_thread_resolve(uint16_t machine, const struct python_thread_source *source, uint64_t bias,
			  const struct python_thread_memory *memory, struct python_thread_path *ret, struct diag *diag)
{
	uint64_t word;

	switch (source->kind) {
	case PYTHON_THREAD_TLS_STATIC:
		*ret = (struct python_thread_path){.count = 1, .offset = {source->offset}};
		return 0;
	case PYTHON_THREAD_TLS_GOT:
		if (!read_word(memory, bias + source->address, &word))
			return diag_fail(diag, EFAULT, "python.thread_state", "the word at %#" PRIx64 " cannot be read",
					 bias + source->address);
		*ret = (struct python_thread_path){.count = 1, .offset = {(int64_t)(word + (uint64_t)source->offset)}};
		return 0;
	case PYTHON_THREAD_TLS_DYNAMIC:
		return resolve_dynamic(machine, source, bias, memory, ret, diag);
	case PYTHON_THREAD_TLS_DESC:
		return resolve_descriptor(machine, source, bias, memory, ret, diag);
	case PYTHON_THREAD_KEY:
		return resolve_key(machine, source, bias, memory, ret, diag);
	default:
		return diag_fail(diag, EINVAL, "python.thread_state", "this layer has no path");
	}
}

int python_thread_read(const struct python_thread_path *path, const struct python_thread_memory *memory,
		       uint64_t thread_pointer, uint64_t *ret)
{
	uint64_t value = thread_pointer;
	uint32_t i;

	for (i = 0; i < path->count && i < PYTHON_THREAD_LOADS; i++) {
		/* A thread that has not used a table yet has a null pointer to it; a block not made yet is -1 in glibc.
		 */
		if (i && (!value || value == UINT64_MAX)) {
			value = 0;
			break;
		}
		if (!read_word(memory, value + (uint64_t)path->offset[i], &value))
			return -EFAULT;
	}
	*ret = value;
	return 0;
}

struct thread {
	uint64_t id, tstate;
	bool main; /* of the main interpreter, which is the last of the list */
};

typedef VEC(struct thread) threads_vec;

static int compare_threads(const void *a, const void *b)
{
	const struct thread *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

/* Reads the interpreters' lists, sorted by thread. The process runs meanwhile: what cannot be read ends a list. */
static int read_lists(const struct python_interpreter *interpreter, uint64_t bias,
		      const struct python_thread_memory *memory, threads_vec *threads)
{
	const struct py_layout *layout = &interpreter->layout;
	uint64_t interp = 0, tstate, id;
	size_t i, first = 0;

	threads->count = 0;
	if (interpreter->interp_head) {
		if (!read_word(memory, bias + interpreter->interp_head, &interp))
			return -EFAULT;
	} else if (!interpreter->current_tstate || !read_word(memory, bias + interpreter->current_tstate, &tstate) ||
		   !tstate || !read_word(memory, tstate + layout->tstate_interp, &interp)) {
		return -EFAULT;
	}
	for (i = 0; interp && i < INTERPRETERS_MAX; i++) {
		first = threads->count;
		if (!read_word(memory, interp + layout->interp_threads, &tstate))
			break;
		while (tstate && threads->count < THREADS_MAX &&
		       read_word(memory, tstate + layout->tstate_thread_id, &id)) {
			if (vec_push(threads, (struct thread){.id = id, .tstate = tstate}))
				return -ENOMEM;
			if (!read_word(memory, tstate + layout->tstate_next, &tstate))
				break;
		}
		if (!read_word(memory, interp + layout->interp_next, &interp))
			break;
	}
	for (i = first; i < threads->count; i++)
		threads->at[i].main = true;
	if (threads->count)
		qsort(threads->at, threads->count, sizeof(*threads->at), compare_threads);
	return 0;
}

/* The first entry of a thread; `count` when it has none. */
static size_t first_of(const threads_vec *threads, uint64_t id)
{
	size_t low = 0, high = threads->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (threads->at[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < threads->count && threads->at[low].id == id ? low : threads->count;
}

enum verdict { AGREED, FOREIGN, EMPTY, GONE, WRONG };

static enum verdict judge(const threads_vec *threads, const struct python_thread_memory *memory,
			  const struct python_thread_path *path, uint64_t id, int64_t distance, uint64_t *answer)
{
	size_t i = first_of(threads, id);

	if (i == threads->count)
		return GONE;
	*answer = 0;
	if (python_thread_read(path, memory, id + (uint64_t)distance, answer))
		return WRONG;
	if (!*answer)
		return EMPTY;
	for (; i < threads->count && threads->at[i].id == id; i++)
		if (threads->at[i].tstate == *answer)
			return AGREED;
	for (i = 0; i < threads->count; i++)
		if (threads->at[i].tstate == *answer && !threads->at[i].main)
			return FOREIGN;
	return WRONG;
}

/* Whether an answer is still wrong when list and answer are read again. */
static int judge_again(const struct python_interpreter *interpreter, uint64_t bias,
		       const struct python_thread_memory *memory, const struct python_thread_path *path, uint64_t id,
		       int64_t distance, enum verdict *ret, uint64_t *answer)
{
	threads_vec threads = {};
	unsigned int round;
	int err = 0;

	for (round = 0; !err && *ret == WRONG && round < ROUNDS; round++) {
		err = read_lists(interpreter, bias, memory, &threads);
		if (!err)
			*ret = judge(&threads, memory, path, id, distance, answer);
	}
	vec_free(&threads);
	return err;
}

static int verify_threads(const struct python_interpreter *interpreter, uint64_t bias,
			  const struct python_thread_memory *memory, const struct python_thread_path *path,
			  int64_t distance, const threads_vec *threads, struct python_thread_check *check,
			  struct diag *diag)
{
	enum verdict verdict;
	uint64_t answer, id;
	size_t i;
	int err;

	for (i = 0; i < threads->count; i++) {
		id = threads->at[i].id;
		if (!id || (i && threads->at[i - 1].id == id))
			continue;
		verdict = judge(threads, memory, path, id, distance, &answer);
		if (verdict == WRONG) {
			err = judge_again(interpreter, bias, memory, path, id, distance, &verdict, &answer);
			if (err)
				return err;
		}
		check->threads += verdict != GONE;
		check->agreed += verdict == AGREED;
		check->foreign += verdict == FOREIGN;
		check->empty += verdict == EMPTY;
		if (verdict == WRONG) {
			check->disagreed++;
			return diag_fail(diag, EINVAL, "python.thread_state",
					 "refused: it gives thread %#" PRIx64 " the thread state %#" PRIx64
					 ", which is not that thread's",
					 id, answer);
		}
	}
	return 0;
}

int python_thread_verify(const struct python_interpreter *interpreter, uint64_t bias,
			 const struct python_thread_memory *memory, const struct python_thread_path *path,
			 int64_t pointer_distance, struct python_thread_check *ret, struct diag *diag)
{
	struct python_thread_check check = {};
	threads_vec threads = {};
	int err;

	err = read_lists(interpreter, bias, memory, &threads);
	if (!err)
		err = verify_threads(interpreter, bias, memory, path, pointer_distance, &threads, &check, diag);
	else
		diag_fail(diag, -err, "python.thread_state", "the interpreters' thread lists cannot be read");
	vec_free(&threads);
	*ret = check;
	if (err || check.agreed)
		return err;
	return diag_fail(diag, EAGAIN, "python.thread_state",
			 "none of %zu threads has a thread state there now: not verified", check.threads);
}
