#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The proof of lines: for every interpreter at hand, every code unit of its standard library has the line that the
# interpreter itself gives.
set -u
here=$(dirname "$0")
list=$(mktemp)
trap 'rm -f "$list" "$list.out" "$list.err"' EXIT
"$here/interpreters" >"$list"
count=0
tab=$(printf '\t')
while IFS="$tab" read -r root program file; do
	count=$((count + 1))
	{
		if [ "$root" = / ]; then
			"$program" -I - <"$here/dump_lines.py"
		else
			chroot "$root" "$program" -I - <"$here/dump_lines.py"
		fi 2>"$list.err" || echo "dump_lines.py failed" >>"$list.err"
	} | "$BUILD/tests/python/check_lines" >"$list.out"
	status=$?
	[ "$status" = 0 ] && ! [ -s "$list.err" ] && ok=ok || ok='not ok'
	echo "$ok $count - $program in $root: $(tail -n 1 "$list.out")"
	[ "$ok" = ok ] || sed 's/^/# /' "$list.out" "$list.err"
done <"$list"
if [ "$count" = 0 ]; then
	echo "1..0 # SKIP no CPython 3.6 or later on this machine"
else
	echo "1..$count"
fi
