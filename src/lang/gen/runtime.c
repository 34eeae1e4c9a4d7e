// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/gen/runtime.h"

#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "kernel/features.h"

/* The runtime's functions: p a pointer, s one that may point to the BPF stack, u a number; the first letter is the
 * result's. */
static const struct runtime_function {
	const char *name, *signature;
} runtime_functions[] = {
	{"rt_count", "uu"},
	{"rt_ended", "u"},
	{"rt_enter", "pp"},
	{"rt_send", "upu"},
	{"rt_exit", "upu"},
	{"rt_warn", "uu"},
	{"rt_elapsed", "u"},
	{"rt_read", "upuu"},
	{"rt_str", "upuuu"},
	{"rt_text", "usuuu"},
	{"rt_concat", "upupup"},
	{"rt_buf", "upuuu"},
	{"rt_trim", "upu"},
	{"rt_equal", "uppu"},
	{"rt_memcmp", "uppu"},
	{"rt_strlen", "upu"},
	{"rt_strncmp", "upupuu"},
	{"rt_strstr", "upupu"},
	{"rt_bucket", "uuu"},
	{"rt_linear", "uuuuu"},
	{"rt_bucket_signed", "uu"},
	{"rt_bucket_steps", "uuuu"},
	{"rt_deviation", "upu"},
	{"rt_string_basename", "uppup"},
	{"rt_string_dirname", "uppup"},
	{"rt_string_words", "upuuu"},
	{"rt_string_substr", "uppuuu"},
	{"rt_string_index", "upupuu"},
	{"rt_string_rindex", "upupuu"},
	{"rt_string_chr", "upupu"},
	{"rt_string_number", "upuuu"},
	{"rt_string_token", "uppupp"},
	{"rt_string_clean", "uppup"},
	{"rt_string_path", "uppu"},
	{"rt_string_address", "upupu"},
	{"rt_string_progeny", "uuuuu"},
	{"rt_time_on_cpu", "uu"},
	{"rt_series", "upuuuu"},
	{"rt_reduce", "uppuuu"},
	{"rt_join", "uppu"},
	{"rt_send_packed", "upuu"},
	{"rt_pack", "upuupu"},
	{"rt_pack_text", "upuupu"},
	{"rt_pack_buffer", "upuupu"},
	{"rt_packet", "uppuuu"},
	{"rt_follows", "u"},
	{"rt_stack_registers", "uppuu"},
	{"rt_stack_task", "uppuu"},
	{"rt_stack_words", "uppuuu"},
	{"rt_stack_kernel", "uppuu"},
	{"rt_python_begin", "upp"},
	{"rt_python_next", "upp"},
	{"rt_python_next_312", "upp"},
	{"rt_python_next_old", "upp"},
	{"rt_python_text", "uppu"},
	{"rt_python_compare", "uppuu"},
	{"rt_python_text_hash", "upu"},
	{"rt_python_kind", "up"},
	{"rt_python_first_line", "up"},
	{"rt_python_line", "up"},
	{"rt_python_call", "upp"},
	{"rt_python_call_decide", "upp"},
	{"rt_python_call_wanted", "upp"},
	{"rt_python_call_line", "upp"},
	{"rt_python_import", "upp"},
	{"rt_python_variable", "upp"},
	{"rt_python_self_class", "upp"},
	{"rt_python_address", "upu"},
	{"rt_python_wanted", "uppuuu"},
};

const char *runtime_signature(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(runtime_functions) / sizeof(runtime_functions[0]); i++)
		if (!strcmp(runtime_functions[i].name, name))
			return runtime_functions[i].signature;
	return "u";
}

bool runtime_allows_stack(const char *name)
{
	return !strchr(runtime_signature(name), 'p');
}

bool runtime_is_of_strings(const char *name)
{
	return !strncmp(name, "rt_string_", 10);
}

bool runtime_is_of_time(const char *name)
{
	return !strncmp(name, "rt_time_", 8);
}

static const uint8_t runtime_base[] __attribute__((aligned(8))) = {
#include "rt_base.inc"
};
static const uint8_t runtime_stack[] __attribute__((aligned(8))) = {
#include "rt_stack.inc"
};
static const uint8_t runtime_stack_bounded[] __attribute__((aligned(8))) = {
#include "rt_stack_bounded.inc"
};

static const uint8_t runtime_packet[] __attribute__((aligned(8))) = {
#include "rt_packet.inc"
};
static const uint8_t runtime_python[] __attribute__((aligned(8))) = {
#include "rt_python.inc"
};
static const uint8_t runtime_lines[] __attribute__((aligned(8))) = {
#include "rt_lines.inc"
};
static const uint8_t runtime_lines_312[] __attribute__((aligned(8))) = {
#include "rt_lines_312.inc"
};
static const uint8_t runtime_lines_old[] __attribute__((aligned(8))) = {
#include "rt_lines_old.inc"
};
static const uint8_t runtime_calls[] __attribute__((aligned(8))) = {
#include "rt_calls.inc"
};
static const uint8_t runtime_command[] __attribute__((aligned(8))) = {
#include "rt_command.inc"
};

