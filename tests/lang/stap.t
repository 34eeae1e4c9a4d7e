#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SystemTap scripts through a link named stap: what they print, to the byte, and what is refused. Needs root.
set -u
: "${STRATA:?}" "${BUILD:?}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(readlink -f "$STRATA")" "$folder/stap"
stap=$folder/stap
n=0

result() # STATUS NAME
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		sed 's/^/# /' "$folder/out" "$folder/err"
	fi
}

# Standard output, to the byte, and the exit status.
prints() # NAME STATUS EXPECTED ARGUMENTS...
{
	local name=$1 status=$2 expected=$3 got
	shift 3
	timeout 60 "$stap" "$@" > "$folder/out" 2> "$folder/err"
	got=$?
	printf '%s' "$expected" > "$folder/expected"
	[ "$got" = "$status" ] && cmp -s "$folder/out" "$folder/expected" && { [ "$status" != 0 ] || [ ! -s "$folder/err" ]; }
	result $? "$name"
}

# What of standard error matches, after what prints() has run.
says() # PATTERN NAME
{
	grep -qE -- "$1" "$folder/err"
	result $? "$2"
}

refuses() # PATTERN SCRIPT [ARGUMENTS...]
{
	local pattern=$1 script=$2
	shift 2
	timeout 60 "$stap" -e "$script" "$@" > "$folder/out" 2> "$folder/err"
	[ $? = 1 ] && grep -qE -- "$pattern" "$folder/err" && [ ! -s "$folder/out" ]
	result $? "refused: $pattern"
}

once() # NAME EXPECTED SCRIPT: of a begin that ends.
{
	prints "$1" 0 "$2" -e "$3"
}

# --- the language ---
once "numbers, C's operators, 64 bits" "7 -3 1 -1 8 2 -4 5 6 1
" 'probe begin { printf("%d %d %d %d %d %d %d %d %d %d\n", 1 + 2 * 3, -7 / 2, 7 % 2, -7 % 2, 1 << 3, 10 >> 2, ~3,
	0x5, 06, 0x7fffffffffffffff + 1 < 0); exit() }'
once "strings: joined, compared, taken apart" "ab|1|1|0|ell|3|1|98|31|xbc
" 'probe begin { s = "a"; s .= "b"; printf("%s|%d|%d|%d|%s|%d|%d|%d|%d|%s\n", s, "abc" < "abd", "a" == "a", "b" <= "a",
	substr("hello", 1, 3), strlen("abc"), isinstr("abc", "b"), stringat("abc", 1), strtol("0x1f", 16),
	str_replace("abc", "a", "x")); exit() }'
once "regular expressions" "1 0 1
" 'probe begin { printf("%d %d %d\n", "abc" =~ "^a.c$", "abc" =~ "b$", "abc" !~ "x"); exit() }'
once "tokenize" "a-b--
" 'probe begin { println(tokenize("a  b", " "), "-", tokenize("", " "), "-", tokenize("", " "), "-"); exit() }'
once "if, while, for, break, continue" "0 1 3 5 done
" 'probe begin { for (i = 0; i < 10; i++) { if (i == 2 || i == 4) continue; if (i > 5) break; printf("%d ", i) }
	while (i > 0) { i-- } if (i) println("no") else println("done"); exit() }'
once "steps and assignments, and which value they have" "0 2 2 1 12 3 1
" 'global g; probe begin { a = 0; printf("%d %d %d %d ", a++, ++a, a--, a); g = 3; g *= 4; printf("%d ", g); g /= 4;
	printf("%d %d\n", g, g ? 1 : 2); exit() }'
once "functions call themselves; parameters hide globals" "120 5
" 'global n; function f(n) { if (n <= 1) return 1; return n * f(n - 1) } probe begin { n = 5; println(f(n), " ", n); exit() }'
once "functions and variables have names of their own" "3
" 'function pid_of(pid) { return pid } probe begin { pid = 3; println(pid_of(pid)); if (pid() < 1) println("no"); exit() }'
once "arrays with several keys; in, delete, foreach" "in
out
22y
2
0
" 'global a; probe begin { a[1, "x"] = 1; a[2, "y"] = 2; if ([1, "x"] in a) println("in"); delete a[1, "x"];
	if (!([1, "x"] in a)) println("out"); foreach (v = [k, s] in a) println(v, k, s);
	foreach ([k, s] in a[*, "y"]) println(k); delete a; println([2, "y"] in a); exit() }'
once "foreach by value and by key, limited; without an order as they came" "bca|cb|abc|cba|
" 'global a; probe begin { a["c"] = 2; a["b"] = 1; a["a"] = 3; foreach (k in a+) printf("%s", k); printf("|");
	delete a; a["a"] = 1; a["b"] = 2; a["c"] = 3; foreach (k in a- limit 2) printf("%s", k); printf("|");
	foreach (k in a) printf("%s", k); printf("|"); foreach (k- in a) printf("%s", k); println("|"); exit() }'
once "statistics" "4 10 1 4 2 1 4
" 'global s, t; probe begin { for (i = 1; i < 5; i++) { s <<< i; t["k"] <<< i } printf("%d %d %d %d %d %d %d\n", @count(s),
	@sum(s), @min(s), @max(s), @avg(s), @variance(s), @count(t["k"])); exit() }'
