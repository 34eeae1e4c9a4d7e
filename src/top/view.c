// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

const char *const view_kind_names[RANKING_KINDS] = {"function", "line",      "module", "thread",
						    "process",  "container", "cgroup"};
const char *const view_mode_names[VIEW_MODES] = {"CPU", "off-CPU", "wall"};
const char *const view_layer_names[VIEW_LAYERS] = {"all", "Python", "native", "kernel"};
const char *const view_sort_names[VIEW_SORTS] = {"own", "total", "name"};

void view_deinit(struct view *view)
{
	if (view->has_filter)
		regfree(&view->filter);
	view->has_filter = false;
	vec_free(&view->rows);
}

static bool is_frame(const struct view *view)
{
	return view->kind <= RANKING_MODULE;
}

static enum ranking_own own_of(const struct view *view)
{
	return is_frame(view) && view->layers == VIEW_RUNTIME ? RANKING_RUNTIME : RANKING_INNERMOST;
}

static bool is_shown(const struct view *view, const struct ranking_row *row)
{
	static const unsigned int layers[VIEW_LAYERS] = {0, FRAME_RUNTIME, FRAME_NATIVE, FRAME_KERNEL};

	/* What has nothing now is shown when the order is that since the start. */
	if (!view->since_start && !row->now.total)
		return false;
	if (is_frame(view) && view->layers != VIEW_ALL && row->layer != layers[view->layers])
		return false;
	return !view->has_filter || !regexec(&view->filter, row->name, 0, NULL, 0);
}

static int compare_counts(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a < b ? 1 : -1;
}

/* More first; equals by what is the next best, at last by name: the order is the same each time. */
static int compare(const void *a, const void *b, void *context)
{
	const struct ranking_row *x = a, *y = b;
	const struct view *view = context;
	enum ranking_own own = own_of(view);
	const struct ranking_counts *p = view->since_start ? &x->all : &x->now;
	const struct ranking_counts *q = view->since_start ? &y->all : &y->now;
	int by_own = compare_counts(p->own[own], q->own[own]);
	int by_total = compare_counts(p->total, q->total);
	int first = view->sort == VIEW_NAME ? 0 : view->sort == VIEW_OWN ? by_own : by_total;

	if (!first && view->sort != VIEW_NAME)
		first = by_own ?: by_total ?: compare_counts(x->all.total, y->all.total);
	return first ?: strcmp(x->name, y->name) ?: (int)x->layer - (int)y->layer;
}

int view_refresh(struct view *view, const struct ranking *ranking)
{
	const struct ranking_row *all;
	size_t count, i;

	all = ranking_rows(ranking, view->kind, &count);
	view->rows.count = 0;
	if (vec_reserve(&view->rows, count + 1))
		return -ENOMEM;
	for (i = 0; i < count; i++)
		if (is_shown(view, &all[i]))
			view->rows.at[view->rows.count++] = all[i];
	qsort_r(view->rows.at, view->rows.count, sizeof(*view->rows.at), compare, view);
	return 0;
}

int view_set_filter(struct view *view, const char *pattern, struct diag *diag)
{
	regex_t filter;

	if (pattern && *pattern && pattern_compile(pattern, &filter, diag)) {
		diag_prefix(diag, "%s", pattern);
		return -EINVAL;
	}
	if (view->has_filter)
		regfree(&view->filter);
	view->has_filter = pattern && *pattern;
	if (view->has_filter)
		view->filter = filter;
	return 0;
}

static double percent_of(const struct ranking_sums *sums, uint64_t ns)
{
	return sums->seconds > 0 ? (double)ns / (sums->seconds * 1e7) : 0;
}

struct view_figures view_figures(const struct view *view, const struct ranking *ranking, const struct ranking_row *row)
{
	struct ranking_sums now = ranking_now(ranking);
	enum ranking_own own = own_of(view);

	return (struct view_figures){
		.own_percent = percent_of(&now, row->now.own[own]),
		.total_percent = percent_of(&now, row->now.total),
		.own_s = (double)row->all.own[own] / 1e9,
		.total_s = (double)row->all.total / 1e9,
		.has_gil = row->all.lockable,
		.gil_percent = percent_of(&now, row->now.held),
		.awaited_percent = percent_of(&now, row->now.awaited),
	};
}

void view_format_gil(const struct view_figures *figures, double percent, char ret[static VIEW_GIL_BYTES])
{
	snprintf(ret, VIEW_GIL_BYTES, figures->has_gil ? "%.1f" : "-", percent);
}

double view_busy_percent(const struct ranking *ranking)
{
	struct ranking_sums now = ranking_now(ranking);

	return percent_of(&now, now.ns);
}

void view_write(FILE *out, const struct view *view, const struct ranking *ranking, size_t rows)
{
	size_t count = rows && rows < view->rows.count ? rows : view->rows.count, i;
	char gil[VIEW_GIL_BYTES], awaited[VIEW_GIL_BYTES];
	bool waits = view->mode != VIEW_CPU;

	fprintf(out, "%7s %7s %9s %9s %6s %s %s\n", "own%", "total%", "own s", "total s", "GIL%",
		waits ? " GILw% " : "", view_kind_names[view->kind]);
	for (i = 0; i < count; i++) {
		struct view_figures figures = view_figures(view, ranking, &view->rows.at[i]);

		view_format_gil(&figures, figures.gil_percent, gil);
		view_format_gil(&figures, figures.awaited_percent, awaited);
		fprintf(out, "%7.1f %7.1f %9.2f %9.2f %6s ", figures.own_percent, figures.total_percent, figures.own_s,
			figures.total_s, gil);
		if (waits)
			fprintf(out, "%6s ", awaited);
		fprintf(out, " %s\n", view->rows.at[i].name);
	}
	if (count < view->rows.count)
		fprintf(out, "%*s  and %zu more\n", waits ? 49 : 42, "", view->rows.count - count);
}
