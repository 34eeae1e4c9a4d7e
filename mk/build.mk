# SPDX-License-Identifier: GPL-2.0-or-later
# Compiling and linking: every .c under src/ but the BPF programs goes into libstrata.a; src/cli on top is the program.

comma := ,
# V=1 shows whole command lines.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' $(1) $(2))
# What was compiled before, in another folder or before a clean, is not compiled again where ccache is installed; CCACHE= is without.
# What is new it compiles at once, and takes what that has read from the .d file, which has to name all headers (-MD): to run the
# preprocessor before took a seventh of the build.
CCACHE := $(shell command -v ccache)
export CCACHE_DEPEND := 1
CC := $(strip $(CCACHE) gcc)
# libclang-rt-14-dev is what brings the sanitizers (mk/deps.mk); CLANG=... names another compiler.
SANITIZE_CLANG = $(if $(wildcard /usr/bin/clang-14),$(strip $(CCACHE) /usr/bin/clang-14),$(CLANG))
PKGS := libbpf libdw libprotobuf-c zlib libxxhash liblzma ncursesw
# Not linked with: loaded when it is needed (base/disassembler.h).
PKGS_LOADED := capstone
WARNINGS := -Wall -Wextra -Werror=incompatible-pointer-types -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef \
	-Wno-missing-field-initializers
ifneq ($(SANITIZE),)
# One sanitized build, of the unit tests and of the fuzz targets: clang's, with what libFuzzer counts. clang 14 has no macro
# of its own for AddressSanitizer; this is gcc's. Of a format that comes with a va_list gcc says nothing.
override CC = $(SANITIZE_CLANG)
SANITIZERS := -fsanitize=address$(comma)undefined$(comma)fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	-D__SANITIZE_ADDRESS__
WARNINGS += -Wno-format-nonliteral -Wno-string-concatenation
endif
CFLAGS ?= $(if $(SANITIZE),-O1 -gline-tables-only,-O2 -g)
STRATA_CFLAGS = -std=gnu17 -D_GNU_SOURCE -DSTRATA_VERSION='"$(VERSION)"' -Isrc $(RUNTIME_CFLAGS) -I$(GEN) $(WARNINGS) \
	-fstack-protector-strong -fPIE $(SANITIZERS) $(PKG_CFLAGS) $(CFLAGS)
# A runtime of the sanitizers that is linked in has functions without debug information: some tests read their own program.
SANITIZE_LDFLAGS = -shared-libasan -Wl,-rpath,$(shell $(CC) -print-runtime-dir)
STRATA_LDFLAGS = -pie -Wl,-z,relro,-z,now $(SANITIZERS) $(if $(SANITIZE),$(SANITIZE_LDFLAGS)) $(LDFLAGS)
# Evaluated when first used, so that `make deps` works on a machine without the libraries.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PKGS) $(PKGS_LOADED)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PKGS)) -liberty -lm)$(PKG_LIBS)

