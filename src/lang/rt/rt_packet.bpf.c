// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Network packets: the kernel's helper appends the bytes of a packet to a record, but only in the buffers of perf
 * events. Only linked into programs that need it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} packets SEC(".maps");

/* `whole` bytes are in the packet. 0, or a negative errno. */
__hidden __u64 rt_packet(void *skb, void *record, __u64 whole, __u64 offset, __u64 length)
{
	__u64 rest = offset < whole ? whole - offset : 0, end;
	struct rt_packet *packet = record;

	if (!rest)
		return -14; /* EFAULT, as the helper has it */
	if (rest > length)
		rest = length;
	end = offset + rest;
	if (end > RT_PACKET_MAX)
		end = RT_PACKET_MAX;
	packet->time = bpf_ktime_get_boot_ns();
	packet->offset = (__u32)offset;
	packet->whole = (__u32)whole;
	packet->end = (__u32)end;
	return bpf_skb_output(skb, &packets, end << 32 | BPF_F_CURRENT_CPU, packet, sizeof(*packet));
}
