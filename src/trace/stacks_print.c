// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as text: names are looked up when they are printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/loss.h"
#include "profile/text.h"
#include "engine/merge.h"
#include "symbol/demangle.h"
#include "trace/names.h"
#include "trace/stacks_parts.h"

/* NULL when memory is short. */
static struct resolver *resolver_of(struct stacks *stacks, struct object *object)
{
	uint64_t key = (uint64_t)(uintptr_t)object, found;
	struct perf_map *map;
	struct resolver *resolver;

	if (table_get(&stacks->resolvers, key, &found))
		return (struct resolver *)(uintptr_t)found;
	resolver = malloc(sizeof(*resolver));
	if (!resolver)
		return NULL;
	map = object->file->kind == FILE_ANONYMOUS ? watch_perf_map(stacks->watch, object->file) : NULL;
	(void)object_find_roles(object);
	(void)resolver_open(resolver, NULL, object, map, NULL, 0); /* without memory as without any: addresses */
	if (table_set(&stacks->resolvers, key, (uint64_t)(uintptr_t)resolver)) {
		resolver_close(resolver);
		free(resolver);
		return NULL;
	}
	return resolver;
}

struct line {
	enum frame_layer layer;
	const char *name, *file, *path;
	uint64_t offset; /* behind the symbol's start */
	uint64_t size;   /* the symbol's; 0: not known */
	int line;
	const char *source; /* of native code: the file that `line` is in; NULL: not known */
	bool is_inlined;
	uint64_t address;
	bool has_name;
	struct resolved resolved; /* of native frames: what `name` and `file` may be of */
	char unknown[64];         /* of second frames whose function did not arrive: what `name` is */
};

static void name_native(struct stacks *stacks, const struct frame_place *place, struct line *ret)
{
	struct resolver *resolver = place->object ? resolver_of(stacks, place->object) : NULL;
	struct resolved *resolved = &ret->resolved;

	*ret = (struct line){.layer = FRAME_NATIVE, .address = place->address, .file = "?", .path = "?"};
	ret->name = resolved->text;
	if (!resolver) {
		ret->layer = FRAME_MARK;
		snprintf(resolved->text, sizeof(resolved->text), "[unknown 0x%" PRIx64 "]", place->address);
		return;
	}
	(void)resolver_name(resolver, place->vaddr, place->is_return, resolved);
	ret->path = place->object->file->path;
	ret->file = resolved->file;
	ret->name = resolved->name;
	ret->has_name = resolved->has_symbol;
	ret->offset = ret->has_name ? place->vaddr - resolved->start : 0;
	ret->size = resolved->size;
	if (resolved->layer == FRAME_MARK) { /* generated code, of which nothing tells the name */
		snprintf(resolved->text, sizeof(resolved->text), "0x%" PRIx64, place->address);
		ret->name = resolved->text;
	}
}

static const struct code *code_of(struct stacks *stacks, const struct frame_place *place)
{
	const struct store *codes = &stacks->codes;

	if (!place->has_code || place->vaddr >= codes->second_locations.count)
		return NULL;
	return store_code_at(codes, (uint32_t)codes->second_locations.at[place->vaddr].code);
}

static void name_second(struct stacks *stacks, const struct sent_stack *stack, const struct frame_place *place,
			struct line *ret)
{
	const struct code *code = code_of(stacks, place);
	const struct runtime *runtime = runtime_of(stack->runtime);

	if (!code || !code->runtime) {
		*ret = (struct line){.layer = FRAME_MARK, .name = ret->unknown, .file = ""};
		snprintf(ret->unknown, sizeof(ret->unknown), "[unknown %s function]",
			 runtime ? runtime->language : "runtime's");
		return;
	}
	*ret = (struct line){.layer = FRAME_RUNTIME,
			     .name = code->name ? code->name : "?",
			     .file = code->file ? code->file : "?",
			     .line = code->runtime->line(code->version, code->table, code->table_size,
							 code->firstlineno, place->position)};
}

/* Is a frame of a second stack one that nobody wrote? */
static bool is_hidden(struct stacks *stacks, const struct frame_place *place)
{
	const struct code *code = code_of(stacks, place);

	return !place->has_code || (code && code->hidden);
}

struct printing {
	struct stacks *stacks;
	struct names *names;
	FILE *out;
	enum stack_style style;
	bool json, merged, first;
	uint32_t skip; /* frames that are left out, before */
	uint32_t left; /* frames that may still be printed */
};

