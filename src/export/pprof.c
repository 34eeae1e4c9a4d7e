// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof: gzip over the message of profile.proto.
 *
 * The message is never built as a whole: protobuf defines that concatenated encodings of a message are the encoding
 * of the merged one (repeated fields appended), so each location, function and sample is encoded as a Profile with
 * one element and goes straight through deflate. Memory stays that of the string table.
 *
 * A frame is a location (id: frame id + 1) with one line; frames with the same name and file share a function.
 * Function.system_name stays empty: pprof takes a function whose system_name equals its name for a mangled one, and
 * would "simplify" Python's <module> and <lambda> to nothing. Frames have the addresses that the profile keeps, those
 * in the file; the mappings are there for their names and build ids, marked as symbolised, so that pprof does not look
 * for the files.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vec.h"
#include "export/common.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/strings.h"
#include "profile.pb-c.h"

typedef Perftools__Profiles__Profile Profile;

struct pprof {
	FILE *out; /* compresses */
	const struct profile *profile;
	struct export_strings strings;
	struct table function_of; /* name index << 32 | file index → function id */
	struct table mapping_of;  /* name index << 32 | build id's index → mapping id */
	VEC(uint8_t) packed;      /* the message being encoded */
	int err;                  /* the first failure; everything after it is void */
};

/* Appends the elements of a partial Profile to the output. */
static void emit(struct pprof *to, const Profile *message)
{
	size_t size = perftools__profiles__profile__get_packed_size(message);

	if (to->err)
		return;
	to->packed.count = 0;
	if (size > UINT32_MAX || vec_reserve(&to->packed, size)) {
		to->err = -ENOMEM;
		return;
	}
	perftools__profiles__profile__pack(message, to->packed.at);
	fwrite(to->packed.at, 1, size, to->out);
}

/* The index of a name, cleaned; an empty or NULL one is 0. */
static int64_t string_index(struct pprof *to, const char *string)
{
	int64_t index = export_string(&to->strings, string);

	if (to->strings.err)
		to->err = to->strings.err;
	return index;
}

static uint64_t mapping_id(struct pprof *to, int64_t name, int64_t build_id)
{
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint64_t key = (uint64_t)name << 32 | (uint64_t)build_id, id = 0;

	if (!name || table_get(&to->mapping_of, key, &id))
		return id;
	id = to->mapping_of.count + 1;
	if (table_set(&to->mapping_of, key, id))
		to->err = -ENOMEM;
	mapping.id = id;
	mapping.filename = name;
	mapping.build_id = build_id;
	mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	message.n_mapping = 1;
	message.mapping = (Perftools__Profiles__Mapping *[]){&mapping};
	emit(to, &message);
	return id;
}

static uint64_t function_id(struct pprof *to, int64_t name, int64_t file)
{
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint64_t key = (uint64_t)name << 32 | (uint64_t)file | (uint64_t)1 << 63;
	uint64_t id = 0;

	if (table_get(&to->function_of, key, &id))
		return id;
	id = to->function_of.count + 1;
	if (table_set(&to->function_of, key, id))
		to->err = -ENOMEM;
	function.id = id;
	function.name = name;
	function.filename = file;
	message.n_function = 1;
	message.function = (Perftools__Profiles__Function *[]){&function};
	emit(to, &message);
	return id;
}

#define MAPPING_NAME_MAX 32

/* The mapping that a frame's code belongs to; marks belong to none. `own`: room for one of a runtime. */
static const char *mapping_name(const struct frame *frame, char own[MAPPING_NAME_MAX])
{
	switch (frame->layer) {
	case FRAME_KERNEL:
		return "[kernel.kallsyms]";
	case FRAME_NATIVE:
		return frame->file;
	case FRAME_RUNTIME:
		snprintf(own, MAPPING_NAME_MAX, "[%s]", frame->runtime);
		return own;
	case FRAME_MARK:
	case FRAME_LAYER_COUNT:
		break;
	}
	return NULL;
}

/* The file of a function: of native code without lines its mapping. */
static const char *source_of(const struct frame *frame, const char *mapping)
{
	if (frame->layer == FRAME_RUNTIME)
		return frame->file;
	return frame->layer == FRAME_NATIVE && frame->line > 0 ? frame->source : mapping;
}

static void emit_locations(struct pprof *to)
{
	size_t i, count = profile_frame_count(to->profile);

	for (i = 0; i < count && !to->err; i++) {
		const struct frame *frame = profile_frame_at(to->profile, (uint32_t)i);
		Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
		Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT;
		Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
		char own[MAPPING_NAME_MAX];
		const char *mapping = mapping_name(frame, own);
		int64_t file = string_index(to, source_of(frame, mapping));

		location.id = i + 1;
		location.mapping_id = mapping_id(to, string_index(to, mapping), string_index(to, frame->build_id));
		location.address = frame->address;
		location.n_line = 1;
		location.line = (Perftools__Profiles__Line *[]){&line};
		line.function_id = function_id(to, string_index(to, frame->name), file);
		line.line = frame->line;
		message.n_location = 1;
		message.location = (Perftools__Profiles__Location *[]){&location};
		emit(to, &message);
	}
}

#define LABELS_MAX 8

struct labels {
	Perftools__Profiles__Label of[LABELS_MAX], *list[LABELS_MAX];
	size_t count;
};

