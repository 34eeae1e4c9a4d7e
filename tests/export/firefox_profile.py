# SPDX-License-Identifier: GPL-2.0-or-later
"""Firefox's processed profile format, version 66, as its source has it (src/types/profile.ts): is a file valid, and what is
in it, as folded stacks."""
import gzip
import json

# Tables of `shared`, their columns, and what those refer to: a table, or None; "?" may be null, "-" may be -1.
COLUMNS = {
    "stackTable": {"frame": "frameTable", "prefixOffset": None},
    "frameTable": {"address": None, "inlineDepth": None, "category": "categories", "subcategory": None, "func": "funcTable",
                   "nativeSymbol": "?nativeSymbols", "innerWindowID": None, "line": None, "column": None,
                   "originalLocation": "?sourceLocationTable"},
    "funcTable": {"name": "stringArray", "isJS": None, "relevantForJS": None, "resource": "-resourceTable",
                  "source": "?sources", "lineNumber": None, "columnNumber": None, "originalLocation": "?sourceLocationTable"},
    "resourceTable": {"name": "stringArray", "lib": "?libs", "host": "?stringArray", "type": None},
    "nativeSymbols": {"libIndex": "libs", "address": None, "name": "stringArray", "functionSize": None},
    "sources": {"id": None, "filename": "stringArray", "startLine": None, "startColumn": None,
                "sourceMapURL": "?stringArray", "content": None},
    "sourceLocationTable": {"source": "sources", "line": None, "column": None},
}
THREAD = {"processType", "processStartupTime", "processShutdownTime", "registerTime", "unregisterTime", "pausedRanges", "name",
          "processName", "isMainThread", "pid", "tid", "samples", "markers"}
SAMPLES = {"stack", "time", "weight", "threadCPUDelta"}
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred",
          "darkgrey", "grey"}
LIB = {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}


def load(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def meta_faults(meta):
    if meta["preprocessedProfileVersion"] != 66 or not meta["interval"] > 0 or not meta["startTime"] > 1e12:
        yield "version, interval or startTime"
    if not any(c["color"] == "grey" for c in meta["categories"]):
        yield "no default category"
    for category in meta["categories"]:
        if category["color"] not in COLORS or not category["subcategories"] or not category["name"]:
            yield "category %s" % category
    if meta["stackwalk"] != 1 or meta["markerSchema"] != [] or not isinstance(meta["product"], str):
        yield "stackwalk, markerSchema or product"
    for section in meta["extra"]:
        if any(set(entry) != {"label", "format", "value"} for entry in section["entries"]):
            yield "extra"


def table_faults(data):
    shared = data["shared"]
    sizes = {name: shared[name]["length"] for name in COLUMNS}
    sizes.update(stringArray=len(shared["stringArray"]), libs=len(data["libs"]), categories=len(data["meta"]["categories"]))
    for name, columns in COLUMNS.items():
        if set(shared[name]) != set(columns) | {"length"}:
            yield "columns of %s: %s" % (name, set(shared[name]) ^ set(columns))
            continue
        for column, target in columns.items():
            cells = shared[name][column]
            if len(cells) != shared[name]["length"]:
                yield "length of %s.%s" % (name, column)
            if not target:
                continue
            without = {"?": (None,), "-": (-1,)}.get(target[0], ())
            size = sizes[target.lstrip("?-")]
            if any(cell not in without and not (type(cell) is int and 0 <= cell < size) for cell in cells):
                yield "%s.%s points outside" % (name, column)
    if any(not 0 <= offset <= i for i, offset in enumerate(shared["stackTable"]["prefixOffset"])):
        yield "a stack's caller comes after it"
    if len(set(shared["stringArray"])) != len(shared["stringArray"]):
        yield "a string twice"
    if any(set(lib) != LIB for lib in data["libs"]):
        yield "libs"


def thread_faults(thread, stacks):
    samples = thread["samples"]
    if set(thread) != THREAD or not isinstance(thread["pid"], str) or not thread["name"]:
        yield "a thread's fields"
    if set(samples) != SAMPLES | {"weightType", "length"} or any(len(samples[c]) != samples["length"] for c in SAMPLES):
        yield "columns of samples of %s" % thread["tid"]
        return
    if samples["weightType"] not in ("samples", "tracing-ms"):
        yield "weightType"
    if any(b < a for a, b in zip(samples["time"], samples["time"][1:])) or any(t < 0 for t in samples["time"]):
        yield "times of %s do not ascend" % thread["tid"]
    if any(stack is not None and not 0 <= stack < stacks for stack in samples["stack"]):
        yield "stacks of %s" % thread["tid"]
    if any(delta < 0 for delta in samples["threadCPUDelta"]):
        yield "threadCPUDelta of %s" % thread["tid"]


def faults(data):
    yield from meta_faults(data["meta"])
    yield from table_faults(data)
    for thread in data["threads"]:
        yield from thread_faults(thread, data["shared"]["stackTable"]["length"])
    if not data["threads"] or len({(t["pid"], t["tid"]) for t in data["threads"]}) != len(data["threads"]):
        yield "no threads, or one twice"


class Profile:
    def __init__(self, data):
        self.data = data
        self.shared = data["shared"]

    def string(self, index):
        return self.shared["stringArray"][index]

    def frame(self, index):
        """A frame as strata's text."""
        frames, functions = self.shared["frameTable"], self.shared["funcTable"]
        function = frames["func"][index]
        name = self.string(functions["name"][function])
        resource, source = functions["resource"][function], functions["source"][function]
        if source is not None:
            line = frames["line"][index]
            return "%s (%s%s)" % (name, self.string(self.shared["sources"]["filename"][source]), ":%d" % line if line else "")
        if resource == -1:
            return name
        resource = self.string(self.shared["resourceTable"]["name"][resource])
        kernel = self.data["meta"]["categories"][frames["category"][index]]["name"] == "Kernel"
        return name + (" [k]" if kernel else " (%s)" % resource)

    def stack(self, index):
        frames = []
        while True:
            frames.append(self.frame(self.shared["stackTable"]["frame"][index]))
            offset = self.shared["stackTable"]["prefixOffset"][index]
            if not offset:
                return ";".join(reversed(frames))
            index -= offset

    def folded(self):
        """Stacks below the comm, and their weights."""
        stacks = {}
        for thread in self.data["threads"]:
            samples = thread["samples"]
            for stack, weight in zip(samples["stack"], samples["weight"]):
                if weight:
                    text = "" if stack is None else self.stack(stack)
                    stacks[text] = stacks.get(text, 0) + weight
        return stacks

    def clock(self):
        return self.data["meta"]["extra"][0]["entries"][0]["value"]