LIB_SRCS := $(filter-out %.bpf.c,$(wildcard src/*/*.c src/arch/*/*.c src/runtime/*.c $(addsuffix /*.c,$(RUNTIME_FOLDERS)) src/lang/*/*.c src/lang/dialect/*/*.c src/lang/dialect/*/*/*.c))
LIB_SRCS := $(filter-out src/cli/%,$(LIB_SRCS))
CLI_SRCS := $(wildcard src/cli/*.c)
LIB_OBJS := $(LIB_SRCS:%.c=$(BUILD)/%.o) $(BUILD)/gen/profile.pb-c.o
CLI_OBJS := $(CLI_SRCS:%.c=$(BUILD)/%.o)
LIBSTRATA := $(BUILD)/libstrata.a

# Sanitized, only what a fuzzer runs (libFuzzer's -print_coverage=1) or what takes time in unit tests is optimised: the rest is
# compiled in a third of the time. The compilers of scripts, a third of all, are a little: ASan's checks are calls (they are the same
# checks), and the code generator does not look for better instructions. That takes two thirds of the time to compile, and their
# fuzzers have 3 to 17 % less runs; those of unwind/ and dwarf/ would have up to 40 % less.
ifneq ($(SANITIZE),)
UNOPTIMISED := $(addsuffix /%,calls cli doctor engine export inspect kernel record stack top trace) \
	$(addprefix lang/dialect/,d/print_a% d/print_t% d/translat% stap/translat%)
OPTIMISED := $(addprefix engine/,file_names file_rows merge slices watch_learn) $(addprefix kernel/,tables tables_publish tables_rules)
BY_CALLS := -mllvm -asan-instrumentation-with-call-threshold=0
$(BUILD)/src/lang/%.o: PLAINLY := $(BY_CALLS) -mllvm -fast-isel
$(UNOPTIMISED:%=$(BUILD)/src/%.o): PLAINLY := -O0 -fno-sanitize=fuzzer-no-link $(BY_CALLS)
$(OPTIMISED:%=$(BUILD)/src/%.o): PLAINLY :=
endif
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(STRATA_CFLAGS) $(PLAINLY) -MD -MP -c $< -o $@

$(BUILD)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu17 $(SANITIZERS) -fPIE $(CFLAGS) -I$(GEN) -c $< -o $@

$(GEN)/profile.pb-c.c $(GEN)/profile.pb-c.h &: src/export/profile.proto
	@mkdir -p $(GEN)
	$(call say,PROTOC,$@)
	$(Q)protoc-c --proto_path=src/export --c_out=$(GEN) $<

# A file that is compiled into the program as bytes: build/gen/NAME.inc, a C array initialiser.
$(GEN)/%.inc: src/export/%
	@mkdir -p $(@D)
	$(Q)xxd -i < $< > $@

$(GEN)/%.inc: src/calls/%
	@mkdir -p $(@D)
	$(Q)xxd -i < $< > $@

# The version of cached answers: a checksum of what they depend on, so that no change of the analysis can be forgotten.
# src/abi has the format of rules, src/engine/watch_learn.c that of what was learnt of a file. tests/style/analyser.t
ANALYSER_SRCS := $(sort $(wildcard src/elf/*.[ch] src/unwind/*.[ch] $(addsuffix /*.[ch],$(RUNTIME_FOLDERS)) src/runtime/python/*.def \
	src/arch/*.[ch] src/arch/*/*.[ch] src/abi/*.h src/abi/*.def) src/engine/watch_learn.c) $(GEN)/runtime_names.inc
$(GEN)/analyser.inc: $(ANALYSER_SRCS)
	@mkdir -p $(@D)
	@cat $^ | sha256sum | sed -E 's/^(.{16}).*/#define ANALYSER_VERSION 0x\1ull/' > $@

# The machine's system calls, out of the C library's headers: SYSCALL(NAME, NUMBER).
$(GEN)/syscalls.inc:
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -dM -E - | \
		sed -nE 's/^#define __NR_([a-z_0-9]+) ([0-9]+)$$/SYSCALL(\1, \2)/p' | sort > $@

# These, and the pages that are embedded: the flame graph's, and that of calls.
PAGE_PARTS := $(patsubst src/export/%,%,$(wildcard src/export/page/*)) $(patsubst src/calls/%,%,$(wildcard src/calls/page/*))
TAPSETS := $(wildcard src/lang/dialect/stap/tapset/*.stp)
GENERATED_BYTES := $(GEN)/analyser.inc $(GEN)/syscalls.inc $(PAGE_PARTS:%=$(GEN)/%.inc) $(GEN)/tapset.inc

# SystemTap's aliases that come with strata, one file behind the other.
$(GEN)/tapset.inc: $(TAPSETS)
	@mkdir -p $(@D)
	$(Q)cat $^ | xxd -i > $@

$(LIBSTRATA): $(LIB_OBJS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

# Debug information stays in the program, compressed: a crash can be read where it happened.
$(BUILD)/strata: $(CLI_OBJS) $(LIBSTRATA)
	$(call say,LD,$@)
	$(Q)$(CC) $(STRATA_LDFLAGS) -Wl,--compress-debug-sections=zlib -o $@ $(CLI_OBJS) $(LIBSTRATA) $(PKG_LIBS)

-include $(LIB_OBJS:.o=.d) $(CLI_OBJS:.o=.d)

compile_commands.json:
	bear -- $(MAKE) -B all
