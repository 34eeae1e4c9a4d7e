// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two measures for the walk's cost. probe_read: what an unwinder without windows pays for each frame, one
 * bpf_probe_read_user() of 8 bytes. verify: what a walk that remembers the thread's last one could not do without,
 * should it follow that instead of the rules: read the stack page by page, and compare each frame's return address and
 * saved register with those of the last time.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "probe_read.h"

#define PAGE_WORDS 512
#define UNROLL     8

char LICENSE[] SEC("license") = "GPL";

const volatile struct probe_read_settings settings = {};
__u64 failed, verified;

struct frame {
	__u64 slot; /* word of the stack that holds the return address; the saved register lies below */
	__u64 return_address, saved;
};

struct memory {
	__u64 first, end; /* the words that the window holds */
	__u64 window[PAGE_WORDS];
	struct frame frames[STACK_KEPT];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memory);
} memories SEC(".maps");

static long read_once(__u32 index, void *context)
{
	if (bpf_probe_read_user(context, sizeof(__u64), (const void *)settings.address))
		failed++;
	return 0;
}

SEC("perf_event")
int probe_read(void *ctx)
{
	__u64 value = 0;

	if (bpf_get_current_pid_tgid() >> 32 == settings.process)
		bpf_loop(PROBE_READS, read_once, &value, 0);
	return 0;
}

static __always_inline int load_window(struct memory *memory, __u64 slot)
{
	memory->first = slot & ~(PAGE_WORDS - 1ull);
	memory->end = memory->first + PAGE_WORDS;
	return bpf_probe_read_user(memory->window, sizeof(memory->window),
				   (const void *)(settings.stack + memory->first * 8)) != 0;
}

struct walk {
	struct memory *memory;
};

static long verify_some(__u32 turn, void *context)
{
	struct memory *memory = ((struct walk *)context)->memory;
	const struct frame *frame;
	__u32 k, at;
	__u64 slot;

#pragma GCC unroll 8
	for (k = 0; k < UNROLL; k++) {
		at = turn * UNROLL + k;
		if (at >= STACK_FRAMES)
			return 1;
		frame = &memory->frames[at];
		slot = frame->slot;
		if ((slot < memory->first + 1 || slot >= memory->end) && load_window(memory, slot))
			return 1;
		if (memory->window[slot & (PAGE_WORDS - 1)] != frame->return_address ||
		    memory->window[(slot - 1) & (PAGE_WORDS - 1)] != frame->saved) {
			failed++;
			return 1;
		}
	}
	return 0;
}

SEC("perf_event")
int verify(void *ctx)
{
	__u32 zero = 0;
	struct walk context = {.memory = bpf_map_lookup_elem(&memories, &zero)};

	if (!context.memory || bpf_get_current_pid_tgid() >> 32 != settings.process)
		return 0;
	context.memory->first = context.memory->end = 0;
	bpf_loop(STACK_FRAMES / UNROLL, verify_some, &context, 0);
	verified++;
	return 0;
}
