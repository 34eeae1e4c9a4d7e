# SPDX-License-Identifier: GPL-2.0-or-later
# The BPF programs: clang → object → skeleton header. Their types come from this kernel's BTF. They are the same with
# SANITIZE=1, and so is all that is generated: both builds have them from PLAIN.

CLANG := $(strip $(CCACHE) clang)
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
BPF_SRCS := $(wildcard src/bpf/*.bpf.c)
BPF_OBJS := $(BPF_SRCS:%.bpf.c=$(PLAIN)/%.bpf.o)
BPF_SKELETONS := $(BPF_SRCS:src/bpf/%.bpf.c=$(GEN)/%.skel.h)
.SECONDARY: $(BPF_OBJS)
# The machine that they are for, as libbpf's headers and arch/target.h call it.
BPF_ARCH := $(if $(filter aarch64,$(shell uname -m)),arm64,x86)
BPF_CFLAGS := -target bpf -mcpu=v3 -std=gnu17 -O2 -g -Wall -Wextra -Wno-unused-parameter -Isrc $(RUNTIME_CFLAGS)

$(GEN)/vmlinux.h:
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) btf dump file /sys/kernel/btf/vmlinux format c > $@.tmp
	@# A type that the sampler names and an older kernel's BTF lacks; only newer kernels look at it.
	@grep -q '^struct bpf_task_work {' $@.tmp || \
		sed -i '$$i struct bpf_task_work { __u64 opaque; } __attribute__((aligned(8)));' $@.tmp
	$(Q)mv $@.tmp $@

# Those types are 2.8 MB, which all objects begin with: read once, and gone when make ends, so that it fits no other compiler or
# folder. What is compiled is the same. ccache takes such a file by its content. The folder's own name in a .d file would be another.
BPF_TYPES := $(GEN)/vmlinux.h.pch
.INTERMEDIATE: $(BPF_TYPES)
$(BPF_TYPES): $(GEN)/vmlinux.h
	$(Q)$(CLANG) $(BPF_CFLAGS) -Xclang -fno-pch-timestamp -x c-header $< -o $@
define bpf_compile
	@mkdir -p $(@D)
	$(call say,CLANG,$@)
	$(Q)CCACHE_NODEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros $(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_$(1) -I$(GEN) -include-pch $(BPF_TYPES) \
		-MMD -MP -MT $@ -MF $(@:.o=.d) -c $(2) -o $@
	@sed -i 's| $(CURDIR)/| |' $(@:.o=.d)
endef

$(PLAIN)/%.bpf.o: %.bpf.c $(GEN)/vmlinux.h | $(RUNTIME_LISTS) $(BPF_TYPES)
	$(call bpf_compile,$(BPF_ARCH),$<)

# The same for other machines, for tests/arch/bpf.t: vmlinux.h is this kernel's, but what is read of a machine's own types
# is declared in src/arch/NAME/kernel.h and relocated.
$(PLAIN)/bpf/%.bpf.o: $(GEN)/vmlinux.h | $(RUNTIME_LISTS) $(BPF_TYPES)
	$(call bpf_compile,$(firstword $(subst /, ,$*)),$(patsubst $(firstword $(subst /, ,$*))/%,%,$*).bpf.c)

$(GEN)/%.skel.h: $(PLAIN)/src/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $(GEN)/$*.linked.o $<
	$(Q)$(BPFTOOL) gen skeleton $(GEN)/$*.linked.o name $*_bpf > $@.tmp
	$(Q)mv $@.tmp $@

# The runtime library of traced programs: objects that are linked at run time (src/lang/gen/runtime.c).
RUNTIME_SRCS := $(wildcard src/lang/rt/*.bpf.c)
RUNTIME_OBJS := $(RUNTIME_SRCS:%.bpf.c=$(PLAIN)/%.bpf.o)
.SECONDARY: $(RUNTIME_OBJS)
$(GEN)/rt_%.inc: $(PLAIN)/src/lang/rt/rt_%.bpf.o
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $(GEN)/rt_$*.linked.o $<
	$(Q)xxd -i < $(GEN)/rt_$*.linked.o > $@

BPF_OTHERS := $(foreach arch,$(filter-out $(BPF_ARCH),x86 arm64),$(patsubst %.bpf.c,$(PLAIN)/bpf/$(arch)/%.bpf.o,$(BPF_SRCS) $(RUNTIME_SRCS)))

-include $(BPF_OBJS:.o=.d) $(RUNTIME_OBJS:.o=.d) $(BPF_OTHERS:.o=.d)

# What an object includes and a rule writes stands before every object: which of them reads it, its .d file says once it
# is there, and a file that moves from one source to another needs no line here.
GENERATED := $(GEN)/profile.pb-c.h $(BPF_SKELETONS) $(RUNTIME_SRCS:src/lang/rt/%.bpf.c=$(GEN)/%.inc) \
	$(GENERATED_BYTES) $(RUNTIME_LISTS)
$(LIB_OBJS) $(CLI_OBJS): | $(GENERATED)
