// SPDX-License-Identifier: GPL-2.0-or-later
/* Bodies, as they run: expressions and statements. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lang/dialect/stap/run.h"
#include "lang/dialect/stap/tasks.h"

static struct stap_value value(struct stap_run *run, const struct stap_node *node);

static bool goes_on(const struct stap_run *run)
{
	return run->flow == FLOW_ON;
}

static const struct stap_value nothing = {.text = ""};

/* --- where values are --- */

static struct stap_value *local(struct stap_run *run, const struct stap_variable *variable)
{
	return &run->frame->locals[variable->slot];
}

static bool keys_of(struct stap_run *run, struct stap_node *const *nodes, uint32_t count, struct stap_value *ret)
{
	uint32_t i;

	for (i = 0; i < count && goes_on(run); i++)
		ret[i] = nodes[i] ? value(run, nodes[i]) : nothing;
	return goes_on(run);
}

static struct stap_entry *find(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value keys[STAP_KEYS_MAX];

	if (!keys_of(run, node->kids, node->kid_count, keys) || !node->variable->map)
		return NULL;
	return stap_map_find(node->variable->map, keys);
}

/* Is there no more room? */
static bool is_full(struct stap_run *run, const struct stap_node *node)
{
	struct stap_variable *variable = node->variable;
	uint64_t limit = variable->entries ? variable->entries : (uint64_t)run->state->limits[MAXMAPENTRIES];

	if (variable->map->count < limit)
		return false;
	if (variable->wraps && !variable->map->iterating) {
		stap_map_remove(run, variable->map, variable->map->first);
		return false;
	}
	run->at = node;
	stap_fail(run,
		  variable->entries ? "Array overflow, check size limit (%llu)" : "Array overflow, check MAXMAPENTRIES",
		  (unsigned long long)limit);
	return true;
}

/* The element, made if it is not there; NULL, and an error, when that cannot be. */
static struct stap_entry *make(struct stap_run *run, const struct stap_node *node)
{
	struct stap_variable *variable = node->variable;
	struct stap_value keys[STAP_KEYS_MAX];
	struct stap_entry *entry;

	if (!keys_of(run, node->kids, node->kid_count, keys))
		return NULL;
	if (!variable->map)
		variable->map = stap_map_create(variable);
	entry = variable->map ? stap_map_find(variable->map, keys) : NULL;
	if (entry)
		return entry;
	if (variable->map && variable->map->iterating) {
		run->at = node;
		stap_fail(run, "variable '%s' modified during 'foreach' iteration", variable->name);
		return NULL;
	}
	if (variable->map && is_full(run, node))
		return NULL;
	entry = variable->map ? stap_map_add(variable->map, keys) : NULL;
	if (!entry)
		stap_fail(run, "out of memory");
	return entry;
}

/* Keeps a value beyond the record. */
static void keep(struct stap_run *run, struct stap_value *to, enum stap_type type, struct stap_value new)
{
	if (type != STAP_STRING) {
		to->number = new.number;
		return;
	}
	/* The old text may be what an expression is about. */
	if (to->text && vec_push(&run->old, (void *)(uintptr_t)to->text))
		return;
	to->text = strdup(new.text);
	if (!to->text)
		stap_fail(run, "out of memory");
}

static void store(struct stap_run *run, const struct stap_node *target, struct stap_value new)
{
	struct stap_entry *entry;

	if (target->kind == STAP_E_ELEMENT) {
		entry = make(run, target);
		if (entry)
			keep(run, &entry->value, target->variable->type, new);
	} else if (target->variable->is_global) {
		keep(run, &target->variable->value, target->variable->type, new);
	} else {
		*local(run, target->variable) = new;
	}
}

static struct stap_value load(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value ret;

	if (node->kind == STAP_E_ELEMENT) {
		const struct stap_entry *entry = find(run, node);

		ret = entry ? entry->value : nothing;
	} else {
		ret = node->variable->is_global ? node->variable->value : *local(run, node->variable);
	}
	if (!ret.text)
		ret.text = "";
	return ret;
}

