#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D scripts through a link named dtrace: what they print, to the byte, and what is refused. Needs root.
set -u
: "${STRATA:?}" "${BUILD:?}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(readlink -f "$STRATA")" "$folder/dtrace"
dtrace=$folder/dtrace
n=0

result() # STATUS NAME
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		sed 's/^/# /' "$folder/out" "$folder/err"
	fi
}

# Standard output, to the byte, and the exit status; nothing on standard error unless $4 is given.
prints() # NAME STATUS EXPECTED ARGUMENTS...
{
	local name=$1 status=$2 expected=$3 got
	shift 3
	timeout 60 "$dtrace" "$@" > "$folder/out" 2> "$folder/err"
	got=$?
	printf '%s' "$expected" > "$folder/expected"
	# Which CPU it was is not known. A blank at the end of a line is written ~ here.
	sed -i -E 's/ $/~/; s/^  [0-9]+ ( +[0-9]+ +[^ ]*:)/  0 \1/' "$folder/out"
	[ "$got" = "$status" ] && cmp -s "$folder/out" "$folder/expected"
	result $? "$name"
}

refuses() # TAG PROGRAM
{
	timeout 60 "$dtrace" -xerrtags -qn "$2" > "$folder/out" 2> "$folder/err"
	[ $? = 1 ] && grep -q "^dtrace: invalid probe specifier .*\[$1\]" "$folder/err" && [ ! -s "$folder/out" ]
	result $? "refused: $1"
}

# --- rows ---
prints "a row with its header" 0 "CPU     ID                    FUNCTION:NAME
  0      1                           :BEGIN hi 5 x

" -n 'BEGIN /cpu >= 0/ { printf("hi %d %s", 5, "x"); exit(0); }'
[ "$(cat "$folder/err")" = "dtrace: description 'BEGIN ' matched 1 probe" ]
result $? "how many probes matched is told on standard error"
_DTRACE_TESTING=1 prints "without CPU and ID for tests; trace() of int, long and string" 3 \
"                   FUNCTION:NAME
                          :BEGIN           1                   2  a                               ~

" -n 'BEGIN { trace(1); trace(2ll); trace("a"); exit(3); }'
prints "nothing but the program's own" 3 "1a
" -q -n 'BEGIN { trace(1); trace("a"); exit(3); }'
prints "the pragma quiet" 0 "x
" -n '#pragma D option quiet
BEGIN { printf("x"); exit(0); }'

# --- language ---
prints "this-> is shared by clauses of one firing, which run in their order" 0 "3 4
" -qn 'BEGIN { this->x = 3; } BEGIN /this->x == 3/ { printf("%d %d", this->x, this->x + 1); exit(0); }'
prints "no other clause runs after exit()" 2 "12
" -qn 'BEGIN { printf("1"); exit(2); printf("2"); } BEGIN { printf("3"); }'
prints "integers are C's" 0 "-55 0 0 4464 4294967295 -1
" -qn 'BEGIN { a = (char)200 + 1; b = 0xffffffff + 1; c = -1 < 1u;
	printf("%d %d %d %d %u %d", a, b, c, (uint16_t)70000, -1, -1); exit(0); }'
prints "thread-locals, arrays, steps" 0 "1 2 5 0 0
" -qn 'BEGIN { self->i++; s[1, "a"] += 5; printf("%d %d %d ", self->i, ++self->i, s[1, "a"]); self->i = 0;
	printf("%d %d", self->i, s[2, "a"]); exit(0); }'
prints "if and else" 0 "then
" -qn 'BEGIN { if (1 < 2) { printf("then"); } else { printf("else"); } exit(0); }'
prints "strings" 0 "c.py|/a/b|ell|2|3|-12|1
" -qn 'BEGIN { printf("%s|%s|%s|%d|%d|%s|%d", basename("/a/b/c.py"), dirname("/a/b/c.py"), substr("hello", 1, 3),
	index("hello", "l"), rindex("hello", "l"), lltostr(-12), "abc" < "abd"); exit(0); }'
prints "formats" 0 "[   5][5   ][0005][  ab][ab  ][a][ff][  7]
" -qn 'BEGIN { printf("[%4d][%-4d][%04d][%4s][%-4s][%.1s][%x][%*d]", 5, 5, 5, "ab", "ab", "ab", 255, 3, 7); exit(0); }'
prints "macro arguments" 0 "7 word 0
" -x defaultargs -qn 'BEGIN { printf("%d %s %d", $1, $$2, $3); exit(0); }' 7 word

# --- failures ---
timeout 60 "$dtrace" -qn 'BEGIN { printf("lost"); x = 0; y = 5 / x; exit(3); } ERROR { printf("E%d", arg4); exit(1); }' \
	> "$folder/out" 2> "$folder/err"
[ $? = 1 ] && [ "$(cat "$folder/out")" = "E4" ] && grep -q "divide-by-zero" "$folder/err"
result $? "a clause that fails prints nothing; ERROR runs"
timeout 60 "$dtrace" -qn 'BEGIN { printf("%s", copyinstr(0)); } ERROR { printf("E%d %x", arg4, arg5); exit(1); }' \
	> "$folder/out" 2> "$folder/err"
[ $? = 1 ] && [ "$(cat "$folder/out")" = "E1 0" ] && grep -q "invalid address (0x0)" "$folder/err"
result $? "an address that cannot be read"

# --- aggregations ---
prints "aggregations at the end, sorted by value" 0 "
  b                                                                 1
  a                                                                 2
" -qn 'BEGIN { @["a"] = count(); @["a"] = count(); @["b"] = count(); exit(0); }'
prints "keys of 4 and 8 bytes; sum, min, max, avg, stddev" 0 "
        1                2               10
               -3
                9
                3
                5