/* What a file or a process chose: nothing of it may end a line, or a text in JSON. */
static void put_text(const struct printing *p, const char *text)
{
	char clean[4096];

	if (p->json) {
		text_clean(text, clean, sizeof(clean));
		text_print_json(p->out, clean, strlen(clean));
	} else {
		text_print(p->out, text, strlen(text));
	}
}

static void print_clean(const struct printing *p, const struct line *line)
{
	const struct frame frame = {.layer = line->layer, .name = line->name, .file = line->file, .line = line->line};
	char text[4096];

	frame_format(&frame, text, sizeof(text));
	put_text(p, text);
}

static bool is_as_perf(const struct printing *p)
{
	return p->style == STACK_STYLE_PERF || p->style == STACK_STYLE_SIZED;
}

static void print_line(struct printing *p, const struct line *line)
{
	bool folded = p->style == STACK_STYLE_FOLDED || p->json;
	bool with_address = is_as_perf(p) && !p->merged && line->address;

	if (!p->left)
		return;
	if (p->skip) {
		p->skip -= !line->is_inlined;
		return;
	}
	p->left -= !line->is_inlined;
	if (folded)
		fputs(p->first ? "" : p->json ? "\\n" : ";", p->out);
	else if (p->style != STACK_STYLE_RAW)
		fputs(with_address ? "\t" : "        ", p->out);
	p->first = false;
	if (with_address)
		fprintf(p->out, "%" PRIx64 " ", line->address);
	if (p->style == STACK_STYLE_RAW && line->address) {
		fprintf(p->out, "%" PRIx64, line->address);
	} else if (p->style == STACK_STYLE_FOLDED || p->merged || line->layer != FRAME_NATIVE) {
		print_clean(p, line);
	} else {
		fputs(line->is_inlined && p->style != STACK_STYLE_PERF ? "[inlined] " : "", p->out);
		put_text(p, line->name);
		if (line->has_name && !line->is_inlined)
			fprintf(p->out, "+%" PRIu64, line->offset);
		if (line->has_name && !line->is_inlined && line->size && p->style == STACK_STYLE_SIZED)
			fprintf(p->out, "/%" PRIu64, line->size);
		if (is_as_perf(p)) {
			fputs(" (", p->out);
			put_text(p, line->is_inlined ? "inlined" : line->path);
			fputc(')', p->out);
		} else if (line->source && line->line) {
			fputc('@', p->out);
			put_text(p, line->source);
			fprintf(p->out, ":%d", line->line);
		}
	}
	if (!folded)
		fputc('\n', p->out);
}

/* "BUILD-ID 0xOFFSET", the offset in the file. */
static bool print_build_id(struct printing *p, const struct frame_place *place)
{
	char text[2 * ELF_BUILD_ID_MAX + 1];
	uint64_t offset;

	if (!place->object || !object_file_offset(place->object, place->vaddr, &offset))
		return false;
	object_build_id(place->object, text, sizeof(text));
	if (!*text || !p->left)
		return *text;
	p->left--;
	fprintf(p->out, "%s%s 0x%" PRIx64 "%s", p->json && !p->first ? "\\n" : "", text, offset, p->json ? "" : "\n");
	p->first = false;
	return true;
}

static void print_mark(struct printing *p, const char *text)
{
	const struct line line = {.layer = FRAME_MARK, .name = text, .file = ""};

	print_line(p, &line);
}

static void print_kernel(struct printing *p, const struct frame_place *place)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	names_kernel_symbol(p->names, out, place->address, place->is_return);
	fclose(out);
	if (p->merged || p->style == STACK_STYLE_FOLDED) {
		struct line line = {.layer = FRAME_KERNEL, .name = text, .file = "", .address = place->address};
		char *plus = strrchr(text, '+');

		if (plus)
			*plus = '\0';
		print_line(p, &line);
	} else {
		const struct line line = {.layer = FRAME_MARK, .name = text, .file = "", .address = place->address};

		print_line(p, &line);
	}
	free(text);
}

