// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of strings. Only linked into scripts that use them. `size` is the room of a string, with the terminator; the
 * results have the same room. After the terminator there are zeros. Positions that a loop finds are kept in the frame:
 * for a value in a register the verifier would follow each possible value separately.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"

#define RT            __hidden
#define opaque(value) asm volatile("" : "+r"(value))

/* The bytes from `begin` to before `end` of a text. */
static __always_inline void take(char *to, __u64 size, const char *text, __u64 begin, __u64 end)
{
	__u64 length = end - begin;

	bpf_probe_read_kernel(to, size, NULL);
	opaque(begin);
	opaque(length);
	if (begin >= size || !length || length >= size)
		return;
	bpf_probe_read_kernel(to, length, text + begin);
}

static __always_inline __u64 length_of(const char *text, __u64 size)
{
	__u64 i;

	for (i = 0; i < size && i < RT_FRAME_MAX; i++)
		if (!text[i])
			break;
	return i;
}

/* In the frame, of whose words the verifier knows nothing: so each turn of a loop is to it as the one before. */
struct components {
	__u64 begin, end; /* of the last component */
	__u64 before;     /* where the one before it ends */
	__u64 slash;      /* there was one */
	__u64 pending;    /* the last character was one */
};

/* Slashes at the end do not count. */
static __always_inline void split(const char *text, __u64 size, volatile struct components *at)
{
	__u64 i;

	at->begin = at->end = at->before = at->slash = at->pending = 0;
	for (i = 0; i < size && i < RT_FRAME_MAX; i++) {
		if (!text[i])
			break;
		if (text[i] == '/') {
			at->pending = at->slash = 1;
			continue;
		}
		if (at->pending) {
			at->begin = i;
			at->before = at->end;
			at->pending = 0;
		}
		at->end = i + 1;
	}
}

static __always_inline void one(char *to, __u64 size, char c)
{
	bpf_probe_read_kernel(to, size, NULL);
	to[0] = c;
}

RT __u64 rt_string_basename(void *to, void *from, __u64 size, void *state)
{
	volatile struct components *path = state;

	split(from, size, path);
	if (path->end)
		take(to, size, from, path->begin, path->end);
	else
		one(to, size, path->slash ? '/' : '.');
	return 0;
}

RT __u64 rt_string_dirname(void *to, void *from, __u64 size, void *state)
{
	volatile struct components *path = state;

	split(from, size, path);
	if (path->before)
		take(to, size, from, 0, path->before);
	else
		one(to, size, path->slash && (path->begin || !path->end) ? '/' : '.');
	return 0;
}

/* A negative place counts from the end, a negative length leaves out so many at the end. */
RT __u64 rt_string_substr(void *to, void *from, __u64 size, __u64 place, __u64 length)
{
	__s64 whole = length_of(from, size), begin = place, end;

	if (begin < 0)
		begin += whole;
	end = (__s64)length < 0 ? whole + (__s64)length : begin + (__s64)length;
	if (begin < 0)
		begin = 0;
	if (end > whole)
		end = whole;
	if (begin >= end)
		bpf_probe_read_kernel(to, size, NULL);
	else
		take(to, size, from, begin, end);
	return 0;
}

struct search {
	char *text, *part;
	__u64 text_size, part_size;
	__s64 found, from;
	__u64 last; /* the last place is wanted, up to `from` */
};

static long search_at(__u32 i, void *context)
{
	struct search *search = context;
	__u64 k;

	if (search->last ? (__s64)i > search->from : (__s64)i < search->from)
		return search->last;
	for (k = 0; k < search->part_size && k < 1024; k++) {
		__u64 at = (__u64)i + k;

		if (!search->part[k])
			break;
		opaque(at);
		if (at >= search->text_size)
			return 1;
		if (search->text[at] != search->part[k])
			return !search->text[at];
	}
	search->found = i;
	return !search->last;
}

/* Where the part begins in the text, at `from` or behind it; with `last` the last place before that. -1: nowhere. */
static __always_inline __u64 find(void *text, __u64 size, void *part, __u64 part_size, __u64 from, __u64 last)
{
	struct search search = {.text = text,
				.part = part,
				.text_size = size,
				.part_size = part_size,
				.found = -1,
				.from = from,
				.last = last};

	bpf_loop((__u32)size, search_at, &search, 0);
	return search.found;
}

RT __u64 rt_string_index(void *text, __u64 size, void *part, __u64 part_size, __u64 from)
{
	__s64 length = length_of(text, size);

	if ((__s64)from < 0)
		from = 0;
	if ((__s64)from > length)
		return *(char *)part ? -1ull : length;
	return find(text, size, part, part_size, from, 0);
}

RT __u64 rt_string_rindex(void *text, __u64 size, void *part, __u64 part_size, __u64 from)
{
	__s64 length = length_of(text, size);

	if ((__s64)from < 0)
		return *(char *)part ? -1ull : 0;
	if (!*(char *)part)
		return (__s64)from < length ? from : length;
	return find(text, size, part, part_size, from, 1);
}

/*
 * Where a character is, the first or the last one; -1: nowhere. The terminator counts. `state`, in the frame: the
 * character, and room for the result.
 */
RT __u64 rt_string_chr(void *text, __u64 size, void *state, __u64 last)
{
	volatile __s64 *found = (__s64 *)state + 1;
	char *at = text, wanted = (char)*(__u64 *)state;
	__u64 i;

	*found = -1;
	for (i = 0; i < size && i < RT_FRAME_MAX; i++) {
		if (at[i] == wanted) {
			*found = i;
			if (!last)
				break;
		}
		if (!at[i])
			break;
	}
	return *found;
}

/* A number in digits: bases 8, 10 and 16. Only of base 10 it is signed. */
RT __u64 rt_string_number(void *to, __u64 size, __u64 number, __u64 base)
{
	char digits[24] = {}, *out = to;
	__u64 negative = base == 10 && (__s64)number < 0, i, at;

	bpf_probe_read_kernel(to, size, NULL);
	if (negative)
		number = -number;
	for (i = 0; i < 22; i++) {
		__u64 digit = base == 8 ? number & 7 : base == 16 ? number & 15 : number % 10;

		at = 22 - i;
		digits[at] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
		number = base == 8 ? number >> 3 : base == 16 ? number >> 4 : number / 10;
		opaque(number);
		if (!number)
			break;
	}
	at = 22 - i;
	opaque(negative);
	if (negative && size > 1) {
		*out++ = '-';
		size--;
	}
	opaque(at);
	if (at >= sizeof(digits) || size < sizeof(digits) + 1)
		return 0;
	bpf_probe_read_kernel_str(out, sizeof(digits), digits + at);
	return 0;
}
