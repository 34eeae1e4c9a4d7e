// SPDX-License-Identifier: GPL-2.0-or-later
/* D's actions and aggregations in bpftrace's language. */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/d/format.h"
#include "lang/dialect/d/translate.h"

/* A format as it grows, and its arguments. */
struct formatted {
	struct d_writer *w;
	const char *format, *arguments;
};

static void put(struct formatted *f, const char *text, size_t size)
{
	const char *grown = arena_printf(f->w->c->arena, "%s%.*s", f->format, (int)size, text);

	if (grown)
		f->format = grown;
}

static void pass(struct formatted *f, const char *argument)
{
	const char *grown = arena_printf(f->w->c->arena, "%s, %s", f->arguments, argument);

	if (grown)
		f->arguments = grown;
}

static void line_of(struct formatted *f)
{
	translate_line(f->w->t, "printf(%s%s);", translate_quoted(f->w->t, f->format), f->arguments);
}

/* A conversion with its flags and its width. */
static void convert(struct formatted *f, const struct d_spec *spec, char conversion)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "%%%s", spec->flags);

	if (spec->width >= 0)
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%d", spec->width);
	if (spec->precision >= 0)
		size += snprintf(text + size, sizeof(text) - (size_t)size, ".%d", spec->precision);
	size += snprintf(text + size, sizeof(text) - (size_t)size, "%c", conversion);
	put(f, text, (size_t)size);
}

#define BLANKS "                                                                "

/* %*s of an empty text: so many blanks, at most 64. */
static bool indented(struct formatted *f, const struct d_spec *spec, const struct d_expr *width,
		     const struct d_expr *value)
{
	if (spec->conversion != 's' || !value || value->kind != D_STRING || *value->text)
		return false;
	put(f, "%s", 2);
	pass(f, arena_printf(f->w->c->arena, "str(\"" BLANKS "\", %s + 1)", d_write(f->w, width, 11)));
	return true;
}

static void convert_time(struct formatted *f, const struct d_spec *spec, const struct d_expr *value)
{
	if (value && value->kind == D_VARIABLE && !strcmp(value->text, "walltimestamp")) {
		convert(f, spec, 's');
		pass(f, "strftime(\"%Y %b %e %H:%M:%S\", nsecs)");
		return;
	}
	translate_mark(f->w->t, "%Y", "bpftrace's strftime() takes the time since the machine's start");
	convert(f, spec, 'd');
	pass(f, value ? d_write(f->w, value, 1) : "0");
}

static void convert_value(struct formatted *f, const struct d_spec *spec, const struct d_expr *value)
{
	struct d_writer *w = f->w;
	const char name[] = {'%', spec->conversion, '\0'};
	bool is_user = w->target && w->target->point && *w->target->point == 'u';
	const char *text;

	if (spec->conversion == 'Y') {
		convert_time(f, spec, value);
		return;
	}
	text = value ? d_write(w, value, 1) : "0";
	if (spec->conversion == 'a' || spec->conversion == 'A') {
		convert(f, spec, 's');
		pass(f, arena_printf(w->c->arena, "%s(%s)", is_user ? "usym" : "ksym", text));
		return;
	}
	if (strchr("TkeEfgG", spec->conversion))
		translate_mark(w->t, name, "bpftrace's printf() has no such conversion");
	convert(f, spec,
		strchr("sS", spec->conversion) ? 's'
		: strchr("cC", spec->conversion) ? 'c'
		: strchr("uxXop", spec->conversion) ? spec->conversion
						    : 'd');
	pass(f, text);
}

static void write_printf(struct d_writer *w, const struct d_expr *call)
{
	struct formatted f = {.w = w, .format = "", .arguments = ""};
	const char *at = call->kid_count && call->kids[0]->kind == D_STRING ? call->kids[0]->text : NULL;
	const struct d_expr *width;
	struct d_spec spec;
	uint32_t next = 1;

	if (!at) {
		translate_mark(w->t, call->text, "its format is no text");
		translate_line(w->t, "%s", "");
		return;
	}
	while ((at = d_spec_next(at, &spec))) {
		put(&f, spec.text, spec.text_size);
		if (spec.conversion == '%')
			put(&f, "%%", 2);
		if (!spec.conversion || spec.conversion == '%')
			continue;
		width = spec.width_given && next < call->kid_count ? call->kids[next++] : NULL;
		next += spec.precision_given;
		if (width && indented(&f, &spec, width, next < call->kid_count ? call->kids[next] : NULL)) {
			next++;
			continue;
		}
		if (width || spec.precision_given)
			translate_mark(w->t, "%*", "bpftrace's printf() has no widths that are arguments");
		convert_value(&f, &spec, next < call->kid_count ? call->kids[next] : NULL);
		next++;
	}
	line_of(&f);
}

