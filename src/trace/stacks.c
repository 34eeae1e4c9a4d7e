// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack arrives once, as numbers; what its addresses mean is settled then, by the mappings of that moment, since the
 * process may be gone when the stack is printed. Names are looked up when they are printed: files stay open.
 *
 * Code objects are decoded by record/store, of which nothing else is used here.
 */
#include "trace/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "abi/config.h"
#include "abi/loss.h"
#include "base/foreign.h"
#include "kernel/programs.h"
#include "kernel/sampler.h"
#include "kernel/sideband.h"
#include "lang/check/compiler.h"
#include "python/lines.h"
#include "record/merge.h"
#include "record/watch.h"
#include "symbol/demangle.h"
#include "symbol/perf_map.h"
#include "trace/names.h"

#define PROCESSES  16384
#define THREADS    4096
#define PUBLISH_NS 2000000ull /* tables of one large file, or of some small ones */

struct frame_place {
	uint64_t address;      /* as it was in the process or the kernel */
	uint64_t vaddr;        /* in the file, or the code object's id */
	struct object *object; /* of native frames; NULL: not known */
	int32_t lasti;         /* of Python frames */
	bool is_return, is_entry, is_unsure, has_code;
};

struct sent_stack {
	enum event_type type;
	uint32_t count;
	uint16_t loss;               /* of one that was finished here: why it ended early */
	struct frame_place frames[]; /* innermost first */
};

struct stacks {
	bool everything; /* all processes are watched */
	struct foreign_files *files;
	VEC(struct watch_file) expected;
	struct sampler *sampler;
	struct sideband *sideband;
	struct watch *watch;
	struct table sent[3]; /* by type: id → struct sent_stack * */
	struct store codes;
	struct table symbols;   /* object → struct elf_symbols * or 1 (none) */
	struct table kept;      /* objects that frames point to: not to be forgotten */
	struct table perf_maps; /* process → struct perf_map * or 1 (none) */
};

int stacks_configure(struct bpf_object *object, uint32_t parts, const struct compile_options *compile,
		     struct diag *diag)
{
	const struct programs_options options = {.watch_all = true,
						 .walks = (uint8_t)(parts & (SAMPLER_NATIVE | SAMPLER_PYTHON)),
						 .namespace_device = compile->namespace_device,
						 .namespace_inode = compile->namespace_inode};
	/* Smaller than the sampler's, as they are made anew for each script: all processes are watched, and few of
	 * them, and of their threads, meet probes. */
	static const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {{"targets", 1},
		     {"execs", PROCESSES / 4},
		     {"processes", PROCESSES},
		     {"python_processes", PROCESSES},
		     {"python_threads", THREADS}};
	struct bpf_program *sample = bpf_object__find_program_by_name(object, "sample");
	int err = programs_configure(object, &options);
	size_t i;

	for (i = 0; !err && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, sizes[i].map), sizes[i].entries);
	if (!err && sample)
		err = bpf_program__set_autoload(sample, false);
	return err ? diag_fail(diag, -err, "stacks.configure", "the stack walkers cannot be configured: %s",
			       strerror(-err))
		   : 0;
}

/* A file that cannot be read is none that tables could be made for. */
static int expect_files(struct stacks *stacks, const struct stacks_options *options)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < options->probed_count && !err; i++) {
		const struct foreign_request request = {.paths = {options->probed[i]},
							.place = foreign_folder(options->probed[i])};
		struct foreign_file *file;
		struct stat stat;

		if ((i && !strcmp(options->probed[i], options->probed[i - 1])) ||
		    foreign_open(options->files, &request, &file))
			continue;
		if (!foreign_stat(file, &stat))
			err = vec_push(&stacks->expected,
				       (struct watch_file){(uint64_t)major(stat.st_dev) << 32 | minor(stat.st_dev),
							   stat.st_ino});
		foreign_close(file);
	}
	return err;
}

