// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The seam for dialects, by a second one: a language of lines "ATTACH POINT count NAME". What it makes has to be what
 * bpftrace's language makes of the same, down to the object. This is also the shortest example of a dialect.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/compile.h"
#include "lang/dialect/dialect.h"
#include "lang/provider/provider.h"
#include "tap.h"

#define LINES_MAX 16

struct toy_line {
	struct attach_text point;
	const char *parts[4];
	const char *name;
};

struct toy {
	struct toy_line lines[LINES_MAX];
	uint32_t count;
};

static void toy_begin(struct compiler *c)
{
	c->of_dialect = arena_new(c->arena, struct toy);
	c->numbers[SETTING_MAX_MAP_KEYS] = 4096;
	c->numbers[SETTING_MAX_STRLEN] = 256;
	c->numbers[SETTING_MAX_PROBES] = c->numbers[SETTING_MAX_BPF_PROGS] = 100;
	c->numbers[SETTING_SHOW_DEBUG_INFO] = 1;
	c->texts[SETTING_MISSING_PROBES] = "error";
	c->texts[SETTING_LICENSE] = "GPL";
}

static void toy_line(struct compiler *c, char *text)
{
	struct toy *toy = c->of_dialect;
	struct toy_line *line = &toy->lines[toy->count];
	char *point = strtok(text, " "), *verb = strtok(NULL, " "), *name = strtok(NULL, " "), *part;

	*line = (struct toy_line){.point.parts = line->parts, .name = name};
	if (!point || !verb || !name || strcmp(verb, "count") != 0) {
		report_error(c->report, "toy.line", (struct span){}, "a line is ATTACH POINT count NAME");
		return;
	}
	while (line->point.part_count < 4 && (part = strsep(&point, ":")))
		line->parts[line->point.part_count++] = part;
	if (vec_push(&c->points, &line->point))
		c->arena->failed = true;
	toy->count++;
}

static void toy_parse(struct compiler *c)
{
	char *text = arena_strdup(c->arena, c->report->source, c->report->size), *line;

	while (text && (line = strsep(&text, "\n")))
		if (*line && ((struct toy *)c->of_dialect)->count < LINES_MAX)
			toy_line(c, line);
}

static struct symbol *toy_map(struct compiler *c, const char *name)
{
	struct symbol *map;
	size_t i;

	for (i = 0; i < c->maps.count; i++)
		if (!strcmp(c->maps.at[i]->name, name))
			return c->maps.at[i];
	map = arena_new(c->arena, struct symbol);
	if (!map || vec_push(&c->maps, map))
		return NULL;
	*map = (struct symbol){.name = name,
			       .is_map = true,
			       .used_bare = true,
			       .value = type_aggregate(c->arena, TYPE_COUNT, false),
			       .storage = STORAGE_PERCPU_HASH,
			       .index = (uint32_t)c->maps.count - 1};
	map->bpf_name = arena_printf(c->arena, "map%u_%.8s", map->index, name);
	return map;
}

static struct node *toy_tree(struct compiler *c, const char *name)
{
	struct node *block = node_create(c->arena, NODE_BLOCK, (struct span){}, 1);
	struct node *aggregate = node_create(c->arena, NODE_AGGREGATE, (struct span){}, 2);
	struct node *map = node_create(c->arena, NODE_MAP, (struct span){}, 0);
	struct node *call = node_create(c->arena, NODE_CALL, (struct span){}, 0);

	map->symbol = toy_map(c, name);
	map->type = map->symbol->value;
	call->builtin = CORE_COUNT;
	call->type = map->symbol->value;
	aggregate->kids[0] = map;
	aggregate->kids[1] = call;
	block->kids[0] = aggregate;
	return block;
}

static void toy_check(struct compiler *c)
{
	const struct toy *toy = c->of_dialect;
	uint32_t i;
	size_t j;

	for (i = 0; i < toy->count; i++) {
		const struct action action = {.probe = i};

		provider_expand(c, &action, &toy->lines[i].point);
	}
	if (c->report->errors || !provider_expanded(c))
		return;
	for (j = 0; j < c->units.count; j++)
		c->units.at[j].body = toy_tree(c, toy->lines[c->units.at[j].probe].name);
}

static void toy_end(struct compiler *c)
{
	(void)c;
}

static const struct dialect dialect_toy = {
	.name = "toy", .begin = toy_begin, .parse = toy_parse, .check = toy_check, .end = toy_end};

struct made {
	char *instructions;
	size_t size;
	int err;
	struct compilation compilation;
};

static struct made make(const struct dialect *dialect, const char *source)
{
	const struct compile_options options = {.dialect = dialect};
	struct compile_dump dump = {.instructions = true};
	struct diag diag = {};
	struct made ret = {};

	dump.out = open_memstream(&ret.instructions, &ret.size);
	ret.err = lang_compile("test", source, strlen(source), &options, &dump, &ret.compilation, &diag);
	fclose(dump.out);
	return ret;
}

static void release(struct made *made)
{
	compilation_deinit(&made->compilation);
	free(made->instructions);
}

int main(void)
{
	static const char *const toys[] = {"begin count hits\n",
					   "begin count hits\ninterval:s:1 count ticks\nend count hits\n",
					   "software:cpu-clock:1000 count hits\n"};
	static const char *const scripts[] = {"begin { @hits = count(); }",
					      "begin { @hits = count(); } interval:s:1 { @ticks = count(); } "
					      "end { @hits = count(); }",
					      "software:cpu-clock:1000 { @hits = count(); }"};
	struct made a, b;
	size_t i;

	for (i = 0; i < sizeof(toys) / sizeof(toys[0]); i++) {
		a = make(&dialect_toy, toys[i]);
		b = make(NULL, scripts[i]);
		ok(!a.err && !b.err && a.size && !strcmp(a.instructions, b.instructions), "the same instructions: %s",
		   scripts[i]);
		ok(a.compilation.object_size && a.compilation.object_size == b.compilation.object_size,
		   "an object of the same size");
		release(&a);
		release(&b);
	}
	a = make(&dialect_toy, "begin counts hits\n");
	ok(a.err == -EINVAL && a.compilation.report.complaints.count == 1 &&
		   !strcmp(a.compilation.report.complaints.at[0].tag, "toy.line"),
	   "its own complaints");
	release(&a);
	a = make(&dialect_toy, "nowhere:s:1 count hits\n");
	ok(a.err == -EINVAL && a.compilation.report.complaints.count == 1 &&
		   !strcmp(a.compilation.report.complaints.at[0].tag, "probe.unknown"),
	   "and those of providers");
	release(&a);
	return tap_done();
}
