// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/live.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/limits.h"
#include "arch/arch.h"
#include "runtime/python/proof.h"

#define ATTEMPTS         8
#define INTERPRETERS_MAX 1024
#define SHIMS_MAX        16 /* one after the other above a frame */
#define NAME_MAX_LENGTH  4096

struct walk {
	const struct memory *memory;
	const struct live_threads *threads;
	const struct py_layout *layout;
	uint16_t machine;
	bool prove;
	uint64_t interp;   /* whose threads are being looked at */
	const char *doubt; /* what did not hold last; or NULL */
	struct live_check *check;
};

static int read_ids(const char *path, struct live_threads *threads)
{
	FILE *file = fopen(path, "re");
	uint32_t id;
	char line[256];
	int err = 0;

	if (!file)
		return 0; /* the thread has ended */
	while (!err && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		/* The last number is the id in the innermost namespace, the process's own (proc(5)). */
		if (!strncmp(line, "NSpid:", 6) && last && sscanf(last, "%u", &id) == 1)
			err = vec_push(&threads->ids, id);
	}
	fclose(file);
	return err;
}

int live_threads_read(int pid, struct live_threads *ret)
{
	struct live_threads threads = {};
	struct dirent *entry;
	char path[320];
	DIR *tasks;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	while (!err && (entry = readdir(tasks))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, entry->d_name);
		err = read_ids(path, &threads);
	}
	closedir(tasks);
	if (err)
		live_threads_deinit(&threads);
	else
		*ret = threads;
	return err;
}

void live_threads_deinit(struct live_threads *threads)
{
	vec_free(&threads->ids);
}

static bool read_u64(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	return !memory_read(walk->memory, ret, sizeof(*ret), address);
}

static bool has_id(const struct live_threads *threads, uint32_t id)
{
	size_t i;

	for (i = 0; i < threads->ids.count; i++)
		if (threads->ids.at[i] == id)
			return true;
	return false;
}

/* Whether an address is pthread_self() of a thread of the process. */
static bool is_thread(const struct walk *walk, uint64_t thread_id)
{
	uint64_t self;
	uint32_t tid;
	const struct arch_descriptor *d;

	for (d = arch_of(walk->machine)->descriptors; d->tid; d++)
		if (read_u64(walk, thread_id + d->self, &self) && self == thread_id &&
		    !memory_read(walk->memory, &tid, sizeof(tid), thread_id + d->tid) && has_id(walk->threads, tid))
			return true;
	return false;
}

