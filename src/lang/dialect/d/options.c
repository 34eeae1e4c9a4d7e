// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of D programs: #pragma D option NAME[=VALUE], -x NAME[=VALUE]. */
#include <string.h>
#include <unistd.h>

#include "lang/core/number.h"
#include "lang/dialect/d/d.h"

enum option_kind {
	OPTION_FLAG,
	OPTION_NUMBER,
	OPTION_RATE,
	/* Without effect, as they are about buffers and the build that strata has not, or about what it always does. */
	OPTION_WITHOUT_EFFECT,
	OPTION_COUNT,
	OPTION_SIZE,
	OPTION_PERIOD,
	OPTION_OUTSIDE, /* on the command line only */
	OPTION_REGISTERS,
	OPTION_VERSION,
	OPTION_CPU
};

static const struct option {
	const char *name;
	enum option_kind kind;
	enum d_option id;
	bool any_time; /* setopt() may change it */
} options[] = {
	{"quiet", OPTION_FLAG, D_QUIET, true},
	{"strsize", OPTION_NUMBER, D_STRSIZE, false},
	{"flowindent", OPTION_FLAG, D_FLOWINDENT, true},
	{"destructive", OPTION_FLAG, D_DESTRUCTIVE, false},
	{"zdefs", OPTION_FLAG, D_ZDEFS, false},
	{"defaultargs", OPTION_FLAG, D_DEFAULTARGS, false},
	{"argref", OPTION_FLAG, D_ARGREF, false},
	{"empty", OPTION_FLAG, D_MAY_BE_EMPTY, false},
	{"aggsortkey", OPTION_FLAG, D_AGGSORTKEY, true},
	{"aggsortrev", OPTION_FLAG, D_AGGSORTREV, true},
	{"aggsortpos", OPTION_NUMBER, D_AGGSORTPOS, true},
	{"aggsortkeypos", OPTION_NUMBER, D_AGGSORTKEYPOS, true},
	{"stackframes", OPTION_NUMBER, D_STACKFRAMES, false},
	{"ustackframes", OPTION_NUMBER, D_USTACKFRAMES, false},
	{"stackindent", OPTION_NUMBER, D_STACKINDENT, true},
	{"rawbytes", OPTION_FLAG, D_RAWBYTES, true},
	{"switchrate", OPTION_RATE, D_SWITCHRATE, true},
	{"scratchsize", OPTION_NUMBER, D_SCRATCHSIZE, false},
	{"nspec", OPTION_NUMBER, D_NSPEC, false},
	{"specsize", OPTION_NUMBER, D_SPECSIZE, false},
	{"iregs", OPTION_REGISTERS, 0, false},
	{"version", OPTION_VERSION, 0, false},
	{"aggpercpu", OPTION_WITHOUT_EFFECT, 0, false},
	{"aggrate", OPTION_PERIOD, 0, true},
	{"aggsize", OPTION_SIZE, 0, false},
	{"amin", OPTION_WITHOUT_EFFECT, 0, false},
	{"bpflog", OPTION_WITHOUT_EFFECT, 0, false},
	{"bpflogsize", OPTION_SIZE, 0, false},
	{"bufpolicy", OPTION_WITHOUT_EFFECT, 0, false},
	{"bufresize", OPTION_WITHOUT_EFFECT, 0, false},
	{"bufsize", OPTION_SIZE, 0, false},
	{"cleanrate", OPTION_PERIOD, 0, false},
	{"core", OPTION_WITHOUT_EFFECT, 0, false},
	{"cpp", OPTION_WITHOUT_EFFECT, 0, false},
	{"cppargs", OPTION_OUTSIDE, 0, false},
	{"cpphdrs", OPTION_OUTSIDE, 0, false},
	{"cpppath", OPTION_OUTSIDE, 0, false},
	{"cpu", OPTION_CPU, 0, false},
	{"ctfpath", OPTION_OUTSIDE, 0, false},
	{"ctypes", OPTION_WITHOUT_EFFECT, 0, false},
	{"debug", OPTION_WITHOUT_EFFECT, 0, false},
	{"debugassert", OPTION_WITHOUT_EFFECT, 0, false},
	{"define", OPTION_OUTSIDE, 0, false},
	{"disasm", OPTION_WITHOUT_EFFECT, 0, false},
	{"dofstashpath", OPTION_WITHOUT_EFFECT, 0, false},
	{"droptags", OPTION_FLAG, D_DROPTAGS, false},
	{"dtypes", OPTION_WITHOUT_EFFECT, 0, false},
	{"dynvarsize", OPTION_SIZE, 0, false},
	{"errtags", OPTION_WITHOUT_EFFECT, 0, false},
	{"evaltime", OPTION_WITHOUT_EFFECT, 0, false},
	{"grabanon", OPTION_WITHOUT_EFFECT, 0, false},
	{"incdir", OPTION_OUTSIDE, 0, false},
	{"jstackframes", OPTION_COUNT, 0, false},
	{"jstackstrsize", OPTION_SIZE, 0, false},
	{"kdefs", OPTION_WITHOUT_EFFECT, 0, false},
	{"knodefs", OPTION_WITHOUT_EFFECT, 0, false},
	{"late", OPTION_WITHOUT_EFFECT, 0, false},
	{"lazyload", OPTION_WITHOUT_EFFECT, 0, false},
	{"ldpath", OPTION_OUTSIDE, 0, false},
	{"libdir", OPTION_WITHOUT_EFFECT, 0, false},
	{"linkmode", OPTION_WITHOUT_EFFECT, 0, false},
	{"linknommap", OPTION_WITHOUT_EFFECT, 0, false},
	{"linktype", OPTION_WITHOUT_EFFECT, 0, false},
	{"lockmem", OPTION_OUTSIDE, 0, false},
	{"maxframes", OPTION_NUMBER, D_MAXFRAMES, false},
	{"modpath", OPTION_OUTSIDE, 0, false},
	{"nolibs", OPTION_WITHOUT_EFFECT, 0, false},
	{"noresolve", OPTION_FLAG, D_NORESOLVE, true},
	{"pcapsize", OPTION_SIZE, 0, false},
	{"pgmax", OPTION_WITHOUT_EFFECT, 0, false},
	{"preallocate", OPTION_WITHOUT_EFFECT, 0, false},
	{"printsize", OPTION_NUMBER, D_PRINTSIZE, true},
	{"procfspath", OPTION_OUTSIDE, 0, false},
	{"pspec", OPTION_WITHOUT_EFFECT, 0, false},
	{"quietresize", OPTION_WITHOUT_EFFECT, 0, true},
	{"statusrate", OPTION_PERIOD, 0, false},
	{"stdc", OPTION_OUTSIDE, 0, false},
	{"strip", OPTION_WITHOUT_EFFECT, 0, false},
	{"syslibdir", OPTION_WITHOUT_EFFECT, 0, false},
	{"sysslice", OPTION_WITHOUT_EFFECT, 0, false},
	{"tagerrs", OPTION_WITHOUT_EFFECT, 0, false},
	{"tree", OPTION_WITHOUT_EFFECT, 0, false},
	{"tregs", OPTION_WITHOUT_EFFECT, 0, false},
	{"udefs", OPTION_WITHOUT_EFFECT, 0, false},
	{"undef", OPTION_OUTSIDE, 0, false},
	{"unodefs", OPTION_WITHOUT_EFFECT, 0, false},
	{"useruid", OPTION_WITHOUT_EFFECT, 0, false},
	{"verbose", OPTION_WITHOUT_EFFECT, 0, false},
};

