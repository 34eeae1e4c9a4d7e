// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of clauses, as dtrace prints them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/place.h"
#include "lang/core/value.h"
#include "lang/dialect/d/d.h"

static struct d_state *state_of(const struct printer *p)
{
	return d_state(p->compiler);
}

/* --- values --- */

void d_print_raw(FILE *out, const uint8_t *bytes, size_t size)
{
	size_t i, k;

	fprintf(out, "\n%*s      ", 5, "");
	for (i = 0; i < 16; i++)
		fprintf(out, "  %c", "0123456789abcdef"[i]);
	fputs("  0123456789abcdef\n", out);
	for (i = 0; i < size; i += 16) {
		fprintf(out, "%*s%5zx:", 5, "", i);
		for (k = i; k < i + 16; k++)
			if (k < size)
				fprintf(out, " %02x", bytes[k]);
			else
				fputs("   ", out);
		fputs("  ", out);
		for (k = i; k < i + 16 && k < size; k++)
			fputc(bytes[k] < ' ' || bytes[k] > '~' ? '.' : bytes[k], out);
		fputc('\n', out);
	}
}

static void print_text(const struct printer *p, FILE *out, const char *text, size_t size, int width, bool bare)
{
	char *shown = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&shown, &length);

	if (!memory)
		return;
	print_data(p, memory, text, size);
	fclose(memory);
	if (bare)
		fwrite(shown, 1, length, out);
	else
		fprintf(out, "  %-*s", width, shown);
	free(shown);
}

static void print_integer(FILE *out, const struct type *type, uint64_t value, bool bare)
{
	static const int signed_widths[] = {[1] = 3, [2] = 5, [4] = 10, [8] = 19},
			 unsigned_widths[] = {[1] = 3, [2] = 5, [4] = 10, [8] = 20};
	bool is_signed = type->kind == TYPE_INT && type->is_signed;
	int width = type->size > 8 ? 19 : is_signed ? signed_widths[type->size] : unsigned_widths[type->size];

	if (!bare)
		fputc(' ', out);
	if (is_signed)
		fprintf(out, "%*lld", bare ? 0 : width, (long long)value);
	else
		fprintf(out, "%*llu", bare ? 0 : width, (unsigned long long)value);
}

/* ADDRESS SYMBOL+OFFSET (PATH), as perf has it, is MODULE`SYMBOL+0xOFFSET here. Other lines are notes in brackets. */
static void print_frame(FILE *out, char *line, bool is_kernel)
{
	char *name = strchr(line, ' '), *path = name ? strstr(name, " (") : NULL, *plus, *end;
	const char *module = is_kernel ? "vmlinux" : "";
	size_t length;

	if (*line == '[' || !name) {
		fputs(line, out);
		return;
	}
	*name++ = '\0';
	if (path) {
		*path = '\0';
		path += 2;
		length = strlen(path);
		if (length && path[length - 1] == ')')
			path[length - 1] = '\0';
		module = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	}
	if (!strncmp(name, "0x", 2) || !strcmp(name, "[unknown]")) {
		fprintf(out, *module && !is_kernel ? "%s`0x%s" : "%s0x%s", is_kernel ? "" : module, line);
		return;
	}
	plus = strrchr(name, '+');
	fprintf(out, "%s%s%.*s", module, *module ? "`" : "", (int)(plus ? (size_t)(plus - name) : strlen(name)), name);
	if (plus && strtoull(plus + 1, &end, 0))
		fprintf(out, "+0x%llx", strtoull(plus + 1, &end, 0));
}

/* One frame a line, as far in as the option says. */
void d_print_stack(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	int indent = (int)state_of(p)->options[D_STACKINDENT];
	struct type perf = *type;
	bool is_kernel = type->variant == STACK_KERNEL;
	char *text = NULL, *line, *save = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	fputc('\n', out);
	if (!memory)
		return;
	perf.style = STACK_STYLE_PERF;
	p->words->stack(p->names, memory, &perf, (const void *)bytes, false);
	fclose(memory);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		while (*line == ' ' || *line == '\t')
			line++;
		fprintf(out, "%*s", indent, "");
		print_frame(out, line, is_kernel);
		fputc('\n', out);
	}
	free(text);
}

