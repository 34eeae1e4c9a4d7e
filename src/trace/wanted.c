// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/wanted.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "lang/rt/python.h"
#include "profile/near_names.h"
#include "profile/text.h"

int wanted_configure(struct bpf_object *object, const struct compiler *c, struct diag *diag)
{
	static const char *const names[] = {"rt_python_met", "rt_python_names", "rt_python_recent"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);
		int err = map && !c->wanted.count ? bpf_map__set_autocreate(map, false) : 0;

		if (err)
			return diag_fail(diag, -err, "trace.wanted", "a map cannot be left out: %s", strerror(-err));
	}
	return 0;
}

/* The names that came. */
static void offer_all(int fd, const struct wanted_name *wanted, struct near_names *near)
{
	uint64_t key, next, turns = 0, kind = strcmp(wanted->field, "file") != 0 ? 0 : RT_PYTHON_FILE;
	char name[RT_PYTHON_TEXT];
	const uint64_t *at = NULL;

	/* Programs have ended, but a key that is gone would begin anew. */
	while (turns++ < 2 * RT_PYTHON_NAMES && !bpf_map_get_next_key(fd, at, &next)) {
		key = next;
		at = &key;
		if ((key & RT_PYTHON_FILE) != kind || bpf_map_lookup_elem(fd, &key, name))
			continue;
		name[sizeof(name) - 1] = '\0';
		near_names_offer(near, name);
	}
}

static void tell(int names, const struct wanted_name *wanted, FILE *out)
{
	bool is_file = !strcmp(wanted->field, "file");
	struct near_names near = {.wanted = wanted->text, .separator = is_file ? '/' : '.'};

	offer_all(names, wanted, &near);
	fputs("strata: ", out);
	if (wanted->is_conditional || !wanted->is_of_calls)
		fprintf(out, "args.%s was never '", wanted->field);
	else
		fputs(is_file ? "no function of the file '" : "no function '", out);
	text_print(out, wanted->text, strlen(wanted->text));
	if (wanted->is_conditional)
		fputs("' where the predicate came to compare it", out);
	else
		fputs(wanted->is_of_calls ? "' was called" : "'", out);
	near_names_write(&near, out);
	fputc('\n', out);
}

void wanted_tell(const struct bpf_object *object, const struct compiler *c, FILE *out)
{
	int met = bpf_object__find_map_fd_by_name(object, "rt_python_met");
	int names = bpf_object__find_map_fd_by_name(object, "rt_python_names");
	uint32_t i;

	for (i = 0; met >= 0 && names >= 0 && i < c->wanted.count; i++) {
		uint64_t value = 0;

		if (!bpf_map_lookup_elem(met, &i, &value) && !value)
			tell(names, &c->wanted.at[i], out);
	}
}
