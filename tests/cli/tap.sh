# SPDX-License-Identifier: GPL-2.0-or-later
# tap.sh: TAP for shell scripts. Source it, call ok or is, end with `tap_done`.
# shellcheck shell=sh

tap_run=0
tap_failed=0

# ok STATUS NAME: passes when STATUS is 0.
ok() {
	tap_run=$((tap_run + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_run - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_run - $2"
	fi
}

# is GOT EXPECTED NAME
is() {
	if [ "$1" = "$2" ]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		printf '%s\n' "got:      $1" "expected: $2" | sed 's/^/# /'
	fi
}

# like TEXT PATTERN NAME: PATTERN is an extended regular expression.
like() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		ok 0 "$3"
	else
		ok 1 "$3"
		printf '%s\n' "got: $1" "not like: $2" | sed 's/^/# /'
	fi
}

skip() {
	tap_run=$((tap_run + 1))
	echo "ok $tap_run - # skip $1"
}

tap_done() {
	echo "1..$tap_run"
	[ "$tap_failed" = 0 ]
}