/* --- statistics --- */

const struct stap_stat *stap_run_stat(struct stap_run *run, const struct stap_node *node)
{
	const struct stap_entry *entry;

	if (node->kind == STAP_E_ELEMENT) {
		entry = find(run, node);
		return entry && entry->stat.count ? &entry->stat : NULL;
	}
	if (!node->variable->is_global)
		return NULL;
	return node->variable->stat && node->variable->stat->count ? node->variable->stat : NULL;
}

static int64_t variance(const struct stap_stat *stat)
{
	__int128 n = stat->count, sum = stat->sum;

	return stat->count < 2 ? 0
			       : (int64_t)((__int128)(stat->squares - (unsigned __int128)(sum * sum / n)) / (n - 1));
}

static int64_t stat_number(const char *name, const struct stap_stat *stat)
{
	if (!strcmp(name, "@sum"))
		return stat->sum;
	if (!strcmp(name, "@min"))
		return stat->minimum;
	if (!strcmp(name, "@max"))
		return stat->maximum;
	if (!strcmp(name, "@avg"))
		return stat->count ? stat->sum / stat->count : 0;
	return !strcmp(name, "@variance") ? variance(stat) : stat->count;
}

static struct stap_value stat_value(struct stap_run *run, const struct stap_node *node)
{
	const struct stap_stat *stat = stap_run_stat(run, node->kids[0]);
	struct stap_value ret = nothing;

	if (!goes_on(run))
		return ret;
	if (stat) {
		ret.number = stat_number(node->text, stat);
	} else if (strcmp(node->text, "@count") && strcmp(node->text, "@sum")) {
		run->at = node;
		stap_fail(run, "empty aggregate");
	}
	return ret;
}

static struct stap_value bucket_value(struct stap_run *run, const struct stap_node *node)
{
	const struct stap_stat *stat = stap_run_stat(run, node->kids[0]->kids[0]);
	struct stap_value ret = nothing;
	int64_t index = value(run, node->kids[1]).number;
	const struct stap_variable *variable = node->kids[0]->kids[0]->variable;

	if (!goes_on(run))
		return ret;
	run->at = node->kids[0];
	if (!stat || !stat->buckets)
		stap_fail(run, "empty aggregate");
	else if (index < 0 || index >= stap_bucket_count(variable))
		stap_fail(run, "histogram index out of range");
	else
		ret.number = (int64_t)stat->buckets[index];
	return ret;
}

static void add_to_stat(struct stap_run *run, const struct stap_node *target, int64_t number)
{
	struct stap_variable *variable = target->variable;
	struct stap_entry *entry = NULL;
	struct stap_stat *stat;

	if (target->kind == STAP_E_ELEMENT) {
		entry = make(run, target);
		stat = entry ? &entry->stat : NULL;
	} else {
		if (!variable->stat)
			variable->stat = calloc(1, sizeof(*variable->stat));
		stat = variable->stat;
	}
	if (!goes_on(run) || (stat && stap_stat_add(variable, stat, number)))
		return;
	/* An element has at least one value. */
	if (entry && !entry->stat.count)
		stap_map_remove(run, variable->map, entry);
	stap_fail(run, "out of memory");
}

/* --- operators --- */

static int64_t divide(struct stap_run *run, const struct stap_node *node, char op, int64_t a, int64_t b)
{
	if (!b) {
		run->at = node;
		stap_fail(run, "division by 0");
		return 0;
	}
	if (b == -1)
		return op == '/' ? (int64_t)(0 - (uint64_t)a) : 0;
	return op == '/' ? a / b : a % b;
}

/* `op` may have its = behind it. */
static int64_t apply(struct stap_run *run, const struct stap_node *node, const char *op, int64_t a, int64_t b)
{
	switch (*op) {
	case '+':
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case '-':
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case '*':
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case '/':
	case '%':
		return divide(run, node, *op, a, b);
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '<':
		return (int64_t)((uint64_t)a << (b & 63));
	default:
		return a >> (b & 63);
	}
}

