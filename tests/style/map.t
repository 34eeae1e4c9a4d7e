#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""map: docs/ARCHITECTURE.md is short, and what it says about the source is so.

Paths that it names exist; so do the modules in its drawings, which are named without src/. Each folder of src is named.
The threads and processes that it lists are all there are, and what it says of printing, exiting, libdw and mutable
variables holds. docs/DEPENDENCIES.md names the packages of mk/deps.mk.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
LINES_MAX = 250
# A path: words joined by slashes. Not an absolute one, nor a URL.
PATH = re.compile(r"(?<![\w/.:-])[a-z_]+(?:/[A-Za-z_0-9-]+)+(?:\.[a-z]+)*(?![\w/])")

WRITES = re.compile(r"\b(?:stdout|stderr)\b|(?<![\w.>])(?:printf|vprintf|puts|putchar|perror)\s*\(")
MAY_WRITE = ("src/cli/", "src/trace/", "src/lang/dialect/", "src/record/record.c", "src/engine/verify.c", "src/top/screen.c")
LEAVES = re.compile(r"(?<![\w.>])(?:exit|quick_exit|abort)\s*\(")
STARTS = re.compile(r"(?<![\w.>])(?:pthread_create|v?fork|clone3?|posix_spawnp?|system|popen)\s*\(")
DWARF = re.compile(r"#\s*include\s*<(?:elfutils/|dwarf\.h|libelf\.h|gelf\.h)")
MAY_USE_DWARF = ("src/dwarf/", "src/engine/verify.c", "src/lang/provider/binary_types.c")
# Objects that are given out when memory is short; who has one may write to it, and nobody reads what was written.
SPARE = {("core.o", "none"), ("ast.o", "none")}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def code(path):
    """A C file without its comments and the contents of its strings."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*',
                  lambda found: found[0] if found[0][0] == "'" else '""' if found[0][0] == '"' else " ", read(path),
                  flags=re.S)
    return text


def user_space():
    """The C files of src that run in user space; BPF has no standard library."""
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "src"))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith((".c", ".h")) and not name.endswith(".bpf.c") and not path.startswith("src/bpf/"):
                yield path


def section(text, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def missing_paths(text):
    """Paths that `text` names and nobody has. NAME stands for any name."""
    named = {path for path in PATH.findall(text) if "NAME" not in path}
    return sorted(path for path in named
                  if not any(os.path.exists(os.path.join(ROOT, top, path)) for top in ("", "src")))


def mutable_variables():
    """Variables in memory that the program may write to, by object; None without a build."""
    top = os.path.join(BUILD, "src")
    objects = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
               if name.endswith(".o") and not name.endswith(".bpf.o")]
    if not objects:
        return None
    listing = subprocess.run(["objdump", "-t", *sorted(objects)], capture_output=True, text=True, check=True).stdout
    found, name = [], ""
    for line in listing.splitlines():
        if ":     file format" in line:
            name = os.path.basename(line.split(":")[0])
        symbol = re.match(r"[0-9a-f]+ .{7} (\.(?:t?bss|t?data)\S*|\*COM\*)\t\S+\s+(?:\.hidden )?(\S+)$", line)
        if symbol and not re.match(r"\.data\.rel\.ro", symbol[1]) and not symbol[2].startswith("."):
            if (name, symbol[2].split(".")[0]) not in SPARE:
                found.append(f"{name}: {symbol[2]} in {symbol[1]}")
    return found


def self_check():
    """The patterns themselves, so that one that finds nothing is noticed."""
    return [text for pattern, text, finds in (
        (PATH, "see kernel/tables.h", True), (PATH, "/proc/PID/maps", False), (PATH, "https://a/b", False),
        (WRITES, 'fprintf(stderr, "")', True), (WRITES, 'printf("")', True), (WRITES, 'fprintf(out, "")', False),
        (LEAVES, "exit(1)", True), (LEAVES, "_exit(1)", False), (LEAVES, "handle_exit(1)", False),
        (STARTS, "!pthread_create(&t)", True), (STARTS, "pid = fork()", True), (STARTS, "run_system(run)", False),
        (DWARF, "#include <elfutils/libdw.h>", True)) if bool(pattern.search(text)) != finds]


def main():
    tap = Tap()
    wrong = self_check() + [path for path in ("src/nowhere", "nowhere/x.h") if not missing_paths(f"`{path}`")]
    tap.ok(not wrong, "the rules do what they say", *wrong)

    text = read("docs/ARCHITECTURE.md")
    count = text.count("\n")
    tap.ok(count <= LINES_MAX, f"the map has at most {LINES_MAX} lines", f"{count}")
    missing = missing_paths(text)
    tap.ok(not missing, "each path that the map names exists", *missing)
    folders = {f"src/{name}" for name in os.listdir(os.path.join(ROOT, "src"))}
    folders |= {f"src/lang/{name}" for name in os.listdir(os.path.join(ROOT, "src/lang"))
                if os.path.isdir(os.path.join(ROOT, "src/lang", name))}
    unnamed = sorted(folder for folder in folders if f"`{folder}`" not in text)
    tap.ok(not unnamed, "the map names each folder of src", *unnamed)

    files = {path: code(path) for path in user_space()}
    listed = {path for path in PATH.findall(section(text, "Threads and processes")) if path.endswith(".c")}
    starting = {path for path, source in files.items() if STARTS.search(source)}
    unlisted = sorted(starting - listed)
    tap.ok(not unlisted, "the map names each file that starts a thread or a process", *unlisted)
    idle = sorted(listed - starting)
    tap.ok(not idle, "and no other file", *idle)

    found = sorted(path for path, source in files.items() if WRITES.search(source) and not path.startswith(MAY_WRITE))
    tap.ok(not found, "nothing else writes to standard output or standard error", *found)
    found = sorted(path for path, source in files.items() if LEAVES.search(source) and not path.startswith("src/cli/"))
    tap.ok(not found, "only src/cli calls exit()", *found)
    found = sorted(path for path in files if DWARF.search(read(path)) and not path.startswith(MAY_USE_DWARF))
    tap.ok(not found, "nothing else uses libdw", *found)
    found = mutable_variables()
    if found is None:
        tap.skip("no mutable variables", "nothing is built")
    else:
        tap.ok(not found, "no mutable variables outlive a call", *found)

    packages = set(re.sub(r"\\\n", " ", " ".join(
        re.findall(r"^DEB_(?:BUILD|TEST|KERNELS) := ((?:[^\\\n]|\\\n)*)", read("mk/deps.mk"), re.M))).split())
    reasons = read("docs/DEPENDENCIES.md") if os.path.exists(os.path.join(ROOT, "docs/DEPENDENCIES.md")) else ""
    unnamed = sorted(package for package in packages if f"`{package}`" not in reasons)
    tap.ok(packages and not unnamed, "each package of mk/deps.mk has its reason", *unnamed)
    tap.done()


main()
