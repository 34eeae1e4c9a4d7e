// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions about texts, and texts in memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/functions.h"

TEXT_FUNCTION(stap_length)
{
	UNUSED;
	ret->number = (int64_t)strlen(arguments[0].text);
}

TEXT_FUNCTION(stap_substring)
{
	int64_t size = (int64_t)strlen(arguments[0].text), from = arguments[1].number, count = arguments[2].number;

	(void)call;
	if (from < 0 || from >= size || count <= 0)
		return;
	ret->text = stap_text(run, arguments[0].text + from, (size_t)(count < size - from ? count : size - from));
}

TEXT_FUNCTION(stap_is_in_text)
{
	UNUSED;
	ret->number = strstr(arguments[0].text, arguments[1].text) != NULL;
}

TEXT_FUNCTION(stap_character)
{
	int64_t at = arguments[1].number;

	UNUSED;
	if (at < 0 || at >= (int64_t)strlen(arguments[0].text))
		return;
	ret->number = (unsigned char)arguments[0].text[at];
}

TEXT_FUNCTION(stap_to_number)
{
	int64_t base = call->kid_count > 1 ? arguments[1].number : 10;

	(void)run;
	ret->number = base == 0 || (base >= 2 && base <= 36) ? strtoll(arguments[0].text, NULL, (int)base) : 0;
}

TEXT_FUNCTION(stap_tokenize)
{
	const char *end;

	(void)call;
	if (*arguments[0].text) {
		free(run->tokens);
		run->tokens = strdup(arguments[0].text);
		run->tokens_at = 0;
	}
	if (!run->tokens)
		return;
	/* Empty ones are passed over. */
	run->tokens_at += strspn(run->tokens + run->tokens_at, arguments[1].text);
	end = run->tokens + run->tokens_at + strcspn(run->tokens + run->tokens_at, arguments[1].text);
	ret->text = stap_text(run, run->tokens + run->tokens_at, (size_t)(end - run->tokens) - run->tokens_at);
	run->tokens_at = (size_t)(end - run->tokens) + (*end != '\0');
}

TEXT_FUNCTION(stap_replace)
{
	const char *at = arguments[0].text, *found;
	size_t size = strlen(arguments[1].text);
	char *text = NULL;
	size_t length_of = 0;
	FILE *memory = open_memstream(&text, &length_of);

	(void)call;
	if (!memory)
		return;
	while (size && (found = strstr(at, arguments[1].text))) {
		fwrite(at, 1, (size_t)(found - at), memory);
		fputs(arguments[2].text, memory);
		at = found + size;
	}
	fputs(at, memory);
	fclose(memory);
	ret->text = stap_text(run, text, length_of);
	free(text);
}

/* With C's escapes for what cannot be printed. */
static const char *escaped(struct stap_run *run, const char *from, size_t most, bool quotes)
{
	char *text = NULL;
	size_t size = 0, i;
	FILE *memory = open_memstream(&text, &size);
	const char *ret;

	if (!memory)
		return "";
	fputs(quotes ? "\"" : "", memory);
	for (i = 0; from[i] && i < most; i++) {
		unsigned char c = (unsigned char)from[i];
		const char *letter = strchr("\a\b\f\n\r\t\v", c);

		if (letter)
			fprintf(memory, "\\%c", "abfnrtv"[letter - strchr("\a\b\f\n\r\t\v", '\a')]);
		else if (c == '"' || c == '\\')
			fprintf(memory, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(memory, "\\%03o", c);
		else
			fputc(c, memory);
	}
	fputs(quotes ? "\"" : "", memory);
	fclose(memory);
	ret = stap_text(run, text, size);
	free(text);
	return ret;
}

TEXT_FUNCTION(stap_escape)
{
	size_t most = call->kid_count > 1 ? (size_t)arguments[1].number : SIZE_MAX;

	ret->text = escaped(run, arguments[0].text, most, call->kid_count > 2 && arguments[2].number);
}

/* --- memory --- */

/* user_string and kernel_string with their endings: what was collected at this address. */
TEXT_FUNCTION(stap_memory_text)
{
	const struct stap_handler *handler = run->handler;
	bool is_kernel = !strncmp(call->text, "kernel", 6), has_size = strstr(call->text, "_n") != NULL;
	bool quotes = strstr(call->text, "_quoted") != NULL, shows = quotes || strstr(call->text, "_unquoted") != NULL,
	     warns = strstr(call->text, "_warn") != NULL;
	bool has_default = strchr(call->text, '2') != NULL;
	size_t most = has_size && call->kid_count > 1 && arguments[1].number >= 0 ? (size_t)arguments[1].number
										  : SIZE_MAX,
	       i;
	const char *text = NULL;

	for (i = 0; i < handler->memory.count && !text; i++) {
		const struct stap_memory *memory = &handler->memory.at[i];

		if (memory->is_kernel == is_kernel && stap_slot_number(run, memory->slot + 1) &&
		    stap_slot_number(run, memory->slot + 2) == arguments[0].number)
			text = stap_slot_text(run, memory->slot);
	}
	if (!text && has_default) {
		ret->text = arguments[1].text;
	} else if (!text && (warns || shows)) {
		ret->text = "<unknown>";
		if (shows) {
			char number[32];

			snprintf(number, sizeof(number), "0x%" PRIx64, (uint64_t)arguments[0].number);
			ret->text = stap_text(run, number, strlen(number));
		}
		if (warns && !run->state->suppresses_warnings)
			fprintf(stderr, "WARNING: %s string copy fault at 0x%016" PRIx64 "\n",
				is_kernel ? "kernel" : "user", (uint64_t)arguments[0].number);
	} else if (!text) {
		stap_fail(run, "%s string copy fault -14 at 0x%016" PRIx64 " [man error::fault]",
			  is_kernel ? "kernel" : "user", (uint64_t)arguments[0].number);
	} else {
		ret->text = quotes ? escaped(run, text, most, true) : stap_text(run, text, strnlen(text, most));
	}
}
