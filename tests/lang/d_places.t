#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D: probes, functions, actions, variables, and what the command line says, as dtrace-utils has them. Needs root.
. "$(dirname "$0")/d_says.sh"

# --- failures of clauses ---
says "a clause that fails says which one it is, where, and why" 1 \
"dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { x = 0; } BEGIN { trace(*(int *)x); } ERROR { exit(1); }'
says "a division by zero; arg3 is the instruction" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): divide-by-zero at BPF pc N
4 1
" -qn 'BEGIN { x = 0; trace(1 / x); } ERROR { printf("%d %d", arg4, arg3 > 0); exit(1); }'

says "arg1 and arg2 of ERROR are the place that failed and the clause" 0 \
"dtrace: error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
1 2
" -qn 'ERROR { printf("%d %d", arg1 - myid + 1, arg2); exit(0); } BEGIN { myid = id; } BEGIN { *(char *)NULL; }'
says "ERROR clauses alone: nothing runs, and dtrace waits for the command" 0 \
"dtrace: description 'ERROR ' matched 1 probe

" -n 'ERROR { self->x = arg4; trace(self->x); exit(1); }' -c /bin/true
says "mistakes in ERROR are found where no clause may fail" 1 \
"dtrace: invalid probe specifier BEGIN { exit(0); } ERROR { trace(nosuch); }: failed to resolve nosuch: Unknown variable name
" -qn 'BEGIN { exit(0); } ERROR { trace(nosuch); }'
says "mistakes in ERROR are found where there is nothing else" 1 \
"dtrace: invalid probe specifier ERROR { trace(nosuch); }: failed to resolve nosuch: Unknown variable name
" -qn 'ERROR { trace(nosuch); }'
says "arg1 of ERROR where a clause has several places" 0 \
"dtrace: error in dt_clause_0 for probe ID 5 (syscall:vmlinux:exit_group:entry): invalid address (0xH) at BPF pc N
5 0

" -qn 'syscall::accept:entry, syscall::exit_group:entry /pid == $target/ { *(char *)NULL; }
	ERROR { printf("%d %d\n", arg1, arg2); }' -c /bin/true

# --- what places tell ---
says "profile and tick: where the kernel or the program was, of which one is 0" 0 \
"0 0 0
" -qn 'profile-199 { n++; both += arg0 && arg1; none += !arg0 && !arg1; odd += (int64_t)arg0 > 0 || (int64_t)arg1 < 0; }
	tick-199 { both += arg0 && arg1; none += !arg0 && !arg1; } tick-50ms /n > 20/ { exit(0); }
	END { printf("%d %d %d", both, none, odd); }'
echo 'int main(void) { for (;;); }' | gcc -O0 -x c -o "$folder/spins" -
says "a profile's program counter is in the program" 0 \
"  spins\`main
" -qn 'profile-199 /pid == $target && execname == "spins" && arg1/ { ufunc(arg1); exit(0); }' -c "$folder/spins"
says "pr_psargs: the words of a command, up to 79 characters" 0 \
"[/bin/true a bb 0123456789012345678901234567890123456789012345678901234567890123] 79

" -qn 'proc:::exec-success /execname == "true"/ { printf("[%s] %d\n", curpsinfo->pr_psargs, strlen(curpsinfo->pr_psargs)); }' \
	-c '/bin/true a bb 01234567890123456789012345678901234567890123456789012345678901234567890123456789'
says "pr_psargs of another process" 1 \
"dtrace: invalid probe specifier proc:::create { trace(args[0]->pr_psargs); }: [D_XLATE_NOCONV] translator does not define conversion for member: pr_psargs
" -xerrtags -n 'proc:::create { trace(args[0]->pr_psargs); }'

