#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D: types, what can be assigned to, and memory. Needs root.
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
	sed -i -E 's/0x[0-9a-f]+/0xH/g; s/BPF pc [1-9][0-9]*/BPF pc N/; s/ +$//' "$folder/out"
	printf '%s' "$expected" > "$folder/expected"
	n=$((n + 1))
	if [ "$got" = "$status" ] && cmp -s "$folder/out" "$folder/expected"; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		echo "# exit status $got"
		sed 's/^/# /' "$folder/out"
	fi
}

# --- types ---
says "members of structs: the program's, the clause's, of structs in structs" 0 "3 -4 5 6

" -qn 'struct point { int x; short y; }; struct line { struct point a, b; }; struct line l; this struct point p;
	BEGIN { l.a.x = 3; l.b.y = -4; this->p.x = 5; l.b = this->p; this->p.x++; printf("%d %d %d %d\n", l.a.x, -4 + l.b.y,
	l.b.x, this->p.x); exit(0); }'
says "unions, enums, typedef, sizeof, offsetof" 0 "513 2 7 16 8

" -qn 'union u { char c[4]; int i; } v; enum color { RED, GREEN = 6, BLUE }; typedef struct { char a; long b; } pair_t;
	BEGIN { v.c[0] = 1; v.c[1] = RED + 2; printf("%d %d %d %d %d\n", v.i, v.c[1], BLUE, sizeof(pair_t),
	offsetof(pair_t, b)); exit(0); }'
says "bit fields, with signs" 0 "-1 5 1 4

" -qn 'struct bits { int a : 2; unsigned b : 3; unsigned c : 5; } s;
	BEGIN { s.a = 3; s.b = 13; s.c = 1; printf("%d %d %d %d\n", s.a, s.b, s.c, sizeof(s)); exit(0); }'
says "arrays of fixed size, in structs, of structs, as keys' neighbours" 0 "7 9 0

" -qn 'int a[5]; struct s { int n[3]; } t[2]; BEGIN { i = 4; a[i] = 7; t[1].n[2] = 9; printf("%d %d %d\n", a[4], t[1].n[2],
	t[0].n[2]); exit(0); }'
says "an index outside of the array, known when it runs" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): index out of bounds (5) at BPF pc N

" -qn 'int a[5]; BEGIN { i = 5; a[i] = 1; exit(0); } ERROR { exit(arg4 == 11 && arg5 == 5); }'

# --- memory ---
says "alloca(): pointers that can be written, members, steps" 0 "ab 5 6 8

" -qn 'struct s { int n; char c; } *p; BEGIN { s = (char *)alloca(3); s[0] = 97; s[1] = 98; p = alloca(sizeof(*p)); p->n = 5;
	p->n++; printf("%s %d %d %d\n", stringof(s), p->n - 1, p->n, sizeof(struct s)); exit(0); }'
says "bcopy() from a string of the program, copyin() of what the kernel does not have" 1 \
"ello
dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { p = (char *)alloca(8); q = (char *)alloca(8); q[0] = 101; q[1] = 108; q[2] = 108; q[3] = 111; bcopy(q, p, 5);
	printf("%s\n", stringof(p)); } BEGIN { copyin(16, 4); exit(0); } ERROR { exit(1); }'
says "what was not allocated cannot be written" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { p = (char *)alloca(8); p[8] = 1; exit(0); } ERROR { exit(1); }'
says "what one clause has allocated is not there in the next one" 1 \
"dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { p = (char *)alloca(8); *p = 1; } BEGIN { trace(*p); exit(0); } ERROR { exit(1); }'
says "more than there is" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): out of scratch space at BPF pc N

" -qn 'BEGIN { n = 300; p = (char *)alloca(n); exit(0); } ERROR { exit(arg4 == 5); }'

says "a complaint is about the member, the type, or the class" 1 \
"dtrace: invalid probe specifier struct a { struct b c; }; BEGIN { exit(0); }: incomplete struct/union/enum struct b: c
" -qn 'struct a { struct b c; }; BEGIN { exit(0); }'
says "a variable without a type is an int; characters of a string" 0 "4 98

