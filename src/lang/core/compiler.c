// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the compiler's state is asked for in many places. */
#include "lang/core/compiler.h"

#include "base/foreign.h"

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

uint32_t symbol_short_size(const struct symbol *map)
{
	const struct type *key = map->key, *last = key;
	uint32_t offset = 0;

	while (last && last->kind == TYPE_TUPLE && last->field_count) {
		offset += last->fields[last->field_count - 1].offset;
		last = last->fields[last->field_count - 1].type;
	}
	/* Behind the string there is nothing, but for what fills it up. */
	if (!last || last->kind != TYPE_STRING || last->size <= SYMBOL_SHORT || key->size - offset - last->size >= 8)
		return 0;
	return offset + SYMBOL_SHORT;
}

bool symbol_is_short(const struct symbol *map, const uint8_t *key)
{
	return map->short_name && !key[symbol_short_size(map) - 1];
}

uint32_t symbol_value_size(const struct symbol *map)
{
	return symbol_is_array(map) ? ((map->value->size + 7) & ~7u) + 8 : map->value->size;
}

struct foreign_files *compiler_files(struct compiler *compiler)
{
	if (!compiler->files && foreign_files_create(0, &compiler->files, NULL))
		return NULL;
	return compiler->files;
}

static void print_map(struct arena *arena, const struct symbol *map, FILE *out)
{
	static const char *const storages[] = {
		[STORAGE_HASH] = "hash",
		[STORAGE_LRU_HASH] = "lruhash",
		[STORAGE_PERCPU_HASH] = "percpuhash",
		[STORAGE_LRU_PERCPU_HASH] = "percpulruhash",
	};

	fprintf(out, "map %u%s%s %s", map->index, *map->name ? " " : "", map->name, storages[map->storage]);
	if (map->key)
		fprintf(out, " [%s]", type_describe(arena, map->key));
	fprintf(out, " :: %s\n", map->value ? type_describe(arena, map->value) : "none");
}

static void print_site(struct arena *arena, const struct site *site, uint32_t index, FILE *out)
{
	static const char *const kinds[] = {
		[SITE_PRINTF] = "printf",   [SITE_ERRORF] = "errorf",
		[SITE_PRINT] = "print",     [SITE_CLEAR] = "clear",
		[SITE_ZERO] = "zero",       [SITE_PRINT_MAP] = "print map",
		[SITE_TIME] = "time",       [SITE_CAT] = "cat",
		[SITE_SYSTEM] = "system",   [SITE_JOIN] = "join",
		[SITE_UNWATCH] = "unwatch", [SITE_PACKET] = "packet",
		[SITE_WARNING] = "warning", [SITE_OF_DIALECT] = "of dialect",
	};
	const char *at;

	fprintf(out, "site %u %s", index, kinds[site->kind]);
	if (site->map)
		fprintf(out, " %s", site->map->name);
	if (site->format) {
		fputs(" \"", out);
		for (at = site->format; *at; at++)
			*at == '\n' ? (void)fputs("\\n", out) : (void)fputc(*at, out);
		fputc('"', out);
	}
	if (site->arguments)
		fprintf(out, " :: %s", type_describe(arena, site->arguments));
	fputc('\n', out);
}

void compiler_print(const struct compiler *c, FILE *out)
{
	size_t i;

	for (i = 0; i < c->maps.count; i++)
		print_map(c->arena, c->maps.at[i], out);
	for (i = 0; i < c->sites.count; i++)
		print_site(c->arena, &c->sites.at[i], (uint32_t)i, out);
	for (i = 0; i < c->units.count; i++) {
		const struct unit *unit = &c->units.at[i];

		fprintf(out, "program %s", c->attaches.at[unit->first_attach].name);
		if (unit->attach_count > 1)
			fprintf(out, " and %u more", unit->attach_count - 1);
		fputc('\n', out);
		if (unit->predicate)
			node_print(out, unit->predicate, 1);
		node_print(out, unit->body, 1);
	}
}
