#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --help, the manual pages and the shell completion name the same commands and the same options.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/tap.sh"
: "${STRATA:?names the program}"
man=$(dirname "$0")/../../man

# complete LINE: what completion offers at the end of a command line, a word per line.
complete_line() {
	bash -c '
		. "$1"
		read -ra COMP_WORDS <<<"$2"
		[[ $2 == *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_strata
		printf "%s\n" "${COMPREPLY[@]}"' - "$man/strata.bash-completion" "$1" | sort -u
}

# "-a, --all" of --help and ".It Fl a , -all" of mdoc, as one option per line.
options_of_help() {
	"$STRATA" "$1" --help | sed -nE 's/^  (-.|  ) ?,? *(--[a-z-]+).*/\1\n\2/p' | grep -- - | sort -u
}
options_of_man() {
	sed -nE 's/^\.It Fl //p' "$1" | sed -E 's/ (Ar|Ns|Op) .*//; s/ , /\n/g' | sed 's/^/-/' | sort -u
}

commands=$("$STRATA" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
like "$commands" '^record$' 'there are commands'
is "$(complete_line 'strata ' | grep -v ^-)" "$(printf '%s\nhelp\n' "$commands" | sort -u)" 'completion knows the commands'
is "$(complete_line 'strata help ')" "$(sort <<<"$commands")" 'and strata help'
is "$(sed -nE 's/^\.It Cm ([a-z]+).*/\1/p' "$man/strata.1" | sort)" "$(printf '%s\nhelp\n' "$commands" | sort -u)" \
	'strata.1 knows the commands'
is "$(complete_line 'strata -')" "$(options_of_man "$man/strata.1")" "strata's own options"

for command in $commands; do
	page=$man/strata-$command.1
	ok "$([ -f "$page" ]; echo $?)" "$command has a manual page"
	options=$(options_of_help "$command")
	ok "$([ "$(wc -l <<<"$options")" -gt 3 ]; echo $?)" "  $command --help has options"
	is "$(options_of_man "$page")" "$options" '  the page has the same options'
	is "$(complete_line "strata $command -")" "$options" '  and so has the completion'
	is "$("$STRATA" help "$command")" "$("$STRATA" "$command" --help)" "  strata help $command says the same"
	# The value's name, too.
	"$STRATA" "$command" --help | sed -nE 's/^  .*--([a-z-]+) ([A-Z]+).*/\1 \2/p' | while read -r name value; do
		grep -Eq "^\.It Fl (. , )?-$name Ar $value" "$page" || echo "--$name $value"
	done >"${TMPDIR:-/tmp}/strata-agree.$$"
	is "$(cat "${TMPDIR:-/tmp}/strata-agree.$$")" '' '  values have the same names'
	rm -f "${TMPDIR:-/tmp}/strata-agree.$$"
done

for page in "$man"/*.1; do
	if command -v groff >/dev/null && [ -e /usr/share/groff/current/tmac/doc.tmac ]; then
		is "$(groff -mandoc -Tutf8 -ww -Wrange -z "$page" 2>&1)" '' "$(basename "$page") formats without warnings"
	else
		skip 'no groff with mdoc'
	fi
done
tap_done