once "a histogram by powers of two" "value |-------------------------------------------------- count
    0 |@                                                  1
    1 |@                                                  1
    2 |@@                                                 2
    4 |@@@@                                               4
    8 |                                                   0
   16 |                                                   0

" 'global s; probe begin { for (i = 0; i < 8; i++) s <<< i; print(@hist_log(s)); exit() }'
once "a linear histogram, with what is outside, and a gap" "value |-------------------------------------------------- count
   <0 |@                                                  1
    0 |@@                                                 2
   10 |                                                   0
   20 |                                                   0
      ~
   60 |                                                   0
   70 |                                                   0
   80 |@                                                  1
   90 |                                                   0
  100 |                                                   0
 >100 |@                                                  1

" 'global s; probe begin { s <<< -1; s <<< 1; s <<< 2; s <<< 80; s <<< 500; print(@hist_linear(s, 0, 100, 10)); exit() }'
once "formats" "[   42|42   |00042|ff|0xff|0x0|ab|    ab|ab    |ab|A|0x10|%|  7]
" 'probe begin { printf("[%5d|%-5d|%05d|%x|%#x|%#x|%s|%6s|%-6s|%.2s|%c|%p|%%|%*d]\n", 42, 42, 42, 255, 255, 0, "ab", "ab",
	"ab", "abc", 65, 16, 3, 7); exit() }'
once "print and its like" "1a
1:b:3
x2y|3,4|5
" 'probe begin { print(1, "a", "\n"); printdln(":", 1, "b", 3); println(sprintf("x%dy", 2), "|", sprintd(",", 3, 4), "|", sprint(5));
	exit() }'
once "globals that are only written are shown at the end" 'n=0x5
s="text"
a["x",1]=0x2
t @count=1 @min=7 @max=7 @sum=7 @avg=7
' 'global n, s, a, t; probe begin { n = 5; s = "text"; a["x", 1] = 2; t <<< 7; exit() }'
once "macros and conditions" "5 yes 3
" '@define add(x, y) %( (@x + @y) %) @define three %( 3 %) probe begin { printf("%d ", @add(2, @three));
	print(%( kernel_v >= "2.6" %? "yes" %: nonsense( %)); println(" ", @three); exit() }'
prints "arguments of the script" 0 "5 text 2
" -e 'probe begin { println($1, " ", @2, " ", $#); exit() }' 5 text
prints "a global from the command line" 0 "9
" -e 'global v = 1; probe begin { println(v); exit() }' -G v=9
echo 'probe begin { println("from a file ", @1); exit() }' > "$folder/file.stp"
prints "a script from a file, with an argument" 0 "from a file x
" "$folder/file.stp" x
once "time" "Thu Jan  1 00:00:00 1970 1 1
" 'probe begin { println(ctime(0), " ", gettimeofday_s() > 1000000000, " ", gettimeofday_us() / 1000000 == gettimeofday_s()); exit() }'

# --- errors ---
once "try and catch" "caught stop
then
" 'probe begin { try { error("stop"); println("no") } catch (m) { println("caught ", m) } println("then"); exit() }'
prints "an error ends the script, and error runs instead of end" 1 "1
in error
" -e 'probe begin { println(1); x = 0; println(1 / x); println(2) } probe error { println("in error") } probe end { println("no") }'
says "^ERROR: division by 0 near operator '/' at <input>:1:44\$" "with its place"
says '^WARNING: Number of errors: 1, skipped probes: 0$' "and how many there were"
timeout 60 "$stap" -D MAXERRORS=1 -e 'probe begin { print(1); error("x") } probe begin(1) { println(2); exit() }' \
	> "$folder/out" 2> "$folder/err"
[ $? = 0 ] && [ "$(cat "$folder/out")" = 12 ] && grep -q '^ERROR: x$' "$folder/err"
result $? "MAXERRORS"
prints "an array that is full" 1 "" -e 'global a[2]; probe begin { for (i = 0; i < 3; i++) a[i] = 1; foreach (k in a) println(k) }'
says "ERROR: Array overflow, check size limit \(2\) near identifier 'a'" "is an error"
once "one that wraps" "23
" 'global a%[2]; probe begin { for (i = 0; i < 4; i++) a[i] = 1; foreach (k in a) print(k); println(""); exit() }'
prints "MAXACTION" 1 "" -e 'probe begin { while (1) i++ }'
says 'ERROR: MAXACTION exceeded near' "is an error"
prints "MAXNESTING" 1 "" -e 'function f(x) { return f(x) } probe begin { f(1) }'
says 'ERROR: MAXNESTING exceeded near' "is an error"
once "strings end at MAXSTRINGLEN" "511
" 'probe begin { s = "0123456789abcdef"; for (i = 0; i < 6; i++) s = s . s; println(strlen(s)); exit() }'
prints "an empty aggregate" 1 "" -e 'global s; probe begin { println(@avg(s)); s <<< 1 }'
says 'ERROR: empty aggregate near' "is an error"