static struct stap_value concatenate(struct stap_run *run, const char *a, const char *b)
{
	size_t first = strlen(a), second = strlen(b), most = (size_t)run->state->limits[MAXSTRINGLEN] - 1;
	struct stap_value ret = nothing;
	char *text;

	first = first < most ? first : most;
	second = second < most - first ? second : most - first;
	text = stap_room(run, first + second + 1);
	if (!text)
		return ret;
	memcpy(text, a, first);
	memcpy(text + first, b, second);
	text[first + second] = '\0';
	ret.text = text;
	return ret;
}

static bool compare(const char *op, int order)
{
	switch (*op) {
	case '=':
		return !order;
	case '!':
		return order;
	case '<':
		return op[1] == '=' ? order <= 0 : order < 0;
	default:
		return op[1] == '=' ? order >= 0 : order > 0;
	}
}

static struct stap_value binary(struct stap_run *run, const struct stap_node *node)
{
	const char *op = node->text;
	struct stap_value a = value(run, node->kids[0]), b, ret = nothing;

	if (!goes_on(run))
		return ret;
	if (!strcmp(op, "&&") || !strcmp(op, "||")) {
		ret.number = !!a.number;
		if (ret.number == (*op == '&'))
			ret.number = !!value(run, node->kids[1]).number;
		return ret;
	}
	b = value(run, node->kids[1]);
	if (!goes_on(run))
		return ret;
	if (*op == '.')
		return concatenate(run, a.text, b.text);
	if (!strcmp(op, "==") || !strcmp(op, "!=") || (*op == '<' && op[1] != '<') || (*op == '>' && op[1] != '>'))
		ret.number = compare(op, node->kids[0]->type == STAP_STRING ? strcmp(a.text, b.text)
					 : a.number < b.number              ? -1
									    : a.number > b.number);
	else
		ret.number = apply(run, node, op, a.number, b.number);
	return ret;
}

static struct stap_value unary(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value ret = value(run, node->kids[0]);

	switch (*node->text) {
	case '-':
		ret.number = (int64_t)(0 - (uint64_t)ret.number);
		break;
	case '!':
		ret.number = !ret.number;
		break;
	case '~':
		ret.number = ~ret.number;
		break;
	default:
		break;
	}
	return ret;
}

static struct stap_value assign(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value new = value(run, node->kids[1]), old;

	if (!goes_on(run))
		return nothing;
	if (!strcmp(node->text, "<<<")) {
		add_to_stat(run, node->kids[0], new.number);
		return new;
	}
	if (strcmp(node->text, "=") != 0) {
		old = load(run, node->kids[0]);
		if (goes_on(run) && *node->text == '.')
			new = concatenate(run, old.text, new.text);
		else if (goes_on(run))
			new.number = apply(run, node, node->text, old.number, new.number);
	}
	if (goes_on(run))
		store(run, node->kids[0], new);
	return new;
}

static struct stap_value step(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value old = load(run, node->kids[0]), new = old;

	if (!goes_on(run))
		return nothing;
	new.number = apply(run, node, node->text, old.number, 1);
	store(run, node->kids[0], new);
	return node->flags & STAP_PREFIX ? new : old;
}

/* Keys that are * match all. */
static bool matches(const struct stap_variable *array, const struct stap_entry *entry, struct stap_node *const *slice,
		    const struct stap_value *keys)
{
	uint32_t i;

	for (i = 0; i < array->key_count; i++)
		if (slice[i] && (array->keys[i] == STAP_STRING ? strcmp(entry->keys[i].text, keys[i].text) != 0
							       : entry->keys[i].number != keys[i].number))
			return false;
	return true;
}

static bool has_stars(struct stap_node *const *slice, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!slice[i])
			return true;
	return false;
}

