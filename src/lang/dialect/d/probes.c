// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * D's probe descriptions in the providers' words, and units: places with the same clauses share a program.
 *
 * Which events count: those of `pid` and USDT providers in the processes that their name says, where $target is the
 * process of -p or -c with what it has started; all others everywhere.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lang/core/number.h"
#include "lang/dialect/d/d.h"
#include "lang/dialect/d/probes.h"
#include "lang/provider/provider.h"

bool d_matches(const char *pattern, const char *text)
{
	return !*pattern || provider_matches(pattern, text);
}

/* --- places --- */

static bool same_spot(const struct spot *spot, const struct attach *attach, const struct d_place *place,
		      const struct provider *provider)
{
	return spot->provider == provider && spot->attach.address == attach->address &&
	       !strcmp(spot->attach.name, attach->name) && spot->place.pid == place->pid &&
	       spot->place.made == place->made &&
	       !strcmp(spot->place.name, place->name) &&
	       (spot->attach.path == attach->path ||
		(spot->attach.path && attach->path && !strcmp(spot->attach.path, attach->path)));
}

/*
 * What stands for a marker is one probe, whatever the number of its places: its id; 0: it has no place yet. Was it a
 * place of this description already?
 */
static uint32_t same_probe(const struct making *m, const struct provider *provider, const struct d_place *place,
			   bool *is_counted)
{
	uint32_t ret = 0;
	size_t i;

	for (i = 0; provider->computes_args && i < m->spots.count; i++) {
		const struct spot *spot = &m->spots.at[i];

		if (spot->provider != provider || spot->place.pid != place->pid ||
		    strcmp(spot->place.provider, place->provider) != 0 ||
		    strcmp(spot->place.module, place->module) != 0 || strcmp(spot->place.name, place->name) != 0)
			continue;
		ret = spot->place.id;
		*is_counted = *is_counted || spot->asked == m->asked;
	}
	return ret;
}

static void add_spot(struct making *m, const struct provider *provider, const struct attach_text *point,
		     const struct attach *attach, struct d_place place)
{
	bool is_counted = false;
	uint32_t id = same_probe(m, provider, &place, &is_counted);
	struct spot *spot = NULL;
	size_t i;

	for (i = 0; i < m->spots.count && !spot; i++)
		if (same_spot(&m->spots.at[i], attach, &place, provider))
			spot = &m->spots.at[i];
	m->found++;
	if (!is_counted)
		d_state(m->c)->matches++;
	if (!spot) {
		if (!place.id)
			place.id = id ? id : m->next_id++;
		if (vec_push(&m->spots,
			     (struct spot){.attach = *attach, .place = place, .provider = provider, .point = point})) {
			m->c->arena->failed = true;
			return;
		}
		spot = &m->spots.at[m->spots.count - 1];
	}
	spot->asked = m->asked;
	/* A clause that names a place twice runs once for each. */
	if (vec_push(&spot->clauses, m->clause))
		m->c->arena->failed = true;
}

void d_search(struct making *m, const char *const *parts, uint32_t count, struct d_place like, place_namer *name)
{
	struct compiler *c = m->c;
	struct attach_text *point = arena_new(c->arena, struct attach_text);
	const char **copy = arena_array(c->arena, const char *, count);
	const struct action action = {.span = m->probe->span, .probe = m->clause, .uses = USES_ARGUMENTS};
	size_t first = c->attaches.count, i;
	uint32_t k;

	if (!point || !copy)
		return;
	for (k = 0; k < count; k++) {
		if (!parts[k])
			return;
		copy[k] = parts[k];
	}
	*point = (struct attach_text){.span = m->probe->span, .parts = copy, .part_count = count};
	provider_expand(c, &action, point);
	for (i = first; i < c->attaches.count; i++) {
		struct d_place place = like;

		if (!name || name(m, &c->attaches.at[i], &place))
			add_spot(m, provider_find(parts[0]), point, &c->attaches.at[i], place);
	}
	c->attaches.count = first;
	c->units.count = 0;
}