# --- what a script may do to strata ---
once "what is removed can be used to the record's end" "first
second
a key
" 'global a, b%[2]; probe begin { a[1] = "first"; s = a[1]; delete a[1]; a[2] = "XXXXX"; println(s);
	b[1] = "second"; s = b[1]; b[2] = "2"; b[3] = "XXXXXX"; println(s);
	delete a; a[7] = "x"; c["a key"] = 1; foreach (k in c) last = k; delete c; c["XXXXX"] = 1; println(last); exit() } global c'
once "values far from a linear histogram's range" "value |-------------------------------------------------- count
   95 |                                                   0
   98 |                                                   0
  >98 |@                                                  1

" 'global s; probe begin { s <<< 9223372036854775807; print(@hist_linear(s, -10, 100, 3)); exit() }'
refuses 'too many buckets in this histogram' \
	'global s; probe begin { s <<< 5; print(@hist_linear(s, -9000000000000000000, 9000000000000000000, 1)) }'
once "a histogram's buckets by powers of two are those of 64 bits" "0
" 'global s; probe begin { s <<< 1; print(@hist_log(s)[127], "\n"); try { println(@hist_log(s)[128]) } catch { } exit() }'
many=$(seq -s, 100 170)
once "any number of arguments" "$many
" "probe begin { printdln(\",\", $many); exit() }"
refuses 'too many keys' \
	"global a; probe begin { foreach ([$(seq -s, 1 17 | sed 's/[0-9]*/k&/g')] in a) println(k1) }"
refuses 'too many buckets in this histogram' 'global s; probe begin { try { s[1] <<< 5 } catch { } foreach (k in s @avg-) println(k);
	try { print(@hist_linear(s[1], -9000000000000000000, 9000000000000000000, 1)) } catch { } }'
/usr/bin/python3 -c 'print("probe begin { x = " + "& " * 60000 + "1 }")' > "$folder/addresses.stp"
/usr/bin/python3 -c 'print("probe begin { x = " + "(" * 140 + "1" + ("+1" * 590 + ")") * 140 + " }")' > "$folder/chain.stp"
for file in addresses chain; do
	timeout 60 "$stap" "$folder/$file.stp" > "$folder/out" 2> "$folder/err"
	[ $? = 1 ] && grep -q 'nested too deeply' "$folder/err"
	result $? "refused: $file, nested too deeply"
done
once "abort() leaves the handler" "1
" 'function f() { abort(); println(2) } probe begin { println(1); f(); println(3) }'
once "the smallest of numbers: widths, errors, threads' depths" "511 -9223372036854775808 EPERM ENOENT 1
" 'probe begin { m = -0x7fffffffffffffff - 1; print(strlen(sprintf("%*d%s", m, 7, "")), " ", errno_str(m), " ", errno_str(-1), " ",
	errno_str(2)); for (i = 0; i < 3; i++) d = thread_indent_depth(0x7fffffffffffffff); println(" ", d != 0); exit() }'
prints "indentation of the oldest is forgotten when there are too many" 0 "1 2 1 1
" -D MAXMAPENTRIES=1 -e 'probe begin { print(thread_indent_depth(1), " ", thread_indent_depth(1), " "); print(isinstr(indent(1), ":"), " ");
	println(thread_indent_depth(1)); exit() }'
for script in 'global a; probe begin { a["\033[31mred"] = 1; exit() }' \
	'probe begin { s = "\033[31mred"; printd(s, 1, 2); exit() }' \
	'probe begin { c = 27; printf("%c[31mred", c); exit() }' 'probe begin { c = 27; print_char(c); print("[31mred"); exit() }'; do
	echo "$script" > "$folder/escape.stp"
	script -qec "timeout 60 $stap $folder/escape.stp" /dev/null < /dev/null > "$folder/out" 2> "$folder/err"
	grep -qF '[31mred' "$folder/out" && ! grep -qF $'\033[31m' "$folder/out"
	result $? "a terminal gets no data that would command it: $script"
done

# --- probes ---
once "begin in the order of their numbers; next" "abc
" 'probe begin(2) { println("c"); exit() } probe begin { print("b"); next; print("no") } probe begin(-1) { print("a") }'
prints "timers, and the end" 0 "1
2
end
" -e 'global n; probe timer.ms(20) { println(++n); if (n == 2) exit() } probe end { println("end") }'
prints "-T ends it" 0 "end
" -T 0.2 -e 'probe begin { } probe end { println("end") }'
prints "aliases: before, behind, names" 0 "5 own.one begin
before
behind
" -e 'probe own.one = begin { a = 5 } probe own.two += begin(1) { println("behind"); exit() }
	probe own.one { println(a, " ", pn(), " ", pp()) } probe own.two { println("before") }'
prints "optional and sufficient points" 0 "one
" -e 'probe nowhere.at.all ?, begin !, timer.s(1) { println("one"); exit() }'
prints "the processes of the command" 0 "begin true 1
end true
" -e 'probe process.begin { println("begin ", execname(), " ", pid() == target()) } probe process.end { println("end ", execname()) }' \
	-c /bin/true
