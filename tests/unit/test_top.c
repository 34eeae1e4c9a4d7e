// SPDX-License-Identifier: GPL-2.0-or-later
/* The ranking, the view and the browser of strata top, on windows that are made here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "top/browser.h"
#include "top/ranking.h"
#include "top/view.h"

#define HZ   100
#define TICK 10000000 /* ns */

static struct profile *new_window(double seconds)
{
	struct profile *profile = profile_create();

	profile_info(profile)->duration_s = seconds;
	profile_info(profile)->frequency = HZ;
	return profile;
}

static uint32_t frame(struct profile *profile, enum frame_layer layer, const char *name, const char *file, int line)
{
	const struct frame frame = {.layer = layer,
				    .name = name,
				    .file = file,
				    .line = line,
				    .path = "",
				    .runtime = layer == FRAME_RUNTIME ? "python" : "",
				    .build_id = ""};
	uint32_t id = 0;

	profile_frame(profile, &frame, &id);
	return id;
}

static void sample(struct profile *profile, int tid, uint64_t count, const uint32_t *frames, uint32_t depth)
{
	const struct profile_sample sample = {
		.comm = "w;orker", .pid = 1 << 30, .tid = tid, .count = count, .frames = frames, .depth = depth};

	profile_add_sample(profile, &sample, NULL);
	profile_quality(profile)->samples += count;
}

