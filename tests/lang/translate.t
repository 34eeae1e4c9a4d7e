#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# strata trace --translate bpftrace: what a translation looks like, that it is a script, that it does what the original
# does, and what is marked. Needs root.
set -u
: "${STRATA:?}" "${BUILD:?}"

here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(readlink -f "$STRATA")" "$folder/dtrace"
ln -s "$(readlink -f "$STRATA")" "$folder/stap"
n=0

result() # STATUS NAME FILES...
{
	local status=$1 name=$2
	shift 2
	n=$((n + 1))
	if [ "$status" = 0 ]; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		for file in "$@"; do sed "s/^/# ${file##*\/}: /" "$file"; done
	fi
}

translated() # STATUS FILE ARGUMENTS...: to $folder/out.bt
{
	local status=$1 file=$2
	shift 2
	timeout 60 "$STRATA" trace --translate bpftrace "$file" "$@" > "$folder/out.bt" 2> "$folder/err"
	[ $? = "$status" ] && [ ! -s "$folder/err" ]
}

# --- what it looks like ---
for source in "$here"/golden/translate/*.d "$here"/golden/translate/*.stp; do
	[ -e "$source" ] || continue
	translated 1 "$source" && cmp -s "$folder/out.bt" "$source.bt"
	diff "$source.bt" "$folder/out.bt" > "$folder/diff"
	result $? "${source##*\/} is translated as it was" "$folder/err" "$folder/diff"
done

# --- every translation is a script ---
for source in "$here"/golden/*.d "$here"/golden/*.stp "$here"/golden/translate/*.d "$here"/golden/translate/*.stp; do
	[ -e "$source" ] || continue
	timeout 60 "$STRATA" trace --translate bpftrace "$source" > "$folder/out.bt" 2> "$folder/err"
	status=$?
	[ $status -le 1 ] && timeout 60 "$STRATA" trace --fmt "$folder/out.bt" > /dev/null 2>> "$folder/err"
	result $? "${source##*\/} becomes a script" "$folder/err" "$folder/out.bt"
	# Status and marks say the same.
	[ $status = "$(grep -q '^\s*// strata: ' "$folder/out.bt" && echo 1 || echo 0)" ]
	result $? "${source##*\/}: the status says whether something is marked" "$folder/out.bt"
done

# --- the same output ---
same() # NAME SUFFIX SCRIPT COMMAND
{
	local name=$1 file=$folder/script.$2 command=$4 ok=0 arguments=()
	printf '%s\n' "$3" > "$file"
	[ -n "$command" ] && arguments=(-c "$command")
	if [ "$2" = d ]; then
		timeout 60 "$folder/dtrace" -q -s "$file" "${arguments[@]}" > "$folder/one" 2> "$folder/err" < /dev/null
	else
		timeout 60 "$folder/stap" "$file" "${arguments[@]}" > "$folder/one" 2> "$folder/err" < /dev/null
	fi
	translated 0 "$file" "${arguments[@]}" &&
		timeout 60 "$STRATA" trace -q "$folder/out.bt" "${arguments[@]}" > "$folder/two" 2>> "$folder/err" < /dev/null || ok=1
	# Each has its own empty lines at the end.
	grep . "$folder/one" > "$folder/one.lines"
	grep . "$folder/two" > "$folder/two.lines"
	[ $ok = 0 ] && [ -s "$folder/one.lines" ] && cmp -s "$folder/one.lines" "$folder/two.lines"
	result $? "the same output: $name" "$folder/err" "$folder/one" "$folder/two" "$folder/out.bt"
}

five='/usr/bin/python3 -c "import os; [os.getppid() for i in range(5)]"'

same "numbers, texts, formats" d 'int x; inline int N = 7; inline string S = "s";
BEGIN { x = 5; s = "abc"; this->t = strjoin(s, "def"); printf("%d %s %s %d\n", x * N % 4, s, this->t, strlen(this->t));
	printf("[%5d|%-5d|%05d|%x|%c|%%|%5s|%-5s]\n", x, x, x, 255, 65, s, S); y = x > 3 ? "big" : "small"; printf("%s\n", y);
	printf("%d %d %d %d\n", x++, ++x, -x, !x); printf("%d\n", (uint8_t)300); printf("[%*s]\n", x, "");
	printf("%d %d\n", x > 3 ^^ x > 100, index("hello", "l")); exit(0); }' ''