prints "a tracepoint, with a condition" 0 "/bin/true
" -e 'probe kernel.trace("sched:sched_process_exec") { if (pid() != target()) next; println($filename) }' -c /bin/true
prints "a system call: its arguments, its return" 1 "openat 1 -2 -2 (ENOENT)
" -e 'global f; probe syscall.openat { if (pid() == target()) f[tid()] = filename }
	probe syscall.openat.return { if (pid() == target() && f[tid()] == "/nowhere/at/all") printf("%s %d %d %s\n", name,
	retval < 0, retval, retstr) }' -c '/bin/cat /nowhere/at/all'
says '^WARNING: Child process exited with status 1$' "and the command's own failure is told"
cat > "$folder/work.c" << 'END'
#include <string.h>
static volatile unsigned long sum;
int work(int a, const char *s) { sum += strlen(s); return a + s[0]; }
int main(void) { char text[] = "text"; for (int i = 0; i < 3; i++) sum += (unsigned)work(i, text); return 0; }
END
gcc -O0 -g -fno-inline -o "$folder/work" "$folder/work.c"
prints "functions of a program: parameters, texts, results" 0 "work 0 text
116 work
work 1 text
117 work
work 2 text
118 work
" -e 'probe process.function("work") { println(ppfunc(), " ", $a, " ", user_string($s)) }
	probe process.function("work").return { println($return, " ", probefunc()) }' -c "$folder/work"
prints "what is not there is defined() as not, and may be assigned where nobody reads it" 0 "0 7
" -e 'probe own.work = process.function("work") { a = $a + 7; b = $nothing } probe own.work { println(@defined($nothing), " ",
	@choose_defined($nothing, a)); exit() }' -c "$folder/work"
prints "parameters by number, results, and the other halves of tracepoints" 0 "2 118
" -e 'probe process.function("work") { a[tid()] = int_arg(1) } global a
	probe process.function("work").return { if (a[tid()] == 2) println(a[tid()], " ", returnval()) }' -c "$folder/work"
prints "what the kernel's own event has, and its record has not" 0 "1
" -e 'probe kernel.trace("sched_switch") { println($prev->pid >= 0 && $next->pid >= 0); exit() }'
prints "a condition is about what its variables are by then" 0 "3
" -e 'global n; probe process.function("work") { if (x) next; x = $a + 1; n++ } probe end { println(n) }' -c "$folder/work"
prints "what a condition does is done" 0 "3 1
" -e 'global n, m; function count() { n++; return 1 } probe process.function("work") { if (count() && $a == 1) m++ }
	probe end { println(n, " ", m) }' -c "$folder/work"
prints "stopwatches" 0 "1 1
" -e 'probe begin { start_stopwatch("w") } probe timer.ms(20) { stop_stopwatch("w"); t = read_stopwatch_ms("w");
	println(t >= 10, " ", t == read_stopwatch_ms("w")); exit() }'
prints "never" 0 "" -e 'probe never { println(1) } probe begin { exit() }'
prints "a stack as a text" 0 "1
" -e 'probe process.function("work") { s = ubacktrace(); println(isinstr(s, "main")); exit() }' -c "$folder/work"
timeout 60 "$stap" -e 'probe process.function("work") { print_ubacktrace(); exit() }' -c "$folder/work" > "$folder/out" 2> "$folder/err"
grep -qE '^ 0x[0-9a-f]+ : work\+0x[0-9a-f]+/0x[0-9a-f]+ \[/.*/work\]$' "$folder/out" && grep -qE ' : main\+0x[0-9a-f]+/0x[0-9a-f]+ \[/' "$folder/out"
result $? "print_ubacktrace"
timeout 60 "$stap" -e 'probe process.function("work") { print(sprint_ubacktrace()); println("-"); print_ubacktrace_brief(); exit() }' \
	-c "$folder/work" > "$folder/out" 2> "$folder/err"
grep -qE '^work\+0x0 \[work\]$' "$folder/out" && grep -qE '^main\+0x[0-9a-f]+ \[work\]$' "$folder/out" && grep -qE '^main\+0x[0-9a-f]+$' "$folder/out"
result $? "stacks without addresses"
timeout 60 "$stap" -e 'probe kernel.trace("sched_switch") { print_backtrace(); exit() }' > "$folder/out" 2> "$folder/err"
grep -qE '^ 0x[0-9a-f]+ : [A-Za-z_0-9.]+\+0x[0-9a-f]+ \[kernel\]$' "$folder/out"
result $? "print_backtrace"
printf '%s\n' '#include <unistd.h>' '__attribute__((noinline)) void work(void) { usleep(100000); }' \
	'int main(void) { for (int i = 0; i < 50; i++) work(); return 0; }' > "$folder/slow.c"
gcc -O1 -o "$folder/slow" "$folder/slow.c"
prints "the name of an address, without and with where it is" 0 "work
1
" -e 'probe process.function("work") { println(usymname(uaddr())); println(usymdata(uaddr()) =~ "^work[+]0x0/0x[0-9a-f]+ .*/slow]$"); exit() }' -c "$folder/slow"
prints "a mode, and a text beside another call's structs" 0 "\"$folder/made\", 0750
" -e 'probe syscall.{rt_sigaction,mkdir} { if (name == "mkdir" && isinstr(pathname, "made")) println(argstr) }' \
	-c "mkdir -m 750 $folder/made"
