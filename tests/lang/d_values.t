#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# D: types, what can be assigned to, and memory. Needs root.
. "$(dirname "$0")/d_says.sh"

# --- types ---
says "members of structs: the program's, the clause's, of structs in structs" 0 "3 -4 5 6

" -qn 'struct point { int x; short y; }; struct line { struct point a, b; }; struct line l; this struct point p;
	BEGIN { l.a.x = 3; l.b.y = -4; this->p.x = 5; l.b = this->p; this->p.x++; printf("%d %d %d %d\n", l.a.x, -4 + l.b.y,
	l.b.x, this->p.x); exit(0); }'
says "a struct that is larger than sizes can be is refused" 1 'dtrace: invalid probe specifier struct s { char a[2147483000]; char b[2147483000]; } x; BEGIN { exit(0); }: type is too large at member b
' -qn 'struct s { char a[2147483000]; char b[2147483000]; } x; BEGIN { exit(0); }'
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

# --- strings and addresses ---
says "strtok(): separators around and between, until none is left; the next clause goes on; none is no text to print" 1 "a|bc|d
none
dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { s = ",,a,;bc;d,"; printf("%s|%s|%s\n", strtok(s, ",;"), strtok(NULL, ",;"), strtok(NULL, ";,"));
	printf("%s\n", strtok(NULL, ",;") == NULL ? "none" : "some"); } BEGIN { trace(strtok(NULL, ",")); } ERROR { exit(1); }'
says "strtok() of a text begun in the clause before; a NULL that is an argument ends the clause" 1 "a b 0
dtrace: error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
dtrace: error in dt_clause_3 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { printf("%s ", strtok("a/b", "/")); } BEGIN { printf("%s %d\n", strtok(NULL, "/"), strlen(strstr("abc", ""))
	!= 3); } BEGIN { trace(strlen(strchr("abc", 120))); } BEGIN { strtok(strstr("abc", "x"), ""); } BEGIN { exit(1); }'
says "floating point is declared and printed" 0 "0.000000e+00|0.00|   0|0.000000E+00
" -qn 'double d; float f; BEGIN { printf("%e|%.2f|%4g|%E", d, f, d, f); exit(0); }'
says "a floating point number is not %d" 1 "dtrace: invalid probe specifier double d; BEGIN { printf(\"%d\", d); }: \
printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %d
	 prototype: char, short, int, long, or long long
	  argument: double
" -qn 'double d; BEGIN { printf("%d", d); }'
says "a precision that is 0 is none" 0 "[a] [abc] [abc]
" -qn 'BEGIN { x = 0; printf("[%.1s] [%.*s] [%.0s]", "abc", x, "abc", "abc"); exit(0); }'
says "a width that the text says is not cut" 0 "$(printf '%5000d' 1)|
" -qn 'BEGIN { printf("%5000d|", 1); exit(0); }'
says "bcopy() does not write to a string" 1 "dtrace: invalid probe specifier BEGIN { s = \"a\"; bcopy(probename, s, 5); }: \
bcopy( ) argument #2 is incompatible with prototype:
	prototype: alloca pointer
	 argument: string
" -qn 'BEGIN { s = "a"; bcopy(probename, s, 5); }'
says "-xdroptags" 0 "dtrace: [DTRACEDROP_SPEC] 1 speculative drop

" -xdroptags -qn '#pragma D option nspec=1
#pragma D option specsize=32
BEGIN { s = speculation(); speculate(s); trace("a text that is longer than that"); } BEGIN { commit(s); } BEGIN { exit(0); }'
says "void where a value is needed" 1 \
"dtrace: invalid probe specifier BEGIN { x = stringof(trace(0)); }: cannot apply stringof to a value of type void
" -qn 'BEGIN { x = stringof(trace(0)); }'
says "cleanpath(): as D's, of paths with a beginning and without" 0 "/b/c|.|../../x|/|a|
" -qn 'BEGIN { printf("%s|%s|%s|%s|%s|%s", cleanpath("/a/../b/./c/"), cleanpath("a/.."), cleanpath("a/../../.././x//"),
	cleanpath("/../.."), cleanpath("./a"), cleanpath("")); exit(0); }'
