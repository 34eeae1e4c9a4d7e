// SPDX-License-Identifier: GPL-2.0-or-later
/* What an unwinder without windows pays for each frame: one bpf_probe_read_user() of 8 bytes, many times over. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "probe_read.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct probe_read_settings settings = {};
__u64 failed;

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