prints "flags of mmap by their names" 0 "PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3, 0
" -e 'probe syscall.mmap { if (pid() == target() && isinstr(argstr, "DENYWRITE")) {
	println(substr(argstr, strlen(argstr) - 42, 42)); exit() } }' -c "$folder/work"
prints "signals by their names" 0 "SIGCONT 0
" -e 'probe syscall.kill { if (pid() == target()) { printf("%s", isinstr(argstr, ", SIGCONT") ? "SIGCONT " : argstr) } }
	probe syscall.kill.return { if (pid() == target()) println(retstr) }' -c "sh -c 'kill -CONT \$\$; true'"
prints "arguments of openat as strace writes them" 0 'AT_FDCWD, "/no/such", O_WRONLY|O_APPEND|O_CREAT, 0666
' -e 'probe syscall.openat { if (filename == "/no/such") println(argstr) }' -c "(: >> /no/such) 2>&-; true"
prints "a descriptor that is none is negative" 0 "-1 1
" -e 'probe syscall.mmap { if (pid() == target() && fd == -1) { println(fd, " ", isinstr(argstr, ", -1, 0")); exit() } }' -c "$folder/work"
prints "a function calls and a tokenized text in an event's probe, in order" 0 "0:a,1:b,2:c,
" -e 'global all; function add(i, s) { all = all . sprintf("%d:%s,", i, s) } probe process.function("work") {
	t = tokenize($a ? "" : "a b c", " "); add($a, t) } probe end { println(all) }' -c "$folder/work"

# --- Python, as the HOWTO "Instrumenting CPython" has it; in interpreters with and without markers ---
cat > "$folder/calls.py" << 'END'
def inner():
    return 1
def outer():
    return inner()
def start():
    outer()
start()
outer()
END
cat > "$folder/hierarchy.stp" << 'END'
global on
probe process("python3").mark("function__entry") {
	if (user_string($arg2) == "start") on = 1
	if (on)
		printf("%s => %s in %s:%d\n", thread_indent(1), user_string($arg2), user_string($arg1), $arg3);
}
probe process("python3").mark("function__return") {
	if (on)
		printf("%s <= %s\n", thread_indent(-1), user_string($arg2));
	if (user_string($arg2) == "start") on = 0
}
END
cat > "$folder/tap.stp" << 'END'
probe my.function.entry = process("python3").mark("function__entry") {
	filename = user_string($arg1);
	funcname = user_string($arg2);
	lineno = $arg3;
	frameptr = $arg4
}
END
cat > "$folder/top.stp" << 'END'
global fn_calls;
probe my.function.entry {
	fn_calls[pid(), filename, funcname, lineno] += 1;
}
probe end {
	foreach ([pid, filename, funcname, lineno] in fn_calls-)
		if (isinstr(filename, @1))
			printf("%s %d %d\n", funcname, lineno, fn_calls[pid, filename, funcname, lineno]);
}
END
for python in /usr/bin/python3 ~/.pyenv/versions/3.8*/bin/python3 ~/.pyenv/versions/3.13*/bin/python3; do
	[ -x "$python" ] || continue
	mkdir -p "$folder/tapset"
	sed "s|\"python3\"|\"$python\"|" "$folder/tap.stp" > "$folder/tapset/tap.stp"
	sed "s|\"python3\"|\"$python\"|" "$folder/hierarchy.stp" > "$folder/hierarchy-here.stp"
	timeout 60 "$stap" "$folder/hierarchy-here.stp" -c "$python -S $folder/calls.py" 2> "$folder/err" |
		sed -E "s/^ *[0-9]+ [^(]*\([0-9]+\)/T/; s| in .*/| in |" > "$folder/out"
	printf '%s\n' 'T:  => start in calls.py:5' 'T:   => outer in calls.py:3' 'T:    => inner in calls.py:1' 'T:    <= inner' \
		'T:   <= outer' 'T:  <= start' > "$folder/expected"
	cmp -s "$folder/out" "$folder/expected"
	result $? "the call hierarchy of $python"
	prints "calls by function, with a tapset of the user's, of $python" 0 "outer 3 2