static struct stap_value is_in(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value keys[STAP_KEYS_MAX], ret = nothing;
	const struct stap_entry *entry;

	if (!keys_of(run, node->kids, node->kid_count, keys) || !node->variable->map)
		return ret;
	if (!has_stars(node->kids, node->kid_count)) {
		ret.number = stap_map_find(node->variable->map, keys) != NULL;
		return ret;
	}
	for (entry = node->variable->map->first; entry && !ret.number; entry = entry->behind)
		ret.number = matches(node->variable, entry, node->kids, keys);
	return ret;
}

static struct stap_value target(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value ret = nothing;
	size_t i;

	for (i = 0; i < run->handler->targets.count; i++) {
		const struct stap_node *one = run->handler->targets.at[i];

		if (strcmp(one->text, node->text) != 0)
			continue;
		if (!stap_slot_number(run, one->slot + 1)) {
			run->at = node;
			stap_fail(run, "read fault [man error::fault]");
		} else if (node->type == STAP_STRING) {
			ret.text = stap_slot_text(run, one->slot);
		} else {
			ret.number = stap_slot_number(run, one->slot);
		}
		return ret;
	}
	return ret;
}

/* --- calls --- */

static struct stap_value call_function(struct stap_run *run, const struct stap_node *node)
{
	const struct stap_function *function = node->function;
	struct stap_frame frame = {.result = nothing}, *outer = run->frame;
	uint32_t i;

	if (run->nesting >= (uint64_t)run->state->limits[MAXNESTING]) {
		run->at = node;
		stap_fail(run, "MAXNESTING exceeded");
		return nothing;
	}
	frame.locals = (void *)stap_room(run, (function->locals.count + 1) * sizeof(*frame.locals));
	for (i = 0; frame.locals && i < function->locals.count; i++)
		frame.locals[i] = nothing;
	for (i = 0; goes_on(run) && i < node->kid_count; i++)
		frame.locals[i] = value(run, node->kids[i]);
	if (!goes_on(run))
		return nothing;
	run->frame = &frame;
	run->nesting++;
	stap_run_statement(run, function->body);
	run->nesting--;
	run->frame = outer;
	if (run->flow == FLOW_RETURN)
		run->flow = FLOW_ON;
	return frame.result;
}

static struct stap_value call_builtin(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value few[8], *arguments = few, ret = nothing;
	uint32_t i;

	if (node->kid_count > sizeof(few) / sizeof(few[0]))
		arguments = (void *)stap_room(run, node->kid_count * sizeof(*arguments));
	for (i = 0; arguments && i < node->kid_count && goes_on(run); i++)
		arguments[i] = node->kids[i]->kind == STAP_E_HIST ? nothing : value(run, node->kids[i]);
	if (!goes_on(run))
		return ret;
	run->at = node;
	node->builtin->call(run, node, arguments, &ret);
	return ret;
}

static struct stap_value value(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value ret = nothing, address;

	switch (node->kind) {
	case STAP_E_NUMBER:
		ret.number = node->value;
		return ret;
	case STAP_E_TEXT:
		ret.text = node->text;
		return ret;
	case STAP_E_VARIABLE:
	case STAP_E_ELEMENT:
		return load(run, node);
	case STAP_E_TARGET:
		return target(run, node);
	case STAP_E_CAST:
		address = value(run, node->kids[0]);
		run->at = node;
		if (goes_on(run))
			stap_cast_value(run, node, &address, &ret);
		return ret;
	case STAP_E_CALL:
		return node->function ? call_function(run, node) : call_builtin(run, node);
	case STAP_E_UNARY:
		return unary(run, node);
	case STAP_E_BINARY:
		return binary(run, node);
	case STAP_E_TERNARY:
		ret = value(run, node->kids[0]);
		return goes_on(run) ? value(run, node->kids[ret.number ? 1 : 2]) : nothing;
	case STAP_E_ASSIGN:
		return assign(run, node);
	case STAP_E_STEP:
		return step(run, node);
	case STAP_E_IN:
		return is_in(run, node);
	case STAP_E_REGEX:
		ret = value(run, node->kids[0]);
		ret.number = !regexec(node->regex, ret.text, 0, NULL, 0) != !!(node->flags & STAP_NOT);
		ret.text = "";
		return ret;
	case STAP_E_STAT:
		return stat_value(run, node);
	case STAP_E_BUCKET:
		return bucket_value(run, node);
	default:
		return ret;
	}
}

