#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls in the BPF objects for older kernels are nested no deeper, and take no more stack, than Linux 5.10 allows.

kernel/bpf/verifier.c of 5.10, check_max_stack_depth(): MAX_CALL_FRAMES functions below each other, MAX_BPF_STACK bytes
together, of which each takes a multiple of 32. A script's program calls the stack functions: one call and some of the
stack are its own. Newer kernels judge a global function apart from those that call it, so that only an emulated kernel
would tell.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
CALLS, STACK, STACK_UNIT = 8, 512, 32
SCRIPT_STACK = 64  # of the program that a script becomes
SHT_SYMTAB, SHT_REL, STT_FUNC, FRAME = 2, 9, 2, 10
CALL, PSEUDO_CALL, MOV, ADD = 0x85, 1, 0xbf, 0x07


class Object:
    """Of an ELF file of BPF code: function -> (bytes of stack, functions that it calls)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        offset, size, count = struct.unpack_from("<Q", self.bytes, 40)[0], *struct.unpack_from("<HH", self.bytes, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, offset + i * size) for i in range(count)]
        self.symbols = []
        for header in self.sections:
            if header[1] == SHT_SYMTAB:
                self.symbols += [struct.unpack_from("<IBBHQQ", self.bytes, at)
                                 for at in range(header[4], header[4] + header[5], 24)]
                self.names = self.sections[header[6]][4]
        self.starts = {(section, value): name for name, info, _, section, value, _ in self.symbols if info & 15 == STT_FUNC}
        self.functions = {self.text(name): self.look(section, value, size)
                          for name, info, _, section, value, size in self.symbols if info & 15 == STT_FUNC}

    def text(self, name):
        return self.bytes[self.names + name:self.bytes.index(0, self.names + name)].decode()

    def relocations(self, section):
        """Offset in the section -> the symbol that is meant there."""
        return {struct.unpack_from("<Q", self.bytes, at)[0]: self.symbols[struct.unpack_from("<Q", self.bytes, at + 8)[0] >> 32]
                for header in self.sections if header[1] == SHT_REL and header[7] == section
                for at in range(header[4], header[4] + header[5], 16)}

    def look(self, section, start, size):
        stack, calls, relocations = 0, set(), self.relocations(section)
        pointers = set()  # registers that were set to the frame's end
        for at in range(start, start + size, 8):
            code, registers, off, imm = struct.unpack_from("<BBhi", self.bytes, self.sections[section][4] + at)
            dst, src, kind = registers & 15, registers >> 4, code & 7
            if code == MOV and src == FRAME:
                pointers.add(dst)
            elif code == ADD and dst in pointers:
                stack = max(stack, -imm)
                pointers.discard(dst)
            elif (kind == 1 and src == FRAME) or (kind in (2, 3) and dst == FRAME):
                stack = max(stack, -off)
            elif code == CALL and src == PSEUDO_CALL:
                calls.add(self.target(section, at, imm, relocations.get(at)))
        return stack, calls

    def target(self, section, at, imm, symbol):
        if symbol and symbol[1] & 15 == STT_FUNC:
            return self.text(symbol[0])
        place = (symbol[3], symbol[4] + (imm + 1) * 8) if symbol else (section, at + (imm + 1) * 8)
        return self.text(self.starts[place])

    def deepest(self, function, cost):
        """(what the dearest chain of calls from the function costs, that chain)."""
        stack, calls = self.functions[function]
        below = max((self.deepest(call, cost) for call in calls), default=(0, []))
        return cost(stack) + below[0], [function] + below[1]


def judge(tap, name, roots, calls, stack):
    functions = Object(os.path.join(BUILD, name))
    for root in sorted(function for function in functions.functions if roots(function)):
        depth, chain = functions.deepest(root, lambda _: 1)
        tap.ok(depth <= calls, "%s: %s: %d calls, of %d" % (name, root, depth, calls), " > ".join(chain))
        taken, chain = functions.deepest(root, lambda own: max(STACK_UNIT, -(-own // STACK_UNIT) * STACK_UNIT))
        tap.ok(taken <= stack, "%s: %s: %d bytes of stack, of %d" % (name, root, taken, stack),
               " > ".join("%s (%d)" % (function, functions.functions[function][0]) for function in chain))


def main():
    tap = Tap()
    judge(tap, "src/bpf/sampler_bounded.bpf.o", lambda function: function.startswith("sample"), CALLS, STACK)
    judge(tap, "src/lang/rt/rt_stack_bounded.bpf.o", lambda function: function.startswith("rt_stack_"), CALLS - 1,
          STACK - SCRIPT_STACK)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
