// SPDX-License-Identifier: GPL-2.0-or-later
/* The compiler's state: settings, map declarations, units. */
#include "lang/core/compiler.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "lang/kernel/bpf_functions.h"
#include "lang/kernel/kernel_functions.h"
#include "lang/core/number.h"
#include "lang/provider/binary_types.h"
#include "lang/provider/provider.h"
#include "lang/rt/abi.h"

#define PATTERN_REPEATS_MAX 1000

static const struct {
	const char *name;
	enum setting_id id;
	uint64_t number;
	const char *text; /* NULL: the setting is a number */
} settings[] = {
	{"max_map_keys", SETTING_MAX_MAP_KEYS, 4096, NULL},
	{"max_strlen", SETTING_MAX_STRLEN, 1024, NULL},
	{"max_probes", SETTING_MAX_PROBES, 65536, NULL},
	{"max_bpf_progs", SETTING_MAX_BPF_PROGS, 1024, NULL},
	{"print_maps_on_exit", SETTING_PRINT_MAPS_ON_EXIT, 1, NULL},
	{"stack_mode", SETTING_STACK_MODE, 0, "bpftrace"},
	{"missing_probes", SETTING_MISSING_PROBES, 0, "error"},
	{"str_trunc_trailer", SETTING_STR_TRUNC_TRAILER, 0, ".."},
	{"license", SETTING_LICENSE, 0, "GPL"},
	{"max_cat_bytes", SETTING_MAX_CAT_BYTES, 10240, NULL},
	{"cpp_demangle", SETTING_CPP_DEMANGLE, 1, NULL},
	{"dummy_ts_map", SETTING_DUMMY_TS_MAP, 0, ""}, /* a map whose value is the time of tseries(), for tests */
	/* Taken, and without meaning here: there is no stack to spare, no log, no cache to choose. */
	{"log_size", SETTING_IGNORED, 0, NULL},
	{"on_stack_limit", SETTING_IGNORED, 0, NULL},
	{"perf_rb_pages", SETTING_IGNORED, 0, NULL},
	{"cache_user_symbols", SETTING_CACHE_USER_SYMBOLS, 0, "PER_PID"},
	{"lazy_symbolication", SETTING_IGNORED, 0, ""},
	{"show_debug_info", SETTING_SHOW_DEBUG_INFO, 1, NULL},
	{"max_ast_nodes", SETTING_IGNORED, 0, NULL},
	{"unstable_import", SETTING_IGNORED, 0, ""},
	{"unstable_map_decl", SETTING_IGNORED, 0, ""},
	{"unstable_macro", SETTING_IGNORED, 0, ""},
	{"unstable_tseries", SETTING_UNSTABLE_TSERIES, 0, "enable"},
	{"unstable_dw_ustack", SETTING_UNSTABLE_DW_USTACK, 0, "enable"},
	{"unstable_addr", SETTING_IGNORED, 0, ""},
	{"unstable_typeinfo", SETTING_IGNORED, 0, ""},
};

#define PROGRAM_NAME_MAX 112 /* a name in BTF has 127 bytes at most (KSYM_NAME_LEN) */
#define SETTINGS         (sizeof(settings) / sizeof(settings[0]))

void compiler_print(const struct compiler *c, FILE *out)
{
	size_t i;

	for (i = 0; i < c->units.count; i++) {
		const struct unit *unit = &c->units.at[i];

		fprintf(out, "probe %s", c->attaches.at[unit->first_attach].name);
		if (unit->attach_count > 1)
			fprintf(out, " and %u more", unit->attach_count - 1);
		fputc('\n', out);
		if (unit->predicate)
			node_print(out, unit->predicate, 1);
		node_print(out, unit->body, 1);
	}
}

bool compiler_follows_command(const struct compiler *c)
{
	size_t i;

	for (i = 0; c->options->pid && c->options->command_path && i < c->units.count; i++)
		if (c->units.at[i].provider->obeys_target)
			return true;
	return false;
}

bool unit_is_pinned(const struct compiler *c, const struct unit *unit)
{
	return unit->provider == &provider_iter && c->attaches.at[unit->first_attach].path;
}

bool symbol_is_percpu(const struct symbol *map)
{
	return map->storage == STORAGE_PERCPU_HASH || map->storage == STORAGE_LRU_PERCPU_HASH;
}

bool symbol_is_array(const struct symbol *map)
{
	return !map->key && map->storage == STORAGE_PERCPU_HASH && !map->storage_declared && !map->is_deleted;
}

