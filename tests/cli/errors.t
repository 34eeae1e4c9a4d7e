#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input and faults: one clear line, the right status, nothing left behind.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/tap.sh"
: "${STRATA:?names the program}"

dir=$(mktemp -d)
mount=
trap '[ -z "$mount" ] || umount "$mount"; rm -rf "$dir"' EXIT
chmod 755 "$dir"
install -m 755 "$STRATA" "$dir/strata"
mkdir -m 777 "$dir/work"
unset NO_COLOR TMPDIR
cd "$dir/work" || exit 1

user=
[ "$(id -u)" != 0 ] || user='setpriv --reuid=65534 --regid=65534 --clear-groups'

# bad STATUS PATTERN ARGUMENT...: as an ordinary user: what is wrong is found before privileges are asked for.
bad() {
	status=$1 pattern=$2
	shift 2
	$user "$dir/strata" "$@" >out 2>err </dev/null
	got=$?
	is "$got" "$status" "strata $*: status $status"
	is "$(wc -l <err)" 1 '  one line on stderr'
	like "$(cat err)" "^strata: .*$pattern" "  $(cat err)"
	is "$(wc -c <out)" 0 '  nothing on stdout'
	rm -f out err
	is "$(ls -A)" '' '  nothing left behind'
}

bad 2 'no such command' nonsense
bad 2 'no such command' help nonsense
bad 2 'no such option' record --nonsense
bad 2 'no such option' record -Z
bad 2 'needs a value' record -F
bad 2 'needs a value' record --output
bad 2 'takes no value' record --quiet=yes
for value in 0 -1 10001 99999999999999999999 1e3 9.5 '' ' 5' 0x10; do
	bad 2 'from 1 to 10000' record -F "$value"
done
for value in 0 -1 nan inf 1x 1.2.3 . 0x5 '' 1e9 99999999h; do
	bad 2 'duration' record -d "$value"
done
for value in '' tail LOOP; do
	bad 2 'known are loop and bounded' record --strategy "$value"
done
for value in '' 0 -1 64 1M 7M 10Q 10MM M 1.5G 99999999999999999999 99999999999T; do
	bad 2 'a size from 8M on' record --max-memory "$value"
done
for value in '' 0 5 250 us -1us 1.5ms 19us 11s 1m 99999999999999999999us '1 ms'; do
	bad 2 'a time from 20us to 10s' record --max-sample-time "$value"
	bad 2 'a time from 20us to 10s' trace --max-sample-time "$value" -e 'begin { }'
done
for value in 0 -5 x 1,,2 '1,' '' 99999999999 1.5; do
	bad 2 'list of process ids' record -p "$value"
done
for command in record top; do
	bad 2 "-user '': no user has an empty name" $command --user ''
	bad 2 '-comm \[: no regular expression' $command --comm '['
	bad 2 '-exclude comm=\(: no regular expression' $command --exclude 'comm=('
	bad 2 'KIND=VALUE' $command --exclude root
	bad 2 'KIND=VALUE' $command --exclude pid=1
	bad 1 '-user nobdy: no such user: did you mean nobody' $command --user nobdy
	bad 1 '-exclude user=no-such-user-at-all: no such user$' $command --exclude user=no-such-user-at-all
	bad 1 '4294967295: no user has such an id' $command --user 4294967295
	bad 1 '-cpu 0,99999: there is no CPU 99999: the last one is [0-9]+' $command --cpu 0,99999
	bad 1 'no CPU is left' $command --cpu 0 --exclude cpu=0
	bad 1 '-container no-such-one: no (such container runs|cgroups of version 2)' $command --container no-such-one
	bad 1 '-cgroup /no/such/one: no (such cgroup|cgroups of version 2)' $command --cgroup /no/such/one
done
for value in x 1- -1 1,,2 1, 3-1 '1 2' 9999999; do
	bad 2 "-cpu $value: no list of CPUs" record --cpu "$value"
done
bad 1 '4194305: no such process' record -p 4194305
bad 1 'no such process' record -p "$$,4194305"
bad 2 'one target' record -a -p 1
bad 2 'one target' record -p 1 -- true
bad 2 '-children: goes with -p' record --children -- true
bad 2 '-children: goes with -p' record --children
bad 2 'not followed' record -F 9 --
for suffix in folded pb.gz html speedscope.json firefox.json.gz trace.json; do
	bad 2 "known are.* \\.$suffix(,|\$)" record -o result.txt
