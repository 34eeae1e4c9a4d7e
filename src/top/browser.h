/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * browser: what the user of `strata top` looks at, and what the keys do to it: a list of rows with one selected, the
 * hot stack of a row, a prompt. It knows no terminal: screen.h draws it and reads the keys. Not thread-safe.
 */
#ifndef STRATA_TOP_BROWSER_H
#define STRATA_TOP_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "top/ranking.h"
#include "top/view.h"

#define BROWSER_HISTORY 60 /* windows in the graph of how busy they were */

enum browser_mode { BROWSER_LIST, BROWSER_STACK, BROWSER_HELP, BROWSER_FILTER, BROWSER_SAVE };

/* Keys that are no characters. */
enum browser_key {
	BROWSER_UP = 0x110000, /* above Unicode */
	BROWSER_DOWN,
	BROWSER_PAGE_UP,
	BROWSER_PAGE_DOWN,
	BROWSER_HOME,
	BROWSER_END,
	BROWSER_ENTER,
	BROWSER_BACK, /* the backspace key */
	BROWSER_ESCAPE
};

enum browser_action {
	BROWSER_NOTHING,
	BROWSER_QUIT,
	BROWSER_RESTART, /* count since now */
	BROWSER_MODE,    /* sample what browser.view.mode says from now on */
	BROWSER_WRITE    /* write the window to the file that browser.line names */
};

/* The most frequent stack of a window with the selected row in it. */
struct browser_stack {
	bool found;
	uint32_t sample;           /* profile's */
	uint64_t count, with, all; /* ns with this stack, with the row, in the window */
};

struct browser {
	struct view view;
	enum browser_mode mode;
	size_t selected, first; /* row, and the first one on the screen */
	size_t scroll;          /* of the stack */
	char selected_name[512];
	unsigned int selected_layer;
	char line[256]; /* what is being typed */
	char filter[256];
	char message[512]; /* for the last line, until the next key */
	bool paused, ended;
	struct browser_stack stack;
	double history[BROWSER_HISTORY]; /* percent of one CPU, the newest last */
};

void browser_deinit(struct browser *browser);

/*
 * To be called after each window, and after each change of what is shown: sorts the rows again, and finds the selected
 * row. 0 or -ENOMEM.
 */
int browser_refresh(struct browser *browser, const struct ranking *ranking, const struct profile *window);

/* Notes how busy the window was. */
void browser_note(struct browser *browser, double percent);

/* One key: a character, or an enum browser_key. `page`: rows on the screen. The caller then calls browser_refresh(). */
enum browser_action browser_key(struct browser *browser, int key, size_t page);

#endif
