// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of D programs: #pragma D option NAME[=VALUE], -x NAME[=VALUE]. */
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/d/d.h"

enum option_kind { OPTION_FLAG, OPTION_NUMBER, OPTION_RATE, OPTION_WITHOUT_EFFECT };

/* Those without effect are about buffers and the build that strata has not, or about what it always does. */
static const struct option {
	const char *name;
	enum option_kind kind;
	enum d_option id;
} options[] = {
	{"quiet", OPTION_FLAG, D_QUIET},
	{"strsize", OPTION_NUMBER, D_STRSIZE},
	{"flowindent", OPTION_FLAG, D_FLOWINDENT},
	{"destructive", OPTION_FLAG, D_DESTRUCTIVE},
	{"zdefs", OPTION_FLAG, D_ZDEFS},
	{"defaultargs", OPTION_FLAG, D_DEFAULTARGS},
	{"aggsortkey", OPTION_FLAG, D_AGGSORTKEY},
	{"aggsortrev", OPTION_FLAG, D_AGGSORTREV},
	{"aggsortpos", OPTION_NUMBER, D_AGGSORTPOS},
	{"aggsortkeypos", OPTION_NUMBER, D_AGGSORTKEYPOS},
	{"stackframes", OPTION_NUMBER, D_STACKFRAMES},
	{"ustackframes", OPTION_NUMBER, D_USTACKFRAMES},
	{"stackindent", OPTION_NUMBER, D_STACKINDENT},
	{"rawbytes", OPTION_FLAG, D_RAWBYTES},
	{"switchrate", OPTION_RATE, D_SWITCHRATE},
	{"scratchsize", OPTION_NUMBER, D_SCRATCHSIZE},
	{"nspec", OPTION_NUMBER, D_NSPEC},
	{"specsize", OPTION_NUMBER, D_SPECSIZE},
	{"aggpercpu", OPTION_WITHOUT_EFFECT, 0},
	{"aggrate", OPTION_WITHOUT_EFFECT, 0},
	{"aggsize", OPTION_WITHOUT_EFFECT, 0},
	{"argref", OPTION_WITHOUT_EFFECT, 0},
	{"bufpolicy", OPTION_WITHOUT_EFFECT, 0},
	{"bufresize", OPTION_WITHOUT_EFFECT, 0},
	{"bufsize", OPTION_WITHOUT_EFFECT, 0},
	{"cleanrate", OPTION_WITHOUT_EFFECT, 0},
	{"cpp", OPTION_WITHOUT_EFFECT, 0},
	{"cpphdrs", OPTION_WITHOUT_EFFECT, 0},
	{"cpppath", OPTION_WITHOUT_EFFECT, 0},
	{"ctfpath", OPTION_WITHOUT_EFFECT, 0},
	{"ctypes", OPTION_WITHOUT_EFFECT, 0},
	{"debug", OPTION_WITHOUT_EFFECT, 0},
	{"define", OPTION_WITHOUT_EFFECT, 0},
	{"dynvarsize", OPTION_WITHOUT_EFFECT, 0},
	{"errtags", OPTION_WITHOUT_EFFECT, 0},
	{"evaltime", OPTION_WITHOUT_EFFECT, 0},
	{"incdir", OPTION_WITHOUT_EFFECT, 0},
	{"iregs", OPTION_WITHOUT_EFFECT, 0},
	{"jstackframes", OPTION_WITHOUT_EFFECT, 0},
	{"jstackstrsize", OPTION_WITHOUT_EFFECT, 0},
	{"kdefs", OPTION_WITHOUT_EFFECT, 0},
	{"knodefs", OPTION_WITHOUT_EFFECT, 0},
	{"late", OPTION_WITHOUT_EFFECT, 0},
	{"lazyload", OPTION_WITHOUT_EFFECT, 0},
	{"ldpath", OPTION_WITHOUT_EFFECT, 0},
	{"libdir", OPTION_WITHOUT_EFFECT, 0},
	{"linkmode", OPTION_WITHOUT_EFFECT, 0},
	{"linktype", OPTION_WITHOUT_EFFECT, 0},
	{"lockmem", OPTION_WITHOUT_EFFECT, 0},
	{"maxframes", OPTION_WITHOUT_EFFECT, 0},
	{"modpath", OPTION_WITHOUT_EFFECT, 0},
	{"noresolve", OPTION_WITHOUT_EFFECT, 0},
	{"nolibs", OPTION_WITHOUT_EFFECT, 0},
	{"pgmax", OPTION_WITHOUT_EFFECT, 0},
	{"preallocate", OPTION_WITHOUT_EFFECT, 0},
	{"procfspath", OPTION_WITHOUT_EFFECT, 0},
	{"pspec", OPTION_WITHOUT_EFFECT, 0},
	{"quietresize", OPTION_WITHOUT_EFFECT, 0},
	{"stdc", OPTION_WITHOUT_EFFECT, 0},
	{"statusrate", OPTION_WITHOUT_EFFECT, 0},
	{"strip", OPTION_WITHOUT_EFFECT, 0},
	{"syslibdir", OPTION_WITHOUT_EFFECT, 0},
	{"tagerrs", OPTION_WITHOUT_EFFECT, 0},
	{"tree", OPTION_WITHOUT_EFFECT, 0},
	{"tregs", OPTION_WITHOUT_EFFECT, 0},
	{"udefs", OPTION_WITHOUT_EFFECT, 0},
	{"undef", OPTION_WITHOUT_EFFECT, 0},
	{"unodefs", OPTION_WITHOUT_EFFECT, 0},
	{"verbose", OPTION_WITHOUT_EFFECT, 0},
	{"version", OPTION_WITHOUT_EFFECT, 0},
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

		shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
	}
	if (!number_parse(text, length - (shift != 0), ret) || *ret >> (63 - shift))
		return false;
	*ret <<= shift;
	return true;
}

