#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# strata doctor on this machine: as an ordinary user, as root, in namespaces; text, JSON and status agree.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/../cli/tap.sh"
: "${STRATA:?names the program}"

dir=$(mktemp -d)
# What an ordinary user may depends on this setting, so it is as the kernel has it by default while the test runs.
paranoid=/proc/sys/kernel/perf_event_paranoid
before=$(cat "$paranoid")
trap 'rm -rf "$dir"; [ ! -w "$paranoid" ] || echo "$before" >"$paranoid"' EXIT
[ ! -w "$paranoid" ] || echo 2 >"$paranoid"
chmod 755 "$dir"
install -m 755 "$STRATA" "$dir/strata"
cd "$dir" || exit 1
unset NO_COLOR
marks='ok|info|limited|missing|untried'

user=
[ "$(id -u)" != 0 ] || user='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all'

# examine PREFIX...: runs it; text in out, JSON in json, status in $status.
examine() {
	"$@" ./strata doctor >out 2>err
	status=$?
	"$@" ./strata doctor --json >json 2>>err
	is $? "$status" "$*: JSON: the same status"
	is "$(cat err)" '' '  nothing on stderr'
	ok "$(python3 - <<-'END'
		import json
		text = [line for line in open("out") if line[:2] == "  " and line[2] != " "]
		data = json.load(open("json"))
		rows = data["findings"]
		assert len(rows) > 30 and len(rows) == len(text), (len(rows), len(text))
		assert len({row["name"] for row in rows}) == len(rows)
		for row, line in zip(rows, text):
		    assert set(row) == {"group", "name", "mark", "found", "why", "how"}, row
		    assert line.split()[0] == row["mark"], (line, row)
		    assert line[11:].startswith(row["name"]), (line, row)
		    assert row["found"] and row["why"] and (row["how"] or row["mark"] != "missing"), row
		assert data["complete"] == ("missing" not in [row["mark"] for row in rows])
		END
		echo $?)" '  JSON and text agree'
	is "$(grep -Ecv "^  ($marks) |^ {11}why: |^[a-z]+\$|^\$|^strata record can" out)" 0 '  every line is what it should be'
	is "$(grep -Ec '^  (missing|limited) ' out)" "$(grep -c '^ *why: .*; how to get it: ' out)" '  advice for all that is not there'
	is "$(LC_ALL=C tr -d '\n -~' <out | wc -c)" 0 '  no colour, no control characters'
}

# row NAME: the mark of a row.
row() {
	sed -nE "s#^  ($marks) +$1  .*#\\1#p" out
}

examine $user
is "$status" 1 'an ordinary user: something is missing'
for name in cap_bpf cap_perfmon cap_sys_ptrace cap_dac_read_search cap_syslog; do
	is "$(row $name)" missing "  $name"
done
is "$(row bpf_loop)" untried '  what could not be tried is not called there, nor missing'
is "$(row programs)" untried '  neither are the programs'
like "$(cat out)" 'cannot do all of its work here: [0-9]+ missing' '  and the end says so'

start=$(date +%s%N)
./strata doctor >/dev/null
echo "# takes $((($(date +%s%N) - start) / 1000000)) ms"

$user ./strata doctor -v >out 2>err
is "$(grep -c '^ *why: ' out)" "$(grep -Ec "^  ($marks) " out)" '-v: a reason for every row'
./strata doctor >/dev/full 2>err
is $? 1 'a full device: status 1'
like "$(cat err)" '^strata: standard output' '  and said so'
for arguments in extra --nonsense '-v extra' --json=1; do
	# shellcheck disable=SC2086
	./strata doctor $arguments >out 2>err
	is $? 2 "doctor $arguments: wrong usage"
	is "$(wc -l <err) $(wc -c <out)" '1 0' '  one line on stderr'
done

if command -v script >/dev/null; then
	script -qec './strata doctor' /dev/null </dev/null >out
	ok "$(grep -q "$(printf '\033\\[')" out; echo $?)" 'colour on a terminal'
	NO_COLOR=1 script -qec './strata doctor' /dev/null </dev/null >out
	is "$(grep -c "$(printf '\033')" out)" 0 'but not with NO_COLOR'
else
	skip 'no script(1)'
	skip 'no script(1)'
fi

if [ "$(id -u)" != 0 ] || ! ./strata record -q -o /dev/null true 2>/dev/null; then
	skip 'needs root, and a kernel that can be sampled'
	tap_done
	exit
fi

before=$(sysctl -a 2>/dev/null | grep -E '^(kernel\.(bpf|perf|kptr)|net\.core\.bpf)' | grep -v max_sample_rate)
examine env
is "$status" 0 'as root, where record works: status 0'
is "$(row programs)" ok '  the sampler loads'
is "$(row 'sampling clock')" ok '  and its clock can be opened'
like "$(cat out)" 'can do all of its work here' '  and the end says so'
is "$(sysctl -a 2>/dev/null | grep -E '^(kernel\.(bpf|perf|kptr)|net\.core\.bpf)' | grep -v max_sample_rate)" "$before" \
	'  no setting has changed'
is "$(ls)" "$(printf 'err\njson\nout\nstrata')" '  no file was left'

examine setpriv --inh-caps=-syslog --bounding-set=-syslog
is "$status" 1 'root without cap_syslog: status 1'
is "$(row cap_syslog)" missing '  which is missing'
is "$(row 'kernel symbols')" missing '  and with it the names of kernel functions'
is "$(row programs)" ok '  but the sampler loads'

# What the advice says is enough.
capabilities=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog
examine setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$capabilities --ambient-caps=$capabilities
is "$(row root) $(row cap_bpf) $(row 'bpf\(\)') $(row bpf_loop | grep -c .)" 'info ok ok 1' \
	'an ordinary user with the five capabilities: BPF is tried'
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$capabilities --ambient-caps=$capabilities \
	./strata record -q -o /dev/null true 2>/dev/null && loads=ok || loads=missing
is "$(row programs) $loads" 'ok ok' '  and the sampler loads, as record finds, too'

if unshare --pid --fork --mount-proc true 2>/dev/null; then
	examine unshare --pid --fork --mount-proc
	is "$(row 'pid namespace')" missing 'in a pid namespace of its own'
	is "$(row /proc)" ok '  with its own /proc'
	examine unshare --pid --fork
	is "$(row /proc)" missing '  with the /proc of the machine'
else
	skip 'no pid namespaces'
fi
if $user unshare --user --map-root-user true 2>/dev/null; then
	examine $user unshare --user --map-root-user
	is "$(row 'user namespace')" missing 'in a user namespace of its own'
	is "$(row 'bpf\(\)')" missing '  its capabilities are not enough'
else
	skip 'no user namespaces'
fi
tap_done