done
bad 2 'suffix' record -o result
bad 2 'named twice' record -o a.html -o a.html
bad 2 'named by -o' record -o a.html --stats a.html
bad 1 'cannot be written' record -o missing/a.html
bad 1 'cannot be written' record -o a.folded -o /proc/a.html
bad 1 'cannot be written' record --stats missing/stats.json
bad 1 'is a directory' record --stats /tmp
bad 1 'no such command in PATH' record no-such-command-anywhere
bad 1 'may execute' record -- /etc/passwd
bad 1 'No such file' record -- ./missing
bad 1 'irectory' record -- /tmp
bad 1 'empty word' record -- ''

bad 2 'nothing to inspect' inspect
bad 2 'nothing to inspect' inspect --json
bad 2 'nothing to inspect' inspect ''
bad 2 'one target' inspect 1 2
bad 2 'one target' inspect /bin/sh --json 2
bad 2 'no such option.*strata inspect --help' inspect /bin/sh --nonsense
bad 1 'no such process' inspect 0
bad 1 'no such process' inspect 4194305
bad 1 'no such process' inspect 99999999999999999999
bad 1 'missing: No such file' inspect missing
bad 1 'not a regular file' inspect /tmp
bad 1 'not a regular file' inspect /dev/null
bad 1 'passwd: not an ELF file' inspect /etc/passwd
if [ -n "$user" ]; then
	bad 1 'shadow: Permission denied' inspect /etc/shadow
	bad 1 '1: .*sudo' inspect 1
fi

mkdir "$dir/taken.html"
bad 1 'is a directory' record -o "$dir/taken.html"
if [ -n "$user" ]; then
	bad 1 'cannot be written: Permission denied' record -o "$dir/a.html"
	echo old >"$dir/old.html"
	bad 1 'cannot be written: Permission denied' record -o "$dir/old.html"
	bad 1 'cap_bpf and cap_perfmon.*sudo.*setcap' record -d 1
	sleep 600 &
	bad 1 'cap_bpf' record -p $!
	kill $!
fi

# A thread's id is no process's.
if command -v python3 >/dev/null; then
	python3 -c 'import threading, time, sys
t = threading.Thread(target=time.sleep, args=(600,), daemon=True)
t.start()
print(t.native_id, flush=True)
time.sleep(600)' >"$dir/tid" &
	helper=$!
	while [ ! -s "$dir/tid" ]; do sleep 0.05; done
	bad 1 "a thread, of process $helper" record -p "$(cat "$dir/tid")"
	kill "$helper"
	wait "$helper" 2>/dev/null
else
	skip 'no python3'
fi

"$dir/strata" record -o - >&- 2>"$dir/err"
is $? 1 'standard output is closed: status 1'
like "$(cat "$dir/err")" 'standard output is closed' '  and said so'
"$dir/strata" --help >/dev/full 2>"$dir/err"
is $? 1 '--help to a full device: status 1'

# From here on something is really recorded.
record() {
	"$dir/strata" record "$@"
}
if [ "$(id -u)" != 0 ] || ! record -q -o /dev/null true 2>/dev/null; then
	skip 'needs root, and a kernel that can be sampled'
	tap_done
	exit
fi

# What a script prints, through each name, to standard output and to a file.
ln "$dir/strata" "$dir/dtrace"
ln "$dir/strata" "$dir/stap"
tab=$(printf '\t')
for command in "strata trace -e begin{printf(\"x\\n\");exit()}" "dtrace -qn BEGIN{printf(\"x\\n\");exit(0)}" "stap -e probe${tab}begin{println(1)exit()}"; do
	for option in '' '-o /dev/full'; do
		name=${command%% *}
		# shellcheck disable=SC2086
		(IFS=' '; exec "$dir/"$command $option) >/dev/full 2>"$dir/err"
		is $? 1 "$name $option, to a full device: status 1"
		like "$(tail -1 "$dir/err")" '^strata: .*could be written$|No space' '  and said so'
	done
done

# Uses the CPU for long enough to be sampled.
busy='awk BEGIN{while(i<5000000)i++}'
record -q -o - sh -c 'exit 37' >"$dir/out" 2>"$dir/err"
is $? 37 "the command's own status"
is "$(cat "$dir/err")" '' 'nothing on stderr with -q'
is "$(ls -A)" '' 'nothing but what was asked for'
record -q -o - sh -c 'kill -TERM $$' >/dev/null 2>&1
is $? 143 'a command that was killed: 128 + signal'

