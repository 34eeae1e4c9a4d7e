// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BTF as in uapi/linux/btf.h and Documentation/bpf/btf.rst: types follow each other, are numbered from 1 and name
 * strings by offsets. Names are interned, so a type is looked for by its name's offset, in one pass.
 */
#include "kernel/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define TYPE_NAMES_MAX 8 /* typedefs and qualifiers of an integer */

static int map_file(struct kernel_btf *k)
{
	int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC), err = -EINVAL;
	struct stat stat;
	size_t at = 0;
	ssize_t got = 1;
	void *bytes;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) || stat.st_size <= 0 || stat.st_size > 1 << 28)
		goto out;
	k->size = (size_t)stat.st_size;
	bytes = mmap(NULL, k->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0); /* Linux 6.16 */
	if (bytes == MAP_FAILED) {
		bytes = mmap(NULL, k->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		err = -ENOMEM;
		if (bytes == MAP_FAILED)
			goto out;
		while (at < k->size && (got = read(fd, (uint8_t *)bytes + at, k->size - at)) > 0)
			at += (size_t)got;
	}
	k->bytes = bytes;
	err = got > 0 ? 0 : -EIO;
out:
	close(fd);
	return err;
}

static int find_sections(struct kernel_btf *k)
{
	const struct btf_header *header = (const void *)k->bytes;
	uint64_t types, strings;

	if (k->size < sizeof(*header) || header->magic != BTF_MAGIC)
		return -EINVAL;
	types = (uint64_t)header->hdr_len + header->type_off;
	strings = (uint64_t)header->hdr_len + header->str_off;
	if ((types & 3) || types + header->type_len > k->size || !header->str_len ||
	    strings + header->str_len > k->size || k->bytes[strings + header->str_len - 1])
		return -EINVAL;
	k->types = k->bytes + types;
	k->types_end = k->types + header->type_len;
	k->strings = (const char *)k->bytes + strings;
	k->strings_size = header->str_len;
	return 0;
}

/* The offset of a string; 0 when there is none. */
static uint32_t find_string(const struct kernel_btf *k, const char *text)
{
	size_t length = strlen(text) + 1;
	const char *at = k->strings, *end = k->strings + k->strings_size;

	while ((at = memmem(at, (size_t)(end - at), text, length))) {
		if (at > k->strings && !at[-1])
			return (uint32_t)(at - k->strings);
		at++;
	}
	return 0;
}

/* Bytes of a type, with what follows its head; 0: a kind that is not known. */
static size_t type_size(const struct btf_type *type)
{
	static const struct {
		uint8_t fixed, each;
	} sizes[] = {
		[BTF_KIND_INT] = {4, 0},
		[BTF_KIND_PTR] = {0, 0},
		[BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0},
		[BTF_KIND_STRUCT] = {0, sizeof(struct btf_member)},
		[BTF_KIND_UNION] = {0, sizeof(struct btf_member)},
		[BTF_KIND_ENUM] = {0, sizeof(struct btf_enum)},
		[BTF_KIND_FUNC_PROTO] = {0, sizeof(struct btf_param)},
		[BTF_KIND_VAR] = {4, 0},
		[BTF_KIND_DATASEC] = {0, sizeof(struct btf_var_secinfo)},
		[BTF_KIND_DECL_TAG] = {4, 0},
		[BTF_KIND_ENUM64] = {0, 12},
	};
	uint32_t kind = BTF_INFO_KIND(type->info);

	if (!kind || kind >= sizeof(sizes) / sizeof(sizes[0]))
		return 0;
	return sizeof(*type) + sizes[kind].fixed + BTF_INFO_VLEN(type->info) * (size_t)sizes[kind].each;
}

/* The type behind one, the first one for NULL; NULL at the end. */
static const struct btf_type *next_type(const struct kernel_btf *k, const struct btf_type *type)
{
	const uint8_t *at = type ? (const uint8_t *)type + type_size(type) : k->types;
	size_t left = (size_t)(k->types_end - at), size;

	if (left < sizeof(*type))
		return NULL;
	size = type_size((const void *)at);
	return size && size <= left ? (const void *)at : NULL;
}

