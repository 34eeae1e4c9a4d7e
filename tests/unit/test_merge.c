// SPDX-License-Identifier: GPL-2.0-or-later
/* The merge of native and Python stacks: cases written as strings, and random stacks against a plain specification. */
#include "engine/merge.h"
#include "tap.h"

#define FRAMES_MAX 64

/*
 * Stacks are strings, outermost first. Native: a capital letter is a frame of the interpreter loop, a digit one of a
 * handler, '(' one that starts a greenlet, ')' one that switches, any other is neither; Python: a capital letter is an
 * entry frame. A leading
 * '~' says that the root is missing; what follows a '?' in Python is unsure. The number of a frame is its letter.
 */
static struct merge_result merge(const char *native, const char *second, char *merged)
{
	uint32_t native_frames[FRAMES_MAX], second_frames[FRAMES_MAX], i;
	uint8_t role[FRAMES_MAX];
	bool is_entry[FRAMES_MAX];
	struct merge_frame out[2 * FRAMES_MAX];
	struct merge_input input = {.native = native_frames,
				    .role = role,
				    .second = second_frames,
				    .is_entry = is_entry,
				    .native_rooted = *native != '~',
				    .second_rooted = *second != '~'};
	struct merge_result result;
	const char *unsure, *at;

	native += *native == '~';
	second += *second == '~';
	unsure = strchr(second, '?');
	input.native_count = (uint32_t)strlen(native);
	input.second_count = (uint32_t)strlen(second);
	if (unsure) {
		input.second_unsure = (uint32_t)strlen(unsure + 1);
		input.second_count = (uint32_t)(unsure - second) + input.second_unsure;
	}
	for (i = 0; i < input.native_count; i++) {
		native_frames[i] = (uint32_t)native[input.native_count - 1 - i];
		role[i] = native_frames[i] >= 'A' && native_frames[i] <= 'Z'   ? ROLE_LOOP
			  : native_frames[i] >= '0' && native_frames[i] <= '9' ? ROLE_HANDLER
			  : native_frames[i] == '('                            ? ROLE_START
			  : native_frames[i] == ')'                            ? ROLE_SWITCH
									       : ROLE_NATIVE;
	}
	for (i = 0; i < input.second_count; i++) {
		at = second + (input.second_count - 1 - i);
		second_frames[i] = (uint32_t)at[unsure && at >= unsure];
		is_entry[i] = second_frames[i] >= 'A' && second_frames[i] <= 'Z';
	}
	result = merge_stacks(&input, out);
	for (i = 0; i < result.count; i++) {
		*merged++ = out[i].second ? '.' : '-';
		*merged++ = (char)out[i].frame;
	}
	*merged = '\0';
	return result;
}

static void test_cases(void)
{
	static const struct {
		const char *native, *second, *merged, *name;
		uint32_t evals, groups; /* unpaired */
		bool entering;
	} cases[] = {
		{"", "", "", "nothing", 0, 0, false},
		{"smc", "", "-s-m-c", "native only", 0, 0, false},
		{"", "Pq", ".P.q", "Python only", 0, 1, false},
		{"smE", "P", "-s-m.P", "one loop, one frame", 0, 0, false},
		{"smEc", "Pqr", "-s-m.P.q.r-c", "a group of many frames", 0, 0, false},
		{"smEvsFm", "PqK", "-s-m.P.q-v-s.K-m", "two groups, native frames between and after", 0, 0, false},
		{"EEE", "PQR", ".P.Q.R", "3.10: each frame its own loop", 0, 0, false},
		{"smEvF", "Pq", "-s-m.P.q-v-F", "entering: the innermost loop has no frame yet", 1, 0, true},
		{"smEvFw", "Pq", "-s-m.P.q-v-F-w", "entering, with a helper below", 1, 0, true},
		{"smE", "", "-s-m-E", "the first loop has no frame yet", 1, 0, true},
		{"EFGh", "P", ".P-F-G-h", "two loops without frames", 2, 0, false},
		{"smE", "PQr", "-s-m.P.Q.r", "more groups than loops", 0, 1, false},
		{"sm", "PqR", "-s-m.P.q.R", "no loops known", 0, 2, false},
		{"smEF", "pqR", "-s-m.p.q.R", "the outermost entry frame is missing", 0, 0, false},
		{"~EvF", "PqRsT", ".P.q.R.s-v.T", "native root missing: at the leaf", 0, 1, false},
		{"~vF", "PQR", ".P.Q-v.R", "native root missing, two groups more", 0, 2, false},
		{"~EF", "PQ", ".P.Q", "native root missing, all there", 0, 0, false},
		{"smEvF", "~Q", "-s-m-E-v.Q", "Python root missing: at the leaf", 1, 0, false},
		{"smEvF", "~qR", "-s-m.q-v.R", "Python root missing in the middle of a group", 0, 0, false},
		{"~EvF", "~Q", "-E-v.Q", "both roots missing", 1, 0, false},
		{"~c", "~", "-c", "nothing to pair", 0, 0, false},
		{"smEv(wFc", "P", "-(-w.P-c", "a greenlet", 0, 0, false},
		{"~Ev(wFcG", "PQ", "-(-w.P-c.Q", "a greenlet, what is below is damaged", 0, 0, false},
		{"smEv(wFc(dG", "P", "-(-d.P", "a greenlet that another one started", 0, 0, false},
		{"smEv(wFcG", "P", "-(-w.P-c-G", "entering in a greenlet", 1, 0, true},
		{"smEv(w", "", "-(-w", "a greenlet that runs no Python yet", 0, 0, false},
		{"smEv(w", "P", "-s-m.P-v-(-w", "before the switch to a new greenlet", 0, 0, false},
		{"smEv)", "P", "-s-m-E-v-)", "while greenlets are switched", 1, 0, true},
		{"smEv)(wFc)d", "P", "-(-w-F-c-)-d", "in a greenlet's own", 1, 0, true},
		{"smEv)(wFc", "P", "-(-w.P-c", "a switch further out is over", 0, 0, false},
		{"smE1vF2c", "PqR", "-s-m.P.q-v.R-c", "handlers under their loops", 0, 0, false},
		{"smE1vF2", "Pq", "-s-m.P.q-v-F", "entering through a handler", 1, 0, true},
		{"sm1v2c", "PR", "-s-m.P-v.R-c", "handlers without a loop's frame", 0, 0, false},
		{"sE12", "PR", "-s.P.R", "a handler called by another one is a run of its own", 0, 0, false},
		{"~1E2", "PR", ".P.R", "the outermost frame is a handler", 0, 0, false},
		{"~EF", "", "-E-F", "no Python stack at all, native root missing", 2, 0, false},
		{"EvFGc", "P?QR", ".P-v.Q.R-c", "frames that may be another thread's, and loops for them", 0, 0, false},
		{"EvFGHc", "P?QR", ".P-v.Q.R-H-c", "and one more that is entering", 1, 0, true},
		{"Evc", "P?QR", ".P-v-c", "no loops for them", 0, 0, false},
		{"EvFc", "P?QR", ".P-v-F-c", "not enough loops for them", 1, 0, true},
		{"vc", "?QR", "-v-c", "no loops at all", 0, 0, false},
		{"EFc", "?QR", ".Q.R-c", "a thread that has none but these", 0, 0, false},
		{"~EvFc", "P?Q", "-E-v-F-c", "frames that may be another thread's, native root missing", 2, 0, false},
		{"smEv(wFGc", "P?Q", "-(-w.P.Q-c", "in a greenlet", 0, 0, false},
	};
	char merged[4 * FRAMES_MAX + 1];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct merge_result result = merge(cases[i].native, cases[i].second, merged);

		is_str(merged, cases[i].merged, "%s", cases[i].name);
		ok(result.unpaired_eval == cases[i].evals && result.unpaired_groups == cases[i].groups &&
			   result.entering == cases[i].entering,
		   "%s: unpaired", cases[i].name);
	}
}

