// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lines of /proc/kallsyms (kernel/kallsyms.c, s_show()) are "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]".
 * The kernel's own symbols come sorted by address, then each module's in the order of its symbol table: only that
 * tail is sorted here, and merged.
 */
#include "symbol/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/vec.h"

#define READ_SIZE (64 * 1024)
/* KSYM_NAME_LEN is 512 (include/linux/kallsyms.h); module names add 56 or so. Longer lines are not kallsyms'. */
#define LINE_MAX_SIZE 4096

struct symbol {
	uint64_t address;
	uint32_t name; /* offset into names */
	uint32_t rank; /* of several at one address the lowest is kept */
};

struct kernel_symbols {
	VEC(struct symbol) symbols;
	VEC(char) names; /* NUL-terminated, one behind the other */
	uint64_t text_lines;
	bool any_address;
	uint64_t own_start, own_end;             /* of the kernel's own text; 0: not known */
	uint64_t scheduler_start, scheduler_end; /* the same, of .sched.text */
};

static bool is_name(const char *name, size_t size, const char *wanted)
{
	return size == strlen(wanted) && !memcmp(name, wanted, size);
}

/* The lines that end a range of text rather than start a function: include/asm-generic/sections.h. */
static bool is_end_marker(const char *name, size_t size)
{
	return is_name(name, size, "_etext") || is_name(name, size, "_einittext");
}

static uint32_t rank_of(char type, const char *name, size_t size)
{
	uint32_t rank = type == 'T' ? 0 : type == 'W' || type == 'w' ? 1 : 2;
	uint32_t underscores = 0;

	while (underscores < size && name[underscores] == '_')
		underscores++;
	return rank << 24 | (underscores < 255 ? underscores : 255) << 16 | (uint32_t)(size < 65535 ? size : 65535);
}

