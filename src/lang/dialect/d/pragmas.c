// SPDX-License-Identifier: GPL-2.0-or-later
/* #pragma D: options, and what is said of names and libraries. Other pragmas are the preprocessor's. */
#include <string.h>

#include "lang/dialect/d/d.h"

#define BLANKS " \t\r"

static bool refuse(struct compiler *c, const char *tag, struct span span, const char *what)
{
	report_error(c->report, tag, span, "%s", what);
	return false;
}

/* #error words, #pragma D error words: as dtrace prints them, without quotes and with a blank behind each. */
static bool told(struct compiler *c, char *words, struct span span)
{
	const char *text = "";
	char *word, *save = NULL;

	for (word = strtok_r(words, BLANKS "\"", &save); word && text; word = strtok_r(NULL, BLANKS "\"", &save))
		text = arena_printf(c->arena, "%s%s ", text, word);
	report_error(c->report, "D_PRAGERR", span, "#error: %s", text ? text : "");
	return false;
}

static bool option(struct compiler *c, char *save, struct span span)
{
	char *word = strtok_r(NULL, BLANKS, &save);

	if (!word)
		return refuse(c, "D_PRAGMA_MALFORM", span, "missing argument of #pragma option");
	if (strtok_r(NULL, BLANKS, &save))
		return refuse(c, "D_PRAGMA_MALFORM", span, "superfluous arguments specified for #pragma option");
	return d_option_set(c, word, span);
}

/* Name/Data/Class, or a part of them: Stable/Stable/Common. */
static bool is_attributes(const char *text)
{
	static const char *const levels[] = {"Internal", "Private",  "Obsolete", "External",
					     "Unstable", "Evolving", "Stable",   "Standard"};
	static const char *const classes[] = {"Unknown", "CPU", "Platform", "Group", "ISA", "Common"};
	unsigned int part;

	for (part = 0; part < 3; part++) {
		size_t length = strcspn(text, "/"), count = part < 2 ? 8 : 6, i;
		const char *const *known = part < 2 ? levels : classes;

		for (i = 0; i < count; i++)
			if (strlen(known[i]) == length && !strncasecmp(known[i], text, length))
				break;
		if (i == count)
			return false;
		text += length;
		if (!*text)
			return part > 0;
		text++;
	}
	return false;
}

/* #pragma D attributes ATTRIBUTES NAME, or ATTRIBUTES provider NAME PART */
static bool attributes(struct compiler *c, char *save, struct span span)
{
	const char *given = strtok_r(NULL, BLANKS, &save), *name = strtok_r(NULL, BLANKS, &save);
	struct d_attributes ret = {.span = span};

	if (!given || !name)
		return refuse(c, "D_PRAGMA_MALFORM", span, "malformed #pragma attributes <attributes> <ident>");
	if (!is_attributes(given))
		return refuse(c, "D_PRAGMA_INVAL", span, "invalid attributes specified by #pragma attributes");
	if (!strcmp(name, "provider"))
		return true;
	ret.name = arena_strdup(c->arena, name, strlen(name));
	if (!ret.name || vec_push(&d_state(c)->attributes, ret))
		c->arena->failed = true;
	return true;
}

bool d_pragma(struct compiler *c, char *words, struct span span, bool is_error)
{
	char *save = NULL, *word;

	if (is_error)
		return told(c, words, span);
	word = strtok_r(words, BLANKS, &save);
	if (!word || strcmp(word, "D") != 0)
		return true;
	word = strtok_r(NULL, BLANKS, &save);
	if (!word)
		return refuse(c, "D_PRAGMA_MALFORM", span, "malformed #pragma D");
	if (!strcmp(word, "option"))
		return option(c, save, span);
	if (!strcmp(word, "error"))
		return told(c, save, span);
	if (!strcmp(word, "attributes"))
		return attributes(c, save, span);
	if (!strcmp(word, "depends_on")) {
		word = strtok_r(NULL, BLANKS, &save);
		return word && !strcmp(word, "library")
			       ? refuse(c, "D_PRAGMA_DEPEND", span,
					"main program may not explicitly depend on a library")
			       : true;
	}
	if (!strcmp(word, "binding") || !strcmp(word, "line"))
		return true;
	report_error(c->report, "D_PRAGMA_INVAL", span, "invalid #pragma D: %s", word);
	return false;
}

static bool is_declared(const struct compiler *c, const char *name)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->declarations.count; i++)
		if (!strcmp(state->declarations.at[i].name, name))
			return true;
	return d_is_function(name) || d_is_action(name) || d_is_aggregating(name);
}

void d_pragmas_end(struct compiler *c)
{
	const struct d_state *state = d_state(c);
	size_t i;

	for (i = 0; i < state->attributes.count && !c->report->errors; i++)
		if (!is_declared(c, state->attributes.at[i].name))
			report_error(c->report, "D_PRAGMA_UNUSED", state->attributes.at[i].span,
				     "unused #pragma attributes");
}
