#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""arrows: includes point downwards only.

The layers are data, in one place: the block ```layers of docs/ARCHITECTURE.md, one layer a line, lowest first, the
folders of src/ in it separated by blanks. A file includes headers of its own folder and of lower layers; folders on
one line do not include each other. src/bpf, which also becomes BPF, includes abi, arch and bpf only, also by way of
other headers. A machine's own files, those of src/arch/NAME/, are included in src/arch only; the others name no machine.

A runtime's own files, those of src/runtime/NAME/, are included there only; INSPECTS says who else does, and why. Those
that also become BPF, src/runtime/NAME/bpf/ and NAME/abi.h, include abi, arch, bpf and each other only. src/bpf reaches
them by lists that mk/runtimes.mk writes.

A block ```layers NAME holds the folders of src/NAME in the same way; files of src/NAME itself are above them all. And
what is in a folder of lang/dialect is its own: nobody else includes it, tests excepted.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BPF_MAY = {"abi", "arch", "bpf"}
# strata inspect shows how CPython was recognised, layer by layer: there is no such thing of runtimes in general.
INSPECTS = {"inspect/inspect.h", "inspect/inspect.c", "inspect/text.c", "inspect/json.c", "cli/cmd_inspect.c"}
# The provider `python` is about CPython alone: its places are those of runtime/python/probe_sites.h.
INSPECTS |= {"lang/provider/python.h", "lang/provider/python.c", "lang/builtin/python.c", "lang/rt/python.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
GENERATED = re.compile(r"^[^/]+\.(skel|pb-c)\.h$|^vmlinux\.h$|\.inc$")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def layers():
    """Name of a block, "" for src -> folder -> number of its layer. Empty when the document has no table."""
    path = os.path.join(ROOT, "docs", "ARCHITECTURE.md")
    found = re.findall(r"^```layers ?(\w*)\n(.*?)^```", read(path), re.M | re.S) if os.path.exists(path) else []
    tables = {}
    for name, block in found:
        lines = [line.split() for line in block.splitlines() if line.strip()]
        tables[name] = {folder: number for number, line in enumerate(lines) for folder in line}
    return tables


def sources(top):
    for folder, _, names in sorted(os.walk(top)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".def")):
                yield os.path.relpath(os.path.join(folder, name), top)


def why_not(table, path, include):
    """The reason why the file at `path` may not include `include`, both relative to src; None when it may."""
    own = path.split("/")[0]
    if GENERATED.search(include):
        return None
    if "/" not in include:
        return "is neither a path below src nor generated"
    other = include.split("/")[0]
    if other not in table:
        return f"{other} is in no layer"
    if own == "bpf" and other not in BPF_MAY:
        return "src/bpf includes abi, arch and bpf only"
    if other == "arch" and own != "arch" and include.count("/") > 1:
        return "only src/arch includes a machine's files by name"
    if own != other and table[other] >= table[own]:
        return f"{other} is not below {own}"
    return None


def why_not_inside(table, path, include):
    """The same within src/NAME, whose layers `table` holds; both are relative to it, and `include` is in it."""
    if "/" not in path:
        return None
    own = path.split("/")[0]
    if "/" not in include:
        return f"{include} is above {own}"
    other = include.split("/")[0]
    if other not in table:
        return f"{other} is in no layer"
    return f"{other} is not below {own}" if own != other and table[other] >= table[own] else None


def runtime_of(path):
    """The runtime that a file belongs to, and whether it becomes BPF."""
    found = re.match(r"runtime/([^/]+)/(bpf/|abi\.h$)?", path)
    return (found[1], bool(found[2])) if found else (None, False)


def why_not_runtime(path, include):
    own, is_bpf = runtime_of(path)
    other, other_is_bpf = runtime_of(include)
    if other and other != own and path not in INSPECTS:
        return "it is a runtime's own"
    if is_bpf and include.split("/")[0] not in BPF_MAY and not (other == own and other_is_bpf):
        return "it becomes BPF, which includes abi, arch and bpf only"
    return None


def dialect_of(path):
    found = re.match(r"lang/dialect/([^/]+)/", path)
    return found[1] if found else None


def why_not_all(tables, path, include):
    """All that is to be said of an include, both relative to src."""
    reason = why_not(tables[""], path, include)
    area = path.split("/")[0]
    if reason or GENERATED.search(include):
        return reason
    if area in tables and include.startswith(area + "/"):
        reason = why_not_inside(tables[area], path[len(area) + 1:], include[len(area) + 1:])
    if not reason:
        reason = why_not_runtime(path, include)
    if not reason and dialect_of(include) not in (None, dialect_of(path)):
        reason = "it is a dialect's own"
    return reason


