# SPDX-License-Identifier: GPL-2.0-or-later
# CPythons of many kinds: make check-lab. tests/lab/lab.py makes them once, outside the tree (STRATA_LAB). What could not be
# made has failed, and the rest is tested.

STRATA_LAB ?= /var/tmp/strata-lab
DEB_LAB := dpkg-dev gpgv musl-tools clang-19 zlib1g-dev libffi-dev libsqlite3-dev libssl-dev

.PHONY: lab lab-deps check-lab
lab-deps:
	@mk/install-packages $(DEB_LAB)
lab: lab-deps
	STRATA_LAB=$(STRATA_LAB) tests/lab/lab.py
check-lab: tests-build lab-deps
	@rm -rf $(BUILD)/tap && mkdir -p $(BUILD)/tap
	STRATA=$(CURDIR)/$(BUILD)/strata BUILD=$(CURDIR)/$(BUILD) STRATA_LAB=$(STRATA_LAB) TAP_DIR=$(CURDIR)/$(BUILD)/tap \
		prove -e tests/keep-tap --timer tests/lab/lab.py tests/lab tests/inspect tests/embed tests/python; \
	status=$$?; tests/results $(BUILD)/tap; \
	STRATA=$(CURDIR)/$(BUILD)/strata STRATA_LAB=$(STRATA_LAB) tests/oracle/oracle.t --table && exit $$status