uint32_t symbol_key_size(const struct symbol *map)
{
	if (map->key)
		return map->key->size;
	return symbol_is_array(map) ? sizeof(uint32_t) : sizeof(uint64_t);
}

uint32_t symbol_value_size(const struct symbol *map)
{
	return symbol_is_array(map) ? ((map->value->size + 7) & ~7u) + 8 : map->value->size;
}

void compiler_init(struct compiler *compiler, struct arena *arena, struct report *report,
		   const struct compile_options *options)
{
	size_t i;

	*compiler = (struct compiler){.arena = arena, .report = report, .options = options};
	types_init(&compiler->types, arena);
	for (i = 0; i < SETTINGS; i++) {
		compiler->numbers[settings[i].id] = settings[i].number;
		compiler->texts[settings[i].id] = settings[i].text;
	}
}

void compiler_deinit(struct compiler *compiler)
{
	binary_types_close(compiler);
	script_deinit(&compiler->script);
	types_deinit(&compiler->types);
	vec_free(&compiler->maps);
	vec_free(&compiler->sites);
	vec_free(&compiler->units);
	vec_free(&compiler->attaches);
	vec_free(&compiler->parameters);
	vec_free(&compiler->scope);
	kernel_functions_destroy(compiler->kernel_functions);
	bpf_functions_destroy(compiler->bpf_functions);
	foreign_files_destroy(compiler->files);
}

struct foreign_files *compiler_files(struct compiler *compiler)
{
	if (!compiler->files && foreign_files_create(0, &compiler->files, NULL))
		return NULL;
	return compiler->files;
}

/* By the name in lower case, with or without bpftrace_ before it. */
static int setting_find(const char *name)
{
	size_t i;

	if (!strncasecmp(name, "bpftrace_", 9))
		name += 9;
	for (i = 0; i < SETTINGS; i++)
		if (!strcasecmp(settings[i].name, name))
			return (int)i;
	return -1;
}

static bool one_of(const char *value, const char *const *all)
{
	for (; *all; all++)
		if (!strcmp(value, *all))
			return true;
	return false;
}

static bool valid_text(struct compiler *c, int index, const char *value, struct span span)
{
	static const char *const modes[] = {"bpftrace", "perf", "raw", "build_id", "folded", NULL};
	static const char *const missing[] = {"error", "warn", "ignore", NULL};
	static const char *const caches[] = {"PER_PID", "PER_PROGRAM", "NONE", "0", "1", "true", "false", NULL};
	static const char *const unstable[] = {"enable", "warn", "error", "1", "0", "true", "false", NULL};
	static const char *const licenses[] = {
		"Dual MIT/GPL", "Dual BSD/GPL", "Dual MPL/GPL", "GPL and additional rights", "GPL v2", "GPL", NULL};
	static const char *const *const of[SETTING_COUNT] = {
		[SETTING_STACK_MODE] = modes,          [SETTING_MISSING_PROBES] = missing,
		[SETTING_LICENSE] = licenses,          [SETTING_CACHE_USER_SYMBOLS] = caches,
		[SETTING_UNSTABLE_TSERIES] = unstable, [SETTING_UNSTABLE_DW_USTACK] = unstable,
	};
	const char *const *all = of[settings[index].id];
	const char *choices = "";
	const char *const *at;

	if (!all || one_of(value, all))
		return true;
	for (at = all; *at; at++)
		choices = arena_printf(c->arena, "%s%s%s", choices, at == all ? "" : ", ", *at);
	report_error(c->report, "config.value", span, "Invalid value for %s. Found: %s. Valid values: %s",
		     settings[index].name, value, choices);
	return false;
}

static void set(struct compiler *c, int index, const char *value, struct span span)
{
	uint64_t number = 0;

	if (settings[index].id == SETTING_IGNORED)
		return;
	if (settings[index].text) {
		if (valid_text(c, index, value, span))
			c->texts[settings[index].id] = value;
		return;
	}
	if (!strcasecmp(value, "true")) {
		number = 1;
	} else if (strcasecmp(value, "false") && !number_parse(value, strlen(value), &number)) {
		report_error(c->report, "config.value", span, "Invalid value for %s: %s is not a number",
			     settings[index].name, value);
		return;
	}
	c->numbers[settings[index].id] = number;
}