struct stap_value stap_run_value(struct stap_run *run, const struct stap_node *node)
{
	return value(run, node);
}

/* --- statements --- */

/* After a turn of a loop: does it go on? */
static bool turns(struct stap_run *run)
{
	if (run->flow == FLOW_CONTINUE)
		run->flow = FLOW_ON;
	if (run->flow != FLOW_BREAK)
		return goes_on(run);
	run->flow = FLOW_ON;
	return false;
}

static bool acts(struct stap_run *run, const struct stap_node *node)
{
	int64_t limit = run->state->limits[MAXACTION];

	if (run->handler->when != WHEN_EVENT && run->handler->when != WHEN_TIMER)
		limit *= 10;
	if (++run->actions <= limit)
		return true;
	run->at = node;
	stap_fail(run, "MAXACTION exceeded");
	return false;
}

static void loop(struct stap_run *run, const struct stap_node *condition, const struct stap_node *step_node,
		 const struct stap_node *body, const struct stap_node *node)
{
	while (goes_on(run) && acts(run, node)) {
		if (condition && (!value(run, condition).number || !goes_on(run)))
			break;
		stap_run_statement(run, body);
		if (!turns(run))
			break;
		if (step_node)
			value(run, step_node);
	}
}

struct sorted {
	const struct stap_entry *entry;
	size_t index;
};

static int order(const void *a, const void *b, void *context)
{
	const struct sorted *one = a, *other = b;
	const struct stap_node *node = context;
	const struct stap_variable *array = node->variable;
	int64_t x, y;
	int ret;

	if (node->sort_by ? array->keys[node->sort_by - 1] == STAP_STRING : array->type == STAP_STRING) {
		const char *s = node->sort_by ? one->entry->keys[node->sort_by - 1].text : one->entry->value.text;
		const char *t = node->sort_by ? other->entry->keys[node->sort_by - 1].text : other->entry->value.text;

		ret = strcmp(s ? s : "", t ? t : "");
	} else {
		if (node->sort_by) {
			x = one->entry->keys[node->sort_by - 1].number;
			y = other->entry->keys[node->sort_by - 1].number;
		} else if (array->type == STAP_STATS) {
			x = stat_number(node->sort_stat ? node->sort_stat : "@count", &one->entry->stat);
			y = stat_number(node->sort_stat ? node->sort_stat : "@count", &other->entry->stat);
		} else {
			x = one->entry->value.number;
			y = other->entry->value.number;
		}
		ret = x < y ? -1 : x > y;
	}
	if (node->flags & STAP_DOWN)
		ret = -ret;
	return ret ? ret : one->index < other->index ? -1 : 1;
}

static void foreach (struct stap_run *run, const struct stap_node *node)
{
	struct stap_map *map = node->variable->map;
	struct stap_value keys[STAP_KEYS_MAX], one;
	const struct stap_entry *entry;
	struct sorted *all;
	size_t count = 0, i;
	uint32_t first = 2 + !!(node->flags & STAP_WITH_VALUE), k;
	int64_t limit = node->kids[1] ? value(run, node->kids[1]).number : INT64_MAX;

	if (!goes_on(run) || !map || (node->slice && !keys_of(run, node->slice, (uint32_t)node->value, keys)))
		return;
	all = (void *)stap_room(run, (map->count + 1) * sizeof(*all));
	if (!all)
		return;
	for (entry = map->first; entry; entry = entry->behind)
		if (!node->slice || matches(node->variable, entry, node->slice, keys)) {
			all[count] = (struct sorted){entry, count};
			count++;
		}
	if (node->flags & STAP_SORTED)
		qsort_r(all, count, sizeof(*all), order, (void *)(uintptr_t)node);
	map->iterating++;
	for (i = 0; i < count && (int64_t)i < limit && goes_on(run) && acts(run, node); i++) {
		for (k = first; k < node->kid_count; k++)
			store(run, node->kids[k], all[i].entry->keys[k - first]);
		if (first == 3 && node->variable->type != STAP_STATS) {
			one = all[i].entry->value;
			one.text = one.text ? one.text : "";
			store(run, node->kids[2], one);
		}
		stap_run_statement(run, node->kids[0]);
		if (!turns(run))
			break;
	}
	map->iterating--;
}

