#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D: what markers of CPython's tell, in interpreters that have none, and in those of 3.11, whose own are not right. The
# scripts have the shape of those of CPython's test_dtrace. Needs root.
. "$(dirname "$0")/d_says.sh"

cat > "$folder/calls.py" << 'END'
import os
class Thing:
    def method(self):
        return 1
def größe():
    return Thing().method()
def numbers():
    yield 1
def start():
    größe()
    list(numbers())
    try:
        os.truncate("/nowhere/at/all", 0)
    except OSError:
        pass
    import colorsys
start()
größe()
END
cat > "$folder/calls.d" << 'END'
self int indent;

python$target:::function-entry
/copyinstr(arg1) == "start"/
{
	self->trace = 1;
}

python$target:::function-entry,
python$target:::function-return
/self->trace && basename(copyinstr(arg0)) == "calls.py"/
{
	self->indent -= probename == "function-return";
	printf("%15s:%*s%s:%s:%d\n", probename, self->indent, "", basename(copyinstr(arg0)), copyinstr(arg1), arg2);
	self->indent += probename == "function-entry";
}

python$target:::function-return
/copyinstr(arg1) == "start"/
{
	self->trace = 0;
}
END
cat > "$folder/events.d" << 'END'
python$target:::audit
/copyinstr(arg0) == "os.truncate"/
{
	printf("%s %s\n", probename, copyinstr(arg0));
}

python$target:::import-find-load-start
/copyinstr(arg0) == "colorsys"/
{
	printf("%s %s\n", probename, copyinstr(arg0));
}

python$target:::import-find-load-done
/copyinstr(arg0) == "colorsys"/
{
	printf("%s %s %d\n", probename, copyinstr(arg0), arg1);
}
END
cat > "$folder/gc.py" << 'END'
import gc
def start():
    gc.collect(0)
    gc.collect(1)
    one = []
    one.append(one)
    del one
    gc.collect(2)
gc.disable()
gc.collect()
start()
END
cat > "$folder/gc.d" << 'END'
python$target:::function-entry
/copyinstr(arg1) == "start"/
{
	self->trace = 1;
}

python$target:::gc-start,
python$target:::gc-done
/self->trace/
{
	printf("%s:%ld\n", probename, arg0);
}

python$target:::function-return
/copyinstr(arg1) == "start"/
{
	self->trace = 0;
}
END

tested=0
for python in /usr/bin/python3 ~/.pyenv/versions/3.*/bin/python3; do
	[ -x "$python" ] || continue
	minor=$("$python" -c 'import sys; print(sys.version_info.minor)')
	tested=$((tested + 1))
	says "calls by file, function and line, of $python" 0 " function-entry:calls.py:start:9
 function-entry: calls.py:größe:5
 function-entry:  calls.py:method:3
function-return:  calls.py:method:4
function-return: calls.py:größe:6
 function-entry: calls.py:numbers:7
function-return: calls.py:numbers:8
 function-entry: calls.py:numbers:8
function-return: calls.py:numbers:8
function-return:calls.py:start:16

" -qs "$folder/calls.d" -c "$python -S $folder/calls.py"
	says "the generation of a garbage collection, and what it collected, of $python" 0 "gc-start:0
gc-done:0
gc-start:1
gc-done:0
gc-start:2
gc-done:1

" -qs "$folder/gc.d" -c "$python -S $folder/gc.py"
	if [ "$minor" -lt 8 ]; then
		timeout 60 "$dtrace" -qs "$folder/events.d" -c "$python -S $folder/calls.py" > "$folder/out" 2>&1
		got=$?
		n=$((n + 1))
		[ "$got" = 1 ] && grep -q "python:audit is not to be had: .* came with 3.8" "$folder/out" || echo -n "not "
		echo "ok $n - an event that came later is refused by name, of $python"
		continue
	fi
	says "audits and imports, of $python" 0 "audit os.truncate
import-find-load-start colorsys
import-find-load-done colorsys 1

" -qs "$folder/events.d" -c "$python -S $folder/calls.py"
done
if [ "$tested" = 0 ]; then
	echo "1..0 # SKIP there is no Python"
	exit 0
