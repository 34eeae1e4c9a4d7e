// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's expressions in bpftrace's language. */
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/translate.h"

enum { LEVEL_TERNARY = 1, LEVEL_OR = 2, LEVEL_UNARY = 20, LEVEL_POSTFIX = 21 };

#define DEPTH_MAX 1000

const char *const stap_stat_names[STAT_KINDS] = {"count", "sum", "min", "max", "avg", "hist", "lhist"};

const char *stap_words(struct stap_writer *w, const char *format, ...)
{
	va_list arguments;
	char *made = NULL, *text = NULL;
	int size;

	va_start(arguments, format);
	size = vasprintf(&made, format, arguments);
	va_end(arguments);
	if (size >= 0)
		text = arena_strdup(w->c->arena, made, (size_t)size);
	free(made);
	if (!text)
		w->c->arena->failed = true;
	return text ? text : "";
}

const char *stap_unsaid(struct stap_writer *w, bool is_text, const char *what, const char *why)
{
	translate_mark(w->t, what, "%s", why);
	return is_text ? "\"\"" : "0";
}

static const char *wrapped(struct stap_writer *w, const char *text, int own, int level)
{
	return own < level ? stap_words(w, "(%s)", text) : text;
}

static const struct stap_meaning *meaning_of(const struct stap_writer *w, const char *name)
{
	size_t i;

	for (i = w->meanings.count; i; i--)
		if (!strcmp(w->meanings.at[i - 1].name, name))
			return &w->meanings.at[i - 1];
	return NULL;
}

bool stap_node_is_text(struct stap_writer *w, const struct stap_node *node)
{
	static const char *const given[] = {"filename", "funcname", "name", "argstr", "retstr", "pathname"};
	const struct stap_meaning *meaning;
	const struct stap_builtin *builtin;
	const struct stap_use *use;
	size_t i;

	switch (node->kind) {
	case STAP_E_TEXT:
		return true;
	case STAP_E_VARIABLE:
		meaning = meaning_of(w, node->text);
		if (meaning)
			return meaning->is_text;
		use = stap_use_of(w, node->text);
		for (i = 0; !(use && (use->is_written || use->is_global)) && i < sizeof(given) / sizeof(given[0]); i++)
			if (!strcmp(given[i], node->text))
				return true;
		return use && use->is_text;
	case STAP_E_ELEMENT:
		use = stap_use_of(w, node->text);
		return use && use->is_text;
	case STAP_E_CALL:
		builtin = stap_builtin_find(node->text);
		return builtin && builtin->type == STAP_STRING;
	case STAP_E_BINARY:
		return !strcmp(node->text, ".");
	case STAP_E_CHOOSE:
		return stap_node_is_text(w, node->kids[0]);
	case STAP_E_TERNARY:
		return stap_node_is_text(w, node->kids[1]);
	case STAP_E_ASSIGN:
		return !strcmp(node->text, ".=") || stap_node_is_text(w, node->kids[1]);
	case STAP_E_TARGET:
		i = strlen(node->text);
		return !strncmp(node->text, "$$", 2) || (i > 4 && !strcmp(node->text + i - 4, "comm"));
	default:
		return false;
	}
}

static const char *keys(struct stap_writer *w, const struct stap_node *node)
{
	const char *text = "";
	uint32_t i;

	for (i = 0; i < node->kid_count; i++)
		text = stap_words(w, "%s%s%s", text, i ? ", " : "",
				  node->kids[i] ? stap_write(w, node->kids[i], LEVEL_TERNARY) : "0");
	return text;
}

const char *stap_write_place(struct stap_writer *w, const struct stap_node *node, const char *suffix)
{
	const struct stap_use *use = stap_use_of(w, node->text);
	const char *name;

	if (!use || !use->is_global)
		return stap_words(w, "$%s", node->text);
	name = translate_name(w->t, stap_words(w, "%s %s", node->text, suffix),
			      stap_words(w, "%s%s%s", node->text, *suffix ? "_" : "", suffix));
	if (node->kind != STAP_E_ELEMENT)
		return stap_words(w, "@%s", name);
	return stap_words(w, "@%s[%s]", name, keys(w, node));
}