# --- what is refused ---
says "destructive actions need -w" 1 \
"dtrace: description 'BEGIN ' matched 1 probe
dtrace: could not enable tracing: Destructive actions not allowed
" -n 'BEGIN { system("true"); }'
says "-Z, and nothing is there" 1 \
"dtrace: description ':::nothing_of_this_name' matched 0 probes
dtrace: no probes matched
" -Zn ':::nothing_of_this_name'
says "too few arguments" 1 \
"dtrace: invalid probe specifier BEGIN { trace(substr(\"a\")); }: [D_PROTO_LEN] substr( ) prototype mismatch: 1 arg passed, at least 2 expected
" -xerrtags -n 'BEGIN { trace(substr("a")); }'
says "an argument of another type" 1 \
"dtrace: invalid probe specifier BEGIN { exit(\"a\"); }: [D_PROTO_ARG] exit( ) argument #1 is incompatible with prototype:
	prototype: int
	 argument: string
" -xerrtags -n 'BEGIN { exit("a"); }'
says "too many colons" 1 \
"dtrace: invalid probe specifier a:b:c:d:e: invalid probe description \"a:b:c:d:e\": Overspecified probe description
" -n a:b:c:d:e

says "an argument that the program does not use" 1 \
"dtrace: invalid probe specifier BEGIN { exit(0); }: [D_MACRO_UNUSED] extraneous argument 'b' (\$2 is not referenced)
" -xerrtags -n 'BEGIN { exit(0); }' a b
says "a format with two widths" 1 \
"dtrace: invalid probe specifier BEGIN { printf(\"%**d\", 1); }: [D_SYNTAX] format conversion #1 has more than one '*' specified for the output width
" -xerrtags -n 'BEGIN { printf("%**d", 1); }'
says "a value of another type than the format's" 1 \
"dtrace: invalid probe specifier BEGIN { printf(\"%s %d\", \"a\", \"b\"); }: [D_PRINTF_ARG_TYPE] printf( ) argument #3 is incompatible with conversion #2 prototype:
	conversion: %d
	 prototype: char, short, int, long, or long long
	  argument: string
" -xerrtags -n 'BEGIN { printf("%s %d", "a", "b"); }'

# --- descriptions by their parts ---
says "-f with a part too many" 1 \
"dtrace: invalid probe specifier a:b:c:d: invalid probe description \"a:b:c:d\": Overspecified probe description
" -f a:b:c:d
says "-i: dtrace's own probes have lasting numbers" 0 \
"   ID   PROVIDER            MODULE                          FUNCTION NAME
    2     dtrace                                                     END
" -li 2
says "-i: no other" 1 \
"dtrace: invalid probe specifier 0: invalid probe identifier 0: Unknown probe identifier
" -i 0
says "-l tells what is not there, and goes on" 0 \
"dtrace: failed to match :::nothing_of_this_name: No probe matches description
   ID   PROVIDER            MODULE                          FUNCTION NAME
    1     dtrace                                                     BEGIN
" -l -n nothing_of_this_name -n BEGIN

# --- output that goes elsewhere, and the preprocessor ---
says "freopen() to a file and back" 0 "after
" -qwn 'BEGIN { freopen("/dev/null"); printf("lost"); freopen(""); printf("after"); exit(0); }'
printf '#define ONE 1\n\n\n\nBEGIN\n{\n\ttrace(ONE + nothing);\n}\n' > "$folder/lines.d"
says "lines are those of the file, also through the preprocessor" 1 \
"dtrace: failed to compile script $folder/lines.d: line 7: failed to resolve nothing: Unknown variable name
" -C -s "$folder/lines.d"


# --- stacks and symbols ---
says "stacks as keys, also where a later clause asks for fewer frames" 0 "1
1

