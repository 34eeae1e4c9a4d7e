#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# leak.sh [SECONDS [-a]]: records storms of processes and programs, with -a beside everything else that runs, and prints
# every 5 s what strata holds: memory (all, and what is not shared with the kernel's maps and files), descriptors, and what
# is in its BPF maps. Not part of make check.
seconds=${1:-120}
here=$(dirname "$0")
STRATA=${STRATA:-$here/../../build/strata}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cc -O2 -o "$dir/storm" "$here/storm.c" -ldl -lpthread || exit 1

cat >"$dir/storms" <<END
trap 'kill \$forks \$execs' EXIT
nice -n 5 "$dir/storm" forks $seconds & # it uses at most so much CPU time, but is killed in the end
forks=\$!
nice -n 5 "$dir/storm" execs $seconds true 'ls /' date 'perl -e 1' 'awk "BEGIN{}"' 'sleep 0.2' &
execs=\$!
sleep $seconds
END
if [ "$2" = -a ]; then
	"$STRATA" record -q -a -d "$seconds" -o "$dir/leak.folded" --stats "$dir/leak.json" &
	strata=$!
	sh "$dir/storms" &
else
	"$STRATA" record -q -o "$dir/leak.folded" --stats "$dir/leak.json" -- sh "$dir/storms" &
	strata=$!
fi

# How many elements strata's map of a name has.
elements() {
	for id in $(sed -n 's/^map_id:[^0-9]*//p' /proc/$strata/fdinfo/* 2>/dev/null); do
		bpftool map show id "$id" 2>/dev/null | grep -q " name $1 " && bpftool map dump id "$id" 2>/dev/null | grep -c '"key"'
	done
}

# A figure of /proc/PID/status.
figure() {
	sed -n "s/$1:[^0-9]*\([0-9]*\).*/\1/p" /proc/$strata/status
}

printf '%6s %9s %9s %6s %6s %10s %8s\n' seconds RSS/KiB own/KiB fds files processes watched
began=$(date +%s)
while sleep 5 && [ -d /proc/$strata/fd ]; do
	printf '%6d %9s %9s %6d %6d %10s %8s\n' $(($(date +%s) - began)) "$(figure VmRSS)" "$(figure RssAnon)" \
		"$(find /proc/$strata/fd -type l | wc -l)" "$(find /proc/$strata/fd -lname '/*' | wc -l)" "$(elements processes)" \
		"$(elements targets)"
done
wait $strata
status=$?
grep -o '"\(samples\|complete\|unique_stacks\)": *[0-9]*' "$dir/leak.json"
exit $status
