#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""language: one program for each feature, and what it prints. Needs root; 20 to 100 ms each."""
import os
import re
import subprocess
import sys

STRATA = os.environ["STRATA"]

# (name, program, expected output, further arguments)
# The address of the task's name.
COMM = "(uint64)curtask + offsetof(struct task_struct, comm)"

# The longest short key, the shortest long one, and one more.
LONG = {"S": "s" * 63, "L": "l" * 64, "M": "s" * 64}

CASES = [
    ("printf of numbers", r'begin { printf("%d %5d|%-5d|%05d %x %o %c %u\n", -1, 3, 4, 5, 255, 8, 65, 7); }',
     "-1     3|4    |00005 ff 10 A 7\n"),
    ("printf of strings", r'begin { printf("%s|%5s|%-5s|%.2s\n", "abc", "de", "fg", "hijk"); }', "abc|   de|fg   |hi\n"),
    ("escapes", r'begin { printf("a\tb\x41\101\\\"%%\n"); }', 'a\tbAA\\"%\n'),
    ("numbers", "begin { print((0x10, 010, 1e3, 1_000, 5ms, 3UL, 18446744073709551615)); }",
     "(16, 8, 1000, 1000, 5000000, 3, 18446744073709551615)\n"),
    ("precedence", "begin { print(1 + 2 * 3); print((1 + 2) * 3); print(10 - 4 - 3); print(1 << 2 + 1); print(7 & 3 == 3); }",
     "7\n9\n3\n8\n1\n"),
    ("signed division", "begin { $a = -7; print($a / 2); print($a % 3); print(-7 / $a); print(7 / -2); }", "-3\n-1\n1\n-3\n"),
    ("comparisons", 'begin { $a = -1; $b = (uint64)5; print($a < 3); print($b > 3); print("a" == "a"); print("ab" != "abc"); }',
     "true\ntrue\ntrue\ntrue\n"),
    ("short circuit", "begin { $x = 0; if ($x && @a++) { } if (1 || @a++) { } print(!$x); }", "true\n"),
    ("unary", "begin { $a = 5; print(-$a); print(~$a); print(!$a); }", "-5\n-6\nfalse\n"),
    ("casts", "begin { $a = 300; print((uint8)$a); print((int8)200); print((int64)(uint32)-1); }", "44\n-56\n4294967295\n"),
    ("integers are as wide as what is assigned",
     "begin { $a = 1; $b = -1000; $c = $a; $c = $b; $d = 70000; $e = 5000000000; $f = 1; $f = (uint64)2; "
     "print((sizeof($a), sizeof($b), sizeof($c), sizeof($d), sizeof($e), sizeof($f))); $f = (uint64)-1; print($f); }",
     "(1, 2, 2, 4, 8, 8)\n18446744073709551615\n"),
    ("arithmetic has 64 bits", "begin { $a = 100; $b = $a + 100; print(($b, sizeof($b))); $a++; print(sizeof($a)); $c = 1; "
     "$c += 1000; print(($c, sizeof($c))); $d = (uint8)200; print($d + $d); print(($d - (uint16)300, ~$d == (uint64)-201)); }",
     "(200, 8)\n8\n(1001, 8)\n400\n(-100, true)\n"),
    ("integers of a declared type", "begin { let $a: uint8 = 250; $a++; $a += 10; print($a); let $b: int8 = 127; print(++$b); }", "5\n-128\n"),
    ("integers of maps", "begin { @a = 1; @a = -300; @b[1] = 1; @b[70000] = 2; @b[-1] = 3; @c = (1, 2); @c = (1000, -1); "
     "@d = 1; @d = 2; @e = (uint64)1; @e = 7; print((sizeof(@a), sizeof(@c), sizeof(@d), sizeof(@e))); print(@b, 2); clear(@b); }",
     "(2, 4, 1, 8)\n@b[70000]: 2\n@b[-1]: 3\n\n\n@a: -300\n@c: (1000, -1)\n@d: 2\n@e: 7\n"),
    ("a map that is read before it is assigned", "begin { @a = @b; @b = @c; @c = 300; print(sizeof(@a)); clear(@a); clear(@b); clear(@c); }", "2\n"),
    ("integers of both signs", "begin { $a = (uint32)1; $b = (int8)-1; $c = $a; $c = $b; print((sizeof($c), $b < $a, (uint64)5 > $b)); "
     "$d = 1 ? $a : $b; print((sizeof($d), (uint64)-7 / 2, -7 / 2, -8 >> 1, (uint64)-8 >> 60)); }",
     "(8, true, true)\n(8, 9223372036854775804, -3, -4, 15)\n"),
    ("integers of ranges", "begin { for ($i : 0..3) { @s = sum($i); print(sizeof($i)); } for ($j : 0..300) { $k = sizeof($j); print($k); break; } clear(@s); }",
     "1\n1\n1\n2\n"),
    ("if", "begin { $a = 10; if ($a < 2) { print(1); } else if ($a == 10) { print(2); } else { print(3); } }", "2\n"),
    ("ternary", 'begin { $a = 1; print($a ? "yes" : "no"); print($a > 5 ? 1 : -1); $b = 0 ?: 20; print($b); }', "yes\n-1\n20\n"),
    ("while", "begin { $i = 0; while ($i < 6) { $i++; if ($i == 2) { continue; } if ($i == 5) { break; } print($i); } }", "1\n3\n4\n"),
    ("for range", "begin { $n = 3; for ($i : 0..$n) { for ($j : 0..2) { printf(\"%d%d \", $i, $j); } } }", "00 01 10 11 20 21 "),
    ("return in a loop", "begin { for ($i : 0..9) { if ($i == 2) { return; } print($i); } print(99); }", "0\n1\n"),
    ("for map", "begin { @[1] = 10; @[2] = 20; for ($kv : @) { @s = sum($kv.0 * 100 + $kv.1); } clear(@); }", "\n\n@s: 330\n"),
    ("for map of two keys", 'begin { @["a", 1] = 5; for ($kv : @) { print(($kv.0.0, $kv.0.1, $kv.1)); } clear(@); }', "(a, 1, 5)\n"),
    ("unroll", "begin { $a = 1; unroll(5) { $a = $a * 2; } print($a); }", "32\n"),
    ("let and scopes", "begin { let $a: uint8 = 5; { let $b = $a + 1; print($b); } let $c; print($c); }", "6\n0\n"),
    ("compound assignment", "begin { $a = 7; $a += 3; $a *= 2; $a -= 1; $a <<= 1; $a |= 1; $a %= 10; print($a); @m = 5; @m -= 7; @m *= 3; }",
     "9\n\n\n@m: -6\n"),
    ("steps", "begin { $a = 1; print($a++); print(++$a); print($a--); print(--$a); @x++; ++@x; @x--; }", "1\n3\n3\n1\n\n\n@x: 1\n"),
    ("tuples", 'begin { $t = (1, "ab", (2, -3)); print($t); print($t.2.1); print($t.1); @t = $t; @k[$t] = 1; }',
     "(1, ab, (2, -3))\n-3\nab\n\n\n@k[1, ab, (2, -3)]: 1\n@t: (1, ab, (2, -3))\n"),
    ("records", "begin { $r = (x=1, y=2); print($r); print($r.y); }", "{ .x = 1, .y = 2 }\n2\n"),
    ("records by name", 'begin { $a = (x=1, y=(p=1, q="ab")); $a = (y=(q="abcdefghij", p=-3000), x=70000); print($a); $b = $a; '
     'print($b.y.q); print((a=1, b=2) == (b=2, a=1)); @[(k=1, l=2)] = 1; @[(l=2, k=1)]++; print(@[(k=1, l=2)]); clear(@); }',
     "{ .x = 70000, .y = { .p = -3000, .q = abcdefghij } }\nabcdefghij\ntrue\n2\n"),
    ("an aggregation as a block's value", "macro add(x) { let $y = x; sum($y + 1) } begin { @a = { let $b = 100; avg($b) }; @s[1] = add(4); @s[1] = add(5); }",
     "\n\n@a: 100\n@s[1]: 11\n"),
    ("types as arguments of macros", "macro sizes(t, u) { (sizeof(t[2]), sizeof(u*), sizeof(u), sizeof(typeof(t))) } macro again(z) { sizes(typeof(z), uint8) } "
     "macro bits(t) { (t*)-1 > (t*)0 } begin { print(again(typeof(uint16))); print(bits(uint32)); }", "(4, 8, 1, 2)\ntrue\n"),
    ("system calls by name", "#include <linux/none.h>\n#include <stdio.h>\nbegin { print((__NR_read, syscall_name(__NR_openat))); print(syscall_name(99999)); }",
     "(0, openat)\n[unknown 99999]\n"),
    ("probe as a string", 'begin { @p = probe; print((strcontains(probe, "egi"), strlen(probe), str(probe) == "begin", str(probe), probe == @p, probe != probe())); } '
     'interval:ms:1 { print((strcontains(@p, "gin"), strcontains(probe, "ms:1"), str(@p))); @n[str(probe)] = 1; exit(); }',
     "(true, 5, true, begin, true, false)\n(true, true, begin)\n\n\n@n[interval:ms:1]: 1\n@p: begin\n"),
    ("flags of allocations", 'begin { printf("%gr|%gr %gr %gr\\n", 1, 0, 0xcc0, 0x822); printf("%30gr|%-12gr|%gr\\n", 0x4c0, 0x2, (uint64)1 << 40 | 0x1cc0); }',
     "GFP_DMA|0 GFP_KERNEL GFP_ATOMIC|__GFP_HIGHMEM\n" + f"{'__GFP_IO|__GFP_FS|__GFP_DIRECT_RECLAIM':>30}|__GFP_HIGHMEM|GFP_KERNEL|__GFP_WRITE|0x10000000000\n"),
    ("names of other processes", 'begin { print((comm(pid), comm(4999999))); printf("%8s|\\n", comm(pid)); @[comm(pid)] = comm(pid); }',
     "(strata, N/A)\n  strata|\n\n\n@[strata]: strata\n"),
    ("error pointers", "begin { print((is_err((void *)-5), is_err(-4095), is_err(-4096), is_err((uint64)5), is_err(0))); }",
     "(true, true, false, false, false)\n"),
    ("strings that are asserted, and their default length",
     'config = { max_strlen = 100 } struct A { char c[4]; } begin { assert_str("a"); assert_str(comm); assert_str(((struct A *)0)->c); '
     "assert_str((int8 *)0); print((default_str_length(), sizeof(str((int8 *)0)))); }", "(100, 100)\n"),
    ("str_concat", 'begin { $a = "-" ; print(str_concat("abc", "def")); $a = str_concat($a, str_concat(comm, "")); print($a); print(strlen(str_concat("", ""))); '
     'print(str_concat(str("abcdef", 3), "x") == "abx"); @[str_concat(str_concat(str("q"), "r"), "s")] = 1; print(@["qrs"]); }',
     "abcdef\n-strata\n0\ntrue\n1\n\n\n@[qrs]: 1\n"),
    ("a str_concat of two long strings", 'config = { max_strlen = 2000 } begin { $a = str_concat("ab", "cd"); $b = str(kptr($1 ? 1 : 0)); '
     "print((strlen(str_concat($a, $b)), str_concat($b, $a))); }", "(4, abcd)\n"),
    ("a str_concat that is cut", 'config = { max_strlen = 10 } begin { $s = ""; for ($i : 0..20) { $s = str_concat($s, "ab"); } print(($s, strlen($s), str_concat($s, $s))); }',
     "(ababababa, 9, ababababa)\n"),
    ("branches that constants exclude", 'begin { if ($# < 1 || false) { fail("%d", 1); } if (!is_str(comm) && 1) { static_assert(0 == 1, "x"); } '
     "print((1 < 2, 3 <= 2, -1 > 5, 5 == 5, 5 != 5, 2 >= 2, 1 && 0, 1 || 0, !0, !true)); $x = is_str(@m); print($x); @m = \"a\"; clear(@m); }",
     "(true, false, false, true, false, true, false, true, true, false)\ntrue\n", "one"),
    ("assert that holds", 'begin { assert(1 < 2, "one"); print(3); }', "3\n"),
    ("block values", "begin { let $a = { let $b = 4; $b * 2 }; print($a); }", "8\n"),
    ("macros", "macro twice(x) { x + x } macro bump($v, @m) { $v += 1; @m += 2; } "
     "begin { print(twice(4)); $a = 1; @b = 5; bump($a, @b); print($a); }", "8\n2\n\n\n@b: 7\n"),
    ("strings grow", 'begin { $x = "hi"; $x = "hello world"; print($x); @["a"] = 1; @["longer key"] = 2; }',
     "hello world\n\n\n@[a]: 1\n@[longer key]: 2\n"),
    ("string functions", 'begin { print(strlen("hello")); print(strncmp("abc", "abd", 2)); print(strcontains("hello", "ell")); '
     'print(strstr("hello", "lo")); print(strstr("hello", "x")); print(str("abcdef", 3)); }', "5\n0\ntrue\n3\n-1\nab\n"),
    ("buffers", r'begin { printf("%r %rx %rh\n", buf("a\x01", 2), buf("ab", 2), buf("ab", 2)); }', "a\\x01 \\x61\\x62 61 62\n"),
    ("structs", "struct Foo { int m; char c[4]; unsigned a:4, b:12; struct { short s; } in; } "
     "begin { print(sizeof(struct Foo)); print(offsetof(struct Foo, in.s)); print(sizeof(uint64)); }", "12\n10\n8\n"),
    ("enums", "enum E { ONE = 1, TWO }; begin { @[TWO] = ONE; print((enum E)2); print(TWO + 1); }", "TWO\n3\n\n\n@[TWO]: ONE\n"),
    ("defines", "#define N 5\nbegin { print(N * 2); }", "10\n"),
    ("count and sum", "begin { @c = count(); @c = count(); @s = sum(5); @s = sum(-8); print((int64)@s); if (@c > 1) { print(2); } }",
     "-3\n2\n\n\n@c: 2\n@s: -3\n"),
    ("min, max, avg, stats", "begin { for ($i : 1..5) { @a = avg($i); @b = max($i); @c = min($i * -1); @d = stats($i); } }",
     "\n\n@a: 2\n@b: 4\n@c: -4\n@d: { .count = 4, .average = 2, .total = 10 }\n"),
    ("hist", "begin { @ = hist(-1); @ = hist(0); @ = hist(1); @ = hist(5); @ = hist(5); @ = hist(2048); }",
     "\n\n@:\n" + "".join(f"{label:<16}{n:8d} |{'@' * (26 * n):<52}|\n" for label, n in
                        [("(..., 0)", 1), ("[0]", 1), ("[1]", 1), ("[2, 4)", 0), ("[4, 8)", 2), ("[8, 16)", 0), ("[16, 32)", 0),
                         ("[32, 64)", 0), ("[64, 128)", 0), ("[128, 256)", 0), ("[256, 512)", 0), ("[512, 1K)", 0), ("[1K, 2K)", 0),
                         ("[2K, 4K)", 1)]) + "\n"),
    ("lhist", "begin { @ = lhist(-1, 0, 10, 5); @ = lhist(7, 0, 10, 5); @ = lhist(10, 0, 10, 5); }",
     "\n\n@:\n" + "".join(f"{label:<16}{n:8d} |{'@' * (52 * n):<52}|\n" for label, n in
                        [("(..., 0)", 1), ("[0, 5)", 0), ("[5, 10)", 1), ("[10, ...)", 1)]) + "\n"),
    ("exit() ends all probes at once", "interval:ms:1 { @++; exit(); }", "\n\n@: 1\n"),
    ("many keys with large values in one run", "begin { for ($i : 0..300) { @[$i] = lhist($i, 0, 600, 10); } print(len(@)); clear(@); }", "300\n"),
    ("short and long strings as keys", 'begin { @a["short"] = 1; @a["%(L)s"] = 2; @a["%(S)s"] = 3; print((@a["%(L)s"], @a["%(S)s"], has_key(@a, "%(M)s"))); '
     '@b[1, "x"] = count(); @b[1, "x"] = count(); @b[2, "%(L)s"] = count(); printf("%%d %%d\\n", (int64)@b[1, "x"], (int64)@b[2, "%(L)s"]); '
     'print(@a["%(L)s"]); @d["q"] = 1; @d["%(L)s"]++; @d["%(L)s"] += 4; print((delete(@d, "q"), delete(@d, "%(L)s"), delete(@d, "q"))); '
     '@c["x"] = 1; @c["%(L)s"] = 2; clear(@c); @z["x"] = 7; @z["%(L)s"] = 8; zero(@z); @l["x"] = 1; @l["%(L)s"] = 2; print(len(@l)); '
     'for ($kv : @l) { @s = sum(strlen($kv.0)); } clear(@l); }' % LONG,
     "(2, 3, false)\n2 1\n2\n(true, true, false)\n2\n\n\n@a[short]: 1\n@a[%(L)s]: 2\n@a[%(S)s]: 3\n@b[2, %(L)s]: 1\n"
     "@b[1, x]: 2\n@s: 65\n@z[%(L)s]: 0\n@z[x]: 0\n" % LONG),
    ("delete, has_key, len", "begin { @[1] = 1; @[2] = 2; print(len(@)); print(has_key(@, 1)); print(delete(@, 1)); "
     "print(delete(@, 1)); print(has_key(@, 1)); print(len(@)); clear(@); }", "2\ntrue\ntrue\nfalse\nfalse\n1\n"),
    ("print of maps", 'begin { @["a"] = 30; @["b"] = 10; @["c"] = 20; print(@, 2); print(@, 1, 10); print(@["b"]); clear(@); }',
     "@[c]: 20\n@[a]: 30\n@[a]: 3\n10\n"),
    ("zero", "begin { @[1] = 5; @c = count(); zero(@); zero(@c); }", "\n\n@[1]: 0\n@c: 0\n"),
    ("aggregations without keys, assigned or not", "begin { @a = count(); @a = count(); @b = sum(0); @c = count(); clear(@c); @d = avg(1); delete(@d); "
     "@e = max(3); zero(@e); @f = min(-2); if (@a > 2) { @g = count(); } printf(\"%d %d\\n\", @a, @f); }", "2 -2\n\n\n@a: 2\n@b: 0\n@e: 0\n@f: -2\n"),
    ("parameters", 'begin { print(($1, str($2), $#)); printf("%d\\n", $3); }', "(5, x, 2)\n0\n", ["5", "x"]),
    ("named parameters", 'begin { print((getopt("a", 1), getopt("b"), getopt("c", "z"), getopt("d", true))); }',
     "(20, true, z, false)\n", ["--", "--a=20", "--b", "--d=false"]),
    ("map declarations", "let @a = lruhash(2); begin { @a[1] = 1; print(len(@a)); }", "1\n\n\n@a[1]: 1\n"),
    ("settings", "config = { print_maps_on_exit = false } begin { @a = 1; print(2); }", "2\n"),
    ("exit", "begin { print(1); exit(); print(2); } end { print(3); }", "1\n3\n"),
    ("errno, bswap, type questions", "begin { print(strerror(2)); print(bswap((uint16)0x1234)); print(is_str(\"a\")); print(is_ptr(1)); }",
     "No such file or directory\n13330\ntrue\nfalse\n"),
    ("division by zero", "begin { $d = 0; print(5 / $d); print(5 % $d); }", "1\n1\n"),
    ("a map without a value yet", "begin { print(@); } interval:ms:10 { @ = 3; exit(); }", "@: 0\n\n\n@: 3\n"),
    ("addresses", "begin { $a = 5; $b = &$a; print(*$b); @m = 7; print(*(&@m)); clear(@m); }", "5\n7\n"),
    ("comments", "// one\n/* two */ begin { /* three */ print(1); // four\n }", "1\n"),
    ("predicates", "begin / 1 == 2 / { print(1); } begin /comm != \"x\"/ { print(2); }", "2\n"),
    ("the task", "begin { print(curtask.pid == pid); print(ppid > 0); print(str(curtask.comm) == comm); }", "true\ntrue\ntrue\n"),
    ("arrays of structs", "struct A { int x[4]; int *p; } begin { $a = (struct A *)0; print($a.x[1]); print($a->p == 0); }", "0\ntrue\n"),
    ("strftime", 'begin { print(strlen("x")); print(strftime("%Y", nsecs) ); }', None),
    ("if with a value", "begin { $x = 2; print(if ($x > 1) { $y = $x * 2; if ($y == 4) { $y } else { 9 } } else { 0 }); }", "4\n"),
    ("packed structs", "struct A { char c; int i; } __attribute__((packed)) struct B { struct A a; short s; } "
     "begin { print((sizeof(struct A), offsetof(struct A, i), sizeof(struct B))); }", "(5, 1, 8)\n"),
    ("typeof of a macro's argument", "macro twice(x) { let $y: typeof(x) = x; $y + $y } begin { print(twice((uint8)4)); }", "8\n"),
    ("macros come before builtins", 'macro cpu() { "own\\n" } begin { printf(cpu()); }', "own\n"),
    ("an index out of bounds gives 0", "struct L { uint64 a[2]; } begin { $l = (struct L *)curtask; $i = (uint64)7; print($l->a[$i]); }", "0\n"),
    ("a pattern that matches nothing, beside another place", "tracepoint:sched:nope*, interval:ms:1 { print(1); exit(); }", "1\n"),
    ("--probe-filter", "begin { print(1); } interval:ms:1 { print(2); exit(); } interval:ms:2 { print(3); exit(); }", "1\n3\n", ["--probe-filter", ":[2-9]$"]),
    ("printf's lengths, as in C", r'begin { $x = 0x1122334455667788; printf("%hhx %hx %x %lx %jx %d\n", $x, $x, $x, $x, $x, (int64)5000000000); }',
     "88 7788 55667788 1122334455667788 1122334455667788 705032704\n"),
    ("strings that are cut", f"config = {{ max_strlen = 4 }} begin {{ print(str({COMM})); print(str({COMM}, 4)); print(str({COMM}, 3 + 2)); }}",
     "stra..\nstr\nstra\n"),
    ("the mark of strings that are cut", f'config = {{ max_strlen = 3; str_trunc_trailer = "~" }} begin {{ $x = str({COMM}); print(($x, 1)); }}', "(str~, 1)\n"),
    ("long strings", f"config = {{ max_strlen = 20000 }} begin {{ $a = str({COMM}); $b = ($a, $a); print($b.1); @[$a] = 1; }}", "strata\n\n\n@[strata]: 1\n"),
    ("network addresses", 'begin { print(ntop(0x0100007f)); print(ntop(10, pton("fe80::1"))); print(ntop(pton("10.2.3.4"))); print((uint32)pton("1.0.0.0")); }',
     "127.0.0.1\nfe80::1\n10.2.3.4\n1\n"),
    ("macaddr", f"begin {{ @[macaddr({COMM})] = 1; }}", "\n\n@[73:74:72:61:74:61]: 1\n"),
    ("names of signals", "begin { print(signal_name(2)); print(signal_name(1024)); }", "Interrupt\nN/A\n"),
    ("config()", "config = { max_strlen = 77 } begin { print(config().max_strlen); print(config().stack_mode); }", "77\nbpftrace\n"),
    ("ksym, of an address within", 'begin { print((ksym(kaddr("vfs_read") + 3), ksym(kaddr("vfs_read")))); }', "(vfs_read, vfs_read)\n"),
    ("a clock by its period", "interval:5ms { print(probe); exit(); }", "interval:us:5000\n"),
    ("kaddr", 'begin { print(kaddr("vfs_read") != 0); print(ksym(kaddr("vfs_read"))); }', "true\nvfs_read\n"),
    ("memcmp", 'begin { print(memcmp("abc", "abd", 2)); print(memcmp("abc", "abd", 3)); print(memcmp(258, 257, 1)); print(memcmp((1, 9), (1, 5), 2) > 0); }',
     "0\n-1\n1\ntrue\n"),
    ("strcap", f'begin {{ print(strcap("abc")); print(strcap(comm)); print(strcap((int8 *){COMM})); }}', "4\n16\n6\n"),
    ("find", 'begin { @a[1] = 10; @s["x", 1] = "text"; @c[2] = count(); $v = 3; print(find(@a, 2, $v)); print($v); '
     'if (find(@a, 1, $v)) { print($v); } if (find(@s, ("x", 1), $t)) { print($t); } if (find(@c, 2, $n)) { print($n); } '
     "clear(@a); clear(@s); clear(@c); }", "false\n3\n10\ntext\n1\n"),
    ("characters of strings", 'begin { $s = "abcdef"; $i = 3; print(($s[1], $s[$i], "xyz"[2], $s[100])); @a[1] = "hello"; print(@a[1][4]); clear(@a); '
     f'$p = (int8 *){COMM}; $t = (struct task_struct *)curtask; print($p[1] == $t.comm[1]); $i = 2; print($p[2] == $t.comm[$i]); }}', "(98, 100, 122, 0)\n111\ntrue\ntrue\n"),
    ("typeinfo", 'begin { print(typeinfo(5)); $a = 1; @ = typeinfo($a).full_type; $a = (uint64)5; $t = typeinfo("abc"); print(($t.base_type, typeinfo(struct task_struct *).full_type, typeinfo((1, "a")).base_type)); '
     'print(typeinfo(int8) == typeinfo(1)); print(typeinfo((x=1)).base_type); }', "{ .btf_id = 0, .base_type = int, .full_type = int8 }\n(string, struct task_struct *, tuple)\ntrue\nrecord\n\n\n@: uint64\n"),
    ("comptime", 'macro size(x) { if comptime is_str(x) { strlen(x) } else { x + 1 } } begin { print((size("abc"), size(5))); $a = 1; '
     'if comptime (typeinfo($a).full_type == "uint64") { @wide = "yes"; } else { fail("narrow"); } $a = (uint64)2; $x = comptime (2 > 1) ? "a" : 5; print($x); }',
     "(3, 6)\na\n\n\n@wide: yes\n"),
    ("what is known is known of each attach point apart", 'begin,interval:ms:1 { $kind = probetype; print(sizeof($kind)); if comptime (probetype == "interval") '
     '{ $x = probe == "begin"; print($x); exit(); } else { $x = "not yet"; print($x); } if comptime (probe != "begin") { print("an interval"); } }',
     "8\nnot yet\n9\nfalse\n"),
    ("macros by what they take", "macro f(x) { 1 } macro f(x, y) { 2 } macro f($x) { 3 } macro f(@x) { 4 } begin { $v = 1; @m = 1; print((f(5), f(1, 2), f($v), f(@m), f(@m + 1))); clear(@m); }", "(1, 2, 3, 4, 1)\n"),
    ("types and calls by one name", "macro uint64_t() { 1 } begin { $z = 5; print((sizeof(uint64_t), sizeof(uint64_t()), (typeof(uint64_t()))$z)); }", "(8, 1, 5)\n"),
    ("arrays as long as what is cast", "begin { print((uint8[])(uint32)5); print((uint8[])(uint16)0x102); }", "[5,0,0,0]\n[2,1]\n"),
    ("casts of addresses to strings and buffers", f'begin {{ $p = {COMM}; $s = (string[4])$p; print(($s, sizeof($s))); $t = (string)$p; print($t); '
     'let $d: string[32]; $d = (typeof($d))$p; print(($d, sizeof((typeof($d))$p))); printf("%r %r|\\n", (buffer[6])$p, (buffer[9])"ab"); @b = (buffer[3])(int8 *)$p; '
     'print(((string[10])"hello", sizeof((string[10])"hello"))); print((inet)(uint32)0x0100007f); print((inet[4])pton("1.2.3.4")); }',
     "(str, 4)\nstrata\n(strata, 32)\nstrata ab\\x00|\n(hello, 10)\n127.0.0.1\n1.2.3.4\n\n\n@b: str\n"),
    ("casts of strings to booleans, of numbers to users", 'begin { $e = ""; print(((bool)"text", (bool)$e, (bool)comm, (bool)(int8 *)0)); print((username_t)0); }',
     "(true, false, true, false)\nroot\n"),
    ("names of types that only the kernel has", "macro size(x) { sizeof(x) } begin { print((sizeof(pid_t), sizeof(loff_t[3]), sizeof(typeof(umode_t)), typeinfo(umode_t).full_type, size(typeof(pid_t)), "
     "offsetof(atomic64_t, counter), sizeof(comm))); $u = (uint16)7; print(size($u)); }", "(4, 24, 2, uint16, 4, 0, 16)\n2\n"),
    ("hierarchies of cgroups", 'begin { printf("%s|%s|%s\\n", cgroup_path(99999999), cgroup_path(99999999, "un*"), cgroup_path(99999999, "memory")); }',
     "unified:(99999999)|unified:(99999999)|\n"),
    ("default_str_length as a word", "config = { max_strlen = 99 } begin { print(default_str_length); }", "99\n"),
    ("features that a script allows", "config = { unstable_tseries = enable; unstable_dw_ustack = warn; cache_user_symbols = NONE } begin { print(1); }", "1\n"),
    ("kfunc_exist", 'begin { print((kfunc_exist("vfs_read"), kfunc_exist("no_such_function"), kfunc_allowed("vfs_read"))); }', "(true, false, false)\n"),
    ("cpid without a command", "begin { if (has_cpid) { print(1); } print(cpid); }", "0\n"),
    ("a probe with a name", "it=begin { print(probe); }", "begin\n"),
    ("container_of", f"begin {{ $c = container_of({COMM}, typeof(struct task_struct), comm); print((uint64)$c == (uint64)curtask); }}", "true\n"),
    ("interval", "interval:ms:20 { @++; if (@ == 3) { exit(); } }", "\n\n@: 3\n"),
    ("elapsed", "interval:ms:50 { print(elapsed > 10ms && elapsed < 9s); exit(); }", "true\n"),
]


def run(arguments):
    return subprocess.run([STRATA, "trace", "-q", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)


def main():
    failed = 0
    for number, case in enumerate(CASES, 1):
        name, program, expected = case[:3]
        result = run(["-e", program, *(case[3] if len(case) > 3 else [])])
        out = result.stdout.decode(errors="replace")
        if expected is not None and not re.search(r"\A\n\n|\n\n\n@", expected):
            expected += "\n\n"  # behind which maps would be printed
        good = result.returncode == 0 and (expected is None or out == expected)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            text = f"status {result.returncode}\ngot {out!r}\nexpected {expected!r}\n{result.stderr.decode(errors='replace')}"
            print("".join(f"# {line}\n" for line in text.splitlines()), end="")
    print(f"1..{len(CASES)}")
    return failed > 0


sys.exit(main())
