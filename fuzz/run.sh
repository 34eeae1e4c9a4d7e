#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz/run.sh SECONDS fuzz/fuzz_NAME.c...
#
# Runs each target that `make fuzz-build` has built for SECONDS of CPU time from its corpus, fuzz/corpus/NAME/; for 0 seconds, once on
# each file of it. New inputs go to a temporary directory, so the corpus stays small; an input that crashes is kept in build-fuzz/.
# Status 1 when one did.
set -u
cd "$(dirname "$0")/.." || exit 2
seconds=${1:-}
case $seconds in '' | *[!0-9]*)
	echo "usage: fuzz/run.sh SECONDS fuzz/fuzz_NAME.c..." >&2
	exit 2
	;;
esac
shift
out=build-fuzz
status=0
for target in "$@"; do
	name=$(basename "$target" .c)
	name=${name#fuzz_}
	found=$(mktemp -d) || exit 1
	if [ "$seconds" = 0 ]; then
		what=(-verbosity=0 "fuzz/corpus/$name"/*)
	else
		export FUZZ_CPU_SECONDS=$seconds
		what=("$found")
		[ -d "fuzz/corpus/$name" ] && what+=("fuzz/corpus/$name")
	fi
	echo "# $name: $seconds s"
	if ! "$out/$name" -timeout=0 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$out/$name-" \
		"${what[@]}" >"$out/$name.log" 2>&1; then
		tail -40 "$out/$name.log" >&2
		status=1
	fi
	grep -E 'number_of_executed_units|peak_rss' "$out/$name.log" | sed 's/^/# /'
	rm -rf "$found"
done
exit $status