/* --- dtrace --- */

static void find_dtrace(struct making *m)
{
	static const char *const begin[] = {"begin"}, *const end[] = {"end"};
	const struct d_probe *probe = m->probe;
	struct d_place place = {.provider = "dtrace", .module = "", .function = "", .is_everywhere = true};

	if (*probe->parts[1] || (*probe->parts[2] && strcmp(probe->parts[2], "*") != 0))
		return;
	if (d_matches(probe->parts[3], "BEGIN")) {
		place.id = 1;
		place.name = "BEGIN";
		d_search(m, begin, 1, place, NULL);
	}
	if (d_matches(probe->parts[3], "END")) {
		place.id = 2;
		place.name = "END";
		d_search(m, end, 1, place, NULL);
	}
	/* Run where something fails. */
	if (d_matches(probe->parts[3], "ERROR")) {
		m->found++;
		d_state(m->c)->has_error = true;
		d_state(m->c)->error_at = m->spots.count;
		d_state(m->c)->matches++;
	}
}

/* --- profile --- */

static bool period(const char *text, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t value, unit;

	if (!digits || !number_parse(text, digits, &value) || !value)
		return false;
	if (!text[digits] || !strcasecmp(text + digits, "hz")) {
		*ret = value > 1000000000 ? 0 : 1000000000 / value;
		return true;
	}
	return d_unit_of_time(text + digits, &unit) && !__builtin_mul_overflow(value, unit, ret) && *ret <= INT64_MAX;
}

#define PERIOD_MIN 200000 /* nanoseconds: as dtrace has it */

static void find_profile_of(struct making *m, const char *name);

