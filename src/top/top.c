// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/top.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "abi/limits.h"
#include "base/time.h"
#include "engine/session.h"
#include "top/browser.h"
#include "top/ranking.h"
#include "top/screen.h"

struct top {
	const struct top_options *options;
	struct session session;
	struct ranking *ranking;
	struct profile *window; /* that is shown; NULL: there was none yet */
	struct browser browser;
	struct screen_facts facts;
	unsigned long windows; /* so far */
	double due;            /* the end of the window, CLOCK_MONOTONIC seconds */
};

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "top.memory", "out of memory");
}

/* Takes the window that ends now. While it is paused only the engine hears of it. */
static int collect(struct top *top, struct diag *diag)
{
	struct profile *window = profile_create();
	int err = window ? engine_collect(top->session.engine, window) : -ENOMEM;

	if (err || top->browser.paused) {
		profile_destroy(window);
		return err ? no_memory(diag) : 0;
	}
	profile_info(window)->command = profile_string(window, top->options->target_text) ?: "";
	profile_destroy(top->window);
	top->window = window;
	top->windows++;
	err = ranking_add(top->ranking, window);
	browser_note(&top->browser, view_busy_percent(top->ranking));
	return err || browser_refresh(&top->browser, top->ranking, window) ? no_memory(diag) : 0;
}

static void write_window(struct top *top)
{
	const struct profile_quality *quality = profile_get_quality(top->window);
	struct ranking_sums now = ranking_now(top->ranking);
	FILE *out = top->options->out;

	fprintf(out, "%swindow %lu: %.2f s, %llu samples, %s %.1f %%, %.2f %% complete\n",
		top->windows > 1 ? "\n" : "", top->windows, now.seconds, (unsigned long long)quality->samples,
		view_mode_names[top->browser.view.mode], view_busy_percent(top->ranking),
		quality->samples ? 100.0 * (double)quality->complete / (double)quality->samples : 100.0);
	view_write(out, &top->browser.view, top->ranking, top->options->rows);
	fflush(out);
}

/* 0, or an error that ends it. */
static int run_batch(struct top *top, struct diag *diag)
{
	enum session_event event = SESSION_NOTHING;
	int err = 0;

	while (!err && event != SESSION_SIGNAL && event != SESSION_GONE && top->windows < top->options->batch) {
		err = session_wait(&top->session, top->due, &event);
		if (err)
			return diag_fail(diag, -err, "top.ended", "sampling ended: %s", strerror(-err));
		if (event != SESSION_DUE && event != SESSION_GONE)
			continue;
		if (event == SESSION_GONE && engine_stop(top->session.engine))
			return no_memory(diag);
		top->due += top->options->interval_s;
		err = collect(top, diag);
		if (!err)
			write_window(top);
		if (ferror(top->options->out))
			return diag_fail(diag, EIO, "top.output", "the output cannot be written");
	}
	return err;
}

static void save(struct top *top)
{
	struct browser *browser = &top->browser;
	struct diag diag = {};

	if (!top->window)
		snprintf(browser->message, sizeof(browser->message), "there was no window yet");
	else if (top->options->save(browser->line, top->window, &diag))
		snprintf(browser->message, sizeof(browser->message), "%.500s", diag.text);
	else
		snprintf(browser->message, sizeof(browser->message), "wrote %.255s", browser->line);
}

static int start(struct top *top, struct diag *diag)
{
	const struct top_options *options = top->options;
	enum view_mode mode = top->browser.view.mode;
	const struct engine_options engine = {.everything = options->targets.all,
					      .filter = options->filters,
					      .frequency = mode == VIEW_OFF_CPU ? 0 : options->frequency,
					      .off_cpu_rate = mode == VIEW_CPU ? 0 : options->off_cpu_rate,
					      .waits_by_window = true,
					      .sample_ns = SAMPLE_TIME_NS,
					      .max_memory = options->max_memory,
					      .detail = FRAME_NAMES,
					      .cgroups = true,
					      .locks = true};
	int err = session_open(&options->targets, &engine, options->batch ? -1 : STDIN_FILENO, &top->session, diag);

	if (!err)
		err = session_start(&top->session, diag);
	top->due = top->session.began + options->interval_s;
	return err;
}

