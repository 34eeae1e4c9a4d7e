// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "profile/near_names.h"
#include "profile/text.h"
#include "tap.h"

static const char *text_of(struct frame frame)
{
	static char buffer[512];

	frame_format(&frame, buffer, sizeof(buffer));
	return buffer;
}

static void test_frame_text(void)
{
	char small[8];
	struct frame native = {FRAME_NATIVE, "list_sort", "python3.11", 0};

	is_str(text_of((struct frame){FRAME_KERNEL, "do_syscall_64", "", 0}), "do_syscall_64 [k]", "kernel");
	is_str(text_of(native), "list_sort (python3.11)", "native");
	is_str(text_of((struct frame){FRAME_NATIVE, "0x12ab", "libx.so", 0}), "0x12ab (libx.so)", "no symbol");
	is_str(text_of((struct frame){FRAME_RUNTIME, "C.f.<locals>.g", "/a b/x.py", 12}),
	       "C.f.<locals>.g (/a b/x.py:12)", "Python");
	is_str(text_of((struct frame){FRAME_MARK, "[truncated]", "", 0}), "[truncated]", "mark");
	is_str(text_of((struct frame){FRAME_MARK, "[unknown 0x7f00]", NULL, 0}), "[unknown 0x7f00]", "no file at all");
	is_str(text_of((struct frame){FRAME_RUNTIME, "a;b\nc\x7f", "x;\t.py", 1}), "a:b?c? (x:?.py:1)",
	       "separators and controls");
	is_str(text_of((struct frame){FRAME_RUNTIME, "naïve→\xf0\x9f\x90\x8d", "ü.py", 1}),
	       "naïve→\xf0\x9f\x90\x8d (ü.py:1)", "other UTF-8 stays");
	is_str(text_of((struct frame){FRAME_KERNEL, "a\xe2\x80\xa8z\xc2\x85", "", 0}), "a?z? [k]", "line separators");
	is_str(text_of((struct frame){FRAME_KERNEL, "\xff\xc0\x80\xed\xa0\x80\xe2\x82", "", 0}), "???????? [k]",
	       "invalid, overlong, surrogate and cut-off UTF-8, one ? a byte");
	is_str(text_of((struct frame){FRAME_KERNEL,
				      "a\xe2\x80\xae\xe2\x81\xa6"
				      "b\xd8\x9c",
				      "", 0}),
	       "a??b? [k]", "controls of text direction");
	is_int(frame_format(&native, small, sizeof(small)), 22, "the length is the full one");
	is_str(small, "list_so", "cut");
	is_int(frame_format(&native, NULL, 0), 22, "no buffer");
	is_int(text_clean("aé", small, 3), 3, "length of a character that does not fit");
	is_str(small, "a", "a character is never cut");
}

/* What text_print(), or text_print_json(), writes of the bytes, which have no terminator behind them. */
static const char *printed(void (*print)(FILE *, const char *, size_t), const char *bytes)
{
	static char buffer[512];
	size_t size = strlen(bytes);
	char *exact = malloc(size ? size : 1);
	FILE *out = fmemopen(buffer, sizeof(buffer), "w");

	memcpy(exact, bytes, size);
	buffer[0] = '\0';
	print(out, exact, size);
	fclose(out);
	free(exact);
	return buffer;
}

static void test_printing(void)
{
	is_str(printed(text_print, "a;\\\"ü→"), "a;\\\"ü→", "for people: text stays");
	is_str(printed(text_print, "\033[1m\a\n\x7f"), "\\x1b[1m\\x07\\x0a\\x7f", "controls");
	is_str(printed(text_print, "\xc2\x9b\xe2\x80\xae"), "\\xc2\\x9b\\xe2\\x80\\xae", "C1 and direction");
	is_str(printed(text_print, "\xff\x9b\xe2\x80"), "\\xff\\x9b\\xe2\\x80", "no UTF-8, and cut at the end");
	is_str(printed(text_print, ""), "", "nothing");
	is_str(printed(text_print_json, "a\"\\\n\033\x7f/ü"), "a\\\"\\\\\\n\\u001b\\u007f/ü", "JSON");
	is_str(printed(text_print_json, "\xc2\x9b\xe2\x80\xae"), "\\u009b\\u202e", "C1 and direction in JSON");
	is_str(printed(text_print_json, "\xffz\xe2\x80"), "\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd", "no UTF-8 in JSON");
}

