/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tap: unit tests that speak TAP (testanything.org). A test is a program: it calls ok() and its kin any number of
 * times and returns tap_done() from main. The plan is printed last.
 */
#ifndef STRATA_TESTS_TAP_H
#define STRATA_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_run, tap_failed;

/*
 * How many of `all` random rounds are made. The plain build makes all: it finds wrong results. Under the sanitizers a
 * round takes some twenty times as long, and what they find is not rare: a fifth, or all from TEST_SCALE 4 on.
 */
__attribute__((unused)) static int tap_rounds(int all)
{
#ifdef __SANITIZE_ADDRESS__
	const char *scale = getenv("TEST_SCALE");

	if (!scale || atof(scale) < 4)
		return all > 5 ? all / 5 : 1;
#endif
	return all;
}

__attribute__((format(printf, 2, 3), unused)) static bool ok(bool passed, const char *fmt, ...)
{
	va_list args;

	tap_run++;
	if (!passed)
		tap_failed++;
	printf("%sok %d - ", passed ? "" : "not ", tap_run);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return passed;
}

#define is_int(got, expected, ...)                                                                                     \
	({                                                                                                             \
		int64_t got_ = (int64_t)(got), expected_ = (int64_t)(expected);                                        \
		bool same_ = ok(got_ == expected_, __VA_ARGS__);                                                       \
		if (!same_)                                                                                            \
			printf("# %s:%d: got %" PRId64 " (%#" PRIx64 "), expected %" PRId64 " (%#" PRIx64 ")\n",       \
			       __FILE__, __LINE__, got_, (uint64_t)got_, expected_, (uint64_t)expected_);              \
		same_;                                                                                                 \
	})

#define is_str(got, expected, ...)                                                                                     \
	({                                                                                                             \
		const char *got_ = (got), *expected_ = (expected);                                                     \
		bool same_ = ok(got_ && expected_ && !strcmp(got_, expected_), __VA_ARGS__);                           \
		if (!same_)                                                                                            \
			printf("# %s:%d: got \"%s\", expected \"%s\"\n", __FILE__, __LINE__, got_ ? got_ : "(null)",   \
			       expected_ ? expected_ : "(null)");                                                      \
		same_;                                                                                                 \
	})

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_run);
	return tap_failed ? 1 : 0;
}

#endif