/* Whether an object is a string that can be a name: compact, of a sane length, and printable where it is ASCII. */
static bool is_name(const struct walk *walk, uint64_t object)
{
	const struct py_layout *layout = walk->layout;
	char text[64];
	uint64_t length;
	uint32_t state;
	size_t i;

	if (!object || !read_u64(walk, object + layout->unicode_length, &length) ||
	    memory_read(walk->memory, &state, sizeof(state), object + layout->unicode_state))
		return false;
	if (!length || length > NAME_MAX_LENGTH || !(state >> layout->unicode_compact_shift & 1))
		return false;
	if (!(state >> (layout->unicode_compact_shift + 1) & 1))
		return true;
	if (length > sizeof(text))
		length = sizeof(text);
	if (memory_read(walk->memory, text, length, object + layout->unicode_ascii_data))
		return false;
	for (i = 0; i < length; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return true;
}

static bool has_name(const struct walk *walk, uint64_t frame)
{
	const struct py_layout *layout = walk->layout;
	uint64_t code, name;

	return read_u64(walk, frame + layout->frame_code, &code) &&
	       read_u64(walk, (code & ~(uint64_t)layout->code_tag_mask) + layout->code_name, &name) &&
	       is_name(walk, name);
}

/* The innermost Python frame of a thread, shims left out; 0 when it has none. False when it could not be read. */
static bool read_frame(const struct walk *walk, uint64_t tstate, uint64_t *ret)
{
	const struct py_layout *layout = walk->layout;
	uint64_t frame, base = 0;
	uint8_t owner;
	int i;

	if (!read_u64(walk, tstate + layout->tstate_frame, &frame))
		return false;
	if (layout->tstate_base_frame != PY_NO_OFFSET && !read_u64(walk, tstate + layout->tstate_base_frame, &base))
		return false;
	if (frame && layout->cframe_current != PY_NO_OFFSET && !read_u64(walk, frame + layout->cframe_current, &frame))
		return false;
	for (i = 0; frame && frame != base && layout->entry == PY_ENTRY_SHIM && i < SHIMS_MAX; i++) {
		if (memory_read(walk->memory, &owner, sizeof(owner), frame + layout->frame_entry))
			return false;
		if (owner < layout->shim_owner)
			break;
		if (!read_u64(walk, frame + layout->frame_back, &frame))
			return false;
	}
	*ret = frame == base ? 0 : frame;
	return true;
}

/* One that runs something else meanwhile is asked anew. */
static void prove_state(struct walk *walk, uint64_t tstate)
{
	const char *why = NULL;
	uint64_t interp;
	size_t frames;
	int i;

	if (!read_u64(walk, tstate + walk->layout->tstate_interp, &interp) || interp != walk->interp) {
		walk->doubt = "a thread state is not its interpreter's";
		return;
	}
	for (i = 0; i < ATTEMPTS; i++) {
		if (python_proof(walk->memory, walk->layout, tstate, &frames, &why)) {
			walk->check->proving++;
			walk->check->frames += frames;
			return;
		}
		if (!why)
			return;
	}
	walk->doubt = why;
}

/* A frame may go away between two reads; it then is asked for anew. */
static void check_state(struct walk *walk, uint64_t tstate)
{
	struct live_check *check = walk->check;
	uint64_t thread_id, frame = 0;
	bool named = false, read = false;
	int i;

	check->states++;
	if (!read_u64(walk, tstate + walk->layout->tstate_thread_id, &thread_id) || !is_thread(walk, thread_id))
		return;
	check->belong++;
	for (i = 0; i < ATTEMPTS && !named; i++) {
		read = read_frame(walk, tstate, &frame);
		if (read && !frame)
			return;
		named = read && has_name(walk, frame);
	}
	check->running++;
	check->named += named;
	if (walk->prove)
		prove_state(walk, tstate);
}

/* One walk over all lists. False when something could not be read. */
static bool walk_lists(struct walk *walk, uint64_t interp)
{
	struct live_check *check = walk->check;
	uint64_t tstate;

	for (; interp && check->interpreters < INTERPRETERS_MAX; check->interpreters++) {
		walk->interp = interp;
		if (!read_u64(walk, interp + walk->layout->interp_threads, &tstate))
			break;
		while (tstate && check->states < PYTHON_THREADS_MAX) {
			check_state(walk, tstate);
			if (!read_u64(walk, tstate + walk->layout->tstate_next, &tstate))
				return false;
		}
		if (tstate || !read_u64(walk, interp + walk->layout->interp_next, &interp))
			return false;
	}
	return !interp;
}

/* The first interpreter. False, with words, when there is none to be found. */
static bool find_first(const struct walk *walk, const struct python_interpreter *interpreter, uint64_t bias,
		       uint64_t *ret)
{
	struct live_check *check = walk->check;
	uint64_t tstate = 0;

	if (interpreter->interp_head) {
		if (!read_u64(walk, interpreter->interp_head + bias, ret)) {
			snprintf(check->result, sizeof(check->result), "the process's memory cannot be read at %#llx",
				 (unsigned long long)(interpreter->interp_head + bias));
			return false;
		}
	} else if (!interpreter->current_tstate || !read_u64(walk, interpreter->current_tstate + bias, &tstate) ||
		   !tstate || !read_u64(walk, tstate + walk->layout->tstate_interp, ret)) {
		snprintf(check->result, sizeof(check->result), "no thread holds the GIL, and there is no other way in");
		return false;
	}
	if (!*ret)
		snprintf(check->result, sizeof(check->result), "the process has not initialised its interpreter");
	return *ret;
}

static void judge(const struct walk *walk, bool whole)
{
	struct live_check *check = walk->check;
	const char *wrong = "";

	if (!whole)
		wrong = "the lists could not be read to their end";
	else if (!check->states)
		wrong = "there is no thread state";
	else if (!check->belong)
		wrong = "none of them names a thread of the process";
	else if (walk->prove && !check->running)
		wrong = "none of them runs anything";
	else if (walk->prove && !check->proving)
		wrong = walk->doubt ?: "no chain of frames holds";
	else if (!walk->prove && check->named != check->running)
		wrong = "what runs has no name that decodes";
	check->verified = !*wrong;
	check->refuted = *wrong && (!whole || (check->states && (!check->belong || check->running)));
	snprintf(check->result, sizeof(check->result),
		 "%zu interpreter%s, %zu thread state%s, %zu of threads that live; %zu of %zu frames have a name%s%s",
		 check->interpreters, check->interpreters == 1 ? "" : "s", check->states, check->states == 1 ? "" : "s",
		 check->belong, check->named, check->running, *wrong ? "; " : "", wrong);
	if (check->proving)
		snprintf(check->result, sizeof(check->result), "%zu frames of %zu of %zu threads that live prove them",
			 check->frames, check->proving, check->belong);
}

void live_check(const struct memory *memory, const struct live_threads *threads, uint16_t machine,
		const struct python_interpreter *interpreter, uint64_t bias, struct live_check *ret)
{
	struct walk walk = {.memory = memory,
			    .threads = threads,
			    .layout = &interpreter->layout,
			    .machine = machine,
			    .prove = interpreter->to_prove,
			    .check = ret};
	uint64_t interp;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		*ret = (struct live_check){};
		if (!find_first(&walk, interpreter, bias, &interp))
			continue;
		judge(&walk, walk_lists(&walk, interp));
		if (ret->verified)
			return;
	}
}
