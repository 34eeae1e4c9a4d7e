#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every interpreter at hand that has debug information: gdb and strata agree on where its fields are.
set -u
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

if ! command -v gdb >/dev/null; then
	echo '1..0 # SKIP gdb is not installed'
	exit
fi
"$here/interpreters" | cut -f 3 | sort -u >"$work/files"
while read -r file; do
	readelf -SW "$file" | grep -q '\.debug_info' || continue
	count=$((count + 1))
	gdb -batch -nx -x "$here/layout_from_debuginfo.py" "$file" >"$work/all" 2>"$work/gdb.err"
	"$BUILD/tests/python/show_interpreter" "$file" >"$work/strata" 2>&1
	grep -v '^runtime_' "$work/all" | sort >"$work/gdb"
	# interpreters.head, as an address.
	offset=$(sed -n 's/^runtime_interp_head //p' "$work/all")
	runtime=$(readelf -sW "$file" | awk '$8 == "_PyRuntime" { print $2; exit }')
	head=$(readelf -sW "$file" | awk '$8 == "interp_head" { print $2; exit }')
	[ -n "$runtime" ] && head=$(printf '%x' $((0x$runtime + offset)))
	echo "interp_head 0x$(echo "$head" | sed 's/^0*//')" >>"$work/gdb"
	offset=$(sed -n 's/^runtime_tstate_current //p' "$work/all")
	if [ -n "$runtime" ] && [ "$offset" != 65535 ]; then
		printf 'current_tstate %#x\n' $((0x$runtime + offset)) >>"$work/gdb"
	fi
	sort -o "$work/gdb" "$work/gdb"
	missing=$(sort "$work/strata" | comm -23 "$work/gdb" -)
	fields=$(wc -l <"$work/gdb")
	version=$(sed -n 's/^version //p' "$work/strata")
	if [ "$fields" -ge 60 ] && [ -z "$missing" ]; then
		echo "ok $count - Python $version: $fields facts agree ($file)"
	else
		echo "not ok $count - Python $version: $fields facts ($file)"
		echo "$missing" | sed 's/^/# gdb says: /'
		sed 's/^/# /' "$work/gdb.err"
	fi
done <"$work/files"
if [ "$count" = 0 ]; then
	echo '1..0 # SKIP no CPython 3.6 or later with debug information on this machine'
else
	echo "1..$count"
fi
