# SPDX-License-Identifier: GPL-2.0-or-later
# Installation: the program, its man pages and shell completion.

.PHONY: install
install: all
	install -D -m 755 $(BUILD)/strata $(DESTDIR)$(PREFIX)/bin/strata
	for page in man/*.1; do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man1/$$(basename $$page) || exit 1; done
	for set in $(TAPSETS); do install -D -m 644 $$set $(DESTDIR)$(PREFIX)/share/strata/tapset/$$(basename $$set) || exit 1; done
	install -D -m 644 man/strata.bash-completion $(DESTDIR)$(PREFIX)/share/bash-completion/completions/strata