echo old >old.folded
chmod 640 old.folded
chown 65534 old.folded
ln -s old.folded link.folded
record -o link.folded $busy 2>"$dir/err"
is "$(stat -c '%a %u %F' old.folded)" '640 65534 regular file' 'an old result is replaced with its mode and owner'
is "$(grep -c '^old$' old.folded)" 0 '  and its content'
ok "$([ -L link.folded ]; echo $?)" '  behind a link, which stays'
like "$(cat "$dir/err")" 'wrote link.folded' '  its name is told'
is "$(find . -name '.strata-*')" '' '  no temporary is left'
rm -f old.folded link.folded

record -o first.folded -o /dev/full -o last.html --stats s.json $busy 2>"$dir/err"
is $? 1 'a full device: status 1'
is "$(ls)" "$(printf 'first.folded\nlast.html\ns.json')" '  the other files are there'
like "$(cat "$dir/err")" '/dev/full: .*No space.*written to /tmp/strata-' '  the data was put elsewhere'
kept=$(sed -n 's/.*written to \(.*\) instead/\1/p' "$dir/err")
ok "$([ -f "$kept" ]; echo $?)" '  and is there'
rm -f "$kept" first.folded last.html s.json

mkdir "$dir/small"
if mount -t tmpfs -o size=4k,nr_inodes=8 none "$dir/small" 2>/dev/null; then
	mount=$dir/small
	head -c 4096 /dev/zero >"$mount/filler"
	record -q -o "$mount/a.html" true 2>"$dir/err"
	is $? 1 'a full file system: status 1'
	is "$(ls -A "$mount")" filler '  nothing half written is left'
	like "$(cat "$dir/err")" 'a.html: .*No space.*written to /tmp/strata-.*html' '  the data was put elsewhere'
	is "$(wc -l <"$dir/err" | xargs test 1 -lt; echo $?)" 0 '  the summary is printed even with -q'
	rm -f "$(sed -n 's/.*written to \(.*\) instead/\1/p' "$dir/err")"
	TMPDIR=$mount record -q -o "$mount/a.html" true 2>"$dir/err"
	is $? 1 'no room anywhere: status 1'
	like "$(cat "$dir/err")" 'only the summary is kept' '  and said so'
	is "$(ls -A "$mount")" filler '  nothing is left'
else
	skip 'cannot mount a tmpfs'
fi

# Limits that are too small: one line that names the limit. Sizes are in bytes, as ulimit's unit depends on the shell.
limited() {
	limit=$1 pattern=$2
	shift 2
	timeout 60 prlimit "$limit" "$dir/strata" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	is $? 1 "$limit strata $1: status 1"
	is "$(wc -l <"$dir/err")" 1 '  one line on stderr'
	like "$(cat "$dir/err")" "^strata: .*$pattern" "  $(cat "$dir/err")"
}
script='begin { print(ustack()); exit() }'
limited --fsize=1000 'ulimit -f is 1000 bytes' record -o - true
limited --fsize=1024 'ulimit -f is 1 KiB' stack $$
limited --fsize=1024 'ulimit -f is 1 KiB' trace -e "$script"
limited --fsize=102400 'ulimit -f is 100 KiB' trace -e "$script"
limited --nofile=20 'ulimit -n is 20' record -o - true
limited --nofile=20 'ulimit -n is 20' stack $$
limited --nofile=20 'ulimit -n is 20' trace -e "$script"
limited --as=102400000 'ulimit -v is 100000 KiB' record -o - true
prlimit --fsize=20480 "$dir/strata" record --stats - -o /dev/null $busy >"$dir/out" 2>"$dir/err"
is $? 0 'a file may have 20 KiB: status 0'
like "$(cat "$dir/err")" 'complete  ' '  there is a result'
is "$(grep -c 'cannot be confined' "$dir/err" "$dir/out")" "$(printf '%s:0\n%s:0' "$dir/err" "$dir/out")" \
	'  and files are read by confined processes'

{ record -q -o - -o kept.folded $busy 2>"$dir/err"; echo $? >"$dir/status"; } | true
ok "$([ -s kept.folded ] || [ "$(cat "$dir/status")" = 0 ]; echo $?)" 'a reader who leaves does not cost the other file'
tap_done
