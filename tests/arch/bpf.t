#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bpf.t: the BPF objects are compiled for each machine (mk/bpf.mk), with the same programs and maps, and what they read
of the kernel's types is of the machine they are for. Nothing is loaded."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
OBJECTS = ["src/bpf/sampler", "src/bpf/sampler_bounded", "src/bpf/sampler_resume", "src/bpf/tasks",
           "src/lang/rt/rt_base", "src/lang/rt/rt_command", "src/lang/rt/rt_packet", "src/lang/rt/rt_stack",
           "src/lang/rt/rt_stack_bounded"]


def path(machine, name):
    own = {"x86_64": "x86", "aarch64": "arm64"}[os.uname().machine]
    return f"{BUILD}/{name}.bpf.o" if machine == own else f"{BUILD}/bpf/{machine}/{name}.bpf.o"


def symbols(machine, name):
    """Names of the object's global functions and objects."""
    out = subprocess.run(["readelf", "-sW", path(machine, name)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {match[1] for match in re.finditer(r"(?:FUNC|OBJECT)\s+GLOBAL\s+\w+\s+\d+ (\S+)$", out, re.M)}


def types(machine, name):
    with open(path(machine, name), "rb") as file:
        return file.read()


def main():
    tap = Tap()
    for name in OBJECTS:
        ours, theirs = symbols("x86", name), symbols("arm64", name)
        tap.ok(theirs and ours == theirs, f"{name}: the same programs and maps", *sorted(ours ^ theirs))
    for machine, field in ("x86", b"fsbase"), ("arm64", b"tp_value"):
        tap.ok(field in types(machine, OBJECTS[0]), f"{machine}: the thread pointer is {field.decode()}")
    tap.ok(b"tp_value" not in types("x86", OBJECTS[0]), "x86: and nothing else's")
    tap.done()


main()