" -qn 'BEGIN { @s[1, 2ll] = sum(10); @i = min(-3); @i = min(5); @x = max(9); @x = max(2); @a = avg(2); @a = avg(5);
	@d = stddev(1); @d = stddev(10); exit(0); }'
prints "quantize" 0 "

           value  ------------- Distribution ------------- count   ~
              -4 |                                         0       ~
              -2 |@@@@@@@@@@                               1       ~
              -1 |                                         0       ~
               0 |                                         0       ~
               1 |                                         0       ~
               2 |                                         0       ~
               4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3       ~
               8 |                                         0       ~

" -qn 'BEGIN { @ = quantize(5, 3); @ = quantize(-3); exit(0); }'
prints "lquantize" 0 "

           value  ------------- Distribution ------------- count   ~
             < 0 |@@@@@@@@@@@@@                            1       ~
               0 |                                         0       ~
               2 |                                         0       ~
               4 |                                         0       ~
               6 |@@@@@@@@@@@@@                            1       ~
               8 |                                         0       ~
           >= 10 |@@@@@@@@@@@@@                            1       ~

" -qn 'BEGIN { @ = lquantize(7, 0, 10, 2); @ = lquantize(-1, 0, 10, 2); @ = lquantize(10, 0, 10, 2); exit(0); }'
prints "llquantize" 0 "

           value  ------------- Distribution ------------- count   ~
              90 |                                         0       ~
             100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1       ~
             200 |                                         0       ~

" -qn 'BEGIN { @ = llquantize(123, 10, 0, 3, 10); exit(0); }'
prints "printa with a format, trunc, normalize" 0 "b 2
c 3

" -qn 'BEGIN { @["a"] = sum(10); @["b"] = sum(20); @["c"] = sum(30); trunc(@, 2); normalize(@, 10);
	printa("%s %@d\n", @); exit(0); }'
prints "several aggregations in one printa" 0 "a 1 10
b 2 20

" -qn 'BEGIN { @x["a"] = sum(1); @y["a"] = sum(10); @x["b"] = sum(2); @y["b"] = sum(20);
	printa("%s %@d %@d\n", @x, @y); exit(0); }'

# --- providers ---
prints "tick" 0 "tick-50ms profile
" -qn 'tick-50ms { printf("%s %s", probename, probeprov); exit(0); }'
prints "a system call of the command; errno" 0 "2
" -qn 'syscall::openat:entry /pid == $target/ { self->in = 1; }
	syscall::openat:return /self->in && errno/ { printf("%d", errno); exit(0); }' -c '/bin/cat /nowhere/at/all' 2> /dev/null
echo 'int twice(int x) { return 2 * x; } int main(int argc, char **argv) { (void)argv; return twice(argc) - 2; }' > "$folder/twice.c"
gcc -O0 -g0 -fno-inline -o "$folder/twice" "$folder/twice.c"
prints "a function of the command, what it is given, and what it returns" 0 "twice a.out 1 2
" -qn 'pid$target:a.out:twice:entry { printf("%s %s %d ", probefunc, probemod, arg0); }
	pid$target:a.out:twice:return { printf("%d", arg1); exit(0); }' -c "$folder/twice"

# --- Python ---
# As the HOWTO "Instrumenting CPython" has it. d_python.t has other interpreters.
cat > "$folder/calls.d" << 'END'
#!/usr/sbin/dtrace -qs
self int depth;

python$target:::line { }

python$target:::function-entry
/copyinstr(arg1) == "start"/
{
	self->trace = 1;
}

python$target:::function-entry
/self->trace/
{
	printf("%*s", self->depth, "");
	printf("%*s:%s:%s:%d\n", 15, probename, basename(copyinstr(arg0)), copyinstr(arg1), arg2);
	self->depth++;
}

python$target:::function-return
/self->trace/
{
	self->depth--;
	printf("%*s%*s:%s\n", self->depth, "", 15, probename, copyinstr(arg1));
}

python$target:::function-return
/copyinstr(arg1) == "start"/
{
	self->trace = 0;
}
END
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
python=$(readlink -f "$(command -v /usr/bin/python3)")
if readelf -n "$python" 2> /dev/null | grep -q function__entry; then
	prints "calls of a Python program, indented; its thread-locals" 0 " function-entry:calls.py:start:5
  function-entry:calls.py:outer:3
   function-entry:calls.py:inner:1
  function-return:inner
 function-return:outer
function-return:start

" -q -s "$folder/calls.d" -c "$python $folder/calls.py"
else
	n=$((n + 1))
	echo "ok $n - calls of a Python program # SKIP $python has no markers"
fi

# --- refusals ---
refuses D_PDESC_ZERO 'nowhere:::at-all { exit(0); }'
refuses D_SYNTAX 'BEGIN { exit(0) '
refuses D_IDENT_UNDEF 'BEGIN { exit(nothing); }'
refuses D_VAR_UNDEF 'BEGIN { exit(self->x); }'
refuses D_FUNC_UNDEF 'BEGIN { no_such_function(1); }'
refuses D_PRINTF_ARG_TYPE 'BEGIN { printf("%s", 1); }'
refuses D_PRINTF_ARG_PROTO 'BEGIN { printf("%d"); }'
refuses D_AGG_REDEF 'BEGIN { @ = count(); @ = sum(1); }'
refuses D_PROTO_LEN 'BEGIN { a[1] = 1; a[1, 2] = 2; }'
refuses D_OP_INCOMPAT 'BEGIN { x = 1; x = "a"; }'
refuses D_MACRO_UNDEF 'BEGIN { exit($1); }'
refuses D_DIV_ZERO 'BEGIN { x = 1 / 0; }'

echo "1..$n"
