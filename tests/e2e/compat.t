#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A 32-bit program is called that, and not taken for generated code."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import e2e  # noqa: E402

PROGRAM = """void _start(void) { for (volatile unsigned i = 0; i < 600000000u; i++); __asm__ volatile("int $0x80" :: "a"(1), "b"(0)); }"""

tap = e2e.Tap()
with e2e.folder() as where:
    program = where + "/thirty-two"
    subprocess.run(["gcc", "-m32", "-O1", "-static", "-nostdlib", "-ffreestanding", "-xc", "-", "-o", program],
                   input=PROGRAM.encode(), check=True)
    try:
        subprocess.run([program], check=True)
    except OSError:
        tap.skip("a 32-bit program", "this kernel runs none")
        tap.done()
    done = e2e.record("-q", "-F", 199, "-o", where + "/x.folded", "--stats", where + "/x.json", "--", program)
    tap.equal(done.returncode, 0, "recorded")
    stats = e2e.load(where + "/x.json")
    lost = stats["lost"].get("32-bit", 0)
    tap.ok(lost > 20 and stats["samples"] - stats["complete"] == lost, "every sample that is not complete says 32-bit", stats)
    named = e2e.share(e2e.folded(where + "/x.folded"), lambda f: "[incomplete: 32-bit]" in f)
    tap.ok(named > 0.8, "and is in the picture: %.1f %%" % (100 * named))
tap.done()