/* --- aggregations --- */

static bool is_distribution(const struct d_use *use)
{
	return use->function && strstr(use->function, "quantize");
}

/* Why bpftrace does not have it; NULL: it has. */
static const char *why_not(const struct d_use *use)
{
	if (!use->function)
		return "nothing is aggregated in it";
	if (!strcmp(use->function, "stddev"))
		return "bpftrace has no standard deviation: stats() has the average";
	if (!strcmp(use->function, "llquantize"))
		return "bpftrace has no such distribution: hist(VALUE, BITS) is the nearest";
	return NULL;
}

void d_write_aggregation(struct d_writer *w, const struct d_expr *target, const struct d_expr *call)
{
	struct d_use *use = d_use_of(w, D_GLOBAL, target->text, true);
	const char *name = call->kind == D_CALL ? call->text : "", *value, *text = NULL;
	const char *why = use ? why_not(use) : NULL;
	bool weighs = (!strcmp(name, "quantize") && call->kid_count > 1) ||
		      (!strcmp(name, "lquantize") && call->kid_count > 4);

	if (why || !use) {
		translate_mark(w->t, name, "%s", why ? why : "nothing is aggregated in it");
		translate_line(w->t, "%s", "");
		return;
	}
	if (!strcmp(name, "lquantize") && call->kid_count > 1 &&
	    (call->kids[1]->kind == D_UNARY || (call->kids[1]->kind == D_INT && (int64_t)call->kids[1]->value < 0))) {
		translate_mark(w->t, name, "bpftrace's lhist() begins at 0 or above");
		translate_line(w->t, "%s", "");
		return;
	}
	use->is_written = true;
	value = call->kid_count ? d_write(w, call->kids[0], 1) : "";
	if (weighs)
		translate_mark(w->t, name, "bpftrace has no weights: each value counts as one");
	if (!strcmp(name, "lquantize") && call->kid_count > 2)
		text = arena_printf(w->c->arena, "lhist(%s, %s, %s, %s)", value, d_write(w, call->kids[1], 1),
				    d_write(w, call->kids[2], 1),
				    call->kid_count > 3 ? d_write(w, call->kids[3], 1) : "1");
	else
		text = arena_printf(w->c->arena, "%s(%s)", !strcmp(name, "quantize") ? "hist" : name, value);
	translate_line(w->t, "%s = %s;", d_write_place(w, target), text ? text : "0");
}

static struct d_shown *shown_of(struct d_writer *w, const struct d_use *use)
{
	size_t i;

	for (i = 0; i < w->shown.count; i++)
		if (w->shown.at[i].of == use)
			return &w->shown.at[i];
	if (vec_push(&w->shown, (struct d_shown){.of = use, .is_printed = true})) {
		w->c->arena->failed = true;
		return NULL;
	}
	return &w->shown.at[w->shown.count - 1];
}

/* print(@a, 5, 1000) */
static void print_map(struct d_writer *w, struct d_shown *shown)
{
	const char *name = d_write_map(w, shown->of);

	if (shown->divisor)
		translate_line(w->t, "print(%s, %lld, %s);", name, (long long)shown->top, shown->divisor);
	else if (shown->top)
		translate_line(w->t, "print(%s, %lld);", name, (long long)shown->top);
	else
		translate_line(w->t, "print(%s);", name);
	shown->is_printed = true;
}

void d_write_shown(struct d_writer *w)
{
	size_t i;

	for (i = 0; i < w->shown.count; i++) {
		struct d_shown *shown = &w->shown.at[i];

		if (shown->is_printed)
			continue;
		if (w->target && w->target->is_end) {
			print_map(w, shown);
			translate_line(w->t, "clear(%s);", d_write_map(w, shown->of));
		} else {
			translate_mark(w->t, shown->divisor ? "normalize()" : "trunc()",
				       "bpftrace does so only where it prints: print(@, TOP, DIVISOR)");
			translate_line(w->t, "%s", "");
		}
	}
	w->shown.count = 0;
}