/* 1s, 100ms, 10hz; a number alone is in hertz. */
static bool rate_parse(const char *text, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t hertz;

	if (text[digits] && strcasecmp(text + digits, "hz") != 0)
		return number_parse(text, strlen(text) - (!strcmp(text + digits, "sec") ? 2 : 0), ret);
	if (!number_parse(text, digits, &hertz) || !hertz)
		return false;
	*ret = 1000000000 / hertz;
	return true;
}

bool d_option_set(struct compiler *c, const char *text, struct span span)
{
	const char *equals = strchr(text, '='), *value = equals ? equals + 1 : NULL;
	size_t length = equals ? (size_t)(equals - text) : strlen(text), i;
	uint64_t number = 1;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *option = &options[i];

		if (strlen(option->name) != length || strncmp(option->name, text, length) != 0)
			continue;
		if (option->kind == OPTION_WITHOUT_EFFECT)
			return true;
		if (option->kind == OPTION_FLAG && value &&
		    (!strcmp(value, "0") || !strcmp(value, "disabled") || !strcmp(value, "off")))
			number = 0;
		if (option->kind == OPTION_RATE && (!value || !rate_parse(value, &number))) {
			report_error(c->report, "D_PRAGMA_OPTSET", span,
				     "failed to set option '%s' to '%s': invalid value", option->name,
				     value ? value : "");
			return false;
		}
		if (option->kind == OPTION_NUMBER && (!value || !size_parse(value, &number) || number > 1u << 24 ||
						      (option->id == D_STRSIZE && (number < 8 || number > 16384)))) {
			report_error(c->report, "D_PRAGMA_OPTSET", span,
				     "failed to set option '%s' to '%s': invalid value", option->name,
				     value ? value : "");
			return false;
		}
		d_state(c)->options[option->id] = number;
		if (option->id == D_STRSIZE)
			c->numbers[SETTING_MAX_STRLEN] = number;
		return true;
	}
	report_error(c->report, "D_PRAGMA_OPTSET", span, "failed to set option '%.*s': Invalid option name",
		     (int)length, text);
	report_hint(c->report, "docs/D.md lists the options");
	return false;
}
