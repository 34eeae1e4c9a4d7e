# SPDX-License-Identifier: GPL-2.0-or-later
# The fuzz targets, fuzz/fuzz_NAME.c, with libFuzzer, ASan and UBSan, into build-fuzz/NAME; CLANG=... names another compiler.

FUZZ_SRCS := $(wildcard fuzz/fuzz_*.c)
FUZZERS := $(FUZZ_SRCS:fuzz/fuzz_%.c=build-fuzz/%)
FUZZ_OBJS := $(LIB_SRCS:%.c=build-fuzz/%.o) build-fuzz/gen/profile.pb-c.o
FUZZ_CLANG := $(firstword $(wildcard /usr/bin/clang-14) $(CLANG))
FUZZ_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSTRATA_VERSION='"fuzz"' -Isrc -Ibuild/gen -Itests/unit -O1 -g -Wall \
	-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined $(PKG_CFLAGS)

.PHONY: fuzz fuzz-build
fuzz: fuzz-build
	@fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_SRCS)

fuzz-build: $(FUZZERS)

build-fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CLANG,$@)
	$(Q)$(FUZZ_CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

build-fuzz/gen/%.o: build/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

build-fuzz/libstrata.a: $(FUZZ_OBJS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(FUZZERS): build-fuzz/%: fuzz/fuzz_%.c build-fuzz/libstrata.a
	$(call say,LD,$@)
	$(Q)$(FUZZ_CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer -fuse-ld=lld -MMD -MP -MF $@.d -o $@ $< build-fuzz/libstrata.a $(PKG_LIBS)

$(FUZZ_OBJS): | $(GENERATED)
-include $(FUZZ_OBJS:.o=.d) $(FUZZERS:=.d)