static int scan(struct stacks *stacks, const struct stacks_options *options)
{
	uint32_t i;
	int err = !options->pid         ? watch_meet_all(stacks->watch)
		  : options->is_command ? watch_scan_briefly(stacks->watch, options->pid)
					: watch_scan(stacks->watch, options->pid);

	/* One that has ended meanwhile has no stacks. */
	for (i = 0; !err && i < options->early_count; i++)
		if (watch_prepare(stacks->watch, options->early[i]) == -ENOMEM)
			err = -ENOMEM;
	return err;
}

int stacks_create(struct bpf_object *object, const struct stacks_options *options, struct stacks **ret,
		  struct diag *diag)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	int err;

	if (!stacks)
		return diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	stacks->everything = !options->pid;
	stacks->files = options->files;
	err = sampler_adopt(object, &stacks->sampler, diag);
	if (!err)
		err = sideband_open(&stacks->sideband, diag);
	if (!err && stacks->everything && options->parts & (STACK_NATIVE | STACK_PYTHON) &&
	    expect_files(stacks, options))
		err = diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	if (!err)
		err = watch_create(&(struct watch_options){.everything = stacks->everything,
							   .files = options->files,
							   .expected = stacks->expected.at,
							   .expected_count = (uint32_t)stacks->expected.count,
							   .publish_ns = options->pid ? 0 : PUBLISH_NS},
				   stacks->sampler, stacks->sideband, &stacks->watch, diag);
	if (!err && options->parts & (STACK_NATIVE | STACK_PYTHON)) {
		err = scan(stacks, options);
		if (err)
			diag_fail(diag, -err, "stacks.scan", "the processes cannot be read: %s", strerror(-err));
	}
	if (err)
		stacks_destroy(stacks);
	else
		*ret = stacks;
	return err;
}

/*
 * A process that called exec meanwhile has its old tables until that is taken in. Where all processes are watched there
 * are tables only of those that were expected.
 */
int stacks_begin(struct stacks *stacks, struct diag *diag)
{
	int err = sampler_attach_hooks(stacks->sampler, diag);

	if (!err && (!stacks->everything || stacks->expected.count) && watch_drain(stacks->watch))
		err = diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	return err;
}

static void free_values(struct table *table)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(table, &at)))
		free((void *)(uintptr_t)slot->value);
	table_deinit(table);
}

void stacks_destroy(struct stacks *stacks)
{
	struct table_slot *slot;
	size_t at = 0, i;

	if (!stacks)
		return;
	while ((slot = table_next(&stacks->symbols, &at)))
		if (slot->value > 1)
			elf_symbols_destroy((struct elf_symbols *)(uintptr_t)slot->value);
	table_deinit(&stacks->symbols);
	for (i = 0; i < 3; i++)
		free_values(&stacks->sent[i]);
	store_deinit(&stacks->codes);
	watch_destroy(stacks->watch);
	sideband_close(stacks->sideband);
	sampler_destroy(stacks->sampler);
	at = 0;
	while ((slot = table_next(&stacks->perf_maps, &at)))
		if (slot->value > 1)
			perf_map_destroy((struct perf_map *)(uintptr_t)slot->value);
	table_deinit(&stacks->perf_maps);
	table_deinit(&stacks->kept);
	vec_free(&stacks->expected);
	free(stacks);
}

unsigned int stacks_fd_count(const struct stacks *stacks)
{
	(void)stacks;
	return 1;
}

int stacks_fd(const struct stacks *stacks, unsigned int index)
{
	(void)index;
	return sideband_fd(stacks->sideband);
}

int stacks_drain(struct stacks *stacks)
{
	return watch_drain(stacks->watch);
}

bool stacks_is_behind(const struct stacks *stacks)
{
	return watch_is_behind(stacks->watch);
}

void stacks_end(struct stacks *stacks)
{
	watch_stop_publishing(stacks->watch);
}

/* --- records --- */

static struct table *table_of(struct stacks *stacks, enum event_type type)
{
	return &stacks->sent[type - EVENT_KERNEL_STACK];
}