def reached(src, path, seen):
    """What a file includes, and what that does."""
    for include in INCLUDE.findall(read(os.path.join(src, path))):
        if include not in seen and not GENERATED.search(include) and os.path.exists(os.path.join(src, include)):
            seen.add(include)
            reached(src, include, seen)
    return seen


def self_check():
    """The rules themselves, so that a table that allows everything is noticed."""
    table = {"base": 0, "abi": 0, "arch": 1, "elf": 2, "bpf": 2, "proc": 3, "cli": 4}
    cases = [("elf/a.c", "base/x.h", True), ("elf/a.c", "elf/a.h", True), ("elf/a.c", "proc/x.h", False),
             ("elf/a.c", "bpf/x.h", False), ("bpf/a.c", "base/x.h", False), ("bpf/a.c", "abi/x.h", True),
             ("cli/a.c", "elf/x.h", True), ("cli/a.c", "nowhere/x.h", False), ("cli/a.c", "sampler.skel.h", True),
             ("cli/a.c", "page/x.js.inc", True), ("cli/a.c", "cli.h", False), ("base/a.c", "abi/x.h", False),
             ("bpf/a.h", "arch/walk.h", True), ("bpf/a.h", "arch/x86_64/walk.h", False), ("arch/a.c", "elf/a.h", False),
             ("elf/a.c", "arch/x86_64/parts.h", False), ("arch/x86_64/a.c", "arch/x86_64/parts.h", True)]
    wrong = [case for case in cases if (why_not(table, case[0], case[1]) is None) != case[2]]
    tables = {"": {"base": 0, "abi": 0, "runtime": 1, "lang": 1, "trace": 2}, "lang": {"core": 0, "gen": 1, "dialect": 2}}
    cases = [("lang/gen/a.c", "lang/core/x.h", True), ("lang/core/a.c", "lang/gen/x.h", False),
             ("lang/gen/a.c", "lang/dialect/x.h", False), ("lang/gen/a.c", "lang/compile.h", False),
             ("lang/compile.c", "lang/dialect/x.h", True), ("lang/compile.c", "lang/dialect/d/x.h", False),
             ("lang/dialect/d/a.c", "lang/dialect/d/x.h", True), ("lang/dialect/d/a.c", "lang/dialect/e/x.h", False),
             ("trace/a.c", "lang/dialect/x.h", True), ("trace/a.c", "lang/dialect/d/x.h", False),
             ("runtime/r.c", "base/x.h", True), ("runtime/a/x.c", "runtime/a/y.h", True),
             ("runtime/a/x.c", "runtime/b/y.h", False), ("runtime/a/x.c", "runtime/r.h", True),
             ("trace/a.c", "runtime/a/y.h", False), ("trace/a.c", "runtime/r.h", True),
             ("runtime/a/bpf/x.h", "runtime/a/abi.h", True), ("runtime/a/bpf/x.h", "runtime/a/y.h", False),
             ("runtime/a/bpf/x.h", "abi/x.h", True), ("runtime/a/abi.h", "base/x.h", False),
             ("lang/core/a.c", "base/x.h", True), ("lang/core/a.c", "lang/other/x.h", False)]
    return wrong + [case for case in cases if (why_not_all(tables, case[0], case[1]) is None) != case[2]]


def main():
    tap = Tap()
    wrong = self_check()
    tap.ok(not wrong, "the rules do what they say", *wrong)
    tables = layers()
    if "" not in tables:
        tap.skip("the layers", "docs/ARCHITECTURE.md has no block of them")
        tap.done()
    src = os.path.join(ROOT, "src")
    table = tables[""]
    folders = {name for name in os.listdir(src) if any(sources(os.path.join(src, name)))}
    tap.ok(folders <= set(table), "every folder is in a layer", *sorted(folders - set(table)))
    for area in sorted(set(tables) - {""}):
        inner = {name for name in os.listdir(os.path.join(src, area)) if os.path.isdir(os.path.join(src, area, name))}
        tap.ok(inner == set(tables[area]), f"every folder of src/{area} is in a layer of its own",
               *sorted(inner ^ set(tables[area])))
    for folder in sorted(folders & set(table)):
        bad = []
        for path in sources(os.path.join(src, folder)):
            path = f"{folder}/{path}"
            for include in INCLUDE.findall(read(os.path.join(src, path))):
                reason = why_not_all(tables, path, include)
                if reason:
                    bad.append(f"src/{path} includes {include}: {reason}")
        tap.ok(not bad, f"src/{folder} includes downwards only", *bad)
    strays = [f"src/bpf/{path} comes to {include}" for path in sources(os.path.join(src, "bpf"))
              for include in sorted(reached(src, f"bpf/{path}", set())) if include.split("/")[0] not in BPF_MAY]
    tap.ok(not strays, "src/bpf comes to nothing else by other headers", *strays)
    tap.done()


main()