/* MODULE`SYMBOL+0xOFFSET, or what of it is known and wanted. */
static void put_user_symbol(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	uint64_t address = word_at(bytes), pid = word_at(bytes + 8);
	char *path = NULL, *name = NULL, *plus;
	size_t path_size = 0, name_size = 0;
	FILE *file = open_memstream(&path, &path_size), *symbol = open_memstream(&name, &name_size);

	if (file && symbol) {
		p->words->user_file(p->names, file, address, pid);
		p->words->user_symbol(p->names, symbol, address, pid, SYMBOL_WITH_OFFSET);
	}
	if (file)
		fclose(file);
	if (symbol)
		fclose(symbol);
	if (!file || !symbol || !path || !name || (type->style == PART_MODULE && !path_size)) {
		fprintf(out, "0x%llx", (unsigned long long)address);
	} else {
		plus = strrchr(name, '+');
		if (path_size)
			fputs(path_basename(path), out);
		if (type->style != PART_MODULE)
			fprintf(out, "%s%.*s", path_size ? "`" : "", plus ? (int)(plus - name) : (int)name_size, name);
		if (type->style == PART_ADDRESS && plus)
			fprintf(out, "+0x%llx", strtoull(plus + 1, NULL, 10));
	}
	free(path);
	free(name);
}

#define FUNCTION_MAX 0x10000

/* vmlinux`SYMBOL, with the offset only where it is wanted; the module alone; the address of what has no symbol. */
void d_print_kernel_symbol(const struct printer *p, FILE *out, uint64_t address, enum d_symbol_part part)
{
	char *text = NULL, *plus;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	p->words->kernel_symbol(p->names, memory, address, SYMBOL_WITH_OFFSET);
	fclose(memory);
	plus = strrchr(text, '+');
	/* So far behind a function's begin is none of its instructions. */
	if (plus ? strtoull(plus + 1, NULL, 10) > FUNCTION_MAX : !strncmp(text, "0x", 2) && (int64_t)address < 0) {
		uint64_t within;
		char *data = d_kernel_data(address, &within);

		if (data && part != PART_MODULE) {
			fprintf(out, "vmlinux`%s", data);
			if (part == PART_ADDRESS && within)
				fprintf(out, "+0x%llx", (unsigned long long)within);
		}
		free(data);
		if (data && part != PART_MODULE) {
			free(text);
			return;
		}
	}
	if (!strncmp(text, "0x", 2))
		fputs(text, out);
	else if (part == PART_MODULE)
		fputs("vmlinux", out);
	else
		fprintf(out, "vmlinux`%.*s", plus ? (int)(plus - text) : (int)size, text);
	if (plus && part == PART_ADDRESS)
		fprintf(out, "+0x%llx", strtoull(plus + 1, NULL, 10));
	free(text);
}

void d_print_symbol(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	if (type->variant == SYMBOL_USER)
		put_user_symbol(p, out, type, bytes);
	else
		d_print_kernel_symbol(p, out, word_at(bytes), type->style);
}

static void print_symbol(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	d_print_symbol(p, memory, type, bytes);
	fclose(memory);
	fprintf(out, "  %-50s", text);
	free(text);
}

void d_print_trace(const struct printer *p, const struct type *type, const uint8_t *bytes)
{
	bool bare = state_of(p)->options[D_QUIET];

	if (state_of(p)->options[D_RAWBYTES] && type->kind != TYPE_BUFFER)
		d_print_raw(p->out, bytes, type->kind == TYPE_STRING ? type->count : type->size);
	else if (type->kind == TYPE_STRING)
		print_text(p, p->out, (const char *)bytes, strnlen((const char *)bytes, type->size), 33, bare);
	else if (type_is_scalar(type))
		print_integer(p->out, type, scalar_load(bytes, type->size, type->is_signed), bare);
	else if (type->kind == TYPE_BUFFER)
		d_print_raw(p->out, bytes + 4,
			    *(const uint32_t *)bytes < type->size - 4 ? *(const uint32_t *)bytes : type->size - 4);
	else if (type->kind == TYPE_STACK)
		d_print_stack(p, p->out, type, bytes);
	else if (type->kind == TYPE_SYMBOL)
		print_symbol(p, p->out, type, bytes);
	else
		d_print_raw(p->out, bytes, type->size);
}

