#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every interpreter at hand is recognised: its version is what it says itself, quickly, and its loop is found, stripped
# or not. Programs that only link to a libpython, and others, are none.
set -u
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
tab=$(printf '\t')
show=$BUILD/tests/python/show_interpreter

check() { # STATUS NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

# The least of five, in microseconds: the machine may be busy.
least() { # FIELD FILE
	for _ in 1 2 3 4 5; do "$show" "$2" | sed -n "s/^$1 //p"; done | sort -n | head -n 1
}

says='import sys; print("%d.%d.%d %d %d" % (sys.version_info[:3] + (hasattr(sys, "gettotalrefcount"),
    not getattr(sys, "_is_gil_enabled", lambda: True)())))'

"$here/interpreters" >"$work/list"
while IFS="$tab" read -r root program file; do
	if [ "$root" = / ]; then truth=$("$program" -I -c "$says"); else truth=$(chroot "$root" "$program" -I -c "$says"); fi
	"$show" "$file" >"$work/out" 2>"$work/err"
	found=$(sed -n 's/^version //p; s/^debug_build //p; s/^free_threaded //p' "$work/out" | awk '
		NR == 1 { v = $0 } NR == 2 { f = $0 } NR == 3 { print v, $0, f }')
	[ "$found" = "$truth" ]
	check $? "$file: $truth by $(sed -n 's/^version_source //p' "$work/out")"
	parts=0 bytes=0
	while read -r name start end _; do
		[ "$name" = range ] || continue
		parts=$((parts + 1)) bytes=$((bytes + end - start))
	done <"$work/out"
	[ "$parts" -ge 1 ] && [ "$bytes" -gt 25000 ]
	check $? "its loop has $parts parts, $bytes bytes"
	recognise=$(least recognise_us "$file")
	ranges=$(least ranges_us "$file")
	[ "$recognise" -lt 1000 ] && [ "$ranges" -lt 50000 ]
	check $? "in $recognise us, its loop in $ranges us"
	# Without local symbols and debug information the facts are the same, cold parts that return to the loop included.
	strip -o "$work/stripped" "$file" 2>/dev/null && "$show" "$work/stripped" >"$work/bare" 2>>"$work/err"
	grep -Ev '_us |\.cold$' "$work/out" | sed 's/ hot .*//; s/ cold .*//' | sort -u >"$work/a"
	grep -Ev '_us ' "$work/bare" | sed 's/ hot .*//; s/ cold .*//' | sort -u >"$work/b"
	missing=$(comm -23 "$work/a" "$work/b")
	[ -z "$missing" ]
	check $? "and the same when it is stripped"
	sed 's/^/# /' "$work/err"
	echo "$missing" | sed '/^$/d; s/^/# /'
	own=$(readlink -f "${root%/}$program")
	if [ "$own" != "$file" ] && [ -f "$own" ] && readelf -d "$own" | grep -q 'NEEDED.*libpython'; then
		"$show" "$own" >/dev/null 2>&1
		[ $? = 1 ]
		check $? "$own, which is linked with it, contains none"
	fi
done <"$work/list"
for other in /bin/sh "$(command -v perl)" "$(command -v gdb)"; do
	[ -f "$other" ] || continue
	"$show" "$other" >/dev/null 2>&1
	[ $? = 1 ]
	check $? "$other contains none"
done
echo "1..$count"