static void place_native(struct stacks *stacks, const struct stack_event *event, uint64_t frame,
			 struct frame_place *ret)
{
	ret->is_return = frame >> 63;
	ret->address = frame & ~NATIVE_RETURN_ADDRESS;
	if (!watch_locate(stacks->watch, (int)event->tgid, ret->address - ret->is_return, event->time, &ret->object,
			  &ret->vaddr))
		ret->object = NULL;
	ret->vaddr += ret->is_return;
	if (ret->object && !table_get(&stacks->kept, (uint64_t)(uintptr_t)ret->object, NULL) &&
	    !table_set(&stacks->kept, (uint64_t)(uintptr_t)ret->object, 1))
		ret->object->pins++;
}

static int place_python(struct stacks *stacks, const struct python_frame *frame, struct frame_place *ret)
{
	uint32_t number = 0;
	int err = frame->code ? store_python_location(&stacks->codes, frame->code, frame->lasti, &number) : 0;

	*ret = (struct frame_place){.vaddr = number,
				    .lasti = frame->lasti,
				    .has_code = frame->code != 0,
				    .is_entry = frame->flags & PYTHON_FRAME_ENTRY,
				    .is_unsure = frame->flags & PYTHON_FRAME_UNSURE};
	return err;
}

static int take_stack(struct stacks *stacks, const struct stack_event *event, size_t size)
{
	size_t each = event->header.type == EVENT_PYTHON_STACK ? sizeof(struct python_frame) : sizeof(uint64_t);
	const struct python_frame *python = (const void *)(event + 1);
	const uint64_t *frames = (const void *)(event + 1);
	struct table *table = table_of(stacks, event->header.type);
	struct sent_stack *stack;
	uint32_t i;

	if (size < sizeof(*event) || event->count > (size - sizeof(*event)) / each || table_get(table, event->id, NULL))
		return 0;
	stack = calloc(1, sizeof(*stack) + event->count * sizeof(stack->frames[0]));
	if (!stack)
		return -ENOMEM;
	stack->type = event->header.type;
	stack->count = event->count;
	for (i = 0; i < event->count; i++) {
		struct frame_place *place = &stack->frames[i];

		if (stack->type == EVENT_NATIVE_STACK)
			place_native(stacks, event, frames[i], place);
		else if (stack->type == EVENT_KERNEL_STACK)
			*place = (struct frame_place){.address = frames[i], .is_return = i > 0};
		else if (place_python(stacks, &python[i], place))
			break;
	}
	if (i == event->count && !table_set(table, event->id, (uint64_t)(uintptr_t)stack))
		return 0;
	free(stack);
	return -ENOMEM;
}

/* A stack that came before its process's tables is walked here; its id is the snapshot's number. */
static int take_snapshot(struct stacks *stacks, const struct snapshot_event *event, size_t size)
{
	struct stack_event header = {.id = event->sequence, .time = event->time, .tgid = event->tgid};
	struct late_stack walked;
	struct sent_stack *stack;
	uint32_t i;
	int err;

	if (event->stack_size > size - sizeof(*event))
		return 0;
	err = watch_drain(stacks->watch);
	if (!err)
		err = watch_walk_late(stacks->watch, event, (const uint8_t *)(event + 1), &walked);
	if (err)
		return err;
	stack = calloc(1, sizeof(*stack) + walked.count * sizeof(stack->frames[0]));
	if (!stack)
		return -ENOMEM;
	stack->type = EVENT_NATIVE_STACK;
	stack->count = walked.count;
	stack->loss = walked.loss;
	for (i = 0; i < walked.count; i++)
		place_native(stacks, &header, walked.frames[i], &stack->frames[i]);
	if (!table_set(table_of(stacks, EVENT_NATIVE_STACK), event->sequence, (uint64_t)(uintptr_t)stack))
		return 0;
	free(stack);
	return -ENOMEM;
}

