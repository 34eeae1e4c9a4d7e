// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tracepoint and rawtracepoint. A tracepoint's arguments are described by its format file in tracefs
 * (Documentation/trace/events.rst): a line for each field, with offset and size in the record that is the program's
 * context.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/kernel/kernel_types.h"
#include "lang/provider/provider.h"

#define FIELDS_MAX 128

/* "unsigned int flags", "const char * name", "char comm[16]", "__data_loc char[] name": type and name. */
static const struct type data_loc = {
	.kind = TYPE_POINTER, .size = 4, .align = 4, .to = &type_char, .is_data_loc = true};

/* "unsigned long args[6]": elements of a sixth of the field's size. How many there are may be said by a name. */
static const struct type *array_type(struct compiler *c, const char *text, uint32_t size, uint32_t count,
				     bool is_signed)
{
	uint32_t each = count && size % count == 0 ? size / count : 1;

	if (strstr(text, "char") && (!is_signed || !strstr(text, "unsigned")))
		return type_array(c->arena, &type_char, size);
	if (!strchr(text, '*') && (each == 2 || each == 4 || each == 8))
		return type_array(c->arena, type_integer(each, is_signed), count);
	return type_array(c->arena, &type_uint8, size);
}

static const struct type *field_type(struct compiler *c, char *text, uint32_t size, bool is_signed, const char **name)
{
	char *bracket, *word, *star;
	unsigned int stars = 0;
	const struct type *base = NULL;

	*name = "";
	bracket = strchr(text, '[');
	word = bracket && !strncmp(text, "__data_loc", 10) ? text + strlen(text)
	       : bracket                                   ? bracket
							   : text + strlen(text);
	while (word > text && word[-1] == ' ')
		word--;
	if (bracket && word == bracket)
		*bracket = '\0';
	*word = '\0';
	star = strrchr(text, ' ');
	if (!star)
		return NULL;
	*name = arena_strdup(c->arena, star + 1, strlen(star + 1));
	*star = '\0';
	if (!strncmp(text, "__data_loc", 10))
		return &data_loc;
	if (bracket)
		return array_type(c, text, size, (uint32_t)strtoul(bracket + 1, NULL, 10), is_signed);
	star = strchr(text, '*');
	if (star) {
		for (word = star; *word; word++)
			stars += *word == '*';
		while (star > text && star[-1] == ' ')
			star--;
		*star = '\0';
		if (!strncmp(text, "const ", 6))
			text += 6;
		base = types_find(&c->types, text);
		/* What is said to be char is text, and what is not known has bytes. */
		base = base && base->kind != TYPE_NONE ? base : &type_uint8;
		for (; stars; stars--)
			base = type_pointer(c->arena, base);
		return base;
	}
	if (!strncmp(text, "enum ", 5) && (base = types_find(&c->types, text)) && base->size == size)
		return base;
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_integer(size, is_signed);
	return type_array(c->arena, &type_uint8, size);
}

static bool parse_field(struct compiler *c, char *line, struct type_field *ret)
{
	char *text = strstr(line, "field:"), *end, *offset, *size, *sign;
	const struct type *type;

	if (!text || !(end = strchr(text, ';')) || !(offset = strstr(end, "offset:")) || !(size = strstr(end, "size:")))
		return false;
	sign = strstr(end, "signed:");
	*end = '\0';
	ret->offset = (uint32_t)strtoul(offset + 7, NULL, 10);
	ret->declaration = arena_strdup(c->arena, text + 6, (size_t)(end - text) - 6);
	type = field_type(c, text + 6, (uint32_t)strtoul(size + 5, NULL, 10), sign && sign[7] == '1', &ret->name);
	ret->type = type;
	return type && ret->name && *ret->name && ret->offset < 4096;
}