static const char *variable(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_meaning *meaning = meaning_of(w, node->text);
	const struct stap_use *use = stap_use_of(w, node->text);
	const char *given;
	bool is_text;

	if (meaning)
		return meaning->text;
	if (use && use->is_written)
		return stap_write_place(w, node, "");
	given = use && use->is_global ? NULL : stap_given(w, node->text, &is_text);
	if (given)
		return given;
	return stap_node_is_text(w, node) ? "\"\"" : "0";
}

static int level_of(const char *op)
{
	static const struct {
		const char *text;
		int level;
	} table[] = {
		{"||", 2}, {"&&", 4}, {"|", 5},   {"^", 6},   {"&", 7},  {"==", 8}, {"!=", 8}, {"<", 9},  {"<=", 9},
		{">", 9},  {">=", 9}, {"<<", 10}, {">>", 10}, {"+", 11}, {"-", 11}, {"*", 12}, {"/", 12}, {"%", 12},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].text, op))
			return table[i].level;
	return LEVEL_OR;
}

/* The name of a system call, in a probe of all of them, by its number. */
static const char *compare_syscall(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_node *name = node->kids[1];

	if (!w->target || (w->target->site != SITE_RAW_ENTRY && w->target->site != SITE_RAW_RETURN) ||
	    node->kids[0]->kind != STAP_E_VARIABLE || strcmp(node->kids[0]->text, "name") != 0)
		return NULL;
	if (level_of(node->text) != 8 || name->kind != STAP_E_TEXT || !*name->text ||
	    name->text[strspn(name->text, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return stap_unsaid(w, false, "name", "a system call's name is no text that could be compared here");
	translate_include(w->t, "asm/unistd.h");
	return stap_words(w, "args.id %s __NR_%s", node->text, name->text);
}

static const char *binary(struct stap_writer *w, const struct stap_node *node, int level)
{
	const struct stap_node *a = node->kids[0], *b = node->kids[1];
	int own = level_of(node->text);
	const char *left;

	if (!strcmp(node->text, ".")) {
		left = stap_write(w, a, LEVEL_TERNARY);
		return stap_words(w, "str_concat(%s, %s)", left, stap_write(w, b, LEVEL_TERNARY));
	}
	left = compare_syscall(w, node);
	if (left)
		return wrapped(w, left, own, level);
	if (own == 9 && (stap_node_is_text(w, a) || stap_node_is_text(w, b)))
		return stap_unsaid(w, false, node->text, "bpftrace's texts have no order: they are equal, or not");
	left = stap_write(w, a, own);
	return wrapped(w, stap_words(w, "%s %s %s", left, node->text, stap_write(w, b, own + 1)), own, level);
}

static enum stap_stat_kind kind_of(const char *name)
{
	static const char *const names[] = {"@count", "@sum", "@min", "@max", "@avg", "@hist_log", "@hist_linear"};
	size_t i;

	for (i = 0; i < STAT_KINDS; i++)
		if (!strcmp(names[i], name))
			return (enum stap_stat_kind)i;
	return STAT_KINDS;
}

static const char *statistic(struct stap_writer *w, const struct stap_node *node)
{
	enum stap_stat_kind kind = kind_of(node->text);
	const struct stap_use *use = stap_use_of(w, node->kids[0]->text);

	if (kind == STAT_KINDS || !use || !use->is_written)
		return stap_unsaid(w, false, node->text, use && !use->is_written ? "nothing is put in it"
										 : "bpftrace has no such statistic");
	return stap_write_place(w, node->kids[0], stap_stat_names[kind]);
}

static const char *membership(struct stap_writer *w, const struct stap_node *node)
{
	const struct stap_use *use = stap_use_of(w, node->text);
	const char *suffix = "";
	uint32_t kind;

	for (kind = 0; use && kind < STAT_KINDS; kind++)
		if (use->stats & 1u << kind) {
			suffix = stap_stat_names[kind];
			break;
		}
	if (!use || !use->is_written)
		return "0";
	return stap_words(w, "has_key(@%s, %s%s%s)",
			  translate_name(w->t, stap_words(w, "%s %s", node->text, suffix),
					 stap_words(w, "%s%s%s", node->text, *suffix ? "_" : "", suffix)),
			  node->kid_count > 1 ? "(" : "", keys(w, node), node->kid_count > 1 ? ")" : "");
}

/*
 * Of @choose_defined($name, …), which aliases of tracepoints have, the first is what the record has on kernels of
 * today. The other is a way by the kernel's structures.
 */
static bool is_plain_argument(const struct stap_node *node)
{
	return node->kind == STAP_E_TARGET && !strpbrk(node->text, STAP_STEPS);
}

static const char *write_one(struct stap_writer *w, const struct stap_node *node, int level)
{
	const char *text, *first;
	bool is_prefix = node->flags & STAP_PREFIX;

	switch (node->kind) {
	case STAP_E_NUMBER:
		text = stap_words(w, "%lld", (long long)node->value);
		return *text == '-' ? wrapped(w, text, LEVEL_UNARY, level) : text;
	case STAP_E_TEXT:
		return translate_quoted(w->t, node->text);
	case STAP_E_VARIABLE:
		return variable(w, node);
	case STAP_E_ELEMENT:
		return stap_use_of(w, node->text) && stap_use_of(w, node->text)->is_written
			       ? stap_write_place(w, node, "")
			       : "0";
	case STAP_E_TARGET:
		return stap_write_target(w, node);
	case STAP_E_CALL:
		return stap_write_call(w, node);
	case STAP_E_UNARY:
		if (stap_node_is_text(w, node->kids[0]))
			return stap_unsaid(w, false, node->text, "this is for numbers");
		text = stap_write(w, node->kids[0], LEVEL_UNARY);
		text = stap_words(w, *text == *node->text ? "%s(%s)" : "%s%s", node->text, text);
		return wrapped(w, text, LEVEL_UNARY, level);
	case STAP_E_BINARY:
		return binary(w, node, level);
	case STAP_E_TERNARY:
		first = stap_write(w, node->kids[0], LEVEL_OR);
		text = stap_write(w, node->kids[1], LEVEL_TERNARY);
		text = stap_words(w, "%s ? %s : %s", first, text, stap_write(w, node->kids[2], LEVEL_TERNARY));
		return wrapped(w, text, LEVEL_TERNARY, level);
	case STAP_E_STEP:
		text = stap_write_place(w, node->kids[0], "");
		return wrapped(w, stap_words(w, "%s%s", is_prefix ? node->text : text, is_prefix ? text : node->text),
			       LEVEL_UNARY, level);
	case STAP_E_IN:
		return membership(w, node);
	case STAP_E_STAT:
		return statistic(w, node);
	case STAP_E_ASSIGN:
		return stap_unsaid(w, stap_node_is_text(w, node), node->text,
				   "bpftrace's assignments are statements, not expressions");
	case STAP_E_REGEX:
		return stap_unsaid(w, false, "=~", "bpftrace has no regular expressions: strcontains() is the nearest");
	case STAP_E_CHOOSE:
		if (is_plain_argument(node->kids[0]))
			return stap_write(w, node->kids[0], level);
		/* fall through */
	case STAP_E_DEFINED:
		return stap_unsaid(w, false, "@defined", "bpftrace's scripts are for what is there");
	case STAP_E_ENTRY:
		return stap_unsaid(w, false, "@entry", "keep the value in a map by tid, in a probe of the call");
	case STAP_E_CAST:
	case STAP_E_VAR:
		return stap_unsaid(w, false, node->kind == STAP_E_CAST ? "@cast" : "@var",
				   "bpftrace casts as C does: ((struct NAME *)VALUE)->MEMBER");
	default:
		return stap_unsaid(w, false, "@hist", "bpftrace prints distributions as a whole: print(@)");
	}
}

const char *stap_write(struct stap_writer *w, const struct stap_node *node, int level)
{
	const char *text = "0";

	if (w->depth < DEPTH_MAX) {
		w->depth++;
		text = write_one(w, node, level);
		w->depth--;
	}
	return text;
}