void d_options_init(struct compiler *c)
{
	struct d_state *state = d_state(c);

	state->options[D_STRSIZE] = 256;
	state->options[D_SCRATCHSIZE] = 256;
	state->options[D_NSPEC] = 1;
	state->options[D_SPECSIZE] = 32768;
	state->options[D_STACKFRAMES] = 20;
	state->options[D_USTACKFRAMES] = 100;
	state->options[D_STACKINDENT] = 14;
	state->options[D_PRINTSIZE] = D_PRINT_MAX;
	state->options[D_SWITCHRATE] = 1000000000;
	c->numbers[SETTING_MAX_MAP_KEYS] = 16384;
	c->numbers[SETTING_MAX_STRLEN] = 256;
	c->setting_words[SETTING_MAX_STRLEN] = (struct setting_words){"strsize", "lower strsize"};
	c->numbers[SETTING_MAX_PROBES] = 65536;
	c->numbers[SETTING_MAX_BPF_PROGS] = 2048;
	c->numbers[SETTING_MAX_CAT_BYTES] = 4096;
	c->numbers[SETTING_PRINT_MAPS_ON_EXIT] = 0;
	c->texts[SETTING_MISSING_PROBES] = "ignore";
	c->texts[SETTING_LICENSE] = "GPL";
}

/* 256, 4k, 1m */
static bool size_parse(const char *text, uint64_t *ret)
{
	size_t length = strlen(text);
	unsigned int shift = 0;

	if (length > 1) {
		char unit = text[length - 1] | 32;

		shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : unit == 't' ? 40 : 0;
	}
	if (!number_parse(text, length - (shift != 0), ret) || *ret >> (63 - shift))
		return false;
	*ret <<= shift;
	return true;
}

/* 1s, 100ms, 10hz; a number alone is in nanoseconds. */
static bool rate_parse(const char *text, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t value, unit = 1;

	if (!digits || !number_parse(text, digits, &value))
		return false;
	if (!strcasecmp(text + digits, "hz")) {
		*ret = value ? 1000000000 / value : 0;
		return true;
	}
	return (!text[digits] || d_unit_of_time(text + digits, &unit)) && !__builtin_mul_overflow(value, unit, ret);
}

/* 2, 2.0, 2.0.1: not newer than what is there. */
static bool version_known(const char *text)
{
	static const unsigned int newest[3] = {2, 0, 1};
	unsigned int i;

	for (i = 0; i < 3 && *text; i++) {
		size_t digits = strspn(text, "0123456789");
		uint64_t part;

		if (!number_parse(text, digits, &part) || part > newest[i])
			return false;
		if (part < newest[i])
			return true;
		text += digits + (text[digits] == '.');
	}
	return true;
}

