// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/browser.h"

#include <stdio.h>
#include <string.h>

#include "base/diag.h"

void browser_deinit(struct browser *browser)
{
	view_deinit(&browser->view);
}

static void remember(struct browser *browser)
{
	const struct ranking_row *row;

	browser->selected_name[0] = '\0';
	if (browser->selected >= browser->view.rows.count)
		return;
	row = &browser->view.rows.at[browser->selected];
	snprintf(browser->selected_name, sizeof(browser->selected_name), "%s", row->name);
	browser->selected_layer = row->layer;
}

/* The row that was selected, wherever it is now. The first one stays the first one: there the hottest is looked at. */
static void find_selected(struct browser *browser)
{
	size_t count = browser->view.rows.count, i;

	for (i = 0; browser->selected && i < count; i++) {
		const struct ranking_row *row = &browser->view.rows.at[i];

		if (row->layer == browser->selected_layer && !strcmp(row->name, browser->selected_name)) {
			browser->selected = i;
			break;
		}
	}
	if (browser->selected >= count)
		browser->selected = count ? count - 1 : 0;
	remember(browser);
}

static bool has_row(const struct browser *browser, const struct profile *window, const struct profile_sample *sample)
{
	uint32_t i;

	for (i = sample->depth; i-- > 0;)
		if (ranking_is(browser->view.kind, profile_frame_at(window, sample->frames[i]), browser->selected_name,
			       browser->selected_layer))
			return true;
	return false;
}

/* A thread's, process's or cgroup's: the name begins with the number. */
static bool is_owner(const struct browser *browser, const struct profile_sample *sample)
{
	int number = 0;

	if (sscanf(browser->selected_name, "%d", &number) != 1)
		return false;
	return number == (browser->view.kind == RANKING_THREAD ? sample->tid : sample->pid);
}

static void find_stack(struct browser *browser, const struct profile *window, uint64_t all)
{
	struct browser_stack stack = {.all = all};
	size_t count = profile_sample_count(window), i;

	for (i = 0; i < count; i++) {
		const struct profile_sample *sample = profile_sample_at(window, i);
		uint64_t ns = ranking_sample_ns(window, sample);

		if (browser->view.kind <= RANKING_MODULE ? !has_row(browser, window, sample)
							 : !is_owner(browser, sample))
			continue;
		stack.with += ns;
		if (ns > stack.count) {
			stack.found = true;
			stack.count = ns;
			stack.sample = (uint32_t)i;
		}
	}
	browser->stack = stack;
}

int browser_refresh(struct browser *browser, const struct ranking *ranking, const struct profile *window)
{
	int err = view_refresh(&browser->view, ranking);

	find_selected(browser);
	browser->stack = (struct browser_stack){};
	if (window && browser->mode == BROWSER_STACK)
		find_stack(browser, window, ranking_now(ranking).ns);
	return err;
}

void browser_note(struct browser *browser, double percent)
{
	memmove(browser->history, browser->history + 1, sizeof(browser->history) - sizeof(browser->history[0]));
	browser->history[BROWSER_HISTORY - 1] = percent;
}

/* Moves the selection, or the stack. */
static bool move(struct browser *browser, int key, size_t page)
{
	bool in_list = browser->mode == BROWSER_LIST;
	size_t *at = in_list ? &browser->selected : &browser->scroll;
	size_t last = in_list ? (browser->view.rows.count ? browser->view.rows.count - 1 : 0) : SIZE_MAX / 2, by = 0;
	bool up = false;

	switch (key) {
	case BROWSER_UP:
	case 'k':
		up = true;
		by = 1;
		break;
	case BROWSER_DOWN:
	case 'j':
		by = 1;
		break;
	case BROWSER_PAGE_UP:
		up = true;
		by = page ? page : 1;
		break;
	case BROWSER_PAGE_DOWN:
		by = page ? page : 1;
		break;
	case BROWSER_HOME:
		up = true;
		by = *at;
		break;
	case BROWSER_END:
		by = last - *at;
		break;
	default:
		return false;
	}
	if (up)
		*at = *at > by ? *at - by : 0;
	else
		*at = last - *at > by ? *at + by : last;
	remember(browser);
	return true;
}

static void choose_kind(struct browser *browser, enum ranking_kind kind)
{
	browser->view.kind = kind;
	browser->selected = browser->first = 0;
	browser->mode = BROWSER_LIST;
}

static void begin_line(struct browser *browser, enum browser_mode mode, const char *text)
{
	browser->mode = mode;
	snprintf(browser->line, sizeof(browser->line), "%s", text);
}

