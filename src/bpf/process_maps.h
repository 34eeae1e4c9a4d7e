/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_maps: the maps in which user space describes processes, and the loader's configuration. `loaded` is constant
 * for the verifier, so code that it switches off is left out of the program.
 */
#ifndef STRATA_BPF_PROCESS_MAPS_H
#define STRATA_BPF_PROCESS_MAPS_H

#include "abi/config.h"
#include "abi/limits.h"
#include "abi/runtime.h"
#include "abi/tables.h"
#include "bpf/shim.h"

const volatile struct sampler_config loaded SEC(SAMPLER_CONFIG_SECTION) = {};

/* A runtime's walk looks for tasks only where this is true. */
#define WALK_TASKS (loaded.walks & SAMPLER_TASKS)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct process_entry);
} processes SEC(".maps");

/* When a process last called exec: older tables are not valid any more. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} execs SEC(".maps");

/*
 * The watched processes, unless watch_all is set: when each was added, with TARGET_*. The children of a process with
 * TARGET_CHILDREN are added when they are forked.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct runtime_process);
} runtime_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RUNTIME_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct runtime_layout);
} runtime_layouts SEC(".maps");

/*
 * When the maps about processes last changed, CLOCK_MONOTONIC ns; written after each change. While it stays the same,
 * each scratch's cache (struct process_cache) is valid.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} changed SEC(".maps");

/* Where a runtime keeps a thread, as the walk found it (second.thread); checked on each use. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u64);
} runtime_threads SEC(".maps");

#endif