/* The element of this aggregation in a loop over the first one. */
static const char *value_of(struct d_writer *w, const struct d_use *use, bool is_first, const char *loop)
{
	const struct d_shown *shown = shown_of(w, use);
	const char *text;

	if (!use->key_count)
		text = d_write_map(w, use);
	else
		text = is_first ? arena_printf(w->c->arena, "%s.1", loop)
				: arena_printf(w->c->arena, "%s[%s.0]", d_write_map(w, use), loop);
	if (shown && shown->divisor)
		text = arena_printf(w->c->arena, "(int64)%s / (%s)", text, shown->divisor);
	return text ? text : "0";
}

static void formatted_map(struct d_writer *w, const struct d_expr *call, const struct d_use **of, uint32_t count)
{
	struct formatted f = {.w = w, .format = "", .arguments = ""};
	const char *at = call->kids[0]->text, *loop = "$kv", *key;
	uint32_t next_key = 0, next = 0;
	struct d_spec spec;

	while ((at = d_spec_next(at, &spec))) {
		put(&f, spec.text, spec.text_size);
		if (spec.conversion == '%')
			put(&f, "%%", 2);
		if (!spec.conversion || spec.conversion == '%')
			continue;
		if (spec.width_given || spec.precision_given)
			translate_mark(w->t, "%*", "bpftrace's printf() has no widths that are arguments");
		if (spec.is_aggregation) {
			convert(&f, &spec, strchr("uxX", spec.conversion) ? spec.conversion : 'd');
			pass(&f, value_of(w, of[next < count ? next : count - 1], next == 0 || next >= count, loop));
			next++;
			continue;
		}
		key = of[0]->key_count > 1 ? arena_printf(w->c->arena, "%s.0.%u", loop, next_key++)
					   : arena_printf(w->c->arena, "%s.0", loop);
		convert(&f, &spec,
			strchr("sSaAkY", spec.conversion) ? 's'
			: spec.conversion == 'i' ? 'd'
							  : spec.conversion);
		pass(&f, of[0]->key_count && key ? key : "0");
	}
	if (!of[0]->key_count) {
		line_of(&f);
		return;
	}
	if (shown_of(w, of[0]) && shown_of(w, of[0])->top)
		translate_mark(w->t, "trunc()", "bpftrace's loops over maps have no order: print(%s, TOP) has",
			       d_write_map(w, of[0]));
	else
		translate_mark(w->t, "printa()", "bpftrace's loops over maps have no order: print(%s) has",
			       d_write_map(w, of[0]));
	translate_line(w->t, "for (%s : %s) {", loop, d_write_map(w, of[0]));
	w->t->depth++;
	line_of(&f);
	w->t->depth--;
	translate_line(w->t, "}");
}

static void write_printa(struct d_writer *w, const struct d_expr *call)
{
	const struct d_use *of[16];
	uint32_t count = 0, i;
	bool formatted = call->kid_count && call->kids[0]->kind == D_STRING;

	for (i = 0; i < call->kid_count && count < 16; i++) {
		const struct d_use *use = call->kids[i]->kind == D_AGGREGATION
						  ? d_use_of(w, D_GLOBAL, call->kids[i]->text, true)
						  : NULL;

		if (!use)
			continue;
		if (why_not(use)) {
			translate_mark(w->t, call->text, "%s", why_not(use));
			continue;
		}
		if (formatted && is_distribution(use)) {
			translate_mark(w->t, call->text, "bpftrace prints a distribution in its own way only");
			formatted = false;
		}
		of[count++] = use;
	}
	if (!count) {
		translate_line(w->t, "%s", "");
		return;
	}
	for (i = 0; i < count; i++)
		if (shown_of(w, of[i]))
			shown_of(w, of[i])->is_printed = true;
	if (formatted) {
		formatted_map(w, call, of, count);
		return;
	}
	for (i = 0; i < count; i++)
		if (shown_of(w, of[i]))
			print_map(w, shown_of(w, of[i]));
}

