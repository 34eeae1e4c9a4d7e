#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a run of the suite says at its end (tests/keep-tap, tests/results): a test that failed, one that nobody ran, and one that
# something ended are failures.
cd "$(dirname "$0")/../.." || exit 2
where=$(mktemp -d) || exit 2
trap 'rm -rf "$where"' EXIT
export TAP_DIR=$where/tap
number=0 failed=0

says() { # STATUS PATTERN WORDS TEST...: what results says of these
	local status=$1 pattern=$2 words=$3 said
	shift 3
	said=$(tests/results "$TAP_DIR" "$@" 2>&1)
	local got=$?
	number=$((number + 1))
	if [ $got = "$status" ] && grep -qE "$pattern" <<<"$said"; then
		echo "ok $number - $words"
	else
		failed=1
		printf 'not ok %d - %s\n# status %d\n%s\n' $number "$words" $got "${said//#/}"
	fi
}

run() { # NAME LINES: a test that says so
	mkdir -p "$TAP_DIR"
	printf '#!/bin/sh\n%s\n' "$2" >"$where/$1"
	chmod +x "$where/$1"
	tests/keep-tap "$where/$1" >"$where/said" 2>&1
}

run good.t 'echo ok 1; echo ok 2; echo 1..2'
says 0 '^2 passed, 0 failed' "all passed" "$where/good.t"
says 1 'other\.t: not ok - it was not run' "one that was not run" "$where/good.t" "$where/other.t"
says 0 '^2 passed, 0 failed' "none is named"
run short.t 'echo ok 1; echo 1..2'
says 1 'short\.t.*not ok - 2 checks planned, 1 made' "one that made fewer checks than it planned" "$where/short.t"
run short.t 'echo ok 1; echo 1..1'
sed -i '/^# took/d' "$TAP_DIR"/*short.t
says 1 'short\.t: not ok - .*did not come to its end' "one that something ended" "$where/short.t"
run short.t 'echo not ok 1 - why; echo "# because"; echo 1..1; exit 1'
says 1 '^# because' "one that failed, with its words" "$where/short.t"
echo "1..$number"
exit $failed