static bool flag_parse(const char *value, uint64_t *ret)
{
	static const char *const words[2][7] = {{"0", "disabled", "disable", "off", "no", "false", "unset"},
						{"1", "enabled", "enable", "on", "yes", "true", "set"}};
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 7; k++)
			if (!strcasecmp(words[i][k], value)) {
				*ret = i;
				return true;
			}
	return size_parse(value, ret);
}

static const char bad_value[] = "Invalid value for specified option";

/* What is wrong with the value; NULL: nothing. *ret: as a number. */
static const char *value_parse(const struct option *option, const char *value, uint64_t *ret)
{
	*ret = 1;
	switch (option->kind) {
	case OPTION_FLAG:
		return value && !flag_parse(value, ret) ? bad_value : NULL;
	case OPTION_RATE:
		return !value || !rate_parse(value, ret) ? bad_value : NULL;
	case OPTION_NUMBER:
		if (!value || !size_parse(value, ret) || *ret > 1u << 24)
			return bad_value;
		return option->id == D_STRSIZE && (*ret < 2 || *ret > 16384) ? bad_value : NULL;
	case OPTION_COUNT:
	case OPTION_SIZE:
		return value && !size_parse(value, ret) ? bad_value : NULL;
	case OPTION_PERIOD:
		return value && !rate_parse(value, ret) ? bad_value : NULL;
	case OPTION_REGISTERS:
		if (!value || !number_parse(value, strlen(value), ret) || !*ret || *ret > 8)
			return bad_value;
		return *ret < 8 ? "Insufficient registers to generate code" : NULL;
	case OPTION_CPU:
		return value && number_parse(value, strlen(value), ret) &&
				       *ret < (uint64_t)sysconf(_SC_NPROCESSORS_CONF)
			       ? NULL
			       : bad_value;
	case OPTION_VERSION:
		if (!value)
			return "Version is not properly formatted or is too large";
		return version_known(value) ? NULL : "Requested version is not supported by compiler";
	case OPTION_OUTSIDE:
		if (!strcmp(option->name, "stdc") && (!value || strlen(value) != 1 || !strchr("acst", *value)))
			return bad_value;
		return NULL;
	default:
		if (!strcmp(option->name, "linkmode") && value && strcmp(value, "kernel") != 0 &&
		    strcmp(value, "static") != 0 && strcmp(value, "dynamic") != 0)
			return bad_value;
		return NULL;
	}
}

static const struct option *option_find(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
			return &options[i];
	return NULL;
}

static bool keeps_value(const struct option *option)
{
	return option->kind == OPTION_FLAG || option->kind == OPTION_NUMBER || option->kind == OPTION_RATE;
}

static void limit(struct d_state *state, const char *name, uint64_t bytes)
{
	struct d_limit *to = !strcmp(name, "bufsize")      ? &state->buffer_size
			     : !strcmp(name, "aggsize")    ? &state->aggregation_size
			     : !strcmp(name, "dynvarsize") ? &state->variable_size
							   : NULL;

	if (to)
		*to = (struct d_limit){true, bytes};
}

bool d_option_set(struct compiler *c, const char *text, struct span span)
{
	const char *equals = strchr(text, '='), *value = equals ? equals + 1 : NULL, *wrong;
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	const struct option *option = option_find(text, length);
	bool is_inside = span.end > 0;
	uint64_t number = 1;

	wrong = !option                                         ? "Invalid option name"
		: is_inside && option->kind == OPTION_OUTSIDE ? "Option cannot be used from within a D program"
							      : value_parse(option, value, &number);
	if (wrong && is_inside)
		report_error(c->report, "D_PRAGMA_OPTSET", span, "failed to set option '%.*s'%s%s%s: %s", (int)length,
			     text, value ? " to '" : "", value ? value : "", value ? "'" : "", wrong);
	else if (wrong)
		report_error(c->report, D_NOT_ENABLED, span, "failed to set -x %.*s: %s", (int)length, text, wrong);
	if (wrong) {
		report_hint(c->report, "docs/D.md lists the options");
		return false;
	}
	if (keeps_value(option))
		d_state(c)->options[option->id] = number;
	if (option->kind == OPTION_CPU) {
		c->has_cpu = true;
		c->cpu = (uint32_t)number;
	}
	if (option->kind == OPTION_NUMBER && option->id == D_STRSIZE)
		c->numbers[SETTING_MAX_STRLEN] = number;
	if (option->kind == OPTION_SIZE)
		limit(d_state(c), option->name, number);
	return true;
}

const char *d_option_change(struct d_state *state, const char *name, const char *value)
{
	const struct option *option = option_find(name, strlen(name));
	uint64_t number = 1;
	const char *wrong;

	if (!option)
		return "Invalid option name";
	if (!option->any_time)
		return "Operation illegal when tracing is active";
	wrong = value_parse(option, *value ? value : NULL, &number);
	if (!wrong && keeps_value(option))
		state->options[option->id] = number;
	return wrong;
}
