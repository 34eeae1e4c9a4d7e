// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include "top/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define HEAD_ROWS   4  /* above the list */
#define WIDE        60 /* columns from which on there are all figures */
#define LINE_COLUMN 1024

enum pair { PAIR_KERNEL = 1, PAIR_NATIVE, PAIR_RUNTIME, PAIR_MARK, PAIR_WARN, PAIR_GOOD };

static const struct {
	short pair, many, few; /* the colour where the terminal has 256, and where it has 8 */
} colors[] = {
	{PAIR_KERNEL, 173, COLOR_RED}, {PAIR_NATIVE, 110, COLOR_CYAN}, {PAIR_RUNTIME, 179, COLOR_YELLOW},
	{PAIR_MARK, 245, COLOR_WHITE}, {PAIR_WARN, 214, COLOR_YELLOW}, {PAIR_GOOD, 108, COLOR_GREEN},
};

int screen_open(bool color, struct diag *diag)
{
	const char *terminal = getenv("TERM");
	size_t i;

	/* A dumb one has a description, but cannot move the cursor. */
	if (!terminal || !strcmp(terminal, "dumb") || !newterm(NULL, stdout, stdin))
		return diag_fail(diag, ENOTTY, "top.terminal",
				 "TERM=%s: no screen can be drawn on this terminal: use --batch N",
				 terminal ? terminal : "");
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (color && has_colors()) {
		start_color();
		use_default_colors();
		for (i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
			init_pair(colors[i].pair, COLORS >= 256 ? colors[i].many : colors[i].few, -1);
	}
	return 0;
}

void screen_close(void)
{
	endwin();
}

/* Text, cut at `width` columns. Returns the columns that it took. */
static int put(int row, int column, int width, const char *text)
{
	wchar_t wide[LINE_COLUMN];
	mbstate_t state = {};
	int used = 0, count = 0;

	while (*text && count < LINE_COLUMN - 1) {
		wchar_t c;
		size_t length = mbrtowc(&c, text, MB_CUR_MAX, &state);
		int columns;

		if (length == 0 || length == (size_t)-1 || length == (size_t)-2) {
			state = (mbstate_t){};
			c = L'?';
			length = 1;
		}
		columns = wcwidth(c);
		if (columns < 0) {
			c = L'?';
			columns = 1;
		}
		if (used + columns > width)
			break;
		wide[count++] = c;
		used += columns;
		text += length;
	}
	wide[count] = L'\0';
	if (row >= 0 && row < LINES && column < COLS && width > 0)
		mvaddnwstr(row, column, wide, count);
	return used;
}

static int put_format(int row, int column, int width, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int put_format(int row, int column, int width, const char *format, ...)
{
	char text[LINE_COLUMN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return put(row, column, width, text);
}

static attr_t layer_color(unsigned int layer)
{
	static const short pairs[FRAME_LAYER_COUNT] = {
		[FRAME_KERNEL] = PAIR_KERNEL,
		[FRAME_NATIVE] = PAIR_NATIVE,
		[FRAME_RUNTIME] = PAIR_RUNTIME,
		[FRAME_MARK] = PAIR_MARK,
	};

	return layer < FRAME_LAYER_COUNT ? (attr_t)COLOR_PAIR(pairs[layer]) : A_NORMAL;
}

/* How busy the last windows were, the newest on the right. */
static void draw_history(const struct browser *browser, int row, int column, int width, unsigned int cpus)
{
	static const wchar_t bars[] = L" ▁▂▃▄▅▆▇█";
	int count = width < BROWSER_HISTORY ? width : BROWSER_HISTORY, i;

	if (MB_CUR_MAX < 2)
		return;
	attron(COLOR_PAIR(PAIR_GOOD));
	for (i = 0; i < count; i++) {
		double part = browser->history[BROWSER_HISTORY - count + i] / (100.0 * (cpus ? cpus : 1));
		int step = part <= 0 ? 0 : 1 + (int)(part * 7.999);

		mvaddnwstr(row, column + i, &bars[step > 8 ? 8 : step], 1);
	}
	attroff(COLOR_PAIR(PAIR_GOOD));
}

static uint64_t runtime_samples(const struct profile_quality *quality)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < PROFILE_RUNTIMES_MAX && quality->runtimes[i].name; i++)
		sum += quality->runtimes[i].samples;
	return sum;
}

/* The reason for most of the lost samples; NULL: there are none. */
static const char *worst_loss(const struct profile_quality *quality)
{
	const char *worst = NULL;
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < LOSS_COUNT; i++) {
		if (loss_key(i) && loss_kind(i) != LOSS_KIND_NOTE && quality->lost[i] > most) {
			most = quality->lost[i];
			worst = loss_key(i);
		}
	}
	return worst;
}

