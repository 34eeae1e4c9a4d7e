#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""calls.py [FILE]: are stacks possible? Reads what dump_stacks prints, and holds every pair of neighbours against the machine code.

A return address must follow a call instruction. If that call is direct, its target's function must be the callee's, or reach
it by jumps (tail calls, cold parts); a target in a PLT, or a function with indirect jumps, may lead anywhere. Functions are
the FDEs of .eh_frame_hdr's table: no symbols are needed.
"""
import bisect
import collections
import re
import struct
import subprocess
import sys

INDIRECT = [re.compile(p, re.S) for p in (  # call r/m64: FF /2, with ModRM, SIB and displacement (Intel SDM, vol. 2, 2.1)
    rb"\xff[\xd0-\xd7]$", rb"\xff[\x10-\x13\x16\x17]$", rb"\xff\x14.$", rb"\xff[\x50-\x53\x55-\x57].$", rb"\xff\x54..$",
    rb"\xff[\x90-\x93\x95-\x97]....$", rb"\xff\x94.....$", rb"\xff\x15....$", rb"\xff\x14[\x05\x0d\x15\x1d\x25\x2d\x35\x3d\x45\x4d\x55\x5d\x65\x6d\x75\x7d"
    rb"\x85\x8d\x95\x9d\xa5\xad\xb5\xbd\xc5\xcd\xd5\xdd\xe5\xed\xf5\xfd]....$")]


class Module(object):
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.path = path
        offset, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        self.segments, header = [], None
        for i in range(count):
            kind, _, at, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", self.bytes, offset + i * size)
            if kind == 1:
                self.segments.append((vaddr, filesz, at))
            if kind == 0x6474e550:  # PT_GNU_EH_FRAME
                header = vaddr, at
        self.starts, self.ends = self.functions(*header) if header else ([], [])
        self.plt = self.plt_ranges()
        self.jumps = {}

    def functions(self, vaddr, at):
        """FDEs by .eh_frame_hdr (LSB core, 10.6.2): version 1, sdata4 pointers, a table relative to the header."""
        if self.bytes[at:at + 4] != b"\x01\x1b\x03\x3b":
            return [], []
        count, = struct.unpack_from("<I", self.bytes, at + 8)
        starts, ends = [], []
        for i in range(count):
            start, fde = struct.unpack_from("<ii", self.bytes, at + 12 + 8 * i)
            where = self.offset(vaddr + fde)
            length, = struct.unpack_from("<I", self.bytes, where + 12)  # length, CIE, pc_begin (4), pc_range (4)
            starts.append(vaddr + start)
            ends.append(vaddr + start + length)
        return starts, ends

    def plt_ranges(self):
        text = subprocess.run(["readelf", "-SW", self.path], stdout=subprocess.PIPE).stdout.decode()
        return [(int(a, 16), int(a, 16) + int(n, 16)) for a, n in
                re.findall(r"\] \.(?:plt\S*|init|fini) +PROGBITS +(\w+) \w+ (\w+)", text)]

    def offset(self, vaddr):
        for start, size, at in self.segments:
            if start <= vaddr < start + size:
                return at + vaddr - start
        raise ValueError("%s: %#x" % (self.path, vaddr))

    def function(self, vaddr):
        i = bisect.bisect_right(self.starts, vaddr) - 1
        return self.starts[i] if i >= 0 and vaddr < self.ends[i] else None

    def in_plt(self, vaddr):
        return any(a <= vaddr < b for a, b in self.plt)

    def leaves(self, start):
        """The functions that one jumps to; None when it jumps indirectly."""
        if start not in self.jumps:
            end = self.ends[self.starts.index(start)]
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--start-address=%d" % start, "--stop-address=%d" % end,
                                   self.path], stdout=subprocess.PIPE).stdout.decode()
            found = set()
            for name, operand in re.findall(r"^ *[0-9a-f]+:\s+(?:bnd |notrack )*(j\w+) +(\S+)", text, re.M):
                if operand.startswith("*"):
                    found = None
                    break
                target = int(operand.split()[0], 16)
                if not start <= target < end:
                    found.add(target)
            self.jumps[start] = found
        return self.jumps[start]


def call_before(module, address):
    """None: no call; "indirect"; or the target."""
    at = module.offset(address - 1) + 1
    code = module.bytes[at - 8:at]
    direct = address + struct.unpack("<i", code[-4:])[0] if code[-5] == 0xe8 else None
    if direct is not None and any(s <= direct < s + n for s, n, _ in module.segments):
        return direct
    return "indirect" if any(p.search(code) for p in INDIRECT) else None


def reaches(module, target, callee):
    """True, False, or None when it cannot be told."""
    seen, todo = set(), [target]
    for _ in range(200):
        if not todo:
            return False
        at = todo.pop()
        if module.in_plt(at):
            return None
        function = module.function(at)
        if function is None:
            return None
        if function == callee:
            return True
        if function in seen:
            continue
        seen.add(function)
        further = module.leaves(function)
        if further is None:
            return None
        todo.extend(further)
    return None


def judge(modules, inner, outer):
    """What is wrong with a pair of frames, or which kind of right it is."""
    path, address, is_return = outer
    if not is_return or path[0] != "/":
        return "skipped"
    module = modules[path]
    target = call_before(module, address)
    if target is None:
        return "no call before %s %#x" % (path, address)
    if target == "indirect":
        return "indirect"
    if inner[0] != path:
        callee = None
    else:
        callee = module.function(inner[1] - inner[2])
        if callee is None:
            return "unknown callee"
    if callee == module.function(target) and callee is not None:
        return "direct"
    known = reaches(module, target, callee)
    if known is None:
        return "may be"
    return "by jumps" if known else "%s %#x calls %#x, but %s %#x (in %#x) was called" % (path, address, target, inner[0],
                                                                                        inner[1], callee or 0)


class Modules(dict):
    def __missing__(self, path):
        self[path] = Module(path)
        return self[path]


def main():
    modules, counts, wrong, verdicts = Modules(), collections.Counter(), collections.Counter(), {}
    stacks, stack = 0, []
    for line in open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin:
        if line != "\n":
            path, _, address = line.rstrip("\n").rpartition(" ")
            stack.append((path, int(address.lstrip("<"), 16), address[0] == "<"))
            continue
        stacks += 1
        for pair in zip(stack, stack[1:]):
            if pair not in verdicts:
                verdicts[pair] = judge(modules, *pair)
            verdict = verdicts[pair]
            if " 0x" in verdict:
                wrong[verdict] += 1
            else:
                counts[verdict] += 1
        stack = []
    print("%d stacks, %d different pairs; pairs seen: %s; impossible: %d" % (
        stacks, len(verdicts), ", ".join("%s %d" % c for c in counts.most_common()), sum(wrong.values())))
    for words, count in wrong.most_common(40):
        print("  %d times: %s" % (count, words))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
