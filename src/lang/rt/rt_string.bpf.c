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

#define TEXT_MASK 0xfffff /* texts are shorter */

/*
 * `length` bytes of a text, from `begin` on. Linux 6.12's verifier follows what is known of numbers that were computed
 * from each other, also where that cannot be: a masked one is a new number to it. And clang makes one comparison of
 * several, from which older verifiers learn too little: so they come one after the other.
 */
static __always_inline void take_at(char *to, __u64 size, const char *text, __u64 begin, __u64 length)
{
	if (begin >= size || length >= size)
		return;
	opaque(begin);
	begin &= TEXT_MASK;
	opaque(begin);
	if (begin >= size)
		return;
	opaque(length);
	length &= TEXT_MASK;
	opaque(length);
	if (length >= size)
		return;
	opaque(length);
	if (length)
		bpf_probe_read_kernel(to, length, text + begin);
}

/* The bytes from `begin` to before `end` of a text. */
static __always_inline void take(char *to, __u64 size, const char *text, __u64 begin, __u64 end)
{
	__u64 length = end - begin;

	bpf_probe_read_kernel(to, size, NULL);
	/* A text that was longer than there is room has no terminator here. */
	if (length >= size && end <= size)
		length = size - 1;
	take_at(to, size, text, begin, length);
}

static __always_inline __u64 length_of(const char *text, __u64 size)
{
	__u64 i;

	for (i = 0; i < size && i < RT_FRAME_MAX; i++)
		if (!text[i])
			break;
	return i;
}

struct counted {
	const char *text;
	__u64 size, length;
};

static long counted_at(__u32 i, void *context)
{
	struct counted *counted = context;
	__u64 place = i;

	opaque(place);
	if (place >= counted->size || !counted->text[place])
		return 1;
	counted->length = (__u64)i + 1;
	return 0;
}

/* The same, for what goes on with the length: after a loop the verifier would follow each length separately. */
static __always_inline __u64 counted_length(const char *text, __u64 size)
{
	struct counted counted = {.text = text, .size = size};

	bpf_loop((__u32)size, counted_at, &counted, 0);
	return counted.length;
}

/* In the frame, of whose words the verifier knows nothing. */
struct components {
	__u64 begin, end; /* of the last component */
	__u64 before;     /* where the one before it ends */
	__u64 slash;      /* there was one */
	__u64 pending;    /* the last character was one */
};

struct split {
	const char *text;
	__u64 size;
	volatile struct components *at;
};

static long split_at(__u32 i, void *context)
{
	struct split *split = context;
	volatile struct components *at = split->at;
	__u64 place = i;
	char c;

	opaque(place);
	if (place >= split->size)
		return 1;
	c = split->text[place];
	if (!c)
		return 1;
	if (c == '/') {
		at->pending = at->slash = 1;
		return 0;
	}
	if (at->pending) {
		at->begin = i;
		at->before = at->end;
		at->pending = 0;
	}
	at->end = i + 1;
	return 0;
}