void compiler_unstable(struct compiler *c, enum setting_id setting, const struct node *call)
{
	const char *value = c->texts[setting];

	if (strcmp(value, "error") && strcmp(value, "0") && strcasecmp(value, "false"))
		return;
	report_error(c->report, "config.unstable", call->span, "%s is ruled out by the script's setting unstable_%s",
		     call->text, call->text);
	report_hint(c->report, "unstable_%s = enable allows it", call->text);
}

static void declare_map(struct compiler *c, const struct map_declaration *declaration)
{
	static const struct {
		const char *name;
		enum map_storage storage;
	} kinds[] = {{"hash", STORAGE_HASH},
		     {"lruhash", STORAGE_LRU_HASH},
		     {"percpuhash", STORAGE_PERCPU_HASH},
		     {"percpulruhash", STORAGE_LRU_PERCPU_HASH}};
	struct symbol *map = arena_new(c->arena, struct symbol);
	size_t i;

	if (!map)
		return;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[i].name, declaration->kind); i++)
		;
	if (i == sizeof(kinds) / sizeof(kinds[0])) {
		report_error(c->report, "map.kind", declaration->span, "%s is no kind of map", declaration->kind);
		report_hint(c->report, "there are hash, lruhash, percpuhash and percpulruhash");
		return;
	}
	if (!declaration->entries || declaration->entries > 1u << 26)
		report_error(c->report, "map.entries", declaration->span, "a map has 1 to %u entries", 1u << 26);
	*map = (struct symbol){.name = declaration->name,
			       .span = declaration->span,
			       .is_map = true,
			       .storage = kinds[i].storage,
			       .storage_declared = true,
			       .entries = declaration->entries,
			       .index = (uint32_t)c->maps.count};
	if (vec_push(&c->maps, map))
		c->arena->failed = true;
}

void compiler_settings(struct compiler *c)
{
	size_t i;

	for (i = 0; i < c->script.settings.count; i++) {
		const struct setting *setting = &c->script.settings.at[i];
		int index = setting_find(setting->name);

		if (index < 0) {
			report_error(c->report, "config.unknown", setting->span, "%s: not a known configuration option",
				     setting->name);
			report_hint(c->report, "strata-trace(1) lists the settings");
		} else {
			set(c, index, setting->value, setting->span);
		}
	}
	for (i = 0; i < SETTINGS && c->options->setting; i++) {
		const char *value = c->options->setting(c->options->setting_context, settings[i].name);

		if (value)
			set(c, (int)i, value, (struct span){});
	}
	if (c->numbers[SETTING_MAX_STRLEN] < 1 || c->numbers[SETTING_MAX_STRLEN] > STRING_MAX) {
		report_error(c->report, "config.value", (struct span){}, "max_strlen must be 1 to %d", STRING_MAX);
		c->numbers[SETTING_MAX_STRLEN] = 64;
	}
	if (c->numbers[SETTING_MAX_MAP_KEYS] < 1 || c->numbers[SETTING_MAX_MAP_KEYS] > 1u << 26)
		report_error(c->report, "config.value", (struct span){}, "max_map_keys must be 1 to %u", 1u << 26);
	for (i = 0; i < c->script.declarations.count; i++)
		declare_map(c, &c->script.declarations.at[i]);
}

/* Programs of others can be traced by these names, and bpftool shows how they begin. */
static const char *program_name(struct compiler *c, const struct attach *attach)
{
	char name[PROGRAM_NAME_MAX];
	size_t i;

	snprintf(name, sizeof(name), "%s", attach->name);
	for (i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]))
			name[i] = '_';
	return arena_printf(c->arena, "%s_%zu", name, c->units.count + 1);
}

static void add_unit(struct compiler *c, const struct probe *probe, const struct attach_text *point,
		     const struct provider *provider, uint32_t first, uint32_t count)
{
	const struct unit unit = {.probe = probe,
				  .point = point,
				  .provider = provider,
				  .first_attach = first,
				  .attach_count = count,
				  .section = arena_printf(c->arena, "probe.%zu", c->units.count),
				  .program = program_name(c, &c->attaches.at[first])};

	if (vec_push(&c->units, unit))
		c->arena->failed = true;
}

static bool is_name(const struct node *node)
{
	return node->kind == NODE_NAME || node->kind == NODE_CALL;
}

static bool is_argument(const struct node *node)
{
	return is_name(node) &&
	       (!strncmp(node->text, "arg", 3) || (node->kind == NODE_NAME && !strcmp(node->text, "ctx")));
}

