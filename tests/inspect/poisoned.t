#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""poisoned.t: what is kept of one file serves no other. A copy of an interpreter of which two dynamic symbols are exchanged has the
same build id, sections and code; what is found of it, and kept, must not be told of the interpreter."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

STRATA = os.environ.get("STRATA", "build/strata")
PYTHON = os.path.realpath("/usr/bin/python3.11")
LOOP, OTHER = b"_PyEval_EvalFrameDefault", b"PyObject_Repr"
BUSY = "import time\ndef busy():\n while time.process_time() < 0.5: sum(i for i in range(1000))\nbusy()"


def dynamic_symbols(file):
    """{name: offset in the file of its Elf64_Sym}"""
    shoff, = struct.unpack_from("<Q", file, 0x28)
    count, = struct.unpack_from("<H", file, 0x3c)
    sections = [struct.unpack_from("<IIQQQQIIQQ", file, shoff + 64 * i) for i in range(count)]
    table = next(section for section in sections if section[1] == 11)
    strings = sections[table[6]]
    found = {}
    for at in range(table[4], table[4] + table[5], 24):
        name = strings[4] + struct.unpack_from("<I", file, at)[0]
        found[bytes(file[name:file.index(0, name)])] = at
    return found


def exchange(source, to):
    file = bytearray(Path(source).read_bytes())
    symbols = dynamic_symbols(file)
    a, b = symbols[LOOP] + 8, symbols[OTHER] + 8  # st_value, st_size
    file[a:a + 16], file[b:b + 16] = file[b:b + 16], file[a:a + 16]
    to.write_bytes(file)
    to.chmod(0o755)


def told(path, cache):
    """What is told of a file, without the times; and was any of it kept?"""
    done = subprocess.run([STRATA, "inspect", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    lines = [re.sub(r"\s+[0-9.]+ ms$", "", line.replace(str(path), "FILE")) for line in done.stdout.splitlines()
             if not line.strip().startswith("analysis")]
    return [line.replace(" (cached)", "").replace("(cached)", "").rstrip() for line in lines], "cached" in done.stdout


def main():
    tap = Tap()
    if not Path(PYTHON).exists():
        print("1..0 # SKIP no " + PYTHON)
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        copy, clean, shared = folder / "python3.11", folder / "clean", folder / "shared"
        clean.mkdir(mode=0o700), shared.mkdir(mode=0o700)
        exchange(PYTHON, copy)
        right, _ = told(PYTHON, clean)
        again, kept = told(PYTHON, clean)
        tap.ok(again == right and kept, "what is kept of the interpreter is what was found", *again)
        wrong, _ = told(copy, shared)
        tap.ok(wrong != right, "of the copy something else is found")
        _, kept = told(copy, shared)
        tap.ok(kept, "and kept")
        tap.equal(told(PYTHON, shared)[0], right, "the interpreter gets its own")
        tap.equal(told(copy, shared)[0], wrong, "and the copy too")
        if os.geteuid() == 0:
            shutil.rmtree(shared)
            shared.mkdir(mode=0o700)
            subprocess.run([STRATA, "record", "-q", "-o", folder / "out.folded", "--", copy, "-S", "-c", BUSY],
                           env={**os.environ, "XDG_CACHE_HOME": str(shared)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            tap.equal(told(PYTHON, shared)[0], right, "after the copy was recorded as well")
    tap.done()


main()
