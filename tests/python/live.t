#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The facts that strata finds in the file of each interpreter at hand lead to the names of a live process' frames, in two
# threads, with an entry frame in the middle and names in each kind of string: ASCII and 1, 2, 4 bytes a character.
set -u
here=$(dirname "$0")
work=$(mktemp -d)
target=
trap '[ -z "$target" ] || kill "$target"; rm -rf "$work"' EXIT
count=0
tab=$(printf '\t')

if ! [ -r /proc/1/mem ] || ! [ -x /usr/bin/python3 ]; then
	echo '1..0 # SKIP needs root and /usr/bin/python3'
	exit
fi
cat >"$work/target.py" <<'PYTHON'
import sys, threading, time
def leaf():
    sys.stdout.write('ready %x %x\n' % (threading.main_thread().ident, other.ident if other else 0))
    sys.stdout.flush()
    time.sleep(600)
def naïve(_): leaf()
def αβγ(): sorted([1], key=naïve)
def 𐐀(): αβγ()
def sleeper():
    time.sleep(600)
other = None
other = threading.Thread(target=sleeper, daemon=True)
other.start()
while sys._current_frames()[other.ident].f_code is not sleeper.__code__:
    time.sleep(0.01)
exec(compile('𐐀()', 'x', 'exec'))
PYTHON
"$here/interpreters" >"$work/list"
while IFS="$tab" read -r root program file; do
	count=$((count + 1))
	run='import sys; exec(compile(sys.stdin.buffer.read().decode("utf-8"), "target", "exec"))'
	mkfifo "$work/out"
	if [ "$root" = / ]; then
		"$program" -I -c "$run" <"$work/target.py" >"$work/out" 2>"$work/err" &
	else
		chroot "$root" "$program" -I -c "$run" <"$work/target.py" >"$work/out" 2>"$work/err" &
	fi
	target=$!
	read -r _ main other <"$work/out"
	"$BUILD/tests/python/show_interpreter" "$file" >"$work/facts" 2>>"$work/err"
	PYTHONIOENCODING=utf-8 /usr/bin/python3 "$here/walk_live.py" "$target" "$file" <"$work/facts" >"$work/walk" 2>>"$work/err"
	kill "$target"
	wait "$target" 2>/dev/null
	target=
	rm "$work/out"
	entry=$(sed -n 's/^entry //p' "$work/facts")
	case $entry in 1) bar= ;; *) bar='| ' ;; esac
	names=$(sed -n "s/^$main: //p" "$work/walk")
	second=$(sed -n "s/^$other: //p" "$work/walk")
	[ "$names" = "leaf naïve ${bar}αβγ 𐐀 <module> $bar<module> $bar<module>${bar:+ |}" ] &&
		[ "${second%% *}" = sleeper ]
	if [ $? = 0 ]; then ok=ok; else ok='not ok'; fi
	echo "$ok $count - $file: $names"
	[ "$ok" = ok ] || sed 's/^/# /' "$work/walk" "$work/err"
done <"$work/list"
if [ "$count" = 0 ]; then
	echo '1..0 # SKIP no CPython 3.6 or later on this machine'
else
	echo "1..$count"
fi
