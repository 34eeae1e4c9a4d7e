#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""symbols.t: the symbols of real and of stripped files against binutils.

Whatever way the symbols were taken out of a file (MiniDebugInfo, debug link, build id), the functions found must be
those of the file before.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
DUMP = f"{BUILD}/tests/elf/dump_symbols"
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) int hidden(int x) { return x * 3 + rand(); }
int visible(int x) { return hidden(x) + 1; }
__attribute__((weak)) int visible_weak(int x) { return x; }
extern int visible_alias(int x) __attribute__((alias("visible")));
int main(int argc, char **argv) { printf("%d\n", visible(argc)); return visible_weak(argc); }
"""

tap = Tap()


def run(*args):
    return subprocess.run([*map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def dump(path, root=None):
    done = run(DUMP, *(["--root", root] if root else []), path)
    symbols = {}
    for line in done.stdout.splitlines():
        address, size, binding, name = line.split(" ", 3)
        symbols[int(address, 16)] = (int(size), binding, name)
    sources = re.search(r"sources (\S+)", done.stderr)
    return symbols, sources and sources[1]


def functions(path):
    """{address: {(name, size)}} of readelf's functions."""
    found = defaultdict(set)
    for line in run("readelf", "-sW", path).stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[3] not in ("FUNC", "IFUNC", "GNU_IFUNC") or fields[6] == "UND":
            continue
        found[int(fields[1], 16)].add((fields[7].split("@")[0], int(fields[2], 0)))
    return found


def stubs(path):
    found = {}
    for section in (".plt", ".plt.sec", ".plt.got"):
        for line in run("objdump", "-d", "-j", section, path).stdout.splitlines():
            # Stubs of indirect functions (*ABS*+0x...) have no symbol to be named after.
            if match := re.match(r"^([0-9a-f]+) <([^>@*]+)(?:@@?[^>]*)?@plt>:", line):
                found[int(match[1], 16)] = match[2] + "@plt"
    return found


def against_binutils(path):
    ours, sources = dump(path, "/nonexistent")
    wanted, problems = functions(path), []
    for address, symbols in wanted.items():
        if address not in ours and any(size for _, size in symbols):
            problems.append(f"{address:x}: {symbols} is missing")
        elif address in ours and ours[address][2] not in {name for name, _ in symbols} and ours[address][1] != "g":
            problems.append(f"{address:x}: {ours[address]} is not among {symbols}")
    tap.ok(ours and not problems, f"{path.name}: {len(ours)} symbols from {sources}", *problems)
    got = {address: symbol[2] for address, symbol in ours.items() if symbol[2].endswith("@plt")}
    want = {address: name for address, name in stubs(path).items() if address not in wanted}
    problems = [f"{a:x}: {got.get(a)}, objdump says {want.get(a)}" for a in {*got, *want} if got.get(a) != want.get(a)]
    tap.ok(not problems, f"{path.name}: {len(got)} PLT stubs", *problems)