/* Samples another kind of time, as if top had just started. What fails is told, and ends the sampling. */
static int restart(struct top *top)
{
	struct ranking *fresh = ranking_create();
	struct diag diag = {};

	if (!fresh)
		return -ENOMEM;
	session_close(&top->session);
	top->session = (struct session){.signals.fd = -1};
	ranking_destroy(top->ranking);
	profile_destroy(top->window);
	top->ranking = fresh;
	top->window = NULL;
	memset(top->browser.history, 0, sizeof(top->browser.history));
	top->browser.paused = false;
	if (start(top, &diag)) {
		snprintf(top->browser.message, sizeof(top->browser.message), "%.500s", diag.text);
		top->browser.ended = true;
	}
	return 0;
}

/*
 * Handles all keys that were pressed. False: it is to end. When sampling has ended, the kind of time cannot be changed.
 */
static bool handle_keys(struct top *top)
{
	int key;

	while ((key = screen_key()) >= 0) {
		enum view_mode mode = top->browser.view.mode;

		switch (browser_key(&top->browser, key, screen_page())) {
		case BROWSER_QUIT:
			return false;
		case BROWSER_RESTART:
			ranking_restart(top->ranking);
			break;
		case BROWSER_WRITE:
			save(top);
			break;
		case BROWSER_MODE:
			if (top->browser.ended)
				top->browser.view.mode = mode;
			else if (restart(top))
				return false;
			break;
		case BROWSER_NOTHING:
			break;
		}
		browser_refresh(&top->browser, top->ranking, top->window);
	}
	return true;
}

static void draw(struct top *top)
{
	screen_draw(&top->browser, top->ranking, top->window, &top->facts);
}

/* What was sampled is looked at after it has ended. True: it is to end, too. */
static bool wait_for_keys(struct top *top)
{
	struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				 {.fd = top->session.signals.fd, .events = POLLIN}};
	int count = poll(polls, 2, -1);

	return (count > 0 && polls[1].revents) || (count > 0 && polls[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int end_sampling(struct top *top, struct diag *diag)
{
	top->browser.ended = true;
	if (engine_stop(top->session.engine))
		return no_memory(diag);
	return top->browser.paused ? 0 : collect(top, diag);
}

static int run_screen(struct top *top, struct diag *diag)
{
	int err = screen_open(top->options->color, diag);

	if (err)
		return err;
	for (draw(top); !err; draw(top)) {
		enum session_event event = SESSION_INPUT;

		if (top->browser.ended) {
			if (wait_for_keys(top))
				break;
		} else {
			err = session_wait(&top->session, top->due, &event);
			if (err)
				diag_fail(diag, -err, "top.ended", "sampling ended: %s", strerror(-err));
		}
		if (event == SESSION_SIGNAL || (event == SESSION_INPUT && !handle_keys(top)))
			break;
		if (event == SESSION_GONE)
			err = end_sampling(top, diag);
		if (event != SESSION_DUE)
			continue;
		top->due += top->options->interval_s;
		err = collect(top, diag);
	}
	screen_close();
	return err;
}

int top_run(const struct top_options *options, struct top_result *ret, struct diag *diag)
{
	struct top top = {
		.options = options,
		.session.signals.fd = -1,
		.ranking = ranking_create(),
		.browser.view = {.kind = options->kind,
				 .sort = options->sort,
				 .layers = options->layers,
				 .mode = options->mode},
		.facts = {.target = options->target_text,
			  .cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
			  .frequency = options->frequency,
			  .interval_s = options->interval_s},
	};
	int err = top.ranking ? view_set_filter(&top.browser.view, options->filter, diag) : no_memory(diag);

	if (options->filter)
		snprintf(top.browser.filter, sizeof(top.browser.filter), "%s", options->filter);
	if (!err)
		err = start(&top, diag);
	if (!err)
		err = options->batch ? run_batch(&top, diag) : run_screen(&top, diag);
	ret->command_status = session_finish_command(&top.session);
	ret->command_left = top.session.command.left ? top.session.command.pid : 0;
	session_close(&top.session);
	browser_deinit(&top.browser);
	profile_destroy(top.window);
	ranking_destroy(top.ranking);
	return err;
}
