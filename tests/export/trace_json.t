#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Chrome's trace events: the rules of the "Trace Event Format" for events that begin and end, and the same samples as folded."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
CATEGORIES = {"thread", "kernel", "native", "python", "waiting", "missing"}
tap = Tap()


def text(event):
    """A frame as strata's text."""
    name, args = event["name"], event.get("args", {})
    if event["cat"] == "kernel":
        return name + " [k]"
    if event["cat"] == "native":
        return "%s (%s)" % (name, args.get("module", "?"))
    if event["cat"] == "python":
        return "%s (%s%s)" % (name, args.get("file", "?"), ":%d" % args["line"] if "line" in args else "")
    return name


def read(data):
    """What is wrong with the events; stacks and what was sampled of each; when each thread had how many frames."""
    wrong, stacks, threads, depths = [], {}, {}, {}
    for event in data["traceEvents"]:
        key = event["pid"], event["tid"]
        thread = threads.setdefault(key, {"open": [], "at": 0, "names": {}})
        if event["ph"] == "M":
            thread["names"][event["name"]] = event["args"]["name"]
            continue
        if event["ph"] not in "BE" or event["ts"] < thread["at"]:
            wrong.append("phase or time of %s" % event)
        thread["at"] = event["ts"]
        if event["ph"] == "B":
            if event["cat"] not in CATEGORIES or not isinstance(event["name"], str) or bool(thread["open"]) == (event["cat"] == "thread"):
                wrong.append("event %s" % event)
            thread["open"].append(event)
        elif not thread["open"]:
            wrong.append("an end without a beginning: %s" % event)
        else:
            args = event.get("args", {})
            stack = ";".join(map(text, thread["open"]))
            if args:
                stacks[stack] = stacks.get(stack, 0) + args.get("samples", args.get("us", 0))
            thread["open"].pop()
        depths.setdefault(key, []).append((event["ts"], len(thread["open"])))
    for key, thread in threads.items():
        if thread["open"] or set(thread["names"]) != {"process_name", "thread_name"}:
            wrong.append("%s: not ended, or without names" % (key,))
    return wrong, stacks, threads, depths


def folded(path):
    with open(path, encoding="utf-8") as lines:
        return {stack: int(count) for stack, count in (line.rsplit(" ", 1) for line in lines.read().split("\n")[:-1])}


def check(directory, kind, stacks):
    prefix = os.path.join(directory, kind)
    subprocess.run([os.path.join(BUILD, "tests/export/make_profile"), kind, str(stacks), prefix], check=True)
    with open(prefix + ".trace.json", encoding="utf-8") as file:
        data = json.load(file)
    wrong, counted, threads, depths = read(data)
    tap.ok(not wrong and set(data) == {"displayTimeUnit", "otherData", "traceEvents"}, f"{kind}: valid", "; ".join(wrong[:3]))
    expected = folded(prefix + ".folded")
    tap.ok(counted.keys() == expected.keys(), f"{kind}: the stacks of folded", sorted(counted.keys() ^ expected.keys())[:3])
    tap.ok(all(abs(counted.get(s, 0) - n) < 1 for s, n in expected.items()), f"{kind}: what was sampled of each")
    return data, threads, depths


def main():
    with tempfile.TemporaryDirectory(prefix="strata-trace-") as directory:
        data, threads, _ = check(directory, "web", 300)
        tap.ok(len(threads) == 8, "one track a thread", list(threads))
        tap.ok(all(20e6 < t["at"] <= 30.2e6 for t in threads.values()), "µs over the recording", [t["at"] for t in threads.values()])
        tap.ok("right to 100 ms" in data["otherData"]["times"], "how exact the times are is told", data["otherData"])
        check(directory, "hostile", 1)
        check(directory, "deep", 500)
        data, _, _ = check(directory, "waits", 1)
        tap.ok("not known" in data["otherData"]["times"] and "75 samples" in data["otherData"]["summary"], "no times, and it says so")
        data, threads, depths = check(directory, "timed", 1)
        tap.ok(depths[7, 7] == [(90e3, 1), (90e3, 2), (90e3, 3), (110e3, 4), (610e3, 3), (610e3, 2), (610e3, 1), (610e3, 0),
                                (640e3, 1), (640e3, 2), (640e3, 3), (650e3, 2), (650e3, 1), (650e3, 0),
                                (650e3, 1), (650e3, 2), (650e3, 3), (660e3, 2), (660e3, 1), (660e3, 0)],
               "frames last while they are on the stack; a pause ends all, and so does another name", depths)
        tap.ok(threads[7, 7]["names"]["thread_name"] == "renamed", "the last name is the thread's", threads[7, 7]["names"])
        _, _, depths = check(directory, "exec", 1)
        tap.ok(depths[7, 7] == [(0, 1), (0, 2), (10e3, 1), (10e3, 0), (10e3, 1), (10e3, 2), (10e3, 3), (17e3, 2), (17e3, 1), (17e3, 0),
                                (17e3, 1), (17e3, 2), (17e3, 3), (19e3, 2), (19e3, 1), (19e3, 0)],
               "another name begins when what was before has ended", depths)
        _, _, depths = check(directory, "renamed", 1)
        tap.ok([depth for _, depth in depths[7, 7]] == 2 * [1, 2, 1, 0] and depths[7, 7][3][0] == depths[7, 7][4][0], "also where times are not known", depths)
        data, _, _ = check(directory, "stripped", 3)
        addresses = {e["args"].get("address") for e in data["traceEvents"] if e["ph"] == "B" and e["name"] == "0x49f0"}
        tap.ok(addresses == {"0x4a00", "0x4a01", "0x4a02"}, "addresses where the frames have them", addresses)
        check(directory, "empty", 0)
        if len(sys.argv) > 1:  # a file to check by hand
            with open(sys.argv[1], encoding="utf-8") as file:
                wrong = read(json.load(file))[0]
            tap.ok(not wrong, sys.argv[1], wrong[:3])
    tap.done()


main()