inner 1 2
<module> 1 1
start 5 1
" -I "$folder/tapset" "$folder/top.stp" -c "$python -S $folder/calls.py" calls.py
done
# --- lists in points, suffixes of aliases, @entry ---
five='/usr/bin/python3 -c "import os; [os.getppid() for i in range(5)]"'
prints "a list in a point is several points" 0 "getppid 1
getsid 1
" -e 'global n probe syscall.{getppid,getsid} { if (pid() == target()) n[name]++ }
probe end { foreach (s+ in n) println(s, " ", n[s]) }' -c '/usr/bin/python3 -c "import os; os.getppid(); os.getsid(0)"'
prints "lists within lists, and points behind them" 0 "entry 5
return 5
" -e 'global n probe {kernel.{trace("no:such"),trace("no:more")}?,syscall.getppid} { if (pid() == target()) n["entry"]++ }
probe syscall.{getppid.return,no_such_call?} { if (pid() == target()) n["return"]++ }
probe end { foreach (s+ in n) println(s, " ", n[s]) }' -c "$five"
prints "an alias with a suffix" 0 "5 5
" -e 'global a, b probe mine = syscall.{getppid,getsid} { } probe mine { if (pid() == target()) a++ }
probe mine.return { if (pid() == target()) b++ } probe end { println(a, " ", b) }' -c "$five"
prints "any system call" 0 "getppid 5 0
" -e 'global n, bad probe syscall_any { if (pid() == target() && name == "getppid") n[name, syscall_nr]++ }
probe syscall_any.return { if (pid() == target() && name == "getppid" && retval <= 0) bad++ }
probe end { foreach ([s, i] in n) if (syscall_num(s) == i && syscall_name(i) == s) println(s, " ", n[s, i], " ", bad) }' -c "$five"
prints "@entry of a system call" 0 "/etc/hostname yes
" -e 'probe syscall.openat.return { if (pid() == target() && $return >= 0) {
	name_of = user_string(@entry($filename), "?") if (name_of == "/etc/hostname")
	println(name_of, " ", gettimeofday_us() >= @entry(gettimeofday_us()) ? "yes" : "no") } }' -c "/usr/bin/python3 -c \"open('/etc/hostname')\""
cat > "$folder/factorial.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) long factorial(long n) { return n ? n * factorial(n - 1) : 1; }
int main(int argc, char **argv) { return argc < 2 || factorial(atol(argv[1])) != 24; }
END
gcc -O0 -o "$folder/factorial" "$folder/factorial.c"
prints "@entry of a function that calls itself" 0 "0 1
1 1
2 2
3 6
4 24
" -e 'probe process.function("factorial").return { println(@entry($arg1), " ", $return) }' -c "$folder/factorial 4"
prints "what ends a script is no value, and may stand in a condition" 0 "1
" -e 'probe begin { n = 1 n == 1 && exit() println(n) }'

prints "python.function.entry" 0 "start 5
" -e 'probe python.function.entry { if (funcname == "start" && isinstr(filename, "calls.py")) println(funcname, " ", lineno) }' \
	-c "/usr/bin/python3 -S $folder/calls.py"
cat > "$folder/events.py" << 'END'
import gc, os
class Thing:
    def größe(self):
        return 1
Thing().größe()
try:
    os.truncate("/nowhere/at/all", 0)
except OSError:
    pass
import colorsys
gc.disable()
gc.collect(1)
one = []
one.append(one)
del one
gc.collect(0)
END
for python in /usr/bin/python3 ~/.pyenv/versions/3.8*/bin/python3 ~/.pyenv/versions/3.13*/bin/python3; do
	[ -x "$python" ] || continue
	prints "what other marks of Python's tell, and names that are not ASCII, of $python" 0 "größe 3
audit os.truncate
import colorsys
imported colorsys 1
start 1
start 0
done 1
" -e 'global begun
probe process("'"$python"'").mark("function__entry") { if (user_string($arg2) == "größe") { begun = 1; println(user_string($arg2), " ", $arg3) } }
probe process("'"$python"'").mark("audit") { if (user_string($arg1) == "os.truncate") println($$name, " ", user_string($arg1)) }
probe python.import.start { if (modulename == "colorsys") println("import ", modulename) }
probe python.import.done { if (modulename == "colorsys") println("imported ", modulename, " ", found) }
probe python.gc.start { if (begun && generation < 2) println("start ", generation) }
probe python.gc.done { if (begun && collected == 1) println("done ", collected) }' -c "$python -S $folder/events.py" "$python"
done

# --- tasks and processes ---
prints "tasks by functions, variables and in a condition" 0 "1 1 sleep 1 1
" -e 'function number(task) { return task_pid(task) }
function name() { return task_execname(task_current()) }
probe kernel.trace("sched_switch") { if (pid() == target() && name() == "sleep") { from = $prev
	printf("%d %d %s %d %d\n", number($prev) == pid(), task_pid(task_parent(from)) == ppid(), task_execname(from),
		task_tid(task_current()) == tid(), task_uid(from) == uid()) exit() } }' -c "sleep 0.2"
prints "scheduler.ctxswitch has the tasks, beside what the record has" 0 "1 1 1
" -e 'probe scheduler.ctxswitch { if (pid() == target()) { printf("%d %d %d\n", task_tid(prev_task) == prev_tid,
	task_execname(next_task) == next_task_name, task_cpu(prev_task) == cpu()) exit() } }' -c "sleep 0.2"
prints "cmdline_str" 0 "sleep 0.01
" -e 'probe syscall.clock_nanosleep { if (target_set_pid(pid())) { println(cmdline_str()) exit() } }' \
	-c "sh -c 'sleep 0.01; :'"
