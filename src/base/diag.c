// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

void diag_clear(struct diag *diag)
{
	if (!diag)
		return;
	diag->tag = NULL;
	diag->text[0] = '\0';
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void diag_add_limits(struct diag *diag, int errnum)
{
	char words[128];
	size_t used;

	if (!diag || strstr(diag->text, "(ulimit ") || !limits_words(errnum, words, sizeof(words)))
		return;
	used = strlen(diag->text);
	snprintf(diag->text + used, sizeof(diag->text) - used, " (%s)", words);
}

int diag_fail(struct diag *diag, int errnum, const char *tag, const char *fmt, ...)
{
	va_list args;

	if (!diag)
		return -errnum;
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	make_printable(diag->text);
	if (errnum == EMFILE || errnum == ENOMEM)
		diag_add_limits(diag, errnum);
	diag->tag = tag;
	return -errnum;
}

void diag_prefix(struct diag *diag, const char *fmt, ...)
{
	char old[DIAG_TEXT_MAX];
	va_list args;
	size_t used;

	if (!diag)
		return;
	memcpy(old, diag->text, sizeof(old));
	va_start(args, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, args);
	va_end(args);
	used = strlen(diag->text);
	snprintf(diag->text + used, sizeof(diag->text) - used, ": %s", old);
	make_printable(diag->text);
}
