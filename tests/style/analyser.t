#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""analyser: the version of cached answers covers all that they depend on.

What is kept on the disk (elf/, unwind/, python/ and engine/watch_learn.c make it) goes by a checksum of sources, the
list ANALYSER_SRCS of mk/build.mk. Cached rules of another format must not be read: so each file of src/abi and src/arch
that those come to by their includes is in the list, and so is all of the machines' code; and the checksum is another
one when the format is.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def make(folder, *args):
    return subprocess.run(["make", "-s", "-C", folder, *args], capture_output=True, text=True, check=True).stdout


def reached(path, seen):
    """Files of src that the one at `path` includes, and those that they do."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    for include in INCLUDE.findall(text):
        include = f"src/{include}"
        if include not in seen and os.path.exists(os.path.join(ROOT, include)):
            seen.add(include)
            reached(include, seen)
    return seen


def version(folder):
    """As a new build has it: sources may be no newer than the last one, by the file system's clock."""
    with tempfile.TemporaryDirectory(dir=folder) as build:
        made = f"{build}/gen/analyser.inc"
        make(folder, f"BUILD={build}", made)
        with open(made, encoding="utf-8") as file:
            return file.read()


def main():
    tap = Tap()
    listed = set(make(ROOT, "--eval=analyser-sources: ; @echo $(ANALYSER_SRCS)", "analyser-sources").split())
    wanted = set()
    for source in listed:
        wanted |= {path for path in reached(source, set()) if path.startswith(("src/abi/", "src/arch/"))}
    wanted |= {os.path.relpath(path, ROOT) for path in glob.glob(f"{ROOT}/src/arch/**/*.[ch]", recursive=True)}
    tap.ok("src/abi/unwind.h" in wanted and "src/arch/arch.h" in wanted, "the rules' format and the machines are met")
    tap.ok(wanted <= listed, "all that answers depend on in src/abi and src/arch is in the list",
           *sorted(wanted - listed))
    with tempfile.TemporaryDirectory() as folder:
        for part in ("src", "mk", "Makefile"):
            copy = shutil.copytree if os.path.isdir(os.path.join(ROOT, part)) else shutil.copy
            copy(os.path.join(ROOT, part), os.path.join(folder, part))
        before = version(folder)
        for path in ("src/abi/unwind.h", "src/arch/x86_64/code.c"):
            with open(os.path.join(folder, path), "a", encoding="utf-8") as file:
                file.write("/* another */\n")
            after = version(folder)
            tap.ok(re.match(r"#define ANALYSER_VERSION 0x[0-9a-f]{16}ull\n", after) and after != before,
                   f"the version is another one when {path} is", before, after)
            before = after
    tap.done()


main()