" -qn 'BEGIN { @[stack(2)] = count(); } BEGIN { @[stack(1)] = count(); exit(0); } END { printa("%@d\n", @); }'
says "an action without a value is no key" 1 \
"dtrace: invalid probe specifier BEGIN { @[trace(1)] = count(); }: [D_KEY_TYPE] this cannot be a key
" -xerrtags -n 'BEGIN { @[trace(1)] = count(); }'
# Frames, and what the actions make of the second one, in the words of the stack that is printed after them.
second() # NAME PROGRAM COMMAND
{
	n=$((n + 1))
	timeout 60 "$dtrace" -qn "$2" -c "$3" > "$folder/out" 2>&1 < /dev/null
	if sed 's/ *$//; s/^ *//' "$folder/out" | awk 'NF { line[++n] = $0 }
		END {
			at = line[n]
			whole = line[1] " " line[2] " " line[3]
			sub(/\+.*/, "", at)
			module = at
			sub(/`.*/, "", module)
			exit !(n == 6 && whole == line[n] " " at " " module && line[4] == module " 1")
		}'; then echo "ok $n - $1"; else
		echo "not ok $n - $1"
		sed 's/^/# /' "$folder/out"
	fi
}
second "ucaller is the second frame; uaddr(), usym() and umod() of it, and as a key" '
	syscall::clock_nanosleep:entry /pid == $target/ { uaddr(ucaller); printf("\n"); usym(ucaller); printf("\n");
	umod(ucaller); printf("\n"); @[umod(ucaller)] = count(); printa("%A %@d", @); ustack(2); trunc(@); exit(0); }' \
	"sleep 0.01"

# --- functions of a process ---
cat > "$folder/call.py" << 'END'
import ctypes
ctypes.CDLL(None).snprintf(None, 0, b"x", 3, 4, 5, 6, 7, 8, 9)
END
says "arguments on the stack; a library without its version; a pattern of the provider" 0 "snprintf: 3 4 5 6 7 8 9
" -qn 'p*d$target:libc.so:snprintf:entry /(int)arg3 == 3 && (int)arg5 == 5/ { printf("%s: %d %d %d %d %d %d %d", probefunc,
	arg3, (int)arg4, (int)arg5, (int)arg6, (int)arg7, (int)arg8, (int)arg9); exit(0); }' -c "python3 $folder/call.py"
printf '#!/bin/sh\nexit 0\n' > "$folder/script"
chmod +x "$folder/script"
says "the a.out of a script is its interpreter" 1 \
"dtrace: invalid probe specifier pid\$target:a.out:nothing_of_this_name:entry: [D_PROC_FUNC] failed to lookup 'nothing_of_this_name' in module 'a.out'
" -xerrtags -n 'pid$target:a.out:nothing_of_this_name:entry' -c "$folder/script"
says "a place in a function that is none" 1 \
"dtrace: invalid probe specifier pid1:::beginning: [D_PROC_NAME] 'beginning' is an invalid probe name
" -xerrtags -n pid1:::beginning
says "an address, by a function of a library" 1 \
"dtrace: invalid probe specifier pid1:libc:-:80: [D_PROC_LIB] only the a.out module is valid with the '-' function
" -xerrtags -n pid1:libc:-:80

# --- registers ---
says "uregs[]: where the program is, and its stack" 0 "1  libc.so.6
" -qn 'pid$target:libc.so:snprintf:entry /(int)arg3 == 3/ { printf("%d", uregs[R_SP] > 0 && uregs[R_SP] % 8 == 0);
	umod(uregs[R_PC]); exit(0); }' -c "python3 $folder/call.py"
says "uregs[] by a variable" 1 \
"dtrace: invalid probe specifier BEGIN { i = 1; trace(uregs[i]); }: [D_PROTO_ARG] uregs[ ] argument #1 is incompatible with prototype:
	prototype: integer constant
	 argument: int
" -xerrtags -n 'BEGIN { i = 1; trace(uregs[i]); }'
says "args and uregs have elements only" 1 \
"dtrace: invalid probe specifier BEGIN { trace(args); }: [D_IDENT_BADREF] array 'args' may not be referenced as scalar
" -xerrtags -n 'BEGIN { trace(args); }'

# --- options ---
says "an option's value" 1 \
"dtrace: failed to set -x nspec: Invalid value for specified option
" -x nspec=-3 -n BEGIN
says "an option of the command line in a program" 1 \
"dtrace: invalid probe specifier #pragma D option stdc=a
BEGIN { exit(0); }: [D_PRAGMA_OPTSET] failed to set option 'stdc' to 'a': Option cannot be used from within a D program
" -xerrtags -n '#pragma D option stdc=a
BEGIN { exit(0); }'
says "a buffer that is too small" 1 \
"dtrace: description 'BEGIN ' matched 1 probe
dtrace: could not enable tracing: Enabling exceeds size of buffer
" -b 50 -n 'BEGIN { exit(0); }'
says "setopt() while it runs" 0 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): couldn't set option \"bufsize\" to \"1m\": Operation illegal when tracing is active

x
" -qn 'BEGIN { setopt("bufsize", "1m"); setopt("quiet"); printf("x"); exit(0); }'

# --- proc and sched ---
says "members of curpsinfo and curlwpsinfo" 0 "1 dtrace 1 1 82
" -qn 'BEGIN { printf("%d %s %d %d %d", curpsinfo->pr_pid == $pid, curpsinfo->pr_fname, curpsinfo->pr_ppid == ppid,
	curlwpsinfo->pr_lwpid == tid, curlwpsinfo->pr_sname); exit(0); }'
says "a child's life" 0 "create 1 1
start 1
exec /bin/true
success
exit 1
" -qn 'proc:::create /pid == $target/ { printf("create %d %d\n", args[0]->pr_ppid == pid, args[0]->pr_pid > 1); }
	proc:::start /ppid == $target/ { printf("start %d\n", pid == tid); }
	proc:::exec /ppid == $target/ { printf("exec %s\n", args[0]); }
	proc:::exec-success /ppid == $target/ { printf("success\n"); }
	proc:::exit /ppid == $target/ { printf("exit %d", args[0]); exit(0); }' -c '/bin/sh -c "/bin/true; :"'
says "an exec that fails, a signal that is sent, one that kills" 0 "failure 2
SIGTERM to sh
killed
" -qn 'proc:::exec-failure /ppid == $target/ { printf("failure %d\n", -args[0]); }
	proc:::signal-send /pid == $target && args[2] == SIGTERM/ { printf("SIGTERM to %s\n", args[1]->pr_fname); }
	proc:::exit /pid == $target/ { printf("%s", args[0] == CLD_KILLED ? "killed" : "ended"); exit(0); }' \
	-c '/bin/sh -c "(exec /nothing/of/this/name) 2> /dev/null; kill -TERM \$\$; sleep 60"'
says "what a probe of sched is given" 0 \
"   ID   PROVIDER            MODULE                          FUNCTION NAME
    4      sched           vmlinux                                   wakeup

	Probe Description Attributes
		Identifier Names: Private
		Data Semantics:   Private
		Dependency Class: Unknown

	Argument Attributes
		Identifier Names: Evolving
		Data Semantics:   Evolving
		Dependency Class: ISA

	Argument Types
		args[0]: lwpsinfo_t *
		args[1]: psinfo_t *

" -lvn sched:::wakeup

# --- nothing but compiling ---
says "-e with a command: its process is there, and nothing of it runs" 0 "" -e -qn 'pid$target::exit:entry { trace(pid); }' -c "/bin/touch $folder/ran"
[ ! -e "$folder/ran" ]
ran=$?
n=$((n + 1))
[ "$ran" = 0 ] && echo "ok $n - the command did not run" || echo "not ok $n - the command did not run"
"$dtrace" -xerrtags -n 'pid$target:libc.so:_exit:fffff' -c /bin/true 2>&1 |
	grep -q '\[D_PROC_OFF\] Offset outside the function bounds'
found=$?
n=$((n + 1))
[ "$found" = 0 ] && echo "ok $n - an offset outside of the function" || echo "not ok $n - an offset outside of the function"
says "-xstdc=s: the preprocessor before ISO C" 0 "old
" -Cqxstdc=s -n '
#ifndef __STDC__
BEGIN { trace("old"); exit(0); }
#endif
'

# --- speculations ---
says "how often none was free is told at the end" 0 "1 2 0 0 1
dtrace: [DTRACEDROP_SPECUNAVAIL] 2 failed speculations (no speculative buffer available)
" -xnspec=2 -xdroptags -qn 'BEGIN { a = speculation(); b = speculation(); printf("%d %d %d %d", a, b, speculation(), speculation()); }
	BEGIN { discard(a); } BEGIN { printf(" %d", speculation()); exit(0); }'

# --- lists ---
says "a list of nothing is empty, and a success" 0 \
"dtrace: failed to match :nothing_of_this_name::: No probe matches description
   ID   PROVIDER            MODULE                          FUNCTION NAME
" -l -m nothing_of_this_name
says "ERROR is listed, by dtrace's own number" 0 \
"   ID   PROVIDER            MODULE                          FUNCTION NAME
    1     dtrace                                                     BEGIN
    2     dtrace                                                     END
    3     dtrace                                                     ERROR
" -l -n dtrace:::
"$dtrace" -l > "$folder/out" 2>&1 && grep -q '^ *3 *dtrace *ERROR$' "$folder/out" &&
	grep -q 'syscall *vmlinux *write *entry$' "$folder/out"
status=$?
n=$((n + 1))
[ $status = 0 ] && echo "ok $n - a list of all" || echo "not ok $n - a list of all"

# --- what D's libraries define ---
says "psinfo_t and its like: translated from a task, also by an inline definition, and declared" 0 "1 dtrace 2 82 0 128

" -qn 'inline lwpsinfo_t *me = xlate < lwpsinfo_t * > (curthread); psinfo_t *p; extern cpuinfo_t c;
	BEGIN { printf("%d %s %d %d %d %d\n", xlate < psinfo_t > (curthread).pr_pid == $pid, me->pr_name,
	xlate < struct psinfo * > (curthread)->pr_dmodel, me->pr_sname, me->pr_flag, sizeof(lwpsinfo_t)); exit(0); }'
says "a script's own translator of what D has one for is refused" 1 \
'dtrace: invalid probe specifier translator lwpsinfo_t < struct task_struct *T > { pr_lwpid = T->pid; }; BEGIN { }: [D_XLATE_REDECL] translator from struct task_struct * to struct lwpsinfo has already been declared
' -xerrtags -n 'translator lwpsinfo_t < struct task_struct *T > { pr_lwpid = T->pid; }; BEGIN { }'
says "a script's own struct of such a name is its own" 0 "3

" -qn 'struct psinfo { int x; } p; BEGIN { p.x = 3; printf("%d\n", p.x); exit(0); }'
says "members of the current process that its translator does not have" 1 \
'dtrace: invalid probe specifier BEGIN { trace(curpsinfo->pr_size); }: [D_XLATE_NOCONV] translator does not define conversion for member: pr_size
' -xerrtags -n 'BEGIN { trace(curpsinfo->pr_size); }'
says "fds[]: the process's open files" 0 "opened 1 0
<none> 0 0
opened 1 3
<none> 0 0

" -qn 'syscall::write:entry /pid == $target/ { printf("%s %d %d\n", fds[arg0].fi_name, fds[arg0].fi_oflags & O_ACCMODE,
	fds[arg0].fi_offset); } syscall::write:return /pid == $target/ { printf("%s %d %d\n", fds[999].fi_name,
	fds[-1].fi_oflags, fds[-1].fi_offset); }' -c "sh -c '{ echo 12; echo 5; } > $folder/opened'"
disk=$(findmnt -no SOURCE -T "$folder" | sed 's|^/dev/||')
if [ -e "/sys/class/block/$disk" ]; then
	says "io: the size, the direction and the device of a request" 0 "1 /dev/$disk <unknown> 1

" -qn "io:::start /args[1]->dev_statname == \"$disk\" && args[0]->b_bcount >= 4096 && (args[0]->b_flags & B_WRITE)/ {
	printf(\"%d %s %s %d\\n\", args[0]->b_blkno > 0, args[1]->dev_pathname, args[2]->fi_name,
	args[1]->dev_major == getmajor(args[0]->b_edev)); exit(0); }" \
		-c "sh -c 'dd if=/dev/zero of=$folder/written bs=4k count=4 conv=fsync status=none; sleep 10'"
else
	n=$((n + 1))
	echo "ok $n - io: the size, the direction and the device of a request # SKIP no block device under $folder"
fi

# The last CPU: clocks would be on the first one otherwise, and BEGIN anywhere.
cpus=$(($(nproc --all) - 1))
says "cpu: BEGIN, END and clocks are on that one" 0 "$cpus $cpus $cpus $cpus

" -xcpu=$cpus -qn 'BEGIN { printf("%d ", cpu); } profile-10ms { p = cpu; } tick-10ms /++n == 3/ { printf("%d %d ", cpu, p); exit(0); }
	END { printf("%d\n", cpu); }'
python=$(readlink -f "$(command -v python3)")
if [ "$cpus" -gt 0 ] && taskset -c "0,$cpus" true 2> "$folder/error"; then
	says "cpu: what happens on others does not count" 0 "$cpus 2

" -xcpu=$cpus -qn 'syscall::kill:entry /pid == $target/ { @[cpu] = count(); } END { printa("%d %@d\n", @); }' \
		-c "$python -c 'import os
for cpu in (0, $cpus, 0, $cpus): os.sched_setaffinity(0, [cpu]); os.kill(os.getpid(), 0)'"
else
	n=$((n + 1))
	echo "ok $n - cpu: what happens on others does not count # SKIP there is one CPU"
fi
says "cpu: one that there is not" 1 "dtrace: failed to set -x cpu: Invalid value for specified option
" -xcpu=$((cpus + 1)) -qn 'BEGIN { exit(0); }'

# --- where open files are ---
mkdir -p "$folder/a/b"
says "paths of open files, by fds[] and d_path()" 0 "$folder/a/b/c $folder/a/b
$folder/a/b/c
1

" -qn 'syscall::write:entry /pid == $target && arg0 == 1 && !n++/ { printf("%s %s\n", fds[1].fi_pathname, fds[1].fi_dirname);
	printf("%s\n", d_path(&curthread->files->fdt->fd[1]->f_path)); }
	syscall::write:entry /pid == $target && n > 1/ { printf("%d\n", fds[1].fi_pathname == strjoin("/proc/", strjoin(lltostr(pid),
	"/comm"))); exit(0); }' -c "sh -c 'echo 5 > $folder/a/b/c; echo sh > /proc/self/comm'"
says "a file in no folder, and one that is not there" 0 "[] [<none>]

" -qn 'syscall::write:entry /progenyof($target) && execname == "echo"/ { printf("[%s] [%s]\n", fds[1].fi_pathname,
	fds[99].fi_pathname); exit(0); }' -c "sh -c '/bin/echo 1 | cat > /dev/null; :'"

# --- all probes begin together ---
says "errno and arg1, in a clause of both entry and return" 0 "0 2 2 -2 -2

" -qn 'int n, seen[int]; long second[int]; syscall::chdir:entry, syscall::chdir:return /pid == $target/ { seen[n] = errno;
	second[n++] = arg1; } syscall::chdir:return /pid == $target/ { printf("%d %d %d %d %d\n", seen[0], seen[1], errno, (int)arg0,
	(int)second[1]); exit(0); }' \
	-c "sh -c 'cd /nowhere/at/all 2> /dev/null'"

# --- what is written to a process ---
# Not every machine has mounted what tells it, and the kernel's log forgets.
lockdown=/sys/kernel/security/lockdown
if unshare -m sh -c "[ -e $lockdown ] || mount -t securityfs none /sys/kernel/security; cat $lockdown" 2> /dev/null |
	grep -qE '\[(integrity|confidentiality)\]'; then
	lock=1
fi
cat > "$folder/writes.c" << 'EOF'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) { char s[40] = "abcdefghijklmnop"; char t[8] = "-------"; write(-1, s, 16); write(-2, t, 7); printf("%s %s\n", s, t); }
EOF
gcc -w -o "$folder/writes" "$folder/writes.c"
program='syscall::write:entry /pid == $target && (int)arg0 == -1/ { s = "ABCDEFGHIJ"; copyout(s, arg1, 4);
	this->p = (char *)alloca(4); this->p[0] = 0x58; copyout(this->p, arg1 + 8, 1); }
	syscall::write:entry /pid == $target && (int)arg0 == -2/ { copyoutstr("xy", arg1, 8); } ERROR { printf("fault %d\n", arg4); }'
if [ -n "${lock-}" ]; then
	says "copyout() on a kernel that is locked down" 1 \
"dtrace: this kernel cannot run the script: it lets no program write to a process's memory, as it is locked down (kernel_lockdown(7))
" -qwn "$program" -c "$folder/writes"
	n=$((n + 1)); echo "ok $n - copyout() to where nothing is # SKIP the kernel is locked down"
else
	says "copyout() and copyoutstr()" 0 "ABCDefghXjklmnop xy

" -qwn "$program" -c "$folder/writes"
	says "copyout() to where nothing is" 0 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
1

" -qwn 'BEGIN { copyout("abc", 8, 3); } ERROR { printf("%d\n", arg4); exit(0); }'
fi
says "copyout() needs -w" 1 "dtrace: could not enable tracing: Destructive actions not allowed
" -qn 'BEGIN { copyout("abc", 8, 3); }'

# --- libraries ---
mkdir "$folder/lib"
printf '#pragma D depends_on library b.d\ninline int ONE = TWO - 1;\n' > "$folder/lib/a.d"
printf 'inline int TWO = 2;\n' > "$folder/lib/b.d"
says "libraries, each behind those that it needs" 0 "1 2

" -L "$folder/lib" -qn 'BEGIN { printf("%d %d\n", ONE, TWO); exit(0); }'
says "-x libdir and -x debug" 0 "strata DEBUG N: library $folder/lib/b.d
strata DEBUG N: library $folder/lib/a.d
strata DEBUG N: program BEGIN { exit(0); }, 18 bytes

" -x debug -x libdir="$folder/lib" -qn 'BEGIN { exit(0); }'
printf 'BEGIN { trace(ONE);\ntrace(nosuch); }\n' > "$folder/uses.d"
says "lines are the program's own" 1 "dtrace: failed to compile script $folder/uses.d: line 2: failed to resolve nosuch: Unknown variable name
" -L "$folder/lib" -qs "$folder/uses.d"
printf 'inline int THREE = 3;\ntypedef nosuch *pointer;\n' > "$folder/lib/c.d"
says "and those of a library" 1 "dtrace: failed to compile script $folder/uses.d: \"$folder/lib/c.d\", line 2: failed to resolve type nosuch: Type not found
" -L "$folder/lib" -qs "$folder/uses.d"
printf '#pragma D depends_on library a.d\n' > "$folder/lib/b.d"
says "libraries that need each other" 1 "dtrace: library $folder/lib/a.d depends on itself
" -L "$folder/lib" -qs "$folder/uses.d"
printf '#pragma D depends_on library z.d\n' > "$folder/lib/b.d"
says "a library that is not there" 1 "dtrace: library $folder/lib/b.d depends on z.d, which is not there
" -L "$folder/lib" -qs "$folder/uses.d"

# --- the command line ---
printf 'BEGIN { exit(0); }\n' > "$folder/none.d"
says "behind -- are no options" 1 "dtrace: failed to compile script $folder/none.d: extraneous argument '-e' (\$2 is not referenced)
" -s "$folder/none.d" -- -e -e
says "a list with a mistake has no head" 1 "dtrace: invalid probe specifier read: extraneous argument 'x' (\$1 is not referenced)
" -lf read x
n=$((n + 1))
if "$dtrace" -lm vmlinux 2> /dev/null | grep -qE ' syscall +vmlinux +openat +entry'; then echo "ok $n - system calls are in the module vmlinux"; else
	echo "not ok $n - system calls are in the module vmlinux"
fi

echo "1..$n"
