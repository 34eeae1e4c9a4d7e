#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Through a link named bpftrace strata takes bpftrace's command line. Needs root.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/tap.sh"
: "${STRATA:?names the program}"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ln -s "$(realpath "$STRATA")" "$dir/bpftrace"

like "$("$dir/bpftrace" -V)" '^bpftrace v[0-9]+\.[0-9]+\.[0-9]+ ' '-V: a version as tools look for it'
like "$("$dir/bpftrace" --info)" '^  OS: Linux ' '--info: the kernel'
is "$("$dir/bpftrace" --info)" "$("$STRATA" trace --info)" 'strata trace has --info, too'
is "$("$dir/bpftrace" -q -e 'BEGIN { print($1 + 1); exit(); }' 41)" 42 '-e and a positional argument'
printf '#!%s -q\nBEGIN { printf("%%s\\n", str($1)); exit(); }\n' "$dir/bpftrace" >"$dir/script.bt"
chmod +x "$dir/script.bt"
is "$("$dir/script.bt" word)" word 'a script that names it'
is "$("$dir/script.bt" word -B none)" word '  with an option behind the argument'
is "$("$STRATA" trace "$dir/script.bt" -q word)" word '  strata trace takes options behind the file, too'
is "$("$STRATA" trace -q "$dir/script.bt" -- -q)" -q '  and none behind --'
like "$("$dir/bpftrace" --help)" '^usage: bpftrace \[OPTIONS\]' '--help: under the name that it was called by'
for wrong in '--no-feature nope' '--traceable-functions /nowhere' '--dwarf-pid 4999999' '--dwarf-pid x'; do
	# shellcheck disable=SC2086
	"$dir/bpftrace" $wrong -e 'BEGIN { exit(); }' 2>"$dir/err"
	is $? 1 "$wrong: status 1"
	like "$(cat "$dir/err")" "^ERROR: .*${wrong##* }" '  and says what is wrong'
done
echo vfs_read >"$dir/functions"
is "$("$dir/bpftrace" -q --traceable-functions "$dir/functions" -e 'BEGIN { print(1); exit(); }')" 1 '--traceable-functions: a file'
"$dir/bpftrace" --no-such 2>"$dir/err"
is $? 1 'an option that is not there: status 1'
like "$(cat "$dir/err")" '^ERROR: .*--no-such' '  and it is named'
tap_done