def separated(directory):
    whole = directory / "whole"
    source = directory / "program.c"
    source.write_text(SOURCE)
    build = run("gcc", "-O1", "-g", "-Wl,--build-id", "-o", whole, source)
    if not tap.ok(build.returncode == 0, "a program to take apart", build.stderr):
        return
    want, sources = dump(whole, directory)
    names = {symbol[2] for symbol in want.values()}
    tap.ok({"hidden", "visible", "main", "_start", "rand@plt"} <= names, f"its functions, from {sources}", sorted(names))
    tap.ok(next(s[1] for s in want.values() if s[2] == "hidden") == "l", "a static function is local")

    debug, stripped = directory / "program.debug", directory / "stripped"
    run("objcopy", "--only-keep-debug", whole, debug)
    run("strip", "-o", stripped, whole)
    tap.ok("hidden" not in {s[2] for s in dump(stripped, directory)[0].values()}, "stripped, it has fewer")

    def same(path, source, root=directory):
        got, sources = dump(path, root)
        missing = {a: s for a, s in want.items() if s[0] and got.get(a, (0, 0, ""))[2] != s[2]}
        tap.ok(not missing and source in (sources or ""), f"{source}: from {sources}", *missing.items())

    mini = directory / "mini"
    mini_source = directory / "mini_source"
    run("objcopy", "-S", "--remove-section=.comment", *("--keep-symbol=" + n for n in names), debug, mini_source)
    run("xz", "-f", "-k", mini_source)
    run("objcopy", "--add-section", f".gnu_debugdata={mini_source}.xz", stripped, mini)
    same(mini, "minidebug")

    linked = directory / "linked"
    run("objcopy", f"--add-gnu-debuglink={debug}", stripped, linked)
    same(linked, "debugfile")
    beside = directory / ".debug"
    beside.mkdir()
    debug.rename(beside / debug.name)
    same(linked, "debugfile")
    far = directory / "root/usr/lib/debug" / str(directory).lstrip("/")
    far.mkdir(parents=True)
    (beside / debug.name).rename(far / debug.name)
    same(linked, "debugfile", directory / "root")
    with open(far / debug.name, "ab") as file:
        file.write(b"changed")
    tap.ok("debugfile" not in dump(linked, directory / "root")[1], "a debug file whose CRC differs is not taken")

    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", whole).stdout)[1]
    by_id = directory / "root2/usr/lib/debug/.build-id" / build_id[:2]
    by_id.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", whole, by_id / f"{build_id[2:]}.debug")
    same(stripped, "debugfile", directory / "root2")
    run("gcc", "-O2", "-Wl,--build-id", "-o", by_id / f"{build_id[2:]}.debug", source)
    tap.ok("debugfile" not in dump(stripped, directory / "root2")[1], "nor one of another build id")

    bomb = directory / "bomb"
    (directory / "zeros").write_bytes(bytes(64 << 20))
    run("xz", "-f", directory / "zeros")
    run("objcopy", "--add-section", f".gnu_debugdata={directory}/zeros.xz", stripped, bomb)
    tap.ok("minidebug" not in dump(bomb, directory)[1], "xz that unpacks to far more than it should is refused")
    found = run(DUMP, mini, "hidden", "visible", "rand", "nothing").stdout.split("\n")
    tap.ok([line.split()[0] for line in found if line] == ["found", "found", "none", "none"], "symbols by name", found)


def among_some(path):
    """Those that were gathered for some addresses (check_wanted.c)."""
    done = run(f"{BUILD}/tests/elf/check_wanted", path, 5000)
    last = done.stdout.splitlines()[-1:] or [""]
    tap.ok(done.returncode == 0 and last[0].endswith("differences 0"), f"{path.name}: gathered for addresses: {last[0]}",
           *done.stdout.splitlines()[:5], done.stderr)


def elf_of(strings, symbols):
    """An ELF file of a megabyte of text with these names and (st_name, st_value, st_size)."""
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, value, size) for name, value, size in symbols)
    places, body, at = [], b"", 64 + 56
    for part in (b"\xc3" * (1 << 20), table, strings, names):
        places.append((at, len(part)))
        body, at = body + part, at + len(part)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, at, 0, 64, 56, 1, 64, 5, 4)
    segment = struct.pack("<IIQQQQQQ", 1, 5, places[0][0], 0x1000, 0x1000, 1 << 20, 1 << 20, 4096)
    section = "<IIQQQQIIQQ"
    sections = struct.pack(section, *[0] * 10) + struct.pack(section, 1, 1, 6, 0x1000, *places[0], 0, 0, 16, 0)
    sections += struct.pack(section, 7, 2, 0, 0, *places[1], 3, 1, 8, 24) + struct.pack(section, 15, 3, 0, 0, *places[2], 0, 0, 1, 0)
    return header + segment + body + sections + struct.pack(section, 23, 3, 0, 0, *places[3], 0, 0, 1, 0)


def hostile(directory):
    """Many symbols whose names are all ends of one string: what is read of it is bounded, or this would take hours."""
    for length in (32 << 20, 60000):
        path = directory / "hostile"
        path.write_bytes(elf_of(b"\0" + b"a" * length + b"\0", [(1 + i % (length - 1), 0x1000 + i, 1) for i in range(400000)]))
        done = run(DUMP, path)
        sizes = re.search(r"symbols (\d+) bytes (\d+)", done.stderr)
        tap.ok(sizes and int(sizes[2]) < 128 << 20, f"names that share {length} bytes: {sizes and sizes[0]}", done.stderr)
        done = run(f"{BUILD}/tests/elf/check_wanted", path, 500)
        tap.ok("addresses 500" in done.stdout, "and those of some addresses", done.stderr)


def main():
    libraries = Path("/lib/x86_64-linux-gnu")
    files = [libraries / name for name in ("libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libm.so.6")]
    files += [Path("/usr/bin/perl"), Path("/usr/bin/python3.11"), Path(BUILD, "strata")]
    for path in files:
        if path.exists():
            against_binutils(path)
            among_some(path)
        else:
            print(f"# {path} is not installed")
    with tempfile.TemporaryDirectory() as directory:
        separated(Path(directory))
        hostile(Path(directory))
    tap.done()


main()