static const struct type *read_format(struct compiler *c, const char *group, const char *event)
{
	const char *tracefs = provider_tracefs();
	struct type_field *fields = arena_array(c->arena, struct type_field, FIELDS_MAX);
	struct type *record = arena_new(c->arena, struct type);
	char path[512], line[1024];
	uint32_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs ? tracefs : "", group, event);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	while (fields && count < FIELDS_MAX && fgets(line, sizeof(line), file))
		if (parse_field(c, line, &fields[count]) && strncmp(fields[count].name, "common_", 7))
			count++;
	fclose(file);
	if (!fields || !record)
		return NULL;
	*record = (struct type){.kind = TYPE_RECORD,
				.align = 8,
				.name = event,
				.fields = fields,
				.field_count = count,
				.size = count ? fields[count - 1].offset + fields[count - 1].type->size : 8};
	return record;
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* attach.own of a tracepoint; of a raw one it is the event's name alone. */
struct event {
	const char *group, *name;
};

static void each_event(struct compiler *c, const struct provider *self, const char *group, const char *pattern,
		       bool with_format)
{
	const char *tracefs = provider_tracefs();
	struct dirent **names;
	char path[512];
	int count, i;

	snprintf(path, sizeof(path), "%s/events/%s", tracefs, group);
	count = scandir(path, &names, is_name, alphasort);
	for (i = 0; i < count; i++) {
		if (names[i]->d_type == DT_DIR && provider_matches(pattern, names[i]->d_name)) {
			const struct event event = {
				.group = arena_strdup(c->arena, group, strlen(group)),
				.name = arena_strdup(c->arena, names[i]->d_name, strlen(names[i]->d_name))};
			struct attach attach = {.own = provider_own(c, &event, sizeof(event))};

			attach.name = arena_printf(c->arena, "%s:%s:%s", self->name, event.group, event.name);
			attach.arguments = with_format ? read_format(c, event.group, event.name) : NULL;
			provider_add(c, attach);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static void each_group(struct compiler *c, const struct provider *self, const char *group, const char *event,
		       bool with_format)
{
	const char *tracefs = provider_tracefs();
	struct dirent **names;
	char path[512];
	int count, i;

	if (!tracefs)
		return;
	if (!provider_has_wildcard(group)) {
		each_event(c, self, group, event, with_format);
		return;
	}
	snprintf(path, sizeof(path), "%s/events", tracefs);
	count = scandir(path, &names, is_name, alphasort);
	for (i = 0; i < count; i++) {
		if (names[i]->d_type == DT_DIR && provider_matches(group, names[i]->d_name))
			each_event(c, self, names[i]->d_name, event, with_format);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

static void expand_tracepoint(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	size_t before = c->attaches.count;

	if (!provider_parts(c, self, point, 2, 2))
		return;
	if (!provider_tracefs()) {
		report_error(c->report, "probe.tracefs", point->span, "the tracing file system is not there");
		report_hint(c->report, "mount -t tracefs tracefs /sys/kernel/tracing, as root");
		return;
	}
	if (!strchr(point->parts[1], '/') && !strchr(point->parts[2], '/'))
		each_group(c, self, point->parts[1], point->parts[2], true);
	if (c->attaches.count == before)
		provider_missing(c, self, point);
}

static void list_tracepoint(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	each_group(c, self, point->part_count > 1 ? point->parts[1] : "*",
		   point->part_count > 2 ? point->parts[2] : "*", true);
}

static int tracepoint_id(const struct attach *attach)
{
	const char *tracefs = provider_tracefs();
	const struct event *event = attach->own;
	char path[512];
	FILE *file;
	int id = -1;

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs ? tracefs : "", event->group, event->name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &id) != 1)
		id = -1;
	fclose(file);
	return id;
}

static int attach_tracepoint(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
			     const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	uint32_t i;
	int err = 0;

	(void)target;
	for (i = 0; i < count && !err; i++) {
		int id = tracepoint_id(&attaches[i]);
		const struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
						     .config = (uint64_t)id,
						     .sample_period = 1,
						     .wakeup_events = 1,
						     .disabled = 1};

		if (id < 0)
			return diag_fail(diag, ENOENT, "attach.tracepoint", "%s cannot be attached: it has no id",
					 attaches[i].name);
		/* One event serves all CPUs: the program runs wherever the tracepoint is hit. */
		err = provider_attach_perf(program, &attr, 0, cookie + i, ret, diag);
	}
	return err;
}

const struct provider provider_tracepoint = {
	.name = "tracepoint",
	.aliases = {"t"},
	.context = CONTEXT_TRACEPOINT,
	.program_type = BPF_PROG_TYPE_TRACEPOINT,
	.obeys_target = true,
	.shares_programs = true,
	.expand = expand_tracepoint,
	.list = list_tracepoint,
	.attach = attach_tracepoint,
	.usage = "tracepoint:GROUP:EVENT",
};

struct raw_search {
	struct compiler *c;
	const struct provider *self;
	const char *pattern;
};

static void add_raw(void *context, const char *name)
{
	struct raw_search *search = context;
	struct attach attach = {.own = name};

	if (!provider_matches(search->pattern, name))
		return;
	attach.name = arena_printf(search->c->arena, "%s:vmlinux:%s", search->self->name, name);
	attach.arguments = kernel_types_tracepoint(&search->c->types, name, NULL);
	provider_add(search->c, attach);
}

static const char *raw_event(const struct attach_text *point)
{
	return point->part_count > 1 ? point->parts[point->part_count - 1] : "*";
}

static void list_raw(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	struct raw_search search = {c, self, raw_event(point)};

	kernel_types_each_tracepoint(&c->types, add_raw, &search);
}

/* Whose tracepoint it is the kernel does not say: only that there is such a module. */
static bool is_loaded(const char *module)
{
	char path[256];

	if (provider_matches(module, "vmlinux") || provider_has_wildcard(module))
		return true;
	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return !strchr(module, '/') && !access(path, F_OK);
}

static void expand_raw(struct compiler *c, const struct provider *self, const struct attach_text *point)
{
	size_t before = c->attaches.count;
	const char *event = raw_event(point);
	struct attach attach = {.own = event};

	if (!provider_parts(c, self, point, 1, 2))
		return;
	if (point->part_count > 2 && !is_loaded(point->parts[1])) {
		provider_missing(c, self, point);
		return;
	}
	if (provider_has_wildcard(event)) {
		list_raw(c, self, point);
	} else {
		bool is_known;

		attach.arguments = kernel_types_tracepoint(&c->types, event, &is_known);
		attach.name = point->part_count > 2
				      ? arena_printf(c->arena, "%s:%s:%s", self->name, point->parts[1], event)
				      : arena_printf(c->arena, "%s:%s", self->name, event);
		if (is_known)
			provider_add(c, attach);
	}
	if (c->attaches.count == before)
		provider_missing(c, self, point);
}

static int configure_raw(struct bpf_program *program, const struct attach *attach, struct diag *diag)
{
	int err;

	if (!(attach->flags & ATTACH_KEEPS_TYPES))
		return 0;
	bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
	bpf_program__set_expected_attach_type(program, BPF_TRACE_RAW_TP);
	err = bpf_program__set_attach_target(program, 0, attach->own);
	return err ? diag_fail(diag, -err, "attach.btf",
			       "%s cannot be attached: the kernel's BTF has no such tracepoint", attach->name)
		   : 0;
}

static int attach_raw(int program, const struct attach *attaches, uint32_t count, uint64_t cookie,
		      const struct attach_target *target, struct attachment *ret, struct diag *diag)
{
	/* With types the tracepoint was named when the program was loaded. */
	int fd = bpf_raw_tracepoint_open(attaches->flags & ATTACH_KEEPS_TYPES ? NULL : attaches->own, program);

	(void)count;
	(void)cookie;
	(void)target;
	if (fd < 0)
		return diag_fail(diag, -fd, "attach.rawtracepoint", "%s cannot be attached: %s", attaches->name,
				 strerror(-fd));
	return attachment_keep(&ret->fds, fd, diag);
}

const struct provider provider_rawtracepoint = {
	.name = "rawtracepoint",
	.aliases = {"rt"},
	.context = CONTEXT_WORDS,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.obeys_target = true,
	.has_objects = true,
	.expand = expand_raw,
	.list = list_raw,
	.configure = configure_raw,
	.attach = attach_raw,
	.usage = "rawtracepoint:EVENT",
};
