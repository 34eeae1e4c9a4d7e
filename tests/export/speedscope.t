#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""speedscope's format: the rules of its published schema (file-format-schema.json), and the same samples as folded."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}
tap = Tap()


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def frame_faults(frame):
    if not isinstance(frame.get("name"), str):
        yield "a frame without a name"
    if not isinstance(frame.get("file", ""), str) or not number(frame.get("line", 1)):
        yield f"file or line of {frame}"
    if set(frame) - {"name", "file", "line", "col"}:
        yield f"unknown keys in {frame}"


def profile_faults(profile, frames):
    required = {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    if required - set(profile):
        yield f"a profile lacks {required - set(profile)}"
        return
    if profile["type"] != "sampled" or not isinstance(profile["name"], str) or profile["unit"] not in UNITS:
        yield f"type, name or unit of {profile['name']}"
    if not number(profile["startValue"]) or not number(profile["endValue"]):
        yield f"values of {profile['name']}"
    if len(profile["samples"]) != len(profile["weights"]) or not all(map(number, profile["weights"])):
        yield f"weights of {profile['name']}"
    if any(not isinstance(i, int) or not 0 <= i < frames for sample in profile["samples"] for i in sample):
        yield f"frames of {profile['name']}"
    if abs(sum(profile["weights"]) - (profile["endValue"] - profile["startValue"])) > 1e-6 * profile["endValue"]:
        yield f"the sum of {profile['name']}"


def faults(data):
    if data.get("$schema") != SCHEMA:
        yield "$schema"
    if not isinstance(data.get("shared", {}).get("frames"), list) or not isinstance(data.get("profiles"), list):
        yield "shared.frames or profiles"
        return
    for key in ("name", "exporter"):
        if not isinstance(data.get(key, ""), str):
            yield key
    if set(data) - {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}:
        yield f"unknown keys {set(data)}"
    for frame in data["shared"]["frames"]:
        yield from frame_faults(frame)
    for profile in data["profiles"]:
        yield from profile_faults(profile, len(data["shared"]["frames"]))


def folded(path):
    """The stacks below the comm and their counts."""
    stacks = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines.read().split("\n")[:-1]:
            stack, count = line.rsplit(" ", 1)
            stack = stack.partition(";")[2]
            stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def check(directory, kind, stacks):
    prefix = os.path.join(directory, kind)
    subprocess.run([os.path.join(BUILD, "tests/export/make_profile"), kind, str(stacks), prefix], check=True)
    with open(prefix + ".speedscope.json", encoding="utf-8") as file:
        data = json.load(file)
    found = list(faults(data))
    tap.ok(not found, f"{kind}: valid by the schema", "; ".join(found[:3]))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    counted = {}
    for profile in data["profiles"]:
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stack = ";".join(names[i] for i in sample)
            counted[stack] = counted.get(stack, 0) + weight * 99
    expected = folded(prefix + ".folded")
    tap.ok(counted.keys() == expected.keys(), f"{kind}: the stacks of folded")
    tap.ok(all(abs(counted.get(stack, 0) - count) < 1e-3 for stack, count in expected.items()), f"{kind}: their weights")
    return data


def main():
    with tempfile.TemporaryDirectory(prefix="strata-speedscope-") as directory:
        web = check(directory, "web", 1000)
        tap.ok(len(web["profiles"]) == 8, "one profile a thread", str(len(web["profiles"])))
        tap.ok(any(f.get("file") == "/srv/shop/app.py" and f.get("line") == 120 for f in web["shared"]["frames"]), "files and lines")
        check(directory, "hostile", 1)
        stripped = check(directory, "stripped", 3)["shared"]["frames"]
        tap.ok([f["name"] for f in stripped].count("0x49f0 (libz.so.1.2.13)") == 1, "addresses in one function are one frame", stripped)
        tap.ok(not check(directory, "empty", 0)["profiles"], "no samples, no profiles")
        if len(sys.argv) > 1:  # a file to check by hand
            with open(sys.argv[1], encoding="utf-8") as file:
                tap.ok(not list(faults(json.load(file))), sys.argv[1])
    tap.done()


main()
