/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: draws a browser on the terminal with ncurses, and reads its keys. One at a time; one thread.
 *
 * Names come from somebody else: they are clean (profile/text.h) before they are here. Without a locale of UTF-8, what
 * is not ASCII is shown as '?'.
 */
#ifndef STRATA_TOP_SCREEN_H
#define STRATA_TOP_SCREEN_H

#include <stdbool.h>

#include "base/diag.h"
#include "top/browser.h"

struct screen_facts {
	const char *target; /* what is sampled */
	unsigned int cpus;
	unsigned int frequency;
	double interval_s;
};

/* Takes the terminal of standard input and output. 0, or a negative errno and a diag. */
int screen_open(bool color, struct diag *diag);
void screen_close(void);

/* `window`: the last one; NULL: there was none yet. */
void screen_draw(struct browser *browser, const struct ranking *ranking, const struct profile *window,
		 const struct screen_facts *facts);

/* The next key, a character or an enum browser_key; -1: there is none, or only a change of the terminal's size. */
int screen_key(void);

/* Rows of a list that are on the screen at once. */
size_t screen_page(void);

#endif