static void draw_quality(const struct profile_quality *quality, enum view_mode mode, double percent, double seconds,
			 unsigned int cpus)
{
	double all = quality->samples ? (double)quality->samples : 1;
	const char *loss = worst_loss(quality);
	bool good = quality->complete == quality->samples;
	int at = 0;

	at += put_format(1, at, COLS - at, "%s %.1f %%", view_mode_names[mode], percent);
	at += mode == VIEW_CPU ? put_format(1, at, COLS - at, " of %u  ", 100 * cpus) : put(1, at, COLS - at, "  ");
	at += put_format(1, at, COLS - at, "%llu samples  ", (unsigned long long)quality->samples);
	attron(COLOR_PAIR(good ? PAIR_GOOD : PAIR_WARN));
	at += put_format(1, at, COLS - at, "%.1f %% complete", 100 * (double)quality->complete / all);
	if (!good && loss)
		at += put_format(1, at, COLS - at, " (%s)", loss);
	attroff(COLOR_PAIR(good ? PAIR_GOOD : PAIR_WARN));
	at += put_format(1, at, COLS - at, "  Python %.0f %%", 100 * (double)runtime_samples(quality) / all);
	if (seconds > 0)
		put_format(1, at, COLS - at, "  strata %.1f %%", 100 * quality->self_cpu_s / seconds);
}

static void draw_head(struct browser *browser, const struct ranking *ranking, const struct profile *window,
		      const struct screen_facts *facts)
{
	const struct view *view = &browser->view;
	int at;

	attron(A_BOLD);
	at = put_format(0, 0, COLS, "strata top: %s", facts->target);
	attroff(A_BOLD);
	if (view->mode != VIEW_OFF_CPU)
		at += put_format(0, at, COLS - at, "  %u Hz,", facts->frequency);
	at += put_format(0, at, COLS - at, " %swindow %.3g s", view->mode == VIEW_OFF_CPU ? " off the CPU, " : "",
			 facts->interval_s);
	if (browser->paused || browser->ended) {
		attron(A_REVERSE);
		at += put(0, at + 1, COLS - at - 1, browser->ended ? " ended " : " paused ") + 1;
		attroff(A_REVERSE);
	}
	draw_history(browser, 0, at + 2, COLS - at - 2, facts->cpus);
	if (window)
		draw_quality(profile_get_quality(window), view->mode, view_busy_percent(ranking),
			     ranking_now(ranking).seconds, facts->cpus);
	else
		put(1, 0, COLS, "the first window is under way");
	at = put_format(2, 0, COLS, "by %s, %s first%s", view_kind_names[view->kind], view_sort_names[view->sort],
			view->since_start ? " since the start" : "");
	if (view->kind <= RANKING_MODULE && view->layers != VIEW_ALL)
		at += put_format(2, at, COLS - at, ", %s only", view_layer_names[view->layers]);
	if (view->has_filter)
		put_format(2, at, COLS - at, ", /%s/", browser->filter);
}

static void draw_row(const struct browser *browser, const struct ranking *ranking, size_t index, int row)
{
	const struct ranking_row *line = &browser->view.rows.at[index];
	struct view_figures figures = view_figures(&browser->view, ranking, line);
	bool selected = index == browser->selected;
	char gil[VIEW_GIL_BYTES], awaited[VIEW_GIL_BYTES];
	int at;

	view_format_gil(&figures, figures.gil_percent, gil);
	view_format_gil(&figures, figures.awaited_percent, awaited);
	if (selected) {
		attron(A_REVERSE);
		mvhline(row, 0, ' ', COLS);
	}
	at = put_format(row, 0, COLS, "%6.1f %6.1f ", figures.own_percent, figures.total_percent);
	if (COLS >= WIDE)
		at += put_format(row, at, COLS - at, "%8.2f %8.2f %5s ", figures.own_s, figures.total_s, gil);
	if (COLS >= WIDE && browser->view.mode != VIEW_CPU)
		at += put_format(row, at, COLS - at, "%5s ", awaited);
	attron(layer_color(line->layer));
	put(row, at + 1, COLS - at - 1, line->name);
	attroff(layer_color(line->layer));
	if (selected)
		attroff(A_REVERSE);
}

static void draw_list(struct browser *browser, const struct ranking *ranking)
{
	size_t page = screen_page(), i;

	if (browser->selected < browser->first)
		browser->first = browser->selected;
	if (page && browser->selected >= browser->first + page)
		browser->first = browser->selected - page + 1;
	attron(A_UNDERLINE);
	mvhline(HEAD_ROWS - 1, 0, ' ', COLS);
	put_format(HEAD_ROWS - 1, 0, COLS, "%6s %6s %s%s %s", "own%", "total%",
		   COLS >= WIDE ? "   own s  total s  GIL% " : "",
		   COLS >= WIDE && browser->view.mode != VIEW_CPU ? "GILw% " : "",
		   view_kind_names[browser->view.kind]);
	attroff(A_UNDERLINE);
	for (i = 0; i < page && browser->first + i < browser->view.rows.count; i++)
		draw_row(browser, ranking, browser->first + i, HEAD_ROWS + (int)i);
	if (!browser->view.rows.count)
		put(HEAD_ROWS, 0, COLS, "nothing: no time was used, or the filter hides it");
}

