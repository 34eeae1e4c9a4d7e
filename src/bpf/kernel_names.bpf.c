// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks the kernel for a symbol of its own: of an address, or by its name. User space runs each program when it wants to
 * know (BPF_PROG_RUN). /proc/kallsyms tells the same, but only all 150,000 symbols at once.
 */
#include "bpf/shim.h"

#include "abi/kernel_names.h"

char LICENSE[] SEC("license") = "GPL";

/* The answer, as kernel/kallsyms.c writes it: "NAME+0xOFFSET/0xSIZE [MODULE]", or "0xADDRESS" if there is no symbol. */
char text[KERNEL_NAME_TEXT];
__u64 scheduler_start, scheduler_end; /* of .sched.text */

static const char format[] = "%pS", start_name[] = "__sched_text_start", end_name[] = "__sched_text_end";

SEC("syscall")
int tell_name(struct kernel_name_request *request)
{
	__u64 address = request->address;

	return bpf_snprintf(text, sizeof(text), format, &address, sizeof(address)) < 0;
}

/* Fails where the kernel hides its addresses. */
SEC("syscall")
int tell_scheduler(void *unused)
{
	return bpf_kallsyms_lookup_name(start_name, sizeof(start_name), 0, &scheduler_start) ||
	       bpf_kallsyms_lookup_name(end_name, sizeof(end_name), 0, &scheduler_end);
}
