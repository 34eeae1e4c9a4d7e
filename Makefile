# SPDX-License-Identifier: GPL-2.0-or-later
#
# strata's build. One non-recursive make; the rules live in mk/.
#
#   make            build/strata
#   make deps       install what the build and the tests need (Debian packages; needs root)
#   make demo       deps, build, and a flame graph of a bundled program (needs root)
#   make check      deps, build, all tests (needs root)
#   make check-long the same with a minute of fuzzing for each target and all emulated kernels
#   make install    PREFIX=/usr/local DESTDIR=
#   make fuzz       every fuzz target for FUZZ_SECONDS
#   make bench      costs beside perf and bpftrace
#   make bench-start what attaching costs: JAX, Chromium, clang, a small program
#   make bench-probes what Python's probes cost, beside cProfile and sys.monitoring
#   make bench-threads what a sample costs beside 5 and beside 5,000 threads
#   make bench-peers truth and costs beside py-spy, austin, samply, perf, the OpenTelemetry profiler
#   make check-lab  inspect and the oracle on CPythons of many kinds, built once into STRATA_LAB
#   make check-kernels KERNELS="5.10 6.1 6.12 newest"   record, trace and stack on Debian's kernels, emulated
#
#   SANITIZE=1      build with clang, ASan and UBSan into build-sanitize/

.DEFAULT_GOAL := all

SANITIZE ?=
BUILD := $(if $(SANITIZE),build-sanitize,build)
# BPF programs and what is generated have no sanitizers: both builds have them from here. BUILD=... has its own.
PLAIN := $(BUILD:build-sanitize=build)
GEN := $(PLAIN)/gen
PREFIX ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

include mk/runtimes.mk
include mk/build.mk
include mk/bpf.mk
include mk/deps.mk
include mk/test.mk
include mk/fuzz.mk
include mk/install.mk
include mk/demo.mk
include mk/bench.mk
include mk/kernels.mk
include mk/lab.mk

.PHONY: all clean
all: $(BUILD)/strata

clean:
	rm -rf build build-sanitize
