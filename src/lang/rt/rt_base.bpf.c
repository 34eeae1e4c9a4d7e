// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The runtime library: the functions that generated programs call. libbpf links it into each script's object.
 *
 * All functions are hidden. So libbpf makes them static, and they can take pointers in every kind of program. Pointers
 * are void * and numbers u64 in all of them, because libbpf compares signatures by the names of types. The verifier
 * follows a function again at each call, with the constants of that call; these bound the loops.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"
#include "lang/rt/counters.h"
#include "lang/rt/take.h"

#define RT            __hidden
#define opaque(value) asm volatile("" : "+r"(value))

/* Kernel addresses have bit 63 set on x86-64 and AArch64; user addresses have not. */
#define IS_KERNEL(address) ((__s64)(address) < 0)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* set by the loader */
} events SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_STATE_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} rt_state SEC(".maps");

RT __u64 rt_count(__u64 which)
{
	__u32 key = (__u32)which;
	__u64 *counter = bpf_map_lookup_elem(&rt_counters, &key);

	if (counter)
		__sync_fetch_and_add(counter, 1);
	return 0;
}

static __u64 *state_at(__u32 key)
{
	return bpf_map_lookup_elem(&rt_state, &key);
}

/* Has it ended, by exit() or from outside? */
RT __u64 rt_ended(void)
{
	__u64 *exited = state_at(RT_STATE_EXITED);

	return exited && *exited;
}

/* A free frame of this CPU's, or NULL. */
RT void *rt_enter(void *frames)
{
	__u32 first = bpf_get_smp_processor_id() * RT_FRAMES, i;

	for (i = 0; i < RT_FRAMES; i++) {
		__u32 index = first + i;
		__u32 *frame = bpf_map_lookup_elem(frames, &index);

		if (!frame)
			break;
		if (rt_take(frame))
			return frame;
	}
	rt_count(RT_COUNTER_NO_FRAME);
	return NULL;
}

RT __u64 rt_send(void *record, __u64 size)
{
	if (bpf_ringbuf_output(&events, record, size, 0))
		rt_count(RT_COUNTER_LOST);
	return 0;
}

/*
 * Packed records (lang/core/record.h). `at` is how long the record is already, `most` how long at most, `from` what
 * comes next, `size` the most that it takes. They give how long the record is then.
 */
RT __u64 rt_send_packed(void *record, __u64 at, __u64 most)
{
	opaque(at);
	return at <= most ? rt_send(record, at) : 0;
}

RT __u64 rt_pack(void *record, __u64 at, __u64 most, void *from, __u64 size)
{
	opaque(at);
	if (at > most)
		return most;
	bpf_probe_read_kernel(record + at, size, from);
	return at + size;
}

/* A string that fills its place gets its terminator behind that: `size` counts it. */
RT __u64 rt_pack_text(void *record, __u64 at, __u64 most, void *from, __u64 size)
{
	__s64 length;

	opaque(at);
	if (at > most)
		return most;
	length = bpf_probe_read_kernel_str(record + at, size, from);
	return length > 0 ? at + length : at + 1;
}

RT __u64 rt_pack_buffer(void *record, __u64 at, __u64 most, void *from, __u64 size)
{
	__u64 length = *(__u32 *)from;

	opaque(at);
	if (at > most)
		return most;
	opaque(length);
	if (length > size - sizeof(__u32))
		length = size - sizeof(__u32);
	length += sizeof(__u32);
	bpf_probe_read_kernel(record + at, length, from);
	return at + length;
}

/* What comes after exit() is of no interest any more, though detaching takes its time. */
RT __u64 rt_exit(void *record, __u64 size)
{
	__u64 *exited = state_at(RT_STATE_EXITED);

	rt_send(record, size);
	if (exited)
		*exited = 1;
	return 0;
}

