#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every fuzz target: its corpus under the sanitizers, then FUZZ_SECONDS (15) of fuzzing, two targets at a time.
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
run_all() { # SECONDS KIND: fuzz/run.sh for each target, its log and its status
	printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} sh -c 'log=$3/$(basename "$2").$4
		fuzz/run.sh "$1" "$2" >"$log" 2>&1
		echo $? >"$log.status"' sh "$1" {} "$logs" "$2"
}

run_all 0 replay
for target in "${targets[@]}"; do
	name=$(basename "$target")
	ok "$(cat "$logs/$name.replay.status")" "${name%.c}: its corpus, under the sanitizers" "$logs/$name.replay"
done
run_all "$seconds" log
for target in "${targets[@]}"; do
	name=$(basename "$target")
	runs=$(sed -n 's/.*number_of_executed_units: *//p' "$logs/$name.log")
	ok "$(cat "$logs/$name.log.status")" "$name: $seconds s, ${runs:-no} runs" "$logs/$name.log"
done
exit $failed
