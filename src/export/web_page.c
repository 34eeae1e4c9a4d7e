// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/web_page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

int web_page_nonce(char nonce[static WEB_PAGE_NONCE])
{
	uint8_t bytes[WEB_PAGE_NONCE / 2];
	unsigned int i;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static bool is_blank(const struct web_page_blank *blank, const char *at, size_t size)
{
	size_t length = strlen(blank->name);

	return size >= length + 4 && !memcmp(at + 2, blank->name, length) && !memcmp(at + 2 + length, "}}", 2);
}

void web_page_write(FILE *out, const char *page, size_t size, const struct web_page_blank *blanks, size_t count,
		    void *context)
{
	const char *end = page + size, *at;
	size_t i;

	while ((at = memmem(page, (size_t)(end - page), "{{", 2))) {
		fwrite(page, 1, (size_t)(at - page), out);
		for (i = 0; i < count && !is_blank(&blanks[i], at, (size_t)(end - at));)
			i++;
		if (i < count)
			blanks[i].write(out, context);
		else
			fwrite(at, 1, 2, out);
		page = at + 2 + (i < count ? strlen(blanks[i].name) + 2 : 0);
	}
	fwrite(page, 1, (size_t)(end - page), out);
}
