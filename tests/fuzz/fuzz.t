#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every fuzz target: its corpus under the sanitizers, then fuzzing, FUZZ_SECONDS (15) of CPU time, two targets at a time. That is one run:
# libFuzzer begins with every file of the corpus, and says INITED when it is through.
cd "$(dirname "$0")/../.." || exit 2
seconds=${FUZZ_SECONDS:-15}
targets=(fuzz/fuzz_*.c)
number=0
failed=0

ok() { # STATUS WORDS [LOG]
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		failed=1
		echo "not ok $number - $2"
		[ -z "${3:-}" ] || tail -30 "$3" | sed 's/^/# /'
	fi
}

echo "1..$((2 * ${#targets[@]}))"
logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT
make --no-print-directory -s fuzz-build >"$logs/build" 2>&1 || { sed 's/^/# /' "$logs/build"; echo "Bail out! the fuzz targets do not build"; exit 1; }
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} sh -c 'log=$3/$(basename "$2").log
	fuzz/run.sh "$1" "$2" >"$log" 2>&1
	echo $? >"$log.status"' sh "$seconds" {} "$logs"
for target in "${targets[@]}"; do
	name=$(basename "$target")
	stem=${name%.c}
	read=$(sed -nE 's/.*INFO: seed corpus: files: ([0-9]+) .*/\1/p' "build-fuzz/${stem#fuzz_}.log")
	files=$(find "fuzz/corpus/${stem#fuzz_}" -type f | wc -l)
	[ "${read:-0}" = "$files" ] && grep -q 'INITED' "build-fuzz/${stem#fuzz_}.log"
	ok $? "$stem: its corpus, $files files, under the sanitizers" "$logs/$name.log"
	runs=$(sed -n 's/.*number_of_executed_units: *//p' "$logs/$name.log")
	ok "$(cat "$logs/$name.log.status")" "$name: $seconds s of CPU time, ${runs:-no} runs" "$logs/$name.log"
done
exit $failed