prints "target_set_pid is the target and what it started" 0 "1 0
" -e 'probe oneshot { printf("%d %d\n", target_set_pid(target()), target_set_pid(1)) }' -c "sleep 0.1"
prints "argc and argv" 0 'a"b\c d
' -e 'probe oneshot { for (i = 1; i <= argc; i++) printf("%s%s", argv[i], i < argc ? " " : "\n") }' 'a"b\c' d
once "a script's own argv is its own" "4
" 'global argv; probe begin { argv[3] = 4; foreach (i in argv) println(argv[i]); exit() }'
once "mem_page_size, proc_mem_size" "1 1
" 'probe begin { println(mem_page_size() >= 4096, " ", proc_mem_size(stp_pid()) > proc_mem_shr(stp_pid())); exit() }'
printf 'void stay(void) { }\nint pause(void);\nint main(void) { stay(); return pause(); }\n' |
	gcc -O0 -x c -o "$folder/stays" -
prints "modname, umodname: where an address lies" 0 "kernel none 1
" -e 'probe process.function("stay") { try { name = modname(1) } catch { name = "none" }
	println(modname(-4096), " ", name, " ", isinstr(umodname(addr()), "/stays") > 0) exit() }' -c "$folder/stays"
refuses "task is not the probe's own" 'global t; probe begin { t = 1; println(task_pid(t)) }'
refuses "task is not the probe's own" 'probe begin { t = task_current() println(task_pid(t + 8)) }'
for alias in scheduler.wakeup scheduler.wakeup_new scheduler.migrate; do
	prints "$alias compiles with its task" 0 "" -p4 -e "probe $alias { println(task_name, task_pid(task)) }"
done
for alias in ioblock.request ioblock.end ioblock_trace.request ioblock_trace.end; do
	prints "$alias" 0 "" -p4 -e "probe $alias { println(devname, sector, size, bio_rw_str(rw), \$bio) }"
done
cat > "$folder/lines.c" << 'end'
int main(void)
{
	volatile int i = 0;
	for (;;) i++;
}
end
gcc -g -O0 -o "$folder/lines" "$folder/lines.c"
prints "usymfile, usymline, usymfileline: the source of an address; symfileline knows none" 0 "$folder/lines.c:4 $folder/lines.c 4
0xffffffffffffffff 0x1
" -e 'probe timer.profile { if (execname() == "lines" && user_mode()) {
	println(usymfileline(uaddr()), " ", usymfile(uaddr()), " ", usymline(uaddr()))
	println(symfileline(-1), " ", usymfileline(1)); exit() } }' -c "$folder/lines"
once "addr_to_node is an error for addresses of a program" "invalid kernel virtual address 0x10 near identifier 'addr_to_node' at <input>:1:29
" 'probe begin { try { println(addr_to_node(16)) } catch (why) { println(why) } exit() }'
prints "-c: words are expanded, the rest is a shell's" 0 "/etc/hostname a  b c
" -e 'probe never { }' -c "echo /etc/hostnam* 'a  b' | sed 's/b/b c/'"
prints "-c: without a shell" 0 "/etc/hostname a  b
" -e 'probe never { }' -c "echo /etc/hostnam* 'a  b'"
refuses "not set: echo .NOT_SET_AT_ALL" 'probe begin { exit() }' -c 'echo $NOT_SET_AT_ALL'
refuses "commands within the command" 'probe begin { exit() }' -c 'echo $(date)'
refuses "quotes of the command" 'probe begin { exit() }' -c 'echo "a'
refuses "the command is empty" 'probe begin { exit() }' -c ' '

# What a place offers is found by trying it: what was tried must leave no trace in the programs that are loaded.
prints "a tracepoint's variables beside another probe" 0 "1 1
" -e 'probe switches = kernel.trace("sched_switch") { known = @choose_defined($nothing, 1) }
	probe switches { println(known, " ", $preempt >= 0); exit() } probe timer.s(60) { exit() }'
for alias in vm.kmalloc vm.kmem_cache_alloc; do
	prints "$alias" 0 "" -p4 -e "probe $alias { println(ptr, bytes_req, bytes_alloc) }"
done

# --- as a tool ---
prints "-p4 says nothing" 0 "" -p4 -e 'probe begin { exit() }'
prints "-l lists" 0 "syscall.openat
syscall.openat2
" -l 'syscall.openat*'
prints "-L lists with variables" 0 "scheduler.process_fork name:string parent_pid:long child_pid:long child_tid:long
" -L 'scheduler.process_fork'
prints "-o writes to a file" 0 "" -o "$folder/written" -e 'probe begin { println("written"); exit() }'
[ "$(cat "$folder/written")" = written ]
result $? "what the script prints"
timeout 60 "$STRATA" trace --dialect stap -e 'probe begin { println("dialect"); exit() }' > "$folder/out" 2> "$folder/err"
[ "$(cat "$folder/out")" = dialect ]
result $? "strata trace --dialect stap"

