# SPDX-License-Identifier: GPL-2.0-or-later
# Tests speak TAP and run under prove:
#   tests/unit/test_*.c   unit tests, linked with libstrata.a; no root
#   tests/*/*.t           scripts, executable; they find the program through STRATA
#   fuzz/fuzz_*.c         fuzz targets (LLVMFuzzerTestOneInput; mk/fuzz.mk), run by tests/fuzz/fuzz.t

UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_TESTS := $(UNIT_SRCS:%.c=$(BUILD)/%)
# How long each target is fuzzed: seconds in `make check`, a minute in `make check-long` and `make fuzz`.
FUZZ_SECONDS ?= $(if $(filter fuzz check-long,$(MAKECMDGOALS)),60,15)
# How long windows are collected: some seconds, or ten minutes.
WINDOWS_SECONDS ?= $(if $(filter check-long,$(MAKECMDGOALS)),600,15)
# How much longer than in `make check` the oracle and storms sample (tests/tap.py).
TEST_SCALE ?= $(if $(filter check-long,$(MAKECMDGOALS)),4,1)
# How often tests/hostile/analyser.t kills the process that reads files.
KILLS ?= $(if $(filter check-long,$(MAKECMDGOALS)),100,20)
TEST_SCRIPTS := $(sort $(wildcard tests/*/*.t))
# One test more than there are cores runs at a time: most of what a test takes is waiting. Of leak.t's 155 s 33 were CPU time,
# of analyser.t's 174 s 42, of offcpu.t's 99 s 26. It is what each of them must stand: two busy neighbours. The unit tests are
# last: they are short, so that no core waits for a long one. But these run one after the other, behind the others: they
# keep both cores busy themselves (the first line), or need all that strata keeps for the whole machine, or its memory.
# What failed beside others is run again, alone: tests/again says what, and why. What the cores have left while tests wait goes
# to what is in no hurry: the sanitized build, and then the fuzzers, whose limits are in CPU time (fuzz/limits.c). Where other
# programs leave nothing, both go on with all others' priority once what they stand back for is done. They are a group of processes
# of their own, but of this session: the kernel weighs nice values within a session only (autogroups).
TEST_JOBS ?= $(shell expr $$(nproc) + 1)
ALONE := tests/oracle/oracle.t tests/kernels/kernels.t tests/lang/printing.t tests/chaos/rate.t \
	tests/hostile/tables.t tests/chaos/storms.t tests/chaos/memory.t
SPARE := tests/fuzz/fuzz.t

# lld links a test in a tenth of the time that GNU ld takes.
TEST_LDFLAGS = $(STRATA_LDFLAGS) -fuse-ld=lld

# What a test itself does takes no time, but for two when sanitized; to compile it without optimising takes a quarter. Some tests read
# their own program's types.
UNIT_LEVEL := -O0
ifneq ($(SANITIZE),)
UNIT_LEVEL += -fno-sanitize=fuzzer-no-link $(BY_CALLS)
$(BUILD)/tests/unit/test_native_random.o $(BUILD)/tests/unit/test_tables.o: UNIT_LEVEL := -O1 -fno-sanitize=fuzzer-no-link
endif
UNIT_OBJS := $(UNIT_TESTS:=.o)
.SECONDARY: $(UNIT_OBJS)
$(BUILD)/tests/unit/%.o: tests/unit/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(STRATA_CFLAGS) $(UNIT_LEVEL) -g -Itests/unit -DTEST_DIR='"$(CURDIR)/tests"' -MD -MP -c $< -o $@
-include $(UNIT_OBJS:.o=.d)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIBSTRATA)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $< $(LIBSTRATA) $(PKG_LIBS)

.PHONY: check check-long check-unit unit-build check-all tests-build
tests-build: all $(UNIT_TESTS)

unit-build: $(UNIT_TESTS)

check-unit: tests-build
	prove -e '' $(UNIT_TESTS)

# Everything, on a machine that may have nothing installed yet.
check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(MAKE) --no-print-directory check-all

# The long form: more fuzzing, longer samplings, all kernels.
check-long: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(MAKE) --no-print-directory check-all FUZZ_SECONDS=$(FUZZ_SECONDS) \
		WINDOWS_SECONDS=$(WINDOWS_SECONDS) TEST_SCALE=$(TEST_SCALE) KILLS=$(KILLS) KERNELS="$(KERNELS)"

check-all:
	@$(MAKE) --no-print-directory -j$$(nproc) tests-build
	@rm -rf $(BUILD)/tap $(BUILD)/sanitized && mkdir -p $(BUILD)/tap
	@export STRATA=$(CURDIR)/$(BUILD)/strata BUILD=$(CURDIR)/$(BUILD) \
		FUZZ_SECONDS=$(FUZZ_SECONDS) WINDOWS_SECONDS=$(WINDOWS_SECONDS) TEST_SCALE=$(TEST_SCALE) KILLS=$(KILLS) \
		TAP_DIR=$(CURDIR)/$(BUILD)/tap; \
		nice -n 19 perl -e 'setpgrp; exec @ARGV' sh -c 'make --no-print-directory -j$$(nproc) SANITIZE=1 unit-build fuzz-build >$(BUILD)/sanitized.log 2>&1 \
			&& touch $(BUILD)/sanitized && prove -e tests/keep-tap --timer $(SPARE) >$(BUILD)/spare.log 2>&1' & \
		spare=$$!; trap "kill -- -$$spare; exit 1" INT TERM; \
		nice_of_spare() { renice $$1 -g $$spare >/dev/null 2>&1 || :; }; \
		prove -e tests/keep-tap --timer -j$(TEST_JOBS) $(filter-out $(ALONE) $(SPARE),$(TEST_SCRIPTS)) $(UNIT_TESTS); \
		nice_of_spare 0; \
		while [ ! -e $(BUILD)/sanitized ]; do \
			kill -0 $$spare 2>/dev/null || { cat $(BUILD)/sanitized.log; exit 1; }; \
			sleep 1; \
		done; \
		nice_of_spare 19; \
		prove -e tests/keep-tap --timer -j$(TEST_JOBS) $(UNIT_SRCS:%.c=build-sanitize/%); \
		prove -e tests/keep-tap --timer $(ALONE); \
		nice_of_spare 0; \
		wait $$spare; cat $(BUILD)/spare.log; \
		tests/again $(BUILD)/tap; \
		tests/results $(BUILD)/tap $(TEST_SCRIPTS) $(UNIT_TESTS) $(UNIT_SRCS:%.c=build-sanitize/%)

# Programs that test scripts drive, linked with libstrata.a.
TEST_TOOL_SRCS := $(wildcard tests/elf/*.c tests/python/*.c tests/export/*.c tests/chaos/*_*.c)
TEST_TOOLS := $(TEST_TOOL_SRCS:%.c=$(BUILD)/%)
$(TEST_TOOLS): $(BUILD)/%: %.c $(LIBSTRATA)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(STRATA_CFLAGS) $(TEST_LDFLAGS) -o $@ $< $(LIBSTRATA) $(PKG_LIBS)
tests-build: $(TEST_TOOLS) $(BPF_OTHERS)
