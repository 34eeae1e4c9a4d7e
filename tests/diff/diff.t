#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# strata diff: the table of two made-up recordings, in both formats; wrong input. The page: tests/export/html.t.
# shellcheck source=tests/cli/tap.sh
. "$(dirname "$0")/../cli/tap.sh"
: "${STRATA:?names the program}" "${BUILD:?names the build directory}"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
"$BUILD/tests/export/make_profile" web 400 a
"$BUILD/tests/export/make_profile" web 900 b
for n in 1 2 3; do
	echo "app;main (app);parse (app) 400"
	echo "app;main (app);render ($n/page.py:$n) 100"
done >old.folded
{ sed '1s/400/900/' old.folded; echo "app;main (app);added (app) 60"; echo "app;main (app);rare (app) 4"; } >new.folded

text=$("$STRATA" diff old.folded new.folded --text 50)
is "$?" 0 'two folded files are compared'
like "$text" '^before: old.folded, 1500 samples$' 'which, and how many samples'
like "$text" '^5 of 7 functions|^[0-9]+ of [0-9]+ functions differ by more than chance' 'how many differ'
like "$text" '^ *0\.00 +2\.91 +\+2\.91 .* added \(app\)$' 'what is new'
like "$text" ' \+0\.19~.* rare \(app\)$' 'too few to tell are marked'
like "$text" '100\.00 +100\.00 +\+0\.00~ +main \(app\)$' 'what is the same, too'
is "$("$STRATA" diff old.folded new.folded -o - --text 1 | tail -n +7 | wc -l)" 2 '--text limits the rows, and says so'
is "$("$STRATA" diff a.folded b.folded --text 1000 | tail -n +3)" "$("$STRATA" diff a.pb.gz b.pb.gz --text 1000 | tail -n +3)" \
	'folded stacks and pprof give the same'
like "$("$STRATA" diff a.pb.gz b.pb.gz --by time -o -)" '^CPU time: [0-9.]+ % of a CPU before' 'by time'
same=$("$STRATA" diff b.pb.gz b.pb.gz -o -)
like "$same" '^0 of [0-9]+ functions differ' 'nothing differs from itself'
gunzip -c b.pb.gz >b.pb
is "$("$STRATA" diff b.pb b.folded -o - | sed -n 3p)" "$(echo "$same" | sed -n 3p)" 'pprof without gzip'
"$STRATA" diff a.folded b.pb.gz 2>err
is "$?" 0 'a page by default'
ok "$([ -s strata-diff.html ]; echo $?)" '  strata-diff.html'
like "$(cat err)" '^wrote strata-diff.html: ' '  which is said'
"$STRATA" diff -o x.html a.folded b.folded -o - >out 2>/dev/null
ok "$([ -s x.html ] && [ -s out ]; echo $?)" 'a page and a text; options before and behind'
esc=$(printf '\033')
printf 'a;\033[31mx (y) 30\n' >red.folded
is "$("$STRATA" diff red.folded red.folded -o - 2>&1 | grep -c "$esc")" 0 'control characters do not reach the terminal'

# Of times off the CPU: how long, not how often.
if [ "$(id -u)" = 0 ]; then
	cat >naps.py <<-'END'
		import sys, time
		def quick(): time.sleep(0.002)
		def slow(): time.sleep(float(sys.argv[1]))
		for i in range(150): quick(); slow()
	END
	for nap in 0.002 0.012; do
		"$STRATA" record -q --off-cpu -o $nap.pb.gz -o $nap.folded -- /usr/bin/python3 naps.py $nap
	done
	text=$("$STRATA" diff 0.002.pb.gz 0.012.pb.gz --text 1000)
	like "$text" '^after: .*, [0-9]+\.[0-9]+ s$' 'times off the CPU: how long in all'
	total() {
		echo "$1" | awk -v function_="$2" 'NF > 6 && $(NF - 1) == function_ {
			print ($5 > $4 + 20 ? "more" : $5 < $4 - 20 ? "less" : "same"), ($6 ~ /~/ ? "chance" : "clear") }'
	}
	is "$(total "$text" slow)" 'more clear' '  a longer wait, as often, is more of the time'
	is "$(total "$text" quick)" 'less clear' '  the other one less'
	like "$("$STRATA" diff --by time 0.002.pb.gz 0.012.pb.gz -o -)" '^time: [1-9][0-9.]* % of a thread before, [1-9]' '  by time'
	text=$("$STRATA" diff 0.002.folded 0.012.folded --text 1000)
	is "$(total "$text" slow)" 'more chance' '  folded stacks do not tell of how many waits: it may be chance'
fi

# bad STATUS PATTERN ARGUMENT...
bad() {
	status=$1 pattern=$2
	shift 2
	"$STRATA" diff "$@" >out 2>err
	is "$?" "$status" "strata diff $*: status $status"
	like "$(cat err)" "^strata: .*$pattern" "  $(cat err)"
	is "$(wc -l <err) $(wc -c <out)" '1 0' '  one line, nothing on stdout'
}
head -c 300 b.pb.gz >cut.pb.gz
head -c 3000 /dev/urandom | tr -d '\037' >noise
: >empty
bad 2 'which recordings' a.folded
bad 2 'two recordings' a.folded b.folded a.folded
bad 2 'known are samples and time' --by size a.folded b.folded
bad 2 'a number of rows' --text 0 a.folded b.folded
bad 2 'is a .html file' -o x.pb.gz a.folded b.folded
bad 1 'No such file' a.folded missing
bad 1 'cut off' a.folded cut.pb.gz
bad 1 'noise: ' a.folded noise
bad 1 'no samples' empty b.folded
bad 1 'does not tell how long' --by time a.folded b.pb.gz
printf 'a;b (c);[waiting: read] 5000\n' >waits.folded
bad 1 'compare recordings of one kind' a.folded waits.folded
bad 1 'Is a directory' a.folded .
tap_done