static bool is_args(const struct node *node)
{
	return node->kind == NODE_NAME && !strcmp(node->text, "args");
}

/* Does it name a type that may be another one in each binary? */
static bool is_typed(const struct node *node)
{
	return node->type_name && node->type_name->name && !types_builtin(node->type_name->name);
}

/* Does it depend on which of several places the program is at? */
static bool is_place(const struct node *node)
{
	return is_name(node) && (!strcmp(node->text, "probe") || !strcmp(node->text, "func"));
}

static bool is_comptime(const struct node *node)
{
	return node->kind == NODE_UNARY && node->op == OP_KNOWN;
}

/* How deep macros are followed that use macros; one that calls itself is refused later. */
#define MENTIONS_DEPTH 32

struct mentions {
	const struct compiler *c;
	bool (*is_like)(const struct node *node);
	unsigned int depth;
};

static bool mentions(struct mentions *m, const struct node *node);

static bool macro_mentions(struct mentions *m, const char *name)
{
	bool found = false;
	size_t i;

	if (m->depth == MENTIONS_DEPTH)
		return false;
	m->depth++;
	for (i = 0; i < m->c->script.macros.count && !found; i++)
		found = !strcmp(m->c->script.macros.at[i].name, name) && mentions(m, m->c->script.macros.at[i].body);
	m->depth--;
	return found;
}

/* Is there a node like this in the tree, or in the macros that it uses? */
static bool mentions(struct mentions *m, const struct node *node)
{
	uint32_t i;

	if (!node)
		return false;
	if (node->type_name && mentions(m, node->type_name->of))
		return true;
	if (m->is_like(node) || (is_name(node) && macro_mentions(m, node->text)))
		return true;
	for (i = 0; i < node->kid_count; i++)
		if (mentions(m, node->kids[i]))
			return true;
	return false;
}

static bool probe_mentions(const struct compiler *c, const struct probe *probe, bool (*is_like)(const struct node *))
{
	struct mentions m = {c, is_like, 0};

	return mentions(&m, probe->body) || mentions(&m, probe->predicate);
}

/* Places that share a program are told apart by their cookies, where the kernel has these (5.15). */
static bool can_share(const struct compiler *c, const struct probe *probe, const struct provider *provider)
{
	if (!provider->shares_programs)
		return false;
	/* The parameters of each function are its own. */
	if (provider == &provider_uprobe && probe_mentions(c, probe, is_args))
		return false;
	if (provider->context != CONTEXT_REGISTERS && probe_mentions(c, probe, is_argument))
		return false;
	if (!probe_mentions(c, probe, is_place))
		return true;
	/* `comptime (probe == ...)` chooses for each place apart. */
	return !probe_mentions(c, probe, is_comptime) &&
	       libbpf_probe_bpf_helper((enum bpf_prog_type)provider->program_type, BPF_FUNC_get_attach_cookie, NULL) !=
		       0;
}

/*
 * Whether a regular expression is small enough to be compiled: regcomp() writes what is repeated {m,n} times n times,
 * and what is repeated within that n times more.
 */
static bool is_small_pattern(const char *pattern)
{
	unsigned long times = 1, most;
	const char *at = pattern;
	char *end;

	while ((at = strchr(at, '{'))) {
		for (at++, most = 1; *at && *at != '}'; at = end) {
			unsigned long number = strtoul(at, &end, 10);

			most = number > most ? number : most;
			if (end == at)
				end++;
		}
		if (most > PATTERN_REPEATS_MAX || (times *= most) > PATTERN_REPEATS_MAX)
			return false;
	}
	return true;
}

/* Leaves out the places whose names --probe-filter does not match. */
static void filter(struct compiler *c, uint32_t first)
{
	size_t kept = first, i;
	regex_t pattern;

	if (!c->options->probe_filter)
		return;
	if (!is_small_pattern(c->options->probe_filter)) {
		report_error(c->report, "probe.filter", (struct span){},
			     "--probe-filter: repetitions multiply to more than %d: %s", PATTERN_REPEATS_MAX,
			     c->options->probe_filter);
		report_hint(c->report, "use * or + in place of {m,n}");
		return;
	}
	if (regcomp(&pattern, c->options->probe_filter, REG_EXTENDED | REG_NOSUB)) {
		report_error(c->report, "probe.filter", (struct span){}, "Invalid --probe-filter regex: %s",
			     c->options->probe_filter);
		return;
	}
	for (i = first; i < c->attaches.count; i++)
		if (!regexec(&pattern, c->attaches.at[i].name, 0, NULL, 0))
			c->attaches.at[kept++] = c->attaches.at[i];
	c->attaches.count = kept;
	regfree(&pattern);
}