# --- refusals ---
refuses "^parse error: expected '}'" 'probe begin { exit()'
says '^	saw: <input> EOF$' "where the text ends"
refuses '^Pass 1: parse failed' 'probe begin { exit( }'
says "saw: operator '}' at <input>:1:21" "with its place"
refuses "^parse error: expected 'probe', 'global'" 'nonsense'
refuses '^ +source: probe begin .*\?\]0;x\?' "$(printf 'probe begin { \033]0;x\007 }')"
! grep -q "$(printf '\033')" "$folder/err"
result $? "a script's control characters do not reach the terminal"
refuses '^parse error: embedded C' 'function f() %{ return 1; %} probe begin { f() }'
says 'hint: strata loads no kernel module' "with what to use instead"
refuses "^semantic error: unresolved function nothing: identifier 'nothing' at <input>:1:15" 'probe begin { nothing() }'
refuses 'type mismatch: expected long but found string' 'probe begin { println(1 + "a") }'
refuses 'unresolved arity-1 global array x' 'probe begin { x[1] = 1 }'
refuses "statistics are global: missing global declaration of 'x'\?" 'probe begin { x <<< 5; println(@count(x)) }'
prints 'a probe oneshot ends the script when it is done' 0 $'once\n' -e 'probe oneshot { println("once") } probe end { }'
prints 'colours, of one to three numbers: the background first, an attribute of 0 not at all' 0 \
	$'\033[31m\033[42;31m\033[42;31;4m\033[42;31m\033[42;31;1m' -e 'probe oneshot { ansi_set_color(31)
	ansi_set_color(31, 42) ansi_set_color(31, 42, 4) ansi_set_color3(31, 42, 0) ansi_set_color3(31, 42, 1) }'
prints "nd_syscall is syscall" 0 $'getppid\n' -e 'probe nd_syscall.getppid { if (pid() == target()) { println(name) exit() } }' \
	-c "perl -e getppid"
refuses 'inconsistent arity \(1 vs 2\) for array' 'global x; probe begin { x[1] = 1; x[1, 2] = 1 }'
refuses 'while resolving probe point' 'probe nowhere.at.all { exit() }'
refuses 'too few arguments for format' 'probe begin { printf("%d %d", 1) }'
refuses "address is not the probe's own" 'global p; probe begin { p = 1; println(user_string(p)) }'
refuses '@var is not supported' 'probe begin { println(@var("x@a.c")) }'
refuses '@entry is not valid here' 'probe begin { println(@entry(1)) }'
refuses 'command line argument out of range' 'probe begin { println($1) }'
refuses "found 'return' not in function context" 'probe begin { return 1 }'
refuses "unable to find target variable" 'probe process.function("work") { println($nothing) }' -c "$folder/work"
prints "members of what is cast, also through variables and functions; where a member lies" 0 "python3 1 1 1 1
0 1
python3
" -e 'function name_of:string(t) { return @cast(t, "task_struct", "kernel<linux/sched.h>")->comm }
function parent(t) { p = @cast(t, "struct task_struct")->real_parent return @cast(p, "task_struct")->tgid }
probe syscall.getppid { if (pid() != target()) next
	t = task_current()
	printf("%s %d %d %d %d\n", name_of(t), @cast(t, "task_struct")->tgid == pid(), parent(t) == ppid(),
		@cast(task_current(), "task_struct", "kernel")->pid == tid(), &@cast(t, "task_struct")->comm - t > 8)
	println(@defined(@cast(t, "task_struct")->nothing), " ", @defined(@cast(t, "task_struct")->cred->uid->val))
	println(kernel_string(&@cast(t, "task_struct")->comm)) }' -c '/usr/bin/python3 -c "import os; os.getppid()"'
refuses "@cast\(\): this address is not the probe's own" 'global a probe syscall.getppid { a = task_current() }
probe end { println(@cast(a, "task_struct")->pid) }'
refuses 'unable to find type or member of @cast: \{task_struct\}->nothing' \
	'probe syscall.getppid { t = task_current() println(@cast(t, "task_struct")->nothing) }'
refuses "unable to find target variable '.__task\{no_such\}->pid'" \
	'probe syscall.getppid { println(@cast(task_current(), "no_such")->pid) }'
prints "the name of a mark and of a tracepoint" 0 "gc__done
gc__start
sched_process_exit
" -e 'global n probe process("/usr/bin/python3").mark("gc__*"), kernel.trace("sched:sched_process_exit") { n[$$name] = 1 } probe end { foreach (k+ in n) println(k) }' \
	-c '/usr/bin/python3 -c "import gc; gc.collect()"'
cat > "$folder/lines.py" <<'END'
def two():
    x = 1
    return x
two()
END
for python in /usr/bin/python3 ~/.pyenv/versions/3.8*/bin/python3 ~/.pyenv/versions/3.13*/bin/python3; do
	[ -x "$python" ] || continue
	prints "the line of a call and of its return, of $python" 0 "entry 1
entry 1
return 3
return 3
" -e 'probe process(@1).mark("function__entry"), process(@1).mark("function__return") { if (user_string($arg2) == "two")
	println(substr($$name, 10, 6), " ", $arg3) }
probe python.function.entry { if (funcname == "two" && isinstr(filename, "lines.py")) println("entry ", lineno) }
probe python.function.return { if (funcname == "two" && isinstr(filename, "lines.py")) println("return ", lineno) }' \
		-c "$python -S $folder/lines.py" "$python"
done
prints "an argument of the script, and one of a call, are both named argv" 0 "one
" -e 'probe syscall.execve { if ($argv == 5) println("never") } probe begin { println(argv[1]) exit() }' one
refuses 'write to target variable not permitted' 'probe process.function("work") { $a = 1 }' -c "$folder/work"

echo "1..$n"
