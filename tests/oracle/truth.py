# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth about a program's stacks, by tracing every instruction that it executes.

A tree for each role (roles.py): a node is a code object reached by one path of calls; it holds the offsets at which
it was seen as the innermost frame, and children by the offset of the instruction that called them. Offsets become
lines when the tree is written. So a stack is true exactly if its frames, with their lines, are a path from the root
and the last line is one of the last node's.

Where a sampler can be though no trace event comes:
  - a frame that has not begun (offset -1), and the prologue up to RESUME (3.11+);
  - a generator function's own frame while it makes its generator (3.11+, RETURN_GENERATOR): found by looking for
    generators that exist after an instruction and did not before it;
  - a generator that waits for another one, while throw() hands an exception through it: its frame is linked at the
    instruction that waits, and executes nothing (child());
  - on 3.6, which has no instruction events, what can follow a line event before the next one: found by following
    the bytecode's control flow.
Nothing of this may outlive the frames that it looks at: a frame kept alive would move calls of __del__.
"""
import dis
import gc
import json
import os
import sys
import sysconfig
import types
from bisect import bisect_right
from itertools import compress

import roles

HAS_OPCODE_EVENTS = sys.version_info >= (3, 7)
FRAMES_FOR_GENERATORS = sys.version_info >= (3, 11)
# Where instructions that never made a generator in so many times are not looked at again, the truth is the same.
SCANS_IN_VAIN = 4
# Builds without the GIL have no young generation: each look for generators goes through all objects. There only
# instructions that call are looked at.
EVERY_OBJECT = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
GENERATORS = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}
_CALLING = ("CALL", "INSTRUMENTED_CALL", "GET_", "FOR_ITER", "SEND", "BEFORE_", "LOAD_SPECIAL")
# Instructions that run no code but the interpreter's own.
_QUIET = ("LOAD_FAST", "STORE_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "RESUME", "NOP", "JUMP", "POP_JUMP", "PRECALL",
          "PUSH_NULL", "SWAP", "COPY", "BUILD_", "RETURN_", "YIELD_", "LOAD_GLOBAL", "LOAD_DEREF", "STORE_DEREF",
          "MAKE_FUNCTION", "KW_NAMES", "CACHE", "EXTENDED_ARG", "SET_FUNCTION", "LOAD_CLOSURE", "MAKE_CELL")
_LOUD_OPS = frozenset(op for op, name in enumerate(dis.opname) if not name.startswith(_QUIET + ("<",)) and
                      (not EVERY_OBJECT or name.startswith(_CALLING)))

# co_flags: a generator, a coroutine, an asynchronous generator (Include/cpython/code.h).
_GENERATES = 0x20 | 0x80 | 0x200

_lines = {}


def line_of(code, offset):
    """The line of the instruction at `offset`: the running line where it has none of its own, first line at -1."""
    if offset < 0:
        return code.co_firstlineno
    table = _lines.get(id(code))
    if table is None or table[0] is not code:
        starts, lines = [-1], [code.co_firstlineno]
        if hasattr(code, "co_lines"):
            for start, end, line in code.co_lines():
                if start < end:
                    starts.append(start)
                    lines.append(lines[-1] if line is None else line)
        else:
            for start, line in dis.findlinestarts(code):
                starts.append(start)
                lines.append(line)
        table = _lines[id(code)] = (code, starts, lines)
    return table[2][bisect_right(table[1], offset) - 1]


def name_of(code):
    return getattr(code, "co_qualname", None) or code.co_name


class CodeFacts(object):
    """What the tracer needs to know of a code object again and again. Keeps it alive, so that its id stays its own."""

    __slots__ = ("code", "prologue", "loud", "in_vain")
    known = {}

    def __init__(self, code):
        self.code = code
        # Offsets at which a frame can be before its first trace event.
        self.prologue = [-1]
        self.loud = frozenset()
        self.in_vain = {}  # offset -> how often no generator was made there
        if FRAMES_FOR_GENERATORS:
            for instruction in dis.get_instructions(code):
                self.prologue.append(instruction.offset)
                if instruction.opname == "RESUME":
                    break
            raw = code.co_code
            self.loud = frozenset(o for o in range(0, len(raw), 2) if raw[o] in _LOUD_OPS)

    @classmethod
    def of(cls, code):
        facts = cls.known.get(id(code))
        if facts is None:
            facts = cls.known[id(code)] = cls(code)
        return facts


def follow(code, seeds):
    """3.6: all offsets that can execute after the line events at `seeds` and before another line event."""
    instructions = {i.offset: i for i in dis.get_instructions(code)}
    starts = {start for start, _ in dis.findlinestarts(code)}
    seen, todo = set(), [s for s in seeds if s >= 0]
    while todo:
        offset = todo.pop()
        if offset in seen or offset not in instructions:
            continue
        seen.add(offset)
        instruction = instructions[offset]
        after = []
        if instruction.opname not in ("RETURN_VALUE", "JUMP_ABSOLUTE", "JUMP_FORWARD", "RAISE_VARARGS",
                                      "CONTINUE_LOOP", "BREAK_LOOP"):
            after.append(offset + 2)
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            after.append(instruction.argval)
        # A jump backwards always makes an event of its own, and so does the start of a line.
        todo += [a for a in after if a > offset and a not in starts]
    return seen | set(seeds)


class Node(object):
    __slots__ = ("code", "facts", "offsets", "children", "scanned")

    def __init__(self, code):
        self.code = code
        self.facts = CodeFacts.of(code) if code is not None else None
        self.offsets = set()
        self.children = {}
        self.scanned = {}

    def begin(self):
        """The function is entered here. A child that was forked, or a thread with a new role, only returns to its callers."""
        self.offsets.update(self.facts.prologue)

    def child(self, offset, code):
        if self.code is not None and self.code.co_flags & _GENERATES and code.co_flags & _GENERATES:
            self.offsets.add(offset)
        key = (offset, id(code))  # the node keeps the code object alive, so its id stays its own
        node = self.children.get(key)
        if node is None:
            node = self.children[key] = Node(code)
        return node


class FrameTracer(object):
    """The local trace function of one frame."""

    __slots__ = ("truth", "nodes", "caller", "caller_offset", "before", "roles_before")

    def __init__(self, truth, nodes, back):
        self.truth = truth
        self.nodes = nodes
        self.caller = id(back)
        self.caller_offset = back.f_lasti if back is not None else -1
        self.before = None
        self.roles_before = None

    def __call__(self, frame, event, arg):
        back = frame.f_back
        if id(back) != self.caller or (back is not None and back.f_lasti != self.caller_offset):
            # Resumed from elsewhere without a call event.
            self.caller, self.caller_offset = id(back), back.f_lasti if back is not None else -1
            self.nodes = self.truth.nodes_of(frame)
            self.before = None
        offset = frame.f_lasti
        for node in self.nodes:
            node.offsets.add(offset)
        if FRAMES_FOR_GENERATORS:
            if self.before is not None:
                self.truth.find_new_generators(self.nodes, *self.before)
                self.before = None
            if event == "opcode" and offset in self.nodes[0].facts.loud:
                self.before = self.truth.before_instruction(self.nodes[0], offset)
        if event == "return" and frame.f_code is roles.set_role.__code__:
            self.truth.role_is_set(frame)
        return self


class Truth(object):
    def __init__(self, path):
        self.path = path
        self.roots = {}
        self.threads = {}  # thread ident -> list of roles: two while the thread renames itself
        self.calls = 0
        self.pid = os.getpid()
        self.exit = os._exit

    def start(self):
        import threading
        frame = sys._getframe(1)
        if HAS_OPCODE_EVENTS:
            frame.f_trace_opcodes = True  # 3.12 asks for instruction events only if some frame wants them by now
        os._exit = self.exit_of_child
        # Threads change only where they block: an event's neighbour in time is its neighbour in the program.
        sys.setswitchinterval(100)
        threading.settrace(self)
        sys.settrace(self)
        while frame is not None:
            frame.f_trace = FrameTracer(self, self.nodes_of(frame), frame.f_back)
            if HAS_OPCODE_EVENTS:
                frame.f_trace_opcodes, frame.f_trace_lines = True, False
            frame = frame.f_back
        if hasattr(gc, "freeze"):
            gc.freeze()

    def stop(self):
        import threading
        sys.settrace(None)
        threading.settrace(None)

    def thread_roles(self):
        import _thread
        return self.threads.get(_thread.get_ident(), (roles.SETUP,))

    def nodes_of(self, frame):
        chain = []
        while frame is not None:
            chain.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        nodes = []
        for role in self.thread_roles():
            node, offset = self.roots.setdefault(role, Node(None)), 0
            for code, next_offset in reversed(chain):
                node, offset = node.child(offset, code), next_offset
            nodes.append(node)
        return nodes

    def __call__(self, frame, event, arg):
        """The global trace function: a frame begins or goes on."""
        self.calls += 1
        if frame.f_globals is globals():
            return None  # our own stand-in for os._exit
        if frame.f_code is roles.set_role.__code__:
            import _thread
            self.threads[_thread.get_ident()] = tuple(self.thread_roles()) + (frame.f_locals["name"],)
            nodes = self.nodes_of(frame)
        else:
            back = frame.f_back
            tracer = back.f_trace if back is not None else None
            if type(tracer) is FrameTracer and tracer.caller == id(back.f_back) and (
                    back.f_back is None or back.f_back.f_lasti == tracer.caller_offset):
                offset = back.f_lasti
                for node in tracer.nodes:
                    node.offsets.add(offset)
                nodes = [node.child(offset, frame.f_code) for node in tracer.nodes]
                tracer.before = None
            else:
                nodes = self.nodes_of(frame)
        for node in nodes:
            node.begin()
            node.offsets.add(frame.f_lasti)
        if HAS_OPCODE_EVENTS:  # each line's first instruction has one, too
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        tracer = FrameTracer(self, nodes, frame.f_back)
        frame.f_trace = tracer
        return tracer

    def role_is_set(self, frame):
        """set_role returns: from here on its callers run in the new role only, but the return itself in both."""
        import _thread
        self.threads[_thread.get_ident()] = (frame.f_locals["name"],)
        frame = frame.f_back
        while frame is not None:
            if type(frame.f_trace) is FrameTracer:
                frame.f_trace.nodes = self.nodes_of(frame)
            frame = frame.f_back

    @staticmethod
    def unstarted_generators():
        found, objects = [], gc.get_objects(generation=0)
        # Most are none, and no bytecode is spent on these.
        for thing in compress(objects, map(GENERATORS.__contains__, map(type, objects))):
            frame = getattr(thing, GENERATORS[type(thing)])
            if frame is not None and frame.f_lasti <= CodeFacts.of(frame.f_code).prologue[-1]:
                found.append((id(thing), frame.f_code))
        return found

    def before_instruction(self, node, offset):
        times = node.scanned.get(offset, 0)
        if times >= 2 or node.facts.in_vain.get(offset, 0) >= SCANS_IN_VAIN:
            return None
        node.scanned[offset] = times + 1
        return offset, self.calls, {i for i, _ in self.unstarted_generators()}

    def find_new_generators(self, nodes, offset, calls, before):
        if calls != self.calls:
            return  # Python functions ran in between; they saw to theirs
        facts = nodes[0].facts
        facts.in_vain[offset] = facts.in_vain.get(offset, 0) + 1
        for identity, code in self.unstarted_generators():
            if identity not in before:
                facts.in_vain[offset] = 0
                for node in nodes:
                    node.child(offset, code).begin()

    def exit_of_child(self, status):
        if os.getpid() != self.pid:
            sys.settrace(None)
            self.write("%s.%d" % (self.path, os.getpid()))
        self.exit(status)

    def write(self, path, **more):
        codes, code_index, nodes = [], {}, []
        trees = {}
        for role, root in self.roots.items():
            if role in roles.UNCLAIMED:
                continue
            trees[role] = len(nodes)
            nodes.append([-1, -1, 0, []])
            todo = [(root, len(nodes) - 1)]
            while todo:
                node, index = todo.pop()
                for (offset, _), child in node.children.items():
                    code = child.code
                    key = (name_of(code), code.co_filename, code.co_firstlineno)
                    if key not in code_index:
                        code_index[key] = len(codes)
                        codes.append(key)
                    offsets = child.offsets if HAS_OPCODE_EVENTS else follow(code, child.offsets)
                    lines = sorted({line_of(code, o) for o in offsets})
                    call_line = line_of(node.code, offset) if node.code is not None else 0
                    nodes.append([code_index[key], index, call_line, lines])
                    todo.append((child, len(nodes) - 1))
        truth = {"version": list(sys.version_info[:3]), "codes": codes, "trees": trees, "nodes": nodes}
        truth.update(more)
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(truth, file)