static void delete (struct stap_run *run, const struct stap_node *kid)
{
	struct stap_variable *variable = kid->variable;
	struct stap_value keys[STAP_KEYS_MAX];
	struct stap_entry *entry, *behind;

	if (kid->kind == STAP_E_VARIABLE && !variable->is_array && !variable->key_count) {
		if (variable->stat)
			stap_stat_clear(variable->stat);
		keep(run, &variable->value, variable->type, nothing);
		return;
	}
	if (!variable->map)
		return;
	if (variable->map->iterating) {
		run->at = kid;
		stap_fail(run, "variable '%s' modified during 'foreach' iteration", variable->name);
		return;
	}
	if (kid->kind == STAP_E_VARIABLE) {
		stap_map_clear(run, variable->map);
		return;
	}
	if (!keys_of(run, kid->kids, kid->kid_count, keys))
		return;
	if (!has_stars(kid->kids, kid->kid_count)) {
		entry = stap_map_find(variable->map, keys);
		if (entry)
			stap_map_remove(run, variable->map, entry);
		return;
	}
	for (entry = variable->map->first; entry; entry = behind) {
		behind = entry->behind;
		if (matches(variable, entry, kid->kids, keys))
			stap_map_remove(run, variable->map, entry);
	}
}

static void try(struct stap_run *run, const struct stap_node *node)
{
	struct stap_value message = nothing;

	stap_run_statement(run, node->kids[0]);
	if (run->flow != FLOW_ERROR)
		return;
	run->flow = FLOW_ON;
	message.text = stap_text(run, run->error, strlen(run->error));
	if (node->kids[2] && message.text)
		store(run, node->kids[2], message);
	stap_run_statement(run, node->kids[1]);
}

void stap_run_statement(struct stap_run *run, const struct stap_node *node)
{
	uint32_t i;

	if (!goes_on(run) || (node->kind != STAP_S_BLOCK && !acts(run, node)))
		return;
	switch (node->kind) {
	case STAP_S_BLOCK:
		for (i = 0; i < node->kid_count && goes_on(run); i++)
			stap_run_statement(run, node->kids[i]);
		break;
	case STAP_S_EXPRESSION:
		value(run, node->kids[0]);
		break;
	case STAP_S_IF:
		if (value(run, node->kids[0]).number) {
			if (goes_on(run))
				stap_run_statement(run, node->kids[1]);
		} else if (goes_on(run) && node->kids[2]) {
			stap_run_statement(run, node->kids[2]);
		}
		break;
	case STAP_S_WHILE:
		loop(run, node->kids[0], NULL, node->kids[1], node);
		break;
	case STAP_S_FOR:
		if (node->kids[0])
			value(run, node->kids[0]);
		loop(run, node->kids[1], node->kids[2], node->kids[3], node);
		break;
	case STAP_S_FOREACH:
		foreach (run, node)
			;
		break;
	case STAP_S_BREAK:
		run->flow = FLOW_BREAK;
		break;
	case STAP_S_CONTINUE:
		run->flow = FLOW_CONTINUE;
		break;
	case STAP_S_NEXT:
		run->flow = FLOW_NEXT;
		break;
	case STAP_S_RETURN:
		if (node->kid_count)
			run->frame->result = value(run, node->kids[0]);
		if (goes_on(run))
			run->flow = FLOW_RETURN;
		break;
	case STAP_S_DELETE:
		delete (run, node->kids[0]);
		break;
	case STAP_S_TRY:
		try(run, node);
		break;
	default:
		break;
	}
}