static int hex_digit(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool read_address(struct cursor *line, uint64_t *ret)
{
	uint64_t value = 0;
	int digits, digit;
	uint8_t byte;

	for (digits = 0;; digits++) {
		byte = cursor_u8(line);
		digit = hex_digit(byte);
		if (digit < 0)
			break;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return byte == ' ' && digits >= 1 && digits <= 16;
}

static int add_line(struct kernel_symbols *self, const char *bytes, size_t size)
{
	struct cursor line = cursor_init(bytes, size);
	struct symbol symbol = {};
	const char *name, *end;
	size_t length;
	char type;

	if (!read_address(&line, &symbol.address))
		return 0;
	type = (char)cursor_u8(&line);
	if ((type != 't' && type != 'T' && type != 'w' && type != 'W') || cursor_u8(&line) != ' ' ||
	    cursor_at_end(&line))
		return 0;
	length = cursor_left(&line);
	name = (const char *)cursor_take(&line, length);
	end = memchr(name, '\t', length);
	if (end)
		length = (size_t)(end - name);
	if (!length || memchr(name, '\0', length))
		return 0;
	self->text_lines++;
	self->any_address |= symbol.address != 0;
	if (self->names.count + length + 1 > UINT32_MAX || vec_reserve(&self->names, length + 1))
		return -ENOMEM;
	symbol.name = (uint32_t)self->names.count;
	symbol.rank = rank_of(type, name, length);
	if (is_name(name, length, "_stext"))
		self->own_start = symbol.address;
	if (is_name(name, length, "__sched_text_start"))
		self->scheduler_start = symbol.address;
	if (is_name(name, length, "__sched_text_end"))
		self->scheduler_end = symbol.address;
	if (is_end_marker(name, length)) {
		if (symbol.address > self->own_end)
			self->own_end = symbol.address;
		length = 0;
		symbol.rank = UINT32_MAX;
	}
	if (vec_push(&self->symbols, symbol))
		return -ENOMEM;
	memcpy(self->names.at + symbol.name, name, length);
	self->names.at[symbol.name + length] = '\0';
	self->names.count += length + 1;
	return 0;
}

/* Consumes the whole lines at the start of a buffer and moves the rest to its front; *used is then the rest's size. */
static int add_lines(struct kernel_symbols *self, char *buffer, size_t *used)
{
	char *line = buffer, *end = buffer + *used, *newline;
	int err = 0;

	while (!err && (newline = memchr(line, '\n', (size_t)(end - line)))) {
		err = add_line(self, line, (size_t)(newline - line));
		line = newline + 1;
	}
	*used = (size_t)(end - line);
	if (*used > LINE_MAX_SIZE)
		*used = 0;
	memmove(buffer, line, *used);
	return err;
}

static int read_lines(struct kernel_symbols *self, int fd, char *buffer, size_t size)
{
	size_t used = 0;
	ssize_t got;
	int err;

	for (;;) {
		got = read(fd, buffer + used, size - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return used ? add_line(self, buffer, used) : 0;
		used += (size_t)got;
		err = add_lines(self, buffer, &used);
		if (err)
			return err;
	}
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Sorts by address and rank, given that a long prefix is sorted by address, and keeps the best of each address. */
static int sort_symbols(struct kernel_symbols *self)
{
	struct symbol *at = self->symbols.at, *sorted;
	size_t count = self->symbols.count, left = 0, right, middle = 1, kept = 0;

	while (middle < count && at[middle - 1].address <= at[middle].address)
		middle++;
	qsort(at + middle, count - middle, sizeof(*at), compare);
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (right = middle; left < middle || right < count;) {
		const struct symbol *next;

		if (right == count || (left < middle && compare(&at[left], &at[right]) <= 0))
			next = &at[left++];
		else
			next = &at[right++];
		if (kept && sorted[kept - 1].address == next->address) {
			if (next->rank < sorted[kept - 1].rank)
				sorted[kept - 1] = *next;
		} else {
			sorted[kept++] = *next;
		}
	}
	free(at);
	at = realloc(sorted, kept * sizeof(*sorted));
	self->symbols.at = at ? at : sorted;
	self->symbols.count = self->symbols.capacity = kept;
	return 0;
}

static void shrink_names(struct kernel_symbols *self)
{
	char *shrunk = realloc(self->names.at, self->names.count);

	if (shrunk)
		self->names.at = shrunk;
	self->names.capacity = self->names.count;
}

static int load(struct kernel_symbols *self, const char *path, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *buffer;
	int err;

	if (fd < 0)
		return diag_fail(diag, errno, "kallsyms.open", "%s: %m: kernel frames will have no names", path);
	buffer = malloc(READ_SIZE);
	err = buffer ? read_lines(self, fd, buffer, READ_SIZE) : -ENOMEM;
	free(buffer);
	close(fd);
	if (err)
		return diag_fail(diag, -err, "kallsyms.read", "%s: %s", path, strerror(-err));
	if (!self->text_lines)
		return diag_fail(diag, EINVAL, "kallsyms.empty",
				 "%s: no kernel symbols: kernel frames will have no names", path);
	if (!self->any_address)
		return diag_fail(diag, EACCES, "kallsyms.hidden",
				 "%s: the kernel hides its addresses: run as root, or with cap_syslog, and with "
				 "kernel.kptr_restrict below 2",
				 path);
	err = sort_symbols(self);
	if (err)
		return diag_fail(diag, -err, "kallsyms.memory", "%s: %s", path, strerror(-err));
	shrink_names(self);
	return 0;
}

int kernel_symbols_create(const char *path, struct kernel_symbols **ret, struct diag *diag)
{
	struct kernel_symbols *self = calloc(1, sizeof(*self));
	int err;

	if (!self)
		return diag_fail(diag, ENOMEM, "kallsyms.memory", "%s: %s", path, strerror(ENOMEM));
	err = load(self, path, diag);
	if (err) {
		kernel_symbols_destroy(self);
		return err;
	}
	*ret = self;
	return 0;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	vec_free(&symbols->symbols);
	vec_free(&symbols->names);
	free(symbols);
}

bool kernel_symbols_stay(const struct kernel_symbols *symbols, uint64_t address)
{
	return symbols->own_start && address >= symbols->own_start && address < symbols->own_end;
}

const char *kernel_symbols_lookup(const struct kernel_symbols *symbols, uint64_t address, uint64_t *offset)
{
	size_t low = 0, high = symbols->symbols.count;
	const struct symbol *found;
	const char *name;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbols.at[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	found = &symbols->symbols.at[low - 1];
	name = symbols->names.at + found->name;
	if (!*name)
		return NULL;
	if (offset)
		*offset = address - found->address;
	return name;
}

bool kernel_symbols_is_scheduler(const struct kernel_symbols *symbols, uint64_t address)
{
	return address >= symbols->scheduler_start && address < symbols->scheduler_end;
}
