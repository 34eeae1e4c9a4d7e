// SPDX-License-Identifier: GPL-2.0-or-later
/* show_probes FILE...: the places of Python's function-entry and function-return in each file, or why there are none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/python/event_sites.h"
#include "runtime/python/probe_sites.h"

static void show_place(const char *what, const struct python_place *place)
{
	if (place->kind != PYTHON_NOWHERE || place->add)
		printf(" %s=%s%d%+d%s", what, place->kind == PYTHON_ON_STACK ? "[" : "", place->reg, place->add,
		       place->kind == PYTHON_ON_STACK  ? "]"
		       : place->kind == PYTHON_NOWHERE ? "(frame)"
						       : "");
}

static void show_events(const struct elf_file *elf, const struct python_interpreter *interpreter)
{
	static const enum python_event shown[] = {PYTHON_GC_START, PYTHON_GC_DONE, PYTHON_AUDIT};
	struct diag diag = {};
	size_t i, j;

	for (i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		python_event_sites sites = {};

		if (python_event_code(elf, interpreter, shown[i], &sites, &diag))
			printf("  %-7s refused: %s\n", python_event_name(shown[i]), diag.text);
		for (j = 0; j < sites.count; j++) {
			printf("  %-7s 0x%llx", python_event_name(shown[i]), (unsigned long long)sites.at[j].vaddr);
			show_place("value", &sites.at[j].value);
			printf("\n");
		}
		vec_free(&sites);
	}
}

static void show(const char *path)
{
	struct python_interpreter interpreter;
	struct python_range *ranges = NULL;
	struct python_sites sites;
	struct diag diag = {};
	struct elf_file *elf;
	size_t count, i, j;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_file_open(fd, path, &elf, &diag)) {
		printf("%s: no ELF file\n", path);
		return;
	}
	close(fd);
	if (python_interpreter_recognise(elf, &interpreter, &diag) != 1 ||
	    python_eval_ranges(elf, &interpreter, &ranges, &count, &diag) ||
	    python_sites_find(elf, &interpreter, ranges, count, &sites, &diag)) {
		printf("%s: refused: %s\n", path, diag.text);
	} else {
		printf("%s: 3.%d: table 0x%llx, %u handlers agree\n", path, interpreter.version & 0xff,
		       (unsigned long long)sites.table, sites.handlers);
		for (i = 0; i < sites.at.count; i++) {
			const struct python_site *site = &sites.at.at[i];

			printf("  %-7s 0x%llx from 0x%llx %-13s", python_site_name(site),
			       (unsigned long long)site->vaddr, (unsigned long long)site->handler,
			       site->emulated ? "emulated" : "single-stepped");
			show_place("frame", &site->frame);
			show_place("insn", &site->instruction);
			show_place("tstate", &site->tstate);
			show_place("flag", &site->flag);
			for (j = 0; j < site->opcode_count; j++)
				printf(" %u", site->opcodes[j]);
			if (site->again)
				printf(" again if %d:%d != code+%d", (int16_t)site->interp_offset, site->version_offset,
				       site->code_offset);
			if (site->kind == PYTHON_SITE_UNWIND)
				printf(" recursion +%d%s", site->recursion_offset, site->after ? " after" : "");
			printf("\n");
		}
		for (i = 0; i < sites.raises.count; i++)
			printf("  raise   0x%llx %s\n", (unsigned long long)sites.raises.at[i].vaddr,
			       sites.raises.at[i].emulated ? "emulated" : "single-stepped");
		python_sites_deinit(&sites);
		show_events(elf, &interpreter);
	}
	free(ranges);
	elf_file_close(elf);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		show(argv[i]);
	return 0;
}