static const struct ranking_row *row_of(const struct ranking *ranking, enum ranking_kind kind, const char *name)
{
	const struct ranking_row *rows;
	size_t count, i;

	rows = ranking_rows(ranking, kind, &count);
	for (i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static bool has_counts(const struct ranking_row *row, uint64_t own, uint64_t own_python, uint64_t total)
{
	return row && row->now.own[RANKING_INNERMOST] == own * TICK &&
	       row->now.own[RANKING_RUNTIME] == own_python * TICK && row->now.total == total * TICK;
}

/* main, f (line 1) twice, and `list_sort` in f's second call or the kernel. */
static struct profile *usual_window(void)
{
	struct profile *window = new_window(1);
	uint32_t stack[4] = {frame(window, FRAME_NATIVE, "main", "app", 0),
			     frame(window, FRAME_RUNTIME, "f", "x.py", 1), frame(window, FRAME_RUNTIME, "f", "x.py", 2),
			     frame(window, FRAME_NATIVE, "list_sort", "libpython.so", 0)};

	sample(window, 10, 30, stack, 4);
	sample(window, 11, 20, stack, 3);
	stack[3] = frame(window, FRAME_KERNEL, "vfs_read", "", 0);
	sample(window, 11, 5, stack, 4);
	return window;
}

static void test_counts(void)
{
	struct ranking *ranking = ranking_create();
	struct profile *window = usual_window();

	is_int(ranking_add(ranking, window), 0, "a window");
	ok(has_counts(row_of(ranking, RANKING_FUNCTION, "f (x.py)"), 20, 55, 55), "a recursive function counts once");
	ok(has_counts(row_of(ranking, RANKING_LINE, "f (x.py:1)"), 0, 0, 55), "lines are told apart");
	ok(has_counts(row_of(ranking, RANKING_LINE, "f (x.py:2)"), 20, 55, 55), "the innermost one has the time");
	ok(has_counts(row_of(ranking, RANKING_FUNCTION, "list_sort (libpython.so)"), 30, 0, 30), "native");
	ok(has_counts(row_of(ranking, RANKING_FUNCTION, "vfs_read [k]"), 5, 0, 5), "kernel");
	ok(has_counts(row_of(ranking, RANKING_MODULE, "x.py"), 20, 55, 55), "a module");
	ok(has_counts(row_of(ranking, RANKING_MODULE, "[kernel]"), 5, 0, 5), "the kernel is a module");
	ok(has_counts(row_of(ranking, RANKING_THREAD, "11 w:orker (pid 1073741824)"), 25, 25, 25), "a thread");
	ok(has_counts(row_of(ranking, RANKING_PROCESS, "1073741824 w:orker"), 55, 55, 55),
	   "a process that is gone has the thread's name");
	is_int((long)ranking_now(ranking).ns, 55l * TICK, "all");
	profile_destroy(window);

	window = new_window(2);
	is_int(ranking_add(ranking, window), 0, "an empty window");
	ok(has_counts(row_of(ranking, RANKING_FUNCTION, "f (x.py)"), 0, 0, 0), "has nothing now");
	is_int((long)row_of(ranking, RANKING_FUNCTION, "f (x.py)")->all.total, 55l * TICK, "but since the start");
	ok(ranking_all(ranking).seconds == 3 && ranking_now(ranking).seconds == 2, "times");
	ranking_restart(ranking);
	is_int((long)row_of(ranking, RANKING_FUNCTION, "f (x.py)")->all.total, 0, "begun anew");
	profile_destroy(window);
	ranking_destroy(ranking);
}

/* More functions than there is room for: the hot one stays. */
static void test_bound(void)
{
	struct ranking *ranking = ranking_create();
	unsigned int window, i, bad = 0;
	size_t count, most = 0;

	for (window = 0; window < 4; window++) {
		struct profile *profile = new_window(1);

		for (i = 0; i < RANKING_ROWS_MAX / 2; i++) {
			char name[32];
			uint32_t stack[2];

			snprintf(name, sizeof(name), "f%u_%u", window, i);
			stack[0] = frame(profile, FRAME_NATIVE, "hot", "app", 0);
			stack[1] = frame(profile, FRAME_NATIVE, name, "app", 0);
			sample(profile, (int)i + 1, 1, stack, 2);
		}
		bad += ranking_add(ranking, profile) != 0;
		profile_destroy(profile);
		ranking_rows(ranking, RANKING_FUNCTION, &count);
		most = count > most ? count : most;
	}
	is_int(bad, 0, "many functions");
	ok(most <= RANKING_ROWS_MAX + RANKING_ROWS_MAX / 2 + 1, "their number has a bound");
	is_int((long)row_of(ranking, RANKING_FUNCTION, "hot (app)")->all.total, 2l * RANKING_ROWS_MAX * TICK,
	       "nothing of the hot one is lost");
	is_int((long)ranking_all(ranking).ns, 2l * RANKING_ROWS_MAX * TICK, "nor of the sum");
	ranking_destroy(ranking);
}

static void test_view(void)
{
	struct ranking *ranking = ranking_create();
	struct profile *window = usual_window();
	struct view view = {};
	struct view_figures figures;
	struct diag diag = {};

	ranking_add(ranking, window);
	is_int(view_refresh(&view, ranking), 0, "a view");
	is_int((long)view.rows.count, 4, "all functions");
	is_str(view.rows.at[0].name, "list_sort (libpython.so)", "most own time first");
	figures = view_figures(&view, ranking, &view.rows.at[0]);
	ok(figures.own_percent == 30 && figures.total_percent == 30 && figures.own_s == 0.3, "figures");
	ok(view_busy_percent(ranking) == 55, "and of all");
	view.sort = VIEW_TOTAL;
	view_refresh(&view, ranking);
	is_str(view.rows.at[0].name, "f (x.py)", "by total, then by own");
	is_str(view.rows.at[1].name, "main (app)", "then the next");
	view.layers = VIEW_RUNTIME;
	view.sort = VIEW_OWN;
	view_refresh(&view, ranking);
	is_int((long)view.rows.count, 1, "Python only");
	ok(view_figures(&view, ranking, &view.rows.at[0]).own_percent == 55, "what it calls in C is its own then");
	view.layers = VIEW_ALL;
	is_int(view_set_filter(&view, "^vfs_|sort", &diag), 0, "a filter");
	view_refresh(&view, ranking);
	is_int((long)view.rows.count, 2, "filters");
	ok(view_set_filter(&view, "(", &diag) < 0 && strstr(diag.text, "(:"), "a wrong one has a message");
	ok(view_set_filter(&view, "((a{1,255}){1,255}){1,255}", &diag) < 0, "one without bounds is refused");
	view_refresh(&view, ranking);
	is_int((long)view.rows.count, 2, "the old one stays");
	view_set_filter(&view, "", &diag);
	view_refresh(&view, ranking);
	is_int((long)view.rows.count, 4, "none");
	view_deinit(&view);
	profile_destroy(window);
	ranking_destroy(ranking);
}

static void type(struct browser *browser, const char *text)
{
	for (; *text; text++)
		browser_key(browser, *text, 10);
}

static void test_browser(void)
{
	struct ranking *ranking = ranking_create();
	struct profile *window = usual_window();
	struct browser browser = {};

	ranking_add(ranking, window);
	browser_refresh(&browser, ranking, window);
	browser_key(&browser, BROWSER_DOWN, 10);
	is_str(browser.selected_name, "f (x.py)", "the second row");
	browser_key(&browser, 't', 10);
	browser_refresh(&browser, ranking, window);
	is_int((long)browser.selected, 0, "stays selected when the order changes");
	browser_key(&browser, BROWSER_ENTER, 10);
	browser_refresh(&browser, ranking, window);
	ok(browser.mode == BROWSER_STACK && browser.stack.found, "its stack");
	ok(browser.stack.count == 30ull * TICK && browser.stack.with == 55ull * TICK &&
		   browser.stack.all == 55ull * TICK, "the most frequent one");
	browser_key(&browser, BROWSER_ESCAPE, 10);
	is_int(browser.mode, BROWSER_LIST, "back");
	browser_key(&browser, '/', 10);
	type(&browser, "vfx");
	browser_key(&browser, BROWSER_BACK, 10);
	browser_key(&browser, 0xfc, 10);
	browser_key(&browser, BROWSER_BACK, 10);
	type(&browser, "s");
	is_str(browser.line, "vfs", "typed, and taken back by character");
	browser_key(&browser, BROWSER_ENTER, 10);
	browser_refresh(&browser, ranking, window);
	is_int((long)browser.view.rows.count, 1, "filtered");
	browser_key(&browser, '/', 10);
	type(&browser, "(");
	browser_key(&browser, BROWSER_ENTER, 10);
	ok(*browser.message && !strcmp(browser.filter, "vfs"), "a wrong filter has a message, and changes nothing");
	browser_key(&browser, '4', 10);
	browser_refresh(&browser, ranking, window);
	is_int(browser.view.kind, RANKING_THREAD, "threads");
	is_int((long)browser.view.rows.count, 0, "none of them fits");
	browser_key(&browser, BROWSER_DOWN, 10);
	browser_key(&browser, BROWSER_END, 10);
	browser_key(&browser, BROWSER_PAGE_UP, 0);
	browser_key(&browser, BROWSER_ENTER, 10);
	browser_refresh(&browser, ranking, window);
	ok(!browser.stack.found, "no row, no stack");
	browser_key(&browser, BROWSER_ESCAPE, 10);
	is_int(browser_key(&browser, 'w', 10), BROWSER_NOTHING, "a name is asked for");
	is_str(browser.line, "top.html", "with a proposal");
	is_int(browser_key(&browser, BROWSER_ENTER, 10), BROWSER_WRITE, "it is to be written");
	is_int(browser_key(&browser, 'r', 10), BROWSER_RESTART, "begin anew");
	is_int(browser_key(&browser, 'q', 10), BROWSER_QUIT, "the end");
	browser_deinit(&browser);
	profile_destroy(window);
	ranking_destroy(ranking);
}

/* Of 40 samples of f() in one process 30 are with the GIL; another process, which has none, has 7 of main() only. */
static void test_gil(void)
{
	struct ranking *ranking = ranking_create();
	struct profile *window = new_window(1);
	uint32_t stack[2] = {frame(window, FRAME_NATIVE, "main", "app", 0),
			     frame(window, FRAME_RUNTIME, "f", "x.py", 1)};
	struct profile_sample sample = {.comm = "a",
					.pid = 1 << 30,
					.tid = 1,
					.count = 30,
					.lockable = 30,
					.held = 30,
					.frames = stack,
					.depth = 2};
	struct view view = {.kind = RANKING_THREAD, .sort = VIEW_NAME};
	const struct ranking_row *row;
	char text[512] = "";
	FILE *out;

	profile_add_sample(window, &sample, NULL);
	sample.count = sample.lockable = 10;
	sample.held = 0;
	profile_add_sample(window, &sample, NULL);
	is_int((long)profile_sample_at(window, 0)->held, 30, "the same stack, with the GIL and without");
	is_int((long)profile_sample_at(window, 0)->lockable, 40, "of all");
	sample = (struct profile_sample){
		.comm = "b", .pid = 1 << 30 | 1, .tid = 2, .count = 7, .frames = stack, .depth = 1};
	profile_add_sample(window, &sample, NULL);
	ranking_add(ranking, window);
	row = row_of(ranking, RANKING_FUNCTION, "main (app)");
	ok(row && row->now.total == 47ull * TICK && row->now.lockable == 40ull * TICK &&
		   row->now.held == 30ull * TICK, "a function of both");
	view_refresh(&view, ranking);
	out = fmemopen(text, sizeof(text), "w");
	view_write(out, &view, ranking, 0);
	fclose(out);
	is_str(text,
	       "   own%  total%     own s   total s   GIL%  thread\n"
	       "   40.0    40.0      0.40      0.40   30.0  1 a (pid 1073741824)\n"
	       "    7.0     7.0      0.07      0.07      -  2 b (pid 1073741825)\n",
	       "the column");
	view_deinit(&view);
	profile_destroy(window);
	ranking_destroy(ranking);
}

/* One thread waits for the GIL for 0.4 s; another one runs with it, and waits for a file, 0.3 s each. */
static void test_waits(void)
{
	struct ranking *ranking = ranking_create();
	struct profile *window = new_window(1);
	uint32_t stack[2] = {frame(window, FRAME_RUNTIME, "f", "x.py", 1),
			     frame(window, FRAME_MARK, "[waiting: GIL]", "", 0)};
	struct profile_sample sample = {
		.comm = "a",
		.pid = 1 << 30,
		.tid = 1,
		.count = 5,
		.lockable = 5,
		.weight = 400000000,
		.frames = stack,
		.depth = 2,
	};
	struct view view = {.mode = VIEW_WALL, .kind = RANKING_THREAD, .sort = VIEW_NAME};
	struct browser browser = {};
	char text[512] = "";
	FILE *out;

	profile_info(window)->weighed = true;
	profile_add_sample(window, &sample, NULL);
	sample = (struct profile_sample){.comm = "a",
					 .pid = 1 << 30,
					 .tid = 2,
					 .count = 30,
					 .lockable = 30,
					 .held = 30,
					 .weight = 300000000,
					 .frames = stack,
					 .depth = 1};
	profile_add_sample(window, &sample, NULL);
	stack[1] = frame(window, FRAME_MARK, "[waiting: read]", "", 0);
	sample.held = 0;
	sample.depth = 2;
	profile_add_sample(window, &sample, NULL);
	ranking_add(ranking, window);
	ok(view_busy_percent(ranking) == 100, "all waits and runs");
	view_refresh(&view, ranking);
	out = fmemopen(text, sizeof(text), "w");
	view_write(out, &view, ranking, 1);
	fclose(out);
	is_str(text,
	       "   own%  total%     own s   total s   GIL%  GILw%  thread\n"
	       "   40.0    40.0      0.40      0.40    0.0   40.0  1 a (pid 1073741824)\n"
	       "                                                   and 1 more\n",
	       "who waits for the GIL");
	is_int(browser_key(&browser, 'm', 10), BROWSER_MODE, "another kind of time");
	is_int(browser.view.mode, VIEW_OFF_CPU, "off the CPU");
	browser_key(&browser, 'm', 10);
	browser_key(&browser, 'm', 10);
	is_int(browser.view.mode, VIEW_CPU, "and back");
	browser_deinit(&browser);
	view_deinit(&view);
	profile_destroy(window);
	ranking_destroy(ranking);
}

int main(void)
{
	test_counts();
	test_bound();
	test_view();
	test_gil();
	test_waits();
	test_browser();
	return tap_done();
}
