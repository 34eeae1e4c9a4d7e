// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_interpreter FILE: what src/runtime/python finds in an ELF file, as "name value" lines, for layouts.t and
 * recognise.t. Status 0; 1 when the file is no interpreter, 2 on an error, which is told on stderr.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/python/interpreter.h"

#define SHOW(field)        printf(#field " %u\n", (unsigned int)layout->field)
#define SHOW_OBJECT(field) printf(#field " %u\n", (unsigned int)objects->field)

static void show_layout(const struct py_layout *layout)
{
	SHOW(lasti);
	SHOW(entry);
	SHOW(shim_owner);
	SHOW(code_tag_mask);
	SHOW(interp_next);
	SHOW(interp_threads);
	SHOW(tstate_next);
	SHOW(tstate_interp);
	SHOW(tstate_thread_id);
	SHOW(tstate_frame);
	SHOW(cframe_current);
	SHOW(tstate_stack_top);
	SHOW(tstate_tracing);
	SHOW(tstate_cframe);
	SHOW(tstate_base_frame);
	SHOW(frame_code);
	SHOW(frame_back);
	SHOW(frame_lasti);
	SHOW(frame_stack);
	SHOW(frame_entry);
	SHOW(frame_tlbc_index);
	SHOW(code_size);
	SHOW(code_filename);
	SHOW(code_name);
	SHOW(code_qualname);
	SHOW(code_linetable);
	SHOW(code_firstlineno);
	SHOW(code_bytecode);
	SHOW(code_version);
	SHOW(code_tlbc);
	SHOW(code_stable);
	SHOW(unicode_length);
	SHOW(unicode_state);
	SHOW(unicode_kind_shift);
	SHOW(unicode_compact_shift);
	SHOW(unicode_ascii_data);
	SHOW(unicode_compact_data);
	SHOW(bytes_size);
	SHOW(bytes_data);
	SHOW(type_name);
	SHOW(ob_type);
}

static void show_objects(const struct py_objects *objects)
{
	SHOW_OBJECT(frame_locals);
	SHOW_OBJECT(frame_names);
	SHOW_OBJECT(frame_globals);
	SHOW_OBJECT(frame_top);
	SHOW_OBJECT(gen_frame);
	SHOW_OBJECT(gen_state);
	SHOW_OBJECT(gen_qualname);
	SHOW_OBJECT(interp_modules);
	SHOW_OBJECT(code_flags);
	SHOW_OBJECT(code_nlocals);
	SHOW_OBJECT(code_names);
	SHOW_OBJECT(code_kinds);
	SHOW_OBJECT(code_cells);
	SHOW_OBJECT(code_free);
	SHOW_OBJECT(tuple_items);
	SHOW_OBJECT(list_items);
	SHOW_OBJECT(float_value);
	SHOW_OBJECT(long_digits);
	SHOW_OBJECT(dict_keys);
	SHOW_OBJECT(dict_values);
	SHOW_OBJECT(values_start);
	SHOW_OBJECT(keys_entries);
	SHOW_OBJECT(keys_indices);
	SHOW_OBJECT(set_used);
	SHOW_OBJECT(set_mask);
	SHOW_OBJECT(set_table);
	SHOW_OBJECT(cell_value);
	SHOW_OBJECT(type_flags);
	SHOW_OBJECT(type_dict);
	SHOW_OBJECT(type_qualname);
	SHOW_OBJECT(unicode_data);
}

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void show(const struct python_interpreter *interpreter)
{
	printf("version %d.%d.%d%s\n", interpreter->version >> 8, interpreter->version & 0xff, interpreter->micro,
	       interpreter->version_exact ? "" : "?");
	printf("version_source %s\n", interpreter->version_source);
	printf("layout_source %s\n", interpreter->layout_source);
	printf("free_threaded %d\ndebug_build %d\n", interpreter->free_threaded, interpreter->debug_build);
	printf("interp_head %#lx\n", (unsigned long)interpreter->interp_head);
	printf("current_tstate %#lx\n", (unsigned long)interpreter->current_tstate);
	show_layout(&interpreter->layout);
	show_objects(&interpreter->objects);
}

static int show_ranges(const struct elf_file *elf, const struct python_interpreter *interpreter, struct diag *diag)
{
	struct python_range *ranges;
	double start = microseconds();
	size_t count, i;
	int err = python_eval_ranges(elf, interpreter, &ranges, &count, diag);

	if (err)
		return err;
	printf("ranges_us %.0f\n", microseconds() - start);
	for (i = 0; i < count; i++)
		printf("range %#lx %#lx %s %s\n", (unsigned long)ranges[i].start, (unsigned long)ranges[i].end,
		       ranges[i].cold ? "cold" : "hot", ranges[i].evidence);
	free(ranges);
	return 0;
}

int main(int argc, char **argv)
{
	struct python_interpreter interpreter;
	struct diag diag = {};
	struct elf_file *elf;
	double start;
	int fd, found;

	fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: show_interpreter FILE\n");
		return 2;
	}
	if (elf_file_open(fd, argv[1], &elf, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 2;
	}
	start = microseconds();
	found = python_interpreter_recognise(elf, &interpreter, &diag);
	printf("recognise_us %.0f\n", microseconds() - start);
	if (found == 1) {
		show(&interpreter);
		found = show_ranges(elf, &interpreter, &diag) ? -1 : 1;
	}
	if (found < 0)
		fprintf(stderr, "%s\n", diag.text);
	elf_file_close(elf);
	close(fd);
	return found < 0 ? 2 : !found;
}
