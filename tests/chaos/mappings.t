#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that comes and goes at run time: each sample is named by what was there at its moment."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos  # noqa: E402
from chaos import CPU, e2e, run  # noqa: E402


def libraries(tap, where, storm):
    names = [where + "/alpha.so", where + "/omega.so"]
    mine = run(tap, "libraries and generated code come and go", where, 3, storm, "libraries", CPU, *names, frequency=499)
    mixed = [f for f, _ in mine if re.search(r"alpha.*omega|omega.*alpha", ";".join(f))]
    tap.equal(mixed, [], "libraries: no stack has frames of both")
    mine = run(tap, "two libraries at the same addresses", where, 2, storm, "remap", CPU, *names, frequency=499)
    shares = [e2e.share(mine, lambda f: any(name in x for x in f)) for name in ("alpha (", "omega (")]
    tap.ok(min(shares) > 0.25, "each has its share: %.2f, %.2f" % tuple(shares))
    run(tap, "code at ever new addresses", where, 2, storm, "jit", CPU)
    run(tap, "ten thousand mappings a second", where, 2, storm, "mmaps", CPU, storm)


chaos.main(libraries)