says "addresses: IPv4, IPv6 by its longest zeros, IPv4 in IPv6, Ethernet" 0 \
"192.168.1.23 fe80::1:0:0:2 ::ffff:127.0.0.1 127.0.0.1 ::1 02:08:20:ac:04:0e
" -qn 'uint8_t a[16]; uint8_t b[16]; uint8_t e[6]; BEGIN { i = (uint32_t *)alloca(4); *i = htonl(0xc0a80117);
	a[0] = 0xfe; a[1] = 0x80; a[9] = 1; a[15] = 2; b[10] = 255; b[11] = 255; b[12] = 127; b[15] = 1; e[0] = 2; e[1] = 8;
	e[2] = 32; e[3] = 172; e[4] = 4; e[5] = 14; printf("%s %s %s ", inet_ntoa(i), inet_ntop(AF_INET6, a), inet_ntop(AF_INET6,
	b)); printf("%s ", inet_ntoa6((struct in6_addr *)(uint64_t)&b[0])); b[10] = 0; b[11] = 0; b[12] = 0;
	printf("%s %s", inet_ntop(AF_INET6, b), link_ntop(ARPHRD_ETHER, e)); exit(0); }'
says "an address that is none, a kind that is none" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): illegal operation at BPF pc N

" -qn 'BEGIN { trace(inet_ntoa6(NULL)); } BEGIN { k = -1; trace(inet_ntop(k, alloca(16))); } BEGIN { exit(1); }'
says "inet_ntoa6() wants a struct in6_addr" 1 "dtrace: invalid probe specifier int *p; BEGIN { trace(inet_ntoa6(p)); }: \
inet_ntoa6( ) argument #1 is incompatible with prototype:
	prototype: struct in6_addr *
	 argument: int *
" -qn 'int *p; BEGIN { trace(inet_ntoa6(p)); }'
says "progenyof(), getmajor(), getminor()" 0 "1 1 1 0 234 56789
" -qn 'BEGIN { printf("%d %d %d %d %x %x", progenyof($pid), progenyof($ppid), progenyof(1), progenyof($pid + 1),
	getmajor(0xabcdef0123456789ll), getminor(0xabcdef0123456789ll)); exit(0); }'
says "strsize characters, whatever function gives them" 0 "12345|abcde|5|12345|-1234|abc|1.2.3
" -qn '#pragma D option strsize=5
BEGIN { i = (uint32_t *)alloca(4); *i = htonl(0x01020304); printf("%s|%s|%d|%s|%s|%s|%s", strjoin("123", "456"), substr("abcdefgh", 0),
	strlen("123456789"), lltostr(1234567), lltostr(-1234567), basename("/x/abcdefgh"), inet_ntoa(i)); exit(0); }'
says "bcopy(): its arguments are computed in their order" 0 "...cdef.
" -qn 'BEGIN { s = (char *)alloca(8); d = (char *)alloca(8); s[2] = 99; s[3] = 100; s[4] = 101; s[5] = 102;
	d[0] = d[1] = d[2] = d[3] = d[4] = d[5] = d[6] = d[7] = 46; n = 2; bcopy((void *)(s + (n++)), (void *)(d + (n++)), (n++));
	printf("%s", stringof(d)); exit(0); }'
says "many calls of basename() and dirname() in one program" 0 "abcdefgh
" -qn 'BEGIN { printf("%s%s%s%s%s%s%s%s", basename("/a"), basename("/b/"), basename("c"), basename("d//"), dirname("e/x"),
	dirname("f/x/"), dirname("g//x"), basename("/x/h")); exit(0); }'
says "what is not found is NULL; a NULL that is a string is an invalid address" 1 "1 1 0
dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N

" -qn 'BEGIN { printf("%d %d %d\n", strchr("abc", 120) == NULL, strstr("abc", "x") == NULL, strstr("abc", "c") == NULL); }
	BEGIN { trace(strlen(NULL)); } BEGIN { exit(1); }'

says "keys are sorted without their signs; distributions by their sums, then by what was 0" 0 "
   1               15
 255               12
x
y
z