/* One program for all places; one for each binary, where types are its own. */
static void add_shared(struct compiler *c, const struct probe *probe, const struct attach_text *point,
		       const struct provider *provider, uint32_t first)
{
	bool is_apart = c->attaches.at[first].types && probe_mentions(c, probe, is_typed);
	uint32_t end = (uint32_t)c->attaches.count, i;

	for (i = first + 1; i <= end; i++) {
		if (i < end && (!is_apart || !strcmp(c->attaches.at[i].path, c->attaches.at[first].path)))
			continue;
		add_unit(c, probe, point, provider, first, i - first);
		first = i;
	}
}

static void expand_point(struct compiler *c, const struct probe *probe, const struct attach_text *point)
{
	const struct provider *provider = provider_find(point->parts[0]);
	uint32_t first = (uint32_t)c->attaches.count, i;
	size_t count;

	if (!provider) {
		report_error(c->report, "probe.unknown", point->span, "Invalid probe type: %s", point->parts[0]);
		report_hint(c->report, "strata trace -l lists what can be traced");
		return;
	}
	provider->expand(c, provider, point);
	if (provider->attach)
		filter(c, first);
	count = c->attaches.count - first;
	if (count > c->numbers[SETTING_MAX_PROBES]) {
		report_error(c->report, "probe.many", point->span,
			     "this means %zu places, more than the %llu of max_probes", count,
			     (unsigned long long)c->numbers[SETTING_MAX_PROBES]);
		report_hint(c->report, "narrow the pattern, or raise max_probes in the config block");
		return;
	}
	/* Where the arguments' places differ from one attach point to the next, each has a program of its own. */
	if (count > 1 && !c->attaches.at[first].spec && can_share(c, probe, provider)) {
		add_shared(c, probe, point, provider, first);
		return;
	}
	for (i = first; i < c->attaches.count; i++)
		add_unit(c, probe, point, provider, i, 1);
}

void compiler_expand(struct compiler *c)
{
	size_t i, k;
	uint32_t j;

	for (i = 0; i < c->script.probes.count; i++)
		for (j = 0; j < c->script.probes.at[i].point_count; j++)
			expand_point(c, &c->script.probes.at[i], &c->script.probes.at[i].points[j]);
	if (!c->units.count && c->options->probe_filter)
		report_error(c->report, "probe.filter", (struct span){}, "No probes to attach");
	if (c->units.count > c->numbers[SETTING_MAX_BPF_PROGS]) {
		report_error(c->report, "probe.programs", c->script.probes.at[0].span,
			     "the script makes %zu programs, more than the %llu of max_bpf_progs", c->units.count,
			     (unsigned long long)c->numbers[SETTING_MAX_BPF_PROGS]);
		report_hint(c->report, "narrow the patterns, or raise max_bpf_progs in the config block");
		return;
	}
	for (k = 0; k < c->units.count; k++) {
		c->units.at[k].predicate = node_copy(c->arena, c->units.at[k].probe->predicate);
		c->units.at[k].body = node_copy(c->arena, c->units.at[k].probe->body);
	}
}

static bool asks_for(const struct compiler *c, const char *given)
{
	size_t length = strcspn(given, "="), i;

	for (i = 0; i < c->parameters.count; i++)
		if (strlen(c->parameters.at[i].name) == length && !strncmp(c->parameters.at[i].name, given, length))
			return true;
	return false;
}

void compiler_parameters(struct compiler *c)
{
	const char *known = "";
	uint32_t i;
	size_t j;

	for (j = 0; j < c->parameters.count; j++)
		known = arena_printf(c->arena, "%s%s--%s%s%s", known, c->parameters.count > 1 ? "\n    " : " ",
				     c->parameters.at[j].name, *c->parameters.at[j].words ? ": " : "",
				     c->parameters.at[j].words);
	for (i = 0; i < c->options->named_count; i++) {
		if (asks_for(c, c->options->named[i]))
			continue;
		report_error(c->report, "getopt.unknown", (struct span){},
			     "unexpected program command line options: --%s", c->options->named[i]);
		report_hint(c->report, "expected program options:%s", known);
	}
}