/* Which sites have warned: a loop would warn too often. Two CPUs may at once: 5.10 has no compare-and-swap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RT_WARNINGS);
	__type(key, __u32);
	__type(value, __u32);
} rt_warned SEC(".maps");

RT __u64 rt_warn(__u64 site)
{
	struct rt_event event = {.type = RT_EVENT_SITE, .site = (__u32)site};
	__u32 key = (__u32)site % RT_WARNINGS;
	__u32 *warned = bpf_map_lookup_elem(&rt_warned, &key);

	if (warned && !*warned) {
		*warned = 1;
		rt_send(&event, sizeof(event));
	}
	return 0;
}

RT __u64 rt_elapsed(void)
{
	__u64 *started = state_at(RT_STATE_STARTED);

	return bpf_ktime_get_boot_ns() - (started ? *started : 0);
}

/* A failed read fills its destination with zeros. */
RT __u64 rt_read(void *to, __u64 size, __u64 address)
{
	if (IS_KERNEL(address))
		return bpf_probe_read_kernel(to, size, (void *)address);
	return bpf_probe_read_user(to, size, (void *)address);
}

/* A string of `size` bytes at most, terminator included, cut to `limit`, into zeros. `from` is an address as a number,
 * or a place in the frame. */
RT __u64 rt_text(void *to, __u64 size, __u64 from, __u64 limit)
{
	__u64 room = limit < size ? limit : size;

	opaque(room);
	if (room > size)
		return 0;
	opaque(room);
	if (!room)
		return 0;
	if (IS_KERNEL(from))
		return bpf_probe_read_kernel_str(to, room, (void *)from);
	return bpf_probe_read_user_str(to, room, (void *)from);
}

/* The same; what follows the string becomes zeros. */
RT __u64 rt_str(void *to, __u64 size, __u64 from, __u64 limit)
{
	bpf_probe_read_kernel(to, size, NULL);
	return rt_text(to, size, from, limit);
}

/* The two strings, one behind the other; `to` has room for both, terminators included. */
RT __u64 rt_concat(void *to, __u64 a_size, void *a, __u64 b_size, void *b)
{
	__u64 at;

	bpf_probe_read_kernel(to, a_size + b_size, NULL);
	at = (__u64)bpf_probe_read_kernel_str(to, a_size, a) - 1;
	opaque(at);
	if (at < a_size)
		bpf_probe_read_kernel_str(to + at, b_size, b);
	return 0;
}

RT __u64 rt_buf(void *to, __u64 size, __u64 from, __u64 length)
{
	bpf_probe_read_kernel(to, size, NULL);
	/* One by one: clang makes one comparison of both, of length - 1, from which old verifiers do not learn it. */
	opaque(length);
	if (length > size)
		return 0;
	opaque(length);
	return length ? rt_read(to, length, from) : 0;
}

/* Zeros behind the terminator; the last byte becomes one. */
RT __u64 rt_trim(void *text, __u64 size)
{
	char *at = text;
	__u64 i;
	char ended = 0;

	for (i = 0; i < size && i < RT_FRAME_MAX; i++) {
		if (ended)
			at[i] = 0;
		else
			ended = !at[i];
	}
	return 0;
}

RT __u64 rt_equal(void *a, void *b, __u64 words)
{
	__u64 *x = a, *y = b, i;

	for (i = 0; i < words && i < RT_FRAME_MAX / 8; i++)
		if (x[i] != y[i])
			return 0;
	return 1;
}

/* As memcmp(): the difference of the first bytes that differ. */
RT __u64 rt_memcmp(void *a, void *b, __u64 size)
{
	__u8 *x = a, *y = b;
	__u64 i;

	for (i = 0; i < size && i < RT_FRAME_MAX; i++)
		if (x[i] != y[i])
			return (__u64)x[i] - y[i];
	return 0;
}

RT __u64 rt_strlen(void *text, __u64 size)
{
	char *at = text;
	__u64 i;

	for (i = 0; i < size && i < RT_FRAME_MAX; i++)
		if (!at[i])
			break;
	return i;
}

/* 0 when the first `count` characters are equal or both end before. */
RT __u64 rt_strncmp(void *a, __u64 a_size, void *b, __u64 b_size, __u64 count)
{
	char *x = a, *y = b;
	__u64 i;

	for (i = 0; i < count && i < RT_FRAME_MAX; i++) {
		char p = i < a_size ? x[i] : 0, q = i < b_size ? y[i] : 0;

		if (p != q)
			return 1;
		if (!p)
			return 0;
	}
	return 0;
}