" -xaggsortkey -qn 'BEGIN { @[(char)-1] = sum(12); @[(char)1] = sum(15); printa(@); @d["z"] = llquantize(0, 2, 0, 1, 2, 2);
	setopt("aggsortkey", "0"); @d["y"] = llquantize(0, 2, 0, 1, 2); @d["x"] = llquantize(-4, 2, 0, 1, 2);
	printa("%s\n", @d); exit(0); }'
says "maxframes: of any stack" 0 "2 1

" -xmaxframes=2 -qn 'syscall::exit_group:entry /pid == $target/ { printf("%d ", stackdepth); @[stack(9)] = count(); exit(0); } END { printa("%@d\n", @); }' \
	-c /bin/true
says "where strata runs the program itself, the kernel's stack is none" 0 "0 0
" -qn 'int x; BEGIN, END { printf("%s%d", x++ ? " " : "", stackdepth); } BEGIN { exit(0); }'

# --- speculations ---
says "a clause without a speculation ends; what a branch speculates with is its own" 0 "0 2
spec in 1

" -qn 'BEGIN { if (1) { speculate(0); x = 1; } y = 2; } BEGIN { printf("%d %d\n", x, y); self->s = speculation(); }
	BEGIN { speculate(self->s); printf("spec"); z = 1; if (z) { printf(" in"); } else { z = 4; } }
	BEGIN { commit(self->s); } BEGIN { printf(" %d\n", z); exit(0); }'
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

dtrace: 1 failed speculation (no speculative buffer available)
" -qn '#pragma D option nspec=2
BEGIN { a = speculation(); b = speculation(); printf("%d %d %d\n", a, b, speculation()); } BEGIN { speculate(0); printf("no"); }
	BEGIN { speculate(7); printf("no"); } BEGIN { exit(0); }'
says "commit() of a number that there cannot be" 1 \
"dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): illegal operation at BPF pc N

" -qn 'BEGIN { commit(9); } ERROR { exit(1); }'
says "what may not follow speculate()" 1 \
"dtrace: invalid probe specifier BEGIN { speculate(1); exit(0); }: exit( ) may not follow speculate( )
" -qn 'BEGIN { speculate(1); exit(0); }'

# --- as in dtrace ---
says "a predicate may name what its clause makes first" 0 "1 2

" -qn 'BEGIN /x == 0/ { x++; } BEGIN /!seen/ { seen = 1; } BEGIN { printf("%d %d\n", x, seen + 1); exit(0); }'
says "the sum of two chars is one, and that of a char and a short is a short" 0 "1 65530 -5

" -qn 'unsigned char a; signed char b; unsigned short c;
	BEGIN { a = 254; b = 3; c = 65533; printf("%d %d %d\n", a + b, c - b, b - 8); exit(0); }'
says "a module in front of a type; NULL is an int" 0 "4 4

" -qn 'struct s { int x; int y; }; BEGIN { printf("%d %d\n", offsetof(struct D`s, y), sizeof(NULL)); exit(0); }'
says "a struct is cast to its own type" 0 "7

" -qn 'struct s { int x; } v; BEGIN { v.x = 7; printf("%d\n", ((struct s)v).x); exit(0); }'
printf 'BEGIN { printf("%%s\\n", $0); exit(0); }' > "$folder/x.d"
says "\$0 is the program's name" 0 "$folder/x.d

" -qs "$folder/x.d"
says "an argument of more than 64 bits" 1 \
'dtrace: invalid probe specifier BEGIN { $1; }: [D_MACRO_OFLOW] macro argument $1 constant 0xH results in integer overflow
' -xerrtags -n 'BEGIN { $1; }' 0x12345678123456781
export TZ=US/Pacific
says "%T has the year of the week" 0 "Wed, 31 Dec 1970

" -qn 'BEGIN { printf("%.16T\n", (uint64_t)0); exit(0); }'

says "D knows fewer escapes than C: others keep the backslash" 0 "\\?\\' 23615