/* A text, or else a number. */
static void label(struct pprof *to, struct labels *labels, const char *key, const char *text, int64_t number)
{
	Perftools__Profiles__Label *one = &labels->of[labels->count];

	perftools__profiles__label__init(one);
	one->key = string_index(to, key);
	one->str = string_index(to, text);
	one->num = number;
	labels->list[labels->count++] = one;
}

static void label_if(struct pprof *to, struct labels *labels, const char *key, const char *text)
{
	if (*text)
		label(to, labels, key, text, 0);
}

static void emit_sample(struct pprof *to, const struct profile_sample *sample, int64_t period, uint64_t *ids)
{
	Perftools__Profiles__Sample message_sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	const struct profile_owner *owner = profile_owner(to->profile, sample->cgroup);
	struct labels labels = {};
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint32_t i;

	label(to, &labels, "comm", sample->comm, 0);
	label(to, &labels, "thread", sample->thread, 0);
	label(to, &labels, "pid", NULL, sample->pid);
	label(to, &labels, "tid", NULL, sample->tid);
	if (owner) {
		label_if(to, &labels, "container", owner->container);
		label_if(to, &labels, "pod", owner->pod);
		label_if(to, &labels, "unit", owner->unit);
		label_if(to, &labels, "cgroup", owner->cgroup);
	}
	for (i = 0; i < sample->depth; i++)
		ids[i] = (uint64_t)sample->frames[sample->depth - 1 - i] + 1;
	message_sample.n_location_id = sample->depth;
	message_sample.location_id = ids;
	message_sample.n_value = 2;
	message_sample.value = (int64_t[]){(int64_t)sample->count, profile_get_info(to->profile)->weighed
									   ? (int64_t)sample->weight
									   : (int64_t)sample->count * period};
	message_sample.n_label = labels.count;
	message_sample.label = labels.list;
	message.n_sample = 1;
	message.sample = (Perftools__Profiles__Sample *[]){&message_sample};
	emit(to, &message);
}

static void emit_samples(struct pprof *to, int64_t period)
{
	size_t i, count = profile_sample_count(to->profile);
	uint32_t deepest = 1;
	uint64_t *ids;

	for (i = 0; i < count; i++)
		if (profile_sample_at(to->profile, i)->depth > deepest)
			deepest = profile_sample_at(to->profile, i)->depth;
	ids = calloc(deepest, sizeof(*ids));
	if (!ids)
		to->err = -ENOMEM;
	for (i = 0; i < count && !to->err; i++)
		emit_sample(to, profile_sample_at(to->profile, i), period, ids);
	free(ids);
}

/* The summary, line by line, as comments: `go tool pprof -comments` shows how good the data is. */
static void emit_comments(struct pprof *to)
{
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;
	VEC(int64_t) comments = {};
	char *text = NULL, *line, *rest = NULL;

	if (export_summary_text(to->profile, &text))
		to->err = -ENOMEM;
	for (line = to->err ? NULL : strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (vec_push(&comments, export_string_clean(&to->strings, line)) || to->strings.err)
			to->err = -ENOMEM;
	message.n_comment = comments.count;
	message.comment = comments.at;
	emit(to, &message);
	vec_free(&comments);
	free(text);
}

static void emit_head(struct pprof *to, int64_t period)
{
	const struct profile_info *info = profile_get_info(to->profile);
	Perftools__Profiles__ValueType samples = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	Perftools__Profiles__ValueType cpu = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;

	samples.type = string_index(to, "samples");
	samples.unit = string_index(to, "count");
	cpu.type = string_index(to, !info->weighed ? "cpu" : info->frequency ? "wall" : "off_cpu");
	cpu.unit = string_index(to, "nanoseconds");
	message.n_sample_type = 2;
	message.sample_type = (Perftools__Profiles__ValueType *[]){&samples, &cpu};
	message.period_type = &cpu;
	message.period = period;
	message.default_sample_type = cpu.type;
	message.time_nanos = (int64_t)(info->start_time * 1e9);
	message.duration_nanos = (int64_t)(info->duration_s * 1e9);
	emit(to, &message);
	mapping_id(to, string_index(to, info->command), 0); /* the first mapping is what pprof calls the file */
}

static void emit_strings(struct pprof *to)
{
	Profile message = PERFTOOLS__PROFILES__PROFILE__INIT;

	message.n_string_table = to->strings.list.count;
	message.string_table = (char **)to->strings.list.at;
	emit(to, &message);
}

static int pprof_write(FILE *out, const struct profile *profile, const struct export_options *options,
		       struct diag *diag)
{
	unsigned int frequency = profile_get_info(profile)->frequency;
	int64_t period = frequency ? llround(1e9 / frequency) : 1;
	struct pprof to = {.out = export_gzip(out), .profile = profile};

	(void)options; /* threads are labels in this format */
	if (!to.out || export_strings_init(&to.strings))
		to.err = -ENOMEM;
	if (!to.err) {
		string_index(&to, ""); /* is 0 */
		emit_head(&to, period);
		emit_locations(&to);
		emit_samples(&to, period);
		emit_comments(&to);
		emit_strings(&to);
	}
	if (to.out)
		fclose(to.out);
	table_deinit(&to.function_of);
	table_deinit(&to.mapping_of);
	export_strings_deinit(&to.strings);
	vec_free(&to.packed);
	return to.err ? export_no_memory(diag) : export_finish(out, diag);
}

const struct exporter export_pprof = {
	.suffix = ".pb.gz",
	.description = "for pprof: go tool pprof -http=: FILE",
	.threads = true,
	.owners = true,
	.addresses = true,
	.write = pprof_write,
};
