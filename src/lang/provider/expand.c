// SPDX-License-Identifier: GPL-2.0-or-later
/* Units: what an attach point means, and which of its places share a program. */
#include <bpf/libbpf.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lang/provider/provider.h"

#define PATTERN_REPEATS_MAX 1000

bool provider_follows_command(const struct compiler *c)
{
	size_t i;

	for (i = 0; c->options->pid && c->options->command_path && i < c->units.count; i++)
		if (c->units.at[i].provider->obeys_target && !c->units.at[i].is_everywhere)
			return true;
	return false;
}

bool unit_is_pinned(const struct compiler *c, const struct unit *unit)
{
	return unit->provider->context == CONTEXT_ITER && c->attaches.at[unit->first_attach].path;
}

void provider_add_unit(struct compiler *c, const struct action *action, const struct attach_text *point,
		       const struct provider *provider, uint32_t first, uint32_t count)
{
	const struct unit unit = {.span = action->span,
				  .probe = action->probe,
				  .point = point,
				  .provider = provider,
				  .first_attach = first,
				  .attach_count = count};

	if (vec_push(&c->units, unit))
		c->arena->failed = true;
}

/* Places that share a program are told apart by their cookies, where the kernel has these (5.15). */
static bool can_share(const struct provider *provider, unsigned int uses)
{
	if (!provider->shares_programs)
		return false;
	/* The parameters of each function are its own. */
	if (provider->has_parameters && (uses & USES_ARGS))
		return false;
	if (provider->context != CONTEXT_REGISTERS && (uses & USES_ARGUMENTS))
		return false;
	if (!(uses & USES_PLACE))
		return true;
	/* `comptime (probe == ...)` chooses for each place apart. */
	return !(uses & USES_CHOICE) && libbpf_probe_bpf_helper((enum bpf_prog_type)provider->program_type,
								BPF_FUNC_get_attach_cookie, NULL) != 0;
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
static void add_shared(struct compiler *c, const struct action *action, const struct attach_text *point,
		       const struct provider *provider, uint32_t first)
{
	bool is_apart = c->attaches.at[first].types && (action->uses & USES_TYPES);
	uint32_t end = (uint32_t)c->attaches.count, i;

	for (i = first + 1; i <= end; i++) {
		if (i < end && (!is_apart || !strcmp(c->attaches.at[i].path, c->attaches.at[first].path)))
			continue;
		provider_add_unit(c, action, point, provider, first, i - first);
		first = i;
	}
}

/* One program for neighbours that are alike. */
static void add_alike(struct compiler *c, const struct action *action, const struct attach_text *point,
		      const struct provider *provider, uint32_t first)
{
	const struct attach *at = c->attaches.at;
	uint32_t end = (uint32_t)c->attaches.count, i;

	for (; first < end; first = i) {
		for (i = first + 1; i < end && provider->is_alike && provider->is_alike(&at[first], &at[i]);)
			i++;
		provider_add_unit(c, action, point, provider, first, i - first);
	}
}

/* "`begin` `count` `things`, more than ...": what the dialect calls the limit, and how its scripts change it. */
static void too_many(struct compiler *c, const char *tag, struct span span, const char *begin, size_t count,
		     const char *things, enum setting_id limit)
{
	const struct setting_words *words = &c->setting_words[limit];

	report_error(c->report, tag, span, "%s %zu %s, more than the %llu %s%s", begin, count, things,
		     (unsigned long long)c->numbers[limit], words->name ? "of " : "that are allowed",
		     words->name ? words->name : "");
	report_hint(c->report, "narrow the pattern%s%s", words->change ? ", or " : "",
		    words->change ? words->change : "");
}

void provider_expand(struct compiler *c, const struct action *action, const struct attach_text *point)
{
	const struct provider *provider = provider_find(point->parts[0]);
	uint32_t first = (uint32_t)c->attaches.count;
	size_t count;

	if (!provider) {
		report_error(c->report, "probe.unknown", point->span, "Invalid probe type: %s", point->parts[0]);
		report_hint(c->report, "strata trace -l lists what can be traced");
		return;
	}
	provider->expand(c, provider, point);
	if (c->attaches.count > first && (c->attaches.at[first].flags & ATTACH_SYNTHESIZED))
		provider = &provider_python;
	if (provider->attach)
		filter(c, first);
	count = c->attaches.count - first;
	if (count > c->numbers[SETTING_MAX_PROBES]) {
		too_many(c, "probe.many", point->span, "this means", count, "places", SETTING_MAX_PROBES);
		return;
	}
	/* Where the arguments' places differ from one attach point to the next, each has a program of its own. */
	if (count > 1 && !c->attaches.at[first].spec && can_share(provider, action->uses)) {
		add_shared(c, action, point, provider, first);
		return;
	}
	add_alike(c, action, point, provider, first);
}

bool provider_expanded(struct compiler *c)
{
	if (!c->units.count && c->options->probe_filter && !c->report->errors)
		report_nothing(c->report, "probe.filter", "No probes to attach");
	if (c->units.count <= c->numbers[SETTING_MAX_BPF_PROGS])
		return true;
	too_many(c, "probe.programs", c->units.at[0].span, "the script makes", c->units.count, "programs",
		 SETTING_MAX_BPF_PROGS);
	return false;
}
