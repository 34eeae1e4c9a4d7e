# SPDX-License-Identifier: GPL-2.0-or-later
# Costs beside perf and, if it is installed, bpftrace: a table, and build/bench.json. Asserts nothing. Needs root.

BENCH_SECONDS ?= 8
BENCH_ROUNDS ?= 3

.PHONY: bench
bench: all
	BENCH_SECONDS=$(BENCH_SECONDS) BENCH_ROUNDS=$(BENCH_ROUNDS) bench/bench.py --strata $(BUILD)/strata --build $(BUILD)

# What depth costs, held against one bpf_probe_read_user(). Asserts nothing. Needs root.
.PHONY: bench-depth
bench-depth: all $(BUILD)/bench/deep $(BUILD)/bench/wander $(BUILD)/bench/probe_read $(BUILD)/bench/probe_read.bpf.o
	bench/depth.py --strata $(BUILD)/strata --build $(BUILD)

$(BUILD)/bench/deep $(BUILD)/bench/wander: $(BUILD)/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -Wno-infinite-recursion -o $@ $<

$(BUILD)/bench/probe_read: bench/probe_read.c bench/probe_read.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -O2 $(WARNINGS) -o $@ $< -lbpf

# What attaching costs by what is mapped. JAX is looked for in the Python $BENCH_JAX. Asserts nothing. Needs root.
.PHONY: bench-start
bench-start: all
	bench/start.py --strata $(BUILD)/strata

# What time off the CPU costs at 100,000 switches a second, beside bpftrace if it is installed. Asserts nothing. Needs root.
.PHONY: bench-switches
bench-switches: all $(BUILD)/bench/switches
	bench/switches.py --strata $(BUILD)/strata --switches $(BUILD)/bench/switches

$(BUILD)/bench/switches: bench/switches.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O2 $(WARNINGS) -pthread -o $@ $<

# What strata trace costs, beside bpftrace if it is installed. Asserts nothing. Needs root.
.PHONY: bench-trace
bench-trace: all $(BUILD)/bench/say
	bench/trace.py --strata $(BUILD)/strata --say $(BUILD)/bench/say

$(BUILD)/bench/say: bench/say.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -O2 $(WARNINGS) -o $@ $<

# Beside other profilers: what they say of programs that know their own stacks, and what they cost. Writes build/peers.md.
# What is not in PATH (py-spy, austin, samply, perf; OTEL_PROFILER=...) is named and left out. Needs root.
.PHONY: bench-peers
bench-peers: all
	BENCH_SECONDS=$(BENCH_SECONDS) BENCH_ROUNDS=$(BENCH_ROUNDS) bench/peers.py --strata $(BUILD)/strata --build $(BUILD) >$(BUILD)/peers.md
	@cat $(BUILD)/peers.md

# What Python's probes cost programs, beside cProfile, sys.monitoring and bpftrace. Asserts nothing. Needs root.
.PHONY: bench-probes
bench-probes: all
	BENCH_ROUNDS=$(BENCH_ROUNDS) bench/probes.py --strata $(BUILD)/strata

# What a sample costs beside many other threads. Needs root.
.PHONY: bench-threads
bench-threads: all
	BENCH_ROUNDS=$(BENCH_ROUNDS) bench/threads.py --strata $(BUILD)/strata