static enum browser_action end_line(struct browser *browser)
{
	enum browser_mode mode = browser->mode;
	struct diag diag = {};

	browser->mode = BROWSER_LIST;
	if (mode == BROWSER_SAVE)
		return *browser->line ? BROWSER_WRITE : BROWSER_NOTHING;
	if (view_set_filter(&browser->view, browser->line, &diag))
		snprintf(browser->message, sizeof(browser->message), "%.400s", diag.text);
	else
		snprintf(browser->filter, sizeof(browser->filter), "%s", browser->line);
	browser->selected = browser->first = 0;
	return BROWSER_NOTHING;
}

/* Takes off the last character, which may have several bytes. */
static void shorten(char *line)
{
	size_t length = strlen(line);

	while (length && ((unsigned char)line[--length] & 0xc0) == 0x80)
		;
	line[length] = '\0';
}

/* Appends a character as UTF-8. */
static void lengthen(char *line, size_t size, unsigned int c)
{
	size_t length = strlen(line);

	if (length + 5 > size || c < ' ' || c == 0x7f)
		return;
	if (c < 0x80) {
		line[length++] = (char)c;
	} else if (c < 0x800) {
		line[length++] = (char)(0xc0 | c >> 6);
		line[length++] = (char)(0x80 | (c & 0x3f));
	} else {
		if (c >= 0x10000) {
			line[length++] = (char)(0xf0 | c >> 18);
			line[length++] = (char)(0x80 | (c >> 12 & 0x3f));
		} else {
			line[length++] = (char)(0xe0 | c >> 12);
		}
		line[length++] = (char)(0x80 | (c >> 6 & 0x3f));
		line[length++] = (char)(0x80 | (c & 0x3f));
	}
	line[length] = '\0';
}

static enum browser_action type(struct browser *browser, int key)
{
	if (key == BROWSER_ENTER)
		return end_line(browser);
	if (key == BROWSER_ESCAPE)
		browser->mode = BROWSER_LIST;
	else if (key == BROWSER_BACK)
		shorten(browser->line);
	else if (key < BROWSER_UP)
		lengthen(browser->line, sizeof(browser->line), (unsigned int)key);
	return BROWSER_NOTHING;
}

/* Keys that mean the same in the list and in a stack. */
static enum browser_action command(struct browser *browser, int key)
{
	switch (key) {
	case 'q':
		return BROWSER_QUIT;
	case 'r':
		return BROWSER_RESTART;
	case ' ':
		browser->paused = !browser->paused;
		break;
	case '1' ... '0' + RANKING_KINDS:
		choose_kind(browser, (enum ranking_kind)(key - '1'));
		break;
	case '\t':
		choose_kind(browser, (browser->view.kind + 1) % RANKING_KINDS);
		break;
	case 'o':
		browser->view.sort = VIEW_OWN;
		break;
	case 't':
		browser->view.sort = VIEW_TOTAL;
		break;
	case 'n':
		browser->view.sort = VIEW_NAME;
		break;
	case 'a':
		browser->view.since_start = !browser->view.since_start;
		break;
	case 'm':
		browser->view.mode = (browser->view.mode + 1) % VIEW_MODES;
		browser->selected = browser->first = 0;
		browser->mode = BROWSER_LIST;
		return BROWSER_MODE;
	case 'y':
		browser->view.layers = (browser->view.layers + 1) % VIEW_LAYERS;
		browser->selected = 0;
		break;
	case '/':
		begin_line(browser, BROWSER_FILTER, browser->filter);
		break;
	case 'w':
		begin_line(browser, BROWSER_SAVE, "top.html");
		break;
	case '?':
		browser->mode = BROWSER_HELP;
		break;
	case BROWSER_ENTER:
		browser->mode = BROWSER_STACK;
		browser->scroll = 0;
		break;
	default:
		break;
	}
	return BROWSER_NOTHING;
}

enum browser_action browser_key(struct browser *browser, int key, size_t page)
{
	browser->message[0] = '\0';
	if (browser->mode == BROWSER_FILTER || browser->mode == BROWSER_SAVE)
		return type(browser, key);
	if (browser->mode == BROWSER_HELP || (browser->mode == BROWSER_STACK &&
					      (key == BROWSER_ESCAPE || key == BROWSER_BACK || key == BROWSER_ENTER))) {
		browser->mode = BROWSER_LIST;
		return key == 'q' ? BROWSER_QUIT : BROWSER_NOTHING;
	}
	return move(browser, key, page) ? BROWSER_NOTHING : command(browser, key);
}