same "clauses, predicates, exit in the middle, BEGIN and END" d 'string s; BEGIN { n = 1; m["a", 1] = 2; m["a", 2] = 3; }
BEGIN /n == 1 && s == ""/ { s = "set"; this->k = this->l = 4; printf("first %d %d\n", this->k, this->l); }
BEGIN /s != ""/ { exit(0); n += m["a", 1] + m["a", 2]; m["a", 1] = 0; printf("%s %d %d\n", s, n, m["a", 1]); }
END { printf("end %d\n", n); }' ''
same "if and else" d 'BEGIN { a = 3; if (a == 1) printf("one\n"); else if (a == 3) { this->v = 9; printf("three\n"); } else
	{ this->v = 1; } printf("%d\n", this->v); exit(0); }' ''
same "timers" d 'tick-10ms { n++; } tick-10ms /n == 3/ { printf("%d\n", n); exit(0); }' ''
same "aggregations" d 'BEGIN { @c = count(); @c = count(); @s = sum(3); @s = sum(4); @m = max(3); @m = max(9); @n = min(3); @a = avg(2);
	@a = avg(4); exit(0); } END { printa("%@d\n", @c); printa("%@d %@d\n", @s, @m); printa("%@d\n", @n); printa("<%@d>\n", @a); }' ''
same "system calls, thread-locals" d 'syscall::getppid:entry /pid == $target/ { self->on = 1; }
syscall::getppid:return /self->on/ { n++; printf("%d %s %d\n", n, probefunc, errno); self->on = 0; }' "$five"
same "arguments of system calls by name" d 'syscall::openat:entry /pid == $target && copyinstr(arg1) == "/etc/hostname"/
{ printf("%s %d\n", copyinstr(arg1), arg2); }' "/usr/bin/python3 -c \"open('/etc/hostname')\""
same "all system calls" d 'syscall:::entry /pid == $target && probefunc == "getppid"/ { printf("%s\n", probefunc); }' "$five"
same "functions of a library" d 'pid$target:libc.so.6:getppid:entry { printf("%s\n", probefunc); }
pid$target:libc.so.6:getppid:return { printf("%s %d\n", execname, arg1 > 0); }' "$five"

# --- SystemTap's ---
same "numbers, texts, arrays, loops" stp 'global a, n = 7 probe begin { x = 5 s = "abc" . "def" a["k", 1] = 3 a["k", 2] += 4
	if (x > 3 && s == "abcdef") printf("%d %s %d\n", x * n % 4, s, a["k", 1] + a["k", 2]) else println("no")
	for (i = 0; i < 3; i++) { if (i == 1) y = i * 10 print(i, ",") } println(y)
	if (["k", 1] in a) delete a["k", 1] println(["k", 1] in a, " ", x > 3 ? "big" : "small") exit() println("last") }' ''
same "functions that are one expression" stp 'function twice(x) { return 2 * x } probe begin { println(twice(4) + twice(1)) exit() }' ''
same "statistics" stp 'global s probe begin { s <<< 3 s <<< 5 println(@count(s), " ", @sum(s), " ", @min(s), " ", @max(s), " ", @avg(s)) exit() }' ''
same "foreach, timers, end" stp 'global a, n probe begin { a["one"] = 1 } probe timer.ms(20) { if (++n == 3) exit() }
probe end { foreach (k in a) printdln("=", k, a[k]) foreach (v = [k] in a) println(v, k) println(n >= 3) }' ''
same "system calls, aliases, lists" stp 'global n probe mine = syscall.{getppid,getsid} { who = execname() }
probe mine { if (pid() == target()) { n++ println(name, " ", who, " ", n) } }
probe syscall.getppid.return { if (pid() == target() && retval > 0) println("back") }' "$five"
same "all system calls" stp 'probe syscall_any { if (pid() == target() && name == "getppid") println(name) }' "$five"
same "functions of a library" stp 'probe process.library("libc.so.6").function("getppid").return { println(execname(), " ", $return > 0) }' "$five"