struct find {
	char *text, *part;
	__u64 text_size, part_size;
	__s64 found;
};

#define PART_MAX 64 /* characters of the part that are compared */

static long find_at(__u32 i, void *context)
{
	struct find *find = context;
	__u64 k;

	for (k = 0; k < PART_MAX && k < find->part_size; k++) {
		__u64 at = (__u64)i + k;

		if (!find->part[k])
			break;
		opaque(at);
		if (at >= find->text_size)
			return 1;
		if (find->text[at] != find->part[k])
			return !find->text[at];
	}
	find->found = i;
	return 1;
}

/* Where the part begins in the text; -1: nowhere. */
RT __u64 rt_strstr(void *text, __u64 text_size, void *part, __u64 part_size)
{
	struct find find = {.text = text, .part = part, .text_size = text_size, .part_size = part_size, .found = -1};

	bpf_loop((__u32)text_size, find_at, &find, 0);
	return find.found;
}

/*
 * The bucket of hist(): 0 for negative numbers, then one for each number below 2^bits, then 2^bits for each further
 * power of two.
 */
RT __u64 rt_bucket(__u64 value, __u64 bits)
{
	__u64 power = 0, rest = value;

	if ((__s64)value < 0)
		return 0;
	if (value < 1ull << bits)
		return value + 1;
#define HALVE(by)                                                                                                      \
	if (rest >= 1ull << (by)) {                                                                                    \
		rest >>= (by);                                                                                         \
		power += (by);                                                                                         \
	}
	HALVE(32)
	HALVE(16)
	HALVE(8)
	HALVE(4)
	HALVE(2)
	HALVE(1)
#undef HALVE
	return 1 + (1ull << bits) + ((power - bits) << bits) +
	       ((value >> ((power - bits) & 63)) & ((1ull << bits) - 1));
}

/* The bucket of lhist(): 0 below, the last above. */
RT __u64 rt_linear(__u64 value, __u64 low, __u64 high, __u64 step)
{
	if ((__s64)value < (__s64)low)
		return 0;
	if ((__s64)value >= (__s64)high)
		return 1 + (high - low) / (step ? step : 1);
	return 1 + (value - low) / (step ? step : 1);
}

/* The bucket of a logarithm with both signs: 63 - n below zero, 63 for 0, 63 + n above, n the number of its bits. */
RT __u64 rt_bucket_signed(__u64 value)
{
	__u64 bits = 0, rest = (__s64)value < 0 ? -value : value;

	if (!value)
		return 63;
#define HALVE(by)                                                                                                      \
	if (rest >= 1ull << (by)) {                                                                                    \
		rest >>= (by);                                                                                         \
		bits += (by);                                                                                          \
	}
	HALVE(32)
	HALVE(16)
	HALVE(8)
	HALVE(4)
	HALVE(2)
	HALVE(1)
#undef HALVE
	if (bits > 62)
		bits = 62;
	return (__s64)value < 0 ? 62 - bits : 64 + bits;
}

/*
 * The bucket of steps within powers of a factor, from the lowest magnitude to the highest one, with both signs around a
 * bucket for what is smaller. `shape`: factor | lowest << 16 | highest << 32 | steps << 48.
 */
RT __u64 rt_bucket_steps(__u64 value, __u64 shape, __u64 below)
{
	__u64 factor = shape & 0xffff, low = shape >> 16 & 0xffff, high = shape >> 32 & 0xffff, steps = shape >> 48;
	__u64 number = (__s64)value < 0 ? -value : value, top = below, skipped = steps / factor, at = 0, magnitude;
	__u64 middle = 1 + (high - low + 1) * (steps - skipped), i;

	if (number < below)
		return middle;
	magnitude = low;
	for (i = 0; i < 64; i++) {
		top *= factor;
		opaque(top);
		opaque(magnitude);
		if (number < top) {
			at = magnitude ? number / (top / steps) : number * steps / top;
			at -= skipped;
			break;
		}
		if (++magnitude > high)
			break;
	}
	at += (magnitude - low) * (steps - skipped) + 1;
	return (__s64)value < 0 ? middle - at : middle + at;
}

