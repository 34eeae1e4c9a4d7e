#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# For each interpreter at hand, each layer that finds the thread state is held against truth: the key's address against debug
# information (which also proves the rows of the table), the path against the thread lists of a process with many threads,
# most of them without the GIL, some in sub-interpreters. A stripped copy must give the same.
set -u
here=$(dirname "$0")
show=$BUILD/tests/python/show_threads
work=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill "$target"; rm -rf "$work"' EXIT
count=0
tab=$(printf '\t')
case $(uname -m) in x86_64) futex=202 ;; *) futex=98 ;; esac

if ! [ -r /proc/1/mem ]; then
	echo '1..0 # SKIP needs root'
	exit
fi

check() { # STATUS NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

# Where the process has the file's vaddr 0.
bias_of() { # PID FILE
	inode=$(stat -Lc %i "$2")
	start=$(awk -v inode="$inode" '$5 == inode && $3 == "00000000" { sub(/-.*/, "", $1); print $1; exit }' "/proc/$1/maps")
	vaddr=$(readelf -lW "$2" | awk '$1 == "LOAD" { print $3; exit }')
	printf '%x' $((0x$start - vaddr))
}

# The key's address by debug information; nothing when there is none.
key_by_debug_info() { # FILE
	gdb -batch -nx -iex 'set debuginfod enabled off' -ex 'print/x (long)&_PyRuntime.autoTSSkey._key' \
		-ex 'print/x (long)&_PyRuntime.gilstate.autoTSSkey._key' -ex 'print/x (long)&autoTLSkey' "$1" 2>/dev/null |
		sed -n 's/^\$1 = //p'
}

run='import sys; exec(compile(sys.stdin.buffer.read().decode("utf-8"), "target", "exec"))'
"$here/interpreters" >"$work/list"
while IFS="$tab" read -r root program file; do
	"$show" "$file" >"$work/facts" 2>"$work/err"
	keys=$(sed -n 's/^layer key.*pthread key at \(0x[0-9a-f]*\),.*/\1/p' "$work/facts" | sort -u)
	case $program in
	*/python3.1[5-9]*)
		has_key=
		! grep -q '^layer key' "$work/facts" && grep -q '^layer _Py_tss_gilstate code' "$work/facts"
		check $? "$file: has no key, but a variable"
		;;
	*)
		has_key=yes
		[ "$(echo "$keys" | wc -w)" = 1 ] && grep -q '^layer key code' "$work/facts"
		check $? "$file: key code: $keys"
		;;
	esac
	truth=$(key_by_debug_info "$file")
	if [ -n "$truth" ]; then
		[ "$keys" = "$truth" ]
		check $? "its debug information says $truth"
	fi
	strip -o "$work/stripped" "$file" 2>/dev/null && "$show" "$work/stripped" >"$work/bare" 2>>"$work/err"
	grep -E '^(layer|none) .* code:' "$work/facts" >"$work/a"
	grep -E '^(layer|none) .* code:' "$work/bare" >"$work/b"
	cmp -s "$work/a" "$work/b"
	check $? "a stripped copy gives the same: $(grep -c ^layer "$work/b") layers by code"

	mkfifo "$work/out"
	if [ "$root" = / ]; then
		"$program" -I -c "$run" 1000 <"$here/thread_state_target.py" >"$work/out" 2>>"$work/err" &
	else
		chroot "$root" "$program" -I -c "$run" 1000 <"$here/thread_state_target.py" >"$work/out" 2>>"$work/err" &
	fi
	target=$!
	read -r _ others <"$work/out"
	# Those that wait for the GIL are in futex(), those that sleep have released it.
	while kill -0 "$target" && [ "$(awk '{ print $1 }' "/proc/$target/task/"*/syscall |
		grep -vcE "^(running|$futex)\$")" -lt $((1000 + others)) ]; do
		sleep 0.05
	done
	"$show" "$file" "$target" "$(bias_of "$target" "$file")" >"$work/live" 2>>"$work/err"
	kill -9 "$target"
	wait "$target" 2>/dev/null
	target=
	rm "$work/out"
	found=$(grep -c '^layer ' "$work/live")
	# Threads of other interpreters have no key, so all but those agree; the thread list has no path of its own.
	awk -v found="$found" -v others="$others" '
		/^verified/ { verified++; sub(/.*: /, ""); if ($1 < 1000) few = 1 }
		/^unverified/ { wrong = 1 }
		END { exit !(verified == found - 1 && !few && !wrong) }' "$work/live"
	check $? "$((found - 1)) layers agree with the lists of 1,000 threads, $others in sub-interpreters"
	if [ -n "$has_key" ] || grep -q '^layer _Py_tss_gilstate' "$work/facts"; then
		awk '/^verified (key|_Py_tss_gilstate)/ { sub(/.*: /, ""); if ($1 - $2 - $3 > 2) bad = 1; seen = 1 } END { exit bad || !seen }' \
			"$work/live"
		check $? "threads without the GIL keep theirs under the key, or in that variable"
	fi
	if grep -q '^layer thread list' "$work/live" && grep -q '^layer _Py_tss' "$work/live"; then
		awk '/^verified _Py_tss/ { sub(/.*: /, ""); if ($2 < 1 || $2 > 4) bad = 1; seen = 1 } END { exit bad || !seen }' \
			"$work/live"
		check $? "those without the GIL have none in _Py_tss_tstate"
	fi
	[ "$(tail -n 1 "$work/err" | wc -c)" = 0 ] || sed 's/^/# /' "$work/err"
	grep -E '^(un)?verified' "$work/live" | sed 's/^/# /'
done <"$work/list"
if [ "$count" = 0 ]; then
	echo '1..0 # SKIP no CPython 3.6 or later on this machine'
else
	echo "1..$count"
fi