# --- marks and mistakes ---
marks() # WHAT SCRIPT [SUFFIX]
{
	printf '%s\n' "$2" > "$folder/marked.${3:-d}"
	translated 1 "$folder/marked.${3:-d}" && grep -qF -- "// strata: $1: " "$folder/out.bt" &&
		timeout 60 "$STRATA" trace --fmt "$folder/out.bt" > /dev/null 2>> "$folder/err"
	result $? "marked: $1" "$folder/err" "$folder/out.bt"
}
marks vtimestamp 'BEGIN { trace(vtimestamp); }'
marks 'basename()' 'BEGIN { trace(basename("a/b")); }'
marks llquantize 'BEGIN { @ = llquantize(1, 10, 0, 6, 20); }'
marks stddev 'BEGIN { @ = stddev(1); printa(@); }'
marks quantize 'BEGIN { @ = quantize(1, 2); }'
marks 'speculate()' 'BEGIN { speculate(1); }'
marks 'printa()' 'BEGIN { @[1] = count(); printa("%d %@d\n", @); }'
marks 'normalize()' 'BEGIN { @ = sum(1); normalize(@, 5); }'
marks '<' 'BEGIN /execname < "b"/ { }'
marks arg0 'syscall::open*:entry { trace(arg0); }'
marks ERROR 'ERROR { trace(1); } BEGIN { }'
marks 'fbt::f:x' 'fbt::f:x { trace(1); }'
marks 'pid$target::f:entry' 'pid$target::f:entry { trace(1); }'
marks 'this->a' 'BEGIN { this->a = 1; } BEGIN { trace(this->a); }'
marks 'exit()' 'BEGIN { if (pid) { exit(0); trace(1); } }'
marks cpu '#pragma D option cpu=0
profile-99 { @ = count(); }'
marks walltimestamp 'BEGIN { x = walltimestamp; trace(x); }'

marks 'gettimeofday_s()' 'probe begin { println(gettimeofday_s()) }' stp
marks foreach 'global a probe begin { a[1] = 2 foreach (k in a-) println(k) }' stp
marks 'f()' 'function f(x) { println(x) } probe begin { f(1) }' stp
marks '=~' 'probe begin { if (execname() =~ "a*") next }' stp
marks error 'probe error { println(1) } probe begin { }' stp
marks @entry 'probe syscall.read.return { println(@entry($fd)) }' stp
marks '?' 'probe syscall.read? { println(1) }' stp
marks try 'probe begin { try { println(1) } catch { println(2) } }' stp

timeout 60 "$STRATA" trace --dialect d --translate bpftrace -e 'BEGIN { x = 1; trace(x); }' > "$folder/out.bt" 2> "$folder/err"
[ $? = 0 ] && grep -qx '	@x = 1;' "$folder/out.bt"
result $? "a program of -e, in the language of --dialect" "$folder/err" "$folder/out.bt"
refused() # NAME PATTERN ARGUMENTS...
{
	local name=$1 pattern=$2
	shift 2
	timeout 60 "$STRATA" trace "$@" > "$folder/out.bt" 2> "$folder/err"
	[ $? = 2 ] && [ ! -s "$folder/out.bt" ] && grep -q -- "$pattern" "$folder/err"
	result $? "$name" "$folder/err" "$folder/out.bt"
}
refused "a script that does not parse" "syntax error" --dialect d --translate bpftrace -e 'BEGIN {'
refused "a language that it does not translate from" "must be D" --translate bpftrace -e 'BEGIN { }'
refused "a language that it does not translate to" "the language is bpftrace" --dialect d --translate awk -e 'BEGIN { }'
printf 'BEGIN { /* \033[2J */ trace(1); }\n' > "$folder/evil.d"
translated 0 "$folder/evil.d" && ! grep -q $'\033' "$folder/out.bt"
result $? "nothing of a comment moves a cursor" "$folder/out.bt"

# --- another reader ---
if command -v bpftrace > /dev/null; then
	printf '%s\n' 'BEGIN { x = 5; printf("%d\n", x); exit(0); }' > "$folder/script.d"
	translated 0 "$folder/script.d"
	timeout 60 bpftrace "$folder/out.bt" 2> "$folder/err" | grep -qx 5
	result $? "bpftrace itself runs a translation" "$folder/err" "$folder/out.bt"
else
	n=$((n + 1))
	echo "ok $n - bpftrace itself runs a translation # SKIP bpftrace is not installed"
fi
echo "1..$n"