/* --- actions --- */

struct arrived {
	const struct printer *p;
	const struct d_place *place;
	const struct d_record *record;
	const struct type *tuple;
	const uint8_t *bytes;
	const struct d_action *action;
};

static const uint8_t *value_at(const struct arrived *a, uint32_t index, const struct type **type)
{
	const struct type_field *field = &a->tuple->fields[2 + a->action->first + index];

	*type = field->type;
	return a->bytes + field->offset;
}

static int64_t number_at(const struct arrived *a, uint32_t index)
{
	const struct type *type;
	const uint8_t *bytes = value_at(a, index, &type);

	return (int64_t)scalar_load(bytes, type->size, type->is_signed);
}

static char *formatted(const struct arrived *a)
{
	struct printer plain = *a->p;
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return NULL;
	plain.escape = false;
	d_print_formatted(&plain, a->action->format, a->tuple, 2 + a->action->first, a->action->count, a->bytes,
			  memory);
	fclose(memory);
	return text;
}

/* "" is what it was before the first one; it goes on in another file. */
static void reopen(const struct printer *p, const char *path)
{
	struct d_state *state = state_of(p);
	int err;

	fflush(p->out);
	if (!*path) {
		if (state->has_first_out)
			dup2(state->first_out, fileno(p->out));
		return;
	}
	if (!state->has_first_out) {
		state->first_out = fcntl(fileno(p->out), F_DUPFD_CLOEXEC, 3);
		state->has_first_out = state->first_out >= 0;
	}
	err = place_redirect(path, p->out);
	if (err)
		fprintf(stderr, "dtrace: failed to freopen \"%s\": %s\n", path, strerror(-err));
}

static void end_speculation(const struct printer *p, uint64_t number, bool is_committed);
/* Text that was recorded; it ends with a zero byte, or with its type. */
static const char *text_at(const struct arrived *a, uint32_t index, int *size)
{
	const struct type *type;
	const uint8_t *bytes = value_at(a, index, &type);

	*size = (int)strnlen((const char *)bytes, type->size);
	return (const char *)bytes;
}

/* setopt() */
static void change_option(const struct arrived *a)
{
	const struct printer *p = a->p;
	int size, value_size = 1;
	const char *text = text_at(a, 0, &size);
	const char *value = a->action->count > 1 ? text_at(a, 1, &value_size) : "1";
	const char *wrong;
	char name[64], setting[256];

	snprintf(name, sizeof(name), "%.*s", size, text);
	snprintf(setting, sizeof(setting), "%.*s", value_size, value);
	wrong = d_option_change(state_of(p), name, setting);
	if (!wrong)
		return;
	fflush(p->out);
	fprintf(stderr, "dtrace: error in dt_clause_%u for probe ID %u (%s:%s:%s:%s): couldn't set option \"",
		a->record->clause, a->place->id, a->place->provider, a->place->module, a->place->function,
		a->place->name);
	print_data(p, stderr, name, strlen(name));
	fputs("\" to \"", stderr);
	print_data(p, stderr, setting, strlen(setting));
	fprintf(stderr, "\": %s\n\n", wrong);
}