/* clear(), trunc(), normalize(), denormalize(). */
static void of_aggregation(struct d_writer *w, const struct d_expr *call)
{
	const struct d_use *use = call->kid_count && call->kids[0]->kind == D_AGGREGATION
					  ? d_use_of(w, D_GLOBAL, call->kids[0]->text, true)
					  : NULL;
	const char *why = use ? why_not(use) : "nothing is aggregated in it";
	struct d_shown *shown = use ? shown_of(w, use) : NULL;
	int64_t top;

	if (why || !shown) {
		translate_mark(w->t, call->text, "%s", why ? why : "");
		translate_line(w->t, "%s", "");
	} else if (!strcmp(call->text, "clear")) {
		translate_line(w->t, "zero(%s);", d_write_map(w, use));
	} else if (!strcmp(call->text, "trunc") && call->kid_count == 1) {
		translate_line(w->t, "clear(%s);", d_write_map(w, use));
	} else if (!strcmp(call->text, "trunc")) {
		top = call->kids[1]->kind == D_INT ? (int64_t)call->kids[1]->value : -1;
		if (top > 0 && !is_distribution(use)) {
			shown->top = top;
			shown->is_printed = false;
			return;
		}
		translate_mark(w->t, call->text, "bpftrace prints the largest N of numbers only, N being a constant");
		translate_line(w->t, "%s", "");
	} else if (!strcmp(call->text, "normalize") && call->kid_count > 1 && !is_distribution(use)) {
		shown->divisor = d_write(w, call->kids[1], 1);
		shown->is_printed = false;
	} else if (!strcmp(call->text, "denormalize")) {
		shown->divisor = NULL;
	} else {
		translate_mark(w->t, call->text, "bpftrace divides numbers, not distributions");
		translate_line(w->t, "%s", "");
	}
}

/* --- actions --- */

static void write_value(struct d_writer *w, const struct d_expr *call)
{
	translate_line(w->t, "print(%s);", d_write(w, call, 1));
}

static void write_trace(struct d_writer *w, const struct d_expr *call)
{
	if (call->kid_count)
		write_value(w, call->kids[0]);
}

static void write_exit(struct d_writer *w, const struct d_expr *call)
{
	const char *status = call->kid_count ? d_write(w, call->kids[0], 1) : "0";

	if (!strcmp(status, "0"))
		translate_line(w->t, "exit();");
	else
		translate_line(w->t, "exit(%s);", status);
}

static void write_system(struct d_writer *w, const struct d_expr *call)
{
	size_t begin = w->t->out.count;

	write_printf(w, call);
	/* The same arguments under another name, which is as long. */
	if (w->t->out.count > begin) {
		char *at = memmem(w->t->out.at + begin, w->t->out.count - begin, "printf(", 7);

		if (at)
			memcpy(at, "system(", 7);
	}
}

static void write_raise(struct d_writer *w, const struct d_expr *call)
{
	translate_line(w->t, "signal(%s);", call->kid_count ? d_write(w, call->kids[0], 1) : "0");
}

static void write_memory(struct d_writer *w, const struct d_expr *call)
{
	if (call->kid_count > 1)
		translate_line(w->t, "print(buf(%s, %s));", d_write(w, call->kids[0], 1), d_write(w, call->kids[1], 1));
}

void d_write_action(struct d_writer *w, const struct d_expr *call)
{
	static const struct {
		const char *name;
		void (*write)(struct d_writer *w, const struct d_expr *call);
	} table[] = {{"printf", write_printf}, {"printa", write_printa}, {"trace", write_trace},
		     {"exit", write_exit}, {"system", write_system}, {"raise", write_raise},
		     {"tracemem", write_memory},    {"clear", of_aggregation}, {"trunc", of_aggregation},
		     {"normalize", of_aggregation}, {"denormalize", of_aggregation}, {"stack", write_value},
		     {"ustack", write_value}, {"jstack", write_value}, {"sym", write_value},
		     {"func", write_value}, {"usym", write_value}, {"ufunc", write_value},
		     {"uaddr", write_value}};
	static const struct {
		const char *name, *why;
	} missing[] = {{"speculate", "bpftrace has no speculation: keep what is wanted in a map by tid"},
		       {"commit", "bpftrace has no speculation: keep what is wanted in a map by tid"},
		       {"discard", "bpftrace has no speculation: keep what is wanted in a map by tid"},
		       {"freopen", "bpftrace's output goes to one file: -o"},
		       {"ftruncate", "bpftrace's output goes to one file: -o"},
		       {"setopt", "bpftrace's settings do not change while a script runs"},
		       {"stop", "bpftrace has signal(\"STOP\") for this"},
		       {"mod", "bpftrace has no names of modules"},
		       {"umod", "bpftrace has no names of modules"}};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, call->text)) {
			table[i].write(w, call);
			return;
		}
	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i].name, call->text)) {
			translate_mark(w->t, arena_printf(w->c->arena, "%s()", call->text), "%s", missing[i].why);
			translate_line(w->t, "%s", "");
			return;
		}
	translate_mark(w->t, arena_printf(w->c->arena, "%s()", call->text), "bpftrace has no such action");
	translate_line(w->t, "%s", "");
}