/*
 * The specification: cut the Python stack into groups, outermost first, each of which ends before the next entry frame.
 * Number loop frames and groups from the outermost; with a root missing, let the last ones have the same number. Write
 * the native stack with each loop frame replaced by its group; groups without a loop come first when they are before
 * the first, and last when they are behind the last.
 */
static uint32_t specify(const char *native, const char *second, char *merged)
{
	bool rooted = *native != '~' && *second != '~';
	const char *group[FRAMES_MAX + 1];
	int groups = 0, evals = 0, shift, next, unpaired = 0, i;

	native += *native == '~';
	second += *second == '~';
	for (i = 0; second[i]; i++)
		if (!i || (second[i] >= 'A' && second[i] <= 'Z'))
			group[groups++] = second + i;
	group[groups] = second + i;
	for (i = 0; native[i]; i++)
		evals += native[i] >= 'A' && native[i] <= 'Z';
	shift = rooted ? 0 : evals - groups; /* loop N runs group N - shift */
#define PUT_GROUP(n)                                                                                                   \
	for (const char *p_ = group[n]; p_ < group[(n) + 1]; p_++)                                                     \
	*merged++ = '.', *merged++ = *p_
	for (next = 0; next < -shift && next < groups; next++)
		PUT_GROUP(next);
	for (i = 0, next = 0; native[i]; i++) {
		if (native[i] < 'A' || native[i] > 'Z') {
			*merged++ = '-', *merged++ = native[i];
			continue;
		}
		if (next >= shift && next - shift < groups) {
			PUT_GROUP(next - shift);
		} else {
			*merged++ = '-', *merged++ = native[i];
			unpaired++;
		}
		next++;
	}
	for (next = evals - shift > 0 ? evals - shift : 0; next < groups; next++)
		PUT_GROUP(next);
	*merged = '\0';
	return (uint32_t)unpaired;
}

static void test_property(void)
{
	char native[FRAMES_MAX], second[FRAMES_MAX], got[4 * FRAMES_MAX + 1], expected[4 * FRAMES_MAX + 1];
	uint64_t random = 88172645463325252ull;
	int round, wrong = 0;

	for (round = 0; round < 200000; round++) {
		char *const stacks[] = {native, second};
		struct merge_result result;
		uint32_t unpaired;
		int s;

		for (s = 0; s < 2; s++) {
			char *at = stacks[s];
			int count;

			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			count = (int)(random >> 20 & 15);
			if (!(random >> 30 & 3))
				*at++ = '~';
			for (; count; count--)
				*at++ = (char)((random >> (32 + count) & 1 ? 'A' : 'a') + count);
			*at = '\0';
		}
		unpaired = specify(native, second, expected);
		result = merge(native, second, got);
		if (strcmp(got, expected) || result.unpaired_eval != unpaired || result.count * 2 != strlen(got)) {
			if (!wrong++)
				printf("# %s + %s: got %s (%u), expected %s (%u)\n", native, second, got,
				       result.unpaired_eval, expected, unpaired);
		}
	}
	is_int(wrong, 0, "random stacks are merged as specified");
}

int main(void)
{
	test_cases();
	test_property();
	return tap_done();
}