static const uint8_t runtime_time[] __attribute__((aligned(8))) = {
#include "rt_time.inc"
};

static const uint8_t runtime_string[] __attribute__((aligned(8))) = {
#include "rt_string.inc"
};

/* Where a section of an object that was built with strata begins; 0 if it has none of this name. */
static size_t section_offset(const uint8_t *object, const char *name)
{
	const Elf64_Ehdr *header = (const void *)object;
	const Elf64_Shdr *sections = (const void *)(object + header->e_shoff);
	const char *names = (const char *)object + sections[header->e_shstrndx].sh_offset;
	unsigned int i;

	for (i = 1; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return sections[i].sh_offset;
	return 0;
}

/* The header of .BTF.ext: struct btf_ext_header of libbpf's btf.c, as Documentation/bpf/btf.rst has it. */
struct btf_ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size, func_info_offset, func_info_size, line_info_offset, line_info_size;
};

/* Half of the types' section is lines of source, which take 2 ms to be linked and loaded. */
static bool drop_source_lines(int fd, const uint8_t *object)
{
	const uint32_t none = 0;
	size_t at = section_offset(object, ".BTF.ext");

	return !at || pwrite(fd, &none, sizeof(none), (off_t)(at + offsetof(struct btf_ext_header, line_info_size))) ==
			      sizeof(none);
}

static int add_to(struct bpf_linker *linker, const void *bytes, size_t size, bool source_lines)
{
	char path[64];
	int fd = limits_memory_file("strata", bytes, size), err;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (source_lines || drop_source_lines(fd, bytes))
		err = bpf_linker__add_file(linker, path, NULL);
	else
		err = -errno;
	close(fd);
	return err;
}

static int read_all(int fd, void **ret, size_t *size)
{
	struct stat stat;
	void *bytes;

	if (fstat(fd, &stat) || stat.st_size <= 0)
		return -EIO;
	bytes = malloc((size_t)stat.st_size);
	if (!bytes)
		return -ENOMEM;
	if (pread(fd, bytes, (size_t)stat.st_size, 0) != stat.st_size) {
		free(bytes);
		return -EIO;
	}
	*ret = bytes;
	*size = (size_t)stat.st_size;
	return 0;
}

int runtime_link(const void *object, size_t object_size, const struct runtime_parts *parts, void **ret, size_t *size)
{
	struct bpf_linker *linker;
	char path[64];
	int fd = limits_memory_file("strata", NULL, 0), err = 0;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	linker = bpf_linker__new(path, NULL);
	if (!linker) {
		err = -errno;
		close(fd);
		return err;
	}
	if (parts->stacks && feature_probe(FEATURE_BPF_LOOP))
		err = add_to(linker, runtime_stack, sizeof(runtime_stack), parts->source_lines);
	else if (parts->stacks)
		err = add_to(linker, runtime_stack_bounded, sizeof(runtime_stack_bounded), parts->source_lines);
	if (!err && parts->packets)
		err = add_to(linker, runtime_packet, sizeof(runtime_packet), parts->source_lines);
	if (!err && parts->strings)
		err = add_to(linker, runtime_string, sizeof(runtime_string), parts->source_lines);
	if (!err && parts->time)
		err = add_to(linker, runtime_time, sizeof(runtime_time), parts->source_lines);
	if (!err && parts->python)
		err = add_to(linker, runtime_python, sizeof(runtime_python), parts->source_lines);
	if (!err && parts->lines)
		err = add_to(linker, runtime_lines, sizeof(runtime_lines), parts->source_lines);
	if (!err && parts->lines_312)
		err = add_to(linker, runtime_lines_312, sizeof(runtime_lines_312), parts->source_lines);
	if (!err && parts->lines_old)
		err = add_to(linker, runtime_lines_old, sizeof(runtime_lines_old), parts->source_lines);
	if (!err && parts->calls)
		err = add_to(linker, runtime_calls, sizeof(runtime_calls), parts->source_lines);
	if (!err && parts->command)
		err = add_to(linker, runtime_command, sizeof(runtime_command), parts->source_lines);
	if (!err)
		err = add_to(linker, runtime_base, sizeof(runtime_base), parts->source_lines);
	if (!err)
		err = add_to(linker, object, object_size, true);
	if (!err)
		err = bpf_linker__finalize(linker);
	bpf_linker__free(linker);
	if (!err)
		err = read_all(fd, ret, size);
	close(fd);
	return err;
}