static void act(const struct arrived *a)
{
	const struct printer *p = a->p;
	const struct d_action *action = a->action;
	struct d_variable *variable =
		action->aggregation_count ? (struct d_variable *)(uintptr_t)action->aggregations[0] : NULL;
	const struct type *type;
	const uint8_t *bytes;
	char *text;

	switch (action->kind) {
	case ACT_TRACE:
	case ACT_STACK:
	case ACT_SYMBOL:
		bytes = value_at(a, 0, &type);
		d_print_trace(p, type, bytes);
		break;
	case ACT_MEMORY: {
		uint32_t size;

		bytes = value_at(a, 0, &type);
		size = *(const uint32_t *)bytes < type->size - 4 ? *(const uint32_t *)bytes : type->size - 4;
		if (action->count > 1 && number_at(a, 1) >= 0 && number_at(a, 1) < size)
			size = (uint32_t)number_at(a, 1);
		if (size)
			d_print_raw(p->out, bytes + 4, size);
		break;
	}
	case ACT_PRINT: {
		uint64_t limit = state_of(p)->options[D_PRINTSIZE];
		uint32_t size;

		bytes = value_at(a, 1, &type);
		size = *(const uint32_t *)bytes < type->size - 4 ? *(const uint32_t *)bytes : type->size - 4;
		/* As in dtrace, whole words. */
		d_print_typed(p->out, (uint64_t)number_at(a, 0), action->type, bytes + 4, size, (limit + 7) & ~7ull);
		break;
	}
	case ACT_PRINTF:
		d_print_formatted(p, action->format, a->tuple, 2 + action->first, action->count, a->bytes, p->out);
		break;
	case ACT_PRINTA:
		d_print_aggregations(p, action->aggregations, action->aggregation_count, action->format);
		break;
	case ACT_SYSTEM:
		text = formatted(a);
		fflush(p->out);
		if (text)
			p->deeds->system(p->run, text);
		free(text);
		break;
	case ACT_FREOPEN:
		text = formatted(a);
		if (text)
			reopen(p, text);
		free(text);
		break;
	case ACT_FTRUNCATE:
		fflush(p->out);
		if (ftruncate(fileno(p->out), 0))
			fprintf(stderr, "dtrace: failed to truncate the output: %s\n", strerror(errno));
		break;
	case ACT_SETOPT:
		change_option(a);
		break;
	case ACT_CLEAR:
		p->deeds->zero(p->run, variable->symbol);
		break;
	case ACT_TRUNC:
		d_trunc(p, variable, action->count ? number_at(a, 0) : 0, !action->count);
		break;
	case ACT_NORMALIZE:
		if (number_at(a, 0) > 0)
			variable->normal = number_at(a, 0);
		break;
	case ACT_DENORMALIZE:
		variable->normal = 0;
		break;
	case ACT_COMMIT:
	case ACT_DISCARD:
		end_speculation(p, (uint64_t)number_at(a, 0), action->kind == ACT_COMMIT);
		break;
	default:
		break;
	}
}

/* --- records --- */

static void print_header(const struct printer *p)
{
	struct d_state *state = state_of(p);

	if (state->has_header)
		return;
	state->has_header = true;
	if (state->options[D_QUIET])
		return;
	if (state->options[D_FLOWINDENT])
		fprintf(p->out, getenv("_DTRACE_TESTING") ? "%-41s\n" : "CPU %-41s\n", "FUNCTION");
	else if (getenv("_DTRACE_TESTING"))
		fprintf(p->out, "%32s\n", "FUNCTION:NAME");
	else
		fprintf(p->out, "%3s %6s %32s\n", "CPU", "ID", "FUNCTION:NAME");
}

/* -> at a function's beginning, <- at its end. */
static void print_flow(const struct printer *p, const struct d_place *place, int cpu)
{
	struct d_state *state = state_of(p);
	bool entry = !strcmp(place->name, "entry") || strstr(place->name, "-entry"),
	     leaves = !strcmp(place->name, "return") || strstr(place->name, "-return");
	bool is_call = !strcmp(place->provider, "syscall");
	char name[512];

	if (leaves && state->indent >= 2)
		state->indent -= 2;
	snprintf(name, sizeof(name), "%*s%s%s%s%s", (int)(state->indent > 256 ? 256 : state->indent), "",
		 entry    ? (is_call ? "=> " : "-> ")
		 : leaves ? (is_call ? "<= " : "<- ")
			  : " | ",
		 place->function, entry || leaves ? "" : ":", entry || leaves ? "" : place->name);
	if (getenv("_DTRACE_TESTING"))
		fprintf(p->out, "%-41s ", name);
	else
		fprintf(p->out, "%3d %-41s ", cpu, name);
	if (entry)
		state->indent += 2;
}

static void print_row(const struct printer *p, const struct d_place *place, int cpu)
{
	char name[512];

	print_header(p);
	if (state_of(p)->options[D_FLOWINDENT]) {
		print_flow(p, place, cpu);
		return;
	}
	if (state_of(p)->options[D_QUIET])
		return;
	snprintf(name, sizeof(name), "%s:%s", place->function, place->name);
	if (getenv("_DTRACE_TESTING"))
		fprintf(p->out, "%32s ", name);
	else
		fprintf(p->out, "%3d %6u %32s ", cpu, place->id, name);
}

