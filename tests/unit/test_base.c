// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/attempt.h"
#include "base/cursor.h"
#include "base/diag.h"
#include "base/near.h"
#include "base/pattern.h"
#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"
#include "tap.h"

static void test_cursor(void)
{
	const uint8_t bytes[] = {1, 0x34, 0x12, 0xe5, 0x8e, 0x26, 0x7f, 'h', 'i', 0, 'x'};
	struct cursor c = cursor_init(bytes, sizeof(bytes));

	is_int(cursor_u8(&c), 1, "u8");
	is_int(cursor_u16(&c), 0x1234, "u16, unaligned");
	is_int(cursor_uleb128(&c), 624485, "uleb128");
	is_int(cursor_sleb128(&c), -1, "sleb128");
	is_str(cursor_string(&c), "hi", "string");
	ok(!cursor_string(&c) && !cursor_ok(&c), "an unterminated string fails the cursor");
	is_int(cursor_u8(&c), 0, "a failed cursor reads 0");
	is_int(cursor_position(&c), 10, "and tells where it stopped");
	c = cursor_init(bytes, 3);
	ok(!cursor_u32(&c) && !cursor_ok(&c) && cursor_position(&c) == 0, "a read past the end moves nothing");
}

static void test_table(void)
{
	struct table table = {};
	uint64_t i, value = 0;
	bool right = true;

	for (i = 1; i <= 10000; i++)
		table_set(&table, i * 8, i);
	for (i = 1; i <= 10000; i += 2)
		right &= table_remove(&table, i * 8);
	ok(right, "every key is removed once");
	for (i = 1; i <= 10000; i++)
		right &= table_get(&table, i * 8, &value) == !(i & 1) && ((i & 1) || value == i);
	ok(right, "the others are still found");
	is_int(table.count, 5000, "count");
	ok(table_set(&table, 0, 1) == -EINVAL, "key 0 is refused");
	table_deinit(&table);
}

static void test_strings(void)
{
	struct string_pool *pool = string_pool_create();
	const char *a = string_intern(pool, "alpha");

	ok(a == string_intern_bytes(pool, "alphabet", 5), "equal strings are one");
	ok(a != string_intern(pool, "beta"), "others are not");
	is_str(string_intern_format(pool, "%d-%s", 7, "x"), "7-x", "formatted");
	string_pool_destroy(pool);
}

static void test_diag(void)
{
	struct diag diag = {};

	is_int(diag_fail(&diag, ENOENT, "t.tag", "%s: no such\nthing", "x"), -ENOENT, "returns the errno");
	is_str(diag.text, "x: no such?thing", "control characters are replaced");
	diag_prefix(&diag, "opening");
	is_str(diag.text, "opening: x: no such?thing", "prefix");
}

static int work_well(void *context, struct diag *diag)
{
	(void)diag;
	*(int *)context = 7;
	return 5;
}

static int work_badly(void *context, struct diag *diag)
{
	return diag_fail(diag, ENOENT, "test.bad", "%s", (const char *)context);
}

static int work_busily(void *context, struct diag *diag)
{
	struct timespec now;

	(void)context;
	(void)diag;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_nsec < 500000000 && !now.tv_sec);
	return 0;
}

static int work_never(void *context, struct diag *diag)
{
	(void)context;
	while (!diag->tag)
		pause();
	return 0;
}

static int work_dying(void *context, struct diag *diag)
{
	(void)context;
	(void)diag;
	return kill(getpid(), SIGKILL);
}

/* Gives a copy of the descriptor that it may keep; ENOTTY when it has another one of its parent's, too. */
static int open_copy(void *context)
{
	const int *ends = context;

	return fcntl(ends[1], F_GETFD) >= 0 ? -ENOTTY : dup(ends[0]);
}

static int open_never(void *context)
{
	while (context)
		pause();
	return 0;
}