" -qn 'self x; BEGIN { self->x = 4; s = "abc"; printf("%d %d\n", self->x, s[1]); exit(0); }'
says "a variable of the kernel that is not there" 1 \
"dtrace: invalid probe specifier BEGIN { trace(\`no_such_variable); }: failed to resolve \`no_such_variable: Unknown symbol name
" -qn 'BEGIN { trace(`no_such_variable); }'
says "what an ERROR clause prints is a row of its own" 1 "dtrace: description 'BEGIN ' matched 2 probes
dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): divide-by-zero at BPF pc N
                   FUNCTION:NAME
                          :ERROR E

" -n 'BEGIN { x = 0; trace(1 / x); } ERROR { printf("E"); exit(1); }'

says "llquantize() with fewer steps than the factor" 0 "

           value  ------------- Distribution ------------- count
               0 |                                         0
               1 |@@@@@@@@@@@@@                            1
               2 |@@@@@@@@@@@@@                            1
               4 |                                         0
               8 |@@@@@@@@@@@@@                            1
           >= 16 |                                         0

" -qn 'BEGIN { @ = llquantize(1, 4, 0, 1, 2); @ = llquantize(3, 4, 0, 1, 2); @ = llquantize(9, 4, 0, 1, 2); exit(0); }'
says "llquantize() of steps that do not fit" 1 \
"dtrace: invalid probe specifier BEGIN { @ = llquantize(1, 10, 0, 6, 3); exit(0); }: llquantize( ) argument #4 must be a divisor \
of the factor, or a multiple of it that divides the lowest power evenly
" -qn 'BEGIN { @ = llquantize(1, 10, 0, 6, 3); exit(0); }'

says "translators: a member, and the whole" 0 "7 97 7

" -qn 'struct in { int i; char c; } v; struct out { int a, b; } o; translator struct out < struct in x > { a = x.i; b = x.c; };
	BEGIN { v.i = 7; v.c = 97; o = xlate < struct out > (v); printf("%d %d %d\n", xlate < struct out > (v).a, o.b, o.a);
	exit(0); }'
says "a translator that is not there" 1 \
"dtrace: invalid probe specifier struct out { int a; }; BEGIN { x = 1; trace(xlate < struct out > (x).a); }: cannot translate \
from \"int\" to \"struct out\"
" -qn 'struct out { int a; }; BEGIN { x = 1; trace(xlate < struct out > (x).a); }'

# --- speculations ---
says "what is recorded after speculate() comes with commit()" 0 "1
first
a 1
second

" -qn 'BEGIN { s = speculation(); printf("%d\n", s); } BEGIN { speculate(s); printf("a %d\n", s); }
	BEGIN { printf("first\n"); } BEGIN { commit(s); } BEGIN { printf("second\n"); exit(0); }'
says "or never, with discard(); a number is used again" 0 "1
1

" -qn 'BEGIN { s = speculation(); printf("%d\n", s); } BEGIN { speculate(s); printf("a"); } BEGIN { discard(s); }
	BEGIN { printf("%d\n", speculation()); exit(0); }'
says "there are as many as nspec says, and none is 0" 0 "1 2 0

" -qn '#pragma D option nspec=2
BEGIN { a = speculation(); b = speculation(); printf("%d %d %d\n", a, b, speculation()); } BEGIN { speculate(0); printf("no"); }
	BEGIN { speculate(7); printf("no"); } BEGIN { exit(0); }'
says "commit() of a number that there cannot be" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): illegal operation at BPF pc N

" -qn 'BEGIN { commit(9); } ERROR { exit(1); }'
says "what may not follow speculate()" 1 \
"dtrace: invalid probe specifier BEGIN { speculate(1); exit(0); }: exit( ) may not follow speculate( )
" -qn 'BEGIN { speculate(1); exit(0); }'

echo "1..$n"
