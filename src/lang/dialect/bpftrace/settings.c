// SPDX-License-Identifier: GPL-2.0-or-later
/* What scripts and the environment can set, by bpftrace's names, and the maps that a script declares. */
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/bpftrace/check/check.h"

static const struct {
	const char *name;
	unsigned int id; /* enum setting_id, enum bpftrace_setting */
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

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

void settings_init(struct compiler *c)
{
	size_t i;

	for (i = 0; i < SETTINGS; i++) {
		c->numbers[settings[i].id] = settings[i].number;
		c->texts[settings[i].id] = settings[i].text;
	}
	c->setting_words[SETTING_MAX_STRLEN] = (struct setting_words){"max_strlen", "lower max_strlen"};
	c->setting_words[SETTING_MAX_PROBES] =
		(struct setting_words){"max_probes", "raise max_probes in the config block"};
	c->setting_words[SETTING_MAX_BPF_PROGS] =
		(struct setting_words){"max_bpf_progs", "raise max_bpf_progs in the config block"};
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

void settings_unstable(struct compiler *c, enum bpftrace_setting setting, const struct ast *call)
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

void settings_read(struct compiler *c)
{
	size_t i;

	for (i = 0; i < checker(c)->script.settings.count; i++) {
		const struct setting *setting = &checker(c)->script.settings.at[i];
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
	for (i = 0; i < checker(c)->script.declarations.count; i++)
		declare_map(c, &checker(c)->script.declarations.at[i]);
}