fi

# --- which there are ---
# The names, in their order.
lists() # NAME EXPECTED ARGUMENTS...
{
	local name=$1 expected=$2
	shift 2
	timeout 60 "$dtrace" -l "$@" > "$folder/out" 2> "$folder/error"
	n=$((n + 1))
	if [ "$(awk 'NR > 1 { print $NF }' "$folder/out" | sort | tr '\n' ' ')" = "$expected" ]; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		sed 's/^/# /' "$folder/out" "$folder/error"
	fi
}

python=/usr/bin/python3
for one in ~/.pyenv/versions/3.13*/bin/python3 ~/.pyenv/versions/3.12*/bin/python3; do
	[ -x "$one" ] && python=$one && break
done
if [ "$python" = /usr/bin/python3 ]; then
	echo "1..$n"
	exit 0
fi
all="audit function-entry function-return gc-done gc-start import-find-load-done import-find-load-start "
all+="line "
lists "the probes of a command's Python are listed, each once" "$all" -P 'python$target' -c "$python -c 1"
lists "a pattern of names" "function-entry function-return " -n 'python$target:::function*' -c "$python -c 1"
lists "a program that is no Python has none" "" -P 'python$target' -c /bin/true
timeout 60 "$dtrace" -n 'python$target:::function* { exit(0); }' -c "$python -c 1" > "$folder/out" 2>&1
grep -q ' matched 2 probes$' "$folder/out" || echo -n "not "
n=$((n + 1))
echo "ok $n - several places are one probe"
lines=$(ls ~/.pyenv/versions/3.12*/bin/python3 2> /dev/null | head -1)
cat > "$folder/again.py" << 'END'
def one(x): return x
def work(x):
    y = one(1) if x else one(2)
    for x in "": pass
    return y
work(0)
END
timeout 60 "$dtrace" -qn 'python$target:::line /copyinstr(arg1) == "work"/ { printf("<%d>", arg2); }' \
	-c "$lines $folder/again.py" > "$folder/out" 2>&1
n=$((n + 1))
if [ -z "$lines" ]; then echo "ok $n - lines # SKIP no 3.12"; else
	[ "$(grep -o '<[0-9]*>' "$folder/out" | tr -d '\n')" = "<3><3><4><5>" ] || echo -n "not "
	echo "ok $n - lines of 3.12, one of them again behind a call, as sys.monitoring has it"
fi

# --- processes that run, and all ---
cat > "$folder/loop.py" << 'END'
import time
def turn():
    time.sleep(0.01)
while True:
    turn()
END
"$python" -S "$folder/loop.py" &
loop=$!
trap 'kill $loop 2> /dev/null; rm -rf "$folder"' EXIT
until [ "$(tr '\0' ' ' < /proc/$loop/cmdline 2> /dev/null)" ] && grep -q libpython3 /proc/$loop/maps; do sleep 0.05; done
lists "the probes of a process that runs" "$all" -P "python$loop"
lists "of the process of -p" "$all" -n 'python$target:::' -p "$loop"
for way in "python\$target -p" "python$loop -Z"; do
	provider=${way% *}
	[ "${way#* }" = -p ] && more=(-p "$loop") || more=()
	says "a function of a process that runs: ${provider%%[0-9]*}" 0 "1 turn

" -qn "$provider:::function-entry /copyinstr(arg1) == \"turn\"/ { printf(\"%d %s\\n\", pid == $loop, copyinstr(arg1)); exit(0); }" \
		"${more[@]}"
done
says "of all Pythons" 0 "1 turn

" -qn "python*:::function-entry /pid == $loop && copyinstr(arg1) == \"turn\"/ { printf(\"1 %s\\n\", copyinstr(arg1)); exit(0); }"
says "of all Pythons, the command's among them" 0 "1 start

" -qn 'python*:::function-entry /pid == $target && copyinstr(arg1) == "start"/ { printf("1 %s\n", copyinstr(arg1)); }' \
	-c "$python -S $folder/calls.py"
echo "1..$n"