static void test_attempt_descriptor(void)
{
	sigset_t blocked;
	char byte = 0;
	int ends[2], got;

	is_int(pipe(ends), 0, "a pipe");
	is_int((int)write(ends[1], "x", 1), 1, "with a byte");
	got = attempt_descriptor(60, ends[0], open_copy, ends);
	ok(got >= 0 && got != ends[0] && read(got, &byte, 1) == 1 && byte == 'x', "a child's descriptor, here");
	close(got);
	close(ends[1]);
	is_int(attempt_descriptor(60, ends[0], open_copy, (int[2]){ends[0], ends[0]}), -ENOTTY, "its failure");
	is_int(attempt_descriptor(0.3, ends[0], open_never, ends), -ETIMEDOUT, "one that only waits is left");
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	raise(SIGTERM);
	is_int(attempt_descriptor(60, ends[0], open_never, ends), -EINTR, "and when a signal came");
	sigtimedwait(&blocked, NULL, &(struct timespec){});
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	close(ends[0]);
}

static void test_attempt(void)
{
	struct diag diag = {};
	int here = 0;

	is_int(attempt(60, "it", work_well, &here, &diag), 5, "attempt: what the child returns");
	is_int(here, 0, "its memory is its own");
	is_int(attempt(60, "it", work_badly, (void *)"why", &diag), -ENOENT, "a failure");
	is_str(diag.text, "why", "with its words");
	diag_clear(&diag);
	is_int(attempt(0.3, "it", work_busily, NULL, &diag), 0, "one that computes is waited for");
	is_int(attempt(0.3, "/a/b", work_never, NULL, &diag), -ETIMEDOUT, "one that only waits is not");
	is_str(diag.text, "/a/b: its file system does not answer", "which has words, too");
	is_int(attempt(60, "it", work_dying, NULL, NULL), -EIO, "one that is killed");
	test_attempt_descriptor();
}

/* The one of some names that is near another; "". */
static void test_near_one(const char *wanted, const char *expected)
{
	static const char *const names[] = {"www-data", "root", "nginx", "nginx-cache", "a", "", "backup"};
	struct near near = {.wanted = wanted};
	char longest[400];
	size_t i;

	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	near_offer(&near, longest);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		near_offer(&near, names[i]);
	is_str(near.best, expected, "near '%.20s'", wanted);
}

static void test_near(void)
{
	char longest[400];

	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	test_near_one("ngnix", "");
	test_near_one("ngnixx", "nginx");
	test_near_one("NGINX", "nginx");
	test_near_one("nginx-cash", "nginx-cache");
	test_near_one("cache", "nginx-cache");
	test_near_one("roo", "root");
	test_near_one("www", "www-data");
	test_near_one("b", "");
	test_near_one("", "");
	test_near_one("sshd", "");
	test_near_one(longest, "");
}

static void test_pattern(void)
{
	struct diag diag = {};
	char text[300];
	regex_t pattern;

	is_int(pattern_compile("^a|b$", &pattern, &diag), 0, "a pattern");
	ok(!regexec(&pattern, "cb", 0, NULL, 0) && regexec(&pattern, "ba", 0, NULL, 0), "is an extended one");
	regfree(&pattern);
	is_int(pattern_compile("(", &pattern, &diag), -EINVAL, "none");
	ok(!strncmp(diag.text, "no regular expression: ", 23), "with a reason: %s", diag.text);
	is_int(pattern_compile("(a{99}){99}", &pattern, &diag), -EINVAL, "one that would take all memory");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	is_int(pattern_compile(text, &pattern, &diag), -EINVAL, "one that is too long");
}

int main(void)
{
	VEC(int) numbers = {};
	int i, sum = 0;

	for (i = 0; i < 100; i++)
		vec_push(&numbers, i);
	for (i = 0; i < 100; i++)
		sum += numbers.at[i];
	is_int(sum, 4950, "vec");
	vec_free(&numbers);
	test_cursor();
	test_table();
	test_strings();
	test_diag();
	test_attempt();
	test_near();
	test_pattern();
	return tap_done();
}
