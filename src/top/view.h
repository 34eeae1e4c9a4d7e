/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view: which rows of a ranking are shown, in which order. Knows no terminal. Not thread-safe.
 */
#ifndef STRATA_TOP_VIEW_H
#define STRATA_TOP_VIEW_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/vec.h"
#include "top/ranking.h"

enum view_layers { VIEW_ALL, VIEW_RUNTIME, VIEW_NATIVE, VIEW_KERNEL, VIEW_LAYERS };
enum view_mode { VIEW_CPU, VIEW_OFF_CPU, VIEW_WALL, VIEW_MODES };
enum view_sort { VIEW_OWN, VIEW_TOTAL, VIEW_NAME, VIEW_SORTS };

struct view {
	enum ranking_kind kind;
	enum view_layers layers; /* of functions, lines and modules */
	enum view_sort sort;
	enum view_mode mode; /* which time the ranking has: on the CPU, off it, or both */
	bool since_start;    /* sort by what was used since the start, instead of in the last window */
	regex_t filter;
	bool has_filter;
	VEC(struct ranking_row) rows; /* after view_refresh(); the names are the ranking's */
};

void view_deinit(struct view *view);

/* Chooses and sorts the rows again. 0 or -ENOMEM. */
int view_refresh(struct view *view, const struct ranking *ranking);

/* Shows only names that a POSIX extended regular expression finds; "" or NULL: all. -EINVAL and a diag: it is none. */
int view_set_filter(struct view *view, const char *pattern, struct diag *diag);

/* A row's figures. 100 % is one thread that runs, or waits, all the time. */
struct view_figures {
	double own_percent, total_percent; /* in the last window */
	double own_s, total_s;             /* since the start */
	bool has_gil;                      /* since the start, some samples of the row were of threads with a GIL */
	double gil_percent;                /* the part of total_percent in which the thread held the GIL */
	double awaited_percent;            /* in which it waited for it; not known in VIEW_CPU */
};
struct view_figures view_figures(const struct view *view, const struct ranking *ranking, const struct ranking_row *row);

#define VIEW_GIL_BYTES 16

/* The text of a row's GIL column, or of that of waiting for the GIL: "12.3", or "-" where there is none. */
void view_format_gil(const struct view_figures *figures, double percent, char ret[static VIEW_GIL_BYTES]);

/* The time of all samples of the window, in percent of one CPU, or thread. */
double view_busy_percent(const struct ranking *ranking);

extern const char *const view_kind_names[RANKING_KINDS]; /* "function", "line", ... */
extern const char *const view_mode_names[VIEW_MODES];    /* "CPU", "off-CPU", "wall" */
extern const char *const view_layer_names[VIEW_LAYERS];  /* "all", "Python", ... */
extern const char *const view_sort_names[VIEW_SORTS];

/* The first rows as text, with a head; `rows` 0: all. */
void view_write(FILE *out, const struct view *view, const struct ranking *ranking, size_t rows);

#endif
