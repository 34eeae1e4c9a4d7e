# SPDX-License-Identifier: GPL-2.0-or-later
# A flame graph of a bundled program, from nothing: `sudo make demo`.

DEMO_SECONDS ?= 5

.PHONY: demo
demo:
	@mk/install-packages $(DEB_BUILD) python3
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@echo
	$(BUILD)/strata record -F 199 -t -o $(BUILD)/demo.html -o $(BUILD)/demo.pb.gz -o $(BUILD)/demo.folded \
		--stats $(BUILD)/demo.json -- python3 examples/demo/app.py $(DEMO_SECONDS)
	@echo
	@echo "The flame graph: $(CURDIR)/$(BUILD)/demo.html  (open it in a browser)"