" -qn "BEGIN { printf(\"%s %d\\n\", \"\\?\\'\", '\\?'); exit(0); }"
says "a width of printa() that is a key; dates of aggregations" 0 "[7   ][   7] 1969 Dec 31 16:00:01

" -qn 'BEGIN { @[-4, 7] = count(); printa("[%*d]", @); @b[4, 7] = count(); printa("[%*d]", @b);
	@c = sum(1000000000); printa(" %@Y\n", @c); exit(0); }'
says "an ERROR clause is of dtrace:::ERROR, and clauses are counted by descriptions" 1 \
"dtrace: error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
dtrace:::ERROR 3

" -qn 'ERROR, END /probename == "ERROR"/ { printf("%s:%s:%s:%s %d\n", probeprov, probemod, probefunc, probename, id); exit(1); }
	BEGIN { trace(*(int *)0); }'
kernel() { awk -v want="$1" '$2 ~ /[tT]/ && !$4 && $1 !~ /^0+$/ { if (++n == want) { print $1, $3; exit } }' /proc/kallsyms; }
read -r first _ < <(kernel 100)
read -r second name < <(kernel 1000)
says "symbols that look alike are one key" 0 "
  vmlinux                                                           2
" -qn "BEGIN { @[mod(0x$first)] = count(); @[mod(0x$second)] = count(); exit(0); }"
says "sym() and mod()" 0 "$(printf '  %-50s  vmlinux`%s' vmlinux "$name")
" -qn "BEGIN { mod(0x$second); sym(0x$second); exit(0); }"

says "timestamp is when the place was reached" 0 "0 1

" -qn 'BEGIN { t = timestamp; printf("%d", timestamp - t); } BEGIN { printf(" %d\n", t == timestamp); exit(0); }'
says "a clause that does nothing but raise a signal is told" 0 \
"dtrace: description 'BEGIN ' matched 2 probes
dtrace: allowing destructive actions
                   FUNCTION:NAME
                          :BEGIN
                          :BEGIN

" -wn 'BEGIN { raise(SIGURG); } BEGIN { exit(0); }'

says "small keys are printed without their sign, and in that order" 0 "
   0                1
 254                1
 255                1
 65535                1
       -1                1
" -xaggsortkey -qn 'BEGIN { @a[(char)-2] = count(); @a[(char)-1] = count(); @a[(char)0] = count();
	@b[(short)-1] = count(); @c[-1] = count(); exit(0); }'
says "print(): members by their types, without those that are 0" 0 "0xH = *
                                            (struct s) {
                                             .a = (int)-1,
                                             .text = (char [5]) [
                                              (char)'a',
                                              (char)'\\033',
                                             ],
                                             .u = (union) {
                                              .c = (uint8_t)21,
                                              .d = (unsigned long long)123456789,
                                             },
                                             .grid = (int [2][2]) [
                                              (int [2]) [
                                               (int)7,
                                              ],
                                             ],
                                             .p = (void *)0xH,
                                             .low = (unsigned int)5,
                                             .e = (enum eh)SECOND,
                                             .inner = (struct in) {
                                              .list = (uint16_t *)0xH,
                                             },
                                            }

" -qn 'enum eh { FIRST, SECOND = 2 }; struct in { int no; uint16_t *list; };
	struct s { int a; char text[5]; union { uint8_t c; unsigned long long d; } u; int grid[2][2]; void *p;
	unsigned low : 3, high : 5; enum eh e, f; struct in inner; };
	BEGIN { t = (struct s *)alloca(sizeof(struct s)); t->a = -1; t->text[0] = (char)97; t->text[1] = (char)27;
	t->text[3] = (char)98; t->u.d = 123456789; t->grid[1][0] = 7; t->p = (void *)1; t->low = 5; t->e = SECOND;
	t->inner.list = (uint16_t *)2; print(t); exit(0); }'
says "print(): printsize, also while it runs" 0 "0xH = *
                                            (struct s) {
                                             .a = (long)1,
                                             .in = (struct) {
                                              .b = (long)2,
                                              ...
                                             },
                                            }
0xH = *
                                            (struct s) {
                                             .a = (long)1,
                                             ...
                                            }
0xH = *
                                            (int)5,

" -xprintsize=16 -qn 'struct s { long a; struct { long b; long c; } in; };
	BEGIN { t = (struct s *)alloca(sizeof(struct s)); t->a = 1; t->in.b = 2; t->in.c = 3;
	p = (int *)alloca(sizeof(int)); *p = 5; print(t); setopt("printsize", "8"); print(t); print(p); exit(0); }'