/* A native frame, with the functions inlined there and its lines of source, where there is debug information. */
static void print_native(struct printing *p, const struct frame_place *place, struct line *line)
{
	bool wanted = (p->style == STACK_STYLE_DEFAULT || p->style == STACK_STYLE_PERF) && !p->merged && line->has_name;
	const struct source_place *source =
		wanted && p->stacks->sources
			? sources_place(p->stacks->sources, place->object, place->vaddr - place->is_return)
			: NULL;
	size_t i;

	for (i = 0; source && i + 1 < source->count; i++) {
		const struct source_frame *frame = &source->frames[i];
		char *demangled = frame->function ? demangle(frame->function) : NULL;
		const struct line inlined = {.layer = FRAME_NATIVE,
					     .name = demangled         ? demangled
						     : frame->function ? frame->function
								       : "?",
					     .file = line->file,
					     .path = line->path,
					     .address = line->address,
					     .source = frame->file,
					     .line = (int)frame->line,
					     .has_name = true,
					     .is_inlined = true};

		print_line(p, &inlined);
		free(demangled);
	}
	if (source) {
		line->source = source->frames[source->count - 1].file;
		line->line = (int)source->frames[source->count - 1].line;
	}
	print_line(p, line);
}

static void print_place(struct printing *p, const struct sent_stack *stack, const struct frame_place *place)
{
	struct line line;

	if (stack->type == EVENT_KERNEL_STACK) {
		print_kernel(p, place);
		return;
	}
	if (stack->type == EVENT_SECOND_STACK && is_hidden(p->stacks, place))
		return;
	if (p->style == STACK_STYLE_BUILD_ID && stack->type == EVENT_NATIVE_STACK && print_build_id(p, place))
		return;
	if (stack->type == EVENT_SECOND_STACK) {
		name_second(p->stacks, stack, place, &line);
		print_line(p, &line);
		return;
	}
	name_native(p->stacks, place, &line);
	print_native(p, place, &line);
	resolved_release(&line.resolved);
}

static const struct sent_stack *find(struct stacks *stacks, enum event_type type, uint64_t id)
{
	uint64_t found;

	return id && table_get(stacks_of(stacks, type), id, &found) ? (const void *)(uintptr_t)found : NULL;
}

/* Without loops to count, frames that may be another thread's are left out. */
static void print_all(struct printing *p, const struct sent_stack *stack, bool outermost_first)
{
	uint32_t i;

	for (i = 0; stack && i < stack->count; i++) {
		const struct frame_place *place = &stack->frames[outermost_first ? stack->count - 1 - i : i];

		if (!place->is_unsure)
			print_place(p, stack, place);
	}
}

static enum runtime_role role_of(struct stacks *stacks, const struct frame_place *place)
{
	const struct resolver *resolver = place->object ? resolver_of(stacks, place->object) : NULL;

	return resolver ? resolver_role(resolver, place->vaddr, place->is_return) : ROLE_NATIVE;
}

/* Native and second frames as one stack, as engine/report does it. */
static void print_merged(struct printing *p, const struct sent_stack *native, const struct sent_stack *second,
			 const struct rt_stack_value *value, bool outermost_first)
{
	uint32_t natives = native ? native->count : 0, seconds = second ? second->count : 0, total = natives + seconds,
		 i;
	uint32_t *numbers = calloc((size_t)total + 1, sizeof(*numbers));
	uint8_t *roles = calloc((size_t)natives + 1, sizeof(*roles));
	bool *flags = calloc((size_t)seconds + 1, sizeof(*flags));
	struct merge_frame *merged = calloc((size_t)total + 1, sizeof(*merged));
	struct merge_input input = {.native = numbers,
				    .role = roles,
				    .native_count = natives,
				    .second_count = seconds,
				    .native_rooted = value->native_loss == LOSS_NONE,
				    .second_rooted = value->second_loss == LOSS_NONE};
	struct merge_result result = {};

	if (numbers && roles && flags && merged) {
		input.second = numbers + natives;
		input.is_entry = flags;
		for (i = 0; i < natives; i++) {
			numbers[i] = i;
			roles[i] = (uint8_t)role_of(p->stacks, &native->frames[i]);
		}
		for (i = 0; i < seconds; i++) {
			numbers[natives + i] = i;
			flags[i] = second->frames[i].is_entry;
			input.second_unsure += second->frames[i].is_unsure;
		}
		result = merge_stacks(&input, merged);
	}
	for (i = 0; i < result.count; i++) {
		const struct merge_frame *frame = &merged[outermost_first ? i : result.count - 1 - i];
		const struct sent_stack *of = frame->second ? second : native;

		print_place(p, of, &of->frames[frame->frame]);
	}
	free(numbers);
	free(roles);
	free(flags);
	free(merged);
}

