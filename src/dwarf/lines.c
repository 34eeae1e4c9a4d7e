// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/lines.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 256

/* The parts of a path without ".", and without those that a ".." behind them takes back; how many. */
static size_t split(char *path, const char *parts[PARTS_MAX])
{
	char *rest = path, *part;
	size_t count = 0;

	while ((part = strsep(&rest, "/"))) {
		if (!*part || !strcmp(part, "."))
			continue;
		if (!strcmp(part, "..") && count && strcmp(parts[count - 1], "..") != 0)
			count--;
		else if (count < PARTS_MAX)
			parts[count++] = part;
		else
			return 0;
	}
	return count;
}

bool line_path_matches(const char *path, const char *file)
{
	char path_text[PATH_MAX], file_text[PATH_MAX];
	const char *path_parts[PARTS_MAX], *file_parts[PARTS_MAX];
	size_t path_count, file_count, i;

	if (strlen(path) >= sizeof(path_text) || strlen(file) >= sizeof(file_text))
		return false;
	path_count = split(strcpy(path_text, path), path_parts);
	file_count = split(strcpy(file_text, file), file_parts);
	if (!file_count || file_count > path_count || (*file == '/' && (*path != '/' || file_count != path_count)))
		return false;
	for (i = 1; i <= file_count; i++)
		if (strcmp(path_parts[path_count - i], file_parts[file_count - i]) != 0)
			return false;
	return true;
}

struct line_search {
	const char *file;
	uint32_t line, column;
	struct line_place *place;
	bool found, ambiguous;
	const char *yes, *no; /* the names compared last: they come one behind the other, and share their text */
};

static bool is_file(struct line_search *search, const char *name)
{
	bool is = name == search->yes;

	if (is || name == search->no)
		return is;
	is = line_path_matches(name, search->file);
	*(is ? &search->yes : &search->no) = name;
	return is;
}

static void note_other(struct line_search *search, uint32_t line)
{
	struct line_place *place = search->place;

	if (line && line < search->line && line > place->before)
		place->before = line;
	if (line > search->line && (!place->after || line < place->after))
		place->after = line;
}

static void take_line(struct line_search *search, Dwarf_Line *at)
{
	struct line_place *place = search->place;
	bool begins = false, ends = false;
	int line, column = 0;
	Dwarf_Addr vaddr;
	const char *name;

	/* Code that the linker left out is at 0, or at the end of the address space. */
	if (dwarf_linebeginstatement(at, &begins) || !begins || dwarf_lineendsequence(at, &ends) || ends ||
	    dwarf_lineno(at, &line) || line <= 0 || dwarf_lineaddr(at, &vaddr) || !vaddr || vaddr >= UINT64_MAX - 1)
		return;
	name = dwarf_linesrc(at, NULL, NULL);
	if (!name || !is_file(search, name))
		return;
	if (place->file && name != place->file && !line_path_matches(name, place->file) &&
	    !line_path_matches(place->file, name)) {
		place->other = name;
		search->ambiguous = true;
		return;
	}
	place->file = place->file ? place->file : name;
	if ((uint32_t)line != search->line) {
		note_other(search, (uint32_t)line);
		return;
	}
	dwarf_linecol(at, &column);
	if (search->column && search->column != (uint32_t)column) {
		place->column = place->column ? place->column : (uint32_t)column;
		return;
	}
	if (!search->found || vaddr < place->vaddr)
		place->vaddr = vaddr;
	search->found = true;
}

static void search_unit(struct line_search *search, struct debug_unit *unit)
{
	Dwarf_Lines *lines;
	size_t count, i;

	if (dwarf_getsrclines(&unit->skeleton, &lines, &count))
		return;
	for (i = 0; i < count && !search->ambiguous; i++)
		take_line(search, dwarf_onesrcline(lines, i));
}

/* Most files are a unit of their own. */
static bool is_named(struct debug_unit *unit, const char *file)
{
	const char *name = die_name(&unit->skeleton);

	return name && (line_path_matches(name, file) || line_path_matches(file, name));
}

enum line_answer debug_info_line(struct debug_info *info, const char *file, uint32_t line, uint32_t column,
				 struct line_place *ret)
{
	struct line_search search = {.file = file, .line = line, .column = column, .place = ret};
	struct debug_unit unit;
	uint64_t at;
	int round;

	*ret = (struct line_place){};
	/* First the units of this name, then all others, as for a header; the first that has the statement is it. */
	for (round = 0; round < 2 && !search.found && !search.ambiguous; round++) {
		for (at = 0; debug_info_unit(info, &at, &unit);) {
			bool had = search.found;
			uint64_t vaddr = ret->vaddr;

			if (is_named(&unit, file) == (round == 1))
				continue;
			search_unit(&search, &unit);
			if (had)
				ret->vaddr = vaddr;
			if (search.ambiguous)
				break;
		}
	}
	if (search.ambiguous)
		return LINE_AMBIGUOUS;
	if (search.found)
		return LINE_FOUND;
	return ret->file ? LINE_NO_STATEMENT : LINE_NO_FILE;
}
