// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/balance.h"

/* What was counted since it was told last. One that goes back, as an estimate may, is told when it has come further. */
static uint64_t since(uint64_t now, uint64_t *told)
{
	uint64_t difference = now > *told ? now - *told : 0;

	*told += difference;
	return difference;
}

/* How many of those that have not arrived are lost. */
static uint64_t lost(struct balance *balance, uint64_t missing, bool last)
{
	uint64_t least = missing;
	unsigned int i;

	balance->missing[balance->windows++ % BALANCE_WINDOWS] = missing;
	if (last)
		return missing;
	for (i = 0; i < BALANCE_WINDOWS; i++) /* 0 where there was no window yet */
		least = balance->missing[i] < least ? balance->missing[i] : least;
	for (i = 0; i < BALANCE_WINDOWS; i++)
		balance->missing[i] -= least;
	return least;
}

static void take_verified(const struct profile_verify *now, struct profile_verify *told, struct profile_verify *ret)
{
	size_t i;

	ret->chosen += since(now->chosen, &told->chosen);
	ret->samples += since(now->samples, &told->samples);
	ret->agree += since(now->agree, &told->agree);
	ret->differ += since(now->differ, &told->differ);
	ret->shorter += since(now->shorter, &told->shorter);
	ret->longer += since(now->longer, &told->longer);
	ret->cut += since(now->cut, &told->cut);
	ret->guessed += since(now->guessed, &told->guessed);
	for (i = 0; i < LOSS_COUNT; i++)
		ret->uncompared[i] += since(now->uncompared[i], &told->uncompared[i]);
}

/* What was refused may have been counted after the whole. */
static uint64_t without(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static void take_off_cpu(const struct balance_totals *now, struct balance_totals *told, struct profile_quality *ret)
{
	const struct off_cpu_totals *kernel = &now->kernel.off_cpu;
	struct off_cpu_totals *before = &told->kernel.off_cpu;
	struct profile_off_cpu *off = &ret->off_cpu;
	const uint64_t refused = now->watch.refused_waits, refused_ns = now->watch.refused_ns;
	uint64_t unfinished = since(now->watch.unfinished, &told->watch.unfinished),
		 unfinished_ns = since(now->watch.unfinished_ns, &told->watch.unfinished_ns);

	off->waits += since(without(kernel->waits, refused), &before->waits) + unfinished;
	off->waits_ns += since(without(kernel->waits_ns, refused_ns), &before->waits_ns) + unfinished_ns;
	off->measured += since(without(kernel->measured, refused), &before->measured) + unfinished;
	off->measured_ns += since(without(kernel->measured_ns, refused_ns), &before->measured_ns) + unfinished_ns;
	off->run_ns += since(kernel->run_ns, &before->run_ns);
	off->runs += since(kernel->runs, &before->runs);
	ret->lost[LOSS_SWITCHES] += since(kernel->unseen, &before->unseen);
}

void balance_add(struct balance *balance, const struct balance_totals *now, const struct balance_window *window,
		 struct profile_quality *ret)
{
	struct balance_totals *told = &balance->told;
	uint64_t full = since(now->kernel.ring_full, &told->kernel.ring_full), known, due, internal;

	/* What a filter has refused has arrived, and is no sample. */
	balance->samples += window->seen + full + since(now->watch.refused, &told->watch.refused);
	known = balance->samples + window->waiting;
	due = (window->last ? now->kernel.runs : now->kernel.sent + told->kernel.ring_full) + now->watch.unfinished;
	internal = lost(balance, window->emptied && due > known ? due - known : 0, window->last);
	balance->samples += internal;
	ret->samples += window->seen + full + internal;
	ret->lost[LOSS_RING_FULL] += full;
	ret->lost[LOSS_INTERNAL] += internal;
	ret->lost[LOSS_TICKS] += since(now->kernel.missed_ticks, &told->kernel.missed_ticks);
	take_off_cpu(now, told, ret);
	ret->lost[LOSS_SIDEBAND] += since(now->watch.sideband_lost, &told->watch.sideband_lost);
	ret->lost[LOSS_THREADS] +=
		since(now->watch.dropped[STORE_DROP_THREADS], &told->watch.dropped[STORE_DROP_THREADS]);
	ret->lost[LOSS_PERF_MAPS] += since(now->perf_maps, &told->perf_maps);
	ret->late_samples += since(now->watch.late, &told->watch.late);
	take_verified(&now->watch.verify, &told->watch.verify, &ret->verify);
	ret->bpf_run_ns += since(now->kernel.bpf_run_ns, &told->kernel.bpf_run_ns);
	ret->bpf_runs += since(now->kernel.bpf_runs, &told->kernel.bpf_runs);
	ret->bpf_frames += since(now->kernel.frames, &told->kernel.frames);
	ret->bpf_task_ns += since(now->kernel.task_ns, &told->kernel.task_ns);
	ret->bpf_thread_states += since(now->kernel.thread_states, &told->kernel.thread_states);
	if (now->kernel.worst_ns > ret->bpf_worst_ns)
		ret->bpf_worst_ns = now->kernel.worst_ns;
	ret->self_cpu_s += now->self_cpu_s - told->self_cpu_s;
	told->self_cpu_s = now->self_cpu_s;
}