/* Those that are listed: all others are made when they are named. */
static void find_profile(struct making *m)
{
	static const char *const listed[] = {
		"profile-97",   "profile-199",  "profile-499", "profile-997", "profile-1999", "profile-4001",
		"profile-4999", "tick-1",       "tick-10",     "tick-100",    "tick-500",     "tick-1000",
		"tick-5000"};
	const char *name = m->probe->parts[3];
	size_t i;

	if (*m->probe->parts[1] || *m->probe->parts[2])
		return;
	if (*name && !provider_has_wildcard(name))
		find_profile_of(m, name);
	else if (*m->probe->parts[0])
		for (i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
			if (d_matches(name, listed[i]))
				find_profile_of(m, listed[i]);
}

static void find_profile_of(struct making *m, const char *name)
{
	bool is_tick = !strncmp(name, "tick-", 5);
	struct d_place place = {
		.provider = "profile", .module = "", .function = "", .name = name, .is_everywhere = true};
	const char *parts[3] = {is_tick ? "interval" : "profile", "ns"};
	uint64_t nanoseconds;

	if ((!is_tick && strncmp(name, "profile-", 8) != 0) || !period(name + (is_tick ? 5 : 8), &nanoseconds))
		return;
	if (nanoseconds < PERIOD_MIN) {
		report_error(m->c->report, "D_PDESC_ZERO", m->probe->span,
			     "probe description %s does not match any probes", name);
		report_hint(m->c->report, "the shortest period is 200us, 5000 in a second");
		return;
	}
	parts[2] = arena_printf(m->c->arena, "%llu", (unsigned long long)nanoseconds);
	d_search(m, parts, 3, place, NULL);
}

/* --- system calls --- */

static bool name_syscall(struct making *m, const struct attach *attach, struct d_place *place)
{
	const char *name = strrchr(attach->name, ':');
	bool is_return = name && !strncmp(name, ":sys_exit_", 10);

	(void)m;
	if (!name || (!is_return && strncmp(name, ":sys_enter_", 11) != 0))
		return false;
	place->function = name + (is_return ? 10 : 11);
	return true;
}

static void find_syscall(struct making *m)
{
	const char *function = *m->probe->parts[2] ? m->probe->parts[2] : "*";
	struct d_place place = {.provider = "syscall", .module = "vmlinux", .is_everywhere = true};
	const char *parts[3] = {"tracepoint", "syscalls"};

	if (!d_matches(m->probe->parts[1], "vmlinux"))
		return;
	if (d_matches(m->probe->parts[3], "entry")) {
		place.name = "entry";
		parts[2] = arena_printf(m->c->arena, "sys_enter_%s", function);
		d_search(m, parts, 3, place, name_syscall);
	}
	if (d_matches(m->probe->parts[3], "return")) {
		place.name = "return";
		parts[2] = arena_printf(m->c->arena, "sys_exit_%s", function);
		d_search(m, parts, 3, place, name_syscall);
	}
}

/* --- what tracepoints give --- */

static void find_made(struct making *m)
{
	const struct d_made *made;

	for (made = d_made_probes; made->name; made++) {
		const struct d_place place = {.provider = made->provider,
					      .module = "vmlinux",
					      .function = "",
					      .name = made->name,
					      .is_everywhere = true,
					      .made = made};

		if (d_matches(m->probe->parts[0], made->provider) && d_matches(m->probe->parts[1], "vmlinux") &&
		    !*m->probe->parts[2] && d_matches(m->probe->parts[3], made->name))
			d_search(m, made->parts, made->parts[2] ? 3 : 2, place, NULL);
	}
}

static bool name_kernel_function(struct making *m, const struct attach *attach, struct d_place *place)
{
	(void)m;
	place->function = attach->function ? attach->function : strrchr(attach->name, ':') + 1;
	return true;
}

static void find_fbt(struct making *m)
{
	const char *parts[2] = {"kprobe", *m->probe->parts[2] ? m->probe->parts[2] : "*"};
	struct d_place place = {.provider = "fbt", .module = "vmlinux", .is_everywhere = true};

	if (!d_matches(m->probe->parts[1], "vmlinux"))
		return;
	if (d_matches(m->probe->parts[3], "entry")) {
		place.name = "entry";
		d_search(m, parts, 2, place, name_kernel_function);
	}
	if (d_matches(m->probe->parts[3], "return")) {
		parts[0] = "kretprobe";
		place.name = "return";
		d_search(m, parts, 2, place, name_kernel_function);
	}
}

static bool name_event(struct making *m, const struct attach *attach, struct d_place *place)
{
	const char *name = strrchr(attach->name, ':'), *group = strchr(attach->name, ':');

	place->name = name ? name + 1 : "";
	if (name && group && group < name)
		place->module = arena_strdup(m->c->arena, group + 1, (size_t)(name - group) - 1);
	return place->module != NULL;
}

static void find_rawtp(struct making *m)
{
	const char *const parts[2] = {"rawtracepoint", *m->probe->parts[3] ? m->probe->parts[3] : "*"};
	const struct d_place place = {.provider = "rawtp", .module = "vmlinux", .function = "", .is_everywhere = true};

	if (!*m->probe->parts[2])
		d_search(m, parts, 2, place, name_event);
}

static void find_sdt(struct making *m)
{
	const char *const parts[3] = {"tracepoint", *m->probe->parts[1] ? m->probe->parts[1] : "*",
				      *m->probe->parts[3] ? m->probe->parts[3] : "*"};
	const struct d_place place = {.provider = "sdt", .function = "", .is_everywhere = true};

	if (!*m->probe->parts[2])
		d_search(m, parts, 3, place, name_event);
}

/* --- all --- */

static bool refuse_provider(struct making *m)
{
	static const char *const missing[] = {"cpc", "lockstat", "ip",     "tcp",     "udp",
					      "mib", "lquota",   "vminfo", "sysinfo", "pcap"};
	size_t i;

	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (!strcmp(missing[i], m->probe->parts[0])) {
			report_error(m->c->report, "D_PDESC_ZERO", m->probe->span, "the provider %s is not supported",
				     missing[i]);
			report_hint(m->c->report, "docs/D.md lists the providers that there are");
			return true;
		}
	return false;
}

static void find(struct making *m)
{
	static const struct {
		const char *name;
		void (*find)(struct making *m);
	} table[] = {{"dtrace", find_dtrace}, {"profile", find_profile}, {"syscall", find_syscall},
		     {"proc", find_made},     {"sched", find_made},      {"io", find_made},
		     {"fbt", find_fbt},       {"rawtp", find_rawtp},     {"sdt", find_sdt}};
	const char *provider = m->probe->parts[0], *name = m->probe->parts[3];
	size_t i;

	if (refuse_provider(m))
		return;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, provider)) {
			table[i].find(m);
			return;
		}
	if (!strncmp(provider, "pid", 3) &&
	    (isdigit((unsigned char)provider[3]) || !provider[3] || provider[3] == '*')) {
		d_find_functions(m);
		return;
	}
	if (d_is_pid_pattern(m)) {
		d_find_functions(m);
		return;
	}
	if (*provider && !provider_has_wildcard(provider)) {
		d_find_usdt(m);
		return;
	}
	/* Without a provider: what can be one of the few with fixed names. */
	if (d_matches(provider, "dtrace"))
		find_dtrace(m);
	if (d_matches(provider, "profile"))
		find_profile(m);
	if (d_matches(provider, "syscall") && (*provider || *m->probe->parts[1] || *m->probe->parts[2]))
		find_syscall(m);
	find_made(m);
	if (*provider && strcmp(provider, "*") != 0 && !m->found)
		d_find_usdt(m);
	(void)name;
}

