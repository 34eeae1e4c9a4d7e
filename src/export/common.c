// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "profile/text.h"

static char *frame_text(const struct frame *frame)
{
	int size = frame_format(frame, NULL, 0);
	char *text = malloc((size_t)size + 1);

	if (text)
		frame_format(frame, text, (size_t)size + 1);
	return text;
}

static int compare_texts(const void *a, const void *b, void *arg)
{
	const struct export_view *view = arg;

	return strcmp(view->texts[*(const uint32_t *)a], view->texts[*(const uint32_t *)b]);
}

static int rank_frames(struct export_view *view)
{
	uint32_t *order = calloc(view->frame_count + 1, sizeof(*order));
	uint32_t rank = 0;
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < view->frame_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, view->frame_count, sizeof(*order), compare_texts, view);
	for (i = 0; i < view->frame_count; i++) {
		if (i && strcmp(view->texts[order[i]], view->texts[order[i - 1]]))
			rank++;
		view->ranks[order[i]] = rank;
		view->named[rank] = order[i];
		view->rank_count = rank + 1;
	}
	free(order);
	return 0;
}

static int compare_numbers(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_samples(const struct export_view *view, const struct profile_sample *a,
			   const struct profile_sample *b)
{
	uint32_t i, depth = a->depth < b->depth ? a->depth : b->depth;
	int order = a->comm == b->comm ? 0 : strcmp(a->comm, b->comm);

	if (!order && view->apart >= EXPORT_THREADS)
		order = compare_numbers(a->pid, b->pid);
	if (!order && view->apart >= EXPORT_THREADS)
		order = compare_numbers(a->tid, b->tid);
	if (!order && view->apart >= EXPORT_OWNERS)
		order = compare_numbers((int64_t)a->cgroup, (int64_t)b->cgroup);
	for (i = 0; !order && a->frames != b->frames && i < depth; i++)
		order = compare_numbers(view->ranks[a->frames[i]], view->ranks[b->frames[i]]);
	return order ? order : compare_numbers(a->depth, b->depth);
}

static int compare_sample_pointers(const void *a, const void *b, void *arg)
{
	return compare_samples(arg, *(const struct profile_sample *const *)a, *(const struct profile_sample *const *)b);
}

int export_view_init(struct export_view *view, const struct profile *profile, enum export_apart apart,
		     struct diag *diag)
{
	size_t i;

	*view = (struct export_view){
		.profile = profile,
		.frame_count = profile_frame_count(profile),
		.sample_count = profile_sample_count(profile),
		.apart = apart,
	};
	view->texts = calloc(view->frame_count + 1, sizeof(*view->texts));
	view->ranks = calloc(view->frame_count + 1, sizeof(*view->ranks));
	view->named = calloc(view->frame_count + 1, sizeof(*view->named));
	view->samples = calloc(view->sample_count + 1, sizeof(const struct profile_sample *));
	if (!view->texts || !view->ranks || !view->named || !view->samples)
		return export_no_memory(diag);
	for (i = 0; i < view->frame_count; i++) {
		view->texts[i] = frame_text(profile_frame_at(profile, (uint32_t)i));
		if (!view->texts[i])
			return export_no_memory(diag);
	}
	if (rank_frames(view))
		return export_no_memory(diag);
	for (i = 0; i < view->sample_count; i++)
		view->samples[i] = profile_sample_at(profile, i);
	qsort_r(view->samples, view->sample_count, sizeof(const struct profile_sample *), compare_sample_pointers,
		view);
	return 0;
}

void export_view_deinit(struct export_view *view)
{
	size_t i;

	for (i = 0; view->texts && i < view->frame_count; i++)
		free(view->texts[i]);
	free(view->texts);
	free(view->ranks);
	free(view->named);
	free(view->samples);
	*view = (struct export_view){};
}

bool export_view_same(const struct export_view *view, const struct profile_sample *a, const struct profile_sample *b)
{
	return !compare_samples(view, a, b);
}

void export_json_string(FILE *out, const char *string)
{
	putc('"', out);
	while (*string) {
		unsigned int c = 0, length = text_character(string, &c);

		if (!length)
			fputs("\\ufffd", out);
		else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x7f || c == 0x2028 || c == 0x2029)
			fprintf(out, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (int)c);
		else
			fwrite(string, 1, length, out);
		string += length ? length : 1;
	}
	putc('"', out);
}

int export_finish(FILE *out, struct diag *diag)
{
	int err;

	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	err = errno ? errno : EIO;
	diag_fail(diag, err, "export.write", "writing failed: %s", strerror(err));
	diag_add_limits(diag, err);
	return -err;
}

int export_no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "export.memory", "not enough memory to write the profile");
}

uint64_t export_amount(const struct profile *profile, const struct profile_sample *sample)
{
	return profile_get_info(profile)->weighed ? sample->weight : sample->count;
}

uint64_t export_number(const struct profile *profile, uint64_t amount)
{
	return profile_get_info(profile)->weighed ? (amount + 500) / 1000 : amount;
}

bool export_frame_waits(const struct frame *frame)
{
	return frame->layer == FRAME_MARK && !strncmp(frame->name, "[waiting: ", strlen("[waiting: "));
}

const char *export_grouped(uint64_t number, char buffer[static 32])
{
	char *at = buffer + 31;
	int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		digits++;
	} while (number);
	return memmove(buffer, at, (size_t)(buffer + 32 - at));
}