static void test_interning(void)
{
	struct profile *profile = profile_create();
	struct frame frame = {FRAME_RUNTIME, "f", "x.py", 1};
	uint32_t ids[4], again;
	char name[] = "f";

	is_int(profile_frame(profile, &frame, &ids[0]), 0, "a frame");
	frame.name = name;
	is_int(profile_frame(profile, &frame, &again), 0, "again, from another address");
	is_int(again, ids[0], "same id");
	frame.line = 2;
	profile_frame(profile, &frame, &ids[1]);
	frame.layer = FRAME_NATIVE;
	profile_frame(profile, &frame, &ids[2]);
	frame.file = "y.py";
	profile_frame(profile, &frame, &ids[3]);
	is_int(ids[3], 3, "line, layer and file tell frames apart");
	is_int(profile_frame_count(profile), 4, "frames");
	name[0] = 'g';
	is_str(profile_frame_at(profile, ids[0])->name, "f", "names are copies");

	profile_add(profile, "python", 1, 1, ids, 4, 2);
	profile_add(profile, "python", 1, 1, ids, 4, 3);
	profile_add(profile, "python", 1, 2, ids, 4, 1);
	profile_add(profile, "worker", 1, 2, ids, 4, 1);
	profile_add(profile, "worker", 2, 2, ids, 4, 1);
	profile_add(profile, "worker", 2, 2, ids, 3, 1);
	profile_add(profile, "worker", 2, 2, NULL, 0, 7);
	is_int(profile_sample_count(profile), 6, "comm, tid, pid and stack tell samples apart");
	is_int(profile_sample_at(profile, 0)->count, 5, "counts are added");
	ok(profile_sample_at(profile, 0)->frames == profile_sample_at(profile, 3)->frames, "a stack is stored once");
	is_int(profile_sample_at(profile, 5)->depth, 0, "an empty stack");
	profile_destroy(profile);
	profile_destroy(NULL);
}

static void test_many(void)
{
	struct profile *profile = profile_create();
	const struct frame *first = NULL;
	uint32_t ids[100], stack[3];
	uint64_t total = 0;
	char name[32];
	unsigned int i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		profile_frame(profile, &(struct frame){FRAME_NATIVE, name, "m", 0}, &ids[i]);
		first = first ? first : profile_frame_at(profile, 0);
	}
	ok(first == profile_frame_at(profile, 0), "a frame does not move");
	for (i = 0; i < 200000; i++) {
		stack[0] = ids[i % 50];
		stack[1] = ids[i / 50 % 50];
		stack[2] = ids[i / 2500 % 20];
		profile_add(profile, "c", 1, 1, stack, 3, 1);
	}
	is_int(profile_sample_count(profile), 50000, "50,000 distinct stacks");
	for (i = 0; i < profile_sample_count(profile); i++)
		total += profile_sample_at(profile, i)->count;
	is_int(total, 200000, "no count lost");
	profile_destroy(profile);
}

static void test_long_names(void)
{
	struct frames *frames = frames_create();
	static char name[3 * FRAME_STRING_MAX];
	struct frame frame = {FRAME_NATIVE, name, "x", 0};
	uint32_t id = 0;

	memset(name, 'a', FRAME_STRING_MAX);
	frames_add(frames, &frame, &id);
	is_int(strlen(frames_at(frames, id)->name), FRAME_STRING_MAX, "the longest name that is kept");
	memset(name, 'a', sizeof(name) - 1);
	memcpy(name + FRAME_STRING_MAX - 1, "é", 2);
	frames_add(frames, &frame, &id);
	ok(!strcmp(frames_at(frames, id)->name + FRAME_STRING_MAX - 1, FRAME_CUT),
	   "longer ones are cut at a character's start");
	frames_destroy(frames);
}