static void print_fault(const struct printer *p, const struct d_place *place, const struct d_record *record,
			const struct type *tuple, const uint8_t *bytes)
{
	uint64_t kind = word_at(bytes + tuple->fields[2].offset), address = word_at(bytes + tuple->fields[3].offset),
		 instruction = word_at(bytes + tuple->fields[4].offset);
	char what[64];

	switch (kind) {
	case CORE_FAULT_DIVISION:
		snprintf(what, sizeof(what), "divide-by-zero");
		break;
	case CORE_FAULT_OPERATION:
		snprintf(what, sizeof(what), "illegal operation");
		break;
	case CORE_FAULT_SCRATCH:
		snprintf(what, sizeof(what), "out of scratch space");
		break;
	case CORE_FAULT_SIZE:
		snprintf(what, sizeof(what), "invalid size (0x%llx)", (unsigned long long)address);
		break;
	case CORE_FAULT_INDEX:
		snprintf(what, sizeof(what), "index out of bounds (%lld)", (long long)address);
		break;
	default:
		snprintf(what, sizeof(what), "invalid address (0x%llx)", (unsigned long long)address);
	}
	fflush(p->out);
	fprintf(stderr, "dtrace: error in dt_clause_%u for probe ID %u (%s:%s:%s:%s): %s at BPF pc %llu\n",
		record->clause, place->id, place->provider, place->module, place->function, place->name, what,
		(unsigned long long)instruction);
}

static void print_now(const struct printer *p, const struct site *site, const uint8_t *bytes)
{
	static const struct d_place nowhere = {.provider = "", .module = "", .function = "", .name = ""};
	static const struct d_place error = {
		.id = D_ERROR_ID, .provider = "dtrace", .module = "", .function = "", .name = "ERROR"};
	const struct d_record *record = site->call;
	const struct d_state *state = state_of(p);
	const struct type *tuple = site->arguments;
	uint64_t cpu = word_at(bytes + tuple->fields[0].offset), at = word_at(bytes + tuple->fields[1].offset);
	const struct d_place *place = record->is_error	      ? &error
				      : at < state->places.count ? &state->places.at[at]
								 : &nowhere;
	bool shows = !record->action_count;
	uint32_t i;

	if (record->is_fault) {
		print_fault(p, place, record, tuple, bytes);
		return;
	}
	for (i = 0; i < record->action_count; i++)
		shows |= record->actions[i].kind != ACT_COMMIT && record->actions[i].kind != ACT_DISCARD;
	if (shows)
		print_row(p, place, (int)cpu);
	for (i = 0; i < record->action_count; i++)
		act(&(struct arrived){p, place, record, tuple, bytes, &record->actions[i]});
	if (shows && !state->options[D_QUIET])
		fputc('\n', p->out);
}

/* What stands before a message about lost data, with -xdroptags. */
static const char *drop_tag(const struct printer *p, const char *tag)
{
	return tag && state_of(p)->options[D_DROPTAGS] ? tag : "";
}

/* Keeps it for commit() or discard(). What memory cannot be had for, or is more than specsize allows, is told. */
static void hold(const struct printer *p, const struct site *site, const uint8_t *bytes, uint64_t speculation)
{
	struct d_state *state = state_of(p);
	struct d_held held = {.speculation = speculation, .site = site};
	size_t size = site->arguments->size;

	held.bytes = state->held_bytes + size <= state->options[D_SPECSIZE] * state->options[D_NSPEC] ? malloc(size)
												    : NULL;
	if (held.bytes)
		memcpy(held.bytes, bytes, size);
	if (!held.bytes || vec_push(&state->held, held)) {
		free(held.bytes);
		fprintf(stderr, "dtrace: %s1 speculative drop\n", drop_tag(p, "[DTRACEDROP_SPEC] "));
		return;
	}
	state->held_bytes += size;
}

