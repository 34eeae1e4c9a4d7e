# SPDX-License-Identifier: GPL-2.0-or-later
# `strata record` and `strata trace` on Debian's kernels under QEMU's emulation: make check-kernels [KERNELS="5.10 6.1 6.12 newest"].

KERNELS ?= 5.10 6.1 6.12 newest

.PHONY: check-kernels
check-kernels: all
	@mk/install-packages $(DEB_KERNELS)
	STRATA=$(CURDIR)/$(BUILD)/strata BUILD=$(CURDIR)/$(BUILD) KERNELS="$(KERNELS)" TEST_SCALE=4 prove -e '' -v --timer tests/kernels/kernels.t