/* Adds a number to {sum, count, sum of the squares in 128 bits}. */
RT __u64 rt_deviation(void *to, __u64 value)
{
	__u64 *words = to, number = (__s64)value < 0 ? -value : value;
	__u64 low = number & 0xffffffff, high = number >> 32, middle = low * high;
	__u64 square = low * low, above = high * high + (middle >> 31), shifted = middle << 33;

	square += shifted;
	above += square < shifted;
	__sync_fetch_and_add(&words[0], value);
	__sync_fetch_and_add(&words[1], 1);
	words[2] += square;
	__sync_fetch_and_add(&words[3], above + (words[2] < square));
	return 0;
}

/* `shape`: the number of intervals, enum rt_series << 16, 1 << 24 when the values are signed. */
RT __u64 rt_series(void *intervals, __u64 value, __u64 now, __u64 length, __u64 shape)
{
	__u64 number = now / (length ? length : 1), count = shape & 0xffff, at = number % (count ? count : 1);
	struct rt_series_interval *interval = intervals;
	bool less;

	opaque(at);
	if (at >= count)
		return 0;
	interval += at;
	if (interval->number != number + 1) {
		interval->number = number + 1;
		interval->more = 0;
		interval->value = 0;
		if ((shape >> 16 & 0xff) == RT_SERIES_MINIMUM || (shape >> 16 & 0xff) == RT_SERIES_MAXIMUM)
			interval->value = value;
	}
	less = shape >> 24 ? (__s64)value < (__s64)interval->value : value < interval->value;
	switch (shape >> 16 & 0xff) {
	case RT_SERIES_LAST:
		if (now > interval->more) {
			interval->more = now;
			interval->value = value;
		}
		break;
	case RT_SERIES_MINIMUM:
		if (less)
			interval->value = value;
		break;
	case RT_SERIES_MAXIMUM:
		if (!less)
			interval->value = value;
		break;
	default:
		interval->more++;
		interval->value += value;
	}
	return 0;
}

/* As enum type_kind of lang/core/type.h, from TYPE_COUNT on; asserted in gen/object.c. */
enum { AGGREGATE_COUNT, AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX, AGGREGATE_AVG, AGGREGATE_STATS };

/* What an aggregation has come to over all CPUs, as one number. */
RT __u64 rt_reduce(void *map, void *key, __u64 kind, __u64 is_signed, __u64 cpus)
{
	__u64 result = 0, count = 0, kind_now = kind - RT_FIRST_AGGREGATE;
	__u32 cpu;

	for (cpu = 0; cpu < cpus && cpu < 8192; cpu++) {
		__u64 *value = bpf_map_lookup_percpu_elem(map, key, cpu), number;

		if (!value)
			break;
		number = value[0];
		if (kind_now == AGGREGATE_COUNT || kind_now == AGGREGATE_SUM) {
			result += number;
			continue;
		}
		if (!value[1])
			continue;
		if (kind_now >= AGGREGATE_AVG) {
			result += number;
			count += value[1];
			continue;
		}
		if (!count ||
		    (kind_now == AGGREGATE_MIN ? (is_signed ? (__s64)number < (__s64)result : number < result)
					       : (is_signed ? (__s64)number > (__s64)result : number > result)))
			result = number;
		count = 1;
	}
	if (kind_now < AGGREGATE_AVG || !count)
		return result;
	if (is_signed && (__s64)result < 0)
		return -(-result / count);
	return result / count;
}

/*
 * Strings of an array that a null pointer ends, one behind the other. How long the record is lies in `end`, of which
 * the verifier knows nothing: so each turn is to it as the one before.
 */
RT __u64 rt_join(void *record, void *end, __u64 array)
{
	volatile __u64 *place = end;
	__u64 i, pointer, at;
	__s64 length;

	for (i = 0; i < RT_JOIN_STRINGS; i++) {
		if (rt_read(&pointer, sizeof(pointer), array + i * 8) || !pointer)
			break;
		at = *place;
		opaque(at);
		if (at > sizeof(struct rt_event) + (RT_JOIN_STRINGS - 1) * RT_JOIN_BYTES)
			break;
		length = rt_text(record + at, RT_JOIN_BYTES, pointer, RT_JOIN_BYTES);
		*place = length > 0 ? at + length : at + 1;
	}
	return 0;
}