static void print_record(const struct printer *p, const struct site *site, const uint8_t *bytes)
{
	const struct d_record *record = site->call;
	const struct type_field *field;

	if (!record->speculation) {
		print_now(p, site, bytes);
		return;
	}
	field = &site->arguments->fields[1 + record->speculation];
	hold(p, site, bytes, word_at(bytes + field->offset));
}

/* Commits a speculation, or discards it. */
static void end_speculation(const struct printer *p, uint64_t number, bool is_committed)
{
	struct d_state *state = state_of(p);
	size_t i, kept = 0;

	for (i = 0; i < state->held.count; i++) {
		struct d_held held = state->held.at[i];

		if (held.speculation != number) {
			state->held.at[kept++] = held;
			continue;
		}
		if (is_committed)
			print_now(p, held.site, held.bytes);
		state->held_bytes -= held.site->arguments->size;
		free(held.bytes);
	}
	state->held.count = kept;
}

/* --- beginning and end --- */

static void print_attached(const struct printer *p, size_t count, bool quiet)
{
	struct d_state *state = state_of(p);

	(void)count;
	state->options[D_QUIET] |= quiet;
	if (state->options[D_QUIET])
		return;
	fprintf(stderr, "dtrace: %s\n", d_matched(p->compiler));
	if (state->options[D_DESTRUCTIVE])
		fputs("dtrace: allowing destructive actions\n", stderr);
}

static void print_ready(const struct printer *p)
{
	fflush(p->out);
}

/* How often speculation() had none. */
static void tell_speculations(const struct printer *p)
{
	const struct symbol *symbol = state_of(p)->speculations;
	struct map_entry *entries;
	size_t count, i;

	if (!symbol || !p->deeds->read(p->run, symbol, &entries, &count))
		return;
	for (i = 0; i < count; i++) {
		uint64_t failed = word_at(entries[i].value);

		if (word_at(entries[i].key) == D_SPECULATION_NONE)
			fprintf(stderr, "dtrace: %s%llu failed speculation%s (no speculative buffer available)\n",
				drop_tag(p, "[DTRACEDROP_SPECUNAVAIL] "), (unsigned long long)failed,
				failed == 1 ? "" : "s");
	}
	p->deeds->release(entries, count);
}

static void print_ended(const struct printer *p)
{
	fputc('\n', p->out);
	d_print_unprinted(p);
	fflush(p->out);
	tell_speculations(p);
}

static void print_lost(const struct printer *p, enum rt_counter what, uint64_t count)
{
	static const struct {
		const char *one, *many, *tag;
	} texts[RT_COUNTER_COUNT] = {
		[RT_COUNTER_LOST] = {"drop on all CPUs", "drops on all CPUs", "[DTRACEDROP_PRINCIPAL] "},
		[RT_COUNTER_NO_FRAME] = {"firing lost: too many were interrupted at the same time",
					 "firings lost: too many were interrupted at the same time"},
		[RT_COUNTER_MAP_FULL] = {"dynamic variable drop", "dynamic variable drops", "[DTRACEDROP_DYNAMIC] "},
		[RT_COUNTER_LOOP_LIMIT] = {"loop cut short", "loops cut short"},
		[RT_COUNTER_PYTHON_JIT] = {"sign of a Python's JIT: functions in what it has compiled are not told",
					   "signs of a Python's JIT: functions in what it has compiled are not told"},
		[RT_COUNTER_DESCENDANTS] = {"process of the command not followed: it had too many at a time",
					    "processes of the command not followed: it had too many at a time"},
	};

	if (texts[what].one)
		fprintf(stderr, "dtrace: %s%llu %s\n", drop_tag(p, texts[what].tag), (unsigned long long)count,
			count == 1 ? texts[what].one : texts[what].many);
}

static uint64_t write_every(const struct printer *p)
{
	return state_of(p)->options[D_SWITCHRATE];
}

static void print_message(const struct printer *p, const char *type, const char *text, size_t size)
{
	(void)type;
	fwrite(text, 1, size, p->out);
}

const struct dialect_print d_print = {
	.begins_together = true,
	.attached = print_attached,
	.ready = print_ready,
	.ended = print_ended,
	.message = print_message,
	.write_every = write_every,
	.record = print_record,
	.lost = print_lost,
};