says "print() of a struct of the kernel" 0 "0xH = *
                                            (struct list_head) {
                                             .next = (struct list_head *)0xH,
                                            }

" -qn 'BEGIN { t = (struct list_head *)alloca(sizeof(struct list_head)); t->next = t; print(t); exit(0); }'
says "print() of what is no pointer" 1 "dtrace: invalid probe specifier BEGIN { print(1); }: [D_PROTO_ARG] print( ) argument #1 is incompatible with prototype:
	prototype: void *
	 argument: int
" -xerrtags -n 'BEGIN { print(1); }'

says "what is read by way of a NULL pointer has failed at 0, wherever it is in the struct" 0 "dtrace: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
1 0

" -qn 'BEGIN { t = (struct task_struct *)NULL; trace(t->se.load.weight); } ERROR { printf("%d %d\n", arg4, arg5); exit(0); }'
says "a string that is set to NULL is empty; sizes of floating point; wide characters" 0 "[] 0 4 8 16 97 6991947704341784424

" -qn "BEGIN { s = \"a\"; s = NULL; printf(\"[%s] %d %d %d %d %d %d\n\", s, strlen(s), sizeof(float), sizeof(double),
	sizeof(long double), 'a', 'a\bcdefgh'); exit(0); }"
says "characters of strings that D has itself; of an empty string there is none but the first" 0 "114 0 100
dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
2

" -qn 'BEGIN { s = ""; printf("%d %d ", probeprov[2], s[0]); s = "ab"; i = 0; printf("%d\n", s[1] + 2); }
	BEGIN { s = NULL; i = 2; trace(s[i]); } ERROR { printf("%d\n", arg5); exit(0); }'
says "curcpu is a pointer" 0 "1 1

" -qn 'cpuinfo_t *p; BEGIN { p = curcpu; printf("%d %d\n", p->cpu_id == cpu, curcpu->cpu_id == cpu); exit(0); }'
says "inline definitions with parameters, in each other" 0 "26 22

" -qn 'inline int a[int x, int y] = x * y + 1; inline int c[int x] = a[x, x]; BEGIN { x = 3; printf("%d %d\n", c[5],
	a[x, a[2, x]]); exit(0); }'
says "inline definitions that never end" 1 \
"dtrace: invalid probe specifier inline int a = b; inline int b = a; BEGIN { trace(a); }: inline definitions are in each other
" -qn 'inline int a = b; inline int b = a; BEGIN { trace(a); }'
many='inline int a0[int x] = x; '
for i in $(seq 1 40); do many+="inline int a$i[int x] = a$((i - 1))[x] + a$((i - 1))[x + x];"; done
says "inline definitions that double forty times" 1 \
"dtrace: invalid probe specifier $many BEGIN { trace(a40[1]); }: inline definitions are in each other
" -qn "$many BEGIN { trace(a40[1]); }"
says "what is used at once has 64 bits; the number of the CPU has a sign" 0 "-2147483648 8589934592 9223372036854775807 1

" -qn 'BEGIN { x = (long)(1 << 33); printf("%d %d %d %d\n", 1 << 31, x, (long)((1 << 63) - 1), 0 * cpu - 1 < 0); exit(0); }'
says "a thread-local struct that is set to 0" 0 "1 0

" -qn 'struct s { int a; } t; BEGIN { t.a = 1; self->s = t; printf("%d ", self->s.a); self->s = 0; printf("%d\n", self->s.a);
	exit(0); }'
says "functions of C's headers have no effect" 0 "1 256

" -qn '__extension__ static __inline int one(int x) { if (x) { return 1; } return 2; } extern __inline__ int two(void); typedef int three;
	three n; BEGIN { n = 1; printf("%d %d\n", n, htons(1)); exit(0); }'
says "one that does not end" 1 "dtrace: invalid probe specifier static __inline int f(void) { BEGIN { exit(0); }: syntax error near end of input
" -qn 'static __inline int f(void) { BEGIN { exit(0); }'

