#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""errors: each diagnostic says what is wrong, points at it, and ends with status 1. Needs root (attach points are looked up)."""
import os
import re
import subprocess
import sys

STRATA = os.environ["STRATA"]

# tag: (program, what the message says, the part of the source that is underlined)
CASES = {
    "parse.unexpected": ("begin { print(1 }", r"unexpected }, expected", "}"),
    "parse.end": ("begin { print(1);", r"ends where .*}", None),
    "parse.number": ("begin { print(0xzz); }", r"0xzz is not a number", "0xzz"),
    "parse.string": ('begin { print("abc); }', r"string has no end", '"'),
    "parse.comment": ("begin { /* }", r"comment has no end", "/*"),
    "parse.character": ("begin { ` }", r"no place for this character", "`"),
    "parse.parameter": ("uprobe:$7:f { }", r"parameter \$7 was not given", "$7"),
    "parse.variable": ("begin { $ = 1; }", r"name is missing", "$"),
    "parse.assign": ("begin { 5 = 1; }", r"only variables and maps", "5"),
    "parse.depth": ("begin { $a = " + "(" * 300 + "1" + ")" * 300 + "; }", r"nested too deeply", None),
    "parse.depth of a chain": ("begin { print(" + "+".join(["1"] * 60000) + "); }", r"nested too deeply", None),
    "parse.depth of a choice": ("begin { print(" + "+".join(["1"] * 60000) + " ?: 2); }", r"nested too deeply", None),
    "parse.depth of a path": ("begin { print($a" + ".b" * 60000 + "); }", r"nested too deeply", None),
    "parse.depth of a predicate": ("begin /" + "||".join(["pid"] * 2000) + "/ { }", r"nested too deeply", None),
    "parse.depth of else": ("begin { if (1) { }" + " else if (1) { }" * 7000 + " }", r"nested too deeply", None),
    "gen.long": ("begin { unroll(100) { unroll(100) { unroll(100) { unroll(100) { @ = @ + 1; } } } } }", r"too long for one program", None),
    "parse.empty": ("// nothing", r"no probe", None),
    "probe.unknown": ("nope:x { }", r"Invalid probe type: nope", "nope:x"),
    "probe.parts": ("tracepoint:x { }", r"requires 2 to 2 arguments", "tracepoint:x"),
    "probe.none": ("tracepoint:sched:nope { }", r"No matches for tracepoint sched:nope\.", "tracepoint:sched:nope"),
    "probe.binary": ("uprobe:/nowhere:f { }", r"no such program or library", "uprobe:/nowhere:f"),
    "probe.period": ("interval:s:0 { }", r"Invalid rate", "interval:s:0"),
    "probe.period unit": ("interval:days:1 { }", r"invalid unit", "interval:days:1"),
    "probe.event": ("software:nope { }", r"not a software probe", "software:nope"),
    "probe.watchpoint": ("watchpoint:0x10:3:w { }", r"one of \(1,2,4,8\)", "watchpoint:0x10:3:w"),
    "probe.many": ("config = { max_probes = 1 } uprobe:libc:mem* { }", r"more than the 1 of max_probes", "uprobe:libc:mem*"),
    "probe.offset": ("uretprobe:libc:malloc+4 { }", r"can not be attached to a function offset", "uretprobe:libc:malloc+4"),
    "probe.outside": ("uprobe:libc:malloc+1000000 { }", r"Offset outside the function bounds \('malloc' size is \d+\)", "uprobe:libc:malloc+1000000"),
    "probe.address": ("uprobe:libc:2 { }", r"Could not resolve address: libc:0x2", None),
    "probe.none of a marker": ("usdt:libc:nope:nope { }", r"No matches for usdt libc:nope:nope\.", "usdt:libc:nope:nope"),
    "probe.binary of no process": ("uprobe:*:f { }", r"\*: no such program or library", "uprobe:*:f"),
    "probe.none of a module": ("rawtracepoint:nonsense:sys_exit { }", r"No matches for rawtracepoint nonsense:sys_exit\.", "rawtracepoint:nonsense:sys_exit"),
    "probe.none of BPF programs": ("fentry:bpf:no_such_program { }", r"No matches for fentry bpf:no_such_program\.", "fentry:bpf:no_such_program"),
    "probe.parts of BPF programs": ("fentry:bpf:1:2:3 { }", r"fentry probe type requires 2 to 3 arguments, found 4", "fentry:bpf:1:2:3"),
    "probe.empty": ("tracepoint:sched:nope* { }", r"Probe has no valid attach points\.", "tracepoint:sched:nope*"),
    "probe.empty of several": ("tracepoint:sched:nope*, tracepoint:nope*:x { }", r"Probe has no valid attach points\.", None),
    "probe.filter of none": ("config = { missing_probes=ignore } tracepoint:sched:nope { }", r"No probes to attach", None),
    "probe.filter": ("interval:ms:1 { }", r"No probes to attach", None),
    "map.key has_key": ("begin { @x = 1; print(has_key(@x, 2)); }", r"has_key\(\) expects a map with explicit keys", "has_key(@x, 2)"),
    "parse.define": ("#define A `c\nbegin { print(A); }", r"macro A has no meaning here: a script has no place", "A"),
    "parse.define of what is too long": ("#define A0 1 + 1\n" + "".join(f"#define A{i + 1} A{i} + A{i}\n" for i in range(40)) + "begin { print(A40); }",
                                         r"macro A40 becomes longer than", "A40"),
    "parse.condition": ("#if 1 +\n#endif\nbegin { }", r"no constant expression", "#if 1 +"),
    "parse.conditional": ("#else\nbegin { }", r"#else without #if", "#else"),
    "parse.conditional of an #if": ("#if 1\nbegin { }", r"#if has no #endif", None),
    "parse.conditional of what is passed over": ("#if 0\nbegin { }", r"#if has no #endif", None),
    "parse.error": ("#if 2 < 1\n#elif defined(NOPE)\n#else\n#error too old\n#endif\nbegin { }", r"#error too old$", "#error too old"),
    "type.constant": ("struct a { char x[f(5)]; }; begin { }", r"a constant number", "f(5)"),
    "parse.include without a name": ("#include\nbegin { }", r"name of a file is missing", "#include"),
    "parse.unexpected behind a probe's name": ("name= begin { }", r"a probe should begin here", None),
    "probe.parts of test": ("test { }", r"test probe type requires 1 to 1", "test"),
    "call.comptime": ("begin { if comptime pid { } }", r"not known while compiling", "pid"),
    "call.fail of a choice": ('macro m(x) { if comptime is_str(x) { 1 } else { fail("no string") } } begin { print(m("a")); print(m(5)); }', r"no string$", 'fail("no string")'),
    "time.negative": ('begin { print(strftime("%H", -1)); }', r"no time below 0", "-1"),
    "type.literal of a kernel function": ("begin { print(kfunc_exist(pid)); }", r"function's name must be a string literal", "pid"),
    "parse.else": ("begin { print(if (1) { 2 }); }", r"expected else", ")"),
    "config.unknown": ("config = { nope = 1 } begin { }", r"nope: not a known configuration option", "nope = 1"),
    "config.value": ("config = { stack_mode = nope } begin { }", r"Valid values: bpftrace, perf", "stack_mode = nope"),
    "variable.undefined": ("begin { print($x); }", r"Undefined or undeclared variable: \$x", "$x"),
    "variable.twice": ("begin { let $a = 1; let $a = 2; }", r"already declared", "let $a = 2"),
    "map.undefined": ("begin { print(@x + 1); }", r"Undefined map: @x", "@x"),
    "map.undefined of an element that is printed": ("begin { print(@x[1]); }", r"Undefined map: @x", "@x[1]"),
    "map.key bare": ("begin { @x[1] = 1; @x = 2; }", r"previously used with an explicit key", "@x"),
    "map.key len": ("begin { @x = 1; print(len(@x)); }", r"expects a map with explicit keys", "len(@x)"),
    "map.key type": ('begin { @x[1] = 1; @x["a"] = 2; }', r"trying to access with arguments: 'string\[2\]' when map expects arguments: 'int8'", '@x["a"]'),
    "map.name": ("begin { clear(5); }", r"a map is needed", "5"),
    "map.key has_key without one": ("begin { @x = 1; print(has_key(@x)); }", r"has_key\(\) needs the key", "has_key(@x)"),
    "type.cast": ('begin { $s = (string[4])5; }', r"Cannot cast from 'int8' to 'string\[4\]'", "(string[4])5"),
    "type.cast of a stack": ("uprobe:libc:malloc { $s = (buffer[4])ustack(raw); }", r"Cannot cast from 'ustack\(raw\)' to 'buffer'", "(buffer[4])ustack(raw)"),
    "type.cast to a longer array": ("begin { $a = (uint8[16])12345; }", r"Cannot cast from 'int16' to 'uint8\[16\]'", "(uint8[16])12345"),
    "type.cast to a shorter array": ("begin { $a = (uint8[2])(uint32)5; }", r"Cannot cast from 'uint32' to 'uint8\[2\]'", "(uint8[2])(uint32)5"),
    "type.cast of an array": ("begin { $a = (uint8[8])1; $b = (uint32)$a; }", r"Cannot cast from 'uint8\[8\]' to 'uint32'", "(uint32)$a"),
    "type.unknown in sizeof": ("begin { print(sizeof(nope_t)); }", r"Unknown identifier: 'nope_t'", "nope_t"),
    "config.unstable": ("config = { unstable_tseries = error } begin { @ = tseries(1, 1s, 5); }", r"tseries is ruled out", "tseries(1, 1s, 5)"),
    "config.unstable stack": ("config = { unstable_dw_ustack = error } uprobe:libc:malloc { @ = dw_ustack; }", r"dw_ustack is ruled out", "dw_ustack"),
    "config.value of a cache": ("config = { cache_user_symbols = nope } begin { }", r"Valid values: PER_PID, PER_PROGRAM, NONE", "cache_user_symbols = nope"),
    "config.value of an unstable feature": ("config = { unstable_tseries = perhaps } begin { }", r"Valid values: enable, warn, error", "unstable_tseries = perhaps"),
    "map.kind": ("let @a = tree(5); begin { @a[1] = 1; }", r"no kind of map", None),
    "map.aggregate": ("begin { count(); }", r"should be assigned to a map", "count()"),
    "type.mismatch": ('begin { $a = 1; $a = "x"; }', r"Type mismatch for \$a", '"x"'),
    "type.mismatch map": ('begin { @a = count(); @a = 5; }', r"cannot be assigned", "@a = 5"),
    "type.comparison": ('begin { if (1 == "a") { } }', r"comparing 'int8' with 'string\[2\]'", '1 == "a"'),
    "type.number": ('begin { print("a" + 1); }', r"a number is needed", '"a"'),
    "type.ternary": ('begin { $a = 1 ? 1 : "a"; }', r"must return the same type", '1 ? 1 : "a"'),
    "type.field": ("struct A { int x; } begin { print(((struct A *)0)->y); }", r"no field named 'y'", "(struct A *)0)->y"),
    "type.field of a number": ("begin { $a = 1; print($a.x); }", r"Can not access field 'x'", "$a.x"),
    "type.unknown": ("begin { print(((struct nope_at_all *)0)->x); }", r"Cannot resolve unknown type", "struct nope_at_all *"),
    "type.pointer": ("begin { print(*(void *)0); }", r"void pointer cannot be dereferenced", "*(void *)0"),
    "type.bounds": ("struct A { int x[2]; } begin { print(((struct A *)0)->x[5]); }", r"out of bounds", None),
    "type.division": ("begin { print(1 / 0); }", r"division by zero", "0"),
    "record.twice": ("begin { $a = (x=1, y=2, x=3); }", r"two fields named 'x'", "3"),
    "type.mismatch records": ("begin { $a = (x=1, y=2); $a = (x=1, z=2); }", r"type '\(x=int8,z=int8\)'", "(x=1, z=2)"),
    "parse.include": ("#include <nowhere/x.h>\nbegin { }", r"'nowhere/x.h' file not found", "#include <nowhere/x.h>"),
    "probe.none self": ("self:signal:SIGHUP { }", r"No matches for self signal:SIGHUP", "self:signal:SIGHUP"),
    "str.probes": ("uprobe:libc:* { print(str(probe)); }", r"more than 500 probes", "str(probe)"),
    "type.range later": ("begin { let $a: uint8 = 1; $a = 300; }", r"does not fit uint8", "300"),
    "type.endless": ("begin { " + "".join(f"@m{i} = @m{i + 1}; " for i in range(150)) + "@m150 = 1; }", r"types do not settle", None),
    "type.range": ("begin { let $a: uint8 = 300; }", r"does not fit uint8", "300"),
    "type.literal": ("begin { printf($x); }", r"Undefined|must be a string literal", None),
    "printf.count": ('begin { printf("%d"); }', r"expects 1 arguments \(0 provided\)", 'printf("%d")'),
    "printf.type": ('begin { printf("%s", 1); }', r"%s specifier expects", "1"),
    "printf.format of half a conversion": ('begin { printf("%g", 1); }', r"Unknown format string token '%g'", '"%g"'),
    "debugf.type of flags": ('begin { debugf("%gr", 1); }', r"debugf\(\) has no %gr here", '"%gr"'),
    "printf.type of flags": ('begin { printf("%gr", "a"); }', r"specifier expects a value of another type", '"a"'),
    "printf.format": ('begin { printf("%y", 1); }', r"Unknown format string token '%y'", '"%y"'),
    "call.unknown": ("begin { foo(); }", r"Unknown function: 'foo'", "foo()"),
    "call.unknown name": ("begin { print(foo); }", r"Unknown identifier: 'foo'", "foo"),
    "call.arguments": ("begin { strlen(); }", r"takes 1 to 1 arguments", "strlen()"),
    "call.arguments of an aggregation": ("begin { @ = lhist(1, 2, 3); }", r"takes 4 to 4 arguments \(3 provided\)", "lhist(1, 2, 3)"),
    "call.parentheses": ("begin { print(printf); }", r"is a function", "printf"),
    "call.unsafe": ('begin { system("ls"); }', r"is unsafe", 'system("ls")'),
    "call.clock": ("begin { print(nsecs(moon)); }", r"Invalid timestamp mode", "moon"),
    "call.assert": ('begin { static_assert(1 == 2, "no"); }', r"no|not known", None),
    "call.fail": ('begin { if ($# < 1) { fail("%s %3d%%, %x", "got", $#, 255); } }', r"ERROR: got   0%, ff$", 'fail("%s %3d%%, %x", "got", $#, 255)'),
    "call.fail of what is not excluded": ('begin { $x = 1; if ($x > 2) { fail("here"); } }', r"ERROR: here$", 'fail("here")'),
    "call.fail of no literal": ('begin { fail("%d", pid); }', r"takes a literal", "pid"),
    "call.fail without argument": ('begin { fail("%d"); }', r"takes a literal", 'fail("%d")'),
    "call.assert of a constant": ('begin { if (2 > 1) { static_assert(1 > 2, "never"); } }', r"ERROR: never$", 'static_assert(1 > 2, "never")'),
    "type.string": ("begin { assert_str(pid); }", r"a string, or a pointer to .* type 'uint32'", "pid"),
    "type.string of a part": ('begin { print(str_concat("a", 5)); }', r"str_concat\(\) expects a string", "5"),
    "type.number of a process": ('begin { print(comm("x")); }', r"a number is needed", '"x"'),
    "type.comparison of a process's name": ('begin { print(comm(1) == "x"); }', r"comparing 'process name' with", 'comm(1) == "x"'),
    "type.number of a pointer": ('begin { print(is_err("a")); }', r"a number is needed", '"a"'),
    "builtin.probe": ("begin { print(arg0); }", r"cannot be used with 'begin' probes", "arg0"),
    "builtin.args": ("uprobe:libc:malloc+4 { print(args.x); }", r"args of .*malloc\+4 is not known: the probe is not at the beginning of a function", "args"),
    "builtin.argument": ("uprobe:libc:malloc { print(arg9); }", r"not passed in a register", "arg9"),
    "builtin.register": ('uprobe:libc:malloc { print(reg("zz")); }', r"not a valid register", '"zz"'),
    "kaddr.symbol": ('begin { print(kaddr("no such symbol")); }', r"Failed to resolve kernel symbol: no such symbol", 'kaddr("no such symbol")'),
    "kaddr.cpu": ('begin { print(percpu_kaddr("no_such")); }', r"no per-CPU variable no_such", '"no_such"'),
    "call.cgroup": ('begin { print(cgroupid("/tmp")); }', r"/tmp is no cgroup", '"/tmp"'),
    "memcmp.length": ('begin { print(memcmp("abc", "abcde", 5)); }', r"has 4 bytes, and not 5", "5"),
    "find.variable": ("begin { @[1] = 2; print(find(@, 1, 2)); }", r"expects a variable", "2"),
    "uaddr.probe": ('begin { print(uaddr("x")); }', r"only be used with uprobe and usdt", 'uaddr("x")'),
    "uaddr.symbol": ('uprobe:libc:malloc { print(uaddr("no_such")); }', r"Could not resolve symbol", 'uaddr("no_such")'),
    "pton.address": ('begin { print(pton("1.2.3")); }', r"1\.2\.3 is none", '"1.2.3"'),
    "type.address": ('begin { print(ntop("text")); }', r"expects an integer or an array of 4 or 16 bytes", '"text"'),
    "container.type": ("begin { print(container_of(1, 2, 3)); }", r"a struct and the name of its field", "container_of(1, 2, 3)"),
    "tseries.aggregation": ('begin { @ = tseries(1, 1s, 5, "mode"); }', r"avg, max, min, sum", '"mode"'),
    "tseries.interval": ("begin { @ = tseries(1, 0, 5); }", r"interval_ns must be >= 1", "0"),
    "tseries.count": ("begin { @ = tseries(1, 1s, 601); }", r"num_intervals must be 1 to 600", "601"),
    "write.length": ("begin { write_user(0, (uint8)1, 2); }", r"the value has 1 bytes, and not 2", "2"),
    "debugf.type": ("begin { debugf(\"%s\", (1, 2)); }", r"debugf\(\) prints numbers and strings here", "(1, 2)"),
    "probe.parts of bench": ("bench { }", r"bench probe type requires 1 to 1", "bench"),
    "stack.mode": ("uprobe:libc:malloc { print(ustack(nope)); }", r"Invalid stack mode", "nope"),
    "stack.limit": ("uprobe:libc:malloc { print(ustack(99999)); }", r"limit is 0 to 65536", None),
    "address.operand": ("begin { $a = &5; }", r"only variables and plain maps", "&5"),
    "call.offset": ('begin { print(str($1 + 9)); }', r"only 4 characters", "$1 + 9"),
    "lhist.step": ("begin { @ = lhist(1, 0, 10, 0); }", r"step must be >= 1", "0"),
    "lhist.range": ("begin { @ = lhist(1, 10, 0, 1); }", r"min must be less than max", "lhist(1, 10, 0, 1)"),
    "lhist.buckets": ("begin { @ = lhist(1, 0, 5000, 1); }", r"too many buckets", None),
    "hist.bits": ("begin { @ = hist(1, 9); }", r"bits must be 0\.\.5", "9"),
    "unroll.range": ("begin { unroll(101) { } }", r"unroll maximum value is 100", "101"),
    "for.map": ("begin { for ($a : 5) { } }", r"over a map or a range", "5"),
    "jump.outside": ("begin { break; }", r"break outside of a loop", "break"),
    "macro.map": ("macro m() { @x++ } begin { m(); }", r"was not passed to it", "@x"),
    "macro.argument": ("macro m($x) { $x++ } begin { m(5); }", r"needs a variable", "5"),
    "macro.endless": ("macro m() { m() } begin { m(); }", r"calls itself|nested", None),
    "signal.name": ('uprobe:libc:malloc { signal("NOPE"); }', r"not a valid signal", '"NOPE"'),
    "iter.unknown": ("iter:nonsense { }", r"iter nonsense not available", "iter:nonsense"),
    "iter.wildcard": ("iter:tas* { }", r"does not support wildcards", "iter:tas*"),
    "iter.pin": ("iter:task: { }", r"file to pin the iterator to is missing", "iter:task:"),
    "iter.output": ("iter:task:strata_test { print(1); }", r"print\(\) needs strata, which is not there", "print(1)"),
    "iter.output of warnf": ('iter:task:strata_test { warnf("x"); }', r"warnf\(\) needs strata", 'warnf("x")'),
    "debugf.type of a pinned iterator": ('iter:task:strata_test { printf("%s", (1, 2)); }', r"printf\(\) prints numbers and strings here", "(1, 2)"),
    "debugf.type of a pinned iterator's format": ('iter:task:strata_test { printf("%.3s", "abcdef"); }', r"printf\(\) has no %.3s here", '"%.3s"'),
    "builtin.argument": ("rawtracepoint:sched_process_exec { print(arg9); }", r"arg9 is not there.* has 3 arguments", "arg9"),
    "call.unsafe override": ("kprobe:vfs_read { override(1); }", r"override\(\) is unsafe|kprobe is not available", None),
    "call.probe override": ("begin { override(1); }", r"override\(\) cannot be used with 'begin' probes", "override(1)"),
    "call.probe socket_cookie": ("begin { print(socket_cookie(curtask)); }", r"cannot be used with 'begin' probes", "socket_cookie(curtask)"),
    "call.probe path": ("uprobe:libc:malloc { print(path(arg0)); }", r"path\(\) cannot be used with 'uprobe' probes", "path(arg0)"),
    "call.probe skboutput": ('begin { print(skboutput("x.pcap", 0, 1, 0)); }', r"skboutput\(\) cannot be used with 'begin' probes", 'skboutput("x.pcap", 0, 1, 0)'),
    "type.object skboutput": ('rawtracepoint:tcp_probe { print(skboutput("x.pcap", args.sk, 1, 0)); }', r"expects a struct sk_buff \*, and this is of type 'struct sock \*'", "args.sk"),
    "type.literal skboutput": ("rawtracepoint:consume_skb { print(skboutput(5, args.skb, 1, 0)); }", r"the file must be a string literal", "5"),
    "call.length path": ("iter:task_file { print(path(ctx.file.f_path, 0)); }", r"takes a length of 1 to 32768", "0"),
    "type.object": ("rawtracepoint:consume_skb { print(socket_cookie(args.skb)); }", r"expects a struct sock \*, and this is of type 'struct sk_buff \*'", "args.skb"),
    "type.copy": ("rawtracepoint:tcp_probe { $s = args.sk; print(socket_cookie($s)); }", r"expects an argument of the probe", "$s"),
    "type.number unwatch": ('begin { unwatch("text"); }', r"a number is needed", '"text"'),
    "gen.size": ("begin { " + "".join(f'$a{i} = str(kptr(curtask)); ' for i in range(300)) + "}", r"more than 262144 bytes", None),
}


