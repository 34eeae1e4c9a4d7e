#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The words of a code object by which strata identifies it keep their values, whatever is done with it.
set -u
here=$(dirname "$0")
list=$(mktemp)
trap 'rm -f "$list"' EXIT
"$here/interpreters" >"$list"
count=0
tab=$(printf '\t')
while IFS="$tab" read -r root program file; do
	if [ "$root" = / ]; then set -- "$program"; else set -- chroot "$root" "$program"; fi
	"$@" -c 'import ctypes' 2>/dev/null || continue
	count=$((count + 1))
	mask=$("$BUILD/tests/python/show_interpreter" "$file" | sed -n 's/^code_stable //p')
	result=$("$@" -I - "$mask" <"$here/stable_words.py" 2>&1)
	# Some other word must have changed, or nothing was tested.
	case $result in
	'changed [] others '[1-9]*) echo "ok $count - $file: $(printf '%#x' "$mask"): $result" ;;
	*)
		echo "not ok $count - $file: $(printf '%#x' "$mask")"
		echo "$result" | sed 's/^/# /'
		;;
	esac
done <"$list"
if [ "$count" = 0 ]; then
	echo '1..0 # SKIP no CPython 3.6 or later with ctypes on this machine'
else
	echo "1..$count"
fi
