# SPDX-License-Identifier: GPL-2.0-or-later
# The fuzz targets, fuzz/fuzz_NAME.c, with libFuzzer, ASan and UBSan, into build-fuzz/NAME. They are linked with the library
# of the sanitized build, and with fuzz/limits.c in front of their function: without SANITIZE=1 another make makes them.

FUZZ_SRCS := $(wildcard fuzz/fuzz_*.c)
FUZZERS := $(FUZZ_SRCS:fuzz/fuzz_%.c=build-fuzz/%)

.PHONY: fuzz fuzz-build
fuzz: fuzz-build
	@fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_SRCS)

ifneq ($(SANITIZE),)
fuzz-build: $(FUZZERS)

FUZZ_LIMITS := $(BUILD)/fuzz/limits.o
-include $(FUZZ_LIMITS:.o=.d)

$(FUZZERS): build-fuzz/%: fuzz/fuzz_%.c $(FUZZ_LIMITS) $(LIBSTRATA)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(STRATA_CFLAGS) -Itests/unit -pie $(SANITIZERS) -fsanitize=fuzzer -fuse-ld=lld -Wl,--wrap=LLVMFuzzerTestOneInput \
		-MMD -MP -MF $@.d -o $@ $< $(FUZZ_LIMITS) $(LIBSTRATA) $(PKG_LIBS)

-include $(FUZZERS:=.d)
else
.PHONY: $(FUZZERS)
fuzz-build $(FUZZERS):
	@$(MAKE) --no-print-directory SANITIZE=1 $@
endif