# The same for warnings, with which the script runs; None: it has none.
WARNINGS = {
    "statement.discarded": ("begin { @a[1] = 1; has_key(@a, 1); }", r"Return value discarded", "has_key(@a, 1)"),
    "statement.discarded of a block": ("begin { { 1 } }", r"Return value discarded", "1"),
    "statement.discarded on purpose": ("begin { @a[1] = 1; _ = has_key(@a, 1); delete(@a, 1); $x = 1; $x++; print(1); $x ? print(1) : print(2); }", None, None),
    "statement.unreachable": ("begin { exit(); print(1); }", r"Unreachable statement", "print(1)"),
    "map.unused": ("let @a = hash(5); begin { }", r"Unused map: @a", None),
}


def complaint(lines, severity, pattern, underlined):
    """Is it there, with the right part of the source underlined?"""
    said = [i for i, line in enumerate(lines) if severity + ": " in line and re.search(pattern, line)]
    if not said or not underlined:
        return bool(said)
    marks = lines[said[0] + 2]
    begin = len(marks) - len(marks.lstrip(" "))
    return lines[said[0] + 1][begin:begin + len(marks.strip())] == underlined


def main():
    failed = number = 0
    for tag, (program, pattern, underlined) in [*CASES.items(), *WARNINGS.items()]:
        number += 1
        more = ["--unsafe"] if tag.startswith(("signal", "write", "call.probe")) else []
        more += ["--probe-filter", "nothing"] if tag == "probe.filter" else []
        parameters = ["text"] if tag == "call.offset" else []
        result = subprocess.run([STRATA, "trace", "-q", *more, "-e", program, *parameters], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=60, check=False)
        lines = result.stderr.decode(errors="replace").split("\n")
        if tag in CASES:
            if tag.startswith("probe.filter"):  # no mistake of the script, so it is said alone
                good = result.returncode == 1 and lines == [pattern, ""]
            else:
                good = result.returncode == 1 and complaint(lines, "ERROR", pattern, underlined)
        else:
            good = result.returncode == 0 and (complaint(lines, "WARNING", pattern, underlined) if pattern else lines == [""])
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {tag}")
        if not good:
            print("".join(f"# {line}\n" for line in [f"status {result.returncode}", *lines]), end="")
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