/* Slashes at the end do not count. A callback is verified once, a loop once for each turn. */
static __always_inline void split(const char *text, __u64 size, volatile struct components *at)
{
	struct split context = {.text = text, .size = size, .at = at};

	at->begin = at->end = at->before = at->slash = at->pending = 0;
	bpf_loop((__u32)size, split_at, &context, 0);
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

/* Texts of the process, one after the other: one text, with blanks between. Of longer ones the first part. */
RT __u64 rt_string_words(void *to, __u64 size, __u64 from, __u64 length)
{
	char *text = to;
	__u64 i;

	bpf_probe_read_kernel(to, size, NULL);
	if (length >= size)
		length = size - 1;
	opaque(length);
	if (!length || length >= size || bpf_probe_read_user(to, length, (void *)from))
		return 0;
	for (i = 0; i < size && i + 1 < length && i < RT_FRAME_MAX; i++) {
		__u64 c = text[i] & 0xff;

		/* Without a branch, of which the verifier would follow both ways at each character. */
		text[i] = (char)(c | (c - 1) >> 63 << 5);
	}
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
	if (negative && size > 2) {
		*out++ = '-';
		size--;
	}
	opaque(at);
	if (at >= sizeof(digits))
		return 0;
	bpf_probe_read_kernel_str(out, size < sizeof(digits) - at ? size : sizeof(digits) - at, digits + at);
	return 0;
}

/* --- strtok() --- */

struct separators {
	const char *text;
	__u64 size;
	__u64 *table; /* a bit for each character; in the frame */
};

static long separator_at(__u32 i, void *context)
{
	struct separators *separators = context;
	__u64 place = i;
	__u8 c;

	opaque(place);
	if (place >= separators->size)
		return 1;
	c = separators->text[place];
	if (!c)
		return 1;
	separators->table[c >> 6] |= 1ull << (c & 63);
	return 0;
}

struct token {
	const char *text;
	__u64 size, from;
	const __u64 *table;
	__u64 begin, end;
};

static long token_at(__u32 i, void *context)
{
	struct token *token = context;
	__u64 place = token->from + i;
	__u8 c;

	opaque(place);
	if (place >= token->size)
		return 1;
	c = token->text[place];
	if (!c)
		return 1;
	if (token->table[c >> 6] >> (c & 63) & 1) {
		if (token->end > token->begin)
			return 1;
		token->begin = token->end = place + 1;
		return 0;
	}
	token->end = place + 1;
	return 0;
}

/*
 * The next token of a text. `state`: where the search begins, from 1 on, and the text; the place moves on. `table` has
 * 32 bytes in the frame. Nothing is left: an empty text.
 */
RT __u64 rt_string_token(void *to, void *state, __u64 size, void *separators, void *table)
{
	volatile __u64 *at = state;
	__u64 *bits = table;
	struct separators context = {.text = separators, .size = size, .table = bits};
	struct token token = {.text = (char *)state + 8, .size = size, .from = *at - 1, .table = bits};

	bits[0] = bits[1] = bits[2] = bits[3] = 0;
	bpf_loop((__u32)size, separator_at, &context, 0);
	token.begin = token.end = token.from;
	bpf_loop((__u32)size, token_at, &token, 0);
	take(to, size, token.text, token.begin, token.end);
	*at = token.end + 1;
	return 0;
}

/* --- cleanpath() --- */

/* In the frame. */
struct cleaning {
	__u64 end;  /* of the component, behind its last character */
	__u64 at;   /* in `to`, where the part that is done begins; it grows to the front */
	__u64 skip; /* so many ".." wait for the component that they take away */
};

struct clean {
	char *to;
	const char *text;
	__u64 size, length;
	volatile struct cleaning *state;
};

static __always_inline char char_at(const char *text, __u64 size, __u64 at)
{
	opaque(at);
	return at < size ? text[at] : 0;
}

static __always_inline void char_set(char *text, __u64 size, __u64 at, char c)
{
	opaque(at);
	if (at < size)
		text[at] = c;
}

static __noinline __u64 clean_component(struct clean *clean, __u64 begin)
{
	volatile struct cleaning *state = clean->state;
	__u64 length = state->end - begin, at = state->at, size = clean->size;

	if (!length || length >= size || (length == 1 && char_at(clean->text, size, begin) == '.'))
		return 0;
	if (length == 2 && char_at(clean->text, size, begin) == '.' && char_at(clean->text, size, begin + 1) == '.') {
		state->skip++;
		return 0;
	}
	if (state->skip) {
		state->skip--;
		return 0;
	}
	at -= length + 1;
	char_set(clean->to, size, at, '/');
	state->at = at;
	at++;
	opaque(at);
	if (at < size)
		take_at(clean->to + at, size, clean->text, begin, length);
	return 0;
}

/* From the end to the beginning, so that what a ".." takes away is known when it comes. */
static long clean_at(__u32 i, void *context)
{
	struct clean *clean = context;
	__u64 place = clean->length - 1 - i;

	if (i >= clean->length)
		return 1;
	if (char_at(clean->text, clean->size, place) == '/') {
		clean_component(clean, place + 1);
		clean->state->end = place;
	} else if (!place) {
		clean_component(clean, 0);
	}
	return 0;
}

static long parent_at(__u32 i, void *context)
{
	struct clean *clean = context;
	__u64 at = clean->state->at - 3;

	if (i >= clean->state->skip)
		return 1;
	clean->state->at = at;
	char_set(clean->to, clean->size, at, '/');
	char_set(clean->to, clean->size, at + 1, '.');
	char_set(clean->to, clean->size, at + 2, '.');
	return 0;
}

/*
 * `room`, in the frame: a struct cleaning, and twice `size`: a copy ends behind `size`, as far as the verifier knows.
 */
RT __u64 rt_string_clean(void *to, void *from, __u64 size, void *room)
{
	volatile struct cleaning *state = room;
	struct clean clean = {.to = (char *)room + sizeof(*state),
			      .text = from,
			      .size = size,
			      .length = counted_length(from, size),
			      .state = state};
	__u64 absolute = *(char *)from == '/';

	/* A slash stands before each component, and a path of `size` - 1 characters needs one more. */
	state->end = clean.length;
	state->at = size;
	state->skip = 0;
	bpf_loop((__u32)size, clean_at, &clean, 0);
	if (!absolute)
		bpf_loop((__u32)size, parent_at, &clean, 0);
	if (state->at == size)
		one(to, size, !clean.length ? 0 : absolute ? '/' : '.');
	else
		take(to, size, clean.to, state->at + !absolute, size);
	return 0;
}

/* --- d_path() --- */

#define PATH_DEPTH 256 /* folders and mounts */

struct path_walk {
	volatile struct rt_path *state;
	char *text;
	__u64 size;
};

static __always_inline __u64 pointer_at(__u64 address, __u64 place)
{
	__u64 ret = 0;

	bpf_probe_read_kernel(&ret, sizeof(ret), (void *)(address + place));
	return ret;
}

static __noinline __u64 put_name(struct path_walk *walk, __u64 name, __u64 length)
{
	volatile struct rt_path *state = walk->state;
	__u64 at = state->at, size = walk->size, alone = state->is_alone;

	if (length >= size || length + 1 > at)
		return 1;
	at -= length + !alone;
	if (!alone)
		char_set(walk->text, size, at, '/');
	state->at = at;
	at += !alone;
	opaque(at);
	if (at < size)
		take_at(walk->text + at, size, (const char *)name, 0, length);
	return alone;
}

/* From the file to the root: a component, or from a mount's root to where it is mounted. */
static long path_at(__u32 i, void *context)
{
	struct path_walk *walk = context;
	volatile struct rt_path *state = walk->state;
	__u64 dentry = state->dentry, mount = state->mount, above;
	__u32 length = 0;

	if (dentry == state->root_dentry && mount == state->root_mount)
		return 1;
	if (dentry == pointer_at(mount, state->places[RT_PATH_ROOT])) {
		mount -= state->places[RT_PATH_WITHIN];
		above = pointer_at(mount, state->places[RT_PATH_ABOVE]);
		if (!above || above == mount)
			return 1;
		state->dentry = pointer_at(mount, state->places[RT_PATH_MOUNTPOINT]);
		state->mount = above + state->places[RT_PATH_WITHIN];
		return 0;
	}
	above = pointer_at(dentry, state->places[RT_PATH_PARENT]);
	state->is_alone = above == dentry;
	bpf_probe_read_kernel(&length, sizeof(length), (void *)(dentry + state->places[RT_PATH_LENGTH]));
	state->dentry = above;
	return !above || put_name(walk, pointer_at(dentry, state->places[RT_PATH_NAME]), length);
}

/* `room`: a struct rt_path, whose path and places are known, and twice `size`. */
RT __u64 rt_string_path(void *to, void *room, __u64 size)
{
	volatile struct rt_path *state = room;
	struct path_walk walk = {.state = state, .text = (char *)room + sizeof(*state), .size = size};
	__u64 root;

	state->at = size;
	state->is_alone = 0;
	state->dentry = pointer_at(state->path, state->places[RT_PATH_DENTRY]);
	state->mount = pointer_at(state->path, state->places[RT_PATH_MOUNT]);
	if (!state->dentry || !state->mount)
		return one(to, size, 0), 0;
	root = pointer_at(bpf_get_current_task(), state->places[RT_PATH_FS]) + state->places[RT_PATH_OWN_ROOT];
	state->root_dentry = pointer_at(root, state->places[RT_PATH_DENTRY]);
	state->root_mount = pointer_at(root, state->places[RT_PATH_MOUNT]);
	bpf_loop(PATH_DEPTH, path_at, &walk, 0);
	if (state->at == size)
		one(to, size, state->is_alone ? 0 : '/');
	else
		take(to, size, walk.text, state->at, size);
	return 0;
}

/* --- addresses as text --- */

enum { ADDRESS_IP4, ADDRESS_IP6, ADDRESS_IP6_STRICT, ADDRESS_ETHERNET, ADDRESS_INFINIBAND };

struct address {
	__u8 bytes[24];
	__u64 used, started;
	char text[64];
};

static __always_inline void put(volatile struct address *address, char c)
{
	__u64 at = address->used;

	address->text[at & 63] = c;
	address->used = at + 1;
}

static __always_inline void put_digit(volatile struct address *address, __u64 digit)
{
	put(address, (char)(digit < 10 ? '0' + digit : 'a' + digit - 10));
}

static __noinline __u64 put_ip4(volatile struct address *address, __u64 from)
{
	__u64 i, value;

	for (i = 0; i < 4; i++) {
		value = address->bytes[(from + i) & 15];
		if (i)
			put(address, '.');
		if (value > 99)
			put(address, (char)('0' + value / 100));
		if (value > 9)
			put(address, (char)('0' + value / 10 % 10));
		put(address, (char)('0' + value % 10));
	}
	return 0;
}

static __noinline __u64 put_word(volatile struct address *address, __u64 word)
{
	__u64 i, digit;

	address->started = 0;
	for (i = 0; i < 4; i++) {
		digit = word >> (12 - 4 * i) & 15;
		if (digit || address->started || i == 3) {
			address->started = 1;
			put_digit(address, digit);
		}
	}
	return 0;
}

static __always_inline __u64 word_of(volatile struct address *address, __u64 i)
{
	return (__u64)address->bytes[2 * i & 15] << 8 | address->bytes[(2 * i + 1) & 15];
}

/* Is it IPv4 within IPv6? 0: no; 1: behind zeros; 2: behind zeros and ffff. :: and ::1 are not. */
static __always_inline __u64 embedded(volatile struct address *address)
{
	if (word_of(address, 0) | word_of(address, 1) | word_of(address, 2) | word_of(address, 3) |
	    word_of(address, 4))
		return 0;
	if (word_of(address, 5) == 0xffff)
		return 2;
	return !word_of(address, 5) && (word_of(address, 6) || word_of(address, 7) > 1);
}

struct words {
	volatile struct address *address;
	__u64 run, first, best, best_first; /* of zeros; of the longest of them */
};

static long run_at(__u32 i, void *context)
{
	struct words *words = context;

	if (word_of(words->address, i)) {
		words->run = 0;
		return 0;
	}
	if (!words->run)
		words->first = i;
	words->run++;
	if (words->run > words->best) {
		words->best = words->run;
		words->best_first = words->first;
	}
	return 0;
}

static long word_at(__u32 i, void *context)
{
	struct words *words = context;

	if (words->best > 1 && i >= words->best_first && i < words->best_first + words->best) {
		if (i == words->best_first) {
			put(words->address, ':');
			if (!i)
				put(words->address, ':');
		}
		return 0;
	}
	put_word(words->address, word_of(words->address, i));
	if (i < 7)
		put(words->address, ':');
	return 0;
}

static __noinline __u64 put_ip6(volatile struct address *address, __u64 strict)
{
	struct words words = {.address = address};
	__u64 kind = embedded(address), i;

	if (kind) {
		if (strict) {
			put(address, ':');
			put(address, ':');
			for (i = 0; kind == 2 && i < 4; i++)
				put(address, 'f');
			if (kind == 2)
				put(address, ':');
		}
		return put_ip4(address, 12);
	}
	bpf_loop(8, run_at, &words, 0);
	bpf_loop(8, word_at, &words, 0);
	return 0;
}

/* `state`, a struct address in the frame, begins with the address's bytes. */
RT __u64 rt_string_address(void *to, __u64 size, void *state, __u64 kind)
{
	volatile struct address *address = state;
	__u64 i, count = kind == ADDRESS_ETHERNET ? 6 : 20;

	address->used = 0;
	if (kind == ADDRESS_IP4) {
		put_ip4(address, 0);
	} else if (kind == ADDRESS_IP6 || kind == ADDRESS_IP6_STRICT) {
		put_ip6(address, kind == ADDRESS_IP6_STRICT);
	} else {
		for (i = 0; i < count; i++) {
			if (i)
				put(address, ':');
			put_digit(address, address->bytes[i] >> 4);
			put_digit(address, address->bytes[i] & 15);
		}
	}
	put(address, 0);
	bpf_probe_read_kernel(to, size, NULL);
	bpf_probe_read_kernel_str(to, size < 64 ? size : 64, (char *)state + 40);
	return 0;
}

/* --- progenyof() --- */

struct ancestor {
	const char *task;
	__u64 parent, number; /* where a task has them */
	__u32 wanted, found;
};

static long ancestor_at(__u32 i, void *context)
{
	struct ancestor *ancestor = context;
	const char *parent = NULL;
	__u32 number = 0;

	if (bpf_probe_read_kernel(&number, sizeof(number), ancestor->task + ancestor->number))
		return 1;
	if (number == ancestor->wanted) {
		ancestor->found = 1;
		return 1;
	}
	if (!number || bpf_probe_read_kernel(&parent, sizeof(parent), ancestor->task + ancestor->parent) ||
	    parent == ancestor->task)
		return 1;
	ancestor->task = parent;
	return 0;
}

/* Is the task's process the wanted one, or one of the wanted one's descendants? */
RT __u64 rt_string_progeny(__u64 task, __u64 parent, __u64 number, __u64 wanted)
{
	struct ancestor ancestor = {
		.task = (const char *)task, .parent = parent, .number = number, .wanted = (__u32)wanted};

	bpf_loop(4096, ancestor_at, &ancestor, 0);
	return ancestor.found;
}