static void find_all(struct making *m)
{
	struct d_state *state = d_state(m->c);
	uint32_t i, k;

	for (i = 0; i < state->clauses.count && !m->c->report->errors; i++) {
		m->clause = i;
		for (k = 0; k < state->clauses.at[i].probe_count && !m->c->report->errors; k++) {
			const struct d_probe *probe = m->probe = &state->clauses.at[i].probes[k];

			m->found = 0;
			m->asked++;
			find(m);
			if (m->c->options->may_be_empty && !m->found && !m->c->report->errors)
				report_warning(m->c->report, D_NOT_ENABLED, (struct span){},
					     "failed to match %s:%s:%s:%s: No probe matches description",
					     probe->parts[0], probe->parts[1], probe->parts[2], probe->parts[3]);
			if (m->found || m->c->report->errors || state->options[D_ZDEFS])
				continue;
			report_error(m->c->report, "D_PDESC_ZERO", probe->span,
				     "probe description %s:%s:%s:%s does not match any probes", probe->parts[0],
				     probe->parts[1], probe->parts[2], probe->parts[3]);
			report_hint(m->c->report,
				    "dtrace -l -n '%s:::' lists what there is; -Z allows descriptions without a probe",
				    probe->parts[0]);
		}
	}
}

static bool same_clauses(const struct spot *a, const struct spot *b)
{
	return a->clauses.count == b->clauses.count &&
	       !memcmp(a->clauses.at, b->clauses.at, a->clauses.count * sizeof(uint32_t));
}