int stacks_record(struct stacks *stacks, const struct event_header *event, size_t size)
{
	const struct code_event *code = (const void *)event;

	switch (event->type) {
	case EVENT_KERNEL_STACK:
	case EVENT_NATIVE_STACK:
	case EVENT_PYTHON_STACK:
		return size < sizeof(struct stack_event) ? 0 : take_stack(stacks, (const void *)event, size);
	case EVENT_CODE:
		if (size < sizeof(*code) || code->table_copied > size - sizeof(*code))
			return 0;
		return store_code(&stacks->codes, code, (const void *)(code + 1), code->table_copied);
	case EVENT_SNAPSHOT:
		return size < sizeof(struct snapshot_event) ? 0 : take_snapshot(stacks, (const void *)event, size);
	default:
		return 0;
	}
}

/* --- names --- */

static const struct elf_symbols *symbols_of(struct stacks *stacks, struct object *object)
{
	uint64_t key = (uint64_t)(uintptr_t)object, found;

	if (!table_get(&stacks->symbols, key, &found)) {
		struct elf_symbols *symbols = object_symbols(object);

		found = symbols ? (uint64_t)(uintptr_t)symbols : 1;
		if (table_set(&stacks->symbols, key, found)) {
			elf_symbols_destroy(symbols);
			return NULL;
		}
	}
	return found > 1 ? (const struct elf_symbols *)(uintptr_t)found : NULL;
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct line {
	enum frame_layer layer;
	const char *name, *file, *path;
	uint64_t offset; /* behind the symbol's start */
	int line;
	uint64_t address;
	bool has_name;
	char *owned; /* what `name` may be */
	char text[48];
};

static const struct perf_map *perf_map_of(struct stacks *stacks, int pid)
{
	uint64_t found;

	if (!table_get(&stacks->perf_maps, (uint64_t)(uint32_t)pid, &found)) {
		struct perf_map *map = perf_map_load(stacks->files, pid);

		found = map ? (uint64_t)(uintptr_t)map : 1;
		if (table_set(&stacks->perf_maps, (uint64_t)(uint32_t)pid, found)) {
			perf_map_destroy(map);
			return NULL;
		}
	}
	return found > 1 ? (const struct perf_map *)(uintptr_t)found : NULL;
}

static void name_native(struct stacks *stacks, const struct frame_place *place, struct line *ret)
{
	const struct elf_symbols *symbols = place->object ? symbols_of(stacks, place->object) : NULL;
	const struct perf_map *map;
	struct elf_symbol symbol;

	*ret = (struct line){
		.layer = FRAME_NATIVE, .address = place->address, .name = ret->text, .file = "?", .path = "?"};
	if (!place->object) {
		ret->layer = FRAME_MARK;
		snprintf(ret->text, sizeof(ret->text), "[unknown 0x%" PRIx64 "]", place->address);
		return;
	}
	ret->path = place->object->file->path;
	ret->file = basename_of(ret->path);
	if (symbols && elf_symbols_lookup(symbols, place->vaddr - place->is_return, &symbol)) {
		ret->owned = demangle(symbol.name);
		ret->name = ret->owned ? ret->owned : symbol.name;
		ret->offset = place->vaddr - symbol.vaddr;
		ret->has_name = true;
		return;
	}
	map = place->object->file->kind == FILE_ANONYMOUS ? perf_map_of(stacks, place->object->file->pid) : NULL;
	if (map && perf_map_lookup(map, place->address - place->is_return)) {
		ret->name = perf_map_lookup(map, place->address - place->is_return);
		return;
	}
	snprintf(ret->text, sizeof(ret->text), "0x%" PRIx64, place->vaddr);
}

static const struct code *code_of(struct stacks *stacks, const struct frame_place *place)
{
	const struct store *codes = &stacks->codes;

	if (!place->has_code || place->vaddr >= codes->python_locations.count)
		return NULL;
	return store_code_at(codes, (uint32_t)codes->python_locations.at[place->vaddr].code);
}

static void name_python(struct stacks *stacks, const struct frame_place *place, struct line *ret)
{
	const struct code *code = code_of(stacks, place);

	*ret = (struct line){.layer = FRAME_PYTHON, .name = "?", .file = "?"};
	if (!code) {
		*ret = (struct line){.layer = FRAME_MARK, .name = "[unknown Python function]", .file = ""};
		return;
	}
	if (code->name)
		ret->name = code->name;
	if (code->file)
		ret->file = code->file;
	ret->line = python_line(code->version, code->table, code->table_size, code->firstlineno, place->lasti);
}

/* Is a Python frame one that nobody wrote? */
static bool is_hidden(struct stacks *stacks, const struct frame_place *place)
{
	const struct code *code = code_of(stacks, place);

	return !place->has_code || (code && code->is_trampoline);
}

struct printing {
	struct stacks *stacks;
	struct names *names;
	FILE *out;
	enum stack_style style;
	bool json, merged, first;
	uint32_t left; /* frames that may still be printed */
};

static void print_clean(FILE *out, const struct line *line, bool json)
{
	const struct frame frame = {.layer = line->layer, .name = line->name, .file = line->file, .line = line->line};
	char text[4096];
	const char *at;

	frame_format(&frame, text, sizeof(text));
	for (at = text; *at; at++) {
		if (json && (*at == '"' || *at == '\\'))
			fputc('\\', out);
		fputc(*at, out);
	}
}

static void print_line(struct printing *p, const struct line *line)
{
	bool folded = p->style == STACK_STYLE_FOLDED || p->json;
	bool with_address = p->style == STACK_STYLE_PERF && !p->merged && line->address;

	if (!p->left)
		return;
	p->left--;
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
		print_clean(p->out, line, p->json);
	} else {
		fputs(line->name, p->out);
		if (line->has_name)
			fprintf(p->out, "+%" PRIu64, line->offset);
		if (p->style == STACK_STYLE_PERF)
			fprintf(p->out, " (%s)", line->path);
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

static void print_place(struct printing *p, const struct sent_stack *stack, const struct frame_place *place)
{
	struct line line;

	if (stack->type == EVENT_KERNEL_STACK) {
		print_kernel(p, place);
		return;
	}
	if (stack->type == EVENT_PYTHON_STACK && is_hidden(p->stacks, place))
		return;
	if (p->style == STACK_STYLE_BUILD_ID && stack->type == EVENT_NATIVE_STACK && print_build_id(p, place))
		return;
	if (stack->type == EVENT_PYTHON_STACK)
		name_python(p->stacks, place, &line);
	else
		name_native(p->stacks, place, &line);
	print_line(p, &line);
	free(line.owned);
}

static const struct sent_stack *find(struct stacks *stacks, enum event_type type, uint64_t id)
{
	uint64_t found;

	return id && table_get(table_of(stacks, type), id, &found) ? (const void *)(uintptr_t)found : NULL;
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

static enum merge_role role_of(const struct frame_place *place)
{
	uint64_t at = place->vaddr - place->is_return;
	size_t i;

	if (!place->object || !place->object->is_python)
		return MERGE_NATIVE;
	object_eval_ranges(place->object);
	for (i = 0; i < place->object->eval_count; i++)
		if (at >= place->object->eval[i].start && at < place->object->eval[i].end)
			return place->object->eval[i].handler ? MERGE_HANDLER : MERGE_LOOP;
	return MERGE_NATIVE;
}

/* Native and Python frames as one stack, as record/report does it. */
static void print_merged(struct printing *p, const struct sent_stack *native, const struct sent_stack *python,
			 const struct rt_stack_value *value, bool outermost_first)
{
	uint32_t natives = native ? native->count : 0, pythons = python ? python->count : 0, total = natives + pythons,
		 i;
	uint32_t *numbers = calloc((size_t)total + 1, sizeof(*numbers));
	uint8_t *roles = calloc((size_t)natives + 1, sizeof(*roles));
	bool *flags = calloc((size_t)pythons + 1, sizeof(*flags));
	struct merge_frame *merged = calloc((size_t)total + 1, sizeof(*merged));
	struct merge_input input = {.native = numbers,
				    .role = roles,
				    .native_count = natives,
				    .python_count = pythons,
				    .native_rooted = value->native_loss == LOSS_NONE,
				    .python_rooted = value->python_loss == LOSS_NONE};
	struct merge_result result = {};

	if (numbers && roles && flags && merged) {
		input.python = numbers + natives;
		input.is_entry = flags;
		for (i = 0; i < natives; i++) {
			numbers[i] = i;
			roles[i] = (uint8_t)role_of(&native->frames[i]);
		}
		for (i = 0; i < pythons; i++) {
			numbers[natives + i] = i;
			flags[i] = python->frames[i].is_entry;
			input.python_unsure += python->frames[i].is_unsure;
		}
		result = merge_stacks(&input, merged);
	}
	for (i = 0; i < result.count; i++) {
		const struct merge_frame *frame = &merged[outermost_first ? i : result.count - 1 - i];
		const struct sent_stack *of = frame->python ? python : native;

		print_place(p, of, &of->frames[frame->frame]);
	}
	free(numbers);
	free(roles);
	free(flags);
	free(merged);
}

/* Why a stack does not reach its outermost frame, or may lack the innermost ones. */
static void print_loss(struct printing *p, const struct rt_stack_value *value, const struct sent_stack *native,
		       const struct sent_stack *python)
{
	uint16_t loss = value->native_loss == LOSS_LATE && native ? native->loss : value->native_loss;
	char text[64];

	if (loss == LOSS_NONE)
		loss = value->python_loss;
	if (loss == LOSS_NONE && !p->merged && python && python->count && python->frames[0].is_unsure)
		loss = LOSS_PY_MISMATCH;
	if (loss == LOSS_NONE || value->limit || (!value->native && loss == LOSS_PY_NO_THREAD))
		return;
	if (loss_kind(loss) == LOSS_KIND_TRUNCATED)
		snprintf(text, sizeof(text), "[truncated]");
	else
		snprintf(text, sizeof(text), "[incomplete: %s]", loss_key(loss) ? loss_key(loss) : "?");
	print_mark(p, text);
}

void stacks_print(struct stacks *stacks, struct names *names, FILE *out, const struct type *type,
		  const struct rt_stack_value *value, bool json)
{
	const struct sent_stack *kernel = find(stacks, EVENT_KERNEL_STACK, value->kernel);
	const struct sent_stack *native = find(stacks, EVENT_NATIVE_STACK, value->native);
	const struct sent_stack *python = find(stacks, EVENT_PYTHON_STACK, value->python);
	bool missing = (value->kernel && !kernel) || (value->native && !native) || (value->python && !python);
	bool outermost_first = type->style == STACK_STYLE_FOLDED;
	bool merged = type->variant == (STACK_KERNEL | STACK_NATIVE | STACK_PYTHON);
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
		print_loss(&p, value, native, python);
	if (missing)
		print_mark(&p, "[incomplete: stack-missing]");
	if (!outermost_first)
		print_all(&p, kernel, false);
	if (merged) {
		print_merged(&p, native, python, value, outermost_first);
	} else {
		print_all(&p, native, outermost_first);
		print_all(&p, python, outermost_first);
	}
	if (outermost_first)
		print_all(&p, kernel, true);
	else
		print_loss(&p, value, native, python);
	if (json)
		fputc('"', out);
}

bool stacks_symbol(struct stacks *stacks, FILE *out, uint64_t address, int pid)
{
	struct frame_place place = {.address = address};
	struct line line;

	if (!watch_locate(stacks->watch, pid, address, UINT64_MAX - 1, &place.object, &place.vaddr))
		return false;
	name_native(stacks, &place, &line);
	if (line.has_name)
		fprintf(out, line.offset ? "%s+%" PRIu64 : "%s", line.name, line.offset);
	free(line.owned);
	return line.has_name;
}
