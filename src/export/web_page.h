/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web_page: makes an HTML file from a template, for the page of the flame graph and that of calls. */
#ifndef STRATA_EXPORT_WEB_PAGE_H
#define STRATA_EXPORT_WEB_PAGE_H

#include <stddef.h>
#include <stdio.h>

#define WEB_PAGE_NONCE 33 /* characters, with the terminator */

/* A text that replaces {{name}} in a template. */
struct web_page_blank {
	const char *name;
	void (*write)(FILE *out, void *context);
};

/* A random word for the page's content security policy. 0 or -EIO. */
int web_page_nonce(char nonce[static WEB_PAGE_NONCE]);

/*
 * Writes a template of `size` bytes with the blanks filled in. A {{name}} that is none of them is written as it is.
 * Errors stay in `out`.
 */
void web_page_write(FILE *out, const char *page, size_t size, const struct web_page_blank *blanks, size_t count,
		    void *context);

#endif