static void test_forget(void)
{
	struct frames *frames = frames_create();
	size_t bytes, i;
	uint8_t used[1000] = {};
	uint32_t id = 0, again = 0;
	char name[64];

	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "a function of quite some length, number %zu", i);
		frames_add(frames, &(struct frame){FRAME_NATIVE, name, i % 2 ? "odd" : "even", 0}, &id);
		used[i] = i % 100 == 7;
	}
	bytes = frames_bytes(frames);
	ok(bytes > 1000 * 60, "the bytes of 1,000 frames: %zu", bytes);
	is_int(frames_forget(frames, used), 0, "all but ten are forgotten");
	ok(frames_bytes(frames) < bytes / 3, "and what they took is free: %zu bytes", frames_bytes(frames));
	is_int(frames_count(frames), 1000, "no number is moved");
	ok(!frames_at(frames, 6) && !frames_at(frames, 999), "what was forgotten is no more");
	is_str(frames_at(frames, 907)->name, "a function of quite some length, number 907",
	       "the others have their number");
	frames_add(frames, frames_at(frames, 907), &id);
	is_int(id, 907, "and are found under it");
	frames_add(frames, &(struct frame){FRAME_NATIVE, "new", "odd", 0}, &id);
	frames_add(frames, &(struct frame){FRAME_NATIVE, "new", "odd", 0}, &again);
	ok(id < 1000 && id == again && !used[id], "a new one takes a free number, once");
	for (i = 0; i < 989; i++) {
		snprintf(name, sizeof(name), "new %zu", i);
		frames_add(frames, &(struct frame){FRAME_NATIVE, name, "odd", 0}, &id);
	}
	is_int(frames_count(frames), 1000, "all free numbers are used");
	frames_add(frames, &(struct frame){FRAME_NATIVE, "one more", "odd", 0}, &id);
	is_int(id, 1000, "then there are more");
	frames_destroy(frames);
	frames_destroy(NULL);
}

static void test_loss(void)
{
	unsigned int i, found = 0, bad = 0;

	is_str(loss_key(LOSS_NO_RULE), "no-rule", "a reason's key");
	is_int(loss_kind(LOSS_NATIVE_DEPTH), LOSS_KIND_TRUNCATED, "truncated kind");
	is_int(loss_kind(LOSS_RING_FULL), LOSS_KIND_LOST, "lost kind");
	ok(!loss_key(LOSS_NONE) && !loss_key(LOSS_COUNT) && !loss_key(~0u), "numbers that are not in use");
	for (i = 0; i < LOSS_COUNT; i++) {
		found += loss_key(i) != NULL;
		bad += loss_key(i) && (!*loss_key(i) || !*loss_meaning(i) || !*loss_advice(i));
	}
	ok(found >= 21, "every reason has texts");
	is_int(bad, 0, "no text is empty");
}

static void test_near_names(void)
{
	static const char *const names[] = {"food", "foo", "other", "fooo", "foo", "", "A.fob", "fo\n", "bar"};
	struct near_names near = {.wanted = "fooo", .separator = '.'};
	char *text = NULL, longest[400];
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	memset(longest, 'f', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	near_names_write(&near, out);
	near_names_offer(&near, longest);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		near_names_offer(&near, names[i]);
	near_names_write(&near, out);
	fclose(out);
	is_str(text, "; near it: foo, food, A.fob", "near names: the nearest three, each once");
	free(text);
	near = (struct near_names){.wanted = "f\x1bo"};
	near_names_offer(&near, "a.f\x1b");
	near_names_offer(&near, "f\x1b");
	out = open_memstream(&text, &size);
	near_names_write(&near, out);
	fclose(out);
	is_str(text, "; near it: f\\x1b", "near names: safe for a line; without a separator only whole names");
	free(text);
}

int main(void)
{
	test_near_names();
	test_frame_text();
	test_printing();
	test_interning();
	test_many();
	test_long_names();
	test_forget();
	test_loss();
	return tap_done();
}