/* The type with this number; NULL for 0, which is void. */
static const struct btf_type *type_of_number(const struct kernel_btf *k, uint32_t number)
{
	const struct btf_type *type = number ? next_type(k, NULL) : NULL;

	while (type && --number)
		type = next_type(k, type);
	return type;
}

/* The type with this number, if it is a struct or a union. */
static const struct btf_type *nested_record(const struct kernel_btf *k, uint32_t number)
{
	const struct btf_type *type = type_of_number(k, number);
	uint32_t kind = type ? BTF_INFO_KIND(type->info) : BTF_KIND_UNKN;

	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION ? type : NULL;
}

uint32_t kernel_btf_function(const struct kernel_btf *k, const char *name)
{
	uint32_t wanted = find_string(k, name), number = 0;
	const struct btf_type *type = NULL;

	while (wanted && (type = next_type(k, type))) {
		number++;
		if (type->name_off == wanted && BTF_INFO_KIND(type->info) == BTF_KIND_FUNC)
			return number;
	}
	return 0;
}

const struct btf_type *kernel_btf_record(const struct kernel_btf *k, const char *name)
{
	uint32_t wanted = find_string(k, name);
	const struct btf_type *type = NULL, *named;

	while (wanted && (type = next_type(k, type))) {
		if (type->name_off != wanted)
			continue;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT)
			return type;
		named = BTF_INFO_KIND(type->info) == BTF_KIND_TYPEDEF ? nested_record(k, type->type) : NULL;
		if (named && BTF_INFO_KIND(named->info) == BTF_KIND_STRUCT && !named->name_off)
			return named;
	}
	return NULL;
}

int64_t kernel_btf_member(const struct kernel_btf *k, const struct btf_type *record, const char *name)
{
	const struct btf_member *member = (const void *)(record + 1);
	uint32_t i;

	for (i = 0; record && i < BTF_INFO_VLEN(record->info); i++, member++) {
		bool bits = BTF_INFO_KFLAG(record->info);
		int64_t at = bits ? BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset, inner;

		if (bits && BTF_MEMBER_BITFIELD_SIZE(member->offset))
			continue;
		if (!member->name_off) {
			inner = kernel_btf_member(k, nested_record(k, member->type), name);
			if (inner >= 0)
				return at + inner;
		} else if (member->name_off < k->strings_size && !strcmp(k->strings + member->name_off, name)) {
			return at;
		}
	}
	return -1;
}

uint32_t kernel_btf_integer(const struct kernel_btf *k, const struct btf_type *record, const char *name)
{
	const struct btf_member *member = (const void *)(record + 1);
	const struct btf_type *type = NULL;
	uint32_t i, names = 0;

	for (i = 0; record && i < BTF_INFO_VLEN(record->info); i++, member++)
		if (member->name_off < k->strings_size && !strcmp(k->strings + member->name_off, name))
			type = type_of_number(k, member->type);
	while (type && names++ < TYPE_NAMES_MAX &&
	       (BTF_INFO_KIND(type->info) == BTF_KIND_TYPEDEF || BTF_INFO_KIND(type->info) == BTF_KIND_CONST ||
		BTF_INFO_KIND(type->info) == BTF_KIND_VOLATILE))
		type = type_of_number(k, type->type);
	return type && BTF_INFO_KIND(type->info) == BTF_KIND_INT ? type->size : 0;
}

int kernel_btf_open(struct kernel_btf *ret)
{
	int err;

	*ret = (struct kernel_btf){};
	err = map_file(ret);
	if (!err)
		err = find_sections(ret);
	if (err)
		kernel_btf_close(ret);
	return err;
}

void kernel_btf_close(struct kernel_btf *k)
{
	if (k->bytes)
		munmap((void *)k->bytes, k->size);
	*k = (struct kernel_btf){};
}