/* Why a stack does not reach its outermost frame, or may lack the innermost ones. */
static void print_loss(struct printing *p, const struct rt_stack_value *value, const struct sent_stack *native,
		       const struct sent_stack *second)
{
	uint16_t loss = value->native_loss == LOSS_LATE && native ? native->loss : value->native_loss;
	char text[64];

	if (loss == LOSS_NONE)
		loss = value->second_loss;
	if (loss == LOSS_NONE && !p->merged && second && second->count && second->frames[0].is_unsure)
		loss = LOSS_SECOND_MISMATCH;
	if (loss == LOSS_NONE || value->limit || (!value->native && loss == LOSS_SECOND_NO_THREAD))
		return;
	if (loss_kind(loss) == LOSS_KIND_TRUNCATED)
		snprintf(text, sizeof(text), "[truncated]");
	else
		snprintf(text, sizeof(text), "[incomplete: %s]", loss_key(loss) ? loss_key(loss) : "?");
	print_mark(p, text);
}

struct parts {
	const struct sent_stack *kernel, *native, *second;
};

static void print_frames(struct printing *p, const struct parts *parts, const struct rt_stack_value *value)
{
	bool outermost_first = p->style == STACK_STYLE_FOLDED;

	if (!outermost_first)
		print_all(p, parts->kernel, false);
	if (p->merged) {
		print_merged(p, parts->native, parts->second, value, outermost_first);
	} else {
		print_all(p, parts->native, outermost_first);
		print_all(p, parts->second, outermost_first);
	}
	if (outermost_first)
		print_all(p, parts->kernel, true);
}

/* The kernel part has cut a stack to its limit, unless it was finished later: then it is whole. */
static uint32_t beyond_limit(const struct printing *printing, const struct parts *parts,
			     const struct rt_stack_value *value)
{
	struct printing p = *printing;

	p.left = p.skip = UINT32_MAX;
	print_frames(&p, parts, value);
	return UINT32_MAX - p.skip > printing->left ? UINT32_MAX - p.skip - printing->left : 0;
}

void stacks_print(struct stacks *stacks, struct names *names, FILE *out, const struct type *type,
		  const struct rt_stack_value *value, bool json)
{
	const struct parts parts = {.kernel = find(stacks, EVENT_KERNEL_STACK, value->kernel),
				    .native = find(stacks, EVENT_NATIVE_STACK, value->native),
				    .second = find(stacks, EVENT_SECOND_STACK, value->second)};
	bool missing = (value->kernel && !parts.kernel) || (value->native && !parts.native) ||
		       (value->second && !parts.second);
	bool outermost_first = type->style == STACK_STYLE_FOLDED;
	bool merged = type->variant == (STACK_KERNEL | STACK_NATIVE | STACK_SECOND);
	struct printing p = {.stacks = stacks,
			     .names = names,
			     .out = out,
			     .style = type->style,
			     .json = json,
			     .merged = merged,
			     .first = true,
			     .left = type->limit ? type->limit : UINT32_MAX};

	if (json)
		fputc('"', out);
	else if (!outermost_first)
		fputc('\n', out);
	if (outermost_first)
		print_loss(&p, value, parts.native, parts.second);
	if (missing)
		print_mark(&p, "[incomplete: stack-missing]");
	if (outermost_first && type->limit)
		p.skip = beyond_limit(&p, &parts, value);
	print_frames(&p, &parts, value);
	if (!outermost_first)
		print_loss(&p, value, parts.native, parts.second);
	if (json)
		fputc('"', out);
}

bool stacks_symbol(struct stacks *stacks, FILE *out, uint64_t address, int pid, enum symbol_form form)
{
	struct frame_place place = {.address = address};
	struct line line;

	if (!watch_locate(stacks->watch, pid, address, UINT64_MAX - 1, &place.object, &place.vaddr))
		return false;
	name_native(stacks, &place, &line);
	if (line.has_name)
		fputs(line.name, out);
	if (line.has_name && (form == SYMBOL_WITH_SIZE || (form == SYMBOL_WITH_OFFSET && line.offset)))
		fprintf(out, "+%" PRIu64, line.offset);
	if (line.has_name && form == SYMBOL_WITH_SIZE && line.size)
		fprintf(out, "/%" PRIu64, line.size);
	resolved_release(&line.resolved);
	return line.has_name;
}

void stacks_file(struct stacks *stacks, FILE *out, uint64_t address, int pid)
{
	struct frame_place place = {.address = address};
	struct line line;

	if (!watch_locate(stacks->watch, pid, address, UINT64_MAX - 1, &place.object, &place.vaddr))
		return;
	name_native(stacks, &place, &line);
	if (place.object)
		fputs(line.path, out);
	resolved_release(&line.resolved);
}