says "a string and a number; as a pointer to characters; no longer than strsize" 0 "bcdef 98 f 100

" -qn 'char *s; BEGIN { g = "abcdef"; s = probeprov; printf("%s %d %s %d\n", g + 1, ((char *)g)[1], 5 + g, s[0]); exit(0); }'
says "a constant is no longer than strsize" 0 "[abcd] abcd

" -xstrsize=4 -qn 'BEGIN { x = "abcdefgh"; printf("[%s] %s\n", "abcdefgh", x); exit(0); }'

says "strings that nobody has set are NULL, and those of arrays" 0 \
"dtrace: error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
dtrace: error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0xH) at BPF pc N
a b 2
" -qn 'int n; self string x; string s[int]; BEGIN { self->y = "a"; s[1] = "b"; } BEGIN { trace(self->x); } BEGIN { printf("%s", s[2]); }
	BEGIN { printf("%s %s %d", self->y, s[1], n); exit(0); } ERROR { n += arg4 == 1 && arg5 == 0; }'
says "trace() of an array of characters" 0 "
             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef
         0: 61 62 00 00                                      ab..

" -qn 'struct s { char c[4]; } v; BEGIN { v.c[0] = 97; v.c[1] = 98; trace(v.c); exit(0); }'
says "trace() of nothing" 1 "dtrace: invalid probe specifier BEGIN { trace((void)1); }: trace( ) may not be applied to a void expression
" -qn 'BEGIN { trace((void)1); }'
for what in '(void *)0' 'NULL'; do says "bcopy() to where nothing is: $what" 1 \
"dtrace: invalid probe specifier BEGIN { bcopy(alloca(4), $what, 4); }: bcopy( ) argument #2 is incompatible with prototype:
	prototype: alloca pointer
	 argument: non-alloca pointer
" -qn "BEGIN { bcopy(alloca(4), $what, 4); }"; done
for what in bufsize=0 aggsize=15 dynvarsize=3; do says "no room for anything: $what" 1 \
"dtrace: could not enable tracing: Enabling exceeds size of buffer
" -x$what -qn 'BEGIN { @ = count(); self->x = 1; exit(0); }'; done
says "room for one element" 0 "
                1
" -xaggsize=16 -xdynvarsize=4 -qn 'BEGIN { @ = count(); self->x = 1; exit(0); }'

# --- time on CPUs ---
cat > "$folder/works.c" << 'EOF'
#include <time.h>
#include <unistd.h>
static long spent(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
int main(void) { long begin; write(-1, 0, 0); usleep(200000); write(-1, 0, 0); begin = spent(); while (spent() - begin < 100000000) ;
	write(-1, 0, spent() - begin); }
EOF
gcc -O1 -w -o "$folder/works" "$folder/works.c"
says "vtimestamp: a thread that sleeps has no time, and one that works has what the kernel says" 0 "1 1

" -qn 'int n; long slept, worked, said; self long v; syscall::write:entry /pid == $target/ { this->now = vtimestamp; slept = n == 1 ? this->now - self->v : slept;
	worked = n == 2 ? this->now - self->v : worked; said = arg2; self->v = this->now; n++; }
	syscall::exit_group:entry /pid == $target/ { printf("%d %d\n", slept < 100000000, worked >= 99000000 && worked < said + 30000000);
	exit(0); }' -c "$folder/works"

says "tracemem() of no bytes prints nothing; arrays of pointers to functions" 0 "56

" -qn 'struct s { int (*many[2])(); int (*one)(); int *all[4]; }; BEGIN { tracemem(curthread, 8, 0); printf("%d\n", sizeof(struct s));
	exit(0); }'
if grep -q ' D linux_banner$' /proc/kallsyms && ! grep -q '^0* D linux_banner$' /proc/kallsyms; then
	says "a variable of the kernel by its address" 0 "vmlinux\`linux_banner vmlinux\`linux_banner+0xH
" -qn 'BEGIN { printf("%a %a", &`linux_banner, (void *)((uintptr_t)&`linux_banner + 4)); exit(0); }'
else
	n=$((n + 1)); echo "ok $n - a variable of the kernel by its address # SKIP this kernel lists none"
fi

echo "1..$n"