/* Does it ask where it is, other than to print it? In an ERROR clause arg1 is where it failed. */
static bool mentions_place(const struct d_expr *expr, bool is_error)
{
	static const char *const words[] = {"probeprov", "probemod", "probefunc", "probename", "id"};
	uint32_t i;
	size_t k;

	if (!expr)
		return false;
	if (expr->kind == D_VARIABLE) {
		for (k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			if (!strcmp(words[k], expr->text))
				return true;
		if (is_error && !strcmp(expr->text, "arg1"))
			return true;
	}
	for (i = 0; i < expr->kid_count; i++)
		if (mentions_place(expr->kids[i], is_error))
			return true;
	return false;
}

static bool clause_mentions_place(const struct d_clause *clause, bool is_error)
{
	return mentions_place(clause->predicate, is_error) || mentions_place(clause->body, is_error);
}

static bool can_share(struct making *m, const struct spot *a, const struct spot *b)
{
	const struct d_state *state = d_state(m->c);
	size_t i;

	if (a->provider != b->provider || a->attach.spec || b->attach.spec || a->place.pid != b->place.pid ||
	    a->place.made || b->place.made || a->place.is_everywhere != b->place.is_everywhere ||
	    a->attach.flags != b->attach.flags || !same_clauses(a, b))
		return false;
	if (a->provider->is_alike && a->provider->is_alike(&a->attach, &b->attach))
		return true;
	if (!a->provider->shares_programs)
		return false;
	/* What a system call is given and what it gives lie in other places. */
	if (!strcmp(a->place.provider, "syscall") && strcmp(a->place.name, b->place.name) != 0)
		return false;
	for (i = 0; i < a->clauses.count; i++)
		if (clause_mentions_place(&state->clauses.at[a->clauses.at[i]], false))
			return false;
	/* They are a part of each program that may fail. */
	for (i = 0; i < state->clauses.count; i++)
		if (d_is_error_clause(&state->clauses.at[i]) && clause_mentions_place(&state->clauses.at[i], true))
			return false;
	return true;
}

static void add_unit(struct making *m, const struct spot *spot, uint32_t first, uint32_t count)
{
	struct compiler *c = m->c;
	struct d_state *state = d_state(c);
	const struct action action = {.span = state->clauses.at[spot->clauses.at[0]].span,
				      .probe = spot->clauses.at[0]};
	struct d_unit unit = {};
	size_t i;

	provider_add_unit(c, &action, spot->point, spot->provider, first, count);
	c->units.at[c->units.count - 1].is_everywhere = spot->place.is_everywhere;
	for (i = 0; i < spot->clauses.count; i++)
		if (vec_push(&unit.clauses, spot->clauses.at[i]))
			c->arena->failed = true;
	if (vec_push(&state->units, unit)) {
		vec_free(&unit.clauses);
		c->arena->failed = true;
	}
}

static void add_place(struct making *m, const struct spot *spot)
{
	if (vec_push(&m->c->attaches, spot->attach) || vec_push(&d_state(m->c)->places, spot->place))
		m->c->arena->failed = true;
}

static void make_units(struct making *m)
{
	bool *done = calloc(m->spots.count + 1, sizeof(*done));
	size_t i, k;

	for (i = 0; done && i < m->spots.count && !m->c->arena->failed; i++) {
		uint32_t first = (uint32_t)m->c->attaches.count;
		bool is_shared;

		if (done[i])
			continue;
		add_place(m, &m->spots.at[i]);
		is_shared = m->spots.at[i].provider->shares_programs || m->spots.at[i].provider->is_alike;
		for (k = i + 1; k < m->spots.count && is_shared; k++)
			if (!done[k] && can_share(m, &m->spots.at[i], &m->spots.at[k])) {
				done[k] = true;
				add_place(m, &m->spots.at[k]);
			}
		if (!m->c->arena->failed)
			add_unit(m, &m->spots.at[i], first, (uint32_t)m->c->attaches.count - first);
	}
	if (!done)
		m->c->arena->failed = true;
	free(done);
}

void d_probes(struct compiler *c)
{
	struct making m = {.c = c, .next_id = 4};
	size_t i;

	find_all(&m);
	if (!c->report->errors && !c->arena->failed)
		make_units(&m);
	if (!c->report->errors && !c->arena->failed)
		provider_expanded(c);
	/* The provider's own tag for an offset that is not in the function. */
	for (i = 0; i < c->report->complaints.count; i++)
		if (!strcmp(c->report->complaints.at[i].tag, "probe.outside"))
			c->report->complaints.at[i].tag = "D_PROC_OFF";
	for (i = 0; i < m.spots.count; i++)
		vec_free(&m.spots.at[i].clauses);
	vec_free(&m.spots);
}
