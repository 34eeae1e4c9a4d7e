#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Habits that a program can check.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/../cli/tap.sh"
cd "$(dirname "$0")/../.." || exit 1

# The project's own text files: tracked and new ones, or all of a tree without git. Corpora and recordings are data.
files() {
	{ git ls-files -co --exclude-standard 2>/dev/null || find . -type f ! -path './build*' ! -path './.git/*'; } |
		sed 's|^\./||' | grep -Ev '^fuzz/corpus/|^tests/.*/data/|^LICENSE$|\.(png|gz|xz|bin|svg|elf|so)$' | sort -u |
		while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}
list=$(files)

# in_files PATTERN COMMAND...: runs a command on the files whose names match.
in_files() {
	pattern=$1
	shift
	printf '%s\n' "$list" | grep -E "$pattern" | xargs -r -d '\n' "$@"
}

# none FOUND NAME: passes when nothing was found.
none() {
	is "$1" '' "$2"
}

none "$(in_files . grep -nIE '[[:blank:]]+$' /dev/null)" 'no blanks at the end of a line'
none "$(in_files '\.(c|h|def|mk|t|sh|py)$|^Makefile$' grep -L 'SPDX-License-Identifier: ')" 'every source says its licence'
none "$(in_files '\.[ch]$' awk 'FNR == 1 && !/SPDX-License-Identifier: / { print FILENAME }')" 'a C file in its first line'
# Packages come from Debian; nothing names another registry. The brackets keep these lines from finding themselves.
registries='pypi[.]org|pythonhosted[.]org|npmjs[.](org|com)|crates[.]io|docker[.]io|proxy[.]golang[.]org'
none "$(in_files . grep -nIE "$registries|rubygems[.]org|quay[.]io|ghcr[.]io" /dev/null)" 'no package registry is named'
none "$(in_files '\.([ch]|cpp)$' /usr/bin/python3 -c '
import sys
for name in sys.argv[1:]:
    for number, line in enumerate(open(name, encoding="utf-8"), 1):
        if len(line.rstrip("\n").expandtabs(8)) > 120: print("%s:%d" % (name, number))')" 'no line of C is over 120 columns'
none "$(in_files '^src/.*\.[ch]$' awk 'FNR == 1001 { print FILENAME }')" 'no source file is over 1,000 lines'
# What stands before an #include would be part of it. Lists of runtimes (.inc) use what stands before them.
none "$(in_files '^src/.*bpf/.*\.h$|^src/.*\.bpf\.c$' awk '
FNR == 1 { code = 0 }
/^(static|struct|union|enum|const|SEC|__noinline|char|typedef)/ { code = 1 }
code && /^#include .*\.(h|c)[">]/ { print FILENAME ":" FNR }')" 'BPF sources include at the top'
none "$(printf '%s\n' "$list" | grep -E '^tests/.*\.t$' |
	while read -r file; do [ -x "$file" ] || echo "$file"; done)" \
	'test scripts are executable'
tap_done
