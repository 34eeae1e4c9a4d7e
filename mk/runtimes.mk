# SPDX-License-Identifier: GPL-2.0-or-later
# The runtimes that are built in (src/runtime/runtime.h): a folder each, below src/runtime, or below tests/runtime one
# that only a test builds: make BUILD=build-toy RUNTIMES="python go sbcl toy". From this list are made:
#
#   runtime_names.inc   RUNTIMES(X), in all of strata
#   runtime_states.inc  what walks keep: NAME/bpf/state.h, and SECOND_STACKS(X), IN_STACKS(X)
#   runtime_walks.inc   second stacks: NAME/bpf/walk.h
#   runtime_steps.inc   frames on the native stack: NAME/bpf/step.h

RUNTIMES := python go sbcl
RUNTIME_FOLDERS := $(foreach name,$(RUNTIMES),$(firstword $(wildcard src/runtime/$(name) tests/runtime/$(name))))
RUNTIME_HALF = $(foreach name,$(RUNTIMES),$(if $(wildcard $(filter %/$(name),$(RUNTIME_FOLDERS))/bpf/$(1).h),$(name)))
SECOND_STACKS := $(call RUNTIME_HALF,walk)
IN_STACKS := $(call RUNTIME_HALF,step)
RUNTIME_LISTS := $(patsubst %,$(GEN)/runtime_%.inc,names states walks steps)
# A folder of tests/ is found as src/runtime/ is.
RUNTIME_CFLAGS := $(if $(filter tests/%,$(RUNTIME_FOLDERS)),-Itests)

HASH := \#
runtime_list = printf '$(HASH)define %s(X)$(foreach name,$(2), X($(name)))\n' $(1)
runtime_includes = $(foreach name,$(1),printf '$(HASH)include "runtime/%s/bpf/%s.h"\n' $(name) $(2);)

$(GEN)/runtime_names.inc: mk/runtimes.mk
	@mkdir -p $(@D)
	@$(call runtime_list,RUNTIMES,$(RUNTIMES)) > $@
$(GEN)/runtime_states.inc: mk/runtimes.mk
	@mkdir -p $(@D)
	@{ $(call runtime_includes,$(call RUNTIME_HALF,state),state) $(call runtime_list,SECOND_STACKS,$(SECOND_STACKS)); \
		$(call runtime_list,IN_STACKS,$(IN_STACKS)); } > $@
$(GEN)/runtime_walks.inc: mk/runtimes.mk
	@mkdir -p $(@D)
	@{ $(call runtime_includes,$(SECOND_STACKS),walk) } > $@
$(GEN)/runtime_steps.inc: mk/runtimes.mk
	@mkdir -p $(@D)
	@{ $(call runtime_includes,$(IN_STACKS),step) } > $@
