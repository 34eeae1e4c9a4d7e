# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of D, which source this: says() runs strata by a link named dtrace, and prints a line of TAP.
set -u
: "${STRATA:?}" "${BUILD:?}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(readlink -f "$STRATA")" "$folder/dtrace"
dtrace=$folder/dtrace
n=0

# Both outputs in one, to the byte, as dtrace's own tests have them, and the exit status. Hexadecimal numbers, those of
# instructions, and blanks at the ends of lines do not count.
says() # NAME STATUS EXPECTED ARGUMENTS...
{
	local name=$1 status=$2 expected=$3 got
	shift 3
	_DTRACE_TESTING=1 timeout 60 "$dtrace" "$@" > "$folder/out" 2>&1 < /dev/null
	got=$?
	sed -i -E 's/0x[0-9a-f]+/0xH/g; s/BPF pc [1-9][0-9]*/BPF pc N/; s/DEBUG [0-9]+/DEBUG N/; s/ +$//' "$folder/out"
	printf '%s' "$expected" > "$folder/expected"
	n=$((n + 1))
	if [ "$got" = "$status" ] && cmp -s "$folder/out" "$folder/expected"; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		echo "# exit status $got"
		sed 's/^/# /' "$folder/out"
	fi
}