static void draw_stack(struct browser *browser, const struct profile *window)
{
	const struct browser_stack *stack = &browser->stack;
	size_t page = screen_page(), i;
	const struct profile_sample *sample;
	char text[LINE_COLUMN];

	put(HEAD_ROWS - 1, 0, COLS, browser->selected_name);
	if (!window || !stack->found) {
		put(HEAD_ROWS, 0, COLS, "not in this window");
		return;
	}
	sample = profile_sample_at(window, stack->sample);
	put_format(HEAD_ROWS, 0, COLS, "%.2f s of its %.2f s (%.2f s in all) have this stack, innermost frame first:",
		   (double)stack->count / 1e9, (double)stack->with / 1e9, (double)stack->all / 1e9);
	if (browser->scroll + page > (size_t)sample->depth + 1)
		browser->scroll = sample->depth + 1 > page ? sample->depth + 1 - page : 0;
	for (i = 0; i + 1 < page && browser->scroll + i < sample->depth; i++) {
		const struct frame *frame =
			profile_frame_at(window, sample->frames[sample->depth - 1 - browser->scroll - i]);

		frame_format(frame, text, sizeof(text));
		attron(layer_color(frame->layer));
		put(HEAD_ROWS + 1 + (int)i, 2, COLS - 2, text);
		attroff(layer_color(frame->layer));
	}
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"own%    time in the row itself, in percent of one CPU, in the last window",
		"total%  time with the row anywhere in the stack",
		"own s, total s   the same since the start, in seconds",
		"GIL%    the part of total% with Python's GIL held; - where there is none",
		"GILw%   the part in which threads waited for it: not while CPU time is shown",
		"",
		"1-7, Tab   by function, line, module, thread, process, container, cgroup",
		"m          CPU time; time off the CPU, by what is waited for; both (wall)",
		"o t n      sort by own, total, name        a   by what was used since the start",
		"y          all layers, Python only, native only, kernel only",
		"/          show only names with a regular expression (empty: all)",
		"Enter      the hottest stack of the row      Esc   back",
		"Space      pause      r   count from now on      w   write the window to a file",
		"q          end",
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put(HEAD_ROWS - 1 + (int)i, 0, COLS, lines[i]);
}

static void draw_foot(const struct browser *browser)
{
	static const char *const hints[] = {
		[BROWSER_LIST] = "? help  1-7 by  m mode  o t n sort  y layers  / filter  Enter stack  q end",
		[BROWSER_STACK] = "Esc back  arrows scroll  space pause  q end",
		[BROWSER_HELP] = "any key: back",
	};
	int row = LINES - 1, at;

	if (browser->mode == BROWSER_FILTER || browser->mode == BROWSER_SAVE) {
		attron(A_BOLD);
		at = put(row, 0, COLS, browser->mode == BROWSER_FILTER ? "/" : "write the window to: ");
		attroff(A_BOLD);
		at += put(row, at, COLS - at, browser->line);
		attron(A_REVERSE);
		put(row, at, COLS - at, " ");
		attroff(A_REVERSE);
	} else if (*browser->message) {
		attron(A_BOLD);
		put(row, 0, COLS, browser->message);
		attroff(A_BOLD);
	} else {
		put(row, 0, COLS, hints[browser->mode]);
	}
}

void screen_draw(struct browser *browser, const struct ranking *ranking, const struct profile *window,
		 const struct screen_facts *facts)
{
	erase();
	draw_head(browser, ranking, window, facts);
	if (browser->mode == BROWSER_HELP)
		draw_help();
	else if (browser->mode == BROWSER_STACK)
		draw_stack(browser, window);
	else
		draw_list(browser, ranking);
	draw_foot(browser);
	refresh();
}

int screen_key(void)
{
	static const struct {
		int from, to;
	} keys[] = {
		{KEY_UP, BROWSER_UP},           {KEY_DOWN, BROWSER_DOWN},      {KEY_PPAGE, BROWSER_PAGE_UP},
		{KEY_NPAGE, BROWSER_PAGE_DOWN}, {KEY_HOME, BROWSER_HOME},      {KEY_END, BROWSER_END},
		{KEY_ENTER, BROWSER_ENTER},     {KEY_BACKSPACE, BROWSER_BACK},
	};
	wint_t key;
	size_t i;
	int kind = get_wch(&key);

	if (kind == KEY_CODE_YES) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (keys[i].from == (int)key)
				return keys[i].to;
		return -1;
	}
	if (kind != OK)
		return -1;
	return key == '\r' || key == '\n' ? BROWSER_ENTER
	       : key == 27                ? BROWSER_ESCAPE
	       : key == 8 || key == 127   ? BROWSER_BACK
					  : (int)key;
}

size_t screen_page(void)
{
	return LINES > HEAD_ROWS + 1 ? (size_t)(LINES - HEAD_ROWS - 1) : 0;
}
