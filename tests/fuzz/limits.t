#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz/limits.c: a target ends after its seconds of CPU time, with status 0 and its figures; an input that does not end fails.
cd "$(dirname "$0")/../.." || exit 2
where=$(mktemp -d) || exit 2
trap 'rm -rf "$where"' EXIT
cat >"$where/target.c" <<'C'
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile int spins = getenv("SPINS") && size && data[0] == 'x';

	while (spins)
		;
	return 0;
}
C
number=0
ok() { # STATUS WORDS [LOG]
	number=$((number + 1))
	[ "$1" = 0 ] && echo "ok $number - $2" && return
	echo "not ok $number - $2"
	[ -z "${3:-}" ] || tail -20 "$3" | sed 's/^/# /'
}

echo "1..5"
clang -Ifuzz -DINPUT_SECONDS=1 -fsanitize=fuzzer -Wl,--wrap=LLVMFuzzerTestOneInput -o "$where/target" "$where/target.c" fuzz/limits.c \
	>"$where/log" 2>&1
ok $? "a target, built" "$where/log"
cd "$where" || exit 2
FUZZ_CPU_SECONDS=1 ./target -timeout=0 -print_final_stats=1 >log 2>&1
ok $? "it ends after a second of CPU time" log
grep -q 'number_of_executed_units' log
ok $? "with its figures" log
mkdir corpus && echo x >corpus/endless
SPINS=1 ./target -timeout=0 -artifact_prefix=kept- corpus >log 2>&1
status=$?
[ $status != 0 ] && grep -q 'limits: an input took too much CPU time' log
ok $? "an input that does not end fails, status $status" log
cmp -s kept-crash-* corpus/endless
ok $? "and is kept" log
